/* src/api/setup_internal.h
 *
 * What the files of the setup share. Not for others.
 */
#ifndef FATHOM_API_SETUP_INTERNAL_H
#define FATHOM_API_SETUP_INTERNAL_H

#include "api/mcp_config.h"
#include "api/own_config.h"
#include "api/setup.h"

struct setup_server;

#define SETUP_OPENAI_ADDRESS "https://api.openai.com/v1"

struct setup_private {
    struct setup_options options;
    bool needs_search; /* nothing is configured where search could look */
    bool interrupted;
    int waiting; /* for this many callbacks before setup_prepare goes on */
    struct probe *probe;
    struct documents *documents; /* NULL until a tool needs them */
    const char **secrets;        /* borrowed from the configuration */
    size_t n_secrets, secrets_capacity;
    char **owned_secrets; /* those that the configuration does not hold in this form */
    size_t n_owned_secrets, owned_capacity;
    char **places; /* folders and inner hosts that events and results do not show */
    size_t n_places, places_capacity;
    char date[11];
    size_t tools_capacity;
    size_t n_owned; /* of the tools: the first ones are ours, the rest their servers' */
    struct own_config own;
    struct mcp_config mcp;
    struct setup_server *servers;
    size_t n_servers;
    char **left_out; /* tools: the configuration's name for one and the reason in turn */
    size_t n_left_out, left_out_capacity;
    bool published;    /* the servers' tools are known and in the list */
    int stopping;      /* servers that have not ended yet */
    struct run **runs; /* under way, to be told of changes */
    size_t n_runs, runs_capacity;
};

void setup_say(struct setup *setup, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* setup_models.c: the headers of an option as name and value; both borrow from `copies`. */
struct setup_headers {
    struct http_header *list;
    char **copies;
    size_t count;
};
void setup_headers_init(struct setup_headers *headers, const struct setup *setup, enum option_id id);
void setup_headers_finish(struct setup_headers *headers);

/* setup_models.c: clients for what is configured. The agent's stays NULL where it has to be looked for. */
enum status setup_create_models(struct setup *setup, struct error *error) STATUS_CHECKED;

/* setup_models.c: an agent's model where none was configured. Runs the loop. */
enum status setup_find_model(struct setup *setup, struct error *error) STATUS_CHECKED;

/* setup_models.c: names and windows. Runs the loop. */
void setup_prepare_models(struct setup *setup);

/* setup_media.c: the transcription client, as far as one is configured: by an address, or by a model at the agent's. */
enum status setup_create_transcription(struct setup *setup, const char *const *agent_urls, size_t n_agent_urls,
                                       bool with_keys, struct error *error) STATUS_CHECKED;

/* setup_files.c: what reads documents for all tools; made when first asked for. */
struct documents *setup_documents(struct setup *setup);

/* setup_files.c: parse_file. `signature` is empty where the embedded one holds. */
enum status setup_create_parse_file(struct setup *setup, struct str signature, struct tool **out,
                                    struct error *error) STATUS_CHECKED;

/* setup_files.c: whether the user handed files over. */
bool setup_has_files(const struct setup *setup);

/* setup_models.c: the key for one of a role's addresses, which option `address` gave, and a word about one that stays
 * here. NULL for none. */
const char *setup_role_key(struct setup *setup, enum option_id own, enum option_id address, const char *url);

/* setup_tools.c */
enum status setup_create_tools(struct setup *setup, struct error *error) STATUS_CHECKED;

/* setup_own.c: what the configuration says of own tools and MCP servers. */
enum status setup_read_own(struct setup *setup, struct error *error) STATUS_CHECKED;

/* setup_own.c: whether an own tool or an MCP server goes by this name. */
bool setup_names_own(const struct setup *setup, const char *name);

/* setup_own.c: makes the own tools. */
enum status setup_create_own(struct setup *setup, struct error *error) STATUS_CHECKED;

/* setup_mcp.c: starts the servers, each of which is waited for; then takes their tools in. STATUS_UNSUPPORTED when a
 * required one failed. */
void setup_start_mcp(struct setup *setup);
enum status setup_publish_mcp(struct setup *setup, struct error *error) STATUS_CHECKED;

/* setup_mcp.c: ends them. Runs the loop. */
void setup_end_mcp(struct setup *setup);

/* setup.c: puts a tool behind the others. */
void setup_add_tool(struct setup *setup, struct tool *tool);

/* setup.c: remembers a key, so that nothing a model sees can show it. NULL is allowed; borrowed. */
void setup_add_secret(struct setup *setup, const char *secret);

/* setup_tools.c: a key for a tool's service at `url` (NULL: the provider's own address), and a word about one that
 * stays here. */
const char *setup_service_key(struct setup *setup, enum option_id key, enum option_id address, const char *url);

/* setup_scholar.c: google_scholar. `signature` is empty where the embedded one holds. */
enum status setup_create_scholar(struct setup *setup, struct str signature, struct tool **out,
                                 struct error *error) STATUS_CHECKED;

/* setup_python.c: PythonInterpreter. `signature` is empty where the embedded one holds. Where programs cannot be run
 * safely here, *out is NULL, and why is said. */
enum status setup_create_python(struct setup *setup, struct str signature, struct tool **out,
                                struct error *error) STATUS_CHECKED;

/* setup_own.c: notes, and says, that a tool is not there. `place` is the configuration's name for it. */
void setup_leave_out(struct setup *setup, const char *place, const char *why);

/* setup_secrets.c: what the configuration names that must not be shown: keys, passwords in addresses; folders and
 * hosts.
 */
void setup_find_secrets(struct setup *setup);
void setup_forget_secrets(struct setup *setup);

/* setup.c: runs the loop until `waiting` is 0 or somebody interrupts. */
void setup_wait(struct setup *setup);

/* setup.c: loads the profile for a model's name, unless one is loaded. */
enum status setup_load_profile(struct setup *setup, const char *model, struct error *error) STATUS_CHECKED;

/* Sets the error's place to where the option's value came from. */
enum status setup_blame(const struct setup *setup, enum option_id id, enum status status, struct error *error);

#endif
