/* Native kernels that move elements against the reference: transposes, slices, broadcasts, pads. */
#include "tests/lib/native_harness.h"

static int64_t below(int64_t n) { return rand() % n; }

static const hr_dtype_t types[] = {HR_U8,  HR_BF16, HR_F32,  HR_F64,
                                   HR_C64, HR_C128, HR_PRED, HR_S16};

static void check_transpose(hr_dtype_t dtype, int rank, const int64_t *dims, const int64_t *order) {
  kernel_env_t k;
  kernel_env_init(&k);
  int64_t out_dims[8];
  for (int d = 0; d < rank; d++) out_dims[d] = dims[order[d]];
  hlo_attr_t attr = {.key = HLO_ATTR_DIMENSIONS, .ints = {order, rank}};
  hlo_value_t *in = kernel_value(dtype, rank, dims, NULL);
  native_fill(in, false);
  CU_ASSERT_TRUE(native_check(&k, 0, HLO_TRANSPOSE, kernel_shape(&k, dtype, rank, out_dims), 1, &in,
                              1, &attr, 0, NULL));
  hlo_value_release(in);
  kernel_env_deinit(&k);
}

static void transposes(void) {
  srand(1);
  for (int round = 0; round < 600; round++) {
    int rank = (int)below(6);
    static const int64_t mosts[] = {150, 150, 150, 40, 12, 12};
    int64_t dims[6], order[6];
    for (int d = 0; d < rank; d++) {
      dims[d] = 0;
      if (below(40)) dims[d] = 1 + below(below(3) ? mosts[rank] : 4);
      int64_t e = below(d + 1);
      order[d] = order[e];
      order[e] = d;
    }
    check_transpose(types[below(8)], rank, dims, order);
  }
}

/* Runs that are shorter than vectors. */
static void transposes_of_short_runs(void) {
  srand(7);
  for (int64_t run = 1; run <= 70; run++) {
    check_transpose(HR_U8, 4, (int64_t[]){3, 2 + run % 3, 171, run}, (int64_t[]){0, 2, 1, 3});
    check_transpose(HR_BF16, 4, (int64_t[]){2, 61, 3, run}, (int64_t[]){2, 1, 0, 3});
  }
}

/* Results that are written past the caches. */
static void large_transposes(void) {
  srand(2);
  check_transpose(HR_F32, 2, (int64_t[]){2501, 2599}, (int64_t[]){1, 0});
  check_transpose(HR_F64, 3, (int64_t[]){64, 2, 26003}, (int64_t[]){0, 2, 1});
  check_transpose(HR_U8, 3, (int64_t[]){31, 600, 1500}, (int64_t[]){1, 0, 2});
  check_transpose(HR_U8, 2, (int64_t[]){4992, 5197}, (int64_t[]){1, 0});
  check_transpose(HR_F32, 3, (int64_t[]){2, 1024, 3211}, (int64_t[]){0, 2, 1});
  check_transpose(HR_C128, 2, (int64_t[]){1023, 1603}, (int64_t[]){1, 0});
}

/* Does the native kernel decline where there is a code generator? */
static bool is_left_to_generated_code(hr_dtype_t dtype, int64_t planes, int64_t rows,
                                      int64_t columns) {
  const op_native_t *transpose = op_natives[HLO_TRANSPOSE];
  kernel_env_t k;
  hr_arena_t plans;
  kernel_env_init(&k);
  hr_arena_init(&plans);
  hlo_attr_t attr = KERNEL_INTS(DIMENSIONS, 0, 2, 1);
  hlo_value_t *in = kernel_value(dtype, KERNEL_DIMS(planes, rows, columns), NULL);
  const hlo_shape_t *in_shape = kernel_shape(&k, dtype, KERNEL_DIMS(planes, rows, columns)),
                    *shape = kernel_shape(&k, dtype, KERNEL_DIMS(planes, columns, rows));
  op_native_target_t target = {.arena = &plans, .workers = 1, .generated = transpose};
  op_step_t step = {.instr = kernel_build(&k, HLO_TRANSPOSE, shape, 1, &in, 1, &attr, 0, NULL),
                    .in_shapes = &in_shape,
                    .out_shape = shape};
  op_native_step_t out = {.plan = NULL};
  CHECK_OK(transpose->prepare(&target, &step, &out));
  hlo_value_release(in);
  hr_arena_deinit(&plans);
  kernel_env_deinit(&k);
  return !out.plan;
}

/* Tiles of small planes are half empty; a few elements do not pay for code. */
static void transposes_of_small_planes(void) {
  CU_ASSERT_TRUE(is_left_to_generated_code(HR_F32, 1000, 6, 7));
  CU_ASSERT_TRUE(is_left_to_generated_code(HR_U8, 1000, 8, 100));
  CU_ASSERT_TRUE(is_left_to_generated_code(HR_F64, 1000, 2, 3));
  CU_ASSERT_TRUE(is_left_to_generated_code(HR_C128, 1000, 3, 5));
  CU_ASSERT_FALSE(is_left_to_generated_code(HR_F32, 10, 6, 7));
  CU_ASSERT_FALSE(is_left_to_generated_code(HR_F32, 100, 3, 70));
  CU_ASSERT_FALSE(is_left_to_generated_code(HR_F32, 100, 16, 16));
  CU_ASSERT_FALSE(is_left_to_generated_code(HR_U8, 100, 16, 16));
  CU_ASSERT_FALSE(is_left_to_generated_code(HR_C128, 1000, 4, 5));
}

/* One more op on the value, by the reference kernel and in the body. */
static void add_move(kernel_env_t *k, hlo_computation_t *body, hlo_opcode_t op,
                     const hlo_shape_t *shape, const int64_t *dims, int64_t count,
                     hlo_value_t **value) {
  hlo_attr_t attr = {.key = HLO_ATTR_DIMENSIONS, .ints = {dims, count}};
  hlo_value_t *moved;
  hlo_instr_t *x = body->root;
  body->root = kernel_instr(k, body, op, shape, 1, &x, 1, &attr, 0, NULL);
  CHECK_OK(
      kernel_try(k, kernel_build(k, op, shape, 1, value, 1, &attr, 0, NULL), value, 0, &moved));
  hlo_value_release(*value);
  *value = moved;
}

static int64_t list_bits(int bits, int rank, int64_t *dims) {
  int64_t count = 0;
  for (int d = 0; d < rank; d++)
    if (bits >> d & 1) dims[count++] = d;
  return count;
}

/* By 1 to 3 workers. */
static int check_fused_move(kernel_env_t *k, hlo_computation_t *body, hlo_value_t *in,
                            hlo_value_t *want) {
  native_env_t env = {.kernel = k};
  native_case_t c = {.values = &in, .expected = want};
  bool accepted = true;
  hr_arena_init(&env.plans);
  c.instr = kernel_build(k, HLO_FUSION, body->root->shape, 1, &in, 0, NULL, 1, &body);
  for (int workers = 1; workers <= 3; workers++) {
    native_env_set_workers(&env, workers);
    CU_ASSERT_TRUE(native_case_run(&env, &c, &accepted));
  }
  hr_workers_destroy(env.workers);
  hr_arena_deinit(&env.plans);
  return accepted;
}

/* A fusion that reverses, transposes and reverses. `flips`: bits of dimensions that are reversed
 * first, and last. */
static int check_turn(hr_dtype_t dtype, int rank, const int64_t *dims, const int64_t *order,
                      const int flips[2]) {
  kernel_env_t k;
  int64_t out_dims[8], first[8], last[8];
  kernel_env_init(&k);
  hlo_computation_t *body = kernel_body(&k);
  for (int d = 0; d < rank; d++) out_dims[d] = dims[order[d]];
  const hlo_shape_t *shape = kernel_shape(&k, dtype, rank, dims),
                    *out_shape = kernel_shape(&k, dtype, rank, out_dims);
  hlo_value_t *in = kernel_value(dtype, rank, dims, NULL), *want = in;
  native_fill(in, false);
  hlo_value_retain(in);
  body->root = kernel_parameter(&k, body, 0, shape);
  add_move(&k, body, HLO_REVERSE, shape, first, list_bits(flips[0], rank, first), &want);
  add_move(&k, body, HLO_TRANSPOSE, out_shape, order, rank, &want);
  add_move(&k, body, HLO_REVERSE, out_shape, last, list_bits(flips[1], rank, last), &want);
  int accepted = check_fused_move(&k, body, in, want);
  hlo_value_release(in);
  hlo_value_release(want);
  kernel_env_deinit(&k);
  return accepted;
}

static void turns(void) {
  int accepted = 0;
  srand(8);
  for (int round = 0; round < 250; round++) {
    int rank = 1 + (int)below(4);
    static const int64_t mosts[] = {150, 150, 150, 40, 12};
    int64_t dims[5], order[5];
    for (int d = 0; d < rank; d++) {
      dims[d] = 0;
      if (below(40)) dims[d] = 1 + below(below(3) ? mosts[rank] : 7);
      int64_t e = below(d + 1);
      order[d] = order[e];
      order[e] = d;
    }
    int flips[] = {(int)below(16), (int)below(16)};
    accepted += check_turn(types[below(8)], rank, dims, order, flips);
  }
  CU_ASSERT_TRUE(accepted > 60);
}

/* Runs that are shorter than vectors, at both ends of the array, and results past the caches. */
static void turns_of_runs_and_large_arrays(void) {
  for (int64_t run = 1; run <= 70; run += 3)
    for (int flips = 1; flips < 8; flips++) {
      int64_t dims[] = {3, 2 + run % 3, 31, run};
      int both[] = {flips, 0};
      check_turn(run % 2 ? HR_U8 : HR_BF16, 4, dims, (int64_t[]){0, 2, 1, 3}, both);
    }
  static const int all[2] = {0, 3}, first[2] = {1, 0};
  CU_ASSERT_TRUE(check_turn(HR_F32, 2, (int64_t[]){2501, 2599}, (int64_t[]){1, 0}, all));
  CU_ASSERT_TRUE(check_turn(HR_F64, 2, (int64_t[]){1280, 2624}, (int64_t[]){1, 0}, all));
  CU_ASSERT_TRUE(check_turn(HR_U8, 3, (int64_t[]){31, 600, 1500}, (int64_t[]){1, 0, 2}, first));
}

/* Random sizes of `rank` dimensions; round by round small and large ones. */
static void choose_dims(int round, int rank, int64_t *dims) {
  int64_t most = rank > 3 ? 20 : 70;
  if (round % 10) most = 9;
  for (int d = 0; d < rank; d++) dims[d] = below(30) == 0 ? 0 : 1 + below(most);
}

static int check(hlo_opcode_t op, hr_dtype_t dtype, int rank, const int64_t *out_dims, int count,
                 hlo_value_t **in, int attr_count, const hlo_attr_t *attrs) {
  kernel_env_t k;
  kernel_env_init(&k);
  bool accepted = native_check(&k, 0, op, kernel_shape(&k, dtype, rank, out_dims), count, in,
                               attr_count, attrs, 0, NULL);
  for (int i = 0; i < count; i++) hlo_value_release(in[i]);
  kernel_env_deinit(&k);
  return accepted;
}

static hlo_value_t *random_value(hr_dtype_t dtype, int rank, const int64_t *dims) {
  hlo_value_t *value = kernel_value(dtype, rank, dims, NULL);
  native_fill(value, false);
  return value;
}

static void slices_and_reversals(void) {
  int accepted = 0;
  srand(3);
  for (int round = 0; round < 300; round++) {
    int rank = (int)below(5), reversed = 0;
    int64_t dims[5], out_dims[5], flips[5];
    hlo_slice_dim_t ranges[5];
    hr_dtype_t dtype = types[below(8)];
    choose_dims(round, rank, dims);
    for (int d = 0; d < rank; d++) {
      int64_t start = below(dims[d] + 1), limit = start + below(dims[d] - start + 1),
              stride = below(3) ? 1 : 1 + below(3);
      if (below(2)) start = 0, limit = dims[d], stride = 1;
      ranges[d] = (hlo_slice_dim_t){start, limit, stride};
      out_dims[d] = (limit - start + stride - 1) / stride;
      if (below(2)) flips[reversed++] = d;
    }
    hlo_slice_t slice = {rank, ranges};
    hlo_attr_t attr = {.key = HLO_ATTR_SLICE, .slice = &slice};
    hlo_attr_t turned = {.key = HLO_ATTR_DIMENSIONS, .ints = {flips, reversed}};
    hlo_value_t *in = random_value(dtype, rank, dims);
    accepted += check(HLO_SLICE, dtype, rank, out_dims, 1, &in, 1, &attr);
    in = random_value(dtype, rank, dims);
    accepted += check(HLO_REVERSE, dtype, rank, dims, 1, &in, 1, &turned);
    in = random_value(dtype, rank, dims);
    accepted += check(HLO_COPY, dtype, rank, dims, 1, &in, 0, NULL);
  }
  CU_ASSERT_TRUE(accepted > 800);
}

static void broadcasts_and_concatenations(void) {
  srand(4);
  for (int round = 0; round < 300; round++) {
    int rank = 1 + (int)below(4), from_rank = 0, count = 1 + (int)below(4);
    int64_t dims[5], from[5], kept[5], d = below(rank), total = 0;
    hr_dtype_t dtype = types[below(8)];
    choose_dims(round, rank, dims);
    for (int i = 0; i < rank; i++)
      if (below(2)) {
        kept[from_rank] = i;
        from[from_rank++] = below(4) ? dims[i] : 1;
      }
    hlo_attr_t attr = {.key = HLO_ATTR_DIMENSIONS, .ints = {kept, from_rank}};
    hlo_value_t *in[4] = {random_value(dtype, from_rank, from)};
    check(HLO_BROADCAST, dtype, rank, dims, 1, in, 1, &attr);
    for (int k = 0; k < count; k++) {
      dims[d] = below(20);
      total += dims[d];
      in[k] = random_value(dtype, rank, dims);
    }
    dims[d] = total;
    attr.ints = (hr_ints_t){&d, 1};
    check(HLO_CONCATENATE, dtype, rank, dims, count, in, 1, &attr);
  }
}

static void pads(void) {
  srand(5);
  for (int round = 0; round < 200; round++) {
    int rank = (int)below(5);
    int64_t dims[5], out_dims[5];
    hlo_padding_dim_t pads[5];
    hr_dtype_t dtype = types[below(8)];
    choose_dims(round, rank, dims);
    for (int d = 0; d < rank; d++) {
      pads[d] = (hlo_padding_dim_t){below(6) - 2, below(6) - 2, below(6) == 0 ? below(3) : 0};
      int64_t inner = dims[d] + (dims[d] ? dims[d] - 1 : 0) * pads[d].interior;
      if (pads[d].low + pads[d].high + inner < 0) pads[d].low = pads[d].high = 0;
      out_dims[d] = pads[d].low + pads[d].high + inner;
    }
    hlo_padding_t padding = {rank, pads};
    hlo_attr_t attr = {.key = HLO_ATTR_PADDING, .padding = &padding};
    hlo_value_t *in[] = {random_value(dtype, rank, dims), random_value(dtype, 0, NULL)};
    check(HLO_PAD, dtype, rank, out_dims, 2, in, 1, &attr);
  }
}

static void blocks(void) {
  static const hr_dtype_t starts[] = {HR_S8, HR_U8, HR_S16, HR_S32, HR_U32, HR_S64, HR_U64};
  int accepted = 0;
  srand(6);
  for (int round = 0; round < 300; round++) {
    int rank = (int)below(5);
    int64_t dims[5], block[5];
    hr_dtype_t dtype = types[below(8)];
    choose_dims(round, rank, dims);
    hlo_value_t *in[8] = {random_value(dtype, rank, dims)};
    for (int d = 0; d < rank; d++) {
      block[d] = below(3) ? below(dims[d] + 1) : dims[d];
      int64_t start = below(10) ? below(12) - 2 : INT64_MIN;
      in[1 + d] = kernel_value(starts[below(7)], KERNEL_SCALAR, &start);
    }
    hlo_attr_t attr = {.key = HLO_ATTR_DYNAMIC_SLICE_SIZES, .ints = {block, rank}};
    for (int d = 0; d < rank; d++) hlo_value_retain(in[1 + d]);
    accepted += check(HLO_DYNAMIC_SLICE, dtype, rank, block, 1 + rank, in, 1, &attr);
    for (int d = rank; d > 0; d--) in[1 + d] = in[d];
    in[0] = random_value(dtype, rank, dims);
    in[1] = random_value(dtype, rank, block);
    accepted += check(HLO_DYNAMIC_UPDATE_SLICE, dtype, rank, dims, 2 + rank, in, 0, NULL);
  }
  CU_ASSERT_TRUE(accepted > 500);
}

CU_TestInfo suite_native_movement[] = {
    {"transposes", transposes},
    {"transposes of short runs", transposes_of_short_runs},
    {"large transposes", large_transposes},
    {"transposes of small planes", transposes_of_small_planes},
    {"turns", turns},
    {"turns of runs and large arrays", turns_of_runs_and_large_arrays},
    {"slices and reversals", slices_and_reversals},
    {"broadcasts and concatenations", broadcasts_and_concatenations},
    {"pads", pads},
    {"blocks", blocks},
    CU_TEST_INFO_NULL};
