/* Groups of ids are translated to groups of flattened ranks by the mode of the instruction (table
 * in the header). The check marks every process that a group names in a list of the grid's size,
 * and compares group sizes with shapes: O(processes + ids). */
#include "ops/query/replica_groups.h"

#include "ops/rules/constraint.h"

/* --- modes --- */

static bool takes_global_ids(hlo_opcode_t op) {
  const hlo_op_info_t *info = &hlo_op_table[op];
  for (int i = 0; i < info->attr_count; i++)
    if (info->attrs[i].key == HLO_ATTR_USE_GLOBAL_DEVICE_IDS) return true;
  return false;
}

hlo_enum_GROUP_MODE_t op_replica_group_mode(const hlo_instr_t *instr) {
  if (hlo_attr_int(instr, HLO_ATTR_CHANNEL_ID) <= 0) return HLO_GROUP_MODE_CROSS_REPLICA;
  if (!takes_global_ids(instr->op)) return HLO_GROUP_MODE_CROSS_PARTITION;
  return hlo_attr_bool(instr, HLO_ATTR_USE_GLOBAL_DEVICE_IDS)
             ? HLO_GROUP_MODE_FLATTENED_ID
             : HLO_GROUP_MODE_CROSS_REPLICA_AND_PARTITION;
}

bool op_groups_equal(const hlo_groups_t *a, const hlo_groups_t *b) {
  if (a == b) return true;
  if (!a || !b || a->groups.count != b->groups.count) return false;
  for (int64_t g = 0; g < a->groups.count; g++) {
    hr_ints_t x = a->groups.lists[g], y = b->groups.lists[g];
    if (x.count != y.count) return false;
    for (int64_t i = 0; i < x.count; i++)
      if (x.data[i] != y.data[i]) return false;
  }
  return true;
}

typedef struct grid {
  int replicas, partitions;
  hlo_enum_GROUP_MODE_t mode;
  bool part; /* groups may leave processes out */
} grid_t;

static grid_t grid_of(const hlo_instr_t *instr, int num_replicas, int num_partitions) {
  return (grid_t){
      .replicas = num_replicas, .partitions = num_partitions, .mode = op_replica_group_mode(instr)};
}

/* Number of different ids. */
static int id_count(const grid_t *grid) {
  if (grid->mode == HLO_GROUP_MODE_CROSS_PARTITION) return grid->partitions;
  return grid->mode == HLO_GROUP_MODE_FLATTENED_ID ? grid->replicas * grid->partitions
                                                   : grid->replicas;
}

/* The id of process `rank` in the groups that it sees. */
static int id_of(const grid_t *grid, int rank) {
  if (grid->mode == HLO_GROUP_MODE_CROSS_PARTITION) return rank % grid->partitions;
  return grid->mode == HLO_GROUP_MODE_FLATTENED_ID ? rank : rank / grid->partitions;
}

/* The process that an id means to process `rank`; with cross_replica_and_partition, the first
 * process of the replica. */
static int rank_of(const grid_t *grid, int rank, int id) {
  switch (grid->mode) {
    case HLO_GROUP_MODE_CROSS_REPLICA:
      return id * grid->partitions + rank % grid->partitions;
    case HLO_GROUP_MODE_CROSS_PARTITION:
      return rank / grid->partitions * grid->partitions + id;
    case HLO_GROUP_MODE_CROSS_REPLICA_AND_PARTITION:
      return id * grid->partitions;
    default:
      return id;
  }
}

static int ranks_per_id(const grid_t *grid) {
  return grid->mode == HLO_GROUP_MODE_CROSS_REPLICA_AND_PARTITION ? grid->partitions : 1;
}

/* --- members --- */

/* The lists of ids; NULL: one group of all. A list of one empty group means the same. */
static const hlo_int_lists_t *id_lists(const hlo_instr_t *instr) {
  const hlo_groups_t *groups = hlo_attr_groups(instr);
  if (!groups) return NULL;
  for (int64_t g = 0; g < groups->groups.count; g++)
    if (groups->groups.lists[g].count) return &groups->groups;
  return NULL;
}

static const hr_ints_t *find_list(const hlo_int_lists_t *lists, int id) {
  for (int64_t g = 0; g < lists->count; g++)
    for (int64_t i = 0; i < lists->lists[g].count; i++)
      if (lists->lists[g].data[i] == id) return &lists->lists[g];
  return NULL;
}

hr_status_t op_group_lists(hr_arena_t *arena, const hlo_instr_t *instr, int num_replicas,
                           int num_partitions, const hr_ints_t ***out_list_of) {
  grid_t grid = grid_of(instr, num_replicas, num_partitions);
  const hlo_int_lists_t *lists = id_lists(instr);
  int ids = id_count(&grid);
  HR_TRY(HR_NEW_ARRAY(arena, ids, out_list_of));
  for (int64_t g = 0; lists && g < lists->count; g++)
    for (int64_t i = 0; i < lists->lists[g].count; i++) {
      int64_t id = lists->lists[g].data[i];
      if (id >= 0 && id < ids && !(*out_list_of)[id]) (*out_list_of)[id] = &lists->lists[g];
    }
  return NULL;
}

hr_status_t op_group_members_in(hr_arena_t *arena, const hlo_instr_t *instr, int num_replicas,
                                int num_partitions, int rank, const hr_ints_t *const *list_of,
                                op_members_t *out_members) {
  grid_t grid = grid_of(instr, num_replicas, num_partitions);
  const hlo_int_lists_t *lists = id_lists(instr);
  int each = ranks_per_id(&grid), ids = id_count(&grid), id_here = id_of(&grid, rank);
  const hr_ints_t *list = NULL;
  if (lists) list = list_of ? list_of[id_here] : find_list(lists, id_here);
  if (lists) ids = list ? (int)list->count : 0;
  op_members_t members = {.size = ids * each, .my_index = -1};
  HR_TRY(HR_NEW_ARRAY(arena, members.size, &members.ranks));
  for (int k = 0; k < members.size; k++) {
    int id = list ? (int)list->data[k / each] : k / each;
    members.ranks[k] = rank_of(&grid, rank, id) + k % each;
    if (members.ranks[k] == rank) members.my_index = k;
  }
  *out_members = members;
  return NULL;
}

hr_status_t op_group_members(hr_arena_t *arena, const hlo_instr_t *instr, int num_replicas,
                             int num_partitions, int rank, op_members_t *out_members) {
  return op_group_members_in(arena, instr, num_replicas, num_partitions, rank, NULL, out_members);
}

void op_permute_partners(const hlo_instr_t *instr, int num_replicas, int num_partitions, int rank,
                         int *out_to, int *out_from) {
  grid_t grid = grid_of(instr, num_replicas, num_partitions);
  const hlo_int_lists_t *pairs = hlo_attr_lists(instr, HLO_ATTR_SOURCE_TARGET_PAIRS);
  int id = id_of(&grid, rank);
  *out_to = *out_from = -1;
  for (int64_t i = 0; pairs && i < pairs->count; i++) {
    const int64_t *pair = pairs->lists[i].data;
    if (pair[0] == id) *out_to = rank_of(&grid, rank, (int)pair[1]);
    if (pair[1] == id) *out_from = rank_of(&grid, rank, (int)pair[0]);
  }
}

/* --- the check --- */

typedef struct rules { /* labels of the StableHLO specification */
  const char *unique, *covered, *range, *global, *size;
} rules_t;

static rules_t rules_of(hlo_opcode_t op) {
  switch (op) {
    case HLO_ALL_GATHER:
    case HLO_ALL_GATHER_START:
      return (rules_t){"C2", "C3", "C4", "C5", "C6"};
    case HLO_REDUCE_SCATTER:
      return (rules_t){"C3", "C4", "C5", "C6", "C8"};
    case HLO_ALL_TO_ALL:
      return (rules_t){"C5", "C6", "C7", NULL, "C8"};
    case HLO_COLLECTIVE_BROADCAST:
      return (rules_t){"C1", NULL, "C2", NULL, NULL};
    case HLO_ALL_REDUCE:
    case HLO_ALL_REDUCE_START:
      return (rules_t){"C1", "C2", "C3", "C4", NULL};
    default:
      return (rules_t){NULL, NULL, NULL, NULL, NULL};
  }
}

static const char *id_name(const grid_t *grid) {
  if (grid->mode == HLO_GROUP_MODE_CROSS_PARTITION) return "partition";
  return grid->mode == HLO_GROUP_MODE_FLATTENED_ID ? "process" : "replica";
}

/* Checks that every id is in range and listed once; marks the listed ids. */
static hr_status_t check_ids(const hlo_instr_t *instr, const rules_t *rules, const grid_t *grid,
                             const hlo_int_lists_t *lists, bool *listed) {
  int count = id_count(grid);
  for (int64_t g = 0; g < lists->count; g++)
    for (int64_t i = 0; i < lists->lists[g].count; i++) {
      int64_t id = lists->lists[g].data[i];
      OP_WANT(instr, id >= 0 && id < count, rules->range,
              "replica_groups lists %s %ld, but the grid of %d x %d (replicas x partitions) has %d",
              id_name(grid), (long)id, grid->replicas, grid->partitions, count);
      OP_WANT(instr, !listed[id], rules->unique, "replica_groups lists %s %ld twice", id_name(grid),
              (long)id);
      listed[id] = true;
    }
  return NULL;
}

/* A process in no group has no result, except for a broadcast, which gives zeros. */
static hr_status_t check_covered(const hlo_instr_t *instr, const rules_t *rules, const grid_t *grid,
                                 const bool *listed) {
  if (instr->op == HLO_COLLECTIVE_BROADCAST) return NULL;
  for (int id = 0; id < id_count(grid); id++)
    OP_WANT(
        instr, listed[id], rules->covered,
        "replica_groups leaves out %s %d of %d, want every one in a group (the grid is %d x %d)",
        id_name(grid), id, id_count(grid), grid->replicas, grid->partitions);
  return NULL;
}

static bool wants_equal_groups(hlo_opcode_t op) {
  return op == HLO_ALL_GATHER || op == HLO_ALL_GATHER_START || op == HLO_REDUCE_SCATTER ||
         op == HLO_ALL_TO_ALL || op == HLO_RAGGED_ALL_TO_ALL;
}

static hr_status_t check_factor(const hlo_instr_t *instr, const rules_t *rules,
                                const hlo_shape_t *small, const hlo_shape_t *large,
                                int64_t dimension, int64_t size) {
  if (dimension >= small->rank || op_is_dynamic(small, dimension) ||
      op_is_dynamic(large, dimension))
    return NULL;
  int64_t wanted;
  bool fits = !__builtin_mul_overflow(small->dims[dimension], size, &wanted) &&
              wanted == large->dims[dimension];
  OP_WANT(instr, fits, rules->size,
          "dimension %ld has %ld and %ld elements, want a factor of %ld, the group's size",
          (long)dimension, (long)small->dims[dimension], (long)large->dims[dimension], (long)size);
  return NULL;
}

static const hlo_shape_t *element_or_self(const hlo_shape_t *shape, int k) {
  return hlo_shape_is_tuple(shape) ? shape->elements[k] : shape;
}

/* Compares shapes with the number of members. The verifier cannot, if the number depends on the
 * grid. */
static hr_status_t check_shapes(const hlo_instr_t *instr, const rules_t *rules, int64_t size) {
  hr_ints_t dimensions = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  if (instr->op == HLO_ALL_TO_ALL && !dimensions.count) {
    OP_WANT(instr, instr->operand_count == size, rules->size,
            "%d operands, want %ld, the group's size", instr->operand_count, (long)size);
    return NULL;
  }
  if (!dimensions.count || instr->op == HLO_RAGGED_ALL_TO_ALL) return NULL;
  const hlo_shape_t *results =
      instr->op == HLO_ALL_GATHER_START ? instr->shape->elements[1] : instr->shape;
  for (int k = 0; k < instr->operand_count; k++) {
    const hlo_shape_t *in = instr->operands[k]->shape, *out = element_or_self(results, k);
    int64_t d = dimensions.data[0];
    if (instr->op == HLO_ALL_TO_ALL)
      OP_WANT(instr, op_is_dynamic(in, d) || in->dims[d] % size == 0, "C2",
              "dimension %ld has %ld elements, want a multiple of %ld, the group's size", (long)d,
              (long)in->dims[d], (long)size);
    else if (instr->op == HLO_REDUCE_SCATTER)
      HR_TRY(check_factor(instr, rules, out, in, d, size));
    else
      HR_TRY(check_factor(instr, rules, in, out, d, size));
  }
  return NULL;
}

static hr_status_t check_groups(const hlo_instr_t *instr, const grid_t *grid, bool *listed) {
  rules_t rules = rules_of(instr->op);
  const hlo_int_lists_t *lists = id_lists(instr);
  bool global = hlo_attr_bool(instr, HLO_ATTR_USE_GLOBAL_DEVICE_IDS);
  OP_WANT(instr, !global || grid->mode == HLO_GROUP_MODE_FLATTENED_ID, rules.global,
          "use_global_device_ids without a channel_id");
  OP_WANT(instr, !global || lists, rules.global,
          "use_global_device_ids without replica_groups, want them listed");
  int64_t size = id_count(grid);
  if (lists) {
    HR_TRY(check_ids(instr, &rules, grid, lists, listed));
    if (!grid->part) HR_TRY(check_covered(instr, &rules, grid, listed));
    size = lists->lists[0].count;
    for (int64_t g = 1; g < lists->count && wants_equal_groups(instr->op); g++)
      OP_WANT(instr, lists->lists[g].count == size, rules.size,
              "replica groups of %ld and %ld members, want equal sizes", (long)size,
              (long)lists->lists[g].count);
  }
  return wants_equal_groups(instr->op) ? check_shapes(instr, &rules, size * ranks_per_id(grid))
                                       : NULL;
}

static hr_status_t check_pairs(const hlo_instr_t *instr, const grid_t *grid) {
  const hlo_int_lists_t *pairs = hlo_attr_lists(instr, HLO_ATTR_SOURCE_TARGET_PAIRS);
  for (int64_t i = 0; pairs && i < pairs->count; i++)
    for (int side = 0; side < 2; side++) {
      int64_t id = pairs->lists[i].data[side];
      OP_WANT(instr, id >= 0 && id < id_count(grid), "C4",
              "source_target_pairs lists %s %ld, but the grid of %d x %d (replicas x partitions) "
              "has %d",
              id_name(grid), (long)id, grid->replicas, grid->partitions, id_count(grid));
    }
  return NULL;
}

static hr_status_t check_on_grid(const hlo_instr_t *instr, int num_replicas, int num_partitions,
                                 bool part) {
  if (!hlo_op_is(instr->op, OP_COLLECTIVE)) return NULL;
  int processes;
  OP_WANT(instr, !__builtin_mul_overflow(num_replicas, num_partitions, &processes), NULL,
          "a grid of %d x %d processes is more than can be numbered", num_replicas, num_partitions);
  grid_t grid = grid_of(instr, num_replicas, num_partitions);
  grid.part = part;
  if (instr->op == HLO_COLLECTIVE_PERMUTE || instr->op == HLO_COLLECTIVE_PERMUTE_START)
    return check_pairs(instr, &grid);
  hr_arena_t arena;
  hr_arena_init(&arena);
  bool *listed;
  hr_status_t st = HR_NEW_ARRAY(&arena, id_count(&grid), &listed);
  if (!st) st = check_groups(instr, &grid, listed);
  hr_arena_deinit(&arena);
  return st;
}

hr_status_t op_groups_check(const hlo_instr_t *instr, int num_replicas, int num_partitions) {
  return check_on_grid(instr, num_replicas, num_partitions, false);
}

hr_status_t op_groups_check_part(const hlo_instr_t *instr, int num_replicas, int num_partitions) {
  return check_on_grid(instr, num_replicas, num_partitions, true);
}
