/* Random convolutions for tests of the native kernels. */
#include "tests/lib/conv_case.h"

#include <stdlib.h>

#include "tests/lib/unit.h"

const conv_types_t conv_types[] = {{HR_F32, HR_F32, HR_F32},
                                   {HR_F32, HR_F32, HR_F32},
                                   {HR_F32, HR_F32, HR_F32},
                                   [CONV_BF16] = {HR_BF16, HR_BF16, HR_BF16},
                                   {HR_BF16, HR_BF16, HR_F32},
                                   [CONV_F16] = {HR_F16, HR_F16, HR_F16},
                                   [CONV_S8] = {HR_S8, HR_S8, HR_S32},
                                   [CONV_F64] = {HR_F64, HR_F64, HR_F64},
                                   [CONV_C64] = {HR_C64, HR_C64, HR_C64},
                                   [CONV_C128] = {HR_C128, HR_C128, HR_C128},
                                   [CONV_S32] = {HR_S32, HR_S32, HR_S32},
                                   {HR_U8, HR_S16, HR_S64},
                                   {HR_F32, HR_C64, HR_C64},
                                   {HR_S8, HR_S8, HR_S8}};

enum { TYPES = sizeof conv_types / sizeof *conv_types };

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

/* Sizes of the result and of the window; false if the window does not fit. */
static bool find_sizes(const conv_case_t *c, int64_t *out_sizes, int64_t *window_sizes) {
  for (int d = 0; d < c->spatial; d++) {
    const hlo_window_dim_t *w = &c->window[d];
    int64_t padded = dilated(c->in[d], w->base_dilation) + w->pad_low + w->pad_high;
    int64_t span = dilated(w->size, w->window_dilation);
    if (padded < span) return false;
    out_sizes[d] = (padded - span) / w->stride + 1;
    window_sizes[d] = w->size;
  }
  return true;
}

/* Dimension numbers of both operands and the result: batch or input feature, feature or output
 * feature, then the spatial ones. */
typedef struct conv_dims {
  int64_t lhs[5], rhs[5], out[5];
} conv_dims_t;

static void draw_all_dims(uint64_t *seed, const conv_case_t *c, conv_dims_t *dims) {
  int rank = c->spatial + 2;
  draw_dims(seed, c->spatial, dims->lhs);
  draw_dims(seed, c->spatial, dims->rhs);
  draw_dims(seed, c->spatial, dims->out);
  if (!c->is_gradient) return;
  dims->lhs[0] = rank - 1;
  dims->rhs[1] = rank - 1;
  dims->lhs[1] = 0;
  dims->rhs[0] = 0;
  for (int d = 0; d < c->spatial; d++) dims->lhs[2 + d] = dims->rhs[2 + d] = d + 1;
}

static hlo_dim_labels_t *make_labels(native_env_t *env, const conv_case_t *c,
                                     const conv_dims_t *dims) {
  hlo_dim_labels_t *labels;
  int rank = c->spatial + 2;
  CU_ASSERT_PTR_NULL_FATAL(HR_NEW(&env->k.module->arena, &labels));
  *labels = (hlo_dim_labels_t){c->spatial,
                               rank,
                               rank,
                               rank,
                               dims->lhs[0],
                               dims->lhs[1],
                               dims->rhs[0],
                               dims->rhs[1],
                               dims->out[0],
                               dims->out[1],
                               kept(env, dims->lhs + 2, c->spatial),
                               kept(env, dims->rhs + 2, c->spatial),
                               kept(env, dims->out + 2, c->spatial),
                               0,
                               0,
                               0};
  return labels;
}

static hlo_window_t *make_window(native_env_t *env, const conv_case_t *c) {
  hr_arena_t *arena = &env->k.module->arena;
  hlo_window_t *window;
  void *dims;
  CU_ASSERT_PTR_NULL_FATAL(HR_NEW(arena, &window));
  CU_ASSERT_PTR_NULL_FATAL(hr_arena_copy(arena, c->window, sizeof c->window, &dims));
  *window = (hlo_window_t){c->spatial, dims};
  return window;
}

const hlo_instr_t *conv_case_build(native_env_t *env, uint64_t *seed, const conv_case_t *c) {
  int64_t out_sizes[3], window_sizes[3];
  conv_dims_t dims;
  if (!find_sizes(c, out_sizes, window_sizes)) return NULL;
  draw_all_dims(seed, c, &dims);
  hlo_attr_t attrs[] = {{.key = HLO_ATTR_WINDOW, .window = make_window(env, c)},
                        {.key = HLO_ATTR_DIM_LABELS, .labels = make_labels(env, c, &dims)},
                        KERNEL_INT(FEATURE_GROUP_COUNT, c->feature_groups),
                        KERNEL_INT(BATCH_GROUP_COUNT, c->batch_groups)};
  const hlo_shape_t *shapes[] = {
      shape_at(env, c->types->lhs, c->spatial, dims.lhs, c->batch, c->features, c->in),
      shape_at(env, c->types->rhs, c->spatial, dims.rhs, c->features / c->feature_groups,
               c->out_features, window_sizes)};
  hlo_instr_t *operands[2];
  for (int i = 0; i < 2; i++)
    operands[i] =
        kernel_parameter(&env->k, env->k.entry, (int)env->k.entry->params.count, shapes[i]);
  return kernel_instr(&env->k, env->k.entry, HLO_CONVOLUTION,
                      shape_at(env, c->types->out, c->spatial, dims.out, c->batch / c->batch_groups,
                               c->out_features, out_sizes),
                      2, operands, 4, attrs, 0, NULL);
}

void conv_case_print(const conv_case_t *c, uint64_t seed) {
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

int conv_case_check(native_env_t *env, uint64_t *seed, const conv_case_t *c, int *declined) {
  uint64_t start = *seed;
  const hlo_instr_t *conv = conv_case_build(env, seed, c);
  if (!conv || native_agrees(env, seed, conv, declined)) return 0;
  conv_case_print(c, start);
  return 1;
}

/* One dimension of the window: what JAX writes for this kind of convolution. */
static void draw_window(uint64_t *seed, int kind, int64_t in, hlo_window_dim_t *w, int64_t stride,
                        int64_t dilation) {
  *w = (hlo_window_dim_t){
      1 + native_pick(seed, 4), 1, native_pick(seed, 3), native_pick(seed, 3), 1, 1, false};
  if (kind == CONV_FORWARD) {
    w->stride = stride;
    w->window_dilation = dilation;
    w->reversal = native_pick(seed, 5) == 0;
  } else if (kind == CONV_INPUT_GRADIENT) {
    w->base_dilation = stride;
    w->window_dilation = dilation;
    w->reversal = native_pick(seed, 2);
  } else if (kind == CONV_WEIGHT_GRADIENT) {
    w->size = (in + stride - 1) / stride;
    w->window_dilation = stride;
    w->stride = dilation;
    w->pad_high -= native_pick(seed, stride);
  } else {
    w->stride = stride;
    w->base_dilation = dilation;
    w->pad_low -= 2;
    w->reversal = native_pick(seed, 2);
  }
}

conv_case_t conv_draw_case(uint64_t *seed, conv_kind_t kind) {
  conv_case_t c = {.types = &conv_types[native_pick(seed, TYPES)],
                   .spatial = 1 + (int)native_pick(seed, 3)};
  int64_t groups = native_pick(seed, 3) ? 1 : 1 + native_pick(seed, 4);
  int64_t wide = native_pick(seed, 3) ? 5 : 40;
  c.batch = 1 + native_pick(seed, 5);
  c.feature_groups = 1;
  c.batch_groups = 1;
  c.features = groups * (1 + native_pick(seed, wide));
  c.out_features = groups * (1 + native_pick(seed, wide));
  if (native_pick(seed, 6) == 0) c.features = c.out_features = groups = 1 + native_pick(seed, 40);
  for (int d = 0; d < c.spatial; d++) {
    int64_t stride = 1 + native_pick(seed, 2);
    int64_t dilation = 1 + (native_pick(seed, 4) == 0);
    c.in[d] = 1 + native_pick(seed, c.spatial == 3 ? 6 : 12);
    draw_window(seed, kind, c.in[d], &c.window[d], stride, dilation);
  }
  if (kind == CONV_WEIGHT_GRADIENT) {
    c.batch_groups = groups;
    c.batch = groups * (1 + native_pick(seed, wide));
  } else {
    c.feature_groups = groups;
  }
  return c;
}

void conv_check_drawn(int workers, uint64_t seed, int count, conv_draw_fn_t draw) {
  native_env_t env;
  int declined = 0, wrong = 0;
  native_env_init(&env, workers);
  for (int i = 0; i < count; i++) {
    conv_case_t c = draw(&seed, i);
    wrong += conv_case_check(&env, &seed, &c, &declined);
  }
  CU_ASSERT_EQUAL(wrong, 0);
  CU_ASSERT_EQUAL(declined, 0);
  native_env_deinit(&env);
}

conv_case_t conv_draw_forward(uint64_t *seed, int i) {
  (void)i;
  return conv_draw_case(seed, CONV_FORWARD);
}

conv_case_t conv_draw_of_input(uint64_t *seed, int i) {
  (void)i;
  return conv_draw_case(seed, CONV_INPUT_GRADIENT);
}

conv_case_t conv_draw_of_weights(uint64_t *seed, int i) {
  (void)i;
  return conv_draw_case(seed, CONV_WEIGHT_GRADIENT);
}

conv_case_t conv_draw_anything(uint64_t *seed, int i) {
  (void)i;
  return conv_draw_case(seed, CONV_ANY);
}

conv_case_t conv_draw_either(uint64_t *seed, int i) {
  return conv_draw_case(seed, i % 2 ? CONV_INPUT_GRADIENT : CONV_FORWARD);
}

conv_case_t conv_draw_gradient(uint64_t *seed, int i) {
  static const conv_types_t both[] = {{HR_F32, HR_F32, HR_F32}, {HR_F64, HR_F64, HR_F64}};
  (void)i;
  conv_case_t c = {.types = &both[native_pick(seed, 2)],
                   .spatial = 1 + (int)native_pick(seed, 3),
                   .feature_groups = 1,
                   .batch_groups = 1,
                   .is_gradient = true};
  c.features = 1 + native_pick(seed, 4);
  c.batch = 1 + native_pick(seed, native_pick(seed, 2) ? 6 : 70);
  c.out_features = 8 + native_pick(seed, native_pick(seed, 2) ? 25 : 140);
  for (int d = 0; d < c.spatial; d++) {
    int64_t taps = 1 + native_pick(seed, 6);
    int64_t step = 1 + native_pick(seed, 3);
    int64_t out = 1 + native_pick(seed, 14);
    int64_t dilation = 1 + (native_pick(seed, 5) == 0);
    int64_t low = native_pick(seed, 4);
    int64_t high = native_pick(seed, 4);
    int64_t rest = native_pick(seed, step);
    c.in[d] = (out - 1) * step + (taps - 1) * dilation + 1 + rest - low - high;
    if (c.in[d] < 1) {
      c.in[d] += low + high;
      low = high = 0;
    }
    c.window[d] = (hlo_window_dim_t){out, dilation, low, high - rest, 1, step, false};
  }
  return c;
}

conv_case_t conv_draw_depthwise_gradient(uint64_t *seed, int i) {
  static const int reals[] = {CONV_F32, CONV_F64, CONV_BF16, CONV_F16};
  conv_case_t c = conv_draw_gradient(seed, i);
  int64_t groups = 4 + native_pick(seed, native_pick(seed, 2) ? 30 : 150);
  c.types = &conv_types[reals[i % 4]];
  c.batch = groups;
  c.out_features = groups;
  c.batch_groups = groups;
  if (c.spatial == 1 && i % 2) {
    int64_t taps = 8 + native_pick(seed, 16), out = 90 + native_pick(seed, 200), low = taps / 2;
    c.in[0] = out - 1 + taps - 2 * low;
    c.window[0] = (hlo_window_dim_t){out, 1, low, low, 1, 1, false};
  }
  return c;
}

conv_case_t conv_draw_few_columns(uint64_t *seed, int i) {
  conv_case_t c = conv_draw_either(seed, i);
  c.types = &conv_types[i % 3 ? CONV_F32 : CONV_F64];
  c.feature_groups = 1;
  c.features = 16 * (1 + native_pick(seed, 4));
  c.out_features = 1 + native_pick(seed, 4);
  return c;
}

conv_case_t conv_draw_small_groups(uint64_t *seed, int i) {
  static const int reals[] = {CONV_F32, CONV_F64, CONV_BF16, CONV_F16};
  conv_case_t c = conv_draw_either(seed, i);
  int64_t groups = 4 + native_pick(seed, 60), single = native_pick(seed, 2);
  c.types = &conv_types[reals[i % 4]];
  c.feature_groups = groups;
  c.features = groups * (single ? 1 : 1 + native_pick(seed, 9));
  c.out_features = groups * (single ? 1 + native_pick(seed, 2) : 1 + native_pick(seed, 9));
  return c;
}

conv_case_t conv_draw_strided_holes(uint64_t *seed, int i) {
  static const int types[] = {CONV_F32, CONV_F64, CONV_BF16, CONV_F16, CONV_S8};
  conv_case_t c = i % 3 ? conv_draw_case(seed, CONV_ANY) : conv_draw_small_groups(seed, i);
  c.types = &conv_types[types[i % 5]];
  for (int d = 0; d < c.spatial; d++) {
    c.in[d] = 4 + native_pick(seed, c.spatial == 3 ? 4 : 24);
    c.window[d] = (hlo_window_dim_t){1 + native_pick(seed, 6),  1 + native_pick(seed, 4),
                                     native_pick(seed, 12) - 4, native_pick(seed, 12) - 4,
                                     1 + native_pick(seed, 5),  1 + native_pick(seed, 2),
                                     native_pick(seed, 2)};
  }
  return c;
}

conv_case_t conv_draw_lines(uint64_t *seed, int i) {
  conv_case_t c = conv_draw_case(seed, CONV_FORWARD);
  int last = c.spatial - 1;
  c.types = &conv_types[i % 2 ? CONV_F32 : CONV_F64];
  c.feature_groups = 1;
  if (i % 3) c.batch = 1;
  c.features = i % 5 ? 1 : 3;
  c.out_features = 1 + native_pick(seed, 2);
  c.in[last] = 16 + native_pick(seed, last ? 80 : 9000);
  c.window[last].stride = 1;
  c.window[last].size = 1 + native_pick(seed, 9);
  return c;
}

const conv_case_t conv_large_cases[] = {
#define CONV_CASE(type, ...) {&conv_types[CONV_##type], __VA_ARGS__, false},
#include "tests/lib/conv_cases.def"
#undef CONV_CASE
};
const int conv_large_count = sizeof conv_large_cases / sizeof *conv_large_cases;
