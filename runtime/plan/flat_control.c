/* Loops, branches and calls, laid out inside their callers.
 * What a loop carries has a buffer for the whole loop: a copy before it brings the initial value there, a copy at the end
 * of the body the next one. Most of these copies go away when buffers are merged (flat_merge.c): values are then computed
 * where they are carried. */
#include <limits.h>

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

typedef struct move { /* of the value of the next iteration to where it is carried */
  flat_ref_t from;
  int to; /* buffer */
  bool done;
} move_t;

typedef struct loop {
  flat_builder_t *builder;
  const plan_step_t *source;
  int count; /* leaves */
  flat_ref_t *state;
  const flat_ref_t *next;
  int first_buffer, buffer_count; /* that this loop made for what it carries, one after the other */
  move_t *moves;
  int move_count;
  int *readers; /* per buffer of the loop: moves not yet done that read it */
} loop_t;

/* A buffer for each leaf that changes, and a copy of its initial value. */
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
    HR_TRY(flat_copy_add(builder, loop->source, initial[i], loop->state[i], bytes));
  }
  loop->buffer_count = (int)builder->buffers.count - loop->first_buffer;
  return NULL;
}

static int reader_index(const loop_t *loop, int buffer) {
  int index = buffer - loop->first_buffer;
  return index >= 0 && index < loop->buffer_count ? index : -1;
}

static hr_status_t list_moves(loop_t *loop) {
  HR_TRY(HR_NEW_ARRAY(&loop->builder->scratch, loop->count, &loop->moves));
  HR_TRY(HR_NEW_ARRAY(&loop->builder->scratch, loop->buffer_count, &loop->readers));
  for (int i = 0; i < loop->count; i++) {
    flat_ref_t to = loop->state[i], from = loop->next[i];
    if (to.buffer < 0 || (from.buffer == to.buffer && from.offset_bytes == to.offset_bytes)) continue;
    if (reader_index(loop, to.buffer) < 0) continue;
    loop->moves[loop->move_count++] = (move_t){from, to.buffer, false};
    if (reader_index(loop, from.buffer) >= 0) loop->readers[reader_index(loop, from.buffer)]++;
  }
  return NULL;
}

static hr_status_t do_move(loop_t *loop, move_t *move, int body_start) {
  flat_builder_t *builder = loop->builder;
  flat_carry_t carry = {.buffer = move->to, .copy_step = flat_now(builder), .body_start = body_start,
                        .last_read = builder->buffers.data[move->to].end};
  int reads = reader_index(loop, move->from.buffer);
  size_t bytes = builder->buffers.data[move->to].size_bytes;
  HR_TRY(flat_copy_add(builder, loop->source, move->from, (flat_ref_t){move->to, 0}, bytes));
  HR_VEC_PUSH(&builder->carries, carry);
  if (reads >= 0) loop->readers[reads]--;
  move->done = true;
  return NULL;
}

/* A value goes round: it is put aside, and those who want it read it there. */
static hr_status_t break_cycle(loop_t *loop, move_t *move) {
  flat_builder_t *builder = loop->builder;
  int aside, old = move->to;
  size_t bytes = builder->buffers.data[old].size_bytes;
  HR_TRY(flat_buffer_add(builder, FLAT_ARENA, bytes, &aside));
  HR_TRY(flat_copy_add(builder, loop->source, (flat_ref_t){old, 0}, (flat_ref_t){aside, 0}, bytes));
  for (int i = 0; i < loop->move_count; i++)
    if (!loop->moves[i].done && loop->moves[i].from.buffer == old) loop->moves[i].from.buffer = aside;
  loop->readers[reader_index(loop, old)] = 0;
  return NULL;
}

/* All moves happen at once: none overwrites what another still reads. */
static hr_status_t do_moves(loop_t *loop, int body_start) {
  for (int left = loop->move_count; left;) {
    int before = left;
    move_t *stuck = NULL;
    for (int i = 0; i < loop->move_count; i++) {
      move_t *move = &loop->moves[i];
      if (move->done) continue;
      int own = move->from.buffer == move->to, readers = loop->readers[reader_index(loop, move->to)];
      if (readers > own) {
        stuck = move;
        continue;
      }
      HR_TRY(do_move(loop, move, body_start));
      left--;
    }
    if (left && left == before) HR_TRY(break_cycle(loop, stuck));
  }
  return NULL;
}

static hr_status_t add_condition(loop_t *loop, int number) {
  flat_builder_t *builder = loop->builder;
  const hlo_computation_t *condition = loop->source->op.instr->called[0];
  const flat_ref_t *params[1] = {loop->state}, *met;
  HR_TRY(flat_body_add(builder, condition, params, &met));
  flat_touch(builder, met[0], flat_now(builder) - 1);
  builder->steps.data[number].in = met;
  builder->steps.data[number].in_count = 1;
  return NULL;
}

static hr_status_t add_loop_body(loop_t *loop) {
  flat_builder_t *builder = loop->builder;
  const flat_ref_t *params[1] = {loop->state};
  int body_start = flat_now(builder);
  HR_TRY(flat_body_add(builder, loop->source->op.instr->called[1], params, &loop->next));
  HR_TRY(list_moves(loop));
  return do_moves(loop, body_start);
}

hr_status_t flat_while_add(flat_builder_t *builder, flat_frame_t *frame, const plan_step_t *source,
                           const flat_ref_t **out_leaves) {
  const hlo_instr_t *instr = source->op.instr;
  loop_t loop = {.builder = builder, .source = source, .count = hlo_shape_leaf_count(instr->shape)};
  flat_step_t step = {.kind = FLAT_WHILE, .source = source, .scratch = {-1, 0}, .out_slot = -1, .start_count = 2};
  int *starts;
  HR_TRY(HR_NEW_ARRAY(builder->arena, 2, &starts));
  HR_TRY(add_state(&loop, frame->leaves[instr->operands[0]->id], builder->facts[instr->called[1]->id].passed));
  int number = flat_now(builder);
  step.starts = starts;
  HR_TRY(flat_step_add(builder, &step));
  starts[0] = flat_now(builder);
  HR_TRY(add_condition(&loop, number));
  starts[1] = flat_now(builder);
  HR_TRY(add_loop_body(&loop));
  builder->steps.data[number].end = flat_now(builder);
  for (int i = 0; i < loop.count; i++) flat_touch(builder, loop.state[i], flat_now(builder) - 1);
  *out_leaves = loop.state;
  return NULL;
}

/* --- branches --- */

typedef struct branches {
  flat_builder_t *builder;
  const plan_step_t *source;
  int count; /* leaves of the result */
  flat_ref_t *result;
  int first_buffer, end_buffer; /* of the result */
} branches_t;

static bool is_result(const branches_t *branches, int buffer) {
  return buffer >= branches->first_buffer && buffer < branches->end_buffer;
}

/* A value that the branch made for itself becomes the result; another is copied there. */
static hr_status_t bring(branches_t *branches, int leaf, flat_ref_t from, int branch_start) {
  flat_builder_t *builder = branches->builder;
  flat_ref_t to = branches->result[leaf];
  flat_buffer_t *result = &builder->buffers.data[to.buffer];
  size_t bytes = result->size_bytes;
  from.buffer = flat_root(builder->buffers.data, from.buffer);
  const flat_buffer_t *value = &builder->buffers.data[from.buffer];
  if (value->place == FLAT_ARENA && value->start >= branch_start && !from.offset_bytes && value->size_bytes == bytes &&
      !is_result(branches, from.buffer)) {
    flat_merge(builder, from.buffer, to.buffer);
    return NULL;
  }
  if (result->start > flat_now(builder)) result->start = flat_now(builder);
  return flat_copy_add(builder, branches->source, from, to, bytes);
}

static hr_status_t add_branch(branches_t *branches, const flat_ref_t *argument, int branch) {
  flat_builder_t *builder = branches->builder;
  int start = flat_now(builder);
  const flat_ref_t *root;
  HR_TRY(flat_body_add(builder, branches->source->op.instr->called[branch], &argument, &root));
  for (int i = 0; i < branches->count; i++)
    if (branches->result[i].buffer >= 0) HR_TRY(bring(branches, i, root[i], start));
  return NULL;
}

hr_status_t flat_conditional_add(flat_builder_t *builder, flat_frame_t *frame, const plan_step_t *source,
                                 const flat_ref_t **out_leaves) {
  const hlo_instr_t *instr = source->op.instr;
  branches_t branches = {.builder = builder, .source = source, .count = hlo_shape_leaf_count(instr->shape)};
  flat_step_t step = {.kind = FLAT_CONDITIONAL, .source = source, .scratch = {-1, 0}, .out_slot = -1, .in_count = 1,
                      .in = frame->leaves[instr->operands[0]->id], .start_count = instr->called_count};
  int *starts, number = flat_now(builder);
  branches.first_buffer = (int)builder->buffers.count;
  HR_TRY(flat_leaves_add(builder, instr->shape, &branches.result));
  branches.end_buffer = (int)builder->buffers.count;
  for (int b = branches.first_buffer; b < branches.end_buffer; b++) builder->buffers.data[b].start = INT_MAX;
  HR_TRY(HR_NEW_ARRAY(builder->arena, instr->called_count, &starts));
  step.starts = starts;
  HR_TRY(flat_step_add(builder, &step));
  for (int b = 0; b < instr->called_count; b++) {
    starts[b] = flat_now(builder);
    HR_TRY(add_branch(&branches, frame->leaves[instr->operands[1 + b]->id], b));
  }
  builder->steps.data[number].end = flat_now(builder);
  *out_leaves = branches.result;
  return NULL;
}
