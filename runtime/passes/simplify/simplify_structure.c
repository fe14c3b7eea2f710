/* Tuples, copies and custom calls without effect:
 *
 *   gte(tuple(a, b), 0)              ->   a
 *   tuple(gte(t, 0), gte(t, 1))      ->   t
 *   copy(x)                          ->   x          equal layouts
 *   while whose condition is false   ->   its initial state
 *
 * Exact. Ops that change dynamic sizes are left alone. */
#include "passes/simplify/simplify.h"

static bool layouts_equal(const hlo_shape_t *a, const hlo_shape_t *b) {
  return hlo_layout_equal(a->layout, b->layout);
}

static hlo_instr_t *simplify_element(hlo_instr_t *instr) {
  hlo_instr_t *tuple = instr->operands[0];
  return tuple->op == HLO_TUPLE ? tuple->operands[hlo_attr_int(instr, HLO_ATTR_INDEX)] : NULL;
}

/* Is it a tuple of all elements of one tuple, in order? */
static hlo_instr_t *simplify_tuple(hlo_instr_t *instr) {
  hlo_instr_t *whole = NULL;
  for (int k = 0; k < instr->operand_count; k++) {
    hlo_instr_t *element = instr->operands[k];
    if (element->op != HLO_GET_TUPLE_ELEMENT || hlo_attr_int(element, HLO_ATTR_INDEX) != k)
      return NULL;
    if (whole && element->operands[0] != whole) return NULL;
    whole = element->operands[0];
  }
  return whole && whole->shape->element_count == instr->operand_count ? whole : NULL;
}

/* Custom calls that only annotate for a partitioner. */
static hlo_instr_t *simplify_custom_call(hlo_instr_t *instr) {
  hr_str_t target = hlo_attr_str(instr, HLO_ATTR_CUSTOM_CALL_TARGET);
  bool is_note = hr_str_is(target, "Sharding") || hr_str_is(target, "xla.sdy.FuncResultSharding");
  return is_note && instr->operand_count == 1 &&
                 hlo_shape_equal(instr->shape, instr->operands[0]->shape)
             ? instr->operands[0]
             : NULL;
}

static hlo_instr_t *simplify_while(hlo_instr_t *instr) {
  const hlo_instr_t *root = instr->called[0]->root;
  bool never = pass_is_scalar_constant(root) && !*(const uint8_t *)root->literal->data;
  return never ? instr->operands[0] : NULL;
}

static hlo_instr_t *find_equal(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *x = instr->operand_count ? instr->operands[0] : NULL;
  switch (instr->op) {
    case HLO_GET_TUPLE_ELEMENT:
      return simplify_element(instr);
    case HLO_TUPLE:
      return simplify_tuple(instr);
    case HLO_COPY:
    case HLO_DOMAIN:
      return hlo_shape_is_array(x->shape) && layouts_equal(x->shape, instr->shape) ? x : NULL;
    case HLO_BITCAST:
      return hlo_shape_equal(x->shape, instr->shape) && layouts_equal(x->shape, instr->shape)
                 ? x
                 : NULL;
    case HLO_CONDITIONAL:
    case HLO_MAP:
      return simplify_choice(rewrite, instr);
    case HLO_CUSTOM_CALL:
      return simplify_custom_call(instr);
    case HLO_WHILE:
      return simplify_while(instr);
    case HLO_REDUCE:
      return simplify_index_reduce(rewrite, instr);
    default:
      return NULL;
  }
}

/* These ops may also drop or promise dynamic sizes; such ops are left unchanged. */
hlo_instr_t *simplify_structure(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *by = find_equal(rewrite, instr);
  return by && hlo_shape_equal(by->shape, instr->shape) ? by : NULL;
}
