#include "store/statements.h"

#include "core/embed.h"

struct str statement_text(const char *path, const char *name)
{
    struct str file, line, rest;
    if (!embed_find(path, &file))
        return (struct str){0};
    for (rest = file; str_split_next(&rest, '\n', &line);) {
        if (!str_starts_with(line, STR("-- name: ")) || !str_equal(str_slice(line, 9, line.len), str_of(name)))
            continue;
        return str_slice(rest, 0, str_find(rest, STR("-- name: "), 0));
    }
    return (struct str){0};
}
