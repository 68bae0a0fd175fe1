/* The numbers that the model of content sees: of a block, of what is around it, of the page. */
#include "text/html/features.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/mem.h"

/* Every block's row in one array, to be freed. */
static float (*rows_of(const char *html, uint32_t *count))[HTML_FEATURES]
{
    struct html_tree tree;
    struct html_blocks blocks;
    struct html_features features;
    html_tree_parse(str_of(html), &tree);
    uint8_t *marks = mem_calloc(tree.count, 1);
    html_blocks_init(&tree, false, marks, &blocks);
    html_features_init(&blocks, &features);
    float(*rows)[HTML_FEATURES] = mem_calloc((size_t)blocks.count + 1, sizeof *rows);
    for (uint32_t i = 0; i < blocks.count; i++)
        html_features_fill(&features, i, rows[i]);
    *count = blocks.count;
    html_features_finish(&features);
    html_blocks_finish(&blocks);
    free(marks);
    html_tree_finish(&tree);
    return rows;
}

static bool is_near(float value, double wanted)
{
    return value > wanted - 0.001 && value < wanted + 0.001;
}

static void html_features__says_where_a_block_is(void **state)
{
    (void)state;
    uint32_t count;
    float(*rows)[HTML_FEATURES] =
        rows_of("<title>The river</title><nav><a href=/>Start</a></nav><main><h1>The river</h1>"
                "<div class=sidebar><p>Seen today</p></div></main>",
                &count);
    assert_int_equal(count, 3);
    assert_true(rows[0][FEATURE_IN_NAV] > 0 && is_near(rows[0][FEATURE_LINK_SHARE], 1));
    assert_true(is_near(rows[0][FEATURE_SINCE_TITLE], -1));
    assert_true(is_near(rows[1][FEATURE_TITLE_SHARE], 1) && is_near(rows[1][FEATURE_HEADING], 1));
    assert_true(rows[2][FEATURE_IN_MAIN] > 0 && is_near(rows[2][FEATURE_NAMED_SIDE], 1));
    free(rows);
}

static void html_features__a_page_without_text_has_no_rows(void **state)
{
    (void)state;
    uint32_t count;
    float(*rows)[HTML_FEATURES] = rows_of("<div></div>", &count);
    assert_int_equal(count, 0);
    free(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(html_features__says_where_a_block_is),
        cmocka_unit_test(html_features__a_page_without_text_has_no_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
