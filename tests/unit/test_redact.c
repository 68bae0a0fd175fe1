#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/mem.h"
#include "engine/redact.h"

#include <stdlib.h>

static const char *const secrets[] = {"sk-key", "sk-key-12345", "sk-key-12345-longer", "a+b/c=d&e", NULL, "short"};
static const char *const places[] = {"/data/my project", "searcher", "/", NULL, "/data/run"};

static struct redaction *create(void)
{
    return redaction_create(secrets, sizeof secrets / sizeof secrets[0], places, sizeof places / sizeof places[0]);
}

static void redact__secrets(void **state)
{
    (void)state;
    static const struct {
        const char *text, *redacted;
    } cases[] = {
        {"", ""},
        {"nothing to hide", "nothing to hide"},
        {"sk-key-12345", "[removed]"},
        {"a sk-key-12345-longer, sk-key-12345 and sk-key-1234", "a [removed], [removed] and sk-key-1234"},
        {"?api_key=a%2Bb%2Fc%3Dd%26e&x=1", "?api_key=[removed]&x=1"},
        {"got a+b/c=d&e", "got [removed]"},
        {"short", "short"},
        {"sk-key-12345sk-key-12345", "[removed][removed]"},
    };
    struct redaction *redaction = create();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf copy;
        buf_init(&copy, BUF_UNBOUNDED);
        char *text = str_dup(redact_secrets(redaction, str_of(cases[i].text), &copy));
        assert_string_equal(text, cases[i].redacted);
        free(text);
        buf_finish(&copy);
    }
    redaction_destroy(redaction);
    redaction_destroy(NULL);
}

#define A "[internal address]"
#define P "[local path]"

static void redact__places(void **state)
{
    (void)state;
    static const struct {
        const char *text, *redacted;
    } cases[] = {
        {"", ""},
        {"nothing: to hide/or 3.5 of 1.2.3", "nothing: to hide/or 3.5 of 1.2.3"},
        /* addresses */
        {"127.0.0.1", A},
        {"127.0.0.1:8080 refused, 10.1.2.3.", A " refused, " A "."},
        {"http://192.168.1.9:9200/index failed", "http://" A "/index failed"},
        {"at 169.254.169.254/latest", "at " A "/latest"},
        {"the public 93.184.216.34:80 stays", "the public 93.184.216.34:80 stays"},
        {"version 127.0.0.1.5 and 1127.0.0.1 and x127.0.0.1 are none",
         "version 127.0.0.1.5 and 1127.0.0.1 and x127.0.0.1 are none"},
        {"http://[::1]:80/ and [fe80::1%eth0] and ::1", "http://" A "/ and " A " and " A},
        {"fd00::17, ::ffff:10.0.0.1; [2606:4700::6810]", A ", " A "; [2606:4700::6810]"},
        {"at 16:46:32 add::x std::string, 12:30", "at 16:46:32 add::x std::string, 12:30"},
        {"[removed] [1] [x", "[removed] [1] [x"},
        /* names */
        {"localhost:8888 and LOCALHOST, not localhosts", A " and " A ", not localhosts"},
        {"http://searx.lan/search by db.corp.internal.", "http://" A "/search by " A "."},
        {"the local news at home.example.org, internal matters",
         "the local news at home.example.org, internal matters"},
        {"searcher:80, http://searcher/x but researcher, searcher.example and a searcher",
         A ", http://" A "/x but researcher, searcher.example and a searcher"},
        /* paths */
        {"cannot read /home/me/x.db: no", "cannot read " P " no"},
        {"\"/etc/passwd\" and '/tmp/a b'", "\"" P "\" and '" P " b'"},
        {"file:///srv/x (file:///y)", P " (" P ")"},
        {"/data/my project/corpus.db, /data/my projects, /data/run", P ", /data/my projects, " P},
        {"https://example.org/home/me and a/etc/b", "https://example.org/home/me and a/etc/b"},
        {"POST /v1/chat/completions", "POST /v1/chat/completions"},
        {"key=/var/lib/x", "key=" P},
    };
    struct redaction *redaction = create();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out;
        buf_init(&out, BUF_UNBOUNDED);
        redact_places(redaction, str_of(cases[i].text), &out);
        assert_string_equal(out.data ? out.data : "", cases[i].redacted);
        buf_finish(&out);
    }
    redaction_destroy(redaction);
}

/* Long runs of what addresses are made of cost no more than other text. */
static void redact__is_linear(void **state)
{
    (void)state;
    static const char *const pieces[] = {"1", ".", ":", "[", "a", "/", "::", "f:", "/tmp", "localhost"};
    struct redaction *redaction = create();
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        struct buf text, out;
        buf_init(&text, BUF_UNBOUNDED);
        buf_init(&out, BUF_UNBOUNDED);
        for (int j = 0; j < 300000; j++)
            buf_add_text(&text, pieces[i]);
        redact_places(redaction, buf_str(&text), &out);
        assert_true(out.len <= text.len + 32);
        buf_finish(&text);
        buf_finish(&out);
    }
    redaction_destroy(redaction);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(redact__secrets),
        cmocka_unit_test(redact__places),
        cmocka_unit_test(redact__is_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
