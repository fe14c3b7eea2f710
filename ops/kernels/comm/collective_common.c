/* Groups of one, and permutes from a process to itself, are copies: programs for one process run
 * without comm_ops. Transfers have one contiguous block per member, so packing brings the parts of
 * each member together:
 *
 *   [outer, parts, inner]  <->  [parts, outer, inner] */
#include "ops/kernels/comm/collective_common.h"

#include <string.h>

/* --- groups and transfers --- */

/* *out_group is NULL for a process in no group. */
hr_status_t coll_group(op_env_t *env, const op_step_t *step, const op_group_t **out_group) {
  op_members_t members;
  HR_TRY(op_group_members(env->scratch, step->instr, env->num_replicas, env->num_partitions,
                          env->rank, &members));
  *out_group = NULL;
  if (members.my_index < 0) return NULL;
  int64_t stream = hlo_attr_int(step->instr, HLO_ATTR_CHANNEL_ID);
  if (members.size > 1)
    return env->comm_ops->group(env, members.size, members.ranks, stream, out_group);
  op_group_t *alone;
  HR_TRY(HR_NEW(env->scratch, &alone));
  *alone = (op_group_t){.size = 1, .ranks = members.ranks};
  *out_group = alone;
  return NULL;
}

static void copy_bytes(void *to, const void *from, size_t size_bytes) {
  if (size_bytes && to != from) memcpy(to, from, size_bytes);
}

hr_status_t coll_all_gather(op_env_t *env, const op_group_t *group, const void *in,
                            size_t size_bytes, void *out, op_request_t **out_request) {
  if (group->size > 1)
    return env->comm_ops->all_gather(env, group, in, size_bytes, out, out_request);
  copy_bytes(out, in, size_bytes);
  return NULL;
}

hr_status_t coll_all_to_all(op_env_t *env, const op_group_t *group, const hr_block_t *sends,
                            const hr_block_t *recvs, size_t equal_bytes,
                            op_request_t **out_request) {
  if (group->size > 1)
    return env->comm_ops->all_to_all(env, group, sends, recvs, equal_bytes, out_request);
  copy_bytes(recvs[0].data, sends[0].data, recvs[0].size_bytes);
  return NULL;
}

/* A transfer from a process to itself is a copy. `to` and `from` may be absent (-1)
 * independently. */
hr_status_t coll_permute(op_env_t *env, int64_t stream, int to, const hr_block_t *send, int from,
                         const hr_block_t *recv, op_request_t **out_request) {
  if (to == env->rank && from == env->rank)
    copy_bytes(recv->data, send->data, recv->size_bytes);
  else if (to >= 0 || from >= 0)
    return env->comm_ops->permute(env, stream, to, send, from, recv, out_request);
  return NULL;
}

hr_status_t coll_exchange(op_env_t *env, op_transfer_t *transfer, const op_group_t *group,
                          const hr_block_t *sends, const hr_block_t *recvs, size_t equal_bytes) {
  op_request_t **request;
  HR_TRY(op_transfer_add_request(env, transfer, &request));
  return coll_all_to_all(env, group, sends, recvs, equal_bytes, request);
}

/* --- blocks of arrays --- */

/* Dimension `dimension` is cut into `parts` equal ranges. */
coll_cut_t coll_cut_of(hr_dtype_t dtype, int rank, const int64_t *dims, int64_t dimension,
                       int64_t parts) {
  coll_cut_t cut = {
      .outer = 1, .parts = parts, .inner = 1, .element_bytes = (int)hr_dtype_bytes(dtype)};
  for (int d = 0; d < rank; d++) *(d < dimension ? &cut.outer : &cut.inner) *= dims[d];
  cut.inner /= parts;
  return cut;
}

/* Strides in bytes, in the order outer, part, inner. */
static void cut_strides(const coll_cut_t *cut, int64_t array[3], int64_t parts[3]) {
  int64_t row = cut->inner * cut->element_bytes;
  array[0] = cut->parts * row;
  array[1] = row;
  array[2] = cut->element_bytes;
  parts[0] = row;
  parts[1] = cut->outer * row;
  parts[2] = cut->element_bytes;
}

void coll_pack(const coll_cut_t *cut, const void *array, void *parts) {
  int64_t dims[] = {cut->outer, cut->parts, cut->inner}, array_strides[3], part_strides[3];
  loop_copy_t copy;
  cut_strides(cut, array_strides, part_strides);
  loop_copy_init(&copy, cut->element_bytes, 3, dims, part_strides, array_strides);
  loop_copy_run(&copy, parts, array);
}

void coll_unpack(const coll_cut_t *cut, const void *parts, void *array) {
  int64_t dims[] = {cut->outer, cut->parts, cut->inner}, array_strides[3], part_strides[3];
  loop_copy_t copy;
  cut_strides(cut, array_strides, part_strides);
  loop_copy_init(&copy, cut->element_bytes, 3, dims, array_strides, part_strides);
  loop_copy_run(&copy, array, parts);
}

/* --- operands and results --- */

/* A single tuple operand counts as its elements. */
coll_operands_t coll_operands_of(const op_step_t *step, hlo_value_t *const *in) {
  if (step->instr->operand_count == 1 && in[0]->dtype == HR_TUPLE)
    return (coll_operands_t){in[0]->element_count, in[0]->elements};
  return (coll_operands_t){step->instr->operand_count, in};
}

/* Static roots are 0; dynamic roots are the last operand: one for all operands or one for each. */
hr_status_t coll_root(const op_step_t *step, const op_group_t *group, hlo_value_t *const *in, int k,
                      int *out_root) {
  *out_root = 0;
  if (!hlo_attr_bool(step->instr, HLO_ATTR_HAS_DYNAMIC_ROOT)) return NULL;
  const hlo_value_t *roots = in[step->instr->operand_count - 1];
  int64_t root = hlo_value_int_at(roots, roots->rank ? k : 0);
  if (root < 0 || root >= group->size)
    return hlo_error(step->instr, NULL, "root %ld in a group of %d", (long)root, group->size);
  *out_root = (int)root;
  return NULL;
}

/* Result k where the engine wants it, or else in memory that peers can access. */
hr_status_t coll_result(op_env_t *env, const op_transfer_t *transfer, const hlo_shape_t *shape,
                        int k, hlo_value_t **out_value) {
  if (!transfer->out_buffers)
    return op_shared_array(env, shape->dtype, shape->rank, shape->dims, out_value);
  *out_value = hlo_value_retain(transfer->out_buffers[k]);
  return NULL;
}

/* Memory that peers can access until the transfer ends. */
hr_status_t coll_scratch(op_env_t *env, op_transfer_t *transfer, size_t size_bytes,
                         void **out_memory) {
  hlo_value_t *value;
  HR_TRY(op_shared_array(env, HR_U8, 1, (const int64_t[]){(int64_t)size_bytes}, &value));
  *out_memory = value->data;
  return op_transfer_keep(transfer, value);
}

/* Makes one result per operand; the transfer's value is the only result or the tuple of all. */
hr_status_t coll_create(op_env_t *env, op_transfer_t *transfer, const hlo_shape_t *shape, int count,
                        hlo_value_t ***out_values) {
  hlo_value_t **values;
  HR_TRY(HR_NEW_ARRAY(transfer->arena, count, &values));
  hr_status_t st = NULL;
  for (int k = 0; k < count && !st; k++) {
    const hlo_shape_t *one = hlo_shape_is_tuple(shape) ? shape->elements[k] : shape;
    st = coll_result(env, transfer, one, k, &values[k]);
  }
  if (!st) st = coll_set_value(transfer, shape, count, values);
  for (int k = 0; k < count; k++) hlo_value_release(values[k]);
  if (!st) *out_values = values;
  return st;
}

hr_status_t coll_set_value(op_transfer_t *transfer, const hlo_shape_t *shape, int count,
                           hlo_value_t *const *values) {
  if (hlo_shape_is_tuple(shape)) return hlo_value_tuple(count, values, &transfer->value);
  transfer->value = hlo_value_retain(values[0]);
  return NULL;
}

/* The operands, in the form of the first element of a -start's value. */
static hr_status_t operands_part(const op_step_t *step, hlo_value_t *const *in,
                                 hlo_value_t **out_value) {
  bool is_bare = !hlo_shape_is_tuple(step->out_shape->elements[0]) || in[0]->dtype == HR_TUPLE;
  if (step->instr->operand_count > 1 || !is_bare)
    return hlo_value_tuple(step->instr->operand_count, in, out_value);
  *out_value = hlo_value_retain(in[0]);
  return NULL;
}

/* The value of a -start is a tuple: operands, results, and zeros for contexts that only other back
 * ends use. */
hr_status_t coll_start(op_env_t *env, const op_step_t *step, op_start_fn begin,
                       hlo_value_t *const *in, hlo_value_t **out_value) {
  enum { MAX_ELEMENTS = 8 };
  int count = step->out_shape->element_count;
  hlo_value_t *parts[MAX_ELEMENTS] = {NULL};
  if (count > MAX_ELEMENTS)
    return hlo_error(step->instr, NULL, "%d elements, want at most %d", count, MAX_ELEMENTS);
  hr_status_t st =
      op_transfer_start(env, step, step->instr, begin, step->out_shape->elements[1], in, &parts[1]);
  if (!st) st = operands_part(step, in, &parts[0]);
  for (int k = 2; k < count && !st; k++)
    st = hlo_value_zeros(step->out_shape->elements[k], &parts[k]);
  if (!st) st = hlo_value_tuple(count, parts, out_value);
  for (int k = 0; k < count; k++) hlo_value_release(parts[k]);
  return st;
}
