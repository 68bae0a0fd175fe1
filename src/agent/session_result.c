/* The end of a run: everything under way is stopped, and what it came to is put together. */
#include <stdlib.h>
#include <string.h>

#include "agent/session_state.h"
#include "core/mem.h"

const char *termination_name(enum termination termination)
{
    switch (termination) {
    case TERMINATION_ANSWER:
        return "answer";
    case TERMINATION_CALL_LIMIT:
        return "call_limit";
    case TERMINATION_TOKEN_LIMIT:
        return "token_limit";
    case TERMINATION_TIME_LIMIT:
        return "time_limit";
    case TERMINATION_BUDGET:
        return "budget";
    case TERMINATION_STUCK:
        return "stuck";
    case TERMINATION_MODEL_ERROR:
        return "model_error";
    case TERMINATION_INTERRUPTED:
        return "interrupted";
    case TERMINATION_STOPPED:
        return "stopped";
    }
    return "unknown";
}

void session_predict(struct session *session, struct str prediction, bool answered)
{
    free(session->prediction);
    session->prediction = str_dup(prediction);
    session->result.prediction = str_make(session->prediction, prediction.len);
    session->result.answered = answered;
}

static void count_tools(struct session *session)
{
    session->tool_counts = mem_calloc(session->n_tools + 1, sizeof *session->tool_counts);
    for (size_t i = 0; i < session->n_tools; i++)
        session->tool_counts[i] = (struct tool_count){session->tools[i].signature->name, session->tools[i].calls};
    session->result.tool_calls = session->tool_counts;
    session->result.n_tool_calls = session->n_tools;
}

static void complete_result(struct session *session)
{
    struct result *result = &session->result;
    const struct ledger *ledger = &session->ledger;
    result->transcript = session->transcript;
    result->count_method = token_meter_method(&session->meter);
    result->context_from_server = strcmp(result->count_method, "server") == 0;
    memcpy(result->role_usage, ledger->role_usage, sizeof result->role_usage);
    memcpy(result->role_calls, ledger->role_calls, sizeof result->role_calls);
    result->finish_reasons = ledger->reasons;
    result->n_finish_reasons = ledger->n_reasons;
    result->elapsed_ms = session->run_ms;
    result->cost_usd = ledger_cost(ledger, session->config.price);
    sources_mark_cited(session->sources, result->prediction);
    result->sources = sources_list(session->sources, &result->n_sources);
    result->served_model = str_of(session->served_model);
    count_tools(session);
}

void session_finish(struct session *session, enum termination termination, const struct error *error)
{
    session_calls_stop(session, OUTCOME_INTERRUPTED);
    if (!session->result.answered) {
        enum status status = session_calls_observe(session);
        (void)status; /* without room for it the record ends with what the model wrote */
    }
    if (session->round.generation != 0) {
        session_push(session, EFFECT_CANCEL, session->round.generation);
        session->round.generation = 0;
    }
    session->due = false;
    session->result.termination = termination;
    if (error)
        session->result.error = *error;
    complete_result(session);
    if (session->result.prediction.len > 0)
        session_notify(session, NOTICE_ANSWER, session->result.prediction);
    session_notify(session, NOTICE_RUN_FINISHED, str_of(termination_name(termination)));
    session->state = SESSION_DONE;
    session_push(session, EFFECT_FINISH, session_new_id(session));
}
