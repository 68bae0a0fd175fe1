/* src/text/tokenizer/text_map.h
 *
 * A map from texts to numbers, for reading vocabularies of hundreds of thousands of tokens. Texts are borrowed. The
 * seed of its hash differs from run to run, so that no file can be made to collide.
 */
#ifndef FATHOM_TEXT_TOKENIZER_TEXT_MAP_H
#define FATHOM_TEXT_TOKENIZER_TEXT_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/str.h"

struct text_map;

struct text_map *text_map_create(void);
void text_map_destroy(struct text_map *map); /* NULL is allowed */

/* False, and nothing changed, when the text is there. */
bool text_map_add(struct text_map *map, struct str text, uint32_t value);

/* -1 where there is none; a NULL map is empty. */
int64_t text_map_find(const struct text_map *map, struct str text);

#endif
