/* Which orders of elements reductions allow. */
#include "ops/query/reduce_order.h"

#include <stdio.h>

#include "tests/lib/read_text.h"
#include "tests/lib/unit.h"

/* The order of a reduction of (value, index) pairs whose reducer has these lines, from these
 * initial values. `index` is the index operand; `root` is of the entry computation. */
static op_reduce_order_t order_of(const char *type, const char *lines, const char *init,
                            const char *index, const char *root) {
  char text[2000];
  hlo_module_t *module;
  snprintf(text, sizeof text,
           "HloModule t\n"
           "f { p0 = %s[] parameter(0)\n p1 = s32[] parameter(1)\n"
           " p2 = %s[] parameter(2)\n p3 = s32[] parameter(3)\n %s\n"
           " ROOT r = (%s[], s32[]) tuple(v, i) }\n"
           "ENTRY e { x = %s[5,9] parameter(0)\n given = s32[5,9] parameter(1)\n"
           " index = s32[5,9] %s\n z = %s[] constant(%s)\n zero = s32[] constant(0)\n"
           " pairs = (%s[5], s32[5]) reduce(x, index, z, zero), dimensions={1}, to_apply=f\n"
           " ROOT out = %s }\n",
           type, type, lines, type, type, index, type, init, type, root);
  module = read_valid(text);
  const hlo_instr_t *reduce = module->entry->root->operands[0];
  CU_ASSERT_EQUAL_FATAL(reduce->op, HLO_REDUCE);
  op_reduce_order_t order = op_reduce_order(reduce);
  hlo_module_destroy(module);
  return order;
}

#define IOTA "iota(), iota_dimension=1"
#define ONLY_INDEX "s32[5] get-tuple-element(pairs), index=1"
#define GREATEST(T)                                                                  \
  "c = pred[] compare(p2, p0), direction=GT\n v = " T "[] select(c, p2, p0)\n " \
  "i = s32[] select(c, p3, p1)"
#define ARGMAX(T)                                                                          \
  "g = pred[] compare(p0, p2), direction=GT\n n = pred[] compare(p0, p0), direction=NE\n " \
  "c = pred[] or(g, n)\n e = pred[] compare(p0, p2), direction=EQ\n "                      \
  "l = pred[] compare(p1, p3), direction=LT\n t = pred[] and(e, l)\n "                     \
  "d = pred[] or(c, t)\n v = " T "[] select(c, p0, p2)\n i = s32[] select(d, p1, p3)"

static void selections(void) {
  CU_ASSERT_EQUAL(order_of("f32", ARGMAX("f32"), "-inf", IOTA, ONLY_INDEX), OP_REDUCE_BY_INDEX);
  CU_ASSERT_EQUAL(order_of("f32", ARGMAX("f32"), "nan", IOTA, ONLY_INDEX), OP_REDUCE_BY_INDEX);
  CU_ASSERT_EQUAL(order_of("f32", GREATEST("f32"), "-inf", IOTA, ONLY_INDEX), OP_REDUCE_BY_INDEX);
  CU_ASSERT_EQUAL(order_of("s32", ARGMAX("s32"), "-9", "add(given, given)", ONLY_INDEX),
                  OP_REDUCE_SELECTION);
}

/* What a selection needs: of the two NaN of two lanes, or two places of ties, an index must say
 * which is first; which of two zeros is the value depends on the order. */
static void others(void) {
  const char *value = "f32[5] get-tuple-element(pairs), index=0";
  CU_ASSERT_EQUAL(order_of("f32", ARGMAX("f32"), "-inf", "add(given, given)", ONLY_INDEX),
                  OP_REDUCE_ASCENDING);
  CU_ASSERT_EQUAL(order_of("s32", GREATEST("s32"), "-9", "iota(), iota_dimension=0", ONLY_INDEX),
                  OP_REDUCE_ASCENDING);
  CU_ASSERT_EQUAL(order_of("f32", ARGMAX("f32"), "-inf", IOTA, value), OP_REDUCE_ASCENDING);
}

/* An element beside NaN would be lost: the greatest is not associative among elements with NaN, nor
 * from NaN on. */
static void beside_nan(void) {
  CU_ASSERT_EQUAL(order_of("f32", GREATEST("f32"), "-inf", "iota(), iota_dimension=0", ONLY_INDEX),
                  OP_REDUCE_LEFT);
  CU_ASSERT_EQUAL(order_of("f32", GREATEST("f32"), "nan", IOTA, ONLY_INDEX), OP_REDUCE_LEFT);
}

static void sums(void) {
  const char *plain = "v = f32[] add(p2, p0)\n i = s32[] maximum(p1, p3)";
  const char *crossed = "v = f32[] add(p2, p0)\n i = s32[] maximum(p1, p1)";
  const char *composed =
      "v = f32[] multiply(p2, p0)\n w = s32[] multiply(p1, p3)\n i = s32[] add(w, p3)";
  CU_ASSERT_EQUAL(order_of("f32", plain, "7", "add(given, given)", ONLY_INDEX), OP_REDUCE_ANY);
  CU_ASSERT_EQUAL(order_of("f32", crossed, "7", "add(given, given)", ONLY_INDEX),
                  OP_REDUCE_ASCENDING);
  CU_ASSERT_EQUAL(order_of("f32", composed, "1", "add(given, given)", ONLY_INDEX),
                  OP_REDUCE_ASCENDING);
}

CU_TestInfo suite_reduce_order[] = {
    {"selections", selections},
    {"other pairs", others},
    {"pairs beside NaN", beside_nan},
    {"sums", sums},
    CU_TEST_INFO_NULL};
