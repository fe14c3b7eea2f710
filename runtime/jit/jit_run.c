/* Plans of instructions that have kernels, and their execution.
 *
 * An instruction is divided into parts (fusion_form.h), each a call of one kernel. Phases of a
 * call run one after the other, units of a phase in parallel. Where every kernel has one phase,
 * the units of all calls form one parallel loop (is_flat); a single small kernel is called
 * directly with the step's own arrays (is_direct). Work below JIT_SERIAL_NS stays on the calling
 * thread.
 *
 * As a consumer (tile fusion), a plan runs per tile of its producer's result: prepare_consumer
 * asks for a kernel whose units are the tiles. */
#include <string.h>

#include "jit/jit_parts.h"
#include "ops/query/codegen_support.h"

#define CHUNK_NS 10000.0 /* least work of a chunk, taken by one worker at a time */

/* --- planning --------------------------------------------------------------------------------- */

static size_t align_bytes(size_t bytes) {
  return (bytes + HR_ALIGNMENT - 1) / HR_ALIGNMENT * HR_ALIGNMENT;
}

/* Relates the kernel's arrays to the instruction's operands (in; negative for literals of the
 * body) and its results, in order of the roots of this part, to leaves of the instruction's
 * shape (out). */
static hr_status_t fill_call(hr_arena_t *arena, const fusion_form_t *form, int part,
                             const jit_buffer_list_t *buffers, jit_call_t *call) {
  const jit_kernel_t *kernel = call->kernel;
  HR_TRY(HR_NEW_ARRAY(arena, kernel->arrays.count, &call->in));
  HR_TRY(HR_NEW_ARRAY(arena, kernel->arrays.count, &call->literals));
  HR_TRY(HR_NEW_ARRAY(arena, kernel->root_count, &call->out));
  for (int k = 0; k < kernel->arrays.count; k++) {
    const jit_buffer_t *buffer = &buffers->items[kernel->arrays.numbers[k]];
    call->in[k] = buffer->param;
    call->literals[k] = buffer->literal ? buffer->literal->data : NULL;
  }
  int leaf = 0, count = 0;
  for (int r = 0; r < form->root_count; r++) {
    int leaves = hlo_shape_leaf_count(form->roots[r]->shape);
    for (int k = 0; k < leaves; k++, leaf++)
      if (form->part_of_root[r] == part) call->out[count++] = leaf;
  }
  return NULL;
}

/* Divides the scratch: pointers of the call, memory that all phases share, then memory per
 * worker. Also counts the units and the expected nanoseconds of the plan. */
static void assign_scratch_offsets(jit_plan_t *plan, jit_call_t *call, size_t *scratch_bytes) {
  const jit_kernel_t *kernel = call->kernel;
  call->pointers_at = *scratch_bytes;
  *scratch_bytes +=
      align_bytes((size_t)(kernel->arrays.count + kernel->root_count + 1) * sizeof(void *));
  call->shared_at = *scratch_bytes;
  *scratch_bytes += align_bytes(kernel->schedule.scratch_bytes);
  call->private_at = *scratch_bytes;
  *scratch_bytes += align_bytes(kernel->schedule.worker_bytes) * (size_t)plan->workers;
  call->first_unit = plan->unit_count;
  plan->unit_count += kernel->schedule.phases[0].units;
  plan->is_flat = plan->is_flat && kernel->schedule.phase_count == 1;
  for (int p = 0; p < kernel->schedule.phase_count; p++)
    plan->ns += (double)kernel->schedule.phases[p].units * kernel->schedule.phases[p].unit_ns;
}

/* Is this memory, which the part may overwrite, also read by another part or through another
 * operand? */
static bool is_shared(const jit_plan_t *plan, const hlo_instr_t *instr, int call, int leaf) {
  for (int k = 0; k < instr->operand_count; k++)
    if (k != leaf && instr->operands[k] == instr->operands[leaf]) return true;
  for (int c = 0; c < plan->call_count; c++)
    for (int k = 0; c != call && k < plan->calls[c].kernel->arrays.count; k++)
      if (plan->calls[c].in[k] == leaf) return true;
  return false;
}

/* Lets output leaves of a call reuse the memory of its array `k`. Conditions: the kernel reads each
 * element no later than it writes it, and nothing else in the instruction reads the operand. */
static void allow_reuse_of(const jit_plan_t *plan, const hlo_instr_t *instr, int call_number, int k,
                           uint64_t *reuse, int words) {
  const jit_call_t *call = &plan->calls[call_number];
  const jit_kernel_t *kernel = call->kernel;
  int leaf = call->in[k];
  if (leaf < 0 || is_shared(plan, instr, call_number, leaf)) return;
  for (int r = 0; r < kernel->root_count; r++)
    if (native_reuses(kernel->arrays.reuse, native_reuse_words(kernel->arrays.count), r, k))
      native_reuse_add(reuse, words, call->out[r], leaf);
}

static void allow_reuse(const jit_plan_t *plan, const hlo_instr_t *instr, uint64_t *reuse,
                        int words) {
  for (int c = 0; c < plan->call_count; c++)
    for (int k = 0; k < plan->calls[c].kernel->arrays.count; k++)
      allow_reuse_of(plan, instr, c, k, reuse, words);
}

/* An update is in-place: it overwrites its first operand. */
static void plan_copies(jit_plan_t *plan, const fusion_form_t *form, uint64_t *reuse, int words) {
  for (int r = 0, leaf = 0; r < form->root_count;
       leaf += hlo_shape_leaf_count(form->roots[r]->shape), r++) {
    const hlo_instr_t *root = form->roots[r];
    if (op_codegens[root->op] != CODEGEN_UPDATE) continue;
    int from = (int)hlo_parameter_number(root->operands[0]);
    size_t bytes = (size_t)fusion_count(root->shape) * hr_dtype_bytes(root->shape->dtype);
    plan->copies[plan->copy_count++] = (jit_copy_t){from, leaf, bytes};
    memset(&reuse[leaf * words], 0, (size_t)words * sizeof *reuse);
    native_reuse_add(reuse, words, leaf, from);
  }
}

/* For small steps of loops, which should cost little more than their kernel. */
static bool is_direct(const jit_plan_t *plan, const hlo_instr_t *instr) {
  const jit_call_t *call = &plan->calls[0];
  const jit_kernel_t *kernel = call->kernel;
  if (plan->call_count != 1 || plan->copy_count || !plan->is_flat || plan->ns >= JIT_SERIAL_NS ||
      kernel->schedule.scratch_bytes)
    return false;
  for (int k = 0; k < kernel->arrays.count; k++)
    if (call->in[k] != k) return false;
  for (int r = 0; r < kernel->root_count; r++)
    if (call->out[r] != r) return false;
  return kernel->root_count == hlo_shape_leaf_count(instr->shape);
}

static hr_status_t plan_calls(jit_t *jit, hr_arena_t *arena, const jit_fusion_t *fusion,
                              jit_plan_t *plan, size_t *scratch_bytes, bool *out_declined) {
  const fusion_form_t *form = fusion->form;
  HR_TRY(HR_NEW_ARRAY(arena, form->part_count, &plan->calls));
  HR_TRY(HR_NEW_ARRAY(arena, form->root_count, &plan->copies));
  for (int part = 0; part < form->part_count; part++) {
    jit_call_t *call = &plan->calls[part];
    jit_kernel_t *kernel;
    jit_buffer_list_t buffers;
    HR_TRY(jit_request(jit, arena, fusion, part, &kernel, &buffers));
    *out_declined = kernel->state.is_declined;
    if (*out_declined) return NULL;
    call->kernel = kernel;
    HR_TRY(fill_call(arena, form, part, &buffers, call));
    assign_scratch_offsets(plan, call, scratch_bytes);
    plan->call_count++;
  }
  return NULL;
}

double jit_shape_bytes(const hlo_shape_t *shape) {
  double bytes = 0;
  for (int k = 0; k < hlo_shape_leaf_count(shape); k++) {
    const hlo_shape_t *leaf = hlo_shape_leaf(shape, k);
    bytes += (double)fusion_count(leaf) * (double)hr_dtype_bytes(leaf->dtype);
  }
  return bytes;
}

/* Does `user` read only a part of its first operand? */
static bool reads_part(const hlo_instr_t *user) {
  return user->op == HLO_SLICE || user->op == HLO_DYNAMIC_SLICE || user->op == HLO_GATHER;
}

/* Adds what an instruction reads of parameters to `bytes`, by their numbers. */
static void count_reads(const hlo_instr_t *instr, double *bytes) {
  for (int k = 0; k < instr->operand_count; k++) {
    const hlo_instr_t *from = instr->operands[k];
    if (from->op != HLO_PARAMETER || (k == 0 && op_codegens[instr->op] == CODEGEN_UPDATE)) continue;
    const hlo_shape_t *read = k == 0 && reads_part(instr) ? instr->shape : from->shape;
    bytes[hlo_parameter_number(from)] += jit_shape_bytes(read);
  }
}

/* Memory traffic of a fusion. Of arrays that only slices and gathers read, what they read counts;
 * of those that are updated, the updates. The copies of the latter are extra. */
static hr_status_t count_bytes(hr_arena_t *arena, const hlo_instr_t *instr,
                               const fusion_form_t *form, const hlo_computation_t *body,
                               const jit_plan_t *plan, op_native_step_t *out) {
  double *bytes;
  HR_TRY(HR_NEW_ARRAY(arena, instr->operand_count + 1, &bytes));
  for (size_t i = 0; i < body->instrs.count; i++) count_reads(body->instrs.data[i], bytes);
  for (int k = 0; k < instr->operand_count; k++) {
    double whole = jit_shape_bytes(instr->operands[k]->shape);
    out->bytes += bytes[k] < whole ? bytes[k] : whole;
  }
  for (int r = 0; r < form->root_count; r++) {
    const hlo_instr_t *root = form->roots[r];
    bool is_update = op_codegens[root->op] == CODEGEN_UPDATE;
    out->bytes += jit_shape_bytes((is_update ? root->operands[1] : root)->shape);
  }
  for (int c = 0; c < plan->copy_count; c++)
    out->copied_bytes += 2.0 * (double)plan->copies[c].bytes;
  return NULL;
}

static hr_status_t plan_body(const op_native_target_t *target, const hlo_instr_t *instr,
                             const hlo_computation_t *body, const op_native_grid_t *producer_grid,
                             op_native_step_t *out) {
  fusion_form_t form;
  jit_plan_t *plan;
  uint64_t *reuse;
  int words = native_reuse_words(instr->operand_count);
  size_t scratch_bytes = 0;
  bool declined = false;
  jit_fusion_t fusion = {body, &form, {.producer_grid = producer_grid}};
  HR_TRY(fusion_form_find(target->arena, body, &form));
  if (form.space.kind == FUSION_NONE) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  HR_TRY(HR_NEW_ARRAY(target->arena, words * hlo_shape_leaf_count(instr->shape) + 1, &reuse));
  plan->workers = target->workers > 0 ? target->workers : 1;
  plan->is_flat = true;
  HR_TRY(jit_leaves_caches(target->emitter, instr, &fusion.place.leaves_caches));
  HR_TRY(plan_calls(target->emitter, target->arena, &fusion, plan, &scratch_bytes, &declined));
  if (declined) return NULL;
  allow_reuse(plan, instr, reuse, words);
  plan_copies(plan, &form, reuse, words);
  plan->is_direct = is_direct(plan, instr);
  *out = (op_native_step_t){.plan = plan,
                            .scratch_bytes = scratch_bytes,
                            .reuse = reuse,
                            .reuse_words = words,
                            .parts.consumer = &jit_consumer};
  return count_bytes(target->arena, instr, &form, body, plan, out);
}

static hr_status_t instr_body(hr_arena_t *arena, const hlo_instr_t *instr,
                              const hlo_computation_t **out_body) {
  if (instr->op != HLO_FUSION) return jit_body_of(arena, instr, out_body);
  *out_body = instr->called[0];
  return NULL;
}

static hr_status_t prepare(const op_native_target_t *target, const op_step_t *step,
                           op_native_step_t *out) {
  const hlo_computation_t *body;
  if (!target->emitter || !op_can_codegen(step->instr)) return NULL;
  HR_TRY(instr_body(target->arena, step->instr, &body));
  return plan_body(target, step->instr, body, NULL, out);
}

/* --- consumers of tiles ----------------------------------------------------------------------- */

static void release_uses(const jit_plan_t *plan) {
  for (int c = 0; c < plan->call_count; c++) plan->calls[c].kernel->state.uses--;
}

/* Dependence of each call and phase on the leaf. ALL: a plan with several phases or calls cannot
 * run in parts. */
static jit_dependence_t leaf_dependence(const jit_plan_t *plan, int leaf) {
  const jit_call_t *call = &plan->calls[0];
  if (plan->call_count != 1 || !plan->is_flat) return JIT_DEPENDS_ON_ALL;
  for (int k = 0; k < call->kernel->arrays.count; k++)
    if (call->in[k] == leaf) return call->kernel->arrays.dependence[k];
  return JIT_DEPENDS_ON_ALL;
}

/* Makes a plan for this grid; none if a unit reads more of the leaf than its tile. */
static hr_status_t plan_consumer(const op_native_target_t *target, const op_step_t *step, int leaf,
                                 const op_native_grid_t *grid, op_native_step_t *out) {
  const hlo_computation_t *body;
  op_native_step_t made = {0};
  HR_TRY(instr_body(target->arena, step->instr, &body));
  HR_TRY(plan_body(target, step->instr, body, grid, &made));
  if (!made.plan) return NULL;
  jit_plan_t *plan = (jit_plan_t *)made.plan;
  if (leaf_dependence(plan, leaf) < (grid->unit ? JIT_DEPENDS_ON_ELEMENT : JIT_DEPENDS_ON_ROWS)) {
    release_uses(plan);
    return NULL;
  }
  plan->grid = *grid;
  *out = made;
  return NULL;
}

static hr_status_t prepare_consumer(const op_native_target_t *target, const op_step_t *step,
                                    const void *opaque, int leaf, op_native_grid_t *grid,
                                    op_native_step_t *out) {
  const jit_plan_t *before = opaque;
  if (before->call_count != 1 || !before->is_flat) return NULL;
  if (grid->unit) HR_TRY(plan_consumer(target, step, leaf, grid, out));
  if (!out->plan && grid->whole_rows) {
    grid->unit = 0;
    HR_TRY(plan_consumer(target, step, leaf, grid, out));
  }
  if (out->plan) release_uses(before);
  return NULL;
}

uint64_t jit_plan_hash(const void *opaque) {
  const jit_plan_t *plan = opaque;
  uint64_t hash = 0;
  for (int c = 0; c < plan->call_count; c++)
    hash = hr_hash_bytes(&plan->calls[c].kernel, sizeof plan->calls[c].kernel, hash);
  return hash;
}

const char *jit_plan_bottleneck(const void *opaque) {
  const jit_plan_t *plan = opaque;
  const jit_kernel_t *largest = NULL;
  double most = -1;
  for (int c = 0; c < plan->call_count; c++) {
    const jit_kernel_t *kernel = plan->calls[c].kernel;
    const jit_phase_t *phase = &kernel->schedule.phases[0];
    double ns = (double)phase->units * phase->unit_ns;
    if (ns > most) largest = kernel;
    if (ns > most) most = ns;
  }
  return largest ? largest->bottleneck : NULL;
}

/* --- running ---------------------------------------------------------------------------------- */

typedef struct run {
  const jit_plan_t *plan;
  char *scratch;
  int call, phase; /* current call and phase, of plans that are not flat */
} run_t;

static void run_units(const run_t *run, const jit_call_t *call, int phase, int64_t begin,
                      int64_t end, int worker) {
  void **pointers = (void **)(run->scratch + call->pointers_at);
  const jit_kernel_t *kernel = call->kernel;
  void *own =
      run->scratch + call->private_at + align_bytes(kernel->schedule.worker_bytes) * (size_t)worker;
  kernel->schedule.phases[phase].run(pointers, pointers + kernel->arrays.count, own, begin, end);
}

static void run_phase(void *context, int64_t begin, int64_t end, int worker) {
  const run_t *run = context;
  run_units(run, &run->plan->calls[run->call], run->phase, begin, end, worker);
}

/* Units of all calls, numbered through. */
static void run_flat(void *context, int64_t begin, int64_t end, int worker) {
  const run_t *run = context;
  const jit_plan_t *plan = run->plan;
  int low = 0, high = plan->call_count - 1;
  while (low < high) {
    int middle = (low + high + 1) / 2;
    if (plan->calls[middle].first_unit <= begin)
      low = middle;
    else
      high = middle - 1;
  }
  for (; begin < end; low++) {
    const jit_call_t *call = &plan->calls[low];
    int64_t last = call->first_unit + call->kernel->schedule.phases[0].units,
            stop = end < last ? end : last;
    run_units(run, call, 0, begin - call->first_unit, stop - call->first_unit, worker);
    begin = stop;
  }
}

/* Chunks take about CHUNK_NS each: units * CHUNK_NS / expected time of all units. */
static void run_parallel(const op_native_run_t *env, run_t *run, hr_workers_fn fn, int64_t units,
                         double ns) {
  hr_workers_t *workers = native_workers(env, run->plan->workers);
  if (ns < JIT_SERIAL_NS || units == 1 || hr_workers_count(workers) == 1) {
    fn(run, 0, units, 0);
    return;
  }
  int64_t grain = (int64_t)(CHUNK_NS * (double)units / ns);
  hr_workers_for(workers, units, grain > 0 ? grain : 1, fn, run);
}

static void run_in_sequence(const op_native_run_t *env, run_t *run) {
  for (run->call = 0; run->call < run->plan->call_count; run->call++) {
    const jit_kernel_t *kernel = run->plan->calls[run->call].kernel;
    for (run->phase = 0; run->phase < kernel->schedule.phase_count; run->phase++) {
      const jit_phase_t *phase = &kernel->schedule.phases[run->phase];
      run_parallel(env, run, run_phase, phase->units, (double)phase->units * phase->unit_ns);
    }
  }
}

static void set_pointers(const jit_plan_t *plan, char *scratch, void *const *in, void *const *out) {
  for (int c = 0; c < plan->call_count; c++) {
    const jit_call_t *call = &plan->calls[c];
    void **pointers = (void **)(scratch + call->pointers_at);
    for (int k = 0; k < call->kernel->arrays.count; k++)
      *pointers++ = call->in[k] >= 0 ? in[call->in[k]] : (void *)call->literals[k];
    for (int r = 0; r < call->kernel->root_count; r++) *pointers++ = out[call->out[r]];
    *pointers = scratch + call->shared_at;
  }
}

static void copy_updated(const jit_plan_t *plan, void *const *in, void *const *out) {
  for (int c = 0; c < plan->copy_count; c++) {
    const jit_copy_t *copy = &plan->copies[c];
    if (in[copy->in] != out[copy->out]) memcpy(out[copy->out], in[copy->in], copy->bytes);
  }
}

static hr_status_t run(const op_native_run_t *env, const void *opaque, void *const *in,
                       void *const *out) {
  const jit_plan_t *plan = opaque;
  run_t run = {.plan = plan, .scratch = env->scratch};
  if (plan->is_direct) {
    const jit_call_t *call = &plan->calls[0];
    call->kernel->schedule.phases[0].run(in, out, run.scratch + call->private_at, 0,
                                         plan->unit_count);
    return NULL;
  }
  set_pointers(plan, env->scratch, in, out);
  copy_updated(plan, in, out);
  if (plan->is_flat)
    run_parallel(env, &run, run_flat, plan->unit_count, plan->ns);
  else
    run_in_sequence(env, &run);
  return NULL;
}

static void begin_tiles(const op_native_run_t *env, const void *plan, void *const *in,
                        void *const *out) {
  set_pointers(plan, env->scratch, in, out);
  copy_updated(plan, in, out);
}

/* Runs this plan as the consumer of a producer's tile, on columns and rows of the grid. Units
 * are numbered column block by column block, rows within a block consecutive. */
static void run_tile(const op_native_run_t *env, const void *opaque, const op_native_part_t *part,
                     int worker) {
  const jit_plan_t *plan = opaque;
  const op_native_grid_t *grid = &plan->grid;
  run_t run = {.plan = plan, .scratch = env->scratch};
  int64_t unit = grid->unit ? grid->unit : grid->columns, first = part->column / unit;
  int64_t last = (part->column + part->columns + unit - 1) / unit;
  for (int64_t block = first; block < last; block++) {
    int64_t at = block * grid->rows + part->row;
    run_units(&run, &plan->calls[0], 0, at, at + part->rows, worker);
  }
}

const op_native_consumer_t jit_consumer = {prepare_consumer, begin_tiles, run_tile};

const op_native_t jit_native = {"generated code", prepare, run};
