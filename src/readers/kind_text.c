#include "readers/kind_text.h"

#include "text/html/html.h"

struct str media_type(struct str content_type)
{
    return str_trim(str_slice(content_type, 0, str_find_char(content_type, ';', 0)));
}

bool feed_is_likely(struct str text)
{
    static const struct str roots[] = {STR("<rss"), STR("<feed"), STR("<rdf:RDF")};
    struct str head = str_slice(text, 0, 4096);
    if (str_starts_with(head, STR("\xEF\xBB\xBF")))
        head = str_slice(head, 3, head.len);
    head = str_trim_start(head);
    while (str_starts_with(head, STR("<?")) || str_starts_with(head, STR("<!"))) {
        bool comment = str_starts_with(head, STR("<!--"));
        size_t end = str_find_char(head, '>', 0), subset = str_find_char(head, '[', 0);
        if (comment)
            end = str_find(head, STR("-->"), 0);
        else if (subset < end) /* declarations inside the document type's */
            end = str_find(head, STR("]>"), subset);
        if (end == STR_NONE)
            return false;
        head = str_trim_start(str_slice(head, str_find_char(head, '>', end) + 1, head.len));
    }
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++)
        if (str_starts_with(head, roots[i]) && head.len > roots[i].len &&
            (ascii_is_space(head.data[roots[i].len]) || head.data[roots[i].len] == '>'))
            return i != 2 || str_find(head, STR("purl.org/rss/"), 0) != STR_NONE;
    return false;
}

/* Whether text begins like a mail: header lines, some of which only mail has. */
static bool mail_is_likely(struct str text)
{
    static const struct str names[] = {STR("From:"),     STR("To:"),           STR("Subject:"),   STR("Date:"),
                                       STR("Received:"), STR("MIME-Version:"), STR("Message-ID:")};
    struct str line;
    unsigned found = 0;
    text = str_slice(text, 0, 16384);
    if (str_starts_with(text, STR("From ")))
        str_split_next(&text, '\n', &line);
    while (str_split_next(&text, '\n', &line)) {
        line = str_trim_end(line);
        if (!line.len)
            break;
        if (line.data[0] == ' ' || line.data[0] == '\t')
            continue;
        size_t colon = str_find_char(line, ':', 0);
        if (colon == STR_NONE || str_find_char(str_slice(line, 0, colon), ' ', 0) != STR_NONE)
            return false;
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            if (str_starts_with_nocase(line, names[i]))
                found |= 1u << i;
    }
    return __builtin_popcount(found) >= 3;
}

static bool is_type(struct str type, const char *const *types)
{
    for (; *types; types++)
        if (str_equal_ascii_nocase(type, str_of(*types)))
            return true;
    return false;
}

static bool is_json_type(struct str type)
{
    return str_ends_with(type, STR("/json")) || str_ends_with(type, STR("+json"));
}

/* Kinds that a type or an ending names beyond doubt. */
static bool kind_by_label(struct str text, struct str name, struct str type, enum reader_kind *kind)
{
    static const char *const tables[] = {".csv", ".tsv", ".tab", NULL};
    static const char *const lines[] = {".jsonl", ".ndjson", NULL};
    static const char *const table_types[] = {"text/csv", "text/tab-separated-values", "application/csv", NULL};
    static const char *const line_types[] = {"application/jsonl", "application/x-ndjson", "application/jsonlines",
                                             NULL};
    static const char *const notebooks[] = {".ipynb", NULL}, *const mails[] = {".eml", NULL};
    bool html = html_is_likely(text);
    if (is_type(type, table_types) || (name_ends(name, tables) && !html))
        *kind = READER_TABLE;
    else if (is_type(type, line_types) || name_ends(name, lines))
        *kind = READER_JSON_LINES;
    else if (name_ends(name, notebooks) || str_equal_ascii_nocase(type, STR("application/x-ipynb+json")))
        *kind = READER_NOTEBOOK;
    else if (str_equal_ascii_nocase(type, STR("message/rfc822")) || (name_ends(name, mails) && mail_is_likely(text)))
        *kind = READER_MAIL;
    else
        return false;
    return true;
}

enum reader_kind text_kind_of(struct str text, struct str name, struct str content_type)
{
    static const char *const markdown[] = {".md", ".markdown", ".mkd", ".mdx", NULL};
    static const char *const html[] = {".html", ".htm", ".xhtml", ".shtml", NULL};
    static const char *const json[] = {".json", ".jsonld", ".geojson", NULL};
    static const char *const xml[] = {".xml", ".rss", ".atom", ".xsd", ".fb2", ".svg", NULL};
    static const char *const plain[] = {".txt", ".text", ".rst", ".log", NULL};
    struct str type = media_type(content_type);
    enum reader_kind kind;
    bool is_plain = str_equal_ascii_nocase(type, STR("text/plain"));
    if (str_equal_ascii_nocase(type, STR("text/troff")) || str_find_nocase(type, STR("troff-man"), 0) != STR_NONE ||
        reader_is_man_name(name))
        return man_is_likely(text) ? READER_MAN : READER_TEXT;
    if (kind_by_label(text, name, type, &kind))
        return kind;
    if (name_ends(name, markdown) || str_equal_ascii_nocase(type, STR("text/markdown")))
        return str_equal_ascii_nocase(type, STR("text/html")) ? READER_HTML : READER_MARKDOWN;
    if (feed_is_likely(text))
        return READER_FEED;
    if (str_equal_ascii_nocase(type, STR("text/html")) || str_equal_ascii_nocase(type, STR("application/xhtml+xml")))
        return READER_HTML;
    if (name_ends(name, plain) || (is_plain && !html_is_likely(text)))
        return READER_TEXT;
    if (html_is_likely(text) || (!type.len && name_ends(name, html)))
        return READER_HTML;
    if (is_json_type(type) || name_ends(name, json))
        return READER_JSON;
    if (str_ends_with(type, STR("/xml")) || str_ends_with(type, STR("+xml")) || name_ends(name, xml) ||
        str_starts_with(str_trim_start(text), STR("<?xml")))
        return READER_XML;
    if (!name.len && !type.len && man_is_likely(text))
        return READER_MAN;
    return READER_TEXT;
}
