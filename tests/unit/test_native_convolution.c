#include <math.h>
#include <stdlib.h>

#include "tests/lib/native_harness.h"
#include "tests/lib/unit.h"

typedef struct conv_types {
  hr_dtype_t lhs, rhs, out;
} conv_types_t;

static const conv_types_t types[] = {
    {HR_F32, HR_F32, HR_F32},    {HR_F32, HR_F32, HR_F32},   {HR_F32, HR_F32, HR_F32},
    {HR_BF16, HR_BF16, HR_BF16}, {HR_BF16, HR_BF16, HR_F32}, {HR_F16, HR_F16, HR_F16},
    {HR_S8, HR_S8, HR_S32},      {HR_F64, HR_F64, HR_F64},   {HR_C64, HR_C64, HR_C64},
    {HR_C128, HR_C128, HR_C128}, {HR_S32, HR_S32, HR_S32},   {HR_U8, HR_S16, HR_S64},
    {HR_F32, HR_C64, HR_C64},    {HR_S8, HR_S8, HR_S8}};
enum { TYPES = sizeof types / sizeof *types };

/* A convolution by what it means; dimension numbers are drawn. */
typedef struct conv_case {
  const conv_types_t *types;
  int spatial;
  int64_t batch, features, out_features, feature_groups, batch_groups;
  int64_t in[3];
  hlo_window_dim_t window[3];
  bool is_gradient; /* a gradient of weights, with the channels of both operands last */
} conv_case_t;

/* Where batch, feature and the spatial dimensions go: channels last, first, or anywhere. */
static void draw_dims(uint64_t *seed, int spatial, int64_t *positions) {
  int rank = spatial + 2;
  int64_t kind = native_pick(seed, 4);
  if (kind < 2) { /* batch, spatial, feature; or batch, feature, spatial */
    positions[0] = 0;
    positions[1] = kind == 0 ? rank - 1 : 1;
    for (int d = 0; d < spatial; d++) positions[2 + d] = d + 1 + (int)kind;
    return;
  }
  for (int i = 0; i < rank; i++) positions[i] = i;
  for (int i = rank - 1; i > 0; i--) {
    int64_t j = native_pick(seed, i + 1), keep = positions[i];
    positions[i] = positions[j];
    positions[j] = keep;
  }
}

static const hlo_shape_t *shape_at(native_env_t *env, hr_dtype_t dtype, int spatial,
                                   const int64_t *positions, int64_t first, int64_t second,
                                   const int64_t *sizes) {
  int64_t dims[5];
  dims[positions[0]] = first;
  dims[positions[1]] = second;
  for (int d = 0; d < spatial; d++) dims[positions[2 + d]] = sizes[d];
  return kernel_shape(&env->k, dtype, spatial + 2, dims);
}

static int64_t dilated(int64_t size, int64_t dilation) { return (size - 1) * dilation + 1; }

static const int64_t *kept(native_env_t *env, const int64_t *list, int count) {
  hr_ints_t ints;
  CU_ASSERT_PTR_NULL_FATAL(hr_arena_ints(&env->k.module->arena, list, count, &ints));
  return ints.data;
}

/* NULL if the window does not fit. */
static const hlo_instr_t *make_conv(native_env_t *env, uint64_t *seed, const conv_case_t *c) {
  int64_t lhs[5], rhs[5], out[5], out_sizes[3], window_sizes[3];
  hr_arena_t *arena = &env->k.module->arena;
  hlo_dim_labels_t *labels;
  hlo_window_t *window;
  void *dims;
  for (int d = 0; d < c->spatial; d++) {
    const hlo_window_dim_t *w = &c->window[d];
    int64_t room = dilated(c->in[d], w->base_dilation) + w->pad_low + w->pad_high;
    int64_t span = dilated(w->size, w->window_dilation);
    if (room < span) return NULL;
    out_sizes[d] = (room - span) / w->stride + 1;
    window_sizes[d] = w->size;
  }
  int rank = c->spatial + 2;
  draw_dims(seed, c->spatial, lhs), draw_dims(seed, c->spatial, rhs),
      draw_dims(seed, c->spatial, out);
  if (c->is_gradient) {
    lhs[0] = rank - 1;
    rhs[1] = rank - 1;
    lhs[1] = 0;
    rhs[0] = 0;
    for (int d = 0; d < c->spatial; d++) lhs[2 + d] = rhs[2 + d] = d + 1;
  }
  CU_ASSERT_PTR_NULL_FATAL(HR_NEW(arena, &labels));
  CU_ASSERT_PTR_NULL_FATAL(HR_NEW(arena, &window));
  CU_ASSERT_PTR_NULL_FATAL(hr_arena_copy(arena, c->window, sizeof c->window, &dims));
  *window = (hlo_window_t){c->spatial, dims};
  *labels = (hlo_dim_labels_t){c->spatial,
                               rank,
                               rank,
                               rank,
                               lhs[0],
                               lhs[1],
                               rhs[0],
                               rhs[1],
                               out[0],
                               out[1],
                               kept(env, lhs + 2, c->spatial),
                               kept(env, rhs + 2, c->spatial),
                               kept(env, out + 2, c->spatial),
                               0,
                               0,
                               0};
  hlo_attr_t attrs[] = {{.key = HLO_ATTR_WINDOW, .window = window},
                        {.key = HLO_ATTR_DIM_LABELS, .labels = labels},
                        KERNEL_INT(FEATURE_GROUP_COUNT, c->feature_groups),
                        KERNEL_INT(BATCH_GROUP_COUNT, c->batch_groups)};
  const hlo_shape_t *shapes[] = {
      shape_at(env, c->types->lhs, c->spatial, lhs, c->batch, c->features, c->in),
      shape_at(env, c->types->rhs, c->spatial, rhs, c->features / c->feature_groups,
               c->out_features, window_sizes)};
  hlo_instr_t *operands[2];
  for (int i = 0; i < 2; i++)
    operands[i] =
        kernel_parameter(&env->k, env->k.entry, (int)env->k.entry->params.count, shapes[i]);
  return kernel_instr(&env->k, env->k.entry, HLO_CONVOLUTION,
                      shape_at(env, c->types->out, c->spatial, out, c->batch / c->batch_groups,
                               c->out_features, out_sizes),
                      2, operands, 4, attrs, 0, NULL);
}

static void print_case(const conv_case_t *c, uint64_t seed) {
  printf("    seed %lu: %s, batch %ld in %ld, features %ld in %ld, out %ld\n", (unsigned long)seed,
         hr_dtype_name(c->types->lhs), (long)c->batch, (long)c->batch_groups, (long)c->features,
         (long)c->feature_groups, (long)c->out_features);
  for (int d = 0; d < c->spatial; d++) {
    const hlo_window_dim_t *w = &c->window[d];
    printf("      in %ld window %ld stride %ld pad %ld_%ld holes %ld and %ld%s\n", (long)c->in[d],
           (long)w->size, (long)w->stride, (long)w->pad_low, (long)w->pad_high,
           (long)w->base_dilation, (long)w->window_dilation, w->reversal ? " reversed" : "");
  }
}

static int check(native_env_t *env, uint64_t *seed, const conv_case_t *c, int *declined) {
  uint64_t start = *seed;
  const hlo_instr_t *conv = make_conv(env, seed, c);
  if (!conv || native_agrees(env, seed, conv, declined)) return 0;
  print_case(c, start);
  return 1;
}

/* What JAX writes: forward, its two gradients, transposed; and anything else. */
enum { FORWARD, OF_INPUT, OF_WEIGHTS, ANYTHING, KINDS };

static conv_case_t draw_case(uint64_t *seed, int kind) {
  conv_case_t c = {.types = &types[native_pick(seed, TYPES)],
                   .spatial = 1 + (int)native_pick(seed, 3)};
  int64_t groups = native_pick(seed, 3) ? 1 : 1 + native_pick(seed, 4),
          wide = native_pick(seed, 3) ? 5 : 40;
  c.batch = 1 + native_pick(seed, 5);
  c.feature_groups = 1;
  c.batch_groups = 1;
  c.features = groups * (1 + native_pick(seed, wide)),
  c.out_features = groups * (1 + native_pick(seed, wide));
  if (native_pick(seed, 6) == 0) c.features = c.out_features = groups = 1 + native_pick(seed, 40);
  for (int d = 0; d < c.spatial; d++) {
    hlo_window_dim_t *w = &c.window[d];
    int64_t stride = 1 + native_pick(seed, 2), holes = 1 + (native_pick(seed, 4) == 0);
    int64_t limit = c.spatial == 3 ? 6 : 12;
    c.in[d] = 1 + native_pick(seed, limit);
    *w = (hlo_window_dim_t){
        1 + native_pick(seed, 4), 1, native_pick(seed, 3), native_pick(seed, 3), 1, 1, false};
    if (kind == FORWARD) {
      w->stride = stride;
      w->window_dilation = holes;
      w->reversal = native_pick(seed, 5) == 0;
    }
    if (kind == OF_INPUT) {
      w->base_dilation = stride;
      w->window_dilation = holes;
      w->reversal = native_pick(seed, 2);
    }
    if (kind == OF_WEIGHTS) {
      w->size = (c.in[d] + stride - 1) / stride;
      w->window_dilation = stride;
      w->stride = holes;
      w->pad_high -= native_pick(seed, stride);
    }
    if (kind == ANYTHING)
      w->stride = stride, w->base_dilation = holes, w->pad_low -= 2,
      w->reversal = native_pick(seed, 2);
  }
  if (kind == OF_WEIGHTS) {
    c.batch_groups = groups;
    c.batch = groups * (1 + native_pick(seed, wide));
  } else
    c.feature_groups = groups;
  return c;
}

/* Draws case number `i`. */
typedef conv_case_t (*draw_fn)(uint64_t *seed, int i);

static void check_drawn(int workers, uint64_t seed, int count, draw_fn draw) {
  native_env_t env;
  int declined = 0, wrong = 0;
  native_env_init(&env, workers);
  for (int i = 0; i < count; i++) {
    conv_case_t c = draw(&seed, i);
    wrong += check(&env, &seed, &c, &declined);
  }
  CU_ASSERT_EQUAL(wrong, 0);
  CU_ASSERT_EQUAL(declined, 0);
  native_env_deinit(&env);
}

static conv_case_t draw_forward(uint64_t *seed, int i) { return (void)i, draw_case(seed, FORWARD); }
static conv_case_t draw_of_input(uint64_t *seed, int i) {
  return (void)i, draw_case(seed, OF_INPUT);
}
static conv_case_t draw_of_weights(uint64_t *seed, int i) {
  return (void)i, draw_case(seed, OF_WEIGHTS);
}
static conv_case_t draw_anything(uint64_t *seed, int i) {
  return (void)i, draw_case(seed, ANYTHING);
}
static conv_case_t draw_either(uint64_t *seed, int i) {
  return draw_case(seed, i % 2 ? OF_INPUT : FORWARD);
}

static void forward(void) { check_drawn(2, 1, 120, draw_forward); }
static void of_input(void) { check_drawn(2, 2, 120, draw_of_input); }
static void of_weights(void) { check_drawn(2, 3, 120, draw_of_weights); }
static void anything(void) { check_drawn(1, 4, 120, draw_anything); }
static void many_workers(void) {
  static const draw_fn draws[] = {draw_forward, draw_of_input, draw_of_weights};
  for (int k = 0; k < 3; k++) check_drawn(5, 8, 120, draws[k]);
}

/* Weights that are known when the kernel is prepared. */
static void constant_weights(void) {
  native_env_t env;
  uint64_t seed = 6;
  int declined = 0, compared = 0;
  native_env_init(&env, 2);
  for (int i = 0; i < 40; i++) {
    conv_case_t c = draw_either(&seed, i);
    hlo_instr_t *conv = (hlo_instr_t *)make_conv(&env, &seed, &c);
    hlo_value_t *values[2];
    if (!conv) continue;
    for (int k = 0; k < 2; k++) {
      const hlo_shape_t *shape = conv->operands[k]->shape;
      values[k] = kernel_value(shape->dtype, shape->rank, shape->dims, NULL);
      native_fill_small(&seed, values[k]);
    }
    conv->operands[1]->op = HLO_CONSTANT;
    conv->operands[1]->literal = values[1];
    CU_ASSERT_TRUE(native_agrees_on(&env, conv, values, &declined));
    hlo_value_release(values[0]);
    hlo_value_release(values[1]);
    compared++;
  }
  CU_ASSERT_EQUAL(declined, 0);
  CU_ASSERT_TRUE(compared >= 30);
  native_env_deinit(&env);
}

/* Cases of the size where ways are measured, parts are several and gradients are added; channels
 * last and first. */
static const conv_case_t large_cases[] = {
    {&types[0],
     2,
     8,
     32,
     48,
     1,
     1,
     {20, 20},
     {{3, 1, 1, 1, 1, 1, false}, {3, 1, 1, 1, 1, 1, false}},
     false},
    {&types[0],
     2,
     3,
     32,
     64,
     1,
     1,
     {20, 20},
     {{3, 2, 0, 1, 1, 1, false}, {3, 2, 0, 1, 1, 1, false}},
     false},
    {&types[0],
     2,
     8,
     40,
     40,
     1,
     1,
     {12, 12},
     {{4, 1, 2, 2, 4, 1, true}, {4, 1, 2, 2, 4, 1, true}},
     false},
    {&types[0],
     2,
     1,
     64,
     64,
     64,
     1,
     {40, 40},
     {{3, 1, 1, 1, 1, 1, false}, {3, 1, 1, 1, 1, 1, false}},
     false},
    {&types[0],
     2,
     32,
     16,
     64,
     1,
     1,
     {18, 18},
     {{16, 1, 0, 0, 1, 1, false}, {16, 1, 0, 0, 1, 1, false}},
     false},
    {&types[3],
     2,
     32,
     16,
     64,
     1,
     1,
     {18, 18},
     {{16, 1, 0, 0, 1, 1, false}, {16, 1, 0, 0, 1, 1, false}},
     false},
    {&types[0], 1, 8, 64, 64, 1, 1, {64}, {{16, 1, 11, 11, 8, 1, false}}, false},
    {&types[7],
     2,
     5,
     24,
     40,
     4,
     1,
     {21, 19},
     {{3, 2, 1, 0, 2, 1, true}, {3, 1, 1, 1, 1, 2, false}},
     false},
    {&types[7],
     2,
     64,
     9,
     34,
     1,
     2,
     {14, 15},
     {{14, 1, 1, 1, 1, 1, false}, {15, 1, 1, 1, 1, 1, false}},
     false},
    {&types[9],
     2,
     3,
     17,
     30,
     1,
     1,
     {23, 20},
     {{1, 1, 0, 0, 1, 1, false}, {1, 1, 0, 0, 1, 1, false}},
     false},
    {&types[7], 1, 1, 1, 1, 1, 1, {5000}, {{51, 1, 25, 25, 1, 1, true}}, false},
    {&types[10],
     2,
     2,
     1,
     1,
     1,
     1,
     {37, 41},
     {{3, 2, 4, 1, 2, 1, false}, {7, 1, -2, 9, 1, 3, true}},
     false},
    {&types[7],
     3,
     2,
     1,
     1,
     1,
     1,
     {7, 9, 12},
     {{3, 1, 1, 1, 1, 1, false}, {3, 2, 0, 1, 1, 2, false}, {5, 1, 6, 6, 1, 2, true}},
     false},
    {&types[8], 1, 2, 64, 64, 64, 1, {300}, {{4, 1, 3, 0, 1, 1, false}}, false},
    {&types[10],
     2,
     4,
     32,
     48,
     2,
     1,
     {20, 20},
     {{3, 1, 1, 1, 1, 1, false}, {3, 1, 1, 1, 1, 1, false}},
     false},
    {&types[0],
     2,
     3,
     3,
     40,
     1,
     1,
     {37, 45},
     {{7, 2, 2, 3, 1, 1, false}, {7, 2, 2, 3, 1, 1, true}},
     false},
    {&types[0], 1, 5, 24, 100, 1, 1, {301}, {{5, 2, 2, 2, 1, 3, false}}, false},
    {&types[3],
     2,
     6,
     48,
     72,
     1,
     1,
     {17, 15},
     {{3, 1, 1, 1, 1, 1, false}, {3, 1, 1, 1, 2, 1, true}},
     false},
    {&types[6],
     2,
     5,
     64,
     40,
     1,
     1,
     {13, 17},
     {{3, 1, 1, 1, 1, 1, false}, {3, 2, 1, 1, 1, 2, false}},
     false},
    {&types[5],
     3,
     2,
     36,
     33,
     1,
     1,
     {5, 8, 9},
     {{3, 1, 1, 1, 1, 1, false}, {3, 1, 0, 2, 1, 1, false}, {3, 1, 1, 1, 1, 1, false}},
     false},
    {&types[7],
     2,
     9,
     40,
     90,
     2,
     1,
     {7, 7},
     {{3, 1, 1, 1, 3, 1, true}, {3, 1, 1, 1, 1, 1, false}},
     false},
    /* long windows over one channel */
    {&types[0], 1, 2, 1, 70, 1, 1, {420}, {{300, 1, 5, 0, 1, 1, false}}, false},
    {&types[7], 1, 1, 1, 40, 1, 1, {420}, {{300, 2, 0, 3, 1, 1, true}}, false},
    {&types[0],
     2,
     1,
     1,
     70,
     1,
     1,
     {30, 30},
     {{17, 1, 2, 1, 1, 1, false}, {19, 1, 1, 3, 1, 1, false}},
     false}};

static void larger_ones(void) {
  native_env_t env;
  uint64_t seed = 7;
  int declined = 0, wrong = 0;
  native_env_init(&env, 2);
  for (size_t i = 0; i < 4 * sizeof large_cases / sizeof *large_cases; i++)
    wrong += check(&env, &seed, &large_cases[i / 4], &declined);
  CU_ASSERT_EQUAL(wrong, 0);
  CU_ASSERT_EQUAL(declined, 0);
  native_env_deinit(&env);
}

/* Windows of 3 x 3 over many channels are done by fewer products, and so are the gradients of such
 * weights over many places. One place in some of them is infinite. */
static void fewer_products(void) {
  static const conv_types_t both[] = {{HR_F32, HR_F32, HR_F32}, {HR_F64, HR_F64, HR_F64}};
  for (int i = 0; i < 60; i++) {
    native_env_t env;
    uint64_t seed = 70 + (uint64_t)i;
    int declined = 0;
    conv_case_t c = {.types = &both[i % 2],
                     .spatial = 2,
                     .batch = 1 + native_pick(&seed, 3),
                     .feature_groups = 1,
                     .batch_groups = 1,
                     .features = 16 + native_pick(&seed, 60),
                     .out_features = 16 + native_pick(&seed, 60)};
    bool many = i % 24 == 6 || i % 24 == 11;
    if (many) {
      c.batch = 2;
      c.features = 60 + native_pick(&seed, 16);
      c.out_features = 60 + native_pick(&seed, 16);
    }
    native_env_init(&env, 1 + i % 3);
    for (int d = 0; d < 2; d++) {
      c.in[d] = (many ? 38 : 14) + native_pick(&seed, many ? 6 : 12);
      c.window[d] = (hlo_window_dim_t){
          3, 1, native_pick(&seed, 4) - 1, native_pick(&seed, 3), 1, 1, i % 5 == 0};
      if (i % 4 < 2) continue;
      c.window[d].size = c.in[d] + c.window[d].pad_low + c.window[d].pad_high - 2,
      c.window[d].reversal = false;
    }
    if (i % 4 >= 2) {
      int64_t batch = c.batch;
      c.batch = c.features;
      c.features = batch;
    }
    const hlo_instr_t *conv = make_conv(&env, &seed, &c);
    hlo_value_t *values[2];
    for (int k = 0; k < 2; k++) {
      values[k] = kernel_value(c.types->lhs, 4, conv->operands[k]->shape->dims, NULL);
      native_fill_small(&seed, values[k]);
    }
    int64_t at = native_pick(&seed, values[0]->count);
    if (i % 3 == 1) ((hlo_instr_t *)conv)->operands[1]->op = HLO_CONSTANT;
    conv->operands[1]->literal = i % 3 == 1 ? values[1] : NULL;
    if (i % 8 == 2) ((float *)values[0]->data)[at] = INFINITY;
    if (i % 8 == 3) ((double *)values[0]->data)[at] = -INFINITY;
    bool fine = native_agrees_on(&env, conv, values, &declined);
    if (!fine) print_case(&c, 70 + (uint64_t)i);
    CU_ASSERT_TRUE(fine && !declined);
    for (int k = 0; k < 2; k++) hlo_value_release(values[k]);
    native_env_deinit(&env);
  }
}

/* Windows of up to 6 elements, steps of up to 3. */
static conv_case_t draw_gradient(uint64_t *seed, int i) {
  static const conv_types_t both[] = {{HR_F32, HR_F32, HR_F32}, {HR_F64, HR_F64, HR_F64}};
  (void)i;
  conv_case_t c = {.types = &both[native_pick(seed, 2)],
                   .spatial = 1 + (int)native_pick(seed, 3),
                   .feature_groups = 1,
                   .batch_groups = 1,
                   .is_gradient = true};
  c.features = 1 + native_pick(seed, 4),
  c.batch = 1 + native_pick(seed, native_pick(seed, 2) ? 6 : 70);
  c.out_features = 8 + native_pick(seed, native_pick(seed, 2) ? 25 : 140);
  for (int d = 0; d < c.spatial; d++) {
    int64_t taps = 1 + native_pick(seed, 6), step = 1 + native_pick(seed, 3),
            out = 1 + native_pick(seed, 14);
    int64_t holes = 1 + (native_pick(seed, 5) == 0), low = native_pick(seed, 4),
            high = native_pick(seed, 4);
    int64_t rest = native_pick(seed, step);
    c.in[d] = (out - 1) * step + (taps - 1) * holes + 1 + rest - low - high;
    if (c.in[d] < 1) c.in[d] += low + high, low = high = 0;
    c.window[d] = (hlo_window_dim_t){out, holes, low, high - rest, 1, step, false};
  }
  return c;
}

static void gradients_over_positions(void) {
  for (int workers = 1; workers <= 5; workers += 2)
    check_drawn(workers, 90 + (uint64_t)workers, 40, draw_gradient);
}

static conv_case_t draw_few_columns(uint64_t *seed, int i) {
  conv_case_t c = draw_either(seed, i);
  c.types = &types[i % 3 ? 0 : 7];
  c.feature_groups = 1;
  c.features = 16 * (1 + native_pick(seed, 4));
  c.out_features = 1 + native_pick(seed, 4);
  return c;
}
static void few_columns(void) { check_drawn(2, 95, 60, draw_few_columns); }

/* Groups of few channels, some of them one each, of all real types. */
static conv_case_t draw_small_groups(uint64_t *seed, int i) {
  static const int reals[] = {0, 7, 3, 5};
  conv_case_t c = draw_either(seed, i);
  int64_t groups = 4 + native_pick(seed, 60), single = native_pick(seed, 2);
  c.types = &types[reals[i % 4]];
  c.feature_groups = groups;
  c.features = groups * (single ? 1 : 1 + native_pick(seed, 9));
  c.out_features = groups * (single ? 1 + native_pick(seed, 2) : 1 + native_pick(seed, 9));
  return c;
}
static void small_groups(void) {
  for (int workers = 1; workers <= 3; workers += 2)
    check_drawn(workers, 110 + (uint64_t)workers, 120, draw_small_groups);
}

/* Images of few channels and long lines. */
static conv_case_t draw_lines(uint64_t *seed, int i) {
  conv_case_t c = draw_case(seed, FORWARD);
  int last = c.spatial - 1;
  c.types = &types[i % 2 ? 0 : 7];
  c.feature_groups = 1;
  if (i % 3) c.batch = 1;
  c.features = i % 5 ? 1 : 3;
  c.out_features = 1 + native_pick(seed, 2);
  c.in[last] = 16 + native_pick(seed, last ? 80 : 9000);
  c.window[last].stride = 1;
  c.window[last].size = 1 + native_pick(seed, 9);
  return c;
}
static void along_lines(void) {
  for (int workers = 1; workers <= 5; workers += 2)
    check_drawn(workers, 96 + (uint64_t)workers, 60, draw_lines);
}

/* --- numbers that are not finite --- */

static void put_special(uint64_t *seed, hlo_value_t *value) {
  static const double specials[] = {INFINITY, -INFINITY, NAN};
  hr_dtype_t real = hr_dtype_real(value->dtype);
  size_t bytes = hr_dtype_bytes(real);
  if (!hr_dtype_is_float(real)) return;
  uint64_t bits = hr_float_encode(real, specials[native_pick(seed, 3)]);
  memcpy((char *)value->data + (size_t)native_pick(seed, value->count) * bytes, &bits, bytes);
}

/* Padding and holes times infinite and NaN weights: some numbers of either operand are such.
 * Weights are constant in a third of the cases. */
static void check_nonfinite(native_env_t *env, uint64_t *seed, const conv_case_t *c,
                            int *compared) {
  uint64_t start = *seed;
  hlo_instr_t *conv = (hlo_instr_t *)make_conv(env, seed, c);
  hlo_value_t *values[2];
  int declined = 0;
  if (!conv) return;
  for (int k = 0; k < 2; k++) {
    const hlo_shape_t *shape = conv->operands[k]->shape;
    values[k] = kernel_value(shape->dtype, shape->rank, shape->dims, NULL);
    native_fill_small(seed, values[k]);
  }
  if (native_pick(seed, 3)) put_special(seed, values[1]);
  if (native_pick(seed, 2)) put_special(seed, values[native_pick(seed, 2)]);
  if (native_pick(seed, 3) == 0) {
    conv->operands[1]->op = HLO_CONSTANT;
    conv->operands[1]->literal = values[1];
  }
  bool fine = native_agrees_on(env, conv, values, &declined);
  if (!fine) print_case(c, start);
  CU_ASSERT_TRUE(fine && !declined);
  for (int k = 0; k < 2; k++) hlo_value_release(values[k]);
  ++*compared;
}

static conv_case_t draw_winograd(uint64_t *seed, int i) {
  conv_case_t c = draw_case(seed, FORWARD);
  c.types = &types[i % 2 ? 0 : 7];
  c.spatial = 2;
  c.feature_groups = 1;
  c.features = 16 + native_pick(seed, 30);
  c.out_features = 16 + native_pick(seed, 30);
  for (int d = 0; d < 2; d++) {
    c.in[d] = 12 + native_pick(seed, 12);
    c.window[d] = (hlo_window_dim_t){3, 1, native_pick(seed, 3), native_pick(seed, 3), 1, 1, false};
  }
  return c;
}

/* Many weights of few places. */
static conv_case_t draw_many_weights(uint64_t *seed, int i) {
  conv_case_t c = draw_winograd(seed, i);
  c.batch = 1 + native_pick(seed, 4);
  c.features = 100 + native_pick(seed, 80);
  c.out_features = 100 + native_pick(seed, 80);
  for (int d = 0; d < 2; d++) {
    c.in[d] = 3 + native_pick(seed, 14);
    c.window[d].stride = 1 + (i % 3 == 0);
    c.window[d].reversal = i % 5 == 0;
    if (i % 6 == 1) c.window[d].base_dilation = 2;
  }
  return c;
}
/* Images of whole tiles, which Winograd's way takes by columns. */
static conv_case_t draw_many_columns(uint64_t *seed, int i) {
  conv_case_t c = draw_many_weights(seed, 2 * i);
  c.types = &types[i % 2 ? 0 : 7];
  c.batch = 2;
  c.features = 96 + 8 * native_pick(seed, 4);
  c.out_features = 100 + native_pick(seed, 60);
  for (int d = 0; d < 2; d++) {
    c.in[d] = 14;
    c.window[d] = (hlo_window_dim_t){3, 1, 1, 1, 1, 1, false};
  }
  return c;
}
static void many_weights(void) {
  native_env_t env;
  uint64_t seed = 360;
  int compared = 0;
  for (int workers = 1; workers <= 5; workers += 2)
    check_drawn(workers, 360 + (uint64_t)workers, 6, draw_many_weights);
  for (int workers = 1; workers <= 5; workers += 2)
    check_drawn(workers, 370 + (uint64_t)workers, 4, draw_many_columns);
  native_env_init(&env, 2);
  for (int i = 0; i < 6; i++) {
    conv_case_t c = draw_many_weights(&seed, i);
    check_nonfinite(&env, &seed, &c, &compared);
  }
  CU_ASSERT_TRUE(compared > 3);
  native_env_deinit(&env);
}

static void nonfinite(void) {
  static const draw_fn draws[] = {draw_forward,  draw_of_input,     draw_of_weights,
                                  draw_anything, draw_gradient,     draw_few_columns,
                                  draw_lines,    draw_small_groups, draw_winograd};
  for (size_t k = 0; k < sizeof draws / sizeof *draws; k++) {
    native_env_t env;
    uint64_t seed = 300 + k;
    int compared = 0;
    native_env_init(&env, 1 + (int)k % 3);
    for (int i = 0; i < 60; i++) {
      conv_case_t c = draws[k](&seed, i);
      check_nonfinite(&env, &seed, &c, &compared);
    }
    CU_ASSERT_TRUE(compared >= 30);
    native_env_deinit(&env);
  }
}

static void larger_nonfinite(void) {
  native_env_t env;
  uint64_t seed = 350;
  int compared = 0;
  native_env_init(&env, 2);
  for (size_t i = 0; i < 3 * sizeof large_cases / sizeof *large_cases; i++)
    check_nonfinite(&env, &seed, &large_cases[i / 3], &compared);
  CU_ASSERT_TRUE(compared > 0);
  native_env_deinit(&env);
}

CU_TestInfo suite_native_convolution[] = {{"forward", forward},
                                          {"gradients of the input", of_input},
                                          {"gradients of the weights", of_weights},
                                          {"anything", anything},
                                          {"many workers", many_workers},
                                          {"constant weights", constant_weights},
                                          {"larger ones", larger_ones},
                                          {"gradients over places", gradients_over_positions},
                                          {"few columns", few_columns},
                                          {"small groups", small_groups},
                                          {"along lines", along_lines},
                                          {"not finite", nonfinite},
                                          {"not finite, larger", larger_nonfinite},
                                          {"fewer products", fewer_products},
                                          {"many weights", many_weights},
                                          CU_TEST_INFO_NULL};
