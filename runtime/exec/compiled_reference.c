/* Steps of the compiled engine without a native kernel. Operand addresses are wrapped in values
 * (views), the reference kernel runs on them, and its result is copied to the planned address.
 * Views are cached per step and reused while the address is the same and no kernel has kept a
 * reference.
 *
 * Two cases avoid the copy of the result: the kernel may build it in place (out_hint), and
 * transfers receive into their planned buffers (out_buffers). A transfer is two steps, start and
 * done; the done step finds its request through the start step's handle. Cost: one reference
 * kernel per step plus tens of nanoseconds for views. */
#include <string.h>

#include "base/mem.h"
#include "exec/compiled_parts.h"
#include "ops/kernels/comm/point_to_point.h"
#include "ops/kernels/common/transfer_list.h"
#include "ops/query/device_assignment.h"

static hr_status_t wrap_address(const hlo_shape_t *shape, void *address, hlo_value_t **out_value) {
  hr_buffer_t *bytes;
  size_t size_bytes;
  HR_TRY(hlo_shape_bytes(shape, &size_bytes));
  HR_TRY(hr_buffer_wrap(address, size_bytes, true, NULL, NULL, &bytes));
  hr_status_t st = hlo_value_over(shape->dtype, shape->rank, shape->dims, bytes, 0, out_value);
  hr_buffer_release(bytes);
  return st;
}

static hr_status_t copy_operand(op_env_t *env, const hlo_shape_t *shape, const void *address,
                                hlo_value_t **out_value) {
  HR_TRY(op_shared_array(env, shape->dtype, shape->rank, shape->dims, out_value));
  memcpy((*out_value)->data, address, hlo_value_bytes(*out_value));
  return NULL;
}

/* A view retained by a kernel is not reused: its holder may still read it. */
static bool is_usable(const hlo_value_t *view, const void *address) {
  return view && view->data == address && view->references == 1;
}

/* Makes *view a value over this address, reusing it if possible. */
static hr_status_t renew_view(const hlo_shape_t *shape, void *address, hlo_value_t **view) {
  if (is_usable(*view, address)) return NULL;
  hlo_value_release(*view);
  *view = NULL;
  return wrap_address(shape, address, view);
}

/* Operand leaf `leaf`, as a new reference. */
static hr_status_t leaf_value(exec_compiled_t *machine, const run_step_t *step,
                              const hlo_shape_t *shape, int leaf, bool copies,
                              hlo_value_t **out_value) {
  if (!hlo_shape_is_array(shape)) {
    *out_value = hlo_value_retain(machine->token);
    return NULL;
  }
  if (copies) return copy_operand(machine->native.env, shape, step->in[leaf], out_value);
  HR_TRY(renew_view(shape, step->in[leaf], &step->views[leaf]));
  *out_value = hlo_value_retain(step->views[leaf]);
  return NULL;
}

static hr_status_t tree_value(exec_compiled_t *machine, const run_step_t *step,
                              const hlo_shape_t *shape, int *leaf, bool copies,
                              hlo_value_t **out_value) {
  if (!hlo_shape_is_tuple(shape))
    return leaf_value(machine, step, shape, (*leaf)++, copies, out_value);
  int count = hlo_shape_leaf_count(shape), made = 0;
  void *memory;
  HR_TRY(hr_alloc_zeroed((size_t)count * sizeof(hlo_value_t *), &memory));
  hlo_value_t **leaves = memory;
  hr_status_t st = NULL;
  for (; made < count && !st; made++)
    st = leaf_value(machine, step, hlo_shape_leaf(shape, made), (*leaf)++, copies, &leaves[made]);
  if (!st) st = hlo_value_unflatten(shape, leaves, out_value);
  for (int i = 0; i < made; i++) hlo_value_release(leaves[i]);
  hr_free(leaves);
  return st;
}

/* The operands, as new references; those after a failure stay NULL. */
static hr_status_t make_operands(exec_compiled_t *machine, const run_step_t *step, bool copies,
                                 hlo_value_t **in) {
  const plan_step_t *source = step->flat->source;
  int leaf = 0;
  for (int k = 0; k < source->in_count; k++) {
    if (step->flat->reference.in_slots && step->flat->reference.in_slots[k] >= 0)
      in[k] = hlo_value_retain(machine->slots[step->flat->reference.in_slots[k]]);
    else
      HR_TRY(tree_value(machine, step, source->op.in_shapes[k], &leaf, copies, &in[k]));
  }
  return NULL;
}

/* Views are held by the step and by `in`. Releases the step's reference of those that the kernel
 * may overwrite. */
static uint64_t release_overwritable_views(const run_step_t *step, int count) {
  uint64_t mask = step->flat->reference.may_overwrite, pinned = 0;
  for (int k = 0; k < count && mask >> k; k++) {
    if (!(mask >> k & 1) || step->in[k] != step->out[0] || !step->views[k]) continue;
    hlo_value_release(step->views[k]);
    pinned |= UINT64_C(1) << k;
  }
  return pinned;
}

static void restore_views(const run_step_t *step, uint64_t pinned) {
  for (int k = 0; pinned >> k && k < 64; k++)
    if (pinned >> k & 1) hlo_value_retain(step->views[k]);
}

/* Moves the value's leaves to the step's results from number *next on. */
static void move_leaves(const run_step_t *step, const hlo_value_t *value, int *next) {
  for (int i = 0; value->dtype == HR_TUPLE && i < value->element_count; i++)
    move_leaves(step, value->elements[i], next);
  if (value->dtype == HR_TUPLE) return;
  int k = (*next)++;
  hr_assert(hlo_value_fits(value, hlo_shape_leaf(step->flat->source->op.instr->shape, k)));
  if (step->out[k] && value->data != step->out[k])
    memmove(step->out[k], value->data, hlo_value_bytes(value));
}

/* The reference machine has checked the value against the declared shape, on which the layout is
 * based. */
static hr_status_t take_result(exec_compiled_t *machine, const run_step_t *step,
                               hlo_value_t *value) {
  if (step->flat->reference.out_slot >= 0) {
    hlo_value_release(machine->slots[step->flat->reference.out_slot]);
    machine->slots[step->flat->reference.out_slot] = value;
    return NULL;
  }
  int next = 0;
  move_leaves(step, value, &next);
  hlo_value_release(value);
  return NULL;
}

/* Lets the kernel build its result in the planned buffer, unless an operand lies there. */
static hr_status_t set_out_hint(exec_compiled_t *machine, const run_step_t *step) {
  const hlo_instr_t *instr = step->flat->source->op.instr;
  op_env_t *env = exec_machine_env(machine->reference);
  if (!hlo_shape_is_array(instr->shape) || step->flat->reference.out_slot >= 0 ||
      hlo_op_is(instr->op, OP_CONTROL))
    return NULL;
  for (int i = 0; i < step->flat->in_count; i++)
    if (step->in[i] == step->out[0]) return NULL;
  env->hints.out_hint_instr = instr;
  return wrap_address(instr->shape, step->out[0], &env->hints.out_hint);
}

static void clear_out_hint(exec_compiled_t *machine) {
  op_env_t *env = exec_machine_env(machine->reference);
  hlo_value_release(env->hints.out_hint);
  env->hints.out_hint = NULL;
}

/* --- transfers into planned buffers --- */

static void trace_transfer(exec_compiled_t *machine, const run_step_t *step) {
  uint64_t begun_ns = machine->steps[step->begins].started_ns,
           over_ns = exec_machine_env(machine->reference)->transfers.arrived_ns;
  if (over_ns > begun_ns)
    hr_trace_note(machine->options.machine.trace, &machine->transfers[step->begins], begun_ns,
                  over_ns - begun_ns);
}

/* The done step waits; the data is then in its buffers. */
static hr_status_t end_transfer(exec_compiled_t *machine, const run_step_t *step) {
  hlo_value_t *value;
  op_env_t *env = exec_machine_env(machine->reference);
  const hlo_instr_t *instr = step->flat->source->op.instr;
  env->transfers.arrived_ns = 0;
  exec_machine_note(machine->reference, instr);
  if (op_is_channel_end(step->flat->reference.ends))
    return op_channel_done(env, instr, machine->steps[step->begins].handle);
  HR_TRY(op_transfer_done(env, step->flat->reference.ends, &value));
  hlo_value_release(value);
  if (machine->transfers) trace_transfer(machine, step);
  return NULL;
}

/* Shape of the results within the state of a start: (operands, results), or (data, ...) of a recv.
 */
static const hlo_shape_t *results_shape(const plan_step_t *source) {
  hlo_opcode_t op = source->op.instr->op;
  bool has_state = op == HLO_ALL_GATHER_START || op == HLO_COLLECTIVE_PERMUTE_START;
  if (op == HLO_RECV) return source->op.out_shape->elements[0];
  return has_state ? source->op.out_shape->elements[1] : source->op.out_shape;
}

/* The start step's value is only a token; its data arrives in the buffers later. */
static hr_status_t run_into_out_buffers(exec_compiled_t *machine, run_step_t *step,
                                        hlo_value_t **in) {
  op_env_t *env = exec_machine_env(machine->reference);
  const flat_step_t *flat = step->flat;
  const hlo_shape_t *shape = results_shape(flat->source);
  hlo_value_t *value = NULL;
  HR_TRY(make_operands(machine, step, false, in));
  for (int i = 0; i < flat->out_count; i++)
    HR_TRY(renew_view(hlo_shape_leaf(shape, i), step->out[i], &step->out_views[i]));
  if (machine->transfers) step->started_ns = hr_clock_ns();
  env->hints.out_buffers = step->out_views;
  env->hints.pinned_operands = flat->reference.pinned_operands;
  env->hints.shared_results = exec_shared_results(machine, flat);
  env->hints.starting = flat->reference.begins && flat->reference.begins->op == HLO_ASYNC_START
                            ? flat->reference.begins
                            : NULL;
  hr_status_t st = exec_machine_step(machine->reference, flat->source, 0, in, &value);
  env->hints.out_buffers = NULL;
  env->hints.starting = NULL;
  if (st || !flat->reference.begins) return st ? st : take_result(machine, step, value);
  if (op_is_channel_end(flat->reference.begins)) step->handle = op_channel_handle(value);
  hlo_value_release(value);
  return NULL;
}

static hr_status_t run_on(exec_compiled_t *machine, run_step_t *step, hlo_value_t **in) {
  const plan_step_t *source = step->flat->source;
  hlo_value_t *value = NULL;
  bool owns = step->flat->reference.owns_operands;
  if (step->flat->reference.has_out_buffers) return run_into_out_buffers(machine, step, in);
  HR_TRY(make_operands(machine, step, owns, in));
  HR_TRY(set_out_hint(machine, step));
  uint64_t pinned = release_overwritable_views(step, source->in_count);
  hr_status_t st = exec_machine_step(machine->reference, source, pinned, in, &value);
  restore_views(step, pinned);
  clear_out_hint(machine);
  return st ? st : take_result(machine, step, value);
}

hr_status_t exec_compiled_reference(exec_compiled_t *machine, run_step_t *step) {
  hlo_value_t *few[8] = {0}, **in = few;
  int count = step->flat->source->in_count;
  if (step->flat->reference.ends) return end_transfer(machine, step);
  if (count > 8) {
    void *memory;
    HR_TRY(hr_alloc_zeroed((size_t)count * sizeof *in, &memory));
    in = memory;
  }
  hr_status_t st = run_on(machine, step, in);
  for (int k = 0; k < count; k++) hlo_value_release(in[k]);
  if (in != few) hr_free(in);
  return st;
}

hr_status_t exec_compiled_copy_operands(exec_compiled_t *machine, const run_step_t *step,
                                        hlo_value_t **in) {
  return make_operands(machine, step, true, in);
}

void exec_compiled_release_views(exec_compiled_t *machine) {
  for (int s = 0; machine->steps && s < machine->flat->step_count; s++) {
    const run_step_t *step = &machine->steps[s];
    for (int i = 0; step->views && i < machine->flat->steps[s].in_count; i++)
      hlo_value_release(step->views[i]);
    for (int i = 0; step->out_views && i < machine->flat->steps[s].out_count; i++)
      hlo_value_release(step->out_views[i]);
  }
}
