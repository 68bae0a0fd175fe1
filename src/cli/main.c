#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/option.h"
#include "cli/arguments.h"
#include "cli/cli.h"
#include "cli/help.h"
#include "cli/terminal.h"
#include "core/log.h"

static const struct cli_command *find_command(const char *name)
{
    for (const struct cli_command *const *command = cli_commands; *command != NULL; command++) {
        if (strcmp((*command)->name, name) == 0)
            return *command;
    }
    return NULL;
}

static int say_unknown_command(const char *name)
{
    const char *names[64];
    size_t count = 0;
    for (; cli_commands[count] != NULL; count++)
        names[count] = cli_commands[count]->name;
    names[count++] = "help";
    const char *nearest = suggest_nearest(str_of(name), names, count);
    struct buf raw, clean;
    buf_init(&raw, BUF_UNBOUNDED);
    buf_init(&clean, BUF_UNBOUNDED);
    buf_addf(&raw, "fathom: there is no command \"%s\"", name);
    if (nearest != NULL)
        buf_addf(&raw, "; did you mean %s?", nearest);
    terminal_clean(&clean, buf_str(&raw), true);
    terminal_line(buf_str(&clean));
    terminal_line(STR("See fathom help."));
    buf_finish(&clean);
    buf_finish(&raw);
    return CLI_USAGE;
}

static void write_log(void *user, enum log_level level, const char *area, const char *message)
{
    (void)user;
    (void)level;
    struct buf raw, clean;
    buf_init(&raw, BUF_UNBOUNDED);
    buf_init(&clean, BUF_UNBOUNDED);
    buf_addf(&raw, "fathom: %s: %s", area, message);
    terminal_clean(&clean, buf_str(&raw), true);
    terminal_line(buf_str(&clean));
    buf_finish(&clean);
    buf_finish(&raw);
}

static void set_log(const struct cli *cli)
{
    enum log_level level = cli->quiet          ? LOG_ERROR
                           : cli->verbose == 0 ? LOG_WARNING
                           : cli->verbose == 1 ? LOG_INFO
                                               : LOG_DEBUG;
    log_set_sink(write_log, NULL, level);
}

static int show(void (*write)(const struct cli_command *command, struct buf *out), const struct cli_command *command)
{
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    write(command, &out);
    fwrite(out.data, 1, out.len, stdout);
    buf_finish(&out);
    return CLI_OK;
}

static void write_overview(const struct cli_command *command, struct buf *out)
{
    (void)command;
    help_overview(out);
}

static int run_command(const struct cli_command *command, int argc, char *const *argv)
{
    struct arguments arguments;
    int code = CLI_USAGE;
    if (arguments_parse(&arguments, command, argc, argv)) {
        set_log(&arguments.cli);
        if (arguments.help)
            code = show(help_command, command);
        else if (arguments_configure(&arguments))
            code = command->run(&arguments.cli);
    }
    arguments_finish(&arguments);
    return code;
}

static int dispatch(int argc, char *const *argv)
{
    const char *name = argc > 1 ? argv[1] : "help";
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        if (argc <= 2)
            return show(write_overview, NULL);
        const struct cli_command *command = find_command(argv[2]);
        return command != NULL ? show(help_command, command) : say_unknown_command(argv[2]);
    }
    const struct cli_command *command = find_command(name);
    return command != NULL ? run_command(command, argc - 2, argv + 2) : say_unknown_command(name);
}

/* What a full disk or a closed pipe did to the results must not pass for success. */
static int finish_output(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    if (errno != EPIPE) /* a reader that has had enough needs no message */
        fprintf(stderr, "fathom: cannot write the results: %s\n", strerror(errno));
    return code == CLI_OK ? CLI_FAILED : code;
}

/* A program that is started with a closed stdin, stdout or stderr must not find its own files and sockets there. What
 * stands in for them fails as the closed ones would: nothing is read from or written to it. */
static void fill_standard_descriptors(void)
{
    for (int descriptor = 0; descriptor <= 2; descriptor++) {
        if (fcntl(descriptor, F_GETFD) == -1 && open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY) != descriptor)
            abort();
    }
}

int main(int argc, char **argv)
{
    fill_standard_descriptors();
    if (argc > 1 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0)) {
        printf("fathom %s\n", FATHOM_VERSION);
        return finish_output(CLI_OK);
    }
    signal(SIGPIPE, SIG_IGN);
    terminal_init();
    return finish_output(dispatch(argc, argv));
}
