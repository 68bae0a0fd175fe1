/* src/readers/internal.h
 *
 * What the files of this room share. Not for others.
 *
 * A `reading` is one call of reader_read with its deadline and its shared limits; a `document` is one file in it, the
 * outermost or one inside an archive. Each format has one function of the form of read_document_fn.
 */
#ifndef FATHOM_READERS_INTERNAL_H
#define FATHOM_READERS_INTERNAL_H

#include <sys/types.h>

#include "readers/reader.h"

#define SNIFF_BYTES 65536 /* what is looked at to tell kinds apart */

struct reading {
    const struct reader_source *source;
    size_t cap;          /* of a text document in memory, and of the Markdown */
    int64_t deadline_ms; /* on the clock of reading_now_ms */
    size_t packed;       /* bytes of the outermost document, for the ratio */
    size_t unpacked;     /* by all containers so far, inner ones included */
    size_t max_unpacked;
    int entries_left, depth_left, ocr_pages_left;
    int archives_around; /* in how many archives the document at hand lies */
    struct buf notice;
};

/* Borrowed bytes or a descriptor to read by position. */
struct document {
    struct str bytes;
    bool from_descriptor;
    int descriptor;
    uint64_t size;
    struct str name, content_type;
};

typedef enum status (*read_document_fn)(struct reading *reading, const struct document *document,
                                        struct reader_text *out, struct error *error);

/* ---- reading.c: the call, and access to a document ---- */

int64_t reading_now_ms(void);

/* STATUS_CANCELED or STATUS_TIMEOUT once the work is to stop. Cheap enough for every few kilobytes. */
enum status reading_check(const struct reading *reading, struct error *error) STATUS_CHECKED;

/* Adds a sentence to what is told about the document. At most some kilobytes are kept. */
void reading_note(struct reading *reading, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Counts bytes that a container gave. STATUS_TOO_BIG past max_unpacked, STATUS_REFUSED when they are out of all
 * proportion to the file. */
enum status reading_count_unpacked(struct reading *reading, size_t bytes, struct error *error) STATUS_CHECKED;

/* Up to `size` bytes from `offset`; 0 at the end, -1 when the read failed. */
ssize_t document_read_at(const struct document *document, uint64_t offset, char *out, size_t size);

/* The first bytes, at most SNIFF_BYTES: borrowed from the document, or read into `scratch`. */
struct str document_head(const struct document *document, struct buf *scratch);

/* All bytes: borrowed from the document, or read into `scratch`. STATUS_TOO_BIG above `max_bytes`, STATUS_IO. */
enum status document_load(const struct document *document, size_t max_bytes, struct buf *scratch, struct str *out,
                          struct error *error) STATUS_CHECKED;

/* A descriptor that a child can read the document from, by position; the caller closes it. -1 with STATUS_IO. */
int document_open(const struct document *document, struct error *error);

/* Reads one document of any kind; in `reader.c`. */
enum status read_document(struct reading *reading, const struct document *document, struct reader_text *out,
                          struct error *error) STATUS_CHECKED;

/* Text in UTF-8 without control characters, from bytes in whatever character set. */
enum status decode_text(struct str bytes, struct str content_type, bool markup, struct buf *out) STATUS_CHECKED;

/* ---- kind.c ---- */

/* "a PNG image", "a program or library": what bytes that are no text are called; NULL for text. */
const char *binary_name(struct str bytes);

/* Whether `name` ends in one of `endings` ("a", "b", NULL), without regard to case; a bare ending is no name. */
bool name_ends(struct str name, const char *const *endings);

/* Whether text is the source of a manual page: its first request is .TH or .Dd. */
bool man_is_likely(struct str text);

/* Whether text is an RSS or Atom feed. */
bool feed_is_likely(struct str text);

/* The last component of a path, without .gz. */
struct str base_name(struct str path);

/* ---- program.c: child programs ---- */

struct program_call {
    const char *const *argv;      /* argv[0] names the program as the usual name */
    const char *path;             /* of struct reader_programs: NULL, "", or what to run in place of argv[0] */
    const char *directory;        /* to run in; NULL: ours */
    const struct document *input; /* handed over as descriptor 3; NULL: none */
    struct str text;              /* for stdin */
    size_t max_output;
    bool keep_cut_output; /* more than max_output is no failure: the beginning serves */
    const char *const *environment;
};

/* What a program wrote and how it ended. */
struct program_result {
    struct buf output;
    struct buf errors; /* the first 4 KB of stderr */
    int exit_code;
    bool cut; /* max_output was reached */
};

/* Runs a program to its end on a loop of its own, so that any thread can. STATUS_OK also for an exit code other than 0:
 * then *result is to be given to program_result_finish.
 *
 * STATUS_NOT_FOUND  no such program, or it is not to be run
 * STATUS_TIMEOUT, STATUS_CANCELED, STATUS_IO (it could not be started, or died by a signal), STATUS_TOO_BIG */
enum status program_run(const struct reading *reading, const struct program_call *call, struct program_result *result,
                        struct error *error) STATUS_CHECKED;
void program_result_finish(struct program_result *result);

/* "PATH=…", ours or the usual one, for a child that gets an environment of its own. Fresh. */
char *program_search_path(void);

/* A fresh private folder below temp_dir, as a fresh string; NULL with STATUS_IO. folder_remove takes all that lies in
 * it away and frees the string; NULL is allowed. */
char *folder_make(const struct reading *reading, struct error *error);
void folder_remove(char *path);

/* ---- formats ---- */

/* Appends the decompressed contents of a gzip file (RFC 1952, several members allowed, anything behind the last
 * ignored). STATUS_TOO_BIG at the cap of `out`, STATUS_SYNTAX for a damaged stream. */
enum status gzip_decompress(struct str bytes, struct buf *out, struct error *error) STATUS_CHECKED;
bool gzip_is(struct str bytes);

/* The first bytes that a gzip file decompresses to, as many as there are and fit `out`'s cap. */
void gzip_peek(struct str bytes, struct buf *out);

/* Turns a manual page in UTF-8 into Markdown and a title, "open(2) - open and possibly create a file". */
enum status man_read(struct reading *reading, struct str text, struct str name, struct reader_text *out,
                     struct error *error) STATUS_CHECKED;

/* From text in UTF-8. */
enum status feed_read(struct reading *reading, struct str text, struct reader_text *out,
                      struct error *error) STATUS_CHECKED;
enum status notebook_read(struct str text, struct reader_text *out) STATUS_CHECKED;

enum status mail_read(struct reading *reading, const struct document *document, struct reader_text *out,
                      struct error *error) STATUS_CHECKED;
enum status table_read(struct reading *reading, const struct document *document, struct reader_text *out,
                       struct error *error) STATUS_CHECKED;
enum status pdf_read(struct reading *reading, const struct document *document, struct reader_text *out,
                     struct error *error) STATUS_CHECKED;
enum status image_read(struct reading *reading, const struct document *document, struct reader_text *out,
                       struct error *error) STATUS_CHECKED;

/* Any ZIP: office files and books by what they hold, else as an archive. */
enum status zip_read(struct reading *reading, const struct document *document, struct reader_text *out,
                     struct error *error) STATUS_CHECKED;
enum status archive_read_document(struct reading *reading, const struct document *document, struct reader_text *out,
                                  struct error *error) STATUS_CHECKED;

/* What LibreOffice is needed for. */
enum status soffice_read(struct reading *reading, const struct document *document, struct reader_text *out,
                         struct error *error) STATUS_CHECKED;

/* ---- recognize.c ---- */

/* Appends the text that tesseract finds in a picture. STATUS_NOT_FOUND when tesseract is not installed. */
enum status recognize(struct reading *reading, const struct document *picture, struct buf *out,
                      struct error *error) STATUS_CHECKED;

/* ---- sections.c ---- */

/* Fills out->sections from the headings of out->markdown. */
void sections_find(struct reader_text *out);

#endif
