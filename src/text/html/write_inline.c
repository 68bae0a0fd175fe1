/* What stands in a line: links, pictures, code, raised text. */
#include <stdlib.h>

#include "core/utf8.h"
#include "text/html/write_internal.h"

/* ---- links and pictures ---- */

/* Whether a link is open, or waits for its text; its address is in w->url. */
static bool in_link(const struct writer *w)
{
    for (size_t i = 0; i < w->n_marks; i++)
        if (w->inline_marks[i].kind == INLINE_LINK && !w->inline_marks[i].closing)
            return true;
    return false;
}

/* What an address must not have between parentheses, in a cell, or in an autolink. */
static bool needs_coding(unsigned char c)
{
    return c <= ' ' || c == 127 || c == '<' || c == '>' || c == '\\' || c == '|' || c == '"' || c == '`';
}

static bool is_ready(struct str url)
{
    int depth = 0;
    bool ready = true;
    for (size_t i = 0; i < url.len && depth >= 0; i++) {
        depth += url.data[i] == '(' ? 1 : url.data[i] == ')' ? -1 : 0;
        ready = ready && !needs_coding((unsigned char)url.data[i]) &&
                !(url.data[i] == '&' && is_entity(url.data + i, url.data + url.len));
    }
    return ready && depth == 0;
}

static bool resolve(struct writer *w, struct str reference)
{
    static const struct html_base unknown = {0};
    const struct html_base *base = w->options.base ? w->options.base : &unknown;
    buf_reset(&w->url);
    if (html_base_resolve(base, reference, &w->url) != LINK_ADDRESS || !w->url.len)
        return false;
    if (is_ready(buf_str(&w->url)))
        return true;
    char *raw = buf_take(&w->url);
    for (const char *at = raw; *at; at++) {
        unsigned char c = (unsigned char)*at;
        if (needs_coding(c) || c == '(' || c == ')')
            buf_addf(&w->url, "%%%02X", c);
        else if (c == '&' && is_entity(at, at + strnlen(at, 40)))
            buf_add_text(&w->url, "&amp;");
        else
            buf_add_char(&w->url, *at);
    }
    free(raw);
    return true;
}

void writer_link(struct writer *w, uint32_t node)
{
    struct str href = writer_attribute(w, node, HTML_ATTRIBUTE_HREF);
    /* links side by side are parted by their looks, as tags and menus are */
    if (w->link_end == w->out->len && w->link_end > w->line_at && !w->space)
        w->space = SPACE_BLANK;
    w->link_start = w->out->len;
    if (href.len && !w->options.drop_links && !w->options.plain_text && !in_link(w) && resolve(w, href))
        writer_open_mark(w, node, INLINE_LINK);
}

void writer_image(struct writer *w, uint32_t node)
{
    struct str alt = str_trim(writer_attribute(w, node, HTML_ATTRIBUTE_ALT));
    if (!alt.len || w->options.drop_images || w->options.plain_text)
        return;
    struct str source = writer_attribute(w, node, HTML_ATTRIBUTE_SRC);
    if (!source.len || str_starts_with_nocase(source, STR("data:")))
        source = writer_attribute(w, node, HTML_ATTRIBUTE_DATA_SRC);
    bool text_only = w->options.drop_links || in_link(w) || w->single == LINE_HEADING;
    if (text_only || str_starts_with_nocase(source, STR("data:")) || !resolve(w, source)) {
        if (w->space < SPACE_BLANK)
            w->space = SPACE_BLANK;
        writer_text(w, alt);
        w->space = SPACE_BLANK;
        return;
    }
    writer_begin(w, CHAR_PUNCTUATION);
    size_t at = w->out->len;
    uint8_t single = w->single;
    writer_put(w, "![", 2);
    for (size_t i = 0, length; i < alt.len; i += length) {
        struct str rest = str_slice(alt, i, alt.len);
        enum sequence kind = sequence_at(rest, &length);
        if (strchr("[]\\`*_<&|~$", rest.data[0]))
            writer_put_char(w, '\\');
        if (ascii_is_space(rest.data[0]))
            writer_put_char(w, ' ');
        else if (kind != SEQUENCE_NOTHING)
            writer_put_str(w, str_slice(rest, 0, length));
    }
    writer_put(w, "](", 2);
    writer_put_str(w, buf_str(&w->url));
    writer_put_char(w, ')');
    w->single = single;
    w->plain_from = w->full ? at : w->out->len;
}

/* ---- code ---- */

static bool has_block(const struct writer *w, uint32_t node)
{
    for (uint32_t i = node + 1; i < w->nodes[node].end; i++)
        if (html_flags(w->nodes[i].element) & ELEMENT_BLOCK || w->nodes[i].element == HTML_BR)
            return true;
    return false;
}

/* The link that all of an element is, or 0. */
static uint32_t link_inside(const struct writer *w, uint32_t node)
{
    uint32_t first = node + 1, end = w->nodes[node].end;
    return first < end && w->nodes[first].element == HTML_A && w->nodes[first].end == end ? first : 0;
}

/* Text as it stands in a span: one line, white space collapsed. Returns the longest run of backticks. */
static size_t collapse(struct buf *text)
{
    size_t len = 0, longest = 0, run = 0;
    bool space = false;
    for (size_t i = 0; i < text->len; i++) {
        char c = text->data[i];
        if (ascii_is_space(c)) {
            space = true;
            continue;
        }
        if (space && len)
            text->data[len++] = ' ';
        run = c == '`' ? (space ? 1 : run + 1) : 0;
        longest = run > longest ? run : longest;
        space = false;
        text->data[len++] = c;
    }
    buf_truncate(text, len);
    return longest;
}

static void put_ticks(struct writer *w, size_t count, bool apart)
{
    writer_put(w, " ", apart);
    while (count--)
        writer_put_char(w, '`');
}

/* Whether another span ends right here. */
static bool behind_code(const struct writer *w)
{
    size_t len = w->out->len;
    return !w->full && len > w->line_at + 2 && w->plain_from == len && w->out->data[len - 1] == '`';
}

void writer_code_span(struct writer *w, uint32_t node)
{
    buf_reset(&w->scratch);
    writer_raw_text(w, node, &w->scratch);
    struct str raw = buf_str(&w->scratch);
    if (!raw.len)
        return;
    bool space_before = ascii_is_space(raw.data[0]), space_behind = ascii_is_space(raw.data[raw.len - 1]);
    size_t longest = collapse(&w->scratch);
    struct str code = buf_str(&w->scratch);
    if (space_before && w->space < SPACE_BLANK)
        w->space = SPACE_BLANK;
    if (!code.len)
        return;
    if (w->options.plain_text) {
        writer_text(w, code);
    } else {
        uint32_t link = link_inside(w, node);
        if (link)
            writer_link(w, link);
        bool padded = code.data[0] == '`' || code.data[code.len - 1] == '`';
        writer_begin(w, CHAR_PUNCTUATION);
        bool beside = behind_code(w);
        if (beside && !padded && !longest && w->out->data[w->out->len - 2] != '`')
            w->out->len--; /* two spans side by side would share their marks */
        else
            put_ticks(w, longest + 1, beside);
        writer_put(w, " ", padded);
        while (w->single == LINE_CELL && code.len) {
            size_t bar = str_find_char(code, '|', 0);
            writer_put_str(w, str_slice(code, 0, bar));
            if (bar != STR_NONE)
                writer_put(w, "\\|", 2);
            code = str_slice(code, bar == STR_NONE ? code.len : bar + 1, code.len);
        }
        writer_put_str(w, code);
        writer_put(w, " ", padded);
        put_ticks(w, longest + 1, false);
        w->plain_from = w->out->len;
        if (link)
            writer_close_mark(w, link);
    }
    if (space_behind)
        w->space = SPACE_BLANK;
}

bool writer_is_code_span(const struct writer *w, uint32_t node)
{
    return !has_block(w, node);
}

/* ---- raised text ---- */

/* Whether a short text is an exponent or index and not an abbreviation's end (1st, Mme): digits with a sign, one of the
 * letters that variables have, or a term. */
static bool is_index(struct str text, bool *term)
{
    bool digits = false, letters = false, operators = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (str_starts_with(str_slice(text, i, text.len), STR("−"))) {
            i += 2;
            c = '-';
        }
        digits = digits || ascii_is_digit(c);
        letters = letters || ascii_is_alpha(c);
        operators = operators || ((digits || letters) && strchr("+-/*=", c));
        if (!ascii_is_alnum(c) && !strchr("+-/*=.,", c))
            return false;
    }
    *term = operators || (digits && letters);
    return *term || (digits && !letters) || (text.len == 1 && strchr("ijkmnpqtxyTN", text.data[0]));
}

/* Whether the word before is the kind of name that has an index: a small letter, no chemical symbol. */
static bool is_variable(const struct writer *w)
{
    size_t at = w->out->len;
    while (at > w->line_at && ascii_is_alpha(w->out->data[at - 1]))
        at--;
    return at < w->out->len && w->out->data[at] >= 'a';
}

void writer_raised(struct writer *w, uint32_t node)
{
    uint32_t child = node + 1, end = w->nodes[node].end;
    if (w->due || w->space || w->out->len <= w->line_at || end != child + 1 || w->nodes[child].element != HTML_TEXT)
        return;
    struct str text = w->nodes[child].text;
    char last = w->out->data[w->out->len - 1];
    bool term, sup = w->nodes[node].element == HTML_SUP;
    if (text.len > 10 || !is_index(text, &term) || !(ascii_is_alnum(last) || strchr(")]", last)))
        return;
    if (!sup && !is_variable(w))
        return;
    writer_begin(w, CHAR_PUNCTUATION);
    writer_put_char(w, sup ? '^' : '_');
    if (term)
        writer_put_char(w, '(');
    w->raised = term ? node : 0;
}

void writer_raised_end(struct writer *w, uint32_t node)
{
    if (w->raised == node && node)
        writer_put_char(w, ')');
    w->raised = 0;
}
