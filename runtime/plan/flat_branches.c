/* Conditionals, laid out inside their callers: the branches one after the other, each of which
 * stores its result in the same buffers.
 *
 * A leaf of the result that some branch passes through from its argument is treated like a carried
 * value of a loop: the argument is copied to the result's buffer before the conditional, which
 * costs nothing if it dies here (the copy is coalesced). The branch that passes it through has
 * nothing to do then, and a branch that updates it can do so in place. */
#include <limits.h>

#include "plan/flat_build.h"

typedef struct branches {
  flat_builder_t *builder;
  const plan_step_t *source;
  const flat_ref_t **arguments; /* arguments of each branch */
  int count;                    /* leaves of the result */
  flat_ref_t *result, *carried; /* carried: as result, buffer -1 for leaves that are not carried */
  const flat_ref_t *root;       /* root of the branch being laid out */
  int first_buffer, end_buffer; /* buffers of the result */
} branches_t;

static bool is_result(const branches_t *branches, int buffer) {
  return buffer >= branches->first_buffer && buffer < branches->end_buffer;
}

static bool same_ref(flat_ref_t a, flat_ref_t b) {
  return a.buffer == b.buffer && a.offset_bytes == b.offset_bytes;
}

/* The argument that some branch passes through as leaf `leaf`; buffer -1: none. */
static flat_ref_t find_passed(const branches_t *branches, int leaf) {
  const flat_builder_t *builder = branches->builder;
  const hlo_instr_t *instr = branches->source->op.instr;
  size_t bytes = builder->buffers.data[branches->result[leaf].buffer].size_bytes;
  for (int b = 0; b < instr->called_count; b++) {
    int from = builder->analysis[instr->called[b]->id].passed_leaves[leaf];
    flat_ref_t ref = from < 0 ? (flat_ref_t){-1, 0} : branches->arguments[b][from];
    if (ref.buffer < 0 || ref.offset_bytes || is_result(branches, ref.buffer)) continue;
    const flat_buffer_t *buffer =
        &builder->buffers.data[flat_root(builder->buffers.data, ref.buffer)];
    if (buffer->storage != FLAT_LITERAL && buffer->size_bytes == bytes) return ref;
  }
  return (flat_ref_t){-1, 0};
}

/* Replaces an argument's location in all branches. */
static void redirect_argument(branches_t *branches, flat_ref_t from, flat_ref_t to) {
  const hlo_instr_t *instr = branches->source->op.instr;
  for (int b = 0; b < instr->called_count; b++) {
    int leaves = hlo_shape_leaf_count(instr->operands[1 + b]->shape);
    for (int i = 0; i < leaves; i++)
      if (same_ref(branches->arguments[b][i], from)) ((flat_ref_t *)branches->arguments[b])[i] = to;
  }
}

/* A result leaf that a branch passes through from an argument is kept in the result's buffer during
 * the branches; the argument is copied there before them. */
static hr_status_t carry_passed(branches_t *branches) {
  flat_builder_t *builder = branches->builder;
  for (int i = 0; i < branches->count; i++) {
    branches->carried[i] = (flat_ref_t){-1, 0};
    if (branches->result[i].buffer < 0) continue;
    flat_ref_t from = find_passed(branches, i), to = branches->result[i];
    if (from.buffer < 0) continue;
    size_t bytes = builder->buffers.data[to.buffer].size_bytes;
    builder->buffers.data[to.buffer].start = flat_now(builder);
    builder->buffers.data[to.buffer].is_carried = true;
    HR_TRY(flat_copy_add(builder, branches->source, from, to, bytes));
    redirect_argument(branches, from, to);
    branches->carried[i] = to;
  }
  return NULL;
}

/* A value computed only in the branch is moved to the result's storage; others are copied. */
static hr_status_t copy_to_buffers(branches_t *branches, int leaf, int branch_start) {
  flat_builder_t *builder = branches->builder;
  flat_ref_t to = branches->result[leaf], from = branches->root[leaf];
  flat_buffer_t *result = &builder->buffers.data[to.buffer];
  size_t bytes = result->size_bytes;
  from.buffer = flat_root(builder->buffers.data, from.buffer);
  const flat_buffer_t *value = &builder->buffers.data[from.buffer];
  if (value->storage == FLAT_ARENA && value->start >= branch_start && !from.offset_bytes &&
      value->size_bytes == bytes && !is_result(branches, from.buffer)) {
    flat_coalesce(builder, from.buffer, to.buffer);
    return NULL;
  }
  if (result->start > flat_now(builder)) result->start = flat_now(builder);
  return flat_copy_add(builder, branches->source, from, to, bytes);
}

/* Adds the branch's steps, then a parallel copy of its root to the result's buffers, which may
 * permute values. */
static hr_status_t add_branch(branches_t *branches, int branch) {
  flat_builder_t *builder = branches->builder;
  flat_parallel_copy_t moves = {.source = branches->source,
                                .count = branches->count,
                                .state = branches->carried,
                                .first_buffer = branches->first_buffer,
                                .buffer_count = branches->end_buffer - branches->first_buffer,
                                .start = flat_now(builder)};
  HR_TRY(flat_body_add(builder, branches->source->op.instr->called[branch],
                       &branches->arguments[branch], &branches->root));
  for (int i = 0; i < branches->count; i++)
    if (branches->result[i].buffer >= 0 && branches->carried[i].buffer < 0)
      HR_TRY(copy_to_buffers(branches, i, moves.start));
  moves.next = branches->root;
  return flat_parallel_copy_add(builder, &moves);
}

/* Copies the arguments of each branch, since each branch may redirect its own. Buffers of the
 * result live from the end of the branches on. */
static hr_status_t open_branches(branches_t *branches, const flat_frame_t *frame) {
  flat_builder_t *builder = branches->builder;
  const hlo_instr_t *instr = branches->source->op.instr;
  HR_TRY(HR_NEW_ARRAY(&builder->scratch, instr->called_count, &branches->arguments));
  for (int b = 0; b < instr->called_count; b++) {
    const hlo_instr_t *operand = instr->operands[1 + b];
    void *copy;
    HR_TRY(hr_arena_copy(builder->arena, frame->leaves[operand->id],
                         (size_t)hlo_shape_leaf_count(operand->shape) * sizeof(flat_ref_t), &copy));
    branches->arguments[b] = copy;
  }
  HR_TRY(HR_NEW_ARRAY(builder->arena, branches->count, &branches->carried));
  branches->first_buffer = (int)builder->buffers.count;
  HR_TRY(flat_leaves_add(builder, instr->shape, &branches->result));
  branches->end_buffer = (int)builder->buffers.count;
  for (int b = branches->first_buffer; b < branches->end_buffer; b++)
    builder->buffers.data[b].start = INT_MAX;
  return carry_passed(branches);
}

/* starts[b] is the first step of branch b; each branch ends at `end`. */
hr_status_t flat_conditional_add(flat_builder_t *builder, flat_frame_t *frame,
                                 const plan_step_t *source, const flat_ref_t **out_leaves) {
  const hlo_instr_t *instr = source->op.instr;
  branches_t branches = {
      .builder = builder, .source = source, .count = hlo_shape_leaf_count(instr->shape)};
  flat_step_t step = {.kind = FLAT_CONDITIONAL,
                      .source = source,
                      .scratch = {-1, 0},
                      .reference.out_slot = -1,
                      .in_count = 1,
                      .in = frame->leaves[instr->operands[0]->id],
                      .control.start_count = instr->called_count};
  int *starts;
  HR_TRY(open_branches(&branches, frame));
  int number = flat_now(builder);
  HR_TRY(HR_NEW_ARRAY(builder->arena, instr->called_count, &starts));
  step.control.starts = starts;
  HR_TRY(flat_step_add(builder, &step));
  for (int b = 0; b < instr->called_count; b++) {
    starts[b] = flat_now(builder);
    HR_TRY(add_branch(&branches, b));
  }
  builder->steps.data[number].end = flat_now(builder);
  *out_leaves = branches.result;
  return NULL;
}
