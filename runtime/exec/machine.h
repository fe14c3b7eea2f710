/* The reference engine: runs a plan with the reference kernels, for one process of the grid. It
 * also serves the compiled engine for steps without a native kernel. */
#ifndef EXEC_MACHINE_H
#define EXEC_MACHINE_H

#include <stdatomic.h>

#include "base/trace.h"
#include "observe/probe_files.h"
#include "observe/progress_counter.h"
#include "plan/plan.h"

/* Cancellation token.
 * Thread:  any may raise it.
 * Owner:   the reason must outlive the token. */
typedef struct exec_cancel {
  _Atomic(const char *) reason; /* NULL: not cancelled */
} exec_cancel_t;
hr_status_t exec_cancel_check(const exec_cancel_t *cancel); /* CANCELLED with the reason, or NULL */
static inline bool exec_is_cancelled(const exec_cancel_t *cancel) {
  return __builtin_expect(atomic_load_explicit(&cancel->reason, memory_order_relaxed) != NULL,
                          false);
}

typedef struct exec_machine exec_machine_t;

typedef struct exec_machine_options {
  int rank;                /* replica * partitions + partition */
  const plan_grid_t *grid; /* NULL: the plan's grid */
  uint64_t rng_seed;
  exec_cancel_t *cancel;                 /* may be NULL */
  _Atomic(const hlo_instr_t *) *current; /* output: current instruction, for reports; may be NULL */
  exec_progress_t *progress;             /* output: progress, for watchdogs; may be NULL */
  /* Polled in loops and while a step waits for its own threads; an error ends the run (time-outs,
   * signals). May be NULL. */
  hr_status_t (*interrupted)(void *context);
  void *interrupted_context;
  /* Installs communication functions in the environment; NULL for a process without peers, whose
   * collectives have one member. */
  hr_status_t (*attach_comm)(op_env_t *env, void *context);
  void *comm_context;
  hr_trace_t *trace; /* records waits for peers; may be NULL; must outlive the machine */
  bool trace_steps;  /* also record the steps of exec_machine_run */
  exec_probe_files_t
      *probe_files; /* sink of probed values; may be NULL; must outlive the machine */
} exec_machine_options_t;

/* Creates a machine.
 * Owner:   the plan must outlive it; `options` is copied.
 * Errors:  NO_MEMORY.
 * Thread:  one at a time. */
hr_status_t exec_machine_create(const plan_t *plan, const exec_machine_options_t *options,
                                exec_machine_t **out_machine);
void exec_machine_destroy(exec_machine_t *machine); /* accepts NULL */
/* Runs the entry computation.
 * Owner:  consumes the references of `args`, also on failure; a value with one reference may be
 *         overwritten. *out_value is a new reference.
 * Errors: INVALID for values that do not fit the declared shapes; CANCELLED; failures of kernels.
 * State:  of random generators persists between runs. */
hr_status_t exec_machine_run(exec_machine_t *machine, hlo_value_t **args, hlo_value_t **out_value);
/* Runs another computation of the plan; owner and errors as exec_machine_run. */
hr_status_t exec_machine_call(exec_machine_t *machine, const hlo_computation_t *computation,
                              hlo_value_t **args, hlo_value_t **out_value);

/* Saves the persistent state as u8[n], and restores it in a machine of the same plan before its
 * first run. Entries of unknown instructions are ignored. */
hr_status_t exec_machine_save_state(const exec_machine_t *machine, hlo_value_t **out_bytes);
hr_status_t exec_machine_load_state(exec_machine_t *machine, const hlo_value_t *bytes);

/* Runs one step of the plan on the caller's values. `last_use`: bit k allows the kernel to
 * overwrite operand k or to move it out of `in` (op_step_t). *out_value is a new reference. */
hr_status_t exec_machine_step(exec_machine_t *machine, const plan_step_t *step, uint64_t last_use,
                              hlo_value_t **in, hlo_value_t **out_value);
/* Publishes the current instruction in options.current. */
void exec_machine_note(exec_machine_t *machine, const hlo_instr_t *instr);
/* Publishes the current instruction for reports of guarded memory (base/fence.h). */
void exec_fence_note(const hlo_instr_t *instr);
/* Returns the error that ends this run, or NULL. In loops it polls options.interrupted about a
 * hundred times per second. */
hr_status_t exec_poll_cancel(const exec_machine_options_t *options);
op_env_t *exec_machine_env(exec_machine_t *machine);
/* Drops probed values; exec_machine_run does so, too. */
void exec_machine_forget_probes(exec_machine_t *machine);

const plan_t *exec_machine_plan(const exec_machine_t *machine);
const exec_machine_options_t *exec_machine_options(const exec_machine_t *machine);

#endif
