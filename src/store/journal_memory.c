#include "core/mem.h"
#include "loop/loop.h"
#include "store/journal.h"

#include <stdlib.h>

struct kept_record {
    struct journal_record record; /* first: journal_memory_at hands it out */
    char *run, *data, *text;
};

struct pending_append {
    journal_done_fn done;
    void *user;
};

struct memory_journal {
    struct journal journal;
    struct loop *loop;
    struct kept_record *records;
    size_t n_records, records_capacity;
    struct pending_append *pending; /* in the order of the appends */
    size_t n_pending, pending_capacity;
};

void journal_append(struct journal *journal, const struct journal_record *record, journal_done_fn done, void *user)
{
    journal->append(journal, record, done, user);
}

void journal_destroy(struct journal *journal)
{
    if (journal)
        journal->destroy(journal);
}

static void end_pending(struct memory_journal *memory, enum status status)
{
    /* A done callback may append anew: that goes into a fresh list, for a later turn. */
    struct pending_append *pending = memory->pending;
    size_t count = memory->n_pending;
    struct error error = {.status = STATUS_OK};
    if (status != STATUS_OK)
        error_set(&error, status, "the journal was closed");
    memory->pending = NULL;
    memory->n_pending = memory->pending_capacity = 0;
    for (size_t i = 0; i < count; i++)
        pending[i].done(pending[i].user, status, &error);
    free(pending);
}

static void answer(void *user)
{
    end_pending(user, STATUS_OK);
}

static void keep(struct memory_journal *memory, const struct journal_record *record)
{
    memory->records = mem_grow(memory->records, memory->n_records, &memory->records_capacity, sizeof *memory->records);
    struct kept_record *kept = &memory->records[memory->n_records++];
    *kept = (struct kept_record){.record = *record};
    kept->run = mem_strdup(record->run);
    kept->data = str_dup(record->data);
    kept->text = str_dup(record->text);
    kept->record.run = kept->run;
    kept->record.data.data = kept->data;
    kept->record.text.data = kept->text;
}

static void memory_append(struct journal *journal, const struct journal_record *record, journal_done_fn done,
                          void *user)
{
    struct memory_journal *memory = (struct memory_journal *)journal;
    if (journal->keeps)
        keep(memory, record);
    if (memory->n_pending == 0)
        loop_defer(memory->loop, answer, memory);
    memory->pending = mem_grow(memory->pending, memory->n_pending, &memory->pending_capacity, sizeof *memory->pending);
    memory->pending[memory->n_pending++] = (struct pending_append){.done = done, .user = user};
}

static void memory_destroy(struct journal *journal)
{
    struct memory_journal *memory = (struct memory_journal *)journal;
    loop_defer_cancel(memory->loop, answer, memory);
    while (memory->n_pending > 0)
        end_pending(memory, STATUS_CANCELED);
    loop_defer_cancel(memory->loop, answer, memory);
    for (size_t i = 0; i < memory->n_records; i++) {
        free(memory->records[i].run);
        free(memory->records[i].data);
        free(memory->records[i].text);
    }
    free(memory->records);
    free(memory->pending);
    free(memory);
}

struct journal *journal_memory_create(struct loop *loop, bool keeps)
{
    struct memory_journal *memory = mem_zalloc(sizeof *memory);
    memory->journal = (struct journal){.keeps = keeps, .append = memory_append, .destroy = memory_destroy};
    memory->loop = loop;
    return &memory->journal;
}

size_t journal_memory_count(const struct journal *journal)
{
    return ((const struct memory_journal *)journal)->n_records;
}

const struct journal_record *journal_memory_at(const struct journal *journal, size_t index)
{
    return &((const struct memory_journal *)journal)->records[index].record;
}
