/* The event loop: one libuv loop per process, on a thread of its own, which starts with its first
 * user. It delivers timers, signals and wake-ups, and runs the progress of transfers (progress.h).
 * Thread:  any; functions that wait (tp_loop_release, tp_work_wait) must not be called on the loop
 * thread. Callbacks run on the loop thread: they must be short and must not block.
 * Errors:  UNAVAILABLE with libuv's reason. */
#ifndef TP_EVENT_LOOP_H
#define TP_EVENT_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct tp_loop tp_loop_t;
typedef void (*tp_loop_fn)(void *context);

/* Records the affinity mask of the calling thread before the thread is bound to some processors:
 * the loop's thread and its workers use the whole mask. Returns the number of processors in it. */
int tp_loop_note_processors(void);

/* Counted references to the process's loop: the first starts the thread, the last release ends it
 * after all posted functions have run. */
hr_status_t tp_loop_acquire(tp_loop_t **out_loop);
void tp_loop_release(tp_loop_t *loop); /* accepts NULL */

/* Runs fn(context) on the loop thread, asynchronously, in the order of the calls. */
hr_status_t tp_loop_post(tp_loop_t *loop, tp_loop_fn fn, void *context);
/* The same, and waits until fn has returned; on the loop thread, runs it at once. */
void tp_loop_call(tp_loop_t *loop, tp_loop_fn fn, void *context);
bool tp_loop_is_current(const tp_loop_t *loop); /* true on the loop thread */

/* --- sources of events: after tp_source_stop the callback of a source does not run --- */
typedef struct tp_source tp_source_t;
void tp_source_stop(tp_source_t *source); /* accepts NULL; may be called from callbacks */

/* Fires after first_ms, then every repeat_ms (0: once; it must be stopped nevertheless). */
hr_status_t tp_loop_timer(tp_loop_t *loop, uint64_t first_ms, uint64_t repeat_ms, tp_loop_fn fn,
                          void *context, tp_source_t **out_source);
/* Fires each time the process gets the signal; disables the signal's default action. */
hr_status_t tp_loop_signal(tp_loop_t *loop, int signal_number, tp_loop_fn fn, void *context,
                           tp_source_t **out_source);
/* Fires after tp_source_wake, which any thread and any signal handler may call; wake-ups merge. */
hr_status_t tp_loop_waker(tp_loop_t *loop, tp_loop_fn fn, void *context, tp_source_t **out_source);
void tp_source_wake(tp_source_t *source);

/* --- work that may block or take long, on the threads of libuv's pool --- */
typedef struct tp_work tp_work_t;
/* Errors: UNAVAILABLE if the pool's threads cannot be started, NO_MEMORY. */
hr_status_t tp_loop_work(tp_loop_t *loop, tp_loop_fn fn, void *context, tp_work_t **out_work);
void tp_work_wait(tp_work_t *work); /* waits until fn has returned; frees the work. Accepts NULL */

#endif
