/* Lists of mesh axes: every operation against the sets of devices that the lists describe. */
#include "partition/core/axes.h"
#include "tests/lib/unit.h"

static const hr_str_t NAMES[] = {{"a", 1}, {"b", 1}};
static const int64_t SIZES[] = {8, 3};
static const spmd_mesh_t MESH = {
    .axis_count = 2, .axis_names = NAMES, .axis_sizes = SIZES, .device_count = 24};

#define AXES(...)                                                                 \
  ((spmd_axes_t){(int)(sizeof(spmd_axis_t[]){__VA_ARGS__} / sizeof(spmd_axis_t)), \
                 (const spmd_axis_t[]){__VA_ARGS__}})
#define A(pre, size) \
  { 0, pre, size }
#define B \
  { 1, 1, 3 }

static void test_overlaps(void) {
  CU_ASSERT_TRUE(spmd_axis_overlaps((spmd_axis_t)A(1, 4), (spmd_axis_t)A(2, 4)));
  CU_ASSERT_FALSE(spmd_axis_overlaps((spmd_axis_t)A(1, 2), (spmd_axis_t)A(2, 4)));
  CU_ASSERT_FALSE(spmd_axis_overlaps((spmd_axis_t)A(1, 8), (spmd_axis_t)B));
  CU_ASSERT_TRUE(spmd_axes_overlap(AXES(B, A(1, 2)), AXES(A(1, 8))));
  CU_ASSERT_EQUAL(spmd_axes_parts(AXES(B, A(1, 4))), 12);
}

static void test_prefixes(void) {
  hr_arena_t arena;
  hr_arena_init(&arena);
  spmd_axes_t list;
  CU_ASSERT_TRUE(spmd_axes_is_prefix(AXES(B, A(1, 2)), AXES(B, A(1, 8))));
  CU_ASSERT_FALSE(spmd_axes_is_prefix(AXES(A(1, 2), B), AXES(A(1, 8), B)));
  CHECK_OK(spmd_axes_drop_prefix(&arena, AXES(B, A(1, 8)), AXES(B, A(1, 2)), &list));
  CU_ASSERT_TRUE(spmd_axes_equal(list, AXES(A(2, 4))));
  CHECK_OK(spmd_axes_drop_prefix(&arena, AXES(B), AXES(B), &list));
  CU_ASSERT_EQUAL(list.count, 0);
  hr_arena_deinit(&arena);
}

static void test_concat_merges(void) {
  hr_arena_t arena;
  hr_arena_init(&arena);
  spmd_axes_t list;
  CHECK_OK(spmd_axes_concat(&arena, AXES(B, A(1, 2)), AXES(A(2, 2), A(4, 2)), &list));
  CU_ASSERT_TRUE(spmd_axes_equal(list, AXES(B, A(1, 8))));
  CHECK_OK(spmd_axes_sort(&arena, AXES(A(4, 2), B, A(1, 2), A(2, 2)), &list));
  CU_ASSERT_TRUE(spmd_axes_equal(list, AXES(A(1, 8), B)));
  hr_arena_deinit(&arena);
}

static void test_subtract(void) {
  hr_arena_t arena;
  hr_arena_init(&arena);
  spmd_axes_t list;
  CHECK_OK(spmd_axes_subtract(&arena, AXES(A(1, 8), B), AXES(A(2, 2)), &list));
  CU_ASSERT_TRUE(spmd_axes_equal(list, AXES(A(1, 2), A(4, 2), B)));
  CHECK_OK(spmd_axes_subtract(&arena, AXES(A(1, 8), B), AXES(B, A(1, 8)), &list));
  CU_ASSERT_EQUAL(list.count, 0);
  hr_arena_deinit(&arena);
}

/* Every device is in one group, at its coordinate, and members differ only along the list. */
static void check_groups(spmd_axes_t axes, spmd_axes_t others) {
  hr_arena_t arena;
  hr_arena_init(&arena);
  int64_t *positions, parts = spmd_axes_parts(axes);
  bool seen[24] = {false};
  CHECK_OK(spmd_axes_groups(&arena, &MESH, axes, &positions));
  for (int64_t i = 0; i < 24; i++) {
    int64_t first = positions[i / parts * parts];
    CU_ASSERT_EQUAL(spmd_axes_coordinate(&MESH, axes, positions[i]), i % parts);
    CU_ASSERT_EQUAL(spmd_axes_coordinate(&MESH, others, positions[i]),
                    spmd_axes_coordinate(&MESH, others, first));
    CU_ASSERT_FALSE(seen[positions[i]]);
    seen[positions[i]] = true;
  }
  hr_arena_deinit(&arena);
}

static void test_groups(void) {
  check_groups(AXES(A(1, 8)), AXES(B));
  check_groups(AXES(B, A(2, 2)), AXES(A(1, 2), A(4, 2)));
  check_groups(AXES(A(4, 2), A(1, 2)), AXES(B, A(2, 2)));
}

static void test_device_order(void) {
  const int64_t ids[] = {2, 0, 1};
  const int64_t sizes[] = {3};
  spmd_mesh_t mesh = {.axis_count = 1,
                      .axis_names = NAMES,
                      .axis_sizes = sizes,
                      .device_count = 3,
                      .device_ids = ids};
  CU_ASSERT_EQUAL(spmd_mesh_device(&mesh, 0), 2);
  CU_ASSERT_EQUAL(spmd_mesh_position(&mesh, 2), 0);
  CU_ASSERT_EQUAL(spmd_mesh_position(&mesh, 3), -1);
  spmd_mesh_t plain = mesh;
  plain.device_ids = NULL;
  CU_ASSERT_FALSE(spmd_mesh_equal(&mesh, &plain));
}

CU_TestInfo suite_axes[] = {
    {"sub-axes that share digits overlap", test_overlaps},
    {"a major sub-axis is a beginning", test_prefixes},
    {"continuing sub-axes merge", test_concat_merges},
    {"a hole leaves both sides", test_subtract},
    {"groups differ only along the list", test_groups},
    {"devices stand in the order of the mesh", test_device_order},
    CU_TEST_INFO_NULL,
};
