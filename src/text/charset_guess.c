/* A guess at the character set of bytes of which nobody says anything true. */
#include <string.h>
#include <uchardet.h>

#include "text/charset_internal.h"

#define GUESS_BYTES   65536 /* what uchardet gets to see */
#define AROUND        24    /* ASCII bytes before and behind others that are kept */
#define OPAQUE_LENGTH 8

/* Where the text goes on behind a "<" at `at`: behind the tag, and behind the contents of scripts and styles. */
static size_t skip_tag(struct str bytes, size_t at)
{
    static const struct str opaque[] = {{"script", 6}, {"style", 5}};
    struct str rest = str_slice(bytes, at + 1, bytes.len);
    size_t end = str_find_char(bytes, '>', at);
    for (size_t i = 0; i < 2 && end != STR_NONE; i++) {
        if (!str_starts_with_nocase(rest, opaque[i]))
            continue;
        char close[OPAQUE_LENGTH + 2] = "</";
        memcpy(close + 2, opaque[i].data, opaque[i].len + 1);
        size_t tag = str_find_nocase(bytes, str_of(close), end);
        end = tag == STR_NONE ? STR_NONE : str_find_char(bytes, '>', tag);
    }
    return end == STR_NONE ? bytes.len : end + 1;
}

/* The text with a little of the ASCII around everything else: what tells sets apart, also in the middle of scripts. */
static void take_sample(struct str bytes, bool markup, struct buf *out)
{
    size_t kept = 0, wanted = 0; /* copied up to, to be copied up to */
    for (size_t i = 0; i < bytes.len && out->len < GUESS_BYTES; i++) {
        unsigned char c = (unsigned char)bytes.data[i];
        if (c == '<' && markup && i + 1 < bytes.len &&
            (ascii_is_alpha(bytes.data[i + 1]) || bytes.data[i + 1] == '/')) {
            if (wanted > kept)
                buf_add(out, str_slice(bytes, kept, wanted < i ? wanted : i));
            kept = wanted = skip_tag(bytes, i);
            buf_add_char(out, ' ');
            i = kept - 1;
        } else if (c >= 0x80) {
            size_t from = i > AROUND ? i - AROUND : 0;
            if (from > wanted && wanted > kept)
                buf_add(out, str_slice(bytes, kept, wanted));
            if (from > wanted)
                kept = from;
            wanted = i + 1 + AROUND;
        }
        if (wanted > kept && (i + 1 == wanted || i - kept > (size_t)AROUND * AROUND)) {
            buf_add(out, str_slice(bytes, kept, i + 1));
            kept = i + 1;
        }
    }
    if (wanted > kept)
        buf_add(out, str_slice(bytes, kept, wanted));
}

static const char *ask_uchardet(struct str sample)
{
    uchardet_t detector = uchardet_new();
    const char *name = NULL;
    if (uchardet_handle_data(detector, sample.data, sample.len) == 0) {
        uchardet_data_end(detector);
        name = charset_of_label(str_of(uchardet_get_charset(detector)));
    }
    uchardet_delete(detector);
    return name && strcmp(name, "koi8-r") == 0 ? "koi8-u" : name; /* the same but for letters in place of lines */
}

const char *charset_guess(struct str bytes, bool markup)
{
    if (charset_has_jis_escapes(bytes))
        return "iso-2022-jp";
    struct buf sample;
    buf_init(&sample, BUF_UNBOUNDED); /* ends soon behind GUESS_BYTES */
    take_sample(bytes, markup, &sample);
    const char *name = sample.len ? ask_uchardet(buf_str(&sample)) : NULL;
    buf_finish(&sample);
    return name;
}
