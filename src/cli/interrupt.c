#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "cli/cli.h"

static struct {
    struct loop *loop;
    loop_fn fn;
    void *user;
    bool came;
} interrupt;

/* Runs in the signal's context: the loop may be stuck, so nothing is asked of it. The live line is wiped away. */
static void on_second(int signal_number)
{
    static const char wipe[] = "\r\x1b[K";
    (void)signal_number;
    if (isatty(STDERR_FILENO) && write(STDERR_FILENO, wipe, sizeof wipe - 1) < 0)
        _exit(CLI_INTERRUPTED);
    _exit(CLI_INTERRUPTED);
}

static void on_first(void *user)
{
    (void)user;
    struct sigaction action = {.sa_handler = on_second};
    interrupt.came = true;
    loop_on_signal(interrupt.loop, SIGINT, NULL, NULL);
    loop_on_signal(interrupt.loop, SIGTERM, NULL, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    interrupt.fn(interrupt.user);
}

void interrupt_install(struct loop *loop, loop_fn fn, void *user)
{
    interrupt.loop = loop;
    interrupt.fn = fn;
    interrupt.user = user;
    loop_on_signal(loop, SIGINT, on_first, NULL);
    loop_on_signal(loop, SIGTERM, on_first, NULL);
}

void interrupt_remove(void)
{
    if (interrupt.loop == NULL)
        return;
    loop_on_signal(interrupt.loop, SIGINT, NULL, NULL);
    loop_on_signal(interrupt.loop, SIGTERM, NULL, NULL);
    interrupt.loop = NULL;
}

bool interrupt_came(void)
{
    return interrupt.came;
}
