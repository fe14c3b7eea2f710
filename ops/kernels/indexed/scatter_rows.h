/* Scatter of windows that are one dense row each, by one plain op on the type itself. Where one or
 * two components of 32 or 64 bits say the place, and all of it is one worker's, a loop finds a
 * place and combines the row at once; else the places of some hundred windows are found first, then
 * their rows combined. */
#ifndef HLO_OPS_SCATTER_ROWS_H
#define HLO_OPS_SCATTER_ROWS_H

#include "ops/kernels/indexed/gather_offsets.h"

#define SCATTER_ROWS_COMPONENTS 2 /* of places that are found one by one */

typedef struct scatter_rows_job scatter_rows_job_t;
typedef void (*scatter_rows_fn)(const scatter_rows_job_t *job);
/* The windows at `windows`, in the updates, go to `offsets` in the operand; nowhere if these are
 * negative. */
typedef void (*scatter_list_fn)(const scatter_rows_job_t *job, const int64_t *offsets,
                                const int64_t *windows, int64_t count);

/* One pass over all windows, in their order. */
struct scatter_rows_job {
  scatter_rows_fn direct; /* NULL: by lists only */
  scatter_list_fn listed;
  const gather_offsets_t *offsets;
  const void *indices;
  void *to;
  const void *from;
  int64_t first, last;                /* windows */
  int64_t width;                      /* elements of a row */
  int64_t begin, end;                 /* the part of every row that is done */
  int64_t index_step, component_step; /* in the array of indices */
  int64_t limits[SCATTER_ROWS_COMPONENTS], strides[SCATTER_ROWS_COMPONENTS];
  uint32_t part, parts; /* only places that fall to this part of so many */
};

/* False: there are no loops for the op on this type. op: ADD, MULTIPLY, MAXIMUM, MINIMUM, AND, OR,
 * XOR; HLO_COPY overwrites. */
bool scatter_rows_choose(hlo_opcode_t op, hr_dtype_t dtype, scatter_rows_job_t *job);
void scatter_rows_run(const scatter_rows_job_t *job);
/* Fills accumulators with what changes nothing when the op combines it with a value. */
void scatter_rows_fill(hlo_opcode_t op, hr_dtype_t dtype, void *to, int64_t count);
/* Fills in what the places say of a row of their batch nest, which is all of them if the nest has
 * no loops around it. False: they are of another form. `offsets` have to outlive the job. */
bool scatter_rows_init(const gather_offsets_t *offsets, int64_t width, scatter_rows_job_t *job);

#endif
