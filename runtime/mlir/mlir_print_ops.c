/* Operations and modules as text: the forms of mlir_forms.def where an op has a row there, constants, functions and
 * returns in their own, and everything else in the generic form, which always reads back. */
#include <string.h>

#include "mlir/mlir_forms.h"
#include "mlir/mlir_print.h"

typedef struct op_printer {
  hr_text_t *text;
  int indent;
  int64_t next_value, next_arg, next_block; /* numbering restarts in each isolated region */
} op_printer_t;

/* A value's number is kept in `mapped`: 2n + 2 for result n, 2n + 3 for argument n. */
static void number_value(mlir_value_t *value, int64_t number, bool is_arg) {
  value->mapped = (void *)(uintptr_t)(2 * number + 2 + is_arg);
}

static void print_value(op_printer_t *printer, const mlir_value_t *value) {
  uintptr_t code = (uintptr_t)value->mapped;
  hr_text_printf(printer->text, code & 1 ? "%%arg%lu" : "%%%lu", (unsigned long)(code / 2 - 1));
}

static void print_values(op_printer_t *printer, int count, mlir_value_t *const *values) {
  for (int i = 0; i < count; i++) {
    if (i) hr_text_add_str(printer->text, ", ");
    print_value(printer, values[i]);
  }
}

static void start_line(op_printer_t *printer) {
  hr_text_add_char(printer->text, '\n');
  for (int i = 0; i < printer->indent; i++) hr_text_add_str(printer->text, "  ");
}

static void print_op(op_printer_t *printer, const mlir_op_t *op);

/* --- attributes --- */

typedef struct shown { /* names of attributes that the form has already said */
  hr_str_t names[8];
  int count;
} shown_t;

static bool is_shown(const shown_t *shown, hr_str_t name) {
  for (int i = 0; i < shown->count; i++)
    if (hr_str_equal(name, shown->names[i])) return true;
  return false;
}

static void print_entry(op_printer_t *printer, const mlir_named_attr_t *entry, bool *any) {
  hr_text_add_str(printer->text, *any ? ", " : "{");
  *any = true;
  mlir_print_entry(printer->text, entry);
}

/* Attributes that are not yet said, as one dictionary; nothing if there are none. */
static void print_rest(op_printer_t *printer, const mlir_op_t *op, const shown_t *shown, const char *before) {
  bool any = false;
  size_t start = printer->text->size;
  hr_text_add_str(printer->text, before);
  for (int i = 0; i < op->attr_count; i++)
    if (!is_shown(shown, op->attrs[i].name)) print_entry(printer, &op->attrs[i], &any);
  for (int i = 0; i < op->extra_count; i++) print_entry(printer, &op->extras[i], &any);
  if (any)
    hr_text_add_char(printer->text, '}');
  else
    hr_text_cut(printer->text, start);
}

/* --- types --- */

static void print_result_types(op_printer_t *printer, const mlir_op_t *op) {
  bool bare = op->result_count == 1 && op->results[0].type->kind != MLIR_TYPE_FUNCTION;
  if (!bare) hr_text_add_char(printer->text, '(');
  for (int i = 0; i < op->result_count; i++) {
    if (i) hr_text_add_str(printer->text, ", ");
    mlir_print_type(printer->text, op->results[i].type);
  }
  if (!bare) hr_text_add_char(printer->text, ')');
}

static void print_operand_types(op_printer_t *printer, const mlir_op_t *op) {
  for (int i = 0; i < op->operand_count; i++) {
    if (i) hr_text_add_str(printer->text, ", ");
    mlir_print_type(printer->text, op->operands[i]->type);
  }
}

static void print_function_type(op_printer_t *printer, const mlir_op_t *op) {
  hr_text_add_char(printer->text, '(');
  print_operand_types(printer, op);
  hr_text_add_str(printer->text, ") -> ");
  print_result_types(printer, op);
}

static bool all_alike(const mlir_op_t *op) {
  for (int i = 0; i < op->operand_count; i++)
    if (!mlir_type_equal(op->operands[i]->type, op->results[0].type)) return false;
  return op->result_count == 1;
}

static void print_form_types(op_printer_t *printer, const mlir_op_t *op, mlir_form_types_t types) {
  if (types == MLIR_FORM_LIST && !op->operand_count) return;
  hr_text_add_str(printer->text, " : ");
  if (types == MLIR_FORM_LIST)
    print_operand_types(printer, op);
  else if (types == MLIR_FORM_RESULT || (types == MLIR_FORM_SAME && all_alike(op)))
    mlir_print_type(printer->text, op->results[0].type);
  else
    print_function_type(printer, op);
}

/* --- forms of mlir_forms.def --- */

static void print_item_value(op_printer_t *printer, const char *item, const mlir_attr_t *attr) {
  if (!strncmp(item, "ints:", 5))
    mlir_print_ints(printer->text, attr);
  else if (!strncmp(item, "i64:", 4) || !strncmp(item, "i32:", 4))
    hr_text_add_int(printer->text, attr->integer);
  else if (!strncmp(item, "enum:", 5))
    hr_text_add(printer->text, attr->text.data, attr->text.size);
  else
    mlir_print_attr(printer->text, attr);
}

static const char *attr_of_item(const char *item) { return strrchr(item, ':') + 1; }

/* Can the form say the op? All its attributes must be there, in the kinds that it writes. */
static bool form_fits(const mlir_form_t *form, const mlir_op_t *op) {
  char item[MLIR_FORM_ITEM];
  bool optional = false;
  int singles = 0;
  bool list = false;
  for (const char *at = form->format; mlir_form_next_item(&at, item);) {
    optional = !strcmp(item, "[") || (optional && strcmp(item, "]"));
    singles += !strcmp(item, "%");
    list |= !strcmp(item, "%*");
    if (!strchr(item, ':') || !item[1]) continue;
    const mlir_attr_t *attr = mlir_op_attr(op, attr_of_item(item));
    if (!attr && !optional) return false;
    bool ints = !strncmp(item, "ints:", 5);
    if (attr && ints && (attr->kind != MLIR_ATTR_DENSE_ARRAY || attr->type->width != 64)) return false;
  }
  return op->region_count == 0 && (list || singles == op->operand_count) &&
         (form->types == MLIR_FORM_FN || form->types == MLIR_FORM_LIST || op->result_count == 1);
}

/* The attribute's name where it stands in the format, which outlives the item. */
static hr_str_t name_in_format(const mlir_form_t *form, const char *name) {
  const char *at = form->format;
  size_t size = strlen(name);
  do at = strstr(at + 1, name);
  while (at && (at[-1] != ':' || (at[size] && at[size] != ' ')));
  return (hr_str_t){at, at ? size : 0};
}

static void print_form(op_printer_t *printer, const mlir_form_t *form, const mlir_op_t *op) {
  char item[MLIR_FORM_ITEM];
  shown_t shown = {.count = 0};
  int next_operand = 0;
  hr_text_add(printer->text, op->name.data, op->name.size);
  for (const char *at = form->format; mlir_form_next_item(&at, item);) {
    const char *blank = !strcmp(item, ",") || !strcmp(item, ")") ? "" : " ";
    if (!strcmp(item, "[")) {
      const char *rest = at;
      while (mlir_form_next_item(&rest, item) && !strchr(item, ':')) continue;
      if (!mlir_op_attr(op, attr_of_item(item))) at = strchr(at, ']') + 1;
    } else if (!strcmp(item, "]")) {
      continue;
    } else if (!strcmp(item, "A")) {
      print_rest(printer, op, &shown, " ");
    } else if (!strcmp(item, "%")) {
      hr_text_add_str(printer->text, blank);
      print_value(printer, op->operands[next_operand++]);
    } else if (!strcmp(item, "%*")) {
      if (op->operand_count) hr_text_add_str(printer->text, blank);
      print_values(printer, op->operand_count, op->operands);
    } else if (strchr(item, ':')) {
      hr_text_add_str(printer->text, blank);
      print_item_value(printer, item, mlir_op_attr(op, attr_of_item(item)));
      shown.names[shown.count++] = name_in_format(form, attr_of_item(item));
    } else {
      hr_text_printf(printer->text, "%s%s", blank, item);
    }
  }
  print_form_types(printer, op, form->types);
}

/* --- regions --- */

static void number_block(op_printer_t *printer, mlir_block_t *block) {
  for (int i = 0; i < block->arg_count; i++) number_value(&block->args[i], printer->next_arg++, true);
}

static void print_block_ops(op_printer_t *printer, const mlir_block_t *block) {
  printer->indent++;
  for (size_t i = 0; i < block->ops.count; i++) {
    start_line(printer);
    print_op(printer, block->ops.data[i]);
  }
  printer->indent--;
}

static void print_block_label(op_printer_t *printer, const mlir_block_t *block) {
  start_line(printer);
  hr_text_printf(printer->text, "^bb%ld", (long)printer->next_block++);
  for (int i = 0; i < block->arg_count; i++) {
    hr_text_add_str(printer->text, i ? ", " : "(");
    print_value(printer, &block->args[i]);
    hr_text_add_str(printer->text, ": ");
    mlir_print_type(printer->text, block->args[i].type);
  }
  hr_text_add_str(printer->text, block->arg_count ? "):" : ":");
}

/* `named_args`: the entry block's arguments stand in the op's own syntax. */
static void print_region(op_printer_t *printer, const mlir_region_t *region, bool named_args) {
  hr_text_add_char(printer->text, '{');
  for (size_t b = 0; b < region->blocks.count; b++) {
    mlir_block_t *block = region->blocks.data[b];
    bool label = b > 0 || (!named_args && block->arg_count);
    if (!named_args || b > 0) number_block(printer, block);
    if (label) print_block_label(printer, block);
    print_block_ops(printer, block);
  }
  start_line(printer);
  hr_text_add_char(printer->text, '}');
}

/* --- forms of their own --- */

static void print_constant(op_printer_t *printer, const mlir_op_t *op) {
  shown_t shown = {{HR_STR("value")}, 1};
  hr_text_add(printer->text, op->name.data, op->name.size);
  print_rest(printer, op, &shown, " ");
  hr_text_add_char(printer->text, ' ');
  mlir_print_attr(printer->text, mlir_op_attr(op, "value"));
}

static void print_return(op_printer_t *printer, const mlir_op_t *op) {
  bool is_func = hr_str_is(op->name, "func.return");
  hr_text_printf(printer->text, "%.*s", is_func ? 6 : (int)op->name.size, is_func ? "return" : op->name.data);
  if (op->operand_count) hr_text_add_char(printer->text, ' ');
  print_values(printer, op->operand_count, op->operands);
  print_rest(printer, op, &(shown_t){.count = 0}, " ");
  if (!op->operand_count) return;
  hr_text_add_str(printer->text, " : ");
  print_operand_types(printer, op);
}

static void print_dict_of(op_printer_t *printer, const mlir_attr_t *dicts, int index) {
  if (!dicts || index >= dicts->count || !dicts->items[index]->count) return;
  hr_text_add_char(printer->text, ' ');
  mlir_print_attr(printer->text, dicts->items[index]);
}

static void print_signature(op_printer_t *printer, const mlir_op_t *op) {
  const mlir_type_t *type = mlir_op_attr(op, "function_type")->type;
  const mlir_attr_t *arg_attrs = mlir_op_attr(op, "arg_attrs"), *result_attrs = mlir_op_attr(op, "res_attrs");
  mlir_block_t *block = op->region_count && op->regions[0]->blocks.count ? op->regions[0]->blocks.data[0] : NULL;
  if (block) number_block(printer, block);
  for (int i = 0; i < type->input_count; i++) {
    hr_text_add_str(printer->text, i ? ", " : "");
    if (block) {
      print_value(printer, &block->args[i]);
      hr_text_add_str(printer->text, ": ");
    }
    mlir_print_type(printer->text, type->inputs[i]);
    print_dict_of(printer, arg_attrs, i);
  }
  hr_text_add_char(printer->text, ')');
  if (!type->result_count) return;
  bool bare = type->result_count == 1 && !result_attrs;
  hr_text_add_str(printer->text, bare ? " -> " : " -> (");
  for (int i = 0; i < type->result_count; i++) {
    hr_text_add_str(printer->text, i ? ", " : "");
    mlir_print_type(printer->text, type->results[i]);
    print_dict_of(printer, result_attrs, i);
  }
  if (!bare) hr_text_add_char(printer->text, ')');
}

static void print_symbol_of(op_printer_t *printer, const mlir_op_t *op) {
  const mlir_attr_t *name = mlir_op_attr(op, "sym_name"), symbol = {.kind = MLIR_ATTR_SYMBOL, .text = name->text};
  mlir_print_attr(printer->text, &symbol);
}

static void print_func(op_printer_t *printer, const mlir_op_t *op) {
  shown_t shown = {{HR_STR("arg_attrs"), HR_STR("function_type"), HR_STR("res_attrs"), HR_STR("sym_name"),
                    HR_STR("sym_visibility")}, 5};
  const mlir_attr_t *visibility = mlir_op_attr(op, "sym_visibility");
  op_printer_t inner = {.text = printer->text, .indent = printer->indent};
  hr_text_add_str(printer->text, "func.func ");
  if (visibility) hr_text_printf(printer->text, "%.*s ", HR_STR_ARGS(visibility->text));
  print_symbol_of(printer, op);
  hr_text_add_char(printer->text, '(');
  print_signature(&inner, op);
  print_rest(printer, op, &shown, " attributes ");
  if (!op->region_count || !op->regions[0]->blocks.count) return;
  hr_text_add_char(printer->text, ' ');
  print_region(&inner, op->regions[0], true);
}

static void print_builtin_module(op_printer_t *printer, const mlir_op_t *op) {
  shown_t shown = {{HR_STR("sym_name")}, 1};
  hr_text_add_str(printer->text, "module ");
  if (mlir_op_attr(op, "sym_name")) {
    print_symbol_of(printer, op);
    hr_text_add_char(printer->text, ' ');
  }
  size_t before = printer->text->size;
  print_rest(printer, op, &shown, "attributes ");
  if (printer->text->size > before) hr_text_add_char(printer->text, ' ');
  op_printer_t inner = {.text = printer->text, .indent = printer->indent};
  static const mlir_region_t empty;
  print_region(&inner, op->region_count ? op->regions[0] : &empty, true);
}

/* "name"(%a) <{attrs}> ({regions}) {extras} : (types) -> types */
static void print_generic(op_printer_t *printer, const mlir_op_t *op) {
  hr_text_printf(printer->text, "\"%.*s\"(", HR_STR_ARGS(op->name));
  print_values(printer, op->operand_count, op->operands);
  hr_text_add_char(printer->text, ')');
  for (int i = 0; i < op->attr_count; i++) {
    hr_text_add_str(printer->text, i ? ", " : " <{");
    mlir_print_entry(printer->text, &op->attrs[i]);
  }
  if (op->attr_count) hr_text_add_str(printer->text, "}>");
  for (int r = 0; r < op->region_count; r++) {
    hr_text_add_str(printer->text, r ? ", " : " (");
    print_region(printer, op->regions[r], false);
  }
  if (op->region_count) hr_text_add_char(printer->text, ')');
  for (int i = 0; i < op->extra_count; i++) {
    hr_text_add_str(printer->text, i ? ", " : " {");
    mlir_print_entry(printer->text, &op->extras[i]);
  }
  if (op->extra_count) hr_text_add_char(printer->text, '}');
  hr_text_add_str(printer->text, " : ");
  print_function_type(printer, op);
}

static bool constant_fits(const mlir_op_t *op) {
  const mlir_attr_t *value = mlir_op_attr(op, "value");
  return value && value->type && op->result_count == 1 && mlir_type_equal(value->type, op->results[0].type);
}

static void print_body(op_printer_t *printer, const mlir_op_t *op) {
  const mlir_form_t *form = mlir_form_find(op->name);
  if (hr_str_is(op->name, "func.func") && mlir_op_attr(op, "function_type") && mlir_op_attr(op, "sym_name"))
    print_func(printer, op);
  else if (hr_str_is(op->name, "builtin.module"))
    print_builtin_module(printer, op);
  else if (hr_str_is(op->name, "func.return") || hr_str_is(op->name, "stablehlo.return"))
    print_return(printer, op);
  else if (hr_str_is(op->name, "stablehlo.constant") && constant_fits(op))
    print_constant(printer, op);
  else if (form && form_fits(form, op))
    print_form(printer, form, op);
  else
    print_generic(printer, op);
}

static void print_op(op_printer_t *printer, const mlir_op_t *op) {
  if (op->result_count) {
    /* Each result gets a number of its own, so that uses need no "#k". */
    for (int i = 0; i < op->result_count; i++) {
      number_value(&op->results[i], printer->next_value++, false);
      if (i) hr_text_add_str(printer->text, ", ");
      print_value(printer, &op->results[i]);
    }
    hr_text_add_str(printer->text, " = ");
  }
  print_body(printer, op);
}

void mlir_print_module(hr_text_t *text, const mlir_module_t *module) {
  op_printer_t printer = {.text = text};
  print_op(&printer, module->op);
  hr_text_add_char(text, '\n');
}
