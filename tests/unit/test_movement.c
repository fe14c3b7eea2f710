/* Reference kernels that move elements: transposes, slices, pads, concatenations, iotas,
 * bitcasts. */
#include "tests/lib/kernel_env.h"
#include "tests/lib/unit.h"

static const float six[] = {1, 2, 3, 4, 5, 6};

/* Runs one op on one f32[2,3] operand and compares. */
static void check_six(hlo_opcode_t op, hlo_attr_t attr, int rank, const int64_t *dims,
                      const float *want) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *in = kernel_value(HR_F32, KERNEL_DIMS(2, 3), six);
  hlo_value_t *out =
      kernel_run(&k, op, kernel_shape(&k, HR_F32, rank, dims), 1, &in, 1, &attr, 0, NULL);
  CU_ASSERT_TRUE(kernel_is(out, HR_F32, rank, dims, want));
  hlo_value_release(out);
  hlo_value_release(in);
  kernel_env_deinit(&k);
}

static void transposes(void) {
  check_six(HLO_TRANSPOSE, (hlo_attr_t)KERNEL_INTS(DIMENSIONS, 1, 0), KERNEL_DIMS(3, 2),
            (float[]){1, 4, 2, 5, 3, 6});
  check_six(HLO_TRANSPOSE, (hlo_attr_t)KERNEL_INTS(DIMENSIONS, 0, 1), KERNEL_DIMS(2, 3), six);
}

static void reverses(void) {
  check_six(HLO_REVERSE, (hlo_attr_t)KERNEL_INTS(DIMENSIONS, 1), KERNEL_DIMS(2, 3),
            (float[]){3, 2, 1, 6, 5, 4});
  check_six(HLO_REVERSE, (hlo_attr_t)KERNEL_INTS(DIMENSIONS, 0, 1), KERNEL_DIMS(2, 3),
            (float[]){6, 5, 4, 3, 2, 1});
  check_six(HLO_REVERSE, (hlo_attr_t)KERNEL_NO_INTS(DIMENSIONS), KERNEL_DIMS(2, 3), six);
}

static void broadcasts(void) {
  check_six(HLO_BROADCAST, (hlo_attr_t)KERNEL_INTS(DIMENSIONS, 0, 2), KERNEL_DIMS(2, 2, 3),
            (float[]){1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  check_six(HLO_BROADCAST, (hlo_attr_t)KERNEL_INTS(DIMENSIONS, 1, 0), KERNEL_DIMS(3, 2),
            (float[]){1, 4, 2, 5, 3, 6});
  check_six(HLO_BROADCAST, (hlo_attr_t)KERNEL_INTS(DIMENSIONS, 0, 2), KERNEL_DIMS(2, 0, 3), NULL);
}

/* StableHLO's broadcast_in_dim also stretches dimensions of size 1. */
static void stretches(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *in = kernel_value(HR_S8, KERNEL_DIMS(2, 1), (int8_t[]){1, 2});
  hlo_attr_t attr = KERNEL_INTS(DIMENSIONS, 0, 1);
  hlo_value_t *out = kernel_run(&k, HLO_BROADCAST, kernel_shape(&k, HR_S8, KERNEL_DIMS(2, 3)), 1,
                                &in, 1, &attr, 0, NULL);
  CU_ASSERT_TRUE(kernel_is(out, HR_S8, KERNEL_DIMS(2, 3), (int8_t[]){1, 1, 1, 2, 2, 2}));
  hlo_value_release(out);
  hlo_value_release(in);
  kernel_env_deinit(&k);
}

static void slices(void) {
  hlo_slice_dim_t parts[] = {{0, 2, 1}, {0, 3, 2}}, row[] = {{1, 2, 1}, {0, 3, 1}},
                  none[] = {{1, 1, 1}, {0, 3, 1}};
  hlo_slice_t slice = {2, parts};
  hlo_attr_t attr = {.key = HLO_ATTR_SLICE, .slice = &slice};
  check_six(HLO_SLICE, attr, KERNEL_DIMS(2, 2), (float[]){1, 3, 4, 6});
  slice.dims = row;
  check_six(HLO_SLICE, attr, KERNEL_DIMS(1, 3), (float[]){4, 5, 6});
  slice.dims = none;
  check_six(HLO_SLICE, attr, KERNEL_DIMS(0, 3), NULL);
}

/* What lies in one piece is not copied. */
static void views(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_slice_dim_t row[] = {{1, 2, 1}, {0, 3, 1}};
  hlo_slice_t slice = {2, row};
  hlo_attr_t attr = {.key = HLO_ATTR_SLICE, .slice = &slice};
  hlo_value_t *in = kernel_value(HR_F32, KERNEL_DIMS(2, 3), six);
  hlo_value_t *out = kernel_run(&k, HLO_SLICE, kernel_shape(&k, HR_F32, KERNEL_DIMS(1, 3)), 1, &in,
                                1, &attr, 0, NULL);
  CU_ASSERT_PTR_EQUAL(out->data, (char *)in->data + 12);
  hlo_value_t *turned = kernel_run(&k, HLO_RESHAPE, kernel_shape(&k, HR_F32, KERNEL_DIMS(3)), 1,
                                   &out, 0, NULL, 0, NULL);
  CU_ASSERT_PTR_EQUAL(turned->data, out->data);
  hlo_value_release(in);
  hlo_value_release(out);
  CU_ASSERT_EQUAL(((float *)turned->data)[2], 6);
  hlo_value_release(turned);
  kernel_env_deinit(&k);
}

static void check_pad(hlo_padding_dim_t pad, int64_t size, const float *want) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_padding_t padding = {1, &pad};
  hlo_attr_t attr = {.key = HLO_ATTR_PADDING, .padding = &padding};
  hlo_value_t *in[] = {kernel_value(HR_F32, KERNEL_DIMS(3), six),
                       kernel_value(HR_F32, KERNEL_SCALAR, (float[]){9})};
  hlo_value_t *out =
      kernel_run(&k, HLO_PAD, kernel_shape(&k, HR_F32, 1, &size), 2, in, 1, &attr, 0, NULL);
  CU_ASSERT_TRUE(kernel_is(out, HR_F32, 1, &size, want));
  hlo_value_release(out);
  hlo_value_release(in[0]);
  hlo_value_release(in[1]);
  kernel_env_deinit(&k);
}

static void pads(void) {
  check_pad((hlo_padding_dim_t){1, 2, 0}, 6, (float[]){9, 1, 2, 3, 9, 9});
  check_pad((hlo_padding_dim_t){0, 0, 1}, 5, (float[]){1, 9, 2, 9, 3});
  check_pad((hlo_padding_dim_t){-1, 0, 1}, 4, (float[]){9, 2, 9, 3});
  check_pad((hlo_padding_dim_t){-2, -1, 1}, 2, (float[]){2, 9});
  check_pad((hlo_padding_dim_t){-3, 4, 0}, 4, (float[]){9, 9, 9, 9});
  check_pad((hlo_padding_dim_t){5, -4, 0}, 4, (float[]){9, 9, 9, 9});
  check_pad((hlo_padding_dim_t){-3, 0, 0}, 0, NULL);
}

static void concatenates(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_attr_t attr = KERNEL_INTS(DIMENSIONS, 1);
  hlo_value_t *in[] = {kernel_value(HR_F32, KERNEL_DIMS(2, 1), six),
                       kernel_value(HR_F32, KERNEL_DIMS(2, 0), NULL),
                       kernel_value(HR_F32, KERNEL_DIMS(2, 2), six)};
  hlo_value_t *out = kernel_run(&k, HLO_CONCATENATE, kernel_shape(&k, HR_F32, KERNEL_DIMS(2, 3)), 3,
                                in, 1, &attr, 0, NULL);
  CU_ASSERT_TRUE(kernel_is(out, HR_F32, KERNEL_DIMS(2, 3), (float[]){1, 1, 2, 2, 3, 4}));
  hlo_value_release(out);
  for (int i = 0; i < 3; i++) hlo_value_release(in[i]);
  kernel_env_deinit(&k);
}

static void check_iota(hr_dtype_t dtype, int64_t d, int rank, const int64_t *dims,
                       const void *want) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_attr_t attr = KERNEL_INT(IOTA_DIMENSION, d);
  hlo_value_t *out =
      kernel_run(&k, HLO_IOTA, kernel_shape(&k, dtype, rank, dims), 0, NULL, 1, &attr, 0, NULL);
  CU_ASSERT_TRUE(kernel_is(out, dtype, rank, dims, want));
  hlo_value_release(out);
  kernel_env_deinit(&k);
}

static void iotas(void) {
  check_iota(HR_S32, 0, KERNEL_DIMS(2, 2), (int32_t[]){0, 0, 1, 1});
  check_iota(HR_S32, 1, KERNEL_DIMS(2, 2), (int32_t[]){0, 1, 0, 1});
  check_iota(HR_S4, 0, KERNEL_DIMS(10), (int8_t[]){0, 1, 2, 3, 4, 5, 6, 7, -8, -7});
  check_iota(HR_U2, 0, KERNEL_DIMS(5), (uint8_t[]){0, 1, 2, 3, 0});
  check_iota(HR_C64, 0, KERNEL_DIMS(2), (float[]){0, 0, 1, 0});
  check_iota(HR_BF16, 0, KERNEL_DIMS(3), (uint16_t[]){0, 0x3f80, 0x4000});
  check_iota(HR_F64, 0, KERNEL_DIMS(0), NULL);
}

/* Bytes seen as f32[2,3] in row-major and as f32[3,2] in column-major order are transposes of
 * each other. */
static void bitcasts(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_layout_t layout = {.minor_to_major = {(int64_t[]){0, 1}, 2}};
  const hlo_shape_t *turned;
  CHECK_OK(hlo_shape_with_layout(&k.module->arena, kernel_shape(&k, HR_F32, KERNEL_DIMS(3, 2)),
                                 &layout, &turned));
  hlo_value_t *in = kernel_value(HR_F32, KERNEL_DIMS(2, 3), six);
  hlo_value_t *out = kernel_run(&k, HLO_BITCAST, turned, 1, &in, 0, NULL, 0, NULL);
  CU_ASSERT_TRUE(kernel_is(out, HR_F32, KERNEL_DIMS(3, 2), (float[]){1, 4, 2, 5, 3, 6}));
  hlo_value_t *bits = kernel_run(&k, HLO_BITCAST, kernel_shape(&k, HR_U32, KERNEL_DIMS(6)), 1, &in,
                                 0, NULL, 0, NULL);
  CU_ASSERT_EQUAL(((uint32_t *)bits->data)[0], 0x3f800000u);
  hlo_value_release(bits);
  hlo_value_release(out);
  hlo_value_release(in);
  kernel_env_deinit(&k);
}

/* Dynamic slices: starts of any integer type are clamped, and unsigned ones are never negative. */
static void check_dynamic_slice(hr_dtype_t dtype, const void *start, int32_t want) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_attr_t attr = KERNEL_INTS(DYNAMIC_SLICE_SIZES, 2);
  hlo_value_t *in[] = {kernel_value(HR_S32, KERNEL_DIMS(5), (int32_t[]){0, 1, 2, 3, 4}),
                       kernel_value(dtype, KERNEL_SCALAR, start)};
  hlo_value_t *out = kernel_run(&k, HLO_DYNAMIC_SLICE, kernel_shape(&k, HR_S32, KERNEL_DIMS(2)), 2,
                                in, 1, &attr, 0, NULL);
  CU_ASSERT_EQUAL(((int32_t *)out->data)[0], want);
  hlo_value_release(out);
  hlo_value_release(in[0]);
  hlo_value_release(in[1]);
  kernel_env_deinit(&k);
}

static void dynamic_slices(void) {
  check_dynamic_slice(HR_S32, (int32_t[]){1}, 1);
  check_dynamic_slice(HR_S32, (int32_t[]){-7}, 0);
  check_dynamic_slice(HR_S8, (int8_t[]){100}, 3);
  check_dynamic_slice(HR_U32, (uint32_t[]){UINT32_MAX}, 3);
  check_dynamic_slice(HR_U64, (uint64_t[]){UINT64_MAX}, 3);
  check_dynamic_slice(HR_S64, (int64_t[]){INT64_MIN}, 0);
}

static void dynamic_update_slices(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *in[] = {kernel_value(HR_F32, KERNEL_DIMS(2, 3), six),
                       kernel_value(HR_F32, KERNEL_DIMS(1, 2), (float[]){8, 9}),
                       kernel_value(HR_S64, KERNEL_DIMS(2), (int64_t[]){1, 7})},
              *out;
  hlo_instr_t *instr =
      kernel_build(&k, HLO_DYNAMIC_UPDATE_SLICE, kernel_shape(&k, HR_F32, KERNEL_DIMS(2, 3)), 3, in,
                   0, NULL, 0, NULL);
  CHECK_OK(kernel_try(&k, instr, in, 0, &out));
  CU_ASSERT_TRUE(kernel_is(out, HR_F32, KERNEL_DIMS(2, 3), (float[]){1, 2, 3, 4, 8, 9}));
  CU_ASSERT_TRUE(kernel_is(in[0], HR_F32, KERNEL_DIMS(2, 3), six));
  hlo_value_release(out);
  CHECK_OK(kernel_try(&k, instr, in, 1, &out)); /* in place */
  CU_ASSERT_PTR_EQUAL(out->data, in[0]->data);
  hlo_value_release(out);
  for (int i = 0; i < 3; i++) hlo_value_release(in[i]);
  kernel_env_deinit(&k);
}

static void dimension_sizes(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_attr_t attr = KERNEL_INTS(DIMENSIONS, 1);
  const hlo_shape_t *bounded;
  CHECK_OK(hlo_shape_array_dynamic(&k.module->arena, HR_F32, 2, (int64_t[]){2, 4},
                                   (bool[]){false, true}, &bounded));
  hlo_value_t *in[] = {kernel_value(HR_F32, KERNEL_DIMS(2, 3), six),
                       kernel_value(HR_S32, KERNEL_SCALAR, (int32_t[]){2})};
  hlo_instr_t *instr = kernel_build(&k, HLO_SET_DIMENSION_SIZE, bounded, 2, in, 1, &attr, 0, NULL);
  hlo_value_t *out;
  CHECK_OK(kernel_try(&k, instr, in, 0, &out));
  CU_ASSERT_TRUE(kernel_is(out, HR_F32, KERNEL_DIMS(2, 2), (float[]){1, 2, 4, 5}));
  hlo_value_t *size =
      kernel_run(&k, HLO_GET_DIMENSION_SIZE, hlo_shape_scalar(HR_S32), 1, &out, 1, &attr, 0, NULL);
  CU_ASSERT_EQUAL(*(int32_t *)size->data, 2);
  hlo_value_release(out);
  *(int32_t *)in[1]->data = 4;
  CHECK_OK(kernel_try(&k, instr, in, 0, &out));
  CU_ASSERT_TRUE(kernel_is(out, HR_F32, KERNEL_DIMS(2, 4), (float[]){1, 2, 3, 0, 4, 5, 6, 0}));
  hlo_value_release(out);
  *(int32_t *)in[1]->data = 5;
  CHECK_FAILS(HR_INVALID, kernel_try(&k, instr, in, 0, &out));
  hlo_value_release(size);
  hlo_value_release(in[0]);
  hlo_value_release(in[1]);
  kernel_env_deinit(&k);
}

static void dynamic_reshapes(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  const hlo_shape_t *open;
  CHECK_OK(hlo_shape_array_dynamic(&k.module->arena, HR_F32, 2,
                                   (int64_t[]){HLO_UNBOUNDED, HLO_UNBOUNDED}, (bool[]){true, true},
                                   &open));
  hlo_value_t *in[] = {kernel_value(HR_F32, KERNEL_DIMS(2, 3), six),
                       kernel_value(HR_S32, KERNEL_DIMS(2), (int32_t[]){3, 2})};
  hlo_instr_t *instr = kernel_build(&k, HLO_DYNAMIC_RESHAPE, open, 2, in, 0, NULL, 0, NULL);
  hlo_value_t *out;
  CHECK_OK(kernel_try(&k, instr, in, 0, &out));
  CU_ASSERT_TRUE(kernel_is(out, HR_F32, KERNEL_DIMS(3, 2), six));
  hlo_value_release(out);
  *(int32_t *)in[1]->data = 4;
  CHECK_FAILS(HR_INVALID, kernel_try(&k, instr, in, 0, &out));
  hlo_value_release(in[0]);
  hlo_value_release(in[1]);
  kernel_env_deinit(&k);
}

CU_TestInfo suite_movement[] = {{"transposes", transposes},
                                {"reverses", reverses},
                                {"broadcasts", broadcasts},
                                {"stretches", stretches},
                                {"slices", slices},
                                {"views", views},
                                {"pads", pads},
                                {"concatenates", concatenates},
                                {"iotas", iotas},
                                {"bitcasts", bitcasts},
                                {"dynamic slices", dynamic_slices},
                                {"dynamic update slices", dynamic_update_slices},
                                {"dimension sizes", dimension_sizes},
                                {"dynamic reshapes", dynamic_reshapes},
                                CU_TEST_INFO_NULL};
