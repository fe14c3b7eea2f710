/* Transposition of squares of reals in registers. All shuffles keep to the lanes of 16 bytes of a
 * vector, or move whole lanes: they need no vectors of indices, and processors do more of them a
 * cycle than shuffles of any elements of two vectors.
 *
 *   within lanes, f32    rows a, b, c, d    ->   a0 b0 c0 d0 | a4 b4 c4 d4 | ...
 *                                                a1 b1 c1 d1 | ...
 *   of lanes             lane q of vectors of rows 0-3, 4-7, ... side by side
 *
 * SIMD_DEFINE_SQUARE(NAME, LINKAGE, VECTOR) defines, with all loops unrolled:
 *   NAME_zip(a, b, run, half)   a lane has runs of a and b in turn, from that half of their lanes
 *   NAME_unzip(a, b, odd)       a lane has the even or odd elements of a's, then of b's lane
 *   NAME_transpose(rows)        as many rows as a vector has elements */
#ifndef HLO_OPS_SIMD_SQUARE_H
#define HLO_OPS_SIMD_SQUARE_H

#include "ops/kernels/simd/simd_target.h"

#define SIMD_SQUARE_UNROLL _Pragma("GCC unroll 16")

/* The arguments may be macros. */
#define SIMD_DEFINE_SQUARE(NAME, LINKAGE, VECTOR) SIMD_DEFINE_SQUARE_AS(NAME, LINKAGE, VECTOR)
#define SIMD_DEFINE_SQUARE_AS(NAME, LINKAGE, VECTOR)                                          \
  typedef __typeof__((VECTOR){0} == (VECTOR){0}) NAME##_order_t;                              \
  enum {                                                                                      \
    NAME##_COUNT = sizeof(VECTOR) / sizeof(((VECTOR){0})[0]), /* elements of a vector */      \
    NAME##_LANE = 16 / sizeof(((VECTOR){0})[0]),              /* elements of a lane */        \
    NAME##_LANES = sizeof(VECTOR) / 16                                                        \
  };                                                                                          \
                                                                                              \
  LINKAGE VECTOR NAME##_zip(VECTOR a, VECTOR b, int run, int half) {                          \
    NAME##_order_t order;                                                                     \
    SIMD_SQUARE_UNROLL for (int i = 0; i < NAME##_COUNT; i++) {                               \
      int at = i % NAME##_LANE;                                                               \
      order[i] = i - at + half * NAME##_LANE / 2 + at / (2 * run) * run + at % run +          \
                 at / run % 2 * NAME##_COUNT;                                                 \
    }                                                                                         \
    return SIMD_SHUFFLE_2(a, b, order);                                                       \
  }                                                                                           \
                                                                                              \
  LINKAGE VECTOR NAME##_unzip(VECTOR a, VECTOR b, int odd) {                                  \
    NAME##_order_t order;                                                                     \
    SIMD_SQUARE_UNROLL for (int i = 0; i < NAME##_COUNT; i++) {                               \
      int at = i % NAME##_LANE;                                                               \
      order[i] = i - at + 2 * at % NAME##_LANE + odd + 2 * at / NAME##_LANE * NAME##_COUNT;   \
    }                                                                                         \
    return SIMD_SHUFFLE_2(a, b, order);                                                       \
  }                                                                                           \
                                                                                              \
  /* The even or odd lanes of a, then those of b. */                                          \
  LINKAGE VECTOR NAME##_lanes(VECTOR a, VECTOR b, int odd) {                                  \
    NAME##_order_t order;                                                                     \
    SIMD_SQUARE_UNROLL for (int i = 0; i < NAME##_COUNT; i++) {                               \
      int lane = 2 * (i / NAME##_LANE) + odd; /* among those of a, then of b */               \
      order[i] = lane / NAME##_LANES * NAME##_COUNT + lane % NAME##_LANES * NAME##_LANE +     \
                 i % NAME##_LANE;                                                             \
    }                                                                                         \
    return SIMD_SHUFFLE_2(a, b, order);                                                       \
  }                                                                                           \
                                                                                              \
  /* Columns c, LANE + c, ... from vectors that have them by lanes, LANE vectors apart. */    \
  LINKAGE void NAME##_columns(const VECTOR *t, VECTOR *rows) {                                \
    enum { STEP = NAME##_LANE, FOUR = NAME##_LANES == 4, TWO = NAME##_LANES >= 2 };           \
    VECTOR even = t[0], odd = t[0];                                                           \
    if (TWO) even = NAME##_lanes(t[0], t[STEP], 0), odd = NAME##_lanes(t[0], t[STEP], 1);     \
    if (FOUR) {                                                                               \
      const VECTOR *u = t + 2 * STEP;                                                         \
      VECTOR low = NAME##_lanes(u[0], u[STEP], 0), high = NAME##_lanes(u[0], u[STEP], 1);     \
      rows[2 * STEP] = NAME##_lanes(even, low, 1);                                            \
      rows[3 * STEP] = NAME##_lanes(odd, high, 1);                                            \
      even = NAME##_lanes(even, low, 0);                                                      \
      odd = NAME##_lanes(odd, high, 0);                                                       \
    }                                                                                         \
    if (TWO) rows[STEP] = odd;                                                                \
    rows[0] = even;                                                                           \
  }                                                                                           \
                                                                                              \
  LINKAGE void NAME##_transpose(VECTOR *rows) {                                               \
    VECTOR t[NAME##_COUNT];                                                                   \
    SIMD_SQUARE_UNROLL for (int i = 0; i < NAME##_COUNT; i += 2) {                            \
      t[i] = NAME##_zip(rows[i], rows[i + 1], 1, 0);                                          \
      t[i + 1] = NAME##_zip(rows[i], rows[i + 1], 1, 1);                                      \
    }                                                                                         \
    SIMD_SQUARE_UNROLL for (int i = 0; NAME##_LANE == 4 && i < NAME##_COUNT; i += 4) {        \
      VECTOR low = t[i + 1];                                                                  \
      t[i + 1] = NAME##_zip(t[i], t[i + 2], 2, 1);                                            \
      t[i] = NAME##_zip(t[i], t[i + 2], 2, 0);                                                \
      t[i + 2] = NAME##_zip(low, t[i + 3], 2, 0);                                             \
      t[i + 3] = NAME##_zip(low, t[i + 3], 2, 1);                                             \
    }                                                                                         \
    SIMD_SQUARE_UNROLL for (int c = 0; c < NAME##_LANE; c++) NAME##_columns(t + c, rows + c); \
  }
#endif
