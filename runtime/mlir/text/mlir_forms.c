/* Pretty forms of ops. Most are rows of mlir_forms.def; a small interpreter reads a row's format
 * item by item (take_format) and the printer writes it (mlir_print_ops.c), so that both agree.
 * Each other form has a function (mlir_forms_special.def). An op's form is found by its name in a
 * map that the first op of a file fills.
 * All forms end in the same way: operands are resolved, attributes divided into inherent and
 * discardable ones, results made, and written operand types compared with those of the values
 * (mlir_form_finish). */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest_name.h"
#include "mlir/mlir_mhlo.h"
#include "mlir/text/mlir_form_parser.h"
#include "mlir/text/mlir_forms.h"

#define MAX_ARROW_RESULTS 2
#define MAX_ARROW_OPERANDS 8 /* most operands whose types are compared */

static const mlir_form_t form_rows[] = {
#define FORM(op, format, types) {#op, format, MLIR_FORM_##types},
#include "mlir/text/mlir_forms.def"
#undef FORM
};

const mlir_form_t *mlir_form_find(hr_str_t op) {
  for (size_t i = 0; i < sizeof form_rows / sizeof *form_rows; i++)
    if (hr_str_is(op, form_rows[i].op)) return &form_rows[i];
  return NULL;
}

static void free_state(mlir_form_state_t *state) {
  HR_VEC_FREE(&state->uses);
  HR_VEC_FREE(&state->fields);
}

/* The name is copied, since it may be in a temporary item of a format. */
hr_status_t mlir_form_add_attr(mlir_form_state_t *state, const char *name,
                               const mlir_attr_t *value) {
  hr_str_t copy;
  HR_TRY(hr_arena_str(state->parser->arena, hr_str_from(name), &copy));
  HR_VEC_PUSH(&state->fields, (mlir_named_attr_t){copy, value});
  return NULL;
}

/* An integer attribute of type iN, for the items i64:x and i32:x of mlir_forms.def. */
hr_status_t mlir_form_add_integer(mlir_form_state_t *state, const char *name, int64_t value,
                                  int width) {
  const mlir_type_t *type;
  const mlir_attr_t *attr;
  HR_TRY(mlir_make_integer_type(state->parser->arena, width, MLIR_SIGNLESS, &type));
  HR_TRY(mlir_make_integer(state->parser->arena, value, type, &attr));
  return mlir_form_add_attr(state, name, attr);
}

/* Takes the attribute dictionary, if there is one. */
hr_status_t mlir_form_take_dict(mlir_form_state_t *state) {
  return mlir_at(state->parser, '{') ? mlir_parse_dict(state->parser, &state->dict) : NULL;
}

hr_status_t mlir_form_take_one_use(mlir_form_state_t *state) {
  mlir_use_t use;
  HR_TRY(mlir_parse_use(state->parser, &use));
  HR_VEC_PUSH(&state->uses, use);
  return NULL;
}

/* Called when operands, attributes and results are all known. */
hr_status_t mlir_form_finish(mlir_form_state_t *state, int result_count,
                             const mlir_type_t *const *results) {
  const mlir_attr_t *fields;
  HR_TRY(
      mlir_make_dict(state->parser->arena, (int)state->fields.count, state->fields.data, &fields));
  HR_TRY(mlir_set_operands(state->parser, state->op, &state->uses));
  HR_TRY(mlir_set_attrs(state->parser, state->op, fields, state->dict));
  return mlir_set_results(state->parser, state->op, result_count, results);
}

/* "(A, B) -> C". The number of operands must equal that of the type, since their types are
 * compared. */
static hr_status_t finish_with_function(mlir_form_state_t *state) {
  HR_TRY(mlir_parse_function_type(state->parser, &state->type));
  if (state->type->input_count != (int)state->uses.count)
    return mlir_error(state->parser->module, state->op, "%zu operands, the type has %d",
                      state->uses.count, state->type->input_count);
  HR_TRY(mlir_form_finish(state, state->type->result_count, state->type->results));
  return mlir_check_operand_types(state->parser, state->op, state->type);
}

/* ": (A, B) -> C" */
hr_status_t mlir_form_finish_function(mlir_form_state_t *state) {
  HR_TRY(mlir_take(state->parser, ':'));
  return finish_with_function(state);
}

/* Checks the types written for the operands: one for each, or one for all. */
hr_status_t mlir_form_check_operands(mlir_form_state_t *state, size_t count,
                                     const mlir_type_t *const *types) {
  mlir_op_t *op = state->op;
  if (count != 1 && (int)count != op->operand_count)
    return mlir_error(state->parser->module, op, "%d operands and %zu types", op->operand_count,
                      count);
  for (int k = 0; k < op->operand_count; k++)
    HR_TRY(mlir_check_operand_type(state->parser, op, k, types[count == 1 ? 0 : k]));
  return NULL;
}

/* ": T" for all operands and the result, or a function type if they differ. */
hr_status_t mlir_form_finish_same(mlir_form_state_t *state) {
  HR_TRY(mlir_take(state->parser, ':'));
  if (mlir_at(state->parser, '(')) return finish_with_function(state);
  HR_TRY(mlir_parse_type(state->parser, &state->type));
  HR_TRY(mlir_form_finish(state, 1, &state->type));
  return mlir_form_check_operands(state, 1, &state->type);
}

/* ": T" is the result's type, and operand types are not checked here; or a function type. */
hr_status_t mlir_form_finish_result(mlir_form_state_t *state) {
  HR_TRY(mlir_take(state->parser, ':'));
  if (mlir_at(state->parser, '(')) return finish_with_function(state);
  HR_TRY(mlir_parse_type(state->parser, &state->type));
  return mlir_form_finish(state, 1, &state->type);
}

bool mlir_list_passes_on(hr_str_t name) {
  return hr_str_is(name, "stablehlo.optimization_barrier");
}

bool mlir_may_be_applied(hr_str_t name) {
  static const char *const names[] = {
      "stablehlo.add",      "stablehlo.and", "stablehlo.maximum", "stablehlo.minimum",
      "stablehlo.multiply", "stablehlo.or",  "stablehlo.xor"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (hr_str_is(name, names[i])) return true;
  return false;
}

/* ": T, T" for each operand. The op has no results, or those of mlir_list_passes_on. */
hr_status_t mlir_form_finish_list(mlir_form_state_t *state) {
  HR_VEC(const mlir_type_t *) types = {0};
  bool more;
  hr_status_t st = mlir_take_if(state->parser, ':', &more);
  while (!st && more) {
    const mlir_type_t *type;
    HR_TRY_GOTO(done, st, mlir_parse_type(state->parser, &type));
    HR_TRY_GOTO(done, st, HR_VEC_RESERVE(&types, types.count + 1));
    types.data[types.count++] = type;
    HR_TRY_GOTO(done, st, mlir_take_if(state->parser, ',', &more));
  }
  state->type_count = types.count;
  bool passes_on = mlir_list_passes_on(state->op->name);
  if (!st && passes_on && types.count != state->uses.count)
    st = mlir_error(state->parser->module, state->op, "%zu operands and %zu types",
                    state->uses.count, types.count);
  if (!st) st = mlir_form_finish(state, passes_on ? (int)types.count : 0, types.data);
  if (!st && types.count) st = mlir_form_check_operands(state, types.count, types.data);
done:
  HR_VEC_FREE(&types);
  return st;
}

/* Result types after "->", in parentheses if there are several; at most MAX_ARROW_RESULTS. */
static hr_status_t take_arrow_results(mlir_form_state_t *state, const mlir_type_t **results,
                                      int *out_count) {
  bool list, more = true;
  HR_TRY(mlir_take_if(state->parser, '(', &list));
  for (*out_count = 0; more && *out_count < MAX_ARROW_RESULTS; (*out_count)++) {
    HR_TRY(mlir_parse_type(state->parser, &results[*out_count]));
    more = false;
    if (list) HR_TRY(mlir_take_if(state->parser, ',', &more));
  }
  return list ? mlir_take(state->parser, ')') : NULL;
}

/* ": T, U -> R", ": T -> (R, S)", a function type, or one type for operands and result. */
static hr_status_t finish_arrow(mlir_form_state_t *state) {
  mlir_parser_t *parser = state->parser;
  const mlir_type_t *results[MAX_ARROW_RESULTS];
  const mlir_type_t *types[MAX_ARROW_OPERANDS] = {NULL};
  int count;
  size_t type_count = 0;
  HR_TRY(mlir_take(parser, ':'));
  if (mlir_at(parser, '(')) return finish_with_function(state);
  for (bool more = true; more; type_count++) {
    HR_TRY(mlir_parse_type(parser, &state->type));
    HR_TRY(mlir_take_if(parser, ',', &more));
    if (type_count < MAX_ARROW_OPERANDS) types[type_count] = state->type;
  }
  bool has_arrow = mlir_peek(parser)->kind == MLIR_TOKEN_ARROW;
  results[0] = state->type;
  count = 1;
  if (has_arrow) HR_TRY(mlir_lexer_next(&parser->lexer));
  if (has_arrow) HR_TRY(take_arrow_results(state, results, &count));
  HR_TRY(mlir_form_finish(state, count, results));
  return type_count <= MAX_ARROW_OPERANDS ? mlir_form_check_operands(state, type_count, types)
                                          : NULL;
}

/* Reads types in the style given by the row of the form. */
static hr_status_t finish_types(mlir_form_state_t *state, mlir_form_types_t types) {
  switch (types) {
    case MLIR_FORM_SAME:
      return mlir_form_finish_same(state);
    case MLIR_FORM_FN:
      return mlir_form_finish_function(state);
    case MLIR_FORM_RESULT:
      return mlir_form_finish_result(state);
    case MLIR_FORM_LIST:
      return mlir_form_finish_list(state);
    case MLIR_FORM_ARROW:
      return finish_arrow(state);
  }
  return NULL;
}

/* --- the interpreter of formats --- */

/* A word of an enumeration. `names` is "enumeration:attribute", from the item "enum:k:x". */
hr_status_t mlir_form_take_enum(mlir_form_state_t *state, const char *names) {
  const char *colon = strchr(names, ':');
  hr_str_t word;
  const char *kind;
  const mlir_attr_t *attr;
  HR_TRY(mlir_take_kind(state->parser, MLIR_TOKEN_WORD, "a word", &word));
  HR_TRY(hr_arena_cstr(state->parser->arena, (hr_str_t){names, (size_t)(colon - names)}, &kind));
  HR_TRY(mlir_make_enum(state->parser->arena, "stablehlo", kind, word, &attr));
  return mlir_form_add_attr(state, colon + 1, attr);
}

/* @name as a symbol attribute. */
static hr_status_t take_symbol(mlir_form_state_t *state, const char *name) {
  hr_str_t symbol;
  const mlir_attr_t *attr;
  HR_TRY(mlir_take_kind(state->parser, MLIR_TOKEN_SYMBOL, "a symbol", &symbol));
  HR_TRY(mlir_make_symbol(state->parser->arena, symbol, &attr));
  return mlir_form_add_attr(state, name, attr);
}

/* A string without a type: a ':' after it starts the op's types. */
hr_status_t mlir_form_take_text(mlir_form_state_t *state, const char *name) {
  hr_str_t text;
  const mlir_attr_t *attr;
  HR_TRY(mlir_take_kind(state->parser, MLIR_TOKEN_STRING, "a string", &text));
  HR_TRY(mlir_make_string(state->parser->arena, text, &attr));
  return mlir_form_add_attr(state, name, attr);
}

hr_status_t mlir_form_take_width(mlir_form_state_t *state, const char *name, int width) {
  int64_t value;
  HR_TRY(mlir_take_integer(state->parser, &value));
  return mlir_form_add_integer(state, name, value, width);
}

static bool has_prefix(const char *item, const char *prefix) {
  return strncmp(item, prefix, strlen(prefix)) == 0;
}

/* An item "kind:name" of a format: the kind selects the syntax; bool and unknown kinds have that
 * of any attribute. */
static hr_status_t take_attr_item(mlir_form_state_t *state, const char *item) {
  const mlir_attr_t *attr;
  const char *name = strchr(item, ':') + 1;
  if (has_prefix(item, "i64:")) return mlir_form_take_width(state, name, 64);
  if (has_prefix(item, "i32:")) return mlir_form_take_width(state, name, 32);
  if (has_prefix(item, "enum:")) return mlir_form_take_enum(state, name);
  if (has_prefix(item, "sym:")) return take_symbol(state, name);
  if (has_prefix(item, "str:")) return mlir_form_take_text(state, name);
  if (has_prefix(item, "ints:"))
    HR_TRY(mlir_parse_int_list(state->parser, &attr));
  else
    HR_TRY(mlir_parse_attr(state->parser, &attr));
  return mlir_form_add_attr(state, name, attr);
}

/* "%", "%*", "A", an attribute, else a literal word or character. */
static hr_status_t take_item(mlir_form_state_t *state, const char *item) {
  if (!strcmp(item, "%")) return mlir_form_take_one_use(state);
  if (!strcmp(item, "%*")) return mlir_parse_uses(state->parser, &state->uses);
  if (!strcmp(item, "A")) return mlir_form_take_dict(state);
  if (strchr(item, ':')) return take_attr_item(state, item);
  bool is_word = isalpha((unsigned char)item[0]);
  return is_word ? mlir_take_word(state->parser, item) : mlir_take(state->parser, item[0]);
}

/* False at the end, and for an item longer than `item`, which does not occur in the table. */
bool mlir_form_next_item(const char **format, char item[MLIR_FORM_ITEM]) {
  while (**format == ' ') (*format)++;
  size_t size = strcspn(*format, " ");
  if (!size || size >= MLIR_FORM_ITEM) return false;
  memcpy(item, *format, size);
  item[size] = 0;
  *format += size;
  return true;
}

/* Reads an op by its format. An optional part "[ ... ]" is skipped if the text does not begin with
 * the first character of its first item. */
static hr_status_t take_format(mlir_form_state_t *state, const char *format) {
  char item[MLIR_FORM_ITEM];
  while (mlir_form_next_item(&format, item)) {
    if (!strcmp(item, "]")) continue;
    if (!strcmp(item, "[")) {
      const char *first = format;
      if (!mlir_form_next_item(&first, item)) break;
      if (!mlir_at(state->parser, item[0]))
        format = strchr(format, ']'); /* skip the optional part */
      continue;
    }
    HR_TRY(take_item(state, item));
  }
  return NULL;
}

/* --- all forms --- */

static const struct {
  const char *op;
  hr_status_t (*parse)(mlir_form_state_t *state);
} custom_forms[] = {
#define SPECIAL(op, form) {op, mlir_form_parse_##form},
#include "mlir/text/mlir_forms_special.def"
#undef SPECIAL
};

/* Source: the trait IsolatedFromAbove in the dialects' definitions. */
bool mlir_op_is_isolated(hr_str_t name) {
  static const char *const isolated[] = {"builtin.module", "func.func", "sdy.manual_computation",
                                         "sdy.named_computation", "stablehlo.async_start"};
  for (size_t i = 0; i < sizeof isolated / sizeof *isolated; i++)
    if (hr_str_is(name, isolated[i])) return true;
  return false;
}

#define CUSTOM_COUNT (sizeof custom_forms / sizeof *custom_forms)
#define ROW_COUNT (sizeof form_rows / sizeof *form_rows)

/* Values of the map: 1 + the index of a custom form, or 1 + CUSTOM_COUNT + the index of a row. */
static hr_status_t list_forms(hr_map_t *forms) {
  for (uintptr_t i = 0; i < CUSTOM_COUNT; i++)
    HR_TRY(hr_map_put(forms, hr_str_from(custom_forms[i].op), (void *)(i + 1), NULL));
  for (uintptr_t i = 0; i < ROW_COUNT; i++)
    HR_TRY(hr_map_put(forms, hr_str_from(form_rows[i].op), (void *)(CUSTOM_COUNT + i + 1), NULL));
  return NULL;
}

/* The operation whose form's name is nearest; NULL: none is near. */
static const char *nearest_form(hr_str_t name) {
  const char *names[CUSTOM_COUNT + ROW_COUNT];
  char word[HR_NEAREST_WORD_MAX + 1];
  snprintf(word, sizeof word, "%.*s", HR_STR_ARGS(name));
  for (size_t i = 0; i < CUSTOM_COUNT; i++) names[i] = custom_forms[i].op;
  for (size_t i = 0; i < ROW_COUNT; i++) names[CUSTOM_COUNT + i] = form_rows[i].op;
  return hr_nearest_name(word, names, CUSTOM_COUNT + ROW_COUNT);
}

static hr_status_t no_form(mlir_form_state_t *state) {
  hr_str_t name = state->op->name;
  const char *nearest = nearest_form(name);
  const char *before = nearest ? "; nearest: " : "";
  hr_status_t st = mlir_error(state->parser->module, state->op,
                              "no operation of this name has a form without quotes%s%s", before,
                              nearest ? nearest : "");
  return hr_status_note(st, "the form of all operations is \"%.*s\"(operands) {attributes} : types",
                        HR_STR_ARGS(name));
}

/* A custom form, a row of the table, or the check dialect, whose ops share one form. */
static hr_status_t parse_form(mlir_form_state_t *state) {
  hr_str_t name = state->op->name;
  hr_map_t *forms = &state->parser->forms;
  if (!forms->count) HR_TRY(list_forms(forms));
  uintptr_t found = (uintptr_t)hr_map_get(forms, name);
  if (found && found <= CUSTOM_COUNT) return custom_forms[found - 1].parse(state);
  if (found) {
    const mlir_form_t *form = &form_rows[found - 1 - CUSTOM_COUNT];
    HR_TRY(take_format(state, form->format));
    return finish_types(state, form->types);
  }
  if (name.size > 6 && !memcmp(name.data, "check.", 6)) return mlir_form_parse_check(state);
  if (mlir_mhlo_is_alone(name))
    return mlir_error(state->parser->module, state->op, MLIR_MHLO_ALONE);
  hr_str_t dialect = mlir_foreign_dialect(name);
  if (dialect.size)
    return mlir_error(state->parser->module, state->op, MLIR_FOREIGN_DIALECT, HR_STR_ARGS(dialect));
  return no_form(state);
}

/* The lists of the state grow outside the arena and are freed here, after errors too. */
hr_status_t mlir_parse_pretty_op(mlir_parser_t *parser, mlir_op_t *op) {
  mlir_form_state_t state = {.parser = parser, .op = op};
  hr_status_t st = parse_form(&state);
  free_state(&state);
  return st;
}
