#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/mem.h"
#include "core/utf8.h"
#include "support/made_image.h"
#include "text/tokenizer/bpe.h"

/* A vocabulary that is made by chance, and its encoding by the plainest way there is. */

#define MAX_TOKENS 600
#define MAX_TOKEN  128
#define MAX_TEXT   2000

struct world {
    uint64_t random;
    struct spec_token tokens[MAX_TOKENS];
    struct spec_merge merges[4 * MAX_TOKENS];
    char texts[MAX_TOKENS][MAX_TOKEN + 1];
    struct model_spec model;
    struct made_image image;
    struct bpe *bpe;
};

static uint32_t chance(struct world *w, uint32_t below)
{
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((w->random >> 33) % below);
}

static int64_t find(const struct model_spec *model, const char *text, size_t len)
{
    for (size_t i = 0; i < model->n_tokens; i++)
        if (str_equal(model->tokens[i].text, str_make(text, len)))
            return model->tokens[i].id;
    return -1;
}

static void add_token(struct world *w, const char *text, size_t len, uint32_t id)
{
    size_t n = w->model.n_tokens++;
    assert_true(n < MAX_TOKENS && len <= MAX_TOKEN);
    memcpy(w->texts[n], text, len);
    w->tokens[n] = (struct spec_token){.text = str_make(w->texts[n], len), .id = id};
}

static void make(struct world *w)
{
    struct error error = {0};
    assert_int_equal(bpe_compile(&w->model, made_image_begin(&w->image), &error), STATUS_OK);
    w->bpe = bpe_open(made_image_end(&w->image));
}

static void unmake(struct world *w)
{
    bpe_destroy(w->bpe);
    made_image_finish(&w->image);
}

struct plain {
    uint32_t ids[MAX_TEXT], from[MAX_TEXT], to[MAX_TEXT];
    size_t count;
};

static void put(struct plain *p, uint32_t id, size_t from, size_t to)
{
    p->ids[p->count] = id;
    p->from[p->count] = (uint32_t)from;
    p->to[p->count++] = (uint32_t)to;
}

static void first_symbols(const struct model_spec *model, const char *text, size_t len, struct plain *p)
{
    bool waiting = false;
    for (size_t at = 0, step = 1; at < len; at += step) {
        if (!model->byte_level)
            (void)utf8_decode(str_make(text + at, len - at), &step);
        int64_t id = find(model, text + at, step), byte[4] = {-1, -1, -1, -1};
        if (id >= 0) {
            if (waiting)
                put(p, (uint32_t)model->unknown, at, at);
            waiting = false;
            put(p, (uint32_t)id, at, at + step);
            continue;
        }
        bool all = model->byte_fallback && !model->byte_level;
        for (size_t i = 0; i < step && all; i++) {
            char name[8];
            snprintf(name, sizeof name, "<0x%02X>", (unsigned char)text[at + i]);
            byte[i] = find(model, name, 6);
            all = byte[i] >= 0;
        }
        for (size_t i = 0; i < step && all; i++)
            put(p, (uint32_t)byte[i], at + i, at + i + 1);
        if (all || model->unknown < 0)
            continue;
        if (waiting && !model->fuse_unknown)
            put(p, (uint32_t)model->unknown, at, at);
        waiting = true;
    }
    if (waiting)
        put(p, (uint32_t)model->unknown, len, len);
}

/* Rank of a pair, and what it merges into. */
static int64_t pair(const struct model_spec *model, const char *text, const struct plain *p, size_t i, uint32_t *into)
{
    if (model->merge_by_rank) {
        int64_t id = p->to[i] != p->from[i + 1] ? -1 : find(model, text + p->from[i], p->to[i + 1] - p->from[i]);
        *into = (uint32_t)id;
        return id;
    }
    int64_t rank = -1;
    for (size_t m = 0; m < model->n_merges; m++)
        if (model->merges[m].left == p->ids[i] && model->merges[m].right == p->ids[i + 1]) {
            rank = (int64_t)m;
            *into = model->merges[m].merged;
        }
    return rank;
}

static void encode_plainly(const struct model_spec *model, const char *text, size_t len, struct plain *p)
{
    p->count = 0;
    int64_t whole = model->ignore_merges || model->merge_by_rank ? find(model, text, len) : -1;
    if (whole >= 0) {
        put(p, (uint32_t)whole, 0, len);
        return;
    }
    first_symbols(model, text, len, p);
    for (;;) {
        int64_t best = -1;
        size_t where = 0;
        uint32_t into = 0, merged = 0;
        for (size_t i = 0; i + 1 < p->count; i++) {
            int64_t rank = pair(model, text, p, i, &merged);
            if (rank >= 0 && (best < 0 || rank < best)) {
                best = rank;
                where = i;
                into = merged;
            }
        }
        if (best < 0)
            return;
        p->ids[where] = into;
        p->to[where] = p->to[where + 1];
        p->count--;
        for (size_t i = where + 1; i < p->count; i++) {
            p->ids[i] = p->ids[i + 1];
            p->from[i] = p->from[i + 1];
            p->to[i] = p->to[i + 1];
        }
    }
}

static const char *const alphabets[] = {"a",
                                        "ab",
                                        "abc",
                                        "abcdefgh",
                                        "\xe2\x96\x81"
                                        "ab",
                                        "a\xc3\xa4\xe6\x97\xa5\xf0\x9f\x98\x80"};

static size_t random_char(struct world *w, const char *alphabet, bool bytes, char out[4])
{
    struct str all = str_of(alphabet);
    if (bytes) {
        out[0] = alphabet[chance(w, (uint32_t)all.len)];
        return 1;
    }
    size_t at = 0, length, skip = chance(w, 8);
    for (;;) {
        (void)utf8_decode(str_slice(all, at, all.len), &length);
        if (skip-- == 0)
            break;
        at = at + length < all.len ? at + length : 0;
    }
    memcpy(out, alphabet + at, length);
    return length;
}

/* First tokens of all bytes or characters but some, then joins of two by chance; listed in the order in which they
 * were made, or shuffled. */
static void invent(struct world *w, const char *alphabet, bool by_rank)
{
    struct model_spec *model = &w->model;
    *model = (struct model_spec){.kind = MODEL_BPE, .tokens = w->tokens, .merges = w->merges, .unknown = -1};
    model->byte_level = by_rank || chance(w, 2);
    model->merge_by_rank = by_rank;
    model->ignore_merges = !by_rank && chance(w, 3) == 0;
    bool leave_out = !by_rank && chance(w, 3) == 0;
    for (const char *c = alphabet; *c != '\0';) {
        size_t length = 1;
        if (!model->byte_level)
            (void)utf8_decode(str_of(c), &length);
        if ((!leave_out || chance(w, 4) != 0) && find(model, c, length) < 0)
            add_token(w, c, length, (uint32_t)model->n_tokens);
        c += length;
    }
    size_t n_first = model->n_tokens, wanted = n_first + chance(w, 60);
    for (size_t tries = 0; tries < 500 && model->n_tokens < wanted && n_first > 0; tries++) {
        const struct spec_token *left = &w->tokens[chance(w, (uint32_t)model->n_tokens)];
        const struct spec_token *right = &w->tokens[chance(w, (uint32_t)model->n_tokens)];
        char text[64];
        size_t len = left->text.len + right->text.len;
        if (len > 60)
            continue;
        memcpy(text, left->text.data, left->text.len);
        memcpy(text + left->text.len, right->text.data, right->text.len);
        int64_t id = find(model, text, len);
        if (id < 0)
            add_token(w, text, len, (uint32_t)(id = (int64_t)model->n_tokens));
        if (!by_rank)
            w->merges[model->n_merges++] = (struct spec_merge){left->id, right->id, (uint32_t)id};
    }
    if (chance(w, 3) == 0)
        for (size_t i = model->n_merges; i-- > 1;) {
            size_t other = chance(w, (uint32_t)i + 1);
            struct spec_merge kept = w->merges[i];
            w->merges[i] = w->merges[other];
            w->merges[other] = kept;
        }
    if (by_rank && chance(w, 3) == 0)
        for (size_t i = n_first; i < model->n_tokens; i++) {
            size_t other = n_first + chance(w, (uint32_t)(model->n_tokens - n_first));
            uint32_t kept = w->tokens[i].id;
            w->tokens[i].id = w->tokens[other].id;
            w->tokens[other].id = kept;
        }
    if (!by_rank && chance(w, 2)) {
        model->unknown = (int64_t)model->n_tokens;
        model->fuse_unknown = chance(w, 2);
        add_token(w, "<unk>", 5, (uint32_t)model->n_tokens);
    }
    if (!by_rank && !model->byte_level && chance(w, 2)) {
        model->byte_fallback = true;
        for (unsigned i = 0; i < 256; i++) {
            char name[8];
            snprintf(name, sizeof name, "<0x%02X>", i);
            if (chance(w, 40) != 0)
                add_token(w, name, 6, (uint32_t)model->n_tokens);
        }
    }
}

static void check(struct world *w, const char *text, const struct split_piece *pieces, size_t n)
{
    static struct plain plain;
    struct token_ids ids = {NULL, 0, 0};
    int64_t total = bpe_encode(w->bpe, text, pieces, n, &ids);
    assert_int_equal(total, ids.count);
    assert_int_equal(total, bpe_encode(w->bpe, text, pieces, n, NULL));
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        encode_plainly(&w->model, text + pieces[i].from, pieces[i].to - pieces[i].from, &plain);
        if (at + plain.count > ids.count ||
            (plain.count > 0 && memcmp(ids.ids + at, plain.ids, plain.count * sizeof *ids.ids) != 0)) {
            for (size_t k = 0; k < plain.count; k++)
                print_error("%u ", plain.ids[k]);
            print_error("expected, for \"%.*s\"\n", (int)(pieces[i].to - pieces[i].from), text + pieces[i].from);
            for (size_t k = at; k < ids.count && k < at + plain.count + 2; k++)
                print_error("%u ", ids.ids[k]);
            fail();
        }
        at += plain.count;
    }
    assert_int_equal(at, ids.count);
    token_ids_finish(&ids);
}

static void try_texts(struct world *w, const char *alphabet)
{
    for (size_t round = 0; round < 12; round++) {
        char text[MAX_TEXT];
        struct split_piece pieces[300];
        size_t len = 0, n = 0, most = round == 0 ? 400 : 40;
        const char *from = alphabets[5];
        while (len < most && n < 299) {
            uint32_t begin = (uint32_t)len, length = 1 + chance(w, round == 0 ? 300 : 20);
            for (uint32_t i = 0; i < length && len < most; i++)
                len += random_char(w, !w->model.merge_by_rank && chance(w, 30) == 0 ? from : alphabet,
                                   w->model.byte_level, text + len);
            pieces[n++] = (struct split_piece){begin, (uint32_t)len};
        }
        /* on the heap, so that reading behind its end is seen */
        char *exact = mem_alloc(len);
        memcpy(exact, text, len);
        check(w, exact, pieces, n);
        check(w, exact, pieces, n);
        free(exact);
    }
}

static void bpe__equals_the_plain_way(void **state)
{
    (void)state;
    struct world *w = mem_zalloc(sizeof *w);
    w->random = 7;
    const char *rounds = getenv("BPE_ROUNDS");
    for (int i = 0; i < (rounds != NULL ? atoi(rounds) : 400); i++) {
        const char *alphabet = alphabets[chance(w, 6)];
        invent(w, alphabet, chance(w, 3) == 0);
        make(w);
        try_texts(w, alphabet);
        unmake(w);
    }
    free(w);
}

/* Runs whose tokens are as long as the parts in which a long text is read, and come out in another way where it is cut.
 */
static void bpe__reads_long_texts_in_parts(void **state)
{
    (void)state;
    struct world *w = mem_zalloc(sizeof *w);
    char run[MAX_TOKEN], text[600];
    memset(run, 'a', sizeof run);
    w->random = 3;
    w->model = (struct model_spec){.kind = MODEL_BPE, .byte_level = true, .merge_by_rank = true, .unknown = -1};
    w->model.tokens = w->tokens;
    const char *const others[] = {"b", "ba", "bb", "bba"};
    for (size_t length = 1; length <= sizeof run; length *= 2)
        add_token(w, run, length, (uint32_t)w->model.n_tokens);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        add_token(w, others[i], strlen(others[i]), (uint32_t)w->model.n_tokens);
    make(w);
    for (size_t round = 0; round < 30; round++) {
        struct split_piece piece = {0, 100 + chance(w, sizeof text - 100)};
        memset(text, 'a', sizeof text);
        for (size_t at = chance(w, 80); at < piece.to; at += 1 + chance(w, round % 2 ? 8 : 400))
            text[at] = 'b';
        check(w, text, &piece, 1);
    }
    unmake(w);
    free(w);
}

/* Every byte, and many tokens of three that differ like numbers one behind the other. */
static void bpe__takes_regular_tokens(void **state)
{
    (void)state;
    enum { BYTES = 256, ALL = 50256 };
    struct world *w = mem_zalloc(sizeof *w);
    char *texts = mem_calloc(ALL, 3);
    struct spec_token *tokens = mem_calloc(ALL, sizeof *tokens);
    for (uint32_t i = 0; i < ALL; i++) {
        uint32_t number = i < BYTES ? i << 8 : i - BYTES;
        texts[3 * i] = (char)(number >> 8);
        texts[3 * i + 1] = (char)number;
        tokens[i] = (struct spec_token){.text = str_make(texts + 3 * (size_t)i, i < BYTES ? 1 : 3), .id = i};
    }
    w->model = (struct model_spec){
        .kind = MODEL_BPE,
        .byte_level = true,
        .merge_by_rank = true,
        .ignore_merges = true,
        .unknown = -1,
        .tokens = tokens,
        .n_tokens = ALL,
    };
    make(w);
    for (uint32_t i = 0; i < ALL; i += 97) {
        struct token_ids ids = {0};
        const struct split_piece piece = {0, (uint32_t)tokens[i].text.len};
        assert_int_equal(bpe_encode(w->bpe, tokens[i].text.data, &piece, 1, &ids), 1);
        assert_int_equal(ids.ids[0], i);
        token_ids_finish(&ids);
    }
    unmake(w);
    free(tokens);
    free(texts);
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bpe__equals_the_plain_way),
        cmocka_unit_test(bpe__reads_long_texts_in_parts),
        cmocka_unit_test(bpe__takes_regular_tokens),
    };
    return cmocka_run_group_tests_name("bpe", tests, NULL, NULL);
}
