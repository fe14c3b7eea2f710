/* Data movement ops as index maps: the element at an index of the result is the element at
 * another index of an operand.
 *
 *     transpose    permuted indices                    slice, reverse   index * stride + start
 *     reshape      the same linear index               concatenate      select over index ranges
 *     broadcast    indices of kept dimensions          pad              select, guarded load
 *     gather, dynamic-slice   index + clamped start, a JIT_SYMBOL_START of the index expressions
 *
 * Where an element is needed under a condition only, the condition travels down as the guard of
 * the loads: an address that is never read need not be valid. */
#include <string.h>

#include "jit/expr/expr_graph.h"
#include "ops/query/gather_dims.h"

static void keep_failure(jit_graph_t *graph, hr_status_t st) {
  if (graph->failed)
    hr_status_release(st);
  else
    graph->failed = st;
}

/* Allocates the indices of an operand. */
static const jit_expr_t **new_dims(jit_graph_t *graph, int rank) {
  static const jit_expr_t *none[HLO_MAX_RANK];
  const jit_expr_t **dims;
  hr_status_t st = HR_NEW_ARRAY(graph->arena, rank + 1, &dims);
  if (!st) return dims;
  keep_failure(graph, st);
  return none;
}

static jit_node_t *operand_at(jit_graph_t *graph, const hlo_instr_t *instr, int k,
                              const jit_expr_t *const *dims, jit_node_t *guard) {
  return jit_graph_at(graph, instr->operands[k], 0, (jit_index_t){NULL, dims}, guard);
}

static jit_node_t *iota_at(jit_graph_t *graph, const hlo_instr_t *instr,
                           const jit_expr_t *const *dims) {
  const jit_expr_t *expr = dims[hlo_attr_int(instr, HLO_ATTR_IOTA_DIMENSION)];
  return jit_node_make(
      graph, &(jit_node_t){.kind = JIT_INDEX, .dtype = instr->shape->dtype, .expr = expr});
}

/* Operand dimensions of size 1 are read at index 0, others at the index of their result
 * dimension. */
static jit_node_t *broadcast_at(jit_graph_t *graph, const hlo_instr_t *instr,
                                const jit_expr_t *const *dims, jit_node_t *guard) {
  const hlo_shape_t *in = instr->operands[0]->shape;
  hr_ints_t dimensions = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  const jit_expr_t **at = new_dims(graph, in->rank);
  for (int d = 0; d < in->rank; d++)
    at[d] = in->dims[d] == 1 ? jit_expr_constant(&graph->exprs, 0) : dims[dimensions.data[d]];
  return operand_at(graph, instr, 0, at, guard);
}

/* Result dimension d is operand dimension dimensions[d]. */
static jit_node_t *transpose_at(jit_graph_t *graph, const hlo_instr_t *instr,
                                const jit_expr_t *const *dims, jit_node_t *guard) {
  hr_ints_t dimensions = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  const jit_expr_t **at = new_dims(graph, instr->shape->rank);
  for (int d = 0; d < instr->shape->rank; d++) at[dimensions.data[d]] = dims[d];
  return operand_at(graph, instr, 0, at, guard);
}

/* i becomes size - 1 - i in reversed dimensions. */
static jit_node_t *reverse_at(jit_graph_t *graph, const hlo_instr_t *instr,
                              const jit_expr_t *const *dims, jit_node_t *guard) {
  hr_ints_t reversed = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  const jit_expr_t **at = new_dims(graph, instr->shape->rank);
  for (int d = 0; d < instr->shape->rank; d++) at[d] = dims[d];
  for (int64_t i = 0; i < reversed.count; i++) {
    int64_t d = reversed.data[i];
    at[d] = jit_expr_affine(&graph->exprs, dims[d], -1, instr->shape->dims[d] - 1);
  }
  return operand_at(graph, instr, 0, at, guard);
}

/* i becomes start + stride i. */
static jit_node_t *slice_at(jit_graph_t *graph, const hlo_instr_t *instr,
                            const jit_expr_t *const *dims, jit_node_t *guard) {
  const hlo_slice_t *slice = hlo_attr_slice(instr);
  const jit_expr_t **at = new_dims(graph, instr->shape->rank);
  for (int d = 0; d < instr->shape->rank; d++)
    at[d] = jit_expr_affine(&graph->exprs, dims[d], slice->dims[d].stride, slice->dims[d].start);
  return operand_at(graph, instr, 0, at, guard);
}

/* Index in a piece that begins at `start`; specified only for indices inside the piece. */
static const jit_expr_t *place_in(jit_graph_t *graph, const jit_expr_t *index, int64_t start,
                                  int64_t size) {
  return jit_expr_within(&graph->exprs, jit_expr_affine(&graph->exprs, index, 1, -start), 0,
                         size - 1);
}

/* Pieces are visited from last to first: each is selected below its end, otherwise the later
 * ones. */
static jit_node_t *concatenate_at(jit_graph_t *graph, const hlo_instr_t *instr,
                                  const jit_expr_t *const *dims, jit_node_t *guard) {
  int64_t d = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS).data[0], end = instr->shape->dims[d];
  jit_node_t *result = NULL;
  for (int k = instr->operand_count; k-- > 0;) {
    int64_t start = end - instr->operands[k]->shape->dims[d];
    bool never, never_below;
    jit_node_t *here = jit_node_range(graph, dims[d], start, end, &never);
    if (!never) {
      const jit_expr_t **at = new_dims(graph, instr->shape->rank);
      memcpy(at, dims, (size_t)instr->shape->rank * sizeof *at);
      at[d] = place_in(graph, dims[d], start, end - start);
      jit_node_t *piece = operand_at(graph, instr, k, at, jit_node_both(graph, guard, here));
      jit_node_t *below = jit_node_range(graph, dims[d], INT64_MIN / 2, end, &never_below);
      result = !result || !below ? piece
                                 : jit_node_op(graph, HLO_SELECT, piece->dtype, 0, 3,
                                               (jit_node_t *[]){below, piece, result});
    }
    end = start;
  }
  if (result) return result;
  keep_failure(graph, hlo_unsupported(instr, "an element of nothing"));
  return jit_node_make(
      graph, &(jit_node_t){.kind = JIT_INDEX, .dtype = instr->shape->dtype, .expr = dims[d]});
}

/* Index of the operand's element along one dimension. *guard: the condition that there is one. */
static const jit_expr_t *unpadded(jit_graph_t *graph, const hlo_padding_dim_t *pad, int64_t size,
                                  const jit_expr_t *index, jit_node_t **guard, bool *out_never) {
  int64_t step = pad->interior + 1;
  const jit_expr_t *from_low = jit_expr_affine(&graph->exprs, index, 1, -pad->low);
  *guard = jit_node_both(graph, *guard,
                         jit_node_range(graph, from_low, 0, (size - 1) * step + 1, out_never));
  if (step == 1) return place_in(graph, index, pad->low, size);
  if (jit_expr_remainder(&graph->exprs, from_low, step) != jit_expr_constant(&graph->exprs, 0)) {
    jit_node_t node = {.kind = JIT_MULTIPLE, .dtype = HR_PRED, .expr = from_low, .low = step};
    *guard = jit_node_both(graph, *guard, jit_node_make(graph, &node));
  }
  return jit_expr_divide(&graph->exprs, from_low, step);
}

static jit_node_t *pad_at(jit_graph_t *graph, const hlo_instr_t *instr,
                          const jit_expr_t *const *dims, jit_node_t *guard) {
  const hlo_padding_t *padding = hlo_attr_padding(instr);
  const hlo_shape_t *in = instr->operands[0]->shape;
  const jit_expr_t **at = new_dims(graph, in->rank);
  jit_node_t *inside = NULL;
  bool never = false;
  for (int d = 0; d < in->rank && !never; d++) {
    never = in->dims[d] == 0;
    if (!never) at[d] = unpadded(graph, &padding->dims[d], in->dims[d], dims[d], &inside, &never);
  }
  jit_index_t zero = {jit_expr_constant(&graph->exprs, 0), NULL};
  jit_node_t *filling = jit_graph_at(graph, instr->operands[1], 0, zero, guard);
  if (never) return filling;
  jit_node_t *element = operand_at(graph, instr, 0, at, jit_node_both(graph, guard, inside));
  if (!inside) return element;
  return jit_node_op(graph, HLO_SELECT, element->dtype, 0, 3,
                     (jit_node_t *[]){inside, element, filling});
}

static int64_t integer_at(hr_dtype_t dtype, const void *bytes) {
  size_t size = hr_dtype_bytes(dtype);
  uint64_t bits = 0;
  memcpy(&bits, bytes, size);
  bool negative = hr_dtype_class(dtype) == HR_CLASS_SIGNED && bits >> (8 * size - 1);
  if (negative && size < 8) bits |= ~(uint64_t)0 << 8 * size;
  return dtype == HR_U64 && bits >> 63 ? INT64_MAX : (int64_t)bits;
}

/* Start d of a dynamic slice or update. The starts are operands from `first` on: scalars, or one
 * array of rank 1. */
static const jit_expr_t *start_of(jit_graph_t *graph, const hlo_instr_t *instr, int first, int d,
                                  int64_t most) {
  bool is_list = instr->operand_count == first + 1 && instr->operands[first]->shape->rank == 1;
  jit_index_t at = {jit_expr_constant(&graph->exprs, is_list ? d : 0), NULL};
  jit_node_t *start =
      jit_graph_at(graph, instr->operands[is_list ? first : first + d], 0, at, NULL);
  if (start->kind != JIT_CONSTANT)
    return jit_expr_start(&graph->exprs, start, start->vars, 0, most);
  int64_t value = integer_at(start->dtype, start->bytes);
  return jit_expr_constant(&graph->exprs, hr_min(hr_max(value, 0), most));
}

static jit_node_t *dynamic_slice_at(jit_graph_t *graph, const hlo_instr_t *instr,
                                    const jit_expr_t *const *dims, jit_node_t *guard) {
  const hlo_shape_t *in = instr->operands[0]->shape;
  const jit_expr_t **at = new_dims(graph, in->rank);
  for (int d = 0; d < in->rank; d++)
    at[d] = jit_expr_add(&graph->exprs, dims[d],
                         start_of(graph, instr, 1, d, in->dims[d] - instr->shape->dims[d]));
  return operand_at(graph, instr, 0, at, guard);
}

const jit_expr_t *jit_graph_update_index(jit_graph_t *graph, const hlo_instr_t *update,
                                         jit_index_t index) {
  const hlo_shape_t *whole = update->shape, *written = update->operands[1]->shape;
  const jit_expr_t *const *dims = jit_index_dims(graph, written, index);
  const jit_expr_t **at = new_dims(graph, whole->rank);
  for (int d = 0; d < whole->rank; d++)
    at[d] = jit_expr_add(&graph->exprs, dims[d],
                         start_of(graph, update, 2, d, whole->dims[d] - written->dims[d]));
  return jit_index_linear(graph, whole, (jit_index_t){NULL, at});
}

/* --- gather ----------------------------------------------------------------------------------- */

/* Index in the array of start indices for an element of the result, without the component. */
static const jit_expr_t **index_of_indices(jit_graph_t *graph, const hlo_instr_t *instr,
                                           const jit_expr_t *const *dims) {
  op_gather_dims_t gather = op_gather_dims(instr);
  int rank = instr->operands[1]->shape->rank, from = 0;
  const jit_expr_t **at = new_dims(graph, rank);
  for (int d = 0; d < rank; d++) {
    at[d] = jit_expr_constant(&graph->exprs, 0);
    if (d == gather.vector_dim) continue;
    while (op_dims_contain(gather.window, from)) from++;
    at[d] = dims[from++];
  }
  return at;
}

/* Component c of the window's start. Like the element it leads to, it may be needed under a guard
 * only. */
static const jit_expr_t *gather_start(jit_graph_t *graph, const hlo_instr_t *instr,
                                      const jit_expr_t *const *index, int64_t c,
                                      jit_node_t *guard) {
  const hlo_shape_t *indices = instr->operands[1]->shape, *operand = instr->operands[0]->shape;
  int64_t vector_dim = hlo_attr_int(instr, HLO_ATTR_INDEX_VECTOR_DIM);
  int64_t d = hlo_attr_ints(instr, HLO_ATTR_START_INDEX_MAP).data[c];
  int64_t most = operand->dims[d] - hlo_attr_ints(instr, HLO_ATTR_SLICE_SIZES).data[d];
  const jit_expr_t **at = new_dims(graph, indices->rank);
  memcpy(at, index, (size_t)indices->rank * sizeof *at);
  if (vector_dim < indices->rank) at[vector_dim] = jit_expr_constant(&graph->exprs, c);
  jit_node_t *start = operand_at(graph, instr, 1, at, guard);
  if (start->kind == JIT_INDEX && start->expr->low >= 0 && start->expr->high <= most)
    return start->expr;
  if (start->kind != JIT_CONSTANT)
    return jit_expr_start(&graph->exprs, start, start->vars, 0, most);
  int64_t value = integer_at(start->dtype, start->bytes);
  return jit_expr_constant(&graph->exprs, hr_min(hr_max(value, 0), most));
}

static jit_node_t *gather_at(jit_graph_t *graph, const hlo_instr_t *instr,
                             const jit_expr_t *const *dims, jit_node_t *guard) {
  op_gather_dims_t gather = op_gather_dims(instr);
  int rank = instr->operands[0]->shape->rank, next = 0;
  const jit_expr_t **at = new_dims(graph, rank), **index = index_of_indices(graph, instr, dims);
  for (int d = 0; d < rank; d++) {
    bool is_window = !op_dims_contain(gather.dropped, d) && !op_dims_contain(gather.batching, d);
    at[d] = is_window ? dims[gather.window.data[next++]] : jit_expr_constant(&graph->exprs, 0);
  }
  for (int64_t i = 0; i < gather.batching.count; i++)
    at[gather.batching.data[i]] = index[gather.indices_batching.data[i]];
  for (int64_t c = 0; c < gather.start_map.count; c++) {
    const jit_expr_t **dim = &at[gather.start_map.data[c]];
    *dim = jit_expr_add(&graph->exprs, *dim, gather_start(graph, instr, index, c, guard));
  }
  return operand_at(graph, instr, 0, at, guard);
}

jit_node_t *jit_graph_moved(jit_graph_t *graph, const hlo_instr_t *instr, jit_index_t index,
                            jit_node_t *guard) {
  switch (instr->op) {
    case HLO_COPY:
      return jit_graph_at(graph, instr->operands[0], 0, index, guard);
    case HLO_RESHAPE:
    case HLO_BITCAST: {
      jit_index_t same = {jit_index_linear(graph, instr->shape, index), NULL};
      return jit_graph_at(graph, instr->operands[0], 0, same, guard);
    }
    default:
      break;
  }
  const jit_expr_t *const *dims = jit_index_dims(graph, instr->shape, index);
  switch (instr->op) {
    case HLO_IOTA:
      return iota_at(graph, instr, dims);
    case HLO_BROADCAST:
      return broadcast_at(graph, instr, dims, guard);
    case HLO_TRANSPOSE:
      return transpose_at(graph, instr, dims, guard);
    case HLO_REVERSE:
      return reverse_at(graph, instr, dims, guard);
    case HLO_SLICE:
      return slice_at(graph, instr, dims, guard);
    case HLO_CONCATENATE:
      return concatenate_at(graph, instr, dims, guard);
    case HLO_PAD:
      return pad_at(graph, instr, dims, guard);
    case HLO_DYNAMIC_SLICE:
      return dynamic_slice_at(graph, instr, dims, guard);
    case HLO_GATHER:
      return gather_at(graph, instr, dims, guard);
    default:
      keep_failure(graph, hlo_unsupported(instr, "no formula for %s", hlo_op_name(instr->op)));
      return jit_node_make(graph, &(jit_node_t){.kind = JIT_INDEX,
                                                .dtype = instr->shape->dtype,
                                                .expr = jit_expr_constant(&graph->exprs, 0)});
  }
}
