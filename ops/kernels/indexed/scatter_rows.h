/* Scatter whose windows are one dense row each, combined by one op on the element type itself: the
 * inner loops of native_scatter.c.
 *
 * Two forms. Direct: indices of 32 or 64 bits with one or two components, all rows by one worker; a
 * typed loop computes an offset and combines the row at once. Listed: offsets of some hundred
 * windows are computed first (gather_offsets.h), then their rows are combined; this serves any
 * index type, and workers that own part of the offsets. Updates of one element are applied in index
 * order in both forms. */
#ifndef HLO_OPS_SCATTER_ROWS_H
#define HLO_OPS_SCATTER_ROWS_H

#include "ops/kernels/indexed/gather_offsets.h"

#define SCATTER_ROWS_COMPONENTS 2 /* most index components of the direct form */

typedef struct scatter_rows_job scatter_rows_job_t;
typedef void (*scatter_rows_fn)(const scatter_rows_job_t *job);
/* Combines the rows at windows[k] of the updates into the operand at offsets[k], in the order of k;
 * negative offsets are skipped. Units: elements. */
typedef void (*scatter_list_fn)(const scatter_rows_job_t *job, const int64_t *offsets,
                                const int64_t *windows, int64_t count);

/* One pass over all windows, in their order. */
struct scatter_rows_job {
  scatter_rows_fn direct_loop; /* NULL: by lists only */
  scatter_list_fn list_loop;
  const gather_offsets_t *offsets;
  const void *indices;
  void *to;
  const void *from;
  int64_t first, last;                      /* windows */
  int64_t width;                            /* elements per row */
  int64_t begin, end;                       /* range of columns that this job combines */
  int64_t index_step, component_step;       /* strides in the index array, elements */
  int64_t limits[SCATTER_ROWS_COMPONENTS];  /* largest valid start per component */
  int64_t strides[SCATTER_ROWS_COMPONENTS]; /* operand's stride per component, elements */
  bool is_listed;       /* has each window its own part of the operand, as in batches of one? */
  bool has_runs;        /* are successive windows of one element often the same one? */
  uint32_t part, parts; /* this job handles the offsets whose hash belongs to `part` of `parts` */
};

/* Sets the job's loops. op: ADD, MULTIPLY, MAXIMUM, MINIMUM, AND, OR, XOR, or COPY to overwrite.
 * Returns false if the type has no loop for the op. */
bool scatter_rows_choose(hlo_opcode_t op, hr_dtype_t dtype, scatter_rows_job_t *job);
/* Applies the job's windows. Thread: jobs with disjoint columns or disjoint parts may run at the
 * same time. */
void scatter_rows_run(const scatter_rows_job_t *job);
/* Fills `count` accumulators with the op's identity: a value that changes no other, bit for bit. */
void scatter_rows_fill(hlo_opcode_t op, hr_dtype_t dtype, void *to, int64_t count);
/* Fills the job from the offsets of a batch nest with a single row of windows. Returns false for
 * windows of another form. `offsets` must outlive the job. */
bool scatter_rows_init(const gather_offsets_t *offsets, int64_t width, scatter_rows_job_t *job);

#endif
