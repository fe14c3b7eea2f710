/* All-reduce over several machines: among the members of each machine, then between the first ones of the machines, and
 * back. Only for what may be combined in any order: first within a machine, in listed order, then machine by machine, in
 * the order of their first members; that is the same in every run.
 * Transfers of a group take turns, so that all ranks start the parts in the same order.
 * Cost: the array crosses the network as if there were as many ranks as machines; two transfers within the machine. */
#include <string.h>

#include "transport/request.h"
#include "transport/shm_group.h"

enum { WITHIN, BETWEEN, BACK, DONE };

/* A stream of this group's own: other groups may have the same members on a machine. */
static int64_t stream_of(const tp_group_t *group) {
  uint64_t seed = 23 + (uint64_t)group->stream;
  return (int64_t)(hr_hash_bytes(group->ranks, (size_t)group->size * sizeof *group->ranks, seed) | 1);
}

/* The members that sit on a machine, or (machine -1) the first of each. */
static hr_status_t select_members(const tp_group_t *group, int machine, tp_group_t **out_group) {
  tp_groups_t *groups = group->owner;
  const int *machine_of = groups->machine_of;
  int ranks[group->size], count = 0;
  for (int k = 0; k < group->size; k++) {
    bool first = true;
    for (int i = 0; i < k && machine < 0; i++)
      first = first && machine_of[group->ranks[i]] != machine_of[group->ranks[k]];
    if (machine < 0 ? first : machine_of[group->ranks[k]] == machine) ranks[count++] = group->ranks[k];
  }
  return tp_group_get(groups, count, ranks, stream_of(group), out_group);
}

static hr_status_t find_parts(tp_group_t *group) {
  int machine = group->owner->machine_of[group->owner->endpoint->rank];
  if (group->within) return NULL;
  HR_TRY(select_members(group, -1, &group->between));
  return select_members(group, machine, &group->within);
}

static hr_status_t start_part(tp_request_t *request) {
  tp_group_t *within = request->group->within, *between = request->group->between;
  size_t bytes = (size_t)request->count * request->reducer.element_bytes;
  if (request->round == WITHIN)
    return tp_all_reduce(within, request->in, request->out, request->count, &request->reducer, &request->part);
  if (request->round == BACK) return tp_broadcast(within, 0, request->out, bytes, &request->part);
  if (between->my_index < 0) return NULL;
  return tp_all_reduce(between, request->out, request->out, request->count, &request->reducer, &request->part);
}

/* The part is a request of its own, which moves on with the others. */
static hr_status_t poll_parts(tp_request_t *request, bool *out_done) {
  *out_done = false;
  if (request->group->turn != request->turn) return NULL;
  for (; request->round < DONE; request->round++) {
    bool over = true;
    if (!request->part && !request->part_started) HR_TRY(start_part(request));
    request->part_started = true;
    if (request->part) {
      hr_status_t st = tp_request_test(request->part, &over);
      if (over) request->part = NULL;
      HR_TRY(st);
    }
    if (!over) return NULL;
    request->part_started = false;
  }
  request->group->turn++;
  *out_done = true;
  return NULL;
}

hr_status_t tp_all_reduce_machines(tp_request_t *request) {
  HR_TRY(find_parts(request->group));
  request->turn = request->group->next_turn++;
  request->own_thread = true; /* parts make groups of their own */
  request->poll = poll_parts;
  return NULL;
}

bool tp_spans_machines(const tp_group_t *group) {
  const int *machine_of = group->owner->machine_of;
  int machines = 0;
  for (int k = 0; machine_of && k < group->size; k++) {
    bool first = true;
    for (int i = 0; i < k; i++) first = first && machine_of[group->ranks[i]] != machine_of[group->ranks[k]];
    machines += first;
  }
  return machines > 1 && machines < group->size;
}
