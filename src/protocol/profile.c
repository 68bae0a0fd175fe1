/* Finding and loading profiles. Settings are read in profile_settings.c, placeholders are replaced in profile_render.c.
 */
#include "protocol/profile.h"

#include <dirent.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/embed.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/mem.h"
#include "protocol/profile_internal.h"

#define BASE_PROFILE   "generic"
#define MAX_BASE_DEPTH 8

/* Where a layer of a profile lies: a folder of the user's, or a name among the embedded ones and in prompts_dir. */
struct folder {
    const char *dir;  /* NULL for a name */
    const char *name; /* NULL for a folder */
    const char *prompts_dir;
};

static void prompt_text_finish(struct prompt_text *text)
{
    free(text->file);
    free(text->append);
    free(text->origin);
    free(text->text);
    *text = (struct prompt_text){0};
}

static void note_finish(struct tool_note *note)
{
    free(note->tool);
    free(note->origin);
    free(note->text);
}

static void prompts_finish(struct profile_prompts *prompts)
{
    for (size_t i = 0; i < PROMPT_COUNT; i++)
        prompt_text_finish(&prompts->texts[i]);
    for (size_t i = 0; i < prompts->n_notes; i++)
        note_finish(&prompts->notes[i]);
    for (size_t i = 0; i < prompts->n_models; i++)
        free(prompts->models[i]);
    free(prompts->notes);
    free(prompts->models);
    free(prompts->base);
    *prompts = (struct profile_prompts){0};
}

static struct profile *profile_create(void)
{
    struct profile *profile = mem_zalloc(sizeof *profile);
    profile->prompts = mem_zalloc(sizeof *profile->prompts);
    return profile;
}

void profile_destroy(struct profile *profile)
{
    if (!profile)
        return;
    prompts_finish(profile->prompts);
    free(profile->prompts);
    free(profile->name);
    free(profile->description);
    free(profile->origin);
    free(profile->result_separator);
    free(profile->search_separator);
    free(profile->visit_separator);
    free(profile);
}

static bool is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Reads the file `path` of the folder into `out` and names where it was found in fresh memory. */
static enum status folder_read(const struct folder *folder, const char *path, struct buf *out, char **origin,
                               struct error *error)
{
    char *file = NULL;
    enum status status = STATUS_NOT_FOUND;
    if (folder->dir)
        file = mem_printf("%s/%s", folder->dir, path);
    else if (folder->prompts_dir)
        file = mem_printf("%s/%s/%s", folder->prompts_dir, folder->name, path);
    if (file)
        status = file_read(file, out, error);
    if (status != STATUS_NOT_FOUND || folder->dir) {
        if (status == STATUS_OK)
            *origin = file;
        else
            free(file);
        return status;
    }
    free(file);
    struct str contents;
    file = mem_printf("prompts/%s/%s", folder->name, path);
    if (embed_find(file, &contents)) {
        buf_add(out, contents);
        *origin = file;
        return STATUS_OK;
    }
    error_set(error, STATUS_NOT_FOUND, "there is no such file");
    error_at(error, file, 0, 0);
    free(file);
    return STATUS_NOT_FOUND;
}

/* Reads one prompt of a layer into `text`. A file that is not there is an error only where profile.yaml speaks of it.
 */
static enum status read_prompt(const struct folder *folder, enum prompt_id id, struct prompt_text *text,
                               struct error *error)
{
    bool wanted = text->file || text->append || text->syntax != SYNTAX_FATHOM;
    char *path = text->file ? mem_strdup(text->file) : mem_printf("%s.md", profile_prompt_name(id));
    struct buf contents;
    buf_init(&contents, PROFILE_FILE_MAX);
    enum status status = folder_read(folder, path, &contents, &text->origin, error);
    free(path);
    if (status == STATUS_NOT_FOUND && !wanted) {
        buf_finish(&contents);
        return STATUS_OK;
    }
    if (status == STATUS_OK) {
        bool ends_in_newline = str_ends_with(buf_str(&contents), STR("\n"));
        if (text->syntax == SYNTAX_FATHOM && ends_in_newline)
            buf_truncate(&contents, contents.len - 1);
        text->len = contents.len;
        text->text = buf_take(&contents);
        status = profile_check_placeholders(id, text, error);
        if (status != STATUS_OK)
            error_at(error, text->origin, error ? error->line : 0, error ? error->column : 0);
    }
    buf_finish(&contents);
    return status;
}

static int compare_notes(const void *a, const void *b)
{
    return strcmp(((const struct tool_note *)a)->tool, ((const struct tool_note *)b)->tool);
}

/* Puts tools/<file> of the folder into the profile, over a note that a layer below may have for the tool. */
static enum status read_note(struct profile_prompts *prompts, const struct folder *folder, const char *file,
                             struct error *error)
{
    struct str name = str_of(file);
    if (!str_ends_with(name, STR(".md")) || str_find_char(name, '/', 0) != STR_NONE)
        return STATUS_OK;
    struct buf contents;
    buf_init(&contents, PROFILE_FILE_MAX);
    char *path = mem_printf("tools/%s", file), *origin;
    enum status status = folder_read(folder, path, &contents, &origin, error);
    free(path);
    if (status == STATUS_OK) {
        struct tool_note note = {.tool = str_dup(str_slice(name, 0, name.len - 3)), .origin = origin};
        if (str_ends_with(buf_str(&contents), STR("\n")))
            buf_truncate(&contents, contents.len - 1);
        note.text = buf_take(&contents);
        size_t i = 0;
        while (i < prompts->n_notes && strcmp(prompts->notes[i].tool, note.tool) != 0)
            i++;
        if (i < prompts->n_notes) {
            note_finish(&prompts->notes[i]);
        } else {
            prompts->notes =
                mem_grow(prompts->notes, prompts->n_notes, &prompts->notes_capacity, sizeof *prompts->notes);
            prompts->n_notes++;
        }
        prompts->notes[i] = note;
    }
    buf_finish(&contents);
    return status;
}

static enum status read_notes_of_directory(struct profile_prompts *prompts, const struct folder *folder,
                                           struct error *error)
{
    char *path = folder->dir ? mem_printf("%s/tools", folder->dir)
                             : mem_printf("%s/%s/tools", folder->prompts_dir, folder->name);
    DIR *directory = opendir(path);
    free(path);
    if (!directory)
        return STATUS_OK;
    enum status status = STATUS_OK;
    for (struct dirent *entry; status == STATUS_OK && (entry = readdir(directory));)
        status = read_note(prompts, folder, entry->d_name, error);
    closedir(directory);
    return status;
}

static enum status read_notes(struct profile_prompts *prompts, const struct folder *folder, struct error *error)
{
    enum status status = STATUS_OK;
    if (folder->name) {
        size_t count;
        const struct embedded_file *files = embed_files(&count);
        char *prefix = mem_printf("prompts/%s/tools/", folder->name);
        for (size_t i = 0; i < count && status == STATUS_OK; i++) {
            if (str_starts_with(str_of(files[i].path), str_of(prefix)))
                status = read_note(prompts, folder, files[i].path + strlen(prefix), error);
        }
        free(prefix);
    }
    if (status == STATUS_OK && (folder->dir || folder->prompts_dir))
        status = read_notes_of_directory(prompts, folder, error);
    if (prompts->n_notes)
        qsort(prompts->notes, prompts->n_notes, sizeof *prompts->notes, compare_notes);
    return status;
}

static enum status unknown_profile(const char *name, const struct profile_source *source, struct error *error)
{
    struct buf list;
    buf_init(&list, BUF_UNBOUNDED);
    char **names = profile_list(source);
    for (size_t i = 0; names[i]; i++)
        buf_addf(&list, "%s%s", i > 0 ? ", " : "", names[i]);
    profile_list_free(names);
    error_set(error, STATUS_NOT_FOUND, "there is no profile \"%s\"; there are %s, or name a folder", name, list.data);
    buf_finish(&list);
    return STATUS_NOT_FOUND;
}

/* Reads profile.yaml of a folder with `profile` as what holds already and `layer` for the rest. */
static enum status apply_settings(struct profile *profile, struct profile_prompts *layer, struct str yaml,
                                  const char *place, struct error *error)
{
    struct profile_prompts *prompts = profile->prompts;
    profile->prompts = layer;
    enum status status = profile_settings_read(profile, yaml, place, error);
    profile->prompts = prompts;
    return status;
}

/* The base that a profile.yaml names; what else it says is only checked. */
static enum status read_base(struct profile_prompts *layer, struct str yaml, const char *place, struct error *error)
{
    struct profile *scratch = profile_create();
    enum status status = apply_settings(scratch, layer, yaml, place, error);
    profile_destroy(scratch);
    return status;
}

static enum status load_layer(struct profile *profile, const struct folder *folder, int depth, struct error *error);

static enum status load_base(struct profile *profile, const struct folder *folder, const char *base, const char *place,
                             int depth, struct error *error)
{
    if (!base && folder->name && strcmp(folder->name, BASE_PROFILE) == 0)
        return STATUS_OK;
    if (depth >= MAX_BASE_DEPTH) {
        error_set(error, STATUS_INVALID, "the base of this profile is at last itself");
        error_at(error, place, 0, 0);
        return STATUS_INVALID;
    }
    const struct folder below = {.name = base ? base : BASE_PROFILE, .prompts_dir = folder->prompts_dir};
    enum status status = load_layer(profile, &below, depth + 1, error);
    if (status == STATUS_NOT_FOUND && base) {
        error_set(error, STATUS_INVALID, "its base, the profile \"%s\", does not exist", base);
        error_at(error, place, 0, 0);
        return STATUS_INVALID;
    }
    return status;
}

static enum status take_prompts(struct profile *profile, struct profile_prompts *layer, const struct folder *folder,
                                struct error *error)
{
    enum status status = STATUS_OK;
    for (int id = 0; id < PROMPT_COUNT && status == STATUS_OK; id++) {
        status = read_prompt(folder, (enum prompt_id)id, &layer->texts[id], error);
        if (status == STATUS_OK && layer->texts[id].text) {
            prompt_text_finish(&profile->prompts->texts[id]);
            profile->prompts->texts[id] = layer->texts[id];
            layer->texts[id] = (struct prompt_text){0};
        }
    }
    return status;
}

/* The patterns of the topmost layer hold. */
static void take_models(struct profile_prompts *prompts, struct profile_prompts *layer)
{
    char **models = prompts->models;
    size_t count = prompts->n_models, capacity = prompts->models_capacity;
    prompts->models = layer->models;
    prompts->n_models = layer->n_models;
    prompts->models_capacity = layer->models_capacity;
    layer->models = models;
    layer->n_models = count;
    layer->models_capacity = capacity;
}

static enum status load_layer(struct profile *profile, const struct folder *folder, int depth, struct error *error)
{
    struct buf yaml;
    char *place = NULL;
    struct profile_prompts checked = {0}, layer = {0};
    buf_init(&yaml, PROFILE_FILE_MAX);
    enum status status = folder_read(folder, "profile.yaml", &yaml, &place, error);
    if (status == STATUS_OK)
        status = read_base(&checked, buf_str(&yaml), place, error);
    if (status == STATUS_OK)
        status = load_base(profile, folder, checked.base, place, depth, error);
    if (status == STATUS_OK) {
        free(profile->description);
        profile->description = NULL;
        status = apply_settings(profile, &layer, buf_str(&yaml), place, error);
        take_models(profile->prompts, &layer);
    }
    if (status == STATUS_OK)
        status = take_prompts(profile, &layer, folder, error);
    if (status == STATUS_OK)
        status = read_notes(profile->prompts, folder, error);
    prompts_finish(&checked);
    prompts_finish(&layer);
    buf_finish(&yaml);
    free(place);
    return status;
}

/* Over everything that shapes what the model is told. */
static void hash_profile(struct profile *profile)
{
    struct hash *hash = hash_begin();
    for (int id = 0; id < PROMPT_COUNT; id++) {
        const struct prompt_text *text = &profile->prompts->texts[id];
        const char syntax = (char)('0' + text->syntax);
        hash_add_field(hash, str_of(profile_prompt_name((enum prompt_id)id)));
        hash_add_field(hash, str_make(&syntax, 1));
        hash_add_field(hash, str_make(text->text, text->len));
        hash_add_field(hash, str_of(text->append));
    }
    for (size_t i = 0; i < profile->prompts->n_notes; i++) {
        hash_add_field(hash, str_of(profile->prompts->notes[i].tool));
        hash_add_field(hash, str_of(profile->prompts->notes[i].text));
    }
    const char choices[] = {(char)('0' + profile->layout), (char)('0' + profile->tool_rendering),
                            (char)('0' + profile->demand), (char)('0' + profile->history)};
    hash_add_field(hash, str_make(choices, sizeof choices));
    hash_add_field(hash, str_of(profile->result_separator));
    hash_add_field(hash, str_of(profile->search_separator));
    hash_add_field(hash, str_of(profile->visit_separator));
    hash_end(hash, profile->hash);
}

/* What a profile must have in the end; only a broken `generic` in --prompts can lack it. */
static enum status check_complete(const struct profile *profile, struct error *error)
{
    for (int id = 0; id < PROMPT_COUNT; id++) {
        if (!profile->prompts->texts[id].text)
            return error_set(error, STATUS_INVALID, "the profile \"%s\" has no prompt \"%s\"", profile->name,
                             profile_prompt_name((enum prompt_id)id));
    }
    if (!profile->result_separator || !profile->search_separator || !profile->visit_separator ||
        profile->max_tokens == 0)
        return error_set(error, STATUS_INVALID, "the profile \"%s\" has no separators or no max_tokens", profile->name);
    return STATUS_OK;
}

static bool is_known(const char *name, const struct profile_source *source)
{
    char **names = profile_list(source);
    bool known = false;
    for (size_t i = 0; names[i] && !known; i++)
        known = strcmp(names[i], name) == 0;
    profile_list_free(names);
    return known;
}

/* The last part of a folder's path, in fresh memory. */
static char *folder_name(const char *path)
{
    struct str rest = str_of(path);
    while (rest.len > 1 && rest.data[rest.len - 1] == '/')
        rest.len--;
    size_t slash = str_rfind_char(rest, '/');
    return str_dup(slash == STR_NONE || rest.len == 1 ? rest : str_slice(rest, slash + 1, rest.len));
}

enum status profile_load(const char *name, const struct profile_source *source, struct profile **out,
                         struct error *error)
{
    const char *prompts_dir = source ? source->prompts_dir : NULL;
    if (prompts_dir && !is_directory(prompts_dir)) {
        error_set(error, STATUS_NOT_FOUND, "there is no such folder of prompts");
        error_at(error, prompts_dir, 0, 0);
        return STATUS_NOT_FOUND;
    }
    bool named = !strchr(name, '/') && is_known(name, source);
    if (!named && !is_directory(name))
        return unknown_profile(name, source, error);
    const struct folder folder = {named ? NULL : name, named ? name : NULL, prompts_dir};
    struct profile *profile = profile_create();
    enum status status = load_layer(profile, &folder, 0, error);
    if (status == STATUS_OK) {
        profile->name = named ? mem_strdup(name) : folder_name(name);
        struct str embedded;
        char *path = mem_printf("prompts/%s/profile.yaml", name);
        if (!named)
            profile->origin = mem_strdup(name);
        else if (embed_find(path, &embedded))
            profile->origin = mem_strdup("built in");
        else
            profile->origin = mem_printf("%s/%s", prompts_dir, name);
        free(path);
        if (!profile->description)
            profile->description = mem_strdup("");
        status = check_complete(profile, error);
    }
    if (status != STATUS_OK) {
        profile_destroy(profile);
        return status;
    }
    hash_profile(profile);
    *out = profile;
    return STATUS_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

struct name_list {
    char **names;
    size_t count, capacity;
};

static void add_name(struct name_list *list, struct str name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (str_equal(str_of(list->names[i]), name))
            return;
    }
    list->names = mem_grow(list->names, list->count, &list->capacity, sizeof *list->names);
    list->names[list->count++] = str_dup(name);
}

char **profile_list(const struct profile_source *source)
{
    struct name_list list = {0};
    size_t count;
    const struct embedded_file *files = embed_files(&count);
    for (size_t i = 0; i < count; i++) {
        struct str path = str_of(files[i].path);
        if (str_starts_with(path, STR("prompts/")) && str_ends_with(path, STR("/profile.yaml")))
            add_name(&list, str_slice(path, strlen("prompts/"), path.len - strlen("/profile.yaml")));
    }
    DIR *directory = source && source->prompts_dir ? opendir(source->prompts_dir) : NULL;
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        char *file = mem_printf("%s/%s/profile.yaml", source->prompts_dir, entry->d_name);
        struct stat info;
        if (entry->d_name[0] != '.' && stat(file, &info) == 0)
            add_name(&list, str_of(entry->d_name));
        free(file);
    }
    if (directory)
        closedir(directory);
    if (list.count)
        qsort(list.names, list.count, sizeof *list.names, compare_names);
    list.names = mem_realloc(list.names, list.count + 1, sizeof *list.names);
    list.names[list.count] = NULL;
    return list.names;
}

void profile_list_free(char **names)
{
    for (size_t i = 0; names && names[i]; i++)
        free(names[i]);
    free(names);
}

/* The length of the longest of the patterns that fits, 0 when none does. */
static size_t best_match(const struct profile_prompts *prompts, const char *model)
{
    const char *slash = strrchr(model, '/');
    size_t best = 0;
    for (size_t i = 0; i < prompts->n_models; i++) {
        const char *pattern = prompts->models[i];
        bool fits =
            fnmatch(pattern, model, FNM_CASEFOLD) == 0 || (slash && fnmatch(pattern, slash + 1, FNM_CASEFOLD) == 0);
        if (fits && strlen(pattern) > best)
            best = strlen(pattern);
    }
    return best;
}

enum status profile_name_for_model(const char *model, const struct profile_source *source, char **name,
                                   struct error *error)
{
    char **names = profile_list(source);
    const char *best_name = BASE_PROFILE;
    size_t best = 0;
    enum status status = STATUS_OK;
    for (size_t i = 0; names[i] && status == STATUS_OK; i++) {
        const struct folder folder = {.name = names[i], .prompts_dir = source ? source->prompts_dir : NULL};
        struct buf yaml;
        struct profile_prompts layer = {0};
        char *place = NULL;
        buf_init(&yaml, PROFILE_FILE_MAX);
        status = folder_read(&folder, "profile.yaml", &yaml, &place, error);
        if (status == STATUS_OK)
            status = read_base(&layer, buf_str(&yaml), place, error);
        size_t length = status == STATUS_OK ? best_match(&layer, model) : 0;
        if (length > best) {
            best = length;
            best_name = names[i];
        }
        prompts_finish(&layer);
        buf_finish(&yaml);
        free(place);
    }
    if (status == STATUS_OK)
        *name = mem_strdup(best_name);
    profile_list_free(names);
    return status;
}

const char *profile_prompt_origin(const struct profile *profile, enum prompt_id id)
{
    return profile->prompts->texts[id].origin;
}

struct str profile_prompt_text(const struct profile *profile, enum prompt_id id)
{
    return str_make(profile->prompts->texts[id].text, profile->prompts->texts[id].len);
}

static json_t *text_to_json(const char *origin, struct str text)
{
    json_t *object = json_object();
    json_put_str(object, "origin", str_of(origin));
    json_put_str(object, "text", text);
    return object;
}

json_t *profile_to_json(const struct profile *profile)
{
    json_t *object = json_object(), *prompts = json_object(), *tools = json_object();
    json_put_str(object, "name", str_of(profile->name));
    json_put_str(object, "description", str_of(profile->description));
    json_put_str(object, "origin", str_of(profile->origin));
    json_put_str(object, "hash", str_of(profile->hash));
    json_put(object, "settings", profile_settings_to_json(profile));
    for (int id = 0; id < PROMPT_COUNT; id++) {
        const struct prompt_text *text = &profile->prompts->texts[id];
        json_t *prompt = text_to_json(text->origin, str_make(text->text, text->len));
        if (text->syntax != SYNTAX_FATHOM)
            json_put_str(prompt, "syntax", str_of(profile_syntax_name(text->syntax)));
        if (text->append)
            json_put_str(prompt, "append", str_of(text->append));
        json_put(prompts, profile_prompt_name((enum prompt_id)id), prompt);
    }
    for (size_t i = 0; i < profile->prompts->n_notes; i++) {
        const struct tool_note *note = &profile->prompts->notes[i];
        json_put(tools, note->tool, text_to_json(note->origin, str_of(note->text)));
    }
    json_put(object, "prompts", prompts);
    json_put(object, "tools", tools);
    return object;
}
