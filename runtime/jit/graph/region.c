/* Regions: loops of a flat plan whose small kernels become one function.
 *
 * A while loop is taken if it has kernels that are short in run time and in nodes, no reference
 * kernel inside, and not too many steps. Short kernels are inlined into the function; other steps
 * are called through the executor. The function polls for cancellation after a power of two of
 * iterations that takes about 2 ms. The key of a region is the serialisation of its steps,
 * buffers and kernels' keys, so that its code is cached like that of any kernel. */
#include "jit/graph/region.h"

#include <string.h>

/* Longest run time of an inlined kernel; a longer one is worth a call or several workers. */
#define INLINE_NS 4000.0
#define INLINE_NODES 400  /* most nodes of an inlined kernel */
#define REGION_NODES 3000 /* most nodes of all inlined kernels */
#define REGION_STEPS 400  /* most steps of a region */
#define CALL_NS 100.0     /* assumed time of a called step */
#define POLL_NS 2e6       /* time between polls for cancellation */

typedef struct region_plan {
  const jit_kernel_t *kernel;
  int buffer_count, literal_count;
  const void **literals;
} region_plan_t;

/* --- candidates ------------------------------------------------------------------------------- */

static int plan_node_count(const jit_plan_t *plan) {
  int nodes = 0;
  for (int c = 0; c < plan->call_count; c++)
    nodes += plan->calls[c].kernel->graph->node_count * plan->calls[c].kernel->schedule.phase_count;
  return nodes;
}

static bool can_inline(const flat_step_t *step) {
  const jit_plan_t *plan = step->native.plan;
  return step->native.kernel == &jit_native && plan->ns < INLINE_NS &&
         plan_node_count(plan) <= INLINE_NODES;
}

/* Reference kernels keep state, communicate with peers, and are slow anyway. */
static bool is_candidate(const flat_plan_t *flat, int loop) {
  int written = 0, nodes = 0;
  for (int s = loop; s < flat->steps[loop].end; s++) {
    const flat_step_t *step = &flat->steps[s];
    if (step->kind == FLAT_REFERENCE) return false;
    if (step->kind != FLAT_NATIVE || !can_inline(step)) continue;
    written++;
    nodes += plan_node_count(step->native.plan);
  }
  return written && nodes <= REGION_NODES && flat->steps[loop].end - loop <= REGION_STEPS;
}

/* --- buffers of a region ---------------------------------------------------------------------- */

static void add_buffer(jit_region_t *region, flat_ref_t ref) {
  if (ref.buffer < 0) return;
  int root = flat_root(region->flat->buffers, ref.buffer), *slot = region_slot(region, root);
  if (*slot >= 0) return;
  *slot = region->buffer_count;
  region->buffers[region->buffer_count++] = (region_buffer_t){.buffer = root};
}

static int count_refs(const jit_region_t *region) {
  int count = 0;
  for (int s = region->step; s < region->end; s++)
    count += region_step(region, s)->in_count + region_step(region, s)->out_count + 1;
  return count;
}

/* At most half of the slots are used. */
static hr_status_t make_slots(jit_region_t *region, int ref_count, hr_arena_t *arena) {
  uint32_t count = 2;
  while (count < 2 * (uint32_t)ref_count) count *= 2;
  HR_TRY(HR_NEW_ARRAY(arena, count, &region->slots));
  for (uint32_t i = 0; i < count; i++) region->slots[i] = -1;
  region->slot_mask = count - 1;
  return NULL;
}

static void find_buffers(jit_region_t *region) {
  for (int s = region->step; s < region->end; s++) {
    const flat_step_t *step = region_step(region, s);
    for (int i = 0; i < step->in_count; i++) add_buffer(region, step->in[i]);
    for (int i = 0; i < step->out_count; i++) add_buffer(region, step->out[i]);
    add_buffer(region, step->scratch);
  }
}

static void find_literals(jit_region_t *region, const jit_plan_t *plan, int *capacity) {
  for (int c = 0; c < plan->call_count; c++)
    for (int k = 0; k < plan->calls[c].kernel->arrays.count; k++) {
      const void *literal = plan->calls[c].literals[k];
      if (literal && region->literals) region->literals[region->literal_count++] = literal;
      *capacity += literal != NULL;
    }
}

/* Counts the literals, then lists them in the order in which the code is written. */
static hr_status_t list_literals(jit_region_t *region, hr_arena_t *arena) {
  for (int pass = 0; pass < 2; pass++) {
    int count = 0;
    for (int s = region->step; s < region->end; s++)
      if (region->is_inlined[s - region->step])
        find_literals(region, region_step(region, s)->native.plan, &count);
    if (!pass) HR_TRY(HR_NEW_ARRAY(arena, count + 1, &region->literals));
  }
  return NULL;
}

/* Estimated time of one iteration of a loop; inner loops count as one iteration. */
static double iteration_ns(const jit_region_t *region, int loop) {
  double ns = 1;
  for (int s = loop + 1; s < region_step(region, loop)->end; s++) {
    const flat_step_t *step = region_step(region, s);
    bool is_written = region->is_inlined[s - region->step];
    ns += is_written                  ? ((const jit_plan_t *)step->native.plan)->ns
          : step->kind == FLAT_NATIVE ? CALL_NS
                                      : 1;
  }
  return ns;
}

/* Chooses iterations between polls, a power of two because the test is then a mask. Short inner
 * loops never poll. */
static void choose_poll_interval(jit_region_t *region, int loop) {
  int64_t interval = 1, all = region_step(region, loop)->control.trip_count;
  double ns = iteration_ns(region, loop);
  while ((double)interval * ns < POLL_NS) interval *= 2;
  region->poll_intervals[loop - region->step] =
      loop > region->step && all >= 0 && all <= interval ? 0 : interval;
}

static hr_status_t analyse_loop(jit_region_t *region, hr_arena_t *arena) {
  int begin = region->step, end = region->end, ref_count = count_refs(region);
  HR_TRY(HR_NEW_ARRAY(arena, ref_count, &region->buffers));
  HR_TRY(make_slots(region, ref_count, arena));
  HR_TRY(HR_NEW_ARRAY(arena, end - begin, &region->is_inlined));
  HR_TRY(HR_NEW_ARRAY(arena, end - begin, &region->poll_intervals));
  for (int s = begin; s < end; s++) {
    const flat_step_t *step = region_step(region, s);
    region->is_inlined[s - begin] = step->kind == FLAT_NATIVE && can_inline(step);
  }
  for (int s = begin; s < end; s++)
    if (region_step(region, s)->kind == FLAT_WHILE) choose_poll_interval(region, s);
  find_buffers(region);
  HR_TRY(list_literals(region, arena));
  region_choose_registers(region);
  return NULL;
}

/* --- key -------------------------------------------------------------------------------------- */

static void add_words(jit_key_state_t *state, int64_t a, int64_t b, int64_t c) {
  int64_t words[] = {a, b, c};
  jit_key_add(state, words, sizeof words);
}

static void add_refs(jit_key_state_t *state, const jit_region_t *region, const flat_ref_t *refs,
                     int count) {
  for (int i = 0; i < count; i++) {
    const region_buffer_t *buffer = region_buffer_of(region, refs[i]);
    add_words(state, buffer ? buffer - region->buffers : -1, (int64_t)refs[i].offset_bytes, i);
  }
}

static void add_calls(jit_key_state_t *state, const jit_plan_t *plan) {
  add_words(state, plan->call_count, plan->copy_count, 0);
  for (int c = 0; c < plan->call_count; c++) {
    const jit_call_t *call = &plan->calls[c];
    jit_key_add(state, call->kernel->key.data, call->kernel->key.size);
    jit_key_add(state, call->in, (size_t)call->kernel->arrays.count * sizeof *call->in);
    jit_key_add(state, call->out, (size_t)call->kernel->root_count * sizeof *call->out);
    add_words(state, (int64_t)call->shared_at, (int64_t)call->private_at,
              call->kernel->schedule.phase_count);
  }
  for (int c = 0; c < plan->copy_count; c++)
    add_words(state, plan->copies[c].in, plan->copies[c].out, (int64_t)plan->copies[c].bytes);
}

static void add_step(jit_key_state_t *state, const jit_region_t *region, int s) {
  const flat_step_t *step = region_step(region, s);
  add_words(state, step->kind, s, step->end);
  add_words(state, step->control.trip_count, (int64_t)step->copy.size_bytes,
            step->control.start_count);
  add_words(state, step->in_count, step->out_count, region->is_inlined[s - region->step]);
  for (int i = 0; i < step->control.start_count; i++)
    add_words(state, step->control.starts[i], 0, 0);
  add_refs(state, region, step->in, step->in_count);
  add_refs(state, region, step->out, step->out_count);
  add_refs(state, region, &step->scratch, 1);
  add_words(state, region->poll_intervals[s - region->step], 0, 0);
  if (region->is_inlined[s - region->step]) add_calls(state, step->native.plan);
}

static hr_status_t make_region_key(const jit_region_t *region, hr_arena_t *arena,
                                   jit_key_t *out_key) {
  jit_key_state_t state;
  jit_key_start(&state, jit_target_host()->host);
  add_words(&state, region->buffer_count, region->step, region->end);
  for (int b = 0; b < region->buffer_count; b++) {
    const flat_buffer_t *buffer = &region->flat->buffers[region->buffers[b].buffer];
    add_words(&state, region->buffers[b].is_register, buffer->start < region->step,
              (int64_t)buffer->size_bytes);
    add_words(&state, buffer->start, buffer->end, 0);
  }
  for (int s = region->step; s < region->end; s++) add_step(&state, region, s);
  return jit_key_end(&state, arena, out_key);
}

/* --- planning --------------------------------------------------------------------------------- */

/* Kernels that only regions use get no function of their own. */
static void add_inlined_writers(const jit_region_t *region, jit_kernel_t *kernel) {
  for (int s = region->step; s < region->end; s++) {
    const jit_plan_t *plan = region_step(region, s)->native.plan;
    for (int c = 0; region->is_inlined[s - region->step] && c < plan->call_count; c++) {
      plan->calls[c].kernel->state.uses--;
      plan->calls[c].kernel->state.writers++;
      kernel->state.node_work += plan->calls[c].kernel->state.node_work;
    }
  }
}

static hr_status_t new_region(jit_t *jit, const flat_plan_t *flat, int step,
                              jit_kernel_t **out_kernel) {
  jit_kernel_t *kernel;
  HR_TRY(HR_NEW(&jit->arena, &kernel));
  HR_TRY(HR_VEC_RESERVE(&jit->pending, jit->pending.count + 1));
  hr_arena_init(&kernel->arena);
  jit->pending.data[jit->pending.count++] = kernel;
  HR_TRY(HR_NEW(&kernel->arena, &kernel->region));
  *kernel->region = (jit_region_t){
      .flat = flat, .step = step, .end = flat->steps[step].end, .loop = flat->steps[step]};
  kernel->target = jit_target_host();
  kernel->state.uses = 1;
  kernel->schedule.phase_count = 1;
  HR_TRY(analyse_loop(kernel->region, &kernel->arena));
  HR_TRY(make_region_key(kernel->region, &jit->arena, &kernel->key));
  add_inlined_writers(kernel->region, kernel);
  jit->counts.requests++;
  *out_kernel = kernel;
  return NULL;
}

/* The step now runs the function. The steps of its body stay for calls and for inspection. */
static hr_status_t replace_step(flat_plan_t *flat, int s, const jit_kernel_t *kernel) {
  const jit_region_t *region = kernel->region;
  flat_step_t *step = &flat->steps[s];
  region_plan_t *plan;
  flat_ref_t *in;
  void *literals;
  HR_TRY(HR_NEW(&flat->arena, &plan));
  HR_TRY(HR_NEW_ARRAY(&flat->arena, region->buffer_count + 1, &in));
  HR_TRY(hr_arena_copy(&flat->arena, region->literals,
                       (size_t)region->literal_count * sizeof(void *), &literals));
  for (int b = 0; b < region->buffer_count; b++) in[b].buffer = region->buffers[b].buffer;
  *plan = (region_plan_t){kernel, region->buffer_count, region->literal_count, literals};
  step->kind = FLAT_NATIVE;
  step->native.kernel = &jit_region_native;
  step->native.plan = plan;
  step->control.trip_count = -1;
  step->in = in;
  step->in_count = region->buffer_count;
  return NULL;
}

hr_status_t jit_find_regions(jit_t *jit, flat_plan_t *flat) {
  for (int s = 0, next; s < flat->step_count; s = next) {
    jit_kernel_t *kernel;
    next = s + 1;
    if (flat->steps[s].kind != FLAT_WHILE || !is_candidate(flat, s)) continue;
    HR_TRY(new_region(jit, flat, s, &kernel));
    HR_TRY(replace_step(flat, s, kernel));
    next = flat->steps[s].end;
  }
  return NULL;
}

/* --- running ---------------------------------------------------------------------------------- */

static hr_status_t run(const op_native_run_t *env, const void *opaque, void *const *in,
                       void *const *out) {
  const region_plan_t *plan = opaque;
  void *table[plan->buffer_count + plan->literal_count + 1];
  void *machine[] = {(void *)env, (void *)(uintptr_t)env->run_step};
  hr_status_t status = NULL;
  (void)out;
  memcpy(table, in, (size_t)plan->buffer_count * sizeof *table);
  memcpy(table + plan->buffer_count, plan->literals, (size_t)plan->literal_count * sizeof *table);
  plan->kernel->schedule.phases[0].run(table, machine, &status, 0, 0);
  return status;
}

const op_native_t jit_region_native = {"generated loop", NULL, run};
