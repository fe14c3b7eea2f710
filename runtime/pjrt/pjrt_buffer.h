/* Buffers: arrays that the framework holds, whose values may still be computed.
 *
 * State: a count of holds (transfers, executions and views of the framework that use the value),
 *        and whether the framework has deleted or donated the buffer. The value goes when both say
 *        so. All of it is one atomic word, so that an execution locks nothing.
 * Owner: refcounted; the framework has one reference.
 * Thread: any. */
#ifndef PJRT_BUFFER_H
#define PJRT_BUFFER_H

#include <stdatomic.h>

#include "ir/value.h"
#include "pjrt/pjrt_client.h"
#include "pjrt/pjrt_event.h"
#include "pjrt/pjrt_order.h"

struct pjrt_buffer {
  atomic_int references;
  atomic_uint state;    /* PJRT_DELETED, and the number of holds */
  atomic_int externals; /* holds of views outside of the framework: NumPy arrays */
  /* where the framework has put it; gives its device */
  pjrt_memory_t *memory;
  _Atomic(hlo_value_t *) value; /* NULL: not yet there, failed, or deleted */
  pjrt_event_t *ready;          /* NULL: the value was there from the beginning */
  const pjrt_order_t *order;    /* how the value lies; NULL: row-major */
  hr_dtype_t dtype;
  int rank;
  bool is_dynamic;  /* the sizes of the value count, not `dims` */
  bool is_promised; /* the value comes from the framework, not out of a stream */
  int64_t dims[];
};

/* The top bit of `state`; the bits below count the holds. */
#define PJRT_DELETED (1u << 31)

/* A buffer whose value comes later: *out_buffer->ready is to be fired by pjrt_buffer_fulfil.
 * `shape` is borrowed. */
hr_status_t pjrt_buffer_pending(pjrt_memory_t *memory, const hlo_shape_t *shape,
                                pjrt_event_t *ready, pjrt_buffer_t **out_buffer);
/* A buffer of a value that is there. Owner: consumes the reference, also on failure. */
hr_status_t pjrt_buffer_of(pjrt_memory_t *memory, hlo_value_t *value, pjrt_buffer_t **out_buffer);
/* The same for a value that lies in an order; NULL: row-major. */
hr_status_t pjrt_buffer_in(pjrt_memory_t *memory, hlo_value_t *value, const pjrt_order_t *order,
                           pjrt_buffer_t **out_buffer);
/* Hands the value to a pending buffer; its event is fired by the caller. Owner: consumes it. */
void pjrt_buffer_fulfil(pjrt_buffer_t *buffer, hlo_value_t *value);
pjrt_buffer_t *pjrt_buffer_retain(pjrt_buffer_t *buffer);
void pjrt_buffer_release(pjrt_buffer_t *buffer); /* accepts NULL */

/* Keeps the value until pjrt_buffer_unhold. Errors: USAGE if it was deleted or donated. */
hr_status_t pjrt_buffer_hold(pjrt_buffer_t *buffer);
/* Another hold, by somebody who has one: also of a buffer that was deleted since. */
void pjrt_buffer_hold_again(pjrt_buffer_t *buffer);
/* Ends a hold; the last one frees the value of a buffer that was deleted. */
void pjrt_buffer_unhold(pjrt_buffer_t *buffer);
/* The same, and deletes the buffer for everybody else. */
hr_status_t pjrt_buffer_donate(pjrt_buffer_t *buffer);
/* Ends such a hold and gives its value away; a new reference if somebody else holds it too. */
hlo_value_t *pjrt_buffer_take(pjrt_buffer_t *buffer);

/* True if pjrt_buffer_wait would not block; the value may have failed. */
static inline bool pjrt_buffer_is_ready(const pjrt_buffer_t *buffer) {
  return !buffer->ready || pjrt_event_is_set(buffer->ready);
}
/* Waits for the value of a held buffer. Errors: those of the execution that was to compute it. */
hr_status_t pjrt_buffer_wait(pjrt_buffer_t *buffer, hlo_value_t **out_value);

/* hlorun's element type for a number of the interface. Errors: USAGE. */
hr_status_t pjrt_dtype(int type, hr_dtype_t *out_dtype);
int pjrt_type(hr_dtype_t dtype); /* 0: the interface has none */

#endif
