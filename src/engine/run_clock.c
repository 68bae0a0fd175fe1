/* The run's clock and its one timer. */
#include "core/mem.h"
#include "engine/internal.h"

#include <stdlib.h>

int64_t run_now_ms(const struct run *run)
{
    int64_t until = run->pauses > 0 ? run->pause_began_ms : loop_now_ms(run->engine->loop);
    return until - run->started_ms - run->paused_ms;
}

static void arm(struct run *run)
{
    if (run->n_wakes == 0 || run->pauses > 0 || run->finished) {
        loop_timer_stop(run->timer);
        return;
    }
    int64_t earliest = run->wakes[0];
    for (size_t i = 1; i < run->n_wakes; i++) {
        if (run->wakes[i] < earliest)
            earliest = run->wakes[i];
    }
    loop_timer_start(run->timer, earliest - run_now_ms(run));
}

static void on_timer(void *user)
{
    struct run *run = user;
    int64_t now = run_now_ms(run);
    size_t left = 0;
    for (size_t i = 0; i < run->n_wakes; i++) {
        if (run->wakes[i] > now)
            run->wakes[left++] = run->wakes[i];
    }
    bool due = left < run->n_wakes;
    run->n_wakes = left;
    if (due)
        run_event_queue(run, run_event_create(run, EVENT_CLOCK, 0));
    arm(run);
}

void run_clock_init(struct run *run)
{
    run->started_ms = loop_now_ms(run->engine->loop);
    clock_gettime(CLOCK_REALTIME, &run->started_at);
    run->timer = loop_timer_create(run->engine->loop, on_timer, run);
}

void run_clock_finish(struct run *run)
{
    loop_timer_destroy(run->timer);
    run->timer = NULL;
    free(run->wakes);
    run->wakes = NULL;
    run->n_wakes = run->wakes_capacity = 0;
}

void run_wake_at(struct run *run, int64_t run_ms)
{
    for (size_t i = 0; i < run->n_wakes; i++) {
        if (run->wakes[i] == run_ms)
            return;
    }
    run->wakes = mem_grow(run->wakes, run->n_wakes, &run->wakes_capacity, sizeof *run->wakes);
    run->wakes[run->n_wakes++] = run_ms;
    arm(run);
}

void run_waits(struct run *run, bool waits)
{
    int64_t now = loop_now_ms(run->engine->loop);
    if (waits) {
        if (run->pauses++ == 0)
            run->pause_began_ms = now;
    } else if (--run->pauses == 0) {
        run->paused_ms += now - run->pause_began_ms;
    }
    if (run->timer)
        arm(run);
}
