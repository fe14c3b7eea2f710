/* SymbolicGradient: reverse-mode differentiation of a function of the library. A gradient function
 * that the library names is called; else the function is executed in place, and adjoints are
 * carried backwards over the new instructions.
 *
 *   y = f(x): adjoint(x) += adjoint(y) df/dx, from the last instruction to the first
 *
 * Loops and conditionals inside the function are refused, as are instructions without a rule here.
 * Integers and predicates have no adjoint. */
#include <string.h>

#include "tf/compile/tf_lower.h"

typedef struct reverse {
  tf_op_t *op;
  hlo_builder_t *b;
  size_t first, last; /* instructions of the function, by position in the computation */
  expr_t *adjoints;   /* by position minus first; NULL: 0 so far */
  int argument_count;
  expr_t const *arguments;   /* values that the function was executed on */
  expr_t *argument_adjoints; /* their adjoints */
} reverse_t;

static bool has_adjoint(expr_t x) {
  return hr_dtype_is_float(x->shape->dtype) || hr_dtype_is_complex(x->shape->dtype);
}

/* Adds to the adjoint of an operand: an instruction of the function, or an argument. */
static void add_adjoint(reverse_t *r, expr_t x, expr_t part) {
  if (!part || !has_adjoint(x)) return;
  for (int k = 0; k < r->argument_count; k++)
    if (r->arguments[k] == x) {
      expr_t *sum = &r->argument_adjoints[k];
      *sum = *sum ? f_add(r->b, *sum, part) : part;
      return;
    }
  if (x->id < r->first || x->id >= r->last) return;
  expr_t *sum = &r->adjoints[x->id - r->first];
  *sum = *sum ? f_add(r->b, *sum, part) : part;
}

/* --- rules --- */

/* df/dx of elementwise operations of one operand; y is the result. *out_known is false for others.
 */
static expr_t unary_slope(hlo_builder_t *b, hlo_opcode_t op, expr_t x, expr_t y, bool *out_known) {
  expr_t one = f_number(b, 1, x), two = f_number(b, 2, x);
  *out_known = true;
  switch (op) {
    case HLO_NEGATE:
      return f_number(b, -1, x);
    case HLO_EXPONENTIAL:
      return y;
    case HLO_EXPONENTIAL_MINUS_ONE:
      return f_add(b, y, one);
    case HLO_LOG:
      return f_div(b, one, x);
    case HLO_LOG_PLUS_ONE:
      return f_div(b, one, f_add(b, x, one));
    case HLO_TANH:
      return f_sub(b, one, f_mul(b, y, y));
    case HLO_LOGISTIC:
      return f_mul(b, y, f_sub(b, one, y));
    case HLO_SQRT:
      return f_div(b, one, f_mul(b, two, y));
    case HLO_RSQRT:
      return f_div(b, f_mul(b, f_number(b, -0.5, x), y), x);
    case HLO_SINE:
      return hlo_build_unary(b, HLO_COSINE, x);
    case HLO_COSINE:
      return f_neg(b, hlo_build_unary(b, HLO_SINE, x));
    case HLO_ABS:
      return f_sign(b, x);
    case HLO_COPY:
      return one;
    case HLO_FLOOR:
    case HLO_CEIL:
    case HLO_SIGN:
    case HLO_ROUND_NEAREST_EVEN:
      return f_number(b, 0, x);
    default:
      *out_known = false;
      return NULL;
  }
}

/* Of two equal operands of a maximum the first one takes the gradient. */
static bool binary_rule(reverse_t *r, expr_t i, expr_t g) {
  hlo_builder_t *b = r->b;
  expr_t x = i->operands[0], y = i->operands[1], first = NULL;
  switch (i->op) {
    case HLO_ADD:
      add_adjoint(r, x, g);
      add_adjoint(r, y, g);
      return true;
    case HLO_SUBTRACT:
      add_adjoint(r, x, g);
      add_adjoint(r, y, f_neg(b, g));
      return true;
    case HLO_MULTIPLY:
      add_adjoint(r, x, f_mul(b, g, y));
      add_adjoint(r, y, f_mul(b, g, x));
      return true;
    case HLO_DIVIDE:
      add_adjoint(r, x, f_div(b, g, y));
      add_adjoint(r, y, f_neg(b, f_div(b, f_mul(b, g, i), y)));
      return true;
    case HLO_POWER:
      first = f_mul(b, y, f_pow(b, x, f_sub(b, y, f_number(b, 1, y))));
      add_adjoint(r, x, f_mul(b, g, first));
      add_adjoint(r, y, f_mul(b, g, f_mul(b, i, f_log(b, x))));
      return true;
    case HLO_MAXIMUM:
    case HLO_MINIMUM:
      first = f_eq(b, i, x);
      add_adjoint(r, x, f_select(b, first, g, f_number(b, 0, g)));
      add_adjoint(r, y, f_select(b, first, f_number(b, 0, g), g));
      return true;
    default:
      return false;
  }
}

/* Sum over the dimensions that a broadcast made, in the order of the operand's dimensions. */
static expr_t broadcast_adjoint(reverse_t *r, expr_t i, expr_t g) {
  hr_ints_t kept = hlo_attr_ints(i, HLO_ATTR_DIMENSIONS);
  int64_t dims[HLO_MAX_RANK];
  int count = 0;
  for (int d = 0; d < i->shape->rank; d++) {
    bool is_new = true;
    for (int64_t k = 0; k < kept.count; k++) is_new &= kept.data[k] != d;
    if (is_new) dims[count++] = d;
  }
  for (int64_t k = 1; k < kept.count; k++)
    if (kept.data[k] < kept.data[k - 1]) return NULL;
  return tf_reduce(r->op, HLO_ADD, g, count, dims, false);
}

/* The opposite permutation. */
static expr_t transpose_adjoint(hlo_builder_t *b, expr_t i, expr_t g) {
  hr_ints_t order = hlo_attr_ints(i, HLO_ATTR_DIMENSIONS);
  int64_t back[HLO_MAX_RANK];
  for (int64_t d = 0; d < order.count; d++) back[order.data[d]] = d;
  return tf_transpose(b, g, back);
}

/* A sum hands its adjoint to all elements; a maximum to those that equal it. */
static bool reduce_rule(reverse_t *r, expr_t i, expr_t g) {
  hlo_builder_t *b = r->b;
  expr_t x = i->operands[0];
  hr_ints_t dims = hlo_attr_ints(i, HLO_ATTR_DIMENSIONS);
  int64_t kept[HLO_MAX_RANK];
  int count = 0;
  if (i->operand_count != 2) return false;
  for (int d = 0; d < x->shape->rank; d++) {
    bool is_kept = true;
    for (int64_t k = 0; k < dims.count; k++) is_kept &= dims.data[k] != d;
    if (is_kept) kept[count++] = d;
  }
  hr_ints_t map = {kept, count};
  hlo_opcode_t inner = i->called[0]->root->op;
  g = hlo_build_broadcast(b, g, x->shape, map);
  if (inner == HLO_ADD) {
    add_adjoint(r, x, g);
    return true;
  }
  if (inner != HLO_MAXIMUM && inner != HLO_MINIMUM) return false;
  expr_t most = f_eq(b, x, hlo_build_broadcast(b, i, x->shape, map));
  add_adjoint(r, x, f_select(b, most, g, f_number(b, 0, g)));
  return true;
}

/* Slices and pads undo each other; a concatenation is cut again. */
static bool movement_rule(reverse_t *r, expr_t i, expr_t g) {
  hlo_builder_t *b = r->b;
  expr_t x = i->operands[0];
  int64_t low[HLO_MAX_RANK], high[HLO_MAX_RANK], gaps[HLO_MAX_RANK], at = 0;
  int rank = x->shape->rank;
  if (i->op == HLO_SLICE) {
    const hlo_slice_t *slice = hlo_attr_slice(i);
    for (int d = 0; d < rank; d++) {
      int64_t n = i->shape->dims[d], wide = n ? (n - 1) * slice->dims[d].stride + 1 : 0;
      low[d] = slice->dims[d].start;
      high[d] = x->shape->dims[d] - low[d] - wide;
      gaps[d] = slice->dims[d].stride - 1;
    }
    add_adjoint(r, x, tf_pad(b, g, tf_scalar(b, 0, g->shape->dtype), low, high, gaps));
    return true;
  }
  if (i->op == HLO_PAD) {
    const hlo_padding_t *padding = hlo_attr_padding(i);
    int64_t limits[HLO_MAX_RANK];
    for (int d = 0; d < rank; d++) {
      low[d] = padding->dims[d].low;
      gaps[d] = padding->dims[d].interior + 1;
      int64_t n = x->shape->dims[d];
      limits[d] = low[d] + (n ? (n - 1) * gaps[d] + 1 : 0);
      if (low[d] < 0 || padding->dims[d].high < 0) return false;
    }
    add_adjoint(r, x, tf_slice(b, g, low, limits, gaps));
    return true;
  }
  if (i->op != HLO_CONCATENATE) return false;
  int along = (int)hlo_attr_ints(i, HLO_ATTR_DIMENSIONS).data[0];
  for (int k = 0; k < i->operand_count; k++) {
    int64_t size = i->operands[k]->shape->dims[along];
    add_adjoint(r, i->operands[k], tf_slice_dim(b, g, along, at, at + size));
    at += size;
  }
  return true;
}

/* Dimensions of an operand that are neither batch nor contracted. */
static int free_dims(const hlo_shape_t *shape, hr_ints_t batch, hr_ints_t contract, int64_t *out) {
  int count = 0;
  for (int d = 0; d < shape->rank; d++) {
    bool is_free = true;
    for (int64_t k = 0; k < batch.count; k++) is_free &= batch.data[k] != d;
    for (int64_t k = 0; k < contract.count; k++) is_free &= contract.data[k] != d;
    if (is_free) out[count++] = d;
  }
  return count;
}

/* Adjoint of one side of a product: g times the other side over its free dimensions, whose
 * dimensions are then put into the order of the operand. */
static expr_t dot_side(reverse_t *r, expr_t i, expr_t g, bool left) {
  static const hlo_attr_key_t keys[2][2] = {
      {HLO_ATTR_LHS_BATCH_DIMS, HLO_ATTR_LHS_CONTRACTING_DIMS},
      {HLO_ATTR_RHS_BATCH_DIMS, HLO_ATTR_RHS_CONTRACTING_DIMS}};
  int me = left ? 0 : 1, them = 1 - me;
  expr_t x = i->operands[me], y = i->operands[them];
  hr_ints_t batch = hlo_attr_ints(i, keys[me][0]), mine = hlo_attr_ints(i, keys[me][1]);
  hr_ints_t other_batch = hlo_attr_ints(i, keys[them][0]), theirs = hlo_attr_ints(i, keys[them][1]);
  int64_t my_free[HLO_MAX_RANK], their_free[HLO_MAX_RANK], g_batch[HLO_MAX_RANK];
  int64_t g_contract[HLO_MAX_RANK], order[HLO_MAX_RANK];
  int n = free_dims(x->shape, batch, mine, my_free), at = (int)batch.count;
  int m = free_dims(y->shape, other_batch, theirs, their_free);
  for (int64_t k = 0; k < batch.count; k++) g_batch[k] = k;
  for (int k = 0; k < m; k++) g_contract[k] = batch.count + k + (left ? n : 0);
  tf_dot_dims_t dims = {.x_batch = {g_batch, batch.count},
                        .y_batch = {other_batch.data, batch.count},
                        .x_contract = {g_contract, m},
                        .y_contract = {their_free, m}};
  expr_t part = tf_dot(r->b, g, y, &dims);
  /* Current order: batch, this side's free dimensions, then the other side's contracted ones, which
   * are this side's in some order. */
  for (int64_t k = 0; k < batch.count; k++) order[batch.data[k]] = k;
  for (int k = 0; k < n; k++) order[my_free[k]] = at++;
  for (int64_t k = 0; k < theirs.count; k++) {
    int64_t before = 0;
    for (int64_t j = 0; j < theirs.count; j++) before += theirs.data[j] < theirs.data[k];
    order[mine.data[k]] = batch.count + n + before;
  }
  return tf_transpose(r->b, part, order);
}

/* Elementwise operations of one operand. */
static bool unary_rule(reverse_t *r, expr_t i, expr_t g) {
  bool known;
  if (i->operand_count != 1 || !has_adjoint(i->operands[0])) return false;
  expr_t slope = unary_slope(r->b, i->op, i->operands[0], i, &known);
  if (known) add_adjoint(r, i->operands[0], f_mul(r->b, g, slope));
  return known;
}

/* Carries the adjoint g of instruction i to its operands; false: there is no rule. */
static bool carry_back(reverse_t *r, expr_t i, expr_t g) {
  hlo_builder_t *b = r->b;
  expr_t x = i->operand_count ? i->operands[0] : NULL, part;
  switch (i->op) {
    case HLO_CONSTANT:
    case HLO_IOTA:
      return true;
    case HLO_RESHAPE:
      add_adjoint(r, x, tf_reshape(b, g, x->shape->rank, x->shape->dims));
      return true;
    case HLO_TRANSPOSE:
      add_adjoint(r, x, transpose_adjoint(b, i, g));
      return true;
    case HLO_CONVERT:
      if (has_adjoint(x)) add_adjoint(r, x, hlo_build_convert(b, g, x->shape->dtype));
      return true;
    case HLO_BROADCAST:
      part = broadcast_adjoint(r, i, g);
      add_adjoint(r, x, part);
      return part != NULL;
    case HLO_SELECT:
      add_adjoint(r, i->operands[1], f_select(b, x, g, f_number(b, 0, g)));
      add_adjoint(r, i->operands[2], f_select(b, x, f_number(b, 0, g), g));
      return true;
    case HLO_REDUCE:
      return reduce_rule(r, i, g);
    case HLO_DOT:
      add_adjoint(r, x, dot_side(r, i, g, true));
      add_adjoint(r, i->operands[1], dot_side(r, i, g, false));
      return true;
    case HLO_SLICE:
    case HLO_PAD:
    case HLO_CONCATENATE:
      return movement_rule(r, i, g);
    default:
      break;
  }
  return i->operand_count == 2 ? binary_rule(r, i, g) : unary_rule(r, i, g);
}

/* --- the operation --- */

/* Executes the function on copies of the arguments, so that instructions of the caller are no part
 * of it. */
static hr_status_t run_forward(reverse_t *r, const tf_body_t *function, tf_value_t *results) {
  tf_op_t *op = r->op;
  tf_value_t *args;
  HR_TRY(HR_NEW_ARRAY(op->arena, r->argument_count, &args));
  for (int k = 0; k < r->argument_count; k++)
    args[k] = (tf_value_t){.kind = TF_VALUE_ARRAY, .instr = r->arguments[k]};
  r->first = op->b->computation->instrs.count;
  HR_TRY(
      tf_execute_function(op->scope->compiler, op->b, function, r->argument_count, args, results));
  return hlo_builder_finish(op->b);
}

static hr_status_t run_backward(reverse_t *r) {
  tf_op_t *op = r->op;
  for (size_t at = r->last; at-- > r->first;) {
    expr_t i = op->b->computation->instrs.data[at], g = r->adjoints[at - r->first];
    if (!g) continue;
    if (!carry_back(r, i, g) && !op->b->status)
      return tf_unsupported(op, "the gradient of %s", hlo_op_name(i->op));
  }
  return hlo_builder_finish(op->b);
}

/* Inputs: arguments of the function, then the gradients of its results; outputs: gradients of the
 * arguments. */
static hr_status_t differentiate(tf_op_t *op, const tf_body_t *function) {
  reverse_t r = {.op = op, .b = op->b, .argument_count = function->arg_count};
  tf_value_t *results;
  expr_t *arguments;
  if (op->input_count != function->arg_count + function->ret_count)
    return tf_error(op, "%d inputs, want %d arguments and %d gradients", op->input_count,
                    function->arg_count, function->ret_count);
  HR_TRY(HR_NEW_ARRAY(op->arena, r.argument_count, &arguments));
  HR_TRY(HR_NEW_ARRAY(op->arena, r.argument_count, &r.argument_adjoints));
  HR_TRY(HR_NEW_ARRAY(op->arena, function->ret_count, &results));
  for (int k = 0; k < r.argument_count; k++) {
    arguments[k] = hlo_build_unary(op->b, HLO_COPY, tf_in(op, k));
    if (!arguments[k]) return hlo_builder_finish(op->b);
  }
  r.arguments = arguments;
  HR_TRY(run_forward(&r, function, results));
  expr_t *wanted;
  HR_TRY(HR_NEW_ARRAY(op->arena, function->ret_count, &wanted));
  for (int k = 0; k < function->ret_count; k++)
    wanted[k] = tf_value_instr(op->scope->compiler, op->b, &results[k]);
  r.last = op->b->computation->instrs.count;
  HR_TRY(HR_NEW_ARRAY(op->arena, r.last - r.first, &r.adjoints));
  for (int k = 0; k < function->ret_count; k++) {
    if (!wanted[k]) return hlo_builder_finish(op->b);
    add_adjoint(&r, wanted[k], tf_in(op, r.argument_count + k));
  }
  HR_TRY(run_backward(&r));
  for (int k = 0; k < r.argument_count; k++) {
    expr_t g = r.argument_adjoints[k];
    HR_TRY(tf_out(op, k, g ? g : f_number(op->b, 0, arguments[k])));
  }
  return NULL;
}

/* SymbolicGradient, attribute f. */
hr_status_t tf_lower_symbolic_gradient(tf_op_t *op) {
  const tf_graph_t *graph = op->scope->compiler->graph;
  hr_str_t name;
  HR_TRY(tf_attr_function(op->arena, op->node, "f", &name));
  const tf_body_t *own = tf_graph_gradient(graph, name);
  const tf_body_t *function = tf_graph_function(graph, name);
  if (!own && function) return differentiate(op, function);
  if (!own) return tf_error(op, "there is no function %.*s", HR_STR_ARGS(name));
  tf_value_t *args;
  HR_TRY(HR_NEW_ARRAY(op->arena, op->input_count, &args));
  for (int k = 0; k < op->input_count; k++) args[k] = *op->inputs[k];
  HR_TRY(tf_need_outputs(op, own->ret_count));
  return tf_execute_function(op->scope->compiler, op->b, own, op->input_count, args, op->outputs);
}
