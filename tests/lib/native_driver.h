/* Runs one instruction by its native kernel, beside the reference kernel, for unit tests and
 * benchmarks. */
#ifndef HLO_TESTS_NATIVE_DRIVER_H
#define HLO_TESTS_NATIVE_DRIVER_H

#include "ops/kernels/native.h"
#include "tests/lib/kernel_env.h"

typedef struct native_end {
  struct native_end *next;
  void (*destroy)(void *object);
  void *object;
} native_end_t;

typedef struct native_env {
  kernel_env_t k;
  hr_arena_t plans;
  hr_workers_t *workers;
  native_end_t *ends;
} native_env_t;

static inline hr_status_t native_at_end(void *context, void (*destroy)(void *object),
                                        void *object) {
  native_env_t *env = context;
  native_end_t *end;
  HR_TRY(HR_NEW(&env->plans, &end));
  *end = (native_end_t){env->ends, destroy, object};
  env->ends = end;
  return NULL;
}

static inline void native_env_init(native_env_t *env, int workers) {
  *env = (native_env_t){.ends = NULL};
  kernel_env_init(&env->k);
  hr_arena_init(&env->plans);
  if (workers > 1)
    CU_ASSERT_PTR_NULL_FATAL(hr_workers_create(
        &(hr_workers_options_t){.count = workers, .may_spin = true}, &env->workers));
}

static inline void native_env_forget(native_env_t *env) {
  for (; env->ends; env->ends = env->ends->next) env->ends->destroy(env->ends->object);
  hr_arena_reset(&env->plans);
}

static inline void native_env_deinit(native_env_t *env) {
  native_env_forget(env);
  hr_workers_destroy(env->workers);
  hr_arena_deinit(&env->plans);
  kernel_env_deinit(&env->k);
}

/* A prepared kernel with its scratch memory, which starts as garbage. */
typedef struct native_kernel {
  const op_native_t *native;
  op_native_step_t step;
  void *scratch;
} native_kernel_t;

static inline hr_status_t native_prepare(native_env_t *env, const hlo_instr_t *instr,
                                         native_kernel_t *out_kernel) {
  const hlo_shape_t **in_shapes;
  op_native_target_t target = {.arena = &env->plans,
                               .workers = hr_workers_count(env->workers),
                               .add_cleanup = native_at_end,
                               .context = env};
  *out_kernel = (native_kernel_t){.native = op_natives[instr->op]};
  HR_TRY(HR_NEW_ARRAY(&env->plans, instr->operand_count, &in_shapes));
  for (int i = 0; i < instr->operand_count; i++) in_shapes[i] = instr->operands[i]->shape;
  op_step_t step = {.instr = instr, .in_shapes = in_shapes, .out_shape = instr->shape};
  HR_TRY(out_kernel->native->prepare(&target, &step, &out_kernel->step));
  HR_TRY(hr_arena_alloc(&env->plans, out_kernel->step.scratch_bytes + 64, &out_kernel->scratch));
  memset(out_kernel->scratch, 0xff, out_kernel->step.scratch_bytes + 64);
  return NULL;
}

static inline hr_status_t native_run(native_env_t *env, const native_kernel_t *kernel,
                                     void *const *in, void *const *out) {
  op_native_run_t run = {.workers = env->workers, .scratch = kernel->scratch, .env = &env->k.env};
  HR_TRY(kernel->native->run(&run, kernel->step.plan, in, out));
  const unsigned char *guard = (const unsigned char *)kernel->scratch + kernel->step.scratch_bytes;
  for (int i = 0; i < 64; i++)
    if (guard[i] != 0xff)
      return hr_error(HR_INTERNAL, "the kernel wrote behind its scratch memory");
  return NULL;
}

/* A generator of the test's own, so that failures repeat. */
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

/* Small numbers, most of which every type has. */
static inline void native_fill(uint64_t *seed, hlo_value_t *value) {
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

static inline double native_number(hr_dtype_t real, const void *data, int64_t i) {
  size_t bytes = hr_dtype_bytes(real);
  uint64_t bits = 0;
  memcpy(&bits, (const char *)data + (size_t)i * bytes, bytes);
  if (hr_dtype_is_float(real)) return hr_float_decode(real, bits);
  return hr_dtype_class(real) == HR_CLASS_SIGNED
             ? (double)((int64_t)(bits << (64 - 8 * bytes)) >> (64 - 8 * bytes))
             : (double)bits;
}

/* Largest difference, relative to the largest number of `want`; NaN where one of them alone is NaN
 * counts as 1. */
static inline double native_distance(const hlo_value_t *want, const hlo_value_t *got) {
  hr_dtype_t real = hr_dtype_real(want->dtype);
  int parts = hr_dtype_is_complex(want->dtype) ? 2 : 1;
  double most = 1e-30, apart = 0;
  for (int64_t i = 0; i < want->count * parts; i++) {
    double a = native_number(real, want->data, i), b = native_number(real, got->data, i);
    if ((a != a) != (b != b)) return 1;
    if (a != a || a == b) continue;
    if (__builtin_fabs(a) > most && __builtin_fabs(a) < 1e300) most = __builtin_fabs(a);
    if (__builtin_fabs(a - b) > apart) apart = __builtin_fabs(a - b);
  }
  for (int64_t i = 0; i < want->count * parts; i++) {
    double a = __builtin_fabs(native_number(real, want->data, i));
    if (a > most && a < 1e300) most = a;
  }
  return apart / most;
}

static inline double native_tolerance(hr_dtype_t dtype) {
  hr_dtype_t real = hr_dtype_real(dtype);
  if (!hr_dtype_is_float(real)) return 0;
  return real == HR_F64    ? 1e-12
         : real == HR_F32  ? 3e-5
         : real == HR_F16  ? 2e-3
         : real == HR_BF16 ? 1e-2
                           : 0.3;
}

/* Both ways on these operands, natively twice. `leaves` of the result are compared, at least one.
 * Returns false, with a message, if they differ; *declined counts the kernels that would not. */
static inline bool native_agrees_on(native_env_t *env, const hlo_instr_t *instr,
                                    hlo_value_t *const *values, int *declined) {
  hlo_value_t *want = NULL, *got[6];
  void *in[8], *out[6];
  native_kernel_t kernel;
  bool fine = true;
  int leaves = hlo_shape_leaf_count(instr->shape);
  for (int i = 0; i < instr->operand_count; i++) in[i] = values[i]->data;
  for (int i = 0; i < leaves; i++) {
    const hlo_shape_t *shape = hlo_shape_leaf(instr->shape, i);
    got[i] = kernel_value(shape->dtype, shape->rank, shape->dims, NULL);
    out[i] = got[i]->data;
  }
  hr_status_t st = native_prepare(env, instr, &kernel);
  if (!st && !kernel.step.plan) *declined += 1;
  if (!st && kernel.step.plan) {
    st = kernel_try(&env->k, instr, values, 0, &want);
    for (int run = 0; run < 2 && !st; run++) {
      for (int i = 0; i < leaves; i++) memset(got[i]->data, 0xff, hlo_value_bytes(got[i]));
      st = native_run(env, &kernel, in, out);
      for (int i = 0; i < leaves && !st; i++) {
        double apart =
            native_distance(hlo_shape_is_tuple(instr->shape) ? want->elements[i] : want, got[i]);
        if (apart > native_tolerance(got[i]->dtype))
          fine = false, printf("\n    run %d, result %d is %g apart\n", run, i, apart);
      }
    }
  }
  if (st) hr_status_print(stderr, st), hr_status_release(st), fine = false;
  hlo_value_release(want);
  for (int i = 0; i < leaves; i++) hlo_value_release(got[i]);
  native_env_forget(env);
  return fine;
}

/* On random operands. */
static inline bool native_agrees(native_env_t *env, uint64_t *seed, const hlo_instr_t *instr,
                                 int *declined) {
  hlo_value_t *values[8];
  for (int i = 0; i < instr->operand_count; i++) {
    const hlo_shape_t *shape = instr->operands[i]->shape;
    values[i] = kernel_value(shape->dtype, shape->rank, shape->dims, NULL);
    native_fill(seed, values[i]);
  }
  bool fine = native_agrees_on(env, instr, values, declined);
  for (int i = 0; i < instr->operand_count; i++) hlo_value_release(values[i]);
  return fine;
}

#endif
