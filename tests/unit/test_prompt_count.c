/* Prompts are counted by parts. Here every count is made again from the whole text, after each step of conversations
 * made by chance, for every template and with vocabularies of every kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/prompt_count.h"
#include "agent/token_meter.h"
#include "core/buf.h"
#include "core/json.h"
#include "protocol/profile.h"
#include "protocol/template.h"
#include "protocol/transcript.h"
#include "support/small_tokenizer.h"

struct world {
    uint64_t random;
    const struct profile *profile;
    struct prompt_count_options options;
    struct transcript *transcript;
    struct token_counter *counter;
    struct token_meter meter;
};

static size_t chance(struct world *world, size_t below)
{
    world->random = world->random * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(world->random >> 33) % below;
}

static void write_some(struct world *world, struct buf *out, size_t most)
{
    static const char *const words[] = {
        "the user and",
        " response",
        "\n",
        "\n\n",
        " ",
        "  ",
        "|>",
        "<|im_start|>",
        "<think>",
        "</think>",
        "</s>",
        "User:\n",
        "Assistant:",
        "123",
        "[INST]",
        "]",
        "\xE4\xB8\xAD\xE6\x96\x87",
        "e\xCC\x81",
        "\xF0\x9F\x8F\x94",
        "<",
        "|",
        "im_end",
        "\\n",
        "\"",
        "\t",
        "<tool_response>",
        "</tool_response>",
        "\xC2\xA0",
        "s",
        "'s",
        "<\xEF\xBD\x9CUser",
    };
    for (size_t n = chance(world, most + 1); n > 0; n--)
        buf_add_text(out, words[chance(world, sizeof words / sizeof words[0])]);
}

static int64_t count_whole(const struct world *world)
{
    struct prompt_view view;
    struct template_pieces pieces;
    struct buf text;
    prompt_view_init(&view);
    template_pieces_init(&pieces);
    buf_init(&text, BUF_UNBOUNDED);
    struct template_options rendering = world->options.rendering;
    prompt_view_build(&view, world->transcript, &world->options.shown);
    template_render(world->options.chat_template, &view, &rendering, &pieces);
    for (size_t i = 0; i < pieces.count; i++)
        assert_int_equal(json_unescape(&text, pieces.pieces[i]), STATUS_OK);
    int64_t tokens =
        tokenizer_count(world->options.tokenizer, buf_str(&text), rendering.chat ? 0 : (unsigned)TOKENIZER_FRAMED);
    buf_finish(&text);
    template_pieces_finish(&pieces);
    prompt_view_finish(&view);
    return tokens;
}

static void check(const struct world *world)
{
    int64_t whole = count_whole(world), counted = token_meter_prompt(&world->meter);
    if (whole != counted)
        fail_msg("%s, %zu messages, chat %d: counted %lld, whole %lld", template_name(world->options.chat_template),
                 transcript_count(world->transcript), world->options.rendering.chat, (long long)counted,
                 (long long)whole);
}

static void say(struct world *world, enum message_role role)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    write_some(world, &text, 8);
    assert_int_equal(transcript_append(world->transcript, role, buf_str(&text)), STATUS_OK);
    token_meter_append(&world->meter, buf_str(&text));
    buf_finish(&text);
}

static void reply(struct world *world)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    size_t kind = chance(world, 4);
    if (kind == 1)
        buf_add_text(&text, "<think>\n");
    write_some(world, &text, 5);
    if (kind == 1 || kind == 2)
        buf_add_text(&text, "\n</think>\n\n");
    write_some(world, &text, 5);
    struct thought_range range = thought_range_find(buf_str(&text));
    assert_int_equal(transcript_append_assistant(world->transcript, buf_str(&text), &range), STATUS_OK);
    token_meter_append_completion(&world->meter, str_slice(buf_str(&text), range.from, range.to),
                                  str_slice(buf_str(&text), range.rest, text.len), -1);
    buf_finish(&text);
}

static struct buf read_last(const struct world *world)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    assert_int_equal(transcript_read(world->transcript, transcript_count(world->transcript) - 1, &text), STATUS_OK);
    return text;
}

static void observe(struct world *world)
{
    struct buf texts[3];
    struct observation observations[3];
    size_t count = 1 + chance(world, 3);
    for (size_t i = 0; i < count; i++) {
        buf_init(&texts[i], BUF_UNBOUNDED);
        write_some(world, &texts[i], 12);
        observations[i] = (struct observation){buf_str(&texts[i]), chance(world, 3) ? (struct str){0} : STR("Note.")};
    }
    assert_int_equal(transcript_append_observations(world->transcript, observations, count), STATUS_OK);
    struct buf text = read_last(world);
    token_meter_append(&world->meter, buf_str(&text));
    buf_finish(&text);
    for (size_t i = 0; i < count; i++)
        buf_finish(&texts[i]);
}

static void last_changed(struct world *world, int64_t foreseen)
{
    struct buf text = read_last(world);
    if (foreseen >= 0)
        assert_int_equal(foreseen, token_meter_prompt_with_last(&world->meter, buf_str(&text)));
    token_meter_replace_last(&world->meter, buf_str(&text));
    buf_finish(&text);
    if (foreseen >= 0)
        assert_int_equal(foreseen, token_meter_prompt(&world->meter));
}

static void shorten(struct world *world)
{
    size_t allowed = chance(world, 60);
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    transcript_read_shortened(world->transcript, world->profile, allowed, &text);
    int64_t foreseen = token_meter_prompt_with_last(&world->meter, buf_str(&text));
    check(world); /* looking ahead changes nothing */
    if (transcript_shorten_last(world->transcript, world->profile, allowed))
        last_changed(world, foreseen);
    buf_finish(&text);
}

static void demand(struct world *world)
{
    static const enum demand_place places[] = {DEMAND_INSIDE, DEMAND_APPEND, DEMAND_REPLACE};
    assert_int_equal(transcript_demand(world->transcript, STR("Answer\nnow."), places[chance(world, 3)]), STATUS_OK);
    last_changed(world, -1);
}

static void converse(struct world *world)
{
    world->transcript = transcript_create(1 << 20);
    world->options.transcript = world->transcript;
    token_meter_init(&world->meter, world->counter, 5, 3, false);
    token_meter_count_exactly(&world->meter, &world->options);
    if (chance(world, 4)) {
        say(world, MESSAGE_SYSTEM);
        if (chance(world, 2))
            check(world);
    }
    say(world, MESSAGE_USER);
    check(world);
    for (size_t rounds = chance(world, 6); rounds > 0; rounds--) {
        reply(world);
        if (chance(world, 2)) /* a prompt that ends in a reply is never sent, but counted when events are written */
            check(world);
        if (chance(world, 5) == 0)
            say(world, MESSAGE_USER);
        else
            observe(world);
        check(world);
        if (chance(world, 3) == 0)
            shorten(world);
        check(world);
        if (chance(world, 3) == 0)
            demand(world);
        check(world);
    }
    if (chance(world, 4) == 0) {
        world->options.rendering.thought_field = true;
        token_meter_thought_field(&world->meter);
        check(world);
        world->options.rendering.thought_field = false;
    }
    token_meter_finish(&world->meter);
    transcript_destroy(world->transcript);
}

static void converse_in_all_templates(struct world *world, size_t conversations)
{
    for (size_t i = 0; i < template_count(); i++) {
        world->options.chat_template = template_find(str_of(template_name_at(i)));
        for (size_t n = 0; n < conversations; n++) {
            bool chat = chance(world, 2);
            world->options.shown = (struct prompt_view_options){.thought = (enum thought_history)chance(world, 3),
                                                                .reopen_thought = !chat && chance(world, 2)};
            world->options.rendering = (struct template_options){
                .chat = chat, .bos = chance(world, 2), .open_think = chance(world, 2), .date = STR("2026-03-01")};
            converse(world);
        }
    }
}

static void prompt_count__equals_the_count_of_the_whole_prompt(void **state)
{
    (void)state;
    struct error error = {0};
    struct profile *profile;
    if (profile_load("generic", NULL, &profile, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    struct world world = {.random = 4, .profile = profile};
    for (unsigned kind = 0; kind < 2 * SMALL_KINDS; kind++) {
        struct small_tokenizer small;
        small_tokenizer_init(&small, (enum small_kind)(kind / 2), kind % 2 == 0);
        world.options.tokenizer = small.tokenizer;
        world.counter = token_counter_create(small.tokenizer);
        converse_in_all_templates(&world, 12);
        token_counter_destroy(world.counter);
        small_tokenizer_finish(&small);
    }
    profile_destroy(profile);
}

/* ---- reports beside an exact count ---- */

struct reported {
    struct small_tokenizer small;
    struct world world;
};

static int reported_setup(void **state)
{
    struct reported *reported = calloc(1, sizeof *reported);
    struct world *world = &reported->world;
    small_tokenizer_init(&reported->small, SMALL_BYTES, true);
    world->random = 9;
    world->counter = token_counter_create(reported->small.tokenizer);
    world->transcript = transcript_create(1 << 24);
    world->options = (struct prompt_count_options){.tokenizer = reported->small.tokenizer,
                                                   .chat_template = template_find(STR("qwen3")),
                                                   .transcript = world->transcript,
                                                   .rendering = {.chat = true}};
    token_meter_init(&world->meter, world->counter, 5, 3, false);
    token_meter_count_exactly(&world->meter, &world->options);
    *state = reported;
    return 0;
}

static int reported_teardown(void **state)
{
    struct reported *reported = *state;
    token_meter_finish(&reported->world.meter);
    token_counter_destroy(reported->world.counter);
    transcript_destroy(reported->world.transcript);
    small_tokenizer_finish(&reported->small);
    free(reported);
    return 0;
}

static void add_words(struct buf *text, const char *word, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_add_text(text, word);
}

static void ask(struct world *world, size_t words)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    bool first = transcript_count(world->transcript) == 0;
    buf_add_text(&text, first ? "Q" : "<tool_response>\n");
    add_words(&text, " the user", words);
    buf_add_text(&text, first ? "" : "\n</tool_response>");
    assert_int_equal(transcript_append(world->transcript, MESSAGE_USER, buf_str(&text)), STATUS_OK);
    token_meter_append(&world->meter, buf_str(&text));
    buf_finish(&text);
}

static void think(struct world *world, size_t words)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    buf_add_text(&text, "<think>");
    add_words(&text, " and", words);
    buf_add_text(&text, "</think>\n\nTo be seen.");
    struct thought_range range = thought_range_find(buf_str(&text));
    assert_int_equal(transcript_append_assistant(world->transcript, buf_str(&text), &range), STATUS_OK);
    token_meter_append_completion(&world->meter, str_slice(buf_str(&text), range.from, range.to),
                                  str_slice(buf_str(&text), range.rest, text.len), -1);
    buf_finish(&text);
}

static void report(struct world *world, int64_t prompt, int64_t cached)
{
    token_meter_asked(&world->meter);
    token_meter_reported(&world->meter, &(struct usage){prompt, 10, cached, -1});
}

static void prompt_count__learns_what_the_server_adds(void **state)
{
    struct world *world = &((struct reported *)*state)->world;
    int64_t own, server;
    ask(world, 1000);
    assert_false(token_meter_compared(&world->meter, &own, &server));
    for (int round = 0; round < 5; round++) {
        int64_t whole = count_whole(world), added = round < 3 ? 21 : 0;
        report(world, whole + added, -1);
        assert_true(token_meter_compared(&world->meter, &own, &server));
        assert_int_equal(own, whole);
        assert_int_equal(server, whole + added);
        assert_int_equal(token_meter_prompt(&world->meter), whole + added);
        think(world, 300);
        ask(world, 200);
        assert_int_equal(token_meter_prompt(&world->meter), count_whole(world) + added);
    }
    assert_string_equal(token_meter_method(&world->meter), "tokenizer");
    assert_false(token_meter_is_cut(&world->meter, &own, &server));
}

static void prompt_count__sees_a_prompt_that_was_cut(void **state)
{
    struct world *world = &((struct reported *)*state)->world;
    int64_t own = 0, server = 0, window = 6000;
    ask(world, 1000);
    for (int round = 0; round < 20 && !token_meter_is_cut(&world->meter, &own, &server); round++) {
        int64_t whole = count_whole(world);
        report(world, whole < window ? whole : window, -1);
        if (whole > window + 1500)
            break;
        think(world, 20);
        ask(world, 300);
    }
    assert_true(token_meter_is_cut(&world->meter, &own, &server));
    assert_int_equal(server, window);
    assert_true(own > window && own < window + 1500);
}

static void prompt_count__thought_that_a_server_drops_is_no_cut(void **state)
{
    struct world *world = &((struct reported *)*state)->world;
    int64_t own, server, dropped = 0;
    ask(world, 1000);
    for (int round = 0; round < 8; round++) {
        report(world, count_whole(world) - dropped, -1);
        assert_false(token_meter_is_cut(&world->meter, &own, &server));
        assert_int_equal(token_meter_prompt(&world->meter), count_whole(world) - dropped);
        think(world, 900);
        dropped += 900;
        ask(world, 100);
    }
}

static void prompt_count__knows_servers_that_leave_the_cache_out(void **state)
{
    struct world *world = &((struct reported *)*state)->world;
    int64_t own, server, before = 0;
    ask(world, 2000);
    for (int round = 0; round < 6; round++) {
        int64_t whole = count_whole(world);
        report(world, whole - before, round % 2 ? before : -1);
        assert_false(token_meter_is_cut(&world->meter, &own, &server));
        assert_int_equal(token_meter_prompt(&world->meter), whole);
        before = whole;
        think(world, 100);
        ask(world, 1000);
    }
}

static void prompt_count__finds_out_that_thought_goes_in_a_field(void **state)
{
    struct world *world = &((struct reported *)*state)->world;
    world->options.chat_template = template_find(STR("chatml"));
    token_meter_finish(&world->meter);
    token_meter_count_exactly(&world->meter, &world->options);
    ask(world, 1000);
    report(world, count_whole(world), -1);
    think(world, 500);
    ask(world, 100);
    world->options.rendering.thought_field = true; /* which this template leaves out */
    report(world, count_whole(world), -1);
    assert_int_equal(token_meter_prompt(&world->meter), count_whole(world));
    think(world, 500);
    ask(world, 100);
    assert_int_equal(token_meter_prompt(&world->meter), count_whole(world));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prompt_count__equals_the_count_of_the_whole_prompt),
#define REPORTED(test) cmocka_unit_test_setup_teardown(prompt_count__##test, reported_setup, reported_teardown)
        REPORTED(learns_what_the_server_adds),
        REPORTED(sees_a_prompt_that_was_cut),
        REPORTED(thought_that_a_server_drops_is_no_cut),
        REPORTED(knows_servers_that_leave_the_cache_out),
        REPORTED(finds_out_that_thought_goes_in_a_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
