/* Triangular solves with one right-hand side, BLOCK unknowns after the other. The triangle is read
 * once, along its dense dimension:
 *
 *   dense terms        x[block] -= T[block, solved] x[solved], then the block is solved
 *   dense equations    the block is solved, then x[rest] -= T[rest, block] x[block]
 *
 * A triangle on the right is the transpose of one on the left. Upper ones are solved backwards. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT ON
#else
#pragma GCC optimize("O3", "fp-contract=fast")
#endif
#include "base/arith.h"
#include "ops/kernels/linalg/triangular_halves.h"

#define BLOCK 16

/* Strides of the triangle in elements: from an equation, or an unknown, to the next. */
typedef struct triangle {
  int64_t equation, unknown;
} triangle_t;

#define TILES_FILE "ops/kernels/linalg/triangular_vector_tiles.h"
#include "ops/kernels/simd/simd_foreach_real.h"

void triangular_solve_vector(const triangular_job_t *job) {
  triangle_t by = {.equation = job->t_row, .unknown = job->t_col};
  if (job->right) by = (triangle_t){.equation = job->t_col, .unknown = job->t_row};
  bool forward = job->upper == job->right;
  SIMD_FOREACH_REAL(solve, job->dtype == HR_F64)
  (&by, job->t, forward, job->unit, job->size, job->x);
}
