/* src/core/hash.h
 *
 * SHA-256 (FIPS 180-4), for identity: prompts, configurations, stored text. Not for passwords or in-memory tables.
 */
#ifndef FATHOM_CORE_HASH_H
#define FATHOM_CORE_HASH_H

#include "core/str.h"

#define HASH_HEX_SIZE 65 /* 64 lower-case hexadecimal digits and a NUL */

struct hash;

/* Begins a hash; hash_end frees it. Aborts when out of memory. */
struct hash *hash_begin(void);

void hash_add(struct hash *hash, struct str bytes);

/* Adds the length and then the bytes, so that a list of texts hashes differently from the same bytes cut elsewhere. */
void hash_add_field(struct hash *hash, struct str bytes);

/* Writes the result and frees `hash`. */
void hash_end(struct hash *hash, char hex[HASH_HEX_SIZE]);

#endif
