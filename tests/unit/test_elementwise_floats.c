/* Elementwise kernels of floats and complex numbers: rounding, special values, comparisons. */
#include <math.h>

#include "ops/kernels/elementwise/elementwise.h"
#include "tests/lib/elementwise_run.h"
#include "tests/lib/kernel_env.h"
#include "tests/lib/unit.h"

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
  select.in[0] = (uint8_t[]){0, 1, 0, 1};
  select.scalar[0] = false;
  CHECK_OK(try_run(&select, 4, out));
  EXPECT(float, out, 9, 0.5f, 9, NAN);
}

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

CU_TestInfo suite_elementwise_floats[] = {
    {"maximum, minimum", maximum_minimum},
    {"rounding", rounding},
    {"denormals stay", denormals_stay},
    {"functions", functions},
    {"tails", tails},
    {"reduce-precision", reduce_precision},
    {"compares", compares},
    {"clamps and selects", clamps_and_selects},
    {"complex numbers", complex_numbers},
    CU_TEST_INFO_NULL,
};
