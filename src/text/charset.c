#include "text/charset.h"

#include <string.h>

#include "text/charset_internal.h"

static const struct {
    const char *label, *name;
} labels[] = {
#define LABEL(label, name) {label, name},
#include "text/charset_labels.inc"
#undef LABEL
};

const char *charset_of_label(struct str label)
{
    label = str_trim(label);
    for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++)
        if (str_equal_ascii_nocase(label, str_of(labels[i].label)))
            return labels[i].name;
    return NULL;
}

size_t charset_mark(struct str bytes, const char **name)
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
            *name = marks[i].name;
            return marks[i].mark.len;
        }
    }
    *name = NULL;
    return 0;
}

struct str charset_parameter(struct str s, struct str name, size_t from)
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
        while (end < s.len && !ascii_is_space(s.data[end]) && !memchr("\"';,>/?", s.data[end], 7))
            end++;
        if (end > i)
            return str_slice(s, i, end);
    }
    return (struct str){0};
}

static struct charset_found found_as(const char *name, enum charset_source source)
{
    struct charset_found found = {.source = source};
    strncpy(found.name, name, sizeof found.name - 1);
    return found;
}

/* A claim that the bytes contradict is still better than a guess at nothing. */
static struct charset_found guess(struct str bytes, bool markup, const struct charset_survey *survey, const char *claim)
{
    const char *name = charset_of_zeros(bytes);
    if (!name && !charset_contradicts("utf-8", survey, bytes, markup) && survey->good >= 16 * survey->bad)
        name = "utf-8";
    if (!name)
        name = charset_guess(bytes, markup);
    if (name && !charset_contradicts(name, survey, bytes, markup))
        return found_as(name, CHARSET_FROM_BYTES);
    if (claim && strncmp(claim, "utf-", 4) != 0)
        return found_as(claim, CHARSET_FROM_DOCUMENT);
    return name && strcmp(name, "utf-8") != 0 ? found_as(name, CHARSET_FROM_BYTES)
                                              : found_as("windows-1252", CHARSET_FROM_FALLBACK);
}

struct charset_found charset_find(struct str bytes, struct str content_type, bool markup)
{
    const char *name;
    if (charset_mark(bytes, &name))
        return found_as(name, CHARSET_FROM_BOM);
    struct charset_survey survey = charset_survey(bytes);
    const char *header = charset_of_label(charset_parameter(content_type, STR("charset"), 0));
    if (header && !charset_contradicts(header, &survey, bytes, markup))
        return found_as(header, CHARSET_FROM_HEADER);
    const char *declared = markup ? charset_declared(bytes) : NULL;
    if (declared && !charset_contradicts(declared, &survey, bytes, markup))
        return found_as(declared, CHARSET_FROM_DOCUMENT);
    return guess(bytes, markup, &survey, header ? header : declared);
}

/* Marks that were written once too often: twice, as characters of windows-1252, or as an entity. */
static struct str without_marks(struct str bytes, bool markup)
{
    static const char *const marks[] = {"\xEF\xBB\xBF", "\xC3\xAF\xC2\xBB\xC2\xBF", "&#65279;", "&#xfeff;"};
    for (size_t i = 0; i < (markup ? 4 : 2);) {
        struct str mark = str_of(marks[i]);
        bool is = str_starts_with_nocase(bytes, mark);
        if (is)
            bytes = str_slice(bytes, mark.len, bytes.len);
        i = is ? 0 : i + 1;
    }
    return bytes;
}

enum status charset_to_utf8(struct str bytes, struct str content_type, bool markup, struct buf *out,
                            struct charset_found *found)
{
    struct charset_found local = charset_find(bytes, content_type, markup);
    const char *name;
    size_t mark = charset_mark(bytes, &name);
    bytes = str_slice(bytes, mark, bytes.len);
    if (strcmp(local.name, "utf-8") == 0)
        bytes = without_marks(bytes, markup);
    if (found)
        *found = local;
    return charset_convert(local.name, bytes, out);
}
