/* The plan of a transpose, for the files of native_transpose: native_transpose_plan.c chooses the
 * form and the sizes, native_transpose.c has the loops. */
#ifndef HLO_OPS_NATIVE_TRANSPOSE_PLAN_H
#define HLO_OPS_NATIVE_TRANSPOSE_PLAN_H

#include "ops/kernels/common/strided_loops.h"
#include "ops/kernels/move/native_transpose.h"

enum {
  TRANSPOSE_SIDE_BYTES = 256, /* side of a tile: four cache lines */
  TRANSPOSE_MAX_ROWS = 128    /* most rows of a tile that passes through a buffer */
};

/* An element of 16 bytes. */
typedef struct wide_element {
  uint64_t low, high;
} wide_element_t;

struct native_transpose_plan {
  int element_bytes;         /* size of the moved element, after merging of short runs */
  int64_t run_bytes;         /* size of a contiguous run; 0 in the form of tiles */
  int64_t i_count, i_stride; /* dimension dense in the operand; its stride in the result, bytes */
  int64_t j_count, j_stride; /* dimension dense in the result; its stride in the operand, bytes */
  int64_t i_side, j_side;    /* sides of a tile, elements */
  bool interleaves, deinterleaves; /* form of few streams, instead of tiles */
  loop_nest_t outer;               /* loops around; operands: 0 result, 1 operand; bytes */
  int64_t units;                   /* units of work: runs, rows of short runs, or tiles */
  int64_t bytes;                   /* size of the array */
  int64_t to_offset, from_offset;  /* offset of the first element written, and read; bytes */
  bool nontemporal;                /* stores bypass the caches */
  bool whole_lines;                /* rows are whole cache lines, provided the result is aligned */
  bool buffered;                   /* tiles pass through a buffer */
  hr_workers_fn copy;              /* copies a range of units */
};

static inline int64_t transpose_tile_row_count(const native_transpose_plan_t *plan) {
  return (plan->i_count + plan->i_side - 1) / plan->i_side;
}

static inline int64_t transpose_tile_column_count(const native_transpose_plan_t *plan) {
  return (plan->j_count + plan->j_side - 1) / plan->j_side;
}

/* Values of native_transpose_plan_t.copy, one for each form. */
void transpose_copy_tiles(void *context, int64_t begin, int64_t end, int worker);
void transpose_copy_streams(void *context, int64_t begin, int64_t end, int worker);
void transpose_copy_runs(void *context, int64_t begin, int64_t end, int worker);
void transpose_copy_short_runs(void *context, int64_t begin, int64_t end, int worker);

#endif
