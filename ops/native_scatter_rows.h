/* Scatter of windows that are one dense row each, by one plain op of numbers: loops that find a place and combine the
 * row at once. */
#ifndef HLO_OPS_NATIVE_SCATTER_ROWS_H
#define HLO_OPS_NATIVE_SCATTER_ROWS_H

#include "ops/native_places.h"

#define SCATTER_ROWS_COMPONENTS 2

/* One pass over all windows, in their order. */
typedef struct scatter_rows_job {
  const void *indices;
  void *to;
  const void *from;
  int64_t first, last;    /* windows */
  int64_t width;          /* elements of a row */
  int64_t begin, end;     /* the part of every row that is done */
  int64_t index_step, component_step; /* in the array of indices */
  int64_t limits[SCATTER_ROWS_COMPONENTS], strides[SCATTER_ROWS_COMPONENTS];
  uint32_t part, parts;   /* only places that fall to this part of so many */
} scatter_rows_job_t;

typedef void (*scatter_rows_fn)(const scatter_rows_job_t *job);

/* NULL: there is no such loop. op: ADD, MULTIPLY, MAXIMUM, MINIMUM; HLO_COPY overwrites. */
scatter_rows_fn scatter_rows_find(hlo_opcode_t op, hr_dtype_t dtype, hr_dtype_t index_dtype, int components);
/* Fills accumulators with what changes nothing when the op combines it with a value. */
void scatter_rows_fill(hlo_opcode_t op, hr_dtype_t dtype, void *to, int64_t count);
/* Fills in what the places say of a row of their batch nest, which is all of them if the nest has no loops around it.
 * False: they are of another form. */
bool scatter_rows_init(const native_places_t *places, int64_t width, scatter_rows_job_t *job);

#endif
