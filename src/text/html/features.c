#include "text/html/features_internal.h"

#include <stdlib.h>

#include "core/mem.h"

#define FAR 15 /* elements up beyond which names are not looked for */

static const char *const feature_names[] = {
#define FEATURE(name) #name,
#include "text/html/features.inc"
#undef FEATURE
};

const char *html_feature_name(enum html_feature feature)
{
    return feature_names[feature];
}

static float least(float a, float b)
{
    return a < b ? a : b;
}

void html_features_init(const struct html_blocks *blocks, struct html_features *out)
{
    struct html_surroundings *around = mem_zalloc(sizeof *around);
    *out = (struct html_features){.blocks = blocks, .surroundings = around};
    features_page_gather(around, blocks);
}

void html_features_finish(struct html_features *features)
{
    struct html_surroundings *around = features->surroundings;
    if (!around)
        return;
    free(around->alike);
    free(around->since_running);
    free(around->until_running);
    free(around->heading);
    free(around);
    features->surroundings = NULL;
}

/* ---- a row ---- */

/* How many elements up from `from` there is one that holds `node`. */
static unsigned levels_up(const struct html_tree *tree, uint32_t from, uint32_t node)
{
    unsigned levels = 0;
    for (; !(from <= node && node < tree->nodes[from].end) && levels < FAR; levels++)
        from = tree->nodes[from].parent;
    return levels;
}

/* A number for each kind of element, near ones for like ones. */
static float element_code(const struct html_node *node)
{
    switch ((enum html_element)node->element) {
    case HTML_P:
        return 1;
    case HTML_BLOCKQUOTE:
        return 2;
    case HTML_PRE:
        return 3;
    case HTML_LI:
        return 4;
    case HTML_DD:
        return 5;
    case HTML_DT:
        return 6;
    case HTML_TD:
        return 7;
    case HTML_TH:
        return 8;
    case HTML_H1:
        return 9;
    case HTML_H2:
        return 10;
    case HTML_H3:
        return 11;
    case HTML_H4:
        return 12;
    case HTML_H5:
        return 13;
    case HTML_H6:
        return 14;
    case HTML_DIV:
        return 15;
    case HTML_SECTION:
        return 16;
    case HTML_ARTICLE:
        return 17;
    case HTML_SUMMARY:
        return 18;
    case HTML_FIGCAPTION:
        return 19;
    case HTML_CAPTION:
        return 20;
    case HTML_BUTTON:
        return 22;
    default:
        return 21;
    }
}

static void fill_own(const struct html_blocks *blocks, const struct html_block *block, float *row)
{
    const struct html_node *node = &blocks->tree->nodes[block->element];
    uint32_t grams = block->words > 3 ? block->words - 3 : 0;
    unsigned flags = html_flags(node->element);
    row[FEATURE_LENGTH] = (float)block->length;
    row[FEATURE_WORDS] = (float)block->words;
    row[FEATURE_WORD_LENGTH] = feature_share(block->length, block->words);
    row[FEATURE_LINK_SHARE] = feature_share(block->link_length, block->length);
    row[FEATURE_LINKS] = (float)block->links;
    row[FEATURE_STRONG_SHARE] = feature_share(block->strong_length, block->length);
    row[FEATURE_SENTENCES] = (float)block->sentences;
    row[FEATURE_SENTENCE_RATE] = feature_share(block->sentences, block->words);
    row[FEATURE_COMMA_RATE] = feature_share(block->commas, block->words);
    row[FEATURE_BARS] = (float)block->bars;
    row[FEATURE_DIGIT_SHARE] = feature_share(block->digits, block->length);
    row[FEATURE_CAPITAL_SHARE] = feature_share(block->capitals, block->words);
    row[FEATURE_ENDS_SENTENCE] = (block->flags & BLOCK_ENDS_SENTENCE) != 0;
    row[FEATURE_ENDS_COLON] = (block->flags & BLOCK_ENDS_COLON) != 0;
    row[FEATURE_PRICE] = (block->flags & BLOCK_PRICE) != 0;
    row[FEATURE_COPYRIGHT] = (block->flags & BLOCK_COPYRIGHT) != 0;
    row[FEATURE_TIME] = (block->flags & BLOCK_TIME) != 0;
    row[FEATURE_BREAKS] = (float)block->breaks;
    row[FEATURE_SAME] = (float)block->same;
    row[FEATURE_TITLE_SHARE] = feature_share(block->title_words, block->words);
    row[FEATURE_TITLE_COVER] = least(feature_share(block->title_words, blocks->title_size), 2);
    row[FEATURE_BODY_SHARE] = blocks->body_size ? feature_share(block->body_words, grams) : -1;
    row[FEATURE_DESCRIPTION_SHARE] = feature_share(block->description_words, grams);
    row[FEATURE_ELEMENT] = element_code(node);
    row[FEATURE_HEADING] = flags & ELEMENT_HEADING ? (float)(node->element - HTML_H1 + 1) : 0;
    row[FEATURE_HEADING_INSIDE] = (block->flags & BLOCK_HEADING_INSIDE) != 0;
    row[FEATURE_BARE] = (float)(blocks->before[node->end] - blocks->before[block->element]);
    row[FEATURE_DEPTH] = (float)node->depth;
}

static void fill_places(uint32_t place, float *row)
{
    static const struct {
        uint32_t place;
        enum html_feature feature;
    } places[] = {
#define PLACE(name) {PLACE_##name, FEATURE_IN_##name}
        PLACE(LINK),          PLACE(NAV),      PLACE(ASIDE),    PLACE(FOOTER),  PLACE(HEADER),
        PLACE(OWN_HEADER),    PLACE(MAIN),     PLACE(ARTICLE),  PLACE(SECTION), PLACE(FORM),
        PLACE(LIST),          PLACE(TABLE),    PLACE(FIGURE),   PLACE(BUTTON),  PLACE(DEFINITIONS),
        PLACE(QUOTE),         PLACE(DETAILS),  PLACE(NOSCRIPT), PLACE(CODE),    PLACE(DIALOG),
        PLACE(BODY_PROPERTY), PLACE(PROPERTY), PLACE(LABEL),    PLACE(SUMMARY), PLACE(COMMENT),
#undef PLACE
    };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        row[places[i].feature] = (place & places[i].place) != 0;
}

static void fill_names(const struct html_blocks *blocks, const struct html_block *block, float *row)
{
    const struct html_node *nodes = blocks->tree->nodes;
    uint32_t seen = 0;
    for (unsigned i = 0; i < HTML_NAMES; i++)
        row[FEATURE_NAMED_NAV + i] = FAR;
    uint32_t node = nodes[block->first].parent;
    for (unsigned level = 0; level < FAR && node; level++, node = nodes[node].parent) {
        uint32_t fresh = blocks->names[node] & ~seen;
        seen |= fresh;
        for (; fresh; fresh &= fresh - 1)
            row[FEATURE_NAMED_NAV + __builtin_ctz(fresh)] = (float)level;
    }
}

static void fill_position(const struct html_surroundings *around, const struct html_blocks *blocks, uint32_t i,
                          float *row)
{
    const struct html_totals *all = &blocks->totals[blocks->count], *before = &blocks->totals[i];
    uint32_t element = blocks->items[i].element;
    const struct html_tree *tree = blocks->tree;
    row[FEATURE_POSITION] = feature_share(before->length, all->length);
    row[FEATURE_INDEX] = (float)i;
    row[FEATURE_FROM_END] = (float)(blocks->count - i);
    row[FEATURE_RUNNING_BEFORE] = feature_share(before->running, all->running);
    row[FEATURE_RUNNING_BEHIND] = feature_share(all->running - blocks->totals[i + 1].running, all->running);
    row[FEATURE_SINCE_TITLE] = around->title == blocks->count ? -1000 : (float)i - (float)around->title;
    row[FEATURE_SINCE_RUNNING] = (float)around->since_running[i];
    row[FEATURE_UNTIL_RUNNING] = (float)around->until_running[i];
    row[FEATURE_SINCE_HEADING] = around->heading[i] ? (float)(i + 1 - around->heading[i]) : -1;
    row[FEATURE_HEADING_ABOVE] =
        around->heading[i] ? element_code(&tree->nodes[blocks->items[around->heading[i] - 1].element]) : 0;
    unsigned core = levels_up(tree, around->core, element), half = levels_up(tree, around->half, element);
    row[FEATURE_IN_CORE] = core == 0;
    row[FEATURE_CORE_UP] = (float)core;
    row[FEATURE_CORE_DOWN] = core ? -1 : (float)(tree->nodes[element].depth - tree->nodes[around->core].depth);
    row[FEATURE_IN_HALF] = half == 0;
    row[FEATURE_HALF_UP] = (float)half;
    unsigned marked = around->marked ? levels_up(tree, around->marked, element) : FAR;
    row[FEATURE_IN_MARKED] = around->marked ? marked == 0 : -1;
    row[FEATURE_MARKED_UP] = (float)marked;
}

/* Where the block is seen from what holds most of the text that is not furniture, the largest group, the title. */
static void fill_plain(const struct html_surroundings *around, const struct html_blocks *blocks, uint32_t i, float *row)
{
    const struct html_tree *tree = blocks->tree;
    const struct alike *group = around->group;
    uint32_t element = blocks->items[i].element, plain = blocks->totals[blocks->count].plain;
    unsigned core = levels_up(tree, around->plain_core, element), group_up = 0;
    row[FEATURE_CORE_OVER] = (float)levels_up(tree, element, around->core);
    row[FEATURE_PLAIN] = (blocks->items[i].flags & BLOCK_PLAIN) != 0;
    row[FEATURE_PLAIN_BEFORE] = feature_share(blocks->totals[i].plain, plain);
    row[FEATURE_PLAIN_CORE_UP] = (float)core;
    row[FEATURE_PLAIN_CORE_DOWN] =
        core ? -1 : (float)(tree->nodes[element].depth - tree->nodes[around->plain_core].depth);
    row[FEATURE_PLAIN_HALF_UP] = (float)levels_up(tree, around->plain_half, element);
    for (; group && group_up < FAR && element; group_up++, element = tree->nodes[element].parent)
        if (tree->nodes[element].parent == group->parent && blocks->signature[element] == group->signature)
            break;
    row[FEATURE_GROUP_UP] = group && element ? (float)group_up : FAR;
    row[FEATURE_GROUP_SIDE] = !group ? -2 : i < group->from ? -1 : i >= group->to ? 1 : 0;
    element = blocks->items[i].element;
    row[FEATURE_TITLE_UP] = around->title_element ? (float)levels_up(tree, around->title_element, element) : -1;
    row[FEATURE_TITLE_OVER] = around->title_element ? (float)levels_up(tree, element, around->title_element) : -1;
}

static void fill_neighbour(const struct html_blocks *blocks, int64_t i, float *row)
{
    if (i < 0 || i >= blocks->count) {
        row[0] = row[1] = row[2] = row[3] = -1;
        return;
    }
    const struct html_block *block = &blocks->items[i];
    row[0] = (float)block->length;
    row[1] = feature_share(block->link_length, block->length);
    row[2] = element_code(&blocks->tree->nodes[block->element]);
    row[3] = (block->flags & BLOCK_ENDS_SENTENCE) != 0;
}

/* The blocks up to `reach` away on both sides, as three numbers. */
static void fill_window(const struct html_blocks *blocks, uint32_t i, uint32_t reach, float *row)
{
    uint32_t from = i > reach ? i - reach : 0, to = i + reach + 1 < blocks->count ? i + reach + 1 : blocks->count;
    const struct html_totals *a = &blocks->totals[from], *b = &blocks->totals[to];
    row[0] = feature_share(b->length - a->length, to - from);
    row[1] = feature_share(b->link_length - a->link_length, b->length - a->length);
    row[2] = feature_share(b->running - a->running, b->length - a->length);
}

static void fill_neighbours(const struct html_blocks *blocks, uint32_t i, float *row)
{
    fill_neighbour(blocks, (int64_t)i - 2, row + FEATURE_BEFORE_2_LENGTH);
    fill_neighbour(blocks, (int64_t)i - 1, row + FEATURE_BEFORE_LENGTH);
    fill_neighbour(blocks, (int64_t)i + 1, row + FEATURE_BEHIND_LENGTH);
    fill_neighbour(blocks, (int64_t)i + 2, row + FEATURE_BEHIND_2_LENGTH);
    fill_window(blocks, i, 3, row + FEATURE_NEAR_LENGTH);
    fill_window(blocks, i, 10, row + FEATURE_WIDE_LENGTH);
}

static void fill_level(const struct html_surroundings *around, const struct html_blocks *blocks, uint32_t node,
                       float *row)
{
    const struct html_totals *all = &blocks->totals[blocks->count];
    struct html_totals inside = html_blocks_inside(blocks, node);
    const struct alike *alike = features_find_alike(around, blocks, node);
    row[0] = (float)inside.length;
    row[1] = feature_share(inside.link_length, inside.length);
    row[2] = feature_share(inside.running, inside.length);
    row[3] = feature_share(inside.running, all->running);
    row[4] = (float)(blocks->before[blocks->tree->nodes[node].end] - blocks->before[node]);
    row[5] = feature_share(inside.sentences, inside.length);
    row[6] = feature_share(inside.plain, all->plain);
    row[7] = (float)alike->count;
    row[8] = feature_share(alike->length, alike->count);
    row[9] = feature_share(alike->link_length, alike->length);
}

static void fill_levels(const struct html_surroundings *around, const struct html_blocks *blocks, uint32_t element,
                        float *row)
{
    const size_t width = FEATURE_LEVEL_1_LENGTH - FEATURE_LEVEL_0_LENGTH;
    const struct html_node *nodes = blocks->tree->nodes;
    for (size_t level = 0; level < FEATURE_LEVELS; level++) {
        fill_level(around, blocks, element, row + FEATURE_LEVEL_0_LENGTH + level * width);
        element = blocks->block[nodes[element].parent];
    }
}

void html_features_fill(const struct html_features *features, uint32_t i, float row[HTML_FEATURES])
{
    const struct html_blocks *blocks = features->blocks;
    const struct html_surroundings *around = features->surroundings;
    const struct html_block *block = &blocks->items[i];
    for (size_t k = FEATURE_PAGE_LENGTH; k < HTML_FEATURES; k++)
        row[k] = around->page[k];
    fill_own(blocks, block, row);
    fill_places(blocks->place[block->first], row);
    fill_names(blocks, block, row);
    fill_position(around, blocks, i, row);
    fill_plain(around, blocks, i, row);
    fill_neighbours(blocks, i, row);
    fill_levels(around, blocks, block->element, row);
}
