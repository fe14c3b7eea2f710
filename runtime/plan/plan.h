/* The plan: everything that can be decided about a verified module before it runs: the order of
 * each computation's steps, where values live and die, each kernel's prepared loops, and what the
 * process says to its peers in which order. Immutable once built; shared by threads and executions.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "ops/kernels/kernel.h"

typedef struct plan_step {
  op_step_t op; /* prepared, unless `dynamic` */
  const op_kernel_t *kernel;
  bool dynamic;   /* sizes are known only at run time: prepare then */
  int64_t device; /* of a program split by device: who runs it, the value of the others is zeros;
                     -1: all */
  int out_slot;
  int in_count;
  const int *in_slots; /* one per operand */
  int free_count;
  const int *free_slots; /* values that die with this step */
} plan_step_t;

/* One computation: a list of steps over numbered slots. Parameters are in slots 0, 1, ... at the
 * start. */
typedef struct plan_body {
  const hlo_computation_t *computation;
  int param_count;
  int slot_count;
  int step_count;
  plan_step_t *steps;
  int root_slot;
  int unused_count; /* parameters that no step uses: freed at the start, unless they are the root */
  const int *unused_slots;
} plan_body_t;

typedef struct plan_grid {
  int num_replicas, num_partitions;
} plan_grid_t;

typedef struct plan {
  hr_arena_t arena;
  const hlo_module_t *module;
  plan_grid_t grid;
  plan_body_t **bodies; /* by computation id; NULL for those that nothing runs */
  const plan_body_t *entry;
  bool communicates;      /* some reachable instruction talks to peers */
  bool has_dynamic_sizes; /* some value's sizes are known only at run time */
} plan_t;

/* Plans all computations that the entry reaches. `module` must outlive the plan.
 * Errors: UNSUPPORTED or INVALID with the instruction's place, NO_MEMORY. */
hr_status_t plan_create(const hlo_module_t *module, plan_grid_t grid, plan_t **out_plan);
void plan_destroy(plan_t *plan); /* accepts NULL */

/* The actual shapes of a step whose sizes were not known ahead, and its prepared kernel, in
 * `arena`. */
hr_status_t plan_specialise(hr_arena_t *arena, const plan_step_t *step, hlo_value_t *const *in,
                            op_step_t *out_step);

/* The plan as text: per computation its steps, slots and lifetimes. */
void plan_print(hr_strbuf_t *text, const plan_t *plan);
/* One line per communicating instruction, in the order in which computations list them; what
 * processes compare to find out whether they run the same plan. The lines live in the plan's arena.
 */
hr_status_t plan_comm_lines(plan_t *plan, const char *const **out_lines, int *out_count);

#endif
