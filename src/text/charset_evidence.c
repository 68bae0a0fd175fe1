/* What the bytes show about their character set, and whether that can be what somebody claims. */
#include <string.h>
#include <utf8proc.h>

#include "core/utf8.h"
#include "text/charset_internal.h"

#define SURVEY_HIGH  16384 /* bytes above 127 are enough */
#define SAMPLE_BYTES 16384
#define FEW_BAD      8 /* stray bytes, as cutting or a faulty program leaves them */

struct charset_survey charset_survey(struct str bytes)
{
    struct charset_survey survey = {0};
    const unsigned char *p = (const unsigned char *)bytes.data;
    size_t i = 0;
    while (i < bytes.len && survey.high < SURVEY_HIGH) {
        if (p[i] < 0x80) {
            i += utf8_ascii_prefix(str_slice(bytes, i, bytes.len));
            continue;
        }
        size_t length;
        bool good = utf8_decode(str_slice(bytes, i, bytes.len), &length) != UTF8_INVALID;
        if (good) {
            survey.good++;
            survey.weight += length - 1;
        } else if (i + length < bytes.len || i + 4 <= bytes.len) {
            survey.bad++;
            survey.accents += length == 1 && p[i] >= 0xC0 && p[i] < 0xFE;
        }
        for (size_t end = i + length; i < end; i++) {
            survey.high++;
            survey.adjacent += (i > 0 && p[i - 1] >= 0x80) || (i + 1 < bytes.len && p[i + 1] >= 0x80);
        }
    }
    survey.whole = i >= bytes.len;
    return survey;
}

const char *charset_of_zeros(struct str bytes)
{
    size_t n = (bytes.len < 1024 ? bytes.len : 1024) & ~(size_t)1, even = 0, odd = 0;
    for (size_t i = 0; i < n; i += 2) {
        even += bytes.data[i] == '\0';
        odd += bytes.data[i + 1] == '\0';
    }
    if (odd * 8 > n && even * 16 < odd)
        return "utf-16le";
    return even * 8 > n && odd * 16 < even ? "utf-16be" : NULL;
}

/* The bytes from the first above 127 on. */
static struct str from_first_high(struct str bytes, size_t max)
{
    size_t i = 0;
    while (i < bytes.len && (unsigned char)bytes.data[i] < 0x80)
        i++;
    return str_slice(bytes, i, i + max < bytes.len ? i + max : bytes.len);
}

/* ---- sets of two bytes a character ---- */

struct pairs {
    size_t all, wrong, usual;
};

/* Where a language's own everyday characters stand in its set: lead bytes from one to the other. */
static const struct area {
    const char *name;
    unsigned char first, last;
    bool high_trail;  /* their second bytes are above 160 */
    unsigned percent; /* so many at least are among them in any text */
} areas[] = {
    {"gb18030", 0xB0, 0xD7, true, 60},   {"big5-hkscs", 0xA1, 0xC6, false, 75}, {"cp949", 0xA1, 0xC8, true, 75},
    {"euc-jp-ms", 0xA1, 0xF4, true, 85}, {"cp932", 0x81, 0x9F, false, 60},      {"euc-tw", 0xA1, 0xFD, true, 85},
};

static struct pairs count_pairs(const struct area *area, struct str bytes)
{
    struct pairs pairs = {0};
    const unsigned char *p = (const unsigned char *)bytes.data;
    bool is_sjis = strcmp(area->name, "cp932") == 0, is_euc_jp = strcmp(area->name, "euc-jp-ms") == 0;
    for (size_t i = 0; i + 1 < bytes.len;) {
        bool is_kana = is_sjis && p[i] >= 0xA1 && p[i] <= 0xDF; /* half-width ones, which nobody writes at length */
        if (p[i] < 0x80 || is_kana) {
            i++;
            pairs.all += is_kana;
            continue;
        }
        unsigned char lead = p[i], trail = p[i + 1];
        bool is_four = strcmp(area->name, "gb18030") == 0 && ascii_is_digit((char)trail);
        bool ok = lead > 0x80 && lead < 0xFF &&
                  trail >= (area->high_trail && is_euc_jp ? 0xA1
                            : is_four                     ? 0x30
                                                          : 0x40) &&
                  trail != 0x7F && trail < 0xFF;
        if (is_euc_jp && lead == 0x8F)
            i++;
        pairs.all++;
        pairs.wrong += !ok;
        bool is_mark = lead >= 0xA1 && lead <= 0xA3;
        pairs.usual +=
            ok && ((lead >= area->first && lead <= area->last) || is_mark) && (!area->high_trail || trail > 0xA0);
        i += is_four ? 4 : ok || trail >= 0x80 ? 2 : 1;
    }
    return pairs;
}

/* Whether hardly any character is an everyday one, or many are none. */
static bool pairs_contradict(const char *name, struct str sample)
{
    for (size_t i = 0; i < sizeof areas / sizeof areas[0]; i++) {
        if (strcmp(name, areas[i].name) != 0)
            continue;
        struct pairs pairs = count_pairs(&areas[i], sample);
        size_t right = pairs.all - pairs.wrong;
        return (pairs.wrong > 2 && pairs.wrong * 10 > pairs.all) ||
               (right > 20 && pairs.usual * 100 < right * areas[i].percent);
    }
    return false;
}

/* ---- sets of one byte a character ---- */

/* Whether letters do not look like words: small letters before capitals, as when Cyrillic is read by a table of another
 * set. */
static bool letters_contradict(const char *name, struct str sample)
{
    uint32_t table[256];
    if (!charset_is_single_byte(name) || !charset_table(name, table))
        return false;
    size_t letters = 0, capitals = 0, odd = 0, nothing = 0, high = 0;
    int before = 0;
    for (size_t i = 0; i < sample.len; i++) {
        unsigned char c = (unsigned char)sample.data[i];
        int category = (int)utf8proc_category((utf8proc_int32_t)table[c]);
        bool is_letter = category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_ME;
        if (c >= 0x80) {
            high++;
            nothing += table[c] == 0xFFFD || category == UTF8PROC_CATEGORY_CC;
            letters += is_letter;
            capitals += category == UTF8PROC_CATEGORY_LU;
            odd += category == UTF8PROC_CATEGORY_LU && before == UTF8PROC_CATEGORY_LL;
            odd += !is_letter && before && i + 1 < sample.len && (unsigned char)sample.data[i + 1] >= 0x80;
        }
        before = c >= 0x80 && is_letter ? category : 0;
    }
    return (nothing > 2 && nothing * 10 > high) || (letters > 40 && odd * 10 > letters) ||
           (letters > 40 && odd > 1 && capitals * 10 > letters * 7);
}

/* Whether a set for western languages is claimed for text that is written in letters above 127 throughout. */
static bool density_contradicts(const char *name, const struct charset_survey *survey)
{
    static const char *const western[] = {"windows-1252", "iso-8859-15", "macintosh",   "windows-1250", "iso-8859-2",
                                          "windows-1254", "iso-8859-3",  "iso-8859-16", "windows-1257", "iso-8859-4",
                                          "iso-8859-10",  "iso-8859-13", "iso-8859-14"};
    if (survey->high < 40 || survey->adjacent * 10 < survey->high * 7)
        return false;
    for (size_t i = 0; i < sizeof western / sizeof western[0]; i++)
        if (strcmp(name, western[i]) == 0)
            return true;
    return false;
}

/* ---- all ---- */

bool charset_has_jis_escapes(struct str bytes)
{
    struct str head = str_slice(bytes, 0, 65536);
    size_t at = str_find_char(head, '\x1B', 0);
    return at != STR_NONE &&
           (str_find(head, STR("\x1B$B"), at) != STR_NONE || str_find(head, STR("\x1B$@"), at) != STR_NONE);
}

/* Bytes that cannot be UTF-8, or are so by chance alone. */
static bool contradicts_utf8(const struct charset_survey *survey)
{
    bool accents = survey->good == 0 && survey->adjacent == 0 && survey->accents == survey->bad;
    return survey->bad > survey->good && (survey->bad > FEW_BAD || accents);
}

/* Sequences that are UTF-8 by chance get rarer the longer they are; of one accented letter one may be wrong. */
static bool is_utf8_after_all(const struct charset_survey *survey, bool pairs)
{
    return survey->weight >= (pairs ? 4 : 1) && survey->bad * 16 <= survey->good;
}

bool charset_contradicts(const char *name, const struct charset_survey *survey, struct str bytes, bool markup)
{
    const char *zeros = charset_of_zeros(bytes);
    if (strncmp(name, "utf-16", 6) == 0 || strncmp(name, "utf-32", 6) == 0) {
        bool none = !memchr(bytes.data ? bytes.data : "", '\0', bytes.len < 1024 ? bytes.len : 1024);
        return (zeros && name[4] == '1' && strcmp(zeros, name) != 0) ||
               (none && (markup || (survey->high && survey->bad == 0)));
    }
    if (zeros)
        return true;
    bool is_jis = strncmp(name, "iso-2022-", 9) == 0;
    if (survey->high == 0)
        return !is_jis && charset_has_jis_escapes(bytes);
    if (strcmp(name, "utf-8") == 0)
        return contradicts_utf8(survey);
    bool single = charset_is_single_byte(name);
    if (is_utf8_after_all(survey, !single && !is_jis))
        return true;
    struct str sample = from_first_high(bytes, SAMPLE_BYTES);
    if (single)
        return density_contradicts(name, survey) || letters_contradict(name, sample);
    return pairs_contradict(name, sample);
}
