/* The rank files that are known: a .tiktoken file holds ranks alone, so patterns and special tokens stand here.
 *
 * Sources: tiktoken 0.14 (openai_public.py); Qwen's tokenization_qwen.py, which PyPI's dashscope carries; Llama 3's
 * tokenizer.py (github.com/meta-llama/llama3). Llama 3.1 and later use the same ranks, but name some of the reserved
 * tokens in another way: their tokenizer.json says how. */
#include "text/tokenizer/read_internal.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char pattern_r50k[] = "'(?:[sdmt]|ll|ve|re)| ?\\p{L}++| ?\\p{N}++| ?[^\\s\\p{L}\\p{N}]++|\\s++$|"
                                   "\\s+(?!\\S)|\\s";

static const char pattern_cl100k[] = "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}+|"
                                     " ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s";

static const char pattern_o200k[] =
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+"
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*"
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

static const char pattern_qwen[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|"
                                   " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

static const char pattern_llama3[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|"
                                     " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

static const struct tiktoken_special special_r50k[] = {{"<|endoftext|>", 50256, 1, 0}};

static const struct tiktoken_special special_p50k_edit[] = {
    {"<|endoftext|>", 50256, 1, 0},
    {"<|fim_prefix|>", 50281, 1, 0},
    {"<|fim_middle|>", 50282, 1, 0},
    {"<|fim_suffix|>", 50283, 1, 0},
};

static const struct tiktoken_special special_cl100k[] = {
    {"<|endoftext|>", 100257, 1, 0},  {"<|fim_prefix|>", 100258, 1, 0},  {"<|fim_middle|>", 100259, 1, 0},
    {"<|fim_suffix|>", 100260, 1, 0}, {"<|endofprompt|>", 100276, 1, 0},
};

static const struct tiktoken_special special_o200k[] = {
    {"<|endoftext|>", 199999, 1, 0},
    {"<|endofprompt|>", 200018, 1, 0},
};

/* 200018 has two names; it is decoded as the one that comes last here. */
static const struct tiktoken_special special_harmony[] = {
    {"<|startoftext|>", 199998, 1, 0},
    {"<|endoftext|>", 199999, 1, 0},
    {"<|reserved_%u|>", 200000, 2, 200000},
    {"<|return|>", 200002, 1, 0},
    {"<|constrain|>", 200003, 1, 0},
    {"<|reserved_%u|>", 200004, 1, 200004},
    {"<|channel|>", 200005, 1, 0},
    {"<|start|>", 200006, 1, 0},
    {"<|end|>", 200007, 1, 0},
    {"<|message|>", 200008, 1, 0},
    {"<|reserved_%u|>", 200009, 3, 200009},
    {"<|call|>", 200012, 1, 0},
    {"<|reserved_%u|>", 200013, 1075, 200013},
    {"<|endofprompt|>", 200018, 1, 0},
};

static const struct tiktoken_special special_qwen[] = {
    {"<|endoftext|>", 151643, 1, 0},
    {"<|im_start|>", 151644, 1, 0},
    {"<|im_end|>", 151645, 1, 0},
    {"<|extra_%u|>", 151646, 205, 0},
};

static const struct tiktoken_special special_llama3[] = {
    {"<|begin_of_text|>", 128000, 1, 0},
    {"<|end_of_text|>", 128001, 1, 0},
    {"<|reserved_special_token_%u|>", 128002, 4, 0},
    {"<|start_header_id|>", 128006, 1, 0},
    {"<|end_header_id|>", 128007, 1, 0},
    {"<|reserved_special_token_%u|>", 128008, 1, 4},
    {"<|eot_id|>", 128009, 1, 0},
    {"<|reserved_special_token_%u|>", 128010, 246, 5},
};

/* One that asks for a name stands before one with the same ranks that does not. p50k's ranks leave out the id of its
 * special token. */
static const struct tiktoken_known known[] = {
    {"r50k_base or gpt2", NULL, 50256, 50255, pattern_r50k, false, special_r50k, COUNT(special_r50k), NULL},
    {"p50k_edit", "p50k_edit", 50280, 50280, pattern_r50k, false, special_p50k_edit, COUNT(special_p50k_edit), NULL},
    {"p50k_base", NULL, 50280, 50280, pattern_r50k, false, special_r50k, COUNT(special_r50k), NULL},
    {"cl100k_base", NULL, 100256, 100255, pattern_cl100k, false, special_cl100k, COUNT(special_cl100k), NULL},
    {"o200k_harmony", "harmony", 199998, 199997, pattern_o200k, false, special_harmony, COUNT(special_harmony), NULL},
    {"o200k_base", NULL, 199998, 199997, pattern_o200k, false, special_o200k, COUNT(special_o200k), NULL},
    {"Qwen", NULL, 151643, 151642, pattern_qwen, true, special_qwen, COUNT(special_qwen), NULL},
    {"Llama 3", NULL, 128000, 127999, pattern_llama3, false, special_llama3, COUNT(special_llama3),
     "<|begin_of_text|>"},
};

const struct tiktoken_known *tiktoken_find(struct str name, uint32_t n_ranks, uint32_t highest)
{
    for (size_t i = 0; i < COUNT(known); i++) {
        bool named = !known[i].in_name || str_find_nocase(name, str_of(known[i].in_name), 0) != STR_NONE;
        if (named && known[i].n_ranks == n_ranks && known[i].highest == highest)
            return &known[i];
    }
    return NULL;
}

void tiktoken_list(struct buf *out)
{
    for (size_t i = 0; i < COUNT(known); i++)
        if (!known[i].in_name)
            buf_addf(out, "%s%s (%u)", out->len ? ", " : "", known[i].name, known[i].n_ranks);
}
