#include "text/passages.h"

#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/mem.h"
#include "core/utf8.h"

#define DEFAULT_TARGET 300
#define HEADING_BYTES  120 /* of each heading in a path */
#define MAX_LEVEL      6

/* Sizes are counted in quarters of a token: a byte of ASCII is one, a character of two bytes two, a longer one four. */
struct cutter {
    struct str text;
    size_t target, most;
    struct passages *out;
    struct str headings[MAX_LEVEL]; /* the open heading of each level, empty where there is none */
    size_t from, to;                /* the passage under way; from == to when there is none */
    size_t size;
    bool has_body; /* more than headings */
    char *path;    /* headings above the passage under way */
};

static size_t units_of(unsigned char lead)
{
    return lead < 0x80 ? 1 : lead < 0xC0 ? 0 : lead < 0xE0 ? 2 : 4;
}

static size_t size_of(struct str s)
{
    size_t size = 0;
    for (size_t i = 0; i < s.len; i++)
        size += units_of((unsigned char)s.data[i]);
    return size;
}

static char *heading_path(const struct cutter *cutter)
{
    struct buf path;
    buf_init(&path, BUF_UNBOUNDED);
    for (size_t level = 0; level < MAX_LEVEL; level++) {
        struct str heading = cutter->headings[level];
        if (!heading.len)
            continue;
        if (path.len)
            buf_add_text(&path, " > ");
        heading = str_slice(heading, 0, utf8_floor(heading, HEADING_BYTES));
        for (size_t i = 0; i < heading.len; i++)
            if (!strchr("*`\\\n", heading.data[i]))
                buf_add_char(&path, heading.data[i]);
    }
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
    cutter->from = cutter->to;
    cutter->size = 0;
    cutter->has_body = false;
}

static void extend(struct cutter *cutter, size_t from, size_t to, size_t size)
{
    if (cutter->from == cutter->to) {
        cutter->from = from;
        cutter->path = heading_path(cutter);
    }
    cutter->to = to;
    cutter->size += size;
}

/* Where to cut a block that is too long: behind the last line, sentence or word that fits the target, else anywhere. */
static size_t find_cut(const struct cutter *cutter, size_t from, size_t to)
{
    const char *text = cutter->text.data;
    size_t size = 0, line = 0, sentence = 0, word = 0, at = from;
    for (; at < to && size < cutter->target; at++) {
        size += units_of((unsigned char)text[at]);
        if (size < cutter->target / 2)
            continue;
        if (text[at] == '\n')
            line = at + 1;
        else if (text[at] == ' ' && at > from && strchr(".!?;:", text[at - 1]))
            sentence = at + 1;
        else if (text[at] == ' ')
            word = at + 1;
        else if (at >= from + 3 && memcmp(text + at - 2, "\xE3\x80\x82", 3) == 0)
            sentence = at + 1;
    }
    if (line || sentence || word)
        return line ? line : sentence ? sentence : word;
    while (at < to && ((unsigned char)text[at] & 0xC0) == 0x80)
        at++;
    return at;
}

static void add_block(struct cutter *cutter, size_t from, size_t to)
{
    size_t size = size_of(str_slice(cutter->text, from, to));
    if (cutter->has_body && cutter->size + size > cutter->target + cutter->target / 3)
        flush(cutter);
    if (cutter->size > cutter->target && cutter->size + size > cutter->most)
        flush(cutter);
    while (cutter->size + size > cutter->most) {
        size_t cut = find_cut(cutter, from, to);
        size_t piece = size_of(str_slice(cutter->text, from, cut));
        extend(cutter, from, cut, piece);
        flush(cutter);
        size -= piece;
        from = cut;
    }
    if (from < to) {
        extend(cutter, from, to, size);
        cutter->has_body = true;
    }
}

/* A heading begins a passage, unless all before it in the present one is headings or very little. */
static void add_heading(struct cutter *cutter, size_t level, struct str heading, size_t from, size_t to)
{
    if (cutter->has_body && cutter->size >= cutter->target / 6)
        flush(cutter);
    cutter->headings[level - 1] = heading;
    for (size_t deeper = level; deeper < MAX_LEVEL; deeper++)
        cutter->headings[deeper] = (struct str){0};
    if (cutter->size && !cutter->has_body) {
        free(cutter->path);
        cutter->path = heading_path(cutter);
    }
    size_t size = size_of(str_slice(cutter->text, from, to));
    if (cutter->size + size > cutter->most)
        add_block(cutter, from, to);
    else
        extend(cutter, from, to, size);
}

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

/* A fence that opens a definition stands behind its mark (": ```"); the one that closes it does not. */
static bool is_fence(struct str line)
{
    if (str_starts_with(line, STR(": ")))
        line = str_slice(line, 2, line.len);
    return str_starts_with(line, STR("```")) || str_starts_with(line, STR("~~~"));
}

static void cut_text(struct cutter *cutter)
{
    struct str text = cutter->text;
    size_t block = 0; /* where the block under way began */
    bool in_fence = false;
    for (size_t at = 0; at < text.len;) {
        size_t end = line_end(text, at);
        struct str line = str_trim(str_slice(text, at, end));
        struct str title;
        size_t level = in_fence ? 0 : heading_level(line, &title);
        size_t heading_end = end;
        if (!in_fence && !level && line.len && block == at && (level = underline_level(text, end)) != 0) {
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
        bool fence = is_fence(line);
        if (fence)
            in_fence = !in_fence;
        if ((!line.len && !in_fence) || (fence && !in_fence)) {
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
    cutter.target = 4 * (target_tokens ? target_tokens : DEFAULT_TARGET);
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
