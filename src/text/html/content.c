#include "text/html/content.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "text/html/features.h"
#include "text/html/hints.h"

/* One step of a tree, in the order of a walk that goes to the left first: the next one is the left child. A step with
 * the feature LEAF is an end, and its number what is added to the block's score. */
struct tree_step {
    float number;    /* to the left with values up to it */
    uint8_t feature; /* enum html_feature */
    uint8_t right;   /* how many steps further on the right child is */
};

#define LEAF 255
_Static_assert(HTML_FEATURES < LEAF, "a feature fits in a byte");

#include "text/html/content_model.inc"

#define BINS          512   /* of likelihoods, when the threshold is looked for */
#define CAUTION       0.75f /* of the log-odds that the model gives, on pages that are no articles */
#define GAP_THRESHOLD 0.6f  /* of the threshold */
#define COPY_WORDS    8
#define REGION_SHARE  0.9   /* of all that is likely content stands in the region */
#define LEAST_TAKEN   0.3   /* of the region, or it is left as it is */
#define HOLE_SHARE    0.6   /* the surer the model is of what is kept, the surer it has to be of what is not */
#define LEAST_HOLE    0.05f /* of headings, terms and code */
#define LONG_NOTE     200   /* characters */
#define SMALL_PAGE    1500  /* characters that are not of furniture */
#define FEW_BLOCKS    40

static float score_row(const float *row)
{
    float sum = 0;
    for (size_t tree = 0; tree < sizeof tree_starts / sizeof tree_starts[0]; tree++) {
        const struct tree_step *step = &tree_steps[tree_starts[tree]];
        while (step->feature != LEAF)
            step += row[step->feature] <= step->number ? 1 : step->right;
        sum += step->number;
    }
    return 1 / (1 + expf(-sum));
}

/* What a likelihood is worth. Nearly all articles are made alike; of lists, shops and services the model has seen few
 * that are like the next one, and is surer of them than it is right. */
static double worth(const struct html_blocks *blocks, float score)
{
    if (blocks->kinds & (KIND_ARTICLE | KIND_OG_ARTICLE))
        return (double)score;
    float yes = powf(score, CAUTION), no = powf(1 - score, CAUTION);
    return (double)(yes / (yes + no));
}

/* The likelihood from which on blocks are kept: where the expected F1 of the words kept is greatest, within bounds that
 * hold for pages on which the model is unsure throughout, but not where it sees nothing that is content. */
static float find_threshold(const struct html_blocks *blocks, const float *scores, float likeliest)
{
    double words[BINS] = {0}, good[BINS] = {0}, all_good = 0, best = -1;
    int threshold = 0;
    for (uint32_t i = 0; i < blocks->count; i++) {
        int bin = (int)(scores[i] * (BINS - 1));
        double likely = blocks->items[i].words * worth(blocks, scores[i]);
        words[bin] += blocks->items[i].words;
        good[bin] += likely;
        all_good += likely;
    }
    double kept = 0, kept_good = 0;
    for (int bin = BINS - 1; bin >= 0; bin--) {
        if (words[bin] <= 0)
            continue;
        kept += words[bin];
        kept_good += good[bin];
        double f1 = 2 * kept_good / (kept + all_good);
        if (f1 > best) {
            best = f1;
            threshold = bin;
        }
    }
    float found = (float)threshold / (BINS - 1);
    if (found < LEAST_THRESHOLD && likeliest >= LEAST_THRESHOLD)
        return LEAST_THRESHOLD;
    return found > GREATEST_THRESHOLD ? GREATEST_THRESHOLD : found;
}

/* What stands between two blocks that are kept and is nearly as likely is kept, too. */
static void fill_gaps(const struct html_blocks *blocks, const float *scores, float threshold, bool *kept)
{
    for (uint32_t i = 1; i + 1 < blocks->count; i++)
        if (!kept[i] && scores[i] >= threshold * GAP_THRESHOLD && scores[i - 1] >= threshold &&
            scores[i + 1] >= threshold)
            kept[i] = true;
}

/* The smallest element with most of what is likely content. */
static uint32_t find_region(const struct html_blocks *blocks, const float *scores)
{
    const struct html_tree *tree = blocks->tree;
    double *likely = mem_calloc((size_t)blocks->count + 1, sizeof *likely);
    for (uint32_t i = 0; i < blocks->count; i++)
        likely[i + 1] = likely[i] + (double)blocks->items[i].length * scores[i];
    uint32_t region = 0;
    for (uint32_t i = 0; i < tree->count; i++) {
        double inside = likely[blocks->before[tree->nodes[i].end]] - likely[blocks->before[i]];
        if (inside >= REGION_SHARE * likely[blocks->count])
            region = i;
    }
    free(likely);
    return region;
}

/* Whether a block belongs to what follows: a heading, or a term that is defined. */
static bool leads(const struct html_blocks *blocks, uint32_t block)
{
    const struct html_block *lead = &blocks->items[block];
    return (blocks->place[lead->first] & PLACE_HEADING) || blocks->tree->nodes[lead->element].element == HTML_DT;
}

/* A text has no holes: between the first and the last block kept of the region, with headings before and code behind,
 * what is likely by the measure of the others stays, too, and so do code, and headings of what is kept. The model may
 * be unsure of a page as a whole, as of manuals. */
static void fill_region(const struct html_blocks *blocks, const float *scores, bool *kept)
{
    const uint32_t furniture = PLACE_NAV | PLACE_ASIDE | PLACE_FOOTER | PLACE_FORM | PLACE_BUTTON;
    uint32_t region = find_region(blocks, scores);
    uint32_t from = blocks->before[region], to = blocks->before[blocks->tree->nodes[region].end], first = from,
             end = to;
    while (first < end && !kept[first])
        first++;
    while (end > first && !kept[end - 1])
        end--;
    double all = 0, taken = 0, likely = 0;
    for (uint32_t i = first; i < end; i++) {
        all += blocks->items[i].length;
        taken += kept[i] ? blocks->items[i].length : 0;
        likely += kept[i] ? (double)blocks->items[i].length * scores[i] : 0;
    }
    if (taken <= 0 || taken < LEAST_TAKEN * all)
        return;
    double mean = likely / taken, least = HOLE_SHARE * mean * mean;
    while (first > from && leads(blocks, first - 1))
        first--;
    while (end < to && (blocks->place[blocks->items[end].first] & PLACE_CODE))
        end++;
    for (uint32_t i = end; i-- > first;) {
        uint32_t place = blocks->place[blocks->items[i].first];
        bool certain = (place & PLACE_CODE) || (leads(blocks, i) && i + 1 < end && kept[i + 1]);
        if (!(place & furniture) && (certain ? scores[i] > LEAST_HOLE : scores[i] >= least))
            kept[i] = true;
    }
}

/* Whether a block says what the one kept before it says, in another element: a picture's caption and the title below
 * it, say. Cells, code and items of one list may well be equal. */
static bool is_echo(const struct html_blocks *blocks, uint32_t before, uint32_t block)
{
    const struct html_block *one = &blocks->items[before], *other = &blocks->items[block];
    const struct html_node *nodes = blocks->tree->nodes;
    bool alike = blocks->signature[one->element] == blocks->signature[other->element] &&
                 nodes[one->element].parent == nodes[other->element].parent;
    return before < block && one->first_same == other->first_same && !alike &&
           !(blocks->place[other->first] & (PLACE_TABLE | PLACE_CODE));
}

/* Of longer texts that a page has several times, for narrow and for wide screens, say, the first that is kept stays. */
static void drop_copies(const struct html_blocks *blocks, bool *kept)
{
    bool *seen = mem_calloc(blocks->count, sizeof *seen);
    for (uint32_t i = 0, last = 0; i < blocks->count; i++) {
        const struct html_block *block = &blocks->items[i];
        if (kept[i] && is_echo(blocks, last, i))
            kept[i] = false;
        last = kept[i] ? i : last;
        if (!kept[i] || block->same < 2 || block->words < COPY_WORDS)
            continue;
        kept[i] = !seen[block->first_same];
        seen[block->first_same] = true;
    }
    free(seen);
}

/* Pages of a few lines are unlike those the model has seen: what is not named as furniture stays, links by themselves
 * only in an article or where nothing but links is there. */
static void keep_small_page(const struct html_blocks *blocks, bool *kept)
{
    const struct html_totals *all = &blocks->totals[blocks->count];
    if (all->plain >= SMALL_PAGE || blocks->count > FEW_BLOCKS)
        return;
    for (uint32_t i = 0; i < blocks->count; i++) {
        const struct html_block *block = &blocks->items[i];
        bool text = (uint64_t)block->link_length * 2 <= block->length || !all->running ||
                    (blocks->place[block->first] & PLACE_ARTICLE);
        kept[i] = kept[i] || ((block->flags & BLOCK_PLAIN) && text);
    }
}

/* Keeps at least what is likeliest. */
static void choose(const struct html_blocks *blocks, const float *scores, bool *kept)
{
    float likeliest = 0;
    for (uint32_t i = 0; i < blocks->count; i++)
        likeliest = scores[i] > likeliest ? scores[i] : likeliest;
    float threshold = find_threshold(blocks, scores, likeliest);
    if (threshold > likeliest)
        threshold = likeliest;
    for (uint32_t i = 0; i < blocks->count; i++)
        kept[i] = scores[i] >= threshold;
    fill_gaps(blocks, scores, threshold, kept);
    fill_region(blocks, scores, kept);
    keep_small_page(blocks, kept);
    drop_copies(blocks, kept);
}

static void keep_content(const struct html_blocks *blocks, bool *kept)
{
    float row[HTML_FEATURES], *scores = mem_calloc(blocks->count, sizeof *scores);
    struct html_features features;
    html_features_init(blocks, &features);
    for (uint32_t i = 0; i < blocks->count; i++) {
        html_features_fill(&features, i, row);
        scores[i] = score_row(row);
    }
    html_features_finish(&features);
    choose(blocks, scores, kept);
    free(scores);
}

/* Whether a node in which no block begins is kept: it is in a block, or it has no text (a picture, a rule) and stands
 * between two that are kept. */
static bool is_kept_within(const struct html_blocks *blocks, const bool *kept, uint32_t node)
{
    uint32_t next = blocks->before[node];
    bool before = next > 0 && kept[next - 1];
    if (next > 0 && node <= blocks->items[next - 1].last)
        return before;
    return before && next < blocks->count && kept[next];
}

static void mark_rest(const struct html_blocks *blocks, const bool *kept, uint8_t *marks)
{
    const struct html_tree *tree = blocks->tree;
    uint32_t *kept_before = mem_calloc((size_t)blocks->count + 1, sizeof *kept_before);
    for (uint32_t i = 0; i < blocks->count; i++)
        kept_before[i + 1] = kept_before[i] + kept[i];
    for (uint32_t i = 0; i < tree->count;) {
        const struct html_node *node = &tree->nodes[i];
        uint32_t from = blocks->before[i], to = blocks->before[node->end];
        bool keep = from < to ? kept_before[from] < kept_before[to] : is_kept_within(blocks, kept, i);
        if (!keep)
            marks[i] |= MARK_DROPPED;
        i = marks[i] & MARK_DROPPED ? node->end : i + 1;
    }
    free(kept_before);
}

/* Whether all there is stands in a footer, or is a short note to those who run no scripts: a page that scripts make. */
static bool is_empty_shell(const struct html_blocks *blocks)
{
    uint32_t notes = 0;
    for (uint32_t i = 0; i < blocks->count; i++) {
        uint32_t place = blocks->place[blocks->items[i].first];
        if (place & PLACE_NOSCRIPT)
            notes += blocks->items[i].length;
        else if (!(place & PLACE_FOOTER))
            return false;
    }
    return notes < LONG_NOTE;
}

void html_mark_content(const struct html_tree *tree, const struct html_content_options *options, uint8_t *marks)
{
    struct html_blocks blocks;
    memset(marks, 0, tree->count);
    html_blocks_init(tree, options->keep_comments || options->whole_page, marks, &blocks);
    if (blocks.count && !options->whole_page) {
        bool *kept = mem_calloc(blocks.count, sizeof *kept);
        if (!is_empty_shell(&blocks))
            keep_content(&blocks, kept);
        mark_rest(&blocks, kept, marks);
        free(kept);
    }
    html_blocks_finish(&blocks);
}
