/* src/readers/office.h
 *
 * The readers of office packages, each from a package that is open. `main` is the name of the part that holds the
 * document. They write Markdown to out->markdown and set what the file says about itself. Part by part, in one pass.
 */
#ifndef FATHOM_READERS_OFFICE_H
#define FATHOM_READERS_OFFICE_H

#include "readers/container.h"
#include "readers/span.h"
#include "readers/writer.h"

#define OFFICE_MAX_COLUMNS 16384   /* of a spreadsheet (XFD) */
#define OFFICE_MAX_ROWS    1048576 /* the same */

/* Which parts of a package each reader wants to have in memory. */
bool docx_wants(struct str name);
bool pptx_wants(struct str name);
bool xlsx_wants(struct str name);
bool odf_wants(struct str name);
bool epub_wants(struct str name);

enum status docx_read(const struct package *package, struct str main, struct reader_text *out,
                      struct error *error) STATUS_CHECKED;
enum status pptx_read(const struct package *package, struct str main, struct reader_text *out,
                      struct error *error) STATUS_CHECKED;
enum status xlsx_read(const struct package *package, struct str main, struct reader_text *out,
                      struct error *error) STATUS_CHECKED;

/* ODT, ODS and ODP, by out->kind. */
enum status odf_read(const struct package *package, struct reader_text *out, struct error *error) STATUS_CHECKED;
enum status ods_read(const struct package *package, struct reader_text *out, struct error *error) STATUS_CHECKED;
enum status epub_read(const struct package *package, struct reader_text *out, struct error *error) STATUS_CHECKED;

/* Whether an XML toggle attribute ("0", "false", "off") says no. Absent means yes. */
bool office_is_off(struct str value);

/* A number of a list in the ways office files name: "decimal", "lowerLetter", "upperRoman" …; ODF's "1", "a", "A", "i",
 * "I" too. Appends it. */
void office_number(struct buf *out, int number, struct str format);

/* Moves a short first line that stands alone from a slide's text to its title: many slides have a box of text where a
 * title should be. */
void office_take_title(struct buf *body, struct buf *title);

/* ---- spreadsheets' values: cell_value.c ---- */

enum number_style { NUMBER_PLAIN, NUMBER_PERCENT, NUMBER_DATE, NUMBER_TIME, NUMBER_DATE_TIME, NUMBER_ELAPSED };

/* What a format code says about a number (ECMA-376 part 1, 18.8.30 and 18.8.31). */
enum number_style number_style_of_code(struct str code);
enum number_style number_style_of_id(int id);

/* Appends a cell's number as a person would read it: dates in ISO 8601, percentages, at most 15 digits. */
void number_write(struct buf *out, double value, enum number_style style, bool since_1904);

#endif
