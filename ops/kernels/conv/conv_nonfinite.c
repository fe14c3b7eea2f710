/* Convolution with weights that are not finite. Padding and holes (of base dilation) are zeros that
 * are multiplied: an infinite or NaN weight makes NaN there. Fast kernels skip these products,
 * which is right for finite weights only. This file detects weights that are not finite and then
 * repeats the convolution by im2col, which multiplies zeros as well.
 *
 * The check is cheap, because a weight that is not finite makes every result not finite in which it
 * meets an input. So it suffices to test a few positions of the result that together use every
 * weight; as a window is a product of its axes, these are a grid, found axis by axis:
 *
 *   in 5, window 3, padding 1    position 0 uses taps 1 and 2, position 1 taps 0, 1 and 2:
 *                                position 1 is enough
 *
 * If these results are finite, so are all weights. If not, the weights themselves are read. They
 * are read at once if no positions use them all, if the result's type has no NaN, and under an
 * epilogue, which replaces the results. Cost: one number per column of the result; under an
 * epilogue one read of the weights. Memory: the repetition has its own scratch memory from the
 * heap. Source: StableHLO spec, convolution: the input is padded, with interior padding, before
 * windows are taken. */
#include <math.h>

#include "base/arith.h"
#include "ops/kernels/conv/conv_nonfinite.h"
#include "ops/kernels/simd/simd_target.h"

#define MAX_AXIS_WORK (INT64_C(1) << 20) /* most pairs of position and tap tested for one axis */
#define MAX_AXIS_POSITIONS 8
#define READ_UNIT 8192 /* least elements for another worker */

/* --- tests for finite numbers --- */

#define DEFINE_IS_FINITE(NAME, T, SPECIAL)                                                   \
  __attribute__((optimize("O3"))) NATIVE_CLONES static bool NAME(const T *bits, int64_t n) { \
    T special = 0;                                                                           \
    for (int64_t i = 0; i < n; i++) special |= (bits[i] & (SPECIAL)) == (SPECIAL);           \
    return !special;                                                                         \
  }
DEFINE_IS_FINITE(are_f64_finite, uint64_t, UINT64_C(0x7ff) << 52)
DEFINE_IS_FINITE(are_f32_finite, uint32_t, 0x7f800000u)
DEFINE_IS_FINITE(are_bf16_finite, uint16_t, 0x7f80u)
DEFINE_IS_FINITE(are_f16_finite, uint16_t, 0x7c00u)

/* Types narrower than 16 bits are decoded one by one; such arrays are small. */
static bool are_finite(hr_dtype_t dtype, const void *data, int64_t count) {
  const unsigned char *bytes = data;
  if (dtype == HR_F64) return are_f64_finite(data, count);
  if (dtype == HR_F32) return are_f32_finite(data, count);
  if (dtype == HR_BF16) return are_bf16_finite(data, count);
  if (dtype == HR_F16) return are_f16_finite(data, count);
  for (int64_t i = 0; i < count; i++)
    if (!isfinite(hr_float_decode(dtype, bytes[i]))) return false;
  return true;
}

typedef struct finite_check {
  hr_dtype_t dtype;
  const char *data;
  int found; /* set if some number is not finite */
} finite_check_t;

/* Stops early once any worker has found a number that is not finite. */
static void check_range(void *context, int64_t begin, int64_t end, int worker) {
  finite_check_t *check = context;
  (void)worker;
  if (__atomic_load_n(&check->found, __ATOMIC_RELAXED)) return;
  const char *from = check->data + begin * (int64_t)hr_dtype_bytes(check->dtype);
  if (!are_finite(check->dtype, from, end - begin))
    __atomic_store_n(&check->found, 1, __ATOMIC_RELAXED);
}

/* Types without infinities are finite. */
bool conv_are_finite(hr_workers_t *workers, hr_dtype_t dtype, const void *data, int64_t count) {
  finite_check_t check = {.dtype = dtype, .data = data};
  if (!hr_dtype_is_float(dtype)) return true;
  hr_workers_split(workers, count, READ_UNIT, check_range, &check);
  return !check.found;
}

/* --- grid of positions to test --- */

typedef struct conv_axis {
  hlo_window_dim_t window;
  int64_t in, out; /* sizes */
  int64_t stride;  /* elements of the result from one position to the next */
} conv_axis_t;

/* True if the tap meets an input at the position. */
static bool is_live(const conv_axis_t *axis, int64_t position, int64_t tap) {
  int64_t at = position * axis->window.stride + tap * axis->window.window_dilation;
  at -= axis->window.pad_low;
  return at >= 0 && at % axis->window.base_dilation == 0 &&
         at / axis->window.base_dilation < axis->in;
}

static bool has_padding(const conv_axis_t *axis) {
  const hlo_window_dim_t *w = &axis->window;
  int64_t last = (axis->out - 1) * w->stride + (w->size - 1) * w->window_dilation - w->pad_low;
  return w->pad_low > 0 || last >= axis->in || w->base_dilation > 1;
}

/* Marks the taps that the position uses; returns how many are new. */
static int64_t mark_taps(const conv_axis_t *axis, int64_t position, bool *used) {
  int64_t count = 0;
  for (int64_t tap = 0; tap < axis->window.size; tap++)
    if (!used[tap] && is_live(axis, position, tap)) {
      used[tap] = true;
      count++;
    }
  return count;
}

/* Positions of one axis, from the middle outwards, that together use all taps; *out_count is 0 if
 * there are none, or too many. */
static hr_status_t choose_positions(hr_arena_t *arena, const conv_axis_t *axis,
                                    int64_t *out_offsets, int *out_count) {
  int64_t left = axis->window.size;
  bool *used;
  *out_count = 0;
  if (axis->out * axis->window.size > MAX_AXIS_WORK) return NULL;
  HR_TRY(HR_NEW_ARRAY(arena, axis->window.size, &used));
  int count = 0;
  for (int64_t i = 0; i < axis->out && left > 0 && count < MAX_AXIS_POSITIONS; i++) {
    int64_t position = (axis->out / 2 + i) % axis->out;
    int64_t marked = mark_taps(axis, position, used);
    if (marked) out_offsets[count++] = position * axis->stride;
    left -= marked;
  }
  if (left == 0) *out_count = count;
  return NULL;
}

struct conv_nonfinite {
  const void *plan; /* plan of im2col */
  size_t scratch_bytes;
  hr_dtype_t rhs, out;
  int64_t rhs_count;
  op_native_grid_t grid; /* for an epilogue */
  bool has_positions;
  int rank;
  int counts[CONV_MAX_SPATIAL];
  int64_t offsets[CONV_MAX_SPATIAL][MAX_AXIS_POSITIONS]; /* elements of the result */
  int64_t columns, column_stride;
};

/* Strides in elements of a dense array. */
static int64_t stride_of(const hlo_shape_t *shape, int64_t dim) {
  int64_t stride = 1;
  for (int64_t d = dim + 1; d < shape->rank; d++) stride *= shape->dims[d];
  return stride;
}

/* The d-th spatial axis of operand and result. */
static conv_axis_t axis_of(const op_step_t *step, int d) {
  const hlo_dim_labels_t *labels = hlo_attr_labels(step->instr);
  return (conv_axis_t){.window = hlo_attr_window(step->instr)->dims[d],
                       .in = step->in_shapes[0]->dims[labels->lhs_spatial[d]],
                       .out = step->out_shape->dims[labels->out_spatial[d]],
                       .stride = stride_of(step->out_shape, labels->out_spatial[d])};
}

static bool has_any_padding(const op_step_t *step) {
  for (int d = 0; d < hlo_attr_labels(step->instr)->spatial_rank; d++) {
    conv_axis_t axis = axis_of(step, d);
    if (has_padding(&axis)) return true;
  }
  return false;
}

/* The positions to test are the product of the axes' offsets. */
static hr_status_t choose_grid(hr_arena_t *arena, const op_step_t *step, conv_nonfinite_t *check) {
  const hlo_dim_labels_t *labels = hlo_attr_labels(step->instr);
  const hr_float_format_t *format = hr_float_format(check->out);
  check->rank = labels->spatial_rank;
  check->columns = step->out_shape->dims[labels->out_feature];
  check->column_stride = stride_of(step->out_shape, labels->out_feature);
  check->has_positions = format && format->specials != HR_SPECIALS_FINITE;
  for (int d = 0; d < check->rank; d++) {
    conv_axis_t axis = axis_of(step, d);
    HR_TRY(choose_positions(arena, &axis, check->offsets[d], &check->counts[d]));
    check->has_positions &= check->counts[d] > 0;
  }
  return NULL;
}

/* *out_check stays NULL if nothing has to be checked: no padding, or constant finite weights. */
hr_status_t conv_nonfinite_prepare(const op_native_target_t *target, const op_step_t *step,
                                   const op_native_grid_t *grid, conv_nonfinite_t **out_check) {
  conv_nonfinite_t *check;
  op_native_step_t exact = {.plan = NULL};
  const void *constant = op_constant_data(step->instr->operands[1]);
  hr_dtype_t rhs = step->in_shapes[1]->dtype;
  int64_t count;
  *out_check = NULL;
  if (!hr_dtype_is_float(rhs) || !has_any_padding(step)) return NULL;
  HR_TRY(hlo_shape_count(step->in_shapes[1], &count));
  if (constant && are_finite(rhs, constant, count)) return NULL;
  HR_TRY(conv_prepare_im2col(target, step, &exact));
  if (!exact.plan) return NULL;
  HR_TRY(HR_NEW(target->arena, &check));
  *check = (conv_nonfinite_t){.plan = exact.plan,
                              .scratch_bytes = exact.scratch_bytes,
                              .rhs = rhs,
                              .out = step->out_shape->dtype,
                              .rhs_count = count,
                              .grid = *grid};
  HR_TRY(choose_grid(target->arena, step, check));
  *out_check = check;
  return NULL;
}

/* --- running --- */

/* One position of the result, all of its channels. */
static bool is_column_finite(const conv_nonfinite_t *check, const char *from) {
  int64_t bytes = (int64_t)hr_dtype_bytes(check->out);
  bool finite = true;
  if (check->column_stride == 1) return are_finite(check->out, from, check->columns);
  for (int64_t c = 0; c < check->columns && finite; c++)
    finite = are_finite(check->out, from + c * check->column_stride * bytes, 1);
  return finite;
}

/* Tests the results of the first batch entry at all positions of the grid, all columns. */
static bool are_results_finite(const conv_nonfinite_t *check, const char *results) {
  int64_t bytes = (int64_t)hr_dtype_bytes(check->out), total = 1;
  for (int d = 0; d < check->rank; d++) total *= check->counts[d];
  for (int64_t i = 0; i < total; i++) {
    int64_t offset = 0, rest = i;
    for (int d = 0; d < check->rank; d++) {
      offset += check->offsets[d][rest % check->counts[d]];
      rest /= check->counts[d];
    }
    if (!is_column_finite(check, results + offset * bytes)) return false;
  }
  return true;
}

static bool are_weights_finite(const conv_nonfinite_t *check, const op_native_run_t *run,
                               const void *weights) {
  return conv_are_finite(run->workers, check->rhs, weights, check->rhs_count);
}

/* Repeats the whole convolution by im2col; then the fast kernel's epilogue runs on the exact
 * results. */
static hr_status_t repeat(const conv_nonfinite_t *check, const op_native_run_t *run,
                          void *const *in, void *const *out) {
  op_native_run_t exact = *run;
  op_native_part_t all = {.rows = check->grid.rows, .columns = check->grid.columns};
  HR_TRY(hr_alloc(check->scratch_bytes, &exact.scratch));
  exact.epilogue = NULL;
  hr_status_t st = conv_run_im2col(&exact, check->plan, in, out);
  if (!st && run->epilogue) run->epilogue->run(run->epilogue, &all, 0);
  hr_free(exact.scratch);
  return st;
}

/* Weights are checked before the run if results cannot show it: an epilogue overwrites them, or no
 * grid of positions uses every weight. */
hr_status_t conv_nonfinite_before(const conv_nonfinite_t *check, const op_native_run_t *run,
                                  void *const *in, void *const *out, bool *out_done) {
  *out_done = false;
  if (!check || (check->has_positions && !run->epilogue)) return NULL;
  *out_done = !are_weights_finite(check, run, in[1]);
  return *out_done ? repeat(check, run, in, out) : NULL;
}

/* Results that are all finite prove that the weights are finite. */
hr_status_t conv_nonfinite_after(const conv_nonfinite_t *check, const op_native_run_t *run,
                                 void *const *in, void *const *out) {
  if (!check || !check->has_positions || run->epilogue) return NULL;
  if (are_results_finite(check, out[0]) || are_weights_finite(check, run, in[1])) return NULL;
  return repeat(check, run, in, out);
}
