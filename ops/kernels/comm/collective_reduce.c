/* Collectives that combine elements: all-reduce, reduce-scatter, collective-reduce. Members are
 * combined in listed order, starting from the first one's elements, by any computation; maximum and
 * minimum propagate NaN, as the specification says. Sums of bf16 and f16 accumulate in f32 and are
 * rounded once at the end (as in XLA for bf16); narrower floats and integers are combined in their
 * own type.
 *
 *   operand --convert_in--> operands[k] --transport--> travelling[k] --convert_out--> results[k]
 *
 * Steps without a conversion share their arrays: operand and result may then be the buffer that
 * travels. Runs of small operands of one type are packed into one message. */
#include <string.h>

#include "ops/kernels/comm/collective_common.h"
#include "ops/kernels/comm/collective_reducer.h"

#define MAX_PACKED_BYTES \
  ((size_t)32 << 10) /* size up to which operands are packed into one message */

/* Shared by all executions of the instruction. */
typedef struct reduce_plan {
  int count;
  coll_reduction_t *reductions; /* per operand */
} reduce_plan_t;

/* --- prepare --- */

/* Shape of result k of a collective: an element of the tuple, or the only shape. */
static const hlo_shape_t *shape_at(const hlo_shape_t *shape, int k) {
  return hlo_shape_is_tuple(shape) ? shape->elements[k] : shape;
}

/* One reduction per operand, or per element of a single tuple operand. */
static hr_status_t prepare_reduce(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  const op_body_t *body;
  reduce_plan_t *plan;
  HR_TRY(op_body_prepare(arena, step->instr->called[0], &body));
  HR_TRY(HR_NEW(arena, &plan));
  bool by_elements = step->instr->operand_count == 1 && hlo_shape_is_tuple(step->in_shapes[0]);
  plan->count = by_elements ? step->in_shapes[0]->element_count
                            : step->instr->operand_count -
                                  hlo_attr_bool(step->instr, HLO_ATTR_HAS_DYNAMIC_ROOT);
  HR_TRY(HR_NEW_ARRAY(arena, plan->count, &plan->reductions));
  for (int k = 0; k < plan->count; k++) {
    const hlo_shape_t *in = by_elements ? step->in_shapes[0]->elements[k] : step->in_shapes[k];
    HR_TRY(coll_reduction_prepare(arena, body, in->dtype, shape_at(step->out_shape, k)->dtype,
                                  &plan->reductions[k]));
  }
  *out_plan = plan;
  return NULL;
}

/* --- all-reduce --- */

/* A converted copy in memory that peers can access. */
static hr_status_t convert_value(op_env_t *env, const ew_kernel_t *kernel, hr_dtype_t dtype,
                                 const hlo_value_t *in, hlo_value_t **out_value) {
  HR_TRY(op_shared_array(env, dtype, in->rank, in->dims, out_value));
  ew_kernel_run(kernel, in->count, (const void *const[]){in->data}, (const int64_t[]){1},
                (*out_value)->data);
  return NULL;
}

/* Reductions under way, in the type of messages and as results. One array per operand of the
 * execution. */
typedef struct reducing {
  const reduce_plan_t *plan;
  hlo_value_t **operands; /* in the type of messages; some may be the reductions' results */
  hlo_value_t **travelling, **results; /* equal where nothing is converted */
  char **packed;                       /* packed copy sent instead of travelling[k]; NULL: none */
  const bool *is_for_other;            /* collective-reduce: is result k another member's? */
} reducing_t;

/* Unpacks small operands, clears results that belong to another process, converts to the declared
 * types. */
static hr_status_t finish_reductions(op_env_t *env, op_transfer_t *transfer) {
  (void)env;
  const reducing_t *reducing = transfer->context;
  for (int k = 0; k < reducing->plan->count; k++) {
    const ew_kernel_t *convert = reducing->plan->reductions[k].convert_out;
    hlo_value_t *from = reducing->travelling[k], *to = reducing->results[k];
    if (reducing->packed[k]) memcpy(from->data, reducing->packed[k], hlo_value_bytes(from));
    if (reducing->is_for_other && reducing->is_for_other[k])
      memset(to->data, 0, hlo_value_bytes(to));
    else if (convert)
      ew_kernel_run(convert, from->count, (const void *const[]){from->data}, (const int64_t[]){1},
                    to->data);
  }
  return NULL;
}

/* Creates the state between start and end, in the transfer's arena. */
static hr_status_t new_reducing(op_transfer_t *transfer, const reduce_plan_t *plan,
                                reducing_t **out_reducing) {
  reducing_t *reducing;
  HR_TRY(HR_NEW(transfer->arena, &reducing));
  HR_TRY(HR_NEW_ARRAY(transfer->arena, plan->count, &reducing->operands));
  HR_TRY(HR_NEW_ARRAY(transfer->arena, plan->count, &reducing->travelling));
  HR_TRY(HR_NEW_ARRAY(transfer->arena, plan->count, &reducing->results));
  HR_TRY(HR_NEW_ARRAY(transfer->arena, plan->count, &reducing->packed));
  reducing->plan = plan;
  transfer->context = reducing;
  transfer->finish = finish_reductions;
  *out_reducing = reducing;
  return NULL;
}

/* Makes result k after its message buffer; the buffer is retained until the end. */
static hr_status_t make_result(op_env_t *env, op_transfer_t *transfer, reducing_t *reducing,
                               const hlo_shape_t *shape, int k) {
  hlo_value_t *travelling = reducing->travelling[k];
  HR_TRY(op_transfer_keep(transfer, travelling));
  reducing->results[k] = travelling;
  if (!reducing->plan->reductions[k].convert_out) return NULL;
  HR_TRY(coll_result(env, transfer, shape_at(shape, k), k, &reducing->results[k]));
  return op_transfer_keep(transfer, reducing->results[k]);
}

/* The destination of reduction k: its result if that has the type of messages. */
static hr_status_t new_travelling(op_env_t *env, const op_transfer_t *transfer,
                                  const hlo_shape_t *shape, const coll_reduction_t *reduction,
                                  int k, hlo_value_t **out_value) {
  const hlo_shape_t *result = shape_at(shape, k);
  if (!reduction->convert_out) return coll_result(env, transfer, result, k, out_value);
  return op_shared_array(env, reduction->dtype, result->rank, result->dims, out_value);
}

/* True if operand k may be reduced in place: this is its last use and its value has no other
 * owner. */
static bool is_alone(const op_step_t *step, hlo_value_t *const *in, const coll_operands_t *operands,
                     int k, const op_transfer_t *transfer) {
  return !transfer->out_buffers && operands->values == in && op_is_last_use(step, k) &&
         hlo_value_is_exclusive(in[k]);
}

/* Sets the operand in the type of messages: itself, or a copy in the array that receives its
 * reduction. In an asynchronous start with preallocated results, the bytes of an operand may be
 * overwritten before the end unless the operand is pinned, so they are copied. */
static void move_operand(const hlo_value_t *operand, int k, const coll_reduction_t *reduction,
                         const op_transfer_t *transfer, hlo_value_t *travelling,
                         hlo_value_t **out_operand) {
  bool is_pinned = k < 64 && (transfer->pinned_operands >> k & 1);
  bool moves =
      transfer->start && transfer->out_buffers && operand->data != travelling->data && !is_pinned;
  *out_operand = moves || reduction->convert_in ? travelling : (hlo_value_t *)operand;
  if (reduction->convert_in)
    ew_kernel_run(reduction->convert_in, operand->count, (const void *const[]){operand->data},
                  (const int64_t[]){1}, travelling->data);
  else if (moves && operand->count)
    memcpy(travelling->data, operand->data, hlo_value_bytes(operand));
}

/* Operand k and the array that receives its reduction. In place: a sole owner's buffer is both and
 * becomes the result. */
static hr_status_t place_operand(op_env_t *env, const op_step_t *step, const hlo_shape_t *shape,
                                 hlo_value_t *const *in, const coll_operands_t *operands, int k,
                                 op_transfer_t *transfer) {
  reducing_t *reducing = transfer->context;
  const coll_reduction_t *reduction = &reducing->plan->reductions[k];
  hlo_value_t **travelling = &reducing->travelling[k];
  if (!reduction->convert_in && is_alone(step, in, operands, k, transfer)) {
    HR_TRY(op_reuse_or_copy(env, step, in, k, travelling));
    reducing->operands[k] = *travelling;
    return NULL;
  }
  HR_TRY(new_travelling(env, transfer, shape, reduction, k, travelling));
  move_operand(operands->values[k], k, reduction, transfer, *travelling, &reducing->operands[k]);
  return NULL;
}

/* Starts an all-reduce of `count` elements of one operand. */
static hr_status_t start_one(op_env_t *env, const coll_reduction_t *reduction,
                             const op_group_t *group, const void *in, void *out, int64_t count,
                             op_transfer_t *transfer) {
  hr_reducer_t reducer;
  op_request_t **request;
  HR_TRY(coll_reducer_new(env, transfer->arena, reduction, &reducer));
  HR_TRY(op_transfer_add_request(env, transfer, &request));
  return env->comm_ops->all_reduce(env, group, in, out, count, &reducer, request);
}

/* Packs the small operands first .. last - 1 contiguously. */
static hr_status_t start_packed(op_env_t *env, reducing_t *reducing, const op_group_t *group,
                                int first, int last, op_transfer_t *transfer) {
  const coll_reduction_t *reduction = &reducing->plan->reductions[first];
  int64_t count = 0;
  void *pack;
  for (int k = first; k < last; k++) count += reducing->operands[k]->count;
  HR_TRY(coll_scratch(env, transfer, (size_t)count * hr_dtype_bytes(reduction->dtype), &pack));
  char *at = pack;
  for (int k = first; k < last; k++) {
    size_t bytes = hlo_value_bytes(reducing->operands[k]);
    if (bytes) memcpy(at, reducing->operands[k]->data, bytes);
    reducing->packed[k] = at;
    at += bytes;
  }
  return start_one(env, reduction, group, pack, pack, count, transfer);
}

/* End of the run of small operands of one type that begins at `first`. */
static int end_of_pack(const reducing_t *reducing, int first) {
  const coll_reduction_t *reductions = reducing->plan->reductions;
  int last = first;
  while (last < reducing->plan->count && reductions[last].dtype == reductions[first].dtype &&
         hlo_value_bytes(reducing->travelling[last]) <= MAX_PACKED_BYTES)
    last++;
  return last;
}

/* A group of one copies operands to results. */
static void copy_operands(const reducing_t *reducing) {
  for (int k = 0; k < reducing->plan->count; k++) {
    const hlo_value_t *from = reducing->operands[k], *to = reducing->travelling[k];
    if (to->count && to->data != from->data) memcpy(to->data, from->data, hlo_value_bytes(to));
  }
}

/* Runs of small operands are packed into one transfer, which pays the latency once. */
static hr_status_t start_reductions(op_env_t *env, reducing_t *reducing, const op_group_t *group,
                                    op_transfer_t *transfer) {
  if (group->size == 1) copy_operands(reducing);
  for (int k = 0, last; k < reducing->plan->count && group->size > 1; k = last) {
    last = end_of_pack(reducing, k);
    if (last > k + 1) {
      HR_TRY(start_packed(env, reducing, group, k, last, transfer));
      continue;
    }
    last = k + 1;
    const hlo_value_t *from = reducing->operands[k], *to = reducing->travelling[k];
    HR_TRY(start_one(env, &reducing->plan->reductions[k], group, from->data, to->data, to->count,
                     transfer));
  }
  return NULL;
}

/* Makes all arrays before any transfer starts, as one array may be several operands. */
static hr_status_t reduce_all(op_env_t *env, const op_step_t *step, const hlo_shape_t *shape,
                              const op_group_t *group, hlo_value_t *const *in,
                              op_transfer_t *transfer) {
  const reduce_plan_t *plan = step->plan;
  coll_operands_t operands = coll_operands_of(step, in);
  reducing_t *reducing;
  HR_TRY(new_reducing(transfer, plan, &reducing));
  for (int k = 0; k < plan->count; k++) {
    HR_TRY(place_operand(env, step, shape, in, &operands, k, transfer));
    HR_TRY(make_result(env, transfer, reducing, shape, k));
  }
  HR_TRY(coll_set_value(transfer, shape, plan->count, reducing->results));
  return start_reductions(env, reducing, group, transfer);
}

/* Every process must be in a group. */
static hr_status_t begin_all_reduce(op_env_t *env, const op_step_t *step, const hlo_shape_t *shape,
                                    hlo_value_t *const *in, op_transfer_t *transfer) {
  const op_group_t *group;
  HR_TRY(coll_group(env, step, &group));
  if (!group)
    return hlo_error(step->instr, "all_reduce C2", "process %d is in no group", env->rank);
  return reduce_all(env, step, shape, group, in, transfer);
}

static hr_status_t run_all_reduce(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                  hlo_value_t **out_value) {
  return op_transfer_run(env, step, begin_all_reduce, in, out_value);
}
const op_kernel_t kernel_all_reduce = {prepare_reduce, run_all_reduce};

/* The value of all-reduce-start is the result itself. */
static hr_status_t run_all_reduce_start(op_env_t *env, const op_step_t *step,
                                        hlo_value_t *const *in, hlo_value_t **out_value) {
  return op_transfer_start(env, step, step->instr, begin_all_reduce, step->out_shape, in,
                           out_value);
}
const op_kernel_t kernel_all_reduce_start = {prepare_reduce, run_all_reduce_start};

/* --- collective-reduce --- */

/* Each reduction belongs to its root. The results of the others are undefined by the specification;
 * they are zeros here. */
static hr_status_t begin_collective_reduce(op_env_t *env, const op_step_t *step,
                                           const hlo_shape_t *shape, hlo_value_t *const *in,
                                           op_transfer_t *transfer) {
  const reduce_plan_t *plan = step->plan;
  const op_group_t *group;
  bool *is_for_other;
  int root;
  HR_TRY(coll_group(env, step, &group));
  if (!group) return hlo_value_zeros(shape, &transfer->value);
  HR_TRY(HR_NEW_ARRAY(transfer->arena, plan->count, &is_for_other));
  for (int k = 0; k < plan->count; k++) {
    HR_TRY(coll_root(step, group, in, k, &root));
    is_for_other[k] = root != group->my_index;
  }
  HR_TRY(reduce_all(env, step, shape, group, in, transfer));
  ((reducing_t *)transfer->context)->is_for_other = is_for_other;
  return NULL;
}

static hr_status_t run_collective_reduce(op_env_t *env, const op_step_t *step,
                                         hlo_value_t *const *in, hlo_value_t **out_value) {
  return op_transfer_run(env, step, begin_collective_reduce, in, out_value);
}
const op_kernel_t kernel_collective_reduce = {prepare_reduce, run_collective_reduce};

/* --- reduce-scatter --- */

/* Reduces member k's part of `in` (all of it for a group of one) into `out`, both in the type of
 * messages. */
static hr_status_t scatter_parts(op_env_t *env, const op_step_t *step, const op_group_t *group,
                                 const coll_reduction_t *reduction, const hlo_value_t *in,
                                 hlo_value_t *out, op_transfer_t *transfer) {
  int64_t dimension = hlo_attr_ints(step->instr, HLO_ATTR_DIMENSIONS).data[0];
  if (in->count != out->count * group->size)
    return hlo_error(step->instr, "reduce_scatter C8", "%ld elements to %ld in a group of %d",
                     (long)in->count, (long)out->count, group->size);
  if (group->size == 1) {
    if (in->count) memcpy(out->data, in->data, hlo_value_bytes(in));
    return NULL;
  }
  coll_cut_t cut = coll_cut_of(in->dtype, in->rank, in->dims, dimension, group->size);
  void *parts = in->data;
  if (cut.outer > 1) {
    HR_TRY(coll_scratch(env, transfer, hlo_value_bytes(in), &parts));
    coll_pack(&cut, in->data, parts);
  }
  hr_reducer_t reducer;
  op_request_t **request;
  HR_TRY(coll_reducer_new(env, transfer->arena, reduction, &reducer));
  HR_TRY(op_transfer_add_request(env, transfer, &request));
  return env->comm_ops->reduce_scatter(env, group, parts, out->count, &reducer, out->data, request);
}

/* Reduces in the type of the body; converts at the end if the result has another type. */
static hr_status_t scatter_one(op_env_t *env, const op_step_t *step, const hlo_shape_t *shape,
                               const op_group_t *group, hlo_value_t *operand, int k,
                               reducing_t *reducing, op_transfer_t *transfer) {
  const coll_reduction_t *reduction = &reducing->plan->reductions[k];
  hlo_value_t *in = operand;
  if (reduction->convert_in) {
    HR_TRY(convert_value(env, reduction->convert_in, reduction->dtype, operand, &in));
    HR_TRY(op_transfer_keep(transfer, in));
  }
  HR_TRY(new_travelling(env, transfer, shape, reduction, k, &reducing->travelling[k]));
  HR_TRY(make_result(env, transfer, reducing, shape, k));
  return scatter_parts(env, step, group, reduction, in, reducing->travelling[k], transfer);
}

/* Every process must be in a group; each gets the part at its position in the group. */
static hr_status_t begin_reduce_scatter(op_env_t *env, const op_step_t *step,
                                        const hlo_shape_t *shape, hlo_value_t *const *in,
                                        op_transfer_t *transfer) {
  const reduce_plan_t *plan = step->plan;
  const op_group_t *group;
  reducing_t *reducing;
  HR_TRY(coll_group(env, step, &group));
  if (!group)
    return hlo_error(step->instr, "reduce_scatter C4", "process %d is in no group", env->rank);
  HR_TRY(new_reducing(transfer, plan, &reducing));
  coll_operands_t operands = coll_operands_of(step, in);
  for (int k = 0; k < plan->count; k++)
    HR_TRY(scatter_one(env, step, shape, group, operands.values[k], k, reducing, transfer));
  return coll_set_value(transfer, shape, plan->count, reducing->results);
}

static hr_status_t run_reduce_scatter(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                      hlo_value_t **out_value) {
  return op_transfer_run(env, step, begin_reduce_scatter, in, out_value);
}
const op_kernel_t kernel_reduce_scatter = {prepare_reduce, run_reduce_scatter};
