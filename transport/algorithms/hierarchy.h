/* A group spread over several machines, with several members on some: who sits where, and transfers
 * of such a group, which are made of messages between machines and of transfers among the members
 * of one. Thread: that of the endpoint. */
#ifndef TP_HIERARCHY_H
#define TP_HIERARCHY_H

#include "transport/core/request.h"

typedef struct tp_machines tp_machines_t;

/* Machines are numbered in the order of their first members, and members of a machine (its lanes)
 * in listed order. */
struct tp_machines {
  int count;
  int max_lanes;         /* of any machine */
  const int *machine_of; /* by member */
  const int *lane_of;    /* by member */
  const int *lanes;      /* by machine: how many */
  const int *first;      /* by machine: where its members begin in `members`, */
  const int *members;    /* which are sorted by machine */
  int my_machine, my_lane;
  tp_group_t *within;  /* this machine's members */
  tp_group_t *between; /* the first ones of the machines; this rank need not be one of them */
};

static inline int tp_machines_member(const tp_machines_t *machines, int machine, int lane) {
  return machines->members[machines->first[machine] + lane];
}

/* Which lane of a machine looks after a member, of any machine: the work is shared among the lanes.
 * A machine's lanes look after themselves. */
static inline int tp_machines_lane_for(const tp_machines_t *machines, int machine, int member) {
  return machines->lane_of[member] % machines->lanes[machine];
}
/* How many members this lane of a machine looks after. */
int tp_machines_load(const tp_group_t *group, int machine, int lane);

/* Made on the first call. */
hr_status_t tp_machines_of(tp_group_t *group, const tp_machines_t **out_machines);

/* On how many machines its members sit; 1 if nobody knows. */
int tp_count_machines(const tp_group_t *group);

/* Goes through a transfer in stages: `start` begins what the stage request->rounds.number consists
 * of, messages or a transfer request->state.nested, or does nothing; it is called for the next
 * stage when that is over, and sets request->hooks.next to NULL in the last one. Transfers of a
 * group take turns, so that all ranks start the parts in the same order. */
hr_status_t tp_machines_begin(tp_request_t *request, hr_status_t (*start)(tp_request_t *request));

#endif
