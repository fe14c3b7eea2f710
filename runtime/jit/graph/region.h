/* Steps of a flat plan as one function: a loop (while) with all that is laid out inside of it.
 * Small kernels are written into it one after the other, whose small arrays stay in registers from
 * step to step and from iteration to iteration; loops and conditionals become jumps; what else
 * there is (libraries' kernels, large ones of our own) is called through the machine.
 *
 *   in    addresses of the buffers, then of literals;  out   {the run, its run_step};  scratch the
 * status */
#ifndef JIT_REGION_H
#define JIT_REGION_H

#include "jit/jit_parts.h"
#include "plan/flat.h"

#define REGION_LANES 64 /* elements of the longest array in registers */

/* A root buffer of the flat plan: one that is not a view of another. */
typedef struct region_buffer {
  int buffer;
  bool is_register; /* an SSA value while the region runs */
  jit_register_t reg;
  kir_value_t *address;
} region_buffer_t;

typedef struct jit_region {
  const flat_plan_t *flat;
  int step, end;    /* the while step, and the step after its end */
  flat_step_t loop; /* the while step before jit_find_regions replaced it */
  int buffer_count;
  region_buffer_t *buffers;
  int *number_of; /* index in `buffers`, by buffer of the flat plan */
  int literal_count;
  const void **literals;
  bool *is_written_out; /* by steps from `step` on: kernels are inlined */
  int64_t *trip_counts; /* by steps from `step` on: iterations of a loop between polls for
                           cancellation, a power of two; 0: the loop never polls */
} jit_region_t;

static inline const flat_step_t *region_step(const jit_region_t *region, int s) {
  return s == region->step ? &region->loop : &region->flat->steps[s];
}

/* The buffer that has a leaf's bytes; NULL: it has none. */
static inline region_buffer_t *region_buffer_of(const jit_region_t *region, flat_ref_t ref) {
  if (ref.buffer < 0) return NULL;
  return &region->buffers[region->number_of[flat_root(region->flat->buffers, ref.buffer)]];
}

/* Lanes in which a kernel computes all of its elements at once; 0: it has loops. */
int region_lanes_of(const jit_kernel_t *kernel);
/* Decides which buffers are SSA values (region_scalar_replacement.c). */
void region_choose_registers(jit_region_t *region);

#endif
