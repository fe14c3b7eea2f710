/* Sharding rules: printed, and those that programs give parsed. */
#include <string.h>

#include "partition/rule.h"
#include "read/read.h"
#include "tests/lib/unit.h"

/* The rule of the instruction `name` in the entry of the text. */
static void check_rule(const char *text, const char *name, const char *expected) {
  hlo_module_t *module;
  hr_buffer_t *bytes;
  hr_strbuf_t printed;
  const spmd_rule_t *rule = NULL;
  hr_strbuf_init(&printed);
  CHECK_OK(hr_buffer_create(strlen(text), &bytes));
  memcpy(hr_buffer_data(bytes), text, strlen(text));
  CHECK_OK(read_module("rule.hlo", bytes, &module));
  for (size_t i = 0; i < module->entry->instrs.count; i++)
    if (hr_str_is(module->entry->instrs.data[i]->name, name))
      CHECK_OK(spmd_rule_create(&module->arena, module->entry->instrs.data[i], &rule));
  if (rule) spmd_rule_print(&printed, rule);
  CU_ASSERT_STRING_EQUAL(rule ? printed.data : "none", expected);
  hr_strbuf_deinit(&printed);
  hlo_module_destroy(module);
  hr_buffer_release(bytes);
}

#define PROGRAM(lines) "HloModule m\nENTRY main {\n" lines "}\n"

static void test_contractions(void) {
  check_rule(PROGRAM("x = f32[2,16,2,4] parameter(0)\ny = f32[2,16,2,4] parameter(1)\n"
                     "ROOT d = f32[2,2,16,16] dot(x, y), lhs_batch_dims={0,2}, "
                     "lhs_contracting_dims={3}, rhs_batch_dims={0,2}, rhs_contracting_dims={3}\n"),
             "d",
             "([i, k, j, m], [i, l, j, m])->([i, j, k, l]) {i=2, j=2, k=16, l=16, m=4} "
             "reduction={m}");
  check_rule(PROGRAM("x = f32[4,6,6,4] parameter(0)\nw = f32[2,2,4,6] parameter(1)\n"
                     "ROOT c = f32[4,3,3,6] convolution(x, w), window={size=2x2 stride=2x2 "
                     "pad=0_1x0_1}, dim_labels=b01f_01io->b01f\n"),
             "c",
             "([i, jk, lm, n], [k, m, n, o])->([i, j, l, o]) {i=4, j=3, k=2, l=3, m=2, n=4, o=6} "
             "reduction={k, m, n} permutation={j, l}");
}

static void test_reshapes(void) {
  check_rule(PROGRAM("x = f32[16,3] parameter(0)\nROOT r = f32[4,4,3] reshape(x)\n"), "r",
             "([ij, k])->([i, j, k]) {i=4, j=4, k=3}");
  check_rule(PROGRAM("x = f32[2,3] parameter(0)\nROOT r = f32[3,2] reshape(x)\n"), "r",
             "([i, k])->([j, l]) {i=2, j=3, k=3, l=2}");
  check_rule(PROGRAM("x = f32[1,16] parameter(0)\nROOT r = f32[16,1] reshape(x)\n"), "r",
             "([i, j])->([j, k]) {i=1, j=16, k=1}");
  check_rule(PROGRAM("x = f32[0,3] parameter(0)\nROOT r = f32[3,0] reshape(x)\n"), "r", "none");
}

static void test_indices(void) {
  check_rule(PROGRAM("x = f32[16,4] parameter(0)\ni = s32[8,1] parameter(1)\n"
                     "ROOT g = f32[8,4] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, "
                     "start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}\n"),
             "g",
             "([k, j], [i, l])->([i, j]) {i=8, j=4, k=16, l=1} reduction={k} "
             "need_replication={l}");
  check_rule(PROGRAM("x = f32[16,5] parameter(0)\ni = s32[] parameter(1)\n"
                     "ROOT s = f32[3,5] dynamic-slice(x, i, i), dynamic_slice_sizes={3,5}\n"),
             "s",
             "([i, j], [], [])->([i, j]) {i=16, j=5} need_replication={i} "
             "blocked_propagation={i}");
}

static void test_given_rules(void) {
  check_rule(PROGRAM("x = f32[8,4,4] parameter(0)\n"
                     "ROOT c = (f32[8,4,4], s32[8]) custom-call(x), custom_call_target=\"f\", "
                     "frontend_attributes={xla.sdy.sharding_rule=\"#sdy.op_sharding_rule<([i, j, "
                     "k])->([i, l, m], [i]) {i=8, j=4, k=4, l=4, m=4}, custom>\"}\n"),
             "c", "([i, j, k])->([i, l, m], [i]) {i=8, j=4, k=4, l=4, m=4}, custom");
  check_rule(PROGRAM("x = f32[8] parameter(0)\n"
                     "ROOT c = f32[8] custom-call(x), custom_call_target=\"unknown\"\n"),
             "c", "none");
}

/* A rule that does not fit its instruction is refused with what is wrong. */
static void check_refused(const char *rule) {
  char text[512];
  hlo_module_t *module;
  hr_buffer_t *bytes;
  const spmd_rule_t *made;
  snprintf(text, sizeof text,
           PROGRAM("x = f32[8] parameter(0)\nROOT c = f32[8] custom-call(x), "
                   "custom_call_target=\"f\", frontend_attributes={xla.sdy.sharding_rule=\"%s\"}"
                   "\n"),
           rule);
  CHECK_OK(hr_buffer_create(strlen(text), &bytes));
  memcpy(hr_buffer_data(bytes), text, strlen(text));
  CHECK_OK(read_module("rule.hlo", bytes, &module));
  CHECK_FAILS(HR_INVALID, spmd_rule_create(&module->arena, module->entry->root, &made));
  hlo_module_destroy(module);
  hr_buffer_release(bytes);
}

static void test_bad_rules(void) {
  check_refused("#sdy.op_sharding_rule<([i, j])->([i]) {i=8, j=1}>");
  check_refused("#sdy.op_sharding_rule<([i])->([i]) {i=4}>");
  check_refused("#sdy.op_sharding_rule<([i])->([i]) {i=8, k=2}>");
  check_refused("#sdy.op_sharding_rule<([i])->([i]) {i=8} reduction={j}>");
  check_refused("([i])->");
  check_refused("([z_99999999])->([i])");
}

CU_TestInfo suite_sharding_rules[] = {{"contractions", test_contractions},
                                      {"reshapes split dimensions from the left", test_reshapes},
                                      {"gathers and dynamic slices", test_indices},
                                      {"rules of the program", test_given_rules},
                                      {"rules that do not fit are refused", test_bad_rules},
                                      CU_TEST_INFO_NULL};
