/* Attributes of MLIR ops as numbers, lists, enumerations and HLO attributes. Old and new spellings
 * (dense elements, arrays, array<i64>) are all accepted; for absent attributes the caller's
 * fallback is returned. */
#include <string.h>

#include "mlir/text/mlir_print.h"
#include "stablehlo/import/import.h"

/* True for an integer or a bool; false for NULL. */
static bool is_number(const mlir_attr_t *attr) {
  return attr && (attr->kind == MLIR_ATTR_INTEGER || attr->kind == MLIR_ATTR_BOOL);
}

/* Returns the fallback if the attribute is absent or not a number. */
int64_t import_int(const mlir_op_t *op, const char *name, int64_t fallback) {
  const mlir_attr_t *attr = mlir_op_attr(op, name);
  return is_number(attr) ? attr->integer : fallback;
}

/* A unit is true. */
bool import_bool(const mlir_op_t *op, const char *name, bool fallback) {
  const mlir_attr_t *attr = mlir_op_attr(op, name);
  if (!attr) return fallback;
  return attr->kind == MLIR_ATTR_UNIT || (is_number(attr) && attr->integer != 0);
}

double import_float(const mlir_op_t *op, const char *name, double fallback) {
  const mlir_attr_t *attr = mlir_op_attr(op, name);
  return attr && attr->kind == MLIR_ATTR_FLOAT ? attr->number : fallback;
}

/* A string's text or a symbol's root name; "" for anything else. */
hr_str_t import_str(const mlir_op_t *op, const char *name) {
  const mlir_attr_t *attr = mlir_op_attr(op, name);
  bool has_text = attr && (attr->kind == MLIR_ATTR_STRING || attr->kind == MLIR_ATTR_SYMBOL);
  return has_text ? attr->text : (hr_str_t){"", 0};
}

/* Type of the integers in a list of elements; NULL for other elements, or without data. */
static const mlir_type_t *integers_of(const mlir_attr_t *attr) {
  if (attr->kind != MLIR_ATTR_DENSE && attr->kind != MLIR_ATTR_DENSE_ARRAY) return NULL;
  const mlir_type_t *element = attr->kind == MLIR_ATTR_DENSE ? attr->type->element : attr->type;
  bool integers =
      element && (element->kind == MLIR_TYPE_INDEX || element->kind == MLIR_TYPE_INTEGER);
  return integers && mlir_element_bytes(element) <= 8 && (attr->data || !attr->element_count)
             ? element
             : NULL;
}

/* Element `index`, sign-extended unless it is an i1. */
static int64_t element_at(const mlir_attr_t *attr, const mlir_type_t *element, int64_t index) {
  size_t each = mlir_element_bytes(element);
  const char *at = (const char *)attr->data + (attr->splat ? 0 : (size_t)index * each);
  switch (each) {
    case 1:
      return element->width == 1 ? *(const uint8_t *)at : *(const int8_t *)at;
    case 2:
      return *(const int16_t *)at;
    case 4:
      return *(const int32_t *)at;
    default:
      return *(const int64_t *)at;
  }
}

/* Number of elements, splats expanded. */
static int64_t element_total(const mlir_attr_t *attr) {
  if (!attr->splat) return attr->element_count;
  int64_t total = 1;
  for (int d = 0; d < attr->type->rank; d++) total *= attr->type->dims[d];
  return total;
}

/* Integers of an attribute in any of the three spellings; at most 2^24, as splats may claim any
 * number. */
hr_status_t import_ints_of(import_scope_t *scope, const mlir_attr_t *attr, hr_ints_t *out_ints) {
  const mlir_type_t *elements = integers_of(attr);
  bool listed = attr->kind == MLIR_ATTR_ARRAY;
  for (int i = 0; listed && i < attr->count; i++) listed = is_number(attr->items[i]);
  if (!elements && !listed)
    return import_error(scope, scope->importer->at, "want a list of integers");
  int64_t count = elements ? element_total(attr) : attr->count;
  if (count > 1 << 24)
    return import_error(scope, scope->importer->at, "a list of %ld integers, want fewer",
                        (long)count);
  int64_t *values;
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, count, &values));
  for (int64_t i = 0; i < count; i++)
    values[i] = elements ? element_at(attr, elements, i) : attr->items[i]->integer;
  *out_ints = (hr_ints_t){values, count};
  return NULL;
}

/* If absent: `count` copies of the fallback. */
hr_status_t import_ints(import_scope_t *scope, const mlir_op_t *op, const char *name, int64_t count,
                        int64_t fallback, hr_ints_t *out_ints) {
  const mlir_attr_t *attr = mlir_op_attr(op, name);
  if (attr) return import_ints_of(scope, attr, out_ints);
  int64_t *values;
  if (count < 0) count = 0;
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, count, &values));
  for (int64_t i = 0; i < count; i++) values[i] = fallback;
  *out_ints = (hr_ints_t){values, count};
  return NULL;
}

/* Old files have one-dimensional lists as dense elements; matrices are refused. */
hr_status_t import_list(import_scope_t *scope, const mlir_op_t *op, const char *name, int64_t count,
                        int64_t fallback, hr_ints_t *out_ints) {
  const mlir_attr_t *attr = mlir_op_attr(op, name);
  if (attr && attr->kind == MLIR_ATTR_DENSE && attr->type && attr->type->rank > 1)
    return import_error(scope, op, "%s is of rank %d, want a list", name, attr->type->rank);
  return import_ints(scope, op, name, count, fallback, out_ints);
}

/* An absent field is an empty list. */
hr_status_t import_field_ints(import_scope_t *scope, const mlir_op_t *op, const char *attr,
                              const char *field, hr_ints_t *out_ints) {
  const mlir_attr_t *value = mlir_attr_field(mlir_op_attr(op, attr), field);
  *out_ints = (hr_ints_t){NULL, 0};
  return value ? import_ints_of(scope, value, out_ints) : NULL;
}

/* A field of a struct attribute, such as #stablehlo.channel_handle<handle = 1>; 0 if it is absent,
 * as the printer leaves zeros out. */
int64_t import_field_int(const mlir_op_t *op, const char *attr, const char *field) {
  const mlir_attr_t *value = mlir_attr_field(mlir_op_attr(op, attr), field);
  return is_number(value) ? value->integer : 0;
}

/* Number of the word "prefix" + word in ops/table/enums.def. */
hr_status_t import_enum(import_scope_t *scope, const mlir_op_t *op, const char *name,
                        hlo_enum_id_t id, const char *prefix, int *out_value) {
  const mlir_attr_t *attr = mlir_op_attr(op, name);
  *out_value = -1;
  if (!attr) return NULL;
  const char *word;
  HR_TRY(hr_arena_printf(scope->importer->arena, &word, "%s%.*s", prefix, HR_STR_ARGS(attr->text)));
  *out_value = hlo_enum_find(id, hr_str_from(word));
  return *out_value < 0 ? import_error(scope, op, "%s is %.*s, which does not exist", name,
                                       HR_STR_ARGS(attr->text))
                        : NULL;
}

static hlo_attr_t attr_of_ints(hlo_attr_key_t key, hr_ints_t ints) {
  return (hlo_attr_t){.key = (uint16_t)key, .ints = ints};
}

/* Adds a list of integers under an HLO key; absent lists become empty ones. */
hr_status_t import_add_ints(import_scope_t *scope, import_attrs_t *attrs, hlo_attr_key_t key,
                            const mlir_op_t *op, const char *name) {
  hr_ints_t ints;
  HR_TRY(import_list(scope, op, name, -1, 0, &ints));
  import_add(attrs, attr_of_ints(key, ints));
  return NULL;
}

/* As import_add_ints, from a field of a struct attribute. */
hr_status_t import_add_field_ints(import_scope_t *scope, import_attrs_t *attrs, hlo_attr_key_t key,
                                  const mlir_op_t *op, const char *attr, const char *field) {
  hr_ints_t ints;
  HR_TRY(import_field_ints(scope, op, attr, field, &ints));
  import_add(attrs, attr_of_ints(key, ints));
  return NULL;
}

/* Adds precision_config, unless it is DEFAULT for every operand. */
hr_status_t import_add_precision(import_scope_t *scope, import_attrs_t *attrs,
                                 const mlir_op_t *op) {
  const mlir_attr_t *config = mlir_op_attr(op, "precision_config");
  if (!config || config->kind != MLIR_ATTR_ARRAY || !config->count) return NULL;
  int64_t *values, sum = 0;
  if (config->count > 2)
    return import_error(
        scope, op, "precision_config has %d elements, want at most 2 (%s)", config->count,
        hr_str_is(op->name, "stablehlo.convolution") ? "convolution C24" : "dot_general C11");
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, config->count, &values));
  for (int i = 0; i < config->count; i++) {
    int value = hlo_enum_find(HLO_ENUM_PRECISION, config->items[i]->text);
    if (value < 0)
      return import_error(scope, op, "the precision %.*s does not exist",
                          HR_STR_ARGS(config->items[i]->text));
    values[i] = value;
    sum += value;
  }
  if (sum)
    import_add(attrs, attr_of_ints(HLO_ATTR_OPERAND_PRECISION, (hr_ints_t){values, config->count}));
  return NULL;
}

/* Reads HLO's text or bytes of an OpSharding by the reader from the importer's caller. A message
 * about a text of the source has its place already. */
hr_status_t import_sharding(importer_t *importer, const mlir_op_t *op, const mlir_attr_t *attr,
                            const hlo_sharding_t **out_sharding) {
  *out_sharding = NULL;
  if (!attr || attr->kind != MLIR_ATTR_STRING) return NULL;
  hr_status_t st = importer->readers->sharding(importer->module, attr->text, out_sharding);
  if (!st) return NULL;
  const hr_source_t *source = &importer->from->source;
  bool is_placed = attr->text.data >= source->text &&
                   attr->text.data < source->text + source->size_bytes && op->line;
  if (is_placed && attr->text.size && attr->text.data[0] == '{')
    return hr_status_note(st, "in mhlo.sharding of %.*s", HR_STR_ARGS(op->name));
  hr_status_t placed = mlir_error(importer->from, op, "mhlo.sharding: %s", hr_status_message(st));
  hr_status_release(st);
  return placed;
}

/* Attribute of parameter or result `index` of a function: `list` is arg_attrs or res_attrs, an
 * array of one dictionary each. NULL: absent. */
const mlir_attr_t *import_value_attr(const mlir_op_t *function, const char *list, int index,
                                     const char *name) {
  const mlir_attr_t *attrs = mlir_op_attr(function, list);
  bool has_one = attrs && attrs->kind == MLIR_ATTR_ARRAY && index < attrs->count;
  return has_one ? mlir_attr_field(attrs->items[index], name) : NULL;
}

/* A modifiable copy of the instruction's attributes, which instructions of one op share. */
hr_status_t import_op_extra(importer_t *importer, hlo_instr_t *instr, hlo_extra_t **out_extra) {
  HR_TRY(HR_NEW(importer->arena, out_extra));
  if (instr->extra) **out_extra = *instr->extra;
  instr->extra = *out_extra;
  return NULL;
}

/* Metadata, sharding, frontend attributes and sdy's attributes of an op; NULL if it has none. */
hr_status_t import_extra(import_scope_t *scope, const mlir_op_t *op, const hlo_extra_t **out_extra,
                         import_frontend_attrs_t *out_note) {
  const mlir_attr_t *frontend = mlir_op_attr(op, "mhlo.frontend_attributes");
  const hlo_sharding_t *sharding;
  const hlo_metadata_t *metadata;
  *out_extra = NULL;
  *out_note = (import_frontend_attrs_t){.op = HLO_OPCODE_COUNT};
  HR_TRY(import_sharding(scope->importer, op, mlir_op_attr(op, "mhlo.sharding"), &sharding));
  HR_TRY(import_location(scope->importer, op->location, &metadata));
  bool has_frontend = frontend && frontend->kind == MLIR_ATTR_DICT, has_sdy = import_has_sdy(op);
  if (!has_frontend && !sharding && !metadata && !has_sdy) return NULL;
  hlo_extra_t *extra;
  HR_TRY(HR_NEW(scope->importer->arena, &extra));
  extra->sharding = sharding;
  extra->metadata = metadata;
  if (has_frontend)
    HR_TRY(import_sort_frontend_attrs(scope->importer, frontend, &extra->frontend_attributes,
                                      out_note));
  HR_TRY(import_frontend_attrs_extra(scope->importer, out_note, extra));
  if (has_sdy) HR_TRY(import_sdy_attrs(scope->importer, op, &extra->frontend_attributes));
  *out_extra = extra;
  return NULL;
}

/* --- frontend attributes --- */

/* An attribute as HLO's text: a string without quotes, anything else in MLIR syntax. */
hr_status_t import_attr_text(import_scope_t *scope, const mlir_attr_t *attr, hr_str_t *out_text) {
  hr_strbuf_t text;
  if (attr->kind == MLIR_ATTR_STRING)
    return hr_arena_str(scope->importer->arena, attr->text, out_text);
  hr_strbuf_init(&text);
  mlir_print_attr(&text, attr);
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st) st = hr_arena_str(scope->importer->arena, (hr_str_t){text.data, text.size}, out_text);
  hr_strbuf_deinit(&text);
  return st;
}
