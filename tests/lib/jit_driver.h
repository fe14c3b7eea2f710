/* Runs programs by generated code and by the reference engine, and compares: for unit tests. The
 * entry of a program is taken as the body of a fusion. */
#ifndef HLO_TESTS_JIT_DRIVER_H
#define HLO_TESTS_JIT_DRIVER_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "exec/machine.h"
#include "jit/jit.h"
#include "jit/llvm/llvm_compile.h"
#include "ops/kernels/native.h"
#include "ops/query/codegen_support.h"
#include "ops/rules/verify.h"
#include "read_text.h"
#include "unit.h"

#define JIT_MAX_LEAVES 320
#define JIT_GUARD 64 /* bytes after results and scratch that must stay as they are */

typedef struct jit_driver {
  uint64_t seed;
  int workers;
  bool in_place;      /* results lie over operands where the plan allows it */
  bool small_numbers; /* no specials, nothing huge: for sums */
  double ulp;         /* steps that floats may differ by */
  bool by_larger;     /* steps of the larger part of a complex number */
  double tolerance;   /* or a part of the largest number: for sums */
  int declined;       /* programs without code, counted */
  int without_llvm;   /* programs that jit/x64 has no code for, where there is no LLVM, counted */
} jit_driver_t;

static inline uint64_t jit_random(uint64_t *seed) {
  *seed += 0x9e3779b97f4a7c15u;
  uint64_t z = *seed;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static inline double jit_random_float(uint64_t *seed, bool small) {
  static const double special[] = {
      0.0,    -0.0,   INFINITY,      -INFINITY,    NAN,    1,     -1,  1e300,
      -1e300, 1e-310, 3.4e38,        1e-40,        -1e-40, 65504, 0.5, -0.5,
      2.5,    1e10,   -2147483648.0, 4294967296.0, 1e19,   -1e19};
  uint64_t bits = jit_random(seed);
  if (!small && bits % 4 == 0) return special[(bits >> 8) % (sizeof special / sizeof *special)];
  double number = ((double)(bits >> 12) / (double)((uint64_t)1 << 52) - 0.5) * 16;
  return !small && bits % 4 == 1 ? number * exp2((double)((bits >> 4) % 40)) : number;
}

static inline uint64_t jit_random_integer(uint64_t *seed, hr_dtype_t dtype, bool small) {
  uint64_t bits = jit_random(seed), kind = jit_random(seed) % 8;
  int width = hr_dtype_table[dtype].bits;
  if (dtype == HR_PRED) return bits & 1;
  if (width < 8) { /* zero- or sign-extended */
    bits &= ((uint64_t)1 << width) - 1;
    bool negative = hr_dtype_class(dtype) == HR_CLASS_SIGNED && bits >> (width - 1);
    return negative ? bits | ~(uint64_t)0 << width : bits;
  }
  if (small || kind < 3)
    return (uint64_t)((int64_t)(bits % 21) - (hr_dtype_class(dtype) == HR_CLASS_SIGNED ? 10 : 0));
  if (kind == 3) return (uint64_t)1 << (width - 1);
  if (kind == 4) return ((uint64_t)1 << (width - 1)) - 1;
  return kind == 5 ? ~(uint64_t)0 : bits;
}

/* Complex numbers are two each. */
static inline int64_t jit_numbers(const hlo_value_t *value) {
  return value->count * (hr_dtype_is_complex(value->dtype) ? 2 : 1);
}

static inline void jit_fill(jit_driver_t *driver, hlo_value_t *value) {
  hr_dtype_t dtype = hr_dtype_real(value->dtype);
  size_t bytes = hr_dtype_bytes(dtype);
  for (int64_t i = 0; i < jit_numbers(value); i++) {
    uint64_t bits =
        hr_dtype_is_float(dtype)
            ? hr_float_encode(dtype, jit_random_float(&driver->seed, driver->small_numbers))
            : jit_random_integer(&driver->seed, dtype, driver->small_numbers);
    memcpy((char *)value->data + (size_t)i * bytes, &bits, bytes);
  }
}

/* --- comparing --- */

static inline double jit_number(hr_dtype_t dtype, const void *data, int64_t i) {
  size_t bytes = hr_dtype_bytes(dtype);
  uint64_t bits = 0;
  memcpy(&bits, (const char *)data + (size_t)i * bytes, bytes);
  if (hr_dtype_is_float(dtype)) return hr_float_decode(dtype, bits);
  int unused = (int)(64 - 8 * bytes);
  return hr_dtype_class(dtype) == HR_CLASS_SIGNED ? (double)((int64_t)(bits << unused) >> unused)
                                                  : (double)bits;
}

/* Distance in steps that the type has at the larger of the two and `beside`. */
static inline double jit_steps(hr_dtype_t dtype, double a, double b, double beside) {
  const hr_float_format_t *format = hr_float_format(dtype);
  int exponent, least = 1 - format->bias;
  if (a == b || (a != a && b != b)) return signbit(a) != signbit(b) && a == a ? 0.5 : 0;
  if (isinf(a) || isinf(b) || a != a || b != b) return 1e9;
  frexp(fmax(fmax(fabs(a), fabs(b)), beside), &exponent);
  if (--exponent < least) exponent = least;
  return fabs(a - b) / ldexp(1, exponent - format->mantissa_bits);
}

/* The size of the other part of a complex number; 0 where it does not matter. */
static inline double jit_other_part(const jit_driver_t *driver, const hlo_value_t *value,
                                    int64_t i) {
  if (!driver->by_larger || !hr_dtype_is_complex(value->dtype)) return 0;
  double size = fabs(jit_number(hr_dtype_real(value->dtype), value->data, i ^ 1));
  return isfinite(size) ? size : 0;
}

/* Floats may differ by driver->ulp steps of their own size, or by driver->tolerance of the
 * largest number in the result; everything else by nothing. */
static inline bool jit_agree(const jit_driver_t *driver, const hlo_value_t *want, const void *got) {
  double most = 0;
  hr_dtype_t dtype = hr_dtype_real(want->dtype);
  if (!hr_dtype_is_float(dtype)) return !memcmp(want->data, got, hlo_value_bytes(want));
  for (int64_t i = 0; i < jit_numbers(want); i++) {
    double number = fabs(jit_number(dtype, want->data, i));
    if (number > most && number < 1e300) most = number;
  }
  for (int64_t i = 0; i < jit_numbers(want); i++) {
    double a = jit_number(dtype, want->data, i), b = jit_number(dtype, got, i);
    double steps = jit_steps(dtype, a, b, jit_other_part(driver, want, i));
    if (steps <= driver->ulp || fabs(a - b) <= driver->tolerance * most) continue;
    fprintf(stderr, "element %lld: want %.17g, got %.17g\n", (long long)i, a, b);
    return false;
  }
  return true;
}

/* --- running --- */

static inline hr_status_t jit_read(const char *text, hlo_module_t **out_module) {
  HR_TRY(read_text(text, out_module));
  return hlo_verify(*out_module);
}

/* The result of the reference engine, on one process. */
static inline hr_status_t jit_reference(const hlo_module_t *module, hlo_value_t *const *values,
                                        hlo_value_t **out_value) {
  plan_t *plan = NULL;
  exec_machine_t *machine = NULL;
  hlo_value_t *args[JIT_MAX_LEAVES];
  hr_status_t st = NULL;
  HR_TRY(plan_create(module, (plan_grid_t){1, 1}, &plan));
  HR_TRY_GOTO(done, st, exec_machine_create(plan, &(exec_machine_options_t){.rank = 0}, &machine));
  for (size_t k = 0; k < module->entry->params.count; k++) args[k] = hlo_value_retain(values[k]);
  st = exec_machine_run(machine, args, out_value);
done:
  exec_machine_destroy(machine);
  plan_destroy(plan);
  return st;
}

static inline hr_status_t jit_never(op_env_t *env) {
  (void)env;
  return NULL;
}

typedef struct jit_case {
  jit_driver_t *driver;
  hlo_module_t *module;
  hlo_instr_t fusion;
  hlo_value_t *values[JIT_MAX_LEAVES], *want;
  hr_arena_t arena;
} jit_case_t;

static inline void *jit_guarded(hr_arena_t *arena, size_t bytes) {
  void *memory = NULL;
  CU_ASSERT_PTR_NULL_FATAL(hr_arena_alloc(arena, bytes + 2 * JIT_GUARD, &memory));
  memset(memory, 0xa5, bytes + 2 * JIT_GUARD);
  return memory;
}

static inline bool jit_guard_holds(const void *memory, size_t bytes) {
  for (size_t i = bytes; i < bytes + JIT_GUARD; i++)
    if (((const uint8_t *)memory)[i] != 0xa5) return false;
  return true;
}

/* Runs the kernel on guarded results, in place of an operand where the case and the kernel allow
 * it, and compares. */
static inline bool jit_run_case(jit_case_t *c, const op_native_step_t *step,
                                hr_workers_t *workers) {
  void *in[JIT_MAX_LEAVES], *out[JIT_MAX_LEAVES];
  int leaves = hlo_value_leaf_count(c->want), params = (int)c->module->entry->params.count;
  bool fine = true;
  for (int k = 0; k < params; k++) in[k] = c->values[k]->data;
  for (int leaf = 0; leaf < leaves; leaf++) {
    size_t bytes = hlo_value_bytes(hlo_value_leaf(c->want, leaf));
    out[leaf] = jit_guarded(&c->arena, bytes);
    for (int k = 0; c->driver->in_place && step->reuse && k < params; k++) {
      if (!(step->reuse[leaf] >> k & 1) || in[k] != c->values[k]->data) continue;
      CU_ASSERT_EQUAL_FATAL(bytes, hlo_value_bytes(c->values[k]));
      memcpy(out[leaf], in[k], bytes);
      in[k] = out[leaf];
      break;
    }
  }
  void *scratch = jit_guarded(&c->arena, step->scratch_bytes);
  static const op_engine_ops_t engine_ops = {.check_cancelled = jit_never};
  op_env_t env = {.num_replicas = 1, .num_partitions = 1, .engine_ops = &engine_ops};
  CHECK_OK(jit_native.run(&(op_native_run_t){.workers = workers, .scratch = scratch, .env = &env},
                          step->plan, in, out));
  fine = jit_guard_holds(scratch, step->scratch_bytes);
  for (int leaf = 0; leaf < leaves; leaf++) {
    const hlo_value_t *want = hlo_value_leaf(c->want, leaf);
    fine = jit_agree(c->driver, want, out[leaf]) && fine;
    fine = jit_guard_holds(out[leaf], hlo_value_bytes(want)) && fine;
  }
  return fine;
}

/* A kernel that declines is counted; `true` if it declines or agrees. */
static inline bool jit_compile_and_run(jit_case_t *c) {
  jit_t *jit = NULL;
  hr_workers_t *workers = NULL;
  op_native_step_t step = {0};
  bool fine = true;
  if (c->driver->workers > 1)
    CHECK_OK(hr_workers_create(&(hr_workers_options_t){.count = c->driver->workers}, &workers));
  CHECK_OK(jit_create(&(jit_options_t){.workers = workers, .dump_to = getenv("JIT_DUMP")}, &jit));
  op_native_target_t target = {
      .arena = &c->arena, .workers = hr_workers_count(workers), .emitter = jit};
  const hlo_instr_t *instr = &c->fusion;
  op_step_t op_step = {.instr = instr, .out_shape = instr->shape};
  CHECK_OK(jit_native.prepare(&target, &op_step, &step));
  if (!step.plan) {
    c->driver->declined++;
  } else {
    hr_status_t st = jit_finish(jit);
    bool wants_llvm = !llvm_is_built && hr_status_code(st) == HR_UNAVAILABLE;
    fine = !st || wants_llvm;
    if (wants_llvm) {
      c->driver->without_llvm++;
      hr_status_release(st);
    } else {
      CHECK_OK(st);
      if (fine) fine = jit_run_case(c, &step, workers);
    }
  }
  jit_destroy(jit);
  hr_workers_destroy(workers);
  return fine;
}

/* Both ways on random operands; false, with the program, if they differ. */
static inline bool jit_check(jit_driver_t *driver, const char *text) {
  jit_case_t c = {.driver = driver};
  hr_status_t st = jit_read(text, &c.module);
  if (st) {
    fprintf(stderr, "%s\n", text);
    CHECK_OK(st);
    hlo_module_destroy(c.module);
    return false;
  }
  hlo_computation_t *entry = c.module->entry;
  hr_arena_init(&c.arena);
  for (size_t k = 0; k < entry->params.count; k++) {
    const hlo_shape_t *shape = entry->params.data[k]->shape;
    CHECK_OK(hlo_value_array(shape->dtype, shape->rank, shape->dims, &c.values[k]));
    jit_fill(driver, c.values[k]);
  }
  CHECK_OK(jit_reference(c.module, c.values, &c.want));
  c.fusion = (hlo_instr_t){.op = HLO_FUSION,
                           .name = HR_STR("f"),
                           .shape = entry->root->shape,
                           .called_count = 1,
                           .called = &entry,
                           .operands = entry->params.data,
                           .operand_count = (int)entry->params.count,
                           .parent = entry};
  bool fine = c.want && jit_compile_and_run(&c);
  if (!fine) fprintf(stderr, "of %s\n", text);
  for (size_t k = 0; k < entry->params.count; k++) hlo_value_release(c.values[k]);
  hlo_value_release(c.want);
  hr_arena_deinit(&c.arena);
  hlo_module_destroy(c.module);
  return fine;
}

#define JIT_CHECK(driver, text) CU_ASSERT_TRUE(jit_check(driver, text))

#endif
