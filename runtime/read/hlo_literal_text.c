/* HLO text of literals, read from the bytes rather than from tokens, as literals may be most of a
 * program.
 *   literal ::= "(" literal,* ")" | rows | element
 *   rows    ::= "{" (rows | element)* "}" | "{...}"
 *   element ::= "true" | "false" | int | float | "(" float "," float ")"
 * Commas between elements are optional. Elements are stored in the order of the text, row-major,
 * and the braces are checked against the shape on the way. "{...}" is an elided literal. A text
 * that is too short for its shape is only checked, so that no allocation exceeds what the text
 * justifies: an element takes at least a byte. */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "read/hlo_patterns.h"
#include "read/hlo_reader.h"

typedef struct literal {
  read_hlo_t *r;
  const char *text;
  size_t at, end;
  const hlo_shape_t *shape;
  char *data; /* next element; NULL when the text is too short for the shape: then it is only
                 checked */
  size_t element_bytes;
  bool elided;
} literal_t;

/* An error at the current byte, which becomes a token for the message. */
static hr_status_t expected_here(literal_t *p, const char *want) {
  HR_TRY(read_resume(&p->r->lexer, p->at));
  return read_want(&p->r->lexer, "%s", want);
}

#define LITERAL_ERROR(p, offset, ...) READ_ERROR_AT(&(p)->r->lexer, (offset), __VA_ARGS__)

/* Passes blanks and comments. */
static inline hr_status_t skip_blanks(literal_t *p) {
  while (p->at < p->end && p->text[p->at] == ' ') p->at++;
  if (p->at < p->end && p->text[p->at] > ' ' && p->text[p->at] != '/') return NULL;
  return read_skip_blanks(&p->r->lexer, &p->at);
}

/* Passes blanks, comments and commas: between elements, commas are optional. */
static inline hr_status_t skip_commas(literal_t *p) {
  HR_TRY(skip_blanks(p));
  while (p->at < p->end && p->text[p->at] == ',') {
    p->at++;
    HR_TRY(skip_blanks(p));
  }
  return NULL;
}

static inline char peek_byte(const literal_t *p) { return p->at < p->end ? p->text[p->at] : 0; }

/* Takes a word unless more letters or digits follow. */
static bool accept_word(literal_t *p, const char *word) {
  size_t size = strlen(word);
  if (p->end - p->at < size || memcmp(p->text + p->at, word, size) != 0) return false;
  char next = p->at + size < p->end ? p->text[p->at + size] : 0;
  if (next == '_' || (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z') ||
      (next >= '0' && next <= '9'))
    return false;
  p->at += size;
  return true;
}

/* Stores nothing where the text is only checked. */
static void store_bits(literal_t *p, uint64_t bits, size_t bytes) {
  if (!p->data) return;
  memcpy(p->data, &bits, bytes); /* little-endian: the low bytes come first */
  p->data += bytes;
}

/* Integers ------------------------------------------------------------------------------------- */

/* Whether a number is in the type's range; u64 takes negative ones, too, as XLA does. */
static bool integer_fits(hr_dtype_t type, bool negative, uint64_t magnitude) {
  int bits = hr_dtype_table[type].bits;
  if (bits == 64) return !negative || magnitude <= UINT64_C(1) << 63; /* u64 too, as in XLA */
  uint64_t half = UINT64_C(1) << (bits - 1);
  if (hr_dtype_class(type) == HR_CLASS_SIGNED) return magnitude < half + negative;
  return negative ? magnitude == 0 : magnitude < 2 * half;
}

/* Any 64 bits are taken for s64: 9223372036854775808 is its smallest number. */
static hr_status_t read_integer(literal_t *p, hr_dtype_t type) {
  size_t start = p->at;
  bool negative = peek_byte(p) == '-';
  bool overflow = false;
  uint64_t magnitude = 0;
  size_t digits = p->at += negative;
  for (; (unsigned)(peek_byte(p) - '0') < 10; p->at++) {
    if (p->at - digits >= 19)
      overflow |= __builtin_mul_overflow(magnitude, 10, &magnitude) ||
                  __builtin_add_overflow(magnitude, (uint64_t)(peek_byte(p) - '0'), &magnitude);
    else
      magnitude = magnitude * 10 + (uint64_t)(peek_byte(p) - '0');
  }
  char next = peek_byte(p);
  if (p->at == digits || next == '.' || next == '_' || (next >= 'a' && next <= 'z') ||
      (next >= 'A' && next <= 'Z')) {
    p->at = start;
    return expected_here(
        p, type == HR_PRED ? "true, false or an integer" : "an integer, as the type is one");
  }
  if (overflow || (type != HR_PRED && !integer_fits(type, negative, magnitude)))
    return LITERAL_ERROR(p, start, "found %.*s, which is out of range for %s", (int)(p->at - start),
                         p->text + start, hr_dtype_name(type));
  if (type == HR_PRED) magnitude = magnitude != 0;
  store_bits(p, negative ? 0 - magnitude : magnitude, hr_dtype_bytes(type));
  return NULL;
}

/* true, false, or an integer that is 0 or 1. */
static hr_status_t read_pred(literal_t *p) {
  bool yes = accept_word(p, "true");
  if (!yes && !accept_word(p, "false")) return read_integer(p, HR_PRED);
  store_bits(p, yes, 1);
  return NULL;
}

/* Floats --------------------------------------------------------------------------------------- */

/* "(0x7)" after nan: the bits of the mantissa. Only types with infinities have several NaNs. */
static hr_status_t read_payload(literal_t *p, hr_dtype_t type, uint64_t *out_bits) {
  const hr_float_format_t *f = hr_float_format(type);
  size_t start = p->at;
  uint64_t payload = 0;
  int digits = 0;
  if (p->end - p->at < 4 || memcmp(p->text + p->at, "(0x", 3) != 0)
    return expected_here(p, "a payload such as (0x1)");
  for (p->at += 3; p->at < p->end && p->text[p->at] != ')' && digits < 16; p->at++, digits++) {
    char c = p->text[p->at];
    int value = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    if (value < 0) return LITERAL_ERROR(p, p->at, "found '%c', want a hexadecimal digit or ')'", c);
    payload = payload * 16 + (uint64_t)value;
  }
  if (peek_byte(p) != ')') return expected_here(p, "')' after the payload");
  p->at++;
  if (f->specials != HR_SPECIALS_IEEE)
    return LITERAL_ERROR(p, start, "found a payload, but %s has only one NaN", hr_dtype_name(type));
  if (!payload || payload >> f->mantissa_bits)
    return LITERAL_ERROR(
        p, start, "payload 0x%lx, want 0x1 to 0x%lx for %s", (unsigned long)payload,
        (unsigned long)((UINT64_C(1) << f->mantissa_bits) - 1), hr_dtype_name(type));
  uint64_t exponent = ((UINT64_C(1) << f->exponent_bits) - 1) << f->mantissa_bits;
  *out_bits = (*out_bits & UINT64_C(1) << (f->bits - 1)) | exponent | payload;
  return NULL;
}

/* inf, nan, with and without a sign. */
static hr_status_t read_special(literal_t *p, hr_dtype_t type) {
  size_t start = p->at;
  bool negative = peek_byte(p) == '-';
  p->at += negative;
  uint64_t bits;
  if (accept_word(p, "inf")) {
    bits = hr_float_encode(type, negative ? -INFINITY : INFINITY);
  } else if (accept_word(p, "nan")) {
    bits = hr_float_encode(type, copysign(NAN, negative ? -1 : 1));
    if (peek_byte(p) == '(') HR_TRY(read_payload(p, type, &bits));
  } else {
    p->at = start;
    return expected_here(p, "a number");
  }
  store_bits(p, bits, hr_dtype_bytes(type));
  return NULL;
}

/* A decimal number rounded once to the type, or a special value. */
static hr_status_t read_float(literal_t *p, hr_dtype_t type) {
  const char *from = p->text + p->at;
  size_t left = p->end - p->at;
  size_t size = left && *from == '-';
  uint64_t bits;
  if (size >= left || ((unsigned)(from[size] - '0') >= 10 && from[size] != '.'))
    return read_special(p, type);
  size_t length = read_match_float(from, left);
  if (!length) {
    while (size < left && (unsigned)(from[size] - '0') < 10) size++;
    length = size; /* an integer, "-0" included */
  }
  if (*from == '.' || length == 0) return expected_here(p, "a number, with a digit first");
  if (!read_decimal(from, length, type, &bits))
    return LITERAL_ERROR(p, p->at, "found %.*s, which is out of range for %s",
                         (int)(length < 40 ? length : 40), from, hr_dtype_name(type));
  p->at += length;
  store_bits(p, bits, hr_dtype_bytes(type));
  return NULL;
}

/* (re, im), or a real number. */
static hr_status_t read_complex(literal_t *p, hr_dtype_t type) {
  if (peek_byte(p) != '(') return expected_here(p, "'(', as complex numbers are written (re, im)");
  p->at++;
  HR_TRY(skip_blanks(p));
  HR_TRY(read_float(p, hr_dtype_real(type)));
  HR_TRY(skip_blanks(p));
  if (peek_byte(p) != ',') return expected_here(p, "','");
  p->at++;
  HR_TRY(skip_blanks(p));
  HR_TRY(read_float(p, hr_dtype_real(type)));
  HR_TRY(skip_blanks(p));
  if (peek_byte(p) != ')') return expected_here(p, "')'");
  p->at++;
  return NULL;
}

/* By the class of the type. */
static hr_status_t read_element(literal_t *p) {
  hr_dtype_t type = p->shape->dtype;
  switch (hr_dtype_class(type)) {
    case HR_CLASS_PRED:
      return read_pred(p);
    case HR_CLASS_SIGNED:
    case HR_CLASS_UNSIGNED:
      return read_integer(p, type);
    case HR_CLASS_FLOAT:
      return read_float(p, type);
    default:
      return read_complex(p, type);
  }
}

/* Arrays --------------------------------------------------------------------------------------- */

/* The braces of a dimension hold as many elements as the shape says. */
static hr_status_t check_count(literal_t *p, int depth, int64_t count) {
  int64_t want = p->shape->dims[depth];
  if (count == want) return NULL;
  return LITERAL_ERROR(p, p->at, "found %ld elements in dimension %d, want %ld", (long)count, depth,
                       (long)want);
}

/* From after the opening brace of dimension `depth` to after its closing one. Recurses at most
 * HLO_MAX_RANK deep. */
static hr_status_t read_rows(literal_t *p, int depth) {
  int64_t count = 0;
  int64_t want = p->shape->dims[depth];
  bool innermost = depth == p->shape->rank - 1;
  for (;; count++) {
    HR_TRY(skip_commas(p));
    char c = peek_byte(p);
    if (c == '}') break;
    if (c == '.' && p->end - p->at >= 3 && !memcmp(p->text + p->at, "...", 3)) {
      if (depth)
        return LITERAL_ERROR(p, p->at, "found '...' %d braces deep, want it in the outermost ones",
                             depth + 1);
      p->elided = true;
      p->at += 3;
      HR_TRY(skip_commas(p));
      if (peek_byte(p) != '}') return expected_here(p, "'}' after '...'");
      p->at++;
      return NULL;
    }
    if (count == want) return check_count(p, depth, count + 1);
    if (innermost) {
      if (c == '{')
        return LITERAL_ERROR(p, p->at, "found '{' %d deep, want an element, as the rank is %d",
                             depth + 2, depth + 1);
      HR_TRY(read_element(p));
    } else {
      if (c != '{') return expected_here(p, "'{', as the shape has more dimensions");
      p->at++;
      HR_TRY(read_rows(p, depth + 1));
    }
  }
  HR_TRY(check_count(p, depth, count));
  p->at++;
  return NULL;
}

/* element, if the rank is 0; else {row, row, ...}, one level of braces per dimension. */
static hr_status_t read_array_text(literal_t *p) {
  if (p->shape->rank == 0) return read_element(p);
  if (peek_byte(p) != '{') return expected_here(p, "'{'");
  p->at++;
  return read_rows(p, 0);
}

/* "f32[3] constant(1)": XLA takes a scalar for an array, as the value of its first element; the
 * others are 0. Programs written by hand mean something else, hence the message. */
static hr_status_t read_scalar_for_array(literal_t *p, hlo_value_t **out_value) {
  const hlo_shape_t *shape = p->shape;
  hlo_value_t *value;
  char text[HLO_SHAPE_TEXT];
  HR_TRY(hlo_value_array(shape->dtype, shape->rank, shape->dims, &value));
  memset(value->data, 0, hlo_value_bytes(value));
  p->data = value->count ? value->data : NULL;
  hr_pos_t pos = read_pos(&p->r->lexer, p->at);
  hr_status_t st = read_element(p);
  if (!st) st = read_resume(&p->r->lexer, p->at);
  if (st) {
    hlo_value_release(value);
    return st;
  }
  if (value->count)
    hr_log(HR_LOG_READ, HR_LOG_WARN,
           "%s:%u:%u: one number for %s sets the first element, the others are 0, as XLA reads it",
           pos.source->path ? pos.source->path : "text", pos.line, pos.column,
           hlo_shape_text(shape, text));
  *out_value = value;
  return NULL;
}

/* Whether a scalar stands where an array is wanted. */
static bool begins_number(hr_dtype_t dtype, char c) {
  if (hr_dtype_is_complex(dtype)) return c == '(';
  return (c >= '0' && c <= '9') || c == '-' || c == '.';
}

/* An element takes at least a byte of text: a shape with more elements than remaining bytes cannot
 * be filled and gets no memory. Reading goes on to find out whether the literal is elided, or where
 * it ends too early. */
static hr_status_t read_array_literal(read_hlo_t *r, const hlo_shape_t *shape,
                                      hlo_value_t **out_value) {
  read_lexer_t *l = &r->lexer;
  literal_t p = {.r = r, .text = l->text, .at = l->token.at, .end = l->size, .shape = shape};
  int64_t count = 0;
  hlo_value_t *value = NULL;
  bool is_constant = r->scope != NULL; /* values of a command line are written in full */
  if (shape->rank && is_constant && begins_number(shape->dtype, peek_byte(&p)))
    return read_scalar_for_array(&p, out_value);
  hr_status_t too_large = hlo_dims_count(shape->rank, shape->dims, shape->dtype, &count);
  if (!too_large && (uint64_t)count <= p.end - p.at) {
    HR_TRY(hlo_value_array(shape->dtype, shape->rank, shape->dims, &value));
    p.data = value->data;
  }
  hr_status_release(too_large);
  hr_status_t st = read_array_text(&p);
  if (!st) st = read_resume(l, p.at);
  if (st || p.elided) {
    hlo_value_release(value);
    value = NULL;
  }
  *out_value = value;
  return st;
}

static hr_status_t read_any_literal(read_hlo_t *r, const hlo_shape_t *shape,
                                    hlo_value_t **out_value);

/* The tuple retains its elements; none may be elided. */
static hr_status_t read_tuple_literal(read_hlo_t *r, const hlo_shape_t *shape,
                                      hlo_value_t **out_value) {
  read_lexer_t *l = &r->lexer;
  hlo_value_t **elements, *tuple = NULL;
  int count = 0;
  HR_TRY(HR_NEW_ARRAY(r->arena, shape->element_count, &elements));
  HR_TRY(read_expect(l, READ_OPEN_PAREN));
  hr_status_t st = read_deeper(r, "tuples");
  while (!st && count < shape->element_count) {
    size_t at = l->token.at;
    if (count) st = read_expect(l, READ_COMMA);
    if (!st) st = read_any_literal(r, shape->elements[count], &elements[count]);
    if (!st && !elements[count])
      st = READ_ERROR_AT(l, at, "found '...' in a tuple, want all elements");
    count += !st;
  }
  if (!st) st = read_expect(l, READ_CLOSE_PAREN);
  read_shallower(r);
  if (!st) st = hlo_value_tuple(count, elements, &tuple);
  for (int i = 0; i < count; i++) hlo_value_release(elements[i]);
  *out_value = tuple;
  return st;
}

/* A literal of the given shape. Tokens and opaque types have none. */
static hr_status_t read_any_literal(read_hlo_t *r, const hlo_shape_t *shape,
                                    hlo_value_t **out_value) {
  if (hlo_shape_is_tuple(shape)) return read_tuple_literal(r, shape, out_value);
  if (hlo_shape_is_array(shape)) return read_array_literal(r, shape, out_value);
  return read_want(&r->lexer, "no literal, as type %s has no values to write",
                   hr_dtype_name(shape->dtype));
}

/* Literals have static shapes: a dynamic dimension becomes its bound. */
static hr_status_t make_static(read_hlo_t *r, const hlo_shape_t **shape) {
  const hlo_shape_t *given = *shape;
  for (int d = 0; d < given->rank; d++)
    if (given->dims[d] == HLO_UNBOUNDED)
      return read_want(&r->lexer, "a literal of bounded dimensions");
  if (!given->dynamic) return NULL;
  HR_TRY(hlo_shape_array(r->arena, given->dtype, given->rank, given->dims, shape));
  return hlo_shape_with_layout(r->arena, *shape, given->layout, shape);
}

/* *shape becomes static: dynamic dimensions are their bounds. */
hr_status_t read_literal_text(read_hlo_t *r, const hlo_shape_t **shape, hlo_value_t **out_value) {
  hlo_value_t *value;
  HR_TRY(make_static(r, shape));
  HR_TRY(read_any_literal(r, *shape, &value));
  if (value) HR_TRY(hlo_module_adopt_value(r->module, value));
  *out_value = value;
  return NULL;
}

/* Typed literals carry their shapes: s32[2]{0} {1, 2}, or a tuple of such. --------------------- */

static hr_status_t read_typed(read_hlo_t *r, hlo_value_t **out_value);

/* ( shape literal, ... ) */
static hr_status_t read_typed_tuple(read_hlo_t *r, hlo_value_t **out_value) {
  read_lexer_t *l = &r->lexer;
  size_t from = r->nodes.count;
  hr_status_t st = read_deeper(r, "tuples");
  if (!st) st = read_expect(l, READ_OPEN_PAREN);
  for (bool more = !read_is(l, READ_CLOSE_PAREN); more && !st;) {
    hlo_value_t *element = NULL;
    st = HR_VEC_RESERVE(&r->nodes, r->nodes.count + 1);
    if (!st) st = read_typed(r, &element);
    if (!st) r->nodes.data[r->nodes.count++] = element;
    if (!st) st = read_list_next(l, READ_CLOSE_PAREN, &more);
  }
  if (!st) st = read_expect(l, READ_CLOSE_PAREN);
  read_shallower(r);
  int count = (int)(r->nodes.count - from);
  hlo_value_t **elements = (hlo_value_t **)(r->nodes.data + from);
  if (!st) st = hlo_value_tuple(count, elements, out_value);
  for (int i = 0; i < count; i++) hlo_value_release(elements[i]);
  r->nodes.count = from;
  return st;
}

/* A literal with its shape in front, as in tuples. */
static hr_status_t read_typed(read_hlo_t *r, hlo_value_t **out_value) {
  if (read_is(&r->lexer, READ_OPEN_PAREN)) return read_typed_tuple(r, out_value);
  const hlo_shape_t *shape;
  size_t at = r->lexer.token.at;
  HR_TRY(read_shape(r, &shape));
  HR_TRY(make_static(r, &shape));
  HR_TRY(read_any_literal(r, shape, out_value));
  return *out_value ? NULL
                    : READ_ERROR_AT(&r->lexer, at, "found an elided literal, want all elements");
}

/* The value becomes the module's. */
hr_status_t read_typed_literal(read_hlo_t *r, hlo_value_t **out_value) {
  hlo_value_t *value;
  HR_TRY(read_typed(r, &value));
  HR_TRY(hlo_module_adopt_value(r->module, value));
  *out_value = value;
  return NULL;
}
