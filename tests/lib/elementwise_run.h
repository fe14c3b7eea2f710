/* Elementwise kernels on arrays, for unit tests: one operation on the caller's numbers. */
#ifndef HLO_TESTS_ELEMENTWISE_RUN_H
#define HLO_TESTS_ELEMENTWISE_RUN_H

#include <string.h>

#include "ops/kernels/elementwise/elementwise.h"
#include "tests/lib/unit.h"

/* Runs op on `count` elements; operand k has type types[k] and data in[k], one element for all
 * where scalar[k]. */
typedef struct run {
  hlo_opcode_t op;
  int operand_count;
  hr_dtype_t types[3], result;
  const void *in[3];
  bool scalar[3];
  int attr_count;
  hlo_attr_t attrs[2];
} run_t;

static inline hr_status_t try_run(const run_t *run, int64_t count, void *out) {
  hr_arena_t arena;
  hr_arena_init(&arena);
  hlo_module_t module = {0};
  hlo_computation_t computation = {.module = &module};
  hlo_instr_t operands[3] = {0}, *list[3];
  hlo_instr_t instr = {.op = run->op,
                       .parent = &computation,
                       .operand_count = run->operand_count,
                       .operands = list,
                       .attrs = run->attrs,
                       .attr_count = run->attr_count,
                       .shape = hlo_shape_scalar(run->result)};
  int64_t steps[3];
  for (int k = 0; k < run->operand_count; k++) {
    operands[k].shape = hlo_shape_scalar(run->types[k]);
    list[k] = &operands[k];
    steps[k] = !run->scalar[k];
  }
  const ew_kernel_t *kernel;
  hr_status_t st = ew_kernel_prepare(&arena, &instr, &kernel);
  if (!st) ew_kernel_run(kernel, count, run->in, steps, out);
  hr_arena_deinit(&arena);
  return st;
}

static inline void unary(hlo_opcode_t op, hr_dtype_t type, hr_dtype_t result, const void *a,
                         int64_t count, void *out) {
  run_t run = {.op = op, .operand_count = 1, .types = {type}, .result = result, .in = {a}};
  CHECK_OK(try_run(&run, count, out));
}

static inline void binary(hlo_opcode_t op, hr_dtype_t type, const void *a, const void *b,
                          int64_t count, void *out) {
  run_t run = {.op = op, .operand_count = 2, .types = {type, type}, .result = type, .in = {a, b}};
  CHECK_OK(try_run(&run, count, out));
}

#define EXPECT(type, out, ...)                                      \
  do {                                                              \
    const type expected[] = {__VA_ARGS__};                          \
    for (size_t e = 0; e < sizeof expected / sizeof *expected; e++) \
      if (memcmp(&(out)[e], &expected[e], sizeof(type)) &&          \
          !((out)[e] != (out)[e] && expected[e] != expected[e])) {  \
        printf("  element %zu\n", e);                               \
        CU_FAIL(#out);                                              \
      }                                                             \
  } while (0)

#endif
