/* Types of the tree from shapes: tensors with bounds in the encoding, tuples for custom calls,
 * tokens. pred is i1; unsigned types are ui. */
#include "base/mem.h"
#include "stablehlo/export/export.h"

/* `count` zeroed items in the arena of the tree; NULL after a failure, an earlier one included.
 * For a count of 0 it is not NULL either, so that NULL always means failure. */
void *export_alloc(exporter_t *exporter, size_t count, size_t each) {
  void *memory = NULL;
  if (exporter->status ||
      export_keep(exporter, hr_arena_array(exporter->arena, count ? count : 1, each, &memory)))
    return NULL;
  return memory;
}

/* A copy in the arena of the tree; empty after a failure. */
hr_str_t export_text(exporter_t *exporter, hr_str_t from) {
  hr_str_t copy = {"", 0};
  if (!exporter->status) export_keep(exporter, hr_arena_str(exporter->arena, from, &copy));
  return copy;
}

static mlir_type_t *new_type(exporter_t *exporter, mlir_type_kind_t kind) {
  mlir_type_t *type = export_alloc(exporter, 1, sizeof *type);
  if (type) type->kind = kind;
  return type;
}

/* Refuses a shape that StableHLO lacks, with the position of the instruction, if any: types of the
 * entry's signature have none. */
static const mlir_type_t *no_type(exporter_t *exporter, const char *what) {
  export_keep(exporter, exporter->instr
                            ? hlo_unsupported(exporter->instr, "StableHLO has no type for %s", what)
                            : hr_error(HR_UNSUPPORTED, "StableHLO has no type for %s", what));
  return NULL;
}

/* Integer or float type of an element type. */
static const mlir_type_t *element_type(exporter_t *exporter, hr_dtype_t dtype) {
  const hr_dtype_info_t *info = &hr_dtype_table[dtype];
  mlir_type_t *type;
  if (dtype == HR_S1 || dtype == HR_U1) return no_type(exporter, info->name);
  switch (info->class_) {
    case HR_CLASS_FLOAT:
      type = new_type(exporter, MLIR_TYPE_FLOAT);
      if (type) type->name = hr_str_from(info->mlir_name);
      return type;
    case HR_CLASS_COMPLEX:
      type = new_type(exporter, MLIR_TYPE_COMPLEX);
      if (type) type->element = element_type(exporter, hr_dtype_real(dtype));
      return type;
    case HR_CLASS_OTHER:
      return no_type(exporter, info->name);
    default:
      break;
  }
  type = new_type(exporter, MLIR_TYPE_INTEGER);
  if (!type) return NULL;
  type->width = info->bits;
  type->signedness = info->class_ == HR_CLASS_UNSIGNED ? MLIR_UNSIGNED : MLIR_SIGNLESS;
  return type;
}

/* Tensor with the bounds of its dynamic dimensions. */
static mlir_type_t *array_type(exporter_t *exporter, hr_dtype_t dtype, int rank,
                               const int64_t *dims) {
  mlir_type_t *type = new_type(exporter, MLIR_TYPE_TENSOR);
  int64_t *copy = export_alloc(exporter, (size_t)rank, sizeof *copy);
  const mlir_type_t *element = element_type(exporter, dtype);
  if (exporter->status) return NULL;
  for (int d = 0; d < rank; d++) copy[d] = dims[d];
  type->element = element;
  type->rank = rank;
  type->dims = copy;
  return type;
}

const mlir_type_t *export_tensor(exporter_t *exporter, hr_dtype_t dtype, int rank,
                                 const int64_t *dims) {
  return array_type(exporter, dtype, rank, dims);
}

/* #stablehlo.bounds<...>: the bounds of dynamic dimensions, "?" for the others. */
static const mlir_attr_t *bounds_of(exporter_t *exporter, const hlo_shape_t *shape) {
  int64_t bounds[HLO_MAX_RANK];
  bool any = false;
  export_attrs_t fields = {.count = 0};
  for (int d = 0; d < shape->rank; d++) {
    bounds[d] = shape->dynamic[d] ? shape->dims[d] : HLO_UNBOUNDED;
    any |= bounds[d] != HLO_UNBOUNDED;
  }
  if (!any) return NULL;
  export_add(exporter, &fields, "bounds", export_ints(exporter, shape->rank, bounds));
  return export_struct(exporter, "stablehlo", "bounds", &fields);
}

/* A tensor; dynamic sizes are '?', with their bounds in the encoding. */
static const mlir_type_t *tensor_of(exporter_t *exporter, const hlo_shape_t *shape) {
  mlir_type_t *type = array_type(exporter, shape->dtype, shape->rank, shape->dims);
  if (!type || !shape->dynamic) return type;
  int64_t *dims = (int64_t *)type->dims;
  for (int d = 0; d < shape->rank; d++)
    if (shape->dynamic[d]) dims[d] = HLO_UNBOUNDED;
  type->encoding = bounds_of(exporter, shape);
  return type;
}

/* A tuple of the elements' types, for custom calls. */
static const mlir_type_t *tuple_of(exporter_t *exporter, const hlo_shape_t *shape) {
  mlir_type_t *type = new_type(exporter, MLIR_TYPE_TUPLE);
  const mlir_type_t **elements =
      export_alloc(exporter, (size_t)shape->element_count, sizeof *elements);
  if (exporter->status) return NULL;
  for (int i = 0; i < shape->element_count; i++)
    elements[i] = export_type(exporter, shape->elements[i]);
  type->results = elements;
  type->result_count = shape->element_count;
  return type;
}

/* A buffer of one array becomes a memref. */
static const mlir_type_t *buffer_of(exporter_t *exporter, const hlo_shape_t *shape) {
  const mlir_type_t *tensor =
      shape->element_count == 1 ? export_type(exporter, shape->elements[0]) : NULL;
  mlir_type_t *type = new_type(exporter, MLIR_TYPE_MEMREF);
  if (!tensor || !type) return exporter->status ? NULL : no_type(exporter, "a buffer of this kind");
  *type = *tensor;
  type->kind = MLIR_TYPE_MEMREF;
  return type;
}

/* The type of a shape. */
const mlir_type_t *export_type(exporter_t *exporter, const hlo_shape_t *shape) {
  if (exporter->status) return NULL;
  switch (shape->dtype) {
    case HR_TUPLE:
      return tuple_of(exporter, shape);
    case HR_TOKEN:
      return new_type(exporter, MLIR_TYPE_TOKEN);
    case HR_BUFFER:
      return buffer_of(exporter, shape);
    default:
      return tensor_of(exporter, shape);
  }
}

/* One type per leaf of the flattened tuple; none after a failure. */
export_types_t export_leaf_types(exporter_t *exporter, const hlo_shape_t *shape) {
  export_types_t types = {.count = hlo_shape_leaf_count(shape)};
  types.items = export_alloc(exporter, (size_t)types.count, sizeof *types.items);
  for (int i = 0; types.items && i < types.count; i++)
    types.items[i] = export_type(exporter, hlo_shape_leaf(shape, i));
  return exporter->status ? (export_types_t){0, NULL} : types;
}
