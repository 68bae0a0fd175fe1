#include "support/zip.h"

#include <archive.h>
#include <archive_entry.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static la_ssize_t on_write(struct archive *archive, void *user, const void *bytes, size_t length)
{
    (void)archive;
    buf_add(user, str_make(bytes, length));
    return (la_ssize_t)length;
}

static void set_form(struct archive *archive, const char *form)
{
    const char *filter = strchr(form, '.') ? strchr(form, '.') + 1 : form;
    if (strcmp(form, "zip") == 0)
        archive_write_set_format_zip(archive);
    else if (strcmp(form, "7z") == 0)
        archive_write_set_format_7zip(archive);
    else if (strncmp(form, "tar", 3) == 0)
        archive_write_set_format_pax_restricted(archive);
    else
        archive_write_set_format_raw(archive);
    if (strcmp(filter, "gz") == 0)
        archive_write_add_filter_gzip(archive);
    else if (strcmp(filter, "xz") == 0)
        archive_write_add_filter_xz(archive);
    else if (strcmp(filter, "bz2") == 0)
        archive_write_add_filter_bzip2(archive);
    else if (strcmp(filter, "zst") == 0)
        archive_write_add_filter_zstd(archive);
}

static struct buf make(const char *form, const char *options, const struct zip_part *parts, size_t count)
{
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    struct archive *archive = archive_write_new();
    set_form(archive, form);
    if (options)
        assert_int_equal(archive_write_set_options(archive, options), ARCHIVE_OK);
    archive_write_set_bytes_in_last_block(archive, 1);
    assert_int_equal(archive_write_open2(archive, &out, NULL, on_write, NULL, NULL), ARCHIVE_OK);
    for (size_t i = 0; i < count; i++) {
        struct archive_entry *entry = archive_entry_new();
        archive_entry_set_pathname(entry, parts[i].name);
        archive_entry_set_size(entry, (la_int64_t)parts[i].bytes.len);
        archive_entry_set_filetype(entry, AE_IFREG);
        archive_entry_set_perm(entry, 0644);
        assert_true(archive_write_header(archive, entry) >= ARCHIVE_WARN);
        if (parts[i].bytes.len)
            assert_int_equal(archive_write_data(archive, parts[i].bytes.data, parts[i].bytes.len), parts[i].bytes.len);
        archive_entry_free(entry);
    }
    assert_int_equal(archive_write_close(archive), ARCHIVE_OK);
    archive_write_free(archive);
    return out;
}

struct buf archive_make(const char *form, const struct zip_part *parts, size_t count)
{
    return make(form, NULL, parts, count);
}

struct buf zip_make(const struct zip_part *parts, size_t count)
{
    return make("zip", "compression=store", parts, count);
}

enum status read_confined(struct str bytes, const char *name, struct reader_text *text, struct error *error)
{
    const struct reader_source source = {.bytes = bytes, .name = str_of(name), .confined = true};
    return reader_read(&source, text, error);
}

void assert_markdown(struct str bytes, const char *name, enum reader_kind kind, const char *expected)
{
    struct reader_text text;
    struct error error = {0};
    enum status status = read_confined(bytes, name, &text, &error);
    if (status != STATUS_OK)
        fail_msg("%s: %s", name, error.message);
    assert_int_equal(text.kind, kind);
    char *markdown = str_dup(str_trim(buf_str(&text.markdown)));
    assert_string_equal(markdown, expected);
    free(markdown);
    reader_text_finish(&text);
}

void assert_refused(struct str bytes, const char *name, enum status status, const char *part_of_message)
{
    struct reader_text text;
    struct error error = {0};
    enum status found = read_confined(bytes, name, &text, &error);
    if (found == STATUS_OK)
        reader_text_finish(&text);
    assert_int_equal(found, status);
    if (!strstr(error.message, part_of_message))
        fail_msg("\"%s\" does not say \"%s\"", error.message, part_of_message);
}
