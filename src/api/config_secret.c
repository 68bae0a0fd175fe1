/* src/api/config_secret.c: which secret may go to which address. */
#include "api/config_internal.h"

#include <stdlib.h>
#include <string.h>

#include "net/url.h"

static bool any_same_origin(const struct config_value *addresses, const char *url)
{
    for (size_t i = 0; i < addresses->count; i++) {
        if (url_same_origin(str_of(addresses->texts[i]), str_of(url)))
            return true;
    }
    return false;
}

/* Whether `url` may have the secret that `source` gave; else *owner is the address it belongs to. */
static bool belongs_to(const struct config *config, enum option_id secret, enum config_source source,
                       enum option_id address, const char *url, const char **owner)
{
    const struct config_value *beside = &config->values[address][source];
    if (strcmp(config->values[secret][source].origin, "OPENAI_API_KEY") == 0) {
        *owner = config->openai_base_url; /* whatever FATHOM_BASE_URL says */
        return *owner == NULL || url_same_origin(str_of(*owner), str_of(url));
    }
    if (!beside->set)
        return true;
    *owner = beside->texts[0];
    return any_same_origin(beside, url);
}

const char *config_secret_for(const struct config *config, enum option_id secret, enum option_id address,
                              const char *url, struct buf *why)
{
    if (!config_is_set(config, secret))
        return NULL;
    enum config_source source = config_source(config, secret);
    const struct config_value *key = &config->values[secret][source];
    const char *owner = NULL;
    char *shown = url_without_credentials(str_of(url));
    bool allowed = true;
    if (config->file_was_found && source == CONFIG_ENVIRONMENT && config_source(config, address) == CONFIG_FILE) {
        allowed = false;
        if (why != NULL)
            buf_addf(why,
                     "%s is not sent to %s, an address from a fathom.yaml that merely lies in this folder: where you "
                     "trust it, say --config fathom.yaml, or keep the key in that file",
                     key->origin, shown);
    } else if (!belongs_to(config, secret, source, address, url, &owner)) {
        allowed = false;
        char *belongs = url_without_credentials(str_of(owner));
        if (why != NULL)
            buf_addf(why, "%s is not sent to %s: it belongs to %s; give --%s for the other address", key->origin, shown,
                     belongs, option_spec(secret)->name);
        free(belongs);
    }
    free(shown);
    return allowed ? key->texts[0] : NULL;
}
