/* Matches one after the other as Oniguruma's users find them: an empty match right behind the last one does not count.
 *
 * Where JIT runs out of its stack, PCRE2's interpreter takes over. Only a pattern that tries ever more ways to match,
 * as (a+)+$ does, is given up: what is left of the text is then what it does not match. It has no other pieces to be
 * equal to, since Oniguruma and fancy-regex fail there, after 10 million and 1 million tries. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

#include "core/mem.h"
#include "text/tokenizer/splitter_internal.h"

#define JIT_STACK_START (64 * 1024)
#define JIT_STACK_MOST  (64 * 1024 * 1024)

/* Tries for one match: the greater number of those libraries, and what a long match needs that never goes back. */
#define TRIES_MOST     10000000u
#define TRIES_PER_BYTE 32u

struct splitter_regex {
    pcre2_code *code;
};

struct regex_walk {
    pcre2_match_data *match;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    size_t last_end; /* of the last match that counted; SIZE_MAX before it */
    bool interpret;
};

enum status splitter_regex_create(struct spec_pattern pattern, struct splitter_regex **out, struct error *error)
{
    struct buf rewritten;
    buf_init(&rewritten, BUF_UNBOUNDED);
    enum status status = splitter_rewrite(pattern, &rewritten, error);
    if (status != STATUS_OK) {
        buf_finish(&rewritten);
        return status;
    }
    int code = 0;
    PCRE2_SIZE at = 0;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (!context)
        abort();
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pcre2_code *compiled =
        pcre2_compile((PCRE2_SPTR)buf_str(&rewritten).data, rewritten.len, PCRE2_UTF | PCRE2_UCP, &code, &at, context);
    pcre2_compile_context_free(context);
    buf_finish(&rewritten);
    if (!compiled) {
        PCRE2_UCHAR message[160];
        pcre2_get_error_message(code, message, sizeof message);
        return error_set(error, STATUS_UNSUPPORTED, "PCRE2 cannot run a pattern: %s: %.*s", (const char *)message,
                         STR_ARG(pattern.text));
    }
    (void)pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE);
    struct splitter_regex *regex = mem_zalloc(sizeof *regex);
    regex->code = compiled;
    *out = regex;
    return STATUS_OK;
}

void splitter_regex_destroy(struct splitter_regex *regex)
{
    if (!regex)
        return;
    pcre2_code_free(regex->code);
    free(regex);
}

static uint32_t tries_for(size_t length)
{
    uint64_t tries = TRIES_MOST + (uint64_t)length * TRIES_PER_BYTE;
    return tries < UINT32_MAX ? (uint32_t)tries : UINT32_MAX;
}

static struct regex_walk *walk_create(const struct splitter_regex *regex, size_t length)
{
    struct regex_walk *state = mem_zalloc(sizeof *state);
    state->match = pcre2_match_data_create_from_pattern(regex->code, NULL);
    state->context = pcre2_match_context_create(NULL);
    if (!state->match || !state->context)
        abort();
    pcre2_set_match_limit(state->context, tries_for(length));
    pcre2_set_depth_limit(state->context, UINT32_MAX);
    pcre2_set_heap_limit(state->context, UINT32_MAX);
    state->last_end = SIZE_MAX;
    return state;
}

void splitter_regex_end(void *user)
{
    struct regex_walk *state = user;
    if (!state)
        return;
    pcre2_match_data_free(state->match);
    pcre2_match_context_free(state->context);
    pcre2_jit_stack_free(state->stack);
    free(state);
}

/* JIT on the machine's stack, then on a large one of its own, then the interpreter. */
static int match_at(const struct splitter_regex *regex, struct regex_walk *state, struct str text, size_t at)
{
    for (;;) {
        uint32_t options = PCRE2_NO_UTF_CHECK | (state->interpret ? PCRE2_NO_JIT : 0);
        int found =
            pcre2_match(regex->code, (PCRE2_SPTR)text.data, text.len, at, options, state->match, state->context);
        if (found != PCRE2_ERROR_JIT_STACKLIMIT)
            return found;
        if (!state->stack)
            state->stack = pcre2_jit_stack_create(JIT_STACK_START, JIT_STACK_MOST, NULL);
        else
            state->interpret = true;
        if (state->stack)
            pcre2_jit_stack_assign(state->context, NULL, state->stack);
        else
            state->interpret = true;
    }
}

static size_t character_after(struct str text, size_t at)
{
    for (at++; at < text.len && ((unsigned char)text.data[at] & 0xC0) == 0x80;)
        at++;
    return at;
}

size_t splitter_regex_next(struct split_walk *walk, struct split_piece *pieces)
{
    const struct splitter_regex *regex = walk->splitter->regex;
    struct str text = walk->text;
    size_t count = 0;
    if (!walk->state)
        walk->state = walk_create(regex, text.len);
    struct regex_walk *state = walk->state;
    while (count < SPLITTER_BATCH && walk->at <= text.len) {
        int found = match_at(regex, state, text, walk->at);
        if (found < 0 && found != PCRE2_ERROR_NOMATCH && found != PCRE2_ERROR_MATCHLIMIT)
            abort(); /* out of memory: no other limit is left */
        if (found < 0) {
            walk->at = text.len + 1;
            break;
        }
        const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(state->match);
        if (ends[0] == ends[1] && ends[1] == state->last_end) {
            walk->at = character_after(text, walk->at);
            continue;
        }
        pieces[count++] = (struct split_piece){(uint32_t)ends[0], (uint32_t)ends[1]};
        walk->at = state->last_end = ends[1];
    }
    return count;
}
