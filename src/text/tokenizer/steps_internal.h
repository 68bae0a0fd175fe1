/* src/text/tokenizer/steps_internal.h
 *
 * What IMAGE_STEPS holds, and the same opened. The section: a head, the records of normalizers, pre-tokenizers and
 * decoders in order, the texts behind one another.
 */
#ifndef FATHOM_TEXT_TOKENIZER_STEPS_INTERNAL_H
#define FATHOM_TEXT_TOKENIZER_STEPS_INTERNAL_H

#include "text/tokenizer/normalize.h"
#include "text/tokenizer/splitter.h"
#include "text/tokenizer/steps.h"

enum step_flags {
    STEP_REGEX = 1, /* the pattern is one */
    STEP_LEFT = 2,
    STEP_RIGHT = 4,
    STEP_INVERT = 8,
    STEP_PREFIX_SPACE = 16,
    STEP_USE_REGEX = 32,
    STEP_INDIVIDUAL = 64,
    STEP_SPLIT = 128,
    STEP_TIKTOKEN = 256, /* the pattern is tiktoken's */
};

struct steps_head {
    uint32_t n_normalizers, n_pre_tokenizers, n_decoders;
    uint32_t byte_level; /* the vocabulary's texts are bytes */
};

struct step_record {
    uint32_t kind; /* of the enum of its place */
    uint32_t flags;
    uint32_t pattern, pattern_len;
    uint32_t text, text_len;
    uint32_t behavior; /* enum split_behavior */
    uint32_t prepend;  /* enum metaspace_prepend */
    uint32_t start, stop;
};

struct step {
    const struct step_record *record; /* borrowed */
    struct str pattern, text;         /* borrowed */
    struct splitter *splitter;        /* of the pattern; NULL where there is none */
    struct charsmap *charsmap;        /* NORMALIZER_PRECOMPILED */
};

struct steps {
    const struct steps_head *head; /* borrowed */
    struct step *all;
    struct step *normalizers, *pre_tokenizers, *decoders; /* in `all` */
    const struct splitter *single;                        /* see steps_splitter */
    struct buf own;                                       /* the section, where no image holds it */
};

/* `section` is borrowed. */
enum status steps_open_section(struct str section, struct steps **out, struct error *error) STATUS_CHECKED;

/* Every match of the step's pattern becomes its text. */
struct str step_replace(const struct step *step, struct str text, struct buf *out);

#endif
