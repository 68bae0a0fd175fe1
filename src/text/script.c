#include "text/script.h"

#include "core/utf8.h"

#include <stdbool.h>
#include <stdint.h>

enum script {
    LATIN, /* first: letters that tell nothing */
    HAN,
    KANA,
    HANGUL,
    CYRILLIC,
    GREEK,
    ARABIC,
    HEBREW,
    DEVANAGARI,
    BENGALI,
    GURMUKHI,
    GUJARATI,
    TAMIL,
    TELUGU,
    KANNADA,
    MALAYALAM,
    SINHALA,
    THAI,
    LAO,
    MYANMAR,
    GEORGIAN,
    ARMENIAN,
    ETHIOPIC,
    KHMER,
    N_SCRIPTS,
    NO_SCRIPT = N_SCRIPTS /* digits, marks, what is not listed */
};

/* What a script means where nothing says more. */
static const struct script_locale usual[N_SCRIPTS] = {
    [HAN] = {"zh", "cn"},      [KANA] = {"ja", "jp"},     [HANGUL] = {"ko", "kr"},    [CYRILLIC] = {"ru", "ru"},
    [GREEK] = {"el", "gr"},    [ARABIC] = {"ar", "sa"},   [HEBREW] = {"he", "il"},    [DEVANAGARI] = {"hi", "in"},
    [BENGALI] = {"bn", "bd"},  [GURMUKHI] = {"pa", "in"}, [GUJARATI] = {"gu", "in"},  [TAMIL] = {"ta", "in"},
    [TELUGU] = {"te", "in"},   [KANNADA] = {"kn", "in"},  [MALAYALAM] = {"ml", "in"}, [SINHALA] = {"si", "lk"},
    [THAI] = {"th", "th"},     [LAO] = {"lo", "la"},      [MYANMAR] = {"my", "mm"},   [GEORGIAN] = {"ka", "ge"},
    [ARMENIAN] = {"hy", "am"}, [ETHIOPIC] = {"am", "et"}, [KHMER] = {"km", "kh"},
};

/* Unicode 15, Blocks.txt; ascending. */
static const struct {
    uint32_t first, last;
    enum script script;
} ranges[] = {
    {'A', 'Z', LATIN},          {'a', 'z', LATIN},        {0xc0, 0x24f, LATIN},       {0x370, 0x3ff, GREEK},
    {0x400, 0x52f, CYRILLIC},   {0x531, 0x58f, ARMENIAN}, {0x5d0, 0x5f4, HEBREW},     {0x620, 0x6d3, ARABIC},
    {0x6d5, 0x6ef, ARABIC},     {0x6fa, 0x6ff, ARABIC},   {0x750, 0x77f, ARABIC},     {0x8a0, 0x8ff, ARABIC},
    {0x900, 0x97f, DEVANAGARI}, {0x980, 0x9ff, BENGALI},  {0xa00, 0xa7f, GURMUKHI},   {0xa80, 0xaff, GUJARATI},
    {0xb80, 0xbff, TAMIL},      {0xc00, 0xc7f, TELUGU},   {0xc80, 0xcff, KANNADA},    {0xd00, 0xd7f, MALAYALAM},
    {0xd80, 0xdff, SINHALA},    {0xe00, 0xe7f, THAI},     {0xe80, 0xeff, LAO},        {0x1000, 0x109f, MYANMAR},
    {0x10a0, 0x10ff, GEORGIAN}, {0x1100, 0x11ff, HANGUL}, {0x1200, 0x137f, ETHIOPIC}, {0x1780, 0x17ff, KHMER},
    {0x1e00, 0x1eff, LATIN},    {0x1f00, 0x1fff, GREEK},  {0x3005, 0x3007, HAN},      {0x3041, 0x3096, KANA},
    {0x309d, 0x309f, KANA},     {0x30a1, 0x30fa, KANA},   {0x30fc, 0x30ff, KANA},     {0x3130, 0x318f, HANGUL},
    {0x31f0, 0x31ff, KANA},     {0x3400, 0x4dbf, HAN},    {0x4e00, 0x9fff, HAN},      {0xac00, 0xd7a3, HANGUL},
    {0xf900, 0xfaff, HAN},      {0xfb50, 0xfdff, ARABIC}, {0xfe70, 0xfefc, ARABIC},   {0xff66, 0xff9d, KANA},
    {0x20000, 0x323af, HAN},
};

/* Letters by which a language is told from the usual one of its script. Some belong to a second language too, which
 * then stands further down with letters of its own: the last one found counts. */
static const struct {
    enum script script;
    struct script_locale locale;
    const uint32_t *letters; /* 0 at the end */
} marks[] = {
    {CYRILLIC, {"uk", "ua"}, (const uint32_t[]){0x404, 0x406, 0x407, 0x454, 0x456, 0x457, 0x490, 0x491, 0}},
    {CYRILLIC, {"be", "by"}, (const uint32_t[]){0x40e, 0x45e, 0}},
    {CYRILLIC,
     {"sr", "rs"},
     (const uint32_t[]){0x402, 0x408, 0x409, 0x40a, 0x40b, 0x40f, 0x452, 0x458, 0x459, 0x45a, 0x45b, 0x45f, 0}},
    {ARABIC, {"fa", "ir"}, (const uint32_t[]){0x67e, 0x686, 0x698, 0x6a9, 0x6af, 0x6cc, 0}},
    {ARABIC, {"ur", "pk"}, (const uint32_t[]){0x679, 0x688, 0x691, 0x6ba, 0x6be, 0x6c1, 0x6d2, 0}},
};
enum { N_MARKS = sizeof marks / sizeof marks[0] };

struct counts {
    size_t letters[N_SCRIPTS + 1];
    size_t longest[N_SCRIPTS + 1]; /* run of letters */
    bool marks[N_MARKS];           /* found */
};

static enum script script_of(uint32_t c)
{
    size_t low = 0, high = sizeof ranges / sizeof ranges[0];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c > ranges[middle].last)
            low = middle + 1;
        else if (c < ranges[middle].first)
            high = middle;
        else
            return ranges[middle].script;
    }
    return NO_SCRIPT;
}

static void count_marks(enum script script, uint32_t c, struct counts *counts)
{
    for (size_t i = 0; i < N_MARKS; i++) {
        for (const uint32_t *letter = marks[i].letters; marks[i].script == script && *letter; letter++)
            counts->marks[i] = counts->marks[i] || *letter == c;
    }
}

static void count(struct str text, struct counts *counts)
{
    enum script before = NO_SCRIPT;
    size_t run = 0, length;
    while (text.len > 0) {
        uint32_t c = utf8_decode(text, &length);
        enum script script = script_of(c);
        run = script == before ? run + 1 : 1;
        before = script;
        counts->letters[script]++;
        if (run > counts->longest[script])
            counts->longest[script] = run;
        count_marks(script, c, counts);
        text = str_slice(text, length, text.len);
    }
}

/* Whether there is enough of a script to go by. */
static bool tells(enum script script, const struct counts *counts)
{
    if (script == HAN || script == KANA || script == HANGUL)
        return counts->letters[script] > 0;
    return counts->longest[script] >= 3 || (counts->longest[script] > 0 && counts->letters[LATIN] == 0);
}

const struct script_locale *script_locale(struct str text)
{
    struct counts counts = {0};
    enum script best = LATIN;
    count(text, &counts);
    for (enum script script = LATIN + 1; script < N_SCRIPTS; script++) {
        if (tells(script, &counts) && (best == LATIN || counts.letters[script] > counts.letters[best]))
            best = script;
    }
    if (best == HAN && counts.letters[KANA] > 0)
        best = KANA;
    const struct script_locale *locale = best == LATIN ? NULL : &usual[best];
    for (size_t i = 0; i < N_MARKS; i++) {
        if (marks[i].script == best && counts.marks[i])
            locale = &marks[i].locale;
    }
    return locale;
}
