#include "support/small_tokenizer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/json.h"
#include "core/utf8.h"

static const char *const chat_marks[] = {
    "<|im_start|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<|begin_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "<bos>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<think>",
    "</think>",
    "<｜User｜>",
    "<｜Assistant｜>",
    "<|user|>",
    "<|assistant|>",
    "<|system|>",
    "[gMASK]",
    "<sop>",
    "<|end|>",
    "<|im_sep|>",
    "<|im_system|>",
    "<|im_user|>",
    "<|im_assistant|>",
    "<|im_middle|>",
    "<|start|>",
    "<|message|>",
    "<|channel|>",
    "<｜begin▁of▁sentence｜>",
    "<tool_response>",
    "</tool_response>",
    "<｜end▁of▁sentence｜>",
};

/* Left and right side; what they make may be a side further down. */
static const char *const merges[][2] = {
    {"\n", "\n"},  {" ", " "},   {" ", "\n"},  {"\n\n", "\n"}, {">", "\n"}, {"|", ">"},   {"|>", "\n"}, {"<", "|"},
    {"t", "h"},    {"th", "e"},  {" ", "the"}, {" ", "t"},     {"e", "r"},  {"i", "n"},   {"a", "n"},   {"an", "d"},
    {" ", "and"},  {"s", "t"},   {"u", "s"},   {"us", "er"},   {"a", "s"},  {"as", "s"},  {"o", "n"},   {"r", "e"},
    {"s", "e"},    {"in", "g"},  {" ", "a"},   {"l", "l"},     {"o", "u"},  {"\"", "\n"}, {"]", " "},   {" ", "["},
    {":", "\n"},   {"1", "2"},   {"12", "3"},  {".", "\n"},    {"c", "e"},  {"n", "ce"},  {"p", "o"},   {"po", "n"},
    {"pon", "se"}, {"re", "s"},  {"s", "y"},   {"i", "m"},     {"_", "s"},  {"s", "t"},   {".", " "},   {"/", "I"},
    {"U", "s"},    {"Us", "er"}, {"\n", "U"},  {"\n", "A"},    {"]", "\n"}, {" ", "<"},   {"e", "n"},   {"en", "d"},
};

#define MERGE_COUNT (sizeof merges / sizeof merges[0])

/* GPT-2's stand-ins for bytes that cannot be printed. */
static void add_byte(struct buf *out, unsigned char byte)
{
    uint32_t next = 256, code_point = byte;
    for (unsigned b = 0; b <= byte; b++) {
        bool printable = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
        code_point = printable ? b : next++;
    }
    char utf8[4];
    buf_add(out, str_make(utf8, utf8_encode(code_point, utf8)));
}

static void add_written(struct buf *out, enum small_kind kind, const char *text)
{
    for (; *text; text++) {
        if (kind != SMALL_BLANKS)
            add_byte(out, (unsigned char)*text);
        else if (*text == ' ')
            buf_add_text(out, "\xE2\x96\x81");
        else
            buf_add_char(out, *text);
    }
}

static void put_token(json_t *vocabulary, struct buf *name)
{
    if (!json_object_get(vocabulary, name->data))
        json_put(vocabulary, name->data, json_integer((json_int_t)json_object_size(vocabulary)));
    buf_reset(name);
}

static json_t *make_vocabulary(enum small_kind kind)
{
    json_t *vocabulary = json_object();
    struct buf name;
    buf_init(&name, BUF_UNBOUNDED);
    if (kind == SMALL_BLANKS) {
        buf_add_text(&name, "<unk>");
        put_token(vocabulary, &name);
    }
    for (unsigned b = 0; b < 256; b++) {
        if (kind == SMALL_BLANKS)
            buf_addf(&name, "<0x%02X>", b);
        else
            add_byte(&name, (unsigned char)b);
        put_token(vocabulary, &name);
    }
    for (unsigned c = ' '; c <= '~' && kind == SMALL_BLANKS; c++) {
        add_written(&name, kind, (char[]){(char)c, '\0'});
        put_token(vocabulary, &name);
    }
    for (size_t i = 0; i < MERGE_COUNT; i++) {
        for (int part = 0; part < 3; part++) {
            if (part != 1)
                add_written(&name, kind, merges[i][0]);
            if (part != 0)
                add_written(&name, kind, merges[i][1]);
            put_token(vocabulary, &name);
        }
    }
    buf_finish(&name);
    return vocabulary;
}

static json_t *make_merges(enum small_kind kind)
{
    json_t *list = json_array();
    for (size_t i = 0; i < MERGE_COUNT; i++) {
        struct buf left, right;
        buf_init(&left, BUF_UNBOUNDED);
        buf_init(&right, BUF_UNBOUNDED);
        add_written(&left, kind, merges[i][0]);
        add_written(&right, kind, merges[i][1]);
        json_push(list, json_pack("[s, s]", left.data, right.data));
        buf_finish(&left);
        buf_finish(&right);
    }
    return list;
}

static json_t *make_steps(enum small_kind kind, json_t *file)
{
    static const char qwen[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| "
                               "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    switch (kind) {
    case SMALL_BYTES:
        json_put(file, "normalizer", json_pack("{s:s}", "type", "NFC"));
        return json_pack("{s:s, s:[{s:s, s:{s:s}, s:s, s:b}, {s:s, s:b, s:b, s:b}]}", "type", "Sequence",
                         "pretokenizers", "type", "Split", "pattern", "Regex", qwen, "behavior", "Isolated", "invert",
                         0, "type", "ByteLevel", "add_prefix_space", 0, "trim_offsets", 0, "use_regex", 0);
    case SMALL_BYTES_BOS:
        return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", 0, "trim_offsets", 1,
                         "use_regex", 1);
    case SMALL_BLANKS:
    case SMALL_KINDS:
        break;
    }
    json_put(file, "normalizer",
             json_pack("{s:s, s:[{s:s, s:s}, {s:s, s:{s:s}, s:s}]}", "type", "Sequence", "normalizers", "type",
                       "Prepend", "prepend", "\xE2\x96\x81", "type", "Replace", "pattern", "String", " ", "content",
                       "\xE2\x96\x81"));
    return json_null();
}

static json_t *make_decoder(enum small_kind kind)
{
    if (kind != SMALL_BLANKS)
        return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", 0, "trim_offsets", 1,
                         "use_regex", 1);
    return json_pack("{s:s, s:[{s:s, s:{s:s}, s:s}, {s:s}, {s:s}, {s:s, s:s, s:i, s:i}]}", "type", "Sequence",
                     "decoders", "type", "Replace", "pattern", "String", "\xE2\x96\x81", "content", " ", "type",
                     "ByteFallback", "type", "Fuse", "type", "Strip", "content", " ", "start", 1, "stop", 0);
}

static json_t *make_added(json_t *vocabulary, bool chat_tokens)
{
    json_t *added = json_array();
    for (size_t i = 0; i < sizeof chat_marks / sizeof chat_marks[0]; i++) {
        if (!chat_tokens && strcmp(chat_marks[i], "<s>") != 0)
            continue;
        json_int_t id = (json_int_t)json_object_size(vocabulary) + (json_int_t)i;
        json_push(added, json_pack("{s:I, s:s, s:b, s:b, s:b, s:b, s:b}", "id", id, "content", chat_marks[i],
                                   "single_word", 0, "lstrip", 0, "rstrip", 0, "normalized", 0, "special", 1));
    }
    return added;
}

static json_t *make_file(enum small_kind kind, bool chat_tokens)
{
    json_t *file = json_object(), *vocabulary = make_vocabulary(kind), *added = make_added(vocabulary, chat_tokens);
    json_put(file, "version", json_string("1.0"));
    json_put(file, "added_tokens", added);
    json_put(file, "normalizer", json_null());
    json_put(file, "pre_tokenizer", make_steps(kind, file));
    json_put(file, "post_processor", json_null());
    if (kind != SMALL_BYTES) {
        json_int_t id = -1;
        size_t i;
        json_t *token;
        json_array_foreach (added, i, token)
            if (strcmp(json_get_string(token, "content"), "<s>") == 0)
                id = json_get_int(token, "id", -1);
        json_put(file, "post_processor",
                 json_pack("{s:s, s:[{s:{s:s, s:i}}, {s:{s:s, s:i}}], s:[], s:{s:{s:s, s:[I], s:[s]}}}", "type",
                           "TemplateProcessing", "single", "SpecialToken", "id", "<s>", "type_id", 0, "Sequence", "id",
                           "A", "type_id", 0, "pair", "special_tokens", "<s>", "id", "<s>", "ids", id, "tokens",
                           "<s>"));
    }
    json_put(file, "decoder", make_decoder(kind));
    json_put(file, "model",
             json_pack("{s:s, s:n, s:n, s:n, s:n, s:b, s:b, s:o, s:o}", "type", "BPE", "dropout", "unk_token",
                       "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", kind == SMALL_BLANKS,
                       "byte_fallback", kind == SMALL_BLANKS, "vocab", vocabulary, "merges", make_merges(kind)));
    return file;
}

void small_tokenizer_open(struct small_tokenizer *small, struct str file)
{
    const struct tokenizer_source source = {.name = STR("tokenizer.json"), .main = file};
    struct buf image;
    struct error error = {0};
    buf_init(&image, BUF_UNBOUNDED);
    if (tokenizer_compile(&source, &image, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    small->image = aligned_alloc(64, (image.len + 63) / 64 * 64);
    assert_non_null(small->image);
    memcpy(small->image, image.data, image.len);
    if (tokenizer_open(str_make(small->image, image.len), &small->tokenizer, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    buf_finish(&image);
}

void small_tokenizer_init(struct small_tokenizer *small, enum small_kind kind, bool chat_tokens)
{
    json_t *file = make_file(kind, chat_tokens);
    char *text = json_to_text(file);
    small_tokenizer_open(small, str_of(text));
    free(text);
    json_decref(file);
}

void small_tokenizer_finish(struct small_tokenizer *small)
{
    tokenizer_destroy(small->tokenizer);
    free(small->image);
}
