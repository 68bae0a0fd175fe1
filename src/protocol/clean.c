#include "protocol/clean.h"

#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"

/* The longest name between the bars of a control token such as <|im_start|>. */
#define MAX_BAR_TOKEN 64

/* Names of tags that the protocol, its dialects and the chat templates give a meaning. A tag of one of these loses its
 * "<" whatever follows the name: attributes, blanks, "=", or nothing. */
static const char *const tag_names[] = {
    "think",  "thinking", "tool_call",     "tool_calls",     "tool_response", "answer",
    "code",   "tools",    "function",      "parameter",      "arg_key",       "arg_value",
    "invoke", "param",    "function_call", "function_calls", "tool",
};

/* Control tokens in angle brackets, whole: "<s>" is one, "<small>" is not. */
static const char *const angle_tokens[] = {
    "s",
    "bos",
    "eos",
    "pad",
    "unk",
    "mask",
    "sep",
    "cls",
    "sop",
    "eop",
    "eod",
    "eoh",
    "eoa",
    "bot",
    "eot",
    "start_of_turn",
    "end_of_turn",
    "start_of_image",
    "end_of_image",
    "bos_token",
    "eos_token",
    "im_start",
    "im_end",
    "endoftext",
    "begin_of_text",
    "end_of_text",
    "fim_prefix",
    "fim_middle",
    "fim_suffix",
    "fim_pad",
    "minimax:tool_call",
};

/* And those that end in a number. */
static const char *const numbered_tokens[] = {"unused", "reserved_", "extra_id_", "extra_", "special_"};

/* Control tokens in square brackets, as they are written: lower case is a Markdown label. */
static const char *const square_tokens[] = {
    "[INST]",
    "[/INST]",
    "[TOOL_CALLS]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[TOOL_CONTENT]",
    "[ARGS]",
    "[CALL_ID]",
    "[THINK]",
    "[/THINK]",
    "[IMG]",
    "[IMG_BREAK]",
    "[IMG_END]",
    "[PREFIX]",
    "[MIDDLE]",
    "[SUFFIX]",
    "[gMASK]",
    "[sMASK]",
    "[MASK]",
    "[CLS]",
    "[SEP]",
    "[PAD]",
    "[UNK]",
    "[BOS]",
    "[EOS]",
};

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* ---- First pass: characters ---- */

/* Tag characters spell out ASCII that nobody sees and models read; overrides show a person another order of letters
 * than the model gets. */
static bool is_control(uint32_t code)
{
    return (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7F && code < 0xA0) || code == 0x202D ||
           code == 0x202E || (code >= 0xE0000 && code <= 0xE007F);
}

/* Bytes from `i` on that the first pass leaves alone. */
static size_t plain_run(struct str s, size_t i)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    size_t start = i;
    while (i < s.len) {
        uint64_t v;
        if (s.len - i >= 8) {
            memcpy(&v, s.data + i, 8);
            uint64_t special = (v - ones * 0x20) | ((v ^ (ones * 0x7F)) - ones) | v;
            if (!(special & highs)) {
                i += 8;
                continue;
            }
        }
        size_t length;
        uint32_t code = utf8_decode(str_slice(s, i, s.len), &length);
        if (code == UTF8_INVALID || is_control(code))
            break;
        i += length;
    }
    return i - start;
}

static enum status clean_characters(struct buf *out, struct str text)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < text.len && status == STATUS_OK;) {
        size_t run = plain_run(text, i), length;
        status = buf_append(out, text.data + i, run);
        i += run;
        if (i >= text.len || status != STATUS_OK)
            break;
        uint32_t code = utf8_decode(str_slice(text, i, text.len), &length);
        if (code == UTF8_INVALID)
            status = buf_append_str(out, STR("\xEF\xBF\xBD"));
        else if (code == '\r' && (i + 1 == text.len || text.data[i + 1] != '\n'))
            status = buf_append_char(out, '\n');
        i += length;
    }
    return status;
}

/* ---- Second pass: tags and tokens ---- */

/* The length of a character at `i` that nobody sees, behind which a tag could hide: soft hyphen, zero-width and
 * bidirectional marks, variation selectors, tag characters. */
static size_t unseen_at(struct str s, size_t i)
{
    if (i >= s.len || (unsigned char)s.data[i] < 0x80)
        return 0;
    size_t length;
    uint32_t code = utf8_decode(str_slice(s, i, s.len), &length);
    bool unseen = code == 0xAD || code == 0x34F || code == 0x61C || code == 0x180E ||
                  (code >= 0x200B && code <= 0x200F) || (code >= 0x202A && code <= 0x202E) ||
                  (code >= 0x2060 && code <= 0x206F) || (code >= 0xFE00 && code <= 0xFE0F) || code == 0xFEFF ||
                  (code >= 0xE0000 && code <= 0xE0FFF);
    return unseen ? length : 0;
}

static size_t skip_unseen(struct str s, size_t i)
{
    for (size_t length; (length = unseen_at(s, i)) > 0;)
        i += length;
    return i;
}

/* Skips blanks as well. More than MAX_BAR_TOKEN bytes of them make no tag. */
static size_t skip_space(struct str s, size_t i)
{
    size_t limit = i + MAX_BAR_TOKEN;
    for (size_t before = SIZE_MAX; i != before && i < limit;) {
        before = i;
        i = skip_unseen(s, i);
        if (i < s.len && ascii_is_space(s.data[i]))
            i++;
    }
    return i;
}

/* The end of `name` at `i`, without case and with unseen characters anywhere in it, or STR_NONE. */
static size_t name_end(struct str s, size_t i, const char *name)
{
    for (; *name; name++) {
        i = skip_unseen(s, i);
        if (i >= s.len || ascii_lower(s.data[i]) != *name)
            return STR_NONE;
        i++;
    }
    return skip_unseen(s, i);
}

static bool is_name_char(char c)
{
    return ascii_is_alnum(c) || c == '_' || c == '-';
}

/* Whether a tag's name at `i` is one to be disarmed. */
static bool is_known_name(struct str s, size_t i)
{
    for (size_t k = 0; k < COUNT_OF(tag_names); k++) {
        size_t end = name_end(s, i, tag_names[k]);
        if (end != STR_NONE && (end == s.len || !is_name_char(s.data[end])))
            return true;
    }
    for (size_t k = 0; k < COUNT_OF(angle_tokens); k++) {
        size_t end = name_end(s, i, angle_tokens[k]);
        if (end != STR_NONE && end < s.len && s.data[skip_space(s, end) < s.len ? skip_space(s, end) : end] == '>')
            return true;
    }
    for (size_t k = 0; k < COUNT_OF(numbered_tokens); k++) {
        size_t end = name_end(s, i, numbered_tokens[k]);
        while (end != STR_NONE && end < s.len && is_name_char(s.data[end]))
            end++;
        if (end != STR_NONE && end < s.len && s.data[end] == '>')
            return true;
    }
    return false;
}

static size_t bar_length(struct str s, size_t i)
{
    struct str rest = str_slice(s, i, s.len);
    if (str_starts_with(rest, STR("|")))
        return 1;
    return str_starts_with(rest, STR("\xEF\xBD\x9C")) ? 3 : 0; /* U+FF5C, which DeepSeek's tokens use */
}

/* Whether "<" at `i` begins <|…|>, with either kind of bar. What stands between is one word: `f <| g, x |> y` is code.
 */
static bool is_bar_token(struct str s, size_t i)
{
    i = skip_space(s, i + 1);
    size_t bar = bar_length(s, i), from = skip_space(s, i + bar);
    if (!bar)
        return false;
    for (i = from; i < s.len && i - from <= MAX_BAR_TOKEN; i++) {
        size_t end = skip_space(s, i);
        bar = bar_length(s, end);
        if (bar) {
            end = skip_space(s, end + bar);
            return i > from && end < s.len && s.data[end] == '>';
        }
        if (ascii_is_space(s.data[i]) || s.data[i] == '>')
            return false;
    }
    return false;
}

/* Whether the "<" at `i` has to go. */
static bool is_armed_angle(struct str s, size_t i)
{
    size_t name = skip_space(s, i + 1);
    if (name >= s.len)
        return false;
    if (s.data[name] == '/')
        name = skip_space(s, name + 1);
    if (name < s.len && ascii_is_alpha(s.data[name]))
        return is_known_name(s, name);
    if (s.data[i + 1] == '<') /* <<SYS>>, <</SYS>> */
        return str_starts_with_nocase(str_slice(s, i, s.len), STR("<<SYS>>")) ||
               str_starts_with_nocase(str_slice(s, i, s.len), STR("<</SYS>>"));
    return is_bar_token(s, i);
}

static bool is_armed_square(struct str s, size_t i)
{
    struct str rest = str_slice(s, i, s.len);
    for (size_t k = 0; k < COUNT_OF(square_tokens); k++) {
        if (str_starts_with(rest, str_of(square_tokens[k])))
            return true;
    }
    return false;
}

static enum status disarm(struct buf *out, struct str text)
{
    size_t from = 0;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < text.len && status == STATUS_OK; i++) {
        char c = text.data[i];
        if (c != '<' && c != '[')
            continue;
        if (c == '<' ? !is_armed_angle(text, i) : !is_armed_square(text, i))
            continue;
        status = buf_append(out, text.data + from, i - from);
        if (status == STATUS_OK)
            status = buf_append_str(out, c == '<' ? STR("&lt;") : STR("&#91;"));
        from = i + 1;
    }
    return status == STATUS_OK ? buf_append(out, text.data + from, text.len - from) : status;
}

enum status clean_text(struct buf *out, struct str text)
{
    size_t before = out->len;
    enum status status;
    if (plain_run(text, 0) == text.len) {
        status = disarm(out, text);
    } else {
        struct buf characters;
        buf_init(&characters, BUF_UNBOUNDED); /* at most three times the text, which the caller bounds */
        status = clean_characters(&characters, text);
        if (status == STATUS_OK)
            status = disarm(out, buf_str(&characters));
        buf_finish(&characters);
    }
    if (status != STATUS_OK)
        buf_truncate(out, before);
    return status;
}
