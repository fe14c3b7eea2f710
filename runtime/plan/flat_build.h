/* Internal interface of the flat planner's files. */
#ifndef PLAN_FLAT_BUILD_H
#define PLAN_FLAT_BUILD_H

#include "base/vec.h"
#include "plan/flat.h"

/* Facts about a computation, found before layout. */
typedef struct flat_analysis {
  bool is_dynamic;          /* some value in it or in a called computation has a dynamic size */
  const bool *is_boxed;     /* per instruction: the result is kept as a value */
  const int *passed_leaves; /* per leaf of the root: the parameter leaf that is passed through
                               unchanged; -1: another value */
  const hlo_instr_t *
      *done; /* per instruction: the end of the transfer that it starts, if both can be laid out */
} flat_analysis_t;
/* Analyses all planned computations; the result is indexed by computation id. */
hr_status_t flat_analyse(hr_arena_t *arena, const plan_t *plan, const flat_analysis_t **out_facts);
/* Can the computations that this instruction calls be laid out inside its caller? */
bool flat_can_inline(const flat_analysis_t *analysis, const hlo_instr_t *instr);

/* By id of a collective's start: its done, if the done is the only user and both can be laid
 * out. */
hr_status_t flat_find_pairs(hr_arena_t *arena, const plan_t *plan,
                            const hlo_computation_t *computation, const hlo_instr_t ***out_done);
/* Adds to `done` the done of each send and receive whose only user it is. Uses of their tokens
 * do not count. */
hr_status_t flat_find_channel_pairs(hr_arena_t *arena, const hlo_computation_t *computation,
                                    const hlo_instr_t **done);
/* Does the instruction's kernel write results to given buffers while it reads the operands? */
bool flat_fills_out_buffers(const hlo_instr_t *instr);
/* Masks of operand leaves that each result may overwrite, as flat_step_t.reuse; NULL: none. */
hr_status_t flat_out_buffer_reuse(hr_arena_t *arena, const hlo_instr_t *instr,
                                  const uint64_t **out_reuse);

/* A carried leaf: a copy at the end of a loop's body, or of a branch, assigns its buffer. */
typedef struct flat_carry {
  int buffer, copy_step;
  int start, end; /* steps of the body or branch */
  int last_read;  /* last step that reads the previous value */
} flat_carry_t;

/* Trip count of a loop, known before it runs. */
typedef struct flat_trip_count {
  int64_t count; /* -1: the condition decides */
  int element;   /* element of the state that is the counter, from `start` on, by `step` */
  int64_t start, step;
  /* An increment that only the condition needs, and the counter's read that replaces it; such an
   * increment is not computed. NULL: there is none. */
  const hlo_instr_t *idle, *counter;
} flat_trip_count_t;

/* A step to be inserted before step `index`. */
typedef struct flat_hoisted {
  int index;
  flat_step_t step;
} flat_hoisted_t;

typedef struct flat_builder {
  flat_plan_t *flat;
  hr_arena_t *arena;  /* memory of the plan */
  hr_arena_t scratch; /* freed when the plan is complete */
  const flat_options_t *options;
  op_native_target_t target;
  const flat_analysis_t *analysis;
  HR_VEC(flat_step_t) steps;
  HR_VEC(flat_buffer_t) buffers;
  HR_VEC(flat_carry_t) carries;   /* inner loops before outer ones */
  HR_VEC(flat_hoisted_t) hoisted; /* inserted when steps are final */
  int slot_count, depth;
  size_t most_steps;            /* beyond them calls are not laid out */
  int loops;                    /* nesting depth at this point */
  flat_trip_count_t trip_count; /* trip count of the loop whose body is laid out */
  /* Members below: by flattened parameter. */
  flat_ref_t *params;
  const hlo_shape_t **param_shapes;
  bool *param_is_taken; /* a result may have the parameter's bytes */
  bool *param_is_given; /* the program says that the caller gives the parameter away */
} flat_builder_t;

/* One use of a computation, while it is laid out. */
typedef struct flat_frame {
  const plan_body_t *body;
  const flat_analysis_t *analysis;
  const flat_ref_t **leaves; /* by instruction id: locations of its leaves */
  int *slots;                /* by instruction id: value slot, -1: none */
  const bool *updated;       /* by instruction id: may be updated in place */
} flat_frame_t;

static inline int flat_now(const flat_builder_t *builder) { return (int)builder->steps.count; }

/* Adds a buffer that is alive from the current step on. */
hr_status_t flat_buffer_add(flat_builder_t *builder, flat_storage_t storage, size_t size_bytes,
                            int *out_buffer);
/* Extends the lifetime of the referenced bytes to step `step`. */
void flat_touch(flat_builder_t *builder, flat_ref_t ref, int step);
/* Adds a buffer for each array leaf of the shape. */
hr_status_t flat_leaves_add(flat_builder_t *builder, const hlo_shape_t *shape,
                            flat_ref_t **out_leaves);

/* Stores a prepared native kernel in the step, and adds or resizes its scratch buffer. */
hr_status_t flat_step_prepared(flat_builder_t *builder, const op_native_step_t *prepared,
                               flat_step_t *step);
/* Appends a step and extends the lifetimes of its operands and results. */
hr_status_t flat_step_add(flat_builder_t *builder, const flat_step_t *step);
hr_status_t flat_copy_add(flat_builder_t *builder, const plan_step_t *source, flat_ref_t from,
                          flat_ref_t to, size_t size_bytes);
/* Adds the step of one instruction: native kernel, generated code or reference kernel. *out_done
 * false: no kernel runs the instruction as a whole (a fusion, a loop), and it can be laid out. */
hr_status_t flat_kernel_add(flat_builder_t *builder, flat_frame_t *frame, const plan_step_t *step,
                            bool can_lay_out, bool *out_done);

/* The two halves of a pair of flat_find_pairs. */
hr_status_t flat_start_add(flat_builder_t *builder, flat_frame_t *frame, const plan_step_t *step);
hr_status_t flat_done_add(flat_builder_t *builder, flat_frame_t *frame, const plan_step_t *step);

/* After layout: pins operands of asynchronous collectives that are used after the start, so that
 * they stay unchanged until the done. */
void flat_pin_operands(flat_builder_t *builder);

/* Generates code for the computation with which a collective combines elements, if there is an
 * emitter that supports it. Other instructions are ignored. */
hr_status_t flat_combiner_add(flat_builder_t *builder, const hlo_instr_t *instr);

/* The two halves of a pair of flat_find_channel_pairs. */
hr_status_t flat_channel_start_add(flat_builder_t *builder, flat_frame_t *frame,
                                   const plan_step_t *step);
hr_status_t flat_channel_done_add(flat_builder_t *builder, flat_frame_t *frame,
                                  const plan_step_t *step);

/* Parallel copy: values assigned to the buffers of `state` at the same time, at the end of a body
 * or branch. */
typedef struct flat_parallel_copy {
  const plan_step_t *source;
  int count;                      /* leaves */
  const flat_ref_t *state, *next; /* target (buffer -1: none) and source of each leaf */
  int first_buffer, buffer_count; /* consecutive buffers of `state` */
  int start;                      /* first step of the body or branch */
} flat_parallel_copy_t;
hr_status_t flat_parallel_copy_add(flat_builder_t *builder, const flat_parallel_copy_t *wanted);

/* Moves long-lived arrays of the arena into results that are computed later (FLAT_OVERLAY). Must
 * run after coalescing. */
hr_status_t flat_overlay_results(flat_builder_t *builder);

/* Moves results of all-gathers to memory that all members share (FLAT_SHARED). Must run after
 * coalescing. */
hr_status_t flat_share_gathers(flat_builder_t *builder);

/* Lays a computation out. `params`: the leaves of each parameter. */
hr_status_t flat_body_add(flat_builder_t *builder, const hlo_computation_t *computation,
                          const flat_ref_t *const *params, const flat_ref_t **out_root);
/* Layout of while, conditional, call and fusion. *out_leaves: the leaves of the result. */
hr_status_t flat_while_add(flat_builder_t *builder, flat_frame_t *frame, const plan_step_t *step,
                           const flat_ref_t **out_leaves);
hr_status_t flat_conditional_add(flat_builder_t *builder, flat_frame_t *frame,
                                 const plan_step_t *step, const flat_ref_t **out_leaves);
hr_status_t flat_call_add(flat_builder_t *builder, flat_frame_t *frame, const plan_step_t *step,
                          const flat_ref_t **out_leaves);

flat_trip_count_t flat_find_trip_count(const hlo_instr_t *loop);
/* An instruction of a loop's body, or of a fusion in it. Parameters of the fusion stand for its
 * operands. */
typedef struct flat_body_value {
  const hlo_instr_t *instr, *fusion; /* fusion NULL: an instruction of the body itself */
} flat_body_value_t;
/* The instruction that computes element k of the next state. */
flat_body_value_t flat_next_value(const hlo_computation_t *body, int k);
/* Number of the state element that an instruction of body or condition reads; -1: none. */
int flat_element_read(const hlo_instr_t *instr);
/* The integer value of an instruction of body or condition, if it is the same in all iterations. */
bool flat_constant_in_loop(const hlo_instr_t *loop, const hlo_instr_t *instr, int64_t *out_value);
/* Number of uses as operand and as root. */
int flat_count_uses(const hlo_computation_t *computation, const hlo_instr_t *instr);

/* Does the loop overwrite all of element k of its state before anything reads it? */
bool flat_is_overwritten(const hlo_instr_t *loop, const flat_trip_count_t *trips, int k);
/* Is the instruction used only as the initial value of such elements? */
bool flat_is_never_read(const hlo_instr_t *instr);

/* Is the result of an op on one array a view of operand 0, from *out_offset_bytes on? */
bool flat_is_alias(const hlo_instr_t *instr, size_t *out_offset_bytes);
/* By instruction id: may an op of the body update the result in place? Slices of such a result are
 * copied. */
hr_status_t flat_find_updated(flat_builder_t *builder, const plan_body_t *body,
                              const bool **out_updated);

/* Hoists loop-invariant prepacking out of loops. Must run before flat_fuse_tiles. */
hr_status_t flat_hoist_prepack(flat_builder_t *builder);
/* Fuses consumer steps into the tiles of their producer. Must run before flat_coalesce_buffers. */
hr_status_t flat_fuse_tiles(flat_builder_t *builder);
/* Turns contiguous dynamic slices that only library kernels read into views of their operand. Must
 * run after flat_fuse_tiles and before flat_coalesce_buffers. */
hr_status_t flat_find_views(flat_builder_t *builder);
/* Stores products of tile fusion that nothing else reads in the bytes of a result. Must run after
 * flat_coalesce_buffers and before flat_pair_results. */
void flat_fuse_storage(flat_builder_t *builder);
/* Coalesces buffers of results and operands. All lifetimes must be known. */
void flat_coalesce_buffers(flat_builder_t *builder);
/* Finds arguments whose bytes results may use if the caller donates them. */
hr_status_t flat_pair_results(flat_builder_t *builder);
/* Merges buffer `from` into `into`. */
void flat_coalesce(flat_builder_t *builder, int from, int into);

#endif
