/* Elementwise kernels: integers, conversions, strides, errors, and the reference kernel around
 * them. */
#include <math.h>

#include "ops/kernels/elementwise/elementwise.h"
#include "tests/lib/elementwise_run.h"
#include "tests/lib/kernel_env.h"
#include "tests/lib/unit.h"

/* --- integers --------------------------------------------------------------------------------- */

/* The value of the low `bits` bits of x in a signed or unsigned type: what wrapping means. */
static int wrap_to(int64_t x, int bits, bool is_signed) {
  int64_t low = x & ((1 << bits) - 1);
  return (int)(is_signed && low >> (bits - 1) ? low - (1 << bits) : low);
}

/* Integer ops by another road: in 64 bits, wrapped at the end. */
static int64_t integer_model(hlo_opcode_t op, int64_t a, int64_t b, int bits, bool is_signed) {
  int64_t ua = wrap_to(a, bits, false), sa = wrap_to(a, bits, true);
  bool out = b < 0 || b >= bits;
  switch (op) {
    case HLO_ADD:
      return a + b;
    case HLO_SUBTRACT:
      return a - b;
    case HLO_MULTIPLY:
      return a * b;
    case HLO_DIVIDE:
      return b == 0 ? -1 : a / b;
    case HLO_REMAINDER:
      return b == 0 ? a : a % b;
    case HLO_MAXIMUM:
      return a > b ? a : b;
    case HLO_MINIMUM:
      return a < b ? a : b;
    case HLO_AND:
      return a & b;
    case HLO_OR:
      return a | b;
    case HLO_XOR:
      return a ^ b;
    case HLO_SHIFT_LEFT:
      return out ? 0 : ua << b;
    case HLO_SHIFT_RIGHT_LOGICAL:
      return out ? 0 : ua >> b;
    case HLO_SHIFT_RIGHT_ARITHMETIC:
      return sa >> (out ? bits - 1 : b);
    case HLO_MULHI:
      return (a * b) >> bits;
    case HLO_POWER: {
      if (b < 0 && a == -1) return b & 1 ? -1 : 1;
      if (b < 0) return a == 1;
      int64_t power = 1;
      for (int64_t i = 0; i < b; i++) power = wrap_to(power * a, bits, is_signed);
      return power;
    }
    default:
      return 0;
  }
}

/* Every pair of values of every type of up to 8 bits. */
static void small_integers(void) {
  static const hr_dtype_t types[] = {HR_S1, HR_S2, HR_S4, HR_S8, HR_U1, HR_U2, HR_U4, HR_U8};
  static const hlo_opcode_t ops[] = {HLO_ADD,
                                     HLO_SUBTRACT,
                                     HLO_MULTIPLY,
                                     HLO_DIVIDE,
                                     HLO_REMAINDER,
                                     HLO_MAXIMUM,
                                     HLO_MINIMUM,
                                     HLO_AND,
                                     HLO_OR,
                                     HLO_XOR,
                                     HLO_SHIFT_LEFT,
                                     HLO_SHIFT_RIGHT_LOGICAL,
                                     HLO_SHIFT_RIGHT_ARITHMETIC,
                                     HLO_MULHI,
                                     HLO_POWER};
  static int8_t a[65536], b[65536], out[65536];
  for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
    int bits = hr_dtype_table[types[t]].bits, values = 1 << bits, count = values * values;
    bool is_signed = hr_dtype_class(types[t]) == HR_CLASS_SIGNED;
    for (int i = 0; i < count; i++) {
      a[i] = (int8_t)wrap_to(i / values, bits, is_signed);
      b[i] = (int8_t)wrap_to(i % values, bits, is_signed);
    }
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
      unsigned wrong = 0;
      binary(ops[o], types[t], a, b, count, out);
      for (int i = 0; i < count; i++) {
        int64_t x = is_signed ? a[i] : (uint8_t)a[i];
        int64_t y = is_signed ? b[i] : (uint8_t)b[i];
        wrong += out[i] !=
                 (int8_t)wrap_to(integer_model(ops[o], x, y, bits, is_signed), bits, is_signed);
      }
      if (wrong) printf("  %s of %s\n", hlo_op_name(ops[o]), hr_dtype_name(types[t]));
      CU_ASSERT_EQUAL(wrong, 0);
    }
  }
}

static void large_integers(void) {
  const int32_t a[] = {INT32_MIN, INT32_MIN, 7, -7, -7, INT32_MAX}, b[] = {-1, 0, 0, 2, -1, 1};
  int32_t out[6];
  binary(HLO_DIVIDE, HR_S32, a, b, 6, out);
  EXPECT(int32_t, out, INT32_MIN, -1, -1, -3, 7, INT32_MAX);
  binary(HLO_REMAINDER, HR_S32, a, b, 6, out);
  EXPECT(int32_t, out, 0, INT32_MIN, 7, -1, 0, 0);
  binary(HLO_ADD, HR_S32, a, b, 6, out);
  EXPECT(int32_t, out, INT32_MAX, INT32_MIN, 7, -5, -8, INT32_MIN);
  const uint64_t c[] = {UINT64_MAX, 3, UINT64_MAX}, d[] = {UINT64_MAX, 0, 64};
  uint64_t wide[3];
  binary(HLO_MULHI, HR_U64, c, d, 3, wide);
  EXPECT(uint64_t, wide, UINT64_MAX - 1, 0, 63);
  binary(HLO_DIVIDE, HR_U64, c, d, 3, wide);
  EXPECT(uint64_t, wide, 1, UINT64_MAX, UINT64_MAX / 64);
  binary(HLO_SHIFT_LEFT, HR_U64, c, d, 3, wide);
  EXPECT(uint64_t, wide, 0, 3, 0);
  binary(HLO_POWER, HR_U64, d + 1, c + 1, 1, wide);
  EXPECT(uint64_t, wide, 0);
}

static void bit_counts(void) {
  const int8_t s4[] = {-8, -1, 0, 7};
  int8_t out[4];
  unary(HLO_POPCNT, HR_S4, HR_S4, s4, 4, out);
  EXPECT(int8_t, out, 1, 4, 0, 3);
  unary(HLO_COUNT_LEADING_ZEROS, HR_S4, HR_S4, s4, 4, out);
  EXPECT(int8_t, out, 0, 0, 4, 1);
  unary(HLO_ABS, HR_S4, HR_S4, s4, 4, out);
  EXPECT(int8_t, out, -8, 1, 0, 7);
  unary(HLO_NOT, HR_U4, HR_U4, (uint8_t[]){0, 15, 5, 8}, 4, out);
  EXPECT(int8_t, out, 15, 0, 10, 7);
  unary(HLO_NOT, HR_PRED, HR_PRED, (uint8_t[]){0, 1, 1, 0}, 4, out);
  EXPECT(int8_t, out, 1, 0, 0, 1);
}

/* --- conversions ------------------------------------------------------------------------------ */

static void saturates(void) {
  const float x[] = {1e10f, -1e10f, NAN, -1.9f, 7.9f, -0.5f, INFINITY};
  int8_t s4[7];
  uint8_t u8[7];
  int64_t s64[7];
  uint64_t u64[7];
  unary(HLO_CONVERT, HR_F32, HR_S4, x, 7, s4);
  EXPECT(int8_t, s4, 7, -8, 0, -1, 7, 0, 7);
  unary(HLO_CONVERT, HR_F32, HR_U8, x, 7, u8);
  EXPECT(uint8_t, u8, 255, 0, 0, 0, 7, 0, 255);
  unary(HLO_CONVERT, HR_F32, HR_S64, (float[]){1e19f, -1e19f, NAN, -1.9f, 0x1p62f}, 5, s64);
  EXPECT(int64_t, s64, INT64_MAX, INT64_MIN, 0, -1, (int64_t)1 << 62);
  unary(HLO_CONVERT, HR_F64, HR_U64, (double[]){1e20, -1, NAN, 0x1p63, -0.9}, 5, u64);
  EXPECT(uint64_t, u64, UINT64_MAX, 0, 0, (uint64_t)1 << 63, 0);
  unary(HLO_CONVERT, HR_F32, HR_PRED, (float[]){0, -0.0f, NAN, 1e-45f}, 4, u8);
  EXPECT(uint8_t, u8, 0, 0, 1, 1);
  unary(HLO_CONVERT, HR_S32, HR_U4, (int32_t[]){-1, 16, 31, 5}, 4, u8);
  EXPECT(uint8_t, u8, 15, 0, 15, 5);
}

/* From wider numbers to narrow floats there is one rounding: the tie is decided by bits that f32
 * does not have. */
static void rounds_once(void) {
  uint16_t out[4];
  unary(HLO_CONVERT, HR_F64, HR_BF16,
        (double[]){1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-8, -1 - 0x1p-8 - 0x1p-50, -INFINITY}, 4, out);
  EXPECT(uint16_t, out, 0x3f81, 0x3f80, 0xbf81, 0xff80);
  unary(HLO_CONVERT, HR_S64, HR_BF16,
        (int64_t[]){(1ll << 40) + (1ll << 32) + 1, (1ll << 40) + (1ll << 32), -257, 0}, 4, out);
  EXPECT(uint16_t, out, 0x5381, 0x5380, 0xc380, 0);
  unary(HLO_CONVERT, HR_F64, HR_F16, (double[]){1e-300, 65519.999, 0x1p-25 + 0x1p-60, 1e300}, 4,
        out);
  EXPECT(uint16_t, out, 0, 0x7bff, 1, 0x7c00);
  unary(HLO_CONVERT, HR_U32, HR_F16, (uint32_t[]){2049, 2051, 65519, 65520}, 4, out);
  EXPECT(uint16_t, out, 0x6800, 0x6802, 0x7bff, 0x7c00);
}

static void stochastic(void) {
  const float x[] = {2.25f, 2.25f, -2.25f, -2.25f, 300, NAN, 3};
  const uint32_t random[] = {0x3fffffff, 0x40000000, 0, 0xffffffff, 0, 0, 0};
  int8_t out[7];
  run_t run = {.op = HLO_STOCHASTIC_CONVERT,
               .operand_count = 2,
               .types = {HR_F32, HR_U32},
               .result = HR_S8,
               .in = {x, random}};
  CHECK_OK(try_run(&run, 7, out));
  EXPECT(int8_t, out, 3, 2, -3, -2, 127, 0, 3);
  uint16_t half[2];
  run.result = HR_BF16,
  run.in[0] = (float[]){1 + 0x1p-9f, 1 + 0x1p-9f}; /* a quarter of the way to the next number */
  CHECK_OK(try_run(&run, 2, half));
  EXPECT(uint16_t, half, 0x3f81, 0x3f80);
}

/* --- strides, errors ---------------------------------------------------------------------------
 */

/* All kinds of steps give what gathering first gives, also where blocks end, and in place. */
static void steps(void) {
  enum { N = 1100 };
  static const hr_dtype_t types[] = {HR_F32, HR_BF16, HR_F8E4M3FN, HR_S4, HR_S64};
  static const int64_t pairs[][2] = {{1, 1}, {0, 1}, {1, 0}, {2, 1}, {3, 2}, {0, 0}};
  static uint8_t a[3 * N * 8], b[3 * N * 8], gathered_a[N * 8], gathered_b[N * 8], want[N * 8],
      out[N * 8];
  hr_arena_t arena;
  hr_arena_init(&arena);
  for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
    const ew_kernel_t *kernel;
    size_t bytes = hr_dtype_bytes(types[t]);
    CHECK_OK(ew_kernel_binary(&arena, HLO_SUBTRACT, types[t], &kernel));
    for (size_t i = 0; i < sizeof a; i++) {
      a[i] = (uint8_t)(types[t] == HR_S4 ? i % 8 : i * 7 % 61);
      b[i] = (uint8_t)(types[t] == HR_S4 ? i % 5 : i * 5 % 59);
    }
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
      for (int64_t i = 0; i < N; i++) {
        memcpy(gathered_a + (size_t)i * bytes, a + (size_t)(i * pairs[p][0]) * bytes, bytes);
        memcpy(gathered_b + (size_t)i * bytes, b + (size_t)(i * pairs[p][1]) * bytes, bytes);
      }
      ew_kernel_run(kernel, N, (const void *[]){gathered_a, gathered_b}, (int64_t[]){1, 1}, want);
      ew_kernel_run(kernel, N, (const void *[]){a, b}, pairs[p], out);
      CU_ASSERT_EQUAL(memcmp(out, want, N * bytes), 0);
      ew_kernel_run(kernel, N, (const void *[]){gathered_a, gathered_b}, (int64_t[]){1, 1},
                    gathered_b);
      CU_ASSERT_EQUAL(memcmp(gathered_b, want, N * bytes), 0);
    }
  }
  hr_arena_deinit(&arena);
}

/* Ops that a type does not have, or that take one operand. */
static void refuses_to_combine(void) {
  hr_arena_t arena;
  hr_arena_init(&arena);
  const ew_kernel_t *kernel;
  CHECK_FAILS(HR_UNSUPPORTED, ew_kernel_binary(&arena, HLO_AND, HR_F32, &kernel));
  CHECK_FAILS(HR_UNSUPPORTED, ew_kernel_binary(&arena, HLO_EXPONENTIAL, HR_F32, &kernel));
  hr_arena_deinit(&arena);
}

static void refuses(void) {
  float x[1] = {0};
  run_t run = {
      .op = HLO_ADD, .operand_count = 2, .types = {HR_F32, HR_S32}, .result = HR_F32, .in = {x, x}};
  CHECK_FAILS(HR_UNSUPPORTED, try_run(&run, 1, x));
  run.types[1] = HR_F32;
  run.result = HR_F64;
  CHECK_FAILS(HR_UNSUPPORTED, try_run(&run, 1, x));
  run.op = HLO_POPCNT;
  run.operand_count = 1;
  run.result = HR_F32;
  CHECK_FAILS(HR_UNSUPPORTED, try_run(&run, 1, x));
}

/* --- the kernel ------------------------------------------------------------------------------- */

/* The result takes the bytes of an operand that is not used any more, and only then. */
static void reuses_operands(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *in = kernel_value(HR_S32, KERNEL_DIMS(2, 2), (int32_t[]){1, -2, 3, -4}), *out;
  const void *bytes = in->data;
  const hlo_shape_t *s32 = kernel_shape(&k, HR_S32, KERNEL_DIMS(2, 2));
  const hlo_shape_t *f32 = kernel_shape(&k, HR_F32, KERNEL_DIMS(2, 2));
  hlo_instr_t *negate = kernel_build(&k, HLO_NEGATE, s32, 1, &in, 0, NULL, 0, NULL);
  hlo_instr_t *convert = kernel_build(&k, HLO_CONVERT, f32, 1, &in, 0, NULL, 0, NULL);
  CHECK_OK(kernel_try(&k, negate, &in, 0, &out));
  CU_ASSERT(out->data != bytes &&
            kernel_is(out, HR_S32, KERNEL_DIMS(2, 2), (int32_t[]){-1, 2, -3, 4}));
  hlo_value_release(out);
  CHECK_OK(kernel_try(&k, negate, &in, 1, &out));
  CU_ASSERT(out->data == bytes &&
            kernel_is(out, HR_S32, KERNEL_DIMS(2, 2), (int32_t[]){-1, 2, -3, 4}));
  hlo_value_release(out);
  CHECK_OK(kernel_try(&k, convert, &in, 1, &out));
  CU_ASSERT(out->data == bytes &&
            kernel_is(out, HR_F32, KERNEL_DIMS(2, 2), (float[]){-1, 2, -3, 4}));
  hlo_value_release(out);
  hlo_value_release(in);
  kernel_env_deinit(&k);
}

static void broadcasts_scalars(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *in[] = {kernel_value(HR_PRED, KERNEL_SCALAR, (uint8_t[]){1}),
                       kernel_value(HR_C128, KERNEL_DIMS(2), (double[]){1, 2, 3, 4}),
                       kernel_value(HR_C128, KERNEL_DIMS(2), (double[]){5, 6, 7, 8})};
  hlo_value_t *out = kernel_run(&k, HLO_SELECT, kernel_shape(&k, HR_C128, KERNEL_DIMS(2)), 3, in, 0,
                                NULL, 0, NULL);
  CU_ASSERT(kernel_is(out, HR_C128, KERNEL_DIMS(2), (double[]){1, 2, 3, 4}));
  hlo_value_release(out);
  for (int i = 0; i < 3; i++) hlo_value_release(in[i]);
  kernel_env_deinit(&k);
}

static void empty_arrays(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *in[] = {kernel_value(HR_F16, KERNEL_DIMS(3, 0), NULL),
                       kernel_value(HR_F16, KERNEL_DIMS(3, 0), NULL)};
  hlo_value_t *out =
      kernel_run(&k, HLO_ADD, kernel_shape(&k, HR_F16, KERNEL_DIMS(3, 0)), 2, in, 0, NULL, 0, NULL);
  CU_ASSERT_EQUAL(out->count, 0);
  hlo_value_release(out);
  for (int i = 0; i < 2; i++) hlo_value_release(in[i]);
  kernel_env_deinit(&k);
}

CU_TestInfo suite_elementwise[] = {
    {"small integers", small_integers},
    {"large integers", large_integers},
    {"bit counts", bit_counts},
    {"saturates", saturates},
    {"rounds once", rounds_once},
    {"stochastic", stochastic},
    {"steps", steps},
    {"refuses to combine", refuses_to_combine},
    {"refuses", refuses},
    {"reuses operands", reuses_operands},
    {"broadcasts scalars", broadcasts_scalars},
    {"empty arrays", empty_arrays},
    CU_TEST_INFO_NULL,
};
