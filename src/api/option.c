#include "api/option.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

#define MODEL_OPTION(name_)   .id = OPTION_##name_, .group = OPTION_GROUP_MODEL
#define SUMMARY_OPTION(name_) .id = OPTION_SUMMARY_##name_, .group = OPTION_GROUP_SUMMARY
#define RUN_OPTION(name_)     .id = OPTION_##name_, .group = OPTION_GROUP_RUN
#define TOOL_OPTION(name_)    .id = OPTION_##name_, .group = OPTION_GROUP_TOOLS
#define MEDIA_OPTION(name_)   .id = OPTION_##name_, .group = OPTION_GROUP_MEDIA
#define TOKEN_OPTION(name_)   .id = OPTION_##name_, .group = OPTION_GROUP_TOKENS
#define NETWORK_OPTION(name_) .id = OPTION_##name_, .group = OPTION_GROUP_NETWORK

/* All of protocol/template.h, which the tests compare. */
#define TEMPLATES                                                                                         \
    "chatml|llama3|mistral|mistral-v3|mistral-tekken|mistral-v7|gemma|plain|qwen1.5|qwen2|qwen2.5|qwen3|" \
    "qwen3-thinking|qwq|llama3.1|llama3.2|deepseek|deepseek-r1|deepseek-v3.1|glm4|glm4.5|"                \
    "chatglm3|internlm2|phi3|phi4|phi4-mini|kimi-k2|gpt-oss"

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
                         .shown = "what the tokenizer's files say, else chatml",
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

    [OPTION_TOKENIZER] = {TOKEN_OPTION(TOKENIZER), .name = "tokenizer", .argument = "PATH",
                          .shown = "none: tokens are estimated",
                          .help = "the model's own tokenizer, for exact counts: a tokenizer.json, a .tiktoken file, or "
                                  "a folder that holds one; none goes without"},
    [OPTION_CHAT_TEMPLATE] = {TOKEN_OPTION(CHAT_TEMPLATE), .name = "chat-template", .type = OPTION_CHOICE,
                              .argument = "NAME", .choices = "auto|" TEMPLATES, .fallback = "auto",
                              .help = "how the server writes messages as one prompt, for counting; auto takes what the "
                                      "tokenizer's files say, else asks the server"},

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
    [OPTION_SUMMARY_TOKENIZER] = {SUMMARY_OPTION(TOKENIZER), .name = "summary-tokenizer", .argument = "PATH",
                                  .shown = "the agent's where it serves both", .help = "as --tokenizer"},
    [OPTION_SUMMARY_PRICE_PROMPT] = {SUMMARY_OPTION(PRICE_PROMPT), .name = "summary-price-prompt",
                                     .type = OPTION_NUMBER, .argument = "USD", .maximum = 1e6,
                                     .shown = "the agent's where it serves both", .help = "as --price-prompt"},
    [OPTION_SUMMARY_PRICE_COMPLETION] = {SUMMARY_OPTION(PRICE_COMPLETION), .name = "summary-price-completion",
                                         .type = OPTION_NUMBER, .argument = "USD", .maximum = 1e6,
                                         .help = "as --price-completion"},
    [OPTION_SUMMARY_PRICE_CACHED] = {SUMMARY_OPTION(PRICE_CACHED), .name = "summary-price-cached",
                                     .type = OPTION_NUMBER, .argument = "USD", .maximum = 1e6,
                                     .help = "as --price-cached"},

    [OPTION_VISION_BASE_URL] = {MEDIA_OPTION(VISION_BASE_URL), .name = "vision-base-url", .argument = "URL",
                                .list = true, .shown = "the agent's where vision-model is set",
                                .help = "server of a model that sees images"},
    [OPTION_VISION_API_KEY] = {MEDIA_OPTION(VISION_API_KEY), .name = "vision-api-key", .argument = "KEY",
                               .secret = true, .help = "its key"},
    [OPTION_VISION_MODEL] = {MEDIA_OPTION(VISION_MODEL), .name = "vision-model", .argument = "NAME",
                             .help = "its model; without it and without an address images are shown to none"},
    [OPTION_VISION_MAX_TOKENS] = {MEDIA_OPTION(VISION_MAX_TOKENS), .name = "vision-max-tokens", .type = OPTION_TOKENS,
                                  .argument = "N", .minimum = 1, .maximum = 1e9, .fallback = "4k",
                                  .help = "cap of what is said of one image"},
    [OPTION_VISION_EXTRA_BODY] = {MEDIA_OPTION(VISION_EXTRA_BODY), .name = "vision-extra-body", .type = OPTION_JSON,
                                  .argument = "JSON", .help = "as --extra-body"},
    [OPTION_VISION_HEADER] = {MEDIA_OPTION(VISION_HEADER), .name = "vision-header", .argument = "'NAME: VALUE'",
                              .list = true, .secret = true, .whole = true, .help = "as --header"},
    [OPTION_VISION_CONTEXT_WINDOW] = {MEDIA_OPTION(VISION_CONTEXT_WINDOW), .name = "vision-context-window",
                                      .type = OPTION_TOKENS, .argument = "TOKENS", .minimum = 1024, .maximum = 1e9,
                                      .help = "as --context-window"},
    [OPTION_VISION_MAX_IN_FLIGHT] = {MEDIA_OPTION(VISION_MAX_IN_FLIGHT), .name = "vision-max-in-flight",
                                     .type = OPTION_INTEGER, .argument = "N", .minimum = 1, .maximum = 100000,
                                     .shown = "the agent's", .help = "as --max-in-flight"},
    [OPTION_VISION_PRICE_PROMPT] = {MEDIA_OPTION(VISION_PRICE_PROMPT), .name = "vision-price-prompt",
                                    .type = OPTION_NUMBER, .argument = "USD", .maximum = 1e6,
                                    .help = "as --price-prompt"},
    [OPTION_VISION_PRICE_COMPLETION] = {MEDIA_OPTION(VISION_PRICE_COMPLETION), .name = "vision-price-completion",
                                        .type = OPTION_NUMBER, .argument = "USD", .maximum = 1e6,
                                        .help = "as --price-completion"},
    [OPTION_TRANSCRIPTION_BASE_URL] = {MEDIA_OPTION(TRANSCRIPTION_BASE_URL), .name = "transcription-base-url",
                                       .argument = "URL", .shown = "the agent's where transcription-model is set",
                                       .help = "server that writes down what is said in sound and film, at "
                                               "URL/audio/transcriptions"},
    [OPTION_TRANSCRIPTION_API_KEY] = {MEDIA_OPTION(TRANSCRIPTION_API_KEY), .name = "transcription-api-key",
                                      .argument = "KEY", .secret = true, .help = "its key"},
    [OPTION_TRANSCRIPTION_MODEL] = {MEDIA_OPTION(TRANSCRIPTION_MODEL), .name = "transcription-model",
                                    .argument = "NAME", .shown = "whisper-1 where there is an address",
                                    .help = "its model; without it and without an address nothing is transcribed"},
    [OPTION_TRANSCRIPTION_LANGUAGE] = {MEDIA_OPTION(TRANSCRIPTION_LANGUAGE), .name = "transcription-language",
                                       .argument = "CODE", .shown = "found out",
                                       .help = "language that is spoken, for example en"},
    [OPTION_TRANSCRIPTION_HEADER] = {MEDIA_OPTION(TRANSCRIPTION_HEADER), .name = "transcription-header",
                                     .argument = "'NAME: VALUE'", .list = true, .secret = true, .whole = true,
                                     .help = "as --header"},
    [OPTION_TRANSCRIPTION_TIMEOUT] = {MEDIA_OPTION(TRANSCRIPTION_TIMEOUT), .name = "transcription-timeout",
                                      .type = OPTION_DURATION, .argument = "TIME", .minimum = 1, .maximum = 86400,
                                      .fallback = "300s",
                                      .help = "how long one request may take; it holds some ten minutes of sound"},
    [OPTION_TRANSCRIPTION_MAX_IN_FLIGHT] = {MEDIA_OPTION(TRANSCRIPTION_MAX_IN_FLIGHT),
                                            .name = "transcription-max-in-flight", .type = OPTION_INTEGER,
                                            .argument = "N", .minimum = 1, .maximum = 1000, .fallback = "4",
                                            .help = "requests under way at once"},
    [OPTION_TRANSCRIPTION_PRICE_PROMPT] = {MEDIA_OPTION(TRANSCRIPTION_PRICE_PROMPT),
                                           .name = "transcription-price-prompt", .type = OPTION_NUMBER,
                                           .argument = "USD",
                                           .maximum = 1e6, .help = "as --price-prompt, for services that count tokens"},
    [OPTION_TRANSCRIPTION_PRICE_COMPLETION] = {MEDIA_OPTION(TRANSCRIPTION_PRICE_COMPLETION),
                                               .name = "transcription-price-completion", .type = OPTION_NUMBER,
                                               .argument = "USD", .maximum = 1e6,
                                               .help = "as --price-completion, for services that count tokens"},

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

    [OPTION_TOOLS] = {TOOL_OPTION(TOOLS), .name = "tools", .argument = "LIST", .list = true, .fallback = "auto",
                      .help = "the tools that the model gets: search, visit, google_scholar, PythonInterpreter, "
                              "parse_file; none for no tools, not even your own; auto: all that can work, without "
                              "google_scholar where searches stay in a corpus, and parse_file where there are files"},
    [OPTION_TOOL_TIMEOUT] = {TOOL_OPTION(TOOL_TIMEOUT), .name = "tool-timeout", .type = OPTION_DURATION,
                             .argument = "TIME", .minimum = 0.001, .maximum = 36000000, .shown = "each tool's own",
                             .help = "how long a tool call may take"},
    [OPTION_OWN_TOOLS] = {TOOL_OPTION(OWN_TOOLS), .name = "own-tools", .type = OPTION_JSON, .argument = "JSON",
                          .secret = true, .help = "programs of yours as tools: docs/tools.md"},
    [OPTION_OWN_TOOL] = {TOOL_OPTION(OWN_TOOL), .name = "own-tool", .argument = "DIR", .list = true, .whole = true,
                         .help = "folder with a signature.json and a program, as a tool"},
    [OPTION_MCP_SERVERS] = {TOOL_OPTION(MCP_SERVERS), .name = "mcp-servers", .type = OPTION_JSON, .argument = "JSON",
                            .secret = true, .help = "MCP servers whose tools the model gets: docs/tools.md"},
    [OPTION_MCP] = {TOOL_OPTION(MCP), .name = "mcp", .argument = "SERVER", .list = true, .whole = true,
                    .help = "an MCP server: its address, its command line, or another client's JSON file; NAME= may "
                            "stand before it"},
    [OPTION_SEARCH] = {TOOL_OPTION(SEARCH), .name = "search", .type = OPTION_CHOICE, .argument = "LIST", .list = true,
                       .choices = "auto|brave|corpus|duckduckgo|searxng|serper|tavily|wikipedia", .fallback = "auto",
                       .help = "where search looks, in this order: the next one is asked when one fails, has used up "
                               "its quota or finds nothing; auto takes what is configured: a corpus alone, else every "
                               "service with a key or address"},
    [OPTION_SEARCH_URL] = {TOOL_OPTION(SEARCH_URL), .name = "search-url", .argument = "URL",
                           .help = "address of the service that --search names; with auto or a list, of a SearXNG "
                                   "instance"},
    [OPTION_SERPER_URL] = {TOOL_OPTION(SERPER_URL), .name = "serper-url", .argument = "URL",
                           .shown = "https://google.serper.dev/search", .help = "address of Serper"},
    [OPTION_SERPER_KEY] = {TOOL_OPTION(SERPER_KEY), .name = "serper-key", .argument = "KEY", .secret = true,
                           .environment = "SERPER_API_KEY SERPER_KEY_ID", .help = "key for google.serper.dev"},
    [OPTION_BRAVE_URL] = {TOOL_OPTION(BRAVE_URL), .name = "brave-url", .argument = "URL",
                          .shown = "https://api.search.brave.com/res/v1/web/search", .help = "address of Brave Search"},
    [OPTION_BRAVE_KEY] = {TOOL_OPTION(BRAVE_KEY), .name = "brave-key", .argument = "KEY", .secret = true,
                          .environment = "BRAVE_API_KEY", .help = "its key"},
    [OPTION_TAVILY_URL] = {TOOL_OPTION(TAVILY_URL), .name = "tavily-url", .argument = "URL",
                           .shown = "https://api.tavily.com/search", .help = "address of Tavily"},
    [OPTION_TAVILY_KEY] = {TOOL_OPTION(TAVILY_KEY), .name = "tavily-key", .argument = "KEY", .secret = true,
                           .environment = "TAVILY_API_KEY", .help = "its key"},
    [OPTION_SEARXNG_URL] = {TOOL_OPTION(SEARXNG_URL), .name = "searxng-url", .argument = "URL",
                            .environment = "SEARXNG_URL", .help = "address of a SearXNG instance that gives JSON"},
    [OPTION_WIKIPEDIA_URL] = {TOOL_OPTION(WIKIPEDIA_URL), .name = "wikipedia-url", .argument = "URL",
                              .shown = "https://{language}.wikipedia.org/w/api.php",
                              .help = "address of Wikipedia's or another MediaWiki's api.php; {language} stands for "
                                      "that of the query"},
    [OPTION_DUCKDUCKGO_URL] = {TOOL_OPTION(DUCKDUCKGO_URL), .name = "duckduckgo-url", .argument = "URL",
                               .shown = "https://html.duckduckgo.com/html/",
                               .help = "address of DuckDuckGo's page for browsers without scripts"},
    [OPTION_SEARCH_RESULTS] = {TOOL_OPTION(SEARCH_RESULTS), .name = "search-results", .type = OPTION_INTEGER,
                               .argument = "N", .minimum = 1, .maximum = 100, .fallback = "10",
                               .help = "results for each query"},
    [OPTION_SCHOLAR] = {TOOL_OPTION(SCHOLAR), .name = "scholar", .type = OPTION_CHOICE, .argument = "LIST",
                        .list = true, .choices = "auto|serper|openalex|semantic-scholar|crossref|arxiv",
                        .fallback = "auto",
                        .help = "where google_scholar looks, the next where one fails or finds nothing; auto takes "
                                "Serper where there is a key, then the others in this order"},
    [OPTION_SCHOLAR_MAILTO] = {TOOL_OPTION(SCHOLAR_MAILTO), .name = "scholar-mailto", .argument = "ADDRESS",
                               .help = "your mail address for OpenAlex and Crossref, which serve those better who can "
                                       "be written to"},
    [OPTION_SERPER_SCHOLAR_URL] = {TOOL_OPTION(SERPER_SCHOLAR_URL), .name = "serper-scholar-url", .argument = "URL",
                                   .shown = "https://google.serper.dev/scholar",
                                   .help = "address of Serper's search for papers"},
    [OPTION_OPENALEX_URL] = {TOOL_OPTION(OPENALEX_URL), .name = "openalex-url", .argument = "URL",
                             .shown = "https://api.openalex.org/works", .help = "address of OpenAlex"},
    [OPTION_OPENALEX_KEY] = {TOOL_OPTION(OPENALEX_KEY), .name = "openalex-key", .argument = "KEY", .secret = true,
                             .environment = "OPENALEX_API_KEY", .help = "its key, which is free"},
    [OPTION_SEMANTIC_SCHOLAR_URL] = {TOOL_OPTION(SEMANTIC_SCHOLAR_URL), .name = "semantic-scholar-url",
                                     .argument = "URL", .shown = "api.semanticscholar.org/graph/v1/paper/search",
                                     .help = "address of Semantic Scholar"},
    [OPTION_SEMANTIC_SCHOLAR_KEY] = {TOOL_OPTION(SEMANTIC_SCHOLAR_KEY), .name = "semantic-scholar-key",
                                     .argument = "KEY", .secret = true,
                                     .environment = "SEMANTIC_SCHOLAR_API_KEY S2_API_KEY", .help = "its key"},
    [OPTION_CROSSREF_URL] = {TOOL_OPTION(CROSSREF_URL), .name = "crossref-url", .argument = "URL",
                             .shown = "https://api.crossref.org/works", .help = "address of Crossref"},
    [OPTION_ARXIV_URL] = {TOOL_OPTION(ARXIV_URL), .name = "arxiv-url", .argument = "URL",
                          .shown = "https://export.arxiv.org/api/query", .help = "address of arXiv"},
    [OPTION_CORPUS] = {TOOL_OPTION(CORPUS), .name = "corpus", .argument = "FILE.db",
                       .help = "local corpus made by fathom index; search and visit use it"},
    [OPTION_FILE] = {TOOL_OPTION(FILE), .name = "file", .argument = "FILE", .list = true, .whole = true,
                     .help = "file that the model may read with parse_file; repeat it for more"},
    [OPTION_FILE_ROOT] = {TOOL_OPTION(FILE_ROOT), .name = "file-root", .argument = "DIR", .list = true, .whole = true,
                          .help = "folder whose files, hidden ones aside, the model may read with parse_file"},
    [OPTION_FILE_TOKENS] = {TOOL_OPTION(FILE_TOKENS), .name = "file-tokens", .type = OPTION_TOKENS, .argument = "N",
                            .minimum = 500, .maximum = 1e6, .fallback = "8000",
                            .help = "files up to this are shown whole, longer ones in parts of this size"},
    [OPTION_WORKER] = {TOOL_OPTION(WORKER), .name = "worker", .argument = "FILE", .shown = "where it was installed",
                       .help = "the program fathom-worker, which reads documents confined"},
    [OPTION_READER] = {TOOL_OPTION(READER), .name = "reader", .type = OPTION_CHOICE, .argument = "KIND",
                       .choices = "direct|jina", .fallback = "direct",
                       .help = "how visit reads pages: itself, or through Jina Reader"},
    [OPTION_FALLBACK] = {TOOL_OPTION(FALLBACK), .name = "fallback", .type = OPTION_CHOICE, .argument = "LIST",
                         .list = true, .choices = "none|jina|archive", .fallback = "none",
                         .help = "what visit asks, in this order, for pages that it cannot read directly: Jina Reader, "
                                 "or the Internet Archive for its last copy; these learn the page's address"},
    [OPTION_JINA_URL] = {TOOL_OPTION(JINA_URL), .name = "jina-url", .argument = "URL", .fallback = "https://r.jina.ai",
                         .help = "address of Jina Reader"},
    [OPTION_JINA_KEY] = {TOOL_OPTION(JINA_KEY), .name = "jina-key", .argument = "KEY", .secret = true,
                         .environment = "JINA_API_KEY JINA_API_KEYS", .help = "its key"},
    [OPTION_ARCHIVE_URL] = {TOOL_OPTION(ARCHIVE_URL), .name = "archive-url", .argument = "URL",
                            .fallback = "https://archive.org",
                            .help = "address at which the Internet Archive says what copies it has"},
    [OPTION_SUMMARIZER] = {TOOL_OPTION(SUMMARIZER), .name = "summarizer", .type = OPTION_CHOICE, .argument = "KIND",
                           .choices = "auto|model|extractive", .fallback = "auto",
                           .help = "what reduces a page to the goal: the summary model, or a choice of its passages; "
                                   "auto takes the model unless it is builtin"},
    [OPTION_PYTHON] = {TOOL_OPTION(PYTHON), .name = "python", .argument = "PROGRAM", .shown = "python3",
                       .help = "the interpreter that runs the programs of PythonInterpreter; one of a virtual "
                               "environment brings its packages along"},
    [OPTION_PYTHON_SANDBOX] = {TOOL_OPTION(PYTHON_SANDBOX), .name = "python-sandbox", .type = OPTION_CHOICE,
                               .argument = "KIND", .choices = "auto|bubblewrap|fusion|none", .fallback = "auto",
                               .help = "what keeps these programs from doing harm: bubblewrap on this machine, or "
                                       "SandboxFusion servers; auto takes the servers where some are given; none lets "
                                       "a model's programs do whatever you can"},
    [OPTION_PYTHON_SESSION] = {TOOL_OPTION(PYTHON_SESSION), .name = "python-session", .type = OPTION_FLAG,
                               .help = "keep one interpreter for each run, so that names and files stay for the next "
                                       "program"},
    [OPTION_PYTHON_TIMEOUT] = {TOOL_OPTION(PYTHON_TIMEOUT), .name = "python-timeout", .type = OPTION_DURATION,
                               .argument = "TIME", .minimum = 0.1, .maximum = 36000000, .fallback = "50s",
                               .help = "how long one program may run"},
    [OPTION_PYTHON_MEMORY] = {TOOL_OPTION(PYTHON_MEMORY), .name = "python-memory", .type = OPTION_SIZE,
                              .argument = "SIZE", .minimum = 33554432, .maximum = 1e13, .fallback = "1GB",
                              .help = "how much memory one process of a program may use; all of them together may "
                                      "use a quarter more"},
    [OPTION_SANDBOX_FUSION] = {TOOL_OPTION(SANDBOX_FUSION), .name = "sandbox-fusion", .argument = "URL", .list = true,
                               .environment = "SANDBOX_FUSION_ENDPOINT",
                               .help = "SandboxFusion servers that run the programs, each asked when one before it "
                                       "fails"},

    [OPTION_CONSENT] = {TOOL_OPTION(CONSENT), .name = "consent", .argument = "LIST", .list = true, .shown = "none",
                        .help = "tools of which every call needs your consent"},
    [OPTION_ASK_USER] = {TOOL_OPTION(ASK_USER), .name = "ask-user", .type = OPTION_CHOICE, .argument = "WHEN",
                         .choices = "auto|never", .fallback = "auto",
                         .help = "whether tools may ask you something, or for your consent; auto: when you sit at a "
                                 "terminal"},

    [OPTION_ALLOW_ADDRESS] = {NETWORK_OPTION(ALLOW_ADDRESS), .name = "allow-address", .argument = "CIDR", .list = true,
                              .shown = "public addresses only",
                              .help = "internal network that visit may reach, for example 127.0.0.1 or 10.1.0.0/16"},
    [OPTION_PROXY] = {NETWORK_OPTION(PROXY), .name = "proxy", .argument = "URL", .shown = "none",
                      .help = "proxy for pages; proxies in the environment count only for configured servers"},
    [OPTION_CACHE] = {NETWORK_OPTION(CACHE), .name = "cache", .argument = "FILE",
                      .shown = "fathom/pages.db below $XDG_CACHE_HOME or ~/.cache",
                      .help = "where visit keeps pages that it has fetched, so that they need not be fetched again"},
    [OPTION_NO_CACHE] = {NETWORK_OPTION(NO_CACHE), .name = "no-cache", .type = OPTION_FLAG,
                         .help = "keep no pages, and use none that were kept"},
    [OPTION_CACHE_SIZE] = {NETWORK_OPTION(CACHE_SIZE), .name = "cache-size", .type = OPTION_SIZE, .argument = "SIZE",
                           .minimum = 65536, .maximum = 1e13, .fallback = "512MB",
                           .help = "how large that file may become; what was not used for longest goes first"},
    [OPTION_CACHE_AGE] = {NETWORK_OPTION(CACHE_AGE), .name = "cache-age", .type = OPTION_DURATION, .argument = "TIME",
                          .minimum = 1, .maximum = 36000000, .fallback = "30d",
                          .help = "how long a page may lie there without being confirmed by its site"},
    [OPTION_SITE_PARALLEL] = {NETWORK_OPTION(SITE_PARALLEL), .name = "site-parallel", .type = OPTION_INTEGER,
                              .argument = "N", .minimum = 1, .maximum = 1000,
                              .shown = "4, and any number to this machine",
                              .help = "requests to one site (registrable domain) at once"},
    [OPTION_SITE_GAP] = {NETWORK_OPTION(SITE_GAP), .name = "site-gap", .type = OPTION_DURATION, .argument = "TIME",
                         .shown = "100ms, and none for this machine",
                         .help = "pause between the starts of two requests to one site; 0 for none"},
    [OPTION_ROBOTS] = {NETWORK_OPTION(ROBOTS), .name = "robots", .type = OPTION_FLAG,
                       .help = "let sites forbid pages by their robots.txt"},
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
    case OPTION_GROUP_MEDIA:
        return "Models for images and sound";
    case OPTION_GROUP_TOKENS:
        return "Token counts";
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
