/* Numbers as spreadsheets show them: which format codes mean dates, and how serial days become ISO 8601. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "readers/office.h"

#define SECONDS_A_DAY 86400
#define LAST_SERIAL   2958465 /* 9999-12-31 */

enum number_style number_style_of_id(int id)
{
    if (id == 9 || id == 10)
        return NUMBER_PERCENT;
    if ((id >= 14 && id <= 17) || (id >= 27 && id <= 31) || (id >= 50 && id <= 54) || id == 36 || id == 57 || id == 58)
        return NUMBER_DATE;
    if ((id >= 18 && id <= 21) || (id >= 32 && id <= 35) || id == 45 || id == 47 || id == 55 || id == 56)
        return NUMBER_TIME;
    if (id == 22)
        return NUMBER_DATE_TIME;
    return id == 46 ? NUMBER_ELAPSED : NUMBER_PLAIN;
}

/* Skips what stands for itself at `at`: quoted text, an escaped or padding character, a bracket that is no elapsed
 * time. Sets *elapsed for one that is. Returns the index behind it, or `at` when it is none of these. */
static size_t skip_literal(struct str code, size_t at, bool *elapsed)
{
    char c = code.data[at];
    if (c == '"') {
        size_t end = str_find_char(code, '"', at + 1);
        return end == STR_NONE ? code.len : end + 1;
    }
    if (c == '\\' || c == '_' || c == '*')
        return at + 2;
    if (c != '[')
        return at;
    size_t end = str_find_char(code, ']', at);
    struct str inner = str_slice(code, at + 1, end);
    bool all_time = inner.len > 0;
    for (size_t i = 0; i < inner.len; i++)
        all_time = all_time && strchr("hms", ascii_lower(inner.data[i]));
    *elapsed = *elapsed || all_time;
    return end == STR_NONE ? code.len : end + 1;
}

enum number_style number_style_of_code(struct str code)
{
    bool date = false, time = false, month_or_minute = false, percent = false, elapsed = false;
    if (str_starts_with_nocase(code, STR("General")))
        return NUMBER_PLAIN;
    for (size_t i = 0; i < code.len && code.data[i] != ';';) {
        size_t behind = skip_literal(code, i, &elapsed);
        if (behind != i) {
            i = behind;
            continue;
        }
        char c = ascii_lower(code.data[i++]);
        if (c == 'a' && str_starts_with_nocase(str_slice(code, i - 1, code.len), STR("am/pm"))) {
            time = true;
            i += 4;
            continue;
        }
        if (c == 'e' && i < code.len && (code.data[i] == '+' || code.data[i] == '-'))
            return NUMBER_PLAIN; /* an exponent */
        date = date || c == 'y' || c == 'd' || c == 'g' || c == 'e' || c == 'b';
        time = time || c == 'h' || c == 's';
        month_or_minute = month_or_minute || c == 'm';
        percent = percent || c == '%';
        if (c == '#' || c == '?')
            return percent || str_find_char(code, '%', 0) != STR_NONE ? NUMBER_PERCENT : NUMBER_PLAIN;
    }
    if (elapsed)
        return NUMBER_ELAPSED;
    if (date || (month_or_minute && !time))
        return time ? NUMBER_DATE_TIME : NUMBER_DATE;
    return time ? NUMBER_TIME : percent ? NUMBER_PERCENT : NUMBER_PLAIN;
}

/* Days since 1970-01-01 to a date (Howard Hinnant, "chrono-compatible low-level date algorithms"). */
static void civil_date(int64_t days, int64_t *year, int *month, int *day)
{
    days += 719468;
    int64_t era = days / 146097, in_era = days % 146097;
    int64_t year_of_era = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    int64_t in_year = in_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t shifted = (5 * in_year + 2) / 153;
    *day = (int)(in_year - (153 * shifted + 2) / 5 + 1);
    *month = (int)(shifted < 10 ? shifted + 3 : shifted - 9);
    *year = year_of_era + era * 400 + (*month <= 2);
}

static void write_plain(struct buf *out, double value)
{
    char text[64];
    if (value == floor(value) && fabs(value) < 1e15)
        snprintf(text, sizeof text, "%.0f", value == 0 ? 0.0 : value);
    else
        snprintf(text, sizeof text, "%.15g", value);
    buf_add_text(out, text);
}

static void write_clock(struct buf *out, int64_t seconds)
{
    buf_addf(out, seconds % 60 ? "%02d:%02d:%02d" : "%02d:%02d", (int)(seconds / 3600), (int)(seconds / 60 % 60),
             (int)(seconds % 60));
}

/* Excel counts 1900 as a leap year, so days before March 1900 are one less than those after it; day 60 is the
 * 29th of February that was none, and day 0 the 0th of January. */
static void write_date(struct buf *out, int64_t serial, bool since_1904)
{
    int64_t year;
    int month, day;
    if (since_1904)
        serial += 1462;
    if (serial == 60 || serial == 0) {
        buf_add_text(out, serial ? "1900-02-29" : "1900-01-00");
        return;
    }
    civil_date(serial - 25569 + (serial < 60), &year, &month, &day);
    buf_addf(out, "%04d-%02d-%02d", (int)year, month, day);
}

void number_write(struct buf *out, double value, enum number_style style, bool since_1904)
{
    bool countable = isfinite(value) && fabs(value) <= LAST_SERIAL;
    if (style == NUMBER_PERCENT && isfinite(value)) {
        char text[64];
        snprintf(text, sizeof text, "%.12g%%", value * 100);
        buf_add_text(out, text);
        return;
    }
    if (style == NUMBER_PLAIN || style == NUMBER_PERCENT || !countable || (value < 0 && style != NUMBER_ELAPSED)) {
        write_plain(out, value);
        return;
    }
    int64_t seconds = (int64_t)llround(value * SECONDS_A_DAY);
    if (style == NUMBER_ELAPSED) {
        uint64_t all = (uint64_t)(seconds < 0 ? -seconds : seconds);
        buf_addf(out, "%s%d:%02d:%02d", seconds < 0 ? "-" : "", (int)(all / 3600), (int)(all / 60 % 60),
                 (int)(all % 60));
        return;
    }
    int64_t day = seconds / SECONDS_A_DAY, rest = seconds % SECONDS_A_DAY;
    bool with_date = style != NUMBER_TIME || day > 0;
    if (with_date && !(style == NUMBER_TIME && day == 0))
        write_date(out, day, since_1904);
    if (style == NUMBER_DATE && rest == 0)
        return;
    if (with_date)
        buf_add_char(out, ' ');
    write_clock(out, rest);
}

void office_number(struct buf *out, int number, struct str format)
{
    static const struct {
        int value;
        const char *text;
    } roman[] = {{1000, "m"}, {900, "cm"}, {500, "d"}, {400, "cd"}, {100, "c"}, {90, "xc"}, {50, "l"},
                 {40, "xl"},  {10, "x"},   {9, "ix"},  {5, "v"},    {4, "iv"},  {1, "i"}};
    bool upper = str_starts_with(format, STR("upper")) || str_equal(format, STR("A")) || str_equal(format, STR("I"));
    bool letters = str_ends_with(format, STR("Letter")) || str_equal_ascii_nocase(format, STR("a"));
    bool romans = str_ends_with(format, STR("Roman")) || str_equal_ascii_nocase(format, STR("i"));
    if (letters && number > 0 && number <= 26 * 20) {
        for (int i = 0; i <= (number - 1) / 26; i++) /* 27 is "aa", 53 "aaa" */
            buf_add_char(out, (char)((upper ? 'A' : 'a') + (number - 1) % 26));
    } else if (romans && number > 0 && number < 5000) {
        for (size_t i = 0; i < sizeof roman / sizeof roman[0]; i++)
            for (; number >= roman[i].value; number -= roman[i].value)
                for (const char *c = roman[i].text; *c; c++)
                    buf_add_char(out, upper ? (char)(*c - 'a' + 'A') : *c);
    } else {
        buf_addf(out, str_equal(format, STR("decimalZero")) ? "%02d" : "%d", number);
    }
}
