#include "readers/table.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/utf8.h"

#define LONG_QUOTE  1048576 /* bytes: a quoted field of that length was not meant */
#define MAX_VALUE   60      /* bytes of an example */
#define GUESS_BYTES 65536

void table_parser_init(struct table_parser *parser, char delimiter, table_record_fn on_record, void *user)
{
    *parser = (struct table_parser){.delimiter = delimiter, .on_record = on_record, .user = user};
    buf_init(&parser->text, BUF_UNBOUNDED);
}

void table_parser_finish(struct table_parser *parser)
{
    buf_finish(&parser->text);
}

static void end_field(struct table_parser *parser)
{
    if (parser->n_fields < TABLE_MAX_COLUMNS)
        parser->ends[parser->n_fields++] = parser->text.len;
    else
        buf_truncate(&parser->text, parser->start);
    parser->start = parser->text.len;
    parser->quoted = parser->quote_seen = false;
}

static void end_record(struct table_parser *parser)
{
    if (parser->any) {
        struct str fields[TABLE_MAX_COLUMNS], all;
        end_field(parser);
        all = buf_str(&parser->text);
        for (size_t i = 0; i < parser->n_fields; i++)
            fields[i] = str_slice(all, i ? parser->ends[i - 1] : 0, parser->ends[i]);
        const struct table_record record = {fields, parser->n_fields};
        parser->on_record(parser->user, &record);
    }
    buf_reset(&parser->text);
    parser->n_fields = parser->start = 0;
    parser->quoted = parser->quote_seen = parser->any = false;
}

/* Adds to the field at hand as much as is kept of one. */
static void add(struct table_parser *parser, struct str text)
{
    size_t have = parser->text.len - parser->start;
    if (have >= TABLE_MAX_FIELD || parser->n_fields >= TABLE_MAX_COLUMNS)
        return;
    buf_add(&parser->text, str_slice(text, 0, TABLE_MAX_FIELD - have));
}

/* Takes text inside quotes, up to the next quote. Returns what was taken. */
static size_t take_quoted(struct table_parser *parser, struct str text)
{
    const char *quote = memchr(text.data, '"', text.len);
    size_t length = quote ? (size_t)(quote - text.data) : text.len;
    add(parser, str_slice(text, 0, length));
    parser->quoted_bytes += length;
    parser->broken = parser->broken || parser->quoted_bytes > LONG_QUOTE;
    if (quote) {
        parser->quote_seen = true;
        length++;
    }
    return length;
}

/* Takes text outside of quotes, up to what ends the field. */
static size_t take_plain(struct table_parser *parser, struct str text)
{
    size_t length = 0;
    while (length < text.len && text.data[length] != parser->delimiter && text.data[length] != '\n' &&
           text.data[length] != '\r')
        length++;
    add(parser, str_slice(text, 0, length));
    return length;
}

void table_parser_feed(struct table_parser *parser, struct str text)
{
    for (size_t at = 0; at < text.len;) {
        char c = text.data[at];
        bool was_cr = parser->after_cr;
        parser->after_cr = false;
        if (parser->quoted && !parser->quote_seen) {
            at += take_quoted(parser, str_slice(text, at, text.len));
        } else if (parser->quote_seen && c == '"') { /* a doubled quote stands for one */
            add(parser, STR("\""));
            parser->quote_seen = false;
            at++;
        } else if (c == parser->delimiter) {
            parser->any = true;
            end_field(parser);
            at++;
        } else if (c == '\n' || c == '\r') {
            if (!(c == '\n' && was_cr))
                end_record(parser);
            parser->after_cr = c == '\r';
            at++;
        } else if (c == '"' && parser->text.len == parser->start && !parser->quoted) {
            parser->quoted = parser->any = true;
            parser->quoted_bytes = 0;
            at++;
        } else {
            parser->any = true;
            parser->quoted = parser->quote_seen = false; /* text behind a closing quote belongs to the field */
            at += take_plain(parser, str_slice(text, at, text.len));
        }
    }
}

void table_parser_end(struct table_parser *parser)
{
    end_record(parser);
}

/* ---- the delimiter ---- */

struct guess {
    size_t records, first, equal; /* equal: records with as many fields as the first */
};

static void count_fields(void *user, const struct table_record *record)
{
    struct guess *guess = user;
    if (guess->records++ == 0)
        guess->first = record->n_fields;
    guess->equal += record->n_fields == guess->first;
}

char table_guess_delimiter(struct str text)
{
    static const char candidates[] = ",;\t|";
    char best = ',';
    double best_score = 0;
    text = str_slice(text, 0, GUESS_BYTES);
    size_t last = str_rfind_char(text, '\n');
    if (text.len == GUESS_BYTES && last != STR_NONE)
        text = str_slice(text, 0, last); /* whole lines */
    struct table_parser *parser = mem_alloc(sizeof *parser);
    for (size_t i = 0; i < sizeof candidates - 1; i++) {
        struct guess guess = {0};
        table_parser_init(parser, candidates[i], count_fields, &guess);
        table_parser_feed(parser, text);
        table_parser_end(parser);
        table_parser_finish(parser);
        if (!guess.records || guess.first < 2)
            continue;
        double score =
            (double)guess.equal / (double)guess.records + 0.001 * (double)(guess.first < 50 ? guess.first : 50);
        if (score > best_score) {
            best = candidates[i];
            best_score = score;
        }
    }
    free(parser);
    return best;
}

/* ---- columns ---- */

static bool is_date(struct str value)
{
    if (value.len < 10)
        return false;
    for (size_t i = 0; i < 10; i++)
        if (i == 4 || i == 7 ? value.data[i] != '-' : !ascii_is_digit(value.data[i]))
            return false;
    return value.len == 10 || value.data[10] == 'T' || value.data[10] == ' ';
}

static void add_value(struct table_column *column, struct str value)
{
    value = str_slice(value, 0, utf8_floor(value, MAX_VALUE));
    for (size_t i = 0; i < column->n_values; i++)
        if (str_equal(str_of(column->values[i]), value)) {
            column->counts[i]++;
            return;
        }
    if (column->n_values == TABLE_MAX_VALUES) {
        column->more_values = true;
        return;
    }
    column->values[column->n_values] = str_dup(value);
    column->counts[column->n_values++] = 1;
}

static void add_number(struct table_column *column, double number)
{
    column->least = column->numbers == 0 || number < column->least ? number : column->least;
    column->greatest = column->numbers == 0 || number > column->greatest ? number : column->greatest;
    column->sum += number;
    column->numbers++;
}

void table_column_add(struct table_column *column, struct str value)
{
    double number;
    value = str_trim(value);
    if (!value.len)
        return;
    column->filled++;
    bool like_number = ascii_is_digit(value.data[0]) || strchr("-+.", value.data[0]);
    if (like_number && value.len < 40 && str_to_double(value, &number) && number >= -DBL_MAX && number <= DBL_MAX) {
        add_number(column, number);
    } else if (is_date(value)) {
        char date[11];
        snprintf(date, sizeof date, "%.*s", 10, value.data);
        if (!column->dates || strcmp(date, column->first_date) < 0)
            memcpy(column->first_date, date, sizeof date);
        if (!column->dates || strcmp(date, column->last_date) > 0)
            memcpy(column->last_date, date, sizeof date);
        column->dates++;
    }
    if (!column->more_values || column->numbers + column->dates < column->filled)
        add_value(column, value);
}

void table_column_finish(struct table_column *column)
{
    free(column->name);
    for (size_t i = 0; i < column->n_values; i++)
        free(column->values[i]);
    *column = (struct table_column){0};
}

/* Values with what would end a cell taken out. */
static void write_value(struct buf *out, const char *value)
{
    for (; *value; value++)
        buf_add_char(out, *value == '|' || *value == '\n' || *value == '\r' ? ' ' : *value);
}

void table_column_describe(const struct table_column *column, struct buf *out)
{
    if (!column->filled) {
        buf_add_text(out, "empty | ");
    } else if (column->numbers == column->filled) {
        buf_addf(out, "number | %.10g to %.10g, mean %.6g", column->least, column->greatest,
                 column->sum / (double)column->numbers);
    } else if (column->dates == column->filled) {
        buf_addf(out, "date | %s to %s", column->first_date, column->last_date);
    } else {
        buf_add_text(out, column->numbers ? "mixed | " : "text | ");
        size_t shown = column->more_values && column->n_values > 4 ? 4 : column->n_values;
        for (size_t i = 0; i < shown; i++) {
            buf_add_text(out, i ? ", " : "");
            write_value(out, column->values[i]);
            if (!column->more_values && column->counts[i] > 1)
                buf_addf(out, " (%llu)", (unsigned long long)column->counts[i]);
        }
        buf_add_text(out, column->more_values ? ", …" : "");
    }
}
