/* src/text/tokenizer/unicode_lookup.h
 *
 * The tables behind unicode_class.h, for inner loops: a code point's class is a small number that stands for all its
 * bits, so that a caller can keep a table of its own by class.
 */
#ifndef FATHOM_TEXT_TOKENIZER_UNICODE_LOOKUP_H
#define FATHOM_TEXT_TOKENIZER_UNICODE_LOOKUP_H

#include <stdint.h>

extern const uint16_t unicode_blocks[];
extern const uint8_t unicode_ids[];

/* `code_point` is at most U+10FFFF. unicode_masks.inc lists the bits of each class in order, as UNICODE_MASK(bits);
 * unicode_ascii.inc those of the code points below 128. */
static inline uint8_t unicode_class_id(uint32_t code_point)
{
    return unicode_ids[(uint32_t)unicode_blocks[code_point >> 7] << 7 | (code_point & 127)];
}

#endif
