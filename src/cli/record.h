/* src/cli/record.h
 *
 * Files that a run writes: --events, a line of JSON as each thing happens, and --output, the result at the end. Both
 * are opened or tried before the run begins, so that a mistyped path costs nothing. "-" is stdout.
 */
#ifndef FATHOM_CLI_RECORD_H
#define FATHOM_CLI_RECORD_H

#include "core/json.h"
#include "core/status.h"

struct record {
    const char *events_path, *output_path; /* NULL where not asked for; borrowed */
    int events, output;                    /* descriptors; -1 for none. A regular --output is written at the end only */
    bool events_failed;
};

/* STATUS_IO with the path as place. Nothing to close then. */
enum status record_open(struct record *record, const char *events_path, const char *output_path,
                        struct error *error) STATUS_CHECKED;
void record_close(struct record *record);

/* Writes one event. After a failure further ones do nothing; the error is given once. */
enum status record_event(struct record *record, const json_t *event, struct error *error) STATUS_CHECKED;

/* Writes the result: whole or not at all where the path is a regular file. */
enum status record_result(struct record *record, const json_t *result, struct error *error) STATUS_CHECKED;

#endif
