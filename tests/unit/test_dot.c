/* The reference dot against loops over its definition: dimensions in any order, types, rounding,
 * hostile and ragged dimensions. */
#include <complex.h>
#include <stdlib.h>

#include "tests/lib/kernel_env.h"
#include "tests/lib/unit.h"

static hlo_value_t *run_dot(kernel_env_t *k, hr_dtype_t out, int rank, const int64_t *dims,
                            hlo_value_t *a, hlo_value_t *b, int attr_count,
                            const hlo_attr_t *attrs) {
  hlo_value_t *operands[] = {a, b};
  return kernel_run(k, HLO_DOT, kernel_shape(k, out, rank, dims), 2, operands, attr_count, attrs, 0,
                    NULL);
}

static const hlo_attr_t matrix_product[] = {KERNEL_INTS(LHS_CONTRACTING_DIMS, 1),
                                            KERNEL_INTS(RHS_CONTRACTING_DIMS, 0)};

/* a[m,k] b[k,n] of small integers, exact in every type, against the definition. */
static void sizes_around_the_blocks(void) {
  static const int64_t sizes[][3] = {{1, 1, 1},    {5, 17, 3},  {6, 16, 256},   {7, 33, 257},
                                     {193, 3, 4},  {3, 513, 9}, {200, 20, 300}, {1, 600, 70},
                                     {600, 1, 70}, {13, 2, 1}};
  kernel_env_t k;
  kernel_env_init(&k);
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    int64_t m = sizes[s][0], n = sizes[s][1], depth = sizes[s][2];
    hlo_value_t *a = kernel_value(HR_F32, KERNEL_DIMS(m, depth), NULL);
    hlo_value_t *b = kernel_value(HR_F32, KERNEL_DIMS(depth, n), NULL);
    float *x = a->data, *y = b->data;
    for (int64_t i = 0; i < a->count; i++) x[i] = (float)(i * 7 % 11 - 5);
    for (int64_t i = 0; i < b->count; i++) y[i] = (float)(i * 5 % 13 - 6);
    hlo_value_t *c = run_dot(&k, HR_F32, KERNEL_DIMS(m, n), a, b, 2, matrix_product);
    int wrong = 0;
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) {
        float sum = 0;
        for (int64_t p = 0; p < depth; p++) sum += x[i * depth + p] * y[p * n + j];
        wrong += ((float *)c->data)[i * n + j] != sum;
      }
    CU_ASSERT_EQUAL(wrong, 0);
    hlo_value_release(a);
    hlo_value_release(b);
    hlo_value_release(c);
  }
  kernel_env_deinit(&k);
}

/* lhs[c0,b,i,c1] rhs[j,c1,b,c0]: no group of dimensions is in order. */
static void dimensions_in_any_order(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *a = kernel_value(HR_S32, KERNEL_DIMS(2, 3, 4, 5), NULL),
              *b = kernel_value(HR_S32, KERNEL_DIMS(6, 5, 3, 2), NULL);
  for (int i = 0; i < 120; i++) ((int32_t *)a->data)[i] = i % 17 - 8;
  for (int i = 0; i < 180; i++) ((int32_t *)b->data)[i] = i % 19 - 9;
  hlo_attr_t attrs[] = {KERNEL_INTS(LHS_BATCH_DIMS, 1), KERNEL_INTS(RHS_BATCH_DIMS, 2),
                        KERNEL_INTS(LHS_CONTRACTING_DIMS, 3, 0),
                        KERNEL_INTS(RHS_CONTRACTING_DIMS, 1, 3)};
  hlo_value_t *c = run_dot(&k, HR_S32, KERNEL_DIMS(3, 4, 6), a, b, 4, attrs);
  for (int batch = 0; batch < 3; batch++)
    for (int i = 0; i < 4; i++)
      for (int j = 0; j < 6; j++) {
        int32_t sum = 0;
        for (int c0 = 0; c0 < 2; c0++)
          for (int c1 = 0; c1 < 5; c1++)
            sum += ((int32_t *)a->data)[((c0 * 3 + batch) * 4 + i) * 5 + c1] *
                   ((int32_t *)b->data)[((j * 5 + c1) * 3 + batch) * 2 + c0];
        CU_ASSERT_EQUAL(((int32_t *)c->data)[(batch * 4 + i) * 6 + j], sum);
      }
  hlo_value_release(a);
  hlo_value_release(b);
  hlo_value_release(c);
  kernel_env_deinit(&k);
}

static void integers_wrap_in_the_result_type(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *a = kernel_value(HR_S8, KERNEL_DIMS(1, 3), (int8_t[]){100, -128, 127});
  hlo_value_t *b = kernel_value(HR_S8, KERNEL_DIMS(3, 1), (int8_t[]){100, -128, 127});
  hlo_value_t *wide = run_dot(&k, HR_S32, KERNEL_DIMS(1, 1), a, b, 2, matrix_product);
  hlo_value_t *narrow = run_dot(&k, HR_S8, KERNEL_DIMS(1, 1), a, b, 2, matrix_product);
  int32_t sum = 100 * 100 + 128 * 128 + 127 * 127;
  CU_ASSERT_EQUAL(*(int32_t *)wide->data, sum);
  CU_ASSERT_EQUAL(*(int8_t *)narrow->data, (int8_t)sum);
  hlo_value_release(a);
  hlo_value_release(b);
  hlo_value_release(wide);
  hlo_value_release(narrow);
  a = kernel_value(HR_U64, KERNEL_DIMS(1, 1), (uint64_t[]){UINT64_MAX});
  wide = run_dot(&k, HR_U64, KERNEL_DIMS(1, 1), a, a, 2, matrix_product);
  CU_ASSERT_EQUAL(*(uint64_t *)wide->data, 1);
  hlo_value_release(a);
  hlo_value_release(wide);
  a = kernel_value(HR_S4, KERNEL_DIMS(1, 2), (int8_t[]){-8, 7});
  b = kernel_value(HR_S4, KERNEL_DIMS(2, 1), (int8_t[]){3, 7});
  narrow = run_dot(&k, HR_S4, KERNEL_DIMS(1, 1), a, b, 2, matrix_product);
  CU_ASSERT_EQUAL(*(int8_t *)narrow->data, -7); /* 25 = 16 + 9 wraps to 9 - 16 */
  hlo_value_release(a);
  hlo_value_release(b);
  hlo_value_release(narrow);
  kernel_env_deinit(&k);
}

static void truth_values_are_or_of_ands(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *a = kernel_value(HR_PRED, KERNEL_DIMS(2, 2), (uint8_t[]){1, 1, 0, 1});
  hlo_value_t *b = kernel_value(HR_PRED, KERNEL_DIMS(2, 2), (uint8_t[]){1, 0, 1, 0});
  hlo_value_t *c = run_dot(&k, HR_PRED, KERNEL_DIMS(2, 2), a, b, 2, matrix_product);
  CU_ASSERT_TRUE(kernel_is(c, HR_PRED, KERNEL_DIMS(2, 2), (uint8_t[]){1, 0, 1, 0}));
  hlo_value_release(a);
  hlo_value_release(b);
  hlo_value_release(c);
  kernel_env_deinit(&k);
}

static void complex_numbers_are_not_conjugated(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  float _Complex x[] = {1 + 2 * I, 3 - 1 * I}, y[] = {2 - 1 * I, 1 + 1 * I, 4 * I, 5};
  hlo_value_t *a = kernel_value(HR_C64, KERNEL_DIMS(1, 2), x),
              *b = kernel_value(HR_C64, KERNEL_DIMS(2, 2), y);
  hlo_value_t *c = run_dot(&k, HR_C64, KERNEL_DIMS(1, 2), a, b, 2, matrix_product);
  float _Complex want[] = {x[0] * y[0] + x[1] * y[2], x[0] * y[1] + x[1] * y[3]};
  CU_ASSERT_TRUE(kernel_is(c, HR_C64, KERNEL_DIMS(1, 2), want));
  hlo_value_release(a);
  hlo_value_release(b);
  hlo_value_release(c);
  kernel_env_deinit(&k);
}

/* 256 ones and a quarter: bf16 would stop counting at 256, and mixed operands must not be rounded
 * first. */
static void narrow_floats_are_rounded_once(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *a = kernel_value(HR_BF16, KERNEL_DIMS(1, 300), NULL),
              *b = kernel_value(HR_F32, KERNEL_DIMS(300, 1), NULL);
  for (int i = 0; i < 300; i++)
    ((uint16_t *)a->data)[i] = hr_f32_to_bf16(1), ((float *)b->data)[i] = 1 + 0x1p-10f;
  hlo_value_t *wide = run_dot(&k, HR_F32, KERNEL_DIMS(1, 1), a, b, 2, matrix_product);
  hlo_value_t *narrow = run_dot(&k, HR_BF16, KERNEL_DIMS(1, 1), a, b, 2, matrix_product);
  CU_ASSERT_EQUAL(*(float *)wide->data, 300 * (1 + 0x1p-10f));
  CU_ASSERT_EQUAL(*(uint16_t *)narrow->data, hr_f32_to_bf16(300 * (1 + 0x1p-10f)));
  hlo_value_release(a);
  hlo_value_release(b);
  hlo_value_release(wide);
  hlo_value_release(narrow);
  kernel_env_deinit(&k);
}

static void sums_of_nothing_are_zero(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *a = kernel_value(HR_F32, KERNEL_DIMS(2, 0), NULL),
              *b = kernel_value(HR_F32, KERNEL_DIMS(0, 3), NULL);
  hlo_value_t *c = run_dot(&k, HR_F32, KERNEL_DIMS(2, 3), a, b, 2, matrix_product);
  CU_ASSERT_TRUE(kernel_is(c, HR_F32, KERNEL_DIMS(2, 3), (float[6]){0}));
  hlo_attr_t outer[] = {KERNEL_NO_INTS(LHS_CONTRACTING_DIMS), KERNEL_NO_INTS(RHS_CONTRACTING_DIMS)};
  hlo_value_t *d = run_dot(&k, HR_F32, KERNEL_DIMS(2, 0, 0, 3), a, b, 2, outer);
  CU_ASSERT_EQUAL(d->count, 0);
  hlo_value_t *v = kernel_value(HR_F32, KERNEL_DIMS(2), (float[]){2, 3});
  hlo_value_t *e = run_dot(&k, HR_F32, KERNEL_DIMS(2, 2), v, v, 2, outer);
  CU_ASSERT_TRUE(kernel_is(e, HR_F32, KERNEL_DIMS(2, 2), (float[]){4, 6, 6, 9}));
  hlo_value_release(a);
  hlo_value_release(b);
  hlo_value_release(c);
  hlo_value_release(d);
  hlo_value_release(e);
  hlo_value_release(v);
  kernel_env_deinit(&k);
}

static void hostile_dimensions_are_refused(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *a = kernel_value(HR_F32, KERNEL_DIMS(2, 3), NULL), *operands[] = {a, a}, *out = NULL;
  hlo_attr_t bad[][2] = {
      {KERNEL_INTS(LHS_CONTRACTING_DIMS, 2), KERNEL_INTS(RHS_CONTRACTING_DIMS, 0)},
      {KERNEL_INTS(LHS_CONTRACTING_DIMS, -1), KERNEL_INTS(RHS_CONTRACTING_DIMS, 0)},
      {KERNEL_INTS(LHS_CONTRACTING_DIMS, 1), KERNEL_INTS(RHS_CONTRACTING_DIMS, 0)},
      {KERNEL_INTS(LHS_CONTRACTING_DIMS, 1, 1), KERNEL_INTS(RHS_CONTRACTING_DIMS, 1, 1)},
      {KERNEL_INTS(LHS_CONTRACTING_DIMS, 1, 0), KERNEL_INTS(RHS_CONTRACTING_DIMS, 1)},
      {KERNEL_INTS(LHS_CONTRACTING_DIMS, 1), KERNEL_INTS(RHS_CONTRACTING_DIMS, 1)}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad;
       i++) { /* the last one is fine but for the result */
    hlo_instr_t *dot = kernel_build(&k, HLO_DOT, kernel_shape(&k, HR_F32, KERNEL_DIMS(3, 3)), 2,
                                    operands, 2, bad[i], 0, NULL);
    CHECK_FAILS(HR_INVALID, kernel_try(&k, dot, operands, 0, &out));
  }
  hlo_value_release(a);
  kernel_env_deinit(&k);
}

/* Runs of rows times their group's matrix; the last row belongs to no group. */
static void ragged_rows(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *a = kernel_value(HR_F32, KERNEL_DIMS(4, 2), (float[]){1, 2, 3, 4, 5, 6, 7, 8});
  hlo_value_t *b = kernel_value(HR_F32, KERNEL_DIMS(2, 2, 1), (float[]){1, 1, 10, 100});
  hlo_value_t *sizes = kernel_value(HR_S32, KERNEL_DIMS(2), (int32_t[]){1, 2}),
              *operands[] = {a, b, sizes};
  hlo_attr_t attrs[] = {KERNEL_INTS(LHS_CONTRACTING_DIMS, 1), KERNEL_INTS(RHS_CONTRACTING_DIMS, 1),
                        KERNEL_INTS(LHS_RAGGED_DIMS, 0), KERNEL_INTS(RHS_GROUP_DIMS, 0)};
  hlo_value_t *c = kernel_run(&k, HLO_RAGGED_DOT, kernel_shape(&k, HR_F32, KERNEL_DIMS(4, 1)), 3,
                              operands, 4, attrs, 0, NULL);
  CU_ASSERT_TRUE(kernel_is(c, HR_F32, KERNEL_DIMS(4, 1), (float[]){3, 430, 650, 0}));
  hlo_value_release(a);
  hlo_value_release(b);
  hlo_value_release(sizes);
  hlo_value_release(c);
  kernel_env_deinit(&k);
}

/* Each run of the sum is a result of its own. */
static void ragged_sums(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *a = kernel_value(HR_F32, KERNEL_DIMS(1, 4), (float[]){1, 2, 3, 4});
  hlo_value_t *b = kernel_value(HR_F32, KERNEL_DIMS(4, 1), (float[]){1, 10, 100, 1000});
  hlo_value_t *sizes = kernel_value(HR_S64, KERNEL_DIMS(3), (int64_t[]){3, 0, 99}),
              *operands[] = {a, b, sizes};
  hlo_attr_t attrs[] = {KERNEL_INTS(LHS_CONTRACTING_DIMS, 1), KERNEL_INTS(RHS_CONTRACTING_DIMS, 0),
                        KERNEL_INTS(LHS_RAGGED_DIMS, 1)};
  hlo_value_t *c = kernel_run(&k, HLO_RAGGED_DOT, kernel_shape(&k, HR_F32, KERNEL_DIMS(3, 1, 1)), 3,
                              operands, 3, attrs, 0, NULL);
  CU_ASSERT_TRUE(kernel_is(c, HR_F32, KERNEL_DIMS(3, 1, 1), (float[]){321, 0, 4000}));
  hlo_value_release(a);
  hlo_value_release(b);
  hlo_value_release(sizes);
  hlo_value_release(c);
  kernel_env_deinit(&k);
}

static void scales_multiply_blocks(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *a = kernel_value(HR_F32, KERNEL_DIMS(1, 4), (float[]){1, 2, 3, 4});
  hlo_value_t *b = kernel_value(HR_F32, KERNEL_DIMS(4, 1), (float[]){1, 1, 1, 1});
  hlo_value_t *a_scale = kernel_value(HR_F32, KERNEL_DIMS(1, 2), (float[]){2, 0.5f});
  hlo_value_t *b_scale = kernel_value(HR_F32, KERNEL_SCALAR, (float[]){4}),
              *operands[] = {a, b, a_scale, b_scale};
  hlo_value_t *c = kernel_run(&k, HLO_SCALED_DOT, kernel_shape(&k, HR_F32, KERNEL_DIMS(1, 1)), 4,
                              operands, 2, matrix_product, 0, NULL);
  CU_ASSERT_EQUAL(*(float *)c->data, 4 * (2 * 3 + 0.5f * 7));
  hlo_value_release(a);
  hlo_value_release(b);
  hlo_value_release(a_scale);
  hlo_value_release(b_scale);
  hlo_value_release(c);
  kernel_env_deinit(&k);
}

CU_TestInfo suite_dot[] = {
    {"sizes around the blocks", sizes_around_the_blocks},
    {"dimensions in any order", dimensions_in_any_order},
    {"integers wrap in the result type", integers_wrap_in_the_result_type},
    {"truth values are or of ands", truth_values_are_or_of_ands},
    {"complex numbers are not conjugated", complex_numbers_are_not_conjugated},
    {"narrow floats are rounded once", narrow_floats_are_rounded_once},
    {"sums of nothing are zero", sums_of_nothing_are_zero},
    {"hostile dimensions are refused", hostile_dimensions_are_refused},
    {"ragged rows", ragged_rows},
    {"ragged sums", ragged_sums},
    {"scales multiply blocks", scales_multiply_blocks},
    CU_TEST_INFO_NULL};
