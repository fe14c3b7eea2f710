/* Construction of instructions. Every function returns NULL once the builder has failed, and a NULL
 * operand means an earlier failure: an expansion needs one check only, at its end. Names are the
 * opcode's with the number of the instruction. */
#include "ops/rules/builder.h"

#include <stdio.h>
#include <string.h>
#include "ops/rules/verify.h"

/* Infers the shape if the definition has none. Errors: INVALID of the op's rules. */
hr_status_t hlo_instr_add(hlo_computation_t *computation, const hlo_instr_def_t *def,
                          hlo_instr_t **out_instr) {
  hlo_instr_t *instr;
  HR_TRY(hlo_instr_create(computation, def, &instr));
  if (!instr->shape) {
    hr_arena_t *arena = &computation->module->arena;
    const hlo_shape_t *const *in;
    HR_TRY(hlo_operand_shapes(arena, instr, &in));
    HR_TRY(hlo_infer_shape(arena, instr, in, &instr->shape));
  }
  HR_TRY(hlo_instr_append(instr));
  *out_instr = instr;
  return NULL;
}

/* A NULL operand is the result of an earlier failed build. */
static bool any_missing(int count, hlo_instr_t *const *operands) {
  for (int k = 0; k < count; k++)
    if (!operands[k]) return true;
  return false;
}

/* The first failure stays in builder->status, and later results are NULL: callers check once, at
 * the end. `shape` NULL: inferred by the op's rules. Names need not be unique among computations:
 * the count of instructions makes them unique within this one. Position and extra attributes come
 * from the builder. */
hlo_instr_t *hlo_build(hlo_builder_t *builder, hlo_opcode_t op, const hlo_shape_t *shape,
                       int operand_count, hlo_instr_t *const *operands, int attr_count,
                       const hlo_attr_t *attrs, int called_count,
                       hlo_computation_t *const *called) {
  if (builder->status || any_missing(operand_count, operands)) return NULL;
  char name[64];
  int size =
      snprintf(name, sizeof name, "%s.%zu", hlo_op_name(op), builder->computation->instrs.count);
  hlo_instr_def_t def = {.op = op,
                         .name = {name, (size_t)size},
                         .shape = shape,
                         .operand_count = operand_count,
                         .operands = operands,
                         .attr_count = attr_count,
                         .attrs = attrs,
                         .called_count = called_count,
                         .called = called,
                         .extra = builder->extra,
                         .line = builder->line,
                         .column = builder->column};
  hlo_instr_t *instr = NULL;
  builder->status = hlo_instr_add(builder->computation, &def, &instr);
  return builder->status ? NULL : instr;
}

hlo_instr_t *hlo_build_parameter(hlo_builder_t *builder, int number, const hlo_shape_t *shape) {
  hlo_attr_t attr = hlo_attr_of_int(HLO_ATTR_PARAMETER_NUMBER, number);
  return hlo_build(builder, HLO_PARAMETER, shape, 0, NULL, 1, &attr, 0, NULL);
}

hlo_instr_t *hlo_build_unary(hlo_builder_t *builder, hlo_opcode_t op, hlo_instr_t *x) {
  return hlo_build(builder, op, NULL, 1, &x, 0, NULL, 0, NULL);
}

hlo_instr_t *hlo_build_binary(hlo_builder_t *builder, hlo_opcode_t op, hlo_instr_t *x,
                              hlo_instr_t *y) {
  return hlo_build(builder, op, NULL, 2, (hlo_instr_t *[]){x, y}, 0, NULL, 0, NULL);
}

hlo_instr_t *hlo_build_compare(hlo_builder_t *builder, hlo_enum_DIRECTION_t direction,
                               hlo_instr_t *x, hlo_instr_t *y) {
  hlo_attr_t attr = hlo_attr_of_int(HLO_ATTR_DIRECTION, direction);
  return hlo_build(builder, HLO_COMPARE, NULL, 2, (hlo_instr_t *[]){x, y}, 1, &attr, 0, NULL);
}

hlo_instr_t *hlo_build_select(hlo_builder_t *builder, hlo_instr_t *pred, hlo_instr_t *x,
                              hlo_instr_t *y) {
  return hlo_build(builder, HLO_SELECT, NULL, 3, (hlo_instr_t *[]){pred, x, y}, 0, NULL, 0, NULL);
}

/* A conversion to the operand's own type adds no instruction. */
hlo_instr_t *hlo_build_convert(hlo_builder_t *builder, hlo_instr_t *x, hr_dtype_t dtype) {
  if (builder->status || !x) return NULL;
  if (x->shape->dtype == dtype) return x;
  const hlo_shape_t *shape;
  builder->status =
      hlo_shape_with_dtype(&builder->computation->module->arena, x->shape, dtype, &shape);
  return hlo_build(builder, HLO_CONVERT, shape, 1, &x, 0, NULL, 0, NULL);
}

hlo_instr_t *hlo_build_reshape(hlo_builder_t *builder, hlo_instr_t *x, const hlo_shape_t *shape) {
  return hlo_build(builder, HLO_RESHAPE, shape, 1, &x, 0, NULL, 0, NULL);
}

hlo_instr_t *hlo_build_broadcast(hlo_builder_t *builder, hlo_instr_t *x, const hlo_shape_t *shape,
                                 hr_ints_t dims) {
  hlo_attr_t attr = hlo_attr_of_ints(builder, HLO_ATTR_DIMENSIONS, dims.count, dims.data);
  return hlo_build(builder, HLO_BROADCAST, shape, 1, &x, 1, &attr, 0, NULL);
}

/* The sizes of an array as an s32[rank] list, computed at run time; rank is at least 1, since
 * only dynamic shapes need it. */
static hlo_instr_t *sizes_of(hlo_builder_t *builder, hlo_instr_t *x) {
  hlo_instr_t *sizes[HLO_MAX_RANK];
  const hlo_shape_t *one;
  int64_t first = 0;
  if (!builder->status)
    builder->status =
        hlo_shape_array(&builder->computation->module->arena, HR_S32, 1, &(int64_t){1}, &one);
  for (int64_t d = 0; d < x->shape->rank && !builder->status; d++) {
    hlo_attr_t attr = hlo_attr_of_ints(builder, HLO_ATTR_DIMENSIONS, 1, &d);
    sizes[d] = hlo_build_reshape(
        builder, hlo_build(builder, HLO_GET_DIMENSION_SIZE, NULL, 1, &x, 1, &attr, 0, NULL), one);
  }
  if (builder->status || x->shape->rank == 1) return builder->status ? NULL : sizes[0];
  hlo_attr_t attr = hlo_attr_of_ints(builder, HLO_ATTR_DIMENSIONS, 1, &first);
  return hlo_build(builder, HLO_CONCATENATE, NULL, x->shape->rank, sizes, 1, &attr, 0, NULL);
}

/* `like` gives the sizes, static or dynamic; dims maps the dimensions of x to those of `like`. */
hlo_instr_t *hlo_build_broadcast_like(hlo_builder_t *builder, hlo_instr_t *x, hlo_instr_t *like,
                                      hr_ints_t dims) {
  const hlo_shape_t *shape;
  if (builder->status || !x || !like) return NULL;
  builder->status = hlo_shape_with_dtype(&builder->computation->module->arena, like->shape,
                                         x->shape->dtype, &shape);
  if (builder->status) return NULL;
  if (!hlo_shape_is_dynamic(shape)) return hlo_build_broadcast(builder, x, shape, dims);
  hlo_attr_t attr = hlo_attr_of_ints(builder, HLO_ATTR_DIMENSIONS, dims.count, dims.data);
  hlo_instr_t *operands[] = {x, sizes_of(builder, like)};
  return hlo_build(builder, HLO_DYNAMIC_BROADCAST, shape, 2, operands, 1, &attr, 0, NULL);
}

hlo_instr_t *hlo_build_tuple(hlo_builder_t *builder, int count, hlo_instr_t *const *elements) {
  return hlo_build(builder, HLO_TUPLE, NULL, count, elements, 0, NULL, 0, NULL);
}

hlo_instr_t *hlo_build_element(hlo_builder_t *builder, hlo_instr_t *tuple, int index) {
  hlo_attr_t attr = hlo_attr_of_int(HLO_ATTR_INDEX, index);
  return hlo_build(builder, HLO_GET_TUPLE_ELEMENT, NULL, 1, &tuple, 1, &attr, 0, NULL);
}

/* Takes ownership of the value: the module releases it, or this function after an earlier
 * failure. */
hlo_instr_t *hlo_build_constant(hlo_builder_t *builder, hlo_value_t *value) {
  hlo_module_t *module = builder->computation->module;
  const hlo_shape_t *shape;
  if (builder->status) {
    hlo_value_release(value);
    return NULL;
  }
  builder->status = hlo_module_adopt_value(module, value);
  if (!builder->status) builder->status = hlo_value_shape(&module->arena, value, &shape);
  hlo_instr_t *instr = hlo_build(builder, HLO_CONSTANT, shape, 0, NULL, 0, NULL, 0, NULL);
  if (instr) instr->literal = value;
  return instr;
}

/* Writes a number as one element of a type. Complex types get a zero imaginary part. Unsigned
 * types above INT64_MAX saturate there, as the number goes through int64_t. */
static void store_number(hr_dtype_t dtype, double number, void *element) {
  /* Beyond 64 bits, and for NaN, the conversion is undefined in C. */
  int64_t integer = number >= -0x1p63 && number < 0x1p63 ? (int64_t)number
                    : number > 0                         ? INT64_MAX
                                                         : INT64_MIN;
  switch (hr_dtype_class(dtype)) {
    case HR_CLASS_PRED:
      *(uint8_t *)element = number != 0;
      break;
    case HR_CLASS_SIGNED:
    case HR_CLASS_UNSIGNED:
      memcpy(element, &integer, hr_dtype_bytes(dtype));
      break;
    case HR_CLASS_FLOAT: {
      uint64_t bits = hr_float_encode(dtype, number);
      memcpy(element, &bits, hr_dtype_bytes(dtype));
      break;
    }
    case HR_CLASS_COMPLEX: {
      memset(element, 0, hr_dtype_bytes(dtype));
      store_number(hr_dtype_real(dtype), number, element);
      break;
    }
    case HR_CLASS_OTHER:
      break;
  }
}

/* A scalar constant. NaN and numbers beyond an integer type: see store_number. */
hlo_instr_t *hlo_build_number(hlo_builder_t *builder, double number, hr_dtype_t dtype) {
  hlo_value_t *value;
  if (builder->status) return NULL;
  builder->status = hlo_value_array(dtype, 0, NULL, &value);
  if (builder->status) return NULL;
  store_number(dtype, number, value->data);
  return hlo_build_constant(builder, value);
}

/* A scalar constant, broadcast to the sizes of `like` unless that is a scalar itself. */
hlo_instr_t *hlo_build_number_like(hlo_builder_t *builder, double number, hlo_instr_t *like) {
  if (builder->status || !like) return NULL;
  hlo_instr_t *scalar = hlo_build_number(builder, number, like->shape->dtype);
  return like->shape->rank ? hlo_build_broadcast_like(builder, scalar, like, (hr_ints_t){NULL, 0})
                           : scalar;
}

/* The list is copied into the module's arena. */
hlo_attr_t hlo_attr_of_ints(hlo_builder_t *builder, hlo_attr_key_t key, int64_t count,
                            const int64_t *values) {
  hlo_attr_t attr = {.key = (uint16_t)key};
  if (!builder->status)
    builder->status =
        hr_arena_ints(&builder->computation->module->arena, values, count, &attr.ints);
  return attr;
}
