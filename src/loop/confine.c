#include "loop/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mem.h"
#include "loop/confine_internal.h"
#include "loop/internal.h"

/* How often the watch looks: sooner near the limit on memory, later while nothing happens. */
#define WATCH_NEAR_MS 25
#define WATCH_MS      100
#define WATCH_IDLE_MS 400

/* How long processes that were killed may take to be gone. */
#define LINGER_MS 2000

/* Users for the confined when we are root: numbers that systemd's list of ranges (UIDS-GIDS) calls unused. */
#define FIRST_USER INT64_C(0x70000000)
#define USERS      INT64_C(0x01000000)

/* The program and the two that stand above it in its namespace: see OWN_PROCESSES. */
#define OWN_THREADS 2

struct confined {
    struct loop_pending pending;
    struct loop *loop;
    struct child *child;
    char *program;
    struct confine_callback callback;
    child_bytes_fn on_output, on_errors;

    struct confine_limits limits;
    struct loop_timer *watch, *deadline;
    int64_t interval_ms, cpu_ms;
    enum confine_end end;
    enum status stopped; /* why the child was killed, when it was */
    int status_pipe;     /* bubblewrap's reports */
    int first_process;   /* of the namespace, as a descriptor; -1 when there is none to wait for */
    struct loop_watch *first_watch;
    struct child_result result; /* kept until everything inside has ended */
};

/* ---- the end ---- */

static void finish(void *user)
{
    struct confined *confined = user;
    loop_pending_remove(confined->loop, &confined->pending);
    loop_watch_destroy(confined->first_watch);
    loop_timer_destroy(confined->watch);
    loop_timer_destroy(confined->deadline);
    if (confined->first_process >= 0)
        close(confined->first_process);
    if (confined->status_pipe >= 0)
        close(confined->status_pipe);
    confined->callback.done(confined->callback.user, confined->end, &confined->result);
    buf_finish(&confined->result.output);
    buf_finish(&confined->result.errors);
    free(confined->program);
    free(confined);
}

static void first_process_ended(void *user, int events)
{
    (void)events;
    finish(user);
}

/* Bubblewrap ends when the program does, and the rest of the namespace because bubblewrap has: a little later. */
static void finish_when_empty(struct confined *confined)
{
    if (confined->first_process < 0) {
        finish(confined);
        return;
    }
    confined->first_watch = loop_watch_create(confined->loop, confined->first_process, first_process_ended, confined);
    loop_watch_set(confined->first_watch, LOOP_READABLE);
    loop_timer_destroy(confined->deadline);
    confined->deadline = loop_timer_create(confined->loop, finish, confined);
    loop_timer_start(confined->deadline, LINGER_MS);
}

/* Reads what bubblewrap told: the first process of the namespace, whose end is the end of all others, and, when it had
 * come as far as starting the program, the program's exit. Returns whether it had. */
static bool read_status(struct confined *confined)
{
    char status[1024];
    ssize_t len = read(confined->status_pipe, status, sizeof status - 1);
    status[len > 0 ? len : 0] = '\0';
    const char *number = strstr(status, "\"child-pid\":");
    int process_id = number ? atoi(number + strlen("\"child-pid\":")) : 0;
    if (confined->first_process < 0 && process_id > 0)
        confined->first_process = confine_open_process(process_id);
    return strstr(status, "\"exit-code\"") != NULL;
}

static const char *end_in_words(enum confine_end end)
{
    switch (end) {
    case CONFINE_END_NONE:
        break;
    case CONFINE_END_MEMORY:
        return "used more memory than it may";
    case CONFINE_END_CPU:
        return "used more processor time than it may";
    case CONFINE_END_PROCESSES:
        return "started more processes than it may";
    }
    return "was stopped";
}

/* The child's own words are about bubblewrap; these are about the program. */
static void reword(const struct confined *confined, struct child_result *result)
{
    switch (result->status) {
    case STATUS_TIMEOUT:
        error_set(&result->error, STATUS_TIMEOUT, "%s did not finish in time", confined->program);
        break;
    case STATUS_TOO_BIG:
        error_set(&result->error, STATUS_TOO_BIG, "%s wrote more than it may", confined->program);
        break;
    case STATUS_CANCELED:
        error_set(&result->error, STATUS_CANCELED, "%s %s", confined->program, end_in_words(confined->end));
        break;
    case STATUS_OK:
    case STATUS_INVALID:
    case STATUS_SYNTAX:
    case STATUS_NOT_FOUND:
    case STATUS_IO:
    case STATUS_NETWORK:
    case STATUS_REFUSED:
    case STATUS_DENIED:
    case STATUS_UNSUPPORTED:
    case STATUS_ORDER:
        break;
    }
}

static void child_ended(void *user, struct child_result *result)
{
    struct confined *confined = user;
    confined->child = NULL;
    bool was_started = read_status(confined);
    if (result->status == STATUS_OK && !was_started) {
        struct str reason = str_trim(buf_str(&result->errors));
        reason = str_slice(reason, 0, str_find_char(reason, '\n', 0));
        result->exit_code = -1;
        result->status =
            error_set(&result->error, STATUS_IO, "%s could not be confined: %.*s", confined->program, STR_ARG(reason));
    }
    if (result->status == STATUS_CANCELED && confined->stopped != STATUS_OK)
        result->status = confined->stopped;
    reword(confined, result);
    confined->result = *result;
    result->output = result->errors = (struct buf){0};
    finish_when_empty(confined);
}

/* The first process inside is killed by its own number: in the moment between its leaving our process group and its
 * asking to die with its parent nothing else would reach it. Bubblewrap is halted before, so that it cannot be about to
 * start that process. */
static void kill_all(struct confined *confined)
{
    int process_id = child_process_id(confined->child);
    if (process_id > 0) {
        kill(process_id, SIGSTOP);
        confined->first_process = confine_kill_children(process_id);
    }
    child_cancel(confined->child);
}

static void stop(struct confined *confined, enum status why)
{
    if (!confined->child || confined->stopped != STATUS_OK)
        return;
    confined->stopped = why;
    loop_timer_stop(confined->watch);
    kill_all(confined);
}

void confine_cancel(struct confined *confined)
{
    stop(confined, STATUS_CANCELED);
}

static void time_over(void *user)
{
    stop(user, STATUS_TIMEOUT);
}

/* ---- the watch ---- */

static bool is_memory_exceeded(const struct confined *confined, int process_id, const struct confine_use *use)
{
    return use->resident > confined->limits.tree_memory &&
           confine_measure_memory(process_id) > confined->limits.tree_memory;
}

static enum confine_end judge(const struct confined *confined, int process_id, const struct confine_use *use)
{
    const struct confine_limits *limits = &confined->limits;
    if (is_memory_exceeded(confined, process_id, use))
        return CONFINE_END_MEMORY;
    if (limits->cpu_seconds != CONFINE_UNLIMITED && use->cpu_ms > limits->cpu_seconds * 1000)
        return CONFINE_END_CPU;
    if (use->more || (limits->processes != CONFINE_UNLIMITED && use->threads > (size_t)limits->processes + OWN_THREADS))
        return CONFINE_END_PROCESSES;
    return CONFINE_END_NONE;
}

static int64_t next_interval(const struct confined *confined, const struct confine_use *use)
{
    if (use->resident > confined->limits.tree_memory / 2 && use->resident <= confined->limits.tree_memory)
        return WATCH_NEAR_MS;
    if (use->cpu_ms > confined->cpu_ms)
        return WATCH_MS;
    return confined->interval_ms * 2 < WATCH_IDLE_MS ? confined->interval_ms * 2 : WATCH_IDLE_MS;
}

static void look(void *user)
{
    struct confined *confined = user;
    struct confine_use use;
    int process_id = confined->child ? child_process_id(confined->child) : 0;
    if (process_id == 0)
        return;
    confine_measure(process_id, &use);
    confined->end = judge(confined, process_id, &use);
    if (confined->end != CONFINE_END_NONE) {
        stop(confined, STATUS_CANCELED);
        return;
    }
    confined->interval_ms = next_interval(confined, &use);
    confined->cpu_ms = use.cpu_ms;
    loop_timer_start(confined->watch, confined->interval_ms);
}

/* ---- the beginning ---- */

static void pass_output(void *user, struct str bytes)
{
    struct confined *confined = user;
    confined->on_output(confined->callback.user, bytes);
}

static void pass_errors(void *user, struct str bytes)
{
    struct confined *confined = user;
    confined->on_errors(confined->callback.user, bytes);
}

static int64_t fresh_user(void)
{
    static atomic_uint count;
    return FIRST_USER + ((int64_t)getpid() * 64 + atomic_fetch_add(&count, 1)) % USERS;
}

/* The descriptors that bubblewrap reads from, behind those the caller hands over. */
struct own_descriptors {
    struct child_descriptor all[CHILD_MAX_DESCRIPTOR + 1];
    size_t count, first_own;
};

static bool add_own(struct own_descriptors *descriptors, int number, int ours)
{
    if (ours < 0)
        return false;
    descriptors->all[descriptors->count++] = (struct child_descriptor){.number = number, .ours = ours};
    return true;
}

static void close_own(const struct own_descriptors *descriptors)
{
    for (size_t i = descriptors->first_own; i < descriptors->count; i++)
        close(descriptors->all[i].ours);
}

static bool open_status(struct confined *confined, struct own_descriptors *descriptors)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return false;
    confined->status_pipe = ends[0];
    return add_own(descriptors, CONFINE_FD_STATUS, ends[1]);
}

static bool open_own(struct confined *confined, const struct confinement *confinement,
                     const struct child_options *options, struct own_descriptors *descriptors)
{
    static const char passwd[] = "user:x:1000:1000:user:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n";
    static const char group[] = "user:x:1000:\nnogroup:x:65534:\n";
    struct buf arguments;
    buf_init(&arguments, BUF_UNBOUNDED);
    confine_write_arguments(confinement, &confined->limits, options->directory ? options->directory : "/tmp",
                            &arguments);
    bool good = add_own(descriptors, CONFINE_FD_ARGUMENTS, confine_memory_file("arguments", buf_str(&arguments))) &&
                add_own(descriptors, CONFINE_FD_PASSWD, confine_memory_file("passwd", STR(passwd))) &&
                add_own(descriptors, CONFINE_FD_GROUP, confine_memory_file("group", STR(group))) &&
                (confinement->no_seccomp ||
                 add_own(descriptors, CONFINE_FD_FILTER, confine_filter_open(confinement->network))) &&
                open_status(confined, descriptors);
    buf_finish(&arguments);
    return good;
}

static bool take_descriptors(const struct child_options *options, struct own_descriptors *descriptors)
{
    for (size_t i = 0; i < options->n_descriptors; i++) {
        if (options->descriptors[i].number > CONFINE_MAX_DESCRIPTOR || i >= CONFINE_MAX_DESCRIPTOR)
            return false;
        descriptors->all[descriptors->count++] = options->descriptors[i];
    }
    descriptors->first_own = descriptors->count;
    return true;
}

/* Whether a user who owns nothing could read the file or enter the folder as well. */
static bool others_reach(const char *path)
{
    struct stat about;
    char *part = mem_strdup(path);
    bool reach = stat(part, &about) == 0 && (about.st_mode & (S_ISDIR(about.st_mode) ? S_IXOTH : S_IROTH)) != 0;
    for (char *slash = strrchr(part, '/'); reach && slash && slash != part; slash = strrchr(part, '/')) {
        *slash = '\0';
        reach = stat(part, &about) == 0 && (about.st_mode & S_IXOTH) != 0;
    }
    free(part);
    return reach;
}

/* What is bound is looked up as the user that the child becomes. */
static bool must_stay_root(const struct confinement *confinement)
{
    for (size_t i = 0; i < confinement->n_binds; i++) {
        if (!confinement->binds[i].optional && !others_reach(confinement->binds[i].source))
            return true;
    }
    return confinement->keep_user;
}

static void start_child(struct confined *confined, const struct confine_way *way, const struct confinement *confinement,
                        const struct child_options *options)
{
    static const char *const plain_environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "LANG=C.UTF-8",
                                                    NULL};
    struct own_descriptors descriptors = {.count = 0};
    if (!take_descriptors(options, &descriptors)) {
        error_set(&confined->result.error, STATUS_INVALID, "%s cannot get a descriptor of that number",
                  confined->program);
        return;
    }
    if (!open_own(confined, confinement, options, &descriptors)) {
        error_set(&confined->result.error, STATUS_IO, "%s cannot be confined: %s", confined->program, strerror(errno));
        close_own(&descriptors);
        return;
    }
    char **command = confine_make_command(way->bubblewrap, &confined->limits, options->argv);
    struct child_options inner = *options;
    inner.argv = (const char *const *)command;
    inner.environment = options->environment ? options->environment : plain_environment;
    inner.directory = "/";
    inner.timeout_ms = 0;
    inner.user = way->change_user && !must_stay_root(confinement) ? fresh_user() : 0;
    inner.on_output = options->on_output ? pass_output : NULL;
    inner.on_errors = options->on_errors ? pass_errors : NULL;
    inner.descriptors = descriptors.all;
    inner.n_descriptors = descriptors.count;
    confined->child = child_start(confined->loop, &inner, child_ended, confined);
    confine_free_command(command);
    close_own(&descriptors);
}

static void cancel_pending(struct loop_pending *pending)
{
    confine_cancel(CONTAINER_OF(pending, struct confined, pending));
}

struct confined *confine_start_by(const struct confine_way *way, struct loop *loop,
                                  const struct confinement *confinement, const struct child_options *options,
                                  struct confine_callback callback)
{
    struct confined *confined = mem_zalloc(sizeof *confined);
    confined->loop = loop;
    confined->callback = callback;
    confined->program = mem_strdup(options->argv[0]);
    confined->on_output = options->on_output;
    confined->on_errors = options->on_errors;
    confined->limits = confine_limits_filled(&confinement->limits);
    confined->status_pipe = confined->first_process = -1;
    confined->interval_ms = WATCH_MS;
    confined->watch = loop_timer_create(loop, look, confined);
    confined->deadline = loop_timer_create(loop, time_over, confined);
    if (way->works)
        start_child(confined, way, confinement, options);
    else
        confined->result.error = way->why;
    if (!confined->child) {
        confined->result.status = confined->result.error.status;
        confined->result.exit_code = -1;
        loop_defer(loop, finish, confined);
    } else {
        loop_timer_start(confined->watch, WATCH_NEAR_MS);
        if (options->timeout_ms > 0)
            loop_timer_start(confined->deadline, options->timeout_ms);
    }
    loop_pending_add(loop, &confined->pending, cancel_pending); /* behind the child: it is cancelled before that */
    return confined;
}

struct confined *confine_start(struct loop *loop, const struct confinement *confinement,
                               const struct child_options *options, confined_done_fn done, void *user)
{
    const struct confine_callback callback = {.done = done, .user = user};
    return confine_start_by(confine_known_way(), loop, confinement, options, callback);
}

struct child *confined_child(const struct confined *confined)
{
    return confined->child;
}
