/* Pretty forms of the check, shape, arith and tensor dialects, which StableHLO's tests and
 * programs of dynamic sizes use. A result type missing in the text follows from the op: a witness,
 * an index, an element. */
#include "mlir/text/mlir_form_parser.h"

#include <string.h>

/* A number of a check op. A ':' after it starts its own type or the types of the op: only " f64"
 * and " ui64" directly after it are the number's; they are read and dropped. */
static hr_status_t take_plain_number(mlir_form_state_t *state, const char *name) {
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
  const char *after = parser->lexer.at;
  if (mlir_at(parser, ':') && after + 4 < parser->lexer.end &&
      (!memcmp(after, " f64", 4) || !memcmp(after, " ui6", 4))) {
    const mlir_type_t *type;
    HR_TRY(mlir_take(parser, ':'));
    HR_TRY(mlir_parse_type(parser, &type));
  }
  return mlir_form_add_attr(state, name, attr);
}

/* "%a, %b, name = number, ... {attrs} : T, T" of the check dialect. A constant among the operands
 * is the attribute `value`; probe_id is a string. */
hr_status_t mlir_form_parse_check(mlir_form_state_t *state) {
  mlir_parser_t *parser = state->parser;
  const mlir_attr_t *value;
  HR_TRY(mlir_parse_uses(parser, &state->uses));
  for (bool more;;) {
    HR_TRY(mlir_take_if(parser, ',', &more));
    if (!more) break;
    if (mlir_at_word(parser, "dense")) {
      HR_TRY(mlir_parse_attr(parser, &value));
      HR_TRY(mlir_form_add_attr(state, "value", value));
      continue;
    }
    hr_str_t word;
    const char *name;
    HR_TRY(mlir_take_kind(parser, MLIR_TOKEN_WORD, "a name", &word));
    HR_TRY(hr_arena_cstr(parser->arena, word, &name));
    HR_TRY(mlir_take(parser, '='));
    HR_TRY(hr_str_is(word, "probe_id") ? mlir_form_take_text(state, name)
                                       : take_plain_number(state, name));
  }
  HR_TRY(mlir_form_take_dict(state));
  return mlir_form_finish_list(state);
}

/* chlo.constant and arith.constant: an attribute that names its type */
hr_status_t mlir_form_parse_typed_constant(mlir_form_state_t *state) {
  return mlir_form_parse_constant(state);
}

/* shape.const_shape [2, 3] : T */
hr_status_t mlir_form_parse_const_shape(mlir_form_state_t *state) {
  const mlir_attr_t *dims;
  HR_TRY(mlir_form_take_dict(state));
  HR_TRY(mlir_parse_int_list(state->parser, &dims));
  HR_TRY(mlir_form_add_attr(state, "shape", dims));
  return mlir_form_finish_result(state);
}

/* arith.index_cast %a : T to U, and tensor.cast; the operand's type is not checked. */
hr_status_t mlir_form_parse_cast(mlir_form_state_t *state) {
  HR_TRY(mlir_form_take_one_use(state));
  HR_TRY(mlir_form_take_dict(state));
  HR_TRY(mlir_take(state->parser, ':'));
  HR_TRY(mlir_parse_type(state->parser, &state->type));
  HR_TRY(mlir_take_word(state->parser, "to"));
  HR_TRY(mlir_parse_type(state->parser, &state->type));
  return mlir_form_finish(state, 1, &state->type);
}

/* --- shape and tensor: result types that are missing in the text --- */

/* Finishes an op with one result whose type is not in the text; `name` is that of an opaque
 * type. */
static hr_status_t finish_as(mlir_form_state_t *state, mlir_type_kind_t kind, const char *name) {
  mlir_type_t *type;
  HR_TRY(HR_NEW(state->parser->arena, &type));
  type->kind = kind;
  type->name = hr_str_from(name);
  const mlir_type_t *result = type;
  return mlir_form_finish(state, 1, &result);
}

/* {attrs} : T, T after operands. The types are read but not compared; state->type is the last
 * one. */
static hr_status_t skip_types(mlir_form_state_t *state) {
  bool more;
  HR_TRY(mlir_form_take_dict(state));
  HR_TRY(mlir_take_if(state->parser, ':', &more));
  while (more) {
    HR_TRY(mlir_parse_type(state->parser, &state->type));
    HR_TRY(mlir_take_if(state->parser, ',', &more));
  }
  return NULL;
}

/* shape.cstr_broadcastable %a, %b : T, T */
hr_status_t mlir_form_parse_constraint(mlir_form_state_t *state) {
  HR_TRY(mlir_parse_uses(state->parser, &state->uses));
  HR_TRY(skip_types(state));
  return finish_as(state, MLIR_TYPE_OPAQUE, "shape.witness");
}

/* shape.cstr_require %a, "message" */
hr_status_t mlir_form_parse_requirement(mlir_form_state_t *state) {
  const mlir_attr_t *message;
  HR_TRY(mlir_form_take_one_use(state));
  HR_TRY(mlir_take(state->parser, ','));
  HR_TRY(mlir_parse_attr(state->parser, &message));
  HR_TRY(mlir_form_add_attr(state, "msg", message));
  HR_TRY(mlir_form_take_dict(state));
  return finish_as(state, MLIR_TYPE_OPAQUE, "shape.witness");
}

/* shape.const_witness true */
hr_status_t mlir_form_parse_const_witness(mlir_form_state_t *state) {
  const mlir_attr_t *passing;
  HR_TRY(mlir_parse_attr(state->parser, &passing));
  HR_TRY(mlir_form_add_attr(state, "passing", passing));
  HR_TRY(mlir_form_take_dict(state));
  return finish_as(state, MLIR_TYPE_OPAQUE, "shape.witness");
}

/* shape.assuming %w -> (T, U) { ... shape.assuming_yield %a, %b : T, U }; without "->" it has no
 * results. */
hr_status_t mlir_form_parse_assuming(mlir_form_state_t *state) {
  const mlir_type_t *results[16];
  int count = 0;
  bool more = false;
  mlir_region_t *region;
  HR_TRY(mlir_form_take_one_use(state));
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
  HR_TRY(mlir_form_new_region(state, false, 0, NULL, &region));
  HR_TRY(mlir_form_take_dict(state));
  HR_TRY(mlir_form_finish(state, count, results));
  return mlir_set_regions(state->parser, state->op, 1, &region);
}

/* tensor.dim %x, %i : T */
hr_status_t mlir_form_parse_tensor_dim(mlir_form_state_t *state) {
  HR_TRY(mlir_parse_uses(state->parser, &state->uses));
  HR_TRY(skip_types(state));
  return finish_as(state, MLIR_TYPE_INDEX, "");
}

/* tensor.extract %x[%i, %j] : T; the result is an element of T. */
hr_status_t mlir_form_parse_tensor_extract(mlir_form_state_t *state) {
  HR_TRY(mlir_form_take_one_use(state));
  HR_TRY(mlir_take(state->parser, '['));
  if (!mlir_at(state->parser, ']')) HR_TRY(mlir_parse_uses(state->parser, &state->uses));
  HR_TRY(mlir_take(state->parser, ']'));
  HR_TRY(skip_types(state));
  if (!state->type || !state->type->element) return mlir_expected(state->parser, "a tensor type");
  return mlir_form_finish(state, 1, &state->type->element);
}

/* tensor.from_elements %a, %b : T */
hr_status_t mlir_form_parse_from_elements(mlir_form_state_t *state) {
  if (!mlir_at(state->parser, ':')) HR_TRY(mlir_parse_uses(state->parser, &state->uses));
  HR_TRY(mlir_form_take_dict(state));
  return mlir_form_finish_result(state);
}
