/* Pretty forms of single ops: constants, slices, comparisons, products, convolutions, calls. Each
 * function reads the text after the op's name, shown in the comment above it, and ends with one of
 * the mlir_form_finish functions. Lists of at most the rank's length are on the stack. Source:
 * StableHLO's assembly formats (AssemblyFormat.cpp, StablehloOps.td). */
#include "mlir/text/mlir_form_parser.h"

#include <string.h>

/* {attrs} dense<...> : T, or () <{value = ...}> : () -> T, whose result type may differ from the
 * value's (quantised constants). */
hr_status_t mlir_form_parse_constant(mlir_form_state_t *state) {
  const mlir_attr_t *value;
  if (mlir_at(state->parser, '(')) {
    HR_TRY(mlir_take(state->parser, '('));
    HR_TRY(mlir_take(state->parser, ')'));
    bool angled;
    HR_TRY(mlir_take_if(state->parser, '<', &angled));
    HR_TRY(mlir_form_take_dict(state));
    if (angled) HR_TRY(mlir_take(state->parser, '>'));
    return mlir_form_finish_function(state);
  }
  HR_TRY(mlir_form_take_dict(state));
  HR_TRY(mlir_parse_attr(state->parser, &value));
  if (!value->type) return mlir_error(state->parser->module, state->op, "its value has no type");
  HR_TRY(mlir_form_add_attr(state, "value", value));
  return mlir_form_finish(state, 1, &value->type);
}

/* %x [0:4:2, 1:3]: start, limit and stride of each dimension; a stride of 1 is omitted. */
hr_status_t mlir_form_parse_slice(mlir_form_state_t *state) {
  int64_t starts[HR_MAX_RANK], limits[HR_MAX_RANK], strides[HR_MAX_RANK];
  int rank = 0;
  const mlir_attr_t *attr;
  HR_TRY(mlir_form_take_one_use(state));
  HR_TRY(mlir_take(state->parser, '['));
  for (bool more = !mlir_at(state->parser, ']'); more; rank++) {
    bool strided;
    if (rank == HR_MAX_RANK) return mlir_expected(state->parser, "at most 32 dimensions");
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
  HR_TRY(mlir_form_add_attr(state, "start_indices", attr));
  HR_TRY(mlir_make_ints(state->parser->arena, rank, limits, &attr));
  HR_TRY(mlir_form_add_attr(state, "limit_indices", attr));
  HR_TRY(mlir_make_ints(state->parser->arena, rank, strides, &attr));
  HR_TRY(mlir_form_add_attr(state, "strides", attr));
  HR_TRY(mlir_form_take_dict(state));
  return mlir_form_finish_function(state);
}

/* DIRECTION, %a, %b[, TYPE] */
hr_status_t mlir_form_parse_compare(mlir_form_state_t *state) {
  bool typed;
  HR_TRY(mlir_form_take_enum(state, "comparison_direction:comparison_direction"));
  HR_TRY(mlir_take(state->parser, ','));
  HR_TRY(mlir_form_take_one_use(state));
  HR_TRY(mlir_take(state->parser, ','));
  HR_TRY(mlir_form_take_one_use(state));
  HR_TRY(mlir_take_if(state->parser, ',', &typed));
  if (typed) HR_TRY(mlir_form_take_enum(state, "comparison_type:compare_type"));
  HR_TRY(mlir_form_take_dict(state));
  return mlir_form_finish_function(state);
}

/* %p, %a, %b : predicate, T; or a function type, if the types of %a, %b and the result differ. */
hr_status_t mlir_form_parse_select(mlir_form_state_t *state) {
  HR_TRY(mlir_parse_uses(state->parser, &state->uses));
  HR_TRY(mlir_form_take_dict(state));
  HR_TRY(mlir_take(state->parser, ':'));
  if (mlir_at(state->parser, '(')) {
    HR_TRY(mlir_parse_function_type(state->parser, &state->type));
    HR_TRY(mlir_form_finish(state, state->type->result_count, state->type->results));
    return mlir_check_operand_types(state->parser, state->op, state->type);
  }
  const mlir_type_t *types[3];
  HR_TRY(mlir_parse_type(state->parser, &types[0]));
  HR_TRY(mlir_take(state->parser, ','));
  HR_TRY(mlir_parse_type(state->parser, &types[1]));
  types[2] = types[1];
  HR_TRY(mlir_form_finish(state, 1, &types[1]));
  return mlir_form_check_operands(state, 3, types);
}

/* %x, format = e5m10: bits of exponent and mantissa in one word */
hr_status_t mlir_form_parse_reduce_precision(mlir_form_state_t *state) {
  hr_str_t format;
  int exponent = 0;
  int mantissa = 0;
  HR_TRY(mlir_form_take_one_use(state));
  HR_TRY(mlir_take(state->parser, ','));
  HR_TRY(mlir_take_word(state->parser, "format"));
  HR_TRY(mlir_take(state->parser, '='));
  HR_TRY(mlir_take_kind(state->parser, MLIR_TOKEN_WORD, "a format such as e5m10", &format));
  char text[16] = "";
  if (format.size < sizeof text) memcpy(text, format.data, format.size);
  if (sscanf(text, "e%dm%d", &exponent, &mantissa) != 2)
    return mlir_expected(state->parser, "a format such as e5m10");
  HR_TRY(mlir_form_add_integer(state, "exponent_bits", exponent, 32));
  HR_TRY(mlir_form_add_integer(state, "mantissa_bits", mantissa, 32));
  HR_TRY(mlir_form_take_dict(state));
  return mlir_form_finish_same(state);
}

/* %t[0]: the index of an element. */
hr_status_t mlir_form_parse_get_tuple_element(mlir_form_state_t *state) {
  HR_TRY(mlir_form_take_one_use(state));
  HR_TRY(mlir_take(state->parser, '['));
  HR_TRY(mlir_form_take_width(state, "index", 32));
  HR_TRY(mlir_take(state->parser, ']'));
  HR_TRY(mlir_form_take_dict(state));
  return mlir_form_finish_function(state);
}

/* The state is always a tensor<2xui64>, which is not in the text. */
hr_status_t mlir_form_parse_rng_state(mlir_form_state_t *state) {
  static const int64_t size = 2;
  const mlir_type_t *element, *type;
  HR_TRY(mlir_form_take_dict(state));
  HR_TRY(mlir_make_integer_type(state->parser->arena, 64, MLIR_UNSIGNED, &element));
  HR_TRY(mlir_make_tensor_type(state->parser->arena, element, 1, &size, &type));
  return mlir_form_finish(state, 1, &type);
}

/* [HIGH, DEFAULT] as an array of #stablehlo<precision ...>, one for each of two operands. */
static hr_status_t take_precision(mlir_form_state_t *state) {
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
  return mlir_form_add_attr(state, "precision_config", array);
}

/* <lhs_precision_type = tf32, ...>: the fields of #stablehlo.dot_algorithm, in any order. */
static hr_status_t take_algorithm(mlir_form_state_t *state) {
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
  HR_TRY(mlir_make_struct(state->parser->arena, HR_STR("stablehlo"), HR_STR("dot_algorithm"), count,
                          fields, &algorithm));
  return mlir_form_add_attr(state, "algorithm", algorithm);
}

/* "= [..] x [..]" as two fields, for the left and the right operand. */
static hr_status_t take_dims_pair(mlir_form_state_t *state, mlir_named_attr_t *left,
                                  mlir_named_attr_t *right) {
  HR_TRY(mlir_take(state->parser, '='));
  HR_TRY(mlir_parse_int_list(state->parser, &left->value));
  HR_TRY(mlir_take_word(state->parser, "x"));
  return mlir_parse_int_list(state->parser, &right->value);
}

/* %a, %b, batching_dims = [..] x [..], contracting_dims = [..] x [..], precision = [..], algorithm
 * = <..>. The parts may stand in any order; dimensions that are not given are empty.
 * stablehlo.dot, which has no dimension numbers, shares the form. */
hr_status_t mlir_form_parse_dot_general(mlir_form_state_t *state) {
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
    HR_TRY(mlir_take_kind(state->parser, MLIR_TOKEN_WORD,
                          "contracting_dims, batching_dims, precision or algorithm", &word));
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
    HR_TRY(mlir_make_struct(state->parser->arena, HR_STR("stablehlo"), HR_STR("dot"), 4, dims,
                            &numbers));
    HR_TRY(mlir_form_add_attr(state, "dot_dimension_numbers", numbers));
  }
  HR_TRY(mlir_form_take_dict(state));
  return mlir_form_finish_function(state);
}

/* [[0, 1], [2, 3]] as a dense tensor<Nx2xi64>: padding before and after each dimension. */
static hr_status_t take_pairs(mlir_form_state_t *state, const mlir_attr_t **out_attr) {
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
  st = mlir_dense_from_bytes(state->parser->arena, type, numbers.data,
                             numbers.count * sizeof(int64_t), attr);
  if (!st) *out_attr = attr;
done:
  HR_VEC_FREE(&numbers);
  return st;
}

/* [true, false] or [1, 0] as array<i1> */
static hr_status_t take_bools(mlir_form_state_t *state, const mlir_attr_t **out_attr) {
  uint8_t flags[HR_MAX_RANK];
  int count = 0;
  mlir_attr_t *attr;
  void *copy;
  HR_TRY(mlir_take(state->parser, '['));
  for (bool more = !mlir_at(state->parser, ']'); more; count++) {
    const mlir_attr_t *flag;
    if (count == HR_MAX_RANK) return mlir_expected(state->parser, "at most 32 dimensions");
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

/* One part of a convolution's window with its attribute: stride, pad, lhs_dilate, rhs_dilate or
 * reverse. */
static hr_status_t take_window_part(mlir_form_state_t *state) {
  hr_str_t word;
  const mlir_attr_t *attr;
  HR_TRY(mlir_take_kind(state->parser, MLIR_TOKEN_WORD,
                        "stride, pad, lhs_dilate, rhs_dilate or reverse", &word));
  HR_TRY(mlir_take(state->parser, '='));
  if (hr_str_is(word, "pad")) {
    HR_TRY(take_pairs(state, &attr));
    return mlir_form_add_attr(state, "padding", attr);
  }
  if (hr_str_is(word, "reverse")) {
    HR_TRY(take_bools(state, &attr));
    return mlir_form_add_attr(state, "window_reversal", attr);
  }
  HR_TRY(mlir_parse_int_list(state->parser, &attr));
  if (hr_str_is(word, "stride")) return mlir_form_add_attr(state, "window_strides", attr);
  if (hr_str_is(word, "lhs_dilate")) return mlir_form_add_attr(state, "lhs_dilation", attr);
  if (hr_str_is(word, "rhs_dilate")) return mlir_form_add_attr(state, "rhs_dilation", attr);
  return mlir_error(state->parser->module, state->op, "a window has no part %.*s",
                    HR_STR_ARGS(word));
}

/* (%a, %b) dim_numbers = [..]x[..]->[..], window = {stride = [..], ...} {attrs} */
hr_status_t mlir_form_parse_convolution(mlir_form_state_t *state) {
  const mlir_attr_t *numbers;
  bool windowed;
  HR_TRY(mlir_take(state->parser, '('));
  HR_TRY(mlir_parse_uses(state->parser, &state->uses));
  HR_TRY(mlir_take(state->parser, ')'));
  HR_TRY(mlir_take_word(state->parser, "dim_numbers"));
  HR_TRY(mlir_take(state->parser, '='));
  HR_TRY(mlir_parse_conv_dims(state->parser, &numbers));
  HR_TRY(mlir_form_add_attr(state, "dimension_numbers", numbers));
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
  HR_TRY(mlir_form_take_dict(state));
  return mlir_form_finish_function(state);
}

/* @target(%a, %b) {attrs} : types */
hr_status_t mlir_form_parse_custom_call(mlir_form_state_t *state) {
  hr_str_t target;
  const mlir_attr_t *name;
  HR_TRY(mlir_take_kind(state->parser, MLIR_TOKEN_SYMBOL, "a target such as @f", &target));
  HR_TRY(mlir_make_string(state->parser->arena, target, &name));
  HR_TRY(mlir_form_add_attr(state, "call_target_name", name));
  HR_TRY(mlir_take(state->parser, '('));
  HR_TRY(mlir_parse_uses(state->parser, &state->uses));
  HR_TRY(mlir_take(state->parser, ')'));
  HR_TRY(mlir_form_take_dict(state));
  return mlir_form_finish_function(state);
}

/* The op owns the region once mlir_set_regions has listed it. */
hr_status_t mlir_form_new_region(mlir_form_state_t *state, bool isolated, int arg_count,
                                 const mlir_arg_t *args, mlir_region_t **out_region) {
  HR_TRY(HR_NEW(state->parser->arena, out_region));
  return mlir_parse_region(state->parser, *out_region, isolated, arg_count, args);
}

/* "name" %a, %b ({...}, {...}) {attrs} : types. The decomposition is a symbol among the
 * attributes. */
hr_status_t mlir_form_parse_composite(mlir_form_state_t *state) {
  const mlir_attr_t *name;
  HR_TRY(mlir_parse_attr(state->parser, &name));
  HR_TRY(mlir_form_add_attr(state, "name", name));
  HR_TRY(mlir_parse_uses(state->parser, &state->uses));
  if (mlir_at(state->parser, '(')) {
    mlir_region_t *regions[16];
    int count = 0;
    HR_TRY(mlir_take(state->parser, '('));
    for (bool more = true; more; count++) {
      if (count == 16) return mlir_expected(state->parser, "at most 16 regions");
      HR_TRY(mlir_form_new_region(state, false, 0, NULL, &regions[count]));
      HR_TRY(mlir_take_if(state->parser, ',', &more));
    }
    HR_TRY(mlir_take(state->parser, ')'));
    HR_TRY(mlir_set_regions(state->parser, state->op, count, regions));
  }
  HR_TRY(mlir_form_take_dict(state));
  return mlir_form_finish_function(state);
}
