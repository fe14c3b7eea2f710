/* Reducers: the computation of a reduce, applied to accumulators in vectors.
 *
 * A plain reducer (one op: add, max, and) has an identity, so every lane starts from it and the
 * initial value is combined once at the end. Other reducers run their whole computation, with the
 * accumulators and the elements as arguments. Lanes are combined at the end of a row by a
 * butterfly or by halves; the order is fixed by the number of lanes and never by the workers, so
 * that equal inputs give equal bits. Which reordering a reducer allows is decided in
 * ops/query/reduce_order.c; reducers that allow none take lanes in ascending order
 * (reducer_tree.c).
 *
 * Minimum and maximum of floats propagate NaN: one test at the end of the fold finds it, so that
 * each step is a single instruction. */
#include "jit/expr/reducer.h"

#include <string.h>

#include <math.h>

#include "jit/element/element.h"
#include "jit/math/jit_math.h"
#include "ops/query/codegen_support.h"

/* --- classification --------------------------------------------------------------------------- */

bool jit_reducer_is_plain(const hlo_computation_t *computation) {
  hlo_opcode_t op;
  return op_reducer_component_op(computation, 0, 1, &op);
}

static bool supports_computation(const jit_target_t *target, const hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    if (op_codegens[instr->op] == CODEGEN_STRUCTURE && instr->op != HLO_GET_TUPLE_ELEMENT) continue;
    if (op_codegens[instr->op] != CODEGEN_ELEMENTWISE || instr->operand_count > 3) return false;
    hr_dtype_t from = instr->operands[instr->op == HLO_SELECT ? 1 : 0]->shape->dtype;
    if (!jit_element_supports(target, instr->op, from, instr->shape->dtype)) return false;
  }
  return true;
}

bool jit_reducer_init(const jit_target_t *target, const hlo_instr_t *reduce,
                      jit_reducer_t *out_reducer) {
  jit_reducer_t reducer = {.computation = reduce->called[0], .count = reduce->operand_count / 2};
  if (reducer.count > JIT_MAX_RESULTS || !supports_computation(target, reducer.computation))
    return false;
  for (int k = 0; k < reducer.count; k++) {
    reducer.dtypes[k] = hlo_shape_leaf(reduce->shape, k)->dtype;
    if (!jit_element_supports(target, HLO_CONVERT, reducer.dtypes[k], reducer.dtypes[k]))
      return false;
    /* The operand has a narrower type than the computation: left to the reference engine. */
    if (reduce->operands[k]->shape->dtype != reducer.dtypes[k]) return false;
    if (reducer.computation->params.count &&
        reducer.computation->params.data[k]->shape->dtype != reducer.dtypes[k])
      return false;
  }
  reducer.order = op_reduce_order(reduce);
  reducer.is_plain = reducer.order == OP_REDUCE_ANY;
  for (int k = 0; k < reducer.count && reducer.is_plain; k++)
    op_reducer_component_op(reducer.computation, k, reducer.count, &reducer.ops[k]);
  *out_reducer = reducer;
  return true;
}

/* --- identities ------------------------------------------------------------------------------- */

static kir_value_t *integer_limit(kir_type_t *type, bool is_signed, bool most) {
  int bits = jit_element_bits(type);
  uint64_t ones = ~(uint64_t)0 >> (64 - bits);
  if (!is_signed) return jit_int(type, most ? (int64_t)ones : 0);
  return jit_int(type, most ? (int64_t)(ones >> 1) : (int64_t)(~(ones >> 1)));
}

static kir_value_t *identity(jit_code_t *code, hlo_opcode_t op, hr_dtype_t dtype) {
  kir_type_t *type = jit_register_type(code, dtype);
  bool is_signed = hr_dtype_class(dtype) == HR_CLASS_SIGNED;
  if (hr_dtype_is_complex(dtype)) return jit_real(type, -0.0);
  if (dtype == HR_PRED)
    return jit_int(type, op == HLO_MULTIPLY || op == HLO_MINIMUM || op == HLO_AND);
  if (hr_dtype_is_float(dtype))
    return jit_real(type, op == HLO_ADD        ? -0.0
                          : op == HLO_MULTIPLY ? 1
                          : op == HLO_MAXIMUM  ? -INFINITY
                                               : INFINITY);
  switch (op) {
    case HLO_MULTIPLY:
      return jit_int(type, 1);
    case HLO_MAXIMUM:
      return integer_limit(type, is_signed, false);
    case HLO_MINIMUM:
      return integer_limit(type, is_signed, true);
    case HLO_AND:
      return jit_int(type, -1);
    default:
      return jit_int(type, 0);
  }
}

void jit_reducer_start(jit_code_t *code, const jit_reducer_t *reducer, kir_value_t **inits,
                       kir_value_t **out_starts) {
  for (int k = 0; k < reducer->count; k++)
    out_starts[k] =
        reducer->is_plain ? identity(code, reducer->ops[k], reducer->dtypes[k]) : inits[k];
}

/* --- application ------------------------------------------------------------------------------ */

static kir_value_t *apply_instr(jit_code_t *code, const hlo_instr_t *instr, kir_value_t **accs,
                                kir_value_t **x, int count, int lanes, kir_value_t **values) {
  kir_value_t *args[3];
  if (instr->op == HLO_PARAMETER) {
    int number = (int)hlo_parameter_number(instr);
    return number < count ? accs[number] : x[number - count];
  }
  if (instr->op == HLO_CONSTANT) {
    kir_value_t *scalar = jit_element_constant(code, instr->shape->dtype, instr->literal->data);
    return jit_element_splat(code, instr->shape->dtype, lanes, scalar);
  }
  for (int k = 0; k < instr->operand_count; k++) args[k] = values[instr->operands[k]->id];
  jit_element_op_t op = {.op = instr->op,
                         .to = instr->shape->dtype,
                         .detail = jit_op_detail(instr),
                         .from = instr->operands[instr->op == HLO_SELECT ? 1 : 0]->shape->dtype};
  return jit_element_emit(code, &op, args);
}

static kir_value_t *apply_plain(jit_code_t *code, const jit_reducer_t *reducer, int k,
                                kir_value_t *acc, kir_value_t *x) {
  hr_dtype_t dtype = hr_dtype_table[reducer->dtypes[k]].compute;
  kir_value_t *nothing = identity(code, reducer->ops[k], reducer->dtypes[k]);
  if (acc == jit_element_splat(code, dtype, jit_element_lanes(dtype, x), nothing)) return x;
  jit_element_op_t op = {.op = reducer->ops[k], .from = dtype, .to = dtype};
  return jit_element_emit(code, &op, (kir_value_t *[]){acc, x});
}

void jit_reducer_apply(jit_code_t *code, const jit_reducer_t *reducer, kir_value_t **accs,
                       kir_value_t **x) {
  const hlo_computation_t *computation = reducer->computation;
  const hlo_instr_t *root = computation->root;
  kir_value_t *values[computation->instrs.count];
  if (reducer->is_plain) {
    for (int k = 0; k < reducer->count; k++) accs[k] = apply_plain(code, reducer, k, accs[k], x[k]);
    return;
  }
  int lanes = jit_element_lanes(reducer->dtypes[0], accs[0]);
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    if (instr->op != HLO_TUPLE)
      values[i] = apply_instr(code, instr, accs, x, reducer->count, lanes, values);
  }
  for (int k = 0; k < reducer->count; k++)
    accs[k] = values[(root->op == HLO_TUPLE ? root->operands[k] : root)->id];
}

/* Swaps pairs so that the one with the smaller index is the left operand. */
static void order_by_index(jit_code_t *code, const jit_reducer_t *reducer, kir_value_t **accs,
                           kir_value_t **x) {
  jit_element_op_t less = {.op = HLO_COMPARE,
                           .from = reducer->dtypes[1],
                           .to = HR_PRED,
                           .detail = JIT_COMPARE_DETAIL(HLO_DIRECTION_LT, HLO_COMPARISON_DEFAULT)};
  kir_value_t *is_less = jit_element_emit(code, &less, (kir_value_t *[]){x[1], accs[1]});
  for (int k = 0; k < reducer->count; k++) {
    kir_value_t *left = jit_element_choose(code, reducer->dtypes[k], is_less, x[k], accs[k]);
    x[k] = jit_element_choose(code, reducer->dtypes[k], is_less, accs[k], x[k]);
    accs[k] = left;
  }
}

void jit_reducer_join(jit_code_t *code, const jit_reducer_t *reducer, kir_value_t **accs,
                      kir_value_t **x) {
  if (reducer->order == OP_REDUCE_BY_INDEX) order_by_index(code, reducer, accs, x);
  jit_reducer_apply(code, reducer, accs, x);
}

void jit_reducer_take(jit_code_t *code, const jit_reducer_t *reducer, kir_value_t *is_first,
                      kir_value_t **accs, kir_value_t **x) {
  jit_reducer_apply(code, reducer, accs, x);
  for (int k = 0; k < reducer->count && is_first; k++)
    accs[k] = jit_element_choose(code, reducer->dtypes[k], is_first, x[k], accs[k]);
}

static kir_value_t *extract_lane(jit_code_t *code, hr_dtype_t dtype, kir_value_t *value) {
  kir_value_t *zero = kir_const_int(kir_int_type(code->module, 32), 0);
  bool is_scalar = kir_type_of(value)->kind != KIR_TYPE_VECTOR;
  if (is_scalar || hr_dtype_is_complex(dtype)) return value;
  return kir_extract(code->builder, value, zero);
}

/* Replaces lane 0 of `value` by the only lane of `first`. */
static kir_value_t *replace_first(jit_code_t *code, hr_dtype_t dtype, kir_value_t *value, int lanes,
                                  kir_value_t *first) {
  kir_type_t *i1 = kir_int_type(code->module, 1);
  kir_value_t *is_first[64];
  for (int i = 0; i < lanes; i++) is_first[i] = kir_const_int(i1, i == 0);
  kir_value_t *all = jit_element_splat(code, dtype, lanes, extract_lane(code, dtype, first));
  return jit_element_choose(code, dtype, kir_const_vector(is_first, (unsigned)lanes), all, value);
}

/* Combines lanes 0 .. count - 1 with the lanes that follow them. */
static void fold_pairs(jit_code_t *code, const jit_reducer_t *reducer, int count,
                       kir_value_t **accs) {
  kir_value_t *low[JIT_MAX_RESULTS], *high[JIT_MAX_RESULTS];
  for (int k = 0; k < reducer->count; k++) {
    low[k] = jit_element_take(code, reducer->dtypes[k], accs[k], 0, count);
    high[k] = jit_element_take(code, reducer->dtypes[k], accs[k], count, count);
  }
  jit_reducer_join(code, reducer, low, high);
  memcpy(accs, low, (size_t)reducer->count * sizeof *accs);
}

/* An odd last lane is combined with lane 0. */
static void fold_odd(jit_code_t *code, const jit_reducer_t *reducer, int lanes,
                     kir_value_t **accs) {
  kir_value_t *first[JIT_MAX_RESULTS], *last[JIT_MAX_RESULTS];
  for (int k = 0; k < reducer->count; k++) {
    first[k] = jit_element_take(code, reducer->dtypes[k], accs[k], 0, 1);
    last[k] = jit_element_take(code, reducer->dtypes[k], accs[k], lanes - 1, 1);
  }
  jit_reducer_join(code, reducer, first, last);
  for (int k = 0; k < reducer->count; k++)
    accs[k] = replace_first(code, reducer->dtypes[k], accs[k], lanes, first[k]);
}

/* Halves any number of lanes repeatedly. */
static void fold_halves(jit_code_t *code, const jit_reducer_t *reducer, int lanes,
                        kir_value_t **accs) {
  for (; lanes > 1; lanes /= 2) {
    if (lanes % 2) fold_odd(code, reducer, lanes, accs);
    fold_pairs(code, reducer, lanes / 2, accs);
  }
}

/* Rotates: lane i of the result is lane i + by modulo `lanes`. */
static kir_value_t *rotate_lanes(jit_code_t *code, kir_value_t *value, int lanes, int by) {
  kir_type_t *i32 = kir_int_type(code->module, 32);
  kir_value_t *numbers[64];
  for (int i = 0; i < lanes; i++) numbers[i] = kir_const_int(i32, (uint64_t)((i + by) % lanes));
  return kir_shuffle(code->builder, value, kir_poison(kir_type_of(value)),
                     kir_const_vector(numbers, (unsigned)lanes));
}

/* Combines halves of vectors that fill several registers until one register holds the widest of the
 * results. Returns the number of lanes. */
static int fold_to_register(jit_code_t *code, const jit_reducer_t *reducer, int lanes,
                            kir_value_t **accs) {
  int bits = 0;
  for (int k = 0; k < reducer->count; k++)
    bits = hr_max(bits, jit_element_bits(kir_type_of(accs[k])));
  for (; lanes > 1 && lanes * bits > 8 * code->target->vector_bytes; lanes /= 2)
    fold_pairs(code, reducer, lanes / 2, accs);
  return lanes;
}

/* Butterfly on a whole register: computing the unused lanes is free, while narrower vectors take
 * more instructions. */
static void fold_butterfly(jit_code_t *code, const jit_reducer_t *reducer, int lanes,
                           kir_value_t **accs) {
  lanes = fold_to_register(code, reducer, lanes, accs);
  for (int by = lanes / 2; by >= 1; by /= 2) {
    kir_value_t *others[JIT_MAX_RESULTS];
    for (int k = 0; k < reducer->count; k++) others[k] = rotate_lanes(code, accs[k], lanes, by);
    jit_reducer_join(code, reducer, accs, others);
  }
}

/* Are lanes narrower than 32 bits? Vectors cannot rotate such lanes in one instruction; halves of
 * the vector are moved down instead. */
static bool has_narrow_lanes(const jit_reducer_t *reducer, kir_value_t *const *accs) {
  for (int k = 0; k < reducer->count; k++) {
    int bits = jit_element_bits(kir_type_of(accs[k]));
    if (bits == 8 || bits == 16) return true;
  }
  return false;
}

/* Is the reducer a minimum or maximum of floats? */
static bool is_float_min_max(const jit_reducer_t *reducer) {
  bool is_one = reducer->ops[0] == HLO_MAXIMUM || reducer->ops[0] == HLO_MINIMUM;
  return reducer->is_plain && reducer->count == 1 && is_one &&
         hr_dtype_is_float(reducer->dtypes[0]);
}

/* NaNs are tested for once at the end, so that each step handles numbers only. For processors with
 * masks: others move the result of the test through general registers. */
static void fold_min_max(jit_code_t *code, const jit_reducer_t *reducer, int lanes,
                         kir_value_t **accs) {
  lanes = fold_to_register(code, reducer, lanes, accs);
  kir_value_t *acc = accs[0];
  kir_type_t *type = jit_scalar_type(kir_type_of(acc));
  kir_value_t *is_none = kir_fcmp(code->builder, KIR_FCMP_UNO, acc, acc);
  is_none = jit_intrinsic(code, KIR_REDUCE_OR, kir_type_of(is_none), &is_none, 1);
  for (int by = lanes / 2; by >= 1; by /= 2)
    acc = jit_math_minmax_number(code, acc, rotate_lanes(code, acc, lanes, by),
                                 reducer->ops[0] == HLO_MAXIMUM);
  accs[0] = kir_select(code->builder, is_none, jit_real(type, NAN),
                       extract_lane(code, reducer->dtypes[0], acc));
}

void jit_reducer_fold(jit_code_t *code, const jit_reducer_t *reducer, kir_value_t **accs) {
  int lanes = jit_element_lanes(reducer->dtypes[0], accs[0]);
  bool is_whole = (lanes & (lanes - 1)) == 0;
  for (int k = 0; k < reducer->count; k++) is_whole &= !hr_dtype_is_complex(reducer->dtypes[k]);
  if (jit_reducer_is_ordered(reducer))
    lanes = 1;
  else if (is_whole && lanes > 1 && code->target->has_masks && is_float_min_max(reducer))
    fold_min_max(code, reducer, lanes, accs);
  else if (is_whole && !has_narrow_lanes(reducer, accs))
    fold_butterfly(code, reducer, lanes, accs);
  else
    fold_halves(code, reducer, lanes, accs);
  for (int k = 0; k < reducer->count; k++)
    accs[k] = extract_lane(code, reducer->dtypes[k], accs[k]);
}

void jit_reducer_finish(jit_code_t *code, const jit_reducer_t *reducer, kir_value_t **inits,
                        kir_value_t **accs) {
  for (int k = 0; k < reducer->count && reducer->is_plain; k++)
    accs[k] = jit_round(code, reducer->dtypes[k], apply_plain(code, reducer, k, inits[k], accs[k]));
  if (reducer->has_keys) accs[0] = jit_reducer_decode(code, reducer, accs[0]);
}
