/* Normalisation of a global program. A function that is called twice may be cut in two ways, so
 * calls are inlined and bodies of control flow copied until each has one caller. A constant used
 * twice may be cut in two ways, so each use gets a copy. Later passes merge equal constants and
 * equal bodies again. Cost: linear in the result; copies of constants stop at a budget. */
#include "partition/annotations/normalize.h"

#include "ops/query/custom_call_table.h"
#include "passes/cleanup/inline_calls.h"
#include "passes/lib/pass_match.h"
#include "passes/lib/pass_rewrite.h"

static const struct {
  const char *target;
  spmd_marker_t marker;
} markers[] = {{"Sharding", SPMD_CONSTRAINT},
               {"xla.sdy.FuncResultSharding", SPMD_RESULT},
               {"xla.sdy.PropagationBarrier", SPMD_BARRIER},
               {"xla.sdy.ShardingGroup", SPMD_GROUP},
               {"InspectSharding", SPMD_INSPECT},
               {"xla.sdy.GlobalToLocalShape", SPMD_ENTER_MANUAL},
               {"xla.sdy.LocalToGlobalShape", SPMD_LEAVE_MANUAL},
               {"SPMDFullToShardShape", SPMD_FULL_TO_SHARD},
               {"SPMDShardToFullShape", SPMD_SHARD_TO_FULL}};

spmd_marker_t spmd_marker_of(const hlo_instr_t *instr) {
  if (instr->op != HLO_CUSTOM_CALL) return SPMD_NO_MARKER;
  hr_str_t target = hlo_attr_str(instr, HLO_ATTR_CUSTOM_CALL_TARGET);
  for (size_t i = 0; i < sizeof markers / sizeof *markers; i++)
    if (hr_str_is(target, markers[i].target)) return markers[i].marker;
  return SPMD_NO_MARKER;
}

static bool is_plain_call(const hlo_instr_t *instr) {
  return instr->op == HLO_CALL || instr->op == HLO_FUSION;
}

bool spmd_is_manual_call(const hlo_instr_t *instr) {
  static const char prefix[] = "xla.sdy.manual_computation_body";
  if (instr->op != HLO_CALL) return false;
  hr_str_t name = instr->called[0]->name;
  if (name.size >= sizeof prefix - 1 &&
      hr_str_equal((hr_str_t){name.data, sizeof prefix - 1}, HR_STR(prefix)))
    return true;
  for (int k = 0; k < instr->operand_count; k++) {
    const hlo_instr_t *operand = instr->operands[k];
    if (operand->op == HLO_GET_TUPLE_ELEMENT) operand = operand->operands[0];
    if (spmd_marker_of(operand) == SPMD_ENTER_MANUAL) return true;
  }
  return false;
}

/* --- calls --- */

/* State shared by the steps of the normalisation. */
typedef struct normalizer {
  hlo_module_t *module; /* changed in place */
  hr_arena_t scratch;
  bool *claimed; /* by computation id: has a caller */
  size_t claimed_count;
  int64_t budget; /* instructions that copies of constants may add */
} normalizer_t;

/* True if a marker makes results of the call global: then it is a manual body even without
 * operands.
 */
static bool feeds_global(const hlo_instr_t *call) {
  const hlo_computation_t *computation = call->parent;
  for (size_t i = call->id + 1; i < computation->instrs.count; i++) {
    const hlo_instr_t *user = computation->instrs.data[i];
    if (spmd_marker_of(user) != SPMD_LEAVE_MANUAL) continue;
    for (int k = 0; k < user->operand_count; k++) {
      const hlo_instr_t *operand = user->operands[k];
      if (operand == call || (operand->op == HLO_GET_TUPLE_ELEMENT && operand->operands[0] == call))
        return true;
    }
  }
  return false;
}

static bool may_inline(const hlo_instr_t *call, const void *context) {
  (void)context;
  return !spmd_is_manual_call(call) && (call->operand_count || !feeds_global(call));
}

static hr_status_t inline_all(hlo_module_t *module) {
  for (size_t c = 0; c < module->computations.count; c++) {
    hlo_computation_t *computation = module->computations.data[c];
    bool any = false;
    for (size_t i = 0; i < computation->instrs.count; i++)
      any |= is_plain_call(computation->instrs.data[i]);
    if (any) HR_TRY(pass_inline(computation, may_inline, NULL));
  }
  return NULL;
}

/* --- private bodies --- */

/* True if the values of the called computations have shardings, unlike those of reducers. */
static bool has_body_values(const hlo_instr_t *instr) {
  return instr->op == HLO_WHILE || instr->op == HLO_CONDITIONAL || instr->op == HLO_CALL;
}

/* Callers have larger ids than their callees: one pass from the end is enough. */
hr_status_t spmd_find_control(hr_arena_t *arena, const hlo_module_t *module, bool **out_control) {
  bool *control;
  HR_TRY(HR_NEW_ARRAY(arena, module->computations.count, &control));
  control[module->entry->id] = true;
  for (size_t c = module->computations.count; c-- > 0;) {
    const hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count && control[c]; i++) {
      const hlo_instr_t *instr = computation->instrs.data[i];
      for (int k = 0; k < instr->called_count && has_body_values(instr); k++)
        control[instr->called[k]->id] = true;
    }
  }
  *out_control = control;
  return NULL;
}

/* Control predecessors of a copied instruction are the copies. */
static hr_status_t copy_extra(hlo_module_t *module, hlo_instr_t *const *copies,
                              const hlo_instr_t *from, hlo_instr_t *to) {
  hlo_extra_t *extra;
  to->async_sugar = from->async_sugar;
  if (!from->extra || !from->extra->control_count) return NULL;
  HR_TRY(HR_NEW(&module->arena, &extra));
  *extra = *from->extra;
  HR_TRY(HR_NEW_ARRAY(&module->arena, extra->control_count, &extra->control_predecessors));
  for (int k = 0; k < extra->control_count; k++)
    extra->control_predecessors[k] = copies[from->extra->control_predecessors[k]->id];
  to->extra = extra;
  return NULL;
}

static hr_status_t copy_instr(normalizer_t *normalizer, hlo_computation_t *to,
                              const hlo_instr_t *from, hlo_instr_t **copies) {
  hlo_instr_t **operands, *copy;
  HR_TRY(HR_NEW_ARRAY(&normalizer->scratch, from->operand_count, &operands));
  for (int k = 0; k < from->operand_count; k++) operands[k] = copies[from->operands[k]->id];
  hlo_instr_def_t def = hlo_instr_def_of(from, operands);
  def.extra = from->extra;
  HR_TRY(hlo_instr_create(to, &def, &copy));
  HR_TRY(hlo_instr_append(copy));
  copies[from->id] = copy;
  return copy_extra(normalizer->module, copies, from, copy);
}

/* Copies a computation; its callees are shared until claim_bodies visits the copy. */
static hr_status_t copy_computation(normalizer_t *normalizer, const hlo_computation_t *from,
                                    hlo_computation_t **out_copy) {
  hlo_computation_t *to;
  hlo_instr_t **copies;
  HR_TRY(HR_NEW_ARRAY(&normalizer->scratch, from->instrs.count, &copies));
  HR_TRY(hlo_computation_add(normalizer->module, from->name, &to));
  to->execution_thread = from->execution_thread;
  to->line = from->line;
  to->column = from->column;
  for (size_t i = 0; i < from->instrs.count; i++)
    HR_TRY(copy_instr(normalizer, to, from->instrs.data[i], copies));
  to->root = copies[from->root->id];
  *out_copy = to;
  return NULL;
}

/* Gives each body below the computation a single caller by copying bodies that have one already. */
static hr_status_t claim_bodies(normalizer_t *normalizer, hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++) {
    hlo_instr_t *instr = computation->instrs.data[i];
    for (int k = 0; k < instr->called_count && has_body_values(instr); k++) {
      hlo_computation_t *body = instr->called[k];
      bool is_free = body->id < normalizer->claimed_count && !normalizer->claimed[body->id];
      if (is_free)
        normalizer->claimed[body->id] = true;
      else
        HR_TRY(copy_computation(normalizer, body, &instr->called[k]));
      HR_TRY(claim_bodies(normalizer, instr->called[k]));
    }
  }
  return NULL;
}

/* --- markers in reducers, results --- */

/* Removes constraints from reducers: they work on scalars. */
static hr_status_t drop_marker(pass_rewrite_t *rewrite, hlo_instr_t *instr, void *context) {
  (void)context;
  return spmd_marker_of(instr) == SPMD_CONSTRAINT ? pass_replace(rewrite, instr, instr->operands[0])
                                                  : NULL;
}

/* Removes operands without elements from a concatenation: no factor would go through it. One that
 * is left alone takes its place, unless the concatenation has a sharding of its own. */
static hr_status_t drop_empty_operands(pass_rewrite_t *rewrite, hlo_instr_t *instr, void *context) {
  int count = 0;
  (void)context;
  if (instr->op != HLO_CONCATENATE || hlo_shape_elements(instr->shape) == 0) return NULL;
  for (int k = 0; k < instr->operand_count; k++)
    if (hlo_shape_elements(instr->operands[k]->shape))
      instr->operands[count++] = instr->operands[k];
  bool is_cut = instr->extra && (instr->extra->sharding || instr->extra->frontend_attributes.count);
  bool is_copy = count == 1 && count < instr->operand_count && !is_cut &&
                 hlo_shape_equal(instr->operands[0]->shape, instr->shape);
  instr->operand_count = count;
  return is_copy ? pass_replace(rewrite, instr, instr->operands[0]) : NULL;
}

static bool is_product(const hlo_instr_t *instr) {
  return instr->op == HLO_DOT || instr->op == HLO_RAGGED_DOT || instr->op == HLO_CONVOLUTION;
}

/* Computes products of floats of a byte and less in f32: where their sums are cut, parts are added
 * before they are rounded, as one process does. */
static hr_status_t widen_product(pass_rewrite_t *rewrite, hlo_instr_t *instr, void *context) {
  (void)context;
  hr_dtype_t dtype = instr->shape->dtype;
  if (!is_product(instr) || !hr_dtype_is_float(dtype) || hr_dtype_bytes(dtype) > 1) return NULL;
  const hlo_shape_t *shape = pass_shape(rewrite, HR_F32, instr->shape->rank, instr->shape->dims);
  hlo_instr_t *wide = shape ? pass_build_like(rewrite, instr, instr->operands, shape) : NULL;
  hlo_instr_t *narrow = hlo_build_convert(&rewrite->builder, wide, dtype);
  if (narrow) narrow->extra = instr->extra;
  return pass_replace(rewrite, instr, narrow);
}

/* The operand that an element of a tuple instruction stands for; else the value itself. */
static hlo_instr_t *see_through(hlo_instr_t *value) {
  while (value && value->op == HLO_GET_TUPLE_ELEMENT && value->operands[0]->op == HLO_TUPLE)
    value = value->operands[0]->operands[hlo_attr_int(value, HLO_ATTR_INDEX)];
  return value;
}

/* Wraps a leaf in xla.sdy.FuncResultSharding, unless it has the marker or is a token. */
static hlo_instr_t *mark_result(hlo_builder_t *builder, hlo_instr_t *value) {
  hlo_attr_t attr =
      hlo_attr_of_str(HLO_ATTR_CUSTOM_CALL_TARGET, HR_STR("xla.sdy.FuncResultSharding"));
  bool is_marked = value && spmd_marker_of(value) == SPMD_RESULT;
  if (!value || is_marked || !hlo_shape_is_array(value->shape)) return value;
  return hlo_build(builder, HLO_CUSTOM_CALL, value->shape, 1, &value, 1, &attr, 0, NULL);
}

/* The tuple `value` with each leaf marked. */
static hlo_instr_t *mark_results(hlo_builder_t *builder, hr_arena_t *scratch, hlo_instr_t *value) {
  hlo_instr_t **elements;
  value = see_through(value);
  if (!value || !hlo_shape_is_tuple(value->shape)) return mark_result(builder, value);
  int count = value->shape->element_count;
  hr_status_t st = HR_NEW_ARRAY(scratch, count + 1, &elements);
  if (st) {
    builder->status = hr_status_join(builder->status, st);
    return NULL;
  }
  for (int i = 0; i < count; i++) {
    bool is_list = value->op == HLO_TUPLE;
    hlo_instr_t *element = is_list ? value->operands[i] : hlo_build_element(builder, value, i);
    elements[i] = mark_results(builder, scratch, element);
  }
  return hlo_build_tuple(builder, count, elements);
}

/* The sharding of the old root is that of the new one, if it was an element of a tuple that the new
 * one is made of directly. */
static hr_status_t mark_entry(normalizer_t *normalizer) {
  hlo_computation_t *entry = normalizer->module->entry;
  hlo_instr_t *root = entry->root;
  hlo_builder_t builder = hlo_builder_at(entry, root->line, root->column);
  hlo_instr_t *marked = mark_results(&builder, &normalizer->scratch, root);
  HR_TRY(hlo_builder_finish(&builder));
  bool is_element = root->op == HLO_GET_TUPLE_ELEMENT && !marked->extra;
  if (marked != root && (marked->op == HLO_TUPLE || is_element)) marked->extra = root->extra;
  entry->root = marked;
  return NULL;
}

static bool is_leaf_of(const hlo_instr_t *tuple, const hlo_instr_t *instr) {
  if (tuple == instr) return true;
  for (int k = 0; tuple->op == HLO_TUPLE && k < tuple->operand_count; k++)
    if (is_leaf_of(tuple->operands[k], instr)) return true;
  return false;
}

/* Turns the result markers of inlined functions into constraints. */
static hr_status_t turn_inner_results(hlo_module_t *module) {
  for (size_t c = 0; c < module->computations.count; c++)
    for (size_t i = 0; i < module->computations.data[c]->instrs.count; i++) {
      hlo_instr_t *instr = module->computations.data[c]->instrs.data[i];
      hlo_attr_t *target;
      if (spmd_marker_of(instr) != SPMD_RESULT || is_leaf_of(module->entry->root, instr)) continue;
      HR_TRY(HR_NEW(&module->arena, &target));
      *target = hlo_attr_of_str(HLO_ATTR_CUSTOM_CALL_TARGET, HR_STR("Sharding"));
      instr->attrs = target;
      instr->attr_count = 1;
    }
  return NULL;
}

/* --- constants --- */

enum { CONSTANT_NOT, CONSTANT_SCALAR, CONSTANT_ARRAY };

typedef struct constant_copier {
  normalizer_t *normalizer;
  uint8_t *kinds;       /* by id of the old instructions */
  uint16_t *depths;     /* by id: operations of a constant expression, one in another */
  hlo_instr_t **copies; /* by id: the last copy */
  uint32_t *copied_for; /* by id: the use that it was made for, counted from 1 */
  uint32_t use;
} constant_copier_t;

static bool may_be_constant(const hlo_instr_t *instr) {
  return instr->op == HLO_BROADCAST || instr->op == HLO_RESHAPE || instr->op == HLO_SLICE ||
         hlo_op_is(instr->op, OP_ELEMENTWISE);
}

/* Deepest constant expression; it is copied by recursion. */
#define MAX_CONSTANT_DEPTH 1000

/* Classifies constant expressions: constants, iotas, broadcasts of scalars, and elementwise or
 * shape ops of these alone. */
static uint8_t kind_of(const constant_copier_t *copier, const hlo_instr_t *instr) {
  bool known = instr->op == HLO_CONSTANT || instr->op == HLO_IOTA;
  uint16_t *depth = &copier->depths[instr->id];
  if (!hlo_shape_is_array(instr->shape)) return CONSTANT_NOT;
  if (may_be_constant(instr)) {
    known = instr->operand_count > 0;
    for (int k = 0; k < instr->operand_count; k++) {
      uint32_t id = instr->operands[k]->id;
      known &= copier->kinds[id] > 0;
      if (copier->depths[id] >= *depth) *depth = (uint16_t)(copier->depths[id] + 1);
    }
    known &= *depth < MAX_CONSTANT_DEPTH;
    if (!known) *depth = 0;
  }
  if (instr->op == HLO_BROADCAST) known |= instr->operands[0]->shape->rank == 0;
  if (!known) return CONSTANT_NOT;
  return instr->shape->rank ? CONSTANT_ARRAY : CONSTANT_SCALAR;
}

/* Copies an expression for the current use. Scalars are shared. */
static hlo_instr_t *copy_constant(constant_copier_t *copier, pass_rewrite_t *rewrite,
                                  hlo_instr_t *from) {
  hlo_instr_t **operands;
  if (copier->kinds[from->id] != CONSTANT_ARRAY) return from;
  if (copier->copied_for[from->id] == copier->use) return copier->copies[from->id];
  hr_status_t st = HR_NEW_ARRAY(&copier->normalizer->scratch, from->operand_count + 1, &operands);
  if (st) {
    rewrite->builder.status = hr_status_join(rewrite->builder.status, st);
    return NULL;
  }
  for (int k = 0; k < from->operand_count; k++)
    operands[k] = copy_constant(copier, rewrite, from->operands[k]);
  hlo_instr_t *copy = pass_clone(rewrite, from, operands);
  copier->normalizer->budget--;
  copier->copied_for[from->id] = copier->use;
  copier->copies[from->id] = copy;
  return copy;
}

/* True if the whole expression has one user: then no copy is needed. */
static bool is_single_use(pass_rewrite_t *rewrite, const uint8_t *kinds, const hlo_instr_t *from) {
  if (pass_use_count(rewrite, from) > 1) return false;
  for (int k = 0; k < from->operand_count; k++)
    if (kinds[from->operands[k]->id] == CONSTANT_ARRAY &&
        !is_single_use(rewrite, kinds, from->operands[k]))
      return false;
  return true;
}

static hr_status_t copy_constants_of(constant_copier_t *copier, pass_rewrite_t *rewrite,
                                     hlo_instr_t *instr) {
  for (int k = 0; k < instr->operand_count; k++) {
    hlo_instr_t *operand = instr->operands[k];
    if (operand->id >= rewrite->old_count || copier->kinds[operand->id] != CONSTANT_ARRAY) continue;
    if (copier->normalizer->budget <= 0 || is_single_use(rewrite, copier->kinds, operand)) continue;
    copier->use++;
    hlo_instr_t *copy = copy_constant(copier, rewrite, operand);
    if (!copy) return hlo_builder_finish(&rewrite->builder);
    instr->operands[k] = copy;
    rewrite->changed = true;
  }
  return NULL;
}

/* By id: members of sharding groups, which are not copied per use. */
static hr_status_t find_grouped(normalizer_t *normalizer, const hlo_computation_t *computation,
                                bool **out_grouped) {
  HR_TRY(HR_NEW_ARRAY(&normalizer->scratch, computation->instrs.count + 1, out_grouped));
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    if (spmd_marker_of(instr) == SPMD_GROUP && instr->operand_count)
      (*out_grouped)[instr->operands[0]->id] = true;
  }
  return NULL;
}

static hr_status_t split_constants(normalizer_t *normalizer, hlo_computation_t *computation) {
  pass_rewrite_t rewrite;
  constant_copier_t copier = {.normalizer = normalizer};
  bool *grouped;
  HR_TRY(find_grouped(normalizer, computation, &grouped));
  HR_TRY(pass_rewrite_begin(&rewrite, computation));
  hr_status_t st = HR_NEW_ARRAY(&normalizer->scratch, rewrite.old_count, &copier.kinds);
  if (!st) st = HR_NEW_ARRAY(&normalizer->scratch, rewrite.old_count, &copier.depths);
  if (!st) st = HR_NEW_ARRAY(&normalizer->scratch, rewrite.old_count, &copier.copies);
  if (!st) st = HR_NEW_ARRAY(&normalizer->scratch, rewrite.old_count, &copier.copied_for);
  for (uint32_t i = 0; i < rewrite.old_count && !st; i++) {
    hlo_instr_t *instr = pass_rewrite_visit(&rewrite, i);
    if (!instr) continue;
    copier.kinds[i] = grouped[i] ? CONSTANT_NOT : kind_of(&copier, instr);
    if (copier.kinds[i] != CONSTANT_ARRAY) st = copy_constants_of(&copier, &rewrite, instr);
  }
  return pass_rewrite_end(&rewrite, st);
}

/* --- all of it --- */

static hr_status_t claim_all(normalizer_t *normalizer) {
  normalizer->claimed_count = normalizer->module->computations.count;
  HR_TRY(HR_NEW_ARRAY(&normalizer->scratch, normalizer->claimed_count, &normalizer->claimed));
  HR_TRY(claim_bodies(normalizer, normalizer->module->entry));
  HR_TRY(pass_computations_order(normalizer->module));
  return pass_names_settle(normalizer->module);
}

#define MORE_CONSTANTS 100000 /* budget of copies in addition to four times the instructions */

static hr_status_t normalize_bodies(normalizer_t *normalizer) {
  hlo_module_t *module = normalizer->module;
  bool *control, changed;
  HR_TRY(spmd_find_control(&normalizer->scratch, module, &control));
  normalizer->budget = MORE_CONSTANTS;
  for (size_t c = 0; c < module->computations.count; c++)
    normalizer->budget += 4 * (int64_t)module->computations.data[c]->instrs.count;
  for (size_t c = 0; c < module->computations.count; c++) {
    hlo_computation_t *computation = module->computations.data[c];
    pass_visit_fn visit = control[c] ? drop_empty_operands : drop_marker;
    HR_TRY(pass_rewrite_each(computation, visit, NULL, &changed));
    if (control[c]) HR_TRY(pass_rewrite_each(computation, widen_product, NULL, &changed));
    if (control[c]) HR_TRY(split_constants(normalizer, computation));
  }
  return NULL;
}

hr_status_t spmd_normalize(hlo_module_t *module) {
  normalizer_t normalizer = {.module = module};
  hr_arena_init(&normalizer.scratch);
  hr_status_t st = spmd_check_expanded_size(&normalizer.scratch, module);
  if (!st) st = inline_all(module);
  if (!st) st = spmd_expand_approx_top_k(module);
  if (!st) st = mark_entry(&normalizer);
  if (!st) st = turn_inner_results(module);
  if (!st) st = claim_all(&normalizer);
  if (!st) st = normalize_bodies(&normalizer);
  if (!st) st = pass_names_settle(module);
  hr_arena_deinit(&normalizer.scratch);
  return st;
}
