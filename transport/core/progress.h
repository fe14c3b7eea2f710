/* Transfers move on while their process computes: on the loop thread, which looks after them
 * whenever the endpoint's own thread is not inside of the transport. It begins with the first
 * transfer that outlives the call that started it; from then on every call of collective.h and
 * tp_channel.h takes a lock, so that the transport (MPI too, in its serialised mode) is used by one
 * thread at a time. A transfer whose reducer wants the endpoint's thread waits for it.
 * HLORUN_PROGRESS=0: nothing of this; 1: callers do not ask whether it has a processor to itself
 * (tp_progress_is_forced). */
#ifndef TP_PROGRESS_H
#define TP_PROGRESS_H

#include "transport/core/group.h"

/* Thread: the endpoint's, outside of other calls. Calling it again costs nothing. */
hr_status_t tp_progress_begin(tp_groups_t *groups);
bool tp_progress_is_forced(void);
void tp_progress_end(tp_groups_t *groups);

/* Around everything that touches requests. Calls nest. */
void tp_progress_lock(tp_groups_t *groups);
void tp_progress_unlock(tp_groups_t *groups); /* leaves what is under way to the loop thread */

#endif
