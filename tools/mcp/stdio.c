/* tools/mcp/stdio.c: an MCP server as a child process, one message a line. */
#include "tools/mcp/transport.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/mem.h"
#include "loop/loop.h"
#include "tools/common/line.h"

#define EXIT_GRACE_MS 2000 /* after its stdin was closed */
#define TERM_GRACE_MS 1000 /* after SIGTERM */

/* A server that takes nothing for so long that this much waits for it has hung. */
#define MAX_UNREAD ((size_t)8 * 1024 * 1024)

/* Of a line that is too long the beginning is kept, and is too long itself: rpc.c finds whose answer it was. */
#define MAX_LINE (MCP_MAX_MESSAGE + 1)

/* Of stderr the end is kept, where the reason for a crash stands. */
#define LAST_WORDS_BYTES ((size_t)4096)
#define MAX_LAST_WORDS   300

struct stdio {
    struct mcp_transport transport;
    struct mcp_listener listener;
    struct loop *loop;
    const char *name;
    struct program *program;
    struct process *process; /* NULL once it is gone */
    struct loop_timer *timer;
    struct buf line;  /* a message that has not ended */
    bool skipping;    /* the rest of a line that was too long */
    struct buf words; /* the end of stderr */
    enum { OPEN, ASKED_TO_END, TOLD_TO_END, HUNG } state;
    bool abandoned; /* by destroy, while the process is still there */
};

static void set_free(struct stdio *stdio)
{
    loop_timer_destroy(stdio->timer);
    program_destroy(stdio->program);
    buf_finish(&stdio->line);
    buf_finish(&stdio->words);
    free(stdio);
}

/* ---- what comes ---- */

static void take_line(struct stdio *stdio, struct str line)
{
    if (stdio->skipping) {
        stdio->skipping = false;
        log_message(LOG_WARNING, "mcp", "%s sent a line of more than %zu bytes; it was skipped", stdio->name,
                    MCP_MAX_MESSAGE);
    }
    stdio->listener.message(stdio->listener.user, line, 0);
}

static void output_came(void *user, struct str bytes)
{
    struct stdio *stdio = user;
    while (bytes.len > 0 && stdio->state == OPEN) {
        size_t end = str_find_char(bytes, '\n', 0);
        struct str piece = str_slice(bytes, 0, end);
        size_t room = stdio->line.cap - stdio->line.len;
        stdio->skipping = stdio->skipping || piece.len > room;
        buf_add(&stdio->line, str_slice(piece, 0, room));
        if (end == STR_NONE)
            return;
        bytes = str_slice(bytes, end + 1, bytes.len);
        /* The line is moved out: what the listener does may bring the next one here. */
        struct buf line = stdio->line;
        buf_init(&stdio->line, MAX_LINE);
        take_line(stdio, buf_str(&line));
        buf_finish(&line);
    }
}

static void errors_came(void *user, struct str bytes)
{
    struct stdio *stdio = user;
    if (bytes.len > LAST_WORDS_BYTES)
        bytes = str_slice(bytes, bytes.len - LAST_WORDS_BYTES, bytes.len);
    if (stdio->words.len + bytes.len > 2 * LAST_WORDS_BYTES)
        buf_consume(&stdio->words, stdio->words.len - LAST_WORDS_BYTES);
    buf_add(&stdio->words, bytes);
}

/* ---- the end ---- */

static enum status describe_end(const struct stdio *stdio, const struct child_result *result, struct error *error)
{
    struct buf words;
    buf_init(&words, BUF_UNBOUNDED);
    program_last_words(buf_str(&stdio->words), MAX_LAST_WORDS, &words);
    const char *said = words.len > 0 ? "; it said: " : "";
    enum status status = STATUS_NETWORK;
    if (stdio->state == ASKED_TO_END || stdio->state == TOLD_TO_END)
        status = error_set(error, STATUS_CANCELED, "it was stopped");
    else if (stdio->state == HUNG)
        error_set(error, status, "it did not read what was sent to it%s%s", said, words.data ? words.data : "");
    else if (result->status != STATUS_OK)
        error_set(error, status, "%s%s%s", result->error.message, said, words.data ? words.data : "");
    else
        error_set(error, status, "it ended with exit code %d%s%s", result->exit_code, said,
                  words.data ? words.data : "");
    buf_finish(&words);
    return status;
}

static void process_gone(void *user, struct child_result *result)
{
    struct stdio *stdio = user;
    struct error error = {0};
    stdio->process = NULL;
    loop_timer_stop(stdio->timer);
    if (stdio->abandoned) {
        set_free(stdio);
        return;
    }
    describe_end(stdio, result, &error);
    stdio->listener.closed(stdio->listener.user, &error);
}

static void patience_over(void *user)
{
    struct stdio *stdio = user;
    if (stdio->process == NULL)
        return;
    if (stdio->state == ASKED_TO_END) {
        stdio->state = TOLD_TO_END;
        process_signal(stdio->process, SIGTERM);
        loop_timer_start(stdio->timer, TERM_GRACE_MS);
    } else {
        process_cancel(stdio->process);
    }
}

static void stdio_close(struct mcp_transport *transport)
{
    struct stdio *stdio = (struct stdio *)transport;
    if (stdio->process == NULL || stdio->state == ASKED_TO_END || stdio->state == TOLD_TO_END)
        return;
    stdio->state = ASKED_TO_END;
    process_close_input(stdio->process);
    loop_timer_start(stdio->timer, EXIT_GRACE_MS);
}

static void stdio_destroy(struct mcp_transport *transport)
{
    struct stdio *stdio = (struct stdio *)transport;
    if (stdio->process == NULL) {
        set_free(stdio);
        return;
    }
    stdio->abandoned = true;
    process_cancel(stdio->process);
}

/* ---- what goes ---- */

/* A request that cannot be sent is lost with the connection. */
static void stdio_send(struct mcp_transport *transport, const struct mcp_outgoing *message)
{
    struct stdio *stdio = (struct stdio *)transport;
    if (stdio->process == NULL || stdio->state != OPEN)
        return;
    struct buf line;
    buf_init(&line, BUF_UNBOUNDED);
    buf_add(&line, message->text);
    buf_add_char(&line, '\n');
    if (process_write(stdio->process, buf_str(&line)) == STATUS_TOO_BIG) {
        stdio->state = HUNG;
        process_cancel(stdio->process);
    }
    buf_finish(&line);
}

static void stdio_forget(struct mcp_transport *transport, int64_t id)
{
    (void)transport;
    (void)id;
}

static void stdio_agreed(struct mcp_transport *transport, const char *version)
{
    (void)transport;
    (void)version;
}

static const struct mcp_transport_type stdio_type = {
    .send = stdio_send,
    .forget = stdio_forget,
    .agreed = stdio_agreed,
    .close = stdio_close,
    .destroy = stdio_destroy,
};

struct mcp_transport *mcp_stdio_open(struct loop *loop, const struct mcp_options *options,
                                     const struct mcp_listener *listener, struct error *error)
{
    struct program *program = NULL;
    if (program_create(&options->program, &program, error) != STATUS_OK)
        return NULL;
    struct stdio *stdio = mem_zalloc(sizeof *stdio);
    stdio->transport.type = &stdio_type;
    stdio->listener = *listener;
    stdio->loop = loop;
    stdio->name = options->name;
    stdio->program = program;
    stdio->timer = loop_timer_create(loop, patience_over, stdio);
    buf_init(&stdio->line, MAX_LINE);
    buf_init(&stdio->words, BUF_UNBOUNDED);
    const struct child_options how = {
        .keep_input = true, .max_unread = MAX_UNREAD, .on_output = output_came, .on_errors = errors_came};
    stdio->process = program_start(program, loop, &how, process_gone, stdio);
    return &stdio->transport;
}
