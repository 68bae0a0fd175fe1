/* tools/python/internal.h
 *
 * What the files of the tool share. A call (python.c) has its program run by an interpreter (interpreter.c), whose
 * streams are kept in captures (capture.c), or by a server (fusion.c); both hand the outcome to python_show
 * (observation.c), which ends the call.
 */
#ifndef FATHOM_TOOLS_PYTHON_INTERNAL_H
#define FATHOM_TOOLS_PYTHON_INTERNAL_H

#include "core/buf.h"
#include "loop/confine.h"
#include "tools/common/chain.h"
#include "tools/python/python.h"

/* A program longer than this is refused. */
#define PYTHON_MAX_CODE ((size_t)1024 * 1024)

/* More output than this ends the program. */
#define PYTHON_MAX_OUTPUT ((size_t)64 * 1024 * 1024)

/* ---- the interpreter on this machine (locate.c) ---- */

struct python_location {
    char *path; /* absolute */
    char *version;
    struct confine_bind binds[3]; /* where it and its modules are, when that is not /usr; sources are owned */
    size_t n_binds;
};

/* Finds the interpreter and, unless `confined` is false, tries it out in a confinement. */
enum status python_locate(const char *interpreter, bool confined, struct python_location *out,
                          struct error *error) STATUS_CHECKED;
void python_location_finish(struct python_location *location);

/* ---- a stream whose middle may be left out (capture.c) ---- */

#define CAPTURE_MARK 48

struct capture {
    struct buf head;   /* the beginning, once it is settled */
    struct buf recent; /* what came last */
    size_t max_head, max_tail;
    size_t left_out;         /* bytes between the two */
    size_t total;            /* bytes that came, the mark left out */
    char mark[CAPTURE_MARK]; /* a line that begins with this is not output but the report */
    size_t searched;         /* of what came last: no report begins before this */
    bool has_report;
    char *report; /* what stood behind the mark, up to the end of the line */
};

void capture_init(struct capture *capture, size_t max_head, size_t max_tail);
void capture_finish(struct capture *capture);

/* Forgets everything and waits for another mark: a separator and the token. */
void capture_begin(struct capture *capture, const char *token);
void capture_add(struct capture *capture, struct str bytes);

/* What was kept, in one piece, borrowed; `left_out` bytes are missing behind its first `head` bytes. Nothing may be
 * added any more. */
struct str capture_join(struct capture *capture, size_t *head, size_t *left_out);

/* ---- an outcome in words (observation.c) ---- */

enum python_end {
    PYTHON_ENDED,   /* by itself: see exception and exit_code */
    PYTHON_CRASHED, /* by a signal: see signal_number */
    PYTHON_TIMEOUT,
    PYTHON_MEMORY, /* ended by the watch; a MemoryError is an exception */
    PYTHON_CPU,
    PYTHON_PROCESSES,
    PYTHON_FLOOD,   /* PYTHON_MAX_OUTPUT */
    PYTHON_NOT_RUN, /* see problem */
};

struct python_outcome {
    enum python_end end;
    struct str output, errors;       /* what was printed; the middle may be missing, as left_out says */
    size_t output_head, errors_head; /* where it is missing */
    size_t output_left_out, errors_left_out;
    const char *exception; /* its type; NULL when there was none */
    const char *message;
    int64_t line; /* of the program; 0 when none is known */
    int64_t exit_code;
    int signal_number;
    int64_t timeout_ms;  /* that held */
    int64_t memory;      /* the same, in bytes */
    int64_t cpu_seconds; /* the same */
    bool state_lost;     /* a session's names and files are gone: with this call, or since the one before */
    const char *problem; /* what the model is told of a program that was not run */
};

/* Ends the call. */
void python_show(struct tool_run *run, const struct python_outcome *outcome);

/* ---- the tool (python.c) ---- */

struct interpreter;

struct python_tool {
    struct tool tool;
    struct tool_signature signature;
    enum python_sandbox sandbox;
    bool session;
    int64_t timeout_ms, memory;
    struct python_location location;
    struct interpreter *interpreters; /* all that live */
    uint64_t *lost;                   /* sessions whose interpreter died since their last call */
    size_t n_lost, lost_capacity;
    struct fusion_server *servers;
    size_t n_servers, next_server;
};

/* ---- interpreters (interpreter.c) ---- */

/* Starts the call's program: in the session's interpreter, or in a fresh one. Ends in python_show, in a later turn. */
void interpreter_run(struct python_tool *tool, struct tool_run *run, int64_t timeout_ms);

/* Whether the session's state was lost since its last call; forgets it. */
bool interpreter_was_lost(struct python_tool *tool, uint64_t session);

/* The call is over: its interpreter, whose program is in an unknown state, is ended. */
void interpreter_abandon(struct python_tool *tool, struct tool_run *run);

/* Ends the session's interpreter; 0 ends all. What is left of them needs the tool no more. */
void interpreter_end(struct python_tool *tool, uint64_t session);

/* ---- servers (fusion.c) ---- */

enum status fusion_init(struct python_tool *tool, const struct python_options *options,
                        struct error *error) STATUS_CHECKED;
void fusion_finish(struct python_tool *tool);
void fusion_run(struct python_tool *tool, struct tool_run *run, int64_t timeout_ms);

#endif
