/* The step machine: follows a plan with the reference kernels, for one process of the grid. */
#ifndef EXEC_MACHINE_H
#define EXEC_MACHINE_H

#include <stdatomic.h>

#include "base/trace.h"
#include "observe/probe_files.h"
#include "observe/progress_counter.h"
#include "plan/plan.h"

/* Asks an execution to stop. Safe to raise from any thread; the reason must outlive the token. */
typedef struct exec_cancel {
  _Atomic(const char *) reason; /* NULL: go on */
} exec_cancel_t;
hr_status_t exec_cancel_check(const exec_cancel_t *cancel); /* CANCELLED with the reason, or NULL */
static inline bool exec_is_cancelled(const exec_cancel_t *cancel) {
  return __builtin_expect(atomic_load_explicit(&cancel->reason, memory_order_relaxed) != NULL,
                          false);
}

typedef struct exec_machine exec_machine_t;

typedef struct exec_machine_options {
  int rank;                /* replica * partitions + partition */
  const plan_grid_t *grid; /* NULL: the plan's */
  uint64_t rng_seed;
  exec_cancel_t *cancel; /* may be NULL */
  _Atomic(const hlo_instr_t *)
      *current;              /* set to the instruction that runs, for reports; may be NULL */
  exec_progress_t *progress; /* noted there, for watchdogs; may be NULL */
  /* Asked now and then in loops, and while a step waits for threads of its own: a failure ends it
   * (time-outs). May be NULL. */
  hr_status_t (*interrupted)(void *context);
  void *interrupted_context;
  /* Fills in the collective functions of the environment; NULL for a process without peers, whose
   * collectives are over itself. */
  hr_status_t (*attach_comm)(op_env_t *env, void *context);
  void *comm_context;
  hr_trace_t
      *trace; /* notes how long waits for peers take, and: may be NULL; outlives the machine */
  bool trace_steps;                /* steps of exec_machine_run */
  exec_probe_files_t *probe_files; /* what probes see; may be NULL, outlives the machine */
} exec_machine_options_t;

/* Thread: one at a time. The plan must outlive the machine. */
hr_status_t exec_machine_create(const plan_t *plan, const exec_machine_options_t *options,
                                exec_machine_t **out_machine);
void exec_machine_destroy(exec_machine_t *machine); /* accepts NULL */
/* Runs the entry. Takes the references of `args` away (a holder of the only reference lets the
 * program overwrite the value); *out_value is a new reference. Random state persists from run to
 * run. */
hr_status_t exec_machine_run(exec_machine_t *machine, hlo_value_t **args, hlo_value_t **out_value);
/* The same for another computation that the plan has. */
hr_status_t exec_machine_call(exec_machine_t *machine, const hlo_computation_t *computation,
                              hlo_value_t **args, hlo_value_t **out_value);

/* What persists from run to run, as bytes, and back: into a machine of the same plan, before its
 * first run. What is of another plan is left alone. */
hr_status_t exec_machine_save_state(const exec_machine_t *machine, hlo_value_t **out_bytes);
hr_status_t exec_machine_load_state(exec_machine_t *machine, const hlo_value_t *bytes);

/* One step of the plan by its reference kernel, on values of the caller. `last_use` as in
 * op_step_t: the kernel may overwrite these operands, and may move them out of `in`. *out_value is
 * a new reference. */
hr_status_t exec_machine_step(exec_machine_t *machine, const plan_step_t *step, uint64_t last_use,
                              hlo_value_t **in, hlo_value_t **out_value);
/* Says that this instruction runs now. */
void exec_machine_note(exec_machine_t *machine, const hlo_instr_t *instr);
/* The same for what fences find (base/fence.h). */
void exec_fence_note(const hlo_instr_t *instr);
/* Is this run to end? Asks the outside, too, in loops a hundred times a second. */
hr_status_t exec_poll_cancel(const exec_machine_options_t *options);
op_env_t *exec_machine_env(exec_machine_t *machine);
/* Forgets what probes saw; a run of the entry does so by itself. */
void exec_machine_forget_probes(exec_machine_t *machine);

const plan_t *exec_machine_plan(const exec_machine_t *machine);
const exec_machine_options_t *exec_machine_options(const exec_machine_t *machine);

#endif
