#include "text/plain.h"

#include <string.h>

#include "text/html/entity.h"

enum { MAX_NAME = 32 }; /* of a tag; longer ones are none that we know */

struct plain {
    struct str in;
    size_t at;
    bool no_more_tags, no_more_comments; /* what would end one does not come any more */
    struct buf *out;
};

static bool is_name_char(char c)
{
    return ascii_is_alnum(c) || c == ':' || c == '-';
}

/* The name at `at`, in lower case, without the prefix of a name space; empty when it is too long. */
static void read_name(struct str in, size_t at, char name[MAX_NAME])
{
    size_t length = 0;
    for (; at < in.len && is_name_char(in.data[at]); at++) {
        if (length == MAX_NAME - 1) {
            length = 0;
            break;
        }
        name[length++] = ascii_lower(in.data[at]);
    }
    name[length] = '\0';
    char *colon = strrchr(name, ':');
    if (colon)
        memmove(name, colon + 1, strlen(colon));
}

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names;
}

static bool breaks(const char *name)
{
    static const char *const names[] = {"br", "p",     "div",     "li",      "ul",         "ol",  "tr",  "td",    "th",
                                        "h1", "h2",    "h3",      "h4",      "h5",         "h6",  "hr",  "dt",    "dd",
                                        "dl", "table", "section", "article", "blockquote", "pre", "sec", "title", NULL};
    return is_one_of(name, names);
}

/* Behind the end of the element `name` whose start tag ends at `from`; everything when it has no end. */
static size_t skip_element(struct str in, size_t from, const char *name)
{
    char end[MAX_NAME + 2] = "</";
    strcat(end, name);
    size_t tag = str_find_nocase(in, str_of(end), from);
    size_t close = tag == STR_NONE ? STR_NONE : str_find_char(in, '>', tag);
    return close == STR_NONE ? in.len : close + 1;
}

/* Takes the tag or comment at `at`, which is a "<". False when it is none. */
static enum status take_tag(struct plain *plain, bool *taken)
{
    static const char *const hidden[] = {"script", "style", NULL};
    struct str in = plain->in;
    size_t first = plain->at + 1;
    char name[MAX_NAME];
    *taken = false;
    if (first == in.len || !(ascii_is_alpha(in.data[first]) || strchr("/!?", in.data[first])))
        return STATUS_OK;
    bool comment = str_starts_with(str_slice(in, first, in.len), STR("!--")), *none = &plain->no_more_tags;
    if (comment)
        none = &plain->no_more_comments;
    size_t close = STR_NONE;
    if (!*none)
        close = comment ? str_find(in, STR("-->"), first) : str_find_char(in, '>', first);
    *none = close == STR_NONE;
    if (*none)
        return STATUS_OK;
    *taken = true;
    plain->at = close + (comment ? 3 : 1);
    read_name(in, first + (in.data[first] == '/'), name);
    if (in.data[first] != '/' && is_one_of(name, hidden))
        plain->at = skip_element(in, plain->at, name);
    return breaks(name) ? buf_append_char(plain->out, ' ') : STATUS_OK;
}

/* Takes the character reference at `at`, which is a "&". */
static enum status take_entity(struct plain *plain, bool *taken)
{
    char bytes[HTML_ENTITY_MAX_BYTES];
    size_t used, length = html_entity_decode(str_slice(plain->in, plain->at, plain->in.len), false, bytes, &used);
    *taken = length > 0 && plain->in.data[plain->at + used - 1] == ';'; /* without it may be a parameter: "a&copy=1" */
    if (!*taken)
        return STATUS_OK;
    plain->at += used;
    bool is_blank = length == 2 && memcmp(bytes, "\xC2\xA0", 2) == 0;
    return is_blank ? buf_append_char(plain->out, ' ') : buf_append(plain->out, bytes, length);
}

enum status plain_from_markup(struct buf *out, struct str markup)
{
    struct plain plain = {.in = markup, .out = out};
    while (plain.at < markup.len) {
        bool taken = false;
        enum status status = STATUS_OK;
        char c = markup.data[plain.at];
        if (c == '<')
            status = take_tag(&plain, &taken);
        else if (c == '&')
            status = take_entity(&plain, &taken);
        if (status == STATUS_OK && !taken) {
            status = buf_append_char(out, c);
            plain.at++;
        }
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}
