#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "text/html_internal.h"

#define MAX_DEPTH       512
#define MAX_VALUE_BYTES 8192 /* of an attribute; longer ones are dropped: data, not words */
#define MAX_SEARCH      512  /* how far up an end tag may reach */
#define MAX_ELEMENTS    300000

struct element_class {
    const char *name;
    unsigned flags;
};

/* Sorted by name. */
static const struct element_class element_classes[] = {
    {"address", ELEMENT_BLOCK},
    {"applet", ELEMENT_DROPPED},
    {"area", ELEMENT_VOID},
    {"article", ELEMENT_BLOCK},
    {"aside", ELEMENT_BLOCK | ELEMENT_FURNITURE},
    {"audio", ELEMENT_DROPPED},
    {"base", ELEMENT_VOID},
    {"blockquote", ELEMENT_BLOCK},
    {"body", ELEMENT_BLOCK},
    {"br", ELEMENT_VOID},
    {"button", ELEMENT_DROPPED},
    {"canvas", ELEMENT_DROPPED},
    {"caption", ELEMENT_BLOCK},
    {"center", ELEMENT_BLOCK},
    {"col", ELEMENT_VOID},
    {"datalist", ELEMENT_DROPPED},
    {"dd", ELEMENT_BLOCK},
    {"details", ELEMENT_BLOCK},
    {"dialog", ELEMENT_DROPPED},
    {"dir", ELEMENT_BLOCK},
    {"div", ELEMENT_BLOCK},
    {"dl", ELEMENT_BLOCK},
    {"dt", ELEMENT_BLOCK},
    {"embed", ELEMENT_VOID | ELEMENT_DROPPED},
    {"fieldset", ELEMENT_BLOCK},
    {"figcaption", ELEMENT_BLOCK},
    {"figure", ELEMENT_BLOCK},
    {"footer", ELEMENT_BLOCK | ELEMENT_FURNITURE},
    {"form", ELEMENT_BLOCK},
    {"frame", ELEMENT_VOID | ELEMENT_DROPPED},
    {"h1", ELEMENT_BLOCK | ELEMENT_HEADING},
    {"h2", ELEMENT_BLOCK | ELEMENT_HEADING},
    {"h3", ELEMENT_BLOCK | ELEMENT_HEADING},
    {"h4", ELEMENT_BLOCK | ELEMENT_HEADING},
    {"h5", ELEMENT_BLOCK | ELEMENT_HEADING},
    {"h6", ELEMENT_BLOCK | ELEMENT_HEADING},
    {"head", ELEMENT_DROPPED},
    {"header", ELEMENT_BLOCK},
    {"hgroup", ELEMENT_BLOCK},
    {"hr", ELEMENT_VOID | ELEMENT_BLOCK},
    {"html", ELEMENT_BLOCK},
    {"iframe", ELEMENT_DROPPED},
    {"img", ELEMENT_VOID},
    {"input", ELEMENT_VOID | ELEMENT_DROPPED},
    {"legend", ELEMENT_BLOCK},
    {"li", ELEMENT_BLOCK},
    {"link", ELEMENT_VOID | ELEMENT_DROPPED},
    {"main", ELEMENT_BLOCK},
    {"menu", ELEMENT_BLOCK},
    {"meta", ELEMENT_VOID | ELEMENT_DROPPED},
    {"meter", ELEMENT_DROPPED},
    {"nav", ELEMENT_BLOCK | ELEMENT_FURNITURE},
    {"noscript", ELEMENT_DROPPED},
    {"object", ELEMENT_DROPPED},
    {"ol", ELEMENT_BLOCK},
    {"optgroup", ELEMENT_DROPPED},
    {"option", ELEMENT_DROPPED},
    {"p", ELEMENT_BLOCK},
    {"param", ELEMENT_VOID},
    {"pre", ELEMENT_BLOCK},
    {"progress", ELEMENT_DROPPED},
    {"script", ELEMENT_DROPPED},
    {"section", ELEMENT_BLOCK},
    {"select", ELEMENT_DROPPED},
    {"source", ELEMENT_VOID},
    {"style", ELEMENT_DROPPED},
    {"summary", ELEMENT_BLOCK},
    {"svg", ELEMENT_DROPPED},
    {"table", ELEMENT_BLOCK},
    {"tbody", ELEMENT_BLOCK},
    {"td", ELEMENT_BLOCK},
    {"template", ELEMENT_DROPPED},
    {"textarea", ELEMENT_DROPPED},
    {"tfoot", ELEMENT_BLOCK},
    {"th", ELEMENT_BLOCK},
    {"thead", ELEMENT_BLOCK},
    {"title", ELEMENT_DROPPED},
    {"tr", ELEMENT_BLOCK},
    {"track", ELEMENT_VOID},
    {"ul", ELEMENT_BLOCK},
    {"video", ELEMENT_DROPPED},
    {"wbr", ELEMENT_VOID},
};

static int compare_class(const void *key, const void *element)
{
    const struct element_class *c = element;
    return str_compare(*(const struct str *)key, str_of(c->name));
}

unsigned html_element_flags(struct str name)
{
    const struct element_class *found =
        bsearch(&name, element_classes, sizeof element_classes / sizeof element_classes[0], sizeof element_classes[0],
                compare_class);
    return found ? found->flags : 0;
}

/* The attributes that some file of the page reader looks at. */
static const char *const kept_attributes[] = {
    "alt",  "aria-hidden", "class", "content",  "data-lang", "data-language", "data-src", "datetime",   "hidden",
    "href", "http-equiv",  "id",    "itemprop", "lang",      "name",          "property", "rel",        "role",
    "src",  "start",       "style", "title",    "type",      "itemtype",      "colspan",  "aria-modal",
};

#define NAME_BYTES 32

struct open_element {
    char name[NAME_BYTES]; /* lower case, cut */
    int priority;
    bool written;
};

struct tamer {
    struct str html;
    size_t at;
    struct buf *out, *json_ld;
    struct open_element *open;
    size_t depth, capacity;
    size_t n_written;
};

static bool name_is(const struct open_element *element, const char *name)
{
    return strcmp(element->name, name) == 0;
}

/* What an unclosed element is ended by, so that a page that leaves out end tags does not look deep. */
static bool ends_at(const char *open, const char *starting, unsigned flags)
{
    static const char *const pairs[][2] = {
        {"li", "li"},    {"dt", "dt"},       {"dt", "dd"},       {"dd", "dt"}, {"dd", "dd"},       {"td", "td"},
        {"td", "th"},    {"th", "td"},       {"th", "th"},       {"td", "tr"}, {"th", "tr"},       {"tr", "tr"},
        {"tr", "tbody"}, {"tbody", "tbody"}, {"thead", "tbody"}, {"a", "a"},   {"tbody", "tfoot"}, {"option", "option"},
    };
    if (strcmp(open, "p") == 0)
        return (flags & ELEMENT_BLOCK) != 0;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (strcmp(open, pairs[i][0]) == 0 && strcmp(starting, pairs[i][1]) == 0)
            return true;
    return false;
}

/* How strongly an open element holds against the end tag of another one (libxml2 weighs the same way). */
static int end_priority(const char *name)
{
    static const struct {
        const char *name;
        int priority;
    } known[] = {{"div", 150},   {"td", 160},    {"th", 160},   {"tr", 170},   {"thead", 180}, {"tbody", 180},
                 {"tfoot", 180}, {"table", 190}, {"head", 200}, {"body", 200}, {"html", 220}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(name, known[i].name) == 0)
            return known[i].priority;
    return 100;
}

static void write_end(struct tamer *tamer, const char *name)
{
    buf_add_text(tamer->out, "</");
    buf_add_text(tamer->out, name);
    buf_add_char(tamer->out, '>');
}

/* Closes the innermost `count` elements. Only the outermost end tag needs writing: the parser closes what is inside. */
static void close_elements(struct tamer *tamer, size_t count)
{
    for (; count; count--) {
        struct open_element *element = &tamer->open[--tamer->depth];
        if (element->written)
            write_end(tamer, element->name);
    }
}

static void end_tag(struct tamer *tamer, const char *name)
{
    int priority = end_priority(name);
    for (size_t up = 1; up <= tamer->depth && up <= MAX_SEARCH; up++) {
        const struct open_element *element = &tamer->open[tamer->depth - up];
        if (name_is(element, name)) {
            close_elements(tamer, up);
            return;
        }
        if (element->priority > priority)
            return;
    }
}

struct attribute {
    struct str name, value;
};

/* Reads the next attribute of the tag at `at`; false at the end of the tag, behind which `at` then is. */
static bool next_attribute(struct tamer *tamer, struct attribute *out)
{
    struct str s = tamer->html;
    size_t at = tamer->at;
    while (at < s.len && (ascii_is_space(s.data[at]) || s.data[at] == '/' || s.data[at] == '\0'))
        at++;
    if (at >= s.len || s.data[at] == '>') {
        tamer->at = at < s.len ? at + 1 : s.len;
        return false;
    }
    size_t from = at++;
    while (at < s.len && !ascii_is_space(s.data[at]) && s.data[at] != '=' && s.data[at] != '>' && s.data[at] != '/')
        at++;
    *out = (struct attribute){.name = str_slice(s, from, at)};
    size_t behind = at;
    while (behind < s.len && ascii_is_space(s.data[behind]))
        behind++;
    if (behind >= s.len || s.data[behind] != '=') {
        tamer->at = at;
        return true;
    }
    behind++;
    while (behind < s.len && ascii_is_space(s.data[behind]))
        behind++;
    char quote = behind < s.len ? s.data[behind] : '\0';
    size_t end;
    if (quote == '"' || quote == '\'') {
        from = behind + 1;
        end = str_find_char(s, quote, from);
        tamer->at = end == STR_NONE ? s.len : end + 1;
    } else {
        for (end = from = behind; end < s.len && !ascii_is_space(s.data[end]) && s.data[end] != '>';)
            end++;
        tamer->at = end;
    }
    out->value = str_slice(s, from, end);
    return true;
}

static void write_attributes(struct tamer *tamer, bool *json_ld)
{
    struct attribute attribute;
    uint64_t seen = 0;
    while (next_attribute(tamer, &attribute)) {
        size_t i = 0, n = sizeof kept_attributes / sizeof kept_attributes[0];
        while (i < n && !str_equal_ascii_nocase(attribute.name, str_of(kept_attributes[i])))
            i++;
        if (i == n || (seen & (uint64_t)1 << i) || attribute.value.len > MAX_VALUE_BYTES)
            continue;
        seen |= (uint64_t)1 << i;
        if (strcmp(kept_attributes[i], "type") == 0)
            *json_ld = str_find_nocase(attribute.value, STR("ld+json"), 0) != STR_NONE;
        buf_add_char(tamer->out, ' ');
        buf_add_text(tamer->out, kept_attributes[i]);
        buf_add_text(tamer->out, "=\"");
        for (size_t k = 0; k < attribute.value.len; k++) {
            char c = attribute.value.data[k];
            if (c == '"')
                buf_add_text(tamer->out, "&quot;");
            else if (c == '<')
                buf_add_text(tamer->out, "&lt;");
            else if (c)
                buf_add_char(tamer->out, c);
        }
        buf_add_char(tamer->out, '"');
    }
}

/* Offset of the end tag of an element whose contents are no markup, or the end of the page. */
static size_t raw_end(const struct tamer *tamer, const char *name)
{
    struct str s = tamer->html;
    size_t length = strlen(name);
    for (size_t at = tamer->at; (at = str_find(s, STR("</"), at)) != STR_NONE; at += 2) {
        struct str rest = str_slice(s, at + 2, s.len);
        if (str_starts_with_nocase(rest, str_make(name, length)) &&
            (rest.len == length || !ascii_is_alnum(rest.data[length])))
            return at;
    }
    return s.len;
}

static void write_escaped(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '<')
            buf_add_text(out, "&lt;");
        else if (text.data[i])
            buf_add_char(out, text.data[i]);
    }
}

/* Elements whose contents are text to a browser. Only a title's, and JSON-LD, are kept. False for other elements. */
static bool raw_element(struct tamer *tamer, const char *name, bool json_ld)
{
    static const char *const raw[] = {"script",  "style", "textarea", "title", "iframe",
                                      "noembed", "xmp",   "noframes", "svg"};
    size_t i = 0, n = sizeof raw / sizeof raw[0];
    while (i < n && strcmp(name, raw[i]) != 0)
        i++;
    if (i == n)
        return false;
    size_t end = raw_end(tamer, name);
    if (end == tamer->html.len && strcmp(name, "svg") == 0)
        return false; /* not closed: only the others swallow the rest of a page in browsers */
    struct str contents = str_slice(tamer->html, tamer->at, end);
    if (json_ld && strcmp(name, "script") == 0) {
        buf_add(tamer->json_ld, contents);
        buf_add_char(tamer->json_ld, '\0');
    } else if (strcmp(name, "title") == 0 || strcmp(name, "xmp") == 0) {
        write_escaped(tamer->out, contents);
    }
    write_end(tamer, name);
    size_t close = str_find_char(tamer->html, '>', end);
    tamer->at = close == STR_NONE ? tamer->html.len : close + 1;
    return true;
}

static void start_tag(struct tamer *tamer, const char *name)
{
    unsigned flags = html_element_flags(str_of(name));
    if (strcmp(name, "plaintext") == 0)
        name = "pre";
    while (tamer->depth && ends_at(tamer->open[tamer->depth - 1].name, name, flags))
        close_elements(tamer, 1);
    bool written = tamer->depth < MAX_DEPTH && tamer->n_written < MAX_ELEMENTS, json_ld = false;
    tamer->n_written += written;
    size_t mark = tamer->out->len;
    buf_add_char(tamer->out, '<');
    buf_add_text(tamer->out, name);
    write_attributes(tamer, &json_ld);
    buf_add_char(tamer->out, '>');
    if (!written) { /* too deep, or too many: what it holds stays, apart from what comes before where it was a block */
        buf_truncate(tamer->out, mark);
        buf_add_text(tamer->out, flags & ELEMENT_BLOCK ? "\n" : "");
    }
    if ((flags & ELEMENT_VOID) || raw_element(tamer, name, json_ld))
        return;
    tamer->open = mem_grow(tamer->open, tamer->depth, &tamer->capacity, sizeof *tamer->open);
    struct open_element *element = &tamer->open[tamer->depth++];
    element->written = written;
    element->priority = end_priority(name);
    strcpy(element->name, name);
}

/* A `<` that begins no tag is text. */
static void markup(struct tamer *tamer)
{
    struct str s = tamer->html;
    size_t at = tamer->at + 1;
    char next = at < s.len ? s.data[at] : '\0';
    bool end = next == '/';
    if (next == '!' || next == '?') {
        bool comment = str_starts_with(str_slice(s, at, s.len), STR("!--"));
        bool empty = comment && (str_starts_with(str_slice(s, at + 3, s.len), STR(">")) ||
                                 str_starts_with(str_slice(s, at + 3, s.len), STR("->")));
        size_t close = comment && !empty ? str_find(s, STR("-->"), at + 3) : str_find_char(s, '>', at);
        tamer->at = close == STR_NONE ? s.len : close + (comment && !empty ? 3 : 1);
        return;
    }
    at += end;
    if (at >= s.len || !ascii_is_alpha(s.data[at])) {
        write_escaped(tamer->out, str_slice(s, tamer->at, tamer->at + 1));
        tamer->at++;
        return;
    }
    char name[NAME_BYTES];
    size_t length = 0;
    for (; at < s.len && !ascii_is_space(s.data[at]) && s.data[at] != '>' && s.data[at] != '/'; at++)
        if (length + 1 < sizeof name && (ascii_is_alnum(s.data[at]) || strchr("-_:", s.data[at])) && s.data[at])
            name[length++] = ascii_lower(s.data[at]);
    name[length] = '\0';
    tamer->at = at;
    if (!end) {
        start_tag(tamer, name);
        return;
    }
    struct attribute ignored;
    while (next_attribute(tamer, &ignored))
        ;
    if (strcmp(name, "br") == 0)
        buf_add_text(tamer->out, "<br>");
    else
        end_tag(tamer, name);
}

void html_tame(struct str html, struct buf *out, struct buf *json_ld)
{
    struct tamer tamer = {.html = html, .out = out, .json_ld = json_ld};
    while (tamer.at < html.len) {
        size_t tag = str_find_char(html, '<', tamer.at);
        if (tag == STR_NONE)
            tag = html.len;
        for (size_t i = tamer.at; i < tag;) { /* NULs go */
            size_t nul = str_find_char(str_slice(html, 0, tag), '\0', i);
            buf_add(out, str_slice(html, i, nul == STR_NONE ? tag : nul));
            i = nul == STR_NONE ? tag : nul + 1;
        }
        tamer.at = tag;
        if (tag < html.len)
            markup(&tamer);
    }
    free(tamer.open);
}
