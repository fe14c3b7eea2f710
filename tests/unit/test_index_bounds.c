/* Bounds of indices that random inputs must keep, found through slices, gathers and loops. */
#include <string.h>

#include "base/mem.h"
#include "cli/arrays/cli_index_bounds.h"
#include "tests/lib/read_text.h"
#include "tests/lib/unit.h"

/* Bounds of the parameters of a program. */
static void bounds_of(const char *text, int count, int64_t *out_bounds) {
  hlo_module_t *module = NULL;
  CHECK_OK(read_text(text, &module));
  if (!module) return;
  CHECK_OK(cli_index_bounds(module, count, out_bounds));
  hlo_module_destroy(module);
}

static void test_slices(void) {
  int64_t bounds[4];
  bounds_of(
      "HloModule m\n"
      "ENTRY main {\n"
      "  a = f32[10,20] parameter(0)\n"
      "  i = s32[] parameter(1)\n"
      "  pair = (s64[], s32[]) parameter(2)\n"
      "  wide = s64[] get-tuple-element(pair), index=0\n"
      "  j = s32[] convert(wide)\n"
      "  ROOT s = f32[3,20] dynamic-slice(a, i, j), dynamic_slice_sizes={3,20}\n"
      "}\n",
      4, bounds);
  CU_ASSERT_EQUAL(bounds[0], CLI_NO_BOUND);
  CU_ASSERT_EQUAL(bounds[1], 8);
  CU_ASSERT_EQUAL(bounds[2], 1);
  CU_ASSERT_EQUAL(bounds[3], CLI_NO_BOUND);
}

/* As JAX indexes: negative indices are moved, pairs are concatenated. */
static void test_gather(void) {
  int64_t bounds[3];
  size_t live = hr_mem_live_blocks(); /* the reader's tables exist since the first test */
  bounds_of(
      "HloModule m\n"
      "ENTRY main {\n"
      "  a = f32[10,7] parameter(0)\n"
      "  rows = s32[4] parameter(1)\n"
      "  columns = s32[4,1] parameter(2)\n"
      "  zero = s32[] constant(0)\n"
      "  zeros = s32[4] broadcast(zero), dimensions={}\n"
      "  ten = s32[] constant(10)\n"
      "  tens = s32[4] broadcast(ten), dimensions={}\n"
      "  below = pred[4] compare(rows, zeros), direction=LT\n"
      "  moved = s32[4] add(rows, tens)\n"
      "  chosen = s32[4] select(below, moved, rows)\n"
      "  shaped = s32[4,1] reshape(chosen)\n"
      "  both = s32[4,2] concatenate(shaped, columns), dimensions={1}\n"
      "  ROOT g = f32[4] gather(a, both), offset_dims={}, collapsed_slice_dims={0,1}, "
      "start_index_map={0,1},\n"
      "    index_vector_dim=1, slice_sizes={1,1}\n"
      "}\n",
      3, bounds);
  CU_ASSERT_EQUAL(bounds[0], CLI_NO_BOUND);
  CU_ASSERT_EQUAL(bounds[1], 7);
  CU_ASSERT_EQUAL(bounds[2], 7);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

static void test_loops_and_one_hot(void) {
  int64_t bounds[3];
  bounds_of(
      "HloModule m\n"
      "cond {\n"
      "  p = (s32[], s32[], f32[9]) parameter(0)\n"
      "  i = s32[] get-tuple-element(p), index=0\n"
      "  three = s32[] constant(3)\n"
      "  ROOT c = pred[] compare(i, three), direction=LT\n"
      "}\n"
      "body {\n"
      "  p = (s32[], s32[], f32[9]) parameter(0)\n"
      "  i = s32[] get-tuple-element(p), index=0\n"
      "  at = s32[] get-tuple-element(p), index=1\n"
      "  x = f32[9] get-tuple-element(p), index=2\n"
      "  one = s32[] constant(1)\n"
      "  next = s32[] add(i, one)\n"
      "  part = f32[4] dynamic-slice(x, at), dynamic_slice_sizes={4}\n"
      "  y = f32[9] dynamic-update-slice(x, part, at)\n"
      "  ROOT t = (s32[], s32[], f32[9]) tuple(next, at, y)\n"
      "}\n"
      "ENTRY main {\n"
      "  at = s32[] parameter(0)\n"
      "  x = f32[9] parameter(1)\n"
      "  labels = u8[5] parameter(2)\n"
      "  zero = s32[] constant(0)\n"
      "  t = (s32[], s32[], f32[9]) tuple(zero, at, x)\n"
      "  w = (s32[], s32[], f32[9]) while(t), condition=cond, body=body\n"
      "  classes = u8[5,3] iota(), iota_dimension=1\n"
      "  wide = u8[5,3] broadcast(labels), dimensions={0}\n"
      "  hot = pred[5,3] compare(wide, classes), direction=EQ\n"
      "  y = f32[9] get-tuple-element(w), index=2\n"
      "  ROOT r = (f32[9], pred[5,3]) tuple(y, hot)\n"
      "}\n",
      3, bounds);
  CU_ASSERT_EQUAL(bounds[0], 6);
  CU_ASSERT_EQUAL(bounds[1], CLI_NO_BOUND);
  CU_ASSERT_EQUAL(bounds[2], 3);
}

CU_TestInfo suite_index_bounds[] = {{"slices", test_slices},
                                    {"gather", test_gather},
                                    {"loops and one-hot", test_loops_and_one_hot},
                                    CU_TEST_INFO_NULL};
