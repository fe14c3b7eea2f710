/* Programs that are split by device: where the ends of channels carry sharding={maximal device=K},
 * an instruction with such a sharding runs on that device's process alone, and on other devices the
 * result is zero-filled and must not be read. Other programs run whole everywhere, whatever their
 * shardings say. */
#ifndef HLO_OPS_DEVICE_ASSIGNMENT_H
#define HLO_OPS_DEVICE_ASSIGNMENT_H

#include "ir/module.h"

/* Is it split? Asked once per module: looks at all instructions. */
bool op_is_split_by_device(const hlo_module_t *module);
/* K of sharding={maximal device=K}, or of a tuple sharding that says so for each element; -1: none.
 * Of a module that is split; in others it means nothing. */
int64_t op_device_of(const hlo_instr_t *instr);
/* The device that process `rank` is: its partition, or its replica on a grid without partitions. */
static inline int op_device_of_rank(int rank, int num_partitions) {
  return num_partitions > 1 ? rank % num_partitions : rank;
}
/* The other end of a channel is a process, not the host. */
static inline bool op_is_channel_end(const hlo_instr_t *instr) {
  return (instr->op == HLO_SEND || instr->op == HLO_RECV) &&
         !hlo_attr_bool(instr, HLO_ATTR_IS_HOST_TRANSFER);
}

#endif
