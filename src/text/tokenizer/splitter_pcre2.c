/* Matches one after the other as Oniguruma's users find them: an empty match right behind the last one does not count.
 *
 * What a pattern costs is bounded, whatever it is and whatever the text. PCRE2 sees the text up to the end of a window
 * and says where a match would depend on what comes behind: such a place is tried again by itself, with twice the text
 * each time. So is one that needs many tries, with more of them each time. The bytes and tries of these are counted,
 * for a*b needs half a million bytes for every byte in a megabyte of a, and (a+)+$ ever more tries. Where they are too
 * many, the rest of the text is what the pattern does not match, and the splitter says so. There are no other pieces to
 * be equal to: Oniguruma and fancy-regex fail after 10 million and 1 million tries, or do not come to an end.
 *
 * Where JIT runs out of its stack, PCRE2's interpreter takes over. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/mem.h"
#include "text/tokenizer/splitter_internal.h"

#define JIT_STACK_START ((size_t)64 * 1024)
#define JIT_STACK_MOST  ((size_t)64 * 1024 * 1024)

/* Tries for one match: the greater number of those libraries, and what a long match needs that never goes back. */
#define TRIES_MOST     10000000u
#define TRIES_PER_BYTE 32u

/* Text and tries that are not counted, at each place. */
#ifndef REGEX_WINDOW
#define REGEX_WINDOW 1024
#endif
#define REGEX_TRIES 1000u

/* What a text may cost beyond: some tenths of a second, and as much again for each megabyte. */
#define COST_MOST     UINT64_C(200000000)
#define COST_PER_BYTE 200u

struct splitter_regex {
    pcre2_code *code;
    atomic_bool gave_up;
};

struct regex_walk {
    pcre2_match_data *match;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    size_t last_end; /* of the last match that counted; SIZE_MAX before it */
    uint64_t cost;   /* that is left */
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
    const uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_USE_OFFSET_LIMIT;
    pcre2_code *compiled =
        pcre2_compile((PCRE2_SPTR)buf_str(&rewritten).data, rewritten.len, options, &code, &at, context);
    pcre2_compile_context_free(context);
    buf_finish(&rewritten);
    if (!compiled) {
        PCRE2_UCHAR message[160];
        pcre2_get_error_message(code, message, sizeof message);
        return error_set(error, STATUS_UNSUPPORTED, "PCRE2 cannot run a pattern: %s: %.*s", (const char *)message,
                         STR_ARG(pattern.text));
    }
    (void)pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
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
    pcre2_set_depth_limit(state->context, UINT32_MAX);
    pcre2_set_heap_limit(state->context, UINT32_MAX);
    state->last_end = SIZE_MAX;
    state->cost = COST_MOST + (uint64_t)length * COST_PER_BYTE;
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
static int match_at(const struct splitter_regex *regex, struct regex_walk *state, struct str text, size_t at,
                    uint32_t options)
{
    for (;;) {
        uint32_t all = options | PCRE2_NO_UTF_CHECK | (state->interpret ? PCRE2_NO_JIT : 0);
        int found = pcre2_match(regex->code, (PCRE2_SPTR)text.data, text.len, at, all, state->match, state->context);
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

static size_t character_from(struct str text, size_t at)
{
    while (at < text.len && ((unsigned char)text.data[at] & 0xC0) == 0x80)
        at++;
    return at;
}

static bool spend(struct regex_walk *state, uint64_t cost)
{
    state->cost -= cost < state->cost ? cost : state->cost;
    return state->cost > 0;
}

/* Whether a match begins at `at`, as match_at; PCRE2_ERROR_MATCHLIMIT where that cannot be afforded. */
static int match_here(const struct splitter_regex *regex, struct regex_walk *state, struct str text, size_t at)
{
    uint64_t window = REGEX_WINDOW, tries = REGEX_TRIES, most = tries_for(text.len);
    pcre2_set_offset_limit(state->context, at);
    for (;;) {
        size_t end = window < text.len - at ? character_from(text, at + (size_t)window) : text.len;
        pcre2_set_match_limit(state->context, (uint32_t)tries);
        int found = match_at(regex, state, str_slice(text, 0, end), at, end < text.len ? PCRE2_PARTIAL_HARD : 0);
        if (!spend(state, end - at))
            return PCRE2_ERROR_MATCHLIMIT;
        if (found == PCRE2_ERROR_PARTIAL) {
            window *= 2;
        } else if (found == PCRE2_ERROR_MATCHLIMIT) {
            if (tries == most || !spend(state, tries))
                return found;
            tries = tries * 8 < most ? tries * 8 : most;
        } else {
            return found;
        }
    }
}

/* As pcre2_match of the whole text from `at` on. */
static int match_from(const struct splitter_regex *regex, struct regex_walk *state, struct str text, size_t at)
{
    for (;;) {
        size_t end = text.len - at > REGEX_WINDOW ? character_from(text, at + REGEX_WINDOW) : text.len;
        pcre2_set_offset_limit(state->context, PCRE2_UNSET);
        pcre2_set_match_limit(state->context, REGEX_TRIES);
        int found = match_at(regex, state, str_slice(text, 0, end), at, end < text.len ? PCRE2_PARTIAL_HARD : 0);
        if (found == PCRE2_ERROR_NOMATCH && end < text.len) {
            at = end;
            continue;
        }
        if (found == PCRE2_ERROR_PARTIAL || (found >= 0 && end < text.len)) {
            size_t start = pcre2_get_startchar(state->match);
            if (found >= 0 && start < end)
                return found;
            if (start > at) {
                at = start;
                continue;
            }
        } else if (found != PCRE2_ERROR_MATCHLIMIT || !spend(state, REGEX_TRIES)) {
            return found;
        }
        found = match_here(regex, state, text, at);
        if (found != PCRE2_ERROR_NOMATCH || at == text.len)
            return found;
        at = character_from(text, at + 1);
    }
}

size_t splitter_regex_next(struct split_walk *walk, struct split_piece *pieces)
{
    struct splitter_regex *regex = walk->splitter->regex;
    struct str text = walk->text;
    size_t count = 0;
    if (!walk->state)
        walk->state = walk_create(regex, text.len);
    struct regex_walk *state = walk->state;
    while (count < SPLITTER_BATCH && walk->at <= text.len) {
        int found = match_from(regex, state, text, walk->at);
        if (found < 0 && found != PCRE2_ERROR_NOMATCH && found != PCRE2_ERROR_MATCHLIMIT)
            abort(); /* out of memory: no other limit is left */
        if (found < 0) {
            if (found == PCRE2_ERROR_MATCHLIMIT)
                atomic_store_explicit(&regex->gave_up, true, memory_order_relaxed);
            walk->at = text.len + 1;
            break;
        }
        const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(state->match);
        if (ends[0] == ends[1] && ends[1] == state->last_end) {
            walk->at = character_from(text, walk->at + 1);
            continue;
        }
        pieces[count++] = (struct split_piece){(uint32_t)ends[0], (uint32_t)ends[1]};
        walk->at = state->last_end = ends[1];
    }
    return count;
}

bool splitter_regex_gave_up(const struct splitter_regex *regex)
{
    return atomic_load_explicit(&regex->gave_up, memory_order_relaxed);
}
