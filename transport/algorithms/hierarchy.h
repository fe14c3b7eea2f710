/* Hierarchical collectives: groups over several machines with several members on some. A transfer
 * consists of messages between machines and of nested transfers among the members of one machine.
 * Thread:  that of the endpoint. */
#ifndef TP_HIERARCHY_H
#define TP_HIERARCHY_H

#include "transport/core/request.h"

typedef struct tp_machines tp_machines_t;

/* Machines are numbered in the order of their first members, and members of a machine (its lanes)
 * in listed order. */
struct tp_machines {
  int count;
  int max_lanes;         /* most members on one machine */
  const int *machine_of; /* by member: its machine */
  const int *lane_of;    /* by member: its lane there */
  const int *lanes;      /* by machine: number of its members */
  const int *first;      /* by machine: index of its first member in `members` */
  const int *members;    /* group indices, sorted by machine, then lane */
  int my_machine, my_lane;
  tp_group_t *within;  /* members on this machine */
  tp_group_t *between; /* lane 0 of each machine; this rank need not belong to it */
};

static inline int tp_machines_member(const tp_machines_t *machines, int machine, int lane) {
  return machines->members[machines->first[machine] + lane];
}

/* The lane of a machine that handles the data of a member of any machine: members are distributed
 * cyclically. A lane handles its own member. */
static inline int tp_machines_lane_for(const tp_machines_t *machines, int machine, int member) {
  return machines->lane_of[member] % machines->lanes[machine];
}
/* Number of members whose data this lane of a machine handles. */
int tp_machines_load(const tp_group_t *group, int machine, int lane);

/* Computed by the first call, in the groups' arena. */
hr_status_t tp_machines_of(tp_group_t *group, const tp_machines_t **out_machines);

/* Number of machines of the members; 1 if unknown. */
int tp_count_machines(const tp_group_t *group);

/* Runs a transfer in stages. `start` posts the messages, or starts the nested transfer
 * (request->state.nested), of stage request->rounds.number; it may do nothing, and is called for
 * the next stage when this one has ended. In the last stage it sets request->hooks.next to NULL.
 * Transfers of a group run one at a time, so that all ranks start the nested ones in the same
 * order. */
hr_status_t tp_machines_begin(tp_request_t *request, hr_status_t (*start)(tp_request_t *request));

#endif
