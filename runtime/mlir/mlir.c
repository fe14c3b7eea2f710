/* The MLIR tree: modules, equality of types and attributes, and errors about ops. Everything lives
 * in the module's arena except growing lists (ops of a block, blocks of a region) and blobs.
 * Equality is structural and recursive, since types and attributes are not uniqued as in MLIR; the
 * depth is bounded by the readers (MLIR_MAX_DEPTH, BYTECODE_MAX_DEPTH), the cost by the smaller
 * tree. */
#include "mlir/mlir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/mem.h"

hr_status_t mlir_module_create(mlir_module_t **out_module) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(mlir_module_t), &memory));
  mlir_module_t *module = memory;
  hr_arena_init(&module->arena);
  *out_module = module;
  return NULL;
}

/* Lists of ops and blocks are outside the arena; the module lists their owners. */
void mlir_module_destroy(mlir_module_t *module) {
  if (!module) return;
  for (size_t i = 0; i < module->all_blocks.count; i++)
    HR_VEC_FREE(&module->all_blocks.data[i]->ops);
  for (size_t i = 0; i < module->all_regions.count; i++)
    HR_VEC_FREE(&module->all_regions.data[i]->blocks);
  for (size_t i = 0; i < module->buffers.count; i++) hr_buffer_release(module->buffers.data[i]);
  HR_VEC_FREE(&module->all_blocks);
  HR_VEC_FREE(&module->all_regions);
  HR_VEC_FREE(&module->buffers);
  hr_buffer_release(module->source_buffer);
  hr_arena_deinit(&module->arena);
  hr_free(module);
}

/* Linear: ops have few attributes, and StableHLO's largest structure has nine fields. */
static const mlir_attr_t *find_named(const mlir_named_attr_t *list, int count, hr_str_t name) {
  for (int i = 0; i < count; i++)
    if (hr_str_equal(list[i].name, name)) return list[i].value;
  return NULL;
}

const mlir_attr_t *mlir_attr_field(const mlir_attr_t *dict, const char *name) {
  bool has_fields = dict && (dict->kind == MLIR_ATTR_DICT || dict->kind == MLIR_ATTR_STRUCT);
  return has_fields ? find_named(dict->fields, dict->count, hr_str_from(name)) : NULL;
}

const mlir_attr_t *mlir_op_attr(const mlir_op_t *op, const char *name) {
  return mlir_op_attr_named(op, hr_str_from(name));
}

/* Inherent attributes hide discardable ones of the same name. */
const mlir_attr_t *mlir_op_attr_named(const mlir_op_t *op, hr_str_t name) {
  const mlir_attr_t *attr = find_named(op->attrs, op->attr_count, name);
  return attr ? attr : find_named(op->extras, op->extra_count, name);
}

static bool types_equal(int count, const mlir_type_t *const *a, const mlir_type_t *const *b) {
  for (int i = 0; i < count; i++)
    if (!mlir_type_equal(a[i], b[i])) return false;
  return true;
}

/* Empty lists may be NULL, which memcmp does not accept. */
static bool same_numbers(int count, const int64_t *a, const int64_t *b) {
  return count == 0 || memcmp(a, b, (size_t)count * sizeof *a) == 0;
}

/* Scales are compared bit for bit. */
static bool quants_equal(const mlir_quant_t *a, const mlir_quant_t *b) {
  return a->form == b->form && mlir_type_equal(a->storage, b->storage) &&
         a->storage_signed == b->storage_signed && mlir_type_equal(a->expressed, b->expressed) &&
         a->min == b->min && a->max == b->max && a->calibrated_min == b->calibrated_min &&
         a->calibrated_max == b->calibrated_max && a->axis == b->axis &&
         a->scale_count == b->scale_count && a->block_count == b->block_count &&
         (!a->scale_count ||
          !memcmp(a->scales, b->scales, (size_t)a->scale_count * sizeof *a->scales)) &&
         same_numbers(a->scale_count, a->zero_points, b->zero_points) &&
         same_numbers(a->block_count, a->block_axes, b->block_axes) &&
         same_numbers(a->block_count, a->block_sizes, b->block_sizes);
}

static int64_t count_parts_of(const mlir_type_t *const *types, int count) {
  int64_t parts = count;
  for (int i = 0; i < count && parts <= MLIR_MOST_PARTS; i++) parts += types[i]->part_count;
  return parts;
}

bool mlir_type_count_parts(mlir_type_t *type) {
  type->part_count = count_parts_of(type->inputs, type->input_count) +
                     count_parts_of(type->results, type->result_count);
  return type->part_count <= MLIR_MOST_PARTS;
}

/* Members that a kind does not use are zero in both types, so that all members can be compared. */
bool mlir_type_equal(const mlir_type_t *a, const mlir_type_t *b) {
  if (a == b) return true;
  if (!a || !b || a->kind != b->kind || a->width != b->width || a->signedness != b->signedness ||
      a->rank != b->rank || a->input_count != b->input_count || a->result_count != b->result_count)
    return false;
  return hr_str_equal(a->name, b->name) && mlir_type_equal(a->element, b->element) &&
         same_numbers(a->rank, a->dims, b->dims) && mlir_attr_equal(a->encoding, b->encoding) &&
         mlir_attr_equal(a->space, b->space) && types_equal(a->input_count, a->inputs, b->inputs) &&
         types_equal(a->result_count, a->results, b->results) &&
         (!a->quant || quants_equal(a->quant, b->quant));
}

/* Compares items, fields and nested names; each attribute has only one of these. */
static bool contents_equal(const mlir_attr_t *a, const mlir_attr_t *b) {
  for (int i = 0; a->items && i < a->count; i++)
    if (!mlir_attr_equal(a->items[i], b->items[i])) return false;
  for (int i = 0; a->fields && i < a->count; i++)
    if (!hr_str_equal(a->fields[i].name, b->fields[i].name) ||
        !mlir_attr_equal(a->fields[i].value, b->fields[i].value))
      return false;
  for (int i = 0; a->nested && i < a->count; i++)
    if (!hr_str_equal(a->nested[i], b->nested[i])) return false;
  return true;
}

/* Bytes of the elements that `data` holds; 0 for attributes without elements. */
static size_t data_bytes(const mlir_attr_t *attr) {
  bool is_element = attr->kind == MLIR_ATTR_DENSE_ARRAY || !attr->type;
  const mlir_type_t *element = is_element ? attr->type : attr->type->element;
  return attr->data ? (size_t)attr->element_count * mlir_element_bytes(element) : 0;
}

/* Elements are compared as bytes: NaNs with the same bits are equal, zeros of different sign are
 * not. A splat and its expanded form differ; readers convert all equal elements to splats. */
bool mlir_attr_equal(const mlir_attr_t *a, const mlir_attr_t *b) {
  if (a == b) return true;
  if (!a || !b || a->kind != b->kind || a->integer != b->integer || a->bits != b->bits ||
      a->count != b->count || a->element_count != b->element_count || a->splat != b->splat ||
      !a->data != !b->data)
    return false;
  return mlir_type_equal(a->type, b->type) && hr_str_equal(a->text, b->text) &&
         hr_str_equal(a->dialect, b->dialect) && hr_str_equal(a->enum_name, b->enum_name) &&
         hr_str_equal(a->resource, b->resource) && contents_equal(a, b) &&
         (!a->data || !memcmp(a->data, b->data, data_bytes(a))) &&
         mlir_attr_equal(a->indices, b->indices) && mlir_attr_equal(a->values, b->values);
}

/* Narrow integers and floats take a byte each; complex elements two parts. */
size_t mlir_element_bytes(const mlir_type_t *element) {
  if (!element) return 0;
  switch (element->kind) {
    case MLIR_TYPE_INTEGER:
      return ((size_t)element->width + 7) / 8;
    case MLIR_TYPE_INDEX:
      return 8;
    case MLIR_TYPE_FLOAT:
      return ((size_t)mlir_float_bits(element->name) + 7) / 8;
    case MLIR_TYPE_COMPLEX:
      return 2 * mlir_element_bytes(element->element);
    case MLIR_TYPE_QUANT:
      return mlir_element_bytes(element->quant->storage);
    default:
      return 0;
  }
}

/* Width of a float type; tf32, f80 and f128 have one, but no arithmetic here. */
int mlir_float_bits(hr_str_t name) {
  for (int type = 0; type < HR_TUPLE; type++)
    if (hr_dtype_is_float((hr_dtype_t)type) && hr_str_is(name, hr_dtype_table[type].mlir_name))
      return hr_dtype_table[type].bits;
  if (hr_str_is(name, "tf32")) return 19;
  if (hr_str_is(name, "f80")) return 80;
  return hr_str_is(name, "f128") ? 128 : 0;
}

/* A region enters the module's list with its first block. */
hr_status_t mlir_region_add_block(mlir_module_t *module, mlir_region_t *region,
                                  mlir_block_t **out_block) {
  mlir_block_t *block;
  HR_TRY(HR_NEW(&module->arena, &block));
  HR_VEC_PUSH(&module->all_blocks, block);
  if (region->blocks.count == 0) HR_VEC_PUSH(&module->all_regions, region);
  HR_VEC_PUSH(&region->blocks, block);
  block->parent = region;
  *out_block = block;
  return NULL;
}

/* Sets op->block, by which ops find their enclosing function. */
hr_status_t mlir_block_add_op(mlir_block_t *block, mlir_op_t *op) {
  HR_VEC_PUSH(&block->ops, op);
  op->parent = block;
  return NULL;
}

/* If formatting the message fails, the error still has the code and the place. */
hr_status_t mlir_error_from(const char *file, int line, const mlir_module_t *module,
                            const mlir_op_t *op, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *message = NULL;
  int size = hr_vasprintf(&message, format, args);
  va_end(args);
  hr_pos_t pos = {.source = &module->source};
  const char *text = size < 0 ? "out of memory" : message;
  hr_status_t st;
  if (op) {
    pos.line = op->line;
    pos.column = op->column;
    st = hr_error_from(file, line, HR_INVALID, &pos, "%.*s: %s", HR_STR_ARGS(op->name), text);
  } else {
    st = hr_error_from(file, line, HR_INVALID, &pos, "%s", text);
  }
  if (size >= 0) free(message);
  return st;
}
