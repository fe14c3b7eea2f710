/* Reduce-window with one of the usual ops as body.
 *
 * Windows that extend from each result to the start (or end) of its line are prefix sums, in
 * prefix_scan.h; prefix_scan_body.h does the same for other bodies. All other windows are
 * computed result by result:
 *
 *   channels     trailing dimensions have no window: a result is a row of `lanes` elements, the
 *                combination of the input rows under its window
 *   rows         the last dimension has a window: the input rows under a row of results are first
 *                combined along all other dimensions, then each tap along the row is one loop:
 *
 *                  input rows   ----------   \
 *                               ----------    > combined row -> taps k = 0, 1, 2 added at offset k
 *                               ----------   /
 *
 *                the same if few trailing elements have no window, or if windows are large: a row
 *                then has all of them
 *
 * Floats of 16 bits and fewer are converted to f32 as whole arrays. Windows with too many rows,
 * and other bodies, are left to the reference kernel. */
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/elementwise/accumulate.h"
#include "ops/kernels/native.h"
#include "ops/kernels/common/strided_loops.h"
#include "ops/kernels/window/prefix_scan.h"
#include "ops/kernels/window/prefix_scan_body.h"
#include "ops/kernels/window/window_cells.h"
#include "ops/query/reduce_order.h"

enum {
  GRAIN = 1 << 14,     /* least combinations per worker */
  MIN_LANES_BYTES = 64 /* shortest results that are computed one by one */
};

/* One plan: a scan (scans), a scan with another body (rows NULL), or result by result. */
typedef struct native_window_plan {
  const window_rows_t *rows;
  hr_dtype_t dtype; /* operand's type; rows->dtype is f32 if the type is narrower */
  int workers;
  int64_t in_count, out_count;
  bool scans;
  native_scan_t scan;
  native_body_scan_t body_scan;   /* scan with another body; rows is NULL then */
  window_cells_t cells;           /* dimensions iterated result by result */
  int64_t lanes;                  /* elements per row of results */
  int64_t in_row;                 /* elements per row of the operand */
  const window_tap_range_t *taps; /* results per tap along the row; NULL: no window along the row */
  int64_t tap_count;              /* taps that cover any element */
  size_t row_bytes;               /* scratch bytes per worker, at the start of the scratch */
  size_t wide_in, wide_out;       /* scratch offsets of the arrays converted to f32 */
} native_window_plan_t;

/* One execution; arrays are those of rows->dtype. */
typedef struct window_job {
  const native_window_plan_t *plan;
  const char *in;
  char *out;
  const void *init;
  char *scratch; /* the workers' scratch */
} window_job_t;

/* --- results ---------------------------------------------------------------------------------- */

/* Combines the row of results with tap k from result `begin` to result `end`. */
static void combine_tap(const native_window_plan_t *plan, int64_t k, const char *row, char *result,
                        int64_t begin, int64_t end) {
  const window_tap_range_t *tap = &plan->taps[k];
  int64_t bytes = (int64_t)hr_dtype_bytes(plan->rows->dtype);
  begin = hr_max(begin, tap->out_first);
  end = hr_min(end, tap->out_first + tap->count);
  if (begin < end)
    plan->rows->row(result + begin * bytes,
                    row + (tap->in_first + (begin - tap->out_first) * tap->in_step) * bytes,
                    end - begin, tap->in_step);
}

/* Combines four taps from k on where all of them have inputs, and tap by tap beside it. False:
 * their inputs are not adjacent. */
static bool combine_four_taps(const native_window_plan_t *plan, int64_t k, const char *row,
                              char *result) {
  const void *from[4];
  int64_t bytes = (int64_t)hr_dtype_bytes(plan->rows->dtype);
  int64_t begin = 0, end = plan->lanes;
  if (k + 4 > plan->tap_count) return false;
  for (int t = 0; t < 4; t++) {
    const window_tap_range_t *tap = &plan->taps[k + t];
    if (tap->in_step != 1) return false;
    begin = hr_max(begin, tap->out_first);
    end = hr_min(end, tap->out_first + tap->count);
  }
  if (begin >= end) return false;
  for (int t = 0; t < 4; t++) {
    const window_tap_range_t *tap = &plan->taps[k + t];
    from[t] = row + (tap->in_first + begin - tap->out_first) * bytes;
    combine_tap(plan, k + t, row, result, 0, begin);
    combine_tap(plan, k + t, row, result, end, plan->lanes);
  }
  plan->rows->row4(result + begin * bytes, from, end - begin);
  return true;
}

/* One row of results: rows under the window combined into scratch, then the taps along the row. */
static void combine_rows(const window_job_t *job, char *scratch, char *to, const int64_t *offsets,
                         int64_t count) {
  const native_window_plan_t *plan = job->plan;
  int64_t bytes = (int64_t)hr_dtype_bytes(plan->rows->dtype);
  if (!plan->taps || count == 0) {
    plan->rows->lanes(to, job->init, job->in, offsets, count, plan->lanes);
    return;
  }
  /* Taps along the row accumulate in scratch, which stays in the cache; `to` is only written. */
  char *result = scratch + plan->row_bytes / 2;
  const char *row = job->in + offsets[0] * bytes;
  if (count > 1) plan->rows->lanes(scratch, NULL, job->in, offsets, count, plan->in_row);
  if (count > 1) row = scratch;
  plan->rows->lanes(result, job->init, NULL, NULL, 0, plan->lanes);
  for (int64_t k = 0, step; k < plan->tap_count; k += step) {
    step = combine_four_taps(plan, k, row, result) ? 4 : 1;
    if (step == 1) combine_tap(plan, k, row, result, 0, plan->lanes);
  }
  memcpy(to, result, (size_t)(plan->lanes * bytes));
}

/* Computes results begin .. end - 1, each a row of lanes: the combined rows of its window. */
static void reduce_results(void *context, int64_t begin, int64_t end, int worker) {
  const window_job_t *job = context;
  const native_window_plan_t *plan = job->plan;
  int64_t offsets[WINDOW_MAX_RESULTS], index[HLO_MAX_RANK];
  int64_t row_bytes = plan->lanes * (int64_t)hr_dtype_bytes(plan->rows->dtype);
  char *scratch = job->scratch + (size_t)worker * plan->row_bytes;
  window_cells_at(&plan->cells, begin, index);
  for (int64_t r = begin; r < end; r++, window_cells_next(&plan->cells, index))
    combine_rows(job, scratch, job->out + r * row_bytes, offsets,
                 window_cells_list(&plan->cells, index, offsets));
}

/* Narrow floats are reduced in f32, as one conversion each way is cheaper than one per step. */
static void widen(void *context, int64_t begin, int64_t end, int worker) {
  const window_job_t *job = context;
  int64_t bytes = (int64_t)hr_dtype_bytes(job->plan->dtype);
  (void)worker;
  hr_floats_to_f32(job->plan->dtype, job->in + begin * bytes, (float *)job->out + begin,
                   end - begin);
}

/* Rounds to the operand's type. */
static void narrow(void *context, int64_t begin, int64_t end, int worker) {
  const window_job_t *job = context;
  int64_t bytes = (int64_t)hr_dtype_bytes(job->plan->dtype);
  (void)worker;
  hr_floats_from_f32(job->plan->dtype, (const float *)job->in + begin, job->out + begin * bytes,
                     end - begin);
}

/* Prefix windows are scans; all others combine rows. */
static void reduce_windows(const op_native_run_t *run, const window_job_t *job) {
  const native_window_plan_t *plan = job->plan;
  if (plan->scans) {
    native_scan_run(&plan->scan, run->workers, run->scratch, job->in, job->init, job->out);
    return;
  }
  int64_t work = plan->lanes * plan->cells.results * (plan->taps ? plan->tap_count : 1) + 1;
  hr_workers_for(native_workers(run, plan->workers), plan->cells.count, GRAIN / work + 1,
                 reduce_results, (void *)job);
}

static hr_status_t run_body_scan(const op_native_run_t *run, const native_window_plan_t *plan,
                                 void *const *in, void *const *out) {
  native_body_scan_run(&plan->body_scan, native_workers(run, plan->workers), run->scratch, in, out);
  return NULL;
}

/* Narrow floats are converted to f32 as a whole, reduced, and rounded once. */
static hr_status_t run_window(const op_native_run_t *run, const void *plan_, void *const *in,
                              void *const *out) {
  const native_window_plan_t *plan = plan_;
  window_job_t job = {plan, in[0], out[0], in[1], run->scratch};
  if (!plan->rows) return run_body_scan(run, plan, in, out);
  if (plan->out_count == 0) return NULL;
  if (plan->rows->dtype == plan->dtype) {
    reduce_windows(run, &job);
    return NULL;
  }
  float init;
  char *wide_in = (char *)run->scratch + plan->wide_in,
       *wide_out = (char *)run->scratch + plan->wide_out;
  hr_floats_to_f32(plan->dtype, in[1], &init, 1);
  hr_workers_for(run->workers, plan->in_count, GRAIN, widen,
                 &(window_job_t){plan, in[0], wide_in, NULL, NULL});
  job = (window_job_t){plan, wide_in, wide_out, &init, run->scratch};
  reduce_windows(run, &job);
  hr_workers_for(run->workers, plan->out_count, GRAIN, narrow,
                 &(window_job_t){plan, wide_out, out[0], NULL, NULL});
  return NULL;
}

/* --- planning --------------------------------------------------------------------------------- */

/* True if every window reaches from its position to the start of the line, or to its end. */
static bool is_prefix_window(const hlo_window_dim_t *w, int64_t n, int64_t m) {
  if (w->stride != 1 || w->base_dilation != 1 || w->window_dilation != 1 || m != n || w->size < n)
    return false;
  return (w->pad_low >= n - 1 && w->pad_high == 0) || (w->pad_low == 0 && w->pad_high >= n - 1);
}

/* True for a single windowed dimension with prefix windows; gives the sizes before, of and after
 * it. */
static bool find_prefix_dim(const hlo_window_t *window, const hlo_shape_t *in,
                            const hlo_shape_t *out, int64_t *out_outer, int64_t *out_count,
                            int64_t *out_inner, bool *out_reverse) {
  int at = -1;
  for (int d = 0; d < window->rank; d++) {
    if (window_is_trivial(&window->dims[d])) continue;
    if (at >= 0 || !is_prefix_window(&window->dims[d], in->dims[d], out->dims[d])) return false;
    at = d;
  }
  if (at < 0) return false;
  *out_outer = *out_inner = 1;
  *out_count = in->dims[at];
  *out_reverse = window->dims[at].pad_high > 0;
  for (int d = 0; d < at; d++) *out_outer *= in->dims[d];
  for (int d = at + 1; d < in->rank; d++) *out_inner *= in->dims[d];
  return true;
}

/* Sets plan->scans if the windows are prefixes along one dimension. */
static bool plan_scan(native_window_plan_t *plan, const hlo_window_t *window, const hlo_shape_t *in,
                      const hlo_shape_t *out) {
  native_scan_t *scan = &plan->scan;
  plan->scans =
      find_prefix_dim(window, in, out, &scan->outer, &scan->count, &scan->inner, &scan->reverse);
  scan->rows = plan->rows;
  if (plan->scans) native_scan_plan(scan, plan->workers);
  return plan->scans;
}

/* Lists the taps of the window along the last dimension that lie over any element. */
static hr_status_t plan_row(hr_arena_t *arena, native_window_plan_t *plan,
                            const hlo_window_dim_t *w, int64_t n, int64_t m) {
  window_tap_range_t *taps;
  HR_TRY(HR_NEW_ARRAY(arena, w->size, &taps));
  for (int64_t k = 0; k < w->size; k++) {
    window_tap_range_t here = window_tap_range(w, k, n, m);
    if (here.count) taps[plan->tap_count++] = here;
  }
  plan->taps = taps;
  plan->lanes = m;
  plan->in_row = n;
  return NULL;
}

/* Elements of the trailing dimensions, which have no window, belong to the row. */
static void widen_row(native_window_plan_t *plan, int64_t inner) {
  window_tap_range_t *taps = (window_tap_range_t *)plan->taps;
  for (int64_t k = 0; k < plan->tap_count; k++) {
    taps[k].out_first *= inner;
    taps[k].in_first *= inner;
    taps[k].count *= inner;
    taps[k].in_step = 1; /* a tap over a single result has no step */
  }
  plan->lanes *= inner;
  plan->in_row *= inner;
}

/* Does a row of results along dimension d, with `inner` elements without a window after it, take
 * less time than its results one by one? Rows under it are combined once for all taps. */
static bool pays_as_row(const hlo_window_t *window, int d, int64_t inner, hr_dtype_t dtype) {
  const hlo_window_dim_t *w = &window->dims[d];
  int64_t others = 1;
  if (w->stride != 1 || w->base_dilation != 1 || w->size > WINDOW_MAX_RESULTS) return false;
  for (int k = 0; k < d; k++) others *= hr_min(window->dims[k].size, WINDOW_MAX_RESULTS);
  return inner * (int64_t)hr_dtype_bytes(dtype) < MIN_LANES_BYTES ||
         others * w->size >= 2 * (others + w->size);
}

/* True if the results of each tap are adjacent, so that a tap is one loop. */
static bool taps_are_loops(const native_window_plan_t *plan) {
  for (int64_t k = 0; k < plan->tap_count; k++)
    if (plan->taps[k].count > 1 && plan->taps[k].out_step != 1) return false;
  return true;
}

/* *out_possible is false if the reference kernel is to run. */
static hr_status_t plan_results(hr_arena_t *arena, native_window_plan_t *plan,
                                const hlo_window_t *window, const hlo_shape_t *in,
                                const hlo_shape_t *out, bool *out_possible) {
  int last = window->rank;
  *out_possible = false;
  plan->lanes = 1;
  while (last > 0 && window_is_trivial(&window->dims[last - 1])) plan->lanes *= in->dims[--last];
  if (last == window->rank && last > 0 && window->dims[last - 1].size <= WINDOW_MAX_RESULTS) {
    last--;
    HR_TRY(plan_row(arena, plan, &window->dims[last], in->dims[last], out->dims[last]));
    if (!taps_are_loops(plan)) return NULL;
  } else if (last > 0 && pays_as_row(window, last - 1, plan->lanes, in->dtype)) {
    int64_t inner = plan->lanes;
    last--;
    HR_TRY(plan_row(arena, plan, &window->dims[last], in->dims[last], out->dims[last]));
    widen_row(plan, inner);
  }
  return window_cells_plan(arena, window, last, in, out, &plan->cells, out_possible);
}

/* Loops for a body of one commutative op on the arrays' own type; NULL: other bodies. */
static const window_rows_t *find_rows(const accumulate_plan_t *body, hr_dtype_t dtype) {
  hlo_opcode_t op;
  const ew_kernel_t *kernel;
  if (!body->kernel || !op_body_is_binary(body->body, &op, &kernel)) return NULL;
  if (op_body_param_dtype(body->body, 0) != dtype) return NULL;
  bool narrow_float = hr_dtype_is_float(dtype) && hr_dtype_table[dtype].compute == HR_F32;
  return window_rows_find(op, narrow_float ? HR_F32 : dtype);
}

/* Per worker: the combined input row and the row of results. After them: the f32 copies of both
 * arrays. */
static size_t plan_window_scratch(native_window_plan_t *plan) {
  size_t bytes = plan->scans ? (native_scan_scratch_bytes(&plan->scan) + 63) / 64 * 64 : 0;
  if (plan->taps) {
    int64_t row = hr_max(plan->in_row, plan->lanes);
    plan->row_bytes = 2 * (((size_t)row * hr_dtype_bytes(plan->rows->dtype) + 63) / 64 * 64);
    bytes = plan->row_bytes * (size_t)plan->workers;
  }
  if (plan->rows->dtype == plan->dtype) return bytes;
  plan->wide_in = bytes;
  plan->wide_out = bytes + ((size_t)plan->in_count * sizeof(float) + 63) / 64 * 64;
  return plan->wide_out + (size_t)plan->out_count * sizeof(float);
}

/* Plans a prefix scan with any other body whose types are those of the arrays. Floats of 16 bits
 * and fewer are excluded: rounding after each of so many steps would lose too much. */
static bool plan_body_scan(const op_step_t *step, const accumulate_plan_t *body, int workers,
                           native_body_scan_t *scan) {
  const hlo_shape_t *in = step->in_shapes[0], *out = step->out_shape;
  int arrays = step->instr->operand_count / 2;
  if (arrays > NATIVE_SCAN_MAX_ARRAYS || !op_body_is_flat(body->body)) return false;
  *scan = (native_body_scan_t){.body = body->body, .arrays = arrays};
  if (!find_prefix_dim(hlo_attr_window(step->instr), in, arrays == 1 ? out : out->elements[0],
                       &scan->outer, &scan->count, &scan->inner, &scan->reverse))
    return false;
  scan->is_tree = op_reducer_is_tree(step->instr->called[0], arrays);
  if (scan->reverse && !scan->is_tree) return false;
  for (int k = 0; k < 2 * arrays; k++) {
    hr_dtype_t dtype = step->in_shapes[k]->dtype,
               result = op_body_result_dtype(body->body, k % arrays);
    if (dtype != op_body_param_dtype(body->body, k) || dtype != result) return false;
    if (hr_dtype_is_float(dtype) && dtype != HR_F32 && dtype != HR_F64) return false;
    scan->bytes[k % arrays] = (int64_t)hr_dtype_bytes(dtype);
  }
  native_body_scan_plan(scan, workers);
  return true;
}

/* Result k may overwrite operand k: a scan reads each element before it writes it. */
static hr_status_t prepare_body_scan(const op_native_target_t *target, const op_step_t *step,
                                     const accumulate_plan_t *body, op_native_step_t *out) {
  native_body_scan_t scan;
  native_window_plan_t *plan;
  uint64_t *reuse;
  if (!plan_body_scan(step, body, target->workers, &scan)) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  HR_TRY(HR_NEW_ARRAY(target->arena, scan.arrays, &reuse));
  for (int k = 0; k < scan.arrays; k++) reuse[k] = (uint64_t)1 << k;
  plan->body_scan = scan;
  plan->workers = target->workers;
  out->plan = plan;
  out->reuse = reuse;
  out->scratch_bytes = native_body_scan_scratch_bytes(&scan);
  return NULL;
}

/* Tries the usual ops as scan and result by result, then any body as scan; otherwise declines. */
static hr_status_t prepare_window(const op_native_target_t *target, const op_step_t *step,
                                  op_native_step_t *out) {
  static const uint64_t in_place[] = {1};
  const hlo_window_t *window = hlo_attr_window(step->instr);
  const hlo_shape_t *in = step->in_shapes[0], *result = step->out_shape;
  accumulate_plan_t body;
  native_window_plan_t *plan;
  if (!window) return NULL;
  HR_TRY(accumulate_prepare(target->arena, step->instr->called[0], step->instr->operand_count / 2,
                            true, &body));
  const window_rows_t *rows = body.count == 1 ? find_rows(&body, in->dtype) : NULL;
  if (!rows) return prepare_body_scan(target, step, &body, out);
  if (step->in_shapes[1]->dtype != in->dtype || result->dtype != in->dtype) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  plan->rows = rows;
  plan->dtype = in->dtype;
  plan->workers = target->workers;
  HR_TRY(hlo_shape_count(in, &plan->in_count));
  HR_TRY(hlo_shape_count(result, &plan->out_count));
  bool possible = plan_scan(plan, window, in, result);
  if (!possible) HR_TRY(plan_results(target->arena, plan, window, in, result, &possible));
  if (!possible) return NULL;
  out->plan = plan;
  out->scratch_bytes = plan_window_scratch(plan);
  if (plan->scans) out->reuse = in_place;
  out->bytes = (double)(plan->in_count + plan->out_count) * (double)hr_dtype_bytes(plan->dtype);
  return NULL;
}

const op_native_t native_reduce_window = {"windows", prepare_window, run_window};
