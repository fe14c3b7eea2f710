/* Compilation of native kernels for the machine at run time: functions marked NATIVE_CLONES exist
 * once for AVX-512, once for AVX2 and once for the baseline, and the loader chooses. Their loops
 * are written plainly, for the compiler to vectorise; NATIVE_OPTIMIZE, at the head of a file,
 * selects the highest optimisation level. */
#ifndef HLO_OPS_SIMD_TARGET_H
#define HLO_OPS_SIMD_TARGET_H

#include <stddef.h>

#include "base/clones.h"

#define NATIVE_CLONES HR_CLONES("arch=x86-64-v4", "avx2", "default")
#if HR_HAS_CLONES
#define NATIVE_OPTIMIZE _Pragma("GCC optimize(\"O3\")")
#else
#define NATIVE_OPTIMIZE
#endif

#define NATIVE_INLINE static inline __attribute__((always_inline))

/* Target of functions with vectors of 64 bytes; Clang ignores a target string with an unknown
 * word. */
#ifdef __clang__
#define SIMD_512_MACHINE "arch=x86-64-v4"
#else
#define SIMD_512_MACHINE "arch=x86-64-v4,prefer-vector-width=512"
#endif

/* Clang, which builds the fuzz targets, lacks GCC's shuffle by a vector of indices. Lane by lane
 * here; the indices of the second vector follow those of the first. */
#ifdef __clang__
#define SIMD_SHUFFLE_2(a, b, indices)                                         \
  ({                                                                          \
    __typeof__((a) + (a)) from_a_ = (a), from_b_ = (b), to_;                  \
    size_t lanes_ = sizeof to_ / sizeof to_[0];                               \
    for (size_t i_ = 0; i_ < lanes_; i_++) {                                  \
      size_t index_ = (size_t)(indices)[i_] % (2 * lanes_);                   \
      to_[i_] = index_ < lanes_ ? from_a_[index_] : from_b_[index_ - lanes_]; \
    }                                                                         \
    to_;                                                                      \
  })
#define SIMD_SHUFFLE_1(a, indices) SIMD_SHUFFLE_2(a, a, indices)
#else
#define SIMD_SHUFFLE_1(a, indices) __builtin_shuffle(a, indices)
#define SIMD_SHUFFLE_2(a, b, indices) __builtin_shuffle(a, b, indices)
#endif

/* Vectors of 64, 32 and 16 bytes, to choose among functions written for one width. */
typedef enum simd_width { SIMD_128, SIMD_256, SIMD_512 } simd_width_t;

#if defined(__x86_64__)
#define SIMD_HAS_WIDTHS 1
static inline simd_width_t simd_width(void) {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512cd"))
    return SIMD_512;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                 __builtin_cpu_supports("f16c")
             ? SIMD_256
             : SIMD_128;
}

/* Whether vectors of 64 bytes multiply pairs of bf16, or groups of four bytes (VNNI), and add them
 * up, in less time than products of f32 take. Processors with AVX512-FP16 (Sapphire Rapids and
 * later) take two cycles for pairs of bf16, as they have AMX for them. */
static inline int cpu_has_fast_bf16(void) {
  return simd_width() == SIMD_512 && __builtin_cpu_supports("avx512bf16") &&
         !__builtin_cpu_supports("avx512fp16");
}
static inline int cpu_has_avx512_vnni(void) {
  return simd_width() == SIMD_512 && __builtin_cpu_supports("avx512vnni");
}
/* Whether it multiplies whole tiles of these, which oneDNN knows how to. */
static inline int cpu_has_amx(void) { return __builtin_cpu_supports("amx-bf16"); }
#else
#define SIMD_HAS_WIDTHS 0
static inline simd_width_t simd_width(void) { return SIMD_128; }
static inline int cpu_has_fast_bf16(void) { return 0; }
static inline int cpu_has_avx512_vnni(void) { return 0; }
static inline int cpu_has_amx(void) { return 0; }
#endif

#endif
