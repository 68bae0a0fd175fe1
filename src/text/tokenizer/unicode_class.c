#include "text/tokenizer/unicode_class.h"

#include "text/tokenizer/unicode_lookup.h"
#include "text/tokenizer/unicode_table.inc"

static const uint64_t masks[] = {
#define UNICODE_MASK(bits) UINT64_C(bits),
#include "text/tokenizer/unicode_masks.inc"
#undef UNICODE_MASK
};

uint64_t unicode_class(uint32_t code_point)
{
    return code_point > 0x10FFFF ? UNICODE_CN : masks[unicode_class_id(code_point)];
}

bool unicode_is_whitespace(uint32_t code_point)
{
    return unicode_class(code_point) & UNICODE_SPACE;
}

bool unicode_is_numeric(uint32_t code_point)
{
    return unicode_class(code_point) & UNICODE_HF_NUMERIC;
}

bool unicode_is_punctuation(uint32_t code_point)
{
    return unicode_class(code_point) & UNICODE_HF_PUNCTUATION;
}

bool unicode_is_mark(uint32_t code_point)
{
    return unicode_class(code_point) & UNICODE_HF_MARK;
}

bool unicode_is_word(uint32_t code_point)
{
    return unicode_class(code_point) & UNICODE_WORD;
}
