#include "readers/odf_styles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

#define MAX_STYLES  50000
#define MAX_PARENTS 20

static char family_of(struct str family)
{
    if (str_equal(family, STR("paragraph")))
        return 'p';
    if (str_equal(family, STR("text")))
        return 't';
    return str_equal(family, STR("table")) ? 's' : 0;
}

static void open_style(struct odf_styles *styles, const struct xml_element *element, char family)
{
    styles->at = 0;
    if (!family || styles->count >= MAX_STYLES)
        return;
    styles->items = mem_grow(styles->items, styles->count, &styles->capacity, sizeof *styles->items);
    styles->items[styles->count++] = (struct odf_style){
        .name = str_dup(xml_attribute(element, "name")),
        .parent = str_dup(xml_attribute(element, "parent-style-name")),
        .family = family,
        .levels = family == 'l' ? mem_calloc(ODF_LEVELS, sizeof(struct odf_level)) : NULL,
    };
    styles->at = styles->count;
    styles->sorted = false;
}

static void open_level(struct odf_style *style, const struct xml_element *element, bool numbered)
{
    int64_t level = xml_integer(element, "level", 1);
    if (!style->levels || level < 1 || level > ODF_LEVELS)
        return;
    struct str format = xml_attribute(element, "num-format");
    int64_t start = xml_integer(element, "start-value", 1), shown = xml_integer(element, "display-levels", 1);
    struct odf_level *out = &style->levels[level - 1];
    *out = (struct odf_level){
        .numbered = numbered,
        .format = (char)(format.len ? format.data[0] : 0),
        .start = (int)(start > 0 && start < 1000000 ? start : 1),
        .shown = (int)(shown > 1 && shown <= ODF_LEVELS ? shown : 1),
    };
    snprintf(out->prefix, sizeof out->prefix, "%.*s", STR_ARG(xml_attribute(element, "num-prefix")));
    snprintf(out->suffix, sizeof out->suffix, "%.*s", STR_ARG(xml_attribute(element, "num-suffix")));
}

static void say(struct odf_style *style, unsigned mark, struct str value, bool on)
{
    if (!value.len)
        return;
    style->said |= mark;
    style->marks = on ? style->marks | mark : style->marks & ~mark;
}

void odf_styles_start(struct odf_styles *styles, const struct xml_element *element)
{
    if (xml_is(element, "style")) {
        open_style(styles, element, family_of(xml_attribute(element, "family")));
        return;
    }
    if (xml_is(element, "list-style")) {
        open_style(styles, element, 'l');
        return;
    }
    if (!styles->at)
        return;
    struct odf_style *style = &styles->items[styles->at - 1];
    if (xml_is(element, "text-properties")) {
        struct str weight = xml_attribute(element, "font-weight"), slant = xml_attribute(element, "font-style");
        struct str line = xml_attribute(element, "text-line-through-style");
        say(style, SPAN_BOLD, weight, str_equal(weight, STR("bold")) || str_compare(weight, STR("600")) >= 0);
        if (str_equal(weight, STR("normal")))
            style->marks &= ~(unsigned)SPAN_BOLD;
        say(style, SPAN_ITALIC, slant, !str_equal(slant, STR("normal")));
        say(style, SPAN_STRIKE, line, !office_is_off(line));
        style->hidden = style->hidden || str_equal(xml_attribute(element, "display"), STR("none"));
    } else if (xml_is(element, "table-properties")) {
        style->hidden = office_is_off(xml_attribute(element, "display"));
    } else if (xml_is(element, "list-level-style-number")) {
        open_level(style, element, true);
    } else if (xml_is(element, "list-level-style-bullet") || xml_is(element, "list-level-style-image")) {
        open_level(style, element, false);
    }
}

void odf_styles_end(struct odf_styles *styles, const char *name)
{
    if (strcmp(name, "style") == 0 || strcmp(name, "list-style") == 0)
        styles->at = 0;
}

void odf_styles_finish(struct odf_styles *styles)
{
    for (size_t i = 0; i < styles->count; i++) {
        free(styles->items[i].name);
        free(styles->items[i].parent);
        free(styles->items[i].levels);
    }
    free(styles->items);
    *styles = (struct odf_styles){0};
}

static int compare(const void *a, const void *b)
{
    const struct odf_style *x = a, *y = b;
    return x->family != y->family ? x->family - y->family : strcmp(x->name, y->name);
}

const struct odf_style *odf_style(struct odf_styles *styles, char family, struct str name)
{
    if (!styles->sorted && styles->count) {
        qsort(styles->items, styles->count, sizeof *styles->items, compare);
        styles->at = 0;
    }
    styles->sorted = true;
    size_t low = 0, high = styles->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct odf_style *style = &styles->items[middle];
        int order = style->family != family ? style->family - family : str_compare(str_of(style->name), name);
        if (order == 0)
            return style;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

unsigned odf_marks(struct odf_styles *styles, struct str name)
{
    unsigned marks = 0, said = 0;
    const struct odf_style *style = odf_style(styles, 't', name);
    for (int i = 0; style && i < MAX_PARENTS; i++) {
        marks |= style->marks & ~said;
        said |= style->said;
        style = odf_style(styles, 't', str_of(style->parent));
    }
    return marks;
}

bool odf_comes_from(struct odf_styles *styles, struct str name, struct str wanted)
{
    for (int i = 0; i < MAX_PARENTS; i++) {
        if (str_equal(name, wanted))
            return true;
        const struct odf_style *style = odf_style(styles, 'p', name);
        if (!style || !style->parent[0])
            return false;
        name = str_of(style->parent);
    }
    return false;
}
