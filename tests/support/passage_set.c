#include "support/passage_set.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/json.h"
#include "core/mem.h"
#include "readers/reader.h"
#include "text/rank.h"

#define MAX_LIMIT 100

static bool read_answer(const json_t *list, struct passage_answer *answer)
{
    size_t count = json_array_size(list);
    for (size_t i = 0; i < count && i < PASSAGE_WORDS; i++) {
        struct buf folded;
        buf_init(&folded, BUF_UNBOUNDED);
        passage_set_fold(str_of(json_string_value(json_array_get(list, i))), &folded);
        if (!folded.len)
            return false;
        answer->words[answer->n_words++] = buf_take(&folded);
    }
    return count > 0 && count <= PASSAGE_WORDS;
}

static bool add_question(struct passage_set *set, const json_t *line)
{
    const json_t *lists = json_object_get(line, "answer");
    size_t count = json_array_size(lists);
    set->items = mem_grow(set->items, set->count, &set->capacity, sizeof *set->items);
    struct passage_question *question = &set->items[set->count++];
    *question = (struct passage_question){
        .half = str_dup(json_get_str(line, "half")),
        .language = str_dup(json_get_str(line, "language")),
        .page = str_dup(json_get_str(line, "page")),
        .question = str_dup(json_get_str(line, "question")),
    };
    bool good = *question->half && *question->page && *question->question && count > 0 && count <= PASSAGE_ANSWERS;
    for (size_t i = 0; good && i < count; i++)
        good = read_answer(json_array_get(lists, i), &question->answers[question->n_answers++]);
    return good;
}

bool passage_set_load(const char *path, struct passage_set *out)
{
    struct buf bytes;
    struct error error;
    *out = (struct passage_set){0};
    buf_init(&bytes, 16 << 20);
    bool good = file_read(path, &bytes, &error) == STATUS_OK;
    struct str rest = buf_str(&bytes), line;
    for (size_t number = 1; good && str_split_next(&rest, '\n', &line); number++) {
        json_t *object = NULL;
        if (!line.len)
            continue;
        good = json_parse(line, &object, &error) == STATUS_OK && add_question(out, object);
        if (!good)
            fprintf(stderr, "%s:%zu: no question\n", path, number);
        json_decref(object);
    }
    buf_finish(&bytes);
    return good;
}

void passage_set_finish(struct passage_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        struct passage_question *question = &set->items[i];
        free(question->half);
        free(question->language);
        free(question->page);
        free(question->question);
        for (size_t a = 0; a < question->n_answers; a++)
            for (size_t w = 0; w < question->answers[a].n_words; w++)
                free(question->answers[a].words[w]);
    }
    free(set->items);
    *set = (struct passage_set){0};
}

bool passage_question_is_manual(const struct passage_question *question)
{
    return strstr(question->page, "/share/man/") != NULL;
}

bool passage_set_read(const char *folder, const char *page, struct buf *out)
{
    char *path = mem_printf("%s/%s", folder, page);
    char *man_root = reader_is_man_name(str_of(page)) ? reader_man_root(path) : NULL;
    struct reader_source source = {
        .from_descriptor = true, .confined = true, .name = str_of(page), .man_root = man_root};
    struct reader_text text;
    struct error error;
    source.descriptor = open(path, O_RDONLY | O_CLOEXEC);
    bool good = source.descriptor >= 0 && reader_read(&source, &text, &error) == STATUS_OK;
    if (good) {
        buf_add(out, buf_str(&text.markdown));
        reader_text_finish(&text);
    }
    if (source.descriptor >= 0)
        close(source.descriptor);
    free(man_root);
    free(path);
    return good;
}

void passage_set_fold(struct str text, struct buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (ascii_is_alnum(c) || (unsigned char)c >= 0x80)
            buf_add_char(out, ascii_lower(c));
    }
}

bool passage_question_holds(const struct passage_question *question, struct str text)
{
    struct buf folded;
    buf_init(&folded, BUF_UNBOUNDED);
    passage_set_fold(text, &folded);
    bool holds = false;
    for (size_t a = 0; a < question->n_answers; a++) {
        const struct passage_answer *answer = &question->answers[a];
        bool all = true;
        for (size_t w = 0; w < answer->n_words; w++)
            all = all && str_find(buf_str(&folded), str_of(answer->words[w]), 0) != STR_NONE;
        holds = holds || all;
    }
    buf_finish(&folded);
    return holds;
}

size_t passage_question_place(const struct passage_question *question, struct str text, const struct passages *passages,
                              size_t limit)
{
    struct ranked best[MAX_LIMIT];
    size_t found =
        rank_passages(text, passages, str_of(question->question), best, limit < MAX_LIMIT ? limit : MAX_LIMIT);
    for (size_t i = 0; i < found; i++) {
        const struct passage *passage = &passages->items[best[i].index];
        if (passage_question_holds(question, str_slice(text, passage->from, passage->to)))
            return i + 1;
    }
    return 0;
}
