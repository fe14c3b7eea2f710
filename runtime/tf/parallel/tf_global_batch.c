#include "tf/parallel/tf_global_batch.h"

#include "ir/sharding.h"
#include "ops/table/opcode.h"

bool tf_batch_is_unknown(const tf_selection_t *selection) {
  bool open = selection->signature.feed_count > 0;
  for (int k = 0; k < selection->signature.feed_count; k++)
    open &= selection->is_open[k] && selection->arguments[k].shape->rank > 0;
  return open;
}

hr_status_t tf_batch_enlarge(tf_selection_t *selection, int64_t replicas) {
  for (int k = 0; k < selection->signature.feed_count; k++) {
    xla_argument_t *argument = &selection->arguments[k];
    const hlo_shape_t *shape = argument->shape;
    int64_t dims[HLO_MAX_RANK];
    for (int d = 0; d < shape->rank; d++) dims[d] = shape->dims[d];
    if (__builtin_mul_overflow(dims[0], replicas, &dims[0]))
      return hr_error(HR_USAGE, "--data-parallel: input %.*s of %ld replicas is too large",
                      HR_STR_ARGS(argument->name), (long)replicas);
    HR_TRY(hlo_shape_array(selection->arena, shape->dtype, shape->rank, dims, &argument->shape));
  }
  return NULL;
}

/* Cuts the first dimension over all devices. */
static hr_status_t cut_parameter(hlo_module_t *module, hlo_instr_t *parameter, int64_t partitions) {
  hlo_sharding_t *sharding;
  hlo_extra_t *extra;
  int64_t tiles[HLO_MAX_RANK];
  for (int d = 0; d < parameter->shape->rank; d++) tiles[d] = d ? 1 : partitions;
  HR_TRY(HR_NEW(&module->arena, &sharding));
  HR_TRY(HR_NEW(&module->arena, &extra));
  sharding->kind = HLO_TILE_KIND_OTHER;
  HR_TRY(hr_arena_ints(&module->arena, tiles, parameter->shape->rank, &sharding->tile_dims));
  HR_TRY(hr_arena_ints(&module->arena, &partitions, 1, &sharding->iota.dims));
  if (parameter->extra) *extra = *parameter->extra;
  extra->sharding = sharding;
  parameter->extra = extra;
  return NULL;
}

/* Refuses a graph with collectives, transfers or replica numbers: its replicas would become one
 * program with all examples. */
static hr_status_t check_own(const hlo_module_t *module) {
  for (size_t c = 0; c < module->computations.count; c++) {
    const hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count; i++) {
      const hlo_instr_t *instr = computation->instrs.data[i];
      bool is_own = instr->op == HLO_REPLICA_ID || instr->op == HLO_PARTITION_ID;
      is_own |= instr->op == HLO_SEND || instr->op == HLO_RECV;
      if (!is_own && !hlo_op_is(instr->op, OP_COLLECTIVE)) continue;
      return hlo_unsupported(instr,
                             "--data-parallel: an update that is no function of means over the "
                             "replicas beside %s of the graph's own",
                             hlo_op_name(instr->op));
    }
  }
  return NULL;
}

hr_status_t tf_batch_shard(const tf_selection_t *selection, const xla_compilation_result_t *result,
                           int64_t partitions, hlo_module_t *module) {
  HR_TRY(check_own(module));
  for (int p = 0; p < result->parameter_count; p++)
    if (result->input_mapping[p] < selection->signature.feed_count)
      HR_TRY(cut_parameter(module, module->entry->params.data[p], partitions));
  module->num_partitions = partitions;
  return NULL;
}
