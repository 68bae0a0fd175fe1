/* The option table and the configuration: files, variables, flags, ranks, origins and where keys may go. */
#include "api/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "protocol/template.h"

static const char *const no_environment[] = {NULL};

/* A resolved configuration from any of the three sources; `flags` are pairs of name and value. */
static struct config *configured(const char *yaml, const char *const *environment, const char *const *flags)
{
    struct config *config = config_create();
    struct error error = {0};
    if (yaml != NULL)
        assert_int_equal(config_load_text(config, "fathom.yaml", str_of(yaml), &error), STATUS_OK);
    assert_int_equal(config_load_environment(config, environment != NULL ? environment : no_environment, &error),
                     STATUS_OK);
    for (; flags != NULL && *flags != NULL; flags += 2) {
        const struct option_spec *spec = option_find(str_of(flags[0]));
        assert_non_null(spec);
        assert_int_equal(config_set(config, spec->id, str_of(flags[1]), &error), STATUS_OK);
    }
    assert_int_equal(config_resolve(config, &error), STATUS_OK);
    return config;
}

static void assert_origin(const struct config *config, enum option_id id, const char *expected)
{
    char origin[300];
    assert_string_equal(config_origin(config, id, origin, sizeof origin), expected);
}

static void option__table_is_complete(void **state)
{
    (void)state;
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_spec *spec = option_spec((enum option_id)i);
        assert_int_equal(spec->id, i);
        assert_non_null(spec->name);
        assert_non_null(spec->help);
        assert_int_equal(spec->argument == NULL, spec->type == OPTION_FLAG);
        assert_ptr_equal(option_find(str_of(spec->name)), spec);
        assert_true(spec->help[strlen(spec->help) - 1] != '.');
        if (spec->type == OPTION_CHOICE)
            assert_non_null(spec->choices);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(option_spec((enum option_id)j)->name, spec->name);
    }
}

static void option__names_every_template(void **state)
{
    (void)state;
    static const enum option_id ids[] = {OPTION_TEMPLATE, OPTION_SUMMARY_TEMPLATE, OPTION_CHAT_TEMPLATE};
    struct buf names;
    buf_init(&names, BUF_UNBOUNDED);
    for (size_t i = 0; i < template_count(); i++)
        buf_addf(&names, "%s%s", i > 0 ? "|" : "", template_name_at(i));
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        const char *choices = option_spec(ids[i])->choices;
        assert_string_equal(choices + (ids[i] == OPTION_CHAT_TEMPLATE ? strlen("auto|") : 0), names.data);
    }
    buf_finish(&names);
}

static void option__suggests_what_was_meant(void **state)
{
    (void)state;
    static const struct {
        const char *typed, *meant;
    } cases[] = {{"modle", "model"},
                 {"base_url", "base-url"},
                 {"max-call", "max-calls"},
                 {"tempreature", "temperature"},
                 {"Time-Limit", "time-limit"},
                 {"frobnicate", NULL},
                 {"x", NULL},
                 {"sumary-model", "summary-model"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *nearest = option_suggest(str_of(cases[i].typed), OPTION_GROUPS_ALL);
        if (cases[i].meant == NULL)
            assert_null(nearest);
        else
            assert_string_equal(nearest, cases[i].meant);
    }
    assert_null(option_suggest(STR("modle"), OPTION_GROUP_NETWORK));
}

static void config__parses_durations(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t milliseconds;
    } good[] = {{"90s", 90000},    {"150m", 9000000}, {"2h", 7200000}, {"1h30m", 5400000}, {"500ms", 500},
                {"1.5h", 5400000}, {"0", 0},          {"0s", 0},       {" 5s ", 5000},     {"1d", 86400000},
                {"10min", 600000}, {"1m30s", 90000},  {"0.25s", 250}};
    static const char *const bad[] = {"",      "s",   "90",  "-5s", "5 s",          "5m5m", "30m1h", "1e3s",
                                      "1..5s", ".5s", "5.s", "5x",  "99999999999h", "1h30", "0x1s",  "5S"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int64_t value = -1;
        assert_true(config_parse_duration(str_of(good[i].text), &value));
        assert_int_equal(value, good[i].milliseconds);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t value = -7;
        assert_false(config_parse_duration(str_of(bad[i]), &value));
        assert_int_equal(value, -7);
    }
}

static void config__parses_tokens(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t count;
    } good[] = {{"110k", 112640}, {"131072", 131072}, {"1M", 1048576}, {"0.5k", 512}, {"0", 0}};
    static const char *const bad[] = {"", "k", "-1", "1.5", "12q", "1kk", "99999999999999999999", "1 k"};
    int64_t value;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(config_parse_tokens(str_of(good[i].text), &value));
        assert_int_equal(value, good[i].count);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(config_parse_tokens(str_of(bad[i]), &value));
}

static void config__parses_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t bytes;
    } good[] = {{"65536", 65536}, {"64k", 65536}, {"64kB", 65536}, {"512MB", 536870912},  {"1 gb", 1073741824},
                {"0.5M", 524288}, {"0", 0},       {"7b", 7},       {"2TB", 2199023255552}};
    static const char *const bad[] = {"", "MB", "-1", "1.0001", "1 k b", "12q", "1kk", "99999999999GB", "1KiB"};
    int64_t value;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(config_parse_size(str_of(good[i].text), &value));
        assert_int_equal(value, good[i].bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(config_parse_size(str_of(bad[i]), &value));
}

static void config__reads_flags(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int yes;
    } cases[] = {{"yes", 1}, {"no", 0}, {"TRUE", 1}, {"false", 0}, {"on", 1}, {"off", 0}, {"1", 1}, {"0", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config *config = config_create();
        assert_int_equal(config_set(config, OPTION_ROBOTS, str_of(cases[i].text), NULL), STATUS_OK);
        assert_int_equal(config_integer(config, OPTION_ROBOTS), cases[i].yes);
        assert_int_equal(config_set(config, OPTION_ROBOTS, STR("maybe"), NULL), STATUS_INVALID);
        config_destroy(config);
    }
}

static void config__reads_yaml(void **state)
{
    (void)state;
    struct config *config =
        configured("# a comment\n"
                   "base_url:\n"
                   "  - http://127.0.0.1:8000/v1\n"
                   "  - http://127.0.0.1:8001/v1\n"
                   "model: qwen3-8b\n"
                   "temperature: 0.6\n"
                   "time_limit: 150m\n"
                   "context-limit: 64k\n"
                   "tools: [search]\n"
                   "seed:\n"
                   "summary:\n"
                   "  model: small\n"
                   "  max_tokens: 2k\n"
                   "extra_body: {top_k: 20, chat_template_kwargs: {enable_thinking: false}, stop: [a, '1']}\n"
                   "header:\n"
                   "  - 'X-Team: a, b'\n",
                   NULL, NULL);
    size_t count;
    const char *const *urls = config_list(config, OPTION_BASE_URL, &count);
    assert_int_equal(count, 2);
    assert_string_equal(urls[1], "http://127.0.0.1:8001/v1");
    assert_string_equal(config_text(config, OPTION_MODEL), "qwen3-8b");
    assert_true(config_number(config, OPTION_TEMPERATURE) == 0.6);
    assert_int_equal(config_integer(config, OPTION_TIME_LIMIT), 9000000);
    assert_int_equal(config_integer(config, OPTION_CONTEXT_LIMIT), 65536);
    assert_false(config_is_set(config, OPTION_SEED));
    assert_string_equal(config_text(config, OPTION_SUMMARY_MODEL), "small");
    assert_int_equal(config_integer(config, OPTION_SUMMARY_MAX_TOKENS), 2048);
    config_list(config, OPTION_TOOLS, &count);
    assert_int_equal(count, 1);
    const char *const *headers = config_list(config, OPTION_HEADER, &count);
    assert_int_equal(count, 1);
    assert_string_equal(headers[0], "X-Team: a, b");
    char *body = json_to_text(config_json(config, OPTION_EXTRA_BODY));
    assert_string_equal(body,
                        "{\"top_k\":20,\"chat_template_kwargs\":{\"enable_thinking\":false},\"stop\":[\"a\",\"1\"]}");
    free(body);
    assert_origin(config, OPTION_TEMPERATURE, "fathom.yaml:6:14");
    assert_origin(config, OPTION_SUMMARY_MODEL, "fathom.yaml:12:10");
    assert_origin(config, OPTION_MAX_CALLS, "default");
    config_destroy(config);
}

static void config__reads_every_spelling_of_a_path(void **state)
{
    (void)state;
    static const char *const same[] = {"summary-model: x",
                                       "summary_model: x",
                                       "summary: {model: x}",
                                       "summary:\n  model: x",
                                       "{\"summary\": {\"model\": \"x\"}}",
                                       "\xEF\xBB\xBFsummary_model: x\r\n"};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        struct config *config = configured(same[i], NULL, NULL);
        assert_string_equal(config_text(config, OPTION_SUMMARY_MODEL), "x");
        config_destroy(config);
    }
    struct config *config = configured("agent:\n  model: y\nsearch:\n  url: http://127.0.0.1:8888\n", NULL, NULL);
    assert_string_equal(config_text(config, OPTION_MODEL), "y");
    assert_string_equal(config_text(config, OPTION_SEARCH_URL), "http://127.0.0.1:8888");
    config_destroy(config);
    config_destroy(configured("", NULL, NULL));
    config_destroy(configured("---\n# nothing\n", NULL, NULL));
}

static void config__says_where_yaml_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *yaml;
        enum status status;
        int line, column;
        const char *message; /* a part of it */
    } cases[] = {
        {"modle: x\n", STATUS_INVALID, 1, 1, "did you mean \"model\"?"},
        {"model: x\nfrobnicate: 1\n", STATUS_INVALID, 2, 1, "unknown key \"frobnicate\""},
        {"summary:\n  modle: x\n", STATUS_INVALID, 2, 3, "did you mean \"summary-model\"?"},
        {"frob:\n  model: x\n", STATUS_INVALID, 1, 1, "unknown key \"frob\""},
        {"time_limit: 150\n", STATUS_INVALID, 1, 13, "lacks a unit: write 150s, 150m or 150h"},
        {"model: x\ntemperature: hot\n", STATUS_INVALID, 2, 14, "\"hot\" is not a number"},
        {"temperature: -1\n", STATUS_INVALID, 1, 14, "too small"},
        {"max_calls: 0\n", STATUS_INVALID, 1, 12, "too small: at least 1"},
        {"max_calls: 1.5\n", STATUS_INVALID, 1, 12, "not a whole number"},
        {"protocol: grpc\n", STATUS_INVALID, 1, 11, "not one of chat or completions"},
        {"model: [a, b]\n", STATUS_INVALID, 1, 8, "a single value is wanted"},
        {"tools: {a: b}\n", STATUS_INVALID, 1, 8, "a value or a list"},
        {"tools: [a, [b]]\n", STATUS_INVALID, 1, 12, "a list of single values"},
        {"model: a\nmodel: b\n", STATUS_INVALID, 2, 1, "given twice, first at bad.yaml:1:8"},
        {"max_calls: 1\nmax-calls: 2\n", STATUS_INVALID, 2, 1, "given twice"},
        {"model: \"a\n", STATUS_SYNTAX, 2, 1, "not valid YAML"},
        {"model: a\n  b: c\n", STATUS_SYNTAX, 2, 4, "not valid YAML"},
        {"a\tb\n", STATUS_INVALID, 1, 1, "key: value"},
        {"- model\n", STATUS_INVALID, 1, 1, "key: value"},
        {"model: &m x\nsummary_model: *m\n", STATUS_INVALID, 2, 16, "aliases"},
        {"model: a\n---\nmodel: b\n", STATUS_INVALID, 3, 1, "one YAML document"},
        {"? [a]\n: b\n", STATUS_INVALID, 1, 3, "a key must be"},
        {"extra_body: [1]\n", STATUS_INVALID, 1, 13, "single value"},
        {"extra_body: '[1]'\n", STATUS_INVALID, 1, 13, "must be a JSON object"},
        {"model: ''\n", STATUS_INVALID, 1, 8, "the value is empty"},
        {"{\xC3\xA4: 1, modle: x}\n", STATUS_INVALID, 1, 2, "unknown key"},
        {"{model: \xC3\xA4, modle: x}\n", STATUS_INVALID, 1, 13, "did you mean"},
        {"model: \"a\\u0007b\"\n", STATUS_INVALID, 1, 8, "control characters"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config *config = config_create();
        struct error error = {0};
        enum status status = config_load_text(config, "bad.yaml", str_of(cases[i].yaml), &error);
        if (status != cases[i].status || error.line != cases[i].line || error.column != cases[i].column ||
            strstr(error.message, cases[i].message) == NULL)
            fail_msg("%s: got status %d at %d:%d, %s", cases[i].yaml, (int)status, error.line, error.column,
                     error.message);
        assert_string_equal(error.place, "bad.yaml");
        config_destroy(config);
    }
}

static void config__survives_any_cut_of_a_file(void **state)
{
    (void)state;
    static const char yaml[] =
        "base_url: [http://a/v1, http://b/v1]\nsummary: {model: 'x', extra_body: {a: [1, {b: 2}]}}\n";
    for (size_t length = 0; length < sizeof yaml; length++) {
        struct config *config = config_create();
        struct error error = {0};
        enum status status = config_load_text(config, "cut.yaml", str_make(yaml, length), &error);
        assert_true(status == STATUS_OK || status == STATUS_SYNTAX || status == STATUS_INVALID);
        config_destroy(config);
    }
    char deep[4001];
    memset(deep, '[', sizeof deep - 1);
    memcpy(deep, "extra-body: {a: ", 16);
    deep[sizeof deep - 1] = '\0';
    struct config *config = config_create();
    assert_int_not_equal(config_load_text(config, "deep.yaml", str_of(deep), NULL), STATUS_OK);
    config_destroy(config);
}

static void config__ranks_its_sources(void **state)
{
    (void)state;
    static const char yaml[] = "model: from-file\nmax_calls: 7\ntools: [search, visit]\ntemperature: 0.1\n";
    static const char *const environment[] = {"FATHOM_MODEL=from-env", "FATHOM_MAX_CALLS=8",
                                              "FATHOM_TOP_P=", "FATHOM_TOOLS=visit", NULL};
    static const char *const flags[] = {"model", "from-flag", "tools", "search", "tools", "other", NULL};
    struct config *config = configured(yaml, environment, flags);
    size_t count;
    assert_string_equal(config_text(config, OPTION_MODEL), "from-flag");
    assert_origin(config, OPTION_MODEL, "--model");
    assert_int_equal(config_integer(config, OPTION_MAX_CALLS), 8);
    assert_origin(config, OPTION_MAX_CALLS, "FATHOM_MAX_CALLS");
    assert_true(config_number(config, OPTION_TEMPERATURE) == 0.1);
    assert_false(config_is_set(config, OPTION_TOP_P)); /* empty counts as unset */
    const char *const *tools = config_list(config, OPTION_TOOLS, &count);
    assert_int_equal(count, 2); /* a higher source replaces a list, it does not extend it */
    assert_string_equal(tools[1], "other");
    assert_int_equal(config_integer(config, OPTION_TIME_LIMIT), 150 * 60 * 1000);
    assert_int_equal(config_integer(config, OPTION_CONTEXT_LIMIT), 112640);
    config_destroy(config);
}

static void config__honours_the_usual_variables(void **state)
{
    (void)state;
    static const char *const environment[] = {"OPENAI_BASE_URL=http://127.0.0.1:9/v1",
                                              "OPENAI_API_KEY=sk-1",
                                              "SERPER_KEY_ID=s1",
                                              "SEARXNG_URL=http://127.0.0.1:8888",
                                              "JINA_API_KEYS=j1",
                                              "API_BASE=http://127.0.0.1:10/v1",
                                              "API_KEY=k2",
                                              "SUMMARY_MODEL_NAME=small",
                                              "BRAVE_API_KEY=b",
                                              "TAVILY_API_KEY=t",
                                              "SANDBOX_FUSION_ENDPOINT=http://x",
                                              NULL};
    struct config *config = configured(NULL, environment, NULL);
    size_t count;
    assert_string_equal(config_text(config, OPTION_BASE_URL), "http://127.0.0.1:9/v1");
    assert_origin(config, OPTION_BASE_URL, "OPENAI_BASE_URL");
    assert_string_equal(config_text(config, OPTION_SERPER_KEY), "s1");
    assert_string_equal(config_text(config, OPTION_BRAVE_KEY), "b");
    assert_string_equal(config_text(config, OPTION_TAVILY_KEY), "t");
    assert_string_equal(config_text(config, OPTION_SEARXNG_URL), "http://127.0.0.1:8888");
    assert_string_equal(config_text(config, OPTION_JINA_KEY), "j1");
    assert_string_equal(config_text(config, OPTION_SUMMARY_BASE_URL), "http://127.0.0.1:10/v1");
    assert_string_equal(config_text(config, OPTION_SUMMARY_API_KEY), "k2");
    assert_string_equal(config_text(config, OPTION_SUMMARY_MODEL), "small");
    config_unused_variables(config, &count);
    assert_int_equal(count, 1);
    config_destroy(config);
    static const char *const alone[] = {"API_KEY=someone-elses", "SERPER_API_KEY=a", "SERPER_KEY_ID=b", NULL};
    config = configured(NULL, alone, NULL);
    assert_false(config_is_set(config, OPTION_SUMMARY_API_KEY));
    assert_string_equal(config_text(config, OPTION_SERPER_KEY), "a");
    config_destroy(config);
}

static void config__says_which_variable_is_wrong(void **state)
{
    (void)state;
    static const char *const environment[] = {"FATHOM_TIME_LIMIT=soon", NULL};
    struct config *config = config_create();
    struct error error = {0};
    assert_int_equal(config_load_environment(config, environment, &error), STATUS_INVALID);
    assert_string_equal(error.place, "FATHOM_TIME_LIMIT");
    assert_int_equal(config_set(config, OPTION_MAX_TOKENS, STR("many"), &error), STATUS_INVALID);
    assert_string_equal(error.place, "--max-tokens");
    config_destroy(config);
}

static void config__refuses_contradictions(void **state)
{
    (void)state;
    static const struct {
        enum option_id id;
        const char *value, *place, *message;
    } cases[] = {
        {OPTION_BASE_URL, "localhost:8000", "--base-url", "must begin with http"},
        {OPTION_BASE_URL, "ftp://host/", "--base-url", "must begin with http"},
        {OPTION_BASE_URL, "http://", "--base-url", ""},
        {OPTION_DATE, "2026-02-29", "--date", "not a date"},
        {OPTION_DATE, "2026-2-9", "--date", "not a date"},
        {OPTION_DATE, "yesterday", "--date", "not a date"},
        {OPTION_HEADER, "no colon", "--header", "'Name: value'"},
        {OPTION_HEADER, "two words: x", "--header", "'Name: value'"},
        {OPTION_MAX_COST, "1.5", "--max-cost", "needs prices"},
        {OPTION_SEARCH, "corpus", "--search", "--corpus FILE.db"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config *config = config_create();
        struct error error = {0};
        assert_int_equal(config_set(config, cases[i].id, str_of(cases[i].value), &error), STATUS_OK);
        assert_int_equal(config_resolve(config, &error), STATUS_INVALID);
        assert_string_equal(error.place, cases[i].place);
        assert_non_null(strstr(error.message, cases[i].message));
        config_destroy(config);
    }
    static const char *const leap[] = {"date", "2028-02-29", "template", "llama3", NULL};
    struct config *config = configured(NULL, NULL, leap);
    assert_string_equal(config_text(config, OPTION_PROTOCOL), "completions"); /* a template implies it */
    config_destroy(config);
}

static void config__sends_keys_only_where_they_belong(void **state)
{
    (void)state;
    static const struct {
        const char *yaml;
        const char *environment[4];
        const char *flags[5];
        const char *url;
        const char *key; /* NULL: none may go there */
    } cases[] = {
        {NULL, {"OPENAI_API_KEY=e"}, {0}, "https://api.openai.com/v1", "e"},
        {NULL, {"OPENAI_API_KEY=e"}, {"base-url", "http://a/v1"}, "http://a/v1", "e"},
        {NULL, {"OPENAI_API_KEY=e", "OPENAI_BASE_URL=http://o/v1"}, {0}, "http://o/v1", "e"},
        {NULL, {"OPENAI_API_KEY=e", "OPENAI_BASE_URL=http://o/v1"}, {"base-url", "http://a/v1"}, "http://a/v1", NULL},
        {NULL,
         {"OPENAI_API_KEY=e", "OPENAI_BASE_URL=http://o/v1", "FATHOM_BASE_URL=http://a/v1"},
         {0},
         "http://a/v1",
         NULL},
        {NULL, {"FATHOM_API_KEY=e", "FATHOM_BASE_URL=http://o/v1"}, {"base-url", "http://a/v1"}, "http://a/v1", NULL},
        {NULL, {"FATHOM_API_KEY=e"}, {"base-url", "http://a/v1"}, "http://a/v1", "e"},
        {"base_url: http://f/v1\napi_key: y\n", {0}, {0}, "http://f/v1", "y"},
        {"base_url: http://f/v1\napi_key: y\n", {0}, {"base-url", "http://a/v1"}, "http://a/v1", NULL},
        {"base_url: http://f/v1\napi_key: y\n", {0}, {"base-url", "http://a/v1", "api-key", "z"}, "http://a/v1", "z"},
        {"api_key: y\n", {0}, {"base-url", "http://a/v1"}, "http://a/v1", "y"},
        {"base_url: http://f/v1\n", {"FATHOM_API_KEY=e"}, {0}, "http://f/v1", "e"},
        {NULL, {"FATHOM_API_KEY=e", "FATHOM_BASE_URL=http://o:1/v1"}, {0}, "http://o:2/v1", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config *config = configured(cases[i].yaml, cases[i].environment, cases[i].flags);
        struct buf why;
        buf_init(&why, BUF_UNBOUNDED);
        const char *key = config_secret_for(config, OPTION_API_KEY, OPTION_BASE_URL, cases[i].url, &why);
        if (cases[i].key == NULL) {
            if (key != NULL)
                fail_msg("case %zu: the key went out", i);
            assert_true(why.len > 0);
            assert_int_equal(str_find(buf_str(&why), STR("=e"), 0), STR_NONE);
        } else {
            assert_non_null(key);
            assert_string_equal(key, cases[i].key);
            assert_int_equal(why.len, 0);
        }
        buf_finish(&why);
        config_destroy(config);
    }
}

/* Runs in a folder of its own, with a fathom.yaml that nobody asked for. */
static void config__gives_no_keys_to_a_strangers_folder(void **state)
{
    (void)state;
    char folder[] = "/tmp/fathom-config-XXXXXX", before[4096];
    assert_non_null(getcwd(before, sizeof before));
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    FILE *file = fopen("fathom.yaml", "w");
    assert_non_null(file);
    fputs("base_url: http://stranger/v1\n", file);
    fclose(file);
    static const char *const environment[] = {"OPENAI_API_KEY=e", NULL};
    for (int named = 0; named < 2; named++) {
        struct config *config = config_create();
        struct error error = {0};
        assert_int_equal(named ? config_load_file(config, "fathom.yaml", &error)
                               : config_load_usual_file(config, &error),
                         STATUS_OK);
        assert_int_equal(config_load_environment(config, environment, &error), STATUS_OK);
        assert_int_equal(config_resolve(config, &error), STATUS_OK);
        assert_string_equal(config_file(config), "fathom.yaml");
        struct buf why;
        buf_init(&why, BUF_UNBOUNDED);
        const char *key = config_secret_for(config, OPTION_API_KEY, OPTION_BASE_URL, "http://stranger/v1", &why);
        assert_int_equal(key != NULL, named);
        assert_int_equal(why.len > 0, !named);
        buf_finish(&why);
        config_destroy(config);
    }
    assert_int_equal(unlink("fathom.yaml"), 0);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void config__never_shows_secrets(void **state)
{
    (void)state;
    static const char *const flags[] = {"api-key",    "sk-secret", "header",   "Authorization: hidden",
                                        "serper-key", "sk-secret", "base-url", "http://user:hidden@h/v1",
                                        NULL};
    struct config *config = configured(NULL, NULL, flags);
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    for (int i = 0; i < OPTION_COUNT; i++)
        config_describe(config, (enum option_id)i, &out);
    assert_int_equal(str_find(buf_str(&out), STR("secret"), 0), STR_NONE);
    assert_int_equal(str_find(buf_str(&out), STR("hidden"), 0), STR_NONE);
    assert_int_not_equal(str_find(buf_str(&out), STR("http://h/v1"), 0), STR_NONE);
    buf_finish(&out);
    config_destroy(config);
}

static void config__hashes_what_was_meant(void **state)
{
    (void)state;
    static const char *const flags[] = {"time-limit", "2h", "model", "m", "extra-body", "{\"a\":1,\"b\":2}", NULL};
    static const char *const other[] = {"model", "m", "api-key", "k", "extra-body", "{\"b\": 2, \"a\": 1}", NULL};
    char a[65], b[65], c[65];
    struct config *config = configured(NULL, NULL, flags);
    config_hash(config, a);
    config_destroy(config);
    config = configured("time_limit: 120m\n", NULL, other); /* another way to say the same */
    config_hash(config, b);
    config_destroy(config);
    config = configured("time_limit: 121m\n", NULL, other);
    config_hash(config, c);
    config_destroy(config);
    assert_int_equal(strlen(a), 64);
    assert_string_equal(a, b);
    assert_string_not_equal(a, c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(option__table_is_complete),
        cmocka_unit_test(option__names_every_template),
        cmocka_unit_test(option__suggests_what_was_meant),
        cmocka_unit_test(config__parses_durations),
        cmocka_unit_test(config__parses_tokens),
        cmocka_unit_test(config__parses_sizes),
        cmocka_unit_test(config__reads_flags),
        cmocka_unit_test(config__reads_yaml),
        cmocka_unit_test(config__reads_every_spelling_of_a_path),
        cmocka_unit_test(config__says_where_yaml_is_wrong),
        cmocka_unit_test(config__survives_any_cut_of_a_file),
        cmocka_unit_test(config__ranks_its_sources),
        cmocka_unit_test(config__honours_the_usual_variables),
        cmocka_unit_test(config__says_which_variable_is_wrong),
        cmocka_unit_test(config__refuses_contradictions),
        cmocka_unit_test(config__sends_keys_only_where_they_belong),
        cmocka_unit_test(config__gives_no_keys_to_a_strangers_folder),
        cmocka_unit_test(config__never_shows_secrets),
        cmocka_unit_test(config__hashes_what_was_meant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
