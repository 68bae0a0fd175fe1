/* Pictures of text, through tesseract. */
#include <stdlib.h>

#include "core/mem.h"
#include "readers/internal.h"
#include "readers/writer.h"

#define MAX_TEXT ((size_t)4 << 20)

enum status recognize(struct reading *reading, const struct document *picture, struct buf *out, struct error *error)
{
    const struct reader_source *source = reading->source;
    const char *argv[8] = {"tesseract", "stdin", "stdout"};
    struct buf scratch = {0};
    struct str bytes;
    struct program_result result;
    /* its threads spin while they wait for one another: one alone is hardly slower, and leaves the others' cores alone
     */
    char *path = program_search_path();
    const char *environment[] = {"OMP_THREAD_LIMIT=1", "LC_ALL=C.UTF-8", path, NULL, NULL};
    const char *prefix = getenv("TESSDATA_PREFIX");
    char *data = prefix ? mem_printf("TESSDATA_PREFIX=%s", prefix) : NULL;
    environment[3] = data;
    if (source->ocr_languages && source->ocr_languages[0]) {
        argv[3] = "-l";
        argv[4] = source->ocr_languages;
    }
    enum status status = document_load(picture, (size_t)256 << 20, &scratch, &bytes, error);
    const struct program_call call = {.argv = argv,
                                      .path = source->programs.tesseract,
                                      .environment = environment,
                                      .text = bytes,
                                      .max_output = MAX_TEXT,
                                      .keep_cut_output = true};
    if (status == STATUS_OK)
        status = program_run(reading, &call, &result, error);
    buf_finish(&scratch);
    free(path);
    free(data);
    if (status != STATUS_OK)
        return status;
    if (result.exit_code != 0)
        status = error_set(error, STATUS_SYNTAX,
                           "the picture cannot be read: it is damaged, or in a form that "
                           "tesseract does not know");
    else if (buf_append_str(out, buf_str(&result.output)) != STATUS_OK)
        status = error_set(error, STATUS_TOO_BIG, "the picture's text is too long");
    program_result_finish(&result);
    return status;
}

enum status image_read(struct reading *reading, const struct document *document, struct reader_text *out,
                       struct error *error)
{
    struct buf text;
    buf_init(&text, out->markdown.cap);
    out->kind = READER_IMAGE;
    enum status status = STATUS_NOT_FOUND;
    if (reading->ocr_pages_left > 0) {
        reading->ocr_pages_left--;
        status = recognize(reading, document, &text, error);
    }
    if (status == STATUS_NOT_FOUND)
        status = error_set(error, STATUS_UNSUPPORTED,
                           "reading a picture needs a vision model or the program tesseract, "
                           "and there is neither");
    struct str found = str_trim(buf_str(&text));
    if (status == STATUS_OK && !found.len)
        status = error_set(error, STATUS_UNSUPPORTED, "the picture holds no text that could be recognized");
    if (status == STATUS_OK) {
        struct writer writer;
        writer_init(&writer, &out->markdown);
        writer_paragraph(&writer, found);
        out->truncated = writer.full;
        reading_note(reading, "The text was recognized from a picture (OCR) and may hold errors.");
    }
    buf_finish(&text);
    return status;
}
