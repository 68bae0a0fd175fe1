/* PPTX and PPTM (ECMA-376 part 1, 19 and 21): slides in the order of the presentation, each with its title, text,
 * tables and the speaker's notes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "readers/office.h"
#include "readers/office_table.h"

#define MAX_SLIDES 5000
#define MAX_LEVELS 16

enum role { ROLE_TEXT, ROLE_TITLE, ROLE_BODY, ROLE_SUBTITLE, ROLE_NONE };

struct slide {
    struct pptx *pptx;
    struct relations relations;
    struct buf title;
    struct buf body_text;
    struct writer body;
    enum role role;
    bool notes; /* a page of speaker's notes */
    bool hidden;

    struct span span;
    bool in_paragraph, in_text, bullet, no_bullet;
    int level, number;
    unsigned marks;

    int counters[MAX_LEVELS]; /* of numbered paragraphs, by level */

    struct office_table table;
    bool in_table, cell_merged;
    uint32_t width, height; /* of the cell at hand */
    size_t skip;
};

struct pptx {
    const struct package *package;
    struct writer writer;
    struct relations relations;
    char **slides; /* parts, in order */
    size_t n_slides, capacity;
};

bool pptx_wants(struct str name)
{
    static const char *const folders[] = {"ppt/slides/", "ppt/notesSlides/", "ppt/diagrams/data", "docProps/"};
    if (str_equal(name, STR("_rels/.rels")) || str_ends_with(name, STR("presentation.xml.rels")) ||
        str_ends_with(name, STR("presentation.xml")))
        return true;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        if (str_find_nocase(name, str_of(folders[i]), 0) == 0)
            return str_ends_with(name, STR(".xml")) || str_ends_with(name, STR(".rels"));
    return false;
}

/* ---- the text of a slide ---- */

static void end_paragraph(struct slide *slide)
{
    struct str text = str_trim(span_end(&slide->span));
    slide->in_paragraph = false;
    if (!text.len) {
        span_reset(&slide->span);
        return;
    }
    for (int level = slide->level + (slide->number > 0); level < MAX_LEVELS; level++)
        slide->counters[level] = 0;
    if (slide->in_table) {
        office_table_text(&slide->table, STR(""), text);
    } else if (slide->role == ROLE_TITLE) {
        if (slide->title.len && buf_append_char(&slide->title, ' ') != STATUS_OK)
            return;
        append_line(&slide->title, text);
    } else if (slide->number && slide->role != ROLE_NONE) {
        char mark[16];
        int before = slide->counters[slide->level]++;
        snprintf(mark, sizeof mark, "%d.", slide->number + before);
        writer_item(&slide->body, slide->level, str_of(mark), text);
    } else if (!slide->no_bullet && !slide->notes && (slide->bullet || slide->role == ROLE_BODY)) {
        writer_item(&slide->body, slide->level, STR("-"), text);
    } else if (slide->role != ROLE_NONE) {
        writer_paragraph(&slide->body, text);
    }
    span_reset(&slide->span);
}

static enum role role_of(struct str type, bool notes)
{
    if (str_equal(type, STR("title")) || str_equal(type, STR("ctrTitle")))
        return notes ? ROLE_NONE : ROLE_TITLE;
    if (str_equal(type, STR("subTitle")))
        return ROLE_SUBTITLE;
    if (str_equal(type, STR("sldNum")) || str_equal(type, STR("dt")) || str_equal(type, STR("ftr")) ||
        str_equal(type, STR("hdr")) || str_equal(type, STR("sldImg")))
        return ROLE_NONE;
    return ROLE_BODY;
}

static void on_table(struct slide *slide, const struct xml_element *element)
{
    if (xml_is(element, "tbl") && !slide->in_table) {
        office_table_init(&slide->table, slide->body_text.cap);
        slide->in_table = true;
    } else if (slide->in_table && xml_is(element, "tr")) {
        office_table_row(&slide->table);
    } else if (slide->in_table && xml_is(element, "tc")) {
        int64_t width = xml_integer(element, "gridSpan", 1), height = xml_integer(element, "rowSpan", 1);
        slide->width = width > 1 && width <= 1000 ? (uint32_t)width : 1;
        slide->height = height > 1 && height <= 100000 ? (uint32_t)height : 1;
        slide->cell_merged = xml_has_attribute(element, "hMerge") || xml_has_attribute(element, "vMerge");
    }
}

static void end_cell(struct slide *slide)
{
    if (!slide->in_table)
        return;
    if (slide->cell_merged)
        buf_reset(&slide->table.cell);
    office_table_cell(&slide->table, slide->width, slide->height, 1); /* merged cells stand in the file, too */
}

static void on_paragraph(struct slide *slide, const struct xml_element *element)
{
    if (xml_is(element, "p")) {
        slide->in_paragraph = true;
        slide->bullet = slide->no_bullet = false;
        slide->level = 0;
        slide->number = 0;
    } else if (xml_is(element, "pPr")) {
        slide->level = (int)(xml_integer(element, "lvl", 0) & 15);
    } else if (xml_is(element, "buChar") || xml_is(element, "buBlip")) {
        slide->bullet = true;
    } else if (xml_is(element, "buAutoNum")) {
        slide->number = (int)(xml_integer(element, "startAt", 1) & 0xffff);
    } else if (xml_is(element, "buNone")) {
        slide->no_bullet = true;
    } else if (xml_is(element, "r") || xml_is(element, "fld")) {
        slide->marks = 0;
    } else if (xml_is(element, "rPr")) {
        struct str bold = xml_attribute(element, "b"), italic = xml_attribute(element, "i");
        slide->marks = (bold.len && !office_is_off(bold) ? SPAN_BOLD : 0u) |
                       (italic.len && !office_is_off(italic) ? SPAN_ITALIC : 0u);
    } else if (xml_is(element, "t")) {
        slide->in_text = true;
    } else if (xml_is(element, "br")) {
        span_text(&slide->span, STR("\n"), 0);
    } else if (xml_is(element, "hlinkClick") && !slide->pptx->package->reading->source->drop_links) {
        const struct relation *relation =
            relations_by_id(&slide->relations, xml_attribute_of(element, "/relationships", "id"));
        if (relation && relation->external)
            span_link_begin(&slide->span, str_of(relation->target));
    }
}

static void on_start(void *user, const struct xml_element *element)
{
    struct slide *slide = user;
    if (slide->skip || xml_is(element, "Fallback")) {
        slide->skip++;
        return;
    }
    if (xml_is(element, "sld")) {
        slide->hidden = str_equal(xml_attribute(element, "show"), STR("0"));
    } else if (xml_is(element, "sp") || xml_is(element, "graphicFrame") || xml_is(element, "cxnSp")) {
        slide->role = ROLE_TEXT;
    } else if (xml_is(element, "ph")) {
        slide->role = role_of(xml_attribute(element, "type"), slide->notes);
    } else if (xml_is(element, "cNvPr") && xml_attribute(element, "descr").len && !slide->notes) {
        struct buf text;
        buf_init(&text, 2000);
        append_line(&text, xml_attribute(element, "descr"));
        writer_break(&slide->body);
        writer_raw(&slide->body, STR("[image: "));
        writer_raw(&slide->body, buf_str(&text));
        writer_raw(&slide->body, STR("]"));
        writer_break(&slide->body);
        buf_finish(&text);
    }
    if (xml_is(element, "txBody"))
        memset(slide->counters, 0, sizeof slide->counters);
    on_table(slide, element);
    on_paragraph(slide, element);
}

static void on_text(void *user, struct str text)
{
    struct slide *slide = user;
    if (slide->in_text && slide->in_paragraph && !slide->skip)
        span_text(&slide->span, text, slide->role == ROLE_TITLE ? 0 : slide->marks);
}

static void end_table(struct slide *slide)
{
    if (!slide->in_table)
        return;
    slide->in_table = false;
    office_table_write(&slide->table, NULL, &slide->body);
    office_table_finish(&slide->table);
}

static void on_end(void *user, const char *name)
{
    struct slide *slide = user;
    if (slide->skip) {
        slide->skip--;
        return;
    }
    if (strcmp(name, "t") == 0)
        slide->in_text = false;
    else if (strcmp(name, "r") == 0)
        span_link_end(&slide->span);
    else if (strcmp(name, "p") == 0 && slide->in_paragraph)
        end_paragraph(slide);
    else if (strcmp(name, "tc") == 0)
        end_cell(slide);
    else if (strcmp(name, "tbl") == 0)
        end_table(slide);
    else if (strcmp(name, "txBody") == 0 && slide->role != ROLE_TITLE)
        writer_break(&slide->body);
}

/* ---- a slide and its notes ---- */

static const struct xml_handler slide_handler = {on_start, on_end, on_text};

static void slide_init(struct slide *slide, struct pptx *pptx, bool notes)
{
    size_t cap = pptx->writer.out->cap;
    *slide = (struct slide){.pptx = pptx, .notes = notes, .role = ROLE_TEXT};
    buf_init(&slide->title, 1000);
    buf_init(&slide->body_text, cap);
    writer_init(&slide->body, &slide->body_text);
    span_init(&slide->span, cap);
}

static void slide_finish(struct slide *slide)
{
    relations_finish(&slide->relations);
    buf_finish(&slide->title);
    buf_finish(&slide->body_text);
    span_finish(&slide->span);
    if (slide->in_table)
        office_table_finish(&slide->table);
}

static enum status slide_parse(struct slide *slide, struct str part, struct error *error)
{
    const struct package *package = slide->pptx->package;
    enum status status = relations_load(package, part, &slide->relations, error);
    if (status == STATUS_OK)
        status = package_parse(package, part, &slide_handler, slide, error);
    end_table(slide); /* of a slide that is cut off */
    for (size_t i = 0; status == STATUS_OK && i < slide->relations.count; i++) {
        const struct relation *relation = &slide->relations.items[i];
        if (strcmp(relation->type, "diagramData") != 0 || !package_has(package, str_of(relation->target)))
            continue;
        slide->role = ROLE_BODY;
        status = package_parse(package, str_of(relation->target), &slide_handler, slide, error);
    }
    slide->pptx->writer.full = slide->pptx->writer.full || slide->body.full;
    return status;
}

void office_take_title(struct buf *body, struct buf *title)
{
    struct str text = str_trim_start(buf_str(body));
    struct str line = str_slice(text, 0, str_find_char(text, '\n', 0));
    struct str below = str_slice(text, line.len, text.len);
    bool alone = !str_trim(below).len || str_starts_with(below, STR("\n\n"));
    if (!line.len || line.len > 120 || !alone || strchr("|>-#*`[\\~", line.data[0]))
        return;
    append_line(title, line);
    buf_consume(body, (size_t)(below.data - body->data));
}

static enum status write_notes(struct pptx *pptx, const struct slide *slide, struct error *error)
{
    const struct relation *relation = relations_by_type(&slide->relations, "notesSlide");
    if (!relation || !package_has(pptx->package, str_of(relation->target)))
        return STATUS_OK;
    struct slide notes;
    slide_init(&notes, pptx, true);
    enum status status = slide_parse(&notes, str_of(relation->target), error);
    if (status == STATUS_OK && str_trim(buf_str(&notes.body_text)).len) {
        writer_heading(&pptx->writer, 3, STR("Notes"));
        writer_raw(&pptx->writer, str_trim(buf_str(&notes.body_text)));
        writer_break(&pptx->writer);
    }
    slide_finish(&notes);
    return status;
}

static enum status write_slide(struct pptx *pptx, size_t number, struct error *error)
{
    struct slide slide;
    slide_init(&slide, pptx, false);
    enum status status = slide_parse(&slide, str_of(pptx->slides[number - 1]), error);
    if (status == STATUS_NOT_FOUND) {
        reading_note(pptx->package->reading, "Slide %zu is missing in the file.", number);
        status = STATUS_OK;
    } else if (status == STATUS_OK) {
        struct buf title;
        buf_init(&title, BUF_UNBOUNDED);
        if (!slide.title.len)
            office_take_title(&slide.body_text, &slide.title);
        buf_addf(&title, "Slide %zu%s%s%s", number, slide.hidden ? " (hidden)" : "", slide.title.len ? ": " : "",
                 slide.title.len ? slide.title.data : "");
        writer_heading(&pptx->writer, 2, buf_str(&title));
        buf_finish(&title);
        writer_raw(&pptx->writer, str_trim(buf_str(&slide.body_text)));
        writer_break(&pptx->writer);
        status = write_notes(pptx, &slide, error);
    }
    slide_finish(&slide);
    return status;
}

static void on_presentation(void *user, const struct xml_element *element)
{
    struct pptx *pptx = user;
    if (!xml_is(element, "sldId") || pptx->n_slides >= MAX_SLIDES)
        return;
    const struct relation *relation =
        relations_by_id(&pptx->relations, xml_attribute_of(element, "/relationships", "id"));
    if (!relation || relation->external)
        return;
    pptx->slides = mem_grow(pptx->slides, pptx->n_slides, &pptx->capacity, sizeof *pptx->slides);
    pptx->slides[pptx->n_slides++] = mem_strdup(relation->target);
}

enum status pptx_read(const struct package *package, struct str main, struct reader_text *out, struct error *error)
{
    static const struct xml_handler handler = {.start = on_presentation};
    struct pptx pptx = {.package = package};
    writer_init(&pptx.writer, &out->markdown);
    enum status status = relations_load(package, main, &pptx.relations, error);
    if (status == STATUS_OK)
        status = package_parse(package, main, &handler, &pptx, error);
    for (size_t i = 0; status == STATUS_OK && i < pptx.n_slides && !pptx.writer.full; i++)
        status = write_slide(&pptx, i + 1, error);
    out->pages = (int)pptx.n_slides;
    out->truncated = out->truncated || pptx.writer.full;
    for (size_t i = 0; i < pptx.n_slides; i++)
        free(pptx.slides[i]);
    free(pptx.slides);
    relations_finish(&pptx.relations);
    return status;
}
