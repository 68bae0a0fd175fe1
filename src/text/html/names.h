/* src/text/html/names.h
 *
 * What the words of a class or id tell about an element. People name parts of pages alike everywhere ("sidebar",
 * "related", "entry-content"), so words are gathered into a few kinds; what a kind means for a text is not decided here
 * but learned (content_model.inc).
 */
#ifndef FATHOM_TEXT_HTML_NAMES_H
#define FATHOM_TEXT_HTML_NAMES_H

#include "core/str.h"

enum html_name {
    NAME_NAV,
    NAME_BREADCRUMB,
    NAME_FOOTER,
    NAME_HEADER,
    NAME_SIDE,
    NAME_WIDGET,
    NAME_COMMENT,
    NAME_SHARE,
    NAME_RELATED,
    NAME_AD,
    NAME_CONSENT,
    NAME_SIGNUP,
    NAME_MODAL,
    NAME_META,
    NAME_AUTHOR,
    NAME_TAG,
    NAME_PAGER,
    NAME_CAPTION,
    NAME_MEDIA,
    NAME_TOC,
    NAME_CONTENT,
    NAME_TEXT,
    NAME_TITLE,
    NAME_SUMMARY,
    NAME_PRODUCT,
    NAME_SPEC,
    NAME_REVIEW,
    NAME_CARD,
    NAME_FORUM,
    NAME_FAQ,
    NAME_FORM,
    NAME_HERO,
    HTML_NAMES
};

struct html_names {
    uint16_t slots[1024]; /* into the table of words, 0 for none */
};

/* Fills the look-up table; a few microseconds. */
void html_names_init(struct html_names *names);

/* Bits (1u << enum html_name) of the words in a class or id. Words end at anything but a letter, and before a capital
 * behind a small letter; letters of any case. Linear; of values beyond 1 KiB only the beginning is read. */
uint32_t html_names_find(const struct html_names *names, struct str value);

#endif
