/* src/text/tokenizer/normalize.h
 *
 * The normalizers one by one. Each gives back `text` itself, or a part of it, where that will do, and else what it put
 * into `out` (unbounded, empty). `text` is valid UTF-8 and does not lie in `out`.
 */
#ifndef FATHOM_TEXT_TOKENIZER_NORMALIZE_H
#define FATHOM_TEXT_TOKENIZER_NORMALIZE_H

#include "core/buf.h"
#include "core/str.h"
#include "text/tokenizer/spec.h"

/* NORMALIZER_NFC, NFD, NFKC, NFKD, by the edition 9.0 of Unicode: later characters stay as they are. Text that is
 * normal already, as nearly all is, is only looked over. Linear, whatever the text. */
struct str normalize_form(enum normalizer_kind form, struct str text, struct buf *out);

/* What one look over a text tells that may be anything. */
struct text_look {
    bool valid;      /* UTF-8 */
    size_t composed; /* where it is valid: NFC leaves every stretch as it is that ends here or before */
};
struct text_look text_look_over(struct str text);

struct str normalize_lowercase(struct str text, struct buf *out);
struct str normalize_strip(struct str text, bool left, bool right);
struct str normalize_strip_accents(struct str text, struct buf *out);

/* Control characters go, some others become spaces. */
struct str normalize_nmt(struct str text, struct buf *out);

/* Each byte becomes the printable character that stands for it in GPT-2's vocabulary. */
struct str normalize_byte_level(struct str text, struct buf *out);

/* The byte that a character of such a vocabulary stands for; -1 where it stands for none. */
int byte_level_byte(uint32_t character);

/* SentencePiece's precompiled map: a double array over bytes, then the replacements, each ended by NUL. The map is used
 * cluster by cluster (UAX #29), and character by character where a cluster is long or not in it. */
struct charsmap {
    struct str units; /* uint32_t each, little-endian, not aligned */
    struct str replacements;
    bool ascii[128]; /* which characters have a replacement */
};

/* `bytes` are borrowed. False when they are no such map. */
bool charsmap_open(struct charsmap *map, struct str bytes);
struct str normalize_charsmap(const struct charsmap *map, struct str text, struct buf *out);

/* The bytes of the grapheme cluster (UAX #29, edition 17.0) at `at`. */
size_t cluster_len(struct str text, size_t at);

/* A text that is rewritten in places: nothing is copied before the first of them. */
struct rewrite {
    struct str text;
    struct buf *out;
    size_t copied; /* bytes of the text that `out` stands for */
    bool changed;
};

/* The bytes [from, to), behind all earlier ones, become `with`. */
void rewrite_replace(struct rewrite *rewrite, size_t from, size_t to, struct str with);

/* The text itself where nothing was replaced, else what is in `out`. */
struct str rewrite_end(struct rewrite *rewrite);

/* The character at `at` and its bytes. Never reads behind the end, also where the text is not UTF-8. */
static inline uint32_t character_at(struct str text, size_t at, size_t *len)
{
    const unsigned char *bytes = (const unsigned char *)text.data + at;
    size_t left = text.len - at;
    uint32_t first = bytes[0];
    if (first < 0xC0 || left < 2) {
        *len = 1;
        return first;
    }
    if (first < 0xE0 || left < 3) {
        *len = 2;
        return (first & 0x1F) << 6 | (bytes[1] & 0x3Fu);
    }
    if (first < 0xF0 || left < 4) {
        *len = 3;
        return (first & 0x0F) << 12 | (bytes[1] & 0x3Fu) << 6 | (bytes[2] & 0x3Fu);
    }
    *len = 4;
    return (first & 0x07) << 18 | (bytes[1] & 0x3Fu) << 12 | (bytes[2] & 0x3Fu) << 6 | (bytes[3] & 0x3Fu);
}

/* The first byte at or after `at` that is not ASCII. */
size_t skip_ascii(struct str text, size_t at);

#endif
