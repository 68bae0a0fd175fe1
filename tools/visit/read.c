/* A page's bytes, or a document of the corpus, to clean Markdown: on the pool; what takes a confined process goes to
 * the worker first. */
#include "net/url.h"
#include "protocol/clean.h"
#include "readers/reader.h"
#include "text/token_estimate.h"
#include "tools/common/document.h"
#include "tools/visit/network.h"

#include <stdlib.h>

static void set_text(struct visit_page *page, struct str markdown)
{
    buf_reset(&page->text);
    page->read_status = clean_text(&page->text, str_trim(markdown));
    if (page->read_status != STATUS_OK)
        error_set(&page->read_error, page->read_status, "the text is too long");
    page->text_tokens = token_estimate_text(buf_str(&page->text));
}

/* A file without a type may be longer than a page may be. Of its text the beginning is better than nothing. */
static struct str readable_part(struct visit_page *page)
{
    struct str body = buf_str(&page->body);
    size_t most = page->call->tool->max_bytes;
    if (body.len <= most)
        return body;
    page->truncated = true;
    return str_slice(body, 0, most);
}

/* Whether a page is the frame of a program: a place for scripts to write to, and hardly a word. */
static bool is_shell(struct str body, struct str text)
{
    static const char *const places[] = {
        "id=\"root\"", "id=\"app\"", "id=\"__next\"",  "id=\"__nuxt\"",
        "<app-root",   "ng-app",     "data-reactroot", "id=\"svelte\"",
    };
    if (text.len > 150 || str_find_nocase(body, STR("<script"), 0) == STR_NONE)
        return false;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (str_find_nocase(body, str_of(places[i]), 0) != STR_NONE)
            return true;
    }
    return false;
}

static void read_body(struct visit_page *page, struct str name)
{
    const struct reader_source source = {
        .bytes = readable_part(page),
        .name = name,
        .content_type = str_of(page->content_type),
        .url = str_of(page->base_url),
        .max_bytes = page->call->tool->max_bytes,
        .cancel = tool_cancel_flag(page->call->run),
    };
    struct reader_text text;
    page->read_status = reader_read(&source, &text, &page->read_error);
    if (page->read_status != STATUS_OK)
        return;
    page->title = line_make(str_of(text.title), 300);
    page->author = text.author ? line_make(str_of(text.author), 200) : NULL;
    page->date = text.date ? line_make(str_of(text.date), 40) : NULL;
    page->truncated = page->truncated || text.truncated;
    set_text(page, buf_str(&text.markdown));
    page->is_shell = text.kind == READER_HTML && is_shell(source.bytes, buf_str(&page->text));
    reader_text_finish(&text);
}

static void work(void *user)
{
    struct visit_page *page = user;
    struct url parts = {0};
    visit_copy_write(page);
    if (page->is_text) {
        set_text(page, buf_str(&page->body));
        buf_finish(&page->body);
        return;
    }
    if (url_parse(str_of(page->base_url), &parts, NULL) != STATUS_OK)
        parts = (struct url){0};
    page->is_shell = false;
    page->is_document = page->call->tool->documents &&
                        reader_needs_confinement(buf_str(&page->body), str_of(parts.path), str_of(page->content_type));
    if (!page->is_document) {
        read_body(page, str_of(parts.path));
        if (!page->call->tool->take) /* who takes pages reads them again, in another way */
            buf_finish(&page->body);
    }
    url_finish(&parts);
}

/* ---- documents ---- */

static void on_document(void *user, struct document_result *result)
{
    struct visit_page *page = user;
    if (visit_page_over(page))
        return;
    char *detail = str_dup(str_trim(result->detail));
    bool paper = result->kind && *result->kind >= READER_PDF && *result->kind <= READER_OFFICE;
    if (result->status == STATUS_OK) {
        page->title = line_make(result->title, 300);
        page->author = result->author.len > 0 ? line_make(result->author, 200) : NULL;
        page->date = result->date.len > 0 ? line_make(result->date, 40) : NULL;
        page->truncated = page->truncated || result->truncated;
        if (result->notice.len > 0)
            tool_report_notice(page->call->run, "%s: %.*s", page->url, STR_ARG(result->notice));
        page->body = result->markdown;
        result->markdown = (struct buf){0};
        page->is_text = true;
        visit_read(page);
    } else if (paper && result->status != STATUS_DENIED) { /* an outside reader may be luckier */
        visit_page_lost(page, VISIT_FAULT_BLOCKED, detail, "it is a document that could not be read (%s).",
                        result->error.message);
    } else {
        visit_page_failed(page, detail, "it is no page of text (%s).", result->error.message);
    }
    free(detail);
}

static void read_document(struct visit_page *page)
{
    struct visit_tool *tool = page->call->tool;
    struct url parts = {0};
    if (page->truncated) {
        visit_page_failed(page, NULL, "it is a document of more than %zu MB, which is too large.",
                          tool->network->max_document_bytes >> 20);
        return;
    }
    if (url_parse(str_of(page->base_url), &parts, NULL) != STATUS_OK)
        parts = (struct url){0};
    const struct document_request request = {
        .descriptor = -1,
        .bytes = buf_str(&page->body),
        .name = str_of(parts.path),
        .content_type = str_of(page->content_type),
        .url = str_of(page->base_url),
        .max_text = tool->max_bytes,
        .timeout_ms = tool_time_left_ms(page->call->run) - page->call->margin_ms,
    };
    tool_document(page->call->run, tool->documents, &request, on_document, page);
    buf_finish(&page->body);
    url_finish(&parts);
}

static void on_read(void *user)
{
    struct visit_page *page = user;
    if (visit_page_over(page))
        return;
    const char *detail = page->read_error.message;
    visit_copy_say(page);
    if (page->is_document && !page->is_text)
        read_document(page);
    else if (page->read_status == STATUS_OK && (page->text.len == 0 || page->is_shell))
        visit_page_lost(page, VISIT_FAULT_BLOCKED, NULL,
                        "it holds no text (it may be made by scripts, which this program does not run).");
    else if (page->read_status == STATUS_OK)
        visit_page_read(page);
    else if (page->read_status == STATUS_UNSUPPORTED)
        visit_page_failed(page, NULL, "it is no page of text (%s).", detail);
    else if (page->read_status == STATUS_TOO_BIG)
        visit_page_failed(page, detail, "it is too large.");
    else
        visit_page_failed(page, detail, "its contents are broken.");
}

void visit_read(struct visit_page *page)
{
    page->read_status = STATUS_CANCELED; /* unless the job runs */
    tool_work(page->call->run, work, on_read, page);
}

static void look_up(void *user)
{
    struct visit_page *page = user;
    struct visit_tool *tool = page->call->tool;
    struct corpus *corpus;
    char *title = NULL, *link = NULL;
    page->read_status = corpus_pool_take(tool->corpus, &corpus, &page->read_error);
    if (page->read_status != STATUS_OK) {
        page->read_status = STATUS_IO; /* a missing file is not a missing document */
        return;
    }
    buf_finish(&page->body);
    buf_init(&page->body, tool->max_bytes);
    page->read_status = corpus_document(corpus, str_of(page->url), &title, &link, &page->body, &page->read_error);
    corpus_pool_give(tool->corpus, corpus);
    if (page->read_status != STATUS_OK)
        return;
    page->title = line_make(str_of(title), 300);
    free(title);
    free(link);
    set_text(page, buf_str(&page->body));
    buf_finish(&page->body);
}

static void on_looked_up(void *user)
{
    struct visit_page *page = user;
    if (visit_page_over(page))
        return;
    if (page->read_status == STATUS_NOT_FOUND)
        visit_page_failed(page, NULL, "the local collection has no such document; use a link that a search gave.");
    else if (page->read_status == STATUS_IO || page->read_status == STATUS_INVALID)
        visit_page_failed(page, page->read_error.message, "the local collection of documents could not be read.");
    else
        on_read(page);
}

void visit_read_corpus(struct visit_page *page)
{
    if (!page->call->tool->corpus) {
        visit_page_failed(page, "corpus:// links need a corpus: --corpus FILE",
                          "there is no local collection of documents in this run.");
        return;
    }
    page->read_status = STATUS_CANCELED;
    tool_work(page->call->run, look_up, on_looked_up, page);
}
