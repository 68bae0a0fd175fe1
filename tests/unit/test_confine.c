/* Confined children: what they see, what they may use up, how their end is told, and that nothing survives it. Runs
 * bubblewrap; where that does not work the tests say so and skip. The attempts to break out are those of
 * tests/data/confine/breakout.py, which is also run unconfined to see that it can succeed. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/buf.h"
#include "core/file.h"
#include "core/mem.h"
#include "loop/confine.h"
#include "loop/loop.h"

#define PYTHON    "/usr/bin/python3"
#define MEGABYTES *1000 * 1000

struct outcome {
    struct loop *loop;
    size_t count;
    enum confine_end end;
    enum status status;
    int exit_code;
    char *output, *errors, message[512];
    int64_t elapsed_ms;
};

static void forget(struct outcome *outcome)
{
    free(outcome->output);
    free(outcome->errors);
    *outcome = (struct outcome){0};
}

static void on_done(void *user, enum confine_end end, struct child_result *result)
{
    struct outcome *outcome = user;
    outcome->count++;
    outcome->end = end;
    outcome->status = result->status;
    outcome->exit_code = result->exit_code;
    outcome->output = buf_take(&result->output);
    outcome->errors = buf_take(&result->errors);
    outcome->elapsed_ms = result->elapsed_ms;
    if (result->status != STATUS_OK)
        memcpy(outcome->message, result->error.message, sizeof outcome->message);
    loop_stop(outcome->loop);
}

static struct outcome run(struct loop *loop, const struct confinement *confinement, struct child_options options)
{
    struct outcome outcome = {.loop = loop};
    if (options.timeout_ms == 0)
        options.timeout_ms = 20000;
    confine_start(loop, confinement, &options, on_done, &outcome);
    assert_int_equal(outcome.count, 0);
    loop_run(loop);
    assert_int_equal(outcome.count, 1);
    return outcome;
}

static struct outcome run_shell(struct loop *loop, const struct confinement *confinement, const char *script)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    return run(loop, confinement, (struct child_options){.argv = argv});
}

static char *read_script(const char *name)
{
    struct buf text;
    struct error error;
    char *path = mem_printf("%s/confine/%s", TEST_DATA, name);
    buf_init(&text, 1 << 20);
    assert_int_equal(file_read(path, &text, &error), STATUS_OK);
    free(path);
    return buf_take(&text);
}

/* Runs greedy.py with up to three arguments. */
static struct outcome run_greedy(struct loop *loop, const struct confinement *confinement, const char *first,
                                 const char *second, const char *third)
{
    char *script = read_script("greedy.py");
    const char *const argv[] = {PYTHON, "-", first, second, third, NULL};
    struct outcome outcome = run(loop, confinement, (struct child_options){.argv = argv, .input = str_of(script)});
    free(script);
    return outcome;
}

#define assert_holds(text, part)                              \
    do {                                                      \
        if (!strstr(text, part))                              \
            fail_msg("\"%s\" is missing in: %s", part, text); \
    } while (0)

/* ---- set-up ---- */

static size_t count_descriptors(void)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

/* One test, inside a loop of its own; skipped where confinement does not work. */
struct confine_case {
    void (*test)(void **loop);
    bool needs_python, needs_root, needs_x86;
};

static void run_case(void **state)
{
    const struct confine_case *test_case = *state;
    struct error reason;
    if (!confine_available(&reason)) {
        print_message("not tested: %s\n", reason.message);
        skip();
    }
    if (test_case->needs_python && access(PYTHON, X_OK) != 0) {
        print_message("not tested: there is no " PYTHON "\n");
        skip();
    }
    if (test_case->needs_root && geteuid() != 0)
        skip();
#ifndef __x86_64__
    if (test_case->needs_x86) {
        print_message("not tested: the attempts are made by numbers of system calls of x86-64\n");
        skip();
    }
#endif
    size_t descriptors = count_descriptors();
    void *loop = loop_create();
    test_case->test(&loop);
    loop_destroy(loop);
    assert_int_equal(count_descriptors(), descriptors);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nothing runs on, and nothing waits to be reaped */
    assert_int_equal(errno, ECHILD);
}

/* Whether a process with this argument is running anywhere. */
static bool is_running(const char *argument)
{
    bool found = false;
    DIR *processes = opendir("/proc");
    const struct dirent *entry;
    while (!found && (entry = readdir(processes))) {
        char path[300], line[8192];
        snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
        FILE *file = atoi(entry->d_name) > 0 && atoi(entry->d_name) != getpid() ? fopen(path, "r") : NULL;
        if (!file)
            continue;
        size_t len = fread(line, 1, sizeof line, file);
        fclose(file);
        found = memmem(line, len, argument, strlen(argument)) != NULL;
    }
    closedir(processes);
    return found;
}

/* ---- what it is ---- */

static void confine__runs_a_program(void **state)
{
    static const char *const argv[] = {"sh", "-c", "cat; echo warning >&2; echo $A; pwd; exit 3", NULL};
    static const char *const environment[] = {"A=b", NULL};
    struct outcome outcome =
        run(*state, &(struct confinement){0},
            (struct child_options){
                .argv = argv, .environment = environment, .directory = "/usr", .input = STR("bytes in\n")});
    assert_int_equal(outcome.status, STATUS_OK);
    assert_int_equal(outcome.end, CONFINE_END_NONE);
    assert_int_equal(outcome.exit_code, 3);
    assert_string_equal(outcome.output, "bytes in\nb\n/usr\n");
    assert_string_equal(outcome.errors, "warning\n");
    forget(&outcome);

    outcome = run_shell(*state, &(struct confinement){0}, "pwd; env | sort; id -u; hostname");
    assert_string_equal(outcome.output, "/tmp\nHOME=/tmp\nLANG=C.UTF-8\nPATH=/usr/local/bin:/usr/bin:/bin\nPWD=/tmp\n"
                                        "1000\nsandbox\n");
    forget(&outcome);

    outcome = run_shell(*state, &(struct confinement){0}, "kill -SEGV $$");
    assert_int_equal(outcome.status, STATUS_OK);
    assert_int_equal(outcome.exit_code, 128 + 11);
    forget(&outcome);
}

static void confine__says_what_cannot_be_started(void **state)
{
    static const char *const nothing[] = {"no-such-program", NULL};
    struct outcome outcome = run(*state, &(struct confinement){0}, (struct child_options){.argv = nothing});
    assert_int_equal(outcome.exit_code, 127);
    forget(&outcome);

    static const struct confine_bind missing[] = {{.source = "/no/such/folder"}};
    outcome = run_shell(*state, &(struct confinement){.binds = missing, .n_binds = 1}, "true");
    assert_int_equal(outcome.status, STATUS_IO);
    assert_int_equal(outcome.exit_code, -1);
    assert_holds(outcome.message, "sh could not be confined: ");
    assert_holds(outcome.message, "/no/such/folder");
    forget(&outcome);

    static const struct confine_bind optional[] = {{.source = "/no/such/folder", .optional = true}};
    outcome = run_shell(*state, &(struct confinement){.binds = optional, .n_binds = 1}, "echo fine");
    assert_string_equal(outcome.output, "fine\n");
    forget(&outcome);

    /* A program that ends as bubblewrap would when it fails is not taken for it. */
    outcome = run_shell(*state, &(struct confinement){0}, "echo 'bwrap: no' >&2; exit 1");
    assert_int_equal(outcome.status, STATUS_OK);
    assert_int_equal(outcome.exit_code, 1);
    forget(&outcome);

    static const char *const shell[] = {"true", NULL};
    static const struct child_descriptor high[] = {{.number = CONFINE_MAX_DESCRIPTOR + 1, .ours = 0}};
    outcome = run(*state, &(struct confinement){0},
                  (struct child_options){.argv = shell, .descriptors = high, .n_descriptors = 1});
    assert_int_equal(outcome.status, STATUS_INVALID);
    forget(&outcome);
}

static void confine__binds(void **state)
{
    char folder[] = "/tmp/fathom-confine-XXXXXX", script[512];
    assert_non_null(mkdtemp(folder));
    struct error error;
    char *file = mem_printf("%s/file", folder);
    assert_int_equal(file_write(file, STR("contents"), &error), STATUS_OK);
    struct confine_bind binds[] = {{.source = folder}, {.source = folder, .target = "/tmp/inside", .writable = true}};
    const struct confinement confinement = {.binds = binds, .n_binds = 2, .keep_user = true};
    snprintf(script, sizeof script, "cat %s/file; echo; echo x > %s/file || echo refused; echo y > inside/new; ls %s",
             folder, folder, folder);
    struct outcome outcome = run_shell(*state, &confinement, script);
    assert_string_equal(outcome.output, "contents\nrefused\nfile\nnew\n");
    forget(&outcome);
    char *made = mem_printf("%s/new", folder);
    assert_int_equal(unlink(made), 0);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(folder), 0);
    free(made);
    free(file);
}

static void confine__descriptors(void **state)
{
    int ends[2];
    assert_int_equal(pipe2(ends, 0), 0);
    assert_int_equal(write(ends[1], "handed over", 11), 11);
    close(ends[1]);
    const struct child_descriptor descriptors[] = {{.number = 5, .ours = ends[0]}};
    static const char *const argv[] = {
        "sh", "-c",
        "cat <&5; for n in 3 4 5 6 7 23 24 25 26 27 28 29 30 31; do test -e /proc/self/fd/$n && echo \" $n\"; done",
        NULL};
    struct outcome outcome = run(*state, &(struct confinement){0},
                                 (struct child_options){.argv = argv, .descriptors = descriptors, .n_descriptors = 1});
    close(ends[0]);
    assert_string_equal(outcome.output, "handed over 5\n");
    forget(&outcome);
}

static void confine__talks(void **state)
{
    struct outcome outcome = {.loop = *state};
    static const char *const argv[] = {"cat", NULL};
    struct confined *confined = confine_start(
        *state, &(struct confinement){0}, &(struct child_options){.argv = argv, .keep_input = true}, on_done, &outcome);
    assert_int_equal(child_write(confined_child(confined), STR("said")), STATUS_OK);
    child_close_input(confined_child(confined));
    loop_run(*state);
    assert_string_equal(outcome.output, "said");
    forget(&outcome);
}

/* ---- breaking out ---- */

struct host {
    int listener, abstract;
    char port[8], name[64], pid[16], folder[32], *file;
};

static void host_init(struct host *host)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    host->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(host->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(host->listener, 5), 0);
    getsockname(host->listener, (struct sockaddr *)&address, &size);
    snprintf(host->port, sizeof host->port, "%d", ntohs(address.sin_port));

    struct sockaddr_un local = {.sun_family = AF_UNIX};
    snprintf(host->name, sizeof host->name, "fathom-confine-%d", (int)getpid());
    memcpy(local.sun_path + 1, host->name, strlen(host->name));
    size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(host->name));
    host->abstract = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(host->abstract, (struct sockaddr *)&local, size), 0);
    assert_int_equal(listen(host->abstract, 5), 0);

    struct error error;
    snprintf(host->pid, sizeof host->pid, "%d", (int)getpid());
    strcpy(host->folder, "/tmp/fathom-secret-XXXXXX");
    assert_non_null(mkdtemp(host->folder));
    host->file = mem_printf("%s/file", host->folder);
    assert_int_equal(file_write(host->file, STR("the host's secret"), &error), STATUS_OK);
    setenv("FATHOM_TEST_MARKER", "marker-of-the-parent", 1);
}

static void host_finish(struct host *host)
{
    close(host->listener);
    close(host->abstract);
    unlink(host->file);
    rmdir(host->folder);
    free(host->file);
}

static char *break_out(struct loop *loop, const struct host *host, const struct confinement *confinement)
{
    char *script = read_script("breakout.py");
    const char *const argv[] = {PYTHON, "-", host->port, host->name, host->pid, host->file, "marker-of-the-parent",
                                NULL};
    struct outcome outcome = run(loop, confinement, (struct child_options){.argv = argv, .input = str_of(script)});
    free(script);
    if (!strstr(outcome.output, "all tried"))
        fail_msg("the attempts did not come to their end: %s%s", outcome.output, outcome.errors);
    char *output = outcome.output;
    outcome.output = NULL;
    forget(&outcome);
    return output;
}

static void confine__cannot_be_broken_out_of(void **state)
{
    struct host host;
    host_init(&host);
    const struct confinement ways[] = {{.network = false}, {.keep_user = true}};
    for (size_t i = 0; i < 2; i++) {
        char *output = break_out(*state, &host, &ways[i]);
        const char *hole = strstr(output, "BROKEN");
        if (hole)
            fail_msg("%.*s", (int)strcspn(hole, "\n"), hole);
        free(output);
    }
    host_finish(&host);
}

/* What the attempts find where nothing holds them: else they would prove nothing. */
static void confine__attempts_can_succeed(void **state)
{
    struct host host;
    host_init(&host);
    static const char *const reachable[] = {"network by loopback", "network by its interfaces", "network by a datagram",
                                            "abstract socket of the host"};
    char *output = break_out(*state, &host, &(struct confinement){.network = true});
    for (size_t i = 0; i < sizeof reachable / sizeof reachable[0]; i++) {
        char *line = mem_printf("BROKEN %s", reachable[i]);
        assert_holds(output, line);
        free(line);
    }
    assert_null(strstr(output, "BROKEN file of the host"));
    assert_null(strstr(output, "BROKEN environment"));
    free(output);

    const struct confine_bind everything[] = {{.source = "/", .target = "/tmp/host"},
                                              {.source = host.folder, .writable = true}};
    const struct confinement loose = {.no_seccomp = true, .binds = everything, .n_binds = 2, .keep_user = true};
    static const char *const loosened[] = {"file of the host", "tracing a child", "new user namespace by unshare",
                                           "keys, bpf, perf", "sockets of other families"};
    output = break_out(*state, &host, &loose);
    for (size_t i = 0; i < sizeof loosened / sizeof loosened[0]; i++) {
        char *line = mem_printf("BROKEN %s", loosened[i]);
        assert_holds(output, line);
        free(line);
    }
    free(output);
    host_finish(&host);
}

/* ---- using up ---- */

static void confine__bounds_processes(void **state)
{
    const struct confinement confinement = {.limits = {.processes = 10, .cpu_seconds = 2}};
    struct outcome outcome = run_greedy(*state, &confinement, "flood", NULL, NULL);
    if (outcome.end == CONFINE_END_NONE) { /* the system refuses the eleventh */
        assert_string_equal(outcome.output, "10 processes: Resource temporarily unavailable\n");
    } else {
        assert_int_equal(outcome.end, CONFINE_END_PROCESSES);
    }
    assert_true(outcome.elapsed_ms < 10000);
    forget(&outcome);

    outcome = run_greedy(*state, &confinement, "bomb", NULL, NULL);
    assert_int_equal(outcome.end, CONFINE_END_CPU);
    forget(&outcome);
}

/* As root itself no system limit on processes holds: the watch does. */
static void confine__bounds_processes_of_root(void **state)
{
    const struct confinement confinement = {.limits = {.processes = 10, .cpu_seconds = 2}, .keep_user = true};
    struct outcome outcome = run_greedy(*state, &confinement, "flood", NULL, NULL);
    assert_int_equal(outcome.end, CONFINE_END_PROCESSES);
    assert_holds(outcome.message, "more processes");
    forget(&outcome);
}

static void confine__bounds_memory(void **state)
{
    const struct confinement confinement = {.limits = {.memory = 200 MEGABYTES, .tree_memory = 300 MEGABYTES}};
    struct outcome outcome = run_greedy(*state, &confinement, "memory", NULL, NULL);
    assert_int_equal(outcome.end, CONFINE_END_NONE);
    assert_string_equal(outcome.output, "MemoryError\n"); /* one process is told in its own language */
    forget(&outcome);

    outcome = run_greedy(*state, &confinement, "memories", NULL, NULL);
    assert_int_equal(outcome.end, CONFINE_END_MEMORY);
    assert_int_equal(outcome.status, STATUS_CANCELED);
    assert_string_equal(outcome.message, PYTHON " used more memory than it may");
    forget(&outcome);

    outcome = run_greedy(*state, &confinement, "mapping", NULL, NULL);
    assert_int_equal(outcome.end, CONFINE_END_MEMORY);
    forget(&outcome);

    outcome = run_greedy(*state, &confinement, "sharing", NULL, NULL); /* counted once */
    assert_int_equal(outcome.end, CONFINE_END_NONE);
    assert_int_equal(outcome.exit_code, 0);
    forget(&outcome);
}

/* Memory that no process maps, and that the limit of one process does not see. */
static void confine__bounds_memory_in_the_kernel(void **state)
{
    const struct confinement confinement = {.limits = {.tree_memory = 60 MEGABYTES}};
    static const char *const kinds[][2] = {
        {"tables", NULL}, {"sockets", NULL}, {"empty", "/tmp"}, {"empty", "/dev/shm"}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct outcome outcome = run_greedy(*state, &confinement, kinds[i][0], kinds[i][1], NULL);
        if (outcome.end != CONFINE_END_MEMORY)
            fail_msg("%s: %s %s", kinds[i][0], outcome.output, outcome.errors);
        forget(&outcome);
    }
}

static void confine__bounds_processor_time(void **state)
{
    const struct confinement confinement = {.limits = {.cpu_seconds = 1}};
    static const char *const kinds[] = {"cpu", "cpus"};
    for (size_t i = 0; i < 2; i++) {
        struct outcome outcome = run_greedy(*state, &confinement, kinds[i], NULL, NULL);
        assert_int_equal(outcome.end, CONFINE_END_CPU);
        assert_int_equal(outcome.status, STATUS_CANCELED);
        assert_true(outcome.elapsed_ms < 10000);
        forget(&outcome);
    }
}

static void confine__bounds_files(void **state)
{
    const struct confinement confinement = {.limits = {.tmp_size = 20 MEGABYTES, .open_files = 32}};
    static const char *const folders[] = {"/tmp", "/dev/shm", "/var/tmp"};
    for (size_t i = 0; i < 3; i++) {
        struct outcome outcome = run_greedy(*state, &confinement, "fill", folders[i], NULL);
        assert_holds(outcome.output, "No space left on device");
        assert_in_range(atoi(outcome.output), 19 MEGABYTES, 21 MEGABYTES);
        forget(&outcome);
    }
    static const char *const closed[] = {"/", "/dev", "/etc", "/var"};
    for (size_t i = 0; i < 4; i++) {
        struct outcome outcome = run_greedy(*state, &confinement, "fill", closed[i], NULL);
        assert_string_equal(outcome.output, "0 bytes: Read-only file system\n");
        forget(&outcome);
    }
    struct outcome outcome = run_greedy(*state, &confinement, "files", NULL, NULL);
    assert_holds(outcome.output, "files: Too many open files");
    assert_in_range(atoi(outcome.output), 20, 32);
    forget(&outcome);

    const struct confinement small = {.limits = {.file_size = 5 MEGABYTES}};
    outcome = run_greedy(*state, &small, "file", NULL, NULL);
    assert_string_equal(outcome.output, "5000000 bytes: File too large\n");
    forget(&outcome);
}

static void confine__bounds_output(void **state)
{
    static const char *const argv[] = {"yes", NULL};
    struct outcome outcome =
        run(*state, &(struct confinement){0}, (struct child_options){.argv = argv, .max_output = 100000});
    assert_int_equal(outcome.status, STATUS_TOO_BIG);
    assert_int_equal(strlen(outcome.output), 100000);
    assert_string_equal(outcome.message, "yes wrote more than it may");
    forget(&outcome);
}

/* ---- the end ---- */

static void confine__nothing_outlives_it(void **state)
{
    char marker[32];
    snprintf(marker, sizeof marker, "%d.25", 100000 + (int)getpid());
    struct outcome outcome = run_greedy(*state, &(struct confinement){0}, "daemon", marker, NULL);
    assert_string_equal(outcome.output, "left behind\n");
    assert_int_equal(outcome.exit_code, 0);
    assert_false(is_running(marker));
    assert_true(outcome.elapsed_ms < 5000);
    forget(&outcome);

    char *script = read_script("greedy.py");
    const char *const argv[] = {PYTHON, "-", "daemon", marker, "and stay", NULL};
    outcome = run(*state, &(struct confinement){0},
                  (struct child_options){.argv = argv, .input = str_of(script), .timeout_ms = 600});
    assert_int_equal(outcome.status, STATUS_TIMEOUT);
    assert_string_equal(outcome.message, PYTHON " did not finish in time");
    assert_string_equal(outcome.output, "left behind\n");
    assert_true(outcome.elapsed_ms >= 600 && outcome.elapsed_ms < 5000);
    assert_false(is_running(marker));
    forget(&outcome);
    free(script);
}

static void cancel_it(void *user)
{
    confine_cancel(user);
    confine_cancel(user);
}

/* At every moment of its beginning, while bubblewrap is still at work. */
static void confine__cancel_at_any_moment(void **state)
{
    char marker[32];
    snprintf(marker, sizeof marker, "%d.5", 100000 + (int)getpid());
    const char *const argv[] = {"sleep", marker, NULL};
    for (int delay_ms = 0; delay_ms <= 20; delay_ms++) {
        struct outcome outcome = {.loop = *state};
        struct confined *confined =
            confine_start(*state, &(struct confinement){0}, &(struct child_options){.argv = argv}, on_done, &outcome);
        struct loop_timer *timer = loop_timer_create(*state, cancel_it, confined);
        loop_timer_start(timer, delay_ms);
        loop_run(*state);
        loop_timer_destroy(timer);
        assert_int_equal(outcome.status, STATUS_CANCELED);
        assert_int_equal(outcome.end, CONFINE_END_NONE);
        assert_false(is_running(marker));
        forget(&outcome);
    }
}

static void confine__destroying_the_loop_ends_it(void **state)
{
    (void)state;
    struct loop *loop = loop_create();
    char marker[32];
    snprintf(marker, sizeof marker, "%d.75", 100000 + (int)getpid());
    const char *const argv[] = {"sleep", marker, NULL};
    struct outcome one = {.loop = loop}, two = {.loop = loop}, three = {.loop = loop};
    const struct child_options options = {.argv = argv};
    confine_start(loop, &(struct confinement){0}, &options, on_done, &one);
    for (int i = 0; i < 100 && !is_running(marker); i++)
        usleep(10000);
    confine_start(loop, &(struct confinement){0}, &options, on_done, &two);
    static const struct child_descriptor high[] = {{.number = CONFINE_MAX_DESCRIPTOR + 1, .ours = 0}};
    const struct child_options wrong = {.argv = argv, .descriptors = high, .n_descriptors = 1};
    confine_start(loop, &(struct confinement){0}, &wrong, on_done, &three);
    loop_destroy(loop);
    assert_int_equal(one.count, 1);
    assert_int_equal(one.status, STATUS_CANCELED);
    assert_int_equal(two.count, 1);
    assert_int_equal(three.count, 1);
    assert_int_equal(three.status, STATUS_INVALID);
    assert_false(is_running(marker));
    forget(&one);
    forget(&two);
    forget(&three);
}

#define CASE(name, ...)                                     \
    {                                                       \
#name, run_case, NULL, NULL, &(struct confine_case) \
        {                                                   \
            .test = (name), __VA_ARGS__                     \
        }                                                   \
    }
#define TEST(name)        CASE(name, .needs_root = false)
#define TEST_PYTHON(name) CASE(name, .needs_python = true)
#define TEST_X86(name)    CASE(name, .needs_python = true, .needs_x86 = true)
#define TEST_ROOT(name)   CASE(name, .needs_python = true, .needs_root = true)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(confine__runs_a_program),
        TEST(confine__says_what_cannot_be_started),
        TEST(confine__binds),
        TEST(confine__descriptors),
        TEST(confine__talks),
        TEST_X86(confine__cannot_be_broken_out_of),
        TEST_X86(confine__attempts_can_succeed),
        TEST_PYTHON(confine__bounds_processes),
        TEST_ROOT(confine__bounds_processes_of_root),
        TEST_PYTHON(confine__bounds_memory),
        TEST_PYTHON(confine__bounds_memory_in_the_kernel),
        TEST_PYTHON(confine__bounds_processor_time),
        TEST_PYTHON(confine__bounds_files),
        TEST(confine__bounds_output),
        TEST_PYTHON(confine__nothing_outlives_it),
        TEST(confine__cancel_at_any_moment),
        TEST(confine__destroying_the_loop_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
