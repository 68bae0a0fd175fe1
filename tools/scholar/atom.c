/* arXiv's Atom feeds, by libxml2. */
#include "tools/scholar/paper.h"

#include <libxml/parser.h>
#include <libxml/tree.h>
#include <limits.h>
#include <string.h>

#define ATOM "http://www.w3.org/2005/Atom"

/* Limits of libxml2 stay on (no XML_PARSE_HUGE): nesting of 256, texts of 10 MB. */
enum { PARSE_OPTIONS = XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_NOCDATA };

static bool is_element(const xmlNode *node, const char *name)
{
    return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

static const xmlNode *child(const xmlNode *parent, const char *name)
{
    const xmlNode *node = parent ? parent->children : NULL;
    while (node && !is_element(node, name))
        node = node->next;
    return node;
}

/* The text of an element without elements in it, as all of these are; the parser leaves it in one piece or a few. */
static struct str text_of(const xmlNode *element, struct buf *room)
{
    buf_reset(room);
    for (const xmlNode *node = element ? element->children : NULL; node; node = node->next) {
        if ((node->type == XML_TEXT_NODE || node->type == XML_CDATA_SECTION_NODE) && node->content)
            buf_add_text(room, (const char *)node->content);
    }
    return str_trim(buf_str(room));
}

static struct str attribute(const xmlNode *element, const char *name)
{
    for (const xmlAttr *attr = element->properties; attr; attr = attr->next) {
        if (strcmp((const char *)attr->name, name) == 0 && attr->children && attr->children->content)
            return str_of((const char *)attr->children->content);
    }
    return STR("");
}

/* The address of the link with this value of an attribute. */
static struct str link_with(const xmlNode *entry, const char *name, struct str value)
{
    for (const xmlNode *node = entry->children; node; node = node->next) {
        if (is_element(node, "link") && str_equal(attribute(node, name), value))
            return attribute(node, "href");
    }
    return STR("");
}

/* What an entry is made of; the texts live in `rooms`. */
struct entry {
    struct buf title, summary, published, authors, doi, journal, venue;
};

static void add_authors(const xmlNode *entry, struct buf *out)
{
    struct buf room;
    size_t count = 0;
    buf_init(&room, BUF_UNBOUNDED);
    for (const xmlNode *node = entry->children; node; node = node->next) {
        if (is_element(node, "author"))
            paper_add_author(out, &count, text_of(child(node, "name"), &room));
    }
    buf_finish(&room);
}

/* Where it was published, else arXiv and its subject. */
static struct str venue_of(const xmlNode *entry, struct buf *room)
{
    struct str journal = text_of(child(entry, "journal_ref"), room);
    if (journal.len > 0)
        return journal;
    const xmlNode *category = child(entry, "primary_category");
    struct str term = category ? attribute(category, "term") : STR("");
    buf_reset(room);
    buf_add_text(room, "arXiv");
    if (term.len > 0)
        buf_addf(room, " (%.*s)", STR_ARG(term));
    return buf_str(room);
}

static void read_entry(struct papers *papers, const xmlNode *node)
{
    struct entry entry;
    struct buf *const rooms[] = {&entry.title, &entry.summary, &entry.published, &entry.authors,
                                 &entry.doi,   &entry.journal, &entry.venue};
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++)
        buf_init(rooms[i], BUF_UNBOUNDED);
    add_authors(node, &entry.authors);
    papers_add(papers, &(struct paper_draft){
                           .title = text_of(child(node, "title"), &entry.title),
                           .url = link_with(node, "rel", STR("alternate")),
                           .pdf = link_with(node, "title", STR("pdf")),
                           .authors = buf_str(&entry.authors),
                           .venue = venue_of(node, &entry.venue),
                           .year = text_of(child(node, "published"), &entry.published),
                           .abstract = text_of(child(node, "summary"), &entry.summary),
                           .doi = text_of(child(node, "doi"), &entry.doi),
                           .citations = -1,
                       });
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++)
        buf_finish(rooms[i]);
}

/* An error is a feed with one entry of this title, whose identifier lies below /api/errors. */
static bool is_error(const xmlNode *entry, struct error *error)
{
    struct buf room;
    buf_init(&room, BUF_UNBOUNDED);
    bool found = str_equal(text_of(child(entry, "title"), &room), STR("Error")) &&
                 str_find(text_of(child(entry, "id"), &room), STR("/api/errors"), 0) != STR_NONE;
    if (found) {
        struct str words = text_of(child(entry, "summary"), &room);
        error_set(error, STATUS_UNSUPPORTED, "%.*s", STR_ARG(words));
    }
    buf_finish(&room);
    return found;
}

static enum status read_feed(struct papers *papers, const xmlNode *root, struct error *error)
{
    if (!root || !is_element(root, "feed") || !root->ns || strcmp((const char *)root->ns->href, ATOM) != 0)
        return error_set(error, STATUS_SYNTAX, "it is no Atom feed");
    for (const xmlNode *node = root->children; node; node = node->next) {
        if (!is_element(node, "entry"))
            continue;
        if (is_error(node, error))
            return STATUS_UNSUPPORTED;
        read_entry(papers, node);
    }
    return STATUS_OK;
}

enum status papers_read_arxiv(struct papers *papers, struct str atom, struct error *error)
{
    /* Looked for before the parser sees them: it resolves entities of attributes by itself. The encoding is given, so
     * that the declaration cannot hide in another one. */
    if (str_find(atom, STR("<!DOCTYPE"), 0) != STR_NONE || str_find(atom, STR("<!ENTITY"), 0) != STR_NONE)
        return error_set(error, STATUS_SYNTAX, "it has a document type declaration");
    if (atom.len == 0 || atom.len > INT_MAX)
        return error_set(error, STATUS_SYNTAX, "it is no Atom feed");
    xmlDoc *document = xmlReadMemory(atom.data, (int)atom.len, NULL, "UTF-8", PARSE_OPTIONS);
    if (!document)
        return error_set(error, STATUS_SYNTAX, "it is no XML");
    enum status status = read_feed(papers, xmlDocGetRootElement(document), error);
    xmlFreeDoc(document);
    return status;
}
