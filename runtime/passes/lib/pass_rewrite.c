/* Rewriting of a computation: replacement notes while it is open. While the rewrite is open,
 * instructions are only appended; a note per instruction holds its replacement, its position and an
 * upper bound of its uses. */
#include "passes/lib/pass_rewrite.h"

#include "ops/rules/builder.h"
#include "passes/lib/pass_rewrite_own.h"

/* ---- notes ---- */

/* Adds notes for the instructions built since the last call: they get the current position. */
static hr_status_t note_new(pass_rewrite_t *rewrite) {
  size_t count = rewrite->computation->instrs.count, noted = rewrite->notes.count;
  if (noted == count) return NULL;
  HR_TRY(HR_VEC_RESERVE(&rewrite->notes, count));
  for (size_t i = noted; i < count; i++)
    rewrite->notes.data[i] = (pass_note_t){.position = rewrite->position};
  rewrite->notes.count = count;
  for (size_t i = noted; i < count; i++) {
    const hlo_instr_t *instr = rewrite->computation->instrs.data[i];
    for (int k = 0; k < instr->operand_count; k++)
      rewrite->notes.data[instr->operands[k]->id].uses++;
  }
  return NULL;
}

hr_status_t pass_rewrite_begin(pass_rewrite_t *rewrite, hlo_computation_t *computation) {
  *rewrite = (pass_rewrite_t){
      .computation = computation,
      .arena = &computation->module->arena,
      .builder = hlo_builder_at(computation, computation->line, computation->column),
      .old_count = (uint32_t)computation->instrs.count};
  hr_arena_init(&rewrite->scratch);
  hr_status_t st = note_new(rewrite);
  if (st) return pass_rewrite_end(rewrite, st);
  for (uint32_t i = 0; i < rewrite->old_count; i++) rewrite->notes.data[i].position = i;
  rewrite->notes.data[computation->root->id].uses++;
  return NULL;
}

hlo_instr_t *pass_resolve(const pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  const pass_note_t *notes = rewrite->notes.data;
  hlo_instr_t *end = instr;
  while (end->id < rewrite->notes.count && notes[end->id].replacement)
    end = notes[end->id].replacement;
  while (instr != end) { /* path compression: the next lookup is direct */
    hlo_instr_t *next = notes[instr->id].replacement;
    rewrite->notes.data[instr->id].replacement = end;
    instr = next;
  }
  return end;
}

void pass_resolve_operands(const pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  for (int k = 0; k < instr->operand_count; k++)
    instr->operands[k] = pass_resolve(rewrite, instr->operands[k]);
}

hlo_instr_t *pass_rewrite_visit(pass_rewrite_t *rewrite, uint32_t i) {
  hlo_instr_t *instr = rewrite->computation->instrs.data[i];
  if (!rewrite->builder.status) rewrite->builder.status = note_new(rewrite);
  if (rewrite->builder.status) return NULL;
  const pass_note_t *note = &rewrite->notes.data[i];
  if (note->replacement || (!note->uses && instr->op != HLO_PARAMETER && !pass_must_stay(instr)))
    return NULL;
  pass_resolve_operands(rewrite, instr);
  rewrite->position = i;
  rewrite->builder.line = instr->line;
  rewrite->builder.column = instr->column;
  return instr;
}

uint32_t pass_use_count(pass_rewrite_t *rewrite, const hlo_instr_t *instr) {
  if (!rewrite->builder.status) rewrite->builder.status = note_new(rewrite);
  return instr->id < rewrite->notes.count ? rewrite->notes.data[instr->id].uses : UINT32_MAX;
}

static bool layouts_equal(const hlo_shape_t *a, const hlo_shape_t *b) {
  for (int i = 0; i < a->element_count; i++)
    if (!layouts_equal(a->elements[i], b->elements[i])) return false;
  return hlo_layout_equal(a->layout, b->layout);
}

/* Is a dimension or leaf static in `shape` and dynamic in `other`? The shapes are compatible. */
static bool is_more_precise(const hlo_shape_t *shape, const hlo_shape_t *other) {
  for (int d = 0; d < shape->rank; d++) {
    bool is_dynamic = shape->dynamic && shape->dynamic[d];
    if (!is_dynamic && other->dynamic && other->dynamic[d]) return true;
  }
  for (int i = 0; i < shape->element_count; i++)
    if (is_more_precise(shape->elements[i], other->elements[i])) return true;
  return false;
}

/* Converts a value to a shape that is more dynamic, or has another layout, by copies. Arrays of a
 * tuple are copied one by one. */
static hlo_instr_t *copy_with_shape(pass_rewrite_t *rewrite, hlo_instr_t *value,
                                    const hlo_shape_t *shape) {
  hlo_builder_t *builder = &rewrite->builder;
  if (!value || (hlo_shape_equal(value->shape, shape) && layouts_equal(value->shape, shape)))
    return value;
  if (!hlo_shape_is_tuple(shape))
    return hlo_build(builder, HLO_COPY, shape, 1, &value, 0, NULL, 0, NULL);
  hlo_instr_t **elements;
  hr_status_t st = HR_NEW_ARRAY(&rewrite->scratch, shape->element_count, &elements);
  for (int i = 0; i < shape->element_count && !st && !builder->status; i++) {
    hlo_instr_t *element =
        value->op == HLO_TUPLE ? value->operands[i] : hlo_build_element(builder, value, i);
    elements[i] = copy_with_shape(rewrite, element, shape->elements[i]);
  }
  if (st) builder->status = st;
  return builder->status ? NULL : hlo_build_tuple(builder, shape->element_count, elements);
}

/* Keeps sizes that were declared dynamic, for users that were verified with them. *by becomes NULL,
 * and `old` stays, if the replacement would be less precise, or if `old` is such a copy already. */
static hr_status_t keep_declared_sizes(pass_rewrite_t *rewrite, const hlo_instr_t *old,
                                       hlo_instr_t **by) {
  if (hlo_shape_equal(old->shape, (*by)->shape)) return NULL;
  if (!hlo_shape_compatible(old->shape, (*by)->shape))
    return hlo_error_from(__FILE__, __LINE__, HR_INTERNAL, old, NULL,
                          "a pass replaced it by another shape");
  bool stays = old->op == HLO_COPY || is_more_precise(old->shape, (*by)->shape);
  *by = stays ? NULL : copy_with_shape(rewrite, *by, old->shape);
  if (*by || stays) return note_new(rewrite);
  return hlo_builder_finish(&rewrite->builder);
}

/* Layouts matter to bitcasts and custom calls, so a use keeps the layout it sees. */
static hr_status_t keep_layout(pass_rewrite_t *rewrite, const hlo_instr_t *old, hlo_instr_t **by) {
  if (layouts_equal(old->shape, (*by)->shape)) return NULL;
  *by = copy_with_shape(rewrite, *by, old->shape);
  HR_TRY(hlo_builder_finish(&rewrite->builder));
  return note_new(rewrite);
}

/* A new replacement inherits the source metadata. */
static hr_status_t inherit_metadata(pass_rewrite_t *rewrite, const hlo_instr_t *old,
                                    hlo_instr_t *by) {
  if (by->id < rewrite->old_count || by->extra || !old->extra || !old->extra->metadata) return NULL;
  hlo_extra_t *extra;
  HR_TRY(HR_NEW(rewrite->arena, &extra));
  extra->metadata = old->extra->metadata;
  by->extra = extra;
  return NULL;
}

hr_status_t pass_replace(pass_rewrite_t *rewrite, hlo_instr_t *old, hlo_instr_t *by) {
  if (!by) return rewrite->builder.status ? hlo_builder_finish(&rewrite->builder) : NULL;
  HR_TRY(note_new(rewrite));
  by = pass_resolve(rewrite, by);
  if (by == old) return NULL;
  HR_TRY(keep_declared_sizes(rewrite, old, &by));
  if (!by) return NULL;
  HR_TRY(keep_layout(rewrite, old, &by));
  HR_TRY(inherit_metadata(rewrite, old, by));
  pass_note_t *notes = rewrite->notes.data;
  notes[by->id].uses += notes[old->id].uses;
  notes[old->id].uses = 0;
  notes[old->id].replacement = by;
  for (int k = 0; k < old->operand_count; k++) {
    pass_note_t *operand = &notes[pass_resolve(rewrite, old->operands[k])->id];
    if (operand->uses) operand->uses--;
  }
  rewrite->changed = true;
  return NULL;
}

/* ---- copies ---- */

/* Control predecessors belong to the original computation: pass_clone_body maps them to their
 * copies. */
static hr_status_t extra_of_clone(pass_rewrite_t *rewrite, const hlo_instr_t *from,
                                  const hlo_extra_t **out_extra) {
  hlo_extra_t *extra;
  *out_extra = from->extra;
  if (!from->extra || !from->extra->control_count) return NULL;
  HR_TRY(HR_NEW(rewrite->arena, &extra));
  *extra = *from->extra;
  extra->control_predecessors = NULL;
  extra->control_count = 0;
  *out_extra = extra;
  return NULL;
}

hlo_instr_t *pass_clone(pass_rewrite_t *rewrite, const hlo_instr_t *from,
                        hlo_instr_t *const *operands) {
  hlo_builder_t *builder = &rewrite->builder;
  hlo_instr_def_t def = hlo_instr_def_of(from, operands);
  hlo_instr_t *clone = NULL;
  for (int k = 0; k < from->operand_count; k++)
    if (!operands[k]) return NULL;
  if (!builder->status) builder->status = extra_of_clone(rewrite, from, &def.extra);
  if (!builder->status) builder->status = hlo_instr_add(rewrite->computation, &def, &clone);
  if (clone) clone->async_sugar = from->async_sugar;
  return builder->status ? NULL : clone;
}

/* Copies control predecessors; parameters precede everything anyway. */
static hr_status_t copy_order(pass_rewrite_t *rewrite, const hlo_instr_t *from,
                              hlo_instr_t *const *copies) {
  if (!from->extra || !from->extra->control_count || from->op == HLO_PARAMETER) return NULL;
  hlo_extra_t *extra =
      (hlo_extra_t *)copies[from->id]->extra; /* not shared with other instructions */
  HR_TRY(HR_NEW_ARRAY(rewrite->arena, from->extra->control_count, &extra->control_predecessors));
  for (int k = 0; k < from->extra->control_count; k++) {
    const hlo_instr_t *before = from->extra->control_predecessors[k];
    if (before->op != HLO_PARAMETER)
      extra->control_predecessors[extra->control_count++] = copies[before->id];
  }
  return NULL;
}

hlo_instr_t *pass_clone_body(pass_rewrite_t *rewrite, const hlo_computation_t *callee,
                             hlo_instr_t *const *args) {
  hlo_builder_t *builder = &rewrite->builder;
  hlo_instr_t **copies, **operands;
  int max_operands = 1;
  for (size_t i = 0; i < callee->instrs.count; i++)
    if (callee->instrs.data[i]->operand_count > max_operands)
      max_operands = callee->instrs.data[i]->operand_count;
  hr_arena_mark_t mark = hr_arena_mark(&rewrite->scratch);
  if (!builder->status)
    builder->status = HR_NEW_ARRAY(&rewrite->scratch, callee->instrs.count, &copies);
  if (!builder->status) builder->status = HR_NEW_ARRAY(&rewrite->scratch, max_operands, &operands);
  for (size_t i = 0; i < callee->instrs.count && !builder->status; i++) {
    const hlo_instr_t *instr = callee->instrs.data[i];
    for (int k = 0; k < instr->operand_count; k++) operands[k] = copies[instr->operands[k]->id];
    copies[i] = instr->op == HLO_PARAMETER ? args[hlo_parameter_number(instr)]
                                           : pass_clone(rewrite, instr, operands);
  }
  for (size_t i = 0; i < callee->instrs.count && !builder->status; i++)
    builder->status = copy_order(rewrite, callee->instrs.data[i], copies);
  hlo_instr_t *result = builder->status ? NULL : copies[callee->root->id];
  hr_arena_rewind(&rewrite->scratch, mark);
  return result;
}

/* ---- the end ---- */

hr_status_t pass_rewrite_end(pass_rewrite_t *rewrite, hr_status_t st) {
  hr_status_t built = hlo_builder_finish(&rewrite->builder);
  st = st ? hr_status_join(st, built) : built;
  if (!st) st = note_new(rewrite);
  bool touched = rewrite->changed || rewrite->notes.count > rewrite->old_count;
  if (!st && touched) st = pass_rewrite_sort(rewrite);
  HR_VEC_FREE(&rewrite->notes);
  hr_arena_deinit(&rewrite->scratch);
  return st;
}

hr_status_t pass_rewrite_each(hlo_computation_t *computation, pass_visit_fn visit, void *context,
                              bool *out_changed) {
  pass_rewrite_t rewrite;
  hr_status_t st = NULL;
  HR_TRY(pass_rewrite_begin(&rewrite, computation));
  for (uint32_t i = 0; i < rewrite.old_count && !st; i++) {
    hlo_instr_t *instr = pass_rewrite_visit(&rewrite, i);
    if (instr) st = visit(&rewrite, instr, context);
  }
  *out_changed |= rewrite.changed;
  return pass_rewrite_end(&rewrite, st);
}

hr_status_t pass_rewrite_module(hlo_module_t *module, pass_visit_fn visit, void *context,
                                bool *out_changed) {
  size_t count = module->computations.count;
  for (size_t c = 0; c < count; c++)
    HR_TRY(pass_rewrite_each(module->computations.data[c], visit, context, out_changed));
  return module->computations.count > count ? pass_computations_order(module) : NULL;
}

hr_status_t pass_rewrite_unfused(hlo_module_t *module, pass_computation_fn rewrite,
                                 bool *out_changed) {
  size_t count = module->computations.count;
  for (size_t c = 0; c < count; c++)
    if (!module->computations.data[c]->is_fusion)
      HR_TRY(rewrite(module->computations.data[c], out_changed));
  return module->computations.count > count ? pass_computations_order(module) : NULL;
}

hr_status_t pass_remove_dead(hlo_computation_t *computation) {
  pass_rewrite_t rewrite;
  HR_TRY(pass_rewrite_begin(&rewrite, computation));
  rewrite.changed = true;
  return pass_rewrite_end(&rewrite, NULL);
}
