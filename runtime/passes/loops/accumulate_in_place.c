/* Sums that a loop accumulates piece by piece are updated in place:
 *
 *   next = add(sum, dynamic-update-slice(0, u, i))   ->   v = add(dynamic-slice(sum, i), u)
 *                                                         next = dynamic-update-slice(sum, v, i)
 *   next = add(sum, scatter-add(0, i, u))            ->   next = scatter-add(sum, i, u)
 *
 * The gradient of an array that a loop reads at an index of its counter is such a sum, of which the
 * original program creates and adds all elements in each iteration. `sum` is an element of the
 * loop's state, possibly plus other terms. Adding 0 is the identity except for -0: the initial
 * value must contain no -0, and a sum with a number that is not -0 is not -0. Scatters may add in
 * another order. */
#include "passes/lib/pass_match.h"
#include "passes/loops/loop_shape.h"
#include "passes/passes.h"

#define MAX_TERMS 16 /* most terms of the sum that becomes the next value */

/* By computation id: the only loop of which it is the body; NULL: none, or several. */
typedef struct bodies {
  hlo_instr_t **loop;
  size_t count;
} bodies_t;

/* Is `wanted` reached from x through additions? */
static bool is_term(const hlo_instr_t *x, const hlo_instr_t *wanted, int *left) {
  if (x == wanted) return true;
  if (x->op != HLO_ADD || --*left < 0) return false;
  return is_term(x->operands[0], wanted, left) || is_term(x->operands[1], wanted, left);
}

/* The state element whose old value is x, or a term of x; -1: none. */
static int accumulated_element(const hlo_instr_t *x, int *left) {
  int element = loop_element_read(x);
  if (element >= 0 || x->op != HLO_ADD || --*left < 0) return element;
  element = accumulated_element(x->operands[0], left);
  return element >= 0 ? element : accumulated_element(x->operands[1], left);
}

/* Is `sum`, an operand of `add`, part of a sum of the loop that is never -0? */
static bool is_accumulator(const bodies_t *bodies, const hlo_instr_t *sum, const hlo_instr_t *add) {
  const hlo_computation_t *body = add->parent;
  int left = MAX_TERMS;
  if (body->id >= bodies->count || !bodies->loop[body->id]) return false;
  const hlo_instr_t *init = bodies->loop[body->id]->operands[0];
  int element = accumulated_element(sum, &left);
  if (element < 0 || init->op != HLO_TUPLE || body->root->op != HLO_TUPLE) return false;
  left = MAX_TERMS;
  return is_term(body->root->operands[element], add, &left) &&
         (hr_dtype_is_integer(add->shape->dtype) || pass_never_minus_zero(init->operands[element]));
}

static hlo_instr_t *build_update(pass_rewrite_t *rewrite, hlo_instr_t *sum,
                                 const hlo_instr_t *update) {
  hlo_builder_t *builder = &rewrite->builder;
  hlo_instr_t *operands[HLO_MAX_RANK + 2];
  const hlo_shape_t *shape = update->operands[1]->shape;
  int count = update->operand_count;
  hlo_attr_t sizes =
      hlo_attr_of_ints(builder, HLO_ATTR_DYNAMIC_SLICE_SIZES, shape->rank, shape->dims);
  for (int k = 0; k < count; k++) operands[k] = update->operands[k];
  operands[1] = sum;
  hlo_instr_t *before =
      hlo_build(builder, HLO_DYNAMIC_SLICE, shape, count - 1, operands + 1, 1, &sizes, 0, NULL);
  if (!before) return NULL;
  operands[0] = sum;
  operands[1] = hlo_build_binary(builder, HLO_ADD, before, update->operands[1]);
  return operands[1] ? pass_build_like(rewrite, update, operands, update->shape) : NULL;
}

static hlo_instr_t *build_scatter(pass_rewrite_t *rewrite, hlo_instr_t *sum,
                                  const hlo_instr_t *scatter) {
  hlo_instr_t *operands[] = {sum, scatter->operands[1], scatter->operands[2]};
  return pass_build_like(rewrite, scatter, operands, scatter->shape);
}

/* Is x zeros with a part written or added? */
static bool is_sparse(const hlo_instr_t *x) {
  hlo_opcode_t op;
  if (x->op == HLO_DYNAMIC_UPDATE_SLICE)
    return pass_is_number(x->operands[0], 0) && x->operand_count <= HLO_MAX_RANK + 2;
  return x->op == HLO_SCATTER && x->operand_count == 3 && pass_is_number(x->operands[0], 0) &&
         pass_body_is_binary(x->called[0], &op) && op == HLO_ADD;
}

static hr_status_t visit(pass_rewrite_t *rewrite, hlo_instr_t *add, void *context) {
  if (add->op != HLO_ADD || !hlo_shape_is_array(add->shape) || hlo_shape_is_dynamic(add->shape))
    return NULL;
  for (int k = 0; k < 2; k++) {
    hlo_instr_t *sum = add->operands[k], *sparse = add->operands[1 - k];
    if (!is_sparse(sparse) || pass_use_count(rewrite, sparse) > 1 ||
        !is_accumulator(context, sum, add))
      continue;
    bool is_scatter = sparse->op == HLO_SCATTER;
    return pass_replace(rewrite, add,
                        (is_scatter ? build_scatter : build_update)(rewrite, sum, sparse));
  }
  return NULL;
}

static hr_status_t find_bodies(hr_arena_t *arena, const hlo_module_t *module, bodies_t *bodies) {
  bool *is_called;
  bodies->count = module->computations.count;
  HR_TRY(HR_NEW_ARRAY(arena, bodies->count, &bodies->loop));
  HR_TRY(HR_NEW_ARRAY(arena, bodies->count, &is_called));
  for (size_t c = 0; c < bodies->count; c++) {
    const hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count; i++) {
      hlo_instr_t *instr = computation->instrs.data[i];
      for (int k = 0; k < instr->called_count; k++) {
        uint32_t id = instr->called[k]->id;
        bodies->loop[id] = instr->op == HLO_WHILE && k == 1 && !is_called[id] ? instr : NULL;
        is_called[id] = true;
      }
    }
  }
  return NULL;
}

hr_status_t pass_accumulate_in_place(hlo_module_t *module, bool *out_changed) {
  hr_arena_t arena;
  bodies_t bodies = {0};
  hr_arena_init(&arena);
  hr_status_t st = find_bodies(&arena, module, &bodies);
  if (!st) st = pass_rewrite_module(module, visit, &bodies, out_changed);
  hr_arena_deinit(&arena);
  return st;
}
