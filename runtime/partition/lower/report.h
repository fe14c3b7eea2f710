/* What partitioning put in: collectives by the instruction that caused them, and arrays that were
 * made whole for want of a better rule. For --explain-sharding. */
#ifndef HR_PARTITION_LOWER_REPORT_H
#define HR_PARTITION_LOWER_REPORT_H

#include "base/vec.h"
#include "ir/module.h"

typedef struct spmd_report_item {
  const hlo_instr_t *cause; /* of the global program */
  hlo_instr_t *collective;  /* of the partition's program */
  int64_t group;            /* partitions that take part in one of its groups */
  double bytes;             /* that a partition sends in one execution */
  int64_t times;            /* executions, in a loop of the partitioner; else 1 */
  bool in_loop;             /* it is in the condition or body of a loop */
} spmd_report_item_t;

/* An array that every partition had to have whole. */
typedef struct spmd_replication {
  const hlo_instr_t *instr; /* the operation of the global program that wants it */
  const hlo_shape_t *shape; /* the whole */
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
