/* Stacks that a loop fills row by row, such as the results of lax.scan, whose initial value is
 * never read.
 *
 *   s = broadcast(0)            not computed
 *   while (i < n) {             s is not copied to the loop's state
 *     s[i] = x
 *   }
 *
 * Element k of the state is such a stack if its only use in the body is the update of one row, and
 * the iterations together update all rows. The row number is i, or a constant plus or minus i. A
 * copy of a partly filled stack is allowed: the contents of the other rows do not matter. Cost:
 * linear in the body for each element, in the size of the caller for each broadcast. */
#include "plan/flat_build.h"

#define EXPRESSION_DEPTH 8

/* --- rows --- */

typedef struct rows {
  const hlo_instr_t *loop;
  const flat_trip_count_t *trips;
} rows_t;

/* factor * counter + constant */
typedef struct affine {
  int64_t factor, constant;
} affine_t;

static bool find_affine(const rows_t *rows, flat_body_value_t value, int depth, affine_t *out) {
  affine_t a, b;
  if (value.fusion && value.instr->op == HLO_PARAMETER) {
    value.instr = value.fusion->operands[hlo_parameter_number(value.instr)];
    value.fusion = NULL;
  }
  *out = (affine_t){1, 0};
  if (!value.fusion && flat_element_read(value.instr) == rows->trips->element) return true;
  *out = (affine_t){0, 0};
  if ((!value.fusion || value.instr->op == HLO_CONSTANT) &&
      flat_constant_in_loop(rows->loop, value.instr, &out->constant))
    return true;
  bool subtracts = value.instr->op == HLO_SUBTRACT;
  if (depth == 0 || (value.instr->op != HLO_ADD && !subtracts)) return false;
  flat_body_value_t left = {value.instr->operands[0], value.fusion};
  flat_body_value_t right = {value.instr->operands[1], value.fusion};
  if (!find_affine(rows, left, depth - 1, &a) || !find_affine(rows, right, depth - 1, &b))
    return false;
  if (subtracts) b = (affine_t){-b.factor, -b.constant};
  return !__builtin_add_overflow(a.factor, b.factor, &out->factor) &&
         !__builtin_add_overflow(a.constant, b.constant, &out->constant);
}

/* Do the iterations visit each of `count` rows? Indices of 32 or 64 bits may wrap around, but give
 * the same row number, since it is in range. */
static bool visits_all(const rows_t *rows, flat_body_value_t index, int64_t count) {
  affine_t at;
  int64_t first, step;
  if (hr_dtype_bytes(index.instr->shape->dtype) < 4 || rows->trips->count < count ||
      !find_affine(rows, index, EXPRESSION_DEPTH, &at) ||
      __builtin_mul_overflow(at.factor, rows->trips->start, &first) ||
      __builtin_add_overflow(first, at.constant, &first) ||
      __builtin_mul_overflow(at.factor, rows->trips->step, &step))
    return false;
  return (step == 1 && first == 0) || (step == -1 && first == count - 1);
}

static bool is_row_of(const hlo_shape_t *row, const hlo_shape_t *stack) {
  for (int d = 1; d < stack->rank; d++)
    if (row->dims[d] != stack->dims[d]) return false;
  return stack->rank > 0 && row->dims[0] == 1;
}

/* --- uses --- */

/* Is `next`, the new value of element k, used only there? */
static bool is_next_alone(const hlo_computation_t *body, const hlo_instr_t *next) {
  if (flat_count_uses(body, next) != 1) return false;
  if (next->op != HLO_GET_TUPLE_ELEMENT) return true;
  for (size_t i = 0; i < body->instrs.count; i++) {
    const hlo_instr_t *other = body->instrs.data[i];
    if (other != next && other->op == HLO_GET_TUPLE_ELEMENT &&
        other->operands[0] == next->operands[0] &&
        hlo_attr_int(other, HLO_ATTR_INDEX) == hlo_attr_int(next, HLO_ATTR_INDEX))
      return false;
  }
  return true;
}

/* Is element k read once, and the state never as a whole? */
static bool is_read_once(const hlo_computation_t *body, int k) {
  int count = 0;
  for (size_t i = 0; i < body->instrs.count; i++) {
    const hlo_instr_t *instr = body->instrs.data[i];
    for (int j = 0; j < instr->operand_count; j++)
      if (instr->operands[j]->op == HLO_PARAMETER && instr->op != HLO_GET_TUPLE_ELEMENT)
        return false;
    if (flat_element_read(instr) == k) count += flat_count_uses(body, instr);
  }
  return count == 1;
}

/* Does the fusion use the stack, its parameter, only for the update, and the update only as a
 * result? */
static bool is_fused_alone(flat_body_value_t update) {
  if (!update.fusion) return true;
  const hlo_computation_t *fused = update.fusion->called[0];
  return flat_count_uses(fused, update.instr->operands[0]) == 1 &&
         flat_count_uses(fused, update.instr) == 1;
}

static const hlo_instr_t *outside_fusion(flat_body_value_t of, const hlo_instr_t *operand) {
  if (!of.fusion || operand->op != HLO_PARAMETER) return operand;
  return of.fusion->operands[hlo_parameter_number(operand)];
}

bool flat_is_overwritten(const hlo_instr_t *loop, const flat_trip_count_t *trips, int k) {
  const hlo_computation_t *body = loop->called[1];
  rows_t rows = {loop, trips};
  if (trips->count < 0) return false;
  flat_body_value_t update = flat_next_value(body, k);
  const hlo_instr_t *instr = update.instr;
  if (instr->op != HLO_DYNAMIC_UPDATE_SLICE || instr->operand_count != 2 + instr->shape->rank ||
      flat_element_read(outside_fusion(update, instr->operands[0])) != k ||
      !is_row_of(instr->operands[1]->shape, instr->shape))
    return false;
  flat_body_value_t index = {instr->operands[2], update.fusion};
  return visits_all(&rows, index, instr->shape->dims[0]) && is_fused_alone(update) &&
         is_read_once(body, k) && is_next_alone(body, body->root->operands[k]);
}

/* --- initial values --- */

/* Is the tuple used only as the initial state of a loop that overwrites every element equal to
 * `value`? */
static bool is_overwritten_state(const hlo_instr_t *tuple, const hlo_instr_t *value) {
  const hlo_instr_t *loop = NULL;
  for (size_t i = tuple->id + 1; i < tuple->parent->instrs.count; i++) {
    const hlo_instr_t *user = tuple->parent->instrs.data[i];
    for (int j = 0; j < user->operand_count; j++) {
      if (user->operands[j] != tuple) continue;
      if (loop || user->op != HLO_WHILE) return false;
      loop = user;
    }
  }
  if (!loop || tuple->parent->root == tuple) return false;
  flat_trip_count_t trips = flat_find_trip_count(loop);
  for (int k = 0; k < tuple->operand_count; k++)
    if (tuple->operands[k] == value && !flat_is_overwritten(loop, &trips, k)) return false;
  return true;
}

bool flat_is_never_read(const hlo_instr_t *instr) {
  bool is_used = false;
  if (instr->op != HLO_BROADCAST || instr->parent->root == instr) return false;
  for (size_t i = instr->id + 1; i < instr->parent->instrs.count; i++) {
    const hlo_instr_t *user = instr->parent->instrs.data[i];
    bool uses = false;
    for (int j = 0; j < user->operand_count; j++) uses |= user->operands[j] == instr;
    if (uses && (user->op != HLO_TUPLE || !is_overwritten_state(user, instr))) return false;
    is_used |= uses;
  }
  return is_used;
}
