/* Types of MLIR text:
 *   type   ::= integer | float | "index" | "none" | container | function | "!" dialect-type
 *   shaped ::= ("tensor" | "memref" | "vector") "<" dims type ("," attribute)* ">"
 *   dims   ::= ("*x" | (size "x")*)          size ::= integer | "?" | "[" integer "]"
 *   function ::= "(" types ")" "->" (type | "(" types ")")
 *   quant  ::= "!quant.uniform<" storage ":" type (":" axis | ":" blocks)? "," scales ">"
 * Dimensions are glued to what follows them ("4x?x5xf32"), so the lexer is restarted after each
 * 'x'. Types are not uniqued: equality is structural (mlir_type_equal). Source: MLIR language
 * reference, "Builtin Types"; quant dialect. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlir/text/mlir_parser.h"
#include "base/decimal.h"

/* Types are small and freed with the arena, so that equal ones are not shared. */
hr_status_t mlir_make_integer_type(hr_arena_t *arena, int width, mlir_signedness_t sign,
                                   const mlir_type_t **out_type) {
  mlir_type_t *type;
  HR_TRY(HR_NEW(arena, &type));
  type->kind = MLIR_TYPE_INTEGER;
  type->width = width;
  type->signedness = sign;
  *out_type = type;
  return NULL;
}

/* A ranked tensor without encoding; `dims` is copied. */
hr_status_t mlir_make_tensor_type(hr_arena_t *arena, const mlir_type_t *element, int rank,
                                  const int64_t *dims, const mlir_type_t **out_type) {
  mlir_type_t *type;
  void *copy;
  HR_TRY(HR_NEW(arena, &type));
  HR_TRY(hr_arena_copy(arena, dims, (size_t)rank * sizeof *dims, &copy));
  type->kind = MLIR_TYPE_TENSOR;
  type->element = element;
  type->rank = rank;
  type->dims = copy;
  *out_type = type;
  return NULL;
}

/* True for a word iN, siN or uiN with N from 1 to 64; leading zeros are allowed. */
static bool integer_word(hr_str_t word, int *out_width, mlir_signedness_t *out_sign) {
  const char *at = word.data;
  const char *end = at + word.size;
  *out_sign = MLIR_SIGNLESS;
  if (at < end && (*at == 's' || *at == 'u'))
    *out_sign = *at++ == 's' ? MLIR_SIGNED : MLIR_UNSIGNED;
  if (at == end || *at++ != 'i' || at == end || end - at > 3) return false;
  for (*out_width = 0; at < end; at++) {
    if (*at < '0' || *at > '9') return false;
    *out_width = *out_width * 10 + (*at - '0');
  }
  return *out_width >= 1 && *out_width <= 64;
}

static const struct {
  const char *word;
  mlir_type_kind_t kind;
} containers[] = {{"complex", MLIR_TYPE_COMPLEX}, {"tensor", MLIR_TYPE_TENSOR},
                  {"memref", MLIR_TYPE_MEMREF},   {"vector", MLIR_TYPE_VECTOR},
                  {"tuple", MLIR_TYPE_TUPLE},     {"index", MLIR_TYPE_INDEX},
                  {"none", MLIR_TYPE_NONE}};

/* Index among the words that start a type other than a number; -1: another word. */
static int find_container(hr_str_t word) {
  for (int i = 0; i < (int)(sizeof containers / sizeof *containers); i++)
    if (hr_str_is(word, containers[i].word)) return i;
  return -1;
}

/* True if the current token can start a type; a word is looked up among integers, floats and
 * containers. */
bool mlir_at_type(const mlir_parser_t *parser) {
  const mlir_token_t *token = mlir_peek(parser);
  int width;
  mlir_signedness_t sign;
  if (token->kind == MLIR_TOKEN_BANG || mlir_at(parser, '(')) return true;
  return token->kind == MLIR_TOKEN_WORD &&
         (integer_word(token->text, &width, &sign) || mlir_float_bits(token->text) ||
          find_container(token->text) >= 0);
}

/* Skips the 'x' after a dimension, which is joined to the next token: "x5xf32" is one word for the
 * lexer, restarted after the 'x'. */
static hr_status_t take_x(mlir_parser_t *parser) {
  const mlir_token_t *token = mlir_peek(parser);
  if (token->kind != MLIR_TOKEN_WORD || token->text.data[0] != 'x')
    return mlir_expected(parser, "'x' after a dimension");
  return mlir_lexer_restart_at(&parser->lexer, token->start + 1);
}

/* A size below 2^63. The lexer reads "0x3" as a hexadecimal number: here it is 0, followed by
 * x3. */
static hr_status_t take_size(mlir_parser_t *parser, int64_t *out_size) {
  const mlir_token_t *token = mlir_peek(parser);
  if (token->text.size > 1 && token->text.data[0] == '0' && token->text.data[1] == 'x') {
    *out_size = 0;
    return mlir_lexer_restart_at(&parser->lexer, token->start + 1);
  }
  HR_TRY(mlir_take_integer(parser, out_size));
  return *out_size < 0 ? mlir_expected(parser, "a size below 2^63") : NULL;
}

/* A size, "?", or "[size]" for a scalable one. */
static hr_status_t parse_dim(mlir_parser_t *parser, int64_t *out_size, bool *out_scalable) {
  HR_TRY(mlir_take_if(parser, '[', out_scalable));
  bool unknown = false;
  if (!*out_scalable) HR_TRY(mlir_take_if(parser, '?', &unknown));
  if (unknown)
    *out_size = HR_UNBOUNDED;
  else
    HR_TRY(take_size(parser, out_size));
  if (*out_scalable) HR_TRY(mlir_take(parser, ']'));
  return take_x(parser);
}

/* True before a dimension, false before the element type. */
static bool at_dim(const mlir_parser_t *parser) {
  return mlir_peek(parser)->kind == MLIR_TOKEN_INTEGER || mlir_at(parser, '?') ||
         mlir_at(parser, '[');
}

/* Dimensions up to the element type, at most HR_MAX_RANK. `scalable` stays NULL if no dimension
 * is. */
static hr_status_t parse_dims(mlir_parser_t *parser, mlir_type_t *type) {
  int64_t dims[HR_MAX_RANK];
  bool scalable[HR_MAX_RANK], any_scalable = false;
  while (at_dim(parser)) {
    if (type->rank == HR_MAX_RANK) return mlir_expected(parser, "at most 32 dimensions");
    HR_TRY(parse_dim(parser, &dims[type->rank], &scalable[type->rank]));
    any_scalable |= scalable[type->rank++];
  }
  void *copy;
  HR_TRY(hr_arena_copy(parser->arena, dims, (size_t)type->rank * sizeof *dims, &copy));
  type->dims = copy;
  if (!any_scalable) return NULL;
  HR_TRY(hr_arena_copy(parser->arena, scalable, (size_t)type->rank, &copy));
  type->scalable = copy;
  return NULL;
}

/* A tensor's bounds, if it has any, are as many as its dimensions. */
static hr_status_t check_bounds(mlir_parser_t *parser, const mlir_type_t *type) {
  const mlir_attr_t *bounds = mlir_attr_field(type->encoding, "bounds");
  if (!bounds || bounds->element_count == type->rank) return NULL;
  return mlir_expected(parser, "as many bounds as dimensions");
}

/* tensor<2x?xf32, encoding>, memref<4xf32, layout, space>, vector<4xf32>, from the '<'. An
 * unranked memref is not distinguished from rank 0. */
static hr_status_t parse_shaped(mlir_parser_t *parser, mlir_type_t *type) {
  bool more, unranked;
  HR_TRY(mlir_take(parser, '<'));
  HR_TRY(mlir_take_if(parser, '*', &unranked));
  if (unranked) {
    HR_TRY(take_x(parser));
    if (type->kind == MLIR_TYPE_TENSOR) type->kind = MLIR_TYPE_UNRANKED_TENSOR;
  } else {
    HR_TRY(parse_dims(parser, type));
  }
  HR_TRY(mlir_parse_type(parser, &type->element));
  HR_TRY(mlir_take_if(parser, ',', &more));
  if (more) {
    HR_TRY(mlir_parse_attr(parser, &type->encoding));
    HR_TRY(check_bounds(parser, type));
    HR_TRY(mlir_take_if(parser, ',', &more));
    if (more) HR_TRY(mlir_parse_attr(parser, &type->space));
  }
  return mlir_take(parser, '>');
}

/* Types separated by commas up to (not including) the closing character. */
static hr_status_t parse_type_list(mlir_parser_t *parser, char close, int *out_count,
                                   const mlir_type_t *const **out_types) {
  HR_VEC(const mlir_type_t *) types = {0};
  hr_status_t st = NULL;
  bool more = !mlir_at(parser, close);
  while (more && !st) {
    const mlir_type_t *type;
    HR_TRY_GOTO(done, st, mlir_parse_type(parser, &type));
    HR_TRY_GOTO(done, st, HR_VEC_RESERVE(&types, types.count + 1));
    types.data[types.count++] = type;
    HR_TRY_GOTO(done, st, mlir_take_if(parser, ',', &more));
  }
  void *copy;
  HR_TRY_GOTO(done, st,
              hr_arena_copy(parser->arena, types.data, types.count * sizeof *types.data, &copy));
  *out_count = (int)types.count;
  *out_types = copy;
done:
  HR_VEC_FREE(&types);
  return st;
}

static hr_status_t check_parts(mlir_parser_t *parser, mlir_type_t *type) {
  char wanted[64];
  if (mlir_type_count_parts(type)) return NULL;
  snprintf(wanted, sizeof wanted, "a type of at most %d parts before it", MLIR_MOST_PARTS);
  return mlir_expected(parser, wanted);
}

/* A tuple's or a future's, in angle brackets. */
static hr_status_t parse_elements(mlir_parser_t *parser, mlir_type_t *type) {
  HR_TRY(mlir_take(parser, '<'));
  HR_TRY(parse_type_list(parser, '>', &type->result_count, &type->results));
  HR_TRY(check_parts(parser, type));
  return mlir_take(parser, '>');
}

/* A single result may omit its parentheses. */
hr_status_t mlir_parse_function_type(mlir_parser_t *parser, const mlir_type_t **out_type) {
  mlir_type_t *type;
  HR_TRY(HR_NEW(parser->arena, &type));
  type->kind = MLIR_TYPE_FUNCTION;
  HR_TRY(mlir_take(parser, '('));
  HR_TRY(parse_type_list(parser, ')', &type->input_count, &type->inputs));
  HR_TRY(mlir_take(parser, ')'));
  HR_TRY(mlir_take_kind(parser, MLIR_TOKEN_ARROW, "'->'", NULL));
  if (mlir_at(parser, '(')) {
    HR_TRY(mlir_take(parser, '('));
    HR_TRY(parse_type_list(parser, ')', &type->result_count, &type->results));
    HR_TRY(mlir_take(parser, ')'));
  } else {
    const mlir_type_t **single;
    HR_TRY(HR_NEW(parser->arena, &single));
    HR_TRY(mlir_parse_type(parser, single));
    type->result_count = 1;
    type->results = single;
  }
  *out_type = type;
  return check_parts(parser, type);
}

/* --- quantised types --- */

/* A float or an integer of less than 64 characters with an optional minus sign. */
static hr_status_t take_number(mlir_parser_t *parser, double *out_number) {
  bool negative;
  HR_TRY(mlir_take_if(parser, '-', &negative));
  const mlir_token_t *token = mlir_peek(parser);
  if (token->kind != MLIR_TOKEN_FLOAT && token->kind != MLIR_TOKEN_INTEGER)
    return mlir_expected(parser, "a number");
  char digits[64];
  if (token->text.size >= sizeof digits) return mlir_expected(parser, "a shorter number");
  memcpy(digits, token->text.data, token->text.size);
  digits[token->text.size] = 0;
  *out_number = negative ? -hr_strtod(digits, NULL) : hr_strtod(digits, NULL);
  return mlir_lexer_next(&parser->lexer);
}

/* i8, u8 or ui8 with an optional <min:max>; the default is the range of the integer type. */
static hr_status_t parse_storage(mlir_parser_t *parser, mlir_quant_t *quant) {
  hr_str_t word;
  int width = 0;
  HR_TRY(mlir_take_kind(parser, MLIR_TOKEN_WORD, "a storage type", &word));
  size_t digits = word.size > 1 && word.data[0] == 'u' && word.data[1] == 'i' ? 2 : 1;
  for (size_t i = digits; i < word.size && width < 64; i++)
    width = width * 10 + (word.data[i] - '0');
  if (width < 1 || width > 32) return mlir_expected(parser, "a storage type of 1 to 32 bits");
  quant->storage_signed = word.data[0] != 'u';
  HR_TRY(mlir_make_integer_type(parser->arena, width,
                                quant->storage_signed ? MLIR_SIGNLESS : MLIR_UNSIGNED,
                                &quant->storage));
  quant->min = quant->storage_signed ? -(INT64_C(1) << (width - 1)) : 0;
  quant->max = quant->storage_signed ? (INT64_C(1) << (width - 1)) - 1 : (INT64_C(1) << width) - 1;
  bool ranged;
  HR_TRY(mlir_take_if(parser, '<', &ranged));
  if (!ranged) return NULL;
  HR_TRY(mlir_take_integer(parser, &quant->min));
  HR_TRY(mlir_take(parser, ':'));
  HR_TRY(mlir_take_integer(parser, &quant->max));
  return mlir_take(parser, '>');
}

/* Scales and zero points in the order of the text; they grow outside the arena. */
typedef struct scale_list {
  HR_VEC(double) scales;
  HR_VEC(int64_t) zeros;
  int depth; /* nesting depth, equal for all scales */
  int64_t
      dims[HR_MAX_RANK]; /* lengths of the lists by level, set by the first list of each level */
} scale_list_t;

/* scale, or scale:zero_point. All scales have the same depth. */
static hr_status_t parse_scale(mlir_parser_t *parser, int level, scale_list_t *list) {
  if (!list->scales.count) list->depth = level;
  if (level != list->depth) return mlir_expected(parser, "a nested list of scales");
  double scale;
  int64_t zero = 0;
  bool has_zero;
  HR_TRY(take_number(parser, &scale));
  HR_TRY(mlir_take_if(parser, ':', &has_zero));
  if (has_zero) HR_TRY(mlir_take_integer(parser, &zero));
  HR_VEC_PUSH(&list->scales, scale);
  HR_VEC_PUSH(&list->zeros, zero);
  return NULL;
}

/* A scale, or nested lists of scales with one level per dimension of blocks. The lists of a level
 * must have equal lengths: together they are an array of the shape dims[0, depth). */
static hr_status_t parse_scales(mlir_parser_t *parser, int level, scale_list_t *list) {
  if (!mlir_at(parser, '{')) return parse_scale(parser, level, list);
  if (level == HR_MAX_RANK || (list->scales.count && level >= list->depth))
    return mlir_expected(parser, "fewer levels of scales");
  HR_TRY(mlir_take(parser, '{'));
  int64_t count = 0;
  for (bool more = true; more; count++) {
    HR_TRY(parse_scales(parser, level + 1, list));
    HR_TRY(mlir_take_if(parser, ',', &more));
  }
  if (!list->dims[level]) list->dims[level] = count;
  if (count != list->dims[level]) return mlir_expected(parser, "lists of scales of equal lengths");
  return mlir_take(parser, '}');
}

/* {0:1, 1:32}: axes and block sizes of the sub-channel form. */
static hr_status_t parse_blocks(mlir_parser_t *parser, mlir_quant_t *quant) {
  int64_t axes[HR_MAX_RANK], sizes[HR_MAX_RANK];
  HR_TRY(mlir_take(parser, '{'));
  for (bool more = true; more; quant->block_count++) {
    if (quant->block_count == HR_MAX_RANK) return mlir_expected(parser, "fewer blocks");
    HR_TRY(mlir_take_integer(parser, &axes[quant->block_count]));
    HR_TRY(mlir_take(parser, ':'));
    HR_TRY(mlir_take_integer(parser, &sizes[quant->block_count]));
    HR_TRY(mlir_take_if(parser, ',', &more));
  }
  hr_ints_t copy;
  HR_TRY(hr_arena_ints(parser->arena, axes, quant->block_count, &copy));
  quant->block_axes = copy.data;
  HR_TRY(hr_arena_ints(parser->arena, sizes, quant->block_count, &copy));
  quant->block_sizes = copy.data;
  return mlir_take(parser, '}');
}

/* storage : expressed [: axis or {blocks}], scales */
static hr_status_t parse_uniform(mlir_parser_t *parser, mlir_quant_t *quant, scale_list_t *list) {
  bool per_axis;
  HR_TRY(mlir_take(parser, ':'));
  HR_TRY(mlir_parse_type(parser, &quant->expressed));
  HR_TRY(mlir_take_if(parser, ':', &per_axis));
  if (per_axis && mlir_at(parser, '{'))
    HR_TRY(parse_blocks(parser, quant));
  else if (per_axis)
    HR_TRY(mlir_take_integer(parser, &quant->axis));
  HR_TRY(mlir_take(parser, ','));
  HR_TRY(parse_scales(parser, 0, list));
  quant->scale_rank = list->depth;
  hr_ints_t copy;
  void *scales;
  HR_TRY(hr_arena_ints(parser->arena, list->dims, quant->scale_rank, &copy));
  quant->scale_dims = copy.data;
  HR_TRY(hr_arena_ints(parser->arena, list->zeros.data, (int64_t)list->zeros.count, &copy));
  quant->zero_points = copy.data;
  HR_TRY(hr_arena_copy(parser->arena, list->scales.data, list->scales.count * sizeof(double),
                       &scales));
  quant->scales = scales;
  quant->scale_count = (int)list->scales.count;
  return NULL;
}

/* expressed<min:max> */
static hr_status_t parse_calibrated(mlir_parser_t *parser, mlir_quant_t *quant) {
  HR_TRY(mlir_parse_type(parser, &quant->expressed));
  HR_TRY(mlir_take(parser, '<'));
  HR_TRY(take_number(parser, &quant->calibrated_min));
  HR_TRY(mlir_take(parser, ':'));
  HR_TRY(take_number(parser, &quant->calibrated_max));
  return mlir_take(parser, '>');
}

/* !quant.any: storage, range and, if known, the expressed type. */
static hr_status_t parse_any(mlir_parser_t *parser, mlir_quant_t *quant) {
  bool expressed;
  HR_TRY(parse_storage(parser, quant));
  HR_TRY(mlir_take_if(parser, ':', &expressed));
  return expressed ? mlir_parse_type(parser, &quant->expressed) : NULL;
}

/* "<...>" after !quant.uniform, !quant.any or !quant.calibrated */
static hr_status_t parse_quant(mlir_parser_t *parser, hr_str_t form, mlir_type_t *type) {
  mlir_quant_t *quant;
  HR_TRY(HR_NEW(parser->arena, &quant));
  quant->axis = -1;
  HR_TRY(mlir_take(parser, '<'));
  hr_status_t st;
  if (hr_str_is(form, "quant.uniform")) {
    scale_list_t list = {0};
    quant->form = MLIR_QUANT_UNIFORM;
    st = parse_storage(parser, quant);
    if (!st) st = parse_uniform(parser, quant, &list);
    HR_VEC_FREE(&list.scales);
    HR_VEC_FREE(&list.zeros);
  } else {
    bool any = hr_str_is(form, "quant.any");
    quant->form = any ? MLIR_QUANT_ANY : MLIR_QUANT_CALIBRATED;
    st = any ? parse_any(parser, quant) : parse_calibrated(parser, quant);
  }
  if (st) return st;
  type->kind = MLIR_TYPE_QUANT;
  type->quant = quant;
  return mlir_take(parser, '>');
}

/* --- dialect types --- */

/* An alias, a type of a known dialect, or an opaque type, which keeps its text. A name without a
 * dot can only be an alias, defined before its use. */
static hr_status_t parse_bang(mlir_parser_t *parser, const mlir_type_t **out_type) {
  hr_str_t name;
  mlir_type_t *type;
  HR_TRY(mlir_take_kind(parser, MLIR_TOKEN_BANG, "a type", &name));
  const mlir_type_t *alias = hr_map_get(&parser->type_aliases, name);
  if (alias) {
    *out_type = alias;
    return NULL;
  }
  HR_TRY(HR_NEW(parser->arena, &type));
  *out_type = type;
  if (hr_str_is(name, "stablehlo.token") || hr_str_is(name, "mhlo.token")) {
    type->kind = MLIR_TYPE_TOKEN;
    return NULL;
  }
  if (hr_str_is(name, "quant.uniform") || hr_str_is(name, "quant.any") ||
      hr_str_is(name, "quant.calibrated"))
    return parse_quant(parser, name, type);
  if (hr_str_is(name, "stablehlo.future")) {
    type->kind = MLIR_TYPE_FUTURE;
    return parse_elements(parser, type);
  }
  if (!memchr(name.data, '.', name.size) && !mlir_at(parser, '<'))
    return mlir_expected(parser, "a type alias that is defined");
  type->kind = MLIR_TYPE_OPAQUE;
  type->name = name;
  if (!mlir_at(parser, '<')) return NULL;
  hr_str_t body;
  const char *text;
  HR_TRY(mlir_take_balanced(parser, &body));
  HR_TRY(hr_arena_printf(parser->arena, &text, "%.*s<%.*s>", HR_STR_ARGS(name), HR_STR_ARGS(body)));
  type->name = hr_str_from(text);
  return NULL;
}

/* Parses a type after its first word, one of `containers`. */
static hr_status_t parse_container(mlir_parser_t *parser, mlir_type_kind_t kind,
                                   mlir_type_t *type) {
  type->kind = kind;
  switch (kind) {
    case MLIR_TYPE_INDEX:
    case MLIR_TYPE_NONE:
      return NULL;
    case MLIR_TYPE_COMPLEX:
      HR_TRY(mlir_take(parser, '<'));
      HR_TRY(mlir_parse_type(parser, &type->element));
      return mlir_take(parser, '>');
    case MLIR_TYPE_TUPLE:
      return parse_elements(parser, type);
    default:
      return parse_shaped(parser, type);
  }
}

/* An integer, a container, else the name of a float. */
static hr_status_t parse_word_type(mlir_parser_t *parser, const mlir_type_t **out_type) {
  hr_str_t word;
  int width;
  mlir_signedness_t sign;
  if (!mlir_at_type(parser)) return mlir_expected(parser, "a type");
  HR_TRY(mlir_take_kind(parser, MLIR_TOKEN_WORD, "a type", &word));
  if (integer_word(word, &width, &sign))
    return mlir_make_integer_type(parser->arena, width, sign, out_type);
  mlir_type_t *type;
  HR_TRY(HR_NEW(parser->arena, &type));
  *out_type = type;
  int container = find_container(word);
  if (container >= 0) return parse_container(parser, containers[container].kind, type);
  type->kind = MLIR_TYPE_FLOAT;
  type->name = word;
  return NULL;
}

/* Types nest (tuples, functions, tensors of complex numbers); mlir_enter bounds the depth. */
hr_status_t mlir_parse_type(mlir_parser_t *parser, const mlir_type_t **out_type) {
  HR_TRY(mlir_enter(parser));
  hr_status_t st;
  if (mlir_peek(parser)->kind == MLIR_TOKEN_BANG)
    st = parse_bang(parser, out_type);
  else if (mlir_at(parser, '('))
    st = mlir_parse_function_type(parser, out_type);
  else
    st = parse_word_type(parser, out_type);
  mlir_leave(parser);
  return st;
}
