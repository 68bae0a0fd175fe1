/* Lines: their ends, the marks of what is around them, and what is due before their text. */
#include "core/utf8.h"
#include "text/html/write_internal.h"

void writer_put_slowly(struct writer *w, const char *data, size_t len)
{
    if (w->full)
        return;
    struct buf *out = w->out;
    size_t room = out->cap - out->len;
    if (len > room) {
        len = utf8_floor((struct str){data, len}, room);
        w->full = true;
    }
    char *end = buf_reserve(out, len);
    memcpy(end, data, len);
    buf_commit(out, len);
    w->limit = w->full ? 0 : out->allocated;
}

void writer_insert(struct writer *w, size_t at, struct str bytes)
{
    size_t behind = w->out->len - at;
    writer_put_str(w, bytes);
    if (w->full)
        return;
    char *data = w->out->data + at;
    memmove(data + bytes.len, data, behind);
    memcpy(data, bytes.data, bytes.len);
    if (w->plain_from > at)
        w->plain_from += bytes.len;
}

void writer_remove(struct writer *w, size_t at, size_t count)
{
    if (w->full)
        return;
    char *data = w->out->data + at;
    memmove(data, data + count, w->out->len - at - count);
    w->out->len -= count;
    if (w->plain_from > at)
        w->plain_from = w->plain_from >= at + count ? w->plain_from - count : at;
}

void writer_want(struct writer *w, enum due due)
{
    /* the first block in an item or quotation stands on its line */
    if (w->due < due && (!w->due || w->n_marked == w->n_levels))
        w->due = (uint8_t)due;
    if (due != DUE_BREAK && w->n_marks && w->single == LINE_FREE)
        writer_suspend_marks(w);
}

/* ---- levels ---- */

bool writer_push_level(struct writer *w, uint32_t node, struct str mark, struct str rest)
{
    if (w->n_levels == MAX_LEVELS || w->prefix_len + rest.len > MAX_PREFIX || mark.len > sizeof w->levels[0].mark)
        return false;
    struct level *level = &w->levels[w->n_levels++];
    level->node = node;
    level->prefix_at = (uint16_t)w->prefix_len;
    level->mark_len = (uint8_t)mark.len;
    memcpy(level->mark, mark.data, mark.len);
    memcpy(w->prefix + w->prefix_len, rest.data, rest.len);
    w->prefix_len += rest.len;
    return true;
}

void writer_pop_level(struct writer *w, uint32_t node)
{
    if (!w->n_levels || w->levels[w->n_levels - 1].node != node)
        return;
    w->prefix_len = w->levels[--w->n_levels].prefix_at;
    if (w->n_marked > w->n_levels)
        w->n_marked = w->n_levels;
}

/* ---- line ends ---- */

/* An empty line inside a quotation keeps its mark; elsewhere it has no blanks at its end. */
static void put_empty_line(struct writer *w)
{
    size_t len = w->n_marked < w->n_levels ? w->levels[w->n_marked].prefix_at : w->prefix_len;
    while (len && w->prefix[len - 1] == ' ')
        len--;
    writer_put(w, w->prefix, len);
    writer_put_char(w, '\n');
}

static void put_prefix(struct writer *w)
{
    if (w->n_marked == w->n_levels) {
        writer_put(w, w->prefix, w->prefix_len);
    } else {
        writer_put(w, w->prefix, w->levels[w->n_marked].prefix_at);
        for (; w->n_marked < w->n_levels; w->n_marked++)
            writer_put(w, w->levels[w->n_marked].mark, w->levels[w->n_marked].mark_len);
    }
    w->line_at = w->plain_from = w->out->len;
    w->line_open = true;
}

/* The innermost list that has an item around the line gets an empty line between its items, too. */
static void note_loose_item(struct writer *w)
{
    for (size_t i = w->n_lists; i-- > 0;) {
        if (w->lists[i].n_levels >= w->n_marked)
            continue;
        w->lists[i].loose = true;
        return;
    }
}

void writer_next_line(struct writer *w, enum due due)
{
    if (w->item_ended && due) { /* what is in a list but in none of its items stands apart, and so what follows it */
        due = DUE_BLANK;
        if (w->n_lists)
            w->lists[w->n_lists - 1].width = 0;
    }
    if (w->line_open || w->out->len > w->start) {
        if (due == DUE_BREAK && w->line_open && !w->options.plain_text)
            writer_put(w, "  ", 2);
        if (w->line_open)
            writer_put_char(w, '\n');
        if (due == DUE_BLANK) {
            put_empty_line(w);
            note_loose_item(w);
        }
        if (w->rule) {
            writer_put(w, w->prefix, w->n_marked < w->n_levels ? w->levels[w->n_marked].prefix_at : w->prefix_len);
            writer_put(w, "---\n", 4);
            put_empty_line(w);
        }
    }
    w->rule = w->item_ended = false;
    w->continues = due != DUE_BLANK;
    w->due = DUE_NOTHING;
    put_prefix(w);
}

static void write_due(struct writer *w)
{
    if (w->single == LINE_CELL) {
        if (w->out->len > w->table.cell_at && w->due) {
            if (w->options.plain_text)
                w->space = SPACE_FIXED;
            else
                writer_put(w, "<br>", 4);
            w->plain_from = w->out->len;
        }
        if (!w->options.plain_text)
            w->space = SPACE_NONE;
        w->due = DUE_NOTHING;
        return;
    }
    if (w->single == LINE_HEADING && w->line_open && !w->heading) {
        w->space = SPACE_FIXED;
        w->due = DUE_NOTHING;
        return;
    }
    writer_next_line(w, w->due);
    w->space = SPACE_NONE;
    if (w->heading) {
        static const char hashes[] = "###### ";
        if (!w->options.plain_text)
            writer_put(w, hashes + 6 - w->heading, (size_t)w->heading + 1);
        w->line_at = w->plain_from = w->out->len;
        w->heading = 0;
    } else if (w->colon) {
        writer_put(w, ": ", 2);
        w->line_at = w->plain_from = w->out->len;
        w->colon = false;
    }
}

void writer_begin_slowly(struct writer *w, enum char_class next)
{
    bool spaced = w->due || w->space;
    if (w->n_marks && w->pending)
        writer_settle_marks(w, spaced ? CHAR_SPACE : writer_opens_bracket(w) ? CHAR_PUNCTUATION : next);
    if (w->due || !w->line_open)
        write_due(w);
    if (w->space) {
        if (w->out->len > w->line_at)
            writer_put_char(w, ' ');
        w->space = SPACE_NONE;
    }
    if (w->n_marks && w->pending)
        writer_open_marks(w, next);
}
