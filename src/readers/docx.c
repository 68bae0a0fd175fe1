/* DOCX and DOCM (ECMA-376 part 1, 17): the document's part in one pass, then the notes it refers to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/utf8.h"
#include "readers/docx_parts.h"
#include "readers/office_table.h"

#define MAX_FRAMES     16 /* paragraphs and tables inside one another; what is deeper joins the innermost */
#define MAX_FIELDS     16
#define MAX_MATH       24
#define MAX_NOTES      5000
#define MAX_COLUMNS    64 /* whose vertical merges are followed */
#define MAX_NOTE_BYTES 65536

struct paragraph {
    struct span span;
    const struct docx_style *style;
    int64_t number; /* list; -1: the style's, 0: none */
    int level, outline;
    bool contents;
};

struct table {
    struct office_table cells;
    uint32_t width;         /* of the cell at hand, in columns */
    bool starts, continues; /* the cell at hand is the first of several in its column, or goes on from the one above */
    size_t open[MAX_COLUMNS]; /* 1 + index of the merge that a column is in */
};

struct field {
    bool in_code; /* before its separator */
    bool is_link;
    struct buf code;
};

enum note_kind { NOTE_FOOT, NOTE_END, NOTE_COMMENT };

struct note {
    enum note_kind kind;
    int64_t id;
};

struct docx {
    const struct package *package;
    struct reader_text *out;
    struct writer writer;
    struct docx_lists lists;
    struct relations relations;

    struct paragraph paragraphs[MAX_FRAMES];
    struct table tables[MAX_FRAMES];
    size_t n_paragraphs, n_tables;
    char order[2 * MAX_FRAMES]; /* 'p', 't', 'b' (text box): what lies in what */
    size_t n_order, lost;       /* lost: frames too deep to be kept */

    size_t skip;          /* depth inside an element that is left out */
    bool in_run, in_text; /* inside w:r; inside a text element */
    bool in_properties;   /* inside w:pPr */
    bool hidden;
    unsigned marks;
    struct field fields[MAX_FIELDS];
    size_t n_fields, lost_fields;
    size_t math_at[MAX_MATH];
    size_t n_math, lost_math;

    struct note *notes; /* in the order of their references */
    size_t n_notes, note_capacity;
    bool in_note;
    struct buf note_text;
    bool deleted; /* something was left out as deleted */
};

bool docx_wants(struct str name)
{
    if (str_ends_with(name, STR(".rels")) || str_starts_with_nocase(name, STR("docProps/")))
        return true;
    return str_ends_with(name, STR(".xml")) && str_find_nocase(name, STR("word/"), 0) == 0 &&
           str_find_nocase(name, STR("word/document"), 0) == STR_NONE &&
           str_find_nocase(name, STR("word/media"), 0) == STR_NONE;
}

bool office_is_off(struct str value)
{
    return str_equal(value, STR("0")) || str_equal(value, STR("false")) || str_equal(value, STR("off")) ||
           str_equal(value, STR("none"));
}

/* ---- where text goes ---- */

static struct paragraph *paragraph_of(struct docx *docx)
{
    return docx->n_paragraphs ? &docx->paragraphs[docx->n_paragraphs - 1] : NULL;
}

/* The table whose cell text goes into; NULL outside of tables. */
static struct table *table_of(struct docx *docx)
{
    return docx->n_tables ? &docx->tables[docx->n_tables - 1] : NULL;
}

static void emit_note_text(struct docx *docx, struct str text)
{
    if (docx->note_text.len && docx->note_text.len + text.len < docx->note_text.cap - 1)
        if (buf_append_char(&docx->note_text, ' ') != STATUS_OK)
            return;
    append_line(&docx->note_text, text);
}

/* The list and level of a paragraph; 0 for none. */
static int64_t list_of(const struct paragraph *paragraph, int *level)
{
    const struct docx_style *style = paragraph->style;
    *level = paragraph->level >= 0 ? paragraph->level : style && style->level >= 0 ? style->level : 0;
    if (paragraph->number >= 0)
        return paragraph->number;
    return style && style->number > 0 ? style->number : 0;
}

static int heading_of(const struct paragraph *paragraph)
{
    if (paragraph->outline >= 0)
        return paragraph->outline + 1;
    return paragraph->style && paragraph->style->heading >= 0 ? paragraph->style->heading : -1;
}

static void emit_heading(struct docx *docx, int heading, struct str mark, struct str text)
{
    struct buf line;
    buf_init(&line, BUF_UNBOUNDED);
    if (mark.len && !str_equal(mark, STR("-"))) {
        buf_add(&line, mark);
        buf_add_char(&line, ' ');
    }
    buf_add(&line, text);
    if (heading == 0 && !docx->out->title)
        docx->out->title = str_dup(str_slice(text, 0, utf8_floor(text, 300)));
    writer_heading(&docx->writer, heading ? heading : 1, buf_str(&line));
    buf_finish(&line);
}

static void emit(struct docx *docx, struct paragraph *paragraph)
{
    int level, heading = heading_of(paragraph);
    int64_t list = list_of(paragraph, &level);
    struct str text = str_trim(span_end(&paragraph->span));
    if (!text.len || paragraph->contents || (paragraph->style && paragraph->style->contents))
        return;
    struct buf mark;
    buf_init(&mark, BUF_UNBOUNDED);
    bool in_list = list > 0 && docx_count(&docx->lists, list, level, &mark);
    if (docx->in_note) {
        emit_note_text(docx, text);
    } else if (table_of(docx)) {
        if (mark.len)
            buf_add_char(&mark, ' ');
        office_table_text(&table_of(docx)->cells, buf_str(&mark), text);
    } else if (heading >= 0) {
        emit_heading(docx, heading, buf_str(&mark), text);
    } else if (in_list && mark.len) {
        writer_item(&docx->writer, level, buf_str(&mark), text);
    } else {
        writer_paragraph(&docx->writer, text);
    }
    buf_finish(&mark);
}

/* ---- paragraphs and tables ---- */

static bool push(struct docx *docx, char what)
{
    size_t count = what == 'p' ? docx->n_paragraphs : what == 't' ? docx->n_tables : 0;
    if (docx->lost || docx->n_order >= sizeof docx->order || count >= MAX_FRAMES) {
        docx->lost++;
        return false;
    }
    docx->order[docx->n_order++] = what;
    return true;
}

static bool pop(struct docx *docx, char what)
{
    if (docx->lost) {
        docx->lost--;
        return false;
    }
    if (!docx->n_order || docx->order[docx->n_order - 1] != what)
        return false;
    docx->n_order--;
    return true;
}

static void begin_paragraph(struct docx *docx)
{
    if (!push(docx, 'p'))
        return;
    struct paragraph *paragraph = &docx->paragraphs[docx->n_paragraphs++];
    *paragraph = (struct paragraph){.number = -1, .level = -1, .outline = -1};
    span_init(&paragraph->span, docx->writer.out->cap);
}

static void end_paragraph(struct docx *docx)
{
    if (!pop(docx, 'p'))
        return;
    struct paragraph *paragraph = &docx->paragraphs[--docx->n_paragraphs];
    emit(docx, paragraph);
    span_finish(&paragraph->span);
}

static void begin_table(struct docx *docx)
{
    if (!push(docx, 't'))
        return;
    struct table *table = &docx->tables[docx->n_tables++];
    *table = (struct table){.width = 1};
    office_table_init(&table->cells, docx->writer.out->cap);
}

static void end_table(struct docx *docx)
{
    if (!pop(docx, 't'))
        return;
    struct office_table *cells = &docx->tables[--docx->n_tables].cells;
    struct table *outer = table_of(docx);
    if (docx->in_note)
        emit_note_text(docx, buf_str(&cells->grid.text));
    else
        office_table_write(cells, outer ? &outer->cells : NULL, &docx->writer);
    office_table_finish(cells);
}

static void end_cell(struct docx *docx)
{
    struct table *table = table_of(docx);
    if (!table || docx->lost || docx->order[docx->n_order - 1] != 't')
        return;
    struct office_table *cells = &table->cells;
    size_t unused = 0, *open = cells->column < MAX_COLUMNS ? &table->open[cells->column] : &unused;
    bool continues = table->continues && *open;
    if (continues)
        cells->merges[*open - 1].last_row = cells->row;
    /* one that begins here gets its height when the cells below go on with it */
    size_t merge = office_table_cell(cells, table->width, table->starts ? 2 : 1, table->width);
    if (table->starts && merge) {
        cells->merges[merge - 1].last_row = cells->row;
        *open = merge;
    } else if (!continues) {
        *open = 0;
    }
    table->width = 1;
    table->continues = table->starts = false;
}

static void on_table_part(struct docx *docx, const struct xml_element *element)
{
    struct table *table = table_of(docx);
    if (!table || docx->lost)
        return;
    if (xml_is(element, "tr")) {
        office_table_row(&table->cells);
    } else if (xml_is(element, "gridSpan") || xml_is(element, "gridBefore")) {
        int64_t width = xml_integer(element, "val", 1);
        width = width < 0 ? 0 : width > 1000 ? 1000 : width;
        if (xml_is(element, "gridBefore"))
            table->cells.column += (uint32_t)width;
        else if (width)
            table->width = (uint32_t)width;
        if (table->cells.column > OFFICE_MAX_COLUMNS)
            table->cells.column = OFFICE_MAX_COLUMNS;
    } else if (xml_is(element, "vMerge")) {
        table->starts = str_equal(xml_attribute(element, "val"), STR("restart"));
        table->continues = !table->starts;
    }
}

/* ---- fields: HYPERLINK and others that hold a code and a result ---- */

static struct field *field_of(struct docx *docx)
{
    return docx->n_fields && !docx->lost_fields ? &docx->fields[docx->n_fields - 1] : NULL;
}

/* The address of ` HYPERLINK "address" \o "tip" `; empty for other codes. */
static struct str link_of_code(struct str code)
{
    code = str_trim(code);
    if (!str_starts_with_nocase(code, STR("HYPERLINK")))
        return (struct str){0};
    size_t from = str_find_char(code, '"', 0), to = str_find_char(code, '"', from + 1);
    if (from == STR_NONE || to == STR_NONE || str_find(str_slice(code, 0, from), STR("\\l"), 0) != STR_NONE)
        return (struct str){0};
    return str_slice(code, from + 1, to);
}

static void begin_link(struct docx *docx, struct str address)
{
    if (paragraph_of(docx) && !docx->package->reading->source->drop_links)
        span_link_begin(&paragraph_of(docx)->span, address);
}

static void on_field(struct docx *docx, struct str type)
{
    if (str_equal(type, STR("begin"))) {
        if (docx->n_fields == MAX_FIELDS) {
            docx->lost_fields++;
            return;
        }
        struct field *field = &docx->fields[docx->n_fields++];
        *field = (struct field){.in_code = true};
        buf_init(&field->code, 4096);
    } else if (str_equal(type, STR("separate")) && field_of(docx)) {
        struct field *field = field_of(docx);
        struct str link = link_of_code(buf_str(&field->code));
        field->in_code = false;
        field->is_link = link.len > 0;
        begin_link(docx, link);
    } else if (str_equal(type, STR("end"))) {
        if (docx->lost_fields) {
            docx->lost_fields--;
        } else if (docx->n_fields) {
            struct field *field = &docx->fields[--docx->n_fields];
            if (field->is_link && paragraph_of(docx))
                span_link_end(&paragraph_of(docx)->span);
            buf_finish(&field->code);
        }
    }
}

/* ---- text ---- */

static void add_text(struct docx *docx, struct str text)
{
    struct paragraph *paragraph = paragraph_of(docx);
    if (!paragraph || docx->hidden || (field_of(docx) && field_of(docx)->in_code))
        return;
    bool heading = heading_of(paragraph) >= 0;
    span_text(&paragraph->span, text, heading ? 0 : docx->marks);
}

/* A note's mark where it is referred to; the note itself is written at the end. */
static void on_reference(struct docx *docx, enum note_kind kind, const struct xml_element *element)
{
    if (docx->in_note || docx->n_notes >= MAX_NOTES || !paragraph_of(docx))
        return;
    docx->notes = mem_grow(docx->notes, docx->n_notes, &docx->note_capacity, sizeof *docx->notes);
    docx->notes[docx->n_notes++] = (struct note){kind, xml_integer(element, "id", -1)};
    char mark[32];
    snprintf(mark, sizeof mark, "[^%zu]", docx->n_notes);
    add_text(docx, str_of(mark));
}

/* A character of a symbol font. Most of what Word keeps in the private area are bullets and arrows. */
static void on_symbol(struct docx *docx, struct str code)
{
    uint32_t value = 0;
    for (size_t i = 0; i < code.len && i < 6; i++) {
        char c = ascii_lower(code.data[i]);
        value = value * 16 + (uint32_t)(ascii_is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 0);
    }
    char bytes[4];
    bool private_use = value >= 0xE000 && value <= 0xF8FF;
    if (value < 32 || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF) || private_use)
        value = 0x2022;
    add_text(docx, str_make(bytes, utf8_encode(value, bytes)));
}

static void set_mark(struct docx *docx, unsigned mark, const struct xml_element *element)
{
    if (office_is_off(xml_attribute(element, "val")))
        docx->marks &= ~mark;
    else
        docx->marks |= mark;
}

/* Properties of a run, or of a paragraph. */
static void on_property(struct docx *docx, const struct xml_element *element)
{
    struct paragraph *paragraph = paragraph_of(docx);
    if (docx->in_properties && paragraph) {
        if (xml_is(element, "pStyle"))
            paragraph->style = docx_style(&docx->lists, xml_attribute(element, "val"));
        else if (xml_is(element, "numId"))
            paragraph->number = xml_integer(element, "val", 0);
        else if (xml_is(element, "ilvl"))
            paragraph->level = (int)(xml_integer(element, "val", 0) & 15);
        else if (xml_is(element, "outlineLvl") && xml_integer(element, "val", 9) < 9)
            paragraph->outline = (int)(xml_integer(element, "val", 0) & 15);
    } else if (docx->in_run) {
        if (xml_is(element, "b"))
            set_mark(docx, SPAN_BOLD, element);
        else if (xml_is(element, "i"))
            set_mark(docx, SPAN_ITALIC, element);
        else if (xml_is(element, "strike") || xml_is(element, "dstrike"))
            set_mark(docx, SPAN_STRIKE, element);
        else if (xml_is(element, "vanish"))
            docx->hidden = !office_is_off(xml_attribute(element, "val"));
    }
}

/* What stands for characters, and pictures' descriptions. */
static void on_inline(struct docx *docx, const struct xml_element *element)
{
    if (xml_is(element, "tab") && docx->in_run)
        add_text(docx, STR("\t"));
    else if (xml_is(element, "br") || xml_is(element, "cr"))
        add_text(docx, STR("\n"));
    else if (xml_is(element, "noBreakHyphen"))
        add_text(docx, STR("-"));
    else if (xml_is(element, "sym"))
        on_symbol(docx, xml_attribute(element, "char"));
    else if (xml_is(element, "checked") && xml_in(element, "/wordml"))
        add_text(docx, office_is_off(xml_attribute(element, "val")) ? STR("[ ] ") : STR("[x] "));
    else if (xml_is(element, "footnoteReference"))
        on_reference(docx, NOTE_FOOT, element);
    else if (xml_is(element, "endnoteReference"))
        on_reference(docx, NOTE_END, element);
    else if (xml_is(element, "commentReference"))
        on_reference(docx, NOTE_COMMENT, element);
    else if (xml_is(element, "chr") && xml_in(element, "/math"))
        add_text(docx, xml_attribute(element, "val"));
    else if (xml_is(element, "docPr") && xml_attribute(element, "descr").len) {
        add_text(docx, STR("[image: "));
        add_text(docx, xml_attribute(element, "descr"));
        add_text(docx, STR("]"));
    }
}

static void begin_math(struct docx *docx, const char *name)
{
    struct paragraph *paragraph = paragraph_of(docx);
    size_t start;
    if (!paragraph)
        return;
    if (docx->n_math == MAX_MATH)
        docx->lost_math++;
    else if (span_math_begin(&paragraph->span, name, &start))
        docx->math_at[docx->n_math++] = start;
}

static bool is_math(const char *name)
{
    static const char *const names[] = {"num", "den", "sup", "sub", "rad", "d"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void end_math(struct docx *docx, const char *name)
{
    if (!is_math(name) || !paragraph_of(docx))
        return;
    if (docx->lost_math)
        docx->lost_math--;
    else if (docx->n_math)
        span_math_end(&paragraph_of(docx)->span, name, docx->math_at[--docx->n_math]);
}

/* ---- the parser's events ---- */

/* What was deleted, is a second form of something, or was true before a change. */
static bool is_left_out(const struct xml_element *element)
{
    static const char *const names[] = {"del",         "moveFrom",      "Fallback",       "pPrChange", "rPrChange",
                                        "tblPrChange", "tcPrChange",    "trPrChange",     "rt",        "deg",
                                        "sectPr",      "tblGridChange", "numberingChange"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (xml_is(element, names[i]))
            return true;
    return false;
}

static void on_start(void *user, const struct xml_element *element)
{
    struct docx *docx = user;
    if (docx->skip || is_left_out(element)) {
        docx->deleted = docx->deleted || xml_is(element, "del");
        docx->skip++;
        return;
    }
    bool math = xml_in(element, "/math");
    if (math)
        begin_math(docx, element->name);
    if (xml_is(element, "p") && !math) {
        begin_paragraph(docx);
    } else if (xml_is(element, "r")) {
        docx->in_run = true;
        docx->hidden = false;
        docx->marks = 0;
    } else if (xml_is(element, "t")) {
        docx->in_text = true;
    } else if (xml_is(element, "pPr")) {
        docx->in_properties = true;
    } else if (xml_is(element, "tbl")) {
        begin_table(docx);
    } else if (xml_is(element, "txbxContent")) {
        push(docx, 'b');
    } else if (xml_is(element, "hyperlink")) {
        const struct relation *relation =
            relations_by_id(&docx->relations, xml_attribute_of(element, "/relationships", "id"));
        if (relation && relation->external)
            begin_link(docx, str_of(relation->target));
    } else if (xml_is(element, "fldSimple")) {
        begin_link(docx, link_of_code(xml_attribute(element, "instr")));
    } else if (xml_is(element, "fldChar")) {
        on_field(docx, xml_attribute(element, "fldCharType"));
    } else {
        on_table_part(docx, element);
        on_property(docx, element);
        on_inline(docx, element);
    }
}

static void on_end(void *user, const char *name)
{
    struct docx *docx = user;
    if (docx->skip) {
        docx->skip--;
        return;
    }
    end_math(docx, name);
    if (strcmp(name, "p") == 0)
        end_paragraph(docx);
    else if (strcmp(name, "r") == 0)
        docx->in_run = docx->hidden = false;
    else if (strcmp(name, "t") == 0)
        docx->in_text = false;
    else if (strcmp(name, "pPr") == 0)
        docx->in_properties = false;
    else if (strcmp(name, "tbl") == 0)
        end_table(docx);
    else if (strcmp(name, "tc") == 0)
        end_cell(docx);
    else if (strcmp(name, "txbxContent") == 0)
        pop(docx, 'b');
    else if ((strcmp(name, "hyperlink") == 0 || strcmp(name, "fldSimple") == 0) && paragraph_of(docx))
        span_link_end(&paragraph_of(docx)->span);
}

static void on_text(void *user, struct str text)
{
    struct docx *docx = user;
    if (docx->skip)
        return;
    struct field *field = field_of(docx);
    if (docx->in_text)
        add_text(docx, text);
    else if (field && field->in_code && docx->in_run && buf_append_str(&field->code, text) != STATUS_OK)
        return; /* no code is that long */
}

/* Ends what a document that was cut off left open. */
static void unwind(struct docx *docx)
{
    docx->lost = 0;
    while (docx->n_order) {
        char what = docx->order[docx->n_order - 1];
        if (what == 'p')
            end_paragraph(docx);
        else if (what == 't')
            end_table(docx);
        else
            docx->n_order--;
    }
    while (docx->n_fields)
        buf_finish(&docx->fields[--docx->n_fields].code);
    docx->skip = docx->lost_fields = docx->n_math = docx->lost_math = 0;
    docx->in_text = docx->in_run = docx->in_properties = false;
}

/* ---- notes ---- */

struct notes {
    struct docx *docx;
    enum note_kind kind;
    int64_t id;
    bool open;
};

/* The number of the note's mark in the text; 0 when nothing refers to it. */
static size_t note_number(const struct docx *docx, enum note_kind kind, int64_t id)
{
    for (size_t i = 0; i < docx->n_notes; i++)
        if (docx->notes[i].kind == kind && docx->notes[i].id == id)
            return i + 1;
    return 0;
}

static const char *note_element(enum note_kind kind)
{
    return kind == NOTE_FOOT ? "footnote" : kind == NOTE_END ? "endnote" : "comment";
}

static void on_note_start(void *user, const struct xml_element *element)
{
    struct notes *notes = user;
    if (!notes->open && xml_is(element, note_element(notes->kind))) {
        notes->open = true;
        notes->id = xml_integer(element, "id", -1);
        buf_reset(&notes->docx->note_text);
        struct str author = xml_attribute(element, "author");
        if (notes->kind == NOTE_COMMENT && author.len) {
            append_line(&notes->docx->note_text, STR("Comment by"));
            emit_note_text(notes->docx, author);
            emit_note_text(notes->docx, STR("–"));
        }
    } else if (notes->open) {
        on_start(notes->docx, element);
    }
}

static void on_note_end(void *user, const char *name)
{
    struct notes *notes = user;
    struct docx *docx = notes->docx;
    if (!notes->open || strcmp(name, note_element(notes->kind)) != 0) {
        if (notes->open)
            on_end(docx, name);
        return;
    }
    notes->open = false;
    unwind(docx);
    size_t number = note_number(docx, notes->kind, notes->id);
    if (!number || !docx->note_text.len)
        return;
    writer_line(&docx->writer);
    writer_rawf(&docx->writer, "[^%zu]: ", number);
    writer_raw(&docx->writer, buf_str(&docx->note_text));
    writer_line(&docx->writer);
}

static void on_note_text(void *user, struct str text)
{
    struct notes *notes = user;
    if (notes->open)
        on_text(notes->docx, text);
}

static enum status write_notes(struct docx *docx, struct error *error)
{
    static const char *const types[] = {"footnotes", "endnotes", "comments"};
    static const struct xml_handler handler = {on_note_start, on_note_end, on_note_text};
    struct relations of_document = docx->relations;
    enum status status = STATUS_OK;
    buf_init(&docx->note_text, MAX_NOTE_BYTES);
    docx->in_note = true;
    writer_break(&docx->writer);
    for (size_t i = 0; i < 3 && status == STATUS_OK && docx->n_notes; i++) {
        const struct relation *relation = relations_by_type(&of_document, types[i]);
        struct str part = relation ? str_of(relation->target) : (struct str){0};
        if (!part.len || !package_has(docx->package, part))
            continue;
        status = relations_load(docx->package, part, &docx->relations, error);
        if (status != STATUS_OK)
            break;
        struct notes notes = {.docx = docx, .kind = (enum note_kind)i};
        status = package_parse(docx->package, part, &handler, &notes, error);
        unwind(docx);
        relations_finish(&docx->relations);
    }
    docx->relations = of_document;
    return status;
}

static struct str target_of(const struct docx *docx, const char *type)
{
    const struct relation *relation = relations_by_type(&docx->relations, type);
    return relation ? str_of(relation->target) : (struct str){0};
}

enum status docx_read(const struct package *package, struct str main, struct reader_text *out, struct error *error)
{
    static const struct xml_handler handler = {on_start, on_end, on_text};
    struct docx *docx = mem_zalloc(sizeof *docx);
    docx->package = package;
    docx->out = out;
    writer_init(&docx->writer, &out->markdown);
    enum status status = relations_load(package, main, &docx->relations, error);
    if (status == STATUS_OK)
        status = docx_lists_load(package, target_of(docx, "styles"), target_of(docx, "numbering"), &docx->lists, error);
    if (status == STATUS_OK)
        status = package_parse(package, main, &handler, docx, error);
    unwind(docx);
    if (status == STATUS_OK)
        status = write_notes(docx, error);
    if (docx->deleted && status == STATUS_OK)
        reading_note(package->reading, "Deletions that were tracked in the document are left out.");
    out->truncated = out->truncated || docx->writer.full;
    buf_finish(&docx->note_text);
    free(docx->notes);
    docx_lists_finish(&docx->lists);
    relations_finish(&docx->relations);
    free(docx);
    return status;
}
