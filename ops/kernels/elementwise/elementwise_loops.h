/* How the files of elementwise kernels make their loops: one macro per number of operands, which
 * turns an expression of the elements a, b, c into a loop over arrays. Private to elementwise*.c.
 */
#ifndef HLO_OPS_ELEMENTWISE_LOOPS_H
#define HLO_OPS_ELEMENTWISE_LOOPS_H

#include "ops/kernels/elementwise/elementwise.h"

/* What a loop may need to know beside its operands. */
typedef struct ew_params {
  int bits;                         /* true width of the integers: of the result, for conversions */
  int exponent_bits, mantissa_bits; /* reduce-precision */
  float least_normal;  /* reduce-precision of a narrow float: its smallest normal number */
  bool has_minus_zero; /* the operand's format, for the total order */
  hr_dtype_t operands[EW_MAX_OPERANDS], result;
} ew_params_t;

/* A loop over elements of compute types; steps as ew_kernel_run has them. */
typedef void (*ew_loop_fn)(const ew_params_t *params, int64_t count, const void *const *in,
                           const int64_t *strides, void *out);
typedef void (*ew_fold_fn)(int64_t count, const void *in, int64_t stride, void *acc);

/* Loops for an op on one compute type: NULL where there are none. */
typedef struct ew_row {
  ew_loop_fn loop;
  ew_fold_fn fold; /* of the ops that reduce: add, multiply, maximum, minimum, and, or, xor */
} ew_row_t;

/* The families. `type` is a compute type; all return an empty row for an op that is not theirs. */
ew_row_t ew_integer_row(hlo_opcode_t op, hr_dtype_t type);
ew_row_t ew_float_row(hlo_opcode_t op, hr_dtype_t type);
ew_row_t ew_math_row(hlo_opcode_t op, hr_dtype_t type);
ew_row_t ew_complex_row(hlo_opcode_t op, hr_dtype_t type);
/* `type` is the operands'. In the total order narrow floats are not widened: the loop reads their
 * bits. */
ew_loop_fn ew_compare_loop(hlo_enum_DIRECTION_t direction, hlo_enum_COMPARISON_t order,
                           hr_dtype_t type);
/* The fold in f32 of a narrow float that rounds by itself; NULL if there is none. */
ew_fold_fn ew_rounding_fold(hlo_opcode_t op, hr_dtype_t type);
ew_loop_fn ew_reduce_precision_loop(hr_dtype_t type); /* of the operand, not its compute type */
ew_loop_fn ew_clamp_loop(hr_dtype_t type);
ew_loop_fn ew_select_loop(size_t element_bytes);
/* Between compute types. to_odd: to f32, with the rounding that makes a second one harmless. */
ew_loop_fn ew_convert_loop(hr_dtype_t from, hr_dtype_t to, bool to_odd);
ew_loop_fn ew_stochastic_loop(const ew_params_t *params);

/* An iteration may use no result of another one: the output is no operand, or element by element
 * the same. */
#if defined(__clang__)
/* Loops that call functions stay scalar, and that is fine. */
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

/* For cheap expressions: array with array, array with scalar, scalar with array, and the rest. */
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

/* For expressions beside whose cost the steps do not count. */
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

#define EW_FOLD(name, T, EXPRESSION)                                           \
  static void name(int64_t count, const void *in, int64_t stride, void *acc) { \
    const T *bs = in;                                                          \
    T a = *(T *)acc;                                                           \
    for (int64_t i = 0; i < count; i++) {                                      \
      T b = bs[i * stride];                                                    \
      a = (EXPRESSION);                                                        \
    }                                                                          \
    *(T *)acc = a;                                                             \
  }

#endif
