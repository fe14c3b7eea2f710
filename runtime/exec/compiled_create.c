/* Creates steps with addresses from a flat plan. All steps share one table of pointers:
 *
 *   pointers:  | in of step 0 | out of step 0 | in of step 1 | out of step 1 | ...
 *
 * Operands in the arena and literals are resolved here, once. Pointers to arguments, results and
 * views are listed as relocations, sorted by what they refer to (counting sort), so that binding an
 * argument or moving a view costs one store per use. Cost: linear in steps and operands.
 *
 * The arena lies in memory shared with peers if the program communicates, so that collectives read
 * their operands there without a copy. */
#include <string.h>

#include "base/mem.h"
#include "exec/compiled_parts.h"
#include "observe/step_trace.h"
#include "ops/query/device_assignment.h"

/* Index of an argument, result, view, the overlays of a result, or shared memory in the relocation
 * tables; -1: the address is fixed. */
static int external_index(const exec_compiled_t *machine, const flat_buffer_t *buffer) {
  const flat_plan_t *flat = machine->flat;
  switch (buffer->storage) {
    case FLAT_PARAM:
      return buffer->index;
    case FLAT_RESULT:
      return flat->param_count + buffer->index;
    case FLAT_VIEW:
      return flat->param_count + flat->result_count + buffer->index;
    case FLAT_OVERLAY:
      return machine->fences ? -1 : exec_overlay_index(flat, buffer->index);
    case FLAT_SHARED:
      return exec_shared_index(flat, buffer->index);
    default:
      return -1;
  }
}

/* The buffer that holds the reference, with coalesced ones resolved to their root; NULL: none. */
static const flat_buffer_t *buffer_of(const flat_plan_t *flat, flat_ref_t ref) {
  return ref.buffer < 0 ? NULL : &flat->buffers[flat_root(flat->buffers, ref.buffer)];
}

/* The address of a reference if it is known at creation: in the arena, in a fence block, or a
 * literal. NULL for arguments, results and views, which relocations fill. */
static void *address_of(const exec_compiled_t *machine, flat_ref_t ref) {
  const flat_buffer_t *buffer = buffer_of(machine->flat, ref);
  if (!buffer || external_index(machine, buffer) >= 0) return NULL;
  if (machine->fences)
    return (char *)hr_fence_data(machine->fences[buffer - machine->flat->buffers]) +
           ref.offset_bytes;
  char *base = buffer->storage == FLAT_ARENA ? (char *)machine->arena + buffer->offset_bytes
                                             : buffer->literal->data;
  return base + ref.offset_bytes;
}

/* A run step owns no memory: its operands and results are its part of the pointer table. */
static hr_status_t make_step(exec_compiled_t *machine, const flat_step_t *flat, int first_pointer,
                             run_step_t *step) {
  *step =
      (run_step_t){.kind = flat->kind,
                   .end = flat->end,
                   .in = machine->pointers + first_pointer,
                   .out = machine->pointers + first_pointer + flat->in_count,
                   .run = flat->native.kernel ? flat->native.kernel->run : NULL,
                   .plan = flat->native.plan,
                   .scratch = address_of(machine, flat->scratch),
                   .starts = flat->control.starts,
                   .copy_bytes = flat->copy.size_bytes,
                   .is_loop = flat->kind == FLAT_NATIVE && flat->source->op.instr->op == HLO_WHILE,
                   .flat = flat};
  for (int i = 0; i < flat->in_count; i++) step->in[i] = address_of(machine, flat->in[i]);
  for (int i = 0; i < flat->out_count; i++) step->out[i] = address_of(machine, flat->out[i]);
  if (flat->reference.has_out_buffers)
    HR_TRY(HR_NEW_ARRAY(&machine->list_arena, flat->out_count, &step->out_views));
  return flat->kind == FLAT_REFERENCE
             ? HR_NEW_ARRAY(&machine->list_arena, flat->in_count, &step->views)
             : NULL;
}

/* Called for every entry of the pointer table that refers to an argument or a result. */
typedef void (*visit_fn)(exec_compiled_t *machine, int external, run_relocation_t relocation);

/* Calls `visit` for those of `refs` that relocations fill. */
static void visit_refs(exec_compiled_t *machine, const flat_ref_t *refs, int count,
                       int first_pointer, visit_fn visit) {
  for (int i = 0; i < count; i++) {
    const flat_buffer_t *buffer = buffer_of(machine->flat, refs[i]);
    int external = buffer ? external_index(machine, buffer) : -1;
    size_t offset = refs[i].offset_bytes;
    if (external < 0) continue;
    if (buffer->storage == FLAT_OVERLAY || buffer->storage == FLAT_SHARED)
      offset += buffer->offset_bytes;
    visit(machine, external, (run_relocation_t){first_pointer + i, offset});
  }
}

/* Walks the pointer table in the order in which make_steps lays it out. */
static void visit_relocations(exec_compiled_t *machine, visit_fn visit) {
  int pointer = 0;
  for (int s = 0; s < machine->flat->step_count; s++) {
    const flat_step_t *step = &machine->flat->steps[s];
    visit_refs(machine, step->in, step->in_count, pointer, visit);
    visit_refs(machine, step->out, step->out_count, pointer + step->in_count, visit);
    pointer += step->in_count + step->out_count;
  }
}

/* First pass: counts, shifted by one, so that sums become starts. */
static void count_relocation(exec_compiled_t *machine, int external, run_relocation_t relocation) {
  (void)relocation;
  machine->first_relocation[external + 1]++;
}

/* Second pass: places the entry and advances the start. */
static void set_relocation(exec_compiled_t *machine, int external, run_relocation_t relocation) {
  machine->relocations[machine->first_relocation[external]++] = relocation;
}

/* Counting sort of the relocations by argument and result: counts, prefix sums, placement, which
 * advances the starts, and moving the starts back. */
static hr_status_t sort_relocations(exec_compiled_t *machine) {
  const flat_plan_t *flat = machine->flat;
  int externals = exec_shared_index(flat, flat->shared_count);
  HR_TRY(HR_NEW_ARRAY(&machine->list_arena, externals + 2, &machine->first_relocation));
  HR_TRY(HR_NEW_ARRAY(&machine->list_arena, externals, &machine->bound));
  visit_relocations(machine, count_relocation);
  for (int e = 0; e < externals; e++)
    machine->first_relocation[e + 1] += machine->first_relocation[e];
  HR_TRY(HR_NEW_ARRAY(&machine->list_arena, machine->first_relocation[externals],
                      &machine->relocations));
  visit_relocations(machine, set_relocation);
  for (int e = externals; e > 0; e--)
    machine->first_relocation[e] = machine->first_relocation[e - 1];
  machine->first_relocation[0] = 0;
  return NULL;
}

/* The start step of a done step: the nearest one before it, since computations are laid out per
 * use. */
static int find_begin(const flat_plan_t *flat, int end) {
  int s = end - 1;
  while (s >= 0 && flat->steps[s].reference.begins != flat->steps[end].reference.ends) s--;
  return s;
}

/* Lays out the pointer table and makes every step. */
static hr_status_t make_steps(exec_compiled_t *machine) {
  const flat_plan_t *flat = machine->flat;
  size_t pointers = 0;
  int next = 0;
  for (int s = 0; s < flat->step_count; s++)
    pointers += (size_t)flat->steps[s].in_count + (size_t)flat->steps[s].out_count;
  HR_TRY(HR_NEW_ARRAY(&machine->list_arena, pointers, &machine->pointers));
  HR_TRY(HR_NEW_ARRAY(&machine->list_arena, flat->step_count, &machine->steps));
  for (int s = 0; s < flat->step_count; s++) {
    HR_TRY(make_step(machine, &flat->steps[s], next, &machine->steps[s]));
    machine->steps[s].begins = flat->steps[s].reference.ends ? find_begin(flat, s) : -1;
    next += flat->steps[s].in_count + flat->steps[s].out_count;
  }
  return sort_relocations(machine);
}

/* Finds the instruction of a step lazily, for a report, so that a step costs one store
 * (where.at). */
static void fill_location(hr_where_t *where) {
  const run_step_t *step = where->at;
  const hlo_instr_t *instr = step && step->flat->source ? step->flat->source->op.instr : NULL;
  where->instruction = instr ? instr->name.data : NULL;
  where->computation = instr ? instr->parent->name.data : NULL;
  where->pos = instr ? hlo_instr_pos(instr) : (hr_pos_t){0};
}

static bool is_communication(const hlo_instr_t *instr) {
  return hlo_op_is(instr->op, OP_COLLECTIVE) || instr->op == HLO_ASYNC_START ||
         op_is_channel_end(instr);
}

/* Does the plan have steps that communicate? Only then is the arena worth sharing. */
static bool has_peers(const flat_plan_t *flat) {
  for (int s = 0; s < flat->step_count; s++)
    if (flat->steps[s].kind == FLAT_REFERENCE && flat->steps[s].source &&
        is_communication(flat->steps[s].source->op.instr))
      return true;
  return false;
}

/* With peers the arena is in shared memory, so that transfers within the host need no copy. */
static hr_status_t make_arena(exec_compiled_t *machine) {
  op_env_t *env = exec_machine_env(machine->reference);
  size_t size_bytes = machine->flat->arena_bytes;
  machine->has_peers = has_peers(machine->flat);
  if (hr_fence_is_on()) return exec_fences_create(machine);
  if (!size_bytes) return NULL;
  if (machine->has_peers && env->comm_ops)
    HR_TRY(env->comm_ops->shared_memory(env, size_bytes, &machine->shared));
  if (!machine->shared) return hr_alloc(size_bytes, &machine->arena);
  machine->arena = hr_buffer_data(machine->shared);
  return NULL;
}

/* --- generated combiners --- */

/* Runs a combiner's generated code on exactly FLAT_COMBINED elements; `out` may be `a`. */
static hr_status_t combine_all(const flat_combiner_t *combiner, void *out, const void *a,
                               const void *b) {
  _Alignas(HR_ALIGNMENT) char scratch[FLAT_COMBINER_SCRATCH_BYTES];
  const op_native_run_t run = {.scratch = scratch};
  return combiner->native->run(&run, combiner->plan, (void *const[]){(void *)a, (void *)b}, &out);
}

/* A remainder of fewer than FLAT_COMBINED elements, padded. */
static hr_status_t combine_few(const flat_combiner_t *combiner, void *out, const void *a,
                               const void *b, size_t size_bytes) {
  _Alignas(HR_ALIGNMENT) char padded[2][FLAT_COMBINED_BYTES];
  size_t each = FLAT_COMBINED * combiner->element_bytes;
  memcpy(padded[0], a, size_bytes);
  memcpy(padded[1], b, size_bytes);
  memset(padded[0] + size_bytes, 0, each - size_bytes);
  memset(padded[1] + size_bytes, 0, each - size_bytes);
  HR_TRY(combine_all(combiner, padded[0], padded[0], padded[1]));
  memcpy(out, padded[0], size_bytes);
  return NULL;
}

/* Signature of op_combiner_t.run. */
static hr_status_t combine(const void *code, void *out, const void *a, const void *b,
                           int64_t count) {
  const flat_combiner_t *combiner = code;
  size_t bytes = (size_t)count * combiner->element_bytes;
  size_t each = FLAT_COMBINED * combiner->element_bytes, at = 0;
  for (; at + each <= bytes; at += each)
    HR_TRY(combine_all(combiner, (char *)out + at, (const char *)a + at, (const char *)b + at));
  if (at == bytes) return NULL;
  return combine_few(combiner, (char *)out + at, (const char *)a + at, (const char *)b + at,
                     bytes - at);
}

/* op_env_t.combiner: the generated code for a computation, by linear search; run NULL: there is
 * none. */
static op_combiner_t find_combiner(op_env_t *env, const hlo_computation_t *computation) {
  const flat_combiner_t *combiner = ((const flat_plan_t *)env->combiners)->combiners;
  while (combiner && combiner->computation != computation) combiner = combiner->next;
  return (op_combiner_t){combiner ? combine : NULL, combiner};
}

/* After an error, exec_compiled_destroy releases what the machine owns. */
static hr_status_t set_up(exec_compiled_t *machine) {
  const flat_plan_t *flat = machine->flat;
  HR_TRY(exec_machine_create(flat->plan, &machine->options.machine, &machine->reference));
  HR_TRY(make_arena(machine));
  HR_TRY(HR_NEW_ARRAY(&machine->list_arena, flat->slot_count, &machine->slots));
  HR_TRY(HR_NEW_ARRAY(&machine->list_arena, flat->param_count, &machine->moved));
  HR_TRY(HR_NEW_ARRAY(&machine->list_arena, flat->result_count, &machine->overlays));
  HR_TRY(exec_result_cache_create(flat->result_count, &machine->cache));
  HR_TRY(hlo_value_token(&machine->token));
  machine->native = (op_native_run_t){.workers = machine->options.workers,
                                      .env = exec_machine_env(machine->reference),
                                      .run_step = exec_compiled_run_step,
                                      .machine = machine};
  machine->native.env->workers = machine->options.workers;
  machine->native.env->combiner = find_combiner;
  machine->native.env->combiners = (void *)flat;
  machine->where.locate = fill_location;
  if (machine->options.machine.trace)
    HR_TRY(exec_trace_flat(machine->options.machine.trace, flat, &machine->spans));
  if (machine->spans)
    HR_TRY(exec_trace_transfers(machine->options.machine.trace, flat, &machine->transfers));
  return make_steps(machine);
}

static exec_cancel_t never_cancelled;

hr_status_t exec_compiled_create(const flat_plan_t *flat, const exec_compiled_options_t *options,
                                 exec_compiled_t **out_machine) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(exec_compiled_t), &memory));
  exec_compiled_t *machine = memory;
  machine->flat = flat;
  machine->options = *options;
  machine->cancel = options->machine.cancel ? options->machine.cancel : &never_cancelled;
  hr_arena_init(&machine->list_arena);
  hr_status_t st = set_up(machine);
  if (st)
    exec_compiled_destroy(machine);
  else
    *out_machine = machine;
  return st;
}

void exec_compiled_destroy(exec_compiled_t *machine) {
  if (!machine) return;
  exec_compiled_release_views(machine);
  exec_result_cache_close(machine->cache);
  hlo_value_release(machine->token);
  exec_machine_destroy(machine->reference);
  exec_fences_destroy(machine);
  exec_shared_close(machine);
  for (int r = 0; machine->overlays && r < machine->flat->result_count; r++)
    hr_free(machine->overlays[r]);
  if (!machine->shared) hr_free(machine->arena);
  hr_buffer_release(machine->shared);
  hr_arena_deinit(&machine->list_arena);
  hr_free(machine);
}
