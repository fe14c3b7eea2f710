/* Enumeration of the results of a windowed op: for each result, the offsets of the input rows
 * under its window. Trailing dimensions may be omitted, for callers that treat them as rows.
 * Units:   elements.
 * Thread:  a plan is immutable; index and offsets are the caller's. */
#ifndef HLO_OPS_WINDOW_CELLS_H
#define HLO_OPS_WINDOW_CELLS_H

#include "base/arena.h"
#include "ops/query/window_range.h"
#include "ir/shape.h"

#define WINDOW_MAX_RESULTS 1024 /* most input rows under a result */

typedef struct window_cells {
  int rank;
  int64_t dims[HLO_MAX_RANK];        /* sizes of the results */
  int64_t strides[HLO_MAX_RANK];     /* strides of the input */
  int64_t cover_steps[HLO_MAX_RANK]; /* distance of the input indices under one window */
  const window_input_range_t *covers[HLO_MAX_RANK]; /* per result index; NULL: no window here */
  int64_t count;                                    /* number of results */
  int64_t results;                                  /* most input rows under one result */
} window_cells_t;

/* Plans the first `rank` dimensions. *out_possible is false if lists or tables would be too
 * large. */
hr_status_t window_cells_plan(hr_arena_t *arena, const hlo_window_t *window, int rank,
                              const hlo_shape_t *elements, const hlo_shape_t *results,
                              window_cells_t *cells, bool *out_possible);
/* The index of result number n, and the successor of an index. */
void window_cells_at(const window_cells_t *cells, int64_t n, int64_t *index);
void window_cells_next(const window_cells_t *cells, int64_t *index);
/* Lists the offsets of the input rows under a result, in row-major order; returns their number. */
int64_t window_cells_list(const window_cells_t *cells, const int64_t *index, int64_t *offsets);

#endif
