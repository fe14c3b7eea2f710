/* Converts attributes of VHLO to StableHLO's. VHLO writes every attribute; StableHLO omits those
 * that equal a default, has array<i64> for one-dimensional elements, and puts the fields of
 * dimension numbers into a structure:
 *
 *   VHLO       lhs_contracting_dimensions = dense<[1]>, rhs_contracting_dimensions = dense<[0]>,
 *              ...
 *   StableHLO  dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], ...>
 *
 * The second column of an attribute's row in vhlo.def selects the conversion; the inverse is
 * vhlo_downgrade.c. Values of a wrong kind are errors, as files may be hostile. */
#include <string.h>

#include "mlir/bytecode/bytecode_format.h"
#include "mlir/text/mlir_parser.h"
#include "mlir/vhlo/vhlo.h"

#define MAX_ATTRS 24   /* at least the attributes of any row */
#define MAX_SPLAT 1024 /* most elements of an expanded splat; files may claim any size */

/* State of one op's conversion: its row, the values of the row's attributes, and the converted
 * attributes. */
typedef struct upgrade {
  const mlir_module_t *module;
  hr_arena_t *arena;
  const vhlo_row_t *row;
  const mlir_attr_t *const *given;
  mlir_named_attr_t attrs[MAX_ATTRS];
  int count;
} upgrade_t;

static hr_status_t wrong(upgrade_t *up, const char *name, const char *wanted) {
  return mlir_error(up->module, NULL, "vhlo.%s: its attribute %s is not %s", up->row->wire_name,
                    name, wanted);
}

/* A row has at most MAX_ATTRS attributes, each of which adds at most one. */
static void add(upgrade_t *up, const char *name, const mlir_attr_t *value) {
  up->attrs[up->count++] = (mlir_named_attr_t){hr_str_from(name), value};
}

/* VHLO's value of another attribute of the op, for attributes that are converted together. */
static const mlir_attr_t *given_named(const upgrade_t *up, const char *name) {
  for (int i = 0; i < up->row->attr_count; i++)
    if (!strcmp(up->row->attrs[i].name, name)) return up->given[i];
  return NULL;
}

/* Length of a one-dimensional list of elements, splats expanded; -1: not a list of elements. */
static int64_t list_length(const mlir_attr_t *attr) {
  bool is_list = attr->kind == MLIR_ATTR_DENSE && attr->type->rank == 1 && attr->data &&
                 attr->type->dims[0] >= 0;
  return is_list ? attr->type->dims[0] : -1;
}

/* 64-bit elements as array<i64>; a list that is array<i64> already (a field of a structure read as
 * such) is returned unchanged. */
static hr_status_t make_ints(upgrade_t *up, const char *name, const mlir_attr_t *attr,
                             const mlir_attr_t **out_attr) {
  int64_t count = list_length(attr);
  int64_t *values;
  if (attr->kind == MLIR_ATTR_DENSE_ARRAY) {
    *out_attr = attr;
    return NULL;
  }
  bool fits = count >= 0 && attr->type->element->kind == MLIR_TYPE_INTEGER &&
              attr->type->element->width == 64;
  if (!fits || (attr->splat && count > MAX_SPLAT))
    return wrong(up, name, "a list of 64-bit integers");
  HR_TRY(HR_NEW_ARRAY(up->arena, count, &values));
  for (int64_t i = 0; i < count; i++)
    values[i] = ((const int64_t *)attr->data)[attr->splat ? 0 : i];
  return mlir_make_ints(up->arena, count, values, out_attr);
}

/* Elements of i1 as array<i1>. */
static hr_status_t make_bools(upgrade_t *up, const char *name, const mlir_attr_t *attr,
                              const mlir_attr_t **out_attr) {
  int64_t count = list_length(attr);
  mlir_attr_t *list;
  uint8_t *values;
  bool fits = count >= 0 && attr->type->element->kind == MLIR_TYPE_INTEGER &&
              attr->type->element->width == 1;
  if (!fits || (attr->splat && count > MAX_SPLAT)) return wrong(up, name, "a list of truth values");
  HR_TRY(HR_NEW(up->arena, &list));
  HR_TRY(HR_NEW_ARRAY(up->arena, count, &values));
  for (int64_t i = 0; i < count; i++)
    values[i] = ((const uint8_t *)attr->data)[attr->splat ? 0 : i];
  *list = (mlir_attr_t){.kind = MLIR_ATTR_DENSE_ARRAY,
                        .type = attr->type->element,
                        .data = values,
                        .element_count = count};
  *out_attr = list;
  return NULL;
}

/* Vacuously true for an empty list. */
static bool all_are(const mlir_attr_t *ints, int64_t value) {
  for (int64_t i = 0; i < ints->element_count; i++)
    if (((const int64_t *)ints->data)[i] != value) return false;
  return true;
}

/* True if all bytes of the elements are 0. */
static bool all_zero(const mlir_attr_t *attr) {
  const mlir_type_t *element = attr->kind == MLIR_ATTR_DENSE ? attr->type->element : attr->type;
  size_t size = (size_t)attr->element_count * mlir_element_bytes(element);
  const char *bytes = attr->data;
  for (size_t i = 0; i < size; i++)
    if (bytes[i]) return false;
  return true;
}

/* Omits lists that equal their default. */
static hr_status_t add_ints(upgrade_t *up, const vhlo_attr_t *attr, const mlir_attr_t *value) {
  const mlir_attr_t *ints;
  HR_TRY(make_ints(up, attr->name, value, &ints));
  bool absent = attr->how == VHLO_INTS_NONE ? !ints->element_count
                                            : attr->how == VHLO_INTS_ONES && all_are(ints, 1);
  if (!absent) add(up, attr->name, ints);
  return NULL;
}

static hr_status_t add_bools(upgrade_t *up, const vhlo_attr_t *attr, const mlir_attr_t *value) {
  const mlir_attr_t *bools = NULL;
  HR_TRY(make_bools(up, attr->name, value, &bools));
  if (!all_zero(bools)) add(up, attr->name, bools);
  return NULL;
}

/* Replica groups as axes of a mesh; VHLO names the mesh by a string. */
static hr_status_t add_mesh_axes(upgrade_t *up, const vhlo_attr_t *attr, const mlir_attr_t *value) {
  const mlir_attr_t *mesh = mlir_attr_field(value, "mesh");
  const mlir_attr_t *axes = mlir_attr_field(value, "axes");
  const mlir_attr_t *groups;
  if (!mesh || !axes) return wrong(up, attr->name, "a list of elements");
  if (mesh->kind == MLIR_ATTR_STRING) HR_TRY(mlir_make_symbol(up->arena, mesh->text, &mesh));
  const mlir_named_attr_t fields[] = {{HR_STR("mesh"), mesh}, {HR_STR("axes"), axes}};
  HR_TRY(mlir_make_struct(up->arena, HR_STR("stablehlo"), value->text, 2, fields, &groups));
  add(up, attr->name, groups);
  return NULL;
}

/* Omits elements that equal their default. */
static hr_status_t add_dense(upgrade_t *up, const vhlo_attr_t *attr, const mlir_attr_t *value) {
  if (attr->how == VHLO_DENSE && value->kind == MLIR_ATTR_STRUCT)
    return add_mesh_axes(up, attr, value);
  if (value->kind != MLIR_ATTR_DENSE) return wrong(up, attr->name, "a list of elements");
  bool absent = (attr->how == VHLO_DENSE_ZERO && all_zero(value)) ||
                (attr->how == VHLO_DENSE_NONE && !value->element_count);
  if (!absent) add(up, attr->name, value);
  return NULL;
}

/* A true FLAG is a unit in StableHLO, a true BOOL_FALSE stays a bool. */
static hr_status_t add_bool(upgrade_t *up, const vhlo_attr_t *attr, const mlir_attr_t *value) {
  if (value->kind != MLIR_ATTR_BOOL) return wrong(up, attr->name, "true or false");
  if (!value->integer) return NULL;
  if (attr->how == VHLO_FLAG) HR_TRY(mlir_make_unit(up->arena, &value));
  add(up, attr->name, value);
  return NULL;
}

/* The value omitted in StableHLO is 0, -1 or, for api_version, 1. */
static hr_status_t add_number(upgrade_t *up, const vhlo_attr_t *attr, const mlir_attr_t *value) {
  if (value->kind != MLIR_ATTR_INTEGER) return wrong(up, attr->name, "an integer");
  int64_t fallback = attr->how == VHLO_MINUS_ONE ? -1 : 1;
  if (attr->how == VHLO_ZERO) fallback = 0;
  if (value->integer != fallback) add(up, attr->name, value);
  return NULL;
}

/* VHLO represents symbols as strings. */
static hr_status_t add_symbol(upgrade_t *up, const vhlo_attr_t *attr, const mlir_attr_t *value) {
  const mlir_attr_t *symbol;
  if (value->kind != MLIR_ATTR_STRING) return wrong(up, attr->name, "a string");
  HR_TRY(mlir_make_symbol(up->arena, value->text, &symbol));
  add(up, attr->name, symbol);
  return NULL;
}

/* Strings become symbol references. */
static hr_status_t add_symbols(upgrade_t *up, const vhlo_attr_t *attr, const mlir_attr_t *value) {
  const mlir_attr_t **items, *array;
  if (value->kind != MLIR_ATTR_ARRAY) return wrong(up, attr->name, "an array");
  if (!value->count) return NULL;
  HR_TRY(HR_NEW_ARRAY(up->arena, value->count, &items));
  for (int i = 0; i < value->count; i++) {
    if (value->items[i]->kind != MLIR_ATTR_STRING)
      return wrong(up, attr->name, "an array of strings");
    HR_TRY(mlir_make_symbol(up->arena, value->items[i]->text, &items[i]));
  }
  HR_TRY(mlir_make_array(up->arena, value->count, items, &array));
  add(up, attr->name, array);
  return NULL;
}

/* True if the attribute has the kind required by `how`. */
static bool has_kind(vhlo_how_t how, const mlir_attr_t *value) {
  switch (how) {
    case VHLO_TEXT:
    case VHLO_TEXT_NONE:
      return value->kind == MLIR_ATTR_STRING;
    case VHLO_LIST_NONE:
    case VHLO_LAYOUTS:
    case VHLO_PRECISION:
      return value->kind == MLIR_ATTR_ARRAY;
    case VHLO_DICT_NONE:
      return value->kind == MLIR_ATTR_DICT;
    case VHLO_CONFIG:
      return value->kind == MLIR_ATTR_STRING || value->kind == MLIR_ATTR_DICT;
    case VHLO_ACCURACY:
      return value->kind == MLIR_ATTR_STRUCT;
    case VHLO_NOTYPE:
      return value->kind == MLIR_ATTR_ENUM;
    default:
      return true;
  }
}

/* Empty strings, arrays and dictionaries stand for absence. */
static bool is_empty(const mlir_attr_t *value) {
  switch (value->kind) {
    case MLIR_ATTR_STRING:
      return !value->text.size;
    case MLIR_ATTR_ARRAY:
    case MLIR_ATTR_DICT:
      return !value->count;
    default:
      return false;
  }
}

static bool is_word(const mlir_attr_t *value, const char *word) {
  return value->kind == MLIR_ATTR_ENUM && hr_str_is(value->text, word);
}

/* An empty array of precisions is the default, too. */
static bool all_default(const mlir_attr_t *value) {
  for (int i = 0; value->kind == MLIR_ATTR_ARRAY && i < value->count; i++)
    if (!is_word(value->items[i], "DEFAULT")) return false;
  return true;
}

/* VHLO's default has all four fields: no tolerance, mode DEFAULT. */
static bool is_default_accuracy(const mlir_attr_t *value) {
  const mlir_attr_t *atol = mlir_attr_field(value, "atol");
  const mlir_attr_t *rtol = mlir_attr_field(value, "rtol");
  const mlir_attr_t *ulps = mlir_attr_field(value, "ulps");
  const mlir_attr_t *mode = mlir_attr_field(value, "mode");
  return atol && rtol && ulps && mode && atol->number == 0 && rtol->number == 0 &&
         ulps->integer == 0 && is_word(mode, "DEFAULT");
}

/* VHLO has handle and type of a channel as two attributes, StableHLO as one structure. Collectives
 * have no type in VHLO; theirs becomes 0 (unknown). */
static hr_status_t add_channel(upgrade_t *up, const vhlo_attr_t *attr, const mlir_attr_t *value) {
  const mlir_attr_t *type = given_named(up, "channel_type");
  const mlir_attr_t *channel;
  if (value->kind != MLIR_ATTR_INTEGER || (type && type->kind != MLIR_ATTR_INTEGER))
    return wrong(up, attr->name, "an integer");
  if (attr->how == VHLO_CHANNEL && !value->integer) return NULL;
  if (!type) HR_TRY(mlir_make_i64(up->arena, 0, &type));
  const mlir_named_attr_t fields[] = {{HR_STR("handle"), value}, {HR_STR("type"), type}};
  HR_TRY(mlir_make_struct(up->arena, HR_STR("stablehlo"), HR_STR("channel_handle"), 2, fields,
                          &channel));
  add(up, "channel_handle", channel);
  return NULL;
}

/* For a dot without an algorithm, the first field is the type `none`. */
static bool is_none_type(const mlir_attr_t *value) {
  return value && value->kind == MLIR_ATTR_TYPE && value->type->kind == MLIR_TYPE_NONE;
}

/* Checks a field's kind, and converts elements to array<i64> for a field that is a list. */
static hr_status_t struct_field(upgrade_t *up, const bytecode_field_t *field,
                                const mlir_attr_t *value, const mlir_attr_t **out_value) {
  *out_value = value;
  switch (field->kind) {
    case BYTECODE_INTS:
    case BYTECODE_NEW_INTS:
      return make_ints(up, field->name, value, out_value);
    case BYTECODE_INT:
      return value->kind == MLIR_ATTR_INTEGER ? NULL : wrong(up, field->name, "an integer");
    case BYTECODE_TYPE:
      return value->kind == MLIR_ATTR_TYPE ? NULL : wrong(up, field->name, "a type");
    default:
      return value->kind == MLIR_ATTR_BOOL ? NULL : wrong(up, field->name, "true or false");
  }
}

/* Adds the structure at the first of its fields; later fields find it. Empty batching dimensions
 * are omitted, as files before version 1.1 do not have them. */
static hr_status_t add_struct(upgrade_t *up, const vhlo_attr_t *attr) {
  const char *mnemonic = vhlo_struct_mnemonic(attr->how);
  const char *name = vhlo_struct_attr(attr->how, HR_STR("op"));
  const bytecode_struct_t *row = bytecode_struct_named("stablehlo", hr_str_from(mnemonic));
  mlir_named_attr_t fields[sizeof row->fields / sizeof *row->fields];
  const mlir_attr_t *value;
  int count = 0;
  for (int i = 0; i < up->count; i++)
    if (hr_str_is(up->attrs[i].name, name)) return NULL;
  if (attr->how == VHLO_ALGORITHM && is_none_type(given_named(up, "lhs_component_count")))
    return NULL;
  for (const bytecode_field_t *field = row->fields; field->name; field++) {
    const mlir_attr_t *given = given_named(up, field->name);
    if (!given) continue;
    HR_TRY(struct_field(up, field, given, &value));
    bool no_batching = field->kind == BYTECODE_NEW_INTS && !value->element_count;
    if (!no_batching) fields[count++] = (mlir_named_attr_t){hr_str_from(field->name), value};
  }
  HR_TRY(mlir_make_struct(up->arena, HR_STR("stablehlo"), hr_str_from(mnemonic), count, fields,
                          &value));
  add(up, name, value);
  return NULL;
}

/* operand_layouts and result_layouts are omitted together, when both are empty. */
static bool layouts_absent(const upgrade_t *up) {
  const mlir_attr_t *operands = given_named(up, "operand_layouts");
  const mlir_attr_t *results = given_named(up, "result_layouts");
  return operands && results && is_empty(operands) && is_empty(results);
}

/* True if StableHLO omits an attribute with this value, for kinds with the same value in both
 * dialects. */
static bool repeats_default(const upgrade_t *up, vhlo_how_t how, const mlir_attr_t *value) {
  switch (how) {
    case VHLO_TEXT_NONE:
    case VHLO_LIST_NONE:
    case VHLO_DICT_NONE:
    case VHLO_CONFIG:
      return is_empty(value);
    case VHLO_PRECISION:
      return all_default(value);
    case VHLO_ACCURACY:
      return is_default_accuracy(value);
    case VHLO_NOTYPE:
      return is_word(value, "NOTYPE");
    case VHLO_LAYOUTS:
      return layouts_absent(up);
    default:
      return false; /* SAME, TEXT */
  }
}

/* Converts one attribute by its row's `how` (vhlo.def). */
static hr_status_t upgrade_one(upgrade_t *up, const vhlo_attr_t *attr, const mlir_attr_t *value) {
  if (!has_kind(attr->how, value)) return wrong(up, attr->name, "of the right kind");
  switch (attr->how) {
    case VHLO_INTS:
    case VHLO_INTS_NONE:
    case VHLO_INTS_ONES:
      return add_ints(up, attr, value);
    case VHLO_BOOLS_FALSE:
      return add_bools(up, attr, value);
    case VHLO_DENSE:
    case VHLO_DENSE_ZERO:
    case VHLO_DENSE_NONE:
      return add_dense(up, attr, value);
    case VHLO_FLAG:
    case VHLO_BOOL_FALSE:
      return add_bool(up, attr, value);
    case VHLO_ZERO:
    case VHLO_MINUS_ONE:
    case VHLO_API:
      return add_number(up, attr, value);
    case VHLO_SYMBOL:
      return add_symbol(up, attr, value);
    case VHLO_SYMBOLS:
      return add_symbols(up, attr, value);
    case VHLO_CHANNEL:
    case VHLO_CHANNEL_ALWAYS:
      return add_channel(up, attr, value);
    case VHLO_DOT:
    case VHLO_GATHER:
    case VHLO_SCATTER:
    case VHLO_CONV:
    case VHLO_ALGORITHM:
      return add_struct(up, attr);
    case VHLO_IGNORED:
    case VHLO_CHANNEL_TYPE:
      return NULL;
    default:
      break;
  }
  if (!repeats_default(up, attr->how, value)) add(up, attr->name, value);
  return NULL;
}

/* VHLO writes all attributes of a row; a missing one is an error. */
hr_status_t vhlo_upgrade_attrs(const mlir_module_t *module, hr_arena_t *arena,
                               const vhlo_row_t *row, const mlir_attr_t *const *given,
                               int *out_count, const mlir_named_attr_t **out_attrs) {
  upgrade_t up = {.module = module, .arena = arena, .row = row, .given = given};
  const mlir_attr_t *sorted;
  for (int i = 0; i < row->attr_count; i++) {
    if (!given[i])
      return mlir_error(module, NULL, "vhlo.%s: its attribute %s is missing", row->wire_name,
                        row->attrs[i].name);
    HR_TRY(upgrade_one(&up, &row->attrs[i], given[i]));
  }
  HR_TRY(mlir_make_dict(up.arena, up.count, up.attrs, &sorted));
  *out_count = up.count;
  *out_attrs = sorted->fields;
  return NULL;
}
