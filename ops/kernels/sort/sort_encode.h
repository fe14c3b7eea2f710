/* Sort keys as unsigned integers in the order of the elements; the native sort's counterpart of
 * sort_encode in sort_keys.h, with the same order. An encoding is a few masks, so that one
 * branch-free loop handles every order of a type. */
#ifndef HLO_OPS_SORT_ENCODE_H
#define HLO_OPS_SORT_ENCODE_H

#include "ops/kernels/reference/sort_keys.h"

/* The order of NaNs. */
typedef enum sort_nans {
  SORT_NANS_ORDERED, /* by their bits: total order */
  SORT_NANS_LAST,    /* after all numbers, tied */
  SORT_NANS_AS_ONE   /* tied, at the position of one given NaN, for canonicalising comparators */
} sort_nans_t;

typedef struct sort_encoding {
  int element_bytes, bits; /* element size; bits of an encoded key, from bit 0 */
  bool is_float;
  bool ties; /* different elements may have equal keys */
  /* Floats: -0 becomes +0 if `zero` is the bits of -0; magnitudes above `infinity` become
   * `nan_key`. */
  uint64_t zero, infinity, nan_key;
  uint64_t flip;         /* final xor: signs of integers, descending orders */
  const uint16_t *table; /* keys of 8-bit floats by their byte; NULL for other types */
} sort_encoding_t;

/* one_nan: the bits of the NaN of SORT_NANS_AS_ONE. */
hr_status_t sort_encoding_init(hr_arena_t *arena, hr_dtype_t dtype, bool descending,
                               sort_nans_t nans, bool zeros_tie, uint64_t one_nan,
                               sort_encoding_t *encoding);
/* keys[i] of `count` contiguous elements; sort_encode_block_32 for encodings of at most 32 bits. */
void sort_encode_block(const sort_encoding_t *encoding, const void *elements, int64_t count,
                       uint64_t *keys);
void sort_encode_block_32(const sort_encoding_t *encoding, const void *elements, int64_t count,
                          uint32_t *keys);
/* The elements of the keys, provided encoding->ties is false or the key is not that of a zero or
 * NaN. */
void sort_decode_32(const sort_encoding_t *encoding, const uint32_t *keys, int64_t count,
                    void *elements);
void sort_decode_64(const sort_encoding_t *encoding, const uint64_t *keys, int64_t count,
                    void *elements);

#endif
