/* src/text/html/meta_internal.h
 *
 * What the files of the metadata reader share: the best value of each field so far, with the rank of where it is from.
 */
#ifndef FATHOM_TEXT_HTML_META_INTERNAL_H
#define FATHOM_TEXT_HTML_META_INTERNAL_H

#include "text/html/links.h"
#include "text/html/meta.h"

enum meta_field {
    META_OG_TITLE,
    META_LD_TITLE,
    META_TITLE_ELEMENT,
    META_HEADING,
    META_AUTHOR,
    META_PUBLISHED,
    META_MODIFIED,
    META_SITE,
    META_LANGUAGE,
    META_CANONICAL,
    META_DESCRIPTION,
    META_SECTION,
    META_KEYWORDS,
    META_OG_TYPE,
    META_TYPES,
    META_BODY,
    META_FIELDS
};

/* How good a source is; smaller is better. */
enum meta_rank {
    RANK_LD = 0,
    RANK_META = 100, /* and the line in the table of names */
    RANK_MICRODATA = 300,
    RANK_LD_PAGE = 350, /* of the page, not of what it is about */
    RANK_BYLINE = 400,
    RANK_TIME = 450,
    RANK_ADDRESS = 500,
    RANK_TEXT = 550,
    RANK_LAST = 900,
};

#define META_MAX_BYTES  ((size_t)1000) /* of a field */
#define META_MAX_STATED 8
#define META_MAX_UP     128 /* elements around a node that are asked whether it is beside the content */

struct meta {
    const struct html_tree *tree;
    const uint8_t *marks; /* NULL: nothing is hidden */
    struct str page_url;
    char *values[META_FIELDS];
    unsigned ranks[META_FIELDS];
    uint8_t *aside;                   /* one per node: 0 not asked yet, 1 no, 2 yes */
    uint32_t date_node;               /* the text near the heading that is a date, 0 without one */
    uint32_t heading;                 /* the node of the main heading, 0 without one */
    char stated[META_MAX_STATED][12]; /* days of publication that machines are told, whatever their rank */
    size_t n_stated;
};

struct str meta_value(const struct meta *meta, enum meta_field field); /* empty when there is none */

/* Takes a value over when none as good is known: one line, character references and tags resolved. Authors are cleaned
 * and, where the rank is the same, joined; dates must be such and become ISO 8601. */
void meta_offer(struct meta *meta, enum meta_field field, unsigned rank, struct str value);

/* Whether 3/4/2020 is in April, by the language of the page. */
bool meta_day_comes_first(const struct meta *meta);

/* Forgets a value again. */
void meta_withdraw(struct meta *meta, enum meta_field field);

/* Whether a node stands where a page's own data do not: in navigation, footers, asides, comments, hidden. */
bool meta_is_aside(const struct meta *meta, uint32_t node);

/* Whether the page says that it is an article, a posting, a question. */
bool meta_is_article(const struct meta *meta);

/* Whether the page says that it is one where several write: a thread, a question with answers. */
bool meta_is_discussion(const struct meta *meta);

/* ---- meta_text.c ---- */

/* Appends one line of `value`: references decoded once more, tags left out, blanks collapsed. */
void meta_clean(struct str value, size_t max_bytes, struct buf *out);

/* Words of two small letters or more to look for, for use in a loop. */
struct meta_words {
    const char *const *words; /* ended by NULL */
    uint64_t beginnings[16];  /* of two letters, by their lowest five bits */
    uint32_t thirds;          /* third letters, likewise */
};

void meta_words_init(struct meta_words *set, const char *const *words);

/* Whether one of them stands in the first 300 bytes of a class or the like, in letters of any case. */
bool meta_words_find(const struct meta_words *set, struct str value);

/* Whether one of them begins with the same two bytes as `text`, which has two; some others pass. */
bool meta_words_begin(const struct meta_words *set, const char *text);

/* meta_words_init and meta_words_find at once. */
bool meta_mentions(struct str value, const char *const *words);

/* How much two texts have in common, 0 to 1: twice the words of both by the words of each. */
double meta_likeness(struct str a, struct str b);

/* ---- meta_calendar.c ---- */

#define META_MAX_DATED 400 /* bytes of a text in which a date is looked for */

/* The month (1 to 12) that a word names or abbreviates, 0 when it is none. */
unsigned meta_month(struct str name);

/* The same, with a dot or comma behind it. */
bool meta_is_month(struct str word);

/* Whether a text has as many digits as a date, or letters of a script that may write it otherwise: a quick look. */
bool meta_may_have_date(struct str text);

/* The text with digits of ASCII; it is in `out` when it had others. At most META_MAX_DATED bytes. */
struct str meta_plain_digits(struct str text, char out[META_MAX_DATED]);

/* ---- meta_date.c ---- */

/* Finds a date in a text and writes it as ISO 8601, at most 39 bytes; the first that is complete. `whole` wants nothing
 * else in the text. `day_first` decides 3/4/2020. False when there is none between 1600 and 2199. */
bool meta_date(struct str text, bool whole, bool day_first, char out[40]);

/* A date in the path of an address: /2020/03/04/, /2020-03-04-, 20200304. */
bool meta_date_in_address(struct str address, char out[40]);

/* ---- meta_author.c ---- */

/* Appends a name to a list of names joined with ", ", without "By", addresses, and what is no name; nothing when it is
 * already there. */
void meta_add_author(struct str name, struct buf *list);

/* What says whose name follows. */
enum meta_by {
    BY_NONE,
    BY_STRIPPED,   /* what is no author's, or not surely: it is only left off */
    BY_WORD,       /* "by", which may begin other things too */
    BY_LABEL,      /* "Author", with a colon */
    BY_BARE_LABEL, /* without one */
    BY_TEXT,       /* "Text", which needs one */
    BY_POSTED,
    BY_WRITTEN, /* sure enough to be believed anywhere in a page */
};

/* How a text begins, in capitals or not; `*name` (unset with BY_NONE) becomes what is behind, blanks trimmed. */
enum meta_by meta_by(struct str text, struct str *name);

/* What a text says that is nothing but such words, so that the name is in what follows. */
enum meta_by meta_by_alone(struct str text);

/* Whether it is enough far from the heading. */
static inline bool meta_by_is_sure(enum meta_by by)
{
    return by == BY_WRITTEN || by == BY_LABEL;
}

/* A set for the quick look before meta_by: whether a text could begin so. `sure`: with those that are. */
void meta_bys_init(struct meta_words *beginnings, bool sure);
bool meta_may_be_by(const struct meta_words *beginnings, struct str text);

/* Without "By", "Author:" and the like in front. */
struct str meta_without_by(struct str name);

/* ---- meta_byline.c ---- */

/* Whether a text looks like one person's name: two to four words with capitals. */
bool meta_is_person(struct str text);

/* Looks for the author and the date around the heading. */
void meta_read_byline(struct meta *meta);

/* ---- meta_shown.c ---- */

/* Offers the date of a <time>; one near the heading is better. */
void meta_try_time(struct meta *meta, uint32_t node, bool near);

/* Whether a text is a date and little else. */
bool meta_is_date(struct str text);

/* Offers the date in a text, if it is short and has one. */
void meta_try_date_text(struct meta *meta, uint32_t node);

/* Elements for times, and those named so, anywhere in the page. Of a page that is no article several days are those of
 * other pages. */
void meta_read_far_dates(struct meta *meta);

/* Corrects a date of publication that machines are told by the one that a reader sees below the heading. */
void meta_settle_shown(struct meta *meta);

/* Whether the times are of many days: those of other pages, which this one lists. */
bool meta_lists_times(const struct meta *meta);

/* ---- meta_json.c, meta_elements.c, meta_ld.c ---- */

enum ld_kind { LD_OBJECT, LD_ARRAY, LD_STRING, LD_OTHER };

/* A value of JSON, in document order as the nodes of a page are. */
struct ld_value {
    uint8_t kind;
    uint32_t parent, end;
    struct str key;  /* empty in arrays */
    struct str text; /* of strings and others, as it is written */
};

#define LD_MAX_VALUES 60000
#define LD_MAX_BYTES  ((size_t)4 << 20)
#define LD_MAX_DEPTH  64 /* what is deeper is left out */

struct ld {
    struct ld_value *values; /* 0 is an array of all that was read */
    uint32_t count;
    size_t capacity, bytes;
};

void ld_init(struct ld *ld);
void ld_finish(struct ld *ld);

/* Adds the values of a text that should be JSON, taking what is not as it comes: comments, raw line ends and quotation
 * marks in strings, commas too many or too few, an end that is missing. Linear. */
void ld_read(struct ld *ld, struct str json);

/* The member of an object; 0 when there is none. */
uint32_t ld_get(const struct ld *ld, uint32_t object, const char *key);

/* The string a value is, or its member "@value", "name" or "@id" is; with its escapes. Empty otherwise. */
struct str ld_text(const struct ld *ld, uint32_t value);

/* Appends a string without its escapes. */
void ld_unescape(struct str text, struct buf *out);

/* Reads all elements but those with microdata; their JSON-LD goes to `ld`. Chooses the main heading. */
void meta_read_elements(struct meta *meta, struct ld *ld);

void meta_read_properties(struct meta *meta); /* microdata */

/* Whether a page can be about a thing of a type of schema.org. */
bool meta_is_content_type(struct str type);

void meta_read_ld(struct meta *meta, const struct ld *ld);

/* ---- meta_title.c ---- */

/* Whether a name is the site's own, by what it says itself and by its host. */
bool meta_is_site(const struct meta *meta, struct str name);

/* Whether `shorter` begins or ends `longer` at a bar, so that the rest is the site's name, or a section's. */
bool meta_is_part(struct str longer, struct str shorter);

/* The title from all candidates, NULL without any; fresh. `site` (NULL: not known) may be set from what is cut off. */
char *meta_choose_title(const struct meta *meta, char **site);

#endif
