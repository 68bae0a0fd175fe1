/* Names of authors, made clean. */
#include <string.h>
#include <utf8proc.h>

#include "core/utf8.h"
#include "text/html/meta_internal.h"

#define MAX_ALONE 60 /* bytes of a text that is nothing but such words */
#define MAX_COLON 4  /* with a blank before it */

/* ---- what stands before a name ---- */

static const struct {
    enum meta_by kind;
    struct str words;
} bys[] = {
#define BY(kind, words) {kind, {words, sizeof(words) - 1}},
#include "text/html/meta_by.inc"
#undef BY
};

void meta_bys_init(struct meta_words *beginnings, bool sure)
{
    const char *chosen[sizeof bys / sizeof bys[0] + 1];
    size_t n = 0;
    for (size_t i = 0; i < sizeof bys / sizeof bys[0]; i++)
        if (!sure || meta_by_is_sure(bys[i].kind))
            chosen[n++] = bys[i].words.data;
    chosen[n] = NULL;
    meta_words_init(beginnings, chosen);
    beginnings->words = NULL;
}

bool meta_may_be_by(const struct meta_words *beginnings, struct str text)
{
    char first[8] = "";
    size_t length;
    if (text.len < 2 || (unsigned char)text.data[0] < 0x80)
        return text.len >= 2 && meta_words_begin(beginnings, text.data);
    uint32_t code = utf8_decode(text, &length);
    if (code == UTF8_INVALID)
        return false;
    utf8_encode((uint32_t)utf8proc_tolower((utf8proc_int32_t)code), first);
    return meta_words_begin(beginnings, first);
}

/* The bytes of `text` that say the same as `words`, which are in small letters; 0 when it begins otherwise. */
static size_t same_letters(struct str text, struct str words)
{
    size_t from = text.len, used, length;
    while (words.len && text.len) {
        uint32_t one = utf8_decode(text, &used), other = utf8_decode(words, &length);
        if (one != other && (one == UTF8_INVALID || (uint32_t)utf8proc_tolower((utf8proc_int32_t)one) != other))
            return 0;
        text = str_slice(text, used, text.len);
        words = str_slice(words, length, words.len);
    }
    return words.len ? 0 : from - text.len;
}

/* A quick look before same_letters: the first two letters, as far as they are of ASCII. */
static bool may_begin(struct str text, struct str words)
{
    return text.len >= 2 && ((unsigned char)text.data[0] >= 0x80 || (((text.data[0] ^ words.data[0]) & ~0x20) == 0 &&
                                                                     ((text.data[1] ^ words.data[1]) & ~0x20) == 0));
}

static struct str trim_wide(struct str text)
{
    text = str_trim(text);
    while (str_starts_with(text, STR("\u3000")))
        text = str_trim(str_slice(text, 3, text.len));
    return text;
}

/* What is behind a colon, or the stroke that stands for one; data NULL when there is none. */
static struct str behind_colon(struct str text)
{
    static const char *const colons[] = {":", "：", "／", "/", "｜"};
    text = trim_wide(text);
    for (size_t i = 0; i < sizeof colons / sizeof colons[0]; i++)
        if (str_starts_with(text, str_of(colons[i])))
            return trim_wide(str_slice(text, strlen(colons[i]), text.len));
    return (struct str){0};
}

enum meta_by meta_by(struct str text, struct str *name)
{
    enum meta_by best = BY_NONE;
    size_t most = 0;
    for (size_t i = 0; i < sizeof bys / sizeof bys[0]; i++) {
        size_t length = may_begin(text, bys[i].words) ? same_letters(text, bys[i].words) : 0;
        if (length <= most || length == text.len)
            continue;
        struct str rest = str_slice(text, length, text.len), behind = behind_colon(rest);
        bool blank = ascii_is_space(rest.data[0]) || str_starts_with(rest, STR("\u3000"));
        bool is_label = bys[i].kind == BY_LABEL || bys[i].kind == BY_TEXT;
        if (!behind.data && (!blank || bys[i].kind == BY_TEXT))
            continue;
        most = length;
        best = is_label && !behind.data ? BY_BARE_LABEL : bys[i].kind;
        *name = behind.data ? behind : trim_wide(rest);
    }
    return best;
}

enum meta_by meta_by_alone(struct str text)
{
    for (size_t i = 0; i < sizeof bys / sizeof bys[0] && text.len <= MAX_ALONE; i++) {
        if (text.len > bys[i].words.len + MAX_COLON || !may_begin(text, bys[i].words))
            continue;
        size_t length = same_letters(text, bys[i].words);
        struct str rest = str_slice(text, length, text.len), behind = behind_colon(rest);
        if (!length || (rest.len ? !behind.data || behind.len : bys[i].kind == BY_TEXT))
            continue;
        return bys[i].kind == BY_LABEL && !rest.len ? BY_BARE_LABEL : bys[i].kind;
    }
    return BY_NONE;
}

struct str meta_without_by(struct str name)
{
    struct str rest;
    enum meta_by by;
    while ((by = meta_by(name, &rest)) != BY_NONE) {
        bool english = str_starts_with_nocase(name, STR("by"));
        if (by == BY_WORD && !english && str_find_char(rest, ' ', 0) == STR_NONE)
            break; /* it begins a name: Von Trapp, Di Maria */
        name = rest;
    }
    return name;
}

/* ---- names ---- */

/* Names that systems write where nobody has one. */
static bool is_nobody(struct str name)
{
    static const char *const nobody[] = {
        "admin",         "administrator", "webmaster", "editor",     "guest",     "author",  "user",
        "unknown",       "anonymous",     "root",      "none",       "null",      "default", "undefined",
        "n/a",           "test",          "superuser", "super user", "by",        "false",   "true",
        "site",          "website",       "moderator", "wpadmin",    "login",     "log in",  "sign in",
        "admin admin",   "system",        "share",     "follow",     "read more", "authors", "staff",
        "администратор", "администрация", "anónimo",   "anonyme",    "anonym",    "anonimo", "аноним",
        "管理员",        "管理員",        "管理者",    "匿名",       "小编",      "관리자",  "익명",
        "المدير",        "مشرف"};
    for (size_t i = 0; i < sizeof nobody / sizeof nobody[0]; i++)
        if (str_equal_ascii_nocase(name, str_of(nobody[i])))
            return true;
    bool letter = false;
    size_t dots = 0;
    for (size_t i = 0; i < name.len; i++)
        dots += name.data[i] == '.';
    if (dots > 1 && str_find_char(name, ' ', 0) == STR_NONE) /* a place in somebody's template */
        return true;
    for (size_t i = 0; i < name.len; i++)
        letter |= ascii_is_alpha(name.data[i]) || (unsigned char)name.data[i] >= 0x80;
    return !letter;
}

static bool is_address(struct str name)
{
    return str_starts_with_nocase(name, STR("http")) || str_starts_with_nocase(name, STR("www.")) ||
           str_find(name, STR("://"), 0) != STR_NONE || str_starts_with(name, STR("/"));
}

static bool is_listed(struct str list, struct str name)
{
    size_t at = 0;
    while ((at = str_find_nocase(list, name, at)) != STR_NONE) {
        size_t end = at + name.len;
        if ((at == 0 || list.data[at - 1] == ' ') && (end == list.len || list.data[end] == ','))
            return true;
        at++;
    }
    return false;
}

void meta_add_author(struct str name, struct buf *list)
{
    static const char edge[] = " ,;|-\xC2\xB7";
    name = meta_without_by(str_trim(name));
    while (name.len && memchr(edge, name.data[name.len - 1], 5))
        name.len--;
    while (name.len && memchr(edge, name.data[0], 5))
        name = str_slice(name, 1, name.len);
    if (str_ends_with(name, STR(" 기자")))
        name = str_trim(str_slice(name, 0, name.len - strlen(" 기자")));
    if (name.len > 1 && name.data[0] == '@')
        name = str_slice(name, 1, name.len);
    if (!name.len || is_nobody(name) || is_address(name) || is_listed(buf_str(list), name))
        return;
    if (list->len)
        buf_add_text(list, ", ");
    buf_add(list, name);
}
