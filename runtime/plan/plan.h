/* The plan: all decisions about a verified module that do not depend on arguments: per computation
 * the order of steps, slots and lifetimes of values and prepared kernels, and the list of
 * communication that processes compare. Thread: immutable once built; shared by threads and
 * executions. */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "ops/kernels/kernel.h"

typedef struct plan_step {
  op_step_t op; /* prepared, unless `dynamic` */
  const op_kernel_t *kernel;
  bool dynamic;   /* prepared at run time, when sizes are known */
  int64_t device; /* device that runs the step in a program split by device; others get zeros; -1:
                     all */
  int out_slot;
  int in_count;
  const int *in_slots; /* one per operand */
  int free_count;
  const int *free_slots; /* slots of values that die with this step */
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
  int unused_count; /* parameters without uses: freed at the start, unless they are the root */
  const int *unused_slots;
} plan_body_t;

typedef struct plan_grid {
  int num_replicas, num_partitions;
} plan_grid_t;

typedef struct plan {
  hr_arena_t arena;
  const hlo_module_t *module;
  plan_grid_t grid;
  plan_body_t **bodies; /* by computation id; NULL: never run */
  const plan_body_t *entry;
  bool communicates;      /* some reachable instruction communicates */
  bool has_dynamic_sizes; /* some value's sizes are known only at run time */
} plan_t;

/* Plans all computations that the entry reaches. `module` must outlive the plan.
 * Errors: UNSUPPORTED or INVALID with the instruction's position, NO_MEMORY. */
hr_status_t plan_create(const hlo_module_t *module, plan_grid_t grid, plan_t **out_plan);
void plan_destroy(plan_t *plan); /* accepts NULL */

/* Shapes and prepared kernel of a dynamic step for its actual operands, in `arena`. */
hr_status_t plan_specialise(hr_arena_t *arena, const plan_step_t *step, hlo_value_t *const *in,
                            op_step_t *out_step);

/* The plan as text: per computation its steps, slots and lifetimes. */
void plan_print(hr_strbuf_t *text, const plan_t *plan);
/* One line per communication instruction, in the order of computations and steps, by which
 * processes compare their plans.
 * Owner: the lines live in the plan's arena. */
hr_status_t plan_comm_lines(plan_t *plan, const char *const **out_lines, int *out_count);

#endif
