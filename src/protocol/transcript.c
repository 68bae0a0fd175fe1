#include "protocol/transcript.h"

#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "protocol/profile.h"

#define THINK_OPEN  "<think>"
#define THINK_CLOSE "</think>"
#define BLOCK_OPEN  "<tool_response>\n"
#define BLOCK_CLOSE "\n</tool_response>"
#define PARAGRAPH   "\n\n"

/* The parts of one block, in bytes of plain text: enough to take the last message apart again. */
struct block {
    size_t text_len, notice_len;
};

struct transcript {
    struct transcript_message *messages;
    size_t count, capacity;
    size_t bytes, max_bytes;
    struct block *blocks; /* of the last message, when it is one of observations */
    size_t n_blocks;
};

struct transcript *transcript_create(size_t max_bytes)
{
    struct transcript *transcript = mem_zalloc(sizeof *transcript);
    transcript->max_bytes = max_bytes;
    return transcript;
}

/* The chunk that a message lives in begins with its reopened form. */
static void free_chunk(const struct transcript_message *message)
{
    free((char *)message->reopened.data);
}

void transcript_destroy(struct transcript *transcript)
{
    if (!transcript)
        return;
    for (size_t i = 0; i < transcript->count; i++)
        free_chunk(&transcript->messages[i]);
    free(transcript->messages);
    free(transcript->blocks);
    free(transcript);
}

size_t transcript_count(const struct transcript *transcript)
{
    return transcript->count;
}

const struct transcript_message *transcript_at(const struct transcript *transcript, size_t index)
{
    return &transcript->messages[index];
}

size_t transcript_bytes(const struct transcript *transcript)
{
    return transcript->bytes;
}

enum status transcript_read(const struct transcript *transcript, size_t index, struct buf *out)
{
    return json_unescape(out, transcript->messages[index].wire);
}

static bool is_turn_of(const struct transcript *transcript, enum message_role role)
{
    if (transcript->count == 0)
        return role != MESSAGE_ASSISTANT;
    enum message_role last = transcript->messages[transcript->count - 1].role;
    return role == MESSAGE_USER ? last != MESSAGE_USER : role == MESSAGE_ASSISTANT && last == MESSAGE_USER;
}

static void set_blocks(struct transcript *transcript, struct block *blocks, size_t count)
{
    free(transcript->blocks);
    transcript->blocks = blocks;
    transcript->n_blocks = count;
}

/* Escapes a text whose thought stands at `range` into `message`, in a chunk of its own of at most `room` bytes. */
static enum status make_message(struct transcript_message *message, enum message_role role, struct str text,
                                const struct thought_range *range, size_t room)
{
    bool thinks = range->rest > 0;
    size_t from = range->from, to = range->to, rest = range->rest;
    while (from < to && text.data[from] == '\n')
        from++;
    while (to > from && text.data[to - 1] == '\n')
        to--;
    while (thinks && rest < text.len && text.data[rest] == '\n')
        rest++;

    struct buf chunk;
    buf_init(&chunk, room);
    enum status status = STATUS_OK;
    if (thinks && range->from == 0)
        status = buf_append_str(&chunk, STR(THINK_OPEN "\\n"));
    const size_t cuts[] = {0, from, to, rest, text.len};
    size_t at[5] = {chunk.len};
    for (size_t i = 1; i < 5 && status == STATUS_OK; i++) {
        status = json_escape(&chunk, str_slice(text, cuts[i - 1], cuts[i]));
        at[i] = chunk.len;
    }
    if (status != STATUS_OK) {
        buf_finish(&chunk);
        return status;
    }
    size_t len = chunk.len;
    const char *data = mem_realloc(buf_take(&chunk), len ? len : 1, 1);
    *message = (struct transcript_message){
        .role = role,
        .wire = {data + at[0], len - at[0]},
        .reopened = {data, len},
        .thought = {data + at[1], at[2] - at[1]},
        .rest = {data + at[3], len - at[3]},
        .text_len = text.len,
    };
    return STATUS_OK;
}

static enum status append(struct transcript *transcript, enum message_role role, struct str text,
                          const struct thought_range *range)
{
    if (!is_turn_of(transcript, role))
        return STATUS_ORDER;
    struct transcript_message message;
    enum status status = make_message(&message, role, text, range, transcript->max_bytes - transcript->bytes);
    if (status != STATUS_OK)
        return status;
    transcript->messages = mem_grow(transcript->messages, transcript->count, &transcript->capacity, sizeof message);
    transcript->messages[transcript->count++] = message;
    transcript->bytes += message.reopened.len;
    set_blocks(transcript, NULL, 0);
    return STATUS_OK;
}

enum status transcript_append(struct transcript *transcript, enum message_role role, struct str text)
{
    return role == MESSAGE_ASSISTANT ? STATUS_ORDER : append(transcript, role, text, &(struct thought_range){0});
}

enum status transcript_append_assistant(struct transcript *transcript, struct str text,
                                        const struct thought_range *thought)
{
    struct thought_range range = thought ? *thought : (struct thought_range){0};
    if (range.from > range.to || range.to > range.rest || range.rest > text.len)
        return STATUS_INVALID;
    return append(transcript, MESSAGE_ASSISTANT, text, &range);
}

static void write_block(struct buf *out, const struct observation *observation)
{
    buf_add(out, STR(BLOCK_OPEN));
    buf_add(out, observation->text);
    if (observation->text.len && observation->notice.len)
        buf_add(out, STR(PARAGRAPH));
    buf_add(out, observation->notice);
    buf_add(out, STR(BLOCK_CLOSE));
}

/* Writes the blocks into `out` and returns how they are made up, in fresh memory. */
static struct block *write_blocks(struct buf *out, const struct observation *observations, size_t count)
{
    struct block *blocks = mem_calloc(count, sizeof *blocks);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            buf_add_char(out, '\n');
        write_block(out, &observations[i]);
        blocks[i] = (struct block){observations[i].text.len, observations[i].notice.len};
    }
    return blocks;
}

enum status transcript_append_observations(struct transcript *transcript, const struct observation *observations,
                                           size_t count)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    struct block *blocks = write_blocks(&text, observations, count);
    enum status status = transcript_append(transcript, MESSAGE_USER, buf_str(&text));
    if (status == STATUS_OK)
        set_blocks(transcript, blocks, count);
    else
        free(blocks);
    buf_finish(&text);
    return status;
}

static enum status replace_last(struct transcript *transcript, struct str text)
{
    struct transcript_message *last = &transcript->messages[transcript->count - 1];
    size_t others = transcript->bytes - last->reopened.len;
    struct transcript_message message;
    enum status status =
        make_message(&message, last->role, text, &(struct thought_range){0}, transcript->max_bytes - others);
    if (status != STATUS_OK)
        return status;
    free_chunk(last);
    *last = message;
    transcript->bytes = others + message.reopened.len;
    return STATUS_OK;
}

/* Reads the plain text of the last message into `text` (initialized here) and takes it apart: n_blocks observations in
 * fresh memory that borrow from `text`. */
static struct observation *read_blocks(const struct transcript *transcript, struct buf *text)
{
    buf_init(text, BUF_UNBOUNDED);
    if (transcript_read(transcript, transcript->count - 1, text) != STATUS_OK)
        abort();
    struct observation *observations = mem_calloc(transcript->n_blocks, sizeof *observations);
    size_t at = 0;
    for (size_t i = 0; i < transcript->n_blocks; i++) {
        const struct block *block = &transcript->blocks[i];
        at += (i > 0) + strlen(BLOCK_OPEN);
        observations[i].text = str_slice(buf_str(text), at, at + block->text_len);
        at += block->text_len + (block->text_len && block->notice_len ? strlen(PARAGRAPH) : 0);
        observations[i].notice = str_slice(buf_str(text), at, at + block->notice_len);
        at += block->notice_len + strlen(BLOCK_CLOSE);
    }
    return observations;
}

static enum status rewrite_blocks(struct transcript *transcript, const struct observation *observations, size_t count)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    struct block *blocks = write_blocks(&text, observations, count);
    enum status status = replace_last(transcript, buf_str(&text));
    buf_finish(&text);
    if (status == STATUS_OK)
        set_blocks(transcript, blocks, count);
    else
        free(blocks);
    return status;
}

/* The largest length that no text may pass so that all together take at most `max_bytes`: the small ones are served
 * first. */
static size_t fair_limit(const struct observation *observations, size_t count, size_t max_bytes)
{
    size_t left = max_bytes, waiting = count, share = 0, unserved = 0; /* texts shorter than `unserved` were served */
    for (bool progress = true; progress && waiting > 0;) {
        share = left / waiting;
        progress = false;
        for (size_t i = 0; i < count; i++) {
            size_t len = observations[i].text.len;
            if (len < unserved || len > share)
                continue;
            left -= len;
            waiting--;
            progress = true;
        }
        unserved = share + 1;
    }
    return waiting > 0 ? share : SIZE_MAX;
}

/* The last message's observations, each cut as transcript_shorten_last says. */
struct shortened {
    struct buf text; /* of the message as it is */
    struct observation *observations;
    struct buf *cuts;
    bool changed;
};

static void shorten(const struct transcript *transcript, const struct profile *profile, size_t max_bytes,
                    struct shortened *out)
{
    size_t n_blocks = transcript->n_blocks;
    out->changed = false;
    out->cuts = mem_calloc(n_blocks, sizeof *out->cuts);
    out->observations = read_blocks(transcript, &out->text);
    size_t limit = fair_limit(out->observations, n_blocks, max_bytes);
    for (size_t i = 0; i < n_blocks; i++) {
        struct str *text = &out->observations[i].text;
        buf_init(&out->cuts[i], BUF_UNBOUNDED);
        if (text->len <= limit)
            continue;
        profile_cut_observation(profile, *text, limit, &out->cuts[i]);
        *text = buf_str(&out->cuts[i]);
        out->changed = true;
    }
}

static void shortened_finish(struct shortened *shortened, size_t n_blocks)
{
    for (size_t i = 0; i < n_blocks; i++)
        buf_finish(&shortened->cuts[i]);
    free(shortened->cuts);
    free(shortened->observations);
    buf_finish(&shortened->text);
}

bool transcript_shorten_last(struct transcript *transcript, const struct profile *profile, size_t max_bytes)
{
    size_t n_blocks = transcript->n_blocks;
    if (n_blocks == 0)
        return false;
    struct shortened shortened;
    shorten(transcript, profile, max_bytes, &shortened);
    bool done = shortened.changed && rewrite_blocks(transcript, shortened.observations, n_blocks) == STATUS_OK;
    shortened_finish(&shortened, n_blocks);
    return done;
}

void transcript_read_shortened(const struct transcript *transcript, const struct profile *profile, size_t max_bytes,
                               struct buf *text)
{
    if (transcript->n_blocks == 0) {
        if (transcript_read(transcript, transcript->count - 1, text) != STATUS_OK)
            abort();
        return;
    }
    struct shortened shortened;
    shorten(transcript, profile, max_bytes, &shortened);
    free(write_blocks(text, shortened.observations, transcript->n_blocks));
    shortened_finish(&shortened, transcript->n_blocks);
}

static enum status demand_in_question(struct transcript *transcript, struct str demand)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    if (transcript_read(transcript, transcript->count - 1, &text) != STATUS_OK)
        abort();
    buf_add(&text, STR(PARAGRAPH));
    buf_add(&text, demand);
    enum status status = replace_last(transcript, buf_str(&text));
    buf_finish(&text);
    return status;
}

enum status transcript_demand(struct transcript *transcript, struct str text, enum demand_place place)
{
    if (transcript->count == 0 || transcript->messages[transcript->count - 1].role != MESSAGE_USER)
        return STATUS_ORDER;
    if (transcript->n_blocks == 0)
        return demand_in_question(transcript, text);

    struct observation demand = {.notice = text};
    if (place == DEMAND_REPLACE)
        return rewrite_blocks(transcript, &demand, 1);

    struct buf old, notice;
    struct observation *observations = read_blocks(transcript, &old);
    size_t count = transcript->n_blocks;
    buf_init(&notice, BUF_UNBOUNDED);
    if (place == DEMAND_INSIDE) {
        struct observation *last = &observations[count - 1];
        buf_add(&notice, last->notice);
        if (notice.len)
            buf_add(&notice, STR(PARAGRAPH));
        buf_add(&notice, text);
        last->notice = buf_str(&notice);
    } else {
        observations = mem_realloc(observations, count + 1, sizeof *observations);
        observations[count++] = demand;
    }
    enum status status = rewrite_blocks(transcript, observations, count);
    buf_finish(&notice);
    buf_finish(&old);
    free(observations);
    return status;
}

struct thought_range thought_range_find(struct str text)
{
    struct thought_range range = {0};
    size_t blank = text.len - str_trim_start(text).len;
    bool opened = str_starts_with(str_slice(text, blank, text.len), STR(THINK_OPEN));
    size_t close = str_find(text, STR(THINK_CLOSE), 0);
    if (!opened && close == STR_NONE)
        return range;
    range.from = opened ? blank + strlen(THINK_OPEN) : 0;
    range.to = close == STR_NONE ? text.len : close;
    range.rest = close == STR_NONE ? text.len : close + strlen(THINK_CLOSE);
    return range;
}
