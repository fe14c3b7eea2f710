/* Custom calls other than LAPACK's: how targets are found, callbacks, top-k, assertions. */
#include <math.h>

#include "ops/kernels/custom/custom_call.h"
#include "tests/lib/custom_calls.h"
#include "tests/lib/kernel_env.h"
#include "tests/lib/unit.h"

static void targets_are_found_by_pattern(void) {
  CU_ASSERT_PTR_NOT_NULL(op_custom_call_find(HR_STR("lapack_spotrf_ffi")));
  CU_ASSERT_PTR_NOT_NULL(op_custom_call_find(HR_STR("lapack_zpotrf")));
  CU_ASSERT_PTR_NOT_NULL(op_custom_call_find(HR_STR("xla_ffi_python_cpu_callback")));
  CU_ASSERT_PTR_NOT_NULL(op_custom_call_find(HR_STR("mhlo.erf")));
  CU_ASSERT_PTR_NULL(op_custom_call_find(HR_STR("lapack_potrf")));
  CU_ASSERT_PTR_NULL(op_custom_call_find(HR_STR("lapack_spotrfx")));
  CU_ASSERT_PTR_NULL(op_custom_call_find(HR_STR("")));
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
  hlo_value_release(a);
  hlo_value_release(out);
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
  CHECK_FAILS(HR_INVALID, op_custom_call_check_marker(build_call(&k, "Sharding", "", half, 1, &a)));
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
  hlo_value_release(out);
  hlo_value_release(a);
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
  hlo_value_release(cut);
  hlo_value_release(padded);
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
  hlo_value_release(in[0]);
  hlo_value_release(in[1]);
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
    {"layouts are what the callee sees", layouts_are_what_the_callee_sees},
    {"markers pass on", markers_pass_on},
    {"callbacks", callbacks},
    {"unknown targets name the nearest", unknown_targets_name_the_nearest},
    {"top k", top_k},
    {"approximate top k along any dimension", approximate_top_k_along_any_dimension},
    {"ops by other names", ops_by_other_names},
    {"dynamic sizes", dynamic_sizes},
    {"assertions", assertions},
    {"sparse rows times dense", sparse_rows_times_dense},
    CU_TEST_INFO_NULL,
};
