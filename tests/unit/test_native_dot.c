/* Native products against the reference: types, orders of dimensions, thin operands, counts of
 * workers. */
#include <stdlib.h>

#include "tests/lib/native_harness.h"
#include "tests/lib/unit.h"

typedef struct dot_types {
  hr_dtype_t lhs, rhs, out;
} dot_types_t;

static const dot_types_t types[] = {
    {HR_F32, HR_F32, HR_F32},    {HR_BF16, HR_BF16, HR_BF16},      {HR_BF16, HR_BF16, HR_F32},
    {HR_F16, HR_F16, HR_F16},    {HR_F16, HR_F16, HR_F32},         {HR_F32, HR_BF16, HR_F32},
    {HR_F64, HR_F64, HR_F64},    {HR_C64, HR_C64, HR_C64},         {HR_C128, HR_C128, HR_C128},
    {HR_S8, HR_S8, HR_S32},      {HR_U8, HR_S8, HR_S32},           {HR_U8, HR_U8, HR_U32},
    {HR_S8, HR_S8, HR_S8},       {HR_S32, HR_S32, HR_S32},         {HR_S64, HR_S64, HR_S64},
    {HR_U16, HR_U16, HR_U16},    {HR_F8E4M3FN, HR_F8E5M2, HR_F32}, {HR_F32, HR_F32, HR_BF16},
    {HR_PRED, HR_PRED, HR_PRED}, {HR_S16, HR_S16, HR_S32},         {HR_U8, HR_S16, HR_S16}};
enum { TYPES = sizeof types / sizeof *types };

/* Roles of dimensions, as many of each: batch, free of lhs, free of rhs, contracting. */
typedef struct dot_form {
  int batch, lhs_free, rhs_free, contracting;
} dot_form_t;

static void shuffle(uint64_t *seed, int count, int64_t *list) {
  for (int i = count - 1; i > 0; i--) {
    int64_t j = native_pick(seed, i + 1), keep = list[i];
    list[i] = list[j];
    list[j] = keep;
  }
}

/* A side with its dimensions in any order: places[r] is where role r went; roles: batch,
 * contracting, free. */
static const hlo_shape_t *random_side(native_env_t *env, uint64_t *seed, hr_dtype_t dtype,
                                      bool mixed, int rank, const int64_t *sizes, int64_t *places) {
  int64_t dims[8];
  for (int r = 0; r < rank; r++) places[r] = r;
  if (mixed) shuffle(seed, rank, places);
  for (int r = 0; r < rank; r++) dims[places[r]] = sizes[r];
  return kernel_shape(&env->k, dtype, rank, dims);
}

static hlo_attr_t list_attr(native_env_t *env, hlo_attr_key_t key, const int64_t *data, int count) {
  hlo_attr_t attr = {.key = (uint16_t)key};
  CU_ASSERT_PTR_NULL_FATAL(hr_arena_ints(&env->k.module->arena, data, count, &attr.ints));
  return attr;
}

static int by_size(const void *a, const void *b) {
  return (int)(*(const int64_t *)a - *(const int64_t *)b);
}

/* sizes: batch..., contracting..., lhs free..., rhs free... */
static const hlo_instr_t *make_dot(native_env_t *env, uint64_t *seed, const dot_types_t *t,
                                   const dot_form_t *f, const int64_t *sizes, bool mixed) {
  int shared = f->batch + f->contracting, lhs_rank = shared + f->lhs_free,
      rhs_rank = shared + f->rhs_free;
  int64_t rhs_sizes[8], lhs_dims[8], rhs_dims[8], out[12];
  memcpy(rhs_sizes, sizes, (size_t)shared * sizeof *sizes);
  memcpy(rhs_sizes + shared, sizes + lhs_rank, (size_t)f->rhs_free * sizeof *sizes);
  const hlo_shape_t *lhs = random_side(env, seed, t->lhs, mixed, lhs_rank, sizes, lhs_dims);
  const hlo_shape_t *rhs = random_side(env, seed, t->rhs, mixed, rhs_rank, rhs_sizes, rhs_dims);
  hlo_attr_t attrs[] = {
      list_attr(env, HLO_ATTR_LHS_BATCH_DIMS, lhs_dims, f->batch),
      list_attr(env, HLO_ATTR_RHS_BATCH_DIMS, rhs_dims, f->batch),
      list_attr(env, HLO_ATTR_LHS_CONTRACTING_DIMS, lhs_dims + f->batch, f->contracting),
      list_attr(env, HLO_ATTR_RHS_CONTRACTING_DIMS, rhs_dims + f->batch, f->contracting)};
  int rank = 0;
  for (int i = 0; i < f->batch; i++) out[rank++] = sizes[i];
  qsort(lhs_dims + shared, (size_t)f->lhs_free, sizeof *lhs_dims,
        by_size); /* free ones keep their order */
  qsort(rhs_dims + shared, (size_t)f->rhs_free, sizeof *rhs_dims, by_size);
  for (int i = 0; i < f->lhs_free; i++) out[rank++] = lhs->dims[lhs_dims[shared + i]];
  for (int i = 0; i < f->rhs_free; i++) out[rank++] = rhs->dims[rhs_dims[shared + i]];
  hlo_instr_t *operands[2];
  const hlo_shape_t *shapes[] = {lhs, rhs};
  for (int i = 0; i < 2; i++)
    operands[i] =
        kernel_parameter(&env->k, env->k.entry, (int)env->k.entry->params.count, shapes[i]);
  return kernel_instr(&env->k, env->k.entry, HLO_DOT, kernel_shape(&env->k, t->out, rank, out), 2,
                      operands, 4, attrs, 0, NULL);
}

static void random_dots(int workers, uint64_t seed, int count, const int64_t *most) {
  native_env_t env;
  int declined = 0, wrong = 0;
  native_env_init(&env, workers);
  for (int i = 0; i < count; i++) {
    uint64_t start = seed;
    int64_t sizes[12];
    dot_form_t form = {(int)native_pick(&seed, 3), (int)native_pick(&seed, 3),
                       (int)native_pick(&seed, 3), (int)native_pick(&seed, 3)};
    const dot_types_t *t = &types[native_pick(&seed, TYPES)];
    int dims = form.batch + form.lhs_free + form.rhs_free + form.contracting;
    for (int d = 0; d < dims; d++)
      sizes[d] = 1 + native_pick(&seed, d < form.batch ? most[0] : most[1]);
    const hlo_instr_t *dot = make_dot(&env, &seed, t, &form, sizes, native_pick(&seed, 3) > 0);
    bool fine = native_agrees(&env, &seed, dot, &declined);
    if (!fine)
      wrong++,
          printf("    seed %lu: %s x %s -> %s, batch %d, free %d and %d, contracting %d\n",
                 (unsigned long)start, hr_dtype_name(t->lhs), hr_dtype_name(t->rhs),
                 hr_dtype_name(t->out), form.batch, form.lhs_free, form.rhs_free, form.contracting);
  }
  CU_ASSERT_EQUAL(wrong, 0);
  CU_ASSERT_TRUE(declined * 4 < count);
  native_env_deinit(&env);
}

static void small_in_any_order(void) { random_dots(1, 1, 300, (int64_t[]){4, 9}); }
static void middle_in_any_order(void) { random_dots(2, 2, 150, (int64_t[]){3, 40}); }
static void many_workers(void) { random_dots(5, 3, 150, (int64_t[]){3, 40}); }

/* batch, m, n, k of every shape class that a way is chosen by. */
static void plain_shapes(void) {
  static const int64_t sizes[][4] = {
      {1, 1, 700, 300},  {1, 700, 1, 300},  {1, 3, 257, 129}, {1, 8, 300, 64},
      {1, 17, 19, 23},   {1, 128, 96, 200}, {3, 64, 64, 64},  {1, 256, 10, 128},
      {16, 33, 65, 31},  {1, 10, 256, 128}, {1, 1, 1, 5000},  {5, 1, 300, 40},
      {40, 130, 70, 20}, {1, 200, 200, 1},  {7, 40, 1, 30},   {1, 100, 512, 64}};
  native_env_t env;
  uint64_t seed = 3;
  native_env_init(&env, 2);
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int t = 0; t < TYPES; t++) {
      int declined = 0;
      dot_form_t form = {1, 1, 1, 1};
      int64_t want[] = {sizes[s][0], sizes[s][3], sizes[s][1], sizes[s][2]};
      const hlo_instr_t *dot = make_dot(&env, &seed, &types[t], &form, want, s % 2);
      bool fine = native_agrees(&env, &seed, dot, &declined);
      if (!fine || declined)
        printf("    shape %zu of %s, %d declined\n", s, hr_dtype_name(types[t].lhs), declined);
      CU_ASSERT_TRUE(fine);
      CU_ASSERT_EQUAL(declined, 0);
    }
  native_env_deinit(&env);
}

/* Few rows or columns with a matrix that is larger than the caches, every side in either order. */
static void thin_with_large(void) {
  static const int64_t sizes[][2] = {{2, 1003},  {5, 1003}, {11, 1003},
                                     {33, 1003}, {1003, 3}, {1002, 6}};
  native_env_t env;
  uint64_t seed = 6;
  native_env_init(&env, 2);
  for (size_t s = 0; s < 4 * sizeof sizes / sizeof *sizes; s++) {
    int declined = 0;
    const int64_t *size = sizes[s / 4];
    const hlo_instr_t *dot = make_dot(&env, &seed, &types[0], &(dot_form_t){0, 1, 1, 1},
                                      (int64_t[]){2111, size[0], size[1]}, s % 4 > 0);
    CU_ASSERT_TRUE(native_agrees(&env, &seed, dot, &declined));
    CU_ASSERT_EQUAL(declined, 0);
  }
  native_env_deinit(&env);
}

/* Up to 4 rows or columns: sums of pairs, of lanes that are rows of the result, and of columns that
 * do not fill vectors. Every side in either order; one worker and several. */
static void few_sums(void) {
  static const int64_t few[] = {1, 2, 3, 4, 5}, many[] = {7, 40, 67, 130, 300};
  static const int64_t terms[] = {3, 16, 40, 129, 700};
  native_env_t env;
  uint64_t seed = 9;
  for (int workers = 1; workers <= 3; workers += 2) {
    native_env_init(&env, workers);
    for (int s = 0; s < 400; s++) {
      int declined = 0;
      int64_t size[] = {terms[s / 5 % 5], few[s % 5], many[s / 25 % 5]};
      if (s & 1) size[1] = many[s / 25 % 5], size[2] = few[s % 5];
      const hlo_instr_t *dot = make_dot(&env, &seed, &types[s % 7 == 3 ? 6 : 0],
                                        &(dot_form_t){0, 1, 1, 1}, size, s % 4 > 0);
      CU_ASSERT_TRUE(native_agrees(&env, &seed, dot, &declined));
      CU_ASSERT_EQUAL(declined, 0);
    }
    native_env_deinit(&env);
  }
}

/* Few rows or columns with a matrix that is widened in registers: dense rows and dense columns
 * of it, a vector on either side, batches, ends that do not fill a vector. */
static void thin_of_few_bits(void) {
  static const dot_types_t thin[] = {
      {HR_F32, HR_F32, HR_F32}, {HR_BF16, HR_BF16, HR_BF16}, {HR_BF16, HR_BF16, HR_F32},
      {HR_F32, HR_S8, HR_F32},  {HR_BF16, HR_S8, HR_BF16},   {HR_F16, HR_BF16, HR_F16},
      {HR_F32, HR_U8, HR_F32},  {HR_S8, HR_S8, HR_S32},      {HR_U8, HR_S8, HR_S32},
      {HR_S16, HR_U8, HR_U32},  {HR_U8, HR_S16, HR_S32}};
  static const int64_t sizes[][3] = {{1, 1, 1003}, {1, 3, 515}, {1, 8, 130}, {1, 900, 1},
                                     {3, 4, 77},   {4, 2, 16},  {2, 6, 339}, {1, 7, 200}};
  native_env_t env;
  uint64_t seed = 8;
  native_env_init(&env, 2);
  for (size_t s = 0; s < 4 * sizeof sizes / sizeof *sizes; s++)
    for (size_t t = 0; t < sizeof thin / sizeof *thin; t++) {
      int declined = 0;
      const int64_t *size = sizes[s / 4];
      const hlo_instr_t *dot =
          make_dot(&env, &seed, &thin[t], &(dot_form_t){1, 1, 1, 1},
                   (int64_t[]){size[0], s % 2 ? 131 : 1030, size[1], size[2]}, s % 4 > 1);
      bool fine = native_agrees(&env, &seed, dot, &declined);
      if (!fine || declined) printf("    size %zu, types %zu, %d declined\n", s, t, declined);
      CU_ASSERT_TRUE(fine);
      CU_ASSERT_EQUAL(declined, 0);
    }
  native_env_deinit(&env);
}

/* Gates on qubits, and their gradients: few terms with many columns or rows, few rows and columns
 * with many terms, dimensions in any order. */
static void small_of_complex(void) {
  static const int64_t sizes[][4] = {{1, 2, 513, 2}, {1, 4, 256, 4},  {1, 300, 2, 2}, {1, 37, 4, 4},
                                     {1, 2, 2, 511}, {3, 2, 2, 1000}, {2, 16, 9, 16}, {1, 1, 8, 3}};
  native_env_t env;
  uint64_t seed = 9;
  native_env_init(&env, 2);
  for (size_t s = 0; s < 4 * sizeof sizes / sizeof *sizes; s++) {
    int declined = 0;
    const int64_t *size = sizes[s / 4];
    int64_t halves[] = {size[0], 1, size[3], 1, size[1], 1, size[2]};
    dot_form_t whole = {1, 1, 1, 1}, split = {1, 2, 2, 2};
    const hlo_instr_t *dot =
        s % 4 == 3 ? make_dot(&env, &seed, &types[7], &split, halves, true)
                   : make_dot(&env, &seed, &types[7], &whole,
                              (int64_t[]){size[0], size[3], size[1], size[2]}, s % 4 > 0);
    CU_ASSERT_TRUE(native_agrees(&env, &seed, dot, &declined));
    CU_ASSERT_EQUAL(declined, 0);
  }
  native_env_deinit(&env);
}

/* Terms of two dimensions in any order: some are adjacent, in runs of any length. */
static void runs_of_complex(void) {
  static const int64_t runs[] = {2, 3, 4, 5, 8, 64};
  native_env_t env;
  uint64_t seed = 10;
  native_env_init(&env, 1);
  for (size_t s = 0; s < 12 * sizeof runs / sizeof *runs; s++) {
    int declined = 0;
    int64_t sizes[] = {1, 1 + s % 3, 16, runs[s / 12], 2, 1, 2, 1};
    dot_form_t form = {1, 3, 2, 2};
    const hlo_instr_t *dot = make_dot(&env, &seed, &types[7], &form, sizes, true);
    CU_ASSERT_TRUE(native_agrees(&env, &seed, dot, &declined));
    CU_ASSERT_EQUAL(declined, 0);
  }
  native_env_deinit(&env);
}

/* Few rows and columns with long sums, dimensions in any order: free dimensions are dense in some.
 */
static void long_sums_of_complex(void) {
  static const int64_t sizes[][4] = {
      {1, 9000, 4, 4}, {2, 5000, 3, 5}, {1, 400, 16, 16}, {3, 900, 2, 70}, {1, 20000, 1, 7}};
  native_env_t env;
  uint64_t seed = 11;
  dot_form_t form = {1, 1, 1, 1};
  native_env_init(&env, 2);
  for (size_t s = 0; s < 12 * sizeof sizes / sizeof *sizes; s++) {
    int declined = 0;
    const hlo_instr_t *dot =
        make_dot(&env, &seed, &types[7 + s % 2], &form, sizes[s / 12], s % 12 > 1);
    CU_ASSERT_TRUE(native_agrees(&env, &seed, dot, &declined));
    CU_ASSERT_EQUAL(declined, 0);
  }
  native_env_deinit(&env);
}

/* Sums of bytes that leave 16 bits, and those that leave 24: exact all the same. */
static void bytes_are_exact(void) {
  native_env_t env;
  uint64_t seed = 4;
  native_env_init(&env, 2);
  dot_types_t signed_bytes = {HR_S8, HR_S8, HR_S32};
  const hlo_instr_t *dot = make_dot(&env, &seed, &signed_bytes, &(dot_form_t){0, 1, 1, 1},
                                    (int64_t[]){3000, 64, 48}, false);
  hlo_value_t *a = kernel_value(HR_S8, KERNEL_DIMS(3000, 64), NULL),
              *b = kernel_value(HR_S8, KERNEL_DIMS(3000, 48), NULL);
  hlo_value_t *c = kernel_value(HR_S32, KERNEL_DIMS(64, 48), NULL);
  memset(a->data, -128, (size_t)a->count);
  memset(b->data, -128, (size_t)b->count);
  native_kernel_t kernel;
  CU_ASSERT_PTR_NULL_FATAL(native_prepare(&env, dot, (hlo_value_t *[]){a, b}, &kernel));
  CU_ASSERT_PTR_NOT_NULL_FATAL(kernel.step.plan);
  CU_ASSERT_PTR_NULL(native_run(&env, &kernel, (void *[]){a->data, b->data}, (void *[]){c->data}));
  for (int64_t i = 0; i < c->count; i++) CU_ASSERT_EQUAL(((int32_t *)c->data)[i], 3000 * 128 * 128);
  native_kernel_deinit(&kernel);
  hlo_value_release(a);
  hlo_value_release(b);
  hlo_value_release(c);
  native_env_deinit(&env);
}

/* Integers of 8 and 16 bits: more rows, columns and terms than a block has, and odd ones; one
 * worker and several, by rows and by columns. */
static void blocks_of_narrow_integers(void) {
  static const int64_t sizes[][3] = {{515, 390, 270}, {1025, 31, 523}, {77, 45, 300}};
  uint64_t seed = 11;
  for (int workers = 1; workers <= 3; workers += 2) {
    native_env_t env;
    native_env_init(&env, workers);
    for (size_t s = 0; s < 4 * sizeof sizes / sizeof *sizes; s++)
      for (int t = 0; t < TYPES; t++) {
        int declined = 0;
        if (!hr_dtype_is_integer(types[t].lhs) || hr_dtype_bytes(types[t].rhs) > 2) continue;
        const hlo_instr_t *dot =
            make_dot(&env, &seed, &types[t], &(dot_form_t){0, 1, 1, 1}, sizes[s / 4], s % 4 > 0);
        CU_ASSERT_TRUE(native_agrees(&env, &seed, dot, &declined));
        CU_ASSERT_EQUAL(declined, 0);
      }
    native_env_deinit(&env);
  }
}

/* Weights that are known when the kernel is prepared, plain and turned over. */
static void constant_weights(void) {
  native_env_t env;
  uint64_t seed = 5;
  for (int form = 0; form < 12; form++) {
    int declined = 0;
    hlo_value_t *values[2];
    const dot_types_t *t = &types[form % 3];
    native_env_init(&env, 1 + form % 2);
    hlo_instr_t *dot =
        (hlo_instr_t *)make_dot(&env, &seed, t, &(dot_form_t){0, 1, 1, 1},
                                (int64_t[]){150, form < 6 ? 100 : 64, 70}, form % 4 > 1);
    for (int i = 0; i < 2; i++) {
      const hlo_shape_t *shape = dot->operands[i]->shape;
      values[i] = kernel_value(shape->dtype, shape->rank, shape->dims, NULL);
      native_fill_small(&seed, values[i]);
    }
    dot->operands[1]->op = HLO_CONSTANT;
    dot->operands[1]->literal = values[1];
    CU_ASSERT_TRUE(native_agrees_on(&env, dot, values, &declined));
    CU_ASSERT_EQUAL(declined, 0);
    hlo_value_release(values[0]);
    hlo_value_release(values[1]);
    native_env_deinit(&env);
  }
}

CU_TestInfo suite_native_dot[] = {{"small, in any order", small_in_any_order},
                                  {"middle sizes, in any order", middle_in_any_order},
                                  {"many workers", many_workers},
                                  {"plain shapes", plain_shapes},
                                  {"thin with large", thin_with_large},
                                  {"few sums", few_sums},
                                  {"thin, of few bits", thin_of_few_bits},
                                  {"small, of complex numbers", small_of_complex},
                                  {"runs of complex numbers", runs_of_complex},
                                  {"long sums of complex numbers", long_sums_of_complex},
                                  {"bytes are exact", bytes_are_exact},
                                  {"blocks of narrow integers", blocks_of_narrow_integers},
                                  {"constant weights", constant_weights},
                                  CU_TEST_INFO_NULL};
