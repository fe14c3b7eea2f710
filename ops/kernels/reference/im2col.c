/* The im2col matrix of a convolution, and direct loops for two shapes in which it would be
 * wasteful: depthwise convolutions and single-feature lines.
 *
 * A patch is written in runs: one window element's features, or a whole window row where it is
 * contiguous in the input (rows_merge). view_move computes the offsets of a position's window; runs
 * of padding are zeros. All sums are in window order, so that results equal those of the
 * products. */
#include "base/arith.h"
#include "ops/kernels/reference/convolution.h"

#include <string.h>

#include "ops/kernels/simd/simd_target.h"

/* Memory that conv_view_init needs: one offset per element of each window dimension. */
int64_t conv_view_offsets(const conv_plan_t *plan) {
  int64_t count = 0;
  for (int d = 0; d < plan->spatial_rank; d++) count += plan->window[d].size;
  return count;
}

/* `offsets` is divided among the dimensions. Window rows are contiguous in the input if features
 * are innermost, in one group, and the last dimension has no dilation. */
void conv_view_init(const conv_plan_t *plan, int64_t *offsets, conv_view_t *view) {
  int last = plan->spatial_rank - 1;
  *view = (conv_view_t){.plan = plan, .unit = plan->group_features * plan->types.parts};
  view->real_bytes = (int)hr_dtype_bytes(plan->types.real);
  for (int d = 0; d <= last; offsets += plan->window[d++].size) view->offsets[d] = offsets;
  view->rows_merge = last >= 0 && plan->feature_groups == 1 &&
                     plan->window[last].window_dilation == 1 &&
                     plan->window[last].base_dilation == 1;
}

/* Offsets of one window dimension at `position` of the dilated input; without base dilation
 * there is no division. -1 marks padding and holes of the dilated input. */
static void move_dimension(const hlo_window_dim_t *w, int64_t position, int64_t size,
                           int64_t stride, int64_t *offsets) {
  if (w->base_dilation == 1) {
    for (int64_t i = 0; i < w->size; i++, position += w->window_dilation)
      offsets[i] = position < 0 || position >= size ? -1 : position * stride;
    return;
  }
  for (int64_t i = 0; i < w->size; i++, position += w->window_dilation) {
    bool hole = position < 0 || position % w->base_dilation || position / w->base_dilation >= size;
    offsets[i] = hole ? -1 : position / w->base_dilation * stride;
  }
}

/* Sets the offsets for a result position (its number within the batch entry). */
static void view_move_to(const conv_view_t *view, int64_t result_index) {
  const conv_plan_t *plan = view->plan;
  for (int d = plan->spatial_rank - 1; d >= 0; d--) {
    const hlo_window_dim_t *w = &plan->window[d];
    int64_t position = result_index % plan->out_dims[d] * w->stride - w->pad_low;
    result_index /= plan->out_dims[d];
    move_dimension(w, position, plan->in_dims[d], plan->in_strides[d], view->offsets[d]);
  }
}

/* A run of a patch: reals [0, size), of which [low, high) come from the input at offset + low;
 * the rest are 0. */
typedef struct conv_run {
  int64_t size, low, high, offset;
} conv_run_t;

/* The offset of window element `at` in the first `rank` dimensions; -1 if it is padding or a
 * hole. */
static int64_t window_element_offset(const conv_view_t *view, const int64_t *at, int rank) {
  int64_t offset = 0;
  for (int d = 0; d < rank; d++) {
    int64_t stride = view->offsets[d][at[d]];
    if (stride < 0) return -1;
    offset += stride;
  }
  return offset;
}

/* With merged rows a run is a row of the window, else one of its elements. */
static conv_run_t window_run_at(const conv_view_t *view, const int64_t *at) {
  int last = view->plan->spatial_rank - 1;
  conv_run_t run = {.size = view->unit};
  if (!view->rows_merge) {
    run.offset = window_element_offset(view, at, last + 1);
    run.high = run.offset < 0 ? 0 : run.size;
    return run;
  }
  const int64_t *row = view->offsets[last];
  int64_t width = view->plan->window[last].size, low = 0, high = width;
  run.size = width * view->unit;
  run.offset = window_element_offset(view, at, last);
  while (low < width && row[low] < 0) low++;
  while (high > low && row[high - 1] < 0) high--;
  if (run.offset < 0 || low == high) return run;
  run.low = low * view->unit;
  run.high = high * view->unit;
  run.offset += row[low] - run.low;
  return run;
}

/* Writes reals [first, first + count) of a run. */
static void copy_run(const conv_view_t *view, const conv_run_t *run, const char *input,
                     int64_t first, int64_t count, char *to) {
  int64_t low = hr_max(run->low, first), high = hr_min(run->high, first + count);
  size_t bytes = (size_t)view->real_bytes;
  if (low >= high) {
    memset(to, 0, (size_t)count * bytes);
    return;
  }
  memset(to, 0, (size_t)(low - first) * bytes);
  memcpy(to + (size_t)(low - first) * bytes, input + (run->offset + low) * (int64_t)bytes,
         (size_t)(high - low) * bytes);
  memset(to + (size_t)(high - first) * bytes, 0, (size_t)(first + count - high) * bytes);
}

/* Writes reals [first, first + count) of the view's patch. `first` may lie within a run: the first
 * run begins at `skip`, all others at 0. The window index `at` is incremented last dimension
 * fastest. */
static void write_patch(const conv_view_t *view, const char *input, int64_t first, int64_t count,
                        char *to) {
  const conv_plan_t *plan = view->plan;
  int rank = plan->spatial_rank - (view->rows_merge ? 1 : 0);
  int64_t at[HLO_MAX_RANK] = {0},
          size = view->unit * (view->rows_merge ? plan->window[rank].size : 1);
  int64_t number = first / size, skip = first % size;
  for (int d = rank - 1; d >= 0; d--) {
    at[d] = number % plan->window[d].size;
    number /= plan->window[d].size;
  }
  while (count > 0) {
    conv_run_t run = window_run_at(view, at);
    int64_t live = hr_min(size - skip, count);
    copy_run(view, &run, input, skip, live, to);
    to += live * view->real_bytes;
    count -= live;
    skip = 0;
    for (int d = rank - 1; d >= 0 && ++at[d] == plan->window[d].size; d--) at[d] = 0;
  }
}

/* Rows of the matrix of patches, for the matrix product. `row` counts result positions over all
 * batch entries. */
void conv_patches_fill(const void *context, int64_t row, int64_t rows, int64_t first, int64_t count,
                       void *to) {
  const conv_view_t *view = context;
  const conv_plan_t *plan = view->plan;
  for (int64_t i = row; i < row + rows; i++) {
    const char *input =
        view->input + i / plan->positions * plan->in_batch_stride * view->real_bytes;
    view_move_to(view, i % plan->positions);
    write_patch(view, input, first, count, (char *)to + (i - row) * count * view->real_bytes);
  }
}

/* out[g * q + j] += x[g] * w[g * q + j]: the features of one window element, with q results per
 * input feature. */
#define DEFINE_DEPTHWISE(NAME, T)                                                         \
  static void NAME##_depthwise(const void *x, const void *w, void *out, int64_t features, \
                               int64_t q) {                                               \
    const T *xs = x, *ws = w;                                                             \
    T *to = out;                                                                          \
    if (q == 1) {                                                                         \
      for (int64_t g = 0; g < features; g++) to[g] += xs[g] * ws[g];                      \
      return;                                                                             \
    }                                                                                     \
    for (int64_t g = 0; g < features; g++, to += q, ws += q)                              \
      for (int64_t j = 0; j < q; j++) to[j] += xs[g] * ws[j];                             \
  }
DEFINE_DEPTHWISE(f32, float)
DEFINE_DEPTHWISE(f64, double)
DEFINE_DEPTHWISE(u32, uint32_t)
DEFINE_DEPTHWISE(u64, uint64_t)

/* The same for padding or holes of the input: the zeros are multiplied, as a weight may be infinite
 * or NaN. Integer sums do not change. */
#define DEFINE_PADDING(NAME, T)                                                   \
  static void NAME##_padding(const void *weights, void *sums, int64_t features) { \
    const T *w = weights;                                                         \
    T *to = sums;                                                                 \
    for (int64_t g = 0; g < features; g++) to[g] += w[g] * 0;                     \
  }
DEFINE_PADDING(f32, float)
DEFINE_PADDING(f64, double)

/* Skipped for integers and if all weights are finite. */
static void add_padding(const conv_view_t *view, const char *w, char *out, int64_t count) {
  hr_dtype_t real = view->plan->types.real;
  if (!view->multiplies_padding) return;
  if (real == HR_F32) f32_padding(w, out, count);
  if (real == HR_F64) f64_padding(w, out, count);
}

typedef void (*depthwise_fn)(const void *x, const void *w, void *out, int64_t features, int64_t q);

/* Signed integers are summed as unsigned ones: the low bits are the same. */
static depthwise_fn depthwise_of(hr_dtype_t real) {
  if (real == HR_F32) return f32_depthwise;
  if (real == HR_F64) return f64_depthwise;
  return real == HR_U32 ? u32_depthwise : u64_depthwise;
}

/* All window elements of one result position; out_features is a multiple of in_features. */
static void depthwise_position(const conv_view_t *view, const char *input, const char *rhs,
                               char *out) {
  const conv_plan_t *plan = view->plan;
  int64_t at[HLO_MAX_RANK] = {0}, q = plan->out_features / plan->in_features;
  for (int64_t i = 0; i < plan->window_count; i++) {
    int64_t offset = window_element_offset(view, at, plan->spatial_rank);
    const char *x = input + offset * view->real_bytes,
               *w = rhs + i * plan->out_features * view->real_bytes;
    if (offset < 0)
      add_padding(view, w, out, plan->out_features);
    else
      depthwise_of(plan->types.real)(x, w, out, plan->in_features, q);
    for (int d = plan->spatial_rank - 1; d >= 0 && ++at[d] == plan->window[d].size; d--) at[d] = 0;
  }
}

/* Rows are result positions over all batch entries; rhs is [window][in_features][q]. */
void conv_depthwise_rows(const conv_view_t *view, int64_t row, int64_t rows, const char *lhs,
                         const char *rhs, char *out) {
  const conv_plan_t *plan = view->plan;
  int64_t row_bytes = plan->out_features * view->real_bytes;
  memset(out + row * row_bytes, 0, (size_t)(rows * row_bytes));
  for (int64_t i = row; i < row + rows; i++) {
    view_move_to(view, i % plan->positions);
    depthwise_position(view, lhs + i / plan->positions * plan->in_batch_stride * view->real_bytes,
                       rhs, out + i * row_bytes);
  }
}

/* One feature in and out, unit stride: then a result line is a sum of shifted input lines. */
bool conv_is_line(const conv_plan_t *plan) {
  int last = plan->spatial_rank - 1;
  return last >= 0 && plan->in_features == 1 && plan->out_features == 1 &&
         plan->batch_groups == 1 && !plan->types.is_complex && plan->window[last].stride == 1 &&
         plan->window[last].base_dilation == 1;
}

#define FOR_EACH_CPU __attribute__((optimize("O3"))) NATIVE_CLONES

/* Adds `taps` window elements, whose inputs are `stride` elements apart: four at a time, to load
 * and store the sums less often, but in the same order of additions. */
#define LINE_TAPS 4
#define DEFINE_LINE(NAME, T)                                                                     \
  FOR_EACH_CPU static void NAME##_line(const void *x, int64_t stride, const void *weights,       \
                                       int taps, void *out, int64_t count) {                     \
    const T *xs = x, *w = weights;                                                               \
    T *restrict to = out;                                                                        \
    if (taps == LINE_TAPS)                                                                       \
      for (int64_t i = 0; i < count; i++)                                                        \
        to[i] = (((to[i] + xs[i] * w[0]) + xs[i + stride] * w[1]) + xs[i + 2 * stride] * w[2]) + \
                xs[i + 3 * stride] * w[3];                                                       \
    else                                                                                         \
      for (int64_t i = 0; i < count; i++) to[i] += xs[i] * *w;                                   \
  }
DEFINE_LINE(f32, float)
DEFINE_LINE(f64, double)
DEFINE_LINE(u32, uint32_t)
DEFINE_LINE(u64, uint64_t)

/* Positions [begin, end) of a result line, from one line of the input. */
typedef struct conv_line {
  const conv_view_t *view;
  const char *line, *weights; /* input line; weights along the last dimension */
  int64_t begin, end;
  char *out;
} conv_line_t;

/* The positions for which this window element lies over the input. */
static void tap_positions(const conv_line_t *l, int64_t index, int64_t *out_low,
                          int64_t *out_high) {
  int last = l->view->plan->spatial_rank - 1;
  const hlo_window_dim_t *w = &l->view->plan->window[last];
  int64_t shift = index * w->window_dilation - w->pad_low,
          high = l->view->plan->in_dims[last] - shift;
  *out_low = hr_max(l->begin, -shift);
  *out_high = hr_min(high, l->end);
}

/* Adds the products of `taps` window elements from `index` on, to positions [low, high). */
static void add_taps(const conv_line_t *l, int64_t index, int taps, int64_t low, int64_t high) {
  const conv_plan_t *plan = l->view->plan;
  const hlo_window_dim_t *w = &plan->window[plan->spatial_rank - 1];
  int64_t shift = index * w->window_dilation - w->pad_low, bytes = l->view->real_bytes;
  hr_dtype_t real = plan->types.real;
  if (low >= high) return;
  (real == HR_F32   ? f32_line
   : real == HR_F64 ? f64_line
   : real == HR_U32 ? u32_line
                    : u64_line)(l->line + (low + shift) * bytes, w->window_dilation,
                                l->weights + index * bytes, taps, l->out + (low - l->begin) * bytes,
                                high - low);
}

/* Adds 0 times the weight at positions [low, high), which lie over padding. */
static void add_line_padding(const conv_line_t *l, int64_t index, int64_t low, int64_t high) {
  int64_t bytes = l->view->real_bytes;
  for (int64_t i = low; i < high; i++)
    add_padding(l->view, l->weights + index * bytes, l->out + (i - l->begin) * bytes, 1);
}

/* Adds the padding of `inner` window elements; with is_outside all of them lie over padding. */
static void add_line_paddings(const conv_line_t *l, int64_t inner, bool is_outside) {
  for (int64_t k = 0; k < inner; k++) {
    int64_t low = l->end, high = l->end;
    if (!is_outside) tap_positions(l, k, &low, &high);
    low = hr_min(low, l->end);
    add_line_padding(l, k, l->begin, low);
    add_line_padding(l, k, hr_max(hr_max(high, low), l->begin), l->end);
  }
}

/* Up to LINE_TAPS window elements: together for positions at which all have input, and one by one
 * at both ends. */
static void add_group(const conv_line_t *l, int64_t index, int taps) {
  int64_t low = l->begin, high = l->end, first, limit;
  for (int k = 0; k < taps; k++) {
    tap_positions(l, index + k, &first, &limit);
    low = hr_max(first, low);
    high = hr_min(limit, high);
  }
  bool combined = taps == LINE_TAPS && low < high;
  if (combined) add_taps(l, index, taps, low, high);
  for (int k = 0; k < taps; k++) {
    tap_positions(l, index + k, &first, &limit);
    add_taps(l, index + k, 1, first, combined && low < limit ? low : limit);
    if (combined) add_taps(l, index + k, 1, hr_max(high, first), limit);
  }
}

/* Result line `line`, positions [begin, end). For each row of the window that lies in the input,
 * its elements are added in groups of LINE_TAPS, in window order, so that sums equal those of
 * products. */
void conv_line_run(const conv_view_t *view, int64_t line, int64_t begin, int64_t end,
                   const char *lhs, const char *rhs, char *out) {
  const conv_plan_t *plan = view->plan;
  int64_t at[HLO_MAX_RANK] = {0}, width = plan->out_dims[plan->spatial_rank - 1],
          result_index = line * width;
  int64_t last = plan->spatial_rank - 1, inner = plan->window[last].size, bytes = view->real_bytes;
  const char *input = lhs + result_index / plan->positions * plan->in_batch_stride * bytes;
  out += (result_index + begin) * bytes;
  memset(out, 0, (size_t)((end - begin) * bytes));
  view_move_to(view, result_index % plan->positions);
  for (int64_t i = 0; i < plan->window_count; i += inner) {
    int64_t offset = window_element_offset(view, at, (int)last);
    conv_line_t l = {view, input + offset * bytes, rhs + i * bytes, begin, end, out};
    for (int64_t k = 0; k < inner && offset >= 0; k += LINE_TAPS)
      add_group(&l, k, (int)(hr_min(inner - k, LINE_TAPS)));
    if (view->multiplies_padding) add_line_paddings(&l, inner, offset < 0);
    for (int64_t d = last - 1; d >= 0 && ++at[d] == plan->window[d].size; d--) at[d] = 0;
  }
}
