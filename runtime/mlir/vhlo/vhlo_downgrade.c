/* Converts attributes of StableHLO to VHLO's, the inverse of vhlo_upgrade.c: every attribute of
 * the row is written, so that absent ones get their defaults and fields of structures become
 * attributes.
 * An old version may lack attributes of the newest form of an op. In the program they must be
 * absent or have the value that readers of the old form assume: check_new_attrs compares the
 * attributes of the op with those of an op without attributes. */
#include <string.h>

#include "mlir/bytecode/bytecode_format.h"
#include "mlir/text/mlir_parser.h"
#include "mlir/vhlo/vhlo.h"

/* The op being converted, and the target version of VHLO. */
typedef struct downgrade {
  const mlir_module_t *module;
  hr_arena_t *arena;
  const mlir_op_t *op;
  int version;
} downgrade_t;

/* Number of window dimensions, for defaults of one entry each: the spatial dimensions of a
 * convolution, the window_dimensions of a reduction, else the rank of the first operand. */
static int64_t window_rank(const mlir_op_t *op) {
  const mlir_attr_t *spatial =
      mlir_attr_field(mlir_op_attr(op, "dimension_numbers"), "input_spatial_dimensions");
  const mlir_attr_t *window = mlir_op_attr(op, "window_dimensions");
  if (spatial) return spatial->element_count;
  if (window && window->kind == MLIR_ATTR_DENSE_ARRAY) return window->element_count;
  const mlir_type_t *type = window              ? window->type
                            : op->operand_count ? op->operands[0]->type
                                                : NULL;
  if (window && type && type->rank == 1) return type->dims[0];
  return type ? type->rank : 0;
}

/* array<i64> with `count` times `value`. */
static hr_status_t repeated(downgrade_t *down, int64_t count, int64_t value,
                            const mlir_attr_t **out_attr) {
  int64_t *values;
  HR_TRY(HR_NEW_ARRAY(down->arena, count, &values));
  for (int64_t i = 0; i < count; i++) values[i] = value;
  return mlir_make_ints(down->arena, count, values, out_attr);
}

/* No reversal of any window dimension. */
static hr_status_t no_reversal(downgrade_t *down, const mlir_attr_t **out_attr) {
  static const mlir_type_t i1 = {.kind = MLIR_TYPE_INTEGER, .width = 1};
  mlir_attr_t *attr;
  uint8_t *values;
  int64_t count = window_rank(down->op);
  HR_TRY(HR_NEW(down->arena, &attr));
  HR_TRY(HR_NEW_ARRAY(down->arena, count, &values));
  *attr = (mlir_attr_t){
      .kind = MLIR_ATTR_DENSE_ARRAY, .type = &i1, .data = values, .element_count = count};
  *out_attr = attr;
  return NULL;
}

/* Zeros as tensor<Nx2xi64>: low and high padding of each window dimension. */
static hr_status_t no_padding(downgrade_t *down, const mlir_attr_t **out_attr) {
  static const mlir_type_t i64 = {.kind = MLIR_TYPE_INTEGER, .width = 64};
  const int64_t dims[2] = {window_rank(down->op), 2};
  mlir_attr_t *attr;
  int64_t *zero;
  HR_TRY(HR_NEW(down->arena, &attr));
  HR_TRY(HR_NEW(down->arena, &zero));
  HR_TRY(mlir_make_tensor_type(down->arena, &i64, 2, dims, &attr->type));
  attr->kind = MLIR_ATTR_DENSE;
  attr->data = zero;
  attr->splat = dims[0] > 0;
  attr->element_count = dims[0] > 0;
  *out_attr = attr;
  return NULL;
}

/* One precision for each of the two operands. */
static hr_status_t default_precision(downgrade_t *down, const mlir_attr_t **out_attr) {
  const mlir_attr_t *items[2];
  for (int i = 0; i < 2; i++)
    HR_TRY(mlir_make_enum(down->arena, "stablehlo", "precision", HR_STR("DEFAULT"), &items[i]));
  return mlir_make_array(down->arena, 2, items, out_attr);
}

/* Only the mode is set: the writer puts 0 for missing numbers of a structure. */
static hr_status_t default_accuracy(downgrade_t *down, const mlir_attr_t **out_attr) {
  mlir_named_attr_t mode = {HR_STR("mode"), NULL};
  HR_TRY(mlir_make_enum(down->arena, "stablehlo", "result_accuracy_mode", HR_STR("DEFAULT"),
                        &mode.value));
  return mlir_make_struct(down->arena, HR_STR("stablehlo"), HR_STR("result_accuracy"), 1, &mode,
                          out_attr);
}

/* backend_config is a dictionary for API version 4 of custom calls, a string for the others. */
static hr_status_t default_config(downgrade_t *down, const mlir_attr_t **out_attr) {
  const mlir_attr_t *api = mlir_op_attr(down->op, "api_version");
  bool typed = api && api->kind == MLIR_ATTR_INTEGER && api->integer == 4;
  return typed ? mlir_make_dict(down->arena, 0, NULL, out_attr)
               : mlir_make_string(down->arena, HR_STR(""), out_attr);
}

static hr_status_t make_i32(downgrade_t *down, int64_t value, const mlir_attr_t **out_attr) {
  static const mlir_type_t i32 = {.kind = MLIR_TYPE_INTEGER, .width = 32};
  return mlir_make_integer(down->arena, value, &i32, out_attr);
}

/* A field of channel_handle. */
static hr_status_t channel_field(downgrade_t *down, const char *field,
                                 const mlir_attr_t **out_attr) {
  *out_attr = mlir_attr_field(mlir_op_attr(down->op, "channel_handle"), field);
  return *out_attr ? NULL : mlir_make_i64(down->arena, 0, out_attr);
}

/* The type that marks a dot without an algorithm in VHLO. */
static hr_status_t none_type(downgrade_t *down, const mlir_attr_t **out_attr) {
  static const mlir_type_t none = {.kind = MLIR_TYPE_NONE};
  return mlir_make_type_attr(down->arena, &none, out_attr);
}

/* A field of a structure; a field that StableHLO omits is 0 or an empty list. */
static hr_status_t struct_field(downgrade_t *down, const vhlo_attr_t *attr,
                                const mlir_attr_t **out_attr) {
  const mlir_attr_t *whole = mlir_op_attr(down->op, vhlo_struct_attr(attr->how, down->op->name));
  *out_attr = mlir_attr_field(whole, attr->name);
  if (*out_attr) return NULL;
  if (attr->how == VHLO_ALGORITHM) return none_type(down, out_attr);
  const bytecode_struct_t *row =
      bytecode_struct_named("stablehlo", hr_str_from(vhlo_struct_mnemonic(attr->how)));
  for (const bytecode_field_t *field = row->fields; field->name; field++)
    if (!strcmp(field->name, attr->name) && field->kind == BYTECODE_INT)
      return mlir_make_i64(down->arena, 0, out_attr);
  return mlir_make_ints(down->arena, 0, NULL, out_attr);
}

/* The default of an absent attribute. */
static hr_status_t default_for(downgrade_t *down, const vhlo_attr_t *attr,
                               const mlir_attr_t **out_attr) {
  switch (attr->how) {
    case VHLO_INTS_NONE:
    case VHLO_DENSE_NONE:
      return mlir_make_ints(down->arena, 0, NULL, out_attr);
    case VHLO_INTS_ONES:
      return repeated(down, window_rank(down->op), 1, out_attr);
    case VHLO_BOOLS_FALSE:
      return no_reversal(down, out_attr);
    case VHLO_DENSE_ZERO:
    case VHLO_IGNORED:
      return no_padding(down, out_attr);
    case VHLO_FLAG:
    case VHLO_BOOL_FALSE:
      return mlir_make_bool(down->arena, false, out_attr);
    case VHLO_ZERO:
      return mlir_make_i64(down->arena, 0, out_attr);
    case VHLO_MINUS_ONE:
      return mlir_make_i64(down->arena, -1, out_attr);
    case VHLO_API:
      return make_i32(down, 1, out_attr);
    case VHLO_TEXT:
    case VHLO_TEXT_NONE:
      return mlir_make_string(down->arena, HR_STR(""), out_attr);
    case VHLO_SYMBOLS:
    case VHLO_LIST_NONE:
    case VHLO_LAYOUTS:
      return mlir_make_array(down->arena, 0, NULL, out_attr);
    case VHLO_DICT_NONE:
      return mlir_make_dict(down->arena, 0, NULL, out_attr);
    case VHLO_CONFIG:
      return default_config(down, out_attr);
    case VHLO_PRECISION:
      return default_precision(down, out_attr);
    case VHLO_ACCURACY:
      return default_accuracy(down, out_attr);
    case VHLO_NOTYPE:
      return mlir_make_enum(down->arena, "stablehlo", "comparison_type", HR_STR("NOTYPE"),
                            out_attr);
    default:
      return mlir_error(down->module, down->op, "its attribute %s is missing", attr->name);
  }
}

/* VHLO's value of one attribute of the row: the op's own value converted, or the default. */
static hr_status_t downgrade_one(downgrade_t *down, const vhlo_attr_t *attr,
                                 const mlir_attr_t **out_attr) {
  switch (attr->how) {
    case VHLO_CHANNEL:
    case VHLO_CHANNEL_ALWAYS:
      return channel_field(down, "handle", out_attr);
    case VHLO_CHANNEL_TYPE:
      return channel_field(down, "type", out_attr);
    case VHLO_DOT:
    case VHLO_GATHER:
    case VHLO_SCATTER:
    case VHLO_CONV:
    case VHLO_ALGORITHM:
      return struct_field(down, attr, out_attr);
    case VHLO_IGNORED:
      return default_for(down, attr, out_attr);
    default:
      break;
  }
  *out_attr = mlir_op_attr(down->op, attr->name);
  if (!*out_attr) return default_for(down, attr, out_attr);
  bool is_mesh = attr->how == VHLO_DENSE && (*out_attr)->kind == MLIR_ATTR_STRUCT;
  if (is_mesh && down->version < VHLO_SINCE_MESH_AXES)
    return mlir_error(down->module, down->op,
                      "replica groups by the axes of a mesh need version 1.16 of VHLO or newer");
  bool is_flag = (attr->how == VHLO_FLAG || attr->how == VHLO_BOOL_FALSE) &&
                 (*out_attr)->kind == MLIR_ATTR_UNIT;
  return is_flag ? mlir_make_bool(down->arena, true, out_attr) : NULL;
}

/* The row of the same op with the highest version. */
static const vhlo_row_t *newest_row(const vhlo_row_t *row) {
  for (int i = 0; i < vhlo_row_count; i++)
    if (!strcmp(vhlo_rows[i].stablehlo_name, row->stablehlo_name) &&
        vhlo_rows[i].version > row->version)
      row = &vhlo_rows[i];
  return row;
}

static bool is_empty_list(const mlir_attr_t *attr) {
  bool is_list = attr->kind == MLIR_ATTR_DENSE || attr->kind == MLIR_ATTR_DENSE_ARRAY;
  return is_list && !attr->element_count;
}

/* A number that is 0, or an empty list: a structure may leave it out. */
static bool is_nothing(const mlir_attr_t *attr) {
  if (attr->kind == MLIR_ATTR_INTEGER) return attr->integer == 0;
  if (attr->kind == MLIR_ATTR_FLOAT) return attr->number == 0;
  return is_empty_list(attr);
}

/* True if each field of `a` has the value that `b` has for it, or that an absent field stands
 * for. */
static bool fields_are_of(const mlir_attr_t *a, const mlir_attr_t *b) {
  for (int i = 0; i < a->count; i++) {
    const mlir_attr_t *field = a->fields[i].value, *other = NULL;
    for (int k = 0; k < b->count; k++)
      if (hr_str_equal(a->fields[i].name, b->fields[k].name)) other = b->fields[k].value;
    if (other ? !mlir_attr_equal(field, other) : !is_nothing(field)) return false;
  }
  return true;
}

/* True if both mean the same, however they are written. */
static bool means_same(const mlir_attr_t *a, const mlir_attr_t *b) {
  if (mlir_attr_equal(a, b) || (is_empty_list(a) && is_empty_list(b))) return true;
  bool are_structs = a->kind == MLIR_ATTR_STRUCT && b->kind == MLIR_ATTR_STRUCT;
  return are_structs && fields_are_of(a, b) && fields_are_of(b, a);
}

/* Attributes that only the newest form has must equal what the old form implies; see the file's
 * head. */
static hr_status_t check_new_attrs(downgrade_t *down, const vhlo_row_t *row,
                                   const vhlo_row_t *newest) {
  for (int i = 0; i < newest->attr_count; i++) {
    const vhlo_attr_t *attr = &newest->attrs[i];
    const mlir_attr_t *value, *neutral;
    bool shared = false;
    for (int k = 0; k < row->attr_count; k++) shared |= !strcmp(row->attrs[k].name, attr->name);
    if (shared) continue;
    HR_TRY(downgrade_one(down, attr, &value));
    mlir_op_t bare = *down->op;
    bare.attr_count = 0;
    bare.extra_count = 0;
    downgrade_t without = {down->module, down->arena, &bare, down->version};
    HR_TRY(downgrade_one(&without, attr, &neutral));
    if (means_same(value, neutral)) continue;
    return hr_error(HR_UNSUPPORTED, "%.*s: %s has no form in this version of VHLO",
                    HR_STR_ARGS(down->op->name), attr->name);
  }
  return NULL;
}

/* Old forms of collectives take one operand, old composites have no regions. */
static bool fits_form(const vhlo_row_t *row, const mlir_op_t *op) {
  static const char *const single[] = {"all_gather_v1", "all_reduce_v1", "all_to_all_v1",
                                       "collective_broadcast_v1"};
  for (size_t i = 0; i < sizeof single / sizeof *single; i++)
    if (!strcmp(row->wire_name, single[i])) return op->operand_count == 1;
  return strcmp(row->wire_name, "composite_v1") || !op->region_count;
}

static bool is_f8(const mlir_attr_t *type) {
  return type && type->type && type->type->kind == MLIR_TYPE_FLOAT &&
         hr_str_is(type->type->name, "f8E4M3FN");
}

/* Version 1.21 added products of f8E4M3FN in three and four steps. */
static hr_status_t check_algorithm(int version, const mlir_op_t *op) {
  const mlir_attr_t *algorithm = mlir_op_attr(op, "algorithm");
  const mlir_attr_t *steps = mlir_attr_field(algorithm, "num_primitive_operations");
  if (version >= VHLO_SINCE_F8_STEPS || !steps || steps->kind != MLIR_ATTR_INTEGER ||
      steps->integer < 2)
    return NULL;
  if (!is_f8(mlir_attr_field(algorithm, "lhs_precision_type"))) return NULL;
  return hr_error(HR_UNSUPPORTED,
                  "%.*s: products of f8E4M3FN in %ld steps in VHLO before version 1.21",
                  HR_STR_ARGS(op->name), (long)steps->integer);
}

static bool has_future(const mlir_op_t *op) {
  for (int k = 0; k < op->operand_count; k++)
    if (op->operands[k]->type->kind == MLIR_TYPE_FUTURE) return true;
  for (int i = 0; i < op->result_count; i++)
    if (op->results[i].type->kind == MLIR_TYPE_FUTURE) return true;
  return false;
}

static hr_status_t check_future_call(int version, const mlir_op_t *op) {
  if (version >= VHLO_SINCE_FUTURE_CALLS || !hr_str_is(op->name, "stablehlo.custom_call") ||
      !has_future(op))
    return NULL;
  return hr_error(HR_UNSUPPORTED, "%.*s: futures of custom calls in VHLO before version 1.17",
                  HR_STR_ARGS(op->name));
}

/* `row` is the op's form in this version, maybe not the newest. */
hr_status_t vhlo_downgrade_attrs(const mlir_module_t *module, hr_arena_t *arena, int version,
                                 const vhlo_row_t *row, const mlir_op_t *op,
                                 const mlir_attr_t **out_given) {
  downgrade_t down = {module, arena, op, version};
  const vhlo_row_t *newest = newest_row(row);
  if (!fits_form(row, op))
    return hr_error(HR_UNSUPPORTED,
                    "%.*s: this version of VHLO has no form with so many operands or regions",
                    HR_STR_ARGS(op->name));
  HR_TRY(check_algorithm(version, op));
  HR_TRY(check_future_call(version, op));
  if (newest != row) HR_TRY(check_new_attrs(&down, row, newest));
  for (int i = 0; i < row->attr_count; i++)
    HR_TRY(downgrade_one(&down, &row->attrs[i], &out_given[i]));
  return NULL;
}
