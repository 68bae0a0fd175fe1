/* A page cut into tags and characters, after the HTML Standard, section 13.2.5. Every byte is looked at once, but for
 * the search for an end that is not there, which happens once per kind. */
#include <limits.h>
#include <string.h>

#include "text/html/entity.h"
#include "text/html/parse_internal.h"

struct parser {
    struct str html;
    size_t at;
    struct builder builder;
    bool unending[HTML_ELEMENTS]; /* elements with raw contents whose end tag is not in the rest of the page */
    struct html_attribute_value attributes[HTML_ATTRIBUTES];
    size_t n_attributes;
};

static struct str decoded(struct parser *parser, struct str text, bool in_attribute)
{
    if (!text.len || !memchr(text.data, '&', text.len))
        return text;
    char *room = tree_alloc(parser->builder.tree, HTML_DECODED_ROOM(text.len));
    return str_make(room, html_decode(text, in_attribute, room));
}

static bool is_tag_start(struct str s, size_t at)
{
    char next = at + 1 < s.len ? s.data[at + 1] : ' ';
    return ascii_is_alpha(next) || next == '/' || next == '!' || next == '?';
}

/* Where the characters at `at` end: at the next tag. */
static size_t text_end(struct str s, size_t at)
{
    while ((at = str_find_char(s, '<', at)) != STR_NONE) {
        if (is_tag_start(s, at))
            return at;
        at++;
    }
    return s.len;
}

static size_t skip_spaces(struct str s, size_t at)
{
    while (at < s.len && ascii_is_space(s.data[at]))
        at++;
    return at;
}

static struct str read_value(struct parser *parser)
{
    struct str s = parser->html;
    size_t at = skip_spaces(s, parser->at + 1), end;
    char quote = at < s.len ? s.data[at] : '\0';
    if (quote == '"' || quote == '\'') {
        end = str_find_char(s, quote, ++at);
        end = end == STR_NONE ? s.len : end;
        parser->at = end < s.len ? end + 1 : end;
    } else {
        for (end = at; end < s.len && !ascii_is_space(s.data[end]) && s.data[end] != '>';)
            end++;
        parser->at = end;
    }
    return str_make(s.data + at, end - at);
}

static void keep_attribute(struct parser *parser, struct str name, struct str value)
{
    enum html_attribute attribute = html_attribute_named(name);
    if (attribute == HTML_NO_ATTRIBUTE)
        return;
    if (value.len > HTML_MAX_VALUE && attribute != HTML_ATTRIBUTE_STYLE) {
        if (attribute != HTML_ATTRIBUTE_HIDDEN && attribute != HTML_ATTRIBUTE_POPOVER)
            return;
        value.len = 0;
    }
    for (size_t i = 0; i < parser->n_attributes; i++)
        if (parser->attributes[i].attribute == attribute)
            return;
    parser->attributes[parser->n_attributes++] =
        (struct html_attribute_value){(uint8_t)attribute, decoded(parser, value, true)};
}

/* Reads the attributes of the tag behind whose name the parser stands, and its end. True when it ends in "/>". */
static bool read_attributes(struct parser *parser, bool keep)
{
    struct str s = parser->html;
    parser->n_attributes = 0;
    for (bool slash = false;;) {
        size_t at = parser->at;
        for (; at < s.len && (ascii_is_space(s.data[at]) || s.data[at] == '/'); at++)
            slash = s.data[at] == '/';
        if (at >= s.len || s.data[at] == '>') {
            parser->at = at < s.len ? at + 1 : s.len;
            return slash;
        }
        slash = false;
        size_t from = at++; /* a name may begin with '=' */
        while (at < s.len && !ascii_is_space(s.data[at]) && s.data[at] != '=' && s.data[at] != '>' && s.data[at] != '/')
            at++;
        struct str name = str_make(s.data + from, at - from), value = str_make(s.data + at, 0);
        parser->at = at;
        at = skip_spaces(s, at);
        if (at < s.len && s.data[at] == '=') {
            parser->at = at;
            value = read_value(parser);
        }
        if (keep)
            keep_attribute(parser, name, value);
    }
}

static struct str read_name(struct parser *parser)
{
    struct str s = parser->html;
    size_t from = parser->at, at = from;
    while (at < s.len && !ascii_is_space(s.data[at]) && s.data[at] != '>' && s.data[at] != '/')
        at++;
    parser->at = at;
    return str_make(s.data + from, at - from);
}

/* Offset of the end tag `name` at or behind the parser's place, STR_NONE when there is none. A <noscript> around is
 * only characters to browsers that run scripts, so its end counts as well. */
static size_t find_end_tag(const struct parser *parser, struct str name, size_t at)
{
    const bool in_noscript = parser->builder.open_count[HTML_NOSCRIPT];
    const struct str noscript = STR("noscript");
    struct str s = parser->html;
    for (; (at = str_find_char(s, '<', at)) != STR_NONE; at++) {
        if (at + 1 >= s.len || s.data[at + 1] != '/')
            continue;
        struct str rest = str_slice(s, at + 2, s.len);
        if (str_starts_with_nocase(rest, name) && (rest.len == name.len || !ascii_is_alnum(rest.data[name.len])))
            return at;
        if (in_noscript && str_starts_with_nocase(rest, noscript))
            return at;
    }
    return STR_NONE;
}

/* Behind the next '>' from `at`. */
static size_t behind_tag(struct str s, size_t at)
{
    size_t end = str_find_char(s, '>', at);
    return end == STR_NONE ? s.len : end + 1;
}

/* The contents of an element whose start tag was read, up to and with its end tag. A title or text area that is never
 * closed has its contents read as usual; scripts and the like swallow the rest of the page, as in browsers. */
static void read_raw(struct parser *parser, enum html_element element, struct str name, unsigned flags)
{
    size_t end = parser->unending[element] ? STR_NONE : find_end_tag(parser, name, parser->at);
    if (end == STR_NONE) {
        parser->unending[element] = true;
        if (flags & ELEMENT_RAW_DECODED)
            return;
        end = parser->html.len;
    }
    struct str contents = str_make(parser->html.data + parser->at, end - parser->at);
    struct builder *builder = &parser->builder;
    bool inside = builder->open[builder->depth].element == element; /* else it lies too deep to be in the tree */
    if (inside || !(flags & ELEMENT_SILENT))
        build_text(builder, flags & ELEMENT_RAW_DECODED ? decoded(parser, contents, false) : contents);
    build_close(builder, element, name);
    bool of_noscript = str_starts_with_nocase(str_slice(parser->html, end, parser->html.len), STR("</noscript"));
    parser->at = of_noscript ? end : behind_tag(parser->html, end);
}

/* Drawings are left out; what is in them may look like HTML. Those that are never closed end with their tag. */
static void skip_drawing(struct parser *parser)
{
    if (parser->unending[HTML_SVG])
        return;
    size_t nesting = 1, at = parser->at;
    struct str s = parser->html;
    for (; (at = str_find_char(s, '<', at)) != STR_NONE; at++) {
        struct str rest = str_slice(s, at + 1, at + 5);
        if (str_equal_ascii_nocase(rest, STR("/svg")) && !--nesting) {
            parser->at = behind_tag(s, at);
            return;
        }
        nesting += str_starts_with_nocase(rest, STR("svg")) && rest.len == 4 && !ascii_is_alnum(rest.data[3]);
    }
    parser->unending[HTML_SVG] = true;
}

static void read_start_tag(struct parser *parser)
{
    parser->at++;
    struct str name = read_name(parser);
    if (str_equal_ascii_nocase(name, STR("image")))
        name = STR("img");
    enum html_element element = html_element_named(name);
    bool self_closing = read_attributes(parser, true);
    if (element == HTML_SVG) {
        if (!self_closing)
            skip_drawing(parser);
        return;
    }
    build_open(&parser->builder, element, name, parser->attributes, parser->n_attributes, self_closing);
    unsigned flags = html_flags(element);
    if (flags & (ELEMENT_RAW | ELEMENT_RAW_DECODED))
        read_raw(parser, element, name, flags);
}

static void read_end_tag(struct parser *parser)
{
    parser->at += 2;
    if (parser->at >= parser->html.len || !ascii_is_alpha(parser->html.data[parser->at])) {
        parser->at = behind_tag(parser->html, parser->at);
        return;
    }
    struct str name = read_name(parser);
    enum html_element element = html_element_named(name);
    read_attributes(parser, false);
    if (element != HTML_SVG)
        build_close(&parser->builder, element, name);
}

/* Behind a comment, or a declaration: "<!" or "<?" is at the parser's place. */
static size_t behind_comment(const struct parser *parser)
{
    struct str s = parser->html;
    size_t at = parser->at;
    if (!str_starts_with(str_slice(s, at, s.len), STR("<!--")))
        return behind_tag(s, at);
    if (str_starts_with(str_slice(s, at + 4, s.len), STR(">")))
        return at + 5;
    if (str_starts_with(str_slice(s, at + 4, s.len), STR("->")))
        return at + 6;
    for (at += 4; (at = str_find_char(s, '>', at)) != STR_NONE; at++) {
        struct str before = str_slice(s, 0, at);
        if (str_ends_with(before, STR("--")) || str_ends_with(before, STR("--!")))
            return at + 1;
    }
    return s.len;
}

void html_tree_parse(struct str html, struct html_tree *tree)
{
    *tree = (struct html_tree){0};
    struct parser parser = {.html = str_slice(html, 0, INT_MAX)};
    build_start(&parser.builder, tree);
    while (parser.at < parser.html.len) {
        size_t end = text_end(parser.html, parser.at);
        if (end > parser.at) {
            struct str text = str_make(parser.html.data + parser.at, end - parser.at);
            build_text(&parser.builder, decoded(&parser, text, false));
            parser.at = end;
            continue;
        }
        char kind = parser.html.data[parser.at + 1];
        if (kind == '/')
            read_end_tag(&parser);
        else if (kind == '!' || kind == '?')
            parser.at = behind_comment(&parser);
        else
            read_start_tag(&parser);
    }
    build_end(&parser.builder);
}
