/* src/text/html/features_internal.h
 *
 * What features.c (fills the rows) and features_page.c (looks at the page as a whole) share. Not for other modules.
 */
#ifndef FATHOM_TEXT_HTML_FEATURES_INTERNAL_H
#define FATHOM_TEXT_HTML_FEATURES_INTERNAL_H

#include "text/html/features.h"

/* Elements of one parent that look alike: the same element and class. */
struct alike {
    uint32_t parent, signature; /* signature 0: free */
    uint32_t count;
    uint64_t length, link_length, plain;
    uint32_t from, to; /* blocks */
};

struct html_surroundings {
    struct alike *alike;
    size_t alike_mask;
    uint32_t *since_running, *until_running;             /* blocks, per block */
    uint32_t *heading;                                   /* index + 1 of the heading above, per block */
    uint32_t title;                                      /* index of the first h1 block; count when there is none */
    uint32_t core, half, marked, plain_core, plain_half; /* nodes */
    struct alike *group;       /* the elements that hold most plain text, NULL when none are alike */
    uint32_t title_element;    /* of that block; 0 when there is none */
    float page[HTML_FEATURES]; /* those of the page as a whole */
};

static inline float feature_share(uint64_t part, uint64_t whole)
{
    return whole ? (float)part / (float)whole : 0;
}

/* Looks at the whole page; features_page.c. What is in `out` is to be freed by html_features_finish(). */
void features_page_gather(struct html_surroundings *out, const struct html_blocks *blocks);

/* The group of an element; of one without text, a free slot. */
const struct alike *features_find_alike(const struct html_surroundings *around, const struct html_blocks *blocks,
                                        uint32_t node);

#endif
