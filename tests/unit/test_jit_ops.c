/* Generated code against the reference engine: each op of elements for each element type, functions
 * of real and complex numbers, and conversions between all types. */
#include "base/text.h"
#include "jit/target.h"
#include "ops/query/codegen_support.h"
#include "tests/lib/jit_driver.h"

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
    case HLO_MULHI:
      return hr_dtype_is_integer(type);
    case HLO_SUBTRACT:
    case HLO_DIVIDE:
      return class_ != HR_CLASS_PRED;
    case HLO_REMAINDER:
    case HLO_POWER: /* complex ones have a test of their own */
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

#define COUNT(list) (int)(sizeof(list) / sizeof *(list))

/* The generated ops of the table whose result has the type and sizes of its operands; programs with
 * the others are written out below. */
static bool is_like_operands(hlo_opcode_t op) {
  switch (op) {
    case HLO_CONVERT:
    case HLO_BITCAST_CONVERT:
    case HLO_REDUCE_PRECISION:
    case HLO_REAL:
    case HLO_IMAG:
    case HLO_IS_FINITE:
    case HLO_COMPLEX:
    case HLO_COMPARE:
      return false;
    default:
      return op_codegens[op] == CODEGEN_ELEMENTWISE;
  }
}

/* Must the result be the reference's to the bit? Others may be some units in the last place away.
 * Roots of complex numbers are functions, too, and so are their quotients. */
static bool is_function(hlo_opcode_t op, hr_dtype_t type) {
  if (hr_dtype_is_integer(type)) return false;
  switch (op) {
    case HLO_ADD:
    case HLO_SUBTRACT:
    case HLO_MULTIPLY:
    case HLO_DIVIDE:
    case HLO_REMAINDER:
    case HLO_MAXIMUM:
    case HLO_MINIMUM:
    case HLO_NEGATE:
    case HLO_ABS:
    case HLO_AND:
    case HLO_OR:
    case HLO_XOR:
    case HLO_NOT:
    case HLO_CEIL:
    case HLO_FLOOR:
    case HLO_ROUND_NEAREST_AFZ:
    case HLO_ROUND_NEAREST_EVEN:
      return false;
    case HLO_SQRT:
    case HLO_SIGN:
      return hr_dtype_is_complex(type);
    default:
      return true;
  }
}

/* All ops on a type are one program: a result each. */
static void add_ops(hr_strbuf_t *text, const char *type, hr_dtype_t dtype, bool functions,
                    int *count) {
  for (int i = 0; i < HLO_OPCODE_COUNT; i++) {
    hlo_opcode_t op = (hlo_opcode_t)i;
    int operands = hlo_op_table[op].operands;
    if (!is_like_operands(op) || operands > 2 || !is_op(op, dtype)) continue;
    if (is_function(op, dtype) == functions)
      hr_strbuf_printf(text, "r%d = %s %s(%s)\n", (*count)++, type, hlo_op_name(op),
                       operands == 1 ? "a" : "a, b");
  }
}

static void add_tuple(hr_strbuf_t *text, int count) {
  hr_strbuf_printf(text, "ROOT t = tuple(");
  for (int i = 0; i < count; i++) hr_strbuf_printf(text, "%sr%d", i ? ", " : "", i);
  hr_strbuf_printf(text, ") }\n");
}

static void check_text(jit_driver_t *driver, hr_strbuf_t *text) {
  CHECK_OK(hr_strbuf_finish(text));
  JIT_CHECK(driver, text->data);
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

/* Ops on f16 that follow each other stay f16 where the processor has arithmetic on it, whole
 * vectors and shorter ones, with constants and with what other types are converted to. */
static void chains_of_f16(void) {
  static const int sizes[] = {1, 7, 16, 31, 64, 1000};
  jit_driver_t driver = {.seed = 6, .workers = 1};
  if (is_declined(HR_F16)) return;
  for (int i = 0; i < COUNT(sizes); i++) {
    hr_strbuf_t text;
    int n = sizes[i];
    hr_strbuf_init(&text);
    hr_strbuf_printf(&text,
                     "HloModule t\nENTRY e { a = f16[%d] parameter(0) b = f16[%d] parameter(1)\n"
                     "i = s32[%d] parameter(2) k = f16[] constant(0.1) c = f16[%d] broadcast(k), "
                     "dimensions={}\nz = f16[] constant(0) o = f16[%d] broadcast(z), "
                     "dimensions={}\n",
                     n, n, n, n, n);
    static const char *const steps[] = {"multiply(a, c)",    "subtract(r0, b)", "divide(r1, a)",
                                        "negate(r2)",        "abs(r3)",         "sqrt(r4)",
                                        "maximum(r1, r5)",   "minimum(r6, o)",  "clamp(o, r2, c)",
                                        "maximum(r1, o)",    "add(r8, r9)",     "convert(i)",
                                        "multiply(r11, r10)"};
    for (int k = 0; k < COUNT(steps); k++)
      hr_strbuf_printf(&text, "r%d = f16[%d] %s\n", k, n, steps[k]);
    hr_strbuf_printf(&text, "r13 = pred[%d] compare(r1, r2), direction=LT\n", n);
    hr_strbuf_printf(&text, "r14 = pred[%d] compare(r1, o), direction=NE\n", n);
    hr_strbuf_printf(&text, "r15 = f16[%d] select(r13, r1, r2)\n", n);
    hr_strbuf_printf(&text, "r16 = f32[%d] convert(r15)\n", n);
    hr_strbuf_printf(&text, "r17 = s32[%d] convert(r12)\n", n);
    add_tuple(&text, 18);
    check_text(&driver, &text);
  }
  CU_ASSERT_EQUAL(driver.declined, 0);
}

/* Divisors whose quotients are products with two parts of the reciprocal, and others. */
static void bytes_by_constants(void) {
  static const char *const divisors[] = {"255", "127.5", "-3", "0", "0.1", "inf", "1e-40", "64"};
  static const char *const types[] = {"u8", "s8"}, *const reals[] = {"f32", "f64", "bf16"};
  jit_driver_t driver = {.seed = 7, .workers = 1};
  for (int t = 0; t < COUNT(types); t++) {
    hr_strbuf_t text;
    int count = 0;
    hr_strbuf_init(&text);
    hr_strbuf_printf(&text, "HloModule t\nENTRY e { a = %s[4000] parameter(0)\n", types[t]);
    for (int r = 0; r < COUNT(reals); r++) {
      hr_strbuf_printf(&text, "x%d = %s[4000] convert(a)\n", r, reals[r]);
      for (int d = 0; d < COUNT(divisors); d++, count++)
        hr_strbuf_printf(&text,
                         "k%d = %s[] constant(%s) b%d = %s[4000] broadcast(k%d), dimensions={}\n"
                         "r%d = %s[4000] divide(x%d, b%d)\n",
                         count, reals[r], divisors[d], count, reals[r], count, count, reals[r], r,
                         count);
    }
    add_tuple(&text, count);
    check_text(&driver, &text);
  }
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
  JIT_CHECK(&driver,
            "HloModule t\nENTRY e { a = c64[99] parameter(0) b = c128[99] parameter(1) c = f32[99] "
            "abs(a)\n"
            "d = f64[99] abs(b) f = f32[99] imag(a) g = f64[99] real(b) h = c64[99] complex(c, f)\n"
            "ROOT t = tuple(c, d, g, h) }\n");
  CU_ASSERT_EQUAL(driver.declined, 0);
}

/* The reference itself knows the smaller part of a power to some bits of the larger one alone. */
static void complex_powers(void) {
  jit_driver_t driver = {.seed = 5, .workers = 1, .ulp = 8, .by_larger = true};
  JIT_CHECK(&driver,
            "HloModule t\nENTRY e { a = c128[3000] parameter(0) b = c128[3000] parameter(1)\n"
            "c = c64[3000] parameter(2) d = c64[3000] parameter(3) p = c128[3000] power(a, b)\n"
            "q = c64[3000] power(c, d) k = c128[] constant((2.5, 0)) l = c128[3000] broadcast(k), "
            "dimensions={} r = c128[3000] power(a, l)\nROOT t = tuple(p, q, r) }\n");
  JIT_CHECK(&driver,
            "HloModule t\nENTRY e { a = f64[3000] parameter(0) b = c128[3000] convert(a)\n"
            "c = f64[3000] parameter(1) d = c128[3000] convert(c)\n"
            "ROOT p = c128[3000] power(b, d) }\n");
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
  JIT_CHECK(
      &driver,
      "HloModule t\nENTRY e { a = f32[99] parameter(0) b = s32[99] bitcast-convert(a)\n"
      "c = u32[99] bitcast-convert(a) d = f16[99] parameter(1) f = s16[99] bitcast-convert(d)\n"
      "ROOT t = (s32[99], u32[99], s16[99]) tuple(b, c, f) }\n");
  CU_ASSERT_EQUAL(driver.declined, is_declined(HR_F16) ? TYPES + 1 : 0);
}

CU_TestInfo suite_jit_ops[] = {{"exact ops", exact_ops},
                               {"functions", functions},
                               {"chains of f16", chains_of_f16},
                               {"bytes by constants", bytes_by_constants},
                               {"scalars side by side", scalars_side_by_side},
                               {"functions of complex numbers", complex_functions},
                               {"powers of complex numbers", complex_powers},
                               {"conversions", conversions},
                               CU_TEST_INFO_NULL};
