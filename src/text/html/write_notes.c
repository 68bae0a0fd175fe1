/* Footnotes. A short link to a place in the page that links back to where the link stands is a reference, and the place
 * a footnote: so do Wikipedia, Pandoc, Markdown renderers, WordPress, Sphinx and pages written by hand, whatever names
 * they use. */
#include <stdio.h>
#include <stdlib.h>

#include <xxhash.h>

#include "core/mem.h"
#include "text/html/write_internal.h"

#define NEAR       4  /* nodes between a reference and the place that its note links back to */
#define MAX_BACK   64 /* links of a note that are looked at */
#define MAX_PROBES 32

/* A link within the page. */
struct local_link {
    uint32_t node;
    struct str target;
    bool is_short;
};

struct place {
    struct str id;
    uint32_t node;
    char label[12]; /* of the note that it is, "" until it is known to be one */
};

struct finder {
    struct writer *w;
    struct local_link *links;
    size_t n_links, links_room;
    struct place *places; /* by the hash of their id */
    size_t mask;
    size_t notes_room;
    unsigned last_number;
    unsigned unnamed;
};

/* ---- links ---- */

/* Whether a link is a number, a letter or a sign, perhaps in brackets. */
static bool is_short_link(const struct writer *w, uint32_t node)
{
    if (str_equal_ascii_nocase(writer_attribute(w, node, HTML_ATTRIBUTE_ROLE), STR("doc-noteref")))
        return true;
    size_t len = 0, letters = 0, digits = 0;
    if (w->nodes[node].end > node + 8 || writer_is_sign(w, node))
        return false;
    for (uint32_t i = node + 1; i < w->nodes[node].end; i++) {
        struct str text = w->nodes[i].text;
        if (w->nodes[i].element != HTML_TEXT)
            continue;
        len += text.len;
        if (len > 16)
            return false;
        for (size_t k = 0; k < text.len; k++) {
            letters += ascii_is_alpha(text.data[k]);
            digits += ascii_is_digit(text.data[k]);
        }
    }
    return len && (letters <= 2 || (digits && letters <= 8));
}

static void find_links(struct finder *f)
{
    const struct writer *w = f->w;
    for (uint32_t i = 1; i < w->tree->count;) {
        if (writer_is_marked(w, i)) {
            i = w->nodes[i].end;
            continue;
        }
        struct str href = w->nodes[i].element == HTML_A ? writer_attribute(w, i, HTML_ATTRIBUTE_HREF) : (struct str){0};
        if (href.len > 1 && href.data[0] == '#') {
            f->links = mem_grow(f->links, f->n_links, &f->links_room, sizeof *f->links);
            f->links[f->n_links++] = (struct local_link){i, str_slice(href, 1, href.len), is_short_link(w, i)};
        }
        i++;
    }
}

static size_t first_link_from(const struct finder *f, uint32_t node)
{
    size_t low = 0, high = f->n_links;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (f->links[middle].node < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- places ---- */

static struct place *find_place(const struct finder *f, struct str id, bool free_one)
{
    size_t slot = (size_t)XXH3_64bits(id.data, id.len) & f->mask;
    for (size_t probe = 0; probe < MAX_PROBES; probe++, slot = (slot + 1) & f->mask) {
        struct place *place = &f->places[slot];
        if (!place->id.len)
            return free_one ? place : NULL;
        if (str_equal(place->id, id))
            return place;
    }
    return NULL;
}

static void find_places(struct finder *f)
{
    const struct writer *w = f->w;
    size_t count = 0, size = 64;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 1; i < w->tree->count;) {
            if (writer_is_marked(w, i)) {
                i = w->nodes[i].end;
                continue;
            }
            struct str id = writer_attribute(w, i, HTML_ATTRIBUTE_ID);
            if (!id.len && w->nodes[i].element == HTML_A)
                id = writer_attribute(w, i, HTML_ATTRIBUTE_NAME);
            if (id.len && !pass) {
                count++;
            } else if (id.len) {
                struct place *place = find_place(f, id, true);
                if (place && !place->id.len)
                    *place = (struct place){.id = id, .node = i};
            }
            i++;
        }
        while (!pass && size < count * 2)
            size *= 2;
        if (!pass) {
            f->places = mem_calloc(size, sizeof *f->places);
            f->mask = size - 1;
        }
    }
}

/* ---- notes ---- */

static bool is_block(const struct writer *w, uint32_t node)
{
    return html_flags(w->nodes[node].element) & ELEMENT_BLOCK;
}

/* The block that a place in it stands for: itself, or the one that it begins. 0 when there is none. */
static uint32_t note_block(const struct writer *w, uint32_t place)
{
    uint32_t node = place;
    while (node && !is_block(w, node)) {
        uint32_t parent = w->nodes[node].parent;
        for (uint32_t i = parent + 1; i < node; i++)
            if (w->nodes[i].element == HTML_TEXT && str_trim(w->nodes[i].text).len)
                return 0;
        if (node - parent > 64)
            return 0;
        node = parent;
    }
    uint8_t element = w->nodes[node].element;
    if (html_flags(element) & (ELEMENT_HEADING | ELEMENT_TABLE_PART) || element == HTML_BODY || element == HTML_HTML)
        return 0;
    if (element == HTML_DT) {
        uint32_t next = w->nodes[node].end;
        while (next < w->tree->count && w->nodes[next].element == HTML_TEXT)
            next++;
        return next < w->tree->count && w->nodes[next].element == HTML_DD ? next : 0;
    }
    return node;
}

static bool is_near(uint32_t a, uint32_t b)
{
    return (a > b ? a - b : b - a) <= NEAR;
}

/* The links of a note that lead back; `label` is of the whole of it: the <dt> too, of which the note is the <dd>. */
static bool links_back(const struct finder *f, uint32_t from, uint32_t end, uint32_t reference)
{
    size_t i = first_link_from(f, from);
    for (size_t n = 0; i < f->n_links && f->links[i].node < end && n < MAX_BACK; i++, n++) {
        const struct place *place = find_place(f, f->links[i].target, false);
        if (place && is_near(place->node, reference))
            return true;
    }
    return false;
}

static void add_note(struct finder *f, uint32_t node, enum note_kind kind, const char *label)
{
    struct writer *w = f->w;
    w->notes = mem_grow(w->notes, w->n_notes, &f->notes_room, sizeof *w->notes);
    struct note *note = &w->notes[w->n_notes++];
    *note = (struct note){.node = node, .kind = (uint8_t)kind};
    snprintf(note->label, sizeof note->label, "%s", label);
}

/* The number that the reference shows when it is a new one, else one of our own. */
static void name_note(struct finder *f, struct place *place, uint32_t reference)
{
    struct buf text;
    buf_init(&text, 64);
    html_tree_text(f->w->tree, reference, 16, &text);
    struct str shown = buf_str(&text);
    while (shown.len && !ascii_is_alnum(shown.data[0]))
        shown = str_slice(shown, 1, shown.len);
    while (shown.len && !ascii_is_alnum(shown.data[shown.len - 1]))
        shown.len--;
    int64_t number;
    if (shown.len <= 6 && str_to_int64(shown, &number) && number > (int64_t)f->last_number) {
        f->last_number = (unsigned)number;
        snprintf(place->label, sizeof place->label, "%u", f->last_number % 1000000);
    } else {
        snprintf(place->label, sizeof place->label, "n%u", ++f->unnamed % 1000000);
    }
    buf_finish(&text);
}

/* The link back, or what is around it when nothing but signs stands there: "^ a b", "[1]". */
static uint32_t whole_back_link(const struct writer *w, uint32_t link, uint32_t note)
{
    uint32_t whole = link;
    for (uint32_t parent = w->nodes[link].parent; parent > note && !is_block(w, parent);
         parent = w->nodes[parent].parent) {
        if (w->nodes[parent].end - parent > 64)
            break;
        for (uint32_t i = parent + 1; i < w->nodes[parent].end;) {
            if (w->nodes[i].element == HTML_A) {
                i = w->nodes[i].end;
                continue;
            }
            struct str text = w->nodes[i].text;
            for (size_t k = 0; w->nodes[i].element == HTML_TEXT && k < text.len; k++)
                if (ascii_is_alnum(text.data[k]) || text.len > 8)
                    return whole;
            i++;
        }
        whole = parent;
    }
    return whole;
}

static void add_definition(struct finder *f, const struct place *place, uint32_t node)
{
    const struct writer *w = f->w;
    add_note(f, node, NOTE_DEFINITION, place->label);
    uint32_t from = node;
    if (w->nodes[node].element == HTML_DD && (place->node < node || place->node >= w->nodes[node].end)) {
        uint32_t term = place->node;
        while (w->nodes[term].element != HTML_DT)
            term = w->nodes[term].parent;
        add_note(f, term, NOTE_SKIPPED, "");
        from = term;
    }
    size_t i = first_link_from(f, from);
    for (size_t n = 0; i < f->n_links && f->links[i].node < w->nodes[node].end && n < MAX_BACK; i++, n++) {
        const struct place *back = find_place(f, f->links[i].target, false);
        size_t k = back ? first_link_from(f, back->node > NEAR ? back->node - NEAR : 0) : f->n_links;
        bool leads_to_link = k < f->n_links && is_near(f->links[k].node, back->node);
        if (leads_to_link)
            add_note(f, whole_back_link(w, f->links[i].node, node), NOTE_SKIPPED, "");
    }
}

static bool is_text(const struct writer *w, uint32_t node, const char *text)
{
    return node < w->tree->count && w->nodes[node].element == HTML_TEXT &&
           str_equal(str_trim(w->nodes[node].text), str_of(text));
}

static void look_at_link(struct finder *f, const struct local_link *link)
{
    const struct writer *w = f->w;
    struct place *place = find_place(f, link->target, false);
    uint32_t node = place ? note_block(w, place->node) : 0;
    if (!node)
        return;
    uint32_t from = place->node < node ? place->node : node;
    if (from <= link->node && link->node < w->nodes[node].end)
        return;
    if (!place->label[0]) {
        bool named = class_has(writer_attribute(w, node, HTML_ATTRIBUTE_ROLE), "doc-footnote") ||
                     class_has(writer_attribute(w, node, HTML_ATTRIBUTE_ROLE), "doc-endnote");
        if (!named && !links_back(f, from, w->nodes[node].end, link->node))
            return;
        name_note(f, place, link->node);
        add_definition(f, place, node);
    }
    add_note(f, link->node, NOTE_REFERENCE, place->label);
    uint32_t end = w->nodes[link->node].end;
    if (is_text(w, link->node - 1, "[") && is_text(w, end, "]")) {
        add_note(f, link->node - 1, NOTE_SKIPPED, "");
        add_note(f, end, NOTE_SKIPPED, "");
    }
}

static int by_node(const void *a, const void *b)
{
    const struct note *one = a, *other = b;
    if (one->node != other->node)
        return one->node < other->node ? -1 : 1;
    return (one->kind < other->kind) - (one->kind > other->kind); /* what is skipped counts */
}

void writer_find_notes(struct writer *w)
{
    struct finder f = {.w = w};
    find_links(&f);
    size_t n_short = 0;
    for (size_t i = 0; i < f.n_links; i++)
        n_short += f.links[i].is_short;
    if (n_short) {
        find_places(&f);
        for (size_t i = 0; i < f.n_links; i++)
            if (f.links[i].is_short)
                look_at_link(&f, &f.links[i]);
        if (w->n_notes)
            qsort(w->notes, w->n_notes, sizeof *w->notes, by_node);
    }
    free(f.links);
    free(f.places);
}

/* ---- writing ---- */

const struct note *writer_note_at(struct writer *w, uint32_t node)
{
    while (w->next_note < w->n_notes && w->notes[w->next_note].node < node)
        w->next_note++;
    return w->next_note < w->n_notes && w->notes[w->next_note].node == node ? &w->notes[w->next_note] : NULL;
}

void writer_reference(struct writer *w, const struct note *note)
{
    writer_begin(w, CHAR_PUNCTUATION);
    writer_put_str(w, w->options.plain_text ? STR("[") : STR("[^"));
    writer_put_str(w, str_of(note->label));
    writer_put_char(w, ']');
    w->plain_from = w->out->len;
}

void writer_enter_note(struct writer *w, const struct note *note)
{
    char mark[24] = "[";
    bool plain = w->options.plain_text;
    strcat(mark, plain ? "" : "^");
    strcat(mark, note->label);
    strcat(mark, plain ? "] " : "]: ");
    writer_want(w, DUE_BLANK);
    if (w->single == LINE_FREE)
        writer_push_level(w, note->node, str_of(mark), plain ? STR("") : STR("    "));
    else
        writer_text(w, str_of(mark));
}
