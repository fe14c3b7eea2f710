/* Native gathers and scatters against the reference: rows, columns, combiners, indices that lie
 * outside. */
#include "tests/lib/native_harness.h"

/* A random geometry of gather or scatter: an operand, an index array, and windows that are
 * dimensions of a third array.
 */
typedef struct geometry {
  int rank;
  int64_t dims[4], sizes[4];
  bool indexed[4], dropped[4], batching[4];
  int index_rank; /* without the vector dimension */
  int64_t index_dims[6];
  int64_t vector_dim, index_dims_all[6];
  int64_t start_map[4], batching_dims[4], index_batching[4], dropped_dims[4], window_dims[4];
  int starts, batches, drops, windows;
  int other_rank;
  int64_t other_dims[8];
  bool claims_order; /* scatter: indices_are_sorted */
} geometry_t;

static int64_t below(int64_t n) { return rand() % n; }

static void choose_dims(geometry_t *g, int64_t most) {
  *g = (geometry_t){.rank = 1 + (int)below(4)};
  for (int d = 0; d < g->rank; d++) {
    g->dims[d] = 1 + below(most);
    g->sizes[d] = g->dims[d];
    int kind = (int)below(4);
    g->indexed[d] = kind < 2;
    g->batching[d] = kind == 2 && g->batches < 2;
    if (kind == 0) g->sizes[d] = 1;
    if (kind == 1) g->sizes[d] = 1 + below(g->dims[d]);
    if (g->batching[d]) g->sizes[d] = 1, g->batches++;
    g->dropped[d] = !g->batching[d] && g->sizes[d] == 1 && below(4) > 0;
    if (g->indexed[d]) g->start_map[g->starts++] = d;
    if (g->dropped[d]) g->dropped_dims[g->drops++] = d;
  }
  for (int i = 1; i < g->starts; i++) {
    int j = (int)below(i + 1);
    int64_t swap = g->start_map[i];
    g->start_map[i] = g->start_map[j];
    g->start_map[j] = swap;
  }
}

/* Index dimensions: those of batches, and free ones; the vector dimension somewhere among them. */
static void choose_indices(geometry_t *g) {
  int batch = 0;
  for (int d = 0; d < g->rank; d++)
    if (g->batching[d]) {
      g->batching_dims[batch] = d;
      g->index_batching[batch++] = g->index_rank;
      g->index_dims[g->index_rank++] = g->dims[d];
    }
  for (int i = (int)below(3); i > 0; i--)
    g->index_dims[g->index_rank++] = below(12) == 0 ? 0 : 1 + below(9);
  bool implicit = g->starts == 1 && below(2);
  g->vector_dim = implicit ? g->index_rank : below(g->index_rank + 1);
  int at = 0;
  for (int d = 0; d <= g->index_rank; d++) {
    if (d == g->vector_dim && !implicit) g->index_dims_all[at++] = g->starts;
    if (d < g->index_rank) g->index_dims_all[at++] = g->index_dims[d];
  }
  for (int b = 0; b < batch; b++)
    if (!implicit && g->index_batching[b] >= g->vector_dim) g->index_batching[b]++;
  g->index_rank = implicit ? g->index_rank : g->index_rank + 1;
}

static void choose_other(geometry_t *g) {
  int own = 0, places = g->index_rank - (g->vector_dim < g->index_rank ? 1 : 0), next_size = 0,
      next_tap = 0;
  int64_t windows[4], batch[6];
  for (int d = 0; d < g->rank; d++)
    if (!g->dropped[d] && !g->batching[d]) windows[own++] = g->sizes[d];
  for (int d = 0; d < g->index_rank; d++)
    if (d != g->vector_dim) batch[next_tap++] = g->index_dims_all[d];
  next_tap = 0;
  g->other_rank = own + places;
  for (int d = 0; d < g->other_rank; d++) {
    bool window = next_size < own && (next_tap == places || below(2));
    if (window) g->window_dims[g->windows++] = d;
    g->other_dims[d] = window ? windows[next_size++] : batch[next_tap++];
  }
}

static int64_t element_count(int rank, const int64_t *dims) {
  int64_t count = 1;
  for (int d = 0; d < rank; d++) count *= dims[d];
  return count;
}

/* Elements of an array, at most: larger ones take most of the time and show no more. */
#define ELEMENTS_MAX (1 << 18)

static geometry_t choose(int64_t most) {
  geometry_t g;
  do {
    choose_dims(&g, most);
    choose_indices(&g);
    choose_other(&g);
  } while (element_count(g.rank, g.dims) > ELEMENTS_MAX ||
           element_count(g.other_rank, g.other_dims) > ELEMENTS_MAX);
  return g;
}

static hlo_value_t *choose_starts(const geometry_t *g) {
  static const hr_dtype_t types[] = {HR_S8, HR_U8, HR_S16, HR_S32, HR_U32, HR_S64, HR_U64};
  hlo_value_t *value = kernel_value(types[below(7)], g->index_rank, g->index_dims_all, NULL);
  for (int64_t i = 0; i < value->count; i++) {
    int64_t index;
    if (below(8))
      index = below(12);
    else
      index = below(4) ? -1 - below(3) : INT64_MIN + below(9);
    memcpy((char *)value->data + (size_t)i * hr_dtype_bytes(value->dtype), &index,
           hr_dtype_bytes(value->dtype));
  }
  return value;
}

static hlo_attr_t list(hlo_attr_key_t key, const int64_t *data, int count) {
  return (hlo_attr_t){.key = key, .ints = {data, count}};
}

/* Generated code may take what writes many elements. */
static bool is_small(const geometry_t *g) {
  return element_count(g->other_rank, g->other_dims) < 1 << 10;
}

static void check_gather(const geometry_t *g, hr_dtype_t dtype) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_attr_t attrs[] = {list(HLO_ATTR_OFFSET_DIMS, g->window_dims, g->windows),
                        list(HLO_ATTR_COLLAPSED_SLICE_DIMS, g->dropped_dims, g->drops),
                        list(HLO_ATTR_START_INDEX_MAP, g->start_map, g->starts),
                        list(HLO_ATTR_OPERAND_BATCHING_DIMS, g->batching_dims, g->batches),
                        list(HLO_ATTR_START_INDICES_BATCHING_DIMS, g->index_batching, g->batches),
                        {.key = HLO_ATTR_INDEX_VECTOR_DIM, .integer = g->vector_dim},
                        list(HLO_ATTR_SLICE_SIZES, g->sizes, g->rank)};
  hlo_value_t *in[] = {kernel_value(dtype, g->rank, g->dims, NULL), choose_starts(g)};
  native_fill(in[0], true);
  bool taken =
      native_check(&k, 0, HLO_GATHER, kernel_shape(&k, dtype, g->other_rank, g->other_dims), 2, in,
                   7, attrs, 0, NULL);
  CU_ASSERT_TRUE(taken || !is_small(g));
  hlo_value_release(in[0]);
  hlo_value_release(in[1]);
  kernel_env_deinit(&k);
}

static void gathers(void) {
  static const hr_dtype_t types[] = {HR_PRED, HR_S8, HR_BF16, HR_F32, HR_F64, HR_C128};
  srand(1);
  for (int round = 0; round < 600; round++) {
    geometry_t g = choose(round % 10 ? 7 : 90);
    check_gather(&g, types[below(6)]);
  }
}

/* Rows of `width` elements, `count` times: of a gather, or of the updates of a scatter. */
static geometry_t choose_rows(int64_t rows, int64_t width, int64_t count) {
  return (geometry_t){.rank = 2,
                      .dims = {rows, width},
                      .sizes = {1, width},
                      .index_rank = 2,
                      .index_dims_all = {count, 1},
                      .vector_dim = 1,
                      .start_map = {0},
                      .starts = 1,
                      .other_rank = 2,
                      .other_dims = {count, width},
                      .window_dims = {1},
                      .windows = 1,
                      .dropped_dims = {0},
                      .drops = 1};
}

/* Rows of all lengths up to more than the longest that are copied by vectors. */
static void gathers_rows(void) {
  static const hr_dtype_t types[] = {HR_U8, HR_BF16, HR_F32, HR_C64};
  srand(6);
  for (int64_t bytes = 1; bytes <= 140; bytes += bytes < 34 ? 1 : 5)
    for (int t = 0; t < 4; t++) {
      int64_t width = bytes / (int64_t)hr_dtype_bytes(types[t]);
      if (width * (int64_t)hr_dtype_bytes(types[t]) != bytes) continue;
      geometry_t g = choose_rows(bytes % 3 ? 7 : 3000, width, 40);
      check_gather(&g, types[t]);
    }
}

/* Columns, as many and more than are indexed at once. */
static void gathers_columns(void) {
  static const hr_dtype_t types[] = {HR_U8, HR_BF16, HR_F32, HR_F64, HR_C128};
  srand(10);
  for (int64_t count = 1; count < 600; count += count < 20 ? 3 : 190)
    for (int t = 0; t < 5; t++) {
      geometry_t g = {.rank = 2,
                      .dims = {50, 33},
                      .sizes = {50, 1},
                      .index_rank = 2,
                      .index_dims_all = {count, 1},
                      .vector_dim = 1,
                      .start_map = {1},
                      .starts = 1,
                      .other_rank = 2,
                      .other_dims = {50, count},
                      .window_dims = {0},
                      .windows = 1,
                      .dropped_dims = {1},
                      .drops = 1};
      check_gather(&g, types[t]);
    }
}

/* op of accumulator and update; overwrite for HLO_COPY; a - b * b for HLO_SUBTRACT. */
static hlo_computation_t *scatter_body(kernel_env_t *k, hlo_opcode_t op, hr_dtype_t dtype) {
  if (op != HLO_COPY && op != HLO_SUBTRACT) return kernel_binary_body(k, op, dtype, 2, 0, 1);
  hlo_computation_t *body = kernel_body(k);
  hlo_instr_t *a = kernel_parameter(k, body, 0, hlo_shape_scalar(dtype));
  hlo_instr_t *b = kernel_parameter(k, body, 1, hlo_shape_scalar(dtype));
  if (op == HLO_COPY) return body;
  b = kernel_instr(k, body, HLO_MULTIPLY, hlo_shape_scalar(dtype), 2, (hlo_instr_t *[]){b, b}, 0,
                   NULL, 0, NULL);
  kernel_instr(k, body, HLO_SUBTRACT, hlo_shape_scalar(dtype), 2, (hlo_instr_t *[]){a, b}, 0, NULL,
               0, NULL);
  return body;
}

/* Exact, but for which of two values that are no numbers is kept. */
#define ANY_NAN 1e-30

static void check_scatter(const geometry_t *g, hlo_opcode_t op, hr_dtype_t dtype) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_attr_t attrs[] = {list(HLO_ATTR_UPDATE_WINDOW_DIMS, g->window_dims, g->windows),
                        list(HLO_ATTR_INSERTED_WINDOW_DIMS, g->dropped_dims, g->drops),
                        list(HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS, g->start_map, g->starts),
                        list(HLO_ATTR_INPUT_BATCHING_DIMS, g->batching_dims, g->batches),
                        list(HLO_ATTR_SCATTER_INDICES_BATCHING_DIMS, g->index_batching, g->batches),
                        {.key = HLO_ATTR_INDEX_VECTOR_DIM, .integer = g->vector_dim},
                        {.key = HLO_ATTR_INDICES_ARE_SORTED, .flag = g->claims_order}};
  hlo_computation_t *body = scatter_body(&k, op, dtype);
  hlo_value_t *in[] = {kernel_value(dtype, g->rank, g->dims, NULL), choose_starts(g),
                       kernel_value(dtype, g->other_rank, g->other_dims, NULL)};
  native_fill(in[0], true);
  native_fill(in[2], true);
  CU_ASSERT_TRUE(native_check(&k, ANY_NAN, HLO_SCATTER, kernel_shape(&k, dtype, g->rank, g->dims),
                              3, in, 7, attrs, 1, &body));
  for (int i = 0; i < 3; i++) hlo_value_release(in[i]);
  kernel_env_deinit(&k);
}

static void scatters(void) {
  static const hr_dtype_t types[] = {HR_S8, HR_BF16, HR_F32, HR_F64, HR_S32, HR_S64, HR_F16};
  static const hlo_opcode_t ops[] = {HLO_ADD, HLO_COPY, HLO_MAXIMUM, HLO_MULTIPLY, HLO_SUBTRACT};
  srand(2);
  for (int round = 0; round < 600; round++) {
    geometry_t g = choose(round % 10 ? 7 : 90);
    check_scatter(&g, ops[below(5)], types[below(7)]);
  }
}

/* Integers of every width, and the ops on their bits. */
static void scatters_integers(void) {
  static const hr_dtype_t types[] = {HR_S8,  HR_S16, HR_S32, HR_S64, HR_U8,
                                     HR_U16, HR_U32, HR_U64, HR_PRED};
  static const hlo_opcode_t ops[] = {HLO_AND,      HLO_OR,      HLO_XOR,    HLO_ADD,
                                     HLO_MULTIPLY, HLO_MAXIMUM, HLO_MINIMUM};
  srand(5);
  for (int round = 0; round < 400; round++) {
    hr_dtype_t dtype = types[below(9)];
    geometry_t g = choose(round % 10 ? 7 : 90);
    check_scatter(&g, ops[below(dtype == HR_PRED ? 3 : 7)], dtype);
  }
}

/* Complex numbers, and rows of few elements, many of which fall on one another. */
static void scatters_complex_and_short_rows(void) {
  static const hr_dtype_t types[] = {HR_C64, HR_C128, HR_F32, HR_F64, HR_S32, HR_U8};
  static const hlo_opcode_t ops[] = {HLO_ADD, HLO_COPY, HLO_MULTIPLY};
  srand(9);
  for (int round = 0; round < 60; round++) {
    geometry_t g = choose(round % 10 ? 7 : 90);
    check_scatter(&g, ops[below(3)], types[below(2)]);
  }
  for (int64_t width = 1; width <= 9; width++)
    for (int t = 0; t < 6; t++) {
      geometry_t g = choose_rows(20, width, 100);
      check_scatter(&g, ops[(width + t) % 3], types[t]);
    }
}

/* Large enough for several workers, in each of the ways to share the work. */
static void scatters_in_parts(void) {
  static const int64_t shapes[][3] = {
      {300, 1024, 400}, {300, 40, 2000}, {30, 17, 2000}, {9, 3000, 60}};
  srand(3);
  for (int round = 0; round < 24; round++) {
    const int64_t *s = shapes[round % 4];
    geometry_t g = choose_rows(s[0], s[1], s[2]);
    if (round % 3 == 2) { /* windows of two rows, which overlap */
      g = (geometry_t){.rank = 2,
                       .dims = {s[0], s[1]},
                       .index_rank = 2,
                       .index_dims_all = {s[2], 1},
                       .vector_dim = 1,
                       .start_map = {0},
                       .starts = 1,
                       .other_rank = 3,
                       .other_dims = {s[2], 2, s[1]},
                       .window_dims = {1, 2},
                       .windows = 2};
    }
    check_scatter(&g, round % 2 ? HLO_ADD : HLO_COPY,
                  round % 5   ? HR_F32
                  : round % 2 ? HR_F16
                              : HR_BF16);
  }
}

/* Many updates of a small operand, and ops whose result does not depend on the order. */
static void scatters_in_copies(void) {
  enum { CASES = 12 };
  static const hr_dtype_t types[CASES] = {HR_S32, HR_F32, HR_S64, HR_F64, HR_S32,  HR_U8,
                                          HR_U16, HR_S8,  HR_F16, HR_F16, HR_BF16, HR_BF16};
  static const hlo_opcode_t ops[CASES] = {HLO_ADD,     HLO_MAXIMUM, HLO_MULTIPLY, HLO_MAXIMUM,
                                          HLO_MINIMUM, HLO_MINIMUM, HLO_AND,      HLO_MAXIMUM,
                                          HLO_MAXIMUM, HLO_ADD,     HLO_MINIMUM,  HLO_ADD};
  srand(4);
  for (int round = 0; round < 2 * CASES; round++) {
    int64_t width = round < CASES ? 1 : 7, count = 70000 / width;
    geometry_t g = choose_rows(30, width, count);
    check_scatter(&g, ops[round % CASES], types[round % CASES]);
  }
}

/* Runs of updates of one element, whose indices are said to be sorted, but are not always. */
static void scatters_in_runs(void) {
  static const hr_dtype_t types[] = {HR_F32, HR_F64, HR_S32, HR_S64, HR_C64, HR_C128};
  static const hlo_opcode_t ops[] = {HLO_ADD, HLO_COPY, HLO_MULTIPLY, HLO_MAXIMUM};
  srand(11);
  for (int t = 0; t < 6; t++)
    for (int op = 0; op < (t < 4 ? 4 : 2); op++)
      for (int64_t rows = 1; rows <= 16; rows *= 4) {
        geometry_t g = choose_rows(rows, 1, 400);
        g.claims_order = true;
        check_scatter(&g, ops[op], types[t]);
      }
}

/* Two operands by one body: the larger key wins with its companion. */
static void scatters_pairs(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_computation_t *body = kernel_body(&k);
  const hlo_shape_t *f32 = hlo_shape_scalar(HR_F32), *s32 = hlo_shape_scalar(HR_S32);
  for (int p = 0; p < 4; p++) kernel_parameter(&k, body, p, p % 2 ? s32 : f32);
  hlo_instr_t **p = body->params.data;
  hlo_attr_t compare[] = {KERNEL_INT(DIRECTION, HLO_DIRECTION_GE),
                          KERNEL_INT(TYPE, HLO_COMPARISON_FLOAT)};
  hlo_instr_t *keep = kernel_instr(&k, body, HLO_COMPARE, hlo_shape_scalar(HR_PRED), 2,
                                   (hlo_instr_t *[]){p[0], p[2]}, 2, compare, 0, NULL);
  hlo_instr_t *a = kernel_instr(&k, body, HLO_SELECT, f32, 3, (hlo_instr_t *[]){keep, p[0], p[2]},
                                0, NULL, 0, NULL);
  hlo_instr_t *b = kernel_instr(&k, body, HLO_SELECT, s32, 3, (hlo_instr_t *[]){keep, p[1], p[3]},
                                0, NULL, 0, NULL);
  const hlo_shape_t *scalars[] = {f32, s32};
  kernel_instr(&k, body, HLO_TUPLE, kernel_tuple_shape(&k, 2, scalars), 2, (hlo_instr_t *[]){a, b},
               0, NULL, 0, NULL);
  hlo_value_t *in[] = {kernel_value(HR_F32, KERNEL_DIMS(50, 70), NULL),
                       kernel_value(HR_S32, KERNEL_DIMS(50, 70), NULL),
                       kernel_value(HR_S32, KERNEL_DIMS(400, 1), NULL),
                       kernel_value(HR_F32, KERNEL_DIMS(400, 70), NULL),
                       kernel_value(HR_S32, KERNEL_DIMS(400, 70), NULL)};
  for (int i = 0; i < 5; i++) native_fill(in[i], false);
  for (int i = 0; i < 400; i++) ((int32_t *)in[2]->data)[i] = (int32_t)below(51);
  hlo_attr_t attrs[] = {KERNEL_INTS(UPDATE_WINDOW_DIMS, 1), KERNEL_INTS(INSERTED_WINDOW_DIMS, 0),
                        KERNEL_INTS(SCATTER_DIMS_TO_OPERAND_DIMS, 0),
                        KERNEL_INT(INDEX_VECTOR_DIM, 1)};
  const hlo_shape_t *parts[] = {kernel_shape(&k, HR_F32, KERNEL_DIMS(50, 70)),
                                kernel_shape(&k, HR_S32, KERNEL_DIMS(50, 70))};
  CU_ASSERT_TRUE(native_check(&k, 0, HLO_SCATTER, kernel_tuple_shape(&k, 2, parts), 5, in, 4, attrs,
                              1, &body));
  for (int i = 0; i < 5; i++) hlo_value_release(in[i]);
  kernel_env_deinit(&k);
}

CU_TestInfo suite_native_gather[] = {
    {"gathers", gathers},
    {"gathers rows", gathers_rows},
    {"gathers columns", gathers_columns},
    {"scatters", scatters},
    {"scatters complex numbers and short rows", scatters_complex_and_short_rows},
    {"scatters integers", scatters_integers},
    {"scatters in parts", scatters_in_parts},
    {"scatters in copies", scatters_in_copies},
    {"scatters in runs", scatters_in_runs},
    {"scatters pairs", scatters_pairs},
    CU_TEST_INFO_NULL};
