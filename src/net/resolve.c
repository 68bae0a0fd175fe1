#include "net/resolve.h"

#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/str.h"
#include "loop/loop.h"

/* Shared by the loop's thread and the look-up's. Whoever comes last frees it: the loop's thread when the answer was
 * posted, the look-up's when it was canceled before. */
struct resolve {
    pthread_mutex_t lock;
    struct loop *loop; /* NULL once canceled; under the lock */
    char *host;
    struct addrinfo *addresses;
    resolve_fn done; /* NULL once canceled; the loop's thread's */
    void *user;
};

static void resolve_free(struct resolve *resolve)
{
    pthread_mutex_destroy(&resolve->lock);
    if (resolve->addresses)
        freeaddrinfo(resolve->addresses);
    free(resolve->host);
    free(resolve);
}

static void deliver(void *user)
{
    struct resolve *resolve = user;
    pthread_mutex_lock(&resolve->lock); /* the other thread may still hold it */
    pthread_mutex_unlock(&resolve->lock);
    if (resolve->done)
        resolve->done(resolve->user, resolve->addresses);
    resolve_free(resolve);
}

static void *look_up(void *user)
{
    struct resolve *resolve = user;
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *addresses = NULL;
    if (getaddrinfo(resolve->host, NULL, &hints, &addresses) != 0)
        addresses = NULL;
    pthread_mutex_lock(&resolve->lock);
    resolve->addresses = addresses;
    bool wanted = resolve->loop;
    if (wanted)
        loop_post(resolve->loop, deliver, resolve);
    pthread_mutex_unlock(&resolve->lock);
    if (!wanted)
        resolve_free(resolve);
    return NULL;
}

struct resolve *resolve_start(struct loop *loop, const char *host, resolve_fn done, void *user)
{
    struct resolve *resolve = mem_zalloc(sizeof *resolve);
    pthread_mutex_init(&resolve->lock, NULL);
    resolve->loop = loop;
    resolve->done = done;
    resolve->user = user;
    struct str name = str_of(host);
    if (name.len > 2 && name.data[0] == '[')
        name = str_slice(name, 1, name.len - 1);
    resolve->host = str_dup(name);

    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    int result = pthread_create(&thread, &attributes, look_up, resolve);
    pthread_attr_destroy(&attributes);
    if (result != 0) {
        resolve_free(resolve);
        return NULL;
    }
    return resolve;
}

void resolve_cancel(struct resolve *resolve)
{
    if (!resolve)
        return;
    pthread_mutex_lock(&resolve->lock);
    resolve->loop = NULL;
    resolve->done = NULL;
    pthread_mutex_unlock(&resolve->lock);
}
