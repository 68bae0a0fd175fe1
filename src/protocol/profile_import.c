#include "protocol/profile_import.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/file.h"
#include "core/json.h"
#include "core/mem.h"
#include "protocol/profile_internal.h"
#include "protocol/python_strings.h"

#define SOURCE_MAX (4u << 20) /* bytes of a prompt.py */
#define MAX_DEPTH  5          /* folders below the clone that are looked into */
#define MAX_FOUND  64

static const char *const system_names[] = {"SYSTEM_PROMPT", "SYSTEM_PROMPT_MULTI", NULL};
static const char *const question_names[] = {"USER_PROMPT", "USER_PROMPT_MULTI", NULL};
static const char *const summary_names[] = {"EXTRACTOR_PROMPT", "EXTRACTOR_PROMPT_MULTI", NULL};

/* The prompt.py files of a clone, sorted by path. */
struct candidates {
    char *paths[MAX_FOUND];
    size_t count;
};

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void find_candidates(const char *folder, int depth, struct candidates *found)
{
    DIR *directory = depth <= MAX_DEPTH ? opendir(folder) : NULL;
    if (!directory)
        return;
    for (struct dirent *entry; (entry = readdir(directory)) && found->count < MAX_FOUND;) {
        if (entry->d_name[0] == '.')
            continue;
        char *path = mem_printf("%s/%s", folder, entry->d_name);
        struct stat info;
        bool known = lstat(path, &info) == 0; /* links are not followed: they may go round in circles */
        if (known && S_ISREG(info.st_mode) && strcmp(entry->d_name, "prompt.py") == 0) {
            found->paths[found->count++] = path;
            continue;
        }
        if (known && S_ISDIR(info.st_mode))
            find_candidates(path, depth + 1, found);
        free(path);
    }
    closedir(directory);
}

static enum status no_prompts(const char *from, struct error *error)
{
    error_set(
        error, STATUS_NOT_FOUND,
        "no prompt.py was found there; a clone of the reference has it as inference/prompt.py or below WebAgent/");
    error_at(error, from, 0, 0);
    return STATUS_NOT_FOUND;
}

/* Chooses the prompt.py: the path itself, inference/prompt.py, else the only or first one. Takes the list over. */
static enum status choose_source(const char *from, struct profile_import *report, struct error *error)
{
    struct stat info;
    if (stat(from, &info) != 0)
        return no_prompts(from, error);
    if (S_ISREG(info.st_mode)) {
        report->source = mem_strdup(from);
        return STATUS_OK;
    }
    struct candidates found = {.count = 0};
    find_candidates(from, 0, &found);
    if (found.count == 0)
        return no_prompts(from, error);
    qsort(found.paths, found.count, sizeof *found.paths, compare_paths);
    size_t chosen = 0;
    for (size_t i = found.count; i-- > 0;) {
        if (str_ends_with(str_of(found.paths[i]), STR("/inference/prompt.py")))
            chosen = i;
    }
    for (size_t i = 0; i < found.count; i++) {
        if (i == chosen) {
            report->source = found.paths[i];
            continue;
        }
        buf_addf(&report->others, "%s\n", found.paths[i]);
        free(found.paths[i]);
    }
    return STATUS_OK;
}

/* The value of the first of `names` that the source has. STATUS_OK with an empty *name where it has none. */
static enum status take(const struct python_strings *strings, const char *const *names, const char *place, char **name,
                        struct str *value, struct error *error)
{
    for (; *names; names++) {
        enum status status = python_strings_get(strings, *names, value, error);
        if (status == STATUS_OK) {
            *name = mem_strdup(*names);
            return STATUS_OK;
        }
        if (status != STATUS_NOT_FOUND) {
            error_at(error, place, error ? error->line : 0, error ? error->column : 0);
            return status;
        }
    }
    return STATUS_OK;
}

static enum status make_folder(const char *into, struct error *error)
{
    if (mkdir(into, 0777) == 0)
        return STATUS_OK;
    enum status status = STATUS_OK;
    DIR *directory = errno == EEXIST ? opendir(into) : NULL;
    if (!directory) {
        status = error_set(error, STATUS_IO, "cannot make the folder: %s", strerror(errno));
    } else {
        for (struct dirent *entry; status == STATUS_OK && (entry = readdir(directory));) {
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                status = error_set(error, STATUS_INVALID, "the folder is not empty");
        }
        closedir(directory);
    }
    if (status != STATUS_OK)
        error_at(error, into, 0, 0);
    return status;
}

static enum status write_file(const char *folder, const char *name, struct str contents, struct error *error)
{
    char *path = mem_printf("%s/%s", folder, name);
    enum status status = file_write(path, contents, error);
    free(path);
    return status;
}

/* Whether a user prompt takes the question where it says {question}; else the question follows it. */
static bool takes_question(struct str text)
{
    const struct prompt_text prompt = {.syntax = SYNTAX_PYTHON, .text = (char *)text.data, .len = text.len};
    return str_find(text, STR("{question}"), 0) != STR_NONE &&
           profile_check_placeholders(PROMPT_QUESTION, &prompt, NULL) == STATUS_OK;
}

static void write_settings(const struct profile_import *report, struct str question, struct buf *out)
{
    buf_add_text(out,
                 "# Made by fathom profile import. The .txt files are byte for byte the strings of the prompt.py.\n");
    buf_add_text(out, "description: \"imported from ");
    if (json_escape(out, str_of(report->source)) != STATUS_OK)
        abort(); /* the buffer is unbounded */
    buf_addf(out, "\"\nbase: %s\nlayout: %s\nprompts:\n", report->question_name ? "websailor" : "tongyi",
             report->question_name ? "user" : "system");
    buf_addf(out, "  system: {file: system.txt, syntax: verbatim, append: \"%s{date}\"}\n",
             report->system_has_date ? "" : "Current date: ");
    if (report->question_name && takes_question(question))
        buf_add_text(out, "  question: {file: question.txt, syntax: python}\n");
    else
        buf_add_text(out, "  question: {file: question.txt, syntax: verbatim, append: \"{question}\"}\n");
    if (report->summary_name)
        buf_add_text(out, "  page-summary: {file: page-summary.txt, syntax: python}\n");
}

/* Writes the profile and loads it once, so that what is wrong with it is said now. */
static enum status write_profile(const char *into, const struct profile_import *report, struct str system,
                                 struct str question, struct str summary, struct error *error)
{
    struct buf settings;
    buf_init(&settings, BUF_UNBOUNDED);
    write_settings(report, question, &settings);
    enum status status = write_file(into, "system.txt", system, error);
    if (status == STATUS_OK)
        status = write_file(into, "question.txt", question, error);
    if (status == STATUS_OK && report->summary_name)
        status = write_file(into, "page-summary.txt", summary, error);
    if (status == STATUS_OK)
        status = write_file(into, "profile.yaml", buf_str(&settings), error);
    buf_finish(&settings);
    if (status != STATUS_OK)
        return status;
    struct profile *profile;
    char *path = strchr(into, '/') ? mem_strdup(into) : mem_printf("./%s", into);
    status = profile_load(path, NULL, &profile, error);
    free(path);
    if (status == STATUS_OK)
        profile_destroy(profile);
    return status;
}

static enum status import_strings(const struct python_strings *strings, const char *into, struct profile_import *report,
                                  struct error *error)
{
    struct str system = {0}, question = {0}, summary = {0};
    enum status status = take(strings, system_names, report->source, &report->system_name, &system, error);
    if (status == STATUS_OK)
        status = take(strings, question_names, report->source, &report->question_name, &question, error);
    if (status == STATUS_OK)
        status = take(strings, summary_names, report->source, &report->summary_name, &summary, error);
    if (status != STATUS_OK)
        return status;
    if (!report->system_name) {
        error_set(error, STATUS_NOT_FOUND, "it has no SYSTEM_PROMPT");
        error_at(error, report->source, 0, 0);
        return STATUS_NOT_FOUND;
    }
    const struct prompt_text checked = {.syntax = SYNTAX_PYTHON, .text = (char *)summary.data, .len = summary.len};
    if (report->summary_name && profile_check_placeholders(PROMPT_PAGE_SUMMARY, &checked, error) != STATUS_OK) {
        error_at(error, report->summary_name, error ? error->line : 0, error ? error->column : 0);
        return STATUS_INVALID;
    }
    report->system_bytes = system.len;
    report->question_bytes = question.len;
    report->summary_bytes = summary.len;
    struct str end = str_trim_end(system);
    struct str label = STR("date:");
    report->system_has_date =
        end.len >= label.len && str_equal_ascii_nocase(str_slice(end, end.len - label.len, end.len), label);
    status = make_folder(into, error);
    return status == STATUS_OK ? write_profile(into, report, system, question, summary, error) : status;
}

enum status profile_import(const char *from, const char *into, struct profile_import *report, struct error *error)
{
    *report = (struct profile_import){0};
    buf_init(&report->others, BUF_UNBOUNDED);
    enum status status = choose_source(from, report, error);
    if (status != STATUS_OK)
        return status;
    struct buf source;
    struct python_strings *strings = NULL;
    buf_init(&source, SOURCE_MAX);
    status = file_read(report->source, &source, error);
    if (status == STATUS_OK) {
        status = python_strings_read(buf_str(&source), &strings, error);
        if (status != STATUS_OK)
            error_at(error, report->source, 0, 0);
    }
    if (status == STATUS_OK)
        status = import_strings(strings, into, report, error);
    python_strings_destroy(strings);
    buf_finish(&source);
    return status;
}

void profile_import_finish(struct profile_import *report)
{
    free(report->source);
    free(report->system_name);
    free(report->question_name);
    free(report->summary_name);
    buf_finish(&report->others);
    *report = (struct profile_import){0};
}
