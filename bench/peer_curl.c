#include "bench/peer_curl.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

static size_t swallow(char *data, size_t size, size_t count, void *user)
{
    (void)data;
    *(size_t *)user += size * count;
    return size * count;
}

static CURL *make_post(const char *url, const char *body, size_t len, size_t *received)
{
    CURL *easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, swallow);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, received);
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    return easy;
}

void peer_curl_post(const char *url, const char *body, size_t len, int times)
{
    size_t received = 0;
    CURL *easy = make_post(url, body, len, &received);
    for (int i = 0; i < times; i++)
        if (curl_easy_perform(easy) != CURLE_OK)
            exit(1);
    curl_easy_cleanup(easy);
}

static int watch_socket(CURL *easy, curl_socket_t socket, int what, void *user, void *socket_user)
{
    (void)easy;
    (void)socket_user;
    int poll = *(int *)user;
    struct epoll_event event = {.data.fd = socket};
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(poll, EPOLL_CTL_DEL, socket, NULL); /* fails when curl has closed the socket before */
        return 0;
    }
    event.events = (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
    if (epoll_ctl(poll, EPOLL_CTL_MOD, socket, &event) != 0)
        epoll_ctl(poll, EPOLL_CTL_ADD, socket, &event);
    return 0;
}

static int note_timeout(CURLM *multi, long timeout_ms, void *user)
{
    (void)multi;
    *(long *)user = timeout_ms;
    return 0;
}

static int reap(CURLM *multi)
{
    int done = 0, left;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left)))
        done += message->msg == CURLMSG_DONE && message->data.result == CURLE_OK;
    return done;
}

static int run_woken(CURLM *multi, int streams)
{
    int poll = epoll_create1(EPOLL_CLOEXEC), running = 0, done = 0;
    long timeout = 0;
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, &poll);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, note_timeout);
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, &timeout);
    curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
    while (done < streams) {
        struct epoll_event ready[256];
        int count = epoll_wait(poll, ready, 256, timeout < 0 || timeout > 1000 ? 1000 : (int)timeout);
        if (count == 0)
            curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
        for (int i = 0; i < count; i++)
            curl_multi_socket_action(multi, ready[i].data.fd,
                                     (ready[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                                         (ready[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0),
                                     &running);
        done += reap(multi);
        if (running == 0)
            break;
    }
    close(poll);
    return done;
}

static int run_swept(CURLM *multi, int streams, int sweep_ms)
{
    int running = 1, done = 0;
    while (running > 0 && done < streams) {
        curl_multi_perform(multi, &running);
        done += reap(multi);
        usleep((useconds_t)sweep_ms * 1000);
    }
    return done;
}

int peer_curl_streams(const char *url, int streams, int sweep_ms)
{
    static const char body[] = "{\"stream\":true}";
    CURLM *multi = curl_multi_init();
    CURL **easies = calloc((size_t)streams, sizeof *easies);
    size_t received = 0;
    for (int i = 0; i < streams; i++) {
        easies[i] = make_post(url, body, sizeof body - 1, &received);
        curl_multi_add_handle(multi, easies[i]);
    }
    int done = sweep_ms ? run_swept(multi, streams, sweep_ms) : run_woken(multi, streams);
    for (int i = 0; i < streams; i++) {
        curl_multi_remove_handle(multi, easies[i]);
        curl_easy_cleanup(easies[i]);
    }
    curl_multi_cleanup(multi);
    free(easies);
    return done;
}
