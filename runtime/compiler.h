/* From a file to a program that is ready to run: the stages, in order. Start reading hlorun here.
 */
#ifndef HLORUN_COMPILER_H
#define HLORUN_COMPILER_H

#include "check/check.h"
#include "ir/module.h"
#include "jit/jit.h"
#include "plan/flat.h"

typedef struct compiler_options {
  int num_replicas, num_partitions; /* 0: as the module says */
  int world_size;                   /* processes that will run it, or other programs beside it */
  bool part;                        /* other processes of the world may run other programs */
  bool unproved;                    /* do not ask whether the schedule completes */
  bool compiled;                    /* for the compiled engine */
  bool each_step;   /* loops are not joined to one function, so that each step can be timed */
  bool each_result; /* each instruction has a step of its own, whose result can be checked */
  /* The compiled engine's workers (NULL: one alone), asked for only by a program that is worth more
   * than one. */
  hr_status_t (*start_workers)(void *context, hr_workers_t **out_workers);
  void *workers_context;
  bool may_open_early;   /* LLVM, on a thread of its own that ends before the program is loaded */
  const char *cache_dir; /* of compiled code; NULL: the default one; "none" */
  const char *probe;     /* instructions that probes look at, as a regular expression; NULL: none */
  /* Shapes of the flattened arguments (NULL for tokens), for a copy of the program that
   * pass_can_specialise; NULL: the program as it is. */
  const hlo_shape_t *const *actual;
  const char *dump_dir; /* where the stages of the program are left; NULL: nowhere */
} compiler_options_t;

typedef struct compiled_program {
  hlo_module_t *module;
  plan_t *plan;
  flat_plan_t *flat;   /* NULL: for the reference engine */
  jit_t *jit;          /* the code that the flat plan's steps run; NULL: none */
  bool can_specialise; /* copies for the actual sizes of arguments may run in its place */
  double read_s, passes_s, plan_s,
      code_s; /* how long the stages took; code: the flat plan and its kernels */
} compiled_program_t;

/* read → verify → grid → passes → plan → proof that the schedule completes → flat plan. Takes the
 * buffer's bytes as the program's text; `path` is for messages. Errors: INVALID, UNSUPPORTED with
 * file:line:column, USAGE for a grid that does not fit, NO_MEMORY. */
hr_status_t compile_bytes(const char *path, hr_buffer_t *bytes, const compiler_options_t *options,
                          compiled_program_t *out_program);
void compiled_program_deinit(compiled_program_t *program);

/* Replicas and partitions: the options, else the module; a module that names neither runs as one
 * replica a process. Errors: USAGE with the numbers if their product is not the world. */
hr_status_t compiler_choose_grid(const hlo_module_t *module, const compiler_options_t *options,
                                 plan_grid_t *out_grid);

/* Refuses programs whose processes would get stuck, or misuse their channels; what cannot be proved
 * either way runs. The effort is bounded, so that loading stays quick. Errors: DISAGREE with the
 * report. */
hr_status_t compiler_prove(const check_program_t *programs, int count, plan_grid_t grid);

#endif
