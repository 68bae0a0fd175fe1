/* src/text/tokenizer/byte_trie.h
 *
 * A trie over bytes as a double array (Aoe 1989), in a form that lies in an image: units without pointers. A step from
 * one node to a child is one addition and one comparison.
 */
#ifndef FATHOM_TEXT_TOKENIZER_BYTE_TRIE_H
#define FATHOM_TEXT_TOKENIZER_BYTE_TRIE_H

#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/str.h"

#define BYTE_TRIE_NONE UINT32_MAX
#define BYTE_TRIE_ROOT 0u

struct byte_trie_unit {
    uint32_t base;   /* the child by byte c is unit base + c, if that names this unit as its parent */
    uint32_t parent; /* BYTE_TRIE_NONE in the root and in units not in use */
    uint32_t value;  /* BYTE_TRIE_NONE where no key ends */
};

struct byte_trie {
    const struct byte_trie_unit *units; /* borrowed; 256 more than any base, so that no step leaves them. NULL: empty */
};

struct byte_trie_key {
    struct str text; /* not empty */
    uint32_t value;  /* not BYTE_TRIE_NONE */
};

/* Appends the units of a trie of `keys` to `out` (unbounded). Sorts `keys`; of several with the same text the last
 * holds. Writes nothing where there are no keys. */
void byte_trie_build(struct byte_trie_key *keys, size_t count, struct buf *out);

/* From the bytes that byte_trie_build wrote, aligned to 4. */
struct byte_trie byte_trie_open(struct str bytes);

/* BYTE_TRIE_NONE where there is no such child. */
static inline uint32_t byte_trie_step(const struct byte_trie *trie, uint32_t node, unsigned char byte)
{
    uint32_t child = trie->units[node].base + byte;
    return trie->units[child].parent == node ? child : BYTE_TRIE_NONE;
}

/* The value of the key that is exactly `text`; BYTE_TRIE_NONE. */
uint32_t byte_trie_find(const struct byte_trie *trie, struct str text);

/* The value of the longest key that `text` begins with, and its length; BYTE_TRIE_NONE. */
uint32_t byte_trie_longest(const struct byte_trie *trie, struct str text, size_t *len);

#endif
