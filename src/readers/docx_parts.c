#include "readers/docx_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

#define MAX_ITEMS   20000 /* styles or lists of one document */
#define MAX_INHERIT 20

enum { UNSAID = -2 };

struct parse {
    struct docx_lists *lists;
    struct docx_style *style; /* the one at hand; moves when the array grows, so it is set at each start */
    struct docx_abstract *abstract;
    struct docx_number *number;
    struct docx_level *level;
    int override_level;
};

/* "heading 2" -> 2; Word writes a style's English name whatever its language. */
static int heading_of_name(struct str name)
{
    if (str_equal_ascii_nocase(name, STR("title")))
        return 0;
    if (str_starts_with_nocase(name, STR("heading ")) && name.len == 9 && name.data[8] >= '1' && name.data[8] <= '9')
        return name.data[8] - '0';
    return UNSAID;
}

static void on_style(struct parse *parse, const struct xml_element *element)
{
    struct docx_lists *lists = parse->lists;
    if (xml_is(element, "style")) {
        parse->style = NULL;
        if (lists->n_styles >= MAX_ITEMS)
            return;
        lists->styles = mem_grow(lists->styles, lists->n_styles, &lists->style_capacity, sizeof *lists->styles);
        parse->style = &lists->styles[lists->n_styles++];
        *parse->style = (struct docx_style){
            .id = str_dup(xml_attribute(element, "styleId")), .heading = UNSAID, .number = -1, .level = -1};
    }
    struct docx_style *style = parse->style;
    if (!style)
        return;
    struct str value = xml_attribute(element, "val");
    if (xml_is(element, "name")) {
        style->contents = str_starts_with_nocase(value, STR("toc "));
        int heading = heading_of_name(value);
        style->heading = heading != UNSAID ? heading : style->heading;
    } else if (xml_is(element, "basedOn") && !style->based_on) {
        style->based_on = str_dup(value);
    } else if (xml_is(element, "outlineLvl") && style->heading == UNSAID) {
        int64_t level = xml_integer(element, "val", 9);
        style->heading = level >= 0 && level <= 8 ? (int)level + 1 : -1;
    } else if (xml_is(element, "numId")) {
        style->number = (int)(xml_integer(element, "val", -1) & 0x7fffffff);
    } else if (xml_is(element, "ilvl")) {
        style->level = (int)(xml_integer(element, "val", 0) & 15);
    }
}

static void on_style_start(void *user, const struct xml_element *element)
{
    on_style(user, element);
}

static void copy_text(char *out, size_t size, struct str text)
{
    snprintf(out, size, "%.*s", STR_ARG(text));
}

static void start_abstract(struct parse *parse, const struct xml_element *element)
{
    struct docx_lists *lists = parse->lists;
    parse->abstract = NULL;
    parse->level = NULL;
    if (lists->n_abstracts >= MAX_ITEMS)
        return;
    lists->abstracts =
        mem_grow(lists->abstracts, lists->n_abstracts, &lists->abstract_capacity, sizeof *lists->abstracts);
    parse->abstract = &lists->abstracts[lists->n_abstracts++];
    *parse->abstract = (struct docx_abstract){.id = str_dup(xml_attribute(element, "abstractNumId"))};
    for (int i = 0; i < DOCX_LEVELS; i++)
        parse->abstract->levels[i] = (struct docx_level){.start = 1, .format = "decimal"};
}

static void start_number(struct parse *parse, const struct xml_element *element)
{
    struct docx_lists *lists = parse->lists;
    parse->number = NULL;
    if (lists->n_numbers >= MAX_ITEMS)
        return;
    lists->numbers = mem_grow(lists->numbers, lists->n_numbers, &lists->number_capacity, sizeof *lists->numbers);
    parse->number = &lists->numbers[lists->n_numbers++];
    *parse->number = (struct docx_number){.id = xml_integer(element, "numId", -1), .abstract = SIZE_MAX};
    for (int i = 0; i < DOCX_LEVELS; i++)
        parse->number->restart[i] = -1;
}

static int start_value(const struct xml_element *element)
{
    int64_t value = xml_integer(element, "val", 1);
    return value < 0 ? 0 : value > 1000000 ? 1000000 : (int)value;
}

static void on_level(struct docx_level *level, const struct xml_element *element)
{
    struct str value = xml_attribute(element, "val");
    if (xml_is(element, "start")) {
        level->start = start_value(element);
    } else if (xml_is(element, "numFmt")) {
        level->bullet = str_equal(value, STR("bullet"));
        level->silent = str_equal(value, STR("none"));
        copy_text(level->format, sizeof level->format, value);
    } else if (xml_is(element, "lvlText")) {
        copy_text(level->text, sizeof level->text, value);
    }
}

static void on_numbering(void *user, const struct xml_element *element)
{
    struct parse *parse = user;
    if (xml_is(element, "abstractNum")) {
        start_abstract(parse, element);
    } else if (xml_is(element, "num")) {
        parse->abstract = NULL;
        start_number(parse, element);
    } else if (xml_is(element, "lvl")) {
        int64_t level = xml_integer(element, "ilvl", -1);
        parse->level = parse->abstract && level >= 0 && level < DOCX_LEVELS ? &parse->abstract->levels[level] : NULL;
    } else if (parse->level) {
        on_level(parse->level, element);
    } else if (parse->number && xml_is(element, "abstractNumId")) {
        free(parse->number->abstract_id);
        parse->number->abstract_id = str_dup(xml_attribute(element, "val"));
    } else if (parse->number && xml_is(element, "lvlOverride")) {
        int64_t level = xml_integer(element, "ilvl", -1);
        parse->override_level = level >= 0 && level < DOCX_LEVELS ? (int)level : -1;
    } else if (parse->number && xml_is(element, "startOverride") && parse->override_level >= 0) {
        parse->number->restart[parse->override_level] = start_value(element);
    }
}

static void on_numbering_end(void *user, const char *name)
{
    struct parse *parse = user;
    if (strcmp(name, "lvl") == 0)
        parse->level = NULL;
}

static int compare_styles(const void *a, const void *b)
{
    const struct docx_style *x = a, *y = b;
    return strcmp(x->id, y->id);
}

static int compare_abstracts(const void *a, const void *b)
{
    const struct docx_abstract *x = a, *y = b;
    return strcmp(x->id, y->id);
}

static int compare_numbers(const void *a, const void *b)
{
    const struct docx_number *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Follows basedOn for what a style does not say itself. */
static void inherit(struct docx_lists *lists)
{
    for (size_t i = 0; i < lists->n_styles; i++) {
        struct docx_style *style = &lists->styles[i];
        const struct docx_style *base = style;
        for (int steps = 0; steps < MAX_INHERIT && base->based_on; steps++) {
            base = docx_style(lists, str_of(base->based_on));
            if (!base)
                break;
            /* a title's heirs (subtitles) are no titles */
            if (style->heading == UNSAID && base->heading != UNSAID && base->heading != 0)
                style->heading = base->heading;
            if (style->number < 0)
                style->number = base->number;
            if (style->level < 0)
                style->level = base->level;
        }
    }
}

/* Puts all into the order of their ids, and each list to its definition. */
static void link_up(struct docx_lists *lists)
{
    if (lists->n_styles)
        qsort(lists->styles, lists->n_styles, sizeof *lists->styles, compare_styles);
    if (lists->n_abstracts)
        qsort(lists->abstracts, lists->n_abstracts, sizeof *lists->abstracts, compare_abstracts);
    if (lists->n_numbers)
        qsort(lists->numbers, lists->n_numbers, sizeof *lists->numbers, compare_numbers);
    inherit(lists);
    for (size_t i = 0; i < lists->n_abstracts; i++)
        for (int level = 0; level < DOCX_LEVELS; level++)
            lists->abstracts[i].counters[level] = lists->abstracts[i].levels[level].start - 1;
    for (size_t i = 0; i < lists->n_numbers; i++) {
        const struct docx_abstract key = {.id = lists->numbers[i].abstract_id};
        const struct docx_abstract *found =
            key.id && lists->n_abstracts
                ? bsearch(&key, lists->abstracts, lists->n_abstracts, sizeof key, compare_abstracts)
                : NULL;
        lists->numbers[i].abstract = found ? (size_t)(found - lists->abstracts) : SIZE_MAX;
    }
}

enum status docx_lists_load(const struct package *package, struct str styles, struct str numbering,
                            struct docx_lists *out, struct error *error)
{
    static const struct xml_handler style_handler = {.start = on_style_start};
    static const struct xml_handler number_handler = {.start = on_numbering, .end = on_numbering_end};
    struct docx_lists lists = {0};
    struct parse parse = {.lists = &lists, .override_level = -1};
    enum status status = STATUS_OK;
    if (styles.len && package_has(package, styles))
        status = package_parse(package, styles, &style_handler, &parse, error);
    if (status == STATUS_OK && numbering.len && package_has(package, numbering))
        status = package_parse(package, numbering, &number_handler, &parse, error);
    if (status != STATUS_OK) {
        docx_lists_finish(&lists);
        return status;
    }
    link_up(&lists);
    *out = lists;
    return STATUS_OK;
}

void docx_lists_finish(struct docx_lists *lists)
{
    for (size_t i = 0; i < lists->n_styles; i++) {
        free(lists->styles[i].id);
        free(lists->styles[i].based_on);
    }
    for (size_t i = 0; i < lists->n_abstracts; i++)
        free(lists->abstracts[i].id);
    for (size_t i = 0; i < lists->n_numbers; i++)
        free(lists->numbers[i].abstract_id);
    free(lists->styles);
    free(lists->abstracts);
    free(lists->numbers);
    *lists = (struct docx_lists){0};
}

const struct docx_style *docx_style(const struct docx_lists *lists, struct str id)
{
    size_t low = 0, high = lists->n_styles;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = str_compare(str_of(lists->styles[middle].id), id);
        if (order == 0)
            return &lists->styles[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Writes "%1.%2)" with the numbers of the levels. */
static void write_mark(const struct docx_abstract *abstract, const struct docx_level *level, struct buf *mark)
{
    for (const char *c = level->text; *c; c++) {
        if (*c != '%' || c[1] < '1' || c[1] > '9') {
            buf_add_char(mark, *c);
            continue;
        }
        int which = *++c - '1';
        office_number(mark, abstract->counters[which], str_of(abstract->levels[which].format));
    }
}

bool docx_count(struct docx_lists *lists, int64_t id, int at, struct buf *mark)
{
    const struct docx_number key = {.id = id};
    struct docx_number *number =
        lists->n_numbers ? bsearch(&key, lists->numbers, lists->n_numbers, sizeof key, compare_numbers) : NULL;
    if (!number || number->abstract == SIZE_MAX || at < 0 || at >= DOCX_LEVELS)
        return false;
    struct docx_abstract *abstract = &lists->abstracts[number->abstract];
    for (int i = 0; !number->used && i < DOCX_LEVELS; i++)
        if (number->restart[i] >= 0)
            abstract->counters[i] = number->restart[i] - 1;
    number->used = true;
    const struct docx_level *level = &abstract->levels[at];
    abstract->counters[at] += abstract->counters[at] < 1000000;
    for (int i = at + 1; i < DOCX_LEVELS; i++)
        abstract->counters[i] = abstract->levels[i].start - 1;
    for (int i = 0; i < at; i++) /* levels above that never had an item of their own show their first number */
        if (abstract->counters[i] < abstract->levels[i].start)
            abstract->counters[i] = abstract->levels[i].start;
    if (level->bullet)
        buf_add_char(mark, '-');
    else if (!level->silent)
        write_mark(abstract, level, mark);
    return true;
}
