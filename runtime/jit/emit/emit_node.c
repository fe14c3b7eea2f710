/* Nodes of the expression graph as instructions.
 *
 * A node is emitted on demand at the level of its variables and memoised by epoch, once as a scalar
 * and once as a vector if it differs from lane to lane. The condition of a load is divided into a
 * part that all lanes share and a mask for the lanes. The first part selects dummy memory as the
 * address, so no branch is needed. Ops that occur often in a graph (INLINE_USES_MAX) become calls
 * of one internal function if they are long, as transcendental functions are, which bounds the size
 * of the code. */
#include <string.h>

#include "jit/element/element.h"
#include "jit/element/element_complex.h"
#include "jit/emit/emit_kernel.h"

/* Longer prefetch distances, in bytes, go to L2 only, so as not to evict L1. */
#define PREFETCH_L2_BYTES 4096
#define INLINE_USES_MAX 3 /* uses of an op in a graph above which it becomes a function */

static bool is_safe_divisor(const jit_node_t *divisor) {
  int64_t value = 0;
  if (divisor->kind != JIT_CONSTANT || !hr_dtype_is_integer(divisor->dtype)) return false;
  size_t bytes = hr_dtype_bytes(divisor->dtype);
  memcpy(&value, divisor->bytes, bytes);
  int64_t ones = (int64_t)(~(uint64_t)0 >> (64 - 8 * bytes));
  return value != 0 && value != ones;
}

/* The selected operand of a select whose condition is constant in the current part of the loop. */
static kir_value_t *fold_select(jit_emit_t *emit, jit_node_t *node, bool in_lanes) {
  bool is_both =
      node->op == HLO_SELECT && node->args[0]->kind == JIT_OP && node->args[0]->op == HLO_AND;
  if (node->op != HLO_SELECT || (node->args[0]->kind != JIT_RANGE && !is_both)) return NULL;
  kir_value_t *condition = jit_emit_node(emit, node->args[0]);
  if (!kir_is_constant(condition)) return NULL;
  kir_value_t *always = kir_all_ones(kir_type_of(condition));
  if (condition != always && !kir_is_null(condition)) return NULL;
  jit_node_t *chosen = node->args[condition == always ? 1 : 2];
  return in_lanes ? jit_emit_lanes(emit, chosen) : jit_emit_node(emit, chosen);
}

/* Sets the lanes outside the loop's bounds, which loads set to 0, to 1. Many complex functions have
 * no fast formula for 0, and one such lane makes all lanes take the slow path. */
static kir_value_t *fill_surplus(jit_emit_t *emit, kir_value_t *value) {
  jit_code_t *code = emit->code;
  jit_pair_t parts = jit_complex_split(code, value);
  kir_value_t *one = jit_real(kir_type_of(parts.re), 1);
  parts.re = kir_select(code->builder, emit->lane.mask, parts.re, one);
  return jit_complex_join(code, parts);
}

static kir_value_t *op_value(jit_emit_t *emit, jit_node_t *node) {
  kir_value_t *args[3];
  int order[3];
  bool in_lanes = jit_emit_in_lanes(emit, node->vars);
  kir_value_t *chosen = fold_select(emit, node, in_lanes);
  if (chosen) return chosen;
  jit_element_op_t op = {.op = node->op,
                         .detail = node->detail,
                         .to = node->dtype,
                         .from = node->args[node->op == HLO_SELECT ? 1 : 0]->dtype};
  op.shared = emit->op_counts[node->op] > INLINE_USES_MAX;
  if (node->slp.pack) return jit_emit_pack(emit, node, &op);
  jit_node_order(node, order);
  for (int i = 0; i < node->arg_count; i++) {
    int k = order[i];
    args[k] = in_lanes ? jit_emit_lanes(emit, node->args[k]) : jit_emit_node(emit, node->args[k]);
  }
  op.from_unit = node->arg_count && jit_node_is_unit(node->args[0]);
  if (node->arg_count == 2) op.safe_divisor = is_safe_divisor(node->args[1]);
  jit_emit_at(emit, jit_emit_depth(emit, node->vars));
  if (node->op == HLO_AND && node->dtype == HR_PRED) return jit_emit_both(emit, args[0], args[1]);
  if (in_lanes && emit->lane.mask && hr_dtype_is_complex(op.from) && jit_complex_is_function(op.op))
    for (int k = 0; k < node->arg_count; k++) args[k] = fill_surplus(emit, args[k]);
  return jit_element_emit(emit->code, &op, args);
}

static jit_guard_t and_guards(jit_emit_t *emit, jit_node_t *node) {
  jit_guard_t a = jit_emit_guard(emit, node->args[0]), b = jit_emit_guard(emit, node->args[1]);
  jit_emit_at(emit, jit_emit_depth(emit, node->vars));
  return (jit_guard_t){.all = jit_emit_both(emit, a.all, b.all),
                       .lanes = jit_emit_both(emit, a.lanes, b.lanes)};
}

static jit_guard_t leaf_guard(jit_emit_t *emit, jit_node_t *node) {
  kir_value_t *value = jit_emit_node(emit, node);
  if (value == kir_all_ones(kir_type_of(value))) return (jit_guard_t){0};
  return jit_lanes(kir_type_of(value)) > 1 ? (jit_guard_t){.lanes = value}
                                           : (jit_guard_t){.all = value};
}

/* Memoised: loads further down have all conditions of loads above them, so code would otherwise
 * grow with the square of their number. */
jit_guard_t jit_emit_guard(jit_emit_t *emit, jit_node_t *node) {
  if (node->kind != JIT_OP || node->op != HLO_AND) return leaf_guard(emit, node);
  unsigned epoch = emit->levels[jit_emit_depth(emit, node->vars)].epoch;
  if (node->condition.epoch != epoch) {
    jit_guard_t guard = and_guards(emit, node);
    node->condition.all = guard.all;
    node->condition.lanes = guard.lanes;
    node->condition.epoch = epoch;
  }
  return (jit_guard_t){.all = node->condition.all, .lanes = node->condition.lanes};
}

/* Prefetches ahead; the address need not be valid. */
static void emit_prefetch(jit_emit_t *emit, kir_value_t *array, const jit_node_t *node) {
  jit_code_t *code = emit->code;
  kir_value_t *address = jit_emit_address(emit, array, node->dtype, node->expr);
  kir_value_t *ahead = jit_emit_i64(emit, node->prefetch.distance);
  kir_type_t *i32 = kir_int_type(code->module, 32);
  jit_emit_at(emit, emit->level);
  address = kir_gep(code->builder, kir_int_type(code->module, 8), address, ahead);
  int level = node->prefetch.distance < PREFETCH_L2_BYTES ? 3 : 2;
  /* read, locality, data cache */
  kir_value_t *arguments[] = {address, jit_int(i32, 0), jit_int(i32, level), jit_int(i32, 1)};
  jit_intrinsic(code, KIR_PREFETCH, kir_void_type(code->module), arguments, 4);
}

#define OUTSIDE_PART 4 /* part of an index's interval outside of the array that is much: 1 / 4 */

static bool is_much_outside(const jit_emit_t *emit, const jit_node_t *node) {
  const jit_expr_t *index = node->expr;
  int64_t count = jit_buffer_count(emit->graph, node->number), below = hr_max(-index->low, 0),
          above = hr_max(index->high + 1 - count, 0);
  return OUTSIDE_PART * (below + above) > index->high + 1 - index->low;
}

static kir_value_t *load_value(jit_emit_t *emit, jit_node_t *node) {
  jit_guard_t guard = {0};
  int depth = jit_emit_depth(emit, node->vars);
  bool spread = jit_emit_in_lanes(emit, node->expr->vars),
       in_lanes = jit_emit_in_lanes(emit, node->vars);
  kir_value_t *value;
  if (emit->function_part && emit->function_part->in_registers[node->number]) {
    value = jit_emit_register(emit, node->number, node->expr);
  } else {
    if (node->guard) guard = jit_emit_guard(emit, node->guard);
    if (guard.lanes) guard.is_outside = is_much_outside(emit, node);
    kir_value_t *array = jit_emit_in(emit, node->number);
    if (node->prefetch.distance && node->prefetch.pass == emit->pass && emit->lane.count > 1)
      emit_prefetch(emit, array, node);
    jit_emit_at(emit, depth);
    value = jit_emit_load(emit, array, node->dtype, node->expr, guard, depth);
  }
  if (spread || !in_lanes) return value;
  return jit_element_splat(emit->code, node->dtype, emit->lane.count, value);
}

/* Value of an index expression, 32 or 64 bits wide as its interval needs. */
static kir_value_t *expr_value(jit_emit_t *emit, const jit_expr_t *expr) {
  if (jit_emit_in_lanes(emit, expr->vars)) return jit_emit_lane_expr(emit, expr);
  kir_value_t *value = jit_emit_expr(emit, expr);
  jit_emit_at(emit, jit_emit_depth(emit, expr->vars));
  return value;
}

static kir_value_t *index_value(jit_emit_t *emit, const jit_node_t *node) {
  kir_value_t *value = expr_value(emit, node->expr);
  hr_dtype_t from = jit_element_bits(kir_type_of(value)) == 32 ? HR_S32 : HR_S64;
  return jit_convert_emit(emit->code, from, node->dtype, value);
}

/* low <= value < high, by one comparison: values below `low` are large unsigned numbers. */
static kir_value_t *is_between(kir_builder_t *b, kir_value_t *value, int64_t low, int64_t high) {
  kir_type_t *type = kir_type_of(value);
  value = kir_sub(b, value, jit_int(type, low));
  return kir_icmp(b, KIR_ICMP_ULT, value, jit_int(type, high - low));
}

static kir_value_t *range_value(jit_emit_t *emit, const jit_node_t *node) {
  kir_builder_t *b = emit->code->builder;
  bool in_lanes = jit_emit_in_lanes(emit, node->expr->vars);
  kir_value_t *known = in_lanes ? jit_lane_range(emit, node->expr, node->low, node->high)
                                : jit_part_range(emit, node->expr, node->low, node->high);
  if (known) return known;
  kir_value_t *value = expr_value(emit, node->expr);
  kir_type_t *type = kir_type_of(value);
  bool may_be_below = node->expr->low < node->low, may_be_above = node->expr->high >= node->high;
  if (may_be_below && may_be_above) return is_between(b, value, node->low, node->high);
  return may_be_below ? kir_icmp(b, KIR_ICMP_SGE, value, jit_int(type, node->low))
                      : kir_icmp(b, KIR_ICMP_SLT, value, jit_int(type, node->high));
}

static kir_value_t *multiple_value(jit_emit_t *emit, const jit_node_t *node) {
  bool in_lanes = jit_emit_in_lanes(emit, node->expr->vars);
  kir_value_t *known = in_lanes ? jit_lane_multiple(emit, node->expr, node->low) : NULL;
  if (known) return known;
  kir_value_t *value = expr_value(emit, node->expr);
  kir_type_t *type = kir_type_of(value);
  kir_value_t *rest = kir_srem(emit->code->builder, value, jit_int(type, node->low));
  return kir_icmp(emit->code->builder, KIR_ICMP_EQ, rest, jit_int(type, 0));
}

static kir_value_t *emit_value(jit_emit_t *emit, jit_node_t *node) {
  kir_value_t *given = emit->provider.get ? emit->provider.get(emit, node) : NULL;
  if (given) return given;
  switch (node->kind) {
    case JIT_LOAD:
      return load_value(emit, node);
    case JIT_CONSTANT:
      return jit_element_constant(emit->code, node->dtype, node->bytes);
    case JIT_INDEX:
      return index_value(emit, node);
    case JIT_OP:
      return op_value(emit, node);
    case JIT_RANGE:
      return range_value(emit, node);
    case JIT_MULTIPLE:
      return multiple_value(emit, node);
    default:
      hr_assert(false);
      return NULL;
  }
}

kir_value_t *jit_emit_node(jit_emit_t *emit, jit_node_t *node) {
  unsigned epoch = emit->levels[jit_emit_depth(emit, node->vars)].epoch;
  bool in_lanes = jit_emit_in_lanes(emit, node->vars);
  kir_value_t **value = in_lanes ? &node->vector.value : &node->scalar.value;
  unsigned *written = in_lanes ? &node->vector.epoch : &node->scalar.epoch;
  if (*written != epoch) {
    kir_value_t *computed = emit_value(emit, node);
    *value = computed;
    *written = epoch;
  }
  return *value;
}

kir_value_t *jit_emit_lanes(jit_emit_t *emit, jit_node_t *node) {
  int depth = jit_emit_depth(emit, node->vars);
  kir_value_t *value = jit_emit_node(emit, node);
  if (emit->lane.count == 1 || jit_emit_in_lanes(emit, node->vars)) return value;
  if (node->vector.epoch == emit->levels[depth].epoch) return node->vector.value;
  jit_emit_at(emit, depth);
  node->vector.value = jit_element_splat(emit->code, node->dtype, emit->lane.count, value);
  node->vector.epoch = emit->levels[depth].epoch;
  return node->vector.value;
}
