/* What the files of jit.h share. */
#ifndef JIT_JIT_PARTS_H
#define JIT_JIT_PARTS_H

#include "base/map.h"
#include "base/vec.h"
#include "jit/graph/jit_kernel.h"
#include "jit/jit.h"
#include "jit/link/object_loader.h"

struct jit {
  jit_options_t options;
  hr_arena_t arena; /* kernels */
  hr_map_t kernels; /* by their keys */
  HR_VEC(jit_kernel_t *) pending;
  HR_VEC(jit_object_t *) objects;
  jit_counts_t counts;
};

/* One part of an instruction: a kernel on some of its arrays. */
typedef struct jit_call {
  jit_kernel_t *kernel;
  int *in; /* leaves of the operands; -1: */
  const void **literals;
  int *out;                     /* leaves of the result */
  size_t pointers_at;           /* in scratch: in, out, shared scratch */
  size_t shared_at, private_at; /* in scratch: of all workers, of each */
  int64_t first_unit;           /* among those of all calls */
} jit_call_t;

/* An update that is not in place begins as a copy. */
typedef struct jit_copy {
  int in, out;
  size_t bytes;
} jit_copy_t;

extern const op_native_consumer_t jit_consumer; /* of plans of jit_native */

#define JIT_SERIAL_NS 20000.0 /* less than this stays on the caller */

/* A plan of jit_native. */
typedef struct jit_plan {
  int call_count, copy_count, workers;
  jit_call_t *calls;
  jit_copy_t *copies;
  bool is_flat;   /* all kernels have one phase: their units are one loop */
  bool is_direct; /* one small kernel, which takes the step's arrays as they come */
  int64_t unit_count;
  double ns;
  op_native_grid_t grid; /* of a plan that comes behind another step; else rows 0 */
} jit_plan_t;

/* The kernel of a part: one that was asked for before, or a new one. `producer_grid`: NULL, or the
 * grid by which it is to be done. *out_buffers: the part's arrays. */
hr_status_t jit_request(jit_t *jit, hr_arena_t *arena, const hlo_computation_t *body,
                        const fusion_form_t *form, int part, const op_native_grid_t *producer_grid,
                        jit_kernel_t **out_kernel, jit_buffer_list_t *out_buffers);
/* An instruction that is no fusion, as the body of one. Scalar constants come with it. */
hr_status_t jit_body_of(hr_arena_t *arena, const hlo_instr_t *instr,
                        const hlo_computation_t **out_body);

#endif
