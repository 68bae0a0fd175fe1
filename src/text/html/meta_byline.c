/* The author and the date where a reader sees them: around the heading. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "text/html/meta_internal.h"

#define MAX_NAME_BYTES 120

/* ---- names in lines ---- */

/* Without the short word that leads to a date: "Jane Doe am", "Jane Doe on". */
static struct str without_preposition(struct str line)
{
    size_t last = str_rfind_char(line, ' ');
    if (last == STR_NONE || line.len - last > 5)
        return line;
    for (size_t i = last + 1; i < line.len; i++)
        if (line.data[i] < 'a' || line.data[i] > 'z')
            return line;
    return str_slice(line, 0, last);
}

/* Up to what no longer is a name in a line with one: a date, a bar, a bullet. */
static struct str name_alone(struct str line)
{
    static const char *const ends[] = {" | ",         " • ",      " · ",        " » ",        " – ",      " — ",
                                       " - ",         " on ",     " in ",       " Published", " Updated", " Posted",
                                       ", Published", "Updated:", "Published:", " at "};
    size_t end = line.len;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t at = str_find(str_slice(line, 0, end), str_of(ends[i]), 0);
        if (at != STR_NONE && at > 0)
            end = at;
    }
    for (size_t i = 0; i < end; i++) {
        if (ascii_is_digit(line.data[i]) && i && line.data[i - 1] == ' ') { /* of a date */
            end = i - 1;
            size_t month = str_rfind_char(str_slice(line, 0, end), ' ');
            if (month != STR_NONE && meta_is_month(str_slice(line, month + 1, end)))
                end = month;
            end = without_preposition(str_slice(line, 0, end)).len;
        }
    }
    return str_trim(str_slice(line, 0, end));
}

/* The name behind a date, in a line that begins with that: "Posted on March 4, 2020 by Jane Doe". */
static struct str name_behind_date(struct str line)
{
    static const char *const words[] = {" by ", " von ", " par ", " por ", " da ", " di ", " door ", " przez ", " av "};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t at = str_find(line, str_of(words[i]), 0);
        if (at != STR_NONE && meta_is_date(str_slice(line, 0, at)))
            return name_alone(str_slice(line, at + strlen(words[i]), line.len));
    }
    return (struct str){0};
}

/* Whether a word is one of buttons and menus, or of a date. */
static bool is_furniture(struct str word)
{
    static const char *const words[] = {
        "more",      "posts",     "account",   "sign",     "free",   "trial",    "started",  "join",    "home",
        "subscribe", "view",      "read",      "follow",   "share",  "login",    "profiles", "profile", "reviews",
        "comment",   "history",   "comments",  "all",      "about",  "contact",  "search",   "menu",    "subscription",
        "monday",    "tuesday",   "wednesday", "thursday", "friday", "saturday", "sunday",   "mon",     "tue",
        "wed",       "thu",       "fri",       "sat",      "sun",    "minutes",  "min",      "ago",     "see",
        "your",      "you",       "this",      "our",      "the",    "click",    "here",     "photo",   "image",
        "updated",   "published", "alle",      "beiträge", "mehr",   "tous",     "articles", "voir",    "todos",
        "artículos", "más",       "tutti",     "articoli", "leggi",  "meer",     "все",      "Все",     "статьи",
        "wszystkie", "artykuły",  "więcej",    "tüm",      "Tüm",    "yazıları"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (str_equal_ascii_nocase(word, str_of(words[i])))
            return true;
    return false;
}

/* Whether a text of a byline looks like names and nothing else: a few words each, none of them a button's. */
static bool is_name(struct str name)
{
    size_t words = 0, all = 0, digits = 0;
    if (str_find_char(name, ' ', 0) == STR_NONE && meta_is_month(name))
        return false;
    struct str rest = name, word;
    while (str_split_next(&rest, ' ', &word)) {
        bool comma = str_ends_with(word, STR(","));
        struct str bare = comma ? str_slice(word, 0, word.len - 1) : word;
        bool team =
            str_find_nocase(name, STR("team"), 0) != STR_NONE || str_find_nocase(name, STR("staff"), 0) != STR_NONE;
        if (!bare.len || (is_furniture(bare) && !(team && str_equal_ascii_nocase(bare, STR("the")))))
            return false;
        bool joins = str_equal_ascii_nocase(bare, STR("and")) || str_equal(bare, STR("&"));
        words = joins ? 0 : words + 1;
        if (words > 5 || ++all > 14)
            return false;
        words = comma ? 0 : words;
    }
    for (size_t i = 0; i < name.len; i++)
        digits += ascii_is_digit(name.data[i]);
    bool sentence = str_find_char(name, '?', 0) != STR_NONE || str_find_char(name, '!', 0) != STR_NONE ||
                    str_ends_with(name, STR(":")) || str_starts_with(name, STR("I "));
    return name.len > 1 && name.len <= 100 && digits <= 6 && !sentence;
}

/* What classes and addresses of bylines hold. */
static const char *const author_pages[] = {"/author/", "/authors/", "/contributor", "/writer", "/by/", NULL};
static const char *const people_pages[] = {"/people/", "/profile/", "/user/", "/users/", "/member", "/staff/", NULL};
static const char *const author_names[] = {"author", "byline", "by-line", "writer", "contributor", NULL};
static const char *const member_names[] = {"username", "user-name", "poster", "creator", "user_name", NULL};
static const char *const other_names[] = {"avatar", "image", "img",       "photo", "bio",       "desc",
                                          "social", "date",  "authority", "time",  "job",       "title-",
                                          "role",   "count", "rank",      "badge", "link-list", NULL};

struct byline_words {
    struct meta_words author_pages, people_pages, author_names, member_names, bys;
};

static void init_words(struct byline_words *words)
{
    meta_words_init(&words->author_pages, author_pages);
    meta_words_init(&words->people_pages, people_pages);
    meta_words_init(&words->author_names, author_names);
    meta_words_init(&words->member_names, member_names);
    meta_bys_init(&words->bys, false);
}

/* How likely an element holds the author's name: 0 not, else the lower the better. */
static unsigned byline_rank(const struct meta *meta, const struct byline_words *words, uint32_t node)
{
    const struct html_node *at = &meta->tree->nodes[node];
    if (at->n_attributes == 0)
        return 0;
    struct str rel = html_tree_attribute(meta->tree, at, HTML_ATTRIBUTE_REL);
    if (rel.len && str_find_nocase(str_slice(rel, 0, 100), STR("author"), 0) != STR_NONE)
        return 1;
    struct str class = html_tree_attribute(meta->tree, at, HTML_ATTRIBUTE_CLASS), href = {0};
    if (at->element == HTML_A)
        href = html_tree_attribute(meta->tree, at, HTML_ATTRIBUTE_HREF);
    unsigned rank = 0;
    if (meta_words_find(&words->author_pages, href))
        rank = 2;
    else if (meta_words_find(&words->author_names, class))
        rank = 3;
    else if (meta_words_find(&words->member_names, class))
        rank = 4;
    else if (node > meta->heading && meta_words_find(&words->people_pages, href))
        rank = 6;
    return rank && meta_mentions(class, other_names) ? 0 : rank;
}

/* The names in the links inside an element, where there are any; "" joins none. */
static void linked_names(const struct meta *meta, uint32_t node, struct buf *list)
{
    const struct html_tree *tree = meta->tree;
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED); /* at most MAX_NAME_BYTES */
    for (uint32_t i = node, n = 0; i < tree->nodes[node].end && n < 6; i++) {
        if (tree->nodes[i].element != HTML_A)
            continue;
        buf_reset(&text);
        html_tree_text(tree, i, MAX_NAME_BYTES, &text);
        n++;
        if (text.len && is_name(buf_str(&text)) && text.len < MAX_NAME_BYTES - 4)
            meta_add_author(buf_str(&text), list);
    }
    buf_finish(&text);
}

/* Of an element with lines below each other, the node of the first that is not just "By". */
static uint32_t first_line(const struct html_tree *tree, uint32_t node)
{
    uint32_t first = 0;
    for (uint32_t i = node + 1; i < tree->nodes[node].end && i < node + 40; i++) {
        bool text = tree->nodes[i].element == HTML_TEXT;
        if (text && !first && meta_without_by(str_trim(tree->nodes[i].text)).len > 3)
            first = i;
        else if (first && (html_flags(tree->nodes[i].element) & ELEMENT_BLOCK))
            return first;
    }
    return node;
}

static void offer_byline(struct meta *meta, uint32_t node, unsigned rank)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED); /* at most six names */
    if (meta->values[META_AUTHOR] && meta->ranks[META_AUTHOR] <= rank)
        return;
    linked_names(meta, node, &text);
    bool aside = meta_is_aside(meta, meta->tree->nodes[node].parent);
    if (text.len && !aside)
        meta_offer(meta, META_AUTHOR, rank, buf_str(&text));
    buf_reset(&text);
    html_tree_text(meta->tree, first_line(meta->tree, node), MAX_NAME_BYTES, &text);
    struct str name = buf_str(&text);
    if (name.len < MAX_NAME_BYTES - 4) {
        name = name_alone(meta_without_by(name));
        if (is_name(name) && !aside)
            meta_offer(meta, META_AUTHOR, rank, name);
    }
    buf_finish(&text);
}

/* Whether a text begins with the "by" of another language than English, which may be another word there: a door. */
static bool is_foreign_by(enum meta_by by, struct str text)
{
    return by == BY_WORD && !str_starts_with_nocase(text, STR("by"));
}

/* Whether a text that begins so and goes on with a name, or ends, is to be believed. */
static bool is_by(const struct meta *meta, enum meta_by by, struct str text, struct str name)
{
    struct str language = meta_value(meta, META_LANGUAGE);
    bool english = str_starts_with_nocase(language, STR("en"));
    if (is_foreign_by(by, text) && (english || (!name.len && !language.len)))
        return false;
    bool bare = by == BY_BARE_LABEL && (unsigned char)text.data[0] < 0x80;
    return !name.len || (!bare && !is_foreign_by(by, text)) || meta_is_person(name);
}

/* "By Jane Doe" in a text of its own, or "By" before an element with the name, or a name behind a date. */
static void try_text(struct meta *meta, const struct meta_words *beginnings, uint32_t node)
{
    struct str text = str_trim(meta->tree->nodes[node].text), name = {0}, rest = {0};
    if (text.len > 100)
        return;
    bool may_be = meta_may_be_by(beginnings, text);
    enum meta_by by = may_be ? meta_by(text, &rest) : BY_NONE;
    enum meta_by alone = may_be && by == BY_NONE ? meta_by_alone(text) : BY_NONE;
    if (by > BY_STRIPPED)
        name = name_alone(meta_without_by(text));
    else if (by == BY_NONE && alone == BY_NONE && meta_may_have_date(text))
        name = name_behind_date(text);
    bool capital = name.len && !(name.data[0] >= 'a' && name.data[0] <= 'z');
    if (capital && name.len < text.len && is_name(name) && is_by(meta, by, text, name)) {
        if (!meta_is_aside(meta, node))
            meta_offer(meta, META_AUTHOR, RANK_BYLINE + 5, name);
    } else if (alone > BY_STRIPPED && is_by(meta, alone, text, (struct str){0})) {
        uint32_t next = node + 1;
        if (next < meta->tree->count && meta->tree->nodes[next].element != HTML_TEXT)
            offer_byline(meta, next, RANK_BYLINE + 5);
    }
}

/* ---- without a word that says so ---- */

bool meta_is_person(struct str text)
{
    static const char *const particles[] = {"de", "da", "van", "von", "der", "den",
                                            "la", "le", "bin", "al",  "di",  "del"};
    size_t words = 0;
    struct str word;
    if (text.len > 40 || !is_name(text))
        return false;
    while (str_split_next(&text, ' ', &word)) {
        bool particle = false;
        for (size_t i = 0; i < sizeof particles / sizeof particles[0]; i++)
            particle |= str_equal(word, str_of(particles[i]));
        bool capital =
            word.len && ((word.data[0] >= 'A' && word.data[0] <= 'Z') || (unsigned char)word.data[0] >= 0xC3);
        for (size_t i = 1; i < word.len && capital; i++)
            capital = (word.data[i] >= 'a' && word.data[i] <= 'z') || (unsigned char)word.data[i] >= 0x80 ||
                      memchr(".'-", word.data[i], 3) ||
                      (memchr("-'c", word.data[i - 1], 3) && ascii_is_alpha(word.data[i]));
        if (!capital && !particle)
            return false;
        words++;
    }
    return words >= 2 && words <= 4;
}

/* A person's name that stands beside the date, without a word that says what it is. */
static void try_neighbours(struct meta *meta)
{
    const struct html_tree *tree = meta->tree;
    uint32_t from = meta->date_node > 12 ? meta->date_node - 12 : 0, to = meta->date_node + 12;
    for (uint32_t i = from; i < to && i < tree->count && !meta->values[META_AUTHOR]; i++) {
        uint32_t parent = tree->nodes[i].parent;
        struct str text = str_trim(tree->nodes[i].text);
        if (tree->nodes[i].element == HTML_TEXT && meta_is_person(text) && !meta_is_aside(meta, i) &&
            meta_likeness(text, meta_value(meta, META_HEADING)) < 0.4 &&
            !(html_flags(tree->nodes[parent].element) & ELEMENT_HEADING) && tree->nodes[parent].element != HTML_A)
            meta_offer(meta, META_AUTHOR, RANK_BYLINE + 40, text);
    }
}

/* The name that a text far from the heading says the page is by, or that stands in the element behind such a text. */
static bool written_name(const struct meta *meta, const struct meta_words *beginnings, uint32_t node, struct buf *name)
{
    const struct html_tree *tree = meta->tree;
    struct str text = tree->nodes[node].text, rest = {0};
    if (text.len > MAX_NAME_BYTES || !meta_may_be_by(beginnings, text = str_trim(text)))
        return false;
    enum meta_by by = meta_by(text, &rest), alone = by == BY_NONE ? meta_by_alone(text) : BY_NONE;
    if (!meta_by_is_sure(by == BY_NONE ? alone : by) || meta_is_aside(meta, node))
        return false;
    if (by != BY_NONE)
        buf_add(name, name_alone(rest));
    else if (node + 1 < tree->count)
        html_tree_text(tree, node + 1, MAX_NAME_BYTES, name);
    return meta_is_person(buf_str(name));
}

/* The name of the author that the page links to, empty when it is none or stands in furniture. */
static bool linked_name(const struct meta *meta, const struct meta_words *pages, uint32_t node, struct buf *name)
{
    const struct html_tree *tree = meta->tree;
    struct str rel = html_tree_attribute(tree, &tree->nodes[node], HTML_ATTRIBUTE_REL);
    bool found = str_equal_ascii_nocase(rel, STR("author")) ||
                 meta_words_find(pages, html_tree_attribute(tree, &tree->nodes[node], HTML_ATTRIBUTE_HREF));
    if (!found || meta_is_aside(meta, node))
        return false;
    html_tree_text(tree, node, MAX_NAME_BYTES, name);
    return is_name(buf_str(name)) && str_find_char(buf_str(name), ' ', 0) != STR_NONE;
}

/* The one author that the page names or links to outside its furniture, wherever; of several all may be others'. */
static void read_far_author(struct meta *meta)
{
    const struct html_tree *tree = meta->tree;
    struct buf name, text;
    struct meta_words pages, beginnings;
    meta_words_init(&pages, author_pages);
    meta_bys_init(&beginnings, true);
    buf_init(&name, BUF_UNBOUNDED); /* both at most MAX_NAME_BYTES */
    buf_init(&text, BUF_UNBOUNDED);
    bool several = false;
    for (uint32_t i = 1, n = 0; i < tree->count && n < 100 && !several; i++) {
        const struct html_node *node = &tree->nodes[i];
        buf_reset(&text);
        bool found = node->element == HTML_TEXT
                         ? written_name(meta, &beginnings, i, &text)
                         : node->element == HTML_A && node->n_attributes && linked_name(meta, &pages, i, &text);
        n += text.len > 0;
        if (!found)
            continue;
        several = name.len && !str_equal(buf_str(&name), buf_str(&text));
        if (!name.len)
            buf_add(&name, buf_str(&text));
    }
    if (!several && name.len < MAX_NAME_BYTES - 4)
        meta_offer(meta, META_AUTHOR, RANK_BYLINE + 45, buf_str(&name));
    buf_finish(&name);
    buf_finish(&text);
}

/* ---- around the heading ---- */

static void read_near_text(struct meta *meta, const struct byline_words *words, uint32_t node, bool want_author,
                           bool want_date)
{
    bool near = meta->heading && node + 30 > meta->heading && node < meta->heading + 150;
    if (want_author)
        try_text(meta, &words->bys, node);
    if (near && !meta->date_node && node < meta->heading + 60 && meta_is_date(meta->tree->nodes[node].text))
        meta->date_node = node;
    if (near && want_date)
        meta_try_date_text(meta, node);
}

static void read_near(struct meta *meta, bool want_author, bool want_date)
{
    const struct html_tree *tree = meta->tree;
    struct byline_words words;
    uint32_t from = meta->heading > 80 ? meta->heading - 80 : 0;
    uint32_t to = meta->heading + 400 < tree->count ? meta->heading + 400 : tree->count;
    init_words(&words);
    for (uint32_t i = from; i < to && (want_author || want_date); i++) {
        if (tree->nodes[i].element == HTML_TEXT) {
            read_near_text(meta, &words, i, want_author, want_date);
        } else if (tree->nodes[i].element == HTML_TIME) {
            if (want_date)
                meta_try_time(meta, i, true);
        } else if (want_author) {
            unsigned rank = byline_rank(meta, &words, i);
            if (rank)
                offer_byline(meta, i, RANK_BYLINE + rank + (i < meta->heading ? 5U : 0U));
        }
    }
}

void meta_read_byline(struct meta *meta)
{
    bool want_date = !meta->values[META_PUBLISHED];
    read_near(meta, !meta->values[META_AUTHOR] || meta->ranks[META_AUTHOR] == RANK_LAST, want_date);
    if (meta->date_node && !meta->values[META_AUTHOR] && !meta_lists_times(meta))
        try_neighbours(meta);
    if (!meta->values[META_AUTHOR] || meta->ranks[META_AUTHOR] == RANK_LAST)
        read_far_author(meta);
    if (want_date && !meta->values[META_PUBLISHED])
        meta_read_far_dates(meta);
    else if (want_date && !meta_is_article(meta) && meta_lists_times(meta))
        meta_withdraw(meta, META_PUBLISHED);
}
