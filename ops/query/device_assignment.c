/* A tuple sharding counts as one device if all its elements name that device. */
#include "ops/query/device_assignment.h"

#include "ir/sharding.h"

static int64_t device_of_sharding(const hlo_sharding_t *sharding) {
  if (sharding->named)
    return sharding->mesh.maximal && sharding->mesh.device_ids.count
               ? sharding->mesh.device_ids.data[0]
               : -1;
  if (sharding->kind == HLO_TILE_KIND_MAXIMAL) return sharding->device;
  if (sharding->kind != HLO_TILE_KIND_TUPLE || !sharding->element_count) return -1;
  int64_t device = device_of_sharding(sharding->elements[0]);
  for (int i = 1; i < sharding->element_count; i++)
    if (device_of_sharding(sharding->elements[i]) != device) return -1;
  return device;
}

int64_t op_device_of(const hlo_instr_t *instr) {
  return instr->extra && instr->extra->sharding ? device_of_sharding(instr->extra->sharding) : -1;
}

bool op_is_split_by_device(const hlo_module_t *module) {
  for (size_t c = 0; c < module->computations.count; c++) {
    const hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count; i++)
      if (op_is_channel_end(computation->instrs.data[i]) &&
          op_device_of(computation->instrs.data[i]) >= 0)
        return true;
  }
  return false;
}
