/* src/api/option.h
 *
 * The one option table. Every setting of the program that can stand in a configuration file stands here once: its flag,
 * its environment variables, its key in YAML, its type and range, its default and its help. Reading a file, reading
 * flags, writing --help and docs/configuration.md's table all go through it.
 *
 * One name serves everywhere: `--summary-max-tokens`, `FATHOM_SUMMARY_MAX_TOKENS`, and in YAML `summary-max-tokens`,
 * `summary_max_tokens` or `summary: {max_tokens: …}`: the keys on the way to a value are joined by dashes, and
 * underscores count as dashes.
 */
#ifndef FATHOM_API_OPTION_H
#define FATHOM_API_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/str.h"

enum option_id {
    /* model of the agent */
    OPTION_BASE_URL,
    OPTION_API_KEY,
    OPTION_MODEL,
    OPTION_PROTOCOL,
    OPTION_TEMPLATE,
    OPTION_TEMPERATURE,
    OPTION_TOP_P,
    OPTION_TOP_K,
    OPTION_MIN_P,
    OPTION_PRESENCE_PENALTY,
    OPTION_REPETITION_PENALTY,
    OPTION_SEED,
    OPTION_MAX_TOKENS,
    OPTION_EXTRA_BODY,
    OPTION_HEADER,
    OPTION_CONTEXT_WINDOW,
    OPTION_MODEL_TRIES,
    OPTION_FIRST_BYTE_TIMEOUT,
    OPTION_STALL_TIMEOUT,
    OPTION_COMPLETION_TIMEOUT,
    OPTION_MAX_IN_FLIGHT,
    OPTION_PRICE_PROMPT,
    OPTION_PRICE_COMPLETION,
    OPTION_PRICE_CACHED,
    OPTION_CA_FILE,
    /* how its tokens are counted */
    OPTION_TOKENIZER,
    OPTION_CHAT_TEMPLATE,
    /* model of summaries; what is not set is the agent's where it has no address of its own */
    OPTION_SUMMARY_BASE_URL,
    OPTION_SUMMARY_API_KEY,
    OPTION_SUMMARY_MODEL,
    OPTION_SUMMARY_PROTOCOL,
    OPTION_SUMMARY_TEMPLATE,
    OPTION_SUMMARY_TEMPERATURE,
    OPTION_SUMMARY_TOP_P,
    OPTION_SUMMARY_TOP_K,
    OPTION_SUMMARY_SEED,
    OPTION_SUMMARY_MAX_TOKENS,
    OPTION_SUMMARY_EXTRA_BODY,
    OPTION_SUMMARY_HEADER,
    OPTION_SUMMARY_CONTEXT_WINDOW,
    OPTION_SUMMARY_MAX_IN_FLIGHT,
    OPTION_SUMMARY_TOKENIZER,
    OPTION_SUMMARY_PRICE_PROMPT,
    OPTION_SUMMARY_PRICE_COMPLETION,
    OPTION_SUMMARY_PRICE_CACHED,
    /* models of files: what images show, what is said in sound and film */
    OPTION_VISION_BASE_URL,
    OPTION_VISION_API_KEY,
    OPTION_VISION_MODEL,
    OPTION_VISION_MAX_TOKENS,
    OPTION_VISION_EXTRA_BODY,
    OPTION_VISION_HEADER,
    OPTION_VISION_CONTEXT_WINDOW,
    OPTION_VISION_MAX_IN_FLIGHT,
    OPTION_VISION_PRICE_PROMPT,
    OPTION_VISION_PRICE_COMPLETION,
    OPTION_TRANSCRIPTION_BASE_URL,
    OPTION_TRANSCRIPTION_API_KEY,
    OPTION_TRANSCRIPTION_MODEL,
    OPTION_TRANSCRIPTION_LANGUAGE,
    OPTION_TRANSCRIPTION_HEADER,
    OPTION_TRANSCRIPTION_TIMEOUT,
    OPTION_TRANSCRIPTION_MAX_IN_FLIGHT,
    OPTION_TRANSCRIPTION_PRICE_PROMPT,
    OPTION_TRANSCRIPTION_PRICE_COMPLETION,
    /* the run */
    OPTION_PROFILE,
    OPTION_PROMPTS,
    OPTION_DATE,
    OPTION_MAX_CALLS,
    OPTION_CONTEXT_LIMIT,
    OPTION_TIME_LIMIT,
    OPTION_GRACE,
    OPTION_MAX_COST,
    OPTION_TOTAL_TOKENS,
    OPTION_OBSERVATION_TOKENS,
    /* tools */
    OPTION_TOOLS,
    OPTION_TOOL_TIMEOUT,
    OPTION_OWN_TOOLS,
    OPTION_OWN_TOOL,
    OPTION_MCP_SERVERS,
    OPTION_MCP,
    OPTION_SEARCH,
    OPTION_SEARCH_URL,
    OPTION_SERPER_URL,
    OPTION_SERPER_KEY,
    OPTION_BRAVE_URL,
    OPTION_BRAVE_KEY,
    OPTION_TAVILY_URL,
    OPTION_TAVILY_KEY,
    OPTION_SEARXNG_URL,
    OPTION_WIKIPEDIA_URL,
    OPTION_DUCKDUCKGO_URL,
    OPTION_SEARCH_RESULTS,
    OPTION_SCHOLAR,
    OPTION_SCHOLAR_MAILTO,
    OPTION_SERPER_SCHOLAR_URL,
    OPTION_OPENALEX_URL,
    OPTION_OPENALEX_KEY,
    OPTION_SEMANTIC_SCHOLAR_URL,
    OPTION_SEMANTIC_SCHOLAR_KEY,
    OPTION_CROSSREF_URL,
    OPTION_ARXIV_URL,
    OPTION_CORPUS,
    OPTION_FILE,
    OPTION_FILE_ROOT,
    OPTION_FILE_TOKENS,
    OPTION_WORKER,
    OPTION_READER,
    OPTION_FALLBACK,
    OPTION_JINA_URL,
    OPTION_JINA_KEY,
    OPTION_ARCHIVE_URL,
    OPTION_SUMMARIZER,
    OPTION_PYTHON,
    OPTION_PYTHON_SANDBOX,
    OPTION_PYTHON_SESSION,
    OPTION_PYTHON_TIMEOUT,
    OPTION_PYTHON_MEMORY,
    OPTION_SANDBOX_FUSION,
    OPTION_CONSENT,
    OPTION_ASK_USER,
    /* network */
    OPTION_ALLOW_ADDRESS,
    OPTION_PROXY,
    OPTION_CACHE,
    OPTION_NO_CACHE,
    OPTION_CACHE_SIZE,
    OPTION_CACHE_AGE,
    OPTION_SITE_PARALLEL,
    OPTION_SITE_GAP,
    OPTION_ROBOTS,
    OPTION_COUNT,
};

enum option_type {
    OPTION_TEXT,
    OPTION_INTEGER,  /* within minimum and maximum */
    OPTION_NUMBER,   /* the same, with a fraction */
    OPTION_DURATION, /* "90s", "150m", "1h30m"; kept in milliseconds */
    OPTION_TOKENS,   /* a count with an optional k (1,024) or m (1,048,576) */
    OPTION_CHOICE,   /* one of `choices` */
    OPTION_JSON,     /* a JSON object */
    OPTION_SIZE,     /* bytes: a count with an optional kB, MB or GB (powers of 1,024) */
    OPTION_FLAG,     /* yes or no: --name is yes, and elsewhere yes, no, true or false is written */
};

/* Parts of the table that a command can ask for, in the order of --help. */
enum option_group {
    OPTION_GROUP_MODEL = 1,
    OPTION_GROUP_SUMMARY = 2,
    OPTION_GROUP_RUN = 4,
    OPTION_GROUP_TOOLS = 8,
    OPTION_GROUP_NETWORK = 16,
    OPTION_GROUP_MEDIA = 32,
    OPTION_GROUP_TOKENS = 64,
};
#define OPTION_GROUPS_ALL 127u

struct option_spec {
    enum option_id id;
    enum option_group group;
    enum option_type type;
    bool list;            /* several values: repeated or separated by commas on the command line, a sequence in YAML */
    bool secret;          /* never printed, not part of the configuration's hash */
    bool whole;           /* a list whose values may hold commas: only repetition separates */
    const char *name;     /* "max-calls" */
    const char *argument; /* "N", "URL"; for --help. NULL for an OPTION_FLAG */
    const char *help;     /* one sentence without a full stop, lower case at the beginning */
    const char *fallback; /* the default as it would be written; NULL where there is none */
    const char *shown;    /* what --help says of the default where it is not `fallback`; NULL: nothing else */
    const char *choices;  /* OPTION_CHOICE: "chat|completions" */
    const char
        *environment; /* further variables after FATHOM_NAME, separated by blanks; the first that is set counts */
    double minimum, maximum; /* INTEGER, NUMBER, TOKENS, DURATION (seconds); both 0: no bounds but 0 and up */
};

/* The table, in the order of enum option_id. */
const struct option_spec *option_spec(enum option_id id);

/* By flag name or YAML path, underscores as dashes, "agent-…" as the bare name. NULL when there is none. */
const struct option_spec *option_find(struct str name);

/* "Model", "Tools" …: the heading of a group in --help. */
const char *option_group_title(enum option_group group);

/* "FATHOM_MAX_CALLS", into `out`. Returns out. */
const char *option_environment_name(const struct option_spec *spec, char *out, size_t size);

/* The candidate most like `name`, when it is near enough to be what was meant (a swap of neighbours counts as one
 * edit); NULL otherwise. */
const char *suggest_nearest(struct str name, const char *const *candidates, size_t n_candidates);

/* The same over the names of the option table within `groups`. */
const char *option_suggest(struct str name, unsigned groups);

#endif
