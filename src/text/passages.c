#include "text/passages.h"

#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/mem.h"
#include "core/utf8.h"

#define DEFAULT_TARGET 300
#define TOKEN_BYTES    4
#define HEADING_BYTES  120 /* of each heading in a path */
#define MAX_LEVEL      6

/* All sizes are in bytes. */
struct cutter {
    struct str text;
    size_t target, most;
    struct passages *out;
    struct str headings[MAX_LEVEL]; /* the open heading of each level, empty where there is none */
    struct str above;               /* first row of the table, or term of the explanation, that may be open */
    size_t from, to;                /* the passage under way; from == to when there is none */
    size_t lead;                    /* where the headings and lead-ins at its end begin; `to` when there are none */
    bool lead_body;                 /* a lead-in is among them */
    bool has_body;                  /* more than headings */
    char *path;                     /* what stands above the passage under way */
};

static void add_to_path(struct buf *path, struct str heading)
{
    if (path->len)
        buf_add_text(path, " > ");
    heading = str_slice(heading, 0, utf8_floor(heading, HEADING_BYTES));
    for (size_t i = 0; i < heading.len; i++)
        if (!strchr("*`\\\n", heading.data[i]))
            buf_add_char(path, heading.data[i]);
}

static char *path_above(const struct cutter *cutter, struct str above)
{
    struct buf path;
    buf_init(&path, BUF_UNBOUNDED);
    for (size_t level = 0; level < MAX_LEVEL; level++)
        if (cutter->headings[level].len)
            add_to_path(&path, cutter->headings[level]);
    if (above.len)
        add_to_path(&path, above);
    char *taken = path.len ? buf_take(&path) : NULL;
    buf_finish(&path);
    return taken;
}

static void flush(struct cutter *cutter)
{
    struct passages *out = cutter->out;
    struct str whole = str_slice(cutter->text, cutter->from, cutter->to);
    if (str_trim(whole).len) {
        size_t lead = whole.len - str_trim_start(whole).len;
        out->items = mem_grow(out->items, out->count, &out->capacity, sizeof *out->items);
        out->items[out->count++] = (struct passage){
            .from = cutter->from + lead,
            .to = cutter->from + lead + str_trim(whole).len,
            .headings = cutter->path,
        };
        cutter->path = NULL;
    }
    free(cutter->path);
    cutter->path = NULL;
    cutter->from = cutter->lead = cutter->to;
    cutter->has_body = cutter->lead_body = false;
}

/* Adds a stretch to the passage under way; `above` is what it stands below besides headings. */
static void extend(struct cutter *cutter, size_t from, size_t to, struct str above)
{
    if (cutter->from == cutter->to) {
        cutter->from = from;
        cutter->path = path_above(cutter, above);
    }
    cutter->to = cutter->lead = to;
    cutter->lead_body = false;
}

/* Ends the passage under way before its trailing headings and lead-ins, which begin the next one. */
static void flush_before_lead(struct cutter *cutter)
{
    size_t lead = cutter->lead, to = cutter->to;
    bool body = cutter->lead_body;
    cutter->to = lead;
    flush(cutter);
    if (lead == to)
        return;
    extend(cutter, lead, to, (struct str){0});
    cutter->lead = lead;
    cutter->has_body = cutter->lead_body = body;
}

/* Where to cut a block that is too long: behind the last line, sentence or word that fits the target, else anywhere. */
static size_t find_cut(const struct cutter *cutter, size_t from, size_t to)
{
    const char *text = cutter->text.data;
    size_t line = 0, sentence = 0, word = 0, at = from + cutter->target / 2;
    for (; at < to && at < from + cutter->target; at++) {
        if (text[at] == '\n')
            line = at + 1;
        else if (text[at] == ' ' && strchr(".!?;:", text[at - 1]))
            sentence = at + 1;
        else if (text[at] == ' ')
            word = at + 1;
        else if (memcmp(text + at - 2, "\xE3\x80\x82", 3) == 0) /* an ideographic full stop */
            sentence = at + 1;
    }
    if (line || sentence || word)
        return line ? line : sentence ? sentence : word;
    return from + utf8_floor(str_slice(cutter->text, from, to), cutter->target);
}

/* ---- blocks ---- */

static struct str first_line(struct str block)
{
    size_t end = str_find_char(block, '\n', 0);
    return str_slice(block, 0, end == STR_NONE ? block.len : end);
}

/* The cells of a table's first row, "| Name | Meaning |" without the outer marks; empty when the block is no table. */
static struct str table_header(struct str block)
{
    struct str row = first_line(block), rule = str_slice(block, row.len + 1, block.len);
    row = str_trim(row);
    rule = str_trim_start(first_line(rule));
    if (!str_starts_with(row, STR("|")) || !str_starts_with(rule, STR("|")))
        return (struct str){0};
    for (size_t i = 0; i < rule.len; i++)
        if (!strchr("|-: \r", rule.data[i]))
            return (struct str){0};
    row = str_slice(row, 1, row.len);
    if (row.len && row.data[row.len - 1] == '|')
        row.len--;
    return str_trim(row);
}

/* Bullets and numbers that are set like terms say nothing. Bullets and dashes are in the range that E2 begins. */
static bool is_term(struct str term)
{
    for (size_t i = 0; i < term.len; i++)
        if (ascii_is_alpha(term.data[i]) || ((unsigned char)term.data[i] >= 0xC3 && term.data[i] != '\xE2'))
            return true;
    return false;
}

/* Notes the term when a block defines one ("term\n: text"). It holds for the indented blocks that follow. */
static void note_term(struct cutter *cutter, struct str block)
{
    struct str line = first_line(block), next = str_slice(block, line.len + 1, block.len);
    if (str_starts_with(next, STR(": ")))
        cutter->above = is_term(str_trim(line)) ? str_trim(line) : (struct str){0};
    else if (!str_starts_with(block, STR("  ")) && !str_starts_with(block, STR(": ")))
        cutter->above = (struct str){0};
}

static bool is_lead_in(struct str block)
{
    block = str_trim(block);
    return str_ends_with(block, STR(":")) || str_ends_with(block, STR("\xEF\xBC\x9A")); /* the wide colon */
}

/* White space between blocks counts, since a passage is a stretch of the text. */
static void add_blank(struct cutter *cutter, size_t to)
{
    if (cutter->from == cutter->to)
        return;
    if (to - cutter->from > cutter->most) {
        flush(cutter);
        return;
    }
    if (cutter->lead == cutter->to)
        cutter->lead = to;
    cutter->to = to;
}

static void add_block(struct cutter *cutter, size_t from, size_t to)
{
    struct str block = str_slice(cutter->text, from, to);
    size_t usual = cutter->target + cutter->target / 3;
    struct str header = table_header(block);
    note_term(cutter, block);
    if (!str_trim(block).len) {
        add_blank(cutter, to);
        return;
    }
    bool explains = str_starts_with(block, STR("  ")) || str_starts_with(block, STR(": "));
    struct str above = explains ? cutter->above : (struct str){0};
    if (cutter->has_body && cutter->lead > cutter->from && cutter->to - cutter->from + block.len > usual)
        flush_before_lead(cutter);
    if (cutter->to - cutter->from > cutter->target && cutter->to - cutter->from + block.len > cutter->most)
        flush(cutter);
    while (cutter->to - cutter->from + (to - from) > cutter->most) {
        size_t cut = find_cut(cutter, from, to);
        extend(cutter, from, cut, above);
        flush(cutter);
        from = cut;
        above = header.len ? header : cutter->above;
    }
    if (from == to)
        return;
    size_t lead = cutter->lead < cutter->to ? cutter->lead : from;
    extend(cutter, from, to, above);
    cutter->has_body = true;
    if (is_lead_in(block) && block.len <= cutter->target / 3) {
        cutter->lead = lead;
        cutter->lead_body = true;
    }
}

/* A heading begins a passage where the one under way is long enough. */
static void add_heading(struct cutter *cutter, size_t level, struct str heading, size_t from, size_t to)
{
    if (cutter->lead_body)
        cutter->lead = cutter->to;
    if (cutter->has_body && cutter->to - cutter->from >= 2 * (cutter->target / 3))
        flush_before_lead(cutter);
    cutter->above = (struct str){0};
    cutter->headings[level - 1] = heading;
    for (size_t deeper = level; deeper < MAX_LEVEL; deeper++)
        cutter->headings[deeper] = (struct str){0};
    if (cutter->to > cutter->from && !cutter->has_body) {
        free(cutter->path);
        cutter->path = path_above(cutter, (struct str){0});
    }
    if (cutter->to - cutter->from + (to - from) > cutter->most) {
        add_block(cutter, from, to);
        return;
    }
    size_t lead = cutter->lead < cutter->to ? cutter->lead : from;
    extend(cutter, from, to, (struct str){0});
    cutter->lead = lead;
}

/* ---- lines ---- */

static size_t line_end(struct str text, size_t from)
{
    size_t end = str_find_char(text, '\n', from);
    return end == STR_NONE ? text.len : end + 1;
}

/* Level of an ATX heading (`## Title`), 0 for another line. */
static size_t heading_level(struct str line, struct str *title)
{
    size_t level = 0;
    while (level < line.len && line.data[level] == '#')
        level++;
    if (!level || level > MAX_LEVEL || level == line.len || !ascii_is_space(line.data[level]))
        return 0;
    *title = str_trim(str_slice(line, level, line.len));
    while (title->len && title->data[title->len - 1] == '#')
        title->len--;
    *title = str_trim(*title);
    return level;
}

/* Level of the setext underline that follows a line, 0 where none does. */
static size_t underline_level(struct str text, size_t from)
{
    struct str line = str_trim_end(str_slice(text, from, line_end(text, from)));
    if (line.len < 3 || (line.data[0] != '=' && line.data[0] != '-'))
        return 0;
    for (size_t i = 1; i < line.len; i++)
        if (line.data[i] != line.data[0])
            return 0;
    return line.data[0] == '=' ? 1 : 2;
}

/* A fence: how many of which mark, 0 when the line is none. One that opens a definition stands behind its mark
 * (": ```"). */
struct fence {
    char mark;
    size_t length;
};

static struct fence read_fence(struct str line)
{
    if (str_starts_with(line, STR(": ")))
        line = str_slice(line, 2, line.len);
    struct fence fence = {.mark = line.len ? line.data[0] : '\0'};
    while (fence.length < line.len && line.data[fence.length] == fence.mark)
        fence.length++;
    return (fence.mark == '`' || fence.mark == '~') && fence.length >= 3 ? fence : (struct fence){0};
}

static bool closes_fence(struct fence open, struct str line)
{
    struct fence fence = read_fence(line);
    return fence.mark == open.mark && fence.length >= open.length && fence.length == line.len;
}

static void cut_text(struct cutter *cutter)
{
    struct str text = cutter->text;
    size_t block = 0; /* where the block under way began */
    struct fence fence = {0};
    for (size_t at = 0; at < text.len;) {
        size_t end = line_end(text, at);
        struct str line = str_trim(str_slice(text, at, end));
        struct str title;
        size_t level = fence.length ? 0 : heading_level(line, &title);
        size_t heading_end = end;
        if (!fence.length && !level && line.len && block == at && (level = underline_level(text, end)) != 0) {
            title = line;
            heading_end = line_end(text, end);
        }
        if (level) {
            if (block < at)
                add_block(cutter, block, at);
            add_heading(cutter, level, title, at, heading_end);
            block = at = heading_end;
            continue;
        }
        bool closed = fence.length && closes_fence(fence, line);
        if (closed)
            fence = (struct fence){0};
        else if (!fence.length)
            fence = read_fence(line);
        if (closed || (!line.len && !fence.length)) {
            add_block(cutter, block, end);
            block = end;
        }
        at = end;
    }
    if (block < text.len)
        add_block(cutter, block, text.len);
    flush(cutter);
}

void passages_cut(struct str text, size_t target_tokens, struct passages *out)
{
    *out = (struct passages){0};
    struct cutter cutter = {.text = text, .out = out};
    cutter.target = TOKEN_BYTES * (target_tokens ? target_tokens : DEFAULT_TARGET);
    cutter.most = 2 * cutter.target;
    cut_text(&cutter);
}

void passages_finish(struct passages *passages)
{
    if (!passages)
        return;
    for (size_t i = 0; i < passages->count; i++)
        free(passages->items[i].headings);
    free(passages->items);
    *passages = (struct passages){0};
}
