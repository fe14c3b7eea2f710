/* Asynchronous progress: transfers advance on the event loop's thread while their process computes,
 * whenever the endpoint's own thread is outside the transport. It starts with the first transfer
 * that outlives the call that started it. After that, every call of collective.h and tp_channel.h
 * takes a lock, so that one thread at a time uses the transport (MPI in MPI_THREAD_SERIALIZED).
 * Requests with a reducer that needs the endpoint's thread (endpoint_thread_only) advance on that
 * thread only. HLORUN_PROGRESS: 0 disables it; 1 enables it even if the thread has no processor of
 * its own (tp_progress_is_forced; the caller decides). */
#ifndef TP_PROGRESS_H
#define TP_PROGRESS_H

#include "transport/core/group.h"

/* Starts asynchronous progress; no effect if it runs, or is disabled. Thread: the endpoint's,
 * outside of other calls. */
hr_status_t tp_progress_begin(tp_groups_t *groups);
bool tp_progress_is_forced(void);
void tp_progress_end(tp_groups_t *groups);

/* Recursive lock around all use of requests; no effect without asynchronous progress. */
void tp_progress_lock(tp_groups_t *groups);
void tp_progress_unlock(tp_groups_t *groups); /* wakes the loop thread if transfers are under way */

#endif
