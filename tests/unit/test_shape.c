/* Shapes and values: printed forms, sizes that are bounded or too large, sharing, trees. */
#include <string.h>

#include "ir/shape.h"
#include "ir/value.h"
#include "base/mem.h"
#include "tests/lib/unit.h"

/* Every fifth element of a tuple has its index as a comment, as XLA prints it. */
static void test_printing(void) {
  hr_arena_t arena;
  hr_arena_init(&arena);
  const hlo_shape_t *array, *tuple, *six[6];
  bool dynamic[] = {true, false};
  CHECK_OK(hlo_shape_array_dynamic(&arena, HR_F32, 2, (int64_t[]){10, 3}, dynamic, &array));
  for (int i = 0; i < 6; i++) six[i] = hlo_shape_scalar(HR_BF16);
  six[1] = array;
  CHECK_OK(hlo_shape_tuple(&arena, 6, six, &tuple));
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hlo_shape_print(&text, tuple, true);
  CU_ASSERT_STRING_EQUAL(text.data,
                         "(bf16[], f32[<=10,3]{1,0}, bf16[], bf16[], bf16[], /*index=5*/bf16[])");
  hr_strbuf_deinit(&text);
  hr_arena_deinit(&arena);
}

/* Compatible means that a value of the second shape may stand where the first is declared. */
static void test_compatibility(void) {
  hr_arena_t arena;
  hr_arena_init(&arena);
  const hlo_shape_t *bounded, *small, *large, *open;
  bool dynamic[] = {true};
  CHECK_OK(hlo_shape_array_dynamic(&arena, HR_F32, 1, (int64_t[]){10}, dynamic, &bounded));
  CHECK_OK(hlo_shape_array_dynamic(&arena, HR_F32, 1, (int64_t[]){HLO_UNBOUNDED}, dynamic, &open));
  CHECK_OK(hlo_shape_array(&arena, HR_F32, 1, (int64_t[]){4}, &small));
  CHECK_OK(hlo_shape_array(&arena, HR_F32, 1, (int64_t[]){11}, &large));
  CU_ASSERT_TRUE(hlo_shape_compatible(bounded, small));
  CU_ASSERT_FALSE(hlo_shape_compatible(bounded, large));
  CU_ASSERT_TRUE(hlo_shape_compatible(open, large));
  CU_ASSERT_FALSE(hlo_shape_equal(bounded, small));
  hr_arena_deinit(&arena);
}

/* Elements overflow first, then bytes; a size of 0 makes an array empty, whatever the others
 * are. */
static void test_hostile_sizes(void) {
  hr_arena_t arena;
  hr_arena_init(&arena);
  const hlo_shape_t *shape;
  int64_t count;
  CHECK_OK(hlo_shape_array(&arena, HR_F32, 3, (int64_t[]){1L << 40, 1L << 40, 2}, &shape));
  CHECK_FAILS(HR_NO_MEMORY, hlo_shape_count(shape, &count));
  CHECK_OK(hlo_shape_array(&arena, HR_F64, 1, (int64_t[]){1L << 58}, &shape));
  CHECK_FAILS(HR_NO_MEMORY, hlo_shape_count(shape, &count));
  CHECK_OK(hlo_shape_array(&arena, HR_F64, 2, (int64_t[]){1L << 58, 0}, &shape));
  CHECK_OK(hlo_shape_count(shape, &count));
  CU_ASSERT_EQUAL(count, 0);
  hr_arena_deinit(&arena);
}

/* A view makes its parent shared; the tuple holds both when their own references are gone. */
static void test_value_sharing(void) {
  size_t live = hr_mem_live_blocks();
  hlo_value_t *array, *view, *tuple;
  CHECK_OK(hlo_value_array(HR_S32, 2, (int64_t[]){2, 3}, &array));
  CU_ASSERT_TRUE(hlo_value_is_exclusive(array));
  CHECK_OK(hlo_value_view(array, HR_S32, 1, (int64_t[]){6}, &view));
  CU_ASSERT_PTR_EQUAL(view->data, array->data);
  CU_ASSERT_FALSE(hlo_value_is_exclusive(array));
  CHECK_OK(hlo_value_tuple(2, (hlo_value_t *[]){array, view}, &tuple));
  hlo_value_release(array);
  hlo_value_release(view);
  CU_ASSERT_EQUAL(hlo_value_leaf_count(tuple), 2);
  CU_ASSERT_PTR_EQUAL(hlo_value_leaf(tuple, 1), view);
  hlo_value_release(tuple);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

/* 16 bytes: five floats are too many, and four from byte 4 on are too. */
static void test_value_over_is_bounded(void) {
  hr_buffer_t *bytes;
  hlo_value_t *value;
  CHECK_OK(hr_buffer_create(16, &bytes));
  CHECK_FAILS(HR_INVALID, hlo_value_over(HR_F32, 1, (int64_t[]){5}, bytes, 0, &value));
  CHECK_FAILS(HR_INVALID, hlo_value_over(HR_F32, 1, (int64_t[]){4}, bytes, 4, &value));
  CHECK_OK(hlo_value_over(HR_F32, 1, (int64_t[]){3}, bytes, 4, &value));
  hlo_value_release(value);
  hr_buffer_release(bytes);
}

/* The tree holds the leaves themselves, not copies. */
static void test_unflatten(void) {
  hr_arena_t arena;
  hr_arena_init(&arena);
  const hlo_shape_t *inner, *outer;
  CHECK_OK(hlo_shape_tuple(&arena, 1, (const hlo_shape_t *[]){hlo_shape_scalar(HR_F32)}, &inner));
  CHECK_OK(
      hlo_shape_tuple(&arena, 2, (const hlo_shape_t *[]){inner, hlo_shape_scalar(HR_S8)}, &outer));
  hlo_value_t *leaves[2], *tree;
  CHECK_OK(hlo_value_zeros(hlo_shape_scalar(HR_F32), &leaves[0]));
  CHECK_OK(hlo_value_zeros(hlo_shape_scalar(HR_S8), &leaves[1]));
  CHECK_OK(hlo_value_unflatten(outer, leaves, &tree));
  CU_ASSERT_TRUE(hlo_value_fits(tree, outer));
  CU_ASSERT_PTR_EQUAL(tree->elements[0]->elements[0], leaves[0]);
  hlo_value_release(leaves[0]);
  hlo_value_release(leaves[1]);
  hlo_value_release(tree);
  hr_arena_deinit(&arena);
}

CU_TestInfo suite_shape[] = {
    {"shapes print", test_printing},
    {"dynamic dimensions agree with sizes within the bound", test_compatibility},
    {"sizes that overflow are errors", test_hostile_sizes},
    {"views share bytes", test_value_sharing},
    {"a value stays within its buffer", test_value_over_is_bounded},
    {"leaves make a tree", test_unflatten},
    CU_TEST_INFO_NULL};
