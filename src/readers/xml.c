#include "readers/xml.h"

#include <libxml/HTMLparser.h>
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <pthread.h>
#include <string.h>

#define CHECK_EVERY    64    /* reads, or start tags, between two looks at the clock */
#define MAX_ATTRIBUTES 10000 /* of one element: libxml2 compares each with each */

/* Where a walk through the raw bytes stands, which counts the attributes of a tag before the parser sees it. */
struct lexer {
    enum { LEX_TEXT, LEX_OPEN, LEX_TAG, LEX_COMMENT, LEX_DATA, LEX_INSTRUCTION, LEX_DECLARATION } state;
    char quote;          /* inside a value: what ends it */
    char before[2];      /* the two bytes before */
    unsigned attributes; /* of the tag at hand */
};

struct parse {
    const struct reading *reading;
    const struct xml_source *source;
    const struct xml_handler *handler;
    void *user;
    xmlParserCtxt *context;
    size_t offset; /* in source->bytes */
    unsigned reads, starts;
    struct lexer lexer;
    enum status status;
    struct error *error;
    xmlEntity entity; /* the last named character of HTML that a feed used */
    unsigned char entity_text[8];
};

static void stop(struct parse *parse, enum status status)
{
    parse->status = status;
    xmlStopParser(parse->context);
}

static void lex_open(struct lexer *lexer, char c)
{
    lexer->quote = 0;
    lexer->attributes = 0;
    lexer->state = c == '!' ? LEX_DECLARATION : c == '?' ? LEX_INSTRUCTION : LEX_TAG;
}

static void lex_byte(struct lexer *lexer, char c)
{
    const char *before = lexer->before;
    switch (lexer->state) {
    case LEX_TEXT:
        lexer->state = c == '<' ? LEX_OPEN : LEX_TEXT;
        break;
    case LEX_OPEN:
        lex_open(lexer, c);
        break;
    case LEX_TAG:
        if (lexer->quote)
            lexer->quote = c == lexer->quote ? 0 : lexer->quote;
        else if (c == '"' || c == '\'')
            lexer->quote = c;
        else if (c == '>')
            lexer->state = LEX_TEXT;
        lexer->attributes += c == '=' && !lexer->quote;
        break;
    case LEX_DECLARATION: /* a comment, data, or the document type's */
        if (c == '-' && before[1] == '-')
            lexer->state = LEX_COMMENT;
        else if (c == '[' && before[1] == 'A')
            lexer->state = LEX_DATA;
        else if (c == '>')
            lexer->state = LEX_TEXT;
        break;
    case LEX_COMMENT:
        lexer->state = c == '>' && before[0] == '-' && before[1] == '-' ? LEX_TEXT : LEX_COMMENT;
        break;
    case LEX_DATA:
        lexer->state = c == '>' && before[0] == ']' && before[1] == ']' ? LEX_TEXT : LEX_DATA;
        break;
    case LEX_INSTRUCTION:
        lexer->state = c == '>' && before[1] == '?' ? LEX_TEXT : LEX_INSTRUCTION;
        break;
    }
    lexer->before[0] = lexer->before[1];
    lexer->before[1] = c;
}

/* Looks over bytes that the parser is about to get; ends the parse at a tag that would take it forever. */
static int look_over(struct parse *parse, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (parse->lexer.state == LEX_TEXT) { /* nearly all of it */
            const char *next = memchr(bytes + i, '<', count - i);
            if (!next)
                return (int)count;
            i = (size_t)(next - bytes);
        }
        if (bytes[i])
            lex_byte(&parse->lexer, bytes[i]);
        if (parse->lexer.attributes > MAX_ATTRIBUTES) {
            parse->status =
                error_set(parse->error, STATUS_REFUSED, "its XML holds an element with thousands of attributes");
            return 0;
        }
    }
    return (int)count;
}

static int read_more(void *user, char *out, int size)
{
    struct parse *parse = user;
    if (parse->status == STATUS_OK && parse->reads++ % CHECK_EVERY == 0)
        parse->status = reading_check(parse->reading, parse->error);
    if (parse->status != STATUS_OK || size <= 0)
        return 0;
    if (parse->source->read) {
        ssize_t count = parse->source->read(parse->source->read_user, out, (size_t)size);
        if (count < 0)
            parse->status = STATUS_IO;
        return count < 0 ? 0 : look_over(parse, out, (size_t)count);
    }
    struct str piece = str_slice(parse->source->bytes, parse->offset, parse->offset + (size_t)size);
    if (piece.len)
        memcpy(out, piece.data, piece.len);
    parse->offset += piece.len;
    return look_over(parse, out, piece.len);
}

static struct parse *parse_of(void *context)
{
    return ((xmlParserCtxt *)context)->_private;
}

static void on_start(void *context, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri, int n_namespaces,
                     const xmlChar **namespaces, int n_attributes, int n_defaulted, const xmlChar **attributes)
{
    (void)prefix, (void)n_namespaces, (void)namespaces, (void)n_defaulted;
    struct parse *parse = parse_of(context);
    /* a tag alone can cost time that grows with the namespaces around it */
    if (parse->status == STATUS_OK && parse->starts++ % CHECK_EVERY == 0) {
        enum status status = reading_check(parse->reading, parse->error);
        if (status != STATUS_OK)
            stop(parse, status);
    }
    if (parse->status != STATUS_OK || !parse->handler->start)
        return;
    const struct xml_element element = {(const char *)name, uri ? (const char *)uri : "", n_attributes, attributes};
    parse->handler->start(parse->user, &element);
}

static void on_end(void *context, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri)
{
    (void)prefix, (void)uri;
    struct parse *parse = parse_of(context);
    if (parse->status == STATUS_OK && parse->handler->end)
        parse->handler->end(parse->user, (const char *)name);
}

static void on_text(void *context, const xmlChar *text, int length)
{
    struct parse *parse = parse_of(context);
    if (parse->status == STATUS_OK && parse->handler->text)
        parse->handler->text(parse->user, str_make((const char *)text, (size_t)length));
}

static void refuse(struct parse *parse)
{
    if (parse->status == STATUS_OK)
        error_set(parse->error, STATUS_REFUSED, "its XML declares entities or attributes of its own");
    stop(parse, STATUS_REFUSED);
}

static void on_entity(void *context, const xmlChar *name, int type, const xmlChar *public_id, const xmlChar *system_id,
                      xmlChar *content)
{
    (void)name, (void)type, (void)public_id, (void)system_id, (void)content;
    refuse(parse_of(context));
}

static void on_attribute(void *context, const xmlChar *element, const xmlChar *name, int type, int fallback,
                         const xmlChar *value, xmlEnumeration *tree)
{
    (void)element, (void)name, (void)type, (void)fallback, (void)value;
    xmlFreeEnumeration(tree); /* is the handler's */
    refuse(parse_of(context));
}

/* Feeds use HTML's names (&nbsp;) without declaring them. */
static xmlEntity *find_entity(void *context, const xmlChar *name)
{
    struct parse *parse = parse_of(context);
    xmlEntity *known = xmlGetPredefinedEntity(name);
    const htmlEntityDesc *html = known ? NULL : htmlEntityLookup(name);
    if (!html)
        return known;
    int length = xmlCopyCharMultiByte(parse->entity_text, (int)html->value);
    parse->entity_text[length] = 0;
    parse->entity = (xmlEntity){
        .type = XML_ENTITY_DECL,
        .name = name,
        .content = parse->entity_text,
        .orig = parse->entity_text,
        .length = length,
        .etype = XML_INTERNAL_PREDEFINED_ENTITY,
    };
    return &parse->entity;
}

static void ignore(void *user, xmlErrorPtr problem)
{
    (void)user, (void)problem;
}

static void set_up(void)
{
    xmlInitParser();
}

enum status xml_parse(const struct reading *reading, const struct xml_source *source, const struct xml_handler *handler,
                      void *user, bool *damaged, struct error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_up);
    struct error unused;
    struct parse parse = {
        .reading = reading, .source = source, .handler = handler, .user = user, .error = error ? error : &unused};
    xmlSAXHandler sax = {
        .initialized = XML_SAX2_MAGIC,
        .startElementNs = on_start,
        .endElementNs = on_end,
        .characters = on_text,
        .ignorableWhitespace = on_text,
        .cdataBlock = on_text,
        .entityDecl = on_entity,
        .attributeDecl = on_attribute,
        .getEntity = find_entity,
        .serror = ignore,
    };
    parse.context = xmlCreateIOParserCtxt(&sax, NULL, read_more, NULL, &parse,
                                          source->utf8 ? XML_CHAR_ENCODING_UTF8 : XML_CHAR_ENCODING_NONE);
    if (!parse.context)
        return error_set(error, STATUS_IO, "the XML parser cannot be used");
    parse.context->_private = &parse;
    xmlCtxtUseOptions(parse.context, XML_PARSE_NONET | XML_PARSE_RECOVER | XML_PARSE_NOENT | XML_PARSE_HUGE |
                                         (source->utf8 ? XML_PARSE_IGNORE_ENC : 0));
    parse.context->sax->serror = ignore;
    xmlParseDocument(parse.context);
    if (damaged)
        *damaged = !parse.context->wellFormed;
    xmlDoc *leftover = parse.context->myDoc;
    xmlFreeParserCtxt(parse.context);
    if (leftover)
        xmlFreeDoc(leftover);
    return parse.status;
}

/* ---- attributes ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), wanted = strlen(end);
    return length >= wanted && memcmp(text + length - wanted, end, wanted) == 0;
}

static const unsigned char **find(const struct xml_element *element, const char *space_end, const char *name)
{
    for (int i = 0; i < element->n_attributes; i++) {
        const unsigned char **attribute = element->attributes + 5 * i;
        if (strcmp((const char *)attribute[0], name) != 0)
            continue;
        if (!space_end || (attribute[2] && ends_with((const char *)attribute[2], space_end)))
            return attribute;
    }
    return NULL;
}

static struct str value_of(const unsigned char **attribute)
{
    if (!attribute)
        return (struct str){0};
    return str_make((const char *)attribute[3], (size_t)(attribute[4] - attribute[3]));
}

struct str xml_attribute(const struct xml_element *element, const char *name)
{
    return value_of(find(element, NULL, name));
}

bool xml_has_attribute(const struct xml_element *element, const char *name)
{
    return find(element, NULL, name) != NULL;
}

int64_t xml_integer(const struct xml_element *element, const char *name, int64_t fallback)
{
    int64_t value;
    return str_to_int64(xml_attribute(element, name), &value) ? value : fallback;
}

struct str xml_attribute_of(const struct xml_element *element, const char *space_end, const char *name)
{
    return value_of(find(element, space_end, name));
}

bool xml_is(const struct xml_element *element, const char *name)
{
    return strcmp(element->name, name) == 0;
}

bool xml_in(const struct xml_element *element, const char *space_end)
{
    return ends_with(element->space, space_end);
}
