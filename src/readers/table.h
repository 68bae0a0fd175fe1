/* src/readers/table.h
 *
 * CSV and its relatives (RFC 4180 and what programs write in its place): records from a stream, and what a column
 * holds. Memory does not grow with the file.
 */
#ifndef FATHOM_READERS_TABLE_H
#define FATHOM_READERS_TABLE_H

#include "core/buf.h"
#include "core/str.h"

#define TABLE_MAX_COLUMNS 2000
#define TABLE_MAX_FIELD   65536 /* bytes that are kept of one */

/* One record, borrowed until the callback returns. A field that is longer than kept is cut. */
struct table_record {
    const struct str *fields;
    size_t n_fields; /* at most TABLE_MAX_COLUMNS */
};

typedef void (*table_record_fn)(void *user, const struct table_record *record);

struct table_parser {
    char delimiter;
    table_record_fn on_record;
    void *user;
    struct buf text; /* the fields of the record at hand, one behind the other */
    size_t ends[TABLE_MAX_COLUMNS];
    size_t n_fields, start; /* start: of the field at hand in `text` */
    bool quoted, quote_seen, any, after_cr;
    bool broken; /* a quote was opened and not closed for very long */
    size_t quoted_bytes;
};

void table_parser_init(struct table_parser *parser, char delimiter, table_record_fn on_record, void *user);
void table_parser_finish(struct table_parser *parser);

/* Any cut of the text gives the same records. Empty lines are none. */
void table_parser_feed(struct table_parser *parser, struct str text);
void table_parser_end(struct table_parser *parser);

/* The delimiter that fits the beginning of a file best: comma, semicolon, tab or bar. */
char table_guess_delimiter(struct str text);

/* ---- what a column holds ---- */

#define TABLE_MAX_VALUES 12

struct table_column {
    char *name;
    uint64_t filled, numbers, dates;
    double least, greatest, sum;
    char first_date[11], last_date[11]; /* "2024-01-31" */
    char *values[TABLE_MAX_VALUES];     /* the first different ones */
    uint64_t counts[TABLE_MAX_VALUES];
    size_t n_values;
    bool more_values;
};

void table_column_add(struct table_column *column, struct str value);
void table_column_finish(struct table_column *column);

/* Appends "number", "1.5 to 20, mean 7.2" and so on: kind and range or values, as two table cells. */
void table_column_describe(const struct table_column *column, struct buf *out);

#endif
