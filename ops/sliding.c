#include "ops/sliding.h"

#include <string.h>

#include "ops/loops.h"
#include "ops/window_range.h"

#define MAX_UNARY 8 /* windows up to this size are combined element by element */

/* The window is taken dimension by dimension, the last first, which keeps the order of the elements. For one dimension
 * the array is turned so that this dimension is outermost: table[i] is then a row of `lanes` elements, and a window of
 * result o covers table[first], table[first + step], ... count(o) of them. Small windows are combined one element after
 * the other. For large ones the table is doubled again and again,
 *
 *     level j:  table[i] = element i, i + step, ... i + (2^j - 1) step combined
 *
 * and result o takes from level j, for each bit j of count(o), what it still lacks, lowest bit (leftmost part) first.
 * Neighbouring results that take neighbouring rows do so in one call. */
typedef struct sliding_pass {
  sliding_t *sliding;
  int64_t n, m, lanes, step;
  window_cover_t *covers; /* of the m results */
  int64_t most;           /* largest cover */
  char **table, **doubled, **sums;
} sliding_pass_t;

/* What result o takes at a level: rows from `place` on, after `done` of its elements. */
typedef struct sliding_part {
  bool live, started;
  int64_t place;
} sliding_part_t;

static sliding_part_t part_of(const sliding_pass_t *pass, int64_t o, int level, bool doubling) {
  window_cover_t cover = pass->covers[o];
  int64_t done = doubling ? cover.count & (((int64_t)1 << level) - 1) : level;
  bool live = doubling ? cover.count >> level & 1 : cover.count > level;
  return (sliding_part_t){live, done > 0, cover.first + done * pass->step};
}

static void copy_rows(const sliding_pass_t *pass, int64_t o, int64_t rows, int64_t place, int64_t place_step) {
  accumulate_t *acc = pass->sliding->acc;
  for (int k = 0; k < acc->plan->count; k++) {
    size_t row_bytes = (size_t)pass->lanes * acc->plan->bytes[k];
    char *to = pass->sums[k] + (size_t)o * row_bytes, *from = pass->table[k] + (size_t)place * row_bytes;
    if (place_step == 1)
      memcpy(to, from, (size_t)rows * row_bytes);
    else
      for (int64_t r = 0; r < rows; r++)
        memcpy(to + (size_t)r * row_bytes, from + r * place_step * (int64_t)row_bytes, row_bytes);
  }
}

static hr_status_t add_rows(const sliding_pass_t *pass, int64_t o, int64_t rows, int64_t place, int64_t place_step) {
  accumulate_t *acc = pass->sliding->acc;
  int64_t lanes = pass->lanes;
  acc->to = pass->sums;
  acc->from = (const char **)pass->table;
  if (place_step == 1) return accumulate_row(acc, rows * lanes, o * lanes, 1, place * lanes, 1);
  if (lanes == 1) return accumulate_row(acc, rows, o, 1, place, place_step);
  for (int64_t r = 0; r < rows; r++)
    HR_TRY(accumulate_row(acc, lanes, (o + r) * lanes, 1, (place + r * place_step) * lanes, 1));
  return NULL;
}

/* Lets every result take its part of this level, neighbours together. */
static hr_status_t take_level(const sliding_pass_t *pass, int level, bool doubling) {
  for (int64_t o = 0, next; o < pass->m; o = next) {
    sliding_part_t part = part_of(pass, o, level, doubling), following = {0};
    int64_t place_step = 1;
    for (next = o + 1; part.live && next < pass->m; next++) {
      int64_t last_place = next == o + 1 ? part.place : following.place;
      following = part_of(pass, next, level, doubling);
      if (!following.live || following.started != part.started) break;
      if (next == o + 1) place_step = following.place - part.place;
      if (following.place - last_place != place_step) break;
    }
    if (next == o + 1) place_step = 1;
    if (!part.live) continue;
    if (part.started)
      HR_TRY(add_rows(pass, o, next - o, part.place, place_step));
    else
      copy_rows(pass, o, next - o, part.place, place_step);
  }
  return NULL;
}

/* From level j to j + 1. Rows too near the end to be doubled are not needed any more. */
static hr_status_t double_table(sliding_pass_t *pass, int level) {
  accumulate_t *acc = pass->sliding->acc;
  int64_t distance = pass->step << level, rows = pass->n - distance;
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

static hr_status_t plan_covers(sliding_pass_t *pass, const hlo_window_dim_t *window) {
  HR_TRY(HR_NEW_ARRAY(pass->sliding->env->scratch, pass->m, &pass->covers));
  pass->step = window_cover_step(window);
  pass->most = 0;
  for (int64_t o = 0; o < pass->m; o++) {
    pass->covers[o] = window_result_cover(window, o, pass->n);
    if (pass->covers[o].count > pass->most) pass->most = pass->covers[o].count;
  }
  return NULL;
}

/* table becomes sums, for one dimension. */
static hr_status_t run_pass(sliding_pass_t *pass, const hlo_window_dim_t *window) {
  op_env_t *env = pass->sliding->env;
  HR_TRY(plan_covers(pass, window));
  bool doubling = pass->most > MAX_UNARY;
  for (int level = 0; doubling ? pass->most >> level : level < pass->most; level++) {
    HR_TRY(env->check_cancelled(env));
    if (doubling && level > 0) HR_TRY(double_table(pass, level - 1));
    HR_TRY(take_level(pass, level, doubling));
  }
  return NULL;
}

/* Swaps the two outer dimensions of [a][b][inner]. */
static void turn(char *to, const char *from, int64_t a, int64_t b, int64_t inner, size_t element_bytes) {
  int64_t bytes = (int64_t)element_bytes, dims[] = {b, a, inner};
  int64_t to_strides[] = {a * inner * bytes, inner * bytes, bytes};
  int64_t from_strides[] = {inner * bytes, b * inner * bytes, bytes};
  loop_copy_t copy;
  loop_copy_init(&copy, (int)bytes, 3, dims, to_strides, from_strides);
  loop_copy_run(&copy, to, from);
}

/* Elements of the largest array on the way: after the windows of some of the last dimensions. */
static hr_status_t largest_array(const sliding_t *sliding, hr_dtype_t dtype, int64_t *out_count) {
  int rank = sliding->window->rank;
  int64_t dims[HLO_MAX_RANK], count;
  memcpy(dims, sliding->in_dims, (size_t)rank * sizeof *dims);
  HR_TRY(hlo_dims_count(rank, dims, dtype, out_count));
  for (int d = rank - 1; d >= 0; d--) {
    dims[d] = sliding->out_dims[d];
    HR_TRY(hlo_dims_count(rank, dims, dtype, &count));
    if (count > *out_count) *out_count = count;
  }
  return NULL;
}

static hr_status_t new_arrays(sliding_t *sliding, int64_t count, char ***out_arrays) {
  hr_arena_t *arena = sliding->env->scratch;
  HR_TRY(HR_NEW_ARRAY(arena, sliding->acc->plan->count, out_arrays));
  for (int k = 0; k < sliding->acc->plan->count; k++)
    HR_TRY(hr_arena_array(arena, (size_t)count, sliding->acc->plan->bytes[k], (void **)&(*out_arrays)[k]));
  return NULL;
}

static hr_status_t slide_dim(sliding_pass_t *pass, int d, const char *const *in, char **results) {
  sliding_t *sliding = pass->sliding;
  const accumulate_t *acc = sliding->acc;
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < d; i++) outer *= sliding->in_dims[i];
  for (int i = d + 1; i < sliding->window->rank; i++) inner *= sliding->out_dims[i];
  pass->n = sliding->in_dims[d];
  pass->m = sliding->out_dims[d];
  pass->lanes = outer * inner;
  for (int k = 0; k < acc->plan->count; k++) turn(pass->table[k], in[k], outer, pass->n, inner, acc->plan->bytes[k]);
  HR_TRY(run_pass(pass, &sliding->window->dims[d]));
  for (int k = 0; k < acc->plan->count; k++)
    turn(results[k], pass->sums[k], pass->m, outer, inner, acc->plan->bytes[k]);
  return NULL;
}

hr_status_t sliding_run(sliding_t *sliding, const char *const *in, char **results) {
  sliding_pass_t pass = {.sliding = sliding};
  char **arrays;
  int64_t count;
  HR_TRY(largest_array(sliding, HR_C128, &count));
  HR_TRY(new_arrays(sliding, count, &pass.table));
  HR_TRY(new_arrays(sliding, count, &pass.doubled));
  HR_TRY(new_arrays(sliding, count, &pass.sums));
  HR_TRY(new_arrays(sliding, count, &arrays));
  for (int k = 0; k < sliding->acc->plan->count; k++) results[k] = (char *)in[k];
  for (int d = sliding->window->rank - 1; d >= 0; d--) {
    if (window_is_trivial(&sliding->window->dims[d])) continue;
    HR_TRY(slide_dim(&pass, d, (const char *const *)results, arrays));
    for (int k = 0; k < sliding->acc->plan->count; k++) results[k] = arrays[k];
  }
  return NULL;
}
