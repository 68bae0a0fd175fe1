/* src/api/setup.h
 *
 * From a configuration to working parts: loop, HTTP client, address guard, models, profile, tools, engine. Every
 * command that does something uses it, and so does the public API.
 *
 * setup_create makes what needs no network and finds what is wrong with the configuration. setup_prepare then looks for
 * a model where none is configured, learns names and windows, and chooses the profile. Everything belongs to the setup
 * and lives until setup_destroy; one thread.
 */
#ifndef FATHOM_API_SETUP_H
#define FATHOM_API_SETUP_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/config.h"
#include "api/config.h"
#include "api/token_setup.h"
#include "core/status.h"
#include "core/str.h"
#include "net/guard.h"
#include "protocol/generation.h"
#include "tools/visit/visit.h"

struct engine;
struct http_client;
struct loop;
struct model_client;
struct profile;
struct run;
struct run_options;
struct tool;
struct transcription_client;

/* Which parts a command needs; the rest is not made, and what is wrong with it does not matter. */
enum setup_part {
    SETUP_MODEL = 1, /* the models; without it completions fail in words */
    SETUP_TOOLS = 2, /* the tools that `tools` names, own tools and MCP servers */
};

/* How the agent's model came about. */
enum setup_model_choice {
    SETUP_MODEL_NONE,       /* not asked for, or not prepared yet */
    SETUP_MODEL_CONFIGURED, /* an address, or a key for api.openai.com */
    SETUP_MODEL_FOUND,      /* a server on this machine */
    SETUP_MODEL_BUILTIN,    /* asked for by name, or for want of anything else */
};

struct setup_options {
    unsigned parts;           /* SETUP_… */
    const char *const *tools; /* these instead of the configured ones; NULL: the configured ones */
    size_t n_tools;
    const char *const *files; /* with n_files > 0: parse_file reads these instead of the configured files and folders */
    size_t n_files;
    visit_take_fn take_page; /* pages that visit reads go there in place of being summed up; NULL: none does */
    void *take_user;
    bool no_probe;   /* never look for servers on this machine */
    bool any_corpus; /* go on with a corpus that cannot be opened: its user says so itself */

    /* One sentence for a person: what was chosen for want of configuration and how to choose otherwise. NULL for
     * silence. */
    void (*say)(void *user, const char *sentence);
    void *user;
};

struct setup {
    const struct config *config; /* borrowed */
    struct loop *loop;
    struct http_client *http;
    struct guard guard;
    struct model_client *models[MODEL_ROLE_COUNT]; /* summary is NULL where the agent's serves it, vision where images
                                                      are shown to none, transcription always */
    struct transcription_client *transcription;    /* NULL where nothing is transcribed */
    enum setup_model_choice model_choice;
    struct token_setup tokens; /* with SETUP_MODEL */
    struct profile *profile;   /* after setup_prepare */
    bool profile_by_model;     /* chosen by the model's name */
    struct tool **tools; /* built-in ones, own ones, after setup_prepare those of MCP servers; changes as they do */
    size_t n_tools;
    struct engine *engine; /* after setup_prepare */
    char config_hash[65];
    struct setup_private *private;
};

/* STATUS_INVALID for what the configuration has wrong; the error's place is where the value came from. Also
 * STATUS_NOT_FOUND, STATUS_SYNTAX, STATUS_IO for a profile. `config` is borrowed until setup_destroy. */
enum status setup_create(const struct config *config, const struct setup_options *options, struct setup **out,
                         struct error *error) STATUS_CHECKED;

/* Runs the loop until everything is known; some 300 ms at most for looking, 3 s for a server that is slow to say its
 * window, and what the MCP servers' start takes. STATUS_INVALID when no model fits what was asked for; STATUS_CANCELED
 * after setup_interrupt. */
enum status setup_prepare(struct setup *setup, struct error *error) STATUS_CHECKED;

/* The chat template that the agent's prompts are counted with, after setup_prepare: configured, detected, or learnt
 * from the server. NULL: not known, and then counts of prompts rest on the server's reports. */
const struct chat_template *setup_chat_template(const struct setup *setup);

/* Makes setup_prepare return soon. On the loop's thread, from a signal's callback for example. */
void setup_interrupt(struct setup *setup);

/* NULL is allowed. No run may be under way. MCP servers are ended in an orderly way: up to 3 s. */
void setup_destroy(struct setup *setup);

/* What a run of this setup needs but for question and callbacks. After setup_prepare. Strings are borrowed from the
 * setup. */
void setup_run_options(const struct setup *setup, struct run_options *out);

/* Has a run told when the tools change, from its start to its end. */
void setup_follow(struct setup *setup, struct run *run);
void setup_unfollow(struct setup *setup, const struct run *run);

/* What became of the MCP servers, after setup_prepare, and of own tools that had to be left out: the configuration's
 * name
 * ("mcp-servers.files"), and one line. False when it does not work; the line says why. */
size_t setup_extra_count(const struct setup *setup);
bool setup_extra_describe(const struct setup *setup, size_t index, struct buf *name, struct buf *line);

#endif
