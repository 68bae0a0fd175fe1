#include "core/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/utf8.h"

/* After snprintf cut a text to its field, drops the half of a UTF-8 sequence that may stand at the end. */
static void cut_at_boundary(char *text, size_t size, int wanted)
{
    if (wanted < 0 || (size_t)wanted < size)
        return;
    struct str s = str_of(text);
    text[s.len - utf8_incomplete_tail(s)] = '\0';
}

enum status error_set(struct error *error, enum status status, const char *format, ...)
{
    if (!error)
        return status;
    error->status = status;
    error->line = error->column = 0;
    error->place[0] = '\0';
    char message[sizeof error->message]; /* an argument may be the old message */
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    cut_at_boundary(message, sizeof message, wanted);
    memcpy(error->message, message, sizeof message);
    return status;
}

void error_at(struct error *error, const char *place, int line, int column)
{
    if (!error)
        return;
    if (place) {
        int wanted = snprintf(error->place, sizeof error->place, "%s", place);
        cut_at_boundary(error->place, sizeof error->place, wanted);
    }
    error->line = line;
    error->column = column;
}

const char *error_text(const struct error *error, char *out, size_t size)
{
    char position[32] = "";
    if (error->line > 0 && error->column > 0)
        snprintf(position, sizeof position, "%d:%d", error->line, error->column);
    else if (error->line > 0)
        snprintf(position, sizeof position, "%d", error->line);
    const char *between = error->place[0] && position[0] ? ":" : "";
    const char *after = error->place[0] || position[0] ? ": " : "";
    snprintf(out, size, "%s%s%s%s%s", error->place, between, position, after, error->message);
    return out;
}
