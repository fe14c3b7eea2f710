/* Generated code against the reference engine. */
#include "jit_driver.h"

#define CHECK(driver, text) CU_ASSERT_TRUE(jit_check(driver, text))

static void simple(void) {
  jit_driver_t driver = {.seed = 1, .workers = 1};
  CHECK(&driver, "HloModule t\nENTRY e { a = f32[1000] parameter(0) b = f32[1000] parameter(1)\n"
                 "ROOT r = f32[1000] add(a, b) }\n");
  CU_ASSERT_EQUAL(driver.declined, 0);
}

CU_TestInfo suite_jit[] = {{"simple", simple}, CU_TEST_INFO_NULL};
