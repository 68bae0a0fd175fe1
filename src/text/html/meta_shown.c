/* Dates that a reader sees: <time>, and texts that are one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "text/html/meta_internal.h"

/* Whether a text or a class says that something is of a later change, not of the beginning. */
static bool says_changed(struct str text)
{
    static const char *const changes[] = {"updat",     "modif",    "revis",     "review",  "changed",   "edited",
                                          "last post", "aktualis", "aktualiz",  "ändert",  "mis à jo",  "actualiz",
                                          "aggiorn",   "atualiz",  "bijgewerk", "бновлен", "güncellen", "更新",
                                          "修改",      "업데이트", "수정",      "تحديث",   "अपडेट",      NULL};
    return meta_mentions(text, changes);
}

void meta_try_time(struct meta *meta, uint32_t node, bool near)
{
    struct str when = html_tree_attribute(meta->tree, &meta->tree->nodes[node], HTML_ATTRIBUTE_DATETIME);
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED); /* at most 120 bytes */
    if (!when.len) {
        html_tree_text(meta->tree, node, 120, &text);
        when = buf_str(&text);
    }
    const struct html_node *time = &meta->tree->nodes[node];
    bool change = says_changed(html_tree_attribute(meta->tree, time, HTML_ATTRIBUTE_CLASS)) ||
                  says_changed(html_tree_attribute(meta->tree, time, HTML_ATTRIBUTE_ITEMPROP));
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
    if (text.len > 100 || !meta_may_have_date(text) || meta_is_aside(meta, node))
        return;
    bool change = says_changed(text);
    if (change)
        meta_offer(meta, META_MODIFIED, RANK_TEXT, text);
    meta_offer(meta, META_PUBLISHED, RANK_TEXT + (change ? 30U : 0U), text);
}

/* ---- what is shown against what machines are told ---- */

#define SHOWN_NODES 40 /* below the heading */
#define SHOWN_BYTES 60 /* of a text with a date and little else */
#define MAX_LABEL   30 /* of what says what date follows */

/* Days since some day, to compare two written "2020-03-04"; near enough. */
static long day_number(const char *day)
{
    static const short before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    long year = strtol(day, NULL, 10), month = strtol(day + 5, NULL, 10), date = strtol(day + 8, NULL, 10);
    return year * 365 + year / 4 + before[(month + 11) % 12] + date;
}

static bool is_same_day(const char *a, const char *b)
{
    long apart = day_number(a) - day_number(b);
    return apart >= -1 && apart <= 1; /* time zones */
}

static bool is_stated(const struct meta *meta, const char *day)
{
    for (size_t i = 0; i < meta->n_stated; i++)
        if (is_same_day(meta->stated[i], day))
            return true;
    return false;
}

/* The days that stand below the heading: `day` is not said to be one of a change, `changed` is. Empty where there is
 * none, both where `day` could be several. */
static void find_shown(const struct meta *meta, char day[12], char changed[12])
{
    const struct html_tree *tree = meta->tree;
    struct str before = {0};
    uint32_t end = meta->heading + SHOWN_NODES < tree->count ? meta->heading + SHOWN_NODES : tree->count;
    unsigned days = 0;
    char date[40];
    day[0] = changed[0] = '\0';
    for (uint32_t i = tree->nodes[meta->heading].end; i < end; i++) {
        struct str text = str_trim(tree->nodes[i].text);
        if (tree->nodes[i].element != HTML_TEXT || !text.len)
            continue;
        bool found = text.len <= SHOWN_BYTES && meta_may_have_date(text) &&
                     meta_date(text, false, meta_day_comes_first(meta), date) && !meta_is_aside(meta, i);
        bool change = found && (says_changed(text) || (before.len < MAX_LABEL && says_changed(before)));
        before = text;
        if (!found)
            continue;
        if (change && !changed[0])
            snprintf(changed, 12, "%.10s", date);
        else if (!change && !day[0])
            snprintf(day, 12, "%.10s", date);
        days += !change && !is_same_day(day, date);
    }
    if (days > 0)
        day[0] = changed[0] = '\0';
}

/* Systems often write into what machines are told when a text came to them, or the same time for its publication and
 * its last change. What a reader is shown counts where a source for machines confirms it, or where it can be: before
 * the day that machines are told, or not after the last change. A day that is said to be one of a change needs a
 * source that calls it one of publication. */
void meta_settle_shown(struct meta *meta)
{
    const char *published = meta->values[META_PUBLISHED], *modified = meta->values[META_MODIFIED];
    char day[12], changed[12];
    if (!published || meta->ranks[META_PUBLISHED] >= RANK_BYLINE || !meta->heading || meta_is_discussion(meta))
        return;
    find_shown(meta, day, changed);
    const char *shown = day[0] ? day : changed;
    if (!shown[0] || is_same_day(shown, published))
        return;
    bool possible =
        day_number(shown) < day_number(published) || (modified && day_number(shown) <= day_number(modified) + 1);
    if (!is_stated(meta, shown) && (shown != day || !possible))
        return;
    meta_withdraw(meta, META_PUBLISHED);
    meta_offer(meta, META_PUBLISHED, RANK_LD, str_of(shown));
}

/* ---- far from the heading ---- */

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
