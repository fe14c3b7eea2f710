/* Fusions that only transpose and reverse an array, such as rotations of images: one strided copy,
 * by the loops of native_transpose.c.
 *
 *     element i of the result  =  element  offset + sum i[d] * stride[d]  of the operand,
 *
 * where strides are those of the operand's dimensions in another order, negative where reversed. */
#include "ops/kernels/common/strided_loops.h"
#include "ops/kernels/move/native_transpose.h"
#include "ops/kernels/native.h"

/* For each dimension of the result, the dimension of an intermediate array and its direction. */
typedef struct dim_map {
  int rank;
  int at[HLO_MAX_RANK];
  bool is_reversed[HLO_MAX_RANK];
  bool transposes, reverses;
} dim_map_t;

static void undo_transpose(const hlo_instr_t *instr, dim_map_t *map) {
  const int64_t *order = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS).data;
  for (int d = 0; d < map->rank; d++) map->at[d] = (int)order[map->at[d]];
  map->transposes = true;
}

static void undo_reverse(const hlo_instr_t *instr, dim_map_t *map) {
  hr_ints_t dims = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  for (int d = 0; d < map->rank; d++)
    for (int64_t i = 0; i < dims.count; i++)
      if (dims.data[i] == map->at[d]) map->is_reversed[d] ^= true;
  map->reverses |= dims.count > 0;
}

/* Follows a body from its result back to its only parameter; NULL: it does something else. */
static const hlo_instr_t *find_source(const hlo_computation_t *body, dim_map_t *map) {
  const hlo_instr_t *instr = body->root;
  *map = (dim_map_t){.rank = hlo_shape_is_array(instr->shape) ? instr->shape->rank : 0};
  for (int d = 0; d < map->rank; d++) map->at[d] = d;
  for (; instr->op != HLO_PARAMETER; instr = instr->operands[0]) {
    if (instr->op == HLO_TRANSPOSE)
      undo_transpose(instr, map);
    else if (instr->op == HLO_REVERSE)
      undo_reverse(instr, map);
    else if (instr->op != HLO_COPY)
      return NULL;
  }
  return body->params.count == 1 ? instr : NULL;
}

static hr_status_t prepare_transpose_reverse(const op_native_target_t *target,
                                             const op_step_t *step, op_native_step_t *out) {
  int64_t dense[HLO_MAX_RANK], strides[HLO_MAX_RANK], count;
  int element_bytes = (int)hr_dtype_bytes(step->out_shape->dtype);
  const native_transpose_plan_t *plan;
  dim_map_t map;
  const hlo_instr_t *source = find_source(step->instr->called[0], &map);
  if (!source || !map.transposes || !map.reverses) return NULL;
  loop_dense_strides(map.rank, source->shape->dims, 1, dense);
  for (int d = 0; d < map.rank; d++)
    strides[d] = map.is_reversed[d] ? -dense[map.at[d]] : dense[map.at[d]];
  HR_TRY(native_transpose_optional_plan_new(target->arena, element_bytes, map.rank,
                                            step->out_shape->dims, strides, &plan));
  if (!plan) return NULL;
  out->plan = plan;
  HR_TRY(hlo_shape_count(step->out_shape, &count));
  out->bytes = 2.0 * (double)count * element_bytes;
  return NULL;
}

static hr_status_t run_transpose_reverse(const op_native_run_t *run, const void *plan,
                                         void *const *in, void *const *out) {
  native_transpose_run(run->workers, plan, out[0], in[0]);
  return NULL;
}

const op_native_t native_transpose_reverse = {"transpose and reverse", prepare_transpose_reverse,
                                              run_transpose_reverse};
