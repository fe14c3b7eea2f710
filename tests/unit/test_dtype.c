/* Element types: encoding and decoding of narrow floats, rounding, names. */
#include "base/dtype.h"

#include <math.h>
#include <string.h>

#include "tests/lib/unit.h"

static bool same_number(double a, double b) {
  return a == b ? signbit(a) == signbit(b) : isnan(a) && isnan(b);
}

/* The largest and smallest numbers; what twice the largest, infinity, NaN and -0 become. */
static void known_values(void) {
  static const struct {
    hr_dtype_t type;
    double largest, smallest;
    uint64_t too_large, infinity, nan, minus_zero;
  } rows[] = {
      {HR_F4E2M1FN, 6, 0.5, 0x7, 0x7, 0x8, 0x8},
      {HR_F6E2M3FN, 7.5, 0.125, 0x1f, 0x1f, 0x20, 0x20},
      {HR_F6E3M2FN, 28, 0.0625, 0x1f, 0x1f, 0x20, 0x20},
      {HR_F8E3M4, 15.5, 0x1p-6, 0x70, 0x70, 0x78, 0x80},
      {HR_F8E4M3, 240, 0x1p-9, 0x78, 0x78, 0x7c, 0x80},
      {HR_F8E4M3FN, 448, 0x1p-9, 0x7f, 0x7f, 0x7f, 0x80},
      {HR_F8E4M3B11FNUZ, 30, 0x1p-13, 0x80, 0x80, 0x80, 0x00},
      {HR_F8E4M3FNUZ, 240, 0x1p-10, 0x80, 0x80, 0x80, 0x00},
      {HR_F8E5M2, 57344, 0x1p-16, 0x7c, 0x7c, 0x7e, 0x80},
      {HR_F8E5M2FNUZ, 57344, 0x1p-17, 0x80, 0x80, 0x80, 0x00},
      {HR_F8E8M0FNU, 0x1p127, 0x1p-127, 0xff, 0xff, 0xff, 0xff},
      {HR_F16, 65504, 0x1p-24, 0x7c00, 0x7c00, 0x7e00, 0x8000},
      {HR_BF16, 0x1.fep127, 0x1p-133, 0x7f80, 0x7f80, 0x7fc0, 0x8000},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    hr_dtype_t type = rows[i].type;
    CU_ASSERT_EQUAL(hr_float_decode(type, hr_float_encode(type, rows[i].largest)), rows[i].largest);
    CU_ASSERT_EQUAL(hr_float_decode(type, hr_float_encode(type, rows[i].smallest)),
                    rows[i].smallest);
    CU_ASSERT_EQUAL(hr_float_encode(type, 2 * rows[i].largest), rows[i].too_large);
    CU_ASSERT_EQUAL(hr_float_encode(type, INFINITY), rows[i].infinity);
    CU_ASSERT_EQUAL(hr_float_encode(type, NAN), rows[i].nan);
    CU_ASSERT_EQUAL(hr_float_encode(type, -0.0), rows[i].minus_zero);
  }
}

/* Ties go to the even neighbour; the last tie before overflow still fits. */
static void rounds_to_even(void) {
  CU_ASSERT_EQUAL(hr_float_decode(HR_F8E4M3FN, hr_float_encode(HR_F8E4M3FN, 464)), 448);
  CU_ASSERT_TRUE(isnan(hr_float_decode(HR_F8E4M3FN, hr_float_encode(HR_F8E4M3FN, 464.001))));
  CU_ASSERT_EQUAL(hr_float_encode(HR_F16, 65519.99), 0x7bff);
  CU_ASSERT_EQUAL(hr_float_encode(HR_F16, 65520), 0x7c00);
  CU_ASSERT_EQUAL(hr_float_encode(HR_F4E2M1FN, 2.5), 4);
  CU_ASSERT_EQUAL(hr_float_encode(HR_F4E2M1FN, 3.5), 6);
  CU_ASSERT_EQUAL(hr_float_encode(HR_F4E2M1FN, 0.25), 0);
  CU_ASSERT_EQUAL(hr_float_encode(HR_F8E8M0FNU, 3), 129);
  CU_ASSERT_EQUAL(hr_float_encode(HR_F8E8M0FNU, 2.99), 128);
  CU_ASSERT_EQUAL(hr_float_encode(HR_BF16, 1 + 0x1p-8), 0x3f80);
  CU_ASSERT_EQUAL(hr_float_encode(HR_BF16, 1 + 0x1p-8 + 0x1p-40), 0x3f81);
}

/* Every pattern of every narrow type: what it decodes to encodes to it, and the array form agrees.
 */
static void patterns_come_back(void) {
  for (int t = 0; t < HR_DTYPE_COUNT; t++) {
    hr_dtype_t type = (hr_dtype_t)t;
    const hr_float_format_t *format = hr_float_format(type);
    if (!format || format->bits > 16) continue;
    for (uint32_t bits = 0; bits < 1u << format->bits; bits++) {
      double value = hr_float_decode(type, bits);
      uint16_t element = (uint16_t)bits;
      float wide;
      hr_floats_to_f32(type, &element, &wide, 1);
      if (!same_number(wide, value)) CU_FAIL("hr_floats_to_f32 differs from hr_float_decode");
      if (!isnan(value) && hr_float_encode(type, value) != bits)
        CU_FAIL("a pattern does not come back");
    }
  }
}

/* Numbers on, between and just beside the numbers of each type: the fast array form rounds as
 * hr_float_encode does. */
static void fast_forms_agree(void) {
  static const uint32_t offsets[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
  for (int t = 0; t < HR_DTYPE_COUNT; t++) {
    hr_dtype_t type = (hr_dtype_t)t;
    const hr_float_format_t *format = hr_float_format(type);
    if (!format || format->bits > 16) continue;
    unsigned wrong = 0;
    for (uint32_t i = 0; i < 6 * 0x10000; i++) {
      uint32_t bits = (i << 16) + offsets[i >> 16];
      float value;
      memcpy(&value, &bits, 4);
      uint16_t element = 0;
      hr_floats_from_f32(type, &value, &element, 1);
      uint64_t want = hr_float_encode(type, value);
      bool payload = isnan(value) && type == HR_F16; /* the fast form keeps what fits of it */
      wrong += payload ? (element & 0x7e00) != 0x7e00 : element != want;
    }
    CU_ASSERT_EQUAL(wrong, 0);
  }
}

static void finds_names(void) {
  for (int t = 0; t < HR_TUPLE; t++) {
    hr_dtype_t found;
    CU_ASSERT_TRUE(hr_dtype_from_name(hr_str_from(hr_dtype_name((hr_dtype_t)t)), &found));
    CU_ASSERT_EQUAL((int)found, t);
  }
  hr_dtype_t found;
  CU_ASSERT_FALSE(hr_dtype_from_name(HR_STR("f33"), &found));
  CU_ASSERT_FALSE(hr_dtype_from_name(HR_STR("tuple"), &found));
}

CU_TestInfo suite_dtype[] = {{"known values", known_values},
                             {"rounds to even", rounds_to_even},
                             {"patterns come back", patterns_come_back},
                             {"fast forms agree", fast_forms_agree},
                             {"finds names", finds_names},
                             CU_TEST_INFO_NULL};
