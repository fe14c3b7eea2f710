#include "partition/annotations/number_streams.h"

#include "ir/frontend_attributes.h"
#include "ops/query/random_part.h"

static hr_status_t number(hlo_module_t *module, hlo_instr_t *instr, uint64_t stream) {
  const char *text;
  HR_TRY(hr_arena_printf(&module->arena, &text, "%lu", (unsigned long)stream));
  hlo_name_value_t item = {.name = hr_str_from(OP_RANDOM_STREAM), .value = hr_str_from(text)};
  return hlo_extra_with_frontend_attribute(&module->arena, instr->extra, item, &instr->extra);
}

hr_status_t spmd_number_streams(hlo_module_t *module) {
  uint64_t last = 0;
  for (int pass = 0; pass < 2; pass++)
    for (size_t c = 0; c < module->computations.count; c++) {
      const hlo_computation_t *computation = module->computations.data[c];
      for (size_t i = 0; i < computation->instrs.count; i++) {
        hlo_instr_t *instr = computation->instrs.data[i];
        uint64_t stream = instr->op == HLO_RNG ? op_random_stream(instr) : 0;
        if (stream > last) last = stream;
        if (instr->op == HLO_RNG && !stream && pass) HR_TRY(number(module, instr, ++last));
      }
    }
  return NULL;
}
