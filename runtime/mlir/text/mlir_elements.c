/* Elements of dense attributes are stored as in the IR: row-major, a byte for types below 8 bits,
 * i1 as bytes 0 and 1. Lists of equal elements become splats, so that attributes with equal meaning
 * compare equal. */
#include "mlir/text/mlir_elements.h"

#include <string.h>

const mlir_type_t *mlir_scalar_type(const mlir_type_t *element) {
  if (element->kind == MLIR_TYPE_COMPLEX) return mlir_scalar_type(element->element);
  return element->kind == MLIR_TYPE_QUANT ? element->quant->storage : element;
}

hr_status_t mlir_element_count(mlir_parser_t *parser, const mlir_type_t *type, int64_t *out_count) {
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

hr_status_t mlir_alloc_elements(hr_arena_t *arena, mlir_attr_t *attr, int64_t count, bool splat,
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

void mlir_make_splat(mlir_attr_t *attr, int64_t count) {
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
    HR_TRY(mlir_alloc_elements(arena, attr, stored, is_splat, &data));
    unpack_bools(bytes, size, stored, data);
    if (is_splat) *(unsigned char *)data = *(const unsigned char *)bytes != 0;
    mlir_make_splat(attr, count);
    return NULL;
  }
  if (!each || __builtin_mul_overflow(each, (size_t)count, &wanted) ||
      (size != wanted && size != each))
    return hr_error(HR_INVALID, "%zu bytes of elements, the type wants %zu", size, wanted);
  bool splat = size == each && count != 1;
  HR_TRY(mlir_alloc_elements(arena, attr, (int64_t)(size / each), splat, &data));
  if (size) memcpy(data, bytes, size);
  extend_narrow(mlir_scalar_type(element), data, (int64_t)(size / each));
  mlir_make_splat(attr, count);
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

/* All digits are checked together at the end, which keeps the loop free of branches: weights of
 * models are megabytes of digits. */
hr_status_t mlir_decode_hex(mlir_parser_t *parser, hr_str_t text, unsigned char **out_bytes,
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
