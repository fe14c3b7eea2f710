/* Types, constants, operands and results between the MLIR tree and the IR. index is s64, i1 pred;
 * signless integers are signed; quantised types are their storage types. Bounded dimensions come
 * from #stablehlo.bounds. */
#include <string.h>

#include "stablehlo/import/import.h"

static hr_status_t type_error(importer_t *importer, const char *what) {
  return mlir_error(importer->from, importer->at, "%s has no place in a program that runs", what);
}

/* Widths 1 to 64. */
static bool integer_dtype(const mlir_type_t *type, hr_dtype_t *out_dtype) {
  static const hr_dtype_t signed_types[] = {HR_S2, HR_S4, HR_S8, HR_S16, HR_S32, HR_S64};
  static const hr_dtype_t unsigned_types[] = {HR_U2, HR_U4, HR_U8, HR_U16, HR_U32, HR_U64};
  if (type->width == 1 && type->signedness == MLIR_SIGNLESS) {
    *out_dtype = HR_PRED;
    return true;
  }
  for (int i = 0; i < 6; i++)
    if (type->width == 2 << i) {
      *out_dtype = type->signedness == MLIR_UNSIGNED ? unsigned_types[i] : signed_types[i];
      return true;
    }
  return false;
}

static bool float_dtype(const mlir_type_t *type, hr_dtype_t *out_dtype) {
  for (int dtype = 0; dtype < HR_TUPLE; dtype++) {
    bool is_same = hr_str_is(type->name, hr_dtype_table[dtype].mlir_name);
    if (!is_same || !hr_dtype_is_float((hr_dtype_t)dtype)) continue;
    *out_dtype = (hr_dtype_t)dtype;
    return true;
  }
  return false;
}

/* Element type of the IR; an error for types that the IR does not have. */
hr_status_t import_dtype(importer_t *importer, const mlir_type_t *type, hr_dtype_t *out_dtype) {
  hr_dtype_t part;
  switch (type->kind) {
    case MLIR_TYPE_INTEGER:
      return integer_dtype(type, out_dtype) ? NULL
                                            : type_error(importer, "an integer type of this width");
    case MLIR_TYPE_INDEX:
      *out_dtype = HR_S64;
      return NULL;
    case MLIR_TYPE_FLOAT:
      return float_dtype(type, out_dtype) ? NULL : type_error(importer, "this floating-point type");
    case MLIR_TYPE_COMPLEX:
      HR_TRY(import_dtype(importer, type->element, &part));
      if (part != HR_F32 && part != HR_F64)
        return type_error(importer, "a complex type of other than f32 or f64");
      *out_dtype = part == HR_F32 ? HR_C64 : HR_C128;
      return NULL;
    case MLIR_TYPE_QUANT:
      return import_dtype(importer, type->quant->storage, out_dtype);
    default:
      return type_error(importer, "an element of this type");
  }
}

/* Bound of a dynamic dimension, from the encoding. */
static int64_t bound_of(const mlir_type_t *type, int d) {
  const mlir_attr_t *bounds = mlir_attr_field(type->encoding, "bounds");
  bool present = bounds && bounds->data && d < bounds->element_count;
  return present ? ((const int64_t *)bounds->data)[d] : HLO_UNBOUNDED;
}

/* Shape of a tensor, with the bounds of the encoding. */
static hr_status_t tensor_shape(importer_t *importer, const mlir_type_t *type,
                                const hlo_shape_t **out_shape) {
  hr_dtype_t dtype;
  int64_t dims[HLO_MAX_RANK];
  bool dynamic[HLO_MAX_RANK];
  HR_TRY(import_dtype(importer, type->element, &dtype));
  if (type->rank > HLO_MAX_RANK) return type_error(importer, "a tensor of more than 32 dimensions");
  for (int d = 0; d < type->rank; d++) {
    dynamic[d] = type->dims[d] == HLO_UNBOUNDED;
    dims[d] = dynamic[d] ? bound_of(type, d) : type->dims[d];
  }
  return hlo_shape_array_dynamic(importer->arena, dtype, type->rank, dims, dynamic, out_shape);
}

/* A memref is a buffer. */
static hr_status_t buffer_shape(importer_t *importer, const mlir_type_t *type,
                                const hlo_shape_t **out_shape) {
  const hlo_shape_t **contents;
  hlo_shape_t *shape;
  HR_TRY(HR_NEW(importer->arena, &contents));
  HR_TRY(HR_NEW(importer->arena, &shape));
  HR_TRY(tensor_shape(importer, type, contents));
  *shape = (hlo_shape_t){.dtype = HR_BUFFER, .element_count = 1, .elements = contents};
  *out_shape = shape;
  return NULL;
}

/* Parts of all tuples of a program, which types may share, while shapes do not. */
#define MOST_TUPLE_PARTS (1 << 22)

/* Shape of several types. */
static hr_status_t tuple_shape(importer_t *importer, const mlir_type_t *type,
                               const hlo_shape_t **out_shape) {
  const hlo_shape_t **elements;
  importer->tuple_parts += type->result_count;
  if (importer->tuple_parts > MOST_TUPLE_PARTS)
    return mlir_error(importer->from, importer->at, "the tuples have more than %d parts in all",
                      MOST_TUPLE_PARTS);
  HR_TRY(HR_NEW_ARRAY(importer->arena, type->result_count, &elements));
  for (int i = 0; i < type->result_count; i++)
    HR_TRY(import_shape(importer, type->results[i], &elements[i]));
  return hlo_shape_tuple(importer->arena, type->result_count, elements, out_shape);
}

/* Tensors, buffers, tuples, tokens. A future has the shape of what it gives. */
hr_status_t import_shape(importer_t *importer, const mlir_type_t *type,
                         const hlo_shape_t **out_shape) {
  hr_dtype_t dtype;
  switch (type->kind) {
    case MLIR_TYPE_TENSOR:
      return tensor_shape(importer, type, out_shape);
    case MLIR_TYPE_MEMREF:
      return buffer_shape(importer, type, out_shape);
    case MLIR_TYPE_TOKEN:
      *out_shape = hlo_shape_scalar(HR_TOKEN);
      return NULL;
    case MLIR_TYPE_TUPLE:
      return tuple_shape(importer, type, out_shape);
    case MLIR_TYPE_FUTURE:
      return type->result_count == 1 ? import_shape(importer, type->results[0], out_shape)
                                     : tuple_shape(importer, type, out_shape);
    case MLIR_TYPE_OPAQUE:
      if (!hr_str_is(type->name, "shape.witness"))
        return type_error(importer, "a value of this type");
      *out_shape = hlo_shape_scalar(HR_PRED);
      return NULL;
    case MLIR_TYPE_UNRANKED_TENSOR:
      return type_error(importer, "an unranked tensor");
    default:
      HR_TRY(import_dtype(importer, type, &dtype));
      *out_shape = hlo_shape_scalar(dtype);
      return NULL;
  }
}

/* Fills the data with its first element by copies of doubling length, so that the cost is that of
 * a few large copies. */
static void repeat_element(char *data, size_t each, int64_t count) {
  size_t total = each * (size_t)count;
  for (size_t done = each; done < total; done *= 2)
    memcpy(data + done, data, done < total - done ? done : total - done);
}

/* True if the elements in the file have the layout of values, and are used in place. */
static bool usable_in_place(const mlir_attr_t *attr) {
  return attr->buffer && !attr->splat && attr->element_count &&
         (uintptr_t)attr->data % HR_ALIGNMENT == 0;
}

/* Splats are expanded. */
hr_status_t import_literal(importer_t *importer, const mlir_attr_t *attr, hlo_value_t **out_value) {
  const hlo_shape_t *shape;
  if (attr->kind != MLIR_ATTR_DENSE || !attr->type)
    return mlir_error(importer->from, importer->at, "want elements such as dense<1.0>");
  if (!attr->data)
    return mlir_error(importer->from, importer->at,
                      "the elements of resource %.*s are not in the file",
                      HR_STR_ARGS(attr->resource));
  HR_TRY(import_shape(importer, attr->type, &shape));
  if (usable_in_place(attr)) {
    size_t offset = (size_t)((const char *)attr->data - (const char *)hr_buffer_data(attr->buffer));
    return hlo_value_over(shape->dtype, shape->rank, shape->dims, attr->buffer, offset, out_value);
  }
  HR_TRY(hlo_value_array(shape->dtype, shape->rank, shape->dims, out_value));
  size_t each = hr_dtype_bytes(shape->dtype);
  size_t bytes = each * (size_t)attr->element_count;
  if (bytes > hlo_value_bytes(*out_value)) bytes = hlo_value_bytes(*out_value);
  if (bytes) memcpy((*out_value)->data, attr->data, bytes);
  if (attr->splat && (*out_value)->count)
    repeat_element((*out_value)->data, each, (*out_value)->count);
  return NULL;
}

/* Instructions of all operands. */
hr_status_t import_operands(import_scope_t *scope, const mlir_op_t *op,
                            hlo_instr_t ***out_operands) {
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, op->operand_count, out_operands));
  for (int k = 0; k < op->operand_count; k++) {
    (*out_operands)[k] = import_operand(op, k);
    if (!(*out_operands)[k])
      return import_error(scope, op, "operand %d is not defined before it", k);
  }
  return NULL;
}

/* The shape in HLO of result `index`. INVALID if the op has too few results. */
hr_status_t import_result_shape(import_scope_t *scope, const mlir_op_t *op, int index,
                                const hlo_shape_t **out_shape) {
  if (index >= op->result_count)
    return import_error(scope, op, "%d results, want more than %d", op->result_count, index);
  return import_shape(scope->importer, op->results[index].type, out_shape);
}

/* One shape or a tuple. */
hr_status_t import_results_shape(import_scope_t *scope, const mlir_op_t *op,
                                 const hlo_shape_t **out_shape) {
  if (op->result_count == 1) return import_result_shape(scope, op, 0, out_shape);
  const hlo_shape_t **shapes;
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, op->result_count, &shapes));
  for (int i = 0; i < op->result_count; i++) HR_TRY(import_result_shape(scope, op, i, &shapes[i]));
  return hlo_shape_tuple(scope->importer->arena, op->result_count, shapes, out_shape);
}

/* Binds the op's results: one result is the instruction, several are the elements of a tuple. */
hr_status_t import_set_results(import_scope_t *scope, mlir_op_t *op, hlo_instr_t *instr) {
  if (op->result_count != 1) return import_set_tuple_results(scope, op, instr);
  op->results[0].mapped = instr;
  return hlo_builder_finish(&scope->builder);
}

/* One get-tuple-element per result, even for a single result. */
hr_status_t import_set_tuple_results(import_scope_t *scope, mlir_op_t *op, hlo_instr_t *tuple) {
  for (int i = 0; i < op->result_count; i++)
    op->results[i].mapped = hlo_build_element(&scope->builder, tuple, i);
  return hlo_builder_finish(&scope->builder);
}
