#include "net/retry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int64_t retry_delay_ms(unsigned tries, int64_t retry_after_ms, double chance)
{
    if (retry_after_ms >= 0) {
        double tenth = (double)retry_after_ms / 10;
        return retry_after_ms + (int64_t)((tenth < 1000 ? tenth : 1000) * chance);
    }
    int64_t delay = RETRY_BASE_MS;
    for (unsigned i = 1; i < tries && delay < RETRY_CAP_MS; i++)
        delay *= 2;
    if (delay > RETRY_CAP_MS)
        delay = RETRY_CAP_MS;
    return (int64_t)((double)delay * (0.5 + chance / 2));
}

static int month_number(const char *name)
{
    static const char names[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    for (int i = 0; i < 12; i++)
        if (strcmp(name, names[i]) == 0)
            return i;
    return -1;
}

/* A year of two digits is at most 50 years ahead. */
static int full_year(int year, int64_t now)
{
    struct tm today;
    time_t seconds = (time_t)now;
    gmtime_r(&seconds, &today);
    int this_year = today.tm_year + 1900;
    year += this_year / 100 * 100;
    if (year > this_year + 50)
        return year - 100;
    return year <= this_year - 50 ? year + 100 : year;
}

/* RFC 9110, 5.6.7: "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994". */
static bool parse_date(const char *text, int64_t now, int64_t *out)
{
    char month[4] = "";
    int day = 0, year = 0, hour = 0, minute = 0, second = 0, end = -1;
    const char *comma = strchr(text, ',');
    if (comma) {
        char separator = 0;
        if (sscanf(comma + 1, " %2d%c%3[A-Za-z]%*1[- ]%4d %2d:%2d:%2d GMT%n", &day, &separator, month, &year, &hour,
                   &minute, &second, &end) != 7)
            return false;
        if (year < 100)
            year = full_year(year, now);
    } else if (sscanf(text, "%*3[A-Za-z] %3[A-Za-z] %2d %2d:%2d:%2d %4d%n", month, &day, &hour, &minute, &second, &year,
                      &end) != 6) {
        return false;
    }
    int month_index = month_number(month);
    if (end < 0 || month_index < 0 || day < 1 || day > 31 || hour < 0 || hour > 23 || minute < 0 || minute > 59 ||
        second < 0 || second > 60)
        return false;
    struct tm parts = {.tm_year = year - 1900,
                       .tm_mon = month_index,
                       .tm_mday = day,
                       .tm_hour = hour,
                       .tm_min = minute,
                       .tm_sec = second};
    *out = (int64_t)timegm(&parts);
    return true;
}

int64_t retry_after_parse(const char *value, int64_t now)
{
    struct str text = str_trim(str_of(value));
    double seconds = 0;
    if (text.len == 0)
        return -1;
    if (ascii_is_digit(text.data[0])) {
        if (strspn(text.data, "0123456789.") < text.len || !str_to_double(text, &seconds))
            return -1;
    } else {
        int64_t date;
        if (!parse_date(text.data, now, &date))
            return -1;
        seconds = date > now ? (double)(date - now) : 0;
    }
    double ms = ceil(seconds * 1000);
    return ms > RETRY_AFTER_MAX_MS ? RETRY_AFTER_MAX_MS : (int64_t)ms;
}

double retry_chance(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (double)(z >> 11) * 0x1p-53;
}
