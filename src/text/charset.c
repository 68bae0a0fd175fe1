#include "text/charset.h"

#include <errno.h>
#include <iconv.h>
#include <string.h>
#include <uchardet.h>

#include "core/utf8.h"

#define DECLARATION_BYTES 4096  /* a declaration further in does not count */
#define GUESS_BYTES       65536 /* what uchardet gets to see */

struct label {
    const char *label, *name;
};

/* https://encoding.spec.whatwg.org/#names-and-labels, the labels that occur, mapped to glibc's names. */
static const struct label labels[] = {
    {"utf-8", "utf-8"},
    {"utf8", "utf-8"},
    {"unicode-1-1-utf-8", "utf-8"},
    {"x-unicode20utf8", "utf-8"},
    {"utf-16", "utf-16le"},
    {"utf-16le", "utf-16le"},
    {"utf-16be", "utf-16be"},
    {"unicode", "utf-16le"},
    {"ucs-2", "utf-16le"},
    {"ascii", "windows-1252"},
    {"us-ascii", "windows-1252"},
    {"ansi_x3.4-1968", "windows-1252"},
    {"iso-8859-1", "windows-1252"},
    {"iso8859-1", "windows-1252"},
    {"iso88591", "windows-1252"},
    {"iso_8859-1", "windows-1252"},
    {"latin1", "windows-1252"},
    {"latin-1", "windows-1252"},
    {"l1", "windows-1252"},
    {"cp819", "windows-1252"},
    {"windows-1252", "windows-1252"},
    {"cp1252", "windows-1252"},
    {"x-cp1252", "windows-1252"},
    {"iso-8859-2", "iso-8859-2"},
    {"iso8859-2", "iso-8859-2"},
    {"latin2", "iso-8859-2"},
    {"l2", "iso-8859-2"},
    {"iso-8859-3", "iso-8859-3"},
    {"latin3", "iso-8859-3"},
    {"iso-8859-4", "iso-8859-4"},
    {"latin4", "iso-8859-4"},
    {"iso-8859-5", "iso-8859-5"},
    {"cyrillic", "iso-8859-5"},
    {"iso-8859-6", "iso-8859-6"},
    {"arabic", "iso-8859-6"},
    {"iso-8859-7", "iso-8859-7"},
    {"greek", "iso-8859-7"},
    {"iso-8859-8", "iso-8859-8"},
    {"iso-8859-8-i", "iso-8859-8"},
    {"hebrew", "iso-8859-8"},
    {"logical", "iso-8859-8"},
    {"visual", "iso-8859-8"},
    {"iso-8859-9", "windows-1254"},
    {"latin5", "windows-1254"},
    {"windows-1254", "windows-1254"},
    {"cp1254", "windows-1254"},
    {"iso-8859-10", "iso-8859-10"},
    {"iso-8859-13", "iso-8859-13"},
    {"iso-8859-14", "iso-8859-14"},
    {"iso-8859-15", "iso-8859-15"},
    {"latin9", "iso-8859-15"},
    {"l9", "iso-8859-15"},
    {"iso-8859-16", "iso-8859-16"},
    {"windows-874", "cp874"},
    {"tis-620", "cp874"},
    {"iso-8859-11", "cp874"},
    {"dos-874", "cp874"},
    {"windows-1250", "windows-1250"},
    {"cp1250", "windows-1250"},
    {"windows-1251", "windows-1251"},
    {"cp1251", "windows-1251"},
    {"x-cp1251", "windows-1251"},
    {"win-1251", "windows-1251"},
    {"windows-1253", "windows-1253"},
    {"cp1253", "windows-1253"},
    {"windows-1255", "windows-1255"},
    {"cp1255", "windows-1255"},
    {"windows-1256", "windows-1256"},
    {"cp1256", "windows-1256"},
    {"windows-1257", "windows-1257"},
    {"cp1257", "windows-1257"},
    {"windows-1258", "windows-1258"},
    {"cp1258", "windows-1258"},
    {"koi8-r", "koi8-r"},
    {"koi8", "koi8-r"},
    {"koi", "koi8-r"},
    {"koi8_r", "koi8-r"},
    {"koi8-u", "koi8-u"},
    {"koi8-ru", "koi8-u"},
    {"ibm866", "cp866"},
    {"cp866", "cp866"},
    {"866", "cp866"},
    {"macintosh", "macintosh"},
    {"mac", "macintosh"},
    {"x-mac-roman", "macintosh"},
    {"x-mac-cyrillic", "mac-cyrillic"},
    {"maccyrillic", "mac-cyrillic"},
    {"gb2312", "gb18030"},
    {"gbk", "gb18030"},
    {"gb18030", "gb18030"},
    {"gb_2312-80", "gb18030"},
    {"chinese", "gb18030"},
    {"cp936", "gb18030"},
    {"x-gbk", "gb18030"},
    {"csgb2312", "gb18030"},
    {"iso-ir-58", "gb18030"},
    {"gb_2312", "gb18030"},
    {"big5", "big5-hkscs"},
    {"big5-hkscs", "big5-hkscs"},
    {"x-x-big5", "big5-hkscs"},
    {"cn-big5", "big5-hkscs"},
    {"big5hkscs", "big5-hkscs"},
    {"euc-jp", "euc-jp"},
    {"x-euc-jp", "euc-jp"},
    {"eucjp", "euc-jp"},
    {"iso-2022-jp", "iso-2022-jp"},
    {"csiso2022jp", "iso-2022-jp"},
    {"shift_jis", "cp932"},
    {"shift-jis", "cp932"},
    {"sjis", "cp932"},
    {"x-sjis", "cp932"},
    {"ms_kanji", "cp932"},
    {"windows-31j", "cp932"},
    {"ms932", "cp932"},
    {"cp932", "cp932"},
    {"csshiftjis", "cp932"},
    {"euc-kr", "cp949"},
    {"ks_c_5601-1987", "cp949"},
    {"korean", "cp949"},
    {"ksc5601", "cp949"},
    {"windows-949", "cp949"},
    {"cseuckr", "cp949"},
    {"uhc", "cp949"},
    {"cp949", "cp949"},
    {"iso-2022-kr", "iso-2022-kr"},
    {"euc-tw", "euc-tw"},
    {"viscii", "viscii"},
    {"georgian-ps", "georgian-ps"},
    {"utf-32", "utf-32"},
    {"utf-32le", "utf-32le"},
    {"utf-32be", "utf-32be"},
};

const char *charset_of_label(struct str label)
{
    label = str_trim(label);
    for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++)
        if (str_equal_ascii_nocase(label, str_of(labels[i].label)))
            return labels[i].name;
    return NULL;
}

/* The value behind "charset=" or "encoding=" at or after `from`. */
static struct str value_after(struct str s, struct str name, size_t from)
{
    for (size_t at = from; (at = str_find_nocase(s, name, at)) != STR_NONE; at++) {
        size_t i = at + name.len;
        while (i < s.len && ascii_is_space(s.data[i]))
            i++;
        if (i >= s.len || s.data[i] != '=')
            continue;
        do
            i++;
        while (i < s.len && ascii_is_space(s.data[i]));
        if (i < s.len && (s.data[i] == '"' || s.data[i] == '\''))
            i++;
        size_t end = i;
        while (end < s.len && !ascii_is_space(s.data[end]) && !strchr("\"';,>/?", s.data[end]))
            end++;
        if (end > i)
            return str_slice(s, i, end);
    }
    return (struct str){0};
}

static const char *declared(struct str bytes)
{
    struct str head = str_slice(bytes, 0, DECLARATION_BYTES);
    const char *name = NULL;
    if (str_starts_with(str_trim_start(head), STR("<?xml"))) {
        size_t end = str_find(head, STR("?>"), 0);
        if (end != STR_NONE)
            name = charset_of_label(value_after(str_slice(head, 0, end), STR("encoding"), 0));
    }
    for (size_t at = 0; !name && (at = str_find_nocase(head, STR("<meta"), at)) != STR_NONE; at++) {
        size_t end = str_find_char(head, '>', at);
        if (end == STR_NONE)
            break;
        name = charset_of_label(value_after(str_slice(head, at, end), STR("charset"), 0));
    }
    /* what could be read as ASCII so far is no UTF-16, whatever it says */
    return name && strncmp(name, "utf-16", 6) == 0 ? "utf-8" : name;
}

static const char *by_mark(struct str bytes, size_t *length)
{
    static const struct {
        struct str mark;
        const char *name;
    } marks[] = {
        {{"\xEF\xBB\xBF", 3}, "utf-8"},
        {{"\xFF\xFE\0\0", 4}, "utf-32le"},
        {{"\xFF\xFE", 2}, "utf-16le"},
        {{"\xFE\xFF", 2}, "utf-16be"},
    };
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        if (str_starts_with(bytes, marks[i].mark)) {
            *length = marks[i].mark.len;
            return marks[i].name;
        }
    }
    *length = 0;
    return NULL;
}

static const char *guess(struct str bytes)
{
    uchardet_t detector = uchardet_new();
    const char *name = NULL;
    if (uchardet_handle_data(detector, bytes.data, bytes.len < GUESS_BYTES ? bytes.len : GUESS_BYTES) == 0) {
        uchardet_data_end(detector);
        name = charset_of_label(str_of(uchardet_get_charset(detector)));
    }
    uchardet_delete(detector);
    return name;
}

static struct charset_found found_as(const char *name, enum charset_source source)
{
    struct charset_found found = {.source = source};
    strncpy(found.name, name, sizeof found.name - 1);
    return found;
}

struct charset_found charset_find(struct str bytes, struct str content_type, bool markup)
{
    size_t mark;
    const char *name = by_mark(bytes, &mark);
    if (name)
        return found_as(name, CHARSET_FROM_BOM);
    name = charset_of_label(value_after(content_type, STR("charset"), 0));
    if (name)
        return found_as(name, CHARSET_FROM_HEADER);
    name = markup ? declared(bytes) : NULL;
    if (name)
        return found_as(name, CHARSET_FROM_DOCUMENT);
    if (utf8_valid_prefix(bytes) + utf8_incomplete_tail(bytes) >= bytes.len)
        return found_as("utf-8", CHARSET_FROM_BYTES);
    name = guess(bytes);
    return name ? found_as(name, CHARSET_FROM_BYTES) : found_as("windows-1252", CHARSET_FROM_FALLBACK);
}

static enum status convert(iconv_t converter, struct str bytes, struct buf *out)
{
    char *in = (char *)(uintptr_t)bytes.data; /* iconv does not write there */
    size_t left = bytes.len;
    while (left) {
        char chunk[8192], *end = chunk;
        size_t room = sizeof chunk;
        size_t result = iconv(converter, &in, &left, &end, &room);
        int reason = errno;
        enum status status = buf_append(out, chunk, (size_t)(end - chunk));
        if (status != STATUS_OK)
            return status;
        if (result != (size_t)-1 || reason == E2BIG)
            continue;
        status = buf_append_str(out, STR("\xEF\xBF\xBD"));
        if (status != STATUS_OK)
            return status;
        if (reason != EILSEQ) /* an incomplete character at the end */
            break;
        in++;
        left--;
        iconv(converter, NULL, NULL, NULL, NULL);
    }
    return STATUS_OK;
}

/* utf8_append_valid, but filling `out` to its cap */
static enum status copy_valid(struct str bytes, struct buf *out)
{
    while (bytes.len) {
        size_t step = utf8_floor(bytes, 65536);
        if (!step)
            step = bytes.len < 65536 ? bytes.len : 65536;
        enum status status = utf8_append_valid(out, str_slice(bytes, 0, step));
        if (status != STATUS_OK) {
            struct str fits = str_slice(bytes, 0, utf8_floor(bytes, out->cap - out->len));
            return utf8_is_valid(fits) && buf_append_str(out, fits) == STATUS_OK ? STATUS_TOO_BIG : status;
        }
        bytes = str_slice(bytes, step, bytes.len);
    }
    return STATUS_OK;
}

enum status charset_to_utf8(struct str bytes, struct str content_type, bool markup, struct buf *out,
                            struct charset_found *found)
{
    struct charset_found local = charset_find(bytes, content_type, markup);
    size_t mark;
    if (by_mark(bytes, &mark))
        bytes = str_slice(bytes, mark, bytes.len);
    iconv_t converter = (iconv_t)-1;
    if (strcmp(local.name, "utf-8") != 0)
        converter = iconv_open("utf-8", local.name);
    if (found)
        *found = local;
    if (converter == (iconv_t)-1)
        return copy_valid(bytes, out);
    enum status status = convert(converter, bytes, out);
    iconv_close(converter);
    return status;
}
