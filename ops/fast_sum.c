#include "ops/fast_sum.h"

/* gcc makes a version for each of these processors, and the loader takes the best one. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define FAST __attribute__((optimize("O3"), target_clones("avx512f", "avx2", "default")))
#else
#define FAST
#endif

#define LOOP(name, type, operator)                                                \
  FAST static void name(void *out, const void *a, const void *b, int64_t count) { \
    type *to = out;                                                               \
    const type *x = a, *y = b;                                                    \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < count; i++) to[i] = x[i] operator y[i]; \
  }

LOOP(add_f32, float, +)
LOOP(add_f64, double, +)
LOOP(add_32, uint32_t, +)
LOOP(add_64, uint64_t, +)
LOOP(multiply_f32, float, *)
LOOP(multiply_f64, double, *)

fast_sum_fn fast_sum_of(hlo_opcode_t op, hr_dtype_t dtype) {
  if (op == HLO_ADD) switch (dtype) {
      case HR_F32: return add_f32;
      case HR_F64: return add_f64;
      case HR_S32: case HR_U32: return add_32;
      case HR_S64: case HR_U64: return add_64;
      default: return NULL;
    }
  if (op == HLO_MULTIPLY) return dtype == HR_F32 ? multiply_f32 : dtype == HR_F64 ? multiply_f64 : NULL;
  return NULL;
}
