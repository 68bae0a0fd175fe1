/* The public API, through its own header alone. */
#include <fathom/fathom.h>

#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* A listening socket that takes connections and never answers. */
static int silent_server(char url[64])
{
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    assert_true(listener >= 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    snprintf(url, 64, "http://127.0.0.1:%d/v1", ntohs(address.sin_port));
    return listener;
}

static void count_event(void *user, const char *event)
{
    int *count = user;
    assert_int_equal(event[0], '{');
    assert_null(strchr(event, '\n'));
    (*count)++;
}

static void api__has_a_version(void **state)
{
    (void)state;
    int major, minor, patch;
    assert_int_equal(sscanf(fathom_version(), "%d.%d.%d", &major, &minor, &patch), 3);
}

static void api__refuses_wrong_options(void **state)
{
    (void)state;
    struct fathom *fathom = fathom_create();
    assert_int_equal(fathom_set(fathom, "modle", "x"), FATHOM_INVALID);
    assert_non_null(strstr(fathom_error(fathom), "did you mean model?"));
    assert_int_equal(fathom_set(fathom, "time-limit", "90"), FATHOM_INVALID);
    assert_non_null(strstr(fathom_error(fathom), "lacks a unit"));
    assert_int_equal(fathom_set(fathom, "time_limit", "90s"), FATHOM_OK);
    assert_string_equal(fathom_error(fathom), "");
    assert_int_equal(fathom_load_file(fathom, "/no/such/file.yaml"), FATHOM_INVALID);
    assert_non_null(strstr(fathom_error(fathom), "/no/such/file.yaml"));
    assert_int_equal(fathom_set(fathom, "model", "builtin"), FATHOM_OK);
    assert_int_equal(fathom_ask(fathom, "  \n", NULL, NULL), FATHOM_INVALID);
    assert_string_equal(fathom_error(fathom), "the question is empty");
    assert_null(fathom_result(fathom));
    assert_string_equal(fathom_prediction(fathom), "");
    assert_int_equal(fathom_set(fathom, "tools", "serach"), FATHOM_OK);
    assert_int_equal(fathom_ask(fathom, "why?", NULL, NULL), FATHOM_INVALID);
    assert_non_null(strstr(fathom_error(fathom), "did you mean search?"));
    fathom_destroy(fathom);
    fathom_destroy(NULL);
}

static void api__runs_and_gives_a_result(void **state)
{
    (void)state;
    struct fathom *fathom = fathom_create();
    assert_int_equal(fathom_set(fathom, "model", "builtin"), FATHOM_OK);
    for (int again = 0; again < 2; again++) {
        int events = 0;
        enum fathom_status status = fathom_ask(fathom, "What does vfork share?", count_event, &events);
        assert_true(status == FATHOM_OK || status == FATHOM_FAILED); /* it has nothing to search in */
        assert_true(events >= 2);
        assert_non_null(fathom_result(fathom));
        assert_non_null(strstr(fathom_result(fathom), "\"question\":\"What does vfork share?\""));
        assert_int_equal(fathom_prediction(fathom)[0] != '\0', status == FATHOM_OK);
        assert_int_equal(fathom_error(fathom)[0] != '\0', status == FATHOM_FAILED);
    }
    fathom_destroy(fathom);
}

static void keep_max_calls(void *user, const char *event)
{
    const char *found = strstr(event, "\"max_calls\":");
    if (found)
        *(int *)user = atoi(found + strlen("\"max_calls\":"));
}

static int max_calls_of(struct fathom *fathom)
{
    int max_calls = 0;
    assert_int_not_equal(fathom_ask(fathom, "why?", keep_max_calls, &max_calls), FATHOM_INVALID);
    return max_calls;
}

static void api__takes_the_environment_only_when_told_to(void **state)
{
    (void)state;
    struct fathom *fathom = fathom_create();
    assert_int_equal(fathom_set(fathom, "model", "builtin"), FATHOM_OK);
    setenv("FATHOM_MAX_CALLS", "7", 1);
    assert_int_equal(max_calls_of(fathom), 100);
    assert_int_equal(fathom_load_environment(fathom), FATHOM_OK);
    assert_int_equal(max_calls_of(fathom), 7);
    assert_int_equal(fathom_set(fathom, "max-calls", "5"), FATHOM_OK);
    assert_int_equal(max_calls_of(fathom), 5);
    setenv("FATHOM_MAX_CALLS", "many", 1);
    assert_int_equal(fathom_load_environment(fathom), FATHOM_INVALID);
    assert_non_null(strstr(fathom_error(fathom), "FATHOM_MAX_CALLS"));
    unsetenv("FATHOM_MAX_CALLS");
    fathom_destroy(fathom);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void *cancel_soon(void *fathom)
{
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    fathom_cancel(fathom);
    return NULL;
}

static void api__is_canceled_from_another_thread(void **state)
{
    (void)state;
    char url[64];
    int server = silent_server(url);
    struct fathom *fathom = fathom_create();
    assert_int_equal(fathom_set(fathom, "base-url", url), FATHOM_OK);
    assert_int_equal(fathom_set(fathom, "model", "m"), FATHOM_OK);
    pthread_t thread;
    double began = seconds();
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, fathom), 0);
    assert_int_equal(fathom_ask(fathom, "why?", NULL, NULL), FATHOM_INTERRUPTED);
    assert_true(seconds() - began < 2);
    assert_true(fathom_error(fathom)[0] != '\0');
    pthread_join(thread, NULL);

    fathom_cancel(fathom); /* none is under way: the next one ends */
    assert_int_equal(fathom_ask(fathom, "why?", NULL, NULL), FATHOM_INTERRUPTED);
    fathom_destroy(fathom);
    close(server);
}

static struct fathom *in_handler;

static void on_alarm(int signal_number)
{
    (void)signal_number;
    fathom_cancel(in_handler);
}

static void api__is_canceled_from_a_signal_handler(void **state)
{
    (void)state;
    char url[64];
    int server = silent_server(url);
    in_handler = fathom_create();
    assert_int_equal(fathom_set(in_handler, "base-url", url), FATHOM_OK);
    assert_int_equal(fathom_set(in_handler, "model", "m"), FATHOM_OK);
    struct sigaction action = {.sa_handler = on_alarm}, before;
    sigaction(SIGALRM, &action, &before);
    ualarm(100000, 0);
    assert_int_equal(fathom_ask(in_handler, "why?", NULL, NULL), FATHOM_INTERRUPTED);
    sigaction(SIGALRM, &before, NULL);
    fathom_destroy(in_handler);
    close(server);
}

static void api__parses_completions(void **state)
{
    (void)state;
    static const char text[] =
        "<think>look</think><tool_call>{\"name\": \"search\", \"arguments\": {\"query\": [\"a\"]}}"
        "</tool_call>";
    char *json = fathom_parse(text, sizeof text - 1);
    assert_non_null(json);
    assert_non_null(strstr(json, "\"think\":\"look\""));
    assert_non_null(strstr(json, "\"name\":\"search\""));
    fathom_free(json);
    json = fathom_parse("<answer>a\0\xFF</answer>", 20);
    assert_non_null(json);
    fathom_free(json);
    fathom_free(NULL);
}

static void api__extracts_pages(void **state)
{
    (void)state;
    static const char page[] =
        "<html><head><title>Tides</title></head><body><nav><a href=/>Home</a></nav><main><h1>Tides"
        "</h1><p>The sea rises twice a day, see <a href=moon>the moon</a> for why it does so.</p>"
        "</main></body></html>";
    const size_t length = sizeof page - 1;
    char *text = fathom_extract(page, length, "https://sea.example/a/", NULL, 0);
    assert_non_null(text);
    assert_non_null(strstr(text, "[the moon](https://sea.example/a/moon)"));
    assert_null(strstr(text, "Home"));
    fathom_free(text);
    text = fathom_extract(page, length, "https://sea.example/a/", NULL, FATHOM_EXTRACT_NO_LINKS);
    assert_non_null(strstr(text, "see the moon for"));
    fathom_free(text);
    text = fathom_extract(page, length, NULL, NULL, FATHOM_EXTRACT_WHOLE);
    assert_non_null(strstr(text, "Home"));
    fathom_free(text);
    text = fathom_extract(page, length, NULL, NULL, FATHOM_EXTRACT_JSON);
    assert_memory_equal(text, "{\"url\":null,\"title\":\"Tides\"", 27);
    fathom_free(text);
}

static void api__extracts_by_the_charset_of_the_header(void **state)
{
    (void)state;
    static const char page[] = "<p>\xCC\xF3\xE6 is a word of three letters.</p>";
    char *text = fathom_extract(page, sizeof page - 1, NULL, "text/html; charset=windows-1251", FATHOM_EXTRACT_TEXT);
    assert_string_equal(text, "\xD0\x9C\xD1\x83\xD0\xB6 is a word of three letters.\n");
    fathom_free(text);
}

static void api__refuses_what_is_no_page(void **state)
{
    (void)state;
    assert_null(fathom_extract("%PDF-1.4\n", 9, NULL, NULL, 0));
    assert_null(fathom_extract("<p>a", 4, NULL, NULL, 1u << 20));
    assert_null(fathom_extract("<p>a", 4, NULL, NULL, FATHOM_EXTRACT_TEXT | FATHOM_EXTRACT_JSON));
    char *text = fathom_extract("", 0, NULL, NULL, 0);
    assert_string_equal(text, "");
    fathom_free(text);
    text = fathom_extract("<p>a\0b\xFF</p>", 12, NULL, NULL, 0);
    assert_non_null(text);
    fathom_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(api__extracts_pages),
        cmocka_unit_test(api__extracts_by_the_charset_of_the_header),
        cmocka_unit_test(api__refuses_what_is_no_page),
        cmocka_unit_test(api__has_a_version),
        cmocka_unit_test(api__refuses_wrong_options),
        cmocka_unit_test(api__runs_and_gives_a_result),
        cmocka_unit_test(api__takes_the_environment_only_when_told_to),
        cmocka_unit_test(api__is_canceled_from_another_thread),
        cmocka_unit_test(api__is_canceled_from_a_signal_handler),
        cmocka_unit_test(api__parses_completions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
