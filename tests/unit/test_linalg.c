/* Reference Cholesky, triangular solve and batch normalisation against products of their
 * results. */
#include <math.h>

#include "tests/lib/kernel_env.h"
#include "tests/lib/unit.h"

#define KERNEL_FLAG(KEY, value) \
  { .key = HLO_ATTR_##KEY, .flag = (value) }

static hlo_value_t *run_cholesky(kernel_env_t *k, hlo_value_t *a, bool lower) {
  hlo_attr_t attr = KERNEL_FLAG(LOWER, lower);
  return kernel_run(k, HLO_CHOLESKY, kernel_shape(k, a->dtype, a->rank, a->dims), 1, &a, 1, &attr,
                    0, NULL);
}

static void cholesky_of_both_triangles(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  /* The triangle that is not named holds rubbish. */
  hlo_value_t *a = kernel_value(HR_F32, KERNEL_DIMS(2, 2), (float[]){4, 99, 2, 10});
  hlo_value_t *b = kernel_value(HR_F32, KERNEL_DIMS(2, 2), (float[]){4, 2, 99, 10});
  hlo_value_t *l = run_cholesky(&k, a, true), *u = run_cholesky(&k, b, false);
  CU_ASSERT_TRUE(kernel_is(l, HR_F32, KERNEL_DIMS(2, 2), (float[]){2, 0, 1, 3}));
  CU_ASSERT_TRUE(kernel_is(u, HR_F32, KERNEL_DIMS(2, 2), (float[]){2, 1, 0, 3}));
  hlo_value_release(a);
  hlo_value_release(b);
  hlo_value_release(l);
  hlo_value_release(u);
  kernel_env_deinit(&k);
}

static void cholesky_of_complex_matrices(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *a = kernel_value(HR_C64, KERNEL_DIMS(2, 2), (float[]){4, 0, 0, 0, 2, 6, 11, 0});
  hlo_value_t *l = run_cholesky(&k, a, true);
  CU_ASSERT_TRUE(kernel_is(l, HR_C64, KERNEL_DIMS(2, 2), (float[]){2, 0, 0, 0, 1, 3, 1, 0}));
  hlo_value_release(a);
  hlo_value_release(l);
  kernel_env_deinit(&k);
}

/* Only the matrix that fails becomes NaN, and it wholly. */
static void cholesky_fails_per_matrix(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *a = kernel_value(HR_F64, KERNEL_DIMS(2, 2, 2), (double[]){1, 2, 2, 1, 1, 0, 0, 1});
  hlo_value_t *l = run_cholesky(&k, a, true);
  for (int i = 0; i < 4; i++) CU_ASSERT_TRUE(isnan(((double *)l->data)[i]));
  CU_ASSERT_EQUAL(((double *)l->data)[4], 1);
  CU_ASSERT_EQUAL(((double *)l->data)[7], 1);
  hlo_value_release(a);
  hlo_value_release(l);
  kernel_env_deinit(&k);
}

/* Solves with every combination of flags, and multiplies back. */
static void solve_back(kernel_env_t *k, bool left, bool lower, bool unit, int transpose) {
  enum { N = 3, W = 2 };
  double a[N][N] = {{2, 5, -3}, {1, 4, 7}, {-2, 3, 8}}, b[N * W] = {1, 2, 3, 4, 5, 6}, t[N][N];
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      bool kept = lower ? i >= j : i <= j;
      double value = kept ? a[i][j] : 0;
      if (i == j && unit) value = 1;
      *(transpose == HLO_TRANSPOSE_NO_TRANSPOSE ? &t[i][j] : &t[j][i]) = value;
    }
  hlo_value_t *operands[] = {kernel_value(HR_F64, KERNEL_DIMS(N, N), a),
                             left ? kernel_value(HR_F64, KERNEL_DIMS(N, W), b)
                                  : kernel_value(HR_F64, KERNEL_DIMS(W, N), b)};
  hlo_attr_t attrs[] = {KERNEL_FLAG(LEFT_SIDE, left), KERNEL_FLAG(LOWER, lower),
                        KERNEL_FLAG(UNIT_DIAGONAL, unit), KERNEL_INT(TRANSPOSE_A, transpose)};
  const hlo_shape_t *shape = kernel_shape(k, HR_F64, 2, operands[1]->dims);
  hlo_value_t *x = kernel_run(k, HLO_TRIANGULAR_SOLVE, shape, 2, operands, 4, attrs, 0, NULL);
  const double *v = x->data;
  for (int i = 0; i < (left ? N : W); i++)
    for (int j = 0; j < (left ? W : N); j++) {
      double sum = 0;
      for (int p = 0; p < N; p++) sum += left ? t[i][p] * v[p * W + j] : v[i * N + p] * t[p][j];
      CU_ASSERT_DOUBLE_EQUAL(sum, b[i * (left ? W : N) + j], 1e-12);
    }
  hlo_value_release(x);
  hlo_value_release(operands[0]);
  hlo_value_release(operands[1]);
}

static void triangular_solve_of_every_kind(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  for (int flags = 0; flags < 24; flags++)
    solve_back(&k, flags & 1, flags & 2, flags & 4, HLO_TRANSPOSE_NO_TRANSPOSE + flags / 8);
  kernel_env_deinit(&k);
}

static void shapes_are_checked(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *a = kernel_value(HR_F32, KERNEL_DIMS(2, 3), NULL), *operands[] = {a, a}, *out = NULL;
  hlo_instr_t *cholesky =
      kernel_build(&k, HLO_CHOLESKY, kernel_shape(&k, HR_F32, 2, a->dims), 1, &a, 0, NULL, 0, NULL);
  CHECK_FAILS(HR_INVALID, kernel_try(&k, cholesky, operands, 0, &out));
  hlo_instr_t *solve = kernel_build(&k, HLO_TRIANGULAR_SOLVE, kernel_shape(&k, HR_F32, 2, a->dims),
                                    2, operands, 0, NULL, 0, NULL);
  CHECK_FAILS(HR_INVALID, kernel_try(&k, solve, operands, 0, &out));
  hlo_value_release(a);
  kernel_env_deinit(&k);
}

static void batch_norm(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *in[] = {kernel_value(HR_F32, KERNEL_DIMS(2, 2), (float[]){1, 10, 3, 30}),
                       kernel_value(HR_F32, KERNEL_DIMS(2), (float[]){2, 1}),
                       kernel_value(HR_F32, KERNEL_DIMS(2), (float[]){5, 0})};
  hlo_attr_t attrs[] = {{.key = HLO_ATTR_EPSILON, .number = 0}, KERNEL_INT(FEATURE_INDEX, 1)};
  const hlo_shape_t *x = kernel_shape(&k, HR_F32, KERNEL_DIMS(2, 2)),
                    *c = kernel_shape(&k, HR_F32, KERNEL_DIMS(2));
  const hlo_shape_t *out = kernel_tuple_shape(&k, 3, (const hlo_shape_t *[]){x, c, c});
  hlo_value_t *y = kernel_run(&k, HLO_BATCH_NORM_TRAINING, out, 3, in, 2, attrs, 0, NULL);
  CU_ASSERT_TRUE(kernel_is(y->elements[0], HR_F32, KERNEL_DIMS(2, 2), (float[]){3, -1, 7, 1}));
  CU_ASSERT_TRUE(kernel_is(y->elements[1], HR_F32, KERNEL_DIMS(2), (float[]){2, 20}));
  CU_ASSERT_TRUE(kernel_is(y->elements[2], HR_F32, KERNEL_DIMS(2), (float[]){1, 100}));
  /* scale, mean, variance, and a gradient of ones: nothing flows back through a mean. */
  hlo_value_t *ones = kernel_value(HR_F32, KERNEL_DIMS(2, 2), (float[]){1, 1, 1, 1});
  hlo_value_t *grad_in[] = {in[0], in[1], y->elements[1], y->elements[2], ones};
  hlo_value_t *g = kernel_run(&k, HLO_BATCH_NORM_GRAD, out, 5, grad_in, 2, attrs, 0, NULL);
  CU_ASSERT_TRUE(kernel_is(g->elements[1], HR_F32, KERNEL_DIMS(2), (float[]){0, 0}));
  CU_ASSERT_TRUE(kernel_is(g->elements[2], HR_F32, KERNEL_DIMS(2), (float[]){2, 2}));
  CU_ASSERT_EQUAL(((float *)g->elements[0]->data)[3], 0);
  for (int i = 0; i < 3; i++) hlo_value_release(in[i]);
  hlo_value_release(y);
  hlo_value_release(g);
  hlo_value_release(ones);
  kernel_env_deinit(&k);
}

CU_TestInfo suite_linalg[] = {{"cholesky of both triangles", cholesky_of_both_triangles},
                              {"cholesky of complex matrices", cholesky_of_complex_matrices},
                              {"cholesky fails per matrix", cholesky_fails_per_matrix},
                              {"triangular solve of every kind", triangular_solve_of_every_kind},
                              {"shapes are checked", shapes_are_checked},
                              {"batch norm", batch_norm},
                              CU_TEST_INFO_NULL};
