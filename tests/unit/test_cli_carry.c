/* The option that feeds results back into parameters: ranges in its text, checks against a
 * program. */
#include <string.h>

#include "base/mem.h"
#include "cli/run/cli_carry.h"
#include "tests/lib/unit.h"

/* Parameters and results by their shapes. */
static void make_interface(cli_signature_t *interface, int params, const char *const *param_shapes,
                           int results, const char *const *result_shapes) {
  *interface = (cli_signature_t){.param_count = params, .result_count = results};
  hr_arena_init(&interface->arena);
  CHECK_OK(HR_NEW_ARRAY(&interface->arena, params, &interface->params));
  CHECK_OK(HR_NEW_ARRAY(&interface->arena, results, &interface->results));
  for (int k = 0; k < params; k++)
    CHECK_OK(cli_shape_parse(&interface->arena, param_shapes[k], &interface->params[k]));
  for (int k = 0; k < results; k++)
    CHECK_OK(cli_shape_parse(&interface->arena, result_shapes[k], &interface->results[k]));
  interface->whole_params = interface->params;
  interface->whole_results = interface->results;
}

static void test_ranges(void) {
  size_t live = hr_mem_live_blocks();
  cli_carry_t carry = {0};
  CHECK_OK(cli_carry_parse("7:0,1-3:4-6", &carry));
  CU_ASSERT_EQUAL(carry.count, 4);
  CU_ASSERT_EQUAL(carry.data[0].out, 7);
  CU_ASSERT_EQUAL(carry.data[3].out, 3);
  CU_ASSERT_EQUAL(carry.data[3].in, 6);
  HR_VEC_FREE(&carry);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

/* Ranges of different lengths, backward ones, and ones too large for any program are refused. */
static void test_bad_texts(void) {
  static const char *const texts[] = {"",      "1",    "1:",      ":1",
                                      "1:2,",  "a:b",  "1-3:0-1", "3-1",
                                      "1-:2-", "-1:0", "1:2:3",   "0-9999999:0-9999999",
                                      "1 :2",  "0x1:2"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    cli_carry_t carry = {0};
    CHECK_FAILS(HR_USAGE, cli_carry_parse(texts[i], &carry));
    HR_VEC_FREE(&carry);
  }
}

static hr_status_t check(const char *text, const cli_signature_t *interface) {
  cli_carry_t carry = {0};
  hr_status_t st = cli_carry_parse(text, &carry);
  if (!st) st = cli_carry_check(&carry, interface);
  HR_VEC_FREE(&carry);
  return st;
}

/* Numbers must exist, each parameter is fed once, and the shapes agree. */
static void test_against_a_program(void) {
  size_t live = hr_mem_live_blocks();
  cli_signature_t interface;
  make_interface(&interface, 3, (const char *[]){"f32[2,3]", "s32[]", "f32[<=4]"}, 3,
                 (const char *[]){"f32[2,3]", "s32[]", "f32[<=4]"});
  CHECK_OK(check("0-2:0-2", &interface));
  CHECK_FAILS(HR_USAGE, check("3:0", &interface));
  CHECK_FAILS(HR_USAGE, check("0:3", &interface));
  CHECK_FAILS(HR_USAGE, check("0:0,0:0", &interface));
  hr_status_t st = check("0:1", &interface);
  CU_ASSERT_EQUAL(hr_status_code(st), HR_USAGE);
  CU_ASSERT_PTR_NOT_NULL(strstr(hr_status_message(st), "f32[2,3]"));
  CU_ASSERT_PTR_NOT_NULL(strstr(hr_status_message(st), "s32[]"));
  hr_status_release(st);
  cli_signature_deinit(&interface);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

/* The shapes of a program are read from text, and print the same. */
static void test_shapes(void) {
  hr_arena_t arena;
  hr_arena_init(&arena);
  const hlo_shape_t *shape;
  char text[HLO_SHAPE_TEXT];
  static const char *const texts[] = {"f32[]",     "bf16[2,<=3,4]", "s4[0]",
                                      "c128[?,2]", "pred[1]",       "token[]"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    CHECK_OK(cli_shape_parse(&arena, texts[i], &shape));
    CU_ASSERT_STRING_EQUAL(hlo_shape_text(shape, text), texts[i]);
  }
  CHECK_FAILS(HR_INTERNAL, cli_shape_parse(&arena, "f33[2]", &shape));
  CHECK_FAILS(HR_INTERNAL, cli_shape_parse(&arena, "f32[2", &shape));
  hr_arena_deinit(&arena);
}

CU_TestInfo suite_cli_carry[] = {{"ranges", test_ranges},
                                 {"bad texts", test_bad_texts},
                                 {"against a program", test_against_a_program},
                                 {"shapes", test_shapes},
                                 CU_TEST_INFO_NULL};
