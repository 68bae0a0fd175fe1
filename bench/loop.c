/* What a session costs beside its network: CPU for each round of a long conversation, CPU for each streamed token, and
 * memory for each of a thousand sessions at once. Everything runs through the product's own runner, client and HTTP
 * room against a stub server in another process; libcurl alone does the same transfers in the same run.
 *
 * Usage: loop [rounds|tokens|memory]…, all by default. Prints one line for each figure. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/result.h"
#include "bench/peer_curl.h"
#include "bench/stub_server.h"
#include "core/buf.h"
#include "core/mem.h"
#include "engine/runner.h"
#include "engine/tool.h"
#include "loop/loop.h"
#include "model/client.h"
#include "model/openai.h"
#include "net/http.h"
#include "protocol/profile.h"

#define CONTEXT_BYTES ((size_t)430 * 1000)
#define ROUNDS        60
#define STREAMS       200
#define TOKENS        1000
#define SESSIONS      1000

static const char CALL[] = "<think>One more look.</think>\\n<tool_call>{\\\"name\\\": \\\"note\\\", \\\"arguments\\\": "
                           "{\\\"text\\\": \\\"#\\\"}}</tool_call>";
static const char ANSWER[] = "</think>\\n<answer>done</answer>";

static double cpu_ms(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e3 +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e3;
}

static double resident_kb(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = 0;
    if (!file || fscanf(file, "%*d %ld", &pages) != 1)
        exit(1);
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1024;
}

/* ---- a tool that does nothing ---- */

static void note_done(void *user)
{
    tool_finish(user, TOOL_OK, STR("noted"));
}

static void note_start(struct tool *self, struct tool_run *run)
{
    (void)self;
    tool_wait(run, 0, note_done, run);
}

/* ---- many runs at once ---- */

struct fleet {
    struct loop *loop;
    struct http_client *http;
    struct model_client *model;
    struct engine *engine;
    struct profile *profile;
    struct tool_signature signature;
    struct tool tool, *tools[1];
    int left;
    int64_t rounds;
    int failed;
    struct loop_timer *probe; /* looks at memory while all stream */
    double peak_kb;
};

static void run_over(void *user, struct run *run, const struct result *result)
{
    (void)run;
    struct fleet *fleet = user;
    fleet->rounds += result->model_calls;
    fleet->failed += result->termination == TERMINATION_MODEL_ERROR;
    if (--fleet->left == 0)
        loop_stop(fleet->loop);
}

static void must(enum status status, const struct error *error)
{
    if (status != STATUS_OK) {
        fprintf(stderr, "loop: %s\n", error->message);
        exit(1);
    }
}

static void fleet_open(struct fleet *fleet, int port)
{
    memset(fleet, 0, sizeof *fleet);
    fleet->loop = loop_create();
    fleet->http = http_client_create(fleet->loop, NULL);
    struct error error;
    must(profile_load("generic", NULL, &fleet->profile, &error), &error);
    must(signature_load(STR("{\"name\":\"note\",\"description\":\"Notes a text.\",\"parameters\":{\"type\":\"object\","
                            "\"properties\":{\"text\":{\"type\":\"string\"}},\"required\":[\"text\"]}}"),
                        &fleet->signature, &error),
         &error);
    fleet->tool =
        (struct tool){.signature = &fleet->signature, .idempotent = true, .timeout_ms = 30000, .start = note_start};
    fleet->tools[0] = &fleet->tool;
    char *url = mem_printf("http://127.0.0.1:%d/v1", port);
    struct openai_endpoint endpoint = {.base_url = url};
    struct openai_options options = {.loop = fleet->loop,
                                     .http = fleet->http,
                                     .endpoints = &endpoint,
                                     .n_endpoints = 1,
                                     .model = "stub",
                                     .context_window = 4000000,
                                     .max_in_flight = SESSIONS};
    must(openai_client_create(&options, &fleet->model, &error), &error);
    free(url);
    struct engine_options engine = {.loop = fleet->loop, .http = fleet->http};
    engine.models[MODEL_AGENT] = fleet->model;
    fleet->engine = engine_create(&engine);
}

static void fleet_close(struct fleet *fleet)
{
    loop_timer_destroy(fleet->probe);
    engine_destroy(fleet->engine);
    model_client_destroy(fleet->model);
    http_client_destroy(fleet->http);
    loop_destroy(fleet->loop);
    signature_finish(&fleet->signature);
    profile_destroy(fleet->profile);
}

static void fleet_start(struct fleet *fleet, struct str question, int runs, int64_t max_calls)
{
    struct run_options options = {
        .question = question, .tools = fleet->tools, .n_tools = 1, .done = run_over, .user = fleet};
    options.config =
        (struct session_config){.run_id = STR("bench"), .date = STR("2026-01-01"), .profile = fleet->profile};
    session_limits_init(&options.config.limits);
    options.config.limits.max_calls = max_calls;
    options.config.limits.context_tokens = 3000000;
    fleet->left = runs;
    for (int i = 0; i < runs; i++)
        run_start(fleet->engine, &options);
}

static void fleet_finish(struct fleet *fleet)
{
    loop_run(fleet->loop);
    if (fleet->failed > 0) {
        fprintf(stderr, "loop: %d runs failed\n", fleet->failed);
        exit(1);
    }
}

/* ---- the measurements ---- */

static char *long_text(size_t bytes)
{
    static const char sentence[] = "The survey of the \"northern\" coast took nine years and filled 31 volumes.\n";
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    while (text.len < bytes)
        buf_add(&text, STR(sentence));
    return buf_take(&text);
}

static void measure_rounds(void)
{
    struct stub_plan plan = {.events = 20, .close = CALL};
    struct stub_server server = stub_server_start(&plan);
    char *text = long_text(CONTEXT_BYTES);
    struct fleet fleet;
    fleet_open(&fleet, server.port);
    fleet_start(&fleet, str_of(text), 1, 3);
    fleet_finish(&fleet); /* connections, first allocations, and the one reading of the question */
    fleet.rounds = 0;
    fleet_start(&fleet, str_of(text), 1, ROUNDS);
    double before = cpu_ms();
    fleet_finish(&fleet);
    double ours = (cpu_ms() - before) / (double)fleet.rounds;
    fleet_close(&fleet);

    char *url = mem_printf("http://127.0.0.1:%d/v1/chat/completions", server.port);
    peer_curl_post(url, text, strlen(text), 3);
    before = cpu_ms();
    peer_curl_post(url, text, strlen(text), ROUNDS);
    double peer = (cpu_ms() - before) / ROUNDS;
    printf("CPU per round at %d KB of context: %.2f ms; libcurl alone %.2f ms; ratio %.1f (aim: at most 1.5 ms)\n",
           (int)(CONTEXT_BYTES / 1000), ours, peer, ours / peer);
    free(url);
    free(text);
    stub_server_stop(&server);
}

static void measure_tokens(void)
{
    struct stub_plan plan = {.events = TOKENS, .interval_ms = 10, .close = ANSWER};
    struct stub_server server = stub_server_start(&plan);
    struct fleet fleet;
    fleet_open(&fleet, server.port);
    double before = cpu_ms();
    fleet_start(&fleet, STR("What is measured here?"), STREAMS, 3);
    fleet_finish(&fleet);
    double ours = (cpu_ms() - before) * 1e3 / (STREAMS * TOKENS);
    fleet_close(&fleet);

    char *url = mem_printf("http://127.0.0.1:%d/v1/chat/completions", server.port);
    before = cpu_ms();
    int woken_done = peer_curl_streams(url, STREAMS, 0);
    double woken = (cpu_ms() - before) * 1e3 / (STREAMS * TOKENS);
    before = cpu_ms();
    int swept_done = peer_curl_streams(url, STREAMS, 10);
    double swept = (cpu_ms() - before) * 1e3 / (STREAMS * TOKENS);
    if (woken_done != STREAMS || swept_done != STREAMS)
        fprintf(stderr, "loop: the peer lost streams (%d, %d of %d)\n", woken_done, swept_done, STREAMS);
    printf("CPU per streamed token, %d streams at 100 tokens/s: %.1f µs; libcurl alone woken per token %.1f µs (ratio "
           "%.2f), swept every 10 ms %.1f µs (ratio %.2f) (aim: at most 4 µs)\n",
           STREAMS, ours, woken, ours / woken, swept, ours / swept);
    free(url);
    stub_server_stop(&server);
}

static void look_at_memory(void *user)
{
    struct fleet *fleet = user;
    double now = resident_kb();
    if (now > fleet->peak_kb)
        fleet->peak_kb = now;
    loop_timer_start(fleet->probe, 50);
}

static void measure_memory(void)
{
    struct stub_plan plan = {.events = 40, .interval_ms = 50, .close = ANSWER};
    struct stub_server server = stub_server_start(&plan);
    struct fleet fleet;
    fleet_open(&fleet, server.port);
    malloc_trim(0);
    double before = resident_kb();
    fleet.probe = loop_timer_create(fleet.loop, look_at_memory, &fleet);
    loop_timer_start(fleet.probe, 50);
    fleet_start(&fleet, STR("What is measured here?"), SESSIONS, 3);
    fleet_finish(&fleet);
    printf("Memory, %d sessions streaming at once: %.0f KB each, prompt and completion included (aim: at most 100 KB "
           "beside their text)\n",
           SESSIONS, (fleet.peak_kb - before) / SESSIONS);
    fleet_close(&fleet);
    stub_server_stop(&server);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*measure)(void);
    } parts[] = {{"rounds", measure_rounds}, {"tokens", measure_tokens}, {"memory", measure_memory}};
    struct rlimit files = {8192, 8192};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        bool wanted = argc == 1;
        for (int k = 1; k < argc; k++)
            wanted = wanted || strcmp(argv[k], parts[i].name) == 0;
        if (wanted)
            parts[i].measure();
    }
    return 0;
}
