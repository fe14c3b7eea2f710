/* Square tiles for loads that are transposed with respect to the innermost loop.
 *
 * Rows of the operand are loaded as vectors, transposed in registers (emit_transpose.c), and stored
 * in a buffer of the function, from where the loops over the tile read them along the lanes. Every
 * cache line of the operand is read once, whatever the stride of its rows; a gather would touch one
 * line per lane, and all of them again for the next row. */
#include "jit/element/element.h"
#include "jit/graph/jit_kernel.h"

static kir_value_t *vector_at(jit_emit_t *emit, kir_type_t *element, kir_value_t *array,
                              kir_value_t *index) {
  return kir_inbounds_gep(emit->code->builder, element, array, index);
}

/* Emitted before the loops over the square, at the level of the enclosing loop. */
static void fill_square(jit_emit_t *emit, const jit_kernel_t *kernel, jit_node_t *node, int level) {
  jit_code_t *code = emit->code;
  int along = kernel->loops.nest.rank - 2, across = kernel->loops.nest.rank - 1,
      count = kernel->loops.lanes;
  kir_type_t *element = jit_memory_type(code, node->dtype),
             *vector = kir_vector_type(element, (unsigned)count);
  int64_t jump = jit_expr_factor(node->expr, across);
  jit_exprs_t *exprs = &emit->graph->exprs;
  const jit_expr_t *corner =
      jit_expr_without(exprs, jit_expr_without(exprs, node->expr, along), across);
  kir_value_t *rows[64], *first = jit_emit_expr(emit, corner),
                         *array = jit_emit_in(emit, node->number);
  jit_emit_at(emit, level);
  array = vector_at(emit, element, array, first);
  for (int row = 0; row < count; row++) {
    rows[row] = kir_load(code->builder, vector,
                         vector_at(emit, element, array, jit_emit_i64(emit, row * jump)));
    kir_set_align(rows[row], (unsigned)hr_dtype_bytes(node->dtype));
  }
  jit_emit_transposed(code, rows, count);
  for (int row = 0; row < count; row++)
    kir_store(code->builder, rows[row],
              vector_at(emit, element, node->tile.value, jit_emit_i64(emit, (int64_t)row * count)));
}

kir_value_t *jit_tile_given(jit_emit_t *emit, jit_node_t *node) {
  const jit_kernel_t *kernel = emit->provider.context;
  int along = kernel->loops.nest.rank - 2, across = kernel->loops.nest.rank - 1,
      count = kernel->loops.lanes;
  if (!jit_is_transposed(&emit->graph->exprs, node, along, across)) return NULL;
  int level = emit->depths[along] - 1;
  if (!node->tile.value)
    node->tile.value = jit_emit_alloca(emit, (int64_t)hr_dtype_bytes(node->dtype) * count * count);
  if (node->tile.epoch != emit->levels[level].epoch) fill_square(emit, kernel, node, level);
  node->tile.epoch = emit->levels[level].epoch;
  kir_type_t *element = jit_memory_type(emit->code, node->dtype);
  jit_emit_at(emit, emit->level);
  kir_value_t *row =
      kir_mul(emit->code->builder, emit->variables[along], jit_emit_i64(emit, count));
  kir_value_t *value = kir_load(emit->code->builder, kir_vector_type(element, (unsigned)count),
                                vector_at(emit, element, node->tile.value, row));
  return jit_from_memory(emit->code, node->dtype, value);
}
