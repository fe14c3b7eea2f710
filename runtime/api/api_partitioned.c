/* The program of one partition as a proto: read, partitioned and written; nothing is optimised.
 * Cost: as loading the program without code generation. Not handled: --mesh and --sharding. */
#include "api/api_partitioned.h"

#include "ops/rules/verify.h"
#include "partition/program.h"
#include "proto/hlo_proto.h"
#include "read/read.h"

/* Names of instructions are unique in a computation; XLA wants them unique in the module. */
static hr_status_t rename_instrs(hlo_module_t *module) {
  for (size_t c = 0; c < module->computations.count; c++) {
    hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count && computation != module->entry; i++) {
      hlo_instr_t *instr = computation->instrs.data[i];
      const char *name;
      HR_TRY(hr_arena_printf(&module->arena, &name, "%.*s.c%d", HR_STR_ARGS(instr->name),
                             (int)computation->id));
      instr->name = hr_str_from(name);
    }
  }
  return NULL;
}

hr_status_t api_partitioned(hr_str_t code, int devices, hr_buffer_t **out_proto) {
  hr_buffer_t *bytes = NULL;
  hlo_module_t *module = NULL;
  spmd_options_t options = {.device_count = devices};
  HR_TRY(hr_buffer_wrap((void *)code.data, code.size, false, NULL, NULL, &bytes));
  hr_status_t st = read_module("<program>", bytes, &module);
  if (!st) st = hlo_verify(module);
  if (!st) st = spmd_run(module, &options);
  if (!st) st = rename_instrs(module);
  if (!st) st = write_hlo_proto(module, HLO_PROTO_WITH_CONFIG, out_proto);
  hlo_module_destroy(module);
  hr_buffer_release(bytes);
  return st;
}
