/* What a ZIP file is: an office package, a book, or an archive. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "readers/office.h"

/* What a look into the package found. */
struct find {
    enum reader_kind kind;
    char *main;               /* of OPC packages: the part that holds the document */
    bool macros, only_office; /* only_office: a binary form that LibreOffice alone reads */
    bool encrypted;
};

static bool wants_labels(struct str name)
{
    return str_equal(name, STR("mimetype")) || str_equal_ascii_nocase(name, STR("[Content_Types].xml")) ||
           str_equal(name, STR("_rels/.rels")) || str_equal(name, STR("META-INF/manifest.xml"));
}

static enum reader_kind kind_of_mimetype(struct str type)
{
    static const struct {
        const char *part;
        enum reader_kind kind;
    } known[] = {{"opendocument.text", READER_ODT},
                 {"opendocument.spreadsheet", READER_ODS},
                 {"opendocument.presentation", READER_ODP},
                 {"epub+zip", READER_EPUB}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (str_find(type, str_of(known[i].part), 0) != STR_NONE)
            return known[i].kind;
    return READER_ARCHIVE;
}

/* Content types of OPC: the one of the main part says what the document is (ECMA-376 part 1, 11.3.10 and others). */
static void on_content_type(void *user, const struct xml_element *element)
{
    struct find *find = user;
    struct str type = xml_attribute(element, "ContentType"), part = xml_attribute(element, "PartName");
    find->macros = find->macros || str_find(type, STR("vbaProject"), 0) != STR_NONE;
    if (str_starts_with(part, STR("/")))
        part = str_slice(part, 1, part.len);
    bool by_default = xml_is(element, "Default") && str_equal(xml_attribute(element, "Extension"), STR("xml"));
    if (!find->main || !(by_default || str_equal_ascii_nocase(part, str_of(find->main))))
        return;
    find->only_office = find->only_office || str_find(type, STR(".binary."), 0) != STR_NONE;
    find->macros = find->macros || str_find(type, STR("macroEnabled"), 0) != STR_NONE;
    if (str_find(type, STR("wordprocessingml"), 0) != STR_NONE || str_find(type, STR("ms-word"), 0) != STR_NONE)
        find->kind = READER_DOCX;
    else if (str_find(type, STR("presentationml"), 0) != STR_NONE || str_find(type, STR("powerpoint"), 0) != STR_NONE)
        find->kind = READER_PPTX;
    else if (str_find(type, STR("spreadsheetml"), 0) != STR_NONE || str_find(type, STR("ms-excel"), 0) != STR_NONE)
        find->kind = READER_XLSX;
}

static void on_manifest(void *user, const struct xml_element *element)
{
    struct find *find = user;
    find->encrypted = find->encrypted || xml_is(element, "encryption-data");
}

/* Where content types are damaged or odd, the main part's folder tells. */
static enum reader_kind kind_of_main(const char *main)
{
    struct str name = str_of(main);
    if (str_starts_with(name, STR("word/")))
        return READER_DOCX;
    if (str_starts_with(name, STR("ppt/")))
        return READER_PPTX;
    return str_starts_with(name, STR("xl/")) ? READER_XLSX : READER_ARCHIVE;
}

static enum status look_opc(const struct package *package, struct find *find, struct error *error)
{
    static const struct xml_handler types = {.start = on_content_type};
    struct relations relations;
    enum status status = relations_load(package, STR(""), &relations, error);
    if (status != STATUS_OK)
        return status;
    const struct relation *document = relations_by_type(&relations, "officeDocument");
    static const char *const usual[] = {"word/document.xml", "ppt/presentation.xml", "xl/workbook.xml"};
    if (document && package_has(package, str_of(document->target)))
        find->main = mem_strdup(document->target);
    for (size_t i = 0; i < 3 && !find->main; i++)
        if (package_has(package, str_of(usual[i])))
            find->main = mem_strdup(usual[i]);
    relations_finish(&relations);
    if (find->main && package_has(package, STR("[Content_Types].xml")))
        status = package_parse(package, STR("[Content_Types].xml"), &types, find, error);
    if (find->main && find->kind == READER_ARCHIVE)
        find->kind = kind_of_main(find->main);
    return status;
}

static enum status look(const struct package *package, struct find *find, struct error *error)
{
    static const struct xml_handler manifest = {.start = on_manifest};
    *find = (struct find){.kind = kind_of_mimetype(package_part(package, STR("mimetype")))};
    if (find->kind == READER_ARCHIVE && package_has(package, STR("META-INF/container.xml")))
        find->kind = READER_EPUB;
    if (find->kind == READER_ARCHIVE)
        return look_opc(package, find, error);
    find->macros = package_has(package, STR("Basic/script-lc.xml"));
    if (find->kind != READER_EPUB && package_has(package, STR("META-INF/manifest.xml")))
        return package_parse(package, STR("META-INF/manifest.xml"), &manifest, find, error);
    return STATUS_OK;
}

static package_wants_fn wants_of(enum reader_kind kind)
{
    if (kind == READER_DOCX)
        return docx_wants;
    if (kind == READER_PPTX)
        return pptx_wants;
    if (kind == READER_XLSX)
        return xlsx_wants;
    return kind == READER_EPUB ? epub_wants : odf_wants;
}

static enum status read_package(const struct package *package, const struct find *find, struct reader_text *out,
                                struct error *error)
{
    struct str main = str_of(find->main);
    enum status status = STATUS_OK;
    out->kind = find->kind;
    if (find->kind != READER_EPUB)
        status = package_properties(package, find->main ? STR("docProps/core.xml") : STR("meta.xml"), out, error);
    if (status != STATUS_OK)
        return status;
    if (find->kind == READER_DOCX)
        return docx_read(package, main, out, error);
    if (find->kind == READER_PPTX)
        return pptx_read(package, main, out, error);
    if (find->kind == READER_XLSX)
        return xlsx_read(package, main, out, error);
    if (find->kind == READER_ODS)
        return ods_read(package, out, error);
    return find->kind == READER_EPUB ? epub_read(package, out, error) : odf_read(package, out, error);
}

enum status zip_read(struct reading *reading, const struct document *document, struct reader_text *out,
                     struct error *error)
{
    struct package package;
    struct find find = {.kind = READER_ARCHIVE};
    int entries = reading->entries_left;
    enum status status = package_open(reading, document, wants_labels, &package, error);
    if (status == STATUS_OK) {
        status = look(&package, &find, error);
        package_close(&package);
    } else if (status == STATUS_SYNTAX || status == STATUS_TOO_BIG || status == STATUS_DENIED) {
        status = STATUS_OK; /* the archive's reader makes the most of it */
    }
    reading->entries_left = entries;
    if (status == STATUS_OK && find.encrypted) {
        status = error_set(error, STATUS_DENIED, "the document is encrypted: save it without a password");
    } else if (status == STATUS_OK && find.kind == READER_ARCHIVE) {
        status = archive_read_document(reading, document, out, error);
    } else if (status == STATUS_OK && find.only_office) {
        status = soffice_read(reading, document, out, error);
    } else if (status == STATUS_OK) {
        status = package_open(reading, document, wants_of(find.kind), &package, error);
        if (status == STATUS_OK) {
            status = read_package(&package, &find, out, error);
            package_close(&package);
        }
        if (find.macros && status == STATUS_OK)
            reading_note(reading, "The file holds macros, which were not run.");
    }
    free(find.main);
    return status;
}
