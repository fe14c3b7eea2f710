/* Forms of ops without regions that no row of mlir_forms.def can express, and which form an op
 * has. A form has two functions: `fits` tells whether the form can say the op at all (attributes
 * of the kinds that it writes, enough operands), `print` writes it. What does not fit prints in
 * the generic form, so that every tree has a text. */
#include "mlir/text/mlir_print_forms.h"

static bool is_enum(const mlir_attr_t *attr) { return attr && attr->kind == MLIR_ATTR_ENUM; }

/* The word of an enumeration, or any attribute's text. */
static void print_word(op_printer_t *printer, const mlir_attr_t *attr) {
  hr_strbuf_add(printer->text, attr->text.data, attr->text.size);
}

/* --- constants, comparisons, slices --- */

static bool constant_fits(const mlir_op_t *op) {
  const mlir_attr_t *value = mlir_op_attr(op, "value");
  return value && value->type && op->result_count == 1;
}

/* A result type other than the value's (quantised constants) needs the form with "() <{...}>". */
static void print_constant(op_printer_t *printer, const mlir_op_t *op) {
  const mlir_attr_t *value = mlir_op_attr(op, "value");
  mlir_print_op_name(printer, op);
  if (!mlir_type_equal(value->type, op->results[0].type)) {
    form_add(printer, "() ");
    hr_strbuf_add_str(printer->text, "<");
    mlir_print_rest(printer, op, &(printed_name_t){.count = 0}, "");
    form_add(printer, ">");
    mlir_print_function_type(printer, op);
    return;
  }
  mlir_print_rest(printer, op, &(printed_name_t){{"value"}, 1}, " ");
  form_add(printer, " ");
  mlir_print_attr_to(printer->text, value, printer->sink);
}

static bool compare_fits(const mlir_op_t *op) {
  const mlir_attr_t *type = mlir_op_attr(op, "compare_type");
  return op->operand_count == 2 && is_enum(mlir_op_attr(op, "comparison_direction")) &&
         (!type || is_enum(type));
}

/* stablehlo.compare EQ, %a, %b, FLOAT : types */
static void print_compare(op_printer_t *printer, const mlir_op_t *op) {
  const mlir_attr_t *type = mlir_op_attr(op, "compare_type");
  form_add(printer, "stablehlo.compare ");
  print_word(printer, mlir_op_attr(op, "comparison_direction"));
  form_add(printer, ", ");
  mlir_print_uses(printer, 2, op->operands);
  bool typed = type && !hr_str_is(type->text, "NOTYPE");
  if (typed) {
    form_add(printer, ", ");
    print_word(printer, type);
  }
  mlir_print_rest(printer, op, &(printed_name_t){{"comparison_direction", "compare_type"}, 2}, " ");
  mlir_print_function_type(printer, op);
}

static bool select_fits(const mlir_op_t *op) {
  return op->operand_count == 3 && op->result_count == 1;
}

/* "predicate, T" if the values have the type of the result, else the function type. */
static void print_select(op_printer_t *printer, const mlir_op_t *op) {
  const mlir_type_t *type = op->results[0].type;
  bool alike =
      mlir_type_equal(op->operands[1]->type, type) && mlir_type_equal(op->operands[2]->type, type);
  form_add(printer, "stablehlo.select ");
  mlir_print_uses(printer, 3, op->operands);
  mlir_print_rest(printer, op, &(printed_name_t){.count = 0}, " ");
  if (!alike) {
    mlir_print_function_type(printer, op);
    return;
  }
  form_add(printer, " : ");
  mlir_print_type(printer->text, op->operands[0]->type);
  form_add(printer, ", ");
  mlir_print_type(printer->text, type);
}

/* The three lists must have one entry for each dimension. */
static bool slice_fits(const mlir_op_t *op) {
  const mlir_attr_t *starts = mlir_op_attr(op, "start_indices");
  const mlir_attr_t *limits = mlir_op_attr(op, "limit_indices");
  const mlir_attr_t *strides = mlir_op_attr(op, "strides");
  return op->operand_count == 1 && form_is_ints(starts) && form_is_ints(limits) &&
         form_is_ints(strides) && starts->element_count == limits->element_count &&
         starts->element_count == strides->element_count;
}

/* stablehlo.slice %x [start:limit:stride, ...] */
static void print_slice(op_printer_t *printer, const mlir_op_t *op) {
  const mlir_attr_t *attr = mlir_op_attr(op, "start_indices");
  const int64_t *starts = attr->data;
  const int64_t *limits = mlir_op_attr(op, "limit_indices")->data;
  const int64_t *strides = mlir_op_attr(op, "strides")->data;
  form_add(printer, "stablehlo.slice ");
  mlir_print_use(printer, op->operands[0]);
  form_add(printer, " [");
  for (int64_t d = 0; d < attr->element_count; d++) {
    hr_strbuf_printf(printer->text, "%s%ld:%ld", d ? ", " : "", (long)starts[d], (long)limits[d]);
    if (strides[d] != 1) hr_strbuf_printf(printer->text, ":%ld", (long)strides[d]);
  }
  form_add(printer, "]");
  mlir_print_rest(printer, op, &(printed_name_t){{"start_indices", "limit_indices", "strides"}, 3},
                  " ");
  mlir_print_function_type(printer, op);
}

static bool reduce_precision_fits(const mlir_op_t *op) {
  return op->operand_count == 1 && op->result_count == 1 && mlir_op_attr(op, "exponent_bits") &&
         mlir_op_attr(op, "mantissa_bits");
}

/* format = eXmY */
static void print_reduce_precision(op_printer_t *printer, const mlir_op_t *op) {
  form_add(printer, "stablehlo.reduce_precision ");
  mlir_print_use(printer, op->operands[0]);
  hr_strbuf_printf(printer->text, ", format = e%ldm%ld",
                   (long)mlir_op_attr(op, "exponent_bits")->integer,
                   (long)mlir_op_attr(op, "mantissa_bits")->integer);
  mlir_print_rest(printer, op, &(printed_name_t){{"exponent_bits", "mantissa_bits"}, 2}, " ");
  if (!mlir_type_equal(op->operands[0]->type, op->results[0].type)) {
    mlir_print_function_type(printer, op);
    return;
  }
  form_add(printer, " : ");
  mlir_print_type(printer->text, op->results[0].type);
}

static bool get_tuple_element_fits(const mlir_op_t *op) {
  return op->operand_count == 1 && mlir_op_attr(op, "index");
}

static void print_get_tuple_element(op_printer_t *printer, const mlir_op_t *op) {
  form_add(printer, "stablehlo.get_tuple_element ");
  mlir_print_use(printer, op->operands[0]);
  hr_strbuf_printf(printer->text, "[%ld]", (long)mlir_op_attr(op, "index")->integer);
  mlir_print_rest(printer, op, &(printed_name_t){{"index"}, 1}, " ");
  mlir_print_function_type(printer, op);
}

/* --- products --- */

/* ", name = [..] x [..]"; a list that is absent prints as an empty one. */
static void print_pair(op_printer_t *printer, const char *name, const mlir_attr_t *left,
                       const mlir_attr_t *right) {
  static const mlir_attr_t none = {.kind = MLIR_ATTR_DENSE_ARRAY};
  hr_strbuf_printf(printer->text, ", %s = ", name);
  mlir_print_ints(printer->text, left ? left : &none);
  form_add(printer, " x ");
  mlir_print_ints(printer->text, right ? right : &none);
}

/* ", precision = [A, B]"; nothing for no precisions. */
static void print_precision(op_printer_t *printer, const mlir_attr_t *config) {
  if (!config || !config->count) return;
  form_add(printer, ", precision = [");
  for (int i = 0; i < config->count; i++) {
    if (i) form_add(printer, ", ");
    print_word(printer, config->items[i]);
  }
  form_add(printer, "]");
}

/* ", algorithm = <...>": the structure's text without its "#stablehlo.dot_algorithm". */
static void print_algorithm(op_printer_t *printer, const mlir_attr_t *algorithm) {
  hr_strbuf_t whole;
  if (!algorithm) return;
  hr_strbuf_init(&whole);
  mlir_print_attr(&whole, algorithm);
  const char *angle = whole.data ? strchr(whole.data, '<') : NULL;
  hr_strbuf_printf(printer->text, ", algorithm = %s", angle ? angle : "");
  printer->text->failed |= whole.failed;
  hr_strbuf_deinit(&whole);
}

static bool is_precision(const mlir_attr_t *config) {
  if (!config) return true;
  for (int i = 0; config->kind == MLIR_ATTR_ARRAY && i < config->count; i++)
    if (!is_enum(config->items[i])) return false;
  return config->kind == MLIR_ATTR_ARRAY;
}

static bool dot_fits(const mlir_op_t *op) {
  return op->operand_count == 2 && is_precision(mlir_op_attr(op, "precision_config"));
}

static bool dot_general_fits(const mlir_op_t *op) {
  const mlir_attr_t *numbers = mlir_op_attr(op, "dot_dimension_numbers");
  const mlir_attr_t *algorithm = mlir_op_attr(op, "algorithm");
  return dot_fits(op) && numbers && numbers->kind == MLIR_ATTR_STRUCT &&
         (!algorithm || algorithm->kind == MLIR_ATTR_STRUCT);
}

/* stablehlo.dot and stablehlo.dot_general, which alone has dimension numbers. */
static void print_dot(op_printer_t *printer, const mlir_op_t *op) {
  const mlir_attr_t *numbers = mlir_op_attr(op, "dot_dimension_numbers");
  hr_strbuf_printf(printer->text, "%.*s ", HR_STR_ARGS(op->name));
  mlir_print_uses(printer, 2, op->operands);
  if (numbers) {
    const mlir_attr_t *lhs = mlir_attr_field(numbers, "lhs_batching_dimensions");
    const mlir_attr_t *rhs = mlir_attr_field(numbers, "rhs_batching_dimensions");
    if ((lhs && lhs->element_count) || (rhs && rhs->element_count))
      print_pair(printer, "batching_dims", lhs, rhs);
    print_pair(printer, "contracting_dims", mlir_attr_field(numbers, "lhs_contracting_dimensions"),
               mlir_attr_field(numbers, "rhs_contracting_dimensions"));
  }
  print_precision(printer, mlir_op_attr(op, "precision_config"));
  print_algorithm(printer, mlir_op_attr(op, "algorithm"));
  mlir_print_rest(printer, op,
                  &(printed_name_t){{"dot_dimension_numbers", "precision_config", "algorithm"}, 3},
                  " ");
  mlir_print_function_type(printer, op);
}

/* tensor<Nx2xi64>, as padding is. */
static bool is_pairs(const mlir_attr_t *attr) {
  return attr->kind == MLIR_ATTR_DENSE && attr->data && attr->type->rank == 2 &&
         attr->type->dims[1] == 2 && mlir_element_bytes(attr->type->element) == 8;
}

static bool is_flags(const mlir_attr_t *attr) {
  return attr->kind == MLIR_ATTR_DENSE_ARRAY && attr->type->width == 1;
}

/* Whether a part of the window is absent or of the kind that its notation can say. */
static bool window_part_fits(const mlir_op_t *op, const char *name) {
  const mlir_attr_t *attr = mlir_op_attr(op, name);
  if (!attr) return true;
  if (!strcmp(name, "padding")) return is_pairs(attr);
  return strcmp(name, "window_reversal") ? form_is_ints(attr) : is_flags(attr);
}

/* Attributes and the words that a window has for them. */
static const char *const window_parts[][2] = {{"window_strides", "stride"},
                                              {"padding", "pad"},
                                              {"lhs_dilation", "lhs_dilate"},
                                              {"rhs_dilation", "rhs_dilate"},
                                              {"window_reversal", "reverse"}};
#define WINDOW_PARTS (sizeof window_parts / sizeof *window_parts)

static bool convolution_fits(const mlir_op_t *op) {
  const mlir_attr_t *numbers = mlir_op_attr(op, "dimension_numbers");
  for (size_t i = 0; i < WINDOW_PARTS; i++)
    if (!window_part_fits(op, window_parts[i][0])) return false;
  return op->operand_count == 2 && numbers && numbers->kind == MLIR_ATTR_STRUCT &&
         mlir_print_conv_fits(numbers);
}

/* A list of integers, of pairs, or of true and false. Splat pairs repeat their one number. */
static void print_window_part(op_printer_t *printer, const mlir_attr_t *attr) {
  const int64_t *numbers = attr->data;
  const uint8_t *flags = attr->data;
  if (attr->kind == MLIR_ATTR_DENSE_ARRAY && attr->type->width == 64) {
    mlir_print_ints(printer->text, attr);
    return;
  }
  bool pairs = attr->kind == MLIR_ATTR_DENSE;
  int64_t count = pairs ? attr->type->dims[0] : attr->element_count;
  form_add(printer, "[");
  for (int64_t i = 0; i < count; i++) {
    if (i) form_add(printer, ", ");
    if (pairs)
      hr_strbuf_printf(printer->text, "[%ld, %ld]", (long)numbers[attr->splat ? 0 : 2 * i],
                       (long)numbers[attr->splat ? 0 : 2 * i + 1]);
    else
      form_add(printer, flags[i] ? "true" : "false");
  }
  form_add(printer, "]");
}

/* (%a, %b) dim_numbers = ..., window = {parts that are there}, then the remaining attributes. */
static void print_convolution(op_printer_t *printer, const mlir_op_t *op) {
  bool any = false;
  form_add(printer, "stablehlo.convolution(");
  mlir_print_uses(printer, 2, op->operands);
  form_add(printer, ") dim_numbers = ");
  mlir_print_conv_dims(printer->text, mlir_op_attr(op, "dimension_numbers"));
  form_add(printer, ", window = {");
  for (size_t i = 0; i < WINDOW_PARTS; i++) {
    const mlir_attr_t *attr = mlir_op_attr(op, window_parts[i][0]);
    if (!attr) continue;
    hr_strbuf_printf(printer->text, "%s%s = ", any ? ", " : "", window_parts[i][1]);
    print_window_part(printer, attr);
    any = true;
  }
  form_add(printer, "}");
  mlir_print_rest(printer, op,
                  &(printed_name_t){{"dimension_numbers", window_parts[0][0], window_parts[1][0],
                                     window_parts[2][0], window_parts[3][0], window_parts[4][0]},
                                    6},
                  " ");
  mlir_print_function_type(printer, op);
}

/* --- calls --- */

static bool custom_call_fits(const mlir_op_t *op) {
  return form_has_string(op, "call_target_name");
}

/* stablehlo.custom_call @target(%a) */
static void print_custom_call(op_printer_t *printer, const mlir_op_t *op) {
  form_add(printer, "stablehlo.custom_call ");
  form_print_symbol(printer, mlir_op_attr(op, "call_target_name")->text);
  form_add(printer, "(");
  mlir_print_uses(printer, op->operand_count, op->operands);
  form_add(printer, ")");
  mlir_print_rest(printer, op, &(printed_name_t){{"call_target_name"}, 1}, " ");
  mlir_print_function_type(printer, op);
}

static bool composite_fits(const mlir_op_t *op) { return form_has_string(op, "name"); }

/* stablehlo.composite "name" %a */
static void print_composite(op_printer_t *printer, const mlir_op_t *op) {
  form_add(printer, "stablehlo.composite ");
  mlir_print_attr(printer->text, mlir_op_attr(op, "name"));
  if (op->operand_count) form_add(printer, " ");
  mlir_print_uses(printer, op->operand_count, op->operands);
  for (int r = 0; r < op->region_count; r++) {
    form_add(printer, r ? ", " : " (");
    mlir_print_region(printer, op->regions[r], false);
  }
  if (op->region_count) form_add(printer, ")");
  mlir_print_rest(printer, op, &(printed_name_t){{"name"}, 1}, " ");
  mlir_print_function_type(printer, op);
}

/* --- arith, tensor, shape --- */

static bool cast_fits(const mlir_op_t *op) {
  return op->operand_count == 1 && op->result_count == 1;
}

/* %a : T to U */
static void print_cast(op_printer_t *printer, const mlir_op_t *op) {
  mlir_print_op_name(printer, op);
  form_add(printer, " ");
  mlir_print_use(printer, op->operands[0]);
  mlir_print_rest(printer, op, &(printed_name_t){.count = 0}, " ");
  form_add(printer, " : ");
  mlir_print_operand_types(printer, op);
  form_add(printer, " to ");
  mlir_print_result_types(printer, op);
}

static bool const_shape_fits(const mlir_op_t *op) {
  return op->result_count == 1 && form_is_ints(mlir_op_attr(op, "shape"));
}

/* shape.const_shape [2, 3] */
static void print_const_shape(op_printer_t *printer, const mlir_op_t *op) {
  form_add(printer, "shape.const_shape");
  mlir_print_rest(printer, op, &(printed_name_t){{"shape"}, 1}, " ");
  form_add(printer, " ");
  mlir_print_ints(printer->text, mlir_op_attr(op, "shape"));
  form_add(printer, " : ");
  mlir_print_result_types(printer, op);
}

static const print_form_t plain_forms[] = {
    {"arith.constant", constant_fits, print_constant},
    {"arith.index_cast", cast_fits, print_cast},
    {"chlo.constant", constant_fits, print_constant},
    {"shape.const_shape", const_shape_fits, print_const_shape},
    {"stablehlo.compare", compare_fits, print_compare},
    {"stablehlo.composite", composite_fits, print_composite},
    {"stablehlo.constant", constant_fits, print_constant},
    {"stablehlo.convolution", convolution_fits, print_convolution},
    {"stablehlo.custom_call", custom_call_fits, print_custom_call},
    {"stablehlo.dot", dot_fits, print_dot},
    {"stablehlo.dot_general", dot_general_fits, print_dot},
    {"stablehlo.get_tuple_element", get_tuple_element_fits, print_get_tuple_element},
    {"stablehlo.reduce_precision", reduce_precision_fits, print_reduce_precision},
    {"stablehlo.select", select_fits, print_select},
    {"stablehlo.slice", slice_fits, print_slice},
    {"tensor.cast", cast_fits, print_cast},
    {.op = NULL},
};

/* Linear: tables have some fifteen rows, and most ops are in none. */
static const print_form_t *find_form(const print_form_t *forms, hr_str_t op) {
  for (; forms->op; forms++)
    if (hr_str_is(op, forms->op)) return forms;
  return NULL;
}

bool mlir_print_custom_form(op_printer_t *printer, const mlir_op_t *op) {
  const print_form_t *form = find_form(plain_forms, op->name);
  if (!form) form = find_form(mlir_region_forms, op->name);
  if (!form || (form->fits && !form->fits(op))) return false;
  form->print(printer, op);
  return true;
}
