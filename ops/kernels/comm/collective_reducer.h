/* How the elements of one operand of a collective are combined: by a vector loop, by the kernel of
 * one elementwise op, by generated code, or by the body. */
#ifndef HR_COLLECTIVE_REDUCER_H
#define HR_COLLECTIVE_REDUCER_H

#include "ops/kernels/comm/reduce_local.h"
#include "ops/kernels/elementwise/body.h"

/* How one operand is combined: it is converted to the body's type if that differs, and the result
 * is converted to its own type. */
typedef struct coll_reduction {
  hr_dtype_t dtype; /* element type of messages: the body's */
  const op_body_t *body;
  const ew_kernel_t *binary; /* set if the body is one plain op */
  reduce_local_fn fast;      /* vector loop for the most frequent ops and types; may be NULL */
  bool wide;                 /* a plain sum of a narrow float type */
  const ew_kernel_t *convert_in, *convert_out; /* NULL: nothing to convert */
} coll_reduction_t;

/* `from` and `to` are the element types of the operand and of its result. Sums of 16-bit floats
 * accumulate in f32 (wide). */
hr_status_t coll_reduction_prepare(hr_arena_t *arena, const op_body_t *body, hr_dtype_t from,
                                   hr_dtype_t to, coll_reduction_t *reduction);

/* The reducer of the transport for one execution; its context is in `arena`. A reducer that calls
 * no function of the environment may run in any thread of the transport (any_thread); only single
 * binary ops may be reordered. */
hr_status_t coll_reducer_new(op_env_t *env, hr_arena_t *arena, const coll_reduction_t *reduction,
                             hr_reducer_t *out_reducer);

#endif
