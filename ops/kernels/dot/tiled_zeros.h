/* Tiles of zeros: columns of a product that generated code multiplies by a tile which is zero
 * there, as in the gradient of a causal softmax, are left out of the product. */
#ifndef HLO_OPS_TILED_ZEROS_H
#define HLO_OPS_TILED_ZEROS_H

#include "ops/kernels/dot/tiled_products.h"

#define TILED_FACTORS_MAX 2

/* Operands of a fusion. Where elements of the tile are zero, finite values of a product at the same
 * place do not matter, but for the sign of zeros, if the factors are moderate. */
typedef struct tiled_zeros {
  int tile; /* -1: there is none */
  hr_dtype_t dtype;
  int factors[TILED_FACTORS_MAX], factor_count; /* a number for each row */
} tiled_zeros_t;

/* The tile that hides operand `operand`. */
hr_status_t tiled_zeros_find(hr_arena_t *arena, const hlo_instr_t *fusion, int operand,
                             tiled_zeros_t *out_zeros);
/* The columns between which all elements of these rows are that are not zero. */
tiled_range_t tiled_nonzero_range(hr_dtype_t dtype, const void *tile, int64_t rows,
                                  int64_t columns);
/* Are all elements finite? `packed`: b, by gemm_pack of the job. */
bool tiled_is_finite(const gemm_job_t *job, const void *packed);
/* Are all elements so small that sums of their products are below 2^52? `packed`: b, by
 * gemm_pack of the job. */
bool tiled_b_is_small(const gemm_job_t *job, const void *packed);
bool tiled_a_is_small(const gemm_job_t *job);
/* Are all numbers between 2^-14 and 2^14, signs left aside? */
bool tiled_is_moderate(hr_dtype_t dtype, const void *x, int64_t count);
/* Are all elements of b finite? False, too, if its rows are not dense. */
bool tiled_b_is_finite(const gemm_job_t *job);

#endif
