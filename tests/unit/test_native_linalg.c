/* Native factorisations and solves against the reference, and by multiplying the factors. */
#include <math.h>
#include <stdlib.h>

#include "base/dl.h"
#include "ops/kernels/linalg/native_linalg.h"
#include "ops/kernels/linalg/small_eigen.h"
#include "read/read.h"
#include "tests/lib/native_harness.h"
#include "tests/lib/unit.h"

/* The root of a program "ROOT r = <what>" on parameters a and b of these shapes. */
static hlo_module_t *parse(const char *a, const char *b, const char *what) {
  char text[2048];
  hr_buffer_t *bytes;
  hlo_module_t *module = NULL;
  snprintf(
      text, sizeof text,
      "HloModule m\nENTRY e {\n  a = %s parameter(0)\n  b = %s parameter(1)\n  ROOT r = %s\n}\n", a,
      b, what);
  CU_ASSERT_PTR_NULL_FATAL(hr_buffer_create(strlen(text), &bytes));
  memcpy(hr_buffer_data(bytes), text, strlen(text));
  hr_status_t st = read_module("test", bytes, &module);
  if (st) hr_status_print(stderr, st);
  CU_ASSERT_PTR_NULL_FATAL(st);
  hr_buffer_release(bytes);
  return module;
}

/* Adds to the diagonals of square matrices, so that they have a factor; and makes complex ones real
 * there. */
static void strengthen(hlo_value_t *a, double by) {
  int64_t n = a->dims[a->rank - 1], parts = hr_dtype_is_complex(a->dtype) ? 2 : 1;
  hr_dtype_t real = hr_dtype_real(a->dtype);
  for (int64_t i = 0; i < a->count / n; i++) {
    int64_t at = (i * n + i % n) * parts;
    for (int part = 0; part < parts; part++) {
      uint64_t bits = hr_float_encode(real, part ? 0 : by);
      memcpy((char *)a->data + (size_t)(at + part) * hr_dtype_bytes(real), &bits,
             hr_dtype_bytes(real));
    }
  }
}

static void check(int workers, const char *a, const char *b, const char *what, double diagonal) {
  native_env_t env;
  uint64_t seed = 1;
  int declined = 0;
  hlo_value_t *values[2];
  hlo_module_t *module = parse(a, b, what);
  const hlo_instr_t *instr = module->entry->root;
  native_env_init(&env, workers);
  for (int i = 0; i < instr->operand_count; i++) {
    const hlo_shape_t *shape = instr->operands[i]->shape;
    values[i] = kernel_value(shape->dtype, shape->rank, shape->dims, NULL);
    native_fill_small(&seed, values[i]);
  }
  strengthen(values[0], diagonal);
  bool fine = native_agrees_on(&env, instr, values, &declined) && declined == 0;
  if (!fine) printf("    %s of %s, %d declined\n", what, a, declined);
  CU_ASSERT_TRUE(fine);
  for (int i = 0; i < instr->operand_count; i++) hlo_value_release(values[i]);
  native_env_deinit(&env);
  hlo_module_destroy(module);
}

static const char *const types[] = {"f32", "f64", "c64", "c128"};

static void cholesky_of_all_types(void) {
  static const char *const sizes[] = {"[7,7]", "[3,20,20]", "[2,2,33,33]"};
  char shape[64], what[128];
  for (int t = 0; t < 4; t++)
    for (int s = 0; s < 3; s++)
      for (int lower = 0; lower < 2; lower++) {
        snprintf(shape, sizeof shape, "%s%s", types[t], sizes[s]);
        snprintf(what, sizeof what, "%s cholesky(a), lower=%s", shape, lower ? "true" : "false");
        check(2, shape, "f32[]", what, 600);
      }
}

static void cholesky_in_blocks(void) {
  check(2, "f64[400,400]", "f32[]", "f64[400,400] cholesky(a), lower=true", 5000);
  check(2, "c64[2,500,500]", "f32[]", "c64[2,500,500] cholesky(a), lower=true", 5000);
}

static void what_has_no_factor_is_nan(void) {
  check(2, "f32[3,9,9]", "f32[]", "f32[3,9,9] cholesky(a), lower=true", -1);
  check(2, "f64[400,400]", "f32[]", "f64[400,400] cholesky(a), lower=true", 1);
}

static void solves(void) {
  static const char *const transposes[] = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
  static const char *const sizes[][3] = {{"[9,9]", "[9,40]", "[40,9]"},
                                         {"[5,12,12]", "[5,12,3]", "[5,3,12]"}};
  static const char *const flags[] = {"false", "true"};
  char a[32], b[32], what[256];
  for (int form = 0; form < 4 * 2 * 3 * 8; form++) {
    int t = form % 4, s = form / 4 % 2, left = form / 24 % 2;
    snprintf(a, sizeof a, "%s%s", types[t], sizes[s][0]);
    snprintf(b, sizeof b, "%s%s", types[t], sizes[s][left ? 1 : 2]);
    snprintf(what, sizeof what,
             "%s triangular-solve(a, b), left_side=%s, lower=%s, unit_diagonal=%s, transpose_a=%s",
             b, flags[left], flags[form / 48 % 2], flags[form / 96], transposes[form / 8 % 3]);
    check(1 + form % 2, a, b, what, form / 96 ? 1 : 40);
  }
}

/* Triangles that are halved, with right-hand sides that fill whole chunks and parts of them, and
 * those of one right-hand side; results of one worker and of three have the same bits. */
static void solves_by_halves(void) {
  static const char *const sizes[][3] = {{"[70,70]", "[70,67]", "[67,70]"},
                                         {"[129,129]", "[129,200]", "[200,129]"},
                                         {"[3,40,40]", "[3,40,4]", "[3,4,40]"},
                                         {"[2,75,75]", "[2,75,1]", "[2,1,75]"}};
  static const char *const flags[] = {"false", "true"};
  char a[32], b[32], what[256];
  for (int form = 0; form < 2 * 4 * 8; form++) {
    int t = form % 2, s = form / 2 % 4, left = form / 8 % 2;
    snprintf(a, sizeof a, "%s%s", types[t], sizes[s][0]);
    snprintf(b, sizeof b, "%s%s", types[t], sizes[s][left ? 1 : 2]);
    snprintf(what, sizeof what,
             "%s triangular-solve(a, b), left_side=%s, lower=%s, unit_diagonal=false, "
             "transpose_a=%s",
             b, flags[left], flags[form / 16 % 2], form / 32 ? "TRANSPOSE" : "NO_TRANSPOSE");
    check(1, a, b, what, 600);
    check(3, a, b, what, 600);
  }
  check(1, "f64[36,36]", "f64[36,20]",
        "f64[36,20] triangular-solve(a, b), left_side=true, lower=true, unit_diagonal=true, "
        "transpose_a=NO_TRANSPOSE",
        7);
}

static void factors_by_halves(void) {
  char a[32], what[512];
  static const int sizes[] = {31, 33, 64, 100, 200, 310};
  for (int i = 0; i < 12; i++) {
    int n = sizes[i / 2];
    snprintf(a, sizeof a, "%s[2,%d,%d]", types[i % 2], n, n);
    snprintf(what, sizeof what, "%s cholesky(a), lower=true", a);
    check(2, a, "f32[]", what, 5000);
    check(1, a, "f32[]", what, i % 3 ? -1 : 1); /* has no factor */
    snprintf(what, sizeof what,
             "(%s{1,2,0}, s32[2]{0}) custom-call(a), "
             "custom_call_target=\"lapack_%cpotrf_ffi\", operand_layout_constraints={%s{1,2,0}}, "
             "api_version=API_VERSION_TYPED_FFI, backend_config={uplo = 76 : ui8}",
             a, i % 2 ? 'd' : 's', a);
    check(1, a, "f32[]", what, 5000);
  }
}

static void custom_calls(void) {
  char what[512];
  static const char *const letters[] = {"76", "85"}; /* 'L' and 'U' */
  static const int diagonals[] = {'U', 'N'}, transposes[] = {'T', 'N'};
  for (int i = 0; i < 16; i++) {
    snprintf(
        what, sizeof what,
        "f32[12,30]{0,1} custom-call(a, b), custom_call_target=\"lapack_strsm_ffi\", "
        "operand_layout_constraints={f32[12,12]{0,1}, f32[12,30]{0,1}}, "
        "api_version=API_VERSION_TYPED_FFI, "
        "backend_config={diag = %d : ui8, side = 76 : ui8, trans_x = %d : ui8, uplo = %s : ui8}",
        diagonals[i % 2], transposes[i / 2 % 2], letters[i / 4 % 2]);
    check(2, "f32[12,12]", "f32[12,30]", what, i & 1 ? 40 : 1);
  }
  for (int i = 0; i < 2; i++) {
    snprintf(what, sizeof what,
             "(f32[5,20,20]{1,2,0}, s32[5]{0}) custom-call(a), "
             "custom_call_target=\"lapack_spotrf_ffi\", "
             "operand_layout_constraints={f32[5,20,20]{1,2,0}}, api_version=API_VERSION_TYPED_FFI, "
             "backend_config={uplo = %s : ui8}",
             letters[i]);
    check(2, "f32[5,20,20]", "f32[]", what, 600);
  }
}

static void factors(void) {
  static const int sizes[][3] = {{7, 6, 6},     {3, 40, 17},   {2, 17, 40},
                                 {1, 300, 300}, {2, 150, 260}, {1, 260, 100}};
  static const char letters[] = "sdcz";
  char what[512], shape[64];
  for (int i = 0; i < 24; i++) {
    const int *size = sizes[i / 4], fewer = size[1] < size[2] ? size[1] : size[2];
    snprintf(shape, sizeof shape, "%s[%d,%d,%d]", types[i % 4], size[0], size[1], size[2]);
    snprintf(what, sizeof what,
             "(%s{1,2,0}, s32[%d,%d]{1,0}, s32[%d]{0}) custom-call(a), "
             "custom_call_target=\"lapack_%cgetrf_ffi\", "
             "operand_layout_constraints={%s{1,2,0}}, api_version=API_VERSION_TYPED_FFI, "
             "backend_config={}",
             shape, size[0], fewer, size[0], letters[i % 4], shape);
    check(1 + i % 3, shape, "f32[]", what,
          i / 4 == 3 ? 60 : 3); /* large ones: for the rounding not to add up */
  }
}

/* A call of LAPACK on matrices by columns: its results, operands and options as given. */
static void check_lapack(int workers, const char *a, const char *b, const char *results,
                         const char *operands, char letter, const char *name, const char *options,
                         double diagonal) {
  char what[1024];
  snprintf(what, sizeof what,
           "%s custom-call(a%s), custom_call_target=\"lapack_%c%s_ffi\", "
           "operand_layout_constraints={%s}, "
           "api_version=API_VERSION_TYPED_FFI, backend_config={%s}",
           results, b[0] ? ", b" : "", letter, name, operands, options);
  check(workers, a, b[0] ? b : "f32[]", what, diagonal);
}

static void reflectors(void) {
  static const int sizes[][3] = {{7, 6, 6}, {3, 40, 17},   {2, 17, 40},   {1, 300, 300},
                                 {1, 1, 9}, {2, 150, 260}, {1, 600, 100}, {300, 3, 3}};
  static const char letters[] = "sdcz";
  char shape[64], columns[80], tau[64], results[256], operands[256];
  for (int i = 0; i < 32; i++) {
    const int *size = sizes[i / 4], fewer = size[1] < size[2] ? size[1] : size[2];
    snprintf(shape, sizeof shape, "%s[%d,%d,%d]", types[i % 4], size[0], size[1], size[2]);
    snprintf(columns, sizeof columns, "%s{1,2,0}", shape);
    snprintf(tau, sizeof tau, "%s[%d,%d]", types[i % 4], size[0], fewer);
    snprintf(results, sizeof results, "(%s, %s{1,0})", columns, tau);
    check_lapack(1 + i % 3, shape, "", results, columns, letters[i % 4], "geqrf", "", 9);
    if (fewer != size[2] || fewer > 20)
      continue; /* products of many arbitrary vectors grow without bound */
    snprintf(operands, sizeof operands, "%s, %s{1,0}", columns, tau);
    check_lapack(1 + i % 3, shape, tau, columns, operands, letters[i % 4],
                 i % 4 < 2 ? "orgqr" : "ungqr", "", 9);
  }
}

static void eigenvalues(void) {
  static const int sizes[][2] = {{3, 2}, {40, 7}, {2, 45}, {1, 150}};
  static const char letters[] = "sdcz";
  char shape[64], results[256], columns[80], name[8];
  for (int i = 0; i < 32; i++) {
    const int *size = sizes[i / 4 % 4];
    int dtype = i % 4, batch = size[0], n = size[1];
    const char *real = types[dtype % 2], *call = i < 16 ? "evd" : "trd";
    if (n > 2 && dtype % 2 == 0)
      continue; /* vectors of neighbouring values differ more than floats should */
    snprintf(shape, sizeof shape, "%s[%d,%d,%d]", types[dtype], batch, n, n);
    snprintf(columns, sizeof columns, "%s{1,2,0}", shape);
    snprintf(name, sizeof name, "%s%s", dtype < 2 ? "sy" : "he", call);
    if (i < 16)
      snprintf(results, sizeof results, "(%s, %s[%d,%d]{1,0}, s32[%d]{0})", columns, real, batch, n,
               batch);
    else
      snprintf(results, sizeof results,
               "(%s, %s[%d,%d]{1,0}, %s[%d,%d]{1,0}, %s[%d,%d]{1,0}, s32[%d]{0})", columns, real,
               batch, n, real, batch, n - 1, types[dtype], batch, n - 1, batch);
    check_lapack(1 + i % 3, shape, "", results, columns, letters[dtype], name,
                 i < 16 ? "mode = 86 : ui8, uplo = 76 : ui8" : "uplo = 76 : ui8", 9);
  }
}

/* LAPACK solves small problems as a whole, without memory for blocks of reflectors. */
static void memory_of_small_ones(void) {
  native_env_t env;
  native_kernel_t kernel;
  int64_t dims[] = {1, 20, 20};
  hlo_module_t *module = parse(
      "f64[1,20,20]", "f64[]",
      "(f64[1,20,20]{1,2,0}, f64[1,20]{1,0}, s32[1]{0}) custom-call(a), "
      "custom_call_target=\"lapack_dsyevd_ffi\", operand_layout_constraints={f64[1,20,20]{1,2,0}}, "
      "api_version=API_VERSION_TYPED_FFI, backend_config={mode = 86 : ui8, uplo = 76 : ui8}");
  hlo_value_t *a = kernel_value(HR_F64, 3, dims, NULL);
  native_env_init(&env, 1);
  CU_ASSERT_PTR_NULL_FATAL(native_prepare(&env, module->entry->root, &a, &kernel));
  CU_ASSERT_PTR_NOT_NULL(kernel.step.plan);
  CU_ASSERT_TRUE(kernel.step.scratch_bytes < 32 << 10);
  native_kernel_deinit(&kernel);
  native_env_deinit(&env);
  hlo_value_release(a);
  hlo_module_destroy(module);
}

#define SMALL SMALL_EIGEN_SIZE

static double at(bool is_double, const void *data, int i) {
  return is_double ? ((const double *)data)[i] : ((const float *)data)[i];
}

/* Symmetric matrices: full ones, diagonal ones, of rank 1, with equal eigenvalues, and in parts,
 * one of them perhaps with numbers whose squares vanish in f32, or in f64. */
static double drawn(int kind, int n, int r, int c) {
  static const int slopes[] = {[5] = 5, [6] = 40};
  double full = (r * 7 + c * 7 + r * c * 5) % 11 - 5;
  switch (kind) {
    case 0:
      return full;
    case 1:
      return r == c ? (r * 5) % 7 - 3 : 0;
    case 2:
      return (double)(r + 1) * (c + 1);
    case 3:
      return r == c ? 3 : 1;
    case 4:
      if ((r < n / 2) != (c < n / 2)) return 0;
      return full + (r == c ? 9 : 0);
    default:
      if (abs(r - c) > 1) return 0;
      return ldexp(r + c + (r == c ? 1 : 3), 9 - slopes[kind] * (r + c) / 2);
  }
}

/* A v = v lambda and v^T v = 1, with ascending eigenvalues. */
static void check_small_eigen(bool is_double, lapack_fn sytd2, int kind, int n) {
  double a[SMALL * SMALL], values[SMALL], alone[SMALL], vectors[SMALL * SMALL];
  double scale = 1, tolerance = is_double ? 1e-13 : 2e-5;
  float narrow[SMALL * SMALL];
  for (int i = 0; i < n * n; i++) {
    narrow[i] = (float)(a[i] = drawn(kind, n, i / n, i % n));
    scale += fabs(a[i]);
  }
  CU_ASSERT_TRUE_FATAL(
      small_eigen(is_double, sytd2, n, is_double ? (void *)a : narrow, values, vectors));
  CU_ASSERT_TRUE(small_eigen(is_double, sytd2, n, is_double ? (void *)a : narrow, alone, NULL));
  for (int j = 0; j < n; j++) {
    double value = at(is_double, values, j);
    CU_ASSERT_EQUAL(value, at(is_double, alone, j));
    CU_ASSERT_TRUE(j == 0 || at(is_double, values, j - 1) <= value);
    for (int i = 0; i < n; i++) {
      double product = 0, dot = 0;
      for (int k = 0; k < n; k++) {
        double x = at(is_double, vectors, k * n + j);
        product += a[i * n + k] * x;
        dot += x * at(is_double, vectors, k * n + i);
      }
      CU_ASSERT_TRUE(fabs(product - value * at(is_double, vectors, i * n + j)) <=
                     tolerance * scale);
      CU_ASSERT_TRUE(fabs(dot - (i == j)) <= tolerance * n);
    }
  }
}

static void small_eigenproblems(void) {
  for (int is_double = 0; is_double < 2; is_double++) {
    void *sytd2;
    float none[] = {0, 0, 0, 0}, values[2] = {7, 7};
    if (!native_lapack_find(is_double ? HR_F64 : HR_F32, "", "sytd2_", &sytd2)) return;
    for (int kind = 0; kind < 7; kind++)
      for (int n = 2; n <= SMALL; n++) check_small_eigen(is_double, (lapack_fn)sytd2, kind, n);
    if (is_double) continue;
    CU_ASSERT_FALSE(small_eigen(false, (lapack_fn)sytd2, 2, none, values, none));
    none[2] = NAN;
    CU_ASSERT_FALSE(small_eigen(false, (lapack_fn)sytd2, 2, none, values, none));
    CU_ASSERT_EQUAL(values[0], 7);
  }
}

/* OpenBLAS takes processors that are newer than itself for old ones; other libraries have no such
 * function. */
static void library_of_the_processor(void) {
#if defined(__x86_64__)
  void *address;
  hr_status_t st = hr_dl_symbol(HR_LIBRARY_LAPACK, "openblas_get_corename", &address);
  const char *core = st ? "" : ((const char *(*)(void))address)();
  bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
  if (*core && has_avx512 && !getenv("OPENBLAS_CORETYPE")) CU_ASSERT_STRING_EQUAL(core, "SkylakeX");
  CU_ASSERT_STRING_NOT_EQUAL(core, "Prescott");
  hr_status_release(st);
#endif
}

CU_TestInfo suite_native_linalg[] = {{"library of the processor", library_of_the_processor},
                                     {"cholesky of all types", cholesky_of_all_types},
                                     {"cholesky in blocks", cholesky_in_blocks},
                                     {"what has no factor is NaN", what_has_no_factor_is_nan},
                                     {"triangular solves", solves},
                                     {"triangular solves by halves", solves_by_halves},
                                     {"factors by halves", factors_by_halves},
                                     {"custom calls", custom_calls},
                                     {"factors with pivots", factors},
                                     {"reflectors", reflectors},
                                     {"eigenvalues", eigenvalues},
                                     {"memory of small ones", memory_of_small_ones},
                                     {"small eigenproblems", small_eigenproblems},
                                     CU_TEST_INFO_NULL};
