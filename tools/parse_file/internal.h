/* tools/parse_file/internal.h
 *
 * The parts of the parse_file tool. parse_file.c takes a call through its files, all at once; item.c takes one file
 * from its name to its text, by the worker, the vision model or the transcription service (sound.c); select.c picks
 * what of it is shown, render.c words the whole. cache.c keeps texts, since a long file is asked for in parts.
 *
 * A file is worked on by one thing at a time. What belongs to a job on the pool is not touched by the loop's thread
 * until the job is over.
 */
#ifndef FATHOM_TOOLS_PARSE_FILE_INTERNAL_H
#define FATHOM_TOOLS_PARSE_FILE_INTERNAL_H

#include "protocol/signature.h"
#include "tools/common/document.h"
#include "tools/common/line.h"
#include "tools/parse_file/files.h"
#include "tools/parse_file/parse_file.h"
#include "tools/parse_file/select.h"

struct cached_text;
struct text_cache;

struct parse_file_tool {
    struct tool tool; /* first: the engine hands it back */
    struct tool_signature signature;
    struct files *files;
    struct documents *documents, *own_documents;
    struct text_cache *cache;
    int64_t file_tokens;
    char *ffmpeg;
};

enum item_state {
    ITEM_OPENING, /* a job that finds the file and looks at its beginning */
    ITEM_WAITING, /* for another item of this call that reads the same file */
    ITEM_READING, /* worker, vision model or transcription */
    ITEM_PICKING, /* a job that measures the text and picks what is shown */
    ITEM_DONE,    /* `selection` */
    ITEM_FAILED,  /* `problem` */
};

struct parse_call;
struct sound;

/* What the job finds out that opens a file. Not the loop's before the job is over. */
struct opened_file {
    struct found_file file;
    enum status status;
    struct error error;
    struct selector selector;
    bool bad_selector, is_address;
    enum reader_kind kind;
    const char *media_type; /* of an image that models take as it is; NULL for others */
    bool seeks;             /* sound or film whose form needs seeking in it */
};

struct parse_item {
    struct parse_call *call;
    struct str given; /* borrowed from the arguments */
    enum item_state state;
    char *problem; /* for the model; NULL while there is none */
    bool lists;    /* the list of files helps with it */
    struct opened_file opening, opened;

    /* On the way to its text. */
    struct buf bytes; /* an image */
    enum status bytes_status;
    struct sound *sound;
    struct file_text fresh;   /* read just now */
    struct cached_text *text; /* held */
    char *remark;             /* how it was read, where that is worth saying; NULL for none */
    struct selection selection;
};

struct parse_call {
    struct parse_file_tool *tool;
    struct tool_run *run;
    struct parse_item *items;
    size_t n_items, n_over;
    int64_t budget; /* tokens of one file */
    bool hurried;   /* the time is nearly over */
};

/* ---- parse_file.c: what became of a file ---- */

void parse_item_done(struct parse_item *item);

/* `problem` ends in a full stop; it is told to the model. `detail` (may be NULL) is for the user. */
void parse_item_failed(struct parse_item *item, const char *detail, const char *problem, ...)
    __attribute__((format(printf, 3, 4)));

/* Whether callbacks of the item have nothing to do any more. */
bool parse_item_over(const struct parse_item *item);

/* ---- item.c; ends in one of the above, never from inside ---- */

void parse_item_start(struct parse_item *item);

/* The text is in item->fresh: keeps it and picks what is shown. */
void parse_item_text(struct parse_item *item);

/* There is hardly any time left: what there is of the item is taken, or it fails. Ends in one of the above, also from
 * inside. */
void parse_item_hurry(struct parse_item *item);

/* ---- sound.c: sound and film, piece by piece ---- */

void parse_item_listen(struct parse_item *item);

/* What was heard so far goes into item->fresh; false when nothing was. */
bool sound_take(struct parse_item *item, bool complete);
void sound_destroy(struct sound *sound); /* nothing of it may be under way; NULL is allowed */

/* ---- cache.c: loop thread, but for the texts themselves, which do not change ---- */

struct text_cache *text_cache_create(size_t max_bytes);
void text_cache_destroy(struct text_cache *cache); /* all texts must have been given back; NULL is allowed */

/* The text of a file as it is now, held; NULL when it is not there. To be given back. */
struct cached_text *text_cache_find(struct text_cache *cache, const struct found_file *file);

/* Keeps a measured text, which is taken over, and holds it. */
struct cached_text *text_cache_put(struct text_cache *cache, const struct found_file *file, struct file_text *text);

/* The same for a text that nobody shall find: one that is not whole. */
struct cached_text *cached_text_alone(struct file_text *text);
void text_cache_give(struct text_cache *cache, struct cached_text *text); /* NULL is allowed */
const struct file_text *cached_text(const struct cached_text *text);

/* ---- render.c ---- */

void parse_file_render(struct parse_call *call, struct buf *out);

#endif
