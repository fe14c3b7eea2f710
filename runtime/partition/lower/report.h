/* What partitioning put in: collectives by the instruction that caused them, and values that were
 * made whole for want of a better rule. For --explain-sharding. */
#ifndef HR_PARTITION_LOWER_REPORT_H
#define HR_PARTITION_LOWER_REPORT_H

#include "base/vec.h"
#include "ir/module.h"

typedef struct spmd_report_item {
  const hlo_instr_t *cause; /* of the global program */
  hlo_opcode_t op;          /* the collective */
  const hlo_shape_t *shape; /* of its result, on one partition */
  int64_t group;            /* partitions that take part in one of its groups */
  double bytes;             /* that a partition sends in one execution */
  bool in_loop;             /* it is in the body of a loop */
} spmd_report_item_t;

/* An array that every partition had to have whole. */
typedef struct spmd_replication {
  const hlo_instr_t *instr; /* the operation that wants it */
  const hlo_shape_t *shape; /* the whole */
} spmd_replication_t;

typedef struct spmd_report {
  HR_VEC(spmd_report_item_t) items;
  HR_VEC(spmd_replication_t) replications;
} spmd_report_t;

static inline void spmd_report_deinit(spmd_report_t *report) {
  HR_VEC_FREE(&report->items);
  HR_VEC_FREE(&report->replications);
}

#endif
