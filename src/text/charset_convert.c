/* Bytes of a known character set to UTF-8. */
#include <errno.h>
#include <iconv.h>
#include <string.h>

#include "core/utf8.h"
#include "text/charset_internal.h"

#define PIECE_BYTES 65536 /* input between two looks at the output's cap */
#define MANY_ERRORS 65536 /* then, and with one in 64 bytes, the input is no text, and not worth a call for each */

/* ---- UTF-8 ---- */

/* utf8_append_valid, but filling `out` to its cap */
static enum status copy_valid(struct str bytes, struct buf *out)
{
    (void)buf_reserve(out, bytes.len); /* at once; nothing happens when it is more than the cap */
    while (bytes.len) {
        size_t step = utf8_floor(bytes, PIECE_BYTES);
        if (!step)
            step = bytes.len < PIECE_BYTES ? bytes.len : PIECE_BYTES;
        enum status status = utf8_append_valid(out, str_slice(bytes, 0, step));
        if (status != STATUS_OK) {
            struct str fits = str_slice(bytes, 0, utf8_floor(bytes, out->cap - out->len));
            return utf8_is_valid(fits) && buf_append_str(out, fits) == STATUS_OK ? STATUS_TOO_BIG : status;
        }
        bytes = str_slice(bytes, step, bytes.len);
    }
    return STATUS_OK;
}

/* ---- UTF-16 ---- */

static uint32_t unit_at(const unsigned char *p, bool big)
{
    return big ? (uint32_t)p[0] << 8 | p[1] : (uint32_t)p[1] << 8 | p[0];
}

static enum status convert_utf16(struct str bytes, bool big, struct buf *out)
{
    const unsigned char *p = (const unsigned char *)bytes.data;
    for (size_t i = 0; i < bytes.len;) {
        char chunk[4096];
        size_t filled = 0;
        while (i < bytes.len && filled + 4 <= sizeof chunk) {
            uint32_t value = i + 1 < bytes.len ? unit_at(p + i, big) : 0xD800;
            i += 2;
            if (value >= 0xD800 && value < 0xDC00 && i + 1 < bytes.len) {
                uint32_t low = unit_at(p + i, big);
                if (low >= 0xDC00 && low < 0xE000) {
                    value = 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
                    i += 2;
                }
            }
            if (value >= 0xD800 && value < 0xE000)
                value = 0xFFFD;
            filled += utf8_encode(value, chunk + filled);
        }
        enum status status = buf_append(out, chunk, filled);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* ---- sets of one byte a character ---- */

bool charset_is_single_byte(const char *name)
{
    static const char *const beginnings[] = {"iso-8859-", "windows-125", "koi8-", "cp8", "mac", "viscii", "georgian-"};
    if (strcmp(name, "windows-1255") == 0 || strcmp(name, "windows-1258") == 0)
        return false; /* iconv composes their accents */
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

bool charset_table(const char *name, uint32_t table[256])
{
    iconv_t converter = iconv_open("utf-8", name);
    if (converter == (iconv_t)-1)
        return false;
    for (int c = 0; c < 256; c++) {
        char byte = (char)c, *in = &byte, text[8], *end = text;
        size_t left = 1, room = sizeof text, length;
        bool ok = iconv(converter, &in, &left, &end, &room) != (size_t)-1 && end > text;
        table[c] = ok ? utf8_decode(str_make(text, (size_t)(end - text)), &length) : 0xFFFD;
        iconv(converter, NULL, NULL, NULL, NULL);
    }
    iconv_close(converter);
    return true;
}

static enum status convert_by_table(const uint32_t table[256], struct str bytes, struct buf *out)
{
    char coded[256][4];
    uint8_t lengths[256];
    for (int c = 0; c < 256; c++)
        lengths[c] = (uint8_t)utf8_encode(table[c], coded[c]);
    for (size_t i = 0; i < bytes.len;) {
        char chunk[4096 + 8];
        size_t filled = 0;
        while (i < bytes.len && filled < 4096) {
            uint64_t eight;
            if (bytes.len - i >= sizeof eight) {
                memcpy(&eight, bytes.data + i, sizeof eight);
                if (!(eight & 0x8080808080808080u)) {
                    memcpy(chunk + filled, &eight, sizeof eight);
                    filled += sizeof eight;
                    i += sizeof eight;
                    continue;
                }
            }
            unsigned char c = (unsigned char)bytes.data[i++];
            memcpy(chunk + filled, coded[c], 4);
            filled += lengths[c];
        }
        enum status status = buf_append(out, chunk, filled);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* ---- everything else ---- */

/* How many bytes an error takes. In sets of two bytes a wrong pair goes as a whole, unless its second byte is ASCII, so
 * that what follows is not read out of step; of sets of four bytes, all. */
static size_t bad_length(const char *name, const char *in, size_t left)
{
    if (strncmp(name, "utf-32", 6) == 0)
        return left < 4 ? left : 4;
    unsigned char lead = (unsigned char)in[0];
    return lead > 0x80 && lead < 0xFF && left > 1 && (unsigned char)in[1] >= 0x80 ? 2 : 1;
}

static enum status append_replacement(struct buf *out)
{
    return buf_append_str(out, STR("\xEF\xBF\xBD"));
}

/* The ASCII of it, and one U+FFFD for everything between. */
static enum status convert_ruins(struct str bytes, struct buf *out)
{
    enum status status = STATUS_OK;
    for (size_t i = 0, end; i < bytes.len && status == STATUS_OK; i = end) {
        bool ascii = (unsigned char)bytes.data[i] < 0x80;
        for (end = i; end < bytes.len && ((unsigned char)bytes.data[end] < 0x80) == ascii; end++)
            ;
        status = ascii ? buf_append_str(out, str_slice(bytes, i, end)) : append_replacement(out);
    }
    return status;
}

static enum status convert_by_iconv(iconv_t converter, const char *name, struct str bytes, struct buf *out)
{
    char *in = (char *)(uintptr_t)bytes.data; /* iconv does not write there */
    size_t left = bytes.len, errors = 0;
    bool flushed = false;
    while (left || !flushed) {
        char chunk[8192], *end = chunk;
        size_t room = sizeof chunk;
        flushed = left == 0;
        size_t result = iconv(converter, left ? &in : NULL, left ? &left : NULL, &end, &room);
        int reason = errno;
        enum status status = buf_append(out, chunk, (size_t)(end - chunk));
        if (status != STATUS_OK)
            return status;
        if (result != (size_t)-1 || reason == E2BIG)
            continue;
        bool is_euro = strcmp(name, "gb18030") == 0 && *in == '\x80'; /* as in code page 936 */
        status = is_euro ? buf_append_str(out, STR("\xE2\x82\xAC")) : append_replacement(out);
        if (status != STATUS_OK)
            return status;
        if (reason != EILSEQ) /* an incomplete character at the end */
            break;
        size_t bad = is_euro ? 1 : bad_length(name, in, left);
        in += bad;
        left -= bad;
        if (++errors > MANY_ERRORS && errors > (bytes.len - left) / 64)
            return convert_ruins(str_make(in, left), out);
    }
    return STATUS_OK;
}

/* ISO-2022-JP (RFC 1468, with half-width kana and JIS X 0212) as EUC-JP: iconv loses its state at errors and does not
 * know the vendors' characters. */
static void jis_to_euc(struct str bytes, struct buf *out)
{
    enum { ASCII, KANA, KANJI, MORE_KANJI } state = ASCII;
    for (size_t i = 0; i < bytes.len; i++) {
        struct str rest = str_slice(bytes, i, bytes.len);
        unsigned char c = (unsigned char)bytes.data[i];
        if (c == 0x1B && rest.len >= 3) {
            size_t length = 3;
            if (str_starts_with(rest, STR("\x1B$@")) || str_starts_with(rest, STR("\x1B$B")))
                state = KANJI;
            else if (str_starts_with(rest, STR("\x1B$(D")))
                state = MORE_KANJI, length = 4;
            else if (str_starts_with(rest, STR("\x1B(I")))
                state = KANA;
            else if (rest.data[1] == '(')
                state = ASCII;
            else
                length = 1;
            i += length - 1;
        } else if (state == ASCII || c <= 0x20 || c >= 0x7F) {
            buf_add_char(out, (char)c);
        } else if (state == KANA) {
            buf_add(out, STR("\x8E"));
            buf_add_char(out, (char)(c | 0x80));
        } else if (rest.len >= 2 && rest.data[1] > 0x20 && rest.data[1] < 0x7F) {
            if (state == MORE_KANJI)
                buf_add(out, STR("\x8F"));
            buf_add_char(out, (char)(c | 0x80));
            buf_add_char(out, (char)((unsigned char)rest.data[1] | 0x80));
            i++;
        }
    }
}

static enum status convert_jis(struct str bytes, struct buf *out)
{
    struct buf euc;
    buf_init(&euc, BUF_UNBOUNDED); /* at most three times as long */
    jis_to_euc(bytes, &euc);
    enum status status = charset_convert("euc-jp-ms", buf_str(&euc), out);
    buf_finish(&euc);
    return status;
}

enum status charset_convert(const char *name, struct str bytes, struct buf *out)
{
    uint32_t table[256];
    if (strcmp(name, "utf-8") == 0)
        return copy_valid(bytes, out);
    if (strncmp(name, "utf-16", 6) == 0)
        return convert_utf16(bytes, strcmp(name, "utf-16be") == 0, out);
    if (strcmp(name, "iso-2022-jp") == 0)
        return convert_jis(bytes, out);
    if (charset_is_single_byte(name) && charset_table(name, table))
        return convert_by_table(table, bytes, out);
    iconv_t converter = iconv_open("utf-8", name);
    if (converter == (iconv_t)-1)
        return copy_valid(bytes, out);
    enum status status = convert_by_iconv(converter, name, bytes, out);
    iconv_close(converter);
    return status;
}
