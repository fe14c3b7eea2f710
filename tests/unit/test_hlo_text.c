/* The reader of HLO text: what it takes, and what becomes of it. */
#include <stdlib.h>
#include <string.h>

#include "ir/print.h"
#include "ir/sharding.h"
#include "ops/rules/verify.h"
#include "tests/lib/faults.h"
#include "tests/lib/hlo_text_checks.h"
#include "tests/lib/read_text.h"
#include "tests/lib/unit.h"

static void accepts_shapes(void) {
  accept(IN_ENTRY("x = f32[2,3]{0,1:T(8,128)(2,1)S(1)} parameter(0)"));
  accept(IN_ENTRY("x = f32[<=10,?] parameter(0)"));
  accept(IN_ENTRY("x = b(f32[4]{0}) parameter(0)"));
  accept(IN_ENTRY("x = (f32[], (token[], s4[3]{0:E(4)}), opaque[]) parameter(0)"));
  accept(IN_ENTRY("x = f32[4] {0} parameter(0)"));
  accept(IN_ENTRY("x = f32[2, 2]{1, 0} parameter(0)"));
  accept(IN_ENTRY("x = f32[]{:S(2)} parameter(0)"));
  accept(IN_ENTRY("x = f32[4]{0:T(*,128)L(16)S(5)SC(0:1,2)M(8)} parameter(0)"));
  accept(IN_ENTRY("x = f32[4]dense{0} parameter(0)"));
  accept(IN_ENTRY("%x=f32[4] parameter(0)"));
  accept(IN_ENTRY("x = () parameter(0)"));
}

static void accepts_literals(void) {
  accept(IN_ENTRY("x = s32[2] constant({1 2})"));
  accept(IN_ENTRY("x = s32[2] constant({1,2,})"));
  accept(IN_ENTRY("x = s32[3] constant({1,...})"));
  accept(IN_ENTRY("x = f32[1000000000000] constant({...})"));
  accept(IN_ENTRY("x = pred[3] constant({1,0,true})"));
  accept(IN_ENTRY("x = f32[2] constant({nan(0x7), -nan})"));
  accept(IN_ENTRY("x = (s32[], f32[2]) constant((7, {1, 2}))"));
  accept(IN_ENTRY("x = f32[2,2] constant(f32[2,2] { {1,2}, {3,4} })"));
}

static void accepts_instructions(void) {
  accept(IN_ENTRY("x = f32[2] parameter(0)\ny = negate(x)"));
  accept(IN_ENTRY(
      "a = f32[4] parameter(0)\ny = f32[4] add(f32[4] negate(a), multiply(a, exponential(a)))"));
  accept(IN_ENTRY("y = f32[10] add(f32[10] parameter(0), f32[10] parameter(1))"));
  accept(IN_ENTRY(
      "x = f32[4] parameter(0) z = f32[] constant(0) ROOT r = f32[] reduce(x, z), dimensions={0}, "
      "to_apply={ a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a,b) }"));
  accept(IN_ENTRY("x = f32[] parameter(0), backend_config='x\"y'"));
  accept(IN_ENTRY("x = f32[] parameter(0), backend_config={\"a\":\"}\"}"));
  accept(IN_ENTRY("x = f32[] parameter(0), backend_config={\"a\":\n {\"b\":1}\n}"));
  accept(IN_ENTRY("x = f32[] parameter(0), metadata={op_type=\"t\", op_name=\"x\"}"));
  accept(
      "HloModule m, allow_spmd_sharding_propagation_to_output=true\nENTRY e { x = f32[] "
      "parameter(0) }");
  accept(
      "HloModule m, entry_computation_layout={(f32[7]{0})->s32[]}\nENTRY e (y: s32[3]) -> f32[] { "
      "x = f32[] "
      "parameter(0) }");
  accept("HloModule m\n" ADDER "ENTRY e { x = f32[] parameter(0) }");
  accept(
      "HloModule m\nc { ROOT a = f32[] parameter(0) }\nENTRY e { x = f32[] parameter(0)\n"
      "y = f32[] fusion(x), kind=kLoop, calls=c\nz = f32[] fusion(y), kind=kLoop, calls=c }");
  accept(
      "I0521 12:04:45.883483 1509 service.cc:186] HloModule m\nI0521 12:04:45.883483 1509 "
      "service.cc:186] ENTRY e {\n"
      "I0521 12:04:45.883483 1509 service.cc:186]   x = f32[] parameter(0)\nI0521 12:04:45.883483 "
      "1509 service.cc:186] "
      "}\n");
}

static void accepts_collectives(void) {
  static const char *const groups[] = {"{{0, 1}, {2}}",
                                       "mesh[\"x y\"=4,\"y\"=2] {\"y\"}",
                                       "[2,4]<=[8]",
                                       "[2,4]<=[4,2]T(1,0)",
                                       "mesh['a'=2,'b'=4] {'b':(2)2}",
                                       "mesh[a=2,b=4] {b}",
                                       "{}"};
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
    char text[512];
    snprintf(text, sizeof text,
             "HloModule m\n" ADDER
             "ENTRY e { x = f32[4] parameter(0)\n"
             "r = f32[4] all-reduce(x), replica_groups=%s, to_apply=add }",
             groups[i]);
    accept(text);
  }
  accept(IN_ENTRY(
      "x = f32[4] parameter(0)\ns = ((f32[4]), f32[4]) all-to-all-start(x), dimensions={0}\n"
      "u = ((f32[4]), f32[4]) all-to-all-update(s)\nd = f32[4] all-to-all-done(u)"));
  accept(IN_ENTRY(
      "x = f32[4] parameter(0)\ns = ((f32[4]), f32[4], u32[]) custom-call-start(x), "
      "custom_call_target=\"t\", async_execution_thread=\"th\"\nd = f32[4] custom-call-done(s)"));
}

static void accepts_forms(void) {
  accept("f32[4] add(f32[4] a, f32[4] b)");
  accept("ROOT x = f32[4] add(f32[4] a, f32[4] a)");
  accept("c { a = f32[4] parameter(0) ROOT b = f32[4] negate(a) }");
  accept("ENTRY c { a = f32[4] parameter(0) }");
  accept("%c (p: f32[4]) -> f32[4] { %p = f32[4] parameter(0) }");
  accept("HloModule m\n// comment\nENTRY e { /* one */ x = f32[] parameter(0) }");
}

static void accepts_depth(void) {
  enum { DEPTH = 1000 };
  char *text = malloc(DEPTH * 10 + 100);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  char *to = text + sprintf(text, "HloModule m ENTRY e { x = f32[] parameter(0) y = f32[] ");
  for (int i = 0; i < DEPTH; i++) to += sprintf(to, "negate(");
  *to++ = 'x';
  for (int i = 0; i < DEPTH; i++) *to++ = ')';
  sprintf(to, " }");
  accept(text);
  free(text);
}

static hr_status_t take_piece(void *context, const hr_strbuf_t *piece) {
  hr_strbuf_t *all = context;
  if (!piece->size) return NULL;
  if (all->size && piece->size > (2 << 20)) return hr_error(HR_INTERNAL, "a long piece");
  hr_strbuf_add(all, piece->data, piece->size);
  return NULL;
}

static hr_status_t refuse_piece(void *context, const hr_strbuf_t *piece) {
  *(int *)context += 1;
  return hr_error(HR_UNAVAILABLE, "%zu bytes do not fit", piece->size);
}

/* The pieces of a text are the text, of a constant of several pieces, too. A failure to write ends
 * the pieces. */
static void prints_pieces(void) {
  hlo_module_t *module = NULL;
  hr_strbuf_t whole, all;
  int calls = 0;
  hr_text_sink_t sink = {take_piece, &all, NULL}, closed = {refuse_piece, &calls, NULL};
  const char *numbers =
      "ENTRY e { c = f32[1000,300] constant({...}) ROOT n = f32[1000,300] sine(c) }";
  CHECK_OK(read_text(numbers, &module));
  if (!module) return;
  hlo_instr_t *constant = module->entry->instrs.data[0];
  CHECK_OK(hlo_value_array(HR_F32, 2, constant->shape->dims, &constant->literal));
  CHECK_OK(hlo_module_adopt_value(module, constant->literal));
  for (int i = 0; i < 300000; i++) ((float *)constant->literal->data)[i] = 0.1f * (float)i;
  hr_strbuf_init(&whole);
  hr_strbuf_init(&all);
  hlo_print_module(&whole, module, HLO_PRINT_LONG);
  CHECK_OK(hlo_print_module_to(&sink, module, HLO_PRINT_LONG));
  CU_ASSERT(whole.size > (2 << 20) && whole.size == all.size);
  CU_ASSERT(whole.size == all.size && !memcmp(whole.data, all.data, whole.size));
  hr_status_t st = hlo_print_module_to(&closed, module, HLO_PRINT_LONG);
  CU_ASSERT(st != NULL && calls == 1);
  hr_status_release(st);
  hr_strbuf_deinit(&whole);
  hr_strbuf_deinit(&all);
  hlo_module_destroy(module);
}

/* Old spellings read as what they mean today. */
static void expect_entry(const char *text, const char *line) {
  hlo_module_t *module = NULL;
  hr_strbuf_t out;
  hr_strbuf_init(&out);
  CHECK_OK(read_text(text, &module));
  if (!module) return;
  hlo_print_module(&out, module, HLO_PRINT_LONG);
  if (!strstr(out.data, line)) {
    fprintf(stderr, "wanted '%s' in:\n%s\n", line, out.data);
    CU_FAIL("line not found");
  }
  hr_strbuf_deinit(&out);
  hlo_module_destroy(module);
}

/* Operations of earlier versions become those of today. */
static void reads_old_spellings(void) {
  expect_entry("HloModule m\n" ADDER
               "ENTRY e { x = f32[4] parameter(0)\n"
               "y = f32[4] cross-replica-sum(x), replica_group_ids={0,0,1,1}, barrier=\"\", "
               "all_reduce_id=3, to_apply=add }",
               "all-reduce(%x), channel_id=3, replica_groups={{0,1},{2,3}}, to_apply=%add");
  expect_entry(IN_ENTRY("x = f32[4] parameter(0)\ny = pred[4] greater-than-or-equal-to(x, x)"),
               "%y = pred[4]{0} compare(%x, %x), direction=GE");
  expect_entry(IN_ENTRY("y = token[] generate-token()"), "%y = token[] after-all()");
  expect_entry(IN_ENTRY("x = f32[4] parameter(0)\ny = f32[4] sort(x), dimensions={0}"),
               "sort(%x), dimensions={0}, to_apply=%compare-less-than");
  expect_entry(IN_ENTRY("x = f32[4] parameter(0)\ny = f32[4] custom-call(x), "
                        "custom_call_target=\"t\", opaque=\"o\""),
               "custom_call_target=\"t\", backend_config=\"o\"");
  expect_entry(
      IN_ENTRY(
          "x = f32[4,3] parameter(0)\ni = s32[2] parameter(1)\ny = f32[1,3] dynamic-slice(x, i), "
          "dynamic_slice_sizes={1,3}"),
      "dynamic-slice(%x, %reshape.anon, %reshape.anon.1), dynamic_slice_sizes={1,3}");
  expect_entry(IN_ENTRY("p = pred[] parameter(0)\na = (f32[], s32[]) parameter(1)\nb = (f32[], "
                        "s32[]) parameter(2)\n"
                        "y = (f32[], s32[]) tuple-select(p, a, b)"),
               "%y = (f32[], s32[]) tuple(%select.anon, %select.anon.1)");
  expect_entry(
      IN_ENTRY("x = f32[8,8] parameter(0)\ni = s32[2] parameter(1)\ny = f32[2,8] gather(x, i), "
               "output_window_dims={1}, elided_window_dims={0}, gather_dims_to_operand_dims={0}, "
               "index_vector_dim=1, window_bounds={1,8}"),
      "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
      "slice_sizes={1,8}");
}

static void reads_old_attributes(void) {
  expect_entry(IN_ENTRY("x = f32[8] parameter(0), sharding={f32[4] devices=[2]0,1}"),
               "sharding={devices=[2]0,1}");
  expect_entry(IN_ENTRY("x = f32[8] parameter(0), sharding={mesh[a=2], [{a}]}"),
               "sharding={mesh['a'=2], [{'a'}]}");
  expect_entry(
      "HloModule m, dynamic_parameter_binding={ {0}: 1 }\nENTRY e { x = f32[8] parameter(0), "
      "async_group_id=3 }",
      "ENTRY %e");
  expect_entry(IN_ENTRY("x = f32[2] parameter(0)\ny = (f32[2], f32[2], u32[]) copy-start(x), "
                        "is_cross_program_prefetch=true"),
               "copy-start(%x), cross_program_prefetch_index=0");
}

/* The three spellings of replica groups mean the same lists. */
static void check_groups(const char *groups, const int64_t *want, int64_t count, int64_t size) {
  char text[512];
  hlo_module_t *module = NULL;
  snprintf(text, sizeof text,
           "HloModule m\n" ADDER
           "ENTRY e { x = f32[4] parameter(0)\n"
           "r = f32[4] all-reduce(x), replica_groups=%s, to_apply=add }",
           groups);
  CHECK_OK(read_text(text, &module));
  if (!module) return;
  const hlo_groups_t *found = hlo_attr_groups(module->entry->root);
  CU_ASSERT_EQUAL_FATAL(found->groups.count, count);
  for (int64_t g = 0; g < count; g++) {
    CU_ASSERT_EQUAL_FATAL(found->groups.lists[g].count, size);
    for (int64_t k = 0; k < size; k++)
      CU_ASSERT_EQUAL(found->groups.lists[g].data[k], want[g * size + k]);
  }
  hlo_module_destroy(module);
}

static void expands_groups(void) {
  check_groups("[2,4]<=[4,2]T(1,0)", (int64_t[]){0, 2, 4, 6, 1, 3, 5, 7}, 2, 4);
  check_groups("[2,4]<=[8]", (int64_t[]){0, 1, 2, 3, 4, 5, 6, 7}, 2, 4);
  check_groups("mesh['a'=2,'b'=4] {'b'}", (int64_t[]){0, 1, 2, 3, 4, 5, 6, 7}, 2, 4);
  check_groups("mesh['a'=2,'b'=4] {'a'}", (int64_t[]){0, 4, 1, 5, 2, 6, 3, 7}, 4, 2);
  check_groups("mesh['a'=2,'b'=4] {'b':(2)2}", (int64_t[]){0, 1, 2, 3, 4, 5, 6, 7}, 4, 2);
  check_groups("mesh['a'=4,'b'=2] {'b','a':(1)2}", (int64_t[]){0, 4, 1, 5, 2, 6, 3, 7}, 2, 4);
  check_groups("mesh['a'=2,'b'=2], device_ids=(0,2,1,3) {'b'}", (int64_t[]){0, 2, 1, 3}, 2, 2);
  check_groups("mesh['a'=2,'b'=4], device_ids=([4,2]T(1,0)) {'b'}",
               (int64_t[]){0, 2, 4, 6, 1, 3, 5, 7}, 2, 4);
}

static void keeps_structure(void) {
  static const char text[] =
      "HloModule m\nENTRY e {\n  p = f32[8,4] parameter(0), sharding={devices=[2,1,2]<=[2,2]T(1,0) "
      "last_tile_dim_replicate}\n"
      "  w = f32[] constant(0)\n  ROOT t = (f32[8,4], f32[]) tuple(p, w), sharding={replicated}, "
      "control-predecessors={p}\n}\n";
  hlo_module_t *module = NULL;
  CHECK_OK(read_text(text, &module));
  const hlo_sharding_t *s = module->entry->params.data[0]->extra->sharding;
  int64_t devices[4];
  hlo_iota_fill(&s->iota, devices);
  CU_ASSERT_EQUAL(s->kind, HLO_TILE_KIND_OTHER);
  CU_ASSERT_EQUAL(s->tile_dims.count, 3);
  CU_ASSERT(s->replicate_last_dim);
  CU_ASSERT_EQUAL(devices[1], 2);
  const hlo_instr_t *root = module->entry->root;
  CU_ASSERT_EQUAL(root->extra->sharding->kind, HLO_TILE_KIND_TUPLE);
  CU_ASSERT_EQUAL(root->extra->sharding->element_count, 2);
  CU_ASSERT_EQUAL(root->extra->control_count, 1);
  CU_ASSERT_EQUAL(root->line, 5);
  CU_ASSERT_EQUAL(root->column, 8);
  hlo_module_destroy(module);
}

/* Computations inside others stand before them, as all that are called. */
static void orders_computations(void) {
  hlo_module_t *module = NULL;
  CHECK_OK(read_text(
      IN_ENTRY(
          "x = f32[4] parameter(0)\nz = f32[] constant(0)\nr = f32[] reduce(x, z), dimensions={0}, "
          "to_apply={ a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a,b) }\n"
          "s = ((f32[4]), f32[4]) negate-start(x)\nROOT d = f32[4] negate-done(s)"),
      &module));
  CU_ASSERT_EQUAL(module->computations.count, 3);
  CU_ASSERT(hr_str_is(module->computations.data[0]->name, "_"));
  CU_ASSERT(module->computations.data[1]->is_async_wrapper);
  CU_ASSERT_PTR_EQUAL(module->computations.data[2], module->entry);
  for (size_t i = 0; i < 3; i++) CU_ASSERT_EQUAL(module->computations.data[i]->id, i);
  CU_ASSERT(module->entry->root->async_sugar);
  hlo_module_destroy(module);
}

static hr_status_t attempt_text(size_t n, void *text) {
  hlo_module_t *module = NULL;
  faults_begin(n);
  hr_status_t st = read_text(text, &module);
  faults_end();
  hlo_module_destroy(module);
  return st;
}

static void survives_failures(void) {
  static const char text[] =
      "HloModule m, input_output_alias={ {}: (0, {}) }\n" ADDER
      "ENTRY e { x = f32[4]{0:T(4)} parameter(0), sharding={devices=[2]0,1}, origin={({\"a\"}, "
      "{\"b\" {0}})}\n"
      "k = (f32[2], s32[]) constant(({1, 2}, 3))\nc = f32[4] custom-call(x), "
      "custom_call_target=\"\\x41\", "
      "literal=s32[2]{0} {1, 2}\n"
      "s = ((f32[4]), f32[4]) all-reduce(x, negate(x)), replica_groups=[1,2]<=[2], to_apply=add }";
  CU_ASSERT(faults_try(attempt_text, (void *)text) > 1);
}

CU_TestInfo suite_hlo_text[] = {
    {"accepts shapes", accepts_shapes},
    {"accepts literals", accepts_literals},
    {"accepts instructions", accepts_instructions},
    {"accepts collectives", accepts_collectives},
    {"accepts other forms of file", accepts_forms},
    {"accepts 1000 nested operands", accepts_depth},
    {"reads old spellings", reads_old_spellings},
    {"reads old attributes", reads_old_attributes},
    {"expands replica groups", expands_groups},
    {"keeps structure", keeps_structure},
    {"orders computations", orders_computations},
    {"prints pieces", prints_pieces},
    {"survives failing allocations", survives_failures},
    CU_TEST_INFO_NULL,
};
