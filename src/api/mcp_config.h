/* src/api/mcp_config.h
 *
 * The options `mcp-servers` and `mcp`: from a configuration to what tools/mcp needs.
 *
 *     mcp-servers:
 *       files:
 *         command: npx
 *         args: [-y, "@modelcontextprotocol/server-filesystem", /data]
 *         env: {LOG: warn}                # "${NAME}" and "${NAME:-else}" are variables of the environment
 *         cwd: /data
 *       wiki:
 *         url: https://wiki.example.org/mcp
 *         headers: {Authorization: "Bearer ${WIKI_TOKEN}"}
 *         tools: [search_pages]           # these alone
 *         permission: ask                 # allow, ask, deny
 *         timeout: 60s                    # without a sign of life; max-timeout for a call as a whole
 *         required: true                  # no run without it
 *
 * and besides: max-timeout, startup-timeout, max-output-tokens, confinement (none unless said otherwise), readable,
 * writable, roots, disabled. The "mcpServers" object that other clients keep in a JSON file is understood as it is,
 * what they add to it is passed over.
 */
#ifndef FATHOM_API_MCP_CONFIG_H
#define FATHOM_API_MCP_CONFIG_H

#include "api/own_config.h"
#include "tools/mcp/mcp.h"

struct mcp_config_server {
    struct mcp_options options; /* points into the configuration's memory; http is not set */
    bool required;
    bool left_out; /* disabled, or permission: deny */
};

struct mcp_config {
    struct mcp_config_server *servers;
    size_t count, capacity;
    struct settings_memory memory;
};

/* Reads the object of `mcp-servers`. A server that was read before under the same name stays. STATUS_INVALID; the
 * message begins with the place. */
enum status mcp_config_read(struct mcp_config *config, const json_t *object, const struct config_place *where,
                            struct error *error) STATUS_CHECKED;

/* Adds what `--mcp` says: an address, a JSON file with "mcpServers", or a command with its words separated by blanks
 * ("…" and '…' keep them together); before the latter two and an address may stand NAME=. */
enum status mcp_config_add(struct mcp_config *config, const char *text, struct error *error) STATUS_CHECKED;

void mcp_config_finish(struct mcp_config *config); /* zeroed is allowed */

#endif
