/* src/readers/odf_styles.h
 *
 * What the styles of an OpenDocument file say about text, lists and sheets (ODF 1.3 part 3, 16). Fed with the start
 * tags of content.xml and styles.xml; asked once the body begins.
 */
#ifndef FATHOM_READERS_ODF_STYLES_H
#define FATHOM_READERS_ODF_STYLES_H

#include "readers/office.h"

#define ODF_LEVELS 10

struct odf_level {
    bool numbered;
    char format, prefix[8], suffix[8]; /* format: '1', 'a', 'A', 'i', 'I', or 0 for no number */
    int start, shown;                  /* shown: how many levels' numbers are written */
};

struct odf_style {
    char *name, *parent;
    char family;          /* 'p' paragraph, 't' text, 'l' list, 's' sheet (table) */
    unsigned marks, said; /* SPAN_…, and which of them the style says anything about */
    bool hidden;
    struct odf_level *levels; /* of a list: ODF_LEVELS of them */
};

struct odf_styles {
    struct odf_style *items;
    size_t count, capacity;
    size_t at; /* 1 + the one whose definition is open; 0: none */
    bool sorted;
};

void odf_styles_start(struct odf_styles *styles, const struct xml_element *element);
void odf_styles_end(struct odf_styles *styles, const char *name);
void odf_styles_finish(struct odf_styles *styles);

/* NULL when there is none. */
const struct odf_style *odf_style(struct odf_styles *styles, char family, struct str name);

/* SPAN_… of a text style, its parents' included. */
unsigned odf_marks(struct odf_styles *styles, struct str name);

/* Whether a paragraph's style is `wanted`, or comes from it ("Title"). */
bool odf_comes_from(struct odf_styles *styles, struct str name, struct str wanted);

#endif
