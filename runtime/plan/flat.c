/* Building a flat plan, in this order:
 *
 *   analyse -> parameters -> lay out the entry -> results -> pin operands of transfers
 *   -> hoist prepacking -> fuse tiles -> find views -> coalesce buffers
 *   -> pair results with arguments -> share gathered arrays
 *   -> assign arena offsets -> drop void copies and renumber steps
 *
 * Until the last stage step numbers are stable and lifetimes are intervals of them. */
#include "plan/flat.h"

#include <string.h>

#include "base/mem.h"
#include "base/mem_limit.h"
#include "ops/query/device_assignment.h"
#include "plan/flat_build.h"

#define FREE_STEPS 300000 /* steps that a program of any size may have */

/* --- parameters and results --- */

/* Marks the parameters that a list of the module says are given away. */
static void mark_given(flat_builder_t *builder, const flat_ref_t *const *params,
                       const hlo_aliasing_t *given) {
  const hlo_computation_t *entry = builder->flat->plan->module->entry;
  for (int i = 0; i < given->count; i++) {
    const hlo_alias_t *alias = &given->aliases[i];
    if (alias->operand < 0 || (size_t)alias->operand >= entry->params.count) continue;
    int leaf = hlo_shape_leaf_at(entry->params.data[alias->operand]->shape, alias->operand_index);
    if (leaf >= 0) builder->param_is_given[params[alias->operand] - builder->params + leaf] = true;
  }
}

static hr_status_t add_params(flat_builder_t *builder, const flat_ref_t ***out_params) {
  const hlo_module_t *module = builder->flat->plan->module;
  const hlo_computation_t *entry = module->entry;
  flat_plan_t *flat = builder->flat;
  int leaf = 0;
  flat->param_count = hlo_computation_param_leaf_count(entry);
  HR_TRY(HR_NEW_ARRAY(builder->arena, flat->param_count, &builder->params));
  HR_TRY(HR_NEW_ARRAY(builder->arena, flat->param_count, &builder->param_shapes));
  HR_TRY(HR_NEW_ARRAY(builder->arena, flat->param_count, &builder->param_is_taken));
  HR_TRY(HR_NEW_ARRAY(builder->arena, flat->param_count, &builder->param_is_given));
  HR_TRY(HR_NEW_ARRAY(&builder->scratch, entry->params.count, out_params));
  for (size_t p = 0; p < entry->params.count; p++) {
    const hlo_shape_t *shape = entry->params.data[p]->shape;
    (*out_params)[p] = &builder->params[leaf];
    for (int i = 0; i < hlo_shape_leaf_count(shape); i++, leaf++) {
      size_t bytes;
      const hlo_shape_t *of = hlo_shape_leaf(shape, i);
      builder->param_shapes[leaf] = of;
      builder->params[leaf] = (flat_ref_t){-1, 0};
      if (!hlo_shape_is_array(of)) continue;
      HR_TRY(hlo_shape_bytes(of, &bytes));
      HR_TRY(flat_buffer_add(builder, FLAT_PARAM, bytes, &builder->params[leaf].buffer));
      builder->buffers.data[builder->params[leaf].buffer].index = leaf;
    }
  }
  mark_given(builder, *out_params, &module->input_output_alias);
  mark_given(builder, *out_params, &module->buffer_donor);
  return NULL;
}

/* A value computed only for this result moves to the result's storage. Other values are copied;
 * arguments and literals are referred to. */
static hr_status_t set_result_storage(flat_builder_t *builder, int leaf, flat_ref_t from) {
  flat_result_t *result = &builder->flat->results[leaf];
  size_t bytes;
  if (from.buffer < 0) {
    result->origin = FLAT_FROM_NOTHING;
    return NULL;
  }
  HR_TRY(hlo_shape_bytes(result->shape, &bytes));
  flat_buffer_t *buffer = &builder->buffers.data[flat_root(builder->buffers.data, from.buffer)];
  bool is_whole = !from.offset_bytes && buffer->size_bytes == bytes;
  buffer->end = flat_now(builder);
  if (is_whole && buffer->storage == FLAT_PARAM) {
    result->origin = FLAT_FROM_PARAM;
    result->param = buffer->index;
  } else if (is_whole && buffer->storage == FLAT_LITERAL) {
    result->origin = FLAT_FROM_LITERAL;
    result->literal = buffer->literal;
  } else if (is_whole && buffer->storage == FLAT_ARENA) {
    buffer->storage = FLAT_RESULT;
    buffer->index = leaf;
  } else {
    flat_ref_t to = {-1, 0};
    HR_TRY(flat_buffer_add(builder, FLAT_RESULT, bytes, &to.buffer));
    builder->buffers.data[to.buffer].start = flat_now(builder);
    builder->buffers.data[to.buffer].index = leaf;
    const plan_body_t *entry = builder->flat->plan->entry;
    return flat_copy_add(builder, entry->step_count ? &entry->steps[entry->step_count - 1] : NULL,
                         from, to, bytes);
  }
  return NULL;
}

static hr_status_t set_results_storage(flat_builder_t *builder, const flat_ref_t *root) {
  flat_plan_t *flat = builder->flat;
  const hlo_shape_t *shape = hlo_entry_result_shape(flat->plan->module);
  flat->result_count = hlo_shape_leaf_count(shape);
  HR_TRY(HR_NEW_ARRAY(builder->arena, flat->result_count, &flat->results));
  for (int r = 0; r < flat->result_count; r++) {
    flat->results[r].shape = hlo_shape_leaf(shape, r);
    flat->results[r].alias_param = -1;
    HR_TRY(set_result_storage(builder, r, root[r]));
  }
  for (size_t b = 0; b < builder->buffers.count; b++)
    if (builder->buffers.data[b].storage == FLAT_RESULT)
      builder->buffers.data[b].end = flat_now(builder);
  for (int r = 0; r < flat->result_count; r++)
    if (flat->results[r].origin == FLAT_FROM_PARAM) flat_touch(builder, root[r], flat_now(builder));
  return NULL;
}

/* --- final steps --- */

static bool is_void_copy(const flat_builder_t *builder, const flat_step_t *step) {
  const flat_buffer_t *buffers = builder->buffers.data;
  return step->kind == FLAT_COPY && step->in[0].buffer >= 0 &&
         step->in[0].offset_bytes == step->out[0].offset_bytes &&
         flat_root(buffers, step->in[0].buffer) == flat_root(buffers, step->out[0].buffer);
}

/* Emits the steps hoisted to before step `before`; jumps to `before` then reach them first. */
static int emit_hoisted(flat_builder_t *builder, int before, int count_kept) {
  for (size_t i = 0; i < builder->hoisted.count; i++)
    if (builder->hoisted.data[i].index == before)
      builder->flat->steps[count_kept++] = builder->hoisted.data[i].step;
  return count_kept;
}

/* Drops void copies and fused steps; number[s]: the new number of step s. */
static void compact_steps(flat_builder_t *builder, int *number) {
  int count_kept = 0, count = flat_now(builder);
  for (int s = 0; s < count; s++) {
    number[s] = count_kept;
    count_kept = emit_hoisted(builder, s, count_kept);
    const flat_step_t *step = &builder->steps.data[s];
    if (!step->copy.is_removed && !is_void_copy(builder, step))
      builder->flat->steps[count_kept++] = *step;
  }
  number[count] = count_kept;
  builder->flat->step_count = count_kept;
}

static hr_status_t finish_steps(flat_builder_t *builder) {
  flat_plan_t *flat = builder->flat;
  int *number, count = flat_now(builder);
  HR_TRY(HR_NEW_ARRAY(&builder->scratch, count + 1, &number));
  HR_TRY(HR_NEW_ARRAY(builder->arena, (size_t)count + builder->hoisted.count, &flat->steps));
  compact_steps(builder, number);
  for (int s = 0; s < flat->step_count; s++) {
    flat_step_t *step = &flat->steps[s];
    step->end = step->end ? number[step->end] : s + 1; /* end 0: a hoisted step */
    for (int i = 0; i < step->control.start_count; i++)
      ((int *)step->control.starts)[i] = number[step->control.starts[i]];
  }
  for (int b = 0; b < flat->buffer_count; b++) {
    flat_buffer_t *buffer = &flat->buffers[b];
    if (buffer->start >= 0) buffer->start = number[buffer->start];
    if (buffer->end >= 0) buffer->end = number[buffer->end];
  }
  return NULL;
}

/* Arena and results together must fit into physical memory, unless the plan is only inspected. */
static hr_status_t check_memory(const flat_plan_t *flat) {
  size_t physical = hr_mem_physical_bytes(), bytes = flat->arena_bytes;
  for (int g = 0; g < flat->shared_count; g++) bytes += 2 * flat->shared[g].size_bytes;
  for (int b = 0; b < flat->buffer_count && bytes <= physical; b++)
    if (flat->buffers[b].storage == FLAT_RESULT && flat->buffers[b].coalesced_into < 0)
      bytes += flat->buffers[b].size_bytes;
  if (bytes <= physical || hr_mem_is_any_machine()) return NULL;
  return hr_mem_too_large("what the program computes at a time needs", bytes);
}

static bool is_in_arena(const flat_buffer_t *buffer) {
  return buffer->storage == FLAT_ARENA && buffer->coalesced_into < 0 && !buffer->is_unused;
}

static hr_status_t assign_arena_offsets(flat_builder_t *builder) {
  flat_plan_t *flat = builder->flat;
  flat_item_t *items;
  int count = 0;
  HR_TRY(HR_NEW_ARRAY(&builder->scratch, flat->buffer_count, &items));
  for (int b = 0; b < flat->buffer_count; b++) {
    const flat_buffer_t *buffer = &flat->buffers[b];
    if (is_in_arena(buffer))
      items[count++] = (flat_item_t){buffer->size_bytes, 0, buffer->start, buffer->end};
  }
  HR_TRY(flat_assign_offsets(&builder->scratch, items, count, flat_now(builder) + 1,
                             &flat->arena_bytes));
  count = 0;
  for (int b = 0; b < flat->buffer_count; b++)
    if (is_in_arena(&flat->buffers[b])) flat->buffers[b].offset_bytes = items[count++].offset_bytes;
  return check_memory(flat);
}

static hr_status_t copy_buffers(flat_builder_t *builder) {
  void *copy;
  flat_plan_t *flat = builder->flat;
  flat->buffer_count = (int)builder->buffers.count;
  flat->slot_count = builder->slot_count;
  HR_TRY(hr_arena_copy(builder->arena, builder->buffers.data,
                       builder->buffers.count * sizeof(flat_buffer_t), &copy));
  flat->buffers = copy;
  return NULL;
}

/* --- stages --- */

static hr_status_t build(flat_builder_t *builder) {
  const flat_ref_t **params, *root;
  HR_TRY(add_params(builder, &params));
  HR_TRY(flat_body_add(builder, builder->flat->plan->module->entry, params, &root));
  HR_TRY(set_results_storage(builder, root));
  flat_pin_operands(builder);
  HR_TRY(flat_hoist_prepack(builder));
  HR_TRY(flat_fuse_tiles(builder));
  HR_TRY(flat_find_views(builder));
  flat_coalesce_buffers(builder);
  flat_fuse_storage(builder);
  HR_TRY(flat_pair_results(builder));
  HR_TRY(copy_buffers(builder));
  HR_TRY(flat_overlay_results(builder));
  HR_TRY(flat_share_gathers(builder));
  HR_TRY(assign_arena_offsets(builder));
  return finish_steps(builder);
}

static bool needs_reference(const flat_builder_t *builder) {
  const hlo_module_t *module = builder->flat->plan->module;
  const flat_analysis_t *entry = &builder->analysis[module->entry->id];
  for (size_t p = 0; p < module->entry->params.count; p++)
    if (entry->is_boxed[module->entry->params.data[p]->id]) return true;
  return entry->is_dynamic || entry->is_boxed[module->entry->root->id] ||
         op_is_split_by_device(module);
}

/* Signature of op_native_target_t.add_cleanup. If the object cannot be recorded, it is destroyed at
 * once, since its owner fails as well. */
static hr_status_t add_cleanup(void *context, void (*destroy)(void *object), void *object) {
  flat_plan_t *flat = context;
  flat_cleanup_t *cleanup;
  hr_status_t st = HR_NEW(&flat->arena, &cleanup);
  if (st) {
    destroy(object);
    return st;
  }
  *cleanup = (flat_cleanup_t){destroy, object, flat->cleanups};
  flat->cleanups = cleanup;
  return NULL;
}

/* Uses multiply when computations call each other: n levels of two branches each have 2^n. */
static size_t most_steps(const hlo_module_t *module) {
  size_t count = FREE_STEPS;
  for (size_t c = 0; c < module->computations.count; c++)
    count += module->computations.data[c]->instrs.count;
  return count;
}

static hr_status_t build_in_scratch(flat_plan_t *flat, const flat_options_t *options) {
  flat_builder_t builder = {.flat = flat,
                            .arena = &flat->arena,
                            .options = options,
                            .most_steps = most_steps(flat->plan->module)};
  builder.target = (op_native_target_t){.arena = &flat->arena,
                                        .workers = options->workers,
                                        .add_cleanup = add_cleanup,
                                        .context = flat,
                                        .emitter = options->emitter_context,
                                        .generated = options->emitter};
  hr_arena_init(&builder.scratch);
  hr_status_t st = flat_analyse(&builder.scratch, flat->plan, &builder.analysis);
  if (!st) flat->is_reference = needs_reference(&builder);
  if (!st && !flat->is_reference) st = build(&builder);
  HR_VEC_FREE(&builder.steps);
  HR_VEC_FREE(&builder.buffers);
  HR_VEC_FREE(&builder.carries);
  HR_VEC_FREE(&builder.hoisted);
  hr_arena_deinit(&builder.scratch);
  return st;
}

hr_status_t flat_plan_create(const plan_t *plan, const flat_options_t *options,
                             flat_plan_t **out_flat) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(flat_plan_t), &memory));
  flat_plan_t *flat = memory;
  hr_arena_init(&flat->arena);
  flat->plan = plan;
  flat->workers = options->workers;
  hr_status_t st = build_in_scratch(flat, options);
  if (st)
    flat_plan_destroy(flat);
  else
    *out_flat = flat;
  return st;
}

void flat_plan_destroy(flat_plan_t *flat) {
  if (!flat) return;
  for (flat_cleanup_t *cleanup = flat->cleanups; cleanup; cleanup = cleanup->next)
    cleanup->destroy(cleanup->object);
  hr_arena_deinit(&flat->arena);
  hr_free(flat);
}
