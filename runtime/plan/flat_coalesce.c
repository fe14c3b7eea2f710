/* Buffer coalescing: values that share bytes, so that copies disappear. Buffers are merged whole,
 * and only if their sizes are equal.
 *
 * 1. Carried values: what a loop body computes for the next iteration (or a branch for its result)
 * is computed in the carried buffer, if nothing reads the old value later. Its operands follow in a
 *    chain, each in place, from the first step that may overwrite the old value.
 * 2. Results over operands: a result takes the bytes of an operand that dies with the step, if the
 *    kernel allows it (flat_step_t.reuse). Copies allow it, so that a loop's initial value is
 * computed in the carried buffer.
 * 3. Results over arguments that the caller gives away (flat_result_t.alias_param).
 *
 * Lifetimes are intervals of step numbers. A loop's body is numbered inside the loop, so one
 * interval per buffer suffices. The gap in which a carried buffer holds no value, between last_read
 * and the end of the body, is used by rule 1 alone. Cost: linear in operands, times the length of
 * chains. */
#include "plan/flat_build.h"

#define MAX_PAIRS 4000000 /* most pairs of arguments and results that are tried */

static int root_buffer(const flat_builder_t *builder, int buffer) {
  return flat_root(builder->buffers.data, buffer);
}

void flat_coalesce(flat_builder_t *builder, int from, int into) {
  flat_buffer_t *source = &builder->buffers.data[from], *target = &builder->buffers.data[into];
  if (source->start < target->start) target->start = source->start;
  if (source->end > target->end) target->end = source->end;
  if (source->storage == FLAT_RESULT) {
    target->storage = FLAT_RESULT;
    target->index = source->index;
  }
  target->is_carried |= source->is_carried;
  source->coalesced_into = into;
}

/* The result leaf by which the step first writes the buffer; -1: the step does not. */
static int first_written_leaf(const flat_builder_t *builder, const flat_step_t *step, int buffer) {
  for (int i = 0; i < step->out_count; i++)
    if (step->out[i].buffer >= 0 && root_buffer(builder, step->out[i].buffer) == buffer) return i;
  return -1;
}

/* Operands from this number on are shared with no result. */
static int reusable_count(const flat_step_t *step) {
  if (!step->reuse) return 0;
  int listed = step->reuse_words > 1 ? 64 * step->reuse_words : 64;
  return step->in_count < listed ? step->in_count : listed;
}

/* May result leaf `leaf` share the buffer, which the step reads? All reads of the buffer must start
 * at offset 0 and allow it. */
static bool may_overwrite_buffer(const flat_builder_t *builder, const flat_step_t *step, int leaf,
                                 int buffer) {
  if (!step->reuse) return false;
  for (int k = 0; k < step->in_count; k++) {
    if (step->in[k].buffer < 0 || root_buffer(builder, step->in[k].buffer) != buffer) continue;
    if (!native_reuses(step->reuse, step->reuse_words, leaf, k) || step->in[k].offset_bytes)
      return false;
  }
  return true;
}

/* --- carried values --- */

/* Can the buffer be merged with the carried one, from its first write on? */
static bool can_share_carry(const flat_builder_t *builder, const flat_carry_t *carry, int buffer) {
  const flat_buffer_t *value = &builder->buffers.data[buffer];
  int carried = root_buffer(builder, carry->buffer);
  if (value->storage != FLAT_ARENA || value->start < carry->start || value->end > carry->end ||
      buffer == carried || value->size_bytes != builder->buffers.data[carried].size_bytes)
    return false;
  if (value->start > carry->last_read) return true;
  const flat_step_t *step = &builder->steps.data[value->start];
  int leaf = value->start == carry->last_read ? first_written_leaf(builder, step, buffer) : -1;
  return leaf >= 0 && may_overwrite_buffer(builder, step, leaf, carried);
}

/* An operand that dies with the step that first writes `buffer`, and that could share the carried
 * buffer itself. */
static int find_reusable_operand(const flat_builder_t *builder, const flat_carry_t *carry,
                                 int buffer) {
  int step_number = builder->buffers.data[buffer].start;
  const flat_step_t *step = &builder->steps.data[step_number];
  int leaf = first_written_leaf(builder, step, buffer);
  for (int k = 0; k < step->in_count && leaf >= 0; k++) {
    if (step->in[k].buffer < 0) continue;
    int operand = root_buffer(builder, step->in[k].buffer);
    if (operand != buffer && builder->buffers.data[operand].end == step_number &&
        may_overwrite_buffer(builder, step, leaf, operand) &&
        can_share_carry(builder, carry, operand))
      return operand;
  }
  return -1;
}

static void coalesce_carry(flat_builder_t *builder, const flat_carry_t *carry) {
  const flat_step_t *copy = &builder->steps.data[carry->copy_step];
  if (copy->in[0].offset_bytes) return;
  int value = root_buffer(builder, copy->in[0].buffer);
  if (!can_share_carry(builder, carry, value)) return;
  for (int earlier; (earlier = find_reusable_operand(builder, carry, value)) >= 0; value = earlier)
    flat_coalesce(builder, value, earlier);
  flat_coalesce(builder, value, root_buffer(builder, carry->buffer));
}

/* --- results over operands --- */

static bool can_coalesce(const flat_builder_t *builder, int number, int leaf, int operand,
                         int result) {
  const flat_buffer_t *from = &builder->buffers.data[operand], *to = &builder->buffers.data[result];
  return from->storage == FLAT_ARENA && from->end == number && to->start == number &&
         operand != result && from->size_bytes == to->size_bytes && from->size_bytes &&
         may_overwrite_buffer(builder, &builder->steps.data[number], leaf, operand);
}

/* Is another result of the step already in this buffer? */
static bool holds_result(const flat_builder_t *builder, const flat_step_t *step, int buffer) {
  return first_written_leaf(builder, step, buffer) >= 0;
}

static void coalesce_step(flat_builder_t *builder, int number) {
  const flat_step_t *step = &builder->steps.data[number];
  int reusable = reusable_count(step);
  for (int leaf = 0; leaf < step->out_count && step->reuse; leaf++) {
    if (step->out[leaf].buffer < 0) continue;
    int result = root_buffer(builder, step->out[leaf].buffer);
    for (int k = 0; k < reusable; k++) {
      if (step->in[k].buffer < 0 || !native_reuses(step->reuse, step->reuse_words, leaf, k))
        continue;
      int operand = root_buffer(builder, step->in[k].buffer);
      if (!can_coalesce(builder, number, leaf, operand, result) ||
          holds_result(builder, step, operand))
        continue;
      flat_coalesce(builder, result, operand);
      break;
    }
  }
}

void flat_coalesce_buffers(flat_builder_t *builder) {
  for (size_t c = 0; c < builder->carries.count; c++)
    coalesce_carry(builder, &builder->carries.data[c]);
  for (int s = 0; s < flat_now(builder); s++) coalesce_step(builder, s);
}

/* --- results over arguments --- */

static bool is_open_result(const flat_buffer_t *buffer) {
  return buffer->storage == FLAT_RESULT && buffer->coalesced_into < 0;
}

/* Lists the result leaf by which each buffer is first written by the step that it starts with; -1:
 * none. */
static hr_status_t find_first_leaves(flat_builder_t *builder, int **out_leaves) {
  HR_TRY(HR_NEW_ARRAY(&builder->scratch, builder->buffers.count, out_leaves));
  for (size_t b = 0; b < builder->buffers.count; b++) (*out_leaves)[b] = -1;
  for (int s = 0; s < flat_now(builder); s++) {
    const flat_step_t *step = &builder->steps.data[s];
    for (int leaf = 0; leaf < step->out_count; leaf++) {
      int buffer = step->out[leaf].buffer < 0 ? -1 : root_buffer(builder, step->out[leaf].buffer);
      bool is_first = buffer >= 0 && builder->buffers.data[buffer].start == s;
      if (is_first && (*out_leaves)[buffer] < 0) (*out_leaves)[buffer] = leaf;
    }
  }
  return NULL;
}

static void try_alias_param(flat_builder_t *builder, int param, int result_buffer) {
  flat_result_t *result = &builder->flat->results[builder->buffers.data[result_buffer].index];
  if (result->alias_param >= 0 || builder->param_is_taken[param] ||
      !hlo_shape_equal(builder->param_shapes[param], result->shape))
    return;
  result->alias_param = param;
  builder->param_is_taken[param] = true;
}

/* Pairs a result with an argument that is read last by the step that begins the result, if the
 * kernel allows it. */
static void pair_updated(flat_builder_t *builder, bool is_given, int result_buffer, int leaf) {
  int start = builder->buffers.data[result_buffer].start;
  const flat_step_t *step = &builder->steps.data[start];
  int count = leaf < 0 ? 0 : reusable_count(step);
  for (int k = 0; k < count; k++) {
    if (step->in[k].buffer < 0 || !native_reuses(step->reuse, step->reuse_words, leaf, k)) continue;
    int operand = root_buffer(builder, step->in[k].buffer);
    const flat_buffer_t *param = &builder->buffers.data[operand];
    if (param->storage == FLAT_PARAM && param->end == start &&
        builder->param_is_given[param->index] == is_given &&
        builder->params[param->index].buffer >= 0 &&
        may_overwrite_buffer(builder, step, leaf, operand))
      try_alias_param(builder, param->index, result_buffer);
  }
}

/* Pairs a result with an argument whose last use is over when the result begins. */
static void pair_unused(flat_builder_t *builder, bool is_given, int result_buffer) {
  int start = builder->buffers.data[result_buffer].start;
  for (int p = 0; p < builder->flat->param_count; p++) {
    int param_buffer = builder->params[p].buffer;
    if (param_buffer >= 0 && builder->param_is_given[p] == is_given &&
        builder->buffers.data[param_buffer].end < start)
      try_alias_param(builder, p, result_buffer);
  }
}

/* Pairs first the arguments that a step updates, then those whose last use is over. */
static void pair_results(flat_builder_t *builder, bool is_given, const int *first_leaves) {
  const flat_plan_t *flat = builder->flat;
  for (int b = 0; b < (int)builder->buffers.count; b++)
    if (is_open_result(&builder->buffers.data[b]))
      pair_updated(builder, is_given, b, first_leaves[b]);
  if ((int64_t)flat->param_count * flat->result_count > MAX_PAIRS) return;
  for (int b = 0; b < (int)builder->buffers.count; b++)
    if (is_open_result(&builder->buffers.data[b])) pair_unused(builder, is_given, b);
}

/* The caller may give away more arguments than the program says. */
hr_status_t flat_pair_results(flat_builder_t *builder) {
  int *first_leaves;
  HR_TRY(find_first_leaves(builder, &first_leaves));
  pair_results(builder, true, first_leaves);
  pair_results(builder, false, first_leaves);
  return NULL;
}
