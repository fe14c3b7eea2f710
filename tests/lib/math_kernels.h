/* Kernels of one math op over an array, for the tests of generated math and for its timings. */
#ifndef TESTS_MATH_KERNELS_H
#define TESTS_MATH_KERNELS_H

#include "base/buffer.h"
#include "base/workers.h"
#include "jit/compile_pool.h"
#include "jit/link/object_loader.h"
#include "jit/math/jit_math.h"

typedef struct math_kernel {
  hlo_opcode_t op;
  bool is_f64;
  int lanes; /* elements a step; 1: no vectors */
  /* Set by math_kernels_make: out[i] = op(x[i], y[i]) for i < count, a multiple of `lanes`; out of
   * bytes for IS_FINITE. */
  void (*run)(const void *x, const void *y, void *out, int64_t count);
  jit_object_t *object;
  size_t object_bytes;
} math_kernel_t;

/* Compiles them, each a module of its own. */
hr_status_t math_kernels_make(math_kernel_t *kernels, int count, const jit_target_t *target,
                              hr_workers_t *workers);
/* Compiles them, but leaves the objects unlinked: `count` of them, the caller releases each. */
hr_status_t math_kernels_compile(math_kernel_t *kernels, int count, const jit_target_t *target,
                                 hr_workers_t *workers, hr_buffer_t **out_objects);
void math_kernels_free(math_kernel_t *kernels, int count);
bool math_op_is_binary(hlo_opcode_t op);

/* The ops that are not exact, with the same in more digits. */
typedef struct math_reference {
  hlo_opcode_t op;
  const char *name;
  double (*of_f32)(double x); /* one operand */
  long double (*of_f64)(long double x);
  double (*of_two_f32)(double x, double y); /* two */
  long double (*of_two_f64)(long double x, long double y);
} math_reference_t;
extern const math_reference_t math_references[];
extern const int math_reference_count;

/* The exact result for element values x and y, and how far `got` is from it in units of the last
 * place of its type; infinite if one is a NaN, an infinity or a zero of another sign and the other
 * is not. A nearest float counts as half a unit off. */
double math_error_f32(const math_reference_t *reference, float x, float y, float got);
double math_error_of_f32(double want, float got); /* error of `got`, from the exact result */
double math_error_f64(const math_reference_t *reference, double x, double y, double got);

#endif
