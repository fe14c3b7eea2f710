/* Top-k along the last dimension by the total order, ties to the lower index: selection instead of
 * a sort.
 *
 * Keys of a line are encoded a block at a time; a block whose smallest key is not below the current
 * k-th best is skipped. Other blocks' keys become candidates, which are sorted and reduced to k
 * when their buffer is full; for k up to SMALL_K insertion keeps them sorted. A long line is
 * divided into parts, one per worker, and the best items of all parts are sorted once more. Cost:
 * one pass over the data, plus about k log(n / k) candidates for random input. */
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/arith.h"
#include "base/mem.h"
#include "ops/kernels/custom/custom_call.h"
#include "ops/kernels/simd/simd_target.h"
#include "ops/kernels/sort/radix_sort.h"
#include "ops/kernels/sort/sort_encode.h"

NATIVE_OPTIMIZE

enum {
  BLOCK = 64,        /* keys encoded per call */
  SMALL_K = 32,      /* largest k for insertion */
  RESERVE = 256,     /* candidates in addition to twice the best k */
  SHORT_LINE = 1024, /* elements in addition to twice k of lines that are reduced once */
  SLACK = 16,       /* candidates that are sorted with the best k rather than separated from them */
  MOST_ROUNDS = 40, /* most partitions: with bad pivots more items remain to be sorted */
  MIN_PART = 1 << 14, /* least elements per part of a line */
  GRAIN = 1 << 13     /* least elements per worker */
};

typedef struct native_topk_plan {
  int64_t lines, count, k, bytes;
  sort_encoding_t encoding;
  radix_kind_t kind; /* RADIX_KEY_64: key above index in one word; or RADIX_PAIR */
  int workers;
  int64_t parts;       /* parts per line */
  int64_t capacity;    /* candidates per part */
  size_t spare, radix; /* byte offsets in a worker's scratch */
  size_t worker_bytes,
      best; /* scratch per worker; offset of the parts' best items after all of them */
} native_topk_plan_t;

typedef struct topk_job {
  const native_topk_plan_t *plan;
  const char *in;
  char *values;
  int32_t *indices;
  char *scratch;
} topk_job_t;

/* The candidates of one part. */
typedef struct topk_part {
  const native_topk_plan_t *plan;
  char *items, *spare, *radix;
  int64_t filled;
  uint64_t limit; /* exclusive upper bound of useful keys, once has_limit */
  bool has_limit;
} topk_part_t;

#if SIMD_HAS_WIDTHS
__attribute__((target(SIMD_512_MACHINE))) static int64_t part_vectors(uint64_t *items,
                                                                      int64_t count, uint64_t pivot,
                                                                      uint64_t *above) {
  enum { LANES = 8 };
  const __m512i limit = _mm512_set1_epi64((int64_t)pivot);
  int64_t below = 0;
  for (int64_t i = 0; i < count; i += LANES) {
    __mmask8 all = (__mmask8)((1u << hr_min(count - i, LANES)) - 1);
    __m512i item = _mm512_maskz_loadu_epi64(all, items + i);
    __mmask8 is_below = _mm512_mask_cmplt_epu64_mask(all, item, limit);
    __mmask8 is_above = (__mmask8)(all & ~is_below);
    int number = __builtin_popcount(is_below);
    _mm512_mask_storeu_epi64(items + below, (__mmask8)((1u << number) - 1),
                             _mm512_maskz_compress_epi64(is_below, item));
    _mm512_mask_storeu_epi64(above + i - below, (__mmask8)(all >> number),
                             _mm512_maskz_compress_epi64(is_above, item));
    below += number;
  }
  return below;
}
#endif

static int64_t part_scalars(uint64_t *items, int64_t count, uint64_t pivot, uint64_t *above) {
  int64_t below = 0;
  for (int64_t i = 0; i < count; i++) {
    uint64_t item = items[i];
    items[below] = item;
    above[i - below] = item;
    below += item < pivot;
  }
  return below;
}

/* Moves items below the pivot to the front of `items`, the others to `above`, without branches on
 * keys. Returns the number of the former. */
static int64_t part_items(uint64_t *items, int64_t count, uint64_t pivot, uint64_t *above) {
#if SIMD_HAS_WIDTHS
  if (simd_width() == SIMD_512) return part_vectors(items, count, pivot, above);
#endif
  return part_scalars(items, count, pivot, above);
}

static uint64_t median_of(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t low = a < b ? a : b;
  uint64_t high = a < b ? b : a;
  if (c < low) return low;
  return c > high ? high : c;
}

/* Moves the k smallest items, which are all different, to the front, perhaps followed by some of
 * the next ones; the others are lost. Returns the number of the former. `spare` has room for
 * `count` items. */
static int64_t select_items(uint64_t *items, int64_t count, int64_t k, uint64_t *spare) {
  int64_t begin = 0;
  for (int round = 0; round < MOST_ROUNDS && count > k + SLACK; round++) {
    uint64_t pivot = median_of(items[begin], items[(begin + count) / 2], items[count - 1]);
    int64_t below = begin + part_items(items + begin, count - begin, pivot, spare);
    if (below >= k) {
      count = below;
    } else {
      memcpy(items + below, spare, (size_t)(count - below) * sizeof *items);
      begin = below;
    }
  }
  return count;
}

/* Sorts the best k candidates and drops the others. Pairs with equal keys stay in index order: the
 * sort is stable. */
static void cut_to_best(topk_part_t *part) {
  const native_topk_plan_t *plan = part->plan;
  if (plan->kind == RADIX_KEY_64)
    part->filled =
        select_items((uint64_t *)part->items, part->filled, plan->k, (uint64_t *)part->spare);
  char *sorted = radix_sort(plan->kind, part->items, part->spare, part->filled, part->radix);
  if (sorted != part->items) {
    part->spare = part->items;
    part->items = sorted;
  }
  part->filled = hr_min(part->filled, plan->k);
  if (part->filled < plan->k) return;
  const uint64_t *last =
      (const uint64_t *)(sorted + (size_t)(plan->k - 1) * radix_item_bytes(plan->kind));
  part->has_limit = true;
  part->limit = plan->kind == RADIX_KEY_64 ? *last >> 32 : *last;
}

/* Small k: inserts into the sorted best; the worst is dropped. */
static void insert_candidate(topk_part_t *part, uint64_t key, int64_t index) {
  const native_topk_plan_t *plan = part->plan;
  int64_t at = part->filled < plan->k ? part->filled++ : plan->k - 1;
  if (plan->kind == RADIX_KEY_64) {
    uint64_t *items = (uint64_t *)part->items, item = key << 32 | (uint64_t)index;
    for (; at > 0 && item < items[at - 1]; at--) items[at] = items[at - 1];
    items[at] = item;
    if (part->filled == plan->k) part->limit = items[plan->k - 1] >> 32;
  } else {
    radix_pair_t *items = (radix_pair_t *)part->items;
    for (; at > 0 && key < items[at - 1].key; at--) items[at] = items[at - 1];
    items[at] = (radix_pair_t){key, (uint64_t)index};
    if (part->filled == plan->k) part->limit = items[plan->k - 1].key;
  }
  part->has_limit = part->filled == plan->k;
}

/* A long key. Ignores keys that are not below the limit; reduces to the best k when the buffer is
 * full. */
static void add_pair(topk_part_t *part, uint64_t key, int64_t index) {
  if (part->has_limit && key >= part->limit) return;
  if (part->plan->k <= SMALL_K) {
    insert_candidate(part, key, index);
    return;
  }
  ((radix_pair_t *)part->items)[part->filled++] = (radix_pair_t){key, (uint64_t)index};
  if (part->filled == part->plan->capacity) cut_to_best(part);
}

/* Vectorises: one comparison of the block's minimum skips most blocks. */
NATIVE_CLONES
static uint32_t min_key(const uint32_t *keys, int64_t count) {
  uint32_t low = UINT32_MAX;
  for (int64_t i = 0; i < count; i++) low = keys[i] < low ? keys[i] : low;
  return low;
}

/* Writes the items of all keys. */
NATIVE_CLONES
static void pack_items(const uint32_t *keys, int64_t count, int64_t first, uint64_t *to) {
  for (int64_t i = 0; i < count; i++) to[i] = (uint64_t)keys[i] << 32 | (uint64_t)(first + i);
}

/* Writes the items of the keys below the limit, without branches on keys: which keys are best is
 * unpredictable. `to` has room for `count` items. Returns the number of items. */
static int64_t collect_below(const uint32_t *keys, int64_t count, int64_t first, uint64_t limit,
                             uint64_t *to) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; i++) {
    to[found] = (uint64_t)keys[i] << 32 | (uint64_t)(first + i);
    found += keys[i] < limit;
  }
  return found;
}

/* Writes the candidates of a block: all keys before there is a limit. Returns their number. */
static int64_t collect_block(const topk_part_t *part, const uint32_t *keys, int64_t count,
                             int64_t first, uint64_t *to) {
  if (part->has_limit) return collect_below(keys, count, first, part->limit, to);
  pack_items(keys, count, first, to);
  return count;
}

/* Adds the candidates of a block of short keys. */
static void add_block(topk_part_t *part, const uint32_t *keys, int64_t count, int64_t first) {
  uint64_t items[BLOCK];
  if (part->plan->k > SMALL_K) {
    if (part->filled + count > part->plan->capacity) cut_to_best(part);
    part->filled += collect_block(part, keys, count, first, (uint64_t *)part->items + part->filled);
    return;
  }
  int64_t found = collect_block(part, keys, count, first, items);
  for (int64_t i = 0; i < found; i++)
    if (!part->has_limit || items[i] >> 32 < part->limit)
      insert_candidate(part, items[i] >> 32, (int64_t)(uint32_t)items[i]);
}

/* Keys of up to 32 bits. */
static void select_short(topk_part_t *part, const char *elements, int64_t begin, int64_t end) {
  uint32_t keys[BLOCK];
  for (int64_t first = begin; first < end; first += BLOCK) {
    int64_t count = hr_min(BLOCK, end - first);
    sort_encode_block_32(&part->plan->encoding, elements + first * part->plan->bytes, count, keys);
    if (!part->has_limit || min_key(keys, count) < part->limit) add_block(part, keys, count, first);
  }
}

/* Keys of 64 bits; no block minimum, as candidates are compared one by one. */
static void select_long(topk_part_t *part, const char *elements, int64_t begin, int64_t end) {
  uint64_t keys[BLOCK];
  for (int64_t first = begin; first < end; first += BLOCK) {
    int64_t count = hr_min(BLOCK, end - first);
    sort_encode_block(&part->plan->encoding, elements + first * part->plan->bytes, count, keys);
    for (int64_t i = 0; i < count; i++) add_pair(part, keys[i], first + i);
  }
}

/* The best of elements begin .. end - 1 of a line, sorted; part->filled is their number. */
static void select_part(const topk_job_t *job, topk_part_t *part, int worker, const char *elements,
                        int64_t begin, int64_t end) {
  const native_topk_plan_t *plan = job->plan;
  char *scratch = job->scratch + (size_t)worker * plan->worker_bytes;
  *part = (topk_part_t){.plan = plan,
                        .items = scratch,
                        .spare = scratch + plan->spare,
                        .radix = scratch + plan->radix};
  if (plan->kind == RADIX_KEY_64)
    select_short(part, elements, begin, end);
  else
    select_long(part, elements, begin, end);
  if (plan->k > SMALL_K) cut_to_best(part);
}

/* Values and indices of a line's result from its sorted items. */
static void store_best(const topk_job_t *job, int64_t line, const char *items) {
  const native_topk_plan_t *plan = job->plan;
  const char *elements = job->in + line * plan->count * plan->bytes;
  char *values = job->values + line * plan->k * plan->bytes;
  for (int64_t i = 0; i < plan->k; i++) {
    int64_t index = plan->kind == RADIX_KEY_64 ? (int64_t)(uint32_t)((const uint64_t *)items)[i]
                                               : (int64_t)((const radix_pair_t *)items)[i].index;
    memcpy(values + i * plan->bytes, elements + index * plan->bytes, (size_t)plan->bytes);
    job->indices[line * plan->k + i] = (int32_t)index;
  }
}

/* One worker per line: the line is one part, whose items need no second selection. */
static void select_lines(void *context, int64_t begin, int64_t end, int worker) {
  const topk_job_t *job = context;
  topk_part_t part;
  for (int64_t line = begin; line < end; line++) {
    select_part(job, &part, worker, job->in + line * job->plan->count * job->plan->bytes, 0,
                job->plan->count);
    store_best(job, line, part.items);
  }
}

/* Parts of lines: each stores its best among those of all parts. */
static void select_parts(void *context, int64_t begin, int64_t end, int worker) {
  const topk_job_t *job = context;
  const native_topk_plan_t *plan = job->plan;
  size_t item_bytes = radix_item_bytes(plan->kind);
  topk_part_t part;
  for (int64_t p = begin; p < end; p++) {
    int64_t line = p / plan->parts, at = p % plan->parts;
    select_part(job, &part, worker, job->in + line * plan->count * plan->bytes,
                plan->count * at / plan->parts, plan->count * (at + 1) / plan->parts);
    memcpy(job->scratch + plan->best + (size_t)(p * plan->k) * item_bytes, part.items,
           (size_t)plan->k * item_bytes);
  }
}

/* The best of all parts of a line, sorted together. */
static void merge_parts(const topk_job_t *job) {
  const native_topk_plan_t *plan = job->plan;
  size_t best_bytes = (size_t)(plan->parts * plan->k) * radix_item_bytes(plan->kind);
  char *best = job->scratch + plan->best, *spare = best + (size_t)plan->lines * best_bytes;
  for (int64_t line = 0; line < plan->lines; line++, best += best_bytes)
    store_best(
        job, line,
        radix_sort(plan->kind, best, spare, plan->parts * plan->k, job->scratch + plan->radix));
}

/* Few long lines are divided into parts, many lines among the workers. */
static hr_status_t run_topk(const op_native_run_t *run, const void *plan_, void *const *in,
                            void *const *out) {
  const native_topk_plan_t *plan = plan_;
  hr_workers_t *workers = native_workers(run, plan->workers);
  topk_job_t job = {plan, in[0], out[0], out[1], run->scratch};
  if (plan->lines == 0 || plan->k == 0) return NULL;
  if (plan->parts > 1) {
    hr_workers_for(workers, plan->lines * plan->parts, 1, select_parts, &job);
    merge_parts(&job);
  } else {
    hr_workers_for(workers, plan->lines, GRAIN / plan->count + 1, select_lines, &job);
  }
  return NULL;
}

/* --- planning --------------------------------------------------------------------------------- */

static size_t align_scratch(size_t bytes) {
  return (bytes + HR_ALIGNMENT - 1) / HR_ALIGNMENT * HR_ALIGNMENT;
}

/* Per worker: candidates, spare and radix counters. Then the parts' best. */
static size_t plan_topk_scratch(native_topk_plan_t *plan) {
  size_t item_bytes = radix_item_bytes(plan->kind),
         items = align_scratch((size_t)plan->capacity * item_bytes);
  plan->spare = items;
  plan->radix = 2 * items;
  int64_t most = hr_max(plan->capacity, plan->parts * plan->k);
  plan->worker_bytes = 2 * items + align_scratch(radix_scratch_bytes(most));
  plan->best = plan->worker_bytes * (size_t)plan->workers;
  return plan->best +
         (plan->parts > 1 ? (size_t)((plan->lines + 1) * plan->parts * plan->k) * item_bytes : 0);
}

/* A part needs several times k elements to be worth a worker. */
static int64_t part_count(const native_topk_plan_t *plan) {
  int64_t most = plan->count / (MIN_PART + 4 * plan->k);
  if (plan->lines >= plan->workers || most < 2) return 1;
  return hr_min(most, plan->workers);
}

/* Declines lines of more than RADIX_MAX_COUNT elements, whose positions do not fit 32 bits. */
static hr_status_t plan_topk(const op_native_target_t *target, const op_step_t *step, bool largest,
                             op_native_step_t *out) {
  const hlo_shape_t *in = step->in_shapes[0];
  native_topk_plan_t *plan;
  HR_TRY(HR_NEW(target->arena, &plan));
  plan->count = in->dims[in->rank - 1];
  plan->k = step->out_shape->elements[0]->dims[in->rank - 1];
  plan->lines = 1;
  for (int d = 0; d < in->rank - 1; d++) plan->lines *= in->dims[d];
  if (plan->k > plan->count || plan->count > RADIX_MAX_COUNT) return NULL;
  plan->bytes = (int64_t)hr_dtype_bytes(in->dtype);
  HR_TRY(sort_encoding_init(target->arena, in->dtype, largest, SORT_NANS_ORDERED, false, 0,
                            &plan->encoding));
  plan->kind = plan->encoding.bits <= 32 ? RADIX_KEY_64 : RADIX_PAIR;
  plan->workers = target->workers;
  plan->parts = part_count(plan);
  bool is_short = plan->count <= 2 * plan->k + SHORT_LINE;
  plan->capacity = is_short ? plan->count + 1 : 2 * plan->k + RESERVE;
  out->scratch_bytes = plan_topk_scratch(plan);
  out->bytes = (double)(plan->lines * plan->count * plan->bytes);
  out->plan = plan;
  return NULL;
}

static hr_status_t prepare_topk(const op_native_target_t *target, const op_step_t *step,
                                op_native_step_t *out) {
  if (step->in_shapes[0]->rank == 0) return NULL;
  return plan_topk(target, step, hlo_attr_bool(step->instr, HLO_ATTR_LARGEST), out);
}

const op_native_t native_topk = {"top k", prepare_topk, run_topk};

/* True if the call's results have the right form; otherwise the reference kernel reports the
 * error. */
static bool has_top_k_results(const op_step_t *step) {
  const hlo_shape_t *out = step->out_shape;
  if (step->instr->operand_count < 1 || out->dtype != HR_TUPLE || out->element_count != 2)
    return false;
  const hlo_shape_t *x = step->in_shapes[0], *values = out->elements[0],
                    *indices = out->elements[1];
  if (!hlo_shape_is_array(x) || hr_dtype_is_complex(x->dtype) || x->rank == 0) return false;
  if (values->dtype != x->dtype || values->rank != x->rank || indices->dtype != HR_S32)
    return false;
  for (int d = 0; d < x->rank - 1; d++)
    if (values->dims[d] != x->dims[d]) return false;
  return hlo_shape_same_dims(values, indices);
}

static hr_status_t prepare_call(const op_native_target_t *target, const op_step_t *step,
                                op_native_step_t *out) {
  return has_top_k_results(step) ? plan_topk(target, step, true, out) : NULL;
}

const op_native_t native_custom_top_k = {"top k", prepare_call, run_topk};
