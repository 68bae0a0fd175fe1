/* Code blocks: their text as it stands, without the line numbers that highlighters put beside it, and their language as
 * the usual highlighters name it in classes. */
#include "core/utf8.h"
#include "text/html/write_internal.h"

/* ---- classes ---- */

static bool next_token(struct str *rest, struct str *token)
{
    *rest = str_trim_start(*rest);
    size_t len = 0;
    while (len < rest->len && !ascii_is_space(rest->data[len]))
        len++;
    *token = str_slice(*rest, 0, len);
    *rest = str_slice(*rest, len, rest->len);
    return len > 0;
}

bool class_has(struct str classes, const char *token)
{
    struct str one;
    while (next_token(&classes, &one))
        if (str_equal_ascii_nocase(one, str_of(token)))
            return true;
    return false;
}

bool class_has_prefix(struct str classes, const char *prefix)
{
    struct str one;
    while (next_token(&classes, &one))
        if (str_starts_with_nocase(one, str_of(prefix)))
            return true;
    return false;
}

bool writer_is_gutter(const struct writer *w, uint32_t node)
{
    static const char *const names[] = {
        "lineno",
        "linenos",
        "linenumber",
        "line-number",
        "line-numbers-rows",
        "linenodiv",
        "gutter",
        "rouge-gutter",
        "hljs-ln-numbers",
        "ln-num",
        "blob-num",
        "code-line-number",
        "lnt",
        "react-syntax-highlighter-line-number",
        "crayon-nums",
        "td-lineno",
        "line_numbers",
    };
    struct str classes = writer_attribute(w, node, HTML_ATTRIBUTE_CLASS);
    struct str one;
    while (next_token(&classes, &one))
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            if (str_equal_ascii_nocase(one, str_of(names[i])))
                return true;
    return false;
}

/* ---- text ---- */

/* Appends characters without those that are nothing; every kind of blank is a space. */
static void append_raw(struct buf *out, struct str text)
{
    while (text.len) {
        size_t run = 0;
        while (run < text.len && (unsigned char)text.data[run] < 0xC2 && text.data[run] != '\r')
            run++;
        buf_add(out, str_slice(text, 0, run));
        text = str_slice(text, run, text.len);
        if (!text.len)
            return;
        size_t length;
        enum sequence sequence = sequence_at(text, &length);
        if (text.data[0] == '\r') {
            if (text.len < 2 || text.data[1] != '\n')
                buf_add_char(out, '\n');
        } else if (sequence == SEQUENCE_FIXED || sequence == SEQUENCE_BLANK) {
            buf_add_char(out, ' ');
        } else if (sequence == SEQUENCE_TEXT) {
            buf_add(out, str_slice(text, 0, length));
        }
        text = str_slice(text, length, text.len);
    }
}

static void end_line(struct buf *out, size_t start)
{
    if (out->len > start && out->data[out->len - 1] != '\n')
        buf_add_char(out, '\n');
}

void writer_raw_text(const struct writer *w, uint32_t node, struct buf *out)
{
    size_t start = out->len;
    uint32_t block_end = 0; /* behind the innermost block that was entered */
    for (uint32_t i = node + 1; i < w->nodes[node].end;) {
        const struct html_node *n = &w->nodes[i];
        if (block_end && i >= block_end) {
            end_line(out, start);
            block_end = 0;
        }
        unsigned flags = html_flags(n->element);
        if (writer_is_marked(w, i) || (flags & ELEMENT_SILENT) || (n->n_attributes && writer_is_gutter(w, i))) {
            i = n->end;
            continue;
        }
        if (n->element == HTML_TEXT) {
            append_raw(out, n->text);
        } else if (n->element == HTML_BR) {
            buf_add_char(out, '\n');
        } else if (flags & ELEMENT_BLOCK && n->element != HTML_TD && n->element != HTML_PRE) {
            end_line(out, start);
            block_end = n->end;
        }
        i++;
    }
}

/* ---- languages ---- */

static bool is_language(struct str name)
{
    static const char *const none[] = {"none",        "text",         "plain",     "plaintext", "default",   "auto",
                                       "nohighlight", "no-highlight", "highlight", "output",    "undefined", "txt"};
    if (!name.len || name.len > 20)
        return false;
    for (size_t i = 0; i < name.len; i++)
        if (!ascii_is_alnum(name.data[i]) && !strchr("+#-_.", name.data[i]))
            return false;
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        if (str_equal_ascii_nocase(name, str_of(none[i])))
            return false;
    return true;
}

/* Prism and the HTML Standard: language-x; older ones: lang-x; GitHub: highlight-source-x; Sphinx: highlight-x; Org:
 * src-x; SyntaxHighlighter: "brush: x"; highlight.js: "hljs x"; Pandoc: "sourceCode x". */
static struct str language_in(struct str classes)
{
    static const char *const prefixes[] = {"language-", "lang-", "highlight-source-", "highlight-text-", "highlight-",
                                           "src-",      "brush:"};
    struct str one, before = {0}, rest = classes;
    bool names_follow = class_has(classes, "hljs") || class_has(classes, "sourceCode");
    while (next_token(&rest, &one)) {
        if (str_equal_ascii_nocase(before, STR("brush:")) && is_language(str_slice(one, 0, str_find_char(one, ';', 0))))
            return str_slice(one, 0, str_find_char(one, ';', 0));
        for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
            if (!str_starts_with_nocase(one, str_of(prefixes[i])))
                continue;
            struct str name = str_slice(one, strlen(prefixes[i]), str_find_char(one, ';', 0));
            if (is_language(name) && !str_starts_with(name, STR("source-")))
                return name;
            break;
        }
        before = one;
    }
    rest = classes;
    while (names_follow && next_token(&rest, &one))
        if (!str_equal_ascii_nocase(one, STR("hljs")) && !str_equal_ascii_nocase(one, STR("sourceCode")) &&
            !str_starts_with_nocase(one, STR("hljs-")) && str_find_char(one, '-', 0) == STR_NONE && is_language(one))
            return one;
    return (struct str){0};
}

static struct str language_of_node(const struct writer *w, uint32_t node)
{
    static const enum html_attribute attributes[] = {HTML_ATTRIBUTE_DATA_LANG, HTML_ATTRIBUTE_DATA_LANGUAGE};
    for (size_t i = 0; i < 2; i++) {
        struct str value = str_trim(writer_attribute(w, node, attributes[i]));
        if (is_language(value))
            return value;
    }
    return language_in(writer_attribute(w, node, HTML_ATTRIBUTE_CLASS));
}

/* Of the block itself, of the <code> in it, or of what is around it and holds nothing else to speak of. */
static struct str language(const struct writer *w, uint32_t node)
{
    struct str name = language_of_node(w, node);
    uint32_t end = w->nodes[node].end;
    for (uint32_t i = node + 1; !name.len && i < end && i < node + 4; i++)
        if (w->nodes[i].element == HTML_CODE)
            name = language_of_node(w, i);
    uint32_t around = w->nodes[node].parent;
    for (int level = 0; !name.len && around && level < 6; level++, around = w->nodes[around].parent) {
        uint8_t element = w->nodes[around].element;
        if (element != HTML_DIV && element != HTML_FIGURE && element != HTML_SPAN && element != HTML_OTHER &&
            element != HTML_CODE && element != HTML_TABLE && element != HTML_TBODY && element != HTML_TR &&
            element != HTML_TD)
            break;
        name = language_of_node(w, around);
    }
    return name;
}

/* ---- the block ---- */

static size_t longest_fence(struct str code)
{
    size_t longest = 0;
    for (size_t at = 0; (at = str_find_char(code, '`', at)) != STR_NONE;) {
        size_t run = 0;
        while (at < code.len && code.data[at] == '`') {
            run++;
            at++;
        }
        longest = run > longest ? run : longest;
    }
    return longest;
}

static struct str trim_lines(struct str code)
{
    size_t from = 0;
    for (size_t i = 0; i < code.len && ascii_is_space(code.data[i]); i++)
        if (code.data[i] == '\n')
            from = i + 1;
    return str_trim_end(str_slice(code, from, code.len));
}

static void put_fence(struct writer *w, size_t len)
{
    while (len--)
        writer_put_char(w, '`');
}

void writer_code_block(struct writer *w, uint32_t node)
{
    buf_reset(&w->scratch);
    writer_raw_text(w, node, &w->scratch);
    struct str code = trim_lines(buf_str(&w->scratch));
    if (!code.len)
        return;
    bool plain = w->options.plain_text;
    size_t fence = longest_fence(code) + 1;
    fence = fence < 3 ? 3 : fence;
    writer_want(w, DUE_BLANK);
    w->space = SPACE_NONE;
    writer_next_line(w, w->due);
    struct str line;
    if (!plain) {
        put_fence(w, fence);
        struct str name = language(w, node);
        for (size_t i = 0; i < name.len; i++)
            writer_put_char(w, ascii_lower(name.data[i]));
    }
    bool first = plain;
    while (str_split_next(&code, '\n', &line) && !w->full) {
        line = str_trim_end(line);
        if (!first) {
            writer_put_char(w, '\n');
            size_t len = w->prefix_len;
            while (!line.len && len && w->prefix[len - 1] == ' ')
                len--;
            writer_put(w, w->prefix, len);
        }
        first = false;
        writer_put_str(w, line);
    }
    if (!plain) {
        writer_put_char(w, '\n');
        writer_put(w, w->prefix, w->prefix_len);
        put_fence(w, fence);
    }
    writer_want(w, DUE_BLANK);
}
