/* Builds instructions with generated names. Errors are sticky: the first failure is kept, later
 * instructions are NULL, and hlo_builder_finish returns the failure, so that expansions read like
 * formulas.
 *
 *   hlo_builder_t b = hlo_builder_at(computation, line, column);
 *   hlo_instr_t *square = hlo_build_binary(&b, HLO_MULTIPLY, x, x);
 *   ...
 *   HR_TRY(hlo_builder_finish(&b)); */
#ifndef HLO_IR_BUILDER_H
#define HLO_IR_BUILDER_H

#include "ir/module.h"

/* Appends an instruction; its shape is inferred if the description has none. Used by every reader
 * and pass. Errors: INVALID if operands or attributes do not fit the op, as in hlo_infer_shape. */
hr_status_t hlo_instr_add(hlo_computation_t *computation, const hlo_instr_def_t *def,
                          hlo_instr_t **out_instr);

typedef struct hlo_builder {
  hlo_computation_t *computation;
  const hlo_extra_t *extra; /* copied to every instruction; may be NULL */
  uint32_t line, column;    /* source position of the expanded instruction */
  hr_status_t status;
} hlo_builder_t;

static inline hlo_builder_t hlo_builder_at(hlo_computation_t *computation, uint32_t line,
                                           uint32_t column) {
  return (hlo_builder_t){.computation = computation, .line = line, .column = column};
}
/* The first failure, or NULL. */
static inline hr_status_t hlo_builder_finish(hlo_builder_t *builder) {
  hr_status_t status = builder->status;
  builder->status = NULL;
  return status;
}

/* The first failure, or else `status`, the status of a value that may have failed to be created. */
static inline hr_status_t hlo_builder_or(hlo_builder_t *builder, hr_status_t status) {
  if (!builder->status) return status;
  hr_status_release(status);
  return hlo_builder_finish(builder);
}

/* shape NULL: inferred. A NULL operand means an earlier failure. */
hlo_instr_t *hlo_build(hlo_builder_t *builder, hlo_opcode_t op, const hlo_shape_t *shape,
                       int operand_count, hlo_instr_t *const *operands, int attr_count,
                       const hlo_attr_t *attrs, int called_count, hlo_computation_t *const *called);
hlo_instr_t *hlo_build_parameter(hlo_builder_t *builder, int number, const hlo_shape_t *shape);
hlo_instr_t *hlo_build_unary(hlo_builder_t *builder, hlo_opcode_t op, hlo_instr_t *x);
hlo_instr_t *hlo_build_binary(hlo_builder_t *builder, hlo_opcode_t op, hlo_instr_t *x,
                              hlo_instr_t *y);
hlo_instr_t *hlo_build_compare(hlo_builder_t *builder, hlo_enum_DIRECTION_t direction,
                               hlo_instr_t *x, hlo_instr_t *y);
hlo_instr_t *hlo_build_select(hlo_builder_t *builder, hlo_instr_t *pred, hlo_instr_t *x,
                              hlo_instr_t *y);
hlo_instr_t *hlo_build_convert(hlo_builder_t *builder, hlo_instr_t *x, hr_dtype_t dtype);
hlo_instr_t *hlo_build_reshape(hlo_builder_t *builder, hlo_instr_t *x, const hlo_shape_t *shape);
/* x's dimension i becomes dimension dims[i] of `shape`. */
hlo_instr_t *hlo_build_broadcast(hlo_builder_t *builder, hlo_instr_t *x, const hlo_shape_t *shape,
                                 hr_ints_t dims);
/* The same with the sizes of `like`, which may be known only at run time. */
hlo_instr_t *hlo_build_broadcast_like(hlo_builder_t *builder, hlo_instr_t *x, hlo_instr_t *like,
                                      hr_ints_t dims);
hlo_instr_t *hlo_build_tuple(hlo_builder_t *builder, int count, hlo_instr_t *const *elements);
hlo_instr_t *hlo_build_element(hlo_builder_t *builder, hlo_instr_t *tuple, int index);
/* A constant; takes ownership of the value. */
hlo_instr_t *hlo_build_constant(hlo_builder_t *builder, hlo_value_t *value);
/* A number in the type of `like`, broadcast to its shape. */
hlo_instr_t *hlo_build_number_like(hlo_builder_t *builder, double number, hlo_instr_t *like);
hlo_instr_t *hlo_build_number(hlo_builder_t *builder, double number, hr_dtype_t dtype); /* scalar */

/* Attributes. Lists are copied into the arena of the builder's module; a failure becomes the
 * builder's. */
static inline hlo_attr_t hlo_attr_of_int(hlo_attr_key_t key, int64_t value) {
  return (hlo_attr_t){.key = (uint16_t)key, .integer = value};
}
static inline hlo_attr_t hlo_attr_of_bool(hlo_attr_key_t key, bool value) {
  return (hlo_attr_t){.key = (uint16_t)key, .flag = value};
}
static inline hlo_attr_t hlo_attr_of_float(hlo_attr_key_t key, double value) {
  return (hlo_attr_t){.key = (uint16_t)key, .number = value};
}
static inline hlo_attr_t hlo_attr_of_str(hlo_attr_key_t key, hr_str_t value) {
  return (hlo_attr_t){.key = (uint16_t)key, .text = value};
}
static inline hlo_attr_t hlo_attr_of_called(hlo_attr_key_t key, int64_t count) {
  return (hlo_attr_t){.key = (uint16_t)key, .called_count = count};
}
hlo_attr_t hlo_attr_of_ints(hlo_builder_t *builder, hlo_attr_key_t key, int64_t count,
                            const int64_t *values);

#endif
