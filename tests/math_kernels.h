/* Kernels of one math op over an array, for the tests of generated math and for its timings. */
#ifndef TESTS_MATH_KERNELS_H
#define TESTS_MATH_KERNELS_H

#include "base/buffer.h"
#include "base/workers.h"
#include "jit/compile_pool.h"
#include "jit/jit_math.h"
#include "jit/object_loader.h"

typedef struct math_kernel {
  hlo_opcode_t op;
  bool is_f64;
  int lanes; /* elements a step; 1: no vectors */
  /* Set by math_kernels_make: out[i] = op(x[i], y[i]) for i < count, a multiple of `lanes`; out of bytes for IS_FINITE. */
  void (*run)(const void *x, const void *y, void *out, int64_t count);
  jit_object_t *object;
  size_t object_bytes;
} math_kernel_t;

/* Compiles them, each a module of its own. */
hr_status_t math_kernels_make(math_kernel_t *kernels, int count, hr_workers_t *workers);
void math_kernels_free(math_kernel_t *kernels, int count);
bool math_op_is_binary(hlo_opcode_t op);

#endif
