/* What is known of a page before the rows of its blocks: where its text is, and which elements look alike. */
#include "text/html/features_internal.h"

#include "core/mem.h"
#include "text/html/hints.h"

#define NONE_NEAR 100 /* blocks up to something that is not there */

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

const struct alike *features_find_alike(const struct html_surroundings *around, const struct html_blocks *blocks,
                                        uint32_t node)
{
    return find_alike(around, blocks, node);
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
    float *row = around->page;
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
    row[FEATURE_PAGE_RUNNING] = feature_share(all->running, all->length);
    row[FEATURE_PAGE_RUNNING_BLOCKS] = (float)all->running_blocks;
    row[FEATURE_PAGE_LINKS] = feature_share(all->link_length, all->length);
    row[FEATURE_PAGE_BLOCKS] = (float)blocks->count;
    row[FEATURE_PAGE_HEADINGS] = (float)all->headings;
    row[FEATURE_PAGE_PRICES] = feature_share(prices, blocks->count);
    row[FEATURE_PAGE_TIMES] = feature_share(times, blocks->count);
    row[FEATURE_PAGE_ARTICLES] = (float)articles;
    row[FEATURE_PAGE_CORE] = feature_share(html_blocks_inside(blocks, around->core).length, all->length);
    row[FEATURE_PAGE_MARKED] =
        around->marked ? feature_share(running_inside(blocks, around->marked), all->running) : -1;
    const struct alike *group = around->group;
    row[FEATURE_PAGE_PLAIN] = feature_share(all->plain, all->length);
    row[FEATURE_PAGE_GROUP] = group ? feature_share(group->plain, all->plain) : 0;
    row[FEATURE_PAGE_GROUP_COUNT] = group ? (float)group->count : 0;
    row[FEATURE_PAGE_GROUP_LENGTH] = group ? feature_share(group->length, group->count) : 0;
    row[FEATURE_PAGE_GROUP_LINKS] = group ? feature_share(group->link_length, group->length) : 0;
    row[FEATURE_PAGE_COMMENTS] = blocks->comments;
    row[FEATURE_PAGE_FORUM] = feature_share(forum, blocks->count);
    row[FEATURE_PAGE_CODE] = feature_share(code, all->length);
    row[FEATURE_PAGE_TABLE] = feature_share(table, all->length);
    row[FEATURE_PAGE_NOSCRIPT] = feature_share(noscript, all->length);
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

void features_page_gather(struct html_surroundings *around, const struct html_blocks *blocks)
{
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
