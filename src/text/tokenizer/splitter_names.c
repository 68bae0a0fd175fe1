/* The names of classes of characters. */
#include <string.h>

#include "text/tokenizer/splitter_syntax.h"
#include "text/tokenizer/unicode_class.h"

#define ANY (~UINT64_C(0))

struct class_name {
    const char *name; /* lower case, without spaces, hyphens and underscores */
    uint64_t bits;
};

static const struct class_name categories[] = {
    {"any", ANY},
    {"assigned", UNICODE_L | UNICODE_M | UNICODE_N | UNICODE_P | UNICODE_S | UNICODE_Z | (UNICODE_C & ~UNICODE_CN)},
    {"l", UNICODE_L},
    {"letter", UNICODE_L},
    {"lc", UNICODE_LU | UNICODE_LL | UNICODE_LT},
    {"casedletter", UNICODE_LU | UNICODE_LL | UNICODE_LT},
    {"lu", UNICODE_LU},
    {"uppercaseletter", UNICODE_LU},
    {"ll", UNICODE_LL},
    {"lowercaseletter", UNICODE_LL},
    {"lt", UNICODE_LT},
    {"titlecaseletter", UNICODE_LT},
    {"lm", UNICODE_LM},
    {"modifierletter", UNICODE_LM},
    {"lo", UNICODE_LO},
    {"otherletter", UNICODE_LO},
    {"m", UNICODE_M},
    {"mark", UNICODE_M},
    {"combiningmark", UNICODE_M},
    {"mn", UNICODE_MN},
    {"nonspacingmark", UNICODE_MN},
    {"mc", UNICODE_MC},
    {"spacingmark", UNICODE_MC},
    {"me", UNICODE_ME},
    {"enclosingmark", UNICODE_ME},
    {"n", UNICODE_N},
    {"number", UNICODE_N},
    {"nd", UNICODE_ND},
    {"decimalnumber", UNICODE_ND},
    {"nl", UNICODE_NL},
    {"letternumber", UNICODE_NL},
    {"no", UNICODE_NO},
    {"othernumber", UNICODE_NO},
    {"p", UNICODE_P},
    {"punctuation", UNICODE_P},
    {"pc", UNICODE_PC},
    {"connectorpunctuation", UNICODE_PC},
    {"pd", UNICODE_PD},
    {"dashpunctuation", UNICODE_PD},
    {"ps", UNICODE_PS},
    {"openpunctuation", UNICODE_PS},
    {"pe", UNICODE_PE},
    {"closepunctuation", UNICODE_PE},
    {"pi", UNICODE_PI},
    {"initialpunctuation", UNICODE_PI},
    {"pf", UNICODE_PF},
    {"finalpunctuation", UNICODE_PF},
    {"po", UNICODE_PO},
    {"otherpunctuation", UNICODE_PO},
    {"s", UNICODE_S},
    {"symbol", UNICODE_S},
    {"sm", UNICODE_SM},
    {"mathsymbol", UNICODE_SM},
    {"sc", UNICODE_SC},
    {"currencysymbol", UNICODE_SC},
    {"sk", UNICODE_SK},
    {"modifiersymbol", UNICODE_SK},
    {"so", UNICODE_SO},
    {"othersymbol", UNICODE_SO},
    {"z", UNICODE_Z},
    {"separator", UNICODE_Z},
    {"zs", UNICODE_ZS},
    {"spaceseparator", UNICODE_ZS},
    {"zl", UNICODE_ZL},
    {"lineseparator", UNICODE_ZL},
    {"zp", UNICODE_ZP},
    {"paragraphseparator", UNICODE_ZP},
    {"c", UNICODE_C},
    {"other", UNICODE_C},
    {"cc", UNICODE_CC},
    {"control", UNICODE_CC},
    {"cf", UNICODE_CF},
    {"format", UNICODE_CF},
    {"co", UNICODE_CO},
    {"privateuse", UNICODE_CO},
    {"cn", UNICODE_CN},
    {"unassigned", UNICODE_CN},
    {"alphabetic", UNICODE_ALPHABETIC},
    {"uppercase", UNICODE_UPPERCASE},
    {"lowercase", UNICODE_LOWERCASE},
    {"whitespace", UNICODE_SPACE},
    {"han", UNICODE_HAN},
    {"hiragana", UNICODE_HIRAGANA},
    {"katakana", UNICODE_KATAKANA},
    {"hangul", UNICODE_HANGUL},
    {"latin", UNICODE_LATIN},
    {"greek", UNICODE_GREEK},
    {"cyrillic", UNICODE_CYRILLIC},
    {"arabic", UNICODE_ARABIC},
};

/* [:name:] of Oniguruma; \p{name} too, but for punct and word. */
static const struct class_name posix[] = {
    {"alnum", UNICODE_ALPHABETIC | UNICODE_ND},
    {"alpha", UNICODE_ALPHABETIC},
    {"blank", UNICODE_ZS},
    {"cntrl", UNICODE_CC},
    {"digit", UNICODE_ND},
    {"graph", UNICODE_GRAPH},
    {"lower", UNICODE_LOWERCASE},
    {"print", UNICODE_PRINT},
    {"punct", UNICODE_P | UNICODE_S},
    {"space", UNICODE_SPACE},
    {"upper", UNICODE_UPPERCASE},
    {"word", UNICODE_ONIG_WORD},
    {"xdigit", 0},
    {"ascii", 0},
};

static bool add_named(const struct class_name *names, size_t count, const char *name, struct unicode_set *set)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i].name, name) == 0) {
            unicode_set_add_classes(set, names[i].bits);
            return true;
        }
    return false;
}

bool pattern_add_category(const char *name, struct unicode_set *set)
{
    return add_named(categories, sizeof categories / sizeof *categories, name, set);
}

bool pattern_add_posix(const char *name, struct unicode_set *set)
{
    if (!add_named(posix, sizeof posix / sizeof *posix, name, set))
        return false;
    if (strcmp(name, "blank") == 0)
        unicode_set_add(set, '\t', '\t');
    else if (strcmp(name, "ascii") == 0)
        unicode_set_add(set, 0, 0x7F);
    else if (strcmp(name, "xdigit") == 0) {
        unicode_set_add(set, '0', '9');
        unicode_set_add(set, 'A', 'F');
        unicode_set_add(set, 'a', 'f');
    }
    return true;
}
