/* Generated code against the reference engine: ops on elements, ops on indices, whole fusions. */
#include <dirent.h>
#include <unistd.h>

#include "base/text.h"
#include "jit/target.h"
#include "tests/lib/jit_driver.h"

#define CHECK(driver, text) CU_ASSERT_TRUE(jit_check(driver, text))

/* All types of elements. */
enum { TYPES = HR_C128 + 1 };

/* Processors without conversions of f16 have no code for it. */
static bool is_declined(hr_dtype_t type) { return type == HR_F16 && !jit_target_host()->has_f16; }

/* Does the reference have this op on this type? */
static bool is_op(hlo_opcode_t op, hr_dtype_t type) {
  hr_dtype_class_t class_ = hr_dtype_class(type);
  switch (op) {
    case HLO_ADD:
    case HLO_MULTIPLY:
    case HLO_MAXIMUM:
    case HLO_MINIMUM:
      return true;
    case HLO_AND:
    case HLO_OR:
    case HLO_XOR:
    case HLO_NOT:
      return class_ == HR_CLASS_PRED || hr_dtype_is_integer(type);
    case HLO_SHIFT_LEFT:
    case HLO_SHIFT_RIGHT_ARITHMETIC:
    case HLO_SHIFT_RIGHT_LOGICAL:
    case HLO_POPCNT:
    case HLO_COUNT_LEADING_ZEROS:
      return hr_dtype_is_integer(type);
    case HLO_SUBTRACT:
    case HLO_DIVIDE:
    case HLO_POWER:
      return class_ != HR_CLASS_PRED;
    case HLO_REMAINDER:
      return class_ != HR_CLASS_PRED && class_ != HR_CLASS_COMPLEX;
    case HLO_NEGATE:
    case HLO_SIGN:
      return class_ != HR_CLASS_PRED && class_ != HR_CLASS_UNSIGNED;
    case HLO_ABS:
      return class_ == HR_CLASS_SIGNED || class_ == HR_CLASS_FLOAT;
    case HLO_CEIL:
    case HLO_FLOOR:
    case HLO_ROUND_NEAREST_AFZ:
    case HLO_ROUND_NEAREST_EVEN:
    case HLO_ERF:
      return class_ == HR_CLASS_FLOAT;
    default:
      return class_ == HR_CLASS_FLOAT || class_ == HR_CLASS_COMPLEX;
  }
}

static const hlo_opcode_t unary_ops[] = {HLO_NEGATE,
                                         HLO_ABS,
                                         HLO_SIGN,
                                         HLO_NOT,
                                         HLO_POPCNT,
                                         HLO_COUNT_LEADING_ZEROS,
                                         HLO_CEIL,
                                         HLO_FLOOR,
                                         HLO_ROUND_NEAREST_AFZ,
                                         HLO_ROUND_NEAREST_EVEN,
                                         HLO_SQRT,
                                         HLO_RSQRT,
                                         HLO_CBRT,
                                         HLO_EXPONENTIAL,
                                         HLO_EXPONENTIAL_MINUS_ONE,
                                         HLO_LOG,
                                         HLO_LOG_PLUS_ONE,
                                         HLO_LOGISTIC,
                                         HLO_SINE,
                                         HLO_COSINE,
                                         HLO_TAN,
                                         HLO_TANH,
                                         HLO_ERF};
static const hlo_opcode_t binary_ops[] = {HLO_ADD,
                                          HLO_SUBTRACT,
                                          HLO_MULTIPLY,
                                          HLO_DIVIDE,
                                          HLO_REMAINDER,
                                          HLO_MAXIMUM,
                                          HLO_MINIMUM,
                                          HLO_POWER,
                                          HLO_ATAN2,
                                          HLO_AND,
                                          HLO_OR,
                                          HLO_XOR,
                                          HLO_SHIFT_LEFT,
                                          HLO_SHIFT_RIGHT_ARITHMETIC,
                                          HLO_SHIFT_RIGHT_LOGICAL};
#define COUNT(list) (int)(sizeof(list) / sizeof *(list))

/* Roots of complex numbers are functions, too, and so are their quotients. */
static bool is_function(hlo_opcode_t op, hr_dtype_t type) {
  switch (op) {
    case HLO_SQRT:
    case HLO_SIGN:
      return hr_dtype_is_complex(type);
    case HLO_RSQRT:
    case HLO_CBRT:
    case HLO_EXPONENTIAL:
    case HLO_EXPONENTIAL_MINUS_ONE:
    case HLO_LOG:
    case HLO_LOG_PLUS_ONE:
    case HLO_LOGISTIC:
    case HLO_SINE:
    case HLO_COSINE:
    case HLO_TAN:
    case HLO_TANH:
    case HLO_ERF:
    case HLO_POWER:
    case HLO_ATAN2:
      return true;
    default:
      return false;
  }
}

/* All ops on a type are one program: a result each. */
static void add_ops(hr_strbuf_t *text, const char *type, hr_dtype_t dtype, bool functions,
                    int *count) {
  for (int i = 0; i < COUNT(unary_ops); i++)
    if (is_op(unary_ops[i], dtype) && is_function(unary_ops[i], dtype) == functions)
      hr_strbuf_printf(text, "r%d = %s %s(a)\n", (*count)++, type, hlo_op_name(unary_ops[i]));
  for (int i = 0; i < COUNT(binary_ops); i++)
    if (is_op(binary_ops[i], dtype) &&
        (is_function(binary_ops[i], dtype) && !hr_dtype_is_integer(dtype)) == functions)
      hr_strbuf_printf(text, "r%d = %s %s(a, b)\n", (*count)++, type, hlo_op_name(binary_ops[i]));
}

static void add_tuple(hr_strbuf_t *text, int count) {
  hr_strbuf_printf(text, "ROOT t = tuple(");
  for (int i = 0; i < count; i++) hr_strbuf_printf(text, "%sr%d", i ? ", " : "", i);
  hr_strbuf_printf(text, ") }\n");
}

static void check_text(jit_driver_t *driver, hr_strbuf_t *text) {
  CHECK_OK(hr_strbuf_finish(text));
  CHECK(driver, text->data);
  hr_strbuf_deinit(text);
}

static void ops_of_type(jit_driver_t *driver, hr_dtype_t dtype, int64_t size, bool functions) {
  hr_strbuf_t text;
  char type[64];
  int count = 0;
  snprintf(type, sizeof type, "%s[%lld]", hr_dtype_name(dtype), (long long)size);
  hr_strbuf_init(&text);
  hr_strbuf_printf(&text,
                   "HloModule t\nENTRY e { a = %s parameter(0) b = %s parameter(1) p = pred[%lld] "
                   "parameter(2)\n",
                   type, type, (long long)size);
  add_ops(&text, type, dtype, functions, &count);
  if (!functions) {
    hr_strbuf_printf(&text, "r%d = %s select(p, a, b)\n", count++, type);
    hr_strbuf_printf(&text, "r%d = %s clamp(b, a, b)\n", count++, type);
    for (int d = 0; d < (hr_dtype_is_complex(dtype) ? 2 : HLO_DIRECTION_COUNT); d++)
      hr_strbuf_printf(&text, "r%d = pred[%lld] compare(a, b), direction=%s\n", count++,
                       (long long)size, (const char *[]){"EQ", "NE", "GE", "GT", "LE", "LT"}[d]);
  }
  if (hr_dtype_is_float(dtype) && !functions) {
    hr_strbuf_printf(&text, "r%d = pred[%lld] is-finite(a)\n", count++, (long long)size);
    hr_strbuf_printf(&text, "r%d = pred[%lld] compare(a, b), direction=LT, type=TOTALORDER\n",
                     count++, (long long)size);
    hr_strbuf_printf(&text, "r%d = %s reduce-precision(a), exponent_bits=5, mantissa_bits=4\n",
                     count++, type);
    hr_strbuf_printf(&text, "r%d = %s reduce-precision(a), exponent_bits=8, mantissa_bits=3\n",
                     count++, type);
  }
  add_tuple(&text, count);
  if (count)
    check_text(driver, &text);
  else
    hr_strbuf_deinit(&text);
}

static void exact_ops(void) {
  jit_driver_t driver = {.seed = 1, .workers = 1};
  for (int i = 0; i < TYPES; i++) {
    if (is_declined((hr_dtype_t)i)) continue;
    ops_of_type(&driver, (hr_dtype_t)i, 1000, false);
    ops_of_type(&driver, (hr_dtype_t)i, 1, false);
  }
  CU_ASSERT_EQUAL(driver.declined, 0);
}

static void functions(void) {
  jit_driver_t driver = {.seed = 2, .workers = 1, .ulp = 3};
  for (int i = 0; i < TYPES; i++)
    if (hr_dtype_is_float((hr_dtype_t)i) && !is_declined((hr_dtype_t)i))
      ops_of_type(&driver, (hr_dtype_t)i, 700, true);
  CU_ASSERT_EQUAL(driver.declined, 0);
}

/* Functions of several scalars are computed in lanes, those of one height at a time. */
static void scalars_side_by_side(void) {
  static const char *const types[] = {"f32", "f64", "bf16"};
  jit_driver_t driver = {.seed = 3, .workers = 1, .ulp = 3};
  for (int t = 0; t < COUNT(types); t++)
    for (int count = 1; count < 40; count += 6) {
      hr_strbuf_t text;
      hr_strbuf_init(&text);
      const char *type = types[t];
      hr_strbuf_printf(&text, "HloModule t\nENTRY e { a = %s[%d] parameter(0)\n", type, count);
      for (int k = 0; k < count; k++)
        hr_strbuf_printf(&text,
                         "i%d = %s[1] slice(a), slice={[%d:%d]} x%d = %s[] reshape(i%d)\n"
                         "y%d = %s[] sine(x%d) z%d = %s[] logistic(x%d)\n",
                         k, type, k, k + 1, k, type, k, k, type, k, k, type, k);
      for (int k = 0; k < count; k++)
        hr_strbuf_printf(&text, "r%d = %s[] atan2(y%d, z%d) r%d = %s[] tan(x%d)\n", 2 * k, type, k,
                         (k + 1) % count, 2 * k + 1, type, k);
      add_tuple(&text, 2 * count);
      check_text(&driver, &text);
    }
  CU_ASSERT_EQUAL(driver.declined, 0);
}

/* Parts may be small beside each other, and are good to a little of the larger one then. Those that
 * are neither finite nor moderate are the library's to the bit. */
static void complex_functions(void) {
  jit_driver_t driver = {.seed = 4, .workers = 1, .ulp = 8};
  ops_of_type(&driver, HR_C64, 700, true);
  ops_of_type(&driver, HR_C64, 1, true);
  ops_of_type(&driver, HR_C128, 700, true);
  CHECK(&driver,
        "HloModule t\nENTRY e { a = c64[99] parameter(0) b = c128[99] parameter(1) c = f32[99] "
        "abs(a)\n"
        "d = f64[99] abs(b) f = f32[99] imag(a) g = f64[99] real(b) h = c64[99] complex(c, f)\n"
        "ROOT t = tuple(c, d, g, h) }\n");
  CU_ASSERT_EQUAL(driver.declined, 0);
}

/* From each type to each. */
static void conversions(void) {
  jit_driver_t driver = {.seed = 3, .workers = 1};
  for (int i = 0; i < TYPES; i++) {
    hr_strbuf_t text;
    hr_strbuf_init(&text);
    hr_strbuf_printf(&text, "HloModule t\nENTRY e { a = %s[600] parameter(0)\n",
                     hr_dtype_name((hr_dtype_t)i));
    for (int k = 0; k < TYPES; k++)
      hr_strbuf_printf(&text, "r%d = %s[600] convert(a)\n", k, hr_dtype_name((hr_dtype_t)k));
    add_tuple(&text, TYPES);
    check_text(&driver, &text);
  }
  CHECK(&driver,
        "HloModule t\nENTRY e { a = f32[99] parameter(0) b = s32[99] bitcast-convert(a)\n"
        "c = u32[99] bitcast-convert(a) d = f16[99] parameter(1) f = s16[99] bitcast-convert(d)\n"
        "ROOT t = (s32[99], u32[99], s16[99]) tuple(b, c, f) }\n");
  CU_ASSERT_EQUAL(driver.declined, is_declined(HR_F16) ? TYPES + 1 : 0);
}

/* What moves, chooses and sums complex numbers, by whole vectors and less. */
static void complex_arrays(void) {
  static const char *const types[] = {"c64", "c128"};
  for (int i = 0; i < 24; i++) {
    jit_driver_t driver = {.seed = (uint64_t)i,
                           .workers = 1 + i % 2,
                           .small_numbers = true,
                           .ulp = 1,
                           .tolerance = 1e-5,
                           .in_place = i % 3 == 0};
    const char *type = types[i % 2];
    int rows = 1 + i * 5 % 23, columns = 1 + i * 7 % 61;
    char text[2048];
    snprintf(
        text, sizeof text,
        "HloModule t\nENTRY e { a = %s[%d,%d] parameter(0) b = %s[%d,%d] parameter(1) p = "
        "pred[%d,%d] parameter(2)\n"
        "k = %s[] constant((1.5, -2)) kb = %s[%d,%d] broadcast(k), dimensions={} m = %s[%d,%d] "
        "multiply(a, kb)\n"
        "q = %s[%d,%d] select(p, m, b) r = %s[%d,%d] reverse(b), dimensions={1} v = %s[%d,%d] "
        "subtract(q, r)\n"
        "w = %s[%d,%d] select(p, a, b) n = %s[%d,%d] maximum(w, v) ROOT t = tuple(v, w, n) }\n",
        type, rows, columns, type, rows, columns, rows, columns, type, type, rows, columns, type,
        rows, columns, type, rows, columns, type, rows, columns, type, rows, columns, type, rows,
        columns, type, rows, columns);
    CHECK(&driver, text);
    snprintf(
        text, sizeof text,
        "HloModule t\nf { x = %s[] parameter(0) y = %s[] parameter(1) ROOT z = %s[] add(x, y) }\n"
        "ENTRY e { a = %s[%d,%d] parameter(0) m = %s[%d,%d] multiply(a, a) k = %s[] constant((0, "
        "1))\n"
        "ROOT r = %s[%d] reduce(m, k), dimensions={%d}, to_apply=f }\n",
        type, type, type, type, rows, columns, type, rows, columns, type, type,
        i % 3 ? rows : columns, i % 3 ? 1 : 0);
    CHECK(&driver, text);
    snprintf(text, sizeof text,
             "HloModule t\nENTRY e { a = %s[%d,%d] parameter(0) b = %s[%d,%d] transpose(a), "
             "dimensions={1,0}\n"
             "c = %s[%d,%d] parameter(1) d = %s[%d,%d] add(b, c) ROOT n = %s[%d,%d] negate(d) }\n",
             type, rows, columns, type, columns, rows, type, columns, rows, type, columns, rows,
             type, columns, rows);
    CHECK(&driver, text);
    CU_ASSERT_EQUAL(driver.declined, 0);
  }
}

/* Lines of fewer elements than a vector has, each with a row of its own from another array; and
 * sums over rows for which such lines have factors. */
static void short_lines(void) {
  for (int i = 0; i < 20; i++) {
    jit_driver_t driver = {.seed = (uint64_t)i,
                           .workers = 1 + i % 2,
                           .small_numbers = true,
                           .ulp = 3,
                           .tolerance = 1e-5,
                           .in_place = i % 3 == 0};
    int line = 1 + i, terms = 17 - i % 5;
    char text[1024];
    snprintf(text, sizeof text,
             "HloModule t\nENTRY e { a = f32[90,%d] parameter(0) i = s32[70,1] parameter(1) b = "
             "f32[70,%d] parameter(2)\n"
             "g = f32[70,%d] gather(a, i), offset_dims={1}, collapsed_slice_dims={0}, "
             "start_index_map={0}, "
             "index_vector_dim=1, slice_sizes={1,%d}\n"
             "s = f32[70,%d] subtract(b, g) ROOT r = f32[70,%d] exponential(s) }\n",
             line, line, line, line, line, line);
    CHECK(&driver, text);
    snprintf(text, sizeof text,
             "HloModule t\nf { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, "
             "y) }\n"
             "ENTRY e { a = f32[70,%d,%d] parameter(0) w = f32[%d,%d] parameter(1) z = f32[] "
             "constant(0)\n"
             "b = f32[70,%d,%d] broadcast(w), dimensions={1,2} m = f32[70,%d,%d] multiply(a, b)\n"
             "ROOT r = f32[70,%d] reduce(m, z), dimensions={2}, to_apply=f }\n",
             line, terms, line, terms, line, terms, line, terms, line);
    CHECK(&driver, text);
    CU_ASSERT_EQUAL(driver.declined, 0);
  }
}

/* Rows of which a register has several: sums over them, and elements that are computed from all of
 * their row. */
static void packed_rows(void) {
  static const char *const types[] = {"pred", "s8", "s16", "f32", "f64"};
  for (int i = 0; i < 60; i++) {
    jit_driver_t driver = {.seed = (uint64_t)i, .workers = 1 + i % 2, .small_numbers = true};
    int columns = 2 << i % 4, rows = 5 + 13 * (i % 12);
    const char *type = types[i % 5];
    char text[1024];
    snprintf(text, sizeof text,
             "HloModule t\nf { x = s32[] parameter(0) y = s32[] parameter(1) ROOT z = s32[] add(x, "
             "y) }\n"
             "ENTRY e { a = %s[%d,%d] parameter(0) b = s32[%d,%d] convert(a) n = s32[%d,%d] "
             "iota(), iota_dimension=1\n"
             "c = s32[%d,%d] shift-left(b, n) z = s32[] constant(0)\n"
             "ROOT r = s32[%d] reduce(c, z), dimensions={1}, to_apply=f }\n",
             type, rows, columns, rows, columns, rows, columns, rows, columns, rows);
    CHECK(&driver, text);
    CU_ASSERT_EQUAL(driver.declined, 0);
  }
}

/* Narrow floats of which some are only moved, others are computed with, and some are both. */
static void moved_floats(void) {
  static const char *const types[] = {"bf16", "f16", "f8e5m2", "f8e4m3fn"};
  for (int i = 0; i < 24; i++) {
    jit_driver_t driver = {
        .seed = (uint64_t)i, .workers = 1 + i % 2, .small_numbers = true, .in_place = i % 3 == 0};
    const char *t = types[i % 4];
    int rows = 3 + 11 * (i % 7), columns = 5 + 9 * i;
    char text[1536];
    snprintf(
        text, sizeof text,
        "HloModule t\nENTRY e { a = %s[%d,%d] parameter(0) b = %s[%d,%d] parameter(1) p = "
        "pred[%d,%d] parameter(2)\n"
        "r = %s[%d,%d] reverse(a), dimensions={1} s = %s[%d,%d] select(p, r, b) z = %s[] "
        "constant(1)\n"
        "d = %s[%d,%d] pad(s, z), padding=2_1x1_3 c = %s[%d,%d] concatenate(d, d), dimensions={0}\n"
        "n = %s[%d,%d] negate(b) m = %s[%d,%d] select(p, n, r) ROOT t = tuple(c%s) }\n",
        t, rows, columns, t, rows, columns, rows, columns, t, rows, columns, t, rows, columns, t, t,
        rows + 3, columns + 4, t, 2 * rows + 6, columns + 4, t, rows, columns, t, rows, columns,
        i % 2 ? "" : ", m");
    CHECK(&driver, text);
    CU_ASSERT_EQUAL(driver.declined, 0);
  }
}

/* Sizes around the width of vectors, and several workers. */
static void tails(void) {
  for (int size = 1; size <= 70; size += size < 20 ? 1 : 7) {
    jit_driver_t driver = {
        .seed = (uint64_t)size, .workers = 1 + size % 2, .in_place = size % 3 == 0};
    char text[512];
    snprintf(text, sizeof text,
             "HloModule t\nENTRY e { a = f32[%d] parameter(0) b = s8[%d] parameter(1) c = f32[%d] "
             "convert(b)\n"
             "d = f32[%d] multiply(a, c) g = pred[%d] compare(d, a), direction=GT\n"
             "ROOT t = (f32[%d], pred[%d]) tuple(d, g) }\n",
             size, size, size, size, size, size, size);
    CHECK(&driver, text);
    snprintf(text, sizeof text,
             "HloModule t\nENTRY e { a = f32[5,%d] parameter(0) b = f32[%d] parameter(1)\n"
             "c = f32[5,%d] broadcast(b), dimensions={1} ROOT d = f32[5,%d] add(a, c) }\n",
             size, size, size, size);
    CHECK(&driver, text);
  }
}

static const char *const index_programs[] = {
    "a = f32[6,40] parameter(0) r = f32[40,6] transpose(a), dimensions={1,0} ROOT s = f32[40,6] "
    "negate(r)",
    "a = f32[6,40,3] parameter(0) ROOT r = f32[3,6,40] transpose(a), dimensions={2,0,1}",
    "a = f32[40] parameter(0) b = f32[3,40,5] broadcast(a), dimensions={1} c = f32[3,40,5] "
    "parameter(1)\n"
    "ROOT r = f32[3,40,5] add(b, c)",
    "a = f32[] parameter(0) b = f32[33] broadcast(a), dimensions={} c = f32[33] parameter(1) ROOT "
    "r = f32[33] "
    "multiply(b, c)",
    "a = f32[12,10] parameter(0) b = f32[8,15] reshape(a) c = f32[15] parameter(1)\n"
    "d = f32[8,15] broadcast(c), dimensions={1} ROOT r = f32[8,15] add(b, d)",
    "a = f32[8,64] parameter(0) b = f32[8,8,8] reshape(a) c = f32[8,8,8] transpose(b), "
    "dimensions={1,0,2}\n"
    "ROOT d = f32[8,64] reshape(c)",
    "a = f32[512,32] parameter(0) b = f32[64,32] parameter(1) c = f32[8,64,32] broadcast(b), "
    "dimensions={1,2}\n"
    "d = f32[512,32] reshape(c) ROOT r = f32[512,32] add(a, d)",
    "a = s32[10,37] parameter(0) ROOT r = s32[10,37] reverse(a), dimensions={1}",
    "a = u8[1500000,3] parameter(0) ROOT r = u8[1500000,3] reverse(a), dimensions={1}",
    "a = s32[10,37] parameter(0) b = s32[10,37] reverse(a), dimensions={0,1} ROOT r = s32[10,37] "
    "negate(b)",
    "a = f64[20,37] parameter(0) ROOT r = f64[6,12] slice(a), slice={[2:20:3], [1:37:3]}",
    "a = f32[20,37] parameter(0) ROOT r = f32[6,35] slice(a), slice={[2:20:3], [1:36]}",
    "a = f32[3,20] parameter(0) b = f32[4,20] parameter(1) c = f32[2,20] parameter(2)\n"
    "d = f32[9,20] concatenate(a, b, c), dimensions={0} ROOT r = f32[9,20] negate(d)",
    "a = f32[7,3] parameter(0) b = f32[7,33] parameter(1) c = f32[7,2] parameter(2)\n"
    "d = f32[7,38] concatenate(a, b, c), dimensions={1} ROOT r = f32[7,38] negate(d)",
    "a = pred[7,3] parameter(0) b = pred[7,33] parameter(1) ROOT d = pred[7,36] concatenate(a, b), "
    "dimensions={1}",
    "a = f32[7,30] parameter(0) z = f32[] parameter(1) ROOT d = f32[9,47] pad(a, z), "
    "padding=1_1x10_7",
    "a = f32[7,30] parameter(0) z = f32[] parameter(1) ROOT d = f32[5,26] pad(a, z), "
    "padding=-1_-1x-4_0",
    "a = f32[7,30] parameter(0) z = f32[] parameter(1) ROOT d = f32[15,92] pad(a, z), "
    "padding=1_1_1x3_1_2",
    "a = bf16[70] parameter(0) z = bf16[] parameter(1) ROOT d = bf16[75] pad(a, z), padding=4_1",
    "i = s32[5,40] iota(), iota_dimension=1 j = s32[5,40] iota(), iota_dimension=0 ROOT r = "
    "s32[5,40] multiply(i, j)",
    "i = f32[100] iota(), iota_dimension=0 j = f32[100] sqrt(i) k = bf16[100] iota(), "
    "iota_dimension=0\n"
    "l = f32[100] convert(k) ROOT r = f32[100] add(j, l)",
    "a = f32[20,37] parameter(0) s = s32[] parameter(1) t = s32[] parameter(2)\n"
    "ROOT r = f32[5,30] dynamic-slice(a, s, t), dynamic_slice_sizes={5,30}",
    "a = f32[20,37] parameter(0) s = u32[] parameter(1) t = u32[] constant(3)\n"
    "b = f32[5,37] dynamic-slice(a, s, t), dynamic_slice_sizes={5,37} ROOT r = f32[5,37] negate(b)",
    "a = f32[20,37] parameter(0) u = f32[3,37] parameter(1) s = s32[] parameter(2) z = s32[] "
    "constant(0)\n"
    "v = f32[3,37] negate(u) ROOT r = f32[20,37] dynamic-update-slice(a, v, s, z)",
    "a = f32[20,37] parameter(0) u = f32[20,1] parameter(1) s = s32[] parameter(2) z = s32[] "
    "constant(0)\n"
    "ROOT r = f32[20,37] dynamic-update-slice(a, u, z, s)",
    "a = f32[4,8,9] parameter(0) b = f32[4,8,1] slice(a), slice={[0:4], [0:8], [8:9]}\n"
    "c = f32[4,8,8] slice(a), slice={[0:4], [0:8], [0:8]} ROOT d = f32[4,8,9] concatenate(b, c), "
    "dimensions={2}",
    "a = f32[6,4,10] parameter(0) b = f32[10,24] parameter(1) c = f32[10,6,4] reshape(b)\n"
    "d = f32[6,4,10] transpose(c), dimensions={1,2,0} ROOT r = f32[6,4,10] add(a, d)",
    "a = f32[30] parameter(0) c = f32[3] constant({1,2,3}) d = f32[10,3] broadcast(c), "
    "dimensions={1} e1 = f32[30] "
    "reshape(d)\n"
    "ROOT r = f32[30] multiply(a, e1)",
    "a = f32[] parameter(0) b = s32[] parameter(1) c = f32[] convert(b) d = f32[] add(a, c) m = "
    "s32[] negate(b)\n"
    "ROOT t = (f32[], s32[]) tuple(d, m)",
    "a = f32[50] parameter(0) b = f32[20,3] parameter(1) c = f32[50] negate(a) d = f32[20,3] "
    "abs(b)\n"
    "ROOT t = (f32[50], f32[20,3]) tuple(c, d)",
    "a = f32[48,32] parameter(0) b = f32[32,48] transpose(a), dimensions={1,0} c = f32[32,48] "
    "parameter(1)\n"
    "ROOT r = f32[32,48] subtract(b, c)",
    "a = f64[3,64,32] parameter(0) b = f64[3,32,64] transpose(a), dimensions={0,2,1} ROOT r = "
    "f64[3,32,64] negate(b)",
    "a = bf16[2,32,5,64] parameter(0) b = bf16[2,5,64,32] transpose(a), dimensions={0,2,3,1} ROOT "
    "r = bf16[2,5,64,32] "
    "negate(b)",
    "a = s8[64,128] parameter(0) b = s8[128,64] transpose(a), dimensions={1,0} ROOT r = s8[128,64] "
    "negate(b)",
    "a = pred[64,64] parameter(0) b = pred[64,64] transpose(a), dimensions={1,0} c = pred[64,64] "
    "parameter(1)\n"
    "d = s32[64,64] parameter(2) f = s32[64,64] transpose(d), dimensions={1,0} g = pred[64,64] "
    "xor(b, c)\n"
    "ROOT t = (pred[64,64], s32[64,64]) tuple(g, f)",
    "a = f32[6,5,4,3,7] parameter(0) b = f32[7,5,3,6,4] transpose(a), dimensions={4,1,3,0,2}\n"
    "ROOT r = f32[35,72] reshape(b)",
};

static void indices(void) {
  for (int i = 0; i < COUNT(index_programs); i++)
    for (int round = 0; round < 3; round++) {
      char text[1024];
      jit_driver_t driver = {.seed = (uint64_t)i,
                             .workers = 1 + round,
                             .in_place = round == 1,
                             .small_numbers = round < 2};
      snprintf(text, sizeof text, "HloModule t\nENTRY e {\n%s }\n", index_programs[i]);
      CHECK(&driver, text);
      CU_ASSERT_EQUAL(driver.declined, 0);
    }
}

/* --- reductions ------------------------------------------------------------------------------- */

#define SUM(type)                                                                                \
  "sum { a = " type "[] parameter(0) b = " type "[] parameter(1) ROOT c = " type "[] add(a, b) " \
                                                                                 "}\n"
#define MOST(type)                                                                \
  "most { a = " type "[] parameter(0) b = " type "[] parameter(1) ROOT c = " type \
  "[] maximum(a, b) }\n"

static const char *const softmax =
    "a = f32[%d,%d] parameter(0) m = f32[] constant(-inf) r = f32[%d] reduce(a, m), "
    "dimensions={1}, to_apply=most\n"
    "b = f32[%d,%d] broadcast(r), dimensions={0} s = f32[%d,%d] subtract(a, b) x = f32[%d,%d] "
    "exponential(s)\n"
    "z = f32[] constant(0) t = f32[%d] reduce(x, z), dimensions={1}, to_apply=sum\n"
    "u = f32[%d,%d] broadcast(t), dimensions={0} ROOT q = f32[%d,%d] divide(x, u) }\n";

static void check_softmax(jit_driver_t *driver, int n, int m) {
  char text[2048];
  size_t head =
      (size_t)snprintf(text, sizeof text, "HloModule t\n%s%sENTRY e {\n", SUM("f32"), MOST("f32"));
  snprintf(text + head, sizeof text - head, softmax, n, m, n, n, m, n, m, n, m, n, n, m, n, m);
  CHECK(driver, text);
}

static void rows(void) {
  static const int sizes[] = {2, 3, 15, 16, 17, 33, 64, 100, 257, 1000};
  for (int i = 0; i < COUNT(sizes); i++) {
    jit_driver_t driver = {
        .seed = (uint64_t)i, .workers = 1 + i % 3, .small_numbers = true, .tolerance = 1e-5};
    check_softmax(&driver, 12, sizes[i]);
    check_softmax(&driver, 1, sizes[i]);
    CU_ASSERT_EQUAL(driver.declined, 0);
  }
  jit_driver_t driver = {.seed = 5, .workers = 2, .small_numbers = true, .tolerance = 1e-5};
  check_softmax(&driver, 2, 100000);
  CU_ASSERT_EQUAL(driver.declined, 0);
}

static const char *const reduce_programs[] = {
    SUM("f32") "ENTRY e { a = f32[70,40] parameter(0) z = f32[] parameter(1)\n"
    "ROOT r = f32[40] reduce(a, z), dimensions={0}, to_apply=sum }\n",
    SUM("f32") "ENTRY e { a = f32[700,1999] parameter(0) z = f32[] constant(2)\n"
    "ROOT r = f32[1999] reduce(a, z), dimensions={0}, to_apply=sum }\n",
    SUM("f32") "ENTRY e { a = f32[3000,20] parameter(0) z = f32[] constant(0)\n"
    "b = f32[3000,20] multiply(a, a) r = f32[20] reduce(b, z), dimensions={0}, to_apply=sum s = f32[20] sqrt(r)\n"
    "ROOT t = (f32[20], f32[3000,20]) tuple(s, b) }\n",
    SUM("s32") "ENTRY e { a = s32[7,6,5,4] parameter(0) z = s32[] parameter(1)\n"
    "ROOT r = s32[7,5] reduce(a, z), dimensions={1,3}, to_apply=sum }\n",
    SUM("s32") "ENTRY e { a = s32[7,6,5,40] parameter(0) z = s32[] parameter(1)\n"
    "ROOT r = s32[6,40] reduce(a, z), dimensions={0,2}, to_apply=sum }\n",
    SUM("f64") "ENTRY e { a = f64[100003] parameter(0) z = f64[] constant(1)\n"
    "b = f64[100003] negate(a) ROOT r = f64[] reduce(b, z), dimensions={0}, to_apply=sum }\n",
    MOST("u8") "ENTRY e { a = u8[100,77] parameter(0) z = u8[] constant(0)\n"
    "ROOT r = u8[100] reduce(a, z), dimensions={1}, to_apply=most }\n",
    MOST("s16") "ENTRY e { a = s16[100,77] parameter(0) z = s16[] constant(-32768)\n"
    "ROOT r = s16[77] reduce(a, z), dimensions={0}, to_apply=most }\n",
    MOST("bf16") "ENTRY e { a = bf16[10,77] parameter(0) z = bf16[] constant(-inf)\n"
    "ROOT r = bf16[10] reduce(a, z), dimensions={1}, to_apply=most }\n",
    MOST("bf16") "ENTRY e { a = bf16[301,3] parameter(0) z = bf16[] constant(-inf)\n"
    "ROOT r = bf16[301] reduce(a, z), dimensions={1}, to_apply=most }\n",
    SUM("f16") "ENTRY e { a = f16[20,2,25,2] parameter(0) z = f16[] constant(1)\n"
    "ROOT r = f16[20,25] reduce(a, z), dimensions={1,3}, to_apply=sum }\n",
    "arg { a = bf16[] parameter(0) i = s32[] parameter(1) b = bf16[] parameter(2) j = s32[] parameter(3)\n"
    "g = pred[] compare(a, b), direction=GT v = bf16[] select(g, a, b) k = s32[] select(g, i, j)\n"
    "ROOT t = (bf16[], s32[]) tuple(v, k) }\n"
    "ENTRY e { a = bf16[200,3] parameter(0) i = s32[200,3] iota(), iota_dimension=1 m = bf16[] constant(-inf)\n"
    "z = s32[] constant(0) ROOT r = (bf16[200], s32[200]) reduce(a, i, m, z), dimensions={1}, to_apply=arg }\n",
    "all { a = pred[] parameter(0) b = pred[] parameter(1) ROOT c = pred[] and(a, b) }\n"
    "ENTRY e { a = f32[10,77] parameter(0) c = f32[] constant(7) d = f32[10,77] broadcast(c), dimensions={}\n"
    "f = pred[10,77] compare(a, d), direction=LT z = pred[] constant(true)\n"
    "ROOT r = pred[10] reduce(f, z), dimensions={1}, to_apply=all }\n",
    SUM("f32") "ENTRY e { a = f32[8,64,100] parameter(0) z = f32[] constant(0)\n"
    "r = f32[8,64] reduce(a, z), dimensions={2}, to_apply=sum n = f32[] constant(100)\n"
    "nb = f32[8,64] broadcast(n), dimensions={} m = f32[8,64] divide(r, nb) mb = f32[8,64,100] broadcast(m),\n"
    "dimensions={0,1}\n"
    "d = f32[8,64,100] subtract(a, mb) q = f32[8,64,100] multiply(d, d)\n"
    "v = f32[8,64] reduce(q, z), dimensions={2}, to_apply=sum w = f32[8,64] divide(v, nb) x = f32[8,64] rsqrt(w)\n"
    "xb = f32[8,64,100] broadcast(x), dimensions={0,1} y = f32[8,64,100] multiply(d, xb) g = f32[100] parameter(1)\n"
    "gb = f32[8,64,100] broadcast(g), dimensions={2} o = f32[8,64,100] multiply(y, gb)\n"
    "ROOT t = (f32[8,64,100], f32[8,64]) tuple(o, m) }\n",
    "arg { a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2) j = s32[] parameter(3)\n"
    "g = pred[] compare(a, b), direction=GT e = pred[] compare(a, b), direction=EQ l = pred[] compare(i, j),\n"
    "direction=LT\n"
    "f = pred[] and(e, l) h = pred[] or(g, f) v = f32[] select(h, a, b) k = s32[] select(h, i, j)\n"
    "ROOT t = (f32[], s32[]) tuple(v, k) }\n"
    "ENTRY e { a = f32[20,301] parameter(0) i = s32[20,301] iota(), iota_dimension=1 m = f32[] constant(-inf)\n"
    "z = s32[] constant(0) ROOT r = (f32[20], s32[20]) reduce(a, i, m, z), dimensions={1}, to_apply=arg }\n",
    "arg { a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2) j = s32[] parameter(3)\n"
    "g = pred[] compare(a, b), direction=GT e = pred[] compare(a, b), direction=EQ l = pred[] compare(i, j),\n"
    "direction=LT\n"
    "f = pred[] and(e, l) h = pred[] or(g, f) v = f32[] select(h, a, b) k = s32[] select(h, i, j)\n"
    "ROOT t = (f32[], s32[]) tuple(v, k) }\n"
    "ENTRY e { a = f32[20,301] parameter(0) i = s32[20,301] iota(), iota_dimension=0 m = f32[] constant(-inf)\n"
    "z = s32[] constant(0) r = (f32[301], s32[301]) reduce(a, i, m, z), dimensions={0}, to_apply=arg\n"
    "ROOT k = s32[301] get-tuple-element(r), index=1 }\n",
    SUM("f32") "ENTRY e { a = f32[128,10] parameter(0) b = s32[128] parameter(1) c = f32[128] parameter(2) z =\n"
    "f32[] constant(0)\n"
    "d = s32[128] negate(b) r = f32[128] reduce(a, z), dimensions={1}, to_apply=sum q = f32[128] multiply(r, c)\n"
    "ROOT t = (s32[128], f32[128]) tuple(d, q) }\n",
    /* rows of few elements: one result each, several that depend on each other, an arg-max, and all elements */
    SUM("f32") "ENTRY e { a = u8[70,10,3] parameter(0) z = f32[] constant(1) b = f32[70,10,3] convert(a)\n"
    "r = f32[70,10] reduce(b, z), dimensions={2}, to_apply=sum ROOT c = s8[70,10] convert(r) }\n",
    SUM("f64") "ENTRY e { a = f64[700,16] parameter(0) z = f64[] constant(0)\n"
    "r = f64[700] reduce(a, z), dimensions={1}, to_apply=sum b = f64[700,16] broadcast(r), dimensions={0}\n"
    "d = f64[700,16] subtract(a, b) q = f64[700,16] multiply(d, d)\n"
    "ROOT v = f64[700] reduce(q, z), dimensions={1}, to_apply=sum }\n",
    SUM("f32") MOST("f32") "ENTRY e { a = f32[301,5] parameter(0) m = f32[] constant(-inf) z = f32[] constant(0)\n"
    "r = f32[301] reduce(a, m), dimensions={1}, to_apply=most b = f32[301,5] broadcast(r), dimensions={0}\n"
    "d = f32[301,5] subtract(a, b) x = f32[301,5] exponential(d) s = f32[301] reduce(x, z), dimensions={1},\n"
    "to_apply=sum c = f32[301,5] broadcast(s), dimensions={0} p = f32[301,5] divide(x, c)\n"
    "ROOT t = (f32[301,5], f32[301]) tuple(p, s) }\n",
    "arg { a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2) j = s32[] parameter(3)\n"
    "g = pred[] compare(a, b), direction=GT v = f32[] select(g, a, b) k = s32[] select(g, i, j)\n"
    "ROOT t = (f32[], s32[]) tuple(v, k) }\n"
    "ENTRY e { a = f32[200,7] parameter(0) i = s32[200,7] iota(), iota_dimension=1 m = f32[] constant(-inf)\n"
    "z = s32[] constant(0) ROOT r = (f32[200], s32[200]) reduce(a, i, m, z), dimensions={1}, to_apply=arg }\n",
    SUM("f32") "ENTRY e { a = f32[30,1,50] parameter(0) z = f32[] constant(3)\n"
    "ROOT r = f32[30,50] reduce(a, z), dimensions={1}, to_apply=sum }\n",
    SUM("f32") "ENTRY e { a = f32[40,30] parameter(0) b = f32[30,40] parameter(1) c = f32[40,30] transpose(b),\n"
    "dimensions={1,0}\n"
    "d = f32[40,30] multiply(a, c) z = f32[] constant(0) ROOT r = f32[40] reduce(d, z), dimensions={1},\n"
    "to_apply=sum }\n",
};

static void reductions(void) {
  for (int i = 0; i < COUNT(reduce_programs); i++)
    for (int round = 0; round < 3; round++) {
      char text[3072];
      jit_driver_t driver = {.seed = (uint64_t)i,
                             .workers = 1 + round,
                             .in_place = round == 1,
                             .small_numbers = true,
                             .tolerance = 1e-5};
      snprintf(text, sizeof text, "HloModule t\n%s", reduce_programs[i]);
      CHECK(&driver, text);
      CU_ASSERT_EQUAL(driver.declined, 0);
    }
}

/* --- random fusions --------------------------------------------------------------------------- */

typedef struct maker {
  uint64_t seed;
  hr_strbuf_t text;
  int count; /* values so far: v0, v1, ... */
  int ranks[64], dims[64][3];
  bool is_pred[64];
} maker_t;

static int pick(maker_t *m, int count) { return (int)(jit_random(&m->seed) % (uint64_t)count); }

static void print_type(maker_t *m, int v) {
  hr_strbuf_printf(&m->text, "%s[", m->is_pred[v] ? "pred" : "f32");
  for (int d = 0; d < m->ranks[v]; d++)
    hr_strbuf_printf(&m->text, "%s%d", d ? "," : "", m->dims[v][d]);
  hr_strbuf_printf(&m->text, "]");
}

/* A new value like another one; its line up to the op. */
static int begin_value(maker_t *m, int like, bool is_pred) {
  int v = m->count++;
  m->ranks[v] = m->ranks[like], m->is_pred[v] = is_pred;
  memcpy(m->dims[v], m->dims[like], sizeof m->dims[v]);
  return v;
}

static void print_head(maker_t *m, int v) {
  hr_strbuf_printf(&m->text, "v%d = ", v);
  print_type(m, v);
}

static bool same_dims(const maker_t *m, int a, int b) {
  return m->ranks[a] == m->ranks[b] &&
         !memcmp(m->dims[a], m->dims[b], (size_t)m->ranks[a] * sizeof(int));
}

static int find_like(maker_t *m, int v, bool is_pred) {
  for (int tries = 0; tries < 20; tries++) {
    int other = pick(m, m->count);
    if (m->is_pred[other] == is_pred && same_dims(m, v, other)) return other;
  }
  return -1;
}

static void add_elementwise(maker_t *m, int x) {
  static const char *const unary[] = {"negate", "abs", "floor", "tanh", "sign"};
  static const char *const binary[] = {"add", "subtract", "multiply", "maximum", "minimum"};
  int y = find_like(m, x, false), p = find_like(m, x, true), kind = pick(m, 4);
  int v = begin_value(m, x, kind == 2);
  print_head(m, v);
  if (kind == 2)
    hr_strbuf_printf(&m->text, " compare(v%d, v%d), direction=LT\n", x, y < 0 ? x : y);
  else if (kind == 3 && p >= 0 && y >= 0)
    hr_strbuf_printf(&m->text, " select(v%d, v%d, v%d)\n", p, x, y);
  else if (kind && y >= 0)
    hr_strbuf_printf(&m->text, " %s(v%d, v%d)\n", binary[pick(m, 5)], x, y);
  else
    hr_strbuf_printf(&m->text, " %s(v%d)\n", unary[pick(m, 5)], x);
}

static void add_moved(maker_t *m, int x) {
  int kind = pick(m, 6), v = begin_value(m, x, false), rank = m->ranks[v], *dims = m->dims[v];
  int d = rank ? pick(m, rank) : 0, old = rank ? dims[d] : 0;
  if (!rank || kind == 0) {
    if (rank < 3)
      m->ranks[v]++, memmove(dims + 1, dims, sizeof(int) * (size_t)rank), dims[0] = 1 + pick(m, 5);
    print_head(m, v);
    hr_strbuf_printf(&m->text, rank < 3 ? " broadcast(v%d), dimensions={" : " copy(v%d)\n", x);
    for (int i = 0; rank < 3 && i < rank; i++)
      hr_strbuf_printf(&m->text, "%s%d", i ? "," : "", i + 1);
    if (rank < 3) hr_strbuf_printf(&m->text, "}\n");
  } else if (kind == 1) {
    for (int i = 0; i < rank; i++) dims[i] = m->dims[x][rank - 1 - i];
    print_head(m, v);
    hr_strbuf_printf(&m->text, " transpose(v%d), dimensions={%s}\n", x,
                     rank == 1   ? "0"
                     : rank == 2 ? "1,0"
                                 : "2,1,0");
  } else if (kind == 2) {
    print_head(m, v);
    hr_strbuf_printf(&m->text, " reverse(v%d), dimensions={%d}\n", x, d);
  } else if (kind == 3 && old > 2) {
    dims[d] = (old - 1 + 1) / 2;
    print_head(m, v);
    hr_strbuf_printf(&m->text, " slice(v%d), slice={", x);
    for (int i = 0; i < rank; i++)
      hr_strbuf_printf(&m->text, i == d ? "%s[1:%d:2]" : "%s[0:%d]", i ? ", " : "",
                       i == d ? old : dims[i]);
    hr_strbuf_printf(&m->text, "}\n");
    dims[d] = old / 2;
  } else if (kind == 4) {
    dims[d] = 2 * old;
    print_head(m, v);
    hr_strbuf_printf(&m->text, " concatenate(v%d, v%d), dimensions={%d}\n", x, x, d);
  } else {
    dims[d] = old + 3;
    print_head(m, v);
    hr_strbuf_printf(&m->text, " pad(v%d, v0), padding=", x);
    for (int i = 0; i < rank; i++)
      hr_strbuf_printf(&m->text, i == d ? "%s1_2" : "%s0_0", i ? "x" : "");
    hr_strbuf_printf(&m->text, "\n");
  }
}

static int64_t size_of(const maker_t *m, int v) {
  int64_t size = 1;
  for (int d = 0; d < m->ranks[v]; d++) size *= m->dims[v][d];
  return size;
}

static void add_parameter(maker_t *m, int number, int rank) {
  int v = m->count++;
  m->ranks[v] = rank;
  for (int d = 0; d < rank; d++) m->dims[v][d] = 1 + pick(m, d == rank - 1 ? 40 : 6);
  print_head(m, v);
  hr_strbuf_printf(&m->text, " parameter(%d)\n", number);
}

static void random_fusions(void) {
  jit_driver_t driver = {.workers = 2, .ulp = 4, .small_numbers = true, .tolerance = 1e-6};
  for (int round = 0; round < 150; round++) {
    maker_t m = {.seed = (uint64_t)round};
    hr_strbuf_init(&m.text);
    hr_strbuf_printf(&m.text, "HloModule t\nENTRY e {\n");
    for (int k = 0; k < 4; k++) add_parameter(&m, k, k);
    for (int i = 0; i < 12; i++) {
      int x = pick(&m, 3) ? m.count - 1 : pick(&m, m.count);
      if (m.is_pred[x]) x = pick(&m, 4);
      if (pick(&m, 5) < 2 && size_of(&m, x) < 3000)
        add_moved(&m, x);
      else
        add_elementwise(&m, x);
    }
    hr_strbuf_printf(&m.text, "ROOT r = ");
    int last = m.count - 1;
    print_type(&m, last);
    hr_strbuf_printf(&m.text, " copy(v%d) }\n", last);
    driver.seed = m.seed, driver.in_place = round % 2;
    check_text(&driver, &m.text);
  }
  CU_ASSERT_EQUAL(driver.declined, 0);
}

/* A scan of `size` elements as jax.lax.associative_scan writes it, whose elements come from ever
 * more places, one for each of its shorter arrays; returns the number of its value. */
static int add_scan(hr_strbuf_t *text, const char *type, int size, int of, int *count) {
  int half = size / 2, rest = (size - 1) / 2, first = (*count += 12) - 11;
  if (size < 2) return of;
  hr_strbuf_printf(text, "v%d = %s[%d] slice(v%d), slice={[0:%d:2]}\n", first, type, half, of,
                   2 * half - 1);
  hr_strbuf_printf(text, "v%d = %s[%d] slice(v%d), slice={[1:%d:2]}\n", first + 1, type, half, of,
                   2 * half);
  hr_strbuf_printf(text, "v%d = %s[%d] add(v%d, v%d)\n", first + 2, type, half, first, first + 1);
  int odd = add_scan(text, type, half, first + 2, count);
  hr_strbuf_printf(text, "v%d = %s[%d] slice(v%d), slice={[0:%d]}\n", first + 3, type, rest, odd,
                   rest);
  hr_strbuf_printf(text, "v%d = %s[%d] slice(v%d), slice={[2:%d:2]}\n", first + 4, type, rest, of,
                   size);
  hr_strbuf_printf(text, "v%d = %s[%d] add(v%d, v%d)\n", first + 5, type, rest, first + 3,
                   first + 4);
  hr_strbuf_printf(text, "v%d = %s[1] slice(v%d), slice={[0:1]}\n", first + 6, type, of);
  hr_strbuf_printf(text, "v%d = %s[%d] concatenate(v%d, v%d), dimensions={0}\n", first + 7, type,
                   rest + 1, first + 6, first + 5);
  hr_strbuf_printf(text, "v%d = %s[] constant(0)\n", first + 8, type);
  hr_strbuf_printf(text, "v%d = %s[%d] pad(v%d, v%d), padding=0_%d_1\n", first + 9, type, size,
                   first + 7, first + 8, size % 2 ? 0 : 1);
  hr_strbuf_printf(text, "v%d = %s[%d] pad(v%d, v%d), padding=1_%d_1\n", first + 10, type, size,
                   odd, first + 8, size % 2 ? 1 : 0);
  hr_strbuf_printf(text, "v%d = %s[%d] add(v%d, v%d)\n", first + 11, type, size, first + 9,
                   first + 10);
  return first + 11;
}

static size_t lines_of(const char *path) {
  size_t lines = 0;
  FILE *file = fopen(path, "r");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  for (int c; (c = getc(file)) != EOF;) lines += c == '\n';
  fclose(file);
  return lines;
}

static bool ends_in(const char *name, const char *ending) {
  const char *dot = strrchr(name, '.');
  return dot && strcmp(dot, ending) == 0;
}

/* Of the folder's files of LLVM's text. All files are removed with the folder. */
static size_t lines_in(const char *folder) {
  size_t lines = 0;
  char path[512];
  DIR *list = opendir(folder);
  CU_ASSERT_PTR_NOT_NULL_FATAL(list);
  for (struct dirent *entry; (entry = readdir(list));) {
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (ends_in(entry->d_name, ".ll")) lines += lines_of(path);
    unlink(path);
  }
  closedir(list);
  rmdir(folder);
  return lines;
}

/* Elements that come from many places, each under conditions: code grows by the places, and not by
 * their square or by the lanes. */
static void many_positions(void) {
  static const char *const types[] = {"u8", "s32", "f64"};
  jit_driver_t driver = {.workers = 1, .small_numbers = true, .tolerance = 1e-9};
  for (int t = 0; t < 3; t++) {
    char folder[] = "/tmp/hlorun_jit_XXXXXX";
    hr_strbuf_t text;
    int count = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    setenv("JIT_DUMP", folder, 1);
    hr_strbuf_init(&text);
    hr_strbuf_printf(&text, "HloModule t\nENTRY e {\nv0 = %s[66] parameter(0)\n", types[t]);
    int scan = add_scan(&text, types[t], 66, 0, &count);
    hr_strbuf_printf(&text, "ROOT r = %s[66] copy(v%d) }\n", types[t], scan);
    check_text(&driver, &text);
    unsetenv("JIT_DUMP");
    CU_ASSERT_TRUE(lines_in(folder) < 16000);
  }
  CU_ASSERT_EQUAL(driver.declined, 0);
}

CU_TestInfo suite_jit[] = {{"exact ops", exact_ops},
                           {"functions", functions},
                           {"scalars side by side", scalars_side_by_side},
                           {"functions of complex numbers", complex_functions},
                           {"arrays of complex numbers", complex_arrays},
                           {"lines shorter than a vector", short_lines},
                           {"rows in one register", packed_rows},
                           {"floats that are moved", moved_floats},
                           {"conversions", conversions},
                           {"tails", tails},
                           {"indices", indices},
                           {"rows", rows},
                           {"reductions", reductions},
                           {"random fusions", random_fusions},
                           {"elements from many places", many_positions},
                           CU_TEST_INFO_NULL};
