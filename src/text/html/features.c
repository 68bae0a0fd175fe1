#include "text/html/features.h"

#include <math.h>
#include <stdlib.h>

#include "core/mem.h"
#include "text/html/hints.h"

#define FAR       15  /* elements up beyond which names are not looked for */
#define NONE_NEAR 100 /* blocks up to something that is not there */

/* Elements of one parent that look alike: the same element and class. */
struct alike {
    uint32_t parent, signature; /* signature 0: free */
    uint32_t count;
    uint64_t length, link_length, plain;
    uint32_t from, to; /* blocks */
};

struct page {
    float values[HTML_FEATURES]; /* those of the page as a whole */
    uint32_t running;
};

struct html_surroundings {
    struct alike *alike;
    size_t alike_mask;
    uint32_t *since_running, *until_running;             /* blocks, per block */
    uint32_t *heading;                                   /* index + 1 of the heading above, per block */
    uint32_t title;                                      /* index of the first h1 block; count when there is none */
    uint32_t core, half, marked, plain_core, plain_half; /* nodes */
    struct alike *group;    /* the elements that hold most plain text, NULL when none are alike */
    uint32_t title_element; /* of that block; 0 when there is none */
    struct page page;
};

static const char *const feature_names[] = {
#define FEATURE(name) #name,
#include "text/html/features.inc"
#undef FEATURE
};

const char *html_feature_name(enum html_feature feature)
{
    return feature_names[feature];
}

static float share(uint64_t part, uint64_t whole)
{
    return whole ? (float)part / (float)whole : 0;
}

static float least(float a, float b)
{
    return a < b ? a : b;
}

/* ---- elements that look alike ---- */

static struct alike *find_alike(const struct html_surroundings *around, const struct html_blocks *blocks, uint32_t node)
{
    uint32_t parent = blocks->tree->nodes[node].parent, signature = blocks->signature[node];
    uint64_t hash = ((uint64_t)parent << 32 | signature) * 0x9E3779B97F4A7C15u;
    size_t slot = (hash >> 32) & around->alike_mask;
    while (around->alike[slot].signature &&
           (around->alike[slot].parent != parent || around->alike[slot].signature != signature))
        slot = (slot + 1) & around->alike_mask;
    return &around->alike[slot];
}

static void gather_alike(struct html_surroundings *around, const struct html_blocks *blocks)
{
    const struct html_tree *tree = blocks->tree;
    size_t n = 0, size = 16;
    for (uint32_t i = 0; i < tree->count; i++)
        n += blocks->block[i] == i && tree->nodes[i].element != HTML_TEXT;
    while (size < 2 * n)
        size *= 2;
    around->alike = mem_calloc(size, sizeof *around->alike);
    around->alike_mask = size - 1;
    for (uint32_t i = 0; i < tree->count; i++) {
        if (blocks->block[i] != i || tree->nodes[i].element == HTML_TEXT ||
            blocks->before[i] == blocks->before[tree->nodes[i].end])
            continue;
        struct html_totals inside = html_blocks_inside(blocks, i);
        struct alike *found = find_alike(around, blocks, i);
        found->parent = tree->nodes[i].parent;
        found->signature = blocks->signature[i];
        if (!found->count++)
            found->from = blocks->before[i];
        found->to = blocks->before[tree->nodes[i].end];
        found->plain += inside.plain;
        found->length += inside.length;
        found->link_length += inside.link_length;
    }
}

/* ---- where the text of the page is ---- */

static uint32_t running_inside(const struct html_blocks *blocks, uint32_t node)
{
    return html_blocks_inside(blocks, node).running;
}

static uint32_t plain_inside(const struct html_blocks *blocks, uint32_t node)
{
    return html_blocks_inside(blocks, node).plain;
}

/* The smallest element that holds `percent` of what `measure` finds in the page. */
static uint32_t find_core(const struct html_blocks *blocks, uint32_t (*measure)(const struct html_blocks *, uint32_t),
                          unsigned percent)
{
    const struct html_tree *tree = blocks->tree;
    uint64_t wanted = (uint64_t)measure(blocks, 0) * percent;
    for (uint32_t node = 0;;) {
        uint32_t best = 0, most = 0;
        for (uint32_t child = node + 1; child < tree->nodes[node].end; child = tree->nodes[child].end) {
            uint32_t part = tree->nodes[child].element == HTML_TEXT ? 0 : measure(blocks, child);
            if (part > most) {
                most = part;
                best = child;
            }
        }
        if (!best || (uint64_t)most * 100 < wanted || blocks->block[best] != best)
            return node;
        node = best;
    }
}

/* The article, main or articleBody element with the most running text, the innermost of those; 0 when there is none. */
static uint32_t find_marked(const struct html_blocks *blocks)
{
    const struct html_tree *tree = blocks->tree;
    uint32_t best = 0, most = 0;
    for (uint32_t i = 1; i < tree->count; i++) {
        const uint32_t mark = PLACE_MAIN | PLACE_ARTICLE | PLACE_BODY_PROPERTY;
        if (tree->nodes[i].element == HTML_TEXT || !(blocks->place[i] & ~blocks->place[tree->nodes[i].parent] & mark))
            continue;
        uint32_t running = running_inside(blocks, i);
        if (running && (uint64_t)running * 10 >= (uint64_t)most * 9) {
            most = running > most ? running : most;
            best = i;
        }
    }
    return best;
}

/* How many elements up from `from` there is one that holds `node`. */
static unsigned levels_up(const struct html_tree *tree, uint32_t from, uint32_t node)
{
    unsigned levels = 0;
    for (; !(from <= node && node < tree->nodes[from].end) && levels < FAR; levels++)
        from = tree->nodes[from].parent;
    return levels;
}

/* ---- the page as a whole ---- */

static bool is_heading(const struct html_blocks *blocks, uint32_t i)
{
    return html_flags(blocks->tree->nodes[blocks->items[i].element].element) & ELEMENT_HEADING;
}

static void gather_distances(struct html_surroundings *around, const struct html_blocks *blocks)
{
    uint32_t n = blocks->count, since = NONE_NEAR, heading = 0;
    around->since_running = mem_calloc(n, sizeof *around->since_running);
    around->until_running = mem_calloc(n, sizeof *around->until_running);
    around->heading = mem_calloc(n, sizeof *around->heading);
    around->title = n;
    for (uint32_t i = 0; i < n; i++) {
        around->since_running[i] = since;
        around->heading[i] = heading;
        since = blocks->items[i].flags & BLOCK_RUNNING ? 1 : since < NONE_NEAR ? since + 1 : since;
        heading = is_heading(blocks, i) ? i + 1 : heading;
        if (around->title == n && blocks->tree->nodes[blocks->items[i].element].element == HTML_H1)
            around->title = i;
    }
    since = NONE_NEAR;
    for (uint32_t i = n; i-- > 0;) {
        around->until_running[i] = since;
        since = blocks->items[i].flags & BLOCK_RUNNING ? 1 : since < NONE_NEAR ? since + 1 : since;
    }
}

/* The largest group of elements that look alike, by the text in it that is not furniture. */
static void find_group(struct html_surroundings *around)
{
    for (size_t i = 0; i <= around->alike_mask; i++) {
        struct alike *alike = &around->alike[i];
        if (alike->count >= 3 && alike->plain &&
            (!around->group || alike->plain > around->group->plain ||
             (alike->plain == around->group->plain && alike->from > around->group->from)))
            around->group = alike;
    }
}

static void gather_page(struct html_surroundings *around, const struct html_blocks *blocks)
{
    const struct html_totals *all = &blocks->totals[blocks->count];
    float *row = around->page.values;
    uint64_t forum = 0, code = 0, table = 0, noscript = 0, prices = 0, times = 0, articles = 0, has_main = 0;
    for (uint32_t i = 0; i < blocks->count; i++) {
        const struct html_block *block = &blocks->items[i];
        uint32_t place = blocks->place[block->first];
        prices += (block->flags & BLOCK_PRICE) != 0;
        times += (block->flags & BLOCK_TIME) != 0;
        code += place & PLACE_CODE ? block->length : 0;
        table += place & PLACE_TABLE ? block->length : 0;
        noscript += place & PLACE_NOSCRIPT ? block->length : 0;
        has_main |= (place & PLACE_MAIN) != 0;
    }
    for (uint32_t i = 0; i < blocks->tree->count; i++) {
        forum += blocks->names[i] >> NAME_FORUM & 1;
        articles += blocks->tree->nodes[i].element == HTML_ARTICLE;
    }
    row[FEATURE_PAGE_LENGTH] = (float)all->length;
    row[FEATURE_PAGE_RUNNING] = share(all->running, all->length);
    row[FEATURE_PAGE_RUNNING_BLOCKS] = (float)all->running_blocks;
    row[FEATURE_PAGE_LINKS] = share(all->link_length, all->length);
    row[FEATURE_PAGE_BLOCKS] = (float)blocks->count;
    row[FEATURE_PAGE_HEADINGS] = (float)all->headings;
    row[FEATURE_PAGE_PRICES] = share(prices, blocks->count);
    row[FEATURE_PAGE_TIMES] = share(times, blocks->count);
    row[FEATURE_PAGE_ARTICLES] = (float)articles;
    row[FEATURE_PAGE_CORE] = share(html_blocks_inside(blocks, around->core).length, all->length);
    row[FEATURE_PAGE_MARKED] = around->marked ? share(running_inside(blocks, around->marked), all->running) : -1;
    const struct alike *group = around->group;
    row[FEATURE_PAGE_PLAIN] = share(all->plain, all->length);
    row[FEATURE_PAGE_GROUP] = group ? share(group->plain, all->plain) : 0;
    row[FEATURE_PAGE_GROUP_COUNT] = group ? (float)group->count : 0;
    row[FEATURE_PAGE_GROUP_LENGTH] = group ? share(group->length, group->count) : 0;
    row[FEATURE_PAGE_GROUP_LINKS] = group ? share(group->link_length, group->length) : 0;
    row[FEATURE_PAGE_COMMENTS] = blocks->comments;
    row[FEATURE_PAGE_FORUM] = share(forum, blocks->count);
    row[FEATURE_PAGE_CODE] = share(code, all->length);
    row[FEATURE_PAGE_TABLE] = share(table, all->length);
    row[FEATURE_PAGE_NOSCRIPT] = share(noscript, all->length);
    row[FEATURE_PAGE_BODY] = (float)blocks->body_size;
    row[FEATURE_PAGE_HAS_MAIN] = (float)has_main;
    row[FEATURE_KIND_ARTICLE] = (blocks->kinds & KIND_ARTICLE) != 0;
    row[FEATURE_KIND_PRODUCT] = (blocks->kinds & KIND_PRODUCT) != 0;
    row[FEATURE_KIND_FORUM] = (blocks->kinds & KIND_FORUM) != 0;
    row[FEATURE_KIND_LIST] = (blocks->kinds & KIND_LIST) != 0;
    row[FEATURE_KIND_FAQ] = (blocks->kinds & KIND_FAQ) != 0;
    row[FEATURE_KIND_OG] = blocks->kinds & KIND_OG_ARTICLE   ? 1
                           : blocks->kinds & KIND_OG_PRODUCT ? 2
                           : blocks->kinds & KIND_OG_OTHER   ? 3
                                                             : 0;
}

void html_features_init(const struct html_blocks *blocks, struct html_features *out)
{
    struct html_surroundings *around = mem_zalloc(sizeof *around);
    *out = (struct html_features){.blocks = blocks, .surroundings = around};
    gather_alike(around, blocks);
    gather_distances(around, blocks);
    around->half = find_core(blocks, running_inside, 50);
    around->core = find_core(blocks, running_inside, 75);
    around->plain_half = find_core(blocks, plain_inside, 50);
    around->plain_core = find_core(blocks, plain_inside, 75);
    find_group(around);
    around->title_element = around->title < blocks->count ? blocks->items[around->title].element : 0;
    around->marked = find_marked(blocks);
    gather_page(around, blocks);
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
    row[FEATURE_WORD_LENGTH] = share(block->length, block->words);
    row[FEATURE_LINK_SHARE] = share(block->link_length, block->length);
    row[FEATURE_LINKS] = (float)block->links;
    row[FEATURE_STRONG_SHARE] = share(block->strong_length, block->length);
    row[FEATURE_SENTENCES] = (float)block->sentences;
    row[FEATURE_SENTENCE_RATE] = share(block->sentences, block->words);
    row[FEATURE_COMMA_RATE] = share(block->commas, block->words);
    row[FEATURE_BARS] = (float)block->bars;
    row[FEATURE_DIGIT_SHARE] = share(block->digits, block->length);
    row[FEATURE_CAPITAL_SHARE] = share(block->capitals, block->words);
    row[FEATURE_ENDS_SENTENCE] = (block->flags & BLOCK_ENDS_SENTENCE) != 0;
    row[FEATURE_ENDS_COLON] = (block->flags & BLOCK_ENDS_COLON) != 0;
    row[FEATURE_PRICE] = (block->flags & BLOCK_PRICE) != 0;
    row[FEATURE_COPYRIGHT] = (block->flags & BLOCK_COPYRIGHT) != 0;
    row[FEATURE_TIME] = (block->flags & BLOCK_TIME) != 0;
    row[FEATURE_BREAKS] = (float)block->breaks;
    row[FEATURE_SAME] = (float)block->same;
    row[FEATURE_TITLE_SHARE] = share(block->title_words, block->words);
    row[FEATURE_TITLE_COVER] = least(share(block->title_words, blocks->title_size), 2);
    row[FEATURE_BODY_SHARE] = blocks->body_size ? share(block->body_words, grams) : -1;
    row[FEATURE_DESCRIPTION_SHARE] = share(block->description_words, grams);
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
    row[FEATURE_POSITION] = share(before->length, all->length);
    row[FEATURE_INDEX] = (float)i;
    row[FEATURE_FROM_END] = (float)(blocks->count - i);
    row[FEATURE_RUNNING_BEFORE] = share(before->running, all->running);
    row[FEATURE_RUNNING_BEHIND] = share(all->running - blocks->totals[i + 1].running, all->running);
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
    row[FEATURE_PLAIN_BEFORE] = share(blocks->totals[i].plain, plain);
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
    row[1] = share(block->link_length, block->length);
    row[2] = element_code(&blocks->tree->nodes[block->element]);
    row[3] = (block->flags & BLOCK_ENDS_SENTENCE) != 0;
}

/* The blocks up to `reach` away on both sides, as three numbers. */
static void fill_window(const struct html_blocks *blocks, uint32_t i, uint32_t reach, float *row)
{
    uint32_t from = i > reach ? i - reach : 0, to = i + reach + 1 < blocks->count ? i + reach + 1 : blocks->count;
    const struct html_totals *a = &blocks->totals[from], *b = &blocks->totals[to];
    row[0] = share(b->length - a->length, to - from);
    row[1] = share(b->link_length - a->link_length, b->length - a->length);
    row[2] = share(b->running - a->running, b->length - a->length);
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
    const struct alike *alike = find_alike(around, blocks, node);
    row[0] = (float)inside.length;
    row[1] = share(inside.link_length, inside.length);
    row[2] = share(inside.running, inside.length);
    row[3] = share(inside.running, all->running);
    row[4] = (float)(blocks->before[blocks->tree->nodes[node].end] - blocks->before[node]);
    row[5] = share(inside.sentences, inside.length);
    row[6] = share(inside.plain, all->plain);
    row[7] = (float)alike->count;
    row[8] = share(alike->length, alike->count);
    row[9] = share(alike->link_length, alike->length);
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
        row[k] = around->page.values[k];
    fill_own(blocks, block, row);
    fill_places(blocks->place[block->first], row);
    fill_names(blocks, block, row);
    fill_position(around, blocks, i, row);
    fill_plain(around, blocks, i, row);
    fill_neighbours(blocks, i, row);
    fill_levels(around, blocks, block->element, row);
}
