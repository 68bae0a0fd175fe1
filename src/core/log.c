#include "core/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static log_sink_fn log_sink;
static void *log_user;
static enum log_level log_threshold;

void log_set_sink(log_sink_fn sink, void *user, enum log_level level)
{
    log_sink = sink;
    log_user = user;
    log_threshold = level;
}

void log_message(enum log_level level, const char *area, const char *format, ...)
{
    if (!log_sink || level > log_threshold)
        return;
    char message[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&log_lock);
    log_sink(log_user, level, area, message);
    pthread_mutex_unlock(&log_lock);
}
