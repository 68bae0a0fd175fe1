#include "protocol/generation.h"

const char *model_role_name(enum model_role role)
{
    switch (role) {
    case MODEL_AGENT:
        return "agent";
    case MODEL_SUMMARY:
        return "summary";
    case MODEL_VISION:
        return "vision";
    case MODEL_TRANSCRIPTION:
        return "transcription";
    case MODEL_ROLE_COUNT:
        break;
    }
    return "unknown";
}

const char *finish_reason_name(enum finish_reason reason)
{
    switch (reason) {
    case FINISH_STOP:
        return "stop";
    case FINISH_LENGTH:
        return "length";
    case FINISH_CONTENT_FILTER:
        return "content_filter";
    case FINISH_BROKEN:
        return "broken";
    case FINISH_CANCELED:
        return "canceled";
    }
    return "unknown";
}

double model_cost(const struct model_price *price, const struct usage *usage)
{
    int64_t prompt = usage->prompt > 0 ? usage->prompt : 0;
    int64_t completion = usage->completion > 0 ? usage->completion : 0;
    int64_t cached = usage->cached > 0 ? usage->cached : 0;
    if (cached > prompt)
        cached = prompt;
    if (price->prompt < 0 || price->completion < 0)
        return -1;
    double cached_price = price->cached >= 0 ? price->cached : price->prompt;
    return ((double)(prompt - cached) * price->prompt + (double)cached * cached_price +
            (double)completion * price->completion) /
           1e6;
}
