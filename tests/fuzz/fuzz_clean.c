/* Cleaning: the result is valid UTF-8 without control characters, cleaning it again changes nothing, and the tag parser
 * finds nothing in it. */
#include <stdint.h>
#include <stdlib.h>

#include "core/utf8.h"
#include "protocol/clean.h"
#include "protocol/tag_parser.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void on_event(void *user, const struct tag_event *event)
{
    (void)user;
    check(event->kind == TAG_TEXT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf once, twice;
    buf_init(&once, BUF_UNBOUNDED);
    buf_init(&twice, BUF_UNBOUNDED);
    check(clean_text(&once, str_make((const char *)data, size)) == STATUS_OK);
    check(clean_text(&twice, buf_str(&once)) == STATUS_OK);
    check(str_equal(buf_str(&once), buf_str(&twice)));
    check(utf8_is_valid(buf_str(&once)));
    for (size_t i = 0; i < once.len; i++) {
        unsigned char c = (unsigned char)once.data[i];
        check((c >= 0x20 || c == '\n' || c == '\t') && c != 0x7F);
    }
    struct tag_parser *parser =
        tag_parser_create(&(struct tag_parser_options){.thought_expected = true}, on_event, NULL);
    check(tag_parser_feed(parser, buf_str(&once)) == STATUS_OK);
    check(tag_parser_end(parser, TAG_END_STOP) == STATUS_OK);
    check(!tag_parser_outcome(parser)->thought_seen);
    tag_parser_destroy(parser);
    buf_finish(&once);
    buf_finish(&twice);
    return 0;
}
