/* Events. Most are set before anybody asks: then nothing is locked. One mutex and one condition
 * variable serve all events that are waited for. */
#include "pjrt/abi/pjrt_event.h"

#include <pthread.h>

#include "base/mem_object.h"
#include "pjrt/abi/pjrt_api.h"
#include "pjrt/client/pjrt_fork.h"

/* A function that waits for an event, as Event_OnReady has given it. */
typedef struct callback {
  struct callback *next;
  pjrt_event_fn fn;
  void *context;
} callback_t;

struct pjrt_event {
  atomic_int references;
  atomic_bool is_set;    /* false to true, once; stored with release order, under `mutex` */
  pjrt_error_t *error;   /* written before is_set */
  callback_t *callbacks; /* guarded by `mutex` */
};

/* Guards the lists of callbacks and the change of `is_set` of all events. No callback runs under
 * it. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

hr_status_t pjrt_event_new(pjrt_event_t **out_event) {
  void *memory;
  HR_TRY(hr_alloc_object(sizeof(pjrt_event_t), &memory));
  *out_event = memory;
  **out_event = (pjrt_event_t){.error = NULL};
  atomic_init(&(*out_event)->references, 1);
  return NULL;
}

hr_status_t pjrt_event_new_ready(pjrt_event_t **out_event) {
  HR_TRY(pjrt_event_new(out_event));
  atomic_init(&(*out_event)->is_set, true);
  return NULL;
}

pjrt_event_t *pjrt_event_retain(pjrt_event_t *event) {
  atomic_fetch_add_explicit(&event->references, 1, memory_order_relaxed);
  return event;
}

/* Callbacks of an event that was never fired are dropped without a call. */
void pjrt_event_release(pjrt_event_t *event) {
  if (!event || atomic_fetch_sub_explicit(&event->references, 1, memory_order_acq_rel) != 1) return;
  for (callback_t *next, *call = event->callbacks; call; call = next) {
    next = call->next;
    hr_free(call);
  }
  pjrt_error_free(event->error);
  hr_free(event);
}

/* Every callback gets a copy of the error of its own, which it must destroy. */
static void run_callbacks(callback_t *call, const pjrt_error_t *error) {
  pjrt_note_end();
  while (call) {
    callback_t *next = call->next;
    call->fn(pjrt_error_copy(error), call->context);
    hr_free(call);
    call = next;
  }
}

/* The list is taken and `is_set` stored under one lock: a callback is either in the list, or its
 * caller sees that the event is set. Neither is it lost nor called twice. */
void pjrt_event_fire(pjrt_event_t *event, pjrt_error_t *error) {
  pthread_mutex_lock(&mutex);
  if (pjrt_event_is_set(event)) {
    pthread_mutex_unlock(&mutex);
    pjrt_error_free(error);
    return;
  }
  callback_t *callbacks = event->callbacks;
  event->callbacks = NULL;
  event->error = error;
  atomic_store_explicit(&event->is_set, true, memory_order_release);
  pthread_cond_broadcast(&changed);
  pjrt_event_retain(event); /* a callback may drop the last reference */
  pthread_mutex_unlock(&mutex);
  run_callbacks(callbacks, error);
  pjrt_event_release(event);
}

bool pjrt_event_is_set(const pjrt_event_t *event) {
  return atomic_load_explicit(&event->is_set, memory_order_acquire);
}

hr_status_t pjrt_event_wait(pjrt_event_t *event) {
  if (pjrt_event_is_set(event)) return NULL;
  HR_TRY(pjrt_check_fork());
  pthread_mutex_lock(&mutex);
  while (!pjrt_event_is_set(event)) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

const pjrt_error_t *pjrt_event_failure(const pjrt_event_t *event) { return event->error; }

/* --- functions of the interface --- */

hr_status_t pjrt_event_destroy(pjrt_event_args_t *args) {
  pjrt_event_release(args->event);
  return NULL;
}

hr_status_t pjrt_event_is_ready(pjrt_event_ready_args_t *args) {
  PJRT_NOT_NULL(args->event);
  args->is_ready = pjrt_event_is_set(args->event);
  return NULL;
}

/* Event_Error: a new error for the caller, NULL for success. It does not wait. */
pjrt_error_t *pjrt_event_error(pjrt_event_args_t *args) {
  if (!args->event) return NULL;
  if (!pjrt_event_is_set(args->event))
    return pjrt_error_from_status(hr_error(HR_USAGE, "PJRT_Event_Error: the event is not ready"));
  return pjrt_error_copy(args->event->error);
}

/* Event_Await: blocks, then answers as Event_Error. */
pjrt_error_t *pjrt_event_await(pjrt_event_args_t *args) {
  if (!args->event) return NULL;
  hr_status_t st = pjrt_event_wait(args->event);
  return st ? pjrt_error_from_status(st) : pjrt_error_copy(args->event->error);
}

/* Appends the callback unless the event is set, in order of the calls. */
static bool append_callback(pjrt_event_t *event, callback_t *call) {
  pthread_mutex_lock(&mutex);
  bool is_pending = !pjrt_event_is_set(event);
  callback_t **end = &event->callbacks;
  while (is_pending && *end) end = &(*end)->next;
  if (is_pending) *end = call;
  pthread_mutex_unlock(&mutex);
  return is_pending;
}

/* Event_OnReady. JAX registers one callback per device and execution. In a forked process an event
 * that is not set yet never will be. */
hr_status_t pjrt_event_on_ready(pjrt_event_on_ready_args_t *args) {
  void *memory;
  PJRT_NOT_NULL(args->event);
  PJRT_NOT_NULL(args->callback);
  if (!pjrt_event_is_set(args->event)) {
    HR_TRY(pjrt_check_fork());
    HR_TRY(hr_alloc_object(sizeof(callback_t), &memory));
    callback_t *call = memory;
    *call = (callback_t){NULL, args->callback, args->context};
    if (append_callback(args->event, call)) return NULL;
    hr_free(call);
  }
  args->callback(pjrt_error_copy(args->event->error), args->context);
  return NULL;
}

hr_status_t pjrt_event_create(pjrt_event_args_t *args) { return pjrt_event_new(&args->event); }

/* Event_Set: a second call for the same event has no effect. */
hr_status_t pjrt_event_set(pjrt_event_set_args_t *args) {
  PJRT_NOT_NULL(args->event);
  pjrt_event_fire(args->event, pjrt_error_given(args->code, args->message, args->message_size));
  return NULL;
}
