/* Elements as text: dense<...>, sparse<...>, array<...>.
 *   dense    ::= "dense<" (element | nested | "\"0x" hex "\"")? "> :" type
 *   nested   ::= "[" nested,* "]"            element ::= number | "(" number "," number ")"
 *   array    ::= "array<" type (":" number,*)? ">"
 * The type of a dense literal follows its elements but is needed to read them: the parser finds
 * the closing '>', reads the type, and goes back, so that the characters are read twice. Counts are
 * checked against the length of the text before memory is allocated. */
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "mlir/text/mlir_elements.h"

/* State while one literal's numbers are read into `to`. */
typedef struct element_reader {
  mlir_parser_t *parser;
  const mlir_type_t *element; /* element type of the tensor */
  hr_dtype_t dtype;           /* type of a float scalar */
  size_t part_bytes;          /* bytes of one scalar: half of a complex element */
  char *to;                   /* address of the next scalar */
} element_reader_t;

/* Prepares a reader. Scalars must have 1, 2, 4 or 8 bytes; float types must have arithmetic here
 * (not tf32, f80, f128). */
static hr_status_t start_elements(mlir_parser_t *parser, const mlir_type_t *element,
                                  element_reader_t *reader) {
  *reader = (element_reader_t){.parser = parser, .element = element};
  const mlir_type_t *scalar = mlir_scalar_type(element);
  reader->part_bytes = mlir_element_bytes(scalar);
  if (scalar->kind == MLIR_TYPE_FLOAT && !mlir_float_dtype(scalar, &reader->dtype))
    return mlir_expected(parser, "elements of a type that has arithmetic here");
  bool power_of_two = reader->part_bytes && (reader->part_bytes & (reader->part_bytes - 1)) == 0;
  return power_of_two && reader->part_bytes <= 8
             ? NULL
             : mlir_expected(parser, "elements of 1 to 64 bits");
}

/* Assumes a little-endian machine: the low bytes of `bits` are the scalar. */
static void store_scalar(element_reader_t *reader, uint64_t bits) {
  memcpy(reader->to, &bits, reader->part_bytes);
  reader->to += reader->part_bytes;
}

/* A number with a point, or a hexadecimal bit pattern; plain integers are refused, as in MLIR. */
static hr_status_t read_float(element_reader_t *reader, const mlir_token_t *token, bool negative) {
  char digits[32];
  if (token->kind == MLIR_TOKEN_FLOAT) {
    double value = hr_decimal_read(token->text.data, token->text.size, NULL);
    store_scalar(reader, hr_float_encode(reader->dtype, negative ? -value : value));
    return NULL;
  }
  if (token->text.size < 3 || token->text.size >= sizeof digits || token->text.data[1] != 'x' ||
      negative)
    return mlir_expected(reader->parser, "a number with a point, or a pattern in hexadecimal");
  memcpy(digits, token->text.data, token->text.size);
  digits[token->text.size] = 0;
  store_scalar(reader, strtoull(digits, NULL, 16));
  return NULL;
}

/* True if the number fits its type. Signless types accept signed and unsigned values: 128 : i8 is
 * -128. */
static bool fits_width(uint64_t magnitude, bool negative, const mlir_type_t *type) {
  uint64_t limit = type->width >= 64 ? UINT64_MAX : (UINT64_C(1) << type->width) - 1;
  if (negative) return magnitude <= limit / 2 + 1 && type->signedness != MLIR_UNSIGNED;
  return magnitude <= limit;
}

/* Narrow signed types are sign-extended to their byte. */
static hr_status_t read_integer(element_reader_t *reader, const mlir_token_t *token,
                                const mlir_type_t *type, bool negative) {
  char digits[64];
  if (token->kind != MLIR_TOKEN_INTEGER || token->text.size >= sizeof digits)
    return mlir_expected(reader->parser, "an integer");
  memcpy(digits, token->text.data, token->text.size);
  digits[token->text.size] = 0;
  uint64_t magnitude = strtoull(digits, NULL, 0);
  int width = type->kind == MLIR_TYPE_INDEX ? 64 : type->width;
  const mlir_type_t ranged = {
      .kind = MLIR_TYPE_INTEGER, .width = width, .signedness = type->signedness};
  if (!fits_width(magnitude, negative, &ranged))
    return mlir_expected(reader->parser, "an integer that fits its type");
  uint64_t bits = negative ? 0 - magnitude : magnitude;
  bool sign_extend = width < 8 && width > 1 && type->signedness != MLIR_UNSIGNED;
  if (sign_extend && bits >> (width - 1) & 1) bits |= ~UINT64_C(0) << width;
  store_scalar(reader, bits);
  return NULL;
}

/* A number, or true and false for i1. */
static hr_status_t read_scalar(element_reader_t *reader) {
  mlir_parser_t *parser = reader->parser;
  const mlir_type_t *scalar = mlir_scalar_type(reader->element);
  bool negative;
  HR_TRY(mlir_take_if(parser, '-', &negative));
  const mlir_token_t *token = mlir_peek(parser);
  if (token->kind == MLIR_TOKEN_WORD && scalar->kind == MLIR_TYPE_INTEGER && scalar->width == 1) {
    if (!hr_str_is(token->text, "true") && !hr_str_is(token->text, "false"))
      return mlir_expected(parser, "true or false");
    store_scalar(reader, hr_str_is(token->text, "true"));
  } else if (token->kind != MLIR_TOKEN_INTEGER && token->kind != MLIR_TOKEN_FLOAT) {
    return mlir_expected(parser, "an element");
  } else if (scalar->kind == MLIR_TYPE_FLOAT) {
    HR_TRY(read_float(reader, token, negative));
  } else {
    HR_TRY(read_integer(reader, token, scalar, negative));
  }
  return mlir_lexer_next(&parser->lexer);
}

/* A scalar, or "(re, im)" of a complex type. */
static hr_status_t read_element(element_reader_t *reader) {
  if (reader->element->kind != MLIR_TYPE_COMPLEX) return read_scalar(reader);
  HR_TRY(mlir_take(reader->parser, '('));
  HR_TRY(read_scalar(reader));
  HR_TRY(mlir_take(reader->parser, ','));
  HR_TRY(read_scalar(reader));
  return mlir_take(reader->parser, ')');
}

/* Reads nested brackets: their depth is the rank, the number of entries is the size. */
static hr_status_t read_nested(element_reader_t *reader, const mlir_type_t *type, int level) {
  if (level == type->rank) return read_element(reader);
  HR_TRY(mlir_take(reader->parser, '['));
  for (int64_t i = 0; i < type->dims[level]; i++) {
    if (i) HR_TRY(mlir_take(reader->parser, ','));
    HR_TRY(read_nested(reader, type, level + 1));
  }
  return mlir_take(reader->parser, ']');
}

/* --- dense<...> --- */

/* The '>' that ends a dense literal; the end of the file if there is none. Elements contain
 * another '>' only in strings, which have no escapes here. */
static const char *find_close(const mlir_lexer_t *lexer, const char *at) {
  for (; at < lexer->end && *at != '>'; at++)
    if (*at == '"') {
      at = memchr(at + 1, '"', (size_t)(lexer->end - at - 1));
      if (!at) return lexer->end;
    }
  return at;
}

/* The literal is one string of hexadecimal digits. */
static hr_status_t read_hex_elements(mlir_parser_t *parser, mlir_attr_t *attr) {
  unsigned char *bytes;
  size_t size;
  HR_TRY(mlir_decode_hex(parser, mlir_peek(parser)->text, &bytes, &size));
  HR_TRY(mlir_dense_from_bytes(parser->arena, attr->type, bytes, size, attr));
  return mlir_lexer_next(&parser->lexer);
}

/* A tensor without elements may be written as a splat; its value is read and dropped. */
static hr_status_t read_unused_element(element_reader_t *reader) {
  _Alignas(16) char bytes[32];
  reader->to = bytes;
  return read_element(reader);
}

/* Reads the text between the brackets with the known type. `room` is the length of the text: a
 * list has at least one character per element, so that a hostile type cannot demand more memory. */
static hr_status_t read_dense_body(mlir_parser_t *parser, mlir_attr_t *attr, size_t room) {
  int64_t count;
  void *data;
  element_reader_t reader;
  HR_TRY(mlir_element_count(parser, attr->type, &count));
  if (mlir_peek(parser)->kind == MLIR_TOKEN_STRING) return read_hex_elements(parser, attr);
  HR_TRY(start_elements(parser, attr->type->element, &reader));
  if (count == 0) {
    HR_TRY(mlir_alloc_elements(parser->arena, attr, 0, false, &data));
    reader.to = data;
    if (mlir_at(parser, '[')) return read_nested(&reader, attr->type, 0);
    return mlir_at(parser, '>') ? NULL : read_unused_element(&reader);
  }
  bool listed = mlir_at(parser, '[');
  if (listed && (size_t)count > room)
    return mlir_expected(parser, "as many elements as the type has");
  HR_TRY(mlir_alloc_elements(parser->arena, attr, listed ? count : 1, !listed && count > 1, &data));
  reader.to = data;
  if (!listed) return read_element(&reader);
  HR_TRY(read_nested(&reader, attr->type, 0));
  mlir_make_splat(attr, count);
  return NULL;
}

/* dense<elements> : type. The type is last but needed first: the lexer is moved past the elements
 * and back. */
hr_status_t mlir_parse_dense(mlir_parser_t *parser, const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  HR_TRY(HR_NEW(parser->arena, &attr));
  attr->kind = MLIR_ATTR_DENSE;
  HR_TRY(mlir_take_word(parser, "dense"));
  if (!mlir_at(parser, '<')) return mlir_expected(parser, "'<'");
  const char *body = mlir_peek(parser)->start + 1;
  const char *close = find_close(&parser->lexer, body);
  HR_TRY(mlir_lexer_restart_at(&parser->lexer, close));
  HR_TRY(mlir_take(parser, '>'));
  HR_TRY(mlir_take(parser, ':'));
  HR_TRY(mlir_parse_type(parser, &attr->type));
  const char *after = mlir_peek(parser)->start;
  HR_TRY(mlir_lexer_restart_at(&parser->lexer, body));
  HR_TRY(read_dense_body(parser, attr, (size_t)(close - body)));
  if (mlir_peek(parser)->start != close) return mlir_expected(parser, "'>' after the elements");
  *out_attr = attr;
  return mlir_lexer_restart_at(&parser->lexer, after);
}

/* --- array<...> --- */

/* array<T: ...>; i1 takes a byte each. There are no splats. */
hr_status_t mlir_parse_dense_array(mlir_parser_t *parser, const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  element_reader_t reader;
  bool more;
  HR_TRY(HR_NEW(parser->arena, &attr));
  attr->kind = MLIR_ATTR_DENSE_ARRAY;
  HR_TRY(mlir_take_word(parser, "array"));
  HR_TRY(mlir_take(parser, '<'));
  HR_TRY(mlir_parse_type(parser, &attr->type));
  HR_TRY(start_elements(parser, attr->type, &reader));
  HR_VEC(char) bytes = {0};
  hr_status_t st = mlir_take_if(parser, ':', &more);
  while (!st && more) {
    HR_TRY_GOTO(done, st, HR_VEC_RESERVE(&bytes, bytes.count + reader.part_bytes));
    reader.to = bytes.data + bytes.count;
    bytes.count += reader.part_bytes;
    HR_TRY_GOTO(done, st, read_scalar(&reader));
    HR_TRY_GOTO(done, st, mlir_take_if(parser, ',', &more));
  }
  if (!st) st = mlir_take(parser, '>');
  void *copy;
  if (!st) st = hr_arena_copy(parser->arena, bytes.data, bytes.count, &copy);
  if (!st) {
    attr->data = copy;
    attr->element_count = (int64_t)(bytes.count / reader.part_bytes);
    *out_attr = attr;
  }
done:
  HR_VEC_FREE(&bytes);
  return st;
}

/* --- sparse<indices, values> --- */

/* sparse<indices, values> : type. */
hr_status_t mlir_parse_sparse(mlir_parser_t *parser, const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  HR_TRY(HR_NEW(parser->arena, &attr));
  attr->kind = MLIR_ATTR_SPARSE;
  HR_TRY(mlir_take_word(parser, "sparse"));
  HR_TRY(mlir_take(parser, '<'));
  if (!mlir_at(parser, '>')) {
    HR_TRY(mlir_parse_attr(parser, &attr->indices));
    HR_TRY(mlir_take(parser, ','));
    HR_TRY(mlir_parse_attr(parser, &attr->values));
  }
  HR_TRY(mlir_take(parser, '>'));
  HR_TRY(mlir_take(parser, ':'));
  HR_TRY(mlir_parse_type(parser, &attr->type));
  *out_attr = attr;
  return NULL;
}
