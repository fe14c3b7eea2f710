/* Encoding and decoding of sort keys.
 *
 *   integers   sign bit flipped (signed), all bits flipped (descending)
 *   floats     sign bit set for positive numbers, all bits complemented for negative ones: unsigned
 *              order of the result is the total order of the floats
 *   8-bit      a table of 256 keys, built by the reference encoding */
#include "ops/kernels/sort/sort_encode.h"

#include "ops/kernels/simd/simd_target.h"

NATIVE_OPTIMIZE

/* The bits of infinity: magnitudes above it are NaNs. */
static uint64_t infinity_bits(hr_dtype_t dtype) {
  switch (dtype) {
    case HR_F16:
      return 0x7c00;
    case HR_BF16:
      return 0x7f80;
    case HR_F32:
      return 0x7f800000;
    case HR_F64:
      return 0x7ff0000000000000;
    default:
      return 0;
  }
}

/* Keys have 16 bits, so that NaNs fit after all numbers. */
static hr_status_t make_table(hr_arena_t *arena, hr_dtype_t dtype, bool descending, bool total,
                              sort_encoding_t *encoding) {
  sort_key_t key = {NULL, NULL, dtype, descending, total};
  uint16_t *table;
  HR_TRY(HR_NEW_ARRAY(arena, 256, &table));
  for (int i = 0; i < 256; i++) {
    uint8_t byte = (uint8_t)i;
    sort_item_t item;
    sort_encode(&key, &byte, 1, 1, &item);
    table[i] = item.key == UINT64_MAX ? UINT16_MAX : (uint16_t)item.key;
  }
  encoding->table = table;
  encoding->bits = 16;
  encoding->ties = true;
  return NULL;
}

/* one_nan is the bit pattern that represents all NaNs if NaNs tie (nans not ORDERED); nan_key is
 * its key: the greatest if NaNs are last, else the position of that pattern in total order.
 * zeros_tie maps the key of -0 to that of +0. */
hr_status_t sort_encoding_init(hr_arena_t *arena, hr_dtype_t dtype, bool descending,
                               sort_nans_t nans, bool zeros_tie, uint64_t one_nan,
                               sort_encoding_t *encoding) {
  int bytes = (int)hr_dtype_bytes(dtype), bits = bytes * 8;
  uint64_t mask = UINT64_MAX >> (64 - bits), sign = (uint64_t)1 << (bits - 1),
           descending_mask = descending ? mask : 0;
  *encoding = (sort_encoding_t){
      .element_bytes = bytes, .bits = bits, .infinity = UINT64_MAX, .flip = descending_mask};
  if (!hr_dtype_is_float(dtype)) {
    if (hr_dtype_class(dtype) == HR_CLASS_SIGNED) encoding->flip ^= sign;
    return NULL;
  }
  if (bytes == 1) return make_table(arena, dtype, descending, nans == SORT_NANS_ORDERED, encoding);
  encoding->is_float = true;
  encoding->ties = zeros_tie || nans != SORT_NANS_ORDERED;
  encoding->zero = zeros_tie ? sign : 0;
  if (nans == SORT_NANS_ORDERED) return NULL;
  encoding->infinity = infinity_bits(dtype);
  uint64_t flipped_bits = one_nan & sign ? mask : sign;
  uint64_t ordered_key = one_nan ^ flipped_bits ^ descending_mask;
  encoding->nan_key = nans == SORT_NANS_LAST ? mask : ordered_key;
  return NULL;
}

/* Flips the sign bit of positive numbers and all bits of negative ones, then applies ties and
 * NaN key. */
#define ENCODE_FLOATS(U, I, BITS)                                            \
  do {                                                                       \
    const U *from = elements, sign = (U)1 << (BITS - 1), zero = (U)e->zero;  \
    U infinity = (U)e->infinity, nan_key = (U)e->nan_key, flip = (U)e->flip; \
    if (e->infinity == UINT64_MAX) infinity = (U)~sign;                      \
    for (int64_t i = 0; i < count; i++) {                                    \
      U bits = from[i] == zero ? 0 : from[i];                                \
      U key = (U)(bits ^ ((U)((I)bits >> (BITS - 1)) | sign) ^ flip);        \
      keys[i] = (U)(bits & (U)~sign) > infinity ? nan_key : key;             \
    }                                                                        \
  } while (0)
#define ENCODE_INTEGERS(U)                                                   \
  do {                                                                       \
    const U *from = elements;                                                \
    for (int64_t i = 0; i < count; i++) keys[i] = (U)(from[i] ^ (U)e->flip); \
  } while (0)

#define ENCODE_ALL(FUNCTION, KEY, CASE_8_FLOATS, CASE_8_INTEGERS)                             \
  NATIVE_CLONES                                                                               \
  void FUNCTION(const sort_encoding_t *e, const void *elements, int64_t count, KEY *keys) {   \
    if (e->table) {                                                                           \
      for (int64_t i = 0; i < count; i++) keys[i] = e->table[((const uint8_t *)elements)[i]]; \
      return;                                                                                 \
    }                                                                                         \
    switch (e->element_bytes + (e->is_float ? 16 : 0)) {                                      \
      case 1:                                                                                 \
        ENCODE_INTEGERS(uint8_t);                                                             \
        break;                                                                                \
      case 2:                                                                                 \
        ENCODE_INTEGERS(uint16_t);                                                            \
        break;                                                                                \
      case 4:                                                                                 \
        ENCODE_INTEGERS(uint32_t);                                                            \
        break;                                                                                \
      case 8:                                                                                 \
        CASE_8_INTEGERS;                                                                      \
        break;                                                                                \
      case 18:                                                                                \
        ENCODE_FLOATS(uint16_t, int16_t, 16);                                                 \
        break;                                                                                \
      case 20:                                                                                \
        ENCODE_FLOATS(uint32_t, int32_t, 32);                                                 \
        break;                                                                                \
      case 24:                                                                                \
        CASE_8_FLOATS;                                                                        \
        break;                                                                                \
    }                                                                                         \
  }

ENCODE_ALL(sort_encode_block, uint64_t, ENCODE_FLOATS(uint64_t, int64_t, 64),
           ENCODE_INTEGERS(uint64_t))
ENCODE_ALL(sort_encode_block_32, uint32_t, , )

#define DECODE(K, U, I, BITS)                                                           \
  do {                                                                                  \
    U *to = elements, sign = (U)((U)1 << (BITS - 1)), flip = (U)e->flip;                \
    for (int64_t i = 0; i < count && !e->is_float; i++) to[i] = (U)((U)keys[i] ^ flip); \
    for (int64_t i = 0; i < count && e->is_float; i++) {                                \
      U bits = (U)((U)keys[i] ^ flip);                                                  \
      to[i] = (U)(bits ^ ((U) ~(U)((I)bits >> (BITS - 1)) | sign));                     \
    }                                                                                   \
  } while (0)

NATIVE_CLONES
void sort_decode_32(const sort_encoding_t *e, const uint32_t *keys, int64_t count, void *elements) {
  switch (e->element_bytes) {
    case 1:
      DECODE(uint32_t, uint8_t, int8_t, 8);
      break;
    case 2:
      DECODE(uint32_t, uint16_t, int16_t, 16);
      break;
    case 4:
      DECODE(uint32_t, uint32_t, int32_t, 32);
      break;
  }
}

NATIVE_CLONES
void sort_decode_64(const sort_encoding_t *e, const uint64_t *keys, int64_t count, void *elements) {
  DECODE(uint64_t, uint64_t, int64_t, 64);
}
