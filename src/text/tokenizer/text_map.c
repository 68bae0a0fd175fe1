#include "text/tokenizer/text_map.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "core/mem.h"

struct text_slot {
    const char *data; /* NULL: free */
    uint32_t len, value;
    uint64_t hash;
};

struct text_map {
    struct text_slot *slots;
    size_t n_slots, count; /* slots are a power of 2 and at most half full */
    uint64_t seed;
};

struct text_map *text_map_create(void)
{
    struct text_map *map = mem_zalloc(sizeof *map);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    map->n_slots = 1024;
    map->slots = mem_calloc(map->n_slots, sizeof *map->slots);
    map->seed = (uint64_t)(uintptr_t)map ^ (uint64_t)(uintptr_t)&now << 24 ^ (uint64_t)now.tv_nsec << 40;
    return map;
}

void text_map_destroy(struct text_map *map)
{
    if (!map)
        return;
    free(map->slots);
    free(map);
}

/* The slot that holds the text, or the free one where it would go. */
static struct text_slot *slot_of(const struct text_map *map, struct str text, uint64_t hash)
{
    for (size_t i = hash & (map->n_slots - 1);; i = (i + 1) & (map->n_slots - 1)) {
        struct text_slot *slot = &map->slots[i];
        if (!slot->data ||
            (slot->hash == hash && slot->len == text.len && memcmp(slot->data, text.data, text.len) == 0))
            return slot;
    }
}

static void grow(struct text_map *map)
{
    struct text_slot *old = map->slots;
    size_t n_old = map->n_slots;
    map->n_slots *= 2;
    map->slots = mem_calloc(map->n_slots, sizeof *map->slots);
    for (size_t i = 0; i < n_old; i++)
        if (old[i].data)
            *slot_of(map, str_make(old[i].data, old[i].len), old[i].hash) = old[i];
    free(old);
}

bool text_map_add(struct text_map *map, struct str text, uint32_t value)
{
    if (!text.data)
        text.data = "";
    uint64_t hash = XXH3_64bits_withSeed(text.data, text.len, map->seed);
    if (map->count * 2 >= map->n_slots)
        grow(map);
    struct text_slot *slot = slot_of(map, text, hash);
    if (slot->data)
        return false;
    *slot = (struct text_slot){.data = text.data, .len = (uint32_t)text.len, .value = value, .hash = hash};
    map->count++;
    return true;
}

int64_t text_map_find(const struct text_map *map, struct str text)
{
    if (!map)
        return -1;
    if (!text.data)
        text.data = "";
    const struct text_slot *slot = slot_of(map, text, XXH3_64bits_withSeed(text.data, text.len, map->seed));
    return slot->data ? (int64_t)slot->value : -1;
}
