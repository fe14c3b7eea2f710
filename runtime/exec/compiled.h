/* The compiled engine: runs a flat plan with native kernels and generated code. Addresses are fixed
 * when the machine is created, except those of arguments and results, which are written into the
 * steps that use them when they change.
 * Cost: a few nanoseconds per step besides its kernel. Runs allocate nothing once results of
 *       earlier runs were released, unless steps fall back to reference kernels. */
#ifndef EXEC_COMPILED_H
#define EXEC_COMPILED_H

#include "base/workers.h"
#include "exec/machine.h"
#include "observe/numa_trace.h"
#include "plan/flat.h"

typedef struct exec_compiled exec_compiled_t;

typedef struct exec_compiled_options {
  exec_machine_options_t machine;
  hr_workers_t *workers; /* NULL: one worker; must outlive the machine */
  bool check;            /* HLORUN_CHECK=1: compare each native step with its reference kernel */
  numa_trace_t *numa;    /* NULL: accesses to NUMA nodes are not counted; needs a trace */
} exec_compiled_options_t;

/* Creates a machine for a flat plan that is not is_reference.
 * Owner:   the plan must outlive the machine; results may.
 * Errors:  NO_MEMORY.
 * Thread:  one at a time. */
hr_status_t exec_compiled_create(const flat_plan_t *flat, const exec_compiled_options_t *options,
                                 exec_compiled_t **out_machine);
void exec_compiled_destroy(exec_compiled_t *machine); /* accepts NULL */
/* Sets whether all processes have a plan with these shared arrays (flat_shared_key). Must precede
 * the first run. The default is false: each process has its own arrays. */
void exec_compiled_share_arrays(exec_compiled_t *machine, bool are_shared);
/* Runs the program.
 * Shape:  `args` and `donate` per flattened parameter (NULL for tokens), `results` per flattened
 *         result; arguments must fit the declared shapes.
 * Owner:  borrows arguments; where donate[p] is true (`donate` may be NULL) it consumes the
 *         reference, also if the run fails. Results are new references.
 * Errors: MISMATCH with options.check, for the first step that differs; CANCELLED; failures of
 *         kernels and transfers. */
hr_status_t exec_compiled_run(exec_compiled_t *machine, hlo_value_t *const *args,
                              const bool *donate, hlo_value_t **results);

/* The reference machine for steps without a native kernel; it holds random state and probes. */
exec_machine_t *exec_compiled_machine(exec_compiled_t *machine);

#endif
