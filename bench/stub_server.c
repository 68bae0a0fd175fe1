#include "bench/stub_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_CONNECTIONS 4096

struct connection {
    int descriptor; /* 0: free */
    size_t body_left;
    bool streaming;
    int sent;        /* chunks of the stream */
    char head[4096]; /* what came of the request's head */
    size_t head_len;
};

static struct connection connections[MAX_CONNECTIONS];
static int completions; /* so far */
static struct stub_plan plan;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void send_all(int descriptor, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t put = send(descriptor, data, len, MSG_NOSIGNAL);
        if (put < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (put <= 0)
            return;
        data += put;
        len -= (size_t)put;
    }
}

static void send_chunk(int descriptor, const char *data)
{
    char framed[4096];
    int length = snprintf(framed, sizeof framed, "%zx\r\n%s\r\n", strlen(data), data);
    send_all(descriptor, framed, (size_t)length);
}

/* Sends the stream's next chunk; after the last one the connection waits for its next request. */
static void send_next(struct connection *c)
{
    char event[2048];
    if (c->sent < plan.events) {
        snprintf(
            event, sizeof event,
            "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"stub\",\"choices\":[{"
            "\"index\":0,\"delta\":{\"content\":\" w%x\"},\"finish_reason\":null}]}\n\n",
            (unsigned)c->sent * 2654435761u >> 12); /* never the same words over and over */
        c->sent++;
        send_chunk(c->descriptor, event);
        return;
    }
    const char *mark = strchr(plan.close, '#');
    char number[16] = "";
    if (mark)
        snprintf(number, sizeof number, "%d", ++completions);
    snprintf(event, sizeof event,
             "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"stub\",\"choices\":[{"
             "\"index\":0,\"delta\":{\"content\":\"%.*s%s%s\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
             mark ? (int)(mark - plan.close) : (int)strlen(plan.close), plan.close, number, mark ? mark + 1 : "");
    send_chunk(c->descriptor, event);
    send_all(c->descriptor, "0\r\n\r\n", 5);
    c->streaming = false;
}

static void answer(struct connection *c)
{
    if (strncmp(c->head, "GET", 3) == 0) {
        static const char body[] = "{\"object\":\"list\",\"data\":[{\"id\":\"stub\",\"max_model_len\":4000000}]}";
        char reply[sizeof body + 128];
        int length = snprintf(reply, sizeof reply,
                              "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                              sizeof body - 1, body);
        send_all(c->descriptor, reply, (size_t)length);
        return;
    }
    static const char head[] =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    send_all(c->descriptor, head, sizeof head - 1);
    c->streaming = true;
    c->sent = 0;
    while (plan.interval_ms == 0 && c->streaming)
        send_next(c);
}

static void drop(struct connection *c)
{
    close(c->descriptor);
    memset(c, 0, sizeof *c);
}

static void take(struct connection *c)
{
    static char chunk[1 << 20];
    ssize_t got = recv(c->descriptor, chunk, sizeof chunk, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        drop(c);
        return;
    }
    const char *data = chunk;
    size_t len = (size_t)got;
    while (len > 0) {
        if (c->body_left > 0) {
            size_t part = len < c->body_left ? len : c->body_left;
            c->body_left -= part;
            data += part;
            len -= part;
            if (c->body_left == 0)
                answer(c);
            continue;
        }
        if (c->head_len + 1 >= sizeof c->head) {
            drop(c);
            return;
        }
        c->head[c->head_len++] = *data++;
        len--;
        c->head[c->head_len] = '\0';
        if (c->head_len >= 4 && memcmp(c->head + c->head_len - 4, "\r\n\r\n", 4) == 0) {
            const char *length = strcasestr(c->head, "content-length:");
            if (strcasestr(c->head, "100-continue"))
                send_all(c->descriptor, "HTTP/1.1 100 Continue\r\n\r\n", 25);
            c->body_left = length ? strtoul(length + 15, NULL, 10) : 0;
            c->head_len = 0;
            if (c->body_left == 0)
                answer(c);
        }
    }
}

static void greet(int listener, int poll)
{
    for (;;) {
        int descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (descriptor < 0)
            return;
        int one = 1;
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        struct connection *c = connections;
        while (c < connections + MAX_CONNECTIONS && c->descriptor)
            c++;
        if (c == connections + MAX_CONNECTIONS) {
            close(descriptor);
            continue;
        }
        c->descriptor = descriptor;
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
        epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event);
    }
}

static void serve(int listener)
{
    int poll = epoll_create1(EPOLL_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &listener};
    epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
    if (plan.interval_ms > 0) {
        long ns = plan.interval_ms * 1000000L;
        struct itimerspec every = {.it_interval = {ns / 1000000000L, ns % 1000000000L},
                                   .it_value = {ns / 1000000000L, ns % 1000000000L}};
        timerfd_settime(timer, 0, &every, NULL);
        event.data.ptr = &timer;
        epoll_ctl(poll, EPOLL_CTL_ADD, timer, &event);
    }
    for (;;) {
        struct epoll_event ready[256];
        int count = epoll_wait(poll, ready, 256, -1);
        for (int i = 0; i < count; i++) {
            if (ready[i].data.ptr == &listener) {
                greet(listener, poll);
            } else if (ready[i].data.ptr == &timer) {
                uint64_t ticks;
                if (read(timer, &ticks, sizeof ticks) != sizeof ticks)
                    continue;
                for (struct connection *c = connections; c < connections + MAX_CONNECTIONS; c++)
                    if (c->streaming)
                        send_next(c);
            } else {
                take(ready[i].data.ptr);
            }
        }
    }
}

struct stub_server stub_server_start(const struct stub_plan *wanted)
{
    plan = *wanted;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, 4096) != 0 || getsockname(listener, (struct sockaddr *)&address, &length) != 0)
        die("stub server");
    fflush(NULL);
    pid_t parent = getpid(), child = fork();
    if (child < 0)
        die("fork");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* no server outlives a measurement that crashed */
        if (getppid() != parent)
            _exit(0);
        serve(listener);
    }
    close(listener);
    return (struct stub_server){.process = child, .port = ntohs(address.sin_port)};
}

void stub_server_stop(struct stub_server *server)
{
    kill(server->process, SIGKILL);
    waitpid(server->process, NULL, 0);
}
