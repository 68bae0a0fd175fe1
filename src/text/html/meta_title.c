/* The title: what the page's heading, its <title>, OpenGraph and JSON-LD agree on, without the site's name. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "text/html/meta_internal.h"

#define MAX_COMPACT 200

static const char *const bars[] = {" | ", " - ", " – ", " — ", " :: ", " » ", " « ", " · ", " • ", " / ", " ~ ",
                                   " ‹ ", "｜",  " ― ", "|",   ": ",   "_",   " › ", " < ", "--",  "—",   "-"};

/* Whether a bar stands inside titles too: then only a name that the site gives itself is cut off at it. */
static bool is_weak(struct str bar)
{
    return bar.data[0] != ' ' && bar.data[0] != '|' && !str_equal(bar, STR("｜"));
}

/* Letters and digits in small letters alone, for comparing names with hosts. */
static size_t compact(struct str text, char out[MAX_COMPACT])
{
    size_t n = 0;
    for (size_t i = 0; i < text.len && n < MAX_COMPACT; i++)
        if (ascii_is_alnum(text.data[i]) || (unsigned char)text.data[i] >= 0x80)
            out[n++] = ascii_lower(text.data[i]);
    return n;
}

/* The host of an address without "www." and what is behind its last dot. */
static struct str host_name(struct str address)
{
    size_t scheme = str_find(address, STR("://"), 0);
    size_t from = scheme == STR_NONE ? address.len : scheme + 3, end = str_find_char(address, '/', from);
    struct str host = str_slice(address, from, end);
    if (str_starts_with(host, STR("www.")))
        host = str_slice(host, 4, host.len);
    size_t dot = str_rfind_char(host, '.');
    return dot == STR_NONE ? host : str_slice(host, 0, dot);
}

/* Whether a name is spelled by one of the labels of a host. */
static bool is_host(struct str name, struct str host)
{
    struct str label;
    char spelled[MAX_COMPACT];
    while (str_split_next(&host, '.', &label)) {
        struct str b = str_make(spelled, compact(label, spelled));
        if (b.len < 3 || name.len < 3)
            continue;
        if (str_equal(name, b) || (name.len >= 4 && str_find(b, name, 0) != STR_NONE) ||
            (b.len >= 4 && str_find(name, b, 0) != STR_NONE && name.len < 2 * b.len))
            return true;
    }
    return false;
}

/* Whether a part of a title is the site's name: as it says itself, or as its host is spelled. */
static bool is_site(struct str part, struct str site, struct str host)
{
    char first[MAX_COMPACT], second[MAX_COMPACT];
    struct str a = str_make(first, compact(part, first)), b = str_make(second, compact(site, second));
    if (!a.len)
        return true;
    if (b.len && (str_equal(a, b) || (a.len >= 4 && b.len >= 4 &&
                                      (str_starts_with(a, b) || str_starts_with(b, a) || str_ends_with(a, b)))))
        return true;
    return is_host(a, host);
}

/* Cuts the site's name off both ends, as often as it stands there; of its front page only off the end. *cut (NULL
 * allowed) becomes what was cut last. */
static struct str without_site(struct str title, struct str site, struct str host, bool front, struct str *cut)
{
    for (size_t i = 0; i < sizeof bars / sizeof bars[0]; i++) {
        struct str bar = str_of(bars[i]);
        size_t first = str_find(title, bar, 0), last = STR_NONE;
        for (size_t at = first; at != STR_NONE; at = str_find(title, bar, at + bar.len))
            last = at;
        if (last == STR_NONE)
            continue;
        struct str tail = str_trim(str_slice(title, last + bar.len, title.len)), rest = str_slice(title, 0, last);
        struct str head = str_trim(str_slice(title, 0, first)), other = str_slice(title, first + bar.len, title.len);
        bool weak = is_weak(bar);
        struct str found = {0};
        if (str_trim(rest).len && is_site(tail, site, host) && !(weak && !str_equal_ascii_nocase(tail, site))) {
            title = str_trim(rest);
            found = tail;
        } else if (!front && str_trim(other).len && is_site(head, site, host) &&
                   !(weak && !str_equal_ascii_nocase(head, site))) {
            title = str_trim(other);
            found = head;
        }
        if (found.len) {
            if (cut)
                *cut = found;
            i = (size_t)-1; /* anew, for the next name */
        }
    }
    return title;
}

static size_t count_words(struct str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n += text.data[i] != ' ' && (i == 0 || text.data[i - 1] == ' ');
    return n;
}

/* Whether a text is set in capitals alone; then one with small letters says the same better. */
static bool is_shouted(struct str text)
{
    bool capital = false, small = false;
    for (size_t i = 0; i < text.len; i++) {
        capital |= text.data[i] >= 'A' && text.data[i] <= 'Z';
        small |= (text.data[i] >= 'a' && text.data[i] <= 'z') || (unsigned char)text.data[i] >= 0x80;
    }
    return capital && !small;
}

/* The title before a bar that nothing but a section, a slogan or a site follows: "|" and what also stands before the
 * site's name that was cut off. */
static struct str without_sections(struct str title, struct str whole)
{
    static const char *const strong[] = {" | ", "｜", " :: ", " » "};
    for (size_t i = 0; i < sizeof bars / sizeof bars[0]; i++) {
        struct str bar = str_of(bars[i]);
        size_t at = str_find(title, bar, 0);
        bool before_site = whole.len > title.len && str_starts_with(whole, title) &&
                           str_starts_with(str_slice(whole, title.len, whole.len), bar);
        bool is_strong = false;
        for (size_t k = 0; k < sizeof strong / sizeof strong[0]; k++)
            is_strong |= str_equal(bar, str_of(strong[k]));
        if (at != STR_NONE && (before_site || is_strong) && bar.len > 2 && !is_weak(bar) &&
            count_words(str_slice(title, 0, at)) >= 3)
            return str_trim(str_slice(title, 0, at));
    }
    return title;
}

bool meta_is_part(struct str longer, struct str shorter)
{
    if (!shorter.len || longer.len <= shorter.len)
        return false;
    for (size_t i = 0; i < sizeof bars / sizeof bars[0]; i++) {
        struct str bar = str_of(bars[i]);
        size_t room = longer.len - shorter.len;
        if (room < bar.len)
            continue;
        if (str_starts_with_nocase(longer, shorter) && str_starts_with(str_slice(longer, shorter.len, longer.len), bar))
            return true;
        if (str_equal_ascii_nocase(str_slice(longer, room, longer.len), shorter) &&
            str_ends_with(str_slice(longer, 0, room), bar))
            return true;
    }
    return false;
}

/* Whether the page is a site's front page. */
static bool is_front(const struct meta *meta)
{
    size_t scheme = str_find(meta->page_url, STR("://"), 0);
    size_t path = scheme == STR_NONE ? STR_NONE : str_find_char(meta->page_url, '/', scheme + 3);
    return scheme != STR_NONE && (path == STR_NONE || path + 1 == meta->page_url.len);
}

bool meta_is_site(const struct meta *meta, struct str name)
{
    struct str host = host_name(meta->page_url.len ? meta->page_url : meta_value(meta, META_CANONICAL));
    return name.len && is_site(name, meta_value(meta, META_SITE), host);
}

char *meta_choose_title(const struct meta *meta, char **site)
{
    struct str host = host_name(meta->page_url.len ? meta->page_url : meta_value(meta, META_CANONICAL)), cut = {0};
    struct str name = str_of(*site);
    bool front = is_front(meta);
    struct str heading = meta_value(meta, META_HEADING);
    struct str og = without_site(meta_value(meta, META_OG_TITLE), name, host, front, NULL);
    struct str ld = without_site(meta_value(meta, META_LD_TITLE), name, host, front, NULL);
    struct str element = without_site(meta_value(meta, META_TITLE_ELEMENT), name, host, front, &cut);
    og = without_sections(og, meta_value(meta, META_OG_TITLE));
    ld = without_sections(ld, meta_value(meta, META_LD_TITLE));
    element = without_sections(element, meta_value(meta, META_TITLE_ELEMENT));
    if (!*site && cut.len)
        *site = str_dup(cut);
    static const char *const articles[] = {"article", "posting", NULL};
    bool article = meta_mentions(meta_value(meta, META_OG_TYPE), articles) ||
                   meta_mentions(meta_value(meta, META_TYPES), articles);
    struct str candidates[] = {heading, og, ld, element};
    struct str best = {0};
    double best_worth = -1;
    for (size_t i = 0; i < 4; i++) {
        double worth = 0, most = 0;
        if (!candidates[i].len || (i == 0 && is_site(heading, str_of(*site), host)))
            continue;
        for (size_t k = 0; k < 4; k++) {
            double like = k == i ? 0 : meta_likeness(candidates[i], candidates[k]);
            most = like > most ? like : most;
            worth += like + (k != i && meta_is_part(candidates[k], candidates[i]) ? 0.5 : 0);
        }
        if (i == 0) /* an article's heading is its title, other pages' may be a slogan */
            worth += count_words(heading) < 4 ? 0.4 : is_shouted(heading) ? 0 : article && most > 0.1 ? 1.2 : 0.4;
        else if (i == 1)
            worth += 0.1;
        if (worth > best_worth) {
            best_worth = worth;
            best = candidates[i];
        }
    }
    if (!best.len)
        best = heading.len ? heading : meta_value(meta, META_TITLE_ELEMENT);
    return best.len ? str_dup(best) : NULL;
}
