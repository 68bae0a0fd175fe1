/* What JSON-LD tells: which of its objects the page is about, and what that says of itself. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "text/html/meta_internal.h"

#define MAX_OBJECTS 400 /* that could be what the page is about */
#define MAX_NAMES   20
#define BODY_BYTES  ((size_t)1 << 20)

enum about { ABOUT_NOTHING, ABOUT_PAGE, ABOUT_THING, ABOUT_ARTICLE };

struct ld_reader {
    struct meta *meta;
    const struct ld *ld;
    struct buf text; /* scratch */
};

static bool ends_with_any(struct str name, const char *const *endings)
{
    while (*endings && !str_ends_with(name, str_of(*endings)))
        endings++;
    return *endings;
}

static enum about about_of_type(struct str type)
{
    static const char *const articles[] = {"Article", "Posting", "Report", "Question", "Thesis", NULL};
    static const char *const things[] = {"Product",
                                         "ProductGroup",
                                         "Recipe",
                                         "Review",
                                         "Book",
                                         "Course",
                                         "Event",
                                         "VideoObject",
                                         "PodcastEpisode",
                                         "HowTo",
                                         "Movie",
                                         "CreativeWork",
                                         "Dataset",
                                         "SoftwareApplication",
                                         "SoftwareSourceCode",
                                         "Guide",
                                         NULL};
    size_t slash = str_rfind_char(type, '/');
    if (slash != STR_NONE)
        type = str_slice(type, slash + 1, type.len);
    if (ends_with_any(type, articles))
        return ABOUT_ARTICLE;
    if (ends_with_any(type, things))
        return ABOUT_THING;
    return str_ends_with(type, STR("Page")) ? ABOUT_PAGE : ABOUT_NOTHING;
}

bool meta_is_content_type(struct str type)
{
    return about_of_type(type) > ABOUT_PAGE;
}

/* The first string of a value that is one or a list of them. */
static struct str first_text(const struct ld *ld, uint32_t value)
{
    const struct ld_value *at = &ld->values[value];
    if (value && at->kind == LD_ARRAY && at->end > value + 1)
        return ld_text(ld, value + 1);
    return ld_text(ld, value);
}

static enum about about(const struct ld *ld, uint32_t object)
{
    uint32_t type = ld_get(ld, object, "@type");
    enum about best = ABOUT_NOTHING;
    if (!type)
        return best;
    if (ld->values[type].kind != LD_ARRAY)
        return about_of_type(ld_text(ld, type));
    for (uint32_t i = type + 1; i < ld->values[type].end; i = ld->values[i].end) {
        enum about one = about_of_type(ld_text(ld, i));
        if (one > best)
            best = one;
    }
    return best;
}

/* Whether an object stands where what the page is about does: at the top, in a graph, as the main entity of one. */
static bool is_at_the_top(const struct ld *ld, uint32_t object)
{
    static const char *const keys[] = {"", "@graph", "mainEntity", "mainEntityOfPage", "@reverse"};
    for (uint32_t i = object; i; i = ld->values[i].parent) {
        bool known = false;
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
            known |= str_equal(ld->values[i].key, str_of(keys[k]));
        if (!known)
            return false;
    }
    return true;
}

static struct str without_scheme(struct str address)
{
    size_t scheme = str_find(address, STR("://"), 0), fragment = str_find_char(address, '#', 0);
    address = str_slice(address, scheme == STR_NONE ? 0 : scheme + 3, fragment);
    if (str_starts_with(address, STR("www.")))
        address = str_slice(address, 4, address.len);
    return str_ends_with(address, STR("/")) ? str_slice(address, 0, address.len - 1) : address;
}

static bool is_this_page(const struct meta *meta, struct str address)
{
    struct str one = without_scheme(address), canonical = without_scheme(meta_value(meta, META_CANONICAL));
    struct str page = without_scheme(meta->page_url);
    return one.len && ((canonical.len && str_equal(one, canonical)) || (page.len && str_equal(one, page)));
}

/* How sure it is that the page is about an object; 0: it is not. */
static unsigned worth(struct ld_reader *r, uint32_t object)
{
    static const char *const addresses[] = {"url", "@id", "mainEntityOfPage"};
    enum about kind = about(r->ld, object);
    if (kind == ABOUT_NOTHING)
        return 0;
    unsigned sum = (unsigned)kind * 10;
    for (size_t i = 0; i < 3; i++) {
        buf_reset(&r->text);
        uint32_t member = ld_get(r->ld, object, addresses[i]);
        struct str address = ld_text(r->ld, member);
        if (member && r->ld->values[member].kind == LD_OBJECT && ld_get(r->ld, member, "@id"))
            address = ld_text(r->ld, ld_get(r->ld, member, "@id"));
        ld_unescape(address, &r->text);
        if (is_this_page(r->meta, buf_str(&r->text))) {
            sum += 5;
            break;
        }
    }
    uint32_t name = ld_get(r->ld, object, "headline");
    if (!name)
        name = ld_get(r->ld, object, "name");
    buf_reset(&r->text);
    ld_unescape(ld_text(r->ld, name), &r->text);
    double like = meta_likeness(buf_str(&r->text), meta_value(r->meta, META_OG_TITLE));
    double other = meta_likeness(buf_str(&r->text), meta_value(r->meta, META_TITLE_ELEMENT));
    return sum + (like > 0.6 || other > 0.6 ? 4 : 0);
}

/* The object that "@id" refers to, where it is more than a reference; `value` itself without one. */
static uint32_t resolve(const struct ld *ld, uint32_t value)
{
    if (ld->values[value].kind != LD_OBJECT || ld_get(ld, value, "name"))
        return value;
    struct str id = ld_text(ld, ld_get(ld, value, "@id"));
    for (uint32_t i = 1; id.len && i < ld->count; i++)
        if (ld->values[i].kind == LD_STRING && str_equal(ld->values[i].key, STR("@id")) &&
            str_equal(ld->values[i].text, id) && ld_get(ld, ld->values[i].parent, "name"))
            return ld->values[i].parent;
    return value;
}

static void offer(struct ld_reader *r, enum meta_field field, unsigned rank, struct str text)
{
    buf_reset(&r->text);
    ld_unescape(str_slice(text, 0, META_MAX_BYTES * 6), &r->text);
    meta_offer(r->meta, field, rank, buf_str(&r->text));
}

/* Names of people and bodies: strings, objects, references, lists of these. */
static void offer_names(struct ld_reader *r, enum meta_field field, unsigned rank, uint32_t value)
{
    const struct ld *ld = r->ld;
    bool is_list = value && ld->values[value].kind == LD_ARRAY;
    uint32_t i = is_list ? value + 1 : value, end = is_list ? ld->values[value].end : value + 1;
    for (unsigned n = 0; value && i < end && n < MAX_NAMES; i = ld->values[i].end, n++) {
        uint32_t one = resolve(ld, i);
        struct str name =
            ld->values[one].kind == LD_OBJECT ? first_text(ld, ld_get(ld, one, "name")) : ld_text(ld, one);
        offer(r, field, rank, name);
    }
}

static void offer_list(struct ld_reader *r, enum meta_field field, unsigned rank, uint32_t value)
{
    struct buf list;
    buf_init(&list, BUF_UNBOUNDED);
    const struct ld_value *at = &r->ld->values[value];
    if (value && at->kind == LD_ARRAY) {
        for (uint32_t i = value + 1; i < at->end && list.len < META_MAX_BYTES; i = r->ld->values[i].end)
            buf_addf(&list, "%s%.*s", list.len ? ", " : "", STR_ARG(ld_text(r->ld, i)));
        offer(r, field, rank, buf_str(&list));
    } else if (value) {
        offer(r, field, rank, ld_text(r->ld, value));
    }
    buf_finish(&list);
}

static void add_body(const struct ld *ld, uint32_t value, struct buf *text)
{
    if (!value || ld->values[value].kind != LD_STRING || text->len >= BODY_BYTES)
        return;
    if (text->len)
        buf_add_text(text, "\n\n");
    ld_unescape(str_slice(ld->values[value].text, 0, BODY_BYTES - text->len), text);
}

/* The text of an article or a posting, a question with its answers, or what is said of a product. */
static void take_body(struct ld_reader *r, uint32_t object)
{
    static const char *const bodies[] = {"articleBody", "text", "reviewBody", "description"};
    static const char *const answers[] = {"acceptedAnswer", "suggestedAnswer"};
    struct meta *meta = r->meta;
    const struct ld *ld = r->ld;
    if (meta->values[META_BODY] || about(ld, object) <= ABOUT_PAGE)
        return;
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0] && !text.len; i++)
        add_body(ld, ld_get(ld, object, bodies[i]), &text);
    for (size_t i = 0; i < 2; i++) {
        uint32_t list = ld_get(ld, object, answers[i]);
        bool is_list = list && ld->values[list].kind == LD_ARRAY;
        uint32_t one = is_list ? list + 1 : list, end = is_list ? ld->values[list].end : list + 1;
        for (unsigned n = 0; list && one < end && n < MAX_NAMES; one = ld->values[one].end, n++)
            if (ld->values[one].kind == LD_OBJECT)
                add_body(ld, ld_get(ld, one, "text"), &text);
    }
    if (str_trim(buf_str(&text)).len)
        meta->values[META_BODY] = buf_take(&text);
    buf_finish(&text);
}

static void read_object(struct ld_reader *r, uint32_t object, unsigned rank)
{
    const struct ld *ld = r->ld;
    enum about kind = about(ld, object);
    uint32_t names = ld_get(ld, object, "author"), title = ld_get(ld, object, "headline");
    if (!names)
        names = ld_get(ld, object, "creator");
    if (!title)
        title = ld_get(ld, object, "name");
    offer(r, META_LD_TITLE, rank, first_text(ld, title));
    if (kind != ABOUT_THING)
        offer_names(r, META_AUTHOR, rank, names);
    static const char *const published[] = {"datePublished", "uploadDate", "dateCreated"};
    for (unsigned i = 0; i < 3 && kind == ABOUT_ARTICLE; i++)
        offer(r, META_PUBLISHED, rank + i, first_text(ld, ld_get(ld, object, published[i])));
    offer(r, META_MODIFIED, rank, first_text(ld, ld_get(ld, object, "dateModified")));
    offer(r, META_DESCRIPTION, RANK_MICRODATA + rank, first_text(ld, ld_get(ld, object, "description")));
    offer(r, META_LANGUAGE, RANK_MICRODATA + rank, first_text(ld, ld_get(ld, object, "inLanguage")));
    offer_names(r, META_SITE, RANK_MICRODATA + rank, ld_get(ld, object, "publisher"));
    offer_list(r, META_SECTION, RANK_MICRODATA + rank, ld_get(ld, object, "articleSection"));
    offer_list(r, META_KEYWORDS, RANK_MICRODATA + rank, ld_get(ld, object, "keywords"));
    offer_list(r, META_TYPES, rank, ld_get(ld, object, "@type"));
    take_body(r, object);
}

void meta_read_ld(struct meta *meta, const struct ld *ld)
{
    struct ld_reader r = {.meta = meta, .ld = ld};
    buf_init(&r.text, BUF_UNBOUNDED); /* no longer than what was read */
    unsigned best = 0, articles = 0;
    uint32_t main_object = 0, page = 0;
    for (uint32_t i = 1, n = 0; i < ld->count && n < MAX_OBJECTS; i++) {
        if (ld->values[i].kind != LD_OBJECT)
            continue;
        if (str_equal(ld_text(ld, ld_get(ld, i, "@type")), STR("WebSite")))
            offer(&r, META_SITE, RANK_META + 10, first_text(ld, ld_get(ld, i, "name")));
        if (!is_at_the_top(ld, i))
            continue;
        n++;
        unsigned sum = worth(&r, i);
        articles += sum >= ABOUT_ARTICLE * 10;
        if (sum / 10 == ABOUT_PAGE && !page)
            page = i;
        if (sum > best) {
            best = sum;
            main_object = i;
        }
    }
    /* many articles side by side are a list of others, unless one is shown to be this one */
    if (main_object && (articles <= 2 || best % 10 > 0))
        read_object(&r, main_object, best >= 20 ? RANK_LD : RANK_LD_PAGE);
    if (page && page != main_object)
        read_object(&r, page, RANK_LD_PAGE);
    buf_finish(&r.text);
}
