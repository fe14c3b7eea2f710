/* Loops and calls, laid out inside their callers.
 *
 *   copy initial -> carried      one copy per carried leaf, before the loop; none of what the
 *                                loop overwrites (flat_overwritten.c)
 *   WHILE
 *     condition steps            reads carried; absent if the trip count is known
 *     body steps                 reads carried, computes next
 *     parallel copy next -> carried
 *
 * Every leaf that the body changes has a buffer for the whole loop; leaves that it passes through
 * stay where they are. Most copies disappear when buffers are coalesced (flat_coalesce.c). */
#include "plan/flat_build.h"

/* --- calls --- */

hr_status_t flat_call_add(flat_builder_t *builder, flat_frame_t *frame, const plan_step_t *step,
                          const flat_ref_t **out_leaves) {
  const hlo_instr_t *instr = step->op.instr;
  const flat_ref_t **params;
  HR_TRY(HR_NEW_ARRAY(&builder->scratch, instr->operand_count, &params));
  for (int k = 0; k < instr->operand_count; k++) params[k] = frame->leaves[instr->operands[k]->id];
  return flat_body_add(builder, instr->called[0], params, out_leaves);
}

/* --- loops --- */

typedef struct loop {
  flat_builder_t *builder;
  const plan_step_t *source;
  int count; /* leaves */
  flat_ref_t *state;
  flat_trip_count_t trip_count;
  int first_buffer, buffer_count; /* consecutive buffers of the carried leaves */
} loop_t;

/* Is the leaf a state element whose initial value is never read? */
static bool is_overwritten(const loop_t *loop, int leaf) {
  const hlo_instr_t *instr = loop->source->op.instr;
  const hlo_shape_t *shape = instr->shape;
  if (!hlo_shape_is_tuple(shape) || leaf >= shape->element_count) return false;
  bool is_element =
      hlo_shape_leaf_start(shape, leaf) == leaf && !hlo_shape_is_tuple(shape->elements[leaf]);
  return is_element && flat_is_overwritten(instr, &loop->trip_count, leaf);
}

/* Adds a buffer for each leaf that changes, and a copy of its initial value. */
static hr_status_t add_state(loop_t *loop, const flat_ref_t *initial, const int *passed) {
  flat_builder_t *builder = loop->builder;
  const hlo_shape_t *shape = loop->source->op.instr->shape;
  loop->first_buffer = (int)builder->buffers.count;
  HR_TRY(HR_NEW_ARRAY(builder->arena, loop->count, &loop->state));
  for (int i = 0; i < loop->count; i++) {
    size_t bytes;
    loop->state[i] = initial[i];
    if (initial[i].buffer < 0 || passed[i] == i) continue;
    HR_TRY(hlo_shape_bytes(hlo_shape_leaf(shape, i), &bytes));
    HR_TRY(flat_buffer_add(builder, FLAT_ARENA, bytes, &loop->state[i].buffer));
    loop->state[i].offset_bytes = 0;
    builder->buffers.data[loop->state[i].buffer].is_carried = true;
    if (!is_overwritten(loop, i))
      HR_TRY(flat_copy_add(builder, loop->source, initial[i], loop->state[i], bytes));
  }
  loop->buffer_count = (int)builder->buffers.count - loop->first_buffer;
  return NULL;
}

static hr_status_t add_condition(loop_t *loop, int number) {
  flat_builder_t *builder = loop->builder;
  const flat_ref_t *params[1] = {loop->state}, *met;
  HR_TRY(flat_body_add(builder, loop->source->op.instr->called[0], params, &met));
  flat_touch(builder, met[0], flat_now(builder) - 1);
  builder->steps.data[number].in = met;
  builder->steps.data[number].in_count = 1;
  return NULL;
}

static hr_status_t add_loop_body(loop_t *loop) {
  flat_builder_t *builder = loop->builder;
  const flat_ref_t *params[1] = {loop->state};
  flat_parallel_copy_t moves = {.source = loop->source,
                                .count = loop->count,
                                .state = loop->state,
                                .first_buffer = loop->first_buffer,
                                .buffer_count = loop->buffer_count,
                                .start = flat_now(builder)};
  flat_trip_count_t outer = builder->trip_count;
  builder->trip_count = loop->trip_count;
  builder->loops++;
  hr_status_t st = flat_body_add(builder, loop->source->op.instr->called[1], params, &moves.next);
  builder->trip_count = outer;
  builder->loops--;
  HR_TRY(st);
  return flat_parallel_copy_add(builder, &moves);
}

hr_status_t flat_while_add(flat_builder_t *builder, flat_frame_t *frame, const plan_step_t *source,
                           const flat_ref_t **out_leaves) {
  const hlo_instr_t *instr = source->op.instr;
  loop_t loop = {.builder = builder,
                 .source = source,
                 .count = hlo_shape_leaf_count(instr->shape),
                 .trip_count = flat_find_trip_count(instr)};
  flat_step_t step = {.kind = FLAT_WHILE,
                      .source = source,
                      .scratch = {-1, 0},
                      .reference.out_slot = -1,
                      .control.start_count = 2,
                      .control.trip_count = loop.trip_count.count};
  int *starts;
  HR_TRY(HR_NEW_ARRAY(builder->arena, 2, &starts));
  HR_TRY(add_state(&loop, frame->leaves[instr->operands[0]->id],
                   builder->analysis[instr->called[1]->id].passed_leaves));
  int number = flat_now(builder);
  step.control.starts = starts;
  HR_TRY(flat_step_add(builder, &step));
  starts[0] = flat_now(builder);
  if (step.control.trip_count < 0) HR_TRY(add_condition(&loop, number));
  starts[1] = flat_now(builder);
  HR_TRY(add_loop_body(&loop));
  builder->steps.data[number].end = flat_now(builder);
  for (int i = 0; i < loop.count; i++) flat_touch(builder, loop.state[i], flat_now(builder) - 1);
  *out_leaves = loop.state;
  return NULL;
}
