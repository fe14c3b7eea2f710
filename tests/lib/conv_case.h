/* Convolutions as cases: what they mean, how the instruction is made, and how they are drawn. */
#ifndef HLO_TESTS_CONV_CASE_H
#define HLO_TESTS_CONV_CASE_H

#include "tests/lib/native_harness.h"

typedef struct conv_types {
  hr_dtype_t lhs, rhs, out;
} conv_types_t;

/* Rows of conv_types; the first three are F32, which is drawn most often. */
enum {
  CONV_F32 = 0,
  CONV_BF16 = 3,
  CONV_F16 = 5,
  CONV_S8,
  CONV_F64,
  CONV_C64,
  CONV_C128,
  CONV_S32
};

typedef enum conv_kind {
  CONV_FORWARD,
  CONV_INPUT_GRADIENT,
  CONV_WEIGHT_GRADIENT,
  CONV_ANY
} conv_kind_t;

/* A convolution by what it means; dimension numbers are drawn. */
typedef struct conv_case {
  const conv_types_t *types;
  int spatial;
  int64_t batch, features, out_features, feature_groups, batch_groups;
  int64_t in[3];
  hlo_window_dim_t window[3];
  bool is_gradient; /* a gradient of weights, with the channels of both operands last */
} conv_case_t;

/* Draws case number `i`. */
typedef conv_case_t (*conv_draw_fn_t)(uint64_t *seed, int i);

extern const conv_types_t conv_types[];
/* The cases of conv_cases.def, so large that algorithms are measured. */
extern const conv_case_t conv_large_cases[];
extern const int conv_large_count;

/* The instruction, with dimension numbers that are drawn; NULL if the window does not fit. It
 * lives in the module of the environment. */
const hlo_instr_t *conv_case_build(native_env_t *env, uint64_t *seed, const conv_case_t *c);
/* Prints a case that failed; `seed`: state of the generator before it. */
void conv_case_print(const conv_case_t *c, uint64_t seed);
/* Draws operands, and compares the native kernel with the reference. Returns 1 if they differ;
 * *declined counts kernels that decline. */
int conv_case_check(native_env_t *env, uint64_t *seed, const conv_case_t *c, int *declined);
/* Draws and checks `count` cases; asserts that no kernel declines. */
void conv_check_drawn(int workers, uint64_t seed, int count, conv_draw_fn_t draw);
/* What JAX writes for this kind: small, with 1 to 3 spatial dimensions. */
conv_case_t conv_draw_case(uint64_t *seed, conv_kind_t kind);
/* Cases by kind, as conv_draw_fn_t. */
conv_case_t conv_draw_forward(uint64_t *seed, int i);
/* Gradients with respect to the input. */
conv_case_t conv_draw_of_input(uint64_t *seed, int i);
/* Gradients with respect to the weights. */
conv_case_t conv_draw_of_weights(uint64_t *seed, int i);
/* Windows of every form. */
conv_case_t conv_draw_anything(uint64_t *seed, int i);
/* Forward, or gradients of the input. */
conv_case_t conv_draw_either(uint64_t *seed, int i);
/* Gradients of weights with windows of up to 6 elements and strides of up to 3. */
conv_case_t conv_draw_gradient(uint64_t *seed, int i);
/* The same of one channel per group, of all real conv_types; some with long lines and windows. */
conv_case_t conv_draw_depthwise_gradient(uint64_t *seed, int i);
/* Up to 4 output channels. */
conv_case_t conv_draw_few_columns(uint64_t *seed, int i);
/* Groups of few channels, some of them one each, of all real conv_types. */
conv_case_t conv_draw_small_groups(uint64_t *seed, int i);
/* Strides of up to 4 with base dilation of up to 5, of all real conv_types. */
conv_case_t conv_draw_strided_holes(uint64_t *seed, int i);
/* Images of few channels and long lines. */
conv_case_t conv_draw_lines(uint64_t *seed, int i);

#endif
