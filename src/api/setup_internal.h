/* src/api/setup_internal.h
 *
 * What the files of the setup share. Not for others.
 */
#ifndef FATHOM_API_SETUP_INTERNAL_H
#define FATHOM_API_SETUP_INTERNAL_H

#include "api/setup.h"

#define SETUP_OPENAI_ADDRESS "https://api.openai.com/v1"

struct setup_private {
    struct setup_options options;
    bool needs_search; /* nothing is configured where search could look */
    bool interrupted;
    int waiting; /* for this many callbacks before setup_prepare goes on */
    struct probe *probe;
    const char **secrets; /* borrowed from the configuration */
    size_t n_secrets, secrets_capacity;
    char date[11];
};

void setup_say(struct setup *setup, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* setup_models.c: clients for what is configured. The agent's stays NULL where it has to be looked for. */
enum status setup_create_models(struct setup *setup, struct error *error) STATUS_CHECKED;

/* setup_models.c: an agent's model where none was configured. Runs the loop. */
enum status setup_find_model(struct setup *setup, struct error *error) STATUS_CHECKED;

/* setup_models.c: names and windows. Runs the loop. */
void setup_prepare_models(struct setup *setup);

/* setup_tools.c */
enum status setup_create_tools(struct setup *setup, struct error *error) STATUS_CHECKED;

/* setup.c: runs the loop until `waiting` is 0 or somebody interrupts. */
void setup_wait(struct setup *setup);

/* setup.c: loads the profile for a model's name, unless one is loaded. */
enum status setup_load_profile(struct setup *setup, const char *model, struct error *error) STATUS_CHECKED;

/* Sets the error's place to where the option's value came from. */
enum status setup_blame(const struct setup *setup, enum option_id id, enum status status, struct error *error);

#endif
