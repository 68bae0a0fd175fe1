#include "tools/parse_file/select.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "text/passages.h"
#include "text/rank.h"
#include "text/token_estimate.h"
#include "tools/common/line.h"

enum { MAX_PASSAGES = 40, MAX_CONTENTS = 60, MAX_TITLE = 120, MAX_TABLE_HEAD = 2000 };

/* ---- selectors ---- */

static bool read_range(struct str text, struct selector *out)
{
    int64_t from, to;
    text = str_trim(text);
    size_t dash = str_find_char(text, '-', 0);
    struct str first = str_trim(str_slice(text, 0, dash));
    struct str last = dash == STR_NONE ? first : str_trim(str_slice(text, dash + 1, text.len));
    if (!str_to_int64(first, &from) || !str_to_int64(last, &to) || from < 1 || to < from || to > 1000000)
        return false;
    out->from = (int)from;
    out->to = (int)to;
    return true;
}

bool selector_split(struct str given, struct str *name, struct selector *out)
{
    static const struct {
        struct str word;
        enum selector_kind kind;
    } words[] = {
        {STR("part="), SELECT_PART},     {STR("parts="), SELECT_PART},      {STR("page="), SELECT_PAGES},
        {STR("pages="), SELECT_PAGES},   {STR("slide="), SELECT_PAGES},     {STR("slides="), SELECT_PAGES},
        {STR("sheet="), SELECT_SECTION}, {STR("section="), SELECT_SECTION},
    };
    size_t hash = str_rfind_char(given, '#');
    struct str rest = hash == STR_NONE ? (struct str){0} : str_trim(str_slice(given, hash + 1, given.len));
    *out = (struct selector){.kind = SELECT_ALL};
    *name = given;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (!str_starts_with_nocase(rest, words[i].word))
            continue;
        rest = str_trim(str_slice(rest, words[i].word.len, rest.len));
        *name = str_slice(given, 0, hash);
        out->kind = words[i].kind;
        out->section = rest;
        return words[i].kind == SELECT_SECTION ? rest.len > 0 : read_range(rest, out);
    }
    return true;
}

/* ---- the document ---- */

void file_text_measure(struct file_text *text, int64_t part_tokens)
{
    struct str whole = buf_str(&text->markdown);
    struct passages passages;
    size_t capacity = 0;
    int64_t size = 0;
    free(text->parts);
    text->parts = NULL;
    text->n_parts = 0;
    text->tokens = 0;
    passages_cut(whole, 0, &passages);
    for (size_t i = 0; i < passages.count; i++) {
        const struct passage *passage = &passages.items[i];
        int64_t tokens = token_estimate_text(str_slice(whole, passage->from, passage->to));
        text->tokens += tokens;
        if (text->n_parts > 0 && size + tokens <= part_tokens) {
            size += tokens;
            continue;
        }
        text->parts = mem_grow(text->parts, text->n_parts, &capacity, sizeof *text->parts);
        text->parts[text->n_parts] = text->n_parts == 0 ? 0 : passage->from;
        text->n_parts++;
        size = tokens;
    }
    passages_finish(&passages);
}

void file_text_finish(struct file_text *text)
{
    for (size_t i = 0; i < text->n_sections; i++)
        free(text->sections[i].title);
    free(text->sections);
    free(text->title);
    free(text->author);
    free(text->date);
    free(text->notice);
    buf_finish(&text->markdown);
    free(text->parts);
    *text = (struct file_text){0};
}

/* The number, from 1, of the part that holds a place. */
static size_t part_of(const struct file_text *text, size_t at)
{
    size_t part = text->n_parts;
    while (part > 1 && text->parts[part - 1] > at)
        part--;
    return part;
}

int section_page(const struct reader_section *section)
{
    static const struct str words[] = {STR("Page "), STR("Slide "), STR("Sheet ")};
    struct str title = str_of(section->title);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (!str_starts_with_nocase(title, words[i]))
            continue;
        int number = 0;
        for (size_t at = words[i].len; at < title.len && ascii_is_digit(title.data[at]) && number < 1000000; at++)
            number = 10 * number + (title.data[at] - '0');
        return number;
    }
    return 0;
}

static bool is_workbook(const struct file_text *text)
{
    return text->kind == READER_XLSX || text->kind == READER_ODS;
}

/* Where the section ends: at the next one that is not below it. */
static size_t section_end(const struct file_text *text, size_t index)
{
    int level = text->sections[index].level;
    for (size_t i = index + 1; i < text->n_sections; i++)
        if (text->sections[i].level <= level)
            return text->sections[i].offset;
    return text->markdown.len;
}

/* ---- the table of contents ---- */

static bool worth_listing(const struct reader_section *section, int level)
{
    /* "Page 7" tells nothing; "Slide 7: Results" does. */
    bool bare = section_page(section) > 0 && !strpbrk(section->title, ":-–");
    return section->level <= level && *section->title && !bare;
}

static size_t count_listed(const struct file_text *text, int level)
{
    size_t count = 0;
    for (size_t i = 0; i < text->n_sections; i++)
        count += worth_listing(&text->sections[i], level);
    return count;
}

static void write_contents(const struct file_text *text, struct buf *out)
{
    int level = 6, page = 0;
    while (level > 1 && count_listed(text, level) > MAX_CONTENTS)
        level--;
    size_t listed = 0, left = count_listed(text, level);
    for (size_t i = 0; i < text->n_sections && listed < MAX_CONTENTS; i++) {
        const struct reader_section *section = &text->sections[i];
        page = section_page(section) > 0 ? section_page(section) : page;
        if (!worth_listing(section, level))
            continue;
        for (int indent = 1; indent < section->level; indent++)
            buf_add_text(out, "  ");
        buf_add_text(out, "- ");
        line_add(out, str_of(section->title), MAX_TITLE);
        if (page > 0 && section_page(section) == 0)
            buf_addf(out, " (page %d)", page);
        else if (section_page(section) == 0 && text->n_parts > 1)
            buf_addf(out, " (part %zu)", part_of(text, section->offset));
        buf_add_char(out, '\n');
        listed++;
    }
    if (left > listed)
        buf_addf(out, "- and %zu more\n", left - listed);
    if (text->pages > 1)
        buf_addf(out, "- %d %s in all\n", text->pages,
                 text->kind == READER_PPTX || text->kind == READER_ODP ? "slides"
                 : is_workbook(text)                                   ? "sheets"
                                                                       : "pages");
}

/* ---- passages ---- */

static struct str line_at(struct str text, size_t at)
{
    return str_slice(text, at, str_find_char(text, '\n', at));
}

static size_t line_before(struct str text, size_t at)
{
    size_t newline = at >= 2 ? str_rfind_char(str_slice(text, 0, at - 1), '\n') : STR_NONE;
    return newline == STR_NONE ? 0 : newline + 1;
}

/* The two first lines of the table whose rows stand at `at`, when `at` is not its beginning: without them the columns
 * have no names. */
static struct str table_head(struct str text, size_t at)
{
    if (at >= text.len || text.data[at] != '|')
        return (struct str){0};
    size_t first = at, end;
    while (first > 0) {
        size_t before = line_before(text, first);
        if (before == first || text.data[before] != '|')
            break;
        first = before;
    }
    struct str head = line_at(text, first), rule = line_at(text, first + head.len + 1);
    end = first + head.len + 1 + rule.len;
    bool is_table = str_starts_with(rule, STR("|")) && str_find(rule, STR("---"), 0) != STR_NONE;
    return is_table && at > first && at >= end && end - first < MAX_TABLE_HEAD ? str_slice(text, first, end)
                                                                               : (struct str){0};
}

static void add_place(const struct file_text *text, const struct passage *passage, struct buf *out)
{
    int page = 0;
    for (size_t i = 0; i < text->n_sections && text->sections[i].offset <= passage->from; i++)
        page = section_page(&text->sections[i]) > 0 ? section_page(&text->sections[i]) : page;
    buf_add_char(out, '[');
    if (passage->headings)
        buf_addf(out, "%s, ", passage->headings);
    if (page > 0 && !passage->headings)
        buf_addf(out, "page %d, ", page);
    buf_addf(out, "part %zu]\n", part_of(text, passage->from));
}

static void add_passage(const struct file_text *text, const struct passage *passage, bool follows, struct buf *out)
{
    struct str whole = buf_str(&text->markdown);
    size_t from = passage->from;
    while (from < passage->to && (whole.data[from] == '\n' || whole.data[from] == ' '))
        from++;
    if (out->len > 0)
        buf_add_text(out, follows ? "\n\n" : "\n\n…\n\n");
    if (!follows) {
        struct str head = table_head(whole, from);
        add_place(text, passage, out);
        if (head.len > 0) {
            buf_add(out, head);
            buf_add_char(out, '\n');
        }
    }
    buf_add(out, str_trim_end(str_slice(whole, from, passage->to)));
}

/* The beginning, which says what the document is, and what bears on the question, in the order of the text. */
static void pick_passages(const struct file_text *text, struct str question, int64_t budget, struct buf *out)
{
    struct str whole = buf_str(&text->markdown);
    struct passages passages;
    struct ranked best[MAX_PASSAGES];
    passages_cut(whole, 0, &passages);
    size_t found = rank_passages(whole, &passages, question, best, MAX_PASSAGES);
    bool *taken = mem_calloc(passages.count, sizeof *taken);
    int64_t left = budget;
    for (size_t i = 0; i <= found && passages.count > 0; i++) {
        /* The best, the beginning, then the others as long as there is room. */
        size_t index = found == 0 || i == 1 ? 0 : best[i == 0 ? 0 : i - 1].index;
        int64_t tokens = token_estimate_text(str_slice(whole, passages.items[index].from, passages.items[index].to));
        if (taken[index] || tokens > left)
            continue;
        left -= tokens;
        taken[index] = true;
    }
    for (size_t i = 1; found == 0 && i < passages.count; i++) {
        int64_t tokens = token_estimate_text(str_slice(whole, passages.items[i].from, passages.items[i].to));
        if (tokens > left)
            break;
        left -= tokens;
        taken[i] = true;
    }
    for (size_t i = 0; i < passages.count; i++)
        if (taken[i])
            add_passage(text, &passages.items[i], i > 0 && taken[i - 1], out);
    free(taken);
    passages_finish(&passages);
}

/* ---- pieces ---- */

/* A range of the text, as much of it as fits; says where it goes on. */
static void take_range(const struct file_text *text, size_t from, size_t to, int64_t budget, struct selection *out)
{
    struct str whole = buf_str(&text->markdown), range = str_slice(whole, from, to);
    size_t fits = token_estimate_fit(range, budget);
    size_t newline = fits < range.len ? str_rfind_char(str_slice(range, 0, fits), '\n') : STR_NONE;
    if (newline != STR_NONE && newline > fits / 2)
        fits = newline;
    struct str head = table_head(whole, from);
    out->kind = SELECTION_PIECE;
    if (head.len > 0) {
        buf_add(&out->text, head);
        buf_add_char(&out->text, '\n');
    }
    buf_add(&out->text, str_trim(str_slice(range, 0, fits)));
    if (fits < range.len)
        buf_addf(&out->what, ", cut here; it goes on in part %zu", part_of(text, from + fits));
}

static void take_nothing(struct selection *out, const char *what)
{
    out->kind = SELECTION_NOTHING;
    buf_reset(&out->what);
    buf_add_text(&out->what, what);
}

static void take_parts(const struct file_text *text, const struct selector *selector, int64_t budget,
                       struct selection *out)
{
    size_t from = (size_t)selector->from, to = (size_t)selector->to;
    if (from > text->n_parts) {
        take_nothing(out, "");
        buf_addf(&out->what, "it has %zu part%s", text->n_parts, text->n_parts == 1 ? "" : "s");
        return;
    }
    to = to > text->n_parts ? text->n_parts : to;
    if (from == to)
        buf_addf(&out->what, "part %zu of %zu", from, text->n_parts);
    else
        buf_addf(&out->what, "parts %zu to %zu of %zu", from, to, text->n_parts);
    take_range(text, text->parts[from - 1], to == text->n_parts ? text->markdown.len : text->parts[to], budget, out);
}

static void take_pages(const struct file_text *text, const struct selector *selector, int64_t budget,
                       struct selection *out)
{
    size_t from = STR_NONE, to = 0;
    int last = 0, sheet = 0;
    for (size_t i = 0; i < text->n_sections; i++) {
        /* Sheets have names of their own and are counted. */
        sheet += text->sections[i].level <= 2;
        int page = !is_workbook(text) ? section_page(&text->sections[i]) : text->sections[i].level <= 2 ? sheet : 0;
        last = page > last ? page : last;
        if (page < selector->from || page > selector->to)
            continue;
        from = from == STR_NONE ? text->sections[i].offset : from;
        to = section_end(text, i);
    }
    if (from == STR_NONE) {
        take_nothing(out, "");
        if (last > 0)
            buf_addf(&out->what, "its pages are 1 to %d", last);
        else
            buf_addf(&out->what, "it has no pages; ask for #part=1 to #part=%zu", text->n_parts);
        return;
    }
    const char *word = is_workbook(text)                                       ? "sheet"
                       : text->kind == READER_PPTX || text->kind == READER_ODP ? "slide"
                                                                               : "page";
    int end = selector->to > last ? last : selector->to;
    if (selector->from == end)
        buf_addf(&out->what, "%s %d", word, end);
    else
        buf_addf(&out->what, "%ss %d to %d", word, selector->from, end);
    take_range(text, from, to, budget, out);
}

/* The section that is meant: the same words, else one that begins with them, else one that holds them. */
static size_t find_section(const struct file_text *text, struct str name)
{
    for (size_t i = 0; i < text->n_sections; i++)
        if (str_equal_ascii_nocase(str_trim(str_of(text->sections[i].title)), name))
            return i;
    for (size_t i = 0; i < text->n_sections; i++)
        if (str_starts_with_nocase(str_of(text->sections[i].title), name))
            return i;
    for (size_t i = 0; i < text->n_sections; i++)
        if (str_find_nocase(str_of(text->sections[i].title), name, 0) != STR_NONE)
            return i;
    return STR_NONE;
}

static void take_section(const struct file_text *text, struct str name, int64_t budget, struct selection *out)
{
    size_t index = find_section(text, name);
    if (index == STR_NONE) {
        take_nothing(out, text->n_sections > 0 ? "its sections are listed below" : "it has no sections");
        write_contents(text, &out->contents);
        return;
    }
    buf_add_text(&out->what, "section \"");
    line_add(&out->what, str_of(text->sections[index].title), MAX_TITLE);
    buf_add_char(&out->what, '"');
    take_range(text, text->sections[index].offset, section_end(text, index), budget, out);
}

void select_text(const struct file_text *text, const struct selector *selector, struct str question, int64_t budget,
                 struct selection *out)
{
    *out = (struct selection){.kind = SELECTION_WHOLE};
    buf_init(&out->text, BUF_UNBOUNDED);
    buf_init(&out->contents, BUF_UNBOUNDED);
    buf_init(&out->what, BUF_UNBOUNDED);
    switch (selector->kind) {
    case SELECT_PART:
        take_parts(text, selector, 2 * budget, out);
        return;
    case SELECT_PAGES:
        take_pages(text, selector, 2 * budget, out);
        return;
    case SELECT_SECTION:
        take_section(text, selector->section, 2 * budget, out);
        return;
    case SELECT_ALL:
        break;
    }
    if (text->tokens <= budget) {
        buf_add(&out->text, str_trim(buf_str(&text->markdown)));
        return;
    }
    out->kind = SELECTION_OVERVIEW;
    write_contents(text, &out->contents);
    int64_t used = token_estimate_text(buf_str(&out->contents));
    pick_passages(text, question, budget > 2 * used ? budget - used : budget / 2, &out->text);
}

void selection_finish(struct selection *selection)
{
    buf_finish(&selection->text);
    buf_finish(&selection->contents);
    buf_finish(&selection->what);
}
