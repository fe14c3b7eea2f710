/* Constraints on the element types of elementwise ops. Inference has checked that operands have
 * equal types, so only operand 0 is read. The kinds are those of op_kind(): quantized types, tokens
 * and tuples belong to none of them. */
#include "ops/rules/constraint.h"

hr_status_t verify_none(const hlo_instr_t *instr) {
  (void)instr;
  return NULL;
}

static hr_status_t want_kinds(const hlo_instr_t *instr, uint32_t kinds, const char *words) {
  const hlo_shape_t *shape = op_operand_shape(instr, 0);
  OP_WANT(instr, hlo_shape_is_array(shape) && (kinds >> op_kind(shape->dtype) & 1), "I1",
          "operand 0 is %s, want %s", OP_TEXT(shape), words);
  return NULL;
}

hr_status_t verify_any_array(const hlo_instr_t *instr) {
  return want_kinds(
      instr,
      1u << OP_KIND_PRED | 1u << OP_KIND_INTEGER | 1u << OP_KIND_FLOAT | 1u << OP_KIND_COMPLEX,
      "an array");
}

hr_status_t verify_numeric(const hlo_instr_t *instr) {
  return want_kinds(instr, 1u << OP_KIND_INTEGER | 1u << OP_KIND_FLOAT | 1u << OP_KIND_COMPLEX,
                    "an array of numbers");
}

hr_status_t verify_float_or_complex(const hlo_instr_t *instr) {
  return want_kinds(instr, 1u << OP_KIND_FLOAT | 1u << OP_KIND_COMPLEX,
                    "an array of floats or complex numbers");
}

hr_status_t verify_float(const hlo_instr_t *instr) {
  return want_kinds(instr, 1u << OP_KIND_FLOAT, "an array of floats");
}

hr_status_t verify_integer(const hlo_instr_t *instr) {
  return want_kinds(instr, 1u << OP_KIND_INTEGER, "an array of integers");
}

hr_status_t verify_integral(const hlo_instr_t *instr) {
  return want_kinds(instr, 1u << OP_KIND_PRED | 1u << OP_KIND_INTEGER,
                    "an array of integers or preds");
}

hr_status_t verify_complex_parts(const hlo_instr_t *instr) {
  hr_dtype_t dtype = op_operand_shape(instr, 0)->dtype;
  OP_WANT(instr, dtype == HR_F32 || dtype == HR_F64, "I1",
          "the operands have elements of type %s, want f32 or f64", hr_dtype_name(dtype));
  return NULL;
}

/* The comparison orders of a type, as bits of hlo_enum_COMPARISON_t; the one listed first is the
 * default. */
static uint32_t orders_of(hr_dtype_t dtype) {
  switch (hr_dtype_class(dtype)) {
    case HR_CLASS_SIGNED:
      return 1u << HLO_COMPARISON_SIGNED;
    case HR_CLASS_FLOAT:
      return 1u << HLO_COMPARISON_FLOAT | 1u << HLO_COMPARISON_TOTALORDER |
             1u << HLO_COMPARISON_WEAKORDER;
    case HR_CLASS_COMPLEX:
      return 1u << HLO_COMPARISON_FLOAT;
    default:
      return 1u << HLO_COMPARISON_UNSIGNED;
  }
}

hr_status_t verify_compare(const hlo_instr_t *instr) {
  hr_dtype_t dtype = op_operand_shape(instr, 0)->dtype;
  int order = hlo_attr_enum(instr, HLO_ATTR_TYPE),
      direction = hlo_attr_enum(instr, HLO_ATTR_DIRECTION);
  bool is_order = direction != HLO_DIRECTION_EQ && direction != HLO_DIRECTION_NE;
  OP_WANT(instr, !is_order || !hr_dtype_is_complex(dtype), NULL,
          "direction %s for elements of type %s, which have no order; want EQ or NE",
          hlo_enum_table[HLO_ENUM_DIRECTION].texts[direction], hr_dtype_name(dtype));
  OP_WANT(instr, order == HLO_COMPARISON_DEFAULT || (orders_of(dtype) >> order & 1), "C3",
          "type %s for elements of type %s, want %s",
          hlo_enum_table[HLO_ENUM_COMPARISON].texts[order], hr_dtype_name(dtype),
          hr_dtype_is_float(dtype)                   ? "FLOAT, TOTALORDER or WEAKORDER"
          : hr_dtype_is_complex(dtype)               ? "FLOAT"
          : hr_dtype_class(dtype) == HR_CLASS_SIGNED ? "SIGNED"
                                                     : "UNSIGNED");
  return NULL;
}
