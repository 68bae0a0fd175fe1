/* Lists and their items. */
#include <stdio.h>

#include "text/html/write_internal.h"

static int64_t number_of(struct str value, int64_t otherwise)
{
    int64_t number;
    value = str_trim(value);
    return str_to_int64(value, &number) && number >= -999999999 && number <= 999999999 ? number : otherwise;
}

static struct list *innermost(struct writer *w)
{
    return w->n_lists ? &w->lists[w->n_lists - 1] : NULL;
}

static int64_t count_items(const struct writer *w, uint32_t node)
{
    int64_t count = 0;
    uint32_t end = w->nodes[node].end;
    for (uint32_t i = node + 1; i < end; i = w->nodes[i].end)
        count += w->nodes[i].element == HTML_LI && !writer_is_marked(w, i);
    return count;
}

/* A list that stands in another one but in none of its items belongs to the item before. */
static void indent_stray_list(struct writer *w, uint32_t node)
{
    static const char blanks[] = "            ";
    struct list *outer = innermost(w);
    if (outer && outer->n_levels == w->n_levels && outer->width && outer->width < sizeof blanks) {
        struct str rest = {blanks, outer->width};
        writer_push_level(w, node, rest, rest);
    }
}

void writer_enter_list(struct writer *w, uint32_t node)
{
    if (w->n_lists == MAX_LISTS) {
        writer_want(w, DUE_LINE);
        return;
    }
    struct list list = {.node = node, .at = w->out->len, .number = 1, .step = 1, .bullet = '-'};
    indent_stray_list(w, node);
    list.n_levels = w->n_levels;
    list.ordered = w->nodes[node].element == HTML_OL;
    if (list.ordered) {
        bool reversed = html_tree_has(w->tree, &w->nodes[node], HTML_ATTRIBUTE_REVERSED);
        int64_t start = reversed ? count_items(w, node) : 1;
        list.step = reversed ? -1 : 1;
        list.number = number_of(writer_attribute(w, node, HTML_ATTRIBUTE_START), start);
        list.bullet = '.';
    }
    bool after_list = w->list_end == w->out->len && w->list_end > w->start && !w->rule;
    if (after_list && list.bullet == w->list_bullet)
        list.bullet = list.ordered ? ')' : '*';
    /* inside an item it follows the item's text without an empty line */
    bool nested = w->n_lists && w->n_levels && w->single == LINE_FREE && !w->rule;
    if (w->n_marks && w->single == LINE_FREE)
        writer_suspend_marks(w);
    if (nested && w->n_marked == w->n_levels)
        w->due = DUE_LINE;
    else
        writer_want(w, DUE_BLANK);
    w->item_ended = w->single == LINE_FREE; /* until its first item */
    list.due = w->due;
    w->lists[w->n_lists++] = list;
}

void writer_leave_list(struct writer *w, uint32_t node)
{
    struct list *list = innermost(w);
    writer_want(w, DUE_BLANK);
    if (!list || list->node != node)
        return;
    if (list->width && w->out->len > list->at) {
        w->list_end = w->out->len;
        w->list_bullet = list->bullet;
    }
    w->n_lists--;
    writer_pop_level(w, node);
}

/* "[x] " or "[ ] " when the item begins with a box to tick. */
static struct str task_mark(const struct writer *w, uint32_t node)
{
    uint32_t end = w->nodes[node].end;
    for (uint32_t i = node + 1; i < end && i < node + 6; i++) {
        uint8_t element = w->nodes[i].element;
        if (element == HTML_INPUT) {
            if (!str_equal_ascii_nocase(writer_attribute(w, i, HTML_ATTRIBUTE_TYPE), STR("checkbox")))
                break;
            return html_tree_has(w->tree, &w->nodes[i], HTML_ATTRIBUTE_CHECKED) ? STR("[x] ") : STR("[ ] ");
        }
        bool blank = element == HTML_TEXT && !str_trim(w->nodes[i].text).len;
        if (!blank && element != HTML_P && element != HTML_LABEL && element != HTML_SPAN)
            break;
    }
    return STR("");
}

/* The first item that has text; a list that does not begin with 1 would not interrupt a paragraph. */
static void begin_list(struct writer *w, const struct list *list, uint32_t node)
{
    bool interrupts = !list->ordered || number_of(writer_attribute(w, node, HTML_ATTRIBUTE_VALUE), list->number) == 1;
    if (w->n_marked == w->n_levels)
        w->due = list->due == DUE_LINE && !interrupts ? DUE_BLANK : list->due;
}

void writer_enter_item(struct writer *w, uint32_t node)
{
    static const char blanks[] = "                    ";
    struct list *list = innermost(w);
    bool bare = !list; /* an item without a list */
    bool first = list && !list->has_items;
    if (w->n_marks)
        writer_suspend_marks(w);
    if (!list || w->single != LINE_FREE)
        writer_want(w, DUE_LINE);
    else if (first)
        begin_list(w, list, node);
    else
        w->due = list->loose || (w->due == DUE_BLANK && !w->line_open) ? DUE_BLANK : DUE_LINE;
    w->item_ended = false;
    if (w->single != LINE_FREE)
        return;
    char mark[40];
    int len;
    struct str task = task_mark(w, node);
    if (list && list->ordered) {
        int64_t number = number_of(writer_attribute(w, node, HTML_ATTRIBUTE_VALUE), list->number);
        list->number = number + list->step;
        len = snprintf(mark, sizeof mark, "%lld%c ", (long long)(number < 0 ? 0 : number), list->bullet);
    } else {
        len = snprintf(mark, sizeof mark, "%c ", bare ? '-' : list->bullet);
    }
    size_t width = (size_t)len;
    if (list)
        list->width = (uint8_t)width;
    if (w->options.plain_text) {
        bool inner = w->n_levels > 0;
        writer_push_level(w, node, inner ? STR("  ") : STR(""), inner ? STR("  ") : STR(""));
        return;
    }
    memcpy(mark + width, task.data, task.len);
    writer_push_level(w, node, (struct str){mark, width + task.len}, (struct str){blanks, width});
}

void writer_leave_item(struct writer *w, uint32_t node)
{
    struct list *list = innermost(w);
    if (list && w->n_marked == w->n_levels && w->n_levels > list->n_levels)
        list->has_items = true;
    writer_pop_level(w, node);
    writer_want(w, DUE_LINE);
    w->item_ended = w->single == LINE_FREE;
}
