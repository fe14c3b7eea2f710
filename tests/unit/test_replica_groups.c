/* Members of the groups of collectives, by mode and grid. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "ops/query/replica_groups.h"
#include "read/read.h"
#include "tests/lib/unit.h"

#define ADD "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }\n"

static hlo_module_t *read(const char *root) {
  char text[1024];
  snprintf(text, sizeof text,
           "HloModule m\n" ADD "ENTRY e { x = f32[4] parameter(0)\n ROOT o = %s }\n", root);
  hr_buffer_t *buffer;
  hlo_module_t *module = NULL;
  CHECK_OK(hr_buffer_create(strlen(text), &buffer));
  memcpy(hr_buffer_data(buffer), text, strlen(text));
  CHECK_OK(read_module("test.hlo", buffer, &module));
  hr_buffer_release(buffer);
  CU_ASSERT_PTR_NOT_NULL_FATAL(module);
  return module;
}

/* The group of `rank` as text: members in order, then "@" and its place. */
static void check_members(const char *root, int replicas, int partitions, int rank,
                          const char *want) {
  hlo_module_t *module = read(root);
  hr_arena_t arena;
  op_members_t members;
  hr_arena_init(&arena);
  CHECK_OK(op_group_members(&arena, module->entry->root, replicas, partitions, rank, &members));
  char got[128] = "";
  for (int k = 0; k < members.size; k++) sprintf(got + strlen(got), "%d ", members.ranks[k]);
  sprintf(got + strlen(got), "@%d", members.my_index);
  CU_ASSERT_STRING_EQUAL(got, want);
  hr_arena_deinit(&arena);
  hlo_module_destroy(module);
}

static void check_mode(const char *root, hlo_enum_GROUP_MODE_t want) {
  hlo_module_t *module = read(root);
  CU_ASSERT_EQUAL(op_replica_group_mode(module->entry->root), want);
  hlo_module_destroy(module);
}

#define REDUCE(rest) "f32[4] all-reduce(x), " rest ", to_apply=add"
#define EXCHANGE(rest) "f32[4] all-to-all(x), " rest ", dimensions={0}"

static void modes(void) {
  check_mode(REDUCE("replica_groups={}"), HLO_GROUP_MODE_CROSS_REPLICA);
  check_mode(REDUCE("channel_id=3, replica_groups={}"), HLO_GROUP_MODE_CROSS_REPLICA_AND_PARTITION);
  check_mode(REDUCE("channel_id=3, replica_groups={{0}}, use_global_device_ids=true"),
             HLO_GROUP_MODE_FLATTENED_ID);
  check_mode(EXCHANGE("replica_groups={}"), HLO_GROUP_MODE_CROSS_REPLICA);
  check_mode(EXCHANGE("channel_id=1, replica_groups={}"), HLO_GROUP_MODE_CROSS_PARTITION);
}

static void members(void) {
  check_members(REDUCE("replica_groups={}"), 3, 2, 3, "1 3 5 @1");
  check_members(REDUCE("replica_groups={{2,0},{1}}"), 3, 2, 1, "5 1 @1");
  check_members(REDUCE("replica_groups={{2,0},{1}}"), 3, 2, 2, "2 @0");
  check_members(REDUCE("channel_id=1, replica_groups={{2,0},{1}}"), 3, 2, 5, "4 5 0 1 @1");
  check_members(REDUCE("channel_id=1, replica_groups={}"), 2, 2, 2, "0 1 2 3 @2");
  check_members(REDUCE("channel_id=1, replica_groups={{3,0},{1,2}}, use_global_device_ids=true"), 2,
                2, 0, "3 0 @1");
  check_members(EXCHANGE("channel_id=1, replica_groups={{1,0}}"), 2, 2, 3, "3 2 @0");
  check_members(EXCHANGE("channel_id=1, replica_groups={}"), 2, 3, 4, "3 4 5 @1");
  check_members("f32[4] collective-broadcast(x), replica_groups={{0}}", 2, 1, 1, "@-1");
}

static void partners(void) {
  hlo_module_t *module =
      read("f32[4] collective-permute(x), channel_id=1, source_target_pairs={{0,2},{2,1}}");
  static const int want[][2] = {{2, -1}, {-1, 2}, {1, 0}, {5, -1}, {-1, 5}, {4, 3}};
  for (int rank = 0; rank < 6; rank++) {
    int to, from;
    op_permute_partners(module->entry->root, 2, 3, rank, &to, &from);
    CU_ASSERT_EQUAL(to, want[rank][0]);
    CU_ASSERT_EQUAL(from, want[rank][1]);
  }
  hlo_module_destroy(module);
}

static void check_grid(hr_code_t code, const char *root, int replicas, int partitions) {
  hlo_module_t *module = read(root);
  hr_status_t st = op_groups_check(module->entry->root, replicas, partitions);
  if (hr_status_code(st) != code)
    printf("%s on %d x %d: %s\n", root, replicas, partitions, hr_status_message(st));
  CU_ASSERT_EQUAL(hr_status_code(st), code);
  hr_status_release(st);
  hlo_module_destroy(module);
}

static void grids(void) {
  check_grid(HR_OK, REDUCE("replica_groups={{0,1},{2}}"), 3, 1);
  check_grid(HR_OK, REDUCE("replica_groups={}"), 5, 7);
  check_grid(HR_INVALID, REDUCE("replica_groups={{0,1},{2}}"), 2, 1);
  check_grid(HR_INVALID, REDUCE("replica_groups={{0,1},{2}}"), 4, 1);
  check_grid(HR_INVALID, REDUCE("replica_groups={{0,1},{1,2}}"), 3, 1);
  check_grid(HR_INVALID, REDUCE("replica_groups={{0}}, use_global_device_ids=true"), 1, 1);
  check_grid(HR_INVALID, REDUCE("channel_id=1, replica_groups={}, use_global_device_ids=true"), 1,
             1);
  check_grid(HR_INVALID, REDUCE("replica_groups={{0}}"), 100000, 100000);
  check_grid(HR_OK, EXCHANGE("replica_groups={{0,1},{3,2}}"), 4, 1);
  check_grid(HR_INVALID, EXCHANGE("replica_groups={}"), 3, 1); /* 4 elements in 3 parts */
  check_grid(HR_INVALID, EXCHANGE("replica_groups={{0,1},{2}}"), 3, 1);
  check_grid(HR_OK, "f32[8] all-gather(x), replica_groups={{0,1},{2,3}}, dimensions={0}", 4, 1);
  check_grid(HR_INVALID,
             "f32[8] all-gather(x), channel_id=1, replica_groups={{0,1},{2,3}}, dimensions={0}", 4,
             2);
  check_grid(
      HR_OK,
      "f32[1] reduce-scatter(x), channel_id=1, replica_groups={}, dimensions={0}, to_apply=add", 2,
      2);
  check_grid(HR_INVALID,
             "f32[1] reduce-scatter(x), replica_groups={}, dimensions={0}, to_apply=add", 2, 2);
  check_grid(HR_OK, "f32[4] collective-broadcast(x), replica_groups={{1,2}}", 4, 1);
  check_grid(HR_OK, "f32[4] collective-permute(x), source_target_pairs={{0,1}}", 2, 1);
  check_grid(HR_INVALID, "f32[4] collective-permute(x), source_target_pairs={{0,2}}", 2, 4);
}

CU_TestInfo suite_replica_groups[] = {{"modes", modes},
                                      {"members", members},
                                      {"partners", partners},
                                      {"grids", grids},
                                      CU_TEST_INFO_NULL};
