/* Mode of the calling thread for denormal numbers: IEEE 754, the initial mode of every thread, or
 * flush to zero, for operands and results alike, which avoids the slow path that many processors
 * have. Only arithmetic is affected: moves keep the bits. No effect on processors without such a
 * mode. */
#ifndef HR_BASE_FP_MODE_H
#define HR_BASE_FP_MODE_H

#include <stdint.h>

typedef uint64_t hr_fp_mode_t; /* control bits of the processor */

#if defined(__x86_64__)
enum { HR_FP_FLAGS = 0x3f, HR_FP_FLUSH = 0x8040 }; /* MXCSR: exception flags; FTZ and DAZ */
static inline hr_fp_mode_t hr_fp_mode(void) { return __builtin_ia32_stmxcsr() & ~HR_FP_FLAGS; }
static inline void hr_fp_mode_set(hr_fp_mode_t mode) { __builtin_ia32_ldmxcsr((unsigned)mode); }
#elif defined(__aarch64__)
enum { HR_FP_FLUSH = 1 << 24 }; /* FPCR.FZ */
static inline hr_fp_mode_t hr_fp_mode(void) {
  hr_fp_mode_t mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
static inline void hr_fp_mode_set(hr_fp_mode_t mode) {
  __asm__ volatile("msr fpcr, %0" : : "r"(mode));
}
#else
enum { HR_FP_FLUSH = 0 };
static inline hr_fp_mode_t hr_fp_mode(void) { return 0; }
static inline void hr_fp_mode_set(hr_fp_mode_t mode) { (void)mode; }
#endif

/* Denormal numbers are zeros from here on; the mode before, for hr_fp_mode_set, is returned. */
static inline hr_fp_mode_t hr_fp_mode_flush(void) {
  hr_fp_mode_t mode = hr_fp_mode();
  if ((mode & HR_FP_FLUSH) != HR_FP_FLUSH) hr_fp_mode_set(mode | HR_FP_FLUSH);
  return mode;
}

#endif
