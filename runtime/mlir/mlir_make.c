/* Makers of attributes in an arena, for parsers and the exporter. Lists are copied; strings, types
 * and items are borrowed and must live as long as the arena. Dictionaries are sorted by name, as
 * equality and lookup of duplicates expect; structures keep the order in which they print. */
#include <stdlib.h>
#include <string.h>

#include "mlir/text/mlir_parser.h"

static hr_status_t new_attr(hr_arena_t *arena, mlir_attr_kind_t kind, mlir_attr_t **out_attr) {
  HR_TRY(HR_NEW(arena, out_attr));
  (*out_attr)->kind = kind;
  return NULL;
}

hr_status_t mlir_make_unit(hr_arena_t *arena, const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  HR_TRY(new_attr(arena, MLIR_ATTR_UNIT, &attr));
  *out_attr = attr;
  return NULL;
}

hr_status_t mlir_make_bool(hr_arena_t *arena, bool value, const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  HR_TRY(new_attr(arena, MLIR_ATTR_BOOL, &attr));
  attr->integer = value;
  *out_attr = attr;
  return NULL;
}

hr_status_t mlir_make_integer(hr_arena_t *arena, int64_t value, const mlir_type_t *type,
                              const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  HR_TRY(new_attr(arena, MLIR_ATTR_INTEGER, &attr));
  attr->integer = value;
  attr->type = type;
  *out_attr = attr;
  return NULL;
}

/* An attribute of type i64, which MLIR prints without its type in arrays. */
hr_status_t mlir_make_i64(hr_arena_t *arena, int64_t value, const mlir_attr_t **out_attr) {
  static const mlir_type_t i64 = {.kind = MLIR_TYPE_INTEGER, .width = 64};
  return mlir_make_integer(arena, value, &i64, out_attr);
}

hr_status_t mlir_make_string(hr_arena_t *arena, hr_str_t text, const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  HR_TRY(new_attr(arena, MLIR_ATTR_STRING, &attr));
  attr->text = text;
  *out_attr = attr;
  return NULL;
}

hr_status_t mlir_make_symbol(hr_arena_t *arena, hr_str_t root, const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  HR_TRY(new_attr(arena, MLIR_ATTR_SYMBOL, &attr));
  attr->text = root;
  *out_attr = attr;
  return NULL;
}

hr_status_t mlir_make_type_attr(hr_arena_t *arena, const mlir_type_t *type,
                                const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  HR_TRY(new_attr(arena, MLIR_ATTR_TYPE, &attr));
  attr->type = type;
  *out_attr = attr;
  return NULL;
}

hr_status_t mlir_make_array(hr_arena_t *arena, int count, const mlir_attr_t *const *items,
                            const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  void *copy;
  HR_TRY(new_attr(arena, MLIR_ATTR_ARRAY, &attr));
  HR_TRY(hr_arena_copy(arena, items, (size_t)count * sizeof *items, &copy));
  attr->count = count;
  attr->items = copy;
  attr->part_count = count;
  for (int i = 0; i < count; i++) attr->part_count += items[i] ? items[i]->part_count : 0;
  *out_attr = attr;
  return NULL;
}

/* array<i64: ...>, StableHLO's form of dimensions, sizes and strides. */
hr_status_t mlir_make_ints(hr_arena_t *arena, int64_t count, const int64_t *values,
                           const mlir_attr_t **out_attr) {
  static const mlir_type_t i64 = {.kind = MLIR_TYPE_INTEGER, .width = 64};
  mlir_attr_t *attr;
  void *copy;
  HR_TRY(new_attr(arena, MLIR_ATTR_DENSE_ARRAY, &attr));
  HR_TRY(hr_arena_copy(arena, values, (size_t)count * sizeof *values, &copy));
  attr->type = &i64;
  attr->element_count = count;
  attr->data = copy;
  *out_attr = attr;
  return NULL;
}

/* #dialect<enum_name word>. The three texts are borrowed. */
hr_status_t mlir_make_enum(hr_arena_t *arena, const char *dialect, const char *enum_name,
                           hr_str_t word, const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  HR_TRY(new_attr(arena, MLIR_ATTR_ENUM, &attr));
  attr->dialect = hr_str_from(dialect);
  attr->enum_name = hr_str_from(enum_name);
  attr->text = word;
  *out_attr = attr;
  return NULL;
}

/* Byte-wise order; a prefix is before the longer name. */
static int compare_names(const void *a, const void *b) {
  const mlir_named_attr_t *left = a;
  const mlir_named_attr_t *right = b;
  size_t shorter = left->name.size < right->name.size ? left->name.size : right->name.size;
  int order = shorter ? memcmp(left->name.data, right->name.data, shorter) : 0;
  return order ? order
               : (left->name.size > right->name.size) - (left->name.size < right->name.size);
}

/* Sorts a copy, so that the caller's list keeps its order. */
static hr_status_t copy_fields(hr_arena_t *arena, mlir_attr_t *attr, int count,
                               const mlir_named_attr_t *fields) {
  void *copy;
  HR_TRY(hr_arena_copy(arena, fields, (size_t)count * sizeof *fields, &copy));
  if (attr->kind == MLIR_ATTR_DICT && count)
    qsort(copy, (size_t)count, sizeof *fields, compare_names);
  attr->count = count;
  attr->fields = copy;
  attr->part_count = count;
  for (int i = 0; i < count; i++)
    attr->part_count += fields[i].value ? fields[i].value->part_count : 0;
  return NULL;
}

hr_status_t mlir_make_dict(hr_arena_t *arena, int count, const mlir_named_attr_t *fields,
                           const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  HR_TRY(new_attr(arena, MLIR_ATTR_DICT, &attr));
  HR_TRY(copy_fields(arena, attr, count, fields));
  *out_attr = attr;
  return NULL;
}

/* A structure such as #stablehlo.dot<...>: mnemonic and fields in printing order. */
hr_status_t mlir_make_struct(hr_arena_t *arena, hr_str_t dialect, hr_str_t mnemonic, int count,
                             const mlir_named_attr_t *fields, const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  HR_TRY(new_attr(arena, MLIR_ATTR_STRUCT, &attr));
  attr->dialect = dialect;
  attr->text = mnemonic;
  HR_TRY(copy_fields(arena, attr, count, fields));
  *out_attr = attr;
  return NULL;
}
