#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "ops/kernels/custom/custom_call.h"
#include "tests/lib/kernel_env.h"
#include "tests/lib/unit.h"

/* [batch..., rows, columns], each matrix column by column in memory. */
static const hlo_shape_t *columns_first(kernel_env_t *k, hr_dtype_t dtype, int rank,
                                        const int64_t *dims) {
  const hlo_shape_t *shape = kernel_shape(k, dtype, rank, dims);
  int64_t order[HLO_MAX_RANK];
  for (int d = 0; d < rank; d++) order[d] = rank - 1 - d;
  if (rank >= 2) order[0] = rank - 2, order[1] = rank - 1;
  hlo_layout_t *layout;
  CHECK_OK(HR_NEW(&k->module->arena, &layout));
  CHECK_OK(hr_arena_ints(&k->module->arena, order, rank, &layout->minor_to_major));
  CHECK_OK(hlo_shape_with_layout(&k->module->arena, shape, layout, &shape));
  return shape;
}

static hlo_instr_t *build_call(kernel_env_t *k, const char *target, const char *config,
                               const hlo_shape_t *result, int count, hlo_value_t *const *values) {
  const hlo_shape_t **layouts;
  hlo_shapes_t *constraints;
  hlo_extra_t *extra;
  hr_arena_t *arena = &k->module->arena;
  CHECK_OK(HR_NEW_ARRAY(arena, count, &layouts));
  CHECK_OK(HR_NEW(arena, &constraints));
  CHECK_OK(HR_NEW(arena, &extra));
  for (int i = 0; i < count; i++)
    layouts[i] = columns_first(k, values[i]->dtype, values[i]->rank, values[i]->dims);
  *constraints = (hlo_shapes_t){count, layouts};
  extra->backend_config = hr_str_from(config);
  hlo_attr_t attrs[] = {{.key = HLO_ATTR_CUSTOM_CALL_TARGET, .text = hr_str_from(target)},
                        {.key = HLO_ATTR_OPERAND_LAYOUT_CONSTRAINTS, .shapes = constraints}};
  hlo_instr_t *instr = kernel_build(k, HLO_CUSTOM_CALL, result, count, values, 2, attrs, 0, NULL);
  instr->extra = extra;
  return instr;
}

static hlo_value_t *call(kernel_env_t *k, const char *target, const char *config,
                         const hlo_shape_t *result, int count, hlo_value_t *const *values) {
  hlo_value_t *out = NULL;
  CHECK_OK(kernel_try(k, build_call(k, target, config, result, count, values), values, 0, &out));
  CU_ASSERT_PTR_NOT_NULL_FATAL(out);
  return out;
}

static void call_fails(kernel_env_t *k, hr_code_t code, const char *target, const char *config,
                       const hlo_shape_t *result, int count, hlo_value_t *const *values) {
  hlo_value_t *out = NULL;
  CHECK_FAILS(code,
              kernel_try(k, build_call(k, target, config, result, count, values), values, 0, &out));
}

static const hlo_shape_t *tuple_of(kernel_env_t *k, int count, const hlo_shape_t *const *elements) {
  return kernel_tuple_shape(k, count, elements);
}
#define TUPLE(k, ...)                                                                 \
  tuple_of((k), (int)(sizeof((const hlo_shape_t *[]){__VA_ARGS__}) / sizeof(void *)), \
           (const hlo_shape_t *[]){__VA_ARGS__})

static hlo_value_t *int_scalar(int32_t value) {
  return kernel_value(HR_S32, KERNEL_SCALAR, &value);
}

static void targets_are_found_by_pattern(void) {
  CU_ASSERT_PTR_NOT_NULL(op_custom_call_find(HR_STR("lapack_spotrf_ffi")));
  CU_ASSERT_PTR_NOT_NULL(op_custom_call_find(HR_STR("lapack_zpotrf")));
  CU_ASSERT_PTR_NOT_NULL(op_custom_call_find(HR_STR("xla_ffi_python_cpu_callback")));
  CU_ASSERT_PTR_NOT_NULL(op_custom_call_find(HR_STR("mhlo.erf")));
  CU_ASSERT_PTR_NULL(op_custom_call_find(HR_STR("lapack_potrf")));
  CU_ASSERT_PTR_NULL(op_custom_call_find(HR_STR("lapack_spotrfx")));
  CU_ASSERT_PTR_NULL(op_custom_call_find(HR_STR("")));
}

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
  hlo_value_release(a), hlo_value_release(typed), hlo_value_release(old);
  kernel_env_deinit(&k);
}

/* Rows first in memory: the callee sees the transpose, so that its lower triangle is our upper one.
 */
static void layouts_are_what_the_callee_sees(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *a = kernel_value(HR_F32, KERNEL_DIMS(2, 2), (float[]){4, 2, 99, 10}), *out = NULL;
  const hlo_shape_t *result =
      TUPLE(&k, kernel_shape(&k, HR_F32, 2, a->dims), hlo_shape_scalar(HR_S32));
  hlo_instr_t *instr = build_call(&k, "lapack_spotrf_ffi", "{uplo = 76 : ui8}", result, 1, &a);
  ((hlo_attr_t *)instr->attrs)[1].key =
      HLO_ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT; /* no constraints: row-major */
  CHECK_OK(kernel_try(&k, instr, &a, 0, &out));
  CU_ASSERT_TRUE(kernel_is(out->elements[0], HR_F32, KERNEL_DIMS(2, 2), (float[]){2, 1, 99, 3}));
  hlo_value_release(a), hlo_value_release(out);
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
  hlo_value_release(a), hlo_value_release(out);
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
  hlo_value_release(alone), hlo_value_release(shared);
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
  hlo_value_release(a), hlo_value_release(tau);
  hr_workers_destroy(workers);
  kernel_env_deinit(&k);
}

/* Calls that do not fit must be refused before any memory is touched. */
static void hostile_lapack_calls(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *a = kernel_value(HR_F32, KERNEL_DIMS(2, 3), NULL),
              *vector = kernel_value(HR_F32, KERNEL_DIMS(3), NULL);
  hlo_value_t *square = kernel_value(HR_F32, KERNEL_DIMS(3, 3), NULL),
              *wide = kernel_value(HR_F64, KERNEL_DIMS(2, 3), NULL);
  const hlo_shape_t *m = columns_first(&k, HR_F32, KERNEL_DIMS(2, 3)),
                    *s = columns_first(&k, HR_F32, KERNEL_DIMS(3, 3));
  const hlo_shape_t *small = columns_first(&k, HR_F32, KERNEL_DIMS(1, 1)),
                    *info = hlo_shape_scalar(HR_S32);
  const hlo_shape_t *pivots = kernel_shape(&k, HR_S32, KERNEL_DIMS(2)),
                    *long_pivots = kernel_shape(&k, HR_S32, KERNEL_DIMS(1));
  hlo_value_t *two[] = {a, a}, *reflect[] = {a, vector}, *solve[] = {square, a},
              *scalar[] = {int_scalar(3), square};
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
  hlo_value_release(a), hlo_value_release(vector), hlo_value_release(square),
      hlo_value_release(wide);
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
  hlo_value_release(typed), hlo_value_release(old);
}

static void old_forms(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *a = kernel_value(HR_F64, KERNEL_DIMS(3, 3), (double[]){2, 1, 0, 1, -3, 5, 0, 5, 1});
  hlo_value_t *z = kernel_value(HR_C64, KERNEL_DIMS(2, 2), (float[]){1, 2, 3, 4, 5, 6, 7, 8});
  const hlo_shape_t *m = columns_first(&k, HR_F64, KERNEL_DIMS(3, 3)),
                    *v = kernel_shape(&k, HR_F64, KERNEL_DIMS(3));
  const hlo_shape_t *less = kernel_shape(&k, HR_F64, KERNEL_DIMS(2)),
                    *c = columns_first(&k, HR_C128, KERNEL_DIMS(3, 3));
  const hlo_shape_t *zm = columns_first(&k, HR_C64, KERNEL_DIMS(2, 2)),
                    *zv = kernel_shape(&k, HR_C64, KERNEL_DIMS(2));
  const hlo_shape_t *reals = kernel_shape(&k, HR_F32, KERNEL_DIMS(4)),
                    *info = hlo_shape_scalar(HR_S32);
  static const int straight[] = {0, 1, 2, 3, 4, 5};
  compare_forms(&k, "lapack_dgesdd_ffi", "{mode = 65 : ui8}", TUPLE(&k, m, v, m, m, info),
                "lapack_dgesdd", TUPLE(&k, m, v, m, m, info, v, v), (int32_t[]){1, 1, 1, 3, 3, 99},
                6, a, straight);
  compare_forms(&k, "lapack_dsyevd_ffi", "{mode = 86 : ui8, uplo = 76 : ui8}",
                TUPLE(&k, m, v, info), "lapack_dsyevd", TUPLE(&k, m, v, info, v, v),
                (int32_t[]){1, 1, 3}, 3, a, straight);
  compare_forms(&k, "lapack_dgeev_ffi", "{compute_left = 86 : ui8, compute_right = 86 : ui8}",
                TUPLE(&k, v, v, c, c, info), "lapack_dgeev", TUPLE(&k, m, m, m, v, v, c, c, info),
                (int32_t[]){1, 3, 'V', 'V'}, 4, a, (int[]){3, 4, 5, 6, 7});
  compare_forms(&k, "lapack_cgeev_ffi", "{compute_left = 78 : ui8, compute_right = 86 : ui8}",
                TUPLE(&k, zv, zm, zm, info), "lapack_cgeev", TUPLE(&k, zm, reals, zv, zm, zm, info),
                (int32_t[]){1, 2, 'N', 'V'}, 4, z, (int[]){2, 3, 4, 5});
  compare_forms(&k, "lapack_dgees_ffi", "{mode = 86 : ui8, sort = 78 : ui8}",
                TUPLE(&k, m, m, v, v, info, info), "lapack_dgees",
                TUPLE(&k, m, v, v, m, info, info), (int32_t[]){1, 3, 'V', 'N'}, 4, a,
                (int[]){0, 3, 1, 2, 4, 5});
  compare_forms(&k, "lapack_cgees_ffi", "{mode = 86 : ui8, sort = 78 : ui8}",
                TUPLE(&k, zm, zm, zv, info, info), "lapack_cgees",
                TUPLE(&k, zm, reals, zv, zm, info, info), (int32_t[]){1, 2, 'V', 'N'}, 4, z,
                (int[]){0, 3, 2, 4, 5});
  compare_forms(&k, "lapack_dgehrd_ffi", "{low = 1 : i32, high = 3 : i32}",
                TUPLE(&k, m, less, info), "lapack_dgehrd", TUPLE(&k, m, less, info, v),
                (int32_t[]){3, 1, 3, 3, 1, 99}, 6, a, straight);
  compare_forms(&k, "lapack_dsytrd_ffi", "{uplo = 76 : ui8}", TUPLE(&k, m, v, less, less, info),
                "lapack_dsytrd", TUPLE(&k, m, v, less, less, info, v), (int32_t[]){3, 1, 3, 1, 99},
                5, a, straight);
  compare_forms(&k, "lapack_dgeqrf_ffi", "{}", TUPLE(&k, m, v), "lapack_dgeqrf",
                TUPLE(&k, m, v, info, v), (int32_t[]){1, 3, 3, 99}, 4, a, straight);
  hlo_value_release(a), hlo_value_release(z);
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
  hlo_value_release(typed), hlo_value_release(old);
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
  hlo_value_release(a), hlo_value_release(out);
  kernel_env_deinit(&k);
}

static void markers_pass_on(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *a = kernel_value(HR_F32, KERNEL_DIMS(2), (float[]){1, 2});
  const hlo_shape_t *same = kernel_shape(&k, HR_F32, KERNEL_DIMS(2)),
                    *half = kernel_shape(&k, HR_F32, KERNEL_DIMS(1));
  hlo_value_t *out = call(&k, "Sharding", "", same, 1, &a);
  CU_ASSERT_PTR_EQUAL(out, a);
  hlo_value_release(out);
  out = call(&k, "SPMDFullToShardShape", "", same, 1, &a);
  CU_ASSERT_PTR_EQUAL(out, a);
  hlo_value_release(out);
  CHECK_FAILS(HR_INVALID,
              op_custom_call_check_marker(build_call(&k, "Sharding", "", half, 1, &a)));
  call_fails(&k, HR_UNSUPPORTED, "xla.sdy.GlobalToLocalShape", "", half, 1, &a);
  call_fails(&k, HR_UNSUPPORTED, "CustomSPMDPartitioning", "", same, 1, &a);
  call_fails(&k, HR_UNSUPPORTED, "no such thing", "", same, 1, &a);
  hlo_value_release(a);
  kernel_env_deinit(&k);
}

static void callbacks(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *a = kernel_value(HR_F32, KERNEL_DIMS(2), NULL);
  call_fails(&k, HR_UNSUPPORTED, "xla_ffi_python_cpu_callback", "{index = 0 : ui64}",
             kernel_shape(&k, HR_F32, KERNEL_DIMS(2)), 1, &a);
  hlo_value_t *out = call(&k, "dce_sink", "", kernel_tuple_shape(&k, 0, NULL), 1, &a);
  CU_ASSERT_EQUAL(out->element_count, 0);
  hlo_value_release(out), hlo_value_release(a);
  kernel_env_deinit(&k);
}

static void unknown_targets_name_the_nearest(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *a = kernel_value(HR_F32, KERNEL_DIMS(2), NULL), *out = NULL;
  hlo_instr_t *instr =
      build_call(&k, "lapack_sportf_ffi", "", kernel_shape(&k, HR_F32, KERNEL_DIMS(2)), 1, &a);
  hlo_metadata_t metadata = {
      .op_name = HR_STR("jit(f)/cholesky"), .source_file = HR_STR("model.py"), .source_line = 12};
  ((hlo_extra_t *)instr->extra)->metadata = &metadata;
  hr_status_t st = kernel_try(&k, instr, &a, 0, &out);
  CU_ASSERT_EQUAL(hr_status_code(st), HR_UNSUPPORTED);
  CU_ASSERT_PTR_NOT_NULL(strstr(hr_status_message(st), "lapack_?potrf"));
  CU_ASSERT_PTR_NOT_NULL(strstr(hr_status_message(st), "jit(f)/cholesky at model.py:12"));
  hr_status_release(st);
  hlo_value_release(a);
  kernel_env_deinit(&k);
}

static void top_k(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *a = kernel_value(HR_F32, KERNEL_DIMS(1, 4), (float[]){2, 5, -1, 5});
  const hlo_shape_t *v = kernel_shape(&k, HR_F32, KERNEL_DIMS(1, 2)),
                    *i = kernel_shape(&k, HR_S32, KERNEL_DIMS(1, 2));
  hlo_value_t *out = call(&k, "TopK", "", TUPLE(&k, v, i), 1, &a);
  CU_ASSERT_TRUE(kernel_is(out->elements[0], HR_F32, KERNEL_DIMS(1, 2), (float[]){5, 5}));
  CU_ASSERT_TRUE(kernel_is(out->elements[1], HR_S32, KERNEL_DIMS(1, 2), (int32_t[]){1, 3}));
  hlo_value_release(out);
  out = call(&k, "mhlo.topk", "{k = 2 : i64, largest = false}", TUPLE(&k, v, i), 1, &a);
  CU_ASSERT_TRUE(kernel_is(out->elements[1], HR_S32, KERNEL_DIMS(1, 2), (int32_t[]){2, 0}));
  hlo_value_release(out);
  call_fails(&k, HR_INVALID, "TopK", "", v, 1, &a);
  call_fails(&k, HR_INVALID, "TopK", "", TUPLE(&k, v, v), 1, &a);
  call_fails(&k, HR_INVALID, "TopK", "",
             TUPLE(&k, kernel_shape(&k, HR_F32, KERNEL_DIMS(1, 9)),
                   kernel_shape(&k, HR_S32, KERNEL_DIMS(1, 9))),
             1, &a);
  hlo_value_release(a);
  kernel_env_deinit(&k);
}

static void approximate_top_k_along_any_dimension(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *in[] = {kernel_value(HR_F32, KERNEL_DIMS(3, 2), (float[]){1, 9, 8, 2, 3, 4}),
                       kernel_value(HR_S32, KERNEL_DIMS(3, 2), (int32_t[]){0, 0, 1, 1, 2, 2}),
                       kernel_value(HR_F32, KERNEL_SCALAR, (float[]){0}), int_scalar(-1)};
  const hlo_shape_t *v = kernel_shape(&k, HR_F32, KERNEL_DIMS(2, 2)),
                    *i = kernel_shape(&k, HR_S32, KERNEL_DIMS(2, 2));
  hlo_value_t *out =
      call(&k, "ApproxTopK", "{top_k = 2 : i64, reduction_dim = 0 : i64}", TUPLE(&k, v, i), 4, in);
  CU_ASSERT_TRUE(kernel_is(out->elements[0], HR_F32, KERNEL_DIMS(2, 2), (float[]){8, 9, 3, 4}));
  CU_ASSERT_TRUE(kernel_is(out->elements[1], HR_S32, KERNEL_DIMS(2, 2), (int32_t[]){1, 0, 2, 2}));
  call_fails(&k, HR_INVALID, "ApproxTopK", "{reduction_dim = 2 : i64}", TUPLE(&k, v, i), 4, in);
  call_fails(&k, HR_INVALID, "ApproxTopK", "{reduction_dim = 0 : i64}", TUPLE(&k, v, v), 4, in);
  for (int j = 0; j < 4; j++) hlo_value_release(in[j]);
  hlo_value_release(out);
  kernel_env_deinit(&k);
}

static void ops_by_other_names(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *a = kernel_value(HR_F32, KERNEL_DIMS(2), (float[]){4, 9});
  const hlo_shape_t *same = kernel_shape(&k, HR_F32, KERNEL_DIMS(2));
  hlo_value_t *out = call(&k, "mhlo.sqrt", "", same, 1, &a);
  CU_ASSERT_TRUE(kernel_is(out, HR_F32, KERNEL_DIMS(2), (float[]){2, 3}));
  hlo_value_release(out);
  call_fails(&k, HR_UNSUPPORTED, "mhlo.unheard_of", "", same, 1, &a);
  call_fails(&k, HR_UNSUPPORTED, "mhlo.", "", same, 1, &a);
  call_fails(&k, HR_INVALID, "mhlo.add", "", same, 1, &a);
  call_fails(&k, HR_INVALID, "mhlo.sqrt", "", kernel_shape(&k, HR_F32, KERNEL_DIMS(99)), 1, &a);
  hlo_value_release(a);
  kernel_env_deinit(&k);
}

static void dynamic_sizes(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  const bool dynamic[] = {false, true};
  const hlo_shape_t *bounded = NULL;
  CHECK_OK(hlo_shape_array_dynamic(&k.module->arena, HR_S32, KERNEL_DIMS(2, 3), dynamic, &bounded));
  hlo_value_t *in[] = {kernel_value(HR_S32, KERNEL_DIMS(2, 3), (int32_t[]){1, 2, 3, 4, 5, 6}),
                       int_scalar(2), int_scalar(2)};
  hlo_value_t *cut = call(&k, "SliceToDynamic", "", bounded, 3, in);
  CU_ASSERT_TRUE(kernel_is(cut, HR_S32, KERNEL_DIMS(2, 2), (int32_t[]){1, 2, 4, 5}));
  const hlo_shape_t *size = hlo_shape_scalar(HR_S32),
                    *full = kernel_shape(&k, HR_S32, KERNEL_DIMS(2, 3));
  hlo_value_t *padded = call(&k, "PadToStatic", "", TUPLE(&k, full, size, size), 1, &cut);
  CU_ASSERT_TRUE(
      kernel_is(padded->elements[0], HR_S32, KERNEL_DIMS(2, 3), (int32_t[]){1, 2, 0, 4, 5, 0}));
  CU_ASSERT_EQUAL(*(int32_t *)padded->elements[2]->data, 2);
  hlo_value_release(in[2]);
  in[2] = int_scalar(4);
  call_fails(&k, HR_INVALID, "SliceToDynamic", "", bounded, 3, in);
  for (int i = 0; i < 3; i++) hlo_value_release(in[i]);
  hlo_value_release(cut), hlo_value_release(padded);
  kernel_env_deinit(&k);
}

static void assertions(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *in[] = {kernel_value(HR_PRED, KERNEL_SCALAR, (uint8_t[]){1}), int_scalar(7)},
              *out = NULL;
  const hlo_shape_t *none = kernel_tuple_shape(&k, 0, NULL);
  hlo_value_release(call(&k, "shape_assertion", "", none, 2, in));
  *(uint8_t *)in[0]->data = 0;
  hr_status_t st = kernel_try(
      &k, build_call(&k, "shape_assertion", "{error_message = \"n is {0}, {1}\"}", none, 2, in), in,
      0, &out);
  CU_ASSERT_EQUAL(hr_status_code(st), HR_INVALID);
  CU_ASSERT_PTR_NOT_NULL(strstr(hr_status_message(st), "n is 7, {1}"));
  hr_status_release(st);
  hlo_value_release(in[0]), hlo_value_release(in[1]);
  kernel_env_deinit(&k);
}

static void sparse_rows_times_dense(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *in[] = {kernel_value(HR_S32, KERNEL_DIMS(3), (int32_t[]){1, 2, 3}),
                       kernel_value(HR_S32, KERNEL_DIMS(3), (int32_t[]){0, 1, 3}),
                       kernel_value(HR_S32, KERNEL_DIMS(3), (int32_t[]){1, 0, 1}),
                       kernel_value(HR_S32, KERNEL_DIMS(2), (int32_t[]){10, 100})};
  const hlo_shape_t *result = kernel_shape(&k, HR_S32, KERNEL_DIMS(2));
  hlo_value_t *out = call(&k, "cpu_csr_sparse_dense_ffi", "", result, 4, in);
  CU_ASSERT_TRUE(kernel_is(out, HR_S32, KERNEL_DIMS(2), (int32_t[]){100, 320}));
  hlo_value_release(out);
  ((int32_t *)in[1]->data)[2] = 1000,
            ((int32_t *)in[2]->data)[0] = -5; /* indices outside are left out */
  hlo_value_release(call(&k, "cpu_csr_sparse_dense_ffi", "", result, 4, in));
  for (int i = 0; i < 4; i++) hlo_value_release(in[i]);
  kernel_env_deinit(&k);
}

CU_TestInfo suite_custom_call[] = {
    {"targets are found by pattern", targets_are_found_by_pattern},
    {"potrf in both forms", potrf_in_both_forms},
    {"layouts are what the callee sees", layouts_are_what_the_callee_sees},
    {"getrf of a batch", getrf_of_a_batch},
    {"batches share the workers", batches_share_the_workers},
    {"hostile LAPACK calls", hostile_lapack_calls},
    {"old forms", old_forms},
    {"trsm in both forms", trsm_in_both_forms},
    {"geev of infinite numbers", geev_of_infinite_numbers},
    {"markers pass on", markers_pass_on},
    {"callbacks", callbacks},
    {"unknown targets name the nearest", unknown_targets_name_the_nearest},
    {"top k", top_k},
    {"approximate top k along any dimension", approximate_top_k_along_any_dimension},
    {"ops by other names", ops_by_other_names},
    {"dynamic sizes", dynamic_sizes},
    {"assertions", assertions},
    {"sparse rows times dense", sparse_rows_times_dense},
    CU_TEST_INFO_NULL};
