/* tools/common/chain.h
 *
 * One query on its way through the back ends of a tool, best first: each is asked, asked again after a while for what
 * may pass, and where it fails, has used up its quota or finds nothing, the next one is asked. Who watches is told why
 * (tool_report_notice); what the model should know is left in the chain for the tool to word.
 *
 * A tool keeps one struct chain_backend for each service as long as it lives; all its queries, of all sessions, share
 * them: that is how requests to a service keep their distance, and how one that refused (wrong key, no credits left) is
 * left in peace for some minutes while there are others. A query whose turn would come when its call is over does not
 * wait for it. A struct chain is embedded in the tool's own query:
 *
 *     chain_init(&query->chain, &options);
 *     chain_start(&query->chain);
 *         -> backend->ask(query)              sends a request, a job …; its callback ends the try with one of
 *              chain_answered(&query->chain, n_results)
 *              chain_fail(&query->chain, …), chain_failed(&query->chain)
 *         -> options.settled(query)           exactly once, from inside one of these, chain_give_up included
 *     chain_finish(&query->chain);
 *
 * All on the loop's thread. A callback that comes when tool_canceled(run) holds must not touch the chain any more.
 */
#ifndef FATHOM_TOOLS_COMMON_CHAIN_H
#define FATHOM_TOOLS_COMMON_CHAIN_H

#include "core/buf.h"
#include "engine/tool.h"

#define CHAIN_MAX_BACKENDS 8
#define CHAIN_REST_MS      300000 /* so long a service is left in peace that refused for good */

/* A service as this tool knows it. Zero what is not said. */
struct chain_backend {
    const char *name; /* as the configuration and the model know it: "brave" */

    /* Begins a try for the query whose chain_options named `user`. Returns at once; none of the chain_… functions may
     * be called from inside. */
    void (*ask)(void *user);

    int64_t gap_ms; /* least time between two requests, as the service demands; may be learnt from its answers */

    /* The chain's own. */
    int64_t free_ms;       /* on the loop's clock: when the next request may go */
    int64_t rest_until_ms; /* on the loop's clock: left in peace until then */
};

/* Why a back end gave nothing for a query. */
struct chain_failure {
    char model[256];        /* what the model is told: no address, no key, what to do next */
    char person[512];       /* what the user is told: the remedy, in one line. No key */
    bool may_pass;          /* worth another try */
    bool rests;             /* will be the same for every query: a wrong key, a used up account */
    int64_t retry_after_ms; /* as the server named it; -1 where it did not */
};

struct chain_options {
    struct tool_run *run;
    const char *what;                      /* the query, for notices: "search for …"; borrowed until chain_finish */
    struct chain_backend *const *backends; /* the array is copied, the back ends are borrowed */
    size_t n_backends;                     /* 1 to CHAIN_MAX_BACKENDS */
    unsigned tries;                        /* most requests to one back end, >= 1 */
    void (*settled)(void *user);
    void *user; /* for ask and settled */
};

enum chain_state {
    CHAIN_ASKING,
    CHAIN_FOUND,  /* the current back end has results */
    CHAIN_EMPTY,  /* at least one back end answered, none has results */
    CHAIN_FAILED, /* none answered; `failure` is that of the last */
};

struct chain {
    struct chain_options options;
    struct chain_backend *backends[CHAIN_MAX_BACKENDS];
    enum chain_state state;
    size_t current;   /* the back end being asked, or the one that ended it */
    unsigned tries;   /* of it */
    int64_t began_ms; /* on the loop's clock: its first try */
    bool empty;       /* a back end answered without results */
    uint64_t chance;
    struct chain_failure failure;
    struct buf passed; /* "serper failed, searxng found nothing": those before the current one; empty for none */
};

void chain_init(struct chain *chain, const struct chain_options *options);
void chain_finish(struct chain *chain); /* NULL and zeroed are allowed */

/* Asks the first back end that is not at rest; where all are, the first. */
void chain_start(struct chain *chain);

/* The back end being asked. */
struct chain_backend *chain_backend(const struct chain *chain);

/* The try succeeded. With no results the next back end is asked, where there is one. */
void chain_answered(struct chain *chain, size_t n_results);

/* Words a failure of the current try; chain_failed is still to be called, and may_pass, rests and retry_after_ms may be
 * set before. `person` is a format. */
void chain_fail(struct chain *chain, const char *model, const char *person, ...) __attribute__((format(printf, 3, 4)));

/* The try failed as chain->failure says: it is made again, or the next back end is asked. */
void chain_failed(struct chain *chain);

/* Time is nearly over: settles the chain as failed, unless it has settled. Callbacks of the try that is under way must
 * not come any more: call this only right before tool_finish. */
void chain_give_up(struct chain *chain);

/* Appends "(serper failed; these results come from brave.)" where the first back end was not the one that found
 * something; else nothing. For profiles whose observations are generic. */
void chain_tell(const struct chain *chain, struct buf *out);

#endif
