/* The compiler: from the bytes of a file to a program that is ready to run. Start reading hlorun
 * here.
 *
 *   read -> verify -> partition -> grid -> passes -> plan -> deadlock proof -> flat plan
 *        -> generated code */
#ifndef HLORUN_COMPILER_H
#define HLORUN_COMPILER_H

#include "check/check.h"
#include "ir/module.h"
#include "jit/jit.h"
#include "partition/program.h"
#include "plan/flat.h"

typedef struct compiler_options {
  int num_replicas, num_partitions; /* 0: the module's own */
  int world_size;                   /* processes of the world, those of other programs included */
  bool part;                        /* other processes of the world may run other programs */
  bool unproved;                    /* skip the proof that the schedule completes */
  bool compiled;                    /* build a flat plan for the compiled engine */
  bool each_step;                   /* no loop regions: each step can be timed */
  bool shares_gathers;              /* all processes of the world share memory and run it */
  bool each_result;                 /* no fused steps: each instruction's result can be checked */
  /* Starts the compiled engine's workers; called only if the program can use more than one. NULL:
   * one worker. */
  hr_status_t (*start_workers)(void *context, hr_workers_t **out_workers);
  void *workers_context;
  bool may_open_early;   /* LLVM, on a thread of its own that ends before the program is loaded */
  const char *cache_dir; /* folder of cached object code; NULL: default; "none": no cache */
  const char *probe;     /* regular expression of instruction names to probe; NULL: none */
  /* Actual shapes of the flattened arguments (NULL for tokens), to compile a specialization of a
   * program that pass_can_specialise accepts; NULL: the program as it is. */
  const hlo_shape_t *const *actual;
  const char *dump_dir; /* folder for dumps of each stage; NULL: none */
  spmd_options_t spmd;  /* the partitioner's; the compiler sets device_count */
} compiler_options_t;

typedef struct compiled_program {
  hlo_module_t *module;
  hlo_module_t *unchanged; /* before the host changed it: owns the shardings; NULL: it did not */
  plan_t *plan;
  flat_plan_t *flat;   /* NULL: the reference engine runs it */
  jit_t *jit;          /* generated code of the flat plan's steps; NULL: none */
  bool can_specialise; /* specializations for actual argument sizes may replace it */
  double read_s, passes_s, plan_s, code_s; /* seconds per stage; code_s: flat plan and kernels */
} compiled_program_t;

/* Runs all stages on the program's text. `path` is for messages.
 * Errors: INVALID or UNSUPPORTED with file:line:column; USAGE for a grid that does not fit the
 * world; DISAGREE for a schedule that deadlocks; NO_MEMORY.
 * Owner:  retains `bytes`; the caller ends the program with compiled_program_deinit. */
hr_status_t compile_bytes(const char *path, hr_buffer_t *bytes, const compiler_options_t *options,
                          compiled_program_t *out_program);
/* The first stages alone: reads, verifies and partitions.
 * Errors:  as compile_bytes.
 * Owner:   retains `bytes`; the caller destroys the module. */
hr_status_t compiler_read_partition(const char *path, hr_buffer_t *bytes,
                                    const compiler_options_t *options, hlo_module_t **out_module);
void compiled_program_deinit(compiled_program_t *program);

/* Replicas and partitions: from the options, else from the module; a module that names neither runs
 * as one replica per process. Errors: USAGE, with the numbers, if their product is not the world
 * size. */
hr_status_t compiler_choose_grid(const hlo_module_t *module, const compiler_options_t *options,
                                 plan_grid_t *out_grid);

/* Refuses programs that would deadlock or misuse channels. Undecided programs run: the number of
 * simulated events is bounded, so that loading stays quick.
 * Errors: DISAGREE with the report. */
hr_status_t compiler_prove(const check_program_t *programs, int count, plan_grid_t grid);

#endif
