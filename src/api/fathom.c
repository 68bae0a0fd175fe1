/* src/api/fathom.c: the public API (fathom/fathom.h). */
#include "fathom/fathom.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/result.h"
#include "api/config.h"
#include "api/extract.h"
#include "api/setup.h"
#include "core/mem.h"
#include "core/utf8.h"
#include "engine/ask.h"
#include "engine/runner.h"
#include "loop/loop.h"
#include "protocol/completion.h"

/* What was set, so that every fathom_ask resolves a configuration of its own. */
struct setting {
    enum option_id id;
    char *value;
};

struct fathom {
    struct setting *settings;
    size_t n_settings, settings_capacity;
    char *file;
    bool environment;
    int wake[2]; /* a pipe: writing to it is all that a signal handler may do */
    atomic_bool canceled;
    char error[800];
    char *prediction, *result; /* NULL before the first run */

    /* while fathom_ask is under way */
    struct setup *setup;
    struct run *run;
    bool ended;
    enum termination termination;
    fathom_event_fn event;
    void *user;

    fathom_question_fn question; /* NULL: nobody can be asked */
    void *question_user;
};

struct fathom_reply {
    enum ask_outcome outcome;
    struct buf text;
};

const char *fathom_version(void)
{
    return FATHOM_VERSION;
}

struct fathom *fathom_create(void)
{
    struct fathom *fathom = mem_zalloc(sizeof *fathom);
    atomic_init(&fathom->canceled, false);
    if (pipe2(fathom->wake, O_CLOEXEC | O_NONBLOCK) != 0)
        abort(); /* as the loop does without descriptors */
    return fathom;
}

void fathom_destroy(struct fathom *fathom)
{
    if (fathom == NULL)
        return;
    for (size_t i = 0; i < fathom->n_settings; i++)
        free(fathom->settings[i].value);
    free(fathom->settings);
    free(fathom->file);
    free(fathom->prediction);
    free(fathom->result);
    close(fathom->wake[0]);
    close(fathom->wake[1]);
    free(fathom);
}

static enum fathom_status fail(struct fathom *fathom, enum fathom_status status, const struct error *error)
{
    error_text(error, fathom->error, sizeof fathom->error);
    return status;
}

/* ---- configuration ---- */

enum fathom_status fathom_set(struct fathom *fathom, const char *name, const char *value)
{
    const struct option_spec *spec = option_find(str_of(name));
    struct error error;
    fathom->error[0] = '\0';
    if (spec == NULL) {
        const char *nearest = option_suggest(str_of(name), OPTION_GROUPS_ALL);
        error_set(&error, STATUS_INVALID, "there is no option \"%.60s\"%s%s%s", name,
                  nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "", nearest != NULL ? "?" : "");
        return fail(fathom, FATHOM_INVALID, &error);
    }
    struct config *trial = config_create();
    enum status status = config_set(trial, spec->id, str_of(value), &error);
    config_destroy(trial);
    if (status != STATUS_OK)
        return fail(fathom, FATHOM_INVALID, &error);
    fathom->settings =
        mem_grow(fathom->settings, fathom->n_settings, &fathom->settings_capacity, sizeof *fathom->settings);
    fathom->settings[fathom->n_settings++] = (struct setting){spec->id, mem_strdup(value)};
    return FATHOM_OK;
}

enum fathom_status fathom_load_file(struct fathom *fathom, const char *path)
{
    struct error error;
    struct config *trial = config_create();
    enum status status = config_load_file(trial, path, &error);
    config_destroy(trial);
    fathom->error[0] = '\0';
    if (status != STATUS_OK)
        return fail(fathom, FATHOM_INVALID, &error);
    free(fathom->file);
    fathom->file = mem_strdup(path);
    return FATHOM_OK;
}

enum fathom_status fathom_load_environment(struct fathom *fathom)
{
    struct error error;
    struct config *trial = config_create();
    enum status status = config_load_environment(trial, (const char *const *)environ, &error);
    config_destroy(trial);
    fathom->error[0] = '\0';
    if (status != STATUS_OK)
        return fail(fathom, FATHOM_INVALID, &error);
    fathom->environment = true;
    return FATHOM_OK;
}

static enum status configure(const struct fathom *fathom, struct config *config, struct error *error)
{
    enum status status = STATUS_OK;
    if (fathom->file != NULL)
        status = config_load_file(config, fathom->file, error);
    if (status == STATUS_OK && fathom->environment)
        status = config_load_environment(config, (const char *const *)environ, error);
    for (size_t i = 0; i < fathom->n_settings && status == STATUS_OK; i++)
        status = config_set(config, fathom->settings[i].id, str_of(fathom->settings[i].value), error);
    return status == STATUS_OK ? config_resolve(config, error) : status;
}

/* ---- a run ---- */

static void on_notice(void *user, const struct run *run, const struct notice *notice)
{
    struct fathom *fathom = user;
    (void)run;
    if (fathom->event == NULL)
        return;
    json_t *event = run_event_json(fathom->run, notice);
    char *text = json_to_text(event);
    fathom->event(fathom->user, text);
    free(text);
    json_decref(event);
}

static void on_done(void *user, struct run *run, const struct result *result)
{
    struct fathom *fathom = user;
    json_t *object = run_result_json(run, result);
    char error[800] = "";
    if (result->error.status != STATUS_OK)
        error_text(&result->error, error, sizeof error);
    else if (result->termination == TERMINATION_INTERRUPTED)
        snprintf(error, sizeof error, "the run was canceled");
    else if (result->prediction.len == 0)
        snprintf(error, sizeof error, "the run ended without an answer (%s)", termination_name(result->termination));
    memcpy(fathom->error, error, sizeof error);
    fathom->prediction = str_dup(result->prediction);
    fathom->result = json_to_text(object);
    fathom->termination = result->termination;
    setup_unfollow(fathom->setup, run);
    fathom->run = NULL;
    fathom->ended = true;
    json_decref(object);
    loop_stop(fathom->setup->loop);
}

/* ---- questions ---- */

void fathom_on_question(struct fathom *fathom, fathom_question_fn question, void *user)
{
    fathom->question = question;
    fathom->question_user = user;
}

void fathom_reply(struct fathom_reply *reply, const char *text)
{
    reply->outcome = ASK_ANSWERED;
    buf_reset(&reply->text);
    buf_add_text(&reply->text, text);
}

static json_t *copy_or_null(const json_t *value)
{
    return value != NULL ? json_deep_copy(value) : json_null();
}

static void on_ask(void *user, struct ask *ask)
{
    struct fathom *fathom = user;
    const struct ask_question *asked = ask_question(ask);
    struct fathom_reply reply = {.outcome = ASK_DECLINED};
    json_t *object = json_object();
    json_put_str(object, "purpose", asked->purpose == ASK_FOR_PERMISSION ? STR("permission") : STR("answer"));
    json_put_str(object, "tool", str_of(asked->tool));
    json_put(object, "text", json_from_str(asked->text));
    json_put(object, "schema", copy_or_null(asked->schema));
    json_put(object, "arguments", copy_or_null(asked->arguments));
    json_put(object, "code", json_from_str(asked->code));
    char *text = json_to_text(object);
    buf_init(&reply.text, BUF_UNBOUNDED);
    fathom->question(fathom->question_user, text, &reply);
    ask_answer(ask, reply.outcome, buf_str(&reply.text));
    buf_finish(&reply.text);
    free(text);
    json_decref(object);
}

/* Every question is answered before on_ask returns. */
static void on_withdraw(void *user, struct ask *ask)
{
    (void)user;
    (void)ask;
}

static void interrupt(struct fathom *fathom)
{
    if (fathom->run != NULL)
        run_interrupt(fathom->run);
    else if (!fathom->ended)
        setup_interrupt(fathom->setup);
}

static void on_wake(void *user, int events)
{
    struct fathom *fathom = user;
    char bytes[64];
    (void)events;
    while (read(fathom->wake[0], bytes, sizeof bytes) > 0)
        ;
    if (atomic_load(&fathom->canceled))
        interrupt(fathom);
}

static enum fathom_status run_to_the_end(struct fathom *fathom, struct str question)
{
    struct run_options options;
    setup_run_options(fathom->setup, &options);
    options.question = question;
    options.observe = on_notice;
    options.done = on_done;
    options.user = fathom;
    const struct asker asker = {.ask = on_ask, .withdraw = on_withdraw, .user = fathom};
    engine_set_asker(fathom->setup->engine, fathom->question != NULL ? &asker : NULL);
    fathom->run = run_start(fathom->setup->engine, &options);
    setup_follow(fathom->setup, fathom->run);
    while (!fathom->ended)
        loop_run(fathom->setup->loop);
    if (fathom->termination == TERMINATION_INTERRUPTED)
        return FATHOM_INTERRUPTED;
    return fathom->prediction[0] != '\0' ? FATHOM_OK : FATHOM_FAILED;
}

static enum fathom_status research(struct fathom *fathom, const struct config *config, struct str question)
{
    const struct setup_options options = {.parts = SETUP_MODEL | SETUP_TOOLS};
    struct error error;
    enum status status = setup_create(config, &options, &fathom->setup, &error);
    if (status != STATUS_OK)
        return fail(fathom, FATHOM_INVALID, &error);
    struct loop_watch *watch = loop_watch_create(fathom->setup->loop, fathom->wake[0], on_wake, fathom);
    loop_watch_set(watch, LOOP_READABLE);
    status = setup_prepare(fathom->setup, &error);
    enum fathom_status outcome = FATHOM_INVALID;
    if (status == STATUS_OK)
        outcome = run_to_the_end(fathom, question);
    else
        fail(fathom, FATHOM_INVALID, &error);
    if (status == STATUS_CANCELED)
        outcome = FATHOM_INTERRUPTED;
    loop_watch_destroy(watch);
    setup_destroy(fathom->setup);
    fathom->setup = NULL;
    return outcome;
}

static void forget_last(struct fathom *fathom)
{
    free(fathom->prediction);
    free(fathom->result);
    fathom->prediction = fathom->result = NULL;
    fathom->error[0] = '\0';
    fathom->ended = false;
}

enum fathom_status fathom_ask(struct fathom *fathom, const char *question, fathom_event_fn event, void *user)
{
    struct error error;
    struct buf clean;
    forget_last(fathom);
    fathom->event = event;
    fathom->user = user;
    buf_init(&clean, BUF_UNBOUNDED);
    struct config *config = config_create();
    enum fathom_status outcome = FATHOM_INVALID;
    enum status status = utf8_append_valid(&clean, str_trim(str_of(question)));
    if (status == STATUS_OK && clean.len == 0)
        status = error_set(&error, STATUS_INVALID, "the question is empty");
    if (status == STATUS_OK)
        status = configure(fathom, config, &error);
    if (status == STATUS_OK)
        outcome = research(fathom, config, buf_str(&clean));
    else
        fail(fathom, FATHOM_INVALID, &error);
    atomic_store(&fathom->canceled, false);
    config_destroy(config);
    buf_finish(&clean);
    return outcome;
}

void fathom_cancel(struct fathom *fathom)
{
    int saved = errno;
    atomic_store(&fathom->canceled, true);
    ssize_t written = write(fathom->wake[1], "", 1); /* a full pipe wakes just as well */
    (void)written;
    errno = saved;
}

const char *fathom_prediction(const struct fathom *fathom)
{
    return fathom->prediction != NULL ? fathom->prediction : "";
}

const char *fathom_result(const struct fathom *fathom)
{
    return fathom->result;
}

const char *fathom_error(const struct fathom *fathom)
{
    return fathom->error;
}

/* ---- a completion ---- */

char *fathom_parse(const char *completion, size_t length)
{
    json_t *object;
    if (completion_to_json(str_make(completion, length), NULL, &object, NULL) != STATUS_OK)
        return NULL;
    char *text = json_to_text(object);
    json_decref(object);
    return text;
}

/* ---- a page ---- */

char *fathom_extract(const char *page, size_t length, const char *url, const char *content_type, unsigned flags)
{
    const unsigned known = FATHOM_EXTRACT_TEXT | FATHOM_EXTRACT_JSON | FATHOM_EXTRACT_COMMENTS | FATHOM_EXTRACT_WHOLE |
                           FATHOM_EXTRACT_NO_LINKS;
    const unsigned forms = flags & (FATHOM_EXTRACT_TEXT | FATHOM_EXTRACT_JSON);
    const struct extract_options options = {
        .content_type = content_type != NULL ? str_of(content_type) : STR(""),
        .url = url != NULL ? str_of(url) : STR(""),
        .format = forms == FATHOM_EXTRACT_JSON   ? EXTRACT_JSON
                  : forms == FATHOM_EXTRACT_TEXT ? EXTRACT_TEXT
                                                 : EXTRACT_MARKDOWN,
        .comments = (flags & FATHOM_EXTRACT_COMMENTS) != 0,
        .whole_page = (flags & FATHOM_EXTRACT_WHOLE) != 0,
        .drop_links = (flags & FATHOM_EXTRACT_NO_LINKS) != 0,
    };
    struct buf out;
    if ((flags & ~known) != 0 || forms == (FATHOM_EXTRACT_TEXT | FATHOM_EXTRACT_JSON))
        return NULL;
    buf_init(&out, BUF_UNBOUNDED);
    if (extract_page(str_make(page, length), &options, &out, NULL, NULL) == STATUS_OK)
        return buf_take(&out);
    buf_finish(&out);
    return NULL;
}

void fathom_free(void *text)
{
    free(text);
}
