/* src/net/retry.h
 *
 * How long to wait before the next try. Pure: time and chance are parameters.
 */
#ifndef FATHOM_NET_RETRY_H
#define FATHOM_NET_RETRY_H

#include <stdint.h>

#include "core/str.h"

#define RETRY_BASE_MS      1000
#define RETRY_CAP_MS       30000
#define RETRY_AFTER_MAX_MS 600000 /* ten minutes */

/* The wait before try number `tries` + 1, when `tries` (>= 1) have failed: 1 s, doubled for each further failure, at
 * most 30 s; half of it is fixed, the other half is scaled by `chance` in [0, 1), so that many clients do not come
 * back together. When the server named a time (`retry_after_ms` >= 0), the wait is that, plus up to a tenth of it or 1
 * s, the smaller; never less. */
int64_t retry_delay_ms(unsigned tries, int64_t retry_after_ms, double chance);

/* Reads Retry-After (RFC 9110, 10.2.3): seconds, also with a fraction, or an HTTP date in any of its three forms
 * (5.6.7), compared with `now`, seconds since 1970. A date that is past gives 0; more than RETRY_AFTER_MAX_MS gives
 * that. -1 when `value` is NULL or neither. */
int64_t retry_after_parse(const char *value, int64_t now);

/* The next value in [0, 1) of a small generator (splitmix64) whose state the caller keeps; seed it with anything. Not
 * for secrets. */
double retry_chance(uint64_t *state);

#endif
