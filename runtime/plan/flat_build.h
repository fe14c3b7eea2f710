/* Inside the flat planner: what its files share. */
#ifndef PLAN_FLAT_BUILD_H
#define PLAN_FLAT_BUILD_H

#include "base/vec.h"
#include "plan/flat.h"

/* What is known of a computation before it is laid out. */
typedef struct flat_analysis {
  bool is_dynamic;          /* some value in it, or in what it applies, has a dynamic size */
  const bool *is_boxed;     /* per instruction: its result is kept as a value */
  const int *passed_leaves; /* per leaf of the root: the leaf of the parameters that it is,
                               unchanged; -1: another value */
  const hlo_instr_t *
      *done; /* per instruction: the end of the transfer that it begins, if both can be laid out */
} flat_analysis_t;
/* By computation id, for those that the plan has. */
hr_status_t flat_analyse(hr_arena_t *arena, const plan_t *plan, const flat_analysis_t **out_facts);
/* Can the computations that this instruction applies be laid out in its place? */
bool flat_can_inline(const flat_analysis_t *analysis, const hlo_instr_t *instr);

/* The ends of collectives whose beginnings nothing else uses: their arrays are laid out, and filled
 * in between. */
hr_status_t flat_find_pairs(hr_arena_t *arena, const plan_t *plan,
                            const hlo_computation_t *computation, const hlo_instr_t ***out_done);
/* The same of sends and receives, into the same list: all that uses them, but for their tokens, is
 * their end. */
hr_status_t flat_find_channel_pairs(hr_arena_t *arena, const hlo_computation_t *computation,
                                    const hlo_instr_t **done);
/* May its results be made where they belong while its operands are read? */
bool flat_fills_out_buffers(const hlo_instr_t *instr);
/* Which operand leaf each result of an all-reduce may lie over; NULL: none, or another op. */
hr_status_t flat_out_buffer_reuse(hr_arena_t *arena, const hlo_instr_t *instr,
                                  const uint64_t **out_reuse);

/* The first leaf of element `index` of a tuple shape. */
int flat_leaf_start(const hlo_shape_t *shape, int index);

/* A carried leaf that a copy at the end of the loop's body, or of a branch, brings to its buffer.
 */
typedef struct flat_carry {
  int buffer, copy_step;
  int start, end; /* steps of the body or branch */
  int last_read;  /* step that is the last to read the value from before */
} flat_carry_t;

/* What is known of a loop's end before it runs. */
typedef struct flat_trip_count {
  int64_t count; /* -1: only the condition knows */
  /* An addition that counts for nobody but the condition, and what reads the counter for it: the
   * one need not be computed, the other is as good. NULL: nothing of the kind. */
  const hlo_instr_t *idle, *counter;
} flat_trip_count_t;

/* A step that is wanted before another. */
typedef struct flat_hoisted {
  int index;
  flat_step_t step;
} flat_hoisted_t;

typedef struct flat_builder {
  flat_plan_t *flat;
  hr_arena_t *arena;  /* of the plan */
  hr_arena_t scratch; /* until the plan is made */
  const flat_options_t *options;
  op_native_target_t target;
  const flat_analysis_t *analysis;
  HR_VEC(flat_step_t) steps;
  HR_VEC(flat_buffer_t) buffers;
  HR_VEC(flat_carry_t) carries;   /* of inner loops before those of outer ones */
  HR_VEC(flat_hoisted_t) hoisted; /* that the finished plan has besides */
  int slot_count, depth;
  int loops;                    /* that are open */
  flat_trip_count_t trip_count; /* of the loop whose body is laid out */
  /* By flattened parameter. */
  flat_ref_t *params;
  const hlo_shape_t **param_shapes;
  bool *param_is_taken; /* a result may have its bytes */
} flat_builder_t;

/* One use of a computation. */
typedef struct flat_frame {
  const plan_body_t *body;
  const flat_analysis_t *analysis;
  const flat_ref_t **leaves; /* by instruction id: where its leaves are */
  int *slots;                /* by instruction id: its kept value, -1: none */
  const bool *changing;      /* by instruction id: something may update it in place */
} flat_frame_t;

static inline int flat_now(const flat_builder_t *builder) { return (int)builder->steps.count; }

/* A new buffer, alive from now. */
hr_status_t flat_buffer_add(flat_builder_t *builder, flat_storage_t storage, size_t size_bytes,
                            int *out_buffer);
/* Notes that step `step` touches the bytes. */
void flat_touch(flat_builder_t *builder, flat_ref_t ref, int step);
/* A buffer for each array of the shape. */
hr_status_t flat_leaves_add(flat_builder_t *builder, const hlo_shape_t *shape,
                            flat_ref_t **out_leaves);

/* A native kernel's plan, and what it says of it; scratch memory for it now, or instead of what the
 * step had. */
hr_status_t flat_step_prepared(flat_builder_t *builder, const op_native_step_t *prepared,
                               flat_step_t *step);
/* Appends a step; its operands and results are touched. */
hr_status_t flat_step_add(flat_builder_t *builder, const flat_step_t *step);
hr_status_t flat_copy_add(flat_builder_t *builder, const plan_step_t *source, flat_ref_t from,
                          flat_ref_t to, size_t size_bytes);
/* One instruction by its native kernel, generated code or the reference kernel. *out_done false: it
 * is a fusion, loop or the like that no kernel takes whole, and can be laid out. */
hr_status_t flat_kernel_add(flat_builder_t *builder, flat_frame_t *frame, const plan_step_t *step,
                            bool can_lay_out, bool *out_done);

/* The two halves of a pair of flat_find_pairs. */
hr_status_t flat_start_add(flat_builder_t *builder, flat_frame_t *frame, const plan_step_t *step);
hr_status_t flat_done_add(flat_builder_t *builder, flat_frame_t *frame, const plan_step_t *step);

/* Once all is laid out: operands of asynchronous collectives that others use after the beginning
 * stay until the end. */
void flat_pin_operands(flat_builder_t *builder);

/* Code for what a collective combines elements with, if it does and there is an emitter that can
 * write it. */
hr_status_t flat_combiner_add(flat_builder_t *builder, const hlo_instr_t *instr);

/* The two halves of one of flat_find_channel_pairs. */
hr_status_t flat_channel_start_add(flat_builder_t *builder, flat_frame_t *frame,
                                   const plan_step_t *step);
hr_status_t flat_channel_done_add(flat_builder_t *builder, flat_frame_t *frame,
                                  const plan_step_t *step);

/* Values that are to be in the buffers of `state` when a body or a branch ends, all of them at
 * once. */
typedef struct flat_parallel_copy {
  const plan_step_t *source;
  int count;                      /* leaves */
  const flat_ref_t *state, *next; /* where each goes (buffer -1: nowhere), and where it is */
  int first_buffer, buffer_count; /* of `state`, one after the other */
  int start;                      /* first step of the body or branch */
} flat_parallel_copy_t;
hr_status_t flat_parallel_copy_add(flat_builder_t *builder, const flat_parallel_copy_t *wanted);

/* Lays a computation out. `params`: the leaves of each parameter. */
hr_status_t flat_body_add(flat_builder_t *builder, const hlo_computation_t *computation,
                          const flat_ref_t *const *params, const flat_ref_t **out_root);
/* while, conditional, call and fusion: give the leaves of the result. */
hr_status_t flat_while_add(flat_builder_t *builder, flat_frame_t *frame, const plan_step_t *step,
                           const flat_ref_t **out_leaves);
hr_status_t flat_conditional_add(flat_builder_t *builder, flat_frame_t *frame,
                                 const plan_step_t *step, const flat_ref_t **out_leaves);
hr_status_t flat_call_add(flat_builder_t *builder, flat_frame_t *frame, const plan_step_t *step,
                          const flat_ref_t **out_leaves);

flat_trip_count_t flat_find_trip_count(const hlo_instr_t *loop);

/* Is the result of this op its operand 0 as it lies in memory, from *out_offset_bytes on? Ops on
 * one array. */
bool flat_is_alias(const hlo_instr_t *instr, size_t *out_offset_bytes);
/* Instructions of a body that something may want to update in place: slices of them are copied
 * early. */
hr_status_t flat_find_changing(flat_builder_t *builder, const plan_body_t *body,
                               const bool **out_changing);

/* Hoists loop-invariant prepacking out of loops. Must run before flat_fuse_tiles. */
hr_status_t flat_hoist_prepack(flat_builder_t *builder);
/* Fuses consumer steps into the tiles of their producer. Must run before flat_coalesce_buffers. */
hr_status_t flat_fuse_tiles(flat_builder_t *builder);
/* Such products lie in the bytes of results if nobody else reads them. After buffers have been
 * merged, before results are paired with arguments. */
void flat_fuse_storage(flat_builder_t *builder);
/* Decides which results share the bytes of which operands, now that all lifetimes are known. */
void flat_coalesce_buffers(flat_builder_t *builder);
/* Says which results may have the bytes of which arguments. */
void flat_pair_results(flat_builder_t *builder);
/* The bytes of buffer `from` become those of `into`. */
void flat_coalesce(flat_builder_t *builder, int from, int into);

#endif
