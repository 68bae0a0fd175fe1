/* How the services name languages and countries: Google's gl and hl, Brave's country and search_lang (its API
 * reference lists both; Japanese is "jp" there), DuckDuckGo's regions (duckduckgo.com/params), Tavily's country. */
#include "text/script.h"
#include "tools/search/internal.h"

#include <string.h>

static const struct search_locale locales[] = {
    {"zh", "cn", "zh-cn", "CN", "zh-hans", "cn-zh", "china"},
    {"ja", "jp", "ja", "JP", "jp", "jp-jp", "japan"},
    {"ko", "kr", "ko", "KR", "ko", "kr-kr", "south korea"},
    {"ru", "ru", "ru", "RU", "ru", "ru-ru", "russia"},
    {"uk", "ua", "uk", "ALL", "uk", "ua-uk", "ukraine"},
    {"be", "by", "be", "ALL", NULL, NULL, "belarus"},
    {"sr", "rs", "sr", "ALL", "sr", NULL, "serbia"},
    {"el", "gr", "el", "ALL", NULL, "gr-el", "greece"},
    {"ar", "sa", "ar", "SA", "ar", "xa-ar", "saudi arabia"},
    {"fa", "ir", "fa", "ALL", NULL, NULL, "iran"},
    {"ur", "pk", "ur", "ALL", NULL, NULL, "pakistan"},
    {"he", "il", "iw", "ALL", "he", "il-he", "israel"},
    {"hi", "in", "hi", "IN", "hi", NULL, "india"},
    {"bn", "bd", "bn", "ALL", "bn", NULL, "bangladesh"},
    {"pa", "in", "pa", "IN", "pa", NULL, "india"},
    {"gu", "in", "gu", "IN", "gu", NULL, "india"},
    {"ta", "in", "ta", "IN", "ta", NULL, "india"},
    {"te", "in", "te", "IN", "te", NULL, "india"},
    {"kn", "in", "kn", "IN", "kn", NULL, "india"},
    {"ml", "in", "ml", "IN", "ml", NULL, "india"},
    {"si", "lk", "si", "ALL", NULL, NULL, "sri lanka"},
    {"th", "th", "th", "ALL", "th", "th-th", "thailand"},
    {"lo", "la", "lo", "ALL", NULL, NULL, NULL},
    {"my", "mm", "my", "ALL", NULL, NULL, NULL},
    {"ka", "ge", "ka", "ALL", NULL, NULL, "georgia"},
    {"hy", "am", "hy", "ALL", NULL, NULL, "armenia"},
    {"am", "et", "am", "ALL", NULL, NULL, "ethiopia"},
    {"km", "kh", "km", "ALL", NULL, NULL, "cambodia"},
};

const struct search_locale *search_locale(struct str text)
{
    const struct script_locale *script = script_locale(text);
    for (size_t i = 0; script && i < sizeof locales / sizeof locales[0]; i++) {
        if (strcmp(locales[i].language, script->language) == 0)
            return &locales[i];
    }
    return NULL;
}
