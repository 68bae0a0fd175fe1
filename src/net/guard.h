/* src/net/guard.h
 *
 * The address guard: which addresses a fetch may connect to when a model or a page named the URL.
 *
 * Allowed is what is public: ordinary unicast on the internet. Refused are loopback, private, link-local,
 * carrier-grade NAT, multicast, broadcast, unspecified, documentation, benchmark and reserved ranges (IANA
 * special-purpose registries, RFC 6890), cloud metadata addresses, and every IPv6 form that carries an IPv4 address
 * inside (mapped, compatible, NAT64, 6to4, Teredo, ISATAP), whatever it carries. The check is made on socket
 * addresses, where all spellings of a host have become one.
 *
 * Exemptions name networks. They open exactly their own range: 127.0.0.0/8 does not open ::ffff:127.0.0.1.
 */
#ifndef FATHOM_NET_GUARD_H
#define FATHOM_NET_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "core/status.h"
#include "core/str.h"

struct guard_network {
    int family;                /* AF_INET or AF_INET6 */
    unsigned char address[16]; /* network order; 4 or 16 bytes */
    int prefix_length;         /* bits */
};

/* Zeroed is valid and has no exemptions. */
struct guard {
    struct guard_network *exempt;
    size_t n_exempt, capacity;
};

void guard_init(struct guard *guard);
void guard_finish(struct guard *guard); /* NULL and zeroed are allowed */

/* Exempts a network: "127.0.0.1", "10.1.0.0/16", "fd00::/8", "[::1]". STATUS_INVALID, with a message that says what is
 * wrong, for anything else, also for bits set beyond the prefix, names and zone ids. */
enum status guard_allow(struct guard *guard, struct str network, struct error *error) STATUS_CHECKED;

/* Whether a connection to this address may be made. Families other than IPv4 and IPv6 are refused. `guard` NULL means
 * one without exemptions. */
bool guard_address_allowed(const struct guard *guard, const struct sockaddr *address);

/* The same for a numeric address as text ("192.0.2.1", "2001:db8::1", with or without zone id). False for anything
 * else. */
bool guard_text_allowed(const struct guard *guard, const char *address);

#endif
