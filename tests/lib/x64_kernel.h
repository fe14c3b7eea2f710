/* A function (out, in, count) in the kernel IR, compiled by jit/x64 and called: what the tests of
 * its machine code share. */
#ifndef TESTS_LIB_X64_KERNEL_H
#define TESTS_LIB_X64_KERNEL_H

#include <string.h>

#include <CUnit/TestRun.h>

#include "jit/element/code_builder.h"
#include "jit/link/object_loader.h"
#include "jit/x64/x64.h"
#include "tests/lib/unit.h"

typedef void (*x64_kernel_fn)(void *out, const void *in, int64_t count);

/* Is the code for this processor? Where it is not, the test says that it was left out. */
static inline bool x64_kernel_can_run(void) {
  if (x64_is_supported(jit_target_host())) return true;
  SKIP(CU_get_current_test()->pName, "there is neither AVX-512 nor AVX2");
  return false;
}

/* A function (out, in, count) that is being written, with its first block open. */
typedef struct x64_kernel {
  jit_code_t code;
  kir_value_t *function, *out, *in, *count;
  kir_type_t *i64;
  jit_object_t *object;
} x64_kernel_t;

static inline void x64_kernel_begin(x64_kernel_t *test) {
  CU_ASSERT_PTR_NULL_FATAL(
      jit_code_init(&test->code, jit_target_host(), x64_kir_target(jit_target_host()), "test"));
  kir_module_t *c = test->code.module;
  kir_type_t *pointer = kir_pointer_type(c);
  test->i64 = kir_int_type(c, 64);
  kir_type_t *params[] = {pointer, pointer, test->i64};
  kir_type_t *type = kir_function_type(kir_void_type(c), params, 3);
  test->function = kir_add_function(test->code.module, "test", type);
  kir_value_t **arguments[] = {&test->out, &test->in, &test->count};
  for (unsigned k = 0; k < 3; k++) *arguments[k] = kir_param(test->function, k);
  kir_position_at_end(test->code.builder, kir_append_block(test->function, ""));
}

/* NULL: it is left to LLVM. */
static inline x64_kernel_fn x64_kernel_finish(x64_kernel_t *test) {
  hr_buffer_t *bytes;
  void *run = NULL;
  kir_ret_void(test->code.builder);
  CU_ASSERT_PTR_NULL_FATAL(x64_compile(test->code.module, &bytes));
  test->object = NULL;
  if (bytes) {
    CU_ASSERT_PTR_NULL_FATAL(
        jit_object_load(hr_buffer_data(bytes), hr_buffer_size(bytes), &test->object));
    CU_ASSERT_PTR_NULL_FATAL(jit_object_find(test->object, "test", &run));
  }
  hr_buffer_release(bytes);
  jit_code_deinit(&test->code);
  return (x64_kernel_fn)run;
}

static inline kir_value_t *x64_kernel_address(x64_kernel_t *test, kir_value_t *array,
                                              kir_type_t *element, int64_t i) {
  kir_value_t *index = jit_int(test->i64, i);
  return kir_gep(test->code.builder, element, array, index);
}

static inline kir_value_t *x64_kernel_load(x64_kernel_t *test, kir_type_t *type, int64_t i) {
  return kir_load(test->code.builder, type, x64_kernel_address(test, test->in, type, i));
}

static inline void x64_kernel_store(x64_kernel_t *test, kir_value_t *value, int64_t i) {
  kir_store(test->code.builder, value, x64_kernel_address(test, test->out, kir_type_of(value), i));
}

/* Operands that are tried with each other: ends of the types, and signs. */
static const int64_t x64_numbers[] = {
    1, 3, 7, -1, -5, 100, -128, 12345, 1000007, -32768, 2147483647, -2147483648LL, 5000000000LL};
#define X64_NUMBERS ((int)(sizeof x64_numbers / sizeof *x64_numbers))

/* What the kernel IR folds. False: it does not, as for a division by 0. */
static inline bool x64_folded(kir_binary_fn *build, unsigned bits, int64_t a, int64_t b,
                              uint64_t *out_value) {
  x64_kernel_t test;
  x64_kernel_begin(&test);
  kir_type_t *type = kir_int_type(test.code.module, bits);
  kir_value_t *value = build(test.code.builder, jit_int(type, a), jit_int(type, b));
  bool is_constant = kir_is_constant(value);
  if (is_constant) *out_value = value->lanes[0];
  x64_kernel_finish(&test);
  jit_object_unload(test.object);
  return is_constant;
}

/* Lane `i` of integers so wide, with its sign. */
static inline int64_t x64_lane(const void *lanes, unsigned bits, unsigned i) {
  int64_t wide = 0;
  memcpy(&wide, (const unsigned char *)lanes + i * bits / 8, bits / 8);
  return (int64_t)((uint64_t)wide << (64 - bits)) >> (64 - bits);
}

static inline kir_type_t *x64_int_vector(x64_kernel_t *test, unsigned bits, unsigned lanes) {
  return kir_vector_type(kir_int_type(test->code.module, bits), lanes);
}

#endif
