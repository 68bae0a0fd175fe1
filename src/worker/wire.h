/* src/worker/wire.h
 *
 * What passes between the program and its worker for one document.
 *
 * The program starts fathom-worker with the document open as descriptor WORKER_DOCUMENT and writes one JSON object to
 * its stdin: the request. The worker confines itself, reads the document and writes to its stdout: one line of JSON,
 * the reply's head, then as many bytes of Markdown as the head says. It exits with 0 whenever it wrote a reply.
 *
 * The program does not trust what it gets: a worker that was taken over by a document may write anything. Whatever
 * parses here is within bounds, but its words are the document's.
 */
#ifndef FATHOM_WORKER_WIRE_H
#define FATHOM_WORKER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/json.h"
#include "core/status.h"
#include "core/str.h"
#include "readers/reader.h"

#define WORKER_DOCUMENT     3
#define WORKER_MAX_SECTIONS 5000

/* The most that a head may take. */
#define WORKER_MAX_HEAD ((size_t)4 * 1024 * 1024)

struct worker_request {
    struct str name, content_type, url;
    struct str temp_dir; /* the only folder it may write to; empty: none */
    bool whole_page;
    bool namespaced; /* it runs in a process namespace of its own, which ends with it */
    size_t max_text;
    int64_t timeout_ms, memory_bytes;
};

/* The request as JSON; a fresh string. */
char *worker_request_write(const struct worker_request *request);

/* Reads a request. Its strings are borrowed from *owner, a new reference. */
enum status worker_request_parse(struct str json, json_t **owner, struct worker_request *out,
                                 struct error *error) STATUS_CHECKED;

struct worker_reply {
    enum status status;
    struct error error; /* unless status is STATUS_OK */
    enum reader_kind kind;
    struct str title, author, date, language, notice; /* empty where unknown */
    struct reader_section *sections;                  /* offsets ascend and lie within the Markdown */
    size_t n_sections;
    int pages;
    bool truncated;
    struct str confinement; /* what holds, for people: "Landlock, seccomp"; see worker/confine.h */
    size_t length;          /* bytes of Markdown behind the head */
    json_t *owner;          /* strings are borrowed from it */
};

/* Appends the head, its newline included. `text` is NULL where `error` says why there is none. */
void worker_reply_write(struct buf *out, enum reader_kind kind, const struct reader_text *text,
                        const struct error *error, const char *confinement);

/* Reads what a worker wrote: *body_at is where the Markdown begins in `bytes`. To be given to worker_reply_finish.
 * STATUS_SYNTAX when it is no whole reply. */
enum status worker_reply_parse(struct str bytes, struct worker_reply *out, size_t *body_at,
                               struct error *error) STATUS_CHECKED;
void worker_reply_finish(struct worker_reply *reply); /* zeroed is allowed */

/* "pdf", "docx", "table" … Static. */
const char *worker_kind_name(enum reader_kind kind);

#endif
