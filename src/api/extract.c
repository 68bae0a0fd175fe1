#include "api/extract.h"

#include <string.h>

#include "core/utf8.h"
#include "text/token_estimate.h"

static void put_known(json_t *object, const char *key, const char *value)
{
    json_put(object, key, value != NULL && value[0] != '\0' ? json_from_str(str_of(value)) : NULL);
}

static size_t count_characters(struct str text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += ((unsigned char)text.data[i] & 0xC0) != 0x80;
    return count;
}

json_t *extract_object(const struct reader_text *read, const struct extract_options *options, struct str text,
                       size_t bytes)
{
    json_t *object = json_object();
    struct str markdown = str_trim(buf_str(&read->markdown));
    if (options->input.len > 0)
        json_put_str(object, "input", options->input);
    json_put(object, "url", options->url.len > 0 ? json_from_str(options->url) : NULL);
    put_known(object, "title", read->title);
    put_known(object, "author", read->author);
    put_known(object, "date", read->date);
    put_known(object, "modified", read->modified);
    put_known(object, "site", read->site_name);
    put_known(object, "language", read->language);
    put_known(object, "canonical", read->canonical_url);
    put_known(object, "description", read->description);
    json_put_str(object, "kind", str_of(reader_kind_name(read->kind)));
    put_known(object, "charset", read->charset);
    json_put(object, "bytes", bytes > 0 ? json_integer((json_int_t)bytes) : NULL);
    json_put(object, "characters", json_integer((json_int_t)count_characters(markdown)));
    json_put(object, "tokens", json_integer(token_estimate_text(markdown)));
    json_put(object, "truncated", json_boolean(read->truncated));
    json_put_str(object, "markdown", markdown);
    json_put_str(object, "text", str_trim(text));
    return object;
}

/* The readers name what has no title by its file. */
static void forget_file_title(struct reader_text *text, struct str name)
{
    size_t slash = str_rfind_char(name, '/');
    struct str base = slash == STR_NONE ? name : str_slice(name, slash + 1, name.len);
    if (str_equal(str_of(text->title), base))
        text->title[0] = '\0';
}

static enum status read_bytes(struct str bytes, const struct extract_options *options, bool plain,
                              struct reader_text *out, struct error *error)
{
    bool web_page = options->name.len == 0 && options->content_type.len == 0;
    const struct reader_source source = {
        .bytes = bytes,
        .name = options->name,
        .content_type = web_page ? STR("text/html") : options->content_type,
        .url = options->url,
        .whole_page = options->whole_page,
        .drop_links = options->drop_links || plain,
        .comments = options->comments,
        .plain_text = plain,
        .max_bytes = EXTRACT_MAX_BYTES,
    };
    enum status status = reader_read(&source, out, error);
    if (status == STATUS_OK)
        forget_file_title(out, options->name);
    return status;
}

static enum status add_object(struct str bytes, const struct extract_options *options, const struct reader_text *read,
                              struct buf *out, struct error *error)
{
    struct reader_text plain;
    enum status status = read_bytes(bytes, options, true, &plain, error);
    if (status != STATUS_OK)
        return status;
    json_t *object = extract_object(read, options, buf_str(&plain.markdown), bytes.len);
    status = json_write(out, object);
    json_decref(object);
    reader_text_finish(&plain);
    return status;
}

enum status extract_page(struct str bytes, const struct extract_options *options, struct buf *out, bool *empty,
                         struct error *error)
{
    struct reader_text read;
    if (bytes.len > EXTRACT_MAX_BYTES)
        return error_set(error, STATUS_TOO_BIG, "it is larger than %zu MB", EXTRACT_MAX_BYTES >> 20);
    enum status status = read_bytes(bytes, options, options->format == EXTRACT_TEXT, &read, error);
    if (status != STATUS_OK)
        return status;
    struct str text = str_trim(buf_str(&read.markdown));
    if (empty != NULL)
        *empty = text.len == 0;
    if (options->format == EXTRACT_JSON)
        status = add_object(bytes, options, &read, out, error);
    else
        status = buf_append_str(out, text);
    if (status == STATUS_OK && (text.len > 0 || options->format == EXTRACT_JSON))
        status = buf_append_char(out, '\n');
    reader_text_finish(&read);
    return status;
}
