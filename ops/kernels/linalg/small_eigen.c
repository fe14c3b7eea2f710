/* Eigenvalues and vectors of small symmetric matrices by the algorithms that LAPACK's syevd uses
 * for them (sytd2, steqr), in the same order of operations, so that vectors have the same signs.
 * LAPACK's calls take longer than their arithmetic for such sizes. */
#include "ops/kernels/linalg/small_eigen.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/linalg/native_linalg.h"
#include "ops/kernels/simd/simd_target.h"

#define SIZE SMALL_EIGEN_SIZE

#define EIGEN_REAL float
#define EIGEN_EPSILON (FLT_EPSILON / 2)
#define EIGEN_TINY FLT_MIN
#define EIGEN_LEAST 1e-6F
#define EIGEN_MOST 1e12F
#define EIGEN_MATH(name) name##f
#define EIGEN_NAME(x) f32_##x
#include "ops/kernels/linalg/small_eigen_loops.h"
#undef EIGEN_REAL
#undef EIGEN_EPSILON
#undef EIGEN_TINY
#undef EIGEN_LEAST
#undef EIGEN_MOST
#undef EIGEN_MATH
#undef EIGEN_NAME

#define EIGEN_REAL double
#define EIGEN_EPSILON (DBL_EPSILON / 2)
#define EIGEN_TINY DBL_MIN
#define EIGEN_LEAST 1e-90
#define EIGEN_MOST 1e100
#define EIGEN_MATH(name) name
#define EIGEN_NAME(x) f64_##x
#include "ops/kernels/linalg/small_eigen_loops.h"

bool small_eigen(bool is_double, lapack_fn sytd2, int n, const void *in, void *values,
                 void *vectors) {
  return (is_double ? f64_eigen : f32_eigen)(sytd2, n, in, values, vectors);
}
