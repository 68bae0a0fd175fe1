/* src/core/log.h
 *
 * The log: for what libraries have to say that is neither a result nor an error of a call. Nothing is written unless a
 * sink is set; only the CLI sets one. Messages hold no keys. Any thread may log; the sink is called under a lock.
 */
#ifndef FATHOM_CORE_LOG_H
#define FATHOM_CORE_LOG_H

#include "core/str.h"

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

/* Receives one line without its newline. Must not log itself. */
typedef void (*log_sink_fn)(void *user, enum log_level level, const char *area, const char *message);

/* Sets who receives lines of `level` and more severe ones; NULL for silence. Call it before other threads start. */
void log_set_sink(log_sink_fn sink, void *user, enum log_level level);

/* `area` is the room or module that speaks, for example "net". */
void log_message(enum log_level level, const char *area, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
