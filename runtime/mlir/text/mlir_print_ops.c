/* Operations and modules as text, as MLIR's own printer writes them: the forms of mlir_forms.def
 * where an op has a row there, those of mlir_print_forms.c and mlir_print_regions.c, and
 * everything else in the generic form, which always reads back:
 *   %0:2 = "dialect.op"(%a, %b)[^bb1] <{inherent}> ({region}, {region}) {extra} : (A, B) -> (C, D)
 * Values are named beforehand (mlir_print_names.c). Linear in the text but for successors, whose
 * blocks are searched in their region. */
#include <string.h>

#include "mlir/mlir_sdy.h"
#include "mlir/text/mlir_op_printer.h"

void mlir_print_uses(op_printer_t *printer, int count, mlir_value_t *const *values) {
  for (int i = 0; i < count; i++) {
    if (i) hr_strbuf_add_str(printer->text, ", ");
    mlir_print_use(printer, values[i]);
  }
}

/* Two blanks for each region around the op. */
void mlir_start_line(op_printer_t *printer) {
  hr_strbuf_add_char(printer->text, '\n');
  for (int i = 0; i < printer->indent; i++) hr_strbuf_add_str(printer->text, "  ");
}

/* The dialect func is left out inside of functions: "return %0". */
void mlir_print_op_name(op_printer_t *printer, const mlir_op_t *op) {
  const mlir_op_t *parent = op->parent && op->parent->parent ? op->parent->parent->parent : NULL;
  bool in_function = parent && hr_str_is(parent->name, "func.func") && op->name.size > 5 &&
                     !memcmp(op->name.data, "func.", 5);
  size_t skipped = in_function ? 5 : 0;
  hr_strbuf_add(printer->text, op->name.data + skipped, op->name.size - skipped);
}

/* --- attributes --- */

/* Whether the form has printed this attribute already. */
static bool is_shown(const printed_name_t *printed_name, hr_str_t name) {
  for (int i = 0; i < printed_name->count; i++)
    if (hr_str_is(name, printed_name->names[i])) return true;
  return false;
}

/* Order of bytes, as names of attributes are sorted. */
static bool comes_first(hr_str_t a, hr_str_t b) {
  int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);
  return order ? order < 0 : a.size < b.size;
}

/* The mode DEFAULT without tolerances: fields that are 0 are as absent ones. */
static bool is_default_accuracy(const mlir_attr_t *value) {
  const mlir_attr_t *mode = mlir_attr_field(value, "mode");
  if (!mode || !hr_str_is(mode->text, "DEFAULT")) return false;
  for (int i = 0; i < value->count; i++) {
    const mlir_attr_t *field = value->fields[i].value;
    if (field != mode && !mlir_print_leaves_out(value, field)) return false;
  }
  return true;
}

/* Attributes that pretty forms leave out since their parsers assume the value. */
static bool is_default(const mlir_op_t *op, const mlir_named_attr_t *entry) {
  const mlir_attr_t *value = entry->value;
  if (hr_str_is(entry->name, "result_accuracy")) return is_default_accuracy(value);
  if (hr_str_is(op->name, "stablehlo.custom_call")) {
    if (hr_str_is(entry->name, "api_version")) return value->integer == 1;
    if (hr_str_is(entry->name, "has_side_effect"))
      return value->kind == MLIR_ATTR_BOOL && !value->integer;
    if (hr_str_is(entry->name, "called_computations") ||
        hr_str_is(entry->name, "output_operand_aliases"))
      return !value->count;
  }
  bool zero_version = hr_str_is(op->name, "stablehlo.composite") &&
                      hr_str_is(entry->name, "version") && !value->integer;
  return zero_version || (hr_str_is(op->name, "stablehlo.cholesky") &&
                          hr_str_is(entry->name, "lower") && !value->integer);
}

/* Inherent and discardable attributes are both sorted, and merge into one sorted dictionary. */
void mlir_print_rest(op_printer_t *printer, const mlir_op_t *op, const printed_name_t *printed_name,
                     const char *before) {
  bool any = false;
  for (int i = 0, j = 0; i < op->attr_count || j < op->extra_count;) {
    bool inherent = j == op->extra_count ||
                    (i < op->attr_count && comes_first(op->attrs[i].name, op->extras[j].name));
    const mlir_named_attr_t *entry = inherent ? &op->attrs[i++] : &op->extras[j++];
    if (inherent && (is_shown(printed_name, entry->name) || is_default(op, entry))) continue;
    if (!any) hr_strbuf_add_str(printer->text, before);
    hr_strbuf_add_str(printer->text, any ? ", " : "{");
    any = true;
    mlir_print_entry(printer->text, entry);
  }
  if (any) hr_strbuf_add_char(printer->text, '}');
}

/* --- types --- */

/* T, or (T, U), or (). */
void mlir_print_result_types(op_printer_t *printer, const mlir_op_t *op) {
  bool bare = op->result_count == 1 && op->results[0].type->kind != MLIR_TYPE_FUNCTION;
  if (!bare) hr_strbuf_add_char(printer->text, '(');
  for (int i = 0; i < op->result_count; i++) {
    if (i) hr_strbuf_add_str(printer->text, ", ");
    mlir_print_type(printer->text, op->results[i].type);
  }
  if (!bare) hr_strbuf_add_char(printer->text, ')');
}

void mlir_print_operand_types(op_printer_t *printer, const mlir_op_t *op) {
  for (int i = 0; i < op->operand_count; i++) {
    if (i) hr_strbuf_add_str(printer->text, ", ");
    mlir_print_type(printer->text, op->operands[i]->type);
  }
}

void mlir_print_function_type(op_printer_t *printer, const mlir_op_t *op) {
  hr_strbuf_add_str(printer->text, " : (");
  mlir_print_operand_types(printer, op);
  hr_strbuf_add_str(printer->text, ") -> ");
  mlir_print_result_types(printer, op);
}

/* All operands have the type of the one result. */
static bool all_alike(const mlir_op_t *op) {
  for (int i = 0; i < op->operand_count; i++)
    if (!mlir_type_equal(op->operands[i]->type, op->results[0].type)) return false;
  return op->result_count == 1;
}

/* Types as the row of the form wants them; SAME and RESULT fall back to a function type. */
static void print_form_types(op_printer_t *printer, const mlir_op_t *op, mlir_form_types_t types) {
  switch (types) {
    case MLIR_FORM_LIST:
      if (!op->operand_count) return;
      hr_strbuf_add_str(printer->text, " : ");
      mlir_print_operand_types(printer, op);
      return;
    case MLIR_FORM_ARROW:
      hr_strbuf_add_str(printer->text, " : ");
      mlir_print_operand_types(printer, op);
      hr_strbuf_add_str(printer->text, " -> ");
      mlir_print_result_types(printer, op);
      return;
    case MLIR_FORM_RESULT:
    case MLIR_FORM_SAME:
      if (types == MLIR_FORM_SAME && !all_alike(op)) break;
      hr_strbuf_add_str(printer->text, " : ");
      mlir_print_type(printer->text, op->results[0].type);
      return;
    case MLIR_FORM_FN:
      break;
  }
  mlir_print_function_type(printer, op);
}

/* --- forms of mlir_forms.def --- */

static bool has_prefix(const char *item, const char *prefix) {
  return strncmp(item, prefix, strlen(prefix)) == 0;
}

/* "kind:name"; the comma and other single characters are none. */
static bool is_attr_item(const char *item) { return item[1] && strchr(item, ':'); }

/* "enum:kind:name" has two colons: the name follows the last one. */
static const char *attr_of_item(const char *item) { return strrchr(item, ':') + 1; }

/* An attribute as its item of the format prints it. */
static void print_item_value(op_printer_t *printer, const char *item, const mlir_attr_t *attr) {
  if (has_prefix(item, "ints:"))
    mlir_print_ints(printer->text, attr);
  else if (has_prefix(item, "i64:") || has_prefix(item, "i32:"))
    hr_strbuf_add_int(printer->text, attr->integer);
  else if (has_prefix(item, "enum:"))
    hr_strbuf_add(printer->text, attr->text.data, attr->text.size);
  else
    mlir_print_attr_to(printer->text, attr, printer->sink);
}

/* Is the attribute of the kind that the item writes? */
static bool item_fits(const char *item, const mlir_attr_t *attr) {
  if (has_prefix(item, "ints:"))
    return attr->kind == MLIR_ATTR_DENSE_ARRAY && attr->type->width == 64;
  if (has_prefix(item, "i64:") || has_prefix(item, "i32:")) return attr->kind == MLIR_ATTR_INTEGER;
  if (has_prefix(item, "enum:")) return attr->kind == MLIR_ATTR_ENUM;
  if (has_prefix(item, "sym:")) return attr->kind == MLIR_ATTR_SYMBOL;
  if (has_prefix(item, "str:")) return attr->kind == MLIR_ATTR_STRING;
  return true;
}

/* Whether the op has the results that the form LIST implies. */
static bool list_has_results(const mlir_op_t *op) {
  if (!mlir_list_passes_on(op->name)) return op->result_count == 0;
  if (op->result_count != op->operand_count) return false;
  for (int i = 0; i < op->result_count; i++)
    if (!mlir_type_equal(op->operands[i]->type, op->results[i].type)) return false;
  return true;
}

/* Whether the form can say the op: all attributes that it names are there, in the kinds that it
 * writes, or in an optional part; it has as many operands as single '%'; and no regions. */
static bool form_fits(const mlir_form_t *form, const mlir_op_t *op) {
  char item[MLIR_FORM_ITEM];
  bool optional = false, list = false;
  int singles = 0;
  for (const char *at = form->format; mlir_form_next_item(&at, item);) {
    optional = !strcmp(item, "[") || (optional && strcmp(item, "]"));
    singles += !strcmp(item, "%");
    list |= !strcmp(item, "%*");
    if (!is_attr_item(item)) continue;
    const mlir_attr_t *attr = mlir_op_attr(op, attr_of_item(item));
    if (attr ? !item_fits(item, attr) : !optional) return false;
  }
  if (form->types == MLIR_FORM_LIST && !list_has_results(op)) return false;
  bool typed = form->types == MLIR_FORM_FN || form->types == MLIR_FORM_LIST ||
               form->types == MLIR_FORM_ARROW;
  return op->region_count == 0 && (list || singles == op->operand_count) &&
         (typed || op->result_count == 1);
}

/* The optional part that starts here prints if its attribute is there; a `lower` of Cholesky that
 * is false does not count. */
static bool is_optional_shown(const mlir_op_t *op, const char *format) {
  char item[MLIR_FORM_ITEM];
  while (mlir_form_next_item(&format, item) && !is_attr_item(item)) continue;
  const mlir_attr_t *attr = mlir_op_attr(op, attr_of_item(item));
  bool is_false = attr && attr->kind == MLIR_ATTR_BOOL && !attr->integer &&
                  hr_str_is(op->name, "stablehlo.cholesky");
  return attr && !is_false;
}

/* The items of a format, with a blank before each but after '(' and before commas and
 * parentheses. */
static void print_items(op_printer_t *printer, const mlir_form_t *form, const mlir_op_t *op) {
  char item[MLIR_FORM_ITEM], names[4][MLIR_FORM_ITEM];
  printed_name_t printed_name = {.count = 0};
  int next_operand = 0;
  bool glued = false; /* the next item follows without a blank */
  for (const char *at = form->format; mlir_form_next_item(&at, item);) {
    const char *blank =
        glued || !strcmp(item, ",") || !strcmp(item, ")") || !strcmp(item, "(") ? "" : " ";
    glued = false;
    if (!strcmp(item, "[")) {
      if (!is_optional_shown(op, at)) at = strchr(at, ']') + 1;
    } else if (!strcmp(item, "]")) {
      continue;
    } else if (!strcmp(item, "A")) {
      mlir_print_rest(printer, op, &printed_name, " ");
    } else if (!strcmp(item, "%")) {
      hr_strbuf_add_str(printer->text, blank);
      mlir_print_use(printer, op->operands[next_operand++]);
    } else if (!strcmp(item, "%*")) {
      if (op->operand_count) hr_strbuf_add_str(printer->text, blank);
      mlir_print_uses(printer, op->operand_count, op->operands);
    } else if (is_attr_item(item)) {
      hr_strbuf_add_str(printer->text, blank);
      print_item_value(printer, item, mlir_op_attr(op, attr_of_item(item)));
      strcpy(names[printed_name.count], attr_of_item(item));
      printed_name.names[printed_name.count] = names[printed_name.count];
      printed_name.count++;
    } else {
      hr_strbuf_printf(printer->text, "%s%s", blank, item);
      glued = !strcmp(item, "(");
    }
  }
}

static void print_form(op_printer_t *printer, const mlir_form_t *form, const mlir_op_t *op) {
  mlir_print_op_name(printer, op);
  print_items(printer, form, op);
  print_form_types(printer, op, form->types);
}

/* --- regions --- */

static void print_block_ops(op_printer_t *printer, const mlir_block_t *block) {
  printer->indent++;
  for (size_t i = 0; i < block->ops.count; i++) {
    mlir_start_line(printer);
    mlir_print_op(printer, block->ops.data[i]);
    hr_text_drain(printer->text, printer->sink);
  }
  printer->indent--;
}

/* ^bbN(%arg: T, ...): for all blocks but a plain entry. */
static void print_block_label(op_printer_t *printer, const mlir_block_t *block, size_t number) {
  mlir_start_line(printer);
  hr_strbuf_printf(printer->text, "^bb%zu", number);
  for (int i = 0; i < block->arg_count; i++) {
    hr_strbuf_add_str(printer->text, i ? ", " : "(");
    mlir_print_use(printer, &block->args[i]);
    hr_strbuf_add_str(printer->text, ": ");
    mlir_print_type(printer->text, block->args[i].type);
  }
  hr_strbuf_add_str(printer->text, block->arg_count ? "):" : ":");
}

/* The blocks between braces. An entry block whose arguments the op's own syntax names has no
 * label. */
void mlir_print_region(op_printer_t *printer, const mlir_region_t *region, bool named_args) {
  hr_strbuf_add_char(printer->text, '{');
  for (size_t b = 0; b < region->blocks.count; b++) {
    const mlir_block_t *block = region->blocks.data[b];
    if (b > 0 || (!named_args && block->arg_count)) print_block_label(printer, block, b);
    print_block_ops(printer, block);
  }
  mlir_start_line(printer);
  hr_strbuf_add_char(printer->text, '}');
}

/* --- the generic form --- */

/* The block's place in its region; it is always in it. */
static size_t block_number(const mlir_block_t *block) {
  size_t number = 0;
  while (block->parent->blocks.data[number] != block) number++;
  return number;
}

static void print_successors(op_printer_t *printer, const mlir_op_t *op) {
  for (int i = 0; i < op->successor_count; i++)
    hr_strbuf_printf(printer->text, "%s^bb%zu", i ? ", " : "[", block_number(op->successors[i]));
  if (op->successor_count) hr_strbuf_add_char(printer->text, ']');
}

static void print_extras(op_printer_t *printer, const mlir_op_t *op) {
  for (int i = 0; i < op->extra_count; i++) {
    hr_strbuf_add_str(printer->text, i ? ", " : " {");
    mlir_print_entry(printer->text, &op->extras[i]);
  }
  if (op->extra_count) hr_strbuf_add_char(printer->text, '}');
}

/* Those of sdy name their kinds here. */
static void print_inherent(op_printer_t *printer, const mlir_op_t *op) {
  mlir_sdy_kind_t kind;
  for (int i = 0; i < op->attr_count; i++) {
    const mlir_named_attr_t *entry = &op->attrs[i];
    hr_strbuf_add_str(printer->text, i ? ", " : " <{");
    if (mlir_sdy_kind_of(op, entry, &kind))
      hr_strbuf_printf(printer->text, "%.*s = %s%.*s%s", HR_STR_ARGS(entry->name), kind.prefix,
                       HR_STR_ARGS(entry->value->text), kind.suffix);
    else
      mlir_print_entry(printer->text, entry);
  }
  if (op->attr_count) hr_strbuf_add_str(printer->text, "}>");
}

/* "name"(%a)[^bb1] <{attrs}> ({regions}) {extras} : (types) -> types */
static void mlir_print_op_generic(op_printer_t *printer, const mlir_op_t *op) {
  mlir_print_string(printer->text, op->name);
  hr_strbuf_add_char(printer->text, '(');
  mlir_print_uses(printer, op->operand_count, op->operands);
  hr_strbuf_add_char(printer->text, ')');
  print_successors(printer, op);
  print_inherent(printer, op);
  for (int r = 0; r < op->region_count; r++) {
    hr_strbuf_add_str(printer->text, r ? ", " : " (");
    mlir_print_region(printer, op->regions[r], false);
  }
  if (op->region_count) hr_strbuf_add_char(printer->text, ')');
  print_extras(printer, op);
  mlir_print_function_type(printer, op);
}

/* A form of its own, a row of the table, else the generic form. */
static void print_any_form(op_printer_t *printer, const mlir_op_t *op) {
  if (mlir_print_custom_form(printer, op)) return;
  const mlir_form_t *form = mlir_form_find(op->name);
  if (form && form_fits(form, op))
    print_form(printer, form, op);
  else
    mlir_print_op_generic(printer, op);
}

/* Unknown locations do not print. */
static bool has_source_loc(const mlir_attr_t *location) {
  return location && location->kind == MLIR_ATTR_LOCATION && !hr_str_is(location->text, "unknown");
}

void mlir_print_op(op_printer_t *printer, const mlir_op_t *op) {
  mlir_print_results(printer, op);
  print_any_form(printer, op);
  if (!printer->locations || !has_source_loc(op->location)) return;
  hr_strbuf_add_char(printer->text, ' ');
  mlir_print_attr(printer->text, op->location);
}

/* mlir_value_t.mapped holds the names meanwhile and is cleared for the next user of the tree. */
static void print_module(op_printer_t *printer, const mlir_module_t *module) {
  mlir_name_values(module->op);
  mlir_print_op(printer, module->op);
  mlir_forget_names(module->op);
  hr_strbuf_add_char(printer->text, '\n');
}

void mlir_print_module(hr_strbuf_t *text, const mlir_module_t *module) {
  print_module(&(op_printer_t){.text = text}, module);
}

hr_status_t mlir_print_module_to(hr_text_sink_t *sink, const mlir_module_t *module, bool located) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  print_module(&(op_printer_t){.text = &text, .sink = sink, .locations = located}, module);
  hr_status_t st = hr_text_finish(&text, sink);
  hr_strbuf_deinit(&text);
  return st;
}
