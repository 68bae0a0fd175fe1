/* Small blocks and breaks: headings, quotations, rules, line breaks, readings of ruby; and signs that are no text. */
#include "text/html/write_internal.h"

static bool has_text(const struct writer *w, uint32_t node)
{
    for (uint32_t i = node; i < w->nodes[node].end; i++)
        if (w->nodes[i].element == HTML_TEXT && str_trim(w->nodes[i].text).len)
            return true;
    return false;
}

void writer_enter_heading(struct writer *w, uint32_t node)
{
    writer_want(w, DUE_BLANK);
    w->n_strong++;
    if (w->single != LINE_FREE)
        return;
    w->single = LINE_HEADING;
    w->heading = (uint8_t)(w->nodes[node].element - HTML_H1 + 1);
    w->heading_node = node;
}

/* A number sign at the end would be taken for a closing mark. */
void writer_leave_heading(struct writer *w, uint32_t node)
{
    w->n_strong--;
    if (w->single == LINE_HEADING && w->heading_node == node) {
        if (w->n_marks)
            writer_suspend_marks(w);
        size_t at = w->out->len;
        bool written = !w->heading && w->line_open && !w->full && at > w->line_at;
        while (written && at > w->line_at && w->out->data[at - 1] == '#')
            at--;
        if (written && !w->options.plain_text && at < w->out->len && (at == w->line_at || w->out->data[at - 1] == ' '))
            writer_insert(w, w->out->len - 1, STR("\\"));
        w->single = LINE_FREE;
        w->heading = 0;
        w->space = SPACE_NONE;
    }
    writer_want(w, DUE_BLANK);
}

void writer_enter_quote(struct writer *w, uint32_t node)
{
    writer_want(w, DUE_BLANK);
    if (w->single == LINE_FREE && !w->options.plain_text)
        writer_push_level(w, node, STR("> "), STR("> "));
}

void writer_enter_rule(struct writer *w)
{
    writer_want(w, DUE_BLANK);
    if (w->single == LINE_FREE && !w->options.plain_text && w->out->len > w->start && w->n_marked == w->n_levels)
        w->rule = true;
}

void writer_line_break(struct writer *w)
{
    if (w->due >= DUE_BREAK) {
        writer_want(w, w->single == LINE_FREE ? DUE_BLANK : DUE_BREAK);
        return;
    }
    writer_want(w, DUE_BREAK);
    w->space = SPACE_NONE;
}

/* The base with its reading in parentheses. */
bool writer_enter_reading(struct writer *w, uint32_t node)
{
    if (!has_text(w, node))
        return false;
    w->space = SPACE_NONE;
    writer_text(w, STR("("));
    return true;
}

void writer_leave_reading(struct writer *w)
{
    w->space = SPACE_NONE;
    writer_text(w, STR(")"));
}

bool writer_is_sign(const struct writer *w, uint32_t node)
{
    static const char *const signs[] = {"¶", "#", "§", "🔗", "↩", "↩︎", "↑", "⬆", "^", "∞", "⇧", "⤴"};
    struct str href = writer_attribute(w, node, HTML_ATTRIBUTE_HREF);
    uint32_t end = w->nodes[node].end, text = node + 1;
    if (!href.len || href.data[0] != '#' || text >= end || w->nodes[text].element != HTML_TEXT || text + 1 != end)
        return false;
    struct str shown = str_trim(w->nodes[text].text);
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (str_equal(shown, str_of(signs[i])))
            return true;
    return false;
}
