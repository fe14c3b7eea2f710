/* A little of everything that a kernel needs, for unit tests of kernels: a module to build
 * instructions in, and an op_env_t without engine or peers. Bodies must be elementwise:
 * op_env_t.call is absent.
 *
 *   kernel_env_t k;
 *   kernel_env_init(&k);
 *   hlo_value_t *x = kernel_value(HR_F32, KERNEL_DIMS(2, 3), (float[]){1, 2, 3, 4, 5, 6});
 *   hlo_attr_t attrs[] = {KERNEL_INTS(DIMENSIONS, 1, 0)};
 *   hlo_value_t *y = kernel_run(&k, HLO_TRANSPOSE, kernel_shape(&k, HR_F32, KERNEL_DIMS(3, 2)), 1,
 * &x, 1, attrs, 0, NULL);
 *   ... y->data ...
 *   hlo_value_release(y), hlo_value_release(x);
 *   kernel_env_deinit(&k); */
#ifndef HLO_TESTS_KERNEL_ENV_H
#define HLO_TESTS_KERNEL_ENV_H

#include <CUnit/CUnit.h>
#include <string.h>

#include "base/mem.h"
#include "ops/kernels/kernel.h"
#include "ops/rules/builder.h"

typedef struct kernel_env {
  op_env_t env;
  hr_arena_t scratch;
  hlo_module_t *module;
  hlo_computation_t *entry;
  int next_name;
  op_engine_ops_t engine_ops; /* functions of `env`; tests may replace them */
} kernel_env_t;

/* A rank and its sizes, as two arguments. */
#define KERNEL_DIMS(...) \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) { __VA_ARGS__ }
#define KERNEL_SCALAR 0, NULL
/* A list attribute; {0} entries for an empty one: KERNEL_NO_INTS. */
#define KERNEL_INTS(KEY, ...)                                       \
  {                                                                 \
    .key = HLO_ATTR_##KEY, .ints = {                                \
      (const int64_t[]){__VA_ARGS__},                               \
      (int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)) \
    }                                                               \
  }
#define KERNEL_NO_INTS(KEY)                    \
  {                                            \
    .key = HLO_ATTR_##KEY, .ints = { NULL, 0 } \
  }
#define KERNEL_INT(KEY, value) \
  { .key = HLO_ATTR_##KEY, .integer = (value) }

static inline hr_status_t kernel_not_cancelled(op_env_t *env) {
  (void)env;
  return NULL;
}

static inline void kernel_env_init(kernel_env_t *k) {
  memset(k, 0, sizeof *k);
  hr_arena_init(&k->scratch);
  k->env.scratch = &k->scratch;
  k->env.num_replicas = 1;
  k->env.num_partitions = 1;
  k->engine_ops = (op_engine_ops_t){.check_cancelled = kernel_not_cancelled};
  k->env.engine_ops = &k->engine_ops;
  hr_status_t st = hlo_module_create(HR_STR("test"), &k->module);
  if (!st) st = hlo_computation_add(k->module, HR_STR("main"), &k->entry);
  if (st) hr_status_print(stderr, st);
  CU_ASSERT_PTR_NULL_FATAL(st);
}

static inline void kernel_env_deinit(kernel_env_t *k) {
  hlo_module_destroy(k->module);
  hr_arena_deinit(&k->scratch);
}

static inline const hlo_shape_t *kernel_shape(kernel_env_t *k, hr_dtype_t dtype, int rank,
                                              const int64_t *dims) {
  const hlo_shape_t *shape = NULL;
  CU_ASSERT_PTR_NULL_FATAL(hlo_shape_array(&k->module->arena, dtype, rank, dims, &shape));
  return shape;
}

static inline const hlo_shape_t *kernel_tuple_shape(kernel_env_t *k, int count,
                                                    const hlo_shape_t *const *elements) {
  const hlo_shape_t *shape = NULL;
  CU_ASSERT_PTR_NULL_FATAL(hlo_shape_tuple(&k->module->arena, count, elements, &shape));
  return shape;
}

/* A value with a copy of the data; all zero without data. */
static inline hlo_value_t *kernel_value(hr_dtype_t dtype, int rank, const int64_t *dims,
                                        const void *data) {
  hlo_value_t *value = NULL;
  CU_ASSERT_PTR_NULL_FATAL(hlo_value_array(dtype, rank, dims, &value));
  if (data)
    memcpy(value->data, data, hlo_value_bytes(value));
  else
    memset(value->data, 0, hlo_value_bytes(value));
  return value;
}

/* Adds an instruction with a name of its own to the computation. */
static inline hlo_instr_t *kernel_instr(kernel_env_t *k, hlo_computation_t *computation,
                                        hlo_opcode_t op, const hlo_shape_t *shape,
                                        int operand_count, hlo_instr_t *const *operands,
                                        int attr_count, const hlo_attr_t *attrs, int called_count,
                                        hlo_computation_t *const *called) {
  char name[32];
  snprintf(name, sizeof name, "i%d", k->next_name++);
  hlo_instr_def_t def = {.op = op,
                         .name = hr_str_from(name),
                         .shape = shape,
                         .operand_count = operand_count,
                         .attr_count = attr_count,
                         .called_count = called_count,
                         .operands = operands,
                         .attrs = attrs,
                         .called = called};
  hlo_instr_t *instr = NULL;
  hr_status_t st = hlo_instr_add(computation, &def, &instr);
  if (st) hr_status_print(stderr, st);
  CU_ASSERT_PTR_NULL_FATAL(st);
  computation->root = instr;
  return instr;
}

static inline hlo_instr_t *kernel_parameter(kernel_env_t *k, hlo_computation_t *computation,
                                            int number, const hlo_shape_t *shape) {
  hlo_attr_t attr = KERNEL_INT(PARAMETER_NUMBER, number);
  return kernel_instr(k, computation, HLO_PARAMETER, shape, 0, NULL, 1, &attr, 0, NULL);
}

/* An empty body; its root becomes the instruction added last. */
static inline hlo_computation_t *kernel_body(kernel_env_t *k) {
  hlo_computation_t *body = NULL;
  CU_ASSERT_PTR_NULL_FATAL(hlo_computation_add(k->module, HR_STR("body"), &body));
  return body;
}

/* op(parameter a, parameter b) of `count` scalar parameters of one type. */
static inline hlo_computation_t *kernel_binary_body(kernel_env_t *k, hlo_opcode_t op,
                                                    hr_dtype_t dtype, int count, int a, int b) {
  hlo_computation_t *body = kernel_body(k);
  for (int p = 0; p < count; p++) kernel_parameter(k, body, p, hlo_shape_scalar(dtype));
  hlo_instr_t *operands[] = {body->params.data[a], body->params.data[b]};
  kernel_instr(k, body, op, hlo_shape_scalar(dtype), 2, operands, 0, NULL, 0, NULL);
  return body;
}

/* compare(parameter a, parameter b). */
static inline hlo_computation_t *kernel_compare_body(kernel_env_t *k, int direction, int type,
                                                     hr_dtype_t dtype, int count, int a, int b) {
  hlo_computation_t *body = kernel_body(k);
  for (int p = 0; p < count; p++) kernel_parameter(k, body, p, hlo_shape_scalar(dtype));
  hlo_instr_t *operands[] = {body->params.data[a], body->params.data[b]};
  hlo_attr_t attrs[] = {KERNEL_INT(DIRECTION, direction), KERNEL_INT(TYPE, type)};
  kernel_instr(k, body, HLO_COMPARE, hlo_shape_scalar(HR_PRED), 2, operands, 2, attrs, 0, NULL);
  return body;
}

/* Prepares and runs one instruction on values, each of which counts as not used afterwards (bits of
 * last_use: all). */
static inline hr_status_t kernel_try(kernel_env_t *k, const hlo_instr_t *instr,
                                     hlo_value_t *const *values, uint64_t last_use,
                                     hlo_value_t **out_value) {
  const hlo_shape_t **in_shapes;
  HR_TRY(HR_NEW_ARRAY(&k->module->arena, instr->operand_count, &in_shapes));
  for (int i = 0; i < instr->operand_count; i++)
    HR_TRY(hlo_shape_array(&k->module->arena, values[i]->dtype, values[i]->rank, values[i]->dims,
                           &in_shapes[i]));
  op_step_t step = {instr, in_shapes, instr->shape, NULL, last_use};
  const op_kernel_t *kernel = op_kernels[instr->op];
  if (kernel->prepare) HR_TRY(kernel->prepare(&k->module->arena, &step, &step.plan));
  hr_status_t st = kernel->run(&k->env, &step, values, out_value);
  hr_arena_reset(&k->scratch);
  return st;
}

static inline hlo_instr_t *kernel_build(kernel_env_t *k, hlo_opcode_t op, const hlo_shape_t *shape,
                                        int count, hlo_value_t *const *values, int attr_count,
                                        const hlo_attr_t *attrs, int called_count,
                                        hlo_computation_t *const *called) {
  hlo_instr_t *operands[64];
  for (int i = 0; i < count; i++)
    operands[i] =
        kernel_parameter(k, k->entry, (int)k->entry->params.count,
                         kernel_shape(k, values[i]->dtype, values[i]->rank, values[i]->dims));
  return kernel_instr(k, k->entry, op, shape, count, operands, attr_count, attrs, called_count,
                      called);
}

/* Builds an instruction on parameters like the values and runs it; operands stay untouched. Fails
 * the test on error. */
static inline hlo_value_t *kernel_run(kernel_env_t *k, hlo_opcode_t op, const hlo_shape_t *shape,
                                      int count, hlo_value_t *const *values, int attr_count,
                                      const hlo_attr_t *attrs, int called_count,
                                      hlo_computation_t *const *called) {
  hlo_value_t *result = NULL;
  hlo_instr_t *instr =
      kernel_build(k, op, shape, count, values, attr_count, attrs, called_count, called);
  hr_status_t st = kernel_try(k, instr, values, 0, &result);
  if (st) hr_status_print(stderr, st);
  CU_ASSERT_PTR_NULL_FATAL(st);
  return result;
}

/* Lets allocation 1, 2, 3, ... fail while the instruction is prepared and run, until none does:
 * each failure must come back as a status, and (as the address sanitizer sees) leave nothing
 * behind. */
static inline void kernel_survives_faults(kernel_env_t *k, hlo_opcode_t op,
                                          const hlo_shape_t *shape, int count,
                                          hlo_value_t *const *values, int attr_count,
                                          const hlo_attr_t *attrs, int called_count,
                                          hlo_computation_t *const *called) {
  hlo_instr_t *instr =
      kernel_build(k, op, shape, count, values, attr_count, attrs, called_count, called);
  for (size_t n = 1; n < 10000; n++) {
    hlo_value_t *result = NULL;
    hr_arena_deinit(&k->scratch); /* so that scratch memory is allocated again */
    hr_mem_fail_at(n);
    hr_status_t st = kernel_try(k, instr, values, 0, &result);
    hr_mem_fail_at(0);
    if (!st) {
      hlo_value_release(result);
      return;
    }
    CU_ASSERT_EQUAL(hr_status_code(st), HR_NO_MEMORY);
    hr_status_release(st);
  }
  CU_FAIL("an allocation fails for ever");
}

/* Is it this array, bit for bit? */
static inline bool kernel_is(const hlo_value_t *value, hr_dtype_t dtype, int rank,
                             const int64_t *dims, const void *data) {
  if (value->dtype != dtype || value->rank != rank) return false;
  for (int d = 0; d < rank; d++)
    if (value->dims[d] != dims[d]) return false;
  return value->count == 0 || memcmp(value->data, data, hlo_value_bytes(value)) == 0;
}

#endif
