/* src/net/resolve.h
 *
 * Name look-ups that the loop does not wait for. A look-up that never answers cannot be stopped; it is left behind on a
 * thread of its own, so it takes no place in the thread pool and holds up neither cancel nor the end of the program.
 * Part of the HTTP client.
 */
#ifndef FATHOM_NET_RESOLVE_H
#define FATHOM_NET_RESOLVE_H

#include <stdbool.h>

struct addrinfo;
struct loop;
struct resolve;

/* `addresses` is the list that getaddrinfo gave, borrowed until the callback returns; NULL when there is none. */
typedef void (*resolve_fn)(void *user, const struct addrinfo *addresses);

/* Looks `host` (a name, or an address in any spelling, IPv6 with or without brackets) up for TCP. `done` comes once on
 * the loop's thread, never from inside this call, unless resolve_cancel comes first. NULL when no thread can be
 * started; `done` does not come then. */
struct resolve *resolve_start(struct loop *loop, const char *host, resolve_fn done, void *user);

/* `done` will not come. To be called before the loop goes. NULL is allowed. */
void resolve_cancel(struct resolve *resolve);

#endif
