/* Constraints of leaves, conversions, and ops whose result shape the program declares: inference
 * returns the declared shape for them, so all constraints between it and the operands are here. */
#include "ops/rules/constraint.h"

/* O1: these ops give arrays. */
static hr_status_t want_array_result(const hlo_instr_t *instr) {
  OP_WANT(instr, hlo_shape_is_array(instr->shape), "O1", "declared as %s, want an array",
          OP_TEXT(instr->shape));
  return NULL;
}

/* The declared element type is `dtype`. */
static hr_status_t want_result_type(const hlo_instr_t *instr, const char *rule, hr_dtype_t dtype) {
  HR_TRY(want_array_result(instr));
  OP_WANT(instr, instr->shape->dtype == dtype, rule, "declared as %s, want elements of type %s",
          OP_TEXT(instr->shape), hr_dtype_name(dtype));
  return NULL;
}

/* The result has the sizes of an operand, of whatever type. */
static hr_status_t want_same_sizes(const hlo_instr_t *instr, const char *rule, int operand) {
  OP_WANT(instr, hlo_shape_same_dims(instr->shape, op_operand_shape(instr, operand)), rule,
          "declared as %s, want the sizes of operand %d, %s", OP_TEXT(instr->shape), operand,
          OP_TEXT(op_operand_shape(instr, operand)));
  return NULL;
}

/* The reader enters parameters by number; replication has one value per leaf. */
hr_status_t verify_parameter(const hlo_instr_t *instr) {
  int64_t number = hlo_parameter_number(instr);
  const hlo_computation_t *parent = instr->parent;
  OP_WANT(
      instr,
      number >= 0 && (size_t)number < parent->params.count && parent->params.data[number] == instr,
      NULL, "number %ld is not entered in %%%.*s", (long)number, HR_STR_ARGS(parent->name));
  if (instr->extra && instr->extra->replication_count) {
    int leaves = hlo_shape_leaf_count(instr->shape);
    OP_WANT(instr, instr->extra->replication_count == leaves, NULL,
            "parameter_replication lists %d values, want %d, one for each array",
            instr->extra->replication_count, leaves);
  }
  return NULL;
}

/* Values that were elided in the program's text are left to the planner: such a program can still
 * be converted. */
hr_status_t verify_constant(const hlo_instr_t *instr) {
  OP_WANT(instr, !instr->literal || hlo_value_fits(instr->literal, instr->shape), "C1",
          "the literal does not have the declared shape %s", OP_TEXT(instr->shape));
  return NULL;
}

/* The dimension exists and the elements are numbers; values that do not fit wrap. */
hr_status_t verify_iota(const hlo_instr_t *instr) {
  int64_t dimension = hlo_attr_int(instr, HLO_ATTR_IOTA_DIMENSION);
  HR_TRY(want_array_result(instr));
  OP_WANT(instr, instr->shape->dtype != HR_PRED, "O1", "declared as %s, want an array of numbers",
          OP_TEXT(instr->shape));
  OP_WANT(instr, dimension >= 0 && dimension < instr->shape->rank, "C1",
          "iota_dimension %ld, want a value from 0 to below %d", (long)dimension,
          instr->shape->rank);
  return NULL;
}

/* ---- reinterpretations ---- */

/* Layouts may pack elements narrower than a byte or not; sizes may agree in either way. */
static hr_status_t want_equal_bytes(const hlo_instr_t *instr, const hlo_shape_t *from,
                                    const hlo_shape_t *to) {
  size_t from_bytes, to_bytes;
  if (hlo_shape_is_dynamic(from) || hlo_shape_is_dynamic(to)) return NULL;
  HR_TRY(hlo_shape_bytes(from, &from_bytes));
  HR_TRY(hlo_shape_bytes(to, &to_bytes));
  __int128 from_bits =
      (__int128)(from_bytes / hr_dtype_bytes(from->dtype)) * op_bits_beside(from->dtype, to->dtype);
  __int128 to_bits =
      (__int128)(to_bytes / hr_dtype_bytes(to->dtype)) * op_bits_beside(to->dtype, from->dtype);
  OP_WANT(instr, from_bytes == to_bytes || from_bits == to_bits, NULL,
          "declared as %s, want as many bytes as %s", OP_TEXT(to), OP_TEXT(from));
  return NULL;
}

/* The same bytes with another shape: equal sizes in bytes, whatever the layouts. */
hr_status_t verify_bitcast(const hlo_instr_t *instr) {
  const hlo_shape_t *from = op_operand_shape(instr, 0), *to = instr->shape;
  if (!hlo_shape_is_array(from) || !hlo_shape_is_array(to)) {
    OP_WANT(instr, hlo_shape_compatible(from, to), NULL, "declared as %s, want %s", OP_TEXT(to),
            OP_TEXT(from));
    return NULL;
  }
  return want_equal_bytes(instr, from, to);
}

/* The narrower side has one more dimension, the last, whose size is the ratio of the widths. */
static bool narrows_to(const hlo_shape_t *wide, const hlo_shape_t *narrow, int wide_bits,
                       int narrow_bits) {
  if (narrow->rank != wide->rank + 1) return false;
  for (int d = 0; d < wide->rank; d++)
    if (!op_dims_agree(wide, d, narrow, d)) return false;
  return op_is_dynamic(narrow, wide->rank) ||
         (narrow->dims[wide->rank] <= 128 && narrow->dims[wide->rank] * narrow_bits == wide_bits);
}

/* C1: between types of different widths the last dimension is added or removed; its size is the
 * ratio. */
hr_status_t verify_bitcast_convert(const hlo_instr_t *instr) {
  const hlo_shape_t *from = op_operand_shape(instr, 0), *to = instr->shape;
  HR_TRY(op_want_array(instr, from, 0, "I1"));
  HR_TRY(want_array_result(instr));
  OP_WANT(instr, hr_dtype_is_complex(from->dtype) == hr_dtype_is_complex(to->dtype), "C2",
          "from %s to %s, want both complex or none", OP_TEXT(from), OP_TEXT(to));
  int from_bits = op_bits_beside(from->dtype, to->dtype),
      to_bits = op_bits_beside(to->dtype, from->dtype);
  bool fits = from_bits == to_bits  ? hlo_shape_same_dims(from, to)
              : from_bits > to_bits ? narrows_to(from, to, from_bits, to_bits)
                                    : narrows_to(to, from, to_bits, from_bits);
  OP_WANT(instr, fits, "C1", "declared as %s, which does not hold the bits of %s; want %s",
          OP_TEXT(to), OP_TEXT(from),
          from_bits == to_bits  ? "equal sizes"
          : from_bits > to_bits ? "one more dimension for the parts of an element"
                                : "one dimension less, whose elements become one");
  return NULL;
}

/* Between any two types; only the sizes must agree. */
hr_status_t verify_convert(const hlo_instr_t *instr) {
  HR_TRY(op_want_array(instr, op_operand_shape(instr, 0), 0, "I1"));
  HR_TRY(want_array_result(instr));
  return want_same_sizes(instr, "C1", 0);
}

/* XLA's op: one unsigned random number for each float, of the same width. */
hr_status_t verify_stochastic_convert(const hlo_instr_t *instr) {
  const hlo_shape_t *value = op_operand_shape(instr, 0), *random = op_operand_shape(instr, 1);
  HR_TRY(op_want_array(instr, value, 0, NULL));
  HR_TRY(op_want_array(instr, random, 1, NULL));
  HR_TRY(want_array_result(instr));
  HR_TRY(want_same_sizes(instr, NULL, 0));
  HR_TRY(want_same_sizes(instr, NULL, 1));
  OP_WANT(instr, hr_dtype_is_float(value->dtype), NULL, "operand 0 is %s, want floats",
          OP_TEXT(value));
  OP_WANT(instr,
          hr_dtype_class(random->dtype) == HR_CLASS_UNSIGNED &&
              hr_dtype_table[random->dtype].bits == hr_dtype_table[value->dtype].bits,
          NULL, "operand 1 is %s, want unsigned integers as wide as %s", OP_TEXT(random),
          hr_dtype_name(value->dtype));
  return NULL;
}

/* At least one exponent bit; a mantissa may have none. */
hr_status_t verify_reduce_precision(const hlo_instr_t *instr) {
  int64_t exponent = hlo_attr_int(instr, HLO_ATTR_EXPONENT_BITS),
          mantissa = hlo_attr_int(instr, HLO_ATTR_MANTISSA_BITS);
  const hlo_shape_t *shape = op_operand_shape(instr, 0);
  OP_WANT(instr, hr_dtype_is_float(shape->dtype), "I1", "operand 0 is %s, want floats",
          OP_TEXT(shape));
  OP_WANT(instr, exponent >= 1, "C2", "exponent_bits %ld, want at least 1", (long)exponent);
  OP_WANT(instr, mantissa >= 0, "C3", "mantissa_bits %ld, want at least 0", (long)mantissa);
  return NULL;
}

hr_status_t verify_add_dependency(const hlo_instr_t *instr) {
  return op_want_token(instr, op_operand_shape(instr, 1), 1, NULL);
}

/* ---- shape changes ---- */

/* C2, if both shapes are static: dynamic shapes are compared at run time. */
static hr_status_t want_equal_counts(const hlo_instr_t *instr) {
  const hlo_shape_t *from = op_operand_shape(instr, 0), *to = instr->shape;
  int64_t from_count, to_count;
  if (hlo_shape_is_dynamic(from) || hlo_shape_is_dynamic(to)) return NULL;
  HR_TRY(hlo_shape_count(from, &from_count));
  HR_TRY(hlo_shape_count(to, &to_count));
  OP_WANT(instr, from_count == to_count, "C2",
          "declared as %s, of %ld elements, want the %ld of %s", OP_TEXT(to), (long)to_count,
          (long)from_count, OP_TEXT(from));
  return NULL;
}

/* The same elements in row-major order. */
hr_status_t verify_reshape(const hlo_instr_t *instr) {
  HR_TRY(op_want_array(instr, op_operand_shape(instr, 0), 0, "I1"));
  HR_TRY(want_result_type(instr, "C1", op_operand_shape(instr, 0)->dtype));
  return want_equal_counts(instr);
}

/* Sizes are scalars (XLA) or one vector (StableHLO), one for each dimension of the result. */
hr_status_t verify_dynamic_reshape(const hlo_instr_t *instr) {
  int count = instr->operand_count - 1;
  HR_TRY(op_want_array(instr, op_operand_shape(instr, 0), 0, "I1"));
  HR_TRY(want_result_type(instr, "C1", op_operand_shape(instr, 0)->dtype));
  const hlo_shape_t *first = count ? op_operand_shape(instr, 1) : NULL;
  if (count == 1 && hlo_shape_is_array(first) && first->rank == 1) {
    OP_WANT(instr,
            hr_dtype_is_integer(first->dtype) &&
                (first->dims[0] == instr->shape->rank || first->dynamic),
            "C4", "the sizes are %s, want %d integers", OP_TEXT(first), instr->shape->rank);
    return want_equal_counts(instr);
  }
  OP_WANT(instr, count == instr->shape->rank, "C4", "%d sizes, want %d", count, instr->shape->rank);
  for (int k = 1; k < instr->operand_count; k++)
    HR_TRY(op_want_integer_scalar(instr, op_operand_shape(instr, k), "a size", "I2"));
  return want_equal_counts(instr);
}

/* Each operand dimension maps to a result dimension of equal size, or has size 1 and is
 * repeated. */
hr_status_t verify_broadcast(const hlo_instr_t *instr) {
  const hlo_shape_t *from = op_operand_shape(instr, 0), *to = instr->shape;
  hr_ints_t dimensions = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  uint64_t seen = 0;
  HR_TRY(op_want_array(instr, from, 0, "I1"));
  HR_TRY(want_result_type(instr, "C1", from->dtype));
  OP_WANT(instr, dimensions.count == from->rank, "C2",
          "dimensions lists %ld dimensions, want %d, the operand's rank", (long)dimensions.count,
          from->rank);
  HR_TRY(op_check_range(instr, "C3", "dimensions", dimensions, to->rank));
  HR_TRY(op_check_unique(instr, "C4", "dimensions", dimensions, &seen));
  for (int d = 0; d < from->rank; d++)
    OP_WANT(instr, from->dims[d] == 1 || op_dims_agree(from, d, to, dimensions.data[d]), "C5",
            "dimension %d of %s becomes dimension %ld of %s, want equal sizes", d, OP_TEXT(from),
            (long)dimensions.data[d], OP_TEXT(to));
  return NULL;
}

/* Dimensions are a set of dimensions of the operand. */
hr_status_t verify_reverse(const hlo_instr_t *instr) {
  hr_ints_t dimensions = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  uint64_t seen = 0;
  HR_TRY(op_check_range(instr, "C3", "dimensions", dimensions, instr->shape->rank));
  return op_check_unique(instr, "C2", "dimensions", dimensions, &seen);
}
