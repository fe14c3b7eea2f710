/* Forms of ops with regions: loops and reductions, functions and modules, manual computations of
 * sdy. Each form has a function that checks whether it can express the op, as in
 * mlir_print_forms.c; the table is at the end of the file. */
#include "mlir/text/mlir_print_forms.h"

/* --- reduce, while, scan --- */

/* As many inits as inputs, and one block with an accumulator and an input for each. */
static bool reduce_fits(const mlir_op_t *op) {
  return op->operand_count && op->operand_count % 2 == 0 &&
         form_is_ints(mlir_op_attr(op, "dimensions")) && form_has_block(op, 0) &&
         op->regions[0]->blocks.data[0]->arg_count == op->operand_count;
}

/* tensor<T> of this element type. */
static bool is_scalar_of(const mlir_type_t *type, const mlir_type_t *element) {
  return type->kind == MLIR_TYPE_TENSOR && type->rank == 0 &&
         mlir_type_equal(type->element, element);
}

/* The op of a body that "applies op" can express: the body applies one of seven StableHLO ops to
 * its two scalar arguments, in order, and returns the result. NULL: any other body. */
static const mlir_op_t *applied_op(const mlir_op_t *op) {
  const mlir_block_t *block = op->regions[0]->blocks.data[0];
  if (block->arg_count != 2 || block->ops.count != 2) return NULL;
  const mlir_op_t *inner = block->ops.data[0];
  const mlir_op_t *end = block->ops.data[1];
  bool plain = inner->operand_count == 2 && inner->result_count == 1 && !inner->attr_count &&
               !inner->extra_count && mlir_may_be_applied(inner->name) && end->operand_count == 1 &&
               end->operands[0] == inner->results && inner->operands[0] == &block->args[0] &&
               inner->operands[1] == &block->args[1];
  if (!plain || !hr_str_is(end->name, "stablehlo.return")) return NULL;
  const mlir_type_t *element = op->operands[0]->type->element;
  if (!is_scalar_of(block->args[0].type, element) || !is_scalar_of(block->args[1].type, element) ||
      !is_scalar_of(inner->results[0].type, element))
    return NULL;
  return inner;
}

static void print_argument(op_printer_t *printer, const mlir_value_t *arg) {
  mlir_print_use(printer, arg);
  form_add(printer, ": ");
  mlir_print_type(printer->text, arg->type);
}

/* reducer(%acc: T, %x: T) ... {body}: the block has accumulators first, then inputs; the form has
 * pairs. */
static void print_reducer(op_printer_t *printer, const mlir_op_t *op) {
  const mlir_block_t *block = op->regions[0]->blocks.data[0];
  int pairs = block->arg_count / 2;
  mlir_start_line(printer);
  form_add(printer, " reducer");
  for (int i = 0; i < pairs; i++) {
    form_add(printer, "(");
    print_argument(printer, &block->args[i]);
    form_add(printer, ", ");
    print_argument(printer, &block->args[i + pairs]);
    form_add(printer, ") ");
  }
  form_add(printer, " ");
  mlir_print_region(printer, op->regions[0], true);
}

/* The short notation "applies op" if the body is one op on its arguments. */
static void print_reduce(op_printer_t *printer, const mlir_op_t *op) {
  const mlir_op_t *applied = applied_op(op);
  if (applied && printer->locations && applied->location != op->location)
    applied = NULL; /* the form cannot express it */
  int pairs = op->operand_count / 2;
  form_add(printer, "stablehlo.reduce");
  for (int i = 0; i < pairs; i++) {
    form_add(printer, i ? ", (" : "(");
    mlir_print_use(printer, op->operands[i]);
    form_add(printer, " init: ");
    mlir_print_use(printer, op->operands[i + pairs]);
    form_add(printer, ")");
  }
  if (applied) hr_strbuf_printf(printer->text, " applies %.*s", HR_STR_ARGS(applied->name));
  form_add(printer, " across dimensions = ");
  mlir_print_ints(printer->text, mlir_op_attr(op, "dimensions"));
  mlir_print_rest(printer, op, &(printed_name_t){{"dimensions"}, 1}, " ");
  mlir_print_function_type(printer, op);
  if (!applied) print_reducer(printer, op);
}

/* The form has each type of the state once: operands, arguments of both regions and results must
 * share it. A loop whose sizes are known in only some of them is printed in the generic form. */
static bool while_fits(const mlir_op_t *op) {
  if (!form_has_block(op, 0) || !form_has_block(op, 1) || op->region_count != 2 ||
      op->result_count != op->operand_count)
    return false;
  const mlir_block_t *condition = op->regions[0]->blocks.data[0];
  const mlir_block_t *body = op->regions[1]->blocks.data[0];
  if (condition->arg_count != op->operand_count || body->arg_count != op->operand_count)
    return false;
  for (int i = 0; i < op->operand_count; i++) {
    const mlir_type_t *type = op->operands[i]->type;
    bool same = mlir_type_equal(type, condition->args[i].type) &&
                mlir_type_equal(type, body->args[i].type) &&
                mlir_type_equal(type, op->results[i].type);
    if (!same) return false;
  }
  return true;
}

/* The arguments of both regions are printed with the names of the condition's. */
static void print_while(op_printer_t *printer, const mlir_op_t *op) {
  const mlir_block_t *condition = op->regions[0]->blocks.data[0];
  form_add(printer, "stablehlo.while(");
  for (int i = 0; i < op->operand_count; i++) {
    if (i) form_add(printer, ", ");
    mlir_print_use(printer, &condition->args[i]);
    form_add(printer, " = ");
    mlir_print_use(printer, op->operands[i]);
  }
  form_add(printer, ")");
  if (op->operand_count) form_add(printer, " : ");
  mlir_print_operand_types(printer, op);
  mlir_print_rest(printer, op, &(printed_name_t){.count = 0}, " attributes ");
  mlir_start_line(printer);
  form_add(printer, "cond ");
  mlir_print_region(printer, op->regions[0], true);
  form_add(printer, " do ");
  mlir_print_region(printer, op->regions[1], true);
}

/* The operands are inputs, then inits; the segment sizes give the first init. */
static bool scan_fits(const mlir_op_t *op) {
  const mlir_attr_t *dimension = mlir_op_attr(op, "dimension");
  int64_t inputs = mlir_first_segment(op, "operandSegmentSizes");
  return form_has_block(op, 0) && op->region_count == 1 && dimension &&
         dimension->kind == MLIR_ATTR_INTEGER && inputs >= 0 && inputs <= op->operand_count;
}

/* chlo.scan(%in) inits (%init) dimension=N {body} */
static void print_scan(op_printer_t *printer, const mlir_op_t *op) {
  int inputs = (int)mlir_first_segment(op, "operandSegmentSizes");
  form_add(printer, "chlo.scan(");
  mlir_print_uses(printer, inputs, op->operands);
  form_add(printer, ") inits (");
  mlir_print_uses(printer, op->operand_count - inputs, op->operands + inputs);
  hr_strbuf_printf(printer->text, ") dimension=%ld ", (long)mlir_op_attr(op, "dimension")->integer);
  mlir_print_rest(printer, op,
                  &(printed_name_t){{"dimension", "operandSegmentSizes", "resultSegmentSizes"}, 3},
                  " attributes ");
  form_add(printer, " ");
  mlir_print_region(printer, op->regions[0], false);
  mlir_print_function_type(printer, op);
}

/* The form has no place for results and regions, which text in the generic form may give it. */
static bool return_fits(const mlir_op_t *op) { return !op->result_count && !op->region_count; }

/* Operands and types; nothing else for an empty return. Attributes come first, but for StableHLO.
 */
static void print_return(op_printer_t *printer, const mlir_op_t *op) {
  bool is_last = hr_str_is(op->name, "stablehlo.return");
  mlir_print_op_name(printer, op);
  if (!is_last) mlir_print_rest(printer, op, &(printed_name_t){.count = 0}, " ");
  if (op->operand_count) form_add(printer, " ");
  mlir_print_uses(printer, op->operand_count, op->operands);
  if (is_last) mlir_print_rest(printer, op, &(printed_name_t){.count = 0}, " ");
  if (!op->operand_count) return;
  form_add(printer, " : ");
  mlir_print_operand_types(printer, op);
}

/* --- functions and modules --- */

/* The dictionary of one argument or result, if it is not empty. */
static void print_dict_of(op_printer_t *printer, const mlir_attr_t *dicts, int index) {
  if (!dicts || index >= dicts->count || !dicts->items[index]->count) return;
  form_add(printer, " ");
  mlir_print_attr(printer->text, dicts->items[index]);
}

/* Parentheses are omitted for a single result without attributes. */
static void print_function_results(op_printer_t *printer, const mlir_type_t *type,
                                   const mlir_attr_t *attrs) {
  bool bare = type->result_count == 1 && !(attrs && attrs->count && attrs->items[0]->count);
  if (!type->result_count) return;
  form_add(printer, bare ? " -> " : " -> (");
  for (int i = 0; i < type->result_count; i++) {
    if (i) form_add(printer, ", ");
    mlir_print_type(printer->text, type->results[i]);
    print_dict_of(printer, attrs, i);
  }
  if (!bare) form_add(printer, ")");
}

/* Names and types of the body's arguments; a declaration has types only. */
static void print_parameters(op_printer_t *printer, const mlir_op_t *op, const mlir_type_t *type) {
  bool has_body = op->region_count && op->regions[0]->blocks.count;
  const mlir_block_t *block = has_body ? op->regions[0]->blocks.data[0] : NULL;
  for (int i = 0; i < type->input_count; i++) {
    if (i) form_add(printer, ", ");
    if (block) {
      mlir_print_use(printer, &block->args[i]);
      form_add(printer, ": ");
    }
    mlir_print_type(printer->text, type->inputs[i]);
    print_dict_of(printer, mlir_op_attr(op, "arg_attrs"), i);
  }
}

/* The entry block must have as many arguments as the function's type. */
static bool func_fits(const mlir_op_t *op) {
  const mlir_attr_t *type = mlir_op_attr(op, "function_type");
  if (!type || type->kind != MLIR_ATTR_TYPE || type->type->kind != MLIR_TYPE_FUNCTION ||
      !form_has_string(op, "sym_name"))
    return false;
  bool has_body = op->region_count == 1 && op->regions[0]->blocks.count;
  return !has_body || op->regions[0]->blocks.data[0]->arg_count == type->type->input_count;
}

/* func.func visibility @name(parameters) -> results attributes {..} {body} */
static void print_func(op_printer_t *printer, const mlir_op_t *op) {
  const mlir_attr_t *visibility = mlir_op_attr(op, "sym_visibility");
  const mlir_type_t *type = mlir_op_attr(op, "function_type")->type;
  form_add(printer, "func.func ");
  if (visibility) hr_strbuf_printf(printer->text, "%.*s ", HR_STR_ARGS(visibility->text));
  form_print_symbol(printer, mlir_op_attr(op, "sym_name")->text);
  form_add(printer, "(");
  print_parameters(printer, op, type);
  form_add(printer, ")");
  print_function_results(printer, type, mlir_op_attr(op, "res_attrs"));
  mlir_print_rest(printer, op,
                  &(printed_name_t){
                      {"arg_attrs", "function_type", "res_attrs", "sym_name", "sym_visibility"}, 5},
                  " attributes ");
  if (!op->region_count || !op->regions[0]->blocks.count) return;
  form_add(printer, " ");
  mlir_print_region(printer, op->regions[0], true);
}

/* module @name attributes {..} {body} */
static void print_builtin_module(op_printer_t *printer, const mlir_op_t *op) {
  static const mlir_region_t empty;
  form_add(printer, "module");
  if (form_has_string(op, "sym_name")) {
    form_add(printer, " ");
    form_print_symbol(printer, mlir_op_attr(op, "sym_name")->text);
  }
  mlir_print_rest(printer, op, &(printed_name_t){{"sym_name"}, 1}, " attributes ");
  form_add(printer, " ");
  mlir_print_region(printer, op->region_count ? op->regions[0] : &empty, true);
}

/* --- sdy --- */

static bool mesh_fits(const mlir_op_t *op) {
  return form_has_string(op, "sym_name") && form_has_string(op, "mesh");
}

static void print_mesh(op_printer_t *printer, const mlir_op_t *op) {
  form_add(printer, "sdy.mesh ");
  form_print_symbol(printer, mlir_op_attr(op, "sym_name")->text);
  hr_strbuf_printf(printer->text, " = <%.*s>", HR_STR_ARGS(mlir_op_attr(op, "mesh")->text));
  mlir_print_rest(printer, op, &(printed_name_t){{"sym_name", "mesh"}, 2}, " ");
}

/* Shardings read from text are strings; others are printed in the generic form. */
static bool sharded_fits(const mlir_op_t *op) {
  return op->operand_count == 1 && op->result_count == 1 && form_has_string(op, "sharding");
}

/* sdy.reshard and sdy.sharding_constraint: the sharding is stored as text. */
static void print_sharded(op_printer_t *printer, const mlir_op_t *op) {
  mlir_print_op_name(printer, op);
  form_add(printer, " ");
  mlir_print_use(printer, op->operands[0]);
  hr_strbuf_printf(printer->text, " <%.*s>", HR_STR_ARGS(mlir_op_attr(op, "sharding")->text));
  mlir_print_rest(printer, op, &(printed_name_t){{"sharding"}, 1}, " ");
  form_add(printer, " : ");
  mlir_print_type(printer->text, op->results[0].type);
}

static bool manual_fits(const mlir_op_t *op) {
  return form_has_block(op, 0) && form_has_string(op, "in_shardings") &&
         form_has_string(op, "out_shardings") && form_has_string(op, "manual_axes");
}

/* sdy.manual_computation with shardings and axes as they were read. */
static void print_manual(op_printer_t *printer, const mlir_op_t *op) {
  const mlir_block_t *block = op->regions[0]->blocks.data[0];
  form_add(printer, "sdy.manual_computation(");
  mlir_print_uses(printer, op->operand_count, op->operands);
  hr_strbuf_printf(printer->text, ") in_shardings=[%.*s] out_shardings=[%.*s] manual_axes={%.*s} (",
                   HR_STR_ARGS(mlir_op_attr(op, "in_shardings")->text),
                   HR_STR_ARGS(mlir_op_attr(op, "out_shardings")->text),
                   HR_STR_ARGS(mlir_op_attr(op, "manual_axes")->text));
  for (int i = 0; i < block->arg_count; i++) {
    if (i) form_add(printer, ", ");
    print_argument(printer, &block->args[i]);
  }
  form_add(printer, ") ");
  mlir_print_region(printer, op->regions[0], true);
  mlir_print_rest(printer, op,
                  &(printed_name_t){{"in_shardings", "out_shardings", "manual_axes"}, 3}, " ");
  mlir_print_function_type(printer, op);
}

const print_form_t mlir_region_forms[] = {
    {"builtin.module", NULL, print_builtin_module},
    {"chlo.scan", scan_fits, print_scan},
    {"func.func", func_fits, print_func},
    {"func.return", return_fits, print_return},
    {"sdy.manual_computation", manual_fits, print_manual},
    {"sdy.mesh", mesh_fits, print_mesh},
    {"sdy.reshard", sharded_fits, print_sharded},
    {"sdy.return", return_fits, print_return},
    {"sdy.sharding_constraint", sharded_fits, print_sharded},
    {"stablehlo.reduce", reduce_fits, print_reduce},
    {"stablehlo.return", return_fits, print_return},
    {"stablehlo.while", while_fits, print_while},
    {.op = NULL},
};
