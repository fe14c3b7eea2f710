/* Constraints of StableHLO that HLO lacks. They are checked on the op before it is imported; HLO's
 * verifier checks all others. */
#include <ctype.h>

#include "stablehlo/import/import.h"

static const mlir_type_t *operand_type(const mlir_op_t *op, int k) { return op->operands[k]->type; }

static bool is_scalar(const mlir_type_t *type) {
  return type->kind != MLIR_TYPE_TENSOR || type->rank == 0;
}

/* Start indices must be scalars; HLO also accepts its older form, one vector. */
static hr_status_t verify_starts(import_scope_t *scope, const mlir_op_t *op, int first,
                                 const char *label) {
  for (int k = first; k < op->operand_count; k++)
    if (!is_scalar(operand_type(op, k)))
      return import_error(scope, op, "start index %d is a tensor of rank %d, want a scalar (%s)",
                          k - first, operand_type(op, k)->rank, label);
  return NULL;
}

/* "I2" and the like below: numbers of constraints in the StableHLO specification. */
static hr_status_t verify_dynamic_slice(import_scope_t *scope, const mlir_op_t *op) {
  return verify_starts(scope, op, 1, "dynamic_slice I2");
}

static hr_status_t verify_dynamic_update_slice(import_scope_t *scope, const mlir_op_t *op) {
  return verify_starts(scope, op, 2, "dynamic_update_slice I3");
}

/* Ops that StableHLO defines for signed types only. */
static hr_status_t verify_signed(import_scope_t *scope, const mlir_op_t *op, const char *label) {
  const mlir_type_t *element = operand_type(op, 0)->element;
  bool is_unsigned =
      element && element->kind == MLIR_TYPE_INTEGER && element->signedness == MLIR_UNSIGNED;
  if (!is_unsigned) return NULL;
  return import_error(
      scope, op,
      "operand 0 has elements of type ui%d, want signed integers, floats or complex numbers (%s)",
      element->width, label);
}

static hr_status_t verify_abs(import_scope_t *scope, const mlir_op_t *op) {
  return verify_signed(scope, op, "abs I1");
}
static hr_status_t verify_sign(import_scope_t *scope, const mlir_op_t *op) {
  return verify_signed(scope, op, "sign I1");
}

/* Only the dynamic forms of these ops have results with unbounded sizes. */
static hr_status_t verify_sized(import_scope_t *scope, const mlir_op_t *op) {
  const hlo_shape_t *shape;
  HR_TRY(import_result_shape(scope, op, 0, &shape));
  for (int d = 0; d < shape->rank; d++)
    if (shape->dims[d] == HLO_UNBOUNDED)
      return import_error(scope, op, "the result's dimension %d has no size, want a static shape",
                          d);
  return NULL;
}

/* The same, and at most one dimension has a bound instead of a size. */
static hr_status_t verify_one_bound(import_scope_t *scope, const mlir_op_t *op) {
  const hlo_shape_t *shape;
  HR_TRY(verify_sized(scope, op));
  HR_TRY(import_result_shape(scope, op, 0, &shape));
  int bounds = 0;
  for (int d = 0; d < shape->rank; d++) bounds += shape->dynamic && shape->dynamic[d];
  if (bounds <= 1) return NULL;
  return import_error(scope, op, "%d dimensions of the result have bounds, want one at most",
                      bounds);
}

/* Checks that layout has one list of integers for each result except the token. */
static hr_status_t verify_infeed(import_scope_t *scope, const mlir_op_t *op) {
  const mlir_attr_t *layout = mlir_op_attr(op, "layout");
  if (!layout) return NULL;
  if (layout->kind != MLIR_ATTR_ARRAY) return import_error(scope, op, "layout is no list");
  if (layout->count != op->result_count - 1)
    return import_error(scope, op,
                        "layout has %d lists, want %d, one for each result but the token",
                        layout->count, op->result_count - 1);
  for (int i = 0; i < layout->count; i++) {
    const mlir_attr_t *order = layout->items[i];
    if (order->kind != MLIR_ATTR_ARRAY) return import_error(scope, op, "layout %d is no list", i);
    for (int k = 0; k < order->count; k++)
      if (order->items[k]->kind != MLIR_ATTR_INTEGER)
        return import_error(scope, op, "layout %d is no list of integers", i);
  }
  return NULL;
}

/* True if the size is known and another one than `size`. */
static bool is_other_size(const hlo_shape_t *shape, int d, int64_t size) {
  return !(shape->dynamic && shape->dynamic[d]) && shape->dims[d] != size;
}

/* rng(a, b, shape): the shape must be the result's. */
static hr_status_t verify_rng(import_scope_t *scope, const mlir_op_t *op) {
  const hlo_shape_t *shape;
  const mlir_type_t *type = operand_type(op, 2);
  const hlo_instr_t *sizes = import_operand(op, 2);
  HR_TRY(import_result_shape(scope, op, 0, &shape));
  bool is_list =
      type->kind == MLIR_TYPE_TENSOR && type->rank == 1 && hr_dtype_is_integer(sizes->shape->dtype);
  if (!is_list) return import_error(scope, op, "operand 2 is no list of integers (rng I3)");
  if (type->dims[0] >= 0 && type->dims[0] != shape->rank)
    return import_error(scope, op, "%ld sizes for a result of rank %d (rng C3)",
                        (long)type->dims[0], shape->rank);
  for (int d = 0; sizes->op == HLO_CONSTANT && d < shape->rank; d++) {
    int64_t size = hlo_value_int_at(sizes->literal, d);
    if (is_other_size(shape, d, size))
      return import_error(scope, op, "the result's dimension %d has size %ld, want %ld (rng C3)", d,
                          (long)shape->dims[d], (long)size);
  }
  return NULL;
}

/* --- sizes that are operands --- */

/* Sizes of the result in operand `k`, of which there is one for each dimension; those that are
 * constants are the ones of the result's type. *out_sizes is NULL unless they are constants. */
static hr_status_t verify_result_sizes(import_scope_t *scope, const mlir_op_t *op, int k,
                                       const char *label, const hlo_value_t **out_sizes) {
  const hlo_shape_t *shape;
  const mlir_type_t *type = operand_type(op, k);
  const hlo_instr_t *sizes = import_operand(op, k);
  *out_sizes = NULL;
  HR_TRY(import_result_shape(scope, op, 0, &shape));
  if (type->kind != MLIR_TYPE_TENSOR || type->rank != 1 || type->dims[0] != shape->rank)
    return import_error(scope, op, "operand %d is no list of the %d sizes of the result (%s)", k,
                        shape->rank, label);
  if (sizes->op != HLO_CONSTANT || !hr_dtype_is_integer(sizes->shape->dtype)) return NULL;
  for (int d = 0; d < shape->rank; d++) {
    int64_t size = hlo_value_int_at(sizes->literal, d);
    if (size < 0 || is_other_size(shape, d, size))
      return import_error(scope, op, "size %ld of dimension %d does not fit the result (%s)",
                          (long)size, d, label);
  }
  *out_sizes = sizes->literal;
  return NULL;
}

static hr_status_t verify_dynamic_iota(import_scope_t *scope, const mlir_op_t *op) {
  const hlo_value_t *sizes;
  return verify_result_sizes(scope, op, 0, "dynamic_iota C2", &sizes);
}

static hr_status_t verify_dynamic_reshape(import_scope_t *scope, const mlir_op_t *op) {
  const hlo_value_t *sizes;
  const hlo_shape_t *from = import_operand(op, 0)->shape;
  int64_t count = 1, wanted = 1;
  HR_TRY(verify_result_sizes(scope, op, 1, "dynamic_reshape C4", &sizes));
  if (!sizes || hlo_shape_is_dynamic(from)) return NULL;
  HR_TRY(hlo_shape_count(from, &count));
  for (int64_t d = 0; d < sizes->count; d++)
    if (__builtin_mul_overflow(wanted, hlo_value_int_at(sizes, d), &wanted)) wanted = -1;
  if (count == wanted) return NULL;
  return import_error(scope, op, "%ld elements become %ld (dynamic_reshape C2)", (long)count,
                      (long)wanted);
}

/* Lists of the operand's dimensions that are known to grow, or not to: no dimension is in both, or
 * twice in one. */
static hr_status_t verify_expanding(import_scope_t *scope, const mlir_op_t *op, int rank) {
  static const char *const names[] = {"known_expanding_dimensions",
                                      "known_nonexpanding_dimensions"};
  uint64_t seen = 0;
  for (int i = 0; i < 2; i++) {
    hr_ints_t dims;
    HR_TRY(import_list(scope, op, names[i], 0, 0, &dims));
    for (int64_t k = 0; k < dims.count; k++) {
      int64_t d = dims.data[k];
      if (d < 0 || d >= rank)
        return import_error(scope, op, "%s has %ld, want values from 0 to below %d (%s)", names[i],
                            (long)d, rank,
                            i ? "dynamic_broadcast_in_dim C10" : "dynamic_broadcast_in_dim C9");
      if (seen >> d & 1)
        return import_error(scope, op, "%s has %ld again (dynamic_broadcast_in_dim C8)", names[i],
                            (long)d);
      seen |= UINT64_C(1) << d;
    }
  }
  return NULL;
}

static hr_status_t verify_dynamic_broadcast(import_scope_t *scope, const mlir_op_t *op) {
  const hlo_value_t *sizes;
  hr_ints_t dims;
  const hlo_shape_t *from = import_operand(op, 0)->shape;
  HR_TRY(verify_result_sizes(scope, op, 1, "dynamic_broadcast_in_dim C7", &sizes));
  HR_TRY(verify_expanding(scope, op, from->rank));
  HR_TRY(import_list(scope, op, "broadcast_dimensions", -1, 0, &dims));
  for (int64_t d = 0; sizes && d < dims.count && d < from->rank; d++) {
    bool is_known = dims.data[d] >= 0 && dims.data[d] < sizes->count && from->dims[d] != 1;
    int64_t size = is_known ? hlo_value_int_at(sizes, dims.data[d]) : 0;
    if (is_known && is_other_size(from, (int)d, size))
      return import_error(
          scope, op, "dimension %ld of size %ld becomes one of %ld (dynamic_broadcast_in_dim C5)",
          (long)d, (long)from->dims[d], (long)size);
  }
  return NULL;
}

static hr_status_t verify_dynamic_pad(import_scope_t *scope, const mlir_op_t *op) {
  const hlo_instr_t *interior = import_operand(op, 4);
  bool is_known = interior->op == HLO_CONSTANT && hr_dtype_is_integer(interior->shape->dtype);
  for (int64_t i = 0; is_known && i < interior->literal->count; i++)
    if (hlo_value_int_at(interior->literal, i) < 0)
      return import_error(scope, op, "interior padding %ld, want 0 or more (dynamic_pad C3)",
                          (long)hlo_value_int_at(interior->literal, i));
  return NULL;
}

/* --- windows --- */

/* The padding is a matrix of two columns, low and high. */
static hr_status_t verify_padding(import_scope_t *scope, const mlir_op_t *op) {
  const mlir_attr_t *padding = mlir_op_attr(op, "padding");
  if (!padding || padding->kind != MLIR_ATTR_DENSE || !padding->type) return NULL;
  if (padding->type->rank == 2 && padding->type->dims[1] == 2) return NULL;
  return import_error(scope, op, "its padding is of rank %d, want a matrix of two columns",
                      padding->type->rank);
}

static hr_status_t verify_select_and_scatter(import_scope_t *scope, const mlir_op_t *op) {
  const mlir_type_t *type = operand_type(op, 0);
  if (!mlir_op_attr(op, "window_dimensions") && !is_scalar(type))
    return import_error(scope, op, "it has no window_dimensions (select_and_scatter C4)");
  return verify_padding(scope, op);
}

/* Elements of both sides are of one type. Quantised ones have rules of their own. */
static hr_status_t verify_convolution(import_scope_t *scope, const mlir_op_t *op) {
  const mlir_type_t *lhs = operand_type(op, 0)->element, *rhs = operand_type(op, 1)->element;
  bool is_plain = lhs && rhs && lhs->kind != MLIR_TYPE_QUANT && rhs->kind != MLIR_TYPE_QUANT;
  if (is_plain && !mlir_type_equal(lhs, rhs))
    return import_error(scope, op, "its sides differ in the type of elements (convolution C27)");
  return verify_padding(scope, op);
}

/* --- collectives --- */

/* Results have the type that the region gives. HLO also has results of the operands' type; it
 * checks that both are of one kind. */
static hr_status_t verify_reduction(import_scope_t *scope, const mlir_op_t *op, const char *label) {
  const mlir_block_t *block = import_block_of(op, 0);
  const mlir_op_t *end = block && block->ops.count ? block->ops.data[block->ops.count - 1] : NULL;
  const mlir_type_t *wanted = end && end->operand_count ? end->operands[0]->type->element : NULL;
  if (!wanted || wanted->kind == MLIR_TYPE_QUANT) return NULL;
  for (int i = 0; i < op->result_count; i++) {
    const mlir_type_t *element = op->results[i].type->element;
    if (element && element->kind == wanted->kind && !mlir_type_equal(element, wanted))
      return import_error(scope, op, "result %d is of another type than its region gives (%s)", i,
                          label);
  }
  return NULL;
}

static hr_status_t verify_all_reduce(import_scope_t *scope, const mlir_op_t *op) {
  return verify_reduction(scope, op, "all_reduce C7");
}
static hr_status_t verify_reduce_scatter(import_scope_t *scope, const mlir_op_t *op) {
  return verify_reduction(scope, op, "reduce_scatter C9");
}

/* What may run asynchronously. */
static hr_status_t verify_async_start(import_scope_t *scope, const mlir_op_t *op) {
  static const char *const names[] = {"all_gather",         "all_reduce",
                                      "all_to_all",         "collective_broadcast",
                                      "collective_permute", "collective_reduce",
                                      "dynamic_slice",      "dynamic_update_slice",
                                      "reduce_scatter",     "slice"};
  static const char prefix[] = "stablehlo.";
  const size_t skip = sizeof prefix - 1;
  const mlir_block_t *block = import_block_of(op, 0);
  if (!block || !block->ops.count) return NULL;
  hr_str_t name = block->ops.data[0]->name;
  for (size_t i = 0; name.size > skip && i < sizeof names / sizeof *names; i++)
    if (hr_str_is((hr_str_t){name.data + skip, name.size - skip}, names[i])) return NULL;
  return import_error(scope, op, "its region has %.*s, want a collective or a slice",
                      HR_STR_ARGS(name));
}

/* --- calls and channels --- */

/* A name is words with dots between them: [a-zA-Z][a-zA-Z0-9_]*([.][a-zA-Z0-9_$]+)+ */
static bool is_composite_name(hr_str_t name) {
  int words = 0;
  char before = '.';
  for (size_t i = 0; i < name.size; i++) {
    char c = name.data[i];
    bool fits = isalpha((unsigned char)c) || (i && (isdigit((unsigned char)c) || c == '_')) ||
                (words && c == '$');
    if (!fits && (c != '.' || before == '.')) return false;
    words += c == '.';
    before = c;
  }
  return words && before != '.';
}

static hr_status_t verify_composite(import_scope_t *scope, const mlir_op_t *op) {
  hr_str_t name = import_str(op, "name");
  if (is_composite_name(name)) return NULL;
  return import_error(scope, op, "the name \"%.*s\" is not in the form of \"dialect.op\" (%s)",
                      HR_STR_ARGS(name), "composite C1");
}

/* Layouts are given for operands and results, or for none of them. */
static hr_status_t verify_call_layouts(import_scope_t *scope, const mlir_op_t *op) {
  const mlir_attr_t *operands = mlir_op_attr(op, "operand_layouts");
  const mlir_attr_t *results = mlir_op_attr(op, "result_layouts");
  if (!operands != !results)
    return import_error(scope, op, "it has layouts of only its %s",
                        operands ? "operands" : "results");
  for (int k = 0; operands && k < op->operand_count && k < operands->count; k++) {
    const mlir_type_t *type = operand_type(op, k);
    hr_ints_t layout;
    if (type->kind == MLIR_TYPE_TENSOR) continue;
    HR_TRY(import_ints_of(scope, operands->items[k], &layout));
    if (layout.count || type->kind == MLIR_TYPE_TUPLE)
      return import_error(scope, op, "operand %d has a layout, but is no tensor", k);
  }
  return NULL;
}

static hr_status_t verify_custom_call(import_scope_t *scope, const mlir_op_t *op) {
  const mlir_attr_t *config = mlir_op_attr(op, "backend_config");
  bool is_typed = import_int(op, "api_version", 0) == HLO_API_VERSION_TYPED_FFI;
  HR_TRY(verify_call_layouts(scope, op));
  if (!config || (config->kind == MLIR_ATTR_DICT) == is_typed) return NULL;
  return import_error(scope, op, "its backend_config is no %s, as its api_version wants",
                      is_typed ? "dictionary" : "string");
}

/* Types of channels: 1 between devices, 2 from the device to the host, 3 from the host. */
static hr_status_t verify_channel(import_scope_t *scope, const mlir_op_t *op, int64_t host,
                                  const char *label) {
  int64_t wanted = import_bool(op, "is_host_transfer", false) ? host : 1;
  int64_t type = import_field_int(op, "channel_handle", "type");
  if (type == wanted) return NULL;
  return import_error(scope, op, "a channel of type %ld, want %ld (%s)", (long)type, (long)wanted,
                      label);
}

static hr_status_t verify_send(import_scope_t *scope, const mlir_op_t *op) {
  return verify_channel(scope, op, 2, "send C1");
}
static hr_status_t verify_recv(import_scope_t *scope, const mlir_op_t *op) {
  for (int i = 0; i < op->result_count - 1; i++)
    if (op->results[i].type->kind != MLIR_TYPE_TENSOR)
      return import_error(scope, op, "result %d is no tensor, as all but the last are (recv C3)",
                          i);
  return verify_channel(scope, op, 3, "recv C1");
}

/* --- CHLO --- */

static hr_status_t verify_constant_like(import_scope_t *scope, const mlir_op_t *op) {
  const mlir_attr_t *value = mlir_op_attr(op, "value");
  const mlir_type_t *element = op->result_count ? op->results[0].type->element : NULL;
  bool is_number = value && (value->kind == MLIR_ATTR_INTEGER || value->kind == MLIR_ATTR_FLOAT);
  if (!is_number || !element || !value->type || mlir_type_equal(value->type, element)) return NULL;
  return import_error(scope, op, "its value is of another type than the result's elements");
}

/* A size of the scanned dimension is that of the inputs. */
static hr_status_t verify_scan(import_scope_t *scope, const mlir_op_t *op) {
  const hlo_shape_t *input = op->operand_count ? import_operand(op, 0)->shape : NULL;
  int64_t dimension = import_int(op, "dimension", 0);
  bool is_known = mlir_op_attr(op, "scan_dim_size") && input && hlo_shape_is_array(input) &&
                  dimension >= 0 && dimension < input->rank;
  int64_t size = import_int(op, "scan_dim_size", 0);
  if (!is_known || !is_other_size(input, (int)dimension, size)) return NULL;
  return import_error(scope, op, "it scans %ld elements, and input 0 has %ld", (long)size,
                      (long)input->dims[dimension]);
}

static const struct verifier {
  const char *name;
  hr_status_t (*verify)(import_scope_t *scope, const mlir_op_t *op);
} verifiers[] = {{"chlo.constant_like", verify_constant_like},
                 {"chlo.scan", verify_scan},
                 {"stablehlo.abs", verify_abs},
                 {"stablehlo.all_reduce", verify_all_reduce},
                 {"stablehlo.async_start", verify_async_start},
                 {"stablehlo.broadcast_in_dim", verify_one_bound},
                 {"stablehlo.composite", verify_composite},
                 {"stablehlo.convolution", verify_convolution},
                 {"stablehlo.custom_call", verify_custom_call},
                 {"stablehlo.dynamic_broadcast_in_dim", verify_dynamic_broadcast},
                 {"stablehlo.dynamic_conv", verify_convolution},
                 {"stablehlo.dynamic_iota", verify_dynamic_iota},
                 {"stablehlo.dynamic_pad", verify_dynamic_pad},
                 {"stablehlo.dynamic_reshape", verify_dynamic_reshape},
                 {"stablehlo.dynamic_slice", verify_dynamic_slice},
                 {"stablehlo.dynamic_update_slice", verify_dynamic_update_slice},
                 {"stablehlo.infeed", verify_infeed},
                 {"stablehlo.iota", verify_sized},
                 {"stablehlo.recv", verify_recv},
                 {"stablehlo.reduce_scatter", verify_reduce_scatter},
                 {"stablehlo.reduce_window", verify_padding},
                 {"stablehlo.reshape", verify_one_bound},
                 {"stablehlo.rng", verify_rng},
                 {"stablehlo.select_and_scatter", verify_select_and_scatter},
                 {"stablehlo.send", verify_send},
                 {"stablehlo.sign", verify_sign}};

/* Ops without a row have no constraint beyond HLO's verifier. Cost: a scan of the table. */
hr_status_t import_verify(import_scope_t *scope, const mlir_op_t *op) {
  for (size_t i = 0; i < sizeof verifiers / sizeof *verifiers; i++)
    if (hr_str_is(op->name, verifiers[i].name)) return verifiers[i].verify(scope, op);
  return NULL;
}
