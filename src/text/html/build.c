/* The tree of a page from its tags: which elements an element ends (HTML Standard, section 13.2.6). */
#include <string.h>

#include "core/mem.h"
#include "text/html/parse_internal.h"
#include "text/html/visible.h"

#define MAX_SEARCH 256 /* how far up an end tag looks for its element: beyond it a page would cost quadratic time */

static uint8_t innermost(const struct builder *builder)
{
    return builder->open[builder->depth].element;
}

static bool is_open(const struct builder *builder, enum html_element element)
{
    return builder->open_count[element] > 0;
}

static uint32_t add_node(struct builder *builder, enum html_element element, struct str text)
{
    struct html_tree *tree = builder->tree;
    tree->nodes = mem_grow(tree->nodes, tree->count, &builder->node_capacity, sizeof *tree->nodes);
    uint32_t index = tree->count++;
    tree->nodes[index] = (struct html_node){
        .element = (uint8_t)element,
        .depth = (uint16_t)(index ? builder->depth + 1 : 0),
        .parent = builder->open[builder->depth].node,
        .end = index + 1,
        .first_attribute = tree->n_attributes,
        .text = text,
    };
    builder->blank_is_last = false;
    return index;
}

static void add_attributes(struct builder *builder, uint32_t node, const struct html_attribute_value *attributes,
                           size_t n_attributes)
{
    struct html_tree *tree = builder->tree;
    tree->nodes[node].first_attribute = tree->n_attributes;
    tree->nodes[node].n_attributes = (uint8_t)n_attributes;
    for (size_t i = 0; i < n_attributes; i++) {
        tree->attributes =
            mem_grow(tree->attributes, tree->n_attributes, &builder->attribute_capacity, sizeof *tree->attributes);
        tree->attributes[tree->n_attributes++] = attributes[i];
    }
}

static void push(struct builder *builder, uint32_t node, enum html_element element)
{
    builder->open[++builder->depth] = (struct open_element){node, (uint8_t)element};
    builder->open_count[element]++;
}

static void pop(struct builder *builder)
{
    struct open_element *last = &builder->open[builder->depth--];
    builder->open_count[last->element]--;
    builder->tree->nodes[last->node].end = builder->tree->count;
    builder->too_deep = 0;
    if (html_flags(last->element) & ELEMENT_BLOCK)
        builder->at_block_edge = true;
}

/* Ends all elements above that place of the stack. */
static void pop_to(struct builder *builder, size_t depth)
{
    while (builder->depth > depth)
        pop(builder);
}

static bool is_heading(uint8_t element)
{
    return html_flags(element) & ELEMENT_HEADING;
}

/* Where the innermost open element of that kind (any heading for a heading) stands on the stack, looking no further
 * than an element with one of the flags `barrier` or one of the two elements named; 0 when there is none. */
static size_t find_open(const struct builder *builder, enum html_element element, unsigned barrier, uint8_t stop,
                        uint8_t other_stop)
{
    bool heading = is_heading((uint8_t)element);
    if (!heading && !is_open(builder, element))
        return 0;
    size_t least = builder->depth > MAX_SEARCH ? builder->depth - MAX_SEARCH : 0;
    for (size_t i = builder->depth; i > least; i--) {
        uint8_t open = builder->open[i].element;
        if (open == element || (heading && is_heading(open)))
            return i;
        if ((html_flags(open) & barrier) || open == stop || open == other_stop)
            return 0;
    }
    return 0;
}

static void close_paragraph(struct builder *builder)
{
    size_t at = find_open(builder, HTML_P, ELEMENT_SCOPE, HTML_BUTTON, HTML_BUTTON);
    if (at)
        pop_to(builder, at - 1);
}

/* Ends an open item that the next one stands beside: li by li, dt and dd by each other. A block other than div, p and
 * address between them means that the new item belongs to another list. */
static void close_item(struct builder *builder, uint8_t kind, uint8_t other)
{
    if (!is_open(builder, kind) && !is_open(builder, other))
        return;
    size_t least = builder->depth > MAX_SEARCH ? builder->depth - MAX_SEARCH : 0;
    for (size_t i = builder->depth; i > least; i--) {
        uint8_t open = builder->open[i].element;
        if (open == kind || open == other) {
            pop_to(builder, i - 1);
            return;
        }
        bool passable = open == HTML_ADDRESS || open == HTML_DIV || open == HTML_P;
        if (!passable && (html_flags(open) & (ELEMENT_BLOCK | ELEMENT_SCOPE)))
            return;
    }
}

/* Ends what is open inside a table down to one of the places where the part may stand. */
static void clear_to_table_context(struct builder *builder, enum html_element part)
{
    if (!find_open(builder, HTML_TABLE, 0, HTML_TABLE, HTML_TEMPLATE))
        return;
    bool cell = part == HTML_TD || part == HTML_TH, row = part == HTML_TR;
    for (;;) {
        uint8_t open = innermost(builder);
        bool group = open == HTML_TBODY || open == HTML_THEAD || open == HTML_TFOOT;
        if (open == HTML_TABLE || (group && (row || cell)) || (open == HTML_TR && cell) ||
            (open == HTML_COLGROUP && part == HTML_COL))
            return;
        pop(builder);
    }
}

/* A cell stands in a row, also where none is written. */
static void open_row(struct builder *builder)
{
    uint8_t open = innermost(builder);
    bool table = open == HTML_TABLE || open == HTML_TBODY || open == HTML_THEAD || open == HTML_TFOOT;
    if (table && builder->depth < HTML_MAX_DEPTH)
        push(builder, add_node(builder, HTML_TR, STR("tr")), HTML_TR);
}

/* A misnested element goes on, but means nothing any more. */
static void disown(struct builder *builder, size_t at)
{
    struct open_element *open = &builder->open[at];
    builder->open_count[open->element]--;
    open->element = HTML_OTHER;
    builder->open_count[HTML_OTHER]++;
    builder->tree->nodes[open->node].element = HTML_OTHER;
}

/* A link ends the one before it; where blocks were opened in that one, they stay. */
static void close_link(struct builder *builder)
{
    size_t at = find_open(builder, HTML_A, ELEMENT_SCOPE, HTML_TEXT, HTML_TEXT);
    if (!at)
        return;
    for (size_t i = at + 1; i <= builder->depth; i++)
        if (html_flags(builder->open[i].element) & ELEMENT_BLOCK) {
            disown(builder, at);
            return;
        }
    pop_to(builder, at - 1);
}

static void close_innermost_if(struct builder *builder, uint8_t element, uint8_t other)
{
    if (builder->depth && (innermost(builder) == element || innermost(builder) == other))
        pop(builder);
}

/* Ends what the element that begins cannot stand in. */
static void make_place(struct builder *builder, enum html_element element)
{
    unsigned flags = html_flags(element);
    if (!(flags & ELEMENT_IN_HEAD) && element != HTML_HEAD && is_open(builder, HTML_HEAD)) {
        size_t head = find_open(builder, HTML_HEAD, 0, HTML_TEXT, HTML_TEXT);
        if (head)
            pop_to(builder, head - 1);
    }
    if (element == HTML_LI)
        close_item(builder, HTML_LI, HTML_LI);
    else if (element == HTML_DT || element == HTML_DD)
        close_item(builder, HTML_DT, HTML_DD);
    if ((flags & ELEMENT_CLOSES_P) && is_open(builder, HTML_P))
        close_paragraph(builder);
    if (flags & ELEMENT_HEADING) {
        if (builder->depth && is_heading(innermost(builder)))
            pop(builder);
    } else if ((flags & ELEMENT_TABLE_PART) && element != HTML_TABLE) {
        clear_to_table_context(builder, element);
        if (element == HTML_TD || element == HTML_TH)
            open_row(builder);
    } else if (element == HTML_COL) {
        clear_to_table_context(builder, element);
    } else if (element == HTML_A) {
        close_link(builder);
    } else if (element == HTML_OPTION) {
        close_innermost_if(builder, HTML_OPTION, HTML_OPTION);
    } else if (element == HTML_OPTGROUP) {
        close_innermost_if(builder, HTML_OPTION, HTML_OPTION);
        close_innermost_if(builder, HTML_OPTGROUP, HTML_OPTGROUP);
    } else if (element == HTML_RT || element == HTML_RP) {
        close_innermost_if(builder, HTML_RT, HTML_RP);
    } else if (element == HTML_BUTTON || element == HTML_SELECT) {
        size_t at = find_open(builder, element, ELEMENT_SCOPE, HTML_TEXT, HTML_TEXT);
        if (at)
            pop_to(builder, at - 1);
    }
}

/* White space between blocks says nothing. */
static void drop_blank(struct builder *builder)
{
    if (builder->blank_is_last)
        builder->tree->count--;
    builder->blank_is_last = false;
}

/* An element that gets no node: where nobody would see what is in it, that is left out up to its end tag, which is
 * found by counting those of its name. */
static void open_unseen(struct builder *builder, enum html_element element,
                        const struct html_attribute_value *attributes, size_t n_attributes)
{
    unsigned flags = html_flags(element);
    if (flags & (ELEMENT_VOID | ELEMENT_RAW | ELEMENT_RAW_DECODED))
        return;
    if (builder->unseen) {
        if (builder->unseen == HTML_P && (flags & ELEMENT_CLOSES_P))
            builder->unseen = 0;
        else
            builder->n_unseen += builder->unseen == element;
    }
    bool hidden = (flags & ELEMENT_SILENT) || element == HTML_DIALOG ||
                  html_look_of(element, attributes, n_attributes) != HTML_LOOK_SHOWN;
    if (!builder->unseen && hidden) {
        builder->unseen = (uint8_t)element;
        builder->n_unseen = 1;
    }
}

static void close_unseen(struct builder *builder, enum html_element element)
{
    if (builder->unseen == element && !--builder->n_unseen)
        builder->unseen = 0;
}

/* What is left of the edge of a block that gets no node. */
static void break_line(struct builder *builder, bool block)
{
    if (!block || builder->at_block_edge)
        return;
    if (builder->tree->flattened)
        buf_add_char(&builder->flat, '\n');
    else
        add_node(builder, HTML_BR, STR("br"));
    builder->at_block_edge = true;
}

void build_open(struct builder *builder, enum html_element element, struct str name,
                const struct html_attribute_value *attributes, size_t n_attributes, bool self_closing)
{
    struct html_tree *tree = builder->tree;
    if (element == HTML_HTML || (element == HTML_BODY && builder->body_seen)) {
        if (element == HTML_HTML && !tree->nodes[0].n_attributes)
            add_attributes(builder, 0, attributes, n_attributes);
        return;
    }
    if (element == HTML_FORM && is_open(builder, HTML_FORM))
        return;
    builder->body_seen = builder->body_seen || element == HTML_BODY;
    unsigned flags = html_flags(element);
    bool block = flags & ELEMENT_BLOCK;
    builder->tree->flattened = tree->count >= HTML_MAX_NODES;
    if (builder->tree->flattened) {
        open_unseen(builder, element, attributes, n_attributes);
        break_line(builder, block || element == HTML_BR);
        return;
    }
    if (block)
        drop_blank(builder);
    make_place(builder, element);
    bool leaf = (flags & ELEMENT_VOID) || (self_closing && is_open(builder, HTML_MATH));
    if (builder->depth == HTML_MAX_DEPTH && !leaf) {
        builder->too_deep++;
        open_unseen(builder, element, attributes, n_attributes);
        break_line(builder, block);
        return;
    }
    uint32_t node = add_node(builder, element, name);
    add_attributes(builder, node, attributes, n_attributes);
    builder->at_block_edge = block || element == HTML_BR;
    if (!leaf)
        push(builder, node, element);
}

static bool is_formatting(enum html_element element)
{
    return !(html_flags(element) & (ELEMENT_BLOCK | ELEMENT_SCOPE | ELEMENT_TABLE_PART | ELEMENT_SILENT));
}

/* The end tag of an inline element: it ends what stands in it, but no block. */
static void close_inline(struct builder *builder, enum html_element element, struct str name)
{
    if (!is_open(builder, element))
        return;
    size_t least = builder->depth > MAX_SEARCH ? builder->depth - MAX_SEARCH : 0;
    bool blocked = false;
    for (size_t i = builder->depth; i > least; i--) {
        const struct open_element *open = &builder->open[i];
        if (open->element == element &&
            (element != HTML_OTHER || str_equal_ascii_nocase(builder->tree->nodes[open->node].text, name))) {
            if (blocked)
                disown(builder, i);
            else
                pop_to(builder, i - 1);
            return;
        }
        unsigned flags = html_flags(open->element);
        blocked = blocked || (flags & ELEMENT_BLOCK);
        if ((flags & ELEMENT_SCOPE) || (blocked && element == HTML_OTHER))
            return;
    }
}

void build_close(struct builder *builder, enum html_element element, struct str name)
{
    if (element == HTML_BR) {
        build_open(builder, HTML_BR, name, NULL, 0, false);
        return;
    }
    if (element == HTML_BODY || element == HTML_HTML)
        return;
    unsigned flags = html_flags(element);
    if (builder->tree->flattened || builder->too_deep) {
        builder->too_deep -= builder->too_deep > 0;
        close_unseen(builder, element);
        if (!builder->tree->flattened && !builder->too_deep)
            builder->unseen = 0;
        break_line(builder, flags & ELEMENT_BLOCK);
        return;
    }
    if (flags & ELEMENT_BLOCK)
        drop_blank(builder);
    builder->blank_is_last = false;
    if (is_formatting(element)) {
        close_inline(builder, element, name);
        return;
    }
    size_t at;
    if (flags & ELEMENT_TABLE_PART)
        at = find_open(builder, element, 0, HTML_TABLE, HTML_TEMPLATE);
    else if (element == HTML_P)
        at = find_open(builder, element, ELEMENT_SCOPE, HTML_BUTTON, HTML_BUTTON);
    else if (element == HTML_LI)
        at = find_open(builder, element, ELEMENT_SCOPE, HTML_UL, HTML_OL);
    else
        at = find_open(builder, element, ELEMENT_SCOPE, HTML_TEXT, HTML_TEXT);
    if (at && element == HTML_FORM && at < builder->depth)
        disown(builder, at); /* as browsers do, the end of a form ends nothing inside it */
    else if (at)
        pop_to(builder, at - 1);
    builder->at_block_edge = builder->at_block_edge || (flags & ELEMENT_BLOCK);
}

static bool is_blank(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!ascii_is_space(text.data[i]))
            return false;
    return true;
}

static bool in_preformatted(const struct builder *builder)
{
    return is_open(builder, HTML_PRE) || is_open(builder, HTML_LISTING) || is_open(builder, HTML_XMP);
}

void build_text(struct builder *builder, struct str text)
{
    if (!text.len || builder->unseen)
        return;
    bool blank = ascii_is_space(text.data[0]) && is_blank(text) && !in_preformatted(builder);
    if (blank && (builder->at_block_edge || is_open(builder, HTML_HEAD)))
        return;
    if (!blank && innermost(builder) == HTML_HEAD)
        make_place(builder, HTML_TEXT);
    if (builder->tree->flattened)
        buf_add(&builder->flat, text);
    else
        add_node(builder, HTML_TEXT, text);
    builder->blank_is_last = blank;
    builder->at_block_edge = false;
}

void build_start(struct builder *builder, struct html_tree *tree)
{
    *builder = (struct builder){.tree = tree, .at_block_edge = true};
    buf_init(&builder->flat, BUF_UNBOUNDED);
    builder->open[0] = (struct open_element){0, HTML_HTML};
    add_node(builder, HTML_HTML, STR("html"));
}

void build_end(struct builder *builder)
{
    drop_blank(builder);
    pop_to(builder, 0);
    if (builder->flat.len) {
        char *text = tree_alloc(builder->tree, builder->flat.len);
        memcpy(text, builder->flat.data, builder->flat.len);
        add_node(builder, HTML_TEXT, str_make(text, builder->flat.len));
    }
    buf_finish(&builder->flat);
    builder->tree->nodes[0].end = builder->tree->count;
}
