/* A region: the steps of a while loop in a flat plan, compiled to one function. Small kernels are
 * inlined one after the other, and their small arrays stay in registers across steps and
 * iterations. Loops and conditionals become jumps. Other steps (library kernels, large generated
 * kernels) are called through the machine.
 *
 *    in    addresses of the buffers, then of the literals
 *    out   {the run, its run_step}
 *    scratch   address of the status */
#ifndef JIT_REGION_H
#define JIT_REGION_H

#include "jit/jit_parts.h"
#include "plan/flat.h"

#define REGION_LANES 64 /* most elements of an array in registers */

/* A root buffer of the flat plan: one that is not a view of another. */
typedef struct region_buffer {
  int buffer;
  bool is_register; /* an SSA value while the region runs */
  jit_register_t reg;
  kir_value_t *address;
} region_buffer_t;

typedef struct jit_region {
  const flat_plan_t *flat;
  int step, end;    /* indices of the while step, and of the first step after its body */
  flat_step_t loop; /* the while step before jit_find_regions replaced it */
  int buffer_count;
  region_buffer_t *buffers;
  uint32_t slot_mask; /* number of slots - 1; a power of two of slots */
  int *slots;         /* hash table of indices in `buffers`, with -1 in empty slots */
  int literal_count;
  const void **literals;
  bool *is_inlined;        /* is the step's kernel inlined? Indexed by step - `step` */
  int64_t *poll_intervals; /* iterations of a loop between polls for cancellation, a power of two,
                           indexed by step - `step`; 0: the loop never polls */
} jit_region_t;

static inline const flat_step_t *region_step(const jit_region_t *region, int s) {
  return s == region->step ? &region->loop : &region->flat->steps[s];
}

/* The slot of a root buffer, or the empty one for it. The table has the size of the region, which
 * may be one of many in a large plan. */
static inline int *region_slot(const jit_region_t *region, int root) {
  uint32_t i = (uint32_t)root & region->slot_mask;
  while (region->slots[i] >= 0 && region->buffers[region->slots[i]].buffer != root)
    i = (i + 1) & region->slot_mask;
  return &region->slots[i];
}

/* The buffer that holds a leaf's bytes; NULL: the leaf has none. */
static inline region_buffer_t *region_buffer_of(const jit_region_t *region, flat_ref_t ref) {
  if (ref.buffer < 0) return NULL;
  return &region->buffers[*region_slot(region, flat_root(region->flat->buffers, ref.buffer))];
}

/* Lanes for which a kernel computes all its elements at once; 0: the kernel needs loops. */
int region_lanes_of(const jit_kernel_t *kernel);
/* Decides which buffers are SSA values (region_scalar_replacement.c). */
void region_choose_registers(jit_region_t *region);

#endif
