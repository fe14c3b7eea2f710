/* make bench-math: what generated math costs, per op and type: nanoseconds an element in the
 * first-level cache, and milliseconds and bytes of one kernel. HLORUN_VECTOR=32 shows another
 * width. */
#include <stdio.h>
#include <time.h>

#include "tests/lib/math_kernels.h"

#define COUNT 4096
#define RUNS 300
#define COMPILES 5

static double now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static union {
  float f32[COUNT];
  double f64[COUNT];
} x, y, out;

/* Numbers of usual sizes that every op takes: 1.01 to 3, and for inverses of sines 0.01 to 0.98. */
static void fill(const math_kernel_t *kernel) {
  bool is_inverse = kernel->op == HLO_ASIN || kernel->op == HLO_ACOS || kernel->op == HLO_ATANH;
  for (int i = 0; i < COUNT; i++) {
    double value = is_inverse ? 0.01 + (i * 61 % 97) * 0.01 : 1.01 + (i * 61 % 199) * 0.01;
    if (kernel->is_f64) {
      x.f64[i] = value;
      y.f64[i] = value + 0.3;
    } else {
      x.f32[i] = (float)value;
      y.f32[i] = (float)value + 0.3f;
    }
  }
}

static double run_ns(const math_kernel_t *kernel) {
  double best = 1e9;
  fill(kernel);
  for (int i = 0; i < RUNS; i++) {
    double begin = now(CLOCK_MONOTONIC);
    kernel->run(&x, &y, &out, COUNT);
    double took = now(CLOCK_MONOTONIC) - begin;
    if (took < best) best = took;
  }
  return best / COUNT * 1e9;
}

/* Time of this thread alone, so that other load counts little. */
static hr_status_t compile_ms(math_kernel_t kernel, double *out_ms) {
  *out_ms = 1e9;
  for (int i = 0; i < COMPILES; i++) {
    hr_buffer_t *object;
    double begin = now(CLOCK_THREAD_CPUTIME_ID);
    HR_TRY(math_kernels_compile(&kernel, 1, jit_target_host(), NULL, &object));
    double took = 1e3 * (now(CLOCK_THREAD_CPUTIME_ID) - begin);
    hr_buffer_release(object);
    if (took < *out_ms) *out_ms = took;
  }
  return NULL;
}

static hr_status_t measure(hlo_opcode_t op, bool is_f64) {
  math_kernel_t kernel = {
      .op = op, .is_f64 = is_f64, .lanes = jit_target_host()->vector_bytes / (is_f64 ? 8 : 4)};
  double ms;
  HR_TRY(compile_ms(kernel, &ms));
  HR_TRY(math_kernels_make(&kernel, 1, jit_target_host(), NULL));
  printf("%-24s f%d %8.2f ns %8.2f ms %6zu bytes\n", hlo_op_name(op), is_f64 ? 64 : 32,
         run_ns(&kernel), ms, kernel.object_bytes);
  math_kernels_free(&kernel, 1);
  return NULL;
}

static hr_status_t measure_all(void) {
  printf("%s\n", jit_target_host()->host);
  for (int is_f64 = 0; is_f64 < 2; is_f64++)
    for (int op = 0; op < HLO_OPCODE_COUNT; op++)
      if (jit_math_supports((hlo_opcode_t)op)) HR_TRY(measure((hlo_opcode_t)op, is_f64));
  return NULL;
}

int main(void) {
  hr_status_t st = measure_all();
  if (st) hr_status_print(stderr, st);
  return hr_status_exit_code(st);
}
