/* src/cli/tokens_internal.h
 *
 * What the files of `fathom tokens` share. Not for others.
 */
#ifndef FATHOM_CLI_TOKENS_INTERNAL_H
#define FATHOM_CLI_TOKENS_INTERNAL_H

#include "cli/cli.h"
#include "text/tokenizer/tokenizer.h"

struct chat_template;

/* What is shown of a text. */
enum tokens_mode {
    TOKENS_COUNT,
    TOKENS_IDS,
    TOKENS_PIECES,
    TOKENS_TRUNCATE, /* its beginning */
    TOKENS_RENDER,   /* of a chat: the prompt */
    TOKENS_DECODE,   /* the text of ids */
};

struct tokens {
    struct cli *cli;
    enum tokens_mode mode;
    bool chat;                                 /* texts are lists of messages */
    unsigned flags;                            /* TOKENIZER_… */
    int64_t limit;                             /* TOKENS_TRUNCATE: tokens */
    const struct tokenizer *tokenizer;         /* NULL: tokens are estimated */
    const struct chat_template *chat_template; /* where `chat` */
    int64_t total;                             /* of all texts so far */
};

/* Shows one text under `name` (NULL: it is the only one) as the mode says; with --json as one line. `facts` (borrowed,
 * NULL allowed) are further members of that line. */
void tokens_show(struct tokens *tokens, const char *name, struct str text, const json_t *facts);

/* The number of tokens of a text, exact or estimated. */
int64_t tokens_count(const struct tokens *tokens, struct str text);

/* Shows a count alone; and a text alone, on stdout byte for byte. */
void tokens_show_text(struct tokens *tokens, const char *name, struct str text, int64_t count, const json_t *facts);
void tokens_show_count(struct tokens *tokens, const char *name, int64_t count, const json_t *facts);

/* tokens_decode.c: shows the text of the ids that `text` lists: numbers with blanks, commas, brackets between them.
 * False after having said what is wrong; `name` is for messages, `shown` as in tokens_show. */
bool tokens_decode(struct tokens *tokens, const char *name, const char *shown, struct str text);

/* tokens_chat.c: shows every chat of `text`: one JSON value, or one on each line. The same for the rest. */
bool tokens_chats(struct tokens *tokens, const char *name, const char *shown, struct str text);

/* Whether what was written so far arrives: no use to go on once the reader has gone. */
bool tokens_output_is_open(void);

#endif
