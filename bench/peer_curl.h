/* bench/peer_curl.h
 *
 * The peer of bench/loop: libcurl with nothing around it, doing the same transfers.
 */
#ifndef FATHOM_BENCH_PEER_CURL_H
#define FATHOM_BENCH_PEER_CURL_H

#include <stddef.h>

/* Posts `body` to `url` `times` times on one connection, one after another, and reads the replies. */
void peer_curl_post(const char *url, const char *body, size_t len, int times);

/* Posts a small body `streams` times at once and reads all replies. `sweep_ms` 0 handles each socket when it is
 * readable (curl_multi_socket_action under epoll); else all of them every `sweep_ms`. Returns how many replies came
 * whole. */
int peer_curl_streams(const char *url, int streams, int sweep_ms);

#endif
