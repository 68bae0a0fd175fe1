#include "text/selection.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "text/passages.h"
#include "text/rank.h"
#include "text/token_estimate.h"

enum {
    BEGINNING_TOKENS = 1500, /* of the text's beginning, at most */
    BEGINNING_SHARE = 10,    /* and at most this part of the budget: a tenth */
    GAP_TOKENS = 24,         /* what "[…]" and a path of headings may take */
    NEIGHBOURS = 2,          /* on either side of a passage that ranks */
    MAX_MISSES = 4,          /* passages that do not fit, before the budget counts as used up */
};

struct selection {
    struct str text;
    int64_t text_tokens;
    struct passages passages;
    int64_t *tokens; /* of each passage, with its gap */
    struct ranked *ranked;
    size_t n_ranked;

    /* Of the choice under way. */
    bool *taken;
    size_t n_taken;
    int64_t left;
};

struct selection *selection_create(struct str text, struct str question)
{
    struct selection *selection = mem_zalloc(sizeof *selection);
    selection->text = text;
    passages_cut(text, 0, &selection->passages);
    size_t count = selection->passages.count;
    selection->tokens = mem_calloc(count, sizeof *selection->tokens);
    selection->ranked = mem_calloc(count, sizeof *selection->ranked);
    selection->taken = mem_calloc(count, sizeof *selection->taken);
    for (size_t i = 0; i < count; i++) {
        const struct passage *passage = &selection->passages.items[i];
        selection->tokens[i] = token_estimate_text(str_slice(text, passage->from, passage->to)) + GAP_TOKENS;
    }
    selection->text_tokens = token_estimate_text(text);
    selection->n_ranked = rank_passages(text, &selection->passages, question, selection->ranked, count);
    return selection;
}

void selection_destroy(struct selection *selection)
{
    if (!selection)
        return;
    free(selection->taken);
    free(selection->ranked);
    free(selection->tokens);
    passages_finish(&selection->passages);
    free(selection);
}

/* Takes a passage in where it fits; one that is taken does. */
static bool take(struct selection *selection, size_t index)
{
    if (selection->taken[index])
        return true;
    if (selection->tokens[index] > selection->left && selection->n_taken > 0)
        return false;
    selection->left -= selection->tokens[index];
    selection->taken[index] = true;
    selection->n_taken++;
    return true;
}

static void take_beginning(struct selection *selection, int64_t max_tokens)
{
    int64_t share = max_tokens / BEGINNING_SHARE;
    int64_t until = selection->left - (share < BEGINNING_TOKENS ? share : BEGINNING_TOKENS);
    for (size_t i = 0; i < selection->passages.count && (i == 0 || selection->left > until); i++) {
        if (!take(selection, i))
            break;
    }
}

/* The best first. Those that do not fit soon end it, since what comes behind is hardly smaller and matters less. */
static void take_best(struct selection *selection)
{
    int misses = 0;
    for (size_t i = 0; i < selection->n_ranked && misses < MAX_MISSES; i++)
        misses += !take(selection, selection->ranked[i].index);
}

static void take_neighbours(struct selection *selection)
{
    for (size_t distance = 1; distance <= NEIGHBOURS; distance++) {
        for (size_t i = 0; i < selection->n_ranked && selection->left > GAP_TOKENS; i++) {
            size_t index = selection->ranked[i].index;
            if (index >= distance)
                take(selection, index - distance);
            if (index + distance < selection->passages.count)
                take(selection, index + distance);
        }
    }
}

static void take_rest(struct selection *selection)
{
    int misses = 0;
    for (size_t i = 0; i < selection->passages.count && misses < MAX_MISSES && selection->left > GAP_TOKENS; i++)
        misses += !take(selection, i);
}

static void write_taken(const struct selection *selection, struct buf *out)
{
    bool gap = false;
    size_t written = 0;
    for (size_t i = 0; i < selection->passages.count; i++) {
        const struct passage *passage = &selection->passages.items[i];
        struct str text = str_slice(selection->text, passage->from, passage->to);
        if (!selection->taken[i]) {
            gap = true;
            continue;
        }
        if (written++ > 0)
            buf_add_text(out, "\n\n");
        if (gap) {
            buf_add_text(out, "[…]\n\n");
            if (passage->headings && !str_starts_with(text, STR("#")))
                buf_addf(out, "[%s]\n\n", passage->headings);
        }
        buf_add(out, text);
        gap = false;
    }
    if (gap)
        buf_add_text(out, "\n\n[…]");
}

void selection_write(struct selection *selection, int64_t max_tokens, struct buf *out, struct selection_facts *facts)
{
    size_t count = selection->passages.count, matching = 0;
    selection->left = max_tokens;
    selection->n_taken = 0;
    if (count > 0)
        memset(selection->taken, 0, count * sizeof *selection->taken);
    if (selection->text_tokens <= max_tokens) {
        buf_add(out, selection->text);
        selection->n_taken = count;
        matching = selection->n_ranked;
    } else {
        take_beginning(selection, max_tokens);
        take_best(selection);
        take_neighbours(selection);
        take_rest(selection);
        for (size_t i = 0; i < selection->n_ranked; i++)
            matching += selection->taken[selection->ranked[i].index];
        write_taken(selection, out);
    }
    if (facts)
        *facts = (struct selection_facts){.passages = count, .taken = selection->n_taken, .matching = matching};
}
