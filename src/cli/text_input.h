/* src/cli/text_input.h
 *
 * A file, or stdin, as one text in memory. Large regular files are mapped, so that they need no memory of their own;
 * everything else is read.
 */
#ifndef FATHOM_CLI_TEXT_INPUT_H
#define FATHOM_CLI_TEXT_INPUT_H

#include "cli/cli.h"

struct text_input {
    const char *name; /* for messages: the path, or "standard input" */
    struct str text;  /* until text_input_close */
    struct buf read;
    void *mapped; /* NULL where the text was read */
};

/* `path` "-" is stdin. False after having said what is wrong, also when there are more than `max_bytes`, or
 * more than 1 GiB in what is no regular file. */
bool text_input_open(const struct cli *cli, const char *path, size_t max_bytes, struct text_input *out);

/* Zeroed is allowed. */
void text_input_close(struct text_input *input);

/* Reads the same piece by piece, however long it is. False after having said what is wrong. */
typedef void (*text_input_fn)(void *user, struct str piece);
bool text_input_stream(const struct cli *cli, const char *path, text_input_fn take, void *user);

#endif
