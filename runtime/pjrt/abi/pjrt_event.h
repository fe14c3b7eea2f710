/* Events: something that happens once, with or without an error. Refcounted; the framework owns one
 * reference of each event that it is given.
 * Thread: any. Callbacks run in the thread that sets the event, or at once if it is set. */
#ifndef PJRT_EVENT_H
#define PJRT_EVENT_H

#include <stdatomic.h>

#include "pjrt/abi/pjrt_error.h"

/* An event that is not set, with one reference. */
hr_status_t pjrt_event_new(pjrt_event_t **out_event);
/* An event that is already set, without an error. Cost: an allocation. */
hr_status_t pjrt_event_new_ready(pjrt_event_t **out_event);
pjrt_event_t *pjrt_event_retain(pjrt_event_t *event);
void pjrt_event_release(pjrt_event_t *event); /* accepts NULL */
/* Sets the event, wakes waiting threads, and runs the callbacks. Consumes `error` (NULL: success).
 * A second call has no effect. */
void pjrt_event_fire(pjrt_event_t *event, pjrt_error_t *error);
/* True once the event is set; writes made before that are then visible to the caller. */
bool pjrt_event_is_set(const pjrt_event_t *event);
/* Blocks the calling thread until the event is set. Errors: USAGE in a forked process, where an
 * unset event is never set. */
hr_status_t pjrt_event_wait(pjrt_event_t *event);
/* The error of an event that is set; NULL: none. Owner: the event. */
const pjrt_error_t *pjrt_event_failure(const pjrt_event_t *event);

#endif
