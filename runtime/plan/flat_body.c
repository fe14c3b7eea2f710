/* Layout of a computation: each instruction becomes a step, or refers to existing bytes (tuples,
 * get-tuple-elements, constants, views). Called computations are laid out at each use, inside their
 * callers; flat_builder_t.most_steps and MAX_DEPTH bound the expansion, beyond which calls are
 * single steps. */
#include <string.h>

#include "ops/query/device_assignment.h"
#include "plan/flat_build.h"

#define MAX_DEPTH 2000 /* most nested uses */

static hr_status_t literal_leaves(flat_builder_t *builder, const hlo_instr_t *instr,
                                  const flat_ref_t **out_leaves) {
  int count = hlo_shape_leaf_count(instr->shape);
  flat_ref_t *leaves;
  HR_TRY(HR_NEW_ARRAY(builder->arena, count, &leaves));
  for (int i = 0; i < count; i++) {
    const hlo_value_t *value = hlo_value_leaf(instr->literal, i);
    leaves[i] = (flat_ref_t){-1, 0};
    if (!value->data) continue;
    HR_TRY(flat_buffer_add(builder, FLAT_LITERAL, hlo_value_bytes(value), &leaves[i].buffer));
    builder->buffers.data[leaves[i].buffer].literal = value;
  }
  *out_leaves = leaves;
  return NULL;
}

static hr_status_t tuple_leaves(flat_builder_t *builder, const flat_frame_t *frame,
                                const hlo_instr_t *instr, const flat_ref_t **out_leaves) {
  flat_ref_t *leaves, *next;
  HR_TRY(HR_NEW_ARRAY(builder->arena, hlo_shape_leaf_count(instr->shape), &leaves));
  next = leaves;
  for (int k = 0; k < instr->operand_count; k++) {
    int count = hlo_shape_leaf_count(instr->operands[k]->shape);
    memcpy(next, frame->leaves[instr->operands[k]->id], (size_t)count * sizeof *next);
    next += count;
  }
  *out_leaves = leaves;
  return NULL;
}

/* Leaves with bytes that no step writes. */
static hr_status_t unwritten_leaves(flat_builder_t *builder, const hlo_instr_t *instr,
                                    const flat_ref_t **out_leaves) {
  flat_ref_t *leaves;
  HR_TRY(flat_leaves_add(builder, instr->shape, &leaves));
  builder->buffers.data[leaves->buffer].is_unused = true;
  *out_leaves = leaves;
  return NULL;
}

static hr_status_t view_leaf(flat_builder_t *builder, flat_ref_t of, size_t offset_bytes,
                             const flat_ref_t **out_leaves) {
  flat_ref_t *leaf;
  HR_TRY(HR_NEW(builder->arena, &leaf));
  *leaf = (flat_ref_t){of.buffer, of.offset_bytes + offset_bytes};
  *out_leaves = leaf;
  return NULL;
}

/* A slice of an array that is updated in place is copied out: a view would keep the array alive and
 * force a copy of all of it at the update. */
static bool is_safe_view(const flat_builder_t *builder, const flat_frame_t *frame,
                         const hlo_instr_t *instr) {
  const hlo_instr_t *operand = instr->operands[0];
  if (instr->op != HLO_SLICE || hlo_shape_equal(instr->shape, operand->shape)) return true;
  return !frame->updated[operand->id] &&
         !builder->buffers.data[frame->leaves[operand->id]->buffer].is_carried;
}

/* The leaves of an instruction that needs no step; *out_leaves stays NULL if it needs one. */
static hr_status_t find_existing(flat_builder_t *builder, flat_frame_t *frame,
                                 const hlo_instr_t *instr, const flat_ref_t **out_leaves) {
  size_t offset_bytes;
  if (instr == builder->trip_count.idle) {
    *out_leaves = frame->leaves[builder->trip_count.counter->id];
    return NULL;
  }
  if (frame->analysis->is_boxed[instr->id]) return NULL;
  for (int k = 0; k < instr->operand_count; k++)
    if (frame->slots[instr->operands[k]->id] >= 0) return NULL;
  if (instr->op == HLO_CONSTANT) return literal_leaves(builder, instr, out_leaves);
  if (flat_is_never_read(instr)) return unwritten_leaves(builder, instr, out_leaves);
  if (instr->op == HLO_TUPLE) return tuple_leaves(builder, frame, instr, out_leaves);
  if (hlo_op_is(instr->op, OP_IDENTITY)) {
    *out_leaves = frame->leaves[instr->operands[0]->id];
  } else if (instr->op == HLO_GET_TUPLE_ELEMENT) {
    const hlo_instr_t *tuple = instr->operands[0];
    *out_leaves = frame->leaves[tuple->id] +
                  hlo_shape_leaf_start(tuple->shape, hlo_attr_int(instr, HLO_ATTR_INDEX));
  } else if (flat_is_alias(instr, &offset_bytes) && is_safe_view(builder, frame, instr)) {
    return view_leaf(builder, frame->leaves[instr->operands[0]->id][0], offset_bytes, out_leaves);
  }
  return NULL;
}

static bool can_lay_out(const flat_builder_t *builder, const flat_frame_t *frame,
                        const hlo_instr_t *instr) {
  if (instr->op != HLO_WHILE && instr->op != HLO_CONDITIONAL && instr->op != HLO_CALL &&
      instr->op != HLO_FUSION)
    return false;
  if (frame->analysis->is_boxed[instr->id]) return false;
  for (int k = 0; k < instr->operand_count; k++)
    if (frame->slots[instr->operands[k]->id] >= 0) return false;
  return builder->depth < MAX_DEPTH && builder->steps.count < builder->most_steps &&
         flat_can_inline(builder->analysis, instr);
}

static hr_status_t add_control(flat_builder_t *builder, flat_frame_t *frame,
                               const plan_step_t *step) {
  const flat_ref_t **out_leaves = &frame->leaves[step->op.instr->id];
  switch (step->op.instr->op) {
    case HLO_WHILE:
      return flat_while_add(builder, frame, step, out_leaves);
    case HLO_CONDITIONAL:
      return flat_conditional_add(builder, frame, step, out_leaves);
    default:
      return flat_call_add(builder, frame, step, out_leaves);
  }
}

static hr_status_t add_start(flat_builder_t *builder, flat_frame_t *frame,
                             const plan_step_t *step) {
  if (op_is_channel_end(step->op.instr)) return flat_channel_start_add(builder, frame, step);
  return flat_start_add(builder, frame, step);
}

static hr_status_t add_done(flat_builder_t *builder, flat_frame_t *frame, const plan_step_t *step) {
  if (op_is_channel_end(step->op.instr->operands[0]))
    return flat_channel_done_add(builder, frame, step);
  return flat_done_add(builder, frame, step);
}

static hr_status_t add_instruction(flat_builder_t *builder, flat_frame_t *frame,
                                   const plan_step_t *step) {
  const hlo_instr_t *instr = step->op.instr;
  bool done = false;
  if (frame->analysis->done[instr->id]) return add_start(builder, frame, step);
  if (hlo_op_is(instr->op, OP_DONE) && frame->analysis->done[instr->operands[0]->id] == instr)
    return add_done(builder, frame, step);
  HR_TRY(find_existing(builder, frame, instr, &frame->leaves[instr->id]));
  if (frame->leaves[instr->id]) return NULL;
  HR_TRY(flat_kernel_add(builder, frame, step, can_lay_out(builder, frame, instr), &done));
  return done ? NULL : add_control(builder, frame, step);
}

static hr_status_t open_frame(flat_builder_t *builder, const hlo_computation_t *computation,
                              flat_frame_t *frame) {
  size_t count = computation->instrs.count;
  frame->body = builder->flat->plan->bodies[computation->id];
  frame->analysis = &builder->analysis[computation->id];
  HR_TRY(HR_NEW_ARRAY(&builder->scratch, count, &frame->leaves));
  HR_TRY(HR_NEW_ARRAY(&builder->scratch, count, &frame->slots));
  for (size_t i = 0; i < count; i++) frame->slots[i] = -1;
  return flat_find_updated(builder, frame->body, &frame->updated);
}

static hr_status_t add_all(flat_builder_t *builder, flat_frame_t *frame) {
  hr_where_t where = {.computation = frame->body->computation->name.data};
  hr_where_push(&where);
  hr_status_t st = NULL;
  for (int s = 0; s < frame->body->step_count && !st; s++) {
    where.instruction = frame->body->steps[s].op.instr->name.data;
    where.pos = hlo_instr_pos(frame->body->steps[s].op.instr);
    st = add_instruction(builder, frame, &frame->body->steps[s]);
  }
  hr_where_pop(&where);
  return st;
}

hr_status_t flat_body_add(flat_builder_t *builder, const hlo_computation_t *computation,
                          const flat_ref_t *const *params, const flat_ref_t **out_root) {
  flat_frame_t frame;
  hr_arena_mark_t mark = hr_arena_mark(&builder->scratch);
  HR_TRY(open_frame(builder, computation, &frame));
  for (int p = 0; p < frame.body->param_count; p++)
    frame.leaves[computation->params.data[p]->id] = params[p];
  builder->depth++;
  hr_status_t st = add_all(builder, &frame);
  builder->depth--;
  *out_root = frame.leaves[computation->root->id];
  hr_arena_rewind(&builder->scratch, mark);
  return st;
}
