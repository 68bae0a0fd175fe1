/* Documents through the worker: in both kinds of cell, and with workers that do what a bad document could make them do.
 */
#include "core/mem.h"
#include "loop/confine.h"
#include "loop/loop.h"
#include "tools/common/document.h"
#include "worker/confine.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A smallest PDF of one page that says "Hello worker"; its cross references are left for the reader to rebuild. */
static const char pdf[] = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
                          "2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
                          "3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R"
                          "/Resources<</Font<</F1 5 0 R>>>>>>endobj\n"
                          "4 0 obj<</Length 44>>stream\nBT /F1 18 Tf 20 100 Td (Hello worker) Tj ET\nendstream endobj\n"
                          "5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n"
                          "trailer<</Root 1 0 R>>\n%%EOF\n";

struct outcome {
    size_t count;
    enum status status;
    struct error error;
    char *markdown, *title;
    int kind; /* -1: unknown */
    size_t n_sections;
    int64_t elapsed_ms;
};

struct world {
    struct loop *loop;
    struct documents *documents;
    char folder[64];
    size_t done;
};

static void world_init(struct world *world, const struct documents_options *options)
{
    *world = (struct world){.loop = loop_create()};
    struct documents_options with_worker = options ? *options : (struct documents_options){0};
    if (!with_worker.worker)
        with_worker.worker = WORKER;
    world->documents = documents_create(&with_worker);
    snprintf(world->folder, sizeof world->folder, "/tmp/fathom-test-XXXXXX");
    assert_non_null(mkdtemp(world->folder));
}

static void world_finish(struct world *world)
{
    char command[128];
    documents_destroy(world->documents);
    loop_destroy(world->loop);
    snprintf(command, sizeof command, "rm -rf %s", world->folder);
    assert_int_equal(system(command), 0);
}

/* A program that stands in for the worker. The world gets documents that use it. */
static void use_script(struct world *world, const char *text, bool no_bubblewrap)
{
    char *path = mem_printf("%s/worker-%zu", world->folder, world->done);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", text);
    fclose(file);
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(chmod(world->folder, 0755), 0);
    documents_destroy(world->documents);
    const struct documents_options options = {.worker = path, .no_bubblewrap = no_bubblewrap};
    world->documents = documents_create(&options);
    free(path);
}

static void on_done(void *user, struct document_result *result)
{
    struct outcome *outcome = user;
    outcome->count++;
    outcome->status = result->status;
    outcome->error = result->error;
    outcome->markdown = str_dup(buf_str(&result->markdown));
    outcome->title = str_dup(result->title);
    outcome->kind = result->kind ? (int)*result->kind : -1;
    outcome->n_sections = result->n_sections;
    outcome->elapsed_ms = result->elapsed_ms;
}

static void outcome_finish(struct outcome *outcome)
{
    free(outcome->markdown);
    free(outcome->title);
    *outcome = (struct outcome){0};
}

static struct document_job *start(struct world *world, struct str bytes, const char *name, int64_t timeout_ms,
                                  struct outcome *outcome)
{
    const struct document_request request = {
        .descriptor = -1, .bytes = bytes, .name = str_of(name), .timeout_ms = timeout_ms};
    *outcome = (struct outcome){0};
    return document_start(world->documents, world->loop, &request, on_done, outcome);
}

static void wait_for(struct world *world, const struct outcome *outcome)
{
    int64_t began = loop_now_ms(world->loop);
    while (outcome->count == 0 && loop_now_ms(world->loop) - began < 60000) {
        loop_turn(world->loop);
        usleep(1000);
    }
    assert_int_equal(outcome->count, 1);
    world->done++;
}

static void read_bytes(struct world *world, struct str bytes, const char *name, struct outcome *outcome)
{
    start(world, bytes, name, 0, outcome);
    wait_for(world, outcome);
}

/* Whether a process runs whose command line holds `mark`. */
static bool is_running(const char *mark)
{
    bool running = false;
    for (int tries = 0; tries < 40; tries++) {
        FILE *list = popen("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '", "r");
        char line[65536];
        running = false;
        while (list && fgets(line, sizeof line, list))
            running = running || strstr(line, mark) != NULL;
        if (list)
            pclose(list);
        if (!running)
            break;
        usleep(25000);
    }
    return running;
}

static bool has_program(const char *path)
{
    return access(path, X_OK) == 0;
}

static void check_reading(bool no_bubblewrap)
{
    struct world world;
    struct outcome outcome;
    const struct documents_options options = {.no_bubblewrap = no_bubblewrap};
    world_init(&world, &options);
    read_bytes(&world, STR("# Head\n\nText.\n"), "note.md", &outcome);
    assert_int_equal(outcome.status, STATUS_OK);
    assert_int_equal(outcome.kind, READER_MARKDOWN);
    assert_string_equal(outcome.title, "Head");
    assert_non_null(strstr(outcome.markdown, "Text."));
    assert_int_equal(outcome.n_sections, 1);
    outcome_finish(&outcome);

    read_bytes(&world, STR("a,b\n1,2\n"), "t.csv", &outcome);
    assert_int_equal(outcome.kind, READER_TABLE);
    assert_non_null(strstr(outcome.markdown, "| 1 | 2 |"));
    outcome_finish(&outcome);

    if (has_program("/usr/bin/pdftotext")) {
        read_bytes(&world, STR(pdf), "x.pdf", &outcome);
        assert_int_equal(outcome.status, STATUS_OK);
        assert_int_equal(outcome.kind, READER_PDF);
        assert_non_null(strstr(outcome.markdown, "Hello worker"));
        outcome_finish(&outcome);
    }
    read_bytes(&world,
               STR("\x7F"
                   "ELF\2\1\1\0\0\0\0\0"),
               "program", &outcome);
    assert_int_equal(outcome.status, STATUS_UNSUPPORTED);
    assert_int_equal(outcome.kind, READER_BINARY);
    outcome_finish(&outcome);
    world_finish(&world);
}

static void document__reads_in_namespaces(void **state)
{
    (void)state;
    struct error reason;
    if (!confine_available(&reason)) {
        print_message("SKIPPED: %s\n", reason.message);
        skip();
    }
    check_reading(false);
}

static void document__reads_confined_by_itself(void **state)
{
    (void)state;
    check_reading(true);
}

static void document__reads_a_descriptor_from_its_beginning(void **state)
{
    (void)state;
    struct world world;
    struct outcome outcome = {0};
    world_init(&world, NULL);
    FILE *file = tmpfile();
    assert_non_null(file);
    fputs("One line.\n", file); /* the place in the file is behind it */
    fflush(file);
    const struct document_request request = {.descriptor = fileno(file), .name = STR("x.txt")};
    document_start(world.documents, world.loop, &request, on_done, &outcome);
    fclose(file);
    wait_for(&world, &outcome);
    assert_int_equal(outcome.status, STATUS_OK);
    assert_non_null(strstr(outcome.markdown, "One line."));
    outcome_finish(&outcome);
    world_finish(&world);
}

static void document__says_when_there_is_no_worker(void **state)
{
    (void)state;
    struct world world;
    struct outcome outcome;
    struct buf line;
    buf_init(&line, BUF_UNBOUNDED);
    world_init(&world, &(struct documents_options){.worker = "/nonexistent/fathom-worker"});
    assert_false(documents_check(world.documents, &line));
    assert_non_null(strstr(line.data, "missing"));
    read_bytes(&world, STR("x"), "x.txt", &outcome);
    assert_int_equal(outcome.status, STATUS_IO);
    assert_null(strstr(outcome.error.message, "/nonexistent"));
    outcome_finish(&outcome);
    buf_finish(&line);
    world_finish(&world);
}

static void document__survives_workers_gone_mad(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        enum status status;
        const char *words;
    } cases[] = {
        {"kill -SEGV $$", STATUS_IO, "crash"},
        {"kill -ABRT $$", STATUS_IO, "crash"},
        {"echo 'fathom: out of memory (1 x 2 bytes)' >&2; kill -ABRT $$", STATUS_TOO_BIG, "memory"},
        {"kill -KILL $$", STATUS_TOO_BIG, "memory"},
        {"exit 3", STATUS_IO, "failed"},
        {"exit 70", STATUS_IO, "confined"},
        {"exit 0", STATUS_IO, "nothing that can be used"},
        {"echo hello", STATUS_IO, "nothing that can be used"},
        {"echo '[1]'", STATUS_IO, "nothing that can be used"},
        {"echo '{\"status\":\"fine\",\"kind\":\"text\",\"length\":0}'", STATUS_IO, "nothing"},
        {"echo '{\"status\":\"ok\",\"kind\":\"text\",\"length\":10}'; printf short", STATUS_IO, "nothing"},
        {"echo '{\"status\":\"ok\",\"kind\":\"text\",\"length\":-1}'", STATUS_IO, "nothing"},
        {"echo '{\"status\":\"ok\",\"kind\":\"text\",\"length\":1,\"sections\":[[\"x\",1,7]]}'; printf x", STATUS_IO,
         "nothing"},
        {"echo '{\"status\":\"ok\",\"kind\":\"text\",\"length\":1,\"sections\":[7]}'; printf x", STATUS_IO, "nothing"},
        {"yes", STATUS_TOO_BIG, "more text"},
    };
    struct world world;
    world_init(&world, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int alone = 0; alone < 2; alone++) {
            struct outcome outcome;
            if (!alone && !confine_available(NULL))
                continue;
            use_script(&world, cases[i].script, alone);
            read_bytes(&world, STR("x"), "x.txt", &outcome);
            if (outcome.status != cases[i].status || !strstr(outcome.error.message, cases[i].words))
                fail_msg("%s gives %d, \"%s\"", cases[i].script, outcome.status, outcome.error.message);
            assert_int_equal(strlen(outcome.markdown), 0);
            assert_null(strstr(outcome.error.message, world.folder));
            outcome_finish(&outcome);
        }
    }
    world_finish(&world);
}

static void document__repairs_text_that_is_not_utf8(void **state)
{
    (void)state;
    struct world world;
    struct outcome outcome;
    world_init(&world, NULL);
    use_script(&world,
               "echo '{\"status\":\"ok\",\"kind\":\"text\",\"length\":3,\"sections\":[[\"s\",1,1]]}'; printf 'a\\377b'",
               true);
    read_bytes(&world, STR("x"), "x.txt", &outcome);
    assert_int_equal(outcome.status, STATUS_OK);
    assert_string_equal(outcome.markdown, "a\xEF\xBF\xBD"
                                          "b");
    assert_int_equal(outcome.n_sections, 0);
    outcome_finish(&outcome);
    world_finish(&world);
}

static void document__ends_what_takes_too_long(void **state)
{
    (void)state;
    struct world world;
    struct outcome outcome;
    world_init(&world, NULL);
    use_script(&world, "sleep 98761 & sleep 98761", true);
    start(&world, STR("x"), "x.txt", 300, &outcome);
    wait_for(&world, &outcome);
    assert_int_equal(outcome.status, STATUS_TIMEOUT);
    assert_in_range(outcome.elapsed_ms, 250, 20000);
    assert_false(is_running("98761"));
    outcome_finish(&outcome);
    world_finish(&world);
}

static void document__leaves_nothing_when_canceled(void **state)
{
    (void)state;
    for (int alone = 0; alone < 2; alone++) {
        struct world world;
        struct outcome outcome;
        if (!alone && !confine_available(NULL))
            continue;
        world_init(&world, NULL);
        use_script(&world, "sleep 98762 & sleep 98762", alone);
        struct document_job *job = start(&world, STR("x"), "x.txt", 0, &outcome);
        for (int i = 0; i < 300; i++) {
            loop_turn(world.loop);
            usleep(1000);
        }
        document_cancel(job);
        document_cancel(job);
        wait_for(&world, &outcome);
        assert_int_equal(outcome.status, STATUS_CANCELED);
        assert_false(is_running("98762"));
        outcome_finish(&outcome);
        world_finish(&world);
    }
}

static void document__waits_its_turn(void **state)
{
    (void)state;
    struct world world;
    struct outcome outcomes[4];
    world_init(&world, &(struct documents_options){.max_parallel = 1, .no_bubblewrap = true});
    struct document_job *jobs[4];
    for (size_t i = 0; i < 4; i++)
        jobs[i] = start(&world, STR("Some text.\n"), "x.txt", 0, &outcomes[i]);
    document_cancel(jobs[1]); /* while it waits */
    wait_for(&world, &outcomes[1]);
    assert_int_equal(outcomes[1].status, STATUS_CANCELED);
    wait_for(&world, &outcomes[3]);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(outcomes[i].count, 1);
        assert_int_equal(outcomes[i].status, i == 1 ? STATUS_CANCELED : STATUS_OK);
        outcome_finish(&outcomes[i]);
    }
    world_finish(&world);
}

/* ---- what a confined program can reach ---- */

struct program_outcome {
    bool done;
    enum status status;
    int exit_code;
    char *output;
};

static void on_program(void *user, struct child_result *result)
{
    struct program_outcome *outcome = user;
    outcome->done = true;
    outcome->status = result->status;
    outcome->exit_code = result->exit_code;
    outcome->output = str_dup(buf_str(&result->output));
}

static void run_script(struct world *world, const char *script, struct program_outcome *outcome)
{
    const char *const argv[] = {"bash", "-c", script, NULL};
    FILE *file = tmpfile();
    fputs("the document", file);
    rewind(file);
    const struct document_program_options options = {
        .argv = argv, .descriptor = fileno(file), .max_output = 10000, .timeout_ms = 20000};
    *outcome = (struct program_outcome){0};
    document_program_start(world->documents, world->loop, &options, on_program, outcome);
    fclose(file);
    int64_t began = loop_now_ms(world->loop);
    while (!outcome->done && loop_now_ms(world->loop) - began < 60000) {
        loop_turn(world->loop);
        usleep(1000);
    }
    assert_true(outcome->done);
}

static int listen_somewhere(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(listener, 5), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    *port = ntohs(address.sin_port);
    return listener;
}

static void document__keeps_programs_from_everything_else(void **state)
{
    (void)state;
    int port, listener = listen_somewhere(&port);
    const int self = (int)getpid();
    for (int alone = 0; alone < 2; alone++) {
        struct world world;
        struct program_outcome outcome;
        if (!alone && !confine_available(NULL))
            continue;
        world_init(&world, &(struct documents_options){.no_bubblewrap = alone});
        char *secret = mem_printf("%s/secret", world.folder);
        FILE *file = fopen(secret, "w");
        fputs("SECRET", file);
        fclose(file);
        run_script(&world, "cat <&3 && echo x > $TMPDIR/own && cat $TMPDIR/own", &outcome);
        if (outcome.exit_code != 0 || strcmp(outcome.output, "the documentx\n") != 0)
            fail_msg("alone %d: %d, \"%s\"", alone, outcome.exit_code, outcome.output);
        free(outcome.output);
        char *const attempts[] = {
            mem_printf("cat %s/secret", world.folder),                /* a file of the user's */
            mem_printf("ls %s", world.folder),                        /* its folder */
            mem_printf("echo x > %s/made", world.folder),             /* writing elsewhere */
            mem_printf("cat /etc/shadow"),                            /* what root may read */
            mem_printf("ls /root || ls /home/*"),                     /* homes */
            mem_printf("echo > /dev/tcp/127.0.0.1/%d", port),         /* the network */
            mem_printf("grep -q fathom-test /proc/%d/environ", self), /* our environment */
            mem_printf("cat /proc/%d/maps", self),
            mem_printf("unshare -r true || mount -t tmpfs none /tmp"),
        };
        for (size_t i = 0; i < sizeof attempts / sizeof attempts[0]; i++) {
            run_script(&world, attempts[i], &outcome);
            if (outcome.status == STATUS_OK && outcome.exit_code == 0)
                fail_msg("alone %d: \"%s\" works: \"%s\"", alone, attempts[i], outcome.output);
            free(outcome.output);
            free(attempts[i]);
        }
        free(secret);
        world_finish(&world);
    }
    close(listener);
}

/* In a namespace the number is another's, or nobody's. Without one it takes a kernel that knows of signals. */
static void document__keeps_programs_from_signaling(void **state)
{
    (void)state;
    struct world world;
    struct program_outcome outcome;
    if (worker_landlock_version() < 6)
        skip();
    world_init(&world, &(struct documents_options){.no_bubblewrap = true});
    char *script = mem_printf("kill -0 %d", (int)getpid());
    run_script(&world, script, &outcome);
    assert_int_not_equal(outcome.exit_code, 0);
    free(outcome.output);
    free(script);
    world_finish(&world);
}

static void document__ends_children_that_left_their_session(void **state)
{
    (void)state;
    for (int alone = 0; alone < 2; alone++) {
        struct world world;
        struct program_outcome outcome;
        if (!alone && !confine_available(NULL))
            continue;
        world_init(&world, &(struct documents_options){.no_bubblewrap = alone});
        run_script(&world, "setsid sleep 98763 & (setsid sh -c 'sleep 98763 & sleep 98763' &) ; sleep 0.2; echo over",
                   &outcome);
        assert_string_equal(outcome.output, "over\n");
        assert_false(is_running("98763"));
        free(outcome.output);
        world_finish(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(document__reads_in_namespaces),
        cmocka_unit_test(document__reads_confined_by_itself),
        cmocka_unit_test(document__reads_a_descriptor_from_its_beginning),
        cmocka_unit_test(document__says_when_there_is_no_worker),
        cmocka_unit_test(document__survives_workers_gone_mad),
        cmocka_unit_test(document__repairs_text_that_is_not_utf8),
        cmocka_unit_test(document__ends_what_takes_too_long),
        cmocka_unit_test(document__leaves_nothing_when_canceled),
        cmocka_unit_test(document__waits_its_turn),
        cmocka_unit_test(document__keeps_programs_from_everything_else),
        cmocka_unit_test(document__keeps_programs_from_signaling),
        cmocka_unit_test(document__ends_children_that_left_their_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
