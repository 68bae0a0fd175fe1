/* The settings of own tools and MCP servers: what they give, and where the problem is when they give nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "api/mcp_config.h"
#include "api/own_config.h"
#include "core/file.h"
#include "core/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIGNATURE "'signature': {'name': 'a', 'description': 'd'}"

static const struct config_place here = {.folder = "/etc/fathom"};

/* JSON with ' for ". */
static json_t *json_of(const char *text)
{
    char *copy = mem_strdup(text);
    json_t *value = NULL;
    struct error error = {0};
    for (char *c = copy; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    if (json_parse(str_of(copy), &value, &error) != STATUS_OK)
        fail_msg("%s: %s", text, error.message);
    free(copy);
    return value;
}

static enum status read_own(struct own_config *config, const char *text, const struct config_place *where,
                            struct error *error)
{
    json_t *object = json_of(text);
    enum status status = own_config_read(config, object, where, error);
    json_decref(object);
    return status;
}

static enum status read_mcp(struct mcp_config *config, const char *text, const struct config_place *where,
                            struct error *error)
{
    json_t *object = json_of(text);
    enum status status = mcp_config_read(config, object, where, error);
    json_decref(object);
    return status;
}

static void own_config__reads_everything(void **state)
{
    (void)state;
    struct own_config config = {0};
    struct error error = {0};
    setenv("OWN_UNITS", "metric", 1);
    assert_int_equal(
        read_own(
            &config,
            "{'weather': {'command': ['./weather.py', '--fast', 7], 'timeout': '1m30s', 'max_output_tokens': 500, "
            "'confinement': 'network', 'permission': 'ask', 'environment': {'UNITS': '${OWN_UNITS}', 'N': 3, 'B': "
            "true}, 'readable': 'data', 'writable': ['/var/cache/w'], 'idempotent': true, 'serial': true, " SIGNATURE
            "}}",
            &here, &error),
        STATUS_OK);
    assert_int_equal(config.count, 1);
    const struct own_tool_options *options = &config.tools[0].options;
    assert_string_equal(options->name, "weather");
    assert_string_equal(options->program.command[0], "/etc/fathom/weather.py");
    assert_string_equal(options->program.command[1], "--fast");
    assert_string_equal(options->program.command[2], "7");
    assert_null(options->program.command[3]);
    assert_int_equal(options->timeout_ms, 90000);
    assert_int_equal(options->max_output_tokens, 500);
    assert_int_equal(options->program.confinement, PROGRAM_NETWORK);
    assert_int_equal(options->permission, TOOL_ASK_FIRST);
    assert_string_equal(options->program.environment[0], "UNITS=metric");
    assert_string_equal(options->program.environment[1], "N=3");
    assert_string_equal(options->program.environment[2], "B=true");
    assert_string_equal(options->program.readable[0], "/etc/fathom/data");
    assert_string_equal(options->program.writable[0], "/var/cache/w");
    assert_true(options->idempotent);
    assert_true(options->serial);
    assert_int_equal(config.memory.n_secrets, 1); /* what came for a variable */
    assert_string_equal(config.memory.secrets[0], "metric");
    own_config_finish(&config);
    unsetenv("OWN_UNITS");
}

static void own_config__defaults(void **state)
{
    (void)state;
    struct own_config config = {0};
    assert_int_equal(read_own(&config, "{'a': {'command': 'cat', " SIGNATURE "}}", &here, NULL), STATUS_OK);
    const struct own_tool_options *options = &config.tools[0].options;
    assert_string_equal(options->program.command[0], "cat");
    assert_int_equal(options->program.confinement, PROGRAM_STRICT);
    assert_int_equal(options->permission, TOOL_PERMITTED);
    assert_int_equal(options->timeout_ms, 0);
    assert_false(config.tools[0].denied);
    own_config_finish(&config);
}

static void own_config__names_the_place_of_every_problem(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"[]", "own-tools: names of tools with their settings are wanted here"},
        {"{'a b': {}}", "own-tools.a b: a tool's name begins with a letter and has at most 64 letters, digits, _ - ."},
        {"{'a': 7}", "own-tools.a: an object of settings is wanted here"},
        {"{'a': {}}", "own-tools.a: a \"command\" is missing"},
        {"{'a': {'command': []}}", "own-tools.a: a \"command\" is missing"},
        {"{'a': {'command': {}}}", "own-tools.a.command: a list of texts is wanted here"},
        {"{'a': {'command': ['cat', null]}}", "own-tools.a.command: a text is wanted here"},
        {"{'a': {'command': 'cat'}}",
         "own-tools.a: a \"signature\" is missing: what the model is shown, a file or an object"},
        {"{'a': {'command': 'cat', 'timout': '1s'}}", "own-tools.a: unknown key \"timout\"; did you mean \"timeout\"?"},
        {"{'a': {'command': 'cat', 'colour': 1}}", "own-tools.a: unknown key \"colour\""},
        {"{'a': {'command': 'cat', " SIGNATURE ", 'timeout': 20}}",
         "own-tools.a.timeout: the unit is missing: \"20s\", \"500ms\", \"2m\""},
        {"{'a': {'command': 'cat', " SIGNATURE ", 'timeout': 'soon'}}",
         "own-tools.a.timeout: a time like \"20s\", \"500ms\" or \"2m\" is wanted here"},
        {"{'a': {'command': 'cat', " SIGNATURE ", 'timeout': '0'}}",
         "own-tools.a.timeout: a time of more than 0 is wanted here"},
        {"{'a': {'command': 'cat', " SIGNATURE ", 'max-output-tokens': 2.5}}",
         "own-tools.a.max-output-tokens: a whole number of at least 64 is wanted here"},
        {"{'a': {'command': 'cat', " SIGNATURE ", 'confinement': 'loose'}}",
         "own-tools.a.confinement: strict, network or none is wanted here"},
        {"{'a': {'command': 'cat', " SIGNATURE ", 'permission': true}}",
         "own-tools.a.permission: allow, ask or deny is wanted here"},
        {"{'a': {'command': 'cat', " SIGNATURE ", 'idempotent': 'yes'}}",
         "own-tools.a.idempotent: true or false is wanted here"},
        {"{'a': {'command': 'cat', " SIGNATURE ", 'environment': ['A=1']}}",
         "own-tools.a.environment: names with their values are wanted here"},
        {"{'a': {'command': 'cat', " SIGNATURE ", 'environment': {'A=B': '1'}}}",
         "own-tools.a.environment: \"A=B\" is no name"},
        {"{'a': {'command': 'cat', " SIGNATURE ", 'environment': {'A': '${NO_SUCH_VARIABLE}'}}}",
         "own-tools.a.environment: the variable NO_SUCH_VARIABLE is not set"},
        {"{'a': {'command': 'cat', 'signature': '/no/such/file'}}", NULL},
        {"{'a': {'directory': '/no/such/folder'}}", NULL},
        {"{'a': {'command': 'a\\u0000b'}}", "own-tools.a.command: a text is wanted here"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct own_config config = {0};
        struct error error = {0};
        assert_int_equal(read_own(&config, cases[i].text, &here, &error), STATUS_INVALID);
        if (cases[i].message)
            assert_string_equal(error.message, cases[i].message);
        assert_non_null(strstr(error.message, "own-tools"));
        own_config_finish(&config);
    }
}

static void own_config__a_found_file_may_do_no_harm(void **state)
{
    (void)state;
    static const struct config_place found = {.folder = "/tmp", .found = true};
    static const struct {
        const char *text;
        enum status status;
    } cases[] = {
        {"{'a': {'command': 'cat', " SIGNATURE "}}", STATUS_OK},
        {"{'a': {'command': 'cat', " SIGNATURE ", 'confinement': 'none'}}", STATUS_INVALID},
        {"{'a': {'command': 'cat', " SIGNATURE ", 'confinement': 'network'}}", STATUS_INVALID},
        {"{'a': {'command': 'cat', " SIGNATURE ", 'writable': ['/tmp']}}", STATUS_INVALID},
        {"{'a': {'command': 'cat', " SIGNATURE ", 'environment': {'A': '${PATH}'}}}", STATUS_INVALID},
        {"{'a': {'command': ['cat', '${PATH}'], " SIGNATURE "}}", STATUS_INVALID},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct own_config config = {0};
        assert_int_equal(read_own(&config, cases[i].text, &found, NULL), cases[i].status);
        own_config_finish(&config);
    }
}

/* ---- folders ---- */

static void put(const char *folder, const char *name, const char *text, mode_t mode)
{
    char *path = mem_printf("%s/%s", folder, name);
    assert_int_equal(file_write(path, str_of(text), NULL), STATUS_OK);
    assert_int_equal(chmod(path, mode), 0);
    free(path);
}

static void forget(const char *folder, const char *const *names)
{
    for (; *names; names++) {
        char *path = mem_printf("%s/%s", folder, *names);
        unlink(path);
        free(path);
    }
}

static void own_config__a_folder_is_a_tool(void **state)
{
    (void)state;
    static const char *const names[] = {"signature.json", "notes.txt", "go.sh", "run.py", "weather", NULL};
    char folder[] = "/tmp/own-config-XXXXXX";
    assert_non_null(mkdtemp(folder));
    struct own_config config = {0};
    struct error error = {0};
    assert_int_equal(own_config_add_folder(&config, folder, false, &error), STATUS_INVALID);
    assert_non_null(strstr(error.message, "chmod +x"));
    own_config_finish(&config);

    put(folder, "notes.txt", "no program", 0644);
    put(folder, "go.sh", "#!/bin/sh\n", 0755);
    assert_int_equal(own_config_add_folder(&config, folder, false, &error), STATUS_INVALID);
    assert_non_null(strstr(error.message, "signature.json"));
    own_config_finish(&config);

    put(folder, "signature.json", "{\"name\": \"a\"}", 0644);
    assert_int_equal(own_config_add_folder(&config, folder, false, &error), STATUS_OK);
    assert_non_null(strstr(config.tools[0].options.program.command[0], "/go.sh"));
    assert_string_equal(config.tools[0].options.program.directory, folder);
    assert_null(config.tools[0].options.name);
    assert_int_equal(config.tools[0].options.program.confinement, PROGRAM_STRICT);
    own_config_finish(&config);

    put(folder, "weather", "#!/bin/sh\n", 0755); /* two programs, and neither says that it is the one */
    assert_int_equal(own_config_add_folder(&config, folder, false, &error), STATUS_INVALID);
    own_config_finish(&config);
    put(folder, "run.py", "#!/bin/sh\n", 0755);
    char *with_slash = mem_printf("%s//", folder);
    assert_int_equal(own_config_add_folder(&config, with_slash, false, &error), STATUS_OK);
    assert_non_null(strstr(config.tools[0].options.program.command[0], "/run.py"));
    own_config_finish(&config);
    free(with_slash);
    const char *own_names[] = {strrchr(folder, '/') + 1, "run", NULL}; /* whatever order the folder lists them in */
    for (size_t i = 0; own_names[i]; i++) {
        put(folder, own_names[i], "#!/bin/sh\n", 0755);
        assert_int_equal(own_config_add_folder(&config, folder, false, &error), STATUS_OK);
        assert_non_null(strstr(config.tools[0].options.program.command[0], i == 0 ? "/run.py" : "/run"));
        own_config_finish(&config);
    }
    forget(folder, own_names);
    forget(folder, names);
    assert_int_equal(rmdir(folder), 0);
}

/* ---- MCP servers ---- */

static void mcp_config__reads_everything(void **state)
{
    (void)state;
    struct mcp_config config = {0};
    struct error error = {0};
    setenv("MCP_TOKEN", "sesame-open-12345", 1);
    assert_int_equal(read_mcp(&config,
                              "{'files': {'command': 'npx', 'args': ['-y', 'server', '.'], 'env': {'A': 1}, 'cwd': "
                              "'data', 'roots': ['data'], 'startup-timeout': '5s', 'timeout': '20s', 'max-timeout': "
                              "'2m', 'confinement': 'strict', 'required': true}, 'wiki': {'url': "
                              "'https://a.example/mcp', 'headers': {'Authorization': 'Bearer ${MCP_TOKEN}', 'X-Team': "
                              "'b'}, 'tools': ['x', 'y'], 'permission': 'ask', 'max_output_tokens': 900}}",
                              &here, &error),
                     STATUS_OK);
    assert_int_equal(config.count, 2);
    const struct mcp_options *files = &config.servers[0].options, *wiki = &config.servers[1].options;
    assert_string_equal(files->program.command[2], "server");
    assert_string_equal(files->program.command[3], ".");
    assert_null(files->program.command[4]);
    assert_string_equal(files->program.environment[0], "A=1");
    assert_string_equal(files->program.directory, "/etc/fathom/data");
    assert_string_equal(files->roots[0], "/etc/fathom/data");
    assert_int_equal(files->startup_timeout_ms, 5000);
    assert_int_equal(files->timeout_ms, 20000);
    assert_int_equal(files->max_timeout_ms, 120000);
    assert_int_equal(files->program.confinement, PROGRAM_STRICT);
    assert_true(config.servers[0].required);
    assert_string_equal(wiki->url, "https://a.example/mcp");
    assert_string_equal(wiki->headers[0].name, "Authorization");
    assert_string_equal(wiki->headers[0].value, "Bearer sesame-open-12345");
    assert_int_equal(wiki->n_headers, 2);
    assert_int_equal(wiki->n_tools, 2);
    assert_int_equal(wiki->permission, TOOL_ASK_FIRST);
    assert_int_equal(wiki->program.confinement, PROGRAM_NONE);
    assert_int_equal(config.memory.n_secrets, 1);
    assert_string_equal(config.memory.secrets[0], "sesame-open-12345");
    mcp_config_finish(&config);
    unsetenv("MCP_TOKEN");
}

static void mcp_config__names_the_place_of_every_problem(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"7", "mcp-servers: names of servers with their settings are wanted here"},
        {"{'a': []}", "mcp-servers.a: an object of settings is wanted here"},
        {"{'a/b': {'command': 'c'}}", "mcp-servers.a/b: a server's name has at most 40 letters, digits, _ and -"},
        {"{'a': {}}", "mcp-servers.a: either a \"command\" or a \"url\" is wanted here"},
        {"{'a': {'command': 'c', 'url': 'http://b'}}",
         "mcp-servers.a: either a \"command\" or a \"url\" is wanted here"},
        {"{'a': {'url': 'ftp://b'}}",
         "mcp-servers.a.url: an address that begins with http:// or https:// is wanted here"},
        {"{'a': {'comand': 'c'}}", "mcp-servers.a: unknown key \"comand\"; did you mean \"command\"?"},
        {"{'a': {'command': 'c', 'timeout': 60}}",
         "mcp-servers.a.timeout: the unit is missing: \"20s\", \"500ms\", \"2m\""},
        {"{'a': {'url': 'http://b', 'type': 'sse'}}",
         "mcp-servers.a.type: the old HTTP+SSE transport is not supported; ask the server's makers for its streamable "
         "HTTP address"},
        {"{'a': {'url': 'http://b', 'headers': {'A': 'x\\r\\nB: y'}}}",
         "mcp-servers.a.headers: the value of A holds a line break"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct mcp_config config = {0};
        struct error error = {0};
        assert_int_equal(read_mcp(&config, cases[i].text, &here, &error), STATUS_INVALID);
        assert_string_equal(error.message, cases[i].message);
        mcp_config_finish(&config);
    }
}

static void mcp_config__other_clients_shapes(void **state)
{
    (void)state;
    struct mcp_config config = {0};
    struct error error = {0};
    if (read_mcp(&config,
                 "{'mcpServers': {'My Server!': {'type': 'stdio', 'command': 'c', 'timeout': 60, 'autoApprove': [], "
                 "'disabled': true}, 'web': {'httpUrl': 'https://a.example'}, 'surf': {'serverUrl': "
                 "'https://b.example'}}}",
                 &here, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(config.count, 3);
    assert_string_equal(config.servers[0].options.name, "My_Server");
    assert_true(config.servers[0].left_out);
    assert_int_equal(config.servers[0].options.timeout_ms, 0);
    assert_string_equal(config.servers[1].options.url, "https://a.example");
    assert_string_equal(config.servers[2].options.url, "https://b.example");
    mcp_config_finish(&config);
}

static void mcp_config__flags(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name, *url;
        const char *words[6];
    } cases[] = {
        {"https://user:pw@mcp.example.org:8080/mcp?x=1",
         "mcp_example_org_8080",
         "https://user:pw@mcp.example.org:8080/mcp?x=1",
         {NULL}},
        {"wiki=https://a.example/b", "wiki", "https://a.example/b", {NULL}},
        {"npx -y @modelcontextprotocol/server-everything",
         "server-everything",
         NULL,
         {"npx", "-y", "@modelcontextprotocol/server-everything"}},
        {"npx  mcp-thing@1.2.3\tx", "mcp-thing", NULL, {"npx", "mcp-thing@1.2.3", "x"}},
        {"python3 /a/b/weather_server.py --x=1",
         "weather_server",
         NULL,
         {"python3", "/a/b/weather_server.py", "--x=1"}},
        {"mine='/a b/c' \"two words\" th'r'ee", "mine", NULL, {"/a b/c", "two words", "three"}},
        {"uv run --directory /x tool", "uv", NULL, {"uv", "run", "--directory", "/x", "tool"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct mcp_config config = {0};
        struct error error = {0};
        assert_int_equal(mcp_config_add(&config, cases[i].text, &error), STATUS_OK);
        const struct mcp_options *options = &config.servers[0].options;
        assert_string_equal(options->name, cases[i].name);
        if (cases[i].url)
            assert_string_equal(options->url, cases[i].url);
        for (size_t j = 0; !cases[i].url && j < 6; j++) {
            if (!cases[i].words[j]) {
                assert_null(options->program.command[j]);
                break;
            }
            assert_string_equal(options->program.command[j], cases[i].words[j]);
        }
        mcp_config_finish(&config);
    }
}

static void mcp_config__flags_that_nobody_named_do_not_collide(void **state)
{
    (void)state;
    struct mcp_config config = {0};
    for (int i = 0; i < 3; i++)
        assert_int_equal(mcp_config_add(&config, "npx thing", NULL), STATUS_OK);
    assert_string_equal(config.servers[0].options.name, "thing");
    assert_string_equal(config.servers[1].options.name, "thing_2");
    assert_string_equal(config.servers[2].options.name, "thing_3");
    assert_int_equal(mcp_config_add(&config, "  ", NULL), STATUS_INVALID);
    assert_int_equal(mcp_config_add(&config, "/no/such/file.json", NULL), STATUS_NOT_FOUND);
    mcp_config_finish(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_config__reads_everything),
        cmocka_unit_test(own_config__defaults),
        cmocka_unit_test(own_config__names_the_place_of_every_problem),
        cmocka_unit_test(own_config__a_found_file_may_do_no_harm),
        cmocka_unit_test(own_config__a_folder_is_a_tool),
        cmocka_unit_test(mcp_config__reads_everything),
        cmocka_unit_test(mcp_config__names_the_place_of_every_problem),
        cmocka_unit_test(mcp_config__other_clients_shapes),
        cmocka_unit_test(mcp_config__flags),
        cmocka_unit_test(mcp_config__flags_that_nobody_named_do_not_collide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
