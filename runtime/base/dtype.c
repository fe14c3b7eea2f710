/* Conversions of narrow floats. Every FLOAT format is described by its numbers of exponent and
 * mantissa bits, bias and special values (formats); encode and decode work on any of them, rounding
 * once, to nearest even. Whole arrays of 8 bits and fewer are decoded by table; f16 and bf16 have
 * loops that the compiler vectorises. */
#include "base/dtype.h"
#include "base/clones.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <math.h>
#include <pthread.h>
#include <string.h>

const hr_dtype_info_t hr_dtype_table[HR_DTYPE_COUNT] = {
#define DTYPE(id, name, mlir, npy, proto, bits, bytes, class_, compute) \
  [HR_##id] = {name, mlir, npy, proto, bits, bytes, HR_CLASS_##class_, HR_##compute},
#include "base/dtypes.def"
#undef DTYPE
};

/* Linear search over the types before HR_TUPLE. */
bool hr_dtype_from_name(hr_str_t name, hr_dtype_t *out_type) {
  for (int type = 0; type < HR_TUPLE; type++) {
    if (!hr_str_is(name, hr_dtype_table[type].name)) continue;
    *out_type = (hr_dtype_t)type;
    return true;
  }
  return false;
}

/* {bits, exponent bits, mantissa bits, bias, special values}; NULL: not a float. */
const hr_float_format_t *hr_float_format(hr_dtype_t type) {
  static const hr_float_format_t formats[HR_DTYPE_COUNT] = {
      [HR_F4E2M1FN] = {4, 2, 1, 1, HR_SPECIALS_FINITE},
      [HR_F6E2M3FN] = {6, 2, 3, 1, HR_SPECIALS_FINITE},
      [HR_F6E3M2FN] = {6, 3, 2, 3, HR_SPECIALS_FINITE},
      [HR_F8E3M4] = {8, 3, 4, 3, HR_SPECIALS_IEEE},
      [HR_F8E4M3] = {8, 4, 3, 7, HR_SPECIALS_IEEE},
      [HR_F8E4M3FN] = {8, 4, 3, 7, HR_SPECIALS_FN},
      [HR_F8E4M3B11FNUZ] = {8, 4, 3, 11, HR_SPECIALS_FNUZ},
      [HR_F8E4M3FNUZ] = {8, 4, 3, 8, HR_SPECIALS_FNUZ},
      [HR_F8E5M2] = {8, 5, 2, 15, HR_SPECIALS_IEEE},
      [HR_F8E5M2FNUZ] = {8, 5, 2, 16, HR_SPECIALS_FNUZ},
      [HR_F8E8M0FNU] = {8, 8, 0, 127, HR_SPECIALS_E8M0},
      [HR_F16] = {16, 5, 10, 15, HR_SPECIALS_IEEE},
      [HR_BF16] = {16, 8, 7, 127, HR_SPECIALS_IEEE},
      [HR_F32] = {32, 8, 23, 127, HR_SPECIALS_IEEE},
      [HR_F64] = {64, 11, 52, 1023, HR_SPECIALS_IEEE},
  };
  return formats[type].bits ? &formats[type] : NULL;
}

/* Bits of NaN, without sign; 0 where the format has none. */
static uint64_t nan_bits(const hr_float_format_t *f) {
  switch (f->specials) {
    case HR_SPECIALS_IEEE:
      return (((UINT64_C(1) << f->exponent_bits) - 1) << f->mantissa_bits) |
             (UINT64_C(1) << (f->mantissa_bits - 1));
    case HR_SPECIALS_FN:
      return (UINT64_C(1) << (f->bits - 1)) - 1;
    case HR_SPECIALS_FNUZ:
      return UINT64_C(1) << (f->bits - 1);
    case HR_SPECIALS_FINITE:
      return 0;
    case HR_SPECIALS_E8M0:
      return 0xff;
  }
  return 0;
}

/* The pattern of the largest finite number, without sign. */
static uint64_t largest_bits(const hr_float_format_t *f) {
  uint64_t all_ones = (UINT64_C(1) << (f->exponent_bits + f->mantissa_bits)) - 1;
  if (f->specials == HR_SPECIALS_IEEE) return all_ones - (UINT64_C(1) << f->mantissa_bits);
  if (f->specials == HR_SPECIALS_FN || f->specials == HR_SPECIALS_E8M0) return all_ones - 1;
  return all_ones;
}

uint64_t hr_float_largest(hr_dtype_t type) { return largest_bits(hr_float_format(type)); }

/* Bits of a number too large to represent, without sign: infinity, NaN, or the largest number. */
static uint64_t overflow_bits(const hr_float_format_t *f) {
  if (f->specials == HR_SPECIALS_IEEE)
    return ((UINT64_C(1) << f->exponent_bits) - 1) << f->mantissa_bits;
  return f->specials == HR_SPECIALS_FINITE ? largest_bits(f) : nan_bits(f);
}

/* Powers of two only: NaN for numbers that are not positive; smaller ones become 2^-127. */
static uint64_t encode_e8m0(double value) {
  if (!(value > 0)) return 0xff;
  int exponent;
  double fraction =
      frexp(value, &exponent); /* value = fraction * 2^exponent, fraction in [0.5, 1) */
  /* To the nearer power of two: of the significands 1 and 2 between which a tie lies, 2 is even. */
  int64_t biased = (int64_t)exponent - 1 + 127;
  if (isinf(value)) return 0xff;
  if (biased < 0) return 0;
  if (fraction >= 0.75) biased++;
  return biased > 254 ? 0xff : (uint64_t)biased;
}

/* Works for every format, one number at a time; arrays use the loops below. */
uint64_t hr_float_encode(hr_dtype_t type, double value) {
  const hr_float_format_t *f = hr_float_format(type);
  if (type == HR_F64) {
    uint64_t bits;
    memcpy(&bits, &value, 8);
    return bits;
  }
  if (f->specials == HR_SPECIALS_E8M0) return encode_e8m0(value);
  bool negative = signbit(value);
  uint64_t sign = (uint64_t)negative << (f->bits - 1);
  if (isnan(value)) {
    if (f->specials == HR_SPECIALS_FINITE)
      return UINT64_C(1) << (f->bits - 1); /* as ml_dtypes: -0 */
    return f->specials == HR_SPECIALS_FNUZ ? nan_bits(f) : sign | nan_bits(f);
  }
  double magnitude = fabs(value);
  uint64_t bits;
  if (isinf(magnitude)) {
    bits = overflow_bits(f);
  } else if (magnitude == 0) {
    bits = 0;
  } else {
    int exponent;
    frexp(magnitude, &exponent);
    int least = 1 - f->bias; /* exponent of the smallest normal number */
    int scale = exponent - 1 > least ? exponent - 1 : least;
    /* In units of the last place this is below 2^(mantissa_bits + 1), and rounding it is exact. */
    uint64_t units = (uint64_t)nearbyint(ldexp(magnitude, f->mantissa_bits - scale));
    /* Normal numbers have the implicit bit in `units`, so that adding them to the exponent field
     * carries rightly. */
    bits = units + ((uint64_t)(scale - least) << f->mantissa_bits);
    if (bits > largest_bits(f)) bits = overflow_bits(f);
  }
  if (f->specials == HR_SPECIALS_FNUZ && (bits == 0 || bits == nan_bits(f))) return bits;
  return sign | bits;
}

/* Exact: f64 has room for every number of the other formats. */
double hr_float_decode(hr_dtype_t type, uint64_t bits) {
  const hr_float_format_t *f = hr_float_format(type);
  if (type == HR_F64) {
    double value;
    memcpy(&value, &bits, 8);
    return value;
  }
  if (f->specials == HR_SPECIALS_E8M0) return bits == 0xff ? NAN : ldexp(1.0, (int)bits - 127);
  uint64_t sign_bit = UINT64_C(1) << (f->bits - 1), magnitude = bits & (sign_bit - 1);
  bool negative = bits & sign_bit;
  if (f->specials == HR_SPECIALS_FNUZ && bits == sign_bit) return NAN;
  double value;
  if (magnitude > largest_bits(f)) {
    value = f->specials == HR_SPECIALS_IEEE && magnitude == overflow_bits(f) ? INFINITY : NAN;
  } else {
    uint64_t mantissa = magnitude & ((UINT64_C(1) << f->mantissa_bits) - 1);
    int exponent = (int)(magnitude >> f->mantissa_bits);
    if (exponent) mantissa |= UINT64_C(1) << f->mantissa_bits;
    value = ldexp((double)mantissa, (exponent ? exponent : 1) - f->bias - f->mantissa_bits);
  }
  return negative ? -value : value;
}

/* The conversions below work on the bits of f32, without branches or divisions, so that loops over
 * them become vector code also on processors that have no instructions for half precision. */

static inline uint32_t bits_of(float value) {
  return ((union {
           float f;
           uint32_t u;
         }){.f = value})
      .u;
}
static inline float float_of(uint32_t bits) {
  return ((union {
           uint32_t u;
           float f;
         }){.u = bits})
      .f;
}

/* Three results are computed and one is selected, so that the loop vectorises. */
static inline float f16_to_f32(uint16_t bits) {
  uint32_t sign = (uint32_t)(bits & 0x8000) << 16, magnitude = bits & 0x7fff;
  uint32_t normal = (magnitude << 13) + (112u << 23);
  uint32_t denormal = bits_of((float)(int32_t)magnitude * 0x1p-24f);
  uint32_t special = magnitude << 13 | 0x7f800000; /* infinity, and NaN with its payload */
  uint32_t finite = magnitude < 0x400 ? denormal : normal;
  return float_of(sign | (magnitude >= 0x7c00 ? special : finite));
}

/* The inverse, to nearest even; overflow gives infinity. */
static inline uint16_t f32_to_f16(float value) {
  uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  uint32_t normal = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
  /* Adding 1.5 * 2^-1 leaves the number of units of 2^-24 in the low bits, rounded by the
   * addition. */
  uint32_t denormal = bits_of(float_of(magnitude) + 0.75f) - bits_of(0.75f);
  uint32_t special = magnitude > 0x7f800000 ? 0x7e00 | (magnitude >> 13 & 0x1ff) : 0x7c00;
  uint32_t finite = magnitude < 0x38800000 ? denormal : normal;
  return (uint16_t)(sign | (magnitude >= 0x47800000 ? special : finite));
}

/* Arrays of half precision, in the widest vectors of the processor. */
#if HR_HAS_CLONES
#define WIDE_LOOP __attribute__((optimize("O3"))) HR_CLONES("arch=x86-64-v4", "avx2", "default")
#else
#define WIDE_LOOP
#endif

#if defined(__x86_64__)
/* Converts whole vectors by the processor's instructions; returns the number of elements. */
__attribute__((target("avx,f16c"))) static int64_t f16_vectors_to_f32(const uint16_t *from,
                                                                      float *to, int64_t count) {
  int64_t i = 0;
  if (!__builtin_cpu_supports("f16c")) return 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + i))));
  return i;
}

__attribute__((target("avx,f16c"))) static int64_t f16_vectors_from_f32(const float *from,
                                                                        uint16_t *to,
                                                                        int64_t count) {
  int64_t i = 0;
  if (!__builtin_cpu_supports("f16c")) return 0;
  for (; i + 8 <= count; i += 8) {
    __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128((__m128i *)(to + i), halves);
  }
  return i;
}
#else
static int64_t f16_vectors_to_f32(const uint16_t *from, float *to, int64_t count) {
  (void)from, (void)to, (void)count;
  return 0;
}
static int64_t f16_vectors_from_f32(const float *from, uint16_t *to, int64_t count) {
  (void)from, (void)to, (void)count;
  return 0;
}
#endif

static void f16s_to_f32(const uint16_t *from, float *to, int64_t count) {
  for (int64_t i = f16_vectors_to_f32(from, to, count); i < count; i++) to[i] = f16_to_f32(from[i]);
}

static void f16s_from_f32(const float *from, uint16_t *to, int64_t count) {
  for (int64_t i = f16_vectors_from_f32(from, to, count); i < count; i++)
    to[i] = f32_to_f16(from[i]);
}

WIDE_LOOP static void bf16s_to_f32(const uint16_t *from, float *to, int64_t count) {
  for (int64_t i = 0; i < count; i++) to[i] = hr_bf16_to_f32(from[i]);
}

WIDE_LOOP static void bf16s_from_f32(const float *from, uint16_t *to, int64_t count) {
  for (int64_t i = 0; i < count; i++) to[i] = hr_f32_to_bf16(from[i]);
}

float hr_f16_to_f32(uint16_t bits) { return f16_to_f32(bits); }
uint16_t hr_f32_to_f16(float value) { return f32_to_f16(value); }

/* hr_float_encode for the types of 8 bits and fewer but f8e8m0fnu, from f32. The three patterns are
 * worked out once per array. */
typedef struct narrow_encoder {
  const hr_float_format_t *format;
  uint32_t largest, overflow;
  uint32_t least_normal; /* bits of the smallest normal number, as f32 */
  float shifter;         /* 1.5 * 2^k, where an f32 has the unit of this type's denormals */
} narrow_encoder_t;

/* Constants of encode_narrow for one type. */
static narrow_encoder_t narrow_encoder(hr_dtype_t type) {
  const hr_float_format_t *f = hr_float_format(type);
  return (narrow_encoder_t){.format = f,
                            .largest = (uint32_t)largest_bits(f),
                            .overflow = (uint32_t)overflow_bits(f),
                            .least_normal = (uint32_t)(128 - f->bias) << 23,
                            .shifter = ldexpf(1.5f, 24 - f->bias - f->mantissa_bits)};
}

/* Gives the bits of hr_float_encode, without its double arithmetic. */
static uint8_t encode_narrow(const narrow_encoder_t *encoder, hr_dtype_t type, float value) {
  const hr_float_format_t *f = encoder->format;
  uint32_t bits = bits_of(value), magnitude = bits & 0x7fffffff, result;
  if (magnitude > 0x7f800000) return (uint8_t)hr_float_encode(type, value); /* NaN */
  if (magnitude < encoder->least_normal) {
    result = bits_of(float_of(magnitude) + encoder->shifter) - bits_of(encoder->shifter);
  } else {
    int dropped = 23 - f->mantissa_bits;
    uint32_t rebiased = magnitude - ((uint32_t)(127 - f->bias) << 23);
    result = (rebiased + (1u << (dropped - 1)) - 1 + (rebiased >> dropped & 1)) >> dropped;
  }
  if (result > encoder->largest) result = encoder->overflow;
  uint32_t sign = 1u << (f->bits - 1);
  bool unsigned_result = f->specials == HR_SPECIALS_FNUZ && (result == 0 || result == sign);
  return (uint8_t)(bits >> 31 && !unsigned_result ? result | sign : result);
}

static float narrow_tables[HR_DTYPE_COUNT]
                          [256]; /* value of each pattern of the types of 8 bits and fewer */

/* Patterns beyond the type's bits repeat those within. */
static void fill_narrow_tables(void) {
  for (int type = 0; type < HR_DTYPE_COUNT; type++) {
    const hr_float_format_t *f = hr_float_format((hr_dtype_t)type);
    if (!f || f->bits > 8) continue;
    for (unsigned bits = 0; bits < 256; bits++)
      narrow_tables[type][bits] =
          (float)hr_float_decode((hr_dtype_t)type, bits & ((1u << f->bits) - 1));
  }
}

/* Types of up to 8 bits are looked up in a table of 256 entries, filled once per process. */
void hr_floats_to_f32(hr_dtype_t type, const void *from, float *to, int64_t count) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (type == HR_F32) {
    memcpy(to, from, (size_t)count * sizeof *to);
  } else if (type == HR_BF16) {
    bf16s_to_f32(from, to, count);
  } else if (type == HR_F16) {
    f16s_to_f32(from, to, count);
  } else {
    pthread_once(&once, fill_narrow_tables);
    const float *table = narrow_tables[type];
    for (int64_t i = 0; i < count; i++) to[i] = table[((const uint8_t *)from)[i]];
  }
}

void hr_floats_from_f32(hr_dtype_t type, const float *from, void *to, int64_t count) {
  if (type == HR_F32) {
    memcpy(to, from, (size_t)count * sizeof *from);
  } else if (type == HR_BF16) {
    bf16s_from_f32(from, to, count);
  } else if (type == HR_F16) {
    f16s_from_f32(from, to, count);
  } else if (type == HR_F8E8M0FNU) {
    for (int64_t i = 0; i < count; i++) ((uint8_t *)to)[i] = (uint8_t)encode_e8m0(from[i]);
  } else {
    narrow_encoder_t encoder = narrow_encoder(type);
    for (int64_t i = 0; i < count; i++) ((uint8_t *)to)[i] = encode_narrow(&encoder, type, from[i]);
  }
}
