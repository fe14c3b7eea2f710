/* Random parameters from a counter-based generator: element i depends on (seed, parameter, i) only,
 * so that shards of an array agree on any grid. */
#include "cli/arrays/cli_random.h"

#include <math.h>
#include <string.h>

#include "cli/arrays/cli_index_bounds.h"

#define SMALL_INTEGER 8

/* The mixing function of SplitMix64, applied to a position. */
uint64_t cli_random_bits(uint64_t seed, uint64_t stream, uint64_t index) {
  uint64_t z = seed * UINT64_C(0xD1342543DE82EF95) + stream * UINT64_C(0xA24BAED4963EE407) +
               (index + 1) * UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

/* A float in [-1, 1) from 24 random bits, exact in f32. */
static double unit_float(uint64_t bits) { return (double)(int64_t)(bits >> 40) / (1 << 23) - 1; }

/* A number below `bound`: the high half of a product, with little bias. */
static uint64_t below(uint64_t bits, uint64_t bound) {
  return (uint64_t)((__uint128_t)bits * bound >> 64);
}

static int64_t integer_value(hr_dtype_t dtype, uint64_t bits, int64_t bound) {
  int width = hr_dtype_table[dtype].bits;
  bool is_signed = hr_dtype_class(dtype) == HR_CLASS_SIGNED;
  int64_t highest = SMALL_INTEGER, lowest = is_signed ? -SMALL_INTEGER : 0;
  if (bound != CLI_NO_BOUND) {
    lowest = 0;
    highest = bound - 1;
  }
  if (width < 63) { /* clamp to the range of the type */
    int64_t limit = (INT64_C(1) << (is_signed ? width - 1 : width)) - 1;
    if (highest > limit) highest = limit;
    if (is_signed && lowest < -limit - 1) lowest = -limit - 1;
  }
  return lowest + (int64_t)below(bits, (uint64_t)(highest - lowest) + 1);
}

static void store_float(hr_dtype_t dtype, void *at, int64_t i, double value) {
  if (dtype == HR_F32) {
    ((float *)at)[i] = (float)value;
  } else {
    uint64_t bits = hr_float_encode(dtype, value);
    memcpy((char *)at + (size_t)i * hr_dtype_bytes(dtype), &bits, hr_dtype_bytes(dtype));
  }
}

/* --- wild values ----------------------------------------------------------------------------- */

typedef enum wildness { TAME, FEW_SPECIAL, FEW_WILD, MANY_WILD, WILDNESS_COUNT } wildness_t;

/* Special values, or random bits, which include huge and denormal numbers. */
static void store_wild_float(hr_dtype_t part, void *at, int64_t i, uint64_t bits,
                             wildness_t wildness) {
  static const double specials[] = {NAN, INFINITY, -INFINITY, -0.0, 0, 1, -1, 0.5, -2, 88.8};
  size_t count = sizeof specials / sizeof *specials;
  uint64_t which = below(bits << 8, wildness == FEW_SPECIAL ? count : 2 * count);
  if (which < count) {
    store_float(part, at, i, specials[which]);
    return;
  }
  uint64_t any = cli_random_bits(bits, 1, 0) >> (64 - hr_dtype_table[part].bits);
  if (which == count) any = bits >> 32 & 1; /* zero or the smallest denormal number */
  memcpy((char *)at + (size_t)i * hr_dtype_bytes(part), &any, hr_dtype_bytes(part));
}

/* Smallest and largest values of the type, their neighbours, 0, 1 and the width; s1 and s2 cannot
 * hold all of them. */
static int64_t wild_integer(hr_dtype_t part, uint64_t bits) {
  int width = hr_dtype_table[part].bits;
  bool is_signed = hr_dtype_class(part) == HR_CLASS_SIGNED;
  uint64_t most = ~(uint64_t)0 >> (64 - width + is_signed);
  uint64_t least = is_signed ? ~most : 0;
  uint64_t one = most < 1 ? most : 1;
  uint64_t size = most < (uint64_t)width ? most : (uint64_t)width;
  const uint64_t ends[] = {most, least, most - 1, least + 1, 0, one, size, most / 2};
  return (int64_t)ends[below(bits << 8, sizeof ends / sizeof *ends)];
}

static bool is_wild(wildness_t wildness, uint64_t bits) {
  uint64_t kind = bits >> 56;
  return wildness == MANY_WILD ? kind < 128 : wildness != TAME && kind < 24;
}

/* Replaces some numbers by NaN, infinities, zeros and the ends of the type; how many, is drawn
 * for each array. */
static void fill_wild(hlo_value_t *value, uint64_t seed, int k) {
  hr_dtype_t part = hr_dtype_real(value->dtype);
  int64_t count = value->count * (hr_dtype_is_complex(value->dtype) ? 2 : 1);
  wildness_t wildness =
      (wildness_t)below(cli_random_bits(seed, (uint64_t)k, UINT32_MAX), WILDNESS_COUNT);
  for (int64_t i = 0; i < count && part != HR_PRED; i++) {
    uint64_t bits = cli_random_bits(seed + 1, (uint64_t)k, (uint64_t)i);
    if (!is_wild(wildness, bits)) continue;
    if (hr_dtype_is_float(part)) {
      store_wild_float(part, value->data, i, bits, wildness);
      continue;
    }
    int64_t integer = wild_integer(part, bits);
    size_t bytes = hr_dtype_bytes(part);
    memcpy((char *)value->data + (size_t)i * bytes, &integer, bytes);
  }
}

/* Floats lie between -1 and 1, integers within `bound`. The numbers depend on seed, array and
 * position alone. */
static void fill_random(hlo_value_t *value, uint64_t seed, int k, int64_t bound) {
  hr_dtype_t part = hr_dtype_real(value->dtype);
  int64_t count = value->count * (hr_dtype_is_complex(value->dtype) ? 2 : 1);
  size_t bytes = hr_dtype_bytes(part);
  for (int64_t i = 0; i < count; i++) {
    uint64_t bits = cli_random_bits(seed, (uint64_t)k, (uint64_t)i);
    if (hr_dtype_is_float(part)) {
      double number = unit_float(bits);
      store_float(part, value->data, i, part == HR_F8E8M0FNU ? fabs(number) + 0.125 : number);
      continue;
    }
    int64_t integer = part == HR_PRED ? (int64_t)(bits >> 63) : integer_value(part, bits, bound);
    memcpy((char *)value->data + (size_t)i * bytes, &integer, bytes);
  }
}

hr_status_t cli_random_value(const hlo_shape_t *shape, int k, const cli_random_t *random,
                             hlo_value_t **out_value) {
  int64_t dims[HLO_MAX_RANK];
  for (int d = 0; d < shape->rank; d++)
    dims[d] = shape->dims[d] == HLO_UNBOUNDED ? 1 : shape->dims[d];
  HR_TRY(hlo_value_array(shape->dtype, shape->rank, dims, out_value));
  fill_random(*out_value, random->seed, k, random->bound);
  if (random->is_wild) fill_wild(*out_value, random->seed, k);
  return NULL;
}
