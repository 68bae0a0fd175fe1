/* bench/extract.c
 *
 * What our page reader makes of pages, and what it costs; driven by extract.py, which runs the peers beside it.
 *
 *     bench_extract markdown|text PAGES
 *
 * PAGES holds for each page two lengths (uint32_t), its address and its bytes. Prints a line of JSON for each: the
 * text, what the page says about itself, and the CPU time in seconds from bytes in any character set to the text; then
 * one with the peak memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/json.h"
#include "core/mem.h"
#include "text/charset.h"
#include "text/html/html.h"

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static json_int_t peak_kb(void)
{
    /* not ru_maxrss, which counts the process that started this one too */
    char line[128];
    long long peak = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL && sscanf(line, "VmHWM: %lld", &peak) != 1)
        ;
    if (status != NULL)
        fclose(status);
    return peak;
}

static void print(json_t *object)
{
    char *text = json_to_text(object);
    puts(text);
    free(text);
    json_decref(object);
}

static void put(json_t *object, const char *key, const char *value)
{
    if (value != NULL)
        json_put_str(object, key, str_of(value));
}

static void read_page(struct str url, struct str bytes, bool plain)
{
    const struct html_options options = {.base_url = url, .plain_text = plain, .drop_links = plain};
    struct html_page page = {0};
    struct error error = {0};
    struct buf utf8;
    double start = seconds();
    buf_init(&utf8, BUF_UNBOUNDED);
    enum status status = charset_to_utf8(bytes, STR(""), true, &utf8, NULL);
    if (status == STATUS_OK)
        status = html_to_markdown(buf_str(&utf8), &options, &page, &error);
    buf_finish(&utf8);
    double took = seconds() - start;
    json_t *object = json_object();
    if (status == STATUS_OK) {
        json_put_str(object, "text", buf_str(&page.markdown));
        put(object, "title", page.title);
        put(object, "author", page.author);
        put(object, "date", page.date);
    } else {
        json_put_str(object, "error", str_of(error.message));
    }
    json_put(object, "cpu_s", json_real(took));
    print(object);
    html_page_finish(&page);
}

static char *take(FILE *file, size_t size)
{
    char *bytes = mem_alloc(size + 1);
    if (fread(bytes, 1, size, file) != size) {
        fputs("bench_extract: the pages end too early\n", stderr);
        exit(1);
    }
    return bytes;
}

int main(int argc, char **argv)
{
    FILE *file = argc == 3 ? fopen(argv[2], "rb") : NULL;
    uint32_t sizes[2];
    if (file == NULL || (strcmp(argv[1], "markdown") != 0 && strcmp(argv[1], "text") != 0)) {
        fputs("usage: bench_extract markdown|text PAGES\n", stderr);
        return 2;
    }
    json_int_t before = peak_kb();
    while (fread(sizes, sizeof sizes, 1, file) == 1) {
        char *url = take(file, sizes[0]), *bytes = take(file, sizes[1]);
        read_page(str_make(url, sizes[0]), str_make(bytes, sizes[1]), strcmp(argv[1], "text") == 0);
        free(url);
        free(bytes);
    }
    fclose(file);
    json_t *object = json_object();
    json_put(object, "before_kb", json_integer(before));
    json_put(object, "peak_kb", json_integer(peak_kb()));
    print(object);
    return 0;
}
