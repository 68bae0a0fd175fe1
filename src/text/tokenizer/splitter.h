/* src/text/tokenizer/splitter.h
 *
 * Cuts text into the pieces that the model tokenizes one by one, by a pre-tokenizer's regular expression. Patterns that
 * many models share (GPT-2, cl100k, o200k, Qwen 2, Llama 3) have a splitter written by hand; every other one runs on
 * PCRE2 with JIT. Both give the same boundaries, and a fuzzer compares them.
 *
 * The Unicode classes are those of the library whose tokens are to be matched, not those of the PCRE2 that happens to
 * be installed: unicode_class.h.
 */
#ifndef FATHOM_TEXT_TOKENIZER_SPLITTER_H
#define FATHOM_TEXT_TOKENIZER_SPLITTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"
#include "core/str.h"
#include "text/tokenizer/spec.h"

struct splitter;

/* Which implementation a splitter uses; for tests and benchmarks. SPLITTER_AUTO takes the hand-written one where the
 * pattern, to the character, is one that has it. */
enum splitter_engine { SPLITTER_AUTO, SPLITTER_PCRE2 };

/* `pattern` is copied. STATUS_SYNTAX (with the place in the pattern) when it is no regular expression,
 * STATUS_UNSUPPORTED when it uses what PCRE2 understands in another way than Oniguruma and cannot be rewritten. */
enum status splitter_create(struct spec_pattern pattern, enum splitter_engine engine, struct splitter **out,
                            struct error *error) STATUS_CHECKED;
void splitter_destroy(struct splitter *splitter);

/* Whether the pattern leaves no text unmatched, so that matches and pieces are the same. */
bool splitter_covers_all(const struct splitter *splitter);

/* Whether the pattern needed too much for some text since the splitter was created. */
bool splitter_gave_up(const struct splitter *splitter);

/* One that gives the pieces that come of cutting by these one after the other, each into its matches and what lies
 * between them; NULL where none is known. Static. */
const struct splitter *splitter_join(const struct splitter *const *splitters, size_t n);

/* GPT-2's pattern, that of ByteLevel with use_regex. Static. */
struct spec_pattern splitter_gpt2(void);

#define SPLITTER_BATCH 256

/* Pieces of a text in order, [from, to) in bytes, and whether the pattern matched there (else it is the text between
 * two matches). An empty match comes as an empty piece: it divides the text that surrounds it. */
struct split_piece {
    uint32_t from, to;
};

/* A walk through one text: valid UTF-8 of less than 4 GiB, borrowed. */
struct split_walk {
    const struct splitter *splitter;
    struct str text;
    size_t at;
    void *state; /* what PCRE2 needs; NULL for hand-written ones */
};

void split_walk_begin(struct split_walk *walk, const struct splitter *splitter, struct str text);
void split_walk_end(struct split_walk *walk);

/* The next matches, at most SPLITTER_BATCH; 0 at the end. Where the pattern covers all, each begins where the last
 * ended. A pattern that needs too much, of which the libraries to be matched make an error or no end, matches nothing
 * more in this text, and the splitter remembers that. */
size_t split_walk_next(struct split_walk *walk, struct split_piece pieces[SPLITTER_BATCH]);

#endif
