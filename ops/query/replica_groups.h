/* Which processes execute a collective together: replica groups, channel id and
 * use_global_device_ids on a grid.
 *
 *   mode                         ids are      a group {i, j} seen from (replica r, partition p)
 *   cross_replica                replicas     (i,p) (j,p)
 *   cross_partition              partitions   (r,i) (r,j)
 *   cross_replica_and_partition  replicas     (i,0) (i,1) ... (j,0) (j,1) ...
 *   flattened_id                 r * P + p    the listed ones
 *
 * Members keep the listed order. No groups means one group of all ids, in order. Source: StableHLO
 * spec, "Collective ops"; XLA's collective op group modes. */
#ifndef HLO_OPS_REPLICA_GROUPS_H
#define HLO_OPS_REPLICA_GROUPS_H

#include "ir/module.h"

typedef struct op_members {
  int size;     /* 0: this process is in no group */
  int my_index; /* -1: in no group */
  int *ranks;   /* flattened ranks: replica * partitions + partition */
} op_members_t;

hlo_enum_GROUP_MODE_t op_replica_group_mode(const hlo_instr_t *instr);
/* The group of process `rank` for a collective with replica groups, on a grid that has passed
 * op_groups_check. */
hr_status_t op_group_members(hr_arena_t *arena, const hlo_instr_t *instr, int num_replicas,
                             int num_partitions, int rank, op_members_t *out_members);
/* For the groups of many processes: (*out_list_of)[id] is the list with this id, NULL: none. */
hr_status_t op_group_lists(hr_arena_t *arena, const hlo_instr_t *instr, int num_replicas,
                           int num_partitions, const hr_ints_t ***out_list_of);
/* op_group_members with the lists of op_group_lists; list_of NULL: they are searched. */
hr_status_t op_group_members_in(hr_arena_t *arena, const hlo_instr_t *instr, int num_replicas,
                                int num_partitions, int rank, const hr_ints_t *const *list_of,
                                op_members_t *out_members);
/* True for equal lists of groups in the same order; NULL is an empty list. */
bool op_groups_equal(const hlo_groups_t *a, const hlo_groups_t *b);
/* Partners of process `rank` in a collective-permute; -1: none. */
void op_permute_partners(const hlo_instr_t *instr, int num_replicas, int num_partitions, int rank,
                         int *out_to, int *out_from);

/* Checks that the collective `instr` fits a grid of num_replicas x num_partitions: all ids exist,
 * every process is in exactly one group, and group sizes agree with shapes. To be called for every
 * collective before a run; other ops pass. Errors: INVALID naming the instruction. */
hr_status_t op_groups_check(const hlo_instr_t *instr, int num_replicas, int num_partitions);
/* The same for a program that only some processes of the grid run: its groups may leave out the
 * others. */
hr_status_t op_groups_check_part(const hlo_instr_t *instr, int num_replicas, int num_partitions);

#endif
