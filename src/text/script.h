/* src/text/script.h
 *
 * In which language a short text, such as a query, probably is, judged by its script alone: for asking a search
 * service for results in that language. A word in Latin letters tells nothing.
 */
#ifndef FATHOM_TEXT_SCRIPT_H
#define FATHOM_TEXT_SCRIPT_H

#include "core/str.h"

/* Where readers of a script are. Static. */
struct script_locale {
    const char *language; /* ISO 639-1: "zh" */
    const char *country;  /* ISO 3166-1, lower case, the one with most readers: "cn" */
};

/* The locale of the script that `text` (UTF-8; invalid bytes tell nothing) is written in, NULL for Latin letters and
 * for what has no letters.
 *
 * Han characters are Chinese, or Japanese where kana stand among them; Hangul is Korean; one character is enough for
 * these. Of alphabets a word of three letters is needed where Latin letters stand beside it, since "π", "μ" and "Δ" are
 * no Greek. Of several scripts the one with most letters counts. Letters that only one language has tell the languages
 * of a script apart: Ukrainian, Belarusian and Serbian from Russian, Persian and Urdu from Arabic. */
const struct script_locale *script_locale(struct str text);

#endif
