/* Dates as pages write them. */
#include <stdio.h>
#include <string.h>

#include "text/html/meta_internal.h"

#define MAX_TOKENS 80

/* A number or a word; what is between two is told by their places. */
struct token {
    size_t start, end;
    bool is_number;
    unsigned value; /* of a number of at most eight digits */
};

struct dated {
    unsigned year, month, day;
    size_t end; /* behind it in the text */
};

static bool is_word_byte(char c)
{
    return ascii_is_alpha(c) || (unsigned char)c >= 0x80;
}

static size_t tokenize(struct str text, struct token tokens[MAX_TOKENS])
{
    size_t n = 0;
    for (size_t i = 0; i < text.len && n < MAX_TOKENS;) {
        struct token token = {.start = i, .is_number = ascii_is_digit(text.data[i])};
        if (token.is_number) {
            for (; i < text.len && ascii_is_digit(text.data[i]); i++)
                if (i - token.start < 8)
                    token.value = token.value * 10 + (unsigned)(text.data[i] - '0');
        } else if (is_word_byte(text.data[i])) {
            while (i < text.len && is_word_byte(text.data[i]))
                i++;
        } else {
            i++;
            continue;
        }
        token.end = i;
        tokens[n++] = token;
    }
    return n;
}

static bool is_valid(unsigned year, unsigned month, unsigned day)
{
    static const unsigned char days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (year < 1600 || year > 2199 || month < 1 || month > 12 || day < 1 || day > days[month - 1])
        return false;
    return month != 2 || day < 29 || (year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
}

/* ---- words ---- */

/* Whether a word may stand between the parts of a date: "of", "de", and what makes a number an ordinal one. */
static bool is_filler(struct str text, const struct token *token)
{
    static const char *const fillers[] = {"st", "nd", "rd", "th", "of", "de", "del", "er", "º", "ª", "°", "th,"};
    struct str word = str_slice(text, token->start, token->end);
    for (size_t i = 0; !token->is_number && i < sizeof fillers / sizeof fillers[0]; i++)
        if (str_equal_ascii_nocase(word, str_of(fillers[i])))
            return true;
    return false;
}

static bool starts_with_any(struct str text, const struct token *token, const char *a, const char *b)
{
    struct str rest = str_slice(text, token->start, text.len);
    return !token->is_number && (str_starts_with(rest, str_of(a)) || str_starts_with(rest, str_of(b)));
}

/* ---- shapes ---- */

struct reading {
    struct str text;
    const struct token *tokens;
    size_t n;
    bool day_first;
};

/* What separates tokens i and i + 1, when it is one character; ' ' for any blanks, commas and dots with them. */
static char gap(const struct reading *r, size_t i)
{
    if (i + 1 >= r->n)
        return '\0';
    struct str between = str_slice(r->text, r->tokens[i].end, r->tokens[i + 1].start);
    if (between.len == 1 && !ascii_is_space(between.data[0]) && between.data[0] != ',')
        return between.data[0];
    for (size_t k = 0; k < between.len; k++)
        if (!ascii_is_space(between.data[k]) && between.data[k] != ',' && between.data[k] != '.' &&
            between.data[k] != '\'')
            return '\0';
    return between.len <= 4 ? ' ' : '\0';
}

static size_t digits(const struct reading *r, size_t i)
{
    return i < r->n && r->tokens[i].is_number ? r->tokens[i].end - r->tokens[i].start : 0;
}

static unsigned month_at(const struct reading *r, size_t i)
{
    return meta_month(str_slice(r->text, r->tokens[i].start, r->tokens[i].end));
}

static bool is_year(const struct reading *r, size_t i)
{
    return digits(r, i) == 4 && r->tokens[i].value >= 1600 && r->tokens[i].value < 2200;
}

static bool set(struct dated *out, unsigned year, unsigned month, unsigned day, size_t end)
{
    if (!is_valid(year, month, day))
        return false;
    *out = (struct dated){year, month, day, end};
    return true;
}

/* The year of an era of Japan or Taiwan that the word at `i` names: 令和2年, 令和元年, 民國109年. `*month` becomes the
 * token of the month. */
static unsigned year_of_era(const struct reading *r, size_t i, size_t *month)
{
    static const struct {
        const char *name;
        unsigned before;
    } eras[] = {{"令和", 2018}, {"平成", 1988}, {"昭和", 1925}, {"民國", 1911}, {"民国", 1911}};
    if (i >= r->n || r->tokens[i].is_number)
        return 0;
    struct str word = str_slice(r->text, r->tokens[i].start, r->tokens[i].end);
    bool first = str_ends_with(word, STR("元年"));
    if (first)
        word = str_slice(word, 0, word.len - strlen("元年"));
    *month = first ? i + 1 : i + 3;
    unsigned year = first ? 1 : digits(r, i + 1) && digits(r, i + 1) <= 3 ? r->tokens[i + 1].value : 0;
    for (size_t k = 0; year && k < sizeof eras / sizeof eras[0]; k++)
        if (str_ends_with(word, str_of(eras[k].name)))
            return eras[k].before + year;
    return 0;
}

static bool era(const struct reading *r, size_t i, struct dated *out)
{
    size_t month;
    unsigned year = year_of_era(r, i, &month);
    return year && digits(r, month) && digits(r, month + 2) &&
           starts_with_any(r->text, &r->tokens[month + 1], "月", "月") &&
           set(out, year, r->tokens[month].value, r->tokens[month + 2].value, r->tokens[month + 2].end);
}

/* 2020-03-04, 2020/3/4, 2020.03.04., 2020年3月4日, 2020 March 4 */
static bool year_first(const struct reading *r, size_t i, struct dated *out)
{
    if (!is_year(r, i))
        return false;
    unsigned year = r->tokens[i].value;
    char separator = gap(r, i);
    if (separator && digits(r, i + 1) && digits(r, i + 1) <= 2 && digits(r, i + 2) && digits(r, i + 2) <= 2 &&
        gap(r, i + 1) == separator && (memchr("-/. ", separator, 4)))
        return set(out, year, r->tokens[i + 1].value, r->tokens[i + 2].value, r->tokens[i + 2].end);
    if (i + 4 < r->n && starts_with_any(r->text, &r->tokens[i + 1], "年", "년") &&
        starts_with_any(r->text, &r->tokens[i + 3], "月", "월"))
        return set(out, year, r->tokens[i + 2].value, r->tokens[i + 4].value, r->tokens[i + 4].end);
    if (i + 2 < r->n && month_at(r, i + 1) && digits(r, i + 2) <= 2)
        return set(out, year, month_at(r, i + 1), r->tokens[i + 2].value, r->tokens[i + 2].end);
    return false;
}

/* 4 March 2020, 4th of March, 2020, 4. März 2020, 4-Mar-2020 */
static bool day_month_year(const struct reading *r, size_t i, struct dated *out)
{
    if (digits(r, i) == 0 || digits(r, i) > 2)
        return false;
    size_t at = i + 1;
    while (at < r->n && at < i + 3 && is_filler(r->text, &r->tokens[at]))
        at++;
    unsigned month = at < r->n && gap(r, at - 1) ? month_at(r, at) : 0;
    if (!month && at < r->n && r->tokens[at - 1].end == r->tokens[at].start)
        month = month_at(r, at);
    size_t year = at + 1;
    if (year < r->n && is_filler(r->text, &r->tokens[year]))
        year++;
    return month && is_year(r, year) && set(out, r->tokens[year].value, month, r->tokens[i].value, r->tokens[year].end);
}

/* March 4, 2020; Mar 4th 2020 */
static bool month_day_year(const struct reading *r, size_t i, struct dated *out)
{
    if (i + 2 >= r->n || r->tokens[i].is_number || digits(r, i + 1) == 0 || digits(r, i + 1) > 2)
        return false;
    size_t year = i + 2;
    if (is_filler(r->text, &r->tokens[year]))
        year++;
    if (!is_year(r, year) || !gap(r, i) || !gap(r, year - 1))
        return false;
    unsigned month = month_at(r, i);
    return month && set(out, r->tokens[year].value, month, r->tokens[i + 1].value, r->tokens[year].end);
}

/* 4/3/2020, 4.3.2020, 04-03-2020 */
static bool numbers(const struct reading *r, size_t i, struct dated *out)
{
    char separator = gap(r, i);
    if (digits(r, i) == 0 || digits(r, i) > 2 || digits(r, i + 1) == 0 || digits(r, i + 1) > 2 || !is_year(r, i + 2) ||
        gap(r, i + 1) != separator || !separator || !memchr("/.-", separator, 3))
        return false;
    unsigned first = r->tokens[i].value, second = r->tokens[i + 1].value, year = r->tokens[i + 2].value;
    bool day_first = separator != '/' || r->day_first;
    if (first > 12 || second > 12)
        day_first = first > 12;
    return set(out, year, day_first ? second : first, day_first ? first : second, r->tokens[i + 2].end);
}

/* 20200304, alone or before a "T" */
static bool compact(const struct reading *r, size_t i, struct dated *out)
{
    if (digits(r, i) != 8)
        return false;
    unsigned value = r->tokens[i].value;
    return set(out, value / 10000, value / 100 % 100, value % 100, r->tokens[i].end);
}

static bool epoch(struct str text, struct dated *out)
{
    int64_t seconds;
    if (!str_to_int64(text, &seconds) || (text.len != 10 && text.len != 13))
        return false;
    if (text.len == 13)
        seconds /= 1000;
    int64_t days = seconds / 86400, year = 1970;
    static const unsigned char lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    for (;; year++) {
        int64_t length = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 366 : 365;
        if (days < length)
            break;
        days -= length;
    }
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    unsigned month = 0;
    while (days >= lengths[month] + (month == 1 && leap)) {
        days -= lengths[month] + (month == 1 && leap);
        month++;
    }
    return set(out, (unsigned)year, month + 1, (unsigned)days + 1, text.len);
}

/* ---- results ---- */

static bool two_digits(struct str s, size_t at, unsigned limit, unsigned *out)
{
    if (at + 2 > s.len || !ascii_is_digit(s.data[at]) || !ascii_is_digit(s.data[at + 1]))
        return false;
    *out = (unsigned)((s.data[at] - '0') * 10 + s.data[at + 1] - '0');
    return *out < limit;
}

/* The time of day that follows an ISO date, with its zone: "T10:30:00.000Z", " 10:30 +0200". Length written. */
static size_t time_behind(struct str text, size_t at, char *out, size_t size)
{
    unsigned hour, minute, second = 0;
    if (at >= text.len || !memchr("Tt ", text.data[at], 3) || !two_digits(text, at + 1, 24, &hour) ||
        at + 3 >= text.len || text.data[at + 3] != ':' || !two_digits(text, at + 4, 60, &minute))
        return 0;
    at += 6;
    if (at < text.len && text.data[at] == ':' && two_digits(text, at + 1, 61, &second))
        at += 3;
    if (at < text.len && text.data[at] == '.')
        for (at++; at < text.len && ascii_is_digit(text.data[at]);)
            at++;
    size_t length = (size_t)snprintf(out, size, "T%02u:%02u:%02u", hour, minute, second);
    while (at < text.len && text.data[at] == ' ')
        at++;
    if (at < text.len && (text.data[at] == 'Z' || text.data[at] == 'z'))
        return length + (size_t)snprintf(out + length, size - length, "Z");
    if (at >= text.len || !memchr("+-", text.data[at], 2))
        return length;
    char sign = text.data[at];
    if (!two_digits(text, at + 1, 15, &hour))
        return length;
    at += at + 3 < text.len && text.data[at + 3] == ':' ? 4 : 3;
    if (!two_digits(text, at, 60, &minute))
        minute = 0;
    return length + (size_t)snprintf(out + length, size - length, "%c%02u:%02u", sign, hour, minute);
}

static void write_date(struct str text, const struct dated *date, bool with_time, char out[40])
{
    size_t length = (size_t)snprintf(out, 40, "%04u-%02u-%02u", date->year, date->month, date->day);
    if (with_time)
        (void)time_behind(text, date->end, out + length, 40 - length);
}

bool meta_date(struct str text, bool whole, bool day_first, char out[40])
{
    struct token tokens[MAX_TOKENS];
    struct dated date;
    text = str_trim(text);
    if (whole && text.len > 64)
        return false;
    char ascii[META_MAX_DATED];
    text = meta_plain_digits(str_slice(text, 0, META_MAX_DATED), ascii);
    struct reading r = {text, tokens, tokenize(text, tokens), day_first};
    if (whole && epoch(text, &date)) {
        write_date(text, &date, false, out);
        return true;
    }
    for (size_t i = 0; i < r.n; i++) {
        bool iso = year_first(&r, i, &date);
        if (iso || era(&r, i, &date) || day_month_year(&r, i, &date) || month_day_year(&r, i, &date) ||
            numbers(&r, i, &date) || (whole && compact(&r, i, &date))) {
            write_date(text, &date, iso, out);
            return true;
        }
        if (whole && i > 3)
            return false;
    }
    return false;
}

bool meta_date_in_address(struct str address, char out[40])
{
    size_t query = str_find_char(address, '?', 0), host = str_find(address, STR("://"), 0);
    address = str_slice(address, host == STR_NONE ? 0 : host + 3, query);
    for (size_t i = 0; i + 11 <= address.len; i++) {
        if (address.data[i] != '/' && address.data[i] != '-' && address.data[i] != '_')
            continue;
        struct str rest = str_slice(address, i + 1, address.len);
        unsigned high, low, month, day;
        if (!two_digits(rest, 0, 22, &high) || !two_digits(rest, 2, 100, &low) || high < 19 || rest.len < 8)
            continue;
        size_t step = memchr("/-_", rest.data[4], 3) ? 1 : 0;
        if (!two_digits(rest, 4 + step, 13, &month) || (step && rest.data[6 + step] != rest.data[4]) ||
            !two_digits(rest, 6 + 2 * step, 32, &day))
            continue;
        size_t end = 8 + 2 * step;
        struct dated date;
        if ((end < rest.len && ascii_is_digit(rest.data[end])) || !set(&date, high * 100 + low, month, day, 0))
            continue;
        write_date(address, &date, false, out);
        return true;
    }
    return false;
}
