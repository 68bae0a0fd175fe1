/* tools/parse_file/select.h
 *
 * Which part of a document the model gets to see: all of a short one, the table of contents and the passages that bear
 * on the question of a long one, or the piece that was asked for. Pure, for the pool.
 */
#ifndef FATHOM_TOOLS_PARSE_FILE_SELECT_H
#define FATHOM_TOOLS_PARSE_FILE_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/str.h"
#include "readers/reader.h"

enum selector_kind {
    SELECT_ALL,     /* nothing was asked for in particular */
    SELECT_PART,    /* "#part=2" */
    SELECT_PAGES,   /* "#page=12-15"; also of slides and sheets */
    SELECT_SECTION, /* "#section=Results" */
};

struct selector {
    enum selector_kind kind;
    int from, to;       /* parts and pages, from 1 */
    struct str section; /* borrowed */
};

/* Takes a selector off the end of what the model wrote: "report.pdf#page=3". What is none stays with the name, which
 * may hold a "#". False when it begins like one and cannot be read; then `name` is without it. */
bool selector_split(struct str given, struct str *name, struct selector *out);

/* A document in memory. */
struct file_text {
    enum reader_kind kind;
    char *title, *author, *date, *notice; /* NULL where unknown */
    struct buf markdown;
    struct reader_section *sections;
    size_t n_sections;
    int pages;
    bool truncated;

    /* By file_text_measure. */
    int64_t tokens;
    size_t *parts; /* where each begins, the first at 0 */
    size_t n_parts;
};

/* Counts tokens and cuts the text into parts of at most `part_tokens`, along its structure. Equal texts are cut alike,
 * so that a part keeps its number. */
void file_text_measure(struct file_text *text, int64_t part_tokens);
void file_text_finish(struct file_text *text); /* zeroed is allowed */

enum selection_kind {
    SELECTION_WHOLE,
    SELECTION_OVERVIEW, /* `contents` and the passages in `text` */
    SELECTION_PIECE,    /* `what` names it */
    SELECTION_NOTHING,  /* there is no such piece: `what` says which there are */
};

struct selection {
    enum selection_kind kind;
    struct buf text;
    struct buf contents; /* lines of the table of contents; may be empty */
    struct buf what;     /* "part 2 of 9", "pages 12 to 15" */
};

/* Picks by `question` what a text longer than `budget` tokens is shown of. A piece that was asked for may take twice
 * that. To be given to selection_finish. */
void select_text(const struct file_text *text, const struct selector *selector, struct str question, int64_t budget,
                 struct selection *out);
void selection_finish(struct selection *selection);

/* The number of the page, slide or sheet that a section is; 0 for other sections. */
int section_page(const struct reader_section *section);

#endif
