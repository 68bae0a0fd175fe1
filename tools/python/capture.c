/* What a program prints may have no end: its beginning and its end are kept. The report of the driver is found in it
 * wherever it stands, however the bytes were cut. */
#include "tools/python/internal.h"

#include "core/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A report is a line of JSON with a message of at most 500 characters, each of which may take six bytes. */
#define MAX_REPORT 8192

void capture_init(struct capture *capture, size_t max_head, size_t max_tail)
{
    *capture = (struct capture){.max_head = max_head, .max_tail = max_tail};
    buf_init(&capture->head, BUF_UNBOUNDED);
    buf_init(&capture->recent, BUF_UNBOUNDED);
}

void capture_finish(struct capture *capture)
{
    buf_finish(&capture->head);
    buf_finish(&capture->recent);
    free(capture->report);
    *capture = (struct capture){0};
}

void capture_begin(struct capture *capture, const char *token)
{
    buf_reset(&capture->head);
    buf_reset(&capture->recent);
    free(capture->report);
    capture->report = NULL;
    capture->has_report = false;
    capture->left_out = capture->total = capture->searched = 0;
    snprintf(capture->mark, sizeof capture->mark, "\x1e%s", token);
}

/* Takes the report out of what came last. */
static void find_report(struct capture *capture)
{
    struct str recent = buf_str(&capture->recent), mark = str_of(capture->mark);
    size_t at = str_find(recent, mark, capture->searched);
    size_t end = at == STR_NONE ? STR_NONE : str_find_char(recent, '\n', at);
    if (end == STR_NONE) {
        capture->searched = at != STR_NONE ? at : recent.len >= mark.len ? recent.len - mark.len + 1 : 0;
        return;
    }
    capture->has_report = true;
    capture->report = str_dup(str_trim(str_slice(recent, at + mark.len, end)));
    capture->total -= end + 1 - at;
    memmove(capture->recent.data + at, capture->recent.data + end + 1, recent.len - end - 1);
    buf_truncate(&capture->recent, recent.len - (end + 1 - at));
}

/* Moves `count` bytes from the front of what came last to the beginning, as far as that has room. */
static void settle(struct capture *capture, size_t count)
{
    size_t room = capture->max_head - capture->head.len;
    size_t kept = count < room && capture->left_out == 0 ? count : capture->left_out == 0 ? room : 0;
    buf_add(&capture->head, str_slice(buf_str(&capture->recent), 0, kept));
    capture->left_out += count - kept;
    buf_consume(&capture->recent, count);
    capture->searched = capture->searched > count ? capture->searched - count : 0;
}

static void add_piece(struct capture *capture, struct str piece)
{
    capture->total += piece.len;
    buf_add(&capture->recent, piece);
    if (!capture->has_report && capture->mark[0])
        find_report(capture);
    size_t kept = capture->max_tail + MAX_REPORT;
    if (capture->recent.len > 2 * kept)
        settle(capture, capture->recent.len - kept);
}

void capture_add(struct capture *capture, struct str bytes)
{
    const size_t most = 32768;
    for (size_t from = 0; from < bytes.len; from += most)
        add_piece(capture, str_slice(bytes, from, from + most));
}

struct str capture_join(struct capture *capture, size_t *head, size_t *left_out)
{
    size_t len = capture->head.len + capture->recent.len;
    if (capture->left_out > 0 || len > capture->max_head + capture->max_tail) {
        settle(capture, capture->recent.len > capture->max_tail ? capture->recent.len - capture->max_tail : 0);
        struct str start = buf_str(&capture->head), rest = buf_str(&capture->recent);
        size_t last_line = str_rfind_char(start, '\n'), next_line = str_find_char(rest, '\n', 0);
        size_t cut = last_line != STR_NONE && last_line >= start.len / 2 ? last_line + 1 : utf8_floor(start, start.len);
        capture->left_out += start.len - cut;
        buf_truncate(&capture->head, cut);
        size_t skipped = next_line != STR_NONE && next_line < rest.len / 2 ? next_line + 1 : 0;
        while (skipped < rest.len && ((unsigned char)rest.data[skipped] & 0xc0) == 0x80)
            skipped++;
        capture->left_out += skipped;
        buf_consume(&capture->recent, skipped);
    }
    *head = capture->head.len;
    *left_out = capture->left_out;
    buf_add(&capture->head, buf_str(&capture->recent));
    buf_reset(&capture->recent);
    return buf_str(&capture->head);
}
