#include "protocol/repetition.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

#define RING        4096 /* characters remembered; a power of two */
#define WINDOW      REPETITION_MIN_PERIOD
#define TABLE       4096
#define MULTIPLIER  0x9E3779B97F4A7C15u
#define BLANK_TIMES 4 /* how much longer a unit without letter or digit has to go on */

_Static_assert(RING > REPETITION_MAX_PERIOD + WINDOW, "the ring holds a period and a window before it");

/* The hash of the last WINDOW characters finds where they stood before, which gives the period to follow: then one
 * comparison a character tells how long the text has been repeating itself. */
struct repetition {
    uint16_t ring[RING];   /* characters, folded to 16 bits */
    uint32_t table[TABLE]; /* by hash: one more than the (truncated) position where such a window ended */
    uint64_t hash;
    uint64_t outgoing;      /* MULTIPLIER to the power of WINDOW */
    uint64_t count;         /* characters so far */
    uint64_t last_readable; /* one more than the position of the last letter or digit */
    uint32_t period;        /* that is followed, 0 for none */
    uint64_t run;           /* characters that equal the one a period before */
    size_t fed, found_at;   /* bytes */
    uint32_t code;          /* of the character that is being read */
    unsigned missing;       /* its bytes that are to come */
};

struct repetition *repetition_create(void)
{
    struct repetition *repetition = mem_alloc(sizeof *repetition);
    repetition_reset(repetition);
    return repetition;
}

void repetition_destroy(struct repetition *repetition)
{
    free(repetition);
}

void repetition_reset(struct repetition *repetition)
{
    *repetition = (struct repetition){.outgoing = 1};
    for (int i = 0; i < WINDOW; i++)
        repetition->outgoing *= MULTIPLIER;
}

size_t repetition_offset(const struct repetition *repetition)
{
    return repetition->found_at;
}

static uint16_t char_before(const struct repetition *repetition, uint64_t back)
{
    return repetition->ring[(repetition->count - back) % RING];
}

/* Letters and digits of any script, roughly: what tables and rules are drawn with is not among them. */
static bool is_readable(uint32_t code)
{
    if (code < 0x80)
        return (code >= '0' && code <= '9') || ((code | 0x20) >= 'a' && (code | 0x20) <= 'z');
    bool drawn = (code >= 0x2000 && code <= 0x2BFF) || (code >= 0x3000 && code <= 0x303F) ||
                 (code >= 0xFF00 && code <= 0xFF0F) || code == 0xA0 || code == 0xB7 || code == 0xFFFD;
    return !drawn;
}

/* How many of the last characters equal those `period` before, as far as the ring remembers. */
static uint64_t repeated_length(const struct repetition *repetition, uint64_t period)
{
    uint64_t limit = repetition->count < RING ? repetition->count : RING, length = 0;
    while (length + 1 + period <= limit &&
           char_before(repetition, length + 1) == char_before(repetition, length + 1 + period))
        length++;
    return length;
}

/* Looks for the period of the text that ends here. */
static void find_period(struct repetition *repetition, uint32_t slot)
{
    uint32_t before = repetition->table[slot];
    uint64_t distance = before ? (uint32_t)((uint32_t)repetition->count + 1 - before) : 0;
    if (distance == 0 || distance > REPETITION_MAX_PERIOD)
        return;
    uint64_t length = repeated_length(repetition, distance);
    if (length < WINDOW)
        return;
    repetition->period = (uint32_t)distance;
    repetition->run = length;
}

/* How long the repeated stretch, its first unit included, has to be. */
static uint64_t wanted_length(const struct repetition *repetition)
{
    uint64_t period = repetition->period;
    uint64_t unit = period * ((REPETITION_MIN_PERIOD + period - 1) / period);
    bool readable = repetition->last_readable + period > repetition->count;
    return unit * REPETITION_TIMES * (readable ? 1 : BLANK_TIMES);
}

/* Takes one character; true when it completes a loop. */
static bool take_char(struct repetition *repetition, uint32_t code)
{
    uint16_t c = (uint16_t)(code ^ (code >> 16) * 31);
    uint64_t out = repetition->count >= WINDOW ? char_before(repetition, WINDOW) : 0;
    bool follows = repetition->period && char_before(repetition, repetition->period) == c;
    repetition->ring[repetition->count % RING] = c;
    repetition->hash = (repetition->hash + c + 1) * MULTIPLIER;
    if (repetition->count >= WINDOW)
        repetition->hash -= (out + 1) * repetition->outgoing * MULTIPLIER;
    repetition->count++;
    if (is_readable(code))
        repetition->last_readable = repetition->count;
    if (follows) {
        repetition->run++;
    } else {
        repetition->period = 0;
    }
    if (repetition->count < WINDOW)
        return false;
    uint32_t slot = (uint32_t)(repetition->hash >> 52);
    if (!repetition->period)
        find_period(repetition, slot);
    repetition->table[slot] = (uint32_t)repetition->count + 1;
    return repetition->period && repetition->run + repetition->period >= wanted_length(repetition);
}

/* Takes a byte; UTF-8 that is cut anywhere gives the same characters. What is ill-formed counts byte by byte or as what
 * it seems to be: all that matters here is that the same bytes give the same characters. */
static bool take_byte(struct repetition *repetition, unsigned char byte)
{
    if (byte < 0x80) {
        repetition->missing = 0;
        return take_char(repetition, byte);
    }
    if (byte < 0xC0 && repetition->missing) {
        repetition->code = repetition->code << 6 | (byte & 0x3Fu);
        return --repetition->missing == 0 && take_char(repetition, repetition->code);
    }
    repetition->missing = byte >= 0xF0 ? 3 : byte >= 0xE0 ? 2 : byte >= 0xC0 ? 1 : 0;
    repetition->code = byte & (0x3Fu >> repetition->missing);
    return repetition->missing == 0 && take_char(repetition, byte);
}

bool repetition_feed(struct repetition *repetition, struct str bytes)
{
    for (size_t i = 0; i < bytes.len && !repetition->found_at; i++) {
        repetition->fed++;
        if (take_byte(repetition, (unsigned char)bytes.data[i]))
            repetition->found_at = repetition->fed;
    }
    return repetition->found_at > 0;
}
