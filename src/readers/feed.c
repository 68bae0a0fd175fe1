/* RSS 0.9x to 2.0, RDF and Atom (RFC 4287): a heading for each item, with its link, date and text. */
#include <stddef.h>
#include <string.h>

#include "readers/writer.h"
#include "readers/xml.h"
#include "text/html/html.h"

#define MAX_ITEMS 5000
#define MAX_FIELD ((size_t)1 << 20)

struct item {
    struct buf title, link, date, author, summary, content;
    bool has_link; /* an Atom link of the kind that is wanted was seen */
};

struct feed {
    struct reading *reading;
    struct reader_text *out;
    struct writer writer;
    struct item channel, item;
    bool in_item, in_author;
    struct buf *field;
    int depth, field_depth;
    int items;
    bool xhtml; /* the field's markup is XML and not text */
};

static void item_init(struct item *item)
{
    struct buf *all[] = {&item->title, &item->link, &item->date, &item->author, &item->summary, &item->content};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        buf_init(all[i], MAX_FIELD);
    item->has_link = false;
}

static void item_finish(struct item *item)
{
    struct buf *all[] = {&item->title, &item->link, &item->date, &item->author, &item->summary, &item->content};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        buf_finish(all[i]);
}

/* Text of a feed is HTML more often than not: titles with entities, summaries with tags. */
static void append_markdown(struct feed *feed, struct str html, struct buf *out)
{
    struct html_page page;
    const struct html_options options = {
        .base_url = feed->reading->source->url, .whole_page = true, .drop_links = feed->reading->source->drop_links};
    html = str_trim(html);
    bool markup = str_find_char(html, '<', 0) != STR_NONE || str_find_char(html, '&', 0) != STR_NONE;
    if (!markup) {
        if (buf_append_str(out, html) != STATUS_OK)
            return;
    } else if (html_to_markdown(html, &options, &page, NULL) == STATUS_OK) {
        enum status status = buf_append_str(out, str_trim(buf_str(&page.markdown)));
        html_page_finish(&page);
        if (status != STATUS_OK)
            return;
    }
}

static void write_item(struct feed *feed)
{
    struct item *item = &feed->item;
    struct buf title, text, line;
    buf_init(&title, MAX_FIELD);
    buf_init(&text, MAX_FIELD);
    buf_init(&line, BUF_UNBOUNDED);
    append_markdown(feed, buf_str(&item->title), &title);
    writer_heading(&feed->writer, 2, title.len ? buf_str(&title) : STR("(no title)"));
    struct str link = str_trim(buf_str(&item->link)), date = str_trim(buf_str(&item->date));
    struct str author = str_trim(buf_str(&item->author));
    append_line(&line, link);
    if (date.len) {
        buf_add_text(&line, line.len ? " · " : "");
        buf_add(&line, str_slice(date, 0, 100));
    }
    if (author.len) {
        buf_add_text(&line, line.len ? " · " : "");
        append_line(&line, str_slice(author, 0, 300));
    }
    writer_raw(&feed->writer, buf_str(&line));
    writer_break(&feed->writer);
    append_markdown(feed, item->content.len ? buf_str(&item->content) : buf_str(&item->summary), &text);
    writer_document(&feed->writer, buf_str(&text), 2);
    writer_break(&feed->writer);
    buf_finish(&title);
    buf_finish(&text);
    buf_finish(&line);
    feed->items++;
}

/* The address of an Atom link, which is an attribute; the one for people is wanted. */
static void take_atom_link(struct item *item, const struct xml_element *element)
{
    struct str relation = xml_attribute(element, "rel"), address = xml_attribute(element, "href");
    bool wanted = !relation.len || str_equal(relation, STR("alternate"));
    if (!address.len || item->has_link || (!wanted && item->link.len))
        return;
    buf_reset(&item->link);
    item->has_link = wanted && buf_append_str(&item->link, address) == STATUS_OK;
}

static struct buf *field_of(struct feed *feed, struct item *item, const struct xml_element *element)
{
    static const struct {
        const char *name;
        size_t offset;
    } fields[] = {
        {"title", offsetof(struct item, title)},         {"link", offsetof(struct item, link)},
        {"pubDate", offsetof(struct item, date)},        {"published", offsetof(struct item, date)},
        {"updated", offsetof(struct item, date)},        {"date", offsetof(struct item, date)},
        {"creator", offsetof(struct item, author)},      {"author", offsetof(struct item, author)},
        {"description", offsetof(struct item, summary)}, {"summary", offsetof(struct item, summary)},
        {"subtitle", offsetof(struct item, summary)},    {"encoded", offsetof(struct item, content)},
        {"content", offsetof(struct item, content)},
    };
    if (feed->in_author && xml_is(element, "name"))
        return &item->author;
    bool foreign = xml_in(element, "/mrss/") || xml_in(element, "/podcast-1.0.dtd"); /* media:title and others */
    for (size_t i = 0; !foreign && i < sizeof fields / sizeof fields[0]; i++) {
        struct buf *field = (struct buf *)((char *)item + fields[i].offset);
        if (xml_is(element, fields[i].name))
            return field->len ? NULL : field; /* the first of each counts */
    }
    return NULL;
}

/* Inside XHTML: the tag as text, for the HTML reader. */
static void add_tag(struct feed *feed, const struct xml_element *element)
{
    struct str address = xml_attribute(element, "href");
    struct buf tag;
    buf_init(&tag, BUF_UNBOUNDED);
    buf_addf(&tag, "<%s", element->name);
    if (address.len && str_find_char(address, '"', 0) == STR_NONE)
        buf_addf(&tag, " href=\"%.*s\"", STR_ARG(address));
    buf_add_char(&tag, '>');
    if (buf_append_str(feed->field, buf_str(&tag)) != STATUS_OK)
        feed->field = NULL;
    buf_finish(&tag);
}

static void on_start(void *user, const struct xml_element *element)
{
    struct feed *feed = user;
    feed->depth++;
    if (feed->field) {
        if (feed->xhtml)
            add_tag(feed, element);
        return;
    }
    if (!feed->in_item && (xml_is(element, "item") || xml_is(element, "entry"))) {
        item_finish(&feed->item);
        item_init(&feed->item);
        feed->in_item = true;
        return;
    }
    struct item *item = feed->in_item ? &feed->item : &feed->channel;
    if (xml_is(element, "link") && xml_attribute(element, "href").len) {
        take_atom_link(item, element);
        return;
    }
    if (xml_is(element, "author") && xml_in(element, "/Atom")) {
        feed->in_author = true;
        return;
    }
    feed->field = field_of(feed, item, element);
    feed->field_depth = feed->depth;
    feed->xhtml = str_equal(xml_attribute(element, "type"), STR("xhtml"));
}

static void on_end(void *user, const char *name)
{
    struct feed *feed = user;
    if (feed->field && feed->depth == feed->field_depth) {
        feed->field = NULL;
    } else if (feed->field && feed->xhtml) {
        struct buf tag;
        buf_init(&tag, BUF_UNBOUNDED);
        buf_addf(&tag, "</%s>", name);
        if (buf_append_str(feed->field, buf_str(&tag)) != STATUS_OK)
            feed->field = NULL;
        buf_finish(&tag);
    } else if (strcmp(name, "author") == 0) {
        feed->in_author = false;
    } else if (feed->in_item && (strcmp(name, "item") == 0 || strcmp(name, "entry") == 0)) {
        feed->in_item = false;
        if (feed->items < MAX_ITEMS && !feed->writer.full)
            write_item(feed);
    }
    feed->depth--;
}

static void on_text(void *user, struct str text)
{
    struct feed *feed = user;
    if (!feed->field)
        return;
    if (!feed->xhtml) {
        if (buf_append_str(feed->field, text) != STATUS_OK)
            feed->field = NULL;
        return;
    }
    for (size_t i = 0; i < text.len && feed->field; i++) {
        struct str piece = text.data[i] == '<'   ? STR("&lt;")
                           : text.data[i] == '&' ? STR("&amp;")
                                                 : str_slice(text, i, i + 1);
        if (buf_append_str(feed->field, piece) != STATUS_OK)
            feed->field = NULL;
    }
}

enum status feed_read(struct reading *reading, struct str text, struct reader_text *out, struct error *error)
{
    static const struct xml_handler handler = {on_start, on_end, on_text};
    struct feed feed = {.reading = reading, .out = out};
    struct buf items, title, about;
    bool damaged;
    buf_init(&items, out->markdown.cap);
    buf_init(&title, 1000);
    buf_init(&about, MAX_FIELD);
    item_init(&feed.channel);
    item_init(&feed.item);
    writer_init(&feed.writer, &items);
    const struct xml_source source = {.bytes = text, .utf8 = true};
    enum status status = xml_parse(reading, &source, &handler, &feed, &damaged, error);
    if (status == STATUS_OK) {
        struct writer writer;
        writer_init(&writer, &out->markdown);
        append_markdown(&feed, str_slice(buf_str(&feed.channel.title), 0, 1000), &title);
        writer_heading(&writer, 1, buf_str(&title));
        append_markdown(&feed, buf_str(&feed.channel.summary), &about);
        writer_paragraph(&writer, buf_str(&about));
        writer_raw(&writer, buf_str(&items));
        out->title = title.len ? buf_take(&title) : NULL;
        out->truncated = out->truncated || writer.full || feed.writer.full || feed.items == MAX_ITEMS;
        if (damaged)
            reading_note(reading, "The feed's XML is damaged; what could be read of it is here.");
    }
    item_finish(&feed.channel);
    item_finish(&feed.item);
    buf_finish(&items);
    buf_finish(&title);
    buf_finish(&about);
    return status;
}
