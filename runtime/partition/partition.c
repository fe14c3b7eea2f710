/* The way of a program through the partitioner, and which programs go it. Programs that consist of
 * manual computations over whole arrays alone are already per-partition code: their boundaries only
 * have to be erased. */
#include "partition/annotations/normalize.h"
#include "partition/explain_sharding.h"
#include "passes/cleanup/inline_calls.h"
#include "passes/program/lower_manual_sharding.h"

static bool passes_on(const hlo_instr_t *instr) {
  return instr->op == HLO_TUPLE || instr->op == HLO_COPY || instr->op == HLO_GET_TUPLE_ELEMENT;
}

static bool is_inlined(const hlo_instr_t *call, const void *context) {
  (void)context;
  return !spmd_is_manual_call(call);
}

/* May a boundary cut this operand? Parameters are cut when they are read. */
static bool can_enter(const hlo_instr_t *operand, const bool *is_cut) {
  return operand->op == HLO_PARAMETER || is_cut[operand->id];
}

/* One instruction in order; false if it computes on what a boundary cuts. */
static bool follow_cuts(const hlo_instr_t *instr, bool *is_cut) {
  spmd_marker_t marker = spmd_marker_of(instr);
  bool any = false;
  for (int k = 0; k < instr->operand_count; k++) any |= is_cut[instr->operands[k]->id];
  is_cut[instr->id] |= marker == SPMD_LEAVE_MANUAL || (any && passes_on(instr));
  if (marker != SPMD_ENTER_MANUAL) return marker == SPMD_LEAVE_MANUAL || passes_on(instr) || !any;
  for (int k = 0; k < instr->operand_count; k++)
    if (!can_enter(instr->operands[k], is_cut)) return false;
  return true;
}

static void cut_parameters(const hlo_computation_t *entry, bool *is_cut) {
  for (size_t i = 0; i < entry->instrs.count; i++) {
    const hlo_instr_t *instr = entry->instrs.data[i];
    for (int k = 0; k < instr->operand_count && spmd_marker_of(instr) == SPMD_ENTER_MANUAL; k++)
      if (instr->operands[k]->op == HLO_PARAMETER) is_cut[instr->operands[k]->id] = true;
  }
}

/* Everything is inside of manual computations: outside, values that are cut are only passed on. */
static hr_status_t find_manual(hlo_module_t *module, bool *out_manual) {
  hlo_computation_t *entry = module->entry;
  bool *is_cut, any = false;
  HR_TRY(pass_inline(entry, is_inlined, NULL));
  HR_TRY(HR_NEW_ARRAY(&module->arena, entry->instrs.count, &is_cut));
  cut_parameters(entry, is_cut);
  *out_manual = true;
  for (size_t i = 0; i < entry->instrs.count; i++) {
    any |= spmd_marker_of(entry->instrs.data[i]) >= SPMD_ENTER_MANUAL;
    *out_manual &= follow_cuts(entry->instrs.data[i], is_cut);
  }
  *out_manual &= any;
  return NULL;
}

hr_status_t spmd_run(hlo_module_t *module, const spmd_options_t *options) {
  spmd_program_t program;
  bool manual, says = options->mesh || options->sharding;
  if (says && module->num_partitions > 1 && spmd_is_partitioned(module))
    return spmd_describe_parts(module, options);
  if (!spmd_is_global(module, options)) {
    if (options->device_count == 1) module->num_partitions = 1;
    return NULL;
  }
  HR_TRY(find_manual(module, &manual));
  if (manual) return pass_lower_manual_sharding(module);
  HR_TRY(spmd_read_annotations(module, options, &program));
  HR_TRY(spmd_propagate(&program));
  if (options->explain) spmd_explain_values(options->explain, &program);
  if (options->stop_after_propagate) {
    if (program.mesh) module->num_partitions = program.mesh->device_count;
    return spmd_write_shardings(&program);
  }
  HR_TRY(spmd_partition(&program));
  module->was_global = true;
  return options->explain ? spmd_explain_report(options->explain, &program) : NULL;
}
