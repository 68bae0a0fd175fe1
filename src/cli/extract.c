/* src/cli/extract.c: fathom extract, what pages say. */
#include "api/extract.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/option.h"
#include "cli/cli.h"
#include "cli/one_call.h"
#include "cli/text_input.h"
#include "core/mem.h"
#include "net/url.h"
#include "text/charset.h"

/* As many as visit reads in one call. */
#define MAX_ADDRESSES 20

/* One argument: an address, whose page is fetched with the others first, or a file. */
struct input {
    const char *name; /* as it was given */
    bool is_address;
    struct buf output; /* of an address */
    char *problem;     /* NULL where it has none */
};

struct extraction {
    struct cli *cli;
    struct extract_options options;
    char *content_type; /* of files, where --charset says something */
    struct input *inputs;
    size_t n_inputs;
};

static const struct cli_option options[] = {
    {.name = "format", .letter = 'f', .argument = "FORMAT", .help = "markdown (the default), text or json"},
    {.name = "url", .argument = "BASE", .help = "where a file's page stands, for its links"},
    {.name = "charset", .argument = "NAME", .help = "a file's character set, in place of the one that it shows"},
    {.name = "comments", .help = "what readers wrote below an article, too"},
    {.name = "whole", .help = "all that is to be seen, not the main part alone"},
    {.name = "no-links", .help = "the text of links without their addresses"},
};

/* ---- options ---- */

static bool read_format(struct extraction *extraction)
{
    static const char *const names[] = {"markdown", "text", "json"};
    const struct cli *cli = extraction->cli;
    const char *format = cli_option(cli, "format");
    if (format == NULL)
        format = cli->json ? "json" : "markdown";
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(format, names[i]) == 0) {
            extraction->options.format = (enum extract_format)i;
            if (!cli->json || extraction->options.format == EXTRACT_JSON)
                return true;
            cli_wrong_usage(cli, "--json and --format %s exclude each other", format);
            return false;
        }
    }
    cli_wrong_usage(cli, "--format is markdown, text or json, not \"%s\"", format);
    return false;
}

static bool read_base(struct extraction *extraction)
{
    const char *base = cli_option(extraction->cli, "url");
    struct url parts = {0};
    if (base == NULL)
        return true;
    bool web = url_parse(str_of(base), &parts, NULL) == STATUS_OK &&
               (str_equal(str_of(parts.scheme), STR("http")) || str_equal(str_of(parts.scheme), STR("https")));
    url_finish(&parts);
    if (!web) {
        cli_wrong_usage(extraction->cli, "--url takes an address that begins with http:// or https://");
        return false;
    }
    extraction->options.url = str_of(base);
    return true;
}

static bool read_charset(struct extraction *extraction)
{
    const char *name = cli_option(extraction->cli, "charset");
    if (name == NULL)
        return true;
    if (charset_of_label(str_of(name)) == NULL) {
        cli_wrong_usage(extraction->cli, "there is no character set \"%s\"", name);
        return false;
    }
    extraction->content_type = mem_printf("text/html; charset=%s", name);
    return true;
}

static bool read_options(struct extraction *extraction)
{
    const struct cli *cli = extraction->cli;
    extraction->options.comments = cli_option(cli, "comments") != NULL;
    extraction->options.whole_page = cli_option(cli, "whole") != NULL;
    extraction->options.drop_links = cli_option(cli, "no-links") != NULL;
    return read_format(extraction) && read_base(extraction) && read_charset(extraction);
}

static bool is_address(const char *argument)
{
    return strstr(argument, "://") != NULL;
}

/* False after having said what is wrong. */
static bool take_inputs(struct extraction *extraction)
{
    struct cli *cli = extraction->cli;
    size_t addresses = 0;
    bool empty = false;
    extraction->inputs = mem_calloc(cli->n_arguments, sizeof *extraction->inputs);
    extraction->n_inputs = cli->n_arguments;
    for (size_t i = 0; i < cli->n_arguments; i++) {
        struct input *input = &extraction->inputs[i];
        input->name = cli->arguments[i];
        input->is_address = is_address(input->name);
        addresses += input->is_address;
        empty |= input->name[0] == '\0';
        buf_init(&input->output, BUF_UNBOUNDED);
    }
    if (empty)
        cli_wrong_usage(cli, "an input has no name");
    else if (addresses > MAX_ADDRESSES)
        cli_wrong_usage(cli, "at most %d addresses at once", MAX_ADDRESSES);
    else if (addresses > 0 && (cli_option(cli, "url") != NULL || cli_option(cli, "charset") != NULL))
        cli_wrong_usage(cli, "--url and --charset are for files: a server says both");
    else
        return true;
    return false;
}

/* ---- what came of an input ---- */

static bool is_json(const struct extraction *extraction)
{
    return extraction->options.format == EXTRACT_JSON;
}

static bool show(const struct extraction *extraction, const struct input *input, struct str output)
{
    if (extraction->n_inputs > 1 && !is_json(extraction))
        cli_print("%s==> %s <==\n", input == extraction->inputs ? "" : "\n", input->name);
    cli_print_text(output);
    return true;
}

/* In JSON each input has its line, also one that could not be read. */
static void show_error(const struct extraction *extraction, const struct input *input, const char *problem)
{
    if (!is_json(extraction))
        return;
    json_t *object = json_object();
    json_put_str(object, "input", str_of(input->name));
    json_put_str(object, "error", str_of(problem));
    cli_print_json(object);
    json_decref(object);
}

static bool show_problem(const struct extraction *extraction, const struct input *input, const char *problem)
{
    show_error(extraction, input, problem);
    cli_fail(extraction->cli, "%s: %s", strcmp(input->name, "-") == 0 ? "standard input" : input->name, problem);
    return false;
}

/* ---- files ---- */

/* A document that takes a confined process is the business of another command. */
static char *describe_refusal(const struct input *input, enum reader_kind kind, const char *message)
{
    const char *name = strcmp(input->name, "-") == 0 ? "FILE" : input->name;
    if (kind == READER_ARCHIVE || (kind >= READER_PDF && kind <= READER_OFFICE))
        return mem_printf("it is no web page but a file of the kind \"%s\": fathom read %s", reader_kind_name(kind),
                          name);
    return mem_strdup(message);
}

static char *extract_file(const struct extraction *extraction, const struct input *input, struct str bytes,
                          struct buf *output)
{
    struct extract_options chosen = extraction->options;
    struct error error = {0};
    bool empty = false;
    chosen.input = str_of(input->name);
    if (extraction->content_type != NULL)
        chosen.content_type = str_of(extraction->content_type);
    if (strcmp(input->name, "-") != 0)
        chosen.name = str_of(input->name);
    if (bytes.len == 0)
        return mem_strdup("it is empty");
    enum status status = extract_page(bytes, &chosen, output, &empty, &error);
    if (status == STATUS_UNSUPPORTED)
        return describe_refusal(input, reader_kind_of(bytes, chosen.name, STR("")), error.message);
    if (status != STATUS_OK)
        return mem_strdup(error.message);
    return empty ? mem_strdup("it holds no text") : NULL;
}

/* "example.org/page" where no such file is: who types that means the web. */
static bool resembles_address(const char *name)
{
    struct str host = str_slice(str_of(name), 0, strcspn(name, "/"));
    size_t dot = str_find_char(host, '.', 0);
    bool named_page = str_ends_with(host, STR(".html")) || str_ends_with(host, STR(".htm"));
    return access(name, F_OK) != 0 && dot != STR_NONE && dot > 0 && dot + 1 < host.len && !named_page;
}

static bool do_file(const struct extraction *extraction, const struct input *input)
{
    struct text_input file;
    struct buf output;
    if (!text_input_open(extraction->cli, input->name, EXTRACT_MAX_BYTES, &file)) {
        show_error(extraction, input, "it cannot be opened or read");
        if (resembles_address(input->name))
            cli_say(extraction->cli, "If an address is meant: fathom extract https://%s", input->name);
        return false;
    }
    buf_init(&output, BUF_UNBOUNDED);
    char *problem = extract_file(extraction, input, file.text, &output);
    bool worked =
        problem == NULL ? show(extraction, input, buf_str(&output)) : show_problem(extraction, input, problem);
    free(problem);
    buf_finish(&output);
    text_input_close(&file);
    return worked;
}

/* ---- addresses ---- */

/* What visit has made Markdown of already: a document, or what another reader gave. */
static void take_markdown(const struct extraction *extraction, struct input *input, const struct visit_taken *page)
{
    if (!is_json(extraction)) {
        buf_add(&input->output, str_trim(page->text));
        buf_add_char(&input->output, '\n');
        return;
    }
    struct reader_text read = {.kind = READER_MARKDOWN,
                               .title = str_dup(page->title),
                               .author = str_dup(page->author),
                               .date = str_dup(page->date),
                               .truncated = page->truncated};
    buf_init(&read.markdown, BUF_UNBOUNDED);
    buf_add(&read.markdown, page->text);
    const struct extract_options chosen = {.input = str_of(input->name),
                                           .url = page->base_url.len > 0 ? page->base_url : page->url};
    json_t *object = extract_object(&read, &chosen, page->text, 0);
    if (json_write(&input->output, object) != STATUS_OK)
        abort(); /* an unbounded buffer cannot refuse */
    buf_add_char(&input->output, '\n');
    json_decref(object);
    reader_text_finish(&read);
}

static void take_body(const struct extraction *extraction, struct input *input, const struct visit_taken *page)
{
    struct extract_options chosen = extraction->options;
    struct error error = {0};
    struct url parts = {0};
    bool empty = false;
    if (url_parse(page->base_url, &parts, NULL) != STATUS_OK)
        parts = (struct url){0};
    chosen.input = str_of(input->name);
    chosen.name = str_of(parts.path);
    chosen.content_type = page->content_type;
    chosen.url = page->base_url;
    if (extract_page(page->body, &chosen, &input->output, &empty, &error) != STATUS_OK)
        input->problem = mem_strdup(error.message);
    else if (empty)
        input->problem = mem_strdup("it holds no text");
    url_finish(&parts);
}

static void on_page(void *user, const struct visit_taken *page)
{
    struct extraction *extraction = user;
    struct input *input = extraction->inputs;
    size_t index = page->index;
    while (!input->is_address || index-- > 0)
        input++;
    if (page->problem != NULL)
        input->problem = mem_strdup(page->problem);
    else if (page->body.len > 0)
        take_body(extraction, input, page);
    else
        take_markdown(extraction, input, page);
    if (page->problem == NULL && page->truncated)
        cli_say(extraction->cli, "%s: it is longer than what was read of it.", input->name);
}

/* Fetches all addresses at once, as visit does. Returns what ends the command, or CLI_OK. */
static int fetch(struct extraction *extraction)
{
    json_t *arguments = json_object(), *addresses = json_array();
    for (size_t i = 0; i < extraction->n_inputs; i++) {
        if (extraction->inputs[i].is_address)
            json_push(addresses, json_from_str(str_of(extraction->inputs[i].name)));
    }
    bool any = json_array_size(addresses) > 0;
    json_put(arguments, "url", addresses);
    json_put_str(arguments, "goal", STR("its text"));
    if (!any) {
        json_decref(arguments);
        return CLI_OK;
    }
    int code = one_call_pages(extraction->cli, arguments, on_page, extraction);
    return code == CLI_FAILED ? CLI_OK : code; /* which of them failed is said with each */
}

static bool do_address(const struct extraction *extraction, const struct input *input)
{
    if (input->problem != NULL)
        return show_problem(extraction, input, input->problem);
    if (input->output.len == 0)
        return show_problem(extraction, input, "it is the page of another address that was given");
    return show(extraction, input, buf_str(&input->output));
}

/* ---- the command ---- */

static int run(struct cli *cli)
{
    struct extraction extraction = {.cli = cli};
    int code = read_options(&extraction) && take_inputs(&extraction) ? fetch(&extraction) : CLI_USAGE;
    for (size_t i = 0; i < extraction.n_inputs && code != CLI_USAGE && code != CLI_INTERRUPTED; i++) {
        const struct input *input = &extraction.inputs[i];
        if (!(input->is_address ? do_address(&extraction, input) : do_file(&extraction, input)))
            code = CLI_FAILED;
    }
    for (size_t i = 0; i < extraction.n_inputs; i++) {
        buf_finish(&extraction.inputs[i].output);
        free(extraction.inputs[i].problem);
    }
    free(extraction.inputs);
    free(extraction.content_type);
    return code;
}

const struct cli_command cli_extract = {
    .name = "extract",
    .arguments = "FILE|URL|-\xE2\x80\xA6",
    .summary = "Print the main text of web pages as Markdown, text or JSON",
    .about =
        "What a page is about is kept: headings, paragraphs, lists, tables, code, quotes, formulas, footnotes. "
        "Navigation, banners, advertisements, links to other pages and everything hidden is left out, and so are "
        "comments unless they are asked for. Pages are fetched as visit fetches them; feeds, tables and other text "
        "are read too, and documents (PDF, office files) where an address leads to one: for files of these kinds there "
        "is fathom read.\n\n"
        "A line \"==> NAME <==\" stands before each of several texts. With --format json each page is one line: "
        "{\"input\", \"url\", \"title\", \"author\", \"date\", \"modified\", \"site\", \"language\", \"canonical\", "
        "\"description\", "
        "\"kind\", "
        "\"charset\", \"bytes\", \"characters\", \"tokens\", \"truncated\", \"markdown\", \"text\"}, or {\"input\", "
        "\"error\"}. The exit code is "
        "1 when one of them could not be read, or holds no text.",
    .examples = "  fathom extract https://example.org/\n"
                "  curl -s https://example.org/ | fathom extract - --url https://example.org/ --format text\n"
                "  fathom extract --format json saved/*.html > pages.jsonl",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .groups = OPTION_GROUP_TOOLS | OPTION_GROUP_NETWORK,
    .min_arguments = 1,
    .max_arguments = SIZE_MAX,
    .run = run,
};
