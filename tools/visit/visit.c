#include "tools/visit/visit.h"

#include "core/embed.h"
#include "core/mem.h"
#include "net/resolve.h"
#include "net/url.h"
#include "text/selection.h"
#include "tools/visit/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    selection_destroy(page->selection);
    page->selection = NULL;
    buf_finish(&page->text);
    buf_finish(&page->part);
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

static struct str str_or_empty(const char *text)
{
    return text ? str_of(text) : STR("");
}

void visit_page_hand_over(const struct visit_page *page)
{
    const struct visit_tool *tool = page->call->tool;
    const struct visit_taken taken = {
        .index = page->index,
        .url = str_of(page->url),
        .problem = page->state == PAGE_FAILED ? page->problem : NULL,
        .base_url = str_or_empty(page->base_url),
        .content_type = str_or_empty(page->content_type),
        .body = page->is_text ? STR("") : buf_str(&page->body),
        .text = buf_str(&page->text),
        .title = str_or_empty(page->title),
        .author = str_or_empty(page->author),
        .date = str_or_empty(page->date),
        .truncated = page->truncated,
    };
    tool->take(tool->take_user, &taken);
}

void visit_page_give_up(struct visit_page *page)
{
    page->state = PAGE_FAILED;
    if (page->call->tool->take)
        visit_page_hand_over(page);
    settle(page, PAGE_FAILED);
}

static void start_page(struct visit_page *page)
{
    struct visit_call *call = page->call;
    page->state = PAGE_FETCHING;
    call->n_active++;
    switch (page->kind) {
    case VISIT_WEB:
        visit_plan_ways(page);
        visit_start_way(page);
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
        if (call->tool->take)
            visit_page_hand_over(page);
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
    visit_fetching_free(page);
    free(page->url);
    free(page->key);
    free(page->address);
    free(page->readable);
    free(page->target);
    free(page->title);
    free(page->author);
    free(page->date);
    free(page->base_url);
    free(page->content_type);
    buf_finish(&page->body);
    selection_destroy(page->selection);
    page->selection = NULL;
    buf_finish(&page->text);
    buf_finish(&page->part);
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
    for (size_t i = 0; i < call->n_visited; i++)
        free(call->visited[i]);
    free(call->visited);
    free(call->pages);
    free(call);
}

static bool has_page(const struct visit_call *call, const char *key)
{
    for (size_t i = 0; i < call->n_pages; i++) {
        if (strcmp(call->pages[i].key, key) == 0)
            return true;
    }
    return false;
}

static void note_visited(struct visit_call *call, const char *address)
{
    if (!address)
        return;
    call->visited = mem_realloc(call->visited, call->n_visited + 1, sizeof *call->visited);
    call->visited[call->n_visited++] = url_identity(str_of(address));
}

static void find_addresses(struct visit_page *page, struct str fragment)
{
    char *inside = visit_unwrap(str_of(page->url));
    page->address = inside ? inside : mem_strdup(page->url);
    page->readable = visit_readable(str_of(page->address), inside ? STR("") : fragment);
    note_visited(page->call, page->url);
    note_visited(page->call, inside);
    note_visited(page->call, page->readable);
}

/* One for all spellings of an address. A fragment counts where it says what is read, as the sheet of a table does. */
static char *page_key(const struct visit_page *page)
{
    char *canonical = NULL;
    if (page->kind != VISIT_WEB || url_canonical(str_of(page->url), &canonical, NULL) != STATUS_OK)
        return mem_strdup(page->url);
    char *key = mem_printf("%s\n%s", canonical, page->readable ? page->readable : "");
    free(canonical);
    return key;
}

static void take_page(struct visit_call *call, struct str given, size_t index)
{
    struct visit_page *page = &call->pages[call->n_pages];
    char *fragment = NULL;
    page->call = call;
    page->index = index;
    page->url = visit_address_clean(given, &page->kind, &page->assumed_scheme, &fragment);
    if (page->kind == VISIT_WEB)
        find_addresses(page, str_of(fragment));
    free(fragment);
    page->key = page_key(page);
    if (has_page(call, page->key)) {
        free_page(page);
        *page = (struct visit_page){0};
        return;
    }
    call->n_pages++;
    buf_init(&page->body, BUF_UNBOUNDED);
    buf_init(&page->text, BUF_UNBOUNDED);
    buf_init(&page->part, BUF_UNBOUNDED);
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
        take_page(call, str_make(json_string_value(item), json_string_length(item)), index);
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
    for (size_t i = 0; i < tool->n_fallbacks; i++)
        buf_addf(line, "%s%s", i == 0 ? "; where that fails, asks " : ", then ",
                 tool->fallbacks[i] == VISIT_FALLBACK_JINA ? "Jina Reader" : "the Internet Archive");
    if (tool->reader == VISIT_READER_JINA && !tool->jina_key)
        buf_add_text(line, " (no JINA_API_KEY: at a lower rate)");
    buf_add_text(line, tool->summarizer == VISIT_SUMMARY_MODEL ? "; a language model, where there is one, sums them up"
                                                               : "; passages are picked");
    buf_add_text(line, tool->network->cache ? "; keeps pages in a cache" : "; keeps no pages");
    if (tool->network->robots)
        buf_add_text(line, ", heeds robots.txt");
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
    visit_network_destroy(tool->network);
    free(tool->jina_url);
    free(tool->jina_key);
    free(tool->archive_url);
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
    tool->archive_url = mem_strdup(options->archive_url ? options->archive_url : VISIT_ARCHIVE_URL);
    tool->n_fallbacks = options->n_fallbacks;
    memcpy(tool->fallbacks, options->fallbacks, sizeof tool->fallbacks);
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
    tool->documents = options->documents;
    tool->network = visit_network_create(options);
    tool->take = options->take;
    tool->take_user = options->take_user;
}

enum status visit_tool_create(const struct visit_options *options, struct tool **out, struct error *error)
{
    struct str text = options->signature;
    if (options->n_fallbacks > VISIT_MAX_FALLBACKS)
        return error_set(error, STATUS_INVALID, "there are no more than %d fallbacks", VISIT_MAX_FALLBACKS);
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
