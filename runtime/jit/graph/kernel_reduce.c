/* kInput: the expression graph of a fusion with reductions.
 *
 * Loop variables are those of the kept dimensions (loops.nest), then those of the reduced ones
 * (loops.within). Reductions that depend on others are computed in later passes: pass p over a
 * row computes the reductions whose operands need results of passes before p.
 *
 *     softmax:  pass 0  m = max x      pass 1  s = sum exp(x - m)      pass 2  exp(x - m) / s
 *
 * An operand's nodes are made before any user of the reduction, so that one walk in order of
 * creation finds the passes: the pass of a node is the maximum over its arguments, that of a LEAF
 * one more than its reduction's. The number of reductions is at most JIT_MAX_REDUCTIONS. */
#include "jit/graph/kernel_reduce.h"

#include <string.h>

#define NODES_MAX 3000
#define LANES_WORTH 16 /* lanes of the widest f32 vector */

/* Number of dimensions of the space that loops cover: all but an unrolled last one. */
static int kernel_rank(const jit_kernel_t *kernel) {
  return kernel->form.space.rank - (kernel->loops.unrolled ? 1 : 0);
}

/* --- indices ---------------------------------------------------------------------------------- */

/* Index along one dimension of the space, from the variables of one nest. */
static const jit_expr_t *dimension_index(jit_graph_t *graph, const jit_nest_t *nest, int dim,
                                         const jit_expr_t *const *vars) {
  const jit_expr_t *index = jit_expr_constant(&graph->exprs, 0);
  int64_t stride = 1;
  for (int v = nest->rank; v-- > 0;) {
    if (nest->dims[v] != dim) continue;
    index = jit_expr_add(&graph->exprs, index, jit_expr_scale(&graph->exprs, vars[v], stride));
    stride *= nest->sizes[v];
  }
  return index;
}

static void make_variables(jit_graph_t *graph, const jit_nest_t *nest, const jit_expr_t **vars) {
  for (int v = 0; v < nest->rank; v++)
    vars[v] = jit_expr_loop(&graph->exprs, 0, nest->sizes[v] - 1);
}

/* Adds the index along dimension d to *index, which has covered *stride elements of the dimensions
 * after it. */
static void add_dimension(jit_graph_t *graph, const jit_expr_t *along, int64_t size,
                          const jit_expr_t **index, int64_t *stride) {
  *index = jit_expr_add(&graph->exprs, *index, jit_expr_scale(&graph->exprs, along, *stride));
  *stride *= size;
}

/* full = linear index in the operand; unit and within = linear indices among the kept and the
 * reduced dimensions. All three are sums over the same loop variables with different strides. An
 * unrolled last dimension has an index of its own for each value. */
static void make_indices(jit_kernel_t *kernel) {
  jit_reduce_t *reduce = kernel->reduce;
  jit_graph_t *graph = kernel->graph;
  const fusion_space_t *space = &kernel->form.space;
  const jit_expr_t *kept[JIT_MAX_LOOPS], *reduced[JIT_MAX_LOOPS];
  const jit_expr_t *zero = jit_expr_constant(&graph->exprs, 0), *full = zero;
  reduce->index_count = kernel->loops.unrolled ? kernel->loops.unrolled : 1;
  reduce->outer_count = reduce->within_count = 1;
  reduce->unit = reduce->within = zero;
  make_variables(graph, &kernel->loops.nest, kept);
  make_variables(graph, &kernel->loops.within, reduced);
  int64_t stride = reduce->index_count;
  for (int d = kernel_rank(kernel); d-- > 0;) {
    bool is_reduced = space->reduced >> d & 1;
    const jit_expr_t *along = is_reduced ? dimension_index(graph, &kernel->loops.within, d, reduced)
                                         : dimension_index(graph, &kernel->loops.nest, d, kept);
    add_dimension(graph, along, space->sizes[d], &full, &stride);
    if (is_reduced)
      add_dimension(graph, along, space->sizes[d], &reduce->within, &reduce->within_count);
    else
      add_dimension(graph, along, space->sizes[d], &reduce->unit, &reduce->outer_count);
  }
  for (int c = 0; c < reduce->index_count; c++) {
    reduce->full[c] = jit_expr_affine(&graph->exprs, full, 1, c);
    reduce->outer[c] = jit_expr_affine(&graph->exprs, reduce->unit, reduce->index_count, c);
  }
  graph->outer = reduce->outer;
  graph->outer_count = reduce->index_count;
}

/* --- passes ----------------------------------------------------------------------------------- */

/* The first pass in which a node's value is known. */
static int node_pass(jit_reduce_t *reduce, const jit_node_t *node) {
  int pass = node->guard ? node->guard->reduce.pass : 0;
  for (int k = 0; k < node->arg_count; k++)
    if (node->args[k]->reduce.pass > pass) pass = node->args[k]->reduce.pass;
  return node->kind == JIT_LEAF ? jit_reduction_of(reduce, node)->pass + 1 : pass;
}

/* Assigns passes to the nodes that were made since the last call. */
static void assign_passes(jit_reduce_t *reduce, jit_node_t **first) {
  for (jit_node_t *node = *first; node; node = node->next_made) {
    node->reduce.pass = node_pass(reduce, node);
    first = &node->next_made;
  }
}

/* Replaces a reduction of narrow floats in memory by one of their keys. False: it is none. */
static bool make_keys(jit_graph_t *graph, jit_reduction_t *reduction, const jit_expr_t *full) {
  jit_reducer_t with_keys = reduction->reducer;
  if (!jit_reducer_use_keys(&with_keys)) return false;
  jit_node_t *bits = jit_graph_bits_at(graph, reduction->instr->operands[0], full, HR_S16);
  if (!bits) return false;
  jit_node_t *init = jit_node_op(graph, HLO_BITCAST_CONVERT, HR_S16, 0, 1, &reduction->inits[0]);
  reduction->reducer = with_keys;
  reduction->inputs[0] = jit_reducer_key(graph, &with_keys, bits);
  reduction->inits[0] = jit_reducer_key(graph, &with_keys, init);
  return true;
}

/* Builds the reduction of the elements at one of the indices: its inputs, its pass after the passes
 * of its inputs. */
static hr_status_t build_reduction(jit_kernel_t *kernel, const hlo_instr_t *instr, int c) {
  jit_reduce_t *reduce = kernel->reduce;
  if (reduce->reduction_count == JIT_MAX_REDUCTIONS)
    return hlo_unsupported(instr, "more reductions than one loop takes");
  jit_reduction_t *reduction = &reduce->reductions[reduce->reduction_count];
  jit_node_t **made = kernel->graph->last_made;
  jit_index_t full = {reduce->full[c], NULL},
              zero = {jit_expr_constant(&kernel->graph->exprs, 0), NULL};
  *reduction = (jit_reduction_t){
      .instr = instr, .outer = reduce->outer[c], .first_leaf = reduce->leaf_count};
  if (!jit_reducer_init(kernel->target, instr, &reduction->reducer))
    return hlo_unsupported(instr, "no code for its computation");
  int count = reduction->reducer.count;
  for (int k = 0; k < count; k++)
    reduction->inits[k] = jit_graph_at(kernel->graph, instr->operands[count + k], 0, zero, NULL);
  bool has_keys = make_keys(kernel->graph, reduction, full.linear);
  for (int k = 0; k < count && !has_keys; k++)
    reduction->inputs[k] = jit_graph_at(kernel->graph, instr->operands[k], 0, full, NULL);
  assign_passes(reduce, made);
  for (int k = 0; k < count; k++)
    if (reduction->inputs[k]->reduce.pass > reduction->pass)
      reduction->pass = reduction->inputs[k]->reduce.pass;
  reduce->reduction_count++;
  reduce->leaf_count += count;
  if (reduction->pass >= reduce->pass_count) reduce->pass_count = reduction->pass + 1;
  return NULL;
}

static hr_status_t build_reductions(jit_kernel_t *kernel, const hlo_instr_t *instr) {
  for (int c = 0; c < kernel->reduce->index_count; c++) HR_TRY(build_reduction(kernel, instr, c));
  return NULL;
}

/* A root of the operand's size is stored element by element, other roots once per result. */
static void build_root(jit_kernel_t *kernel, jit_root_t *root) {
  jit_reduce_t *reduce = kernel->reduce;
  const hlo_shape_t *shape = hlo_shape_leaf(fusion_root_shape(root->instr), root->number);
  root->is_full = fusion_count(shape) != kernel->form.space.outer_count;
  jit_root_build(kernel->graph, root, root->is_full ? reduce->full[0] : reduce->outer[0]);
  root->row[0] = root->value;
  for (int c = 1; c < reduce->index_count; c++) {
    jit_index_t at = {reduce->outer[c], NULL};
    root->row[c] = jit_graph_at(kernel->graph, root->instr, root->number, at, NULL);
  }
}

static void build_roots(jit_kernel_t *kernel) {
  jit_reduce_t *reduce = kernel->reduce;
  jit_node_t **made = kernel->graph->last_made;
  for (int r = 0; r < kernel->root_count; r++) build_root(kernel, &kernel->roots[r]);
  assign_passes(reduce, made);
  for (int r = 0; r < kernel->root_count; r++)
    if (kernel->roots[r].is_full && kernel->roots[r].value->reduce.pass >= reduce->pass_count)
      reduce->pass_count = kernel->roots[r].value->reduce.pass + 1;
}

/* Saved values and results have slots of 8 bytes, or 16 for c128. */
static int64_t widest_bytes(const jit_graph_t *graph) {
  int64_t most = 8;
  for (const jit_node_t *node = graph->first_made; node; node = node->next_made)
    if (hr_dtype_bytes(node->dtype) > 8) most = 16;
  return most;
}

/* Built again after each split of a loop, since indices depend on the loops. */
hr_status_t jit_reduce_build(jit_kernel_t *kernel) {
  if (!kernel->reduce) HR_TRY(HR_NEW(&kernel->arena, &kernel->reduce));
  memset(kernel->reduce, 0, sizeof *kernel->reduce);
  HR_TRY(HR_NEW(&kernel->arena, &kernel->graph));
  HR_TRY(jit_graph_init(kernel->graph, &kernel->arena, kernel->body, NODES_MAX));
  make_indices(kernel);
  for (size_t i = 0; i < kernel->body->instrs.count; i++) {
    const hlo_instr_t *instr = kernel->body->instrs.data[i];
    hr_status_t st =
        instr->op == HLO_REDUCE && kernel->form.roles[i] ? build_reductions(kernel, instr) : NULL;
    if (!st) continue;
    hr_status_release(jit_graph_take_failure(kernel->graph));
    return st;
  }
  build_roots(kernel);
  kernel->reduce->element_bytes = widest_bytes(kernel->graph);
  return jit_graph_take_failure(kernel->graph);
}

/* Does a division split columns into small groups that share a value, such as channels of a group?
 * Lanes then run over all columns, and the shared values are broadcast. */
static bool stays_whole(const jit_kernel_t *kernel) {
  const jit_exprs_t *exprs = &kernel->graph->exprs;
  int last = kernel->loops.nest.rank - 1;
  return !kernel->has_rows && last >= 0 && exprs->split_var == last &&
         exprs->split_size < LANES_WORTH && kernel->loops.nest.sizes[last] >= LANES_WORTH &&
         kernel->loops.nest.sizes[last] % LANES_WORTH == 0;
}

bool jit_reduce_is_from_left(const jit_reduce_t *reduce) {
  for (int i = 0; i < reduce->reduction_count; i++)
    if (reduce->reductions[i].reducer.order == OP_REDUCE_LEFT) return true;
  return false;
}

hr_status_t jit_reduce_plan(jit_kernel_t *kernel) {
  const fusion_space_t *space = &kernel->form.space;
  if (space->rank >= JIT_MAX_LOOPS / 2) return hr_error(HR_UNSUPPORTED, "too many dimensions");
  for (int d = 0; d < kernel_rank(kernel); d++) {
    jit_nest_t *nest = space->reduced >> d & 1 ? &kernel->loops.within : &kernel->loops.nest;
    nest->dims[nest->rank] = d;
    nest->sizes[nest->rank++] = space->sizes[d];
  }
  HR_TRY(jit_reduce_build(kernel));
  while ((!stays_whole(kernel) && jit_nest_split(&kernel->loops.nest, 0, kernel->graph)) ||
         jit_nest_split(&kernel->loops.within, kernel->loops.nest.rank, kernel->graph))
    HR_TRY(jit_reduce_build(kernel));
  if (!jit_kernel_supports(kernel)) return hr_error(HR_UNSUPPORTED, "an op without code");
  kernel->state.node_work = 3 * kernel->graph->node_count;
  return NULL;
}

/* --- writing ---------------------------------------------------------------------------------- */

jit_reduction_t *jit_reduction_of(jit_reduce_t *reduce, const jit_node_t *leaf) {
  jit_reduction_t *reduction = reduce->reductions;
  while (reduction->instr != leaf->instr || reduction->outer != leaf->expr) reduction++;
  return reduction;
}

void jit_reduction_inits(jit_emit_t *emit, jit_reduction_t *reduction, kir_value_t **out_inits) {
  for (int k = 0; k < reduction->reducer.count; k++)
    out_inits[k] = jit_emit_node(emit, reduction->inits[k]);
  jit_emit_at(emit, emit->level);
}

/* Variables v0 ... from the unit's number, the last one fastest. */
void jit_unit_enter(jit_emit_t *emit, const jit_kernel_t *kernel, kir_value_t *unit, int rank) {
  kir_builder_t *b = emit->code->builder;
  kir_value_t *values[JIT_MAX_LOOPS];
  jit_emit_at(emit, emit->level);
  for (int v = rank; v-- > 0;) {
    kir_value_t *size = jit_emit_i64(emit, kernel->loops.nest.sizes[v]);
    values[v] = v ? kir_urem(b, unit, size) : unit;
    if (v) unit = kir_udiv(b, unit, size);
  }
  for (int v = 0; v < rank; v++) jit_level_enter(emit, v, values[v]);
}
