/* Literals: numbers are rounded once, to the type's nearest value, and print as the shortest text
 * that reads back. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ir/print.h"
#include "read/read.h"
#include "tests/lib/unit.h"

/* Reads `text` as a scalar of the type, and prints it. */
static void check_scalar(hr_dtype_t dtype, const char *text, const char *want) {
  hlo_value_t *value = NULL;
  hr_strbuf_t out;
  hr_strbuf_init(&out);
  CHECK_OK(read_literal(text, hlo_shape_scalar(dtype), &value));
  if (value) hlo_print_literal(&out, value);
  if (!out.data || strcmp(out.data, want) != 0) {
    fprintf(stderr, "%s %s: got %s, want %s\n", hr_dtype_name(dtype), text,
            out.data ? out.data : "nothing", want);
    CU_FAIL("wrong number");
  }
  hlo_value_release(value);
  hr_strbuf_deinit(&out);
}

typedef struct number_row {
  hr_dtype_t dtype;
  const char *text, *want; /* as read, and as printed again */
} number_row_t;

#define CHECK_NUMBERS(rows)                                  \
  for (size_t i = 0; i < sizeof(rows) / sizeof *(rows); i++) \
  check_scalar((rows)[i].dtype, (rows)[i].text, (rows)[i].want)

/* F32 and F64: the shortest text that reads back, NaN's bits besides. */
static void prints_f32_and_f64(void) {
  static const number_row_t rows[] = {
      {HR_F32, "0.1", "0.1"},
      {HR_F32, "3.14159274", "3.14159274"},
      {HR_F32, "1000000", "1e+06"},
      {HR_F32, "100000", "100000"},
      {HR_F32, "0.00001", "1e-05"},
      {HR_F32, "123456792", "123456792"},
      {HR_F32, "1e30", "1e+30"},
      {HR_F32, "-0", "-0"},
      {HR_F32, "-0.0", "-0"},
      {HR_F32, "42.", "42"},
      {HR_F32, "nan", "nan"},
      {HR_F32, "-nan", "-nan"},
      {HR_F32, "nan(0x7)", "nan(0x7)"},
      {HR_F32, "-nan(0x400001)", "-nan(0x400001)"},
      {HR_F32, "nan(0x400000)", "nan"},
      {HR_F32, "-inf", "-inf"},
      {HR_F32, "1.4013e-45", "1.4013e-45"},
      {HR_F32, "16777217", "16777216"},
      {HR_F64, "0.1", "0.1"},
      {HR_F64, "0.30000000000000004", "0.30000000000000004"},
      {HR_F64, "1e22", "1e+22"},
      {HR_F64, "1e23", "1e+23"},
      {HR_F64, "4.9406564584124654e-324", "4.94065645841247e-324"},
  };
  CHECK_NUMBERS(rows);
}

/* Narrow floats, also those without infinities, negative zero or zero: the nearest value. */
static void prints_narrow_floats(void) {
  static const number_row_t rows[] = {
      {HR_F16, "0.1", "0.099976"},  {HR_F16, "65519", "65504"},
      {HR_BF16, "3.141", "3.141"},  {HR_F8E4M3FN, "464", "448"},
      {HR_F8E4M3FN, "inf", "nan"},  {HR_F8E4M3FN, "0.3", "0.312"},
      {HR_F8E5M2, "0.3", "0.31"},   {HR_F8E5M2, "-nan(0x3)", "-nan(0x3)"},
      {HR_F8E3M4, "0.1", "0.0938"}, {HR_F8E4M3FNUZ, "-0.0", "0"},
      {HR_F8E8M0FNU, "3", "4"},     {HR_F8E8M0FNU, "1e-30", "7.9e-31"},
      {HR_F6E2M3FN, "2.3", "2.25"}, {HR_F6E3M2FN, "0.0625", "0.062"},
      {HR_F4E2M1FN, "100", "6"},    {HR_F4E2M1FN, "-1.5", "-1.5"},
  };
  CHECK_NUMBERS(rows);
}

static void prints_integers_and_pairs(void) {
  static const number_row_t rows[] = {
      {HR_S64, "9223372036854775808", "-9223372036854775808"},
      {HR_U64, "18446744073709551615", "18446744073709551615"},
      {HR_S8, "-128", "-128"},
      {HR_S4, "-8", "-8"},
      {HR_U4, "15", "15"},
      {HR_S1, "-1", "-1"},
      {HR_PRED, "7", "true"},
      {HR_PRED, "false", "false"},
      {HR_C64, "(1, -0)", "(1, -0)"},
      {HR_C128, "(nan,0.1)", "(nan, 0.1)"},
  };
  CHECK_NUMBERS(rows);
}

/* Each decimal lies just beside the middle of two neighbours, closer than a double can tell. */
static void rounds_once(void) {
  check_scalar(HR_F32, "1.000000059604644775390625", "1");
  check_scalar(HR_F32, "1.0000000596046447753906251", "1.00000012");
  check_scalar(HR_F32, "1.000000178813934326171875", "1.00000024");
  check_scalar(HR_F32, "1.0000001788139343261718749", "1.00000012");
  check_scalar(HR_F16, "1.00048828125", "1");
  check_scalar(HR_F16, "1.000488281250000000001", "1.001");
  check_scalar(HR_F16, "2.98023223876953125e-8", "0");
  check_scalar(HR_F16, "2.980232238769531251e-8", "5.9605e-08");
  check_scalar(HR_BF16, "1.00390625", "1");
  check_scalar(HR_BF16, "1.0039062500000000000001", "1.008");
  check_scalar(HR_BF16, "1.01171875", "1.016");
}

/* Every value of the small types prints as text that reads back as the same bits. */
static void prints_what_reads_back(void) {
  for (int type = 0; type < HR_DTYPE_COUNT; type++) {
    const hr_float_format_t *format = hr_float_format((hr_dtype_t)type);
    if (!format || format->bits > 16) continue;
    for (uint32_t bits = 0; bits < 1u << format->bits; bits++) {
      hr_strbuf_t out;
      hlo_value_t *value = NULL;
      uint32_t back = 0;
      hr_strbuf_init(&out);
      hlo_print_number(&out, (hr_dtype_t)type, &bits);
      CHECK_OK(read_literal(out.data, hlo_shape_scalar((hr_dtype_t)type), &value));
      if (value) memcpy(&back, value->data, hr_dtype_bytes((hr_dtype_t)type));
      if (back != bits) {
        fprintf(stderr, "%s 0x%x prints %s, which reads 0x%x\n", hr_dtype_name((hr_dtype_t)type),
                bits, out.data, back);
        CU_FAIL("does not read back");
      }
      hlo_value_release(value);
      hr_strbuf_deinit(&out);
    }
  }
}

static void prints_wide_floats(void) {
  uint64_t state = 1;
  for (int i = 0; i < 20000; i++) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t bits = i % 2 ? state : state >> 32, back = 0;
    hr_dtype_t type = i % 2 ? HR_F64 : HR_F32;
    hr_strbuf_t out;
    hlo_value_t *value = NULL;
    hr_strbuf_init(&out);
    hlo_print_number(&out, type, &bits);
    CHECK_OK(read_literal(out.data, hlo_shape_scalar(type), &value));
    if (value) memcpy(&back, value->data, hr_dtype_bytes(type));
    CU_ASSERT_EQUAL(back, bits);
    hlo_value_release(value);
    hr_strbuf_deinit(&out);
  }
}

static void check_digits(float value) {
  char want[32];
  hr_strbuf_t out;
  snprintf(want, sizeof want, "%.6g", (double)value);
  if (strtof(want, NULL) != value) snprintf(want, sizeof want, "%.9g", (double)value);
  hr_strbuf_init(&out);
  hlo_print_number(&out, HR_F32, &value);
  if (strcmp(out.data, want) != 0) {
    fprintf(stderr, "%a prints %s, want %s\n", (double)value, out.data, want);
    CU_FAIL("wrong digits");
  }
  hr_strbuf_deinit(&out);
}

/* Six digits if they read back, else nine, as printf rounds them: of numbers of all sizes, of short
 * decimals, of numbers that end in a tie. Whole numbers below 1e5 have all their digits. */
static void prints_digits_of_printf(void) {
  uint64_t state = 3;
  for (int i = 0; i < 100000; i++) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint32_t bits = (uint32_t)(state >> 32);
    float any, near_one = (float)((double)bits / UINT32_MAX * 4 - 2);
    memcpy(&any, &bits, sizeof any);
    if (!isnan(any)) check_digits(any);
    check_digits(near_one);
    check_digits((float)(bits % 1000000) / 1000.f);
    check_digits(ldexpf((float)(bits % 4096), -(int)(bits >> 27)));
    check_digits(powf(10.f, near_one * 10));
  }
  for (float power = 1e-20f; power < 1e20f; power *= 10) {
    check_digits(nextafterf(power, 0));
    check_digits(power);
    check_digits(nextafterf(power, INFINITY));
  }
}

static void check_literal(const char *text, const char *want) {
  hlo_value_t *value = NULL;
  hr_strbuf_t out;
  hr_strbuf_init(&out);
  CHECK_OK(read_literal(text, NULL, &value));
  if (value) hlo_print_literal(&out, value);
  if (!out.data || strcmp(out.data, want) != 0) {
    fprintf(stderr, "%s: got %s, want %s\n", text, out.data ? out.data : "nothing", want);
    CU_FAIL("wrong literal");
  }
  hlo_value_release(value);
  hr_strbuf_deinit(&out);
}

static void prints_arrays(void) {
  check_literal("f32[2]{1,2}", "{1, 2}");
  check_literal("f32[2]{0} {1,2}", "{1, 2}");
  check_literal("f32[] 3.5", "3.5");
  check_literal("s32[2,2]{{1,2},{3,4}}", "{ { 1, 2 }, { 3, 4 } }");
  check_literal("s32[2,1]{{1},{2}}", "{ {1}, {2} }");
  check_literal("s32[2,0]{{},{}}", "{ {}, {} }");
  check_literal("f32[2,0,3]{{},{}}", "{ {  }, {  } }");
  check_literal("pred[2,2]{{true,0},{1,false}}", "{ { 1, 0 }, { 1, 0 } }");
  check_literal("s32[2,1,1,1]{{{{-1}}},{{{4}}}}",
                "{ { /*i0=0*/ { /*i1=0*/ {-1} } }, { /*i0=1*/ { /*i1=0*/ {4} } } }");
  check_literal("s32[1,1,0,2]{{{}}}", "{ { /*i0=0*/ { /*i1=0*/ } } }");
  check_literal("c64[2]{(1,2),(3,-4.5)}", "{(1, 2), (3, -4.5)}");
  check_literal("(s32[] 7, f32[2]{0} {1, 2}, ())", "( 7, {1, 2}, (  ) )");
}

static void refuses_literals(void) {
  hlo_value_t *value = NULL;
  CHECK_FAILS(HR_INVALID, read_literal("3", NULL, &value));
  CHECK_FAILS(HR_INVALID, read_literal("f32[2]{1}", NULL, &value));
  CHECK_FAILS(HR_INVALID, read_literal("f32[2]{...}", NULL, &value));
  CHECK_FAILS(HR_INVALID, read_literal("f32[2]{1,2} x", NULL, &value));
  CHECK_FAILS(HR_INVALID, read_literal("f32[] 3", hlo_shape_scalar(HR_S32), &value));
  CHECK_FAILS(HR_INVALID, read_literal("1e39", hlo_shape_scalar(HR_F32), &value));
  CHECK_FAILS(HR_INVALID, read_literal("0", hlo_shape_scalar(HR_F8E8M0FNU), &value));
  CHECK_FAILS(HR_INVALID, read_literal("", hlo_shape_scalar(HR_F32), &value));
}

CU_TestInfo suite_hlo_literal[] = {
    {"prints f32 and f64", prints_f32_and_f64},
    {"prints narrow floats", prints_narrow_floats},
    {"prints integers and pairs", prints_integers_and_pairs},
    {"rounds once", rounds_once},
    {"prints what reads back", prints_what_reads_back},
    {"prints wide floats", prints_wide_floats},
    {"prints digits of printf", prints_digits_of_printf},
    {"prints arrays", prints_arrays},
    {"refuses literals", refuses_literals},
    CU_TEST_INFO_NULL,
};
