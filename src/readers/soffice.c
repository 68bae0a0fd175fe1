/* What only LibreOffice reads (DOC, XLS, PPT, RTF, XLSB …): converted to the form of today, which our readers know.
 * Each run has a profile of its own in a folder that goes away, with macros turned off. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/embed.h"
#include "core/file.h"
#include "core/mem.h"
#include "readers/internal.h"

#define MAX_RESULT ((size_t)256 << 20)

/* Streams of an old compound file ([MS-CFB]), by their names in UTF-16. */
struct compound {
    bool text, sheets, slides, encrypted, mail;
};

static bool has_name(struct str bytes, const char *name)
{
    char wide[64];
    size_t length = strlen(name);
    for (size_t i = 0; i < length; i++) {
        wide[2 * i] = name[i];
        wide[2 * i + 1] = 0;
    }
    return str_find(bytes, str_make(wide, 2 * length), 0) != STR_NONE;
}

static uint32_t little_endian(struct str bytes, size_t at)
{
    struct str four = str_slice(bytes, at, at + 4);
    uint32_t value = 0;
    for (size_t i = four.len; i-- > 0;)
        value = value << 8 | (unsigned char)four.data[i];
    return value;
}

/* Looks at the first sectors of the directory: header field 30 is the sectors' size, field 48 the first one's number.
 */
static struct compound look_compound(const struct document *document)
{
    struct compound compound = {0};
    char header[512], directory[8192];
    ssize_t count = document_read_at(document, 0, header, sizeof header);
    if (count < (ssize_t)sizeof header)
        return compound;
    struct str head = str_make(header, sizeof header);
    uint32_t shift = little_endian(head, 30) & 0xffff, sector = little_endian(head, 48);
    if (shift < 9 || shift > 12 || sector > 0xfffffff0)
        return compound;
    count = document_read_at(document, ((uint64_t)sector + 1) << shift, directory, sizeof directory);
    struct str names = str_make(directory, count > 0 ? (size_t)count : 0);
    compound.text = has_name(names, "WordDocument");
    compound.sheets = has_name(names, "Workbook") || has_name(names, "Book");
    compound.slides = has_name(names, "PowerPoint Document");
    compound.encrypted = has_name(names, "EncryptedPackage");
    compound.mail = has_name(names, "__properties_version");
    return compound;
}

/* The ending that the file is given, and the form that it is converted to. False for what is not read. */
static bool choose_forms(const struct document *document, struct str head, const char **ending, const char **target,
                         struct error *error)
{
    if (str_starts_with(head, STR("{\\rtf"))) {
        *ending = "rtf";
        *target = "docx";
        return true;
    }
    if (str_starts_with(head, STR("PK"))) {
        *ending = "xlsb";
        *target = "xlsx";
        return true;
    }
    struct compound compound = look_compound(document);
    *ending = compound.sheets ? "xls" : compound.slides ? "ppt" : "doc";
    *target = compound.sheets ? "xlsx" : compound.slides ? "pptx" : "docx";
    if (compound.encrypted)
        error_set(error, STATUS_DENIED, "the document is encrypted: save it without a password");
    else if (!compound.text && !compound.sheets && !compound.slides)
        error_set(error, STATUS_UNSUPPORTED,
                  compound.mail ? "an Outlook message (.msg) is not read here: save it as .eml"
                                : "this kind of old compound file is not read here");
    else
        return true;
    return false;
}

/* Writes the document, and the profile's settings, into the folder. */
static enum status fill_folder(const struct document *document, const char *folder, const char *ending,
                               struct error *error)
{
    struct str settings;
    char *profile = mem_printf("%s/profile", folder), *user = mem_printf("%s/profile/user", folder);
    char *path = mem_printf("%s/profile/user/registrymodifications.xcu", folder);
    char *input = mem_printf("%s/input.%s", folder, ending);
    enum status status = STATUS_IO;
    int out = -1;
    if (mkdir(profile, 0700) == 0 && mkdir(user, 0700) == 0 && embed_find("src/readers/soffice.xcu", &settings))
        status = file_write(path, settings, NULL);
    if (status == STATUS_OK)
        out = open(input, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    char chunk[65536];
    ssize_t count = out < 0 ? -1 : 1;
    for (uint64_t offset = 0; count > 0; offset += (uint64_t)count) {
        count = document_read_at(document, offset, chunk, sizeof chunk);
        if (count > 0 && write(out, chunk, (size_t)count) != count)
            count = -1;
    }
    if (out >= 0)
        close(out);
    free(profile);
    free(user);
    free(path);
    free(input);
    return count < 0 || status != STATUS_OK
               ? error_set(error, STATUS_IO, "the document cannot be handed to LibreOffice")
               : STATUS_OK;
}

static enum status convert(struct reading *reading, const char *folder, const char *ending, const char *target,
                           struct error *error)
{
    char *profile = mem_printf("-env:UserInstallation=file://%s/profile", folder);
    char *input = mem_printf("%s/input.%s", folder, ending);
    char *path = program_search_path();
    char *home = mem_printf("HOME=%s", folder), *temporary = mem_printf("TMPDIR=%s", folder);
    const char *const argv[] = {"soffice",      profile, "--headless", "--norestore", "--nolockcheck", "--nologo",
                                "--convert-to", target,  "--outdir",   folder,        input,           NULL};
    const char *const environment[] = {home, temporary, path, "LC_ALL=C.UTF-8", "SAL_USE_VCLPLUGIN=svp", NULL};
    const struct program_call call = {
        .argv = argv,
        .path = reading->source->programs.soffice,
        .directory = folder,
        .environment = environment,
        .max_output = 65536,
        .keep_cut_output = true,
    };
    struct program_result result;
    enum status status = program_run(reading, &call, &result, error);
    if (status == STATUS_OK)
        program_result_finish(&result);
    if (status == STATUS_NOT_FOUND)
        status = error_set(error, STATUS_UNSUPPORTED,
                           "reading an old office document needs LibreOffice (soffice), which is not installed; "
                           "or save it as DOCX, XLSX, PPTX or PDF");
    free(profile);
    free(input);
    free(path);
    free(home);
    free(temporary);
    return status;
}

/* Reads what LibreOffice made. */
static enum status read_result(struct reading *reading, const char *folder, const char *target, struct reader_text *out,
                               struct error *error)
{
    char *path = mem_printf("%s/input.%s", folder, target);
    struct stat info;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    enum status status;
    free(path);
    if (descriptor < 0 || fstat(descriptor, &info) != 0 || info.st_size <= 0) {
        status = error_set(error, STATUS_SYNTAX, "LibreOffice cannot open the document: it is damaged or encrypted");
    } else {
        const struct document converted = {
            .from_descriptor = true, .descriptor = descriptor, .size = (uint64_t)info.st_size};
        status = zip_read(reading, &converted, out, error);
    }
    if (descriptor >= 0)
        close(descriptor);
    return status;
}

enum status soffice_read(struct reading *reading, const struct document *document, struct reader_text *out,
                         struct error *error)
{
    const char *ending, *target;
    char head[8];
    ssize_t count = document_read_at(document, 0, head, sizeof head);
    struct error why = {0};
    if (!choose_forms(document, str_make(head, count > 0 ? (size_t)count : 0), &ending, &target, &why)) {
        if (error)
            *error = why;
        return why.status;
    }
    char *folder = folder_make(reading, error);
    if (!folder)
        return STATUS_IO;
    enum status status = fill_folder(document, folder, ending, error);
    if (status == STATUS_OK)
        status = convert(reading, folder, ending, target, error);
    if (status == STATUS_OK)
        status = read_result(reading, folder, target, out, error);
    folder_remove(folder);
    if (status == STATUS_OK) {
        out->kind = READER_OFFICE;
        reading_note(reading, "The document was converted by LibreOffice; macros in it were not run.");
    }
    return status;
}
