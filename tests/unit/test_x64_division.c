/* Divisions in machine code of jit/x64: by constants and by what is read, of all widths, of single
 * numbers and of vectors. */
#include "tests/lib/x64_kernel.h"

static void try_division(uint32_t divisor) {
  enum { LANES = 16 };
  uint32_t in[LANES] = {0,       1,           UINT32_MAX, UINT32_MAX - 1, 1u << 31, (1u << 31) - 1,
                        divisor, divisor - 1, divisor + 1};
  uint32_t out[2 * LANES];
  x64_kernel_t test;
  for (uint32_t i = 9; i < LANES; i++) in[i] = i * 268435399u / 3 * divisor;
  x64_kernel_begin(&test);
  kir_type_t *type = kir_vector_type(kir_int_type(test.code.module, 32), LANES);
  kir_value_t *x = x64_kernel_load(&test, type, 0), *all = jit_int(type, divisor);
  x64_kernel_store(&test, kir_udiv(test.code.builder, x, all), 0);
  x64_kernel_store(&test, kir_urem(test.code.builder, x, all), 1);
  x64_kernel_fn run = x64_kernel_finish(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  run(out, in, 0);
  for (int i = 0; i < LANES; i++) {
    CU_ASSERT_EQUAL(out[i], in[i] / divisor);
    CU_ASSERT_EQUAL(out[LANES + i], in[i] % divisor);
  }
  jit_object_unload(test.object);
}

static const int64_t wide_numbers[] = {
    0,          1,     -1,     INT64_MIN, INT64_MIN + 1, INT64_MAX,      INT64_MAX / 3, 7,
    4294967295, 99999, -99999, 1L << 52,  1L << 53,      (1L << 53) + 1, -(1L << 61),   10};
#define WIDE_NUMBERS ((int)(sizeof wide_numbers / sizeof *wide_numbers))

static void expect_quotients(const int64_t *in, const uint64_t *out, int64_t divisor) {
  uint64_t by = (uint64_t)divisor;
  for (int i = 0; i < WIDE_NUMBERS; i++) {
    CU_ASSERT_EQUAL(out[i], (uint64_t)in[i] / by);
    CU_ASSERT_EQUAL(out[WIDE_NUMBERS + i], (uint64_t)in[i] % by);
    if (divisor == -1) continue;
    CU_ASSERT_EQUAL((int64_t)out[2 * WIDE_NUMBERS + i], in[i] / divisor);
    CU_ASSERT_EQUAL((int64_t)out[3 * WIDE_NUMBERS + i], in[i] % divisor);
  }
}

/* Of 64 bits, with signs and without, so many lanes at a time, by a constant or by what is read. */
static void try_wide_division(int64_t divisor, unsigned lanes, bool is_known) {
  static kir_binary_fn *const builds[] = {kir_udiv, kir_urem, kir_sdiv, kir_srem};
  uint64_t out[4 * WIDE_NUMBERS];
  int64_t in[WIDE_NUMBERS + 8];
  x64_kernel_t test;
  memcpy(in, wide_numbers, sizeof wide_numbers);
  for (int i = 0; i < 8; i++) in[WIDE_NUMBERS + i] = divisor;
  x64_kernel_begin(&test);
  kir_type_t *type = lanes == 1 ? test.i64 : kir_vector_type(test.i64, lanes);
  int count = WIDE_NUMBERS / (int)lanes;
  for (int k = 0; k < (divisor == -1 ? 2 : 4); k++)
    for (int i = 0; i < count; i++) {
      kir_value_t *by = is_known ? jit_int(type, divisor) : x64_kernel_load(&test, type, count);
      x64_kernel_store(&test, builds[k](test.code.builder, x64_kernel_load(&test, type, i), by),
                       k * count + i);
    }
  x64_kernel_fn run = x64_kernel_finish(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  run(out, in, 0);
  expect_quotients(in, out, divisor);
  jit_object_unload(test.object);
}

static void try_wide_divisions(int64_t divisor) {
  for (unsigned lanes = 1; lanes <= 8; lanes *= 2) {
    try_wide_division(divisor, lanes, true);
    try_wide_division(divisor, lanes, false);
  }
}

/* Numbers of a type of up to 32 bits, and what is near multiples of the divisor. */
enum { NARROW_NUMBERS = 32 };

static void list_narrow_numbers(int64_t divisor, int bits, int32_t *out_numbers) {
  static const int64_t ends[] = {0, 1, -1, INT32_MAX, INT32_MIN, INT32_MIN + 1, 77, -99};
  for (int i = 0; i < NARROW_NUMBERS; i++) {
    int64_t number = i < 8 ? ends[i] : divisor * (i / 3 - 6) + i % 3 - 1;
    if (bits < 32) number = i < 8 && i > 2 ? number >> (32 - bits) : number;
    out_numbers[i] = (int32_t)((int64_t)((uint64_t)number << (64 - bits)) >> (64 - bits));
  }
}

/* The lowest bits of a number, with its sign or without. */
static int64_t as_wide(int64_t number, int bits, bool is_signed) {
  uint64_t raised = (uint64_t)number << (64 - bits);
  return is_signed ? (int64_t)raised >> (64 - bits) : (int64_t)(raised >> (64 - bits));
}

/* Of up to 32 bits, as one number and as vectors, by a constant. */
static void try_narrow_division(int64_t divisor, int bits, unsigned lanes) {
  static kir_binary_fn *const builds[] = {kir_udiv, kir_urem, kir_sdiv, kir_srem};
  int32_t in[NARROW_NUMBERS], out[4 * NARROW_NUMBERS];
  x64_kernel_t test;
  list_narrow_numbers(divisor, bits, in);
  x64_kernel_begin(&test);
  kir_type_t *narrow = kir_int_type(test.code.module, (unsigned)bits),
             *wide = kir_int_type(test.code.module, 32);
  kir_type_t *type = lanes == 1 ? narrow : kir_vector_type(narrow, lanes),
             *stored = lanes == 1 ? wide : kir_vector_type(wide, lanes);
  int count = NARROW_NUMBERS / (int)lanes;
  for (int k = 0; k < 4; k++)
    for (int i = 0; i < count; i++) {
      kir_value_t *x =
          kir_int_cast(test.code.builder, x64_kernel_load(&test, stored, i), type, true);
      kir_value_t *result = builds[k](test.code.builder, x, jit_int(type, divisor));
      x64_kernel_store(&test, kir_int_cast(test.code.builder, result, stored, k > 1),
                       k * count + i);
    }
  x64_kernel_fn run = x64_kernel_finish(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  run(out, in, 0);
  for (int k = 0; k < 4; k++)
    for (int i = 0; i < NARROW_NUMBERS; i++) {
      int64_t x = as_wide(in[i], bits, k > 1), by = as_wide(divisor, bits, k > 1);
      int64_t want = k % 2 ? x % by : x / by;
      CU_ASSERT_EQUAL(as_wide(out[k * NARROW_NUMBERS + i], bits, k > 1),
                      as_wide(want, bits, k > 1));
    }
  jit_object_unload(test.object);
}

static void test_narrow_divisions(void) {
  static const int64_t divisors[] = {2,  3,  4,   5,   7,    8,    10,      16,       17,
                                     32, 64, 100, 127, 1000, 4096, 1 << 20, INT32_MAX};
  if (!x64_kernel_can_run()) return;
  for (size_t i = 0; i < sizeof divisors / sizeof *divisors; i++)
    for (int bits = 8; bits <= 32; bits *= 2)
      for (unsigned lanes = 1; lanes <= 16; lanes *= 4)
        if (divisors[i] >> (bits - 1) == 0) try_narrow_division(divisors[i], bits, lanes);
}

static void test_divisions(void) {
  static const uint32_t divisors[] = {2,   3,     5,     7,     9,         10,       100,
                                      641, 65535, 65536, 65537, INT32_MAX, 1u << 31, UINT32_MAX};
  if (!x64_kernel_can_run()) return;
  for (size_t i = 0; i < sizeof divisors / sizeof *divisors; i++) {
    try_division(divisors[i]);
    try_wide_divisions(divisors[i]);
  }
  for (int i = 1; i < WIDE_NUMBERS; i++) try_wide_divisions(wide_numbers[i]);
}

CU_TestInfo suite_x64_division[] = {
    {"divisions by constants", test_divisions},
    {"divisions of narrow numbers by constants", test_narrow_divisions},
    CU_TEST_INFO_NULL,
};
