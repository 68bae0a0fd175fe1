#include <stdatomic.h>
#include <sys/mman.h>

#include "text/tokenizer/bpe_internal.h"

/* Each entry is guarded by a sequence number that is odd while it is written. A reader that finds it changed takes the
 * entry for unknown; a writer that finds another one at work leaves. Every field is read with acquire and written with
 * release, so that none of them can be seen before the odd number was, nor read after the second look at it. */

#define ENTRY_BITS 16
#define WAYS       2
#define KEY_WORDS  (BPE_CACHE_LENGTH / 8)

struct entry {
    _Atomic uint32_t sequence;
    _Atomic uint32_t about; /* length | number of tokens << 8; 0: empty */
    _Atomic uint64_t key[KEY_WORDS];
    _Atomic uint32_t ids[BPE_CACHE_TOKENS];
};

_Static_assert(sizeof(struct entry) == 64, "an entry is one cache line");

struct bpe_cache {
    struct entry entries[1u << ENTRY_BITS];
};

#define HUGE_PAGE ((size_t)2 << 20)

/* Mapped, so that no page of it is there before something is remembered in it, and then in huge ones where the system
 * has them: small ones would be touched one by one, in no order. */
struct bpe_cache *bpe_cache_create(void)
{
    size_t size = sizeof(struct bpe_cache);
    char *all = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        abort(); /* out of memory, as in core/mem.h */
    size_t before = (HUGE_PAGE - (uintptr_t)all % HUGE_PAGE) % HUGE_PAGE;
    if (before > 0)
        munmap(all, before);
    munmap(all + before + size, HUGE_PAGE - before);
    (void)madvise(all + before, size, MADV_HUGEPAGE);
    return (void *)(all + before);
}

void bpe_cache_destroy(struct bpe_cache *cache)
{
    if (cache != NULL)
        munmap(cache, sizeof *cache);
}

/* A piece is in one of WAYS neighbours. */
static struct entry *entries_of(struct bpe_cache *cache, uint64_t hash)
{
    return &cache->entries[(uint32_t)(hash >> 16) & ((1u << ENTRY_BITS) - WAYS)];
}

void bpe_cache_prefetch(struct bpe_cache *cache, uint64_t hash)
{
    const struct entry *entries = entries_of(cache, hash);
    __builtin_prefetch(entries);
    __builtin_prefetch(entries + 1);
}

static uint64_t last_word(const char *at, size_t length)
{
    return length > 16 ? bpe_load(at + 16, length - 16) : 0;
}

static size_t get_entry(struct entry *entry, const struct bpe_key *key, uint64_t last, size_t length,
                        uint32_t ids[BPE_CACHE_TOKENS])
{
    uint32_t sequence = atomic_load_explicit(&entry->sequence, memory_order_acquire);
    uint32_t about = atomic_load_explicit(&entry->about, memory_order_acquire);
    if ((about & 255) != length || (sequence & 1) != 0)
        return 0;
    if (atomic_load_explicit(&entry->key[0], memory_order_acquire) != key->lo ||
        atomic_load_explicit(&entry->key[1], memory_order_acquire) != key->hi ||
        atomic_load_explicit(&entry->key[2], memory_order_acquire) != last)
        return 0;
    for (size_t i = 0; i < BPE_CACHE_TOKENS; i++)
        ids[i] = atomic_load_explicit(&entry->ids[i], memory_order_acquire);
    return atomic_load_explicit(&entry->sequence, memory_order_relaxed) == sequence ? about >> 8 : 0;
}

size_t bpe_cache_get(struct bpe_cache *cache, const struct bpe_key *key, const char *at, size_t length,
                     uint32_t ids[BPE_CACHE_TOKENS])
{
    struct entry *entries = entries_of(cache, key->hash);
    uint64_t last = last_word(at, length);
    size_t count = 0;
    for (size_t i = 0; i < WAYS && count == 0; i++)
        count = get_entry(&entries[i], key, last, length, ids);
    return count;
}

/* The first one that was written least often. */
static struct entry *victim_of(struct entry entries[WAYS])
{
    size_t victim = 0;
    uint32_t least = UINT32_MAX;
    for (size_t i = 0; i < WAYS; i++) {
        uint32_t sequence = atomic_load_explicit(&entries[i].sequence, memory_order_relaxed);
        if (sequence < least) {
            least = sequence;
            victim = i;
        }
    }
    return &entries[victim];
}

void bpe_cache_put(struct bpe_cache *cache, const struct bpe_key *key, const char *at, size_t length,
                   const uint32_t *ids, size_t count)
{
    struct entry *entry = victim_of(entries_of(cache, key->hash));
    uint32_t sequence = atomic_load_explicit(&entry->sequence, memory_order_relaxed);
    if ((sequence & 1) != 0 || !atomic_compare_exchange_strong_explicit(&entry->sequence, &sequence, sequence + 1,
                                                                        memory_order_acquire, memory_order_relaxed))
        return;
    atomic_store_explicit(&entry->about, (uint32_t)(length | count << 8), memory_order_release);
    atomic_store_explicit(&entry->key[0], key->lo, memory_order_release);
    atomic_store_explicit(&entry->key[1], key->hi, memory_order_release);
    atomic_store_explicit(&entry->key[2], last_word(at, length), memory_order_release);
    for (size_t i = 0; i < count; i++)
        atomic_store_explicit(&entry->ids[i], ids[i], memory_order_release);
    atomic_store_explicit(&entry->sequence, sequence + 2, memory_order_release);
}
