/* src/protocol/profile_internal.h
 *
 * What the files of the profile module share: profile.c (finding and loading), profile_settings.c (profile.yaml) and
 * profile_render.c (placeholders). For nobody else.
 */
#ifndef FATHOM_PROTOCOL_PROFILE_INTERNAL_H
#define FATHOM_PROTOCOL_PROFILE_INTERNAL_H

#include "protocol/profile.h"

#define PROFILE_FILE_MAX (1u << 20) /* bytes of one file of a profile */

enum prompt_syntax {
    SYNTAX_FATHOM,   /* {name}, as profile.h says */
    SYNTAX_PYTHON,   /* as Python's str.format takes it: {name}, {{ and }}; the file's last newline counts */
    SYNTAX_VERBATIM, /* no placeholders; the last newline counts */
};

struct prompt_text {
    char *file; /* relative to the folder; NULL: the prompt's name with ".md" */
    enum prompt_syntax syntax;
    char *append; /* put behind the file's text, in SYNTAX_FATHOM; NULL for nothing */
    char *origin; /* where the text was found; NULL until it was */
    char *text;
    size_t len;
};

/* What the prompt says of one tool when the run has it. */
struct tool_note {
    char *tool, *origin, *text;
};

struct profile_prompts {
    struct prompt_text texts[PROMPT_COUNT];
    struct tool_note *notes;
    size_t n_notes, notes_capacity;
    char *base;    /* as profile.yaml says it; NULL for none */
    char **models; /* patterns of model names; not inherited */
    size_t n_models, models_capacity;
};

/* Reads a profile.yaml over what `profile` holds already; `place` names the file in errors. A `prompts` entry resets
 * what was known of that prompt. STATUS_SYNTAX, STATUS_INVALID with line and column. */
enum status profile_settings_read(struct profile *profile, struct str yaml, const char *place,
                                  struct error *error) STATUS_CHECKED;

/* The settings as an object with the keys and words of profile.yaml. */
json_t *profile_settings_to_json(const struct profile *profile);

/* The word for a syntax in profile.yaml. */
const char *profile_syntax_name(enum prompt_syntax syntax);

/* Checks that a text and what is put behind it use only the placeholders of `id`. STATUS_INVALID with line and column.
 */
enum status profile_check_placeholders(enum prompt_id id, const struct prompt_text *text,
                                       struct error *error) STATUS_CHECKED;

/* The prompt of that name, PROMPT_COUNT when there is none. */
enum prompt_id profile_prompt_find(struct str name);

#endif
