/* Matching helpers and builders for rules: splats, neutral elements, commutative bodies, shapes.
 * Splats are read through broadcasts and reshapes. Builders return NULL after a failure, which
 * sticks to the rewrite's builder, so that rules need no checks in between. */
#include "passes/lib/pass_match.h"

#include <math.h>
#include <string.h>

#include "ops/query/reduce_order.h"

static bool is_static_array(const hlo_shape_t *shape) {
  return hlo_shape_is_array(shape) && !hlo_shape_is_dynamic(shape);
}

bool pass_has_static_arrays(const hlo_instr_t *instr) {
  if (!is_static_array(instr->shape)) return false;
  for (int k = 0; k < instr->operand_count; k++)
    if (!is_static_array(instr->operands[k]->shape)) return false;
  return true;
}

/* ---- numbers ---- */

bool pass_is_plain_float(hr_dtype_t dtype) {
  return dtype == HR_F16 || dtype == HR_BF16 || dtype == HR_F32 || dtype == HR_F64;
}

/* The one value of an integer or pred array. */
bool pass_splat_int(const hlo_instr_t *instr, int64_t *out_value) {
  hr_dtype_t dtype = instr->shape->dtype;
  if (!hr_dtype_is_integer(dtype) && dtype != HR_PRED) return false;
  const void *element = pass_splat_of(instr);
  if (!element) return false;
  hlo_value_t value = {.dtype = dtype, .count = 1, .data = (void *)element};
  *out_value = hlo_value_int_at(&value, 0);
  return true;
}

/* The one value of an array of floats. */
bool pass_splat_float(const hlo_instr_t *instr, double *out_value) {
  hr_dtype_t dtype = instr->shape->dtype;
  if (!pass_is_plain_float(dtype)) return false;
  const void *element = pass_splat_of(instr);
  uint64_t bits = 0;
  if (!element) return false;
  memcpy(&bits, element, hr_dtype_bytes(dtype));
  *out_value = hr_float_decode(dtype, bits);
  return true;
}

/* +0 and -0 are different numbers here. */
bool pass_is_number(const hlo_instr_t *instr, double number) {
  int64_t integer;
  double real;
  if (pass_splat_float(instr, &real)) return real == number && signbit(real) == signbit(number);
  return pass_splat_int(instr, &integer) && (double)integer == number;
}

/* Smallest or largest value of an integer type; pred counts from 0 to 1. */
static int64_t extreme(hr_dtype_t dtype, bool highest) {
  int bits = hr_dtype_table[dtype].bits;
  if (dtype == HR_PRED) return highest;
  if (hr_dtype_class(dtype) == HR_CLASS_UNSIGNED)
    return highest ? (int64_t)(UINT64_MAX >> (64 - bits)) : 0;
  return highest ? INT64_MAX >> (64 - bits) : INT64_MIN >> (64 - bits);
}

static bool is_extreme(const hlo_instr_t *instr, bool highest) {
  int64_t integer;
  double real;
  if (pass_splat_float(instr, &real)) return real == (highest ? INFINITY : -INFINITY);
  return pass_splat_int(instr, &integer) && integer == extreme(instr->shape->dtype, highest);
}

bool pass_is_lowest(const hlo_instr_t *instr) { return is_extreme(instr, false); }
bool pass_is_highest(const hlo_instr_t *instr) { return is_extreme(instr, true); }

/* A sum that starts from +0 is never -0. */
static bool is_sum_from_zero(const hlo_instr_t *reduce) {
  hlo_opcode_t op;
  return reduce->operand_count == 2 && pass_body_is_binary(reduce->called[0], &op) &&
         op == HLO_ADD && pass_is_number(reduce->operands[1], 0);
}

static bool adds_into(const hlo_instr_t *scatter) {
  hlo_opcode_t op;
  return scatter->operand_count == 3 && pass_body_is_binary(scatter->called[0], &op) &&
         op == HLO_ADD;
}

#define MAX_PARTS 64

static bool never_minus_zero(const hlo_instr_t *instr, int depth);

static bool parts_never_minus_zero(const hlo_instr_t *concatenate, int depth) {
  bool never = concatenate->operand_count <= MAX_PARTS;
  for (int k = 0; k < concatenate->operand_count && never; k++)
    never = never_minus_zero(concatenate->operands[k], depth);
  return never;
}

/* A sum is -0 only if both terms are. */
static bool never_minus_zero(const hlo_instr_t *instr, int depth) {
  double splat;
  if (depth == 0) return false;
  if (instr->op == HLO_CONCATENATE) return parts_never_minus_zero(instr, depth - 1);
  if (instr->operand_count > 3) return false;
  if (pass_splat_float(instr, &splat)) return splat != 0 || !signbit(splat);
  const hlo_instr_t *x = instr->operand_count ? instr->operands[0] : NULL;
  const hlo_instr_t *y = instr->operand_count > 1 ? instr->operands[1] : NULL;
  switch (instr->op) {
    case HLO_ABS:
    case HLO_EXPONENTIAL:
    case HLO_LOGISTIC:
    case HLO_IOTA:
      return true;
    case HLO_MULTIPLY:
      return x == y;
    case HLO_REDUCE:
      return is_sum_from_zero(instr);
    case HLO_SCATTER:
      return adds_into(instr) && never_minus_zero(x, depth - 1);
    case HLO_CONVERT:
      return !hr_dtype_is_float(x->shape->dtype);
    case HLO_ADD:
      return never_minus_zero(x, depth - 1) || never_minus_zero(y, depth - 1);
    case HLO_SELECT:
      return never_minus_zero(y, depth - 1) && never_minus_zero(instr->operands[2], depth - 1);
    case HLO_BROADCAST:
    case HLO_RESHAPE:
    case HLO_TRANSPOSE:
    case HLO_SLICE:
    case HLO_SQRT:
      return never_minus_zero(x, depth - 1);
    default:
      return false;
  }
}

/* Is x op instr equal to x, apart from the sign of a zero under addition? */
bool pass_is_neutral(hlo_opcode_t op, const hlo_instr_t *instr) {
  switch (op) {
    case HLO_ADD:
      return pass_is_number(instr, 0) || pass_is_number(instr, -0.0);
    case HLO_MULTIPLY:
      return pass_is_number(instr, 1);
    case HLO_MAXIMUM:
      return pass_is_lowest(instr);
    case HLO_MINIMUM:
      return pass_is_highest(instr);
    default:
      return false;
  }
}

bool pass_never_minus_zero(const hlo_instr_t *instr) { return never_minus_zero(instr, 4); }

/* Does the body apply one commutative and associative op to its two parameters? */
bool pass_body_is_binary(const hlo_computation_t *body, hlo_opcode_t *out_op) {
  const hlo_instr_t *root = body->root;
  if (body->params.count != 2 || root->operand_count != 2 ||
      !hlo_op_is(root->op, OP_COMMUTATIVE | OP_ASSOCIATIVE))
    return false;
  const hlo_instr_t *a = root->operands[0], *b = root->operands[1];
  if (a->op != HLO_PARAMETER || b->op != HLO_PARAMETER || a == b) return false;
  *out_op = root->op;
  return true;
}

/* ---- shapes ---- */

/* Does a transpose leave the bytes in place? Dimensions of size 1 may move. */
bool pass_keeps_order(hr_ints_t permutation, const hlo_shape_t *result) {
  int64_t last = -1;
  for (int64_t d = 0; d < permutation.count; d++) {
    if (result->dims[d] == 1) continue;
    if (permutation.data[d] < last) return false;
    last = permutation.data[d];
  }
  return true;
}

/* Equal sizes in equal order, dimensions of size 1 apart. */
bool pass_same_without_ones(const hlo_shape_t *a, const hlo_shape_t *b) {
  int i = 0, j = 0;
  while (i < a->rank || j < b->rank) {
    if (i < a->rank && a->dims[i] == 1) {
      i++;
    } else if (j < b->rank && b->dims[j] == 1) {
      j++;
    } else {
      if (i == a->rank || j == b->rank || a->dims[i++] != b->dims[j++]) return false;
    }
  }
  return true;
}

const hlo_shape_t *pass_shape(pass_rewrite_t *rewrite, hr_dtype_t dtype, int rank,
                              const int64_t *dims) {
  const hlo_shape_t *shape = NULL;
  if (!rewrite->builder.status)
    rewrite->builder.status = hlo_shape_array(rewrite->arena, dtype, rank, dims, &shape);
  return shape;
}

/* ---- instructions ---- */

hlo_instr_t *pass_build_slice(pass_rewrite_t *rewrite, hlo_instr_t *x,
                              const hlo_slice_dim_t *dims) {
  hlo_slice_t *slice;
  hlo_builder_t *builder = &rewrite->builder;
  if (builder->status || !x) return NULL;
  void *copy;
  builder->status =
      hr_arena_copy(rewrite->arena, dims, (size_t)x->shape->rank * sizeof *dims, &copy);
  if (!builder->status) builder->status = HR_NEW(rewrite->arena, &slice);
  if (builder->status) return NULL;
  *slice = (hlo_slice_t){x->shape->rank, copy};
  hlo_attr_t attr = {.key = HLO_ATTR_SLICE, .slice = slice};
  return hlo_build(builder, HLO_SLICE, NULL, 1, &x, 1, &attr, 0, NULL);
}

hlo_instr_t *pass_build_pad(pass_rewrite_t *rewrite, hlo_instr_t *x, hlo_instr_t *with,
                            const hlo_padding_dim_t *dims) {
  hlo_padding_t *padding;
  void *copy;
  hlo_builder_t *builder = &rewrite->builder;
  size_t rank = (size_t)x->shape->rank;
  if (!builder->status)
    builder->status = hr_arena_copy(rewrite->arena, dims, rank * sizeof *dims, &copy);
  if (!builder->status) builder->status = HR_NEW(rewrite->arena, &padding);
  if (builder->status) return NULL;
  *padding = (hlo_padding_t){x->shape->rank, copy};
  hlo_attr_t attr = {.key = HLO_ATTR_PADDING, .padding = padding};
  return hlo_build(builder, HLO_PAD, NULL, 2, (hlo_instr_t *[]){x, with}, 1, &attr, 0, NULL);
}

hlo_instr_t *pass_build_element_slice(pass_rewrite_t *rewrite, hlo_instr_t *x, int64_t d,
                                      int64_t at) {
  hlo_slice_dim_t parts[HLO_MAX_RANK];
  int64_t left[HLO_MAX_RANK];
  int rank = 0;
  for (int i = 0; i < x->shape->rank; i++) {
    parts[i] =
        i == d ? (hlo_slice_dim_t){at, at + 1, 1} : (hlo_slice_dim_t){0, x->shape->dims[i], 1};
    if (i != d) left[rank++] = x->shape->dims[i];
  }
  const hlo_shape_t *shape = pass_shape(rewrite, x->shape->dtype, rank, left);
  hlo_instr_t *slice = pass_build_slice(rewrite, x, parts);
  return shape && slice ? hlo_build_reshape(&rewrite->builder, slice, shape) : NULL;
}

hlo_instr_t *pass_build_transpose(pass_rewrite_t *rewrite, hlo_instr_t *x,
                                  const int64_t *permutation) {
  if (!x) return NULL;
  hlo_attr_t attr =
      hlo_attr_of_ints(&rewrite->builder, HLO_ATTR_DIMENSIONS, x->shape->rank, permutation);
  return hlo_build(&rewrite->builder, HLO_TRANSPOSE, NULL, 1, &x, 1, &attr, 0, NULL);
}

hlo_instr_t *pass_build_with_last_first(pass_rewrite_t *rewrite, hlo_instr_t *x) {
  int64_t order[HLO_MAX_RANK] = {x->shape->rank - 1};
  for (int d = 1; d < x->shape->rank; d++) order[d] = d - 1;
  return pass_build_transpose(rewrite, x, order);
}

/* Joined along the first dimension, where parts need no more than to be beside each other. */
hlo_instr_t *pass_build_joined(pass_rewrite_t *rewrite, const hlo_shape_t *shape, int64_t d,
                               hlo_instr_t *const *parts) {
  hlo_builder_t *builder = &rewrite->builder;
  int64_t sizes[HLO_MAX_RANK] = {1}, order[HLO_MAX_RANK] = {0};
  int count = (int)shape->dims[d];
  hlo_instr_t **rows;
  for (int i = 0, next = 1; i < shape->rank; i++) {
    if (i != d) sizes[next] = shape->dims[i];
    order[i] = i == d ? 0 : next++;
  }
  const hlo_shape_t *row = pass_shape(rewrite, shape->dtype, shape->rank, sizes);
  if (!builder->status) builder->status = HR_NEW_ARRAY(&rewrite->scratch, count, &rows);
  for (int i = 0; i < count && !builder->status; i++)
    rows[i] = parts[i] ? hlo_build_reshape(builder, parts[i], row) : NULL;
  if (builder->status) return NULL;
  hlo_attr_t attr = hlo_attr_of_ints(builder, HLO_ATTR_DIMENSIONS, 1, (int64_t[]){0});
  hlo_instr_t *all = hlo_build(builder, HLO_CONCATENATE, NULL, count, rows, 1, &attr, 0, NULL);
  return d ? pass_build_transpose(rewrite, all, order) : all;
}

hlo_instr_t *pass_build_fill(pass_rewrite_t *rewrite, hlo_instr_t *scalar,
                             const hlo_shape_t *shape) {
  if (!shape->rank || !scalar) return scalar;
  return hlo_build_broadcast(&rewrite->builder, scalar, shape, (hr_ints_t){NULL, 0});
}

hlo_instr_t *pass_build_like(pass_rewrite_t *rewrite, const hlo_instr_t *from,
                             hlo_instr_t *const *operands, const hlo_shape_t *shape) {
  return hlo_build(&rewrite->builder, from->op, shape, from->operand_count, operands,
                   from->attr_count, from->attrs, from->called_count, from->called);
}

hlo_instr_t *pass_build_with(pass_rewrite_t *rewrite, const hlo_instr_t *from,
                             hlo_instr_t *const *operands, const hlo_shape_t *shape,
                             const hlo_attr_t *changed) {
  enum { MAX_ATTRS = 16 };
  hlo_attr_t attrs[MAX_ATTRS];
  int count = 0;
  bool put = false;
  if (from->attr_count >= MAX_ATTRS) return NULL;
  for (int i = 0; i < from->attr_count; i++) {
    bool same = from->attrs[i].key == changed->key;
    attrs[count++] = same ? *changed : from->attrs[i];
    put |= same;
  }
  if (!put) attrs[count++] = *changed;
  return hlo_build(&rewrite->builder, from->op, shape, from->operand_count, operands, count, attrs,
                   from->called_count, from->called);
}

static hlo_computation_t *body_of_two(pass_rewrite_t *rewrite, hlo_opcode_t op, hr_dtype_t dtype) {
  hlo_builder_t *outer = &rewrite->builder;
  hlo_computation_t *body = NULL;
  const char *name = op == HLO_ADD ? "sum" : hlo_op_name(op);
  if (!outer->status)
    outer->status =
        hlo_computation_add(rewrite->computation->module, (hr_str_t){name, strlen(name)}, &body);
  if (outer->status) return NULL;
  hlo_builder_t builder = hlo_builder_at(body, outer->line, outer->column);
  hlo_instr_t *a = hlo_build_parameter(&builder, 0, hlo_shape_scalar(dtype));
  hlo_instr_t *b = hlo_build_parameter(&builder, 1, hlo_shape_scalar(dtype));
  body->root = hlo_build_binary(&builder, op, a, b);
  outer->status = hlo_builder_finish(&builder);
  return body;
}

hlo_instr_t *pass_build_reduce(pass_rewrite_t *rewrite, hlo_opcode_t op, hlo_instr_t *x,
                               double init, int count, const int64_t *dims) {
  hlo_computation_t *body = x ? body_of_two(rewrite, op, x->shape->dtype) : NULL;
  if (!body || rewrite->builder.status) return NULL;
  hlo_instr_t *operands[] = {x, hlo_build_number(&rewrite->builder, init, x->shape->dtype)};
  hlo_attr_t attrs[] = {hlo_attr_of_ints(&rewrite->builder, HLO_ATTR_DIMENSIONS, count, dims),
                        hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1)};
  return hlo_build(&rewrite->builder, HLO_REDUCE, NULL, 2, operands, 2, attrs, 1, &body);
}

hlo_instr_t *pass_build_sum(pass_rewrite_t *rewrite, hlo_instr_t *x, int count,
                            const int64_t *dims) {
  return pass_build_reduce(rewrite, HLO_ADD, x, 0, count, dims);
}

#define SMALL_PART 64 /* least number of such parts in the whole */

bool pass_is_small_part(const hlo_instr_t *instr) {
  if (instr->op != HLO_DYNAMIC_SLICE || hlo_shape_is_dynamic(instr->operands[0]->shape))
    return false;
  return hlo_shape_elements(instr->shape) * SMALL_PART <=
         hlo_shape_elements(instr->operands[0]->shape);
}

bool pass_is_plain_dot(const hlo_instr_t *dot) {
  hr_dtype_t dtype = dot->shape->dtype;
  return dot->op == HLO_DOT && (dtype == HR_F32 || dtype == HR_F64) &&
         pass_has_static_arrays(dot) && dot->operands[0]->shape->dtype == dtype &&
         dot->operands[1]->shape->dtype == dtype && !hlo_attr_enum(dot, HLO_ATTR_ALGORITHM) &&
         !(dot->extra && dot->extra->control_count);
}

bool pass_is_plain_reduce(const hlo_instr_t *reduce, hlo_opcode_t *out_op) {
  return reduce->op == HLO_REDUCE && reduce->operand_count == 2 && pass_has_static_arrays(reduce) &&
         reduce->operands[0]->shape->dtype == reduce->shape->dtype &&
         op_reduce_order(reduce) == OP_REDUCE_ANY && pass_body_is_binary(reduce->called[0], out_op);
}
