/* bench/stub_server.h
 *
 * A model server for measurements: one thread, epoll, no parsing beyond HTTP's frame. It runs in a process of its own,
 * so that the CPU time of the measured process is its own. POSTs are answered by an event stream of `events` chat
 * chunks, the first ones with one token of text each and the last with what ends the completion; GETs by a model list.
 */
#ifndef FATHOM_BENCH_STUB_SERVER_H
#define FATHOM_BENCH_STUB_SERVER_H

#include <sys/types.h>

struct stub_plan {
    int events;      /* chunks with one token each before the closing text */
    int interval_ms; /* between two chunks of one stream; 0 sends the whole reply at once */
    const char
        *close; /* the completion's last text, as the inside of a JSON string; its first '#' becomes a running number */
};

struct stub_server {
    pid_t process;
    int port; /* on 127.0.0.1 */
};

/* Forks the server. Exits the program when that fails. `plan` must be valid only during the call. */
struct stub_server stub_server_start(const struct stub_plan *plan);

/* Ends it and waits for its process. */
void stub_server_stop(struct stub_server *server);

#endif
