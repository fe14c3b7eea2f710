/* Machine code of jit/x64: what it computes against what the kernel IR folds, phis in circles, more
 * values than registers, and what is left to LLVM. */
#include "tests/lib/x64_kernel.h"

/* --- what is computed, and what is folded ----------------------------------------------------- */

/* knows_b: while code is made. */
static uint64_t computed(kir_binary_fn *build, unsigned bits, int64_t a, int64_t b, bool knows_b) {
  int64_t in[2] = {a, b}, out = 0;
  x64_kernel_t test;
  x64_kernel_begin(&test);
  kir_type_t *type = kir_int_type(test.code.module, bits);
  kir_value_t *x =
      kir_load(test.code.builder, type, x64_kernel_address(&test, test.in, test.i64, 0));
  kir_value_t *y =
      kir_load(test.code.builder, type, x64_kernel_address(&test, test.in, test.i64, 1));
  if (knows_b) y = jit_int(type, b);
  x64_kernel_store(&test, build(test.code.builder, x, y), 0);
  x64_kernel_fn run = x64_kernel_finish(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  run(&out, in, 0);
  jit_object_unload(test.object);
  return (uint64_t)out;
}

static void try_integers(kir_binary_fn *build, unsigned bits) {
  for (int i = 0; i < X64_NUMBERS; i++)
    for (int k = 0; k < X64_NUMBERS; k++) {
      uint64_t want;
      if (!x64_folded(build, bits, x64_numbers[i], x64_numbers[k], &want)) continue;
      CU_ASSERT_EQUAL(computed(build, bits, x64_numbers[i], x64_numbers[k], false), want);
      CU_ASSERT_EQUAL(computed(build, bits, x64_numbers[i], x64_numbers[k], true), want);
    }
}

static void test_integers(void) {
  if (!x64_kernel_can_run()) return;
  kir_binary_fn *const builds[] = {kir_add,  kir_sub,  kir_mul, kir_udiv, kir_sdiv,
                                   kir_urem, kir_srem, kir_and, kir_or,   kir_xor,
                                   kir_shl,  kir_lshr, kir_ashr};
  for (size_t i = 0; i < sizeof builds / sizeof *builds; i++)
    for (unsigned bits = 8; bits <= 64; bits *= 2) try_integers(builds[i], bits);
}

static void test_constants_are_one(void) {
  x64_kernel_t test;
  x64_kernel_begin(&test);
  kir_value_t *two = jit_int(test.i64, 2), *four = kir_add(test.code.builder, two, two);
  CU_ASSERT_PTR_EQUAL(four, jit_int(test.i64, 4));
  CU_ASSERT_PTR_EQUAL(kir_mul(test.code.builder, test.count, jit_int(test.i64, 1)), test.count);
  x64_kernel_finish(&test);
  jit_object_unload(test.object);
}

/* --- where values are ------------------------------------------------------------------------- */

#define CIRCLE 5

/* `count` times: each takes over the next one's value, the last the first's plus 1. */
static void write_circle(x64_kernel_t *test, kir_type_t *type, kir_value_t *one) {
  kir_builder_t *b = test->code.builder;
  kir_block_t *before = kir_insert_block(b), *loop, *after;
  kir_value_t *values[CIRCLE], *phis[CIRCLE];
  for (int k = 0; k < CIRCLE; k++) values[k] = x64_kernel_load(test, type, k);
  loop = kir_append_block(test->function, "");
  after = kir_append_block(test->function, "");
  kir_br(b, loop);
  kir_position_at_end(b, loop);
  kir_value_t *turn = kir_phi(b, test->i64), *zero = jit_int(test->i64, 0);
  for (int k = 0; k < CIRCLE; k++) phis[k] = kir_phi(b, type);
  bool is_float = type->kind != KIR_TYPE_INT;
  kir_value_t *first = (is_float ? kir_fadd : kir_add)(b, phis[0], one);
  kir_value_t *next = kir_add(b, turn, jit_int(test->i64, 1));
  for (int k = 0; k < CIRCLE; k++) {
    kir_add_incoming(phis[k], &values[k], &before, 1);
    kir_add_incoming(phis[k], k + 1 < CIRCLE ? &phis[k + 1] : &first, &loop, 1);
  }
  kir_add_incoming(turn, (kir_value_t *[]){zero, next}, (kir_block_t *[]){before, loop}, 2);
  kir_cond_br(b, kir_icmp(b, KIR_ICMP_SLT, next, test->count), loop, after);
  kir_position_at_end(b, after);
  for (int k = 0; k < CIRCLE; k++) x64_kernel_store(test, phis[k], k);
}

#define TURNS 8 /* the last of them finds what seven have left */
static const int64_t circle_in[CIRCLE] = {10, 20, 30, 40, 50},
                     circle_out[CIRCLE] = {31, 41, 51, 12, 22};

static void test_circle_of_integers(void) {
  int64_t out[CIRCLE];
  x64_kernel_t test;
  if (!x64_kernel_can_run()) return;
  x64_kernel_begin(&test);
  write_circle(&test, test.i64, jit_int(test.i64, 1));
  x64_kernel_fn run = x64_kernel_finish(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  run(out, circle_in, TURNS);
  CU_ASSERT_EQUAL(memcmp(out, circle_out, sizeof circle_out), 0);
  jit_object_unload(test.object);
}

static void test_circle_of_floats(void) {
  float in[CIRCLE], out[CIRCLE];
  x64_kernel_t test;
  if (!x64_kernel_can_run()) return;
  for (int k = 0; k < CIRCLE; k++) in[k] = (float)circle_in[k];
  x64_kernel_begin(&test);
  kir_type_t *f32 = kir_float_type(test.code.module);
  write_circle(&test, f32, jit_real(f32, 1));
  x64_kernel_fn run = x64_kernel_finish(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  run(out, in, TURNS);
  for (int k = 0; k < CIRCLE; k++) CU_ASSERT_EQUAL(out[k], (float)circle_out[k]);
  jit_object_unload(test.object);
}

#define MANY 48

/* All are read before the first is used; each is added to the one as far from the other end. */
static x64_kernel_fn write_many(x64_kernel_t *test, kir_type_t *type, kir_type_t *element,
                                int lanes) {
  kir_value_t *values[MANY];
  kir_builder_t *b = test->code.builder;
  for (int k = 0; k < MANY; k++)
    values[k] = kir_load(b, type, x64_kernel_address(test, test->in, element, k * lanes));
  for (int k = MANY; k-- > 0;) {
    kir_value_t *sum = (lanes > 1 ? kir_fadd : kir_add)(b, values[k], values[MANY - 1 - k]);
    kir_store(b, sum, x64_kernel_address(test, test->out, element, k * lanes));
  }
  return x64_kernel_finish(test);
}

static void test_many_vectors(void) {
  float in[MANY * 16], out[MANY * 16];
  x64_kernel_t test;
  if (!x64_kernel_can_run()) return;
  x64_kernel_begin(&test);
  kir_type_t *f32 = kir_float_type(test.code.module);
  x64_kernel_fn run = write_many(&test, kir_vector_type(f32, 16), f32, 16);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  for (int i = 0; i < MANY * 16; i++) in[i] = (float)(i * i % 1009);
  run(out, in, 0);
  for (int i = 0; i < MANY * 16; i++)
    CU_ASSERT_EQUAL(out[i], in[i] + in[(MANY - 1 - i / 16) * 16 + i % 16]);
  jit_object_unload(test.object);
}

static void test_many_integers(void) {
  int64_t in[MANY], out[MANY];
  x64_kernel_t test;
  if (!x64_kernel_can_run()) return;
  x64_kernel_begin(&test);
  x64_kernel_fn run = write_many(&test, test.i64, test.i64, 1);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  for (int i = 0; i < MANY; i++) in[i] = (int64_t)i * i * i;
  run(out, in, 0);
  for (int i = 0; i < MANY; i++) CU_ASSERT_EQUAL(out[i], in[i] + in[MANY - 1 - i]);
  jit_object_unload(test.object);
}

/* --- calls ------------------------------------------------------------------------------------ */

/* x - y with the halves of its lanes exchanged, so that parts of the result lie in each other's
 * registers. */
static kir_value_t *write_wide_function(x64_kernel_t *test, kir_type_t *type,
                                        kir_type_t **out_type) {
  jit_code_t inner;
  kir_type_t *i32 = kir_int_type(test->code.module, 32);
  kir_value_t *order[64];
  *out_type = kir_function_type(type, (kir_type_t *[]){type, type}, 2);
  kir_value_t *function = jit_inner_function(&test->code, "wide", *out_type, &inner);
  kir_value_t *x = kir_param(function, 0), *y = kir_param(function, 1);
  for (unsigned i = 0; i < type->lanes; i++)
    order[i] = kir_const_int(i32, (i + type->lanes / 2) % type->lanes);
  kir_value_t *mask = kir_const_vector(order, type->lanes);
  kir_ret(inner.builder,
          kir_shuffle(inner.builder, kir_sub(inner.builder, x, y), kir_poison(type), mask));
  return function;
}

/* f(x, y) and f(y, x) + x: x lives across a call, and arguments change places. */
static void try_wide_call(unsigned lanes) {
  int32_t in[128], out[128];
  kir_type_t *signature;
  x64_kernel_t test;
  x64_kernel_begin(&test);
  kir_builder_t *b = test.code.builder;
  kir_type_t *type = kir_vector_type(kir_int_type(test.code.module, 32), lanes);
  kir_value_t *function = write_wide_function(&test, type, &signature);
  kir_value_t *x = x64_kernel_load(&test, type, 0), *y = x64_kernel_load(&test, type, 1);
  x64_kernel_store(&test, kir_call(b, signature, function, (kir_value_t *[]){x, y}, 2), 0);
  kir_value_t *other = kir_call(b, signature, function, (kir_value_t *[]){y, x}, 2);
  x64_kernel_store(&test, kir_add(b, other, x), 1);
  x64_kernel_fn run = x64_kernel_finish(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  for (int i = 0; i < 128; i++) in[i] = i * i * 7;
  run(out, in, 0);
  for (unsigned i = 0; i < lanes; i++) {
    unsigned k = (i + lanes / 2) % lanes;
    CU_ASSERT_EQUAL(out[i], in[k] - in[lanes + k]);
    CU_ASSERT_EQUAL(out[lanes + i], in[lanes + k] - in[k] + in[i]);
  }
  jit_object_unload(test.object);
}

/* Up to four vectors of AVX-512, and of AVX2. */
static void test_wide_calls(void) {
  if (!x64_kernel_can_run()) return;
  for (unsigned lanes = 4; lanes <= (unsigned)jit_target_host()->vector_bytes; lanes *= 2)
    try_wide_call(lanes);
}

/* A function that stores x + x at an address, and has no result. */
static void try_call_without_result(unsigned lanes) {
  int32_t in[64], out[64];
  x64_kernel_t test;
  jit_code_t inner;
  x64_kernel_begin(&test);
  kir_module_t *module = test.code.module;
  kir_type_t *type = kir_vector_type(kir_int_type(module, 32), lanes);
  kir_type_t *signature =
      kir_function_type(kir_void_type(module), (kir_type_t *[]){type, kir_pointer_type(module)}, 2);
  kir_value_t *function = jit_inner_function(&test.code, "stores", signature, &inner);
  kir_value_t *x = kir_param(function, 0);
  kir_set_align(kir_store(inner.builder, kir_add(inner.builder, x, x), kir_param(function, 1)), 4);
  kir_ret_void(inner.builder);
  kir_call(test.code.builder, signature, function,
           (kir_value_t *[]){x64_kernel_load(&test, type, 0), test.out}, 2);
  x64_kernel_fn run = x64_kernel_finish(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  for (int i = 0; i < 64; i++) in[i] = i * i * 7;
  run(out, in, 0);
  for (unsigned i = 0; i < lanes; i++) CU_ASSERT_EQUAL(out[i], 2 * in[i]);
  jit_object_unload(test.object);
}

/* Several registers, and lanes that are no power of two. */
static void test_calls_without_result(void) {
  static const unsigned lanes[] = {10, 32, 64};
  if (!x64_kernel_can_run()) return;
  for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++)
    if (4 * lanes[i] <= 4 * (unsigned)jit_target_host()->vector_bytes)
      try_call_without_result(lanes[i]);
}

/* --- what is not known here ------------------------------------------------------------------- */

static void test_left_to_llvm(void) {
  x64_kernel_t test;
  x64_kernel_begin(&test);
  kir_value_t *value = x64_kernel_load(&test, kir_half_type(test.code.module), 0);
  x64_kernel_store(&test, kir_fadd(test.code.builder, value, value), 0);
  CU_ASSERT_PTR_NULL(x64_kernel_finish(&test));
}

CU_TestInfo suite_x64[] = {
    {"integers as they are folded", test_integers},
    {"constants are one object each", test_constants_are_one},
    {"integers in a circle", test_circle_of_integers},
    {"floats in a circle", test_circle_of_floats},
    {"more vectors than registers", test_many_vectors},
    {"more integers than registers", test_many_integers},
    {"calls with vectors of several registers", test_wide_calls},
    {"calls without a result of such vectors", test_calls_without_result},
    {"what is left to LLVM", test_left_to_llvm},
    CU_TEST_INFO_NULL,
};
