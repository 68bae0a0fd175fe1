#include "net/robots.h"

#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/mem.h"

#define MAX_RULES 20000 /* more than any site needs */

/* How many bytes may be compared for one answer. Rules made to be slow could take seconds of the loop's thread; who
 * needs more than this forbids. */
#define MAX_STEPS 5000000

struct rule {
    char *pattern; /* escapes undone as in a target */
    size_t length;
    bool allow;
};

struct robots {
    struct rule *rules;
    size_t count, capacity;
};

/* ---- one spelling of a path ---- */

static int hex_digit(char c)
{
    if (ascii_is_digit(c))
        return c - '0';
    c = ascii_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "%7e" and "~", "é" and "%C3%A9" are the same (RFC 9309, 2.2.2): escapes become the bytes they stand for, except those
 * of bytes that mean something in a path or a pattern, which keep their escape in capitals. */
static struct str normalize(struct str text, struct buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        int high = text.data[i] == '%' && i + 2 < text.len ? hex_digit(text.data[i + 1]) : -1;
        int low = high >= 0 ? hex_digit(text.data[i + 2]) : -1;
        if (low < 0) {
            buf_add_char(out, text.data[i]);
            continue;
        }
        int byte = high * 16 + low;
        if (byte == 0 || strchr("%/?#*$&=+;:@,!'()", byte))
            buf_addf(out, "%%%02X", (unsigned)byte);
        else
            buf_add_char(out, (char)byte);
        i += 2;
    }
    return buf_str(out);
}

/* ---- reading ---- */

enum line_kind { LINE_OTHER, LINE_AGENT, LINE_ALLOW, LINE_DISALLOW };

static enum line_kind read_line(struct str line, struct str *value)
{
    line = str_trim(str_slice(line, 0, str_find_char(line, '#', 0)));
    size_t colon = str_find_char(line, ':', 0);
    if (colon == STR_NONE)
        return LINE_OTHER;
    struct str key = str_trim(str_slice(line, 0, colon));
    *value = str_trim(str_slice(line, colon + 1, line.len));
    if (str_equal_ascii_nocase(key, STR("user-agent")))
        return LINE_AGENT;
    if (str_equal_ascii_nocase(key, STR("allow")))
        return LINE_ALLOW;
    return str_equal_ascii_nocase(key, STR("disallow")) ? LINE_DISALLOW : LINE_OTHER;
}

/* The product token in front: "Fathom" of "Fathom/1.0 (x)". */
static struct str product_of(struct str agent)
{
    size_t end = 0;
    while (end < agent.len && (ascii_is_alpha(agent.data[end]) || agent.data[end] == '-' || agent.data[end] == '_'))
        end++;
    return str_slice(agent, 0, end);
}

static bool next_line(struct str *rest, struct str *line)
{
    if (rest->len == 0)
        return false;
    size_t end = 0;
    while (end < rest->len && rest->data[end] != '\n' && rest->data[end] != '\r')
        end++;
    *line = str_slice(*rest, 0, end);
    *rest = str_slice(*rest, end < rest->len ? end + 1 : end, rest->len);
    return true;
}

static void add_rule(struct robots *robots, struct str value, bool allow)
{
    struct buf pattern;
    if (value.len == 0 || (value.data[0] != '/' && value.data[0] != '*') || robots->count == MAX_RULES)
        return; /* "Disallow:" forbids nothing */
    buf_init(&pattern, BUF_UNBOUNDED);
    size_t length = normalize(value, &pattern).len;
    robots->rules = mem_grow(robots->rules, robots->count, &robots->capacity, sizeof *robots->rules);
    robots->rules[robots->count++] = (struct rule){buf_take(&pattern), length, allow};
}

/* Takes the rules of all groups for `product`, or for everybody where it is empty. Returns whether there is such a
 * group. */
static bool take_groups(struct robots *robots, struct str text, struct str product)
{
    struct str line, value;
    bool found = false, ours = false, naming = false; /* within a run of User-agent lines */
    while (next_line(&text, &line)) {
        enum line_kind kind = read_line(line, &value);
        switch (kind) {
        case LINE_AGENT:
            if (!naming)
                ours = false;
            naming = true;
            if (product.len > 0 ? str_equal_ascii_nocase(product_of(value), product) : str_equal(value, STR("*")))
                ours = found = true;
            break;
        case LINE_ALLOW:
        case LINE_DISALLOW:
            naming = false;
            if (ours)
                add_rule(robots, value, kind == LINE_ALLOW);
            break;
        case LINE_OTHER: /* Sitemap, Crawl-delay …: neither begins nor ends a group */
            break;
        }
    }
    return found;
}

struct robots *robots_parse(struct str text, struct str product)
{
    struct robots *robots = mem_zalloc(sizeof *robots);
    text = str_slice(text, 0, ROBOTS_MAX_BYTES);
    if (str_starts_with(text, STR("\xEF\xBB\xBF")))
        text = str_slice(text, 3, text.len);
    if (!take_groups(robots, text, product))
        take_groups(robots, text, (struct str){0});
    return robots;
}

void robots_destroy(struct robots *robots)
{
    if (!robots)
        return;
    for (size_t i = 0; i < robots->count; i++)
        free(robots->rules[i].pattern);
    free(robots->rules);
    free(robots);
}

/* ---- asking ---- */

/* Whether `pattern` matches a beginning of `text`, or all of it where it ends in "$". Going back to the last "*" alone
 * suffices. Takes what it compares from `*steps`. */
static bool matches(struct str pattern, struct str text, int64_t *steps)
{
    bool anchored = pattern.len > 0 && pattern.data[pattern.len - 1] == '$';
    size_t p = 0, t = 0, star = STR_NONE, star_text = 0;
    if (anchored)
        pattern.len--;
    while (--*steps > 0) {
        if (p == pattern.len && (!anchored || t == text.len))
            return true;
        if (p < pattern.len && pattern.data[p] == '*') {
            star = p++;
            star_text = t;
        } else if (p < pattern.len && t < text.len && pattern.data[p] == text.data[t]) {
            p++;
            t++;
        } else if (star != STR_NONE && star_text < text.len) {
            p = star + 1;
            t = ++star_text;
        } else {
            return false;
        }
    }
    return false;
}

bool robots_allows(const struct robots *robots, struct str target)
{
    struct buf text;
    bool allowed = true;
    size_t longest = 0;
    int64_t steps = MAX_STEPS;
    if (!robots || str_equal(target, STR("/robots.txt")))
        return true;
    buf_init(&text, BUF_UNBOUNDED);
    struct str path = normalize(target, &text);
    for (size_t i = 0; i < robots->count; i++) {
        const struct rule *rule = &robots->rules[i];
        if (rule->length < longest || (rule->length == longest && !rule->allow && longest > 0))
            continue;
        if (!matches(str_make(rule->pattern, rule->length), path, &steps))
            continue;
        /* Equally long: Allow wins, and a Disallow was passed over above unless it is the first. */
        allowed = rule->allow;
        longest = rule->length;
    }
    buf_finish(&text);
    return allowed && steps > 0;
}
