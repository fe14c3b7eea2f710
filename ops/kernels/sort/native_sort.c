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
#include "ops/kernels/reference/sort_ties.h"
#include "ops/kernels/simd/simd_target.h"
#include "ops/kernels/sort/sort_network.h"
#include "ops/kernels/sort/sort_plan.h"

NATIVE_OPTIMIZE

enum {
  BLOCK = 256,    /* keys encoded per call */
  GRAIN = 1 << 13 /* least elements per worker */
};

/* The line being sorted, or several consecutive lines: contiguous operands and results, which may
 * be the same arrays. */
typedef struct sort_line {
  const native_sort_plan_t *plan;
  int64_t lines;         /* lines of plan->count elements each */
  int64_t count;         /* elements of all these lines */
  hr_workers_t *workers; /* all workers; NULL: the line belongs to one worker */
  const char *const *from;
  char *const *to;
  char *scratch;
  const sort_group_t *group; /* keys being encoded */
  void *items;               /* radix items, sorted after sort_line_items */
  const uint32_t *order;     /* sorted position to index in the lines */
  int operand;               /* operand being permuted */
  char *target;              /* destination of the operand being permuted */
  bool is_iota;              /* the operand's elements are 0, 1, 2, ... */
} sort_line_t;

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

/* --- decoding results ------------------------------------------------------------------------ */

/* Key i of items that are only keys. */
static uint64_t key_at(const sort_line_t *line, int64_t i) {
  return line->plan->kind == RADIX_KEY_32 ? ((const uint32_t *)line->items)[i]
                                          : ((const uint64_t *)line->items)[i];
}

/* Binary search among the sorted items of line l: the first one whose key is not below `key`. */
static int64_t find_key(const sort_line_t *line, int64_t l, uint64_t key) {
  int64_t low = l * line->plan->count, high = low + line->plan->count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (key_at(line, middle) < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Elements that differ but have equal keys (zeros, NaNs) are contiguous in the result: a run of
 * `count` from `first` on, whose original elements are at `saved`. */
typedef struct sort_tie {
  int64_t first, count;
  const char *saved;
} sort_tie_t;

/* Copies the zeros, or the NaNs, of line l in their original order; returns their number. */
static int64_t list_ties(const sort_line_t *line, int64_t l, bool nans, char *to) {
  const native_sort_plan_t *plan = line->plan;
  const sort_encoding_t *encoding = &plan->keys[0].encoding;
  int64_t bytes = plan->bytes[0], found = 0, first = l * plan->count;
  uint64_t sign = (uint64_t)1 << (encoding->bits - 1), bits = 0;
  for (int64_t i = first; i < first + plan->count; i++) {
    memcpy(&bits, line->from[0] + i * bytes, (size_t)bytes);
    uint64_t magnitude = bits & (sign - 1);
    if (nans ? magnitude <= encoding->infinity : magnitude != 0) continue;
    memcpy(to + found++ * bytes, &bits, (size_t)bytes);
  }
  return found;
}

/* The run of line l with this key. Its original elements are stored at *next, which is advanced. */
static sort_tie_t save_ties(const sort_line_t *line, int64_t l, bool nans, uint64_t key,
                            char **next) {
  int64_t first = find_key(line, l, key), last = (l + 1) * line->plan->count;
  sort_tie_t tie = {first, (key == UINT64_MAX ? last : find_key(line, l, key + 1)) - first, *next};
  if (tie.count) *next += list_ties(line, l, nans, *next) * line->plan->bytes[0];
  return tie;
}

static void restore_ties(const sort_line_t *line, const sort_tie_t *tie) {
  int64_t bytes = line->plan->bytes[0];
  if (tie->count)
    memcpy(line->to[0] + tie->first * bytes, tie->saved, (size_t)(tie->count * bytes));
}

#define HAS_KEY(T)                                                                         \
  do {                                                                                     \
    const T *keys = line->items, one = (T)a, other = (T)b;                                 \
    for (int64_t i = 0; i < line->count; i++) found |= keys[i] == one || keys[i] == other; \
  } while (0)

NATIVE_CLONES
/* True if any key is one of these two. */
static bool has_key(const sort_line_t *line, uint64_t a, uint64_t b) {
  int found = 0;
  if (line->plan->kind == RADIX_KEY_32)
    HAS_KEY(uint32_t);
  else
    HAS_KEY(uint64_t);
  return found;
}

/* Sorted keys are the elements: no permutation is needed for a single operand without ties. */
static void decode_items(void *context, int64_t begin, int64_t end, int worker) {
  const sort_line_t *line = context;
  const sort_encoding_t *encoding = &line->plan->keys[0].encoding;
  char *to = line->to[0] + begin * line->plan->bytes[0];
  (void)worker;
  if (line->plan->kind == RADIX_KEY_32)
    sort_decode_32(encoding, (const uint32_t *)line->items + begin, end - begin, to);
  else
    sort_decode_64(encoding, (const uint64_t *)line->items + begin, end - begin, to);
}

/* Decodes all keys, then overwrites zeros and NaNs by the original elements, whose bits the keys
 * have lost. Few lines have any. */
static void decode_lines(sort_line_t *line) {
  const sort_encoding_t *encoding = &line->plan->keys[0].encoding;
  sort_tie_t ties[2 * SORT_NETWORK_MOST_LINES];
  uint64_t zero_key = encoding->nan_key;
  char *saved = line->scratch + line->plan->temporary;
  int count = 0;
  if (encoding->zero) sort_encode_block(encoding, &(uint64_t){0}, 1, &zero_key);
  bool has_ties = encoding->zero || encoding->ties;
  if (has_ties && line->lines > 1) has_ties = has_key(line, zero_key, encoding->nan_key);
  for (int64_t l = 0; l < line->lines && has_ties; l++) {
    if (encoding->zero) ties[count++] = save_ties(line, l, false, zero_key, &saved);
    if (encoding->ties) ties[count++] = save_ties(line, l, true, encoding->nan_key, &saved);
  }
  hr_workers_for(line->workers, line->count, GRAIN, decode_items, line);
  for (int t = 0; t < count; t++) restore_ties(line, &ties[t]);
}

/* --- permuting operands --------------------------------------------------------------------- */

/* Extracts the indices in place: they are smaller than the items. */
static void extract_order(sort_line_t *line) {
  uint32_t *order = line->items;
  for (int64_t i = 0; i < line->count; i++)
    order[i] = line->plan->kind == RADIX_PAIR
                   ? (uint32_t)((const radix_pair_t *)line->items)[i].index
                   : (uint32_t)((const uint64_t *)line->items)[i];
  line->order = order;
}

/* The key part of a sorted item. */
static uint64_t sorted_key(const sort_line_t *line, int64_t i) {
  return line->plan->kind == RADIX_PAIR ? ((const radix_pair_t *)line->items)[i].key
                                        : ((const uint64_t *)line->items)[i] >> 32;
}

/* True if two adjacent sorted items have equal keys. */
static bool has_ties(const sort_line_t *line) {
  for (int64_t i = 1; i < line->plan->count; i++)
    if (sorted_key(line, i) == sorted_key(line, i - 1)) return true;
  return false;
}

/* For an unstable sort with ties: sorts once more by rank, in the order that sort_ties.h
 * defines. */
static void extract_unstable_order(sort_line_t *line) {
  int64_t count = line->plan->count, rank = 0;
  sort_item_t *ties = (sort_item_t *)(line->scratch + line->plan->ties);
  if (!has_ties(line)) {
    extract_order(line);
    return;
  }
  for (int64_t i = 0; i < count; i++) {
    int64_t index = line->plan->kind == RADIX_PAIR
                        ? (int64_t)((const radix_pair_t *)line->items)[i].index
                        : (int64_t)(uint32_t)((const uint64_t *)line->items)[i];
    rank += i > 0 && sorted_key(line, i) != sorted_key(line, i - 1);
    ties[index] = (sort_item_t){(uint64_t)rank, index};
  }
  sort_items_unstably(ties, ties + count, count);
  for (int64_t i = 0; i < count; i++) ((uint32_t *)line->items)[i] = (uint32_t)ties[i].index;
  line->order = line->items;
}

/* Elements of one size are gathered as integers; iota operands need no gather. */
#define PERMUTE(T)                                                                              \
  do {                                                                                          \
    T *to = (T *)line->target;                                                                  \
    const T *from = (const T *)line->from[line->operand];                                       \
    for (int64_t i = begin; i < end; i++) to[i] = line->is_iota ? (T)order[i] : from[order[i]]; \
  } while (0)
#define PERMUTE_16                                                      \
  do {                                                                  \
    const char *from = line->from[line->operand];                       \
    for (int64_t i = begin; i < end; i++)                               \
      memcpy(line->target + i * 16, from + (int64_t)order[i] * 16, 16); \
  } while (0)

NATIVE_CLONES
/* out[i] = in[order[i]] for elements of one size. */
static void permute_items(void *context, int64_t begin, int64_t end, int worker) {
  const sort_line_t *line = context;
  const uint32_t *order = line->order;
  (void)worker;
  switch (line->plan->bytes[line->operand]) {
    case 1:
      PERMUTE(uint8_t);
      break;
    case 2:
      PERMUTE(uint16_t);
      break;
    case 4:
      PERMUTE(uint32_t);
      break;
    case 8:
      PERMUTE(uint64_t);
      break;
    case 16:
      PERMUTE_16;
      break;
  }
}

/* True for 0, 1, 2, ...: the indices of an arg-sort, which need not be read. */
static bool is_iota_sequence(const void *elements, int64_t bytes, int64_t count) {
  if (bytes != 4 && bytes != 8) return false;
  for (int64_t i = 0; i < count; i++)
    if (bytes == 4 ? ((const uint32_t *)elements)[i] != (uint32_t)i
                   : ((const uint64_t *)elements)[i] != (uint64_t)i)
      return false;
  return true;
}

/* An operand 0, 1, 2, ... (of an arg-sort) need not be read: its result is the order itself. */
static void permute_operands(sort_line_t *line) {
  const native_sort_plan_t *plan = line->plan;
  for (int k = 0; k < plan->operands; k++) {
    line->operand = k;
    line->is_iota = is_iota_sequence(line->from[k], plan->bytes[k], line->count);
    bool in_place = line->from[k] == line->to[k] && !line->is_iota;
    line->target = in_place ? line->scratch + plan->temporary : line->to[k];
    hr_workers_for(line->workers, line->count, GRAIN, permute_items, line);
    if (in_place) memcpy(line->to[k], line->target, (size_t)(line->count * plan->bytes[k]));
  }
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
  hr_workers_for(line->workers, line->count, GRAIN, fill_items, line);
  sort_keys_of(line);
  if (plan->decodes) {
    decode_lines(line);
    return;
  }
  if (plan->stable)
    extract_order(line);
  else
    extract_unstable_order(line);
  permute_operands(line);
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
                 GRAIN / (plan->count * plan->block) + 1, sort_blocks, &job);
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
