/* Buffers: arrays of the framework, whose values may still be being computed.
 *
 * State: the number of holds (transfers, executions and views that use the value), and whether the
 *        framework has deleted or donated the buffer. The value is released when the buffer is
 *        deleted and has no holds. The state is one atomic word, so that executions need no lock.
 * Owner: refcounted; the framework has one reference.
 * Thread: any. */
#ifndef PJRT_BUFFER_H
#define PJRT_BUFFER_H

#include <stdatomic.h>

#include "ir/value.h"
#include "pjrt/client/pjrt_client.h"
#include "pjrt/abi/pjrt_event.h"
#include "pjrt/buffer/pjrt_order.h"

struct pjrt_buffer {
  atomic_int references;
  atomic_uint state;            /* PJRT_DELETED, and the number of holds */
  atomic_int externals;         /* holds of views outside of the framework: NumPy arrays */
  pjrt_memory_t *memory;        /* its memory, chosen by the framework; determines its device */
  _Atomic(hlo_value_t *) value; /* NULL: not yet computed, failed, or deleted */
  pjrt_event_t *ready;          /* NULL: created with a value */
  const pjrt_order_t *order;    /* memory order of the value; NULL: row-major */
  hr_dtype_t dtype;
  int rank;
  bool is_dynamic;  /* `dims` are bounds: the value has the actual sizes */
  bool is_promised; /* the framework provides the value, not a job of a stream */
  int64_t dims[];
};

/* The top bit of `state`; the bits below count the holds. */
#define PJRT_DELETED (1u << 31)

/* Creates a buffer without a value, which pjrt_buffer_fulfil provides; `ready` is fired then.
 * `shape` is borrowed. */
hr_status_t pjrt_buffer_pending(pjrt_memory_t *memory, const hlo_shape_t *shape,
                                pjrt_event_t *ready, pjrt_buffer_t **out_buffer);
/* Creates a buffer with a value. Owner: consumes the reference, also on failure. */
hr_status_t pjrt_buffer_of(pjrt_memory_t *memory, hlo_value_t *value, pjrt_buffer_t **out_buffer);
/* Creates a buffer with a value in a memory order; NULL: row-major. Owner: as pjrt_buffer_of. */
hr_status_t pjrt_buffer_in(pjrt_memory_t *memory, hlo_value_t *value, const pjrt_order_t *order,
                           pjrt_buffer_t **out_buffer);
/* Gives a pending buffer its value; the caller fires the event. Owner: consumes the value. */
void pjrt_buffer_fulfil(pjrt_buffer_t *buffer, hlo_value_t *value);
pjrt_buffer_t *pjrt_buffer_retain(pjrt_buffer_t *buffer);
void pjrt_buffer_release(pjrt_buffer_t *buffer); /* accepts NULL */

/* Keeps the value until pjrt_buffer_unhold. Errors: USAGE if it was deleted or donated. */
hr_status_t pjrt_buffer_hold(pjrt_buffer_t *buffer);
/* Adds a hold for a caller that has one already; works also for a buffer deleted since. */
void pjrt_buffer_hold_again(pjrt_buffer_t *buffer);
/* Ends a hold; the last one frees the value of a buffer that was deleted. */
void pjrt_buffer_unhold(pjrt_buffer_t *buffer);
/* Holds the buffer and deletes it for all other users. Errors: as pjrt_buffer_hold. */
hr_status_t pjrt_buffer_donate(pjrt_buffer_t *buffer);
/* Ends a donated hold and returns the value; a new reference if there are other holds. */
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
