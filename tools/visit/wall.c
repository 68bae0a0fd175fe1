/* Pages that hold nothing but a request: prove that you are a person, or switch JavaScript on. They come with any
 * status code, also 200, and a summary of one would be worth nothing. */
#include "tools/visit/internal.h"

#include <string.h>

/* A wall says little. What is longer is an article, which may well speak of such things. */
enum { LONGEST_WALL = 2500, LONGEST_SCRIPT_WALL = 900 };

/* In lower case. */
static const char *const proof_titles[] = {
    "just a moment",         "attention required! | cloudflare",
    "access denied",         "pardon our interruption",
    "are you a robot",       "robot check",
    "security check",        "ddos-guard",
    "please wait...",        "human verification",
    "bot verification",      "verifying you are human",
    "are you human",         "captcha",
    "403 forbidden",         "request blocked",
    "checking your browser",
};

static const char *const proof_marks[] = {
    "enable javascript and cookies to continue",
    "checking your browser before",
    "checking if the site connection is secure",
    "needs to review the security of your connection",
    "verify you are human",
    "verify that you are human",
    "verify you are a human",
    "verifying you are human",
    "verify that you're not a robot",
    "verify you are not a robot",
    "verifying that you are not a robot",
    "prove you're not a robot",
    "prove that you are not a robot",
    "confirm you are human",
    "confirm that you are human",
    "confirm you're not a robot",
    "confirm that you're not a robot",
    "please complete the security check",
    "complete the captcha",
    "solve the captcha",
    "solve this captcha",
    "unusual traffic from your computer network",
    "our systems have detected unusual traffic",
    "you have been blocked",
    "your access to this site has been limited",
    "requiring captcha",
    "making sure you're not a bot",
    "you don't have permission to access",
    "pardon our interruption",
    "press & hold to confirm",
    "ddos protection by",
    "performance & security by cloudflare",
    "请完成安全验证",
    "请完成验证",
    "请输入验证码",
    "安全验证",
};

static const char *const script_marks[] = {
    "enable javascript",
    "javascript is disabled",
    "javascript is not enabled",
    "javascript is required",
    "requires javascript",
    "turn on javascript",
    "javascript to be enabled",
    "javascript must be enabled",
    "need javascript",
    "without javascript",
    "doesn't work properly without javascript",
    "javascript enabled",
    "activate javascript",
    "javascript aktivieren",
    "activer javascript",
    "请启用javascript",
    "请开启javascript",
    "启用 javascript",
    "javascriptを有効",
};

static bool holds_any(struct str text, const char *const *marks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (str_find_nocase(text, str_of(marks[i]), 0) != STR_NONE)
            return true;
    }
    return false;
}

/* Whether a title is one of these, perhaps with the site's name behind it: "Access denied | e.example". */
static bool is_any(struct str title, const char *const *marks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct str mark = str_of(marks[i]), rest = str_trim(str_slice(title, mark.len, title.len));
        if (str_starts_with_nocase(title, mark) && (rest.len == 0 || strchr(".!?|-", rest.data[0])))
            return true;
    }
    return false;
}

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

enum visit_wall visit_wall_find(struct str title, struct str text)
{
    text = str_trim(text);
    if (text.len > LONGEST_WALL)
        return VISIT_WALL_NONE;
    bool proof = holds_any(text, proof_marks, COUNT(proof_marks));
    bool titled = is_any(str_trim(title), proof_titles, COUNT(proof_titles));
    /* A title alone is enough only where hardly anything stands below it. */
    if ((proof && (titled || text.len <= LONGEST_SCRIPT_WALL)) || (titled && text.len <= LONGEST_SCRIPT_WALL / 3))
        return VISIT_WALL_PROOF;
    if (text.len <= LONGEST_SCRIPT_WALL && holds_any(text, script_marks, COUNT(script_marks)))
        return VISIT_WALL_SCRIPTS;
    return VISIT_WALL_NONE;
}
