/* Superword-level parallelism: equal scalar functions of one kernel in the lanes of one vector.
 *
 * Where a kernel has no lanes, transcendental functions of several independent scalars are
 * computed at once. Inserting and extracting a scalar costs a few instructions, a function some
 * tens, and there is one copy of the function's code instead of one for each scalar.
 *
 * Each node's height is the number of such functions on the longest path down to a load.
 * Functions of one height do not depend on each other; equal ones among them are cut into packs
 * of at most a vector's lanes. One walk in order of creation, quadratic only in the packable
 * nodes. */
#include "jit/element/element.h"
#include "jit/emit/emit_kernel.h"
#include "jit/math/jit_math.h"

#define PACKED_COST 4 /* least cost of a packed function, in additions */

static int height_of_expr(const jit_exprs_t *exprs, const jit_expr_t *expr) {
  int height = 0;
  for (int i = 0; expr && i < expr->count; i++) {
    const jit_symbol_t *symbol = &exprs->symbols[expr->terms[i].symbol];
    int own = symbol->node ? symbol->node->slp.height : height_of_expr(exprs, symbol->of);
    if (own > height) height = own;
  }
  return height;
}

static bool is_packable(const jit_node_t *node) {
  if (node->kind != JIT_OP || !hr_dtype_is_float(node->dtype) ||
      node->args[0]->dtype != node->dtype)
    return false;
  return jit_math_supports(node->op) &&
         jit_math_cost(node->op, node->dtype == HR_F64) >= PACKED_COST;
}

static int node_height(const jit_exprs_t *exprs, const jit_node_t *node) {
  int height = height_of_expr(exprs, node->expr);
  if (node->guard && node->guard->slp.height > height) height = node->guard->slp.height;
  for (int k = 0; k < node->arg_count; k++)
    if (node->args[k]->slp.height > height) height = node->args[k]->slp.height;
  return height + is_packable(node);
}

static bool are_alike(const jit_node_t *a, const jit_node_t *b) {
  return a->slp.height == b->slp.height && a->op == b->op && a->dtype == b->dtype &&
         a->detail == b->detail && a->vars == b->vars;
}

/* Packs `first` and similar functions that follow it, at most `most`. */
static void fill_pack(jit_node_t *first, jit_pack_t *pack, int most) {
  for (jit_node_t *node = first; node && pack->count < most; node = node->next_made)
    if (is_packable(node) && !node->slp.pack && are_alike(node, first)) {
      node->slp.pack = pack;
      pack->nodes[pack->count++] = node;
    }
  if (pack->count == 1) first->slp.pack = NULL;
  pack->lanes = 2;
  while (pack->lanes < pack->count) pack->lanes *= 2;
}

hr_status_t jit_emit_find_packs(jit_emit_t *emit) {
  const jit_graph_t *graph = emit->graph;
  for (jit_node_t *node = graph->first_made; node; node = node->next_made) {
    node->slp.height = node_height(&graph->exprs, node);
    node->slp.pack = NULL;
  }
  for (jit_node_t *node = graph->first_made; node; node = node->next_made) {
    if (node->slp.pack || !is_packable(node)) continue;
    int bytes = (int)hr_dtype_bytes(hr_dtype_table[node->dtype].compute);
    jit_pack_t *pack;
    HR_TRY(HR_NEW(graph->arena, &pack));
    fill_pack(node, pack, emit->code->target->vector_bytes / bytes);
  }
  return NULL;
}

/* Vector of argument k of all members; unused lanes repeat the first member's. */
static kir_value_t *build_vector(jit_emit_t *emit, const jit_pack_t *pack, int k, int depth) {
  kir_type_t *i32 = kir_int_type(emit->code->module, 32);
  kir_value_t *values[JIT_MAX_LANES], *vector;
  for (int i = 0; i < pack->lanes; i++)
    values[i] = i < pack->count ? jit_emit_node(emit, pack->nodes[i]->args[k]) : values[0];
  jit_emit_at(emit, depth);
  vector = kir_poison(kir_vector_type(kir_type_of(values[0]), (unsigned)pack->lanes));
  for (int i = 0; i < pack->lanes; i++)
    vector = kir_insert(emit->code->builder, vector, values[i], jit_int(i32, i));
  return vector;
}

kir_value_t *jit_emit_pack(jit_emit_t *emit, jit_node_t *node, const jit_element_op_t *op) {
  kir_type_t *i32 = kir_int_type(emit->code->module, 32);
  const jit_pack_t *pack = node->slp.pack;
  int depth = jit_emit_depth(emit, node->vars);
  kir_value_t *args[3];
  for (int k = 0; k < node->arg_count; k++) args[k] = build_vector(emit, pack, k, depth);
  jit_emit_at(emit, depth);
  kir_value_t *result = jit_element_emit(emit->code, op, args);
  for (int i = 0; i < pack->count; i++) {
    jit_node_t *other = pack->nodes[i];
    other->scalar.value = kir_extract(emit->code->builder, result, jit_int(i32, i));
    other->scalar.epoch = emit->levels[depth].epoch;
  }
  return node->scalar.value;
}
