/* Sort keys as unsigned integers, many at a time: the native sort's counterpart of sort_encode in
 * sort_keys.h, with the same order. An encoding is a few masks, so that one loop without branches
 * serves every order of a type. */
#ifndef HLO_OPS_SORT_ENCODE_H
#define HLO_OPS_SORT_ENCODE_H

#include "ops/kernels/reference/sort_keys.h"

/* What a float has to be that is not simply ordered by its bits. */
typedef enum sort_nans {
  SORT_NANS_ORDERED, /* by their bits: the total order */
  SORT_NANS_LAST,    /* behind everything, tied */
  SORT_NANS_AS_ONE   /* tied, where one given NaN would be: comparators that make all NaNs the same
                        first */
} sort_nans_t;

typedef struct sort_encoding {
  int element_bytes, bits; /* of an encoded key, from bit 0 */
  bool is_float;
  bool ties; /* different elements may have equal keys */
  /* Floats: -0 becomes +0 where `zero` is the bits of -0; magnitudes above `infinity` become
   * `nan_key`. */
  uint64_t zero, infinity, nan_key;
  uint64_t flip;         /* xor at the end: signs of integers, descending orders */
  const uint16_t *table; /* of floats of a byte or less, by their byte; NULL for others */
} sort_encoding_t;

/* one_nan: the bits of SORT_NANS_AS_ONE's. */
hr_status_t sort_encoding_init(hr_arena_t *arena, hr_dtype_t dtype, bool descending,
                               sort_nans_t nans, bool zeros_tie, uint64_t one_nan,
                               sort_encoding_t *encoding);
/* keys[i] of `count` dense elements; the second for encodings of at most 32 bits. */
void sort_encode_block(const sort_encoding_t *encoding, const void *elements, int64_t count,
                       uint64_t *keys);
void sort_encode_block_32(const sort_encoding_t *encoding, const void *elements, int64_t count,
                          uint32_t *keys);
/* The element that a key was made of, if encoding->ties is false or the key is not that of a zero
 * or NaN. */
void sort_decode_32(const sort_encoding_t *encoding, const uint32_t *keys, int64_t count,
                    void *elements);
void sort_decode_64(const sort_encoding_t *encoding, const uint64_t *keys, int64_t count,
                    void *elements);
/* Is the element, by its bits, one whose key belongs to others too? */
static inline bool sort_has_ties(const sort_encoding_t *encoding, uint64_t bits) {
  uint64_t sign = (uint64_t)1 << (encoding->bits - 1), magnitude = bits & (sign - 1);
  return (encoding->zero && magnitude == 0) || magnitude > encoding->infinity;
}

#endif
