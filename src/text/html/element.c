#include "text/html/element.h"

#include <pthread.h>
#include <string.h>

#define SLOTS        1024 /* a power of two, a few times the names */
#define LONGEST_NAME 16

struct named {
    const char *name;
    uint8_t length;
    uint16_t flags;
};

static const struct named elements[] = {
    {"", 0, 0}, /* HTML_TEXT */
    {"", 0, 0}, /* HTML_OTHER */
#define ELEMENT(id, name, flags) {(name), sizeof(name) - 1, (flags)},
#include "text/html/element.inc"
#undef ELEMENT
};

static const struct named attributes[] = {
    {"", 0, 0},
#define ATTRIBUTE(id, name) {(name), sizeof(name) - 1, 0},
#include "text/html/attribute.inc"
#undef ATTRIBUTE
};

/* Where the names stand, by their hash; 0 for nothing. Filled once. */
static uint8_t element_slots[SLOTS], attribute_slots[SLOTS];

static unsigned hash_of(const char *name, size_t length)
{
    unsigned hash = (unsigned)length;
    for (size_t i = 0; i < length; i++)
        hash = hash * 31 + (unsigned char)name[i];
    return (hash ^ hash >> 10) & (SLOTS - 1);
}

static void fill(uint8_t *slots, const struct named *names, size_t from, size_t count)
{
    for (size_t i = from; i < count; i++) {
        unsigned slot = hash_of(names[i].name, names[i].length);
        while (slots[slot])
            slot = (slot + 1) & (SLOTS - 1);
        slots[slot] = (uint8_t)i;
    }
}

static void fill_both(void)
{
    fill(element_slots, elements, HTML_OTHER + 1, HTML_ELEMENTS);
    fill(attribute_slots, attributes, HTML_NO_ATTRIBUTE + 1, HTML_ATTRIBUTES);
}

/* The number of a name, 0 when it is unknown. */
static unsigned find(const uint8_t *slots, const struct named *names, struct str name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_both);
    if (!name.len || name.len > LONGEST_NAME)
        return 0;
    char lower[LONGEST_NAME];
    for (size_t i = 0; i < name.len; i++)
        lower[i] = ascii_lower(name.data[i]);
    for (unsigned slot = hash_of(lower, name.len); slots[slot]; slot = (slot + 1) & (SLOTS - 1)) {
        const struct named *known = &names[slots[slot]];
        if (known->length == name.len && memcmp(known->name, lower, name.len) == 0)
            return slots[slot];
    }
    return 0;
}

unsigned html_flags(enum html_element element)
{
    return elements[element].flags;
}

enum html_element html_element_named(struct str name)
{
    unsigned found = find(element_slots, elements, name);
    return found ? (enum html_element)found : HTML_OTHER;
}

const char *html_element_name(enum html_element element)
{
    return elements[element].name;
}

enum html_attribute html_attribute_named(struct str name)
{
    return (enum html_attribute)find(attribute_slots, attributes, name);
}
