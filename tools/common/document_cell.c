#include "tools/common/document_cell.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mem.h"
#include "tools/common/document_internal.h"

#define TEMP_BYTES  ((int64_t)1024 * 1024 * 1024)
#define PROCESSES   192
#define DESCRIPTORS 256

/* AddressSanitizer maps terabytes, of which it uses little; then what is in use is all that is bounded. */
#if defined(__SANITIZE_ADDRESS__)
#define DATA_LIMIT(bytes) ((void)(bytes), CONFINE_UNLIMITED)
#else
#define DATA_LIMIT(bytes) (bytes)
#endif

struct confined *cell_start(const struct documents *documents, struct loop *loop, const struct child_options *options,
                            confined_done_fn done, void *user)
{
    const struct confine_bind binds[] = {
        {.source = "/opt", .optional = true},
        {.source = "/etc/poppler", .optional = true},
        {.source = "/var/cache/fontconfig", .optional = true},
        {.source = "/var/lib/libreoffice", .optional = true},
        {.source = documents->worker, .target = CELL_WORKER_INSIDE}, /* the last: there may be none */
    };
    const struct confinement confinement = {
        .limits = {.cpu_seconds = 2 * (options->timeout_ms / 1000 + 1),
                   .memory = DATA_LIMIT(documents->memory_bytes),
                   .tree_memory = documents->memory_bytes + documents->memory_bytes / 2,
                   .processes = PROCESSES,
                   .tmp_size = TEMP_BYTES,
                   .open_files = DESCRIPTORS},
        .binds = binds,
        .n_binds = sizeof binds / sizeof binds[0] - (documents->worker == NULL),
    };
    return confine_start(loop, &confinement, options, done, user);
}

char *cell_make_folder(void)
{
    const char *base = getenv("TMPDIR");
    char *path = mem_printf("%s/fathom-XXXXXX", base && *base == '/' ? base : "/tmp");
    if (mkdtemp(path))
        return path;
    free(path);
    return NULL;
}

void cell_environment_init(struct cell_environment *environment, const char *folder)
{
    const char *path = getenv("PATH"), *data = getenv("TESSDATA_PREFIX");
    size_t count = 0;
    environment->texts[count++] = mem_printf("PATH=%s", path && *path ? path : "/usr/local/bin:/usr/bin:/bin");
    environment->texts[count++] = mem_strdup("LANG=C.UTF-8");
    environment->texts[count++] = mem_printf("HOME=%s", folder);
    environment->texts[count++] = mem_printf("TMPDIR=%s", folder);
    environment->texts[count++] = mem_strdup("OMP_THREAD_LIMIT=1");
    if (data)
        environment->texts[count++] = mem_printf("TESSDATA_PREFIX=%s", data);
    for (size_t i = 0; i < count; i++)
        environment->list[i] = environment->texts[i];
    environment->list[count] = NULL;
}

void cell_environment_finish(struct cell_environment *environment)
{
    for (size_t i = 0; environment->list[i]; i++)
        free(environment->texts[i]);
}

static int remove_one(const char *path, const struct stat *what, int kind, struct FTW *place)
{
    (void)what;
    (void)kind;
    (void)place;
    remove(path); /* what cannot go stays */
    return 0;
}

void cell_remove_folder(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
