/* Profiles: what the built-in ones say, how prompts are rendered, what is wrong with a profile and where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/mem.h"
#include "protocol/profile.h"
#include "protocol/signature.h"

static const char *const builtin[] = {"generic", "qwen3", "r1", "tongyi", "websailor"};

/* A folder for one test. */
struct place {
    char path[64];
};

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *ftw)
{
    (void)info;
    (void)type;
    (void)ftw;
    return remove(path);
}

static int make_place(void **state)
{
    struct place *place = mem_zalloc(sizeof *place);
    strcpy(place->path, "/tmp/fathom-profile-XXXXXX");
    assert_non_null(mkdtemp(place->path));
    *state = place;
    return 0;
}

static int drop_place(void **state)
{
    struct place *place = *state;
    nftw(place->path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    free(place);
    return 0;
}

/* Writes a file below the place, making one folder on the way. */
static void write_below(const struct place *place, const char *folder, const char *name, const char *contents)
{
    char *directory = mem_printf("%s/%s", place->path, folder), *path = mem_printf("%s/%s", directory, name);
    struct error error;
    mkdir(directory, 0700);
    assert_int_equal(file_write(path, str_of(contents), &error), STATUS_OK);
    free(path);
    free(directory);
}

static struct profile *load(const char *name, const char *prompts_dir)
{
    struct profile *profile = NULL;
    struct error error;
    char text[800];
    if (profile_load(name, &(struct profile_source){prompts_dir}, &profile, &error) != STATUS_OK)
        fail_msg("%s", error_text(&error, text, sizeof text));
    return profile;
}

static char *render(const struct profile *profile, enum prompt_id id, const struct prompt_value *values, size_t count)
{
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    assert_int_equal(profile_render(profile, id, values, count, &out), STATUS_OK);
    return buf_take(&out);
}

struct tools {
    struct tool_signature signatures[3];
    const struct tool_signature *list[3];
};

static void load_tools(struct tools *tools)
{
    static const char *const texts[] = {
        "{\"name\": \"search\", \"description\": \"Finds.\", \"parameters\": {\"type\": \"object\", \"properties\": "
        "{\"query\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}}}}}",
        "{\"name\": \"visit\", \"description\": \"Reads.\", \"parameters\": {\"type\": \"object\", \"properties\": "
        "{}}}",
        "{\"name\": \"PythonInterpreter\", \"description\": \"Runs.\", \"parameters\": {\"type\": \"object\", "
        "\"properties\": {}}, \"takes_code\": true}"};
    struct error error;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(signature_load(str_of(texts[i]), &tools->signatures[i], &error), STATUS_OK);
        tools->list[i] = &tools->signatures[i];
    }
}

static void finish_tools(struct tools *tools)
{
    for (size_t i = 0; i < 3; i++)
        signature_finish(&tools->signatures[i]);
}

static void profile__built_in_ones_are_whole(void **state)
{
    (void)state;
    char **names = profile_list(NULL);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(names[i], builtin[i]);
        struct profile *profile = load(builtin[i], NULL);
        assert_string_equal(profile->name, builtin[i]);
        assert_string_equal(profile->origin, "built in");
        assert_int_equal(strlen(profile->hash), 64);
        assert_true(profile->max_tokens >= 1000);
        assert_true(profile->sampling.has_temperature);
        for (int id = 0; id < PROMPT_COUNT; id++)
            assert_non_null(profile_prompt_origin(profile, (enum prompt_id)id));
        profile_destroy(profile);
    }
    assert_null(names[5]);
    profile_list_free(names);
}

static void profile__prompts_name_only_the_tools_of_the_run(void **state)
{
    (void)state;
    struct tools tools;
    load_tools(&tools);
    for (size_t i = 0; i < 5; i++) {
        struct profile *profile = load(builtin[i], NULL);
        for (size_t n = 0; n <= 3; n++) {
            struct buf system, user;
            buf_init(&system, BUF_UNBOUNDED);
            buf_init(&user, BUF_UNBOUNDED);
            const struct profile_start start = {STR("Why {tools}?"), STR("2026-03-01"), tools.list, n};
            profile_render_start(profile, &start, &system, &user);
            char *both = mem_printf("%s\n%s", system.data ? system.data : "", user.data);
            assert_int_equal(strstr(both, "\"name\": \"search\"") || strstr(both, "- search(") != NULL, n >= 1);
            assert_int_equal(strstr(both, "visit") != NULL, n >= 2);
            assert_int_equal(strstr(both, "PythonInterpreter") != NULL, n >= 3);
            assert_int_equal(strstr(both, "</code>\n</tool_call>") != NULL, n >= 3);
            assert_non_null(strstr(both, "2026-03-01"));
            assert_non_null(strstr(user.data, "Why {tools}?")); /* a question is never looked into */
            assert_non_null(strstr(both, "<answer>"));
            assert_non_null(strstr(both, "<tool_response>"));
            assert_null(strstr(both, "\n\n\n"));
            const char *list = profile->layout == LAYOUT_USER ? user.data : system.data;
            assert_int_equal(strstr(list, "Finds.") != NULL, n >= 1);
            free(both);
            buf_finish(&system);
            buf_finish(&user);
        }
        profile_destroy(profile);
    }
    finish_tools(&tools);
}

static void profile__renders_tools_in_the_form_it_names(void **state)
{
    (void)state;
    static const struct {
        const char *profile, *expected;
    } cases[] = {
        {"qwen3", "{\"type\": \"function\", \"function\": {\"name\": \"search\", \"description\": \"Finds.\", "
                  "\"parameters\": {\"type\": \"object\", \"properties\": {\"query\": {\"type\": \"array\", \"items\": "
                  "{\"type\": \"string\"}}}}}}\n{\"type\": \"function\", \"function\": {\"name\": \"visit\", "
                  "\"description\": \"Reads.\", \"parameters\": {\"type\": \"object\", \"properties\": {}}}}"},
        {"r1", "- search(query: array of string): Finds.\n- visit(): Reads."},
        {"websailor",
         "{\n  \"name\": \"search\",\n  \"description\": \"Finds.\",\n  \"parameters\": {\n    \"type\": "
         "\"object\",\n    \"properties\": {\n      \"query\": {\n        \"type\": \"array\",\n        "
         "\"items\": {\n          \"type\": \"string\"\n        }\n      }\n    }\n  }\n},\n{\n  \"name\": "
         "\"visit\",\n  \"description\": \"Reads.\",\n  \"parameters\": {\n    \"type\": \"object\",\n    "
         "\"properties\": {}\n  }\n}"},
    };
    struct tools tools;
    load_tools(&tools);
    for (size_t i = 0; i < 3; i++) {
        struct profile *profile = load(cases[i].profile, NULL);
        struct buf out;
        buf_init(&out, BUF_UNBOUNDED);
        profile_render_tools(profile, tools.list, 2, &out);
        assert_string_equal(out.data, cases[i].expected);
        buf_finish(&out);
        profile_destroy(profile);
    }
    finish_tools(&tools);
}

static void profile__trained_ones_keep_the_trained_formats(void **state)
{
    (void)state;
    for (size_t i = 3; i < 5; i++) {
        struct profile *profile = load(builtin[i], NULL);
        assert_int_equal(profile->observations, OBSERVATION_TRAINED);
        assert_int_equal(profile->calls, CALLS_FIRST);
        assert_string_equal(profile->search_separator, "\n=======\n");
        const struct prompt_value result[] = {{"number", STR("2")},
                                              {"title", STR("T")},
                                              {"url", STR("http://e/")},
                                              {"date", STR("May 1")},
                                              {"snippet", STR("S")}};
        char *text = render(profile, PROMPT_SEARCH_RESULT, result, 5);
        assert_string_equal(text, "2. [T](http://e/)\nDate published: May 1\n\nS");
        free(text);
        const struct prompt_value block[] = {
            {"query", STR("q")}, {"count", STR("1")}, {"results", STR("R")}, {"notice", STR("N")}};
        text = render(profile, PROMPT_SEARCH_BLOCK, block, 4);
        assert_string_equal(text, "A Google search for 'q' found 1 results:\n\n## Web Results\nR");
        free(text);
        const struct prompt_value page[] = {
            {"url", STR("U")}, {"goal", STR("G")}, {"evidence", STR("E")}, {"summary", STR("S")}, {"links", STR("L")}};
        text = render(profile, PROMPT_VISIT_PAGE, page, 5);
        assert_non_null(strstr(text, "\n\nEvidence in page: \nE\n\nSummary: \nS"));
        free(text);
        profile_destroy(profile);
    }
}

static void profile__is_chosen_by_the_models_name(void **state)
{
    (void)state;
    static const struct {
        const char *model, *profile;
    } cases[] = {
        {"Qwen/Qwen3-8B", "qwen3"},
        {"qwen3:8b", "qwen3"},
        {"QwQ-32B", "qwen3"},
        {"Alibaba-NLP/Tongyi-DeepResearch-30B-A3B", "tongyi"},
        {"alibaba/tongyi-deepresearch-30b-a3b:free", "tongyi"},
        {"WebSailor-32B", "websailor"},
        {"/models/WebDancer-QwQ-32B", "websailor"},
        {"deepseek-ai/DeepSeek-R1", "r1"},
        {"DeepSeek-R1-Distill-Qwen-7B", "r1"},
        {"deepseek-reasoner", "r1"},
        {"gpt-4o", "generic"},
        {"qwen2.5-72b-instruct", "generic"},
        {"my-qwen3", "generic"},
        {"", "generic"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *name = NULL;
        struct error error;
        assert_int_equal(profile_name_for_model(cases[i].model, NULL, &name, &error), STATUS_OK);
        assert_string_equal(name, cases[i].profile);
        free(name);
    }
}

/* Renders a search-block with this text as its file. */
static char *render_text(const struct place *place, const char *text, const struct prompt_value *values, size_t count)
{
    write_below(place, "p", "profile.yaml", "description: test\n");
    write_below(place, "p", "search-block.md", text);
    char *path = mem_printf("%s/p", place->path);
    struct profile *profile = load(path, NULL);
    char *rendered = render(profile, PROMPT_SEARCH_BLOCK, values, count);
    profile_destroy(profile);
    free(path);
    return rendered;
}

static void profile__placeholders_are_replaced_and_nothing_else(void **state)
{
    static const struct {
        const char *text, *query, *results, *expected;
    } cases[] = {
        {"{query}", "x", "", "x"},
        {"{query}\n", "x", "", "x"},
        {"{query}\n\n", "x", "", "x\n"},
        {"{query}{results}{query}", "{results}", "{query}", "{results}{query}{results}"},
        {"{\"a\": {query}, {}, {Query}, { query }, {query", "x", "", "{\"a\": x, {}, {Query}, { query }, {query"},
        {"{{query}}", "x", "", "{x}"},
        {"a\n{results}\nb", "x", "", "a\nb"},
        {"a\n\n{results}\n\nb", "x", "", "a\n\nb"},
        {"{results}\n\nb", "x", "", "b"},
        {"a\n\n{results}", "x", "", "a"},
        {"a\n- {results}, {notice}\nb {query}\n", "x", "", "a\nb x"},
        {"a {results}{query}", "x", "", "a x"},
        {"{query}\n\nb", "l1\nl2\n", "", "l1\nl2\n\n\nb"},
        {"", "x", "", ""},
        {"no placeholder", "x", "", "no placeholder"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct prompt_value values[] = {{"query", str_of(cases[i].query)}, {"results", str_of(cases[i].results)}};
        char *rendered = render_text(*state, cases[i].text, values, 2);
        assert_string_equal(rendered, cases[i].expected);
        free(rendered);
    }
}

static void profile__other_syntaxes_take_files_as_they_are(void **state)
{
    struct place *place = *state;
    write_below(place, "p", "profile.yaml",
                "prompts:\n  system: {file: s.txt, syntax: verbatim, append: \"on {date}\"}\n"
                "  page-summary: {file: e.txt, syntax: python}\n");
    write_below(place, "p", "s.txt", "{date} {{x}} {unknown}\n");
    write_below(place, "p", "e.txt", "{{\"a\": 1}} {webpage_content}|{goal}}}\n");
    char *path = mem_printf("%s/p", place->path);
    struct profile *profile = load(path, NULL);
    char *text = render(profile, PROMPT_SYSTEM, (const struct prompt_value[]){{"date", STR("today")}}, 1);
    assert_string_equal(text, "{date} {{x}} {unknown}\non today");
    free(text);
    const struct prompt_value values[] = {{"content", STR("{goal}")}, {"goal", STR("g")}};
    text = render(profile, PROMPT_PAGE_SUMMARY, values, 2);
    assert_string_equal(text, "{\"a\": 1} {goal}|g}\n");
    free(text);
    profile_destroy(profile);
    free(path);
}

static void profile__says_what_is_wrong_and_where(void **state)
{
    static const struct {
        const char *yaml, *file, *text;
        enum status status;
        int line, column;
        const char *place, *message;
    } cases[] = {
        {"layout: left\n", NULL, NULL, STATUS_INVALID, 1, 9, "profile.yaml", "one of: system, user"},
        {"calls: all\ncols: 1\n", NULL, NULL, STATUS_INVALID, 2, 1, "profile.yaml", "unknown key \"cols\""},
        {"sampling:\n  temperature: warm\n", NULL, NULL, STATUS_INVALID, 2, 16, "profile.yaml", "number from 0 to 10"},
        {"sampling:\n  temperature: nan\n", NULL, NULL, STATUS_INVALID, 2, 16, "profile.yaml", "number from 0 to 10"},
        {"sampling:\n  heat: 1\n", NULL, NULL, STATUS_INVALID, 2, 3, "profile.yaml",
         "unknown key \"heat\" in sampling"},
        {"sampling: hot\n", NULL, NULL, STATUS_INVALID, 1, 11, "profile.yaml", "mapping"},
        {"max_tokens: 1.5e3\nmax_tokens: 2\n", NULL, NULL, STATUS_INVALID, 2, 1, "profile.yaml", "twice"},
        {"max_tokens: 100.5\n", NULL, NULL, STATUS_INVALID, 1, 13, "profile.yaml", "whole number"},
        {"description: [a]\n", NULL, NULL, STATUS_INVALID, 1, 14, "profile.yaml", "single value"},
        {"models: qwen\n", NULL, NULL, STATUS_INVALID, 1, 9, "profile.yaml", "list"},
        {"description: &a x\nbase: *a\n", NULL, NULL, STATUS_INVALID, 2, 7, "profile.yaml", "aliases"},
        {"description: \"x\n", NULL, NULL, STATUS_SYNTAX, 2, 1, "profile.yaml", "invalid YAML"},
        {"description: b: c\n", NULL, NULL, STATUS_SYNTAX, 1, 15, "profile.yaml", "invalid YAML"},
        {"- a\n", NULL, NULL, STATUS_INVALID, 1, 1, "profile.yaml", "mapping"},
        {"layout: user\n---\nlayout: user\n", NULL, NULL, STATUS_INVALID, 2, 1, "profile.yaml", "single document"},
        {"base: nonesuch\n", NULL, NULL, STATUS_INVALID, 0, 0, "profile.yaml", "\"nonesuch\""},
        {"prompts:\n  sytem: {file: a}\n", NULL, NULL, STATUS_INVALID, 2, 3, "profile.yaml", "no prompt of this name"},
        {"prompts:\n  system: {fil: a}\n", NULL, NULL, STATUS_INVALID, 2, 12, "profile.yaml", "knows"},
        {"prompts:\n  system: {file: ../a}\n", NULL, NULL, STATUS_INVALID, 2, 18, "profile.yaml", "inside"},
        {"prompts:\n  system: {file: a.md}\n", NULL, NULL, STATUS_NOT_FOUND, 0, 0, "a.md", ""},
        {"", "system.md", "ok {date}\n  {question}", STATUS_INVALID, 2, 3, "system.md", "\"{question}\""},
        {"prompts:\n  page-summary: {file: e, syntax: python}\n", "e", "a {goal!r}", STATUS_INVALID, 1, 3, "/e",
         "no placeholder"},
        {"prompts:\n  page-summary: {file: e, syntax: python}\n", "e", "a }", STATUS_INVALID, 1, 3, "/e",
         "no placeholder"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct place *place = *state;
        char *folder = mem_printf("case%zu", i), *path = mem_printf("%s/%s", place->path, folder);
        write_below(place, folder, "profile.yaml", cases[i].yaml);
        if (cases[i].file)
            write_below(place, folder, cases[i].file, cases[i].text);
        struct profile *profile = NULL;
        struct error error = {0};
        assert_int_equal(profile_load(path, NULL, &profile, &error), cases[i].status);
        assert_null(profile);
        if (error.line != cases[i].line || error.column != cases[i].column)
            fail_msg("case %zu: %d:%d %s", i, error.line, error.column, error.message);
        assert_true(str_ends_with(str_of(error.place), str_of(cases[i].place)));
        if (!strstr(error.message, cases[i].message))
            fail_msg("case %zu: %s", i, error.message);
        free(path);
        free(folder);
    }
}

static void profile__unknown_names_are_told_what_there_is(void **state)
{
    (void)state;
    struct profile *profile = NULL;
    struct error error;
    assert_int_equal(profile_load("nonesuch", NULL, &profile, &error), STATUS_NOT_FOUND);
    assert_non_null(strstr(error.message, "generic, qwen3, r1, tongyi, websailor"));
    assert_int_equal(profile_load("/nonesuch/folder", NULL, &profile, &error), STATUS_NOT_FOUND);
    assert_int_equal(profile_load("generic", &(struct profile_source){"/nonesuch"}, &profile, &error),
                     STATUS_NOT_FOUND);
    assert_null(profile);
}

static void profile__prompts_folder_replaces_files_of_the_same_path(void **state)
{
    struct place *place = *state;
    write_below(place, "generic", "notice-empty.md", "{tool}: nothing\n");
    struct profile *plain = load("qwen3", NULL), *replaced = load("qwen3", place->path);
    assert_string_not_equal(plain->hash, replaced->hash);
    char *text = render(replaced, PROMPT_NOTICE_EMPTY, (const struct prompt_value[]){{"tool", STR("search")}}, 1);
    assert_string_equal(text, "search: nothing");
    free(text);
    assert_true(str_starts_with(str_of(profile_prompt_origin(replaced, PROMPT_NOTICE_EMPTY)), str_of(place->path)));
    assert_true(str_equal(profile_prompt_text(plain, PROMPT_SYSTEM), profile_prompt_text(replaced, PROMPT_SYSTEM)));
    profile_destroy(plain);
    profile_destroy(replaced);
}

static void profile__a_new_name_in_the_prompts_folder_is_a_profile(void **state)
{
    struct place *place = *state;
    write_below(place, "mine", "profile.yaml", "description: my own\nbase: qwen3\nmodels: ['my-*', '*special*']\n");
    struct profile *profile = load("mine", place->path);
    assert_string_equal(profile->name, "mine");
    assert_string_equal(profile->description, "my own");
    assert_int_equal(profile->demand, DEMAND_INSIDE);
    assert_int_equal(profile->sampling.top_k, 20);
    assert_true(str_starts_with(str_of(profile->origin), str_of(place->path)));
    profile_destroy(profile);
    char *name = NULL;
    struct error error;
    assert_int_equal(profile_name_for_model("org/My-Model", &(struct profile_source){place->path}, &name, &error),
                     STATUS_OK);
    assert_string_equal(name, "mine");
    free(name);
}

static void profile__bases_cannot_go_round_in_circles(void **state)
{
    struct place *place = *state;
    write_below(place, "a", "profile.yaml", "base: b\n");
    write_below(place, "b", "profile.yaml", "base: a\n");
    struct profile *profile = NULL;
    struct error error;
    assert_int_equal(profile_load("a", &(struct profile_source){place->path}, &profile, &error), STATUS_INVALID);
    assert_non_null(strstr(error.message, "itself"));
}

static void profile__cuts_observations_at_a_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t max_bytes, omitted;
        const char *expected;
    } cases[] = {
        {"abc", 3, 0, "abc"},
        {"line one\nline two", 10, 9, "line one\n\n[Cut here: 9 bytes of 17 bytes left out.]"},
        {"line\nvery long line", 12, 7, "line\nvery lo\n\n[Cut here: 7 bytes of 19 bytes left out.]"},
        {"\xE4\xB8\xAD\xE6\x96\x87", 5, 3, "\xE4\xB8\xAD\n\n[Cut here: 3 bytes of 6 bytes left out.]"},
        {"abc", 0, 3, "[Cut here: 3 bytes of 3 bytes left out.]"},
    };
    struct profile *profile = load("generic", NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out;
        buf_init(&out, BUF_UNBOUNDED);
        size_t omitted = profile_cut_observation(profile, str_of(cases[i].text), cases[i].max_bytes, &out);
        assert_string_equal(out.data, cases[i].expected);
        assert_int_equal(omitted, cases[i].omitted);
        buf_finish(&out);
    }
    profile_destroy(profile);
}

static void profile__is_shown_whole(void **state)
{
    (void)state;
    struct profile *profile = load("tongyi", NULL);
    json_t *whole = profile_to_json(profile);
    assert_int_equal(json_object_size(json_object_get(whole, "prompts")), PROMPT_COUNT);
    json_t *settings = json_object_get(whole, "settings");
    assert_string_equal(json_get_string(settings, "demand"), "replace");
    assert_string_equal(json_get_string(json_object_get(settings, "separators"), "search"), "\n=======\n");
    assert_true(json_is_real(json_object_get(json_object_get(settings, "sampling"), "presence_penalty")));
    assert_null(json_object_get(json_object_get(settings, "sampling"), "top_k"));
    assert_non_null(json_object_get(json_object_get(whole, "tools"), "PythonInterpreter"));
    assert_string_equal(json_get_string(whole, "hash"), profile->hash);
    json_decref(whole);
    profile_destroy(profile);
}

int main(void)
{
#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, drop_place)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profile__built_in_ones_are_whole),
        cmocka_unit_test(profile__prompts_name_only_the_tools_of_the_run),
        cmocka_unit_test(profile__renders_tools_in_the_form_it_names),
        cmocka_unit_test(profile__trained_ones_keep_the_trained_formats),
        cmocka_unit_test(profile__is_chosen_by_the_models_name),
        WITH_PLACE(profile__placeholders_are_replaced_and_nothing_else),
        WITH_PLACE(profile__other_syntaxes_take_files_as_they_are),
        WITH_PLACE(profile__says_what_is_wrong_and_where),
        cmocka_unit_test(profile__unknown_names_are_told_what_there_is),
        WITH_PLACE(profile__prompts_folder_replaces_files_of_the_same_path),
        WITH_PLACE(profile__a_new_name_in_the_prompts_folder_is_a_profile),
        WITH_PLACE(profile__bases_cannot_go_round_in_circles),
        cmocka_unit_test(profile__cuts_observations_at_a_line),
        cmocka_unit_test(profile__is_shown_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
