/* src/api/setup_media.c: the service that writes down what is said in sound and film. */
#include "api/setup_internal.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "model/transcription.h"
#include "net/http.h"

#define USUAL_MODEL "whisper-1"

enum status setup_create_transcription(struct setup *setup, const char *const *agent_urls, size_t n_agent_urls,
                                       bool with_keys, struct error *error)
{
    const struct config *config = setup->config;
    const char *model = config_text(config, OPTION_TRANSCRIPTION_MODEL);
    const char *url = config_text(config, OPTION_TRANSCRIPTION_BASE_URL);
    enum option_id address = OPTION_TRANSCRIPTION_BASE_URL;
    if (url == NULL && model != NULL && n_agent_urls > 0) {
        url = agent_urls[0];
        address = OPTION_BASE_URL;
    }
    if (url == NULL)
        return STATUS_OK;
    bool own = address == OPTION_TRANSCRIPTION_BASE_URL;
    struct setup_headers headers;
    bool own_headers = own || config_is_set(config, OPTION_TRANSCRIPTION_HEADER);
    setup_headers_init(&headers, setup, own_headers ? OPTION_TRANSCRIPTION_HEADER : OPTION_HEADER);
    const struct transcription_options options = {
        .loop = setup->loop,
        .http = setup->http,
        .base_url = url,
        .api_key = with_keys || own ? setup_role_key(setup, OPTION_TRANSCRIPTION_API_KEY, address, url) : NULL,
        .model = model != NULL ? model : USUAL_MODEL,
        .language = config_text(config, OPTION_TRANSCRIPTION_LANGUAGE),
        .headers = headers.list,
        .n_headers = with_keys || own ? headers.count : 0,
        .max_in_flight = (size_t)config_integer(config, OPTION_TRANSCRIPTION_MAX_IN_FLIGHT),
        .timeout_ms = config_integer(config, OPTION_TRANSCRIPTION_TIMEOUT),
    };
    enum status status = transcription_client_create(&options, &setup->transcription, error);
    setup_headers_finish(&headers);
    return status == STATUS_OK ? status : setup_blame(setup, address, status, error);
}
