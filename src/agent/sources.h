/* src/agent/sources.h
 *
 * The pages that a run's tools have shown to the model, each once, in the order they were first seen, and which of them
 * an answer names.
 *
 * Two links are the same page when they differ in nothing but http or https, a leading "www.", the case of ASCII
 * letters in the host, the fragment, or a slash at the end. Links of other schemes are compared as they are.
 */
#ifndef FATHOM_AGENT_SOURCES_H
#define FATHOM_AGENT_SOURCES_H

#include <stddef.h>
#include <stdint.h>

#include "agent/result.h"
#include "core/str.h"

#define SOURCES_MAX 4096 /* pages beyond these, and links above 4,096 bytes, are not noted */

struct sources; /* owns its texts */

struct sources *sources_create(void);
void sources_destroy(struct sources *sources); /* NULL is allowed */

/* Notes a page. A page seen before keeps its round; it gets the title if it had none. An empty url is ignored. */
void sources_add(struct sources *sources, struct str url, struct str title, int64_t round);

/* Marks every page whose link stands in `prediction`, under any of the spellings above. */
void sources_mark_cited(struct sources *sources, struct str prediction);

/* Borrowed until the next sources_add or sources_destroy. */
const struct result_source *sources_list(const struct sources *sources, size_t *count);

#endif
