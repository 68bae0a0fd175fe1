#include "support/recorded.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/buf.h"
#include "core/json.h"

char *recorded_read(const char *path, size_t *length)
{
    gzFile file = gzopen(path, "rb");
    if (!file)
        return NULL;
    struct buf all;
    char chunk[65536];
    buf_init(&all, BUF_UNBOUNDED);
    for (int n; (n = gzread(file, chunk, sizeof chunk)) > 0;)
        buf_add(&all, str_make(chunk, (size_t)n));
    gzclose(file);
    if (length)
        *length = all.len;
    return buf_take(&all);
}

/* The fields of a tar header (POSIX.1-2017, pax, ustar): name at 0, size in octal at 124, type at 156. */
bool recorded_each_file(const char *path, void (*each)(void *user, const char *name, struct str contents), void *user)
{
    size_t length;
    char *all = recorded_read(path, &length);
    if (!all)
        return false;
    for (size_t at = 0; at + 512 <= length && all[at];) {
        char name[101] = {0}, size[13] = {0};
        memcpy(name, all + at, 100);
        memcpy(size, all + at + 124, 12);
        size_t bytes = strtoul(size, NULL, 8);
        if ((all[at + 156] == '0' || all[at + 156] == '\0') && at + 512 + bytes <= length)
            each(user, name, str_make(all + at + 512, bytes));
        at += 512 + (bytes + 511) / 512 * 512;
    }
    free(all);
    return true;
}

bool recorded_each_completion(const char *path, void (*each)(void *user, struct str text, size_t index), void *user)
{
    char *lines = recorded_read(path, NULL);
    if (!lines)
        return false;
    struct str rest = str_of(lines), line;
    size_t index = 0;
    while (str_split_next(&rest, '\n', &line)) {
        json_t *row = NULL, *message;
        if (json_parse(line, &row, NULL) != STATUS_OK)
            continue;
        if (json_object_get(row, "completion"))
            each(user, json_get_str(row, "completion"), index++);
        size_t i;
        json_array_foreach (json_object_get(row, "messages"), i, message) {
            if (str_equal(json_get_str(message, "role"), STR("assistant")))
                each(user, json_get_str(message, "content"), index++);
        }
        json_decref(row);
    }
    free(lines);
    return true;
}
