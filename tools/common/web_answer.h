/* tools/common/web_answer.h
 *
 * What a search service's HTTP response means: an answer to read, or a failure in words for model and person. Every
 * service is judged by the same rules, save what it says of itself in its struct web_service:
 *
 *     no response            timed out, unreachable: may pass; refused by us, or redirected: the address is wrong
 *     401, 403               denied: not again for some minutes
 *     402                    the account is used up: the same
 *     404                    the address is wrong
 *     429                    too fast: again after Retry-After, or what X-RateLimit-Reset says (seconds); from ten
 *                            minutes on the account is used up
 *     5xx, 408, 425          a fault of the service: may pass
 *     other codes            the query was not accepted
 *     200 and an error       an object with "error", "errors" or the like, and no results: as its words say
 *     200 and no JSON        empty: may pass; a web page: a captcha or a login; other: may pass. What is damaged inside
 *                            its strings alone (NUL, half a surrogate pair, invalid UTF-8) is read
 *
 * The service's own words on a failure are told to the person, in one line of at most 200 bytes, without the key.
 */
#ifndef FATHOM_TOOLS_COMMON_WEB_ANSWER_H
#define FATHOM_TOOLS_COMMON_WEB_ANSWER_H

#include "core/json.h"
#include "net/http.h"
#include "tools/common/chain.h"

#define WEB_MAX_RESPONSE ((size_t)4 * 1024 * 1024)

/* What is wrong with a response. */
enum web_fault {
    WEB_FINE,
    WEB_DENIED,   /* no key, a wrong one, or access is not allowed */
    WEB_USED_UP,  /* the account's quota is gone */
    WEB_BUSY,     /* too many requests at the moment */
    WEB_BROKEN,   /* a fault of the service's own */
    WEB_ROBOT,    /* it wants proof of a human: a captcha */
    WEB_NOWHERE,  /* nothing at this address */
    WEB_REJECTED, /* the query was not accepted */
};

/* What tells one service from another. Static. */
struct web_service {
    const char *name; /* for a person: "Brave Search" */
    /* Remedies for the faults of these names: "check BRAVE_API_KEY". */
    const char *denied, *used_up, *busy;
    const char *robot; /* NULL where it asks no captcha */

    /* Judges what the rules above would get wrong, such as an error code that this service uses in its own way; `root`
     * is the body, NULL where it is no JSON. `usual` is what the rules say. NULL: the rules hold. */
    enum web_fault (*judge)(const struct http_response *response, const json_t *root, enum web_fault usual);
};

/* Reads the response of the current try. True: the body is a JSON object without a fault; a new
 * reference in *root; the try is still to be ended. False: the try was ended (chain_failed), or the call is over
 * (tool_canceled): nothing is left to do. `key` is what must not be repeated to anybody; NULL for none. */
bool web_answer_json(struct chain *chain, const struct http_response *response, const struct web_service *service,
                     const char *key, json_t **root);

/* The same for a body that is HTML, XML or plain text: *body is not empty, borrowed from the response. */
bool web_answer_text(struct chain *chain, const struct http_response *response, const struct web_service *service,
                     const char *key, struct str *body);

/* Ends the try for a fault that the back end found by itself in an answer. `words` are the service's own, or empty. */
void web_answer_fault(struct chain *chain, const struct http_response *response, const struct web_service *service,
                      const char *key, enum web_fault fault, struct str words);

/* Ends the try because the body is not what it should be: "Brave Search sent `what`". */
void web_answer_unreadable(struct chain *chain, const struct web_service *service, bool may_pass, const char *what);

/* Ends the try because the service `name` cannot be asked without a key; does nothing when the call is over. `remedy`:
 * "set BRAVE_API_KEY". To be called through tool_wait, as chain_backend.ask must not end a try itself. */
void web_answer_no_key(struct chain *chain, const char *name, const char *remedy);

/* The words with which a JSON answer explains an error, from the places where services put them: "message", "error",
 * "detail", "title", "errors"[0], or one of these inside "error" or "detail". Empty where there are none. Borrowed from
 * `root`. */
struct str web_answer_words(const json_t *root);

#endif
