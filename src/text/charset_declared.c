/* What markup declares about its own character set. */
#include <string.h>

#include "text/charset_internal.h"

#define DECLARATION_BYTES \
    65536 /* a declaration further in does not count; browsers look at 1,024 and start anew later */

static const char *by_xml_declaration(struct str head)
{
    struct str start = str_trim_start(head);
    if (!str_starts_with(start, STR("<?xml")))
        return NULL;
    size_t end = str_find(start, STR("?>"), 0);
    return end == STR_NONE ? NULL : charset_of_label(charset_parameter(str_slice(start, 0, end), STR("encoding"), 0));
}

/* Where a tag ends: behind the first ">" outside quoted values. */
static size_t tag_end(struct str head, size_t at)
{
    char quote = 0, before = 0;
    for (; at < head.len; at++) {
        char c = head.data[at];
        if (quote) {
            if (c == quote)
                quote = 0;
        } else if ((c == '"' || c == '\'') && before == '=') {
            quote = c;
        } else if (c == '>') {
            return at + 1;
        }
        if (!ascii_is_space(c))
            before = c;
    }
    return head.len;
}

/* The next attribute of a tag from *at on; false at its end. */
static bool next_attribute(struct str tag, size_t *at, struct str *name, struct str *value)
{
    size_t i = *at;
    while (i < tag.len && (ascii_is_space(tag.data[i]) || tag.data[i] == '/'))
        i++;
    size_t start = i;
    while (i < tag.len && !ascii_is_space(tag.data[i]) && (tag.data[i] != '=' || i == start) && tag.data[i] != '/')
        i++;
    *name = str_slice(tag, start, i);
    *value = (struct str){0};
    while (i < tag.len && ascii_is_space(tag.data[i]))
        i++;
    if (i < tag.len && tag.data[i] == '=') {
        do
            i++;
        while (i < tag.len && ascii_is_space(tag.data[i]));
        char quote = i < tag.len && (tag.data[i] == '"' || tag.data[i] == '\'') ? tag.data[i++] : 0;
        start = i;
        while (i < tag.len && (quote ? tag.data[i] != quote : !ascii_is_space(tag.data[i])))
            i++;
        *value = str_slice(tag, start, i);
        i += quote != 0;
    }
    *at = i;
    return name->len > 0;
}

/* The set that a <meta> names. `tag` is what stands between "<meta" and ">". */
static const char *by_meta(struct str tag)
{
    const char *plain = NULL, *pragma = NULL;
    bool is_pragma = false;
    size_t at = 0;
    struct str name, value;
    while (next_attribute(tag, &at, &name, &value)) {
        if (!plain && str_equal_ascii_nocase(name, STR("charset")))
            plain = charset_of_label(value);
        else if (!pragma && str_equal_ascii_nocase(name, STR("content")))
            pragma = charset_of_label(charset_parameter(value, STR("charset"), 0));
        else if (str_equal_ascii_nocase(name, STR("http-equiv")))
            is_pragma |= str_equal_ascii_nocase(str_trim(value), STR("content-type"));
    }
    if (plain)
        return plain;
    return is_pragma ? pragma : NULL;
}

/* Behind the contents of the element that was opened by the tag before `at`, when they are no markup. */
static size_t skip_contents(struct str head, struct str name, size_t at)
{
    static const char *const opaque[] = {"script", "style", "textarea", "title", "xmp", "iframe", "noembed"};
    for (size_t i = 0; i < sizeof opaque / sizeof opaque[0]; i++) {
        if (!str_equal_ascii_nocase(name, str_of(opaque[i])))
            continue;
        size_t end = at;
        while ((end = str_find(head, STR("</"), end)) != STR_NONE) {
            if (str_starts_with_nocase(str_slice(head, end + 2, head.len), name))
                return end;
            end += 2;
        }
        return head.len;
    }
    return at;
}

static const char *by_metas(struct str head)
{
    size_t at = 0;
    while ((at = str_find_char(head, '<', at)) != STR_NONE) {
        struct str rest = str_slice(head, at + 1, head.len);
        if (str_starts_with(rest, STR("!--"))) {
            size_t end = str_find(head, STR("-->"), at + 2);
            at = end == STR_NONE ? head.len : end + 3;
            continue;
        }
        size_t length = 0;
        while (length < rest.len && ascii_is_alnum(rest.data[length]))
            length++;
        struct str name = str_slice(rest, 0, length);
        if (length == 0) {
            at++;
            continue;
        }
        size_t end = tag_end(head, at + 1 + length);
        if (str_equal_ascii_nocase(name, STR("meta"))) {
            struct str tag = str_slice(head, at + 1 + length, end);
            const char *set = by_meta(str_slice(tag, 0, str_ends_with(tag, STR(">")) ? tag.len - 1 : tag.len));
            if (set)
                return set;
        }
        at = skip_contents(head, name, end);
    }
    return NULL;
}

const char *charset_declared(struct str bytes)
{
    struct str head = str_slice(bytes, 0, DECLARATION_BYTES);
    const char *name = by_xml_declaration(head);
    if (!name)
        name = by_metas(head);
    /* what could be read as ASCII so far is no UTF-16, whatever it says */
    bool wide = name && (strncmp(name, "utf-16", 6) == 0 || strncmp(name, "utf-32", 6) == 0);
    return wide ? "utf-8" : name;
}
