/* EPUB 2 and 3: the book's chapters in the order of its spine, each through the HTML reader, with headings from the
 * table of contents where a chapter has none of its own. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "readers/office.h"
#include "text/html/html.h"

#define MAX_ITEMS 20000

struct item {
    char *id, *part, *type;
    bool nav;
};

struct chapter_name {
    char *part, *title;
};

struct book {
    const struct package *package;
    struct reader_text *out;
    struct writer writer;
    char *opf, *contents; /* contents: the nav document, or the NCX */
    bool has_nav;
    struct item *items;
    size_t n_items, item_capacity;
    size_t *spine;
    size_t n_spine, spine_capacity;
    struct chapter_name *names;
    size_t n_names, name_capacity;
    struct buf text; /* of the element at hand */
    char *target;    /* of the entry at hand */
    bool in_contents, taking;
    bool encrypted;
    char **field;
};

bool epub_wants(struct str name)
{
    static const char *const endings[] = {".opf", ".ncx", ".xhtml", ".html", ".htm", ".xml", NULL};
    return name_ends(name, endings);
}

static char *unescape(struct str address)
{
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    for (size_t i = 0; i < address.len; i++) {
        int value = -1;
        if (address.data[i] == '%' && i + 2 < address.len) {
            char digits[3] = {address.data[i + 1], address.data[i + 2], 0}, *end;
            value = (int)strtol(digits, &end, 16);
            if (*end || value == 0)
                value = -1;
        }
        buf_add_char(&out, value >= 0 ? (char)value : address.data[i]);
        i += value >= 0 ? 2 : 0;
    }
    return buf_take(&out);
}

/* The part that a link in `from` means. */
static char *resolve(const char *from, struct str address)
{
    address = str_slice(address, 0, str_find_char(address, '#', 0));
    char *plain = unescape(address), *part = package_resolve(str_of(from), str_of(plain));
    free(plain);
    return part;
}

/* ---- META-INF ---- */

static void on_root(void *user, const struct xml_element *element)
{
    struct book *book = user;
    if (xml_is(element, "rootfile") && !book->opf)
        book->opf = package_resolve(STR(""), xml_attribute(element, "full-path"));
}

/* Fonts may be scrambled (that is no encryption of the book); anything else means a lock. */
static void on_encryption(void *user, const struct xml_element *element)
{
    struct book *book = user;
    struct str algorithm = xml_attribute(element, "Algorithm");
    if (xml_is(element, "EncryptionMethod") && str_find(algorithm, STR("obfuscation"), 0) == STR_NONE &&
        str_find(algorithm, STR("RC"), 0) == STR_NONE)
        book->encrypted = true;
}

/* ---- the package document ---- */

static void add_item(struct book *book, const struct xml_element *element)
{
    if (book->n_items >= MAX_ITEMS)
        return;
    struct str properties = xml_attribute(element, "properties"), type = xml_attribute(element, "media-type");
    book->items = mem_grow(book->items, book->n_items, &book->item_capacity, sizeof *book->items);
    struct item *item = &book->items[book->n_items++];
    *item = (struct item){
        .id = str_dup(xml_attribute(element, "id")),
        .part = resolve(book->opf, xml_attribute(element, "href")),
        .type = str_dup(type),
        .nav = str_find(properties, STR("nav"), 0) != STR_NONE,
    };
    if (item->nav || (str_equal(type, STR("application/x-dtbncx+xml")) && !book->has_nav)) {
        free(book->contents);
        book->contents = mem_strdup(item->part);
        book->has_nav = book->has_nav || item->nav;
    }
}

static int compare_items(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    return strcmp(x->id, y->id);
}

static void add_to_spine(struct book *book, struct str id)
{
    if (book->n_spine >= MAX_ITEMS || !book->n_items)
        return;
    if (!book->n_spine) /* the manifest is complete */
        qsort(book->items, book->n_items, sizeof *book->items, compare_items);
    char *wanted = str_dup(id);
    const struct item key = {.id = wanted};
    const struct item *found = bsearch(&key, book->items, book->n_items, sizeof key, compare_items);
    free(wanted);
    if (!found)
        return;
    book->spine = mem_grow(book->spine, book->n_spine, &book->spine_capacity, sizeof *book->spine);
    book->spine[book->n_spine++] = (size_t)(found - book->items);
}

static void on_package(void *user, const struct xml_element *element)
{
    struct book *book = user;
    struct reader_text *out = book->out;
    buf_reset(&book->text);
    if (xml_in(element, "dc/elements/1.1/"))
        book->field = xml_is(element, "title")         ? &out->title
                      : xml_is(element, "creator")     ? &out->author
                      : xml_is(element, "date")        ? &out->date
                      : xml_is(element, "language")    ? &out->language
                      : xml_is(element, "description") ? &out->description
                      : xml_is(element, "publisher")   ? &out->site_name
                                                       : NULL;
    else if (xml_is(element, "item") && !book->n_spine)
        add_item(book, element);
    else if (xml_is(element, "itemref"))
        add_to_spine(book, xml_attribute(element, "idref"));
}

static void on_package_text(void *user, struct str text)
{
    struct book *book = user;
    if (book->field && book->text.len + text.len < 4000)
        buf_add(&book->text, text);
}

static void on_package_end(void *user, const char *name)
{
    (void)name;
    struct book *book = user;
    struct str text = str_trim(buf_str(&book->text));
    if (book->field && !*book->field && text.len) {
        struct buf line;
        buf_init(&line, 4000);
        append_line(&line, text);
        *book->field = buf_take(&line);
        buf_finish(&line);
    }
    book->field = NULL;
}

/* ---- the table of contents: nav's links, or the NCX's points ---- */

static void on_contents(void *user, const struct xml_element *element)
{
    struct book *book = user;
    if (xml_is(element, "nav")) {
        struct str type = xml_attribute(element, "type");
        book->in_contents = !type.len || str_find(type, STR("toc"), 0) != STR_NONE;
    } else if (xml_is(element, "navMap")) {
        book->in_contents = true;
    } else if (book->in_contents && (xml_is(element, "a") || xml_is(element, "text"))) {
        buf_reset(&book->text);
        book->taking = true;
    }
    if (book->in_contents && (xml_is(element, "a") || xml_is(element, "content"))) {
        struct str address = xml_attribute(element, xml_is(element, "a") ? "href" : "src");
        free(book->target);
        book->target = resolve(book->contents, address);
    }
}

static void on_contents_text(void *user, struct str text)
{
    struct book *book = user;
    if (book->taking && book->text.len + text.len < 1000)
        buf_add(&book->text, text);
}

static void on_contents_end(void *user, const char *name)
{
    struct book *book = user;
    if (strcmp(name, "nav") == 0 || strcmp(name, "navMap") == 0)
        book->in_contents = false;
    if (strcmp(name, "text") == 0 || strcmp(name, "a") == 0)
        book->taking = false;
    bool complete = strcmp(name, "a") == 0 || strcmp(name, "content") == 0;
    if (!complete || !book->target || !book->text.len || book->n_names >= MAX_ITEMS)
        return;
    book->names = mem_grow(book->names, book->n_names, &book->name_capacity, sizeof *book->names);
    book->names[book->n_names++] =
        (struct chapter_name){.part = book->target, .title = str_dup(str_trim(buf_str(&book->text)))};
    book->target = NULL;
}

static int compare_chapters(const void *a, const void *b)
{
    const struct chapter_name *x = a, *y = b;
    return strcmp(x->part, y->part);
}

static const char *chapter_title(const struct book *book, const char *part)
{
    char *wanted = mem_strdup(part);
    const struct chapter_name key = {.part = wanted};
    const struct chapter_name *found =
        book->n_names ? bsearch(&key, book->names, book->n_names, sizeof key, compare_chapters) : NULL;
    free(wanted);
    return found ? found->title : NULL;
}

/* ---- chapters ---- */

static enum status write_chapter(struct book *book, const struct item *item, struct error *error)
{
    struct str bytes = package_part(book->package, str_of(item->part));
    struct html_page page;
    struct buf text;
    enum status status = reading_check(book->package->reading, error);
    if (status != STATUS_OK || !bytes.len || (item->nav && book->n_spine > 1))
        return status;
    buf_init(&text, BUF_UNBOUNDED);
    status = decode_text(bytes, (struct str){0}, true, &text);
    const struct html_options options = {.whole_page = true,
                                         .drop_links = true,
                                         .max_input_bytes = BUF_UNBOUNDED,
                                         .max_text_bytes = book->writer.out->cap};
    if (status == STATUS_OK)
        status = html_to_markdown(buf_str(&text), &options, &page, error);
    buf_finish(&text);
    if (status != STATUS_OK)
        return status;
    struct str markdown = str_trim(buf_str(&page.markdown)), line, rest = markdown;
    struct fences fences = {0};
    bool headed = false;
    for (int i = 0; i < 20 && !headed && str_split_next(&rest, '\n', &line); i++)
        headed = fences_heading(&fences, line) > 0;
    const char *title = headed ? NULL : chapter_title(book, item->part);
    struct str first = str_slice(markdown, 0, str_find_char(markdown, '\n', 0));
    if (title && str_equal(str_trim(first), str_of(title))) /* it is there, but not marked as a heading */
        markdown = str_trim_start(str_slice(markdown, first.len, markdown.len));
    if (markdown.len && title)
        writer_heading(&book->writer, 1, str_of(title));
    writer_break(&book->writer);
    if (markdown.len)
        writer_document(&book->writer, markdown, 0);
    writer_break(&book->writer);
    html_page_finish(&page);
    return STATUS_OK;
}

static enum status read_book(struct book *book, struct error *error)
{
    static const struct xml_handler root = {.start = on_root}, encryption = {.start = on_encryption};
    static const struct xml_handler opf = {on_package, on_package_end, on_package_text};
    static const struct xml_handler contents = {on_contents, on_contents_end, on_contents_text};
    const struct package *package = book->package;
    enum status status = package_parse(package, STR("META-INF/container.xml"), &root, book, error);
    if (status == STATUS_OK && !book->opf)
        status = error_set(error, STATUS_SYNTAX, "the book does not say what it consists of");
    if (status == STATUS_OK && package_has(package, STR("META-INF/encryption.xml")))
        status = package_parse(package, STR("META-INF/encryption.xml"), &encryption, book, error);
    if (status == STATUS_OK && book->encrypted)
        status = error_set(error, STATUS_DENIED, "the book is locked by copy protection; a copy without it is needed");
    if (status == STATUS_OK)
        status = package_parse(package, str_of(book->opf), &opf, book, error);
    buf_reset(&book->text);
    if (status == STATUS_OK && book->contents && package_has(package, str_of(book->contents)))
        status = package_parse(package, str_of(book->contents), &contents, book, error);
    if (book->n_names) /* stable enough: the first of a part's entries is its beginning in nearly all books */
        qsort(book->names, book->n_names, sizeof *book->names, compare_chapters);
    for (size_t i = 0; status == STATUS_OK && i < book->n_spine && !book->writer.full; i++)
        status = write_chapter(book, &book->items[book->spine[i]], error);
    return status;
}

enum status epub_read(const struct package *package, struct reader_text *out, struct error *error)
{
    struct book book = {.package = package, .out = out};
    writer_init(&book.writer, &out->markdown);
    buf_init(&book.text, BUF_UNBOUNDED);
    enum status status = read_book(&book, error);
    if (status == STATUS_NOT_FOUND)
        status = error_set(error, STATUS_SYNTAX, "the book is incomplete: parts of it are missing");
    out->truncated = out->truncated || book.writer.full;
    for (size_t i = 0; i < book.n_items; i++) {
        free(book.items[i].id);
        free(book.items[i].part);
        free(book.items[i].type);
    }
    for (size_t i = 0; i < book.n_names; i++) {
        free(book.names[i].part);
        free(book.names[i].title);
    }
    free(book.items);
    free(book.spine);
    free(book.names);
    free(book.opf);
    free(book.contents);
    free(book.target);
    buf_finish(&book.text);
    return status;
}
