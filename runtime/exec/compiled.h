/* The compiled engine's machine: follows a flat plan. All addresses are worked out when it is made,
 * but for those of arguments and results, which are written into the steps that use them when they
 * change. Cost: a few nanoseconds a step beyond its kernel; nothing is allocated once results of
 * earlier runs were released, unless steps fall back to reference kernels. */
#ifndef EXEC_COMPILED_H
#define EXEC_COMPILED_H

#include "base/workers.h"
#include "exec/machine.h"
#include "plan/flat.h"

typedef struct exec_compiled exec_compiled_t;

typedef struct exec_compiled_options {
  exec_machine_options_t machine;
  hr_workers_t *workers; /* NULL: one; outlives the machine */
  bool check; /* run the reference kernel of each native step too, and compare (HLORUN_CHECK=1) */
} exec_compiled_options_t;

/* Thread: one at a time. The flat plan, which is not is_reference, must outlive the machine;
 * results need not be released before it is destroyed. Errors: NO_MEMORY. */
hr_status_t exec_compiled_create(const flat_plan_t *flat, const exec_compiled_options_t *options,
                                 exec_compiled_t **out_machine);
void exec_compiled_destroy(exec_compiled_t *machine); /* accepts NULL */
/* Runs the program on its flattened arguments (NULL for tokens), which are borrowed; where `donate`
 * (may be NULL) says so, the reference is taken away, also if the run fails. `results`: one new
 * reference per flattened result. Errors: MISMATCH with options.check: what the first step that
 * differs computed, and where. */
hr_status_t exec_compiled_run(exec_compiled_t *machine, hlo_value_t *const *args,
                              const bool *donate, hlo_value_t **results);

/* The machine that runs its reference kernels, and has their state. */
exec_machine_t *exec_compiled_machine(exec_compiled_t *machine);

#endif
