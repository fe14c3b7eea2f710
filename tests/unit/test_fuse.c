/* Fusion: which instructions become one step. A program's steps are written as a line each: the
 * opcode, or of a fusion its form, its body's opcodes and its number of results. */
#include <string.h>

#include "ops/query/codegen_support.h"
#include "ops/query/fusion_form.h"
#include "ops/rules/verify.h"
#include "passes/passes.h"
#include "tests/lib/read_text.h"
#include "tests/lib/unit.h"

static const char *const kind_names[] = {"none", "loop", "rows", "columns"};

static void print_fusion(hr_strbuf_t *text, const hlo_instr_t *fusion) {
  const hlo_computation_t *body = fusion->called[0];
  hr_arena_t arena;
  fusion_form_t form;
  hr_arena_init(&arena);
  CHECK_OK(fusion_form_find(&arena, body, &form));
  CU_ASSERT_TRUE(op_can_codegen(fusion));
  hr_strbuf_printf(text, "%s", kind_names[form.space.kind]);
  if (form.part_count > 1) hr_strbuf_printf(text, "*%d", form.part_count);
  hr_strbuf_printf(text, "(");
  const char *gap = "";
  for (size_t i = 0; i < body->instrs.count; i++) {
    hlo_opcode_t op = body->instrs.data[i]->op;
    if (op == HLO_PARAMETER || op == HLO_CONSTANT || op == HLO_TUPLE || op == HLO_GET_TUPLE_ELEMENT)
      continue;
    hr_strbuf_printf(text, "%s%s", gap, hlo_op_name(op));
    gap = " ";
  }
  hr_strbuf_printf(text, ")");
  if (form.root_count > 1) hr_strbuf_printf(text, "->%d", form.root_count);
  hr_strbuf_printf(text, "\n");
  hr_arena_deinit(&arena);
}

static void print_steps(hr_strbuf_t *text, const hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    if (instr->op == HLO_FUSION)
      print_fusion(text, instr);
    else if (op_codegens[instr->op] != CODEGEN_STRUCTURE)
      hr_strbuf_printf(text, "%s\n", hlo_op_name(instr->op));
  }
}

#define PRELUDE                                                                      \
  "HloModule t\n"                                                                    \
  "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n" \
  "most { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] maximum(a, b) }\n"

/* The steps of the entry after fusion. */
static void becomes(const char *program, const char *want) {
  hlo_module_t *module = read_valid(program);
  hr_strbuf_t text;
  bool changed = false;
  hr_strbuf_init(&text);
  CHECK_OK(pass_fuse(module, &changed));
  CHECK_OK(hlo_verify(module));
  print_steps(&text, module->entry);
  CHECK_OK(hr_strbuf_finish(&text));
  if (strcmp(text.data ? text.data : "", want)) {
    fprintf(stderr, "wanted:\n%sgot:\n%s", want, text.data);
    CU_FAIL("other steps");
  }
  hr_strbuf_deinit(&text);
  hlo_module_destroy(module);
}

static void chains(void) {
  becomes(PRELUDE
          "ENTRY e { x = f32[8] parameter(0) c = f32[] constant(2) s = f32[8] broadcast(c), "
          "dimensions={}"
          " y = f32[8] multiply(x, s) z = f32[8] exponential(y) ROOT r = f32[8] add(z, y) }",
          "loop(broadcast multiply exponential add)\n");
  /* A broadcast constant is no array; a lone instruction needs no fusion. */
  becomes(PRELUDE
          "ENTRY e { x = f32[8] parameter(0) c = f32[] constant(2) s = f32[8] broadcast(c), "
          "dimensions={}"
          " ROOT r = f32[8] multiply(x, s) }",
          "loop(broadcast multiply)\n");
  becomes(PRELUDE "ENTRY e { x = f32[8] parameter(0) ROOT r = f32[8] negate(x) }", "negate\n");
}

static void views_stay_outside(void) {
  becomes(PRELUDE
          "ENTRY e { x = f32[4,2] parameter(0) v = f32[8] reshape(x) y = f32[8] negate(v) z = "
          "f32[8] exponential(y)"
          " ROOT r = f32[2,4] reshape(z) }",
          "reshape\nloop(negate exponential)\nreshape\n");
}

#define MATRIX "x = f32[64,32] parameter(0) zero = f32[] constant(0) low = f32[] constant(-inf)"

static void softmax(void) {
  becomes(PRELUDE
          "ENTRY e { " MATRIX
          " m = f32[64] reduce(x, low), dimensions={1}, to_apply=most"
          " mb = f32[64,32] broadcast(m), dimensions={0} d = f32[64,32] subtract(x, mb)"
          " e = f32[64,32] exponential(d) s = f32[64] reduce(e, zero), dimensions={1}, to_apply=sum"
          " sb = f32[64,32] broadcast(s), dimensions={0} ROOT r = f32[64,32] divide(e, sb) }",
          "rows(reduce broadcast subtract exponential reduce broadcast divide)\n");
}

/* What is computed once a row is foreseen to come from a reduction: the root is not taken once an
 * element. */
static void layer_norm(void) {
  becomes(
      PRELUDE
      "ENTRY e { " MATRIX
      " n = f32[] constant(32) nb = f32[64] broadcast(n), dimensions={}"
      " q = f32[64,32] multiply(x, x) v = f32[64] reduce(q, zero), dimensions={1}, to_apply=sum"
      " w = f32[64] divide(v, nb) k = f32[64] rsqrt(w) kb = f32[64,32] broadcast(k), dimensions={0}"
      " y = f32[64,32] multiply(x, kb) g = f32[32] parameter(1) gb = f32[64,32] broadcast(g), "
      "dimensions={1}"
      " z = f32[64,32] multiply(y, gb) ROOT t = (f32[64,32], f32[64]) tuple(z, k) }",
      "rows(multiply reduce broadcast divide rsqrt broadcast multiply broadcast multiply)->2\n");
}

/* A row that no cache holds is not passed over twice in one fusion. */
static void long_rows(void) {
  becomes(
      PRELUDE
      "ENTRY e { x = f32[2,200000] parameter(0) zero = f32[] constant(0)"
      " e = f32[2,200000] exponential(x) s = f32[2] reduce(e, zero), dimensions={1}, to_apply=sum"
      " sb = f32[2,200000] broadcast(s), dimensions={0} ROOT r = f32[2,200000] divide(e, sb) }",
      "rows(exponential reduce)->2\nloop(broadcast divide)\n");
}

static void columns(void) {
  /* The gradient of a bias, and what it is summed from. */
  becomes(PRELUDE
          "ENTRY e { " MATRIX
          " z = f32[64,32] broadcast(zero), dimensions={} y = f32[64,32] maximum(x, z)"
          " s = f32[32] reduce(y, zero), dimensions={0}, to_apply=sum w = f32[32] parameter(1)"
          " u = f32[32] subtract(w, s) ROOT t = (f32[64,32], f32[32]) tuple(y, u) }",
          "columns(broadcast maximum reduce subtract)->2\n");
  /* Two sums over the same array, of the same dimensions. */
  becomes(PRELUDE
          "ENTRY e { x = f32[8,64,32] parameter(0) zero = f32[] constant(0) q = f32[8,64,32] "
          "multiply(x, x)"
          " s = f32[32] reduce(x, zero), dimensions={0,1}, to_apply=sum"
          " v = f32[32] reduce(q, zero), dimensions={0,1}, to_apply=sum ROOT t = (f32[32], "
          "f32[32]) tuple(s, v) }",
          "columns(multiply reduce reduce)->2\n");
}

static void functions_are_computed_once(void) {
  /* The rolled values would be computed a second time. */
  becomes(
      PRELUDE
      "ENTRY e { x = f32[4096] parameter(0) y = f32[4096] exponential(x) a = f32[1] slice(y), "
      "slice={[4095:4096]}"
      " b = f32[4095] slice(y), slice={[0:4095]} c = f32[4096] concatenate(a, b), dimensions={0}"
      " ROOT r = f32[4096] add(c, y) }",
      "exponential\nloop(slice slice concatenate add)\n");
  /* Each once: read from one place. */
  becomes(PRELUDE
          "ENTRY e { x = f32[4096] parameter(0) y = f32[4096] exponential(x) a = f32[1] slice(y), "
          "slice={[4095:4096]}"
          " b = f32[4095] slice(y), slice={[0:4095]} ROOT c = f32[4096] concatenate(a, b), "
          "dimensions={0} }",
          "loop(exponential slice slice concatenate)\n");
  /* Once a row of a broadcast, not once an element. */
  becomes(PRELUDE
          "ENTRY e { x = f32[64,32] parameter(0) g = f32[32] parameter(1) h = f32[32] tanh(g)"
          " b = f32[64,32] broadcast(h), dimensions={1} ROOT r = f32[64,32] add(x, b) }",
          "tanh\nloop(broadcast add)\n");
}

#define DOT "lhs_contracting_dims={1}, rhs_contracting_dims={0}"

static void results_on_the_way(void) {
  becomes(PRELUDE
          "ENTRY e { a = f32[16,16] parameter(0) b = f32[16,16] parameter(1) y = f32[16,16] "
          "exponential(a)"
          " d = f32[16,16] dot(y, b), " DOT
          " z = f32[16,16] negate(y)"
          " ROOT t = (f32[16,16], f32[16,16]) tuple(d, z) }",
          "loop(exponential negate)->2\ndot\n");
  /* In one they would need the product, which needs one of them. */
  becomes(PRELUDE
          "ENTRY e { a = f32[16,16] parameter(0) b = f32[16,16] parameter(1) y = f32[16,16] "
          "exponential(a)"
          " d = f32[16,16] dot(y, b), " DOT " ROOT z = f32[16,16] add(y, d) }",
          "exponential\ndot\nadd\n");
}

#define LINE "dynamic-update-slice"

static void updates(void) {
  /* A computed row is written into its place. */
  becomes(PRELUDE
          "ENTRY e { c = f32[100,8] parameter(0) x = f32[8] parameter(1) i = s32[] parameter(2) z "
          "= s32[] constant(0)"
          " y = f32[8] exponential(x) u = f32[1,8] reshape(y)"
          " w = f32[100,8] " LINE "(c, u, i, z) ROOT t = (f32[100,8], f32[8]) tuple(w, y) }",
          "loop(exponential reshape dynamic-update-slice)->2\n");
  /* What is read just where it is written may be there too. */
  becomes(
      PRELUDE
      "ENTRY e { c = f32[100,8] parameter(0) i = s32[] parameter(1) z = s32[] constant(0)"
      " s = f32[1,8] dynamic-slice(c, i, z), dynamic_slice_sizes={1,8} y = f32[1,8] exponential(s)"
      " ROOT w = f32[100,8] " LINE "(c, y, i, z) }",
      "loop(dynamic-slice exponential dynamic-update-slice)\n");
  /* Nothing else that reads what is written over. */
  becomes(
      PRELUDE
      "ENTRY e { c = f32[100,8] parameter(0) i = s32[] parameter(1) j = s32[] parameter(2) z = "
      "s32[] constant(0)"
      " s = f32[1,8] dynamic-slice(c, j, z), dynamic_slice_sizes={1,8} y = f32[1,8] exponential(s)"
      " ROOT w = f32[100,8] " LINE "(c, y, i, z) }",
      "dynamic-slice\nloop(exponential dynamic-update-slice)\n");
}

static void groups(void) {
  becomes(
      PRELUDE
      "ENTRY e { a = f32[8] parameter(0) b = f32[7,3] parameter(1) c = f32[] parameter(2) d = "
      "s32[] parameter(3)"
      " one = s32[] constant(1) p = f32[8] add(a, a) q = f32[7,3] multiply(b, b) r = f32[] sine(c)"
      " s = s32[] add(d, one) ROOT t = (f32[8], f32[7,3], f32[], s32[]) tuple(p, q, r, s) }",
      "loop*3(add multiply sine add)->4\n");
}

static void transposed_reads(void) {
  /* One array read across its rows is a tiled loop; of two, one is turned by itself. */
  becomes(PRELUDE
          "ENTRY e { a = f32[256,512] parameter(0) b = f32[512,256] parameter(1)"
          " t = f32[256,512] transpose(b), dimensions={1,0} ROOT r = f32[256,512] add(a, t) }",
          "loop(transpose add)\n");
  becomes(PRELUDE
          "ENTRY e { a = f32[512,256] parameter(0) b = f32[512,256] parameter(1)"
          " s = f32[256,512] transpose(a), dimensions={1,0} t = f32[256,512] transpose(b), "
          "dimensions={1,0}"
          " ROOT r = f32[256,512] add(s, t) }",
          "transpose\nloop(transpose add)\n");
  /* A broadcast of little is read nowhere. */
  becomes(PRELUDE
          "ENTRY e { a = f32[512,256] parameter(0) k = f32[256] parameter(1)"
          " b = f32[512,256] broadcast(k), dimensions={1} m = f32[512,256] multiply(a, b)"
          " ROOT t = f32[256,512] transpose(m), dimensions={1,0} }",
          "loop(broadcast multiply transpose)\n");
}

static void arg_max(void) {
  becomes(
      "HloModule t\n"
      "best { a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2) j = s32[] "
      "parameter(3)"
      " g = pred[] compare(a, b), direction=GE m = f32[] select(g, a, b) n = s32[] select(g, i, j)"
      " ROOT t = (f32[], s32[]) tuple(m, n) }\n"
      "ENTRY e { x = f32[64,32] parameter(0) y = f32[64,32] negate(x) i = s32[64,32] iota(), "
      "iota_dimension=1"
      " low = f32[] constant(-inf) zero = s32[] constant(0)"
      " r = (f32[64], s32[64]) reduce(y, i, low, zero), dimensions={1}, to_apply=best"
      " ROOT k = s32[64] get-tuple-element(r), index=1 }",
      "rows(negate iota reduce)\n");
}

static void loops_are_gone_into(void) {
  hlo_module_t *module = read_valid(
      "HloModule t\n"
      "body { p = (s32[], f32[8]) parameter(0) i = s32[] get-tuple-element(p), index=0"
      " x = f32[8] get-tuple-element(p), index=1 one = s32[] constant(1) j = s32[] add(i, one)"
      " y = f32[8] add(x, x) z = f32[8] exponential(y) ROOT t = (s32[], f32[8]) tuple(j, z) }\n"
      "cond { p = (s32[], f32[8]) parameter(0) i = s32[] get-tuple-element(p), index=0 n = s32[] "
      "constant(5)"
      " ROOT c = pred[] compare(i, n), direction=LT }\n"
      "ENTRY e { p = (s32[], f32[8]) parameter(0) ROOT w = (s32[], f32[8]) while(p), "
      "condition=cond, body=body }");
  hr_strbuf_t text;
  bool changed = false;
  hr_strbuf_init(&text);
  CHECK_OK(pass_fuse(module, &changed));
  CHECK_OK(hlo_verify(module));
  CU_ASSERT_TRUE(changed);
  print_steps(&text, module->entry->root->called[1]);
  CHECK_OK(hr_strbuf_finish(&text));
  CU_ASSERT_STRING_EQUAL(text.data, "loop*2(add add exponential)->2\n");
  hr_strbuf_deinit(&text);
  hlo_module_destroy(module);
}

CU_TestInfo suite_fuse[] = {{"chains", chains},
                            {"views_stay_outside", views_stay_outside},
                            {"softmax", softmax},
                            {"layer_norm", layer_norm},
                            {"long_rows", long_rows},
                            {"columns", columns},
                            {"functions_are_computed_once", functions_are_computed_once},
                            {"results_on_the_way", results_on_the_way},
                            {"updates", updates},
                            {"groups", groups},
                            {"turned_reads", transposed_reads},
                            {"arg_max", arg_max},
                            {"loops_are_gone_into", loops_are_gone_into},
                            CU_TEST_INFO_NULL};
