/* How tokens are counted, from the configuration: sharing in a process, choice of the template, errors. */
#include "api/token_setup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/token_meter.h"
#include "core/file.h"
#include "core/mem.h"
#include "protocol/template.h"

static const char tokenizer_json[] =
    "{\"version\": \"1.0\", \"added_tokens\": [], \"normalizer\": null,"
    " \"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"use_regex\": true},"
    " \"post_processor\": null, \"decoder\": {\"type\": \"ByteLevel\"},"
    " \"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}, \"merges\": [\"a b\"]}}";

struct world {
    char folder[64];
    char *model; /* folder/model/tokenizer.json */
};

static void write_file(const struct world *world, const char *name, const char *text)
{
    char *path = mem_printf("%s/%s", world->folder, name);
    assert_int_equal(file_write(path, str_of(text), NULL), STATUS_OK);
    free(path);
}

static int set_up(void **state)
{
    struct world *world = mem_zalloc(sizeof *world);
    snprintf(world->folder, sizeof world->folder, "/tmp/fathom-tokens-XXXXXX");
    assert_non_null(mkdtemp(world->folder));
    setenv("XDG_CACHE_HOME", world->folder, 1);
    world->model = mem_printf("%s/tokenizer.json", world->folder);
    write_file(world, "tokenizer.json", tokenizer_json);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    char *command = mem_printf("rm -rf %s", world->folder);
    int code = system(command);
    free(command);
    free(world->model);
    free(world);
    return code;
}

/* Resolved; `flags` are pairs of name and value up to NULL. */
static struct config *configured(const char *const *flags)
{
    struct config *config = config_create();
    for (; *flags != NULL; flags += 2)
        assert_int_equal(config_set(config, option_find(str_of(flags[0]))->id, str_of(flags[1]), NULL), STATUS_OK);
    assert_int_equal(config_resolve(config, NULL), STATUS_OK);
    return config;
}

static void token_setup__shares_a_tokenizer_in_the_process(void **state)
{
    struct world *world = *state;
    const char *const flags[] = {"tokenizer", world->model, NULL};
    struct config *config = configured(flags);
    struct token_setup first, second;
    int64_t least;
    assert_int_equal(token_setup_open(config, &first, NULL), STATUS_OK);
    assert_int_equal(token_setup_open(config, &second, NULL), STATUS_OK);
    assert_ptr_equal(first.tokenizer, second.tokenizer);
    assert_ptr_equal(first.counter, second.counter);
    assert_int_equal(first.origin, TOKENIZER_COMPILED);
    token_setup_close(&first);
    assert_int_equal(second.counter->count(second.counter, STR("abab"), &least), 2);
    token_setup_close(&second);
    token_setup_close(&second); /* zeroed */
    assert_int_equal(token_setup_open(config, &first, NULL), STATUS_OK);
    assert_int_not_equal(first.origin, TOKENIZER_COMPILED);
    token_setup_close(&first);
    config_destroy(config);
}

static void token_setup__opens_the_summary_models_own(void **state)
{
    struct world *world = *state;
    const char *const alone[] = {"summary-tokenizer", world->model, NULL};
    const char *const both[] = {"tokenizer", world->model, "summary-tokenizer", world->model, NULL};
    const char *const wrong[] = {"tokenizer", world->model, "summary-tokenizer", "/dev/null", NULL};
    struct config *config = configured(alone);
    struct token_setup setup;
    struct error error;
    int64_t least;
    assert_int_equal(token_setup_open(config, &setup, NULL), STATUS_OK);
    assert_null(setup.counter);
    assert_int_equal(setup.summary_counter->count(setup.summary_counter, STR("abab"), &least), 2);
    token_setup_close(&setup);
    config_destroy(config);
    config = configured(both);
    assert_int_equal(token_setup_open(config, &setup, NULL), STATUS_OK);
    assert_ptr_equal(setup.summary_counter, setup.counter);
    token_setup_close(&setup);
    config_destroy(config);
    config = configured(wrong);
    assert_int_equal(token_setup_open(config, &setup, &error), STATUS_INVALID);
    assert_string_equal(error.place, "--summary-tokenizer");
    assert_null(setup.shared);
    config_destroy(config);
}

static void token_setup__chooses_the_template(void **state)
{
    struct world *world = *state;
    const struct {
        const char *flags[7];
        const char *name;
        enum template_choice choice;
    } cases[] = {
        {{NULL}, NULL, TEMPLATE_UNKNOWN},
        {{"tokenizer", world->model, NULL}, NULL, TEMPLATE_UNKNOWN},
        {{"chat-template", "qwen3", NULL}, "qwen3", TEMPLATE_NAMED},
        {{"chat-template", "qwen3", "tokenizer", world->model, NULL}, "qwen3", TEMPLATE_NAMED},
        {{"protocol", "completions", NULL}, "chatml", TEMPLATE_FALLBACK},
        {{"template", "llama3", NULL}, "llama3", TEMPLATE_NAMED}, /* which means completions */
        {{"template", "llama3", "chat-template", "qwen3", NULL}, "llama3", TEMPLATE_NAMED},
        {{"template", "llama3", "chat-template", "qwen3", "protocol", "chat", NULL}, "qwen3", TEMPLATE_NAMED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config *config = configured(cases[i].flags);
        struct token_setup setup;
        assert_int_equal(token_setup_open(config, &setup, NULL), STATUS_OK);
        assert_int_equal(setup.template_choice, cases[i].choice);
        assert_ptr_equal(setup.chat_template, cases[i].name ? template_find(str_of(cases[i].name)) : NULL);
        token_setup_close(&setup);
        config_destroy(config);
    }
}

static void token_setup__says_what_a_folder_holds(void **state)
{
    struct world *world = *state;
    char *wrong = mem_printf("%s/tokeniser.json", world->folder);
    const struct {
        const char *path, *message;
    } cases[] = {{wrong, "did you mean tokenizer.json?"}, {"/dev", "it holds "}, {"/dev/null", "neither a file"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const flags[] = {"tokenizer", cases[i].path, NULL};
        struct config *config = configured(flags);
        struct token_setup setup;
        struct error error;
        assert_int_equal(token_setup_open(config, &setup, &error), STATUS_INVALID);
        assert_string_equal(error.place, "--tokenizer");
        assert_non_null(strstr(error.message, cases[i].path));
        assert_non_null(strstr(error.message, cases[i].message));
        assert_null(setup.shared);
        config_destroy(config);
    }
    free(wrong);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(token_setup__shares_a_tokenizer_in_the_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(token_setup__opens_the_summary_models_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(token_setup__chooses_the_template, set_up, tear_down),
        cmocka_unit_test_setup_teardown(token_setup__says_what_a_folder_holds, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
