/* One file, from its name to its text. */
#include "core/mem.h"
#include "protocol/profile.h"
#include "tools/parse_file/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD_BYTES ((size_t)65536)

/* What models take of an image in one request. */
#define MAX_IMAGE_BYTES ((int64_t)20 * 1024 * 1024)

/* ---- finding it ---- */

/* The forms of images that models take. */
static const char *image_type(struct str head)
{
    static const struct {
        struct str magic;
        const char *type;
    } types[] = {
        {STR("\x89PNG\r\n\x1A\n"), "image/png"}, {STR("\xFF\xD8\xFF"), "image/jpeg"}, {STR("GIF8"), "image/gif"}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (str_starts_with(head, types[i].magic))
            return types[i].type;
    bool webp = str_starts_with(head, STR("RIFF")) && str_equal(str_slice(head, 8, 12), STR("WEBP"));
    return webp ? "image/webp" : NULL;
}

static bool is_address(struct str given)
{
    return str_starts_with_nocase(given, STR("http://")) || str_starts_with_nocase(given, STR("https://"));
}

static void look_at_head(struct opened_file *opening)
{
    char *bytes = mem_alloc(HEAD_BYTES);
    ssize_t count = pread(opening->file.descriptor, bytes, HEAD_BYTES, 0);
    struct str head = str_make(bytes, count > 0 ? (size_t)count : 0);
    if (count < 0)
        opening->status = error_set(&opening->error, STATUS_IO, "it cannot be read (%s)", strerror(errno));
    opening->kind = reader_kind_of(head, str_of(opening->file.name), (struct str){0});
    opening->media_type = image_type(head);
    opening->seeks = str_equal(str_slice(head, 4, 8), STR("ftyp"));
    free(bytes);
}

static void open_job(void *user)
{
    struct parse_item *item = user;
    struct opened_file *opening = &item->opening;
    const struct files *files = item->call->tool->files;
    struct str name, given = str_trim(item->given);
    opening->is_address = is_address(given);
    if (opening->is_address)
        return;
    opening->bad_selector = !selector_split(given, &name, &opening->selector);
    /* A name may hold a "#" itself. */
    opening->status = STATUS_NOT_FOUND;
    if (name.len < given.len)
        opening->status = files_open(files, given, &opening->file, &opening->error);
    if (opening->status == STATUS_OK)
        opening->selector = (struct selector){.kind = SELECT_ALL};
    else
        opening->status = files_open(files, name, &opening->file, &opening->error);
    if (opening->status == STATUS_OK)
        look_at_head(opening);
}

/* ---- its text ---- */

static void pick_job(void *user)
{
    struct parse_item *item = user;
    const struct parse_call *call = item->call;
    if (!item->text)
        file_text_measure(&item->fresh, call->tool->file_tokens);
    select_text(item->text ? cached_text(item->text) : &item->fresh, &item->opened.selector, tool_question(call->run),
                call->budget, &item->selection);
}

static void on_picked(void *user)
{
    struct parse_item *item = user;
    if (parse_item_over(item))
        return;
    if (!item->text)
        item->text = text_cache_put(item->call->tool->cache, &item->opened.file, &item->fresh);
    parse_item_done(item);
}

void parse_item_text(struct parse_item *item)
{
    item->state = ITEM_PICKING;
    tool_work(item->call->run, pick_job, on_picked, item);
}

void parse_item_hurry(struct parse_item *item)
{
    if (item->state == ITEM_READING && item->sound && sound_take(item, false)) {
        file_text_measure(&item->fresh, item->call->tool->file_tokens);
        item->text = cached_text_alone(&item->fresh);
        select_text(cached_text(item->text), &item->opened.selector, tool_question(item->call->run), item->call->budget,
                    &item->selection);
        parse_item_done(item);
        return;
    }
    parse_item_failed(item, NULL, "there was no time left for it; ask for fewer files at once.");
}

/* ---- by the worker ---- */

static char *copy_of(struct str text)
{
    return text.len > 0 ? str_dup(text) : NULL;
}

static void take_document(struct file_text *text, struct document_result *result, enum reader_kind kind)
{
    *text = (struct file_text){.kind = kind,
                               .title = copy_of(result->title),
                               .author = copy_of(result->author),
                               .date = copy_of(result->date),
                               .notice = copy_of(result->notice),
                               .markdown = result->markdown,
                               .sections = mem_calloc(result->n_sections, sizeof *text->sections),
                               .n_sections = result->n_sections,
                               .pages = result->pages,
                               .truncated = result->truncated};
    result->markdown = (struct buf){0};
    for (size_t i = 0; i < result->n_sections; i++) {
        text->sections[i] = result->sections[i];
        text->sections[i].title = mem_strdup(result->sections[i].title);
    }
}

/* A sentence of another's as the problem. */
static void fail_with(struct parse_item *item, const char *detail, const char *message)
{
    size_t length = strlen(message);
    bool ends = length > 0 && strchr(".?!", message[length - 1]);
    parse_item_failed(item, detail, "%s%s", message, ends ? "" : ".");
}

static void on_document(void *user, struct document_result *result)
{
    struct parse_item *item = user;
    if (parse_item_over(item))
        return;
    if (result->status == STATUS_OK) {
        take_document(&item->fresh, result, result->kind ? *result->kind : item->opened.kind);
        parse_item_text(item);
        return;
    }
    const char *message = result->error.message;
    char *detail = result->detail.len > 0 ? mem_printf("%s (%.*s)", message, STR_ARG(result->detail)) : NULL;
    fail_with(item, detail, message);
    free(detail);
}

static void read_document(struct parse_item *item)
{
    int64_t left = tool_time_left_ms(item->call->run);
    const struct document_request request = {
        .descriptor = item->opened.file.descriptor,
        .name = str_of(item->opened.file.name),
        .whole_page = true,
        .timeout_ms = left > 5000 ? left - 4000 : left,
    };
    item->state = ITEM_READING;
    tool_document(item->call->run, item->call->tool->documents, &request, on_document, item);
}

/* ---- by the vision model ---- */

/* The image goes to the worker after all, which may recognize its text. */
static void look_without_model(struct parse_item *item, const char *why)
{
    tool_report_notice(item->call->run, "%s: the vision model could not be asked: %s", item->opened.file.name, why);
    free(item->remark);
    item->remark = mem_strdup("No model looked at this image; what stands here is the text that was recognized in it.");
    buf_finish(&item->bytes);
    read_document(item);
}

static void on_seen(void *user, const struct tool_completion *completion)
{
    struct parse_item *item = user;
    if (parse_item_over(item))
        return;
    if (completion->status != STATUS_OK || completion->text.len == 0) {
        look_without_model(item, completion->error ? completion->error->message : "it said nothing");
        return;
    }
    item->fresh = (struct file_text){.kind = item->opened.kind, .truncated = completion->cut};
    buf_init(&item->fresh.markdown, BUF_UNBOUNDED);
    buf_add(&item->fresh.markdown, completion->text);
    item->fresh.notice = mem_strdup("A model that sees images describes it thus.");
    parse_item_text(item);
}

static void on_image(void *user)
{
    struct parse_item *item = user;
    if (parse_item_over(item))
        return;
    if (item->bytes_status != STATUS_OK) {
        look_without_model(item, "the image could not be read");
        return;
    }
    struct buf prompt;
    buf_init(&prompt, BUF_UNBOUNDED);
    struct str question = tool_question(item->call->run);
    const struct prompt_value values[] = {
        {.name = "name", .text = str_of(item->opened.file.name)},
        {.name = "question", .text = question.len > 0 ? question : STR("(What does the image show?)")}};
    if (profile_render(tool_profile(item->call->run), PROMPT_IMAGE_TEXT, values, 2, &prompt) != STATUS_OK)
        abort(); /* the buffer has no cap */
    const struct tool_image image = {buf_str(&item->bytes), str_of(item->opened.media_type)};
    tool_see(item->call->run, buf_str(&prompt), &image, on_seen, item);
    buf_finish(&prompt);
}

static void load_image(void *user)
{
    struct parse_item *item = user;
    size_t size = (size_t)item->opened.file.size;
    buf_init(&item->bytes, size);
    char *place = size > 0 ? buf_reserve(&item->bytes, size) : NULL;
    ssize_t count = place ? pread(item->opened.file.descriptor, place, size, 0) : -1;
    if (count > 0)
        buf_commit(&item->bytes, (size_t)count);
    item->bytes_status = count == (ssize_t)size ? STATUS_OK : STATUS_IO;
}

static void look(struct parse_item *item)
{
    item->state = ITEM_READING;
    item->bytes_status = STATUS_CANCELED;
    tool_work(item->call->run, load_image, on_image, item);
}

/* ---- which way ---- */

static void refuse(struct parse_item *item)
{
    const struct opened_file *opened = &item->opened;
    if (opened->is_address) {
        parse_item_failed(item, NULL,
                          "it is a web address; the tool visit reads those, parse_file reads only files "
                          "that came with the question.");
        return;
    }
    item->lists = opened->status != STATUS_IO;
    fail_with(item, NULL, opened->error.message);
}

static bool is_read_already(const struct parse_item *item)
{
    const struct parse_call *call = item->call;
    for (size_t i = 0; i < call->n_items; i++) {
        const struct parse_item *other = &call->items[i];
        bool same = other->opened.file.name && other->opened.file.inode == item->opened.file.inode &&
                    other->opened.file.device == item->opened.file.device;
        if (other != item && same && (other->state == ITEM_READING || other->state == ITEM_PICKING))
            return true;
    }
    return false;
}

static void read_somehow(struct parse_item *item)
{
    struct tool_run *run = item->call->run;
    enum reader_kind kind = item->opened.kind;
    if (kind == READER_AUDIO || kind == READER_VIDEO) {
        if (tool_can_transcribe(run))
            parse_item_listen(item);
        else
            parse_item_failed(item, "sound needs a transcription service: --transcription-model NAME",
                              "it is %s, and nothing in this run can transcribe what is said in it.",
                              kind == READER_AUDIO ? "sound" : "a film");
    } else if (kind == READER_IMAGE && tool_can_see(run) && item->opened.media_type &&
               item->opened.file.size <= MAX_IMAGE_BYTES) {
        look(item);
    } else {
        read_document(item);
    }
}

static void on_opened(void *user)
{
    struct parse_item *item = user;
    if (parse_item_over(item))
        return;
    item->opened = item->opening;
    item->opening = (struct opened_file){0};
    if (item->opened.is_address || item->opened.status != STATUS_OK) {
        refuse(item);
        return;
    }
    if (item->opened.bad_selector) {
        parse_item_failed(item, NULL,
                          "what stands behind \"#\" is not understood; write #part=2, #page=3-5 or #section=TITLE.");
        return;
    }
    item->text = text_cache_find(item->call->tool->cache, &item->opened.file);
    if (item->text)
        parse_item_text(item);
    else if (is_read_already(item))
        item->state = ITEM_WAITING;
    else
        read_somehow(item);
}

void parse_item_start(struct parse_item *item)
{
    found_file_finish(&item->opened.file);
    item->state = ITEM_OPENING;
    item->opening.status = STATUS_CANCELED; /* unless the job runs */
    tool_work(item->call->run, open_job, on_opened, item);
}
