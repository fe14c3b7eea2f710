/* The forms of fusions, found in bodies: what each instruction is evaluated at, and what has no
 * form. */
#include "ops/query/fusion_form.h"

#include <string.h>

#include "ops/query/codegen_support.h"
#include "tests/lib/read_text.h"
#include "tests/lib/unit.h"

#define SUM \
  "HloModule t\nsum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"

/* The form of the computation named f, in an arena that the caller frees. */
static const hlo_computation_t *find(const char *text, hlo_module_t **out_module, hr_arena_t *arena,
                                     fusion_form_t *out_form) {
  hlo_module_t *module = *out_module = read_valid(text);
  const hlo_computation_t *body = NULL;
  for (size_t c = 0; c < module->computations.count; c++)
    if (hr_str_is(module->computations.data[c]->name, "f")) body = module->computations.data[c];
  CU_ASSERT_PTR_NOT_NULL_FATAL(body);
  hr_arena_init(arena);
  CHECK_OK(fusion_form_find(arena, body, out_form));
  return body;
}

/* Roles of the named instructions, as "x=FO y=S": F full, O outer, S source. */
static void has_roles(const char *text, fusion_kind_t kind, const char *want) {
  hlo_module_t *module;
  hr_arena_t arena;
  fusion_form_t form;
  char got[256] = "";
  const hlo_computation_t *body = find(text, &module, &arena, &form);
  CU_ASSERT_EQUAL(form.space.kind, kind);
  for (size_t i = 0; i < body->instrs.count; i++) {
    const hlo_instr_t *instr = body->instrs.data[i];
    uint8_t role = form.roles[i];
    if (instr->op == HLO_CONSTANT || instr->op == HLO_TUPLE) continue;
    size_t used = strlen(got);
    snprintf(got + used, sizeof got - used, "%s%.*s=", used ? " " : "", HR_STR_ARGS(instr->name));
    if (role & FUSION_FULL) strcat(got, "F");
    if (role & FUSION_OUTER) strcat(got, "O");
    if (role & FUSION_SOURCE) strcat(got, "S");
  }
  if (strcmp(got, want)) fprintf(stderr, "wanted %s\ngot    %s\n", want, got);
  CU_ASSERT_STRING_EQUAL(got, want);
  hr_arena_deinit(&arena);
  hlo_module_destroy(module);
}

static void loops(void) {
  has_roles(
      "HloModule t\nENTRY f { x = f32[8,4] parameter(0) y = f32[4] parameter(1) v = f32[4] "
      "negate(y)"
      " b = f32[8,4] broadcast(v), dimensions={1} ROOT r = f32[8,4] add(x, b) }",
      FUSION_LOOP, "x=F y=S v=S b=F r=F");
  /* An element that is read in its place and elsewhere as well. */
  has_roles(
      "HloModule t\nENTRY f { x = f32[8] parameter(0) v = f32[8] reverse(x), dimensions={0}"
      " ROOT r = f32[8] add(x, v) }",
      FUSION_LOOP, "x=FS v=F r=F");
}

static void rows(void) {
  has_roles(
      SUM
      "ENTRY f { x = f32[8,4] parameter(0) zero = f32[] constant(0)"
      " s = f32[8] reduce(x, zero), dimensions={1}, to_apply=sum n = f32[8] negate(s) v = f32[8,1] "
      "reshape(n)"
      " w = f32[8] reshape(v) b = f32[8,4] broadcast(w), dimensions={0} g = f32[4] parameter(1)"
      " h = f32[8,4] broadcast(g), dimensions={1} y = f32[8,4] add(b, h) ROOT r = f32[8,4] "
      "subtract(x, y) }",
      FUSION_ROWS, "x=F s=O n=O v=O w=O b=F g=S h=F y=F r=F");
  /* Dimensions of one element do not count; what is left is the same line of elements in every
   * shape. */
  has_roles(SUM
            "ENTRY f { x = f32[2,4,1,5] parameter(0) zero = f32[] constant(0)"
            " s = f32[2,4] reduce(x, zero), dimensions={2,3}, to_apply=sum v = f32[8] reshape(s)"
            " b = f32[8,5] broadcast(v), dimensions={0} y = f32[2,4,1,5] reshape(b)"
            " ROOT r = f32[2,4,1,5] divide(x, y) }",
            FUSION_ROWS, "x=F s=O v=O b=F y=F r=F");
}

static void columns(void) {
  has_roles(SUM
            "ENTRY f { x = f32[8,4] parameter(0) zero = f32[] constant(0) m = f32[4] parameter(1)"
            " mb = f32[8,4] broadcast(m), dimensions={1} d = f32[8,4] subtract(x, mb)"
            " s = f32[4] reduce(d, zero), dimensions={0}, to_apply=sum n = f32[4] add(s, m)"
            " ROOT t = (f32[4], f32[8,4]) tuple(n, d) }",
            FUSION_COLUMNS, "x=F m=OS mb=F d=F s=O n=O");
}

static void spaces(void) {
  hlo_module_t *module =
      read_valid(SUM
                 "ENTRY e { x = f32[4,1,3,5,7] parameter(0) zero = f32[] constant(0)"
                 " ROOT r = f32[4,7] reduce(x, zero), dimensions={1,2,3}, to_apply=sum }");
  fusion_space_t space;
  CU_ASSERT_TRUE(fusion_space_of(module->entry->root, &space));
  CU_ASSERT_EQUAL(space.kind, FUSION_COLUMNS);
  CU_ASSERT_EQUAL(space.rank, 3);
  CU_ASSERT_EQUAL(space.sizes[1], 15);
  CU_ASSERT_EQUAL(space.reduced, 2);
  CU_ASSERT_EQUAL(space.full_count, 420);
  CU_ASSERT_EQUAL(space.outer_count, 28);
  hlo_module_destroy(module);
}

static void parts(void) {
  hlo_module_t *module;
  hr_arena_t arena;
  fusion_form_t form;
  find(
      "HloModule t\nENTRY f { x = f32[8] parameter(0) y = f32[8] parameter(1) z = f32[3] "
      "parameter(2)"
      " a = f32[8] negate(x) b = f32[8] exponential(a) c = f32[8] sine(y) d = f32[3] negate(z)"
      " ROOT t = (f32[8], f32[8], f32[3], f32[8]) tuple(a, c, d, b) }",
      &module, &arena, &form);
  CU_ASSERT_EQUAL(form.part_count, 3);
  CU_ASSERT_EQUAL(form.part_of_root[0], 0);
  CU_ASSERT_EQUAL(form.part_of_root[1], 1);
  CU_ASSERT_EQUAL(form.part_of_root[2], 2);
  CU_ASSERT_EQUAL(form.part_of_root[3], 0);
  hr_arena_deinit(&arena);
  hlo_module_destroy(module);
}

static void has_none(const char *text) {
  hlo_module_t *module;
  hr_arena_t arena;
  fusion_form_t form;
  find(text, &module, &arena, &form);
  CU_ASSERT_EQUAL(form.space.kind, FUSION_NONE);
  hr_arena_deinit(&arena);
  hlo_module_destroy(module);
}

static void reductions_without_form(void) {
  /* Two reductions of different dimensions. */
  has_none(SUM
           "ENTRY f { x = f32[8,4] parameter(0) zero = f32[] constant(0)"
           " s = f32[8] reduce(x, zero), dimensions={1}, to_apply=sum"
           " c = f32[4] reduce(x, zero), dimensions={0}, to_apply=sum ROOT t = (f32[8], f32[4]) "
           "tuple(s, c) }");
  /* A sum that is used at other elements than its own row's. */
  has_none(SUM
           "ENTRY f { x = f32[8,8] parameter(0) zero = f32[] constant(0)"
           " s = f32[8] reduce(x, zero), dimensions={1}, to_apply=sum"
           " b = f32[8,8] broadcast(s), dimensions={1} ROOT r = f32[8,8] add(x, b) }");
  /* A sum of columns that goes back to them. */
  has_none(SUM
           "ENTRY f { x = f32[8,4] parameter(0) zero = f32[] constant(0)"
           " s = f32[4] reduce(x, zero), dimensions={0}, to_apply=sum"
           " b = f32[8,4] broadcast(s), dimensions={1} ROOT r = f32[8,4] add(x, b) }");
  /* A sum of sums. */
  has_none(SUM
           "ENTRY f { x = f32[8,4] parameter(0) zero = f32[] constant(0)"
           " s = f32[8] reduce(x, zero), dimensions={1}, to_apply=sum"
           " ROOT r = f32[] reduce(s, zero), dimensions={0}, to_apply=sum }");
}

#define UPDATED \
  "HloModule t\nENTRY f { c = f32[9] parameter(0) u = f32[2] parameter(1) i = s32[] parameter(2)"

static void updates_without_form(void) {
  /* What is written over is read elsewhere, is no parameter, or is read afterwards. */
  has_none(UPDATED
           " v = f32[2] slice(c), slice={[0:2]} w = f32[2] add(u, v)"
           " ROOT r = f32[9] dynamic-update-slice(c, w, i) }");
  has_none(UPDATED " n = f32[9] negate(c) ROOT r = f32[9] dynamic-update-slice(n, u, i) }");
  has_none(UPDATED " d = f32[9] dynamic-update-slice(c, u, i) ROOT r = f32[9] negate(d) }");
  /* Read where it is written, but by another part, which may come later. */
  has_none(UPDATED
           " s = f32[2] dynamic-slice(c, i), dynamic_slice_sizes={2} n = f32[2] reverse(s), "
           "dimensions={0}"
           " d = f32[9] dynamic-update-slice(c, u, i) ROOT t = (f32[9], f32[2]) tuple(d, n) }");
  has_none(
      "HloModule t\nENTRY f { c = f32[9] parameter(0) u = f32[4] parameter(1) i = s32[] "
      "parameter(2)"
      " s = f32[4] dynamic-slice(c, i), dynamic_slice_sizes={4} n = f32[2,2] reshape(s)"
      " d = f32[9] dynamic-update-slice(c, u, i) ROOT t = (f32[9], f32[2,2]) tuple(d, n) }");
}

CU_TestInfo suite_fusion_form[] = {{"loops", loops},
                                   {"rows", rows},
                                   {"columns", columns},
                                   {"spaces", spaces},
                                   {"parts", parts},
                                   {"reductions_without_form", reductions_without_form},
                                   {"updates_without_form", updates_without_form},
                                   CU_TEST_INFO_NULL};
