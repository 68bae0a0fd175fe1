/* tools/common/document.h
 *
 * Documents of any kind to text, without this process ever parsing one: a PDF, an office file, an archive or an image
 * is handed to the program fathom-worker (src/worker), which confines itself and reads it with src/readers. A file that
 * makes a parser crash, loop or eat memory costs that process and nothing else.
 *
 * One struct documents serves all tools of a process: it knows where the worker is and how many may run at once; what
 * comes when all places are taken waits its turn. Web pages and text need no worker: who has those calls reader_read on
 * the pool (reader_needs_confinement tells which is which).
 *
 * Loop thread only.
 */
#ifndef FATHOM_TOOLS_COMMON_DOCUMENT_H
#define FATHOM_TOOLS_COMMON_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/status.h"
#include "core/str.h"
#include "loop/child.h"
#include "readers/reader.h"

struct documents;
struct document_job; /* one document under way */
struct loop;
struct tool_run;

#define DOCUMENT_DEFAULT_TIMEOUT_MS 120000
#define DOCUMENT_DEFAULT_MAX_TEXT   ((size_t)16 * 1024 * 1024)
#define DOCUMENT_DEFAULT_MAX_FILE   ((int64_t)4 * 1024 * 1024 * 1024)
#define DOCUMENT_DEFAULT_MEMORY     ((int64_t)1024 * 1024 * 1024)

struct documents_options {
    const char *worker;   /* the program; NULL: FATHOM_WORKER, else beside this program's build, else where it was
                             installed */
    size_t max_parallel;  /* workers at once; 0: the number of processors, at most 4 */
    int64_t memory_bytes; /* of one worker and of each of its children; 0: DOCUMENT_DEFAULT_MEMORY */
    bool no_bubblewrap;   /* the worker's own confinement alone */
};

/* Never fails: a worker that cannot be found is said by documents_check and by every document. Everything is copied;
 * NULL means all defaults. */
struct documents *documents_create(const struct documents_options *options);

/* No document may be under way. NULL is allowed. */
void documents_destroy(struct documents *documents);

/* Appends a line for `fathom doctor` (without newline): where the worker is and what confines it, or what is missing.
 * False when documents cannot be read at all. */
bool documents_check(struct documents *documents, struct buf *line);

/* What is to be read: a descriptor or bytes. */
struct document_request {
    int descriptor;          /* a regular file open for reading, the caller's (duplicated); negative: `bytes` */
    struct str bytes;        /* copied */
    struct str name;         /* file name, for its ending and as the title of last resort; copied */
    struct str content_type; /* of an HTTP header; may be empty; copied */
    struct str url;          /* base of links; may be empty; copied */
    bool whole_page;         /* HTML inside: everything, not the main part alone */
    size_t max_text;    /* bytes of Markdown; what is beyond is cut and `truncated`. 0: DOCUMENT_DEFAULT_MAX_TEXT */
    int64_t timeout_ms; /* from its turn on; 0: DOCUMENT_DEFAULT_TIMEOUT_MS */
};

/* What became of a document. Borrowed until the callback returns; markdown may be taken with buf_take. Strings are
 * valid UTF-8, not cleaned of protocol tags (protocol/clean.h).
 *
 * STATUS_OK
 * STATUS_UNSUPPORTED  a kind of file that is not read; the message names it and what would be needed
 * STATUS_DENIED       encrypted
 * STATUS_SYNTAX       broken
 * STATUS_REFUSED      made to exhaust its reader
 * STATUS_TOO_BIG      the file, or the memory it takes, passed a limit
 * STATUS_TIMEOUT      timeout_ms
 * STATUS_IO           the worker could not be started, or the file made it crash
 * STATUS_CANCELED     document_cancel, or the call it belongs to is over */
struct document_result {
    enum status status;
    struct error error; /* a sentence fit for a model: no path, no signal number. Unless status is STATUS_OK */
    struct str detail;  /* more of a failure, for a person; may be empty */
    const enum reader_kind *kind;             /* what it is; NULL where that could not be told */
    struct str title, author, date, language; /* empty where unknown */
    struct str notice;                        /* what was left out or guessed; empty where there is nothing to say */
    struct buf markdown;
    const struct reader_section *sections; /* the table of contents; offsets ascend and lie within the Markdown */
    size_t n_sections;
    int pages; /* slides, sheets; 0 unknown */
    bool truncated;
    int64_t elapsed_ms;
};

typedef void (*document_done_fn)(void *user, struct document_result *result);

/* Reads a document. `done` comes exactly once, never from inside this call. The handle is valid until then. */
struct document_job *document_start(struct documents *documents, struct loop *loop,
                                    const struct document_request *request, document_done_fn done, void *user);

/* Kills the worker and all it started; `done` comes with STATUS_CANCELED in a later turn. */
void document_cancel(struct document_job *job);

/* The same as a part of a tool's call: cancelled with it, and the call's state lives until `done` returned. */
void tool_document(struct tool_run *run, struct documents *documents, const struct document_request *request,
                   document_done_fn done, void *user);

/* ---- other programs that look at documents (ffmpeg), confined as a worker is ---- */

struct document_program;

struct document_program_options {
    const char *const *argv; /* argv[0] is looked for in PATH; ends in NULL */
    int descriptor;          /* the program's descriptor 3, read from where it stands; stays the caller's */
    size_t max_output;       /* bytes of stdout; more ends it with STATUS_TOO_BIG, and output holds the beginning */
    int64_t timeout_ms;
};

/* Starts it at once, beside the workers. `done` comes exactly once, never from inside this call, as of child_start; a
 * limit that was passed gives STATUS_CANCELED, and the error names it. The handle is valid until then. */
struct document_program *document_program_start(struct documents *documents, struct loop *loop,
                                                const struct document_program_options *options, child_done_fn done,
                                                void *user);
void document_program_cancel(struct document_program *program);

#endif
