/* Pretty forms of ops. Most are rows of mlir_forms.def, read by one small interpreter; the rest have a function each. */
#include <ctype.h>
#include <string.h>

#include "mlir/mlir_forms.h"
#include "mlir/mlir_ops.h"

#define MAX_ARROW_RESULTS 2

static const mlir_form_t form_rows[] = {
#define FORM(op, format, types) {#op, format, MLIR_FORM_##types},
#include "mlir/mlir_forms.def"
#undef FORM
};

const mlir_form_t *mlir_form_find(hr_str_t op) {
  for (size_t i = 0; i < sizeof form_rows / sizeof *form_rows; i++)
    if (hr_str_is(op, form_rows[i].op)) return &form_rows[i];
  return NULL;
}

/* What is collected while an op is read. */
typedef struct form_state {
  mlir_parser_t *parser;
  mlir_op_t *op;
  mlir_uses_t uses;
  HR_VEC(mlir_named_attr_t) fields;
  const mlir_attr_t *dict;
  const mlir_type_t *type; /* behind ':' */
} form_state_t;

static void free_state(form_state_t *state) {
  HR_VEC_FREE(&state->uses);
  HR_VEC_FREE(&state->fields);
}

/* The name is copied: it may stand in a format's item. */
static hr_status_t add_attr(form_state_t *state, const char *name, const mlir_attr_t *value) {
  hr_str_t copy;
  HR_TRY(hr_arena_str(state->parser->arena, hr_str_from(name), &copy));
  HR_VEC_PUSH(&state->fields, (mlir_named_attr_t){copy, value});
  return NULL;
}

static hr_status_t add_integer(form_state_t *state, const char *name, int64_t value, int width) {
  const mlir_type_t *type;
  const mlir_attr_t *attr;
  HR_TRY(mlir_make_integer_type(state->parser->arena, width, MLIR_SIGNLESS, &type));
  HR_TRY(mlir_make_integer(state->parser->arena, value, type, &attr));
  return add_attr(state, name, attr);
}

static hr_status_t take_dict(form_state_t *state) {
  return mlir_at(state->parser, '{') ? mlir_parse_dict(state->parser, &state->dict) : NULL;
}

static hr_status_t take_one_use(form_state_t *state) {
  mlir_use_t use;
  HR_TRY(mlir_parse_use(state->parser, &use));
  HR_VEC_PUSH(&state->uses, use);
  return NULL;
}

/* Operands, attributes and results once everything is known. */
static hr_status_t finish(form_state_t *state, int result_count, const mlir_type_t *const *results) {
  const mlir_attr_t *fields;
  HR_TRY(mlir_make_dict(state->parser->arena, (int)state->fields.count, state->fields.data, &fields));
  HR_TRY(mlir_set_operands(state->parser, state->op, &state->uses));
  HR_TRY(mlir_set_attrs(state->parser, state->op, fields, state->dict));
  return mlir_set_results(state->parser, state->op, result_count, results);
}

/* ": (A, B) -> C" */
static hr_status_t finish_function(form_state_t *state) {
  HR_TRY(mlir_take(state->parser, ':'));
  HR_TRY(mlir_parse_function_type(state->parser, &state->type));
  if (state->type->input_count != (int)state->uses.count)
    return mlir_error(state->parser->module, state->op, "%zu operands, the type has %d", state->uses.count,
                      state->type->input_count);
  HR_TRY(finish(state, state->type->result_count, state->type->results));
  return mlir_check_operand_types(state->parser, state->op, state->type);
}

/* ": T" or a function type */
static hr_status_t finish_same(form_state_t *state) {
  HR_TRY(mlir_take(state->parser, ':'));
  if (mlir_at(state->parser, '(')) {
    HR_TRY(mlir_parse_function_type(state->parser, &state->type));
    return finish(state, state->type->result_count, state->type->results);
  }
  HR_TRY(mlir_parse_type(state->parser, &state->type));
  return finish(state, 1, &state->type);
}

static hr_status_t finish_result(form_state_t *state) {
  HR_TRY(mlir_take(state->parser, ':'));
  HR_TRY(mlir_parse_type(state->parser, &state->type));
  return finish(state, 1, &state->type);
}

/* ": T, T" for each operand; the results are the same for ops that pass them on, none for those that only look. */
static hr_status_t finish_list(form_state_t *state) {
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
  bool passes_on = hr_str_is(state->op->name, "stablehlo.optimization_barrier");
  if (!st) st = finish(state, passes_on ? (int)types.count : 0, types.data);
done:
  HR_VEC_FREE(&types);
  return st;
}

static hr_status_t take_arrow_results(form_state_t *state, const mlir_type_t **results, int *out_count) {
  bool list, more = true;
  HR_TRY(mlir_take_if(state->parser, '(', &list));
  for (*out_count = 0; more && *out_count < MAX_ARROW_RESULTS; (*out_count)++) {
    HR_TRY(mlir_parse_type(state->parser, &results[*out_count]));
    more = false;
    if (list) HR_TRY(mlir_take_if(state->parser, ',', &more));
  }
  return list ? mlir_take(state->parser, ')') : NULL;
}

/* ": T, U -> R", ": T -> (R, S)", or a function type, or one type that is also the result's */
static hr_status_t finish_arrow(form_state_t *state) {
  mlir_parser_t *parser = state->parser;
  const mlir_type_t *results[MAX_ARROW_RESULTS];
  int count;
  HR_TRY(mlir_take(parser, ':'));
  if (mlir_at(parser, '(')) {
    HR_TRY(mlir_parse_function_type(parser, &state->type));
    return finish(state, state->type->result_count, state->type->results);
  }
  for (bool more = true; more;) {
    HR_TRY(mlir_parse_type(parser, &state->type));
    HR_TRY(mlir_take_if(parser, ',', &more));
  }
  if (mlir_peek(parser)->kind != MLIR_TOKEN_ARROW) return finish(state, 1, &state->type);
  HR_TRY(mlir_lexer_next(&parser->lexer));
  HR_TRY(take_arrow_results(state, results, &count));
  return finish(state, count, results);
}

static hr_status_t finish_types(form_state_t *state, mlir_form_types_t types) {
  switch (types) {
    case MLIR_FORM_SAME: return finish_same(state);
    case MLIR_FORM_FN: return finish_function(state);
    case MLIR_FORM_RESULT: return finish_result(state);
    case MLIR_FORM_LIST: return finish_list(state);
    case MLIR_FORM_ARROW: return finish_arrow(state);
  }
  return NULL;
}

/* --- the interpreter of formats --- */

static hr_status_t take_enum(form_state_t *state, const char *names) {
  const char *colon = strchr(names, ':');
  hr_str_t word;
  const char *kind;
  const mlir_attr_t *attr;
  HR_TRY(mlir_take_kind(state->parser, MLIR_TOKEN_WORD, "a word", &word));
  HR_TRY(hr_arena_cstr(state->parser->arena, (hr_str_t){names, (size_t)(colon - names)}, &kind));
  HR_TRY(mlir_make_enum(state->parser->arena, "stablehlo", kind, word, &attr));
  return add_attr(state, colon + 1, attr);
}

static hr_status_t take_symbol(form_state_t *state, const char *name) {
  hr_str_t symbol;
  const mlir_attr_t *attr;
  HR_TRY(mlir_take_kind(state->parser, MLIR_TOKEN_SYMBOL, "a symbol", &symbol));
  HR_TRY(mlir_make_symbol(state->parser->arena, symbol, &attr));
  return add_attr(state, name, attr);
}

/* A string without a type of its own: a ':' behind it starts the op's types. */
static hr_status_t take_text(form_state_t *state, const char *name) {
  hr_str_t text;
  const mlir_attr_t *attr;
  HR_TRY(mlir_take_kind(state->parser, MLIR_TOKEN_STRING, "a string", &text));
  HR_TRY(mlir_make_string(state->parser->arena, text, &attr));
  return add_attr(state, name, attr);
}

static hr_status_t take_width(form_state_t *state, const char *name, int width) {
  int64_t value;
  HR_TRY(mlir_take_integer(state->parser, &value));
  return add_integer(state, name, value, width);
}

static bool has_prefix(const char *item, const char *prefix) { return strncmp(item, prefix, strlen(prefix)) == 0; }

static hr_status_t take_attr_item(form_state_t *state, const char *item) {
  const mlir_attr_t *attr;
  const char *name = strchr(item, ':') + 1;
  if (has_prefix(item, "i64:")) return take_width(state, name, 64);
  if (has_prefix(item, "i32:")) return take_width(state, name, 32);
  if (has_prefix(item, "enum:")) return take_enum(state, name);
  if (has_prefix(item, "sym:")) return take_symbol(state, name);
  if (has_prefix(item, "str:")) return take_text(state, name);
  if (has_prefix(item, "ints:"))
    HR_TRY(mlir_parse_int_list(state->parser, &attr));
  else
    HR_TRY(mlir_parse_attr(state->parser, &attr));
  return add_attr(state, name, attr);
}

static hr_status_t take_item(form_state_t *state, const char *item) {
  if (!strcmp(item, "%")) return take_one_use(state);
  if (!strcmp(item, "%*")) return mlir_parse_uses(state->parser, &state->uses);
  if (!strcmp(item, "A")) return take_dict(state);
  if (strchr(item, ':')) return take_attr_item(state, item);
  bool is_word = isalpha((unsigned char)item[0]);
  return is_word ? mlir_take_word(state->parser, item) : mlir_take(state->parser, item[0]);
}

bool mlir_form_next_item(const char **format, char item[MLIR_FORM_ITEM]) {
  while (**format == ' ') (*format)++;
  size_t size = strcspn(*format, " ");
  if (!size || size >= MLIR_FORM_ITEM) return false;
  memcpy(item, *format, size);
  item[size] = 0;
  *format += size;
  return true;
}

static hr_status_t take_format(form_state_t *state, const char *format) {
  char item[MLIR_FORM_ITEM];
  while (mlir_form_next_item(&format, item)) {
    if (!strcmp(item, "]")) continue;
    if (!strcmp(item, "[")) {
      const char *first = format;
      if (!mlir_form_next_item(&first, item)) break;
      if (!mlir_at(state->parser, item[0])) format = strchr(format, ']'); /* skip the optional part */
      continue;
    }
    HR_TRY(take_item(state, item));
  }
  return NULL;
}

/* --- forms that no row can say --- */

/* {attrs} dense<...> : T, or () {value = ...} : () -> T */
static hr_status_t parse_constant(form_state_t *state) {
  const mlir_attr_t *value;
  if (mlir_at(state->parser, '(')) {
    HR_TRY(mlir_take(state->parser, '('));
    HR_TRY(mlir_take(state->parser, ')'));
    bool angled;
    HR_TRY(mlir_take_if(state->parser, '<', &angled));
    HR_TRY(take_dict(state));
    if (angled) HR_TRY(mlir_take(state->parser, '>'));
    return finish_function(state);
  }
  HR_TRY(take_dict(state));
  HR_TRY(mlir_parse_attr(state->parser, &value));
  if (!value->type) return mlir_error(state->parser->module, state->op, "its value has no type");
  HR_TRY(add_attr(state, "value", value));
  return finish(state, 1, &value->type);
}

/* %x [0:4:2, 1:3] */
static hr_status_t parse_slice(form_state_t *state) {
  int64_t starts[HLO_MAX_RANK], limits[HLO_MAX_RANK], strides[HLO_MAX_RANK];
  int rank = 0;
  const mlir_attr_t *attr;
  HR_TRY(take_one_use(state));
  HR_TRY(mlir_take(state->parser, '['));
  for (bool more = !mlir_at(state->parser, ']'); more; rank++) {
    bool strided;
    if (rank == HLO_MAX_RANK) return mlir_expected(state->parser, "at most 32 dimensions");
    HR_TRY(mlir_take_integer(state->parser, &starts[rank]));
    HR_TRY(mlir_take(state->parser, ':'));
    HR_TRY(mlir_take_integer(state->parser, &limits[rank]));
    strides[rank] = 1;
    HR_TRY(mlir_take_if(state->parser, ':', &strided));
    if (strided) HR_TRY(mlir_take_integer(state->parser, &strides[rank]));
    HR_TRY(mlir_take_if(state->parser, ',', &more));
  }
  HR_TRY(mlir_take(state->parser, ']'));
  HR_TRY(mlir_make_ints(state->parser->arena, rank, starts, &attr));
  HR_TRY(add_attr(state, "start_indices", attr));
  HR_TRY(mlir_make_ints(state->parser->arena, rank, limits, &attr));
  HR_TRY(add_attr(state, "limit_indices", attr));
  HR_TRY(mlir_make_ints(state->parser->arena, rank, strides, &attr));
  HR_TRY(add_attr(state, "strides", attr));
  HR_TRY(take_dict(state));
  return finish_function(state);
}

/* DIRECTION, %a, %b[, TYPE] */
static hr_status_t parse_compare(form_state_t *state) {
  bool typed;
  HR_TRY(take_enum(state, "comparison_direction:comparison_direction"));
  HR_TRY(mlir_take(state->parser, ','));
  HR_TRY(take_one_use(state));
  HR_TRY(mlir_take(state->parser, ','));
  HR_TRY(take_one_use(state));
  HR_TRY(mlir_take_if(state->parser, ',', &typed));
  if (typed) HR_TRY(take_enum(state, "comparison_type:compare_type"));
  HR_TRY(take_dict(state));
  return finish_function(state);
}

/* %p, %a, %b : predicate, T    or a function type */
static hr_status_t parse_select(form_state_t *state) {
  HR_TRY(mlir_parse_uses(state->parser, &state->uses));
  HR_TRY(take_dict(state));
  HR_TRY(mlir_take(state->parser, ':'));
  if (mlir_at(state->parser, '(')) {
    HR_TRY(mlir_parse_function_type(state->parser, &state->type));
    return finish(state, state->type->result_count, state->type->results);
  }
  HR_TRY(mlir_parse_type(state->parser, &state->type));
  HR_TRY(mlir_take(state->parser, ','));
  HR_TRY(mlir_parse_type(state->parser, &state->type));
  return finish(state, 1, &state->type);
}

/* %x, format = e5m10 */
static hr_status_t parse_reduce_precision(form_state_t *state) {
  hr_str_t format;
  int exponent = 0, mantissa = 0;
  HR_TRY(take_one_use(state));
  HR_TRY(mlir_take(state->parser, ','));
  HR_TRY(mlir_take_word(state->parser, "format"));
  HR_TRY(mlir_take(state->parser, '='));
  HR_TRY(mlir_take_kind(state->parser, MLIR_TOKEN_WORD, "a format such as e5m10", &format));
  char text[16] = "";
  if (format.size < sizeof text) memcpy(text, format.data, format.size);
  if (sscanf(text, "e%dm%d", &exponent, &mantissa) != 2) return mlir_expected(state->parser, "a format such as e5m10");
  HR_TRY(add_integer(state, "exponent_bits", exponent, 32));
  HR_TRY(add_integer(state, "mantissa_bits", mantissa, 32));
  HR_TRY(take_dict(state));
  return finish_same(state);
}

/* %t[0] */
static hr_status_t parse_get_tuple_element(form_state_t *state) {
  HR_TRY(take_one_use(state));
  HR_TRY(mlir_take(state->parser, '['));
  HR_TRY(take_width(state, "index", 32));
  HR_TRY(mlir_take(state->parser, ']'));
  HR_TRY(take_dict(state));
  return finish_function(state);
}

/* [HIGH, DEFAULT] as an array of #stablehlo<precision ...> */
static hr_status_t take_precision(form_state_t *state) {
  const mlir_attr_t *items[8], *array;
  int count = 0;
  HR_TRY(mlir_take(state->parser, '='));
  HR_TRY(mlir_take(state->parser, '['));
  for (bool more = !mlir_at(state->parser, ']'); more; count++) {
    hr_str_t word;
    if (count == 8) return mlir_expected(state->parser, "fewer precisions");
    HR_TRY(mlir_take_kind(state->parser, MLIR_TOKEN_WORD, "a precision", &word));
    HR_TRY(mlir_make_enum(state->parser->arena, "stablehlo", "precision", word, &items[count]));
    HR_TRY(mlir_take_if(state->parser, ',', &more));
  }
  HR_TRY(mlir_take(state->parser, ']'));
  HR_TRY(mlir_make_array(state->parser->arena, count, items, &array));
  return add_attr(state, "precision_config", array);
}

/* <lhs_precision_type = tf32, ...> */
static hr_status_t take_algorithm(form_state_t *state) {
  mlir_named_attr_t fields[8];
  const mlir_attr_t *algorithm;
  int count = 0;
  HR_TRY(mlir_take(state->parser, '='));
  HR_TRY(mlir_take(state->parser, '<'));
  for (bool more = true; more; count++) {
    if (count == 8) return mlir_expected(state->parser, "fewer fields");
    HR_TRY(mlir_take_kind(state->parser, MLIR_TOKEN_WORD, "a field", &fields[count].name));
    HR_TRY(mlir_take(state->parser, '='));
    HR_TRY(mlir_parse_attr(state->parser, &fields[count].value));
    HR_TRY(mlir_take_if(state->parser, ',', &more));
  }
  HR_TRY(mlir_take(state->parser, '>'));
  HR_TRY(mlir_make_struct(state->parser->arena, HR_STR("stablehlo"), HR_STR("dot_algorithm"), count, fields, &algorithm));
  return add_attr(state, "algorithm", algorithm);
}

/* "= [..] x [..]" into two fields */
static hr_status_t take_dims_pair(form_state_t *state, mlir_named_attr_t *left, mlir_named_attr_t *right) {
  HR_TRY(mlir_take(state->parser, '='));
  HR_TRY(mlir_parse_int_list(state->parser, &left->value));
  HR_TRY(mlir_take_word(state->parser, "x"));
  return mlir_parse_int_list(state->parser, &right->value);
}

/* %a, %b, batching_dims = [..] x [..], contracting_dims = [..] x [..], precision = [..], algorithm = <..> */
static hr_status_t parse_dot_general(form_state_t *state) {
  mlir_named_attr_t dims[4] = {{HR_STR("lhs_batching_dimensions"), NULL},
                               {HR_STR("rhs_batching_dimensions"), NULL},
                               {HR_STR("lhs_contracting_dimensions"), NULL},
                               {HR_STR("rhs_contracting_dimensions"), NULL}};
  for (int i = 0; i < 4; i++) HR_TRY(mlir_make_ints(state->parser->arena, 0, NULL, &dims[i].value));
  HR_TRY(mlir_parse_uses(state->parser, &state->uses));
  for (bool more;;) {
    hr_str_t word;
    HR_TRY(mlir_take_if(state->parser, ',', &more));
    if (!more) break;
    HR_TRY(mlir_take_kind(state->parser, MLIR_TOKEN_WORD, "contracting_dims, batching_dims, precision or algorithm", &word));
    if (hr_str_is(word, "batching_dims"))
      HR_TRY(take_dims_pair(state, &dims[0], &dims[1]));
    else if (hr_str_is(word, "contracting_dims"))
      HR_TRY(take_dims_pair(state, &dims[2], &dims[3]));
    else if (hr_str_is(word, "precision"))
      HR_TRY(take_precision(state));
    else if (hr_str_is(word, "algorithm"))
      HR_TRY(take_algorithm(state));
    else
      return mlir_error(state->parser->module, state->op, "has no part %.*s", HR_STR_ARGS(word));
  }
  if (hr_str_is(state->op->name, "stablehlo.dot_general")) {
    const mlir_attr_t *numbers;
    HR_TRY(mlir_make_struct(state->parser->arena, HR_STR("stablehlo"), HR_STR("dot"), 4, dims, &numbers));
    HR_TRY(add_attr(state, "dot_dimension_numbers", numbers));
  }
  HR_TRY(take_dict(state));
  return finish_function(state);
}

/* [[0, 1], [2, 3]] as a dense tensor<Nx2xi64> */
static hr_status_t take_pairs(form_state_t *state, const mlir_attr_t **out_attr) {
  const mlir_type_t *i64, *type;
  mlir_attr_t *attr;
  HR_VEC(int64_t) numbers = {0};
  hr_status_t st = mlir_take(state->parser, '[');
  for (bool more = !mlir_at(state->parser, ']'); more && !st;) {
    HR_TRY_GOTO(done, st, HR_VEC_RESERVE(&numbers, numbers.count + 2));
    HR_TRY_GOTO(done, st, mlir_take(state->parser, '['));
    HR_TRY_GOTO(done, st, mlir_take_integer(state->parser, &numbers.data[numbers.count++]));
    HR_TRY_GOTO(done, st, mlir_take(state->parser, ','));
    HR_TRY_GOTO(done, st, mlir_take_integer(state->parser, &numbers.data[numbers.count++]));
    HR_TRY_GOTO(done, st, mlir_take(state->parser, ']'));
    HR_TRY_GOTO(done, st, mlir_take_if(state->parser, ',', &more));
  }
  if (st) goto done;
  HR_TRY_GOTO(done, st, mlir_take(state->parser, ']'));
  HR_TRY_GOTO(done, st, mlir_make_integer_type(state->parser->arena, 64, MLIR_SIGNLESS, &i64));
  int64_t dims[2] = {(int64_t)numbers.count / 2, 2};
  HR_TRY_GOTO(done, st, mlir_make_tensor_type(state->parser->arena, i64, 2, dims, &type));
  HR_TRY_GOTO(done, st, HR_NEW(state->parser->arena, &attr));
  attr->kind = MLIR_ATTR_DENSE;
  st = mlir_dense_from_bytes(state->parser->arena, type, numbers.data, numbers.count * sizeof(int64_t), attr);
  if (!st) *out_attr = attr;
done:
  HR_VEC_FREE(&numbers);
  return st;
}

/* [true, false] or [1, 0] as array<i1> */
static hr_status_t take_bools(form_state_t *state, const mlir_attr_t **out_attr) {
  uint8_t flags[HLO_MAX_RANK];
  int count = 0;
  mlir_attr_t *attr;
  void *copy;
  HR_TRY(mlir_take(state->parser, '['));
  for (bool more = !mlir_at(state->parser, ']'); more; count++) {
    const mlir_attr_t *flag;
    if (count == HLO_MAX_RANK) return mlir_expected(state->parser, "at most 32 dimensions");
    HR_TRY(mlir_parse_attr(state->parser, &flag));
    flags[count] = flag->integer != 0;
    HR_TRY(mlir_take_if(state->parser, ',', &more));
  }
  HR_TRY(mlir_take(state->parser, ']'));
  HR_TRY(HR_NEW(state->parser->arena, &attr));
  HR_TRY(hr_arena_copy(state->parser->arena, flags, (size_t)count, &copy));
  attr->kind = MLIR_ATTR_DENSE_ARRAY;
  attr->data = copy;
  attr->element_count = count;
  *out_attr = attr;
  return mlir_make_integer_type(state->parser->arena, 1, MLIR_SIGNLESS, &attr->type);
}

static hr_status_t take_window_part(form_state_t *state) {
  hr_str_t word;
  const mlir_attr_t *attr;
  HR_TRY(mlir_take_kind(state->parser, MLIR_TOKEN_WORD, "stride, pad, lhs_dilate, rhs_dilate or reverse", &word));
  HR_TRY(mlir_take(state->parser, '='));
  if (hr_str_is(word, "pad")) {
    HR_TRY(take_pairs(state, &attr));
    return add_attr(state, "padding", attr);
  }
  if (hr_str_is(word, "reverse")) {
    HR_TRY(take_bools(state, &attr));
    return add_attr(state, "window_reversal", attr);
  }
  HR_TRY(mlir_parse_int_list(state->parser, &attr));
  if (hr_str_is(word, "stride")) return add_attr(state, "window_strides", attr);
  if (hr_str_is(word, "lhs_dilate")) return add_attr(state, "lhs_dilation", attr);
  if (hr_str_is(word, "rhs_dilate")) return add_attr(state, "rhs_dilation", attr);
  return mlir_error(state->parser->module, state->op, "a window has no part %.*s", HR_STR_ARGS(word));
}

/* (%a, %b) dim_numbers = [..]x[..]->[..], window = {stride = [..], ...} {attrs} */
static hr_status_t parse_convolution(form_state_t *state) {
  const mlir_attr_t *numbers;
  bool windowed;
  HR_TRY(mlir_take(state->parser, '('));
  HR_TRY(mlir_parse_uses(state->parser, &state->uses));
  HR_TRY(mlir_take(state->parser, ')'));
  HR_TRY(mlir_take_word(state->parser, "dim_numbers"));
  HR_TRY(mlir_take(state->parser, '='));
  HR_TRY(mlir_parse_conv_dims(state->parser, &numbers));
  HR_TRY(add_attr(state, "dimension_numbers", numbers));
  HR_TRY(mlir_take_if(state->parser, ',', &windowed));
  if (windowed) {
    HR_TRY(mlir_take_word(state->parser, "window"));
    HR_TRY(mlir_take(state->parser, '='));
    HR_TRY(mlir_take(state->parser, '{'));
    for (bool more = !mlir_at(state->parser, '}'); more;) {
      HR_TRY(take_window_part(state));
      HR_TRY(mlir_take_if(state->parser, ',', &more));
    }
    HR_TRY(mlir_take(state->parser, '}'));
  }
  HR_TRY(take_dict(state));
  return finish_function(state);
}

/* @target(%a, %b) {attrs} : types */
static hr_status_t parse_custom_call(form_state_t *state) {
  hr_str_t target;
  const mlir_attr_t *name;
  HR_TRY(mlir_take_kind(state->parser, MLIR_TOKEN_SYMBOL, "a target such as @f", &target));
  HR_TRY(mlir_make_string(state->parser->arena, target, &name));
  HR_TRY(add_attr(state, "call_target_name", name));
  HR_TRY(mlir_take(state->parser, '('));
  HR_TRY(mlir_parse_uses(state->parser, &state->uses));
  HR_TRY(mlir_take(state->parser, ')'));
  HR_TRY(take_dict(state));
  return finish_function(state);
}

static hr_status_t new_region(form_state_t *state, bool isolated, int arg_count, const mlir_arg_t *args,
                              mlir_region_t **out_region) {
  HR_TRY(HR_NEW(state->parser->arena, out_region));
  return mlir_parse_region(state->parser, *out_region, isolated, arg_count, args);
}

/* "name" %a, %b ({...}, {...}) {attrs} : types */
static hr_status_t parse_composite(form_state_t *state) {
  const mlir_attr_t *name;
  HR_TRY(mlir_parse_attr(state->parser, &name));
  HR_TRY(add_attr(state, "name", name));
  HR_TRY(mlir_parse_uses(state->parser, &state->uses));
  if (mlir_at(state->parser, '(')) {
    mlir_region_t *regions[16];
    int count = 0;
    HR_TRY(mlir_take(state->parser, '('));
    for (bool more = true; more; count++) {
      if (count == 16) return mlir_expected(state->parser, "at most 16 regions");
      HR_TRY(new_region(state, false, 0, NULL, &regions[count]));
      HR_TRY(mlir_take_if(state->parser, ',', &more));
    }
    HR_TRY(mlir_take(state->parser, ')'));
    HR_TRY(mlir_set_regions(state->parser, state->op, count, regions));
  }
  HR_TRY(take_dict(state));
  return finish_function(state);
}

/* --- reduce, while --- */

/* Builds "^bb(%a: T, %b: T): %r = op %a, %b : T; return %r" for "applies op". */
static hr_status_t build_applied_body(form_state_t *state, hr_str_t op_name, const mlir_type_t *element) {
  mlir_parser_t *parser = state->parser;
  const mlir_type_t *scalar;
  mlir_region_t *region;
  mlir_block_t *block;
  mlir_op_t *apply, *finish_op;
  HR_TRY(mlir_make_tensor_type(parser->arena, element, 0, NULL, &scalar));
  HR_TRY(HR_NEW(parser->arena, &region));
  HR_TRY(mlir_region_add_block(parser->module, region, &block));
  mlir_arg_t args[2] = {{{0}, scalar}, {{0}, scalar}};
  HR_TRY(mlir_add_block_args(parser, block, 2, args));
  HR_TRY(HR_NEW(parser->arena, &apply));
  HR_TRY(HR_NEW(parser->arena, &finish_op));
  apply->name = op_name;
  finish_op->name = HR_STR("stablehlo.return");
  apply->line = finish_op->line = state->op->line;
  apply->column = finish_op->column = state->op->column;
  HR_TRY(HR_NEW_ARRAY(parser->arena, 2, &apply->operands));
  HR_TRY(HR_NEW_ARRAY(parser->arena, 1, &finish_op->operands));
  apply->operand_count = 2;
  apply->operands[0] = &block->args[0];
  apply->operands[1] = &block->args[1];
  HR_TRY(mlir_set_results(parser, apply, 1, &scalar));
  finish_op->operand_count = 1;
  finish_op->operands[0] = &apply->results[0];
  HR_TRY(mlir_block_add_op(block, apply));
  HR_TRY(mlir_block_add_op(block, finish_op));
  return mlir_set_regions(parser, state->op, 1, &region);
}

/* "(%a: T, %b: T)" with optional locations */
static hr_status_t take_arg_pair(form_state_t *state, mlir_arg_t pair[2]) {
  HR_TRY(mlir_take(state->parser, '('));
  for (int i = 0; i < 2; i++) {
    const mlir_attr_t *location;
    if (i) HR_TRY(mlir_take(state->parser, ','));
    HR_TRY(mlir_take_kind(state->parser, MLIR_TOKEN_VALUE, "an argument", &pair[i].name));
    HR_TRY(mlir_take(state->parser, ':'));
    HR_TRY(mlir_parse_type(state->parser, &pair[i].type));
    if (mlir_at_word(state->parser, "loc")) HR_TRY(mlir_parse_location(state->parser, &location));
  }
  return mlir_take(state->parser, ')');
}

static hr_status_t parse_reducer(form_state_t *state, int count) {
  mlir_arg_t *args, pair[2];
  mlir_region_t *region;
  HR_TRY(HR_NEW_ARRAY(state->parser->arena, 2 * count, &args));
  HR_TRY(mlir_take_word(state->parser, "reducer"));
  for (int i = 0; i < count; i++) {
    HR_TRY(take_arg_pair(state, pair));
    args[i] = pair[0];
    args[count + i] = pair[1];
  }
  HR_TRY(new_region(state, false, 2 * count, args, &region));
  return mlir_set_regions(state->parser, state->op, 1, &region);
}

static hr_status_t take_reduce_operands(form_state_t *state, mlir_uses_t *inits) {
  for (bool more = true; more;) {
    mlir_use_t init;
    HR_TRY(mlir_take(state->parser, '('));
    HR_TRY(take_one_use(state));
    HR_TRY(mlir_take_word(state->parser, "init"));
    HR_TRY(mlir_take(state->parser, ':'));
    HR_TRY(mlir_parse_use(state->parser, &init));
    HR_TRY(mlir_take(state->parser, ')'));
    HR_VEC_PUSH(inits, init);
    HR_TRY(mlir_take_if(state->parser, ',', &more));
  }
  for (size_t i = 0; i < inits->count; i++) HR_VEC_PUSH(&state->uses, inits->data[i]);
  return NULL;
}

static hr_status_t parse_reduce_with(form_state_t *state, mlir_uses_t *inits) {
  bool applies;
  hr_str_t applied = {0};
  const mlir_attr_t *dims;
  HR_TRY(take_reduce_operands(state, inits));
  HR_TRY(mlir_take_word_if(state->parser, "applies", &applies));
  if (applies) HR_TRY(mlir_take_kind(state->parser, MLIR_TOKEN_WORD, "an operation", &applied));
  HR_TRY(mlir_take_word(state->parser, "across"));
  HR_TRY(mlir_take_word(state->parser, "dimensions"));
  HR_TRY(mlir_take(state->parser, '='));
  HR_TRY(mlir_parse_int_list(state->parser, &dims));
  HR_TRY(add_attr(state, "dimensions", dims));
  HR_TRY(take_dict(state));
  HR_TRY(finish_function(state));
  if (!applies) return parse_reducer(state, (int)inits->count);
  const mlir_type_t *input = state->type->input_count ? state->type->inputs[0] : NULL;
  if (!input || !input->element) return mlir_error(state->parser->module, state->op, "its operand is no tensor");
  return build_applied_body(state, applied, input->element);
}

/* (%x init: %i), (%y init: %j) applies op across dimensions = [0], or with a reducer */
static hr_status_t parse_reduce(form_state_t *state) {
  mlir_uses_t inits = {0};
  hr_status_t st = parse_reduce_with(state, &inits);
  HR_VEC_FREE(&inits);
  return st;
}

typedef HR_VEC(hr_str_t) names_t;

static hr_status_t take_loop_state(form_state_t *state, names_t *names) {
  HR_TRY(mlir_take(state->parser, '('));
  for (bool more = !mlir_at(state->parser, ')'); more;) {
    hr_str_t name;
    HR_TRY(mlir_take_kind(state->parser, MLIR_TOKEN_VALUE, "a name for the loop's value", &name));
    HR_TRY(mlir_take(state->parser, '='));
    HR_TRY(take_one_use(state));
    HR_VEC_PUSH(names, name);
    HR_TRY(mlir_take_if(state->parser, ',', &more));
  }
  return mlir_take(state->parser, ')');
}

static hr_status_t parse_while_with(form_state_t *state, names_t *names) {
  mlir_parser_t *parser = state->parser;
  mlir_arg_t *args;
  const mlir_type_t **types;
  mlir_region_t *regions[2];
  bool attributes;
  HR_TRY(take_loop_state(state, names));
  int count = (int)names->count;
  HR_TRY(HR_NEW_ARRAY(parser->arena, count, &args));
  HR_TRY(HR_NEW_ARRAY(parser->arena, count, &types));
  if (count) HR_TRY(mlir_take(parser, ':'));
  for (int i = 0; i < count; i++) {
    if (i) HR_TRY(mlir_take(parser, ','));
    HR_TRY(mlir_parse_type(parser, &types[i]));
    args[i] = (mlir_arg_t){names->data[i], types[i]};
  }
  HR_TRY(mlir_take_word_if(parser, "attributes", &attributes));
  if (attributes) HR_TRY(take_dict(state));
  HR_TRY(finish(state, count, types));
  HR_TRY(mlir_take_word(parser, "cond"));
  HR_TRY(new_region(state, false, count, args, &regions[0]));
  HR_TRY(mlir_take_word(parser, "do"));
  HR_TRY(new_region(state, false, count, args, &regions[1]));
  return mlir_set_regions(parser, state->op, 2, regions);
}

/* (%iterArg = %init, ...) : T, ... attributes {..} cond {..} do {..} */
static hr_status_t parse_while(form_state_t *state) {
  names_t names = {0};
  hr_status_t st = parse_while_with(state, &names);
  HR_VEC_FREE(&names);
  return st;
}

/* %a, %b : T, T    or nothing */
static hr_status_t parse_return(form_state_t *state) {
  HR_TRY(mlir_parse_uses(state->parser, &state->uses));
  HR_TRY(take_dict(state));
  bool typed;
  HR_TRY(mlir_take_if(state->parser, ':', &typed));
  for (bool more = typed; more;) {
    HR_TRY(mlir_parse_type(state->parser, &state->type));
    HR_TRY(mlir_take_if(state->parser, ',', &more));
  }
  return finish(state, 0, NULL);
}

/* --- func and module --- */

typedef struct signature {
  HR_VEC(mlir_arg_t) args;
  HR_VEC(const mlir_attr_t *) arg_attrs;
  HR_VEC(const mlir_type_t *) results;
  HR_VEC(const mlir_attr_t *) result_attrs;
} signature_t;

static void free_signature(signature_t *signature) {
  HR_VEC_FREE(&signature->args);
  HR_VEC_FREE(&signature->arg_attrs);
  HR_VEC_FREE(&signature->results);
  HR_VEC_FREE(&signature->result_attrs);
}

static hr_status_t take_optional_dict(mlir_parser_t *parser, const mlir_attr_t **out_dict) {
  return mlir_at(parser, '{') ? mlir_parse_dict(parser, out_dict) : mlir_make_dict(parser->arena, 0, NULL, out_dict);
}

/* (%arg0: T {attrs} loc(..), ...), or only types for a declaration */
static hr_status_t take_parameters(mlir_parser_t *parser, signature_t *signature) {
  HR_TRY(mlir_take(parser, '('));
  for (bool more = !mlir_at(parser, ')'); more;) {
    mlir_arg_t arg = {0};
    const mlir_attr_t *attrs, *location;
    if (mlir_peek(parser)->kind == MLIR_TOKEN_VALUE) {
      HR_TRY(mlir_take_kind(parser, MLIR_TOKEN_VALUE, "an argument", &arg.name));
      HR_TRY(mlir_take(parser, ':'));
    }
    HR_TRY(mlir_parse_type(parser, &arg.type));
    HR_TRY(take_optional_dict(parser, &attrs));
    if (mlir_at_word(parser, "loc")) HR_TRY(mlir_parse_location(parser, &location));
    HR_VEC_PUSH(&signature->args, arg);
    HR_VEC_PUSH(&signature->arg_attrs, attrs);
    HR_TRY(mlir_take_if(parser, ',', &more));
  }
  return mlir_take(parser, ')');
}

static hr_status_t take_function_results(mlir_parser_t *parser, signature_t *signature) {
  if (mlir_peek(parser)->kind != MLIR_TOKEN_ARROW) return NULL;
  HR_TRY(mlir_lexer_next(&parser->lexer));
  bool list;
  HR_TRY(mlir_take_if(parser, '(', &list));
  for (bool more = !list || !mlir_at(parser, ')'); more;) {
    const mlir_type_t *type;
    const mlir_attr_t *attrs;
    HR_TRY(mlir_parse_type(parser, &type));
    if (list)
      HR_TRY(take_optional_dict(parser, &attrs));
    else
      HR_TRY(mlir_make_dict(parser->arena, 0, NULL, &attrs));
    HR_VEC_PUSH(&signature->results, type);
    HR_VEC_PUSH(&signature->result_attrs, attrs);
    if (!list) return NULL;
    HR_TRY(mlir_take_if(parser, ',', &more));
  }
  return mlir_take(parser, ')');
}

static bool any_attrs(const mlir_attr_t *const *dicts, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (dicts[i]->count) return true;
  return false;
}

static hr_status_t add_signature(form_state_t *state, const signature_t *signature) {
  hr_arena_t *arena = state->parser->arena;
  mlir_type_t *type;
  const mlir_type_t **inputs;
  const mlir_attr_t *attr;
  void *results;
  HR_TRY(HR_NEW(arena, &type));
  HR_TRY(HR_NEW_ARRAY(arena, signature->args.count, &inputs));
  for (size_t i = 0; i < signature->args.count; i++) inputs[i] = signature->args.data[i].type;
  HR_TRY(hr_arena_copy(arena, signature->results.data, signature->results.count * sizeof *signature->results.data, &results));
  *type = (mlir_type_t){.kind = MLIR_TYPE_FUNCTION,
                        .input_count = (int)signature->args.count,
                        .result_count = (int)signature->results.count,
                        .inputs = inputs,
                        .results = results};
  HR_TRY(mlir_make_type_attr(arena, type, &attr));
  HR_TRY(add_attr(state, "function_type", attr));
  if (any_attrs(signature->arg_attrs.data, signature->arg_attrs.count)) {
    HR_TRY(mlir_make_array(arena, (int)signature->arg_attrs.count, signature->arg_attrs.data, &attr));
    HR_TRY(add_attr(state, "arg_attrs", attr));
  }
  if (!any_attrs(signature->result_attrs.data, signature->result_attrs.count)) return NULL;
  HR_TRY(mlir_make_array(arena, (int)signature->result_attrs.count, signature->result_attrs.data, &attr));
  return add_attr(state, "res_attrs", attr);
}

static hr_status_t take_name(form_state_t *state, bool required) {
  hr_str_t name;
  const mlir_attr_t *attr;
  if (!required && mlir_peek(state->parser)->kind != MLIR_TOKEN_SYMBOL) return NULL;
  HR_TRY(mlir_take_kind(state->parser, MLIR_TOKEN_SYMBOL, "a name such as @main", &name));
  HR_TRY(mlir_make_string(state->parser->arena, name, &attr));
  return add_attr(state, "sym_name", attr);
}

static hr_status_t take_visibility(form_state_t *state) {
  mlir_parser_t *parser = state->parser;
  const mlir_attr_t *attr;
  if (!mlir_at_word(parser, "public") && !mlir_at_word(parser, "private") && !mlir_at_word(parser, "nested")) return NULL;
  HR_TRY(mlir_make_string(parser->arena, mlir_peek(parser)->text, &attr));
  HR_TRY(mlir_lexer_next(&parser->lexer));
  return add_attr(state, "sym_visibility", attr);
}

static hr_status_t parse_func_with(form_state_t *state, signature_t *signature) {
  mlir_parser_t *parser = state->parser;
  bool attributes;
  HR_TRY(take_visibility(state));
  HR_TRY(take_name(state, true));
  HR_TRY(take_parameters(parser, signature));
  HR_TRY(take_function_results(parser, signature));
  HR_TRY(add_signature(state, signature));
  HR_TRY(mlir_take_word_if(parser, "attributes", &attributes));
  if (attributes) HR_TRY(take_dict(state));
  HR_TRY(finish(state, 0, NULL));
  mlir_region_t *region;
  if (mlir_at(parser, '{'))
    HR_TRY(new_region(state, true, (int)signature->args.count, signature->args.data, &region));
  else
    HR_TRY(HR_NEW(parser->arena, &region));
  return mlir_set_regions(parser, state->op, 1, &region);
}

static hr_status_t parse_func(form_state_t *state) {
  signature_t signature = {0};
  hr_status_t st = parse_func_with(state, &signature);
  free_signature(&signature);
  return st;
}

static hr_status_t parse_builtin_module(form_state_t *state) {
  mlir_region_t *region;
  bool attributes;
  HR_TRY(take_name(state, false));
  HR_TRY(mlir_take_word_if(state->parser, "attributes", &attributes));
  if (attributes) HR_TRY(take_dict(state));
  HR_TRY(finish(state, 0, NULL));
  HR_TRY(new_region(state, true, 0, NULL, &region));
  return mlir_set_regions(state->parser, state->op, 1, &region);
}

/* --- check, sdy, shape, arith, tensor --- */

/* Number literals in check ops may carry a type behind ':', which is also what starts the op's own types. */
static hr_status_t take_plain_number(form_state_t *state, const char *name) {
  mlir_parser_t *parser = state->parser;
  mlir_attr_t *attr;
  char digits[64];
  const mlir_token_t *token = mlir_peek(parser);
  bool is_float = token->kind == MLIR_TOKEN_FLOAT;
  if ((!is_float && token->kind != MLIR_TOKEN_INTEGER) || token->text.size >= sizeof digits)
    return mlir_expected(parser, "a number");
  memcpy(digits, token->text.data, token->text.size);
  digits[token->text.size] = 0;
  HR_TRY(HR_NEW(parser->arena, &attr));
  attr->kind = is_float ? MLIR_ATTR_FLOAT : MLIR_ATTR_INTEGER;
  if (is_float) {
    HR_TRY(mlir_finish_float(parser->arena, false, digits, false, attr));
    HR_TRY(mlir_lexer_next(&parser->lexer));
  } else {
    HR_TRY(mlir_take_integer(parser, &attr->integer));
    HR_TRY(mlir_make_integer_type(parser->arena, 64, MLIR_UNSIGNED, &attr->type));
  }
  const char *behind = parser->lexer.at;
  if (mlir_at(parser, ':') && behind + 4 < parser->lexer.end && (!memcmp(behind, " f64", 4) || !memcmp(behind, " ui6", 4))) {
    const mlir_type_t *type;
    HR_TRY(mlir_take(parser, ':'));
    HR_TRY(mlir_parse_type(parser, &type));
  }
  return add_attr(state, name, attr);
}

/* "%a, %b, name = number, ... {attrs} : T, T, tolerance = ..." of the check dialect; constants stand as attributes. */
static hr_status_t parse_check(form_state_t *state) {
  mlir_parser_t *parser = state->parser;
  const mlir_attr_t *value;
  HR_TRY(mlir_parse_uses(parser, &state->uses));
  for (bool more;;) {
    HR_TRY(mlir_take_if(parser, ',', &more));
    if (!more) break;
    if (mlir_at_word(parser, "dense")) {
      HR_TRY(mlir_parse_attr(parser, &value));
      HR_TRY(add_attr(state, "value", value));
      continue;
    }
    hr_str_t word;
    const char *name;
    HR_TRY(mlir_take_kind(parser, MLIR_TOKEN_WORD, "a name", &word));
    HR_TRY(hr_arena_cstr(parser->arena, word, &name));
    HR_TRY(mlir_take(parser, '='));
    HR_TRY(hr_str_is(word, "probe_id") ? take_text(state, name) : take_plain_number(state, name));
  }
  HR_TRY(take_dict(state));
  return finish_list(state);
}

static hr_status_t add_segments(form_state_t *state, const char *name, size_t first, size_t second) {
  const mlir_attr_t *sizes;
  HR_TRY(mlir_make_ints(state->parser->arena, 2, (int64_t[]){(int64_t)first, (int64_t)second}, &sizes));
  return add_attr(state, name, sizes);
}

/* chlo.scan (%in...) inits (%init...) dimension=0 attributes {attrs} {body} : (T...) -> (R...) */
static hr_status_t parse_scan(form_state_t *state) {
  mlir_parser_t *parser = state->parser;
  mlir_region_t *region;
  bool attributes;
  int64_t dimension;
  HR_TRY(mlir_take(parser, '('));
  HR_TRY(mlir_parse_uses(parser, &state->uses));
  HR_TRY(mlir_take(parser, ')'));
  size_t inputs = state->uses.count;
  HR_TRY(mlir_take_word(parser, "inits"));
  HR_TRY(mlir_take(parser, '('));
  HR_TRY(mlir_parse_uses(parser, &state->uses));
  HR_TRY(mlir_take(parser, ')'));
  size_t carries = state->uses.count - inputs;
  HR_TRY(mlir_take_word(parser, "dimension"));
  HR_TRY(mlir_take(parser, '='));
  HR_TRY(mlir_take_integer(parser, &dimension));
  HR_TRY(add_integer(state, "dimension", dimension, 64));
  HR_TRY(add_segments(state, "operandSegmentSizes", inputs, carries));
  HR_TRY(mlir_take_word_if(parser, "attributes", &attributes));
  if (attributes) HR_TRY(take_dict(state));
  HR_TRY(new_region(state, false, 0, NULL, &region));
  HR_TRY(mlir_take(parser, ':'));
  HR_TRY(mlir_parse_function_type(parser, &state->type));
  size_t results = (size_t)state->type->result_count;
  HR_TRY(add_segments(state, "resultSegmentSizes", results > carries ? results - carries : 0, carries));
  HR_TRY(finish(state, state->type->result_count, state->type->results));
  return mlir_set_regions(parser, state->op, 1, &region);
}

/* chlo.constant and arith.constant: an attribute that names its type */
static hr_status_t parse_typed_constant(form_state_t *state) { return parse_constant(state); }

/* shape.const_shape [2, 3] : T */
static hr_status_t parse_const_shape(form_state_t *state) {
  const mlir_attr_t *dims;
  HR_TRY(take_dict(state));
  HR_TRY(mlir_parse_int_list(state->parser, &dims));
  HR_TRY(add_attr(state, "shape", dims));
  return finish_result(state);
}

/* arith.index_cast %a : T to U, tensor.cast */
static hr_status_t parse_cast(form_state_t *state) {
  HR_TRY(take_one_use(state));
  HR_TRY(take_dict(state));
  HR_TRY(mlir_take(state->parser, ':'));
  HR_TRY(mlir_parse_type(state->parser, &state->type));
  HR_TRY(mlir_take_word(state->parser, "to"));
  HR_TRY(mlir_parse_type(state->parser, &state->type));
  return finish(state, 1, &state->type);
}

/* --- shape and tensor: types of results that the text leaves out --- */

static hr_status_t finish_as(form_state_t *state, mlir_type_kind_t kind, const char *name) {
  mlir_type_t *type;
  HR_TRY(HR_NEW(state->parser->arena, &type));
  type->kind = kind;
  type->name = hr_str_from(name);
  const mlir_type_t *result = type;
  return finish(state, 1, &result);
}

/* : T, T behind operands whose types do not matter here */
static hr_status_t skip_types(form_state_t *state) {
  bool more;
  HR_TRY(take_dict(state));
  HR_TRY(mlir_take_if(state->parser, ':', &more));
  while (more) {
    HR_TRY(mlir_parse_type(state->parser, &state->type));
    HR_TRY(mlir_take_if(state->parser, ',', &more));
  }
  return NULL;
}

/* shape.cstr_broadcastable %a, %b : T, T */
static hr_status_t parse_constraint(form_state_t *state) {
  HR_TRY(mlir_parse_uses(state->parser, &state->uses));
  HR_TRY(skip_types(state));
  return finish_as(state, MLIR_TYPE_OPAQUE, "shape.witness");
}

/* shape.cstr_require %a, "message" */
static hr_status_t parse_requirement(form_state_t *state) {
  const mlir_attr_t *message;
  HR_TRY(take_one_use(state));
  HR_TRY(mlir_take(state->parser, ','));
  HR_TRY(mlir_parse_attr(state->parser, &message));
  HR_TRY(add_attr(state, "msg", message));
  HR_TRY(take_dict(state));
  return finish_as(state, MLIR_TYPE_OPAQUE, "shape.witness");
}

/* shape.const_witness true */
static hr_status_t parse_const_witness(form_state_t *state) {
  const mlir_attr_t *passing;
  HR_TRY(mlir_parse_attr(state->parser, &passing));
  HR_TRY(add_attr(state, "passing", passing));
  HR_TRY(take_dict(state));
  return finish_as(state, MLIR_TYPE_OPAQUE, "shape.witness");
}

/* shape.assuming %w -> (T, U) { ... shape.assuming_yield %a, %b : T, U } */
static hr_status_t parse_assuming(form_state_t *state) {
  const mlir_type_t *results[16];
  int count = 0;
  bool more = false;
  mlir_region_t *region;
  HR_TRY(take_one_use(state));
  bool typed = mlir_peek(state->parser)->kind == MLIR_TOKEN_ARROW;
  if (typed) {
    HR_TRY(mlir_lexer_next(&state->parser->lexer));
    HR_TRY(mlir_take(state->parser, '('));
    more = !mlir_at(state->parser, ')');
  }
  for (; more; count++) {
    if (count == 16) return mlir_expected(state->parser, "fewer results");
    HR_TRY(mlir_parse_type(state->parser, &results[count]));
    HR_TRY(mlir_take_if(state->parser, ',', &more));
  }
  if (typed) HR_TRY(mlir_take(state->parser, ')'));
  HR_TRY(new_region(state, false, 0, NULL, &region));
  HR_TRY(take_dict(state));
  HR_TRY(finish(state, count, results));
  return mlir_set_regions(state->parser, state->op, 1, &region);
}

/* tensor.dim %x, %i : T */
static hr_status_t parse_tensor_dim(form_state_t *state) {
  HR_TRY(mlir_parse_uses(state->parser, &state->uses));
  HR_TRY(skip_types(state));
  return finish_as(state, MLIR_TYPE_INDEX, "");
}

/* tensor.extract %x[%i, %j] : T */
static hr_status_t parse_tensor_extract(form_state_t *state) {
  HR_TRY(take_one_use(state));
  HR_TRY(mlir_take(state->parser, '['));
  if (!mlir_at(state->parser, ']')) HR_TRY(mlir_parse_uses(state->parser, &state->uses));
  HR_TRY(mlir_take(state->parser, ']'));
  HR_TRY(skip_types(state));
  if (!state->type || !state->type->element) return mlir_expected(state->parser, "a tensor type");
  return finish(state, 1, &state->type->element);
}

/* tensor.from_elements %a, %b : T */
static hr_status_t parse_from_elements(form_state_t *state) {
  if (!mlir_at(state->parser, ':')) HR_TRY(mlir_parse_uses(state->parser, &state->uses));
  HR_TRY(take_dict(state));
  return finish_result(state);
}

/* sdy.mesh @m = <["x"=4, "y"=2], device_ids=[...]> {attrs}: the mesh is kept as text */
static hr_status_t parse_sdy_mesh(form_state_t *state) {
  hr_str_t text;
  const mlir_attr_t *attr;
  HR_TRY(take_name(state, true));
  HR_TRY(mlir_take(state->parser, '='));
  HR_TRY(mlir_take_balanced(state->parser, &text));
  HR_TRY(mlir_make_string(state->parser->arena, text, &attr));
  HR_TRY(add_attr(state, "mesh", attr));
  HR_TRY(take_dict(state));
  return finish(state, 0, NULL);
}

/* "name=[<...>, ...]" or "name={...}" of sdy.manual_computation: kept as the text between the brackets. */
static hr_status_t take_sdy_text(form_state_t *state, const char *name) {
  mlir_parser_t *parser = state->parser;
  const mlir_attr_t *attr;
  HR_TRY(mlir_take_word(parser, name));
  HR_TRY(mlir_take(parser, '='));
  char open = mlir_peek(parser)->punct, close = open == '[' ? ']' : '}';
  if (!mlir_at(parser, '[') && !mlir_at(parser, '{')) return mlir_expected(parser, "'[' or '{'");
  const char *start = mlir_peek(parser)->start + 1, *stop = start;
  int depth = 0;
  do {
    if (mlir_peek(parser)->kind == MLIR_TOKEN_END) return mlir_expected(parser, "the closing bracket");
    depth += mlir_at(parser, open) - mlir_at(parser, close);
    stop = mlir_peek(parser)->start;
    HR_TRY(mlir_lexer_next(&parser->lexer));
  } while (depth);
  HR_TRY(mlir_make_string(parser->arena, (hr_str_t){start, (size_t)(stop - start)}, &attr));
  return add_attr(state, name, attr);
}

static hr_status_t parse_sdy_manual_with(form_state_t *state, signature_t *signature) {
  mlir_parser_t *parser = state->parser;
  mlir_region_t *region;
  HR_TRY(mlir_take(parser, '('));
  HR_TRY(mlir_parse_uses(parser, &state->uses));
  HR_TRY(mlir_take(parser, ')'));
  HR_TRY(take_sdy_text(state, "in_shardings"));
  HR_TRY(take_sdy_text(state, "out_shardings"));
  HR_TRY(take_sdy_text(state, "manual_axes"));
  HR_TRY(take_parameters(parser, signature));
  HR_TRY(new_region(state, true, (int)signature->args.count, signature->args.data, &region));
  HR_TRY(take_dict(state));
  HR_TRY(finish_function(state));
  return mlir_set_regions(parser, state->op, 1, &region);
}

/* sdy.manual_computation(%a) in_shardings=[..] out_shardings=[..] manual_axes={..} (%arg: T) {..} : types */
static hr_status_t parse_sdy_manual(form_state_t *state) {
  signature_t signature = {0};
  hr_status_t st = parse_sdy_manual_with(state, &signature);
  free_signature(&signature);
  return st;
}

/* sdy.sharding_constraint %x <@mesh, [{"x"}]> : T: the sharding is kept as text */
static hr_status_t parse_sdy_sharded(form_state_t *state) {
  hr_str_t text;
  const mlir_attr_t *attr;
  HR_TRY(take_one_use(state));
  HR_TRY(mlir_take_balanced(state->parser, &text));
  HR_TRY(mlir_make_string(state->parser->arena, text, &attr));
  HR_TRY(add_attr(state, "sharding", attr));
  HR_TRY(take_dict(state));
  return finish_result(state);
}

static const struct {
  const char *op;
  hr_status_t (*parse)(form_state_t *state);
} custom_forms[] = {
    {"arith.constant", parse_typed_constant},
    {"arith.index_cast", parse_cast},
    {"builtin.module", parse_builtin_module},
    {"chlo.constant", parse_typed_constant},
    {"chlo.scan", parse_scan},
    {"func.func", parse_func},
    {"func.return", parse_return},
    {"sdy.manual_computation", parse_sdy_manual},
    {"sdy.mesh", parse_sdy_mesh},
    {"sdy.reshard", parse_sdy_sharded},
    {"sdy.return", parse_return},
    {"sdy.sharding_constraint", parse_sdy_sharded},
    {"shape.assuming", parse_assuming},
    {"shape.assuming_yield", parse_return},
    {"shape.const_shape", parse_const_shape},
    {"shape.const_witness", parse_const_witness},
    {"shape.cstr_broadcastable", parse_constraint},
    {"shape.cstr_eq", parse_constraint},
    {"shape.cstr_require", parse_requirement},
    {"stablehlo.compare", parse_compare},
    {"stablehlo.composite", parse_composite},
    {"stablehlo.constant", parse_constant},
    {"stablehlo.convolution", parse_convolution},
    {"stablehlo.custom_call", parse_custom_call},
    {"stablehlo.dot", parse_dot_general},
    {"stablehlo.dot_general", parse_dot_general},
    {"stablehlo.get_tuple_element", parse_get_tuple_element},
    {"stablehlo.reduce", parse_reduce},
    {"stablehlo.reduce_precision", parse_reduce_precision},
    {"stablehlo.return", parse_return},
    {"stablehlo.select", parse_select},
    {"stablehlo.slice", parse_slice},
    {"stablehlo.while", parse_while},
    {"tensor.cast", parse_cast},
    {"tensor.dim", parse_tensor_dim},
    {"tensor.extract", parse_tensor_extract},
    {"tensor.from_elements", parse_from_elements},
};

bool mlir_op_is_isolated(hr_str_t name) {
  static const char *const isolated[] = {"builtin.module", "func.func", "sdy.manual_computation",
                                         "sdy.named_computation", "stablehlo.async_start"};
  for (size_t i = 0; i < sizeof isolated / sizeof *isolated; i++)
    if (hr_str_is(name, isolated[i])) return true;
  return false;
}

#define CUSTOM_COUNT (sizeof custom_forms / sizeof *custom_forms)
#define ROW_COUNT (sizeof form_rows / sizeof *form_rows)

/* The parser's map holds 1 + the index of a custom form, or CUSTOM_COUNT more than that for a row. */
static hr_status_t list_forms(hr_map_t *forms) {
  for (uintptr_t i = 0; i < CUSTOM_COUNT; i++)
    HR_TRY(hr_map_put(forms, hr_str_from(custom_forms[i].op), (void *)(i + 1), NULL));
  for (uintptr_t i = 0; i < ROW_COUNT; i++)
    HR_TRY(hr_map_put(forms, hr_str_from(form_rows[i].op), (void *)(CUSTOM_COUNT + i + 1), NULL));
  return NULL;
}

static hr_status_t parse_form(form_state_t *state) {
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
  if (name.size > 6 && !memcmp(name.data, "check.", 6)) return parse_check(state);
  return mlir_error(state->parser->module, state->op, "no operation of this name has a form of its own; write \"%.*s\"(...)",
                    HR_STR_ARGS(name));
}

hr_status_t mlir_parse_pretty_op(mlir_parser_t *parser, mlir_op_t *op) {
  form_state_t state = {.parser = parser, .op = op};
  hr_status_t st = parse_form(&state);
  free_state(&state);
  return st;
}
