/* fathom-worker: reads one document for the program and nothing else; see worker/wire.h. Not meant to be started by
 * hand; `fathom-worker --check` says what would confine it here. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/mem.h"
#include "readers/reader.h"
#include "worker/confine.h"
#include "worker/wire.h"

#define MAX_REQUEST ((size_t)256 * 1024)
#define HEAD_BYTES  65536 /* of a document, for telling what it is */

/* Between the reader's deadline and the moment when the program would kill us: time to say that it was late. */
#define MARGIN_MS INT64_C(3000)

enum { EXIT_NO_REQUEST = 64, EXIT_NOT_CONFINED = 70, EXIT_NO_REPLY = 74, EXIT_NO_PROGRAM = 127 };

#if defined(__SANITIZE_ADDRESS__)
/* Looking for leaks needs tracing, which is given away. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
#endif

static int fail(int code, const struct error *error)
{
    char text[1024];
    fprintf(stderr, "fathom-worker: %s\n", error_text(error, text, sizeof text));
    return code;
}

static bool write_all(struct str bytes)
{
    while (bytes.len > 0) {
        ssize_t count = write(STDOUT_FILENO, bytes.data, bytes.len);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        bytes = str_slice(bytes, (size_t)count, bytes.len);
    }
    return true;
}

/* What the document is, for a reply that has nothing else to say of it. */
static enum reader_kind kind_of(const struct worker_request *request)
{
    char *head = mem_alloc(HEAD_BYTES);
    ssize_t count = pread(WORKER_DOCUMENT, head, HEAD_BYTES, 0);
    enum reader_kind kind =
        reader_kind_of(str_make(head, count > 0 ? (size_t)count : 0), request->name, request->content_type);
    free(head);
    return kind;
}

static int read_document(const struct worker_request *request, const char *confinement)
{
    struct error error = {0};
    struct reader_text text = {0};
    struct buf head;
    buf_init(&head, BUF_UNBOUNDED);
    char *temp_dir = str_dup(request->temp_dir);
    struct reader_source source = {
        .from_descriptor = true,
        .descriptor = WORKER_DOCUMENT,
        .name = request->name,
        .content_type = request->content_type,
        .url = request->url,
        .whole_page = request->whole_page,
        .confined = true,
        .max_bytes = request->max_text,
        .temp_dir = temp_dir,
        .timeout_ms = request->timeout_ms > 2 * MARGIN_MS ? request->timeout_ms - MARGIN_MS : request->timeout_ms,
    };
    enum status status = reader_read(&source, &text, &error);
    worker_reply_write(&head, status == STATUS_OK ? text.kind : kind_of(request), status == STATUS_OK ? &text : NULL,
                       &error, confinement);
    bool written = write_all(buf_str(&head)) && write_all(buf_str(&text.markdown));
    reader_text_finish(&text);
    buf_finish(&head);
    free(temp_dir);
    return written ? EXIT_SUCCESS : EXIT_NO_REPLY;
}

static int serve(void)
{
    struct error error = {0};
    struct buf input, held;
    json_t *owner = NULL;
    struct worker_request request;
    buf_init(&input, MAX_REQUEST);
    buf_init(&held, BUF_UNBOUNDED);
    int code = EXIT_NO_REQUEST;
    enum status status = file_read_descriptor(STDIN_FILENO, "the request", &input, &error);
    if (status == STATUS_OK)
        status = worker_request_parse(buf_str(&input), &owner, &request, &error);
    if (status == STATUS_OK && fcntl(WORKER_DOCUMENT, F_GETFD) < 0)
        status = error_set(&error, STATUS_INVALID, "there is no document at descriptor %d", WORKER_DOCUMENT);
    if (status == STATUS_OK) {
        char *temp_dir = request.temp_dir.len > 0 ? str_dup(request.temp_dir) : NULL;
        const struct worker_limits limits = {.temp_dir = temp_dir,
                                             .memory_bytes = request.memory_bytes,
                                             .cpu_seconds = request.timeout_ms / 1000 + 1,
                                             .namespaced = request.namespaced};
        code = EXIT_NOT_CONFINED;
        status = worker_confine(&limits, &held, &error);
        free(temp_dir);
    }
    code = status == STATUS_OK ? read_document(&request, held.data) : fail(code, &error);
    json_decref(owner);
    buf_finish(&held);
    buf_finish(&input);
    return code;
}

/* FOLDER MEMORY SECONDS PROGRAM ARGUMENT…: confines itself and becomes the program, which is PROGRAM of PATH. For
 * programs other than the readers' that look at a document, where nothing else confines them. */
static int become(int count, char **arguments)
{
    struct error error = {0};
    struct buf held;
    int64_t memory, seconds;
    if (count < 4 || !str_to_int64(str_of(arguments[1]), &memory) || !str_to_int64(str_of(arguments[2]), &seconds))
        return EXIT_NO_REQUEST;
    buf_init(&held, BUF_UNBOUNDED);
    const struct worker_limits limits = {
        .temp_dir = *arguments[0] ? arguments[0] : NULL, .memory_bytes = memory, .cpu_seconds = seconds};
    enum status status = worker_confine(&limits, &held, &error);
    buf_finish(&held);
    if (status != STATUS_OK)
        return fail(EXIT_NOT_CONFINED, &error);
    execvp(arguments[3], arguments + 3);
    error_set(&error, STATUS_NOT_FOUND, "%s cannot be started: %s", arguments[3], strerror(errno));
    return fail(EXIT_NO_PROGRAM, &error);
}

static int check(void)
{
    struct error error = {0};
    struct buf held;
    buf_init(&held, BUF_UNBOUNDED);
    const struct worker_limits limits = {.memory_bytes = 0};
    enum status status = worker_confine(&limits, &held, &error);
    if (status == STATUS_OK)
        printf("%s\n", held.data);
    buf_finish(&held);
    return status == STATUS_OK ? EXIT_SUCCESS : fail(EXIT_NOT_CONFINED, &error);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--check") == 0)
        return check();
    if (argc > 2 && strcmp(argv[1], "--exec") == 0)
        return become(argc - 2, argv + 2);
    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        return printf("%s\n", FATHOM_VERSION) > 0 ? EXIT_SUCCESS : EXIT_NO_REPLY;
    if (argc != 1 || isatty(STDIN_FILENO)) {
        fprintf(stderr, "fathom-worker is started by fathom to read a document; --check says what confines it here\n");
        return EXIT_NO_REQUEST;
    }
    return serve();
}
