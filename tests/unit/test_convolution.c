/* The reference convolution against loops over its definition: windows, groups, labels, hostile
 * windows. */
#include <stdlib.h>

#include "tests/lib/kernel_env.h"
#include "tests/lib/unit.h"

/* Input b01f, kernel 01io, result b01f; sizes and window per case. */
typedef struct conv_case {
  int64_t batch, in[2], features, kernel[2], out_features, feature_groups, batch_groups;
  hlo_window_dim_t window[2];
} conv_case_t;

static int64_t dilated(int64_t size, int64_t dilation) {
  return size ? (size - 1) * dilation + 1 : 0;
}
static int64_t out_size(const conv_case_t *c, int d) {
  const hlo_window_dim_t *w = &c->window[d];
  int64_t room = dilated(c->in[d], w->base_dilation) + w->pad_low + w->pad_high,
          span = dilated(w->size, w->window_dilation);
  return room < span ? 0 : (room - span) / w->stride + 1;
}

static const int64_t spatial[] = {1, 2}, kernel_spatial[] = {0, 1};
static const hlo_dim_labels_t plain_labels = {
    2, 4, 4, 4, 0, 3, 2, 3, 0, 3, spatial, kernel_spatial, spatial, 0, 0, 0};

/* The definition, in double precision. */
static double want_at(const conv_case_t *c, const float *x, const float *w, int64_t n,
                      const int64_t *at, int64_t o) {
  int64_t group_in = c->features / c->feature_groups, parts = c->batch_groups,
          share = c->batch / parts;
  int64_t feature = o / (c->out_features / c->feature_groups) * group_in;
  int64_t entry = n + o / (c->out_features / parts) * share;
  double sum = 0;
  for (int64_t i = 0; i < c->kernel[0]; i++)
    for (int64_t j = 0; j < c->kernel[1]; j++) {
      int64_t k[] = {i, j}, p[2];
      bool hole = false;
      for (int d = 0; d < 2; d++) {
        const hlo_window_dim_t *v = &c->window[d];
        p[d] = at[d] * v->stride + k[d] * v->window_dilation - v->pad_low;
        hole |= p[d] < 0 || p[d] % v->base_dilation || p[d] / v->base_dilation >= c->in[d];
        p[d] /= v->base_dilation;
        if (v->reversal) k[d] = c->kernel[d] - 1 - k[d];
      }
      for (int64_t f = 0; f < group_in && !hole; f++)
        sum +=
            (double)x[((entry * c->in[0] + p[0]) * c->in[1] + p[1]) * c->features + feature + f] *
            w[((k[0] * c->kernel[1] + k[1]) * group_in + f) * c->out_features + o];
    }
  return sum;
}

static void check_case(kernel_env_t *k, const conv_case_t *c) {
  int64_t batch = c->batch / c->batch_groups, out[] = {out_size(c, 0), out_size(c, 1)};
  hlo_window_t window = {2, c->window};
  hlo_value_t *x =
      kernel_value(HR_F32, KERNEL_DIMS(c->batch, c->in[0], c->in[1], c->features), NULL);
  hlo_value_t *w = kernel_value(
      HR_F32,
      KERNEL_DIMS(c->kernel[0], c->kernel[1], c->features / c->feature_groups, c->out_features),
      NULL);
  for (int64_t i = 0; i < x->count; i++) ((float *)x->data)[i] = (float)(i * 7 % 23 - 11);
  for (int64_t i = 0; i < w->count; i++) ((float *)w->data)[i] = (float)(i * 5 % 19 - 9);
  hlo_attr_t attrs[] = {{.key = HLO_ATTR_WINDOW, .window = &window},
                        {.key = HLO_ATTR_DIM_LABELS, .labels = &plain_labels},
                        KERNEL_INT(FEATURE_GROUP_COUNT, c->feature_groups),
                        KERNEL_INT(BATCH_GROUP_COUNT, c->batch_groups)};
  hlo_value_t *operands[] = {x, w};
  hlo_value_t *y =
      kernel_run(k, HLO_CONVOLUTION,
                 kernel_shape(k, HR_F32, KERNEL_DIMS(batch, out[0], out[1], c->out_features)), 2,
                 operands, 4, attrs, 0, NULL);
  int wrong = 0;
  const float *got = y->data;
  for (int64_t n = 0; n < batch; n++)
    for (int64_t i = 0; i < out[0]; i++)
      for (int64_t j = 0; j < out[1]; j++)
        for (int64_t o = 0; o < c->out_features; o++)
          wrong += *got++ != (float)want_at(c, x->data, w->data, n, (int64_t[]){i, j}, o);
  CU_ASSERT_EQUAL(wrong, 0);
  hlo_value_release(x);
  hlo_value_release(w);
  hlo_value_release(y);
}

static void windows(void) {
  static const conv_case_t cases[] = {
      {2, {5, 6}, 3, {3, 2}, 4, 1, 1, {{3, 1, 0, 0, 1, 1, false}, {2, 1, 0, 0, 1, 1, false}}},
      {2, {5, 6}, 3, {3, 2}, 4, 1, 1, {{3, 2, 1, 1, 1, 1, false}, {2, 3, 2, 0, 1, 1, true}}},
      {1, {5, 6}, 2, {2, 3}, 3, 1, 1, {{2, 1, -1, -1, 1, 2, true}, {3, 1, -2, 4, 1, 2, false}}},
      {1, {4, 3}, 2, {3, 3}, 3, 1, 1, {{3, 1, 2, 2, 2, 1, false}, {3, 2, 1, 3, 3, 2, true}}},
      {3, {1, 1}, 5, {1, 1}, 7, 1, 1, {{1, 1, 0, 0, 1, 1, false}, {1, 1, 0, 0, 1, 1, false}}},
      {1, {2, 2}, 1, {4, 4}, 1, 1, 1, {{4, 1, 0, 0, 1, 1, false}, {4, 1, 0, 0, 1, 1, false}}},
      {1, {3, 3}, 1, {2, 2}, 1, 1, 1, {{2, 1, 9, 9, 1, 1, false}, {2, 1, 9, 9, 1, 1, false}}},
      {2, {9, 8}, 40, {3, 3}, 20, 1, 1, {{3, 1, 1, 1, 1, 1, false}, {3, 1, 1, 1, 1, 1, false}}}};
  kernel_env_t k;
  kernel_env_init(&k);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_case(&k, &cases[i]);
  kernel_env_deinit(&k);
}

static void groups(void) {
  static const conv_case_t cases[] = {
      {2, {4, 4}, 6, {2, 2}, 4, 2, 1, {{2, 1, 0, 1, 1, 1, false}, {2, 1, 1, 0, 1, 1, true}}},
      {2, {4, 4}, 3, {2, 3}, 3, 3, 1, {{2, 1, 1, 1, 1, 2, true}, {3, 2, 1, 1, 2, 1, false}}},
      {2, {4, 4}, 3, {2, 2}, 6, 3, 1, {{2, 1, 0, 0, 1, 1, false}, {2, 1, 0, 0, 1, 1, false}}},
      {6, {4, 4}, 2, {2, 2}, 4, 1, 2, {{2, 1, 0, 1, 1, 1, false}, {2, 2, 1, 0, 1, 1, false}}},
      {4, {3, 3}, 2, {3, 3}, 4, 1, 4, {{3, 1, 1, 1, 1, 1, false}, {3, 1, 1, 1, 1, 1, true}}}};
  kernel_env_t k;
  kernel_env_init(&k);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_case(&k, &cases[i]);
  kernel_env_deinit(&k);
}

/* fb -> 1-d convolution with labels f0b_o0i->0fb, bf16 operands, and a result summed in f32. */
static void labels_and_types(void) {
  static const int64_t one[] = {1}, zero[] = {0};
  hlo_dim_labels_t labels = {1, 3, 3, 3, 2, 0, 2, 0, 2, 1, one, one, zero, 0, 0, 0};
  hlo_window_dim_t dims[] = {{2, 1, 0, 0, 1, 1, false}};
  hlo_window_t window = {1, dims};
  kernel_env_t k;
  kernel_env_init(&k);
  float x[] = {1, 2, 3, 4, 5, 6}, w[] = {1, 10, 100, 1000};
  hlo_value_t *a = kernel_value(HR_BF16, KERNEL_DIMS(2, 3, 1), NULL),
              *b = kernel_value(HR_F32, KERNEL_DIMS(1, 2, 2), w);
  hr_floats_from_f32(HR_BF16, x, a->data, 6);
  hlo_attr_t attrs[] = {{.key = HLO_ATTR_WINDOW, .window = &window},
                        {.key = HLO_ATTR_DIM_LABELS, .labels = &labels}};
  hlo_value_t *operands[] = {a, b};
  hlo_value_t *y = kernel_run(&k, HLO_CONVOLUTION, kernel_shape(&k, HR_F32, KERNEL_DIMS(2, 1, 1)),
                              2, operands, 2, attrs, 0, NULL);
  /* feature f at place p is x[f * 3 + p]; the kernel's element (place, feature) is w[place * 2 +
   * feature] */
  CU_ASSERT_TRUE(kernel_is(y, HR_F32, KERNEL_DIMS(2, 1, 1),
                           (float[]){1 + 40 + 200 + 5000, 2 + 50 + 300 + 6000}));
  hlo_value_release(a);
  hlo_value_release(b);
  hlo_value_release(y);
  kernel_env_deinit(&k);
}

static void no_spatial_dimensions(void) {
  hlo_dim_labels_t labels = {0, 2, 2, 2, 0, 1, 0, 1, 0, 1, NULL, NULL, NULL, 0, 0, 0};
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *a = kernel_value(HR_C64, KERNEL_DIMS(1, 2), (float[]){1, 2, 3, 4});
  hlo_value_t *b = kernel_value(HR_C64, KERNEL_DIMS(2, 1), (float[]){5, 6, 7, 8}),
              *operands[] = {a, b};
  hlo_attr_t attrs[] = {{.key = HLO_ATTR_DIM_LABELS, .labels = &labels}};
  hlo_value_t *y = kernel_run(&k, HLO_CONVOLUTION, kernel_shape(&k, HR_C64, KERNEL_DIMS(1, 1)), 2,
                              operands, 1, attrs, 0, NULL);
  CU_ASSERT_TRUE(kernel_is(y, HR_C64, KERNEL_DIMS(1, 1), (float[]){-7 - 11, 16 + 52}));
  hlo_value_release(a);
  hlo_value_release(b);
  hlo_value_release(y);
  kernel_env_deinit(&k);
}

static void hostile_windows_are_refused(void) {
  static const hlo_window_dim_t plain = {2, 1, 0, 0, 1, 1, false};
  hlo_window_dim_t bad[][2] = {{plain, plain}, {plain, plain}, {plain, plain}, {plain, plain}};
  bad[0][1].size = 3;
  bad[1][0].stride = INT64_MAX / 2;
  bad[2][1].pad_low = INT64_MIN;
  bad[3][0].window_dilation = 0;
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *x = kernel_value(HR_F32, KERNEL_DIMS(1, 3, 3, 1), NULL),
              *w = kernel_value(HR_F32, KERNEL_DIMS(2, 2, 1, 1), NULL);
  hlo_value_t *operands[] = {x, w}, *out = NULL;
  for (int i = 0; i < 4; i++) {
    hlo_window_t window = {2, bad[i]};
    hlo_attr_t attrs[] = {{.key = HLO_ATTR_WINDOW, .window = &window},
                          {.key = HLO_ATTR_DIM_LABELS, .labels = &plain_labels}};
    hlo_instr_t *conv =
        kernel_build(&k, HLO_CONVOLUTION, kernel_shape(&k, HR_F32, KERNEL_DIMS(1, 100, 2, 1)), 2,
                     operands, 2, attrs, 0, NULL);
    CHECK_FAILS(HR_INVALID, kernel_try(&k, conv, operands, 0, &out));
  }
  hlo_value_release(x);
  hlo_value_release(w);
  kernel_env_deinit(&k);
}

CU_TestInfo suite_convolution[] = {{"windows", windows},
                                   {"groups", groups},
                                   {"labels and types", labels_and_types},
                                   {"no spatial dimensions", no_spatial_dimensions},
                                   {"hostile windows are refused", hostile_windows_are_refused},
                                   CU_TEST_INFO_NULL};
