/* Custom calls of LAPACK, in the typed form and in that of older versions of JAX. */
#include <math.h>

#include "ops/kernels/custom/custom_call.h"
#include "tests/lib/custom_calls.h"
#include "tests/lib/kernel_env.h"
#include "tests/lib/unit.h"

static void potrf_in_both_forms(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *a = kernel_value(HR_F32, KERNEL_DIMS(2, 2), (float[]){4, 99, 2, 10});
  const hlo_shape_t *matrix = columns_first(&k, HR_F32, KERNEL_DIMS(2, 2)),
                    *result = TUPLE(&k, matrix, hlo_shape_scalar(HR_S32));
  hlo_value_t *typed = call(&k, "lapack_spotrf_ffi", "{uplo = 76 : ui8}", result, 1, &a);
  CU_ASSERT_TRUE(kernel_is(typed->elements[0], HR_F32, KERNEL_DIMS(2, 2), (float[]){2, 99, 1, 3}));
  CU_ASSERT_EQUAL(*(int32_t *)typed->elements[1]->data, 0);
  hlo_value_t *old_in[] = {int_scalar(1), int_scalar(1), int_scalar(2), a};
  hlo_value_t *old = call(&k, "lapack_spotrf", "", result, 4, old_in);
  CU_ASSERT_TRUE(hlo_value_equal(typed, old));
  for (int i = 0; i < 3; i++) hlo_value_release(old_in[i]);
  hlo_value_release(a);
  hlo_value_release(typed);
  hlo_value_release(old);
  kernel_env_deinit(&k);
}

static void getrf_of_a_batch(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *a =
      kernel_value(HR_F64, KERNEL_DIMS(2, 2, 3), (double[]){0, 1, 2, 3, 4, 5, 2, 4, 6, 1, 3, 5});
  const hlo_shape_t *result =
      TUPLE(&k, columns_first(&k, HR_F64, KERNEL_DIMS(2, 2, 3)),
            kernel_shape(&k, HR_S32, KERNEL_DIMS(2, 2)), kernel_shape(&k, HR_S32, KERNEL_DIMS(2)));
  hlo_value_t *out = call(&k, "lapack_dgetrf_ffi", "{}", result, 1, &a);
  CU_ASSERT_TRUE(kernel_is(out->elements[0], HR_F64, KERNEL_DIMS(2, 2, 3),
                           (double[]){3, 4, 5, 0, 1, 2, 2, 4, 6, 0.5, 1, 2}));
  CU_ASSERT_TRUE(kernel_is(out->elements[1], HR_S32, KERNEL_DIMS(2, 2), (int32_t[]){2, 2, 1, 2}));
  hlo_value_release(a);
  hlo_value_release(out);
  kernel_env_deinit(&k);
}

/* What a batch gives on three workers is, bit for bit, what it gives on one. */
static void compare_batch(kernel_env_t *k, hr_workers_t *workers, const char *target,
                          const char *config, const hlo_shape_t *result, int count,
                          hlo_value_t *const *in) {
  hlo_value_t *alone = call(k, target, config, result, count, in);
  k->env.workers = workers;
  hlo_value_t *shared = call(k, target, config, result, count, in);
  k->env.workers = NULL;
  int parts = custom_result_count(result);
  for (int i = 0; i < parts; i++) {
    const hlo_value_t *a = hlo_shape_is_tuple(result) ? alone->elements[i] : alone;
    const hlo_value_t *b = hlo_shape_is_tuple(result) ? shared->elements[i] : shared;
    if (memcmp(a->data, b->data, hlo_value_bytes(a))) CU_FAIL("the batch depends on the workers");
  }
  hlo_value_release(alone);
  hlo_value_release(shared);
}

static void batches_share_the_workers(void) {
  enum { BATCH = 500, N = 6 };
  kernel_env_t k;
  hr_workers_t *workers;
  kernel_env_init(&k);
  CHECK_OK(hr_workers_create(&(hr_workers_options_t){.count = 3}, &workers));
  hlo_value_t *a = kernel_value(HR_F64, KERNEL_DIMS(BATCH, N, N), NULL);
  hlo_value_t *tau = kernel_value(HR_F64, KERNEL_DIMS(BATCH, N), NULL), *in[] = {a, tau},
              *both[] = {a, a};
  for (int i = 0; i < BATCH * N * N; i++)
    ((double *)a->data)[i] = (i * 37 % 101) / 50.0 - 1 + 8 * (i % (N + 1) == 0);
  for (int i = 0; i < BATCH * N; i++) ((double *)tau->data)[i] = 1 + i % 7 / 8.0;
  const hlo_shape_t *m = columns_first(&k, HR_F64, KERNEL_DIMS(BATCH, N, N));
  const hlo_shape_t *v = kernel_shape(&k, HR_F64, KERNEL_DIMS(BATCH, N));
  const hlo_shape_t *pivots = kernel_shape(&k, HR_S32, KERNEL_DIMS(BATCH, N));
  const hlo_shape_t *info = kernel_shape(&k, HR_S32, KERNEL_DIMS(BATCH));
  compare_batch(&k, workers, "lapack_dgetrf_ffi", "{}", TUPLE(&k, m, pivots, info), 1, &a);
  compare_batch(&k, workers, "lapack_dgeqrf_ffi", "{}", TUPLE(&k, m, v), 1, &a);
  compare_batch(&k, workers, "lapack_dorgqr_ffi", "{}", m, 2, in);
  compare_batch(&k, workers, "lapack_dsyevd_ffi", "{mode = 86 : ui8, uplo = 76 : ui8}",
                TUPLE(&k, m, v, info), 1, &a);
  compare_batch(&k, workers, "lapack_dgesdd_ffi", "{mode = 65 : ui8}", TUPLE(&k, m, v, m, m, info),
                1, &a);
  compare_batch(&k, workers, "lapack_dtrsm_ffi",
                "{diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}", m, 2,
                both);
  hlo_value_release(a);
  hlo_value_release(tau);
  hr_workers_destroy(workers);
  kernel_env_deinit(&k);
}

/* Factorisations that do not fit must be refused before any memory is touched. */
static void hostile_lapack_calls(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *a = kernel_value(HR_F32, KERNEL_DIMS(2, 3), NULL);
  hlo_value_t *vector = kernel_value(HR_F32, KERNEL_DIMS(3), NULL);
  hlo_value_t *wide = kernel_value(HR_F64, KERNEL_DIMS(2, 3), NULL);
  hlo_value_t *two[] = {a, a};
  const hlo_shape_t *m = columns_first(&k, HR_F32, KERNEL_DIMS(2, 3));
  const hlo_shape_t *small = columns_first(&k, HR_F32, KERNEL_DIMS(1, 1));
  const hlo_shape_t *info = hlo_shape_scalar(HR_S32);
  const hlo_shape_t *pivots = kernel_shape(&k, HR_S32, KERNEL_DIMS(2));
  const hlo_shape_t *long_pivots = kernel_shape(&k, HR_S32, KERNEL_DIMS(1));
  call_fails(&k, HR_INVALID, "lapack_sgetrf_ffi", "{}", TUPLE(&k, small, pivots, info), 1, &a);
  call_fails(&k, HR_INVALID, "lapack_sgetrf_ffi", "{}", TUPLE(&k, m, long_pivots, info), 1, &a);
  call_fails(&k, HR_INVALID, "lapack_sgetrf_ffi", "{}", TUPLE(&k, m, pivots), 1, &a);
  call_fails(&k, HR_INVALID, "lapack_sgetrf_ffi", "{}", m, 1, &a);
  call_fails(&k, HR_INVALID, "lapack_sgetrf_ffi", "{}", TUPLE(&k, m, pivots, info), 1, &vector);
  call_fails(&k, HR_INVALID, "lapack_sgetrf_ffi", "{}", TUPLE(&k, m, pivots, info), 1, &wide);
  call_fails(&k, HR_INVALID, "lapack_sgetrf_ffi", "{}", TUPLE(&k, m, pivots, info), 0, NULL);
  call_fails(&k, HR_INVALID, "lapack_sgetrf_ffi", "{}", TUPLE(&k, m, pivots, info), 2, two);
  call_fails(&k, HR_INVALID, "lapack_sgetrf_ffi", "nonsense", TUPLE(&k, m, pivots, info), 1, &a);
  call_fails(&k, HR_UNSUPPORTED, "lapack_qgetrf_ffi", "{}", TUPLE(&k, m, pivots, info), 1, &a);
  hlo_value_release(a);
  hlo_value_release(vector);
  hlo_value_release(wide);
  kernel_env_deinit(&k);
}

/* Attributes and operands of other routines that do not fit. */
static void hostile_lapack_attributes(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *a = kernel_value(HR_F32, KERNEL_DIMS(2, 3), NULL);
  hlo_value_t *vector = kernel_value(HR_F32, KERNEL_DIMS(3), NULL);
  hlo_value_t *square = kernel_value(HR_F32, KERNEL_DIMS(3, 3), NULL);
  hlo_value_t *reflect[] = {a, vector}, *solve[] = {square, a}, *scalar[] = {int_scalar(3), square};
  const hlo_shape_t *m = columns_first(&k, HR_F32, KERNEL_DIMS(2, 3));
  const hlo_shape_t *s = columns_first(&k, HR_F32, KERNEL_DIMS(3, 3));
  const hlo_shape_t *info = hlo_shape_scalar(HR_S32);
  call_fails(&k, HR_INVALID, "lapack_spotrf_ffi", "{uplo = 76 : ui8}", TUPLE(&k, m, info), 1, &a);
  call_fails(&k, HR_INVALID, "lapack_spotrf_ffi", "{}", TUPLE(&k, s, info), 1, &square);
  call_fails(&k, HR_INVALID, "lapack_spotrf_ffi", "{uplo = 88 : ui8}", TUPLE(&k, s, info), 1,
             &square);
  call_fails(&k, HR_INVALID, "lapack_spotrf", "", TUPLE(&k, s, info), 2, scalar);
  call_fails(&k, HR_INVALID, "lapack_sorgqr_ffi", "{}", m, 2, reflect);
  call_fails(&k, HR_INVALID, "lapack_strsm_ffi",
             "{side = 76 : ui8, uplo = 76 : ui8, trans_x = 78 : ui8, diag = 78 : ui8}", m, 2,
             solve);
  call_fails(&k, HR_INVALID, "lapack_sgehrd_ffi", "{low = 0 : i32, high = 9 : i32}",
             TUPLE(&k, s, kernel_shape(&k, HR_F32, KERNEL_DIMS(2)), info), 1, &square);
  hlo_value_release(a);
  hlo_value_release(vector);
  hlo_value_release(square);
  hlo_value_release(scalar[0]);
  kernel_env_deinit(&k);
}

/* An old call gives in its own places what the typed one gives. */
static void compare_forms(kernel_env_t *k, const char *typed_target, const char *config,
                          const hlo_shape_t *typed_result, const char *old_target,
                          const hlo_shape_t *old_result, const int32_t *scalars, int scalar_count,
                          hlo_value_t *a, const int *places) {
  hlo_value_t *in[10], *typed = call(k, typed_target, config, typed_result, 1, &a);
  for (int i = 0; i < scalar_count; i++) in[i] = int_scalar(scalars[i]);
  in[scalar_count] = a;
  hlo_value_t *old = call(k, old_target, "", old_result, scalar_count + 1, in);
  for (int i = 0; i < typed->element_count; i++)
    CU_ASSERT_TRUE(hlo_value_equal(typed->elements[i], old->elements[places[i]]));
  for (int i = 0; i < scalar_count; i++) hlo_value_release(in[i]);
  hlo_value_release(typed);
  hlo_value_release(old);
}

static const int straight[] = {0, 1, 2, 3, 4, 5}; /* results in the same order */

static void old_forms(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *a = kernel_value(HR_F64, KERNEL_DIMS(3, 3), (double[]){2, 1, 0, 1, -3, 5, 0, 5, 1});
  const hlo_shape_t *m = columns_first(&k, HR_F64, KERNEL_DIMS(3, 3));
  const hlo_shape_t *v = kernel_shape(&k, HR_F64, KERNEL_DIMS(3));
  const hlo_shape_t *less = kernel_shape(&k, HR_F64, KERNEL_DIMS(2));
  const hlo_shape_t *c = columns_first(&k, HR_C128, KERNEL_DIMS(3, 3));
  const hlo_shape_t *info = hlo_shape_scalar(HR_S32);
  compare_forms(&k, "lapack_dgesdd_ffi", "{mode = 65 : ui8}", TUPLE(&k, m, v, m, m, info),
                "lapack_dgesdd", TUPLE(&k, m, v, m, m, info, v, v), (int32_t[]){1, 1, 1, 3, 3, 99},
                6, a, straight);
  compare_forms(&k, "lapack_dsyevd_ffi", "{mode = 86 : ui8, uplo = 76 : ui8}",
                TUPLE(&k, m, v, info), "lapack_dsyevd", TUPLE(&k, m, v, info, v, v),
                (int32_t[]){1, 1, 3}, 3, a, straight);
  compare_forms(&k, "lapack_dgeev_ffi", "{compute_left = 86 : ui8, compute_right = 86 : ui8}",
                TUPLE(&k, v, v, c, c, info), "lapack_dgeev", TUPLE(&k, m, m, m, v, v, c, c, info),
                (int32_t[]){1, 3, 'V', 'V'}, 4, a, (int[]){3, 4, 5, 6, 7});
  compare_forms(&k, "lapack_dgees_ffi", "{mode = 86 : ui8, sort = 78 : ui8}",
                TUPLE(&k, m, m, v, v, info, info), "lapack_dgees",
                TUPLE(&k, m, v, v, m, info, info), (int32_t[]){1, 3, 'V', 'N'}, 4, a,
                (int[]){0, 3, 1, 2, 4, 5});
  compare_forms(&k, "lapack_dgehrd_ffi", "{low = 1 : i32, high = 3 : i32}",
                TUPLE(&k, m, less, info), "lapack_dgehrd", TUPLE(&k, m, less, info, v),
                (int32_t[]){3, 1, 3, 3, 1, 99}, 6, a, straight);
  compare_forms(&k, "lapack_dsytrd_ffi", "{uplo = 76 : ui8}", TUPLE(&k, m, v, less, less, info),
                "lapack_dsytrd", TUPLE(&k, m, v, less, less, info, v), (int32_t[]){3, 1, 3, 1, 99},
                5, a, straight);
  compare_forms(&k, "lapack_dgeqrf_ffi", "{}", TUPLE(&k, m, v), "lapack_dgeqrf",
                TUPLE(&k, m, v, info, v), (int32_t[]){1, 3, 3, 99}, 4, a, straight);
  hlo_value_release(a);
  kernel_env_deinit(&k);
}

static void old_complex_forms(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *z = kernel_value(HR_C64, KERNEL_DIMS(2, 2), (float[]){1, 2, 3, 4, 5, 6, 7, 8});
  const hlo_shape_t *zm = columns_first(&k, HR_C64, KERNEL_DIMS(2, 2));
  const hlo_shape_t *zv = kernel_shape(&k, HR_C64, KERNEL_DIMS(2));
  const hlo_shape_t *reals = kernel_shape(&k, HR_F32, KERNEL_DIMS(4));
  const hlo_shape_t *info = hlo_shape_scalar(HR_S32);
  compare_forms(&k, "lapack_cgeev_ffi", "{compute_left = 78 : ui8, compute_right = 86 : ui8}",
                TUPLE(&k, zv, zm, zm, info), "lapack_cgeev", TUPLE(&k, zm, reals, zv, zm, zm, info),
                (int32_t[]){1, 2, 'N', 'V'}, 4, z, (int[]){2, 3, 4, 5});
  compare_forms(&k, "lapack_cgees_ffi", "{mode = 86 : ui8, sort = 78 : ui8}",
                TUPLE(&k, zm, zm, zv, info, info), "lapack_cgees",
                TUPLE(&k, zm, reals, zv, zm, info, info), (int32_t[]){1, 2, 'V', 'N'}, 4, z,
                (int[]){0, 3, 2, 4, 5});
  hlo_value_release(z);
  kernel_env_deinit(&k);
}

static void trsm_in_both_forms(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  double alpha = 2;
  hlo_value_t *a = kernel_value(HR_F64, KERNEL_DIMS(2, 2), (double[]){2, 99, 1, 4}),
              *b = kernel_value(HR_F64, KERNEL_DIMS(2, 1), (double[]){2, 9});
  const hlo_shape_t *result = columns_first(&k, HR_F64, KERNEL_DIMS(2, 1));
  hlo_value_t *typed =
      call(&k, "lapack_dtrsm_ffi",
           "{diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}", result, 2,
           (hlo_value_t *[]){a, b});
  CU_ASSERT_TRUE(kernel_is(typed, HR_F64, KERNEL_DIMS(2, 1), (double[]){1, 2}));
  hlo_value_t *old_in[10] = {int_scalar(1),
                             int_scalar(1),
                             int_scalar(0),
                             int_scalar(0),
                             int_scalar(2),
                             int_scalar(1),
                             int_scalar(1),
                             kernel_value(HR_F64, KERNEL_SCALAR, &alpha),
                             a,
                             b};
  hlo_value_t *old = call(&k, "blas_dtrsm", "", result, 10, old_in);
  CU_ASSERT_TRUE(kernel_is(old, HR_F64, KERNEL_DIMS(2, 1), (double[]){2, 4}));
  hlo_value_release(old_in[7]);
  old_in[7] = int_scalar(1); /* a factor of another type */
  call_fails(&k, HR_INVALID, "blas_dtrsm", "", result, 10, old_in);
  for (int i = 0; i < 10; i++) hlo_value_release(old_in[i]);
  hlo_value_release(typed);
  hlo_value_release(old);
  kernel_env_deinit(&k);
}

static void geev_of_infinite_numbers(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *a = kernel_value(HR_F32, KERNEL_DIMS(1, 1), (float[]){INFINITY});
  const hlo_shape_t *v = kernel_shape(&k, HR_F32, KERNEL_DIMS(1)),
                    *c = columns_first(&k, HR_C64, KERNEL_DIMS(1, 1));
  hlo_value_t *out =
      call(&k, "lapack_sgeev_ffi", "{compute_left = 78 : ui8, compute_right = 78 : ui8}",
           TUPLE(&k, v, v, c, c, hlo_shape_scalar(HR_S32)), 1, &a);
  CU_ASSERT_EQUAL(*(int32_t *)out->elements[4]->data, -4);
  hlo_value_release(a);
  hlo_value_release(out);
  kernel_env_deinit(&k);
}

CU_TestInfo suite_custom_lapack[] = {
    {"potrf in both forms", potrf_in_both_forms},
    {"getrf of a batch", getrf_of_a_batch},
    {"batches share the workers", batches_share_the_workers},
    {"hostile LAPACK calls", hostile_lapack_calls},
    {"hostile LAPACK attributes", hostile_lapack_attributes},
    {"old forms", old_forms},
    {"old forms of complex numbers", old_complex_forms},
    {"trsm in both forms", trsm_in_both_forms},
    {"geev of infinite numbers", geev_of_infinite_numbers},
    CU_TEST_INFO_NULL,
};
