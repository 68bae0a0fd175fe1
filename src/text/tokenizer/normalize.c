#include "text/tokenizer/normalize.h"

#include <string.h>

#include "core/utf8.h"
#include "text/tokenizer/unicode_class.h"

struct lower {
    uint32_t code_point, first, second; /* `second` is 0 but for the one letter that becomes two */
};

#include "text/tokenizer/normalize_lower.inc"

void rewrite_replace(struct rewrite *rewrite, size_t from, size_t to, struct str with)
{
    buf_add(rewrite->out, str_slice(rewrite->text, rewrite->copied, from));
    buf_add(rewrite->out, with);
    rewrite->copied = to;
    rewrite->changed = true;
}

struct str rewrite_end(struct rewrite *rewrite)
{
    if (!rewrite->changed)
        return rewrite->text;
    buf_add(rewrite->out, str_slice(rewrite->text, rewrite->copied, rewrite->text.len));
    return buf_str(rewrite->out);
}

static const struct lower *find_lower(uint32_t character)
{
    size_t low = 0, high = sizeof lowers / sizeof *lowers;
    if (character >= 0x2D00 && character < 0xA640)
        return NULL;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lowers[middle].code_point < character)
            low = middle + 1;
        else
            high = middle;
    }
    return low < sizeof lowers / sizeof *lowers && lowers[low].code_point == character ? &lowers[low] : NULL;
}

struct str normalize_lowercase(struct str text, struct buf *out)
{
    struct rewrite rewrite = {.text = text, .out = out};
    for (size_t at = 0, len; at < text.len; at += len) {
        uint32_t character = character_at(text, at, &len);
        char lower[8];
        if (character - 'A' < 26) {
            lower[0] = (char)(character + 32);
            rewrite_replace(&rewrite, at, at + 1, str_make(lower, 1));
        } else if (character >= 0x80) {
            const struct lower *found = find_lower(character);
            if (!found)
                continue;
            size_t lower_len = utf8_encode(found->first, lower);
            if (found->second)
                lower_len += utf8_encode(found->second, lower + lower_len);
            rewrite_replace(&rewrite, at, at + len, str_make(lower, lower_len));
        }
    }
    return rewrite_end(&rewrite);
}

struct str normalize_strip(struct str text, bool left, bool right)
{
    size_t from = 0, to = text.len, len;
    while (left && from < to && unicode_is_whitespace(character_at(text, from, &len)))
        from += len;
    while (right && to > from) {
        size_t last = to - 1;
        while (last > from && ((unsigned char)text.data[last] & 0xC0) == 0x80)
            last--;
        if (!unicode_is_whitespace(character_at(text, last, &len)))
            break;
        to = last;
    }
    return str_slice(text, from, to);
}

struct str normalize_strip_accents(struct str text, struct buf *out)
{
    struct rewrite rewrite = {.text = text, .out = out};
    for (size_t at = skip_ascii(text, 0), len; at < text.len; at = skip_ascii(text, at + len))
        if (unicode_is_mark(character_at(text, at, &len)))
            rewrite_replace(&rewrite, at, at + len, (struct str){0});
    return rewrite_end(&rewrite);
}

/* After the rules of the normalizer "nmt" of SentencePiece. */
static bool nmt_removes(uint32_t c)
{
    return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
}

static bool nmt_blanks(uint32_t c)
{
    return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
           c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
}

struct str normalize_nmt(struct str text, struct buf *out)
{
    struct rewrite rewrite = {.text = text, .out = out};
    for (size_t at = 0, len; at < text.len; at += len) {
        uint32_t character = character_at(text, at, &len);
        if (nmt_removes(character))
            rewrite_replace(&rewrite, at, at + len, (struct str){0});
        else if (nmt_blanks(character))
            rewrite_replace(&rewrite, at, at + len, STR(" "));
    }
    return rewrite_end(&rewrite);
}

static bool stands_for_itself(uint32_t byte)
{
    return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

/* The 68 bytes that do not stand for themselves stand, in order, behind the first 256 characters: 0 to 32, 127 to 160,
 * 173. */
static uint32_t byte_level_character(unsigned char byte)
{
    if (stands_for_itself(byte))
        return byte;
    if (byte <= 32)
        return 256u + byte;
    return byte == 173 ? 256u + 67 : 256u + 33 + (byte - 127u);
}

int byte_level_byte(uint32_t character)
{
    if (character < 256)
        return stands_for_itself(character) ? (int)character : -1;
    if (character <= 256 + 32)
        return (int)(character - 256);
    if (character < 256 + 67)
        return (int)(character - 256 - 33 + 127);
    return character == 256 + 67 ? 173 : -1;
}

struct str normalize_byte_level(struct str text, struct buf *out)
{
    char *room = buf_reserve(out, text.len * 2);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++)
        len += utf8_encode(byte_level_character((unsigned char)text.data[i]), room + len);
    buf_commit(out, len);
    return buf_str(out);
}
