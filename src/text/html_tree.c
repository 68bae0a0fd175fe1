/* Small helpers over libxml2's tree. */
#include <libxml/uri.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/utf8.h"
#include "text/html_internal.h"

#define MAX_LINK_BYTES 2048

bool html_is(const xmlNode *node, const char *name)
{
    return node && node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

struct str html_attribute(const xmlNode *node, const char *name)
{
    for (const xmlAttr *attribute = node->properties; attribute; attribute = attribute->next) {
        if (strcmp((const char *)attribute->name, name) != 0)
            continue;
        const xmlNode *value = attribute->children;
        return value && value->type == XML_TEXT_NODE ? str_of((const char *)value->content) : STR("");
    }
    return (struct str){0};
}

xmlNode *html_next(xmlNode *node, const xmlNode *root, bool skip)
{
    if (!skip && node->type == XML_ELEMENT_NODE && node->children)
        return node->children;
    while (node != root && !node->next)
        node = node->parent;
    return node == root ? NULL : node->next;
}

void html_collect_text(xmlNode *node, size_t max_bytes, struct buf *out)
{
    size_t limit = out->len + max_bytes;
    bool space = false, any = false;
    for (xmlNode *at = node; at && out->len < limit; at = html_next(at, node, false)) {
        space = space || html_is(at, "br") ||
                (at->type == XML_ELEMENT_NODE && html_element_flags(str_of((const char *)at->name)) & ELEMENT_BLOCK);
        if (at->type != XML_TEXT_NODE)
            continue;
        struct str text = str_of((const char *)at->content);
        text = str_slice(text, 0, utf8_floor(text, limit - out->len));
        for (size_t i = 0; i < text.len; i++) {
            if (ascii_is_space(text.data[i])) {
                space = true;
                continue;
            }
            if (space && any)
                buf_add_char(out, ' ');
            buf_add_char(out, text.data[i]);
            space = false;
            any = true;
        }
    }
}

char *html_base(xmlNode *root, struct str page_url)
{
    for (xmlNode *node = root; node; node = html_next(node, root, false)) {
        if (html_is(node, "base")) {
            struct str href = html_attribute(node, "href");
            char *resolved = href.len ? html_resolve(page_url, href) : NULL;
            if (resolved)
                return resolved;
        }
        if (html_is(node, "body"))
            break;
    }
    return str_dup(page_url);
}

static bool has_scheme(struct str reference, struct str *scheme)
{
    size_t colon = str_find_char(reference, ':', 0);
    if (colon == STR_NONE || colon == 0 || colon > 24 || !ascii_is_alpha(reference.data[0]))
        return false;
    for (size_t i = 0; i < colon; i++)
        if (!ascii_is_alnum(reference.data[i]) && !strchr("+-.", reference.data[i]))
            return false;
    *scheme = str_slice(reference, 0, colon);
    return true;
}

char *html_resolve(struct str base, struct str reference)
{
    reference = str_trim(reference);
    if (!reference.len || reference.data[0] == '#' || reference.len > MAX_LINK_BYTES)
        return NULL;
    struct str scheme;
    bool absolute = has_scheme(reference, &scheme);
    if (absolute && !str_equal_ascii_nocase(scheme, STR("http")) && !str_equal_ascii_nocase(scheme, STR("https")))
        return NULL;
    struct buf clean;
    buf_init(&clean, BUF_UNBOUNDED);
    for (size_t i = 0; i < reference.len; i++)
        if (reference.data[i] != '\n' && reference.data[i] != '\r' && reference.data[i] != '\t')
            buf_add_char(&clean, reference.data[i] == '\\' ? '/' : reference.data[i]);
    char *cleaned = buf_take(&clean);
    xmlChar *escaped = xmlURIEscapeStr((const xmlChar *)cleaned, (const xmlChar *)":/?#[]@!$&'()*+,;=%-._~");
    char *base_text = str_dup(base);
    xmlChar *joined = base.len && escaped ? xmlBuildURI(escaped, (const xmlChar *)base_text) : NULL;
    char *result = joined ? mem_strdup((const char *)joined) : escaped ? mem_strdup((const char *)escaped) : NULL;
    xmlFree(joined);
    xmlFree(escaped);
    free(base_text);
    free(cleaned);
    return result;
}
