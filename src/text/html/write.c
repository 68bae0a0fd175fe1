/* The walk over the tree: every element is entered and left once, in document order. */
#include "text/html/write.h"

#include <stdlib.h>

#include "text/html/write_internal.h"

/* What an element is to the writer. */
enum construct {
    CONSTRUCT_BY_FLAGS, /* a block, silent, or nothing */
    CONSTRUCT_NOTHING,  /* its contents are written as if it were not there */
    CONSTRUCT_SILENT,
    CONSTRUCT_BLOCK,
    CONSTRUCT_HEADING,
    CONSTRUCT_LIST,
    CONSTRUCT_ITEM,
    CONSTRUCT_QUOTE,
    CONSTRUCT_CODE_BLOCK,
    CONSTRUCT_RULE,
    CONSTRUCT_TABLE,
    CONSTRUCT_TABLE_PART,
    CONSTRUCT_ROW,
    CONSTRUCT_CELL,
    CONSTRUCT_DETAIL,
    CONSTRUCT_STRONG,
    CONSTRUCT_EM,
    CONSTRUCT_DEL,
    CONSTRUCT_INLINE_QUOTE,
    CONSTRUCT_LINK,
    CONSTRUCT_CODE,
    CONSTRUCT_BREAK,
    CONSTRUCT_IMAGE,
    CONSTRUCT_RAISED,
    CONSTRUCT_READING,
    CONSTRUCT_MATH,
    CONSTRUCT_SCRIPT,
    CONSTRUCT_NOTE, /* a footnote; no element of its own */
};

static const uint8_t constructs[HTML_ELEMENTS] = {
    [HTML_A] = CONSTRUCT_LINK,
    [HTML_B] = CONSTRUCT_STRONG,
    [HTML_BLOCKQUOTE] = CONSTRUCT_QUOTE,
    [HTML_BR] = CONSTRUCT_BREAK,
    [HTML_CITE] = CONSTRUCT_NOTHING,
    [HTML_CODE] = CONSTRUCT_CODE,
    [HTML_DD] = CONSTRUCT_DETAIL,
    [HTML_DEL] = CONSTRUCT_DEL,
    [HTML_DIR] = CONSTRUCT_LIST,
    [HTML_EM] = CONSTRUCT_EM,
    [HTML_H1] = CONSTRUCT_HEADING,
    [HTML_H2] = CONSTRUCT_HEADING,
    [HTML_H3] = CONSTRUCT_HEADING,
    [HTML_H4] = CONSTRUCT_HEADING,
    [HTML_H5] = CONSTRUCT_HEADING,
    [HTML_H6] = CONSTRUCT_HEADING,
    [HTML_HR] = CONSTRUCT_RULE,
    [HTML_I] = CONSTRUCT_EM,
    [HTML_IMG] = CONSTRUCT_IMAGE,
    [HTML_KBD] = CONSTRUCT_CODE,
    [HTML_LI] = CONSTRUCT_ITEM,
    [HTML_LISTING] = CONSTRUCT_CODE_BLOCK,
    [HTML_MATH] = CONSTRUCT_MATH,
    [HTML_MENU] = CONSTRUCT_LIST,
    [HTML_OL] = CONSTRUCT_LIST,
    [HTML_PRE] = CONSTRUCT_CODE_BLOCK,
    [HTML_Q] = CONSTRUCT_INLINE_QUOTE,
    [HTML_RP] = CONSTRUCT_SILENT,
    [HTML_RT] = CONSTRUCT_READING,
    [HTML_RTC] = CONSTRUCT_READING,
    [HTML_S] = CONSTRUCT_DEL,
    [HTML_SAMP] = CONSTRUCT_CODE,
    [HTML_SCRIPT] = CONSTRUCT_SCRIPT,
    [HTML_STRIKE] = CONSTRUCT_DEL,
    [HTML_STRONG] = CONSTRUCT_STRONG,
    [HTML_SUB] = CONSTRUCT_RAISED,
    [HTML_SUP] = CONSTRUCT_RAISED,
    [HTML_TABLE] = CONSTRUCT_TABLE,
    [HTML_TBODY] = CONSTRUCT_TABLE_PART,
    [HTML_TD] = CONSTRUCT_CELL,
    [HTML_TFOOT] = CONSTRUCT_TABLE_PART,
    [HTML_TH] = CONSTRUCT_CELL,
    [HTML_THEAD] = CONSTRUCT_TABLE_PART,
    [HTML_TR] = CONSTRUCT_ROW,
    [HTML_TT] = CONSTRUCT_CODE,
    [HTML_UL] = CONSTRUCT_LIST,
    [HTML_XMP] = CONSTRUCT_CODE_BLOCK,
};

static enum construct construct_of(uint8_t element)
{
    enum construct construct = constructs[element];
    if (construct != CONSTRUCT_BY_FLAGS)
        return construct;
    unsigned flags = html_flags(element);
    return flags & ELEMENT_SILENT ? CONSTRUCT_SILENT : flags & ELEMENT_BLOCK ? CONSTRUCT_BLOCK : CONSTRUCT_NOTHING;
}

/* The meaning of a term stands below it, behind a colon. */
static void enter_detail(struct writer *w, uint32_t node)
{
    bool first = node > 0 && w->line_open && w->due == DUE_BLANK;
    if (w->n_marks && w->single == LINE_FREE)
        writer_suspend_marks(w);
    w->due = first && !w->rule ? DUE_LINE : w->due;
    writer_want(w, DUE_LINE);
    uint32_t inside = node + 1;
    while (inside < w->nodes[node].end && w->nodes[inside].element == HTML_TEXT && !str_trim(w->nodes[inside].text).len)
        inside++;
    if (inside == w->nodes[node].end)
        return;
    enum construct construct = construct_of(w->nodes[inside].element);
    bool text = construct == CONSTRUCT_NOTHING || construct >= CONSTRUCT_STRONG || w->nodes[inside].element == HTML_P;
    if (text && w->single == LINE_FREE && !w->options.plain_text)
        w->colon = true;
    else if (w->single == LINE_FREE && !text)
        w->due = DUE_BLANK;
}

/* ---- the walk ---- */

struct open_element {
    uint32_t node, end;
    enum construct construct;
};

static bool writes_code(const struct writer *w, uint32_t node, enum construct construct)
{
    if (construct == CONSTRUCT_CODE)
        return writer_is_code_span(w, node);
    return construct == CONSTRUCT_CODE_BLOCK && w->single != LINE_FREE;
}

/* Begins an element. True when its contents are to be walked and it is to be left. */
static bool enter(struct writer *w, uint32_t node, enum construct construct)
{
    switch (construct) {
    case CONSTRUCT_BY_FLAGS:
    case CONSTRUCT_NOTHING:
    case CONSTRUCT_SILENT:
    case CONSTRUCT_SCRIPT:
    case CONSTRUCT_NOTE:
        return true;
    case CONSTRUCT_BLOCK:
        writer_want(w, DUE_BLANK);
        return true;
    case CONSTRUCT_HEADING:
        writer_enter_heading(w, node);
        return true;
    case CONSTRUCT_LIST:
        writer_enter_list(w, node);
        return true;
    case CONSTRUCT_ITEM:
        writer_enter_item(w, node);
        return true;
    case CONSTRUCT_QUOTE:
        writer_enter_quote(w, node);
        return true;
    case CONSTRUCT_CODE_BLOCK:
        writer_code_block(w, node);
        return false;
    case CONSTRUCT_RULE:
        writer_enter_rule(w);
        return false;
    case CONSTRUCT_TABLE:
        writer_enter_table(w, node);
        return true;
    case CONSTRUCT_TABLE_PART:
        return true;
    case CONSTRUCT_ROW:
        writer_enter_row(w);
        return true;
    case CONSTRUCT_CELL:
        if (writer_is_gutter(w, node))
            return false;
        writer_enter_cell(w, node);
        return true;
    case CONSTRUCT_DETAIL:
        enter_detail(w, node);
        return true;
    case CONSTRUCT_STRONG:
        writer_open_mark(w, node, INLINE_STRONG);
        return true;
    case CONSTRUCT_EM:
        writer_open_mark(w, node, INLINE_EM);
        return true;
    case CONSTRUCT_DEL:
        writer_open_mark(w, node, INLINE_DEL);
        return true;
    case CONSTRUCT_INLINE_QUOTE:
        writer_open_mark(w, node, INLINE_QUOTE);
        return true;
    case CONSTRUCT_LINK:
        if (writer_is_sign(w, node))
            return false;
        writer_link(w, node);
        return true;
    case CONSTRUCT_CODE:
        return true;
    case CONSTRUCT_BREAK:
        writer_line_break(w);
        return false;
    case CONSTRUCT_IMAGE:
        if (!writer_math_image(w, node))
            writer_image(w, node);
        return false;
    case CONSTRUCT_RAISED:
        writer_raised(w, node);
        return true;
    case CONSTRUCT_READING:
        return writer_enter_reading(w, node);
    case CONSTRUCT_MATH:
        writer_math(w, node);
        return false;
    }
    return true;
}

static void leave(struct writer *w, const struct open_element *open)
{
    uint32_t node = open->node;
    switch (open->construct) {
    case CONSTRUCT_BLOCK:
    case CONSTRUCT_DETAIL:
        w->colon = false;
        writer_want(w, DUE_BLANK);
        break;
    case CONSTRUCT_HEADING:
        writer_leave_heading(w, node);
        break;
    case CONSTRUCT_LIST:
        writer_leave_list(w, node);
        break;
    case CONSTRUCT_ITEM:
        writer_leave_item(w, node);
        break;
    case CONSTRUCT_QUOTE:
    case CONSTRUCT_NOTE:
        writer_want(w, DUE_BLANK);
        writer_pop_level(w, node);
        break;
    case CONSTRUCT_TABLE:
        writer_leave_table(w, node);
        break;
    case CONSTRUCT_ROW:
        writer_leave_row(w);
        break;
    case CONSTRUCT_CELL:
        writer_leave_cell(w, node);
        break;
    case CONSTRUCT_STRONG:
    case CONSTRUCT_EM:
    case CONSTRUCT_DEL:
    case CONSTRUCT_INLINE_QUOTE:
        writer_close_mark(w, node);
        break;
    case CONSTRUCT_LINK:
        writer_close_mark(w, node);
        if (w->out->len > w->link_start)
            w->link_end = w->out->len;
        break;
    case CONSTRUCT_RAISED:
        writer_raised_end(w, node);
        break;
    case CONSTRUCT_READING:
        writer_leave_reading(w);
        break;
    case CONSTRUCT_BY_FLAGS:
    case CONSTRUCT_NOTHING:
    case CONSTRUCT_SILENT:
    case CONSTRUCT_CODE_BLOCK:
    case CONSTRUCT_RULE:
    case CONSTRUCT_TABLE_PART:
    case CONSTRUCT_CODE:
    case CONSTRUCT_BREAK:
    case CONSTRUCT_IMAGE:
    case CONSTRUCT_MATH:
    case CONSTRUCT_SCRIPT:
        break;
    }
}

static void push(struct open_element *stack, size_t *depth, uint32_t node, uint32_t end, enum construct construct)
{
    stack[(*depth)++] = (struct open_element){node, end, construct};
}

static void walk(struct writer *w)
{
    /* at most two for each level of the tree */
    struct open_element stack[2 * HTML_MAX_DEPTH + 4];
    size_t depth = 0;
    for (uint32_t i = 0; i < w->tree->count && !w->full;) {
        while (depth && stack[depth - 1].end <= i)
            leave(w, &stack[--depth]);
        const struct html_node *node = &w->nodes[i];
        if (node->element == HTML_TEXT && !writer_is_marked(w, i) && !(w->n_notes && writer_note_at(w, i))) {
            writer_text(w, node->text);
            i++;
            continue;
        }
        enum construct construct = construct_of(node->element);
        bool skipped = writer_is_marked(w, i) || construct == CONSTRUCT_SILENT || writer_is_math_copy(w, i);
        if (construct == CONSTRUCT_SCRIPT)
            skipped = writer_math_script(w, i) || true;
        const struct note *note = w->n_notes && !skipped ? writer_note_at(w, i) : NULL;
        if (note && note->kind == NOTE_DEFINITION) {
            writer_enter_note(w, note);
            push(stack, &depth, i, node->end, CONSTRUCT_NOTE);
            construct = CONSTRUCT_BLOCK;
        } else if (note) {
            if (note->kind == NOTE_REFERENCE)
                writer_reference(w, note);
            skipped = true;
        }
        if (!skipped && writes_code(w, i, construct)) {
            writer_code_span(w, i);
            skipped = true;
        }
        if (skipped || !enter(w, i, construct)) {
            i = node->end;
            continue;
        }
        if (construct > CONSTRUCT_SILENT && node->end > i + 1)
            push(stack, &depth, i, node->end, construct);
        else if (construct > CONSTRUCT_SILENT)
            leave(w, &(struct open_element){i, node->end, construct});
        i++;
    }
    while (depth)
        leave(w, &stack[--depth]);
}

bool html_tree_write(const struct html_tree *tree, const uint8_t *marks, const struct html_write_options *options,
                     struct buf *out)
{
    struct writer w = {.out = out,
                       .limit = out->allocated,
                       .tree = tree,
                       .nodes = tree->nodes,
                       .marks = marks,
                       .options = *options,
                       .classes = writer_classes(options->plain_text),
                       .start = out->len,
                       .line_at = out->len,
                       .fillers = (size_t)tree->count * 8 + 16384};
    buf_init(&w.scratch, BUF_UNBOUNDED);
    buf_init(&w.url, BUF_UNBOUNDED);
    writer_survey_math(&w);
    writer_find_notes(&w);
    walk(&w);
    if (w.n_marks && !w.full)
        writer_suspend_marks(&w);
    if (out->len > w.start && !w.full)
        writer_put_char(&w, '\n');
    if (out->data)
        buf_commit(out, 0);
    free(w.notes);
    free(w.table.columns);
    buf_finish(&w.scratch);
    buf_finish(&w.url);
    return !w.full;
}
