/* A page's bytes, or a document of the corpus, to clean Markdown: on the pool. */
#include "net/url.h"
#include "protocol/clean.h"
#include "readers/reader.h"
#include "text/token_estimate.h"
#include "tools/visit/internal.h"

#include <stdlib.h>

static void set_text(struct visit_page *page, struct str markdown)
{
    buf_reset(&page->text);
    page->read_status = clean_text(&page->text, str_trim(markdown));
    if (page->read_status != STATUS_OK)
        error_set(&page->read_error, page->read_status, "the text is too long");
    page->text_tokens = token_estimate_text(buf_str(&page->text));
}

static void read_body(struct visit_page *page)
{
    struct url parts = {0};
    if (url_parse(str_of(page->base_url), &parts, NULL) != STATUS_OK)
        parts = (struct url){0};
    const struct reader_source source = {
        .bytes = buf_str(&page->body),
        .name = str_of(parts.path),
        .content_type = str_of(page->content_type),
        .url = str_of(page->base_url),
        .max_bytes = page->call->tool->max_bytes,
        .cancel = tool_cancel_flag(page->call->run),
    };
    struct reader_text text;
    page->read_status = reader_read(&source, &text, &page->read_error);
    if (page->read_status == STATUS_OK) {
        page->title = line_make(str_of(text.title), 300);
        page->truncated = page->truncated || text.truncated;
        set_text(page, buf_str(&text.markdown));
        reader_text_finish(&text);
    }
    url_finish(&parts);
}

static void work(void *user)
{
    struct visit_page *page = user;
    if (page->is_text)
        set_text(page, buf_str(&page->body));
    else
        read_body(page);
    buf_finish(&page->body);
}

static void on_read(void *user)
{
    struct visit_page *page = user;
    if (visit_page_over(page))
        return;
    const char *detail = page->read_error.message;
    if (page->read_status == STATUS_OK && page->text.len > 0)
        visit_sum_up(page);
    else if (page->read_status == STATUS_OK)
        visit_page_failed(page, NULL, "it holds no text (it may be made by scripts, which this program does not run).");
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
