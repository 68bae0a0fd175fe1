#include "protocol/template_learn.h"

const struct prompt_view *template_probe(size_t index)
{
    static const struct prompt_view empty;
    (void)index;
    return &empty;
}

enum status template_learn(const struct str rendered[TEMPLATE_PROBE_COUNT], const struct chat_template **out,
                           struct error *error)
{
    (void)rendered;
    (void)out;
    return error_set(error, STATUS_UNSUPPORTED, "not learnt");
}

json_t *template_to_json(const struct chat_template *chat_template)
{
    return json_string(template_name(chat_template));
}

enum status template_from_json(const json_t *json, const struct chat_template **out, struct error *error)
{
    const struct chat_template *found = json_is_string(json) ? template_find(str_of(json_string_value(json))) : NULL;
    if (!found)
        return error_set(error, STATUS_INVALID, "no such chat template");
    *out = found;
    return STATUS_OK;
}
