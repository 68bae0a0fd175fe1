/* Takes the vocabulary and the merges out of a tokenizer.json, so that what is left is small. */
#include "text/tokenizer/read_internal.h"
#include "text/tokenizer/read_scan.h"

struct cutting {
    struct json_scan scan;
    struct read_cut *cut;
    size_t copied; /* so far */
};

/* Passes the value that stands here and puts a 0 in its place. */
static bool cut_value(struct cutting *cutting, size_t *place)
{
    struct json_scan *scan = &cutting->scan;
    json_scan_peek(scan);
    size_t from = scan->at;
    if (!json_scan_skip(scan))
        return false;
    buf_add(&cutting->cut->rest, str_slice(scan->json, cutting->copied, from));
    buf_add_char(&cutting->cut->rest, '0');
    for (size_t i = from + 1; cutting->cut->keep_places && i < scan->at; i++)
        buf_add_char(&cutting->cut->rest, scan->json.data[i] == '\n' ? '\n' : ' ');
    cutting->copied = scan->at;
    *place = from;
    return true;
}

static bool cut_members(struct cutting *cutting, bool of_model)
{
    struct json_scan *scan = &cutting->scan;
    bool first = true, fits = json_scan_take(scan, '{');
    while (fits && json_scan_next(scan, '}', &first)) {
        struct str key;
        fits = json_scan_string(scan, &key) && json_scan_take(scan, ':');
        if (!fits)
            break;
        if (!of_model && str_equal(key, STR("model")) && json_scan_peek(scan) == '{')
            fits = cut_members(cutting, true);
        else if (of_model && str_equal(key, STR("vocab")))
            fits = cut_value(cutting, &cutting->cut->vocabulary);
        else if (of_model && str_equal(key, STR("merges")))
            fits = cut_value(cutting, &cutting->cut->merges);
        else
            fits = json_scan_skip(scan);
    }
    return fits && scan->closed;
}

void read_cut_model(struct str json, struct read_cut *cut)
{
    struct cutting cutting = {.cut = cut};
    buf_reset(&cut->rest);
    cut->vocabulary = cut->merges = 0;
    json_scan_init(&cutting.scan, json, 0);
    if (cut_members(&cutting, false)) {
        buf_add(&cut->rest, str_slice(json, cutting.copied, json.len));
    } else { /* the parser of the whole will say where it is broken */
        buf_reset(&cut->rest);
        buf_add(&cut->rest, json);
    }
    json_scan_finish(&cutting.scan);
}
