/* Quotations, passages and selections: a text before the first NUL, evidence or a question behind it. What is reported
 * lies in the evidence, in order; passages cover the text and keep their cap; a selection keeps the beginning and its
 * budget. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "text/quote_check.h"
#include "text/rank.h"
#include "text/selection.h"
#include "text/token_estimate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_quotes(struct str text, struct str evidence)
{
    struct quotes quotes;
    size_t at = 0, missing = 0;
    quote_check(text, evidence, &quotes);
    for (size_t i = 0; i < quotes.count; i++) {
        const struct quote *quote = &quotes.items[i];
        check(quote->from >= at && quote->from < quote->to && quote->to <= evidence.len);
        at = quote->to;
        missing += !quote->found;
    }
    check(missing == quotes.n_missing);
    quotes_finish(&quotes);
}

static void check_passages(struct str text, struct str question, size_t target_tokens)
{
    struct passages passages;
    struct ranked best[8];
    size_t at = 0, count;
    passages_cut(text, target_tokens, &passages);
    for (size_t i = 0; i < passages.count; i++) {
        const struct passage *passage = &passages.items[i];
        check(passage->from >= at && passage->from < passage->to && passage->to <= text.len);
        check(passage->to - passage->from <= 8 * target_tokens);
        check(!str_trim(str_slice(text, at, passage->from)).len);
        at = passage->to;
    }
    check(!str_trim(str_slice(text, at, text.len)).len);
    count = rank_passages(text, &passages, question, best, 8);
    for (size_t i = 0; i < count; i++) {
        check(best[i].index < passages.count && best[i].score > 0);
        check(i == 0 || best[i - 1].score >= best[i].score);
    }
    passages_finish(&passages);
}

static void check_selection(struct str text, struct str question, int64_t budget)
{
    struct selection *selection = selection_create(text, question);
    struct selection_facts facts;
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    selection_write(selection, budget, &out, &facts);
    check(facts.taken <= facts.passages && facts.matching <= facts.passages);
    check(facts.taken <= 1 || token_estimate_text(buf_str(&out)) <= budget + budget / 2 + 64);
    buf_finish(&out);
    selection_destroy(selection);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str all = {(const char *)data, size};
    size_t end = str_find_char(all, '\0', 0);
    struct str text = str_slice(all, 0, end), rest = end == STR_NONE ? STR("") : str_slice(all, end + 1, all.len);
    check_quotes(text, rest);
    check_quotes(text, text);
    check_passages(text, rest, 1 + size % 37);
    check_selection(text, rest, (int64_t)(size % 700));
    return 0;
}
