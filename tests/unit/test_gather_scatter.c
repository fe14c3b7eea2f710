/* Reference gather and scatter: windows, batches, indices that lie outside, combiners. */
#include "tests/lib/kernel_env.h"
#include "tests/lib/unit.h"

static const float nine[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};

static hlo_value_t *gather(kernel_env_t *k, hlo_value_t *operand, hlo_value_t *indices,
                           const hlo_attr_t *attrs, int attr_count, int rank, const int64_t *dims) {
  hlo_value_t *in[] = {operand, indices};
  return kernel_run(k, HLO_GATHER, kernel_shape(k, operand->dtype, rank, dims), 2, in, attr_count,
                    attrs, 0, NULL);
}

/* Rows of a matrix by number; numbers outside are moved inside. */
static void gathers_rows(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_attr_t attrs[] = {KERNEL_INTS(OFFSET_DIMS, 1), KERNEL_INTS(COLLAPSED_SLICE_DIMS, 0),
                        KERNEL_INTS(START_INDEX_MAP, 0), KERNEL_INT(INDEX_VECTOR_DIM, 1),
                        KERNEL_INTS(SLICE_SIZES, 1, 3)};
  hlo_value_t *operand = kernel_value(HR_F32, KERNEL_DIMS(3, 3), nine);
  hlo_value_t *indices = kernel_value(HR_S32, KERNEL_DIMS(4), (int32_t[]){2, 0, 99, -5});
  hlo_value_t *out = gather(&k, operand, indices, attrs, 5, KERNEL_DIMS(4, 3));
  CU_ASSERT_TRUE(
      kernel_is(out, HR_F32, KERNEL_DIMS(4, 3), (float[]){6, 7, 8, 0, 1, 2, 6, 7, 8, 0, 1, 2}));
  hlo_value_release(out);
  attrs[3].integer = 0; /* index vectors along dimension 0 of u8[1,2] */
  hlo_value_t *vectors = kernel_value(HR_U8, KERNEL_DIMS(1, 2), (uint8_t[]){1, 200});
  out = gather(&k, operand, vectors, attrs, 5, KERNEL_DIMS(2, 3));
  CU_ASSERT_TRUE(kernel_is(out, HR_F32, KERNEL_DIMS(2, 3), (float[]){3, 4, 5, 6, 7, 8}));
  hlo_value_release(out);
  hlo_value_release(vectors);
  hlo_value_release(indices);
  hlo_value_release(operand);
  kernel_env_deinit(&k);
}

/* 2x2 windows at (row, column), with the window's dimensions around the batch dimension. */
static void gathers_windows(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_attr_t attrs[] = {KERNEL_INTS(OFFSET_DIMS, 0, 2), KERNEL_NO_INTS(COLLAPSED_SLICE_DIMS),
                        KERNEL_INTS(START_INDEX_MAP, 1, 0), KERNEL_INT(INDEX_VECTOR_DIM, 1),
                        KERNEL_INTS(SLICE_SIZES, 2, 2)};
  hlo_value_t *operand = kernel_value(HR_F32, KERNEL_DIMS(3, 3), nine);
  hlo_value_t *indices =
      kernel_value(HR_S64, KERNEL_DIMS(2, 2), (int64_t[]){1, 0, 2, 2}); /* column, row */
  hlo_value_t *out = gather(&k, operand, indices, attrs, 5, KERNEL_DIMS(2, 2, 2));
  CU_ASSERT_TRUE(kernel_is(out, HR_F32, KERNEL_DIMS(2, 2, 2), (float[]){1, 2, 4, 5, 4, 5, 7, 8}));
  hlo_value_release(out);
  hlo_value_release(indices);
  hlo_value_release(operand);
  kernel_env_deinit(&k);
}

/* take_along_axis: one element of each row. */
static void gathers_in_batches(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_attr_t attrs[] = {KERNEL_NO_INTS(OFFSET_DIMS),
                        KERNEL_INTS(COLLAPSED_SLICE_DIMS, 1),
                        KERNEL_INTS(START_INDEX_MAP, 1),
                        KERNEL_INTS(OPERAND_BATCHING_DIMS, 0),
                        KERNEL_INTS(START_INDICES_BATCHING_DIMS, 0),
                        KERNEL_INT(INDEX_VECTOR_DIM, 2),
                        KERNEL_INTS(SLICE_SIZES, 1, 1)};
  hlo_value_t *operand = kernel_value(HR_F32, KERNEL_DIMS(3, 3), nine);
  hlo_value_t *indices = kernel_value(HR_S32, KERNEL_DIMS(3, 2), (int32_t[]){2, 0, 1, 1, 0, 2});
  hlo_value_t *out = gather(&k, operand, indices, attrs, 7, KERNEL_DIMS(3, 2));
  CU_ASSERT_TRUE(kernel_is(out, HR_F32, KERNEL_DIMS(3, 2), (float[]){2, 0, 4, 4, 6, 8}));
  hlo_value_release(out);
  hlo_value_release(indices);
  hlo_value_release(operand);
  kernel_env_deinit(&k);
}

static void gathers_nothing(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_attr_t attrs[] = {KERNEL_INTS(OFFSET_DIMS, 1), KERNEL_INTS(COLLAPSED_SLICE_DIMS, 0),
                        KERNEL_INTS(START_INDEX_MAP, 0), KERNEL_INT(INDEX_VECTOR_DIM, 1),
                        KERNEL_INTS(SLICE_SIZES, 1, 3)};
  hlo_value_t *operand = kernel_value(HR_F32, KERNEL_DIMS(3, 3), nine);
  hlo_value_t *indices = kernel_value(HR_S32, KERNEL_DIMS(0), NULL);
  hlo_value_t *out = gather(&k, operand, indices, attrs, 5, KERNEL_DIMS(0, 3));
  CU_ASSERT_EQUAL(out->count, 0);
  hlo_value_release(out);
  hlo_value_release(indices);
  hlo_value_release(operand);
  kernel_env_deinit(&k);
}

/* Scatters rows {10, 20, 30}, {1, 2, 3} and {7, 7, 7} into f32[3,3], the last of which is outside.
 */
static void check_scatter(hlo_computation_t *(*make_body)(kernel_env_t *), const float *want) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_attr_t attrs[] = {KERNEL_INTS(UPDATE_WINDOW_DIMS, 1), KERNEL_INTS(INSERTED_WINDOW_DIMS, 0),
                        KERNEL_INTS(SCATTER_DIMS_TO_OPERAND_DIMS, 0),
                        KERNEL_INT(INDEX_VECTOR_DIM, 1)};
  hlo_value_t *in[] = {
      kernel_value(HR_F32, KERNEL_DIMS(3, 3), nine),
      kernel_value(HR_S32, KERNEL_DIMS(3, 1), (int32_t[]){1, 1, 3}),
      kernel_value(HR_F32, KERNEL_DIMS(3, 3), (float[]){10, 20, 30, 1, 2, 3, 7, 7, 7})};
  hlo_computation_t *body = make_body(&k);
  hlo_value_t *out = kernel_run(&k, HLO_SCATTER, kernel_shape(&k, HR_F32, KERNEL_DIMS(3, 3)), 3, in,
                                4, attrs, 1, &body);
  kernel_survives_faults(&k, HLO_SCATTER, kernel_shape(&k, HR_F32, KERNEL_DIMS(3, 3)), 3, in, 4,
                         attrs, 1, &body);
  CU_ASSERT_TRUE(kernel_is(out, HR_F32, KERNEL_DIMS(3, 3), want));
  CU_ASSERT_TRUE(kernel_is(in[0], HR_F32, KERNEL_DIMS(3, 3), nine));
  hlo_value_release(out);
  for (int i = 0; i < 3; i++) hlo_value_release(in[i]);
  kernel_env_deinit(&k);
}

static hlo_computation_t *add_body(kernel_env_t *k) {
  return kernel_binary_body(k, HLO_ADD, HR_F32, 2, 0, 1);
}
static hlo_computation_t *subtract_body(kernel_env_t *k) {
  return kernel_binary_body(k, HLO_SUBTRACT, HR_F32, 2, 1, 0);
}
static hlo_computation_t *overwrite_body(kernel_env_t *k) {
  hlo_computation_t *body = kernel_body(k);
  kernel_parameter(k, body, 0, hlo_shape_scalar(HR_F32));
  kernel_parameter(k, body, 1, hlo_shape_scalar(HR_F32));
  return body;
}

static void scatters(void) {
  check_scatter(add_body, (float[]){0, 1, 2, 14, 26, 38, 6, 7, 8});
  check_scatter(subtract_body, (float[]){0, 1, 2, -6, -14, -22, 6, 7,
                                         8}); /* 1 - (10 - 3), ...: updates in order */
  check_scatter(overwrite_body, (float[]){0, 1, 2, 1, 2, 3, 6, 7, 8});
}

/* The operand scattered into itself: it must not be overwritten while it is read. */
static void scatters_into_itself(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_attr_t attrs[] = {KERNEL_NO_INTS(UPDATE_WINDOW_DIMS), KERNEL_INTS(INSERTED_WINDOW_DIMS, 0),
                        KERNEL_INTS(SCATTER_DIMS_TO_OPERAND_DIMS, 0),
                        KERNEL_INT(INDEX_VECTOR_DIM, 1)};
  hlo_value_t *x = kernel_value(HR_F32, KERNEL_DIMS(3), nine), *out;
  hlo_value_t *in[] = {x, kernel_value(HR_S32, KERNEL_DIMS(3), (int32_t[]){1, 2, 0}), x};
  hlo_computation_t *body = overwrite_body(&k);
  hlo_instr_t *instr = kernel_build(&k, HLO_SCATTER, kernel_shape(&k, HR_F32, KERNEL_DIMS(3)), 3,
                                    in, 4, attrs, 1, &body);
  CHECK_OK(kernel_try(&k, instr, in, 7, &out));
  CU_ASSERT_TRUE(kernel_is(out, HR_F32, KERNEL_DIMS(3), (float[]){2, 0, 1}));
  hlo_value_release(out);
  hlo_value_release(in[1]);
  hlo_value_release(x);
  kernel_env_deinit(&k);
}

/* Windows of 2 that are only partly inside are dropped as wholes. */
static void drops_whole_windows(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_attr_t attrs[] = {KERNEL_INTS(UPDATE_WINDOW_DIMS, 1), KERNEL_NO_INTS(INSERTED_WINDOW_DIMS),
                        KERNEL_INTS(SCATTER_DIMS_TO_OPERAND_DIMS, 0),
                        KERNEL_INT(INDEX_VECTOR_DIM, 1)};
  hlo_value_t *in[] = {kernel_value(HR_F32, KERNEL_DIMS(3), NULL),
                       kernel_value(HR_S32, KERNEL_DIMS(3, 1), (int32_t[]){2, -1, 1}),
                       kernel_value(HR_F32, KERNEL_DIMS(3, 2), nine)};
  hlo_computation_t *body = add_body(&k);
  hlo_value_t *out = kernel_run(&k, HLO_SCATTER, kernel_shape(&k, HR_F32, KERNEL_DIMS(3)), 3, in, 4,
                                attrs, 1, &body);
  CU_ASSERT_TRUE(kernel_is(out, HR_F32, KERNEL_DIMS(3), (float[]){0, 4, 5}));
  hlo_value_release(out);
  for (int i = 0; i < 3; i++) hlo_value_release(in[i]);
  kernel_env_deinit(&k);
}

/* (a, b), (c, d) -> (a + c, b * d) */
static void scatters_pairs(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  const hlo_shape_t *f = hlo_shape_scalar(HR_F32), *s = hlo_shape_scalar(HR_S64);
  hlo_computation_t *body = kernel_body(&k);
  hlo_instr_t *a = kernel_parameter(&k, body, 0, f), *b = kernel_parameter(&k, body, 1, s);
  hlo_instr_t *c = kernel_parameter(&k, body, 2, f), *d = kernel_parameter(&k, body, 3, s);
  hlo_instr_t *sum =
      kernel_instr(&k, body, HLO_ADD, f, 2, (hlo_instr_t *[]){a, c}, 0, NULL, 0, NULL);
  hlo_instr_t *product =
      kernel_instr(&k, body, HLO_MULTIPLY, s, 2, (hlo_instr_t *[]){b, d}, 0, NULL, 0, NULL);
  kernel_instr(&k, body, HLO_TUPLE, kernel_tuple_shape(&k, 2, (const hlo_shape_t *[]){f, s}), 2,
               (hlo_instr_t *[]){sum, product}, 0, NULL, 0, NULL);
  hlo_attr_t attrs[] = {KERNEL_INTS(UPDATE_WINDOW_DIMS, 0), KERNEL_INTS(INSERTED_WINDOW_DIMS, 1),
                        KERNEL_INTS(SCATTER_DIMS_TO_OPERAND_DIMS, 1),
                        KERNEL_INT(INDEX_VECTOR_DIM, 1)};
  hlo_value_t *in[] = {kernel_value(HR_F32, KERNEL_DIMS(2, 2), nine),
                       kernel_value(HR_S64, KERNEL_DIMS(2, 2), (int64_t[]){1, 2, 3, 4}),
                       kernel_value(HR_S32, KERNEL_DIMS(2), (int32_t[]){1, 1}),
                       kernel_value(HR_F32, KERNEL_DIMS(2, 2), (float[]){1, 2, 3, 4}),
                       kernel_value(HR_S64, KERNEL_DIMS(2, 2), (int64_t[]){5, 6, 7, 8})};
  const hlo_shape_t *parts[] = {kernel_shape(&k, HR_F32, KERNEL_DIMS(2, 2)),
                                kernel_shape(&k, HR_S64, KERNEL_DIMS(2, 2))};
  hlo_value_t *out =
      kernel_run(&k, HLO_SCATTER, kernel_tuple_shape(&k, 2, parts), 5, in, 4, attrs, 1, &body);
  CU_ASSERT_TRUE(kernel_is(out->elements[0], HR_F32, KERNEL_DIMS(2, 2), (float[]){0, 4, 2, 10}));
  CU_ASSERT_TRUE(
      kernel_is(out->elements[1], HR_S64, KERNEL_DIMS(2, 2), (int64_t[]){1, 60, 3, 4 * 56}));
  hlo_value_release(out);
  for (int i = 0; i < 5; i++) hlo_value_release(in[i]);
  kernel_env_deinit(&k);
}

CU_TestInfo suite_gather_scatter[] = {{"gathers rows", gathers_rows},
                                      {"gathers windows", gathers_windows},
                                      {"gathers in batches", gathers_in_batches},
                                      {"gathers nothing", gathers_nothing},
                                      {"scatters", scatters},
                                      {"scatters into itself", scatters_into_itself},
                                      {"drops whole windows", drops_whole_windows},
                                      {"scatters pairs", scatters_pairs},
                                      CU_TEST_INFO_NULL};
