/* Native reductions over windows against the reference: poolings, cumulative sums, select-and-
 * scatter. */
#include "ops/query/window_range.h"
#include "tests/lib/native_harness.h"

static int64_t below(int64_t n) { return rand() % n; }

static int64_t result_size(const hlo_window_dim_t *w, int64_t n) {
  int64_t base = (n ? (n - 1) * w->base_dilation + 1 : 0) + w->pad_low + w->pad_high;
  int64_t window = (w->size - 1) * w->window_dilation + 1;
  return base < window ? 0 : (base - window) / w->stride + 1;
}

static hlo_window_dim_t trivial(void) { return (hlo_window_dim_t){1, 1, 0, 0, 1, 1, false}; }

static hlo_window_dim_t random_window(void) {
  hlo_window_dim_t w = {1 + below(4), 1 + below(3), below(5) - 1, below(5) - 1, 1, 1, false};
  if (below(4) == 0) w.base_dilation = 1 + below(3), w.window_dilation = 1 + below(3);
  return w;
}

static hlo_window_dim_t running(int64_t n, bool reverse) {
  int64_t most = n ? n - 1 : 0;
  hlo_window_dim_t w = {n ? n : 1, 1, most, 0, 1, 1, false};
  if (reverse) w = (hlo_window_dim_t){n ? n : 1, 1, 0, most, 1, 1, false};
  return w;
}

static hlo_value_t *initial(hlo_opcode_t op, hr_dtype_t dtype) {
  uint64_t bits = 0;
  double number = op == HLO_MULTIPLY  ? 1
                  : op == HLO_MAXIMUM ? -INFINITY
                  : op == HLO_MINIMUM ? INFINITY
                                      : below(2);
  if (hr_dtype_is_float(dtype)) bits = hr_float_encode(dtype, number);
  if (dtype == HR_PRED) return kernel_value(dtype, KERNEL_SCALAR, &bits);
  if (!hr_dtype_is_float(dtype)) bits = op == HLO_MULTIPLY ? 1 : (uint64_t)(below(9) - 4);
  return kernel_value(dtype, KERNEL_SCALAR, &bits);
}

static double tolerance(hlo_opcode_t op, hr_dtype_t dtype) {
  if (!hr_dtype_is_float(dtype)) return 0;
  if (op == HLO_MAXIMUM || op == HLO_MINIMUM)
    return 1e-30; /* which of several NaNs it is may differ */
  if (dtype == HR_F64) return 1e-12;
  return dtype == HR_F32 ? 1e-5 : 1e-2;
}

static bool check_windows(hlo_opcode_t op, hr_dtype_t dtype, int rank, const int64_t *dims,
                          const hlo_window_dim_t *windows) {
  kernel_env_t k;
  kernel_env_init(&k);
  int64_t out_dims[8];
  hlo_window_t window = {rank, windows};
  hlo_attr_t attr = {.key = HLO_ATTR_WINDOW, .window = &window};
  hlo_computation_t *body = kernel_binary_body(&k, op, dtype, 2, 0, 1);
  for (int d = 0; d < rank; d++) out_dims[d] = result_size(&windows[d], dims[d]);
  hlo_value_t *in[] = {kernel_value(dtype, rank, dims, NULL), initial(op, dtype)};
  native_fill(in[0], op == HLO_MAXIMUM || op == HLO_MINIMUM);
  if (op == HLO_MULTIPLY && hr_dtype_is_float(dtype)) /* small numbers, lest products overflow */
    for (int64_t i = 0; i < in[0]->count; i++) {
      uint64_t bits = hr_float_encode(dtype, 0.5 + (double)below(64) / 64);
      memcpy((char *)in[0]->data + (size_t)i * hr_dtype_bytes(dtype), &bits, hr_dtype_bytes(dtype));
    }
  bool accepted = native_check(&k, tolerance(op, dtype), HLO_REDUCE_WINDOW,
                               kernel_shape(&k, dtype, rank, out_dims), 2, in, 1, &attr, 1, &body);
  hlo_value_release(in[0]);
  hlo_value_release(in[1]);
  kernel_env_deinit(&k);
  return accepted;
}

static const hr_dtype_t types[] = {HR_F32, HR_F64, HR_S32, HR_U32, HR_S64, HR_U64, HR_BF16, HR_F16};
static const hlo_opcode_t ops[] = {HLO_ADD, HLO_MULTIPLY, HLO_MAXIMUM, HLO_MINIMUM};

static const hr_dtype_t narrow[] = {HR_S8, HR_U8, HR_S16, HR_U16, HR_PRED};

/* Sums, maxima and minima of narrow integers; of predicates only the last two, by their logical
 * names too. */
static void narrow_windows(void) {
  static const hlo_opcode_t of[] = {HLO_ADD, HLO_MAXIMUM, HLO_MINIMUM},
                            logical[] = {HLO_OR, HLO_AND, HLO_OR};
  hlo_window_dim_t three = {3, 1, 1, 1, 1, 1, false};
  srand(5);
  for (int t = 0; t < 5; t++)
    for (int i = 0; i < 3; i++) {
      hlo_opcode_t op = narrow[t] == HR_PRED ? logical[i] : of[i];
      CU_ASSERT_TRUE(
          check_windows(op, narrow[t], 2, (int64_t[]){20, 30}, (hlo_window_dim_t[]){three, three}));
      CU_ASSERT_TRUE(check_windows(op, narrow[t], 2, (int64_t[]){9, 50},
                                   (hlo_window_dim_t[]){trivial(), running(50, i)}));
    }
}

static void small_windows(void) {
  int accepted = 0, rounds = 400;
  srand(1);
  for (int round = 0; round < rounds; round++) {
    int rank = 1 + (int)below(4);
    int64_t dims[4];
    hlo_window_dim_t windows[4];
    int64_t most = round % 8 ? 9 : 40;
    for (int d = 0; d < rank; d++) {
      dims[d] = below(12) == 0 ? 0 : 1 + below(most);
      windows[d] = below(3) == 0 ? trivial() : random_window();
    }
    accepted += check_windows(ops[below(4)], types[below(8)], rank, dims, windows);
  }
  CU_ASSERT_TRUE(accepted >
                 rounds * 3 / 4); /* base dilations along a row are left to the reference */
}

static void poolings(void) {
  srand(2);
  hlo_window_dim_t three = {3, 2, 0, 1, 1, 1, false}, one = trivial();
  for (int i = 0; i < 4; i++) {
    CU_ASSERT_TRUE(check_windows(ops[i], HR_F32, 4, (int64_t[]){2, 28, 28, 64},
                                 (hlo_window_dim_t[]){one, three, three, one}));
    CU_ASSERT_TRUE(check_windows(ops[i], HR_F32, 4, (int64_t[]){2, 9, 28, 29},
                                 (hlo_window_dim_t[]){one, one, three, three}));
    CU_ASSERT_TRUE(check_windows(ops[i], HR_BF16, 3, (int64_t[]){3, 400, 3},
                                 (hlo_window_dim_t[]){one, three, one}));
  }
}

/* Taps that lie over a single result, of rows with trailing elements: means of whole images. */
static void whole_images(void) {
  srand(8);
  hlo_window_dim_t seven = {7, 1, 0, 0, 1, 1, false}, two = {2, 1, 0, 0, 1, 1, false};
  hlo_window_dim_t same = {5, 1, 2, 2, 1, 1, false}, one = trivial();
  for (int i = 0; i < 4; i++) {
    CU_ASSERT_TRUE(check_windows(ops[i], HR_F32, 4, (int64_t[]){4, 7, 7, 70},
                                 (hlo_window_dim_t[]){one, seven, seven, one}));
    CU_ASSERT_TRUE(check_windows(ops[i], HR_F64, 4, (int64_t[]){3, 2, 2, 3},
                                 (hlo_window_dim_t[]){one, two, two, one}));
    CU_ASSERT_TRUE(check_windows(ops[i], HR_F32, 3, (int64_t[]){3, 3, 4},
                                 (hlo_window_dim_t[]){one, same, one}));
  }
}

static void running_totals(void) {
  static const int64_t sizes[][3] = {{3, 50, 1}, {1, 20000, 1}, {7, 9000, 1}, {5, 33, 70},
                                     {9, 67, 1}, {1, 1, 1},     {0, 4, 2},    {1, 300, 3}};
  srand(3);
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int t = 0; t < 8; t++)
      for (int i = 0; i < 4; i++) {
        if (ops[i] == HLO_MULTIPLY && sizes[s][1] > 70 && hr_dtype_is_float(types[t])) continue;
        hlo_window_dim_t windows[] = {trivial(), running(sizes[s][1], i % 2), trivial()};
        CU_ASSERT_TRUE(check_windows(ops[i], types[t], 3, sizes[s], windows));
        windows[1] = running(sizes[s][1], i % 2 == 0);
        CU_ASSERT_TRUE(
            check_windows(ops[i], types[t], sizes[s][2] == 1 ? 2 : 3, sizes[s], windows));
      }
}

/* Numbers of about the same magnitude all over, so that products stay so, too. */
static hlo_value_t *complex_value(hr_dtype_t dtype, int rank, const int64_t *dims) {
  hlo_value_t *value = kernel_value(dtype, rank, dims, NULL);
  for (int64_t i = 0; i < 2 * value->count; i++) {
    double part = i % 2 ? 0.6 - (double)below(3) / 1024 : 0.8 + (double)below(3) / 1024;
    if (dtype == HR_C64)
      ((float *)value->data)[i] = (float)part;
    else
      ((double *)value->data)[i] = part;
  }
  return value;
}

static void check_complex(hlo_opcode_t op, hr_dtype_t dtype, const int64_t *sizes, bool reverse) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_window_dim_t windows[] = {trivial(), running(sizes[1], reverse), trivial()};
  hlo_window_t window = {3, windows};
  hlo_attr_t attr = {.key = HLO_ATTR_WINDOW, .window = &window};
  hlo_computation_t *body = kernel_binary_body(&k, op, dtype, 2, 0, 1);
  hlo_value_t *in[] = {complex_value(dtype, 3, sizes), complex_value(dtype, 0, NULL)};
  CU_ASSERT_TRUE(native_check(&k, dtype == HR_C64 ? 1e-4 : 1e-12, HLO_REDUCE_WINDOW,
                              kernel_shape(&k, dtype, 3, sizes), 2, in, 1, &attr, 1, &body));
  hlo_value_release(in[0]);
  hlo_value_release(in[1]);
  kernel_env_deinit(&k);
}

static void running_totals_of_complex_numbers(void) {
  static const int64_t sizes[][3] = {{3, 50, 1}, {1, 20000, 1}, {5, 33, 70}};
  static const hlo_opcode_t ops[] = {HLO_ADD, HLO_MULTIPLY};
  static const hr_dtype_t types_of[] = {HR_C64, HR_C128};
  srand(7);
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int kind = 0; kind < 8; kind++)
      if (!(kind & 1) || sizes[s][1] < 100)
        check_complex(ops[kind & 1], types_of[kind / 2 & 1], sizes[s], kind & 4);
}

/* log(exp(a) + exp(b)) as JAX writes it, less its care for infinities; and the larger key with its
 * companion. */
static hlo_computation_t *log_sum(kernel_env_t *k, hr_dtype_t dtype) {
  const hlo_shape_t *shape = hlo_shape_scalar(dtype);
  hlo_computation_t *body = kernel_binary_body(k, HLO_SUBTRACT, dtype, 2, 0, 1);
  hlo_instr_t *a = body->params.data[0], *b = body->params.data[1], *apart = body->root;
  hlo_instr_t *most =
      kernel_instr(k, body, HLO_MAXIMUM, shape, 2, (hlo_instr_t *[]){a, b}, 0, NULL, 0, NULL);
  apart = kernel_instr(k, body, HLO_ABS, shape, 1, &apart, 0, NULL, 0, NULL);
  apart = kernel_instr(k, body, HLO_NEGATE, shape, 1, &apart, 0, NULL, 0, NULL);
  apart = kernel_instr(k, body, HLO_EXPONENTIAL, shape, 1, &apart, 0, NULL, 0, NULL);
  apart = kernel_instr(k, body, HLO_LOG_PLUS_ONE, shape, 1, &apart, 0, NULL, 0, NULL);
  kernel_instr(k, body, HLO_ADD, shape, 2, (hlo_instr_t *[]){most, apart}, 0, NULL, 0, NULL);
  return body;
}

static hlo_computation_t *larger_pair(kernel_env_t *k, hr_dtype_t dtype) {
  bool is_float = hr_dtype_is_float(dtype);
  const hlo_shape_t *key = hlo_shape_scalar(dtype), *other = hlo_shape_scalar(HR_S32);
  hlo_computation_t *body = kernel_body(k);
  for (int p = 0; p < 4; p++) kernel_parameter(k, body, p, p % 2 ? other : key);
  hlo_instr_t **p = body->params.data;
  hlo_attr_t attrs[] = {KERNEL_INT(DIRECTION, HLO_DIRECTION_GE),
                        KERNEL_INT(TYPE, is_float ? HLO_COMPARISON_FLOAT : HLO_COMPARISON_SIGNED)};
  hlo_instr_t *keep = kernel_instr(k, body, HLO_COMPARE, hlo_shape_scalar(HR_PRED), 2,
                                   (hlo_instr_t *[]){p[0], p[2]}, 2, attrs, 0, NULL);
  hlo_instr_t *a = kernel_instr(k, body, HLO_SELECT, key, 3, (hlo_instr_t *[]){keep, p[0], p[2]}, 0,
                                NULL, 0, NULL);
  hlo_instr_t *b = kernel_instr(k, body, HLO_SELECT, other, 3, (hlo_instr_t *[]){keep, p[1], p[3]},
                                0, NULL, 0, NULL);
  const hlo_shape_t *scalars[] = {key, other};
  kernel_instr(k, body, HLO_TUPLE, kernel_tuple_shape(k, 2, scalars), 2, (hlo_instr_t *[]){a, b}, 0,
               NULL, 0, NULL);
  return body;
}

/* Pairs of floats, which NaN lets lose elements, run forward alone. */
static void check_running(bool pairs, const int64_t *sizes, bool reverse) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_window_dim_t windows[] = {trivial(), running(sizes[1], reverse), trivial()};
  hlo_window_t window = {3, windows};
  hlo_attr_t attr = {.key = HLO_ATTR_WINDOW, .window = &window};
  hr_dtype_t dtype = pairs && reverse ? HR_S32 : HR_F32;
  hlo_computation_t *body = pairs ? larger_pair(&k, dtype) : log_sum(&k, dtype);
  const hlo_shape_t *parts[] = {kernel_shape(&k, dtype, 3, sizes),
                                kernel_shape(&k, HR_S32, 3, sizes)};
  float low = -1e30f; /* a negative number, too, as s32 */
  hlo_value_t *key = kernel_value(dtype, 3, sizes, NULL),
              *least = kernel_value(dtype, KERNEL_SCALAR, &low);
  hlo_value_t *other = kernel_value(HR_S32, 3, sizes, NULL),
              *none = kernel_value(HR_S32, KERNEL_SCALAR, NULL);
  native_fill(key, false);
  native_fill(other, false);
  hlo_value_t *one[] = {key, least}, *two[] = {key, other, least, none};
  const hlo_shape_t *result = pairs ? kernel_tuple_shape(&k, 2, parts) : parts[0];
  int operands = pairs ? 4 : 2;
  CU_ASSERT_TRUE(native_check(&k, pairs ? 0 : 1e-5, HLO_REDUCE_WINDOW, result, operands,
                              pairs ? two : one, 1, &attr, 1, &body));
  for (int i = 0; i < 4; i++) hlo_value_release(two[i]);
  kernel_env_deinit(&k);
}

static void running_totals_of_any_body(void) {
  static const int64_t sizes[][3] = {{3, 50, 1},   {1, 20001, 1}, {7, 900, 1}, {5, 33, 270},
                                     {300, 77, 1}, {0, 4, 2},     {1, 300, 3}};
  srand(6);
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int kind = 0; kind < 4; kind++) check_running(kind & 1, sizes[s], kind & 2);
}

static void check_select(int direction, hr_dtype_t dtype, int rank, const int64_t *dims,
                         const hlo_window_dim_t *windows) {
  kernel_env_t k;
  kernel_env_init(&k);
  int64_t source_dims[8];
  hlo_window_t window = {rank, windows};
  hlo_attr_t attr = {.key = HLO_ATTR_WINDOW, .window = &window};
  hlo_computation_t *bodies[] = {kernel_compare_body(&k, direction, 0, dtype, 2, 0, 1),
                                 kernel_binary_body(&k, HLO_ADD, dtype, 2, 0, 1)};
  for (int d = 0; d < rank; d++) source_dims[d] = result_size(&windows[d], dims[d]);
  hlo_value_t *in[] = {kernel_value(dtype, rank, dims, NULL),
                       kernel_value(dtype, rank, source_dims, NULL), initial(HLO_ADD, dtype)};
  native_fill(in[0], true);
  native_fill(in[1], false);
  CU_ASSERT_TRUE(native_check(&k, 0, HLO_SELECT_AND_SCATTER, kernel_shape(&k, dtype, rank, dims), 3,
                              in, 1, &attr, 2, bodies));
  for (int i = 0; i < 3; i++) hlo_value_release(in[i]);
  kernel_env_deinit(&k);
}

static void selects_and_scatters(void) {
  static const hr_dtype_t of[] = {HR_F32, HR_F64, HR_BF16, HR_F16, HR_S32};
  static const int directions[] = {HLO_DIRECTION_GE, HLO_DIRECTION_GT, HLO_DIRECTION_LE,
                                   HLO_DIRECTION_LT};
  srand(4);
  for (int round = 0; round < 300; round++) {
    int rank = 1 + (int)below(4);
    int64_t dims[4];
    hlo_window_dim_t windows[4];
    int64_t most = round % 8 ? 9 : 30;
    for (int d = 0; d < rank; d++) {
      dims[d] = below(15) == 0 ? 0 : 1 + below(most);
      windows[d] = below(3) == 0 ? trivial() : random_window();
      windows[d].base_dilation = 1;
      windows[d].window_dilation = 1;
    }
    check_select(directions[below(4)], of[below(5)], rank, dims, windows);
  }
  hlo_window_dim_t three = {3, 2, 0, 1, 1, 1, false}, one = trivial();
  check_select(HLO_DIRECTION_GE, HR_F32, 4, (int64_t[]){2, 28, 28, 100},
               (hlo_window_dim_t[]){one, three, three, one});
  check_select(HLO_DIRECTION_GE, HR_F32, 4, (int64_t[]){2, 9, 28, 28},
               (hlo_window_dim_t[]){one, one, three, three});
  for (int i = 0; i < 20; i++) {
    hlo_window_dim_t wide = {1 + below(5), 1 + below(3), below(3), below(3), 1, 1 + i % 2, false};
    check_select(directions[i % 4], of[i % 5], 3, (int64_t[]){2, 9, 60 + 20 * i},
                 (hlo_window_dim_t[]){one, three, wide});
  }
}

CU_TestInfo suite_native_window[] = {
    {"small windows", small_windows},
    {"narrow windows", narrow_windows},
    {"poolings", poolings},
    {"whole images", whole_images},
    {"running totals", running_totals},
    {"running totals of complex numbers", running_totals_of_complex_numbers},
    {"running totals of any body", running_totals_of_any_body},
    {"selects and scatters", selects_and_scatters},
    CU_TEST_INFO_NULL};
