/* Attributes of dialects, which begin with '#':
 *   attr   ::= "#" alias | "#" dialect "<" mnemonic (word | "<" fields ">") ">"
 *          | "#" dialect "." mnemonic "<" (fields | word | own) ">" | "#" anything
 *   fields ::= (name "=" value),*
 *   own    ::= conv "[b, 0, f]x[0, i, o]->[b, 0, f]" | bounds "4, ?"
 * Only StableHLO's, CHLO's and MHLO's attributes are parsed: a word is an enumeration, fields are
 * a structure (MLIR_ATTR_ENUM, MLIR_ATTR_STRUCT). In fields, lists of integers become array<i64>.
 * Attributes that MHLO shares with the others are converted to theirs, like its operations.
 * Attributes of other dialects, such as sdy, are kept as text, which the partitioner reads. */
#include <string.h>

#include "mlir/text/mlir_parser.h"

typedef HR_VEC(mlir_named_attr_t) field_list_t;

static hr_status_t add_field(field_list_t *fields, hr_str_t name, const mlir_attr_t *value) {
  HR_VEC_PUSH(fields, (mlir_named_attr_t){name, value});
  return NULL;
}

/* The first character after the current token '['; 0 if the current token is another one. */
static char first_in_list(const mlir_parser_t *parser) {
  if (!mlir_at(parser, '[')) return 0;
  const char *at = mlir_peek(parser)->start + 1;
  while (at < parser->lexer.end && (*at == ' ' || *at == '\n')) at++;
  return at < parser->lexer.end ? *at : 0;
}

/* True before a list of integers or an empty list; structures have empty lists for dimensions
 * only. */
static bool at_int_list(const mlir_parser_t *parser) {
  char first = first_in_list(parser);
  return first == ']' || first == '-' || (first >= '0' && first <= '9');
}

/* "(pre)size" of a sub-axis, as a structure of two integers. */
static hr_status_t parse_sub_axis(mlir_parser_t *parser, const mlir_attr_t **out_attr) {
  int64_t pre, size;
  mlir_named_attr_t fields[2] = {{HR_STR("pre_size"), NULL}, {HR_STR("size"), NULL}};
  HR_TRY(mlir_take(parser, '('));
  HR_TRY(mlir_take_integer(parser, &pre));
  HR_TRY(mlir_take(parser, ')'));
  HR_TRY(mlir_take_integer(parser, &size));
  HR_TRY(mlir_make_i64(parser->arena, pre, &fields[0].value));
  HR_TRY(mlir_make_i64(parser->arena, size, &fields[1].value));
  return mlir_make_struct(parser->arena, HR_STR("stablehlo"), HR_STR("sub_axis_info"), 2, fields,
                          out_attr);
}

static hr_status_t parse_struct_body(mlir_parser_t *parser, hr_str_t dialect, hr_str_t mnemonic,
                                     const mlir_attr_t **out_attr);

/* [<name = "x", size = 2>, ...]: the axes of a mesh, as StableHLO prints them */
static hr_status_t parse_mesh_axes(mlir_parser_t *parser, const mlir_attr_t **out_attr) {
  HR_VEC(const mlir_attr_t *) axes = {0};
  hr_status_t st = mlir_take(parser, '[');
  for (bool more = true; !st && more;) {
    const mlir_attr_t *axis;
    HR_TRY_GOTO(done, st, mlir_take(parser, '<'));
    HR_TRY_GOTO(done, st,
                parse_struct_body(parser, HR_STR("stablehlo"), HR_STR("mesh_axis"), &axis));
    HR_TRY_GOTO(done, st, mlir_take(parser, '>'));
    HR_VEC_PUSH(&axes, axis);
    HR_TRY_GOTO(done, st, mlir_take_if(parser, ',', &more));
  }
  if (!st) st = mlir_take(parser, ']');
  if (!st) st = mlir_make_array(parser->arena, (int)axes.count, axes.data, out_attr);
done:
  HR_VEC_FREE(&axes);
  return st;
}

/* dot_dimension_numbers = <fields>: a structure within another one, without its name. */
static hr_status_t parse_bare_struct(mlir_parser_t *parser, hr_str_t name,
                                     const mlir_attr_t **out_attr) {
  HR_TRY(mlir_take(parser, '<'));
  HR_TRY(parse_struct_body(parser, HR_STR("stablehlo"), name, out_attr));
  return mlir_take(parser, '>');
}

/* The name selects axes and sub-axes, the first character of the value the other forms. */
static hr_status_t parse_field_value(mlir_parser_t *parser, hr_str_t name,
                                     const mlir_attr_t **out_attr) {
  if (hr_str_is(name, "sub_axis_info")) return parse_sub_axis(parser, out_attr);
  if (mlir_at(parser, '<')) return parse_bare_struct(parser, name, out_attr);
  if (hr_str_is(name, "axes"))
    return first_in_list(parser) == '<' ? parse_mesh_axes(parser, out_attr)
                                        : mlir_parse_attr(parser, out_attr);
  return at_int_list(parser) ? mlir_parse_int_list(parser, out_attr)
                             : mlir_parse_attr(parser, out_attr);
}

/* "field = value, ..." in any order; MLIR's printers leave a trailing comma if the last field has
 * a default value. */
static hr_status_t parse_fields(mlir_parser_t *parser, field_list_t *fields) {
  for (bool more = !mlir_at(parser, '>'); more && !mlir_at(parser, '>');) {
    hr_str_t name;
    const mlir_attr_t *value;
    HR_TRY(mlir_take_kind(parser, MLIR_TOKEN_WORD, "a field", &name));
    HR_TRY(mlir_take(parser, '='));
    HR_TRY(parse_field_value(parser, name, &value));
    HR_TRY(add_field(fields, name, value));
    HR_TRY(mlir_take_if(parser, ',', &more));
  }
  return NULL;
}

/* --- convolution dimension numbers: [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f] --- */

/* One bracket such as [b, 0, 1, f]: the positions of its two labels and of the spatial dimensions
 * in the order of their numbers. Each label and each number occurs once. */
static hr_status_t parse_conv_side(mlir_parser_t *parser, char first, char second,
                                   int64_t *out_first, int64_t *out_second,
                                   const mlir_attr_t **out_spatial) {
  int64_t spatial[HR_MAX_RANK], count = 0, position = 0;
  *out_first = -1;
  *out_second = -1;
  for (int d = 0; d < HR_MAX_RANK; d++) spatial[d] = -1;
  HR_TRY(mlir_take(parser, '['));
  for (bool more = !mlir_at(parser, ']'); more; position++) {
    const mlir_token_t *token = mlir_peek(parser);
    char label = token->kind == MLIR_TOKEN_WORD && token->text.size == 1 ? token->text.data[0] : 0;
    if (label && (label == first || label == second)) {
      int64_t *slot = label == first ? out_first : out_second;
      if (*slot >= 0) return mlir_expected(parser, "each letter once");
      *slot = position;
      HR_TRY(mlir_lexer_next(&parser->lexer));
    } else {
      int64_t number;
      HR_TRY(mlir_take_integer(parser, &number));
      if (number < 0 || number >= HR_MAX_RANK || spatial[number] >= 0)
        return mlir_expected(parser, "each spatial number once");
      spatial[number] = position;
      count++;
    }
    HR_TRY(mlir_take_if(parser, ',', &more));
  }
  for (int64_t d = 0; d < count; d++)
    if (spatial[d] < 0) return mlir_expected(parser, "spatial numbers 0, 1, ... without gaps");
  if (*out_first < 0 || *out_second < 0) return mlir_expected(parser, "both letters");
  HR_TRY(mlir_take(parser, ']'));
  return mlir_make_ints(parser->arena, count, spatial, out_spatial);
}

static hr_status_t add_integer(mlir_parser_t *parser, field_list_t *fields, const char *name,
                               int64_t value) {
  const mlir_attr_t *attr;
  HR_TRY(mlir_make_i64(parser->arena, value, &attr));
  return add_field(fields, hr_str_from(name), attr);
}

/* [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]: input, kernel and output, as nine fields. The lexer
 * reads "x[" as part of a word, and is restarted after the 'x'. */
hr_status_t mlir_parse_conv_dims(mlir_parser_t *parser, const mlir_attr_t **out_attr) {
  int64_t first, second;
  const mlir_attr_t *spatial;
  field_list_t fields = {0};
  hr_status_t st = NULL;
  HR_TRY_GOTO(done, st, parse_conv_side(parser, 'b', 'f', &first, &second, &spatial));
  HR_TRY_GOTO(done, st, add_integer(parser, &fields, "input_batch_dimension", first));
  HR_TRY_GOTO(done, st, add_integer(parser, &fields, "input_feature_dimension", second));
  HR_TRY_GOTO(done, st, add_field(&fields, HR_STR("input_spatial_dimensions"), spatial));
  const mlir_token_t *token = mlir_peek(parser);
  if (token->kind != MLIR_TOKEN_WORD || token->text.data[0] != 'x') {
    st = mlir_expected(parser, "'x'");
    goto done;
  }
  HR_TRY_GOTO(done, st, mlir_lexer_restart_at(&parser->lexer, token->start + 1));
  HR_TRY_GOTO(done, st, parse_conv_side(parser, 'i', 'o', &first, &second, &spatial));
  HR_TRY_GOTO(done, st, add_integer(parser, &fields, "kernel_input_feature_dimension", first));
  HR_TRY_GOTO(done, st, add_integer(parser, &fields, "kernel_output_feature_dimension", second));
  HR_TRY_GOTO(done, st, add_field(&fields, HR_STR("kernel_spatial_dimensions"), spatial));
  HR_TRY_GOTO(done, st, mlir_take_kind(parser, MLIR_TOKEN_ARROW, "'->'", NULL));
  HR_TRY_GOTO(done, st, parse_conv_side(parser, 'b', 'f', &first, &second, &spatial));
  HR_TRY_GOTO(done, st, add_integer(parser, &fields, "output_batch_dimension", first));
  HR_TRY_GOTO(done, st, add_integer(parser, &fields, "output_feature_dimension", second));
  HR_TRY_GOTO(done, st, add_field(&fields, HR_STR("output_spatial_dimensions"), spatial));
  st = mlir_make_struct(parser->arena, HR_STR("stablehlo"), HR_STR("conv"), (int)fields.count,
                        fields.data, out_attr);
done:
  HR_VEC_FREE(&fields);
  return st;
}

/* --- bounds<4, ?> --- */

/* Sizes of a #stablehlo.bounds<...>; "?" is HR_UNBOUNDED. */
static hr_status_t parse_bounds(mlir_parser_t *parser, char close, const mlir_attr_t **out_attr) {
  int64_t bounds[HR_MAX_RANK];
  int count = 0;
  for (bool more = !mlir_at(parser, close); more; count++) {
    bool unknown;
    if (count == HR_MAX_RANK) return mlir_expected(parser, "at most 32 bounds");
    HR_TRY(mlir_take_if(parser, '?', &unknown));
    if (unknown)
      bounds[count] = HR_UNBOUNDED;
    else
      HR_TRY(mlir_take_integer(parser, &bounds[count]));
    HR_TRY(mlir_take_if(parser, ',', &more));
  }
  mlir_named_attr_t field = {HR_STR("bounds"), NULL};
  HR_TRY(mlir_make_ints(parser->arena, count, bounds, &field.value));
  return mlir_make_struct(parser->arena, HR_STR("stablehlo"), HR_STR("bounds"), 1, &field,
                          out_attr);
}

/* The older spelling of bounds: #stablehlo.type_extensions<bounds = [4, ?]>. */
static hr_status_t parse_type_extensions(mlir_parser_t *parser, const mlir_attr_t **out_attr) {
  HR_TRY(mlir_take_word(parser, "bounds"));
  HR_TRY(mlir_take(parser, '='));
  HR_TRY(mlir_take(parser, '['));
  HR_TRY(parse_bounds(parser, ']', out_attr));
  return mlir_take(parser, ']');
}

/* --- structures and enumerations --- */

/* Moves the fields of mhlo's nested dot structure into the structure of ragged_dot, as in CHLO. */
static hr_status_t flatten(field_list_t *fields) {
  size_t at = 0;
  while (at < fields->count && fields->data[at].value->kind != MLIR_ATTR_STRUCT) at++;
  if (at == fields->count) return NULL;
  const mlir_attr_t *inner = fields->data[at].value;
  size_t count = (size_t)inner->count, behind = fields->count - at - 1;
  HR_TRY(HR_VEC_RESERVE(fields, fields->count + count));
  memmove(&fields->data[at + count], &fields->data[at + 1], behind * sizeof *fields->data);
  if (count) memcpy(&fields->data[at], inner->fields, count * sizeof *fields->data);
  fields->count += count - 1;
  return NULL;
}

/* The dialect to which the attribute is converted. */
static hr_str_t dialect_of(hr_str_t dialect, hr_str_t mnemonic) {
  if (!hr_str_is(dialect, "mhlo")) return dialect;
  if (hr_str_is(mnemonic, "ragged_dot")) return HR_STR("chlo");
  bool is_own = hr_str_is(mnemonic, "kind") || hr_str_is(mnemonic, "fusion_kind");
  return is_own ? dialect : HR_STR("stablehlo");
}

/* The text after '<': a special notation for three mnemonics, a single word for an enumeration in
 * the syntax of structures ("#stablehlo.precision<HIGH>"), else fields. "raw" before fields is
 * skipped. */
static hr_status_t parse_struct_body(mlir_parser_t *parser, hr_str_t dialect, hr_str_t mnemonic,
                                     const mlir_attr_t **out_attr) {
  if (hr_str_is(mnemonic, "bounds")) return parse_bounds(parser, '>', out_attr);
  if (hr_str_is(mnemonic, "type_extensions")) return parse_type_extensions(parser, out_attr);
  if (hr_str_is(mnemonic, "conv") && mlir_at(parser, '['))
    return mlir_parse_conv_dims(parser, out_attr);
  bool raw;
  HR_TRY(mlir_take_word_if(parser, "raw", &raw));
  /* "#stablehlo.precision<HIGH>": an enumeration in the syntax of structures */
  const mlir_token_t word = *mlir_peek(parser);
  if (word.kind == MLIR_TOKEN_WORD && word.text.data + word.text.size < parser->lexer.end &&
      word.text.data[word.text.size] == '>') {
    HR_TRY(mlir_lexer_next(&parser->lexer));
    const char *owner, *name;
    HR_TRY(hr_arena_cstr(parser->arena, dialect, &owner));
    HR_TRY(hr_arena_cstr(parser->arena, mnemonic, &name));
    return mlir_make_enum(parser->arena, owner, name, word.text, out_attr);
  }
  field_list_t fields = {0};
  hr_status_t st = parse_fields(parser, &fields);
  if (!st && hr_str_is(mnemonic, "ragged_dot")) st = flatten(&fields);
  if (!st)
    st = mlir_make_struct(parser->arena, dialect, mnemonic, (int)fields.count, fields.data,
                          out_attr);
  HR_VEC_FREE(&fields);
  return st;
}

/* "#dialect<mnemonic VALUE>" or "#dialect<mnemonic<fields>>", from the token after the first
 * '<'. */
static hr_status_t parse_wrapped(mlir_parser_t *parser, hr_str_t dialect,
                                 const mlir_attr_t **out_attr) {
  hr_str_t mnemonic, word;
  bool nested;
  HR_TRY(mlir_take_kind(parser, MLIR_TOKEN_WORD, "the name of an attribute", &mnemonic));
  dialect = dialect_of(dialect, mnemonic);
  HR_TRY(mlir_take_if(parser, '<', &nested));
  if (nested) {
    HR_TRY(parse_struct_body(parser, dialect, mnemonic, out_attr));
    return mlir_take(parser, '>');
  }
  HR_TRY(mlir_take_kind(parser, MLIR_TOKEN_WORD, "a value", &word));
  const char *owner, *name;
  HR_TRY(hr_arena_cstr(parser->arena, dialect, &owner));
  HR_TRY(hr_arena_cstr(parser->arena, mnemonic, &name));
  return mlir_make_enum(parser->arena, owner, name, word, out_attr);
}

/* "#name<body>" as it stands in the source, so that messages about it find their place; a copy if
 * blanks are inside. */
static hr_status_t text_with_body(mlir_parser_t *parser, hr_str_t name, hr_str_t body,
                                  hr_str_t *out_text) {
  const char *text;
  if (name.data + name.size + 1 == body.data) {
    *out_text = (hr_str_t){name.data - 1, name.size + body.size + 3};
    return NULL;
  }
  HR_TRY(
      hr_arena_printf(parser->arena, &text, "#%.*s<%.*s>", HR_STR_ARGS(name), HR_STR_ARGS(body)));
  *out_text = hr_str_from(text);
  return NULL;
}

/* Keeps the text of "#dialect.name" or "#dialect.name<...>". #complex.number has a type after
 * it. */
static hr_status_t keep_as_text(mlir_parser_t *parser, hr_str_t name,
                                const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  hr_str_t body;
  bool typed = false;
  bool has_body = mlir_at(parser, '<');
  HR_TRY(HR_NEW(parser->arena, &attr));
  attr->kind = MLIR_ATTR_OPAQUE;
  if (has_body) {
    HR_TRY(mlir_take_balanced(parser, &body));
    HR_TRY(text_with_body(parser, name, body, &attr->text));
    if (name.size >= 3 && !memcmp(name.data, "sdy", 3))
      HR_TRY(mlir_replace_aliases(parser, &attr->text));
  } else {
    attr->text = (hr_str_t){name.data - 1, name.size + 1};
  }
  *out_attr = attr;
  if (has_body && hr_str_is(name, "complex.number")) HR_TRY(mlir_take_if(parser, ':', &typed));
  return typed ? mlir_parse_type(parser, &attr->type) : NULL;
}

/* A name without a dot and without '<' can only be an alias. Aliases are defined before their use,
 * except those of locations. */
hr_status_t mlir_parse_dialect_attr(mlir_parser_t *parser, const mlir_attr_t **out_attr) {
  hr_str_t name;
  HR_TRY(mlir_take_kind(parser, MLIR_TOKEN_HASH, "an attribute", &name));
  const mlir_attr_t *alias;
  HR_TRY(mlir_find_alias(parser, name, &alias));
  if (alias) {
    parser->alias_parts += alias->part_count;
    if (parser->alias_parts > MLIR_MOST_ATTR_PARTS)
      return mlir_expected(parser, "aliases of attributes that stand for fewer parts");
    *out_attr = alias;
    return NULL;
  }
  const char *dot = memchr(name.data, '.', name.size);
  hr_str_t dialect = {name.data, dot ? (size_t)(dot - name.data) : name.size};
  bool structured =
      hr_str_is(dialect, "stablehlo") || hr_str_is(dialect, "chlo") || hr_str_is(dialect, "mhlo");
  if (!structured || !mlir_at(parser, '<')) {
    if (!dot && !mlir_at(parser, '<'))
      return mlir_expected(parser, "an attribute alias that is defined before");
    return keep_as_text(parser, name, out_attr);
  }
  HR_TRY(mlir_take(parser, '<'));
  hr_str_t mnemonic = dot ? (hr_str_t){dot + 1, name.size - dialect.size - 1} : (hr_str_t){"", 0};
  HR_TRY(dot ? parse_struct_body(parser, dialect_of(dialect, mnemonic), mnemonic, out_attr)
             : parse_wrapped(parser, dialect, out_attr));
  return mlir_take(parser, '>');
}
