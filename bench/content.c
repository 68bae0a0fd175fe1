/* What the model of a page's content is trained on, for scripts/train-content: reads the names of files with HTML from
 * stdin, one a line, and writes of each page the number of its blocks and then, block by block, the length of its text,
 * the text, and its row of features. Numbers are 32 bits long, little-endian; features are floats. `features` as the
 * only argument prints the features' names instead. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/mem.h"
#include "text/html/features.h"

#define MAX_PAGE ((size_t)64 << 20)

static void put(const void *bytes, size_t length)
{
    if (length && fwrite(bytes, 1, length, stdout) != length)
        exit(1);
}

static void put_number(uint32_t number)
{
    put(&number, sizeof number);
}

static void put_text(const struct html_tree *tree, const struct html_block *block, const uint8_t *marks)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    for (uint32_t i = block->first; i <= block->last;) {
        const struct html_node *node = &tree->nodes[i];
        if (node->element == HTML_BR)
            buf_add_char(&text, '\n');
        else if (node->element == HTML_TEXT)
            buf_add(&text, node->text);
        i = marks[i] & MARK_DROPPED ? node->end : i + 1;
    }
    put_number((uint32_t)text.len);
    put(text.data, text.len);
    buf_finish(&text);
}

static void put_page(struct str html)
{
    struct html_tree tree;
    struct html_blocks blocks;
    struct html_features features;
    html_tree_parse(html, &tree);
    uint8_t *marks = mem_calloc(tree.count, 1);
    html_blocks_init(&tree, false, marks, &blocks);
    html_features_init(&blocks, &features);
    put_number(blocks.count);
    for (uint32_t i = 0; i < blocks.count; i++) {
        float row[HTML_FEATURES];
        put_text(&tree, &blocks.items[i], marks);
        html_features_fill(&features, i, row);
        put(row, sizeof row);
    }
    html_features_finish(&features);
    html_blocks_finish(&blocks);
    free(marks);
    html_tree_finish(&tree);
}

static void put_file(const char *name)
{
    FILE *file = fopen(name, "rb");
    char *bytes = mem_alloc(MAX_PAGE);
    size_t n = file ? fread(bytes, 1, MAX_PAGE, file) : 0;
    if (!file) {
        perror(name);
        exit(1);
    }
    for (size_t i = 0; i < n; i++)
        if (!bytes[i])
            bytes[i] = ' ';
    fclose(file);
    put_page(str_make(bytes, n));
    free(bytes);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "features") == 0) {
        for (unsigned i = 0; i < HTML_FEATURES; i++)
            puts(html_feature_name(i));
        return 0;
    }
    char name[4096];
    while (fgets(name, sizeof name, stdin)) {
        name[strcspn(name, "\n")] = '\0';
        put_file(name);
    }
    return 0;
}
