#include "net/retry.h"

#include <math.h>
#include <string.h>

#include "net/http_date.h"

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
        if (!http_date_parse(text.data, now, &date))
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
