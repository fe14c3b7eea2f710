/* Products and the fusions between them as one step (passes/fuse/tile_products.c,
 * kernels/dot/native_tiled_products.c): which become one, and that the bits are those of the
 * reference engine with one worker and with three. Arguments are small integers, so that sums are
 * exact in any order. */
#include "jit/jit.h"
#include "ops/kernels/dot/tiled_zeros.h"
#include "ops/rules/verify.h"
#include "passes/passes.h"
#include "tests/lib/flat_fixture.h"

/* Rows less their greatest elements, and the rows of another array where a mask says so. */
#define SCORES                                                                                   \
  "HloModule m\n"                                                                                \
  "most { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] maximum(a, b) }\n"        \
  "f { s = f32[8,352,384] parameter(0) z = f32[] constant(-900) m = f32[8,352] reduce(s, z), "   \
  "dimensions={2}, to_apply=most\n"                                                              \
  "  t = f32[8,352,384] broadcast(m), dimensions={0,1} d = f32[8,352,384] subtract(s, t)\n"      \
  "  o = f32[] constant(-40) p = f32[8,352,384] broadcast(o), dimensions={}\n"                   \
  "  ROOT r = f32[8,352,384] maximum(d, p) }\n"                                                  \
  "g { s = f32[8,352,384] parameter(0) e = f32[8,352,384] parameter(1) ROOT r = f32[8,352,384] " \
  "multiply(s, e) }\n"                                                                           \
  "ENTRY e { q = f32[8,352,24] parameter(0) k = f32[384,8,24] parameter(1) v = f32[8,24,384] "   \
  "parameter(2)\n"                                                                               \
  "  s = f32[8,352,384] dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={1}, "                     \
  "lhs_contracting_dims={2}, rhs_contracting_dims={2}\n"                                         \
  "  p = f32[8,352,384] fusion(s), kind=kInput, calls=f\n"
#define BY_ROWS                                                                   \
  "dot(p, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, " \
  "rhs_contracting_dims={2}\n"
#define BY_COLUMNS                                                                \
  "dot(v, p), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, " \
  "rhs_contracting_dims={2}\n"
#define SUM_RIGHT                                                                 \
  "dot(q, p), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, " \
  "rhs_contracting_dims={1}\n"
#define SUM_LEFT                                                                  \
  "dot(p, q), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, " \
  "rhs_contracting_dims={1}\n"

static int count_native(const flat_plan_t *flat, const char *name) {
  int count = 0;
  for (int s = 0; s < flat->step_count; s++)
    count += flat->steps[s].kind == FLAT_NATIVE && flat->steps[s].native.kernel &&
             !strcmp(flat->steps[s].native.kernel->name, name);
  return count;
}

/* The reference engine runs the program as it was. */
static void agree_with(const char *text, int workers, int tiled) {
  flat_fixture_t f = {0};
  hlo_module_t *before;
  plan_t *plan;
  jit_t *jit;
  hr_workers_t *pool;
  bool changed = false;
  exec_machine_options_t machine = {0};
  CHECK_OK(hr_workers_create(&(hr_workers_options_t){.count = workers}, &pool));
  CHECK_OK(jit_create(&(jit_options_t){.workers = pool}, &jit));
  CHECK_OK(read_text(text, &before));
  CHECK_OK(read_text(text, &f.module));
  CHECK_OK(hlo_verify(f.module));
  CHECK_OK(pass_tile_products(f.module, &changed));
  CHECK_OK(hlo_verify(f.module));
  CU_ASSERT(changed || !tiled);
  CHECK_OK(plan_create(before, (plan_grid_t){1, 1}, &plan));
  CHECK_OK(plan_create(f.module, (plan_grid_t){1, 1}, &f.plan));
  flat_options_t options = {.workers = workers, .emitter = &jit_native, .emitter_context = jit};
  CHECK_OK(flat_plan_create(f.plan, &options, &f.flat));
  CHECK_OK(jit_finish(jit));
  CHECK_OK(exec_machine_create(plan, &machine, &f.reference));
  CHECK_OK(exec_compiled_create(f.flat, &(exec_compiled_options_t){.workers = pool}, &f.compiled));
  CU_ASSERT_EQUAL(count_native(f.flat, "tiles of products"), tiled);
  for (int run = 0; run < 2; run++) fixture_compare(&f, run);
  fixture_deinit(&f);
  plan_destroy(plan);
  hlo_module_destroy(before);
  jit_destroy(jit);
  hr_workers_destroy(pool);
}

static void agree(const char *text, int tiled) {
  for (int workers = 1; workers <= 3; workers += 2) agree_with(text, workers, tiled);
}

/* Each way to read the tile, alone and all together. */
static void test_products(void) {
  agree(SCORES "ROOT o = f32[8,352,24] " BY_ROWS "}", 1);
  agree(SCORES "ROOT o = f32[8,24,352] " BY_COLUMNS "}", 1);
  agree(SCORES "ROOT o = f32[8,24,384] " SUM_RIGHT "}", 1);
  agree(SCORES "ROOT o = f32[8,384,24] " SUM_LEFT "}", 1);
  agree(SCORES
        "a = f32[8,352,24] " BY_ROWS "b = f32[8,24,352] " BY_COLUMNS "c = f32[8,24,384] " SUM_RIGHT
        "d = f32[8,384,24] " SUM_LEFT
        "ROOT t = (f32[8,352,24], f32[8,24,352], f32[8,24,384], f32[8,384,24]) tuple(a, b, c, d) }",
        1);
}

/* What others read is a result as well; a second product and fusion join. */
static void test_results(void) {
  agree(SCORES "a = f32[8,352,24] " BY_ROWS
               "ROOT t = (f32[8,352,384], f32[8,352,24]) tuple(p, a) }",
        1);
  agree(SCORES
        "  h = f32[8,352,384] dot(q, v), lhs_batch_dims={0}, rhs_batch_dims={0}, "
        "lhs_contracting_dims={2}, rhs_contracting_dims={1}\n"
        "  w = f32[8,352,384] fusion(p, h), kind=kLoop, calls=g\n"
        "  a = f32[8,352,24] dot(w, v), lhs_batch_dims={0}, rhs_batch_dims={0}, "
        "lhs_contracting_dims={2}, rhs_contracting_dims={2}\n"
        "  ROOT t = (f32[8,352,24], f32[8,352,384]) tuple(a, h) }",
        1);
}

/* A view in between, rows in two dimensions, and operands without a single stride. */
static void test_views(void) {
  agree(
      "HloModule m\n"
      "f { s = f32[1,8,4,20,96] parameter(0) ROOT r = f32[1,8,4,20,96] add(s, s) }\n"
      "ENTRY e { q = f32[20,8,4,24] parameter(0) k = f32[96,8,24] parameter(1)\n"
      "  s = f32[8,20,4,96] dot(q, k), lhs_batch_dims={1}, rhs_batch_dims={1}, "
      "lhs_contracting_dims={3}, rhs_contracting_dims={2}\n"
      "  x = f32[1,8,4,20,96] reshape(s) p = f32[1,8,4,20,96] fusion(x), kind=kLoop, calls=f\n"
      "  y = f32[8,80,96] reshape(p)\n"
      "  a = f32[8,80,24] dot(y, k), lhs_batch_dims={0}, rhs_batch_dims={1}, "
      "lhs_contracting_dims={2}, rhs_contracting_dims={0}\n"
      "  ROOT t = (f32[8,80,24], f32[96,8,24]) tuple(a, k) }",
      1);
}

/* Columns that a tile of zeros hides are left out of the products before and after it. */
static void test_zeros(void) {
  agree(
      "HloModule m\n"
      "g { s = f32[8,352,384] parameter(0) e = f32[8,352,384] parameter(1) p = f32[8,352,384] "
      "multiply(s, e) ROOT r = f32[8,352,384] add(p, e) }\n"
      "ENTRY e { q = f32[8,352,24] parameter(0) k = f32[384,8,24] parameter(1)\n"
      "  y = f32[8,352,384] parameter(2) z = f32[] constant(0)\n"
      "  zeros = f32[8,352,384] broadcast(z), dimensions={}\n"
      "  i = s32[352,384] iota(), iota_dimension=0 j = s32[352,384] iota(), iota_dimension=1\n"
      "  sees = pred[352,384] compare(i, j), direction=GE\n"
      "  mask = pred[8,352,384] broadcast(sees), dimensions={1,2}\n"
      "  e = f32[8,352,384] select(mask, y, zeros)\n"
      "  s = f32[8,352,384] dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={1}, "
      "lhs_contracting_dims={2}, rhs_contracting_dims={2}\n"
      "  p = f32[8,352,384] fusion(s, e), kind=kLoop, calls=g\n"
      "  a = f32[8,352,24] dot(p, k), lhs_batch_dims={0}, rhs_batch_dims={1}, "
      "lhs_contracting_dims={2}, rhs_contracting_dims={0}\n"
      "  b = f32[8,384,24] " SUM_LEFT "  ROOT t = (f32[8,352,24], f32[8,384,24]) tuple(a, b) }",
      1);
}

/* The operand of zeros that hides operand 0 of a fusion with this body; -1: none does. */
static int hidden_by(const char *body, int factors) {
  char text[1024];
  hlo_module_t *module;
  tiled_zeros_t zeros;
  hr_arena_t arena;
  snprintf(text, sizeof text,
           "HloModule m\n"
           "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
           "f { x = f32[8,16] parameter(0) y = f32[8,16] parameter(1) n = f32[8] parameter(2)\n"
           "  z = f32[] constant(0) w = f32[8,16] broadcast(n), dimensions={0} %s }\n"
           "ENTRY e { a = f32[8,16] parameter(0) b = f32[8,16] parameter(1)\n"
           "  c = f32[8] parameter(2)\n"
           "  ROOT r = f32[8,16] fusion(a, b, c), kind=kInput, calls=f }",
           body);
  CHECK_OK(read_text(text, &module));
  hr_arena_init(&arena);
  CHECK_OK(tiled_zeros_find(&arena, module->entry->root, 0, &zeros));
  if (zeros.tile >= 0) CU_ASSERT_EQUAL(zeros.factor_count, factors);
  hr_arena_deinit(&arena);
  hlo_module_destroy(module);
  return zeros.tile;
}

#define SUM_OF_PRODUCTS                                                                  \
  "p = f32[8,16] multiply(x, y) s = f32[8] reduce(p, z), dimensions={1}, to_apply=sum\n" \
  "t = f32[8,16] broadcast(s), dimensions={0}\n"

static void test_hidden(void) {
  CU_ASSERT_EQUAL(
      hidden_by(SUM_OF_PRODUCTS "d = f32[8,16] subtract(x, t) ROOT r = f32[8,16] multiply(d, y)",
                0),
      1);
  CU_ASSERT_EQUAL(hidden_by(SUM_OF_PRODUCTS "q = f32[8,16] divide(x, w) d = f32[8,16] add(q, t)\n"
                                            "ROOT r = f32[8,16] multiply(y, d)",
                            1),
                  1);
  /* without a multiplication by y; by its own size; and as a divisor */
  CU_ASSERT_EQUAL(hidden_by(SUM_OF_PRODUCTS "ROOT r = f32[8,16] add(x, t)", 0), -1);
  CU_ASSERT_EQUAL(hidden_by(SUM_OF_PRODUCTS "e = f32[8,16] exponential(x) d = f32[8,16] add(e, t)\n"
                                            "ROOT r = f32[8,16] multiply(d, y)",
                            0),
                  -1);
  CU_ASSERT_EQUAL(hidden_by(SUM_OF_PRODUCTS "d = f32[8,16] add(y, t)\n"
                                            "ROOT r = f32[8,16] divide(d, x)",
                            0),
                  -1);
}

/* Too few matrices for a sum over rows; a product that needs the result of another; nothing is
 * spared; a fusion that reads across rows; layers with an exponential, but no softmax, between
 * them. */
static void test_refused(void) {
  agree(
      "HloModule m\n"
      "f { s = f32[200,180] parameter(0) e = f32[200,180] exponential(s)\n"
      "  ROOT r = f32[200,180] multiply(s, e) }\n"
      "ENTRY e { q = f32[200,24] parameter(0) k = f32[24,180] parameter(1)\n"
      "  s = f32[200,180] dot(q, k), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  p = f32[200,180] fusion(s), kind=kLoop, calls=f\n"
      "  ROOT a = f32[200,24] dot(p, k), lhs_contracting_dims={1}, rhs_contracting_dims={1} }",
      0);
  agree(
      "HloModule m\n"
      "f { s = f32[200,180] parameter(0) ROOT r = f32[200,180] add(s, s) }\n"
      "ENTRY e { q = f32[200,24] parameter(0) k = f32[180,24] parameter(1)\n"
      "  s = f32[200,180] dot(q, k), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
      "  p = f32[200,180] fusion(s), kind=kLoop, calls=f\n"
      "  ROOT a = f32[180,24] dot(p, q), lhs_contracting_dims={0}, rhs_contracting_dims={0} }",
      0);
}

CU_TestInfo suite_tiled_products[] = {{"products", test_products},
                                      {"results", test_results},
                                      {"views", test_views},
                                      {"refused", test_refused},
                                      {"zeros", test_zeros},
                                      {"hidden products", test_hidden},
                                      CU_TEST_INFO_NULL};
