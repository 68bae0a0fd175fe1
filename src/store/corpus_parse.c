/* One file to documents ready to be written. The costly half of indexing; runs on several threads at once. */
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/file.h"
#include "core/json.h"
#include "core/mem.h"
#include "core/utf8.h"
#include "store/corpus_internal.h"
#include "text/passages.h"
#include "text/words.h"

#define MAX_PASSAGES ((size_t)1 << PASSAGE_BITS)

char *corpus_terms(struct str text, size_t *count)
{
    struct buf terms;
    buf_init(&terms, BUF_UNBOUNDED);
    struct words words;
    struct word word;
    words_init(&words, text);
    while (words_next(&words, &word)) {
        if (terms.len)
            buf_add_char(&terms, ' ');
        buf_add(&terms, str_make(word.term, word.length));
        ++*count;
    }
    return buf_take(&terms);
}

static void deflate_text(struct str text, struct buf *out)
{
    uLong bound = compressBound((uLong)text.len);
    buf_init(out, BUF_UNBOUNDED);
    uLongf written = bound;
    char *end = buf_reserve(out, bound);
    if (compress2((Bytef *)end, &written, (const Bytef *)(text.data ? text.data : ""), (uLong)text.len, 3) != Z_OK)
        abort(); /* zlib's only reasons here are memory and our own arithmetic */
    buf_commit(out, written);
}

static void cut_passages(struct str text, struct parsed_document *document)
{
    struct passages passages;
    passages_cut(text, 0, &passages);
    size_t n = passages.count < MAX_PASSAGES ? passages.count : MAX_PASSAGES;
    if (!n) { /* a title alone is worth finding */
        document->passages = mem_zalloc(sizeof *document->passages);
        document->n_passages = 1;
    } else {
        document->passages = mem_calloc(n, sizeof *document->passages);
        document->n_passages = n;
    }
    for (size_t i = 0; i < document->n_passages; i++) {
        struct parsed_passage *out = &document->passages[i];
        struct str body = {0};
        if (i < n) {
            out->from = passages.items[i].from;
            out->to = passages.items[i].to;
            out->headings = passages.items[i].headings;
            passages.items[i].headings = NULL;
            body = str_slice(text, out->from, out->to);
        }
        out->heading_terms = corpus_terms(str_of(out->headings), &out->length);
        out->body_terms = corpus_terms(body, &out->length);
        document->length += out->length;
    }
    passages_finish(&passages);
}

static void add_document(struct parsed_file *file, struct str title, struct str text, struct str line)
{
    file->documents = mem_grow(file->documents, file->n_documents, &file->capacity, sizeof *file->documents);
    struct parsed_document *document = &file->documents[file->n_documents++];
    *document = (struct parsed_document){.text_size = text.len};
    size_t title_length = 0;
    document->title = str_dup(title);
    document->title_terms = corpus_terms(title, &title_length);
    document->line = line.len ? str_dup(line) : NULL;
    SHA256((const unsigned char *)(text.data ? text.data : ""), text.len, document->text_hash);
    deflate_text(text, &document->deflated);
    cut_passages(text, document);
    document->passages[0].length += title_length;
    document->length += title_length;
    file->weight += document->deflated.len + 2 * text.len;
}

/* ---- JSON Lines: a document a line, as the public retrieval sets have them ---- */

static bool is_json_lines(struct str name)
{
    if (str_ends_with(name, STR(".gz")))
        name = str_slice(name, 0, name.len - 3);
    return str_ends_with(name, STR(".jsonl")) || str_ends_with(name, STR(".ndjson"));
}

/* The first of `keys` that the object has, as text. Fresh; NULL when it has none. */
static char *text_member(const json_t *object, const char *const *keys)
{
    for (; *keys; keys++) {
        const json_t *value = json_object_get(object, *keys);
        if (json_is_string(value) && json_string_length(value))
            return str_dup(str_make(json_string_value(value), json_string_length(value)));
        if (json_is_integer(value))
            return mem_printf("%lld", (long long)json_integer_value(value));
    }
    return NULL;
}

static bool read_line(struct str line, size_t number, struct parsed_file *out)
{
    static const char *const ids[] = {"_id", "id", "docid", "doc_id", "url", NULL};
    static const char *const titles[] = {"title", "name", "question", NULL};
    static const char *const texts[] = {"text", "contents", "content", "body", "abstract", NULL};
    json_t *object;
    if (json_parse(line, &object, NULL) != STATUS_OK)
        return false;
    char *text = text_member(object, texts);
    char *id = text_member(object, ids);
    char *title = text_member(object, titles);
    if (!id)
        id = mem_printf("%zu", number);
    if (text || title)
        add_document(out, str_of(title ? title : id), str_of(text), str_of(id));
    bool taken = text || title;
    free(text);
    free(id);
    free(title);
    json_decref(object);
    return taken;
}

static void read_json_lines(struct str text, struct parsed_file *out)
{
    struct str line;
    size_t number = 0, bad = 0, first_bad = 0;
    while (str_split_next(&text, '\n', &line)) {
        number++;
        line = str_trim(line);
        if (!line.len || read_line(line, number, out))
            continue;
        bad++;
        first_bad = first_bad ? first_bad : number;
    }
    out->outcome = out->n_documents ? PARSED_TEXT : PARSED_FAILED;
    if (bad)
        out->problem =
            mem_printf("%zu of %zu lines are no objects with a text, the first is line %zu", bad, number, first_bad);
    else if (!out->n_documents)
        out->problem = mem_strdup("the file is empty");
}

/* ---- files ---- */

/* Without a reader: text that needs no reading. */
static enum status take_plain(const struct corpus_source *source, struct corpus_text *out, struct error *error)
{
    struct str bytes = source->bytes;
    if (!utf8_is_valid(bytes) || str_find_char(bytes, '\0', 0) != STR_NONE)
        return error_set(error, STATUS_UNSUPPORTED, "not plain text in UTF-8");
    buf_init(&out->markdown, source->max_bytes);
    if (buf_append_str(&out->markdown, bytes) != STATUS_OK)
        return error_set(error, STATUS_TOO_BIG, "larger than %zu bytes", source->max_bytes);
    const char *slash = strrchr(source->path, '/');
    out->title = mem_strdup(slash ? slash + 1 : source->path);
    return STATUS_OK;
}

static const struct corpus_reader plain_reader = {.read = take_plain};

/* The part of `path` below the folder `root`; NULL when it is not below. */
static const char *below(const char *path, const char *root)
{
    size_t length = strlen(root);
    return strncmp(path, root, length) == 0 && path[length] == '/' ? path + length + 1 : NULL;
}

static enum status read_as_text(const struct corpus_file *file, const struct parse_options *options, struct str bytes,
                                struct parsed_file *out, struct error *error)
{
    const struct corpus_reader *reader = options->reader ? options->reader : &plain_reader;
    struct corpus_source source = {file->path, options->root, bytes, options->max_bytes};
    struct corpus_text text = {0};
    enum status status = reader->read(&source, &text, error);
    if (status == STATUS_OK) {
        const char *other = text.alias ? below(text.alias, options->root) : NULL;
        out->outcome = PARSED_TEXT;
        if (other) {
            out->outcome = PARSED_ALIAS;
            out->alias = mem_strdup(other);
        } else if (text.alias) {
            status = error_set(error, STATUS_NOT_FOUND, "another name of %s, which is outside the folder", text.alias);
        } else if (is_json_lines(str_of(file->path))) {
            read_json_lines(buf_str(&text.markdown), out);
        } else {
            add_document(out, str_of(text.title), buf_str(&text.markdown), (struct str){0});
        }
    }
    buf_finish(&text.markdown);
    free(text.title);
    free(text.alias);
    return status;
}

void corpus_parse(const struct corpus_file *file, const struct parse_options *options, const unsigned char *known_hash,
                  struct parsed_file *out)
{
    size_t max_bytes = options->max_bytes;
    *out = (struct parsed_file){.file = file, .outcome = PARSED_FAILED};
    struct error error = {0};
    struct buf bytes;
    buf_init(&bytes, max_bytes);
    enum status status = STATUS_OK;
    if (options->reader && options->reader->wants && !options->reader->wants(str_of(file->path)))
        status = error_set(&error, STATUS_UNSUPPORTED, "a kind of file that is not read here");
    else if (file->size > (int64_t)max_bytes)
        status = error_set(&error, STATUS_TOO_BIG, "larger than %zu bytes", max_bytes);
    else
        status = file_read(file->path, &bytes, &error);
    if (status == STATUS_OK) {
        SHA256((const unsigned char *)(bytes.data ? bytes.data : ""), bytes.len, out->hash);
        if (known_hash && memcmp(known_hash, out->hash, HASH_BYTES) == 0)
            out->outcome = PARSED_SAME;
        else
            status = read_as_text(file, options, buf_str(&bytes), out, &error);
    }
    if (status != STATUS_OK) {
        out->outcome = status == STATUS_UNSUPPORTED ? PARSED_NOT_TEXT : PARSED_FAILED;
        out->problem = mem_strdup(error.message);
    }
    buf_finish(&bytes);
}

void parsed_file_finish(struct parsed_file *file)
{
    for (size_t i = 0; i < file->n_documents; i++) {
        struct parsed_document *document = &file->documents[i];
        for (size_t k = 0; k < document->n_passages; k++) {
            free(document->passages[k].headings);
            free(document->passages[k].heading_terms);
            free(document->passages[k].body_terms);
        }
        free(document->passages);
        free(document->title);
        free(document->title_terms);
        free(document->line);
        buf_finish(&document->deflated);
    }
    free(file->documents);
    free(file->problem);
    free(file->alias);
    *file = (struct parsed_file){0};
}
