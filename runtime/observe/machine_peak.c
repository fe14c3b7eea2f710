/* Peak rates of the host. Bandwidth: a triad a[i] = b[i] + s * c[i] over arrays larger than any
 * cache (the third kernel of STREAM), counting reads and writes but no write-allocate.
 * Arithmetic: CHAINS independent fused multiply-adds in registers, enough to hide their latency,
 * with the widest vectors of the processor. The best of TRIES runs counts. */
#include "observe/machine_peak.h"

#include <unistd.h>

#include "base/mem.h"
#include "base/processors.h"
#include "base/trace.h"

#define TRIES 4
#define TRIAD_COUNT ((int64_t)8 << 20) /* floats of each of the three arrays */
#define FMA_ITERATIONS 200000
#define CHAINS \
  12 /* independent sums: more than the latency of the multiplier times its throughput */

/* --- memory --- */

typedef struct triad {
  float *restrict to;
  const float *restrict a, *restrict b;
} triad_t;

static void triad_part(void *context, int64_t begin, int64_t end, int worker) {
  const triad_t *triad = context;
  (void)worker;
  for (int64_t i = begin; i < end; i++) triad->to[i] = triad->a[i] + 3.0f * triad->b[i];
}

static void fill_part(void *context, int64_t begin, int64_t end, int worker) {
  (void)worker;
  for (int64_t i = begin; i < end; i++) ((float *)context)[i] = 1;
}

static hr_status_t measure_memory(hr_workers_t *workers, double *out_bytes_per_s) {
  void *memory;
  HR_TRY(hr_alloc((size_t)TRIAD_COUNT * 3 * sizeof(float), &memory));
  float *floats = memory;
  triad_t triad = {floats, floats + TRIAD_COUNT, floats + 2 * TRIAD_COUNT};
  uint64_t best = UINT64_MAX;
  hr_workers_split(workers, 3 * TRIAD_COUNT, 1, fill_part, floats);
  for (int t = 0; t < TRIES; t++) {
    uint64_t begin = hr_clock_ns();
    hr_workers_split(workers, TRIAD_COUNT, 1, triad_part, &triad);
    uint64_t took = hr_clock_ns() - begin;
    if (took < best) best = took;
  }
  hr_free(memory);
  *out_bytes_per_s = 1e9 * (double)TRIAD_COUNT * 3 * sizeof(float) / (double)best;
  return NULL;
}

/* --- arithmetic --- */

/* Contracted: a product and the sum that uses it become one operation. */
#ifdef __clang__
#define CONTRACTED noinline
#define CONTRACT_BODY _Pragma("clang fp contract(fast)")
#else
#define CONTRACTED noinline, optimize("O3", "fp-contract=fast")
#define CONTRACT_BODY
#endif

/* A loop of multiply-adds, for vectors of several widths. Its result is returned, so that the
 * compiler keeps the loop. */
#define FMA_LOOP(name, bytes, attributes)                                                  \
  typedef float name##_t __attribute__((vector_size(bytes)));                              \
  attributes static double name(float *out) {                                              \
    CONTRACT_BODY                                                                          \
    name##_t sums[CHAINS], factor, term;                                                   \
    for (size_t i = 0; i < bytes / sizeof(float); i++) factor[i] = 0.999f, term[i] = 0.5f; \
    for (int c = 0; c < CHAINS; c++) sums[c] = factor * (float)c;                          \
    for (int t = 0; t < FMA_ITERATIONS; t++)                                               \
      for (int c = 0; c < CHAINS; c++) sums[c] = sums[c] * factor + term;                  \
    for (int c = 0; c < CHAINS; c++) *out += sums[c][0];                                   \
    return 2.0 * CHAINS * FMA_ITERATIONS * (double)(bytes / sizeof(float));                \
  }

FMA_LOOP(fma_plain, 16, __attribute__((CONTRACTED)))
#if defined(__x86_64__)
FMA_LOOP(fma_avx2, 32, __attribute__((CONTRACTED, target("avx2,fma"))))
FMA_LOOP(fma_avx512, 64, __attribute__((CONTRACTED, target("avx512f"))))
#endif

/* Returns the number of floating-point operations. */
static double run_fma(float *out) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return fma_avx512(out);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return fma_avx2(out);
#endif
  return fma_plain(out);
}

static void fma_part(void *context, int64_t begin, int64_t end, int worker) {
  double *made = context;
  volatile float sink = 0;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    float sum = 0;
    made[i] = run_fma(&sum);
    sink = sum;
  }
  (void)sink;
}

/* Workers beyond the processors would take longer, and give no more. */
static hr_status_t measure_arithmetic(hr_workers_t *workers, double *out_flops) {
  int count = hr_processor_limit((int)sysconf(_SC_NPROCESSORS_ONLN));
  if (hr_workers_count(workers) < count) count = hr_workers_count(workers);
  void *memory;
  HR_TRY(hr_alloc_zeroed((size_t)count * sizeof(double), &memory));
  double *made = memory;
  *out_flops = 0;
  for (int t = 0; t < TRIES; t++) {
    double all = 0;
    uint64_t begin = hr_clock_ns();
    hr_workers_split(workers, count, 1, fma_part, made);
    double took = (double)(hr_clock_ns() - begin);
    for (int w = 0; w < count; w++) all += made[w];
    if (1e9 * all / took > *out_flops) *out_flops = 1e9 * all / took;
  }
  hr_free(made);
  return NULL;
}

hr_status_t machine_peak_measure(hr_workers_t *workers, machine_peak_t *out_peak) {
  machine_peak_t peak;
  HR_TRY(measure_memory(workers, &peak.bytes_per_s));
  HR_TRY(measure_arithmetic(workers, &peak.flops));
  *out_peak = peak;
  return NULL;
}
