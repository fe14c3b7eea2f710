/* Results of a windowed op gone over one after the other: for each, where the rows of elements
 * under its window start. The last dimensions may be left out, for callers that take them as rows.
 * Units: elements. */
#ifndef HLO_OPS_WINDOW_CELLS_H
#define HLO_OPS_WINDOW_CELLS_H

#include "base/arena.h"
#include "ops/query/window_range.h"
#include "ir/shape.h"

#define WINDOW_MAX_RESULTS 1024 /* rows under a result, at most */

typedef struct window_cells {
  int rank;
  int64_t dims[HLO_MAX_RANK];                               /* of the results */
  int64_t strides[HLO_MAX_RANK], cover_steps[HLO_MAX_RANK]; /* of the elements */
  const window_input_range_t
      *covers[HLO_MAX_RANK]; /* per result; NULL: no window along this dimension */
  int64_t count;             /* of results */
  int64_t results;           /* most rows under one */
} window_cells_t;

/* The first `rank` dimensions. False if they are too many for lists and tables. */
hr_status_t window_cells_plan(hr_arena_t *arena, const hlo_window_t *window, int rank,
                              const hlo_shape_t *elements, const hlo_shape_t *results,
                              window_cells_t *cells, bool *out_possible);
/* The index of result number n, and of the next. */
void window_cells_at(const window_cells_t *cells, int64_t n, int64_t *index);
void window_cells_next(const window_cells_t *cells, int64_t *index);
/* Where the rows under a result start, in row-major order; returns how many there are. */
int64_t window_cells_list(const window_cells_t *cells, const int64_t *index, int64_t *offsets);

#endif
