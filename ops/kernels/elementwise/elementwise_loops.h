/* Macros for the loops of elementwise kernels: one per number of operands, which makes a loop over
 * arrays from an expression in the elements a, b, c. Contiguous and scalar operands have separate
 * loops, which vectorise. Private to elementwise*.c. */
#ifndef HLO_OPS_ELEMENTWISE_LOOPS_H
#define HLO_OPS_ELEMENTWISE_LOOPS_H

#include "ops/kernels/elementwise/elementwise.h"

/* Parameters of a loop besides its operands. */
typedef struct ew_params {
  int bits;                         /* true integer width; the result's, for conversions */
  int exponent_bits, mantissa_bits; /* reduce-precision */
  float least_normal;  /* reduce-precision of a narrow float: its smallest normal number */
  bool has_minus_zero; /* total order: whether the operand's format has -0 */
  hr_dtype_t operands[EW_MAX_OPERANDS], result;
} ew_params_t;

/* A loop over elements of compute types; strides as in ew_kernel_run. */
typedef void (*ew_loop_fn)(const ew_params_t *params, int64_t count, const void *const *in,
                           const int64_t *strides, void *out);

/* The families of loops. `type` is a compute type; the result is NULL for an op of another
 * family. */
ew_loop_fn ew_integer_loop(hlo_opcode_t op, hr_dtype_t type);
ew_loop_fn ew_float_loop(hlo_opcode_t op, hr_dtype_t type);
ew_loop_fn ew_math_loop(hlo_opcode_t op, hr_dtype_t type);
ew_loop_fn ew_complex_loop(hlo_opcode_t op, hr_dtype_t type);
/* `type` is the operands'. The total order of narrow floats compares their bits, without
 * widening. */
ew_loop_fn ew_compare_loop(hlo_enum_DIRECTION_t direction, hlo_enum_COMPARISON_t order,
                           hr_dtype_t type);
/* `type` is the operand's, not its compute type. */
ew_loop_fn ew_reduce_precision_loop(hr_dtype_t type);
ew_loop_fn ew_clamp_loop(hr_dtype_t type);
ew_loop_fn ew_select_loop(size_t element_bytes);
/* Conversion between compute types. to_odd: to f32, rounded to odd, after which a second
 * rounding is exact. */
ew_loop_fn ew_convert_loop(hr_dtype_t from, hr_dtype_t to, bool to_odd);
ew_loop_fn ew_stochastic_loop(const ew_params_t *params);

/* X(OPCODE, function, ...) for each transcendental function and root of one operand that real and
 * complex numbers share: the list from which loops and rows are made. */
#define EW_MATH_UNARY(X, ...)                                  \
  X(ACOS, acos, __VA_ARGS__)                                   \
  X(ACOSH, acosh, __VA_ARGS__)                                 \
  X(ASIN, asin, __VA_ARGS__)                                   \
  X(ASINH, asinh, __VA_ARGS__)                                 \
  X(ATAN, atan, __VA_ARGS__)                                   \
  X(ATANH, atanh, __VA_ARGS__)                                 \
  X(CBRT, cbrt, __VA_ARGS__)                                   \
  X(COSINE, cosine, __VA_ARGS__)                               \
  X(COSH, cosh, __VA_ARGS__)                                   \
  X(EXPONENTIAL, exponential, __VA_ARGS__)                     \
  X(EXPONENTIAL_MINUS_ONE, exponential_minus_one, __VA_ARGS__) \
  X(LOG, log, __VA_ARGS__)                                     \
  X(LOG_PLUS_ONE, log_plus_one, __VA_ARGS__)                   \
  X(LOGISTIC, logistic, __VA_ARGS__)                           \
  X(RSQRT, rsqrt, __VA_ARGS__)                                 \
  X(SINE, sine, __VA_ARGS__)                                   \
  X(SINH, sinh, __VA_ARGS__)                                   \
  X(SQRT, sqrt, __VA_ARGS__)                                   \
  X(TAN, tan, __VA_ARGS__)                                     \
  X(TANH, tanh, __VA_ARGS__)

/* Iterations are independent: the output is no operand, or is the operand element by element. */
#if defined(__clang__)
/* Loops that call functions stay scalar; clang would warn. */
#pragma clang diagnostic ignored "-Wpass-failed"
#define EW_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#define EW_OPTIMIZE
#else
#define EW_INDEPENDENT _Pragma("GCC ivdep")
/* -O2 of gcc 12 leaves loops of unknown length scalar. */
#define EW_OPTIMIZE __attribute__((optimize("O3")))
#endif
#define EW_ARGUMENTS \
  const ew_params_t *params, int64_t count, const void *const *in, const int64_t *strides, void *out

#define EW_EACH(A_AT, B_AT, C_AT, EXPRESSION)          \
  EW_INDEPENDENT for (int64_t i = 0; i < count; i++) { \
    A_AT;                                              \
    B_AT;                                              \
    C_AT;                                              \
    to[i] = (EXPRESSION);                              \
  }

#define EW_UNARY(name, OUT, A, EXPRESSION)          \
  EW_OPTIMIZE static void name(EW_ARGUMENTS) {      \
    (void)params;                                   \
    OUT *to = out;                                  \
    const A *as = in[0];                            \
    int64_t stride = strides[0];                    \
    if (stride == 1)                                \
      EW_EACH(A a = as[i], , , EXPRESSION)          \
    else                                            \
      EW_EACH(A a = as[i * stride], , , EXPRESSION) \
  }

/* Cheap expressions: loops for array-array, array-scalar, scalar-array, and any strides. */
#define EW_BINARY(name, OUT, A, EXPRESSION)                             \
  EW_OPTIMIZE static void name(EW_ARGUMENTS) {                          \
    (void)params;                                                       \
    OUT *to = out;                                                      \
    const A *as = in[0], *bs = in[1];                                   \
    int64_t a_step = strides[0], b_step = strides[1];                   \
    if (count == 0) return;                                             \
    if (a_step == 1 && b_step == 1) {                                   \
      EW_EACH(A a = as[i], A b = bs[i], , EXPRESSION)                   \
    } else if (a_step == 1 && b_step == 0) {                            \
      A b = *bs;                                                        \
      EW_EACH(A a = as[i], , , EXPRESSION)                              \
    } else if (a_step == 0 && b_step == 1) {                            \
      A a = *as;                                                        \
      EW_EACH(A b = bs[i], , , EXPRESSION)                              \
    } else {                                                            \
      EW_EACH(A a = as[i * a_step], A b = bs[i * b_step], , EXPRESSION) \
    }                                                                   \
  }

/* Expensive expressions, for which the cost of strided access does not matter. */
#define EW_BINARY_COSTLY(name, OUT, A, B, EXPRESSION)                 \
  EW_OPTIMIZE static void name(EW_ARGUMENTS) {                        \
    (void)params;                                                     \
    OUT *to = out;                                                    \
    const A *as = in[0];                                              \
    const B *bs = in[1];                                              \
    int64_t a_step = strides[0], b_step = strides[1];                 \
    EW_EACH(A a = as[i * a_step], B b = bs[i * b_step], , EXPRESSION) \
  }

#define EW_TERNARY(name, OUT, A, B, C, EXPRESSION)                                          \
  EW_OPTIMIZE static void name(EW_ARGUMENTS) {                                              \
    (void)params;                                                                           \
    OUT *to = out;                                                                          \
    const A *as = in[0];                                                                    \
    const B *bs = in[1];                                                                    \
    const C *cs = in[2];                                                                    \
    int64_t a_step = strides[0], b_step = strides[1], c_step = strides[2];                  \
    if (a_step == 1 && b_step == 1 && c_step == 1)                                          \
      EW_EACH(A a = as[i], B b = bs[i], C c = cs[i], EXPRESSION)                            \
    else if (a_step == 0 && b_step == 1 && c_step == 0 && count > 0) {                      \
      A a = *as;                                                                            \
      C c = *cs;                                                                            \
      EW_EACH(, B b = bs[i], , EXPRESSION)                                                  \
    } else if (a_step == 0 && b_step == 1 && c_step == 1 && count > 0) {                    \
      A a = *as;                                                                            \
      EW_EACH(, B b = bs[i], C c = cs[i], EXPRESSION)                                       \
    } else                                                                                  \
      EW_EACH(A a = as[i * a_step], B b = bs[i * b_step], C c = cs[i * c_step], EXPRESSION) \
  }

#endif
