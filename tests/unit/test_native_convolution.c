/* Native convolutions against the reference kernel: all kinds, groups, layouts and counts of
 * workers. */
#include <math.h>
#include <stdlib.h>

#include "tests/lib/conv_case.h"
#include "tests/lib/unit.h"

static void forward(void) { conv_check_drawn(2, 1, 120, conv_draw_forward); }

static void of_input(void) { conv_check_drawn(2, 2, 120, conv_draw_of_input); }

static void of_weights(void) { conv_check_drawn(2, 3, 120, conv_draw_of_weights); }

static void anything(void) { conv_check_drawn(1, 4, 120, conv_draw_anything); }

static void strided_holes(void) {
  for (int workers = 1; workers <= 3; workers++)
    conv_check_drawn(workers, 9 + (uint64_t)workers, 120, conv_draw_strided_holes);
}

static void many_workers(void) {
  static const conv_draw_fn_t draws[] = {conv_draw_forward, conv_draw_of_input,
                                         conv_draw_of_weights};
  for (int k = 0; k < 3; k++) conv_check_drawn(5, 8, 120, draws[k]);
}

/* Weights that are known when the kernel is prepared. */
static void constant_weights(void) {
  native_env_t env;
  uint64_t seed = 6;
  int declined = 0, compared = 0;
  native_env_init(&env, 2);
  for (int i = 0; i < 40; i++) {
    conv_case_t c = conv_draw_either(&seed, i);
    hlo_instr_t *conv = (hlo_instr_t *)conv_case_build(&env, &seed, &c);
    hlo_value_t *values[2];
    if (!conv) continue;
    for (int k = 0; k < 2; k++) {
      const hlo_shape_t *shape = conv->operands[k]->shape;
      values[k] = kernel_value(shape->dtype, shape->rank, shape->dims, NULL);
      native_fill_small(&seed, values[k]);
    }
    conv->operands[1]->op = HLO_CONSTANT;
    conv->operands[1]->literal = values[1];
    CU_ASSERT_TRUE(native_agrees_on(&env, conv, values, &declined));
    hlo_value_release(values[0]);
    hlo_value_release(values[1]);
    compared++;
  }
  CU_ASSERT_EQUAL(declined, 0);
  CU_ASSERT_TRUE(compared >= 30);
  native_env_deinit(&env);
}

static void larger_ones(void) {
  native_env_t env;
  uint64_t seed = 7;
  int declined = 0, wrong = 0;
  native_env_init(&env, 2);
  for (int i = 0; i < 4 * conv_large_count; i++)
    wrong += conv_case_check(&env, &seed, &conv_large_cases[i / 4], &declined);
  CU_ASSERT_EQUAL(wrong, 0);
  CU_ASSERT_EQUAL(declined, 0);
  native_env_deinit(&env);
}

/* Windows of 3 x 3 over many channels, which Winograd's algorithm does by fewer products, and, for
 * half of the numbers, gradients of such weights over many positions. */
static conv_case_t draw_fewer_products(uint64_t *seed, int i) {
  static const conv_types_t both[] = {{HR_F32, HR_F32, HR_F32}, {HR_F64, HR_F64, HR_F64}};
  conv_case_t c = {.types = &both[i % 2],
                   .spatial = 2,
                   .batch = 1 + native_pick(seed, 3),
                   .feature_groups = 1,
                   .batch_groups = 1,
                   .features = 16 + native_pick(seed, 60),
                   .out_features = 16 + native_pick(seed, 60)};
  bool many = i % 24 == 6 || i % 24 == 11;
  bool is_gradient = i % 4 >= 2;
  if (many) {
    c.batch = 2;
    c.features = 60 + native_pick(seed, 16);
    c.out_features = 60 + native_pick(seed, 16);
  }
  for (int d = 0; d < 2; d++) {
    c.in[d] = many ? 38 + native_pick(seed, 6) : 14 + native_pick(seed, 12);
    c.window[d] =
        (hlo_window_dim_t){3, 1, native_pick(seed, 4) - 1, native_pick(seed, 3), 1, 1, i % 5 == 0};
    if (!is_gradient) continue;
    c.window[d].size = c.in[d] + c.window[d].pad_low + c.window[d].pad_high - 2;
    c.window[d].reversal = false;
  }
  if (!is_gradient) return c;
  int64_t batch = c.batch;
  c.batch = c.features;
  c.features = batch;
  return c;
}

/* One element of the input is infinite in some of the cases; weights are constant in a third. */
static void check_fewer_products(native_env_t *env, uint64_t *seed, int i) {
  int declined = 0;
  conv_case_t c = draw_fewer_products(seed, i);
  const hlo_instr_t *conv = conv_case_build(env, seed, &c);
  hlo_value_t *values[2];
  for (int k = 0; k < 2; k++) {
    values[k] = kernel_value(c.types->lhs, 4, conv->operands[k]->shape->dims, NULL);
    native_fill_small(seed, values[k]);
  }
  int64_t at = native_pick(seed, values[0]->count);
  if (i % 3 == 1) ((hlo_instr_t *)conv)->operands[1]->op = HLO_CONSTANT;
  conv->operands[1]->literal = i % 3 == 1 ? values[1] : NULL;
  if (i % 8 == 2) ((float *)values[0]->data)[at] = INFINITY;
  if (i % 8 == 3) ((double *)values[0]->data)[at] = -INFINITY;
  bool fine = native_agrees_on(env, conv, values, &declined);
  if (!fine) conv_case_print(&c, 70 + (uint64_t)i);
  CU_ASSERT_TRUE(fine && !declined);
  for (int k = 0; k < 2; k++) hlo_value_release(values[k]);
}

static void fewer_products(void) {
  for (int i = 0; i < 60; i++) {
    native_env_t env;
    uint64_t seed = 70 + (uint64_t)i;
    native_env_init(&env, 1 + i % 3);
    check_fewer_products(&env, &seed, i);
    native_env_deinit(&env);
  }
}

static void gradients_over_positions(void) {
  for (int workers = 1; workers <= 5; workers += 2)
    conv_check_drawn(workers, 90 + (uint64_t)workers, 40, conv_draw_gradient);
}

static void depthwise_gradients(void) {
  for (int workers = 1; workers <= 5; workers += 2)
    conv_check_drawn(workers, 100 + (uint64_t)workers, 60, conv_draw_depthwise_gradient);
}

static void few_columns(void) { conv_check_drawn(2, 95, 60, conv_draw_few_columns); }

static void small_groups(void) {
  for (int workers = 1; workers <= 3; workers += 2)
    conv_check_drawn(workers, 110 + (uint64_t)workers, 120, conv_draw_small_groups);
}

static void along_lines(void) {
  for (int workers = 1; workers <= 5; workers += 2)
    conv_check_drawn(workers, 96 + (uint64_t)workers, 60, conv_draw_lines);
}

/* --- numbers that are not finite --- */

CU_TestInfo suite_native_convolution[] = {{"forward", forward},
                                          {"gradients of the input", of_input},
                                          {"gradients of the weights", of_weights},
                                          {"anything", anything},
                                          {"strided_holes", strided_holes},
                                          {"many workers", many_workers},
                                          {"constant weights", constant_weights},
                                          {"larger ones", larger_ones},
                                          {"gradients over places", gradients_over_positions},
                                          {"depthwise gradients", depthwise_gradients},
                                          {"few columns", few_columns},
                                          {"small groups", small_groups},
                                          {"along lines", along_lines},
                                          {"fewer products", fewer_products},
                                          CU_TEST_INFO_NULL};
