/* Transfers of collectives and of send and recv that have started and not ended: requests of the
 * transport, the values that they read and write, and the work left after their arrival.
 *
 *   a -start:           op_transfer_start -> in the list -> op_transfer_done or op_transfers_done
 *   a synchronous op:   op_transfer_run: the transfer lives on the stack and is never in the list
 *
 * The list is in the order of the starts, which is the same on all processes, so that the transfers
 * that are left at the end of a run complete in an order in which their peers do, too. It is
 * searched linearly: a program has few transfers in flight at a time. */
#include "ops/kernels/common/transfer_list.h"

#include "base/mem.h"

#define AT_ONCE 8 /* requests in flight at a time within one step */

struct op_transfers {
  op_transfer_t *first, **last; /* in the order of their starts */
  op_transfer_t *free;
};

/* --- requests --- */

/* Awaits the first `count` requests, in the order of their starts. */
static hr_status_t await_first(op_env_t *env, op_transfer_t *transfer, size_t count) {
  while (transfer->completed_count < count) {
    op_request_t *request = transfer->requests.data[transfer->completed_count++];
    if (request) HR_TRY(env->comm_ops->wait(env, request));
  }
  return NULL;
}

hr_status_t op_transfer_add_request(op_env_t *env, op_transfer_t *transfer,
                                    op_request_t ***out_request) {
  size_t count = transfer->requests.count;
  if (!transfer->start && count >= AT_ONCE) HR_TRY(await_first(env, transfer, count + 1 - AT_ONCE));
  HR_VEC_PUSH(&transfer->requests, NULL);
  *out_request = &transfer->requests.data[count];
  return NULL;
}

/* A failed reservation releases the value at once, so the caller's reference is gone either way. */
hr_status_t op_transfer_keep(op_transfer_t *transfer, hlo_value_t *value) {
  hr_status_t st = HR_VEC_RESERVE(&transfer->held_values, transfer->held_values.count + 1);
  if (st)
    hlo_value_release(value);
  else
    transfer->held_values.data[transfer->held_values.count++] = value;
  return st;
}

/* Completes or, after a failure, cancels the requests that are left; a failed wait cancels the
 * rest, so that no rank writes into memory that is released. */
static hr_status_t end_requests(op_env_t *env, op_transfer_t *transfer, hr_status_t st) {
  size_t count = transfer->requests.count;
  while (transfer->completed_count < count) {
    op_request_t *request = transfer->requests.data[transfer->completed_count++];
    if (!request) continue;
    if (st)
      env->comm_ops->cancel(env, request);
    else
      st = hr_status_join(st, env->comm_ops->wait(env, request));
    if (!st && transfer->completed_count == 1 && transfer->arrived)
      st = transfer->arrived(env, transfer);
  }
  return st;
}

/* Empties a transfer, but keeps its memory. */
static void clear(op_transfer_t *transfer) {
  for (size_t i = 0; i < transfer->held_values.count; i++)
    hlo_value_release(transfer->held_values.data[i]);
  hlo_value_release(transfer->value);
  transfer->value = NULL;
  transfer->requests.count = 0;
  transfer->held_values.count = 0;
  transfer->completed_count = 0;
}

/* The second half; the caller gets the reference of the results. */
static hr_status_t complete(op_env_t *env, op_transfer_t *transfer, hr_status_t st,
                            hlo_value_t **out_value) {
  st = end_requests(env, transfer, st);
  if (!st && transfer->finish) st = transfer->finish(env, transfer);
  if (!st && out_value) {
    *out_value = transfer->value;
    transfer->value = NULL;
  }
  clear(transfer);
  return st;
}

/* --- within a step --- */

/* Out buffers are for one collective: the next one finds none. */
static hlo_value_t *const *take_out_buffers(op_env_t *env) {
  hlo_value_t *const *out_buffers = env->hints.out_buffers;
  env->hints.out_buffers = NULL;
  return out_buffers;
}

/* Inside an async-start the collective starts here and completes in the async-done; otherwise the
 * transfer lives on the stack, and its memory in the step's scratch. */
hr_status_t op_transfer_run(op_env_t *env, const op_step_t *step, op_start_fn begin,
                            hlo_value_t *const *in, hlo_value_t **out_value) {
  if (env->hints.starting) {
    const hlo_instr_t *start = env->hints.starting;
    env->hints.starting = NULL;
    return op_transfer_start(env, step, start, begin, step->out_shape, in, out_value);
  }
  op_transfer_t transfer = {.arena = env->scratch, .out_buffers = take_out_buffers(env)};
  env->transfers.current = step->instr;
  env->transfers.ends_later = false;
  hr_status_t st = begin(env, step, step->out_shape, in, &transfer);
  st = complete(env, &transfer, st, out_value);
  HR_VEC_FREE(&transfer.requests);
  HR_VEC_FREE(&transfer.held_values);
  return st;
}

/* --- between a -start and its -done --- */

/* Creates the list with the first transfer, so that programs without transfers pay nothing. */
static hr_status_t transfers_of(op_env_t *env, op_transfers_t **out_transfers) {
  if (!env->transfers.list) {
    void *memory;
    HR_TRY(hr_alloc_zeroed(sizeof(op_transfers_t), &memory));
    env->transfers.list = memory;
    env->transfers.list->last = &env->transfers.list->first;
  }
  *out_transfers = env->transfers.list;
  return NULL;
}

/* Transfers are recycled with their arenas and vectors: a loop of starts and dones allocates
 * nothing after its first iteration. */
static hr_status_t acquire_transfer(op_transfers_t *transfers, op_transfer_t **out_transfer) {
  op_transfer_t *transfer = transfers->free;
  if (transfer) {
    transfers->free = transfer->next;
  } else {
    void *memory;
    HR_TRY(hr_alloc_zeroed(sizeof *transfer, &memory));
    transfer = memory;
    hr_arena_init(&transfer->own_arena);
    transfer->arena = &transfer->own_arena;
  }
  *out_transfer = transfer;
  return NULL;
}

static void recycle_transfer(op_transfers_t *transfers, op_transfer_t *transfer) {
  hr_arena_reset(&transfer->own_arena);
  transfer->finish = NULL;
  transfer->arrived = NULL;
  transfer->next = transfers->free;
  transfers->free = transfer;
}

/* Keeps the operands unchanged until the end: a reference prevents writes in place. */
static hr_status_t hold_operands(const op_step_t *step, op_transfer_t *transfer,
                                 hlo_value_t *const *in, hlo_value_t ***out_held) {
  int count = step->instr->operand_count;
  hlo_value_t **held;
  HR_TRY(HR_NEW_ARRAY(transfer->arena, count, &held));
  for (int k = 0; k < count; k++) {
    held[k] = hlo_value_retain(in[k]);
    HR_TRY(op_transfer_keep(transfer, held[k]));
  }
  *out_held = held;
  return NULL;
}

/* Operands are held until the end, unless they are pinned. A failed start completes the requests it
 * has begun, so that none outlives it. The transfer keeps its reference of the result until the
 * end, so *out_value is another one. */
hr_status_t op_transfer_start(op_env_t *env, const op_step_t *step, const hlo_instr_t *start,
                              op_start_fn begin, const hlo_shape_t *shape, hlo_value_t *const *in,
                              hlo_value_t **out_value) {
  op_transfers_t *transfers;
  op_transfer_t *transfer;
  hlo_value_t **held;
  HR_TRY(transfers_of(env, &transfers));
  if (env->comm_ops) HR_TRY(env->comm_ops->enable_async_progress(env));
  HR_TRY(acquire_transfer(transfers, &transfer));
  transfer->start = start;
  transfer->pinned_operands = env->hints.pinned_operands;
  transfer->out_buffers = take_out_buffers(env);
  env->transfers.current = step->instr;
  env->transfers.ends_later = true;
  hr_status_t st = hold_operands(step, transfer, in, &held);
  if (!st) st = begin(env, step, shape, held, transfer);
  if (st) {
    st = complete(env, transfer, st, NULL);
    recycle_transfer(transfers, transfer);
    return st;
  }
  transfer->next = NULL;
  *transfers->last = transfer;
  transfers->last = &transfer->next;
  env->transfers.in_flight++;
  *out_value = hlo_value_retain(transfer->value);
  return NULL;
}

/* Updates `last` when the last transfer is removed. */
static void unlink_transfer(op_transfers_t *transfers, op_transfer_t *transfer) {
  op_transfer_t **link = &transfers->first;
  while (*link != transfer) link = &(*link)->next;
  *link = transfer->next;
  if (transfers->last == &transfer->next) transfers->last = link;
}

/* Removes the transfer from the list first, as completion may fail. */
static hr_status_t end_one(op_env_t *env, op_transfer_t *transfer, hr_status_t st,
                           hlo_value_t **out_value) {
  unlink_transfer(env->transfers.list, transfer);
  env->transfers.in_flight--;
  st = complete(env, transfer, st, out_value);
  recycle_transfer(env->transfers.list, transfer);
  return st;
}

/* *out_value is NULL for a start that began nothing (a group of one process) or has completed. */
hr_status_t op_transfer_done(op_env_t *env, const hlo_instr_t *start, hlo_value_t **out_value) {
  op_transfer_t *transfer = env->transfers.list ? env->transfers.list->first : NULL;
  *out_value = NULL;
  while (transfer && transfer->start != start) transfer = transfer->next;
  return transfer ? end_one(env, transfer, NULL, out_value) : NULL;
}

/* Completes in the order of the starts, which is the same on all processes. */
hr_status_t op_transfers_done(op_env_t *env, hr_status_t st) {
  while (env->transfers.list && env->transfers.list->first)
    st = end_one(env, env->transfers.list->first, st, NULL);
  env->hints.starting = NULL;
  return st;
}

/* Only recycled transfers are left here: op_transfers_done has ended those in the list. */
void op_transfers_destroy(op_env_t *env) {
  op_transfers_t *transfers = env->transfers.list;
  env->transfers.list = NULL;
  for (op_transfer_t *transfer; transfers && (transfer = transfers->free);) {
    transfers->free = transfer->next;
    hr_arena_deinit(&transfer->own_arena);
    HR_VEC_FREE(&transfer->requests);
    HR_VEC_FREE(&transfer->held_values);
    hr_free(transfer);
  }
  hr_free(transfers);
}
