/* Collectives on laid-out arrays. A collective writes its results directly to their buffers, in one
 * step or in two (start and done). Between the two halves the result buffers and the operands
 * belong to the transfer:
 *
 *   s = all-reduce-start(x)     operands pinned, results being written
 *   ...                         no step writes x or touches the results
 *   y = all-reduce-done(s)
 *
 * A result of an all-reduce may overwrite its operand if the operand dies there. Start and done are
 * paired only if the done is the start's single user; other pairs stay boxed (flat_analysis.c). */
#include "ops/query/async_collective.h"
#include "plan/flat_build.h"

/* --- pairs --- */

static bool has_array_operands(const hlo_instr_t *instr) {
  for (int k = 0; k < instr->operand_count; k++)
    if (!hlo_shape_is_array(instr->operands[k]->shape) ||
        hlo_shape_is_dynamic(instr->operands[k]->shape))
      return false;
  return true;
}

static bool is_static_arrays(const hlo_shape_t *shape) {
  if (hlo_shape_is_array(shape)) return !hlo_shape_is_dynamic(shape);
  for (int i = 0; i < shape->element_count; i++)
    if (!hlo_shape_is_array(shape->elements[i]) || hlo_shape_is_dynamic(shape->elements[i]))
      return false;
  return hlo_shape_is_tuple(shape);
}

static bool writes_out_buffers(hlo_opcode_t op) {
  switch (op) {
    case HLO_ALL_REDUCE:
    case HLO_ALL_GATHER:
    case HLO_REDUCE_SCATTER:
    case HLO_ALL_TO_ALL:
    case HLO_COLLECTIVE_PERMUTE:
    case HLO_COLLECTIVE_BROADCAST:
    case HLO_COLLECTIVE_REDUCE:
    case HLO_RAGGED_ALL_TO_ALL:
    case HLO_ALL_REDUCE_START:
    case HLO_ALL_GATHER_START:
    case HLO_COLLECTIVE_PERMUTE_START:
      return true;
    default:
      return false;
  }
}

bool flat_fills_out_buffers(const hlo_instr_t *instr) {
  return writes_out_buffers(instr->op) && !hlo_attr_has(instr, HLO_ATTR_PERMUTE_SLICE_SIZES) &&
         has_array_operands(instr) &&
         (hlo_op_is(instr->op, OP_START) || is_static_arrays(instr->shape));
}

hr_status_t flat_out_buffer_reuse(hr_arena_t *arena, const hlo_instr_t *instr,
                                  const uint64_t **out_reuse) {
  static const uint64_t updated[1] = {2}; /* a ragged all-to-all writes into its operand 1 */
  uint64_t *reuse;
  bool reduces = instr->op == HLO_ALL_REDUCE || instr->op == HLO_ALL_REDUCE_START ||
                 instr->op == HLO_COLLECTIVE_REDUCE;
  if (instr->op == HLO_RAGGED_ALL_TO_ALL) *out_reuse = updated;
  if (!reduces) return NULL;
  HR_TRY(HR_NEW_ARRAY(arena, instr->operand_count, &reuse));
  for (int k = 0; k < instr->operand_count && k < 64; k++) reuse[k] = UINT64_C(1) << k;
  *out_reuse = reuse;
  return NULL;
}

/* The collective that an async-start wraps, if its computation only applies the collective to its
 * parameters. */
static const hlo_instr_t *find_wrapped_collective(const hlo_instr_t *start) {
  const hlo_instr_t *inner = op_wrapped_collective(start);
  if (!inner || inner != start->called[0]->root || inner->operand_count != start->operand_count)
    return NULL;
  for (int k = 0; k < inner->operand_count; k++)
    if (inner->operands[k]->op != HLO_PARAMETER || hlo_parameter_number(inner->operands[k]) != k)
      return NULL;
  return inner;
}

static const hlo_instr_t *find_collective(const hlo_instr_t *start) {
  return start->op == HLO_ASYNC_START ? find_wrapped_collective(start) : start;
}

static bool is_pairable_start(const hlo_instr_t *instr) {
  if (!hlo_op_is(instr->op, OP_START)) return false;
  const hlo_instr_t *collective = find_collective(instr);
  return collective && flat_fills_out_buffers(collective);
}

/* The done that is the only user of a start; NULL: there are other users, or there is no done. */
static const hlo_instr_t *find_only_done(const hlo_instr_t *instr, const int *uses,
                                         hlo_instr_t *const *user) {
  const hlo_instr_t *done = uses[instr->id] == 1 ? user[instr->id] : NULL;
  bool ends = done && hlo_op_is(done->op, OP_DONE) && is_static_arrays(done->shape);
  return ends && instr->parent->root != instr ? done : NULL;
}

hr_status_t flat_find_pairs(hr_arena_t *arena, const plan_t *plan,
                            const hlo_computation_t *computation, const hlo_instr_t ***out_done) {
  const plan_body_t *body = plan->bodies[computation->id];
  const hlo_instr_t **done;
  hlo_instr_t **user;
  int *uses;
  HR_TRY(HR_NEW_ARRAY(arena, computation->instrs.count, &done));
  HR_TRY(HR_NEW_ARRAY(arena, computation->instrs.count, &user));
  HR_TRY(HR_NEW_ARRAY(arena, computation->instrs.count, &uses));
  for (size_t i = 0; i < computation->instrs.count; i++) {
    hlo_instr_t *instr = computation->instrs.data[i];
    for (int k = 0; k < instr->operand_count; k++) {
      uses[instr->operands[k]->id]++;
      user[instr->operands[k]->id] = instr;
    }
  }
  for (int s = 0; s < body->step_count; s++) {
    const hlo_instr_t *instr = body->steps[s].op.instr;
    if (!body->steps[s].dynamic && is_pairable_start(instr))
      done[instr->id] = find_only_done(instr, uses, user);
  }
  *out_done = done;
  return NULL;
}

/* --- laying out --- */

/* The plan step of the collective itself. */
static const plan_step_t *find_source_step(const flat_builder_t *builder,
                                           const plan_step_t *start) {
  const hlo_instr_t *collective = find_collective(start->op.instr);
  if (collective == start->op.instr) return start;
  const plan_body_t *body = builder->flat->plan->bodies[collective->parent->id];
  for (int s = 0; s < body->step_count; s++)
    if (body->steps[s].op.instr == collective) return &body->steps[s];
  return NULL;
}

/* Operands are arrays, of one leaf each. */
static hr_status_t operand_leaves(flat_builder_t *builder, const flat_frame_t *frame,
                                  const hlo_instr_t *instr, flat_step_t *step) {
  flat_ref_t *in;
  HR_TRY(HR_NEW_ARRAY(builder->arena, instr->operand_count, &in));
  for (int k = 0; k < instr->operand_count; k++) in[k] = frame->leaves[instr->operands[k]->id][0];
  step->in = in;
  step->in_count = instr->operand_count;
  return NULL;
}

hr_status_t flat_start_add(flat_builder_t *builder, flat_frame_t *frame, const plan_step_t *start) {
  const hlo_instr_t *instr = start->op.instr, *done = frame->analysis->done[instr->id];
  flat_step_t step = {.kind = FLAT_REFERENCE,
                      .source = find_source_step(builder, start),
                      .scratch = {-1, 0},
                      .reference.out_slot = -1,
                      .reference.has_out_buffers = true,
                      .reference.begins = instr};
  HR_TRY(flat_combiner_add(builder, step.source->op.instr));
  HR_TRY(operand_leaves(builder, frame, instr, &step));
  HR_TRY(flat_leaves_add(builder, done->shape, &step.out));
  HR_TRY(flat_out_buffer_reuse(builder->arena, step.source->op.instr, &step.reuse));
  step.out_count = hlo_shape_leaf_count(done->shape);
  frame->leaves[done->id] = step.out;
  frame->leaves[instr->id] = step.out;
  return flat_step_add(builder, &step);
}

hr_status_t flat_done_add(flat_builder_t *builder, flat_frame_t *frame, const plan_step_t *source) {
  const hlo_instr_t *instr = source->op.instr, *start = instr->operands[0];
  flat_step_t step = {.kind = FLAT_REFERENCE,
                      .source = source,
                      .scratch = {-1, 0},
                      .reference.out_slot = -1,
                      .reference.ends = start,
                      .out = (flat_ref_t *)frame->leaves[instr->id],
                      .out_count = hlo_shape_leaf_count(instr->shape)};
  if (start->op != HLO_ALL_REDUCE_START) HR_TRY(operand_leaves(builder, frame, start, &step));
  return flat_step_add(builder, &step);
}

/* --- pinned operands --- */

/* The start of a done is the nearest one before it, since a computation is laid out once per
 * use. */
static flat_step_t *find_start_step(flat_builder_t *builder, int end, int *out_number) {
  const hlo_instr_t *start = builder->steps.data[end].reference.ends;
  int s = end - 1;
  while (s >= 0 && builder->steps.data[s].reference.begins != start) s--;
  *out_number = s;
  return &builder->steps.data[s];
}

static void pin_operands_until(flat_builder_t *builder, int end) {
  int number;
  flat_step_t *begin = find_start_step(builder, end, &number);
  for (int k = 0; k < begin->in_count && k < 64; k++) {
    if (begin->in[k].buffer < 0) continue;
    const flat_buffer_t *operand =
        &builder->buffers.data[flat_root(builder->buffers.data, begin->in[k].buffer)];
    if (operand->storage != FLAT_LITERAL && operand->end <= number) continue;
    begin->reference.pinned_operands |= UINT64_C(1) << k;
    flat_touch(builder, begin->in[k], end);
  }
}

void flat_pin_operands(flat_builder_t *builder) {
  for (int s = 0; s < flat_now(builder); s++)
    if (builder->steps.data[s].reference.ends) pin_operands_until(builder, s);
}
