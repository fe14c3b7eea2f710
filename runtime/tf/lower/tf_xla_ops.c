/* Operations that are XLA's own: Xla... ops map to one instruction each. Shapes of attributes come
 * as serialised protos of XLA. Functions that reduce, compare or select become computations of
 * scalars.
 */
#include <string.h>

#include "tf/lower/tf_loops.h"

/* --- attributes --- */

/* The bytes of a proto in a string attribute.
 * The bytes are those of DotDimensionNumbers, GatherDimensionNumbers or ScatterDimensionNumbers
 * of xla_data.proto. */
static hr_status_t proto_attr(tf_op_t *op, const char *name, hr_str_t **out_bytes) {
  HR_TRY(HR_NEW(op->arena, out_bytes));
  return tf_attr_str(op->arena, op->node, name, "", *out_bytes);
}

/* A repeated field as the attribute `key`. */
static hr_status_t ints_attr(tf_op_t *op, hlo_attr_key_t key, proto_list_t list, hlo_attr_t *out) {
  hr_ints_t ints;
  HR_TRY(proto_ints(op->arena, list, &ints));
  if (ints.count > HLO_MAX_RANK) return tf_error(op, "%ld dimension numbers", (long)ints.count);
  *out = hlo_attr_of_ints(op->b, key, ints.count, ints.data);
  return NULL;
}

/* A list of numbers that is an input.
 * A compile-time constant with one entry per dimension. */
static hr_status_t sizes_of(tf_op_t *op, int k, int rank, const int64_t **out_sizes) {
  hr_ints_t ints;
  HR_TRY(tf_const_ints(op, k, &ints));
  if (ints.count != rank)
    return tf_error(op, "input %d has %ld entries, want %d", k, (long)ints.count, rank);
  *out_sizes = ints.data;
  return NULL;
}

/* --- computations of scalars --- */

/* The function of attribute `attr` on scalars of these types, its result in one value.
 * Results become the root, as a tuple if there are several. The function may not depend on
 * anything outside. */
static hr_status_t scalar_function(tf_op_t *op, const char *attr, int count,
                                   const hr_dtype_t *dtypes, hlo_computation_t **out) {
  tf_compiler_t *compiler = op->scope->compiler;
  hr_str_t name;
  hlo_builder_t b;
  tf_value_t *args, *results;
  expr_t *roots;
  HR_TRY(tf_attr_function(op->arena, op->node, attr, &name));
  const tf_body_t *function = tf_graph_function(compiler->graph, name);
  if (!function) return tf_error(op, "there is no function %.*s", HR_STR_ARGS(name));
  HR_TRY(HR_NEW_ARRAY(op->arena, count, &args));
  HR_TRY(HR_NEW_ARRAY(op->arena, function->ret_count, &results));
  HR_TRY(HR_NEW_ARRAY(op->arena, function->ret_count, &roots));
  HR_TRY(tf_computation_begin(compiler, "scalars", &b));
  for (int i = 0; i < count; i++) {
    expr_t x = hlo_build_parameter(&b, i, hlo_shape_scalar(dtypes[i]));
    args[i] = (tf_value_t){.kind = TF_VALUE_ARRAY, .instr = x};
  }
  HR_TRY(tf_execute_function(compiler, &b, function, count, args, results));
  for (int i = 0; i < function->ret_count; i++)
    roots[i] = tf_value_instr(compiler, &b, &results[i]);
  if (function->ret_count < 1) return tf_error(op, "the function has no result");
  *out = b.computation;
  expr_t root =
      function->ret_count == 1 ? roots[0] : hlo_build_tuple(&b, function->ret_count, roots);
  return tf_computation_end(compiler, &b, root);
}

/* --- products and indices --- */

/* XlaDot and XlaDotV2: attribute dimension_numbers, and in V2 the type of the result. */
hr_status_t tf_lower_xla_dot(tf_op_t *op) {
  hr_str_t *bytes;
  proto_dot_t dims;
  hlo_attr_t attrs[4];
  hr_dtype_t dtype;
  expr_t operands[] = {tf_in(op, 0), tf_in(op, 1)};
  HR_TRY(proto_attr(op, "dimension_numbers", &bytes));
  HR_TRY(PROTO_DECODE(op->arena, dot, proto_piece(bytes), &dims));
  HR_TRY(ints_attr(op, HLO_ATTR_LHS_BATCH_DIMS, dims.lhs_batch_dimensions, &attrs[0]));
  HR_TRY(ints_attr(op, HLO_ATTR_LHS_CONTRACTING_DIMS, dims.lhs_contracting_dimensions, &attrs[1]));
  HR_TRY(ints_attr(op, HLO_ATTR_RHS_BATCH_DIMS, dims.rhs_batch_dimensions, &attrs[2]));
  HR_TRY(ints_attr(op, HLO_ATTR_RHS_CONTRACTING_DIMS, dims.rhs_contracting_dimensions, &attrs[3]));
  HR_TRY(tf_attr_dtype(op->arena, op->node, "preferred_element_type", &dtype));
  for (int i = 0; i < 2 && dtype != HR_TUPLE; i++)
    if (operands[i] && operands[i]->shape->dtype != dtype)
      operands[i] = hlo_build_convert(op->b, operands[i], dtype);
  return tf_out(op, 0, hlo_build(op->b, HLO_DOT, NULL, 2, operands, 4, attrs, 0, NULL));
}

/* XlaGather: indices are clamped. Inputs: operand, start indices, slice sizes. */
hr_status_t tf_lower_xla_gather(tf_op_t *op) {
  hr_str_t *bytes;
  proto_gather_t dims;
  hlo_attr_t attrs[5];
  hr_ints_t sizes;
  expr_t operands[] = {tf_in(op, 0), tf_in(op, 1)};
  HR_TRY(tf_const_ints(op, 2, &sizes));
  HR_TRY(proto_attr(op, "dimension_numbers", &bytes));
  HR_TRY(PROTO_DECODE(op->arena, gather, proto_piece(bytes), &dims));
  HR_TRY(ints_attr(op, HLO_ATTR_OFFSET_DIMS, dims.offset_dims, &attrs[0]));
  HR_TRY(ints_attr(op, HLO_ATTR_COLLAPSED_SLICE_DIMS, dims.collapsed_slice_dims, &attrs[1]));
  HR_TRY(ints_attr(op, HLO_ATTR_START_INDEX_MAP, dims.start_index_map, &attrs[2]));
  attrs[3] = hlo_attr_of_int(HLO_ATTR_INDEX_VECTOR_DIM, dims.index_vector_dim);
  attrs[4] = hlo_attr_of_ints(op->b, HLO_ATTR_SLICE_SIZES, sizes.count, sizes.data);
  return tf_out(op, 0, hlo_build(op->b, HLO_GATHER, NULL, 2, operands, 5, attrs, 0, NULL));
}

/* XlaScatter: attribute update_computation is a function of the old value and the update. Inputs:
 * operand, indices, updates. */
hr_status_t tf_lower_xla_scatter(tf_op_t *op) {
  hr_str_t *bytes;
  proto_scatter_t dims;
  hlo_attr_t attrs[5];
  hlo_computation_t *combine;
  expr_t operands[] = {tf_in(op, 0), tf_in(op, 1), tf_in(op, 2)};
  if (!operands[0]) return hlo_builder_finish(op->b);
  hr_dtype_t dtypes[] = {operands[0]->shape->dtype, operands[0]->shape->dtype};
  HR_TRY(proto_attr(op, "dimension_numbers", &bytes));
  HR_TRY(PROTO_DECODE(op->arena, scatter, proto_piece(bytes), &dims));
  HR_TRY(ints_attr(op, HLO_ATTR_UPDATE_WINDOW_DIMS, dims.update_window_dims, &attrs[0]));
  HR_TRY(ints_attr(op, HLO_ATTR_INSERTED_WINDOW_DIMS, dims.inserted_window_dims, &attrs[1]));
  HR_TRY(ints_attr(op, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS, dims.scatter_dims_to_operand_dims,
                   &attrs[2]));
  attrs[3] = hlo_attr_of_int(HLO_ATTR_INDEX_VECTOR_DIM, dims.index_vector_dim);
  attrs[4] = hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1);
  HR_TRY(scalar_function(op, "update_computation", 2, dtypes, &combine));
  return tf_out(
      op, 0, hlo_build(op->b, HLO_SCATTER, operands[0]->shape, 3, operands, 5, attrs, 1, &combine));
}

/* XlaDynamicSlice: `starts` is a vector with one entry per dimension. Inputs: operand, starts,
 * sizes. */
hr_status_t tf_lower_xla_dynamic_slice(tf_op_t *op) {
  expr_t x = tf_in(op, 0), starts = tf_in(op, 1), at[HLO_MAX_RANK];
  const int64_t *sizes;
  if (!x || !starts) return hlo_builder_finish(op->b);
  HR_TRY(sizes_of(op, 2, x->shape->rank, &sizes));
  if (hlo_shape_elements(starts->shape) != x->shape->rank)
    return tf_error(op, "the starts do not fit");
  for (int d = 0; d < x->shape->rank; d++)
    at[d] = tf_reshape(op->b, tf_slice_dim(op->b, starts, 0, d, d + 1), 0, NULL);
  return tf_out(op, 0, tf_dynamic_slice(op->b, x, at, sizes));
}

/* XlaDynamicUpdateSlice. Inputs: operand, update, starts. */
hr_status_t tf_lower_xla_dynamic_update(tf_op_t *op) {
  expr_t x = tf_in(op, 0), update = tf_in(op, 1), starts = tf_in(op, 2), at[HLO_MAX_RANK];
  if (!x || !update || !starts) return hlo_builder_finish(op->b);
  if (hlo_shape_elements(starts->shape) != x->shape->rank)
    return tf_error(op, "the starts do not fit");
  for (int d = 0; d < x->shape->rank; d++)
    at[d] = tf_reshape(op->b, tf_slice_dim(op->b, starts, 0, d, d + 1), 0, NULL);
  return tf_out(op, 0, tf_dynamic_update(op->b, x, update, at));
}

/* XlaPad: each list has one entry per dimension. Inputs: operand, value, low, high, interior. */
hr_status_t tf_lower_xla_pad(tf_op_t *op) {
  const int64_t *edges[3];
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  for (int i = 0; i < 3; i++) HR_TRY(sizes_of(op, 2 + i, x->shape->rank, &edges[i]));
  return tf_out(op, 0, tf_pad(op->b, x, tf_in(op, 1), edges[0], edges[1], edges[2]));
}

/* --- reductions and sorting --- */

/* XlaReduce and XlaVariadicReduceV2: attribute reducer takes n accumulated and n new scalars.
 * Inputs: n operands, n initial values; variant 0: XlaReduce, one of each. */
hr_status_t tf_lower_xla_reduce(tf_op_t *op) {
  hr_ints_t dims;
  int count = op->input_count / 2;
  hr_dtype_t *dtypes;
  expr_t *operands;
  hlo_computation_t *reducer;
  const char *name = "dimensions_to_reduce";
  HR_TRY(tf_attr_ints(op->arena, op->node, name, &dims));
  HR_TRY(HR_NEW_ARRAY(op->arena, 2 * count, &dtypes));
  HR_TRY(HR_NEW_ARRAY(op->arena, 2 * count, &operands));
  for (int i = 0; i < 2 * count; i++) {
    operands[i] = tf_in(op, i);
    if (!operands[i]) return hlo_builder_finish(op->b);
    dtypes[i] = operands[i % count]->shape->dtype;
  }
  HR_TRY(scalar_function(op, "reducer", 2 * count, dtypes, &reducer));
  hlo_attr_t attrs[] = {hlo_attr_of_ints(op->b, HLO_ATTR_DIMENSIONS, dims.count, dims.data),
                        hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1)};
  expr_t result = hlo_build(op->b, HLO_REDUCE, NULL, 2 * count, operands, 2, attrs, 1, &reducer);
  if (count == 1) return tf_out(op, 0, result);
  for (int i = 0; i < count; i++) HR_TRY(tf_out(op, i, hlo_build_element(op->b, result, i)));
  return NULL;
}

/* The window of input `first` on: sizes, strides, then, if `dilates`, base and window dilations,
 * and last the padding [rank, 2], a pair before and after for each dimension. */
static hr_status_t read_window(tf_op_t *op, int first, bool dilates, int rank,
                               hlo_window_t **out_window) {
  const int64_t *lists[4];
  int list_count = dilates ? 4 : 2;
  hr_ints_t padding;
  hlo_window_t *window;
  hlo_window_dim_t *dims;
  for (int i = 0; i < list_count; i++) HR_TRY(sizes_of(op, first + i, rank, &lists[i]));
  HR_TRY(tf_const_ints(op, first + list_count, &padding));
  if (padding.count != 2 * rank) return tf_error(op, "%ld paddings", (long)padding.count);
  HR_TRY(HR_NEW(op->arena, &window));
  HR_TRY(HR_NEW_ARRAY(op->arena, rank, &dims));
  for (int d = 0; d < rank; d++)
    dims[d] = (hlo_window_dim_t){.size = lists[0][d],
                                 .stride = lists[1][d],
                                 .base_dilation = dilates ? lists[2][d] : 1,
                                 .window_dilation = dilates ? lists[3][d] : 1,
                                 .pad_low = padding.data[2 * d],
                                 .pad_high = padding.data[2 * d + 1]};
  *window = (hlo_window_t){rank, dims};
  *out_window = window;
  return NULL;
}

/* XlaReduceWindow. Inputs: operand, init, and the window with dilations. */
hr_status_t tf_lower_xla_reduce_window(tf_op_t *op) {
  hlo_window_t *window;
  hlo_computation_t *reducer;
  expr_t operands[] = {tf_in(op, 0), tf_in(op, 1)};
  if (!operands[0] || !operands[1]) return hlo_builder_finish(op->b);
  hr_dtype_t dtypes[] = {operands[0]->shape->dtype, operands[0]->shape->dtype};
  HR_TRY(read_window(op, 2, true, operands[0]->shape->rank, &window));
  HR_TRY(scalar_function(op, "computation", 2, dtypes, &reducer));
  hlo_attr_t attrs[] = {{.key = HLO_ATTR_WINDOW, .window = window},
                        hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1)};
  return tf_out(op, 0,
                hlo_build(op->b, HLO_REDUCE_WINDOW, NULL, 2, operands, 2, attrs, 1, &reducer));
}

/* XlaSelectAndScatter: attributes select and scatter are functions of two scalars. Inputs: operand,
 * the window without dilations, source, init. */
hr_status_t tf_lower_xla_select_and_scatter(tf_op_t *op) {
  hlo_window_t *window;
  hlo_computation_t *called[2];
  expr_t operands[] = {tf_in(op, 0), tf_in(op, 4), tf_in(op, 5)};
  if (!operands[0] || !operands[1] || !operands[2]) return hlo_builder_finish(op->b);
  hr_dtype_t dtypes[] = {operands[0]->shape->dtype, operands[0]->shape->dtype};
  HR_TRY(read_window(op, 1, false, operands[0]->shape->rank, &window));
  HR_TRY(scalar_function(op, "select", 2, dtypes, &called[0]));
  HR_TRY(scalar_function(op, "scatter", 2, dtypes, &called[1]));
  hlo_attr_t attrs[] = {{.key = HLO_ATTR_WINDOW, .window = window},
                        hlo_attr_of_called(HLO_ATTR_SELECT, 1),
                        hlo_attr_of_called(HLO_ATTR_SCATTER, 1)};
  return tf_out(op, 0,
                hlo_build(op->b, HLO_SELECT_AND_SCATTER, NULL, 3, operands, 3, attrs, 2, called));
}

/* XlaSort, XlaKeyValueSort and XlaVariadicSort. Ascending by the first array. Variant 0: along the
 * last dimension; 1: XlaVariadicSort, whose last input is the dimension, by a function. A
 * comparator has two parameters per array. */
hr_status_t tf_lower_xla_sort(tf_op_t *op) {
  bool own = op->row->variant;
  int count = op->input_count - own, at;
  bool stable = false;
  int64_t dim = -1;
  hr_dtype_t *dtypes;
  expr_t *operands;
  hlo_computation_t *less;
  if (count < 1) return tf_error(op, "nothing to sort");
  HR_TRY(HR_NEW_ARRAY(op->arena, 2 * count, &dtypes));
  HR_TRY(HR_NEW_ARRAY(op->arena, count, &operands));
  for (int i = 0; i < count; i++) {
    operands[i] = tf_in(op, i);
    if (!operands[i]) return hlo_builder_finish(op->b);
  }
  if (own) HR_TRY(tf_const_int(op, count, &dim));
  if (own) HR_TRY(tf_attr_bool(op->arena, op->node, "is_stable", false, &stable));
  HR_TRY(tf_axis(op, dim, operands[0]->shape->rank, &at));
  for (int i = 0; i < 2 * count; i++) dtypes[i] = operands[i / 2]->shape->dtype;
  if (own)
    HR_TRY(scalar_function(op, "comparator", 2 * count, dtypes, &less));
  else
    for (int i = 0; i < count; i++) dtypes[i] = operands[i]->shape->dtype;
  if (!own) HR_TRY(tf_less_computation(op, count, dtypes, &less));
  dim = at;
  hlo_attr_t attrs[] = {hlo_attr_of_ints(op->b, HLO_ATTR_DIMENSIONS, 1, &dim),
                        hlo_attr_of_bool(HLO_ATTR_IS_STABLE, stable),
                        hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1)};
  expr_t result = hlo_build(op->b, HLO_SORT, NULL, count, operands, 3, attrs, 1, &less);
  if (count == 1) return tf_out(op, 0, result);
  for (int i = 0; i < count; i++) HR_TRY(tf_out(op, i, hlo_build_element(op->b, result, i)));
  return NULL;
}

/* --- others --- */

/* XlaReducePrecision: rounds to exponent_bits and mantissa_bits, in the type of x. */
hr_status_t tf_lower_xla_reduce_precision(tf_op_t *op) {
  int64_t exponent, mantissa;
  expr_t x = tf_in(op, 0);
  HR_TRY(tf_attr_int(op->arena, op->node, "exponent_bits", 8, &exponent));
  HR_TRY(tf_attr_int(op->arena, op->node, "mantissa_bits", 23, &mantissa));
  if (!x) return hlo_builder_finish(op->b);
  hlo_attr_t attrs[] = {hlo_attr_of_int(HLO_ATTR_EXPONENT_BITS, exponent),
                        hlo_attr_of_int(HLO_ATTR_MANTISSA_BITS, mantissa)};
  return tf_out(op, 0, hlo_build(op->b, HLO_REDUCE_PRECISION, NULL, 1, &x, 2, attrs, 0, NULL));
}

/* XlaBroadcastHelper(lhs, rhs, broadcast_dims). The array of lower rank gets dimensions of size 1
 * so that both broadcast. Dimension i of the lower one goes to broadcast_dims[i]. */
hr_status_t tf_lower_xla_broadcast_helper(tf_op_t *op) {
  hr_ints_t places;
  int64_t dims[HLO_MAX_RANK];
  expr_t x[] = {tf_in(op, 0), tf_in(op, 1)};
  HR_TRY(tf_const_ints(op, 2, &places));
  if (!x[0] || !x[1]) return hlo_builder_finish(op->b);
  int low = x[0]->shape->rank < x[1]->shape->rank ? 0 : 1;
  int rank = x[1 - low]->shape->rank;
  if (places.count) {
    if (places.count != x[low]->shape->rank) return tf_error(op, "the dimensions do not fit");
    for (int d = 0; d < rank; d++) dims[d] = 1;
    for (int64_t i = 0; i < places.count; i++) {
      if (places.data[i] < 0 || places.data[i] >= rank)
        return tf_error(op, "the dimensions do not fit");
      dims[places.data[i]] = x[low]->shape->dims[i];
    }
    x[low] = tf_reshape(op->b, x[low], rank, dims);
  }
  HR_TRY(tf_out(op, 0, x[0]));
  return tf_out(op, 1, x[1]);
}

/* XlaReplicaId is s32, HLO's instruction is u32. */
hr_status_t tf_lower_xla_replica_id(tf_op_t *op) {
  expr_t id = hlo_build(op->b, HLO_REPLICA_ID, hlo_shape_scalar(HR_U32), 0, NULL, 0, NULL, 0, NULL);
  return tf_out(op, 0, id ? hlo_build_convert(op->b, id, HR_S32) : NULL);
}

/* XlaRngBitGenerator: algorithm 0 is the default, 1 Philox, 2 ThreeFry. Inputs: algorithm, initial
 * state, sizes; outputs: new state, bits. */
hr_status_t tf_lower_xla_rng_bits(tf_op_t *op) {
  int64_t algorithm;
  hr_ints_t sizes;
  hr_dtype_t dtype;
  const hlo_shape_t *shapes[2], *pair;
  expr_t state = tf_in(op, 1);
  HR_TRY(tf_const_int(op, 0, &algorithm));
  HR_TRY(tf_const_ints(op, 2, &sizes));
  HR_TRY(tf_attr_dtype(op->arena, op->node, "dtype", &dtype));
  if (!state) return hlo_builder_finish(op->b);
  if (algorithm < 0 || algorithm > 2) return tf_error(op, "algorithm %ld", (long)algorithm);
  shapes[0] = state->shape;
  shapes[1] = tf_shape(op->b, dtype, (int)sizes.count, sizes.data);
  if (!shapes[1]) return hlo_builder_finish(op->b);
  HR_TRY(hlo_shape_tuple(op->arena, 2, shapes, &pair));
  static const int kinds[] = {HLO_RNG_ALGORITHM_DEFAULT, HLO_RNG_ALGORITHM_PHILOX,
                              HLO_RNG_ALGORITHM_THREE_FRY};
  hlo_attr_t attr = hlo_attr_of_int(HLO_ATTR_RNG_ALGORITHM, kinds[algorithm]);
  expr_t drawn = hlo_build(op->b, HLO_RNG_BIT_GENERATOR, pair, 1, &state, 1, &attr, 0, NULL);
  HR_TRY(tf_out(op, 0, hlo_build_element(op->b, drawn, 0)));
  return tf_out(op, 1, hlo_build_element(op->b, drawn, 1));
}

/* --- grids of parts --- */

/* XlaSplitND. Pads with zeros, then cuts each dimension into num_splits parts; outputs in row-major
 * order. Part i has the digits of i as its place in the grid, the last dimension changing first. */
hr_status_t tf_lower_xla_split_nd(tf_op_t *op) {
  hr_ints_t splits, paddings;
  int64_t low[HLO_MAX_RANK] = {0}, high[HLO_MAX_RANK] = {0}, total = 1;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  int rank = x->shape->rank;
  HR_TRY(tf_attr_ints(op->arena, op->node, "num_splits", &splits));
  HR_TRY(tf_attr_ints(op->arena, op->node, "paddings", &paddings));
  if (splits.count != rank || (paddings.count && paddings.count != rank))
    return tf_error(op, "num_splits or paddings do not fit %d dimensions", rank);
  for (int d = 0; d < rank; d++) {
    high[d] = paddings.count ? paddings.data[d] : 0;
    if (splits.data[d] < 1 || high[d] < 0 || (x->shape->dims[d] + high[d]) % splits.data[d])
      return tf_error(op, "dimension %d cannot be cut into %ld", d, (long)splits.data[d]);
    total *= splits.data[d];
  }
  x = tf_pad(op->b, x, tf_scalar(op->b, 0, x->shape->dtype), low, high, NULL);
  for (int64_t i = 0; i < total && x; i++) {
    int64_t starts[HLO_MAX_RANK], limits[HLO_MAX_RANK], rest = i;
    for (int d = rank - 1; d >= 0; d--) {
      int64_t each = x->shape->dims[d] / splits.data[d];
      starts[d] = rest % splits.data[d] * each;
      limits[d] = starts[d] + each;
      rest /= splits.data[d];
    }
    HR_TRY(tf_out(op, (int)i, tf_slice(op->b, x, starts, limits, NULL)));
  }
  return hlo_builder_finish(op->b);
}

/* XlaConcatND, and AssignVariableXlaConcatND (variant 1) into a variable. The opposite of
 * XlaSplitND: parts in row-major order are joined, and paddings are cut off. The last dimension is
 * joined first, as its parts are neighbours in the list; `count` parts are left after each
 * round. */
hr_status_t tf_lower_xla_concat_nd(tf_op_t *op) {
  hr_ints_t counts, paddings;
  expr_t *parts;
  int first = op->row->variant, count = op->input_count - first;
  if (count < 1) return tf_error(op, "there are no parts");
  HR_TRY(tf_attr_ints(op->arena, op->node, "num_concats", &counts));
  HR_TRY(tf_attr_ints(op->arena, op->node, "paddings", &paddings));
  HR_TRY(HR_NEW_ARRAY(op->arena, count, &parts));
  for (int i = 0; i < count; i++) {
    parts[i] = tf_in(op, first + i);
    if (!parts[i]) return hlo_builder_finish(op->b);
  }
  for (int d = (int)counts.count - 1; d >= 0; d--) {
    int64_t each = counts.data[d];
    if (each < 1 || count % each || d >= parts[0]->shape->rank)
      return tf_error(op, "num_concats does not fit");
    for (int i = 0; i < count / each; i++) {
      parts[i] = tf_concat(op->b, (int)each, &parts[i * each], d);
      if (!parts[i]) return hlo_builder_finish(op->b);
    }
    count /= (int)each;
  }
  if (count != 1) return tf_error(op, "num_concats does not fit");
  for (int64_t d = 0; d < paddings.count && d < parts[0]->shape->rank; d++) {
    int64_t size = parts[0]->shape->dims[d] - paddings.data[d];
    if (size < 0 || paddings.data[d] < 0) return tf_error(op, "paddings do not fit");
    parts[0] = tf_slice_dim(op->b, parts[0], (int)d, 0, size);
    if (!parts[0]) return hlo_builder_finish(op->b);
  }
  if (first) {
    tf_resource_t *variable;
    HR_TRY(tf_resource_of(op, 0, &variable));
    return tf_set_variable(op, variable, parts[0]);
  }
  return tf_out(op, 0, parts[0]);
}
