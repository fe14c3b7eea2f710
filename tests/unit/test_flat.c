/* The flat plan: straight lines, loops, branches and calls. */
#include <stdlib.h>
#include <time.h>

#include "tests/lib/flat_fixture.h"

/* --- straight lines --- */

static void test_chain(void) {
  const char *text =
      "HloModule m\nENTRY e { x = f32[256] parameter(0) y = f32[256] parameter(1)\n"
      "a = f32[256] add(x, y) b = f32[256] multiply(a, a) c = f32[256] add(b, x) ROOT d = f32[256] "
      "multiply(c, y) }";
  flat_fixture_t f;
  CU_ASSERT_EQUAL(fixture_agree(text), 0);
  CHECK_OK(fixture_load(text, &fixture_native, &f));
  CU_ASSERT_EQUAL(f.flat->step_count, 4);
  CU_ASSERT_EQUAL(f.flat->arena_bytes, 0); /* all in the bytes of the result */
  fixture_deinit(&f);
}

static void test_views(void) {
  CU_ASSERT_EQUAL(
      fixture_agree(
          "HloModule m\nENTRY e { x = f32[4,6] parameter(0) r = f32[24] reshape(x)\n"
          "s = f32[6] slice(r), slice={[6:12]} t = f32[6] slice(r), slice={[12:18]}\n"
          "u = f32[1,6] broadcast(s), dimensions={1} v = f32[6,1] transpose(u), dimensions={1,0}\n"
          "w = f32[6] reshape(v) a = f32[6] add(w, t) z = f32[6] slice(r), slice={[0:12:2]}\n"
          "ROOT o = f32[6] multiply(a, z) }"),
      0);
}

/* Results that are parameters, constants, parts of others, or the same value twice. */
static void test_results(void) {
  const char *text =
      "HloModule m\nENTRY e { x = f32[8] parameter(0) y = f32[8] parameter(1) c = f32[3] "
      "constant({1, 2, 3})\n"
      "a = f32[8] add(x, y) h = f32[4] slice(a), slice={[4:8]} r = f32[2,4] reshape(a) q = "
      "f32[2,4] reshape(y)\n"
      "ROOT t = (f32[8], f32[8], f32[3], (f32[8], f32[4]), f32[2,4], f32[2,4])\n"
      "  tuple(x, a, c, (f32[8], f32[4]) tuple(a, h), r, q) }";
  CU_ASSERT_EQUAL(fixture_agree(text), 2);
}

/* --- loops --- */

#define LOOP(state, names, initial, body, next)                                                  \
  "HloModule m\nbody { s = (s32[], " state                                                       \
  ") parameter(0) i = s32[] get-tuple-element(s), index=0\n" names                               \
  " one = s32[] constant(1) j = s32[] add(i, one)\n" body " ROOT t = (s32[], " state             \
  ") tuple(j, " next                                                                             \
  ") }\n"                                                                                        \
  "cond { s = (s32[], " state                                                                    \
  ") parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(7)\n"               \
  "ROOT c = pred[] compare(i, n), direction=LT }\n"                                              \
  "ENTRY e { x = f32[64] parameter(0) y = f32[64] parameter(1) z = f32[64] parameter(2) zero = " \
  "s32[] constant(0)\n"                                                                          \
  "t = (s32[], " state ") tuple(zero, " initial ") ROOT w = (s32[], " state                      \
  ") while(t), condition=cond, body=body }"

#define ONE "a = f32[64] get-tuple-element(s), index=1\n"
#define TWO ONE "b = f32[64] get-tuple-element(s), index=2\n"

#define THREE TWO "c = f32[64] get-tuple-element(s), index=3\n"
#define F64 "f32[64]"

/* Copies: of the initial values of what changes, and at the end of the body of what could not be
 * computed in place. */
static void test_carries(void) {
  /* In place. */
  CU_ASSERT_EQUAL(fixture_agree(LOOP(F64, ONE, "x", "d = f32[64] add(a, a)", "d")), 2);
  /* A chain in place. */
  CU_ASSERT_EQUAL(
      fixture_agree(LOOP(F64, ONE, "x", "d = f32[64] add(a, a) f = f32[64] multiply(d, d)", "f")),
      2);
  /* The old value is read after the new one is there. */
  CU_ASSERT_EQUAL(fixture_agree(LOOP(F64 "," F64, TWO, "x, y",
                                     "d = f32[64] add(a, b) f = f32[64] multiply(a, d)", "d, f")),
                  4);
  /* Passed on unchanged: no buffer, no copy. */
  CU_ASSERT_EQUAL(fixture_agree(LOOP(F64 "," F64, TWO, "x, y", "d = f32[64] add(a, b)", "d, b")),
                  2);
  /* One value twice. */
  CU_ASSERT_EQUAL(fixture_agree(LOOP(F64 "," F64, TWO, "x, y", "d = f32[64] add(a, b)", "d, d")),
                  4);
  /* A constant comes back. */
  fixture_agree(
      LOOP(F64, ONE, "x", "k = f32[] constant(3) d = f32[64] broadcast(k), dimensions={}", "d"));
}

static void test_permuted_carries(void) {
  fixture_agree(LOOP(F64 "," F64, TWO, "x, y", "", "b, a"));
  fixture_agree(LOOP(F64 "," F64 "," F64, THREE, "x, y, z", "", "b, c, a"));
  fixture_agree(LOOP(F64 "," F64 "," F64, THREE, "x, y, z", "", "c, a, a"));
  fixture_agree(LOOP(F64 "," F64 "," F64, THREE, "x, x, z", "d = f32[64] add(a, c)", "b, d, a"));
  fixture_agree(LOOP(F64 "," F64 "," F64, THREE, "x, y, y", "d = f32[64] add(b, b)", "d, a, b"));
}

static void test_update_of_carry(void) {
  const char *in_place = LOOP(
      F64, ONE, "x", "u = f32[1] constant({9}) d = f32[64] dynamic-update-slice(a, u, i)", "d");
  const char *read_before = LOOP(F64, ONE, "x",
                                 "u = f32[2] slice(a), slice={[3:5]} v = f32[2] add(u, u)\n"
                                 "d = f32[64] dynamic-update-slice(a, v, i)",
                                 "d");
  const char *read_after =
      LOOP(F64, ONE, "x",
           "u = f32[1] constant({9}) d = f32[64] dynamic-update-slice(a, u, i)\n"
           "f = f32[64] add(d, a)",
           "f");
  CU_ASSERT_EQUAL(fixture_agree(in_place), 3); /* i is read after j is computed */
  CU_ASSERT_EQUAL(fixture_agree(read_before), 3);
  fixture_agree(read_after);
}

#define STACK "a = f32[7] get-tuple-element(s), index=1\n"
#define STACK_LOOP(body) LOOP("f32[7]", STACK, "f32[7] constant({1,2,3,4,5,6,7})", body, "d")

/* The initial value of a stack is copied only if some of it may be read. */
static void test_overwritten_stacks(void) {
  const char *row = "u = f32[1] constant({9})";
  const char *update = "d = f32[7] dynamic-update-slice(a, u, r)";
  const struct {
    const char *index;
    bool is_overwritten;
  } cases[] = {{"r = s32[] copy(i)", false}, /* not followed */
               {"k = s32[] constant(6) r = s32[] subtract(k, i)", true},
               {"k = s32[] constant(5) m = s32[] subtract(k, i) r = s32[] add(m, one)", true},
               {"k = s32[] constant(7) r = s32[] subtract(k, i)", false},
               {"r = s32[] add(i, one)", false},
               {"r = s32[] add(i, i)", false}};
  CU_ASSERT_EQUAL(fixture_agree(STACK_LOOP("u = f32[1] constant({9})\n"
                                           "d = f32[7] dynamic-update-slice(a, u, i)")),
                  2);
  int unknown = 0;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[2000], body[300];
    snprintf(body, sizeof body, "%s %s\n%s", row, cases[i].index, update);
    snprintf(text, sizeof text, STACK_LOOP("%s"), body);
    int copies = fixture_agree(text);
    if (i == 0) unknown = copies;
    CU_ASSERT_EQUAL(copies, unknown - cases[i].is_overwritten);
  }
  /* A row is read, a whole stack is, and rows of which the last is never written. */
  fixture_agree(
      STACK_LOOP("v = f32[1] slice(a), slice={[6:7]} u = f32[1] add(v, v)\n"
                 "d = f32[7] dynamic-update-slice(a, u, i)"));
  fixture_agree(
      STACK_LOOP("u = f32[1] constant({9}) f = f32[7] dynamic-update-slice(a, u, i)\n"
                 "d = f32[7] add(f, f)"));
  fixture_agree(LOOP("f32[8]", "a = f32[8] get-tuple-element(s), index=1\n",
                     "f32[8] constant({1,2,3,4,5,6,7,8})",
                     "u = f32[1] constant({9}) d = f32[8] dynamic-update-slice(a, u, i)", "d"));
}

/* A stack of zeros that a loop fills is not computed; one that has another use is. */
static void test_unread_broadcast(void) {
  for (int is_read = 0; is_read < 2; is_read++) {
    flat_fixture_t f;
    char text[2000];
    int broadcasts = 0;
    snprintf(text, sizeof text,
             LOOP("f32[7]", STACK, "zeros",
                  "u = f32[1] constant({9}) d = f32[7] dynamic-update-slice(a, u, i)", "d"));
    char *at = strstr(text, "t = (s32[], f32[7]) tuple(zero");
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    snprintf(at, sizeof text - (size_t)(at - text),
             "k = f32[] constant(0) zeros = f32[7] broadcast(k), dimensions={}\n"
             "t = (s32[], f32[7]) tuple(zero, zeros)\n"
             "w = (s32[], f32[7]) while(t), condition=cond, body=body\n"
             "v = f32[7] get-tuple-element(w), index=1 ROOT r = f32[7] add(v, %s) }",
             is_read ? "zeros" : "v");
    fixture_agree(text);
    CHECK_OK(fixture_load(text, &fixture_native, &f));
    for (int s = 0; s < f.flat->step_count; s++) {
      const plan_step_t *source = f.flat->steps[s].source;
      broadcasts += source && source->op.instr->op == HLO_BROADCAST;
    }
    CU_ASSERT_EQUAL(broadcasts, is_read);
    fixture_deinit(&f);
  }
}

static void test_nested_loops(void) {
  fixture_agree(
      "HloModule m\n"
      "ib { s = (s32[], f32[64], f32[64]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
      "  a = f32[64] get-tuple-element(s), index=1 b = f32[64] get-tuple-element(s), index=2\n"
      "  one = s32[] constant(1) j = s32[] add(i, one) d = f32[64] add(a, b)\n"
      "  ROOT t = (s32[], f32[64], f32[64]) tuple(j, d, b) }\n"
      "ic { s = (s32[], f32[64], f32[64]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = "
      "s32[] constant(3)\n"
      "  ROOT c = pred[] compare(i, n), direction=LT }\n"
      "ob { s = (s32[], f32[64], f32[64]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
      "  a = f32[64] get-tuple-element(s), index=1 b = f32[64] get-tuple-element(s), index=2 zero "
      "= s32[] constant(0)\n"
      "  u = (s32[], f32[64], f32[64]) tuple(zero, a, b)\n"
      "  w = (s32[], f32[64], f32[64]) while(u), condition=ic, body=ib d = f32[64] "
      "get-tuple-element(w), index=1\n"
      "  one = s32[] constant(1) j = s32[] add(i, one) ROOT t = (s32[], f32[64], f32[64]) tuple(j, "
      "d, b) }\n"
      "oc { s = (s32[], f32[64], f32[64]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = "
      "s32[] constant(4)\n"
      "  ROOT c = pred[] compare(i, n), direction=LT }\n"
      "ENTRY e { x = f32[64] parameter(0) y = f32[64] parameter(1) zero = s32[] constant(0) k = "
      "f32[64] multiply(x, y)\n"
      "  t = (s32[], f32[64], f32[64]) tuple(zero, k, y)\n"
      "  ROOT w = (s32[], f32[64], f32[64]) while(t), condition=oc, body=ob }");
}

static const flat_step_t *find_while(const flat_plan_t *flat) {
  for (int s = 0; s < flat->step_count; s++)
    if (flat->steps[s].kind == FLAT_WHILE) return &flat->steps[s];
  return NULL;
}

/* Steps inside of a loop whose counter goes by `next` while `test` holds; its turns.
 * `behind`: more after the loop. */
static int count_inner(const char *next, const char *test, const char *behind,
                       int64_t *out_trip_count) {
  char text[2000];
  flat_fixture_t f;
  snprintf(text, sizeof text,
           "HloModule m\n"
           "b { s = (s32[], f32[64], s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
           "  a = f32[64] get-tuple-element(s), index=1 st = s32[] get-tuple-element(s), index=2\n"
           "  one = s32[] constant(1) d = f32[64] add(a, a) j = s32[] %s\n"
           "  ROOT t = (s32[], f32[64], s32[]) tuple(j, d, st) }\n"
           "c { s = (s32[], f32[64], s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
           "  n = s32[] constant(7) ROOT c = pred[] compare(%s }\n"
           "ENTRY e { x = f32[64] parameter(0) y = f32[64] parameter(1) zero = s32[] constant(0) "
           "two = s32[] constant(2)\n"
           "  t = (s32[], f32[64], s32[]) tuple(zero, x, two)\n"
           "  w = (s32[], f32[64], s32[]) while(t), condition=c, body=b\n"
           "  ROOT r = f32[64] get-tuple-element(w), index=1 %s }",
           next, test, behind);
  fixture_agree(text);
  CHECK_OK(fixture_load(text, &fixture_native, &f));
  const flat_step_t *loop = find_while(f.flat);
  CU_ASSERT_PTR_NOT_NULL_FATAL(loop);
  *out_trip_count = loop->control.trip_count;
  int inner = loop->end - (int)(loop - f.flat->steps) - 1;
  fixture_deinit(&f);
  return inner;
}

static void test_counted_loops(void) {
  int64_t trip_count;
  CU_ASSERT_EQUAL(count_inner("add(i, one)", "i, n), direction=LT", "", &trip_count), 1);
  CU_ASSERT_EQUAL(trip_count, 7);
  CU_ASSERT_EQUAL(count_inner("add(st, i)", "n, i), direction=GE", "", &trip_count), 1);
  CU_ASSERT_EQUAL(trip_count, 4);
  CU_ASSERT_EQUAL(count_inner("multiply(i, st)", "n, i), direction=LT", "", &trip_count), 3);
  CU_ASSERT_EQUAL(trip_count, -1);
  CU_ASSERT_EQUAL(count_inner("add(i, one)", "i, n), direction=NE",
                              "k = s32[] get-tuple-element(w), index=0", &trip_count),
                  2);
  CU_ASSERT_EQUAL(trip_count, 7);
}

/* --- branches and calls --- */

static void test_branches(void) {
  const char *format =
      "HloModule m\nt { s = (f32[64], f32[64]) parameter(0) a = f32[64] get-tuple-element(s), "
      "index=0\n"
      "  b = f32[64] get-tuple-element(s), index=1 d = f32[64] add(a, b) f = f32[64] multiply(d, "
      "b)\n"
      "  ROOT r = (f32[64], f32[64], f32[64]) tuple(d, f, f) }\n"
      "f { s = (f32[64], f32[64]) parameter(0) a = f32[64] get-tuple-element(s), index=0\n"
      "  b = f32[64] get-tuple-element(s), index=1 ROOT r = (f32[64], f32[64], f32[64]) tuple(b, "
      "a, b) }\n"
      "ENTRY e { x = f32[64] parameter(0) y = f32[64] parameter(1) z = f32[64] add(x, y) p = "
      "pred[] constant(%s)\n"
      "  u = (f32[64], f32[64]) tuple(x, z) c = (f32[64], f32[64], f32[64]) conditional(p, u, u),\n"
      "  true_computation=t, false_computation=f a = f32[64] get-tuple-element(c), index=0\n"
      "  b = f32[64] get-tuple-element(c), index=1 g = f32[64] get-tuple-element(c), index=2\n"
      "  d = f32[64] add(a, g) ROOT r = (f32[64], f32[64], f32[64]) tuple(d, b, g) }";
  char text[4096];
  snprintf(text, sizeof text, format, "true");
  fixture_agree(text);
  snprintf(text, sizeof text, format, "false");
  fixture_agree(text);
}

static void test_indexed_branches(void) {
  for (int index = -1; index < 4; index++) {
    char text[2048];
    snprintf(text, sizeof text,
             "HloModule m\na { s = f32[8] parameter(0) ROOT r = f32[8] add(s, s) }\n"
             "b { s = f32[8] parameter(0) ROOT r = f32[8] multiply(s, s) } c { ROOT s = f32[8] "
             "parameter(0) }\n"
             "ENTRY e { x = f32[8] parameter(0) y = f32[8] parameter(1) i = s32[] constant(%d)\n"
             "ROOT r = f32[8] conditional(i, x, y, x), branch_computations={a, b, c} }",
             index);
    fixture_agree(text);
  }
}

static void test_calls(void) {
  CU_ASSERT_EQUAL(
      fixture_agree(
          "HloModule m\ng { a = f32[8] parameter(0) b = f32[8] parameter(1)\n"
          "c = f32[8] add(a, b) ROOT t = (f32[8], f32[8]) tuple(c, a) }\n"
          "ENTRY e { x = f32[8] parameter(0) y = f32[8] parameter(1)\n"
          "p = (f32[8], f32[8]) call(x, y), to_apply=g u = f32[8] get-tuple-element(p), index=0\n"
          "q = (f32[8], f32[8]) call(u, u), to_apply=g v = f32[8] get-tuple-element(q), index=0\n"
          "w = f32[8] get-tuple-element(q), index=1 ROOT r = f32[8] multiply(v, w) }"),
      0);
}

/* Asynchronous states are kept as values, whatever carries them. */
static void test_boxed_values(void) {
  fixture_agree(
      "HloModule m\nENTRY e { x = f32[8] parameter(0) y = f32[8] parameter(1) a = f32[8] add(x, "
      "y)\n"
      "s = (f32[8], f32[8], u32[]) copy-start(a) b = f32[8] multiply(a, x) d = f32[8] "
      "copy-done(s)\n"
      "ROOT r = f32[8] add(b, d) }");
  fixture_agree(
      "HloModule m\ng { a = f32[8] parameter(0) ROOT c = f32[8] add(a, a) }\n"
      "ENTRY e { x = f32[8] parameter(0) y = f32[8] parameter(1) a = f32[8] add(x, y)\n"
      "s = ((f32[8]), f32[8], u32[]) async-start(a), calls=g b = f32[8] multiply(a, x)\n"
      "d = f32[8] async-done(s) ROOT r = f32[8] add(b, d) }");
}

static void test_whole_reference(void) {
  flat_fixture_t f;
  CHECK_OK(fixture_load(
      "HloModule m\nENTRY e { x = f32[<=8] parameter(0) ROOT r = f32[<=8] add(x, x) }", NULL, &f));
  CU_ASSERT(f.flat->is_reference);
  fixture_deinit(&f);
}

/* --- memory --- */

/* Each array alone would fit. */
static void test_too_large(void) {
  char text[512];
  flat_fixture_t f;
  long long count = (long long)(hr_mem_physical_bytes() / 10 * 6 / 4);
  snprintf(text, sizeof text,
           "HloModule m\nENTRY e { a = f32[%lld] iota(), iota_dimension=0 n = f32[%lld] negate(a)\n"
           "ROOT r = f32[%lld] add(a, n) }",
           count, count, count);
  CHECK_FAILS(HR_NO_MEMORY, fixture_load(text, NULL, &f));
  fixture_deinit(&f);
}

/* A program of 100,000 instructions is planned in a fraction of a second. */
static void test_long_program(void) {
  enum { STEPS = 100000 };
  hr_strbuf_t text;
  flat_fixture_t f;
  hr_strbuf_init(&text);
  hr_strbuf_add_str(&text,
                    "HloModule m\nENTRY e { v0 = f32[64] parameter(0) v1 = f32[64] parameter(1)\n");
  srand(5);
  for (int i = 2; i < STEPS; i++) {
    int back = i < 60 ? i : 60;
    hr_strbuf_printf(&text, "%sv%d = f32[64] add(v%d, v%d)\n", i + 1 == STEPS ? "ROOT " : "", i,
                     i - 1, i - 1 - rand() % back % i);
  }
  hr_strbuf_add_str(&text, "}\n");
  CHECK_OK(hr_strbuf_finish(&text));
  CHECK_OK(fixture_load(text.data, &fixture_native, &f));
  flat_options_t options = {.workers = 1, .emitter = &fixture_native};
  exec_compiled_destroy(f.compiled);
  f.compiled = NULL;
  flat_plan_destroy(f.flat);
  clock_t start = clock();
  CHECK_OK(flat_plan_create(f.plan, &options, &f.flat));
  double took = (double)(clock() - start) / CLOCKS_PER_SEC;
  CU_ASSERT(took < 20); /* 0.1 s on an idle machine; hours if it took time by the square */
  if (took > 1) printf("planning %d steps took %.3f s\n", STEPS, took);
  CU_ASSERT(f.flat->arena_bytes < 256 * 80);
  fixture_deinit(&f);
  hr_strbuf_deinit(&text);
}

static void test_print(void) {
  flat_fixture_t f;
  hr_strbuf_t text;
  CHECK_OK(fixture_load(LOOP(F64, ONE, "x", "d = f32[64] add(a, a)", "d"), &fixture_native, &f));
  hr_strbuf_init(&text);
  flat_plan_print(&text, f.flat);
  CHECK_OK(hr_strbuf_finish(&text));
  CU_ASSERT_PTR_NOT_NULL(strstr(text.data, "add by fixture"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text.data, "carried"));
  hr_strbuf_deinit(&text);
  fixture_deinit(&f);
}

CU_TestInfo suite_flat[] = {
    {"chain in place", test_chain},
    {"views", test_views},
    {"results", test_results},
    {"carries", test_carries},
    {"permuted carries", test_permuted_carries},
    {"updates of carries", test_update_of_carry},
    {"overwritten stacks", test_overwritten_stacks},
    {"broadcasts that nothing reads", test_unread_broadcast},
    {"nested loops", test_nested_loops},
    {"counted loops", test_counted_loops},
    {"branches", test_branches},
    {"indexed branches", test_indexed_branches},
    {"calls", test_calls},
    {"kept values", test_boxed_values},
    {"dynamic sizes", test_whole_reference},
    {"too large", test_too_large},
    {"long program", test_long_program},
    {"text", test_print},
    CU_TEST_INFO_NULL,
};
