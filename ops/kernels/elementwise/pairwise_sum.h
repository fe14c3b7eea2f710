/* Sums (or products, maxima, ...) of very many rows without the rounding error growing with their
 * number: rows are added up in blocks, and blocks pairwise, like the digits of a binary counter.
 * The order depends only on the number of rows.
 *
 *   rows    r0 r1 ... r63 | r64 ... r127 | r128 ... r191 | r192 ...
 *   levels  \___ b0 ____/   \___ b1 ___/    \___ b2 ___/   under way
 *           \________ level 2 ________/        level 1      level 0
 *
 * Error: about 64 + log2(rows / 64) roundings on the way of each element, instead of `rows`. */
#ifndef HLO_OPS_PAIRWISE_SUM_H
#define HLO_OPS_PAIRWISE_SUM_H

#include "ops/kernels/elementwise/elementwise.h"

#define PAIRWISE_SUM_BLOCK 64
#define PAIRWISE_SUM_LEVELS 58

typedef struct pairwise_sum {
  const ew_kernel_t *kernel; /* of a commutative, associative op */
  int64_t lanes, max_lanes;  /* elements of a row */
  size_t element_bytes;
  int64_t block_rows;               /* rows in the block under way */
  char *level[PAIRWISE_SUM_LEVELS]; /* 0: the block under way; made when first needed */
  bool full[PAIRWISE_SUM_LEVELS];
  hr_arena_t *arena;
} pairwise_sum_t;

/* Rows of up to max_lanes elements; storage comes from the arena. */
hr_status_t pairwise_sum_init(pairwise_sum_t *pairwise_sum, hr_arena_t *arena,
                              const ew_kernel_t *kernel, int64_t max_lanes, size_t element_bytes);
/* Starts anew with rows of `lanes` elements. */
void pairwise_sum_clear(pairwise_sum_t *pairwise_sum, int64_t lanes);
/* Adds a row of elements `stride` apart. The first row is whole; later ones may have fewer elements
 * (the first lanes).
 */
hr_status_t pairwise_sum_add(pairwise_sum_t *pairwise_sum, const void *row, int64_t count,
                             int64_t stride);
/* Adds everything up; at least one row was added. The result, one element per lane, is the pile's.
 */
void *pairwise_sum_total(pairwise_sum_t *pairwise_sum);
/* The lanes of pairwise_sum_total combined into one, which is the first. */
void pairwise_sum_fold_lanes(pairwise_sum_t *pairwise_sum);

#endif
