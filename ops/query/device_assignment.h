/* Programs that are split by device: if the ends of channels carry sharding={maximal device=K}, an
 * instruction with such a sharding runs on that device's process only; on other devices its result
 * is zero-filled and must not be read. Other programs run whole on every process, whatever their
 * shardings are. */
#ifndef HLO_OPS_DEVICE_ASSIGNMENT_H
#define HLO_OPS_DEVICE_ASSIGNMENT_H

#include "ir/module.h"

/* True if the module is split by device. Reads all instructions: ask once per module. */
bool op_is_split_by_device(const hlo_module_t *module);
/* K of sharding={maximal device=K}, or of a tuple sharding with that sharding for each element; -1:
 * none. Valid only for modules that are split. */
int64_t op_device_of(const hlo_instr_t *instr);
/* The device of process `rank`: its partition, or its replica on a grid without partitions. */
static inline int op_device_of_rank(int rank, int num_partitions) {
  return num_partitions > 1 ? rank % num_partitions : rank;
}
/* True if the other end of the channel is a process, not the host. */
static inline bool op_is_channel_end(const hlo_instr_t *instr) {
  return (instr->op == HLO_SEND || instr->op == HLO_RECV) &&
         !hlo_attr_bool(instr, HLO_ATTR_IS_HOST_TRANSFER);
}

#endif
