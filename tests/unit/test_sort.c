/* Reference sorts and top-k: comparators of any kind, and those that are recognised as keys. */
#include <math.h>
#include <stdlib.h>

#include "ops/kernels/reference/sort_keys.h"
#include "tests/lib/kernel_env.h"
#include "tests/lib/unit.h"

/* Sorts s32 keys with their positions as payload, by a comparator of four parameters, and checks
 * that the result is the stable one: `sign` 1 for ascending. */
static void check_sort(kernel_env_t *k, hlo_computation_t *comparator, int rank,
                       const int64_t *dims, int64_t d, int sign) {
  hlo_value_t *in[] = {kernel_value(HR_S32, rank, dims, NULL),
                       kernel_value(HR_S32, rank, dims, NULL)};
  for (int64_t i = 0; i < in[0]->count; i++) {
    ((int32_t *)in[0]->data)[i] = rand() % 50 - 25;
    ((int32_t *)in[1]->data)[i] = (int32_t)i;
  }
  const hlo_shape_t *parts[] = {kernel_shape(k, HR_S32, rank, dims),
                                kernel_shape(k, HR_S32, rank, dims)};
  hlo_attr_t attrs[] = {{.key = HLO_ATTR_DIMENSIONS, .ints = {&d, 1}},
                        {.key = HLO_ATTR_IS_STABLE, .flag = true}};
  hlo_value_t *out =
      kernel_run(k, HLO_SORT, kernel_tuple_shape(k, 2, parts), 2, in, 2, attrs, 1, &comparator);
  const int32_t *keys = out->elements[0]->data, *from = out->elements[1]->data;
  int64_t stride = 1;
  for (int i = (int)d + 1; i < rank; i++) stride *= dims[i];
  for (int64_t i = 0; i < in[0]->count; i++) {
    CU_ASSERT_EQUAL(keys[i], ((int32_t *)in[0]->data)[from[i]]);
    if (i / stride % dims[d] == 0) continue;
    int order = keys[i - stride] < keys[i] ? -1 : keys[i - stride] > keys[i];
    CU_ASSERT_TRUE(order * sign < 0 || (order == 0 && from[i - stride] < from[i]));
    CU_ASSERT_EQUAL(from[i - stride] % stride, from[i] % stride);
  }
  hlo_value_release(out);
  hlo_value_release(in[0]);
  hlo_value_release(in[1]);
}

/* less(a, b) | less(a, b): no form that is recognised, but the same meaning. */
static hlo_computation_t *roundabout_less(kernel_env_t *k) {
  hlo_computation_t *body = kernel_compare_body(k, HLO_DIRECTION_LT, 0, HR_S32, 4, 0, 1);
  hlo_instr_t *twice[] = {body->root, body->root};
  kernel_instr(k, body, HLO_OR, hlo_shape_scalar(HR_PRED), 2, twice, 0, NULL, 0, NULL);
  return body;
}

static void check_all_sizes(int kind, int sign) {
  static const int64_t sizes[][3] = {{1, 1, 1},   {3, 17, 2}, {1, 300, 1}, {2, 1, 5},
                                     {40, 33, 3}, {0, 3, 2},  {2, 0, 3}};
  srand(1);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int64_t d = 0; d < 3; d++) {
      kernel_env_t k;
      kernel_env_init(&k);
      hlo_computation_t *comparator =
          kind == 0 ? roundabout_less(&k)
                    : kernel_compare_body(
                          &k, kind == 1 || kind == 4 ? HLO_DIRECTION_LT : HLO_DIRECTION_GT, 0,
                          HR_S32, 4, kind >= 3, kind < 3);
      check_sort(&k, comparator, 3, sizes[i], d, sign);
      kernel_env_deinit(&k);
    }
}

static void sorts_by_any_comparator(void) { check_all_sizes(0, 1); }
static void sorts_by_keys(void) {
  check_all_sizes(1, 1);  /* a < b */
  check_all_sizes(2, -1); /* a > b */
  check_all_sizes(3, 1);  /* b > a */
  check_all_sizes(4, -1); /* b < a */
}

/* Floats under a plain comparison and in total order. */
static void floats(void) {
  static const float in_data[] = {3, NAN, -0.0f, 0, -INFINITY, -NAN, 1};
  static const int32_t plain[] = {4, 2, 3, 6, 0, 1, 5}, total[] = {5, 4, 2, 3, 6, 0, 1};
  for (int type = 0; type < 2; type++) {
    kernel_env_t k;
    kernel_env_init(&k);
    hlo_value_t *in[] = {kernel_value(HR_F32, KERNEL_DIMS(7), in_data),
                         kernel_value(HR_F32, KERNEL_DIMS(7), NULL)};
    for (int i = 0; i < 7; i++) ((int32_t *)in[1]->data)[i] = i;
    const hlo_shape_t *parts[] = {kernel_shape(&k, HR_F32, KERNEL_DIMS(7)),
                                  kernel_shape(&k, HR_F32, KERNEL_DIMS(7))};
    hlo_attr_t attr = KERNEL_INTS(DIMENSIONS, 0);
    hlo_computation_t *body = kernel_compare_body(
        &k, HLO_DIRECTION_LT, type ? HLO_COMPARISON_TOTALORDER : HLO_COMPARISON_FLOAT, HR_F32, 4, 0,
        1);
    hlo_value_t *out =
        kernel_run(&k, HLO_SORT, kernel_tuple_shape(&k, 2, parts), 2, in, 1, &attr, 1, &body);
    CU_ASSERT_EQUAL(memcmp(out->elements[1]->data, type ? total : plain, sizeof total), 0);
    hlo_value_release(out);
    hlo_value_release(in[0]);
    hlo_value_release(in[1]);
    kernel_env_deinit(&k);
  }
}

/* Sorts that need not be stable leave ties as XLA on CPUs does. */
static void usual_ties(void) {
  static const int32_t want[] = {0,  3,  21, 6, 18, 9,  15, 12, 1, 22, 19, 16,
                                 13, 10, 7,  4, 11, 14, 8,  17, 5, 20, 2,  23};
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *in[] = {kernel_value(HR_S32, KERNEL_DIMS(24), NULL),
                       kernel_value(HR_S32, KERNEL_DIMS(24), NULL)};
  for (int i = 0; i < 24; i++)
    ((int32_t *)in[0]->data)[i] = i * 7 % 3, ((int32_t *)in[1]->data)[i] = i;
  const hlo_shape_t *parts[] = {kernel_shape(&k, HR_S32, KERNEL_DIMS(24)),
                                kernel_shape(&k, HR_S32, KERNEL_DIMS(24))};
  hlo_attr_t attr = KERNEL_INTS(DIMENSIONS, 0);
  hlo_computation_t *body = kernel_compare_body(&k, HLO_DIRECTION_LT, 0, HR_S32, 4, 0, 1);
  hlo_value_t *out =
      kernel_run(&k, HLO_SORT, kernel_tuple_shape(&k, 2, parts), 2, in, 1, &attr, 1, &body);
  CU_ASSERT_TRUE(kernel_is(out->elements[1], HR_S32, KERNEL_DIMS(24), want));
  hlo_value_release(out);
  kernel_survives_faults(&k, HLO_SORT, kernel_tuple_shape(&k, 2, parts), 2, in, 1, &attr, 1, &body);
  body = roundabout_less(&k);
  kernel_survives_faults(&k, HLO_SORT, kernel_tuple_shape(&k, 2, parts), 2, in, 1, &attr, 1, &body);
  hlo_value_release(in[0]);
  hlo_value_release(in[1]);
  kernel_env_deinit(&k);
}

static bool recognised(kernel_env_t *k, hlo_computation_t *comparator, int *out_count) {
  sort_keys_t keys;
  bool answer = false;
  CHECK_OK(sort_keys_recognise(&k->module->arena, comparator, &keys, &answer));
  *out_count = keys.count;
  return answer;
}

/* less0 | (equal0 & less1) and what looks like it. */
static void recognition(void) {
  kernel_env_t k;
  int count;
  kernel_env_init(&k);
  CU_ASSERT_TRUE(
      recognised(&k, kernel_compare_body(&k, HLO_DIRECTION_LT, 0, HR_F32, 2, 0, 1), &count));
  CU_ASSERT_FALSE(
      recognised(&k, kernel_compare_body(&k, HLO_DIRECTION_LE, 0, HR_F32, 2, 0, 1), &count));
  CU_ASSERT_FALSE(
      recognised(&k, kernel_compare_body(&k, HLO_DIRECTION_LT, 0, HR_F32, 4, 0, 3), &count));
  CU_ASSERT_FALSE(
      recognised(&k, kernel_compare_body(&k, HLO_DIRECTION_LT, 0, HR_F32, 4, 0, 2), &count));
  CU_ASSERT_FALSE(recognised(&k, roundabout_less(&k), &count));
  const hlo_shape_t *pred = hlo_shape_scalar(HR_PRED);
  hlo_computation_t *body = kernel_compare_body(&k, HLO_DIRECTION_LT, 0, HR_S32, 4, 0, 1);
  hlo_instr_t *less0 = body->root;
  hlo_attr_t eq = KERNEL_INT(DIRECTION, HLO_DIRECTION_EQ),
             gt = KERNEL_INT(DIRECTION, HLO_DIRECTION_GT);
  hlo_instr_t **p = body->params.data;
  hlo_instr_t *equal0 =
      kernel_instr(&k, body, HLO_COMPARE, pred, 2, (hlo_instr_t *[]){p[1], p[0]}, 1, &eq, 0, NULL);
  hlo_instr_t *more1 =
      kernel_instr(&k, body, HLO_COMPARE, pred, 2, (hlo_instr_t *[]){p[2], p[3]}, 1, &gt, 0, NULL);
  hlo_instr_t *tie =
      kernel_instr(&k, body, HLO_AND, pred, 2, (hlo_instr_t *[]){equal0, more1}, 0, NULL, 0, NULL);
  kernel_instr(&k, body, HLO_OR, pred, 2, (hlo_instr_t *[]){tie, less0}, 0, NULL, 0, NULL);
  CU_ASSERT_TRUE(recognised(&k, body, &count));
  CU_ASSERT_EQUAL(count, 2);
  kernel_env_deinit(&k);
}

static void check_topk(bool largest, int64_t n, int64_t count) {
  kernel_env_t k;
  kernel_env_init(&k);
  int64_t in_dims[] = {3, n}, out_dims[] = {3, count};
  hlo_value_t *in = kernel_value(HR_S16, 2, in_dims, NULL);
  for (int64_t i = 0; i < in->count; i++)
    ((int16_t *)in->data)[i] = (int16_t)(rand() % 2000 - 1000);
  const hlo_shape_t *parts[] = {kernel_shape(&k, HR_S16, 2, out_dims),
                                kernel_shape(&k, HR_S32, 2, out_dims)};
  hlo_attr_t attrs[] = {KERNEL_INT(K, count), {.key = HLO_ATTR_LARGEST, .flag = largest}};
  hlo_value_t *out =
      kernel_run(&k, HLO_TOPK, kernel_tuple_shape(&k, 2, parts), 1, &in, 2, attrs, 0, NULL);
  for (int64_t line = 0; line < 3; line++) {
    const int16_t *row = (int16_t *)in->data + line * n,
                  *values = (int16_t *)out->elements[0]->data + line * count;
    const int32_t *indices = (int32_t *)out->elements[1]->data + line * count;
    for (int64_t i = 0; i < count; i++) { /* as many elements go before it as its place says */
      int64_t before = 0;
      CU_ASSERT_EQUAL(values[i], row[indices[i]]);
      for (int64_t j = 0; j < n; j++)
        before += (largest ? row[j] > values[i] : row[j] < values[i]) ||
                  (row[j] == values[i] && j < indices[i]);
      CU_ASSERT_EQUAL(before, i);
    }
  }
  hlo_value_release(out);
  hlo_value_release(in);
  kernel_env_deinit(&k);
}

static void topks(void) {
  check_topk(true, 10, 3);
  check_topk(false, 10, 10);
  check_topk(true, 5000, 2);
  check_topk(true, 5000, 1500);
  check_topk(true, 4, 0);
  check_topk(true, 0, 0);
}

CU_TestInfo suite_sort[] = {{"sorts by any comparator", sorts_by_any_comparator},
                            {"sorts by keys", sorts_by_keys},
                            {"floats", floats},
                            {"usual ties", usual_ties},
                            {"recognition", recognition},
                            {"topks", topks},
                            CU_TEST_INFO_NULL};
