/* Native kernels against the reference kernels: an instruction is run by both, the native one by 1
 * to 4 workers, into fresh results and in place, and all results must agree. */
#ifndef HLO_TESTS_NATIVE_ENV_H
#define HLO_TESTS_NATIVE_ENV_H

#include <math.h>
#include <stdlib.h>

#include "kernel_env.h"
#include "ops/kernels/native.h"
#include "unit.h"

#define NATIVE_MAX_LEAVES 16
#define NATIVE_GUARD 64 /* bytes behind scratch and results that must stay as they are */

typedef struct native_case {
  kernel_env_t *k;
  const hlo_instr_t *instr;
  hlo_value_t *const *values;
  hlo_value_t *expected;
  double tolerance; /* relative to the largest expected number; 0: equal bits */
} native_case_t;

static inline hr_status_t native_ignore_end(void *context, void (*destroy)(void *object),
                                            void *object) {
  (void)context, (void)destroy, (void)object;
  return NULL;
}

static inline double native_number(const hlo_value_t *value, int64_t i) {
  switch (value->dtype) {
    case HR_F32:
      return ((const float *)value->data)[i];
    case HR_F64:
      return ((const double *)value->data)[i];
    case HR_F16:
    case HR_BF16:
      return hr_float_decode(value->dtype, ((const uint16_t *)value->data)[i]);
    default:
      return hr_dtype_is_float(value->dtype)
                 ? hr_float_decode(value->dtype, ((const uint8_t *)value->data)[i])
                 : (double)hlo_value_int_at(value, i);
  }
}

static inline bool native_agrees(const hlo_value_t *expected, const void *data, double tolerance) {
  hlo_value_t got = *expected;
  double most = 0;
  got.data = (void *)data;
  if (expected->count == 0 || memcmp(expected->data, data, hlo_value_bytes(expected)) == 0)
    return true;
  if (tolerance == 0) return false;
  if (hr_dtype_is_complex(expected->dtype)) {
    hlo_value_t parts = *expected;
    parts.dtype = hr_dtype_real(expected->dtype), parts.count *= 2;
    return native_agrees(&parts, data, tolerance);
  }
  for (int64_t i = 0; i < expected->count; i++)
    if (isfinite(native_number(expected, i))) most = fmax(most, fabs(native_number(expected, i)));
  for (int64_t i = 0; i < expected->count; i++) {
    double a = native_number(expected, i), b = native_number(&got, i);
    if (a == b || (isnan(a) && isnan(b))) continue;
    if (!(fabs(a - b) <= tolerance * most)) return false;
  }
  return true;
}

static inline char *native_guarded(size_t bytes) {
  void *memory = NULL;
  CU_ASSERT_PTR_NULL_FATAL(hr_alloc(bytes + NATIVE_GUARD, &memory));
  memset(memory, 0xa5, bytes + NATIVE_GUARD);
  return memory;
}

static inline void native_release_guarded(char *memory, size_t bytes) {
  for (int i = 0; i < NATIVE_GUARD; i++) CU_ASSERT_EQUAL((uint8_t)memory[bytes + (size_t)i], 0xa5);
  hr_free(memory);
}

/* One run; with `in_place`, results lie over copies of the operands that the step says they may
 * share. */
static inline void native_run_once(const native_case_t *c, const op_native_t *native,
                                   const op_native_step_t *step, hr_workers_t *workers,
                                   bool in_place) {
  void *in[NATIVE_MAX_LEAVES], *out[NATIVE_MAX_LEAVES];
  int leaves = hlo_value_leaf_count(c->expected);
  for (int k = 0; k < c->instr->operand_count; k++) in[k] = c->values[k]->data;
  for (int leaf = 0; leaf < leaves; leaf++) {
    const hlo_value_t *expected = hlo_value_leaf(c->expected, leaf);
    out[leaf] = native_guarded(hlo_value_bytes(expected));
    for (int k = 0; in_place && step->reuse && k < c->instr->operand_count; k++) {
      if (!(step->reuse[leaf] >> k & 1) || in[k] != c->values[k]->data) continue;
      CU_ASSERT_EQUAL_FATAL(hlo_value_bytes(expected), hlo_value_bytes(c->values[k]));
      memcpy(out[leaf], in[k], hlo_value_bytes(expected));
      in[k] = out[leaf];
      break;
    }
  }
  char *scratch = native_guarded(step->scratch_bytes);
  op_native_run_t run = {.workers = workers, .scratch = scratch, .env = &c->k->env};
  CHECK_OK(native->run(&run, step->plan, in, out));
  native_release_guarded(scratch, step->scratch_bytes);
  for (int leaf = 0; leaf < leaves; leaf++) {
    const hlo_value_t *expected = hlo_value_leaf(c->expected, leaf);
    CU_ASSERT_TRUE(native_agrees(expected, out[leaf], c->tolerance));
    native_release_guarded(out[leaf], hlo_value_bytes(expected));
  }
}

static inline void native_run_with(const native_case_t *c, int count, bool *out_accepted) {
  const op_native_t *native = op_natives[c->instr->op];
  op_native_target_t target = {
      .arena = &c->k->module->arena, .workers = count, .add_cleanup = native_ignore_end};
  op_native_step_t step = {0};
  const hlo_shape_t *shapes[NATIVE_MAX_LEAVES];
  hr_workers_t *workers = NULL;
  for (int k = 0; k < c->instr->operand_count; k++)
    shapes[k] = kernel_shape(c->k, c->values[k]->dtype, c->values[k]->rank, c->values[k]->dims);
  op_step_t op_step = {c->instr, shapes, c->instr->shape, NULL, 0};
  CHECK_OK(native->prepare(&target, &op_step, &step));
  *out_accepted = step.plan != NULL;
  if (!step.plan) return;
  CHECK_OK(hr_workers_create(&(hr_workers_options_t){.count = count}, &workers));
  native_run_once(c, native, &step, workers, false);
  if (step.reuse) native_run_once(c, native, &step, workers, true);
  hr_workers_destroy(workers);
}

/* False if the kernel declined. */
static inline bool native_check(kernel_env_t *k, double tolerance, hlo_opcode_t op,
                                const hlo_shape_t *shape, int count, hlo_value_t *const *values,
                                int attr_count, const hlo_attr_t *attrs, int called_count,
                                hlo_computation_t *const *called) {
  native_case_t c = {.k = k, .values = values, .tolerance = tolerance};
  bool accepted = true;
  c.instr = kernel_build(k, op, shape, count, values, attr_count, attrs, called_count, called);
  CHECK_OK(kernel_try(k, c.instr, values, 0, &c.expected));
  for (int workers = 1; workers <= 4 && accepted; workers++)
    native_run_with(&c, workers, &accepted);
  hlo_value_release(c.expected);
  return accepted;
}

/* Random elements of any type with values that matter: zeros of both signs, NaNs, infinities, and
 * many that are equal.
 */
static inline void native_fill(hlo_value_t *value, bool specials) {
  static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, -1, 1};
  hr_dtype_t real = hr_dtype_real(value->dtype);
  int64_t count = value->count * (hr_dtype_is_complex(value->dtype) ? 2 : 1);
  size_t bytes = hr_dtype_bytes(real);
  for (int64_t i = 0; i < count; i++) {
    uint64_t bits = (uint64_t)(rand() % 40);
    if (hr_dtype_class(real) == HR_CLASS_PRED) bits &= 1;
    if (hr_dtype_class(real) == HR_CLASS_SIGNED) bits = (uint64_t)((int64_t)bits - 20);
    if (hr_dtype_is_integer(real) && rand() % 2) bits = (uint64_t)rand() * (uint64_t)rand();
    if (hr_dtype_is_integer(real) && hr_dtype_table[real].bits < 8) bits = 0;
    if (hr_dtype_is_float(real)) {
      double number = (rand() % 2000 - 1000) / 64.0;
      if (specials && rand() % 4 == 0) number = special[rand() % 7];
      bits = hr_float_encode(real, number);
      if (specials && number != number && rand() % 2)
        bits |= (uint64_t)1 << (hr_dtype_table[real].bits - 1);
    }
    memcpy((char *)value->data + (size_t)i * bytes, &bits, bytes);
  }
}

#endif
