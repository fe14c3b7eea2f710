/* Tolerances of comparisons: defaults by type and sizes of sums, options, numbers that are not
 * finite. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cases/cli_tolerance.h"
#include "tests/lib/unit.h"

static hlo_value_t *floats(hr_dtype_t dtype, int count, const double *numbers) {
  hlo_value_t *value;
  const int64_t dims[1] = {count};
  CHECK_OK(hlo_value_array(dtype, 1, dims, &value));
  size_t bytes = hr_dtype_bytes(dtype);
  for (int i = 0; i < count; i++) {
    uint64_t bits = hr_float_encode(dtype, numbers[i]);
    memcpy((char *)value->data + (size_t)i * bytes, &bits, bytes);
  }
  return value;
}

static hlo_difference_t compare(hlo_value_t *got, hlo_value_t *want, hlo_tolerance_t tolerance) {
  hlo_difference_t difference;
  hlo_compare(got, want, &tolerance, &difference);
  hlo_value_release(got);
  hlo_value_release(want);
  return difference;
}

#define FLOATS(dtype, ...)                                                 \
  floats((dtype), (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), \
         (const double[]){__VA_ARGS__})

static void test_defaults_by_type(void) {
  CU_ASSERT_EQUAL(
      compare(FLOATS(HR_F64, 1 + 1e-10), FLOATS(HR_F64, 1), hlo_tolerance_default()).bad_count, 0);
  CU_ASSERT_EQUAL(
      compare(FLOATS(HR_F64, 1 + 1e-8), FLOATS(HR_F64, 1), hlo_tolerance_default()).bad_count, 1);
  CU_ASSERT_EQUAL(
      compare(FLOATS(HR_F32, 1.0001), FLOATS(HR_F32, 1), hlo_tolerance_default()).bad_count, 0);
  CU_ASSERT_EQUAL(
      compare(FLOATS(HR_F32, 1.001), FLOATS(HR_F32, 1), hlo_tolerance_default()).bad_count, 1);
  CU_ASSERT_EQUAL(
      compare(FLOATS(HR_BF16, 1.0078125), FLOATS(HR_BF16, 1), hlo_tolerance_default()).bad_count,
      0);
  CU_ASSERT_EQUAL(
      compare(FLOATS(HR_F8E4M3FN, 1.125), FLOATS(HR_F8E4M3FN, 1), hlo_tolerance_default())
          .bad_count,
      0);
  CU_ASSERT_EQUAL(
      compare(FLOATS(HR_F8E4M3FN, 1.25), FLOATS(HR_F8E4M3FN, 1), hlo_tolerance_default()).bad_count,
      1);
}

/* atol is a share of the largest magnitude that is expected. */
static void test_absolute_tolerance(void) {
  hlo_difference_t d =
      compare(FLOATS(HR_F32, 1e-5, 1), FLOATS(HR_F32, 0, 1), hlo_tolerance_default());
  CU_ASSERT_EQUAL(d.bad_count, 0);
  CU_ASSERT_EQUAL(d.worst, 0);
  CU_ASSERT_DOUBLE_EQUAL(d.atol, 1e-4, 1e-12);
  d = compare(FLOATS(HR_F32, 1e-3, 1), FLOATS(HR_F32, 0, 1), hlo_tolerance_default());
  CU_ASSERT_EQUAL(d.bad_count, 1);
  d = compare(FLOATS(HR_F32, 1e-3, 1), FLOATS(HR_F32, 0, 1), (hlo_tolerance_t){-1, 1e-2, -1, 0});
  CU_ASSERT_EQUAL(d.bad_count, 0);
  d = compare(FLOATS(HR_F32, 1.0000001, 1), FLOATS(HR_F32, 1, 1), (hlo_tolerance_t){0, 0, -1, 0});
  CU_ASSERT_EQUAL(d.bad_count, 1);
}

/* What is left of terms that cancel may be off by more than its own size allows. */
static void test_sums(void) {
  hlo_tolerance_t of_sums = hlo_tolerance_default();
  of_sums.terms = 10;
  CU_ASSERT_EQUAL(
      compare(FLOATS(HR_F32, 0.001), FLOATS(HR_F32, 0.0015), hlo_tolerance_default()).bad_count, 1);
  CU_ASSERT_EQUAL(compare(FLOATS(HR_F32, 0.001), FLOATS(HR_F32, 0.0015), of_sums).bad_count, 0);
  CU_ASSERT_EQUAL(compare(FLOATS(HR_F32, 0.001), FLOATS(HR_F32, 0.003), of_sums).bad_count, 1);
}

static void test_special_values(void) {
  hlo_difference_t d = compare(FLOATS(HR_F32, NAN, INFINITY, -0.0),
                               FLOATS(HR_F32, -NAN, INFINITY, 0), hlo_tolerance_default());
  CU_ASSERT_EQUAL(d.bad_count, 0);
  CU_ASSERT_EQUAL(d.worst, -1);
  d = compare(FLOATS(HR_F32, NAN, -INFINITY, 1), FLOATS(HR_F32, 1, INFINITY, NAN),
              hlo_tolerance_default());
  CU_ASSERT_EQUAL(d.bad_count, 3);
  d = compare(FLOATS(HR_F32, INFINITY), FLOATS(HR_F32, 3e38), hlo_tolerance_default());
  CU_ASSERT_EQUAL(d.bad_count, 1);
}

static void test_steps_of_numbers(void) {
  hlo_difference_t d = compare(FLOATS(HR_F32, 1, nextafterf(nextafterf(2, 3), 3)),
                               FLOATS(HR_F32, 1, 2), (hlo_tolerance_t){-1, -1, 2, 0});
  CU_ASSERT_EQUAL(d.bad_count, 0);
  CU_ASSERT_EQUAL(d.worst_ulp, 2);
  d = compare(FLOATS(HR_F64, nextafter(0, 1)), FLOATS(HR_F64, nextafter(0, -1)),
              (hlo_tolerance_t){-1, -1, 1, 0});
  CU_ASSERT_EQUAL(d.worst_ulp, 2);
  CU_ASSERT_EQUAL(d.bad_count, 1);
}

static void test_integers_are_exact(void) {
  hlo_value_t *got, *want;
  const int64_t dims[1] = {2};
  CHECK_OK(hlo_value_array(HR_U64, 1, dims, &got));
  CHECK_OK(hlo_value_array(HR_U64, 1, dims, &want));
  memcpy(got->data, (uint64_t[]){UINT64_MAX, 5}, 16);
  memcpy(want->data, (uint64_t[]){UINT64_MAX - 1, 5}, 16);
  hlo_difference_t d;
  hlo_tolerance_t exact = hlo_tolerance_default(), loose = {-1, 1, -1, 0};
  hlo_compare(got, want, &exact, &d);
  CU_ASSERT_EQUAL(d.bad_count, 1);
  CU_ASSERT_EQUAL(d.worst, 0);
  hlo_compare(got, want, &loose, &d);
  CU_ASSERT_EQUAL(d.bad_count, 0);
  hlo_value_release(got);
  hlo_value_release(want);
}

static void test_complex_parts(void) {
  hlo_value_t *got, *want;
  const int64_t dims[1] = {2};
  CHECK_OK(hlo_value_array(HR_C64, 1, dims, &got));
  CHECK_OK(hlo_value_array(HR_C64, 1, dims, &want));
  memcpy(got->data, (float[]){1, 2, 3, 4}, 16);
  memcpy(want->data, (float[]){1, 2, 3, 5}, 16);
  hlo_difference_t d;
  hlo_tolerance_t tolerance = hlo_tolerance_default();
  hlo_compare(got, want, &tolerance, &d);
  CU_ASSERT_EQUAL(d.bad_count, 1);
  CU_ASSERT_EQUAL(d.worst, 1);
  hlo_value_release(got);
  hlo_value_release(want);
}

CU_TestInfo suite_cli_tolerance[] = {{"defaults by type", test_defaults_by_type},
                                     {"absolute tolerance", test_absolute_tolerance},
                                     {"sums", test_sums},
                                     {"special values", test_special_values},
                                     {"steps of numbers", test_steps_of_numbers},
                                     {"integers", test_integers_are_exact},
                                     {"complex", test_complex_parts},
                                     CU_TEST_INFO_NULL};
