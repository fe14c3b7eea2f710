/* Rewriting of a computation: replacement notes while it is open, and a stable topological sort at
 * the end.
 *
 * While the rewrite is open, instructions are only appended; a note per instruction holds its
 * replacement, its position and an upper bound of its uses. The end marks live instructions from
 * the root, from parameters and from effects, sorts them by position (counting sort), and lists
 * each after its operands, control predecessors and the previous instruction with an effect. The
 * depth-first search has an explicit stack, since chains of operands may be long. A cycle is an
 * error of a pass. Cost: linear in the instructions, old and new. */
#include "passes/lib/pass_rewrite.h"

#include <string.h>
#include "ops/rules/builder.h"

/* ---- effects ---- */

enum { PURITY_UNKNOWN, PURITY_PURE, PURITY_IMPURE, PURITY_EFFECT };

/* Custom calls declare their effects; other ops have them by trait. */
static int purity_of_op(const hlo_instr_t *instr) {
  bool declares = instr->op == HLO_CUSTOM_CALL;
  if (declares ? hlo_attr_bool(instr, HLO_ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT)
               : hlo_op_is(instr->op, OP_EFFECT))
    return PURITY_EFFECT;
  uint32_t traits = hlo_op_table[instr->op].traits;
  bool ordered =
      instr->op == HLO_AFTER_ALL || instr->op == HLO_ADD_DEPENDENCY || instr->op == HLO_OPT_BARRIER;
  return ordered || (traits & (OP_RANDOM | OP_COMM | OP_START | OP_DONE)) ||
                 instr->op == HLO_ASYNC_UPDATE
             ? PURITY_IMPURE
             : PURITY_PURE;
}

static int instr_purity(const hlo_instr_t *instr);

/* Computed once: no pass adds effects to a computation. */
static int purity_of_computation(hlo_computation_t *computation) {
  int worst = PURITY_PURE;
  if (computation->purity) return computation->purity;
  for (size_t i = 0; i < computation->instrs.count && worst != PURITY_EFFECT; i++) {
    int purity = instr_purity(computation->instrs.data[i]);
    if (purity > worst) worst = purity;
  }
  computation->purity = (uint8_t)worst;
  return worst;
}

static int instr_purity(const hlo_instr_t *instr) {
  int worst = purity_of_op(instr);
  for (int c = 0; c < instr->called_count && worst != PURITY_EFFECT; c++) {
    int purity = purity_of_computation(instr->called[c]);
    if (purity > worst) worst = purity;
  }
  return worst;
}

bool pass_has_effect(const hlo_instr_t *instr) { return instr_purity(instr) == PURITY_EFFECT; }
bool pass_is_pure(const hlo_instr_t *instr) { return instr_purity(instr) == PURITY_PURE; }
bool pass_must_stay(const hlo_instr_t *instr) {
  bool all_drop = hlo_op_is(instr->op, OP_COLLECTIVE) && instr->parent->module->was_global;
  return !all_drop && pass_has_effect(instr);
}

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

static void resolve_operands(const pass_rewrite_t *rewrite, hlo_instr_t *instr) {
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
  resolve_operands(rewrite, instr);
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

typedef struct finisher {
  pass_rewrite_t *rewrite;
  uint8_t *states;   /* by id */
  uint32_t *effects; /* by id of an instruction with effects: 1 + id of the previous one with
                        effects; 0: none */
  HR_VEC(hlo_instr_t *) stack;
  HR_VEC(hlo_instr_t *) list; /* in the new order */
} finisher_t;

enum { STATE_DEAD, STATE_LIVE, STATE_OPEN, STATE_LISTED };

static hr_status_t push_live(finisher_t *finisher, hlo_instr_t *instr) {
  if (finisher->states[instr->id] != STATE_DEAD) return NULL;
  finisher->states[instr->id] = STATE_LIVE;
  HR_VEC_PUSH(&finisher->stack, instr);
  return NULL;
}

static int control_count(const hlo_instr_t *instr) {
  return instr->extra ? instr->extra->control_count : 0;
}

/* Marks everything on which the stack depends, and resolves operands. */
static hr_status_t mark_operands(finisher_t *finisher) {
  while (finisher->stack.count) {
    hlo_instr_t *instr = finisher->stack.data[--finisher->stack.count];
    resolve_operands(finisher->rewrite, instr);
    for (int k = 0; k < instr->operand_count; k++) HR_TRY(push_live(finisher, instr->operands[k]));
    for (int k = 0; k < control_count(instr); k++) {
      hlo_instr_t **before = &instr->extra->control_predecessors[k];
      *before = pass_resolve(finisher->rewrite, *before);
      HR_TRY(push_live(finisher, *before));
    }
  }
  return NULL;
}

static bool is_live_root(const pass_rewrite_t *rewrite, const hlo_instr_t *instr) {
  return !rewrite->notes.data[instr->id].replacement &&
         (instr->op == HLO_PARAMETER || pass_must_stay(instr));
}

static hr_status_t mark_live(finisher_t *finisher) {
  pass_rewrite_t *rewrite = finisher->rewrite;
  hlo_computation_t *computation = rewrite->computation;
  computation->root = pass_resolve(rewrite, computation->root);
  HR_TRY(push_live(finisher, computation->root));
  HR_TRY(mark_operands(finisher));
  for (size_t i = 0; i < computation->instrs.count; i++) {
    if (!is_live_root(rewrite, computation->instrs.data[i])) continue;
    HR_TRY(push_live(finisher, computation->instrs.data[i]));
    HR_TRY(mark_operands(finisher));
  }
  return NULL;
}

/* Counting sort by position: new instructions come before the old one with their position. */
static hr_status_t sort_by_position(pass_rewrite_t *rewrite, hlo_instr_t ***out_sorted) {
  hlo_computation_t *computation = rewrite->computation;
  size_t count = computation->instrs.count;
  uint32_t *next;
  hlo_instr_t **sorted;
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, rewrite->old_count + 2, &next));
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, count, &sorted));
  for (size_t i = 0; i < count; i++) next[rewrite->notes.data[i].position + 1]++;
  for (uint32_t p = 0; p < rewrite->old_count; p++) next[p + 1] += next[p];
  for (size_t i = rewrite->old_count; i < count; i++)
    sorted[next[rewrite->notes.data[i].position]++] = computation->instrs.data[i];
  for (size_t i = 0; i < rewrite->old_count; i++) sorted[next[i]] = computation->instrs.data[i];
  *out_sorted = sorted;
  return NULL;
}

static void chain_effects(finisher_t *finisher, hlo_instr_t *const *sorted, size_t count) {
  uint32_t last = 0;
  for (size_t i = 0; i < count; i++) {
    const hlo_instr_t *instr = sorted[i];
    if (finisher->states[instr->id] == STATE_DEAD || !pass_has_effect(instr)) continue;
    finisher->effects[instr->id] = last;
    last = instr->id + 1;
  }
}

/* A predecessor of `instr` that is not listed yet; NULL: none. */
static hlo_instr_t *next_predecessor(const finisher_t *finisher, const hlo_instr_t *instr) {
  uint32_t effect = finisher->effects[instr->id];
  for (int k = 0; k < instr->operand_count; k++)
    if (finisher->states[instr->operands[k]->id] != STATE_LISTED) return instr->operands[k];
  for (int k = 0; k < control_count(instr); k++)
    if (finisher->states[instr->extra->control_predecessors[k]->id] != STATE_LISTED)
      return instr->extra->control_predecessors[k];
  if (effect && finisher->states[effect - 1] != STATE_LISTED)
    return finisher->rewrite->computation->instrs.data[effect - 1];
  return NULL;
}

/* Lists an instruction after all its predecessors: depth-first, with an explicit stack. */
static hr_status_t list_after_predecessors(finisher_t *finisher, hlo_instr_t *instr) {
  HR_VEC_PUSH(&finisher->stack, instr);
  while (finisher->stack.count) {
    hlo_instr_t *top = finisher->stack.data[finisher->stack.count - 1],
                *need = next_predecessor(finisher, top);
    if (need && finisher->states[need->id] == STATE_OPEN)
      return hlo_error_from(__FILE__, __LINE__, HR_INTERNAL, need, NULL,
                            "a pass made it depend on itself");
    finisher->states[top->id] = need ? STATE_OPEN : STATE_LISTED;
    if (need) {
      HR_VEC_PUSH(&finisher->stack, need);
    } else {
      finisher->stack.count--;
      HR_VEC_PUSH(&finisher->list, top);
    }
  }
  return NULL;
}

static hr_status_t list_all(finisher_t *finisher) {
  hlo_instr_t **sorted;
  size_t count = finisher->rewrite->computation->instrs.count;
  HR_TRY(sort_by_position(finisher->rewrite, &sorted));
  chain_effects(finisher, sorted, count);
  HR_TRY(HR_VEC_RESERVE(&finisher->list, count));
  for (size_t i = 0; i < count; i++)
    if (finisher->states[sorted[i]->id] == STATE_LIVE)
      HR_TRY(list_after_predecessors(finisher, sorted[i]));
  return NULL;
}

static void store_list(finisher_t *finisher) {
  hlo_computation_t *computation = finisher->rewrite->computation;
  for (size_t i = 0; i < finisher->list.count; i++) {
    computation->instrs.data[i] = finisher->list.data[i];
    finisher->list.data[i]->id = (uint32_t)i;
  }
  computation->instrs.count = finisher->list.count;
}

static hr_status_t normalise_list(pass_rewrite_t *rewrite) {
  finisher_t finisher = {.rewrite = rewrite};
  size_t count = rewrite->computation->instrs.count;
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, count, &finisher.states));
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, count, &finisher.effects));
  hr_status_t st = mark_live(&finisher);
  if (!st) st = list_all(&finisher);
  if (!st) store_list(&finisher);
  HR_VEC_FREE(&finisher.stack);
  HR_VEC_FREE(&finisher.list);
  return st;
}

hr_status_t pass_rewrite_end(pass_rewrite_t *rewrite, hr_status_t st) {
  hr_status_t built = hlo_builder_finish(&rewrite->builder);
  st = st ? hr_status_join(st, built) : built;
  if (!st) st = note_new(rewrite);
  bool touched = rewrite->changed || rewrite->notes.count > rewrite->old_count;
  if (!st && touched) st = normalise_list(rewrite);
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

hr_status_t pass_remove_dead(hlo_computation_t *computation) {
  pass_rewrite_t rewrite;
  HR_TRY(pass_rewrite_begin(&rewrite, computation));
  rewrite.changed = true;
  return pass_rewrite_end(&rewrite, NULL);
}

/* ---- users ---- */

hr_status_t pass_users_find(hr_arena_t *arena, const hlo_computation_t *computation,
                            pass_users_t *out_users) {
  size_t count = computation->instrs.count;
  uint32_t *first;
  HR_TRY(HR_NEW_ARRAY(arena, count + 2, &first));
  for (size_t i = 0; i < count; i++)
    for (int k = 0; k < computation->instrs.data[i]->operand_count; k++)
      first[computation->instrs.data[i]->operands[k]->id + 2]++;
  for (size_t i = 0; i < count; i++) first[i + 2] += first[i + 1];
  hlo_instr_t **users;
  HR_TRY(HR_NEW_ARRAY(arena, first[count + 1], &users));
  for (size_t i = 0; i < count; i++)
    for (int k = 0; k < computation->instrs.data[i]->operand_count; k++)
      users[first[computation->instrs.data[i]->operands[k]->id + 1]++] =
          computation->instrs.data[i];
  *out_users = (pass_users_t){first, users};
  return NULL;
}

/* ---- values ---- */

static bool is_uniform(const hlo_value_t *value) {
  const char *bytes = value->data;
  size_t element_bytes = hr_dtype_bytes(value->dtype), total = hlo_value_bytes(value);
  return value->count > 0 && total <= 65536 &&
         !memcmp(bytes, bytes + element_bytes, total - element_bytes);
}

const void *pass_splat_of(const hlo_instr_t *instr) {
  while (instr->op == HLO_BROADCAST || instr->op == HLO_RESHAPE) instr = instr->operands[0];
  if (instr->op != HLO_CONSTANT || !instr->literal || !hlo_shape_is_array(instr->shape))
    return NULL;
  return is_uniform(instr->literal) ? instr->literal->data : NULL;
}
