/* src/store/statements.h
 *
 * SQL that is kept in files of its own: embedded files in which each statement stands behind a line "-- name: …".
 */
#ifndef FATHOM_STORE_STATEMENTS_H
#define FATHOM_STORE_STATEMENTS_H

#include "core/str.h"

/* The text of one statement of the embedded file `path` ("src/store/corpus_statements.sql"): what stands between its
 * name and the next. Empty when there is none. */
struct str statement_text(const char *path, const char *name);

#endif
