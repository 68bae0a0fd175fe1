#include "text/html/blocks.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/mem.h"
#include "text/html/blocks_internal.h"
#include "text/html/panels.h"
#include "text/html/visible.h"

#define RUNNING_LENGTH 60  /* characters that make a block one of running text */
#define MUCH_HIDDEN    200 /* characters of it */
#define NAME_CACHE     512

/* ---- what an element says of itself ---- */

static const uint32_t places[HTML_ELEMENTS] = {
    [HTML_STRONG] = PLACE_STRONG,    [HTML_B] = PLACE_STRONG,        [HTML_H1] = PLACE_HEADING,
    [HTML_H2] = PLACE_HEADING,       [HTML_H3] = PLACE_HEADING,      [HTML_H4] = PLACE_HEADING,
    [HTML_H5] = PLACE_HEADING,       [HTML_H6] = PLACE_HEADING,      [HTML_NAV] = PLACE_NAV,
    [HTML_ASIDE] = PLACE_ASIDE,      [HTML_FOOTER] = PLACE_FOOTER,   [HTML_HEADER] = PLACE_HEADER,
    [HTML_MAIN] = PLACE_MAIN,        [HTML_ARTICLE] = PLACE_ARTICLE, [HTML_FORM] = PLACE_FORM,
    [HTML_UL] = PLACE_LIST,          [HTML_OL] = PLACE_LIST,         [HTML_TABLE] = PLACE_TABLE,
    [HTML_FIGURE] = PLACE_FIGURE,    [HTML_BUTTON] = PLACE_BUTTON,   [HTML_DL] = PLACE_DEFINITIONS,
    [HTML_BLOCKQUOTE] = PLACE_QUOTE, [HTML_DETAILS] = PLACE_DETAILS, [HTML_NOSCRIPT] = PLACE_NOSCRIPT,
    [HTML_PRE] = PLACE_CODE,         [HTML_CODE] = PLACE_CODE,       [HTML_DIALOG] = PLACE_DIALOG,
    [HTML_SECTION] = PLACE_SECTION,  [HTML_TIME] = PLACE_TIME,       [HTML_LABEL] = PLACE_LABEL,
    [HTML_SUMMARY] = PLACE_SUMMARY,  [HTML_SEARCH] = PLACE_FORM,     [HTML_MENU] = PLACE_LIST,
};

static uint32_t place_of_role(struct str role)
{
    static const struct {
        const char *role;
        uint32_t place;
    } roles[] = {{"main", PLACE_MAIN},          {"article", PLACE_ARTICLE},    {"navigation", PLACE_NAV},
                 {"menu", PLACE_NAV},           {"menubar", PLACE_NAV},        {"toolbar", PLACE_NAV},
                 {"banner", PLACE_HEADER},      {"contentinfo", PLACE_FOOTER}, {"complementary", PLACE_ASIDE},
                 {"search", PLACE_FORM},        {"form", PLACE_FORM},          {"dialog", PLACE_DIALOG},
                 {"alertdialog", PLACE_DIALOG}, {"alert", PLACE_DIALOG},       {"button", PLACE_BUTTON},
                 {"list", PLACE_LIST},          {"heading", PLACE_HEADING},    {"table", PLACE_TABLE},
                 {"grid", PLACE_TABLE}};
    role = str_trim(role);
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
        if (str_equal_ascii_nocase(role, str_of(roles[i].role)))
            return roles[i].place;
    return 0;
}

static uint32_t place_of_property(struct str property)
{
    static const char *const bodies[] = {"articleBody", "text", "description", "reviewBody"};
    property = str_trim(property);
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        if (str_equal_ascii_nocase(property, str_of(bodies[i])))
            return PLACE_BODY_PROPERTY;
    return str_equal_ascii_nocase(property, STR("comment")) ? PLACE_COMMENT : PLACE_PROPERTY;
}

struct cutter {
    const struct html_tree *tree;
    struct html_blocks *out;
    size_t capacity;
    struct html_names names;
    struct {
        uint64_t hash;
        uint32_t names, signature;
    } cache[NAME_CACHE];
    struct block_reader reader;
    uint32_t link;         /* the last link element */
    uint32_t counted_link; /* in the block being read */
    uint32_t breaks;       /* since the last text */
    bool open;             /* a block is being read */
    struct html_panels panels;
    uint32_t cover; /* a hidden element that counts as visible */
};

static void read_class(struct cutter *cutter, struct str class, uint32_t node)
{
    uint64_t hash = XXH3_64bits(class.data, class.len);
    size_t slot = hash % NAME_CACHE;
    if (cutter->cache[slot].hash != hash) {
        cutter->cache[slot].hash = hash;
        cutter->cache[slot].names = html_names_find(&cutter->names, class);
        cutter->cache[slot].signature = (uint32_t)(hash >> 32);
    }
    cutter->out->names[node] |= cutter->cache[slot].names;
    cutter->out->signature[node] ^= cutter->cache[slot].signature;
}

/* Fills in what the element says of itself, on top of what its parent is in. */
static void read_element(struct cutter *cutter, uint32_t i)
{
    const struct html_tree *tree = cutter->tree;
    const struct html_node *node = &tree->nodes[i];
    struct html_blocks *out = cutter->out;
    bool block = (html_flags(node->element) & ELEMENT_BLOCK) || node->element == HTML_BUTTON,
         whole = node->element == HTML_BODY || node->element == HTML_HTML;
    uint32_t place = places[node->element];
    out->signature[i] = (uint32_t)node->element * 2654435761u | 1;
    for (uint32_t k = 0; k < node->n_attributes && !whole; k++) {
        const struct html_attribute_value *attribute = &tree->attributes[node->first_attribute + k];
        if (attribute->attribute == HTML_ATTRIBUTE_CLASS && attribute->value.len)
            read_class(cutter, attribute->value, i);
        else if (attribute->attribute == HTML_ATTRIBUTE_ID)
            out->names[i] |= html_names_find(&cutter->names, attribute->value);
        else if (attribute->attribute == HTML_ATTRIBUTE_ROLE)
            place |= place_of_role(attribute->value);
        else if (attribute->attribute == HTML_ATTRIBUTE_ITEMPROP)
            place |= place_of_property(attribute->value);
        else if (attribute->attribute == HTML_ATTRIBUTE_ITEMTYPE &&
                 str_ends_with(str_trim(attribute->value), STR("/Comment")))
            place |= PLACE_COMMENT;
        else if (attribute->attribute == HTML_ATTRIBUTE_HREF && node->element == HTML_A)
            place |= PLACE_LINK;
    }
    uint32_t around = i ? out->place[node->parent] : 0;
    out->all_names[i] = out->names[i] | (i ? out->all_names[node->parent] : 0);
    if ((place & PLACE_HEADER) && (around & (PLACE_ARTICLE | PLACE_MAIN)))
        place = (place & ~(uint32_t)PLACE_HEADER) | PLACE_OWN_HEADER;
    if (place & PLACE_LINK) {
        cutter->link = i;
    }
    out->place[i] = around | place;
    out->block[i] = block ? i : i ? out->block[node->parent] : 0;
    if (block)
        cutter->open = false;
}

/* ---- cutting ---- */

enum cut {
    CUT_HIDDEN = 1, /* hidden elements count as visible */
    CUT_NO_COMMENTS = 2,
    CUT_NO_NOTES = 4,  /* without what is in <noscript> */
    CUT_APPEARING = 8, /* what is about to come into view counts as visible */
};

static void end_block(struct cutter *cutter)
{
    struct html_blocks *out = cutter->out;
    if (!out->count)
        return;
    struct html_block *block = &out->items[out->count - 1];
    block_text_end(&cutter->reader, block);
    bool heading = html_flags(cutter->tree->nodes[block->element].element) & ELEMENT_HEADING;
    const uint32_t aside = PLACE_NAV | PLACE_ASIDE | PLACE_FOOTER | PLACE_HEADER | PLACE_FORM | PLACE_DIALOG;
    const uint32_t names = 1u << NAME_NAV | 1u << NAME_FOOTER | 1u << NAME_SIDE | 1u << NAME_CONSENT |
                           1u << NAME_MODAL | 1u << NAME_BREADCRUMB | 1u << NAME_SHARE | 1u << NAME_AD;
    if (!(out->place[block->element] & aside) && !(out->all_names[block->element] & names))
        block->flags |= BLOCK_PLAIN;
    if (!heading && block->length >= RUNNING_LENGTH && (uint64_t)block->link_length * 2 < block->length)
        block->flags |= BLOCK_RUNNING;
}

/* White space, no-break spaces included. */
static bool is_blank(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        bool no_break = text.data[i] == '\xC2' && i + 1 < text.len && text.data[i + 1] == '\xA0';
        if (!no_break && !ascii_is_space(text.data[i]))
            return false;
        i += no_break;
    }
    return true;
}

static void add_text(struct cutter *cutter, uint32_t i)
{
    const struct html_node *node = &cutter->tree->nodes[i];
    struct html_blocks *out = cutter->out;
    uint32_t element = out->block[node->parent];
    out->place[i] = out->place[node->parent];
    out->block[i] = element;
    if (is_blank(node->text)) {
        if (cutter->open)
            block_text_add(&cutter->reader, node->text, 0, &out->items[out->count - 1]);
        return;
    }
    if (!cutter->open || out->items[out->count - 1].element != element || cutter->breaks > 1) {
        end_block(cutter);
        out->before[i] = out->count;
        out->items = mem_grow(out->items, out->count, &cutter->capacity, sizeof *out->items);
        out->items[out->count++] = (struct html_block){.first = i, .element = element};
        block_text_begin(&cutter->reader);
        cutter->open = true;
        cutter->counted_link = 0;
        cutter->breaks = 0;
    }
    struct html_block *block = &out->items[out->count - 1];
    if (cutter->breaks)
        block_text_break(&cutter->reader, block);
    cutter->breaks = 0;
    block->last = i;
    if ((out->place[i] & PLACE_LINK) && cutter->counted_link != cutter->link) {
        cutter->counted_link = cutter->link;
        block->links++;
    }
    if (out->place[i] & PLACE_HEADING)
        block->flags |= BLOCK_HEADING_INSIDE;
    block_text_add(&cutter->reader, node->text, out->place[i], block);
}

static void skip(struct cutter *cutter, uint32_t from, uint32_t to)
{
    struct html_blocks *out = cutter->out;
    for (uint32_t i = from; i < to; i++) {
        out->before[i] = out->count;
        out->block[i] = from ? out->block[cutter->tree->nodes[from].parent] : 0;
    }
}

/* Whether an element is named as readers' comments. Wrappers of the page that only tell whether there are any do not
 * count. */
static bool is_comments(const struct html_blocks *blocks, uint32_t i)
{
    const struct html_node *node = &blocks->tree->nodes[i];
    const uint32_t whole = 1u << NAME_CONTENT;
    bool named = (blocks->names[i] >> NAME_COMMENT & 1) && !(blocks->names[i] & whole && node->depth < 6);
    bool typed = blocks->place[i] & ~blocks->place[node->parent] & PLACE_COMMENT;
    return (named || typed) && node->element != HTML_MAIN && (html_flags(node->element) & ELEMENT_BLOCK);
}

/* Whether an element that says it is hidden is one that a person gets to see: a panel that a control opens, or the
 * cover of a main part that is all under it. */
static bool is_offered(const struct cutter *cutter, uint32_t i)
{
    const uint32_t furniture = PLACE_NAV | PLACE_FOOTER | PLACE_HEADER | PLACE_FORM | PLACE_DIALOG;
    const struct html_node *node = &cutter->tree->nodes[i];
    return i == cutter->cover ||
           (!(cutter->out->place[node->parent] & furniture) && html_panels_open(&cutter->panels, cutter->tree, i));
}

static void cut(struct cutter *cutter, unsigned how, uint8_t *marks)
{
    const struct html_tree *tree = cutter->tree;
    struct html_blocks *out = cutter->out;
    enum html_look seen = how & CUT_HIDDEN      ? HTML_LOOK_HIDDEN
                          : how & CUT_APPEARING ? HTML_LOOK_APPEARS
                                                : HTML_LOOK_SHOWN;
    for (uint32_t i = 0; i < tree->count;) {
        const struct html_node *node = &tree->nodes[i];
        out->before[i] = out->count;
        if (node->element == HTML_TEXT) {
            add_text(cutter, i++);
            continue;
        }
        uint8_t mark = html_visibility(tree, i, seen);
        if ((mark & MARK_HIDDEN) && is_offered(cutter, i))
            mark = 0;
        if ((how & CUT_NO_NOTES) && node->element == HTML_NOSCRIPT)
            mark = MARK_DROPPED | MARK_HIDDEN;
        if (!mark) {
            read_element(cutter, i);
            html_panels_see(&cutter->panels, tree, i);
            mark = (how & CUT_NO_COMMENTS) && is_comments(out, i) ? MARK_DROPPED : 0;
        }
        if (mark) {
            marks[i] |= mark;
            skip(cutter, i, node->end);
            i = node->end;
            continue;
        }
        cutter->breaks += node->element == HTML_BR;
        i++;
    }
    end_block(cutter);
    html_panels_finish(&cutter->panels);
    out->before[tree->count] = out->count;
}

/* ---- what is known when all are there ---- */

static void add_up(struct html_blocks *blocks)
{
    blocks->totals = mem_calloc((size_t)blocks->count + 1, sizeof *blocks->totals);
    for (uint32_t i = 0; i < blocks->count; i++) {
        const struct html_block *block = &blocks->items[i];
        struct html_totals *sum = &blocks->totals[i + 1];
        bool running = block->flags & BLOCK_RUNNING;
        *sum = blocks->totals[i];
        sum->length += block->length;
        sum->link_length += block->link_length;
        sum->plain += block->flags & BLOCK_PLAIN ? block->length : 0;
        sum->running += running ? block->length - block->link_length : 0;
        sum->running_blocks += running;
        sum->sentences += block->sentences;
        sum->headings += (html_flags(blocks->tree->nodes[block->element].element) & ELEMENT_HEADING) != 0;
    }
}

static void count_same(struct html_blocks *blocks)
{
    size_t size = 16;
    while (size < 2 * (size_t)blocks->count)
        size *= 2;
    uint32_t *slots = mem_calloc(size, sizeof *slots); /* index + 1 of the first of its kind */
    for (uint32_t i = 0; i < blocks->count; i++) {
        uint32_t hash = blocks->items[i].hash;
        size_t slot = (hash ^ hash >> 16) * 0x9E3779B1u & (size - 1);
        while (slots[slot] && blocks->items[slots[slot] - 1].hash != hash)
            slot = (slot + 1) & (size - 1);
        if (!slots[slot])
            slots[slot] = i + 1;
        blocks->items[i].first_same = slots[slot] - 1;
        blocks->items[slots[slot] - 1].same++;
    }
    for (uint32_t i = 0; i < blocks->count; i++)
        blocks->items[i].same = blocks->items[blocks->items[i].first_same].same;
    free(slots);
}

static void start(struct html_blocks *out, const struct html_hints *hints)
{
    size_t n = out->tree->count;
    out->kinds = hints->kinds;
    out->title_size = hints->title_size;
    out->body_size = hints->body_size;
    out->before = mem_calloc(n + 1, sizeof *out->before);
    out->place = mem_calloc(n, sizeof *out->place);
    out->names = mem_calloc(n, sizeof *out->names);
    out->all_names = mem_calloc(n, sizeof *out->all_names);
    out->block = mem_calloc(n, sizeof *out->block);
    out->signature = mem_calloc(n, sizeof *out->signature);
}

/* The running text in comments. */
static uint32_t measure_comments(const struct html_blocks *blocks)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < blocks->tree->count;) {
        bool text = blocks->tree->nodes[i].element == HTML_TEXT;
        bool found = !text && is_comments(blocks, i);
        sum += found ? html_blocks_inside(blocks, i).running : 0;
        i = found ? blocks->tree->nodes[i].end : i + 1;
    }
    return sum;
}

/* Whether comments are to go: they are not what the page is about. */
static bool comments_go(const struct html_blocks *blocks, uint32_t comments)
{
    uint32_t all = blocks->totals[blocks->count].running;
    bool article = (blocks->kinds & (KIND_ARTICLE | KIND_OG_ARTICLE)) && !(blocks->kinds & KIND_FORUM);
    return comments && (uint64_t)(all - comments) * 100 >= (uint64_t)all * (article ? 2 : 75);
}

static void cut_from_start(struct cutter *cutter, struct html_blocks *out, unsigned how, uint8_t *marks)
{
    const struct html_hints *hints = cutter->reader.hints;
    const struct html_tree *tree = cutter->tree;
    html_blocks_finish(out);
    *out = (struct html_blocks){.tree = tree};
    start(out, hints);
    cutter->out = out;
    cutter->capacity = 0;
    cutter->reader = (struct block_reader){.hints = hints};
    cutter->link = cutter->counted_link = cutter->breaks = 0;
    cutter->open = false;
    cut(cutter, how, marks);
    add_up(out);
}

/* Whether what is told to browsers that run no scripts is to go: it is not the page's text but a note. */
static bool notes_go(const struct html_blocks *blocks)
{
    uint32_t notes = 0, running = 0;
    for (uint32_t i = 0; i < blocks->count; i++) {
        const struct html_block *block = &blocks->items[i];
        bool note = blocks->place[block->first] & PLACE_NOSCRIPT;
        notes += note;
        running += note && (block->flags & BLOCK_RUNNING) ? block->length - block->link_length : 0;
    }
    uint32_t others = blocks->totals[blocks->count].running - running;
    return notes && notes < blocks->count && running < 2 * others + RUNNING_LENGTH;
}

/* Cuts with what covers the main part of the page, where there is little to be seen beside it. */
static void uncover_main(struct cutter *cutter, unsigned how, uint8_t *marks, struct html_blocks *out)
{
    if (out->totals[out->count].running >= MUCH_HIDDEN)
        return;
    cutter->cover = html_covered_main(cutter->tree);
    if (!cutter->cover)
        return;
    memset(marks, 0, cutter->tree->count);
    cut_from_start(cutter, out, how, marks);
}

/* Cuts with what is hidden, too, and takes that for the page when there is much more text in it. */
static bool see_hidden_text(struct cutter *cutter, uint8_t *marks, struct html_blocks *out)
{
    size_t n = cutter->tree->count;
    struct html_blocks all = {0};
    uint8_t *all_marks = mem_calloc(n, sizeof *all_marks);
    cut_from_start(cutter, &all, CUT_HIDDEN, all_marks);
    uint32_t running = all.totals[all.count].running, seen = out->totals[out->count].running;
    bool better = running >= 2 * seen + MUCH_HIDDEN || !out->count;
    if (better) {
        memcpy(marks, all_marks, n);
        struct html_blocks visible = *out;
        *out = all;
        all = visible;
    }
    html_blocks_finish(&all);
    free(all_marks);
    return better;
}

void html_blocks_init(const struct html_tree *tree, bool keep_comments, uint8_t *marks, struct html_blocks *out)
{
    struct html_hints *hints = mem_alloc(sizeof *hints);
    struct cutter *cutter = mem_zalloc(sizeof *cutter);
    html_hints_read(tree, hints);
    html_names_init(&cutter->names);
    cutter->tree = tree;
    cutter->reader.hints = hints;
    *out = (struct html_blocks){0};
    unsigned how = html_text_appears(tree) ? CUT_APPEARING : 0;
    cut_from_start(cutter, out, how, marks);
    if (!out->totals[out->count].plain && see_hidden_text(cutter, marks, out))
        how |= CUT_HIDDEN;
    else
        uncover_main(cutter, how, marks, out);
    const unsigned first = how;
    if (notes_go(out))
        how |= CUT_NO_NOTES;
    uint32_t comments = measure_comments(out), running = out->totals[out->count].running;
    if (!keep_comments && comments_go(out, comments))
        how |= CUT_NO_COMMENTS;
    if (how != first)
        cut_from_start(cutter, out, how, marks);
    out->comments = running ? (float)comments / (float)running : 0;
    count_same(out);
    free(cutter);
    free(hints);
}

void html_blocks_finish(struct html_blocks *blocks)
{
    if (!blocks)
        return;
    free(blocks->items);
    free(blocks->totals);
    free(blocks->before);
    free(blocks->place);
    free(blocks->names);
    free(blocks->all_names);
    free(blocks->block);
    free(blocks->signature);
    *blocks = (struct html_blocks){0};
}

struct html_totals html_blocks_inside(const struct html_blocks *blocks, uint32_t node)
{
    const struct html_totals *to = &blocks->totals[blocks->before[blocks->tree->nodes[node].end]];
    const struct html_totals *from = &blocks->totals[blocks->before[node]];
    return (struct html_totals){.length = to->length - from->length,
                                .link_length = to->link_length - from->link_length,
                                .plain = to->plain - from->plain,
                                .running = to->running - from->running,
                                .running_blocks = to->running_blocks - from->running_blocks,
                                .sentences = to->sentences - from->sentences,
                                .headings = to->headings - from->headings};
}
