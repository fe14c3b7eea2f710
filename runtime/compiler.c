#include "compiler.h"

#include "ops/group_mode.h"
#include "read/read.h"

hr_status_t compiler_choose_grid(const hlo_module_t *module, const compiler_options_t *options, plan_grid_t *out_grid) {
  int64_t replicas = options->num_replicas ? options->num_replicas : module->replica_count;
  int64_t partitions = options->num_partitions ? options->num_partitions : module->num_partitions;
  bool unnamed = !options->num_replicas && !options->num_partitions && replicas == 1 && partitions == 1;
  if (unnamed) replicas = options->world_size;
  int64_t wanted;
  if (__builtin_mul_overflow(replicas, partitions, &wanted) || wanted != options->world_size)
    return hr_error(HR_USAGE,
                    "%.*s runs on a grid of %ld replicas x %ld partitions, which is not the number of processes, %d: "
                    "start it with hlorun -n or mpirun -n, or choose --num-replicas and --num-partitions",
                    HR_STR_ARGS(module->name), (long)replicas, (long)partitions, options->world_size);
  *out_grid = (plan_grid_t){(int)replicas, (int)partitions};
  return NULL;
}

/* Replica groups can be checked against the grid only now. */
static hr_status_t check_groups(const hlo_module_t *module, plan_grid_t grid) {
  for (size_t c = 0; c < module->computations.count; c++) {
    const hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count; i++)
      if (hlo_op_is(computation->instrs.data[i]->op, OP_COLLECTIVE))
        HR_TRY(op_groups_check(computation->instrs.data[i], grid.num_replicas, grid.num_partitions));
  }
  return NULL;
}

static hr_status_t run_stages(const char *path, hr_buffer_t *bytes, const compiler_options_t *options,
                              compiled_program_t *program) {
  plan_grid_t grid;
  HR_TRY(read_module(path, bytes, &program->module));
  HR_TRY(hlo_verify(program->module));
  HR_TRY(compiler_choose_grid(program->module, options, &grid));
  HR_TRY(check_groups(program->module, grid));
  return plan_create(program->module, grid, &program->plan);
}

hr_status_t compile_bytes(const char *path, hr_buffer_t *bytes, const compiler_options_t *options,
                          compiled_program_t *out_program) {
  compiled_program_t program = {0};
  hr_status_t st = run_stages(path, bytes, options, &program);
  if (st)
    compiled_program_deinit(&program);
  else
    *out_program = program;
  return st;
}

hr_status_t compile_file(const char *path, const compiler_options_t *options, compiled_program_t *out_program) {
  hr_buffer_t *bytes;
  HR_TRY(hr_buffer_map_file(path, &bytes));
  hr_status_t st = compile_bytes(path, bytes, options, out_program);
  hr_buffer_release(bytes);
  return st;
}

void compiled_program_deinit(compiled_program_t *program) {
  plan_destroy(program->plan);
  hlo_module_destroy(program->module);
  *program = (compiled_program_t){0};
}
