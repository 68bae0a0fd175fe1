#include "text/sentences.h"

#include <string.h>

#include "core/utf8.h"

#define SENTENCE_MAX 2000 /* bytes; a longer run without an end is cut at a space */

static size_t line_end(struct str text, size_t from)
{
    size_t end = str_find_char(text, '\n', from);
    return end == STR_NONE ? text.len : end + 1;
}

/* Length of a list mark ("- ", "12. "), 0 when the line has none. */
static size_t list_mark(struct str line)
{
    size_t i = 0;
    if (line.len > 1 && strchr("-*+", line.data[0]) && ascii_is_space(line.data[1]))
        return 2;
    while (i < line.len && i < 9 && ascii_is_digit(line.data[i]))
        i++;
    if (i && i + 1 < line.len && (line.data[i] == '.' || line.data[i] == ')') && ascii_is_space(line.data[i + 1]))
        return i + 2;
    return 0;
}

static size_t heading_mark(struct str line)
{
    size_t i = 0;
    while (i < line.len && line.data[i] == '#')
        i++;
    return i && i <= 6 && i < line.len && line.data[i] == ' ' ? i + 1 : 0;
}

/* A fence that opens a definition stands behind its mark (": ```"); the one that closes it does not. */
static bool is_fence(struct str line)
{
    if (str_starts_with(line, STR(": ")))
        line = str_slice(line, 2, line.len);
    return str_starts_with(line, STR("```")) || str_starts_with(line, STR("~~~"));
}

/* Whether a line continues the paragraph or list item above it. */
static bool continues_block(struct str line)
{
    line = str_trim(line);
    return line.len && line.data[0] != '|' && line.data[0] != '>' && !heading_mark(line) && !list_mark(line) &&
           !is_fence(line);
}

static bool is_ruler(struct str line)
{
    for (size_t i = 0; i < line.len; i++)
        if (!strchr("|-=:*_ \t", line.data[i]))
            return false;
    return true;
}

/* Sets up the block that begins at or after `at`. False when no text is left. */
static bool next_block(struct sentences *s)
{
    while (s->at < s->text.len) {
        size_t end = line_end(s->text, s->at);
        struct str line = str_slice(s->text, s->at, end);
        size_t indent = line.len - str_trim_start(line).len;
        line = str_trim(line);
        if (is_fence(line)) {
            s->in_fence = !s->in_fence;
            s->at = end;
            continue;
        }
        if (is_ruler(line)) {
            s->at = end;
            continue;
        }
        s->block_end = end;
        s->at += indent;
        s->kind = SENTENCE_PROSE;
        if (s->in_fence) {
            s->kind = SENTENCE_CODE;
            return true;
        }
        while (line.len && line.data[0] == '>') {
            size_t mark = line.len > 1 && line.data[1] == ' ' ? 2 : 1;
            s->at += mark;
            line = str_slice(line, mark, line.len);
        }
        size_t mark = heading_mark(line);
        if (mark) {
            s->kind = SENTENCE_HEADING;
            s->at += mark;
            return true;
        }
        if (line.len && line.data[0] == '|') {
            s->kind = SENTENCE_TABLE_ROW;
            return true;
        }
        mark = list_mark(line);
        s->at += mark;
        if (mark)
            s->kind = SENTENCE_LIST_ITEM;
        while (s->block_end < s->text.len) {
            end = line_end(s->text, s->block_end);
            if (!continues_block(str_slice(s->text, s->block_end, end)))
                break;
            s->block_end = end;
        }
        return true;
    }
    return false;
}

/* The word that ends before `dot` (letters and inner dots), no longer than 12 bytes. */
static struct str word_before(struct str text, size_t start, size_t dot)
{
    size_t from = dot;
    while (from > start && dot - from < 12 && (ascii_is_alnum(text.data[from - 1]) || text.data[from - 1] == '.'))
        from--;
    return str_slice(text, from, dot);
}

static bool is_abbreviation(struct str word, char next)
{
    static const char *const known[] = {
        "mr",  "mrs",  "ms",  "dr",  "prof", "sr",   "jr",  "st",   "vs",  "cf",  "fig",  "figs",
        "vol", "pp",   "ed",  "eds", "al",   "dept", "est", "gen",  "gov", "sen", "rep",  "rev",
        "hon", "capt", "col", "lt",  "sgt",  "e.g",  "i.e", "ca",   "jan", "feb", "mar",  "apr",
        "jun", "jul",  "aug", "sep", "oct",  "nov",  "dec", "sept", "eq",  "ref", "refs", "approx",
    };
    static const char *const before_number[] = {"no", "nos", "p", "vol", "ch", "sec", "art"};
    if (word.len == 1 && ascii_is_alpha(word.data[0]))
        return true;
    if (word.len > 2 && word.len <= 7 && str_find_char(word, '.', 0) == 1) /* U.S, a.m, Ph.D */
        return true;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (str_equal_ascii_nocase(word, str_of(known[i])))
            return true;
    for (size_t i = 0; ascii_is_digit(next) && i < sizeof before_number / sizeof before_number[0]; i++)
        if (str_equal_ascii_nocase(word, str_of(before_number[i])))
            return true;
    return false;
}

static size_t skip_closers(struct str text, size_t at, size_t end)
{
    static const char *const closers[] = {"\"",
                                          "'",
                                          ")",
                                          "]",
                                          "*",
                                          "_",
                                          "`",
                                          "\xE2\x80\x9D",
                                          "\xE2\x80\x99",
                                          "\xC2\xBB",
                                          "\xE3\x80\x8D",
                                          "\xE3\x80\x8F",
                                          "\xEF\xBC\x89"};
    for (size_t i = 0; i < sizeof closers / sizeof closers[0]; i++) {
        if (str_starts_with(str_slice(text, at, end), str_of(closers[i]))) {
            at += strlen(closers[i]);
            i = (size_t)-1;
        }
    }
    return at;
}

/* Where the sentence that goes on at `at` ends when the character there ends it; 0 when it does not. */
static size_t ending_at(struct str text, size_t start, size_t at, size_t end)
{
    struct str rest = str_slice(text, at, end);
    if (str_starts_with(rest, STR("\xE3\x80\x82")) || str_starts_with(rest, STR("\xEF\xBC\x81")) ||
        str_starts_with(rest, STR("\xEF\xBC\x9F")) || str_starts_with(rest, STR("\xEF\xBD\xA1")))
        return skip_closers(text, at + 3, end);
    char c = rest.data[0];
    if (c != '.' && c != '!' && c != '?')
        return 0;
    size_t after = skip_closers(text, at + 1, end);
    if (after < end && !ascii_is_space(text.data[after]))
        return 0;
    size_t next = after;
    while (next < end && ascii_is_space(text.data[next]))
        next++;
    char following = next < end ? text.data[next] : '\0';
    if (c == '.' && following) {
        if (following >= 'a' && following <= 'z')
            return 0;
        if (is_abbreviation(word_before(text, start, at), following))
            return 0;
    }
    return after;
}

static size_t sentence_end(const struct sentences *s)
{
    size_t space = 0;
    for (size_t i = s->at; i < s->block_end; i++) {
        size_t end = ending_at(s->text, s->at, i, s->block_end);
        if (end)
            return end;
        if (ascii_is_space(s->text.data[i]))
            space = i;
        if (i - s->at >= SENTENCE_MAX)
            return space > s->at ? space : utf8_floor(s->text, i);
    }
    return s->block_end;
}

void sentences_init(struct sentences *sentences, struct str text)
{
    *sentences = (struct sentences){.text = text};
}

bool sentences_next(struct sentences *s, struct sentence *out)
{
    for (;;) {
        while (s->at < s->block_end && ascii_is_space(s->text.data[s->at]))
            s->at++;
        if (s->at >= s->block_end) {
            s->at = s->block_end;
            if (!next_block(s))
                return false;
            continue;
        }
        bool prose = s->kind == SENTENCE_PROSE || s->kind == SENTENCE_LIST_ITEM;
        size_t end = prose ? sentence_end(s) : s->block_end;
        if (end <= s->at)
            end = s->at + 1;
        struct str whole = str_trim(str_slice(s->text, s->at, end));
        *out = (struct sentence){.from = s->at, .to = s->at + whole.len, .kind = s->kind};
        s->at = end;
        return true;
    }
}
