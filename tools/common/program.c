#include "tools/common/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mem.h"
#include "loop/confine.h"
#include "tools/common/line.h"

#define MAX_WORDS     128 /* of a command */
#define MAX_BINDS     (MAX_WORDS + 64)
#define MAX_VARIABLES 256

/* A tool is no stranger: the limits keep it from taking the machine down, not from working. Its time is the call's. */
#define MEMORY_BYTES (INT64_C(4) << 30)
#define TMP_BYTES    (INT64_C(256) << 20)
#define PROCESSES    128
#define OPEN_FILES   1024

/* What a program gets of our environment: nothing that could hold a key. */
static const char *const kept_variables[] = {"PATH", "HOME",   "USER", "LOGNAME", "SHELL",
                                             "LANG", "LC_ALL", "TZ",   "TMPDIR"};
#define SYSTEM_PATH "/usr/local/bin:/usr/bin:/bin"

struct program {
    char *path;             /* of the executable, absolute */
    char *words[MAX_WORDS]; /* the command; [0] is `path` */
    char *variables[MAX_VARIABLES];
    char *directory;
    enum program_confinement confinement;
    struct confine_bind binds[MAX_BINDS];
    size_t n_words, n_variables, n_binds;
    bool keep_user;
};

struct process {
    struct child *child; /* unconfined, or */
    struct confined *confined;
    child_bytes_fn on_output, on_errors;
    child_done_fn done;
    void *user;
};

/* ---- what is started ---- */

/* The program in the first of the folders that has it, in fresh memory, or NULL. */
static char *search(const char *name, const char *folders)
{
    struct str rest = str_of(folders), folder;
    while (str_split_next(&rest, ':', &folder)) {
        char *candidate = mem_printf("%.*s/%s", STR_ARG(folder), name);
        struct stat about;
        if (folder.len > 0 && folder.data[0] == '/' && stat(candidate, &about) == 0 && S_ISREG(about.st_mode) &&
            access(candidate, X_OK) == 0)
            return candidate;
        free(candidate);
    }
    return NULL;
}

static enum status find_program(struct program *program, const char *name, struct error *error)
{
    struct stat about;
    if (strchr(name, '/') == NULL) {
        /* What a version manager or a virtual environment puts before the system's programs needs files that a confined
         * one does not see. */
        const char *path = getenv("PATH");
        program->path = program->confinement != PROGRAM_NONE ? search(name, SYSTEM_PATH) : NULL;
        if (program->path == NULL)
            program->path = search(name, path != NULL ? path : SYSTEM_PATH);
        if (program->path == NULL)
            return error_set(error, STATUS_NOT_FOUND, "there is no program \"%.100s\" in PATH", name);
        return STATUS_OK;
    }
    if (stat(name, &about) != 0)
        return error_set(error, STATUS_NOT_FOUND, "there is no program %s", name);
    if (!S_ISREG(about.st_mode) || access(name, X_OK) != 0)
        return error_set(error, STATUS_NOT_FOUND, "%s cannot be run: it is no executable file (chmod +x)", name);
    program->path = mem_strdup(name);
    return STATUS_OK;
}

/* Everything below is there for a confined program anyhow. */
static bool is_of_the_system(const char *path)
{
    static const char *const folders[] = {"/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        if (strncmp(path, folders[i], strlen(folders[i])) == 0)
            return true;
    }
    return false;
}

static void let_see(struct program *program, const char *path, bool writable)
{
    if (program->n_binds == MAX_BINDS || path[0] != '/' || is_of_the_system(path))
        return;
    program->binds[program->n_binds++] = (struct confine_bind){.source = mem_strdup(path), .writable = writable};
    if (writable)
        program->keep_user = true;
}

static enum status let_see_all(struct program *program, const char *const *paths, bool writable, struct error *error)
{
    for (size_t i = 0; paths != NULL && paths[i] != NULL; i++) {
        if (access(paths[i], F_OK) != 0)
            return error_set(error, STATUS_NOT_FOUND, "there is no file or folder %s", paths[i]);
        let_see(program, paths[i], writable);
    }
    return STATUS_OK;
}

static enum status confine_program(struct program *program, const struct program_options *options, struct error *error)
{
    struct error why = {0};
    struct stat about;
    if (!confine_available(&why))
        return error_set(error, STATUS_UNSUPPORTED,
                         "it cannot be confined here: %s. \"confinement: none\" runs it with all that you may do",
                         why.message);
    if (program->directory != NULL)
        let_see(program, program->directory, false);
    for (size_t i = 0; i < program->n_words; i++) {
        if (program->words[i][0] == '/' && stat(program->words[i], &about) == 0 && S_ISREG(about.st_mode))
            let_see(program, program->words[i], false);
    }
    enum status status = let_see_all(program, options->readable, false, error);
    return status == STATUS_OK ? let_see_all(program, options->writable, true, error) : status;
}

static void add_variable(struct program *program, char *variable)
{
    size_t name = strcspn(variable, "=");
    for (size_t i = 0; i < program->n_variables; i++) {
        if (strncmp(program->variables[i], variable, name + 1) == 0) { /* the later one counts */
            free(program->variables[i]);
            program->variables[i] = variable;
            return;
        }
    }
    if (program->n_variables + 1 < MAX_VARIABLES)
        program->variables[program->n_variables++] = variable;
    else
        free(variable);
}

static void set_variables(struct program *program, const struct program_options *options)
{
    bool confined = program->confinement != PROGRAM_NONE;
    for (size_t i = 0; i < sizeof kept_variables / sizeof kept_variables[0]; i++) {
        const char *value = getenv(kept_variables[i]);
        if (value != NULL && !confined)
            add_variable(program, mem_printf("%s=%s", kept_variables[i], value));
    }
    if (confined) {
        const char *zone = getenv("TZ");
        add_variable(program, mem_strdup("PATH=" SYSTEM_PATH));
        add_variable(program, mem_strdup("HOME=/tmp"));
        add_variable(program, mem_strdup("LANG=C.UTF-8"));
        if (zone != NULL)
            add_variable(program, mem_printf("TZ=%s", zone));
    }
    for (size_t i = 0; options->environment != NULL && options->environment[i] != NULL; i++)
        add_variable(program, mem_strdup(options->environment[i]));
}

static enum status set_command(struct program *program, const struct program_options *options, struct error *error)
{
    if (options->command == NULL || options->command[0] == NULL || options->command[0][0] == '\0')
        return error_set(error, STATUS_INVALID, "the command is empty");
    enum status status = find_program(program, options->command[0], error);
    if (status != STATUS_OK)
        return status;
    program->words[program->n_words++] = mem_strdup(program->path);
    for (size_t i = 1; options->command[i] != NULL; i++) {
        if (program->n_words + 1 == MAX_WORDS)
            return error_set(error, STATUS_INVALID, "the command has more than %d words", MAX_WORDS - 1);
        program->words[program->n_words++] = mem_strdup(options->command[i]);
    }
    return STATUS_OK;
}

enum status program_create(const struct program_options *options, struct program **out, struct error *error)
{
    struct program *program = mem_zalloc(sizeof *program);
    struct stat about;
    program->confinement = options->confinement;
    program->directory = mem_strdup_or_null(options->directory);
    enum status status = set_command(program, options, error);
    if (status == STATUS_OK && program->directory != NULL &&
        (stat(program->directory, &about) != 0 || !S_ISDIR(about.st_mode)))
        status = error_set(error, STATUS_NOT_FOUND, "there is no folder %s", program->directory);
    if (status == STATUS_OK && program->confinement != PROGRAM_NONE)
        status = confine_program(program, options, error);
    if (status != STATUS_OK) {
        program_destroy(program);
        return status;
    }
    set_variables(program, options);
    *out = program;
    return STATUS_OK;
}

void program_destroy(struct program *program)
{
    if (program == NULL)
        return;
    for (size_t i = 0; i < program->n_words; i++)
        free(program->words[i]);
    for (size_t i = 0; i < program->n_variables; i++)
        free(program->variables[i]);
    for (size_t i = 0; i < program->n_binds; i++)
        free((char *)(uintptr_t)program->binds[i].source);
    free(program->path);
    free(program->directory);
    free(program);
}

/* ---- running ---- */

static void output_came(void *user, struct str bytes)
{
    struct process *process = user;
    process->on_output(process->user, bytes);
}

static void errors_came(void *user, struct str bytes)
{
    struct process *process = user;
    process->on_errors(process->user, bytes);
}

static void child_done(void *user, struct child_result *result)
{
    struct process *process = user;
    process->done(process->user, result);
    free(process);
}

static void confined_done(void *user, enum confine_end end, struct child_result *result)
{
    (void)end; /* the result's error has it in words */
    child_done(user, result);
}

struct process *program_start(const struct program *program, struct loop *loop, const struct child_options *options,
                              child_done_fn done, void *user)
{
    struct process *process = mem_zalloc(sizeof *process);
    process->on_output = options->on_output;
    process->on_errors = options->on_errors;
    process->done = done;
    process->user = user;
    struct child_options how = *options;
    const char *const *words = (const char *const *)program->words;
    const char *const *variables = (const char *const *)program->variables;
    how.argv = words;
    how.environment = variables;
    how.directory = program->directory;
    how.on_output = options->on_output != NULL ? output_came : NULL;
    how.on_errors = options->on_errors != NULL ? errors_came : NULL;
    if (program->confinement == PROGRAM_NONE) {
        process->child = child_start(loop, &how, child_done, process);
        return process;
    }
    const struct confinement confinement = {
        .limits = {.cpu_seconds = CONFINE_UNLIMITED,
                   .memory = MEMORY_BYTES,
                   .processes = PROCESSES,
                   .tmp_size = TMP_BYTES,
                   .open_files = OPEN_FILES},
        .binds = program->binds,
        .n_binds = program->n_binds,
        .network = program->confinement == PROGRAM_NETWORK,
        .keep_user = program->keep_user,
    };
    process->confined = confine_start(loop, &confinement, &how, confined_done, process);
    return process;
}

static struct child *child_of(const struct process *process)
{
    return process->confined != NULL ? confined_child(process->confined) : process->child;
}

enum status process_write(struct process *process, struct str bytes)
{
    struct child *child = child_of(process);
    return child != NULL ? child_write(child, bytes) : STATUS_IO;
}

void process_close_input(struct process *process)
{
    struct child *child = child_of(process);
    if (child != NULL)
        child_close_input(child);
}

void process_signal(struct process *process, int signal_number)
{
    struct child *child = child_of(process);
    if (child != NULL)
        child_signal(child, signal_number);
}

void process_cancel(struct process *process)
{
    if (process->confined != NULL)
        confine_cancel(process->confined);
    else
        child_cancel(process->child);
}

/* ---- last words ---- */

/* Skips a terminal's control sequence (ECMA-48: ESC [ parameters final, ESC ] … BEL) at `at`. */
static size_t skip_sequence(struct str text, size_t at)
{
    size_t i = at + 1;
    if (i < text.len && text.data[i] == '[') {
        for (i++; i < text.len && (unsigned char)text.data[i] >= 0x20 && (unsigned char)text.data[i] < 0x40;)
            i++;
        return i < text.len ? i + 1 : i;
    }
    if (i < text.len && text.data[i] == ']') {
        while (i < text.len && text.data[i] != '\a' && text.data[i] != '\n')
            i++;
        return i < text.len ? i + 1 : i;
    }
    return i < text.len ? i + 1 : i;
}

void program_last_words(struct str errors, size_t max, struct buf *out)
{
    struct buf plain;
    buf_init(&plain, BUF_UNBOUNDED);
    for (size_t i = 0; i < errors.len;) {
        if (errors.data[i] == '\033') {
            i = skip_sequence(errors, i);
            continue;
        }
        buf_add_char(&plain, errors.data[i++]);
    }
    struct str text = str_trim(buf_str(&plain));
    /* The newest lines that fit, whole, joined from the back. */
    size_t from = text.len;
    while (from > 0) {
        size_t line = str_rfind_char(str_slice(text, 0, from), '\n');
        size_t begin = line == STR_NONE ? 0 : line + 1;
        if (text.len - begin > max && from != text.len)
            break;
        from = line == STR_NONE ? 0 : line;
        if (text.len - begin > max)
            break;
    }
    struct str rest = str_trim(str_slice(text, from, text.len)), line;
    bool first = true;
    while (str_split_next(&rest, '\n', &line)) {
        line = str_trim(line);
        if (line.len == 0)
            continue;
        if (!first)
            buf_add_text(out, " / ");
        line_add(out, line, max);
        first = false;
    }
    buf_finish(&plain);
}
