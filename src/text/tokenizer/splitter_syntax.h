/* src/text/tokenizer/splitter_syntax.h
 *
 * Reading the regular expressions of tokenizer files: what splitter_rewrite.c, splitter_class.c and splitter_names.c
 * share. The syntax is that of Oniguruma 6.9 (its doc/RE), or of the regex crate as fancy-regex passes it on.
 */
#ifndef FATHOM_TEXT_TOKENIZER_SPLITTER_SYNTAX_H
#define FATHOM_TEXT_TOKENIZER_SPLITTER_SYNTAX_H

#include "text/tokenizer/splitter_internal.h"
#include "text/tokenizer/unicode_set.h"

struct pattern_reader {
    struct str text; /* valid UTF-8 */
    size_t at;
    bool is_tiktoken;
    unsigned depth;
    unsigned n_sets;
    uint32_t folded; /* the literal just read without regard to case, 0 for none */
    struct error *error;
};

/* Either one code point, or a set of them that the caller destroys. */
struct pattern_item {
    uint32_t code_point;
    struct unicode_set *set;
    bool is_closed; /* a set that case does not change */
};

bool pattern_at_end(const struct pattern_reader *reader);

/* The next code point, 0 at the end; pattern_take goes past it. */
uint32_t pattern_peek(const struct pattern_reader *reader);
uint32_t pattern_take(struct pattern_reader *reader);
bool pattern_take_if(struct pattern_reader *reader, uint32_t code_point);
bool pattern_take_text(struct pattern_reader *reader, const char *text);

/* Both with the place in the pattern. */
enum status pattern_broken(struct pattern_reader *reader, const char *what);
enum status pattern_refused(struct pattern_reader *reader, const char *what);

/* Behind a backslash: an escape that stands for a character or a set. */
enum status pattern_escape(struct pattern_reader *reader, bool in_class, struct pattern_item *item) STATUS_CHECKED;

/* Behind the opening bracket: all up to the closing one. */
enum status pattern_class(struct pattern_reader *reader, bool any_case, struct unicode_set *set) STATUS_CHECKED;

/* \w outside of a class. */
void pattern_add_word(const struct pattern_reader *reader, struct unicode_set *set);

/* The characters of \p{name} and of [:name:], `name` folded: lower case, without spaces, hyphens and underscores. False
 * where the name is not known. */
bool pattern_add_category(const char *name, struct unicode_set *set);
bool pattern_add_posix(const char *name, struct unicode_set *set);

/* Whether there is another case of it; ASCII aside. */
bool pattern_has_case(uint32_t code_point);

#endif
