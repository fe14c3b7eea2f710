/* Triangular solves with one right-hand side, BLOCK unknowns after the other. The triangle is read
 * once, along its dense dimension:
 *
 *   dense terms        x[block] -= T[block, solved] x[solved], then the block is solved
 *   dense equations    the block is solved, then x[rest] -= T[rest, block] x[block]
 *
 * A triangle on the right is the transpose of one on the left. Upper ones are solved backwards. */
#include "ops/kernels/simd/simd_target.h"
NATIVE_OPTIMIZE
#include "base/arith.h"
#include "ops/kernels/linalg/triangular_halves.h"

#define BLOCK 16
#define VECTOR_BYTES 64
typedef float float_vector_t __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef double double_vector_t __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));

/* Strides of the triangle in elements: from an equation, or an unknown, to the next. */
typedef struct triangle {
  int64_t equation, unknown;
} triangle_t;

#define DEFINE_VECTOR(T)                                                                          \
  NATIVE_INLINE T sum_of_##T(const T *a, const T *x, int64_t count) {                             \
    enum { LANES = VECTOR_BYTES / sizeof(T) };                                                    \
    T##_vector_t sums[2] = {0};                                                                   \
    T sum = 0;                                                                                    \
    int64_t k = 0;                                                                                \
    for (; k + 2 * LANES <= count; k += 2 * LANES)                                                \
      for (int v = 0; v < 2; v++)                                                                 \
        sums[v] += ((const T##_vector_t *)(a + k))[v] * ((const T##_vector_t *)(x + k))[v];       \
    sums[0] += sums[1];                                                                           \
    for (; k < count; k++) sum += a[k] * x[k];                                                    \
    for (int l = 0; l < (int)LANES; l++) sum += sums[0][l];                                       \
    return sum;                                                                                   \
  }                                                                                               \
                                                                                                  \
  /* x[first .. first + count) -= the terms of `terms` unknowns `solved`, equations dense. */     \
  NATIVE_INLINE void subtract_##T(const T *t, int64_t unknown, const T *solved, int64_t terms,    \
                                  int64_t count, T *x) {                                          \
    enum { LANES = VECTOR_BYTES / sizeof(T) };                                                    \
    int64_t j = 0;                                                                                \
    for (; j + LANES <= count; j += LANES) {                                                      \
      T##_vector_t rest = *(const T##_vector_t *)(x + j);                                         \
      for (int64_t k = 0; k < terms; k++)                                                         \
        rest -= solved[k] * *(const T##_vector_t *)(t + k * unknown + j);                         \
      *(T##_vector_t *)(x + j) = rest;                                                            \
    }                                                                                             \
    for (; j < count; j++)                                                                        \
      for (int64_t k = 0; k < terms; k++) x[j] -= solved[k] * t[k * unknown + j];                 \
  }                                                                                               \
                                                                                                  \
  /* Solves the block [low, high), whose other terms have been subtracted. */                     \
  NATIVE_INLINE void block_##T(const triangle_t *by, const T *t, bool forward, bool unit,         \
                               int64_t low, int64_t high, T *x) {                                 \
    for (int64_t s = 0; s < high - low; s++) {                                                    \
      int64_t i = forward ? low + s : high - 1 - s;                                               \
      T rest = x[i];                                                                              \
      int64_t begin = forward ? low : i + 1;                                                      \
      int64_t end = forward ? i : high;                                                           \
      for (int64_t k = begin; k < end; k++) rest -= t[i * by->equation + k * by->unknown] * x[k]; \
      x[i] = unit ? rest : rest / t[i * (by->equation + by->unknown)];                            \
    }                                                                                             \
  }                                                                                               \
                                                                                                  \
  NATIVE_CLONES static void solve_##T(const triangle_t *by, const T *t, bool forward, bool unit,  \
                                      int64_t n, T *x) {                                          \
    for (int64_t done = 0; done < n; done += BLOCK) {                                             \
      int64_t count = hr_min(BLOCK, n - done), low = forward ? done : n - done - count;           \
      int64_t high = low + count, solved = forward ? 0 : high;                                    \
      int64_t rest = forward ? high : 0;                                                          \
      for (int64_t i = low; i < high && by->unknown == 1; i++)                                    \
        x[i] -= sum_of_##T(t + i * by->equation + solved, x + solved, done);                      \
      block_##T(by, t, forward, unit, low, high, x);                                              \
      if (by->unknown != 1)                                                                       \
        subtract_##T(t + low * by->unknown + rest, by->unknown, x + low, count, n - done - count, \
                     x + rest);                                                                   \
    }                                                                                             \
  }
DEFINE_VECTOR(float)
DEFINE_VECTOR(double)

void triangular_solve_vector(const triangular_job_t *job) {
  triangle_t by = {.equation = job->t_row, .unknown = job->t_col};
  if (job->right) by = (triangle_t){.equation = job->t_col, .unknown = job->t_row};
  bool forward = job->upper == job->right;
  if (job->dtype == HR_F32)
    solve_float(&by, job->t, forward, job->unit, job->size, job->x);
  else
    solve_double(&by, job->t, forward, job->unit, job->size, job->x);
}
