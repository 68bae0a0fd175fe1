/* Which named template a Jinja text is. Texts are compared by a fingerprint of what they mean to Jinja: white space
 * that it removes (as transformers sets it up: trim_blocks, lstrip_blocks), comments, blanks inside tags and the choice
 * of quotes do not count, all else does. So a text that is not on the list is not known, however much it looks like
 * one that is. */
#include "protocol/template_internal.h"

struct fingerprint {
    uint64_t hash;
};

static void mix(struct fingerprint *fingerprint, char c)
{
    fingerprint->hash = (fingerprint->hash ^ (unsigned char)c) * 1099511628211u; /* FNV-1a */
}

static void mix_text(struct fingerprint *fingerprint, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] != '\r')
            mix(fingerprint, text.data[i]);
    }
}

/* The length of a string literal at the start of `s`, quotes included, mixed in with its escapes resolved. */
static size_t mix_literal(struct fingerprint *fingerprint, struct str s)
{
    size_t i = 1;
    mix(fingerprint, '"');
    for (; i < s.len && s.data[i] != s.data[0]; i++) {
        char c = s.data[i];
        if (c == '\\' && i + 1 < s.len) {
            c = s.data[++i];
            c = (char)(c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c);
        }
        mix(fingerprint, c);
    }
    mix(fingerprint, '"');
    return i < s.len ? i + 1 : i;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

struct tag {
    char kind; /* '%', '{' or '#' */
    bool trims_before, keeps_before, trims_behind;
    struct str inside;
    size_t length;
};

/* Reads the tag at the start of `s`. False when it does not end. */
static bool read_tag(struct str s, struct tag *tag)
{
    *tag = (struct tag){.kind = s.data[1]};
    const char end[] = {(char)(tag->kind == '{' ? '}' : tag->kind), '}'};
    char quote = '\0';
    size_t i = 2;
    for (; i + 1 < s.len; i++) {
        if (quote != '\0' && s.data[i] == '\\')
            i++;
        else if (quote != '\0')
            quote = s.data[i] == quote ? '\0' : quote;
        else if (s.data[i] == end[0] && s.data[i + 1] == end[1])
            break;
        else if (tag->kind != '#' && (s.data[i] == '"' || s.data[i] == '\''))
            quote = s.data[i];
    }
    if (i + 1 >= s.len)
        return false;
    tag->length = i + 2;
    tag->inside = str_slice(s, 2, i);
    tag->trims_before = str_starts_with(tag->inside, STR("-"));
    tag->keeps_before = str_starts_with(tag->inside, STR("+"));
    tag->inside = str_slice(tag->inside, tag->trims_before || tag->keeps_before, tag->inside.len);
    tag->trims_behind = str_ends_with(tag->inside, STR("-"));
    tag->inside.len -= tag->trims_behind;
    return true;
}

static void mix_tag(struct fingerprint *fingerprint, const struct tag *tag)
{
    if (tag->kind == '#' || !tag->inside.data)
        return;
    mix(fingerprint, '\x01');
    mix(fingerprint, tag->kind);
    for (size_t i = 0; i < tag->inside.len;) {
        char c = tag->inside.data[i];
        if (c == '"' || c == '\'') {
            i += mix_literal(fingerprint, str_slice(tag->inside, i, tag->inside.len));
            continue;
        }
        if (!is_blank(c))
            mix(fingerprint, c);
        i++;
    }
    mix(fingerprint, '\x02');
}

/* Text in front of a tag: without what the tag removes. */
static struct str trimmed_before(struct str text, const struct tag *tag)
{
    if (tag->trims_before)
        return str_trim_end(text);
    if (tag->kind == '{' || tag->keeps_before)
        return text;
    size_t end = text.len;
    while (end > 0 && (text.data[end - 1] == ' ' || text.data[end - 1] == '\t'))
        end--;
    return end == 0 || text.data[end - 1] == '\n' ? str_slice(text, 0, end) : text;
}

static struct str trimmed_behind(struct str rest, const struct tag *tag)
{
    if (tag->trims_behind)
        return str_trim_start(rest);
    if (tag->kind == '{')
        return rest;
    if (str_starts_with(rest, STR("\r\n")))
        return str_slice(rest, 2, rest.len);
    return str_slice(rest, str_starts_with(rest, STR("\n")), rest.len);
}

static bool begins_tag(struct str s, size_t at)
{
    return s.data[at] == '{' && at + 1 < s.len &&
           (s.data[at + 1] == '%' || s.data[at + 1] == '{' || s.data[at + 1] == '#');
}

uint64_t template_fingerprint(struct str jinja)
{
    struct fingerprint fingerprint = {14695981039346656037u};
    struct str rest = jinja;
    if (str_ends_with(rest, STR("\n")))
        rest.len--; /* Jinja drops it */
    while (rest.len > 0) {
        size_t at = 0;
        while (at < rest.len && !begins_tag(rest, at))
            at++;
        struct str text = str_slice(rest, 0, at);
        struct tag tag;
        if (at == rest.len) {
            mix_text(&fingerprint, text);
            break;
        }
        if (!read_tag(str_slice(rest, at, rest.len), &tag))
            return 0;
        mix_text(&fingerprint, trimmed_before(text, &tag));
        mix_tag(&fingerprint, &tag);
        rest = trimmed_behind(str_slice(rest, at + tag.length, rest.len), &tag);
    }
    return fingerprint.hash;
}

/* Of the texts in the models' tokenizer_config.json, each rendered beside ours; tests/flow/test_templates.py does it
 * again with those that scripts/tokenizers fetches. */
static const struct known {
    uint64_t fingerprint;
    const char *name;
} known[] = {
#include "protocol/template_known.inc"
};

const struct chat_template *template_detect(struct str jinja)
{
    uint64_t fingerprint = template_fingerprint(jinja);
    for (size_t i = 0; fingerprint != 0 && i < sizeof known / sizeof known[0]; i++) {
        if (known[i].fingerprint == fingerprint)
            return template_find(str_of(known[i].name));
    }
    return NULL;
}
