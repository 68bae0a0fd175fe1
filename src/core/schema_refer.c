/* What a schema refers to inside its document, and its patterns. */
#include "core/schema_internal.h"

#include <stdlib.h>
#include <string.h>

/* Steps of the matcher for one text: far more than any honest pattern takes, a fraction of a second. */
#define MATCH_LIMIT 200000

/* ---- references ---- */

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = ascii_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One token of a JSON pointer in a URI fragment (RFC 6901, 4 and 6): %XX, ~1 for "/", ~0 for "~". */
static void decode_token(struct str token, struct buf *out)
{
    buf_reset(out);
    for (size_t i = 0; i < token.len; i++) {
        char c = token.data[i];
        if (c == '%' && i + 2 < token.len && hex(token.data[i + 1]) >= 0 && hex(token.data[i + 2]) >= 0) {
            c = (char)(hex(token.data[i + 1]) * 16 + hex(token.data[i + 2]));
            i += 2;
        }
        if (c == '~' && i + 1 < token.len && (token.data[i + 1] == '0' || token.data[i + 1] == '1'))
            c = token.data[++i] == '0' ? '~' : '/';
        buf_add_char(out, c);
    }
}

static const json_t *follow_pointer(const json_t *at, struct str pointer)
{
    struct buf key;
    buf_init(&key, BUF_UNBOUNDED);
    while (at && pointer.len > 0) {
        size_t end = str_find_char(pointer, '/', 1);
        struct str token = str_slice(pointer, 1, end == STR_NONE ? pointer.len : end);
        pointer = end == STR_NONE ? (struct str){0} : str_slice(pointer, end, pointer.len);
        decode_token(token, &key);
        int64_t index;
        if (json_is_array(at))
            at = str_to_int64(buf_str(&key), &index) && index >= 0 ? json_array_get(at, (size_t)index) : NULL;
        else
            at = json_object_get(at, key.len > 0 ? key.data : "");
    }
    buf_finish(&key);
    return at;
}

/* What a schema may be called by: `$anchor` and its kin without "#", `$id` as it stands. */
static bool is_called(const json_t *schema, const char *name, bool anchor)
{
    const char *id = json_get_string(schema, "$id");
    if (!anchor)
        return id && strcmp(id, name) == 0;
    const char *plain = json_get_string(schema, "$anchor"), *dynamic = json_get_string(schema, "$dynamicAnchor");
    return (plain && strcmp(plain, name) == 0) || (dynamic && strcmp(dynamic, name) == 0) ||
           (id && id[0] == '#' && strcmp(id + 1, name) == 0);
}

static const json_t *find_called(const json_t *schema, const char *name, bool anchor, int depth, size_t *steps)
{
    const char *key;
    json_t *each;
    size_t i;
    const json_t *found = NULL;
    if (depth == SCHEMA_MAX_DEPTH)
        return NULL;
    ++*steps;
    if (json_is_object(schema) && is_called(schema, name, anchor))
        return schema;
    json_object_foreach ((json_t *)(uintptr_t)schema, key, each) {
        if (strcmp(key, "enum") != 0 && strcmp(key, "const") != 0) /* data, not schemas */
            found = find_called(each, name, anchor, depth + 1, steps);
        if (found)
            return found;
    }
    json_array_foreach (schema, i, each) {
        found = find_called(each, name, anchor, depth + 1, steps);
        if (found)
            return found;
    }
    return NULL;
}

const json_t *schema_find(const json_t *root, const char *reference, size_t *steps)
{
    size_t unused = 0;
    const char *hash = strchr(reference, '#');
    const json_t *at = root;
    if (!steps)
        steps = &unused;
    if (hash != reference) {
        char *document = str_dup(str_make(reference, hash ? (size_t)(hash - reference) : strlen(reference)));
        at = find_called(root, document, false, 0, steps);
        free(document);
    }
    if (!hash || !hash[1])
        return at;
    return hash[1] == '/' ? follow_pointer(at, str_of(hash + 1)) : find_called(at, hash + 1, true, 0, steps);
}

/* ---- patterns ---- */

pcre2_code *schema_compile_pattern(const char *pattern, char *message, size_t size)
{
    int code;
    PCRE2_SIZE offset;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    pcre2_set_compile_extra_options(context, PCRE2_EXTRA_ALT_BSUX);
    pcre2_code *compiled = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                                         PCRE2_UTF | PCRE2_ALT_BSUX | PCRE2_ALLOW_EMPTY_CLASS |
                                             PCRE2_MATCH_UNSET_BACKREF | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C,
                                         &code, &offset, context);
    pcre2_compile_context_free(context);
    if (!compiled && message)
        pcre2_get_error_message(code, (PCRE2_UCHAR *)message, size);
    return compiled;
}

static const pcre2_code *take_pattern(struct schema_work *work, const char *pattern)
{
    for (size_t i = 0; i < SCHEMA_PATTERNS; i++) {
        if (work->patterns[i].text == pattern)
            return work->patterns[i].code;
    }
    size_t place = work->next_pattern++ % SCHEMA_PATTERNS;
    pcre2_code_free(work->patterns[place].code);
    work->patterns[place].text = pattern;
    work->patterns[place].code = schema_compile_pattern(pattern, NULL, 0);
    return work->patterns[place].code;
}

bool schema_matches(struct check *check, const char *pattern, struct str text)
{
    const pcre2_code *code = take_pattern(check->work, pattern);
    if (!code)
        return true;
    check->work->steps += text.len / 64;
    pcre2_match_context *context = pcre2_match_context_create(NULL);
    pcre2_set_match_limit(context, MATCH_LIMIT);
    pcre2_set_heap_limit(context, 16 * 1024); /* KiB */
    pcre2_match_data *match = pcre2_match_data_create(1, NULL);
    int count = pcre2_match(code, (PCRE2_SPTR)text.data, text.len, 0, 0, match, context);
    pcre2_match_data_free(match);
    pcre2_match_context_free(context);
    return count >= 0;
}

void schema_forget_patterns(struct schema_work *work)
{
    for (size_t i = 0; i < SCHEMA_PATTERNS; i++)
        pcre2_code_free(work->patterns[i].code);
}
