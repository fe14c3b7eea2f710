/* Sums, products, minima and maxima of several arrays in one pass: the accumulator stays in
 * registers and each operand is read once, which halves the memory traffic of pairwise
 * combination. */
#include "ops/kernels/comm/reduce_local.h"

#include "base/clones.h"

#if HR_HAS_CLONES
#define FAST __attribute__((optimize("O3"))) HR_CLONES("avx512f", "avx2", "default")
#else
#define FAST
#endif

#define MAX_ARRAYS 8 /* arrays combined in one pass */
#define INLINE static inline __attribute__((always_inline))

/* `n` becomes a constant when the loop is inlined into the function below. */
#define LOOP(name, type, operator)                                                       \
  INLINE void name##_of(type *to, const void *const *in, int n, int64_t count) {         \
    const type *x[MAX_ARRAYS];                                                           \
    for (int k = 0; k < n; k++) x[k] = in[k];                                            \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < count; i++) {                           \
      type sum = x[0][i];                                                                \
      _Pragma("GCC unroll 8") for (int k = 1; k < n; k++) sum = sum operator x[k][i];    \
      to[i] = sum;                                                                       \
    }                                                                                    \
  }                                                                                      \
  FAST static void name##_some(void *out, const void *const *in, int n, int64_t count) { \
    switch (n) {                                                                         \
      case 2:                                                                            \
        name##_of(out, in, 2, count);                                                    \
        break;                                                                           \
      case 3:                                                                            \
        name##_of(out, in, 3, count);                                                    \
        break;                                                                           \
      case 4:                                                                            \
        name##_of(out, in, 4, count);                                                    \
        break;                                                                           \
      case 5:                                                                            \
        name##_of(out, in, 5, count);                                                    \
        break;                                                                           \
      case 6:                                                                            \
        name##_of(out, in, 6, count);                                                    \
        break;                                                                           \
      case 7:                                                                            \
        name##_of(out, in, 7, count);                                                    \
        break;                                                                           \
      default:                                                                           \
        name##_of(out, in, MAX_ARRAYS, count);                                           \
    }                                                                                    \
  }                                                                                      \
  static void name(void *out, const void *const *in, int arrays, int64_t count) {        \
    accumulate_arrays(name##_some, out, in, arrays, count);                              \
  }

/* Combines MAX_ARRAYS arrays in the first pass; later passes read MAX_ARRAYS - 1 more and the
 * accumulator. */
static void accumulate_arrays(reduce_local_fn some, void *out, const void *const *in, int arrays,
                              int64_t count) {
  some(out, in, arrays < MAX_ARRAYS ? arrays : MAX_ARRAYS, count);
  for (int next = MAX_ARRAYS; next < arrays; next += MAX_ARRAYS - 1) {
    const void *more[MAX_ARRAYS] = {out};
    int n = arrays - next < MAX_ARRAYS - 1 ? arrays - next : MAX_ARRAYS - 1;
    for (int k = 0; k < n; k++) more[k + 1] = in[next + k];
    some(out, more, n + 1, count);
  }
}

LOOP(add_f32, float, +)
LOOP(add_f64, double, +)
LOOP(add_32, uint32_t, +)
LOOP(add_64, uint64_t, +)
LOOP(multiply_f32, float, *)
LOOP(multiply_f64, double, *)

reduce_local_fn reduce_local_of(hlo_opcode_t op, hr_dtype_t dtype) {
  if (op == HLO_ADD) switch (dtype) {
      case HR_F32:
        return add_f32;
      case HR_F64:
        return add_f64;
      case HR_S32:
      case HR_U32:
        return add_32;
      case HR_S64:
      case HR_U64:
        return add_64;
      default:
        return NULL;
    }
  if (op == HLO_MULTIPLY && dtype == HR_F32) return multiply_f32;
  if (op == HLO_MULTIPLY && dtype == HR_F64) return multiply_f64;
  return NULL;
}
