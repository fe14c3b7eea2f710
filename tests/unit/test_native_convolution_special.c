/* Native convolutions of numbers that are not finite, and of many weights. */
#include <math.h>

#include "tests/lib/conv_case.h"
#include "tests/lib/unit.h"

static void put_special(uint64_t *seed, hlo_value_t *value) {
  static const double specials[] = {INFINITY, -INFINITY, NAN};
  hr_dtype_t real = hr_dtype_real(value->dtype);
  size_t bytes = hr_dtype_bytes(real);
  if (!hr_dtype_is_float(real)) return;
  uint64_t bits = hr_float_encode(real, specials[native_pick(seed, 3)]);
  memcpy((char *)value->data + (size_t)native_pick(seed, value->count) * bytes, &bits, bytes);
}

/* Padding and holes times infinite and NaN weights: some numbers of either operand are such.
 * Weights are constant in a third of the cases. */
static void check_nonfinite(native_env_t *env, uint64_t *seed, const conv_case_t *c,
                            int *compared) {
  uint64_t start = *seed;
  hlo_instr_t *conv = (hlo_instr_t *)conv_case_build(env, seed, c);
  hlo_value_t *values[2];
  int declined = 0;
  if (!conv) return;
  for (int k = 0; k < 2; k++) {
    const hlo_shape_t *shape = conv->operands[k]->shape;
    values[k] = kernel_value(shape->dtype, shape->rank, shape->dims, NULL);
    native_fill_small(seed, values[k]);
  }
  if (native_pick(seed, 3)) put_special(seed, values[1]);
  if (native_pick(seed, 2)) put_special(seed, values[native_pick(seed, 2)]);
  if (native_pick(seed, 3) == 0) {
    conv->operands[1]->op = HLO_CONSTANT;
    conv->operands[1]->literal = values[1];
  }
  bool fine = native_agrees_on(env, conv, values, &declined);
  if (!fine) conv_case_print(c, start);
  CU_ASSERT_TRUE(fine && !declined);
  for (int k = 0; k < 2; k++) hlo_value_release(values[k]);
  ++*compared;
}

static conv_case_t draw_winograd(uint64_t *seed, int i) {
  conv_case_t c = conv_draw_case(seed, CONV_FORWARD);
  c.types = &conv_types[i % 2 ? CONV_F32 : CONV_F64];
  c.spatial = 2;
  c.feature_groups = 1;
  c.features = 16 + native_pick(seed, 30);
  c.out_features = 16 + native_pick(seed, 30);
  for (int d = 0; d < 2; d++) {
    c.in[d] = 12 + native_pick(seed, 12);
    c.window[d] = (hlo_window_dim_t){3, 1, native_pick(seed, 3), native_pick(seed, 3), 1, 1, false};
  }
  return c;
}

/* Many weights of few places. */
static conv_case_t draw_many_weights(uint64_t *seed, int i) {
  conv_case_t c = draw_winograd(seed, i);
  c.batch = 1 + native_pick(seed, 4);
  c.features = 100 + native_pick(seed, 80);
  c.out_features = 100 + native_pick(seed, 80);
  for (int d = 0; d < 2; d++) {
    c.in[d] = 3 + native_pick(seed, 14);
    c.window[d].stride = 1 + (i % 3 == 0);
    c.window[d].reversal = i % 5 == 0;
    if (i % 6 == 1) c.window[d].base_dilation = 2;
  }
  return c;
}

/* Images of whole tiles, which Winograd's way takes by columns. */
static conv_case_t draw_many_columns(uint64_t *seed, int i) {
  conv_case_t c = draw_many_weights(seed, 2 * i);
  c.types = &conv_types[i % 2 ? CONV_F32 : CONV_F64];
  c.batch = 2;
  c.features = 96 + 8 * native_pick(seed, 4);
  c.out_features = 100 + native_pick(seed, 60);
  for (int d = 0; d < 2; d++) {
    c.in[d] = 14;
    c.window[d] = (hlo_window_dim_t){3, 1, 1, 1, 1, 1, false};
  }
  return c;
}

static void many_weights(void) {
  native_env_t env;
  uint64_t seed = 360;
  int compared = 0;
  for (int workers = 1; workers <= 5; workers += 2)
    conv_check_drawn(workers, 360 + (uint64_t)workers, 6, draw_many_weights);
  for (int workers = 1; workers <= 5; workers += 2)
    conv_check_drawn(workers, 370 + (uint64_t)workers, 4, draw_many_columns);
  native_env_init(&env, 2);
  for (int i = 0; i < 6; i++) {
    conv_case_t c = draw_many_weights(&seed, i);
    check_nonfinite(&env, &seed, &c, &compared);
  }
  CU_ASSERT_TRUE(compared > 3);
  native_env_deinit(&env);
}

static void nonfinite(void) {
  static const conv_draw_fn_t draws[] = {
      conv_draw_forward,       conv_draw_of_input,    conv_draw_of_weights, conv_draw_anything,
      conv_draw_gradient,      conv_draw_few_columns, conv_draw_lines,      conv_draw_small_groups,
      conv_draw_strided_holes, draw_winograd};
  for (size_t k = 0; k < sizeof draws / sizeof *draws; k++) {
    native_env_t env;
    uint64_t seed = 300 + k;
    int compared = 0;
    native_env_init(&env, 1 + (int)k % 3);
    for (int i = 0; i < 60; i++) {
      conv_case_t c = draws[k](&seed, i);
      check_nonfinite(&env, &seed, &c, &compared);
    }
    CU_ASSERT_TRUE(compared >= 30);
    native_env_deinit(&env);
  }
}

static void larger_nonfinite(void) {
  native_env_t env;
  uint64_t seed = 350;
  int compared = 0;
  native_env_init(&env, 2);
  for (int i = 0; i < 3 * conv_large_count; i++)
    check_nonfinite(&env, &seed, &conv_large_cases[i / 3], &compared);
  CU_ASSERT_TRUE(compared > 0);
  native_env_deinit(&env);
}

CU_TestInfo suite_native_convolution_special[] = {{"not finite", nonfinite},
                                                  {"not finite, larger", larger_nonfinite},
                                                  {"many weights", many_weights},
                                                  CU_TEST_INFO_NULL};
