/* Pretty forms of ops with regions: reduce, while, scan, and the returns that end regions.
 *   reduce ::= ("(" %x "init:" %i ")"),* ("applies" op)? "across dimensions =" [d,*] dict?
 *              ":" type (("reducer" "(" %a ":" T, %b ":" T ")"*) region)?
 *   while  ::= "(" (%name "=" %init),* ")" (":" types)? ("attributes" dict)? "cond" region
 *              "do" region
 * The arguments of the regions are named by the op's own syntax, not by labels of blocks. */
#include "mlir/mlir_mhlo.h"
#include "mlir/text/mlir_form_parser.h"
#include "mlir/text/mlir_forms.h"

/* Builds the body for "applies op": ^bb(%a: T, %b: T): %r = op %a, %b : T; return %r, where T is a
 * scalar of the operand's element type. Its ops have the location of the reduce. */
static hr_status_t build_applied_body(mlir_form_state_t *state, hr_str_t op_name,
                                      const mlir_type_t *element) {
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
  apply->line = state->op->line;
  finish_op->line = state->op->line;
  apply->column = state->op->column;
  finish_op->column = state->op->column;
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

/* "(%a: T, %b: T)": an accumulator and an input. Their locations are read and dropped. */
static hr_status_t take_arg_pair(mlir_form_state_t *state, mlir_arg_t pair[2]) {
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

/* reducer(%a: T, %b: T) ... {body}: pairs of arguments are reordered to accumulators, then
 * inputs. */
static hr_status_t parse_reducer(mlir_form_state_t *state, int count) {
  mlir_arg_t *args, pair[2];
  mlir_region_t *region;
  HR_TRY(HR_NEW_ARRAY(state->parser->arena, 2 * count, &args));
  HR_TRY(mlir_take_word(state->parser, "reducer"));
  for (int i = 0; i < count; i++) {
    HR_TRY(take_arg_pair(state, pair));
    args[i] = pair[0];
    args[count + i] = pair[1];
  }
  HR_TRY(mlir_form_new_region(state, false, 2 * count, args, &region));
  return mlir_set_regions(state->parser, state->op, 1, &region);
}

/* (%x init: %i), ...: the operands are the inputs, then the initial values. */
static hr_status_t take_reduce_operands(mlir_form_state_t *state, mlir_uses_t *inits) {
  for (bool more = true; more;) {
    mlir_use_t init;
    HR_TRY(mlir_take(state->parser, '('));
    HR_TRY(mlir_form_take_one_use(state));
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

/* With "applies op" the body is built here; the element type is that of the first operand. */
static hr_status_t parse_reduce_with(mlir_form_state_t *state, mlir_uses_t *inits) {
  bool applies;
  hr_str_t applied = {0};
  const mlir_attr_t *dims;
  HR_TRY(take_reduce_operands(state, inits));
  HR_TRY(mlir_take_word_if(state->parser, "applies", &applies));
  if (applies) HR_TRY(mlir_take_kind(state->parser, MLIR_TOKEN_WORD, "an operation", &applied));
  if (applies) HR_TRY(mlir_mhlo_name(state->parser->arena, applied, &applied));
  if (applies && !mlir_may_be_applied(applied))
    return mlir_error(state->parser->module, state->op,
                      "%.*s is no commutative operation of two operands", HR_STR_ARGS(applied));
  HR_TRY(mlir_take_word(state->parser, "across"));
  HR_TRY(mlir_take_word(state->parser, "dimensions"));
  HR_TRY(mlir_take(state->parser, '='));
  HR_TRY(mlir_parse_int_list(state->parser, &dims));
  HR_TRY(mlir_form_add_attr(state, "dimensions", dims));
  HR_TRY(mlir_form_take_dict(state));
  HR_TRY(mlir_form_finish_function(state));
  if (!applies) return parse_reducer(state, (int)inits->count);
  const mlir_type_t *input = state->type->input_count ? state->type->inputs[0] : NULL;
  if (!input || !input->element)
    return mlir_error(state->parser->module, state->op, "its operand is no tensor");
  return build_applied_body(state, applied, input->element);
}

/* (%x init: %i), (%y init: %j) applies op across dimensions = [0], or with a reducer */
hr_status_t mlir_form_parse_reduce(mlir_form_state_t *state) {
  mlir_uses_t inits = {0};
  hr_status_t st = parse_reduce_with(state, &inits);
  HR_VEC_FREE(&inits);
  return st;
}

/* Names of a loop's values, used for the arguments of both regions. */
typedef HR_VEC(hr_str_t) names_t;

/* (%name = %init, ...) */
static hr_status_t take_loop_state(mlir_form_state_t *state, names_t *names) {
  HR_TRY(mlir_take(state->parser, '('));
  for (bool more = !mlir_at(state->parser, ')'); more;) {
    hr_str_t name;
    HR_TRY(mlir_take_kind(state->parser, MLIR_TOKEN_VALUE, "a name for the loop's value", &name));
    HR_TRY(mlir_take(state->parser, '='));
    HR_TRY(mlir_form_take_one_use(state));
    HR_VEC_PUSH(names, name);
    HR_TRY(mlir_take_if(state->parser, ',', &more));
  }
  return mlir_take(state->parser, ')');
}

/* Both regions have the loop's values as arguments; the types are written once. */
static hr_status_t parse_while_with(mlir_form_state_t *state, names_t *names) {
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
  if (attributes) HR_TRY(mlir_form_take_dict(state));
  HR_TRY(mlir_form_finish(state, count, types));
  HR_TRY(mlir_take_word(parser, "cond"));
  HR_TRY(mlir_form_new_region(state, false, count, args, &regions[0]));
  HR_TRY(mlir_take_word(parser, "do"));
  HR_TRY(mlir_form_new_region(state, false, count, args, &regions[1]));
  return mlir_set_regions(parser, state->op, 2, regions);
}

/* (%iterArg = %init, ...) : T, ... attributes {..} cond {..} do {..} */
hr_status_t mlir_form_parse_while(mlir_form_state_t *state) {
  names_t names = {0};
  hr_status_t st = parse_while_with(state, &names);
  HR_VEC_FREE(&names);
  return st;
}

/* {attributes} %a, %b : T, T; or nothing; stablehlo.return has the attributes after the values.
 * Unlike in other forms, one type cannot stand for several values. */
hr_status_t mlir_form_parse_return(mlir_form_state_t *state) {
  HR_TRY(mlir_form_take_dict(state));
  HR_TRY(mlir_parse_uses(state->parser, &state->uses));
  if (!state->dict) HR_TRY(mlir_form_take_dict(state));
  HR_TRY(mlir_form_finish_list(state));
  if (state->type_count == state->uses.count) return NULL;
  return mlir_error(state->parser->module, state->op, "%zu values and %zu types", state->uses.count,
                    state->type_count);
}

/* The numbers of inputs and carries, in MLIR's form of segment sizes. */
static hr_status_t add_segments(mlir_form_state_t *state, const char *name, size_t first,
                                size_t second) {
  static const mlir_type_t i32 = {.kind = MLIR_TYPE_INTEGER, .width = 32};
  const int32_t sizes[] = {(int32_t)first, (int32_t)second};
  mlir_attr_t *attr;
  void *copy;
  HR_TRY(HR_NEW(state->parser->arena, &attr));
  HR_TRY(hr_arena_copy(state->parser->arena, sizes, sizeof sizes, &copy));
  *attr =
      (mlir_attr_t){.kind = MLIR_ATTR_DENSE_ARRAY, .type = &i32, .element_count = 2, .data = copy};
  return mlir_form_add_attr(state, name, attr);
}

/* chlo.scan (%in...) inits (%init...) dimension=0 attributes {attrs} {body} : (T...) -> (R...).
 * The last results are the carries, as many as there are inits. */
hr_status_t mlir_form_parse_scan(mlir_form_state_t *state) {
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
  HR_TRY(mlir_form_add_integer(state, "dimension", dimension, 64));
  HR_TRY(add_segments(state, "operandSegmentSizes", inputs, carries));
  HR_TRY(mlir_take_word_if(parser, "attributes", &attributes));
  if (attributes) HR_TRY(mlir_form_take_dict(state));
  HR_TRY(mlir_form_new_region(state, false, 0, NULL, &region));
  HR_TRY(mlir_take(parser, ':'));
  HR_TRY(mlir_parse_function_type(parser, &state->type));
  size_t results = (size_t)state->type->result_count;
  HR_TRY(add_segments(state, "resultSegmentSizes", results > carries ? results - carries : 0,
                      carries));
  HR_TRY(mlir_form_finish(state, state->type->result_count, state->type->results));
  return mlir_set_regions(parser, state->op, 1, &region);
}
