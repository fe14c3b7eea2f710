/* What is known of a node by its op: what it costs, and which numbers it can be. */
#include "jit/element/element_complex.h"
#include "jit/expr/expr_graph.h"
#include "jit/math/jit_math.h"

bool jit_node_is_unit(const jit_node_t *node) {
  if (node->kind != JIT_OP || !hr_dtype_is_float(node->dtype)) return false;
  if (node->op == HLO_LOGISTIC) return true;
  const jit_node_t *exponent = node->args[0];
  return node->op == HLO_EXPONENTIAL && exponent->kind == JIT_OP && exponent->op == HLO_NEGATE &&
         exponent->args[0]->kind == JIT_OP && exponent->args[0]->op == HLO_ABS;
}

/* Rough throughput costs in f32 additions of one vector. */
static double op_cost(const jit_node_t *node) {
  hr_dtype_t type = node->args[node->op == HLO_SELECT ? 1 : 0]->dtype;
  if (hr_dtype_is_complex(type) || hr_dtype_is_complex(node->dtype))
    return jit_complex_cost(node->op);
  switch (node->op) {
    case HLO_DIVIDE:
    case HLO_REMAINDER:
      return hr_dtype_is_integer(type) ? 30 : 6;
    case HLO_POWER:
      return hr_dtype_is_integer(type) ? 60 : jit_math_cost(node->op, type == HR_F64);
    default:
      break;
  }
  bool is_float = hr_dtype_is_float(type);
  return is_float && jit_math_supports(node->op) ? jit_math_cost(node->op, type == HR_F64) : 1;
}

/* Elements of 8 bytes count double, as a register has half as many. */
double jit_node_cost(const jit_node_t *node) {
  bool is_narrow =
      hr_dtype_is_float(node->dtype) && hr_dtype_table[node->dtype].compute != node->dtype;
  double narrow = 0;
  if (is_narrow) narrow = hr_dtype_bytes(node->dtype) == 2 ? 4 : 15;
  switch (node->kind) {
    case JIT_OP:
      return op_cost(node) * (hr_dtype_bytes(hr_dtype_real(node->dtype)) == 8 ? 2 : 1) + narrow;
    case JIT_LOAD:
      return 1.5 + narrow;
    default:
      return 0.5;
  }
}
