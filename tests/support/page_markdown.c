/* Writes a page as Markdown with everything visible kept, for tests of the writer and to look at it. Usage:
 * page_markdown [--text] [--words] [--no-links] [--base=URL] [--repeat=N] FILE...
 * --text writes plain text, --words behind it the text of the tree itself, each ending in a NUL; --repeat=N does it N
 * times and prints the seconds of CPU time for parsing and writing instead. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/file.h"
#include "core/mem.h"
#include "text/charset.h"
#include "text/html/content.h"
#include "text/html/write.h"

static uint8_t *mark_hidden(const struct html_tree *tree)
{
    uint8_t *marks = mem_zalloc(tree->count);
    html_mark_content(tree, &(struct html_content_options){.whole_page = true}, marks);
    return marks;
}

static void put_words(const struct html_tree *tree, const uint8_t *marks)
{
    for (uint32_t i = 0; i < tree->count;) {
        const struct html_node *node = &tree->nodes[i];
        if (marks[i] || html_flags(node->element) & ELEMENT_SILENT) {
            i = node->end;
            continue;
        }
        struct str alt = node->element == HTML_IMG ? html_tree_attribute(tree, node, HTML_ATTRIBUTE_ALT) : STR("");
        if (alt.len)
            printf(" %.*s ", STR_ARG(alt));
        else if (node->element == HTML_TEXT)
            fwrite(node->text.data, 1, node->text.len, stdout);
        else
            fputs(html_flags(node->element) & ELEMENT_BLOCK || node->element == HTML_BR ? "\n" : "", stdout);
        i++;
    }
    putchar('\n');
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct request {
    struct html_write_options options;
    bool words;
    int repeat;
};

static bool write_page(const struct request *request, struct str page, struct buf *out)
{
    double parsing = 0, writing = 0;
    bool whole = true;
    for (int i = 0; i < request->repeat; i++) {
        struct html_tree tree;
        buf_reset(out);
        double start = seconds();
        html_tree_parse(page, &tree);
        parsing += seconds() - start;
        uint8_t *marks = mark_hidden(&tree);
        start = seconds();
        whole = html_tree_write(&tree, marks, &request->options, out);
        writing += seconds() - start;
        if (request->repeat == 1)
            fwrite(out->data ? out->data : "", 1, out->len, stdout);
        if (request->words) {
            putchar('\0');
            put_words(&tree, marks);
            putchar('\0');
        }
        free(marks);
        html_tree_finish(&tree);
    }
    if (request->repeat > 1)
        printf("%.6f %.6f\n", parsing, writing);
    return whole;
}

static bool write_file(const struct request *request, const char *path)
{
    struct buf file, page, out;
    struct error error = {0};
    buf_init(&file, (size_t)64 << 20);
    buf_init(&page, BUF_UNBOUNDED);
    buf_init(&out, (size_t)256 << 20);
    bool done = file_read(path, &file, &error) == STATUS_OK &&
                charset_to_utf8(buf_str(&file), STR("text/html"), true, &page, NULL) == STATUS_OK &&
                write_page(request, buf_str(&page), &out);
    if (!done)
        fprintf(stderr, "page_markdown: cannot write %s\n", path);
    buf_finish(&file);
    buf_finish(&page);
    buf_finish(&out);
    return done;
}

int main(int argc, char **argv)
{
    struct request request = {.repeat = 1};
    const char *base_url = "";
    int files = argc;
    for (int i = 1; i < argc && files == argc; i++) {
        if (strcmp(argv[i], "--text") == 0)
            request.options.plain_text = true;
        else if (strcmp(argv[i], "--words") == 0)
            request.words = true;
        else if (strcmp(argv[i], "--no-links") == 0)
            request.options.drop_links = true;
        else if (strncmp(argv[i], "--base=", 7) == 0)
            base_url = argv[i] + 7;
        else if (strncmp(argv[i], "--repeat=", 9) == 0)
            request.repeat = atoi(argv[i] + 9);
        else
            files = i;
    }
    struct html_base base;
    html_base_init(&base, str_of(base_url), STR(""));
    request.options.base = &base;
    bool done = true;
    for (int i = files; i < argc; i++)
        done = write_file(&request, argv[i]) && done;
    html_base_finish(&base);
    return done ? 0 : 1;
}
