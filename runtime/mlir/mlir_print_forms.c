/* Forms of ops that no row of mlir_forms.def can say. Each function prints an op behind its results, or says that the
 * op is not as its form wants it. */
#include <string.h>

#include "mlir/mlir_op_printer.h"

typedef struct own_form {
  const char *op;
  bool (*fits)(const mlir_op_t *op); /* NULL: always */
  void (*print)(op_printer_t *printer, const mlir_op_t *op);
} own_form_t;

static void add(op_printer_t *printer, const char *text) { hr_text_add_str(printer->text, text); }

static bool has_string(const mlir_op_t *op, const char *name) {
  const mlir_attr_t *attr = mlir_op_attr(op, name);
  return attr && attr->kind == MLIR_ATTR_STRING;
}

static bool is_enum(const mlir_attr_t *attr) { return attr && attr->kind == MLIR_ATTR_ENUM; }

static bool is_ints(const mlir_attr_t *attr) {
  return attr && attr->kind == MLIR_ATTR_DENSE_ARRAY && attr->type->kind == MLIR_TYPE_INTEGER &&
         attr->type->width == 64;
}

static void print_word(op_printer_t *printer, const mlir_attr_t *attr) {
  hr_text_add(printer->text, attr->text.data, attr->text.size);
}

static void print_symbol(op_printer_t *printer, hr_str_t name) {
  mlir_print_attr(printer->text, &(mlir_attr_t){.kind = MLIR_ATTR_SYMBOL, .text = name});
}

static bool one_block(const mlir_op_t *op, int region) {
  return region < op->region_count && op->regions[region]->blocks.count == 1;
}

/* --- constants, comparisons, slices --- */

static bool constant_fits(const mlir_op_t *op) {
  const mlir_attr_t *value = mlir_op_attr(op, "value");
  return value && value->type && op->result_count == 1;
}

/* A type other than the value's (quantized constants) is written out. */
static void print_constant(op_printer_t *printer, const mlir_op_t *op) {
  const mlir_attr_t *value = mlir_op_attr(op, "value");
  mlir_print_op_name(printer, op);
  if (!mlir_type_equal(value->type, op->results[0].type)) {
    add(printer, "() ");
    hr_text_add_str(printer->text, "<");
    mlir_print_rest(printer, op, &(shown_t){.count = 0}, "");
    add(printer, ">");
    mlir_print_function_type(printer, op);
    return;
  }
  mlir_print_rest(printer, op, &(shown_t){{"value"}, 1}, " ");
  add(printer, " ");
  mlir_print_attr(printer->text, value);
}

static bool compare_fits(const mlir_op_t *op) {
  const mlir_attr_t *type = mlir_op_attr(op, "compare_type");
  return op->operand_count == 2 && is_enum(mlir_op_attr(op, "comparison_direction")) && (!type || is_enum(type));
}

static void print_compare(op_printer_t *printer, const mlir_op_t *op) {
  const mlir_attr_t *type = mlir_op_attr(op, "compare_type");
  add(printer, "stablehlo.compare ");
  print_word(printer, mlir_op_attr(op, "comparison_direction"));
  add(printer, ", ");
  mlir_print_uses(printer, 2, op->operands);
  bool typed = type && !hr_str_is(type->text, "NOTYPE");
  if (typed) {
    add(printer, ", ");
    print_word(printer, type);
  }
  mlir_print_rest(printer, op, &(shown_t){{"comparison_direction", "compare_type"}, 2}, " ");
  mlir_print_function_type(printer, op);
}

static bool select_fits(const mlir_op_t *op) { return op->operand_count == 3 && op->result_count == 1; }

static void print_select(op_printer_t *printer, const mlir_op_t *op) {
  const mlir_type_t *type = op->results[0].type;
  bool alike = mlir_type_equal(op->operands[1]->type, type) && mlir_type_equal(op->operands[2]->type, type);
  add(printer, "stablehlo.select ");
  mlir_print_uses(printer, 3, op->operands);
  mlir_print_rest(printer, op, &(shown_t){.count = 0}, " ");
  if (!alike) {
    mlir_print_function_type(printer, op);
    return;
  }
  add(printer, " : ");
  mlir_print_type(printer->text, op->operands[0]->type);
  add(printer, ", ");
  mlir_print_type(printer->text, type);
}

static bool slice_fits(const mlir_op_t *op) {
  const mlir_attr_t *starts = mlir_op_attr(op, "start_indices"), *limits = mlir_op_attr(op, "limit_indices"),
                    *strides = mlir_op_attr(op, "strides");
  return op->operand_count == 1 && is_ints(starts) && is_ints(limits) && is_ints(strides) &&
         starts->element_count == limits->element_count && starts->element_count == strides->element_count;
}

static void print_slice(op_printer_t *printer, const mlir_op_t *op) {
  const mlir_attr_t *attr = mlir_op_attr(op, "start_indices");
  const int64_t *starts = attr->data, *limits = mlir_op_attr(op, "limit_indices")->data,
                *strides = mlir_op_attr(op, "strides")->data;
  add(printer, "stablehlo.slice ");
  mlir_print_use(printer, op->operands[0]);
  add(printer, " [");
  for (int64_t d = 0; d < attr->element_count; d++) {
    hr_text_printf(printer->text, "%s%ld:%ld", d ? ", " : "", (long)starts[d], (long)limits[d]);
    if (strides[d] != 1) hr_text_printf(printer->text, ":%ld", (long)strides[d]);
  }
  add(printer, "]");
  mlir_print_rest(printer, op, &(shown_t){{"start_indices", "limit_indices", "strides"}, 3}, " ");
  mlir_print_function_type(printer, op);
}

static bool reduce_precision_fits(const mlir_op_t *op) {
  return op->operand_count == 1 && op->result_count == 1 && mlir_op_attr(op, "exponent_bits") &&
         mlir_op_attr(op, "mantissa_bits");
}

static void print_reduce_precision(op_printer_t *printer, const mlir_op_t *op) {
  add(printer, "stablehlo.reduce_precision ");
  mlir_print_use(printer, op->operands[0]);
  hr_text_printf(printer->text, ", format = e%ldm%ld", (long)mlir_op_attr(op, "exponent_bits")->integer,
                 (long)mlir_op_attr(op, "mantissa_bits")->integer);
  mlir_print_rest(printer, op, &(shown_t){{"exponent_bits", "mantissa_bits"}, 2}, " ");
  if (!mlir_type_equal(op->operands[0]->type, op->results[0].type)) {
    mlir_print_function_type(printer, op);
    return;
  }
  add(printer, " : ");
  mlir_print_type(printer->text, op->results[0].type);
}

static bool get_tuple_element_fits(const mlir_op_t *op) { return op->operand_count == 1 && mlir_op_attr(op, "index"); }

static void print_get_tuple_element(op_printer_t *printer, const mlir_op_t *op) {
  add(printer, "stablehlo.get_tuple_element ");
  mlir_print_use(printer, op->operands[0]);
  hr_text_printf(printer->text, "[%ld]", (long)mlir_op_attr(op, "index")->integer);
  mlir_print_rest(printer, op, &(shown_t){{"index"}, 1}, " ");
  mlir_print_function_type(printer, op);
}

/* --- products --- */

/* " name = [..] x [..]" */
static void print_pair(op_printer_t *printer, const char *name, const mlir_attr_t *left, const mlir_attr_t *right) {
  static const mlir_attr_t none = {.kind = MLIR_ATTR_DENSE_ARRAY};
  hr_text_printf(printer->text, ", %s = ", name);
  mlir_print_ints(printer->text, left ? left : &none);
  add(printer, " x ");
  mlir_print_ints(printer->text, right ? right : &none);
}

static void print_precision(op_printer_t *printer, const mlir_attr_t *config) {
  if (!config || !config->count) return;
  add(printer, ", precision = [");
  for (int i = 0; i < config->count; i++) {
    if (i) add(printer, ", ");
    print_word(printer, config->items[i]);
  }
  add(printer, "]");
}

/* The structure without its "#stablehlo.dot_algorithm". */
static void print_algorithm(op_printer_t *printer, const mlir_attr_t *algorithm) {
  hr_text_t whole;
  if (!algorithm) return;
  hr_text_init(&whole);
  mlir_print_attr(&whole, algorithm);
  const char *angle = whole.data ? strchr(whole.data, '<') : NULL;
  hr_text_printf(printer->text, ", algorithm = %s", angle ? angle : "");
  printer->text->failed |= whole.failed;
  hr_text_deinit(&whole);
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
  const mlir_attr_t *numbers = mlir_op_attr(op, "dot_dimension_numbers"), *algorithm = mlir_op_attr(op, "algorithm");
  return dot_fits(op) && numbers && numbers->kind == MLIR_ATTR_STRUCT &&
         (!algorithm || algorithm->kind == MLIR_ATTR_STRUCT);
}

static void print_dot(op_printer_t *printer, const mlir_op_t *op) {
  const mlir_attr_t *numbers = mlir_op_attr(op, "dot_dimension_numbers");
  hr_text_printf(printer->text, "%.*s ", HR_STR_ARGS(op->name));
  mlir_print_uses(printer, 2, op->operands);
  if (numbers) {
    const mlir_attr_t *lhs = mlir_attr_field(numbers, "lhs_batching_dimensions"),
                      *rhs = mlir_attr_field(numbers, "rhs_batching_dimensions");
    if ((lhs && lhs->element_count) || (rhs && rhs->element_count)) print_pair(printer, "batching_dims", lhs, rhs);
    print_pair(printer, "contracting_dims", mlir_attr_field(numbers, "lhs_contracting_dimensions"),
               mlir_attr_field(numbers, "rhs_contracting_dimensions"));
  }
  print_precision(printer, mlir_op_attr(op, "precision_config"));
  print_algorithm(printer, mlir_op_attr(op, "algorithm"));
  mlir_print_rest(printer, op, &(shown_t){{"dot_dimension_numbers", "precision_config", "algorithm"}, 3}, " ");
  mlir_print_function_type(printer, op);
}

static bool is_pairs(const mlir_attr_t *attr) {
  return attr->kind == MLIR_ATTR_DENSE && attr->data && attr->type->rank == 2 && attr->type->dims[1] == 2 &&
         mlir_element_bytes(attr->type->element) == 8;
}

static bool is_flags(const mlir_attr_t *attr) { return attr->kind == MLIR_ATTR_DENSE_ARRAY && attr->type->width == 1; }

static bool window_part_fits(const mlir_op_t *op, const char *name) {
  const mlir_attr_t *attr = mlir_op_attr(op, name);
  if (!attr) return true;
  if (!strcmp(name, "padding")) return is_pairs(attr);
  return strcmp(name, "window_reversal") ? is_ints(attr) : is_flags(attr);
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
  return op->operand_count == 2 && numbers && numbers->kind == MLIR_ATTR_STRUCT;
}

static void print_window_part(op_printer_t *printer, const mlir_attr_t *attr) {
  const int64_t *numbers = attr->data;
  const uint8_t *flags = attr->data;
  if (attr->kind == MLIR_ATTR_DENSE_ARRAY && attr->type->width == 64) {
    mlir_print_ints(printer->text, attr);
    return;
  }
  bool pairs = attr->kind == MLIR_ATTR_DENSE;
  int64_t count = pairs ? attr->type->dims[0] : attr->element_count;
  add(printer, "[");
  for (int64_t i = 0; i < count; i++) {
    if (i) add(printer, ", ");
    if (pairs)
      hr_text_printf(printer->text, "[%ld, %ld]", (long)numbers[attr->splat ? 0 : 2 * i],
                     (long)numbers[attr->splat ? 0 : 2 * i + 1]);
    else
      add(printer, flags[i] ? "true" : "false");
  }
  add(printer, "]");
}

static void print_convolution(op_printer_t *printer, const mlir_op_t *op) {
  bool any = false;
  add(printer, "stablehlo.convolution(");
  mlir_print_uses(printer, 2, op->operands);
  add(printer, ") dim_numbers = ");
  mlir_print_conv_dims(printer->text, mlir_op_attr(op, "dimension_numbers"));
  add(printer, ", window = {");
  for (size_t i = 0; i < WINDOW_PARTS; i++) {
    const mlir_attr_t *attr = mlir_op_attr(op, window_parts[i][0]);
    if (!attr) continue;
    hr_text_printf(printer->text, "%s%s = ", any ? ", " : "", window_parts[i][1]);
    print_window_part(printer, attr);
    any = true;
  }
  add(printer, "}");
  mlir_print_rest(printer, op,
                  &(shown_t){{"dimension_numbers", window_parts[0][0], window_parts[1][0], window_parts[2][0],
                              window_parts[3][0], window_parts[4][0]},
                             6},
                  " ");
  mlir_print_function_type(printer, op);
}

/* --- calls --- */

static bool custom_call_fits(const mlir_op_t *op) { return has_string(op, "call_target_name"); }

static void print_custom_call(op_printer_t *printer, const mlir_op_t *op) {
  add(printer, "stablehlo.custom_call ");
  print_symbol(printer, mlir_op_attr(op, "call_target_name")->text);
  add(printer, "(");
  mlir_print_uses(printer, op->operand_count, op->operands);
  add(printer, ")");
  mlir_print_rest(printer, op, &(shown_t){{"call_target_name"}, 1}, " ");
  mlir_print_function_type(printer, op);
}

static bool composite_fits(const mlir_op_t *op) { return has_string(op, "name"); }

static void print_composite(op_printer_t *printer, const mlir_op_t *op) {
  add(printer, "stablehlo.composite ");
  mlir_print_attr(printer->text, mlir_op_attr(op, "name"));
  if (op->operand_count) add(printer, " ");
  mlir_print_uses(printer, op->operand_count, op->operands);
  for (int r = 0; r < op->region_count; r++) {
    add(printer, r ? ", " : " (");
    mlir_print_region(printer, op->regions[r], false);
  }
  if (op->region_count) add(printer, ")");
  mlir_print_rest(printer, op, &(shown_t){{"name"}, 1}, " ");
  mlir_print_function_type(printer, op);
}

/* --- reduce, while, scan --- */

static bool reduce_fits(const mlir_op_t *op) {
  return op->operand_count && op->operand_count % 2 == 0 && is_ints(mlir_op_attr(op, "dimensions")) &&
         one_block(op, 0) && op->regions[0]->blocks.data[0]->arg_count == op->operand_count;
}

static bool is_scalar_of(const mlir_type_t *type, const mlir_type_t *element) {
  return type->kind == MLIR_TYPE_TENSOR && type->rank == 0 && mlir_type_equal(type->element, element);
}

/* The one op of a body that only applies it to its two arguments and returns the result; NULL if the body does more. */
static const mlir_op_t *applied_op(const mlir_op_t *op) {
  static const char *const names[] = {"add", "and", "maximum", "minimum", "multiply", "or", "xor"};
  const mlir_block_t *block = op->regions[0]->blocks.data[0];
  if (block->arg_count != 2 || block->ops.count != 2) return NULL;
  const mlir_op_t *inner = block->ops.data[0], *end = block->ops.data[1];
  bool plain = inner->operand_count == 2 && inner->result_count == 1 && !inner->attr_count && !inner->extra_count &&
               inner->name.size > 10 && !memcmp(inner->name.data, "stablehlo.", 10) && end->operand_count == 1 &&
               end->operands[0] == inner->results && inner->operands[0] == &block->args[0] &&
               inner->operands[1] == &block->args[1];
  if (!plain || !hr_str_is(end->name, "stablehlo.return")) return NULL;
  const mlir_type_t *element = op->operands[0]->type->element;
  if (!is_scalar_of(block->args[0].type, element) || !is_scalar_of(block->args[1].type, element) ||
      !is_scalar_of(inner->results[0].type, element))
    return NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (hr_str_is((hr_str_t){inner->name.data + 10, inner->name.size - 10}, names[i])) return inner;
  return NULL;
}

static void print_argument(op_printer_t *printer, const mlir_value_t *arg) {
  mlir_print_use(printer, arg);
  add(printer, ": ");
  mlir_print_type(printer->text, arg->type);
}

static void print_reducer(op_printer_t *printer, const mlir_op_t *op) {
  const mlir_block_t *block = op->regions[0]->blocks.data[0];
  int pairs = block->arg_count / 2;
  mlir_start_line(printer);
  add(printer, " reducer");
  for (int i = 0; i < pairs; i++) {
    add(printer, "(");
    print_argument(printer, &block->args[i]);
    add(printer, ", ");
    print_argument(printer, &block->args[i + pairs]);
    add(printer, ") ");
  }
  add(printer, " ");
  mlir_print_region(printer, op->regions[0], true);
}

static void print_reduce(op_printer_t *printer, const mlir_op_t *op) {
  const mlir_op_t *applied = applied_op(op);
  if (applied && printer->locations && applied->location != op->location)
    applied = NULL; /* the form has no place for it */
  int pairs = op->operand_count / 2;
  add(printer, "stablehlo.reduce");
  for (int i = 0; i < pairs; i++) {
    add(printer, i ? ", (" : "(");
    mlir_print_use(printer, op->operands[i]);
    add(printer, " init: ");
    mlir_print_use(printer, op->operands[i + pairs]);
    add(printer, ")");
  }
  if (applied) hr_text_printf(printer->text, " applies %.*s", HR_STR_ARGS(applied->name));
  add(printer, " across dimensions = ");
  mlir_print_ints(printer->text, mlir_op_attr(op, "dimensions"));
  mlir_print_rest(printer, op, &(shown_t){{"dimensions"}, 1}, " ");
  mlir_print_function_type(printer, op);
  if (!applied) print_reducer(printer, op);
}

/* The form names each type of the state once; sizes that only some of them leave open want the generic form. */
static bool while_fits(const mlir_op_t *op) {
  if (!one_block(op, 0) || !one_block(op, 1) || op->region_count != 2 || op->result_count != op->operand_count)
    return false;
  const mlir_block_t *condition = op->regions[0]->blocks.data[0], *body = op->regions[1]->blocks.data[0];
  if (condition->arg_count != op->operand_count || body->arg_count != op->operand_count) return false;
  for (int i = 0; i < op->operand_count; i++) {
    const mlir_type_t *type = op->operands[i]->type;
    bool same = mlir_type_equal(type, condition->args[i].type) && mlir_type_equal(type, body->args[i].type) &&
                mlir_type_equal(type, op->results[i].type);
    if (!same) return false;
  }
  return true;
}

/* The arguments of both regions go by the same names. */
static void print_while(op_printer_t *printer, const mlir_op_t *op) {
  const mlir_block_t *condition = op->regions[0]->blocks.data[0];
  add(printer, "stablehlo.while(");
  for (int i = 0; i < op->operand_count; i++) {
    if (i) add(printer, ", ");
    mlir_print_use(printer, &condition->args[i]);
    add(printer, " = ");
    mlir_print_use(printer, op->operands[i]);
  }
  add(printer, ")");
  if (op->operand_count) add(printer, " : ");
  mlir_print_operand_types(printer, op);
  mlir_print_rest(printer, op, &(shown_t){.count = 0}, " attributes ");
  mlir_start_line(printer);
  add(printer, "cond ");
  mlir_print_region(printer, op->regions[0], true);
  add(printer, " do ");
  mlir_print_region(printer, op->regions[1], true);
}

static bool scan_fits(const mlir_op_t *op) {
  const mlir_attr_t *dimension = mlir_op_attr(op, "dimension");
  int64_t inputs = mlir_first_segment(op, "operandSegmentSizes");
  return one_block(op, 0) && op->region_count == 1 && dimension && dimension->kind == MLIR_ATTR_INTEGER &&
         inputs >= 0 && inputs <= op->operand_count;
}

static void print_scan(op_printer_t *printer, const mlir_op_t *op) {
  int inputs = (int)mlir_first_segment(op, "operandSegmentSizes");
  add(printer, "chlo.scan(");
  mlir_print_uses(printer, inputs, op->operands);
  add(printer, ") inits (");
  mlir_print_uses(printer, op->operand_count - inputs, op->operands + inputs);
  hr_text_printf(printer->text, ") dimension=%ld ", (long)mlir_op_attr(op, "dimension")->integer);
  mlir_print_rest(printer, op, &(shown_t){{"dimension", "operandSegmentSizes", "resultSegmentSizes"}, 3},
                  " attributes ");
  add(printer, " ");
  mlir_print_region(printer, op->regions[0], false);
  mlir_print_function_type(printer, op);
}

static void print_return(op_printer_t *printer, const mlir_op_t *op) {
  mlir_print_op_name(printer, op);
  if (op->operand_count) add(printer, " ");
  mlir_print_uses(printer, op->operand_count, op->operands);
  mlir_print_rest(printer, op, &(shown_t){.count = 0}, " ");
  if (!op->operand_count) return;
  add(printer, " : ");
  mlir_print_operand_types(printer, op);
}

/* --- functions and modules --- */

static void print_dict_of(op_printer_t *printer, const mlir_attr_t *dicts, int index) {
  if (!dicts || index >= dicts->count || !dicts->items[index]->count) return;
  add(printer, " ");
  mlir_print_attr(printer->text, dicts->items[index]);
}

static void print_function_results(op_printer_t *printer, const mlir_type_t *type, const mlir_attr_t *attrs) {
  bool bare = type->result_count == 1 && !(attrs && attrs->count && attrs->items[0]->count);
  if (!type->result_count) return;
  add(printer, bare ? " -> " : " -> (");
  for (int i = 0; i < type->result_count; i++) {
    if (i) add(printer, ", ");
    mlir_print_type(printer->text, type->results[i]);
    print_dict_of(printer, attrs, i);
  }
  if (!bare) add(printer, ")");
}

static void print_parameters(op_printer_t *printer, const mlir_op_t *op, const mlir_type_t *type) {
  const mlir_block_t *block =
      one_block(op, 0) || (op->region_count && op->regions[0]->blocks.count) ? op->regions[0]->blocks.data[0] : NULL;
  for (int i = 0; i < type->input_count; i++) {
    if (i) add(printer, ", ");
    if (block) {
      mlir_print_use(printer, &block->args[i]);
      add(printer, ": ");
    }
    mlir_print_type(printer->text, type->inputs[i]);
    print_dict_of(printer, mlir_op_attr(op, "arg_attrs"), i);
  }
}

static bool func_fits(const mlir_op_t *op) {
  const mlir_attr_t *type = mlir_op_attr(op, "function_type");
  if (!type || type->kind != MLIR_ATTR_TYPE || type->type->kind != MLIR_TYPE_FUNCTION || !has_string(op, "sym_name"))
    return false;
  bool has_body = op->region_count == 1 && op->regions[0]->blocks.count;
  return !has_body || op->regions[0]->blocks.data[0]->arg_count == type->type->input_count;
}

static void print_func(op_printer_t *printer, const mlir_op_t *op) {
  const mlir_attr_t *visibility = mlir_op_attr(op, "sym_visibility");
  const mlir_type_t *type = mlir_op_attr(op, "function_type")->type;
  add(printer, "func.func ");
  if (visibility) hr_text_printf(printer->text, "%.*s ", HR_STR_ARGS(visibility->text));
  print_symbol(printer, mlir_op_attr(op, "sym_name")->text);
  add(printer, "(");
  print_parameters(printer, op, type);
  add(printer, ")");
  print_function_results(printer, type, mlir_op_attr(op, "res_attrs"));
  mlir_print_rest(printer, op, &(shown_t){{"arg_attrs", "function_type", "res_attrs", "sym_name", "sym_visibility"}, 5},
                  " attributes ");
  if (!op->region_count || !op->regions[0]->blocks.count) return;
  add(printer, " ");
  mlir_print_region(printer, op->regions[0], true);
}

static void print_builtin_module(op_printer_t *printer, const mlir_op_t *op) {
  static const mlir_region_t empty;
  add(printer, "module");
  if (has_string(op, "sym_name")) {
    add(printer, " ");
    print_symbol(printer, mlir_op_attr(op, "sym_name")->text);
  }
  mlir_print_rest(printer, op, &(shown_t){{"sym_name"}, 1}, " attributes ");
  add(printer, " ");
  mlir_print_region(printer, op->region_count ? op->regions[0] : &empty, true);
}

/* --- sdy, arith, tensor, shape --- */

static bool mesh_fits(const mlir_op_t *op) { return has_string(op, "sym_name") && has_string(op, "mesh"); }

static void print_mesh(op_printer_t *printer, const mlir_op_t *op) {
  add(printer, "sdy.mesh ");
  print_symbol(printer, mlir_op_attr(op, "sym_name")->text);
  hr_text_printf(printer->text, " = <%.*s>", HR_STR_ARGS(mlir_op_attr(op, "mesh")->text));
  mlir_print_rest(printer, op, &(shown_t){{"sym_name", "mesh"}, 2}, " ");
}

static bool sharded_fits(const mlir_op_t *op) {
  return op->operand_count == 1 && op->result_count == 1 && has_string(op, "sharding");
}

static void print_sharded(op_printer_t *printer, const mlir_op_t *op) {
  mlir_print_op_name(printer, op);
  add(printer, " ");
  mlir_print_use(printer, op->operands[0]);
  hr_text_printf(printer->text, " <%.*s>", HR_STR_ARGS(mlir_op_attr(op, "sharding")->text));
  mlir_print_rest(printer, op, &(shown_t){{"sharding"}, 1}, " ");
  add(printer, " : ");
  mlir_print_type(printer->text, op->results[0].type);
}

static bool manual_fits(const mlir_op_t *op) {
  return one_block(op, 0) && has_string(op, "in_shardings") && has_string(op, "out_shardings") &&
         has_string(op, "manual_axes");
}

static void print_manual(op_printer_t *printer, const mlir_op_t *op) {
  const mlir_block_t *block = op->regions[0]->blocks.data[0];
  add(printer, "sdy.manual_computation(");
  mlir_print_uses(printer, op->operand_count, op->operands);
  hr_text_printf(printer->text, ") in_shardings=[%.*s] out_shardings=[%.*s] manual_axes={%.*s} (",
                 HR_STR_ARGS(mlir_op_attr(op, "in_shardings")->text),
                 HR_STR_ARGS(mlir_op_attr(op, "out_shardings")->text),
                 HR_STR_ARGS(mlir_op_attr(op, "manual_axes")->text));
  for (int i = 0; i < block->arg_count; i++) {
    if (i) add(printer, ", ");
    print_argument(printer, &block->args[i]);
  }
  add(printer, ") ");
  mlir_print_region(printer, op->regions[0], true);
  mlir_print_rest(printer, op, &(shown_t){{"in_shardings", "out_shardings", "manual_axes"}, 3}, " ");
  mlir_print_function_type(printer, op);
}

static bool cast_fits(const mlir_op_t *op) { return op->operand_count == 1 && op->result_count == 1; }

static void print_cast(op_printer_t *printer, const mlir_op_t *op) {
  mlir_print_op_name(printer, op);
  add(printer, " ");
  mlir_print_use(printer, op->operands[0]);
  mlir_print_rest(printer, op, &(shown_t){.count = 0}, " ");
  add(printer, " : ");
  mlir_print_operand_types(printer, op);
  add(printer, " to ");
  mlir_print_result_types(printer, op);
}

static bool const_shape_fits(const mlir_op_t *op) {
  return op->result_count == 1 && is_ints(mlir_op_attr(op, "shape"));
}

static void print_const_shape(op_printer_t *printer, const mlir_op_t *op) {
  add(printer, "shape.const_shape");
  mlir_print_rest(printer, op, &(shown_t){{"shape"}, 1}, " ");
  add(printer, " ");
  mlir_print_ints(printer->text, mlir_op_attr(op, "shape"));
  add(printer, " : ");
  mlir_print_result_types(printer, op);
}

static const own_form_t own_forms[] = {
    {"arith.constant", constant_fits, print_constant},
    {"arith.index_cast", cast_fits, print_cast},
    {"builtin.module", NULL, print_builtin_module},
    {"chlo.constant", constant_fits, print_constant},
    {"chlo.scan", scan_fits, print_scan},
    {"func.func", func_fits, print_func},
    {"func.return", NULL, print_return},
    {"sdy.manual_computation", manual_fits, print_manual},
    {"sdy.mesh", mesh_fits, print_mesh},
    {"sdy.reshard", sharded_fits, print_sharded},
    {"sdy.return", NULL, print_return},
    {"sdy.sharding_constraint", sharded_fits, print_sharded},
    {"shape.const_shape", const_shape_fits, print_const_shape},
    {"stablehlo.compare", compare_fits, print_compare},
    {"stablehlo.composite", composite_fits, print_composite},
    {"stablehlo.constant", constant_fits, print_constant},
    {"stablehlo.convolution", convolution_fits, print_convolution},
    {"stablehlo.custom_call", custom_call_fits, print_custom_call},
    {"stablehlo.dot", dot_fits, print_dot},
    {"stablehlo.dot_general", dot_general_fits, print_dot},
    {"stablehlo.get_tuple_element", get_tuple_element_fits, print_get_tuple_element},
    {"stablehlo.reduce", reduce_fits, print_reduce},
    {"stablehlo.reduce_precision", reduce_precision_fits, print_reduce_precision},
    {"stablehlo.return", NULL, print_return},
    {"stablehlo.select", select_fits, print_select},
    {"stablehlo.slice", slice_fits, print_slice},
    {"stablehlo.while", while_fits, print_while},
    {"tensor.cast", cast_fits, print_cast},
};

bool mlir_print_own_form(op_printer_t *printer, const mlir_op_t *op) {
  for (size_t i = 0; i < sizeof own_forms / sizeof *own_forms; i++) {
    if (!hr_str_is(op->name, own_forms[i].op)) continue;
    if (own_forms[i].fits && !own_forms[i].fits(op)) return false;
    own_forms[i].print(printer, op);
    return true;
  }
  return false;
}
