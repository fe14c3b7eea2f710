#include "ops/kernels/elementwise/elementwise.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "tests/lib/kernel_env.h"
#include "tests/lib/unit.h"

/* --- helpers ---------------------------------------------------------------------------------- */

/* Runs op on `count` elements; operand k has type types[k] and data in[k], one element for all
 * where scalar[k]. */
typedef struct run {
  hlo_opcode_t op;
  int operand_count;
  hr_dtype_t types[3], result;
  const void *in[3];
  bool scalar[3];
  int attr_count;
  hlo_attr_t attrs[2];
} run_t;

static hr_status_t try_run(const run_t *run, int64_t count, void *out) {
  hr_arena_t arena;
  hr_arena_init(&arena);
  hlo_module_t module = {0};
  hlo_computation_t computation = {.module = &module};
  hlo_instr_t operands[3] = {0}, *list[3];
  hlo_instr_t instr = {.op = run->op,
                       .parent = &computation,
                       .operand_count = run->operand_count,
                       .operands = list,
                       .attrs = run->attrs,
                       .attr_count = run->attr_count,
                       .shape = hlo_shape_scalar(run->result)};
  int64_t steps[3];
  for (int k = 0; k < run->operand_count; k++) {
    operands[k].shape = hlo_shape_scalar(run->types[k]);
    list[k] = &operands[k];
    steps[k] = !run->scalar[k];
  }
  const ew_kernel_t *kernel;
  hr_status_t st = ew_kernel_prepare(&arena, &instr, &kernel);
  if (!st) ew_kernel_run(kernel, count, run->in, steps, out);
  hr_arena_deinit(&arena);
  return st;
}

static void unary(hlo_opcode_t op, hr_dtype_t type, hr_dtype_t result, const void *a, int64_t count,
                  void *out) {
  run_t run = {.op = op, .operand_count = 1, .types = {type}, .result = result, .in = {a}};
  CHECK_OK(try_run(&run, count, out));
}

static void binary(hlo_opcode_t op, hr_dtype_t type, const void *a, const void *b, int64_t count,
                   void *out) {
  run_t run = {.op = op, .operand_count = 2, .types = {type, type}, .result = type, .in = {a, b}};
  CHECK_OK(try_run(&run, count, out));
}

#define EXPECT(type, out, ...)                                      \
  do {                                                              \
    const type expected[] = {__VA_ARGS__};                          \
    for (size_t e = 0; e < sizeof expected / sizeof *expected; e++) \
      if (memcmp(&(out)[e], &expected[e], sizeof(type)) &&          \
          !((out)[e] != (out)[e] && expected[e] != expected[e])) {  \
        printf("  element %zu\n", e);                               \
        CU_FAIL(#out);                                              \
      }                                                             \
  } while (0)

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

/* --- floats ----------------------------------------------------------------------------------- */

static void maximum_minimum(void) {
  const float a[] = {0.0f, -0.0f, NAN, 1, -0.0f, 2}, b[] = {-0.0f, 0.0f, 1, NAN, -0.0f, -3};
  float out[6];
  binary(HLO_MAXIMUM, HR_F32, a, b, 6, out);
  EXPECT(float, out, 0.0f, 0.0f, NAN, NAN, -0.0f, 2);
  binary(HLO_MINIMUM, HR_F32, a, b, 6, out);
  EXPECT(float, out, -0.0f, -0.0f, NAN, NAN, -0.0f, -3);
  binary(HLO_REMAINDER, HR_F32, (float[]){-7, 5, 5, INFINITY}, (float[]){3, INFINITY, 0, 2}, 4,
         out);
  EXPECT(float, out, -1, 5, NAN, NAN);
}

static void rounding(void) {
  const float x[] = {0.49999997f, 0.5f, 1.5f, 2.5f, -2.5f, -0.5f, 8388609};
  float out[7];
  unary(HLO_ROUND_NEAREST_AFZ, HR_F32, HR_F32, x, 7, out);
  EXPECT(float, out, 0, 1, 2, 3, -3, -1, 8388609);
  unary(HLO_ROUND_NEAREST_EVEN, HR_F32, HR_F32, x, 7, out);
  EXPECT(float, out, 0, 0, 2, 2, -2, -0.0f, 8388609);
  unary(HLO_SIGN, HR_F32, HR_F32, (float[]){-0.0f, NAN, -3, 1e-40f}, 4, out);
  EXPECT(float, out, -0.0f, NAN, -1, 1);
}

/* The product is rounded before the sum: no fused operation. */
static void denormals_stay(void) {
  float out[1];
  binary(HLO_MULTIPLY, HR_F32, (float[]){1e-30f}, (float[]){1e-10f}, 1, out);
  EXPECT(float, out, 1e-40f);
  uint16_t narrow[1];
  binary(HLO_ADD, HR_BF16, (uint16_t[]){1}, (uint16_t[]){1}, 1, narrow);
  CU_ASSERT_EQUAL(narrow[0], 2);
}

static double logistic_model(double x) { return 1 / (1 + exp(-x)); }
static double rsqrt_model(double x) { return 1 / sqrt(x); }

/* All numbers of 16 bits through functions of f32: they are the right ones, rounded once. And f32
 * itself is within 0.6 units in the last place of the function of f64. */
static void functions(void) {
  static const struct {
    hlo_opcode_t op;
    double (*model)(double);
  } rows[] = {{HLO_EXPONENTIAL, exp},   {HLO_EXPONENTIAL_MINUS_ONE, expm1},
              {HLO_LOG, log},           {HLO_LOG_PLUS_ONE, log1p},
              {HLO_TANH, tanh},         {HLO_LOGISTIC, logistic_model},
              {HLO_SINH, sinh},         {HLO_COSH, cosh},
              {HLO_RSQRT, rsqrt_model}, {HLO_SQRT, sqrt},
              {HLO_SINE, sin},          {HLO_COSINE, cos},
              {HLO_TAN, tan},           {HLO_CBRT, cbrt},
              {HLO_ERF, erf},           {HLO_ATANH, atanh},
              {HLO_ASIN, asin},         {HLO_ACOSH, acosh}};
  static uint16_t in[65536], out[65536];
  static float wide[65536], result[65536];
  for (int i = 0; i < 65536; i++) in[i] = (uint16_t)i;
  hr_floats_to_f32(HR_BF16, in, wide, 65536);
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    unsigned wrong = 0;
    unary(rows[r].op, HR_BF16, HR_BF16, in, 65536, out);
    unary(rows[r].op, HR_F32, HR_F32, wide, 65536, result);
    for (int i = 0; i < 65536; i++) {
      double want = rows[r].model(wide[i]);
      uint16_t bits = hr_f32_to_bf16((float)want);
      wrong += isnan(want) ? (out[i] & 0x7fff) <= 0x7f80 : out[i] != bits;
      float nearest = (float)want;
      double unit = nextafterf(fabsf(nearest), INFINITY) - (double)fabsf(nearest);
      if (isfinite(nearest))
        wrong += !(fabs(result[i] - want) <= 0.6 * unit);
      else
        wrong += isnan(want) ? !isnan(result[i]) : result[i] != nearest;
    }
    if (wrong) printf("  %s: %u\n", hlo_op_name(rows[r].op), wrong);
    CU_ASSERT_EQUAL(wrong, 0);
  }
}

static void tails(void) {
  double out[3];
  unary(HLO_LOGISTIC, HR_F64, HR_F64, (double[]){-740, 1000, -1000}, 3, out);
  CU_ASSERT(out[0] > 0 && out[0] < 1e-320 && out[1] == 1 && out[2] == 0);
  float low[3];
  unary(HLO_EXPONENTIAL_MINUS_ONE, HR_F32, HR_F32, (float[]){-0.0f, 1e-42f, -200}, 3, low);
  EXPECT(float, low, -0.0f, 1e-42f, -1);
  unary(HLO_LOG, HR_F32, HR_F32, (float[]){-0.0f, -1, INFINITY}, 3, low);
  EXPECT(float, low, -INFINITY, NAN, INFINITY);
}

static void reduce_precision(void) {
  const float x[] = {1.5f, 1e-5f, 65519, 65520, -0.0f, NAN, 3.0625f};
  float out[7];
  run_t run = {.op = HLO_REDUCE_PRECISION,
               .operand_count = 1,
               .types = {HR_F32},
               .result = HR_F32,
               .in = {x},
               .attr_count = 2,
               .attrs = {KERNEL_INT(EXPONENT_BITS, 5), KERNEL_INT(MANTISSA_BITS, 10)}};
  CHECK_OK(try_run(&run, 7, out));
  EXPECT(float, out, 1.5f, 0, 65504, INFINITY, -0.0f, NAN, 3.0625f);
  run.attrs[1].integer = 0;
  CHECK_OK(try_run(&run, 7, out));
  EXPECT(float, out, 2, 0, INFINITY, INFINITY, -0.0f, NAN, 4);
  /* In f16 an exponent of 5 bits keeps denormals; their mantissa is cut where that of others is. */
  const uint16_t h[] = {0x0001, 0x0080, 0x0081, 0x03ff, 0x7e00};
  uint16_t half[5];
  run.types[0] = HR_F16;
  run.result = HR_F16;
  run.in[0] = h;
  run.attrs[1].integer = 2;
  CHECK_OK(try_run(&run, 5, half));
  EXPECT(uint16_t, half, 0, 0, 0x0100, 0x0400, 0x7e00);
  run.attrs[0].integer = 0;
  CHECK_FAILS(HR_INVALID, try_run(&run, 5, half));
}

/* --- compare, clamp, select ------------------------------------------------------------------- */

static void compares(void) {
  /* In the total order; every element against the next. */
  const float order[] = {-NAN, -INFINITY, -1, -0.0f, 0.0f, 1e-45f, 1, INFINITY, NAN};
  uint8_t out[8];
  run_t run = {.op = HLO_COMPARE,
               .operand_count = 2,
               .types = {HR_F32, HR_F32},
               .result = HR_PRED,
               .in = {order, order + 1},
               .attr_count = 2,
               .attrs = {KERNEL_INT(DIRECTION, HLO_DIRECTION_LT),
                         KERNEL_INT(TYPE, HLO_COMPARISON_TOTALORDER)}};
  CHECK_OK(try_run(&run, 8, out));
  EXPECT(uint8_t, out, 1, 1, 1, 1, 1, 1, 1, 1);
  run.attrs[1].integer = HLO_COMPARISON_FLOAT;
  CHECK_OK(try_run(&run, 8, out));
  EXPECT(uint8_t, out, 0, 1, 1, 0, 1, 1, 1, 0);
  run.attrs[0].integer = HLO_DIRECTION_NE;
  CHECK_OK(try_run(&run, 8, out));
  EXPECT(uint8_t, out, 1, 1, 1, 0, 1, 1, 1, 1);
  /* Payloads of narrow NaNs count; NaN of formats without -0 comes first. */
  const uint8_t narrow[] = {0xff, 0xfe, 0xfc, 0x80, 0x00, 0x7c, 0x7e, 0x7f},
                fnuz[] = {0x80, 0xff, 0x81, 0x00, 0x7f};
  run.types[0] = HR_F8E5M2;
  run.types[1] = HR_F8E5M2;
  run.in[0] = narrow;
  run.in[1] = narrow + 1;
  run.attrs[0].integer = HLO_DIRECTION_LT;
  run.attrs[1].integer = HLO_COMPARISON_TOTALORDER;
  CHECK_OK(try_run(&run, 7, out));
  EXPECT(uint8_t, out, 1, 1, 1, 1, 1, 1, 1);
  run.types[0] = HR_F8E5M2FNUZ;
  run.types[1] = HR_F8E5M2FNUZ;
  run.in[0] = fnuz;
  run.in[1] = fnuz + 1;
  CHECK_OK(try_run(&run, 4, out));
  EXPECT(uint8_t, out, 1, 1, 1, 1);
}

static void clamps_and_selects(void) {
  const float low[] = {0}, x[] = {-1, 0.5f, 7, NAN}, high[] = {1};
  float out[4];
  run_t clamp = {.op = HLO_CLAMP,
                 .operand_count = 3,
                 .types = {HR_F32, HR_F32, HR_F32},
                 .result = HR_F32,
                 .in = {low, x, high},
                 .scalar = {true, false, true}};
  CHECK_OK(try_run(&clamp, 4, out));
  EXPECT(float, out, 0, 0.5f, 1, NAN);
  clamp.in[0] = high; /* low above high: high wins */
  clamp.in[2] = low;
  CHECK_OK(try_run(&clamp, 3, out));
  EXPECT(float, out, 0, 0, 0);
  run_t select = {.op = HLO_SELECT,
                  .operand_count = 3,
                  .types = {HR_PRED, HR_F32, HR_F32},
                  .result = HR_F32,
                  .in = {(uint8_t[]){1}, x, (float[]){9, 9, 9, 9}},
                  .scalar = {true}};
  CHECK_OK(try_run(&select, 4, out));
  EXPECT(float, out, -1, 0.5f, 7, NAN);
  select.in[0] = (uint8_t[]){0, 1, 0, 1}, select.scalar[0] = false;
  CHECK_OK(try_run(&select, 4, out));
  EXPECT(float, out, 9, 0.5f, 9, NAN);
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

/* --- complex ---------------------------------------------------------------------------------- */

static void complex_numbers(void) {
  const float a[][2] = {{INFINITY, 0}, {1, 1}, {0, 0}, {1, 2}},
              b[][2] = {{0, 1}, {0, 0}, {0, 0}, {INFINITY, INFINITY}};
  float out[4][2];
  binary(HLO_MULTIPLY, HR_C64, a, b, 1, out);
  CU_ASSERT(isnan(out[0][0]) && out[0][1] == INFINITY);
  binary(HLO_DIVIDE, HR_C64, a, b, 4, out);
  CU_ASSERT(out[1][0] == INFINITY && out[1][1] == INFINITY);
  CU_ASSERT(isnan(out[2][0]) && isnan(out[2][1]));
  CU_ASSERT(out[3][0] == 0 && out[3][1] == 0);
  float length[3];
  unary(HLO_ABS, HR_C64, HR_F32, (float[][2]){{3e30f, 4e30f}, {INFINITY, NAN}, {-3, 4}}, 3, length);
  EXPECT(float, length, 5e30f, NAN, 5);
  binary(HLO_POWER, HR_C64, (float[][2]){{0, 0}, {2, 0}, {0, 1}},
         (float[][2]){{0, 0}, {3, 0}, {2, 0}}, 3, out);
  CU_ASSERT(out[0][0] == 1 && out[1][0] == 8 && out[1][1] == 0 && fabsf(out[2][0] + 1) < 1e-6f);
  double small[1][2];
  unary(HLO_LOG_PLUS_ONE, HR_C128, HR_C128, (double[][2]){{1e-20, 1e-20}}, 1, small);
  CU_ASSERT(fabs(small[0][0] / 1e-20 - 1) < 1e-15 && fabs(small[0][1] / 1e-20 - 1) < 1e-15);
  run_t run = {.op = HLO_COMPLEX,
               .operand_count = 2,
               .types = {HR_F32, HR_F32},
               .result = HR_C64,
               .in = {length, length}};
  CHECK_OK(try_run(&run, 1, out));
  CU_ASSERT(out[0][0] == 5e30f && out[0][1] == 5e30f);
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

CU_TestInfo suite_elementwise[] = {{"small integers", small_integers},
                                   {"large integers", large_integers},
                                   {"bit counts", bit_counts},
                                   {"maximum, minimum", maximum_minimum},
                                   {"rounding", rounding},
                                   {"denormals stay", denormals_stay},
                                   {"functions", functions},
                                   {"tails", tails},
                                   {"reduce-precision", reduce_precision},
                                   {"compares", compares},
                                   {"clamps and selects", clamps_and_selects},
                                   {"saturates", saturates},
                                   {"rounds once", rounds_once},
                                   {"stochastic", stochastic},
                                   {"complex numbers", complex_numbers},
                                   {"steps", steps},
                                   {"refuses to combine", refuses_to_combine},
                                   {"refuses", refuses},
                                   {"reuses operands", reuses_operands},
                                   {"broadcasts scalars", broadcasts_scalars},
                                   {"empty arrays", empty_arrays},
                                   CU_TEST_INFO_NULL};
