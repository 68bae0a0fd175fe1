#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/mem.h"
#include "net/http_internal.h"

/* Sockets live in two sets. Those that wait to write (connecting, sending) are served at once. Those that only read are
 * served at once, too, while few of them have something; when many do, each wake-up costs more than the token it
 * brings, so after such a sweep the calm set rests for a moment and the next sweep finds several sockets, and several
 * tokens in each. */
enum { SET_BUSY, SET_CALM };

#define SWEEP_SIZE    256
#define SWEEP_LIMIT   4096
#define CALM_FROM     8  /* ready sockets in one sweep from which on the set rests */
#define CALM_PER_MS   4  /* a millisecond of rest for so many */
#define CALM_LIMIT_MS 50 /* nobody watches hundreds of streams so closely */

/* Idle connections kept; requests under way are not limited by it. */
static const long kept_connections[N_TRAFFIC] = {[HTTP_GUARDED] = 64, [HTTP_CONFIGURED] = 1024};

static void fatal(const char *what)
{
    fprintf(stderr, "fathom: %s\n", what);
    abort();
}

/* ---- settling ---- */

static void settle_queue(void *user)
{
    struct http_client *client = user;
    client->settle_deferred = false;
    struct http_request *request = client->queue;
    client->queue = NULL;
    client->queue_last = &client->queue;
    for (struct http_request *next; request; request = next) {
        next = request->next_queued;
        request->queued = false;
        http_request_settle(request);
    }
}

void http_client_queue(struct http_request *request)
{
    struct http_client *client = request->client;
    if (request->queued)
        return;
    request->queued = true;
    request->next_queued = NULL;
    *client->queue_last = request;
    client->queue_last = &request->next_queued;
    if (!client->settle_deferred && !client->destroying) {
        client->settle_deferred = true;
        loop_defer(client->loop, settle_queue, client);
    }
}

/* To be called after every call into curl that may have moved requests on. */
static void collect(struct http_lane *lane)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(lane->multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE)
            continue;
        struct http_request *request = NULL;
        CURLcode result = message->data.result; /* the message goes with the handle */
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&request);
        request->result = result;
        http_client_queue(request);
    }
}

void http_client_add(struct http_request *request)
{
    CURLMcode code = curl_multi_add_handle(request->lane->multi, request->easy);
    if (code != CURLM_OK)
        fatal(curl_multi_strerror(code));
    request->in_multi = true;
}

void http_client_remove(struct http_request *request)
{
    if (request->in_multi)
        curl_multi_remove_handle(request->lane->multi, request->easy);
    request->in_multi = false;
}

/* ---- curl's timers ---- */

static void time_out(void *user)
{
    struct http_lane *lane = user;
    int running;
    curl_multi_socket_action(lane->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    collect(lane);
}

static void kick(void *user)
{
    struct http_lane *lane = user;
    lane->kick_deferred = false;
    time_out(lane);
}

static int timer_wanted(CURLM *multi, long timeout_ms, void *user)
{
    (void)multi;
    struct http_lane *lane = user;
    if (timeout_ms != 0 && lane->kick_deferred) {
        loop_defer_cancel(lane->client->loop, kick, lane);
        lane->kick_deferred = false;
    }
    if (timeout_ms <= 0)
        loop_timer_stop(lane->timer);
    if (timeout_ms > 0) {
        loop_timer_start(lane->timer, timeout_ms);
    } else if (timeout_ms == 0 && !lane->kick_deferred) {
        lane->kick_deferred = true;
        loop_defer(lane->client->loop, kick, lane);
    }
    return 0;
}

/* ---- sockets ---- */

static struct epoll_event describe(const struct http_lane *lane, curl_socket_t socket, int what)
{
    struct epoll_event event = {0};
    event.events = (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
    event.data.u64 = (uint64_t)(lane - lane->client->lanes) << 32 | (uint32_t)socket;
    return event;
}

/* Puts a socket into a set, or changes what it waits for there. A number that was closed and given out again behind our
 * back is not where it was left. */
static void put(struct http_set *set, curl_socket_t socket, struct epoll_event event, bool is_in)
{
    if (epoll_ctl(set->epoll, is_in ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event) == 0)
        return;
    if (errno == EEXIST || errno == ENOENT)
        epoll_ctl(set->epoll, is_in ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event);
}

/* `socket_data` remembers the set that the socket is in, as a pointer to it. */
static int socket_wanted(CURL *easy, curl_socket_t socket, int what, void *user, void *socket_data)
{
    (void)easy;
    struct http_lane *lane = user;
    struct http_set *old = socket_data, *new = NULL;
    if (what != CURL_POLL_REMOVE)
        new = &lane->client->sets[what & CURL_POLL_OUT ? SET_BUSY : SET_CALM];
    if (old && old != new)
        epoll_ctl(old->epoll, EPOLL_CTL_DEL, socket, NULL); /* fails when the socket was closed: it is gone by itself */
    if (new)
        put(new, socket, describe(lane, socket, what), old == new);
    if (new &&old != new)
        curl_multi_assign(lane->multi, socket, new);
    return 0;
}

/* Serves some ready sockets of a set. Returns how many there were. */
static int serve_some(struct http_set *set)
{
    struct http_client *client = set->client;
    struct epoll_event events[SWEEP_SIZE];
    int count = epoll_wait(set->epoll, events, SWEEP_SIZE, 0);
    for (int i = 0; i < count; i++) {
        /* A socket served earlier in this sweep may have closed this one, and its number may already name a new one.
         * Curl ignores unknown numbers, and finds a new socket not ready. */
        struct http_lane *lane = &client->lanes[events[i].data.u64 >> 32];
        curl_socket_t socket = (curl_socket_t)(events[i].data.u64 & 0xffffffffu);
        int what = (events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                   (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                   (events[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
        int running;
        curl_multi_socket_action(lane->multi, socket, what, &running);
    }
    return count;
}

/* Serves the ready sockets of a set. Returns how many there were. */
static int sweep(struct http_set *set)
{
    int total = 0, count;
    do {
        count = serve_some(set);
        total += count;
    } while (count == SWEEP_SIZE && total < SWEEP_LIMIT);
    for (int i = 0; i < N_TRAFFIC && total > 0; i++)
        collect(&set->client->lanes[i]);
    return total;
}

static void sweep_busy(void *user, int events)
{
    (void)events;
    sweep(user);
}

static void calm_over(void *user)
{
    struct http_set *set = user;
    int count = sweep(set);
    int rest = count / CALM_PER_MS;
    if (count < CALM_FROM)
        loop_watch_set(set->watch, LOOP_READABLE);
    else
        loop_timer_start(set->client->calm_timer, rest < CALM_LIMIT_MS ? rest : CALM_LIMIT_MS);
}

static void sweep_calm(void *user, int events)
{
    (void)events;
    struct http_set *set = user;
    if (sweep(set) >= CALM_FROM) {
        loop_watch_set(set->watch, 0);
        loop_timer_start(set->client->calm_timer, 1);
    }
}

/* ---- life ---- */

static void initialize_curl(void)
{
    if (curl_global_init(CURL_GLOBAL_ALL) != CURLE_OK)
        fatal("libcurl cannot be initialized");
}

static void lane_init(struct http_client *client, enum http_traffic traffic)
{
    struct http_lane *lane = &client->lanes[traffic];
    lane->client = client;
    lane->timer = loop_timer_create(client->loop, time_out, lane);
    lane->multi = curl_multi_init();
    if (!lane->multi)
        fatal("libcurl cannot be initialized");
    curl_multi_setopt(lane->multi, CURLMOPT_SOCKETFUNCTION, socket_wanted);
    curl_multi_setopt(lane->multi, CURLMOPT_SOCKETDATA, lane);
    curl_multi_setopt(lane->multi, CURLMOPT_TIMERFUNCTION, timer_wanted);
    curl_multi_setopt(lane->multi, CURLMOPT_TIMERDATA, lane);
    /* With curl 7.88, canceling one of several streams on an HTTP/2 connection can stall the others. */
    curl_multi_setopt(lane->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
    curl_multi_setopt(lane->multi, CURLMOPT_MAXCONNECTS, kept_connections[traffic]);
}

struct http_client *http_client_create(struct loop *loop, const struct http_client_options *options)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, initialize_curl);

    static const struct http_client_options defaults = {0};
    if (!options)
        options = &defaults;
    struct http_client *client = mem_zalloc(sizeof *client);
    client->loop = loop;
    client->guard = options->guard;
    client->proxy = mem_strdup_or_null(options->proxy && *options->proxy ? options->proxy : NULL);
    client->user_agent = mem_strdup(options->user_agent ? options->user_agent : "fathom/" FATHOM_VERSION);
    client->ca_file = mem_strdup_or_null(options->ca_file);
    client->queue_last = &client->queue;
    lane_init(client, HTTP_GUARDED);
    lane_init(client, HTTP_CONFIGURED);
    for (int i = 0; i < N_SETS; i++) {
        struct http_set *set = &client->sets[i];
        set->client = client;
        set->epoll = epoll_create1(EPOLL_CLOEXEC);
        if (set->epoll < 0)
            fatal("no descriptor is left for watching sockets");
        set->watch = loop_watch_create(loop, set->epoll, i == SET_BUSY ? sweep_busy : sweep_calm, set);
        loop_watch_set(set->watch, LOOP_READABLE);
    }
    client->calm_timer = loop_timer_create(loop, calm_over, &client->sets[SET_CALM]);
    return client;
}

void http_client_destroy(struct http_client *client)
{
    if (!client)
        return;
    client->destroying = true;
    loop_defer_cancel(client->loop, settle_queue, client);
    while (client->requests) { /* a done callback may start another one, which ends here as well */
        http_request_cancel(client->requests);
        settle_queue(client);
    }
    for (int i = 0; i < N_TRAFFIC; i++) {
        curl_multi_cleanup(client->lanes[i].multi);
        loop_defer_cancel(client->loop, kick, &client->lanes[i]);
        loop_timer_destroy(client->lanes[i].timer);
    }
    for (int i = 0; i < N_SETS; i++) {
        loop_watch_destroy(client->sets[i].watch);
        close(client->sets[i].epoll);
    }
    loop_timer_destroy(client->calm_timer);
    free(client->proxy);
    free(client->user_agent);
    free(client->ca_file);
    free(client);
}

size_t http_client_in_flight(const struct http_client *client)
{
    return client->n_requests;
}
