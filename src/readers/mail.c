/* Mail (RFC 5322) with its parts (RFC 2045 to 2047): headers that matter, the text, and attachments as documents of
 * their own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "readers/internal.h"
#include "readers/writer.h"
#include "text/charset.h"
#include "text/html/html.h"

#define MAX_DEPTH  12
#define MAX_PARTS  500
#define MAX_HEADER 4000

struct mail {
    struct reading *reading;
    struct reader_text *out;
    struct writer writer;
    int parts;
    enum status status;
    struct error error;
};

/* The header of a message or part, and what stands below it. */
struct entity {
    struct str header, body;
};

static int digit_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (ascii_is_digit(c))
        return c - '0' + 52;
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

static void decode_base64(struct str text, struct buf *out)
{
    uint32_t bits = 0;
    int count = 0;
    for (size_t i = 0; i < text.len; i++) {
        int digit = digit_of(text.data[i]);
        if (digit < 0)
            continue; /* line breaks, padding and dirt */
        bits = bits << 6 | (uint32_t)digit;
        if (++count == 4) {
            const char bytes[3] = {(char)(bits >> 16), (char)(bits >> 8), (char)bits};
            buf_add(out, str_make(bytes, 3));
            bits = 0;
            count = 0;
        }
    }
    bits <<= 6 * (4 - count);
    const char bytes[2] = {(char)(bits >> 16), (char)(bits >> 8)};
    if (count > 1)
        buf_add(out, str_make(bytes, (size_t)count - 1));
}

static int hex_of(char c)
{
    c = ascii_lower(c);
    return ascii_is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* `header`: the form inside of header fields, where an underscore is a space. */
static void decode_quoted(struct str text, bool header, struct buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (c == '_' && header) {
            buf_add_char(out, ' ');
        } else if (c != '=') {
            buf_add_char(out, c);
        } else if (i + 2 < text.len && hex_of(text.data[i + 1]) >= 0 && hex_of(text.data[i + 2]) >= 0) {
            buf_add_char(out, (char)(hex_of(text.data[i + 1]) * 16 + hex_of(text.data[i + 2])));
            i += 2;
        } else { /* a soft line break */
            struct str rest = str_slice(text, i + 1, text.len);
            size_t end = str_find_char(rest, '\n', 0);
            if (end != STR_NONE && !str_trim(str_slice(rest, 0, end)).len)
                i += end + 1;
        }
    }
}

static struct entity split_entity(struct str text)
{
    struct str rest = text, line;
    while (str_split_next(&rest, '\n', &line))
        if (!str_trim_end(line).len)
            return (struct entity){str_slice(text, 0, (size_t)(line.data - text.data)), rest};
    return (struct entity){text, {0}};
}

/* Appends a field's unfolded value; nothing when it is absent. */
static void find_field(struct str header, const char *name, struct buf *out)
{
    struct str line;
    bool in_field = false;
    size_t length = strlen(name);
    buf_reset(out);
    while (str_split_next(&header, '\n', &line)) {
        line = str_trim_end(line);
        bool folded = line.len && (line.data[0] == ' ' || line.data[0] == '\t');
        if (in_field && !folded)
            return;
        in_field = in_field || (line.len > length && line.data[length] == ':' &&
                                str_equal_ascii_nocase(str_slice(line, 0, length), str_of(name)));
        if (!in_field || out->len > MAX_HEADER)
            continue;
        if (folded)
            buf_add_char(out, ' ');
        buf_add(out, str_trim(folded ? line : str_slice(line, length + 1, line.len)));
    }
}

/* A parameter of a structured field ("charset", "boundary"), without quotes. */
static struct str find_parameter(struct str value, const char *name)
{
    size_t at = 0, length = strlen(name);
    while ((at = str_find_nocase(value, str_of(name), at)) != STR_NONE) {
        struct str rest = str_slice(value, at + length, value.len);
        bool whole = at > 0 && (value.data[at - 1] == ';' || ascii_is_space(value.data[at - 1]));
        rest = str_trim_start(rest);
        at += length;
        if (!whole || !str_starts_with(rest, STR("=")))
            continue;
        rest = str_trim_start(str_slice(rest, 1, rest.len));
        if (str_starts_with(rest, STR("\""))) {
            rest = str_slice(rest, 1, rest.len);
            return str_slice(rest, 0, str_find_char(rest, '"', 0));
        }
        return str_trim(str_slice(rest, 0, str_find_char(rest, ';', 0)));
    }
    return (struct str){0};
}

/* Decodes the words of the form =?charset?B?text?= in a field. */
static void decode_words(struct str value, struct buf *out)
{
    bool after_word = false;
    while (value.len) {
        size_t at = str_find(value, STR("=?"), 0);
        struct str before = str_slice(value, 0, at);
        if (!after_word || str_trim(before).len) /* white space between two words is none */
            buf_add(out, before);
        if (at == STR_NONE)
            return;
        struct str word = str_slice(value, at + 2, value.len);
        size_t set = str_find_char(word, '?', 0), form = set == STR_NONE ? set : str_find_char(word, '?', set + 1);
        size_t end = form == STR_NONE ? form : str_find(word, STR("?="), form + 1);
        if (end == STR_NONE) {
            buf_add(out, STR("=?"));
            value = word;
            continue;
        }
        struct str text = str_slice(word, form + 1, end);
        char *type = mem_printf("text/plain; charset=%.*s", STR_ARG(str_slice(word, 0, set)));
        struct buf bytes;
        buf_init(&bytes, BUF_UNBOUNDED);
        if (ascii_lower(word.data[set + 1]) == 'b')
            decode_base64(text, &bytes);
        else
            decode_quoted(text, true, &bytes);
        if (charset_to_utf8(buf_str(&bytes), str_of(type), false, out, NULL) != STATUS_OK)
            buf_add_char(out, '?');
        buf_finish(&bytes);
        free(type);
        value = str_slice(word, end + 2, word.len);
        after_word = true;
    }
}

/* A field as people read it, on one line. */
static void read_field(struct str header, const char *name, struct buf *out)
{
    struct buf raw, text;
    buf_init(&raw, BUF_UNBOUNDED);
    buf_init(&text, BUF_UNBOUNDED);
    find_field(header, name, &raw);
    decode_words(buf_str(&raw), &text);
    buf_reset(out);
    append_line(out, buf_str(&text));
    buf_finish(&raw);
    buf_finish(&text);
}

static void decode_body(const struct entity *entity, struct buf *out)
{
    struct buf encoding;
    buf_init(&encoding, BUF_UNBOUNDED);
    find_field(entity->header, "Content-Transfer-Encoding", &encoding);
    if (str_starts_with_nocase(buf_str(&encoding), STR("base64")))
        decode_base64(entity->body, out);
    else if (str_starts_with_nocase(buf_str(&encoding), STR("quoted-printable")))
        decode_quoted(entity->body, false, out);
    else
        buf_add(out, entity->body);
    buf_finish(&encoding);
}

static void write_text(struct mail *mail, struct str bytes, struct str type, bool html)
{
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    if (decode_text(bytes, type, html, &text) == STATUS_OK && html) {
        struct html_page page;
        const struct html_options options = {
            .whole_page = true, .drop_links = mail->reading->source->drop_links, .max_input_bytes = BUF_UNBOUNDED};
        if (html_to_markdown(buf_str(&text), &options, &page, NULL) == STATUS_OK) {
            writer_document(&mail->writer, str_trim(buf_str(&page.markdown)), 1);
            html_page_finish(&page);
        }
    } else {
        writer_raw(&mail->writer, str_trim(buf_str(&text)));
    }
    writer_break(&mail->writer);
    buf_finish(&text);
}

static void write_attachment(struct mail *mail, struct str bytes, struct str type, struct str name)
{
    const struct document inner = {.bytes = bytes, .size = bytes.len, .name = name, .content_type = type};
    struct reader_text text = {0};
    struct error why;
    writer_heading(&mail->writer, 2, name.len ? name : STR("Attachment"));
    if (mail->reading->depth_left <= 0)
        return;
    mail->reading->depth_left--;
    enum status status = read_document(mail->reading, &inner, &text, &why);
    mail->reading->depth_left++;
    if (status == STATUS_OK) {
        writer_document(&mail->writer, str_trim(buf_str(&text.markdown)), 2);
        reader_text_finish(&text);
    } else if (status == STATUS_CANCELED || status == STATUS_TIMEOUT || status == STATUS_REFUSED) {
        mail->status = status;
        mail->error = why;
    } else {
        writer_rawf(&mail->writer, "(not read: %s)", why.message);
    }
    writer_break(&mail->writer);
}

static void write_entity(struct mail *mail, const struct entity *entity, int depth);

/* The parts between the boundary's lines. Of alternatives the last text that is known is the best, plain text where
 * there is some: it is what the sender wrote. */
static void write_parts(struct mail *mail, struct str body, struct str boundary, bool alternative, int depth)
{
    struct entity best = {0};
    char *mark = mem_printf("--%.*s", STR_ARG(boundary));
    size_t at = 0, length = strlen(mark), from = STR_NONE;
    bool have_plain = false;
    while (boundary.len && mail->parts < MAX_PARTS && mail->status == STATUS_OK) {
        size_t next = str_find(body, str_make(mark, length), at);
        if (next != STR_NONE && next > 0 && body.data[next - 1] != '\n') {
            at = next + length;
            continue;
        }
        if (from != STR_NONE) {
            struct entity part = split_entity(str_slice(body, from, next));
            struct buf type;
            buf_init(&type, BUF_UNBOUNDED);
            find_field(part.header, "Content-Type", &type);
            bool plain = !type.len || str_starts_with_nocase(buf_str(&type), STR("text/plain"));
            if (!alternative)
                write_entity(mail, &part, depth + 1);
            else if (!have_plain)
                best = part;
            have_plain = have_plain || plain;
            buf_finish(&type);
        }
        if (next == STR_NONE || str_starts_with(str_slice(body, next + length, body.len), STR("--")))
            break;
        size_t line = str_find_char(body, '\n', next);
        if (line == STR_NONE)
            break;
        from = at = line + 1;
    }
    if (best.header.len)
        write_entity(mail, &best, depth + 1);
    free(mark);
}

static void write_entity(struct mail *mail, const struct entity *entity, int depth)
{
    struct buf type, disposition, name, body;
    if (depth > MAX_DEPTH || mail->parts++ >= MAX_PARTS || mail->status != STATUS_OK)
        return;
    buf_init(&type, BUF_UNBOUNDED);
    buf_init(&disposition, BUF_UNBOUNDED);
    buf_init(&name, BUF_UNBOUNDED);
    buf_init(&body, BUF_UNBOUNDED);
    find_field(entity->header, "Content-Type", &type);
    find_field(entity->header, "Content-Disposition", &disposition);
    struct str kind = buf_str(&type), file = find_parameter(buf_str(&disposition), "filename");
    file = file.len ? file : find_parameter(kind, "name");
    decode_words(str_slice(file, 0, 300), &name);
    bool attached = str_starts_with_nocase(buf_str(&disposition), STR("attachment"));
    if (str_starts_with_nocase(kind, STR("multipart/"))) {
        bool alternative = str_starts_with_nocase(kind, STR("multipart/alternative"));
        write_parts(mail, entity->body, find_parameter(kind, "boundary"), alternative, depth);
    } else {
        decode_body(entity, &body);
        bool html = str_starts_with_nocase(kind, STR("text/html"));
        if (!attached && (!kind.len || html || str_starts_with_nocase(kind, STR("text/plain"))))
            write_text(mail, buf_str(&body), kind, html);
        else
            write_attachment(mail, buf_str(&body), kind, buf_str(&name));
    }
    buf_finish(&type);
    buf_finish(&disposition);
    buf_finish(&name);
    buf_finish(&body);
}

enum status mail_read(struct reading *reading, const struct document *document, struct reader_text *out,
                      struct error *error)
{
    static const char *const shown[] = {"From", "To", "Cc", "Date"};
    struct mail mail = {.reading = reading, .out = out};
    struct buf scratch = {0}, field;
    struct str bytes;
    enum status status = document_load(document, reading->cap, &scratch, &bytes, error);
    if (status != STATUS_OK)
        return status;
    struct entity entity = split_entity(bytes);
    buf_init(&field, MAX_HEADER);
    writer_init(&mail.writer, &out->markdown);
    read_field(entity.header, "Subject", &field);
    writer_heading(&mail.writer, 1, field.len ? buf_str(&field) : STR("(no subject)"));
    out->title = field.len ? str_dup(buf_str(&field)) : NULL;
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        read_field(entity.header, shown[i], &field);
        if (!field.len)
            continue;
        writer_rawf(&mail.writer, "%s: %s\n", shown[i], field.data);
        if (i == 0)
            out->author = str_dup(buf_str(&field));
        else if (i == 3)
            out->date = str_dup(buf_str(&field));
    }
    writer_break(&mail.writer);
    write_entity(&mail, &entity, 0);
    out->truncated = out->truncated || mail.writer.full;
    buf_finish(&field);
    buf_finish(&scratch);
    if (mail.status != STATUS_OK && error)
        *error = mail.error;
    return mail.status;
}
