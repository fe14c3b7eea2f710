/* Sort by keys: keys of a line are encoded as unsigned integers (sort_encode.h) and radix sorted
 * (radix_sort.h) with their indices; the operands are then permuted. A single operand is not
 * permuted but decoded from its sorted keys.
 *
 *   elements --encode--> keys, as items of one of four kinds
 *      RADIX_KEY_32, RADIX_KEY_64   the key alone: a single operand, decoded afterwards
 *      RADIX_INDEXED                key << 32 | index in one 64-bit word
 *      RADIX_PAIR                   64-bit key and index
 *   items --radix passes--> sorted items --decode, or permute each operand--> results
 *
 * Keys that do not fit into 64 bits are sorted group by group, the least significant group
 * first; the sort is stable. Lines are distributed over the workers; all workers share a long line,
 * and several short lines are sorted at once (sort_network.h). Strided lines are first copied to
 * contiguous ones, a cache line of neighbouring lines at a time. Ties are ordered as in the
 * reference kernel. Comparators that do not compare keys are left to the reference kernel. */
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/common/strided_loops.h"
#include "ops/kernels/simd/simd_target.h"
#include "ops/kernels/sort/sort_network.h"
#include "ops/kernels/sort/sort_results.h"

NATIVE_OPTIMIZE

enum { BLOCK = 256 /* keys encoded per call */ };

/* --- keys ------------------------------------------------------------------------------------- */

/* Keys first .. first + count - 1 of one comparator key: encoded operand elements, or values of
 * the key's body. */
static void encode_keys(const sort_line_t *line, const sort_line_key_t *key, int64_t first,
                        int64_t count, uint64_t *keys) {
  const native_sort_plan_t *plan = line->plan;
  if (key->operand >= 0) {
    sort_encode_block(&key->encoding, line->from[key->operand] + first * plan->bytes[key->operand],
                      count, keys);
    return;
  }
  uint64_t computed[BLOCK];
  const void *ins[2 * plan->operands];
  int64_t steps[2 * plan->operands];
  for (int p = 0; p < 2 * plan->operands; p++) {
    ins[p] = line->from[p / 2] + first * plan->bytes[p / 2];
    steps[p] = 1;
  }
  void *outs[] = {computed};
  hr_status_release(
      op_body_run(NULL, key->body, count, ins, steps, outs)); /* vectorised bodies cannot fail */
  sort_encode_block(&key->encoding, computed, count, keys);
}

/* Packs the keys of a group into one integer each. */
static void encode_group_keys(const sort_line_t *line, int64_t first, int64_t count,
                              uint64_t *keys) {
  const sort_line_key_t *key = &line->plan->keys[line->group->first];
  uint64_t more[BLOCK];
  encode_keys(line, key, first, count, keys);
  for (int k = 1; k < line->group->count; k++) {
    encode_keys(line, ++key, first, count, more);
    for (int64_t i = 0; i < count; i++) keys[i] = keys[i] << key->encoding.bits | more[i];
  }
}

/* Writes keys as radix items, with their indices if the kind has them. */
static void store_items(const sort_line_t *line, const uint64_t *keys, int64_t first,
                        int64_t count) {
  switch (line->plan->kind) {
    case RADIX_KEY_32:
      for (int64_t i = 0; i < count; i++) ((uint32_t *)line->items)[first + i] = (uint32_t)keys[i];
      break;
    case RADIX_KEY_64:
      memcpy((uint64_t *)line->items + first, keys, (size_t)count * sizeof *keys);
      break;
    case RADIX_INDEXED:
      for (int64_t i = 0; i < count; i++)
        ((uint64_t *)line->items)[first + i] = keys[i] << 32 | (uint64_t)(first + i);
      break;
    case RADIX_PAIR:
      for (int64_t i = 0; i < count; i++)
        ((radix_pair_t *)line->items)[first + i] = (radix_pair_t){keys[i], (uint64_t)(first + i)};
      break;
  }
}

/* Encodes the keys of a block first, so that encoding runs over a short array in the cache. */
static void fill_items(void *context, int64_t begin, int64_t end, int worker) {
  const sort_line_t *line = context;
  (void)worker;
  for (int64_t first = begin; first < end; first += BLOCK) {
    int64_t count = hr_min(end - first, BLOCK);
    uint64_t keys[BLOCK];
    encode_group_keys(line, first, count, keys);
    store_items(line, keys, first, count);
  }
}

/* Radix passes swap between items and spare; all workers share a long line. */
static void sort_line_items(sort_line_t *line) {
  const native_sort_plan_t *plan = line->plan;
  char *items = line->scratch + plan->items,
       *spare = line->items == items ? line->scratch + plan->spare : items;
  line->items =
      plan->shared_line
          ? radix_sort_long(line->workers, plan->workers, plan->kind, line->items, spare,
                            plan->count, line->scratch + plan->radix)
          : radix_sort(plan->kind, line->items, spare, plan->count, line->scratch + plan->radix);
}

/* Sorts by another group, of higher significance. Keys are encoded in the operands' order, then
 * gathered by the items' indices. */
static void sort_by_group(sort_line_t *line) {
  const native_sort_plan_t *plan = line->plan;
  uint64_t *keys = (uint64_t *)(line->scratch + plan->group_keys);
  radix_pair_t *items = line->items;
  for (int64_t first = 0; first < plan->count; first += BLOCK)
    encode_group_keys(line, first, hr_min(plan->count - first, BLOCK), keys + first);
  for (int64_t i = 0; i < plan->count; i++) items[i].key = keys[items[i].index];
  sort_line_items(line);
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Sorts by all groups of keys of one line; several lines have one group. */
static void sort_keys_of(sort_line_t *line) {
  const native_sort_plan_t *plan = line->plan;
  if (line->lines > 1) {
    sort_network((int)radix_item_bytes(plan->kind), line->items, line->scratch + plan->spare,
                 line->lines, plan->count);
    return;
  }
  sort_line_items(line);
  while (line->group > plan->groups) {
    line->group--;
    sort_by_group(line);
  }
}

/* Encodes keys to items, sorts, then decodes or permutes. */
static void sort_together(sort_line_t *line) {
  const native_sort_plan_t *plan = line->plan;
  line->count = line->lines * plan->count;
  line->items = line->scratch + plan->items;
  line->group = &plan->groups[plan->group_count - 1];
  hr_workers_for(line->workers, line->count, SORT_GRAIN, fill_items, line);
  sort_keys_of(line);
  if (plan->decodes)
    sort_decode_lines(line);
  else
    sort_permute_operands(line);
}

/* `line` is the first of `lines`. */
static void sort_lines(sort_line_t *line, int64_t lines) {
  const native_sort_plan_t *plan = line->plan;
  const char *from[plan->operands];
  char *to[plan->operands];
  sort_line_t part = *line;
  part.from = from;
  part.to = to;
  for (int64_t l = 0; l < lines; l += part.lines) {
    part.lines = hr_min(plan->together, lines - l);
    for (int k = 0; k < plan->operands; k++) {
      from[k] = line->from[k] + l * plan->count * plan->bytes[k];
      to[k] = line->to[k] + l * plan->count * plan->bytes[k];
    }
    sort_together(&part);
  }
}

/* One execution: all workers share each line if the lines are shared. */
typedef struct sort_job {
  const native_sort_plan_t *plan;
  hr_workers_t *workers; /* workers of each line */
  void *const *in;
  void *const *out;
  char *scratch;
} sort_job_t;

/* Copies `lines` adjacent strided lines to the worker's contiguous copies, or back. */
static void copy_lines(const native_sort_plan_t *plan, int k, char *array, char *copied,
                       int64_t lines, bool back) {
  int64_t bytes = plan->bytes[k], dims[] = {lines, plan->count};
  int64_t contiguous[] = {plan->count * bytes, bytes}, strided[] = {bytes, plan->inner * bytes};
  loop_copy_t copy;
  loop_copy_init(&copy, (int)bytes, 2, dims, back ? strided : contiguous,
                 back ? contiguous : strided);
  if (back)
    loop_copy_run(&copy, array, copied);
  else
    loop_copy_run(&copy, copied, array);
}

/* Sorts a block of adjacent strided lines in contiguous copies. */
static void sort_copied_lines(const sort_job_t *job, char *scratch, int64_t element,
                              int64_t lines) {
  const native_sort_plan_t *plan = job->plan;
  char *copied[plan->operands], *next = scratch + plan->lines;
  sort_line_t line = {.plan = plan,
                      .workers = job->workers,
                      .from = (const char *const *)copied,
                      .to = copied,
                      .scratch = scratch};
  for (int k = 0; k < plan->operands; k++) {
    copied[k] = next;
    next +=
        (plan->block * plan->count * plan->bytes[k] + HR_ALIGNMENT) / HR_ALIGNMENT * HR_ALIGNMENT;
    copy_lines(plan, k, (char *)job->in[k] + element * plan->bytes[k], copied[k], lines, false);
  }
  sort_lines(&line, lines);
  for (int k = 0; k < plan->operands; k++)
    copy_lines(plan, k, (char *)job->out[k] + element * plan->bytes[k], copied[k], lines, true);
}

/* Sorts lines along the innermost dimension, in place. */
static void sort_dense_lines(const sort_job_t *job, char *scratch, int64_t element, int64_t lines) {
  const native_sort_plan_t *plan = job->plan;
  const char *from[plan->operands];
  char *to[plan->operands];
  sort_line_t line = {
      .plan = plan, .workers = job->workers, .from = from, .to = to, .scratch = scratch};
  for (int k = 0; k < plan->operands; k++) {
    from[k] = (const char *)job->in[k] + element * plan->bytes[k];
    to[k] = (char *)job->out[k] + element * plan->bytes[k];
  }
  sort_lines(&line, lines);
}

/* Number of lines in a row, which blocks divide: the columns of each group, or, if each group has
 * one column, all groups. */
static int64_t lines_in_row(const native_sort_plan_t *plan) {
  return plan->inner > 1 ? plan->inner : plan->outer;
}

/* Blocks of adjacent lines; each row of lines has the same number. Block b is lines first .. first
 * + lines - 1 of row b / blocks. */
static void sort_blocks(void *context, int64_t begin, int64_t end, int worker) {
  const sort_job_t *job = context;
  const native_sort_plan_t *plan = job->plan;
  int64_t in_row = lines_in_row(plan), blocks = hr_div_ceil(in_row, plan->block);
  char *scratch = job->scratch + (size_t)worker * plan->worker_bytes;
  for (int64_t b = begin; b < end; b++) {
    int64_t first = b % blocks * plan->block, row = b / blocks * plan->count * in_row;
    int64_t lines = hr_min(in_row - first, plan->block);
    if (plan->inner > 1)
      sort_copied_lines(job, scratch, row + first, lines);
    else
      sort_dense_lines(job, scratch, row + first * plan->count, lines);
  }
}

/* Either the workers share each line, or each worker sorts its own lines. */
static hr_status_t run_sort(const op_native_run_t *run, const void *plan_, void *const *in,
                            void *const *out) {
  const native_sort_plan_t *plan = plan_;
  hr_workers_t *workers = native_workers(run, plan->workers);
  sort_job_t job = {plan, plan->shared_line ? workers : NULL, in, out, run->scratch};
  if (plan->count == 0 || plan->inner * plan->outer == 0) return NULL;
  int64_t rows = plan->inner > 1 ? plan->outer : 1;
  int64_t blocks = rows * hr_div_ceil(lines_in_row(plan), plan->block);
  hr_workers_for(plan->shared_line ? NULL : workers, blocks,
                 SORT_GRAIN / (plan->count * plan->block) + 1, sort_blocks, &job);
  return NULL;
}

/* Operand k may be overwritten by result k. */
static hr_status_t prepare_sort(const op_native_target_t *target, const op_step_t *step,
                                op_native_step_t *out) {
  const native_sort_plan_t *plan;
  uint64_t *reuse;
  HR_TRY(sort_plan_make(target, step, &plan));
  if (!plan) return NULL;
  HR_TRY(HR_NEW_ARRAY(target->arena, plan->operands, &reuse));
  for (int k = 0; k < plan->operands && k < 64; k++) reuse[k] = (uint64_t)1 << k;
  out->plan = plan;
  out->reuse = reuse;
  out->scratch_bytes = plan->worker_bytes * (size_t)(plan->shared_line ? 1 : plan->workers);
  for (int k = 0; k < plan->operands; k++)
    out->bytes += 2.0 * (double)(plan->bytes[k] * plan->count * plan->inner * plan->outer);
  return NULL;
}

const op_native_t native_sort = {"sort by digits", prepare_sort, run_sort};
