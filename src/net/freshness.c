#include "net/freshness.h"

#include <string.h>

#include "net/http_date.h"

/* ---- Cache-Control ---- */

struct directives {
    bool no_store, no_cache, must_revalidate, has_max_age;
    int64_t max_age;
};

/* Seconds as RFC 9111, 1.2.2 has them: digits alone, anything beyond the largest is the largest. -1 for what is none.
 */
static int64_t read_seconds(struct str text)
{
    int64_t value = 0;
    text = str_trim(text);
    if (text.len == 0)
        return -1;
    for (size_t i = 0; i < text.len; i++) {
        if (!ascii_is_digit(text.data[i]))
            return -1;
        value = value * 10 + (text.data[i] - '0');
        if (value > FRESHNESS_MAX_S)
            value = FRESHNESS_MAX_S;
    }
    return value;
}

/* Takes "name", "name=token" or "name=\"quoted\"" off the front of a list. False at its end. */
static bool next_directive(struct str *rest, struct str *name, struct str *value)
{
    while (rest->len > 0 && (rest->data[0] == ',' || ascii_is_space(rest->data[0])))
        *rest = str_slice(*rest, 1, rest->len);
    if (rest->len == 0)
        return false;
    size_t end = 0;
    bool quoted = false;
    for (; end < rest->len && (quoted || rest->data[end] != ','); end++) {
        if (quoted && rest->data[end] == '\\' && end + 1 < rest->len)
            end++;
        else if (rest->data[end] == '"')
            quoted = !quoted;
    }
    struct str item = str_trim(str_slice(*rest, 0, end));
    size_t equals = str_find_char(item, '=', 0);
    *name = str_trim(str_slice(item, 0, equals));
    *value = equals == STR_NONE ? (struct str){0} : str_trim(str_slice(item, equals + 1, item.len));
    if (value->len >= 2 && value->data[0] == '"' && value->data[value->len - 1] == '"')
        *value = str_slice(*value, 1, value->len - 1);
    *rest = str_slice(*rest, end, rest->len);
    return true;
}

static struct directives read_directives(const struct freshness_headers *headers)
{
    struct directives found = {0};
    struct str rest = str_of(headers->cache_control), name, value;
    while (next_directive(&rest, &name, &value)) {
        if (str_equal_ascii_nocase(name, STR("no-store"))) {
            found.no_store = true;
        } else if (str_equal_ascii_nocase(name, STR("no-cache"))) {
            found.no_cache = true; /* with field names, too: what these hold is not kept apart here */
        } else if (str_equal_ascii_nocase(name, STR("must-revalidate"))) {
            found.must_revalidate = true;
        } else if (str_equal_ascii_nocase(name, STR("max-age"))) {
            int64_t seconds = read_seconds(value);
            if (seconds < 0) /* not a number: stale (RFC 9111, 4.2.1) */
                seconds = 0;
            if (!found.has_max_age || seconds < found.max_age) /* of two that contradict each other the shorter */
                found.max_age = seconds;
            found.has_max_age = true;
        }
    }
    if (!headers->cache_control && headers->pragma && str_find_nocase(str_of(headers->pragma), STR("no-cache"), 0) == 0)
        found.no_cache = true;
    return found;
}

/* ---- Vary ---- */

/* Whether the response would be the same for every request of this program to its address. What it sends of Accept and
 * its kin never changes, most fields it never sends, and an encoding is undone before the body is stored; the name that
 * it gives itself changes with its version. */
static bool varies_with_nothing_of_ours(const char *vary)
{
    struct str rest = str_of(vary), field;
    while (str_split_next(&rest, ',', &field)) {
        field = str_trim(field);
        if (str_equal(field, STR("*")) || str_equal_ascii_nocase(field, STR("user-agent")))
            return false;
    }
    return true;
}

/* ---- lifetime ---- */

static int64_t clamp(int64_t seconds)
{
    if (seconds < 0)
        return 0;
    return seconds > FRESHNESS_MAX_S ? FRESHNESS_MAX_S : seconds;
}

/* RFC 9111, 4.2.1 and 4.2.2: how long after it was made the response is fresh. */
static int64_t lifetime(const struct freshness_headers *headers, const struct directives *directives, int64_t made,
                        int64_t now)
{
    int64_t time;
    if (directives->no_cache)
        return 0;
    if (directives->has_max_age)
        return directives->max_age;
    if (headers->expires)
        return http_date_parse(headers->expires, now, &time) ? clamp(time - made) : 0;
    if (!headers->last_modified || !http_date_parse(headers->last_modified, now, &time))
        return 0;
    int64_t tenth = clamp(made - time) / 10;
    return tenth > FRESHNESS_MAX_HEURISTIC_S ? FRESHNESS_MAX_HEURISTIC_S : tenth;
}

struct freshness freshness_judge(const struct freshness_headers *headers, int64_t now)
{
    struct directives directives = read_directives(headers);
    int64_t made = now, age = 0;
    if (headers->date && http_date_parse(headers->date, now, &made))
        age = clamp(now - made); /* a clock that is ahead of ours makes nothing younger than new */
    else
        made = now;
    if (headers->age) {
        int64_t told = read_seconds(str_slice(str_of(headers->age), 0, str_find_char(str_of(headers->age), ',', 0)));
        age = told > age ? told : age;
    }
    return (struct freshness){
        .store = !directives.no_store && varies_with_nothing_of_ours(headers->vary),
        .must_confirm = directives.no_cache || directives.must_revalidate,
        .lifetime_s = clamp(lifetime(headers, &directives, made, now) - age),
    };
}

/* ---- validators ---- */

bool freshness_is_etag(const char *value)
{
    struct str text = str_of(value);
    if (text.len > FRESHNESS_MAX_VALIDATOR)
        return false;
    if (str_starts_with(text, STR("W/")))
        text = str_slice(text, 2, text.len);
    if (text.len < 2 || text.data[0] != '"' || text.data[text.len - 1] != '"')
        return false;
    for (size_t i = 1; i + 1 < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c < 0x21 || c == '"' || c == 0x7F)
            return false;
    }
    return true;
}

bool freshness_is_date(const char *value, int64_t now)
{
    int64_t time;
    return value && strlen(value) <= 64 && http_date_parse(value, now, &time);
}
