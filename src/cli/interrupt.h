/* src/cli/interrupt.h
 *
 * Ctrl-C (SIGINT) and SIGTERM: the first one asks for an orderly end, the second one ends the program at once with exit
 * code 130.
 */
#ifndef FATHOM_CLI_INTERRUPT_H
#define FATHOM_CLI_INTERRUPT_H

#include <stdbool.h>

#include "loop/loop.h"

/* Calls `fn` on the loop's thread on the first signal. */
void interrupt_install(struct loop *loop, loop_fn fn, void *user);

/* Back to the system's default. To be called before the loop goes. */
void interrupt_remove(void);

/* Whether a signal came. */
bool interrupt_came(void);

#endif
