#include "text/html.h"

#include <libxml/HTMLparser.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/utf8.h"
#include "text/html_internal.h"

#define DEFAULT_CAP ((size_t)32 << 20)

/* The tree of a tamed page; NULL when there is nothing in it. No entity but HTML's own is known, and nothing is loaded.
 */
static htmlDocPtr parse(struct str tamed)
{
    if (!tamed.len || tamed.len > INT_MAX)
        return NULL;
    /* what libxml2 sets up at its first use is not safe against a second thread: two first pages at once can hang */
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, xmlInitParser);
    htmlParserCtxtPtr context = htmlNewParserCtxt();
    if (!context)
        return NULL;
    int options =
        HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING | HTML_PARSE_NONET | HTML_PARSE_COMPACT;
    /* without HUGE, text below a depth of 256 is lost */
    htmlDocPtr document =
        htmlCtxtReadMemory(context, tamed.data, (int)tamed.len, NULL, "UTF-8", options | (int)XML_PARSE_HUGE);
    htmlFreeParserCtxt(context);
    return document;
}

static bool is_canceled(const struct html_options *options)
{
    return options->cancel && atomic_load_explicit(options->cancel, memory_order_relaxed);
}

static void convert(htmlDocPtr document, struct str json_ld, const struct html_options *options, struct html_page *out)
{
    xmlNode *root = xmlDocGetRootElement(document);
    if (!root || is_canceled(options))
        return;
    char *base = html_base(root, options->base_url);
    html_read_meta(root, json_ld, str_of(base), out);
    struct node_info *infos;
    xmlNode *main = html_find_main(root, options->whole_page, &infos);
    if (!is_canceled(options))
        out->truncated = !html_write(main, str_of(base), options->drop_links, &out->markdown);
    free(infos);
    free(base);
}

enum status html_to_markdown(struct str html, const struct html_options *options, struct html_page *out,
                             struct error *error)
{
    struct html_options chosen = options ? *options : (struct html_options){0};
    size_t max_input = chosen.max_input_bytes ? chosen.max_input_bytes : DEFAULT_CAP;
    if (html.len > max_input)
        return error_set(error, STATUS_TOO_BIG, "the page is larger than %zu bytes", max_input);
    struct buf valid, tamed, json_ld;
    buf_init(&valid, BUF_UNBOUNDED);
    buf_init(&tamed, BUF_UNBOUNDED);
    buf_init(&json_ld, BUF_UNBOUNDED);
    if (!utf8_is_valid(html) && utf8_append_valid(&valid, html) == STATUS_OK)
        html = buf_str(&valid);
    html_tame(html, &tamed, &json_ld);
    buf_finish(&valid);
    htmlDocPtr document = is_canceled(&chosen) ? NULL : parse(buf_str(&tamed));
    buf_finish(&tamed);
    struct html_page page = {0};
    buf_init(&page.markdown, chosen.max_text_bytes ? chosen.max_text_bytes : DEFAULT_CAP);
    if (document) {
        convert(document, buf_str(&json_ld), &chosen, &page);
        xmlFreeDoc(document);
    }
    buf_finish(&json_ld);
    if (is_canceled(&chosen)) {
        html_page_finish(&page);
        return error_set(error, STATUS_CANCELED, "the conversion was stopped");
    }
    *out = page;
    return STATUS_OK;
}

void html_page_finish(struct html_page *page)
{
    if (!page)
        return;
    buf_finish(&page->markdown);
    free(page->title);
    free(page->canonical_url);
    free(page->author);
    free(page->date);
    free(page->site_name);
    free(page->description);
    free(page->language);
    *page = (struct html_page){0};
}

bool html_is_likely(struct str bytes)
{
    static const char *const starts[] = {"<!doctype html", "<html", "<head",   "<body", "<title",
                                         "<meta",          "<div",  "<p>",     "<h1",   "<table",
                                         "<script",        "<main", "<article"};
    bytes = str_slice(bytes, 0, 4096);
    if (str_starts_with(bytes, STR("\xEF\xBB\xBF")))
        bytes = str_slice(bytes, 3, bytes.len);
    for (;;) {
        bytes = str_trim_start(bytes);
        bool comment = str_starts_with(bytes, STR("<!--"));
        if (!comment && !str_starts_with(bytes, STR("<?xml")))
            break;
        struct str end = comment ? STR("-->") : STR("?>");
        size_t at = str_find(bytes, end, 0);
        if (at == STR_NONE)
            return false;
        bytes = str_slice(bytes, at + end.len, bytes.len);
    }
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (str_starts_with_nocase(bytes, str_of(starts[i])))
            return true;
    return false;
}
