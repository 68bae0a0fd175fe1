/* src/api/token_setup.h
 *
 * How tokens are counted, from the configuration: the model's tokenizer and its chat template. A tokenizer is opened
 * once in a process and shared by all who count with it; any thread may open and close.
 */
#ifndef FATHOM_API_TOKEN_SETUP_H
#define FATHOM_API_TOKEN_SETUP_H

#include <stdbool.h>
#include <stddef.h>

#include "api/config.h"
#include "core/buf.h"
#include "core/status.h"
#include "store/tokenizer_store.h"

struct chat_template;
struct shared_tokenizer;
struct token_counter;

/* How the chat template came about. */
enum template_choice {
    TEMPLATE_UNKNOWN,  /* neither the user nor the tokenizer's files tell */
    TEMPLATE_NAMED,    /* --chat-template, or --template where we write prompts ourselves */
    TEMPLATE_DETECTED, /* the tokenizer's files hold one that is known */
    TEMPLATE_FALLBACK, /* the default of --template */
};

struct token_setup {
    struct shared_tokenizer *shared;           /* NULL: none is configured, tokens are estimated */
    struct shared_tokenizer *summary;          /* the summary model's own; NULL: none is configured */
    const struct tokenizer *tokenizer;         /* of `shared` */
    enum tokenizer_origin origin;              /* whether it came from the cache */
    struct token_counter *counter;             /* NULL without a tokenizer */
    struct token_counter *summary_counter;     /* NULL without `summary` */
    const struct chat_template *chat_template; /* NULL: not known. Static */
    enum template_choice template_choice;
    bool unknown_template; /* the tokenizer's files hold a template, but not one that is known */
};

/* STATUS_INVALID when a tokenizer cannot be used, with the remedy and the place where it was configured. `out` is
 * zeroed then. */
enum status token_setup_open(const struct config *config, struct token_setup *out, struct error *error) STATUS_CHECKED;

/* Zeroed is allowed. No counter of it may be in use. */
void token_setup_close(struct token_setup *setup);

/* Why the cache could not be used; NULL when it could. Borrowed. */
const char *token_setup_notice(const struct token_setup *setup);

/* Appends a line about the tokenizer for people: file, kind, vocabulary, whether it came from the cache. */
void token_setup_describe(const struct token_setup *setup, struct buf *out);

#endif
