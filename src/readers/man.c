/* Manual pages through mandoc, which knows both macro languages, and then through the HTML reader. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/utf8.h"
#include "readers/internal.h"
#include "text/html/html.h"
#include "text/markdown.h"

#define MAX_INCLUDE_PAGE 4096 /* bytes; pages that only include another are short */

bool man_is_likely(struct str text)
{
    struct str line;
    text = str_slice(text, 0, 65536);
    while (str_split_next(&text, '\n', &line)) {
        line = str_trim_end(line);
        if (str_starts_with(line, STR(".TH ")) || str_starts_with(line, STR(".Dd")) || str_equal(line, STR(".TH")) ||
            str_starts_with(line, STR(".so ")))
            return true;
        /* comments, preprocessor hints and definitions may come first, text not */
        if (line.len && line.data[0] != '.' && line.data[0] != '\'')
            return false;
        if (str_starts_with(line, STR(".SH")) || str_starts_with(line, STR(".Sh")))
            return false;
    }
    return false;
}

/* The page without its .so requests, for when there is no folder that they could mean. */
static void drop_includes(struct str text, struct buf *out)
{
    struct str line;
    while (str_split_next(&text, '\n', &line)) {
        if (str_starts_with(line, STR(".so")) || str_starts_with(line, STR("'so")))
            continue;
        buf_add(out, line);
        buf_add_char(out, '\n');
    }
}

static enum status run_mandoc(struct reading *reading, struct str text, size_t max_bytes, struct buf *html,
                              struct error *error)
{
    static const char *const argv[] = {"mandoc", "-T", "html", "-O", "fragment", "-K", "utf-8", NULL};
    const struct program_call call = {
        .argv = argv,
        .path = reading->source->programs.mandoc,
        .directory = reading->source->man_root,
        .text = text,
        .max_output = 4 * max_bytes, /* markup included */
    };
    struct program_result result;
    enum status status = program_run(reading, &call, &result, error);
    if (status == STATUS_NOT_FOUND)
        return error_set(error, STATUS_UNSUPPORTED,
                         "reading a manual page needs the program mandoc, which is not installed");
    if (status != STATUS_OK)
        return status;
    *html = result.output;
    result.output = (struct buf){0};
    program_result_finish(&result);
    return STATUS_OK;
}

/* "open.2.gz" -> "open(2)" */
static char *page_name(struct str path)
{
    struct str name = base_name(path);
    size_t dot = str_rfind_char(name, '.');
    if (!reader_is_man_name(name) || dot == STR_NONE)
        return str_dup(name);
    return mem_printf("%.*s(%.*s)", STR_ARG(str_slice(name, 0, dot)), STR_ARG(str_slice(name, dot + 1, name.len)));
}

/* What the NAME section says behind its dash, on one line; empty when there is none. */
static void find_purpose(struct str markdown, struct buf *out)
{
    static const char *const dashes[] = {" - ", " – ", " — ", " \\- "};
    struct buf section;
    buf_init(&section, 1000);
    struct str line, text = str_slice(markdown, 0, 16384);
    bool in_name = false;
    while (str_split_next(&text, '\n', &line)) {
        bool heading = line.len && line.data[0] == '#';
        if (in_name && heading)
            break;
        if (in_name && markdown_to_line(line, &section) == STATUS_OK && section.len)
            break;
        in_name = in_name || heading; /* NAME, NOM, 名前: the first section in every language */
    }
    struct str name = buf_str(&section);
    for (size_t i = 0; i < sizeof dashes / sizeof dashes[0]; i++) {
        size_t at = str_find(name, str_of(dashes[i]), 0);
        if (at == STR_NONE)
            continue;
        struct str purpose = str_trim(str_slice(name, at + strlen(dashes[i]), name.len));
        buf_add(out, str_slice(purpose, 0, utf8_floor(purpose, 200)));
        break;
    }
    buf_finish(&section);
}

/* The page without its running header and footer, which are tables to mandoc. */
static struct str without_running_lines(struct str html)
{
    const struct str head = STR("<table class=\"head\">"), foot = STR("<table class=\"foot\">");
    size_t end = str_find(html, STR("</table>"), 0), last = STR_NONE;
    if (str_starts_with(html, head) && end != STR_NONE)
        html = str_slice(html, end + strlen("</table>"), html.len);
    for (size_t at = 0; (at = str_find(html, foot, at)) != STR_NONE; at++)
        last = at;
    return str_slice(html, 0, last);
}

enum status man_read(struct reading *reading, struct str text, struct str file_name, struct reader_text *out,
                     struct error *error)
{
    struct buf kept, html = {0}, purpose;
    buf_init(&kept, BUF_UNBOUNDED);
    buf_init(&purpose, BUF_UNBOUNDED);
    size_t max_bytes = out->markdown.cap;
    if (!reading->source->man_root) {
        drop_includes(text, &kept);
        text = buf_str(&kept);
    }
    enum status status = run_mandoc(reading, text, max_bytes, &html, error);
    struct html_page page = {0};
    struct html_options options = {
        .whole_page = true, .drop_links = true, .max_input_bytes = 4 * max_bytes, .max_text_bytes = max_bytes};
    if (status == STATUS_OK)
        status = html_to_markdown(without_running_lines(buf_str(&html)), &options, &page, error);
    if (status == STATUS_OK && !str_trim(buf_str(&page.markdown)).len)
        status = error_set(error, STATUS_SYNTAX, "mandoc found no text in the manual page");
    if (status == STATUS_OK) {
        find_purpose(buf_str(&page.markdown), &purpose);
        char *name = page_name(file_name);
        out->title = mem_printf("%s%s%s", name, purpose.len ? " - " : "", purpose.len ? purpose.data : "");
        out->truncated = page.truncated;
        free(name);
        buf_finish(&out->markdown);
        out->markdown = page.markdown;
        page.markdown = (struct buf){0};
    }
    html_page_finish(&page);
    buf_finish(&purpose);
    buf_finish(&html);
    buf_finish(&kept);
    return status;
}

char *reader_man_root(const char *path)
{
    struct str rest = str_of(path);
    size_t slash = str_rfind_char(rest, '/');
    if (slash == STR_NONE)
        return NULL;
    rest = str_slice(rest, 0, slash);
    size_t above = str_rfind_char(rest, '/');
    if (above == STR_NONE || !str_starts_with(str_slice(rest, above + 1, rest.len), STR("man")))
        return NULL;
    return str_dup(str_slice(rest, 0, above ? above : 1));
}

/* The name behind the only request of a page, ".so NAME"; empty when there is more to it. */
static struct str only_include(struct str text)
{
    text = str_trim(text);
    while (str_starts_with(text, STR(".\\\"")) || str_starts_with(text, STR("'\\\"")))
        text = str_trim_start(str_slice(text, str_find_char(text, '\n', 0), text.len));
    if (!str_starts_with(text, STR(".so ")) || str_find_char(text, '\n', 0) != STR_NONE)
        return (struct str){0};
    return str_trim(str_slice(text, 4, text.len));
}

char *reader_man_alias(const char *path, struct str bytes)
{
    static const char *const endings[] = {".gz", ""};
    if (bytes.len > MAX_INCLUDE_PAGE || !reader_is_man_name(str_of(path)))
        return NULL;
    struct buf unpacked;
    buf_init(&unpacked, MAX_INCLUDE_PAGE);
    bool readable = !gzip_is(bytes) || gzip_decompress(bytes, &unpacked, NULL) == STATUS_OK;
    struct str name = only_include(gzip_is(bytes) ? buf_str(&unpacked) : bytes);
    char *root = readable && name.len ? reader_man_root(path) : NULL, *found = NULL;
    for (size_t i = 0; root && !found && i < 2; i++) {
        char *other = mem_printf("%s/%.*s%s", root, STR_ARG(name), endings[i]);
        found = realpath(other, NULL);
        free(other);
        if (found && strcmp(found, path) == 0) {
            free(found);
            found = NULL;
        }
    }
    free(root);
    buf_finish(&unpacked);
    return found;
}
