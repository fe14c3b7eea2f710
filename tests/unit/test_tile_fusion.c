/* Steps that follow products on the parts that these have finished (plan/flat_tile_fusion.c), and
 * what is packed before loops (plan/flat_prepack.c): which steps these are, and that the bits are
 * those of the reference engine. Arguments are small integers, so that sums are exact in any order.
 */
#include "jit/jit.h"
#include "ops/rules/verify.h"
#include "tests/lib/flat_fixture.h"

typedef struct follow_fixture {
  flat_fixture_t f;
  jit_t *jit;
  hr_workers_t *workers;
} follow_fixture_t;

static hr_status_t open_fixture(const char *text, int workers, bool apart, follow_fixture_t *r) {
  exec_machine_options_t machine = {0};
  memset(r, 0, sizeof *r);
  HR_TRY(hr_workers_create(&(hr_workers_options_t){.count = workers}, &r->workers));
  exec_compiled_options_t compiled = {.workers = r->workers};
  HR_TRY(read_text(text, &r->f.module));
  HR_TRY(hlo_verify(r->f.module));
  HR_TRY(jit_create(&(jit_options_t){.workers = r->workers}, &r->jit));
  HR_TRY(plan_create(r->f.module, (plan_grid_t){1, 1}, &r->f.plan));
  flat_options_t options = {
      .workers = workers, .emitter = &jit_native, .emitter_context = r->jit, .no_fusion = apart};
  HR_TRY(flat_plan_create(r->f.plan, &options, &r->f.flat));
  HR_TRY(jit_finish(r->jit));
  HR_TRY(exec_machine_create(r->f.plan, &machine, &r->f.reference));
  return exec_compiled_create(r->f.flat, &compiled, &r->f.compiled);
}

static void close_fixture(follow_fixture_t *r) {
  fixture_deinit(&r->f);
  jit_destroy(r->jit);
  hr_workers_destroy(r->workers);
}

static int count_followed(const flat_plan_t *flat) {
  int count = 0;
  for (int s = 0; s < flat->step_count; s++) count += flat->steps[s].native.first != NULL;
  return count;
}

/* So many products are followed by one worker; with three, which may not share all of them out as
 * evenly by parts, the results are the same. From kept and from donated arguments. Gives the bytes
 * of the arena, but for scratch memory, for one worker. */
static size_t agree(const char *text, int followed) {
  size_t bytes = 0;
  for (int apart = 0; apart < 2; apart++)
    for (int workers = 1; workers <= 3; workers += 2) {
      follow_fixture_t r;
      CHECK_OK(open_fixture(text, workers, apart, &r));
      int count = count_followed(r.f.flat);
      CU_ASSERT(apart ? !count : count == followed || (workers > 1 && count < followed));
      for (int run = 0; run < 3; run++) fixture_compare(&r.f, run & 1);
      for (int b = 0; b < r.f.flat->buffer_count && !apart && workers == 1; b++) {
        const flat_buffer_t *buffer = &r.f.flat->buffers[b];
        bool is_scratch = false;
        for (int s = 0; s < r.f.flat->step_count; s++)
          is_scratch |= r.f.flat->steps[s].scratch.buffer == b;
        if (buffer->storage == FLAT_ARENA && buffer->coalesced_into < 0 && !is_scratch)
          bytes += buffer->size_bytes;
      }
      close_fixture(&r);
    }
  return bytes;
}

/* Element by element, in blocks of columns, over the product's own bytes: odd sizes, too. */
static void test_storage(void) {
  static const char body[] =
      "HloModule m\n"
      "f { d = f32[%d,%d] parameter(0) b = f32[%d] parameter(1) z = f32[] constant(900) s = "
      "f32[%d,%d] broadcast(b), "
      "dimensions={1}\n"
      "  t = f32[%d,%d] broadcast(z), dimensions={} u = f32[%d,%d] add(d, s) ROOT r = f32[%d,%d] "
      "maximum(u, t) }\n"
      "ENTRY e { x = f32[%d,%d] parameter(0) w = f32[%d,%d] parameter(1) b = f32[%d] parameter(2)\n"
      "  d = f32[%d,%d] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  ROOT r = f32[%d,%d] fusion(d, b), kind=kLoop, calls=f }";
  static const int sizes[][3] = {
      {96, 128, 384}, {97, 131, 300}, {33, 800, 129}, {24, 700, 1000}, {130, 100, 257}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    char text[2000];
    int m = sizes[i][0], k = sizes[i][1], n = sizes[i][2];
    snprintf(text, sizeof text, body, m, n, n, m, n, m, n, m, n, m, n, m, k, k, n, n, m, n, m, n);
    CU_ASSERT_EQUAL(agree(text, 1), 0);
  }
}

/* Its rows less their largest elements, and the halves of its rows added. */
static void test_rows(void) {
  agree(
      "HloModule m\n"
      "most { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] maximum(a, b) }\n"
      "f { d = f32[120,96] parameter(0) z = f32[] constant(0)\n"
      "  s = f32[120] reduce(d, z), dimensions={1}, to_apply=most t = f32[120,96] broadcast(s), "
      "dimensions={0}\n"
      "  ROOT r = f32[120,96] subtract(d, t) }\n"
      "ENTRY e { x = f32[120,128] parameter(0) w = f32[128,96] parameter(1)\n"
      "  d = f32[120,96] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  ROOT r = f32[120,96] fusion(d), kind=kInput, calls=f }",
      1);
  agree(
      "HloModule m\n"
      "f { d = f32[120,96] parameter(0) a = f32[120,48] slice(d), slice={[0:120],[0:48]}\n"
      "  b = f32[120,48] slice(d), slice={[0:120],[48:96]} ROOT r = f32[120,48] add(a, b) }\n"
      "ENTRY e { x = f32[120,128] parameter(0) w = f32[128,96] parameter(1)\n"
      "  d = f32[120,96] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  ROOT r = f32[120,48] fusion(d), kind=kLoop, calls=f }",
      1);
}

/* Matrices of a batch, whole and element by element. */
static void test_batches(void) {
  agree(
      "HloModule m\n"
      "most { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] maximum(a, b) }\n"
      "f { d = f32[6,50,64] parameter(0) z = f32[] constant(0)\n"
      "  s = f32[6,50] reduce(d, z), dimensions={2}, to_apply=most\n"
      "  t = f32[6,50,64] broadcast(s), dimensions={0,1} ROOT r = f32[6,50,64] subtract(d, t) }\n"
      "ENTRY e { x = f32[6,50,70] parameter(0) w = f32[6,70,64] parameter(1)\n"
      "  d = f32[6,50,64] dot(x, w), lhs_batch_dims={0}, rhs_batch_dims={0}, "
      "lhs_contracting_dims={2},\n"
      "    rhs_contracting_dims={1}\n"
      "  ROOT r = f32[6,50,64] fusion(d), kind=kInput, calls=f }",
      1);
  agree(
      "HloModule m\n"
      "ENTRY e { x = f32[5,50,70] parameter(0) w = f32[5,70,64] parameter(1) y = f32[5,50,64] "
      "parameter(2)\n"
      "  d = f32[5,50,64] dot(x, w), lhs_batch_dims={0}, rhs_batch_dims={0}, "
      "lhs_contracting_dims={2},\n"
      "    rhs_contracting_dims={1}\n"
      "  ROOT r = f32[5,50,64] subtract(d, y) }",
      1);
}

#define PRODUCT                                                                             \
  "ENTRY e { x = f32[120,128] parameter(0) w = f32[128,120] parameter(1) y = f32[120,120] " \
  "parameter(2)\n"                                                                          \
  "  d = f32[120,120] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"

/* Who else reads the product finds it; what reads it elsewhere, or twice, or by way of itself, does
 * not follow. */
static void test_others(void) {
  agree("HloModule m\n" PRODUCT
        "  a = f32[120,120] add(d, y) b = f32[120,120] maximum(a, y)\n"
        "  ROOT t = (f32[120,120], f32[120,120], f32[120,120]) tuple(a, b, d) }",
        1);
  agree("HloModule m\n" PRODUCT
        "  a = f32[120,120] transpose(d), dimensions={1,0} ROOT r = f32[120,120] add(a, y) }",
        0);
  agree(
      "HloModule m\n"
      "f { d = f32[120,120] parameter(0) a = f32[120,120] reverse(d), dimensions={0}\n"
      "  ROOT r = f32[120,120] add(a, d) }\n" PRODUCT
      "  ROOT r = f32[120,120] fusion(d), kind=kLoop, calls=f }",
      0);
  agree("HloModule m\n" PRODUCT "  ROOT r = f32[120,120] multiply(d, d) }", 0);
  agree(
      "HloModule m\n"
      "less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), "
      "direction=LT }\n" PRODUCT
      "  a = f32[120,120] sort(y), dimensions={1}, to_apply=less ROOT r = f32[120,120] add(a, d) }",
      1);
}

/* What a loop carries is computed where it is, row by row, though the product reads it; and rows
 * are put into an array. A product after the loop reads what it leaves, and is followed. */
static const char loop_text[] =
    "HloModule m\n"
    "f { d = f32[64,256] parameter(0) h = f32[64,128] parameter(1) o = f32[4,64,128] "
    "parameter(2)\n"
    "  i = s32[] parameter(3) a = f32[64,128] slice(d), slice={[0:64],[0:128]}\n"
    "  b = f32[64,128] slice(d), slice={[0:64],[128:256]}\n"
    "  c = f32[64,128] maximum(a, b) k = f32[] constant(7) l = f32[64,128] broadcast(k), "
    "dimensions={}\n"
    "  m = f32[64,128] minimum(c, l) n = f32[64,128] add(m, h) z = s32[] constant(0) p = "
    "f32[1,64,128] reshape(n)\n"
    "  q = f32[4,64,128] dynamic-update-slice(o, p, i, z, z)\n"
    "  ROOT r = (f32[64,128], f32[4,64,128]) tuple(n, q) }\n"
    "body { s = (s32[], f32[64,128], f32[4,64,128], f32[128,256]) parameter(0)\n"
    "  i = s32[] get-tuple-element(s), index=0 h = f32[64,128] get-tuple-element(s), index=1\n"
    "  o = f32[4,64,128] get-tuple-element(s), index=2\n"
    "  w = f32[128,256] get-tuple-element(s), index=3\n"
    "  d = f32[64,256] dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  r = (f32[64,128], f32[4,64,128]) fusion(d, h, o, i), kind=kLoop, calls=f\n"
    "  g = f32[64,128] get-tuple-element(r), index=0 q = f32[4,64,128] get-tuple-element(r), "
    "index=1\n"
    "  one = s32[] constant(1) j = s32[] add(i, one)\n"
    "  ROOT t = (s32[], f32[64,128], f32[4,64,128], f32[128,256]) tuple(j, g, q, w) }\n"
    "cond { s = (s32[], f32[64,128], f32[4,64,128], f32[128,256]) parameter(0)\n"
    "  i = s32[] get-tuple-element(s), index=0\n"
    "  n = s32[] constant(4) ROOT c = pred[] compare(i, n), direction=LT }\n"
    "ENTRY e { h = f32[64,128] parameter(0) o = f32[4,64,128] parameter(1) w = f32[128,256] "
    "parameter(2)\n"
    "  z = s32[] constant(0)\n"
    "  t = (s32[], f32[64,128], f32[4,64,128], f32[128,256]) tuple(z, h, o, w)\n"
    "  u = (s32[], f32[64,128], f32[4,64,128], f32[128,256]) while(t), condition=cond, "
    "body=body\n"
    "  g = f32[64,128] get-tuple-element(u), index=1 q = f32[4,64,128] get-tuple-element(u), "
    "index=2\n"
    "  d = f32[64,256] dot(g, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} k = f32[] "
    "constant(3)\n"
    "  l = f32[64,256] broadcast(k), dimensions={} m = f32[64,256] minimum(d, l)\n"
    "  ROOT r = (f32[64,128], f32[4,64,128], f32[64,256]) tuple(g, q, m) }";

static void test_loops(void) {
  follow_fixture_t r;
  int copies = 0;
  agree(loop_text, 2);
  CHECK_OK(open_fixture(loop_text, 2, false, &r));
  for (int s = 0; s < r.f.flat->step_count; s++)
    copies += r.f.flat->steps[s].kind == FLAT_COPY && r.f.flat->steps[s].copy.size_bytes > 4;
  CU_ASSERT_EQUAL(copies, 1); /* the carried rows; the loop overwrites all of the other array */
  close_fixture(&r);
}

/* Steps that pack, before the first loop of the plan; -1: one is elsewhere. */
static int count_packing(const flat_plan_t *flat) {
  int count = 0;
  bool in_loop = false;
  for (int s = 0; s < flat->step_count; s++) {
    bool packs =
        flat->steps[s].native.kernel && !strcmp(flat->steps[s].native.kernel->name, "packing");
    in_loop |= flat->steps[s].kind == FLAT_WHILE;
    if (packs && in_loop) return -1;
    count += packs;
  }
  return count;
}

/* x = min(x w, 5), then, if %s is v, w = w + w: two loops, one in the other. */
static const char prepack_text[] =
    "HloModule m\n"
    "inner { s = (s32[], f32[24,160], f32[160,160]) parameter(0) i = s32[] get-tuple-element(s), "
    "index=0\n"
    "  x = f32[24,160] get-tuple-element(s), index=1 w = f32[160,160] get-tuple-element(s), "
    "index=2\n"
    "  d = f32[24,160] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} k = f32[] "
    "constant(5)\n"
    "  l = f32[24,160] broadcast(k), dimensions={} y = f32[24,160] minimum(d, l) one = s32[] "
    "constant(1)\n"
    "  v = f32[160,160] add(w, w) j = s32[] add(i, one)\n"
    "  ROOT t = (s32[], f32[24,160], f32[160,160]) tuple(j, y, %s) }\n"
    "icond { s = (s32[], f32[24,160], f32[160,160]) parameter(0) i = s32[] get-tuple-element(s), "
    "index=0\n"
    "  n = s32[] constant(3) ROOT c = pred[] compare(i, n), direction=LT }\n"
    "outer { s = (s32[], f32[24,160], f32[160,160]) parameter(0) i = s32[] get-tuple-element(s), "
    "index=0\n"
    "  x = f32[24,160] get-tuple-element(s), index=1 w = f32[160,160] get-tuple-element(s), "
    "index=2\n"
    "  z = s32[] constant(0) t = (s32[], f32[24,160], f32[160,160]) tuple(z, x, w)\n"
    "  u = (s32[], f32[24,160], f32[160,160]) while(t), condition=icond, body=inner\n"
    "  y = f32[24,160] get-tuple-element(u), index=1 one = s32[] constant(1) j = s32[] add(i, "
    "one)\n"
    "  ROOT r = (s32[], f32[24,160], f32[160,160]) tuple(j, y, w) }\n"
    "ocond { s = (s32[], f32[24,160], f32[160,160]) parameter(0) i = s32[] get-tuple-element(s), "
    "index=0\n"
    "  n = s32[] constant(2) ROOT c = pred[] compare(i, n), direction=LT }\n"
    "ENTRY e { x = f32[24,160] parameter(0) w = f32[160,160] parameter(1) z = s32[] constant(0)\n"
    "  t = (s32[], f32[24,160], f32[160,160]) tuple(z, x, w)\n"
    "  u = (s32[], f32[24,160], f32[160,160]) while(t), condition=ocond, body=outer\n"
    "  ROOT y = f32[24,160] get-tuple-element(u), index=1 }";

/* Weights are packed once, before both loops, unless a loop changes them. */
static void test_prepack(void) {
  for (int changes = 0; changes < 2; changes++) {
    char program[4000];
    follow_fixture_t r;
    snprintf(program, sizeof program, prepack_text, changes ? "v" : "w");
    agree(program, 0);
    CHECK_OK(open_fixture(program, 2, false, &r));
    CU_ASSERT_EQUAL(count_packing(r.f.flat), changes ? 0 : 1);
    close_fixture(&r);
  }
}

/* x = x w of 8 rows in a loop; %1$d: terms and columns. */
static const char few_rows_text[] =
    "HloModule m\n"
    "body { s = (s32[], f32[8,%1$d], f32[%1$d,%1$d]) parameter(0)\n"
    "  i = s32[] get-tuple-element(s), index=0 x = f32[8,%1$d] get-tuple-element(s), index=1\n"
    "  w = f32[%1$d,%1$d] get-tuple-element(s), index=2 one = s32[] constant(1)\n"
    "  d = f32[8,%1$d] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  j = s32[] add(i, one)\n"
    "  ROOT t = (s32[], f32[8,%1$d], f32[%1$d,%1$d]) tuple(j, d, w) }\n"
    "cond { s = (s32[], f32[8,%1$d], f32[%1$d,%1$d]) parameter(0)\n"
    "  i = s32[] get-tuple-element(s), index=0 n = s32[] constant(20)\n"
    "  ROOT c = pred[] compare(i, n), direction=LT }\n"
    "ENTRY e { x = f32[8,%1$d] parameter(0) w = f32[%1$d,%1$d] parameter(1) z = s32[] constant(0)\n"
    "  t = (s32[], f32[8,%1$d], f32[%1$d,%1$d]) tuple(z, x, w)\n"
    "  u = (s32[], f32[8,%1$d], f32[%1$d,%1$d]) while(t), condition=cond, body=body\n"
    "  ROOT y = f32[8,%1$d] get-tuple-element(u), index=1 }";

/* Weights of few rows are packed if a cache keeps them: 1 MiB, not 36 MiB. */
static void test_large_prepack(void) {
  for (int is_large = 0; is_large < 2; is_large++) {
    char program[4000];
    follow_fixture_t r;
    snprintf(program, sizeof program, few_rows_text, is_large ? 3072 : 512);
    CHECK_OK(open_fixture(program, 1, false, &r));
    CU_ASSERT_EQUAL(count_packing(r.f.flat), is_large ? 0 : 1);
    close_fixture(&r);
  }
}

/* x = min(min(min(x w, 5) w, 5) w^T, 5) in a loop. */
static const char shared_pack_text[] =
    "HloModule m\n"
    "body { s = (s32[], f32[24,160], f32[160,160]) parameter(0) i = s32[] get-tuple-element(s), "
    "index=0\n"
    "  x = f32[24,160] get-tuple-element(s), index=1 w = f32[160,160] get-tuple-element(s), "
    "index=2\n"
    "  a = f32[24,160] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  k = f32[] constant(5) l = f32[24,160] broadcast(k), dimensions={}\n"
    "  b = f32[24,160] minimum(a, l)\n"
    "  c = f32[24,160] dot(b, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  d = f32[24,160] minimum(c, l)\n"
    "  e = f32[24,160] dot(d, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
    "  y = f32[24,160] minimum(e, l)\n"
    "  one = s32[] constant(1) j = s32[] add(i, one)\n"
    "  ROOT t = (s32[], f32[24,160], f32[160,160]) tuple(j, y, w) }\n"
    "cond { s = (s32[], f32[24,160], f32[160,160]) parameter(0) i = s32[] get-tuple-element(s), "
    "index=0\n"
    "  n = s32[] constant(3) ROOT c = pred[] compare(i, n), direction=LT }\n"
    "ENTRY e { x = f32[24,160] parameter(0) w = f32[160,160] parameter(1) z = s32[] constant(0)\n"
    "  t = (s32[], f32[24,160], f32[160,160]) tuple(z, x, w)\n"
    "  u = (s32[], f32[24,160], f32[160,160]) while(t), condition=cond, body=body\n"
    "  ROOT y = f32[24,160] get-tuple-element(u), index=1 }";

/* Products that read one operand in one form share its packed copy; the transposed form is
 * another. */
static void test_shared_pack(void) {
  follow_fixture_t r;
  agree(shared_pack_text, 0);
  CHECK_OK(open_fixture(shared_pack_text, 2, false, &r));
  CU_ASSERT_EQUAL(count_packing(r.f.flat), 2);
  close_fixture(&r);
}

/* Convolutions over taps, and by Winograd with channels last and first, whose results are rounded
 * to what they are exactly. */
static void test_convolutions(void) {
  static const struct {
    const char *x, *w, *d, *conv;
    int channels; /* dimension */
  } rows[] = {
      {"[2,19,21,24]", "[3,3,24,40]", "[2,10,11,40]",
       "size=3x3 stride=2x2 pad=1_1x1_1}, dim_labels=b01f_01io->b01f", 3},
      {"[5,300,3]", "[9,3,64]", "[5,150,64]", "size=9 stride=2 pad=4_3}, dim_labels=b0f_0io->b0f",
       2},
      {"[2,23,21,32]", "[3,3,32,32]", "[2,23,21,32]",
       "size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f", 3},
      {"[3,32,30,31]", "[32,32,3,3]", "[3,32,30,31]",
       "size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01", 1},
  };
  static const int biases[sizeof rows / sizeof *rows] = {40, 64, 32, 32};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[2000], bias[20];
    const char *d = rows[i].d;
    snprintf(bias, sizeof bias, "[%d]", biases[i]);
    snprintf(text, sizeof text,
             "HloModule m\n"
             "f { d = f32%s parameter(0) b = f32%s parameter(1) s = f32%s broadcast(b), "
             "dimensions={%d}\n"
             "  u = f32%s add(d, s) ROOT r = f32%s round-nearest-even(u) }\n"
             "ENTRY e { x = f32%s parameter(0) w = f32%s parameter(1) b = f32%s parameter(2)\n"
             "  d = f32%s convolution(x, w), window={%s\n"
             "  ROOT r = f32%s fusion(d, b), kind=kLoop, calls=f }",
             d, bias, d, rows[i].channels, d, d, rows[i].x, rows[i].w, bias, d, rows[i].conv, d);
    agree(text, 1);
  }
}

CU_TestInfo suite_tile_fusion[] = {
    {"element by element", test_storage},
    {"rows", test_rows},
    {"batches", test_batches},
    {"convolutions", test_convolutions},
    {"other readers", test_others},
    {"in loops", test_loops},
    {"operands packed before loops", test_prepack},
    {"large operands of few rows", test_large_prepack},
    {"a packed operand that several products read", test_shared_pack},
    CU_TEST_INFO_NULL};
