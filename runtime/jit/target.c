/* Features of the host processor, from cpuid, and the text that identifies it in cache keys.
 *
 * The text has the cpuid leaves that name the processor and its features, and XCR0, which says
 * what the operating system saves; LLVM chooses instructions by the same leaves. HLORUN_VECTOR
 * narrows vectors together with the features that older processors lack, so that tests cover
 * their code. */
#include "jit/target.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__linux__)
#include <sys/auxv.h>
#endif

#if defined(__x86_64__)

/* the cpuid leaves that name the processor and its features; LLVM reads the same leaves */
static const struct {
  unsigned leaf, part;
  bool with_eax; /* else eax holds no features */
} leaves[] = {{1, 0, true},
              {7, 0, false},
              {7, 1, true},
              {0x14, 0, false},
              {0x19, 0, false},
              {0x24, 0, false},
              {0x80000001u, 0, false},
              {0x80000008u, 0, false},
              {13, 1, true}};

/* In leaf 1, ebx has the number of the executing core, and bit 27 of ecx is set by the operating
 * system; neither is a feature. */
static uint64_t leaf_digest(unsigned leaf, unsigned part, bool with_eax) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(leaf, part, &a, &b, &c, &d)) return 0;
  if (leaf == 1) b = 0;
  if (leaf == 13) {
    b = 0;
    c = 0;
    d = 0;
  }
  if (leaf == 0x80000008u) {
    c = 0;
    d = 0;
  }
  if (!with_eax) a = 0;
  uint64_t digest = 0xcbf29ce484222325u;
  const unsigned words[4] = {a, b, c, d};
  for (int i = 0; i < 4; i++) {
    digest = (digest ^ words[i]) * 0x100000001b3u;
    digest ^= digest >> 29;
  }
  return digest;
}

/* XCR0: the register states that the operating system saves. 0: it saves none. */
static uint64_t enabled_states(void) {
  unsigned a, b, c, d, low, high;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t)high << 32 | low;
}

/* Vendor, model, and a digest of all features. */
static void describe_host(char *text, size_t size) {
  unsigned a = 0, words[3] = {0};
  uint64_t digest = enabled_states() & 0xe6; /* vector states that the system saves */
  __get_cpuid(0, &a, &words[0], &words[2], &words[1]);
  for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++)
    digest = digest * 0x9e3779b97f4a7c15u +
             leaf_digest(leaves[i].leaf, leaves[i].part, leaves[i].with_eax);
  unsigned model = 0, b, c, d;
  __get_cpuid(1, &model, &b, &c, &d);
  snprintf(text, size, "x86_64 %.12s %x %016llx", (const char *)words, model,
           (unsigned long long)digest);
}

#define FP16_EDX (1u << 23) /* AVX512-FP16, in leaf 7 */

/* 64-byte vectors require F, DQ, BW and VL; 32-byte vectors require AVX2 and FMA. */
static void find_features(jit_target_t *target) {
  __builtin_cpu_init();
  bool has_512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                 __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  target->has_fma = __builtin_cpu_supports("fma");
  target->vector_bytes = __builtin_cpu_supports("avx2") && target->has_fma ? 32 : 16;
  if (has_512) target->vector_bytes = 64;
  unsigned a, b, c = 0, d;
  target->has_f16 = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
  target->has_f16_arithmetic = has_512 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & FP16_EDX);
}

/* Narrower vectors come with an older processor's features, so that tests run the code of such a
 * processor. */
static void narrow(jit_target_t *target, int vector_bytes) {
  if (vector_bytes < target->vector_bytes) target->vector_bytes = vector_bytes;
  if (target->vector_bytes < 32) {
    target->has_fma = false;
    target->has_f16 = false;
  }
  target->has_masks = target->vector_bytes == 64;
  target->has_f16_arithmetic &= target->has_masks;
  target->vector_count = target->has_masks ? 32 : 16;
  target->has_gather = target->vector_bytes > 16;
  target->interleave_count = 1;
  if (target->vector_bytes == 32) target->interleave_count = jit_target_wants_llvm() ? 4 : 2;
  if (target->has_masks) target->interleave_count = 4;
}

#else

static void describe_host(char *text, size_t size) {
  unsigned long first = 0, second = 0;
#if defined(__linux__)
  first = getauxval(AT_HWCAP);
  second = getauxval(AT_HWCAP2);
#endif
  unsigned long long processor = 0;
  FILE *file = fopen("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", "r");
  if (file && fscanf(file, "%llx", &processor) != 1) processor = 0;
  if (file) fclose(file);
#if defined(__aarch64__)
  const char *name = "aarch64";
#else
  const char *name = "other";
#endif
  snprintf(text, size, "%s %llx %lx %lx", name, processor, first, second);
}

static void find_features(jit_target_t *target) {
  target->vector_bytes = 16;
  target->has_fma = true;
  target->has_f16 = true;
}

static void narrow(jit_target_t *target, int vector_bytes) {
  (void)vector_bytes;
  target->vector_count = 32;
  target->interleave_count = 1;
}

#endif

bool jit_target_wants_llvm(void) {
  const char *wanted = getenv("HLORUN_X64");
  return wanted && *wanted == '0';
}

/* The width is part of the text because code depends on it. */
jit_target_t jit_target_narrowed(int vector_bytes) {
  jit_target_t target = {0};
  find_features(&target);
  narrow(&target, vector_bytes);
  describe_host(target.host, sizeof target.host);
  size_t size = strlen(target.host);
  snprintf(target.host + size, sizeof target.host - size, " v%d", target.vector_bytes);
  return target;
}

static jit_target_t host;

/* Values of HLORUN_VECTOR below 16 are ignored. */
static void find_host(void) {
  const char *wanted = getenv("HLORUN_VECTOR");
  int vector_bytes = wanted ? atoi(wanted) : 0;
  host = jit_target_narrowed(vector_bytes >= 16 ? vector_bytes : 64);
}

const jit_target_t *jit_target_host(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_host);
  return &host;
}
