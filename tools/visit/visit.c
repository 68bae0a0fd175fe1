#include "tools/visit/visit.h"

#include "core/embed.h"
#include "core/mem.h"
#include "net/resolve.h"
#include "tools/visit/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* What the passages of all pages of a call may take together, and of one page at most: some 24,000 and 3,000 tokens. */
enum { CALL_EVIDENCE_BYTES = 96000, PAGE_EVIDENCE_BYTES = 12000 };

static void start_pages(struct visit_call *call);

/* ---- pages ---- */

bool visit_page_over(const struct visit_page *page)
{
    return tool_canceled(page->call->run) || page->state == PAGE_DONE || page->state == PAGE_FAILED;
}

static void cancel_lookups(struct visit_call *call)
{
    for (size_t i = 0; i < call->n_pages; i++) {
        resolve_cancel(call->pages[i].lookup);
        call->pages[i].lookup = NULL;
    }
}

static void finish_call(struct visit_call *call)
{
    struct buf text;
    bool any = false;
    cancel_lookups(call);
    for (size_t i = 0; i < call->n_pages; i++)
        any = any || call->pages[i].state == PAGE_DONE;
    buf_init(&text, BUF_UNBOUNDED);
    visit_render(call, &text);
    tool_finish(call->run, any ? TOOL_OK : TOOL_FAILED, buf_str(&text));
    buf_finish(&text);
}

static void settle(struct visit_page *page, enum page_state state)
{
    struct visit_call *call = page->call;
    page->state = state;
    buf_finish(&page->text);
    call->n_active--;
    if (++call->n_over == call->n_pages)
        finish_call(call);
    else
        start_pages(call);
}

void visit_page_done(struct visit_page *page)
{
    settle(page, PAGE_DONE);
}

static void set_problem(struct visit_page *page, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

static void set_problem(struct visit_page *page, const char *format, va_list arguments)
{
    vsnprintf(page->problem, sizeof page->problem, format, arguments);
}

void visit_page_failed(struct visit_page *page, const char *detail, const char *problem, ...)
{
    va_list arguments;
    va_start(arguments, problem);
    set_problem(page, problem, arguments);
    va_end(arguments);
    tool_report_notice(page->call->run, "%s: %s", page->url, detail && *detail ? detail : page->problem);
    settle(page, PAGE_FAILED);
}

void visit_page_fetched(struct visit_page *page)
{
    visit_read(page);
}

static void start_page(struct visit_page *page)
{
    struct visit_call *call = page->call;
    page->state = PAGE_FETCHING;
    call->n_active++;
    switch (page->kind) {
    case VISIT_WEB:
        if (call->tool->reader == VISIT_READER_JINA)
            visit_fetch_jina(page);
        else
            visit_fetch(page);
        break;
    case VISIT_CORPUS:
        visit_read_corpus(page);
        break;
    case VISIT_BAD_SCHEME:
        visit_page_failed(page, NULL, "only http and https addresses can be opened.");
        break;
    case VISIT_NO_ADDRESS:
        visit_page_failed(page, NULL, "this is no web address; give one that begins with https://.");
        break;
    }
}

/* Runs again from inside itself where a page fails at once: then the list may have ended, and the call with it. */
static void start_pages(struct visit_call *call)
{
    for (size_t i = 0; i < call->n_pages && !tool_canceled(call->run); i++) {
        if (call->n_active < call->tool->max_parallel && call->pages[i].state == PAGE_WAITING)
            start_page(&call->pages[i]);
    }
}

/* ---- the deadline: first no more waiting for the model, then the end with what there is ---- */

static void end_unfinished(struct visit_call *call)
{
    for (size_t i = 0; i < call->n_pages; i++) {
        struct visit_page *page = &call->pages[i];
        if (page->state == PAGE_DONE || page->state == PAGE_FAILED)
            continue;
        snprintf(page->problem, sizeof page->problem, "there was no time left for it; ask for fewer pages at once.");
        page->state = PAGE_FAILED;
    }
    finish_call(call);
}

static void on_nearly_late(void *user)
{
    struct visit_call *call = user;
    if (tool_canceled(call->run))
        return;
    int64_t left = tool_time_left_ms(call->run);
    int64_t until = left - (call->hurried ? call->margin_ms / 4 : call->margin_ms);
    if (until > 0) {
        tool_wait(call->run, until, on_nearly_late, call);
        return;
    }
    if (call->hurried) {
        end_unfinished(call);
        return;
    }
    call->hurried = true;
    for (size_t i = 0; i < call->n_pages; i++) {
        if (call->pages[i].state != PAGE_SUMMING)
            continue;
        call->pages[i].by_words = true;
        visit_pick(&call->pages[i]);
    }
    tool_wait(call->run, left - call->margin_ms / 4, on_nearly_late, call);
}

/* ---- a call ---- */

static void free_page(struct visit_page *page)
{
    free(page->url);
    free(page->title);
    free(page->base_url);
    free(page->content_type);
    buf_finish(&page->body);
    buf_finish(&page->text);
    buf_finish(&page->evidence);
    buf_finish(&page->summary);
    buf_finish(&page->links);
}

static void free_call(void *state)
{
    struct visit_call *call = state;
    cancel_lookups(call);
    for (size_t i = 0; i < call->n_pages; i++)
        free_page(&call->pages[i]);
    free(call->pages);
    free(call);
}

static bool has_page(const struct visit_call *call, const char *url)
{
    for (size_t i = 0; i < call->n_pages; i++) {
        if (str_equal(str_of(call->pages[i].url), str_of(url)))
            return true;
    }
    return false;
}

static void take_page(struct visit_call *call, struct str given)
{
    struct visit_page *page = &call->pages[call->n_pages];
    char *url = visit_address_clean(given, &page->kind, &page->assumed_scheme);
    if (has_page(call, url)) {
        free(url);
        return;
    }
    call->n_pages++;
    page->url = url;
    page->call = call;
    buf_init(&page->body, BUF_UNBOUNDED);
    buf_init(&page->text, BUF_UNBOUNDED);
    buf_init(&page->evidence, BUF_UNBOUNDED);
    buf_init(&page->summary, BUF_UNBOUNDED);
    buf_init(&page->links, BUF_UNBOUNDED);
}

static void begin(void *user)
{
    struct visit_call *call = user;
    if (tool_canceled(call->run))
        return;
    if (call->n_pages == 0)
        tool_finish(call->run, TOOL_FAILED, STR("No page was named: give at least one address."));
    else
        start_pages(call);
}

static void visit_start(struct tool *self, struct tool_run *run)
{
    struct visit_call *call = mem_zalloc(sizeof *call);
    call->tool = (struct visit_tool *)self;
    call->run = run;
    call->goal = str_trim(json_get_str(tool_arguments(run), "goal"));
    const json_t *list = json_object_get(tool_arguments(run), "url");
    call->pages = mem_calloc(json_array_size(list), sizeof *call->pages);
    size_t index;
    json_t *item;
    json_array_foreach (list, index, item) {
        take_page(call, str_make(json_string_value(item), json_string_length(item)));
    }
    size_t share = CALL_EVIDENCE_BYTES / (call->n_pages > 0 ? call->n_pages : 1);
    call->evidence_bytes = share < PAGE_EVIDENCE_BYTES ? share : PAGE_EVIDENCE_BYTES;
    int64_t left = tool_time_left_ms(run);
    call->margin_ms = left < 40000 ? left / 10 : 4000;
    tool_set_state(run, call, free_call);
    tool_wait(run, 0, begin, call);
    tool_wait(run, left - call->margin_ms, on_nearly_late, call);
}

static void visit_cancel(struct tool *self, struct tool_run *run)
{
    (void)self;
    cancel_lookups(tool_state(run));
}

/* ---- the tool ---- */

static bool visit_check(struct tool *self, struct buf *line)
{
    struct visit_tool *tool = (struct visit_tool *)self;
    buf_add_text(line, tool->reader == VISIT_READER_JINA ? "reads through Jina Reader" : "reads pages itself");
    if (tool->reader == VISIT_READER_JINA && !tool->jina_key)
        buf_add_text(line, " (no JINA_API_KEY: at a lower rate)");
    buf_add_text(line, tool->summarizer == VISIT_SUMMARY_MODEL ? "; a language model, where there is one, sums them up"
                                                               : "; passages are picked");
    if (!tool->corpus)
        return true;
    struct corpus *corpus;
    struct error error;
    if (corpus_pool_take(tool->corpus, &corpus, &error) != STATUS_OK) {
        buf_addf(line, "; the corpus does not open: %s", error.message);
        return false;
    }
    corpus_pool_give(tool->corpus, corpus);
    return true;
}

static void visit_destroy(struct tool *self)
{
    struct visit_tool *tool = (struct visit_tool *)self;
    signature_finish(&tool->signature);
    corpus_pool_destroy(tool->corpus);
    free(tool->jina_url);
    free(tool->jina_key);
    free(tool);
}

static int64_t or_default(int64_t value, int64_t fallback)
{
    return value > 0 ? value : fallback;
}

static void copy_options(struct visit_tool *tool, const struct visit_options *options)
{
    tool->summarizer = options->summarizer;
    tool->reader = options->reader;
    tool->jina_url = mem_strdup(options->jina_url ? options->jina_url : VISIT_JINA_URL);
    tool->jina_key = mem_strdup_or_null(options->jina_key);
    tool->guard = options->guard;
    if (options->corpus_path)
        tool->corpus = corpus_pool_create(options->corpus_path);
    tool->max_bytes = options->max_bytes > 0 ? options->max_bytes : VISIT_DEFAULT_MAX_BYTES;
    tool->max_parallel = (size_t)or_default(options->max_parallel, 6);
    tool->page_timeout_ms = or_default(options->page_timeout_ms, VISIT_DEFAULT_TIMEOUT_MS);
    tool->whole_page_tokens = or_default(options->whole_page_tokens, VISIT_WHOLE_PAGE_TOKENS);
    tool->max_redirects = (int)or_default(options->max_redirects, VISIT_DEFAULT_MAX_REDIRECTS);
    tool->tries = (unsigned)or_default(options->tries, 2);
    tool->chance = (uint64_t)(uintptr_t)tool;
}

enum status visit_tool_create(const struct visit_options *options, struct tool **out, struct error *error)
{
    struct str text = options->signature;
    if (text.len == 0 && !embed_find("tools/visit/signature.json", &text))
        return error_set(error, STATUS_NOT_FOUND, "the program was built without the signature of visit");
    struct visit_tool *tool = mem_zalloc(sizeof *tool);
    enum status status = signature_load(text, &tool->signature, error);
    if (status != STATUS_OK) {
        free(tool);
        return status;
    }
    copy_options(tool, options);
    tool->tool = (struct tool){
        .signature = &tool->signature,
        .idempotent = true,
        .timeout_ms = or_default(options->timeout_ms, 200000),
        .start = visit_start,
        .cancel = visit_cancel,
        .check = visit_check,
        .destroy = visit_destroy,
    };
    *out = &tool->tool;
    return STATUS_OK;
}
