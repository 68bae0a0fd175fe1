/* src/text/tokenizer/unicode_class.h
 *
 * What kind of character a code point is, in the editions of Unicode that the tokenizer libraries carry with them:
 * general categories of Unicode 16 (Oniguruma in Hugging Face's tokenizers, the regex crate in tiktoken), and what
 * tokenizers takes from elsewhere, older and newer. The tables are made by scripts/unicode-classes.
 */
#ifndef FATHOM_TEXT_TOKENIZER_UNICODE_CLASS_H
#define FATHOM_TEXT_TOKENIZER_UNICODE_CLASS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/str.h"

/* One bit for each general category, and some for properties of other origin. */
#define UNICODE_LU             (UINT64_C(1) << 0)
#define UNICODE_LL             (UINT64_C(1) << 1)
#define UNICODE_LT             (UINT64_C(1) << 2)
#define UNICODE_LM             (UINT64_C(1) << 3)
#define UNICODE_LO             (UINT64_C(1) << 4)
#define UNICODE_MN             (UINT64_C(1) << 5)
#define UNICODE_MC             (UINT64_C(1) << 6)
#define UNICODE_ME             (UINT64_C(1) << 7)
#define UNICODE_ND             (UINT64_C(1) << 8)
#define UNICODE_NL             (UINT64_C(1) << 9)
#define UNICODE_NO             (UINT64_C(1) << 10)
#define UNICODE_PC             (UINT64_C(1) << 11)
#define UNICODE_PD             (UINT64_C(1) << 12)
#define UNICODE_PS             (UINT64_C(1) << 13)
#define UNICODE_PE             (UINT64_C(1) << 14)
#define UNICODE_PI             (UINT64_C(1) << 15)
#define UNICODE_PF             (UINT64_C(1) << 16)
#define UNICODE_PO             (UINT64_C(1) << 17)
#define UNICODE_SM             (UINT64_C(1) << 18)
#define UNICODE_SC             (UINT64_C(1) << 19)
#define UNICODE_SK             (UINT64_C(1) << 20)
#define UNICODE_SO             (UINT64_C(1) << 21)
#define UNICODE_ZS             (UINT64_C(1) << 22)
#define UNICODE_ZL             (UINT64_C(1) << 23)
#define UNICODE_ZP             (UINT64_C(1) << 24)
#define UNICODE_CC             (UINT64_C(1) << 25)
#define UNICODE_CF             (UINT64_C(1) << 26)
#define UNICODE_CS             (UINT64_C(1) << 27)
#define UNICODE_CO             (UINT64_C(1) << 28)
#define UNICODE_CN             (UINT64_C(1) << 29)
#define UNICODE_SPACE          (UINT64_C(1) << 32) /* \s, char::is_whitespace */
#define UNICODE_WORD           (UINT64_C(1) << 33) /* \w of the regex crate */
#define UNICODE_ONIG_WORD      (UINT64_C(1) << 34) /* \w of Oniguruma, in a class */
#define UNICODE_HF_NUMERIC     (UINT64_C(1) << 35) /* char::is_numeric */
#define UNICODE_HF_PUNCTUATION (UINT64_C(1) << 36) /* what the Punctuation pre-tokenizer cuts at */
#define UNICODE_HF_MARK        (UINT64_C(1) << 37) /* what the StripAccents normalizer removes */
#define UNICODE_NEWLINE        (UINT64_C(1) << 38) /* \r and \n */
#define UNICODE_ALPHABETIC     (UINT64_C(1) << 39)
#define UNICODE_UPPERCASE      (UINT64_C(1) << 40)
#define UNICODE_LOWERCASE      (UINT64_C(1) << 41)
#define UNICODE_GRAPH          (UINT64_C(1) << 42) /* this and the next: Oniguruma's */
#define UNICODE_PRINT          (UINT64_C(1) << 43)
#define UNICODE_HAN            (UINT64_C(1) << 44) /* this and the next: scripts */
#define UNICODE_HIRAGANA       (UINT64_C(1) << 45)
#define UNICODE_KATAKANA       (UINT64_C(1) << 46)
#define UNICODE_HANGUL         (UINT64_C(1) << 47)
#define UNICODE_LATIN          (UINT64_C(1) << 48)
#define UNICODE_GREEK          (UINT64_C(1) << 49)
#define UNICODE_CYRILLIC       (UINT64_C(1) << 50)
#define UNICODE_ARABIC         (UINT64_C(1) << 51)

#define UNICODE_L (UNICODE_LU | UNICODE_LL | UNICODE_LT | UNICODE_LM | UNICODE_LO)
#define UNICODE_M (UNICODE_MN | UNICODE_MC | UNICODE_ME)
#define UNICODE_N (UNICODE_ND | UNICODE_NL | UNICODE_NO)
#define UNICODE_P (UNICODE_PC | UNICODE_PD | UNICODE_PS | UNICODE_PE | UNICODE_PI | UNICODE_PF | UNICODE_PO)
#define UNICODE_S (UNICODE_SM | UNICODE_SC | UNICODE_SK | UNICODE_SO)
#define UNICODE_Z (UNICODE_ZS | UNICODE_ZL | UNICODE_ZP)
#define UNICODE_C (UNICODE_CC | UNICODE_CF | UNICODE_CS | UNICODE_CO | UNICODE_CN)

/* All bits of a code point; above U+10FFFF those of an unassigned one. */
uint64_t unicode_class(uint32_t code_point);

/* White space as the pre-tokenizers Whitespace and WhitespaceSplit and the normalizer Strip understand it. */
bool unicode_is_whitespace(uint32_t code_point);
/* As the pre-tokenizer Digits understands numbers. */
bool unicode_is_numeric(uint32_t code_point);
/* As the pre-tokenizer Punctuation understands it: ASCII's, symbols included, and others of category P. */
bool unicode_is_punctuation(uint32_t code_point);
/* What StripAccents removes (from text in NFD). */
bool unicode_is_mark(uint32_t code_point);
/* \w of the pre-tokenizer Whitespace. */
bool unicode_is_word(uint32_t code_point);

#endif
