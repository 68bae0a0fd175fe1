#include "text/html/hints.h"

#include <string.h>

#define MIN_TOLD 60 /* bytes of a string in JSON-LD that tells of the text */

uint32_t word_reader_gram(const struct word_reader *reader)
{
    if (reader->words < 4)
        return 0;
    uint32_t gram = reader->history[0];
    for (size_t i = 1; i < 3; i++)
        gram = gram * 2654435761u ^ reader->history[i];
    return gram ^ gram >> 13;
}

uint32_t word_reader_end(struct word_reader *reader)
{
    uint32_t hash = reader->hash;
    if (!hash)
        return 0;
    reader->words++;
    reader->history[2] = reader->history[1];
    reader->history[1] = reader->history[0];
    reader->history[0] = hash;
    reader->hash = 0;
    return hash;
}

static bool is_word_byte(unsigned char c)
{
    return c >= 0x80 || ascii_is_alnum((char)c);
}

static void set_bit(uint64_t *bits, uint32_t n_bits, uint32_t hash)
{
    uint32_t bit = (hash ^ hash >> 15) & (n_bits - 1);
    bits[bit / 64] |= (uint64_t)1 << (bit % 64);
}

/* The bytes that punctuation outside ASCII takes, 0 when `at` is none: general punctuation and CJK marks. */
static size_t skip_punctuation(const char *at, size_t left)
{
    const unsigned char *c = (const unsigned char *)at;
    if (left >= 2 && c[0] == 0xC2)
        return 2;
    if (left >= 3 && ((c[0] == 0xE2 && c[1] <= 0x82) || (c[0] == 0xE3 && c[1] == 0x80)))
        return 3;
    return 0;
}

enum told { TOLD_TITLE, TOLD_BODY, TOLD_DESCRIPTION };

static void end_word(struct word_reader *reader, enum told told, struct html_hints *hints)
{
    uint32_t hash = word_reader_end(reader), gram = word_reader_gram(reader);
    if (!hash)
        return;
    if (told == TOLD_TITLE) {
        hints->title_size += !hint_has(hints->title, HINT_TITLE_BITS, hash);
        set_bit(hints->title, HINT_TITLE_BITS, hash);
    } else if (gram) {
        hints->body_size += told == TOLD_BODY;
        set_bit(told == TOLD_BODY ? hints->bodies : hints->descriptions, HINT_GRAM_BITS, gram);
    }
}

/* `escaped`: a string of JSON as it is written; \n and the like separate words. */
static void add_text(struct html_hints *hints, enum told told, struct str text, bool escaped)
{
    struct word_reader reader = {0};
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        size_t mark = c >= 0x80 ? skip_punctuation(text.data + i, text.len - i) : 0;
        if (escaped && c == '\\') {
            end_word(&reader, told, hints);
            i++;
        } else if (mark) {
            end_word(&reader, told, hints);
            i += mark - 1;
        } else if (is_word_byte(c)) {
            word_reader_add(&reader, (unsigned char)ascii_lower((char)c));
        } else {
            end_word(&reader, told, hints);
        }
    }
    end_word(&reader, told, hints);
}

static unsigned kind_of_type(struct str type)
{
    static const struct {
        const char *name;
        unsigned kind;
    } kinds[] = {{"Article", KIND_ARTICLE},
                 {"NewsArticle", KIND_ARTICLE},
                 {"BlogPosting", KIND_ARTICLE},
                 {"TechArticle", KIND_ARTICLE},
                 {"ReportageNewsArticle", KIND_ARTICLE},
                 {"Product", KIND_PRODUCT},
                 {"ProductGroup", KIND_PRODUCT},
                 {"QAPage", KIND_FORUM},
                 {"DiscussionForumPosting", KIND_FORUM},
                 {"Question", 0},
                 {"ItemList", KIND_LIST},
                 {"CollectionPage", KIND_LIST},
                 {"SearchResultsPage", KIND_LIST},
                 {"FAQPage", KIND_FAQ}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (str_equal(type, str_of(kinds[i].name)))
            return kinds[i].kind;
    return 0;
}

/* The end of the string of JSON that begins behind the quotation mark before `from`. */
static size_t string_end(struct str json, size_t from)
{
    while (from < json.len && json.data[from] != '"')
        from += json.data[from] == '\\' ? 2 : 1;
    return from < json.len ? from : json.len;
}

/* Goes through the strings of a JSON text, well formed or not; one before a colon is the key of the next. */
static void read_json_ld(struct str json, struct html_hints *hints)
{
    struct str key = {0};
    for (size_t i = 0; i < json.len; i++) {
        if (json.data[i] != '"')
            continue;
        size_t end = string_end(json, i + 1);
        struct str value = str_slice(json, i + 1, end);
        i = end;
        size_t next = end + 1;
        while (next < json.len && ascii_is_space(json.data[next]))
            next++;
        if (next < json.len && json.data[next] == ':') {
            key = value;
            continue;
        }
        if (str_equal(key, STR("@type")))
            hints->kinds |= kind_of_type(value);
        if (value.len < MIN_TOLD)
            continue;
        if (str_equal(key, STR("articleBody")) || str_equal(key, STR("text")) || str_equal(key, STR("reviewBody")))
            add_text(hints, TOLD_BODY, value, true);
        else if (str_equal(key, STR("description")))
            add_text(hints, TOLD_DESCRIPTION, value, true);
    }
}

static void read_meta(const struct html_tree *tree, const struct html_node *node, struct html_hints *hints)
{
    struct str content = html_tree_attribute(tree, node, HTML_ATTRIBUTE_CONTENT);
    struct str name = html_tree_attribute(tree, node, HTML_ATTRIBUTE_PROPERTY);
    if (!name.len)
        name = html_tree_attribute(tree, node, HTML_ATTRIBUTE_NAME);
    if (str_equal_ascii_nocase(name, STR("og:title")))
        add_text(hints, TOLD_TITLE, content, false);
    else if (str_equal_ascii_nocase(name, STR("description")) || str_equal_ascii_nocase(name, STR("og:description")))
        add_text(hints, TOLD_DESCRIPTION, content, false);
    else if (str_equal_ascii_nocase(name, STR("og:type")))
        hints->kinds |= str_equal_ascii_nocase(content, STR("article"))      ? KIND_OG_ARTICLE
                        : str_starts_with_nocase(content, STR("product"))    ? KIND_OG_PRODUCT
                        : str_starts_with_nocase(content, STR("og:product")) ? KIND_OG_PRODUCT
                                                                             : KIND_OG_OTHER;
}

/* Whether the page or its main part is named as a forum or one of its threads. */
static bool is_named_forum(const struct html_tree *tree, const struct html_node *node)
{
    static const enum html_attribute named[] = {HTML_ATTRIBUTE_CLASS, HTML_ATTRIBUTE_ID};
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        struct str name = html_tree_attribute(tree, node, named[i]);
        if (str_find_nocase(name, STR("forum"), 0) != STR_NONE || str_find_nocase(name, STR("thread"), 0) != STR_NONE)
            return true;
    }
    return false;
}

void html_hints_read(const struct html_tree *tree, struct html_hints *hints)
{
    bool titled = false;
    memset(hints, 0, sizeof *hints);
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct html_node *node = &tree->nodes[i];
        bool has_text = i + 1 < node->end && tree->nodes[i + 1].element == HTML_TEXT;
        if (node->element == HTML_META) {
            read_meta(tree, node, hints);
        } else if (node->element == HTML_TITLE && !titled && has_text) {
            titled = true;
            add_text(hints, TOLD_TITLE, tree->nodes[i + 1].text, false);
        } else if (node->element == HTML_SCRIPT && has_text) {
            struct str type = str_trim(html_tree_attribute(tree, node, HTML_ATTRIBUTE_TYPE));
            if (str_starts_with_nocase(type, STR("application/ld+json")))
                read_json_ld(tree->nodes[i + 1].text, hints);
        } else if ((node->element == HTML_BODY || node->element == HTML_MAIN) && is_named_forum(tree, node)) {
            hints->kinds |= KIND_FORUM;
        }
    }
}
