/* Generated math against the C library in more digits: every op, f32 and f64, every width of
 * vectors, and as processors with narrower ones would run it. */
#include "ops/kernels/elementwise/scalar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit/llvm/llvm_compile.h"
#include "tests/lib/math_kernels.h"
#include "tests/lib/unit.h"

#define COUNT 4096
#define ULP_MAX 2

static uint64_t random_state;
static uint64_t random_bits(void) { /* splitmix64 */
  uint64_t z = random_state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

static const double specials[] = {0,
                                  -0.0,
                                  1,
                                  -1,
                                  0.5,
                                  -0.5,
                                  2,
                                  -2,
                                  3,
                                  -3,
                                  INFINITY,
                                  -INFINITY,
                                  NAN,
                                  0x1p-149,
                                  -0x1p-149,
                                  0x1p-126,
                                  0x1.8p-130,
                                  0x1.fffffep127,
                                  -0x1.fffffep127,
                                  0x1p-1074,
                                  0x1p-1022,
                                  0x1.8p-1030,
                                  0x1.fffffffffffffp1023,
                                  88.7,
                                  88.75,
                                  -87.3,
                                  -103.9,
                                  -104.5,
                                  709.7,
                                  710,
                                  -745,
                                  -746,
                                  1e-20,
                                  -1e-20,
                                  1e20,
                                  1e38,
                                  0x1.921fb6p0,
                                  0x1.921fb54442d18p1,
                                  1e5,
                                  1e6,
                                  0x1p18,
                                  0x1p30,
                                  1e22,
                                  -1e22,
                                  0x1.fffffep-1,
                                  0x1.000002p0,
                                  0.9375,
                                  0.5625,
                                  8.5,
                                  20.5,
                                  16777216,
                                  0x1p52,
                                  0x1p53,
                                  2.5,
                                  -2.5,
                                  1.5,
                                  0.49999997,
                                  0.4142135,
                                  2.4142136,
                                  1.0 / 3};
#define SPECIALS (sizeof specials / sizeof *specials)

/* Each pair of special values comes by; the rest is any bits, and numbers of usual sizes. */
static double sample(int i, bool is_second) {
  size_t at = (size_t)i;
  if (at < SPECIALS * SPECIALS) return specials[is_second ? at / SPECIALS : at % SPECIALS];
  uint64_t bits = random_bits();
  double unit = (double)(int64_t)bits * 0x1p-63;
  switch (i % 4) {
    case 0:
      return ((union {
               uint64_t u;
               double f;
             }){bits})
          .f;
    case 1:
      return (double)((union {
               uint32_t u;
               float f;
             }){(uint32_t)bits})
          .f;
    case 2:
      return unit * 1.1;
    default:
      return unit * (is_second ? 10 : 100);
  }
}

typedef struct samples {
  float x32[COUNT], y32[COUNT], out32[COUNT];
  double x64[COUNT], y64[COUNT], out64[COUNT];
} samples_t;
static samples_t samples;

static void make_samples(void) {
  CU_ASSERT_TRUE(SPECIALS * SPECIALS < COUNT);
  random_state = 1;
  for (int i = 0; i < COUNT; i++) {
    samples.x64[i] = sample(i, false);
    samples.y64[i] = sample(i, true);
    samples.x32[i] = (float)samples.x64[i];
    samples.y32[i] = (float)samples.y64[i];
  }
}

static void run(const math_kernel_t *kernel) {
  if (kernel->is_f64)
    kernel->run(samples.x64, samples.y64, samples.out64, COUNT);
  else
    kernel->run(samples.x32, samples.y32, samples.out32, COUNT);
}

/* --- ops within two units --------------------------------------------------------------------- */

static void check_errors(const math_kernel_t *kernel, const math_reference_t *reference) {
  double worst = -1;
  int at = 0;
  run(kernel);
  for (int i = 0; i < COUNT; i++) {
    double error =
        kernel->is_f64
            ? math_error_f64(reference, samples.x64[i], samples.y64[i], samples.out64[i])
            : math_error_f32(reference, samples.x32[i], samples.y32[i], samples.out32[i]);
    if (error > worst) worst = error, at = i;
  }
  CU_ASSERT_TRUE(worst <= ULP_MAX);
  if (worst > ULP_MAX)
    fprintf(stderr, "%s of f%d, %d lanes: off by %g units at %a, %a\n", reference->name,
            kernel->is_f64 ? 64 : 32, kernel->lanes, worst,
            kernel->is_f64 ? samples.x64[at] : samples.x32[at],
            kernel->is_f64 ? samples.y64[at] : samples.y32[at]);
}

static void try_references(const jit_target_t *target, bool is_f64, int lanes,
                           hr_workers_t *workers) {
  math_kernel_t kernels[64] = {0};
  for (int i = 0; i < math_reference_count; i++)
    kernels[i] = (math_kernel_t){.op = math_references[i].op, .is_f64 = is_f64, .lanes = lanes};
  CHECK_OK(math_kernels_make(kernels, math_reference_count, target, workers));
  for (int i = 0; i < math_reference_count; i++)
    if (kernels[i].run) check_errors(&kernels[i], &math_references[i]);
  math_kernels_free(kernels, math_reference_count);
}

/* --- ops that are exact ----------------------------------------------------------------------- */

typedef struct exact_op {
  hlo_opcode_t op;
  float (*one_f32)(float x);
  double (*one_f64)(double x);
  float (*two_f32)(float x, float y);
  double (*two_f64)(double x, double y);
} exact_op_t;

#define ONE(op, name) \
  { HLO_##op, f32_##name, f64_##name, NULL, NULL }
#define TWO(op, name) \
  { HLO_##op, NULL, NULL, f32_##name, f64_##name }
static const exact_op_t exact_ops[] = {ONE(CEIL, ceil),
                                       ONE(FLOOR, floor),
                                       ONE(ROUND_NEAREST_AFZ, round_nearest_afz),
                                       ONE(ROUND_NEAREST_EVEN, round_nearest_even),
                                       ONE(SIGN, sign),
                                       ONE(SQRT, sqrt),
                                       TWO(MAXIMUM, maximum),
                                       TWO(MINIMUM, minimum),
                                       TWO(REMAINDER, remainder)};
#define EXACT_OPS ((int)(sizeof exact_ops / sizeof *exact_ops))

static bool equal_f32(float a, float b) { return f32_bits(a) == f32_bits(b) || (a != a && b != b); }
static bool equal_f64(double a, double b) {
  return f64_bits(a) == f64_bits(b) || (a != a && b != b);
}

static bool is_exact(const math_kernel_t *kernel, const exact_op_t *op, int i) {
  if (kernel->is_f64) {
    double x = samples.x64[i], y = samples.y64[i];
    return equal_f64(samples.out64[i], op->one_f64 ? op->one_f64(x) : op->two_f64(x, y));
  }
  float x = samples.x32[i], y = samples.y32[i];
  return equal_f32(samples.out32[i], op->one_f32 ? op->one_f32(x) : op->two_f32(x, y));
}

static void check_exact(const math_kernel_t *kernel, const exact_op_t *op) {
  int wrong = 0, at = 0;
  run(kernel);
  for (int i = COUNT - 1; i >= 0; i--)
    if (!is_exact(kernel, op, i)) wrong++, at = i;
  CU_ASSERT_EQUAL(wrong, 0);
  if (wrong)
    fprintf(stderr, "%s of f%d, %d lanes: %d wrong, the first at %a, %a\n", hlo_op_name(op->op),
            kernel->is_f64 ? 64 : 32, kernel->lanes, wrong,
            kernel->is_f64 ? samples.x64[at] : samples.x32[at],
            kernel->is_f64 ? samples.y64[at] : samples.y32[at]);
}

static void check_is_finite(const math_kernel_t *kernel) {
  static unsigned char out[COUNT];
  int wrong = 0;
  if (kernel->is_f64)
    kernel->run(samples.x64, NULL, out, COUNT);
  else
    kernel->run(samples.x32, NULL, out, COUNT);
  for (int i = 0; i < COUNT; i++)
    wrong +=
        out[i] != (kernel->is_f64 ? f64_is_finite(samples.x64[i]) : f32_is_finite(samples.x32[i]));
  CU_ASSERT_EQUAL(wrong, 0);
}

static void try_exact(const jit_target_t *target, bool is_f64, int lanes, hr_workers_t *workers) {
  math_kernel_t kernels[EXACT_OPS + 1] = {0};
  for (int i = 0; i < EXACT_OPS; i++)
    kernels[i] = (math_kernel_t){.op = exact_ops[i].op, .is_f64 = is_f64, .lanes = lanes};
  kernels[EXACT_OPS] = (math_kernel_t){.op = HLO_IS_FINITE, .is_f64 = is_f64, .lanes = lanes};
  CHECK_OK(math_kernels_make(kernels, EXACT_OPS + 1, target, workers));
  for (int i = 0; i < EXACT_OPS; i++)
    if (kernels[i].run) check_exact(&kernels[i], &exact_ops[i]);
  if (kernels[EXACT_OPS].run) check_is_finite(&kernels[EXACT_OPS]);
  math_kernels_free(kernels, EXACT_OPS + 1);
}

/* --- widths and processors -------------------------------------------------------------------- */

static void try_width(const jit_target_t *target, bool is_f64, int lanes) {
  hr_workers_t *workers;
  CHECK_OK(hr_workers_create(&(hr_workers_options_t){.count = 2}, &workers));
  try_references(target, is_f64, lanes, workers);
  try_exact(target, is_f64, lanes, workers);
  hr_workers_destroy(workers);
}

static void test_every_op_is_tried(void) {
  int known = 0;
  for (int op = 0; op < HLO_OPCODE_COUNT; op++) known += jit_math_supports((hlo_opcode_t)op);
  CU_ASSERT_EQUAL(known, math_reference_count + EXACT_OPS + 1);
  for (int i = 0; i < math_reference_count; i++) {
    CU_ASSERT_TRUE(jit_math_supports(math_references[i].op));
    CU_ASSERT_TRUE(jit_math_cost(math_references[i].op, false) >= 1);
  }
}

static void test_f32(void) {
  make_samples();
  for (int lanes = 1; lanes <= 16; lanes *= 4) try_width(jit_target_host(), false, lanes);
  for (int lanes = 8; lanes <= 32; lanes *= 4) try_width(jit_target_host(), false, lanes);
}

static void test_f64(void) {
  make_samples();
  for (int lanes = 1; lanes <= 8; lanes *= 2) try_width(jit_target_host(), true, lanes);
}

static void test_other_processors(void) {
  jit_target_t other = *jit_target_host();
  if (!llvm_is_built) {
    SKIP("other processors", "they need LLVM");
    return;
  }
  make_samples();
  try_width(&other, false, 16);
  try_width(&other, true, 8);
  for (int bytes = 32; bytes >= 16; bytes /= 2) {
    jit_target_t target = jit_target_narrowed(bytes);
    try_width(&target, false, bytes / 4);
    try_width(&target, true, bytes / 8);
    if (target.interleave_count == 1) continue;
    try_width(&target, false, target.interleave_count * bytes / 4);
    try_width(&target, true, target.interleave_count * bytes / 8);
  }
}

CU_TestInfo suite_jit_math[] = {
    {"every op is tried", test_every_op_is_tried}, {"f32", test_f32}, {"f64", test_f64},
    {"other processors", test_other_processors},   CU_TEST_INFO_NULL,
};
