/* Pretty forms of the sdy dialect, except meshes, constraints and manual computations. Shardings
 * and lists of axes are kept as the text between their brackets; the partitioner reads them. */
#include "mlir/text/mlir_form_parser.h"
#include "mlir/text/mlir_parser.h"

/* A string attribute for the text of a sharding or of axes. */
static hr_status_t add_text(mlir_form_state_t *state, const char *name, hr_str_t text) {
  const mlir_attr_t *attr;
  HR_TRY(mlir_make_string(state->parser->arena, text, &attr));
  return mlir_form_add_attr(state, name, attr);
}

/* The text of a bracketed list with its brackets; other brackets inside need not balance. */
static hr_status_t take_bracketed(mlir_parser_t *parser, char open, char close, hr_str_t *out) {
  if (!mlir_at(parser, open)) return mlir_expected(parser, open == '[' ? "'['" : "'{'");
  const char *start = mlir_peek(parser)->start, *stop = start;
  int depth = 0;
  do {
    if (mlir_peek(parser)->kind == MLIR_TOKEN_END)
      return mlir_expected(parser, "the closing bracket");
    depth += mlir_at(parser, open) - mlir_at(parser, close);
    stop = mlir_peek(parser)->start + 1;
    HR_TRY(mlir_lexer_next(&parser->lexer));
  } while (depth);
  *out = (hr_str_t){start, (size_t)(stop - start)};
  return NULL;
}

/* The text between the angle brackets of an optional name=<...>. */
static hr_status_t take_sharding(mlir_form_state_t *state, const char *name) {
  bool there;
  hr_str_t text;
  HR_TRY(mlir_take_word_if(state->parser, name, &there));
  if (!there) return NULL;
  HR_TRY(mlir_take(state->parser, '='));
  HR_TRY(mlir_take_sharding(state->parser, &text));
  return add_text(state, name, text);
}

/* sdy.sharding_group %x group_id=4 : T */
hr_status_t mlir_form_parse_sdy_group(mlir_form_state_t *state) {
  HR_TRY(mlir_form_take_one_use(state));
  HR_TRY(mlir_take_word(state->parser, "group_id"));
  HR_TRY(mlir_take(state->parser, '='));
  HR_TRY(mlir_form_take_width(state, "group_id", 64));
  HR_TRY(mlir_form_take_dict(state));
  return mlir_form_finish_list(state);
}

/* sdy.propagation_barrier %x allowed_direction=FORWARD : T. The attribute is the number of the
 * word. */
hr_status_t mlir_form_parse_sdy_barrier(mlir_form_state_t *state) {
  static const char *const words[] = {"NONE", "FORWARD", "BACKWARD", "BOTH"};
  bool there = false;
  int direction = 0;
  HR_TRY(mlir_form_take_one_use(state));
  HR_TRY(mlir_take_word(state->parser, "allowed_direction"));
  HR_TRY(mlir_take(state->parser, '='));
  for (; direction < 4 && !there; direction += !there)
    HR_TRY(mlir_take_word_if(state->parser, words[direction], &there));
  if (!there) return mlir_expected(state->parser, "NONE, FORWARD, BACKWARD or BOTH");
  HR_TRY(mlir_form_add_integer(state, "allowed_direction", direction, 32));
  HR_TRY(mlir_form_take_dict(state));
  return mlir_form_finish_result(state);
}

/* sdy.data_flow_edge %x sharding=<@mesh, [{"a"}]> : T */
hr_status_t mlir_form_parse_sdy_edge(mlir_form_state_t *state) {
  HR_TRY(mlir_form_take_one_use(state));
  HR_TRY(take_sharding(state, "sharding"));
  HR_TRY(mlir_form_take_dict(state));
  return mlir_form_finish_result(state);
}

/* Name of the attribute for the list of axes. */
static const char *axes_name(hr_str_t op) {
  static const char *const names[][2] = {{"sdy.all_gather", "gathering_axes"},
                                         {"sdy.all_slice", "slicing_axes"},
                                         {"sdy.all_to_all", "params"},
                                         {"sdy.all_reduce", "reduction_axes"},
                                         {"sdy.reduce_scatter", "reduce_scatter_axes"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (hr_str_is(op, names[i][0])) return names[i][1];
  return "axes";
}

/* The reduction of sdy.all_reduce max {"m"} %x: none for a sum. */
static hr_status_t take_reduction(mlir_form_state_t *state) {
  static const char *const words[] = {"sum", "max", "min"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    bool there;
    const mlir_attr_t *attr;
    HR_TRY(mlir_take_word_if(state->parser, words[i], &there));
    if (!there) continue;
    HR_TRY(
        mlir_make_enum(state->parser->arena, "sdy", "reduction_op", hr_str_from(words[i]), &attr));
    return mlir_form_add_attr(state, "reduction_op", attr);
  }
  return NULL;
}

/* sdy.all_gather [{}, {"d"}] %x out_sharding=<@mesh, [{}, {}]> : T. Similar ops have a list {"m"}
 * or none. At most one list comes before the operand: a second one would replace the first, and
 * the next step refuses it. */
hr_status_t mlir_form_parse_sdy_collective(mlir_form_state_t *state) {
  mlir_parser_t *parser = state->parser;
  hr_str_t list = {NULL, 0};
  HR_TRY(take_reduction(state));
  if (mlir_at(parser, '['))
    HR_TRY(take_bracketed(parser, '[', ']', &list));
  else if (mlir_at(parser, '{'))
    HR_TRY(take_bracketed(parser, '{', '}', &list));
  if (list.size) HR_TRY(add_text(state, axes_name(state->op->name), list));
  HR_TRY(mlir_form_take_one_use(state));
  HR_TRY(take_sharding(state, "out_sharding"));
  HR_TRY(mlir_form_take_dict(state));
  return mlir_form_finish_result(state);
}
