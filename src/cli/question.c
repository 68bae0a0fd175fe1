#include "cli/question.h"

#include <stdlib.h>
#include <string.h>

#include "cli/terminal.h"
#include "core/mem.h"
#include "core/schema.h"

#define MAX_SHOWN_BYTES 4000

void question_init(struct question *question, const struct ask_question *asked)
{
    *question = (struct question){.asked = asked, .fields = json_object()};
    buf_init(&question->answer, BUF_UNBOUNDED);
    json_t *properties = json_object_get(asked->schema, "properties");
    if (asked->purpose == ASK_FOR_ANSWER)
        question->field = json_object_iter_key(json_object_iter(properties));
}

void question_finish(struct question *question)
{
    json_decref(question->fields);
    buf_finish(&question->answer);
    *question = (struct question){0};
}

static const json_t *field_schema(const struct question *question)
{
    return json_object_get(json_object_get(question->asked->schema, "properties"), question->field);
}

static bool is_required(const struct question *question)
{
    size_t i;
    json_t *name;
    json_array_foreach (json_object_get(question->asked->schema, "required"), i, name) {
        if (json_is_string(name) && strcmp(json_string_value(name), question->field) == 0)
            return true;
    }
    return false;
}

/* ---- showing ---- */

static void add_clean(struct buf *out, struct str text, bool one_line)
{
    terminal_clean(out, str_slice(text, 0, MAX_SHOWN_BYTES), one_line);
    if (text.len > MAX_SHOWN_BYTES)
        buf_add_text(out, " …");
}

void question_show(const struct question *question, struct buf *out)
{
    const struct ask_question *asked = question->asked;
    add_clean(out, str_of(asked->tool), true);
    if (asked->purpose == ASK_FOR_ANSWER) {
        buf_add_text(out, " asks: ");
        add_clean(out, asked->text, false);
        buf_add_text(out, "\n(- declines)");
        return;
    }
    char *arguments = json_to_text(asked->arguments);
    buf_add_text(out, " wants to run with ");
    add_clean(out, str_of(arguments), true);
    free(arguments);
    if (asked->code.len > 0) {
        buf_add_text(out, "\n");
        add_clean(out, asked->code, false);
    }
}

static void add_choices(struct buf *out, const json_t *schema)
{
    const json_t *choices = json_object_get(schema, "enum"), *value = json_object_get(schema, "default");
    const char *type = json_get_string(schema, "type");
    size_t i;
    json_t *choice;
    if (type && strcmp(type, "boolean") == 0)
        buf_add_text(out, " (true or false)");
    json_array_foreach (choices, i, choice) {
        char *text = json_is_string(choice) ? mem_strdup(json_string_value(choice)) : json_to_text(choice);
        buf_add_text(out, i == 0 ? " (" : ", ");
        add_clean(out, str_of(text), true);
        free(text);
    }
    buf_add_text(out, json_array_size(choices) > 0 ? ")" : "");
    if (value) {
        char *text = json_is_string(value) ? mem_strdup(json_string_value(value)) : json_to_text(value);
        buf_add_text(out, " [");
        add_clean(out, str_of(text), true);
        buf_add_text(out, "]");
        free(text);
    }
}

void question_prompt(const struct question *question, struct buf *out)
{
    if (question->asked->purpose == ASK_FOR_PERMISSION) {
        buf_add_text(out, "Run it? y for yes, a for always, n for no: ");
        return;
    }
    if (question->field) {
        const json_t *schema = field_schema(question);
        struct str title = json_get_str(schema, "title"), about = json_get_str(schema, "description");
        add_clean(out, title.len > 0 ? title : str_of(question->field), true);
        if (about.len > 0) {
            buf_add_text(out, ", ");
            add_clean(out, about, true);
        }
        add_choices(out, schema);
    }
    buf_add_text(out, "> ");
}

/* ---- taking lines in ---- */

static enum question_step end(struct question *question)
{
    char *text = json_to_text(question->fields);
    buf_add_text(&question->answer, text);
    free(text);
    return QUESTION_DONE;
}

/* The value goes to the form, and the next field is due. */
static enum question_step next_field(struct question *question, json_t *value)
{
    json_t *properties = json_object_get(question->asked->schema, "properties");
    if (value)
        json_object_set_new(question->fields, question->field, value);
    void *at = json_object_iter_at(properties, question->field);
    question->field = json_object_iter_key(json_object_iter_next(properties, at));
    return question->field ? QUESTION_MORE : end(question);
}

static enum question_step take_field(struct question *question, struct str line, struct buf *complaint)
{
    const json_t *schema = field_schema(question);
    const json_t *fallback = json_object_get(schema, "default");
    if (line.len == 0 && fallback)
        return next_field(question, json_deep_copy(fallback));
    if (line.len == 0 && !is_required(question))
        return next_field(question, NULL);
    bool flag = json_get_string(schema, "type") && strcmp(json_get_string(schema, "type"), "boolean") == 0;
    if (flag && (str_equal_ascii_nocase(line, STR("y")) || str_equal_ascii_nocase(line, STR("yes"))))
        line = STR("true");
    if (flag && (str_equal_ascii_nocase(line, STR("n")) || str_equal_ascii_nocase(line, STR("no"))))
        line = STR("false");
    struct error error;
    json_t *value = json_from_str(line);
    if (schema_check(schema, &value, NULL, &error) == STATUS_OK)
        return next_field(question, value);
    json_decref(value);
    add_clean(complaint, str_of(error.message), true);
    return QUESTION_AGAIN;
}

static enum question_step take_consent(struct question *question, struct str line)
{
    if (str_equal_ascii_nocase(line, STR("y")) || str_equal_ascii_nocase(line, STR("yes")))
        buf_add_text(&question->answer, "once");
    else if (str_equal_ascii_nocase(line, STR("a")) || str_equal_ascii_nocase(line, STR("always")))
        buf_add_text(&question->answer, "always");
    else if (str_equal_ascii_nocase(line, STR("n")) || str_equal_ascii_nocase(line, STR("no")))
        return QUESTION_DECLINED;
    return question->answer.len > 0 ? QUESTION_DONE : QUESTION_AGAIN;
}

enum question_step question_take(struct question *question, struct str line, struct buf *complaint)
{
    line = str_trim(line);
    if (str_equal(line, STR("-")))
        return QUESTION_DECLINED;
    if (question->asked->purpose == ASK_FOR_PERMISSION)
        return take_consent(question, line);
    if (question->field)
        return take_field(question, line, complaint);
    if (question->asked->schema) /* a form without fields: seen */
        return end(question);
    if (line.len == 0)
        return QUESTION_AGAIN;
    buf_add(&question->answer, line);
    return QUESTION_DONE;
}
