/* The test suite of the JSON Schema organization, as Debian's package json-schema-test-suite has it (drafts 4 to 7)
 * and, where JSON_SCHEMA_SUITE names a newer copy, for draft 2020-12: every case, but for the parts listed here. */
#include "core/schema.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/mem.h"

#define DEBIAN_SUITE "/usr/share/json-schema-test-suite/tests"

/* What is not read, with the file or group of cases it leaves out. */
static const struct {
    const char *part; /* of "FILE: DESCRIPTION" */
    const char *why;
} left_out[] = {
    {"refRemote.json", "other documents are never fetched"},
    {"definitions.json", "refers to the meta-schema, which is another document"},
    {"defs.json", "refers to the meta-schema, which is another document"},
    {"remote ref, containing refs itself", "other documents are never fetched"},
    {"vocabulary.json", "vocabularies are not negotiated"},
    {"dynamicRef.json", "$dynamicRef is followed within one document without changes of scope"},
    {"anchor.json: Location-independent identifier with", "$id does not move the base of references"},
    {"anchor.json: same $anchor with different base uri", "$id does not move the base of references"},
    {"id.json", "$id does not move the base of references"},
    {"unknownKeyword.json", "$id does not move the base of references"},
    {"ref.json: Recursive references between schemas", "$id does not move the base of references"},
    {"ref.json: refs with relative uris and defs", "$id does not move the base of references"},
    {"ref.json: relative refs with absolute uris and defs", "$id does not move the base of references"},
    {"ref.json: Location-independent identifier with", "$id does not move the base of references"},
    {"ref.json: order of evaluation", "$id does not move the base of references"},
    {"ref.json: simple URN base URI with JSON pointer", "$id does not move the base of references"},
    {"ref.json: ref with absolute-path-reference", "$id does not move the base of references"},
    {"ref.json: $id with file URI still resolves pointers", "$id does not move the base of references"},
    {"ref.json: base URI change", "$id does not move the base of references"},
    {"ref.json: $id must be resolved against nearest parent", "$id does not move the base of references"},
    {"ref.json: URN ref with nested pointer ref", "$id does not move the base of references"},
};

static size_t n_run, n_left_out, n_wrong;

static bool is_left_out(const char *file, const char *group)
{
    char *name = mem_printf("%s: %s", file, group);
    bool found = false;
    for (size_t i = 0; i < sizeof left_out / sizeof left_out[0]; i++)
        found = found || strstr(name, left_out[i].part);
    free(name);
    return found;
}

static void run_group(const char *file, const char *draft, const json_t *group)
{
    json_t *schema = json_incref(json_object_get(group, "schema")), *test;
    const char *description = json_get_string(group, "description");
    size_t i;
    if (json_is_object(schema) && !json_object_get(schema, "$schema")) {
        char *dialect = strchr(draft, '-') ? mem_printf("https://json-schema.org/draft/2020-12/schema")
                                           : mem_printf("http://json-schema.org/draft-0%s/schema#", draft + 5);
        json_t *copy = json_copy(schema);
        json_object_set_new(copy, "$schema", json_string(dialect));
        json_decref(schema);
        schema = copy;
        free(dialect);
    }
    json_array_foreach (json_object_get(group, "tests"), i, test) {
        if (is_left_out(file, description)) {
            n_left_out++;
            continue;
        }
        struct error error = {0};
        bool valid = schema_fits(schema, json_object_get(test, "data"), &error) == STATUS_OK;
        n_run++;
        if (valid == json_is_true(json_object_get(test, "valid")))
            continue;
        n_wrong++;
        print_error("%s: %s: %s: %s %s\n", file, description, json_get_string(test, "description"),
                    valid ? "was taken" : "was refused:", error.message);
    }
    json_decref(schema);
}

static void run_file(const char *folder, const char *draft, const char *file)
{
    char *path = mem_printf("%s/%s/%s", folder, draft, file);
    json_error_t error;
    json_t *groups = json_load_file(path, JSON_ALLOW_NUL, &error), *group;
    size_t i;
    if (!groups) { /* keys that jansson does not read, or integers beyond 64 bits */
        json_t *lenient = NULL;
        if (json_parse_file(path, 1 << 20, &lenient, NULL) == STATUS_OK)
            groups = lenient;
    }
    if (!groups)
        print_message("%s: not read: %s\n", path, error.text);
    json_array_foreach (groups, i, group) {
        run_group(file, draft, group);
    }
    json_decref(groups);
    free(path);
}

static void run_draft(const char *folder, const char *draft)
{
    char *path = mem_printf("%s/%s", folder, draft);
    DIR *files = opendir(path);
    free(path);
    if (!files) {
        print_message("[  SKIPPED ] %s/%s is not there: scripts/test.sh installs it\n", folder, draft);
        skip();
    }
    n_run = n_left_out = n_wrong = 0;
    for (struct dirent *entry; (entry = readdir(files));) {
        const char *dot = strrchr(entry->d_name, '.');
        if (dot && strcmp(dot, ".json") == 0)
            run_file(folder, draft, entry->d_name);
    }
    closedir(files);
    print_message("%s: %zu cases right, %zu wrong, %zu left out\n", draft, n_run - n_wrong, n_wrong, n_left_out);
    assert_true(n_run > 300);
    assert_int_equal(n_wrong, 0);
}

static void schema__holds_to_draft_6(void **state)
{
    (void)state;
    run_draft(DEBIAN_SUITE, "draft6");
}

static void schema__holds_to_draft_7(void **state)
{
    (void)state;
    run_draft(DEBIAN_SUITE, "draft7");
}

static void schema__holds_to_draft_2020_12(void **state)
{
    (void)state;
    run_draft(COMPONENTS "/json-schema-suite/tests", "draft2020-12");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schema__holds_to_draft_6),
        cmocka_unit_test(schema__holds_to_draft_7),
        cmocka_unit_test(schema__holds_to_draft_2020_12),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
