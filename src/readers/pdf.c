/* PDF through poppler's programs: text with its layout, a heading for each page, and recognition of pages that are
 * pictures. */
#include <stdio.h>

#include "readers/internal.h"
#include "readers/writer.h"

#define MAX_PICTURE ((size_t)64 << 20)
#define DOTS        "200" /* an inch, of a page that is recognized */
#define SHORT_MS    3000  /* less time than that is kept for the answer: then pictures stay pictures */

/* What pdftotext and pdfinfo say when they fail. */
static enum status failure(const struct program_result *result, struct error *error)
{
    struct str said = buf_str(&result->errors);
    if (str_find_nocase(said, STR("password"), 0) != STR_NONE)
        return error_set(error, STATUS_DENIED, "the PDF is encrypted: save it without a password");
    if (str_find_nocase(said, STR("encryption"), 0) != STR_NONE ||
        str_find_nocase(said, STR("security"), 0) != STR_NONE)
        return error_set(error, STATUS_DENIED,
                         "the PDF is encrypted in a way that cannot be opened: save it without protection");
    return error_set(error, STATUS_SYNTAX,
                     "the PDF is broken: poppler cannot open it; saving it anew from a viewer may help");
}

static enum status run_pdftotext(struct reading *reading, const struct document *document,
                                 struct program_result *result, struct error *error)
{
    static const char *const argv[] = {"pdftotext", "-layout", "-enc", "UTF-8", "fd://3", "-", NULL};
    const struct program_call call = {
        .argv = argv,
        .path = reading->source->programs.pdftotext,
        .input = document,
        .max_output = reading->cap,
        .keep_cut_output = true,
    };
    enum status status = program_run(reading, &call, result, error);
    if (status == STATUS_NOT_FOUND)
        return error_set(error, STATUS_UNSUPPORTED,
                         "reading a PDF needs the program pdftotext (poppler-utils), which is not installed");
    if (status != STATUS_OK)
        return status;
    if (result->exit_code != 0 && !result->output.len) {
        status = failure(result, error);
        program_result_finish(result);
        return status;
    }
    if (result->exit_code != 0)
        reading_note(reading, "The PDF is damaged; what could be read of it is here.");
    return STATUS_OK;
}

/* Title, author, date and the number of pages. A PDF without them is as good. */
static void read_info(struct reading *reading, const struct document *document, struct reader_text *out)
{
    static const char *const argv[] = {"pdfinfo", "-isodates", "-enc", "UTF-8", "fd://3", NULL};
    const struct program_call call = {.argv = argv,
                                      .path = reading->source->programs.pdfinfo,
                                      .input = document,
                                      .max_output = 65536,
                                      .keep_cut_output = true};
    struct program_result result;
    if (program_run(reading, &call, &result, NULL) != STATUS_OK)
        return;
    struct str rest = buf_str(&result.output), line;
    while (str_split_next(&rest, '\n', &line)) {
        size_t colon = str_find_char(line, ':', 0);
        struct str name = str_slice(line, 0, colon), value = {0};
        int64_t pages;
        if (colon != STR_NONE)
            value = str_trim(str_slice(line, colon + 1, line.len));
        if (!value.len)
            continue;
        if (str_equal(name, STR("Title")) && !out->title)
            out->title = str_dup(value);
        else if (str_equal(name, STR("Author")) && !out->author)
            out->author = str_dup(value);
        else if (str_equal(name, STR("CreationDate")) && !out->date)
            out->date = str_dup(value);
        else if (str_equal(name, STR("Pages")) && str_to_int64(value, &pages) && pages > 0 && pages < 10000000)
            out->pages = (int)pages;
    }
    program_result_finish(&result);
}

static size_t count_letters(struct str page)
{
    size_t letters = 0;
    for (size_t i = 0; i < page.len; i++)
        letters += ascii_is_alnum(page.data[i]) || (unsigned char)page.data[i] >= 0xC0;
    return letters;
}

/* A character of U+E000 to U+F8FF, in three bytes. */
static bool is_private_use(struct str text)
{
    if (text.len < 3)
        return false;
    unsigned char first = (unsigned char)text.data[0], second = (unsigned char)text.data[1];
    return first == 0xEE || (first == 0xEF && second < 0xA4);
}

/* Writes a page's lines without the margin they share, runs of blank lines as one, and nothing that passes for a
 * heading. */
static void write_lines(struct writer *writer, struct str page)
{
    struct str rest = page, line;
    size_t margin = SIZE_MAX, blank_lines = 0;
    bool any = false;
    while (str_split_next(&rest, '\n', &line)) {
        size_t blank = line.len - str_trim_start(line).len;
        if (blank < line.len && blank < margin)
            margin = blank;
    }
    while (str_split_next(&page, '\n', &line)) {
        line = str_trim_end(line);
        if (!line.len) {
            blank_lines++;
            continue;
        }
        if (any)
            writer_raw(writer, blank_lines ? STR("\n\n") : STR("\n"));
        blank_lines = 0;
        any = true;
        line = str_slice(line, margin, line.len);
        if (is_private_use(str_trim_start(line))) { /* how fonts of symbols come out: their only use is as bullets */
            struct str rest_of_line = str_trim_start(line);
            writer_raw(writer, str_slice(line, 0, line.len - rest_of_line.len));
            writer_raw(writer, STR("•"));
            line = str_slice(rest_of_line, 3, rest_of_line.len);
        }
        if (line.len == 0)
            continue;
        if (line.data[0] == '#' || str_starts_with(line, STR("```")) || str_starts_with(line, STR("~~~")))
            writer_raw(writer, STR("\\"));
        writer_raw(writer, line);
    }
    writer_break(writer);
}

/* Draws one page and appends the text that is found in it. */
static enum status recognize_page(struct reading *reading, const struct document *document, size_t page,
                                  struct buf *out, struct error *error)
{
    char number[24];
    snprintf(number, sizeof number, "%zu", page);
    const char *const argv[] = {"pdftoppm", "-f", number, "-l", number, "-r", DOTS, "-gray", "-png", "fd://3", NULL};
    const struct program_call call = {
        .argv = argv, .path = reading->source->programs.pdftoppm, .input = document, .max_output = MAX_PICTURE};
    struct program_result result;
    enum status status = program_run(reading, &call, &result, error);
    if (status != STATUS_OK)
        return status;
    if (result.exit_code != 0 || !result.output.len) {
        program_result_finish(&result);
        return STATUS_SYNTAX;
    }
    const struct document picture = {.bytes = buf_str(&result.output), .size = result.output.len};
    status = recognize(reading, &picture, out, error);
    program_result_finish(&result);
    return status;
}

struct pages {
    size_t empty, recognized; /* empty: pages without text of their own that were not recognized */
    size_t first_empty;
    bool no_programs;
};

/* A page without text: recognized where that can be done. */
static enum status write_picture(struct reading *reading, const struct document *document, size_t page,
                                 struct writer *writer, struct pages *pages, struct error *error)
{
    struct buf text;
    enum status status = STATUS_SYNTAX;
    buf_init(&text, reading->cap);
    if (!pages->no_programs && reading->ocr_pages_left > 0) {
        reading->ocr_pages_left--;
        status = recognize_page(reading, document, page, &text, error);
    }
    if (status == STATUS_NOT_FOUND)
        pages->no_programs = true;
    struct str found = str_trim(buf_str(&text));
    if (status == STATUS_OK && found.len) {
        pages->recognized++;
        write_lines(writer, found);
    } else {
        pages->first_empty = pages->empty++ ? pages->first_empty : page;
    }
    buf_finish(&text);
    bool stop = status == STATUS_CANCELED || status == STATUS_TIMEOUT;
    return stop ? status : STATUS_OK;
}

static void note_pages(struct reading *reading, const struct pages *pages, size_t count)
{
    if (pages->recognized)
        reading_note(reading, "The text of %zu of %zu pages was recognized from pictures (OCR) and may hold errors.",
                     pages->recognized, count);
    if (!pages->empty)
        return;
    const char *why = pages->no_programs ? ", and reading those needs pdftoppm and tesseract, which are not installed"
                      : reading->ocr_pages_left <= 0 ? ", and no more of them are recognized in one document"
                                                     : "";
    reading_note(reading, "%zu of %zu pages hold no text (they are empty or pictures%s), the first of them page %zu.",
                 pages->empty, count, why, pages->first_empty);
}

static enum status write_pages(struct reading *reading, const struct document *document, struct str text,
                               struct reader_text *out, struct error *error)
{
    struct writer writer;
    struct pages pages = {0};
    struct str page;
    size_t number = 0, letters = 0;
    enum status status = STATUS_OK;
    writer_init(&writer, &out->markdown);
    while (status == STATUS_OK && !writer.full && str_split_next(&text, '\f', &page)) {
        char title[32];
        snprintf(title, sizeof title, "Page %zu", ++number);
        writer_heading(&writer, 2, str_of(title));
        size_t found = count_letters(page);
        letters += found;
        if (found)
            write_lines(&writer, page);
        if (reading->deadline_ms - reading_now_ms() < SHORT_MS)
            reading->ocr_pages_left = 0;
        if (!found)
            status = write_picture(reading, document, number, &writer, &pages, error);
        if (status == STATUS_TIMEOUT) { /* what there is serves */
            reading_note(reading, "Recognizing the pages' pictures took too long; pages are missing from page %zu on.",
                         number);
            out->truncated = true;
            status = number > 1 ? STATUS_OK : status;
            break;
        }
    }
    note_pages(reading, &pages, number);
    out->pages = out->pages ? out->pages : (int)number;
    out->truncated = out->truncated || writer.full;
    if (status == STATUS_OK && !letters && !pages.recognized)
        return error_set(error, STATUS_UNSUPPORTED, "the PDF holds pictures of text only%s",
                         pages.no_programs
                             ? ", and recognizing it needs pdftoppm and tesseract, which are not installed"
                             : ", in which no text was recognized");
    return status;
}

enum status pdf_read(struct reading *reading, const struct document *document, struct reader_text *out,
                     struct error *error)
{
    struct program_result result;
    enum status status = run_pdftotext(reading, document, &result, error);
    if (status != STATUS_OK)
        return status;
    out->kind = READER_PDF;
    out->truncated = result.cut;
    read_info(reading, document, out);
    status = write_pages(reading, document, buf_str(&result.output), out, error);
    program_result_finish(&result);
    return status;
}
