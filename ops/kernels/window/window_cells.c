/* The rows under a result are a Cartesian product of one range of input indices per dimension. The
 * plan tabulates the ranges, since padding and dilation make them irregular; the list is built
 * dimension by dimension, in place. */
#include "ops/kernels/window/window_cells.h"

#include "ops/kernels/common/strided_loops.h"

#define MAX_TABLE (1 << 20) /* most results along a dimension */

static hr_status_t plan_covers(hr_arena_t *arena, window_cells_t *cells, int d,
                               const hlo_window_dim_t *w, int64_t n) {
  window_input_range_t *covers;
  int64_t most = 0;
  cells->cover_steps[d] = window_input_range_step(w);
  if (window_is_trivial(w)) return NULL;
  HR_TRY(HR_NEW_ARRAY(arena, cells->dims[d], &covers));
  for (int64_t o = 0; o < cells->dims[d]; o++) {
    covers[o] = window_result_inputs(w, o, n);
    if (covers[o].count > most) most = covers[o].count;
  }
  cells->covers[d] = covers;
  if (most > 1 && __builtin_mul_overflow(cells->results, most, &cells->results))
    cells->results = INT64_MAX;
  return NULL;
}

hr_status_t window_cells_plan(hr_arena_t *arena, const hlo_window_t *window, int rank,
                              const hlo_shape_t *elements, const hlo_shape_t *results,
                              window_cells_t *cells, bool *out_possible) {
  int64_t strides[HLO_MAX_RANK];
  *cells = (window_cells_t){.rank = rank, .count = 1, .results = 1};
  *out_possible = false;
  loop_dense_strides(elements->rank, elements->dims, 1, strides);
  for (int d = 0; d < rank; d++) {
    cells->dims[d] = results->dims[d];
    cells->strides[d] = strides[d];
    cells->count *= results->dims[d];
    if (results->dims[d] > MAX_TABLE && !window_is_trivial(&window->dims[d])) return NULL;
    HR_TRY(plan_covers(arena, cells, d, &window->dims[d], elements->dims[d]));
  }
  *out_possible = cells->results <= WINDOW_MAX_RESULTS;
  return NULL;
}

void window_cells_at(const window_cells_t *cells, int64_t n, int64_t *index) {
  for (int d = cells->rank - 1; d >= 0; d--) {
    index[d] = n % cells->dims[d];
    n /= cells->dims[d];
  }
}

void window_cells_next(const window_cells_t *cells, int64_t *index) {
  for (int d = cells->rank - 1; d >= 0 && ++index[d] == cells->dims[d]; d--) index[d] = 0;
}

int64_t window_cells_list(const window_cells_t *cells, const int64_t *index, int64_t *offsets) {
  int64_t count = 1;
  offsets[0] = 0;
  for (int d = 0; d < cells->rank; d++) {
    if (!cells->covers[d]) {
      for (int64_t p = 0; p < count; p++) offsets[p] += index[d] * cells->strides[d];
      continue;
    }
    window_input_range_t cover = cells->covers[d][index[d]];
    int64_t stride = cells->cover_steps[d] * cells->strides[d];
    if (cover.count == 0) return 0;
    for (int64_t p = count - 1; p >= 0; p--) { /* from the end: the list grows in place */
      int64_t base = offsets[p] + cover.first * cells->strides[d];
      for (int64_t k = cover.count - 1; k >= 0; k--)
        offsets[p * cover.count + k] = base + k * stride;
    }
    count *= cover.count;
  }
  return count;
}
