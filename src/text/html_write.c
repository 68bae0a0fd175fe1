/* The marked tree to Markdown. The tree is walked once, each element entered and left; blocks ask for an empty line
 * before the next text, and what opens a block or an emphasis is written only when text follows, so nothing empty is
 * ever marked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"
#include "text/html_internal.h"

#define MAX_LEVELS 32 /* of indentation; deeper ones stay at the last */
#define MAX_OPEN   64 /* inline marks that can be open at once */

/* A list item, quotation or definition around the text: what its first line begins with, and all others. */
struct level {
    const xmlNode *node;
    char mark[16];
    const char *rest;
    bool marked; /* the first line is written */
};

/* An inline element whose mark is due (not written) or open. */
struct inline_mark {
    const xmlNode *node;
    const char *mark;
    bool written;
};

struct writer {
    struct buf *out;
    struct str base;
    bool drop_links;
    bool full;           /* the cap was reached */
    int newlines;        /* due before the next text: 0, 1 or 2 */
    bool space;          /* a space is due before the next text of the line */
    bool line_open;      /* the present line has text */
    const xmlNode *cell; /* inside a table's cell: everything on one line; the cell's row */
    struct level levels[MAX_LEVELS];
    size_t n_levels;
    struct inline_mark marks[MAX_OPEN];
    size_t n_marks;
};

static void put(struct writer *w, struct str text)
{
    if (w->full || buf_append_str(w->out, text) == STATUS_OK)
        return;
    w->full = true;
    char *end = buf_reserve(w->out, w->out->cap - w->out->len);
    size_t fits = utf8_floor(text, w->out->cap - w->out->len);
    memcpy(end, text.data, fits);
    buf_commit(w->out, fits);
}

static void put_text(struct writer *w, const char *text)
{
    put(w, str_of(text));
}

static void want_newlines(struct writer *w, int count)
{
    if (w->cell) {
        w->space = true;
        return;
    }
    if (w->newlines < count)
        w->newlines = count;
}

static void start_line(struct writer *w)
{
    for (size_t i = 0; i < w->n_levels; i++) {
        struct level *level = &w->levels[i];
        put_text(w, level->marked ? level->rest : level->mark);
        level->marked = true;
    }
}

/* An empty line inside a quotation keeps its mark; elsewhere it has no trailing blanks. */
static void empty_line(struct writer *w)
{
    size_t last = 0;
    for (size_t i = 0; i < w->n_levels; i++)
        if (w->levels[i].marked && w->levels[i].rest[0] == '>')
            last = i + 1;
    for (size_t i = 0; i < last; i++)
        put_text(w, i + 1 == last && w->levels[i].rest[0] == '>' ? ">" : w->levels[i].rest);
    put_text(w, "\n");
}

/* Writes what is due before text: line ends, the marks of levels, a space, opening marks. */
static void before_text(struct writer *w)
{
    if (w->newlines && w->out->len) {
        put_text(w, "\n");
        if (w->newlines > 1)
            empty_line(w);
        w->line_open = false;
    }
    w->newlines = 0;
    if (!w->line_open && !w->cell)
        start_line(w);
    else if (w->space && w->line_open)
        put_text(w, " ");
    w->space = false;
    w->line_open = true;
    for (size_t i = 0; i < w->n_marks; i++) {
        if (!w->marks[i].written)
            put_text(w, w->marks[i].mark);
        w->marks[i].written = true;
    }
}

/* Whether text at the beginning of a line would be taken for Markdown's mark of a block. */
static bool needs_escape(struct str text)
{
    size_t digits = 0;
    while (digits < text.len && digits < 10 && ascii_is_digit(text.data[digits]))
        digits++;
    if (digits)
        return false;
    size_t hashes = 0;
    while (hashes < text.len && text.data[hashes] == '#')
        hashes++;
    if (hashes && hashes <= 6)
        return hashes == text.len || text.data[hashes] == ' ';
    if (text.data[0] == '>' || str_starts_with(text, STR("```")) || str_starts_with(text, STR("~~~")))
        return true;
    return text.len > 1 && strchr("-+*", text.data[0]) && text.data[1] == ' ';
}

/* Text with white space collapsed. */
static void write_words(struct writer *w, struct str text)
{
    while (text.len && !w->full) {
        size_t blank = 0;
        while (blank < text.len && ascii_is_space(text.data[blank]))
            blank++;
        w->space = w->space || blank > 0;
        text = str_slice(text, blank, text.len);
        if (!text.len)
            break;
        size_t end = 0;
        while (end < text.len && !ascii_is_space(text.data[end]))
            end++;
        bool starts = !w->line_open || w->newlines;
        before_text(w);
        struct str word = str_slice(text, 0, end);
        if (starts && !w->cell && needs_escape(text))
            put_text(w, "\\");
        if (w->cell && str_find_char(word, '|', 0) != STR_NONE) {
            for (size_t i = 0; i < word.len; i++) {
                put_text(w, word.data[i] == '|' ? "\\" : "");
                put(w, str_slice(word, i, i + 1));
            }
        } else {
            put(w, word);
        }
        text = str_slice(text, end, text.len);
    }
}

/* ---- inline elements ---- */

static const char *inline_mark(const xmlNode *node)
{
    if (html_is(node, "strong") || html_is(node, "b"))
        return "**";
    if (html_is(node, "em") || html_is(node, "i"))
        return "*";
    if (html_is(node, "del") || html_is(node, "s") || html_is(node, "strike"))
        return "~~";
    if (html_is(node, "a"))
        return "[";
    return NULL;
}

static void open_mark(struct writer *w, const xmlNode *node)
{
    const char *mark = inline_mark(node);
    if (!mark || html_info(node)->has_block || w->n_marks == MAX_OPEN)
        return;
    for (size_t i = 0; i < w->n_marks; i++) /* emphasis in emphasis of the same kind says nothing */
        if (strcmp(w->marks[i].mark, mark) == 0)
            return;
    if (mark[0] == '[' && (w->drop_links || !html_attribute(node, "href").len))
        return;
    w->marks[w->n_marks++] = (struct inline_mark){.node = node, .mark = mark};
}

static void close_mark(struct writer *w, const xmlNode *node)
{
    if (!w->n_marks || w->marks[w->n_marks - 1].node != node)
        return;
    struct inline_mark mark = w->marks[--w->n_marks];
    if (!mark.written)
        return;
    if (mark.mark[0] != '[') {
        put_text(w, mark.mark);
        return;
    }
    char *target = html_resolve(w->base, html_attribute(node, "href"));
    put_text(w, "](");
    if (target) {
        for (const char *c = target; *c; c++) /* what would end the target early */
            put(w, *c == '(' ? STR("%28") : *c == ')' ? STR("%29") : *c == ' ' ? STR("%20") : str_make(c, 1));
    }
    put_text(w, ")");
    free(target);
}

/* A link that leads nowhere (a script, a place in the page) is plain text: told before its mark is opened. */
static bool leads_somewhere(const struct writer *w, const xmlNode *node)
{
    char *target = html_resolve(w->base, html_attribute(node, "href"));
    free(target);
    return target != NULL;
}

static void write_image(struct writer *w, const xmlNode *node)
{
    struct str alt = str_trim(html_attribute(node, "alt"));
    if (w->drop_links || !alt.len)
        return;
    struct str source = html_attribute(node, "src");
    if (!source.len || str_starts_with_nocase(source, STR("data:")))
        source = html_attribute(node, "data-src");
    char *target = html_resolve(w->base, source);
    w->space = w->space || w->line_open;
    before_text(w);
    put_text(w, "![");
    write_words(w, alt);
    put_text(w, "](");
    put_text(w, target ? target : "");
    put_text(w, ")");
    w->space = true;
    free(target);
}

static size_t longest_run(struct str text, char c)
{
    size_t longest = 0, run = 0;
    for (size_t i = 0; i < text.len; i++) {
        run = text.data[i] == c ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

static void put_times(struct writer *w, char c, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put(w, str_make(&c, 1));
}

static void write_code_span(struct writer *w, xmlNode *node)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    html_collect_text(node, BUF_UNBOUNDED / 2, &text);
    if (text.len) {
        size_t ticks = longest_run(buf_str(&text), '`') + 1;
        before_text(w);
        put_times(w, '`', ticks);
        put_text(w, ticks > 1 ? " " : "");
        put(w, buf_str(&text));
        put_text(w, ticks > 1 ? " " : "");
        put_times(w, '`', ticks);
    }
    buf_finish(&text);
}

/* ---- code blocks ---- */

static struct str language_in(struct str class)
{
    static const char *const prefixes[] = {"language-",  "lang-",  "highlight-source-",
                                           "highlight-", "brush:", "sourceCode "};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        struct str prefix = str_of(prefixes[i]);
        size_t at = str_find_nocase(class, prefix, 0);
        if (at == STR_NONE || (at > 0 && !ascii_is_space(class.data[at - 1])))
            continue;
        struct str name = str_trim_start(str_slice(class, at + prefix.len, class.len));
        size_t end = 0;
        while (end < name.len && (ascii_is_alnum(name.data[end]) || strchr("+#-_.", name.data[end])))
            end++;
        if (end && end < 24)
            return str_slice(name, 0, end);
    }
    return (struct str){0};
}

static struct str code_language(const xmlNode *pre)
{
    const xmlNode *places[3] = {pre, NULL, pre->parent};
    for (const xmlNode *child = pre->children; child && !places[1]; child = child->next)
        if (html_is(child, "code"))
            places[1] = child;
    for (size_t i = 0; i < 3; i++) {
        if (!places[i] || places[i]->type != XML_ELEMENT_NODE)
            continue;
        struct str language = html_attribute(places[i], "data-lang");
        if (!language.len)
            language = html_attribute(places[i], "data-language");
        if (!language.len)
            language = language_in(html_attribute(places[i], "class"));
        if (language.len && language.len < 24 && str_find_char(language, '`', 0) == STR_NONE)
            return language;
    }
    return (struct str){0};
}

static void write_code_block(struct writer *w, xmlNode *pre)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    for (xmlNode *node = pre; node;) {
        bool dropped = node->type == XML_ELEMENT_NODE && html_info(node)->dropped;
        if (node->type == XML_TEXT_NODE)
            buf_add_text(&text, (const char *)node->content);
        else if (html_is(node, "br") || (node != pre && node->type == XML_ELEMENT_NODE && !dropped && text.len &&
                                         text.data[text.len - 1] != '\n' &&
                                         (html_element_flags(str_of((const char *)node->name)) & ELEMENT_BLOCK)))
            buf_add_char(&text, '\n');
        node = html_next(node, pre, dropped);
    }
    struct str code = str_trim_end(buf_str(&text)), line;
    while (code.len && (code.data[0] == '\n' || code.data[0] == '\r'))
        code = str_slice(code, 1, code.len);
    if (code.len) {
        size_t ticks = longest_run(code, '`') + 1;
        ticks = ticks < 3 ? 3 : ticks;
        want_newlines(w, 2);
        before_text(w);
        put_times(w, '`', ticks);
        put(w, code_language(pre));
        while (str_split_next(&code, '\n', &line)) {
            put_text(w, "\n");
            start_line(w);
            put(w, str_trim_end(line));
        }
        put_text(w, "\n");
        start_line(w);
        put_times(w, '`', ticks);
        want_newlines(w, 2);
    }
    buf_finish(&text);
}

/* ---- tables ---- */

static bool is_cell(const xmlNode *node)
{
    return html_is(node, "td") || html_is(node, "th");
}

static size_t count_cells(const xmlNode *row)
{
    size_t n = 0;
    for (const xmlNode *child = row->children; child; child = child->next)
        n += is_cell(child);
    return n;
}

/* Whether a table holds data: rows of several short cells. Tables that lay out a page hold blocks, other tables, or one
 * column. */
static bool is_data_table(xmlNode *table)
{
    size_t rows = 0, wide_rows = 0, cells = 0;
    for (xmlNode *node = table; node; node = html_next(node, table, false)) {
        if (node != table &&
            (html_is(node, "table") || html_is(node, "ul") || html_is(node, "pre") || html_is(node, "blockquote") ||
             (node->type == XML_ELEMENT_NODE &&
              (html_element_flags(str_of((const char *)node->name)) & ELEMENT_HEADING))))
            return false;
        if (html_is(node, "tr")) {
            size_t n = count_cells(node);
            rows += n > 0;
            wide_rows += n > 1;
            cells += n;
        }
    }
    return wide_rows > 0 && wide_rows * 2 >= rows && html_info(table)->text / (cells + 1) < 250;
}

static void leave_row(struct writer *w, const xmlNode *row)
{
    put_text(w, " |");
    w->cell = NULL;
    w->space = false;
    const xmlNode *before = row;
    while ((before = before->prev) != NULL)
        if (html_is(before, "tr"))
            break;
    const xmlNode *group = html_is(row->parent, "table") ? row : row->parent;
    while (!before && group != row && (group = group->prev) != NULL)
        if (html_is(group, "thead") || html_is(group, "tbody") || html_is(group, "tr"))
            before = group;
    if (!before) { /* the first row is followed by the line that makes it a table */
        put_text(w, "\n");
        start_line(w);
        size_t n = count_cells(row);
        put_text(w, "|");
        for (size_t i = 0; i < n; i++)
            put_text(w, " --- |");
    }
    w->line_open = true;
    want_newlines(w, 1);
}

/* ---- blocks ---- */

static void push_level(struct writer *w, const xmlNode *node, const char *mark, const char *rest)
{
    if (w->n_levels == MAX_LEVELS || w->cell)
        return;
    struct level *level = &w->levels[w->n_levels++];
    *level = (struct level){.node = node, .rest = rest};
    strncpy(level->mark, mark, sizeof level->mark - 1);
}

static void pop_level(struct writer *w, const xmlNode *node)
{
    if (w->n_levels && w->levels[w->n_levels - 1].node == node)
        w->n_levels--;
}

static void enter_item(struct writer *w, const xmlNode *item)
{
    want_newlines(w, 1);
    if (!html_is(item->parent, "ol")) {
        push_level(w, item, "- ", "  ");
        return;
    }
    struct node_info *list = html_info(item->parent);
    int64_t number = list->next_number;
    if (!number && (!str_to_int64(html_attribute(item->parent, "start"), &number) || number < 0))
        number = 1;
    if (number > 999999999)
        number = 1;
    list->next_number = (uint32_t)number + 1;
    char mark[16];
    snprintf(mark, sizeof mark, "%d. ", (int)number);
    static const char blanks[] = "           ";
    push_level(w, item, mark, blanks + sizeof blanks - 1 - strlen(mark));
}

static bool inside(const xmlNode *node, const char *name)
{
    for (node = node->parent; node; node = node->parent)
        if (html_is(node, name))
            return true;
    return false;
}

/* Lists and blocks inside an item follow it without an empty line. */
static int block_distance(const struct writer *w, const xmlNode *node)
{
    bool list = html_is(node, "ul") || html_is(node, "ol") || html_is(node, "dl");
    return list && w->n_levels && !w->cell && inside(node, "li") ? 1 : 2;
}

static void enter_block(struct writer *w, xmlNode *node, unsigned flags)
{
    if (html_is(node, "li")) {
        enter_item(w, node);
    } else if (html_is(node, "tr")) {
        want_newlines(w, 1);
    } else if (html_is(node, "dt")) {
        want_newlines(w, 2);
    } else if (html_is(node, "dd")) {
        want_newlines(w, 1);
        push_level(w, node, ": ", "  ");
    } else if (is_cell(node)) {
        want_newlines(w, 1);
    } else if (html_is(node, "hr")) {
        want_newlines(w, 2);
    } else {
        /* the first block of a list item stands on the item's line */
        bool first = w->n_levels && !w->levels[w->n_levels - 1].marked;
        want_newlines(w, first ? 1 : block_distance(w, node));
        if (html_is(node, "blockquote"))
            push_level(w, node, "> ", "> ");
        if ((flags & ELEMENT_HEADING) && !w->cell && html_info(node)->text) {
            before_text(w);
            put_times(w, '#', (size_t)(node->name[1] - '0'));
            w->space = true;
        }
    }
}

static void leave_block(struct writer *w, const xmlNode *node)
{
    pop_level(w, node);
    bool tight =
        html_is(node, "li") || html_is(node, "tr") || html_is(node, "dt") || html_is(node, "dd") || is_cell(node);
    want_newlines(w, tight ? 1 : block_distance(w, node));
}

/* False when what is inside is not to be walked. */
static bool enter(struct writer *w, xmlNode *node)
{
    if (node->type == XML_TEXT_NODE) {
        write_words(w, str_of((const char *)node->content));
        return false;
    }
    if (node->type != XML_ELEMENT_NODE || html_info(node)->dropped)
        return false;
    unsigned flags = html_element_flags(str_of((const char *)node->name));
    if (html_is(node, "br")) {
        want_newlines(w, 1);
    } else if (html_is(node, "img")) {
        write_image(w, node);
    } else if (html_is(node, "pre") && !w->cell) {
        write_code_block(w, node);
        return false;
    } else if ((html_is(node, "code") || html_is(node, "kbd") || html_is(node, "samp")) &&
               !html_info(node)->has_block) {
        write_code_span(w, node);
        return false;
    } else if (html_is(node, "q")) {
        write_words(w, STR("\""));
    } else if (is_cell(node) && html_info(node)->in_data_table) {
        if (!w->cell) {
            before_text(w);
            put_text(w, "|");
            w->cell = node->parent;
        } else {
            put_text(w, " |");
        }
        w->space = true;
    } else if (flags & ELEMENT_BLOCK) {
        if (html_is(node, "table") && !w->cell && is_data_table(node)) {
            for (xmlNode *cell = node; cell; cell = html_next(cell, node, false))
                if (is_cell(cell))
                    html_info(cell)->in_data_table = true;
        }
        enter_block(w, node, flags);
    } else if (!html_is(node, "a") || leads_somewhere(w, node)) {
        open_mark(w, node);
    }
    return true;
}

static void leave(struct writer *w, xmlNode *node)
{
    if (html_is(node, "q")) {
        w->space = false;
        write_words(w, STR("\""));
    } else if (html_is(node, "tr") && w->cell == node) {
        leave_row(w, node);
    } else if (is_cell(node) && w->cell == node->parent) {
        w->space = true;
    } else if (html_element_flags(str_of((const char *)node->name)) & ELEMENT_BLOCK) {
        leave_block(w, node);
    } else {
        close_mark(w, node);
    }
}

bool html_write(xmlNode *main, struct str base, bool drop_links, struct buf *out)
{
    struct writer w = {.out = out, .base = base, .drop_links = drop_links};
    for (xmlNode *node = main; node && !w.full;) {
        if (enter(&w, node) && node->children) {
            node = node->children;
            continue;
        }
        if (node->type == XML_ELEMENT_NODE && !html_info(node)->dropped)
            leave(&w, node);
        while (node != main && !node->next) {
            node = node->parent;
            leave(&w, node);
        }
        node = node == main ? NULL : node->next;
    }
    if (out->len && !w.full)
        put_text(&w, "\n");
    return !w.full;
}
