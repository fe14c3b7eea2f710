/* Scalar replacement in regions: which arrays are in registers instead of memory.
 *
 * An array qualifies if it is small, if only inlined kernels without loops and plain copies
 * access it, all as elements of one type, and always as a whole, at constant indices, or one
 * element at a time. Every access of a step is checked; one that does not fit forbids the array.
 * Copies between two arrays propagate the decision until nothing changes. */
#include "jit/graph/region.h"

#define REGISTER_BYTES 256

int region_lanes_of(const jit_kernel_t *kernel) {
  bool is_loop = kernel->form.space.kind == FUSION_LOOP;
  const jit_nest_t *nest = is_loop ? &kernel->loops.nest : &kernel->loops.within;
  if (!is_loop &&
      (!kernel->has_rows || kernel->loops.nest.rank || kernel->schedule.phase_count > 1))
    return 0;
  if (!nest->rank) return 1;
  if (nest->rank > 1 || nest->sizes[0] > REGION_LANES || kernel->loops.has_tiles) return 0;
  int64_t vectors = (nest->sizes[0] + kernel->loops.lanes - 1) / kernel->loops.lanes;
  return vectors * kernel->graph->node_count <= 200 ? (int)nest->sizes[0] : 0;
}

static void forbid_register(jit_region_t *region, flat_ref_t ref) {
  region_buffer_t *buffer = region_buffer_of(region, ref);
  if (buffer) buffer->is_register = false;
}

/* Records an access to the buffer as `count` elements of a type; another view forbids a
 * register. */
static region_buffer_t *record_access(jit_region_t *region, flat_ref_t ref, hr_dtype_t dtype,
                                      int64_t count) {
  region_buffer_t *buffer = region_buffer_of(region, ref);
  if (!buffer || !buffer->is_register) return NULL;
  if (!buffer->reg.count) buffer->reg = (jit_register_t){.dtype = dtype, .count = (int)count};
  bool is_same = buffer->reg.dtype == dtype && buffer->reg.count == count && !ref.offset_bytes;
  size_t bytes = region->flat->buffers[buffer->buffer].size_bytes;
  buffer->is_register =
      is_same && (size_t)count * hr_dtype_bytes(dtype) == bytes && count <= REGION_LANES;
  return buffer->is_register ? buffer : NULL;
}

static int64_t buffer_element_count(const jit_region_t *region, flat_ref_t ref, hr_dtype_t dtype) {
  const flat_buffer_t *buffers = region->flat->buffers;
  return (int64_t)(buffers[flat_root(buffers, ref.buffer)].size_bytes / hr_dtype_bytes(dtype));
}

/* Is it an access to one element at a variable index of an array of several vectors? Such an array
 * is better kept in memory. */
static bool is_dynamic_lane(const jit_kernel_t *kernel, const jit_expr_t *index, int lanes,
                            size_t bytes) {
  bool is_spread = lanes > 1 && index->vars & 1;
  return index->count && !is_spread && bytes > (size_t)kernel->target->vector_bytes;
}

static void record_load(jit_region_t *region, const jit_kernel_t *kernel, const jit_node_t *node,
                        flat_ref_t ref) {
  int lanes = region_lanes_of(kernel);
  int64_t count = buffer_element_count(region, ref, node->dtype);
  region_buffer_t *buffer = record_access(region, ref, node->dtype, count);
  if (!buffer || count == 1) return;
  if (!lanes || !jit_register_can_read(&kernel->graph->exprs, node->expr, lanes > 1 ? 0 : -1) ||
      is_dynamic_lane(kernel, node->expr, lanes, (size_t)count * hr_dtype_bytes(node->dtype)))
    buffer->is_register = false;
}

static void record_store(jit_region_t *region, const jit_kernel_t *kernel, const jit_root_t *root,
                         flat_ref_t ref) {
  int lanes = region_lanes_of(kernel);
  int64_t count = buffer_element_count(region, ref, root->dtype);
  region_buffer_t *buffer = record_access(region, ref, root->dtype, count);
  if (!buffer || count == 1) return;
  if (!lanes || !jit_register_can_write(root->index, lanes > 1 ? 0 : -1, lanes, (int)count) ||
      is_dynamic_lane(kernel, root->index, lanes, (size_t)count * hr_dtype_bytes(root->dtype)))
    buffer->is_register = false;
}

static void record_call(jit_region_t *region, const flat_step_t *step, const jit_call_t *call) {
  const jit_kernel_t *kernel = call->kernel;
  for (const jit_node_t *node = kernel->graph->first_made; node; node = node->next_made)
    if (node->kind == JIT_LOAD && call->in[node->number] >= 0)
      record_load(region, kernel, node, step->in[call->in[node->number]]);
  for (int r = 0; r < kernel->root_count; r++)
    record_store(region, kernel, &kernel->roots[r], step->out[call->out[r]]);
}

static void record_kernels(jit_region_t *region, const flat_step_t *step) {
  const jit_plan_t *plan = step->native.plan;
  for (int c = 0; c < plan->call_count; c++) record_call(region, step, &plan->calls[c]);
  for (int c = 0; c < plan->copy_count; c++) {
    flat_ref_t from = step->in[plan->copies[c].in], to = step->out[plan->copies[c].out];
    if (region_buffer_of(region, from) == region_buffer_of(region, to)) continue;
    forbid_register(region, from);
    forbid_register(region, to);
  }
}

static void record_predicate(jit_region_t *region, const flat_step_t *step) {
  const plan_step_t *source = step->source;
  if (!step->in_count) return;
  bool is_index = step->kind == FLAT_CONDITIONAL && source->op.in_shapes[0]->dtype != HR_PRED;
  record_access(region, step->in[0], is_index ? HR_S32 : HR_PRED, 1);
}

/* Only a copy of the whole array can be a copy of a register. */
static bool copies_whole_buffer(const jit_region_t *region, const flat_step_t *step) {
  const flat_buffer_t *from = &region->flat->buffers[region_buffer_of(region, step->in[0])->buffer];
  const flat_buffer_t *to = &region->flat->buffers[region_buffer_of(region, step->out[0])->buffer];
  return !step->in[0].offset_bytes && !step->out[0].offset_bytes &&
         from->size_bytes == to->size_bytes;
}

static void forbid_all(jit_region_t *region, const flat_step_t *step) {
  for (int i = 0; i < step->in_count; i++) forbid_register(region, step->in[i]);
  for (int i = 0; i < step->out_count; i++) forbid_register(region, step->out[i]);
}

static void record_step(jit_region_t *region, int s) {
  const flat_step_t *step = region_step(region, s);
  if (step->kind == FLAT_WHILE || step->kind == FLAT_CONDITIONAL)
    record_predicate(region, step);
  else if (step->kind == FLAT_NATIVE && region->is_inlined[s - region->step])
    record_kernels(region, step);
  else if (step->kind != FLAT_COPY || !copies_whole_buffer(region, step))
    forbid_all(region, step);
}

/* Registers that are copied to each other have one type, which may be known for one of them
 * only. */
static bool unify_copy_types(jit_region_t *region, const flat_step_t *step) {
  region_buffer_t *from = region_buffer_of(region, step->in[0]),
                  *to = region_buffer_of(region, step->out[0]);
  if (!from->is_register || !to->is_register) return false;
  bool learns = !from->reg.count != !to->reg.count;
  if (!from->reg.count) from->reg = to->reg;
  if (!to->reg.count) to->reg = from->reg;
  to->is_register = from->reg.dtype == to->reg.dtype && from->reg.count == to->reg.count;
  return learns || !to->is_register;
}

void region_choose_registers(jit_region_t *region) {
  const flat_plan_t *flat = region->flat;
  int end = region->end;
  for (int b = 0; b < region->buffer_count; b++)
    region->buffers[b].is_register =
        flat->buffers[region->buffers[b].buffer].size_bytes <= REGISTER_BYTES;
  for (int s = region->step; s < end; s++) record_step(region, s);
  for (bool changed = true; changed;) {
    changed = false;
    for (int s = region->step; s < end; s++)
      if (flat->steps[s].kind == FLAT_COPY && unify_copy_types(region, region_step(region, s)))
        changed = true;
  }
  for (int b = 0; b < region->buffer_count; b++)
    if (!region->buffers[b].reg.count) region->buffers[b].is_register = false;
}
