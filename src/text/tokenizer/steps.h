/* src/text/tokenizer/steps.h
 *
 * What happens to text before the model sees it (normalizers, pre-tokenizers), and to tokens on their way back
 * (decoders).
 */
#ifndef FATHOM_TEXT_TOKENIZER_STEPS_H
#define FATHOM_TEXT_TOKENIZER_STEPS_H

#include "text/tokenizer/image.h"
#include "text/tokenizer/spec.h"
#include "text/tokenizer/splitter.h"

struct steps;

enum status steps_compile(const struct tokenizer_spec *spec, struct image_writer *image,
                          struct error *error) STATUS_CHECKED;

/* Creates the splitters too: cheap where they are written by hand, some milliseconds where PCRE2 compiles a pattern. */
enum status steps_open(const struct image *image, struct steps **out, struct error *error) STATUS_CHECKED;
void steps_destroy(struct steps *steps);

/* The steps of a spec without an image, for the time of compiling: an added token that is looked for in normalized text
 * is normalized itself. */
enum status steps_from_spec(const struct tokenizer_spec *spec, struct steps **out, struct error *error) STATUS_CHECKED;

/* The normalizers. Gives `text` itself back where nothing changes, else what it put into `scratch` (unbounded, emptied
 * first). */
struct str steps_normalize(const struct steps *steps, struct str text, struct buf *scratch);

/* The same, of a text that NFC is known to leave as it is. */
struct str steps_normalize_composed(const struct steps *steps, struct str text, struct buf *scratch);

/* Where all that happens before the model is bytes as they are and one pattern that covers all, or several that have a
 * splitter together: the splitter, so that a caller can go through the text without copies. NULL elsewhere. */
const struct splitter *steps_splitter(const struct steps *steps);

/* The pre-tokenizers in general: calls `take` with batches of pieces of some text, in order. `text` is normalized. */
typedef void (*steps_take_fn)(void *user, const char *text, const struct split_piece *pieces, size_t n);
void steps_pre_tokenize(const struct steps *steps, struct str text, bool first, steps_take_fn take, void *user);

/* Whether a pattern needed too much for some text since the steps were opened (splitter.h), and which: borrowed. */
bool steps_gave_up(const struct steps *steps, struct str *pattern);

/* The decoders: joins the texts of tokens. `texts` are as in the vocabulary. */
void steps_decode(const struct steps *steps, const struct str *texts, size_t count, struct buf *out);

#endif
