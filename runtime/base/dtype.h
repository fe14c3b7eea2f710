/* Element types and the conversions between their memory formats and numbers.
 * Source: OCP 8-bit and MX formats, IEEE 754; StableHLO spec, "Types". The table is dtypes.def. */
#ifndef HR_BASE_DTYPE_H
#define HR_BASE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define HR_MAX_RANK 32         /* most dimensions of an array */
#define HR_UNBOUNDED INT64_MIN /* size of a dimension without a bound ("?") */

typedef enum hr_dtype {
#define DTYPE(id, ...) HR_##id,
#include "base/dtypes.def"
#undef DTYPE
  HR_DTYPE_COUNT
} hr_dtype_t;

typedef enum hr_dtype_class {
  HR_CLASS_PRED,
  HR_CLASS_SIGNED,
  HR_CLASS_UNSIGNED,
  HR_CLASS_FLOAT,
  HR_CLASS_COMPLEX,
  HR_CLASS_OTHER /* tokens, tuples: no elements */
} hr_dtype_class_t;

typedef struct hr_dtype_info {
  const char *name;      /* name in HLO text */
  const char *mlir_name; /* name in StableHLO text */
  const char *npy_descr; /* descr in a .npy header */
  uint8_t proto;
  uint8_t bits;
  uint8_t bytes; /* size of an element in memory; 0 when it has none */
  hr_dtype_class_t class_;
  hr_dtype_t compute;
} hr_dtype_info_t;

extern const hr_dtype_info_t hr_dtype_table[HR_DTYPE_COUNT];

static inline const char *hr_dtype_name(hr_dtype_t type) { return hr_dtype_table[type].name; }
static inline size_t hr_dtype_bytes(hr_dtype_t type) { return hr_dtype_table[type].bytes; }
static inline hr_dtype_class_t hr_dtype_class(hr_dtype_t type) {
  return hr_dtype_table[type].class_;
}
static inline bool hr_dtype_is_array(hr_dtype_t type) {
  return hr_dtype_class(type) != HR_CLASS_OTHER;
}
static inline bool hr_dtype_is_integer(hr_dtype_t type) {
  return hr_dtype_class(type) == HR_CLASS_SIGNED || hr_dtype_class(type) == HR_CLASS_UNSIGNED;
}
static inline bool hr_dtype_is_float(hr_dtype_t type) {
  return hr_dtype_class(type) == HR_CLASS_FLOAT;
}
static inline bool hr_dtype_is_complex(hr_dtype_t type) {
  return hr_dtype_class(type) == HR_CLASS_COMPLEX;
}
/* The real type of a complex type's parts; any other type itself. */
static inline hr_dtype_t hr_dtype_real(hr_dtype_t type) {
  if (type == HR_C64) return HR_F32;
  return type == HR_C128 ? HR_F64 : type;
}
/* Finds an array, token or opaque type by its HLO name; false if there is none ("tuple" and
 * "buffer" are no names). */
bool hr_dtype_from_name(hr_str_t name, hr_dtype_t *out_type);

/* Special values of a float format. exponent_bits includes the all-ones pattern, whatever its
 * meaning. */
typedef enum hr_specials {
  HR_SPECIALS_IEEE,   /* all-ones exponent: infinities and NaNs */
  HR_SPECIALS_FN,     /* no infinity; NaN only where all bits are ones */
  HR_SPECIALS_FNUZ,   /* no infinity, no -0; NaN is the pattern of -0 */
  HR_SPECIALS_FINITE, /* neither infinity nor NaN */
  HR_SPECIALS_E8M0    /* unsigned powers of two; NaN is all ones */
} hr_specials_t;

typedef struct hr_float_format {
  uint8_t bits, exponent_bits, mantissa_bits;
  int16_t bias;
  hr_specials_t specials;
} hr_float_format_t;

/* Format of a FLOAT type; NULL for others. */
const hr_float_format_t *hr_float_format(hr_dtype_t type);

/* Converts one number to or from the bits of a FLOAT type, rounded once to nearest even. Overflow
 * gives infinity or NaN, depending on the type's specials, or the largest number for
 * HR_SPECIALS_FINITE. NaN keeps its sign if the type has one. */
uint64_t hr_float_encode(hr_dtype_t type, double value);
double hr_float_decode(hr_dtype_t type, uint64_t bits);

/* The bits of the largest finite number of a FLOAT type other than F64, without sign: all greater
 * patterns are special. */
uint64_t hr_float_largest(hr_dtype_t type);

/* Converts arrays between a FLOAT type and f32 (for types whose compute type is f32). Fast for f16
 * and bf16; types of at most 8 bits are converted to f32 by a table. */
void hr_floats_to_f32(hr_dtype_t type, const void *from, float *to, int64_t count);
void hr_floats_from_f32(hr_dtype_t type, const float *from, void *to, int64_t count);

static inline float hr_bf16_to_f32(uint16_t bits) {
  union {
    uint32_t u;
    float f;
  } x = {.u = (uint32_t)bits << 16};
  return x.f;
}
static inline uint16_t hr_f32_to_bf16(float value) {
  union {
    float f;
    uint32_t u;
  } x = {.f = value};
  if ((x.u & 0x7fffffffu) > 0x7f800000u) return (uint16_t)((x.u >> 16 & 0x8000u) | 0x7fc0u);
  return (uint16_t)((x.u + 0x7fffu + (x.u >> 16 & 1)) >> 16);
}
float hr_f16_to_f32(uint16_t bits);
uint16_t hr_f32_to_f16(float value);

#endif
