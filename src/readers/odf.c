/* ODT and ODP (ODF 1.3 part 3, 4 to 9): content.xml in one pass. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/utf8.h"
#include "readers/odf_styles.h"
#include "readers/office_table.h"

#define MAX_FRAMES     16 /* paragraphs, and tables, inside one another */
#define MAX_LISTS      16
#define MAX_SPANS      32
#define MAX_NOTE_BYTES 65536

struct list {
    const struct odf_style *style;
    int number;      /* of the last item; 0 before the first */
    bool item_fresh; /* an item began whose mark is not written yet */
};

struct paragraph {
    struct span span;
    int heading; /* 0 to 10, -1 none: 0 is the title */
    unsigned marks[MAX_SPANS];
    size_t n_spans;
};

struct odf {
    const struct package *package;
    struct reader_text *out;
    struct writer writer;
    struct odf_styles styles;
    bool in_body;

    struct paragraph paragraphs[MAX_FRAMES];
    struct office_table tables[MAX_FRAMES];
    uint32_t widths[MAX_FRAMES], heights[MAX_FRAMES], repeats[MAX_FRAMES]; /* of the tables' cells at hand */
    size_t n_paragraphs, n_tables, lost_paragraphs, lost_tables;
    struct list lists[MAX_LISTS];
    size_t n_lists, lost_lists;
    int last_number[MAX_LISTS]; /* where a list that continues the one before goes on */

    size_t skip;
    bool in_note_mark;
    size_t n_notes;
    bool in_note;
    struct buf note, notes; /* the one at hand; all that are complete */
    bool in_comment;
    size_t comment_base; /* paragraphs around the comment: text right in it is its author */
    bool described;      /* inside svg:desc */
    bool deleted;

    /* slides */
    int slide;
    struct buf slide_name, slide_title, slide_body;
    bool in_title, in_speaker_notes, hidden_slide, other_frame;
};

bool odf_wants(struct str name)
{
    return str_equal(name, STR("meta.xml")) || str_equal(name, STR("styles.xml")) ||
           str_equal(name, STR("META-INF/manifest.xml"));
}

/* ---- where text goes ---- */

static struct paragraph *paragraph_of(struct odf *odf)
{
    return odf->n_paragraphs ? &odf->paragraphs[odf->n_paragraphs - 1] : NULL;
}

static void emit_note(struct odf *odf, struct str text)
{
    if (!str_trim(text).len)
        return;
    if (odf->note.len && buf_append_char(&odf->note, ' ') != STATUS_OK)
        return;
    append_line(&odf->note, text);
}

/* Writes the numbers of the levels that are shown, "2.1.". */
static void write_number(const struct odf *odf, struct buf *mark)
{
    size_t depth = odf->n_lists;
    const struct odf_level *level = &odf->lists[depth - 1].style->levels[depth - 1];
    buf_add_text(mark, level->prefix);
    size_t shown = (size_t)level->shown < depth ? (size_t)level->shown : depth;
    for (size_t i = depth - shown; i < depth; i++) {
        const struct odf_style *style = odf->lists[i].style;
        char format = style && style->levels[i].format ? style->levels[i].format : '1';
        if (i > depth - shown)
            buf_add_char(mark, '.');
        office_number(mark, odf->lists[i].number ? odf->lists[i].number : 1, str_make(&format, 1));
    }
    buf_add_text(mark, level->suffix);
}

/* The mark of the innermost list's item; empty when a list has no visible marks. */
static void list_mark(struct odf *odf, struct buf *mark)
{
    struct list *list = &odf->lists[odf->n_lists - 1];
    const struct odf_level *level =
        list->style && odf->n_lists <= ODF_LEVELS ? &list->style->levels[odf->n_lists - 1] : NULL;
    if (level && level->numbered && level->format)
        write_number(odf, mark);
    else
        buf_add_char(mark, '-');
}

static void emit_item(struct odf *odf, struct str text)
{
    struct list *list = &odf->lists[odf->n_lists - 1];
    struct buf mark;
    buf_init(&mark, BUF_UNBOUNDED);
    if (list->item_fresh)
        list_mark(odf, &mark);
    list->item_fresh = false;
    if (odf->n_tables) {
        if (mark.len)
            buf_add_char(&mark, ' ');
        office_table_text(&odf->tables[odf->n_tables - 1], buf_str(&mark), text);
    } else {
        writer_item(&odf->writer, (int)odf->n_lists - 1, mark.len ? buf_str(&mark) : STR(" "), text);
    }
    buf_finish(&mark);
}

static void emit(struct odf *odf, struct paragraph *paragraph)
{
    struct str text = str_trim(span_end(&paragraph->span));
    if (!text.len || odf->other_frame)
        return;
    if (odf->in_note || odf->in_comment) {
        emit_note(odf, text);
    } else if (odf->in_title) {
        if (odf->slide_title.len && buf_append_char(&odf->slide_title, ' ') != STATUS_OK)
            return;
        append_line(&odf->slide_title, text);
    } else if (odf->n_lists && paragraph->heading < 0) {
        emit_item(odf, text);
    } else if (odf->n_tables) {
        office_table_text(&odf->tables[odf->n_tables - 1], STR(""), text);
    } else if (paragraph->heading >= 0) {
        if (paragraph->heading == 0 && !odf->out->title)
            odf->out->title = str_dup(str_slice(text, 0, utf8_floor(text, 300)));
        writer_heading(&odf->writer, paragraph->heading ? paragraph->heading : 1, text);
    } else {
        writer_paragraph(&odf->writer, text);
    }
}

static void begin_paragraph(struct odf *odf, const struct xml_element *element)
{
    if (odf->n_paragraphs == MAX_FRAMES) {
        odf->lost_paragraphs++;
        return;
    }
    struct paragraph *paragraph = &odf->paragraphs[odf->n_paragraphs++];
    *paragraph = (struct paragraph){.heading = -1};
    span_init(&paragraph->span, odf->writer.out->cap);
    if (xml_is(element, "h"))
        paragraph->heading = (int)(xml_integer(element, "outline-level", 1) & 15);
    else if (odf_comes_from(&odf->styles, xml_attribute(element, "style-name"), STR("Title")))
        paragraph->heading = 0;
}

static void end_paragraph(struct odf *odf)
{
    if (odf->lost_paragraphs) {
        odf->lost_paragraphs--;
    } else if (odf->n_paragraphs) {
        struct paragraph *paragraph = paragraph_of(odf);
        odf->n_paragraphs--;
        emit(odf, paragraph);
        span_finish(&paragraph->span);
    }
}

static void add_text(struct odf *odf, struct str text)
{
    struct paragraph *paragraph = paragraph_of(odf);
    if (!paragraph)
        return;
    bool plain = paragraph->heading >= 0 || odf->in_title || !paragraph->n_spans;
    size_t top = paragraph->n_spans < MAX_SPANS ? paragraph->n_spans : MAX_SPANS;
    span_text(&paragraph->span, text, plain ? 0 : paragraph->marks[top - 1]);
}

/* ---- tables ---- */

static void on_table_start(struct odf *odf, const struct xml_element *element)
{
    if (xml_is(element, "table")) {
        if (odf->n_tables == MAX_FRAMES)
            odf->lost_tables++;
        else
            office_table_init(&odf->tables[odf->n_tables++], odf->writer.out->cap);
        return;
    }
    if (!odf->n_tables || odf->lost_tables)
        return;
    size_t at = odf->n_tables - 1;
    if (xml_is(element, "table-row")) {
        office_table_row(&odf->tables[at]);
    } else if (xml_is(element, "table-cell") || xml_is(element, "covered-table-cell")) {
        int64_t width = xml_integer(element, "number-columns-spanned", 1);
        int64_t height = xml_integer(element, "number-rows-spanned", 1);
        int64_t repeat = xml_integer(element, "number-columns-repeated", 1);
        odf->widths[at] = width > 1 && width <= 1000 ? (uint32_t)width : 1;
        odf->heights[at] = height > 1 && height <= 100000 ? (uint32_t)height : 1;
        odf->repeats[at] = repeat > 1 && repeat <= 1000 ? (uint32_t)repeat : 1;
    }
}

static void on_table_end(struct odf *odf, const char *name)
{
    if (strcmp(name, "table") == 0 && odf->lost_tables) {
        odf->lost_tables--;
    } else if (odf->lost_tables || !odf->n_tables) {
        return;
    } else if (strcmp(name, "table") == 0) {
        struct office_table *table = &odf->tables[--odf->n_tables];
        struct office_table *outer = odf->n_tables ? &odf->tables[odf->n_tables - 1] : NULL;
        office_table_write(table, outer, &odf->writer);
        office_table_finish(table);
    } else if (strcmp(name, "table-cell") == 0 || strcmp(name, "covered-table-cell") == 0) {
        size_t at = odf->n_tables - 1;
        office_table_cell(&odf->tables[at], odf->widths[at], odf->heights[at], odf->repeats[at]);
    }
}

/* ---- lists ---- */

static void begin_list(struct odf *odf, const struct xml_element *element)
{
    if (odf->n_lists == MAX_LISTS) {
        odf->lost_lists++;
        return;
    }
    struct list *list = &odf->lists[odf->n_lists];
    *list = (struct list){0};
    struct str name = xml_attribute(element, "style-name");
    list->style = name.len ? odf_style(&odf->styles, 'l', name) : NULL;
    if (!list->style && odf->n_lists)
        list->style = list[-1].style;
    if (str_equal(xml_attribute(element, "continue-numbering"), STR("true")) ||
        xml_attribute(element, "continue-list").len)
        list->number = odf->last_number[odf->n_lists];
    else if (list->style && odf->n_lists < ODF_LEVELS)
        list->number = list->style->levels[odf->n_lists].start - 1;
    if (list->number < 0)
        list->number = 0;
    odf->n_lists++;
}

static void end_list(struct odf *odf)
{
    if (odf->lost_lists) {
        odf->lost_lists--;
        return;
    }
    if (!odf->n_lists)
        return;
    odf->n_lists--;
    odf->last_number[odf->n_lists] = odf->lists[odf->n_lists].number;
}

static void begin_item(struct odf *odf, const struct xml_element *element)
{
    if (!odf->n_lists || odf->lost_lists)
        return;
    struct list *list = &odf->lists[odf->n_lists - 1];
    int64_t start = xml_integer(element, "start-value", list->number + 1);
    list->number = start > 0 && start < 1000000 ? (int)start : list->number;
    list->item_fresh = true;
}

/* ---- notes and comments ---- */

static void begin_note(struct odf *odf, bool comment)
{
    char mark[32];
    if (odf->in_note || odf->in_comment)
        return;
    snprintf(mark, sizeof mark, "[^%zu]", ++odf->n_notes);
    add_text(odf, str_of(mark));
    odf->in_comment = comment;
    odf->comment_base = odf->n_paragraphs;
    buf_reset(&odf->note);
    if (comment)
        append_line(&odf->note, STR("Comment by"));
}

static void end_note(struct odf *odf)
{
    odf->in_note = odf->in_comment = false;
    struct buf line;
    buf_init(&line, BUF_UNBOUNDED);
    buf_addf(&line, "[^%zu]: ", odf->n_notes);
    buf_add(&line, buf_str(&odf->note));
    buf_add_char(&line, '\n');
    if (buf_append_str(&odf->notes, buf_str(&line)) != STATUS_OK)
        odf->writer.full = true;
    buf_finish(&line);
    buf_reset(&odf->note);
}

/* ---- slides ---- */

/* Writes the slide at hand: the title is known only now. */
static void end_slide(struct odf *odf)
{
    struct writer writer;
    struct buf heading;
    writer_init(&writer, &odf->out->markdown);
    buf_init(&heading, BUF_UNBOUNDED);
    if (!odf->slide_title.len)
        office_take_title(&odf->slide_body, &odf->slide_title);
    buf_addf(&heading, "Slide %d%s%s%s", odf->slide, odf->hidden_slide ? " (hidden)" : "",
             odf->slide_title.len ? ": " : "", odf->slide_title.len ? odf->slide_title.data : "");
    writer_heading(&writer, 2, buf_str(&heading));
    writer_raw(&writer, str_trim(buf_str(&odf->slide_body)));
    writer_break(&writer);
    odf->writer.full = odf->writer.full || writer.full;
    buf_finish(&heading);
    buf_reset(&odf->slide_body);
    buf_reset(&odf->slide_title);
}

static void on_slide_start(struct odf *odf, const struct xml_element *element)
{
    if (xml_is(element, "page")) {
        odf->slide++;
        odf->hidden_slide = false;
    } else if (xml_is(element, "notes")) {
        odf->in_speaker_notes = true;
        writer_heading(&odf->writer, 3, STR("Notes"));
    } else if (xml_is(element, "frame") || xml_is(element, "custom-shape")) {
        struct str class = xml_attribute(element, "class");
        odf->in_title = str_equal(class, STR("title")) && !odf->in_speaker_notes;
        odf->other_frame = str_equal(class, STR("page")) || str_equal(class, STR("date-time")) ||
                           str_equal(class, STR("footer")) || str_equal(class, STR("header")) ||
                           str_equal(class, STR("page-number"));
    }
}

static void on_slide_end(struct odf *odf, const char *name)
{
    const struct str heading = STR("### Notes\n\n");
    if (strcmp(name, "page") == 0) {
        end_slide(odf);
    } else if (strcmp(name, "notes") == 0) {
        odf->in_speaker_notes = false;
        if (str_ends_with(buf_str(&odf->slide_body), heading)) /* there were none */
            buf_truncate(&odf->slide_body, odf->slide_body.len - heading.len);
    } else if (strcmp(name, "frame") == 0 || strcmp(name, "custom-shape") == 0) {
        if (!odf->in_title)
            writer_break(&odf->writer);
        odf->in_title = odf->other_frame = false;
    }
}

/* ---- the parser's events ---- */

static bool is_left_out(const struct xml_element *element)
{
    static const char *const names[] = {"tracked-changes", "forms",  "table-of-content", "note-citation",
                                        "ruby-text",       "number", "creator-initials", "shapes"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (xml_is(element, names[i]))
            return true;
    return false;
}

static void on_inline(struct odf *odf, const struct xml_element *element)
{
    struct paragraph *paragraph = paragraph_of(odf);
    if (xml_is(element, "s")) {
        int64_t count = xml_integer(element, "c", 1);
        for (int64_t i = 0; i < count && i < 200; i++)
            add_text(odf, STR(" "));
    } else if (xml_is(element, "tab")) {
        add_text(odf, STR("\t"));
    } else if (xml_is(element, "line-break")) {
        add_text(odf, STR("\n"));
    } else if (xml_is(element, "span") && paragraph) {
        size_t at = paragraph->n_spans++;
        if (at < MAX_SPANS)
            paragraph->marks[at] =
                (at ? paragraph->marks[at - 1] : 0) | odf_marks(&odf->styles, xml_attribute(element, "style-name"));
    } else if (xml_is(element, "a") && paragraph && !odf->package->reading->source->drop_links) {
        struct str address = xml_attribute(element, "href");
        if (!str_starts_with(address, STR("#")))
            span_link_begin(&paragraph->span, address);
    } else if (xml_is(element, "note")) {
        begin_note(odf, false);
    } else if (xml_is(element, "note-body")) {
        odf->in_note = !odf->in_comment;
    } else if (xml_is(element, "annotation")) {
        begin_note(odf, true);
    } else if (xml_is(element, "desc") && !odf->in_speaker_notes) {
        odf->described = true;
        if (!paragraph)
            writer_raw(&odf->writer, STR("[image: "));
        else
            add_text(odf, STR("[image: "));
    }
}

static void on_start(void *user, const struct xml_element *element)
{
    struct odf *odf = user;
    if (!odf->in_body) {
        odf_styles_start(&odf->styles, element);
        odf->in_body = xml_is(element, "body");
        return;
    }
    bool comment_date = odf->in_comment && xml_is(element, "date");
    if (odf->skip || comment_date || is_left_out(element)) {
        odf->deleted = odf->deleted || xml_is(element, "deletion");
        odf->skip++;
        return;
    }
    if (odf->out->kind == READER_ODP)
        on_slide_start(odf, element);
    if ((xml_is(element, "p") || xml_is(element, "h")) && xml_in(element, ":text:1.0"))
        begin_paragraph(odf, element);
    else if (xml_is(element, "list"))
        begin_list(odf, element);
    else if (xml_is(element, "list-item"))
        begin_item(odf, element);
    else if (xml_in(element, ":table:1.0"))
        on_table_start(odf, element);
    else
        on_inline(odf, element);
}

static void on_end(void *user, const char *name)
{
    struct odf *odf = user;
    if (!odf->in_body) {
        odf_styles_end(&odf->styles, name);
        return;
    }
    if (odf->skip) {
        odf->skip--;
        return;
    }
    if (odf->out->kind == READER_ODP)
        on_slide_end(odf, name);
    struct paragraph *paragraph = paragraph_of(odf);
    if (strcmp(name, "p") == 0 || strcmp(name, "h") == 0)
        end_paragraph(odf);
    else if (strcmp(name, "list") == 0)
        end_list(odf);
    else if (strcmp(name, "span") == 0 && paragraph && paragraph->n_spans)
        paragraph->n_spans--;
    else if (strcmp(name, "a") == 0 && paragraph)
        span_link_end(&paragraph->span);
    else if (strcmp(name, "creator") == 0 && odf->in_comment)
        emit_note(odf, STR("–"));
    else if (strcmp(name, "note") == 0 || strcmp(name, "annotation") == 0)
        end_note(odf);
    else if (strcmp(name, "desc") == 0 && odf->described) {
        odf->described = false;
        if (paragraph)
            add_text(odf, STR("]"));
        else
            writer_raw(&odf->writer, STR("]"));
    } else
        on_table_end(odf, name);
}

static void on_text(void *user, struct str text)
{
    struct odf *odf = user;
    if (odf->skip || !odf->in_body)
        return;
    if (odf->in_comment && odf->n_paragraphs == odf->comment_base)
        emit_note(odf, text);
    else if (paragraph_of(odf))
        add_text(odf, text);
    else if (odf->described)
        writer_raw(&odf->writer, text);
}

static const struct xml_handler handler = {on_start, on_end, on_text};

/* styles.xml holds the named styles, and texts of headers and footers, which are not wanted. */
static void on_named_start(void *user, const struct xml_element *element)
{
    struct odf *odf = user;
    odf_styles_start(&odf->styles, element);
}

static void on_named_end(void *user, const char *name)
{
    struct odf *odf = user;
    odf_styles_end(&odf->styles, name);
}

static void finish(struct odf *odf)
{
    odf->lost_paragraphs = odf->lost_tables = 0;
    while (odf->n_paragraphs)
        end_paragraph(odf);
    while (odf->n_tables)
        on_table_end(odf, "table");
    if (odf->slide_body.len)
        end_slide(odf);
    if (odf->notes.len) {
        struct writer writer;
        writer_init(&writer, &odf->out->markdown);
        writer_break(&writer);
        writer_raw(&writer, buf_str(&odf->notes));
        odf->writer.full = odf->writer.full || writer.full;
    }
}

enum status odf_read(const struct package *package, struct reader_text *out, struct error *error)
{
    static const struct xml_handler named = {.start = on_named_start, .end = on_named_end};
    struct odf *odf = mem_zalloc(sizeof *odf);
    odf->package = package;
    odf->out = out;
    bool slides = out->kind == READER_ODP;
    buf_init(&odf->slide_title, 1000);
    buf_init(&odf->slide_body, out->markdown.cap);
    buf_init(&odf->note, MAX_NOTE_BYTES);
    buf_init(&odf->notes, out->markdown.cap);
    writer_init(&odf->writer, slides ? &odf->slide_body : &out->markdown);
    enum status status = STATUS_OK;
    if (package_has(package, STR("styles.xml")))
        status = package_parse(package, STR("styles.xml"), &named, odf, error);
    odf->styles.at = 0;
    if (status == STATUS_OK)
        status = package_parse(package, STR("content.xml"), &handler, odf, error);
    finish(odf);
    if (odf->deleted)
        reading_note(package->reading, "Deletions that were tracked in the document are left out.");
    out->truncated = out->truncated || odf->writer.full;
    out->pages = slides ? odf->slide : 0;
    odf_styles_finish(&odf->styles);
    buf_finish(&odf->slide_title);
    buf_finish(&odf->slide_body);
    buf_finish(&odf->note);
    buf_finish(&odf->notes);
    free(odf);
    return status;
}
