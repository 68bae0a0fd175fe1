/* src/text/html/write_internal.h
 *
 * What the files of the writer share. write.c walks the tree and enters and leaves elements; write_line.c begins lines
 * and writes what is due before text; write_text.c copies characters and escapes; write_marks.c has the marks of
 * emphasis and links, write_inline.c what else stands in a line; write_block.c small blocks, write_list.c,
 * write_table.c and write_code.c those of their names; write_math.c and write_mathml.c formulas; write_notes.c
 * footnotes. Not for other modules.
 *
 * Nothing is written before there is text for it: blocks ask for a line end or an empty line (writer_want), elements
 * push marks and levels, and writer_begin writes all of it when a character comes. So nothing empty is ever marked.
 */
#ifndef FATHOM_TEXT_HTML_WRITE_INTERNAL_H
#define FATHOM_TEXT_HTML_WRITE_INTERNAL_H

#include <string.h>

#include "text/html/write.h"

#define MAX_LEVELS  16  /* of indentation; what is nested deeper stays at the last */
#define MAX_PREFIX  128 /* bytes before the text of a line */
#define MAX_MARKS   16
#define MAX_LISTS   32
#define MAX_COLUMNS 1000 /* of a table whose cells can span */

enum due {
    DUE_NOTHING,
    DUE_BREAK, /* a new line in the same paragraph */
    DUE_LINE,  /* a new line, of the next item or row */
    DUE_BLANK, /* an empty line */
};

enum space {
    SPACE_NONE,
    SPACE_BLANK,
    SPACE_BREAK, /* a line break of the source: nothing between Chinese characters */
    SPACE_FIXED, /* a no-break space: never nothing */
};

/* Where everything must stay on one line. */
enum single_line { LINE_FREE, LINE_HEADING, LINE_CELL };

/* As CommonMark looks at the neighbours of emphasis. Symbols are punctuation since 0.31 and were none before. */
enum char_class { CHAR_SPACE, CHAR_WORD, CHAR_PUNCTUATION, CHAR_SYMBOL };

/* A list item, quotation or footnote around the text. */
struct level {
    char mark[40]; /* what its first line begins with */
    uint8_t mark_len;
    uint16_t prefix_at; /* where what its other lines begin with stands in the prefix, up to the next level's */
    uint32_t node;
};

struct list {
    uint32_t node;
    bool ordered;
    bool loose;      /* an empty line stands in one of its items */
    char bullet;     /* of two lists in a row the second has another one */
    uint8_t width;   /* of the last item's mark, 0 before the first */
    int64_t number;  /* of the next item */
    int step;        /* -1 for a reversed list */
    uint8_t due;     /* what was due when it began */
    bool has_items;  /* one of them has text */
    size_t n_levels; /* outside it */
    size_t at;       /* length of `out` when it began */
};

enum inline_kind { INLINE_STRONG, INLINE_EM, INLINE_DEL, INLINE_QUOTE, INLINE_LINK };

/* An inline element whose mark is due, written, or to be closed. */
struct inline_mark {
    uint32_t node;
    uint8_t kind;
    bool written;
    bool closing; /* the element has ended; the mark is closed when it is known what follows */
    bool skipped; /* it is not to be written here */
    size_t at;    /* where its opening mark stands */
};

struct column {
    uint32_t rows; /* still covered by a cell above */
    size_t at;     /* of its text, to be repeated */
    uint32_t length;
};

/* What was due before a row, to take the row back. */
struct row_start {
    size_t len, n_marked;
    uint8_t due;
    bool rule, line_open;
};

/* The table being written as one; there is no second inside it. */
struct table {
    uint32_t node, end; /* 0: none */
    uint32_t width;     /* columns */
    uint32_t rows;      /* written */
    uint32_t column;    /* of the next cell */
    uint32_t cell;      /* the one being written, 0 between cells */
    bool has_header;    /* the first row is one */
    bool in_row, row_open;
    struct row_start row_start;
    size_t row_text; /* bytes in the row's own cells */
    size_t cell_at;
    struct column *columns; /* MAX_COLUMNS, or NULL before the first table */
};

enum note_kind { NOTE_REFERENCE, NOTE_DEFINITION, NOTE_SKIPPED };

/* What a node is in the page's footnotes. */
struct note {
    uint32_t node;
    uint8_t kind;
    char label[12];
};

struct writer {
    struct buf *out;
    size_t limit; /* what `out` has allocated; 0 when its cap was reached */
    const struct html_tree *tree;
    const struct html_node *nodes;
    const uint8_t *marks;
    struct html_write_options options;
    const uint8_t *classes; /* of bytes, see write_text.c */
    bool full;              /* the cap was reached */
    uint8_t due;            /* enum due */
    uint8_t space;          /* enum space */
    uint8_t single;         /* enum single_line */
    bool line_open;
    bool continues;  /* the line follows another one of its paragraph */
    bool pending;    /* marks are to be opened or closed */
    bool item_ended; /* what follows is another item, or stands apart */
    bool rule;       /* a thematic break is due */
    uint8_t heading; /* level of the heading whose mark is due */
    bool colon;      /* the line is the meaning of a term: ": " is due before it */
    uint32_t heading_node;
    uint32_t raised;             /* the sup or sub behind whose text a parenthesis is due */
    uint32_t n_strong;           /* elements around the text that are bold by themselves */
    size_t start;                /* where the writer began in `out` */
    size_t line_at;              /* where the text of the line begins */
    size_t link_start, link_end; /* lengths of `out` when the last link began, and when it ended if it has text */
    size_t plain_from;           /* behind the last mark: from here on `out` has text only */
    size_t list_end;             /* length of `out` when the last list ended, and its bullet */
    char list_bullet;
    struct level levels[MAX_LEVELS];
    size_t n_levels, n_marked; /* those whose first line is written */
    char prefix[MAX_PREFIX];
    size_t prefix_len;
    struct list lists[MAX_LISTS];
    size_t n_lists;
    struct inline_mark inline_marks[MAX_MARKS];
    size_t n_marks;
    struct table table;
    size_t fillers; /* bytes that may still be written for cells that span */
    struct note *notes;
    size_t n_notes, next_note;
    bool has_math, has_tex_scripts;
    const char *searched[3]; /* up to where the present text has no end of a formula; see write_math.c */
    struct str formula;      /* the last one written, and where it ends: its picture is left out */
    size_t formula_end;
    struct buf scratch, url;
};

/* ---- write_line.c ---- */

void writer_put_slowly(struct writer *w, const char *data, size_t len);

static inline void writer_put(struct writer *w, const char *data, size_t len)
{
    struct buf *out = w->out;
    if (out->len + len >= w->limit) {
        writer_put_slowly(w, data, len);
        return;
    }
    memcpy(out->data + out->len, data, len);
    out->len += len;
}

static inline void writer_put_char(struct writer *w, char c)
{
    writer_put(w, &c, 1);
}

static inline void writer_put_str(struct writer *w, struct str s)
{
    writer_put(w, s.data, s.len);
}

/* Inserts a few bytes into what is written. */
void writer_insert(struct writer *w, size_t at, struct str bytes);

/* Takes bytes out of what is written, `at` being behind everything that is remembered but `plain_from`. */
void writer_remove(struct writer *w, size_t at, size_t count);

/* Asks for a line end before the next text; the most of what is asked for counts. */
void writer_want(struct writer *w, enum due due);

/* Writes what is due before inline text that begins with a character of class `next`. */
void writer_begin_slowly(struct writer *w, enum char_class next);

static inline void writer_begin(struct writer *w, enum char_class next)
{
    if (w->due || w->space || w->pending || !w->line_open)
        writer_begin_slowly(w, next);
}

/* Ends the line and begins another with the marks of the levels; `due` as in writer_want. For rows and lines of code.
 */
void writer_next_line(struct writer *w, enum due due);

/* Pushes a level; `rest` is what its other lines begin with. False when there are too many. */
bool writer_push_level(struct writer *w, uint32_t node, struct str mark, struct str rest);

/* Pops the level of `node` if there is one. */
void writer_pop_level(struct writer *w, uint32_t node);

/* ---- write_text.c ---- */

/* The table of bytes for Markdown or plain text. */
const uint8_t *writer_classes(bool plain);

/* Writes characters as text: white space collapsed, what looks like Markdown escaped. */
void writer_text(struct writer *w, struct str text);

enum char_class char_class_first(struct str text); /* CHAR_SPACE when it is empty */
enum char_class writer_last_class(const struct writer *w);

/* Whether an entity begins at the "&" at `p`. */
bool is_entity(const char *p, const char *end);

/* What a byte sequence at the start of `s` (not empty) is apart from text: blank, or nothing at all. Sets *length. */
enum sequence {
    SEQUENCE_TEXT,
    SEQUENCE_BLANK,
    SEQUENCE_FIXED,
    SEQUENCE_NOTHING
} sequence_at(struct str s, size_t *length);

/* ---- write_marks.c ---- */

/* Opens the mark of an element of that kind; nothing inside another of the same kind. */
void writer_open_mark(struct writer *w, uint32_t node, enum inline_kind kind);
void writer_close_mark(struct writer *w, uint32_t node);

/* Closes what has ended, when it is known that a character of class `next` follows. */
void writer_settle_marks(struct writer *w, enum char_class next);

/* Whether a mark that is due is no emphasis: then punctuation comes before the text. */
bool writer_opens_bracket(const struct writer *w);

/* Writes the opening marks that are due. */
void writer_open_marks(struct writer *w, enum char_class next);

/* Closes all marks at the end of a block; those that are still open come again in the next. */
void writer_suspend_marks(struct writer *w);

/* ---- write_inline.c ---- */

void writer_link(struct writer *w, uint32_t node);
void writer_code_span(struct writer *w, uint32_t node);
void writer_image(struct writer *w, uint32_t node);

/* Whether the element stands within a line, so that it can be written by writer_code_span. */
bool writer_is_code_span(const struct writer *w, uint32_t node);

/* An index or exponent: x^2, 10^-6, log_2; everything else raised stays as it is. Before and behind its text. */
void writer_raised(struct writer *w, uint32_t node);
void writer_raised_end(struct writer *w, uint32_t node);

/* ---- write_block.c ---- */

void writer_enter_heading(struct writer *w, uint32_t node);
void writer_leave_heading(struct writer *w, uint32_t node);
void writer_enter_quote(struct writer *w, uint32_t node);
void writer_enter_rule(struct writer *w);
void writer_line_break(struct writer *w);

/* A reading of ruby, in parentheses. False when it has no text: then it is not entered. */
bool writer_enter_reading(struct writer *w, uint32_t node);
void writer_leave_reading(struct writer *w);

/* Links to a place in the page that show only a sign, which readers do not read: to copy the address of a heading, to
 * jump back from a note. */
bool writer_is_sign(const struct writer *w, uint32_t node);

/* ---- write_list.c ---- */

void writer_enter_list(struct writer *w, uint32_t node);
void writer_leave_list(struct writer *w, uint32_t node);
void writer_enter_item(struct writer *w, uint32_t node);
void writer_leave_item(struct writer *w, uint32_t node);

/* ---- write_table.c ---- */

void writer_enter_table(struct writer *w, uint32_t node);
void writer_leave_table(struct writer *w, uint32_t node);
void writer_enter_row(struct writer *w);
void writer_leave_row(struct writer *w);
void writer_enter_cell(struct writer *w, uint32_t node);
void writer_leave_cell(struct writer *w, uint32_t node);

/* ---- write_code.c ---- */

void writer_code_block(struct writer *w, uint32_t node);

/* Whether the class of a node says that it holds line numbers. */
bool writer_is_gutter(const struct writer *w, uint32_t node);

/* Appends the text inside a node as it stands, line ends kept; `marked` nodes and line numbers are left out. */
void writer_raw_text(const struct writer *w, uint32_t node, struct buf *out);

/* ---- write_math.c ---- */

/* Looks which formulas the page has. */
void writer_survey_math(struct writer *w);

/* Writes a <math> element. */
void writer_math(struct writer *w, uint32_t node);

/* A script with TeX. False when it is another script. */
bool writer_math_script(struct writer *w, uint32_t node);

/* Whether an element repeats a formula that is written from somewhere else. */
bool writer_is_math_copy(const struct writer *w, uint32_t node);

/* A picture of a formula. False when it is none. */
bool writer_math_image(struct writer *w, uint32_t node);

/* The length of a formula between TeX's marks at the start of `text`; 0 when there is none. */
size_t writer_formula_length(struct writer *w, struct str text);

/* Writes a formula that stands in the text between TeX's marks. */
void writer_text_formula(struct writer *w, struct str formula);

/* ---- write_mathml.c ---- */

/* Appends a <math> element as TeX. */
void writer_mathml(const struct writer *w, uint32_t node, struct buf *out);

/* ---- write_notes.c ---- */

/* Finds the footnotes of the page. */
void writer_find_notes(struct writer *w);

/* What a node is in the footnotes, NULL when it is nothing there; for nodes in document order, once each or not at
 * all. */
const struct note *writer_note_at(struct writer *w, uint32_t node);

/* Writes a reference to a footnote; begins a footnote, whose level is to be popped. */
void writer_reference(struct writer *w, const struct note *note);
void writer_enter_note(struct writer *w, const struct note *note);

/* ---- helpers ---- */

static inline struct str writer_attribute(const struct writer *w, uint32_t node, enum html_attribute attribute)
{
    const struct html_node *n = &w->nodes[node];
    return n->n_attributes ? html_tree_attribute(w->tree, n, attribute) : (struct str){0};
}

static inline bool writer_is_marked(const struct writer *w, uint32_t node)
{
    return w->marks && w->marks[node] & MARK_DROPPED;
}

/* Whether a word of a class attribute is `token`, or begins with it. */
bool class_has(struct str classes, const char *token);
bool class_has_prefix(struct str classes, const char *prefix);

#endif
