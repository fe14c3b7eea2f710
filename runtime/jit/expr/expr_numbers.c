/* Integers computed from indices: a sum or difference of iotas and constants is an index again, as
 * is a multiple or an iota converted to another type, and a comparison of them a condition on an
 * index, which the emitter decides for whole vectors and parts of loops. This holds only where no
 * value overflows its type. */
#include <string.h>

#include "jit/element/element.h"
#include "jit/expr/expr_numbers.h"
#include "jit/expr/expr_graph.h"

/* Bounds of an integer type, clamped to s64. */
static int64_t lowest_of(hr_dtype_t dtype) {
  if (hr_dtype_class(dtype) != HR_CLASS_SIGNED) return 0;
  return INT64_MIN >> (64 - 8 * hr_dtype_bytes(dtype));
}
static int64_t highest_of(hr_dtype_t dtype) {
  size_t bits = 8 * hr_dtype_bytes(dtype) - (hr_dtype_class(dtype) == HR_CLASS_SIGNED ? 1 : 0);
  return bits >= 63 ? INT64_MAX : (INT64_C(1) << bits) - 1;
}

static bool is_whole_byte_integer(hr_dtype_t dtype) {
  return hr_dtype_is_integer(dtype) && hr_dtype_table[dtype].bits == 8 * hr_dtype_bytes(dtype);
}

static bool fits(const jit_expr_t *expr, hr_dtype_t dtype) {
  return is_whole_byte_integer(dtype) && expr->low >= lowest_of(dtype) &&
         expr->high <= highest_of(dtype);
}

static const jit_expr_t *constant_expr(jit_graph_t *graph, const jit_node_t *node) {
  int64_t value = 0;
  size_t bytes = hr_dtype_bytes(node->dtype);
  memcpy(&value, node->bytes, bytes);
  int unused_bits = (int)(64 - 8 * bytes);
  if (hr_dtype_class(node->dtype) == HR_CLASS_SIGNED)
    value = (int64_t)((uint64_t)value << unused_bits) >> unused_bits;
  return jit_expr_constant(&graph->exprs, value);
}

/* The node's value as an index; NULL: it is not an index or an integer constant. */
static const jit_expr_t *number_of(jit_graph_t *graph, const jit_node_t *node) {
  const jit_expr_t *expr = NULL;
  if (!is_whole_byte_integer(node->dtype)) return NULL;
  if (node->kind == JIT_INDEX) expr = node->expr;
  if (node->kind == JIT_CONSTANT) expr = constant_expr(graph, node);
  return expr && fits(expr, node->dtype) ? expr : NULL;
}

/* Largest operand for which sums and differences are far from overflow. */
#define LARGEST_NUMBER (INT64_C(1) << 40)
#define LARGEST_FACTOR (INT64_C(1) << 20) /* the same for factors */

static bool is_large(const jit_expr_t *expr) {
  return expr->low < -LARGEST_NUMBER || expr->high > LARGEST_NUMBER;
}

static jit_node_t *condition(jit_graph_t *graph, const jit_expr_t *expr, int64_t low,
                             int64_t high) {
  static const uint8_t outcomes[] = {0, 1};
  bool is_never;
  jit_node_t *range = jit_node_range(graph, expr, low, high, &is_never);
  if (range) return range;
  return jit_node_make(
      graph,
      &(jit_node_t){.kind = JIT_CONSTANT, .dtype = HR_PRED, .bytes = &outcomes[is_never ? 0 : 1]});
}

/* Compares `less` = a - b with 0. */
static jit_node_t *compare(jit_graph_t *graph, hlo_enum_DIRECTION_t direction,
                           const jit_expr_t *less) {
  const int64_t end = INT64_MAX, begin = INT64_MIN;
  jit_node_t *equal;
  switch (direction) {
    case HLO_DIRECTION_LT:
      return condition(graph, less, begin, 0);
    case HLO_DIRECTION_LE:
      return condition(graph, less, begin, 1);
    case HLO_DIRECTION_GT:
      return condition(graph, less, 1, end);
    case HLO_DIRECTION_GE:
      return condition(graph, less, 0, end);
    default:
      equal = condition(graph, less, 0, 1);
      if (direction == HLO_DIRECTION_EQ) return equal;
      return jit_node_op(graph, HLO_NOT, HR_PRED, 0, 1, &equal);
  }
}

static jit_node_t *index_if_fits(jit_graph_t *graph, const jit_expr_t *expr, hr_dtype_t dtype) {
  if (!fits(expr, dtype)) return NULL;
  return jit_node_make(graph, &(jit_node_t){.kind = JIT_INDEX, .dtype = dtype, .expr = expr});
}

/* a times b, one of which is a constant. */
static jit_node_t *multiple(jit_graph_t *graph, hr_dtype_t dtype, const jit_expr_t *a,
                            const jit_expr_t *b) {
  if (b->count) return a->count ? NULL : multiple(graph, dtype, b, a);
  bool is_far = b->constant > LARGEST_FACTOR || b->constant < -LARGEST_FACTOR;
  if (is_far) return NULL;
  return index_if_fits(graph, jit_expr_scale(&graph->exprs, a, b->constant), dtype);
}

static jit_node_t *converted(jit_graph_t *graph, hr_dtype_t dtype, const jit_node_t *arg) {
  const jit_expr_t *number = arg->kind == JIT_INDEX ? number_of(graph, arg) : NULL;
  return number ? index_if_fits(graph, number, dtype) : NULL;
}

jit_node_t *jit_node_number(jit_graph_t *graph, hlo_opcode_t op, hr_dtype_t dtype, int64_t detail,
                            jit_node_t *const *args) {
  bool is_sum = op == HLO_ADD || op == HLO_SUBTRACT;
  if (op == HLO_CONVERT) return converted(graph, dtype, args[0]);
  if (!is_sum && op != HLO_COMPARE && op != HLO_MULTIPLY) return NULL;
  if (args[0]->kind != JIT_INDEX && args[1]->kind != JIT_INDEX) return NULL;
  const jit_expr_t *a = number_of(graph, args[0]), *b = number_of(graph, args[1]);
  if (!a || !b || is_large(a) || is_large(b)) return NULL;
  if (op == HLO_MULTIPLY) return multiple(graph, dtype, a, b);
  if (op != HLO_ADD) b = jit_expr_scale(&graph->exprs, b, -1);
  const jit_expr_t *sum = jit_expr_add(&graph->exprs, a, b);
  if (op == HLO_COMPARE) return compare(graph, JIT_DETAIL_DIRECTION(detail), sum);
  return index_if_fits(graph, sum, dtype);
}
