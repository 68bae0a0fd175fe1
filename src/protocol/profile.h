/* src/protocol/profile.h
 *
 * A profile is the form of the protocol that a family of models was trained on: which words and formats it is shown,
 * how it is sampled, what becomes of its thought. It is a folder with `profile.yaml` and one file for each prompt:
 *
 *     prompts/<name>/profile.yaml      settings
 *     prompts/<name>/<prompt>.md       a prompt or format of enum prompt_id, under its name
 *     prompts/<name>/tools/<tool>.md   what the prompt says of one tool when the run has it
 *
 * A prompt that the folder does not have comes from the profile named as `base` there (built-in profiles: `generic`).
 *
 * In a prompt, {name} is replaced by a value; which names a prompt may use is fixed, and another is an error when the
 * profile is loaded, so rendering cannot fail later. Braces around anything but a lower-case word are themselves, so
 * JSON examples need no escapes. A value is never looked at for further placeholders. A placeholder that is alone on
 * its line and empty takes the line with it, and one of two empty lines around it. The newline at the end of a file is
 * not part of the prompt.
 *
 * A loaded profile is immutable and may be read by any thread.
 */
#ifndef FATHOM_PROTOCOL_PROFILE_H
#define FATHOM_PROTOCOL_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/json.h"
#include "core/status.h"
#include "core/str.h"
#include "protocol/generation.h"
#include "protocol/message.h"
#include "protocol/transcript.h"

struct tool_signature; /* protocol/signature.h */

enum profile_layout {
    LAYOUT_SYSTEM, /* the tools are described in the system message */
    LAYOUT_USER,   /* in the user message, before the question */
};

enum tool_rendering {
    TOOLS_JSON_LINES,  /* one {"type": "function", "function": {…}} a line, as Hermes and Qwen templates do */
    TOOLS_JSON_PRETTY, /* the functions as indented JSON objects joined by ",\n" */
    TOOLS_LIST,        /* "- name(parameters): description" lines */
};

enum call_choice { CALLS_ALL, CALLS_FIRST, CALLS_LAST };

enum call_dialect {
    DIALECT_JSON, /* {"name": …, "arguments": {…}} */
    DIALECT_XML,  /* <function=NAME><parameter=KEY>value</parameter></function> */
};

enum thought_rule {
    THOUGHT_NONE,     /* the model does not think in tags: a call may start as soon as it is complete */
    THOUGHT_EXPECTED, /* it writes <think>…</think> before it acts */
    THOUGHT_OPENED,   /* its template writes <think> for it: a completion begins inside thought */
};

enum observation_style {
    OBSERVATION_GENERIC, /* tools may add what helps: notices of backends, further links, merging across queries */
    OBSERVATION_TRAINED, /* tools give the formats the model was trained on and nothing else */
};

/* The prompts and formats of a profile; profile_prompt_name() gives the file's name. Placeholders in comments. */
enum prompt_id {
    PROMPT_SYSTEM,             /* system: {tools} {tool_names} {tool_notes} {date} */
    PROMPT_QUESTION,           /* question: {question}, and the same */
    PROMPT_NOTICE_CALL,        /* notice-call, a call that cannot be read: {problem} {example} {tool_names} */
    PROMPT_NOTICE_TOOL,        /* notice-tool, a tool the run does not have: {name} {tool_names} */
    PROMPT_NOTICE_NOTHING,     /* notice-nothing, neither call nor answer: {tool_names} */
    PROMPT_NOTICE_REPEATED,    /* notice-repeated, text that went round in circles: {tool_names} */
    PROMPT_NOTICE_FAILED,      /* notice-failed, a tool that failed without words of its own: {tool} {problem} */
    PROMPT_NOTICE_TIMEOUT,     /* notice-timeout: {tool} {seconds} */
    PROMPT_NOTICE_INTERRUPTED, /* notice-interrupted, a call lost in a crash: {tool} */
    PROMPT_NOTICE_CUT,      /* notice-cut, at the end of a shortened observation: {omitted} {total}, bytes as "12 KB" */
    PROMPT_NOTICE_TOOLS,    /* notice-tools, the run has other tools from now on: {tools} {tool_names} */
    PROMPT_NOTICE_EMPTY,    /* notice-empty, a tool that returned nothing: {tool} */
    PROMPT_WARNING,         /* warning, a limit comes near: {what} {used} {limit} */
    PROMPT_DEMAND_CALLS,    /* demand-calls: answer now, the calls are used up: {question} */
    PROMPT_DEMAND_CONTEXT,  /* demand-context: the window is full: {question} */
    PROMPT_DEMAND_TIME,     /* demand-time: {question} */
    PROMPT_DEMAND_COST,     /* demand-cost: money or total tokens: {question} */
    PROMPT_DEMAND_STUCK,    /* demand-stuck: several unusable completions in a row: {question} */
    PROMPT_SEARCH_BLOCK,    /* search-block, the results of one query: {query} {count} {results} {notice} */
    PROMPT_SEARCH_RESULT,   /* search-result, one of them: {number} {title} {url} {date} {source} {snippet} */
    PROMPT_SEARCH_EMPTY,    /* search-empty, a query without results: {query} */
    PROMPT_SEARCH_FAILED,   /* search-failed, a query whose backend failed: {query} {problem} */
    PROMPT_SCHOLAR_BLOCK,   /* scholar-block, the papers of one query: {query} {count} {results} {notice} */
    PROMPT_SCHOLAR_RESULT,  /* scholar-result, one of them: {number} {title} {url} {pdf} {authors} {venue} {publication}
                               {year} {citations} {abstract}; publication is authors, venue and year in one line */
    PROMPT_SCHOLAR_CLOSED,  /* scholar-closed, the same without an open PDF */
    PROMPT_VISIT_PAGE,      /* visit-page, what one page says of the goal: {url} {title} {author} {date} {note} {goal}
                               {evidence} {summary} {links}, a list that begins with a newline */
    PROMPT_VISIT_FAILED,    /* visit-failed, a page that could not be read: {url} {goal} {problem} */
    PROMPT_PAGE_SUMMARY,    /* page-summary, asks the summary model for JSON: {url} {goal} {content} */
    PROMPT_FILE_BLOCK,      /* file-block, what a call of parse_file gives: {files} {count} {tokens} */
    PROMPT_FILE_WHOLE,      /* file-whole, a short file: {name} {about} {content}; about is kind, title and the like */
    PROMPT_FILE_PIECE,      /* file-piece, the part that was asked for: the same, and {what} */
    PROMPT_FILE_OVERVIEW,   /* file-overview, a long one: {name} {about} {content} {contents} {tokens} {parts} */
    PROMPT_FILE_FAILED,     /* file-failed: {name} {problem} */
    PROMPT_IMAGE_TEXT,      /* image-text, asks the vision model what an image shows: {name} {question} */
    PROMPT_PYTHON_STREAM,   /* python-stream, what a program printed: {stream}, "stdout" or "stderr", and {text} */
    PROMPT_PYTHON_LEFT_OUT, /* python-left-out, in the middle of long output: {bytes} */
    PROMPT_PYTHON_SILENT,   /* python-silent, a program that printed nothing */
    PROMPT_PYTHON_RAISED,   /* python-raised: {exception}, type and message, and {line} */
    PROMPT_PYTHON_RAISED_NOWHERE, /* python-raised-nowhere, the same without a line */
    PROMPT_PYTHON_EXIT,           /* python-exit: {code} */
    PROMPT_PYTHON_CRASHED,        /* python-crashed: {signal} */
    PROMPT_PYTHON_TIMEOUT,        /* python-timeout: {seconds} */
    PROMPT_PYTHON_MEMORY,         /* python-memory, all its processes together used too much: {megabytes} */
    PROMPT_PYTHON_CPU,            /* python-cpu: {seconds} */
    PROMPT_PYTHON_PROCESSES,      /* python-processes, too many */
    PROMPT_PYTHON_FLOOD,          /* python-flood, too much output: {megabytes} */
    PROMPT_PYTHON_NOT_RUN,        /* python-not-run: {problem} */
    PROMPT_PYTHON_STATE_LOST,     /* python-state-lost, a session's names and files are gone */
    PROMPT_COUNT
};

/* A loaded profile. Fields are set by profile_load and not changed afterwards. */
struct profile {
    char *name;
    char *description; /* one line for `fathom profile list` */
    char *origin;      /* "built in", or the folder it came from */
    enum profile_layout layout;
    enum tool_rendering tool_rendering;
    enum call_choice calls;
    enum call_dialect dialect;
    enum demand_place demand;
    enum thought_history history;
    enum thought_rule thought;
    enum observation_style observations;
    struct sampling sampling;
    int64_t max_tokens;     /* completion cap */
    char *result_separator; /* between the results of one query */
    char *search_separator; /* between the blocks of several queries; begins and ends with what stands between, e.g.
                               "\n---\n" */
    char *visit_separator;  /* between pages */
    char hash[65];          /* SHA-256 over settings and prompts, lower-case hex: the result's prompts_hash */
    struct profile_prompts *prompts; /* private */
};

struct profile_source {
    const char *prompts_dir; /* --prompts: a file at the same path below it (e.g. generic/system.md) replaces the
                                embedded one; NULL for none */
};

/* Loads the profile `name`: the folder of that name among the embedded ones or in source->prompts_dir; when `name`
 * contains a slash or is a folder's path, that folder. `source` may be NULL. STATUS_NOT_FOUND (the error lists what
 * there is), STATUS_IO, STATUS_SYNTAX (file, line and column), STATUS_INVALID (an unknown key, value or placeholder;
 * file, line and column). */
enum status profile_load(const char *name, const struct profile_source *source, struct profile **out,
                         struct error *error) STATUS_CHECKED;

/* NULL is allowed. */
void profile_destroy(struct profile *profile);

/* The name of the profile whose patterns fit the model's name best ("generic" when none does), in fresh memory. The
 * patterns are the key `models` of each profile.yaml: shell wildcards, matched without regard to case against the whole
 * name and against the part behind its last slash; the longest one that fits wins. */
enum status profile_name_for_model(const char *model, const struct profile_source *source, char **name,
                                   struct error *error) STATUS_CHECKED;

/* The names of the profiles there are, sorted, as a NULL-ended array; the caller frees with profile_list_free. */
char **profile_list(const struct profile_source *source);
void profile_list_free(char **names);

const char *profile_prompt_name(enum prompt_id id);

/* The file that a prompt came from, for `profile show`; and its text as it stands there. Borrowed. */
const char *profile_prompt_origin(const struct profile *profile, enum prompt_id id);
struct str profile_prompt_text(const struct profile *profile, enum prompt_id id);

/* The whole profile: {"name", "description", "origin", "hash", "settings": {as in profile.yaml}, "prompts": {name:
 * {"origin", "text", and "syntax" and "append" where they are not the usual}}, "tools": {name: {"origin", "text"}}}. A
 * new reference. */
json_t *profile_to_json(const struct profile *profile);

struct prompt_value {
    const char *name; /* without braces */
    struct str text;
};

/* Appends the prompt with its placeholders replaced. A placeholder without a value is empty. STATUS_TOO_BIG when out's
 * cap is passed; nothing else can fail. */
enum status profile_render(const struct profile *profile, enum prompt_id id, const struct prompt_value *values,
                           size_t count, struct buf *out) STATUS_CHECKED;

/* What the run begins with. */
struct profile_start {
    struct str question;
    struct str date; /* "2026-03-01" */
    const struct tool_signature *const *tools;
    size_t n_tools;
};

/* Appends the system message and the first user message of a run to buffers made with BUF_UNBOUNDED, like the next two.
 * An empty system message means there is none. */
void profile_render_start(const struct profile *profile, const struct profile_start *start, struct buf *system,
                          struct buf *user);

/* Appends the tool list alone, as {tools} gives it. */
void profile_render_tools(const struct profile *profile, const struct tool_signature *const *tools, size_t n_tools,
                          struct buf *out);

/* Appends `text`, cut to at most `max_bytes` of it, at the end of a line where one lies in the last quarter, else
 * between characters, and behind an empty line the profile's note of how much went (on top of max_bytes). A text that
 * fits is appended as it is. Returns the bytes left out; a caller that passes a buffer of BUF_UNBOUNDED needs no check.
 */
size_t profile_cut_observation(const struct profile *profile, struct str text, size_t max_bytes, struct buf *out);

#endif
