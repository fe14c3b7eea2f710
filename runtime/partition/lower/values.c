/* Local values and their forms. The form in a wanted sharding is made once, from the form with the
 * cheapest resharding. Partial results with several users are first reduced into the preferred
 * sharding, so that they are reduced once. Values computed from scalars or positions alone are
 * recomputed instead of moved, and broadcasts and slices if their operands cost less to move. */
#include <math.h>
#include <string.h>

#include "ops/rules/verify.h"
#include "partition/lower/lower.h"
#include "partition/lower/recut.h"
#include "passes/lib/pass_rewrite.h"

/* NULL after a failure. */
const spmd_sharding_t *spmd_replicated(spmd_lower_t *lower, int rank) {
  const spmd_sharding_t *sharding = NULL;
  spmd_emit_failed(&lower->emit,
                   spmd_sharding_replicated(lower->arena, lower->mesh, rank, &sharding));
  return sharding;
}

/* Tokens and tuples keep their shape. */
const hlo_shape_t *spmd_shape_in(spmd_lower_t *lower, const hlo_shape_t *shape,
                                 const spmd_sharding_t *sharding) {
  int64_t dims[HLO_MAX_RANK];
  if (!hlo_shape_is_array(shape) || !sharding) return shape;
  for (int d = 0; d < shape->rank; d++) dims[d] = spmd_local_size(sharding, d, shape->dims[d]);
  return spmd_emit_shape(&lower->emit, shape->dtype, shape->rank, dims);
}

/* The propagated sharding, without axes of dimensions of fewer than `smallest` elements. */
static const spmd_sharding_t *propagated(spmd_lower_t *lower, const hlo_instr_t *instr, int leaf,
                                         int64_t smallest) {
  const hlo_shape_t *shape = hlo_shape_leaf(instr->shape, leaf);
  const spmd_computation_t *all = lower->shared->program->computations;
  spmd_value_t *const *values = all[instr->parent->id].values;
  const spmd_sharding_t *sharding =
      values && values[instr->id] ? values[instr->id][leaf].sharding : NULL;
  spmd_axes_t dims[HLO_MAX_RANK];
  if (!sharding || sharding->device >= 0 || sharding->rank != shape->rank ||
      !spmd_mesh_equal(sharding->mesh, lower->mesh))
    return spmd_replicated(lower, shape->rank);
  for (int d = 0; d < shape->rank; d++)
    dims[d] = shape->dims[d] >= smallest ? sharding->dims[d].axes : (spmd_axes_t){0};
  const spmd_sharding_t *made = NULL;
  spmd_emit_failed(&lower->emit, spmd_sharding_make(lower->arena, lower->mesh, shape->rank, dims,
                                                    sharding->unreduced, &made));
  return made;
}

const spmd_sharding_t *spmd_preferred(spmd_lower_t *lower, const hlo_instr_t *instr, int leaf) {
  return propagated(lower, instr, leaf, 2);
}

const spmd_sharding_t *spmd_border_sharding(spmd_lower_t *lower, const hlo_instr_t *instr,
                                            int leaf) {
  return propagated(lower, instr, leaf, 1);
}

/* Entered under the instruction, without any form. */
spmd_local_t *spmd_local_new(spmd_lower_t *lower, const hlo_instr_t *instr, int leaf) {
  spmd_local_t *value;
  if (spmd_emit_failed(&lower->emit, HR_NEW(lower->arena, &value))) return NULL;
  value->shape = hlo_shape_leaf(instr->shape, leaf);
  value->reducer = HLO_ADD;
  value->uses = lower->uses[instr->id];
  value->preferred = spmd_preferred(lower, instr, leaf);
  lower->values[instr->id][leaf] = value;
  return value;
}

/* True if a new form is tentative. Forms of partial values and recipes are not: a partial value is
 * reduced once, and a recipe costs nothing. */
static bool is_tentative(const spmd_lower_t *lower, const spmd_local_t *value) {
  const spmd_form_t *first = value->forms;
  return lower->is_tentative && first && !first->sharding->unreduced.count && !value->recipe;
}

/* Appends a form: the first stays the defined one. */
static void add_form(spmd_lower_t *lower, spmd_local_t *value, hlo_instr_t *x,
                     const spmd_sharding_t *sharding) {
  spmd_form_t *form, **end = &value->forms;
  if (!x || spmd_emit_failed(&lower->emit, HR_NEW(lower->arena, &form))) return;
  *form = (spmd_form_t){x, sharding, is_tentative(lower, value), NULL};
  while (*end) end = &(*end)->next;
  *end = form;
}

spmd_local_t *spmd_define(spmd_lower_t *lower, const hlo_instr_t *instr, int leaf, hlo_instr_t *x,
                          const spmd_sharding_t *sharding) {
  spmd_local_t *value = spmd_local_new(lower, instr, leaf);
  if (value) add_form(lower, value, x, sharding);
  return value;
}

/* Shares the forms of `from`, also later ones, unless they are partial and `from` has other users:
 * the value would be reduced twice. */
void spmd_alias(spmd_lower_t *lower, const hlo_instr_t *instr, int leaf, spmd_local_t *from) {
  spmd_local_t *value = spmd_local_new(lower, instr, leaf);
  if (!value || !from) return;
  value->reducer = from->reducer;
  value->recipe = from->recipe;
  value->depth = from->depth;
  bool shared = from->forms && from->forms->sharding->unreduced.count && from->uses > 1 &&
                !value->preferred->unreduced.count;
  if (shared) add_form(lower, value, spmd_use(lower, from, value->preferred), value->preferred);
  if (!shared) value->forms = from->forms;
}

/* The form in this sharding; NULL: none. */
static spmd_form_t *form_in(const spmd_local_t *value, const spmd_sharding_t *sharding) {
  spmd_form_t *form = value->forms;
  while (form && !spmd_sharding_same_layout(form->sharding, sharding)) form = form->next;
  return form;
}

/* One scalar constant and a broadcast of it. */
static hlo_instr_t *make_splat(spmd_lower_t *lower, const hlo_instr_t *recipe,
                               const hlo_shape_t *shape) {
  hlo_value_t *scalar;
  if (spmd_emit_failed(&lower->emit, hlo_value_array(shape->dtype, 0, NULL, &scalar))) return NULL;
  memcpy(scalar->data, pass_splat_of(recipe), hr_dtype_bytes(shape->dtype));
  hlo_instr_t *x = hlo_build_constant(&lower->emit.b, scalar);
  if (!shape->rank) return x;
  return hlo_build_broadcast(&lower->emit.b, x, shape, (hr_ints_t){NULL, 0});
}

/* Example: part c of {0, 1, 2, 3, 4, 5} in parts of 2 is {0, 1} + 2c. Positions are computed in the
 * index type, which can represent them, and then converted. */
static hlo_instr_t *make_iota(spmd_lower_t *lower, const hlo_instr_t *recipe,
                              const hlo_shape_t *shape, const spmd_sharding_t *sharding) {
  int d = (int)hlo_attr_int(recipe, HLO_ATTR_IOTA_DIMENSION);
  spmd_emit_t *emit = &lower->emit;
  if (!sharding->dims[d].axes.count) return spmd_emit_like(emit, recipe, NULL, shape);
  const hlo_shape_t *positions =
      spmd_emit_shape(emit, emit->shared->index_type, shape->rank, shape->dims);
  hlo_instr_t *local = spmd_emit_like(emit, recipe, NULL, positions);
  hlo_instr_t *at =
      hlo_build_binary(&emit->b, HLO_MULTIPLY, spmd_emit_coordinate(emit, sharding->dims[d].axes),
                       spmd_emit_index(emit, shape->dims[d]));
  local = hlo_build_binary(&emit->b, HLO_ADD, local, spmd_emit_fill_like(emit, at, local));
  return hlo_build_convert(&emit->b, local, shape->dtype);
}

/* Shardings of a recipe's operands that follow from the one of its result. False: the operation
 * cannot be cut like that. */
static bool operand_shardings(spmd_lower_t *lower, const hlo_instr_t *recipe,
                              const spmd_sharding_t *sharding, const spmd_sharding_t **out_wanted) {
  const spmd_rule_t *rule = NULL;
  spmd_axes_t *axes;
  if (spmd_emit_failed(&lower->emit, spmd_rule_create(lower->arena, recipe, &rule)) || !rule ||
      spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, rule->factor_count, &axes)))
    return false;
  bool cut = spmd_project(lower, rule, recipe->operand_count, sharding, axes);
  for (int f = 0; f < rule->factor_count; f++)
    cut &= !axes[f].count || spmd_can_cut_factor(recipe, rule, f);
  for (int k = 0; k < recipe->operand_count; k++) {
    out_wanted[k] = spmd_tensor_sharding(lower, rule, k, axes, (spmd_axes_t){0});
    cut &= out_wanted[k] != NULL;
  }
  return cut;
}

/* Recomputes a recipe: emits the same operation on operands in the shardings that follow from the
 * result's; whole, if the operation cannot be cut like that. */
static hlo_instr_t *make_again(spmd_lower_t *lower, const hlo_instr_t *recipe,
                               const spmd_sharding_t *sharding, const hlo_shape_t *shape) {
  const spmd_sharding_t *wanted[3], *whole = spmd_replicated(lower, shape->rank);
  hlo_instr_t *operands[3];
  bool cut = operand_shardings(lower, recipe, sharding, wanted);
  for (int k = 0; k < recipe->operand_count; k++) {
    spmd_local_t *operand = spmd_operand(lower, recipe, k);
    operands[k] = cut ? spmd_use(lower, operand, wanted[k]) : spmd_use_whole(lower, operand);
  }
  if (cut) return spmd_emit_like(&lower->emit, recipe, operands, shape);
  shape = spmd_shape_in(lower, recipe->shape, whole);
  hlo_instr_t *x = spmd_emit_like(&lower->emit, recipe, operands, shape);
  return spmd_emit_reshard(&lower->emit, x, recipe->shape, whole, sharding, HLO_ADD);
}

/* Most recipes that lead from one to the constants and arrays that it is made of: they are made by
 * recursion. */
#define MAX_DEPTH 256

/* Parts of a recipe are computed, never moved. An operation on whole arrays is a recipe, too: any
 * part of the result is computed from parts of them that are there. */
static bool is_recipe(const spmd_lower_t *lower, const hlo_instr_t *instr) {
  bool moves = instr->op == HLO_BROADCAST || instr->op == HLO_RESHAPE || instr->op == HLO_TRANSPOSE;
  if (!moves && (!hlo_op_is(instr->op, OP_ELEMENTWISE) || instr->operand_count > 3)) return false;
  if (!hlo_shape_is_array(instr->shape) || !instr->shape->rank || !instr->operand_count)
    return false;
  if (!hlo_shape_elements(instr->shape)) return false; /* no rule by which to recompute it */
  for (int k = 0; k < instr->operand_count; k++) {
    const spmd_local_t *operand = spmd_operand(lower, instr, k);
    bool whole = operand->forms && spmd_sharding_is_replicated(operand->forms->sharding);
    if (operand->recipe ? operand->depth == MAX_DEPTH : !whole) return false;
  }
  return true;
}

bool spmd_define_recipe(spmd_lower_t *lower, const hlo_instr_t *instr) {
  if (!is_recipe(lower, instr)) return false;
  spmd_local_t *value = spmd_local_new(lower, instr, 0);
  if (!value) return true;
  value->recipe = instr;
  for (int k = 0; k < instr->operand_count; k++) {
    const spmd_local_t *operand = spmd_operand(lower, instr, k);
    if (operand->recipe && operand->depth >= value->depth) value->depth = operand->depth + 1;
  }
  return true;
}

static hlo_instr_t *make_recipe(spmd_lower_t *lower, const hlo_instr_t *recipe,
                                const spmd_sharding_t *sharding) {
  const hlo_shape_t *shape = spmd_shape_in(lower, recipe->shape, sharding);
  if (!shape) return NULL;
  if (recipe->op == HLO_IOTA) return make_iota(lower, recipe, shape, sharding);
  if (recipe->op == HLO_CONSTANT) return make_splat(lower, recipe, shape);
  if (recipe->op != HLO_BROADCAST || recipe->operands[0]->shape->rank)
    return make_again(lower, recipe, sharding, shape);
  hlo_instr_t *scalar = spmd_use_whole(lower, spmd_operand(lower, recipe, 0));
  return hlo_build_broadcast(&lower->emit.b, scalar, shape, (hr_ints_t){NULL, 0});
}

static const spmd_sharding_t *without_unreduced(spmd_lower_t *lower,
                                                const spmd_sharding_t *sharding) {
  spmd_axes_t dims[HLO_MAX_RANK];
  const spmd_sharding_t *made = sharding;
  for (int d = 0; d < sharding->rank; d++) dims[d] = sharding->dims[d].axes;
  if (sharding->unreduced.count)
    spmd_emit_failed(&lower->emit, spmd_sharding_make(lower->arena, lower->mesh, sharding->rank,
                                                      dims, (spmd_axes_t){0}, &made));
  return made;
}

double spmd_move_us(spmd_lower_t *lower, const hlo_shape_t *shape, const spmd_sharding_t *from,
                    const spmd_sharding_t *to) {
  double plan = spmd_reshard_cost(&lower->emit, shape, from, to);
  return plan > 0 ? fmin(plan, spmd_recut_us(lower, shape, from, to)) : plan;
}

/* The form with the cheapest resharding, the first of equals. Tentative forms are not free, as they
 * may never be computed. */
static const spmd_form_t *cheapest_form(spmd_lower_t *lower, const spmd_local_t *value,
                                        const spmd_sharding_t *wanted, double *out_cost) {
  const spmd_form_t *best = NULL;
  *out_cost = 0;
  for (const spmd_form_t *form = value->forms; form; form = form->next) {
    if (form->is_tentative) continue;
    double cost = spmd_move_us(lower, value->shape, form->sharding, wanted);
    if (best && *out_cost <= cost) continue;
    best = form;
    *out_cost = cost;
  }
  return best;
}

/* Partial results with several users are reduced into the preferred sharding. */
static void reduce_once(spmd_lower_t *lower, spmd_local_t *value, const spmd_sharding_t *wanted) {
  spmd_form_t *first = value->forms;
  if (value->uses < 2 || !first || !first->sharding->unreduced.count) return;
  if (wanted->unreduced.count || value->preferred->unreduced.count) return;
  if (!form_in(value, value->preferred) && !spmd_sharding_same_layout(value->preferred, wanted))
    spmd_use(lower, value, value->preferred);
}

/* The sharding of the operand that gives a slice this one; false if a sliced dimension is cut. */
static bool sliced_sharding(const hlo_instr_t *slice, const spmd_sharding_t *sharding,
                            const spmd_sharding_t **out_wanted) {
  *out_wanted = sharding;
  for (int d = 0; d < slice->shape->rank; d++)
    if (sharding->dims[d].axes.count && slice->shape->dims[d] != slice->operands[0]->shape->dims[d])
      return false;
  return true;
}

/* Cost of a value that is computed anew in this sharding: that of its operand. Infinite for values
 * that are not. */
static double again_cost(spmd_lower_t *lower, const spmd_local_t *value,
                         const spmd_sharding_t *wanted) {
  const spmd_sharding_t *operand;
  if (!value->remat || wanted->unreduced.count) return INFINITY;
  const spmd_local_t *from = spmd_operand(lower, value->remat, 0);
  bool is_plain = from->forms && !from->forms->sharding->unreduced.count;
  bool possible = is_plain && (value->remat->op == HLO_SLICE
                                   ? sliced_sharding(value->remat, wanted, &operand)
                                   : operand_shardings(lower, value->remat, wanted, &operand));
  return possible ? spmd_use_cost(lower, from, operand) : INFINITY;
}

/* Slices the operand, which has the slice's own sharding. */
static hlo_instr_t *slice_again(spmd_lower_t *lower, const hlo_instr_t *slice,
                                const spmd_sharding_t *sharding) {
  hlo_instr_t *x = spmd_use(lower, spmd_operand(lower, slice, 0), sharding);
  for (int d = 0; d < slice->shape->rank && x; d++) {
    const hlo_slice_dim_t *dim = &hlo_attr_slice(slice)->dims[d];
    if (slice->shape->dims[d] == slice->operands[0]->shape->dims[d]) continue;
    x = spmd_emit_strided(&lower->emit, x, d, dim->start, dim->limit, dim->stride);
  }
  return x;
}

/* Computes a value anew from its operand. */
static hlo_instr_t *make_from_operand(spmd_lower_t *lower, const spmd_local_t *value,
                                      const spmd_sharding_t *wanted) {
  if (value->remat->op == HLO_SLICE) return slice_again(lower, value->remat, wanted);
  const hlo_shape_t *shape = spmd_shape_in(lower, value->shape, wanted);
  return shape ? make_again(lower, value->remat, wanted, shape) : NULL;
}

/* True if the value is better computed anew than moved at that cost. At equal costs a transposed
 * array is, if its operand has other users: they may need what is moved for it. */
static bool is_better_again(spmd_lower_t *lower, const spmd_local_t *value, double cost,
                            const spmd_sharding_t *wanted) {
  double again = cost > 0 ? again_cost(lower, value, wanted) : INFINITY;
  bool may_share = value->remat && value->remat->op == HLO_TRANSPOSE &&
                   lower->uses[value->remat->operands[0]->id] > 1;
  return again < cost || (may_share && again == cost);
}

/* Moves a form, or computes the value anew if that costs less. */
static hlo_instr_t *move_form(spmd_lower_t *lower, const spmd_local_t *value,
                              const spmd_form_t *form, double cost, const spmd_sharding_t *wanted) {
  if (is_better_again(lower, value, cost, wanted)) return make_from_operand(lower, value, wanted);
  if (cost > 0 && cost < spmd_reshard_cost(&lower->emit, value->shape, form->sharding, wanted))
    return spmd_emit_recut(lower, form->instr, value->shape, form->sharding, wanted);
  return spmd_emit_reshard(&lower->emit, form->instr, value->shape, form->sharding, wanted,
                           value->reducer);
}

/* Returns an existing form, a recomputed recipe, or a resharding of the cheapest form. */
hlo_instr_t *spmd_use(spmd_lower_t *lower, spmd_local_t *value, const spmd_sharding_t *wanted) {
  double cost;
  if (!value || lower->emit.b.status || !wanted) return NULL;
  if (!hlo_shape_is_array(value->shape)) return value->forms ? value->forms->instr : NULL;
  spmd_form_t *there = form_in(value, wanted);
  if (there) {
    there->is_tentative &= lower->is_tentative;
    return there->instr;
  }
  if (value->recipe) {
    const spmd_sharding_t *plain = without_unreduced(lower, wanted);
    if (!form_in(value, plain))
      add_form(lower, value, make_recipe(lower, value->recipe, plain), plain);
  }
  reduce_once(lower, value, wanted);
  const spmd_form_t *form = cheapest_form(lower, value, wanted, &cost);
  if (!form) return NULL;
  if (spmd_sharding_same_layout(form->sharding, wanted)) return form->instr;
  hlo_instr_t *x = move_form(lower, value, form, cost, wanted);
  add_form(lower, value, x, wanted);
  return x;
}

/* A recipe costs nothing. */
double spmd_use_cost(spmd_lower_t *lower, const spmd_local_t *value,
                     const spmd_sharding_t *wanted) {
  double cost = 0;
  if (!value->recipe && hlo_shape_is_array(value->shape))
    cheapest_form(lower, value, wanted, &cost);
  return cost > 0 ? fmin(cost, again_cost(lower, value, wanted)) : cost;
}

hlo_instr_t *spmd_use_whole(spmd_lower_t *lower, spmd_local_t *value) {
  return value ? spmd_use(lower, value, spmd_replicated(lower, value->shape->rank)) : NULL;
}

/* The tuple whose elements these are, all and in order; NULL: none. The done part of an
 * asynchronous operation needs the very tuple of its start part. */
static hlo_instr_t *tuple_of(hlo_instr_t *const *elements, int count) {
  hlo_instr_t *tuple = count && elements[0] && elements[0]->op == HLO_GET_TUPLE_ELEMENT
                           ? elements[0]->operands[0]
                           : NULL;
  if (!tuple || tuple->shape->element_count != count) return NULL;
  for (int i = 0; i < count; i++)
    if (!elements[i] || elements[i]->op != HLO_GET_TUPLE_ELEMENT ||
        elements[i]->operands[0] != tuple || hlo_attr_int(elements[i], HLO_ATTR_INDEX) != i)
      return NULL;
  return tuple;
}

/* *leaves moves after the last leaf that was taken. */
hlo_instr_t *spmd_pack(spmd_lower_t *lower, const hlo_shape_t *shape, hlo_instr_t *const **leaves) {
  hlo_instr_t **elements;
  if (!hlo_shape_is_tuple(shape)) return *(*leaves)++;
  if (spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, shape->element_count, &elements)))
    return NULL;
  for (int i = 0; i < shape->element_count; i++)
    elements[i] = spmd_pack(lower, shape->elements[i], leaves);
  hlo_instr_t *tuple = tuple_of(elements, shape->element_count);
  if (tuple) return tuple;
  return hlo_build_tuple(&lower->emit.b, shape->element_count, elements);
}

/* *out_leaves moves after the last leaf. */
void spmd_unpack(spmd_lower_t *lower, hlo_instr_t *x, hlo_instr_t ***out_leaves) {
  if (!x || lower->emit.b.status) return;
  if (!hlo_shape_is_tuple(x->shape)) {
    *(*out_leaves)++ = x;
    return;
  }
  for (int i = 0; i < x->shape->element_count; i++)
    spmd_unpack(lower, hlo_build_element(&lower->emit.b, x, i), out_leaves);
}

hlo_instr_t *spmd_use_tuple(spmd_lower_t *lower, const hlo_instr_t *instr,
                            const spmd_sharding_t *const *wanted) {
  int count = hlo_shape_leaf_count(instr->shape);
  hlo_instr_t **leaves;
  if (spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, count, &leaves))) return NULL;
  for (int i = 0; i < count; i++) {
    leaves[i] = spmd_use(lower, lower->values[instr->id][i], wanted[i]);
    if (wanted[i] && wanted[i]->placement)
      leaves[i] = spmd_replace_parts(lower, leaves[i], lower->emit.mesh, wanted[i]->placement);
  }
  hlo_instr_t *const *next = leaves;
  return spmd_pack(lower, instr->shape, &next);
}
