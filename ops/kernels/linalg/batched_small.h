/* Many small matrices of f32 or f64 at once, one a lane of the processor's vectors: element (i, j)
 * of all of them side by side, so that no size is too small for the vectors. Reflectors are
 * LAPACK's, as in reflectors.h. Matrices are row-major; those of a call lie one after the other.
 * Sums of squares must neither overflow nor vanish (batched_small_in_range). Thread: any, on memory
 * of its own, aligned to 64 bytes. */
#ifndef HLO_OPS_BATCHED_SMALL_H
#define HLO_OPS_BATCHED_SMALL_H

#include "base/dtype.h"

#define BATCHED_SMALL_SIZE 32 /* largest number of rows and columns */

typedef struct batched_small_loops {
  int lanes;
  /* `count` arrays of `elements`, at most as many as lanes, to lanes and back. Lanes left over get
   * the last array. */
  void (*load)(const void *from, int64_t elements, int64_t count, void *to);
  void (*store)(const void *from, int64_t elements, int64_t count, void *to);
  void (*geqrf)(int64_t m, int64_t n, void *a, void *taus);       /* geqrf */
  void (*orgqr)(int64_t m, int64_t n, void *a, const void *taus); /* orgqr of n <= m reflectors */
  /* sytrd of the lower triangle: n diagonal elements, n - 1 beside them, n - 1 taus; vectors below
   * them in a. */
  void (*sytrd)(int64_t n, void *a, void *diagonal, void *off_diagonal, void *taus);
  /* gebrd for m >= n: n diagonal elements, n - 1 above them; vectors below and behind them in a. */
  void (*gebrd)(int64_t m, int64_t n, void *a, void *diagonal, void *superdiagonal, void *left_taus,
                void *right_taus);
} batched_small_loops_t;

/* NULL: another type, or matrices that are not small, or too few. */
const batched_small_loops_t *batched_small_find(hr_dtype_t dtype, int64_t batch, int64_t m,
                                                int64_t n);
/* Whether `count` matrices have numbers of moderate size, so that what vanishes when squared is
 * nothing beside them. */
bool batched_small_in_range(hr_dtype_t dtype, const void *data, int64_t elements, int64_t count);

#endif
