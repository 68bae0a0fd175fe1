/* The named templates. Each is what the template in its model's tokenizer_config.json writes for messages without
 * tools; the comments say where that could not be seen in the name. */
#include "protocol/template_internal.h"

#define W(literal)                   \
    {                                \
        literal, sizeof(literal) - 1 \
    }

#define CHATML_TURN(role)                                           \
    {                                                               \
        W("<|im_start|>" role "\\n"), W("<|im_end|>\\n"), TRIM_NONE \
    }
#define CHATML                                                                                                  \
    .turns = {CHATML_TURN("system"), CHATML_TURN("user"), CHATML_TURN("assistant")},                            \
    .generation = W("<|im_start|>assistant\\n"), .stops = {"<|im_end|>", "<|endoftext|>"}, .message_tokens = 5, \
    .prompt_tokens = 3

#define LLAMA3_TURN(role)                                                                   \
    {                                                                                       \
        W("<|start_header_id|>" role "<|end_header_id|>\\n\\n"), W("<|eot_id|>"), TRIM_BOTH \
    }
#define LLAMA3                                                                                             \
    .bos = W("<|begin_of_text|>"), .generation = W("<|start_header_id|>assistant<|end_header_id|>\\n\\n"), \
    .stops = {"<|eot_id|>", "<|end_of_text|>"}, .message_tokens = 5
#define LLAMA3_DAY(day)                                                                        \
    "<|start_header_id|>system<|end_header_id|>\\n\\nCutting Knowledge Date: December 2023\\n" \
    "Today Date: " day "\\n\\n"
#define LLAMA3_DAY_TURN(day)                           \
    {                                                  \
        W(LLAMA3_DAY(day)), W("<|eot_id|>"), TRIM_BOTH \
    }

#define DEEPSEEK \
    .bos = W("<｜begin▁of▁sentence｜>"), .stops = {"<｜end▁of▁sentence｜>"}, .message_tokens = 2, .prompt_tokens = 4

const struct chat_template template_table[] = {
    {.name = "chatml", CHATML},
    {
        .name = "llama3",
        .turns = {LLAMA3_TURN("system"), LLAMA3_TURN("user"), LLAMA3_TURN("assistant")},
        .prompt_tokens = 5,
        LLAMA3,
    },
    {
        .name = "mistral",
        .bos = W("<s>"),
        .turns = {{W(""), W("\\n\\n"), TRIM_NONE},
                  {W(" [INST] "), W(" [/INST]"), TRIM_NONE},
                  {W(" "), W("</s>"), TRIM_NONE}},
        .system_place = SYSTEM_IN_FIRST_USER,
        .stops = {"</s>"},
        .message_tokens = 9, /* [INST] and [/INST] are ordinary text to V1 */
        .prompt_tokens = 1,
    },
    {
        .name = "mistral-v3",
        .bos = W("<s>"),
        .turns = {{W(""), W("\\n\\n"), TRIM_NONE},
                  {W("[INST] "), W("[/INST]"), TRIM_NONE},
                  {W(" "), W("</s>"), TRIM_BOTH}},
        .system_place = SYSTEM_IN_LAST_USER,
        .stops = {"</s>"},
        .message_tokens = 3,
        .prompt_tokens = 1,
    },
    {
        .name = "mistral-tekken",
        .bos = W("<s>"),
        .turns = {{W(""), W("\\n\\n"), TRIM_NONE},
                  {W("[INST]"), W("[/INST]"), TRIM_NONE},
                  {W(""), W("</s>"), TRIM_NONE}},
        .system_place = SYSTEM_IN_LAST_USER,
        .stops = {"</s>"},
        .message_tokens = 2,
        .prompt_tokens = 2,
    },
    {
        .name = "mistral-v7",
        .bos = W("<s>"),
        .turns = {{W("[SYSTEM_PROMPT]"), W("[/SYSTEM_PROMPT]"), TRIM_NONE},
                  {W("[INST]"), W("[/INST]"), TRIM_NONE},
                  {W(""), W("</s>"), TRIM_NONE}},
        .stops = {"</s>"},
        .message_tokens = 2,
        .prompt_tokens = 1,
    },
    {
        .name = "gemma",
        .bos = W("<bos>"),
        .turns = {{W(""), W("\\n\\n"), TRIM_NONE},
                  {W("<start_of_turn>user\\n"), W("<end_of_turn>\\n"), TRIM_BOTH},
                  {W("<start_of_turn>model\\n"), W("<end_of_turn>\\n"), TRIM_BOTH}},
        .system_place = SYSTEM_IN_FIRST_USER,
        .generation = W("<start_of_turn>model\\n"),
        .stops = {"<end_of_turn>", "<eos>"},
        .message_tokens = 5,
        .prompt_tokens = 4,
    },
    {
        .name = "plain",
        .turns = {{W(""), W("\\n\\n"), TRIM_BOTH},
                  {W("User:\\n"), W("\\n\\n"), TRIM_BOTH},
                  {W("Assistant:\\n"), W("\\n\\n"), TRIM_BOTH}},
        .generation = W("Assistant:\\n"),
        .stops = {"\nUser:\n"},
        .message_tokens = 4,
        .prompt_tokens = 3,
    },
    {
        .name = "qwen1.5",
        .default_system = W("<|im_start|>system\\nYou are a helpful assistant<|im_end|>\\n"),
        CHATML,
    },
    {
        .name = "qwen2",
        .default_system = W("<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n"),
        CHATML,
    },
    {
        .name = "qwen2.5",
        .default_system = W("<|im_start|>system\\nYou are Qwen, created by Alibaba Cloud. You are a helpful "
                            "assistant.<|im_end|>\\n"),
        CHATML,
    },
    {.name = "qwen3", .history = HISTORY_QWEN3, CHATML},
    /* Qwen3-…-Thinking-2507 */
    {.name = "qwen3-thinking", .history = HISTORY_QWEN3, .chat_generation = W("<think>\\n"), CHATML},
    {.name = "qwq", .history = HISTORY_STRIPPED, .chat_generation = W("<think>\\n"), CHATML},
    /* Llama 3.1 and 3.3 always say this day; 3.2 says what day it is */
    {
        .name = "llama3.1",
        .default_system = W(LLAMA3_DAY("26 Jul 2024") "<|eot_id|>"),
        .turns = {LLAMA3_DAY_TURN("26 Jul 2024"), LLAMA3_TURN("user"), LLAMA3_TURN("assistant")},
        .prompt_tokens = 26,
        LLAMA3,
    },
    {
        .name = "llama3.2",
        .default_system = W(LLAMA3_DAY(DAY_NAMED) "<|eot_id|>"),
        .turns = {LLAMA3_DAY_TURN(DAY_NAMED), LLAMA3_TURN("user"), LLAMA3_TURN("assistant")},
        .prompt_tokens = 26,
        LLAMA3,
    },
    {
        .name = "deepseek",
        .turns = {{W(""), W(""), TRIM_NONE},
                  {W("<｜User｜>"), W(""), TRIM_NONE},
                  {W("<｜Assistant｜>"), W("<｜end▁of▁sentence｜>"), TRIM_NONE}},
        .generation = W("<｜Assistant｜>"),
        DEEPSEEK,
    },
    {
        .name = "deepseek-r1",
        .turns = {{W(""), W(""), TRIM_NONE},
                  {W("<｜User｜>"), W(""), TRIM_NONE},
                  {W("<｜Assistant｜>"), W("<｜end▁of▁sentence｜>"), TRIM_NONE}},
        .history = HISTORY_BEHIND_LAST,
        .generation = W("<｜Assistant｜>"),
        .chat_generation = W("<think>\\n"),
        DEEPSEEK,
    },
    /* Without its thinking mode */
    {
        .name = "deepseek-v3.1",
        .turns = {{W(""), W(""), TRIM_NONE},
                  {W("<｜User｜>"), W(""), TRIM_NONE},
                  {W("<｜Assistant｜></think>"), W("<｜end▁of▁sentence｜>"), TRIM_NONE}},
        .history = HISTORY_BEHIND_FIRST,
        .generation = W("<｜Assistant｜></think>"),
        DEEPSEEK,
    },
    {
        .name = "glm4",
        .opening = W("[gMASK]<sop>"),
        .turns = {{W("<|system|>\\n"), W(""), TRIM_NONE},
                  {W("<|user|>\\n"), W(""), TRIM_NONE},
                  {W("<|assistant|>\\n"), W(""), TRIM_NONE}},
        .generation = W("<|assistant|>"),
        .stops = {"<|user|>", "<|endoftext|>", "<|observation|>"},
        .message_tokens = 2,
        .prompt_tokens = 4,
    },
    /* GLM-4.5, 4.6 */
    {
        .name = "glm4.5",
        .opening = W("[gMASK]<sop>"),
        .turns = {{W("<|system|>\\n"), W(""), TRIM_NONE},
                  {W("<|user|>\\n"), W(""), TRIM_NONE},
                  {W("<|assistant|>\\n"), W(""), TRIM_BOTH}},
        .history = HISTORY_GLM45,
        .generation = W("<|assistant|>"),
        .stops = {"<|user|>", "<|endoftext|>", "<|observation|>"},
        .message_tokens = 5,
        .prompt_tokens = 4,
    },
    {
        .name = "chatglm3",
        .opening = W("[gMASK]sop"),
        .turns = {{W("<|system|>\\n "), W(""), TRIM_NONE},
                  {W("<|user|>\\n "), W(""), TRIM_NONE},
                  {W("<|assistant|>\\n "), W(""), TRIM_NONE}},
        .generation = W("<|assistant|>"),
        .stops = {"<|user|>", "<|observation|>"},
        .message_tokens = 4,
        .prompt_tokens = 4,
    },
    {.name = "internlm2", .bos = W("<s>"), CHATML},
    {
        .name = "phi3",
        .turns = {{W("<|system|>\\n"), W("<|end|>\\n"), TRIM_NONE},
                  {W("<|user|>\\n"), W("<|end|>\\n"), TRIM_NONE},
                  {W("<|assistant|>\\n"), W("<|end|>\\n"), TRIM_NONE}},
        .generation = W("<|assistant|>\\n"),
        .stops = {"<|end|>", "<|endoftext|>"},
        .message_tokens = 4,
        .prompt_tokens = 3,
    },
    {
        .name = "phi4",
        .turns = {{W("<|im_start|>system<|im_sep|>"), W("<|im_end|>"), TRIM_NONE},
                  {W("<|im_start|>user<|im_sep|>"), W("<|im_end|>"), TRIM_NONE},
                  {W("<|im_start|>assistant<|im_sep|>"), W("<|im_end|>"), TRIM_NONE}},
        .generation = W("<|im_start|>assistant<|im_sep|>"),
        .stops = {"<|im_end|>", "<|endoftext|>"},
        .message_tokens = 4,
        .prompt_tokens = 3,
    },
    {
        .name = "phi4-mini",
        .turns = {{W("<|system|>"), W("<|end|>"), TRIM_NONE},
                  {W("<|user|>"), W("<|end|>"), TRIM_NONE},
                  {W("<|assistant|>"), W("<|end|>"), TRIM_NONE}},
        .generation = W("<|assistant|>"),
        .stops = {"<|end|>", "<|endoftext|>"},
        .message_tokens = 2,
        .prompt_tokens = 2,
    },
    {
        .name = "kimi-k2",
        .default_system = W("<|im_system|>system<|im_middle|>You are a helpful assistant<|im_end|>"),
        .turns = {{W("<|im_system|>system<|im_middle|>"), W("<|im_end|>"), TRIM_NONE},
                  {W("<|im_user|>user<|im_middle|>"), W("<|im_end|>"), TRIM_NONE},
                  {W("<|im_assistant|>assistant<|im_middle|>"), W("<|im_end|>"), TRIM_NONE}},
        .generation = W("<|im_assistant|>assistant<|im_middle|>"),
        .stops = {"<|im_end|>", "[EOS]"},
        .message_tokens = 4,
        .prompt_tokens = 3,
    },
    {
        .name = "gpt-oss",
        .opening = W("<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\\n"
                     "Knowledge cutoff: 2024-06\\nCurrent date: " DAY_ISO "\\n\\nReasoning: medium\\n\\n"
                     "# Valid channels: analysis, commentary, final. Channel must be included for every "
                     "message.<|end|>"),
        .turns = {{W("<|start|>developer<|message|># Instructions\\n\\n"), W("\\n\\n<|end|>"), TRIM_NONE},
                  {W("<|start|>user<|message|>"), W("<|end|>"), TRIM_NONE},
                  {W("<|start|>assistant<|channel|>final<|message|>"), W("<|end|>"), TRIM_NONE}},
        .generation = W("<|start|>assistant"),
        .stops = {"<|return|>", "<|call|>"},
        .message_tokens = 8,
        .prompt_tokens = 64,
    },
};

const size_t template_table_count = sizeof template_table / sizeof template_table[0];
