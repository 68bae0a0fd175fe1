/* tests/support/passage_set.h
 *
 * Questions to real pages: which of a page's passages hold the answer, and how high they rank.
 *
 * The set is JSON Lines, one object a question:
 *
 *     half        "develop", which the ranking may be tuned on, or "check", which it may not
 *     language    of question and page: "en", "zh", "ja"
 *     page        a file below the folder of pages (scripts/manuals)
 *     question    as a model would put it
 *     answer      lists of words: a passage answers it that holds all words of one of the lists
 *
 * A text holds words when it has them behind each other, whatever marks and blanks stand between them and in whatever
 * case: only ASCII letters and digits, and all other characters of more than one byte, are compared.
 */
#ifndef TESTS_SUPPORT_PASSAGE_SET_H
#define TESTS_SUPPORT_PASSAGE_SET_H

#include <stdbool.h>

#include "core/buf.h"
#include "text/passages.h"

#define PASSAGE_ANSWERS 4
#define PASSAGE_WORDS   4

struct passage_answer {
    char *words[PASSAGE_WORDS]; /* in the form in which texts are compared */
    size_t n_words;
};

struct passage_question {
    char *half, *language, *page, *question;
    struct passage_answer answers[PASSAGE_ANSWERS];
    size_t n_answers;
};

struct passage_set {
    struct passage_question *items;
    size_t count, capacity;
};

/* Reads the set; false, with a line on stderr, when it is not one. */
bool passage_set_load(const char *path, struct passage_set *out);
void passage_set_finish(struct passage_set *set);

bool passage_question_is_manual(const struct passage_question *question); /* else its page is HTML */

/* The page of a question as Markdown, appended to `out`; false when it cannot be read. */
bool passage_set_read(const char *folder, const char *page, struct buf *out);

/* Appends a text in the form in which texts are compared. */
void passage_set_fold(struct str text, struct buf *out);

/* Whether a text holds the answer. */
bool passage_question_holds(const struct passage_question *question, struct str text);

/* The place, from 1, of the best ranked passage that holds the answer; 0 when none of the first `limit` (at most 100)
 * does. */
size_t passage_question_place(const struct passage_question *question, struct str text, const struct passages *passages,
                              size_t limit);

#endif
