#include "api/token_setup.h"

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/token_meter.h"
#include "core/mem.h"
#include "protocol/template.h"
#include "store/tokenizer_store.h"
#include "text/tokenizer/tokenizer.h"

/* A tokenizer in use, by what it was compiled from. */
struct shared_tokenizer {
    struct shared_tokenizer *next;
    size_t users;
    struct tokenizer_store *store;
    struct token_counter *counter;
};

static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static struct shared_tokenizer *shared_list;

/* ---- places ---- */

/* $XDG_CACHE_HOME/fathom/tokenizers or what stands for it; NULL for nowhere. */
static char *cache_folder(void)
{
    const char *folder = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (folder != NULL && folder[0] == '/')
        return mem_printf("%s/fathom/tokenizers", folder);
    return home != NULL && home[0] == '/' ? mem_printf("%s/.cache/fathom/tokenizers", home) : NULL;
}

/* The path that option `id` gives, as one of this process: "~/" is the home, and a file's values count from its folder.
 */
static char *resolve(const struct config *config, enum option_id id)
{
    const char *home = getenv("HOME"), *file = config_file(config), *path = config_text(config, id);
    if (strcmp(path, "~") == 0 && home != NULL)
        return mem_strdup(home);
    if (strncmp(path, "~/", 2) == 0 && home != NULL)
        return mem_printf("%s/%s", home, path + 2);
    if (path[0] == '/' || file == NULL || config_source(config, id) != CONFIG_FILE)
        return mem_strdup(path);
    const char *slash = strrchr(file, '/');
    return slash == NULL ? mem_strdup(path) : mem_printf("%.*s/%s", (int)(slash - file), file, path);
}

/* ---- sharing ---- */

/* Takes `store` over. */
static struct shared_tokenizer *acquire(struct tokenizer_store *store)
{
    const char *hash = tokenizer_hash(tokenizer_store_tokenizer(store));
    pthread_mutex_lock(&shared_lock);
    struct shared_tokenizer *shared = shared_list;
    while (shared != NULL && strcmp(tokenizer_hash(tokenizer_store_tokenizer(shared->store)), hash) != 0)
        shared = shared->next;
    if (shared != NULL) {
        tokenizer_store_close(store);
    } else {
        shared = mem_zalloc(sizeof *shared);
        shared->store = store;
        shared->counter = token_counter_create(tokenizer_store_tokenizer(store));
        shared->next = shared_list;
        shared_list = shared;
    }
    shared->users++;
    pthread_mutex_unlock(&shared_lock);
    return shared;
}

static void release(struct shared_tokenizer *shared)
{
    pthread_mutex_lock(&shared_lock);
    if (--shared->users == 0) {
        struct shared_tokenizer **link = &shared_list;
        while (*link != shared)
            link = &(*link)->next;
        *link = shared->next;
        token_counter_destroy(shared->counter);
        tokenizer_store_close(shared->store);
        free(shared);
    }
    pthread_mutex_unlock(&shared_lock);
}

/* ---- the template ---- */

static void choose_template(const struct config *config, struct token_setup *setup)
{
    const char *named = config_text(config, OPTION_CHAT_TEMPLATE), *ours = config_text(config, OPTION_TEMPLATE);
    bool completions = strcmp(config_text(config, OPTION_PROTOCOL), "completions") == 0;
    struct str jinja = {0};
    if (setup->tokenizer != NULL)
        jinja = tokenizer_chat_template(setup->tokenizer);
    if (completions && config_is_set(config, OPTION_TEMPLATE)) {
        setup->chat_template = template_find(str_of(ours));
        setup->template_choice = TEMPLATE_NAMED;
    } else if (strcmp(named, "auto") != 0) {
        setup->chat_template = template_find(str_of(named));
        setup->template_choice = TEMPLATE_NAMED;
    } else if (jinja.len > 0) {
        setup->chat_template = template_detect(jinja);
        setup->template_choice = setup->chat_template != NULL ? TEMPLATE_DETECTED : TEMPLATE_UNKNOWN;
        setup->unknown_template = setup->chat_template == NULL;
    }
    if (setup->chat_template == NULL && completions) {
        setup->chat_template = template_find(str_of(ours));
        setup->template_choice = TEMPLATE_FALLBACK;
    }
}

/* ---- errors ---- */

#define SHOWN_ENTRIES 6

struct listing {
    char *names[64];
    size_t count;
};

static void list_folder(const char *folder, struct listing *out)
{
    DIR *stream = opendir(folder);
    struct dirent *entry;
    out->count = 0;
    while (stream != NULL && out->count < sizeof out->names / sizeof out->names[0] &&
           (entry = readdir(stream)) != NULL) {
        if (entry->d_name[0] != '.')
            out->names[out->count++] = mem_strdup(entry->d_name);
    }
    if (stream != NULL)
        closedir(stream);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What may have been meant by a path at which there is no tokenizer. */
static void add_suggestion(const char *path, struct buf *out)
{
    struct listing listing;
    struct stat info;
    bool folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    const char *slash = strrchr(path, '/');
    char *parent = folder          ? mem_strdup(path)
                   : slash != NULL ? str_dup(str_make(path, (size_t)(slash - path) + 1))
                                   : mem_strdup(".");
    list_folder(parent, &listing);
    qsort(listing.names, listing.count, sizeof listing.names[0], compare_names);
    if (folder && listing.count > 0) {
        buf_add_text(out, "; it holds ");
        for (size_t i = 0; i < listing.count && i < SHOWN_ENTRIES; i++)
            buf_addf(out, "%s%.60s", i > 0 ? ", " : "", listing.names[i]);
        buf_add_text(out, listing.count > SHOWN_ENTRIES ? " and more" : "");
    } else if (!folder) {
        const char *nearest = suggest_nearest(str_of(slash != NULL ? slash + 1 : path),
                                              (const char *const *)listing.names, listing.count);
        if (nearest != NULL)
            buf_addf(out, "; did you mean %.80s?", nearest);
        else
            buf_add_text(out, "; a tokenizer.json, a .tiktoken file or a folder that holds one is wanted");
    }
    for (size_t i = 0; i < listing.count; i++)
        free(listing.names[i]);
    free(parent);
}

static enum status refuse(const struct config *config, enum option_id id, const char *path, const struct error *cause,
                          struct error *error)
{
    char text[sizeof cause->message + sizeof cause->place + 32], origin[300];
    struct buf message;
    buf_init(&message, BUF_UNBOUNDED);
    buf_add_text(&message, error_text(cause, text, sizeof text));
    if (cause->status == STATUS_NOT_FOUND)
        add_suggestion(path, &message);
    error_set(error, STATUS_INVALID, "%s", message.data);
    error_at(error, config_origin(config, id, origin, sizeof origin), 0, 0);
    buf_finish(&message);
    return STATUS_INVALID;
}

/* ---- all of it ---- */

/* What option `id` names; `origin` may be NULL. NULL where it names none. */
static enum status open_tokenizer(const struct config *config, enum option_id id, struct shared_tokenizer **out,
                                  enum tokenizer_origin *origin, struct error *error)
{
    const char *configured = config_text(config, id);
    struct tokenizer_store *store = NULL;
    struct error cause = {0};
    if (configured == NULL || strcmp(configured, "none") == 0)
        return STATUS_OK;
    char *path = resolve(config, id), *folder = cache_folder();
    enum status status = tokenizer_store_open(path, folder, &store, &cause);
    if (status == STATUS_OK) {
        if (origin != NULL)
            *origin = tokenizer_store_origin(store);
        *out = acquire(store);
    } else {
        status = refuse(config, id, path, &cause, error);
    }
    free(folder);
    free(path);
    return status;
}

enum status token_setup_open(const struct config *config, struct token_setup *out, struct error *error)
{
    *out = (struct token_setup){0};
    enum status status = open_tokenizer(config, OPTION_TOKENIZER, &out->shared, &out->origin, error);
    if (status == STATUS_OK)
        status = open_tokenizer(config, OPTION_SUMMARY_TOKENIZER, &out->summary, NULL, error);
    if (status != STATUS_OK) {
        token_setup_close(out);
        return status;
    }
    if (out->shared != NULL) {
        out->tokenizer = tokenizer_store_tokenizer(out->shared->store);
        out->counter = out->shared->counter;
    }
    if (out->summary != NULL)
        out->summary_counter = out->summary->counter;
    choose_template(config, out);
    return STATUS_OK;
}

void token_setup_close(struct token_setup *setup)
{
    if (setup->shared != NULL)
        release(setup->shared);
    if (setup->summary != NULL)
        release(setup->summary);
    *setup = (struct token_setup){0};
}

const char *token_setup_notice(const struct token_setup *setup)
{
    return setup->shared != NULL ? tokenizer_store_notice(setup->shared->store) : NULL;
}

void token_setup_describe(const struct token_setup *setup, struct buf *out)
{
    buf_addf(out, "%s, %lu tokens, %s", tokenizer_store_path(setup->shared->store),
             (unsigned long)tokenizer_vocabulary(setup->tokenizer),
             setup->origin == TOKENIZER_COMPILED ? "compiled now" : "from the cache");
}
