/* Marks of emphasis, quotations and links.
 *
 * CommonMark takes asterisks for emphasis by their neighbours: an opening mark must not stand before a blank, nor
 * before punctuation when a letter is before it; a closing mark likewise. So an opening mark waits for the first
 * character that it can stand before, and a closing mark is written when the next character is known; where that is a
 * letter behind punctuation, the mark moves before the punctuation. */
#include "text/html/write_internal.h"

#define MAX_TITLE 120 /* bytes of a link's title that is worth its room */

static const char *const mark_texts[] = {"**", "*", "~~", "\"", "["};

static struct str mark_text(const struct inline_mark *mark)
{
    return str_of(mark_texts[mark->kind]);
}

static bool is_emphasis(const struct inline_mark *mark)
{
    return mark->kind <= INLINE_DEL;
}

static void note_pending(struct writer *w)
{
    w->pending = false;
    for (size_t i = 0; i < w->n_marks; i++)
        w->pending =
            w->pending || w->inline_marks[i].closing || (!w->inline_marks[i].written && !w->inline_marks[i].skipped);
}

static void remove_mark(struct writer *w, size_t index)
{
    w->n_marks--;
    memmove(w->inline_marks + index, w->inline_marks + index + 1, (w->n_marks - index) * sizeof w->inline_marks[0]);
}

void writer_open_mark(struct writer *w, uint32_t node, enum inline_kind kind)
{
    bool plain = w->options.plain_text && kind != INLINE_QUOTE;
    if (plain || w->n_marks == MAX_MARKS || (kind == INLINE_STRONG && w->n_strong))
        return;
    struct inline_mark *last = w->n_marks ? &w->inline_marks[w->n_marks - 1] : NULL;
    if (last && last->closing && last->kind == kind && (!w->due || w->single == LINE_HEADING) && is_emphasis(last)) {
        last->closing = false; /* one emphasis goes on where another ended */
        last->node = node;
        note_pending(w);
        return;
    }
    for (size_t i = 0; i < w->n_marks; i++)
        if (w->inline_marks[i].kind == kind && !w->inline_marks[i].closing)
            return;
    w->inline_marks[w->n_marks++] = (struct inline_mark){.node = node, .kind = (uint8_t)kind};
    w->pending = true;
}

/* ---- closing ---- */

static size_t character_before(const struct writer *w, size_t at)
{
    do
        at--;
    while (((unsigned char)w->out->data[at] & 0xC0) == 0x80);
    return at;
}

static enum char_class class_at(const struct writer *w, size_t at)
{
    return char_class_first((struct str){w->out->data + at, w->out->len - at});
}

/* Closes an emphasis at the end of what is written, or before the punctuation there; takes it back when there is
 * nothing else in it. */
static void close_emphasis(struct writer *w, const struct inline_mark *mark, enum char_class next)
{
    struct str text = mark_text(mark);
    size_t inside = mark->at + text.len, at = w->out->len;
    bool may_stand = next == CHAR_SPACE || next == CHAR_PUNCTUATION;
    size_t floor = w->plain_from > inside ? w->plain_from : inside;
    while (!may_stand && at > floor && w->out->len - at < 64) {
        size_t before = character_before(w, at);
        if (class_at(w, before) == CHAR_WORD)
            break;
        at = before;
    }
    if (!may_stand && at == inside) {
        writer_remove(w, mark->at, text.len);
        return;
    }
    if (!may_stand && at == floor && class_at(w, character_before(w, at)) != CHAR_WORD &&
        !(at > inside && strchr("*~", w->out->data[at - 1]))) {
        writer_remove(w, mark->at, text.len);
        return;
    }
    if (at == w->out->len)
        writer_put_str(w, text);
    else
        writer_insert(w, at, text);
    if (!w->full)
        w->plain_from = at + text.len;
}

/* Letters and digits alone, in small letters, at most `size` of them; returns how many. */
static size_t letters_of(struct str text, char *out, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len && n < size; i++)
        if (ascii_is_alnum(text.data[i]) || (unsigned char)text.data[i] >= 0x80)
            out[n++] = ascii_lower(text.data[i]);
    return n;
}

/* Whether a title tells more than the text and the address of its link. */
static bool says_more(struct str title, struct str text, struct str url)
{
    char letters[MAX_TITLE], known[1024];
    if (title.len < 2 || title.len > MAX_TITLE || text.len > 400)
        return false;
    for (size_t i = 0; i < title.len; i++)
        if (strchr("\"\n\\|&`<", title.data[i]))
            return false;
    struct str bare = {letters, letters_of(title, letters, sizeof letters)};
    struct str shown = {known, letters_of(text, known, sizeof known)};
    if (!bare.len || str_find(shown, bare, 0) != STR_NONE || str_find(bare, shown, 0) != STR_NONE)
        return false;
    return str_find((struct str){known, letters_of(url, known, sizeof known)}, bare, 0) == STR_NONE;
}

/* A bare address between angle brackets says the same in half the room. */
static void close_link(struct writer *w, const struct inline_mark *mark)
{
    struct str title = writer_attribute(w, mark->node, HTML_ATTRIBUTE_TITLE);
    struct str url = buf_str(&w->url);
    struct str text = {w->out->data + mark->at + 1, w->full ? 0 : w->out->len - mark->at - 1};
    if (str_equal(text, url) && str_starts_with(url, STR("http")) && str_find_char(url, '\\', 0) == STR_NONE) {
        w->out->data[mark->at] = '<';
        writer_put_char(w, '>');
        return;
    }
    title = str_trim(title);
    bool titled = says_more(title, text, url);
    writer_put(w, "](", 2);
    writer_put_str(w, url);
    if (titled) {
        writer_put(w, " \"", 2);
        writer_put_str(w, title);
        writer_put_char(w, '"');
    }
    writer_put_char(w, ')');
}

static void close_now(struct writer *w, size_t index, enum char_class next)
{
    struct inline_mark mark = w->inline_marks[index];
    if (!mark.written || w->full)
        return;
    if (is_emphasis(&mark)) {
        close_emphasis(w, &mark, next);
        return;
    }
    if (mark.kind == INLINE_LINK)
        close_link(w, &mark);
    else
        writer_put(w, "\"", 1);
    w->plain_from = w->out->len;
}

void writer_settle_marks(struct writer *w, enum char_class next)
{
    for (size_t i = w->n_marks; i-- > 0;) {
        if (!w->inline_marks[i].closing)
            continue;
        close_now(w, i, next);
        remove_mark(w, i);
    }
    note_pending(w);
}

void writer_close_mark(struct writer *w, uint32_t node)
{
    size_t index = w->n_marks;
    while (index > 0 && w->inline_marks[index - 1].node != node)
        index--;
    if (!index--)
        return;
    struct inline_mark *mark = &w->inline_marks[index];
    if (!mark->written) {
        remove_mark(w, index);
        note_pending(w);
    } else if (is_emphasis(mark)) {
        mark->closing = true;
        w->pending = true;
    } else {
        while (w->n_marks > index + 1) {
            close_now(w, w->n_marks - 1, CHAR_PUNCTUATION);
            w->n_marks--;
        }
        close_now(w, index, CHAR_PUNCTUATION);
        w->n_marks = index;
        note_pending(w);
    }
}

void writer_suspend_marks(struct writer *w)
{
    for (size_t i = w->n_marks; i-- > 0;) {
        struct inline_mark *mark = &w->inline_marks[i];
        bool ends = mark->closing;
        if (mark->written && mark->kind != INLINE_QUOTE) {
            close_now(w, i, CHAR_SPACE);
            ends = ends || mark->kind == INLINE_LINK;
            mark->written = false;
        }
        if (ends)
            remove_mark(w, i);
        else if (!mark->written)
            mark->skipped = false;
    }
    note_pending(w);
}

/* ---- opening ---- */

bool writer_opens_bracket(const struct writer *w)
{
    for (size_t i = 0; i < w->n_marks; i++)
        if (!w->inline_marks[i].written && !is_emphasis(&w->inline_marks[i]))
            return true;
    return false;
}

void writer_open_marks(struct writer *w, enum char_class next)
{
    enum char_class before = writer_last_class(w);
    bool waits = false;
    for (size_t i = 0; i < w->n_marks && !waits; i++) {
        struct inline_mark *mark = &w->inline_marks[i];
        if (mark->written || mark->skipped || (mark->kind == INLINE_STRONG && w->n_strong))
            continue;
        bool bracket = false; /* a mark that is not emphasis stands between this one and the text */
        bool above = false;
        for (size_t k = i + 1; k < w->n_marks; k++) {
            bracket = bracket || (!w->inline_marks[k].written && !is_emphasis(&w->inline_marks[k]));
            above = above || w->inline_marks[k].written;
        }
        enum char_class follows = bracket ? CHAR_PUNCTUATION : next;
        bool may_stand = follows == CHAR_WORD || before == CHAR_SPACE || before == CHAR_PUNCTUATION;
        if (is_emphasis(mark) && (!may_stand || above)) {
            mark->skipped = bracket || above;
            waits = !mark->skipped;
            continue;
        }
        if (mark->kind == INLINE_LINK && w->out->len > w->line_at && w->out->data[w->out->len - 1] == '!')
            writer_insert(w, w->out->len - 1, STR("\\"));
        mark->at = w->out->len;
        mark->written = true;
        writer_put_str(w, mark_text(mark));
        w->plain_from = w->out->len;
        if (!is_emphasis(mark))
            before = CHAR_PUNCTUATION;
    }
    note_pending(w);
}
