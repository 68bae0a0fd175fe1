/* Python string constants and the import of a clone's prompts, compared with what CPython itself evaluates. */
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

#include "core/buf.h"
#include "core/file.h"
#include "core/mem.h"
#include "protocol/profile.h"
#include "protocol/profile_import.h"
#include "protocol/python_strings.h"

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *ftw)
{
    (void)info;
    (void)type;
    (void)ftw;
    return remove(path);
}

static int make_place(void **state)
{
    char *path = mem_strdup("/tmp/fathom-import-XXXXXX");
    assert_non_null(mkdtemp(path));
    *state = path;
    return 0;
}

static int drop_place(void **state)
{
    nftw(*state, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return 0;
}

static char *read_below(const char *place, const char *name, size_t *len)
{
    struct buf contents;
    struct error error;
    buf_init(&contents, 1 << 20);
    char *path = mem_printf("%s/%s", place, name);
    if (file_read(path, &contents, &error) != STATUS_OK)
        fail_msg("%s: %s", path, error.message);
    free(path);
    *len = contents.len;
    return buf_take(&contents);
}

static void write_below(const char *place, const char *name, struct str contents)
{
    char *path = mem_printf("%s/%s", place, name);
    struct error error;
    for (char *slash = path + strlen(place) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    assert_int_equal(file_write(path, contents, &error), STATUS_OK);
    free(path);
}

/* Has CPython evaluate place/prompt.py and write the UTF-8 of each name to place/NAME. */
static void ask_python(const char *place, const char *names)
{
    char *command = mem_printf("cd '%s' && python3 -I -c \"\n"
                               "import warnings; warnings.simplefilter('ignore')\n"
                               "scope = {}\n"
                               "exec(compile(open('prompt.py', 'rb').read(), 'prompt.py', 'exec'), scope)\n"
                               "for name in '%s'.split(): open(name, 'wb').write(scope[name].encode())\n\"",
                               place, names);
    assert_int_equal(system(command), 0);
    free(command);
}

static const char tricky[] =
    "\xEF\xBB\xBF# SYSTEM_PROMPT = 'comment'\r\n"
    "\"\"\"A docstring with SYSTEM_PROMPT = \"x\" and an apostrophe's end.\"\"\"\r\n"
    "import os; from os import (path,\n"
    "  sep)  # '''\n"
    "A = '''one\r\ntwo\rthree'''\n"
    "B = \"a\\\nb\" 'c' \"\"\"d\"e\"\"f\\\"\"\"\" r'\\n\\'' R\"\\\"\" u'\\u4e2d\\U0001F600\\x41\\101\\7\\0z'\n"
    "C = '\\a\\b\\f\\n\\r\\t\\v\\\\\\'\\\"\\q'[:0] if False else 'not read'\n"
    "D = ('x'   # comment ' here\n"
    "     \"y\"\n\n"
    "     + A + (('z')))\n"
    "D += B + '\\\\'\n"
    "E: str = '\\a\\b\\f\\n\\r\\t\\v\\\\\\'\\\"\\q\\d\\ ' '' \"\" ''''''\n"
    "F = 'first'\n"
    "def f(SYSTEM_PROMPT='inner'):\n"
    "    F = \"\"\"indented\n"
    "F = 'inside a string'\n"
    "\"\"\"\n"
    "    return {'(': [')', \"]\"]}\n"
    "if F == 'first': pass\n"
    "G = F \\\n"
    "    + \\\n"
    "    'joined'; os.sep\n"
    "H = '\xE4\xB8\xAD\xE6\x96\x87 \xF0\x9F\x98\x80 {braces} {{}} %s \\777'\n"
    "I = '\\\r\nJ = 1'\n"
    "J = r'''raw \\\r\nlines \\x41'''\n"
    "K = 'a' \\\r\n 'b'\n"
    "L = 'no newline at the end'";

static void python_strings__are_what_cpython_evaluates(void **state)
{
    static const char *const names[] = {"A", "B", "D", "E", "F", "G", "H", "I", "J", "K", "L"};
    const char *place = *state;
    write_below(place, "prompt.py", STR(tricky));
    ask_python(place, "A B D E F G H I J K L");
    struct python_strings *strings;
    struct error error;
    assert_int_equal(python_strings_read(STR(tricky), &strings, &error), STATUS_OK);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t len;
        char *expected = read_below(place, names[i], &len);
        struct str value;
        if (python_strings_get(strings, names[i], &value, &error) != STATUS_OK)
            fail_msg("%d:%d: %s", error.line, error.column, error.message);
        if (!str_equal(value, str_make(expected, len)))
            fail_msg("%s: \"%.*s\" is not \"%s\"", names[i], STR_ARG(value), expected);
        free(expected);
    }
    struct str value;
    assert_int_equal(python_strings_get(strings, "C", &value, &error), STATUS_UNSUPPORTED);
    assert_int_equal(error.line, 10);
    assert_int_equal(python_strings_get(strings, "SYSTEM_PROMPT", &value, &error), STATUS_NOT_FOUND);
    python_strings_destroy(strings);
}

static void python_strings__say_what_they_do_not_understand(void **state)
{
    (void)state;
    static const struct {
        const char *source;
        int line, column;
        const char *message;
    } cases[] = {
        {"X = f'{1}'", 1, 5, "f-string"},
        {"X = b'a'", 1, 5, "bytes"},
        {"X = 'a' % 3", 1, 9, "constant strings"},
        {"X = 'a'.strip()", 1, 8, "constant strings"},
        {"X = \\\n  open('a')", 2, 3, "constant strings"},
        {"X = ('a'\n", 2, 1, "constant strings"},
        {"X = 'a\n'", 1, 7, "not closed"},
        {"X = '''a", 1, 9, "not closed"},
        {"X = '\\N{DASH}'", 1, 6, "\\N"},
        {"X = '\\ud800'", 1, 6, "surrogate"},
        {"X = '\\U00110000'", 1, 6, "beyond Unicode"},
        {"X = '\\x4'", 1, 6, "hexadecimal"},
        {"X = Y", 1, 5, "constant strings"},
        {"X = 'a'\nX = 3\nX += 'b'", 2, 5, "constant strings"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct python_strings *strings;
        struct error error;
        struct str value;
        assert_int_equal(python_strings_read(str_of(cases[i].source), &strings, &error), STATUS_OK);
        assert_int_equal(python_strings_get(strings, "X", &value, &error), STATUS_UNSUPPORTED);
        if (error.line != cases[i].line || error.column != cases[i].column || !strstr(error.message, cases[i].message))
            fail_msg("case %zu: %d:%d: %s", i, error.line, error.column, error.message);
        python_strings_destroy(strings);
    }
    struct python_strings *strings = NULL;
    struct error error;
    assert_int_equal(python_strings_read(STR("X = '\xFF'"), &strings, &error), STATUS_SYNTAX);
    assert_null(strings);
}

static void python_strings__end_with_any_input(void **state)
{
    (void)state;
    for (size_t cut = 0; cut < sizeof tricky; cut++) {
        struct python_strings *strings;
        struct error error;
        if (python_strings_read(str_make(tricky, cut), &strings, &error) == STATUS_OK)
            python_strings_destroy(strings);
    }
    char deep[2000] = "X = ";
    memset(deep + 4, '(', sizeof deep - 5);
    struct python_strings *strings;
    struct error error;
    struct str value;
    assert_int_equal(python_strings_read(str_of(deep), &strings, &error), STATUS_OK);
    assert_int_equal(python_strings_get(strings, "X", &value, &error), STATUS_UNSUPPORTED);
    python_strings_destroy(strings);
}

static const char prompts[] =
    "SYSTEM_PROMPT = \"\"\"You are \\\"it\\\".\n<tools>\n{\"name\": \"search\"}\n</tools>\n\n"
    "Current date: \"\"\"\n\n"
    "EXTRACTOR_PROMPT = '''Page: {webpage_content}\nGoal: {goal}\nAs {{\"evidence\": \"\"}}'''\n";

static void profile_import__makes_a_profile_with_the_same_bytes(void **state)
{
    const char *place = *state;
    write_below(place, "prompt.py", STR(prompts));
    ask_python(place, "SYSTEM_PROMPT EXTRACTOR_PROMPT");
    write_below(place, "clone/inference/prompt.py", STR(prompts));
    write_below(place, "clone/WebAgent/WebX/src/prompt.py", STR("SYSTEM_PROMPT = 'other'\n"));
    write_below(place, "clone/.git/prompt.py", STR("SYSTEM_PROMPT = 'hidden'\n"));
    char *clone = mem_printf("%s/clone", place), *into = mem_printf("%s/mine", place);
    struct profile_import report;
    struct error error;
    if (profile_import(clone, into, &report, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_true(str_ends_with(str_of(report.source), STR("clone/inference/prompt.py")));
    assert_non_null(strstr(report.others.data, "WebX"));
    assert_null(strstr(report.others.data, ".git"));
    assert_string_equal(report.system_name, "SYSTEM_PROMPT");
    assert_string_equal(report.summary_name, "EXTRACTOR_PROMPT");
    assert_null(report.question_name);

    size_t system_len, summary_len;
    char *system = read_below(place, "SYSTEM_PROMPT", &system_len);
    char *summary = read_below(place, "EXTRACTOR_PROMPT", &summary_len);
    assert_int_equal(report.system_bytes, system_len);
    struct profile *profile;
    assert_int_equal(profile_load(into, NULL, &profile, &error), STATUS_OK);
    assert_true(str_equal(profile_prompt_text(profile, PROMPT_SYSTEM), str_make(system, system_len)));
    assert_true(str_equal(profile_prompt_text(profile, PROMPT_PAGE_SUMMARY), str_make(summary, summary_len)));

    struct buf said, asked;
    buf_init(&said, BUF_UNBOUNDED);
    buf_init(&asked, BUF_UNBOUNDED);
    const struct profile_start start = {.question = STR("{date}?"), .date = STR("2026-03-01")};
    profile_render_start(profile, &start, &said, &asked);
    char *expected = mem_printf("%s2026-03-01", system);
    assert_string_equal(said.data, expected);
    assert_string_equal(asked.data, "{date}?");
    buf_reset(&said);
    const struct prompt_value values[] = {{"content", STR("{goal}")}, {"goal", STR("G")}};
    assert_int_equal(profile_render(profile, PROMPT_PAGE_SUMMARY, values, 2, &said), STATUS_OK);
    assert_string_equal(said.data, "Page: {goal}\nGoal: G\nAs {\"evidence\": \"\"}");
    buf_finish(&said);
    buf_finish(&asked);
    free(expected);
    free(system);
    free(summary);
    profile_destroy(profile);

    profile_import_finish(&report);
    assert_int_equal(profile_import(clone, into, &report, &error), STATUS_INVALID); /* not over what is there */
    profile_import_finish(&report);
    free(clone);
    free(into);
}

static void profile_import__knows_prompts_before_the_question(void **state)
{
    const char *place = *state;
    write_below(place, "WebAgent/WebSailor/src/prompt.py",
                STR("SYSTEM_PROMPT_MULTI = 'S\\n'\nUSER_PROMPT = 'Tools {} and {\"a\": 1}.\\nUser: '\n"));
    char *into = mem_printf("%s/mine", place);
    struct profile_import report;
    struct error error;
    assert_int_equal(profile_import(place, into, &report, &error), STATUS_OK);
    assert_string_equal(report.question_name, "USER_PROMPT");
    assert_null(report.summary_name);
    profile_import_finish(&report);
    struct profile *profile;
    assert_int_equal(profile_load(into, NULL, &profile, &error), STATUS_OK);
    assert_int_equal(profile->layout, LAYOUT_USER);
    struct buf system, user;
    buf_init(&system, BUF_UNBOUNDED);
    buf_init(&user, BUF_UNBOUNDED);
    const struct profile_start start = {.question = STR("Q"), .date = STR("2026-03-01")};
    profile_render_start(profile, &start, &system, &user);
    assert_string_equal(system.data, "S\nCurrent date: 2026-03-01");
    assert_string_equal(user.data, "Tools {} and {\"a\": 1}.\nUser: Q");
    buf_finish(&system);
    buf_finish(&user);
    profile_destroy(profile);
    free(into);
}

static void profile_import__says_what_is_missing(void **state)
{
    static const struct {
        const char *source;
        enum status status;
        int line;
        const char *message;
    } cases[] = {
        {NULL, STATUS_NOT_FOUND, 0, "no prompt.py"},
        {"PROMPT = 'a'\n", STATUS_NOT_FOUND, 0, "SYSTEM_PROMPT"},
        {"\nSYSTEM_PROMPT = make()\n", STATUS_UNSUPPORTED, 2, "SYSTEM_PROMPT"},
        {"SYSTEM_PROMPT = 'a'\nEXTRACTOR_PROMPT = 'a {page}'\n", STATUS_INVALID, 1, "{page}"},
        {"SYSTEM_PROMPT = '\xFF'\n", STATUS_SYNTAX, 0, "UTF-8"},
    };
    const char *place = *state;
    char *into = mem_printf("%s/mine", place);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *clone = mem_printf("%s/clone%zu", place, i);
        mkdir(clone, 0700);
        if (cases[i].source)
            write_below(clone, "prompt.py", str_of(cases[i].source));
        struct profile_import report;
        struct error error;
        assert_int_equal(profile_import(clone, into, &report, &error), cases[i].status);
        assert_int_equal(error.line, cases[i].line);
        if (!strstr(error.message, cases[i].message))
            fail_msg("case %zu: %s", i, error.message);
        assert_int_equal(access(into, F_OK), -1); /* nothing is left behind */
        profile_import_finish(&report);
        free(clone);
    }
    free(into);
}

int main(void)
{
#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, drop_place)
    const struct CMUnitTest tests[] = {
        WITH_PLACE(python_strings__are_what_cpython_evaluates),
        cmocka_unit_test(python_strings__say_what_they_do_not_understand),
        cmocka_unit_test(python_strings__end_with_any_input),
        WITH_PLACE(profile_import__makes_a_profile_with_the_same_bytes),
        WITH_PLACE(profile_import__knows_prompts_before_the_question),
        WITH_PLACE(profile_import__says_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
