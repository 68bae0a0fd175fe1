/* Names of authors, made clean. */
#include <string.h>

#include "text/html/meta_internal.h"

/* Whether a prefix may as well begin a name: "Von Trapp", "Di Maria". */
static bool is_preposition(struct str prefix)
{
    static const char *const prepositions[] = {"von", "par", "por", "di", "af", "av", "door"};
    for (size_t i = 0; i < sizeof prepositions / sizeof prepositions[0]; i++)
        if (str_equal(prefix, str_of(prepositions[i])))
            return true;
    return false;
}

struct str meta_without_by(struct str name)
{
    static const char *const prefixes[] = {
        "written by", "posted by",  "published by", "submitted by", "created by", "reviewed by", "words by",
        "story by",   "article by", "authored by",  "authors",      "author",     "by",          "von",
        "par",        "por",        "di",           "door",         "af",         "av",          "autor",
        "auteur",     "автор",      "作者",         "文",           "記者",       "글",          "geschrieben von"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        struct str prefix = str_of(prefixes[i]);
        if (!str_starts_with_nocase(name, prefix) || name.len <= prefix.len)
            continue;
        struct str rest = str_slice(name, prefix.len, name.len);
        bool colon = rest.data[0] == ':' || str_starts_with(rest, STR("：")) || str_starts_with(rest, STR("／"));
        if (!colon && !ascii_is_space(rest.data[0]))
            continue;
        if (colon)
            rest = str_slice(rest, rest.data[0] == ':' ? 1 : 3, rest.len);
        rest = str_trim(rest);
        if (is_preposition(prefix) && str_find_char(rest, ' ', 0) == STR_NONE)
            continue;
        name = rest;
        i = (size_t)-1; /* anew */
    }
    return name;
}

/* Names that systems write where nobody has one. */
static bool is_nobody(struct str name)
{
    static const char *const nobody[] = {
        "admin",       "administrator", "webmaster", "editor",     "guest",     "author",  "user",
        "unknown",     "anonymous",     "root",      "none",       "null",      "default", "undefined",
        "n/a",         "test",          "superuser", "super user", "by",        "false",   "true",
        "site",        "website",       "moderator", "wpadmin",    "login",     "log in",  "sign in",
        "admin admin", "system",        "share",     "follow",     "read more", "authors", "staff"};
    for (size_t i = 0; i < sizeof nobody / sizeof nobody[0]; i++)
        if (str_equal_ascii_nocase(name, str_of(nobody[i])))
            return true;
    bool letter = false;
    size_t dots = 0;
    for (size_t i = 0; i < name.len; i++)
        dots += name.data[i] == '.';
    if (dots > 1 && str_find_char(name, ' ', 0) == STR_NONE) /* a place in somebody's template */
        return true;
    for (size_t i = 0; i < name.len; i++)
        letter |= ascii_is_alpha(name.data[i]) || (unsigned char)name.data[i] >= 0x80;
    return !letter;
}

static bool is_address(struct str name)
{
    return str_starts_with_nocase(name, STR("http")) || str_starts_with_nocase(name, STR("www.")) ||
           str_find(name, STR("://"), 0) != STR_NONE || str_starts_with(name, STR("/"));
}

static bool is_listed(struct str list, struct str name)
{
    size_t at = 0;
    while ((at = str_find_nocase(list, name, at)) != STR_NONE) {
        size_t end = at + name.len;
        if ((at == 0 || list.data[at - 1] == ' ') && (end == list.len || list.data[end] == ','))
            return true;
        at++;
    }
    return false;
}

void meta_add_author(struct str name, struct buf *list)
{
    static const char edge[] = " ,;|-\xC2\xB7";
    name = meta_without_by(str_trim(name));
    while (name.len && memchr(edge, name.data[name.len - 1], 5))
        name.len--;
    while (name.len && memchr(edge, name.data[0], 5))
        name = str_slice(name, 1, name.len);
    if (name.len > 1 && name.data[0] == '@')
        name = str_slice(name, 1, name.len);
    if (!name.len || is_nobody(name) || is_address(name) || is_listed(buf_str(list), name))
        return;
    if (list->len)
        buf_add_text(list, ", ");
    buf_add(list, name);
}
