/* src/cli/question.h
 *
 * A question to the person at the terminal as a conversation of lines: a free text, the fields of a form one after
 * another, or consent to a call. Pure: it says what to show and takes lines in; src/cli/asking.c does the talking.
 *
 * An empty line takes a field's default, or leaves out a field that need not be there. A line of "-" declines.
 */
#ifndef FATHOM_CLI_QUESTION_H
#define FATHOM_CLI_QUESTION_H

#include "core/buf.h"
#include "core/json.h"
#include "engine/ask.h"

struct question {
    const struct ask_question *asked; /* borrowed */
    json_t *fields;                   /* what was entered of a form */
    const char *field;                /* being entered; NULL when none is */
    struct buf answer;
};

void question_init(struct question *question, const struct ask_question *asked);
void question_finish(struct question *question);

/* Appends what introduces the question, clean, in lines. Once, at the beginning. */
void question_show(const struct question *question, struct buf *out);

/* Appends the line at whose end the person types, clean. */
void question_prompt(const struct question *question, struct buf *out);

enum question_step {
    QUESTION_MORE,  /* go on with question_prompt */
    QUESTION_AGAIN, /* the same; `complaint` says what was wrong with the line */
    QUESTION_DONE,  /* the answer is in question->answer, as ask_answer wants it */
    QUESTION_DECLINED,
};

/* Takes in a line without its newline. */
enum question_step question_take(struct question *question, struct str line, struct buf *complaint);

#endif
