/* src/text/charset.h
 *
 * Bytes in whatever character set to UTF-8.
 *
 * The set is found as browsers find it: a byte order mark, else the charset of the Content-Type header, else (for HTML
 * and XML) what the first 65,536 bytes declare, else UTF-8 when the bytes are valid UTF-8, else uchardet's guess, else
 * windows-1252. Labels mean what the WHATWG Encoding Standard says they mean, so "latin1" and "ascii" are windows-1252
 * and "gb2312" is gb18030.
 *
 * Unlike browsers, a claim that the bytes contradict is passed over: "latin1" where all is UTF-8, "utf-8" where hardly
 * anything is, "utf-16" without a NUL, a western set or a Chinese one where the letters stand as in no such text. Pure;
 * any thread. Linear in the input.
 */
#ifndef FATHOM_TEXT_CHARSET_H
#define FATHOM_TEXT_CHARSET_H

#include "core/buf.h"
#include "core/status.h"
#include "core/str.h"

enum charset_source {
    CHARSET_FROM_BOM,
    CHARSET_FROM_HEADER,
    CHARSET_FROM_DOCUMENT, /* <meta charset>, <meta http-equiv>, an XML declaration; or a claim for want of better */
    CHARSET_FROM_BYTES,    /* valid UTF-8, or guessed */
    CHARSET_FROM_FALLBACK,
};

struct charset_found {
    char name[32]; /* in lower case, as iconv knows it: "utf-8", "windows-1252", "gb18030" */
    enum charset_source source;
};

/* Decides which character set `bytes` are in. `content_type` is the value of the HTTP header (`text/html; charset=x`),
 * or empty. `markup` says whether a declaration inside the bytes counts. */
struct charset_found charset_find(struct str bytes, struct str content_type, bool markup);

/* Appends `bytes` to `out` as valid UTF-8 without a byte order mark; what cannot be converted becomes U+FFFD. `found`
 * (may be NULL) tells which set was taken. The work stops when the cap of `out` is reached: STATUS_TOO_BIG, and `out`
 * holds what fitted. */
enum status charset_to_utf8(struct str bytes, struct str content_type, bool markup, struct buf *out,
                            struct charset_found *found) STATUS_CHECKED;

/* The length of the byte order mark at the beginning, and its set in *name; 0 and NULL without one. */
size_t charset_mark(struct str bytes, const char **name);

/* The same for bytes of a set that charset_find found (struct charset_found's name), and for the pieces of a text: a
 * byte order mark is not looked for. */
enum status charset_convert(const char *name, struct str bytes, struct buf *out) STATUS_CHECKED;

/* The iconv name for a label as pages and headers write it ("Latin1", " UTF8", "x-sjis"), NULL when the label is
 * unknown. Static. */
const char *charset_of_label(struct str label);

#endif
