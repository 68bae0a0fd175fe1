/* src/model/builtin.h
 *
 * The built-in reader: a model client without a language model.
 *
 * It reads question, tools and observations back from the prompt it is given, as any model does, and writes completions
 * in the tag protocol: a search with a few rephrasings of the question, a visit of the best results, perhaps one more
 * search with what it learnt, and an answer made of the sentences that bear on the question, word for word, each with
 * its link. It says what it is. The same prompt gives the same completion, and nothing in it is made up.
 *
 * It needs no network, so the whole program runs without a server, and it is an honest baseline for evaluations.
 */
#ifndef FATHOM_MODEL_BUILTIN_H
#define FATHOM_MODEL_BUILTIN_H

#include <stddef.h>

#include "core/buf.h"
#include "model/client.h"

struct loop;
struct prompt_view;

#define BUILTIN_MODEL_NAME "builtin"

/* Creates a client whose completions stream on `loop` (borrowed until destroy). Never NULL. */
struct model_client *builtin_client_create(struct loop *loop);

/* Appends the completion for `prompt` to `out` (made with BUF_UNBOUNDED): what the client streams. Pure. */
void builtin_complete(const struct prompt_view *prompt, struct buf *out);

#endif
