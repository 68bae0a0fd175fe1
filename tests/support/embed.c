/* A program that embeds Fathom, built by .ci/check-install as C and as C++ against the installed library alone. */
#include <fathom/fathom.h>

#include <stdio.h>
#include <string.h>

static void on_event(void *user, const char *event)
{
    int *count = (int *)user;
    (*count)++;
    fprintf(stderr, "%s\n", event);
}

int main(void)
{
    static const char completion[] = "<think>easy</think><answer>42</answer>";
    struct fathom *fathom = fathom_create();
    int events = 0, code = 1;
    if (fathom_set(fathom, "model", "builtin") != FATHOM_OK || fathom_set(fathom, "max-calls", "3") != FATHOM_OK ||
        fathom_set(fathom, "tools", "none") != FATHOM_OK) {
        fprintf(stderr, "%s\n", fathom_error(fathom));
        fathom_destroy(fathom);
        return code;
    }
    enum fathom_status status = fathom_ask(fathom, "What is the answer?", on_event, &events);
    printf("fathom %s, status %d, %d events\n%s\n", fathom_version(), (int)status, events, fathom_prediction(fathom));
    char *parsed = fathom_parse(completion, sizeof completion - 1);
    if (events > 0 && fathom_result(fathom) != NULL && parsed != NULL && strstr(parsed, "\"42\"") != NULL)
        code = 0;
    fathom_free(parsed);
    static const char page[] = "<title>Tides</title><h1>Tides</h1><p>The sea rises twice a day.</p>";
    char *markdown = fathom_extract(page, sizeof page - 1, "https://sea.example/", NULL, 0);
    if (markdown == NULL || strstr(markdown, "The sea rises twice a day.") == NULL)
        code = 1;
    fathom_free(markdown);
    fathom_destroy(fathom);
    return code;
}
