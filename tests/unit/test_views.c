/* Dynamic slices that are read in place (plan/flat_views.c): which are views, and that results are
 * those of the reference engine, also where the array after a view is carried by a loop, updated
 * or given away. */
#include "tests/lib/flat_fixture.h"

/* So many steps set views, in the plan with native steps. */
static void check_views(const char *text, int want) {
  flat_fixture_t f;
  CHECK_OK(fixture_load(text, &fixture_native, &f));
  CU_ASSERT_EQUAL(fixture_count(&f, FLAT_SET_VIEW), want);
  fixture_deinit(&f);
  fixture_agree(text);
}

#define LOOP_PARTS                                                                              \
  "HloModule m\n"                                                                               \
  "below { s = (s32[], f32[2,4], f32[3,4,4]) parameter(0) i = s32[] get-tuple-element(s), "     \
  "index=0\n"                                                                                   \
  "  n = s32[] constant(3) ROOT c = pred[] compare(i, n), direction=LT }\n"                     \
  "body { s = (s32[], f32[2,4], f32[3,4,4]) parameter(0) i = s32[] get-tuple-element(s), "      \
  "index=0\n"                                                                                   \
  "  x = f32[2,4] get-tuple-element(s), index=1 w = f32[3,4,4] get-tuple-element(s), index=2\n" \
  "  z = s32[] constant(0) o = s32[] constant(1) j = s32[] add(i, o)\n"

#define LOOP_ENTRY                                                                          \
  "ENTRY e { x = f32[2,4] parameter(0) w = f32[3,4,4] parameter(1) z = s32[] constant(0)\n" \
  "  t = (s32[], f32[2,4], f32[3,4,4]) tuple(z, x, w)\n"                                    \
  "  ROOT l = (s32[], f32[2,4], f32[3,4,4]) while(t), condition=below, body=body }"

#define PRODUCT "dot(x, m), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
#define LAYER                                                                             \
  "  d = f32[1,4,4] dynamic-slice(w, i, z, z), dynamic_slice_sizes={1,4,4} m = f32[4,4] " \
  "reshape(d)\n"

/* Weights of layers that a loop walks. */
static void layers(void) {
  check_views(LOOP_PARTS LAYER
              "  y = f32[2,4] " PRODUCT
              "  ROOT r = (s32[], f32[2,4], f32[3,4,4]) tuple(j, y, w) }\n" LOOP_ENTRY,
              1);
}

/* The stack is written after its slice was read: in place, and the slice is a view all the same. */
static void updated_after(void) {
  check_views(LOOP_PARTS LAYER
              "  y = f32[2,4] " PRODUCT
              "  u = f32[1,2,4] reshape(y) v = f32[3,4,4] dynamic-update-slice(w, u, i, z, z)\n"
              "  ROOT r = (s32[], f32[2,4], f32[3,4,4]) tuple(j, y, v) }\n" LOOP_ENTRY,
              1);
}

/* It is written before: whatever the plan does, the product reads the old numbers. */
static void updated_before(void) {
  fixture_agree(LOOP_PARTS LAYER
                "  u = f32[1,2,4] reshape(x) v = f32[3,4,4] dynamic-update-slice(w, u, i, z, z)\n"
                "  f = f32[3,4,4] add(v, v) g = f32[1,4,4] slice(f), slice={[0:1],[0:4],[0:4]}\n"
                "  h = f32[4,4] reshape(g) k = f32[4,4] add(h, m)\n"
                "  p = f32[2,4] dot(x, k), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                "  q = f32[2,4] " PRODUCT
                "  y = f32[2,4] add(p, q)\n"
                "  ROOT r = (s32[], f32[2,4], f32[3,4,4]) tuple(j, y, v) }\n" LOOP_ENTRY);
}

/* Out of bounds, of a view, of an argument that is a result as well; not contiguous; read by
 * generated code. */
static void straight(void) {
  check_views(
      "HloModule m\n"
      "ENTRY e { x = f32[2,4] parameter(0) w = f32[2,3,4,4] parameter(1) i = s32[] "
      "parameter(2)\n"
      "  z = s32[] constant(0) a = f32[1,3,4,4] dynamic-slice(w, i, z, z, z), "
      "dynamic_slice_sizes={1,3,4,4}\n"
      "  b = f32[3,4,4] reshape(a) d = f32[1,4,4] dynamic-slice(b, i, z, z), "
      "dynamic_slice_sizes={1,4,4}\n"
      "  m = f32[4,4] reshape(d) y = f32[2,4] " PRODUCT
      "  o = s32[] constant(-5) n = f32[1,3,4,2] dynamic-slice(w, i, o, z, i), "
      "dynamic_slice_sizes={1,3,4,2}\n"
      "  c = f32[6,4] reshape(n) q = f32[2,6] dot(y, c), lhs_contracting_dims={1}, "
      "rhs_contracting_dims={1}\n"
      "  ROOT r = (f32[2,4], f32[2,6], f32[2,3,4,4]) tuple(y, q, w) }",
      2);
}

CU_TestInfo suite_views[] = {{"layers of a loop", layers},
                             {"updated after it was read", updated_after},
                             {"updated before it is read", updated_before},
                             {"without loops", straight},
                             CU_TEST_INFO_NULL};
