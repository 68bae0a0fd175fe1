/* tools/parse_file/parse_file.h
 *
 * The tool `parse_file`: reads the files that the user handed over.
 *
 * The model names files as they are listed: by base name, or by the path below the folder that was handed over. Nothing
 * else can be opened: no absolute path, no way up, no link that leads outside, no pipe or device. Documents are read by
 * fathom-worker (tools/common/document.h), images are shown to the `vision` model where there is one, sound and film go
 * to the `transcription` model. A short file comes whole; of a long one come the table of contents and the passages
 * that bear on the question, and a suffix of the name asks for more: "#part=2", "#page=12-15", "#section=Results".
 */
#ifndef FATHOM_TOOLS_PARSE_FILE_H
#define FATHOM_TOOLS_PARSE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "core/status.h"
#include "engine/tool.h"

struct documents;

#define PARSE_FILE_DEFAULT_TOKENS     8000
#define PARSE_FILE_DEFAULT_TIMEOUT_MS 300000

/* Strings are copied. */
struct parse_file_options {
    const char *const *files; /* --file */
    size_t n_files;
    const char *const *roots; /* --file-root: folders, with all below them */
    size_t n_roots;
    struct documents *documents; /* borrowed until the tool goes; NULL: the tool makes one of its own */
    struct str signature;        /* as in signature.json; empty: the embedded one. The list of files is added to it */
    int64_t file_tokens;         /* what one file may take of an observation; 0: PARSE_FILE_DEFAULT_TOKENS */
    int64_t timeout_ms;          /* of a whole call; 0: PARSE_FILE_DEFAULT_TIMEOUT_MS */
    const char *ffmpeg;          /* the program; NULL: "ffmpeg" on PATH */
};

/* Opens the files and folders that were named and keeps them open, so that what is read later is what was meant.
 * STATUS_NOT_FOUND, STATUS_IO and STATUS_INVALID (no regular file, no folder, two files of one name) name the path. */
enum status parse_file_tool_create(const struct parse_file_options *options, struct tool **out,
                                   struct error *error) STATUS_CHECKED;

#endif
