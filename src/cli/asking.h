/* src/cli/asking.h
 *
 * Asks the person at the terminal what tools want to know (engine/ask.h): one question at a time, in the order in which
 * they came, on stderr and stdin. Loop thread only.
 */
#ifndef FATHOM_CLI_ASKING_H
#define FATHOM_CLI_ASKING_H

#include "cli/cli.h"

struct asking;
struct engine;
struct loop;

/* Makes the engine ask here. NULL, and nobody is asked, where stdin or stderr is no terminal or the option `ask-user`
 * says never. `hush` (NULL allowed) is called with true before a question is shown and with false after the last one:
 * a live line has to keep away meanwhile. All is borrowed until asking_destroy. */
struct asking *asking_create(const struct cli *cli, struct loop *loop, struct engine *engine,
                             void (*hush)(void *user, bool quiet), void *user);

/* No call may be under way. NULL is allowed. */
void asking_destroy(struct asking *asking);

#endif
