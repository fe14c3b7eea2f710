/* Shape inference with what program text cannot say: actual sizes instead of declared dynamic ones,
 * missing result shapes, hostile sizes. The rules themselves are tested by tests/cases/invalid and
 * the corpora. */
#include <string.h>

#include "base/mem.h"
#include "ir/module.h"
#include "ops/rules/verify.h"
#include "tests/lib/unit.h"

static hr_arena_t arena;

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }
#define INTS(...) \
  { DIMS(__VA_ARGS__), sizeof(DIMS(__VA_ARGS__)) / sizeof(int64_t) }

/* Bit d of `dynamic`: dimension d is. */
static const hlo_shape_t *array(hr_dtype_t dtype, int rank, const int64_t *dims, unsigned dynamic) {
  const hlo_shape_t *shape = hlo_shape_scalar(dtype);
  bool flags[HLO_MAX_RANK];
  for (int d = 0; d < rank; d++) flags[d] = dynamic >> d & 1;
  CHECK_OK(hlo_shape_array_dynamic(&arena, dtype, rank, dims, flags, &shape));
  return shape;
}

static hr_status_t infer(hlo_opcode_t op, int attr_count, const hlo_attr_t *attrs,
                         const hlo_shape_t *declared, int count, const hlo_shape_t *const *in,
                         const hlo_shape_t **out_shape) {
  static hlo_module_t module;
  static hlo_computation_t parent = {.module = &module};
  hlo_instr_t instr = {.op = op,
                       .name = HR_STR("x"),
                       .shape = declared,
                       .operand_count = count,
                       .attr_count = attr_count,
                       .attrs = attrs,
                       .parent = &parent};
  module.num_partitions = 1;
  module.replica_count = 1;
  return hlo_infer_shape(&arena, &instr, in, out_shape);
}

static void check_shape(const hlo_shape_t *shape, const char *wanted) {
  char text[HLO_SHAPE_TEXT];
  CU_ASSERT_STRING_EQUAL(hlo_shape_text(shape, text), wanted);
}

#define CHECK_INFERS(wanted, ...)                \
  do {                                           \
    const hlo_shape_t *inferred = NULL;          \
    CHECK_OK(infer(__VA_ARGS__, &inferred));     \
    if (inferred) check_shape(inferred, wanted); \
  } while (0)
#define CHECK_REFUSES(...)                                  \
  do {                                                      \
    const hlo_shape_t *inferred;                            \
    CHECK_FAILS(HR_INVALID, infer(__VA_ARGS__, &inferred)); \
  } while (0)

static void test_elementwise(void) {
  hr_arena_init(&arena);
  const hlo_shape_t *fixed = array(HR_F32, 2, DIMS(3, 4), 0),
                    *open = array(HR_F32, 2, DIMS(HLO_UNBOUNDED, 4), 1);
  const hlo_shape_t *bounded = array(HR_F32, 2, DIMS(5, 4), 1),
                    *small = array(HR_F32, 2, DIMS(2, 4), 1);
  CHECK_INFERS("f32[3,4]", HLO_ADD, 0, NULL, NULL, 2, (const hlo_shape_t *const[]){fixed, fixed});
  CHECK_INFERS("f32[3,4]", HLO_ADD, 0, NULL, NULL, 2, (const hlo_shape_t *const[]){open, fixed});
  CHECK_INFERS("f32[<=5,4]", HLO_ADD, 0, NULL, NULL, 2,
               (const hlo_shape_t *const[]){open, bounded});
  CHECK_INFERS("f32[<=2,4]", HLO_ADD, 0, NULL, NULL, 2,
               (const hlo_shape_t *const[]){bounded, small});
  CHECK_INFERS("f32[?,4]", HLO_ADD, 0, NULL, NULL, 2, (const hlo_shape_t *const[]){open, open});
  CHECK_REFUSES(HLO_ADD, 0, NULL, NULL, 2, (const hlo_shape_t *const[]){small, fixed});
  CHECK_REFUSES(HLO_ADD, 0, NULL, NULL, 1, (const hlo_shape_t *const[]){fixed});
  hr_arena_deinit(&arena);
}

static void test_concatenate(void) {
  hr_arena_init(&arena);
  hlo_attr_t attr = {.key = HLO_ATTR_DIMENSIONS, .ints = INTS(0)};
  const hlo_shape_t *bounded = array(HR_F32, 1, DIMS(5), 1), *fixed = array(HR_F32, 1, DIMS(3), 0);
  const hlo_shape_t *open = array(HR_F32, 1, DIMS(HLO_UNBOUNDED), 1),
                    *huge = array(HR_F32, 1, DIMS(INT64_MAX), 0);
  CHECK_INFERS("f32[<=8]", HLO_CONCATENATE, 1, &attr, NULL, 2,
               (const hlo_shape_t *const[]){bounded, fixed});
  CHECK_INFERS("f32[?]", HLO_CONCATENATE, 1, &attr, NULL, 2,
               (const hlo_shape_t *const[]){fixed, open});
  CHECK_INFERS("f32[3]", HLO_CONCATENATE, 1, &attr, NULL, 1, (const hlo_shape_t *const[]){fixed});
  CHECK_REFUSES(HLO_CONCATENATE, 1, &attr, NULL, 2, (const hlo_shape_t *const[]){huge, fixed});
  hr_arena_deinit(&arena);
}

/* A slice of the whole of a dynamic dimension is as long as that is at run time. */
static void test_slice_at_run_time(void) {
  hr_arena_init(&arena);
  hlo_slice_dim_t dim = {0, 5, 1};
  hlo_slice_t slice = {1, &dim};
  hlo_attr_t attr = {.key = HLO_ATTR_SLICE, .slice = &slice};
  const hlo_shape_t *bounded = array(HR_F32, 1, DIMS(5), 1), *actual = array(HR_F32, 1, DIMS(2), 0);
  const hlo_shape_t *more = array(HR_F32, 1, DIMS(9), 0);
  CHECK_INFERS("f32[<=5]", HLO_SLICE, 1, &attr, NULL, 1, &bounded);
  CHECK_INFERS("f32[2]", HLO_SLICE, 1, &attr, bounded, 1, &actual);
  CHECK_REFUSES(HLO_SLICE, 1, &attr, NULL, 1, &actual);
  CHECK_INFERS("f32[5]", HLO_SLICE, 1, &attr, NULL, 1, &more);
  hr_arena_deinit(&arena);
}

static void test_pad(void) {
  hr_arena_init(&arena);
  hlo_padding_dim_t dims[] = {{1, -2, 3}, {0, 0, 1}};
  hlo_padding_t padding = {2, dims};
  hlo_attr_t attr = {.key = HLO_ATTR_PADDING, .padding = &padding};
  const hlo_shape_t *in[] = {array(HR_S8, 2, DIMS(4, 0), 0), hlo_shape_scalar(HR_S8)};
  CHECK_INFERS("s8[12,0]", HLO_PAD, 1, &attr, NULL, 2, in);
  in[0] = array(HR_S8, 2, DIMS(HLO_UNBOUNDED, 2), 1);
  CHECK_INFERS("s8[?,3]", HLO_PAD, 1, &attr, NULL, 2, in);
  in[0] = array(HR_S8, 2, DIMS(INT64_MAX, 2), 0);
  CHECK_REFUSES(HLO_PAD, 1, &attr, NULL, 2, in);
  hr_arena_deinit(&arena);
}

static void test_dot(void) {
  hr_arena_init(&arena);
  hlo_attr_t attrs[] = {{.key = HLO_ATTR_LHS_CONTRACTING_DIMS, .ints = INTS(1)},
                        {.key = HLO_ATTR_RHS_CONTRACTING_DIMS, .ints = INTS(0)}};
  const hlo_shape_t *in[] = {array(HR_BF16, 2, DIMS(3, 4), 0), array(HR_BF16, 2, DIMS(4, 5), 0)};
  CHECK_INFERS("bf16[3,5]", HLO_DOT, 2, attrs, NULL, 2, in);
  CHECK_INFERS("f32[3,5]", HLO_DOT, 2, attrs, array(HR_F32, 2, DIMS(3, 5), 0), 2, in);
  CHECK_INFERS("bf16[3,5]", HLO_DOT, 2, attrs, array(HR_S32, 2, DIMS(3, 5), 0), 2, in);
  in[1] = array(HR_F32, 2, DIMS(4, 5), 0);
  CHECK_INFERS("f32[3,5]", HLO_DOT, 2, attrs, NULL, 2, in);
  in[0] = array(HR_BF16, 2, DIMS(HLO_UNBOUNDED, 4), 1);
  CHECK_INFERS("f32[?,5]", HLO_DOT, 2, attrs, NULL, 2, in);
  hr_arena_deinit(&arena);
}

static void test_set_dimension_size(void) {
  hr_arena_init(&arena);
  hlo_attr_t attr = {.key = HLO_ATTR_DIMENSIONS, .ints = INTS(1)};
  const hlo_shape_t *in[] = {array(HR_F32, 2, DIMS(3, 4), 0), hlo_shape_scalar(HR_S32)};
  CHECK_INFERS("f32[3,<=4]", HLO_SET_DIMENSION_SIZE, 1, &attr, NULL, 2, in);
  CHECK_INFERS("s32[]", HLO_GET_DIMENSION_SIZE, 1, &attr, NULL, 1, in);
  hr_arena_deinit(&arena);
}

/* Results of 33 dimensions are refused, not written past the end. */
static void test_too_many_dimensions(void) {
  hr_arena_init(&arena);
  int64_t ones[HLO_MAX_RANK];
  for (int d = 0; d < HLO_MAX_RANK; d++) ones[d] = 1;
  hlo_attr_t attrs[] = {{.key = HLO_ATTR_LHS_CONTRACTING_DIMS},
                        {.key = HLO_ATTR_RHS_CONTRACTING_DIMS}};
  const hlo_shape_t *in[] = {array(HR_F32, HLO_MAX_RANK, ones, 0), array(HR_F32, 1, ones, 0)};
  CHECK_REFUSES(HLO_DOT, 2, attrs, NULL, 2, in);
  hr_arena_deinit(&arena);
}

CU_TestInfo suite_infer[] = {
    {"elementwise", test_elementwise},
    {"concatenate", test_concatenate},
    {"slice at run time", test_slice_at_run_time},
    {"pad", test_pad},
    {"dot", test_dot},
    {"set-dimension-size", test_set_dimension_size},
    {"too many dimensions", test_too_many_dimensions},
    CU_TEST_INFO_NULL,
};
