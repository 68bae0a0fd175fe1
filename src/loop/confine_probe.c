/* Whether programs can be confined here, and how: found out by confining one. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/mem.h"
#include "loop/confine_internal.h"

#define PROBE_TIMEOUT_MS 10000

struct probe {
    struct loop *loop;
    bool worked;
    char *complaint; /* the first line of what was said */
};

static void probe_ended(void *user, enum confine_end end, struct child_result *result)
{
    struct probe *probe = user;
    probe->worked = end == CONFINE_END_NONE && result->status == STATUS_OK && result->exit_code == 0;
    struct str complaint = str_trim(buf_str(&result->errors));
    if (complaint.len == 0)
        complaint = str_of(result->error.message);
    free(probe->complaint);
    probe->complaint = str_dup(str_slice(complaint, 0, str_find_char(complaint, '\n', 0)));
    loop_stop(probe->loop);
}

static void probe_way(struct probe *probe, const struct confine_way *way)
{
    static const char *const nothing[] = {"true", NULL};
    const struct confinement confinement = {.network = false};
    const struct child_options options = {.argv = nothing, .timeout_ms = PROBE_TIMEOUT_MS};
    probe->loop = loop_create();
    const struct confine_callback callback = {.done = probe_ended, .user = probe};
    confine_start_by(way, probe->loop, &confinement, &options, callback);
    loop_run(probe->loop);
    loop_destroy(probe->loop);
}

static char *find_bubblewrap(void)
{
    const char *path = getenv("PATH");
    struct str rest = str_of(path ? path : "/usr/local/bin:/usr/bin:/bin"), folder;
    while (str_split_next(&rest, ':', &folder)) {
        if (folder.len == 0 || folder.data[0] != '/')
            continue;
        char *file = mem_printf("%.*s/bwrap", STR_ARG(folder));
        if (access(file, X_OK) == 0)
            return file;
        free(file);
    }
    return NULL;
}

static bool complains_of(const struct probe *probe, const char *what)
{
    return str_find_nocase(str_of(probe->complaint), str_of(what), 0) != STR_NONE;
}

static const char *remedy(const struct probe *probe)
{
    if (complains_of(probe, "prlimit"))
        return "install util-linux, whose prlimit is missing";
    if (complains_of(probe, "proc"))
        return "in a container, start it with --security-opt systempaths=unconfined, or with --privileged";
    if (complains_of(probe, "namespace") || complains_of(probe, "uid map") || complains_of(probe, "not permitted") ||
        complains_of(probe, "Permission denied") || complains_of(probe, "loopback"))
        return "let users make namespaces: sysctl -w kernel.unprivileged_userns_clone=1 on older Debian, sysctl -w "
               "kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu; in a container, start it with "
               "--security-opt seccomp=unconfined --security-opt apparmor=unconfined";
    return "try what it says by hand: bwrap --unshare-user --unshare-pid --ro-bind / / --proc /proc true";
}

static void find_way(struct confine_way *way)
{
    way->bubblewrap = find_bubblewrap();
    if (!way->bubblewrap) {
        error_set(&way->why, STATUS_UNSUPPORTED, "bubblewrap is not installed; install the package bubblewrap");
        return;
    }
    if (!confine_can_watch()) {
        error_set(&way->why, STATUS_UNSUPPORTED,
                  "the kernel does not list the children of a process (CONFIG_PROC_CHILDREN)");
        return;
    }
    struct probe probe = {.complaint = mem_strdup("")};
    way->works = true; /* as the probe supposes */
    way->change_user = geteuid() == 0;
    probe_way(&probe, way);
    if (!probe.worked && way->change_user) { /* as root itself, which is allowed more */
        way->change_user = false;
        probe_way(&probe, way);
    }
    way->works = probe.worked;
    if (!probe.worked)
        error_set(&way->why, STATUS_UNSUPPORTED, "bubblewrap does not work here (%s); %s", probe.complaint,
                  remedy(&probe));
    free(probe.complaint);
}

const struct confine_way *confine_known_way(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct confine_way way;
    static bool is_known;
    pthread_mutex_lock(&lock);
    if (!is_known)
        find_way(&way);
    is_known = true;
    pthread_mutex_unlock(&lock);
    return &way;
}

bool confine_available(struct error *reason)
{
    const struct confine_way *way = confine_known_way();
    if (!way->works && reason)
        *reason = way->why;
    return way->works;
}
