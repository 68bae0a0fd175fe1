#include "support/http_stub.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/mem.h"

enum step_kind { STEP_SEND, STEP_PAUSE, STEP_ENDLESS, STEP_CLOSE, STEP_RESET, STEP_HANG };

struct step {
    enum step_kind kind;
    struct buf bytes;
    int ms;
};

struct http_stub_script {
    struct step *steps;
    size_t count, capacity;
};

struct connection {
    struct connection *next;
    int socket, number;
    bool gone, hanging;
    struct buf in;
    struct http_stub_script script; /* being played */
    size_t step, sent;
    int64_t wait_until; /* of a pause; 0: none */
    unsigned watched;
};

struct http_stub {
    pthread_t thread;
    int listener, epoll, wake[2], port;
    http_stub_fn handler;
    void *user;
    struct connection *connections;
    atomic_int n_connections, n_requests;
};

static void check(bool ok, const char *what)
{
    if (!ok) {
        perror(what);
        abort();
    }
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- scripts ---- */

static struct step *add_step(struct http_stub_script *script, enum step_kind kind)
{
    script->steps = mem_grow(script->steps, script->count, &script->capacity, sizeof *script->steps);
    struct step *step = &script->steps[script->count++];
    *step = (struct step){.kind = kind};
    buf_init(&step->bytes, BUF_UNBOUNDED);
    return step;
}

void http_stub_send(struct http_stub_script *script, struct str bytes)
{
    buf_add(&add_step(script, STEP_SEND)->bytes, bytes);
}

void http_stub_sendf(struct http_stub_script *script, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    buf_addv(&add_step(script, STEP_SEND)->bytes, format, arguments);
    va_end(arguments);
}

void http_stub_pause(struct http_stub_script *script, int ms)
{
    add_step(script, STEP_PAUSE)->ms = ms;
}

void http_stub_endless(struct http_stub_script *script, struct str bytes)
{
    buf_add(&add_step(script, STEP_ENDLESS)->bytes, bytes);
}

void http_stub_close(struct http_stub_script *script)
{
    add_step(script, STEP_CLOSE);
}

void http_stub_reset(struct http_stub_script *script)
{
    add_step(script, STEP_RESET);
}

void http_stub_hang(struct http_stub_script *script)
{
    add_step(script, STEP_HANG);
}

void http_stub_reply(struct http_stub_script *script, int code, const char *headers, struct str body)
{
    http_stub_sendf(script, "HTTP/1.1 %d Stub\r\nContent-Length: %zu\r\n%s\r\n", code, body.len,
                    headers ? headers : "");
    http_stub_send(script, body);
}

static void script_reset(struct http_stub_script *script)
{
    for (size_t i = 0; i < script->count; i++)
        buf_finish(&script->steps[i].bytes);
    free(script->steps);
    *script = (struct http_stub_script){0};
}

/* ---- connections ---- */

static void watch(struct http_stub *stub, struct connection *connection, unsigned events)
{
    if (events == connection->watched)
        return;
    struct epoll_event event = {.events = events, .data.ptr = connection};
    epoll_ctl(stub->epoll, connection->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, connection->socket, &event);
    connection->watched = events;
}

static void drop(struct connection *connection, bool reset)
{
    if (connection->gone)
        return;
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    if (reset)
        setsockopt(connection->socket, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close(connection->socket);
    connection->gone = true;
}

/* Sends what is left of a step's bytes. False when the socket is full or gone. */
static bool send_step(struct http_stub *stub, struct connection *connection, struct buf *bytes)
{
    while (connection->sent < bytes->len) {
        ssize_t n = send(connection->socket, bytes->data + connection->sent, bytes->len - connection->sent,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            watch(stub, connection, EPOLLIN | EPOLLOUT);
            return false;
        }
        if (n < 0) {
            drop(connection, false);
            return false;
        }
        connection->sent += (size_t)n;
    }
    connection->sent = 0;
    return true;
}

/* Plays the script as far as it goes now. True when it is through and the connection goes on. */
static bool play(struct http_stub *stub, struct connection *connection)
{
    while (connection->step < connection->script.count) {
        struct step *step = &connection->script.steps[connection->step];
        switch (step->kind) {
        case STEP_SEND:
            if (!send_step(stub, connection, &step->bytes))
                return false;
            break;
        case STEP_ENDLESS:
            while (send_step(stub, connection, &step->bytes))
                ;
            return false;
        case STEP_PAUSE:
            if (connection->wait_until == 0)
                connection->wait_until = now_ms() + step->ms;
            if (now_ms() < connection->wait_until)
                return false;
            connection->wait_until = 0;
            break;
        case STEP_CLOSE:
        case STEP_RESET:
            drop(connection, step->kind == STEP_RESET);
            return false;
        case STEP_HANG:
            connection->hanging = true;
            return false;
        }
        connection->step++;
    }
    script_reset(&connection->script);
    connection->step = 0;
    watch(stub, connection, EPOLLIN);
    return true;
}

void http_stub_copy(char *out, size_t size, struct str text)
{
    size_t length = text.len < size - 1 ? text.len : size - 1;
    memcpy(out, text.data ? text.data : "", length);
    out[length] = '\0';
}

struct str http_stub_header(const struct http_stub_request *request, const char *name)
{
    struct str rest = request->head, line;
    str_split_next(&rest, '\n', &line);
    while (str_split_next(&rest, '\n', &line)) {
        size_t colon = str_find_char(line, ':', 0);
        if (colon != STR_NONE && str_equal_ascii_nocase(str_slice(line, 0, colon), str_of(name)))
            return str_trim(str_slice(line, colon + 1, line.len));
    }
    return (struct str){0};
}

/* Hands the next whole request to the handler. False when there is none yet. */
static bool take_request(struct http_stub *stub, struct connection *connection)
{
    struct str in = buf_str(&connection->in);
    size_t end = str_find(in, STR("\r\n\r\n"), 0);
    if (end == STR_NONE)
        return false;
    struct http_stub_request request = {.head = str_slice(in, 0, end + 4), .connection = connection->number};
    int64_t length = 0;
    if (!str_to_int64(http_stub_header(&request, "Content-Length"), &length))
        length = 0;
    if (in.len < end + 4 + (size_t)length)
        return false;
    request.body = str_slice(in, end + 4, end + 4 + (size_t)length);
    struct str line = request.head;
    str_split_next(&line, ' ', &request.method);
    str_split_next(&line, ' ', &request.target);
    request.number = atomic_fetch_add(&stub->n_requests, 1) + 1;
    stub->handler(stub->user, &request, &connection->script);
    buf_consume(&connection->in, end + 4 + (size_t)length);
    return true;
}

static void go_on(struct http_stub *stub, struct connection *connection)
{
    while (!connection->gone && !connection->hanging && play(stub, connection))
        if (!take_request(stub, connection))
            return;
}

static void readable(struct http_stub *stub, struct connection *connection)
{
    char bytes[65536];
    ssize_t n = recv(connection->socket, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        drop(connection, false);
        return;
    }
    if (n > 0)
        buf_add(&connection->in, str_make(bytes, (size_t)n));
    go_on(stub, connection);
}

static void accept_all(struct http_stub *stub)
{
    int accepted;
    while ((accepted = accept4(stub->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        int on = 1;
        setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        struct connection *connection = mem_zalloc(sizeof *connection);
        connection->socket = accepted;
        connection->number = atomic_fetch_add(&stub->n_connections, 1) + 1;
        buf_init(&connection->in, BUF_UNBOUNDED);
        connection->next = stub->connections;
        stub->connections = connection;
        watch(stub, connection, EPOLLIN);
    }
}

static void sweep_gone(struct http_stub *stub, bool all)
{
    struct connection **link = &stub->connections;
    while (*link) {
        struct connection *connection = *link;
        if (all)
            drop(connection, false);
        if (!connection->gone) {
            link = &connection->next;
            continue;
        }
        *link = connection->next;
        script_reset(&connection->script);
        buf_finish(&connection->in);
        free(connection);
    }
}

/* Goes on with the pauses that are over. Returns the milliseconds until the next one, or -1. */
static int serve_pauses(struct http_stub *stub)
{
    int64_t next = -1, now = now_ms();
    for (struct connection *each = stub->connections; each; each = each->next) {
        if (!each->gone && each->wait_until > 0 && each->wait_until <= now)
            go_on(stub, each);
        if (!each->gone && each->wait_until > 0 && (next < 0 || each->wait_until - now < next))
            next = each->wait_until > now ? each->wait_until - now : 0;
    }
    return (int)next;
}

static void *serve(void *user)
{
    struct http_stub *stub = user;
    for (;;) {
        struct epoll_event events[256];
        int count = epoll_wait(stub->epoll, events, 256, serve_pauses(stub));
        for (int i = 0; i < count; i++) {
            if (events[i].data.ptr == stub->wake)
                return NULL;
            if (events[i].data.ptr == stub)
                accept_all(stub);
            else if (!((struct connection *)events[i].data.ptr)->gone)
                readable(stub, events[i].data.ptr);
        }
        sweep_gone(stub, false);
    }
}

/* ---- life ---- */

static void listen_on(struct http_stub *stub, const char *address)
{
    struct sockaddr_storage where = {0};
    struct sockaddr_in *in4 = (struct sockaddr_in *)&where;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&where;
    bool is6 = strchr(address, ':');
    where.ss_family = is6 ? AF_INET6 : AF_INET;
    check(inet_pton(where.ss_family, address, is6 ? (void *)&in6->sin6_addr : (void *)&in4->sin_addr) == 1, address);
    socklen_t size = is6 ? sizeof *in6 : sizeof *in4;
    stub->listener = socket(where.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    check(stub->listener >= 0, "socket");
    check(bind(stub->listener, (struct sockaddr *)&where, size) == 0, "bind");
    check(listen(stub->listener, 4096) == 0, "listen");
    check(getsockname(stub->listener, (struct sockaddr *)&where, &size) == 0, "getsockname");
    stub->port = ntohs(is6 ? in6->sin6_port : in4->sin_port);
}

struct http_stub *http_stub_start(const char *address, http_stub_fn handler, void *user)
{
    struct http_stub *stub = mem_zalloc(sizeof *stub);
    stub->handler = handler;
    stub->user = user;
    listen_on(stub, address ? address : "127.0.0.1");
    stub->epoll = epoll_create1(EPOLL_CLOEXEC);
    check(stub->epoll >= 0 && pipe(stub->wake) == 0, "pipe");
    struct epoll_event listening = {.events = EPOLLIN, .data.ptr = stub};
    struct epoll_event waking = {.events = EPOLLIN, .data.ptr = stub->wake};
    check(epoll_ctl(stub->epoll, EPOLL_CTL_ADD, stub->listener, &listening) == 0, "epoll_ctl");
    check(epoll_ctl(stub->epoll, EPOLL_CTL_ADD, stub->wake[0], &waking) == 0, "epoll_ctl");
    check(pthread_create(&stub->thread, NULL, serve, stub) == 0, "pthread_create");
    return stub;
}

void http_stub_stop(struct http_stub *stub)
{
    if (!stub)
        return;
    check(write(stub->wake[1], "x", 1) == 1, "write");
    pthread_join(stub->thread, NULL);
    sweep_gone(stub, true);
    close(stub->listener);
    close(stub->epoll);
    close(stub->wake[0]);
    close(stub->wake[1]);
    free(stub);
}

int http_stub_port(const struct http_stub *stub)
{
    return stub->port;
}

int http_stub_connections(struct http_stub *stub)
{
    return atomic_load(&stub->n_connections);
}

int http_stub_requests(struct http_stub *stub)
{
    return atomic_load(&stub->n_requests);
}
