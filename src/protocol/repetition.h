/* src/protocol/repetition.h
 *
 * Notices a completion that has fallen into a loop: the last 50 characters repeated more than 5 times, without a gap
 * (protocol.md, "Reading a completion"). A loop of any period up to REPETITION_MAX_PERIOD characters counts; what
 * repeats has to be at least REPETITION_MIN_PERIOD characters, so shorter periods count as the multiple that reaches
 * it: "ha" over and over is a loop once 300 characters of it stand in a row.
 *
 * Blank stretches and rules ("-----", "| | |") are used by tables and code: a repeated unit without a letter or digit
 * has to reach four times the length.
 *
 * Characters are code points; any chunking gives the same result; a few operations a byte, memory constant.
 */
#ifndef FATHOM_PROTOCOL_REPETITION_H
#define FATHOM_PROTOCOL_REPETITION_H

#include <stdbool.h>
#include <stddef.h>

#include "core/str.h"

#define REPETITION_MIN_PERIOD 50
#define REPETITION_MAX_PERIOD 2000
#define REPETITION_TIMES      6 /* the unit stands this often: more than 5 */

struct repetition;

struct repetition *repetition_create(void);
void repetition_destroy(struct repetition *repetition); /* NULL is allowed */
void repetition_reset(struct repetition *repetition);

/* Takes more text, cut anywhere. True once a loop was seen, and from then on. */
bool repetition_feed(struct repetition *repetition, struct str bytes);

/* Bytes fed up to and including the one that completed the loop; 0 while there is none. */
size_t repetition_offset(const struct repetition *repetition);

#endif
