/* Eigenproblems of small symmetric matrices. */
#ifndef HLO_OPS_SMALL_EIGEN_H
#define HLO_OPS_SMALL_EIGEN_H

#include <stdbool.h>

#include "ops/kernels/custom/custom_lapack.h"

#define SMALL_EIGEN_SIZE 16 /* largest size */

/* Eigenvalues, ascending, and vectors, which are columns, of the matrix whose lower triangle `in`
 * has; f32 or f64, matrices by rows. `vectors` may be `in`, or NULL: not wanted. False: left to
 * LAPACK, as magnitudes are extreme, elements are no numbers, or all are zero; nothing is written
 * then. Requires: 2 <= n <= SMALL_EIGEN_SIZE. */
bool small_eigen(bool is_double, lapack_fn sytd2, int n, const void *in, void *values,
                 void *vectors);

#endif
