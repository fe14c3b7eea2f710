/* Sends and receives on laid-out arrays: a send reads its data in place, unchanged until the
 * send-done; a recv writes to the buffer of the recv-done's result.
 *
 * The state of a start is (data, context, token); only the data has bytes. A start is laid out if
 * its done is its only user apart from get-tuple-elements of the token. Other starts stay boxed. */
#include <string.h>

#include "ops/query/device_assignment.h"
#include "plan/flat_build.h"

static const flat_ref_t no_buffer = {-1, 0};

static const hlo_shape_t *data_shape(const hlo_instr_t *start) { return start->shape->elements[0]; }

/* Is it an array of static size? */
static bool is_plain(const hlo_shape_t *shape) {
  if (hlo_shape_is_array(shape)) return !hlo_shape_is_dynamic(shape);
  for (int i = 0; i < shape->element_count; i++)
    if (!is_plain(shape->elements[i])) return false;
  return hlo_shape_is_tuple(shape);
}

static bool reads_token(const hlo_instr_t *user) {
  return user->op == HLO_GET_TUPLE_ELEMENT && hlo_attr_int(user, HLO_ATTR_INDEX) == 2;
}

static bool can_lay_out(const hlo_instr_t *start, const hlo_instr_t *end, int uses) {
  return uses == 1 && hlo_op_is(end->op, OP_DONE) && start->parent->root != start &&
         is_plain(data_shape(start));
}

hr_status_t flat_find_channel_pairs(hr_arena_t *arena, const hlo_computation_t *computation,
                                    const hlo_instr_t **done) {
  int *uses;
  HR_TRY(HR_NEW_ARRAY(arena, computation->instrs.count, &uses));
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *user = computation->instrs.data[i];
    for (int k = 0; k < user->operand_count; k++) {
      const hlo_instr_t *start = user->operands[k];
      if (!op_is_channel_end(start) || reads_token(user)) continue;
      uses[start->id]++;
      done[start->id] = user;
    }
  }
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *start = computation->instrs.data[i];
    if (op_is_channel_end(start) && !can_lay_out(start, done[start->id], uses[start->id]))
      done[start->id] = NULL;
  }
  return NULL;
}

/* Leaves of a start's state: data, context and token; only the data has a buffer. */
static hr_status_t set_start_leaves(flat_builder_t *builder, flat_frame_t *frame,
                                    const hlo_instr_t *start, const flat_ref_t *data) {
  int count = hlo_shape_leaf_count(data_shape(start));
  flat_ref_t *leaves;
  HR_TRY(HR_NEW_ARRAY(builder->arena, count + 2, &leaves));
  memcpy(leaves, data, (size_t)count * sizeof *leaves);
  leaves[count] = leaves[count + 1] = no_buffer;
  frame->leaves[start->id] = leaves;
  return NULL;
}

/* The leaves of all operands, concatenated. */
static hr_status_t operand_leaves(flat_builder_t *builder, const flat_frame_t *frame,
                                  const hlo_instr_t *instr, flat_step_t *step) {
  flat_ref_t *in;
  for (int k = 0; k < instr->operand_count; k++)
    step->in_count += hlo_shape_leaf_count(instr->operands[k]->shape);
  HR_TRY(HR_NEW_ARRAY(builder->arena, step->in_count, &in));
  step->in = in;
  for (int k = 0; k < instr->operand_count; k++) {
    int count = hlo_shape_leaf_count(instr->operands[k]->shape);
    memcpy(in, frame->leaves[instr->operands[k]->id], (size_t)count * sizeof *in);
    in += count;
  }
  return NULL;
}

hr_status_t flat_channel_start_add(flat_builder_t *builder, flat_frame_t *frame,
                                   const plan_step_t *source) {
  const hlo_instr_t *instr = source->op.instr;
  flat_step_t step = {.kind = FLAT_REFERENCE,
                      .source = source,
                      .scratch = no_buffer,
                      .reference.out_slot = -1,
                      .reference.has_out_buffers = true,
                      .reference.begins = instr};
  HR_TRY(operand_leaves(builder, frame, instr, &step));
  if (instr->op == HLO_RECV) {
    step.out_count = hlo_shape_leaf_count(data_shape(instr));
    HR_TRY(flat_leaves_add(builder, data_shape(instr), &step.out));
  }
  HR_TRY(set_start_leaves(builder, frame, instr, step.out ? step.out : step.in));
  return flat_step_add(builder, &step);
}

/* The step accesses the data, which keeps it alive and unchanged until here. */
hr_status_t flat_channel_done_add(flat_builder_t *builder, flat_frame_t *frame,
                                  const plan_step_t *source) {
  const hlo_instr_t *instr = source->op.instr, *start = instr->operands[0];
  flat_ref_t *data = (flat_ref_t *)frame->leaves[start->id];
  int count = hlo_shape_leaf_count(data_shape(start));
  flat_step_t step = {.kind = FLAT_REFERENCE,
                      .source = source,
                      .scratch = no_buffer,
                      .reference.out_slot = -1,
                      .reference.ends = start};
  if (start->op == HLO_SEND) {
    step.in = data;
    step.in_count = count;
  } else {
    step.out = data;
    step.out_count = count;
  }
  /* The result is a token, or data and a token. Neither context nor token has a buffer, so either
   * may stand for the other. */
  frame->leaves[instr->id] = start->op == HLO_SEND ? data + count : data;
  return flat_step_add(builder, &step);
}
