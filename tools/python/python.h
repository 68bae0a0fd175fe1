/* tools/python/python.h
 *
 * The tool `PythonInterpreter`: runs a program and shows what it prints, in the words of the run's profile. How the
 * program ended (an exception and its line, its own exit, a crash, too much time, memory or output) is told apart.
 *
 * The program is confined (loop/confine.h): no network, no files but its own in /tmp, no other processes. Each call has
 * a fresh interpreter, unless `session` keeps one for each run, whose names and files live until the run ends; when it
 * dies before, the next observation says that they are gone. Or the programs go to SandboxFusion servers
 * (https://github.com/bytedance/SandboxFusion), each asked when those before it failed.
 */
#ifndef FATHOM_TOOLS_PYTHON_H
#define FATHOM_TOOLS_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"
#include "engine/tool.h"

#define PYTHON_DEFAULT_TIMEOUT_MS 50000
#define PYTHON_DEFAULT_MEMORY     (INT64_C(1024) * 1024 * 1024)
#define PYTHON_MAX_SERVERS        8

enum python_sandbox {
    PYTHON_SANDBOX_BUBBLEWRAP,
    PYTHON_SANDBOX_FUSION,
    PYTHON_SANDBOX_NONE, /* as a child of ours with all our rights, for who knows why */
};

/* Everything is copied. */
struct python_options {
    enum python_sandbox sandbox;
    bool session;               /* one interpreter for all calls of a run. Not with PYTHON_SANDBOX_FUSION */
    int64_t timeout_ms;         /* of one program; 0: PYTHON_DEFAULT_TIMEOUT_MS */
    int64_t memory;             /* bytes of data of one process; 0: PYTHON_DEFAULT_MEMORY */
    const char *interpreter;    /* its path, or its name in PATH; NULL: python3 of the system, else the one in PATH */
    const char *const *servers; /* of PYTHON_SANDBOX_FUSION: addresses, with or without /run_code */
    size_t n_servers;
    struct str signature; /* as in signature.json; empty: the embedded one */
};

/* STATUS_UNSUPPORTED where programs cannot be run that way here: bubblewrap or the interpreter is missing or does not
 * work (the error says why and names the remedy). STATUS_INVALID for options that contradict each other. Runs the
 * interpreter once, which takes some 50 ms. */
enum status python_tool_create(const struct python_options *options, struct tool **out,
                               struct error *error) STATUS_CHECKED;

#endif
