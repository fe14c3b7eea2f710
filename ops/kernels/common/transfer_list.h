/* Collectives in two halves: `begin` starts the transfers and makes the values that they fill; the
 * end waits and does the remaining work (conversions, interleaving). A synchronous op does both in
 * its step. A -start does the first half only; its -done finds the transfer by the -start
 * instruction, so that the value between them carries nothing. Thread: that of the environment. */
#ifndef HLO_OPS_TRANSFER_LIST_H
#define HLO_OPS_TRANSFER_LIST_H

#include "base/vec.h"
#include "ops/kernels/kernel.h"

typedef struct op_transfer op_transfer_t;
struct op_transfer {
  op_transfer_t *next;
  const hlo_instr_t *start;        /* NULL: ends with its step */
  hr_arena_t *arena;               /* memory until the end */
  hlo_value_t *value;              /* the results; owned */
  hlo_value_t *const *out_buffers; /* preallocated results; NULL: none. Valid during `begin` only */
  uint64_t pinned_operands; /* operands that do not change until the end; used with out_buffers */
  hr_status_t (*arrived)(op_env_t *env,
                         op_transfer_t *transfer); /* after the first request; may be NULL */
  hr_status_t (*finish)(op_env_t *env,
                        op_transfer_t *transfer); /* after everything has arrived; may be NULL */
  void *context;
  hr_arena_t own_arena; /* storage of `arena`, unless the transfer lives within a step */
  HR_VEC(op_request_t *) requests;
  size_t completed_count;            /* leading requests that are complete or were cancelled */
  HR_VEC(hlo_value_t *) held_values; /* values that live until the end; owned */
};

/* The first half: sets transfer->value and whatever else it needs. `shape` is that of the
 * results. */
typedef hr_status_t (*op_start_fn)(op_env_t *env, const op_step_t *step, const hlo_shape_t *shape,
                                   hlo_value_t *const *in, op_transfer_t *transfer);

/* Returns where the caller stores one more request. A synchronous step has a bounded number of
 * requests in flight, as their scratch memory adds up; earlier ones are awaited here if
 * necessary. */
hr_status_t op_transfer_add_request(op_env_t *env, op_transfer_t *transfer,
                                    op_request_t ***out_request);
/* Takes ownership of a reference until the end; also when it fails. */
hr_status_t op_transfer_keep(op_transfer_t *transfer, hlo_value_t *value);

/* Runs both halves; inside the computation of an async-start only the first. The results have the
 * shape of the step. */
hr_status_t op_transfer_run(op_env_t *env, const op_step_t *step, op_start_fn begin,
                            hlo_value_t *const *in, hlo_value_t **out_value);
/* Runs the first half for `start`; its results have this shape and get their contents later. */
hr_status_t op_transfer_start(op_env_t *env, const op_step_t *step, const hlo_instr_t *start,
                              op_start_fn begin, const hlo_shape_t *shape, hlo_value_t *const *in,
                              hlo_value_t **out_value);
/* Runs the second half of `start`; *out_value is NULL if it began nothing or has completed. */
hr_status_t op_transfer_done(op_env_t *env, const hlo_instr_t *start, hlo_value_t **out_value);

/* Completes transfers that have no -done, or cancels all if `st` is a failure. Engines call this
 * when a run ends. */
hr_status_t op_transfers_done(op_env_t *env, hr_status_t st);
void op_transfers_destroy(op_env_t *env); /* no transfer may be under way */

#endif
