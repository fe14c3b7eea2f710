/* Pairwise (cascade) summation of many rows: rows are added in blocks, and blocks pairwise, like
 * the digits of a binary counter. Works for any commutative, associative op. The order depends only
 * on the number of rows.
 *
 *   rows    r0 r1 ... r63 | r64 ... r127 | r128 ... r191 | r192 ...
 *   levels  \___ b0 ____/   \___ b1 ___/    \___ b2 ___/   current block
 *           \________ level 2 ________/        level 1      level 0
 *
 * Error: each element takes part in about 64 + log2(rows / 64) roundings, instead of `rows`. */
#ifndef HLO_OPS_PAIRWISE_SUM_H
#define HLO_OPS_PAIRWISE_SUM_H

#include "ops/kernels/elementwise/elementwise.h"

#define PAIRWISE_SUM_BLOCK 64
#define PAIRWISE_SUM_LEVELS 58

typedef struct pairwise_sum {
  const ew_kernel_t *kernel; /* a commutative, associative op */
  int64_t lanes, max_lanes;  /* elements per row */
  size_t element_bytes;
  int64_t block_rows;               /* rows in the current block */
  char *level[PAIRWISE_SUM_LEVELS]; /* partial sums; 0 is the current block; allocated lazily */
  bool full[PAIRWISE_SUM_LEVELS];   /* true if a level holds a sum */
  hr_arena_t *arena;
} pairwise_sum_t;

/* Rows of up to max_lanes elements; storage comes from the arena. */
hr_status_t pairwise_sum_init(pairwise_sum_t *pairwise_sum, hr_arena_t *arena,
                              const ew_kernel_t *kernel, int64_t max_lanes, size_t element_bytes);
/* Restarts with rows of `lanes` elements. */
void pairwise_sum_clear(pairwise_sum_t *pairwise_sum, int64_t lanes);
/* Adds a row of elements `stride` apart. The first row has `lanes` elements; later ones may have
 * fewer, for the first lanes. */
hr_status_t pairwise_sum_add(pairwise_sum_t *pairwise_sum, const void *row, int64_t count,
                             int64_t stride);
/* Combines all levels; at least one row was added. Returns one element per lane, in memory of the
 * pairwise sum. */
void *pairwise_sum_total(pairwise_sum_t *pairwise_sum);
/* Combines the lanes of pairwise_sum_total into the first one, pairwise. */
void pairwise_sum_fold_lanes(pairwise_sum_t *pairwise_sum);

#endif
