/* src/store/journal.h
 *
 * The journal: what happened in runs, in order, so that a run can be resumed after a crash and replayed later.
 *
 * The journal knows nothing of sessions: a record is a kind, a name, the run's clock and bytes. A record counts as
 * written when its `done` has come; records of one run are written in the order they were given. Implementations embed
 * struct journal as their first member. Everything happens on the loop's thread (an implementation may write on one of
 * its own).
 */
#ifndef FATHOM_STORE_JOURNAL_H
#define FATHOM_STORE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"
#include "core/str.h"

struct loop;
struct journal;

enum journal_kind {
    JOURNAL_EVENT,  /* an input of the session: resume feeds it again */
    JOURNAL_EFFECT, /* what the session wanted: replay compares it */
};

/* Borrowed for the call of journal_append. */
struct journal_record {
    enum journal_kind kind;
    const char *run;  /* id of the run */
    const char *name; /* "started", "delta", "tool_done", "generate" …; static */
    uint64_t id;      /* the effect it is or answers; 0 for none */
    int64_t run_ms;   /* the run's clock */
    struct str data;  /* a JSON object; empty for none */
    struct str text;  /* a completion's or tool's text, any bytes */
};

/* `error` is set when status is not STATUS_OK: STATUS_IO (disk full, …), STATUS_CANCELED (the journal was destroyed).
 */
typedef void (*journal_done_fn)(void *user, enum status status, const struct error *error);

struct journal {
    /* False for one that keeps nothing: then `data` and `text` need not be made. */
    bool keeps;
    void (*append)(struct journal *journal, const struct journal_record *record, journal_done_fn done, void *user);
    void (*destroy)(struct journal *journal);
};

/* Appends a record. `done` comes exactly once, never from inside this call, in the order of the appends of a run. */
void journal_append(struct journal *journal, const struct journal_record *record, journal_done_fn done, void *user);

/* Appends still under way end with STATUS_CANCELED before this returns. NULL is allowed. */
void journal_destroy(struct journal *journal);

/* A journal in memory: `done` comes in the next turn of the loop. With `keeps` the records stay readable (for tests and
 * for replay within a process), else nothing is stored. */
struct journal *journal_memory_create(struct loop *loop, bool keeps);

/* The records of one made with `keeps`; borrowed until the next append. */
size_t journal_memory_count(const struct journal *journal);
const struct journal_record *journal_memory_at(const struct journal *journal, size_t index);

#endif
