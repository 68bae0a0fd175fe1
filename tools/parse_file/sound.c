/* Sound and film: ffmpeg takes the sound out, a transcription service writes down what is said.
 *
 * The sound becomes MP3 of one fixed rate without a reservoir of bits, so that every frame has the same length and the
 * stream can be cut between any two: pieces of some ten minutes that begin at known times, small enough for every
 * service. */
#include "core/mem.h"
#include "tools/parse_file/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRAME_BYTES  144 /* 36 ms at 16 kHz and 32 kbit/s */
#define FRAME_MS     36
#define PIECE_FRAMES 16000 /* 9 minutes and 36 seconds */
#define PIECE_BYTES  ((size_t)FRAME_BYTES * PIECE_FRAMES)
#define MAX_PIECES   26 /* a little more than four hours */

/* Pieces under way at once, for one file. */
#define MAX_ASKED 4

struct piece {
    struct sound *sound;
    char *text; /* NULL until it is there */
    bool failed;
};

struct sound {
    struct parse_item *item;
    struct document_program *program; /* while ffmpeg runs */
    struct tool_hold *hold;
    struct buf stream;
    bool cut; /* there is more than MAX_PIECES */
    struct piece pieces[MAX_PIECES];
    size_t n_pieces, n_asked, n_answered;
    struct error error; /* of the piece that failed last */
};

void sound_destroy(struct sound *sound)
{
    if (!sound)
        return;
    for (size_t i = 0; i < sound->n_pieces; i++)
        free(sound->pieces[i].text);
    buf_finish(&sound->stream);
    free(sound);
}

/* ---- the transcript ---- */

static void add_time(struct buf *out, size_t piece)
{
    long long seconds = (long long)piece * PIECE_FRAMES * FRAME_MS / 1000;
    buf_addf(out, "[%02lld:%02lld:%02lld]", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

bool sound_take(struct parse_item *item, bool complete)
{
    const struct sound *sound = item->sound;
    struct buf text;
    size_t heard = 0;
    buf_init(&text, BUF_UNBOUNDED);
    for (size_t i = 0; i < sound->n_pieces; i++) {
        const struct piece *piece = &sound->pieces[i];
        if (text.len > 0)
            buf_add_text(&text, "\n\n");
        if (sound->n_pieces > 1) {
            add_time(&text, i);
            buf_add_char(&text, ' ');
        }
        if (piece->text)
            buf_add_text(&text, *piece->text ? piece->text : "(Nothing is said here.)");
        else
            buf_add_text(&text, "(This piece could not be transcribed.)");
        heard += piece->text != NULL;
    }
    if (heard > 0)
        item->fresh = (struct file_text){.kind = item->opened.kind,
                                         .markdown = text,
                                         .truncated = sound->cut,
                                         .notice = mem_strdup(complete && heard == sound->n_pieces
                                                                  ? "What is said in it, as a machine wrote it down."
                                                                  : "What is said in it, as a machine wrote it down; "
                                                                    "some pieces are missing.")};
    else
        buf_finish(&text);
    return heard > 0;
}

static void all_answered(struct parse_item *item)
{
    const struct sound *sound = item->sound;
    size_t failed = 0;
    for (size_t i = 0; i < sound->n_pieces; i++)
        failed += sound->pieces[i].failed;
    if (failed == sound->n_pieces) {
        parse_item_failed(item, sound->error.message, "the service that transcribes sound did not do so.");
    } else if (failed > 0) {
        tool_report_notice(item->call->run, "%s: %s", item->opened.file.name, sound->error.message);
        parse_item_hurry(item); /* shown, but not kept: asking again may get the rest */
    } else if (sound_take(item, true)) {
        parse_item_text(item);
    }
}

static void ask(struct sound *sound);

static void on_piece(void *user, const struct tool_completion *completion)
{
    struct piece *piece = user;
    struct sound *sound = piece->sound;
    if (parse_item_over(sound->item))
        return;
    sound->n_answered++;
    if (completion->status == STATUS_OK) {
        piece->text = str_dup(completion->text);
    } else {
        piece->failed = true;
        if (completion->error)
            sound->error = *completion->error;
    }
    if (sound->n_answered == sound->n_pieces)
        all_answered(sound->item);
    else
        ask(sound);
}

static void ask(struct sound *sound)
{
    struct str stream = buf_str(&sound->stream);
    while (sound->n_asked < sound->n_pieces && sound->n_asked - sound->n_answered < MAX_ASKED) {
        size_t index = sound->n_asked++;
        const struct tool_sound piece = {
            .bytes = str_slice(stream, index * PIECE_BYTES, (index + 1) * PIECE_BYTES),
            .name = STR("sound.mp3"),
            .media_type = STR("audio/mpeg"),
        };
        tool_transcribe(sound->item->call->run, &piece, on_piece, &sound->pieces[index]);
    }
}

/* ---- taking the sound out ---- */

static void cut_stream(struct sound *sound)
{
    size_t frames = sound->stream.len / FRAME_BYTES;
    sound->n_pieces = (frames + PIECE_FRAMES - 1) / PIECE_FRAMES;
    if (sound->n_pieces > MAX_PIECES)
        sound->n_pieces = MAX_PIECES;
    for (size_t i = 0; i < sound->n_pieces; i++)
        sound->pieces[i].sound = sound;
}

static void take_stream(struct sound *sound, struct child_result *result)
{
    struct parse_item *item = sound->item;
    const char *program = item->call->tool->ffmpeg;
    sound->cut = result->status == STATUS_TOO_BIG;
    bool failed = !sound->cut && (result->status != STATUS_OK || result->exit_code != 0);
    bool missing = result->status == STATUS_NOT_FOUND || (failed && result->exit_code == 127);
    sound->stream = result->output;
    result->output = (struct buf){0};
    cut_stream(sound);
    struct str words = str_trim(buf_str(&result->errors));
    char *detail = words.len > 0 ? mem_printf("%s: %.*s", program, STR_ARG(str_slice(words, 0, 300)))
                                 : mem_strdup(result->error.message);
    if (missing)
        parse_item_failed(item, "sound and film need ffmpeg; install it",
                          "sound and film cannot be read here: the program ffmpeg is missing.");
    else if (result->status == STATUS_TIMEOUT)
        parse_item_failed(item, detail, "taking the sound out of it took too long.");
    else if (sound->n_pieces == 0 && str_find_nocase(words, STR("matches no streams"), 0) != STR_NONE)
        parse_item_failed(item, detail, "it has no sound.");
    else if (sound->n_pieces == 0)
        parse_item_failed(item, detail, "no sound could be taken out of it; it may be broken.");
    else
        ask(sound);
    free(detail);
}

static void on_program_end(void *user, struct child_result *result)
{
    struct sound *sound = user;
    struct tool_hold *hold = sound->hold;
    sound->program = NULL;
    if (!parse_item_over(sound->item))
        take_stream(sound, result);
    tool_hold_end(hold);
}

static void on_call_over(void *user)
{
    struct sound *sound = user;
    if (sound->program)
        document_program_cancel(sound->program);
}

void parse_item_listen(struct parse_item *item)
{
    struct parse_call *call = item->call;
    /* What is read may name no other file or address. Forms that need seeking get a copy to seek in. */
    const char *const argv[] = {call->tool->ffmpeg,
                                "-nostdin",
                                "-hide_banner",
                                "-loglevel",
                                "error",
                                "-protocol_whitelist",
                                "pipe,cache",
                                "-i",
                                item->opened.seeks ? "cache:pipe:3" : "pipe:3",
                                "-map",
                                "0:a:0",
                                "-vn",
                                "-sn",
                                "-dn",
                                "-map_metadata",
                                "-1",
                                "-ac",
                                "1",
                                "-ar",
                                "16000",
                                "-c:a",
                                "libmp3lame",
                                "-b:a",
                                "32k",
                                "-reservoir",
                                "0",
                                "-write_xing",
                                "0",
                                "-id3v2_version",
                                "0",
                                "-f",
                                "mp3",
                                "pipe:1",
                                NULL};
    int64_t left = tool_time_left_ms(call->run);
    const struct document_program_options options = {
        .argv = argv,
        .descriptor = item->opened.file.descriptor,
        .max_output = MAX_PIECES * PIECE_BYTES,
        .timeout_ms = left > 10000 ? left - 8000 : left,
    };
    struct sound *sound = mem_zalloc(sizeof *sound);
    sound->item = item;
    sound_destroy(item->sound);
    item->sound = sound;
    item->state = ITEM_READING;
    lseek(item->opened.file.descriptor, 0, SEEK_SET);
    sound->program =
        document_program_start(call->tool->documents, tool_loop(call->run), &options, on_program_end, sound);
    sound->hold = tool_hold_begin(call->run, on_call_over, sound);
}
