/* Plan of a scatter of windows (native_scatter.c), and its form with privatised copies
 * (scatter_copies.c). */
#ifndef HR_NATIVE_SCATTER_H
#define HR_NATIVE_SCATTER_H

#include "ops/kernels/elementwise/accumulate.h"
#include "ops/kernels/indexed/scatter_rows.h"
#include "ops/kernels/native.h"

enum {
  SCATTER_ARRAYS_MAX = 8,
  SCATTER_BYTES_MIN = 1 << 16 /* bytes of updates below which one worker does all */
};

typedef enum scatter_split { SPLIT_NOTHING, SPLIT_COLUMNS, SPLIT_OFFSETS } scatter_split_t;

typedef struct native_scatter_plan {
  gather_offsets_t offsets;
  loop_nest_t window; /* operands: 0 the operand, 1 the updates; in elements */
  accumulate_plan_t body;
  hlo_opcode_t op; /* the body's op, if it is a single op */
  bool overwrite;
  int workers;
  scatter_split_t split;
  int64_t window_elements;
  bool has_long_rows; /* columns can be divided among at least two workers */
  bool are_disjoint;  /* windows with different starts do not overlap */
  bool by_elements;   /* rows_job covers one element position of each window */
  bool by_batches;    /* rows_job covers one batch */
  bool by_groups;     /* small windows are combined together */
  bool has_row_loop;  /* rows_job has a loop for the op and type */
  scatter_rows_job_t rows_job;
  size_t copy_bytes;                  /* size of a privatised copy */
  int copies;                         /* privatised copies, including the result; 0: none */
  int64_t counts[SCATTER_ARRAYS_MAX]; /* elements per operand */
} native_scatter_plan_t;

/* Decides whether updates are scattered into privatised copies of the operand, after all else has
 * been planned. Returns the bytes of scratch memory for the copies; 0: there are none. */
size_t scatter_copies_plan(native_scatter_plan_t *plan);
/* `in`: operand, indices, updates; `to` has the operand's elements. */
void scatter_copies_run(const op_native_run_t *run, const native_scatter_plan_t *plan,
                        void *const *in, void *to);

#endif
