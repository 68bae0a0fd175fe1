/* How well the corpus ranks, on public sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/mem.h"
#include "support/retrieval_set.h"

static double evaluate(const char *name)
{
    struct retrieval_set set;
    if (!retrieval_load(SHARED_DATA "/retrieval", name, &set))
        skip();
    char folder[] = "/tmp/fathom-quality-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char *lines = mem_printf("%s/set.jsonl", folder), *file = mem_printf("%s/set.db", folder);
    retrieval_write_lines(&set, lines);
    struct corpus *corpus;
    assert_int_equal(corpus_open(file, CORPUS_CREATE, &corpus, NULL), STATUS_OK);
    const char *path = lines;
    assert_int_equal(corpus_index(corpus, &path, 1, NULL, NULL, NULL), STATUS_OK);
    double ndcg = retrieval_evaluate(&set, corpus, NULL);
    corpus_close(corpus);
    unlink(lines);
    unlink(file);
    rmdir(folder);
    free(lines);
    free(file);
    retrieval_finish(&set);
    print_message("%s: nDCG@10 %.4f\n", name, ndcg);
    return ndcg;
}

static void corpus__ranks_scifact_well(void **state)
{
    (void)state;
    assert_true(evaluate("scifact") >= 0.70);
}

static void corpus__ranks_cranfield_well(void **state)
{
    (void)state;
    assert_true(evaluate("cranfield") >= 0.40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(corpus__ranks_scifact_well),
        cmocka_unit_test(corpus__ranks_cranfield_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
