/* The specification's rules about quantised types, by label. The op's other rules are checked on
 * its expansion. */
#include <math.h>
#include <string.h>

#include "stablehlo/import/import_quant.h"

#define NAME(op) HR_STR_ARGS(short_name(op))

/* The op's name as it is in labels. */
static hr_str_t short_name(const mlir_op_t *op) {
  const char *dot = memchr(op->name.data, '.', op->name.size);
  size_t skip = dot ? (size_t)(dot + 1 - op->name.data) : 0;
  return (hr_str_t){op->name.data + skip, op->name.size - skip};
}

/* --- one type --- */

/* Scales are numbers of the expressed type, its smallest above zero at least. */
static hr_status_t check_scale(import_scope_t *scope, const mlir_op_t *op, const mlir_quant_t *q,
                               double scale) {
  hr_dtype_t type;
  if (!(scale > 0) || !isfinite(scale))
    return import_error(scope, op, "scale %g, want a positive one (quantized type C5-C6)", scale);
  HR_TRY(import_dtype(scope->importer, q->expressed, &type));
  if (type == HR_F64) return NULL;
  double least = hr_float_decode(type, 1), most = hr_float_decode(type, hr_float_largest(type));
  if (scale >= least && scale <= most) return NULL;
  return import_error(scope, op, "scale %g, want one from %g to %g of %s (quantized type C6)",
                      scale, least, most, hr_dtype_name(type));
}

/* The storage range is within the storage type, zero points within the range. */
static hr_status_t check_ranges(import_scope_t *scope, const mlir_op_t *op, const mlir_quant_t *q) {
  int width = q->storage->width;
  int64_t low = q->storage_signed ? -(INT64_C(1) << (width - 1)) : 0;
  int64_t high = q->storage_signed ? (INT64_C(1) << (width - 1)) - 1 : (INT64_C(1) << width) - 1;
  if (q->min < low || q->min >= q->max || q->max > high)
    return import_error(scope, op,
                        "storage from %ld to %ld, want %ld <= min < max <= %ld (quantized type C3)",
                        (long)q->min, (long)q->max, (long)low, (long)high);
  for (int i = 0; i < q->scale_count; i++) {
    HR_TRY(check_scale(scope, op, q, q->scales[i]));
    if (q->zero_points[i] < q->min || q->zero_points[i] > q->max)
      return import_error(scope, op, "zero point %ld, want one from %ld to %ld (quantized type C7)",
                          (long)q->zero_points[i], (long)q->min, (long)q->max);
  }
  return NULL;
}

/* The number of scales equals the size of the dimension, or the number of blocks. */
static hr_status_t check_scales(import_scope_t *scope, const mlir_op_t *op, const mlir_type_t *type,
                                const mlir_quant_t *q) {
  if (q->axis < 0 && !q->block_count && q->scale_count != 1)
    return import_error(scope, op, "%d scales, want one (quantized type C10)", q->scale_count);
  if (q->axis >= 0) {
    if (q->axis >= type->rank)
      return import_error(scope, op,
                          "quantisation along dimension %ld of %d (quantized tensor C12)",
                          (long)q->axis, type->rank);
    int64_t size = type->dims[q->axis];
    if (size != HLO_UNBOUNDED && size != q->scale_count)
      return import_error(scope, op, "%d scales for %ld indices (quantized tensor C13)",
                          q->scale_count, (long)size);
  }
  if (q->block_count && q->scale_rank != type->rank)
    return import_error(scope, op, "scales of %d levels for blocks of %d dimensions", q->scale_rank,
                        type->rank);
  int64_t scales = 1;
  for (int d = 0; q->block_count && d < q->scale_rank; d++)
    if (__builtin_mul_overflow(scales, q->scale_dims[d], &scales)) scales = -1;
  if (q->block_count && scales != q->scale_count)
    return import_error(scope, op, "%d scales for %ld blocks", q->scale_count, (long)scales);
  for (int i = 0; i < q->block_count; i++) {
    int64_t axis = q->block_axes[i];
    int64_t block = q->block_sizes[i];
    bool fits = axis >= 0 && axis < type->rank && block > 0 && type->dims[axis] != HLO_UNBOUNDED &&
                type->dims[axis] == block * q->scale_dims[axis];
    if (!fits)
      return import_error(scope, op, "blocks of %ld do not divide dimension %ld", (long)block,
                          (long)axis);
  }
  return NULL;
}

/* Checks that the op allows the type. */
static hr_status_t check_type(import_scope_t *scope, const mlir_op_t *op, const mlir_type_t *type,
                              const import_quant_rule_t *rule) {
  const mlir_quant_t *q = import_quant_of(type);
  if (!q) return NULL;
  if (q->form != MLIR_QUANT_UNIFORM || !q->expressed || q->expressed->kind != MLIR_TYPE_FLOAT)
    return import_error(scope, op, "want !quant.uniform of a floating-point type");
  HR_TRY(check_ranges(scope, op, q));
  HR_TRY(check_scales(scope, op, type, q));
  if (q->axis >= 0 && !rule->per_axis)
    return import_error(scope, op, "scales along an axis, want one for the whole tensor (%.*s I1)",
                        NAME(op));
  return NULL;
}

/* --- types together --- */

/* Equal except for scales and zero points. */
static bool same_baseline(const mlir_quant_t *a, const mlir_quant_t *b) {
  return mlir_type_equal(a->storage, b->storage) && a->min == b->min && a->max == b->max &&
         mlir_type_equal(a->expressed, b->expressed) && a->axis == b->axis;
}

/* One scale stands for all, as of a dimension that is broadcast. */
static bool same_parameters(const mlir_quant_t *a, const mlir_quant_t *b) {
  int count = a->scale_count > b->scale_count ? a->scale_count : b->scale_count;
  if (a->scale_count != b->scale_count && a->scale_count != 1 && b->scale_count != 1) return false;
  for (int i = 0; i < count; i++) {
    int k = a->scale_count == 1 ? 0 : i;
    int l = b->scale_count == 1 ? 0 : i;
    if (a->scales[k] != b->scales[l] || a->zero_points[k] != b->zero_points[l]) return false;
  }
  return true;
}

static bool is_float(const mlir_type_t *type) {
  const mlir_type_t *element = type->kind == MLIR_TYPE_TENSOR ? type->element : type;
  return element->kind == MLIR_TYPE_FLOAT || element->kind == MLIR_TYPE_COMPLEX;
}

/* All types are quantised, with the same storage and expressed type (C1). */
static hr_status_t check_baseline(import_scope_t *scope, const mlir_op_t *op,
                                  const mlir_type_t *type, const mlir_quant_t **first) {
  const mlir_quant_t *q = import_quant_of(type);
  if (is_float(type))
    return import_error(scope, op, "quantised and floating-point tensors together (%.*s C1)",
                        NAME(op));
  if (!q) return NULL;
  if (*first && !same_baseline(*first, q))
    return import_error(
        scope, op, "quantised types of different storage or expressed types (%.*s C1)", NAME(op));
  *first = q;
  return NULL;
}

/* All operands and results are quantised with the same storage and expressed types. */
static hr_status_t check_dequantize(import_scope_t *scope, const mlir_op_t *op) {
  const mlir_quant_t *first = NULL;
  for (int k = 0; k < op->operand_count; k++)
    HR_TRY(check_baseline(scope, op, op->operands[k]->type, &first));
  for (int i = 0; i < op->result_count; i++)
    HR_TRY(check_baseline(scope, op, op->results[i].type, &first));
  return NULL;
}

/* Elements before dimension `axis`; -1 if sizes are not known. */
static int64_t elements_before(const mlir_type_t *type, int64_t axis) {
  int64_t count = 1;
  for (int64_t d = 0; d < axis; d++)
    if (type->dims[d] < 0 || __builtin_mul_overflow(count, type->dims[d], &count)) return -1;
  return count;
}

/* Where ops that rearrange dimensions move the quantised one: to the dimension that
 * broadcast_in_dim or transpose name, and a reshape to one with as many elements before it. */
static hr_status_t check_moved_axis(import_scope_t *scope, const mlir_op_t *op, int64_t from,
                                    int64_t to) {
  hr_str_t name = short_name(op);
  const mlir_type_t *types[2] = {op->operands[0]->type, op->results[0].type};
  hr_ints_t dims;
  bool fits = true;
  if (hr_str_is(name, "broadcast_in_dim") || hr_str_is(name, "dynamic_broadcast_in_dim")) {
    HR_TRY(import_list(scope, op, "broadcast_dimensions", -1, 0, &dims));
    fits = from < dims.count && dims.data[from] == to;
  } else if (hr_str_is(name, "transpose")) {
    HR_TRY(import_list(scope, op, "permutation", -1, 0, &dims));
    fits = to < dims.count && dims.data[to] == from;
  } else if (hr_str_is(name, "reshape") || hr_str_is(name, "dynamic_reshape")) {
    int64_t before[2] = {elements_before(types[0], from), elements_before(types[1], to)};
    bool is_known =
        before[0] >= 0 && before[1] >= 0 && types[0]->dims[from] >= 0 && types[1]->dims[to] >= 0;
    fits = !is_known || (before[0] == before[1] && types[0]->dims[from] == types[1]->dims[to]);
  }
  if (fits) return NULL;
  return import_error(scope, op, "the result is quantised along dimension %ld, not where %ld moves",
                      (long)to, (long)from);
}

/* Ops that move whole elements keep their type; only the axis number may change. */
static hr_status_t check_move(import_scope_t *scope, const mlir_op_t *op,
                              const import_quant_rule_t *rule) {
  static const char *const free_ops[] = {"bitcast_convert",  "custom_call", "composite",
                                         "constant",         "tuple",       "call",
                                         "get_tuple_element"};
  const mlir_quant_t *result = op->result_count == 1 ? import_quant_of(op->results[0].type) : NULL;
  if (op->region_count || op->result_count != 1) return NULL;
  for (size_t i = 0; i < sizeof free_ops / sizeof *free_ops; i++)
    if (hr_str_is(short_name(op), free_ops[i])) return NULL;
  for (int k = 0; k < op->operand_count; k++) {
    const mlir_quant_t *q = import_quant_of(op->operands[k]->type);
    mlir_quant_t moved;
    if (!q || !result) continue;
    moved = *q;
    bool is_moved = rule->per_axis && (q->axis < 0) == (result->axis < 0);
    if (is_moved) moved.axis = result->axis;
    if (is_moved && !k && q->axis >= 0) HR_TRY(check_moved_axis(scope, op, q->axis, result->axis));
    if (!same_baseline(&moved, result) || !same_parameters(q, result))
      return import_error(scope, op, "operand %d and the result differ in quantised type (%.*s C1)",
                          k, NAME(op));
  }
  return NULL;
}

/* --- reductions --- */

/* A value of the region has the expressed type of one outside and no narrower storage. */
static hr_status_t check_promoted(import_scope_t *scope, const mlir_op_t *op,
                                  const mlir_type_t *from, const mlir_type_t *to,
                                  const char *what) {
  const mlir_quant_t *a = import_quant_of(from), *b = import_quant_of(to);
  if (!a != !b)
    return import_error(scope, op, "%s and what the region takes for it: only one is quantised",
                        what);
  if (!a) return NULL;
  if (!mlir_type_equal(a->expressed, b->expressed))
    return import_error(scope, op, "%s and the region differ in their expressed types (%.*s)", what,
                        NAME(op));
  if (a->storage->width > b->storage->width)
    return import_error(scope, op, "the region stores %d bits of %d of %s (%.*s)",
                        b->storage->width, a->storage->width, what, NAME(op));
  return NULL;
}

/* Arguments and results of the region that reduces: two arguments and a result for each result of
 * the op, whose inputs come first; initial values come next, or, of one window, last. */
static hr_status_t check_reducer(import_scope_t *scope, const mlir_op_t *op) {
  const mlir_region_t *region = op->region_count ? op->regions[op->region_count - 1] : NULL;
  int count = op->result_count;
  if (!region || !region->blocks.count || op->operand_count < count) return NULL;
  const mlir_block_t *block = region->blocks.data[0];
  const mlir_op_t *end = block->ops.count ? block->ops.data[block->ops.count - 1] : NULL;
  bool has_initial =
      op->operand_count == 2 * count || hr_str_is(short_name(op), "select_and_scatter");
  if (!end || end->operand_count != count || block->arg_count != 2 * count) return NULL;
  for (int i = 0; i < count; i++) {
    const mlir_type_t *in = op->operands[i]->type;
    const mlir_type_t *initial = op->operands[op->operand_count - count + i]->type;
    HR_TRY(check_promoted(scope, op, in, block->args[count + i].type, "an input"));
    if (has_initial)
      HR_TRY(check_promoted(scope, op, initial, end->operands[i]->type, "an initial value"));
  }
  return NULL;
}

/* --- contractions: dot_general C14-C20, convolution C28-C34 --- */

static bool has_zero_points(const mlir_quant_t *q) {
  for (int i = 0; i < q->scale_count; i++)
    if (q->zero_points[i]) return true;
  return false;
}

/* True if a dot contracts this dimension of its right operand. Such an axis cannot have several
 * scales, which could not be factored out of the sum. */
static bool is_contracted(const mlir_op_t *op, int64_t axis) {
  const mlir_attr_t *dims =
      mlir_attr_field(mlir_op_attr(op, "dot_dimension_numbers"), "rhs_contracting_dimensions");
  for (int64_t i = 0; dims && i < dims->element_count && dims->data; i++)
    if (((const int64_t *)dims->data)[dims->splat ? 0 : i] == axis) return true;
  return false;
}

/* Right operand of a dot, kernel of a convolution: no zero points (dot), scales along a free
 * dimension. */
static hr_status_t check_weights(import_scope_t *scope, const mlir_op_t *op, bool is_dot,
                                 const mlir_quant_t *rhs) {
  int64_t wanted = import_field_int(op, "dimension_numbers", "kernel_output_feature_dimension");
  if (is_dot && has_zero_points(rhs))
    return import_error(scope, op, "zero points of the right side (dot_general C15)");
  if (is_dot && rhs->axis >= 0 && is_contracted(op, rhs->axis))
    return import_error(
        scope, op, "the right side is quantised along a contracted dimension (dot_general C16)");
  if (!is_dot && rhs->axis >= 0 && rhs->axis != wanted)
    return import_error(scope, op,
                        "the kernel is quantised along dimension %ld, want %ld (convolution C29)",
                        (long)rhs->axis, (long)wanted);
  return NULL;
}

/* Storage, expressed types and axes of a fully quantised product. */
static hr_status_t check_full(import_scope_t *scope, const mlir_op_t *op, bool is_dot,
                              const mlir_quant_t *lhs, const mlir_quant_t *rhs,
                              const mlir_quant_t *result) {
  int64_t wanted = import_field_int(op, "dimension_numbers", "output_feature_dimension");
  if (lhs->axis >= 0)
    return import_error(scope, op, "the left side has scales along an axis (%.*s I1)", NAME(op));
  if (!mlir_type_equal(lhs->storage, rhs->storage))
    return import_error(scope, op, "sides of different storage types (%s)",
                        is_dot ? "dot_general C17" : "convolution C31");
  if (!mlir_type_equal(lhs->expressed, rhs->expressed) ||
      !mlir_type_equal(lhs->expressed, result->expressed))
    return import_error(scope, op, "different expressed types (%s)",
                        is_dot ? "dot_general C18" : "convolution C32");
  if (rhs->axis < 0 && result->axis >= 0)
    return import_error(scope, op, "only the result has scales along an axis (%s)",
                        is_dot ? "dot_general C19" : "convolution C33");
  if (!is_dot && result->axis >= 0 && result->axis != wanted)
    return import_error(scope, op,
                        "the result is quantised along dimension %ld, want %ld (convolution C30)",
                        (long)result->axis, (long)wanted);
  return NULL;
}

/* stablehlo.dot, which is older than quantised types, has no rules but one expressed type. */
static hr_status_t check_old_dot(import_scope_t *scope, const mlir_op_t *op) {
  if (op->result_count != 1) return import_error(scope, op, "%d results, want 1", op->result_count);
  const mlir_type_t *types[] = {op->operands[0]->type, op->operands[1]->type, op->results[0].type};
  for (int i = 0; i < 3; i++) {
    const mlir_quant_t *q = import_quant_of(types[i]);
    if (types[i]->kind != MLIR_TYPE_TENSOR) return import_error(scope, op, "want tensors");
    types[i] = q ? q->expressed : types[i]->element;
    if (!mlir_type_equal(types[0], types[i]))
      return import_error(scope, op, "different expressed types");
  }
  return NULL;
}

/* Left operand and result are both quantised or both floats; the right operand is always
 * quantised. */
static hr_status_t check_contract(import_scope_t *scope, const mlir_op_t *op) {
  const mlir_type_t *lhs_type = op->operands[0]->type;
  const mlir_type_t *result_type = op->results[0].type;
  const mlir_quant_t *lhs = import_quant_of(lhs_type);
  const mlir_quant_t *rhs = import_quant_of(op->operands[1]->type);
  const mlir_quant_t *result = import_quant_of(result_type);
  bool is_dot = !mlir_op_attr(op, "dimension_numbers");
  if (op->result_count != 1 || !rhs || !lhs != !result)
    return import_error(scope, op, "only some of its tensors are quantised (%s)",
                        is_dot ? "dot_general C14" : "convolution C28");
  if (lhs_type->kind != MLIR_TYPE_TENSOR || result_type->kind != MLIR_TYPE_TENSOR)
    return import_error(scope, op, "want tensors (%.*s I1)", NAME(op));
  HR_TRY(check_weights(scope, op, is_dot, rhs));
  if (lhs) return check_full(scope, op, is_dot, lhs, rhs, result);
  if (!mlir_type_equal(lhs_type->element, rhs->expressed) ||
      !mlir_type_equal(result_type->element, rhs->expressed))
    return import_error(scope, op, "different expressed types (%s)",
                        is_dot ? "dot_general C20" : "convolution C34");
  return NULL;
}

/* The operand has the expressed type or is quantised. */
static hr_status_t check_quantize(import_scope_t *scope, const mlir_op_t *op) {
  const mlir_type_t *types[2] = {op->operands[0]->type,
                                 op->result_count == 1 ? op->results[0].type : NULL};
  for (int i = 0; i < 2; i++) {
    const mlir_quant_t *q = types[i] ? import_quant_of(types[i]) : NULL;
    if (!types[i] || types[i]->kind != MLIR_TYPE_TENSOR)
      return import_error(scope, op, "want tensors (%.*s I1)", NAME(op));
    types[i] = q ? q->expressed : types[i]->element;
  }
  const hlo_shape_t *to;
  HR_TRY(import_result_shape(scope, op, 0, &to));
  if (!hlo_shape_same_dims(import_operand(op, 0)->shape, to))
    return import_error(scope, op, "operand and result differ in sizes (%.*s C1)", NAME(op));
  return mlir_type_equal(types[0], types[1])
             ? NULL
             : import_error(scope, op, "different expressed types (%.*s C2)", NAME(op));
}

/* Checks the rules by op name; ops without a row refuse quantised operands. */
hr_status_t import_verify_quantised(import_scope_t *scope, const mlir_op_t *op,
                                    const import_quant_rule_t *rule) {
  for (int k = 0; k < op->operand_count; k++)
    HR_TRY(check_type(scope, op, op->operands[k]->type, rule));
  for (int i = 0; i < op->result_count; i++)
    HR_TRY(check_type(scope, op, op->results[i].type, rule));
  switch (rule->class_) {
    case QUANT_DEQUANTIZE:
      return check_dequantize(scope, op);
    case QUANT_CONTRACT:
      return hr_str_is(op->name, "stablehlo.dot") ? check_old_dot(scope, op)
                                                  : check_contract(scope, op);
    case QUANT_QUANTIZE:
      return check_quantize(scope, op);
    default:
      HR_TRY(check_reducer(scope, op));
      return check_move(scope, op, rule);
  }
}
