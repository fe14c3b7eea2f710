/* Sort and top-k.
 *
 * For each line along the sorted dimension a permutation is computed and applied to every operand.
 * Comparators that compare keys are not called (sort_keys.h): keys are computed for whole arrays
 * and sorted as integers, the least significant key first. Any other comparator drives a merge sort
 * with many comparisons per call (sort_merge.h). Sorting is stable, except that ties of unstable
 * sorts have the order of XLA's CPU backend (sort_ties.h). Source: StableHLO spec, sort; CHLO
 * top_k. */
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/common/outputs.h"
#include "ops/kernels/common/strided_loops.h"
#include "ops/kernels/reference/sort_keys.h"
#include "ops/kernels/reference/sort_merge.h"
#include "ops/kernels/reference/sort_ties.h"

typedef struct sort_plan {
  loop_nest_t lines;     /* offsets of the lines; operand 0; elements */
  int64_t count, stride; /* length and stride of a line, elements */
  bool by_keys, stable;
  sort_keys_t keys;
  sort_merge_plan_t merge; /* unless by_keys */
} sort_plan_t;

/* Lines along dimension d: the nest covers all other dimensions. */
static void plan_lines(const hlo_shape_t *shape, int64_t d, sort_plan_t *plan) {
  int64_t strides[HLO_MAX_RANK], dims[HLO_MAX_RANK];
  loop_dense_strides(shape->rank, shape->dims, 1, strides);
  memcpy(dims, shape->dims, (size_t)shape->rank * sizeof *dims);
  plan->count = dims[d];
  plan->stride = strides[d];
  if (dims[d]) dims[d] = 1;
  loop_nest_init(&plan->lines, shape->rank, dims, 1, (const int64_t *[]){strides},
                 LOOP_PROGRAM_ORDER);
}

/* Decides, once per program, whether the comparator compares keys. */
static hr_status_t prepare_sort(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  const hlo_computation_t *comparator = step->instr->called[0];
  sort_plan_t *plan;
  HR_TRY(HR_NEW(arena, &plan));
  plan_lines(step->in_shapes[0], hlo_attr_ints(step->instr, HLO_ATTR_DIMENSIONS).data[0], plan);
  plan->stable = hlo_attr_bool(step->instr, HLO_ATTR_IS_STABLE);
  HR_TRY(sort_keys_recognise(arena, comparator, &plan->keys, &plan->by_keys));
  if (!plan->by_keys)
    HR_TRY(sort_merge_prepare(arena, comparator, step->instr->operand_count, &plan->merge));
  *out_plan = plan;
  return NULL;
}

/* State of one execution; all arrays are scratch memory of the step. */
typedef struct sort_run {
  op_env_t *env;
  const sort_plan_t *plan;
  int operands;
  hlo_value_t *const *in;
  hlo_value_t **out;
  void *keys[SORT_MAX_KEYS]; /* computed keys of all elements */
  sort_item_t *items, *spare, *encoded;
} sort_run_t;

/* Permutes the line that starts at element `line`: result i is operand element order[i *
 * order_step]. */
static void permute_line(const sort_run_t *run, int64_t line, const int64_t *order,
                         int64_t order_step) {
  int64_t count = run->plan->count;
  for (int k = 0; k < run->operands; k++) {
    int64_t bytes = (int64_t)hr_dtype_bytes(run->in[k]->dtype), stride = run->plan->stride * bytes;
    const char *from = (const char *)run->in[k]->data + line * bytes;
    char *to = (char *)run->out[k]->data + line * bytes;
    switch (bytes) {
#define PERMUTE(BYTES)                                                       \
  case BYTES:                                                                \
    for (int64_t i = 0; i < count; i++)                                      \
      memcpy(to + i * stride, from + order[i * order_step] * stride, BYTES); \
    break
      PERMUTE(1);
      PERMUTE(2);
      PERMUTE(4);
      PERMUTE(8);
      PERMUTE(16);
    }
  }
}

/* Evaluates key k for all elements. Its body reads one side's parameters; both sides are bound
 * to the same arrays. */
static hr_status_t compute_keys(sort_run_t *run, int k) {
  const sort_key_t *key = &run->plan->keys.keys[k];
  hr_arena_t *arena = run->env->scratch;
  const void **ins;
  int64_t *steps;
  HR_TRY(HR_NEW_ARRAY(arena, 2 * run->operands, &ins));
  HR_TRY(HR_NEW_ARRAY(arena, 2 * run->operands, &steps));
  HR_TRY(
      hr_arena_array(arena, (size_t)run->in[0]->count, hr_dtype_bytes(key->dtype), &run->keys[k]));
  for (int p = 0; p < 2 * run->operands; p++) {
    ins[p] = run->in[p / 2]->data;
    steps[p] = 1;
  }
  return op_body_run(run->env, key->body, run->in[0]->count, ins, steps, &run->keys[k]);
}

/* Sets run->encoded to the integer keys of one line, in the operand's order. */
static void encode_line(sort_run_t *run, int64_t line, int k) {
  const sort_key_t *key = &run->plan->keys.keys[k];
  const char *keys = (const char *)run->keys[k] + line * (int64_t)hr_dtype_bytes(key->dtype);
  sort_encode(key, keys, run->plan->stride, run->plan->count, run->encoded);
}

/* Replaces the keys of sorted items by dense ranks, equal keys by equal ranks; true if there are
 * ties. Items are compared by all keys. Ranks ascend, so ties are the only equal ones. */
static bool rank_items(sort_run_t *run, int64_t line, sort_item_t *items) {
  int64_t count = run->plan->count, rank = 0;
  for (int64_t i = 0; i < count; i++) items[i].key = 0; /* 1: differs from the previous item */
  for (int k = 0; k < run->plan->keys.count; k++) {
    encode_line(run, line, k);
    for (int64_t i = 1; i < count; i++)
      items[i].key |= run->encoded[items[i].index].key != run->encoded[items[i - 1].index].key;
  }
  for (int64_t i = 0; i < count; i++) {
    rank += (int64_t)items[i].key;
    items[i].key = (uint64_t)rank;
  }
  return rank < count - 1;
}

/* Sorts again by rank from the original order, with the algorithm that defines the order of
 * ties. */
static sort_item_t *reorder_ties(sort_run_t *run, int64_t line, sort_item_t *items,
                                 sort_item_t *spare) {
  if (!rank_items(run, line, items)) return items;
  for (int64_t i = 0; i < run->plan->count; i++)
    spare[items[i].index] = (sort_item_t){items[i].key, items[i].index};
  sort_items_unstably(spare, items, run->plan->count);
  return spare;
}

/* Least significant key first; each stable sort preserves the order of earlier ones among its
 * ties. One stable radix-like pass per key, last key first: O(keys * n log n). */
static void sort_line_by_keys(sort_run_t *run, int64_t line) {
  const sort_plan_t *plan = run->plan;
  sort_item_t *items = run->items, *spare = run->spare;
  for (int64_t i = 0; i < plan->count; i++) items[i].index = i;
  for (int k = plan->keys.count - 1; k >= 0; k--) {
    encode_line(run, line, k);
    for (int64_t i = 0; i < plan->count; i++) items[i].key = run->encoded[items[i].index].key;
    sort_item_t *sorted = sort_items(items, spare, plan->count);
    if (sorted == spare) {
      spare = items;
      items = sorted;
    }
  }
  if (!plan->stable) items = reorder_ties(run, line, items, spare);
  permute_line(run, line, &items[0].index, sizeof *items / sizeof(int64_t));
}

/* Keys are computed for whole arrays, not per line, so that bodies run in long loops. */
static hr_status_t sort_by_keys(sort_run_t *run) {
  const sort_plan_t *plan = run->plan;
  hr_arena_t *arena = run->env->scratch;
  HR_TRY(HR_NEW_ARRAY(arena, plan->count, &run->items));
  HR_TRY(HR_NEW_ARRAY(arena, plan->count, &run->spare));
  HR_TRY(HR_NEW_ARRAY(arena, plan->count, &run->encoded));
  for (int k = 0; k < plan->keys.count; k++) HR_TRY(compute_keys(run, k));
  for (loop_walk_t walk = loop_walk_first(&plan->lines); walk.live;
       loop_walk_next(&plan->lines, &walk)) {
    HR_TRY(run->env->engine_ops->check_cancelled(run->env));
    for (int64_t i = 0; i < plan->lines.row_count; i++)
      sort_line_by_keys(run, walk.at[0] + i * plan->lines.row_strides[0]);
  }
  return NULL;
}

/* Offsets of all lines, in order. */
static hr_status_t list_lines(sort_run_t *run, int64_t **out_lines, int64_t *out_count) {
  const sort_plan_t *plan = run->plan;
  int64_t count = plan->count ? run->in[0]->count / plan->count : 0, next = 0, *lines;
  HR_TRY(HR_NEW_ARRAY(run->env->scratch, count, &lines));
  for (loop_walk_t walk = loop_walk_first(&plan->lines); walk.live;
       loop_walk_next(&plan->lines, &walk))
    for (int64_t i = 0; i < plan->lines.row_count; i++)
      lines[next++] = walk.at[0] + i * plan->lines.row_strides[0];
  *out_lines = lines;
  *out_count = count;
  return NULL;
}

#define BATCH 65536 /* approximate number of elements of short lines that are sorted together */

/* Short lines are sorted together, about BATCH elements at a time, so that each call of the
 * comparator compares many pairs. */
static hr_status_t sort_by_merging(sort_run_t *run) {
  const sort_plan_t *plan = run->plan;
  int64_t *lines, line_count, batch = BATCH / plan->count + 1;
  sort_merge_t merge;
  HR_TRY(list_lines(run, &lines, &line_count));
  if (batch > line_count) batch = line_count;
  HR_TRY(
      sort_merge_init(&merge, run->env, &plan->merge, run->in, plan->count, plan->stride, batch));
  for (int64_t first = 0; first < line_count; first += batch) {
    int64_t count = hr_min(line_count - first, batch);
    const int64_t *order;
    HR_TRY(sort_merge_run(&merge, lines + first, count, &order));
    for (int64_t i = 0; i < count; i++)
      permute_line(run, lines[first + i], order + i * plan->count, 1);
  }
  return NULL;
}

/* Outputs start as new arrays; an empty operand leaves them empty. */
static hr_status_t run_sort(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                            hlo_value_t **out_value) {
  sort_run_t run = {
      .env = env, .plan = step->plan, .operands = step->instr->operand_count, .in = in};
  hr_status_t st = NULL;
  HR_TRY(op_outputs_create(env, step, &run.out));
  if (in[0]->count) st = run.plan->by_keys ? sort_by_keys(&run) : sort_by_merging(&run);
  return op_outputs_finish(step, st, run.operands, run.out, out_value);
}
const op_kernel_t kernel_sort = {prepare_sort, run_sort};

/* Top-k along the last dimension, by the total order. */
typedef struct topk_plan {
  int64_t lines, count, k;
  sort_key_t key;
} topk_plan_t;

/* The key is that of a sort by the total order, descending for the largest. */
static hr_status_t prepare_topk(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  const hlo_shape_t *in = step->in_shapes[0];
  topk_plan_t *plan;
  if (in->rank == 0) return hlo_error(step->instr, NULL, "the operand is a scalar");
  HR_TRY(HR_NEW(arena, &plan));
  plan->count = in->dims[in->rank - 1];
  plan->lines = 1;
  for (int d = 0; d < in->rank - 1; d++) plan->lines *= in->dims[d];
  plan->k = step->out_shape->elements[0]->dims[in->rank - 1];
  if (plan->k > plan->count)
    return hlo_error(step->instr, NULL, "k is %ld, want at most %ld", (long)plan->k,
                     (long)plan->count);
  plan->key =
      (sort_key_t){NULL, NULL, in->dtype, hlo_attr_bool(step->instr, HLO_ATTR_LARGEST), true};
  *out_plan = plan;
  return NULL;
}

/* Buffers for one line; `best` is reduced to k entries whenever it is full. */
typedef struct topk_run {
  const topk_plan_t *plan;
  sort_item_t *line, *best, *spare;
  int64_t capacity; /* entries of `best`: k and a reserve, so that it is rarely sorted */
} topk_run_t;

/* The k smallest keys of a line, sorted. Candidates are collected until the buffer is full, then
 * reduced to the best k; later ones must be below the k-th, since ties go to the lower index. */
static const sort_item_t *best_of_line(topk_run_t *run, const void *elements) {
  const topk_plan_t *plan = run->plan;
  int64_t filled = 0;
  bool has_limit = false;
  uint64_t limit = 0;
  sort_encode(&plan->key, elements, 1, plan->count, run->line);
  for (int64_t i = 0; i < plan->count; i++) {
    if (has_limit && run->line[i].key >= limit) continue;
    run->best[filled++] = (sort_item_t){run->line[i].key, i};
    if (filled < run->capacity && i < plan->count - 1) continue;
    sort_item_t *sorted = sort_items(run->best, run->spare, filled);
    if (sorted != run->best) memcpy(run->best, sorted, (size_t)filled * sizeof *sorted);
    filled = plan->k;
    limit = run->best[plan->k - 1].key;
    has_limit = true;
  }
  sort_item_t *sorted = sort_items(run->best, run->spare, filled);
  return sorted;
}

/* Values and their positions along the last dimension, which are s32. */
static hr_status_t topk_lines(op_env_t *env, const topk_plan_t *plan, const hlo_value_t *in,
                              hlo_value_t **out) {
  topk_run_t run = {.plan = plan, .capacity = 2 * plan->k + 1024};
  if (run.capacity > plan->count) run.capacity = plan->count;
  HR_TRY(HR_NEW_ARRAY(env->scratch, plan->count, &run.line));
  HR_TRY(HR_NEW_ARRAY(env->scratch, run.capacity, &run.best));
  HR_TRY(HR_NEW_ARRAY(env->scratch, run.capacity, &run.spare));
  int64_t bytes = (int64_t)hr_dtype_bytes(in->dtype);
  for (int64_t line = 0; line < plan->lines && plan->k; line++) {
    const char *from = (const char *)in->data + line * plan->count * bytes;
    const sort_item_t *best = best_of_line(&run, from);
    for (int64_t i = 0; i < plan->k; i++) {
      int64_t at_result = line * plan->k + i;
      memcpy((char *)out[0]->data + at_result * bytes, from + best[i].index * bytes, (size_t)bytes);
      ((int32_t *)out[1]->data)[at_result] = (int32_t)best[i].index;
    }
  }
  return NULL;
}

static hr_status_t run_topk(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                            hlo_value_t **out_value) {
  hlo_value_t **out;
  HR_TRY(op_outputs_create(env, step, &out));
  return op_outputs_finish(step, topk_lines(env, step->plan, in[0], out), 2, out, out_value);
}
const op_kernel_t kernel_topk = {prepare_topk, run_topk};
