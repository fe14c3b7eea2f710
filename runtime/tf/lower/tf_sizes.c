/* Sizes that depend on data. An array with a dynamic dimension has its bound in the shape; its
 * size is an instruction (get-dimension-size), which goes through Shape, Pack, slices and
 * arithmetic to the operations that take sizes. There each size is a constant, or a number with a
 * bound:
 *
 *   Reshape(x: f32[<=6], [-1, 2]) = dynamic-reshape(x, {get-dimension-size(x) / 2, 2}): f32[<=3,2]
 *
 * Source: XLA finds bounds in the same way (ConstantInputAsShape, kUpperBound). */
#include "tf/compile/tf_lower.h"

#include "base/arith.h"

#define BOUND_DEPTH_MAX 50
#define BOUND_STEPS_MAX 5000

/* --- sizes of arrays --- */

expr_t tf_size_of(hlo_builder_t *b, expr_t x, int d) {
  int64_t dim = d;
  if (!x) return NULL;
  if (!x->shape->dynamic || !x->shape->dynamic[d])
    return tf_scalar_int(b, x->shape->dims[d], HR_S32);
  hlo_attr_t attr = hlo_attr_of_ints(b, HLO_ATTR_DIMENSIONS, 1, &dim);
  return hlo_build(b, HLO_GET_DIMENSION_SIZE, NULL, 1, &x, 1, &attr, 0, NULL);
}

tf_sizes_t tf_sizes_of(hlo_builder_t *b, expr_t x) {
  tf_sizes_t sizes = {.rank = x ? x->shape->rank : 0};
  for (int d = 0; d < sizes.rank; d++) {
    sizes.dims[d] = x->shape->dims[d];
    if (x->shape->dynamic && x->shape->dynamic[d]) sizes.exprs[d] = tf_size_of(b, x, d);
  }
  return sizes;
}

expr_t tf_element_count(hlo_builder_t *b, expr_t x) {
  expr_t count = tf_scalar_int(b, 1, HR_S32);
  for (int d = 0; x && d < x->shape->rank; d++) count = f_mul(b, count, tf_size_of(b, x, d));
  return count;
}

tf_sizes_t tf_sizes_static(int rank, const int64_t *dims) {
  tf_sizes_t sizes = {.rank = rank};
  for (int d = 0; d < rank; d++) sizes.dims[d] = dims[d];
  return sizes;
}

static bool is_dynamic(const tf_sizes_t *sizes) {
  for (int d = 0; d < sizes->rank; d++)
    if (sizes->exprs[d]) return true;
  return false;
}

static const hlo_shape_t *shape_of(hlo_builder_t *b, hr_dtype_t dtype, const tf_sizes_t *sizes) {
  bool dynamic[HLO_MAX_RANK];
  const hlo_shape_t *shape = NULL;
  if (b->status) return NULL;
  for (int d = 0; d < sizes->rank; d++) dynamic[d] = sizes->exprs[d] != NULL;
  b->status = hlo_shape_array_dynamic(&b->computation->module->arena, dtype, sizes->rank,
                                      sizes->dims, dynamic, &shape);
  return shape;
}

expr_t tf_sizes_vector(hlo_builder_t *b, const tf_sizes_t *sizes, hr_dtype_t dtype) {
  expr_t parts[HLO_MAX_RANK];
  int64_t one = 1;
  for (int d = 0; d < sizes->rank; d++) {
    expr_t size = sizes->exprs[d] ? hlo_build_convert(b, sizes->exprs[d], dtype)
                                  : tf_scalar_int(b, sizes->dims[d], dtype);
    parts[d] = tf_reshape(b, size, 1, &one);
  }
  return tf_concat(b, sizes->rank, parts, 0);
}

/* --- bounds --- */

/* Range of the values of an integer scalar. */
typedef struct range {
  int64_t low, high;
} range_t;

static const range_t any_number = {INT64_MIN, INT64_MAX};

/* A search for the range of a number, which ends after a number of instructions: sums of a number
 * with itself double the work. */
typedef struct search {
  tf_compiler_t *compiler;
  int depth, steps;
} search_t;

static range_t find_range(search_t *search, expr_t x, int64_t i);

/* Number of the operand's element that element i of a transposition is. */
static int64_t transposed_element(expr_t x, int64_t i) {
  const hlo_shape_t *from = x->operands[0]->shape;
  hr_ints_t order = hlo_attr_ints(x, HLO_ATTR_DIMENSIONS);
  int64_t strides[HLO_MAX_RANK], stride = 1, number = 0;
  for (int d = from->rank - 1; d >= 0; stride *= from->dims[d--]) strides[d] = stride;
  for (int d = from->rank - 1; d >= 0; i /= x->shape->dims[d--])
    number += i % x->shape->dims[d] * strides[order.data[d]];
  return number;
}

/* The operand of a concatenation along dimension 0 that has element *i, and its number there. */
static expr_t joined_element(expr_t x, int64_t *i) {
  int k = 0;
  for (; *i >= hlo_shape_elements(x->operands[k]->shape); k++)
    *i -= hlo_shape_elements(x->operands[k]->shape);
  return x->operands[k];
}

/* The source of element *i, in row-major order, behind a slice, Pack or other movement. */
static expr_t source_of_element(expr_t x, int64_t *i) {
  for (int depth = 0; x && depth < BOUND_DEPTH_MAX; depth++) {
    if (x->op == HLO_SLICE && x->shape->rank == 1) {
      hlo_slice_dim_t dim = hlo_attr_slice(x)->dims[0];
      *i = dim.start + *i * dim.stride;
      x = x->operands[0];
    } else if (x->op == HLO_CONCATENATE && !hlo_attr_ints(x, HLO_ATTR_DIMENSIONS).data[0]) {
      x = joined_element(x, i);
    } else if (x->op == HLO_TRANSPOSE) {
      *i = transposed_element(x, *i);
      x = x->operands[0];
    } else if (x->op == HLO_RESHAPE) {
      x = x->operands[0];
    } else if (x->op == HLO_BROADCAST && !x->operands[0]->shape->rank) {
      x = x->operands[0];
      *i = 0;
    } else {
      break;
    }
  }
  return x;
}

/* source_of_element, also behind conversions between types in which sizes fit. */
static expr_t source_of_number(expr_t x, int64_t *i) {
  x = source_of_element(x, i);
  while (x && (x->op == HLO_CONVERT || x->op == HLO_COPY) && hr_dtype_bytes(x->shape->dtype) >= 4)
    x = source_of_element(x->operands[0], i);
  return x;
}

static bool find_constant(tf_compiler_t *compiler, expr_t x, int64_t i, range_t *out) {
  hlo_value_t *known = NULL;
  hr_status_t st = tf_evaluate(compiler, x, &known);
  hr_status_release(st);
  if (st || !known || i >= known->count) return false;
  *out = (range_t){hlo_value_int_at(known, i), hlo_value_int_at(known, i)};
  return true;
}

/* Range of an integer operation on values of two ranges; anything on overflow. */
static range_t range_of_two(hlo_opcode_t op, range_t x, range_t y) {
  int64_t low = 0, high = 0;
  switch (op) {
    case HLO_ADD:
      if (__builtin_add_overflow(x.low, y.low, &low)) return any_number;
      if (__builtin_add_overflow(x.high, y.high, &high)) return any_number;
      break;
    case HLO_SUBTRACT:
      if (__builtin_sub_overflow(x.low, y.high, &low)) return any_number;
      if (__builtin_sub_overflow(x.high, y.low, &high)) return any_number;
      break;
    case HLO_MULTIPLY:
      if (x.low < 0 || y.low < 0) return any_number;
      if (__builtin_mul_overflow(x.high, y.high, &high)) return any_number;
      low = x.low * y.low;
      break;
    case HLO_DIVIDE:
      if (x.low < 0 || y.low < 1) return any_number;
      low = x.low / y.high;
      high = x.high / y.low;
      break;
    case HLO_MAXIMUM:
      low = hr_max(x.low, y.low);
      high = hr_max(x.high, y.high);
      break;
    case HLO_MINIMUM:
      low = hr_min(x.low, y.low);
      high = hr_min(x.high, y.high);
      break;
    case HLO_SELECT:
      low = hr_min(x.low, y.low);
      high = hr_max(x.high, y.high);
      break;
    default:
      return any_number;
  }
  return (range_t){low, high};
}

/* All elements of a list as one number. */
static range_t range_of_all(search_t *search, expr_t x) {
  expr_t list = x->operands[0];
  if (x->operand_count != 2 || list->shape->rank != 1 || list->shape->dims[0] > HLO_MAX_RANK)
    return any_number;
  range_t all = find_range(search, x->operands[1], 0);
  for (int64_t i = 0; i < list->shape->dims[0]; i++)
    all = range_of_two(x->called[0]->root->op, all, find_range(search, list, i));
  return all;
}

/* Whether element i of x is the size of a dimension, and element j of y the same size. */
static bool is_same_size(expr_t x, int64_t i, expr_t y, int64_t j) {
  x = source_of_number(x, &i);
  y = source_of_number(y, &j);
  if (!x || !y || x->op != HLO_GET_DIMENSION_SIZE || y->op != HLO_GET_DIMENSION_SIZE) return false;
  return x->operands[0] == y->operands[0] && hlo_attr_ints(x, HLO_ATTR_DIMENSIONS).data[0] ==
                                                 hlo_attr_ints(y, HLO_ATTR_DIMENSIONS).data[0];
}

/* The number n of which x is (n - size) + size or size + (n - size), as padding to a fixed size is;
 * NULL: x is none of these. */
static expr_t completed_number(expr_t x, int64_t i, int64_t *out_element) {
  for (int k = 0; k < 2 && x->op == HLO_ADD; k++) {
    int64_t at = i;
    expr_t rest = source_of_number(x->operands[k], &at);
    *out_element = at;
    if (!rest || rest->op != HLO_SUBTRACT) continue;
    if (is_same_size(rest->operands[1], at, x->operands[1 - k], i)) return rest->operands[0];
  }
  return NULL;
}

/* Element i of an instruction, in row-major order. */
static range_t range_of_instr(search_t *search, expr_t x, int64_t i) {
  int first = x->op == HLO_SELECT;
  int64_t element;
  expr_t number = completed_number(x, i, &element);
  if (number) return find_range(search, number, element);
  switch (x->op) {
    case HLO_GET_DIMENSION_SIZE:
      return (range_t){0,
                       x->operands[0]->shape->dims[hlo_attr_ints(x, HLO_ATTR_DIMENSIONS).data[0]]};
    case HLO_CONVERT:
    case HLO_COPY:
      return find_range(search, x->operands[0], i);
    case HLO_REDUCE:
      return range_of_all(search, x);
    case HLO_ADD:
    case HLO_SUBTRACT:
    case HLO_MULTIPLY:
    case HLO_DIVIDE:
    case HLO_MAXIMUM:
    case HLO_MINIMUM:
    case HLO_SELECT:
      break;
    default:
      return any_number;
  }
  range_t range = find_range(search, x->operands[first], i);
  return range_of_two(x->op, range, find_range(search, x->operands[first + 1], i));
}

static range_t find_range(search_t *search, expr_t x, int64_t i) {
  range_t range = any_number;
  bool is_over = search->depth > BOUND_DEPTH_MAX || search->steps++ > BOUND_STEPS_MAX;
  if (!x || is_over || !hr_dtype_is_integer(x->shape->dtype)) return range;
  x = source_of_element(x, &i);
  if (find_constant(search->compiler, x, i, &range)) return range;
  if (i >= hlo_shape_elements(x->shape)) return range;
  search->depth++;
  range = range_of_instr(search, x, i);
  search->depth--;
  return range;
}

int64_t tf_upper_bound(tf_compiler_t *compiler, expr_t x) {
  search_t search = {.compiler = compiler};
  range_t range = find_range(&search, x, 0);
  return range.high >= 0 && range.high < INT64_MAX ? range.high : -1;
}

bool tf_only_number(tf_compiler_t *compiler, expr_t x, int64_t *out_number) {
  search_t search = {.compiler = compiler};
  range_t range = find_range(&search, x, 0);
  *out_number = range.low;
  return range.low == range.high;
}

expr_t tf_vector_element(hlo_builder_t *b, expr_t x, int64_t i) {
  x = source_of_element(x, &i);
  if (!x || !x->shape->rank) return x;
  int64_t count = hlo_shape_elements(x->shape);
  if (x->shape->rank > 1) x = tf_reshape(b, x, 1, &count);
  return tf_reshape(b, tf_slice_dim(b, x, 0, i, i + 1), 0, NULL);
}

/* --- sizes as inputs --- */

static int64_t vector_size(expr_t x) { return x->shape->rank == 1 ? x->shape->dims[0] : 1; }

hr_status_t tf_sizes_in(tf_op_t *op, int k, tf_sizes_t *out_sizes) {
  hlo_value_t *known;
  tf_sizes_t sizes = {0};
  int64_t number;
  HR_TRY(tf_const_if_known(op, k, &known));
  expr_t x = known ? NULL : tf_in(op, k);
  if (!known && !x) return hlo_builder_finish(op->b);
  int64_t rank = known ? known->count : vector_size(x);
  if (rank > HLO_MAX_RANK) return tf_error(op, "%ld dimensions", (long)rank);
  sizes.rank = (int)rank;
  for (int d = 0; d < rank && known; d++) sizes.dims[d] = hlo_value_int_at(known, d);
  for (int d = 0; d < rank && !known; d++) {
    expr_t size = x->shape->rank ? tf_vector_element(op->b, x, d) : x;
    sizes.dims[d] = tf_upper_bound(op->scope->compiler, size);
    bool is_known = tf_only_number(op->scope->compiler, size, &number);
    if (is_known) sizes.dims[d] = number;
    if (!is_known && sizes.dims[d] < 0)
      return tf_error(op, "input %d must be a compile-time constant", k);
    if (!is_known) sizes.exprs[d] = hlo_build_convert(op->b, size, HR_S32);
  }
  *out_sizes = sizes;
  return hlo_builder_finish(op->b);
}

/* --- arrays of such sizes --- */

expr_t tf_reshape_sized(hlo_builder_t *b, expr_t x, const tf_sizes_t *sizes) {
  if (!x) return NULL;
  const hlo_shape_t *shape = shape_of(b, x->shape->dtype, sizes);
  if (!shape) return NULL;
  if (!is_dynamic(sizes)) return hlo_build_reshape(b, x, shape);
  expr_t operands[] = {x, tf_sizes_vector(b, sizes, HR_S32)};
  return hlo_build(b, HLO_DYNAMIC_RESHAPE, shape, 2, operands, 0, NULL, 0, NULL);
}

expr_t tf_slice_sized(hlo_builder_t *b, expr_t x, const tf_sizes_t *sizes, const tf_sizes_t *starts,
                      const tf_sizes_t *limits, const tf_sizes_t *steps) {
  const hlo_shape_t *shape = shape_of(b, x->shape->dtype, sizes);
  if (!shape) return NULL;
  expr_t operands[] = {x, tf_sizes_vector(b, starts, HR_S32), tf_sizes_vector(b, limits, HR_S32),
                       tf_sizes_vector(b, steps, HR_S32)};
  return hlo_build(b, HLO_REAL_DYNAMIC_SLICE, shape, 4, operands, 0, NULL, 0, NULL);
}

expr_t tf_broadcast_in_sized(hlo_builder_t *b, expr_t x, const tf_sizes_t *sizes, hr_ints_t dims) {
  if (!x) return NULL;
  const hlo_shape_t *shape = shape_of(b, x->shape->dtype, sizes);
  if (!shape) return NULL;
  if (!is_dynamic(sizes)) return hlo_build_broadcast(b, x, shape, dims);
  hlo_attr_t attr = hlo_attr_of_ints(b, HLO_ATTR_DIMENSIONS, dims.count, dims.data);
  expr_t operands[] = {x, tf_sizes_vector(b, sizes, HR_S32)};
  return hlo_build(b, HLO_DYNAMIC_BROADCAST, shape, 2, operands, 1, &attr, 0, NULL);
}

expr_t tf_iota_sized(hlo_builder_t *b, hr_dtype_t dtype, const tf_sizes_t *sizes, int d) {
  const hlo_shape_t *shape = shape_of(b, dtype, sizes);
  if (!shape) return NULL;
  if (!is_dynamic(sizes)) return tf_iota(b, dtype, sizes->rank, sizes->dims, d);
  expr_t vector = tf_sizes_vector(b, sizes, HR_S32);
  hlo_attr_t attr = hlo_attr_of_int(HLO_ATTR_IOTA_DIMENSION, d);
  return hlo_build(b, HLO_DYNAMIC_IOTA, shape, 1, &vector, 1, &attr, 0, NULL);
}

static bool any_dynamic(const hlo_shape_t *shape, int first, int last) {
  for (int d = first; d < last; d++)
    if (shape->dynamic && shape->dynamic[d]) return true;
  return false;
}

expr_t tf_set_size(hlo_builder_t *b, expr_t x, int d, expr_t size) {
  int64_t dim = d;
  hlo_attr_t attr = hlo_attr_of_ints(b, HLO_ATTR_DIMENSIONS, 1, &dim);
  expr_t operands[] = {x, size};
  return hlo_build(b, HLO_SET_DIMENSION_SIZE, NULL, 2, operands, 1, &attr, 0, NULL);
}

hr_status_t tf_shape_join(hr_arena_t *arena, const hlo_shape_t *x, const hlo_shape_t *y,
                          const hlo_shape_t **out) {
  int64_t dims[HLO_MAX_RANK];
  bool dynamic[HLO_MAX_RANK];
  *out = y;
  if (x->dtype != y->dtype || x->rank != y->rank || hlo_shape_equal(x, y)) return NULL;
  for (int d = 0; d < x->rank; d++) {
    dims[d] = x->dims[d] > y->dims[d] ? x->dims[d] : y->dims[d];
    dynamic[d] = x->dims[d] != y->dims[d] || any_dynamic(x, d, d + 1) || any_dynamic(y, d, d + 1);
  }
  return hlo_shape_array_dynamic(arena, x->dtype, x->rank, dims, dynamic, out);
}

expr_t tf_widen(hlo_builder_t *b, expr_t x, const hlo_shape_t *shape) {
  int64_t low[HLO_MAX_RANK] = {0}, high[HLO_MAX_RANK];
  if (!x || hlo_shape_equal(x->shape, shape) || x->shape->rank != shape->rank) return x;
  tf_sizes_t sizes = tf_sizes_of(b, x);
  expr_t wide = x;
  bool grows = false;
  for (int d = 0; d < shape->rank; d++) {
    high[d] = shape->dims[d] - x->shape->dims[d];
    grows |= high[d] > 0;
  }
  if (grows) wide = tf_pad(b, x, tf_scalar(b, 0, x->shape->dtype), low, high, NULL);
  for (int d = 0; d < shape->rank; d++) {
    bool is_same = !high[d] && sizes.exprs[d];
    if (!any_dynamic(shape, d, d + 1) || is_same) continue;
    expr_t size = sizes.exprs[d] ? sizes.exprs[d] : tf_scalar_int(b, sizes.dims[d], HR_S32);
    wide = tf_set_size(b, wide, d, size);
  }
  return wide;
}

/* Product of the sizes of dimensions first to last - 1 of x. */
static expr_t product_of(hlo_builder_t *b, expr_t x, int first, int last) {
  expr_t product = tf_size_of(b, x, first);
  for (int d = first + 1; d < last; d++) product = f_mul(b, product, tf_size_of(b, x, d));
  return product;
}

/* Dimensions first to last - 1 of x become from to until - 1 of the result, with as many elements:
 * the first of them that is not 1 takes the size that the others leave. */
static void size_group(hlo_builder_t *b, expr_t x, int first, int last, tf_sizes_t *sizes, int from,
                       int until) {
  int64_t others = 1;
  int at = from;
  if (!any_dynamic(x->shape, first, last) || from == until) return;
  while (at < until - 1 && sizes->dims[at] == 1) at++;
  for (int d = from; d < until; d++) others *= d == at ? 1 : sizes->dims[d];
  sizes->exprs[at] = product_of(b, x, first, last);
  if (others > 1) sizes->exprs[at] = f_div(b, sizes->exprs[at], tf_scalar_int(b, others, HR_S32));
}

/* Groups of dimensions with equal products, from left to right. */
tf_sizes_t tf_sizes_reshaped(hlo_builder_t *b, expr_t x, int rank, const int64_t *dims) {
  tf_sizes_t sizes = tf_sizes_static(rank, dims);
  int xd = 0, d = 0;
  if (!hlo_shape_is_dynamic(x->shape)) return sizes;
  while (xd < x->shape->rank) {
    int first = xd, from = d;
    int64_t have = x->shape->dims[xd++], want = d < rank ? dims[d++] : 1;
    while (have != want && (xd < x->shape->rank || d < rank)) {
      bool grow_have = (have < want && xd < x->shape->rank) || d >= rank;
      if (grow_have)
        have *= x->shape->dims[xd++];
      else
        want *= dims[d++];
    }
    size_group(b, x, first, xd, &sizes, from, d);
  }
  return sizes;
}
