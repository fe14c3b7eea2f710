/* Expression graph of a fusion: a DAG of scalar expressions, one for each root's element.
 *
 * The graph is built from the roots down. jit_graph_at computes element `index` of an
 * instruction: elementwise ops recurse into their operands at the same index, data movement at a
 * transformed index (expr_index_ops.c), parameters and large constants become loads. So fusion is
 * the composition of index maps, and no intermediate array remains.
 *
 * Two tables keep it a DAG. Hash-consing makes equal nodes one object (common subexpressions); a
 * memo by instruction, index and guard makes one visit of an instruction at an index enough, so
 * that the cost is linear in the nodes and not in the paths. A node limit bounds what
 * recomputation at different indices may cost: beyond it the fusion is declined. Reductions are
 * leaves that the kernel provides (kInput), or, when they have few terms, are fully expanded
 * (expr_expand_reduce.c). */
#include "jit/expr/expr_graph.h"
#include "jit/expr/expr_numbers.h"

#include <string.h>

#include "jit/element/element.h"
#include "ops/query/codegen_support.h"
#include "ops/query/fusion_form.h"

#define REGISTERS 16 /* most registers that are counted */
#define SHORT_OPS 3  /* ops that are computed right before their use */

typedef struct jit_memo {
  const hlo_instr_t *instr;
  int number;
  const jit_expr_t *linear;
  const jit_node_t *guard;
  jit_node_t *node;
} jit_memo_t;

static jit_node_t error_node;

/* Building goes on with this node after a failure; nobody emits it. */
jit_node_t *jit_node_of_failure(void) { return &error_node; }

/* Only the first failure is kept. */
void jit_graph_keep_failure(jit_graph_t *graph, hr_status_t st) {
  if (graph->failed)
    hr_status_release(st);
  else
    graph->failed = st;
}

/* node_limit bounds the nodes of all roots together. */
hr_status_t jit_graph_init(jit_graph_t *graph, hr_arena_t *arena, const hlo_computation_t *body,
                           int node_limit) {
  memset(graph, 0, sizeof *graph);
  graph->arena = arena;
  graph->body = body;
  graph->node_limit = node_limit;
  graph->last_made = &graph->first_made;
  jit_exprs_init(&graph->exprs, arena);
  return HR_NEW_ARRAY(arena, body->instrs.count, &graph->buffers);
}

/* The caller owns the status; the graph is clean afterwards. */
hr_status_t jit_graph_take_failure(jit_graph_t *graph) {
  hr_status_t st = graph->failed ? graph->failed : graph->exprs.failed;
  if (graph->failed) hr_status_release(graph->exprs.failed);
  graph->failed = NULL;
  graph->exprs.failed = NULL;
  return st;
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* All fields that same_node compares. */
static uint32_t hash_of(const jit_node_t *node) {
  const uint64_t words[] = {(uint64_t)node->kind << 32 | (uint64_t)node->op << 8 | node->dtype,
                            (uint64_t)node->number,
                            (uint64_t)node->low ^ (uint64_t)node->high << 20,
                            (uint64_t)node->detail,
                            (uintptr_t)node->expr,
                            (uintptr_t)node->bytes,
                            (uintptr_t)node->instr ^ (uintptr_t)node->guard << 1,
                            (uintptr_t)node->args[0],
                            (uintptr_t)node->args[1],
                            (uintptr_t)node->args[2]};
  return (uint32_t)hr_hash_bytes(words, sizeof words, 1);
}

static bool same_node(const jit_node_t *a, const jit_node_t *b) {
  return a->hash == b->hash && a->kind == b->kind && a->op == b->op && a->dtype == b->dtype &&
         a->number == b->number && a->low == b->low && a->high == b->high &&
         a->detail == b->detail && a->expr == b->expr && a->bytes == b->bytes &&
         a->instr == b->instr && a->guard == b->guard && !memcmp(a->args, b->args, sizeof a->args);
}

/* Is it a constant, or made by at most `depth` short ops from values that others read, too, and
 * that are kept in any case? */
static bool is_short(const jit_node_t *node, int depth) {
  bool is_wide = hr_dtype_bytes(hr_dtype_real(node->dtype)) == 8;
  bool is_made = node->kind == JIT_OP && depth > 0 && jit_node_cost(node) <= 1 + is_wide;
  for (int k = 0; k < node->arg_count && is_made; k++)
    is_made = node->args[k]->uses > 1 || is_short(node->args[k], depth - 1);
  return is_made || node->kind == JIT_CONSTANT;
}

/* Those that need most registers come first, so that least results wait meanwhile, and those that
 * are made right before their use last: coefficients that conditions choose follow the sum so far.
 * The order of other small ones is left as it is. */
void jit_node_order(const jit_node_t *node, int order[3]) {
  int needed[3];
  for (int k = 0; k < node->arg_count; k++) {
    int at = k;
    needed[k] = node->args[k]->registers < REGISTERS / 2 ? 0 : node->args[k]->registers;
    if (is_short(node->args[k], SHORT_OPS)) needed[k] = -1;
    for (; at > 0 && needed[order[at - 1]] < needed[k]; at--) order[at] = order[at - 1];
    order[at] = k;
  }
}

/* An op of many instructions has intermediate values of its own, and a function leaves no register
 * to other values. Arguments that need all registers keep their order: they mostly share operands.
 */
static void count_registers(jit_node_t *node) {
  int order[3];
  double own = node->kind == JIT_OP ? jit_node_cost(node) : node->kind != JIT_CONSTANT;
  node->registers = own < REGISTERS ? (int)own : REGISTERS;
  jit_node_order(node, order);
  for (int k = 0, waiting = 0; k < node->arg_count; k++) {
    const jit_node_t *arg = node->args[order[k]];
    if (k && arg == node->args[order[k - 1]]) continue;
    if (arg->registers + waiting > node->registers) node->registers = arg->registers + waiting;
    waiting += arg->kind != JIT_CONSTANT;
  }
  if (node->registers > REGISTERS) node->registers = REGISTERS;
}

static void add_vars(jit_node_t *node) {
  if (node->expr) node->vars |= node->expr->vars;
  if (node->guard) node->vars |= node->guard->vars;
  for (int k = 0; k < node->arg_count; k++) node->vars |= node->args[k]->vars;
}

/* Returns the node that equals `like`, made now or before. UNSUPPORTED beyond node_limit: code
 * size and compile time grow with the nodes. */
jit_node_t *jit_node_make(jit_graph_t *graph, const jit_node_t *like) {
  jit_node_t node = *like, *made;
  if (node.expr) node.expr = jit_expr_open(&graph->exprs, node.expr);
  node.hash = hash_of(&node);
  for (uint32_t at = node.hash; (made = jit_table_next(&graph->nodes, node.hash, &at));)
    if (same_node(made, &node)) return made;
  if (graph->failed) return &error_node;
  hr_status_t st =
      graph->node_count < graph->node_limit
          ? hr_arena_alloc(graph->arena, sizeof *made, (void **)&made)
          : hr_error(HR_UNSUPPORTED, "a formula of more than %d nodes", graph->node_limit);
  if (!st) st = jit_table_add(&graph->nodes, graph->arena, node.hash, made);
  if (st) {
    jit_graph_keep_failure(graph, st);
    return &error_node;
  }
  add_vars(&node);
  count_registers(&node);
  node.reduce.slot = -1;
  node.next_made = NULL;
  for (int k = 0; k < node.arg_count; k++) node.args[k]->uses++;
  *made = node;
  graph->node_count++;
  *graph->last_made = made;
  graph->last_made = &made->next_made;
  return made;
}

jit_node_t *jit_node_op(jit_graph_t *graph, hlo_opcode_t op, hr_dtype_t dtype, int64_t detail,
                        int count, jit_node_t *const *args) {
  jit_node_t node = {
      .kind = JIT_OP, .op = op, .dtype = dtype, .detail = detail, .arg_count = count};
  jit_node_t *number = jit_node_number(graph, op, dtype, detail, args);
  if (number) return number;
  for (int k = 0; k < count; k++) node.args[k] = args[k];
  return jit_node_make(graph, &node);
}

/* The condition low <= expr < high as a node. NULL: it is constant, and *out_never says whether it
 * is always false. */
jit_node_t *jit_node_range(jit_graph_t *graph, const jit_expr_t *expr, int64_t low, int64_t high,
                           bool *out_never) {
  *out_never = expr->high < low || expr->low >= high;
  if (*out_never || (expr->low >= low && expr->high < high)) return NULL;
  return jit_node_make(
      graph,
      &(jit_node_t){.kind = JIT_RANGE, .dtype = HR_PRED, .expr = expr, .low = low, .high = high});
}

jit_node_t *jit_node_both(jit_graph_t *graph, jit_node_t *a, jit_node_t *b) {
  if (!a || !b || a == b) return a ? a : b;
  return jit_node_op(graph, HLO_AND, HR_PRED, 0, 2, (jit_node_t *[]){a, b});
}

/* The result at index `expr`; available once the unit's reductions are complete. */
static jit_node_t *make_leaf(jit_graph_t *graph, const hlo_instr_t *instr, int number,
                             hr_dtype_t dtype, const jit_expr_t *expr) {
  return jit_node_make(graph, &(jit_node_t){.kind = JIT_LEAF,
                                            .dtype = dtype,
                                            .instr = instr,
                                            .number = number,
                                            .expr = expr,
                                            .vars = expr->vars | 1u << JIT_UNIT_LOOP});
}

/* --- indices ---------------------------------------------------------------------------------- */

/* The row-major element number of an index given by dimensions. */
const jit_expr_t *jit_index_linear(jit_graph_t *graph, const hlo_shape_t *shape,
                                   jit_index_t index) {
  if (index.linear) return index.linear;
  const jit_expr_t *linear = jit_expr_constant(&graph->exprs, 0);
  int64_t stride = 1;
  for (int d = shape->rank; d-- > 0; stride *= shape->dims[d])
    linear =
        jit_expr_add(&graph->exprs, linear, jit_expr_scale(&graph->exprs, index.dims[d], stride));
  return linear;
}

/* The inverse: indices by dimension, as quotients and remainders, which the normal form
 * simplifies. */
const jit_expr_t *const *jit_index_dims(jit_graph_t *graph, const hlo_shape_t *shape,
                                        jit_index_t index) {
  static const jit_expr_t *const none[HLO_MAX_RANK];
  const jit_expr_t **dims, *left = index.linear;
  if (index.dims) return index.dims;
  hr_status_t st = HR_NEW_ARRAY(graph->arena, shape->rank + 1, &dims);
  if (st) {
    jit_graph_keep_failure(graph, st);
    return none;
  }
  for (int d = shape->rank; d-- > 0;) {
    int64_t size = shape->dims[d];
    bool first = d == 0;
    dims[d] = size == 1 ? jit_expr_constant(&graph->exprs, 0)
              : first   ? left
                        : jit_expr_remainder(&graph->exprs, left, size);
    if (!first && size > 1) left = jit_expr_divide(&graph->exprs, left, size);
  }
  return dims;
}

/* --- elements of instructions ----------------------------------------------------------------- */

bool jit_is_one_value(const hlo_value_t *value) {
  size_t each = hr_dtype_bytes(value->dtype), all = (size_t)value->count * each;
  return value->count == 1 ||
         (value->count > 1 && !memcmp(value->data, (const char *)value->data + each, all - each));
}

/* Number of the array in the kernel's list; parameters and large literals are loaded from
 * memory. */
static int buffer_index(jit_graph_t *graph, int param, const hlo_value_t *literal) {
  int k = 0;
  while (k < graph->buffer_count &&
         (graph->buffers[k].param != param || graph->buffers[k].literal != literal))
    k++;
  if (k == graph->buffer_count) {
    graph->buffers[k].param = param;
    graph->buffers[k].literal = literal;
    graph->buffer_count++;
  }
  return k;
}

/* Literals that repeat one value are constants of the code. */
static jit_node_t *constant_at(jit_graph_t *graph, const hlo_instr_t *instr, jit_index_t index,
                               jit_node_t *guard) {
  jit_node_t node = {.dtype = instr->shape->dtype};
  if (jit_is_one_value(instr->literal)) {
    node.kind = JIT_CONSTANT;
    node.bytes = instr->literal->data;
  } else {
    node.kind = JIT_LOAD;
    node.number = buffer_index(graph, -1, instr->literal);
    node.guard = guard;
    node.expr = jit_index_linear(graph, instr->shape, index);
  }
  return jit_node_make(graph, &node);
}

static int64_t element_count(const hlo_shape_t *shape) {
  int64_t count = 1;
  for (int d = 0; d < shape->rank; d++) count *= shape->dims[d];
  return count;
}

int64_t jit_buffer_count(const jit_graph_t *graph, int number) {
  const jit_buffer_t *buffer = &graph->buffers[number];
  return buffer->literal ? buffer->literal->count
                         : element_count(graph->body->params.data[buffer->param]->shape);
}

/* Is the element there whatever the guard says, and does the guard change in a loop inside all
 * those that the element depends on? The load then stays outside of that loop: such as the index of
 * a row that is gathered into a part of a concatenation. */
static bool is_always_there(const jit_expr_t *expr, const jit_node_t *guard, int64_t count) {
  bool is_outside = !(expr->vars & guard->vars) || expr->vars < (guard->vars & ~expr->vars);
  return is_outside && expr->low >= 0 && expr->high < count;
}

/* A load at the linear index; the guard makes it masked. */
static jit_node_t *parameter_at(jit_graph_t *graph, const hlo_instr_t *instr, jit_index_t index,
                                jit_node_t *guard) {
  jit_node_t node = {.kind = JIT_LOAD,
                     .dtype = instr->shape->dtype,
                     .number = buffer_index(graph, (int)hlo_parameter_number(instr), NULL)};
  node.expr = jit_index_linear(graph, instr->shape, index);
  if (guard && !is_always_there(node.expr, guard, element_count(instr->shape))) node.guard = guard;
  return jit_node_make(graph, &node);
}

jit_node_t *jit_graph_bits_at(jit_graph_t *graph, const hlo_instr_t *instr,
                              const jit_expr_t *linear, hr_dtype_t type) {
  while (fusion_keeps_order(instr)) instr = instr->operands[0];
  if (instr->op != HLO_PARAMETER || element_count(instr->shape) < JIT_MEMORY_LEAST) return NULL;
  return jit_node_make(
      graph, &(jit_node_t){.kind = JIT_LOAD,
                           .dtype = type,
                           .number = buffer_index(graph, (int)hlo_parameter_number(instr), NULL),
                           .expr = linear});
}

/* The attributes on which an op's code depends, packed into an integer. */
int64_t jit_op_detail(const hlo_instr_t *instr) {
  if (instr->op == HLO_COMPARE)
    return JIT_COMPARE_DETAIL(hlo_attr_enum(instr, HLO_ATTR_DIRECTION),
                              hlo_attr_enum(instr, HLO_ATTR_TYPE));
  if (instr->op != HLO_REDUCE_PRECISION) return 0;
  int64_t exponent = hlo_attr_int(instr, HLO_ATTR_EXPONENT_BITS),
          mantissa = hlo_attr_int(instr, HLO_ATTR_MANTISSA_BITS);
  return JIT_PRECISION_DETAIL(hr_min(exponent, 64), hr_min(mantissa, 64));
}

/* Scalar operands beside arrays: element 0 is used for every element. */
static jit_node_t *elementwise_at(jit_graph_t *graph, const hlo_instr_t *instr, jit_index_t index,
                                  jit_node_t *guard) {
  jit_node_t *args[3];
  int64_t count = element_count(instr->shape);
  for (int k = 0; k < instr->operand_count; k++) {
    const hlo_instr_t *operand = instr->operands[k];
    jit_index_t at = {jit_index_linear(graph, instr->shape, index), NULL};
    if (hlo_shape_same_dims(operand->shape, instr->shape)) at.dims = index.dims;
    if (element_count(operand->shape) != count)
      at = (jit_index_t){jit_expr_constant(&graph->exprs, 0), NULL};
    args[k] = jit_graph_at(graph, operand, 0, at, guard);
  }
  return jit_node_op(graph, instr->op, instr->shape->dtype, jit_op_detail(instr),
                     instr->operand_count, args);
}

static bool is_outer(const jit_graph_t *graph, const jit_expr_t *linear) {
  for (int c = 0; c < graph->outer_count; c++)
    if (graph->outer[c] == linear) return true;
  return false;
}

/* Results of a reduction are leaves outside of it, available at the outer indices only. */
static jit_node_t *reduction_at(jit_graph_t *graph, const hlo_instr_t *instr, int number,
                                jit_index_t index) {
  const hlo_shape_t *shape = hlo_shape_leaf(instr->shape, number);
  const jit_expr_t *linear = jit_index_linear(graph, shape, index);
  if (!is_outer(graph, linear) && !graph->failed)
    jit_graph_keep_failure(
        graph, hlo_unsupported(instr, "a reduction is used at another index than its own"));
  return make_leaf(graph, instr, number, shape->dtype, linear);
}

/* --- any instruction -------------------------------------------------------------------------- */

/* Elementwise and data movement ops recurse; others are sources or cannot be compiled. */
static jit_node_t *compute_at(jit_graph_t *graph, const hlo_instr_t *instr, int number,
                              jit_index_t index, jit_node_t *guard) {
  switch (op_codegens[instr->op]) {
    case CODEGEN_ELEMENTWISE:
      return elementwise_at(graph, instr, index, guard);
    case CODEGEN_INDEX:
      return jit_graph_moved(graph, instr, index, guard);
    case CODEGEN_REDUCE:
      return graph->writes_sums_out ? jit_expanded_reduction_at(graph, instr, number, index, guard)
                                    : reduction_at(graph, instr, number, index);
    default:
      break;
  }
  switch (instr->op) {
    case HLO_PARAMETER:
      return parameter_at(graph, instr, index, guard);
    case HLO_CONSTANT:
      return constant_at(graph, instr, index, guard);
    case HLO_GET_TUPLE_ELEMENT:
      return jit_graph_at(graph, instr->operands[0], (int)hlo_attr_int(instr, HLO_ATTR_INDEX),
                          index, guard);
    default:
      if (!graph->failed)
        jit_graph_keep_failure(graph,
                               hlo_unsupported(instr, "no formula for %s", hlo_op_name(instr->op)));
      return &error_node;
  }
}

/* Memoised by (instruction, result, index, guard): shared operands are walked once. */
jit_node_t *jit_graph_at(jit_graph_t *graph, const hlo_instr_t *instr, int number,
                         jit_index_t index, jit_node_t *guard) {
  const hlo_shape_t *shape = hlo_shape_leaf(instr->shape, number);
  if (graph->failed || graph->exprs.failed) return &error_node;
  index.linear = jit_index_linear(graph, shape, index);
  size_t hash = ((uintptr_t)instr >> 4 ^ (uintptr_t)index.linear >> 3 ^ (uintptr_t)guard >> 5) +
                (size_t)number;
  uint32_t key = (uint32_t)(hash * UINT64_C(0x9e3779b97f4a7c15) >> 32);
  jit_memo_t *memo;
  for (uint32_t at = key; (memo = jit_table_next(&graph->memos, key, &at));)
    if (memo->instr == instr && memo->number == number && memo->linear == index.linear &&
        memo->guard == guard)
      return memo->node;
  jit_node_t *node = compute_at(graph, instr, number, index, guard);
  hr_status_t st = HR_NEW(graph->arena, &memo);
  if (!st) st = jit_table_add(&graph->memos, graph->arena, key, memo);
  if (st) {
    jit_graph_keep_failure(graph, st);
    return &error_node;
  }
  *memo = (jit_memo_t){instr, number, index.linear, guard, node};
  return node;
}

/* --- computations on scalars ------------------------------------------------------------------ */

/* The body is elementwise on scalars; `nodes` has its operands by instruction id. */
static jit_node_t *apply_instr(jit_graph_t *graph, const hlo_instr_t *instr,
                               jit_node_t *const *args, jit_node_t *const *nodes) {
  jit_node_t *operands[3];
  if (instr->op == HLO_PARAMETER) return args[hlo_parameter_number(instr)];
  if (instr->op == HLO_CONSTANT) return constant_at(graph, instr, (jit_index_t){NULL, NULL}, NULL);
  if (op_codegens[instr->op] != CODEGEN_ELEMENTWISE || instr->operand_count > 3) {
    if (!graph->failed)
      jit_graph_keep_failure(graph,
                             hlo_unsupported(instr, "no formula for %s", hlo_op_name(instr->op)));
    return &error_node;
  }
  for (int k = 0; k < instr->operand_count; k++) operands[k] = nodes[instr->operands[k]->id];
  return jit_node_op(graph, instr->op, instr->shape->dtype, jit_op_detail(instr),
                     instr->operand_count, operands);
}

/* Inlines a reducer or comparator on nodes as arguments. */
void jit_graph_apply(jit_graph_t *graph, const hlo_computation_t *computation,
                     jit_node_t *const *args, int result_count, jit_node_t **out_results) {
  jit_node_t **nodes;
  const hlo_instr_t *root = computation->root;
  for (int r = 0; r < result_count; r++) out_results[r] = &error_node;
  hr_status_t st = HR_NEW_ARRAY(graph->arena, computation->instrs.count, &nodes);
  if (st) {
    jit_graph_keep_failure(graph, st);
    return;
  }
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    if (instr->op != HLO_TUPLE) nodes[i] = apply_instr(graph, instr, args, nodes);
  }
  for (int r = 0; r < result_count; r++)
    out_results[r] = nodes[(root->op == HLO_TUPLE ? root->operands[r] : root)->id];
}
