/* Global programs before they are partitioned: common meshes against the coordinates of every
 * device, the normal form, and shardings that propagation finds. */
#include <string.h>

#include "partition/annotations/normalize.h"
#include "partition/annotations/meshes.h"
#include "partition/annotations/outline_manual.h"
#include "partition/lower/program_cost.h"
#include "tests/lib/read_text.h"
#include "tests/lib/unit.h"

/* --- meshes --- */

/* Coordinate along axis a of the device as the source counts: -1 if it does not have it. */
static int64_t coordinate(const spmd_mesh_source_t *source, int a, int64_t device) {
  int64_t stride = 1, position = 0;
  for (int k = a + 1; k < source->axis_count; k++) stride *= source->axis_sizes[k];
  while (position < source->device_count &&
         (source->device_ids ? source->device_ids[position] : position) != device)
    position++;
  return position < source->device_count ? position / stride % source->axis_sizes[a] : -1;
}

static void check_source(const spmd_meshes_t *meshes, const spmd_mesh_source_t *source) {
  spmd_axes_t used = {0};
  for (int a = 0; a < source->axis_count; a++) {
    spmd_axes_t image;
    CHECK_OK(spmd_meshes_image(meshes, source, a, 1, source->axis_sizes[a], &image));
    CU_ASSERT_EQUAL(spmd_axes_parts(image), source->axis_sizes[a]);
    CU_ASSERT_FALSE(spmd_axes_overlap(image, used));
    CHECK_OK(spmd_axes_concat(meshes->arena, used, image, &used));
    const spmd_mesh_t *mesh = source->is_foreign ? source->placement : meshes->mesh;
    for (int64_t d = 0; d < source->device_count; d++)
      CU_ASSERT_EQUAL(spmd_axes_coordinate(mesh, image, spmd_mesh_position(mesh, d)),
                      coordinate(source, a, d));
  }
}

/* The meshes of a text; returns how many of them are foreign. */
static int check_meshes(const char *text, int axis_count) {
  hr_arena_t arena;
  hr_source_t source = {.path = "meshes", .text = text, .size_bytes = strlen(text)};
  int foreign = 0;
  hr_arena_init(&arena);
  spmd_meshes_t meshes = {.arena = &arena};
  CHECK_OK(spmd_meshes_read(&meshes, hr_str_from(text), &source));
  CHECK_OK(spmd_meshes_join(&meshes, 0, false));
  CU_ASSERT_EQUAL(meshes.mesh->axis_count, axis_count);
  for (size_t i = 0; i < meshes.sources.count; i++) {
    check_source(&meshes, &meshes.sources.data[i]);
    foreign += meshes.sources.data[i].is_foreign;
  }
  spmd_meshes_deinit(&meshes);
  hr_arena_deinit(&arena);
  return foreign;
}

static void test_meshes(void) {
  CU_ASSERT_EQUAL(check_meshes("{a = #sdy.mesh<[\"x\"=4, \"one\"=1, \"y\"=2]>}", 2), 0);
  CU_ASSERT_EQUAL(check_meshes("{a = #sdy.mesh<[\"x\"=8]>, b = #sdy.mesh<[\"y\"=4, \"z\"=2]>}", 2),
                  0);
  CU_ASSERT_EQUAL(
      check_meshes("{a = #sdy.mesh<[\"x\"=4, \"y\"=2]>, b = #sdy.mesh<[\"x\"=2, \"y\"=4]>}", 3), 0);
  CU_ASSERT_EQUAL(
      check_meshes("{a = #sdy.mesh<[\"x\"=2, \"y\"=3]>, b = #sdy.mesh<[\"p\"=3, \"q\"=2]>}", 2), 1);
}

/* Two meshes in one order that is no regular one are regular to each other; a third is not. */
static void test_device_lists(void) {
  CU_ASSERT_EQUAL(check_meshes("{a = #sdy.mesh<[\"x\"=8], device_ids=[3,1,0,2,7,5,6,4]>, "
                               "b = #sdy.mesh<[\"y\"=4, \"z\"=2], device_ids=[3,1,0,2,7,5,6,4]>}",
                               2),
                  0);
  CU_ASSERT_EQUAL(check_meshes("{a = #sdy.mesh<[\"x\"=8], device_ids=[3,1,0,2,7,5,6,4]>, "
                               "b = #sdy.mesh<[\"y\"=4, \"z\"=2], device_ids=[3,1,0,2,7,5,6,4]>, "
                               "c = #sdy.mesh<[\"u\"=2, \"v\"=4], device_ids=[0,2,1,3,5,4,6,7]>}",
                               2),
                  1);
}

/* --- programs --- */

static int count_op(const hlo_module_t *module, hlo_opcode_t op) {
  int count = 0;
  for (size_t c = 0; c < module->computations.count; c++)
    for (size_t i = 0; i < module->computations.data[c]->instrs.count; i++)
      count += module->computations.data[c]->instrs.data[i]->op == op;
  return count;
}

/* Each use of a constant array has its own; calls are inlined; results are marked. */
static void test_normal_form(void) {
  hlo_module_t *module = read_valid(
      "HloModule m\n"
      "f { x = f32[4] parameter(0)\n ROOT y = f32[4] tanh(x)\n }\n"
      "ENTRY main {\n"
      "x = f32[4] parameter(0)\n"
      "c = f32[4] constant({1,2,3,4})\n"
      "a = f32[4] add(x, c)\n"
      "b = f32[4] multiply(a, c)\n"
      "d = f32[4] call(b), to_apply=f\n"
      "ROOT e = f32[4] call(d), to_apply=f\n"
      "}\n");
  CHECK_OK(spmd_normalize(module));
  CU_ASSERT_EQUAL(count_op(module, HLO_CONSTANT), 2);
  CU_ASSERT_EQUAL(count_op(module, HLO_CALL), 0);
  CU_ASSERT_EQUAL(spmd_marker_of(module->entry->root), SPMD_RESULT);
  hlo_module_destroy(module);
}

/* What is between GSPMD's markers becomes one call, constants that it alone uses included. */
static void test_outlining(void) {
  hlo_module_t *module = read_valid(
      "HloModule m\n"
      "ENTRY main {\n"
      "x = f32[8] parameter(0)\n"
      "s = f32[8] custom-call(x), custom_call_target=\"Sharding\", sharding={devices=[4]<=[4]}\n"
      "l = f32[2] custom-call(s), custom_call_target=\"SPMDFullToShardShape\", sharding={manual}\n"
      "c = f32[2] constant({1,2})\n"
      "a = f32[2] add(l, c)\n"
      "g = f32[8] custom-call(a), custom_call_target=\"SPMDShardToFullShape\", "
      "sharding={devices=[4]<=[4]}\n"
      "h = f32[8] tanh(g)\n"
      "m = f32[2] custom-call(h), custom_call_target=\"SPMDFullToShardShape\", sharding={manual}\n"
      "n = f32[2] negate(m)\n"
      "ROOT r = f32[8] custom-call(n), custom_call_target=\"SPMDShardToFullShape\", "
      "sharding={devices=[4]<=[4]}\n"
      "}\n");
  CHECK_OK(spmd_outline_manual(module));
  CU_ASSERT_EQUAL(count_op(module, HLO_CALL), 2);
  CU_ASSERT_EQUAL(module->computations.count, 3);
  for (size_t i = 0; i < module->entry->instrs.count; i++) {
    const hlo_instr_t *instr = module->entry->instrs.data[i];
    CU_ASSERT_NOT_EQUAL(instr->op, HLO_ADD);
    CU_ASSERT_NOT_EQUAL(instr->op, HLO_CONSTANT);
    CU_ASSERT_TRUE(spmd_marker_of(instr) < SPMD_FULL_TO_SHARD);
  }
  hlo_module_destroy(module);
}

/* --- propagation --- */

/* What propagation says of instruction `name` of the entry. */
static void check_propagated(const char *text, const char *name, const char *expected) {
  hlo_module_t *module = read_valid(text);
  spmd_options_t options = {.device_count = 0};
  spmd_program_t program;
  hr_strbuf_t printed;
  hr_strbuf_init(&printed);
  CHECK_OK(spmd_read_annotations(module, &options, &program));
  CHECK_OK(spmd_propagate(&program));
  for (size_t i = 0; i < module->entry->instrs.count; i++) {
    const hlo_instr_t *instr = module->entry->instrs.data[i];
    if (!hr_str_is(instr->name, name)) continue;
    const spmd_value_t *value = &program.computations[module->entry->id].values[i][0];
    if (value->sharding) spmd_sharding_print(&printed, value->sharding);
  }
  CHECK_OK(hr_strbuf_finish(&printed));
  CU_ASSERT_STRING_EQUAL(printed.data ? printed.data : "nothing", expected);
  hr_strbuf_deinit(&printed);
  hlo_module_destroy(module);
}

#define MODULE                                                                    \
  "HloModule m, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<[\"d\"=4, " \
  "\"m\"=2]>}}\n"
#define HEAD MODULE "ENTRY main {\n"
#define CUT(text) "frontend_attributes={xla.sdy.sharding=\"#sdy.sharding<@mesh, " text ">\"}\n"

static void test_propagation(void) {
  static const char dot[] =
      HEAD "x = f32[8,6] parameter(0), " CUT("[{\\\"d\\\"}, {}]")
      "w = f32[6,4] parameter(1), " CUT("[{}, {\\\"m\\\"}]")
      "y = f32[8,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "t = f32[4,8] transpose(y), dimensions={1,0}\n"
      "ROOT r = f32[4,8] tanh(t)\n}\n";
  check_propagated(dot, "y", "<@mesh, [{\"d\"}, {\"m\"}]>");
  check_propagated(dot, "t", "<@mesh, [{\"m\"}, {\"d\"}]>");
  static const char back[] = HEAD
      "x = f32[8,6] parameter(0)\n"
      "y = f32[8,6] tanh(x)\n"
      "ROOT c = f32[8,6] custom-call(y), custom_call_target=\"Sharding\", " CUT(
          "[{\\\"m\\\"}, {}]") "}\n";
  check_propagated(back, "y", "<@mesh, [{\"m\"}, {}]>");
  check_propagated(back, "x", "<@mesh, [{\"m\"}, {}]>");
}

/* Other users of what a loop carries use the constraint on it instead, so that the constraint is
 * the only user and its sharding goes back to the loop, as in Shardy. */
static void test_loop_constraints(void) {
  static const char loop[] = MODULE
      "body {\n"
      "p = (f32[8,6], s32[]) parameter(0)\n"
      "x = f32[8,6] get-tuple-element(p), index=0\n"
      "i = s32[] get-tuple-element(p), index=1\n"
      "c = f32[8,6] custom-call(x), custom_call_target=\"Sharding\", " CUT("[{\\\"d\\\"}, {}]")
      "n = f32[8,6] negate(x)\n"
      "s = f32[8,6] add(c, n)\n"
      "m = f32[8,6] custom-call(s), custom_call_target=\"Sharding\", " CUT("[{\\\"m\\\"}, {}]")
      "one = s32[] constant(1)\n"
      "j = s32[] add(i, one)\n"
      "ROOT t = (f32[8,6], s32[]) tuple(m, j)\n}\n"
      "more {\n"
      "p = (f32[8,6], s32[]) parameter(0)\n"
      "i = s32[] get-tuple-element(p), index=1\n"
      "last = s32[] constant(3)\n"
      "ROOT r = pred[] compare(i, last), direction=LT\n}\n"
      "ENTRY main {\n"
      "x = f32[8,6] parameter(0), " CUT("[{\\\"m\\\"}, {}]")
      "zero = s32[] constant(0)\n"
      "init = (f32[8,6], s32[]) tuple(x, zero)\n"
      "loop = (f32[8,6], s32[]) while(init), condition=more, body=body\n"
      "ROOT r = f32[8,6] get-tuple-element(loop), index=0\n}\n";
  check_propagated(loop, "loop", "<@mesh, [{\"d\"}, {}]>");
}

/* Who uses a value after a chain of constraints takes the chain's end; who does before it, not. */
static void test_constraint_chains(void) {
  static const char chain[] = HEAD
      "p = f32[8,6] parameter(0)\n"
      "x = f32[8,6] tanh(p)\n"
      "early = f32[8,6] negate(x)\n"
      "y = f32[8,6] custom-call(x), custom_call_target=\"Sharding\", " CUT("[{\\\"d\\\"}, {}]")
      "z = f32[8,6] custom-call(y), custom_call_target=\"Sharding\", " CUT("[{\\\"m\\\"}, {}]")
      "late = f32[8,6] abs(x)\n"
      "ROOT t = (f32[8,6], f32[8,6]) tuple(early, late)\n}\n";
  check_propagated(chain, "early", "<@mesh, [{\"d\"}, {}]>");
  check_propagated(chain, "late", "<@mesh, [{\"m\"}, {}]>");
}

/* --- costs --- */

/* Time of two nested loops; `last` is the bound of the inner one as its condition reads it. */
static double nest_us(const char *last) {
  char text[2048];
  spmd_report_notes_t notes = {{0}, {0}};
  hr_arena_t arena;
  double us = 0;
  snprintf(text, sizeof text,
           "HloModule nest\n"
           "body {\n"
           "p = (f32[64,64], s32[], s32[]) parameter(0)\n"
           "x = f32[64,64] get-tuple-element(p), index=0\n"
           "i = s32[] get-tuple-element(p), index=1\n"
           "n = s32[] get-tuple-element(p), index=2\n"
           "one = s32[] constant(1)\n"
           "y = f32[64,64] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
           "j = s32[] add(i, one)\n"
           "ROOT t = (f32[64,64], s32[], s32[]) tuple(y, j, n)\n}\n"
           "more {\n"
           "p = (f32[64,64], s32[], s32[]) parameter(0)\n"
           "i = s32[] get-tuple-element(p), index=1\n"
           "last = s32[] %s\n"
           "ROOT r = pred[] compare(i, last), direction=LT\n}\n"
           "outer_body {\n"
           "p = (f32[64,64], s32[], s32[]) parameter(0)\n"
           "x = f32[64,64] get-tuple-element(p), index=0\n"
           "i = s32[] get-tuple-element(p), index=1\n"
           "n = s32[] get-tuple-element(p), index=2\n"
           "zero = s32[] constant(0)\n"
           "one = s32[] constant(1)\n"
           "init = (f32[64,64], s32[], s32[]) tuple(x, zero, n)\n"
           "w = (f32[64,64], s32[], s32[]) while(init), condition=more, body=body\n"
           "y = f32[64,64] get-tuple-element(w), index=0\n"
           "j = s32[] add(i, one)\n"
           "ROOT t = (f32[64,64], s32[], s32[]) tuple(y, j, n)\n}\n"
           "outer_more {\n"
           "p = (f32[64,64], s32[], s32[]) parameter(0)\n"
           "i = s32[] get-tuple-element(p), index=1\n"
           "last = s32[] constant(5)\n"
           "ROOT r = pred[] compare(i, last), direction=LT\n}\n"
           "ENTRY main {\n"
           "x = f32[64,64] parameter(0)\n"
           "zero = s32[] constant(0)\n"
           "n = s32[] constant(300)\n"
           "init = (f32[64,64], s32[], s32[]) tuple(x, zero, n)\n"
           "w = (f32[64,64], s32[], s32[]) while(init), condition=outer_more, body=outer_body\n"
           "ROOT r = f32[64,64] get-tuple-element(w), index=0\n}\n",
           last);
  hlo_module_t *module = read_valid(text);
  if (!module) return 0;
  hr_arena_init(&arena);
  CHECK_OK(spmd_program_us(&arena, module->entry, &notes, &us));
  hr_arena_deinit(&arena);
  hlo_module_destroy(module);
  return us;
}

/* A bound that comes from outside of both loops counts as one that the condition names. */
static void test_captured_bounds(void) {
  double named = nest_us("constant(300)"), captured = nest_us("get-tuple-element(p), index=2");
  CU_ASSERT(named > 0);
  CU_ASSERT_DOUBLE_EQUAL(captured, named, named * 0.01);
}

CU_TestInfo suite_spmd_programs[] = {
    {"axes of all meshes are axes of the common one", test_meshes},
    {"devices may be listed in any order", test_device_lists},
    {"calls and constants have one use each", test_normal_form},
    {"manual parts become calls", test_outlining},
    {"shardings go forward and back", test_propagation},
    {"constraints reach loops", test_loop_constraints},
    {"chains of constraints have an end", test_constraint_chains},
    {"bounds of inner loops come from outside", test_captured_bounds},
    CU_TEST_INFO_NULL,
};
