/* Collectives that move elements: all-gather, all-to-all, collective-broadcast. Also replica-id and
 * partition-id. */
#include <string.h>

#include "ops/kernels/comm/collective_common.h"

/* --- replica-id, partition-id --- */

static hr_status_t u32_scalar(uint32_t number, hlo_value_t **out_value) {
  HR_TRY(hlo_value_array(HR_U32, 0, NULL, out_value));
  *(uint32_t *)(*out_value)->data = number;
  return NULL;
}

static hr_status_t run_replica_id(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                  hlo_value_t **out_value) {
  (void)step, (void)in;
  return u32_scalar((uint32_t)env->replica, out_value);
}
const op_kernel_t kernel_replica_id = {NULL, run_replica_id};

static hr_status_t run_partition_id(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                    hlo_value_t **out_value) {
  (void)step, (void)in;
  return u32_scalar((uint32_t)env->partition, out_value);
}
const op_kernel_t kernel_partition_id = {NULL, run_partition_id};

/* --- blocks to interleave after arrival --- */

typedef struct arrival { /* parts to interleave when they have arrived */
  bool packed;
  coll_cut_t cut;
  void *parts;
} arrival_t;

/* Interleaves contiguous blocks along the dimension, after all have arrived. */
static hr_status_t unpack_all(op_env_t *env, op_transfer_t *transfer) {
  (void)env;
  const arrival_t *arrivals = transfer->context;
  hlo_value_t *value = transfer->value;
  int count = value->dtype == HR_TUPLE ? value->element_count : 1;
  for (int k = 0; k < count; k++)
    if (arrivals[k].packed)
      coll_unpack(&arrivals[k].cut, arrivals[k].parts,
                  (value->dtype == HR_TUPLE ? value->elements[k] : value)->data);
  return NULL;
}

static hr_status_t new_arrivals(op_transfer_t *transfer, int count, arrival_t **out_arrivals) {
  HR_TRY(HR_NEW_ARRAY(transfer->arena, count, out_arrivals));
  transfer->context = *out_arrivals;
  transfer->finish = unpack_all;
  return NULL;
}

/* --- all-gather --- */

/* For a result in memory that all members share: each member writes its own part. */
static void place_part(const op_group_t *group, const coll_cut_t *cut, const hlo_value_t *in,
                       hlo_value_t *out) {
  size_t row = (size_t)(cut->inner * cut->element_bytes);
  const char *from = in->data;
  char *to = (char *)out->data + (size_t)group->my_index * row;
  for (int64_t i = 0; i < cut->outer; i++)
    memcpy(to + (size_t)(i * cut->parts) * row, from + (size_t)i * row, row);
}

/* Waits until all members have written their parts. */
static hr_status_t await_parts(op_env_t *env, const op_group_t *group, op_transfer_t *transfer) {
  char *here;
  op_request_t **request;
  HR_TRY(HR_NEW_ARRAY(transfer->arena, 1 + group->size, &here));
  HR_TRY(op_transfer_add_request(env, transfer, &request));
  return coll_all_gather(env, group, here, 1, here + 1, request);
}

/* Concatenation along dimension 0 needs no rearrangement; along another dimension the members'
 * parts are interleaved afterwards. */
static hr_status_t gather_one(op_env_t *env, const op_step_t *step, const op_group_t *group,
                              const hlo_value_t *in, hlo_value_t *out, bool is_shared,
                              op_transfer_t *transfer, arrival_t *arrival) {
  int64_t dimension = hlo_attr_ints(step->instr, HLO_ATTR_DIMENSIONS).data[0];
  op_request_t **request;
  size_t bytes = hlo_value_bytes(in);
  if (bytes * (size_t)group->size != hlo_value_bytes(out))
    return hlo_error(step->instr, "all_gather C6",
                     "%zu bytes of each of %d members, want %zu in all", bytes, group->size,
                     hlo_value_bytes(out));
  arrival->cut = coll_cut_of(out->dtype, out->rank, out->dims, dimension, group->size);
  if (is_shared) {
    place_part(group, &arrival->cut, in, out);
    return NULL;
  }
  arrival->packed = arrival->cut.outer > 1;
  arrival->parts = out->data;
  if (arrival->packed) HR_TRY(coll_scratch(env, transfer, hlo_value_bytes(out), &arrival->parts));
  HR_TRY(op_transfer_add_request(env, transfer, &request));
  return coll_all_gather(env, group, in->data, bytes, arrival->parts, request);
}

/* One request per operand, and one for all operands that are written into shared results. */
static hr_status_t begin_all_gather(op_env_t *env, const op_step_t *step, const hlo_shape_t *shape,
                                    hlo_value_t *const *in, op_transfer_t *transfer) {
  const op_group_t *group;
  HR_TRY(coll_group(env, step, &group));
  if (!group)
    return hlo_error(step->instr, "all_gather C3", "process %d is in no group", env->rank);
  coll_operands_t operands = coll_operands_of(step, in);
  hlo_value_t **outs;
  arrival_t *arrivals;
  HR_TRY(coll_create(env, transfer, shape, operands.count, &outs));
  HR_TRY(new_arrivals(transfer, operands.count, &arrivals));
  uint64_t shared = transfer->out_buffers ? env->hints.shared_results : 0;
  for (int k = 0; k < operands.count; k++)
    HR_TRY(gather_one(env, step, group, operands.values[k], outs[k], k < 64 && shared >> k & 1,
                      transfer, &arrivals[k]));
  return shared ? await_parts(env, group, transfer) : NULL;
}

static hr_status_t run_all_gather(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                  hlo_value_t **out_value) {
  return op_transfer_run(env, step, begin_all_gather, in, out_value);
}
const op_kernel_t kernel_all_gather = {NULL, run_all_gather};

static hr_status_t run_all_gather_start(op_env_t *env, const op_step_t *step,
                                        hlo_value_t *const *in, hlo_value_t **out_value) {
  return coll_start(env, step, begin_all_gather, in, out_value);
}
const op_kernel_t kernel_all_gather_start = {NULL, run_all_gather_start};

/* The value of all-reduce-start has the shape of its result; that of the others is (operands,
 * results, ...). */
static hr_status_t run_collective_done(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                       hlo_value_t **out_value) {
  bool is_result = step->instr->op == HLO_ALL_REDUCE_DONE;
  HR_TRY(op_transfer_done(env, step->instr->operands[0], out_value));
  if (!*out_value) *out_value = hlo_value_retain(is_result ? in[0] : in[0]->elements[1]);
  return NULL;
}
const op_kernel_t kernel_collective_done = {NULL, run_collective_done};

/* --- all-to-all --- */

static hr_status_t new_blocks(op_transfer_t *transfer, int count, hr_block_t **out_sends,
                              hr_block_t **out_recvs) {
  HR_TRY(HR_NEW_ARRAY(transfer->arena, count, out_sends));
  return HR_NEW_ARRAY(transfer->arena, count, out_recvs);
}

/* Operand k goes to member k; result k comes from member k. */
static hr_status_t exchange_operands(op_env_t *env, const op_step_t *step, const op_group_t *group,
                                     const coll_operands_t *operands, hlo_value_t **outs,
                                     op_transfer_t *transfer) {
  if (operands->count != group->size)
    return hlo_error(step->instr, "all_to_all C8", "%d operands in a group of %d", operands->count,
                     group->size);
  hr_block_t *sends, *recvs;
  HR_TRY(new_blocks(transfer, group->size, &sends, &recvs));
  bool are_equal = true;
  for (int k = 0; k < group->size; k++) {
    sends[k] = (hr_block_t){operands->values[k]->data, hlo_value_bytes(operands->values[k])};
    recvs[k] = (hr_block_t){outs[k]->data, hlo_value_bytes(outs[k])};
    are_equal = are_equal && sends[k].size_bytes == sends[0].size_bytes;
  }
  return coll_exchange(env, transfer, group, sends, recvs, are_equal ? sends[0].size_bytes : 0);
}

/* Cuts the operand along the split dimension and joins the received parts along the concat
 * dimension. */
static hr_status_t exchange_parts(op_env_t *env, const op_step_t *step, const op_group_t *group,
                                  const hlo_value_t *in, hlo_value_t *out,
                                  op_transfer_t *transfer) {
  int64_t dimension = hlo_attr_ints(step->instr, HLO_ATTR_DIMENSIONS).data[0];
  if (in->dims[dimension] % group->size || hlo_value_bytes(in) != hlo_value_bytes(out))
    return hlo_error(step->instr, "all_to_all C2",
                     "dimension %ld has %ld elements, want a multiple of %d", (long)dimension,
                     (long)in->dims[dimension], group->size);
  arrival_t *arrival;
  HR_TRY(new_arrivals(transfer, 1, &arrival));
  *arrival = (arrival_t){.cut = coll_cut_of(in->dtype, in->rank, in->dims, dimension, group->size),
                         .parts = out->data};
  arrival->packed = arrival->cut.outer > 1;
  size_t bytes = coll_part_bytes(&arrival->cut);
  void *leaving = in->data;
  if (arrival->packed) {
    HR_TRY(coll_scratch(env, transfer, hlo_value_bytes(in), &leaving));
    HR_TRY(coll_scratch(env, transfer, hlo_value_bytes(in), &arrival->parts));
    coll_pack(&arrival->cut, in->data, leaving);
  }
  hr_block_t *sends, *recvs;
  HR_TRY(new_blocks(transfer, group->size, &sends, &recvs));
  for (int k = 0; k < group->size; k++) {
    sends[k] = (hr_block_t){(char *)leaving + (size_t)k * bytes, bytes};
    recvs[k] = (hr_block_t){(char *)arrival->parts + (size_t)k * bytes, bytes};
  }
  return coll_exchange(env, transfer, group, sends, recvs, bytes);
}

/* With split dimensions one operand is cut into parts; without, operand k goes to member k. */
static hr_status_t begin_all_to_all(op_env_t *env, const op_step_t *step, const hlo_shape_t *shape,
                                    hlo_value_t *const *in, op_transfer_t *transfer) {
  const op_group_t *group;
  HR_TRY(coll_group(env, step, &group));
  if (!group)
    return hlo_error(step->instr, "all_to_all C6", "process %d is in no group", env->rank);
  coll_operands_t operands = coll_operands_of(step, in);
  hlo_value_t **outs;
  HR_TRY(coll_create(env, transfer, shape, operands.count, &outs));
  if (hlo_attr_ints(step->instr, HLO_ATTR_DIMENSIONS).count > 0)
    return exchange_parts(env, step, group, operands.values[0], outs[0], transfer);
  return exchange_operands(env, step, group, &operands, outs, transfer);
}

static hr_status_t run_all_to_all(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                  hlo_value_t **out_value) {
  return op_transfer_run(env, step, begin_all_to_all, in, out_value);
}
const op_kernel_t kernel_all_to_all = {NULL, run_all_to_all};

/* --- collective-broadcast --- */

/* An all-to-all in which only the root sends; the root copies its own part. */
static hr_status_t broadcast_one(op_env_t *env, const op_group_t *group, int root,
                                 const hlo_value_t *in, hlo_value_t *out, op_transfer_t *transfer) {
  hr_block_t *sends, *recvs;
  HR_TRY(new_blocks(transfer, group->size, &sends, &recvs));
  if (root == group->my_index) {
    for (int k = 0; k < group->size; k++)
      if (k != root) sends[k] = (hr_block_t){in->data, hlo_value_bytes(in)};
    if (in->count) memcpy(out->data, in->data, hlo_value_bytes(in));
  } else {
    recvs[root] = (hr_block_t){out->data, hlo_value_bytes(out)};
  }
  return coll_exchange(env, transfer, group, sends, recvs, 0);
}

/* A process in no group gets zeros, as the specification says. */
static hr_status_t begin_broadcast(op_env_t *env, const op_step_t *step, const hlo_shape_t *shape,
                                   hlo_value_t *const *in, op_transfer_t *transfer) {
  const op_group_t *group;
  int root,
      count = step->instr->operand_count - hlo_attr_bool(step->instr, HLO_ATTR_HAS_DYNAMIC_ROOT);
  hlo_value_t **outs;
  HR_TRY(coll_group(env, step, &group));
  if (!group) return hlo_value_zeros(shape, &transfer->value);
  HR_TRY(coll_create(env, transfer, shape, count, &outs));
  for (int k = 0; k < count; k++) {
    HR_TRY(coll_root(step, group, in, k, &root));
    HR_TRY(broadcast_one(env, group, root, in[k], outs[k], transfer));
  }
  return NULL;
}

static hr_status_t run_collective_broadcast(op_env_t *env, const op_step_t *step,
                                            hlo_value_t *const *in, hlo_value_t **out_value) {
  return op_transfer_run(env, step, begin_broadcast, in, out_value);
}
const op_kernel_t kernel_collective_broadcast = {NULL, run_collective_broadcast};
