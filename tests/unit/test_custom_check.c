/* check.expect_* calls: comparisons of arrays and the messages about differences. */
#include <math.h>
#include <string.h>

#include "ops/kernels/custom/custom_call.h"
#include "tests/lib/kernel_env.h"
#include "tests/lib/unit.h"

static hlo_instr_t *build_check(kernel_env_t *k, const char *target, const char *config,
                                const hlo_shape_t *result, hlo_value_t *const *values) {
  hlo_extra_t *extra;
  CHECK_OK(HR_NEW(&k->module->arena, &extra));
  extra->backend_config = hr_str_from(config);
  hlo_attr_t attrs[] = {{.key = HLO_ATTR_CUSTOM_CALL_TARGET, .text = hr_str_from(target)},
                        {.key = HLO_ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, .flag = true}};
  hlo_instr_t *instr = kernel_build(k, HLO_CUSTOM_CALL, result, 2, values, 2, attrs, 0, NULL);
  instr->extra = extra;
  return instr;
}

/* Checks two f32 arrays; gives the message of the failure, "" if there is none. */
static const char *check_f32(const char *target, const char *config, int64_t count,
                             const float *got, const float *want) {
  static char message[512];
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *values[2] = {kernel_value(HR_F32, 1, &count, got),
                            kernel_value(HR_F32, 1, &count, want)},
              *out = NULL;
  hr_status_t st =
      kernel_try(&k, build_check(&k, target, config, kernel_tuple_shape(&k, 0, NULL), values),
                 values, 0, &out);
  snprintf(message, sizeof message, "%s", st ? hr_status_message(st) : "");
  CU_ASSERT_TRUE(!st || hr_status_code(st) == HR_MISMATCH);
  hr_status_release(st);
  hlo_value_release(out);
  hlo_value_release(values[0]);
  hlo_value_release(values[1]);
  kernel_env_deinit(&k);
  return message;
}

static bool passes(const char *target, const char *config, float got, float want) {
  return !*check_f32(target, config, 1, &got, &want);
}

static void test_equal(void) {
  CU_ASSERT_TRUE(passes("check.expect_eq", "", 0.0f, -0.0f));
  CU_ASSERT_TRUE(passes("check.expect_eq", "", INFINITY, INFINITY));
  CU_ASSERT_FALSE(passes("check.expect_eq", "", NAN, NAN));
  CU_ASSERT_FALSE(passes("check.expect_eq", "", 1.0f, nextafterf(1, 2)));
}

static void test_near(void) {
  const char *tight = "{tolerance = 0.25 : f64}";
  CU_ASSERT_TRUE(passes("check.expect_almost_eq", tight, 1.0f, 1.25f));
  CU_ASSERT_FALSE(passes("check.expect_almost_eq", tight, 1.0f, 1.3f));
  CU_ASSERT_TRUE(passes("check.expect_almost_eq", "", 1.0f, 1.0005f));
  CU_ASSERT_FALSE(passes("check.expect_almost_eq", "", 1.0f, 1.002f));
  CU_ASSERT_TRUE(passes("check.expect_almost_eq", "", NAN, NAN));
  CU_ASSERT_FALSE(passes("check.expect_almost_eq", "", NAN, 1.0f));
  CU_ASSERT_FALSE(passes("check.expect_almost_eq", "", INFINITY, -INFINITY));
}

static void test_steps(void) {
  const char *two = "{max_ulp_difference = 2 : i64, min_ulp_difference = 0 : i64}";
  float least = nextafterf(0, 1);
  CU_ASSERT_TRUE(passes("check.expect_close", two, least, -least));
  CU_ASSERT_FALSE(passes("check.expect_close", two, 2 * least, -least));
  CU_ASSERT_TRUE(passes("check.expect_close", two, 0.0f, -0.0f));
  CU_ASSERT_TRUE(passes("check.expect_close", two, NAN, NAN));
  CU_ASSERT_FALSE(passes("check.expect_close", two, INFINITY, 3e38f));
  CU_ASSERT_TRUE(passes("check.expect_close", "", 1.0f, 1 + 3 * 0x1p-23f));
  CU_ASSERT_FALSE(passes("check.expect_close", "", 1.0f, 1 + 4 * 0x1p-23f));
  CU_ASSERT_FALSE(
      passes("check.expect_close", "{max_ulp_difference = 3, min_ulp_difference = 1}", 1.0f, 1.0f));
}

static void test_message(void) {
  const char *message =
      check_f32("check.expect_eq", "", 3, (float[]){1, 2, 3.5f}, (float[]){1, 2.25f, 3});
  CU_ASSERT_PTR_NOT_NULL(
      strstr(message, "element [2]: got 3.5, want 3 (2097152 ulp); 2 of 3 elements differ"));
}

static void test_question(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  int32_t numbers[] = {1, 2}, others[] = {1, 3};
  hlo_value_t *values[2] = {kernel_value(HR_S32, KERNEL_DIMS(2), numbers),
                            kernel_value(HR_S32, KERNEL_DIMS(2), others)};
  for (int k2 = 0; k2 < 2; k2++) {
    hlo_value_t *pair[2] = {values[0], values[k2]}, *out = NULL;
    CHECK_OK(kernel_try(&k, build_check(&k, "check.eq", "", hlo_shape_scalar(HR_PRED), pair), pair,
                        0, &out));
    CU_ASSERT_EQUAL(*(uint8_t *)out->data, k2 == 0);
    hlo_value_release(out);
  }
  hlo_value_release(values[0]);
  hlo_value_release(values[1]);
  kernel_env_deinit(&k);
}

CU_TestInfo suite_custom_check[] = {{"equal", test_equal},       {"near", test_near},
                                    {"steps", test_steps},       {"message", test_message},
                                    {"question", test_question}, CU_TEST_INFO_NULL};
