/* Loops as one function (jit/graph/region.h): what becomes one, and that it does what the reference
 * engine does. */
#include <stdlib.h>

#include "jit/jit.h"
#include "jit/llvm/llvm_compile.h"
#include "ops/rules/verify.h"
#include "tests/lib/flat_fixture.h"

typedef struct region_fixture {
  flat_fixture_t f;
  jit_t *jit;
  hr_status_t st; /* failure while it was made */
} region_fixture_t;

static hr_status_t open_fixture(const char *text, exec_cancel_t *cancel, region_fixture_t *r) {
  jit_options_t jit = {.workers = NULL};
  exec_machine_options_t machine = {0};
  exec_compiled_options_t compiled = {.machine = {.cancel = cancel}};
  memset(r, 0, sizeof *r);
  HR_TRY(read_text(text, &r->f.module));
  HR_TRY(hlo_verify(r->f.module));
  HR_TRY(jit_create(&jit, &r->jit));
  HR_TRY(plan_create(r->f.module, (plan_grid_t){1, 1}, &r->f.plan));
  flat_options_t options = {.workers = 1, .emitter = &jit_native, .emitter_context = r->jit};
  HR_TRY(flat_plan_create(r->f.plan, &options, &r->f.flat));
  HR_TRY(jit_find_regions(r->jit, r->f.flat));
  HR_TRY(jit_finish(r->jit));
  HR_TRY(exec_machine_create(r->f.plan, &machine, &r->f.reference));
  return exec_compiled_create(r->f.flat, &compiled, &r->f.compiled);
}

static void close_fixture(region_fixture_t *r) {
  fixture_deinit(&r->f);
  jit_destroy(r->jit);
}

static int count_regions(const region_fixture_t *r) {
  int count = 0;
  for (int s = 0; s < r->f.flat->step_count; s++)
    count += r->f.flat->steps[s].native.kernel == &jit_region_native;
  return count;
}

/* One region, whose kernels but for `others` have no functions of their own. */
static void agree(const char *text, int others) {
  region_fixture_t r;
  CHECK_OK(open_fixture(text, NULL, &r));
  CU_ASSERT_EQUAL(count_regions(&r), 1);
  CU_ASSERT_EQUAL(jit_counts(r.jit).kernels, 1 + others);
  for (int run = 0; run < 4; run++) fixture_compare(&r.f, run & 1);
  close_fixture(&r);
}

#define COUNTS(state, iterations)                                                        \
  "cond { s = " state                                                                    \
  " parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(" iterations \
  ")\n"                                                                                  \
  "  ROOT c = pred[] compare(i, n), direction=LT }\n"

/* Three numbers are in registers; a sum of three lanes. */
static void test_registers(void) {
  agree("HloModule m\n"
        "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
        "body { s = (s32[], f32[3], f32[]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
        "  x = f32[3] get-tuple-element(s), index=1 y = f32[] get-tuple-element(s), index=2 one "
        "= s32[] constant(1)\n"
        "  j = s32[] add(i, one) r = f32[3] reverse(x), dimensions={0} zero = f32[] constant(0)\n"
        "  q = f32[] reduce(r, zero), dimensions={0}, to_apply=add p = f32[3] subtract(r, x) z = "
        "f32[] subtract(q, y)\n"
        "  ROOT t = (s32[], f32[3], f32[]) tuple(j, p, z) }\n" COUNTS("(s32[], f32[3], f32[])", "9")
        "ENTRY e { x = f32[3] parameter(0) y = f32[] parameter(1) zero = s32[] constant(0)\n"
        "  t = (s32[], f32[3], f32[]) tuple(zero, x, y)\n"
        "  w = (s32[], f32[3], f32[]) while(t), condition=cond, body=body\n"
        "  p = f32[3] get-tuple-element(w), index=1 q = f32[] get-tuple-element(w), index=2\n"
        "  ROOT r = (f32[3], f32[]) tuple(p, q) }", 0);
}

/* A choice that swaps what it carries, and a loop in the loop. */
static void test_jumps(void) {
  agree("HloModule m\n"
        "left { p = (f32[4], f32[4]) parameter(0) a = f32[4] get-tuple-element(p), index=0\n"
        "  b = f32[4] get-tuple-element(p), index=1 ROOT t = (f32[4], f32[4]) tuple(b, a) }\n"
        "right { p = (f32[4], f32[4]) parameter(0) a = f32[4] get-tuple-element(p), index=0\n"
        "  b = f32[4] get-tuple-element(p), index=1 c = f32[4] add(a, b) ROOT t = (f32[4], "
        "f32[4]) tuple(a, c) }\n"
        "few { s = (s32[], f32[4]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
        "  x = f32[4] get-tuple-element(s), index=1 one = s32[] constant(1) j = s32[] add(i, one)\n"
        "  y = f32[4] negate(x) ROOT t = (s32[], f32[4]) tuple(j, y) }\n"
        "fewer { s = (s32[], f32[4]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = "
        "s32[] constant(5)\n"
        "  ROOT c = pred[] compare(i, n), direction=LT }\n"
        "body { s = (s32[], f32[4], f32[4]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
        "  a = f32[4] get-tuple-element(s), index=1 b = f32[4] get-tuple-element(s), index=2 one "
        "= s32[] constant(1)\n"
        "  j = s32[] add(i, one) u = (s32[], f32[4]) tuple(i, a)\n"
        "  v = (s32[], f32[4]) while(u), condition=fewer, body=few x = f32[4] "
        "get-tuple-element(v), index=1\n"
        "  two = s32[] constant(2) k = s32[] remainder(i, two) p = (f32[4], f32[4]) tuple(x, b)\n"
        "  q = (f32[4], f32[4]) conditional(k, p, p), branch_computations={left, right}\n"
        "  y = f32[4] get-tuple-element(q), index=0 z = f32[4] get-tuple-element(q), index=1\n"
        "  ROOT t = (s32[], f32[4], f32[4]) tuple(j, y, z) }\n" COUNTS("(s32[], f32[4], "
        "f32[4])", "8")
        "ENTRY e { x = f32[4] parameter(0) y = f32[4] parameter(1) zero = s32[] constant(0)\n"
        "  t = (s32[], f32[4], f32[4]) tuple(zero, x, y)\n"
        "  w = (s32[], f32[4], f32[4]) while(t), condition=cond, body=body\n"
        "  p = f32[4] get-tuple-element(w), index=1 q = f32[4] get-tuple-element(w), index=2\n"
        "  ROOT r = (f32[4], f32[4]) tuple(p, q) }", 0);
}

/* Arrays in memory, updated in place at a place that is not known, and a kernel that is called. */
static void test_memory_and_calls(void) {
  agree("HloModule m\n"
        "less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), "
        "direction=LT }\n"
        "body { s = (s32[], f32[300]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
        "  x = f32[300] get-tuple-element(s), index=1 one = s32[] constant(1) j = s32[] add(i, "
        "one)\n"
        "  y = f32[300] sort(x), dimensions={0}, to_apply=less k = s32[] multiply(i, j)\n"
        "  p = f32[2] dynamic-slice(y, k), dynamic_slice_sizes={2} q = f32[2] reverse(p), "
        "dimensions={0}\n"
        "  z = f32[300] dynamic-update-slice(y, q, i) ROOT t = (s32[], f32[300]) tuple(j, z) }\n"
        COUNTS("(s32[], f32[300])", "20")
        "ENTRY e { x = f32[300] parameter(0) zero = s32[] constant(0) t = (s32[], f32[300]) "
        "tuple(zero, x)\n"
        "  w = (s32[], f32[300]) while(t), condition=cond, body=body\n"
        "  p = f32[300] get-tuple-element(w), index=1 ROOT r = (f32[300]) tuple(p) }", 0);
}

/* Arrays of which a turn reads one element and writes a row. */
static void test_rows(void) {
  agree("HloModule m\n"
        "body { s = (s32[], f32[40], f32[40,7], f32[]) parameter(0) i = s32[] "
        "get-tuple-element(s), index=0\n"
        "  a = f32[40] get-tuple-element(s), index=1 b = f32[40,7] get-tuple-element(s), index=2\n"
        "  x = f32[] get-tuple-element(s), index=3 z = s32[] constant(0)\n"
        "  l = f32[1] dynamic-slice(a, i), dynamic_slice_sizes={1} m = f32[] reshape(l) y = "
        "f32[] add(x, m)\n"
        "  v = f32[7] broadcast(y), dimensions={} k = f32[7] iota(), iota_dimension=0 u = f32[7] "
        "multiply(v, k)\n"
        "  q = f32[1,7] reshape(u) d = f32[40,7] dynamic-update-slice(b, q, i, z)\n"
        "  o = s32[] constant(1) j = s32[] add(i, o) f = f32[1] reshape(y) g = f32[40] "
        "dynamic-update-slice(a, f, j)\n"
        "  ROOT r = (s32[], f32[40], f32[40,7], f32[]) tuple(j, g, d, y) }\n"
        COUNTS("(s32[], f32[40], f32[40,7], f32[])", "40")
        "ENTRY e { i = s32[] constant(0) a = f32[40] parameter(0) b = f32[40,7] parameter(1) x = "
        "f32[] parameter(2)\n"
        "  t = (s32[], f32[40], f32[40,7], f32[]) tuple(i, a, b, x)\n"
        "  ROOT w = (s32[], f32[40], f32[40,7], f32[]) while(t), condition=cond, body=body }", 0);
}

/* Pairs of a number and an array. */
static void print_pairs(hr_strbuf_t *text, const char *type, int count) {
  hr_strbuf_printf(
      text,
      "HloModule m\nbody { s = %s parameter(0) i = s32[] get-tuple-element(s), index=0\n"
      "  o = s32[] constant(1) j = s32[] add(i, o)\n",
      type);
  for (int k = 0; k < count; k++)
    hr_strbuf_printf(
        text,
        "  x%d = f32[] get-tuple-element(s), index=%d a%d = f32[9] get-tuple-element(s), index=%d\n"
        "  g%d = f32[] negate(x%d) r%d = f32[1] reshape(g%d)\n"
        "  d%d = f32[9] dynamic-update-slice(a%d, r%d, i)\n",
        k, 2 * k + 1, k, 2 * k + 2, k, k, k, k, k, k, k);
  for (int k = 0; k < count; k++)
    hr_strbuf_printf(text, "  y%d = f32[] subtract(x%d, g%d)\n", k, k, (k + 1) % count);
  hr_strbuf_printf(text, "  ROOT t = %s tuple(j", type);
  for (int k = 0; k < count; k++) hr_strbuf_printf(text, ", y%d, d%d", k, k);
  hr_strbuf_printf(text, ") }\n" COUNTS("%s", "9") "ENTRY e { z = s32[] constant(0)\n", type);
  for (int k = 0; k < count; k++)
    hr_strbuf_printf(text, "  x%d = f32[] parameter(%d) a%d = f32[9] parameter(%d)\n", k, 2 * k, k,
                     2 * k + 1);
  hr_strbuf_printf(text, "  t = %s tuple(z", type);
  for (int k = 0; k < count; k++) hr_strbuf_printf(text, ", x%d, a%d", k, k);
  hr_strbuf_printf(text, ")\n  ROOT w = %s while(t), condition=cond, body=body }", type);
}

static int copies_in_loops(const flat_plan_t *flat, size_t size_bytes) {
  int count = 0;
  for (int s = 0; s < flat->step_count; s++)
    for (int k = s + 1;
         flat->steps[s].native.kernel == &jit_region_native && k < flat->steps[s].end; k++)
      count += flat->steps[k].kind == FLAT_COPY && flat->steps[k].copy.size_bytes == size_bytes;
  return count;
}

/* More arrays than a word has bits, each of which is updated in place. */
static void test_pairs(void) {
  hr_strbuf_t type, text;
  region_fixture_t r;
  if (!llvm_is_built) {
    SKIP("loops of many arrays", "they need LLVM");
    return;
  }
  hr_strbuf_init(&type);
  hr_strbuf_init(&text);
  hr_strbuf_printf(&type, "(s32[]");
  for (int k = 0; k < 70; k++) hr_strbuf_printf(&type, ", f32[], f32[9]");
  hr_strbuf_printf(&type, ")");
  CHECK_OK(hr_strbuf_finish(&type));
  print_pairs(&text, type.data, 70);
  CHECK_OK(hr_strbuf_finish(&text));
  CHECK_OK(open_fixture(text.data, NULL, &r));
  CU_ASSERT_EQUAL(count_regions(&r), 1);
  CU_ASSERT_EQUAL(copies_in_loops(r.f.flat, 36), 0);
  for (int run = 0; run < 4; run++) fixture_compare(&r.f, run & 1);
  close_fixture(&r);
  hr_strbuf_deinit(&type);
  hr_strbuf_deinit(&text);
}

/* A piece of x, which is padded and meets the rest. */
static void print_piece(hr_strbuf_t *text, const char *type, int n, int k) {
  int cut = 1 + rand() % (n - 1), low = rand() % (n - cut + 1);
  hr_strbuf_printf(
      text, "  a%d = %s[%d] slice(x), slice={[%d:%d]} b%d = %s[%d] slice(x), slice={[0:%d]}\n", k,
      type, n - cut, cut, n, k, type, cut, cut);
  hr_strbuf_printf(text, "  c%d = %s[%d] concatenate(a%d, b%d), dimensions={0}\n", k, type, n, k,
                   k);
  hr_strbuf_printf(text, "  p%d = %s[%d] pad(b%d, zero), padding=%d_%d\n", k, type, n, k, low,
                   n - cut - low);
  hr_strbuf_printf(text, "  t%d = %s[%d] subtract(y%d, c%d) y%d = %s[%d] add(t%d, p%d)\n", k, type,
                   n, k, k, k + 1, type, n, k, k);
}

/* Every eighth element of f. */
static void print_column(hr_strbuf_t *text, const char *type, int n, int k) {
  hr_strbuf_printf(text,
                   "  e%d = %s[%d] slice(f), slice={[%d:%d:8]} y%d = %s[%d] subtract(y%d, e%d)\n",
                   k, type, n, k, 8 * n - 7 + k, k + 1, type, n, k, k);
}

/* A fusion of x, which is in a register if it is short, and f, which is not. */
static void print_lines(hr_strbuf_t *text, const char *type, int n) {
  bool has_columns = rand() % 3 == 0;
  int count = has_columns ? 8 : 1 + rand() % 4;
  hr_strbuf_t state;
  hr_strbuf_init(&state);
  hr_strbuf_printf(&state, "(s32[], %s[%d], %s[%d])", type, n, type, 8 * n);
  CHECK_OK(hr_strbuf_finish(&state));
  hr_strbuf_printf(text,
                   "HloModule m\nlines { x = %s[%d] parameter(0) f = %s[%d] parameter(1) zero = "
                   "%s[] constant(0)\n"
                   "  y0 = %s[%d] negate(x)\n",
                   type, n, type, 8 * n, type, type, n);
  for (int k = 0; k < count; k++) (has_columns ? print_column : print_piece)(text, type, n, k);
  hr_strbuf_printf(
      text,
      "  ROOT y = %s[%d] negate(y%d) }\nbody { s = %s parameter(0)\n"
      "  i = s32[] get-tuple-element(s), index=0 x = %s[%d] get-tuple-element(s), index=1\n"
      "  f = %s[%d] get-tuple-element(s), index=2 g = %s[%d] negate(f) one = s32[] constant(1)\n"
      "  j = s32[] add(i, one) y = %s[%d] fusion(x, f), kind=kLoop, calls=lines\n"
      "  ROOT t = %s tuple(j, y, g) }\n" COUNTS("%s", "5"),
      type, n, count, state.data, type, n, type, 8 * n, type, 8 * n, type, n, state.data,
      state.data);
  hr_strbuf_printf(
      text,
      "ENTRY e { z = s32[] constant(0) x = %s[%d] parameter(0) f = %s[%d] parameter(1)\n"
      "  t = %s tuple(z, x, f) ROOT w = %s while(t), condition=cond, body=body }",
      type, n, type, 8 * n, state.data, state.data);
  hr_strbuf_deinit(&state);
}

/* Conditions on the place cut the lines of a fusion into parts, other ones where all of a line is
 * one register. */
static void test_lines(void) {
  static const int sizes[] = {3,  4,  7,  8,  12, 15, 16, 17, 24, 31,  32, 33,
                              40, 47, 48, 50, 63, 64, 65, 80, 97, 128, 200};
  static const char *const types[] = {"f32", "s32", "u8", "f64"};
  if (!llvm_is_built) {
    SKIP("loops over lines", "some of them need LLVM");
    return;
  }
  srand(5);
  for (size_t i = 0; i < 3 * sizeof sizes / sizeof *sizes; i++) {
    region_fixture_t r;
    hr_strbuf_t text;
    hr_strbuf_init(&text);
    print_lines(&text, types[rand() % 4], sizes[i / 3]);
    CHECK_OK(hr_strbuf_finish(&text));
    CHECK_OK(open_fixture(text.data, NULL, &r));
    CU_ASSERT_EQUAL(count_regions(&r), 1);
    for (int run = 0; run < 2; run++) fixture_compare(&r.f, run & 1);
    close_fixture(&r);
    hr_strbuf_deinit(&text);
  }
}

static void test_cancelling(void) {
  static exec_cancel_t cancel;
  region_fixture_t r;
  hlo_value_t *results[1], *x;
  CHECK_OK(open_fixture(
      "HloModule m\n"
      "body { s = (s32[], f32[4]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
      "  x = f32[4] get-tuple-element(s), index=1 y = f32[4] add(x, x)\n"
      "  ROOT t = (s32[], f32[4]) tuple(i, y) }\n" COUNTS(
          "(s32[], f32[4])", "1") "ENTRY e { x = f32[4] parameter(0) zero = s32[] constant(0)\n"
                                  "  t = (s32[], f32[4]) tuple(zero, x)\n"
                                  "  w = (s32[], f32[4]) while(t), condition=cond, body=body\n"
                                  "  ROOT p = f32[4] get-tuple-element(w), index=1 }",
      &cancel, &r));
  CU_ASSERT_EQUAL(count_regions(&r), 1);
  x = fixture_argument(&r.f, 0);
  atomic_store(&cancel.reason, "the test says so");
  CHECK_FAILS(HR_CANCELLED, exec_compiled_run(r.f.compiled, &x, NULL, results));
  hlo_value_release(x);
  close_fixture(&r);
}

CU_TestInfo suite_region[] = {{"small arrays are in registers", test_registers},
                              {"loops and choices inside", test_jumps},
                              {"arrays in memory, and calls", test_memory_and_calls},
                              {"rows of arrays", test_rows},
                              {"many numbers and arrays", test_pairs},
                              {"pieces of lines", test_lines},
                              {"a loop without end is cancelled", test_cancelling},
                              CU_TEST_INFO_NULL};
