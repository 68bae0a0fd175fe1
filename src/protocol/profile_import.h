/* src/protocol/profile_import.h
 *
 * Makes a profile out of a user's own clone of the reference implementation (github.com/Alibaba-NLP/DeepResearch), so
 * that published results can be reproduced with its very prompts. They stand in a prompt.py as SYSTEM_PROMPT (to which
 * the program appends the date), EXTRACTOR_PROMPT (a str.format template for the page summary) and, with the models
 * that take their tools from the user message, USER_PROMPT (before the question).
 */
#ifndef FATHOM_PROTOCOL_PROFILE_IMPORT_H
#define FATHOM_PROTOCOL_PROFILE_IMPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/buf.h"
#include "core/status.h"

struct profile_import {
    char *source;                                     /* the prompt.py that was read */
    struct buf others;                                /* further ones that were found and not read, one a line */
    char *system_name, *question_name, *summary_name; /* the Python names taken; NULL where there is none */
    size_t system_bytes, question_bytes, summary_bytes;
    bool system_has_date; /* the system prompt ends in a label for the date, which is put behind it alone */
};

/* Reads the clone (or a folder in it, or a prompt.py itself) at `from` and writes a profile into the folder `into`,
 * which is made and must be empty. The prompts' files are byte for byte the strings that Python sees. Fills *report,
 * which the caller finishes.
 *
 * STATUS_NOT_FOUND when there is no prompt.py, or no system prompt in it; STATUS_UNSUPPORTED when a prompt is not a
 * constant string (file, line and column); STATUS_SYNTAX, STATUS_TOO_BIG for a file that is no Python source;
 * STATUS_INVALID when `into` is not empty or the prompts do not make a profile; STATUS_IO. */
enum status profile_import(const char *from, const char *into, struct profile_import *report,
                           struct error *error) STATUS_CHECKED;

/* Zeroed is allowed. */
void profile_import_finish(struct profile_import *report);

#endif
