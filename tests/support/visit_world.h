/* tests/support/visit_world.h
 *
 * The visit tool before a scripted web on loopback: pages, a Jina Reader below /jina/ and an Internet Archive below
 * /archive/, whose copies stand below /web/.
 *
 *     /a, /a_(b)          the lighthouse of Kell, built in 1857 by Maria Oswin
 *     /redirect, /loop, /inside (to a link-local address)
 *     /plain, /json, /latin1, /pdf, /empty, /huge (60,000 lines), /hostile
 *     /long               a handbook of 400 chapters, one of which names the keeper
 *     /links              a list of links of every kind
 *     /challenge, /scripts  walls, sent with 200
 *     /hang, /nothing (204), /403, /429, /500, /999; everything else is 404
 *     /g/p/-/blob/…       a repository's page; its raw file is there but for names with "lost"
 *
 * The services know everything but addresses with "never" in them; the reader refuses its key for those with "refused".
 */
#ifndef FATHOM_TESTS_SUPPORT_VISIT_WORLD_H
#define FATHOM_TESTS_SUPPORT_VISIT_WORLD_H

#include "support/tool_world.h"
#include "tools/visit/visit.h"

/* Makes the tool with these options; the guard and the services' addresses are set where they are NULL. */
void visit_world_init(struct tool_world *world, const char *profile, struct visit_options options,
                      const struct fake_reply *replies, size_t n_replies);

/* In the generic profile, without a model. */
void visit_world_init_plain(struct tool_world *world);

/* Visits one page of the stub with the goal "when was the lighthouse built". */
const char *visit_world_read(struct tool_world *world, const char *path);

/* What the services were asked last, and how often; reset by visit_world_init. */
struct visit_world_log {
    char jina_target[4096], jina_authorization[128], archive_target[4096], copy_target[4096];
    int jina, archive, copies;
};
extern struct visit_world_log visit_world_log;

#endif
