/* The loop: one libuv event loop per process, on a thread of its own, which starts when something
 * first needs it. It delivers timers and signals; sockets of feeds and the progress of transfers
 * join it through tp_loop_uv. Thread: the functions here may be called from any thread; those that
 * wait (tp_loop_release, tp_work_wait) not from the loop's own. Callbacks run on the loop thread:
 * they must be short and must not block. Errors: UNAVAILABLE with libuv's reason. */
#ifndef TP_EVENT_LOOP_H
#define TP_EVENT_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct tp_loop tp_loop_t;
typedef void (*tp_loop_fn)(void *context);

/* Remembers the processors that the calling thread may use, before it is bound to some of them: the
 * loop's thread will be free to use all of them. Returns their number. */
int tp_loop_note_processors(void);

/* The process's loop. The first call starts it; every call is undone by one tp_loop_release, the
 * last of which ends the thread (what was posted before still runs). */
hr_status_t tp_loop_acquire(tp_loop_t **out_loop);
void tp_loop_release(tp_loop_t *loop); /* accepts NULL */

/* Runs fn(context) on the loop thread: soon, in the order of the calls. From any thread. */
hr_status_t tp_loop_post(tp_loop_t *loop, tp_loop_fn fn, void *context);
/* The same, and waits until it has run; on the loop thread itself it runs at once. */
void tp_loop_call(tp_loop_t *loop, tp_loop_fn fn, void *context);
bool tp_loop_is_current(const tp_loop_t *loop); /* is this the loop's thread? */
/* For what adds handles of its own (sockets, pipes): only on the loop thread. */
struct uv_loop_s *tp_loop_uv(tp_loop_t *loop);

/* --- sources of events: each ends with tp_source_stop, after which its callback does not run any
 * more --- */
typedef struct tp_source tp_source_t;
void tp_source_stop(tp_source_t *source); /* accepts NULL; also from callbacks */

/* First after first_ms, then every repeat_ms (0: once only; it must be stopped nevertheless). */
hr_status_t tp_loop_timer(tp_loop_t *loop, uint64_t first_ms, uint64_t repeat_ms, tp_loop_fn fn,
                          void *context, tp_source_t **out_source);
/* Each time the process gets the signal, whose default action is then off. */
hr_status_t tp_loop_signal(tp_loop_t *loop, int signal_number, tp_loop_fn fn, void *context,
                           tp_source_t **out_source);
/* When others call tp_source_wake (from any thread, signal handlers too); wakes may be merged. */
hr_status_t tp_loop_waker(tp_loop_t *loop, tp_loop_fn fn, void *context, tp_source_t **out_source);
void tp_source_wake(tp_source_t *source);

/* --- work: done on libuv's worker threads, for what may block or take long --- */
typedef struct tp_work tp_work_t;
hr_status_t tp_loop_work(tp_loop_t *loop, tp_loop_fn fn, void *context, tp_work_t **out_work);
void tp_work_wait(tp_work_t *work); /* until fn has returned; frees the work. Accepts NULL */

#endif
