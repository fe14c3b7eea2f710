/* Promises: the framework announces something that it gives later: for an alias the buffer whose
 * value the alias gets, for a donation the moment from which the receiver may use the value, for a
 * copy to the host the memory.
 *
 *   promise -> kept:   wait for the value of the source, then hand it over
 *           -> broken: what was promised fails with the framework's error
 *
 * Executions of a device run in the order of their launches: one whose argument is a promise holds
 * up those after it until the promise is kept. */
#include "base/mem.h"
#include "pjrt/buffer/pjrt_transfer.h"

struct pjrt_promise {
  pjrt_buffer_t *from; /* held, one reference; NULL: not known yet */
  pjrt_buffer_t *to;   /* one reference; NULL: the host */
  bool is_donated;     /* the value moves */
  pjrt_event_t *done;  /* event of a copy to the host */
  pjrt_range_t range;
};

static hr_status_t new_promise(pjrt_promise_t fields, pjrt_promise_t **out_promise) {
  void *memory;
  HR_TRY(hr_alloc(sizeof(pjrt_promise_t), &memory));
  *out_promise = memory;
  **out_promise = fields;
  return NULL;
}

/* The hold of the source has ended. */
static void free_promise(pjrt_promise_t *promise) {
  pjrt_buffer_release(promise->from);
  pjrt_buffer_release(promise->to);
  pjrt_event_release(promise->done);
  hr_free(promise);
}

/* Takes over the error. */
static void break_promise(pjrt_promise_t *promise, pjrt_error_t *error) {
  if (promise->from) pjrt_buffer_unhold(promise->from);
  pjrt_event_fire(promise->to ? promise->to->ready : promise->done, error);
  free_promise(promise);
}

/* Signature of pjrt_event_fn: the source of a buffer is there, or has failed. */
static void hand_over(pjrt_error_t *error, void *context) {
  pjrt_promise_t *promise = context;
  if (error) {
    break_promise(promise, error);
    return;
  }
  hlo_value_t *value;
  if (promise->is_donated) {
    value = pjrt_buffer_take(promise->from);
  } else {
    value = hlo_value_retain(atomic_load(&promise->from->value));
    pjrt_buffer_unhold(promise->from);
  }
  pjrt_buffer_fulfil(promise->to, value);
  pjrt_event_fire(promise->to->ready, NULL);
  free_promise(promise);
}

/* On failure the promise is as before. */
static hr_status_t keep_promise(pjrt_promise_t *promise) {
  pjrt_event_t *ready = promise->from->ready;
  if (ready) {
    pjrt_event_on_ready_args_t when = {
        .struct_size = sizeof when, .event = ready, .callback = hand_over, .context = promise};
    return pjrt_event_on_ready(&when);
  }
  hand_over(NULL, promise);
  return NULL;
}

/* Creates a buffer whose value is promised, with an order of dimensions. */
static hr_status_t promised_buffer(pjrt_memory_t *memory, const hlo_shape_t *shape,
                                   const pjrt_order_t *order, pjrt_buffer_t **out_buffer) {
  pjrt_event_t *ready;
  HR_TRY(pjrt_event_new(&ready));
  hr_status_t st = pjrt_buffer_pending(memory, shape, ready, out_buffer);
  pjrt_event_release(ready);
  if (st) return st;
  (*out_buffer)->order = order;
  (*out_buffer)->is_promised = true;
  return NULL;
}

/* --- aliases --- */

hr_status_t pjrt_alias_create(pjrt_alias_args_t *args) {
  hr_dtype_t dtype;
  const pjrt_order_t *order;
  pjrt_buffer_t *alias;
  PJRT_NOT_NULL(args->client);
  PJRT_NOT_NULL(args->memory);
  HR_TRY(pjrt_check_dims(args->dims, args->num_dims, args->type, &dtype));
  HR_TRY(pjrt_order_of_layout(args->layout, (int)args->num_dims, &order));
  hlo_shape_t shape = {.dtype = dtype, .rank = (int)args->num_dims, .dims = args->dims};
  HR_TRY(promised_buffer(args->memory, &shape, order, &alias));
  hr_status_t st = new_promise((pjrt_promise_t){.to = alias}, &args->fulfil);
  if (st)
    pjrt_buffer_release(alias);
  else
    args->buffer = pjrt_buffer_retain(alias);
  return st;
}

static hr_status_t check_source(const pjrt_promise_t *promise, const pjrt_buffer_t *from) {
  const pjrt_buffer_t *to = promise->to;
  char want[HLO_SHAPE_TEXT], found[HLO_SHAPE_TEXT];
  hlo_shape_t wanted = {.dtype = to->dtype, .rank = to->rank, .dims = to->dims};
  hlo_shape_t given = {.dtype = from->dtype, .rank = from->rank, .dims = from->dims};
  if (from == to) return hr_error(HR_USAGE, "a buffer is its own alias");
  if (hlo_shape_equal(&wanted, &given) && from->order == to->order) return NULL;
  return hr_error(HR_USAGE, "an alias of %s is to be %s%s", hlo_shape_text(&wanted, want),
                  hlo_shape_text(&given, found),
                  from->order == to->order ? "" : ", in another layout");
}

/* After a failure the alias may still be fulfilled. */
hr_status_t pjrt_alias_fulfil(pjrt_fulfil_args_t *args) {
  pjrt_promise_t *promise = args->fulfil;
  PJRT_NOT_NULL(promise);
  pjrt_error_t *error = pjrt_error_given(args->code, args->message, args->message_size);
  if (error) {
    break_promise(promise, error);
    return NULL;
  }
  PJRT_NOT_NULL(args->buffer);
  HR_TRY(check_source(promise, args->buffer));
  HR_TRY(pjrt_buffer_hold(args->buffer));
  promise->from = pjrt_buffer_retain(args->buffer);
  hr_status_t st = keep_promise(promise);
  if (!st) return NULL;
  promise->from = NULL;
  pjrt_buffer_unhold(args->buffer);
  pjrt_buffer_release(args->buffer);
  return st;
}

/* --- callbacks of the framework --- */

/* `ready` of Buffer_DonateWithControlDependency. */
static void dependency_is_ready(pjrt_ready_args_t *args) {
  pjrt_error_t *error = pjrt_error_given(args->code, args->message, args->message_size);
  if (!error) error = pjrt_error_from_status(keep_promise(args->promise));
  if (error) break_promise(args->promise, error);
}

/* Buffer_DonateWithControlDependency: the buffer is gone at once, its value is in the new one. */
hr_status_t pjrt_buffer_donate_later(pjrt_donate_args_t *args) {
  pjrt_buffer_t *from = args->buffer, *to;
  pjrt_promise_t *promise;
  PJRT_NOT_NULL(from);
  hlo_shape_t shape = {.dtype = from->dtype, .rank = from->rank, .dims = from->dims};
  HR_TRY(promised_buffer(from->memory, &shape, from->order, &to));
  to->is_dynamic = from->is_dynamic;
  hr_status_t st = new_promise((pjrt_promise_t){.to = to, .is_donated = true}, &promise);
  if (st) {
    pjrt_buffer_release(to);
    return st;
  }
  st = pjrt_buffer_donate(from);
  if (st) {
    free_promise(promise);
    return st;
  }
  promise->from = pjrt_buffer_retain(from);
  args->promise = promise;
  args->ready = dependency_is_ready;
  args->out_buffer = pjrt_buffer_retain(to);
  return NULL;
}

/* `ready` of Buffer_CopyRawToHostFuture. The copy consumes the hold. */
static void memory_is_ready(pjrt_ready_args_t *args) {
  pjrt_promise_t *promise = args->promise;
  pjrt_error_t *error = pjrt_error_given(args->code, args->message, args->message_size);
  if (!error && !args->dst && promise->range.size_bytes)
    error = pjrt_error_from_status(hr_error(HR_USAGE, "the memory for a copy is NULL"));
  if (error) {
    break_promise(promise, error);
    return;
  }
  hr_status_t st = pjrt_copy_raw(promise->from, &promise->range, args->dst, promise->done);
  if (st) pjrt_event_fire(promise->done, pjrt_error_from_status(st));
  free_promise(promise);
}

hr_status_t pjrt_buffer_raw_later(pjrt_raw_later_args_t *args) {
  pjrt_promise_t fields = {.range = {args->offset, args->size_bytes}}, *promise;
  PJRT_NOT_NULL(args->buffer);
  HR_TRY(pjrt_check_range(args->buffer, &fields.range, args));
  HR_TRY(new_promise(fields, &promise));
  hr_status_t st = pjrt_event_new(&promise->done);
  if (!st) st = pjrt_buffer_hold(args->buffer);
  if (st) {
    free_promise(promise);
    return st;
  }
  promise->from = pjrt_buffer_retain(args->buffer);
  args->event = pjrt_event_retain(promise->done);
  args->promise = promise;
  args->ready = memory_is_ready;
  return NULL;
}
