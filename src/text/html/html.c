#include "text/html/html.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/utf8.h"
#include "text/html/content.h"
#include "text/html/meta.h"
#include "text/html/tree.h"
#include "text/html/write.h"

#define DEFAULT_CAP     ((size_t)32 << 20)
#define LITTLE_TEXT     400 /* bytes; a page that shows less may have told its text to search engines alone */
#define NEXT_TO_NOTHING 60  /* bytes; a page that shows less gets its description, too */

static bool is_canceled(const struct html_options *options)
{
    return options->cancel && atomic_load_explicit(options->cancel, memory_order_relaxed);
}

/* `html` as the parser wants it: valid, without NULs. `room` gets the copy where one is needed. */
static struct str made_clean(struct str html, struct buf *room)
{
    buf_init(room, BUF_UNBOUNDED);
    if (!utf8_is_valid(html)) {
        if (utf8_append_valid(room, html) != STATUS_OK)
            return (struct str){0};
        html = buf_str(room);
    }
    if (str_find_char(html, '\0', 0) == STR_NONE)
        return html;
    struct buf kept;
    buf_init(&kept, BUF_UNBOUNDED);
    struct str piece;
    while (str_split_next(&html, '\0', &piece))
        buf_add(&kept, piece);
    buf_finish(room);
    *room = kept;
    return buf_str(room);
}

/* The first <base href>, empty when there is none. */
static struct str base_href(const struct html_tree *tree)
{
    for (uint32_t i = 1; i < tree->count && tree->nodes[i].element != HTML_BODY; i++)
        if (tree->nodes[i].element == HTML_BASE && html_tree_has(tree, &tree->nodes[i], HTML_ATTRIBUTE_HREF))
            return html_tree_attribute(tree, &tree->nodes[i], HTML_ATTRIBUTE_HREF);
    return (struct str){0};
}

/* Writes a text in which tags count, a line for each paragraph. False when the cap was reached. */
static bool write_told(struct str told, const struct html_write_options *how, struct buf *out)
{
    struct buf html, room;
    struct html_tree tree;
    buf_init(&html, BUF_UNBOUNDED);
    for (struct str line; str_split_next(&told, '\n', &line);) {
        buf_add_text(&html, "<p>");
        buf_add(&html, line);
        buf_add_char(&html, '\n');
    }
    html_tree_parse(made_clean(buf_str(&html), &room), &tree);
    uint8_t *marks = mem_alloc(tree.count);
    html_mark_content(&tree, &(struct html_content_options){.whole_page = true}, marks);
    bool all = html_tree_write(&tree, marks, how, out);
    free(marks);
    html_tree_finish(&tree);
    buf_finish(&room);
    buf_finish(&html);
    return all;
}

/* Pages that show their text by scripts alone mostly tell it to search engines: it is put below the
 * little that is there. */
static void take_told(const struct html_meta *meta, const struct html_write_options *how, struct html_page *page)
{
    struct str told = str_of(meta->body ? meta->body : meta->description ? meta->description : "");
    struct buf *out = &page->markdown, written;
    if (out->len >= LITTLE_TEXT || !told.len)
        return;
    buf_init(&written, out->cap);
    bool all = write_told(told, how, &written);
    bool much = meta->body && written.len >= 2 * out->len + LITTLE_TEXT;
    if (much || (out->len < NEXT_TO_NOTHING && written.len > 2 * out->len)) {
        if (str_find(buf_str(&written), str_trim(buf_str(out)), 0) != STR_NONE ||
            buf_append_char(out, '\n') != STATUS_OK)
            buf_reset(out);
        size_t fits = utf8_floor(buf_str(&written), out->cap - out->len);
        page->truncated = !all || fits < written.len || buf_append(out, written.data, fits) != STATUS_OK;
    }
    buf_finish(&written);
}

/* What a reader sees of a page that has no content, a footer. Where there are scripts nobody sees the notes to those
 * who run none. */
static void take_all(const struct html_tree *tree, const struct html_write_options *how, struct html_page *page)
{
    bool scripted = false;
    uint8_t *marks = mem_alloc(tree->count);
    html_mark_content(tree, &(struct html_content_options){.whole_page = true}, marks);
    for (uint32_t i = 1; i < tree->count && !scripted; i++)
        scripted = tree->nodes[i].element == HTML_SCRIPT;
    for (uint32_t i = 1; i < tree->count && scripted; i++)
        marks[i] |= tree->nodes[i].element == HTML_NOSCRIPT ? MARK_DROPPED : 0;
    buf_reset(&page->markdown);
    page->truncated = !html_tree_write(tree, marks, how, &page->markdown);
    free(marks);
}

static void take_meta(struct html_meta *meta, struct html_page *page)
{
    page->title = meta->title;
    page->canonical_url = meta->canonical_url;
    page->author = meta->author;
    page->date = meta->date;
    page->modified = meta->modified;
    page->site_name = meta->site_name;
    page->description = meta->description;
    page->language = meta->language;
    meta->title = meta->canonical_url = meta->author = meta->date = meta->modified = NULL;
    meta->site_name = meta->description = meta->language = NULL;
}

static void convert(const struct html_tree *tree, const struct html_options *options, struct html_page *page)
{
    uint8_t *marks = mem_alloc(tree->count);
    html_mark_content(tree, &(struct html_content_options){options->whole_page, options->comments}, marks);
    struct html_meta meta = {0};
    if (!is_canceled(options))
        html_meta_read(tree, marks, options->base_url, &meta);
    struct html_base base;
    html_base_init(&base, options->base_url, base_href(tree));
    const struct html_write_options how = {
        .base = &base, .drop_links = options->drop_links, .plain_text = options->plain_text};
    if (!is_canceled(options))
        page->truncated = !html_tree_write(tree, marks, &how, &page->markdown);
    if (!is_canceled(options))
        take_told(&meta, &how, page);
    if (!is_canceled(options) && !str_trim(buf_str(&page->markdown)).len)
        take_all(tree, &how, page);
    take_meta(&meta, page);
    html_meta_finish(&meta);
    html_base_finish(&base);
    free(marks);
}

enum status html_to_markdown(struct str html, const struct html_options *options, struct html_page *out,
                             struct error *error)
{
    struct html_options chosen = options ? *options : (struct html_options){0};
    size_t max_input = chosen.max_input_bytes ? chosen.max_input_bytes : DEFAULT_CAP;
    if (html.len > max_input || html.len > INT_MAX)
        return error_set(error, STATUS_TOO_BIG, "the page is larger than %zu bytes", max_input);
    struct buf room;
    struct html_tree tree;
    struct html_page page = {0};
    buf_init(&page.markdown, chosen.max_text_bytes ? chosen.max_text_bytes : DEFAULT_CAP);
    html_tree_parse(made_clean(html, &room), &tree);
    if (!is_canceled(&chosen))
        convert(&tree, &chosen, &page);
    html_tree_finish(&tree);
    buf_finish(&room);
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
    free(page->modified);
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
