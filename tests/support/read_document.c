/* Reads one document with every reader and prints a line of JSON about it, then its Markdown: for flow tests and the
 * bench, which make documents with other programs. Usage: read_document FILE [key=value …]; an exit code of 1 and
 * {"status", "message"} when it cannot be read. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "core/json.h"
#include "readers/reader.h"

/* "max_bytes=1000", "pdftotext=" and others. */
static void set_option(struct reader_source *source, char *option)
{
    char *equals = strchr(option, '=');
    if (!equals)
        return;
    *equals = '\0';
    const char *value = equals + 1;
    if (strcmp(option, "max_bytes") == 0)
        source->max_bytes = (size_t)atoll(value);
    else if (strcmp(option, "max_unpacked") == 0)
        source->max_unpacked = (size_t)atoll(value);
    else if (strcmp(option, "timeout_ms") == 0)
        source->timeout_ms = atoll(value);
    else if (strcmp(option, "max_ocr_pages") == 0)
        source->max_ocr_pages = atoi(value);
    else if (strcmp(option, "temp_dir") == 0)
        source->temp_dir = value;
    else if (strcmp(option, "name") == 0)
        source->name = str_of(value);
    else if (strcmp(option, "pdftotext") == 0)
        source->programs.pdftotext = value;
    else if (strcmp(option, "tesseract") == 0)
        source->programs.tesseract = value;
    else if (strcmp(option, "soffice") == 0)
        source->programs.soffice = value;
}

static void put_string(json_t *object, const char *key, const char *text)
{
    json_put(object, key, text ? json_from_str(str_of(text)) : NULL);
}

static json_t *describe(const struct reader_text *text, int64_t microseconds)
{
    json_t *about = json_object(), *sections = json_array();
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    put_string(about, "kind", reader_kind_name(text->kind));
    put_string(about, "title", text->title);
    put_string(about, "author", text->author);
    put_string(about, "date", text->date);
    put_string(about, "language", text->language);
    put_string(about, "notice", text->notice);
    json_put(about, "pages", json_integer(text->pages));
    json_put(about, "truncated", json_boolean(text->truncated));
    json_put(about, "microseconds", json_integer(microseconds));
    json_put(about, "peak_kb", json_integer(usage.ru_maxrss));
    for (size_t i = 0; i < text->n_sections; i++)
        json_push(sections, json_pack("[sII]", text->sections[i].title, (json_int_t)text->sections[i].level,
                                      (json_int_t)text->sections[i].offset));
    json_put(about, "sections", sections);
    return about;
}

int main(int count, char **arguments)
{
    struct reader_source source = {.confined = true, .from_descriptor = true};
    struct reader_text text;
    struct error error = {0};
    struct timespec from, to;
    if (count < 2 || (source.descriptor = open(arguments[1], O_RDONLY | O_CLOEXEC)) < 0) {
        fputs("usage: read_document FILE [key=value ...]\n", stderr);
        return 2;
    }
    source.name = str_of(arguments[1]);
    for (int i = 2; i < count; i++)
        set_option(&source, arguments[i]);
    clock_gettime(CLOCK_MONOTONIC, &from);
    enum status status = reader_read(&source, &text, &error);
    clock_gettime(CLOCK_MONOTONIC, &to);
    int64_t microseconds = (int64_t)(to.tv_sec - from.tv_sec) * 1000000 + (to.tv_nsec - from.tv_nsec) / 1000;
    json_t *about = status == STATUS_OK ? describe(&text, microseconds) : json_object();
    json_put(about, "status", json_integer(status));
    put_string(about, "message", status == STATUS_OK ? NULL : error.message);
    char *line = json_to_text(about);
    puts(line);
    free(line);
    json_decref(about);
    if (status == STATUS_OK) {
        fwrite(text.markdown.data ? text.markdown.data : "", 1, text.markdown.len, stdout);
        reader_text_finish(&text);
    }
    close(source.descriptor);
    return status == STATUS_OK ? 0 : 1;
}
