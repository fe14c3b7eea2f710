/* Runs a flat plan: one list of steps whose nested computations (loop bodies, branches) are
 * contiguous ranges. Step i spans [i, step.end); a range is run by stepping from one `end` to the
 * next.
 *
 *   steps     0 native | 1 while end=5 | 2 condition | 3 body | 4 body | 5 copy
 *   starts of step 1:                    2             3
 *
 * Cost:    one indirect call per native step; one relaxed load per step for cancellation.
 *          Time-outs and signals are polled every POLL_STEPS steps and every iteration.
 * Memory:  addresses of intermediate arrays are fixed (compiled_create.c). Arguments and results
 *          are bound before a run by rewriting the pointers that refer to them, if they have
 *          moved.
 * Results: arrays of donated arguments with one reference, else of the result cache.
 * Limits:  steps without a native kernel go to compiled_reference.c; HLORUN_CHECK to
 *          compiled_check.c. */
#include "exec/compiled.h"

#include <string.h>

#include "base/mem.h"
#include "exec/compiled_parts.h"
#include "ops/kernels/common/transfer_list.h"
#include "ops/kernels/move/native_move.h"

#define POLL_STEPS 64 /* steps between polls for cancellation */

/* --- steps --- */

static inline hr_status_t poll_cancel(exec_compiled_t *machine) {
  return exec_poll_cancel(&machine->options.machine);
}

static inline exec_progress_t *progress_of(exec_compiled_t *machine) {
  return machine->options.machine.progress;
}

static inline void run_copy(const run_step_t *step) {
  if (step->copy_bytes == 4)
    memcpy(step->out[0], step->in[0], 4);
  else if (step->in[0] != step->out[0])
    memmove(step->out[0], step->in[0], step->copy_bytes);
}

static void bind_address(exec_compiled_t *machine, int external, void *address) {
  if (machine->bound[external] == address) return;
  machine->bound[external] = address;
  for (int i = machine->first_relocation[external]; i < machine->first_relocation[external + 1];
       i++)
    machine->pointers[machine->relocations[i].pointer] =
        (char *)address + machine->relocations[i].offset_bytes;
}

static void run_view(exec_compiled_t *machine, const run_step_t *step) {
  const flat_plan_t *flat = machine->flat;
  const flat_buffer_t *view = &flat->buffers[step->flat->out[0].buffer];
  bind_address(machine, flat->param_count + flat->result_count + view->index,
               (char *)step->in[0] + native_dynamic_slice_offset(step->plan, step->in));
}

static hr_status_t run_range(exec_compiled_t *machine, int begin, int end);

static hr_status_t poll_iterations(exec_compiled_t *machine, const run_step_t *step,
                                   int64_t rounds) {
  exec_progress_add_iterations(progress_of(machine), step->flat->source->op.instr, rounds);
  return poll_cancel(machine);
}

static hr_status_t run_counted_loop(exec_compiled_t *machine, const run_step_t *step,
                                    int64_t trip_count) {
  for (int64_t iteration = 0; iteration < trip_count; iteration++) {
    HR_TRY(poll_iterations(machine, step, 1));
    HR_TRY(run_range(machine, step->starts[1], step->end));
  }
  return NULL;
}

static hr_status_t run_while_loop(exec_compiled_t *machine, const run_step_t *step) {
  for (;;) {
    HR_TRY(poll_iterations(machine, step, 1));
    HR_TRY(run_range(machine, step->starts[0], step->starts[1]));
    if (!*(const uint8_t *)step->in[0]) return NULL;
    HR_TRY(run_range(machine, step->starts[1], step->end));
  }
}

static inline hr_status_t run_native(exec_compiled_t *machine, run_step_t *step) {
  if (machine->options.check) return exec_compiled_check(machine, step);
  machine->native.scratch = step->scratch;
  return step->run(&machine->native, step->plan, step->in, step->out);
}

hr_status_t exec_compiled_run_leaf(exec_compiled_t *machine, run_step_t *step) {
  if (step->kind == FLAT_NATIVE) return run_native(machine, step);
  run_copy(step);
  return NULL;
}

/* A loop, as one native function or by its steps. */
static hr_status_t run_loop(exec_compiled_t *machine, run_step_t *step) {
  if (step->kind == FLAT_NATIVE) return run_native(machine, step);
  return step->flat->control.trip_count >= 0
             ? run_counted_loop(machine, step, step->flat->control.trip_count)
             : run_while_loop(machine, step);
}

static hr_status_t run_while(exec_compiled_t *machine, run_step_t *step) {
  exec_outer_loop_t before;
  exec_progress_enter(progress_of(machine), step->flat->source->op.instr, &before);
  hr_status_t st = run_loop(machine, step);
  exec_progress_leave(progress_of(machine), &before);
  return st;
}

/* StableHLO if and case: pred true is branch 0; an index out of range selects the last branch. */
static hr_status_t run_conditional(exec_compiled_t *machine, const run_step_t *step) {
  int count = step->flat->control.start_count, branch;
  if (step->flat->source->op.in_shapes[0]->dtype == HR_PRED) {
    branch = *(const uint8_t *)step->in[0] ? 0 : 1;
  } else {
    int32_t index;
    memcpy(&index, step->in[0], sizeof index);
    branch = index < 0 || index >= count ? count - 1 : index;
  }
  return run_range(machine, step->starts[branch],
                   branch + 1 < count ? step->starts[branch + 1] : step->end);
}

static hr_status_t run_reference(exec_compiled_t *machine, run_step_t *step) {
  HR_TRY(poll_cancel(machine));
  hr_status_t st = exec_compiled_reference(machine, step);
  hlo_opcode_t op = step->flat->source->op.instr->op;
  exec_progress_add_step(progress_of(machine),
                         !hlo_op_is(op, OP_RANDOM) && hlo_op_is(op, OP_COMM | OP_EFFECT));
  return st;
}

static inline __attribute__((always_inline)) hr_status_t run_one(exec_compiled_t *machine,
                                                                 run_step_t *step) {
  switch (step->kind) {
    case FLAT_NATIVE:
      return step->is_loop ? run_while(machine, step) : run_native(machine, step);
    case FLAT_COPY:
      run_copy(step);
      return NULL;
    case FLAT_SET_VIEW:
      run_view(machine, step);
      return NULL;
    case FLAT_REFERENCE:
      return run_reference(machine, step);
    case FLAT_WHILE:
      return run_while(machine, step);
    case FLAT_CONDITIONAL:
      return run_conditional(machine, step);
  }
  return NULL;
}

static __attribute__((noinline)) hr_status_t run_fenced(exec_compiled_t *machine,
                                                        run_step_t *step) {
  const hlo_instr_t *instr = step->flat->source->op.instr;
  exec_fence_note(instr);
  HR_TRY(run_one(machine, step));
  exec_fence_note(instr);
  return hr_fence_check();
}

static hr_status_t run_any(exec_compiled_t *machine, run_step_t *step) {
  if (machine->fences) return run_fenced(machine, step);
  return exec_numa_counts(machine, step) ? exec_numa_run(machine, step) : run_one(machine, step);
}

static __attribute__((noinline)) hr_status_t run_watched(exec_compiled_t *machine,
                                                         run_step_t *step) {
  if (!machine->spans) return run_fenced(machine, step);
  hr_trace_t *trace = machine->options.machine.trace;
  hr_trace_span_t *span = &machine->spans[step - machine->steps];
  uint64_t begin = hr_trace_begin(trace, span);
  hr_status_t st = run_any(machine, step);
  hr_trace_add(trace, span, begin);
  return st;
}

static __attribute__((noinline)) void poll_transfers(op_env_t *env) {
  if (env->comm_ops) env->comm_ops->poll(env);
}

static hr_status_t poll_steps(exec_compiled_t *machine) {
  exec_progress_add_step(progress_of(machine), false);
  return poll_cancel(machine);
}

/* Specialised at compile time for tracing and fences, so that the loop does not test for them. */
static inline __attribute__((always_inline)) hr_status_t run_each(exec_compiled_t *machine,
                                                                  int begin, int end,
                                                                  bool is_watched) {
  op_env_t *env = machine->native.env;
  run_step_t *step = machine->steps + begin, *stop = machine->steps + end;
  for (unsigned steps_run = 1; step < stop; step = machine->steps + step->end, steps_run++) {
    machine->where.at = step;
    if (exec_is_cancelled(machine->cancel)) return exec_cancel_check(machine->cancel);
    if (steps_run % POLL_STEPS == 0) HR_TRY(poll_steps(machine));
    HR_TRY(is_watched ? run_watched(machine, step) : run_one(machine, step));
    if (env->transfers.in_flight) poll_transfers(env);
  }
  return NULL;
}

hr_status_t exec_compiled_run_step(const op_native_run_t *native, int number, int64_t rounds) {
  exec_compiled_t *machine = native->machine;
  run_step_t *step = machine->steps + number;
  if (native->env->transfers.in_flight) poll_transfers(native->env);
  if (rounds) return poll_iterations(machine, step, rounds);
  machine->where.at = step;
  return run_any(machine, step);
}

static hr_status_t run_range(exec_compiled_t *machine, int begin, int end) {
  bool is_watched = machine->spans || machine->fences;
  return is_watched ? run_each(machine, begin, end, true) : run_each(machine, begin, end, false);
}

/* --- arguments and results --- */

static bool is_donated(const bool *donate, int param) { return donate && donate[param]; }

static hr_status_t bind_argument(exec_compiled_t *machine, int p, const hlo_value_t *arg,
                                 const bool *donate) {
  void *address = arg ? arg->data : NULL;
  if (machine->fences && address && !is_donated(donate, p))
    HR_TRY(exec_fences_copy_argument(machine, p, arg, &address));
  bind_address(machine, p, address);
  return NULL;
}

/* While some arguments are donated, the others are retained, so that an array passed as both is not
 * exclusive and is not overwritten. */
static void retain_arguments(const exec_compiled_t *machine, hlo_value_t *const *args,
                             const bool *donate) {
  for (int p = 0; p < machine->flat->param_count && donate; p++)
    if (!donate[p]) hlo_value_retain(args[p]);
}

static void release_donated_arguments(const exec_compiled_t *machine, hlo_value_t *const *args,
                                      const bool *donate) {
  for (int p = 0; p < machine->flat->param_count && donate; p++)
    if (!machine->moved[p]) hlo_value_release(args[p]);
}

/* Binds the overlays of result `r`: to the result's memory, unless it is an argument's bytes, which
 * are read until the result is computed. */
static hr_status_t bind_overlays(exec_compiled_t *machine, int r, bool is_argument, void *data) {
  size_t bytes = machine->flat->results[r].overlay_bytes;
  if (!bytes || machine->fences) return NULL;
  if (is_argument && !machine->overlays[r]) HR_TRY(hr_alloc(bytes, &machine->overlays[r]));
  bind_address(machine, exec_overlay_index(machine->flat, r),
               is_argument ? machine->overlays[r] : data);
  return NULL;
}

static hr_status_t bind_result(exec_compiled_t *machine, int r, hlo_value_t *const *args,
                               const bool *donate, hlo_value_t **out_value) {
  const flat_result_t *result = &machine->flat->results[r];
  int p = result->alias_param;
  if (result->origin != FLAT_COMPUTED) return NULL;
  if (p >= 0 && is_donated(donate, p) && hlo_value_is_exclusive(args[p])) {
    machine->moved[p] = true;
    *out_value = args[p];
  } else {
    op_env_t *peers = machine->has_peers ? machine->native.env : NULL;
    HR_TRY(exec_result_cache_take(machine->cache, r, peers, result->shape, out_value));
  }
  bind_address(machine, machine->flat->param_count + r, (*out_value)->data);
  return bind_overlays(machine, r, p >= 0 && machine->moved[p] && *out_value == args[p],
                       (*out_value)->data);
}

static hr_status_t bind_shared(exec_compiled_t *machine) {
  HR_TRY(exec_shared_open(machine));
  for (int i = 0; i < machine->flat->shared_count; i++)
    bind_address(machine, exec_shared_index(machine->flat, i), exec_shared_address(machine, i));
  machine->runs++;
  return NULL;
}

static bool has_dims(const hlo_value_t *value, const hlo_shape_t *shape) {
  return value->dtype == shape->dtype && value->rank == shape->rank &&
         (!shape->rank ||
          !memcmp(value->dims, shape->dims, (size_t)shape->rank * sizeof *shape->dims));
}

/* A view of an existing value. */
static hr_status_t view_result(hlo_value_t *value, const hlo_shape_t *shape,
                               hlo_value_t **out_value) {
  if (!has_dims(value, shape))
    return hlo_value_view(value, shape->dtype, shape->rank, shape->dims, out_value);
  *out_value = hlo_value_retain(value);
  return NULL;
}

static hr_status_t finish_result(exec_compiled_t *machine, int r, hlo_value_t *const *args,
                                 hlo_value_t **out_value) {
  const flat_result_t *result = &machine->flat->results[r];
  switch (result->origin) {
    case FLAT_COMPUTED:
      return NULL;
    case FLAT_FROM_PARAM:
      return view_result(args[result->param], result->shape, out_value);
    case FLAT_FROM_LITERAL:
      return view_result((hlo_value_t *)result->literal, result->shape, out_value);
    case FLAT_FROM_NOTHING:
      *out_value = hlo_value_retain(machine->token);
      return NULL;
  }
  return NULL;
}

static hr_status_t run_steps(exec_compiled_t *machine) {
  machine->where.at = NULL;
  hr_where_push(&machine->where);
  hr_status_t st = run_range(machine, 0, machine->flat->step_count);
  if (!st)
    st = exec_cancel_check(
        machine->cancel); /* cancelled in the last step, or the plan has no steps */
  hr_where_pop(&machine->where);
  return st;
}

static void release_slots(exec_compiled_t *machine) {
  for (int s = 0; s < machine->flat->slot_count; s++) {
    hlo_value_release(machine->slots[s]);
    machine->slots[s] = NULL;
  }
}

hr_status_t exec_compiled_run(exec_compiled_t *machine, hlo_value_t *const *args,
                              const bool *donate, hlo_value_t **results) {
  const flat_plan_t *flat = machine->flat;
  hr_status_t st = NULL;
  exec_machine_forget_probes(machine->reference);
  for (int r = 0; r < flat->result_count; r++) results[r] = NULL;
  for (int p = 0; p < flat->param_count; p++) machine->moved[p] = false;
  retain_arguments(machine, args, donate);
  for (int p = 0; p < flat->param_count && !st; p++)
    st = bind_argument(machine, p, args[p], donate);
  for (int r = 0; r < flat->result_count && !st; r++)
    st = bind_result(machine, r, args, donate, &results[r]);
  if (!st) st = bind_shared(machine);
  if (!st) st = op_transfers_done(exec_machine_env(machine->reference), run_steps(machine));
  for (int r = 0; r < flat->result_count && !st; r++)
    st = finish_result(machine, r, args, &results[r]);
  for (int r = 0; r < flat->result_count && st; r++) {
    hlo_value_release(results[r]);
    results[r] = NULL;
  }
  release_donated_arguments(machine, args, donate);
  release_slots(machine);
  return st;
}

exec_machine_t *exec_compiled_machine(exec_compiled_t *machine) { return machine->reference; }
