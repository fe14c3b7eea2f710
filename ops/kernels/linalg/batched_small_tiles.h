/* The loops of batched_small.c for one vector width. Included once per width and type by
 * simd_foreach_real.h. A `lane` vector holds the same real of LANES matrices. The factorisations
 * are batched_small_numbers.h, for real and for complex matrices. All branches on values become
 * per-lane selects, because lanes differ. */
#include "ops/kernels/simd/simd_square.h"

#define LANES (SIMD_BYTES / (int)sizeof(SIMD_REAL))
#define SIMD_INLINE SIMD_TARGET static inline __attribute__((always_inline))

typedef SIMD_REAL SIMD_NAME(lane) __attribute__((vector_size(SIMD_BYTES)));

/* The same without alignment. */
typedef SIMD_REAL SIMD_NAME(part)
    __attribute__((vector_size(SIMD_BYTES), aligned(sizeof(SIMD_REAL)), may_alias));

SIMD_DEFINE_SQUARE(SIMD_NAME(square), SIMD_INLINE, SIMD_NAME(lane))

/* Interleaves LANES elements of LANES matrices. */
SIMD_INLINE void SIMD_NAME(load_square)(const SIMD_REAL *from, int64_t elements,
                                        SIMD_NAME(lane) * to) {
  SIMD_NAME(lane) x[LANES];
#pragma GCC unroll 16
  for (int l = 0; l < LANES; l++) x[l] = *(const SIMD_NAME(part) *)(from + l * elements);
  SIMD_NAME(square_transpose)(x);
#pragma GCC unroll 16
  for (int l = 0; l < LANES; l++) to[l] = x[l];
}

SIMD_INLINE void SIMD_NAME(store_square)(const SIMD_NAME(lane) * from, int64_t elements,
                                         SIMD_REAL *to) {
  SIMD_NAME(lane) x[LANES];
#pragma GCC unroll 16
  for (int l = 0; l < LANES; l++) x[l] = from[l];
  SIMD_NAME(square_transpose)(x);
#pragma GCC unroll 16
  for (int l = 0; l < LANES; l++) *(SIMD_NAME(part) *)(to + l * elements) = x[l];
}

SIMD_TARGET static void SIMD_NAME(load_reals)(const void *from_, int64_t elements, int64_t count,
                                              void *to_) {
  const SIMD_REAL *from = from_;
  SIMD_REAL *to = to_;
  int64_t i = 0;
  for (; count == LANES && i + LANES <= elements; i += LANES)
    SIMD_NAME(load_square)(from + i, elements, (SIMD_NAME(lane) *)(to + i * LANES));
  for (; i < elements; i++)
    for (int64_t l = 0; l < LANES; l++)
      to[i * LANES + l] = from[(l < count ? l : count - 1) * elements + i];
}

SIMD_TARGET static void SIMD_NAME(store_reals)(const void *from_, int64_t elements, int64_t count,
                                               void *to_) {
  const SIMD_REAL *from = from_;
  SIMD_REAL *to = to_;
  int64_t whole = count == LANES ? elements / LANES * LANES : 0;
  for (int64_t i = 0; i < whole; i += LANES)
    SIMD_NAME(store_square)((const SIMD_NAME(lane) *)(from + i * LANES), elements, to + i);
  for (int64_t l = 0; l < count; l++)
    for (int64_t i = whole; i < elements; i++) to[l * elements + i] = from[i * LANES + l];
}

/* Complex elements become vectors of real parts and of imaginary parts in turn. */
SIMD_TARGET static void SIMD_NAME(load_pairs)(const void *from, int64_t elements, int64_t count,
                                              void *to) {
  SIMD_NAME(load_reals)(from, 2 * elements, count, to);
}

SIMD_TARGET static void SIMD_NAME(store_pairs)(const void *from, int64_t elements, int64_t count,
                                               void *to) {
  SIMD_NAME(store_reals)(from, 2 * elements, count, to);
}

/* Squares of a column below this are rounding errors, as the column depends on others: it counts as
 * zero. */
static const SIMD_REAL SIMD_NAME(negligible) = sizeof(SIMD_REAL) == 4 ? (SIMD_REAL)1e-30
                                                                      : (SIMD_REAL)1e-240;

/* Integers as wide as the elements; comparisons of lanes give them, all bits equal. */
typedef __typeof__(_Generic((SIMD_REAL)0, float
                            : (int32_t)0, double
                            : (int64_t)0)) SIMD_NAME(integer);
typedef SIMD_NAME(integer) SIMD_NAME(bits) __attribute__((vector_size(SIMD_BYTES)));

/* All bits but the sign. */
static const SIMD_NAME(integer)
    SIMD_NAME(magnitude) = (SIMD_NAME(integer))(sizeof(SIMD_REAL) == 4 ? INT32_MAX : INT64_MAX);

SIMD_INLINE SIMD_NAME(lane)
    SIMD_NAME(choose)(SIMD_NAME(bits) is_a, SIMD_NAME(lane) a, SIMD_NAME(lane) b) {
  return (SIMD_NAME(lane))(((SIMD_NAME(bits))a & is_a) | ((SIMD_NAME(bits))b & ~is_a));
}

SIMD_INLINE SIMD_NAME(lane) SIMD_NAME(absolute)(SIMD_NAME(lane) x) {
  return (SIMD_NAME(lane))((SIMD_NAME(bits))x & SIMD_NAME(magnitude));
}

SIMD_INLINE SIMD_NAME(lane) SIMD_NAME(square_root)(SIMD_NAME(lane) x) {
#pragma GCC unroll 16
  for (int l = 0; l < LANES; l++)
    x[l] = sizeof(SIMD_REAL) == 4 ? (SIMD_REAL)__builtin_sqrtf((float)x[l])
                                  : (SIMD_REAL)__builtin_sqrt((double)x[l]);
  return x;
}

/* True if all lanes of a comparison's result hold. */
SIMD_INLINE bool SIMD_NAME(all)(SIMD_NAME(bits) holds) {
  SIMD_NAME(integer) all = -1;
#pragma GCC unroll 16
  for (int l = 0; l < LANES; l++) all &= holds[l];
  return all != 0;
}

/* One step of gtsv on the right-hand sides of rows i and i + 1, exchanged in some lanes. */
SIMD_INLINE void SIMD_NAME(eliminate)(int64_t k, SIMD_NAME(bits) swaps, SIMD_NAME(lane) factor,
                                      SIMD_NAME(lane) * b) {
  for (int64_t c = 0; c < k; c++) {
    SIMD_NAME(lane) upper = b[c], lower = b[k + c];
    b[c] = SIMD_NAME(choose)(swaps, lower, upper);
    b[k + c] = SIMD_NAME(choose)(swaps, upper, lower) - factor * b[c];
  }
}

SIMD_INLINE void SIMD_NAME(substitute)(int64_t n, int64_t k, const SIMD_NAME(lane) * lower,
                                       const SIMD_NAME(lane) * d, const SIMD_NAME(lane) * du,
                                       SIMD_NAME(lane) * b) {
  for (int64_t c = 0; c < k; c++) {
    SIMD_NAME(lane) below = b[(n - 1) * k + c] /= d[n - 1], second = {0};
    for (int64_t i = n - 2; i >= 0; i--) {
      SIMD_NAME(lane) rest = b[i * k + c] - du[i] * below;
      if (i + 2 < n) rest -= lower[i] * second;
      second = below;
      below = b[i * k + c] = rest / d[i];
    }
  }
}

SIMD_TARGET static bool SIMD_NAME(gtsv)(int64_t n, int64_t k, void *dl, void *d_, void *du_,
                                        void *b_) {
  const SIMD_NAME(lane) zero = {0};
  SIMD_NAME(lane) *lower = (SIMD_NAME(lane) *)dl + 1, *d = d_, *du = du_, *b = b_;
  SIMD_NAME(bits) is_regular = ~(SIMD_NAME(bits)){0};
  for (int64_t i = 0; i + 1 < n; i++) {
    SIMD_NAME(bits) swaps = ~(SIMD_NAME(absolute)(d[i]) >= SIMD_NAME(absolute)(lower[i]));
    SIMD_NAME(lane) pivot = SIMD_NAME(choose)(swaps, lower[i], d[i]);
    SIMD_NAME(lane) factor = SIMD_NAME(choose)(swaps, d[i], lower[i]) / pivot;
    SIMD_NAME(lane) above = SIMD_NAME(choose)(swaps, d[i + 1], du[i]);
    d[i + 1] = SIMD_NAME(choose)(swaps, du[i], d[i + 1]) - factor * above;
    is_regular &= pivot != zero;
    d[i] = pivot;
    du[i] = above;
    if (i + 2 < n) {
      SIMD_NAME(lane) next = du[i + 1];
      lower[i] = SIMD_NAME(choose)(swaps, next, zero);
      du[i + 1] = SIMD_NAME(choose)(swaps, -factor * next, next);
    }
    SIMD_NAME(eliminate)(k, swaps, factor, b + i * k);
  }
  is_regular &= d[n - 1] != zero;
  SIMD_NAME(substitute)(n, k, lower, d, du, b);
  return SIMD_NAME(all)(is_regular);
}

#define NUMBER_PARTS 1
#define NUMBER(x) SIMD_NAME(real_##x)
#include "ops/kernels/linalg/batched_small_numbers.h"
#undef NUMBER_PARTS
#undef NUMBER
#define NUMBER_PARTS 2
#define NUMBER(x) SIMD_NAME(complex_##x)
#include "ops/kernels/linalg/batched_small_numbers.h"
#undef NUMBER_PARTS
#undef NUMBER

/* The loops for real and for complex matrices. */
#define LOOPS_OF(kind, load, store, gtsv)                                                      \
  {                                                                                            \
    LANES, SIMD_NAME(load), SIMD_NAME(store), SIMD_NAME(store_reals), SIMD_NAME(kind##_geqrf), \
        SIMD_NAME(kind##_orgqr), SIMD_NAME(kind##_gebrd), SIMD_NAME(kind##_potrf),             \
        SIMD_NAME(kind##_getrf), SIMD_NAME(kind##_trsm), gtsv                                  \
  }
static const batched_small_loops_t SIMD_NAME(loops)[] = {
    LOOPS_OF(real, load_reals, store_reals, SIMD_NAME(gtsv)),
    LOOPS_OF(complex, load_pairs, store_pairs, NULL)};
#undef LOOPS_OF

#undef LANES
#undef SIMD_INLINE
