/* src/text/html/element.h
 *
 * The elements and attributes that the page reader knows by number. Names are those of the HTML Standard and of MathML
 * Core; everything else is HTML_OTHER, an inline element without a meaning of its own.
 */
#ifndef FATHOM_TEXT_HTML_ELEMENT_H
#define FATHOM_TEXT_HTML_ELEMENT_H

#include "core/str.h"

enum html_element {
    HTML_TEXT, /* no element: a run of characters */
    HTML_OTHER,
#define ELEMENT(id, name, flags) HTML_##id,
#include "text/html/element.inc"
#undef ELEMENT
    HTML_ELEMENTS
};

enum html_element_flag {
    ELEMENT_BLOCK = 1,        /* begins and ends a line */
    ELEMENT_VOID = 2,         /* has no contents and no end tag */
    ELEMENT_RAW = 4,          /* its contents are characters to the parser, entities are not decoded */
    ELEMENT_RAW_DECODED = 8,  /* the same, but entities are decoded */
    ELEMENT_SILENT = 16,      /* never part of a text: scripts, controls, embedded things */
    ELEMENT_HEADING = 32,     /* h1 to h6 */
    ELEMENT_FURNITURE = 64,   /* nav, footer, aside: around the content by its name */
    ELEMENT_CLOSES_P = 128,   /* an open paragraph ends where it begins */
    ELEMENT_SCOPE = 256,      /* end tags do not reach across it */
    ELEMENT_TABLE_PART = 512, /* ends only within its table */
    ELEMENT_IN_HEAD = 1024,   /* may stand in <head> */
    ELEMENT_MATH = 2048,      /* of MathML */
};

/* Bits of enum html_element_flag. */
unsigned html_flags(enum html_element element);

/* By name, in letters of any case. HTML_OTHER when it is unknown. */
enum html_element html_element_named(struct str name);

/* Lower case; "" for HTML_TEXT and HTML_OTHER. Static. */
const char *html_element_name(enum html_element element);

enum html_attribute {
    HTML_NO_ATTRIBUTE,
#define ATTRIBUTE(id, name) HTML_ATTRIBUTE_##id,
#include "text/html/attribute.inc"
#undef ATTRIBUTE
    HTML_ATTRIBUTES
};

/* By name, in letters of any case. HTML_NO_ATTRIBUTE when nobody reads it. */
enum html_attribute html_attribute_named(struct str name);

#endif
