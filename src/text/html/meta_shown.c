/* Dates that a reader sees: <time>, and texts that are one. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "text/html/meta_internal.h"

static bool attribute_has(const struct meta *meta, uint32_t node, enum html_attribute attribute,
                          const char *const *words)
{
    return meta_mentions(html_tree_attribute(meta->tree, &meta->tree->nodes[node], attribute), words);
}

void meta_try_time(struct meta *meta, uint32_t node, bool near)
{
    static const char *const changes[] = {"updat", "modif", "changed", NULL};
    struct str when = html_tree_attribute(meta->tree, &meta->tree->nodes[node], HTML_ATTRIBUTE_DATETIME);
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED); /* at most 120 bytes */
    if (!when.len) {
        html_tree_text(meta->tree, node, 120, &text);
        when = buf_str(&text);
    }
    bool change = attribute_has(meta, node, HTML_ATTRIBUTE_CLASS, changes) ||
                  attribute_has(meta, node, HTML_ATTRIBUTE_ITEMPROP, changes);
    if (!meta_is_aside(meta, node)) {
        if (change)
            meta_offer(meta, META_MODIFIED, RANK_TIME, when);
        meta_offer(meta, META_PUBLISHED, RANK_TIME + (change ? 30U : 0U) + (near ? 0U : 10U), when);
    }
    buf_finish(&text);
}

bool meta_is_date(struct str text)
{
    char date[40];
    text = str_trim(text);
    return text.len >= 8 && text.len < 50 && meta_date(text, false, false, date);
}

void meta_try_date_text(struct meta *meta, uint32_t node)
{
    struct str text = str_trim(meta->tree->nodes[node].text);
    size_t digits = 0;
    for (size_t i = 0; i < text.len && i < 120; i++)
        digits += ascii_is_digit(text.data[i]);
    if (text.len > 100 || digits < 5 || meta_is_aside(meta, node))
        return;
    bool change =
        str_find_nocase(text, STR("updat"), 0) != STR_NONE || str_find_nocase(text, STR("modif"), 0) != STR_NONE;
    if (change)
        meta_offer(meta, META_MODIFIED, RANK_TEXT, text);
    meta_offer(meta, META_PUBLISHED, RANK_TEXT + (change ? 30U : 0U), text);
}

static void try_named_date(struct meta *meta, uint32_t node)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED); /* at most 80 bytes */
    html_tree_text(meta->tree, node, 80, &text);
    if (text.len < 60 && !meta_is_aside(meta, node))
        meta_offer(meta, META_PUBLISHED, RANK_TIME + 10, buf_str(&text));
    buf_finish(&text);
}

void meta_read_far_dates(struct meta *meta)
{
    static const char *const names[] = {"date", "publish", "posted", "dateline", NULL};
    const struct html_tree *tree = meta->tree;
    struct meta_words set;
    char *first = NULL;
    unsigned n = 0, days = 0;
    meta_words_init(&set, names);
    for (uint32_t i = 1; i < tree->count && n < 50 && days < 3; i++) {
        if (tree->nodes[i].element == HTML_TIME)
            meta_try_time(meta, i, false);
        else if (tree->nodes[i].n_attributes &&
                 meta_words_find(&set, html_tree_attribute(tree, &tree->nodes[i], HTML_ATTRIBUTE_CLASS)))
            try_named_date(meta, i);
        else
            continue;
        n++;
        const char *found = meta->values[META_PUBLISHED];
        if (found && !first)
            first = mem_strdup(found);
        if (found && !meta_is_article(meta)) {
            days += days == 0 || strncmp(first, found, 10) != 0;
            free(meta->values[META_PUBLISHED]);
            meta->values[META_PUBLISHED] = NULL;
        } else if (found) {
            break;
        }
    }
    if (first && days > 0 && days < 3)
        meta_offer(meta, META_PUBLISHED, RANK_TIME + 10, str_of(first));
    free(first);
}

bool meta_lists_times(const struct meta *meta)
{
    const struct html_tree *tree = meta->tree;
    unsigned days = 0, n = 0;
    struct str before = {0};
    for (uint32_t i = 1; i < tree->count && n < 60; i++) {
        if (tree->nodes[i].element != HTML_TIME)
            continue;
        struct str when = str_slice(html_tree_attribute(tree, &tree->nodes[i], HTML_ATTRIBUTE_DATETIME), 0, 10);
        n++;
        days += when.len == 10 && !str_equal(when, before);
        before = when;
    }
    return days > 3;
}
