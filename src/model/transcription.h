/* src/model/transcription.h
 *
 * Sound to text by a service that speaks OpenAI's form: POST {base}/audio/transcriptions, multipart/form-data with
 * `file`, `model` and `response_format`, and a JSON object with `text` back (platform.openai.com, "Audio"; also
 * whisper.cpp's server, faster-whisper-server, vLLM, Groq).
 *
 * What may pass (429, 5xx, no connection) is tried again; requests beyond max_in_flight wait their turn. Loop thread
 * only. The key goes to the address it was configured with and stands in no error.
 */
#ifndef FATHOM_MODEL_TRANSCRIPTION_H
#define FATHOM_MODEL_TRANSCRIPTION_H

#include <stddef.h>
#include <stdint.h>

#include "core/status.h"
#include "core/str.h"
#include "protocol/generation.h"

struct http_client;
struct http_header;
struct loop;
struct transcription_call; /* one piece of sound under way */
struct transcription_client;

#define TRANSCRIPTION_DEFAULT_TRIES      4
#define TRANSCRIPTION_DEFAULT_IN_FLIGHT  4
#define TRANSCRIPTION_DEFAULT_TIMEOUT_MS 300000

/* The most that a service takes in one request, as the largest of them says. */
#define TRANSCRIPTION_MAX_BYTES ((size_t)25 * 1024 * 1024)

/* Zeroed members take the defaults. Everything is copied but loop and http. */
struct transcription_options {
    struct loop *loop;        /* borrowed until destroy */
    struct http_client *http; /* borrowed until destroy */
    const char *base_url;     /* "https://host/v1"; a bare origin gets "/v1" */
    const char *api_key;      /* NULL or empty: none */
    const char *model;        /* "whisper-1" */
    const char *language;     /* ISO 639-1, when it is known; NULL: found out */
    const struct http_header *headers;
    size_t n_headers;
    int max_tries;
    size_t max_in_flight;
    int64_t timeout_ms; /* of one request */

    /* The wait before the next try; NULL: retry_delay_ms of net/retry.h. For tests. */
    int64_t (*retry_delay)(unsigned tries, int64_t retry_after_ms, double chance);
};

/* STATUS_INVALID when the address is no http or https URL, or no model is named. */
enum status transcription_client_create(const struct transcription_options *options, struct transcription_client **out,
                                        struct error *error) STATUS_CHECKED;

/* No call may be under way. NULL is allowed. */
void transcription_client_destroy(struct transcription_client *client);

/* "whisper-1 at http://127.0.0.1:8000/v1", for people; without user and password. */
const char *transcription_client_name(const struct transcription_client *client);

struct transcription_sound {
    struct str bytes;      /* copied */
    struct str name;       /* "sound.ogg": services go by its ending. Letters, digits, dots and dashes only */
    struct str media_type; /* "audio/ogg" */
};

/* Borrowed until the callback returns.
 *
 * STATUS_OK
 * STATUS_TOO_BIG   larger than TRANSCRIPTION_MAX_BYTES, or than the service takes
 * STATUS_DENIED    the service refuses for good: the key, the model, the sound's form
 * STATUS_NETWORK   all tries are used up
 * STATUS_CANCELED  transcription_cancel */
struct transcription_result {
    enum status status;
    struct error error; /* names the host; unless status is STATUS_OK */
    struct str text;
    struct usage usage; /* of services that count tokens; -1 elsewhere */
    int tries;
};

typedef void (*transcription_done_fn)(void *user, const struct transcription_result *result);

/* `done` comes exactly once, never from inside this call. The handle is valid until then. */
struct transcription_call *transcription_start(struct transcription_client *client,
                                               const struct transcription_sound *sound, transcription_done_fn done,
                                               void *user);

/* `done` comes with STATUS_CANCELED in a later turn. */
void transcription_cancel(struct transcription_call *call);

#endif
