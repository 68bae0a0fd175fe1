/* src/readers/docx_parts.h
 *
 * What word/styles.xml and word/numbering.xml say: which styles are headings, and how lists count.
 */
#ifndef FATHOM_READERS_DOCX_PARTS_H
#define FATHOM_READERS_DOCX_PARTS_H

#include "readers/office.h"

#define DOCX_LEVELS 9

struct docx_style {
    char *id, *based_on;
    int heading;       /* 1 to 9; 0: a title; -1: none; -2: not said here */
    bool contents;     /* of a table of contents, which the reader makes itself */
    int number, level; /* of a list; -1: not said */
};

struct docx_level {
    bool bullet, silent; /* silent: nothing is written before the item */
    int start;
    char format[24];
    char text[40]; /* "%1.%2." */
};

struct docx_abstract {
    char *id;
    struct docx_level levels[DOCX_LEVELS];
    int counters[DOCX_LEVELS]; /* the last number given; start - 1 before the first */
};

struct docx_number {
    int64_t id;
    char *abstract_id;
    size_t abstract;          /* index; SIZE_MAX when it is missing */
    int restart[DOCX_LEVELS]; /* start of an override, -1 none */
    bool used;
};

struct docx_lists {
    struct docx_style *styles;
    size_t n_styles, style_capacity;
    struct docx_abstract *abstracts;
    size_t n_abstracts, abstract_capacity;
    struct docx_number *numbers;
    size_t n_numbers, number_capacity;
};

enum status docx_lists_load(const struct package *package, struct str styles, struct str numbering,
                            struct docx_lists *out, struct error *error) STATUS_CHECKED;
void docx_lists_finish(struct docx_lists *lists);

/* A style with what it inherits filled in; NULL when there is none of that id. */
const struct docx_style *docx_style(const struct docx_lists *lists, struct str id);

/* Counts the next item of list `number` at `level` and appends its mark, "3.", "b)", "-"; nothing for a silent one.
 * False when there is no such list. */
bool docx_count(struct docx_lists *lists, int64_t number, int level, struct buf *mark);

#endif
