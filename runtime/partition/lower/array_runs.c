/* Follows concatenations, slices, reversals and repetitions to the arrays that they take elements
 * from. */
#include "partition/lower/array_runs.h"

#include "base/arith.h"
#include "partition/lower/fetch_window.h"

#define PADDING_SHARE 4 /* the padded array is at least so many times larger than the padding */
#define MAX_DEPTH 16    /* most operations inside of each other */

static int concatenated_dim(const hlo_instr_t *concatenation) {
  return (int)hlo_attr_ints(concatenation, HLO_ATTR_DIMENSIONS).data[0];
}

bool spmd_is_padding(const hlo_instr_t *instr) {
  int64_t largest = 0;
  if (instr->op != HLO_CONCATENATE) return false;
  int d = concatenated_dim(instr);
  for (int k = 0; k < instr->operand_count; k++)
    largest = hr_max(largest, instr->operands[k]->shape->dims[d]);
  return largest / PADDING_SHARE >= instr->shape->dims[d] - largest;
}

/* The array of one element along d that is repeated along it; NULL: none. A broadcast puts a
 * dimension beside d, and a reshape makes one of both (jnp.repeat). */
static hlo_instr_t *repeated(const hlo_instr_t *instr, int d) {
  const hlo_instr_t *rows = instr->op == HLO_RESHAPE ? instr->operands[0] : NULL;
  hlo_instr_t *x = rows && rows->op == HLO_BROADCAST ? rows->operands[0] : NULL;
  if (!x || x->shape->rank != instr->shape->rank || rows->shape->rank != x->shape->rank + 1)
    return NULL;
  hr_ints_t dims = hlo_attr_ints(rows, HLO_ATTR_DIMENSIONS);
  bool is_after = dims.data[d] == d; /* the new dimension comes after d */
  for (int i = 0; i < x->shape->rank; i++) {
    int64_t size = x->shape->dims[i], to = i < d + is_after ? i : i + 1;
    if (dims.data[i] != to || rows->shape->dims[to] != size ||
        (i == d ? size != 1 : size != instr->shape->dims[i]))
      return NULL;
  }
  return x;
}

/* True for an array whose first elements along d are the last ones of another one. */
static bool is_reversed(const hlo_instr_t *instr, int d) {
  if (instr->op != HLO_REVERSE) return false;
  hr_ints_t dims = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  return dims.count == 1 && dims.data[0] == d;
}

/* Elements of an array. */
typedef struct range {
  int64_t from, count;
} range_t;

typedef struct finder {
  spmd_runs_t *runs;
  int d;
  const spmd_run_rules_t *rules;
} finder_t;

static hr_status_t add(finder_t *finder, hlo_instr_t *x, range_t range, int depth);

static hr_status_t add_operands(finder_t *finder, hlo_instr_t *x, range_t range, int depth) {
  int64_t at = 0, past = range.from + range.count;
  for (int k = 0; k < x->operand_count; k++) {
    int64_t size = x->operands[k]->shape->dims[finder->d];
    int64_t from = hr_max(range.from - at, 0), limit = hr_min(past - at, size);
    HR_TRY(add(finder, x->operands[k], (range_t){from, limit - from}, depth));
    at += size;
  }
  return NULL;
}

/* Turns the order of the runs from number `first` on, and of their elements. */
static void turn(spmd_runs_t *runs, size_t first) {
  for (size_t i = first; i < runs->count; i++) {
    spmd_run_t *run = &runs->data[i];
    run->from += (run->count - 1) * run->step;
    run->step = -run->step;
  }
  for (size_t i = first, k = runs->count; i + 1 < k; i++) {
    spmd_run_t run = runs->data[--k];
    runs->data[k] = runs->data[i];
    runs->data[i] = run;
  }
}

static hr_status_t add_reversed(finder_t *finder, hlo_instr_t *x, range_t range, int depth) {
  size_t first = finder->runs->count;
  int64_t last = x->shape->dims[finder->d] - range.from;
  HR_TRY(add(finder, x->operands[0], (range_t){last - range.count, range.count}, depth));
  turn(finder->runs, first);
  return NULL;
}

static hr_status_t add_repeated(finder_t *finder, hlo_instr_t *one, int64_t count, int depth) {
  HR_TRY(add(finder, one, (range_t){0, 1}, depth));
  spmd_run_t *run = &finder->runs->data[finder->runs->count - 1];
  run->count = count;
  run->step = 0;
  return NULL;
}

static bool is_followed(const finder_t *finder, const hlo_instr_t *x) {
  return x->op == HLO_CONCATENATE && concatenated_dim(x) == finder->d &&
         (!finder->rules->paddings_only || spmd_is_padding(x));
}

static hr_status_t add(finder_t *finder, hlo_instr_t *x, range_t range, int depth) {
  int d = finder->d;
  if (range.count <= 0) return NULL;
  if (depth && is_followed(finder, x)) return add_operands(finder, x, range, depth - 1);
  bool is_short = depth && range.count <= finder->rules->longest;
  hlo_instr_t *one = is_short ? repeated(x, d) : NULL;
  if (one) return add_repeated(finder, one, range.count, depth - 1);
  if (is_short && is_reversed(x, d)) return add_reversed(finder, x, range, depth - 1);
  if (depth && x->op == HLO_SLICE && spmd_run_dim(x) == d) {
    int64_t start = hlo_attr_slice(x)->dims[d].start;
    return add(finder, x->operands[0], (range_t){range.from + start, range.count}, depth - 1);
  }
  HR_VEC_PUSH(finder->runs, ((spmd_run_t){x, range.from, range.count, 1}));
  return NULL;
}

hr_status_t spmd_add_runs(spmd_runs_t *runs, hlo_instr_t *x, int d, int64_t from, int64_t count,
                          const spmd_run_rules_t *rules) {
  finder_t finder = {runs, d, rules};
  return add(&finder, x, (range_t){from, count}, MAX_DEPTH);
}

void spmd_join_runs(spmd_runs_t *runs) {
  size_t kept = 0;
  for (size_t i = 0; i < runs->count; i++) {
    spmd_run_t run = runs->data[i], *last = kept ? &runs->data[kept - 1] : NULL;
    if (run.count == 1) run.step = 1;
    if (last && last->source == run.source && last->step == run.step &&
        last->from + last->count * last->step == run.from)
      last->count += run.count;
    else
      runs->data[kept++] = run;
  }
  runs->count = kept;
}
