/* Fusions that transpose and reverse an array and nothing else, as rotations of images are: one
 * strided copy, by the loops of native_transpose.c.
 *
 *     element i of the result  =  element  offset + sum i[d] * stride[d]  of the operand,
 *
 * where strides are those of the operand's dimensions in another order, negative where reversed. */
#include "ops/kernels/common/strided_loops.h"
#include "ops/kernels/move/native_transpose.h"
#include "ops/kernels/native.h"

/* Which dimension of an array on the way each dimension of the result is, and which way round. */
typedef struct turn {
  int rank;
  int at[HLO_MAX_RANK];
  bool is_reversed[HLO_MAX_RANK];
  bool transposes, reverses;
} turn_t;

static void undo_transpose(const hlo_instr_t *instr, turn_t *turn) {
  const int64_t *order = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS).data;
  for (int d = 0; d < turn->rank; d++) turn->at[d] = (int)order[turn->at[d]];
  turn->transposes = true;
}

static void undo_reverse(const hlo_instr_t *instr, turn_t *turn) {
  hr_ints_t dims = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  for (int d = 0; d < turn->rank; d++)
    for (int64_t i = 0; i < dims.count; i++)
      if (dims.data[i] == turn->at[d]) turn->is_reversed[d] ^= true;
  turn->reverses |= dims.count > 0;
}

/* From the result of a body back to its only parameter; NULL: something else is done. */
static const hlo_instr_t *find_source(const hlo_computation_t *body, turn_t *turn) {
  const hlo_instr_t *instr = body->root;
  *turn = (turn_t){.rank = hlo_shape_is_array(instr->shape) ? instr->shape->rank : 0};
  for (int d = 0; d < turn->rank; d++) turn->at[d] = d;
  for (; instr->op != HLO_PARAMETER; instr = instr->operands[0]) {
    if (instr->op == HLO_TRANSPOSE)
      undo_transpose(instr, turn);
    else if (instr->op == HLO_REVERSE)
      undo_reverse(instr, turn);
    else if (instr->op != HLO_COPY)
      return NULL;
  }
  return body->params.count == 1 ? instr : NULL;
}

static hr_status_t prepare_turn(const op_native_target_t *target, const op_step_t *step,
                                op_native_step_t *out) {
  int64_t dense[HLO_MAX_RANK], strides[HLO_MAX_RANK], count;
  int element_bytes = (int)hr_dtype_bytes(step->out_shape->dtype);
  const native_transpose_plan_t *plan;
  turn_t turn;
  const hlo_instr_t *source = find_source(step->instr->called[0], &turn);
  if (!source || !turn.transposes || !turn.reverses) return NULL;
  loop_dense_strides(turn.rank, source->shape->dims, 1, dense);
  for (int d = 0; d < turn.rank; d++)
    strides[d] = turn.is_reversed[d] ? -dense[turn.at[d]] : dense[turn.at[d]];
  HR_TRY(native_turn_plan_new(target->arena, element_bytes, turn.rank, step->out_shape->dims, strides,
                              &plan));
  if (!plan) return NULL;
  out->plan = plan;
  HR_TRY(hlo_shape_count(step->out_shape, &count));
  out->bytes = 2.0 * (double)count * element_bytes;
  return NULL;
}

static hr_status_t run_turn(const op_native_run_t *run, const void *plan, void *const *in,
                            void *const *out) {
  native_transpose_run(run->workers, plan, out[0], in[0]);
  return NULL;
}

const op_native_t native_turn = {"transpose and reverse", prepare_turn, run_turn};
