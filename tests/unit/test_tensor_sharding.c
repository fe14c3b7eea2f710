/* Shardings of arrays: layouts, local shapes, checks, written forms. */
#include "partition/core/tensor_sharding.h"
#include "tests/lib/unit.h"

static const hr_str_t NAMES[] = {{"d", 1}, {"m", 1}};
static const int64_t SIZES[] = {4, 2};
static const spmd_mesh_t MESH = {.name = {"mesh", 4},
                                 .axis_count = 2,
                                 .axis_names = NAMES,
                                 .axis_sizes = SIZES,
                                 .device_count = 8};
static const spmd_axis_t D[] = {{0, 1, 4}};
static const spmd_axis_t HALF_D[] = {{0, 1, 2}};
static const spmd_axis_t M[] = {{1, 1, 2}};
static const spmd_axes_t NONE = {0, NULL};

static spmd_sharding_t sharding_of(const spmd_dim_t *dims, int rank) {
  return (spmd_sharding_t){.mesh = &MESH, .device = -1, .rank = rank, .dims = dims};
}

static void test_local_shape(void) {
  hr_arena_t arena;
  hr_arena_init(&arena);
  const hlo_shape_t *shape, *local;
  const spmd_dim_t dims[] = {{{1, D}, false, SPMD_NO_PRIORITY}, {{1, M}, true, SPMD_NO_PRIORITY}};
  spmd_sharding_t sharding = sharding_of(dims, 2);
  CHECK_OK(hlo_shape_array(&arena, HR_F32, 2, (int64_t[]){10, 6}, &shape));
  CHECK_OK(spmd_local_shape(&arena, &sharding, shape, &local));
  CU_ASSERT_EQUAL(local->dims[0], 3);
  CU_ASSERT_EQUAL(local->dims[1], 3);
  CHECK_OK(spmd_local_shape(&arena, NULL, shape, &local));
  CU_ASSERT_EQUAL(local->dims[0], 10);
  hr_arena_deinit(&arena);
}

static void test_layouts(void) {
  hr_arena_t arena;
  hr_arena_init(&arena);
  const spmd_dim_t dims[] = {{{1, D}, false, SPMD_NO_PRIORITY}, {NONE, true, 3}};
  const spmd_dim_t same[] = {{{1, D}, true, 0}, {NONE, false, SPMD_NO_PRIORITY}};
  spmd_sharding_t a = sharding_of(dims, 2), b = sharding_of(same, 2);
  const spmd_sharding_t *c, *whole;
  CU_ASSERT_TRUE(spmd_sharding_same_layout(&a, &b));
  CU_ASSERT_FALSE(spmd_sharding_equal(&a, &b));
  CHECK_OK(spmd_sharding_with_dim(&arena, &a, 1, (spmd_axes_t){1, M}, &c));
  CU_ASSERT_FALSE(spmd_sharding_same_layout(&a, c));
  CHECK_OK(spmd_sharding_replicated(&arena, &MESH, 2, &whole));
  CU_ASSERT_TRUE(spmd_sharding_is_replicated(whole));
  CU_ASSERT_TRUE(spmd_sharding_same_layout(whole, NULL));
  CU_ASSERT_FALSE(spmd_sharding_same_layout(&a, NULL));
  spmd_axes_t used;
  CHECK_OK(spmd_sharding_used_axes(&arena, c, &used));
  CU_ASSERT_EQUAL(spmd_axes_parts(used), 8);
  hr_arena_deinit(&arena);
}

static void test_check(void) {
  hr_arena_t arena;
  hr_arena_init(&arena);
  const hlo_shape_t *shape;
  const spmd_dim_t good[] = {{{1, HALF_D}, false, SPMD_NO_PRIORITY}, {{1, M}, false, 0}};
  const spmd_dim_t twice[] = {{{1, HALF_D}, false, SPMD_NO_PRIORITY}, {{1, D}, false, 0}};
  const spmd_axis_t third[] = {{0, 1, 3}};
  const spmd_dim_t uneven[] = {{{1, third}, false, SPMD_NO_PRIORITY}, {NONE, false, 0}};
  spmd_sharding_t sharding = sharding_of(good, 2);
  CHECK_OK(hlo_shape_array(&arena, HR_F32, 2, (int64_t[]){10, 6}, &shape));
  CHECK_OK(spmd_sharding_check(&sharding, shape));
  sharding.dims = twice;
  CHECK_FAILS(HR_INVALID, spmd_sharding_check(&sharding, shape));
  sharding.dims = uneven;
  CHECK_FAILS(HR_INVALID, spmd_sharding_check(&sharding, shape));
  sharding = sharding_of(good, 1);
  CHECK_FAILS(HR_INVALID, spmd_sharding_check(&sharding, shape));
  sharding = sharding_of(good, 2);
  sharding.replicated = (spmd_axes_t){1, M};
  CHECK_FAILS(HR_INVALID, spmd_sharding_check(&sharding, shape));
  hr_arena_deinit(&arena);
}

static void test_written_forms(void) {
  hr_arena_t arena;
  hr_arena_init(&arena);
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  const spmd_dim_t dims[] = {{{1, HALF_D}, true, 2}, {NONE, true, SPMD_NO_PRIORITY}};
  spmd_sharding_t sharding = sharding_of(dims, 2);
  sharding.unreduced = (spmd_axes_t){1, M};
  sharding.reduction = SPMD_MAX;
  spmd_sharding_print(&text, &sharding);
  CU_ASSERT_STRING_EQUAL(text.data, "<@mesh, [{\"d\":(1)2, ?}p2, {?}], unreduced=max{\"m\"}>");
  hr_strbuf_cut(&text, 0);
  const hlo_sharding_t *hlo;
  CHECK_OK(spmd_sharding_to_hlo(&arena, &sharding, &hlo));
  hlo_sharding_print(&text, hlo);
  CU_ASSERT_STRING_EQUAL(text.data,
                         "{mesh['d'=4,'m'=2], [{'d':(1)2, ?}, {?}], unreduced=max{'m'}}");
  hr_strbuf_deinit(&text);
  hr_arena_deinit(&arena);
}

CU_TestInfo suite_tensor_sharding[] = {
    {"local sizes are rounded up", test_local_shape},
    {"layouts ignore openness and priorities", test_layouts},
    {"shardings that do not fit are refused", test_check},
    {"shardings print as Shardy and as XLA", test_written_forms},
    CU_TEST_INFO_NULL,
};
