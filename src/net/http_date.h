/* src/net/http_date.h
 *
 * Dates in HTTP headers (RFC 9110, 5.6.7), in any of their three forms. Pure.
 */
#ifndef FATHOM_NET_HTTP_DATE_H
#define FATHOM_NET_HTTP_DATE_H

#include <stdbool.h>
#include <stdint.h>

/* Reads "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT" or "Sun Nov  6 08:49:37 1994" as seconds
 * since 1970. `now` tells the century of a year of two digits. False when it is none. */
bool http_date_parse(const char *text, int64_t now, int64_t *out);

#endif
