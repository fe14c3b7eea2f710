/* Pretty forms of functions, modules and the larger ops of sdy:
 *   func       ::= visibility? @name "(" parameters ")" ("->" results)? ("attributes" dict)?
 *                  region?
 *   parameters ::= ((%name ":")? type dict? location?),*
 *   module     ::= @name? ("attributes" dict)? region
 *   mesh       ::= @name "=" ("<" text ">" | "#" alias)
 *   manual     ::= "(" operands ")" shardings* "(" parameters ")" ...
 * A signature becomes the attributes function_type, arg_attrs and res_attrs. Shardings and axes
 * are kept as text, which the partitioner reads. */
#include "mlir/text/mlir_form_parser.h"

/* Parameters and results being read; each list of attributes is as long as its list of types. */
typedef struct signature {
  HR_VEC(mlir_arg_t) args;
  HR_VEC(const mlir_attr_t *) arg_attrs;
  HR_VEC(const mlir_attr_t *) arg_locations; /* NULL: none */
  HR_VEC(const mlir_type_t *) results;
  HR_VEC(const mlir_attr_t *) result_attrs;
} signature_t;

static void free_signature(signature_t *signature) {
  HR_VEC_FREE(&signature->args);
  HR_VEC_FREE(&signature->arg_attrs);
  HR_VEC_FREE(&signature->arg_locations);
  HR_VEC_FREE(&signature->results);
  HR_VEC_FREE(&signature->result_attrs);
}

/* A dictionary, or an empty one if there is none: lists have an entry for each parameter. */
static hr_status_t take_optional_dict(mlir_parser_t *parser, const mlir_attr_t **out_dict) {
  return mlir_at(parser, '{') ? mlir_parse_dict(parser, out_dict)
                              : mlir_make_dict(parser->arena, 0, NULL, out_dict);
}

/* (%arg0: T {attrs} loc(..), ...); a declaration has types without names. */
static hr_status_t take_parameters(mlir_parser_t *parser, signature_t *signature) {
  HR_TRY(mlir_take(parser, '('));
  for (bool more = !mlir_at(parser, ')'); more;) {
    mlir_arg_t arg = {0};
    const mlir_attr_t *attrs, *location = NULL;
    if (mlir_peek(parser)->kind == MLIR_TOKEN_VALUE) {
      HR_TRY(mlir_take_kind(parser, MLIR_TOKEN_VALUE, "an argument", &arg.name));
      HR_TRY(mlir_take(parser, ':'));
    }
    HR_TRY(mlir_parse_type(parser, &arg.type));
    HR_TRY(take_optional_dict(parser, &attrs));
    if (mlir_at_word(parser, "loc")) HR_TRY(mlir_parse_location(parser, &location));
    HR_VEC_PUSH(&signature->args, arg);
    HR_VEC_PUSH(&signature->arg_attrs, attrs);
    HR_VEC_PUSH(&signature->arg_locations, location);
    HR_TRY(mlir_take_if(parser, ',', &more));
  }
  return mlir_take(parser, ')');
}

/* -> T, or -> (T {attrs}, ...); nothing for a function without results. Only the form in
 * parentheses may have attributes: a '{' after a bare type begins the body. */
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

/* Sets function_type, and arg_attrs and res_attrs if any dictionary of theirs is not empty. */
static hr_status_t add_signature(mlir_form_state_t *state, const signature_t *signature) {
  hr_arena_t *arena = state->parser->arena;
  mlir_type_t *type;
  const mlir_type_t **inputs;
  const mlir_attr_t *attr;
  void *results;
  HR_TRY(HR_NEW(arena, &type));
  HR_TRY(HR_NEW_ARRAY(arena, signature->args.count, &inputs));
  for (size_t i = 0; i < signature->args.count; i++) inputs[i] = signature->args.data[i].type;
  HR_TRY(hr_arena_copy(arena, signature->results.data,
                       signature->results.count * sizeof *signature->results.data, &results));
  *type = (mlir_type_t){.kind = MLIR_TYPE_FUNCTION,
                        .input_count = (int)signature->args.count,
                        .result_count = (int)signature->results.count,
                        .inputs = inputs,
                        .results = results};
  HR_TRY(mlir_make_type_attr(arena, type, &attr));
  HR_TRY(mlir_form_add_attr(state, "function_type", attr));
  if (any_attrs(signature->arg_attrs.data, signature->arg_attrs.count)) {
    HR_TRY(
        mlir_make_array(arena, (int)signature->arg_attrs.count, signature->arg_attrs.data, &attr));
    HR_TRY(mlir_form_add_attr(state, "arg_attrs", attr));
  }
  if (!any_attrs(signature->result_attrs.data, signature->result_attrs.count)) return NULL;
  HR_TRY(mlir_make_array(arena, (int)signature->result_attrs.count, signature->result_attrs.data,
                         &attr));
  return mlir_form_add_attr(state, "res_attrs", attr);
}

/* @name of a symbol; optional for modules. */
static hr_status_t take_name(mlir_form_state_t *state, bool required) {
  hr_str_t name;
  const mlir_attr_t *attr;
  if (!required && mlir_peek(state->parser)->kind != MLIR_TOKEN_SYMBOL) return NULL;
  HR_TRY(mlir_take_kind(state->parser, MLIR_TOKEN_SYMBOL, "a name such as @main", &name));
  HR_TRY(mlir_make_string(state->parser->arena, name, &attr));
  return mlir_form_add_attr(state, "sym_name", attr);
}

/* public, private or nested. */
static hr_status_t take_visibility(mlir_form_state_t *state) {
  mlir_parser_t *parser = state->parser;
  const mlir_attr_t *attr;
  if (!mlir_at_word(parser, "public") && !mlir_at_word(parser, "private") &&
      !mlir_at_word(parser, "nested"))
    return NULL;
  HR_TRY(mlir_make_string(parser->arena, mlir_peek(parser)->text, &attr));
  HR_TRY(mlir_lexer_next(&parser->lexer));
  return mlir_form_add_attr(state, "sym_visibility", attr);
}

/* Gives the body's block the locations of its arguments; a declaration has no block. */
static hr_status_t place_arguments(mlir_parser_t *parser, const signature_t *signature,
                                   mlir_region_t *region) {
  void *locations;
  size_t count = signature->arg_locations.count;
  if (!count || !region->blocks.count || (size_t)region->blocks.data[0]->arg_count != count)
    return NULL;
  HR_TRY(hr_arena_copy(parser->arena, signature->arg_locations.data,
                       count * sizeof(const mlir_attr_t *), &locations));
  region->blocks.data[0]->arg_locations = locations;
  return NULL;
}

/* func.func visibility @name(parameters) -> results attributes {..} {body}. The attributes are
 * finished before the body is read, so that declarations and definitions differ in their region
 * only. */
static hr_status_t parse_func_with(mlir_form_state_t *state, signature_t *signature) {
  mlir_parser_t *parser = state->parser;
  bool attributes;
  HR_TRY(take_visibility(state));
  HR_TRY(take_name(state, true));
  HR_TRY(take_parameters(parser, signature));
  HR_TRY(take_function_results(parser, signature));
  HR_TRY(add_signature(state, signature));
  HR_TRY(mlir_take_word_if(parser, "attributes", &attributes));
  if (attributes) HR_TRY(mlir_form_take_dict(state));
  HR_TRY(mlir_form_finish(state, 0, NULL));
  mlir_region_t *region;
  if (mlir_at(parser, '{'))
    HR_TRY(mlir_form_new_region(state, true, (int)signature->args.count, signature->args.data,
                                &region));
  else
    HR_TRY(HR_NEW(parser->arena, &region));
  HR_TRY(place_arguments(parser, signature, region));
  return mlir_set_regions(parser, state->op, 1, &region);
}

/* The signature's lists are freed here, after errors too. */
hr_status_t mlir_form_parse_func(mlir_form_state_t *state) {
  signature_t signature = {0};
  hr_status_t st = parse_func_with(state, &signature);
  free_signature(&signature);
  return st;
}

/* module @name attributes {..} {body} */
hr_status_t mlir_form_parse_builtin_module(mlir_form_state_t *state) {
  mlir_region_t *region;
  bool attributes;
  HR_TRY(take_name(state, false));
  HR_TRY(mlir_take_word_if(state->parser, "attributes", &attributes));
  if (attributes) HR_TRY(mlir_form_take_dict(state));
  HR_TRY(mlir_form_finish(state, 0, NULL));
  HR_TRY(mlir_form_new_region(state, true, 0, NULL, &region));
  return mlir_set_regions(state->parser, state->op, 1, &region);
}

/* --- sdy --- */

/* sdy.mesh @m = <["x"=4, "y"=2], device_ids=[...]> {attrs}, or = #sdy.mesh<...>: the mesh is kept
 * as text */
hr_status_t mlir_form_parse_sdy_mesh(mlir_form_state_t *state) {
  hr_str_t text;
  const mlir_attr_t *attr;
  HR_TRY(take_name(state, true));
  HR_TRY(mlir_take(state->parser, '='));
  HR_TRY(mlir_take_mesh(state->parser, &text));
  HR_TRY(mlir_make_string(state->parser->arena, text, &attr));
  HR_TRY(mlir_form_add_attr(state, "mesh", attr));
  HR_TRY(mlir_form_take_dict(state));
  return mlir_form_finish(state, 0, NULL);
}

/* "name=[<...>, ...]" or "name={...}" of a manual computation: the text between the brackets. */
static hr_status_t take_sdy_text(mlir_form_state_t *state, const char *name) {
  mlir_parser_t *parser = state->parser;
  const mlir_attr_t *attr;
  HR_TRY(mlir_take_word(parser, name));
  HR_TRY(mlir_take(parser, '='));
  char open = mlir_peek(parser)->punct;
  char close = open == '[' ? ']' : '}';
  if (!mlir_at(parser, '[') && !mlir_at(parser, '{')) return mlir_expected(parser, "'[' or '{'");
  const char *start = mlir_peek(parser)->start + 1;
  const char *stop = start;
  int depth = 0;
  do {
    if (mlir_peek(parser)->kind == MLIR_TOKEN_END)
      return mlir_expected(parser, "the closing bracket");
    depth += mlir_at(parser, open) - mlir_at(parser, close);
    stop = mlir_peek(parser)->start;
    HR_TRY(mlir_lexer_next(&parser->lexer));
  } while (depth);
  hr_str_t text = {start, (size_t)(stop - start)};
  HR_TRY(mlir_replace_aliases(parser, &text));
  HR_TRY(mlir_make_string(parser->arena, text, &attr));
  return mlir_form_add_attr(state, name, attr);
}

/* (%a, %b) */
static hr_status_t take_sdy_operands(mlir_form_state_t *state) {
  HR_TRY(mlir_take(state->parser, '('));
  HR_TRY(mlir_parse_uses(state->parser, &state->uses));
  return mlir_take(state->parser, ')');
}

/* (%arg: T) {..} {attributes} : types. The region is isolated: its arguments have local types. */
static hr_status_t parse_sdy_body(mlir_form_state_t *state, signature_t *signature) {
  mlir_parser_t *parser = state->parser;
  mlir_region_t *region;
  HR_TRY(take_parameters(parser, signature));
  HR_TRY(
      mlir_form_new_region(state, true, (int)signature->args.count, signature->args.data, &region));
  HR_TRY(mlir_form_take_dict(state));
  HR_TRY(mlir_form_finish_function(state));
  return mlir_set_regions(parser, state->op, 1, &region);
}

static hr_status_t parse_sdy_manual_with(mlir_form_state_t *state, signature_t *signature) {
  HR_TRY(take_sdy_operands(state));
  HR_TRY(take_sdy_text(state, "in_shardings"));
  HR_TRY(take_sdy_text(state, "out_shardings"));
  HR_TRY(take_sdy_text(state, "manual_axes"));
  return parse_sdy_body(state, signature);
}

/* sdy.manual_computation(%a) in_shardings=[..] out_shardings=[..] manual_axes={..} (%arg: T) {..} :
 * types */
hr_status_t mlir_form_parse_sdy_manual(mlir_form_state_t *state) {
  signature_t signature = {0};
  hr_status_t st = parse_sdy_manual_with(state, &signature);
  free_signature(&signature);
  return st;
}

/* Like a manual computation, with a name and optional shardings. */
static hr_status_t parse_sdy_named_with(mlir_form_state_t *state, signature_t *signature) {
  mlir_parser_t *parser = state->parser;
  static const char *const lists[] = {"in_shardings", "out_shardings"};
  HR_TRY(mlir_take(parser, '<'));
  HR_TRY(mlir_form_take_text(state, "name"));
  HR_TRY(mlir_take(parser, '>'));
  HR_TRY(take_sdy_operands(state));
  for (int i = 0; i < 2; i++)
    if (hr_str_is(mlir_peek(parser)->text, lists[i])) HR_TRY(take_sdy_text(state, lists[i]));
  return parse_sdy_body(state, signature);
}

/* sdy.named_computation<"f">(%a) in_shardings=[..] out_shardings=[..] (%x: T) {..} : types */
hr_status_t mlir_form_parse_sdy_named(mlir_form_state_t *state) {
  signature_t signature = {0};
  hr_status_t st = parse_sdy_named_with(state, &signature);
  free_signature(&signature);
  return st;
}

/* sdy.sharding_constraint %x <@mesh, [{"x"}]> : T: the sharding is kept as text */
hr_status_t mlir_form_parse_sdy_sharded(mlir_form_state_t *state) {
  hr_str_t text;
  const mlir_attr_t *attr;
  HR_TRY(mlir_form_take_one_use(state));
  HR_TRY(mlir_take_sharding(state->parser, &text));
  HR_TRY(mlir_make_string(state->parser->arena, text, &attr));
  HR_TRY(mlir_form_add_attr(state, "sharding", attr));
  HR_TRY(mlir_form_take_dict(state));
  return mlir_form_finish_result(state);
}
