/* Types and functions shared by the files of jit.h. */
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
  hr_map_t kernels; /* jit_kernel_t, by key */
  HR_VEC(jit_kernel_t *) pending;
  HR_VEC(jit_object_t *) objects;
  jit_counts_t counts;
  const hlo_computation_t *entry; /* computation whose results are known; NULL: none */
  bool *is_result;                /* by instruction id: see jit_leaves_caches */
};

/* A call of a kernel for one part of an instruction. */
typedef struct jit_call {
  jit_kernel_t *kernel;
  int *in; /* operand leaf of each array; -1: literals[k] */
  const void **literals;
  int *out;                     /* result leaf of each root */
  size_t pointers_at;           /* offset in scratch of the address list: in, out, shared scratch */
  size_t shared_at, private_at; /* offsets in scratch: shared by all workers, private of each */
  int64_t first_unit;           /* number of the first unit among the units of all calls */
} jit_call_t;

/* Copy of an operand that an update (dynamic-update-slice) does not overwrite in place. */
typedef struct jit_copy {
  int in, out;
  size_t bytes;
} jit_copy_t;

extern const op_native_consumer_t jit_consumer; /* consumer interface of plans of jit_native */

#define JIT_SERIAL_NS 20000.0 /* estimated work below which a step runs on the calling thread */

/* A plan of jit_native. */
typedef struct jit_plan {
  int call_count, copy_count, workers;
  jit_call_t *calls;
  jit_copy_t *copies;
  bool is_flat;   /* all kernels have one phase: their units are one loop */
  bool is_direct; /* one small kernel whose arrays are those of the step, in order */
  int64_t unit_count;
  double ns;
  op_native_grid_t grid; /* grid of the producer, for a consumer plan (tile fusion); else rows 0 */
} jit_plan_t;

/* Kernel of a part, shared with earlier requests of the same key. *out_buffers: arrays of the
 * part.
 * Owner:   the jit_t.
 * Errors:  NO_MEMORY; no code: state.is_declined. */
hr_status_t jit_request(jit_t *jit, hr_arena_t *arena, const jit_fusion_t *fusion, int part,
                        jit_kernel_t **out_kernel, jit_buffer_list_t *out_buffers);
/* Bytes of all arrays of a shape. */
double jit_shape_bytes(const hlo_shape_t *shape);
/* Is the instruction's value a result of the program that leaves the caches before it is read? */
hr_status_t jit_leaves_caches(jit_t *jit, const hlo_instr_t *instr, bool *out_leaves);
/* A fusion body that consists of a single instruction and its scalar constant operands. */
hr_status_t jit_body_of(hr_arena_t *arena, const hlo_instr_t *instr,
                        const hlo_computation_t **out_body);

#endif
