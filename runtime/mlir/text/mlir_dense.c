/* Elements: dense<...>, dense_resource<...>, sparse<...>, array<...>, and blobs.
 *   dense    ::= "dense<" (element | nested | "\"0x" hex "\"")? "> :" type
 *   nested   ::= "[" nested,* "]"            element ::= number | "(" number "," number ")"
 *   array    ::= "array<" type (":" number,*)? ">"
 *   resource ::= "dense_resource<" key "> :" type    its blob is in {-# ... #-} at the end
 * The type of a dense literal follows its elements but is needed to read them: the parser finds
 * the closing '>', reads the type, and goes back, so that the characters are read twice. Elements
 * are stored as in the IR: row-major, a byte for types below 8 bits, i1 as bytes 0 and 1. Lists of
 * equal elements become splats, so that attributes with equal meaning compare equal. Counts are
 * checked against the length of the text before memory is allocated. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "mlir/text/mlir_parser.h"

/* State while one literal's numbers are read into `to`. */
typedef struct element_reader {
  mlir_parser_t *parser;
  const mlir_type_t *element; /* element type of the tensor */
  hr_dtype_t dtype;           /* type of a float scalar */
  size_t part_bytes;          /* bytes of one scalar: half of a complex element */
  char *to;                   /* address of the next scalar */
} element_reader_t;

/* Scalar type of the elements: the storage type of quantised ones, the part type of complex
 * ones. */
static const mlir_type_t *scalar_of(const mlir_type_t *element) {
  if (element->kind == MLIR_TYPE_COMPLEX) return scalar_of(element->element);
  return element->kind == MLIR_TYPE_QUANT ? element->quant->storage : element;
}

/* Prepares a reader. Scalars must have 1, 2, 4 or 8 bytes; float types must have arithmetic here
 * (not tf32, f80, f128). */
static hr_status_t start_elements(mlir_parser_t *parser, const mlir_type_t *element,
                                  element_reader_t *reader) {
  *reader = (element_reader_t){.parser = parser, .element = element};
  const mlir_type_t *scalar = scalar_of(element);
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
  const mlir_type_t *scalar = scalar_of(reader->element);
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

/* --- shapes of elements --- */

/* Number of elements of a static tensor or vector type, checked for overflow. */
static hr_status_t element_total(mlir_parser_t *parser, const mlir_type_t *type,
                                 int64_t *out_count) {
  bool has_elements = type && (type->kind == MLIR_TYPE_TENSOR || type->kind == MLIR_TYPE_VECTOR);
  if (!has_elements) return mlir_expected(parser, "a tensor type for the elements");
  *out_count = 1;
  for (int d = 0; d < type->rank; d++) {
    if (type->dims[d] < 0) return mlir_expected(parser, "a static shape for the elements");
    if (__builtin_mul_overflow(*out_count, type->dims[d], out_count))
      return mlir_expected(parser, "a smaller shape");
  }
  return NULL;
}

static bool is_i1(const mlir_type_t *element) {
  return element->kind == MLIR_TYPE_INTEGER && element->width == 1;
}

/* Allocates `count` elements, or one for a splat, plus one byte, so that empty copies have an
 * address. */
static hr_status_t set_elements(hr_arena_t *arena, mlir_attr_t *attr, int64_t count, bool splat,
                                void **out_data) {
  size_t bytes;
  HR_TRY(hr_size_product((size_t)count, mlir_element_bytes(attr->type->element), &bytes));
  HR_TRY(hr_arena_alloc(arena, bytes + 1, out_data));
  attr->data = *out_data;
  attr->element_count = count;
  attr->splat = splat;
  return NULL;
}

/* Compares bytes: NaNs with equal bits are alike, 0 and -0 are not. */
static bool all_alike(const char *data, int64_t count, size_t each) {
  for (int64_t i = 1; i < count; i++)
    if (memcmp(data, data + (size_t)i * each, each)) return false;
  return true;
}

/* Unpacks i1: one byte per value, or bits (lowest first), or one byte for a splat. A single byte
 * 0xff or 0 is a splat, even for up to 8 values, whose bits are then the same. */
static void unpack_bools(const unsigned char *from, size_t size, int64_t count, unsigned char *to) {
  bool whole = size == (size_t)count;
  bool all = size == 1 && count > 1 && (from[0] == 0xff || from[0] == 0 || count > 8);
  for (int64_t i = 0; i < count; i++) {
    bool bit = whole ? from[i] != 0 : from[i / 8] >> (i % 8) & 1;
    to[i] = all ? from[0] != 0 : bit;
  }
}

/* Reduces equal elements to one, as attributes with equal meaning must compare equal. */
static void make_splat(mlir_attr_t *attr, int64_t count) {
  if (attr->splat || count < 2 ||
      !all_alike(attr->data, count, mlir_element_bytes(attr->type->element)))
    return;
  attr->splat = true;
  attr->element_count = 1;
}

/* Blobs have the unused high bits of narrow elements cleared; signed ones are sign-extended to a
 * byte, as in the IR. i1 stays 0 or 1. */
static void extend_narrow(const mlir_type_t *scalar, char *data, int64_t count) {
  if (scalar->kind != MLIR_TYPE_INTEGER || scalar->width >= 8 || scalar->width == 1) return;
  int unused = 8 - scalar->width;
  for (int64_t i = 0; i < count; i++) {
    uint8_t bits = (uint8_t)((uint8_t)data[i] << unused);
    data[i] = (char)(scalar->signedness == MLIR_UNSIGNED ? bits >> unused
                                                         : (uint8_t)((int8_t)bits >> unused));
  }
}

/* The size tells whether i1 elements are packed, a byte each, or one byte for all. Other types
 * have all elements, or one for a splat. */
hr_status_t mlir_dense_from_bytes(hr_arena_t *arena, const mlir_type_t *type, const void *bytes,
                                  size_t size, mlir_attr_t *attr) {
  const mlir_type_t *element = type->element;
  int64_t count = 1;
  size_t each = mlir_element_bytes(element);
  size_t wanted = 0;
  for (int d = 0; d < type->rank; d++)
    if (type->dims[d] < 0 || __builtin_mul_overflow(count, type->dims[d], &count))
      return hr_error(HR_INVALID, "elements want a static shape of a size that can be addressed");
  attr->type = type;
  void *data;
  if (is_i1(element) && size <= (size_t)count && size >= 1) {
    if (size != (size_t)count && size != ((size_t)count + 7) / 8 && size != 1)
      return hr_error(HR_INVALID, "%zu bytes for %ld values of i1", size, (long)count);
    bool is_splat = size == 1 && count > 8;
    int64_t stored = is_splat ? 1 : count;
    HR_TRY(set_elements(arena, attr, stored, is_splat, &data));
    unpack_bools(bytes, size, stored, data);
    if (is_splat) *(unsigned char *)data = *(const unsigned char *)bytes != 0;
    make_splat(attr, count);
    return NULL;
  }
  if (!each || __builtin_mul_overflow(each, (size_t)count, &wanted) ||
      (size != wanted && size != each))
    return hr_error(HR_INVALID, "%zu bytes of elements, the type wants %zu", size, wanted);
  bool splat = size == each && count != 1;
  HR_TRY(set_elements(arena, attr, (int64_t)(size / each), splat, &data));
  if (size) memcpy(data, bytes, size);
  extend_narrow(scalar_of(element), data, (int64_t)(size / each));
  make_splat(attr, count);
  return NULL;
}

/* --- hexadecimal blobs --- */

#define IS_HEX 16 /* bit that marks a hexadecimal digit in the table, beside its value */
#define HEX(value) (IS_HEX | (value))

static const uint8_t hex_digits[256] = {
    ['0'] = HEX(0),  ['1'] = HEX(1),  ['2'] = HEX(2),  ['3'] = HEX(3),  ['4'] = HEX(4),
    ['5'] = HEX(5),  ['6'] = HEX(6),  ['7'] = HEX(7),  ['8'] = HEX(8),  ['9'] = HEX(9),
    ['a'] = HEX(10), ['b'] = HEX(11), ['c'] = HEX(12), ['d'] = HEX(13), ['e'] = HEX(14),
    ['f'] = HEX(15), ['A'] = HEX(10), ['B'] = HEX(11), ['C'] = HEX(12), ['D'] = HEX(13),
    ['E'] = HEX(14), ['F'] = HEX(15)};

/* Decodes a blob "0x..." by a table. All digits are checked together at the end, which keeps the
 * loop free of branches: weights of models are megabytes of digits. */
static hr_status_t decode_hex(mlir_parser_t *parser, hr_str_t text, unsigned char **out_bytes,
                              size_t *out_size) {
  if (text.size < 2 || text.data[0] != '0' || text.data[1] != 'x' || text.size % 2)
    return mlir_expected(parser, "a string of \"0x\" and pairs of hexadecimal digits");
  size_t size = text.size / 2 - 1;
  void *memory;
  HR_TRY(hr_arena_alloc(parser->arena, size + 1, &memory));
  unsigned char *bytes = memory;
  const unsigned char *digits = (const unsigned char *)text.data + 2;
  unsigned seen = IS_HEX;
  for (size_t i = 0; i < size; i++) {
    unsigned high = hex_digits[digits[2 * i]];
    unsigned low = hex_digits[digits[2 * i + 1]];
    seen &= high & low;
    bytes[i] = (unsigned char)(high << 4 | (low & 15));
  }
  if (!(seen & IS_HEX)) return mlir_expected(parser, "hexadecimal digits");
  *out_bytes = bytes;
  *out_size = size;
  return NULL;
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
  HR_TRY(decode_hex(parser, mlir_peek(parser)->text, &bytes, &size));
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
  HR_TRY(element_total(parser, attr->type, &count));
  if (mlir_peek(parser)->kind == MLIR_TOKEN_STRING) return read_hex_elements(parser, attr);
  HR_TRY(start_elements(parser, attr->type->element, &reader));
  if (count == 0) {
    HR_TRY(set_elements(parser->arena, attr, 0, false, &data));
    reader.to = data;
    if (mlir_at(parser, '[')) return read_nested(&reader, attr->type, 0);
    return mlir_at(parser, '>') ? NULL : read_unused_element(&reader);
  }
  bool listed = mlir_at(parser, '[');
  if (listed && (size_t)count > room)
    return mlir_expected(parser, "as many elements as the type has");
  HR_TRY(set_elements(parser->arena, attr, listed ? count : 1, !listed && count > 1, &data));
  reader.to = data;
  if (!listed) return read_element(&reader);
  HR_TRY(read_nested(&reader, attr->type, 0));
  make_splat(attr, count);
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

/* --- dense_resource<...> and the resources at the end of the file --- */

/* The blob may come at the end of the file, so that the attribute is queued in `unresolved`. */
hr_status_t mlir_parse_dense_resource(mlir_parser_t *parser, const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  HR_TRY(HR_NEW(parser->arena, &attr));
  attr->kind = MLIR_ATTR_DENSE;
  HR_TRY(mlir_take_word(parser, "dense_resource"));
  HR_TRY(mlir_take(parser, '<'));
  const mlir_token_t *token = mlir_peek(parser);
  if (token->kind != MLIR_TOKEN_WORD && token->kind != MLIR_TOKEN_STRING)
    return mlir_expected(parser, "the key of a resource");
  attr->resource = token->text;
  HR_TRY(mlir_lexer_next(&parser->lexer));
  HR_TRY(mlir_take(parser, '>'));
  HR_TRY(mlir_take(parser, ':'));
  HR_TRY(mlir_parse_type(parser, &attr->type));
  HR_VEC_PUSH(&parser->unresolved, attr);
  *out_attr = attr;
  return NULL;
}

/* key: "0x...": the blob is kept as text and decoded on demand. */
static hr_status_t parse_resource(mlir_parser_t *parser, bool keep) {
  const mlir_token_t *token = mlir_peek(parser);
  if (token->kind != MLIR_TOKEN_WORD && token->kind != MLIR_TOKEN_STRING)
    return mlir_expected(parser, "the key of a resource");
  hr_str_t key = token->text;
  HR_TRY(mlir_lexer_next(&parser->lexer));
  HR_TRY(mlir_take(parser, ':'));
  const mlir_attr_t *blob;
  HR_TRY(mlir_parse_attr(parser, &blob));
  return keep && blob->kind == MLIR_ATTR_STRING
             ? hr_map_put(&parser->resources, key, (void *)blob, NULL)
             : NULL;
}

/* "{" key ":" value, ... "}" of one dialect. */
static hr_status_t parse_resource_group(mlir_parser_t *parser, bool keep) {
  hr_str_t name;
  HR_TRY(mlir_take_kind(parser, MLIR_TOKEN_WORD, "the name of a dialect", &name));
  HR_TRY(mlir_take(parser, ':'));
  HR_TRY(mlir_take(parser, '{'));
  for (bool more = !mlir_at(parser, '}'); more;) {
    HR_TRY(parse_resource(parser, keep));
    HR_TRY(mlir_take_if(parser, ',', &more));
  }
  return mlir_take(parser, '}');
}

/* {-# dialect_resources: {builtin: {key: "0x..."}}, external_resources: {...} #-} */
hr_status_t mlir_parse_resources(mlir_parser_t *parser) {
  HR_TRY(mlir_lexer_next(&parser->lexer));
  for (bool more = mlir_peek(parser)->kind != MLIR_TOKEN_RESOURCES_END; more;) {
    bool keep = mlir_at_word(parser, "dialect_resources");
    hr_str_t section;
    HR_TRY(mlir_take_kind(parser, MLIR_TOKEN_WORD, "dialect_resources or external_resources",
                          &section));
    HR_TRY(mlir_take(parser, ':'));
    HR_TRY(mlir_take(parser, '{'));
    for (bool inner = !mlir_at(parser, '}'); inner;) {
      HR_TRY(parse_resource_group(parser, keep));
      HR_TRY(mlir_take_if(parser, ',', &inner));
    }
    HR_TRY(mlir_take(parser, '}'));
    HR_TRY(mlir_take_if(parser, ',', &more));
  }
  return mlir_take_kind(parser, MLIR_TOKEN_RESOURCES_END, "'#-}'", NULL);
}

/* A blob is 4 bytes of alignment and the data. An attribute without a blob for its key stays
 * without data; the importer refuses it. */
hr_status_t mlir_finish_resources(mlir_parser_t *parser) {
  for (size_t i = 0; i < parser->unresolved.count; i++) {
    mlir_attr_t *attr = parser->unresolved.data[i];
    const mlir_attr_t *blob = hr_map_get(&parser->resources, attr->resource);
    if (!blob) continue;
    unsigned char *bytes;
    size_t size;
    int64_t count;
    HR_TRY(element_total(parser, attr->type, &count));
    HR_TRY(decode_hex(parser, blob->text, &bytes, &size));
    if (size < 4) return mlir_expected(parser, "resource blobs of at least 4 bytes");
    HR_TRY(mlir_dense_from_bytes(parser->arena, attr->type, bytes + 4, size - 4, attr));
  }
  return NULL;
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
