/* Ranges of windows, and reference reductions over them, against loops over the definition. */
#include <stdlib.h>

#include "ops/query/window_range.h"
#include "tests/lib/kernel_env.h"
#include "tests/lib/unit.h"

/* Element of the operand under place k of the window of result o; -1: none. */
static int64_t element_under(const hlo_window_dim_t *w, int64_t o, int64_t k, int64_t n) {
  int64_t at = o * w->stride - w->pad_low + k * w->window_dilation;
  return at < 0 || at % w->base_dilation || at / w->base_dilation >= n ? -1 : at / w->base_dilation;
}

static int64_t result_size(const hlo_window_dim_t *w, int64_t n) {
  int64_t base = n ? (n - 1) * w->base_dilation + 1 : 0,
          window = (w->size - 1) * w->window_dilation + 1;
  base += w->pad_low + w->pad_high;
  return base < window ? 0 : (base - window) / w->stride + 1;
}

static hlo_window_dim_t random_window(int64_t n, bool large) {
  hlo_window_dim_t w = {.size = 1 + rand() % (large ? 2 * n + 2 : 4),
                        .stride = 1 + rand() % 3,
                        .pad_low = rand() % 6 - 2,
                        .pad_high = rand() % 6 - 2,
                        .base_dilation = 1 + rand() % 3,
                        .window_dilation = 1 + rand() % 3};
  if (rand() % 2) w.base_dilation = w.window_dilation = 1;
  if (large && rand() % 2) w.pad_low = n - 1, w.pad_high = 0, w.size = n ? n : 1, w.stride = 1;
  return w;
}

static void ranges(void) {
  srand(5);
  for (int round = 0; round < 3000; round++) {
    int64_t n = rand() % 7, hits = 0, found = 0;
    hlo_window_dim_t w = random_window(n, rand() % 2);
    int64_t m = result_size(&w, n);
    for (int64_t o = 0; o < m; o++) {
      window_input_range_t cover = window_result_inputs(&w, o, n);
      int64_t count = 0, step = window_input_range_step(&w);
      for (int64_t k = 0; k < w.size; k++) {
        int64_t i = element_under(&w, o, k, n);
        if (i < 0) continue;
        CU_ASSERT_EQUAL(i, cover.first + count * step);
        count++;
      }
      CU_ASSERT_EQUAL(count, cover.count);
      hits += count;
    }
    for (int64_t k = 0; k < w.size; k++) {
      window_tap_range_t range = window_tap_range(&w, k, n, m);
      for (int64_t h = 0; h < range.count; h++)
        CU_ASSERT_EQUAL(element_under(&w, range.out_first + h * range.out_step, k, n),
                        range.in_first + h * range.in_step);
      found += range.count;
    }
    CU_ASSERT_EQUAL(found, hits);
  }
}

/* The window of every result, element by element, in a type in which the order does not matter. */
static void reduce_plainly(const hlo_window_t *window, const hlo_value_t *in, int64_t init,
                           hlo_value_t *out) {
  int64_t o[3] = {0};
  for (int64_t i = 0; i < out->count; i++) {
    int64_t sum = init, k[3] = {0};
    bool more = true;
    while (more) {
      int64_t range = 0;
      bool inside = true;
      for (int d = 0; d < window->rank; d++) {
        int64_t at = element_under(&window->dims[d], o[d], k[d], in->dims[d]);
        inside &= at >= 0;
        range = range * in->dims[d] + at;
      }
      if (inside) sum += ((int64_t *)in->data)[range];
      int d = window->rank - 1;
      for (; d >= 0 && ++k[d] == window->dims[d].size; d--) k[d] = 0;
      more = d >= 0;
    }
    ((int64_t *)out->data)[i] = sum;
    for (int d = window->rank - 1; d >= 0 && ++o[d] == out->dims[d]; d--) o[d] = 0;
  }
}

/* body(a, b) = (a + b) | (a + b): not recognised as one op. */
static hlo_computation_t *roundabout_add(kernel_env_t *k) {
  hlo_computation_t *body = kernel_binary_body(k, HLO_ADD, HR_S64, 2, 0, 1);
  hlo_instr_t *operands[] = {body->root, body->root};
  kernel_instr(k, body, HLO_OR, hlo_shape_scalar(HR_S64), 2, operands, 0, NULL, 0, NULL);
  return body;
}

static void check_window(const hlo_window_t *window, const int64_t *dims, bool roundabout) {
  kernel_env_t k;
  kernel_env_init(&k);
  int64_t out_dims[3];
  for (int d = 0; d < window->rank; d++) out_dims[d] = result_size(&window->dims[d], dims[d]);
  hlo_value_t *in[] = {kernel_value(HR_S64, window->rank, dims, NULL),
                       kernel_value(HR_S64, KERNEL_SCALAR, (int64_t[]){1000})};
  for (int64_t i = 0; i < in[0]->count; i++) ((int64_t *)in[0]->data)[i] = rand() % 1000;
  hlo_value_t *want = kernel_value(HR_S64, window->rank, out_dims, NULL);
  reduce_plainly(window, in[0], 1000, want);
  const hlo_shape_t *want_shape = kernel_shape(&k, HR_S64, window->rank, out_dims);
  hlo_attr_t attr = {.key = HLO_ATTR_WINDOW, .window = window};
  hlo_computation_t *body =
      roundabout ? roundabout_add(&k) : kernel_binary_body(&k, HLO_ADD, HR_S64, 2, 0, 1);
  hlo_value_t *out = kernel_run(&k, HLO_REDUCE_WINDOW, want_shape, 2, in, 1, &attr, 1, &body);
  if (roundabout)
    kernel_survives_faults(&k, HLO_REDUCE_WINDOW, want_shape, 2, in, 1, &attr, 1, &body);
  CU_ASSERT_TRUE(hlo_value_equal(out, want));
  hlo_value_release(out);
  hlo_value_release(want);
  hlo_value_release(in[0]);
  hlo_value_release(in[1]);
  kernel_env_deinit(&k);
}

static void random_windows(void) {
  srand(9);
  for (int round = 0; round < 600; round++) {
    hlo_window_dim_t parts[3];
    hlo_window_t window = {rand() % 4, parts};
    int64_t dims[3];
    for (int d = 0; d < window.rank; d++) {
      bool large = rand() % 3 == 0;
      dims[d] = large ? rand() % 20 : rand() % 6;
      parts[d] = random_window(dims[d], large);
    }
    check_window(&window, dims, rand() % 2);
  }
}

static void cumulative_sums(void) {
  for (int64_t n = 60; n < 400; n += 67) {
    hlo_window_dim_t ahead = {n, 1, n - 1, 0, 1, 1, false}, back = {n, 1, 0, n - 1, 1, 1, false},
                     one = {1, 1, 0, 0, 1, 1, false};
    check_window(&(hlo_window_t){1, &ahead}, &n, false);
    check_window(&(hlo_window_t){1, &back}, &n, true);
    check_window(&(hlo_window_t){2, (hlo_window_dim_t[]){ahead, one}}, (int64_t[]){n, 3}, false);
    check_window(&(hlo_window_t){3, (hlo_window_dim_t[]){one, back, one}}, (int64_t[]){2, n, 3},
                 false);
    check_window(&(hlo_window_t){2, (hlo_window_dim_t[]){one, ahead}}, (int64_t[]){5, n}, true);
  }
}

/* Windows of two, padded in front: GE keeps the first of equals, GT takes the last. */
static void check_pool(int direction, const float *want) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_window_dim_t dim = {2, 1, 1, 0, 1, 1, false};
  hlo_window_t window = {1, &dim};
  hlo_attr_t attr = {.key = HLO_ATTR_WINDOW, .window = &window};
  hlo_value_t *in[] = {kernel_value(HR_F32, KERNEL_DIMS(4), (float[]){5, 5, 1, 7}),
                       kernel_value(HR_F32, KERNEL_DIMS(4), (float[]){1, 10, 100, 1000}),
                       kernel_value(HR_F32, KERNEL_SCALAR, (float[]){0})};
  hlo_computation_t *bodies[] = {kernel_compare_body(&k, direction, 0, HR_F32, 2, 0, 1),
                                 kernel_binary_body(&k, HLO_ADD, HR_F32, 2, 0, 1)};
  hlo_value_t *out =
      kernel_run(&k, HLO_SELECT_AND_SCATTER, kernel_shape(&k, HR_F32, KERNEL_DIMS(4)), 3, in, 1,
                 &attr, 2, bodies);
  kernel_survives_faults(&k, HLO_SELECT_AND_SCATTER, kernel_shape(&k, HR_F32, KERNEL_DIMS(4)), 3,
                         in, 1, &attr, 2, bodies);
  CU_ASSERT_TRUE(kernel_is(out, HR_F32, KERNEL_DIMS(4), want));
  hlo_value_release(out);
  for (int i = 0; i < 3; i++) hlo_value_release(in[i]);
  kernel_env_deinit(&k);
}

static void pools(void) {
  check_pool(HLO_DIRECTION_GE, (float[]){11, 100, 0, 1000});
  check_pool(HLO_DIRECTION_GT, (float[]){1, 110, 0, 1000});
}

CU_TestInfo suite_window[] = {{"ranges", ranges},
                              {"random windows", random_windows},
                              {"cumulative sums", cumulative_sums},
                              {"pools", pools},
                              CU_TEST_INFO_NULL};
