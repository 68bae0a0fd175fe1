#include "loop/child.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/mem.h"
#include "loop/internal.h"

/* How long output may still come after the child's exit, from a process that left the group and kept the pipe. */
#define DRAIN_MS           1000
#define DEFAULT_MAX_OUTPUT ((size_t)10 * 1024 * 1024)
#define DEFAULT_MAX_ERRORS ((size_t)64 * 1024)
#define DEFAULT_MAX_UNREAD ((size_t)1024 * 1024)

enum { STDIN, STDOUT, STDERR, N_PIPES };

/* Bytes on their way to stdin. */
struct child_input {
    uv_write_t write;
    struct child *child;
    size_t len;
    char bytes[];
};

struct child {
    struct loop_pending pending;
    struct loop *loop;
    child_done_fn done;
    child_bytes_fn on_output, on_errors;
    void *user;

    uv_process_t process;
    uv_pipe_t pipes[N_PIPES]; /* our ends */
    bool pipe_open[N_PIPES];
    int holds;    /* what must end before done: handles not yet closed, and the turn of child_start */
    bool running; /* the process exists and was not reaped */
    bool ended;   /* an end other than the process's own exit was decided: status and error are set */

    struct loop_timer *timer;  /* time-out, then the drain */
    size_t unread, max_unread; /* of stdin */
    bool close_input;          /* once nothing is unread */
    size_t streamed, max_streamed;
    char *program;
    int64_t started_ms;
    struct child_result result;
};

static void release(void *user)
{
    struct child *child = user;
    if (--child->holds > 0)
        return;
    loop_timer_destroy(child->timer);
    loop_pending_remove(child->loop, &child->pending);
    child->result.elapsed_ms = loop_now_ms(child->loop) - child->started_ms;
    child->done(child->user, &child->result);
    buf_finish(&child->result.output);
    buf_finish(&child->result.errors);
    free(child->program);
    free(child);
}

static void handle_closed(uv_handle_t *handle)
{
    release(handle->data);
}

static void close_pipe(struct child *child, int which)
{
    if (!child->pipe_open[which])
        return;
    child->pipe_open[which] = false;
    uv_close((uv_handle_t *)&child->pipes[which], handle_closed);
}

static void close_pipes(struct child *child)
{
    for (int i = 0; i < N_PIPES; i++)
        close_pipe(child, i);
}

/* Ends the whole group. Right after the child was reaped its number still names the group while the group has members,
 * and nobody else: the kernel hands numbers out in ascending order. */
static void kill_group(const struct child *child)
{
    if (child->process.pid <= 0 || kill(-child->process.pid, SIGKILL) == 0 || errno != ESRCH)
        return;
    /* Where a filter kept it from leading a group (worker/confine.h) it is alone; who set the filter ends the rest. */
    if (child->running)
        kill(child->process.pid, SIGKILL);
}

static void end(struct child *child, enum status status, const char *what)
{
    if (child->ended)
        return;
    child->ended = true;
    child->result.status = error_set(&child->result.error, status, "%s %s", child->program, what);
    if (child->running)
        kill_group(child); /* exited() follows */
    else
        close_pipes(child);
}

static void exited(uv_process_t *process, int64_t exit_status, int signal_number)
{
    struct child *child = process->data;
    struct child_result *result = &child->result;
    child->running = false;
    result->exit_code = signal_number ? -1 : (int)exit_status;
    result->signal_number = signal_number;
    kill_group(child);
    uv_close((uv_handle_t *)process, handle_closed);
    close_pipe(child, STDIN);
    if (child->ended) {
        close_pipes(child);
        return;
    }
    loop_timer_start(child->timer, DRAIN_MS); /* its last words may still be in the pipes */
    if (signal_number)
        result->status = error_set(&result->error, STATUS_IO, "%s was ended by signal %d (%s)", child->program,
                                   signal_number, strsignal(signal_number));
}

static void time_over(void *user)
{
    struct child *child = user;
    if (child->running)
        end(child, STATUS_TIMEOUT, "did not finish in time");
    else
        close_pipes(child);
}

static void lend_scratch(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    (void)suggested;
    struct child *child = handle->data;
    *out = uv_buf_init(child->loop->scratch, sizeof child->loop->scratch);
}

/* Appends as much as the cap allows; false when some was left out. */
static bool append_capped(struct buf *buf, const char *bytes, size_t len)
{
    size_t room = buf->cap - buf->len;
    size_t taken = len < room ? len : room;
    return buf_append(buf, bytes, taken) == STATUS_OK && taken == len;
}

static void take_output(struct child *child, struct str bytes)
{
    bool fits;
    if (child->on_output) {
        size_t room = child->max_streamed - child->streamed;
        fits = bytes.len <= room;
        bytes = str_slice(bytes, 0, room);
        child->streamed += bytes.len;
        if (bytes.len > 0)
            child->on_output(child->user, bytes);
    } else {
        fits = append_capped(&child->result.output, bytes.data, bytes.len);
    }
    if (!fits)
        end(child, STATUS_TOO_BIG, "wrote more than it may");
}

static void output_came(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
    struct child *child = stream->data;
    bool is_output = stream == (uv_stream_t *)&child->pipes[STDOUT];
    if (count < 0) {
        close_pipe(child, is_output ? STDOUT : STDERR);
        return;
    }
    struct str bytes = str_make(buffer->base, (size_t)count);
    if (bytes.len == 0)
        return;
    if (is_output && !child->ended)
        take_output(child, bytes);
    else if (!is_output && !child->on_errors)
        append_capped(&child->result.errors, bytes.data, bytes.len);
    else if (!is_output && !child->ended)
        child->on_errors(child->user, bytes);
}

static void input_written(uv_write_t *write, int result)
{
    struct child_input *input = CONTAINER_OF(write, struct child_input, write);
    struct child *child = input->child;
    child->unread -= input->len;
    free(input);
    if (result < 0 || (child->close_input && child->unread == 0)) /* a child need not read its input */
        close_pipe(child, STDIN);
}

static void queue_input(struct child *child, struct str bytes)
{
    struct child_input *input = mem_alloc(sizeof *input + bytes.len);
    input->child = child;
    input->len = bytes.len;
    memcpy(input->bytes, bytes.data, bytes.len);
    uv_buf_t buffer = {.base = input->bytes, .len = bytes.len};
    if (uv_write(&input->write, (uv_stream_t *)&child->pipes[STDIN], &buffer, 1, input_written) < 0) {
        free(input);
        close_pipe(child, STDIN);
    } else {
        child->unread += bytes.len;
    }
}

enum status child_write(struct child *child, struct str bytes)
{
    if (!child->pipe_open[STDIN] || child->close_input || child->ended)
        return STATUS_IO;
    if (bytes.len == 0)
        return STATUS_OK;
    if (bytes.len > child->max_unread || child->unread > child->max_unread - bytes.len)
        return STATUS_TOO_BIG;
    queue_input(child, bytes);
    return child->pipe_open[STDIN] ? STATUS_OK : STATUS_IO;
}

size_t child_unread(const struct child *child)
{
    return child->unread;
}

void child_close_input(struct child *child)
{
    child->close_input = true;
    if (child->unread == 0)
        close_pipe(child, STDIN);
}

void child_signal(struct child *child, int signal_number)
{
    if (child->running)
        kill(-child->process.pid, signal_number);
}

int child_process_id(const struct child *child)
{
    return child->running ? child->process.pid : 0;
}

/* Makes one pipe; ours is kept in the child, theirs goes to *descriptor. */
static int make_pipe(struct child *child, int which, int *descriptor)
{
    uv_file ends[2];
    int ours = which == STDIN ? 1 : 0;
    int result = uv_pipe(ends, ours == 0 ? UV_NONBLOCK_PIPE : 0, ours == 1 ? UV_NONBLOCK_PIPE : 0);
    if (result < 0)
        return result;
    uv_pipe_init(&child->loop->uv, &child->pipes[which], 0);
    child->pipes[which].data = child;
    child->pipe_open[which] = true;
    child->holds++;
    *descriptor = ends[1 - ours];
    result = uv_pipe_open(&child->pipes[which], ends[ours]);
    if (result < 0)
        close(ends[ours]);
    return result;
}

/* Descriptors that this process inherited itself may lack the close-on-exec flag; ours all have it. */
static void keep_descriptors_out(void)
{
#ifdef CLOSE_RANGE_CLOEXEC
    if (close_range(3, ~0u, CLOSE_RANGE_CLOEXEC) == 0)
        return;
#endif
    uv_disable_stdio_inheritance();
}

/* Fills `stdio`, which is indexed by the child's numbers; returns how many entries it has now, or an error of libuv. */
static int place_descriptors(uv_stdio_container_t *stdio, const struct child_options *options)
{
    int count = N_PIPES;
    for (size_t i = 0; i < options->n_descriptors; i++) {
        const struct child_descriptor *descriptor = &options->descriptors[i];
        if (descriptor->number < N_PIPES || descriptor->number > CHILD_MAX_DESCRIPTOR)
            return UV_EINVAL;
        for (; count <= descriptor->number; count++)
            stdio[count] = (uv_stdio_container_t){.flags = UV_IGNORE};
        stdio[descriptor->number] = (uv_stdio_container_t){.flags = UV_INHERIT_FD, .data.fd = descriptor->ours};
    }
    return count;
}

static int spawn_with(struct child *child, const struct child_options *options, uv_stdio_container_t *stdio)
{
    int count = place_descriptors(stdio, options);
    if (count < 0)
        return count;
    char **arguments, **environment; /* libuv does not write to them */
    memcpy(&arguments, &options->argv, sizeof arguments);
    memcpy(&environment, &options->environment, sizeof environment);
    uv_process_options_t how = {
        .exit_cb = exited,
        .file = options->argv[0],
        .args = arguments,
        .env = environment,
        .cwd = options->directory,
        .flags = UV_PROCESS_DETACHED,
        .stdio_count = count,
        .stdio = stdio,
    };
    if (options->user > 0) {
        how.flags |= UV_PROCESS_SETUID | UV_PROCESS_SETGID;
        how.uid = (uv_uid_t)options->user;
        how.gid = (uv_gid_t)options->user;
    }
    keep_descriptors_out();
    int result = uv_spawn(&child->loop->uv, &child->process, &how);
    child->process.data = child;
    child->holds++;
    child->running = result == 0;
    if (result < 0)
        uv_close((uv_handle_t *)&child->process, handle_closed);
    return result;
}

static int spawn(struct child *child, const struct child_options *options)
{
    int theirs[N_PIPES] = {-1, -1, -1};
    int result = 0;
    for (int i = options->input.len > 0 || options->keep_input ? STDIN : STDOUT; i < N_PIPES && result == 0; i++)
        result = make_pipe(child, i, &theirs[i]);

    uv_stdio_container_t stdio[CHILD_MAX_DESCRIPTOR + 1];
    for (int i = 0; i < N_PIPES; i++) {
        stdio[i].flags = theirs[i] < 0 ? UV_IGNORE : UV_INHERIT_FD;
        stdio[i].data.fd = theirs[i];
    }
    if (result == 0)
        result = spawn_with(child, options, stdio);
    for (int i = 0; i < N_PIPES; i++)
        if (theirs[i] >= 0)
            close(theirs[i]);
    return result;
}

static void start_io(struct child *child, struct str input)
{
    uv_read_start((uv_stream_t *)&child->pipes[STDOUT], lend_scratch, output_came);
    uv_read_start((uv_stream_t *)&child->pipes[STDERR], lend_scratch, output_came);
    if (input.len > 0)
        queue_input(child, input);
}

static void cancel_pending(struct loop_pending *pending)
{
    child_cancel(CONTAINER_OF(pending, struct child, pending));
}

struct child *child_start(struct loop *loop, const struct child_options *options, child_done_fn done, void *user)
{
    struct child *child = mem_zalloc(sizeof *child);
    child->loop = loop;
    child->done = done;
    child->user = user;
    child->on_output = options->on_output;
    child->on_errors = options->on_errors;
    child->max_streamed = options->max_output ? options->max_output : SIZE_MAX;
    child->max_unread = options->max_unread ? options->max_unread : DEFAULT_MAX_UNREAD;
    child->close_input = !options->keep_input;
    child->program = mem_strdup(options->argv[0]);
    child->timer = loop_timer_create(loop, time_over, child);
    child->started_ms = loop_now_ms(loop);
    child->holds = 1;
    child->result.exit_code = -1;
    buf_init(&child->result.output, options->max_output ? options->max_output : DEFAULT_MAX_OUTPUT);
    buf_init(&child->result.errors, options->max_errors ? options->max_errors : DEFAULT_MAX_ERRORS);

    int result = spawn(child, options);
    if (result == 0) {
        start_io(child, options->input);
        if (options->timeout_ms > 0)
            loop_timer_start(child->timer, options->timeout_ms);
    } else {
        child->ended = true;
        child->result.status = error_set(&child->result.error, result == UV_ENOENT ? STATUS_NOT_FOUND : STATUS_IO,
                                         "%s cannot be started: %s", child->program, uv_strerror(result));
        close_pipes(child);
    }
    loop_defer(loop, release, child); /* so that done is never called from inside this function */
    loop_pending_add(loop, &child->pending, cancel_pending);
    return child;
}

void child_cancel(struct child *child)
{
    end(child, STATUS_CANCELED, "was stopped");
}
