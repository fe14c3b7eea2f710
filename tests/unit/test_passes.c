/* The machinery of the passes: order, effects and uses across rewrites, turns of loops, memory that
 * runs out. That programs mean the same is tested with whole programs. */
#include "base/buffer.h"
#include "ops/rules/verify.h"
#include "passes/lib/pass_rewrite.h"
#include "passes/loops/loop_shape.h"
#include "passes/pipeline.h"
#include "tests/lib/faults.h"
#include "tests/lib/read_text.h"
#include "tests/lib/source_files.h"
#include "tests/lib/unit.h"

#include <string.h>

static hlo_instr_t *find(const hlo_computation_t *computation, const char *name) {
  for (size_t i = 0; i < computation->instrs.count; i++)
    if (hr_str_is(computation->instrs.data[i]->name, name)) return computation->instrs.data[i];
  return NULL;
}

/* ---- rewrites ---- */

static const char effects[] =
    "HloModule effects\n\nENTRY main {\n  x = f32[4] parameter(0)\n  t = token[] after-all()\n"
    "  a = token[] outfeed(x, t), outfeed_shape=f32[4]\n  n = f32[4] negate(x)\n  nn = f32[4] "
    "negate(n)\n"
    "  b = token[] outfeed(x, t), outfeed_shape=f32[4]\n  e = f32[4] exponential(x)\n"
    "  ROOT s = f32[4] add(nn, e)\n}\n";

static void test_replace(void) {
  hlo_module_t *module = read_valid(effects);
  hlo_computation_t *main = module->entry;
  pass_rewrite_t rewrite;
  CHECK_OK(pass_rewrite_begin(&rewrite, main));
  hlo_instr_t *x = find(main, "x"), *nn = find(main, "nn"), *e = find(main, "e");
  CU_ASSERT_EQUAL(pass_use_count(&rewrite, x), 4);
  CHECK_OK(pass_replace(&rewrite, nn, x));
  CU_ASSERT_PTR_EQUAL(pass_rewrite_visit(&rewrite, nn->id), NULL);
  CU_ASSERT_PTR_EQUAL(pass_rewrite_visit(&rewrite, e->id), e);
  CHECK_OK(pass_replace(&rewrite, e, hlo_build_unary(&rewrite.builder, HLO_TANH, x)));
  CHECK_OK(pass_rewrite_end(&rewrite, NULL));
  CHECK_OK(hlo_verify(module));
  CU_ASSERT_EQUAL(main->instrs.count, 6);
  CU_ASSERT_TRUE(find(main, "a")->id < find(main, "b")->id);
  CU_ASSERT_PTR_EQUAL(find(main, "n"), NULL);
  CU_ASSERT_PTR_EQUAL(main->root->operands[0], x);
  CU_ASSERT_EQUAL(main->root->operands[1]->op, HLO_TANH);
  hlo_module_destroy(module);
}

/* What is made to depend on the second effect comes after it, and the effects keep their order. */
static void test_order(void) {
  hlo_module_t *module = read_valid(effects);
  hlo_computation_t *main = module->entry;
  pass_rewrite_t rewrite;
  CHECK_OK(pass_rewrite_begin(&rewrite, main));
  hlo_instr_t *n = find(main, "n"), *b = find(main, "b"), *x = find(main, "x");
  CU_ASSERT_PTR_EQUAL(pass_rewrite_visit(&rewrite, n->id), n);
  hlo_instr_t *late = hlo_build(&rewrite.builder, HLO_ADD_DEPENDENCY, x->shape, 2,
                                (hlo_instr_t *[]){x, b}, 0, NULL, 0, NULL);
  CHECK_OK(pass_replace(&rewrite, n, late));
  CHECK_OK(pass_rewrite_end(&rewrite, NULL));
  CHECK_OK(hlo_verify(module));
  CU_ASSERT_TRUE(find(main, "a")->id < find(main, "b")->id);
  CU_ASSERT_TRUE(find(main, "b")->id < find(main, "nn")->id);
  hlo_module_destroy(module);
}

static void test_circle(void) {
  hlo_module_t *module = read_valid(effects);
  hlo_computation_t *main = module->entry;
  pass_rewrite_t rewrite;
  CHECK_OK(pass_rewrite_begin(&rewrite, main));
  hlo_instr_t *n = find(main, "n"), *nn = find(main, "nn");
  CHECK_OK(pass_replace(&rewrite, find(main, "x"), nn));
  CU_ASSERT_PTR_EQUAL(pass_resolve(&rewrite, n->operands[0]), nn);
  CHECK_FAILS(HR_INTERNAL, pass_rewrite_end(&rewrite, NULL));
  hlo_module_destroy(module);
}

static void test_purity(void) {
  hlo_module_t *module = read_valid(effects);
  const hlo_computation_t *main = module->entry;
  CU_ASSERT_TRUE(pass_has_effect(find(main, "a")));
  CU_ASSERT_FALSE(pass_has_effect(find(main, "n")));
  CU_ASSERT_TRUE(pass_is_pure(find(main, "n")));
  CU_ASSERT_FALSE(pass_is_pure(find(main, "t")));
  hlo_module_destroy(module);
}

/* ---- loops ---- */

/* Turns of `for (i = start; i DIRECTION limit; i += step)`; -1: not known. */
static int64_t trips(const char *type, const char *start, const char *step, const char *direction,
                     const char *limit) {
  char text[1024];
  snprintf(
      text, sizeof text,
      "HloModule turns\n\nbody {\n  p = (%s[], f32[]) parameter(0)\n  i = %s[] "
      "get-tuple-element(p), index=0\n"
      "  x = f32[] get-tuple-element(p), index=1\n  s = %s[] constant(%s)\n  j = %s[] add(i, s)\n"
      "  y = f32[] negate(x)\n  ROOT t = (%s[], f32[]) tuple(j, y)\n}\n\ncondition {\n"
      "  p = (%s[], f32[]) parameter(0)\n  i = %s[] get-tuple-element(p), index=0\n  n = %s[] "
      "constant(%s)\n"
      "  ROOT c = pred[] compare(i, n), direction=%s\n}\n\nENTRY main {\n  x = f32[] parameter(0)\n"
      "  z = %s[] constant(%s)\n  t = (%s[], f32[]) tuple(z, x)\n"
      "  w = (%s[], f32[]) while(t), condition=condition, body=body\n  ROOT y = f32[] "
      "get-tuple-element(w), index=1\n"
      "}\n",
      type, type, type, step, type, type, type, type, type, limit, direction, type, start, type,
      type);
  hlo_module_t *module = read_valid(text);
  loop_counter_t counter = {.trips = -1};
  loop_t loop;
  CU_ASSERT_TRUE_FATAL(loop_match(find(module->entry, "w"), &loop));
  if (!loop_find_counter(&loop, &counter)) counter.trips = -1;
  hlo_module_destroy(module);
  return counter.trips;
}

static void test_trips(void) {
  CU_ASSERT_EQUAL(trips("s32", "0", "1", "LT", "10"), 10);
  CU_ASSERT_EQUAL(trips("s32", "0", "3", "LT", "10"), 4);
  CU_ASSERT_EQUAL(trips("s32", "0", "3", "LE", "9"), 4);
  CU_ASSERT_EQUAL(trips("s32", "10", "1", "LT", "10"), 0);
  CU_ASSERT_EQUAL(trips("s32", "10", "-1", "GT", "0"), 10);
  CU_ASSERT_EQUAL(trips("s32", "10", "-3", "GE", "0"), 4);
  CU_ASSERT_EQUAL(trips("s32", "0", "2", "NE", "10"), 5);
  CU_ASSERT_EQUAL(trips("s32", "0", "3", "NE", "10"), -1);
  CU_ASSERT_EQUAL(trips("s32", "0", "-1", "LT", "10"), -1);
  CU_ASSERT_EQUAL(trips("s32", "0", "0", "LT", "10"), -1);
  CU_ASSERT_EQUAL(trips("u8", "250", "1", "LT", "255"), 5);
  CU_ASSERT_EQUAL(trips("u8", "250", "10", "LT", "255"), -1); /* wraps */
  CU_ASSERT_EQUAL(trips("s8", "120", "5", "LE", "126"), -1);
  CU_ASSERT_EQUAL(trips("s64", "9223372036854775800", "1", "LT", "9223372036854775807"), -1);
}

/* ---- the pipeline ---- */

static const char small[] =
    "HloModule small\n\nsum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = "
    "f32[] add(a, b)\n}\n\n"
    "inner {\n  a = f32[4,4] parameter(0)\n  t = f32[4,4] transpose(a), dimensions={1,0}\n"
    "  ROOT d = f32[4,4] dot(a, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n\n"
    "body {\n  p = (s32[], f32[4,4], f32[4,4]) parameter(0)\n  i = s32[] get-tuple-element(p), "
    "index=0\n"
    "  x = f32[4,4] get-tuple-element(p), index=1\n  w = f32[4,4] get-tuple-element(p), index=2\n"
    "  o = s32[] constant(1)\n  j = s32[] add(i, o)\n  e = f32[4,4] exponential(w)\n  y = f32[4,4] "
    "add(x, e)\n"
    "  ROOT t = (s32[], f32[4,4], f32[4,4]) tuple(j, y, w)\n}\n\ncondition {\n"
    "  p = (s32[], f32[4,4], f32[4,4]) parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
    "  n = s32[] constant(100)\n  ROOT c = pred[] compare(i, n), direction=LT\n}\n\n"
    "ENTRY main {\n  x = f32[4,4] parameter(0)\n  z = s32[] constant(0)\n  c = f32[4,4] call(x), "
    "to_apply=inner\n"
    "  t = (s32[], f32[4,4], f32[4,4]) tuple(z, x, c)\n"
    "  w = (s32[], f32[4,4], f32[4,4]) while(t), condition=condition, body=body\n"
    "  y = f32[4,4] get-tuple-element(w), index=1\n  f = f32[] constant(0)\n"
    "  ROOT r = f32[4] reduce(y, f), dimensions={1}, to_apply=sum\n}\n";

static void test_pipeline(void) {
  hlo_module_t *module = read_valid(small);
  pass_options_t options = {.verify = true};
  CHECK_OK(pass_run_all(module, &options));
  CHECK_OK(hlo_verify(module));
  for (size_t i = 0; i < module->entry->instrs.count; i++)
    CU_ASSERT_NOT_EQUAL(module->entry->instrs.data[i]->op, HLO_CALL);
  CU_ASSERT_TRUE(pass_exists("simplify"));
  CU_ASSERT_FALSE(pass_exists("simplification"));
  hlo_module_destroy(module);
}

/* ---- memory that runs out ---- */

/* A module, and the last pass to run on it; NULL: all run. */
typedef struct attempt {
  const char *text, *path, *stop_after;
} attempt_t;

static hr_status_t attempt_passes(size_t n, void *context) {
  const attempt_t *attempt = context;
  pass_options_t options = {.stop_after = attempt->stop_after};
  hlo_module_t *module = NULL;
  if (attempt->text)
    module = read_valid(attempt->text);
  else
    CHECK_OK(read_module_file(attempt->path, &module));
  faults_begin(n);
  hr_status_t st = pass_run_all(module, &options);
  faults_end();
  hlo_module_destroy(module);
  return st;
}

static void test_faults(void) {
  CU_ASSERT_TRUE(faults_try(attempt_passes, &(attempt_t){.text = small}) > 10);
}

/* A golden, which is named after its pass. */
static void fail_in_golden(const char *path, const char *name) {
  char pass[64];
  snprintf(pass, sizeof pass, "%.*s", (int)strcspn(name, "-."), name);
  CU_ASSERT_TRUE_FATAL(pass_exists(pass));
  CU_ASSERT_TRUE(faults_try(attempt_passes, &(attempt_t){.path = path, .stop_after = pass}) > 0);
}

static void test_faults_in_each_pass(void) {
  CU_ASSERT_TRUE(source_files_visit("tests/passes", fail_in_golden) > 20);
}

CU_TestInfo suite_passes[] = {{"replacing keeps effects and order", test_replace},
                              {"late dependencies", test_order},
                              {"a circle is found", test_circle},
                              {"purity", test_purity},
                              {"turns of counting loops", test_trips},
                              {"the whole pipeline", test_pipeline},
                              {"memory runs out", test_faults},
                              {"memory runs out in each pass", test_faults_in_each_pass},
                              CU_TEST_INFO_NULL};
