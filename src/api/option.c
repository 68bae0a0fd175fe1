#include "api/option.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

#define MODEL_OPTION(name_)   .id = OPTION_##name_, .group = OPTION_GROUP_MODEL
#define SUMMARY_OPTION(name_) .id = OPTION_SUMMARY_##name_, .group = OPTION_GROUP_SUMMARY
#define RUN_OPTION(name_)     .id = OPTION_##name_, .group = OPTION_GROUP_RUN
#define TOOL_OPTION(name_)    .id = OPTION_##name_, .group = OPTION_GROUP_TOOLS
#define NETWORK_OPTION(name_) .id = OPTION_##name_, .group = OPTION_GROUP_NETWORK

#define TEMPLATES "chatml|llama3|mistral|mistral-v3|mistral-tekken|mistral-v7|gemma|plain"

static const struct option_spec specs[OPTION_COUNT] = {
    [OPTION_BASE_URL] = {MODEL_OPTION(BASE_URL), .name = "base-url", .argument = "URL", .list = true,
                         .environment = "OPENAI_BASE_URL",
                         .shown = "api.openai.com when there is a key, else a server found on this machine",
                         .help = "address of an OpenAI-compatible server, for example http://127.0.0.1:8000/v1; "
                                 "several form a pool"},
    [OPTION_API_KEY] = {MODEL_OPTION(API_KEY), .name = "api-key", .argument = "KEY", .secret = true,
                        .environment = "OPENAI_API_KEY",
                        .help = "key for the server; better kept in the environment or a file, since other users can "
                                "see a command line"},
    [OPTION_MODEL] = {MODEL_OPTION(MODEL), .name = "model", .argument = "NAME", .shown = "the server's only one",
                      .help = "model to ask for; builtin is the extractive reader that needs no server"},
    [OPTION_PROTOCOL] = {MODEL_OPTION(PROTOCOL), .name = "protocol", .type = OPTION_CHOICE, .argument = "KIND",
                         .choices = "chat|completions", .fallback = "chat",
                         .help = "talk to /chat/completions, or to /completions with --template"},
    [OPTION_TEMPLATE] = {MODEL_OPTION(TEMPLATE), .name = "template", .type = OPTION_CHOICE, .argument = "NAME",
                         .choices = TEMPLATES, .fallback = "chatml",
                         .help = "how messages become one prompt with --protocol completions"},
    [OPTION_TEMPERATURE] = {MODEL_OPTION(TEMPERATURE), .name = "temperature", .type = OPTION_NUMBER, .argument = "X",
                            .maximum = 10, .shown = "the profile's", .help = "sampling temperature"},
    [OPTION_TOP_P] = {MODEL_OPTION(TOP_P), .name = "top-p", .type = OPTION_NUMBER, .argument = "X", .maximum = 1,
                      .shown = "the profile's", .help = "nucleus sampling: share of probability to sample from"},
    [OPTION_TOP_K] = {MODEL_OPTION(TOP_K), .name = "top-k", .type = OPTION_INTEGER, .argument = "N", .minimum = -1,
                      .maximum = 1000000, .shown = "the profile's", .help = "sample from the N likeliest tokens"},
    [OPTION_MIN_P] = {MODEL_OPTION(MIN_P), .name = "min-p", .type = OPTION_NUMBER, .argument = "X", .maximum = 1,
                      .shown = "the profile's", .help = "leave out tokens below X times the likeliest one"},
    [OPTION_PRESENCE_PENALTY] = {MODEL_OPTION(PRESENCE_PENALTY), .name = "presence-penalty", .type = OPTION_NUMBER,
                                 .argument = "X", .minimum = -2, .maximum = 2, .shown = "the profile's",
                                 .help = "penalty for tokens that were used before"},
    [OPTION_REPETITION_PENALTY] = {MODEL_OPTION(REPETITION_PENALTY), .name = "repetition-penalty",
                                   .type = OPTION_NUMBER, .argument = "X", .maximum = 10,
                                   .help = "factor against repeated tokens, where the server knows it"},
    [OPTION_SEED] = {MODEL_OPTION(SEED), .name = "seed", .type = OPTION_INTEGER, .argument = "N",
                     .maximum = 9007199254740991.0, .help = "seed of the sampler, where the server takes one"},
    [OPTION_MAX_TOKENS] = {MODEL_OPTION(MAX_TOKENS), .name = "max-tokens", .type = OPTION_TOKENS, .argument = "N",
                           .minimum = 1, .maximum = 1e9, .shown = "the profile's", .help = "cap of one completion"},
    [OPTION_EXTRA_BODY] = {MODEL_OPTION(EXTRA_BODY), .name = "extra-body", .type = OPTION_JSON, .argument = "JSON",
                           .help = "object whose members are added to every request"},
    [OPTION_HEADER] = {MODEL_OPTION(HEADER), .name = "header", .argument = "'NAME: VALUE'", .list = true,
                       .secret = true, .whole = true, .help = "header to send with every request to the server"},
    [OPTION_CONTEXT_WINDOW] = {MODEL_OPTION(CONTEXT_WINDOW), .name = "context-window", .type = OPTION_TOKENS,
                               .argument = "TOKENS", .minimum = 1024, .maximum = 1e9,
                               .shown = "what the server says, else 128k",
                               .help = "the model's window: prompt and completion together"},
    [OPTION_MODEL_TRIES] = {MODEL_OPTION(MODEL_TRIES), .name = "model-tries", .type = OPTION_INTEGER, .argument = "N",
                            .minimum = 1, .maximum = 1000, .fallback = "10",
                            .help = "tries for one completion before the run ends with model_error"},
    [OPTION_FIRST_BYTE_TIMEOUT] = {MODEL_OPTION(FIRST_BYTE_TIMEOUT), .name = "first-byte-timeout",
                                   .type = OPTION_DURATION, .argument = "TIME", .fallback = "600s",
                                   .help = "how long a completion may take to begin"},
    [OPTION_STALL_TIMEOUT] = {MODEL_OPTION(STALL_TIMEOUT), .name = "stall-timeout", .type = OPTION_DURATION,
                              .argument = "TIME", .fallback = "120s", .help = "how long a stream may be silent"},
    [OPTION_COMPLETION_TIMEOUT] = {MODEL_OPTION(COMPLETION_TIMEOUT), .name = "completion-timeout",
                                   .type = OPTION_DURATION, .argument = "TIME", .shown = "none",
                                   .help = "how long one completion may take in all"},
    [OPTION_MAX_IN_FLIGHT] = {MODEL_OPTION(MAX_IN_FLIGHT), .name = "max-in-flight", .type = OPTION_INTEGER,
                              .argument = "N", .minimum = 1, .maximum = 100000, .fallback = "32",
                              .help = "requests under way at once at one server"},
    [OPTION_PRICE_PROMPT] = {MODEL_OPTION(PRICE_PROMPT), .name = "price-prompt", .type = OPTION_NUMBER,
                             .argument = "USD", .maximum = 1e6, .help = "price of a million prompt tokens"},
    [OPTION_PRICE_COMPLETION] = {MODEL_OPTION(PRICE_COMPLETION), .name = "price-completion", .type = OPTION_NUMBER,
                                 .argument = "USD", .maximum = 1e6, .help = "price of a million completion tokens"},
    [OPTION_PRICE_CACHED] = {MODEL_OPTION(PRICE_CACHED), .name = "price-cached", .type = OPTION_NUMBER,
                             .argument = "USD", .maximum = 1e6, .shown = "as prompt tokens",
                             .help = "price of a million prompt tokens from the server's cache"},
    [OPTION_CA_FILE] = {NETWORK_OPTION(CA_FILE), .name = "ca-file", .argument = "FILE", .shown = "the system's",
                        .help = "certificates to trust, as PEM"},

    [OPTION_SUMMARY_BASE_URL] = {SUMMARY_OPTION(BASE_URL), .name = "summary-base-url", .argument = "URL", .list = true,
                                 .environment = "API_BASE", .shown = "the agent's",
                                 .help = "server for the summaries of visited pages"},
    [OPTION_SUMMARY_API_KEY] = {SUMMARY_OPTION(API_KEY), .name = "summary-api-key", .argument = "KEY", .secret = true,
                                .environment = "API_KEY", .help = "its key"},
    [OPTION_SUMMARY_MODEL] = {SUMMARY_OPTION(MODEL), .name = "summary-model", .argument = "NAME",
                              .environment = "SUMMARY_MODEL_NAME", .shown = "the agent's", .help = "its model"},
    [OPTION_SUMMARY_PROTOCOL] = {SUMMARY_OPTION(PROTOCOL), .name = "summary-protocol", .type = OPTION_CHOICE,
                                 .argument = "KIND", .choices = "chat|completions", .shown = "the agent's",
                                 .help = "as --protocol"},
    [OPTION_SUMMARY_TEMPLATE] = {SUMMARY_OPTION(TEMPLATE), .name = "summary-template", .type = OPTION_CHOICE,
                                 .argument = "NAME", .choices = TEMPLATES, .shown = "the agent's",
                                 .help = "as --template"},
    [OPTION_SUMMARY_TEMPERATURE] = {SUMMARY_OPTION(TEMPERATURE), .name = "summary-temperature", .type = OPTION_NUMBER,
                                    .argument = "X", .maximum = 10, .help = "as --temperature"},
    [OPTION_SUMMARY_TOP_P] = {SUMMARY_OPTION(TOP_P), .name = "summary-top-p", .type = OPTION_NUMBER, .argument = "X",
                              .maximum = 1, .help = "as --top-p"},
    [OPTION_SUMMARY_TOP_K] = {SUMMARY_OPTION(TOP_K), .name = "summary-top-k", .type = OPTION_INTEGER, .argument = "N",
                              .minimum = -1, .maximum = 1000000, .help = "as --top-k"},
    [OPTION_SUMMARY_SEED] = {SUMMARY_OPTION(SEED), .name = "summary-seed", .type = OPTION_INTEGER, .argument = "N",
                             .maximum = 9007199254740991.0, .help = "as --seed"},
    [OPTION_SUMMARY_MAX_TOKENS] = {SUMMARY_OPTION(MAX_TOKENS), .name = "summary-max-tokens", .type = OPTION_TOKENS,
                                   .argument = "N", .minimum = 1, .maximum = 1e9, .shown = "visit's own",
                                   .help = "cap of one summary"},
    [OPTION_SUMMARY_EXTRA_BODY] = {SUMMARY_OPTION(EXTRA_BODY), .name = "summary-extra-body", .type = OPTION_JSON,
                                   .argument = "JSON", .help = "as --extra-body"},
    [OPTION_SUMMARY_HEADER] = {SUMMARY_OPTION(HEADER), .name = "summary-header", .argument = "'NAME: VALUE'",
                               .list = true, .secret = true, .whole = true, .help = "as --header"},
    [OPTION_SUMMARY_CONTEXT_WINDOW] = {SUMMARY_OPTION(CONTEXT_WINDOW), .name = "summary-context-window",
                                       .type = OPTION_TOKENS, .argument = "TOKENS", .minimum = 1024, .maximum = 1e9,
                                       .help = "as --context-window"},
    [OPTION_SUMMARY_MAX_IN_FLIGHT] = {SUMMARY_OPTION(MAX_IN_FLIGHT), .name = "summary-max-in-flight",
                                      .type = OPTION_INTEGER, .argument = "N", .minimum = 1, .maximum = 100000,
                                      .shown = "the agent's", .help = "as --max-in-flight"},
    [OPTION_SUMMARY_PRICE_PROMPT] = {SUMMARY_OPTION(PRICE_PROMPT), .name = "summary-price-prompt",
                                     .type = OPTION_NUMBER, .argument = "USD", .maximum = 1e6,
                                     .shown = "the agent's where it serves both", .help = "as --price-prompt"},
    [OPTION_SUMMARY_PRICE_COMPLETION] = {SUMMARY_OPTION(PRICE_COMPLETION), .name = "summary-price-completion",
                                         .type = OPTION_NUMBER, .argument = "USD", .maximum = 1e6,
                                         .help = "as --price-completion"},
    [OPTION_SUMMARY_PRICE_CACHED] = {SUMMARY_OPTION(PRICE_CACHED), .name = "summary-price-cached",
                                     .type = OPTION_NUMBER, .argument = "USD", .maximum = 1e6,
                                     .help = "as --price-cached"},

    [OPTION_PROFILE] = {RUN_OPTION(PROFILE), .name = "profile", .argument = "NAME|DIR",
                        .shown = "chosen by the model's name",
                        .help = "the form of the protocol that the model was trained on; see fathom profile list"},
    [OPTION_PROMPTS] = {RUN_OPTION(PROMPTS), .name = "prompts", .argument = "DIR",
                        .help = "folder whose files replace built-in prompts of the same path"},
    [OPTION_DATE] = {RUN_OPTION(DATE), .name = "date", .argument = "YYYY-MM-DD", .shown = "today",
                     .help = "the date that the model is told"},
    [OPTION_MAX_CALLS] = {RUN_OPTION(MAX_CALLS), .name = "max-calls", .type = OPTION_INTEGER, .argument = "N",
                          .minimum = 1, .maximum = 1e6, .fallback = "100",
                          .help = "model calls; the last one must answer"},
    [OPTION_CONTEXT_LIMIT] = {RUN_OPTION(CONTEXT_LIMIT), .name = "context-limit", .type = OPTION_TOKENS,
                              .argument = "TOKENS", .minimum = 256, .maximum = 1e9, .fallback = "110k",
                              .help = "tokens of prompt at which the answer is demanded"},
    [OPTION_TIME_LIMIT] = {RUN_OPTION(TIME_LIMIT), .name = "time-limit", .type = OPTION_DURATION, .argument = "TIME",
                           .fallback = "150m", .help = "wall time at which the answer is demanded; 0 for none"},
    [OPTION_GRACE] = {RUN_OPTION(GRACE), .name = "grace", .type = OPTION_DURATION, .argument = "TIME",
                      .fallback = "120s", .help = "what the demanded answer gets past the time limit"},
    [OPTION_MAX_COST] = {RUN_OPTION(MAX_COST), .name = "max-cost", .type = OPTION_NUMBER, .argument = "USD",
                         .maximum = 1e9, .shown = "none", .help = "cost at which the answer is demanded; needs prices"},
    [OPTION_TOTAL_TOKENS] = {RUN_OPTION(TOTAL_TOKENS), .name = "total-tokens", .type = OPTION_TOKENS, .argument = "N",
                             .maximum = 1e12, .shown = "none",
                             .help = "prompt and completion tokens of the whole run at which the answer is demanded"},
    [OPTION_OBSERVATION_TOKENS] = {RUN_OPTION(OBSERVATION_TOKENS), .name = "observation-tokens", .type = OPTION_TOKENS,
                                   .argument = "N", .minimum = 64, .maximum = 1e9, .fallback = "32000",
                                   .help = "cap of what one tool call returns"},

    [OPTION_TOOLS] = {TOOL_OPTION(TOOLS), .name = "tools", .argument = "LIST", .list = true, .fallback = "search,visit",
                      .help = "the tools that the model gets; none for no tools"},
    [OPTION_TOOL_TIMEOUT] = {TOOL_OPTION(TOOL_TIMEOUT), .name = "tool-timeout", .type = OPTION_DURATION,
                             .argument = "TIME", .minimum = 0.001, .maximum = 36000000, .shown = "each tool's own",
                             .help = "how long a tool call may take"},
    [OPTION_SEARCH] = {TOOL_OPTION(SEARCH), .name = "search", .type = OPTION_CHOICE, .argument = "BACKEND",
                       .choices = "auto|corpus|searxng|serper", .fallback = "auto",
                       .help =
                           "where search looks; auto takes what is configured: a corpus, else Serper, else SearXNG"},
    [OPTION_SEARCH_URL] = {TOOL_OPTION(SEARCH_URL), .name = "search-url", .argument = "URL",
                           .help = "address of the search service that --search names; with auto, a SearXNG instance"},
    [OPTION_SERPER_KEY] = {TOOL_OPTION(SERPER_KEY), .name = "serper-key", .argument = "KEY", .secret = true,
                           .environment = "SERPER_API_KEY SERPER_KEY_ID", .help = "key for google.serper.dev"},
    [OPTION_SEARXNG_URL] = {TOOL_OPTION(SEARXNG_URL), .name = "searxng-url", .argument = "URL",
                            .environment = "SEARXNG_URL", .help = "address of a SearXNG instance that gives JSON"},
    [OPTION_SEARCH_RESULTS] = {TOOL_OPTION(SEARCH_RESULTS), .name = "search-results", .type = OPTION_INTEGER,
                               .argument = "N", .minimum = 1, .maximum = 100, .fallback = "10",
                               .help = "results for each query"},
    [OPTION_CORPUS] = {TOOL_OPTION(CORPUS), .name = "corpus", .argument = "FILE.db",
                       .help = "local corpus made by fathom index; search and visit use it"},
    [OPTION_READER] = {TOOL_OPTION(READER), .name = "reader", .type = OPTION_CHOICE, .argument = "KIND",
                       .choices = "direct|jina", .fallback = "direct",
                       .help = "how visit reads pages: itself, or through Jina Reader"},
    [OPTION_JINA_URL] = {TOOL_OPTION(JINA_URL), .name = "jina-url", .argument = "URL", .fallback = "https://r.jina.ai",
                         .help = "address of Jina Reader"},
    [OPTION_JINA_KEY] = {TOOL_OPTION(JINA_KEY), .name = "jina-key", .argument = "KEY", .secret = true,
                         .environment = "JINA_API_KEY JINA_API_KEYS", .help = "its key"},
    [OPTION_SUMMARIZER] = {TOOL_OPTION(SUMMARIZER), .name = "summarizer", .type = OPTION_CHOICE, .argument = "KIND",
                           .choices = "auto|model|extractive", .fallback = "auto",
                           .help = "what reduces a page to the goal: the summary model, or a choice of its passages; "
                                   "auto takes the model unless it is builtin"},

    [OPTION_ALLOW_ADDRESS] = {NETWORK_OPTION(ALLOW_ADDRESS), .name = "allow-address", .argument = "CIDR", .list = true,
                              .shown = "public addresses only",
                              .help = "internal network that visit may reach, for example 127.0.0.1 or 10.1.0.0/16"},
    [OPTION_PROXY] = {NETWORK_OPTION(PROXY), .name = "proxy", .argument = "URL", .shown = "none",
                      .help = "proxy for pages; proxies in the environment count only for configured servers"},
};

const struct option_spec *option_spec(enum option_id id)
{
    return &specs[id];
}

/* Whether the YAML path or flag `name` is `spec_name`, underscores being dashes. */
static bool same_name(struct str name, const char *spec_name)
{
    size_t i = 0;
    for (; i < name.len && spec_name[i] != '\0'; i++) {
        char c = name.data[i] == '_' ? '-' : name.data[i];
        if (c != spec_name[i])
            return false;
    }
    return i == name.len && spec_name[i] == '\0';
}

const struct option_spec *option_find(struct str name)
{
    if (str_starts_with(name, STR("agent-")) || str_starts_with(name, STR("agent_")))
        name = str_slice(name, 6, name.len);
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (same_name(name, specs[i].name))
            return &specs[i];
    }
    return NULL;
}

const char *option_group_title(enum option_group group)
{
    switch (group) {
    case OPTION_GROUP_MODEL:
        return "Model";
    case OPTION_GROUP_SUMMARY:
        return "Model for summaries";
    case OPTION_GROUP_RUN:
        return "Run";
    case OPTION_GROUP_TOOLS:
        return "Tools";
    case OPTION_GROUP_NETWORK:
        return "Network";
    }
    return "";
}

const char *option_environment_name(const struct option_spec *spec, char *out, size_t size)
{
    snprintf(out, size, "FATHOM_%s", spec->name);
    for (char *c = out; *c != '\0'; c++)
        *c = *c == '-' ? '_' : (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    return out;
}

/* Edits (insert, delete, replace, swap of neighbours) between two names, compared without regard to case. */
static size_t edit_distance(struct str a, struct str b)
{
    size_t width = b.len + 1;
    size_t *rows = mem_calloc(3 * width, sizeof *rows);
    size_t *before = rows, *above = rows + width, *row = rows + 2 * width;
    for (size_t j = 0; j < width; j++)
        above[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        row[0] = i;
        for (size_t j = 1; j < width; j++) {
            char x = ascii_lower(a.data[i - 1]), y = ascii_lower(b.data[j - 1]);
            size_t best = above[j - 1] + (x != y);
            if (above[j] + 1 < best)
                best = above[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && x == ascii_lower(b.data[j - 2]) && y == ascii_lower(a.data[i - 2]) &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
        size_t *spare = before;
        before = above;
        above = row;
        row = spare;
    }
    size_t distance = above[b.len];
    free(rows);
    return distance;
}

const char *suggest_nearest(struct str name, const char *const *candidates, size_t n_candidates)
{
    const char *best = NULL;
    size_t best_distance = SIZE_MAX;
    if (name.len > 64)
        return NULL;
    for (size_t i = 0; i < n_candidates; i++) {
        struct str candidate = str_of(candidates[i]);
        size_t distance = edit_distance(name, candidate);
        size_t allowed = candidate.len <= 4 ? 1 : candidate.len <= 9 ? 2 : 3;
        bool prefix = name.len >= 3 && str_starts_with_nocase(candidate, name);
        if (prefix)
            distance = distance < 2 ? distance : 2;
        if ((distance <= allowed || prefix) && distance < best_distance) {
            best = candidates[i];
            best_distance = distance;
        }
    }
    return best;
}

const char *option_suggest(struct str name, unsigned groups)
{
    const char *names[OPTION_COUNT];
    size_t count = 0;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if ((specs[i].group & groups) != 0)
            names[count++] = specs[i].name;
    }
    return suggest_nearest(name, names, count);
}
