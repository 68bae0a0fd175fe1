/* src/cli/output.c: what commands say, and where. */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/terminal.h"
#include "core/file.h"

/* "fathom index: message" with control characters made harmless. */
static void __attribute__((format(printf, 2, 0)))
say_prefixed(const struct cli *cli, const char *format, va_list arguments)
{
    struct buf raw, clean;
    buf_init(&raw, BUF_UNBOUNDED);
    buf_init(&clean, BUF_UNBOUNDED);
    buf_addf(&raw, "fathom %s: ", cli->command->name);
    buf_addv(&raw, format, arguments);
    terminal_clean(&clean, buf_str(&raw), false);
    terminal_line(buf_str(&clean));
    buf_finish(&clean);
    buf_finish(&raw);
}

int cli_fail(const struct cli *cli, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_prefixed(cli, format, arguments);
    va_end(arguments);
    return CLI_FAILED;
}

int cli_fail_error(const struct cli *cli, const struct error *error)
{
    char text[800];
    return cli_fail(cli, "%s", error_text(error, text, sizeof text));
}

int cli_wrong_usage(const struct cli *cli, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_prefixed(cli, format, arguments);
    va_end(arguments);
    char hint[200];
    snprintf(hint, sizeof hint, "See fathom %s --help.", cli->command->name);
    terminal_line(str_of(hint));
    return CLI_USAGE;
}

void cli_say(const struct cli *cli, const char *format, ...)
{
    if (cli->quiet)
        return;
    struct buf raw, clean;
    buf_init(&raw, BUF_UNBOUNDED);
    buf_init(&clean, BUF_UNBOUNDED);
    va_list arguments;
    va_start(arguments, format);
    buf_addv(&raw, format, arguments);
    va_end(arguments);
    terminal_clean(&clean, buf_str(&raw), false);
    terminal_line(buf_str(&clean));
    buf_finish(&clean);
    buf_finish(&raw);
}

void cli_print(const char *format, ...)
{
    struct buf text;
    va_list arguments;
    buf_init(&text, BUF_UNBOUNDED);
    va_start(arguments, format);
    buf_addv(&text, format, arguments);
    va_end(arguments);
    fwrite(text.data, 1, text.len, stdout);
    buf_finish(&text);
}

void cli_print_text(struct str text)
{
    if (text.len == 0)
        return;
    if (!terminal_output_is_terminal()) {
        fwrite(text.data, 1, text.len, stdout);
        return;
    }
    struct buf clean;
    buf_init(&clean, BUF_UNBOUNDED);
    terminal_clean(&clean, text, false);
    fwrite(clean.data, 1, clean.len, stdout);
    buf_finish(&clean);
}

void cli_print_json(const json_t *value)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    if (json_write(&text, value) != STATUS_OK)
        abort(); /* an unbounded buffer cannot refuse */
    buf_add_char(&text, '\n');
    fwrite(text.data, 1, text.len, stdout);
    buf_finish(&text);
}

bool cli_read_input(const struct cli *cli, size_t max_bytes, struct buf *out)
{
    struct error error;
    buf_init(out, max_bytes);
    if (file_read_descriptor(STDIN_FILENO, "standard input", out, &error) == STATUS_OK)
        return true;
    cli_fail_error(cli, &error);
    buf_finish(out);
    return false;
}
