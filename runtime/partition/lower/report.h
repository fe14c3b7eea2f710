/* Results of partitioning for --explain-sharding: collectives with the instruction that caused
 * them, and arrays that were gathered because their user has no better rule. */
#ifndef HR_PARTITION_LOWER_REPORT_H
#define HR_PARTITION_LOWER_REPORT_H

#include "base/vec.h"
#include "ir/module.h"

typedef struct spmd_report_item {
  const hlo_instr_t *cause; /* instruction of the global program */
  hlo_instr_t *collective;  /* instruction of the partition's program */
  int64_t group;            /* number of partitions in a group */
  double bytes;             /* bytes that a partition sends in one execution */
  int64_t times;            /* trip count of the partitioner's own loop; else 1 */
  bool in_loop;             /* in the condition or body of a loop */
} spmd_report_item_t;

/* An array that every partition had to have whole. */
typedef struct spmd_replication {
  const hlo_instr_t *instr; /* the operation of the global program that needs it */
  const hlo_shape_t *shape; /* global shape */
} spmd_replication_t;

/* Lives in the program's arena. */
typedef struct spmd_report {
  size_t item_count, replication_count;
  const spmd_report_item_t *items;
  const spmd_replication_t *replications;
} spmd_report_t;

/* The report while it is written. */
typedef struct spmd_report_notes {
  HR_VEC(spmd_report_item_t) items;
  HR_VEC(spmd_replication_t) replications;
} spmd_report_notes_t;

#endif
