/* The machines of a group, computed once from the machine numbers of the ranks, and the driver of
 * transfers in stages. Stages of one transfer are chained by hooks.next; transfers of a group wait
 * for each other by number (op_number), because nested transfers must start in one order on all
 * ranks. */
#include "transport/algorithms/hierarchy.h"

/* A stream of this group's own: other groups may have the same members on a machine. */
static int64_t stream_of(const tp_group_t *group) {
  uint64_t seed = 23 + (uint64_t)group->stream;
  return (int64_t)(hr_hash_bytes(group->ranks, (size_t)group->size * sizeof *group->ranks, seed) |
                   1);
}

/* The lists of tp_machines_t while they are being filled. */
typedef struct tables {
  int *machine_of, *lane_of, *lanes, *first, *members;
} tables_t;

static hr_status_t new_tables(tp_group_t *group, tables_t *out_tables) {
  hr_arena_t *arena = &group->owner->arena;
  HR_TRY(HR_NEW_ARRAY(arena, group->size, &out_tables->machine_of));
  HR_TRY(HR_NEW_ARRAY(arena, group->size, &out_tables->lane_of));
  HR_TRY(HR_NEW_ARRAY(arena, group->size, &out_tables->lanes));
  HR_TRY(HR_NEW_ARRAY(arena, group->size, &out_tables->first));
  return HR_NEW_ARRAY(arena, group->size, &out_tables->members);
}

/* Returns the number of machines. */
static int number_members(const tp_group_t *group, const tables_t *tables) {
  const int *where = group->owner->machine_of;
  int count = 0;
  for (int k = 0; k < group->size; k++) {
    int before = 0;
    while (before < k && where[group->ranks[before]] != where[group->ranks[k]]) before++;
    int machine = before < k ? tables->machine_of[before] : count++;
    tables->machine_of[k] = machine;
    tables->lane_of[k] = tables->lanes[machine]++;
  }
  return count;
}

static void sort_members(const tp_group_t *group, const tables_t *tables, int count) {
  for (int m = 1; m < count; m++) tables->first[m] = tables->first[m - 1] + tables->lanes[m - 1];
  for (int k = 0; k < group->size; k++)
    tables->members[tables->first[tables->machine_of[k]] + tables->lane_of[k]] = k;
}

static hr_status_t find_within(tp_group_t *group, tp_machines_t *machines) {
  int ranks[group->size], count = machines->lanes[machines->my_machine];
  for (int i = 0; i < count; i++)
    ranks[i] = group->ranks[tp_machines_member(machines, machines->my_machine, i)];
  return tp_group_get(group->owner, count, ranks, stream_of(group), &machines->within);
}

static hr_status_t find_between(tp_group_t *group, tp_machines_t *machines) {
  int ranks[group->size];
  for (int m = 0; m < machines->count; m++)
    ranks[m] = group->ranks[tp_machines_member(machines, m, 0)];
  return tp_group_get(group->owner, machines->count, ranks, stream_of(group), &machines->between);
}

hr_status_t tp_machines_of(tp_group_t *group, const tp_machines_t **out_machines) {
  tp_machines_t *machines;
  tables_t tables;
  *out_machines = group->parts;
  if (group->parts) return NULL;
  HR_TRY(new_tables(group, &tables));
  HR_TRY(HR_NEW(&group->owner->arena, &machines));
  int count = number_members(group, &tables), mine = group->my_index;
  sort_members(group, &tables, count);
  *machines = (tp_machines_t){.count = count,
                              .machine_of = tables.machine_of,
                              .lane_of = tables.lane_of,
                              .lanes = tables.lanes,
                              .first = tables.first,
                              .members = tables.members,
                              .my_machine = tables.machine_of[mine],
                              .my_lane = tables.lane_of[mine]};
  for (int m = 0; m < count; m++)
    if (tables.lanes[m] > machines->max_lanes) machines->max_lanes = tables.lanes[m];
  HR_TRY(find_within(group, machines));
  HR_TRY(find_between(group, machines));
  *out_machines = group->parts = machines;
  return NULL;
}

int tp_machines_load(const tp_group_t *group, int machine, int lane) {
  int load = 0;
  for (int k = 0; k < group->size; k++)
    load += tp_machines_lane_for(group->parts, machine, k) == lane;
  return load;
}

int tp_count_machines(const tp_group_t *group) {
  const int *where = group->owner->machine_of;
  int count = 0;
  for (int k = 0; where && k < group->size; k++) {
    bool is_first = true;
    for (int i = 0; i < k; i++)
      is_first = is_first && where[group->ranks[i]] != where[group->ranks[k]];
    count += is_first;
  }
  return count ? count : 1;
}

/* --- stages --- */

/* The nested transfer is a request of its own, which advances with the others. */
static hr_status_t test_part(tp_request_t *request, bool *out_over) {
  *out_over = true;
  if (!request->state.nested) return NULL;
  hr_status_t st = tp_request_test(request->state.nested, out_over);
  if (st || *out_over) request->state.nested = NULL;
  return st;
}

static hr_status_t poll_stages(tp_request_t *request, bool *out_done) {
  bool over;
  *out_done = false;
  if (request->group->done_ops != request->op_number) return NULL;
  for (;;) {
    if (request->rounds.posted_count) return NULL; /* messages of this stage are under way */
    HR_TRY(test_part(request, &over));
    if (!over) return NULL;
    if (!request->hooks.next) break;
    HR_TRY(request->hooks.next(request));
    request->rounds.number++;
  }
  request->group->done_ops++;
  *out_done = true;
  return NULL;
}

hr_status_t tp_machines_begin(tp_request_t *request, hr_status_t (*start)(tp_request_t *request)) {
  request->op_number = request->group->next_op++;
  request->endpoint_thread_only = true; /* nested transfers create groups */
  request->hooks.next = start;
  request->hooks.poll = poll_stages;
  return NULL;
}
