/* src/text/html/features.h
 *
 * What the model of content (content_model.inc) looks at: a row of numbers for each block of a page. The model is
 * trained on what this computes, so after a change here it is to be trained anew (scripts/train-content).
 */
#ifndef FATHOM_TEXT_HTML_FEATURES_H
#define FATHOM_TEXT_HTML_FEATURES_H

#include "text/html/blocks.h"

#define FEATURE_LEVELS 5 /* elements around a block that are looked at, its own included */

enum html_feature {
#define FEATURE(name) FEATURE_##name,
#include "text/html/features.inc"
#undef FEATURE
    HTML_FEATURES
};

/* "LENGTH" for FEATURE_LENGTH. Static. */
const char *html_feature_name(enum html_feature feature);

struct html_features {
    const struct html_blocks *blocks;
    struct html_surroundings *surroundings;
};

/* Prepares what is needed for all rows; linear in the page. `blocks` must outlive it. */
void html_features_init(const struct html_blocks *blocks, struct html_features *out);
void html_features_finish(struct html_features *features);

/* Fills the row of one block. */
void html_features_fill(const struct html_features *features, uint32_t block, float row[HTML_FEATURES]);

#endif
