/* Attributes of MLIR text:
 *   attr  ::= number (":" type)? | string (":" type)? | symbol | "[" attr,* "]" | dict | type
 *           | "unit" | "true" | "false" | "#" dialect-attr | elements | "loc(" ... ")" | opaque
 *   dict  ::= "{" (name ("=" attr)?),* "}"          symbol ::= @name ("::" @name)*
 * Elements are in mlir_dense.c, dialect attributes in mlir_dialect_attrs.c, locations in
 * mlir_locations.c; affine maps and the like stay text. The first token decides, so that nothing
 * is read twice. Recursive descent; the depth is bounded by mlir_enter. Lists grow outside the
 * arena and are copied when their length is known. Source: MLIR language reference,
 * "Attributes". */
#include <stdlib.h>
#include <string.h>

#include "mlir/text/mlir_parser.h"
#include "base/decimal.h"

/* "-"? integer or float, with an optional ": type". An integer before a float type is its bit
 * pattern; without a type integers are i64, floats f64. */
static hr_status_t parse_number(mlir_parser_t *parser, const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  bool negative, typed;
  HR_TRY(HR_NEW(parser->arena, &attr));
  HR_TRY(mlir_take_if(parser, '-', &negative));
  mlir_token_t token = *mlir_peek(parser);
  if (token.kind != MLIR_TOKEN_INTEGER && token.kind != MLIR_TOKEN_FLOAT)
    return mlir_expected(parser, "a number");
  if (token.text.size > 63) return mlir_expected(parser, "a shorter number");
  char digits[64];
  memcpy(digits, token.text.data, token.text.size);
  digits[token.text.size] = 0;
  HR_TRY(mlir_lexer_next(&parser->lexer));
  HR_TRY(mlir_take_if(parser, ':', &typed));
  if (typed) HR_TRY(mlir_parse_type(parser, &attr->type));
  *out_attr = attr;
  bool is_float = attr->type ? attr->type->kind == MLIR_TYPE_FLOAT : token.kind == MLIR_TOKEN_FLOAT;
  attr->kind = is_float ? MLIR_ATTR_FLOAT : MLIR_ATTR_INTEGER;
  if (!is_float) {
    if (token.kind == MLIR_TOKEN_FLOAT) return mlir_expected(parser, "an integer before the type");
    uint64_t magnitude = strtoull(digits, NULL, 0);
    attr->integer = (int64_t)(negative ? 0 - magnitude : magnitude);
    if (!attr->type) return mlir_make_i64(parser->arena, attr->integer, out_attr);
    return NULL;
  }
  return mlir_finish_float(parser->arena, token.kind == MLIR_TOKEN_INTEGER, digits, negative, attr);
}

/* `number` is decoded from the bits again, so that it is rounded to its type and prints as
 * stored. */
hr_status_t mlir_finish_float(hr_arena_t *arena, bool is_pattern, const char *digits, bool negative,
                              mlir_attr_t *attr) {
  if (!attr->type) {
    mlir_type_t *f64;
    HR_TRY(HR_NEW(arena, &f64));
    f64->kind = MLIR_TYPE_FLOAT;
    f64->name = HR_STR("f64");
    attr->type = f64;
  }
  hr_dtype_t dtype = HR_F64;
  mlir_float_dtype(attr->type, &dtype);
  if (is_pattern) {
    attr->bits = strtoull(digits, NULL, 0);
  } else {
    double number = hr_strtod(digits, NULL);
    attr->bits = hr_float_encode(dtype, negative ? -number : number);
  }
  attr->number =
      hr_float_decode(dtype, attr->bits); /* rounded to the type, so that it prints as stored */
  return NULL;
}

/* Looks up the float's MLIR name among the element types. */
bool mlir_float_dtype(const mlir_type_t *type, hr_dtype_t *out_dtype) {
  for (int dtype = 0; dtype < HR_TUPLE; dtype++) {
    if (!hr_dtype_is_float((hr_dtype_t)dtype) ||
        !hr_str_is(type->name, hr_dtype_table[dtype].mlir_name))
      continue;
    *out_dtype = (hr_dtype_t)dtype;
    return true;
  }
  return false;
}

/* "text", with an optional ": type". */
static hr_status_t parse_string(mlir_parser_t *parser, const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  bool typed;
  HR_TRY(HR_NEW(parser->arena, &attr));
  attr->kind = MLIR_ATTR_STRING;
  HR_TRY(mlir_take_kind(parser, MLIR_TOKEN_STRING, "a string", &attr->text));
  HR_TRY(mlir_take_if(parser, ':', &typed));
  if (typed) HR_TRY(mlir_parse_type(parser, &attr->type));
  *out_attr = attr;
  return NULL;
}

/* Items up to "]", whose "[" is taken. */
static hr_status_t parse_array_items(mlir_parser_t *parser, const mlir_attr_t **out_attr) {
  HR_VEC(const mlir_attr_t *) items = {0};
  hr_status_t st = NULL;
  bool more = !mlir_at(parser, ']');
  while (more) {
    const mlir_attr_t *item;
    HR_TRY_GOTO(done, st, mlir_parse_attr(parser, &item));
    HR_TRY_GOTO(done, st, HR_VEC_RESERVE(&items, items.count + 1));
    items.data[items.count++] = item;
    HR_TRY_GOTO(done, st, mlir_take_if(parser, ',', &more));
  }
  HR_TRY_GOTO(done, st, mlir_take(parser, ']'));
  st = mlir_make_array(parser->arena, (int)items.count, items.data, out_attr);
done:
  HR_VEC_FREE(&items);
  return st;
}

/* Integers of 64 bits in brackets. */
hr_status_t mlir_parse_int_list(mlir_parser_t *parser, const mlir_attr_t **out_attr) {
  HR_VEC(int64_t) values = {0};
  hr_status_t st = mlir_take(parser, '[');
  bool more = !mlir_at(parser, ']');
  while (more && !st) {
    int64_t value;
    HR_TRY_GOTO(done, st, mlir_take_integer(parser, &value));
    HR_TRY_GOTO(done, st, HR_VEC_RESERVE(&values, values.count + 1));
    values.data[values.count++] = value;
    HR_TRY_GOTO(done, st, mlir_take_if(parser, ',', &more));
  }
  if (!st) st = mlir_take(parser, ']');
  if (!st) st = mlir_make_ints(parser->arena, (int64_t)values.count, values.data, out_attr);
done:
  HR_VEC_FREE(&values);
  return st;
}

/* name = value, or a name alone for a unit. */
static hr_status_t parse_entry(mlir_parser_t *parser, mlir_named_attr_t *out_entry) {
  const mlir_token_t *token = mlir_peek(parser);
  bool has_value;
  if (token->kind != MLIR_TOKEN_WORD && token->kind != MLIR_TOKEN_STRING)
    return mlir_expected(parser, "the name of an attribute");
  out_entry->name = token->text;
  HR_TRY(mlir_lexer_next(&parser->lexer));
  HR_TRY(mlir_take_if(parser, '=', &has_value));
  return has_value ? mlir_parse_attr(parser, &out_entry->value)
                   : mlir_make_unit(parser->arena, &out_entry->value);
}

/* Fields are sorted, so that duplicates are neighbours. */
hr_status_t mlir_check_unique(const mlir_attr_t *dict, hr_pos_t pos) {
  for (int i = 1; i < dict->count; i++)
    if (hr_str_equal(dict->fields[i].name, dict->fields[i - 1].name))
      return hr_error_at(HR_INVALID, &pos, "the attribute %.*s is given twice",
                         HR_STR_ARGS(dict->fields[i].name));
  return NULL;
}

hr_status_t mlir_parse_dict(mlir_parser_t *parser, const mlir_attr_t **out_dict) {
  HR_VEC(mlir_named_attr_t) fields = {0};
  hr_status_t st = mlir_take(parser, '{');
  bool more = !mlir_at(parser, '}');
  while (more && !st) {
    mlir_named_attr_t field;
    HR_TRY_GOTO(done, st, parse_entry(parser, &field));
    HR_TRY_GOTO(done, st, HR_VEC_RESERVE(&fields, fields.count + 1));
    fields.data[fields.count++] = field;
    HR_TRY_GOTO(done, st, mlir_take_if(parser, ',', &more));
  }
  if (!st) st = mlir_take(parser, '}');
  if (!st) st = mlir_make_dict(parser->arena, (int)fields.count, fields.data, out_dict);
  if (!st) st = mlir_check_unique(*out_dict, mlir_lexer_pos(&parser->lexer));
done:
  HR_VEC_FREE(&fields);
  return st;
}

/* @root::@nested */
static hr_status_t parse_symbol(mlir_parser_t *parser, const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  hr_str_t nested[16];
  HR_TRY(HR_NEW(parser->arena, &attr));
  attr->kind = MLIR_ATTR_SYMBOL;
  HR_TRY(mlir_take_kind(parser, MLIR_TOKEN_SYMBOL, "a symbol", &attr->text));
  while (mlir_peek(parser)->kind == MLIR_TOKEN_COLON_COLON) {
    if (attr->count == 16) return mlir_expected(parser, "a symbol of at most 16 nested names");
    HR_TRY(mlir_lexer_next(&parser->lexer));
    HR_TRY(mlir_take_kind(parser, MLIR_TOKEN_SYMBOL, "a symbol", &nested[attr->count++]));
  }
  void *copy;
  HR_TRY(hr_arena_copy(parser->arena, nested, (size_t)attr->count * sizeof *nested, &copy));
  attr->nested = attr->count ? copy : NULL;
  *out_attr = attr;
  return NULL;
}

/* An attribute stored as text: affine_map<...>, affine_set<...>, strided<...>. */
static hr_status_t parse_opaque_word(mlir_parser_t *parser, const mlir_attr_t **out_attr) {
  hr_str_t word, body;
  const char *text;
  mlir_attr_t *attr;
  HR_TRY(mlir_take_kind(parser, MLIR_TOKEN_WORD, "an attribute", &word));
  HR_TRY(mlir_take_balanced(parser, &body));
  HR_TRY(hr_arena_printf(parser->arena, &text, "%.*s<%.*s>", HR_STR_ARGS(word), HR_STR_ARGS(body)));
  HR_TRY(HR_NEW(parser->arena, &attr));
  attr->kind = MLIR_ATTR_OPAQUE;
  attr->text = hr_str_from(text);
  *out_attr = attr;
  return NULL;
}

/* distinct[number]<attribute>, stored as text. */
static hr_status_t parse_distinct(mlir_parser_t *parser, const mlir_attr_t **out_attr) {
  int64_t number;
  hr_str_t body;
  const char *text;
  mlir_attr_t *attr;
  HR_TRY(mlir_take_word(parser, "distinct"));
  HR_TRY(mlir_take(parser, '['));
  HR_TRY(mlir_take_integer(parser, &number));
  HR_TRY(mlir_take(parser, ']'));
  HR_TRY(mlir_take_balanced(parser, &body));
  HR_TRY(hr_arena_printf(parser->arena, &text, "distinct[%ld]<%.*s>", (long)number,
                         HR_STR_ARGS(body)));
  HR_TRY(HR_NEW(parser->arena, &attr));
  attr->kind = MLIR_ATTR_OPAQUE;
  attr->text = hr_str_from(text);
  *out_attr = attr;
  return NULL;
}

typedef hr_status_t (*attr_parser_fn)(mlir_parser_t *, const mlir_attr_t **);

/* Parser of an attribute that begins with this word; NULL: it may be a type or an error. */
static attr_parser_fn find_word_parser(const mlir_parser_t *parser) {
  static const struct {
    const char *word;
    attr_parser_fn parse;
  } words[] = {{"dense", mlir_parse_dense},       {"dense_resource", mlir_parse_dense_resource},
               {"array", mlir_parse_dense_array}, {"sparse", mlir_parse_sparse},
               {"loc", mlir_parse_location},      {"affine_map", parse_opaque_word},
               {"affine_set", parse_opaque_word}, {"strided", parse_opaque_word},
               {"distinct", parse_distinct}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (mlir_at_word(parser, words[i].word)) return words[i].parse;
  return NULL;
}

/* unit, true, false, a word with a parser of its own, or a type. */
static hr_status_t parse_word_attr(mlir_parser_t *parser, const mlir_attr_t **out_attr) {
  bool taken;
  HR_TRY(mlir_take_word_if(parser, "unit", &taken));
  if (taken) return mlir_make_unit(parser->arena, out_attr);
  HR_TRY(mlir_take_word_if(parser, "true", &taken));
  if (taken) return mlir_make_bool(parser->arena, true, out_attr);
  HR_TRY(mlir_take_word_if(parser, "false", &taken));
  if (taken) return mlir_make_bool(parser->arena, false, out_attr);
  attr_parser_fn parse = find_word_parser(parser);
  if (parse) return parse(parser, out_attr);
  if (!mlir_at_type(parser)) return mlir_expected(parser, "an attribute");
  const mlir_type_t *type;
  HR_TRY(mlir_parse_type(parser, &type));
  return mlir_make_type_attr(parser->arena, type, out_attr);
}

/* The first token decides: its kind, and for punctuation its character. */
static hr_status_t parse_any_attr(mlir_parser_t *parser, const mlir_attr_t **out_attr) {
  const mlir_type_t *type;
  switch (mlir_peek(parser)->kind) {
    case MLIR_TOKEN_INTEGER:
    case MLIR_TOKEN_FLOAT:
      return parse_number(parser, out_attr);
    case MLIR_TOKEN_STRING:
      return parse_string(parser, out_attr);
    case MLIR_TOKEN_SYMBOL:
      return parse_symbol(parser, out_attr);
    case MLIR_TOKEN_HASH:
      return mlir_parse_dialect_attr(parser, out_attr);
    case MLIR_TOKEN_WORD:
      return parse_word_attr(parser, out_attr);
    case MLIR_TOKEN_BANG:
      HR_TRY(mlir_parse_type(parser, &type));
      return mlir_make_type_attr(parser->arena, type, out_attr);
    case MLIR_TOKEN_PUNCT:
      break;
    default:
      return mlir_expected(parser, "an attribute");
  }
  switch (mlir_peek(parser)->punct) {
    case '-':
      return parse_number(parser, out_attr);
    case '{':
      return mlir_parse_dict(parser, out_attr);
    case '[':
      HR_TRY(mlir_take(parser, '['));
      return parse_array_items(parser, out_attr);
    case '(':
      HR_TRY(mlir_parse_type(parser, &type));
      return mlir_make_type_attr(parser->arena, type, out_attr);
    default:
      return mlir_expected(parser, "an attribute");
  }
}

/* Each attribute within another is a nesting level. */
hr_status_t mlir_parse_attr(mlir_parser_t *parser, const mlir_attr_t **out_attr) {
  HR_TRY(mlir_enter(parser));
  hr_status_t st = parse_any_attr(parser, out_attr);
  mlir_leave(parser);
  return st;
}
