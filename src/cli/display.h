/* src/cli/display.h
 *
 * The display of a run on stderr: a live line on a terminal, one line for each tool call and result, thought with -v;
 * plain lines where stderr is no terminal. It reads the run's notices and changes nothing.
 */
#ifndef FATHOM_CLI_DISPLAY_H
#define FATHOM_CLI_DISPLAY_H

#include <stdint.h>

#include "agent/session.h"
#include "cli/cli.h"

struct display;
struct loop;

/* `loop` is borrowed until display_destroy, for redrawing with time and when the terminal changes its size. */
struct display *display_create(const struct cli *cli, struct loop *loop, int64_t max_calls, int64_t context_limit,
                               int64_t time_limit_ms);

/* Takes the live line away. NULL is allowed. */
void display_destroy(struct display *display);

void display_notice(struct display *display, const struct notice *notice, int64_t elapsed_ms);

/* Takes the live line away while somebody types, and brings it back. */
void display_hush(struct display *display, bool quiet);

/* The run was asked to end. */
void display_interrupting(struct display *display);

#endif
