/* Pages: the tree is sound, and each way of reading a page gives valid UTF-8 within its cap. The first byte chooses the
 * way. */
#include <stdint.h>
#include <stdlib.h>

#include "core/utf8.h"
#include "text/html/html.h"
#include "text/html/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_tree(struct str html)
{
    if (!utf8_is_valid(html) || str_find_char(html, '\0', 0) != STR_NONE)
        return;
    struct html_tree tree;
    html_tree_parse(html, &tree);
    check(tree.nodes[0].end == tree.count);
    for (uint32_t i = 1; i < tree.count; i++) {
        const struct html_node *node = &tree.nodes[i];
        check(node->parent < i && node->end > i && node->end <= tree.nodes[node->parent].end);
        check(node->depth <= HTML_MAX_DEPTH + 1 && node->first_attribute + node->n_attributes <= tree.n_attributes);
        check(node->element != HTML_TEXT || node->text.len > 0);
        check(utf8_is_valid(node->text));
    }
    html_tree_finish(&tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned way = size ? data[0] : 0;
    struct str html = size ? str_make((const char *)data + 1, size - 1) : STR("");
    check_tree(html);
    struct html_options options = {
        .base_url = way & 1 ? STR("https://example.org/a/b") : STR(""),
        .whole_page = way & 2,
        .drop_links = way & 4,
        .comments = way & 8,
        .plain_text = way & 16,
        .max_text_bytes = way & 32 ? 100 : 0,
    };
    struct html_page page;
    check(html_to_markdown(html, &options, &page, NULL) == STATUS_OK);
    check(utf8_is_valid(buf_str(&page.markdown)));
    check(!options.max_text_bytes || page.markdown.len <= 100);
    html_page_finish(&page);
    return 0;
}
