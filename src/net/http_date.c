#include "net/http_date.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

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

bool http_date_parse(const char *text, int64_t now, int64_t *out)
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
