/* Bottom-up merge sort in lockstep: level by level, all pairs of adjacent runs of `width` elements
 * are merged, up to LANES merges at a time. Only the permutation moves; elements are gathered from
 * the operands for each comparison. */
#include "ops/kernels/reference/sort_merge.h"

#include "base/arith.h"

#include <string.h>

#define LANES 1024 /* most merges in progress */

/* Two adjacent runs of order[] that are being merged into next_order[]. */
struct sort_pending {
  int64_t line;                                 /* first element */
  int64_t left, left_end, right, right_end, to; /* indices of order[] */
};

/* True if any instruction reads this parameter. */
static bool is_operand(const hlo_computation_t *computation, const hlo_instr_t *instr) {
  if (computation->root == instr) return true;
  for (size_t i = 0; i < computation->instrs.count; i++)
    for (int k = 0; k < computation->instrs.data[i]->operand_count; k++)
      if (computation->instrs.data[i]->operands[k] == instr) return true;
  return false;
}

/* Operands that the comparator ignores are not gathered. */
hr_status_t sort_merge_prepare(hr_arena_t *arena, const hlo_computation_t *comparator, int operands,
                               sort_merge_plan_t *plan) {
  bool *reads;
  HR_TRY(HR_NEW_ARRAY(arena, operands, &reads));
  for (int k = 0; k < operands; k++)
    reads[k] = is_operand(comparator, comparator->params.data[2 * k]) ||
               is_operand(comparator, comparator->params.data[2 * k + 1]);
  plan->operands = operands;
  plan->reads = reads;
  return op_body_prepare(arena, comparator, &plan->comparator);
}

/* All memory is reserved for max_lines lines and LANES comparisons at a time. */
hr_status_t sort_merge_init(sort_merge_t *merge, op_env_t *env, const sort_merge_plan_t *plan,
                            hlo_value_t *const *in, int64_t count, int64_t stride,
                            int64_t max_lines) {
  hr_arena_t *arena = env->scratch;
  *merge = (sort_merge_t){.env = env, .plan = plan, .in = in, .count = count, .stride = stride};
  HR_TRY(HR_NEW_ARRAY(arena, count * max_lines, &merge->order));
  HR_TRY(HR_NEW_ARRAY(arena, count * max_lines, &merge->next_order));
  HR_TRY(HR_NEW_ARRAY(arena, LANES, &merge->pending));
  HR_TRY(HR_NEW_ARRAY(arena, LANES, &merge->answers));
  HR_TRY(HR_NEW_ARRAY(arena, 2 * plan->operands, &merge->pairs));
  HR_TRY(HR_NEW_ARRAY(arena, 2 * plan->operands, &merge->strides));
  for (int p = 0; p < 2 * plan->operands; p++) {
    merge->strides[p] = 1;
    HR_TRY(hr_arena_array(arena, LANES, hr_dtype_bytes(in[p / 2]->dtype), &merge->pairs[p]));
  }
  return NULL;
}

/* Gathers the heads of all pending merges. The right run's is the comparator's first argument: a
 * left element goes first unless the right one is strictly less, which makes the sort stable. */
static void gather_pairs(const sort_merge_t *merge, int64_t pending) {
  for (int k = 0; k < merge->plan->operands; k++) {
    if (!merge->plan->reads[k]) continue;
    const char *from = merge->in[k]->data;
    char *right = merge->pairs[2 * k], *left = merge->pairs[2 * k + 1];
    switch (hr_dtype_bytes(merge->in[k]->dtype)) {
#define GATHER(BYTES)                                                                              \
  case BYTES:                                                                                      \
    for (int64_t i = 0; i < pending; i++) {                                                        \
      const sort_pending_t *p = &merge->pending[i];                                                \
      memcpy(right + i * BYTES, from + (p->line + merge->order[p->right] * merge->stride) * BYTES, \
             BYTES);                                                                               \
      memcpy(left + i * BYTES, from + (p->line + merge->order[p->left] * merge->stride) * BYTES,   \
             BYTES);                                                                               \
    }                                                                                              \
    break
      GATHER(1);
      GATHER(2);
      GATHER(4);
      GATHER(8);
      GATHER(16);
    }
  }
}

static void copy_order(sort_merge_t *merge, int64_t to, int64_t from, int64_t end) {
  memcpy(merge->next_order + to, merge->order + from, (size_t)(end - from) * sizeof *merge->order);
}

/* Emits one element of a merge; false when it is complete. */
static bool advance_merge(sort_merge_t *merge, sort_pending_t *p, bool take_right) {
  merge->next_order[p->to++] = merge->order[take_right ? p->right++ : p->left++];
  if (p->left < p->left_end && p->right < p->right_end) return true;
  copy_order(merge, p->to, p->left, p->left_end);
  copy_order(merge, p->to + p->left_end - p->left, p->right, p->right_end);
  return false;
}

/* Runs all pending merges to completion. */
static hr_status_t finish_pending(sort_merge_t *merge, int64_t pending) {
  HR_TRY(merge->env->engine_ops->check_cancelled(merge->env));
  void *outs[] = {merge->answers};
  while (pending) {
    gather_pairs(merge, pending);
    HR_TRY(op_body_run(merge->env, merge->plan->comparator, pending,
                       (const void *const *)merge->pairs, merge->strides, outs));
    int64_t still_pending = 0;
    for (int64_t i = 0; i < pending; i++) {
      sort_pending_t p = merge->pending[i];
      if (advance_merge(merge, &p, merge->answers[i])) merge->pending[still_pending++] = p;
    }
    pending = still_pending;
  }
  return NULL;
}

/* Merges all pairs of adjacent runs of `width` elements. */
static hr_status_t merge_level(sort_merge_t *merge, const int64_t *lines, int64_t line_count,
                               int64_t width) {
  int64_t pending = 0;
  for (int64_t line = 0; line < line_count; line++) {
    int64_t end = (line + 1) * merge->count;
    for (int64_t at = line * merge->count; at < end; at += 2 * width) {
      int64_t middle = hr_min(at + width, end), stop = hr_min(middle + width, end);
      if (middle == end) {
        copy_order(merge, at, at, end);
        continue;
      }
      merge->pending[pending++] = (sort_pending_t){lines[line], at, middle, middle, stop, at};
      if (pending < LANES) continue;
      HR_TRY(finish_pending(merge, pending));
      pending = 0;
    }
  }
  HR_TRY(finish_pending(merge, pending));
  int64_t *swap = merge->order;
  merge->order = merge->next_order;
  merge->next_order = swap;
  return NULL;
}

/* *out_order holds, line by line, the operand positions in sorted order; valid until the next
 * call. */
hr_status_t sort_merge_run(sort_merge_t *merge, const int64_t *lines, int64_t line_count,
                           const int64_t **out_order) {
  for (int64_t line = 0; line < line_count; line++)
    for (int64_t i = 0; i < merge->count; i++) merge->order[line * merge->count + i] = i;
  for (int64_t width = 1; width < merge->count; width *= 2)
    HR_TRY(merge_level(merge, lines, line_count, width));
  *out_order = merge->order;
  return NULL;
}
