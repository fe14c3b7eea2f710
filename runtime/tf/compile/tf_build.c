/* Helpers over the builder: the shapes and movements that many operations need. All accept NULL
 * operands, which stand for an earlier failure. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tf/compile/tf_lower.h"

/* Attributes and shapes live as long as the module that the computation belongs to. */
static hr_arena_t *arena_of(const hlo_builder_t *b) { return &b->computation->module->arena; }

/* Records a failure; true if there is one.
 * The first failure sticks in the builder, as later ones are usually its consequences. */
static bool failed(hlo_builder_t *b, hr_status_t status) {
  if (status && b->status) hr_status_release(status);
  if (status && !b->status) b->status = status;
  return b->status != NULL;
}

/* NULL after a failure, which the builder then has. */
const hlo_shape_t *tf_shape(hlo_builder_t *b, hr_dtype_t dtype, int rank, const int64_t *dims) {
  const hlo_shape_t *shape = NULL;
  failed(b, hlo_shape_array(arena_of(b), dtype, rank, dims, &shape));
  return shape;
}

/* The element order is row-major before and after. An array that has these sizes already is
 * returned as it is, so that lowerings can call this without looking. */
expr_t tf_reshape(hlo_builder_t *b, expr_t x, int rank, const int64_t *dims) {
  if (!x) return NULL;
  bool same = x->shape->rank == rank;
  for (int d = 0; same && d < rank; d++) same = x->shape->dims[d] == dims[d];
  if (same) return x;
  if (x->op == HLO_RESHAPE && !rank && !x->operands[0]->shape->rank) return x->operands[0];
  tf_sizes_t sizes = tf_sizes_reshaped(b, x, rank, dims);
  return tf_reshape_sized(b, x, &sizes);
}

/* Dimension d of the result is dimension permutation[d] of x, as TensorFlow and HLO both define
 * it. The identity permutation builds nothing. */
expr_t tf_transpose(hlo_builder_t *b, expr_t x, const int64_t *permutation) {
  if (!x) return NULL;
  bool moves = false;
  for (int d = 0; d < x->shape->rank; d++) moves |= permutation[d] != d;
  if (!moves) return x;
  hlo_attr_t attr = hlo_attr_of_ints(b, HLO_ATTR_DIMENSIONS, x->shape->rank, permutation);
  return hlo_build(b, HLO_TRANSPOSE, NULL, 1, &x, 1, &attr, 0, NULL);
}

/* Two dynamic sizes may have other bounds: the step compares them. */
static bool agrees(expr_t x, int d, const tf_sizes_t *sizes, int to) {
  bool both_dynamic = sizes->exprs[to] && x->shape->dynamic && x->shape->dynamic[d];
  return both_dynamic || x->shape->dims[d] == sizes->dims[to];
}

/* Right-aligned broadcast: dimensions of size 1 are reshaped away, then repeated.
 * HLO's broadcast repeats along new dimensions only. A dimension of size 1 that must grow is
 * therefore dropped by a reshape first, and `mapped` says where the remaining ones go. */
static expr_t broadcast_to(hlo_builder_t *b, expr_t x, const tf_sizes_t *to_sizes) {
  int64_t mapped[HLO_MAX_RANK], sizes[HLO_MAX_RANK];
  const int64_t *dims = to_sizes->dims;
  int count = 0, rank = to_sizes->rank;
  bool same = x->shape->rank == rank;
  for (int d = 0; same && d < rank; d++) same = agrees(x, d, to_sizes, d);
  if (same) return x;
  for (int d = 0; d < x->shape->rank; d++) {
    int to = rank - x->shape->rank + d;
    if (to < 0 || (x->shape->dims[d] != 1 && !agrees(x, d, to_sizes, to))) {
      char text[HLO_SHAPE_TEXT];
      failed(b, hr_error(HR_INVALID, "%s cannot be broadcast to %d dimensions",
                         hlo_shape_text(x->shape, text), rank));
      return NULL;
    }
    if (x->shape->dims[d] == 1 && dims[to] != 1) continue;
    sizes[count] = x->shape->dims[d];
    mapped[count++] = to;
  }
  x = tf_reshape(b, x, count, sizes);
  return tf_broadcast_in_sized(b, x, to_sizes, (hr_ints_t){mapped, count});
}

/* Dimensions of x that are dynamic stay so. */
expr_t tf_broadcast(hlo_builder_t *b, expr_t x, int rank, const int64_t *dims) {
  if (!x) return NULL;
  if (rank > HLO_MAX_RANK) {
    failed(b, hr_error(HR_INVALID, "%d dimensions, want at most %d", rank, HLO_MAX_RANK));
    return NULL;
  }
  tf_sizes_t sizes = tf_sizes_static(rank, dims);
  int behind = rank - x->shape->rank;
  for (int d = 0; d < x->shape->rank && behind >= 0; d++)
    if (x->shape->dynamic && x->shape->dynamic[d] && x->shape->dims[d] == dims[behind + d])
      sizes.exprs[behind + d] = tf_size_of(b, x, d);
  return broadcast_to(b, x, &sizes);
}

expr_t tf_broadcast_sized(hlo_builder_t *b, expr_t x, const tf_sizes_t *sizes) {
  return x ? broadcast_to(b, x, sizes) : NULL;
}

expr_t tf_broadcast_like(hlo_builder_t *b, expr_t x, expr_t like) {
  if (!x || !like) return NULL;
  tf_sizes_t sizes = tf_sizes_of(b, like);
  return broadcast_to(b, x, &sizes);
}

/* NULL if it is static, or not there. */
static expr_t dynamic_size(hlo_builder_t *b, expr_t x, int d) {
  return d >= 0 && x->shape->dynamic && x->shape->dynamic[d] ? tf_size_of(b, x, d) : NULL;
}

void tf_broadcast_pair(hlo_builder_t *b, expr_t *x, expr_t *y) {
  if (!*x || !*y) return;
  /* The joint size of a dimension is that of the operand which is not 1. Sizes that contradict
   * each other are found by tf_broadcast, which names the shape. */
  const hlo_shape_t *xs = (*x)->shape;
  const hlo_shape_t *ys = (*y)->shape;
  tf_sizes_t sizes = {.rank = xs->rank > ys->rank ? xs->rank : ys->rank};
  int rank = sizes.rank;
  for (int d = 0; d < rank; d++) {
    int xd = d - (rank - xs->rank);
    int yd = d - (rank - ys->rank);
    int64_t xn = xd < 0 ? 1 : xs->dims[xd];
    int64_t yn = yd < 0 ? 1 : ys->dims[yd];
    sizes.dims[d] = xn == 1 ? yn : xn;
    sizes.exprs[d] = xn == 1 ? dynamic_size(b, *y, yd) : dynamic_size(b, *x, xd);
  }
  *x = broadcast_to(b, *x, &sizes);
  *y = broadcast_to(b, *y, &sizes);
}

/* `limits` are exclusive; `strides` NULL means all 1. A slice of everything is x itself. */
expr_t tf_slice(hlo_builder_t *b, expr_t x, const int64_t *starts, const int64_t *limits,
                const int64_t *strides) {
  if (!x) return NULL;
  hlo_slice_t *slice;
  hlo_slice_dim_t *dims;
  bool whole = true;
  if (failed(b, HR_NEW(arena_of(b), &slice))) return NULL;
  if (failed(b, HR_NEW_ARRAY(arena_of(b), x->shape->rank, &dims))) return NULL;
  for (int d = 0; d < x->shape->rank; d++) {
    dims[d] = (hlo_slice_dim_t){starts[d], limits[d], strides ? strides[d] : 1};
    whole &= !starts[d] && limits[d] == x->shape->dims[d] && dims[d].stride == 1;
  }
  if (whole) return x;
  bool is_element = x->shape->rank == 1 && limits[0] == starts[0] + 1 && x->op == HLO_CONCATENATE;
  if (is_element) return tf_reshape(b, tf_vector_element(b, x, starts[0]), 1, &(int64_t){1});
  *slice = (hlo_slice_t){x->shape->rank, dims};
  hlo_attr_t attr = {.key = HLO_ATTR_SLICE, .slice = slice};
  return hlo_build(b, HLO_SLICE, NULL, 1, &x, 1, &attr, 0, NULL);
}

/* All other dimensions are taken whole. */
expr_t tf_slice_dim(hlo_builder_t *b, expr_t x, int d, int64_t start, int64_t limit) {
  if (!x) return NULL;
  int64_t starts[HLO_MAX_RANK] = {0}, limits[HLO_MAX_RANK];
  for (int i = 0; i < x->shape->rank; i++) limits[i] = x->shape->dims[i];
  starts[d] = start;
  limits[d] = limit;
  return tf_slice(b, x, starts, limits, NULL);
}

/* `low` and `high` may be negative and then cut off; `interior` (NULL: none) counts the elements
 * that are put between neighbours. `fill` is a scalar of x's type. */
expr_t tf_pad(hlo_builder_t *b, expr_t x, expr_t fill, const int64_t *low, const int64_t *high,
              const int64_t *interior) {
  if (!x) return NULL;
  hlo_padding_t *padding;
  hlo_padding_dim_t *dims;
  if (failed(b, HR_NEW(arena_of(b), &padding))) return NULL;
  if (failed(b, HR_NEW_ARRAY(arena_of(b), x->shape->rank, &dims))) return NULL;
  for (int d = 0; d < x->shape->rank; d++)
    dims[d] = (hlo_padding_dim_t){low[d], high[d], interior ? interior[d] : 0};
  *padding = (hlo_padding_t){x->shape->rank, dims};
  hlo_attr_t attr = {.key = HLO_ATTR_PADDING, .padding = padding};
  expr_t operands[] = {x, fill};
  return hlo_build(b, HLO_PAD, NULL, 2, operands, 1, &attr, 0, NULL);
}

/* `d` is a dimension that all parts have; a single part is returned as it is. */
expr_t tf_concat(hlo_builder_t *b, int count, expr_t *x, int d) {
  if (count == 1) return x[0];
  int64_t dim = d;
  hlo_attr_t attr = hlo_attr_of_ints(b, HLO_ATTR_DIMENSIONS, 1, &dim);
  return hlo_build(b, HLO_CONCATENATE, NULL, count, x, 1, &attr, 0, NULL);
}

/* An array whose elements are their own index along dimension d. */
expr_t tf_iota(hlo_builder_t *b, hr_dtype_t dtype, int rank, const int64_t *dims, int d) {
  const hlo_shape_t *shape = tf_shape(b, dtype, rank, dims);
  hlo_attr_t attr = hlo_attr_of_int(HLO_ATTR_IOTA_DIMENSION, d);
  return shape ? hlo_build(b, HLO_IOTA, shape, 0, NULL, 1, &attr, 0, NULL) : NULL;
}

expr_t tf_iota_like(hlo_builder_t *b, hr_dtype_t dtype, expr_t like, int d) {
  if (!like) return NULL;
  tf_sizes_t sizes = tf_sizes_of(b, like);
  return tf_iota_sized(b, dtype, &sizes, d);
}

expr_t tf_scalar(hlo_builder_t *b, double number, hr_dtype_t dtype) {
  return hlo_build_number(b, number, dtype);
}

/* Exact for all 64 bits, unlike tf_scalar.
 * A double holds integers exactly up to 2^53 only. The low bytes of the number are the value of
 * narrower types, on a little-endian machine. */
expr_t tf_scalar_int(hlo_builder_t *b, int64_t number, hr_dtype_t dtype) {
  hlo_value_t *value;
  if (b->status) return NULL;
  if (!hr_dtype_is_integer(dtype)) return tf_scalar(b, (double)number, dtype);
  if (failed(b, hlo_value_array(dtype, 0, NULL, &value))) return NULL;
  memcpy(value->data, &number, hr_dtype_bytes(dtype));
  return hlo_build_constant(b, value);
}

/* A constant scalar and a broadcast, not a constant of the full size: the module stays small. */
expr_t tf_fill(hlo_builder_t *b, double number, hr_dtype_t dtype, int rank, const int64_t *dims) {
  return tf_broadcast(b, tf_scalar(b, number, dtype), rank, dims);
}

/* --- reductions --- */

/* One computation per opcode and type is shared by the whole module. The key of the map is its
 * name, such as "add_f32". */
hlo_computation_t *tf_reducer(tf_op_t *op, hlo_opcode_t scalar_op, hr_dtype_t dtype) {
  tf_compiler_t *compiler = op->scope->compiler;
  const char *key;
  hlo_builder_t inner;
  if (failed(op->b, hr_arena_printf(op->arena, &key, "%s_%s", hlo_op_name(scalar_op),
                                    hr_dtype_name(dtype))))
    return NULL;
  hlo_computation_t *found = hr_map_get(&compiler->reducers, hr_str_from(key));
  if (found) return found;
  if (failed(op->b, tf_computation_begin(compiler, key, &inner))) return NULL;
  expr_t x = hlo_build_parameter(&inner, 0, hlo_shape_scalar(dtype));
  expr_t y = hlo_build_parameter(&inner, 1, hlo_shape_scalar(dtype));
  expr_t root = hlo_build_binary(&inner, scalar_op, x, y);
  if (failed(op->b, tf_computation_end(compiler, &inner, root))) return NULL;
  failed(op->b, hr_map_put(&compiler->reducers, hr_str_from(key), inner.computation, NULL));
  return inner.computation;
}

/* Smallest or largest value of an integer type.
 * Two's complement: -2^(n-1) to 2^(n-1) - 1 for signed types, 0 to 2^n - 1 for unsigned ones. */
static expr_t extreme_integer(hlo_builder_t *b, hr_dtype_t dtype, bool largest) {
  int bits = hr_dtype_table[dtype].bits;
  bool is_signed = hr_dtype_class(dtype) == HR_CLASS_SIGNED;
  uint64_t high = is_signed ? (UINT64_C(1) << (bits - 1)) - 1
                            : (bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1);
  int64_t low = is_signed ? -(int64_t)high - 1 : 0;
  return tf_scalar_int(b, largest ? (int64_t)high : low, dtype);
}

/* The value e with f(e, x) = x: 0 of sums and OR, 1 of products and AND, the smallest value of
 * MAXIMUM and the largest of MINIMUM, where bool counts as 0 and 1. */
expr_t tf_identity_value(hlo_builder_t *b, hlo_opcode_t scalar_op, hr_dtype_t dtype) {
  bool is_extreme = scalar_op == HLO_MAXIMUM || scalar_op == HLO_MINIMUM;
  if (is_extreme && hr_dtype_is_integer(dtype))
    return extreme_integer(b, dtype, scalar_op == HLO_MINIMUM);
  if (scalar_op == HLO_MAXIMUM) return tf_scalar(b, dtype == HR_PRED ? 0 : -INFINITY, dtype);
  if (scalar_op == HLO_MINIMUM) return tf_scalar(b, dtype == HR_PRED ? 1 : INFINITY, dtype);
  return tf_scalar(b, scalar_op == HLO_MULTIPLY || scalar_op == HLO_AND, dtype);
}

/* `dims` are distinct and non-negative. HLO's reduce drops them; keep_dims brings them back as
 * sizes of 1. An empty list builds no instruction. */
expr_t tf_reduce(tf_op_t *op, hlo_opcode_t scalar_op, expr_t x, int count, const int64_t *dims,
                 bool keep_dims) {
  if (!x) return NULL;
  hlo_builder_t *b = op->b;
  int64_t kept[HLO_MAX_RANK];
  for (int d = 0; d < x->shape->rank; d++) kept[d] = x->shape->dims[d];
  for (int i = 0; i < count; i++) kept[dims[i]] = 1;
  int rank = x->shape->rank;
  if (count) {
    hr_dtype_t dtype = x->shape->dtype;
    hlo_computation_t *reducer = tf_reducer(op, scalar_op, dtype);
    expr_t operands[] = {x, tf_identity_value(b, scalar_op, dtype)};
    hlo_attr_t attrs[] = {hlo_attr_of_ints(b, HLO_ATTR_DIMENSIONS, count, dims),
                          hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1)};
    if (!reducer) return NULL;
    x = hlo_build(b, HLO_REDUCE, NULL, 2, operands, 2, attrs, 1, &reducer);
  }
  return keep_dims ? tf_reshape(b, x, rank, kept) : x;
}

/* `dims` has one entry per dimension of x and is copied into the arena. */
expr_t tf_reduce_window(tf_op_t *op, hlo_opcode_t scalar_op, expr_t x, expr_t init,
                        const hlo_window_dim_t *dims) {
  if (!x || !init) return NULL;
  hlo_builder_t *b = op->b;
  hlo_window_t *window;
  void *copy;
  int rank = x->shape->rank;
  if (failed(b, HR_NEW(op->arena, &window))) return NULL;
  if (failed(b, hr_arena_copy(op->arena, dims, (size_t)rank * sizeof *dims, &copy))) return NULL;
  *window = (hlo_window_t){rank, copy};
  hlo_computation_t *reducer = tf_reducer(op, scalar_op, x->shape->dtype);
  hlo_attr_t attrs[] = {{.key = HLO_ATTR_WINDOW, .window = window},
                        hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1)};
  expr_t operands[] = {x, init};
  if (!reducer) return NULL;
  return hlo_build(b, HLO_REDUCE_WINDOW, NULL, 2, operands, 2, attrs, 1, &reducer);
}

/* --- products, slices, gathers --- */

static hlo_attr_t dims_attr(hlo_builder_t *b, hlo_attr_key_t key, hr_ints_t dims) {
  return hlo_attr_of_ints(b, key, (int)dims.count, dims.data);
}

expr_t tf_dot(hlo_builder_t *b, expr_t x, expr_t y, const tf_dot_dims_t *dims) {
  hlo_attr_t attrs[] = {dims_attr(b, HLO_ATTR_LHS_BATCH_DIMS, dims->x_batch),
                        dims_attr(b, HLO_ATTR_LHS_CONTRACTING_DIMS, dims->x_contract),
                        dims_attr(b, HLO_ATTR_RHS_BATCH_DIMS, dims->y_batch),
                        dims_attr(b, HLO_ATTR_RHS_CONTRACTING_DIMS, dims->y_contract)};
  expr_t operands[] = {x, y};
  return hlo_build(b, HLO_DOT, NULL, 2, operands, 4, attrs, 0, NULL);
}

expr_t tf_multiply_matrices(hlo_builder_t *b, expr_t x, expr_t y) {
  int64_t batch[HLO_MAX_RANK];
  if (!x || !y) return NULL;
  int rank = x->shape->rank;
  for (int d = 0; d < rank - 2; d++) batch[d] = d;
  int64_t last = rank - 1, before = rank - 2;
  tf_dot_dims_t dims = {.x_batch = {batch, rank - 2},
                        .y_batch = {batch, rank - 2},
                        .x_contract = {&last, 1},
                        .y_contract = {&before, 1}};
  return tf_dot(b, x, y, &dims);
}

expr_t tf_transpose_matrices(hlo_builder_t *b, expr_t x) {
  int64_t order[HLO_MAX_RANK];
  if (!x) return NULL;
  int rank = x->shape->rank;
  for (int d = 0; d < rank; d++) order[d] = d;
  order[rank - 2] = rank - 1;
  order[rank - 1] = rank - 2;
  return tf_transpose(b, x, order);
}

/* A real array is its own conjugate. */
expr_t tf_conjugate(hlo_builder_t *b, expr_t x) {
  if (!x || !hr_dtype_is_complex(x->shape->dtype)) return x;
  return hlo_build_binary(b, HLO_COMPLEX, hlo_build_unary(b, HLO_REAL, x),
                          f_neg(b, hlo_build_unary(b, HLO_IMAG, x)));
}

expr_t tf_adjoint(hlo_builder_t *b, expr_t x) {
  return tf_conjugate(b, tf_transpose_matrices(b, x));
}

/* The order of the elements is turned around along each of `dims`; none of them gives x itself. */
hr_status_t tf_reverse(tf_op_t *op, expr_t x, int count, const int64_t *dims, expr_t *out_x) {
  hlo_attr_t attr = hlo_attr_of_ints(op->b, HLO_ATTR_DIMENSIONS, count, dims);
  *out_x = count ? hlo_build(op->b, HLO_REVERSE, NULL, 1, &x, 1, &attr, 0, NULL) : x;
  return NULL;
}

/* `starts` are scalars known at run time only, one per dimension. XLA moves a start that is too
 * large back, so that the slice stays inside. */
expr_t tf_dynamic_slice(hlo_builder_t *b, expr_t x, expr_t const *starts, const int64_t *sizes) {
  if (!x) return NULL;
  expr_t operands[HLO_MAX_RANK + 1] = {x};
  for (int d = 0; d < x->shape->rank; d++) operands[d + 1] = starts[d];
  hlo_attr_t attr = hlo_attr_of_ints(b, HLO_ATTR_DYNAMIC_SLICE_SIZES, x->shape->rank, sizes);
  return hlo_build(b, HLO_DYNAMIC_SLICE, NULL, x->shape->rank + 1, operands, 1, &attr, 0, NULL);
}

/* x with `update` written at `starts`, which are clamped in the same way. */
expr_t tf_dynamic_update(hlo_builder_t *b, expr_t x, expr_t update, expr_t const *starts) {
  if (!x) return NULL;
  expr_t operands[HLO_MAX_RANK + 2] = {x, update};
  for (int d = 0; d < x->shape->rank; d++) operands[d + 2] = starts[d];
  return hlo_build(b, HLO_DYNAMIC_UPDATE_SLICE, NULL, x->shape->rank + 2, operands, 0, NULL, 0,
                   NULL);
}

/* Result dimensions: x[:axis], indices[batch_dims:], x[axis+1:]; batch dimensions lead in both. */
expr_t tf_gather_rows(hlo_builder_t *b, expr_t x, expr_t indices, int axis, int batch_dims) {
  if (!x || !indices) return NULL;
  int64_t offsets[HLO_MAX_RANK], sizes[HLO_MAX_RANK], batching[HLO_MAX_RANK];
  int64_t collapsed[] = {axis};
  int offset_count = 0;
  int index_rank = indices->shape->rank;
  for (int d = 0; d < x->shape->rank; d++) {
    bool is_batch = d < batch_dims;
    sizes[d] = is_batch || d == axis ? 1 : x->shape->dims[d];
    if (is_batch || d == axis) continue;
    offsets[offset_count++] = d < axis ? d : d - 1 + index_rank - batch_dims;
  }
  for (int d = 0; d < batch_dims; d++) batching[d] = d;
  hlo_attr_t attrs[] = {
      hlo_attr_of_ints(b, HLO_ATTR_OFFSET_DIMS, offset_count, offsets),
      hlo_attr_of_ints(b, HLO_ATTR_COLLAPSED_SLICE_DIMS, 1, collapsed),
      hlo_attr_of_ints(b, HLO_ATTR_START_INDEX_MAP, 1, collapsed),
      hlo_attr_of_ints(b, HLO_ATTR_OPERAND_BATCHING_DIMS, batch_dims, batching),
      hlo_attr_of_ints(b, HLO_ATTR_START_INDICES_BATCHING_DIMS, batch_dims, batching),
      hlo_attr_of_int(HLO_ATTR_INDEX_VECTOR_DIM, index_rank),
      hlo_attr_of_ints(b, HLO_ATTR_SLICE_SIZES, x->shape->rank, sizes)};
  expr_t operands[] = {x, indices};
  return hlo_build(b, HLO_GATHER, NULL, 2, operands, 7, attrs, 0, NULL);
}

/* The negative axis -1 is the last dimension, as in NumPy. */
hr_status_t tf_axis(tf_op_t *op, int64_t axis, int rank, int *out_axis) {
  if (axis < -rank || axis >= rank)
    return tf_error(op, "axis %ld of %d dimensions", (long)axis, rank);
  *out_axis = (int)(axis < 0 ? axis + rank : axis);
  return NULL;
}
