/* fathom/fathom.h
 *
 * Fathom as a library: ask a question, watch the run, get the answer with its sources as JSON.
 *
 *     struct fathom *fathom = fathom_create();
 *     fathom_set(fathom, "base-url", "http://127.0.0.1:8000/v1");
 *     fathom_set(fathom, "corpus", "manuals.db");
 *     if (fathom_ask(fathom, "What does vfork share with its parent?", NULL, NULL) == FATHOM_OK)
 *         puts(fathom_prediction(fathom));
 *     else
 *         fputs(fathom_error(fathom), stderr);
 *     fathom_destroy(fathom);
 *
 * Pages are read without a context:
 *
 *     char *markdown = fathom_extract(html, length, "https://example.org/tides", NULL, 0);
 *     if (markdown != NULL)
 *         puts(markdown);
 *     fathom_free(markdown);
 *
 * A context is used by one thread at a time, except fathom_cancel; any number of contexts may be in use at once. All
 * text is UTF-8. What functions return belongs to the context unless said otherwise. From the first fathom_ask on the
 * process ignores SIGPIPE. Running out of memory ends the process.
 *
 * Numbers, names and meanings below stay as they are within a major version; more may be added.
 */
#ifndef FATHOM_FATHOM_H
#define FATHOM_FATHOM_H

#include <stddef.h>

#if defined(__GNUC__)
#define FATHOM_EXPORT __attribute__((visibility("default")))
#else
#define FATHOM_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct fathom;

enum fathom_status {
    FATHOM_OK = 0,          /* done; for fathom_ask: there is a prediction */
    FATHOM_FAILED = 1,      /* the work failed, or the run ended without a prediction */
    FATHOM_INVALID = 2,     /* wrong usage or configuration */
    FATHOM_INTERRUPTED = 3, /* fathom_cancel ended it */
};

/* The library's version: "0.1.0". Static. */
FATHOM_EXPORT const char *fathom_version(void);

/* A context with all defaults. It reads neither files nor environment unless told to. Never NULL. */
FATHOM_EXPORT struct fathom *fathom_create(void);

/* Ends a context. No fathom_ask of it may be under way. NULL is allowed. */
FATHOM_EXPORT void fathom_destroy(struct fathom *fathom);

/* Sets an option by the name it has on the command line (docs/configuration.md): "model", "base-url", "max-calls", …
 * Options that take several values grow with each call. FATHOM_INVALID for unknown names and wrong values; fathom_error
 * says what is wrong. */
FATHOM_EXPORT enum fathom_status fathom_set(struct fathom *fathom, const char *name, const char *value);

/* Takes up a configuration file, or the environment (OPENAI_BASE_URL, FATHOM_MODEL, …). What fathom_set set wins over
 * both, the environment over the file, in whatever order they are called. */
FATHOM_EXPORT enum fathom_status fathom_load_file(struct fathom *fathom, const char *path);
FATHOM_EXPORT enum fathom_status fathom_load_environment(struct fathom *fathom);

/* One event of a run as a JSON object on one line, without its newline. Called on the thread that is in fathom_ask.
 * Must not use the context but for fathom_cancel. */
typedef void (*fathom_event_fn)(void *user, const char *event);

/* Researches a question; returns when the run has ended. `event` may be NULL. FATHOM_OK: there is a prediction.
 * FATHOM_FAILED, FATHOM_INTERRUPTED: fathom_error says why; after a run that was begun there is a result all the same.
 * FATHOM_INVALID: the configuration is wrong; nothing was begun. May be called again. */
FATHOM_EXPORT enum fathom_status fathom_ask(struct fathom *fathom, const char *question, fathom_event_fn event,
                                            void *user);

/* A tool wants something from the person: `question` is a JSON object on one line, {"purpose": "answer" or
 * "permission", "tool", "text", "schema" (of the answer; null: any text), "arguments", "code"}. Called on the thread
 * that is in fathom_ask; the run waits meanwhile, its clock too. Must not use the context but for fathom_cancel. */
struct fathom_reply;
typedef void (*fathom_question_fn)(void *user, const char *question, struct fathom_reply *reply);

/* Answers from inside the callback: a text, an object as JSON where there is a schema, and "once" or "always" for a
 * permission. `text` is copied. A question without a reply is declined. */
FATHOM_EXPORT void fathom_reply(struct fathom_reply *reply, const char *text);

/* Has questions put to `question`; NULL (the beginning): nobody can be asked. From the next fathom_ask on. */
FATHOM_EXPORT void fathom_on_question(struct fathom *fathom, fathom_question_fn question, void *user);

/* Makes the fathom_ask that is under way end soon with an orderly result; where none is, the next one. From any thread,
 * and from a signal handler. */
FATHOM_EXPORT void fathom_cancel(struct fathom *fathom);

/* Of the last fathom_ask, valid until the next one. The prediction is "" where there is none, and the result (the
 * object that `fathom ask --json` prints) NULL where no run was begun. */
FATHOM_EXPORT const char *fathom_prediction(const struct fathom *fathom);
FATHOM_EXPORT const char *fathom_result(const struct fathom *fathom);

/* Why the last call failed, in one sentence; "" when it did not. */
FATHOM_EXPORT const char *fathom_error(const struct fathom *fathom);

/* Reads one completion in the tag protocol into the JSON object that `fathom parse --json` prints. Any bytes are
 * allowed. The caller frees the text with fathom_free. NULL when the completion is larger than a run would take. */
FATHOM_EXPORT char *fathom_parse(const char *completion, size_t length);

/* How fathom_extract reads a page; to be joined with |. */
enum fathom_extract_flag {
    FATHOM_EXTRACT_TEXT = 1,     /* plain text in place of Markdown */
    FATHOM_EXTRACT_JSON = 2,     /* the object that `fathom extract --format json` prints, without "input" */
    FATHOM_EXTRACT_COMMENTS = 4, /* what readers wrote below it, too */
    FATHOM_EXTRACT_WHOLE = 8,    /* all that is to be seen, not the main part alone */
    FATHOM_EXTRACT_NO_LINKS = 16 /* the text of links without their addresses */
};

/* The main text of a web page of `length` bytes in any character set, as Markdown unless the flags say otherwise; ""
 * where it has none. `url` (its address, against which links are resolved) and `content_type` (the value of that HTTP
 * header, whose charset counts) may be NULL. Needs no context and reads no file and no network; any thread, time linear
 * in the length. The caller frees the text with fathom_free. NULL when the page has more than 32 MB, is no text at all
 * (a PDF, a picture), or the flags are unknown. */
FATHOM_EXPORT char *fathom_extract(const char *page, size_t length, const char *url, const char *content_type,
                                   unsigned flags);

/* Frees what fathom_parse and fathom_extract returned. NULL is allowed. */
FATHOM_EXPORT void fathom_free(void *text);

#ifdef __cplusplus
}
#endif

#endif
