/* bench/tokens.c
 *
 * What our tokenizer costs; driven by tokens.py, which runs the peers beside it. Prints one JSON object.
 *
 *     bench_tokens compile FILE IMAGE          reads a tokenizer's source and writes its image
 *     bench_tokens ids|count IMAGE DOCUMENTS ROUNDS [plain]
 *                                              a fresh process's first pass over the documents, and the best of further
 *                                              ones. DOCUMENTS: uint32_t length and text, again and again
 *     bench_tokens meter IMAGE TEMPLATE DOCUMENTS
 *                                              the documents are the messages of a conversation, from a system message
 *                                              on: what the token meter costs for a count before each completion
 *
 * Times are of the CPU, in seconds unless the name says otherwise.
 */
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/prompt_count.h"
#include "agent/token_meter.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/mem.h"
#include "protocol/transcript.h"
#include "text/tokenizer/tokenizer.h"

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void fail(const char *what, const struct error *error)
{
    fprintf(stderr, "bench_tokens: %s: %s\n", what, error ? error->message : "");
    exit(1);
}

/* `flags`: MAP_POPULATE or 0. */
static struct str map(const char *path, int flags)
{
    struct stat about;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &about) != 0 || about.st_size == 0)
        fail(path, NULL);
    size_t size = (size_t)about.st_size;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE | flags, file, 0);
    close(file);
    if (bytes == MAP_FAILED)
        fail(path, NULL);
    return str_make(bytes, size);
}

/* A number of /proc/self/status, in kB. */
static long status_kb(const char *key)
{
    struct buf text;
    buf_init(&text, 1 << 16);
    if (file_read("/proc/self/status", &text, NULL) != STATUS_OK)
        return 0;
    const char *found = strstr(text.data, key);
    long kb = found ? strtol(found + strlen(key) + 1, NULL, 10) : 0;
    buf_finish(&text);
    return kb;
}

static struct tokenizer *open_image(struct str image)
{
    struct error error = {0};
    struct tokenizer *tokenizer = NULL;
    if (tokenizer_open(image, &tokenizer, &error) != STATUS_OK)
        fail("open", &error);
    return tokenizer;
}

static int compile(const char *path, const char *image_path)
{
    struct buf source, config, image;
    struct error error = {0};
    char *folder = mem_strdup(path), *name = mem_strdup(path);
    char *beside = mem_printf("%s/tokenizer_config.json", dirname(folder));
    buf_init(&source, BUF_UNBOUNDED);
    buf_init(&config, BUF_UNBOUNDED);
    buf_init(&image, BUF_UNBOUNDED);
    if (file_read(path, &source, &error) != STATUS_OK)
        fail(path, &error);
    if (strstr(path, ".json") && file_read(beside, &config, NULL) != STATUS_OK)
        buf_reset(&config);
    const struct tokenizer_source files = {
        .name = str_of(basename(name)), .main = buf_str(&source), .config = buf_str(&config)};
    double start = seconds();
    if (tokenizer_compile(&files, &image, &error) != STATUS_OK)
        fail(path, &error);
    double took = seconds() - start;
    if (file_write(image_path, buf_str(&image), &error) != STATUS_OK)
        fail(image_path, &error);
    printf("{\"compile_ms\": %.1f, \"image_bytes\": %zu, \"peak_kb\": %ld}\n", took * 1e3, image.len,
           status_kb("VmHWM:"));
    buf_finish(&source);
    buf_finish(&config);
    buf_finish(&image);
    free(folder);
    free(name);
    free(beside);
    return 0;
}

/* The next document; false at the end. */
static bool next_document(struct str *rest, struct str *document)
{
    uint32_t length;
    if (rest->len < sizeof length)
        return false;
    memcpy(&length, rest->data, sizeof length);
    *document = str_slice(*rest, sizeof length, sizeof length + length);
    *rest = str_slice(*rest, sizeof length + length, rest->len);
    return true;
}

/* One pass over all documents; gives the tokens. */
static int64_t pass(const struct tokenizer *tokenizer, struct str documents, unsigned flags, struct token_ids *ids)
{
    int64_t tokens = 0;
    struct str document;
    while (next_document(&documents, &document)) {
        if (ids)
            tokenizer_encode(tokenizer, document, flags, ids);
        else
            tokens += tokenizer_count(tokenizer, document, flags);
    }
    return ids ? (int64_t)ids->count : tokens;
}

static void hash_ids(const struct token_ids *ids, char hex[HASH_HEX_SIZE])
{
    struct hash *hash = hash_begin();
    hash_add(hash, str_make((const char *)ids->ids, ids->count * sizeof *ids->ids));
    hash_end(hash, hex);
}

static int speed(bool with_ids, const char *image_path, const char *documents_path, int rounds, unsigned flags)
{
    struct str documents = map(documents_path, 0);
    struct token_ids ids;
    char hash[HASH_HEX_SIZE] = "";
    token_ids_init(&ids);
    long before_kb = status_kb("VmRSS:");
    double start = seconds();
    struct tokenizer *tokenizer = open_image(map(image_path, MAP_POPULATE));
    double ready = seconds() - start, warm = 1e9;
    long ready_kb = status_kb("VmRSS:");

    start = seconds();
    int64_t tokens = pass(tokenizer, documents, flags, with_ids ? &ids : NULL);
    double cold = seconds() - start;
    for (int i = 0; i < rounds; i++) {
        ids.count = 0;
        start = seconds();
        if (pass(tokenizer, documents, flags, with_ids ? &ids : NULL) != tokens)
            fail("another count than before", NULL);
        double took = seconds() - start;
        warm = took < warm ? took : warm;
    }
    if (with_ids)
        hash_ids(&ids, hash);
    printf("{\"ready_ms\": %.3f, \"cold\": %.6f, \"warm\": %.6f, \"tokens\": %lld, \"hash\": \"%s\", "
           "\"ready_kb\": %ld, \"rss_kb\": %ld}\n",
           ready * 1e3, cold, warm, (long long)tokens, hash, ready_kb - before_kb, status_kb("VmRSS:") - before_kb);
    token_ids_finish(&ids);
    tokenizer_destroy(tokenizer);
    return 0;
}

/* Puts a message into the transcript, as a session does before it counts; `thought` gets where the model's thought
 * stands in it. */
static void append(struct transcript *transcript, enum message_role role, struct str text,
                   struct thought_range *thought)
{
    *thought = thought_range_find(text);
    enum status status = role == MESSAGE_ASSISTANT ? transcript_append_assistant(transcript, text, thought)
                                                   : transcript_append(transcript, role, text);
    if (status != STATUS_OK)
        fail("the conversation cannot be taken", NULL);
}

/* Tokens of the prompt once the message is in it; 0 behind a completion, when none is sent. */
static int64_t count_message(struct token_meter *meter, enum message_role role, struct str text,
                             const struct thought_range *thought)
{
    if (role == MESSAGE_ASSISTANT)
        token_meter_append_completion(meter, str_slice(text, thought->from, thought->to), text, -1);
    else
        token_meter_append(meter, text);
    return role == MESSAGE_USER ? token_meter_prompt(meter) : 0;
}

static int meter(const char *image_path, const char *template_name, const char *documents_path)
{
    struct str documents = map(documents_path, 0), document;
    struct tokenizer *tokenizer = open_image(map(image_path, MAP_POPULATE));
    struct token_counter *counter = token_counter_create(tokenizer);
    struct transcript *transcript = transcript_create((size_t)64 << 20);
    struct token_meter meter;
    token_meter_init(&meter, counter, 0, 0, false);
    token_meter_count_exactly(&meter, &(struct prompt_count_options){
                                          .tokenizer = tokenizer,
                                          .chat_template = template_find(str_of(template_name)),
                                          .transcript = transcript,
                                          .shown = {.thought = THOUGHT_INLINE},
                                          .rendering = {.chat = true},
                                      });
    printf("{\"rounds\": [");
    double all = 0;
    const char *comma = "";
    for (size_t n = 0; next_document(&documents, &document); n++) {
        enum message_role role = n == 0 ? MESSAGE_SYSTEM : n % 2 ? MESSAGE_USER : MESSAGE_ASSISTANT;
        struct thought_range thought;
        append(transcript, role, document, &thought);
        double start = seconds();
        int64_t tokens = count_message(&meter, role, document, &thought);
        all += seconds() - start;
        if (role == MESSAGE_USER) {
            printf("%s%lld", comma, (long long)tokens);
            comma = ", ";
        }
    }
    printf("], \"cpu_ms\": %.3f}\n", all * 1e3);
    token_meter_finish(&meter);
    transcript_destroy(transcript);
    token_counter_destroy(counter);
    tokenizer_destroy(tokenizer);
    return 0;
}

int main(int count, char **arguments)
{
    if (count == 4 && strcmp(arguments[1], "compile") == 0)
        return compile(arguments[2], arguments[3]);
    if (count >= 5 && (strcmp(arguments[1], "ids") == 0 || strcmp(arguments[1], "count") == 0))
        return speed(arguments[1][0] == 'i', arguments[2], arguments[3], atoi(arguments[4]),
                     count > 5 ? TOKENIZER_PLAIN : 0);
    if (count == 5 && strcmp(arguments[1], "meter") == 0)
        return meter(arguments[2], arguments[3], arguments[4]);
    fputs("usage: bench_tokens compile|ids|count|meter …\n", stderr);
    return 2;
}
