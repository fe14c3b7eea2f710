/* Matrix products of any element types, for the reference kernels. Operands are widened to one of
 * four types, multiplied in it, and the result is narrowed once:
 *
 *   f32  floats of 32 bits and fewer
 *   f64  f64, and wide integers to float
 *   u32  integers (wrapping) with results of at most 32 bits, pred
 *   u64  integers with 64-bit results
 *
 * A complex product of k terms is a real one of 2k: elements are stored (re, im), so A is read as
 * real [m][2k], and every element b of B becomes the block ((br, bi), (-bi, br)), which gives
 * [m][2n]. No fused multiply-add is used: equal inputs give equal bits on every machine. Thread:
 * any. */
#ifndef HLO_OPS_MATMUL_H
#define HLO_OPS_MATMUL_H

#include "ops/kernels/common/strided_loops.h"
#include "ops/kernels/kernel.h"
#include "ops/query/matmul_types.h"

/* Widens an operand, `count` dense elements of `dtype`: returns `from` itself, or a copy in the
 * scratch arena. */
hr_status_t matmul_widen(hr_arena_t *scratch, const matmul_types_t *types, hr_dtype_t dtype,
                         const void *from, int64_t count, const void **out_data);
/* The same, always a copy, which may be written. */
hr_status_t matmul_widen_copy(hr_arena_t *scratch, const matmul_types_t *types, hr_dtype_t dtype,
                              const void *from, int64_t count, void **out_data);
/* The same into the caller's memory, even if no conversion is needed. */
void matmul_widen_to(const matmul_types_t *types, hr_dtype_t dtype, const void *from, int64_t count,
                     void *to);
/* Narrows `count` dense results to the program's type; `from` may be overwritten. Floats become
 * integers by truncation, saturated to the type's range; complex numbers lose the imaginary
 * part. */
void matmul_narrow(const matmul_types_t *types, void *from, void *to, int64_t count);
/* An array transposed to another order of dimensions, or read in place if it has that order
 * already. */
typedef struct matmul_order {
  bool needed;
  loop_copy_t copy;
  int64_t from_bytes; /* offset of the start in the source; not 0 if dimensions are reversed */
  size_t size_bytes;
} matmul_order_t;
/* dims and strides (bytes, may be negative) in the target order. */
hr_status_t matmul_order_init(int rank, const int64_t *dims, const int64_t *strides,
                              int element_bytes, matmul_order_t *out_order);
hr_status_t matmul_order_run(hr_arena_t *scratch, const matmul_order_t *order, const void *from,
                             const void **out_data);

/* Expands a dense complex [k][n] to the real [2k][2n] of the scheme above. */
hr_status_t matmul_expand_complex(hr_arena_t *scratch, const matmul_types_t *types,
                                  const void *from, int64_t k, int64_t n, const void **out_data);

/* c = a * b, or c += a * b. Strides in reals; any of them may be 0 or negative. */
typedef struct matmul_job {
  hr_dtype_t real;
  int64_t m, n, k;
  const void *a;
  int64_t a_row, a_col;
  /* Callback that produces A instead of reading `a`, or NULL: rows x count reals from (row, first),
   * row-major. */
  void (*fill)(const void *context, int64_t row, int64_t rows, int64_t first, int64_t count,
               void *to);
  const void *context;
  const void *b;
  int64_t b_row, b_col;
  void *c;
  int64_t c_row, c_col;
  bool accumulate;
} matmul_job_t;

typedef struct matmul_space matmul_space_t; /* packed blocks of the operands */
/* Allocates packing space for products of at most this size. */
hr_status_t matmul_space_new(hr_arena_t *scratch, hr_dtype_t real, int64_t m, int64_t n, int64_t k,
                             matmul_space_t **out_space);
void matmul_run(const matmul_job_t *job, matmul_space_t *space);

#endif
