/* Commutative and associative reducers are of two kinds: one op for each result, decided by its
 * opcode; and selections such as argmax, whose index operand is an iota along the reduced
 * dimension. Selections only compare values with values and indices with indices, so that their
 * results depend on the order of their arguments alone: a model check goes through the finite
 * number of cases. With
 *
 *   choose(a, b) = b.index < a.index ? reducer(b, a) : reducer(a, b)
 *
 * lanes that read their elements in ascending order, each from the initial value on, and are joined
 * by `choose` in any order give the result of the reducer from left to right, if `choose` is
 * commutative, associative and idempotent and no index is less than that of the initial value.
 * Associativity is a property of three pairs: three values and three indices, with NaN and both
 * zeros, cover all orders of three pairs. Selections that need no `choose` accept any index. Many
 * skip NaN if the initial value is a number: then no accumulator is NaN, only elements are. */
#include "ops/query/reduce_order.h"

#include <math.h>
#include <string.h>

#include "ops/query/selection_eval.h"

enum { MOST_INSTRS = 32, INDICES = 3, VALUES = 5 };

/* --- one op ----------------------------------------------------------------------------------- */

static bool has_identity(hlo_opcode_t op) {
  switch (op) {
    case HLO_ADD:
    case HLO_MULTIPLY:
    case HLO_MAXIMUM:
    case HLO_MINIMUM:
    case HLO_AND:
    case HLO_OR:
    case HLO_XOR:
      return true;
    default:
      return false;
  }
}

static bool is_parameter(const hlo_instr_t *instr, int number) {
  return instr->op == HLO_PARAMETER && hlo_parameter_number(instr) == number;
}

bool op_reducer_component_op(const hlo_computation_t *reducer, int k, int count,
                             hlo_opcode_t *out_op) {
  const hlo_instr_t *root = reducer->root;
  if (root->op == HLO_TUPLE)
    root = root->operands[k];
  else if (count > 1)
    return false;
  if (!has_identity(root->op) || root->operand_count != 2 || hlo_shape_is_tuple(root->shape))
    return false;
  if (hr_dtype_is_complex(root->shape->dtype) && root->op != HLO_ADD)
    return false; /* 1 is no identity if parts are infinite */
  const hlo_instr_t *a = root->operands[0], *b = root->operands[1];
  *out_op = root->op;
  return (is_parameter(a, k) && is_parameter(b, count + k)) ||
         (is_parameter(a, count + k) && is_parameter(b, k));
}

/* --- selections ------------------------------------------------------------------------------- */

/* An argument of a selection. Values are small integers, -0 or NaN, which represent all by their
 * order. */
typedef struct pair {
  double value, index;
} pair_t;

typedef struct selection {
  const hlo_computation_t *reducer;
  int directions[MOST_INSTRS]; /* directions of comparisons, by instruction */
  bool value_is_used;          /* false: only the index is used */
  bool by_index;               /* the pair with the smaller index is the left operand */
  bool has_nan;                /* accumulators may be NaN, too */
} selection_t;

static bool is_pred(const hlo_instr_t *instr) { return instr->shape->dtype == HR_PRED; }

static bool is_order_of_numbers(const hlo_instr_t *compare) {
  int order = hlo_attr_enum(compare, HLO_ATTR_TYPE);
  bool is_float = hr_dtype_is_float(compare->operands[0]->shape->dtype);
  return !is_float || (order != HLO_COMPARISON_TOTALORDER && order != HLO_COMPARISON_WEAKORDER);
}

/* The component that an instruction's result comes from: 0 values, 1 indices, 2 truth values; -1:
 * no such op. */
static int kind_of(const hlo_instr_t *instr, const int *kinds) {
  const int *k = (int[]){instr->operand_count > 0 ? kinds[instr->operands[0]->id] : -1,
                         instr->operand_count > 1 ? kinds[instr->operands[1]->id] : -1,
                         instr->operand_count > 2 ? kinds[instr->operands[2]->id] : -1};
  switch (instr->op) {
    case HLO_PARAMETER:
      return (int)(hlo_parameter_number(instr) % 2);
    case HLO_CONSTANT:
      return is_pred(instr) && instr->literal ? 2 : -1;
    case HLO_COMPARE:
      return k[0] == k[1] && k[0] >= 0 && k[0] < 2 && is_order_of_numbers(instr) ? 2 : -1;
    case HLO_SELECT:
      return k[0] == 2 && k[1] == k[2] ? k[1] : -1;
    case HLO_NOT:
      return k[0] == 2 ? 2 : -1;
    case HLO_AND:
    case HLO_OR:
    case HLO_XOR:
      return k[0] == 2 && k[1] == 2 ? 2 : -1;
    default:
      return -1;
  }
}

static bool has_selection_types(const hlo_computation_t *reducer) {
  hr_dtype_t value = reducer->params.data[0]->shape->dtype,
             index = reducer->params.data[1]->shape->dtype;
  bool is_number = hr_dtype_is_float(value) || (hr_dtype_is_integer(value) && value != HR_PRED);
  return is_number && hr_dtype_is_integer(index) && index != HR_PRED;
}

static bool is_selection(const hlo_computation_t *reducer) {
  int kinds[MOST_INSTRS];
  const hlo_instr_t *root = reducer->root;
  if (reducer->params.count != 4 || reducer->instrs.count > MOST_INSTRS || root->op != HLO_TUPLE)
    return false;
  if (root->operand_count != 2 || !has_selection_types(reducer)) return false;
  for (size_t i = 0; i < reducer->instrs.count; i++) {
    const hlo_instr_t *instr = reducer->instrs.data[i];
    if (instr == root) continue;
    kinds[i] = kind_of(instr, kinds);
    if (kinds[i] < 0) return false;
  }
  return kinds[root->operands[0]->id] == 0 && kinds[root->operands[1]->id] == 1;
}

static void note_directions(selection_t *selection) {
  for (size_t i = 0; i < selection->reducer->instrs.count; i++) {
    const hlo_instr_t *instr = selection->reducer->instrs.data[i];
    if (instr->op == HLO_COMPARE)
      selection->directions[i] = hlo_attr_enum(instr, HLO_ATTR_DIRECTION);
  }
}

static pair_t apply(const selection_t *selection, pair_t a, pair_t b) {
  const hlo_computation_t *reducer = selection->reducer;
  double args[] = {a.value, a.index, b.value, b.index}, results[MOST_INSTRS];
  for (size_t i = 0; i < reducer->instrs.count; i++)
    if (reducer->instrs.data[i] != reducer->root)
      results[i] = selection_eval(reducer->instrs.data[i], selection->directions[i], args, results);
  return (pair_t){results[reducer->root->operands[0]->id], results[reducer->root->operands[1]->id]};
}

static pair_t choose(const selection_t *selection, pair_t a, pair_t b) {
  bool is_crossed = selection->by_index && b.index < a.index;
  return is_crossed ? apply(selection, b, a) : apply(selection, a, b);
}

static bool is_same(const selection_t *selection, pair_t a, pair_t b) {
  if (a.index != b.index || isnan(a.value) != isnan(b.value)) return false;
  if (isnan(a.value)) return true;
  return a.value == b.value && (!selection->value_is_used || signbit(a.value) == signbit(b.value));
}

/* Lists the values of the type; returns their number. */
static int list_values(const selection_t *selection, bool has_nan, double *out_values) {
  bool is_float = hr_dtype_is_float(selection->reducer->params.data[0]->shape->dtype);
  int count = 0;
  if (is_float && has_nan) out_values[count++] = NAN;
  if (is_float && selection->value_is_used) out_values[count++] = -0.0;
  for (int v = 0; v < 3; v++) out_values[count++] = v;
  return count;
}

/* Lists all pairs that accumulators can be; returns their number. */
static int list_pairs(const selection_t *selection, pair_t *out_pairs) {
  double values[VALUES];
  int many = list_values(selection, selection->has_nan, values), count = 0;
  for (int v = 0; v < many; v++)
    for (int i = 0; i < INDICES; i++) out_pairs[count++] = (pair_t){values[v], i};
  return count;
}

/* True if two accumulators can be these. If indices are ascending, only the index of the initial
 * value, which is the identity of `choose` (begins_anywhere), can occur twice. */
static bool are_together(const selection_t *selection, pair_t a, pair_t b) {
  return !selection->by_index || a.index != b.index || memcmp(&a, &b, sizeof a) == 0;
}

static bool is_associative(const selection_t *selection, const pair_t *pairs, int count, pair_t a,
                           pair_t b) {
  pair_t ab = choose(selection, a, b);
  for (int c = 0; c < count; c++) {
    if (!are_together(selection, a, pairs[c]) || !are_together(selection, b, pairs[c])) continue;
    pair_t bc = choose(selection, b, pairs[c]);
    if (!is_same(selection, choose(selection, ab, pairs[c]), choose(selection, a, bc)))
      return false;
  }
  return true;
}

static bool may_be_joined(const selection_t *selection) {
  pair_t pairs[VALUES * INDICES];
  int count = list_pairs(selection, pairs);
  for (int a = 0; a < count; a++)
    for (int b = 0; b < count; b++) {
      pair_t ab = choose(selection, pairs[a], pairs[b]);
      if (!are_together(selection, pairs[a], pairs[b])) continue;
      if (!is_same(selection, ab, choose(selection, pairs[b], pairs[a]))) return false;
      if (a == b && !is_same(selection, ab, pairs[a])) return false;
      if (!is_associative(selection, pairs, count, pairs[a], pairs[b])) return false;
    }
  return true;
}

/* Combines an accumulator that began at `init` with elements x. True if the accumulator stays a
 * number where it must, and becomes the choice between its old value and an accumulator of x alone.
 */
static bool stays_consistent(const selection_t *selection, pair_t init, pair_t acc, int index) {
  double values[VALUES];
  int count = list_values(selection, true, values);
  if (!is_same(selection, choose(selection, init, acc), acc)) return false;
  if (!is_same(selection, choose(selection, acc, init), acc)) return false;
  for (int v = 0; v < count; v++) {
    pair_t x = {values[v], index}, next = apply(selection, acc, x);
    if (isnan(next.value) && !selection->has_nan) return false;
    if (!is_same(selection, next, choose(selection, acc, apply(selection, init, x)))) return false;
  }
  return true;
}

/* True if stays_consistent holds for all accumulators of up to two elements that began at `init`.
 * The first element may have the index of the initial value. */
static bool begins_at(const selection_t *selection, pair_t init) {
  double values[VALUES];
  int count = list_values(selection, true, values);
  if (!stays_consistent(selection, init, init, 0) || !stays_consistent(selection, init, init, 1))
    return false;
  for (int a = 0; a < 2 * count; a++) {
    pair_t one = apply(selection, init, (pair_t){values[a / 2], a % 2});
    if (!stays_consistent(selection, init, one, 2)) return false;
    for (int b = 0; b < count; b++)
      if (!stays_consistent(selection, init, apply(selection, one, (pair_t){values[b], 2}), 3))
        return false;
  }
  return true;
}

static bool begins_anywhere(const selection_t *selection) {
  double inits[VALUES];
  int count = list_values(selection, selection->has_nan, inits);
  for (int i = 0; i < count; i++)
    if (!begins_at(selection, (pair_t){inits[i], 0})) return false;
  return true;
}

/* --- operands --------------------------------------------------------------------------------- */

static bool is_reduced(const hlo_instr_t *reduce, int64_t d) {
  hr_ints_t dims = hlo_attr_ints(reduce, HLO_ATTR_DIMENSIONS);
  for (int64_t i = 0; i < dims.count; i++)
    if (dims.data[i] == d) return true;
  return false;
}

/* True for an iota that does not wrap, along the only reduced dimension of more than one
 * element. */
static bool index_rises(const hlo_instr_t *reduce) {
  const hlo_instr_t *iota = reduce->operands[1];
  if (iota->op != HLO_IOTA) return false;
  int64_t along = hlo_attr_int(iota, HLO_ATTR_IOTA_DIMENSION);
  for (int d = 0; d < iota->shape->rank; d++)
    if (is_reduced(reduce, d) && d != along && iota->shape->dims[d] != 1) return false;
  int bits = hr_dtype_table[iota->shape->dtype].bits;
  return is_reduced(reduce, along) &&
         (bits >= 32 || iota->shape->dims[along] <= (int64_t)1 << (bits - 1));
}

/* True if the initial value is a constant number. */
static bool value_starts_as_number(const hlo_instr_t *reduce) {
  const hlo_instr_t *init = reduce->operands[2];
  hr_dtype_t dtype = init->shape->dtype;
  uint64_t bits = 0;
  if (init->op != HLO_CONSTANT || !init->literal || !hr_dtype_is_float(dtype)) return false;
  memcpy(&bits, init->literal->data, hr_dtype_bytes(dtype));
  return !isnan(hr_float_decode(dtype, bits));
}

/* True if the index of the initial value is a constant 0. */
static bool index_starts_at_zero(const hlo_instr_t *reduce) {
  const hlo_instr_t *init = reduce->operands[3];
  int64_t bits = 0;
  if (init->op != HLO_CONSTANT || !init->literal) return false;
  memcpy(&bits, init->literal->data, hr_dtype_bytes(init->shape->dtype));
  return bits == 0;
}

/* True if the computation that contains the reduction uses its values, too. */
static bool uses_value(const hlo_instr_t *reduce) {
  const hlo_computation_t *around = reduce->parent;
  for (size_t i = 0; i < around->instrs.count; i++) {
    const hlo_instr_t *instr = around->instrs.data[i];
    bool is_element = instr->op == HLO_GET_TUPLE_ELEMENT && instr->operands[0] == reduce;
    if (is_element && hlo_attr_int(instr, HLO_ATTR_INDEX) == 0) return true;
  }
  return around->root == reduce;
}

/* True if the reducer compares floats with other floats. Comparisons with NaN are false in both
 * directions, so that an element beside NaN may get lost that an accumulator which began with a
 * number would take. x != x only tests for NaN. */
static bool compares_floats(const hlo_computation_t *reducer) {
  for (size_t i = 0; i < reducer->instrs.count; i++) {
    const hlo_instr_t *instr = reducer->instrs.data[i];
    if (instr->op == HLO_COMPARE && hr_dtype_is_float(instr->operands[0]->shape->dtype) &&
        instr->operands[0] != instr->operands[1] && is_order_of_numbers(instr))
      return true;
    for (int k = 0; k < instr->called_count; k++)
      if (compares_floats(instr->called[k])) return true;
  }
  return false;
}

/* True if the selection is associative for all elements, NaN included. */
static bool may_be_tree(const selection_t *selection) {
  pair_t pairs[VALUES * INDICES];
  int count = list_pairs(selection, pairs);
  for (int a = 0; a < count; a++)
    for (int b = 0; b < count; b++)
      if (!is_associative(selection, pairs, count, pairs[a], pairs[b])) return false;
  return true;
}

static bool is_plain(const hlo_computation_t *reducer, int count) {
  hlo_opcode_t op;
  for (int k = 0; k < count; k++)
    if (!op_reducer_component_op(reducer, k, count, &op)) return false;
  return true;
}

bool op_reducer_is_tree(const hlo_computation_t *reducer, int count) {
  selection_t selection = {.reducer = reducer, .value_is_used = true, .has_nan = true};
  if (is_plain(reducer, count) || !compares_floats(reducer)) return true;
  if (count != 2 || !is_selection(reducer)) return false;
  note_directions(&selection);
  return may_be_tree(&selection);
}

op_reduce_order_t op_reduce_order(const hlo_instr_t *reduce) {
  const hlo_computation_t *reducer = reduce->called[0];
  int count = reduce->operand_count / 2;
  if (is_plain(reducer, count)) return OP_REDUCE_ANY;
  op_reduce_order_t in_order = compares_floats(reducer) ? OP_REDUCE_LEFT : OP_REDUCE_ASCENDING;
  if (count != 2 || !is_selection(reducer)) return in_order;
  selection_t selection = {
      .reducer = reducer, .value_is_used = uses_value(reduce), .has_nan = true};
  note_directions(&selection);
  if (may_be_joined(&selection)) return OP_REDUCE_SELECTION;
  if (may_be_tree(&selection)) in_order = OP_REDUCE_ASCENDING;
  if (!index_rises(reduce) || !index_starts_at_zero(reduce)) return in_order;
  selection.by_index = true;
  if (begins_anywhere(&selection) && may_be_joined(&selection)) return OP_REDUCE_BY_INDEX;
  selection.has_nan = !value_starts_as_number(reduce);
  if (selection.has_nan || !begins_anywhere(&selection) || !may_be_joined(&selection))
    return in_order;
  return OP_REDUCE_BY_INDEX;
}
