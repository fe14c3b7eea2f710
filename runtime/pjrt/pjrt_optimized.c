/* The program as the framework shows it. On one device it is the program as it was given; on
 * several the program of one partition, as a proto, which is made when it is asked for: read,
 * partitioned and written, nothing is optimised. Cost: as loading the program without code
 * generation. */
#include <string.h>

#include "pjrt/pjrt_api.h"
#include "pjrt/pjrt_executable.h"
#include "proto/hlo_proto.h"

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

static hr_status_t write_partition(hlo_module_t *module, hr_arena_t *arena, hr_str_t *out_bytes) {
  hr_buffer_t *proto = NULL;
  HR_TRY(rename_instrs(module));
  HR_TRY(write_hlo_proto(module, HLO_PROTO_WITH_CONFIG, &proto));
  hr_status_t st =
      hr_arena_str(arena, (hr_str_t){hr_buffer_data(proto), hr_buffer_size(proto)}, out_bytes);
  hr_buffer_release(proto);
  return st;
}

static hr_status_t keep_partitioned(pjrt_executable_t *executable) {
  compiler_options_t options = {.world_size = executable->world->count};
  hr_str_t code = executable->code;
  hr_buffer_t *bytes = NULL;
  hlo_module_t *module = NULL;
  HR_TRY(hr_buffer_wrap((void *)code.data, code.size, false, NULL, NULL, &bytes));
  hr_status_t st = compiler_read_partition("<jax>", bytes, &options, &module);
  if (!st) st = write_partition(module, &executable->arena, &executable->partitioned);
  hlo_module_destroy(module);
  hr_buffer_release(bytes);
  return st;
}

/* The program of one partition; on a single device, as it was given. */
hr_status_t pjrt_executable_optimized_program(pjrt_optimized_args_t *args) {
  PJRT_NOT_NULL(args->executable);
  PJRT_NOT_NULL(args->program);
  hr_str_t code = args->executable->code;
  bool is_global = args->executable->options.num_partitions > 1;
  args->program->format = is_global ? "hlo_with_config" : "mlir";
  args->program->format_size = strlen(args->program->format);
  if (is_global) {
    pthread_mutex_lock(&args->executable->client->mutex);
    hr_status_t st = NULL;
    if (!args->executable->partitioned.size) st = keep_partitioned(args->executable);
    pthread_mutex_unlock(&args->executable->client->mutex);
    HR_TRY(st);
    code = args->executable->partitioned;
  }
  if (args->program->code && args->program->code_size >= code.size)
    memcpy(args->program->code, code.data, code.size);
  args->program->code_size = code.size;
  return NULL;
}
