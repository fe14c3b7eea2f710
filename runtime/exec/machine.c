/* The reference engine: runs a plan step by step with the reference kernels. A computation runs in
 * an array of slots, one per live value:
 *
 *   slots:  | param 0 | param 1 | value | value | ...     in[k] = slots[step.in_slots[k]]
 *
 * The plan says after which step each slot dies. The last use may overwrite or move the operand.
 * Calls recurse through op_engine_ops_t.call with a fresh array of slots.
 *
 * Sizes: every value is compared with its declared shape before later kernels rely on it. Steps
 *        with dynamic sizes are specialised to their operands each time they run.
 * Cost:  an allocation per computation and per result; tens of nanoseconds per step besides the
 * kernel. */
#include "exec/machine.h"

#include <string.h>

#include "base/fence.h"
#include "base/mem.h"
#include "exec/random_states.h"
#include "exec/run_parallel.h"
#include "observe/probes.h"
#include "observe/step_trace.h"
#include "ops/kernels/common/transfer_list.h"
#include "ops/kernels/reference/match_sizes.h"
#include "ops/query/device_assignment.h"

#define FEW_OPERANDS 8 /* lists up to this length live on the C stack */

struct exec_machine {
  op_env_t env;
  const plan_t *plan;
  exec_machine_options_t options;
  hr_arena_t scratch; /* kernels' scratch memory; rewound after each step */
  exec_random_states_t random_states;
  exec_probes_t probes;
  hr_trace_span_t **subjects; /* per computation and step; NULL: steps are not traced */
  hr_trace_span_t *waiting;
  const op_comm_ops_t *untraced_ops; /* functions that traced_ops forwards to */
  op_comm_ops_t traced_ops;          /* copy of them with traced_wait */
  bool is_fenced;                    /* HLORUN_CHECK=memory */
  bool is_inside; /* inside a step that is traced as a whole, such as a reduction, which calls its
                     computation per element */
};

hr_status_t exec_cancel_check(const exec_cancel_t *cancel) {
  const char *reason = cancel ? atomic_load_explicit(&cancel->reason, memory_order_acquire) : NULL;
  return reason ? hr_error(HR_CANCELLED, "%s", reason) : NULL;
}

/* op_engine_ops_t.check_cancelled, for long-running kernels. */
static hr_status_t check_cancelled(op_env_t *env) {
  return exec_cancel_check(((exec_machine_t *)env->engine)->options.cancel);
}

/* Between steps: polls the host from time to time (Ctrl-C in Python), else reads the flag. */
hr_status_t exec_poll_cancel(const exec_machine_options_t *options) {
  if (options->interrupted && exec_progress_is_due(options->progress))
    return options->interrupted(options->interrupted_context);
  return exec_cancel_check(options->cancel);
}

hr_status_t exec_machine_save_state(const exec_machine_t *machine, hlo_value_t **out_bytes) {
  return exec_random_states_save(&machine->random_states, out_bytes);
}

hr_status_t exec_machine_load_state(exec_machine_t *machine, const hlo_value_t *bytes) {
  return exec_random_states_load(&machine->random_states, bytes);
}

/* op_engine_ops_t.state. */
static hr_status_t find_state(op_env_t *env, const hlo_instr_t *instr, size_t size_bytes,
                              void **out_state) {
  exec_machine_t *machine = env->engine;
  return exec_random_states_find(&machine->random_states, instr, size_bytes, out_state);
}

/* Values of probed instructions go to files, or to the list that find_probed reads, or both. */
static hr_status_t record_probe(op_env_t *env, hr_str_t id, bool asked, hlo_value_t *value) {
  exec_machine_t *machine = env->engine;
  if (machine->options.probe_files)
    HR_TRY(exec_probe_files_add(machine->options.probe_files, id, value));
  return asked ? exec_probes_add(&machine->probes, id, value) : NULL;
}

static hr_status_t find_probed(op_env_t *env, hr_str_t id, int64_t n, hlo_value_t **out_value) {
  *out_value = exec_probes_find(&((exec_machine_t *)env->engine)->probes, id, n);
  return NULL;
}

/* --- steps --- */

/* Ops that take sizes from values may produce sizes other than declared, on which later kernels
 * rely: every value is compared. */
static hr_status_t check_fits(const hlo_instr_t *instr, const hlo_value_t *value) {
  char declared[HLO_SHAPE_TEXT], found[HLO_SHAPE_TEXT];
  if (hlo_value_fits(value, instr->shape)) return NULL;
  return hlo_error(instr, NULL, "its value does not have the declared shape: it is %s, want %s",
                   hlo_value_shape_text(value, found), hlo_shape_text(instr->shape, declared));
}

/* Runs a step on the sizes that its operands have in this call. */
static hr_status_t run_sized(exec_machine_t *machine, const plan_step_t *step, hlo_value_t **in,
                             hlo_value_t **out_value) {
  op_step_t actual;
  HR_TRY(plan_specialise(&machine->scratch, step, in, &actual));
  return step->kernel->run(&machine->env, &actual, in, out_value);
}

/* Operands whose dynamic sizes must be matched first are passed as copies. */
static hr_status_t run_dynamic(exec_machine_t *machine, const plan_step_t *step, hlo_value_t **in,
                               hlo_value_t **out_value) {
  hlo_value_t **matched, **used;
  bool needed;
  HR_TRY(HR_NEW_ARRAY(&machine->scratch, step->in_count, &matched));
  HR_TRY(HR_NEW_ARRAY(&machine->scratch, step->in_count, &used));
  HR_TRY(op_match_sizes(step->op.instr, in, matched, &needed));
  if (!needed) return run_sized(machine, step, in, out_value);
  for (int k = 0; k < step->in_count; k++)
    used[k] = matched[k] ? matched[k] : hlo_value_retain(in[k]);
  hr_status_t st = run_sized(machine, step, used, out_value);
  for (int k = 0; k < step->in_count; k++) hlo_value_release(used[k]);
  return st;
}

/* Runs the kernel of a step. Instructions placed on another device are replaced by zeros. On an
 * error there is no value to release. */
static hr_status_t run_kernel(exec_machine_t *machine, const plan_step_t *step, hlo_value_t **in,
                              hlo_value_t **out_value) {
  const hlo_instr_t *instr = step->op.instr;
  if (step->device >= 0 &&
      step->device != op_device_of_rank(machine->env.rank, machine->env.num_partitions))
    return hlo_value_zeros(instr->shape, out_value);
  if (instr->op == HLO_CONSTANT) {
    *out_value = hlo_value_retain(instr->literal);
    return NULL;
  }
  hlo_value_t *value = NULL;
  HR_TRY(step->dynamic ? run_dynamic(machine, step, in, &value)
                       : step->kernel->run(&machine->env, &step->op, in, &value));
  hr_status_t st = check_fits(instr, value);
  if (st)
    hlo_value_release(value);
  else
    *out_value = value;
  return st;
}

/* Clears the slots of values that die at this step. A kernel may have moved operands out of `in`
 * (op_take). */
static void free_dead_values(const plan_step_t *step, hlo_value_t **in, hlo_value_t **slots) {
  for (int k = 0; k < step->in_count; k++)
    if (!in[k]) slots[step->in_slots[k]] = NULL;
  for (int i = 0; i < step->free_count; i++) {
    hlo_value_release(slots[step->free_slots[i]]);
    slots[step->free_slots[i]] = NULL;
  }
}

/* Notes the step, and the loop it is in, for --progress and the state that SIGUSR1 prints. */
static hr_status_t run_with_progress(exec_machine_t *machine, const plan_step_t *step,
                                     hlo_value_t **in, hlo_value_t **out_value) {
  exec_progress_t *progress = machine->options.progress;
  const hlo_instr_t *instr = step->op.instr;
  exec_outer_loop_t before;
  if (instr->op == HLO_WHILE) exec_progress_enter(progress, instr, &before);
  hr_status_t st = run_kernel(machine, step, in, out_value);
  if (instr->op == HLO_WHILE) exec_progress_leave(progress, &before);
  exec_progress_add_step(
      progress, !hlo_op_is(instr->op, OP_RANDOM) && hlo_op_is(instr->op, OP_COMM | OP_EFFECT));
  return st;
}

void exec_fence_note(const hlo_instr_t *instr) {
  hr_pos_t pos = hlo_instr_pos(instr);
  hr_fence_note(hlo_op_name(instr->op), instr->name.data, instr->parent->name.data, &pos);
}

/* HLORUN_CHECK=memory: names the step before and after, since a called computation names its steps.
 */
static hr_status_t run_fenced(exec_machine_t *machine, const plan_step_t *step, hlo_value_t **in,
                              hlo_value_t **out_value) {
  exec_fence_note(step->op.instr);
  HR_TRY(run_with_progress(machine, step, in, out_value));
  exec_fence_note(step->op.instr);
  return hr_fence_check();
}

/* One step: operands from the slots, the kernel, the result into its slot, and the dead values
 * released, also on an error, so that slots hold live values only. */
static hr_status_t run_step(exec_machine_t *machine, const plan_step_t *step, hlo_value_t **slots) {
  HR_TRY(exec_poll_cancel(&machine->options));
  exec_machine_note(machine, step->op.instr);
  hr_arena_mark_t mark = hr_arena_mark(&machine->scratch);
  hlo_value_t *few[FEW_OPERANDS], **in = few;
  if (step->in_count > FEW_OPERANDS) HR_TRY(HR_NEW_ARRAY(&machine->scratch, step->in_count, &in));
  for (int k = 0; k < step->in_count; k++) in[k] = slots[step->in_slots[k]];
  hr_status_t st = machine->is_fenced
                       ? run_fenced(machine, step, in, &slots[step->out_slot])
                       : run_with_progress(machine, step, in, &slots[step->out_slot]);
  free_dead_values(step, in, slots);
  hr_arena_rewind(&machine->scratch, mark);
  return st;
}

/* Records a span around the step. Within a step that is traced as a whole, nothing more is
 * recorded. */
static hr_status_t run_traced(exec_machine_t *machine, const plan_body_t *body, int s,
                              hlo_value_t **slots) {
  const plan_step_t *step = &body->steps[s];
  if (machine->is_inside) return run_step(machine, step, slots);
  machine->is_inside = !hlo_op_is(step->op.instr->op, OP_CONTROL);
  hr_trace_span_t *span = &machine->subjects[body->computation->id][s];
  uint64_t begin = hr_trace_begin(machine->options.trace, span);
  hr_status_t st = run_step(machine, step, slots);
  hr_trace_add(machine->options.trace, span, begin);
  machine->is_inside = false;
  return st;
}

/* Runs all steps of a computation in order, with the location for crash reports. Transfers in
 * flight progress between steps. */
static hr_status_t run_steps(exec_machine_t *machine, const plan_body_t *body,
                             hlo_value_t **slots) {
  hr_where_t where = {.computation = body->computation->name.data};
  hr_where_push(&where);
  hr_status_t st = NULL;
  for (int s = 0; s < body->step_count && !st; s++) {
    const hlo_instr_t *instr = body->steps[s].op.instr;
    where.instruction = instr->name.data;
    where.pos = hlo_instr_pos(instr);
    st = machine->subjects ? run_traced(machine, body, s, slots)
                           : run_step(machine, &body->steps[s], slots);
    if (machine->env.transfers.in_flight && machine->env.comm_ops)
      machine->env.comm_ops->poll(&machine->env);
  }
  hr_where_pop(&where);
  return st;
}

/* --- computations --- */

/* Consumes the arguments, also on an error. At the end only the root's slots are alive, so only an
 * error has slots to release. */
static hr_status_t run_body(exec_machine_t *machine, const plan_body_t *body, hlo_value_t **args,
                            hlo_value_t **out_value) {
  void *memory = NULL;
  hr_status_t st = hr_alloc_zeroed((size_t)body->slot_count * sizeof(hlo_value_t *), &memory);
  hlo_value_t **slots = memory;
  if (st) {
    for (int p = 0; p < body->param_count; p++) hlo_value_release(args[p]);
    return st;
  }
  for (int p = 0; p < body->param_count; p++) slots[p] = args[p];
  for (int p = 0; p < body->param_count && !st; p++)
    st = check_fits(body->computation->params.data[p], args[p]);
  for (int i = 0; i < body->unused_count; i++) {
    hlo_value_release(slots[body->unused_slots[i]]);
    slots[body->unused_slots[i]] = NULL;
  }
  if (!st) st = run_steps(machine, body, slots);
  if (!st) {
    *out_value = slots[body->root_slot];
    slots[body->root_slot] = NULL;
  }
  for (int i = 0; st && i < body->slot_count; i++) hlo_value_release(slots[i]);
  hr_free(slots);
  return st;
}

/* op_engine_ops_t.call, for ops with computations: while, conditional, call, reducers. */
static hr_status_t call_computation(op_env_t *env, const hlo_computation_t *computation,
                                    hlo_value_t **args, int arg_count, hlo_value_t **out_value) {
  exec_machine_t *machine = env->engine;
  const plan_body_t *body = machine->plan->bodies[computation->id];
  hr_assert(body && arg_count == body->param_count);
  exec_progress_add_call(machine->options.progress, computation);
  return run_body(machine, body, args, out_value);
}

/* Transfers without a done end with the run. */
static hr_status_t run_to_end(exec_machine_t *machine, const plan_body_t *body, hlo_value_t **args,
                              hlo_value_t **out_value) {
  hlo_value_t *value = NULL;
  hr_status_t st = op_transfers_done(&machine->env, run_body(machine, body, args, &value));
  if (st)
    hlo_value_release(value);
  else
    *out_value = value;
  return st;
}

/* Copies arguments from outside, such as mapped files, into guarded blocks; best effort. */
static void fence_arguments(const plan_body_t *entry, hlo_value_t **args) {
  for (int p = 0; p < entry->param_count; p++) {
    hlo_value_t *copy;
    if (!args[p]->data || hr_fence_owns(args[p]->data)) continue;
    hr_status_t st = hlo_value_copy(args[p], &copy);
    hr_status_release(st);
    if (st) continue;
    hlo_value_release(args[p]);
    args[p] = copy;
  }
}

hr_status_t exec_machine_run(exec_machine_t *machine, hlo_value_t **args, hlo_value_t **out_value) {
  exec_probes_clear(&machine->probes);
  if (machine->is_fenced) fence_arguments(machine->plan->entry, args);
  HR_TRY(run_to_end(machine, machine->plan->entry, args, out_value));
  hr_status_t st = exec_cancel_check(machine->options.cancel); /* cancelled in the last step */
  if (st) hlo_value_release(*out_value);
  return st;
}

hr_status_t exec_machine_call(exec_machine_t *machine, const hlo_computation_t *computation,
                              hlo_value_t **args, hlo_value_t **out_value) {
  return run_to_end(machine, machine->plan->bodies[computation->id], args, out_value);
}

void exec_machine_note(exec_machine_t *machine, const hlo_instr_t *instr) {
  if (machine->options.current)
    atomic_store_explicit(machine->options.current, instr, memory_order_relaxed);
}

hr_status_t exec_machine_step(exec_machine_t *machine, const plan_step_t *step, uint64_t last_use,
                              hlo_value_t **in, hlo_value_t **out_value) {
  plan_step_t single = *step;
  exec_machine_note(machine, step->op.instr);
  single.op.last_use = last_use;
  hr_arena_mark_t mark = hr_arena_mark(&machine->scratch);
  hr_status_t st = run_kernel(machine, &single, in, out_value);
  hr_arena_rewind(&machine->scratch, mark);
  return st;
}

op_env_t *exec_machine_env(exec_machine_t *machine) { return &machine->env; }
void exec_machine_forget_probes(exec_machine_t *machine) { exec_probes_clear(&machine->probes); }
const plan_t *exec_machine_plan(const exec_machine_t *machine) { return machine->plan; }
const exec_machine_options_t *exec_machine_options(const exec_machine_t *machine) {
  return &machine->options;
}

/* --- life cycle --- */

static hr_status_t traced_wait(op_env_t *env, op_request_t *request) {
  exec_machine_t *machine = env->engine;
  if (!request) return machine->untraced_ops->wait(env, request);
  uint64_t begin = hr_clock_ns();
  hr_status_t st = machine->untraced_ops->wait(env, request);
  hr_trace_add(machine->options.trace, machine->waiting, begin);
  return st;
}

static hr_status_t set_up_trace(exec_machine_t *machine) {
  hr_trace_t *trace = machine->options.trace;
  if (trace && machine->options.trace_steps)
    HR_TRY(exec_trace_plan(trace, machine->plan, &machine->subjects));
  if (!trace || !machine->env.comm_ops) return NULL;
  HR_TRY(exec_trace_plain(trace, "wait for peers", HR_TRACE_WAIT, &machine->waiting));
  machine->untraced_ops = machine->env.comm_ops;
  machine->traced_ops = *machine->untraced_ops;
  machine->traced_ops.wait = traced_wait;
  machine->env.comm_ops = &machine->traced_ops;
  return NULL;
}

static const op_engine_ops_t engine_ops = {.call = call_computation,
                                           .state = find_state,
                                           .check_cancelled = check_cancelled,
                                           .run_parallel = exec_run_parallel};
static const op_probe_ops_t probe_ops = {.probe = record_probe, .probed = find_probed};

static hr_status_t set_up(exec_machine_t *machine) {
  const plan_grid_t *grid = machine->options.grid ? machine->options.grid : &machine->plan->grid;
  op_env_t *env = &machine->env;
  env->engine = machine;
  env->rank = machine->options.rank;
  env->replica = env->rank / grid->num_partitions;
  env->partition = env->rank % grid->num_partitions;
  env->num_replicas = grid->num_replicas;
  env->num_partitions = grid->num_partitions;
  env->scratch = &machine->scratch;
  env->rng_seed = machine->options.rng_seed;
  env->engine_ops = &engine_ops;
  env->probe_ops = &probe_ops;
  if (machine->options.attach_comm)
    HR_TRY(machine->options.attach_comm(env, machine->options.comm_context));
  return set_up_trace(machine);
}

hr_status_t exec_machine_create(const plan_t *plan, const exec_machine_options_t *options,
                                exec_machine_t **out_machine) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(exec_machine_t), &memory));
  exec_machine_t *machine = memory;
  machine->plan = plan;
  machine->options = *options;
  machine->is_fenced = hr_fence_is_on();
  hr_arena_init_fenced(&machine->scratch);
  exec_random_states_init(&machine->random_states);
  hr_status_t st = set_up(machine);
  if (st)
    hr_free(machine);
  else
    *out_machine = machine;
  return st;
}

/* Transfers in flight end here. */
void exec_machine_destroy(exec_machine_t *machine) {
  if (!machine) return;
  exec_probes_clear(&machine->probes);
  op_transfers_destroy(&machine->env);
  hr_arena_deinit(&machine->scratch);
  exec_random_states_deinit(&machine->random_states);
  hr_free(machine);
}
