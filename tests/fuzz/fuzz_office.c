/* Office files: the first byte says what the rest is (the main part of a DOCX, XLSX, PPTX, ODT, ODS or ODP, a book's
 * chapter, or a file as it is), and how small the caps are. Whatever comes out is valid UTF-8 within its cap, with its
 * table of contents in order. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/utf8.h"
#include "readers/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RELATIONS(target)                                                                                        \
    "<Relationships xmlns='http://schemas.openxmlformats.org/package/2006/relationships'><Relationship Id='r1' " \
    "Type='x/officeDocument' Target='" target "'/></Relationships>"
#define PART_RELATIONS                                                                                             \
    "<Relationships xmlns='http://schemas.openxmlformats.org/package/2006/relationships'><Relationship Id='r1' "   \
    "Type='x/worksheet' Target='part.xml'/><Relationship Id='r2' Type='x/slide' Target='part.xml'/><Relationship " \
    "Id='r3' Type='x/footnotes' Target='part.xml'/><Relationship Id='r4' Type='x/styles' Target='part.xml'/>"      \
    "<Relationship Id='r5' Type='x/numbering' Target='part.xml'/><Relationship Id='r6' Type='x/sharedStrings' "    \
    "Target='part.xml'/></Relationships>"

struct form {
    const char *labels[4][2]; /* parts that are always the same: name, contents */
    const char *main;         /* the part that is fuzzed */
};

static const struct form forms[] = {
    {{{"_rels/.rels", RELATIONS("word/document.xml")}, {"word/_rels/document.xml.rels", PART_RELATIONS}},
     "word/document.xml"},
    {{{"_rels/.rels", RELATIONS("word/document.xml")},
      {"word/_rels/document.xml.rels", PART_RELATIONS},
      {"word/document.xml",
       "<w:document xmlns:w='x/wordprocessingml/main'><w:p><w:pPr><w:pStyle w:val='a'/></w:pPr><w:r>"
       "<w:t>x</w:t><w:footnoteReference w:id='1'/></w:r></w:p></w:document>"}},
     "word/part.xml"},
    {{{"_rels/.rels", RELATIONS("xl/workbook.xml")},
      {"xl/_rels/workbook.xml.rels", PART_RELATIONS},
      {"xl/workbook.xml", "<workbook xmlns:r='x/relationships'><sheet name='s' r:id='r1'/></workbook>"}},
     "xl/part.xml"},
    {{{"_rels/.rels", RELATIONS("ppt/presentation.xml")},
      {"ppt/_rels/presentation.xml.rels", PART_RELATIONS},
      {"ppt/presentation.xml", "<p xmlns:r='x/relationships'><sldId r:id='r2'/></p>"}},
     "ppt/part.xml"},
    {{{"mimetype", "application/vnd.oasis.opendocument.text"}}, "content.xml"},
    {{{"mimetype", "application/vnd.oasis.opendocument.spreadsheet"}}, "content.xml"},
    {{{"mimetype", "application/vnd.oasis.opendocument.presentation"}}, "content.xml"},
    {{{"mimetype", "application/epub+zip"},
      {"META-INF/container.xml", "<container><rootfile full-path='b.opf'/></container>"}},
     "b.opf"},
};

#define N_FORMS (sizeof forms / sizeof forms[0])

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void add_number(struct buf *out, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        buf_add_char(out, (char)(value >> (8 * i)));
}

/* The fields that a local header and the directory's entry have in common. */
static void add_fields(struct buf *out, const char *name, struct str bytes)
{
    uint32_t sum = (uint32_t)crc32(0, (const Bytef *)bytes.data, (uInt)bytes.len);
    add_number(out, 20, 2);
    add_number(out, 0, 2); /* flags */
    add_number(out, 0, 2); /* stored */
    add_number(out, 0, 4); /* time */
    add_number(out, sum, 4);
    add_number(out, (uint32_t)bytes.len, 4);
    add_number(out, (uint32_t)bytes.len, 4);
    add_number(out, (uint32_t)strlen(name), 2);
    add_number(out, 0, 2);
}

struct zip {
    struct buf file, directory;
    uint32_t count;
};

static void add_part(struct zip *zip, const char *name, struct str bytes)
{
    uint32_t place = (uint32_t)zip->file.len;
    add_number(&zip->file, 0x04034b50, 4);
    add_fields(&zip->file, name, bytes);
    buf_add_text(&zip->file, name);
    buf_add(&zip->file, bytes);
    add_number(&zip->directory, 0x02014b50, 4);
    add_number(&zip->directory, 20, 2);
    add_fields(&zip->directory, name, bytes);
    add_number(&zip->directory, 0, 2);
    add_number(&zip->directory, 0, 2);
    add_number(&zip->directory, 0, 2);
    add_number(&zip->directory, 0, 4);
    add_number(&zip->directory, place, 4);
    buf_add_text(&zip->directory, name);
    zip->count++;
}

static void make_zip(const struct form *form, struct str bytes, struct zip *zip)
{
    buf_init(&zip->file, BUF_UNBOUNDED);
    buf_init(&zip->directory, BUF_UNBOUNDED);
    zip->count = 0;
    for (size_t i = 0; i < 4 && form->labels[i][0]; i++)
        add_part(zip, form->labels[i][0], str_of(form->labels[i][1]));
    add_part(zip, form->main, bytes);
    uint32_t place = (uint32_t)zip->file.len;
    buf_add(&zip->file, buf_str(&zip->directory));
    add_number(&zip->file, 0x06054b50, 4);
    add_number(&zip->file, 0, 4);
    add_number(&zip->file, zip->count, 2);
    add_number(&zip->file, zip->count, 2);
    add_number(&zip->file, (uint32_t)zip->directory.len, 4);
    add_number(&zip->file, place, 4);
    add_number(&zip->file, 0, 2);
    buf_finish(&zip->directory);
}

static void read_bytes(struct str bytes, size_t cap)
{
    const struct reader_source source = {
        .bytes = bytes,
        .confined = true,
        .max_bytes = cap,
        .max_unpacked = 64 << 20,
        .programs = {"", "", "", "", "", ""},
    };
    struct reader_text text;
    struct error error = {0};
    size_t last = 0;
    if (reader_read(&source, &text, &error) != STATUS_OK) {
        check(error.message[0] != '\0');
        return;
    }
    check(text.title && text.markdown.len <= cap && utf8_is_valid(buf_str(&text.markdown)));
    for (size_t i = 0; i < text.n_sections; i++) {
        check(text.sections[i].offset >= last && text.markdown.data[text.sections[i].offset] == '#');
        last = text.sections[i].offset;
    }
    reader_text_finish(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct str bytes = {(const char *)data + 1, size - 1};
    size_t form = (data[0] & 0x7f) % (N_FORMS + 1), cap = data[0] & 0x80 ? 300 : (size_t)1 << 20;
    if (form == N_FORMS) {
        read_bytes(bytes, cap);
        return 0;
    }
    struct zip zip;
    make_zip(&forms[form], bytes, &zip);
    read_bytes(buf_str(&zip.file), cap);
    buf_finish(&zip.file);
    return 0;
}
