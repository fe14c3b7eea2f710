/* How native kernels are compiled for the machine that they will run on: functions marked NATIVE_CLONES exist once for
 * AVX-512, once for AVX2 and once for the least machine, and the loader chooses. Loops in them are written plainly, for
 * the compiler to make vector code of; NATIVE_OPTIMIZE, at the head of a file, lets it try as hard as it can. */
#ifndef HLO_OPS_NATIVE_CPU_H
#define HLO_OPS_NATIVE_CPU_H

#include "base/clones.h"

#define NATIVE_CLONES HR_CLONES("arch=x86-64-v4", "avx2", "default")
#if HR_HAS_CLONES
#define NATIVE_OPTIMIZE _Pragma("GCC optimize(\"O3\")")
#else
#define NATIVE_OPTIMIZE
#endif

#define NATIVE_INLINE static inline __attribute__((always_inline))

/* Vectors of 64, 32 and 16 bytes: what functions written for one width are chosen by. */
typedef enum native_width { NATIVE_NARROW, NATIVE_MIDDLE, NATIVE_WIDE } native_width_t;

#if defined(__x86_64__)
#define NATIVE_HAS_WIDTHS 1
static inline native_width_t native_width(void) {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
    return NATIVE_WIDE;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? NATIVE_MIDDLE : NATIVE_NARROW;
}

/* Whether vectors of 64 bytes multiply pairs of bf16, or fours of bytes, and add them up. */
static inline int native_has_pairs(void) { return native_width() == NATIVE_WIDE && __builtin_cpu_supports("avx512bf16"); }
static inline int native_has_fours(void) { return native_width() == NATIVE_WIDE && __builtin_cpu_supports("avx512vnni"); }
/* Whether it multiplies whole tiles of these, which oneDNN knows how to. */
static inline int native_has_matrices(void) { return __builtin_cpu_supports("amx-bf16"); }
#else
#define NATIVE_HAS_WIDTHS 0
static inline native_width_t native_width(void) { return NATIVE_NARROW; }
static inline int native_has_pairs(void) { return 0; }
static inline int native_has_fours(void) { return 0; }
static inline int native_has_matrices(void) { return 0; }
#endif

#endif
