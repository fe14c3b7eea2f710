/* Windows by doubling, dimension by dimension, from the last to the first, which preserves the
 * order of elements.
 *
 * For one dimension the array is transposed so that this dimension is outermost: table[i] is a row
 * of `lanes` elements, and the window of result o covers table[first], table[first + step], ...,
 * count(o) of them. Small windows are combined one element after the other. For large ones the
 * table is doubled repeatedly,
 *
 *   level j:  table[i] = elements i, i + step, ..., i + (2^j - 1) step combined
 *
 * and for each bit j of count(o), lowest bit (leftmost part) first, result o is combined with its
 * next part of level j. Adjacent results that read adjacent rows share one call of the body. */
#include "ops/kernels/reference/window_doubling.h"

#include <string.h>

#include "ops/kernels/common/strided_loops.h"
#include "ops/query/window_range.h"

#define MAX_UNARY 8 /* largest window that is combined element by element */

typedef struct doubling_pass {
  window_doubling_t *doubling_run;
  int64_t n, m;                 /* sizes of input and result along the dimension */
  int64_t lanes, stride;        /* elements per row; distance of a window's rows */
  window_input_range_t *covers; /* input range per result */
  int64_t max_range;            /* largest range */
  char **table, **doubled, **sums;
} doubling_pass_t;

/* The part of result o at a level: the row at `offset`; `started`: o already has a value. */
typedef struct doubling_part {
  bool live, started;
  int64_t offset;
} doubling_part_t;

static doubling_part_t result_part(const doubling_pass_t *pass, int64_t o, int level,
                                   bool doubling) {
  window_input_range_t cover = pass->covers[o];
  int64_t done = doubling ? cover.count & (((int64_t)1 << level) - 1) : level;
  bool live = doubling ? cover.count >> level & 1 : cover.count > level;
  return (doubling_part_t){live, done > 0, cover.first + done * pass->stride};
}

/* sums[o + r] = table[offset + r * offset_step] for the rows r of a box. */
static void copy_rows(const doubling_pass_t *pass, int64_t o, int64_t rows, int64_t offset,
                      int64_t offset_step) {
  accumulate_t *acc = pass->doubling_run->acc;
  for (int k = 0; k < acc->plan->count; k++) {
    size_t row_bytes = (size_t)pass->lanes * acc->plan->bytes[k];
    char *to = pass->sums[k] + (size_t)o * row_bytes,
         *from = pass->table[k] + (size_t)offset * row_bytes;
    if (offset_step == 1)
      memcpy(to, from, (size_t)rows * row_bytes);
    else
      for (int64_t r = 0; r < rows; r++)
        memcpy(to + (size_t)r * row_bytes, from + r * offset_step * (int64_t)row_bytes, row_bytes);
  }
}

/* sums[o + r] = body(sums[o + r], table[offset + r * offset_step]). One call if the rows of both
 * are adjacent or are single elements, else one per row. */
static hr_status_t add_rows(const doubling_pass_t *pass, int64_t o, int64_t rows, int64_t offset,
                            int64_t offset_step) {
  accumulate_t *acc = pass->doubling_run->acc;
  int64_t lanes = pass->lanes;
  acc->to = pass->sums;
  acc->from = (const char **)pass->table;
  if (offset_step == 1) return accumulate_row(acc, rows * lanes, o * lanes, 1, offset * lanes, 1);
  if (lanes == 1) return accumulate_row(acc, rows, o, 1, offset, offset_step);
  for (int64_t r = 0; r < rows; r++)
    HR_TRY(accumulate_row(acc, lanes, (o + r) * lanes, 1, (offset + r * offset_step) * lanes, 1));
  return NULL;
}

/* Adds each result's part of this level; adjacent results together. */
static hr_status_t add_level(const doubling_pass_t *pass, int level, bool doubling) {
  for (int64_t o = 0, next; o < pass->m; o = next) {
    doubling_part_t part = result_part(pass, o, level, doubling), following = {0};
    int64_t offset_step = 1;
    for (next = o + 1; part.live && next < pass->m; next++) {
      int64_t last_offset = next == o + 1 ? part.offset : following.offset;
      following = result_part(pass, next, level, doubling);
      if (!following.live || following.started != part.started) break;
      if (next == o + 1) offset_step = following.offset - part.offset;
      if (following.offset - last_offset != offset_step) break;
    }
    if (next == o + 1) offset_step = 1;
    if (!part.live) continue;
    if (part.started)
      HR_TRY(add_rows(pass, o, next - o, part.offset, offset_step));
    else
      copy_rows(pass, o, next - o, part.offset, offset_step);
  }
  return NULL;
}

/* From level j to j + 1. Rows that doubling would extend beyond the end are no longer needed. */
static hr_status_t double_table(doubling_pass_t *pass, int level) {
  accumulate_t *acc = pass->doubling_run->acc;
  int64_t distance = pass->stride << level, rows = pass->n - distance;
  for (int k = 0; k < acc->plan->count; k++)
    memcpy(pass->doubled[k], pass->table[k], (size_t)(rows * pass->lanes) * acc->plan->bytes[k]);
  acc->to = pass->doubled;
  acc->from = (const char **)pass->table;
  HR_TRY(accumulate_row(acc, rows * pass->lanes, 0, 1, distance * pass->lanes, 1));
  char **swap = pass->table;
  pass->table = pass->doubled;
  pass->doubled = swap;
  return NULL;
}

static hr_status_t plan_covers(doubling_pass_t *pass, const hlo_window_dim_t *window) {
  HR_TRY(HR_NEW_ARRAY(pass->doubling_run->env->scratch, pass->m, &pass->covers));
  pass->stride = window_input_range_step(window);
  pass->max_range = 0;
  for (int64_t o = 0; o < pass->m; o++) {
    pass->covers[o] = window_result_inputs(window, o, pass->n);
    if (pass->covers[o].count > pass->max_range) pass->max_range = pass->covers[o].count;
  }
  return NULL;
}

/* Computes sums from table, for one dimension. */
static hr_status_t run_pass(doubling_pass_t *pass, const hlo_window_dim_t *window) {
  op_env_t *env = pass->doubling_run->env;
  HR_TRY(plan_covers(pass, window));
  bool doubling = pass->max_range > MAX_UNARY;
  for (int level = 0; doubling ? pass->max_range >> level : level < pass->max_range; level++) {
    HR_TRY(env->engine_ops->check_cancelled(env));
    if (doubling && level > 0) HR_TRY(double_table(pass, level - 1));
    HR_TRY(add_level(pass, level, doubling));
  }
  return NULL;
}

/* Transposes the two outer dimensions of [a][b][inner]. */
static void transpose_outer(char *to, const char *from, int64_t a, int64_t b, int64_t inner,
                            size_t element_bytes) {
  int64_t bytes = (int64_t)element_bytes, dims[] = {b, a, inner};
  int64_t to_strides[] = {a * inner * bytes, inner * bytes, bytes};
  int64_t from_strides[] = {inner * bytes, b * inner * bytes, bytes};
  loop_copy_t copy;
  loop_copy_init(&copy, (int)bytes, 3, dims, to_strides, from_strides);
  loop_copy_run(&copy, to, from);
}

/* Elements of the largest intermediate array, after the windows of some of the last dimensions. */
static hr_status_t largest_array(const window_doubling_t *window_doubling, hr_dtype_t dtype,
                                 int64_t *out_count) {
  int rank = window_doubling->window->rank;
  int64_t dims[HLO_MAX_RANK], count;
  memcpy(dims, window_doubling->in_dims, (size_t)rank * sizeof *dims);
  HR_TRY(hlo_dims_count(rank, dims, dtype, out_count));
  for (int d = rank - 1; d >= 0; d--) {
    dims[d] = window_doubling->out_dims[d];
    HR_TRY(hlo_dims_count(rank, dims, dtype, &count));
    if (count > *out_count) *out_count = count;
  }
  return NULL;
}

static hr_status_t new_arrays(window_doubling_t *window_doubling, int64_t count,
                              char ***out_arrays) {
  hr_arena_t *arena = window_doubling->env->scratch;
  HR_TRY(HR_NEW_ARRAY(arena, window_doubling->acc->plan->count, out_arrays));
  for (int k = 0; k < window_doubling->acc->plan->count; k++)
    HR_TRY(hr_arena_array(arena, (size_t)count, window_doubling->acc->plan->bytes[k],
                          (void **)&(*out_arrays)[k]));
  return NULL;
}

/* Reduces one dimension. Dimensions before d still have the input's sizes, those after it the
 * result's, since the last is done first. The pass's arrays have d outermost, hence the
 * transposes. */
static hr_status_t reduce_dim(doubling_pass_t *pass, int d, const char *const *in, char **results) {
  window_doubling_t *window_doubling = pass->doubling_run;
  const accumulate_t *acc = window_doubling->acc;
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < d; i++) outer *= window_doubling->in_dims[i];
  for (int i = d + 1; i < window_doubling->window->rank; i++) inner *= window_doubling->out_dims[i];
  pass->n = window_doubling->in_dims[d];
  pass->m = window_doubling->out_dims[d];
  pass->lanes = outer * inner;
  for (int k = 0; k < acc->plan->count; k++)
    transpose_outer(pass->table[k], in[k], outer, pass->n, inner, acc->plan->bytes[k]);
  HR_TRY(run_pass(pass, &window_doubling->window->dims[d]));
  for (int k = 0; k < acc->plan->count; k++)
    transpose_outer(results[k], pass->sums[k], pass->m, outer, inner, acc->plan->bytes[k]);
  return NULL;
}

hr_status_t window_doubling_run(window_doubling_t *window_doubling, const char *const *in,
                                char **results) {
  doubling_pass_t pass = {.doubling_run = window_doubling};
  char **arrays;
  int64_t count;
  HR_TRY(largest_array(window_doubling, HR_C128, &count));
  HR_TRY(new_arrays(window_doubling, count, &pass.table));
  HR_TRY(new_arrays(window_doubling, count, &pass.doubled));
  HR_TRY(new_arrays(window_doubling, count, &pass.sums));
  HR_TRY(new_arrays(window_doubling, count, &arrays));
  for (int k = 0; k < window_doubling->acc->plan->count; k++) results[k] = (char *)in[k];
  for (int d = window_doubling->window->rank - 1; d >= 0; d--) {
    if (window_is_trivial(&window_doubling->window->dims[d])) continue;
    HR_TRY(reduce_dim(&pass, d, (const char *const *)results, arrays));
    for (int k = 0; k < window_doubling->acc->plan->count; k++) results[k] = arrays[k];
  }
  return NULL;
}
