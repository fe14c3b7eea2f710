/* Quantised values are arrays of their storage type: scale and zero point exist in types only,
 * with value = (stored - zero_point) * scale. Ops on them are expanded by their class (quant.def):
 *   move        the op on stored values, which it only moves
 *   dequantize  operands to the expressed type, the op, result to stored values
 *   contract    products and sums of (stored - zero_point) in integers, which is exact; then
 *   scales
 * Stored values are round(clamp(x / scale + zero_point)), to nearest even. After the importer
 * there are no quantised types. Source: StableHLO spec, "Quantization". */
#include "stablehlo/import/import_quant.h"

#include <string.h>

#define TENSOR false
#define AXIS true
static const import_quant_rule_t rules[] = {
#define QUANT(name, class_, scales) {name, QUANT_##class_, scales},
#include "stablehlo/import/quant.def"
#undef QUANT
};

/* Parameters of a quantized type or of a tensor of one; NULL: the type is not quantized. */
const mlir_quant_t *import_quant_of(const mlir_type_t *type) {
  if (type->element && type->kind == MLIR_TYPE_TENSOR) type = type->element;
  return type->kind == MLIR_TYPE_QUANT ? type->quant : NULL;
}

/* True if an operand or a result has a quantised type. */
bool import_is_quantised(const mlir_op_t *op) {
  for (int k = 0; k < op->operand_count; k++)
    if (import_quant_of(op->operands[k]->type)) return true;
  for (int i = 0; i < op->result_count; i++)
    if (import_quant_of(op->results[i].type)) return true;
  return false;
}

/* --- representations --- */

/* Index of the block-wise quantisation scale for the element at `place`. The list of scales has a
 * level for each dimension; a dimension without blocks has one entry. */
static int64_t scale_index(const mlir_quant_t *quant, const int64_t *place) {
  int64_t index = 0;
  for (int d = 0; d < quant->scale_rank; d++) {
    int64_t block = 0;
    for (int i = 0; i < quant->block_count; i++)
      if (quant->block_axes[i] == d) block = quant->block_sizes[i];
    index = index * quant->scale_dims[d] + (block ? place[d] / block : 0);
  }
  return index;
}

typedef double (*parameter_fn)(const mlir_quant_t *quant, int64_t index);
static double scale_at(const mlir_quant_t *quant, int64_t index) { return quant->scales[index]; }
/* A zero point as a float, since the formulas compute in a float type. */
static double zero_at(const mlir_quant_t *quant, int64_t index) {
  return (double)quant->zero_points[index];
}

/* A parameter (scale or zero point) for each element of a block-wise quantised static array,
 * f64. */
static hlo_instr_t *blocks_of(import_scope_t *scope, const mlir_quant_t *quant,
                              const hlo_shape_t *shape, parameter_fn parameter) {
  hlo_builder_t *b = &scope->builder;
  hlo_value_t *value;
  int64_t place[HLO_MAX_RANK] = {0};
  if (!b->status) b->status = hlo_value_array(HR_F64, shape->rank, shape->dims, &value);
  if (b->status) return NULL;
  for (int64_t i = 0; i < value->count; i++) {
    ((double *)value->data)[i] = parameter(quant, scale_index(quant, place));
    for (int d = shape->rank - 1; d >= 0 && ++place[d] == shape->dims[d]; d--) place[d] = 0;
  }
  return hlo_build_constant(b, value);
}

/* A parameter of x's quantisation in x's shape and type: a number, a list along the axis, or an
 * array. */
static hlo_instr_t *parameter_like(import_scope_t *scope, const mlir_quant_t *quant, hlo_instr_t *x,
                                   parameter_fn parameter) {
  hlo_builder_t *b = &scope->builder;
  hlo_value_t *value;
  int64_t count = quant->scale_count;
  if (!x) return NULL;
  if (quant->block_count)
    return hlo_build_convert(b, blocks_of(scope, quant, x->shape, parameter), x->shape->dtype);
  if (quant->axis < 0) return hlo_build_number_like(b, parameter(quant, 0), x);
  if (!b->status) b->status = hlo_value_array(HR_F64, 1, &count, &value);
  if (b->status) return NULL;
  for (int64_t i = 0; i < count; i++) ((double *)value->data)[i] = parameter(quant, i);
  hlo_instr_t *list = hlo_build_convert(b, hlo_build_constant(b, value), x->shape->dtype);
  return hlo_build_broadcast_like(b, list, x, (hr_ints_t){&quant->axis, 1});
}

/* True if any zero point is not 0; otherwise the formulas omit zero points. */
static bool has_zero_points(const mlir_quant_t *quant) {
  for (int i = 0; i < quant->scale_count; i++)
    if (quant->zero_points[i]) return true;
  return false;
}

/* Stored values minus zero points in the type `wide`, where nothing overflows. */
static hlo_instr_t *centred(import_scope_t *scope, hlo_instr_t *x, const mlir_quant_t *quant,
                            hr_dtype_t wide) {
  hlo_builder_t *b = &scope->builder;
  hlo_instr_t *y = hlo_build_convert(b, x, wide);
  return has_zero_points(quant)
             ? hlo_build_binary(b, HLO_SUBTRACT, y, parameter_like(scope, quant, y, zero_at))
             : y;
}

/* Differences of stored values of up to 16 bits fit into 32. */
static hr_dtype_t wide_dtype(const mlir_quant_t *quant) {
  return quant->storage->width > 16 ? HR_S64 : HR_S32;
}

/* (x - zero point) * scale */
static hr_status_t dequantize(import_scope_t *scope, hlo_instr_t *x, const mlir_quant_t *quant,
                              hlo_instr_t **out_x) {
  hlo_builder_t *b = &scope->builder;
  hr_dtype_t expressed;
  HR_TRY(import_dtype(scope->importer, quant->expressed, &expressed));
  hlo_instr_t *y = hlo_build_convert(b, centred(scope, x, quant, wide_dtype(quant)), expressed);
  *out_x = hlo_build_binary(b, HLO_MULTIPLY, y, parameter_like(scope, quant, y, scale_at));
  return NULL;
}

/* round(clamp(x / scale + zero point)) */
static hr_status_t quantize(import_scope_t *scope, hlo_instr_t *x, const mlir_quant_t *quant,
                            hlo_instr_t **out_x) {
  hlo_builder_t *b = &scope->builder;
  hr_dtype_t storage;
  HR_TRY(import_dtype(scope->importer, quant->storage, &storage));
  if (!x) return NULL;
  hr_dtype_t expressed = x->shape->dtype;
  hlo_instr_t *y = hlo_build_binary(b, HLO_DIVIDE, x, parameter_like(scope, quant, x, scale_at));
  if (has_zero_points(quant))
    y = hlo_build_binary(b, HLO_ADD, y, parameter_like(scope, quant, x, zero_at));
  hlo_instr_t *bounded[] = {hlo_build_number(b, (double)quant->min, expressed), y,
                            hlo_build_number(b, (double)quant->max, expressed)};
  y = hlo_build(b, HLO_CLAMP, NULL, 3, bounded, 0, NULL, 0, NULL);
  *out_x = hlo_build_convert(b, hlo_build_unary(b, HLO_ROUND_NEAREST_EVEN, y), storage);
  return NULL;
}

/* --- shadows: copies of ops on plain numbers --- */

/* A tensor type with another element type; a non-tensor type is replaced. */
static hr_status_t retyped(import_scope_t *scope, const mlir_type_t *type,
                           const mlir_type_t *element, const mlir_type_t **out_type) {
  mlir_type_t *copy;
  *out_type = element;
  if (type->kind != MLIR_TYPE_TENSOR) return NULL;
  HR_TRY(HR_NEW(scope->importer->arena, &copy));
  *copy = *type;
  copy->element = element;
  *out_type = copy;
  return NULL;
}

/* A copy of the op with its own operands and results, so that import functions read their types
 * and set the results without changes to the tree. */
static hr_status_t shadow_of(import_scope_t *scope, const mlir_op_t *op, mlir_op_t **out_shadow) {
  mlir_value_t *values;
  mlir_op_t *shadow;
  HR_TRY(HR_NEW(scope->importer->arena, &shadow));
  *shadow = *op;
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, op->operand_count, &values));
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, op->operand_count, &shadow->operands));
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, op->result_count, &shadow->results));
  for (int k = 0; k < op->operand_count; k++) {
    values[k] = *op->operands[k];
    shadow->operands[k] = &values[k];
  }
  for (int i = 0; i < op->result_count; i++) shadow->results[i] = op->results[i];
  *out_shadow = shadow;
  return NULL;
}

/* Imports a shadow of the op on dequantised operands with expressed types, and quantises its
 * results. */
static hr_status_t import_dequantized(import_scope_t *scope, mlir_op_t *op,
                                      const import_row_t *row) {
  mlir_op_t *shadow;
  HR_TRY(shadow_of(scope, op, &shadow));
  for (int k = 0; k < op->operand_count; k++) {
    const mlir_quant_t *quant = import_quant_of(op->operands[k]->type);
    hlo_instr_t *x;
    if (!quant) continue;
    HR_TRY(dequantize(scope, import_operand(op, k), quant, &x));
    HR_TRY(retyped(scope, op->operands[k]->type, quant->expressed, &shadow->operands[k]->type));
    shadow->operands[k]->mapped = x;
  }
  for (int i = 0; i < op->result_count; i++) {
    const mlir_quant_t *quant = import_quant_of(op->results[i].type);
    if (quant)
      HR_TRY(retyped(scope, op->results[i].type, quant->expressed, &shadow->results[i].type));
  }
  HR_TRY(hlo_builder_finish(&scope->builder));
  HR_TRY(row->import(scope, shadow, row));
  for (int i = 0; i < op->result_count; i++) {
    const mlir_quant_t *quant = import_quant_of(op->results[i].type);
    hlo_instr_t *x = shadow->results[i].mapped;
    if (quant) HR_TRY(quantize(scope, x, quant, &x));
    op->results[i].mapped = x;
  }
  return hlo_builder_finish(&scope->builder);
}

/* --- contractions --- */

/* The product of the operands' scales: one number, or one for each index along `axis` of the
 * result. */
static hr_status_t joint_scales(import_scope_t *scope, const mlir_quant_t *lhs,
                                const mlir_quant_t *rhs, int64_t axis, mlir_quant_t *out_joint) {
  double *scales;
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, rhs->scale_count, &scales));
  for (int i = 0; i < rhs->scale_count; i++) scales[i] = lhs->scales[0] * rhs->scales[i];
  *out_joint = *rhs;
  out_joint->scales = scales;
  out_joint->axis = rhs->axis < 0 ? -1 : axis;
  return NULL;
}

/* Sums of products of zero-point-free integers in 32 or 64 bits are exact; scales and rounding
 * come afterwards. */
static hr_status_t import_contracted(import_scope_t *scope, mlir_op_t *op,
                                     const import_row_t *row) {
  const mlir_quant_t *result = import_quant_of(op->results[0].type);
  const mlir_quant_t *sides[2];
  mlir_op_t *shadow;
  mlir_type_t *integer;
  mlir_quant_t joint;
  hr_dtype_t expressed;
  hlo_builder_t *b = &scope->builder;
  HR_TRY(shadow_of(scope, op, &shadow));
  HR_TRY(HR_NEW(scope->importer->arena, &integer));
  for (int k = 0; k < 2; k++) sides[k] = import_quant_of(op->operands[k]->type);
  hr_dtype_t wide = sides[0]->storage->width > 8 || sides[1]->storage->width > 8 ? HR_S64 : HR_S32;
  *integer = (mlir_type_t){.kind = MLIR_TYPE_INTEGER, .width = wide == HR_S64 ? 64 : 32};
  for (int k = 0; k < 2; k++) {
    shadow->operands[k]->mapped = centred(scope, import_operand(op, k), sides[k], wide);
    HR_TRY(retyped(scope, op->operands[k]->type, integer, &shadow->operands[k]->type));
  }
  HR_TRY(retyped(scope, op->results[0].type, integer, &shadow->results[0].type));
  HR_TRY(hlo_builder_finish(b));
  HR_TRY(row->import(scope, shadow, row));
  HR_TRY(import_dtype(scope->importer, result->expressed, &expressed));
  HR_TRY(joint_scales(scope, sides[0], sides[1], result->axis, &joint));
  hlo_instr_t *sum = hlo_build_convert(b, shadow->results[0].mapped, expressed);
  hlo_instr_t *x;
  sum = hlo_build_binary(b, HLO_MULTIPLY, sum, parameter_like(scope, &joint, sum, scale_at));
  HR_TRY(quantize(scope, sum, result, &x));
  return import_set_results(scope, op, x);
}

/* --- entry points --- */

/* The rule of an op on quantised values; NULL: none. */
static const import_quant_rule_t *find_rule(hr_str_t name) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (hr_str_is(name, rules[i].name)) return &rules[i];
  return NULL;
}

/* Quantises floats, or requantises another quantised type by way of floats. */
hr_status_t import_uniform_quantize(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  const mlir_quant_t *from = import_quant_of(op->operands[0]->type);
  const mlir_quant_t *to = import_quant_of(op->results[0].type);
  hlo_instr_t *x = import_operand(op, 0);
  if (!to) return import_error(scope, op, "the result is not quantised (uniform_quantize O1)");
  if (from) HR_TRY(dequantize(scope, x, from, &x));
  HR_TRY(quantize(scope, x, to, &x));
  return import_set_results(scope, op, x);
}

/* Dequantises to the expressed type. */
hr_status_t import_uniform_dequantize(import_scope_t *scope, mlir_op_t *op,
                                      const import_row_t *row) {
  (void)row;
  const mlir_quant_t *from = import_quant_of(op->operands[0]->type);
  hlo_instr_t *x;
  if (!from) return import_error(scope, op, "the operand is not quantised (uniform_dequantize I1)");
  HR_TRY(dequantize(scope, import_operand(op, 0), from, &x));
  return import_set_results(scope, op, x);
}

/* True if sums of products of stored values can be scaled afterwards: all tensors are quantised,
 * none by blocks, and a sum has one scale on each side. Verification has seen to the rest, except
 * for stablehlo.dot, which contracts dimension 0 of its right side. */
static bool is_integer_product(const mlir_op_t *op) {
  const mlir_quant_t *all[] = {import_quant_of(op->operands[0]->type),
                               import_quant_of(op->operands[1]->type),
                               import_quant_of(op->results[0].type)};
  for (int i = 0; i < 3; i++)
    if (!all[i] || all[i]->block_count) return false;
  bool is_dot = hr_str_is(op->name, "stablehlo.dot");
  return !is_dot ||
         (all[0]->axis < 0 && all[1]->axis != 0 && (all[1]->axis < 0) == (all[2]->axis < 0));
}

/* Imports by the rule of the op's name; an op without a rule refuses quantised values. A
 * contraction of floats and quantised weights is dequantised. */
hr_status_t import_quantised(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  const import_quant_rule_t *rule = find_rule(op->name);
  if (!rule) return import_error(scope, op, "it takes no quantised values");
  HR_TRY(import_verify_quantised(scope, op, rule));
  switch (rule->class_) {
    case QUANT_DEQUANTIZE:
      return import_dequantized(scope, op, row);
    case QUANT_CONTRACT:
      return is_integer_product(op) ? import_contracted(scope, op, row)
                                    : import_dequantized(scope, op, row);
    default:
      return row->import(scope, op, row);
  }
}
