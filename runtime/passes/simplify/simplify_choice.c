/* Conditionals and maps:
 *
 *   conditional(true, a, f, b, g)      ->   f(a)
 *   conditional(p, a, f, b, g)         ->   select(p, f(a), g(b))      both branches small and pure
 *   map(x, y), to_apply=f              ->   f on whole arrays
 *
 * An index out of range selects the last branch. Exact. */
#include "passes/simplify/simplify.h"

enum {
  MAX_OPS = 16,       /* most ops of a branch that is computed unconditionally */
  MAX_ELEMENTS = 1024 /* most elements of any value in such a branch */
};

/* Inlines the selected branch. A selector that is out of range selects the last branch. */
static hlo_instr_t *inline_known_branch(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  int64_t selector;
  int count = instr->called_count, branch;
  if (!pass_is_scalar_constant(instr->operands[0]) ||
      !pass_splat_int(instr->operands[0], &selector))
    return NULL;
  bool by_pred = instr->operands[0]->shape->dtype == HR_PRED;
  branch = selector < 0 || selector >= count ? count - 1 : (int)selector;
  if (by_pred) branch = !selector;
  if (instr->called[branch]->params.count != 1) return NULL;
  return pass_clone_body(rewrite, instr->called[branch], &instr->operands[1 + branch]);
}

/* ---- both branches ---- */

static bool is_small(const hlo_shape_t *shape) {
  return hlo_shape_is_array(shape) && !hlo_shape_is_dynamic(shape) &&
         hlo_shape_elements(shape) <= MAX_ELEMENTS;
}

static bool is_structure(hlo_opcode_t op) {
  return op == HLO_PARAMETER || op == HLO_TUPLE || op == HLO_GET_TUPLE_ELEMENT;
}

/* Is the branch cheaper to compute than to jump over? */
static bool is_cheap(const hlo_computation_t *branch) {
  int ops = 0;
  if (branch->params.count != 1) return false;
  for (size_t i = 0; i < branch->instrs.count; i++) {
    const hlo_instr_t *instr = branch->instrs.data[i];
    bool free = is_structure(instr->op) || instr->op == HLO_CONSTANT;
    bool simple = hlo_op_is(instr->op, OP_ELEMENTWISE) || instr->op == HLO_BROADCAST ||
                  instr->op == HLO_RESHAPE;
    if (instr->extra && instr->extra->control_count) return false;
    if (!free && !simple) return false;
    if (!is_structure(instr->op) && !is_small(instr->shape)) return false;
    ops += simple;
  }
  return ops <= MAX_OPS;
}

/* Selects the elements of a tuple one by one. */
static hlo_instr_t *select_result(pass_rewrite_t *rewrite, hlo_instr_t *pred, hlo_instr_t *x,
                                  hlo_instr_t *y) {
  hlo_instr_t **list;
  if (!x || !y || x == y) return x;
  if (!hlo_shape_is_tuple(x->shape)) return hlo_build_select(&rewrite->builder, pred, x, y);
  int count = x->shape->element_count;
  if (!rewrite->builder.status)
    rewrite->builder.status = HR_NEW_ARRAY(&rewrite->scratch, count, &list);
  for (int k = 0; k < count && !rewrite->builder.status; k++)
    list[k] = select_result(rewrite, pred, hlo_build_element(&rewrite->builder, x, k),
                            hlo_build_element(&rewrite->builder, y, k));
  return rewrite->builder.status ? NULL : hlo_build_tuple(&rewrite->builder, count, list);
}

static bool is_small_result(const hlo_shape_t *shape) {
  for (int i = 0; i < shape->element_count; i++)
    if (!is_small_result(shape->elements[i])) return false;
  return hlo_shape_is_tuple(shape) || is_small(shape);
}

/* Computes both branches and selects the results. */
static hlo_instr_t *select_branches(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *pred = instr->operands[0];
  if (pred->shape->dtype != HR_PRED || instr->called_count != 2 || !is_small_result(instr->shape))
    return NULL;
  if (!is_cheap(instr->called[0]) || !is_cheap(instr->called[1])) return NULL;
  hlo_instr_t *yes = pass_clone_body(rewrite, instr->called[0], &instr->operands[1]);
  hlo_instr_t *no = pass_clone_body(rewrite, instr->called[1], &instr->operands[2]);
  return select_result(rewrite, pred, yes, no);
}

/* ---- map ---- */

/* Are all values scalars, so that each op has an array form? */
static bool is_elementwise_body(const hlo_computation_t *body) {
  for (size_t i = 0; i < body->instrs.count; i++) {
    const hlo_instr_t *instr = body->instrs.data[i];
    bool known = instr->op == HLO_PARAMETER || (instr->op == HLO_CONSTANT && instr->literal);
    if (!known && !hlo_op_is(instr->op, OP_ELEMENTWISE)) return false;
    if (!hlo_shape_is_scalar(instr->shape) || !pass_is_pure(instr)) return false;
  }
  return true;
}

/* The same op on arrays of the map's sizes. */
static hlo_instr_t *lift_to_arrays(pass_rewrite_t *rewrite, const hlo_instr_t *map,
                                   const hlo_instr_t *instr, hlo_instr_t **made) {
  hlo_instr_t *operands[4];
  const hlo_shape_t *shape =
      pass_shape(rewrite, instr->shape->dtype, map->shape->rank, map->shape->dims);
  if (instr->op == HLO_PARAMETER) return map->operands[hlo_parameter_number(instr)];
  if (!shape || instr->operand_count > 4) return NULL;
  if (instr->op == HLO_CONSTANT)
    return pass_build_fill(rewrite, pass_clone(rewrite, instr, NULL), shape);
  for (int k = 0; k < instr->operand_count; k++) operands[k] = made[instr->operands[k]->id];
  return pass_build_like(rewrite, instr, operands, shape);
}

/* Replaces a map by its body on whole arrays. */
static hlo_instr_t *inline_map(pass_rewrite_t *rewrite, hlo_instr_t *map) {
  const hlo_computation_t *body = map->called[0];
  hlo_instr_t **made;
  if (!hlo_shape_is_array(map->shape) || hlo_shape_is_dynamic(map->shape) ||
      !is_elementwise_body(body))
    return NULL;
  if (!rewrite->builder.status)
    rewrite->builder.status = HR_NEW_ARRAY(&rewrite->scratch, body->instrs.count, &made);
  if (rewrite->builder.status) return NULL;
  for (size_t i = 0; i < body->instrs.count; i++)
    if (!(made[i] = lift_to_arrays(rewrite, map, body->instrs.data[i], made))) return NULL;
  return made[body->root->id];
}

hlo_instr_t *simplify_choice(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  if (instr->op == HLO_MAP) return inline_map(rewrite, instr);
  if (instr->op != HLO_CONDITIONAL) return NULL;
  hlo_instr_t *branch = inline_known_branch(rewrite, instr);
  return branch ? branch : select_branches(rewrite, instr);
}
