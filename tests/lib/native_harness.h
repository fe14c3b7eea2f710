/* The harness of native kernels: an instruction is computed by the reference kernel and by the
 * native one, by several counts of workers, and all results must agree. Each count prepares the
 * kernel afresh and runs it on scratch memory of NaNs into fresh results, once more on one of
 * finite numbers (a kernel may look for NaNs), and in place where the kernel allows it. Results
 * begin as NaNs, and guard bytes after them and scratch memory must stay as they are. Library
 * handles that a plan holds are released after each count, so that the leak count of a suite sees
 * those that are not. */
#ifndef HLO_TESTS_NATIVE_HARNESS_H
#define HLO_TESTS_NATIVE_HARNESS_H

#include <math.h>
#include <stdlib.h>

#include "ops/kernels/native.h"
#include "tests/lib/kernel_env.h"
#include "tests/lib/unit.h"

#define NATIVE_MAX_LEAVES 16
#define NATIVE_GUARD_BYTES 64
#define NATIVE_POISON 0xff    /* NaN */
#define NATIVE_FINITE 0x40    /* 3 and 32.5 as f32 and f64 */
#define NATIVE_BY_TYPE (-1.0) /* a tolerance: native_tolerance of each result */

/* --- environment ------------------------------------------------------------------------------ */

/* Destructor that a plan has registered. */
typedef struct native_cleanup {
  struct native_cleanup *next;
  void (*destroy)(void *object);
  void *object;
} native_cleanup_t;

typedef struct native_env {
  kernel_env_t k;        /* unused if `kernel` is another's */
  kernel_env_t *kernel;  /* module and environment of the instructions */
  hr_arena_t plans;      /* plans and their cleanups, until native_env_forget */
  hr_workers_t *workers; /* NULL: one */
  int max_workers;       /* largest count that native_agrees_on takes, if above 3 */
  native_cleanup_t *cleanups;
} native_env_t;

static inline hr_status_t native_add_cleanup(void *context, void (*destroy)(void *object),
                                             void *object) {
  native_env_t *env = context;
  native_cleanup_t *cleanup;
  HR_TRY(HR_NEW(&env->plans, &cleanup));
  *cleanup = (native_cleanup_t){env->cleanups, destroy, object};
  env->cleanups = cleanup;
  return NULL;
}

static inline void native_env_set_workers(native_env_t *env, int workers) {
  hr_workers_destroy(env->workers);
  env->workers = NULL;
  if (workers > 1)
    CU_ASSERT_PTR_NULL_FATAL(
        hr_workers_create(&(hr_workers_options_t){.count = workers}, &env->workers));
}

static inline void native_env_init(native_env_t *env, int workers) {
  *env = (native_env_t){.max_workers = workers};
  kernel_env_init(&env->k);
  env->kernel = &env->k;
  hr_arena_init(&env->plans);
  native_env_set_workers(env, workers);
}

/* Frees all plans. */
static inline void native_env_forget(native_env_t *env) {
  for (; env->cleanups; env->cleanups = env->cleanups->next)
    env->cleanups->destroy(env->cleanups->object);
  hr_arena_reset(&env->plans);
}

static inline void native_env_deinit(native_env_t *env) {
  native_env_forget(env);
  hr_workers_destroy(env->workers);
  hr_arena_deinit(&env->plans);
  kernel_env_deinit(&env->k);
}

/* --- memory with guards ----------------------------------------------------------------------- */

static inline void *native_guarded(size_t bytes) {
  void *memory = NULL;
  CU_ASSERT_PTR_NULL_FATAL(hr_alloc(bytes + NATIVE_GUARD_BYTES, &memory));
  memset(memory, NATIVE_POISON, bytes + NATIVE_GUARD_BYTES);
  return memory;
}

static inline bool native_guard_holds(const void *memory, size_t bytes) {
  const uint8_t *guard = (const uint8_t *)memory + bytes;
  for (int i = 0; i < NATIVE_GUARD_BYTES; i++)
    if (guard[i] != NATIVE_POISON) return false;
  return true;
}

/* --- prepared kernels ------------------------------------------------------------------------- */

typedef struct native_kernel {
  const op_native_t *native;
  op_native_step_t step; /* plan NULL: the kernel declined */
  void *scratch;         /* guarded; native_kernel_deinit frees it */
} native_kernel_t;

/* Prepares `instr` for operands with the shapes of `values`, and the workers of `env`. Fusions are
 * those that move elements. */
static inline hr_status_t native_prepare(native_env_t *env, const hlo_instr_t *instr,
                                         hlo_value_t *const *values, native_kernel_t *out_kernel) {
  const hlo_shape_t **shapes;
  op_native_target_t target = {.arena = &env->plans,
                               .workers = hr_workers_count(env->workers),
                               .add_cleanup = native_add_cleanup,
                               .context = env};
  bool is_move = instr->op == HLO_FUSION;
  *out_kernel =
      (native_kernel_t){.native = is_move ? &native_transpose_reverse : op_natives[instr->op]};
  HR_TRY(HR_NEW_ARRAY(&env->plans, instr->operand_count, &shapes));
  for (int k = 0; k < instr->operand_count; k++)
    shapes[k] = kernel_shape(env->kernel, values[k]->dtype, values[k]->rank, values[k]->dims);
  op_step_t step = {.instr = instr, .in_shapes = shapes, .out_shape = instr->shape};
  HR_TRY(out_kernel->native->prepare(&target, &step, &out_kernel->step));
  if (out_kernel->step.plan) out_kernel->scratch = native_guarded(out_kernel->step.scratch_bytes);
  return NULL;
}

static inline hr_status_t native_run(native_env_t *env, const native_kernel_t *kernel,
                                     void *const *in, void *const *out) {
  op_native_run_t run = {
      .workers = env->workers, .scratch = kernel->scratch, .env = &env->kernel->env};
  HR_TRY(kernel->native->run(&run, kernel->step.plan, in, out));
  return native_guard_holds(kernel->scratch, kernel->step.scratch_bytes)
             ? NULL
             : hr_error(HR_INTERNAL, "the kernel wrote past its scratch memory");
}

static inline void native_kernel_deinit(native_kernel_t *kernel) { hr_free(kernel->scratch); }

/* --- numbers ---------------------------------------------------------------------------------- */

static inline double native_number(hr_dtype_t real, const void *data, int64_t i) {
  size_t bytes = hr_dtype_bytes(real);
  uint64_t bits = 0;
  memcpy(&bits, (const char *)data + (size_t)i * bytes, bytes);
  if (hr_dtype_is_float(real)) return hr_float_decode(real, bits);
  int unused = 64 - 8 * (int)bytes;
  return hr_dtype_class(real) == HR_CLASS_SIGNED ? (double)((int64_t)(bits << unused) >> unused)
                                                 : (double)bits;
}

/* Largest difference, relative to the largest finite number of `want`; a NaN, or an infinity, on
 * one side alone is infinitely far away. */
static inline double native_distance(const hlo_value_t *want, const void *data) {
  hr_dtype_t real = hr_dtype_real(want->dtype);
  int64_t count = want->count * (hr_dtype_is_complex(want->dtype) ? 2 : 1);
  double largest = 1e-30, distance = 0;
  for (int64_t i = 0; i < count; i++) {
    double a = native_number(real, want->data, i), b = native_number(real, data, i);
    if (isfinite(a)) largest = fmax(largest, fabs(a));
    if (a == b || (isnan(a) && isnan(b))) continue;
    if (isnan(a) || isnan(b)) return INFINITY;
    distance = fmax(distance, fabs(a - b));
  }
  return distance / largest;
}

/* Relative error that sums of a few hundred products may have in a type. */
static inline double native_tolerance(hr_dtype_t dtype) {
  switch (hr_dtype_real(dtype)) {
    case HR_F64:
      return 1e-12;
    case HR_F32:
      return 3e-5;
    case HR_F16:
      return 2e-3;
    case HR_BF16:
      return 1e-2;
    default:
      return hr_dtype_is_float(hr_dtype_real(dtype)) ? 0.3 : 0;
  }
}

/* tolerance 0: equal bits. */
static inline bool native_equals(const hlo_value_t *want, const void *data, double tolerance) {
  if (!want->count || !memcmp(want->data, data, hlo_value_bytes(want))) return true;
  if (tolerance == 0) return false;
  double distance = native_distance(want, data);
  if (distance > tolerance) printf("\n    a result is %g apart, want %g\n", distance, tolerance);
  return distance <= tolerance;
}

/* --- cases ------------------------------------------------------------------------------------ */

typedef struct native_case {
  const hlo_instr_t *instr;
  hlo_value_t *const *values; /* operands */
  hlo_value_t *expected;
  double tolerance; /* relative to the largest expected number; 0: equal bits; NATIVE_BY_TYPE */
} native_case_t;

/* Moves the first operand that result `leaf` may share, and that no other result shares, into it.
 */
static inline void native_share_operand(const native_case_t *c, const op_native_step_t *step,
                                        int leaf, void **in, void *out) {
  for (int k = 0; k < c->instr->operand_count; k++) {
    if (!(step->reuse[leaf] >> k & 1) || in[k] != c->values[k]->data) continue;
    memcpy(out, in[k], hlo_value_bytes(c->values[k]));
    in[k] = out;
    return;
  }
}

static inline bool native_result_is_right(const native_case_t *c, int leaf, const void *data) {
  const hlo_value_t *want = hlo_value_leaf(c->expected, leaf);
  double tolerance = c->tolerance < 0 ? native_tolerance(want->dtype) : c->tolerance;
  if (native_guard_holds(data, hlo_value_bytes(want)) && native_equals(want, data, tolerance))
    return true;
  printf("\n    result %d is wrong, or was written past its end\n", leaf);
  return false;
}

/* One run of a prepared kernel. */
static inline bool native_case_run_once(native_env_t *env, const native_case_t *c,
                                        const native_kernel_t *kernel, bool in_place) {
  void *in[NATIVE_MAX_LEAVES], *out[NATIVE_MAX_LEAVES];
  int leaves = hlo_value_leaf_count(c->expected);
  for (int k = 0; k < c->instr->operand_count; k++) in[k] = c->values[k]->data;
  for (int leaf = 0; leaf < leaves; leaf++) {
    out[leaf] = native_guarded(hlo_value_bytes(hlo_value_leaf(c->expected, leaf)));
    if (in_place) native_share_operand(c, &kernel->step, leaf, in, out[leaf]);
  }
  hr_status_t st = native_run(env, kernel, in, out);
  bool is_right = !st;
  if (st) hr_status_print(stderr, st);
  hr_status_release(st);
  for (int leaf = 0; leaf < leaves; leaf++) {
    is_right = is_right && native_result_is_right(c, leaf, out[leaf]);
    hr_free(out[leaf]);
  }
  return is_right;
}

/* Prepares the kernel for the workers of `env` and runs it in all ways. */
static inline bool native_case_run(native_env_t *env, const native_case_t *c, bool *out_accepted) {
  native_kernel_t kernel;
  CHECK_OK(native_prepare(env, c->instr, c->values, &kernel));
  *out_accepted = kernel.step.plan != NULL;
  bool is_right = true;
  for (int run = 0; run < 2 && *out_accepted; run++) {
    memset(kernel.scratch, run ? NATIVE_FINITE : NATIVE_POISON, kernel.step.scratch_bytes);
    is_right = is_right && native_case_run_once(env, c, &kernel, false);
  }
  if (*out_accepted && kernel.step.reuse)
    is_right = is_right && native_case_run_once(env, c, &kernel, true);
  native_kernel_deinit(&kernel);
  native_env_forget(env);
  return is_right;
}

/* By each of these counts of workers. False if a result is wrong, or one count declines what
 * another one accepts. */
static inline bool native_case_check(native_env_t *env, native_case_t *c, int count,
                                     const int *worker_counts, bool *out_accepted) {
  bool is_right = true;
  CHECK_OK(kernel_try(env->kernel, c->instr, c->values, 0, &c->expected));
  for (int i = 0; i < count && is_right; i++) {
    bool accepted;
    native_env_set_workers(env, worker_counts[i]);
    is_right = native_case_run(env, c, &accepted);
    if (i && accepted != *out_accepted) is_right = false;
    *out_accepted = accepted;
    if (!is_right) printf("    by %d workers\n", worker_counts[i]);
  }
  hlo_value_release(c->expected);
  return is_right;
}

/* --- what tests call -------------------------------------------------------------------------- */

/* Builds the instruction and checks its kernel by 1 to 4 workers. False if the kernel declined. */
static inline bool native_check(kernel_env_t *k, double tolerance, hlo_opcode_t op,
                                const hlo_shape_t *shape, int count, hlo_value_t *const *values,
                                int attr_count, const hlo_attr_t *attrs, int called_count,
                                hlo_computation_t *const *called) {
  native_env_t env = {.kernel = k};
  native_case_t c = {.values = values, .tolerance = tolerance};
  bool accepted = true;
  hr_arena_init(&env.plans);
  c.instr = kernel_build(k, op, shape, count, values, attr_count, attrs, called_count, called);
  CU_ASSERT_TRUE(native_case_check(&env, &c, 4, (int[]){1, 2, 3, 4}, &accepted));
  hr_workers_destroy(env.workers);
  hr_arena_deinit(&env.plans);
  return accepted;
}

/* Checks the kernel of `instr` on these operands by 1, 2 and more workers. Returns false, with a
 * message, if a result is wrong; *declined counts the kernels that declined. */
static inline bool native_agrees_on(native_env_t *env, const hlo_instr_t *instr,
                                    hlo_value_t *const *values, int *declined) {
  native_case_t c = {.instr = instr, .values = values, .tolerance = NATIVE_BY_TYPE};
  bool accepted = true;
  const int counts[] = {1, 2, env->max_workers > 3 ? env->max_workers : 3};
  bool is_right = native_case_check(env, &c, 3, counts, &accepted);
  *declined += !accepted;
  return is_right;
}

/* --- random operands -------------------------------------------------------------------------- */

/* A generator of the test's own (splitmix64), so that failures repeat. */
static inline uint64_t native_random(uint64_t *seed) {
  *seed += 0x9e3779b97f4a7c15u;
  uint64_t z = *seed;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}
static inline int64_t native_pick(uint64_t *seed, int64_t count) {
  return (int64_t)(native_random(seed) % (uint64_t)count);
}

/* Small numbers, most of which every type has, so that sums of products are exact in most types. */
static inline void native_fill_small(uint64_t *seed, hlo_value_t *value) {
  int parts = hr_dtype_is_complex(value->dtype) ? 2 : 1;
  hr_dtype_t real = hr_dtype_real(value->dtype);
  size_t bytes = hr_dtype_bytes(real);
  for (int64_t i = 0; i < value->count * parts; i++) {
    int64_t number = native_pick(seed, 17) - 8;
    uint64_t bits = (uint64_t)number;
    if (real == HR_PRED) bits = number > 0;
    if (hr_dtype_is_float(real)) bits = hr_float_encode(real, (double)number / 4);
    memcpy((char *)value->data + (size_t)i * bytes, &bits, bytes);
  }
}

/* native_agrees_on for operands of native_fill_small. */
static inline bool native_agrees(native_env_t *env, uint64_t *seed, const hlo_instr_t *instr,
                                 int *declined) {
  hlo_value_t *values[NATIVE_MAX_LEAVES];
  for (int i = 0; i < instr->operand_count; i++) {
    const hlo_shape_t *shape = instr->operands[i]->shape;
    values[i] = kernel_value(shape->dtype, shape->rank, shape->dims, NULL);
    native_fill_small(seed, values[i]);
  }
  bool is_right = native_agrees_on(env, instr, values, declined);
  for (int i = 0; i < instr->operand_count; i++) hlo_value_release(values[i]);
  return is_right;
}

/* Random elements of any type with values that matter: zeros of both signs, NaNs, infinities, and
 * many that are equal.
 */
static inline void native_fill(hlo_value_t *value, bool specials) {
  static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, -1, 1};
  hr_dtype_t real = hr_dtype_real(value->dtype);
  int64_t count = value->count * (hr_dtype_is_complex(value->dtype) ? 2 : 1);
  size_t bytes = hr_dtype_bytes(real);
  uint64_t seed = (uint64_t)rand();
  for (int64_t i = 0; i < count; i++) {
    uint64_t bits = (uint64_t)native_pick(&seed, 40);
    if (hr_dtype_class(real) == HR_CLASS_PRED) bits &= 1;
    if (hr_dtype_class(real) == HR_CLASS_SIGNED) bits = (uint64_t)((int64_t)bits - 20);
    if (hr_dtype_is_integer(real) && native_pick(&seed, 2)) bits = native_random(&seed);
    if (hr_dtype_is_integer(real) && hr_dtype_table[real].bits < 8) bits = 0;
    if (hr_dtype_is_float(real)) {
      double number = (double)(native_pick(&seed, 2000) - 1000) / 64.0;
      if (specials && native_pick(&seed, 4) == 0) number = special[native_pick(&seed, 7)];
      bits = hr_float_encode(real, number);
      if (specials && number != number && native_pick(&seed, 2))
        bits |= (uint64_t)1 << (hr_dtype_table[real].bits - 1);
    }
    memcpy((char *)value->data + (size_t)i * bytes, &bits, bytes);
  }
}

#endif
