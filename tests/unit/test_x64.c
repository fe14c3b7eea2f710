/* Machine code of jit/x64: what it computes against what the kernel IR folds, phis in circles, more
 * values than registers, and what is left to LLVM. */
#include "jit/x64/x64.h"

#include <string.h>

#include <CUnit/TestRun.h>

#include "jit/element/code_builder.h"
#include "jit/emit/emit_kernel.h"
#include "jit/link/object_loader.h"
#include "tests/lib/unit.h"

typedef void (*run_fn)(void *out, const void *in, int64_t count);

/* Is the code for this processor? Where it is not, the test says that it was left out. */
static bool can_run(void) {
  if (x64_is_supported(jit_target_host())) return true;
  SKIP(CU_get_current_test()->pName, "there is no AVX-512");
  return false;
}

/* A function (out, in, count) that is being written, with its first block open. */
typedef struct test {
  jit_code_t code;
  kir_value_t *function, *out, *in, *count;
  kir_type_t *i64;
  jit_object_t *object;
} test_t;

static void begin(test_t *test) {
  CU_ASSERT_PTR_NULL_FATAL(jit_code_init(&test->code, jit_target_host(), &x64_kir_target, "test"));
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
static run_fn end(test_t *test) {
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
  return (run_fn)run;
}

static kir_value_t *place(test_t *test, kir_value_t *array, kir_type_t *element, int64_t i) {
  kir_value_t *index = jit_int(test->i64, i);
  return kir_gep(test->code.builder, element, array, index);
}

static kir_value_t *read_at(test_t *test, kir_type_t *type, int64_t i) {
  return kir_load(test->code.builder, type, place(test, test->in, type, i));
}

static void write_at(test_t *test, kir_value_t *value, int64_t i) {
  kir_store(test->code.builder, value, place(test, test->out, kir_type_of(value), i));
}

/* --- what is computed, and what is folded ----------------------------------------------------- */

typedef kir_binary_fn *build_fn;

static const int64_t numbers[] = {
    1, 3, 7, -1, -5, 100, -128, 12345, 1000007, -32768, 2147483647, -2147483648LL, 5000000000LL};
#define NUMBERS ((int)(sizeof numbers / sizeof *numbers))

/* knows_b: while code is made. */
static uint64_t computed(build_fn build, unsigned bits, int64_t a, int64_t b, bool knows_b) {
  int64_t in[2] = {a, b}, out = 0;
  test_t test;
  begin(&test);
  kir_type_t *type = kir_int_type(test.code.module, bits);
  kir_value_t *x = kir_load(test.code.builder, type, place(&test, test.in, test.i64, 0));
  kir_value_t *y = kir_load(test.code.builder, type, place(&test, test.in, test.i64, 1));
  if (knows_b) y = jit_int(type, b);
  write_at(&test, build(test.code.builder, x, y), 0);
  run_fn run = end(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  run(&out, in, 0);
  jit_object_unload(test.object);
  return (uint64_t)out;
}

/* False: it is not folded, as a division by nothing is not. */
static bool folded(build_fn build, unsigned bits, int64_t a, int64_t b, uint64_t *out_value) {
  test_t test;
  begin(&test);
  kir_type_t *type = kir_int_type(test.code.module, bits);
  kir_value_t *value = build(test.code.builder, jit_int(type, a), jit_int(type, b));
  bool is_constant = kir_is_constant(value);
  if (is_constant) *out_value = value->lanes[0];
  end(&test);
  jit_object_unload(test.object);
  return is_constant;
}

static void try_integers(build_fn build, unsigned bits) {
  for (int i = 0; i < NUMBERS; i++)
    for (int k = 0; k < NUMBERS; k++) {
      uint64_t want;
      if (!folded(build, bits, numbers[i], numbers[k], &want)) continue;
      CU_ASSERT_EQUAL(computed(build, bits, numbers[i], numbers[k], false), want);
      CU_ASSERT_EQUAL(computed(build, bits, numbers[i], numbers[k], true), want);
    }
}

static void test_integers(void) {
  if (!can_run()) return;
  const build_fn builds[] = {kir_add, kir_sub, kir_mul, kir_udiv, kir_sdiv, kir_urem, kir_srem,
                             kir_and, kir_or,  kir_xor, kir_shl,  kir_lshr, kir_ashr};
  for (size_t i = 0; i < sizeof builds / sizeof *builds; i++)
    for (unsigned bits = 8; bits <= 64; bits *= 2) try_integers(builds[i], bits);
}

static void test_constants_are_one(void) {
  test_t test;
  begin(&test);
  kir_value_t *two = jit_int(test.i64, 2), *four = kir_add(test.code.builder, two, two);
  CU_ASSERT_PTR_EQUAL(four, jit_int(test.i64, 4));
  CU_ASSERT_PTR_EQUAL(kir_mul(test.code.builder, test.count, jit_int(test.i64, 1)), test.count);
  end(&test);
  jit_object_unload(test.object);
}

/* --- where values are ------------------------------------------------------------------------- */

#define CIRCLE 5

/* `count` times: each takes over the next one's value, the last the first's plus 1. */
static void write_circle(test_t *test, kir_type_t *type, kir_value_t *one) {
  kir_builder_t *b = test->code.builder;
  kir_block_t *before = kir_insert_block(b), *loop, *after;
  kir_value_t *values[CIRCLE], *phis[CIRCLE];
  for (int k = 0; k < CIRCLE; k++) values[k] = read_at(test, type, k);
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
  for (int k = 0; k < CIRCLE; k++) write_at(test, phis[k], k);
}

#define TURNS 8 /* the last of them finds what seven have left */
static const int64_t circle_in[CIRCLE] = {10, 20, 30, 40, 50},
                     circle_out[CIRCLE] = {31, 41, 51, 12, 22};

static void test_circle_of_integers(void) {
  int64_t out[CIRCLE];
  test_t test;
  if (!can_run()) return;
  begin(&test);
  write_circle(&test, test.i64, jit_int(test.i64, 1));
  run_fn run = end(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  run(out, circle_in, TURNS);
  CU_ASSERT_EQUAL(memcmp(out, circle_out, sizeof circle_out), 0);
  jit_object_unload(test.object);
}

static void test_circle_of_floats(void) {
  float in[CIRCLE], out[CIRCLE];
  test_t test;
  if (!can_run()) return;
  for (int k = 0; k < CIRCLE; k++) in[k] = (float)circle_in[k];
  begin(&test);
  kir_type_t *f32 = kir_float_type(test.code.module);
  write_circle(&test, f32, jit_real(f32, 1));
  run_fn run = end(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  run(out, in, TURNS);
  for (int k = 0; k < CIRCLE; k++) CU_ASSERT_EQUAL(out[k], (float)circle_out[k]);
  jit_object_unload(test.object);
}

#define MANY 48

/* All are read before the first is used; each is added to the one as far from the other end. */
static run_fn write_many(test_t *test, kir_type_t *type, kir_type_t *element, int lanes) {
  kir_value_t *values[MANY];
  kir_builder_t *b = test->code.builder;
  for (int k = 0; k < MANY; k++)
    values[k] = kir_load(b, type, place(test, test->in, element, k * lanes));
  for (int k = MANY; k-- > 0;) {
    kir_value_t *sum = (lanes > 1 ? kir_fadd : kir_add)(b, values[k], values[MANY - 1 - k]);
    kir_store(b, sum, place(test, test->out, element, k * lanes));
  }
  return end(test);
}

static void test_many_vectors(void) {
  float in[MANY * 16], out[MANY * 16];
  test_t test;
  if (!can_run()) return;
  begin(&test);
  kir_type_t *f32 = kir_float_type(test.code.module);
  run_fn run = write_many(&test, kir_vector_type(f32, 16), f32, 16);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  for (int i = 0; i < MANY * 16; i++) in[i] = (float)(i * i % 1009);
  run(out, in, 0);
  for (int i = 0; i < MANY * 16; i++)
    CU_ASSERT_EQUAL(out[i], in[i] + in[(MANY - 1 - i / 16) * 16 + i % 16]);
  jit_object_unload(test.object);
}

static void test_many_integers(void) {
  int64_t in[MANY], out[MANY];
  test_t test;
  if (!can_run()) return;
  begin(&test);
  run_fn run = write_many(&test, test.i64, test.i64, 1);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  for (int i = 0; i < MANY; i++) in[i] = (int64_t)i * i * i;
  run(out, in, 0);
  for (int i = 0; i < MANY; i++) CU_ASSERT_EQUAL(out[i], in[i] + in[MANY - 1 - i]);
  jit_object_unload(test.object);
}

/* --- orders of lanes -------------------------------------------------------------------------- */

/* More vectors at a time than there are registers, each used oftener than those that were read
 * before, so that the latter go to the stack. */
static void fill_registers(test_t *test, kir_type_t *type) {
  kir_value_t *values[MANY];
  kir_type_t *byte = kir_int_type(test->code.module, 8);
  for (int i = 0; i < MANY; i++)
    values[i] = kir_load(test->code.builder, type, place(test, test->in, byte, i));
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < MANY; i++) write_at(test, values[i], 0);
}

/* So many lanes together, number i of the result, are number 7 i + 3 of two vectors one behind the
 * other, or so many less that they are there. */
static void try_order(unsigned bits, unsigned from, unsigned lanes, unsigned together,
                      bool are_spilled) {
  unsigned char in[128], out[64], want[64];
  size_t bytes = bits / 8;
  kir_value_t *order[64];
  test_t test;
  begin(&test);
  kir_type_t *type = kir_vector_type(kir_int_type(test.code.module, bits), from);
  kir_type_t *i32 = kir_int_type(test.code.module, 32);
  for (size_t i = 0; i < sizeof in; i++) in[i] = (unsigned char)(i * 37 + 11);
  for (unsigned i = 0; i < lanes; i++) {
    unsigned lane = ((7 * (i / together) + 3) * together + i % together) % (2 * from);
    order[i] = kir_const_int(i32, lane);
    memcpy(want + i * bytes, in + lane * bytes, bytes);
  }
  kir_value_t *a = read_at(&test, type, 0), *b = read_at(&test, type, 1);
  if (are_spilled) fill_registers(&test, type);
  write_at(&test, kir_shuffle(test.code.builder, a, b, kir_const_vector(order, lanes)), 0);
  run_fn run = end(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  run(out, in, 0);
  CU_ASSERT_EQUAL(memcmp(out, want, lanes * bytes), 0);
  jit_object_unload(test.object);
}

static void try_orders(bool are_spilled) {
  for (unsigned together = 1; together <= 8; together *= 2)
    try_order(8, 16, 16, together, are_spilled);
  for (unsigned together = 2; together <= 8; together *= 2)
    try_order(8, 64, 32, together, are_spilled);
  for (unsigned bits = 8; bits <= 64; bits *= 2)
    for (unsigned width = 128; width <= 512; width *= 2)
      for (unsigned other = 128; other <= 512; other *= 2)
        try_order(bits, width / bits, other / bits, 1, are_spilled);
}

static void test_orders(void) {
  if (!can_run()) return;
  try_orders(false);
  try_orders(true);
}

/* As many rows as a vector has lanes, and lanes, change places. */
static void try_turning(unsigned bits, unsigned lanes) {
  static unsigned char in[64 * 64 * 8], out[64 * 64 * 8];
  kir_value_t *rows[64];
  size_t bytes = bits / 8;
  test_t test;
  begin(&test);
  kir_type_t *type = kir_vector_type(kir_int_type(test.code.module, bits), lanes);
  for (unsigned k = 0; k < lanes; k++) rows[k] = read_at(&test, type, k);
  jit_emit_transposed(&test.code, rows, (int)lanes);
  for (unsigned k = 0; k < lanes; k++) write_at(&test, rows[k], k);
  run_fn run = end(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  for (size_t i = 0; i < sizeof in; i++) in[i] = (unsigned char)(i * 37 + i / 256 + 11);
  run(out, in, 0);
  for (unsigned k = 0; k < lanes; k++)
    for (unsigned i = 0; i < lanes; i++)
      CU_ASSERT_EQUAL(memcmp(out + (k * lanes + i) * bytes, in + (i * lanes + k) * bytes, bytes),
                      0);
  jit_object_unload(test.object);
}

static void test_turning(void) {
  if (!can_run()) return;
  for (unsigned bits = 16; bits <= 64; bits *= 2)
    for (unsigned lanes = 2; lanes <= 512 / bits; lanes *= 2) try_turning(bits, lanes);
}

/* --- vectors of all sizes --------------------------------------------------------------------- */

static int64_t number_at(const void *numbers, unsigned bits, unsigned i) {
  int64_t wide = 0;
  memcpy(&wide, (const unsigned char *)numbers + i * bits / 8, bits / 8);
  return (int64_t)((uint64_t)wide << (64 - bits)) >> (64 - bits);
}

static kir_type_t *vector_of(test_t *test, unsigned bits, unsigned lanes) {
  return kir_vector_type(kir_int_type(test->code.module, bits), lanes);
}

static kir_value_t *reversed(test_t *test, kir_value_t *x) {
  kir_value_t *order[128];
  unsigned lanes = kir_type_of(x)->lanes;
  kir_type_t *i32 = kir_int_type(test->code.module, 32);
  for (unsigned i = 0; i < lanes; i++) order[i] = jit_int(i32, (int64_t)lanes - 1 - i);
  return kir_shuffle(test->code.builder, x, x, kir_const_vector(order, lanes));
}

/* From the last to the first lane: x + y where x < y, else x - y. */
static void try_lanes(unsigned bits, unsigned lanes) {
  unsigned char in[2 * 1024], out[1024 + 8];
  unsigned bytes = lanes * bits / 8;
  test_t test;
  begin(&test);
  kir_builder_t *b = test.code.builder;
  kir_type_t *type = vector_of(&test, bits, lanes), *element = type->element;
  for (size_t i = 0; i < sizeof in; i++) in[i] = (unsigned char)(i * i * 37 + 11 + i / 256);
  memset(out, 0x5a, sizeof out);
  kir_value_t *x = read_at(&test, type, 0);
  kir_value_t *y = kir_load(b, type, place(&test, test.in, element, lanes));
  kir_value_t *is_less = kir_icmp(b, KIR_ICMP_SLT, x, y);
  kir_value_t *z = kir_select(b, is_less, kir_add(b, x, y), kir_sub(b, x, y));
  write_at(&test, reversed(&test, z), 0);
  run_fn run = end(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  run(out, in, 0);
  for (unsigned i = 0; i < lanes; i++) {
    int64_t a = number_at(in, bits, lanes - 1 - i), c = number_at(in, bits, 2 * lanes - 1 - i);
    uint64_t want = a < c ? (uint64_t)a + (uint64_t)c : (uint64_t)a - (uint64_t)c;
    CU_ASSERT_EQUAL(number_at(out, bits, i), number_at(&want, bits, 0));
  }
  for (unsigned i = bytes; i < bytes + 8; i++) CU_ASSERT_EQUAL(out[i], 0x5a);
  jit_object_unload(test.object);
}

static void test_all_sizes(void) {
  static const unsigned lanes[] = {2, 3, 4, 5, 8, 16, 19, 32, 50, 64, 100};
  if (!can_run()) return;
  for (unsigned bits = 16; bits <= 64; bits *= 2)
    for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++) try_lanes(bits, lanes[i]);
}

/* `count` times: the lane that is `count` gets the sum of itself and the one in memory. */
static void try_unknown_lane(unsigned bits, unsigned lanes) {
  enum { COUNT = 3 };
  int64_t in[128], out[128];
  test_t test;
  begin(&test);
  kir_builder_t *b = test.code.builder;
  kir_type_t *type = vector_of(&test, bits, lanes);
  kir_block_t *before = kir_insert_block(b), *loop, *after;
  loop = kir_append_block(test.function, "");
  after = kir_append_block(test.function, "");
  kir_value_t *first = read_at(&test, type, 0);
  kir_br(b, loop);
  kir_position_at_end(b, loop);
  kir_value_t *i = kir_phi(b, test.i64), *x = kir_phi(b, type);
  kir_value_t *one = kir_extract(b, x, test.count);
  one = kir_add(b, one, read_at(&test, type->element, 1));
  kir_value_t *next_x = kir_insert(b, x, one, test.count);
  kir_value_t *next = kir_add(b, i, jit_int(test.i64, 1));
  kir_cond_br(b, kir_icmp(b, KIR_ICMP_SLT, next, test.count), loop, after);
  kir_add_incoming(i, (kir_value_t *[]){jit_int(test.i64, 0), next},
                   (kir_block_t *[]){before, loop}, 2);
  kir_add_incoming(x, (kir_value_t *[]){first, next_x}, (kir_block_t *[]){before, loop}, 2);
  kir_position_at_end(b, after);
  write_at(&test, next_x, 0);
  run_fn run = end(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  for (int k = 0; k < 128; k++) in[k] = 1000000007LL * k * k;
  run(out, in, COUNT);
  int64_t want = number_at(in, bits, COUNT) + COUNT * number_at(in, bits, 1);
  for (unsigned k = 0; k < lanes; k++)
    CU_ASSERT_EQUAL(number_at(out, bits, k),
                    k == COUNT ? number_at(&want, bits, 0) : number_at(in, bits, k));
  jit_object_unload(test.object);
}

static void test_unknown_lanes(void) {
  if (!can_run()) return;
  for (unsigned bits = 16; bits <= 64; bits *= 2)
    for (unsigned lanes = 4; lanes <= 32; lanes *= 2) try_unknown_lane(bits, lanes + lanes / 8);
}

/* --- vectors divided, and what is done with bytes --------------------------------------------- */

/* Each of some numbers with each, in vectors; knows_b: the second of them is the same in all lanes,
 * and known. */
static void try_numbers(build_fn build, unsigned bits, bool knows_b) {
  int64_t out[NUMBERS + 1], a[NUMBERS + 1], b[NUMBERS + 1] = {0}, in[2 * (NUMBERS + 1)];
  for (int k = 0; k < NUMBERS; k++) {
    test_t test;
    uint64_t want;
    unsigned count = 0;
    for (int i = 0; i < NUMBERS; i++)
      if (folded(build, bits, numbers[i], numbers[k], &want))
        a[count] = numbers[i], b[count++] = (int64_t)want;
    for (unsigned i = 0; i < count; i++) {
      memcpy((char *)in + i * bits / 8, &a[i], bits / 8);
      memcpy((char *)in + (count + i) * bits / 8, &numbers[k], bits / 8);
    }
    if (count == 0) continue;
    begin(&test);
    kir_type_t *type = vector_of(&test, bits, count);
    kir_value_t *x = read_at(&test, type, 0), *y = jit_int(type, numbers[k]);
    if (!knows_b)
      y = kir_load(test.code.builder, type, place(&test, test.in, type->element, count));
    write_at(&test, build(test.code.builder, x, y), 0);
    run_fn run = end(&test);
    CU_ASSERT_PTR_NOT_NULL_FATAL(run);
    run(out, in, 0);
    for (unsigned i = 0; i < count; i++)
      CU_ASSERT_EQUAL(number_at(out, bits, i), number_at(&b[i], bits, 0));
    jit_object_unload(test.object);
  }
}

static void test_vectors_of_integers(void) {
  const build_fn builds[] = {kir_udiv, kir_sdiv, kir_urem, kir_srem,
                             kir_mul,  kir_shl,  kir_lshr, kir_ashr};
  if (!can_run()) return;
  for (size_t i = 0; i < sizeof builds / sizeof *builds; i++)
    for (unsigned bits = 8; bits <= 64; bits *= 2)
      for (int knows_b = 0; knows_b < 2; knows_b++) try_numbers(builds[i], bits, knows_b);
}

/* --- lanes one by one, and bits counted ------------------------------------------------------- */

/* Lane k of the result is element 7 k + 3, modulo `lanes`; has_mask: nothing in each third lane.
 * scatters: element 7 k + 3 of the result is lane k. */
static void try_spread(unsigned bits, unsigned lanes, unsigned index_bits, bool has_mask,
                       bool scatters) {
  char in[64 * 8], out[64 * 8];
  test_t test;
  begin(&test);
  kir_type_t *type = vector_of(&test, bits, lanes), *element = type->element;
  kir_type_t *i1 = kir_int_type(test.code.module, 1);
  kir_type_t *index = kir_int_type(test.code.module, index_bits);
  kir_value_t *places[64], *wanted[64], *value = read_at(&test, type, 0);
  for (unsigned k = 0; k < lanes; k++) {
    places[k] = jit_int(index, (7 * k + 3) % lanes);
    wanted[k] = kir_const_int(i1, !has_mask || k % 3);
  }
  kir_value_t *all = kir_const_vector(places, lanes), *mask = kir_const_vector(wanted, lanes);
  kir_value_t *array = scatters ? test.out : test.in, *align = jit_int(test.i64, 1);
  kir_value_t *pointers = kir_inbounds_gep(test.code.builder, element, array, all);
  if (scatters) {
    kir_value_t *arguments[] = {value, pointers, align, mask};
    jit_intrinsic(&test.code, KIR_SCATTER, type, arguments, 4);
  } else {
    kir_value_t *arguments[] = {pointers, align, mask, kir_null(type)};
    write_at(&test, jit_intrinsic(&test.code, KIR_GATHER, type, arguments, 4), 0);
  }
  run_fn run = end(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  for (unsigned k = 0; k < sizeof in; k++) {
    in[k] = (char)(k * 37 + 11);
    out[k] = 0;
  }
  run(out, in, 0);
  for (unsigned k = 0; k < lanes; k++) {
    unsigned other = (7 * k + 3) % lanes; /* 7 and 3: each lane is some lane's other */
    unsigned to = scatters ? other : k;
    unsigned from = scatters ? k : other;
    int64_t want = has_mask && k % 3 == 0 ? 0 : number_at(in, bits, from);
    CU_ASSERT_EQUAL(number_at(out, bits, to), want);
  }
  jit_object_unload(test.object);
}

static void test_spread_lanes(void) {
  static const unsigned lanes[] = {2, 4, 5, 8, 16, 31, 64}; /* none of which 7 divides */
  if (!can_run()) return;
  for (unsigned bits = 8; bits <= 64; bits *= 2)
    for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++)
      for (unsigned how = 0; how < 8; how++)
        try_spread(bits, lanes[i], how & 1 ? 64 : 32, how & 2, how & 4);
}

static int64_t counted(kir_op_t op, unsigned bits, int64_t number) {
  uint64_t value = (uint64_t)number & (bits < 64 ? (UINT64_C(1) << bits) - 1 : ~UINT64_C(0));
  if (op == KIR_CTPOP) return __builtin_popcountll(value);
  return value ? __builtin_clzll(value) - (int)(64 - bits) : (int)bits;
}

static void try_count(kir_op_t op, unsigned bits, unsigned lanes) {
  char in[NUMBERS * 8], out[NUMBERS * 8];
  test_t test;
  begin(&test);
  kir_type_t *one = kir_int_type(test.code.module, bits);
  kir_type_t *type = lanes == 1 ? one : vector_of(&test, bits, lanes);
  kir_value_t *arguments[] = {read_at(&test, type, 0), kir_null(kir_int_type(test.code.module, 1))};
  int count = op == KIR_CTLZ ? 2 : 1;
  write_at(&test, jit_intrinsic(&test.code, op, type, arguments, count), 0);
  run_fn run = end(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  for (unsigned first = 0; first + lanes <= NUMBERS; first += lanes) {
    for (unsigned k = 0; k < lanes; k++) memcpy(in + k * bits / 8, &numbers[first + k], bits / 8);
    run(out, in, 0);
    for (unsigned k = 0; k < lanes; k++) {
      int64_t want = counted(op, bits, numbers[first + k]);
      CU_ASSERT_EQUAL(number_at(out, bits, k), number_at(&want, bits, 0));
    }
  }
  jit_object_unload(test.object);
}

static void test_counts(void) {
  if (!can_run()) return;
  for (unsigned bits = 8; bits <= 64; bits *= 2)
    for (unsigned lanes = 1; lanes <= NUMBERS; lanes++)
      try_count(KIR_CTPOP, bits, lanes), try_count(KIR_CTLZ, bits, lanes);
}

/* --- division by a constant ------------------------------------------------------------------- */

static void try_division(uint32_t divisor) {
  enum { LANES = 16 };
  uint32_t in[LANES] = {0,       1,           UINT32_MAX, UINT32_MAX - 1, 1u << 31, (1u << 31) - 1,
                        divisor, divisor - 1, divisor + 1};
  uint32_t out[2 * LANES];
  test_t test;
  for (uint32_t i = 9; i < LANES; i++) in[i] = i * 268435399u / 3 * divisor;
  begin(&test);
  kir_type_t *type = kir_vector_type(kir_int_type(test.code.module, 32), LANES);
  kir_value_t *x = read_at(&test, type, 0), *all = jit_int(type, divisor);
  write_at(&test, kir_udiv(test.code.builder, x, all), 0);
  write_at(&test, kir_urem(test.code.builder, x, all), 1);
  run_fn run = end(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  run(out, in, 0);
  for (int i = 0; i < LANES; i++) {
    CU_ASSERT_EQUAL(out[i], in[i] / divisor);
    CU_ASSERT_EQUAL(out[LANES + i], in[i] % divisor);
  }
  jit_object_unload(test.object);
}

static const int64_t wide_numbers[] = {
    0,          1,     -1,     INT64_MIN, INT64_MIN + 1, INT64_MAX,      INT64_MAX / 3, 7,
    4294967295, 99999, -99999, 1L << 52,  1L << 53,      (1L << 53) + 1, -(1L << 61),   10};
#define WIDE_NUMBERS ((int)(sizeof wide_numbers / sizeof *wide_numbers))

static void expect_quotients(const int64_t *in, const uint64_t *out, int64_t divisor) {
  uint64_t by = (uint64_t)divisor;
  for (int i = 0; i < WIDE_NUMBERS; i++) {
    CU_ASSERT_EQUAL(out[i], (uint64_t)in[i] / by);
    CU_ASSERT_EQUAL(out[WIDE_NUMBERS + i], (uint64_t)in[i] % by);
    if (divisor == -1) continue;
    CU_ASSERT_EQUAL((int64_t)out[2 * WIDE_NUMBERS + i], in[i] / divisor);
    CU_ASSERT_EQUAL((int64_t)out[3 * WIDE_NUMBERS + i], in[i] % divisor);
  }
}

/* Of 64 bits, with signs and without, so many lanes at a time, by a constant or by what is read. */
static void try_wide_division(int64_t divisor, unsigned lanes, bool is_known) {
  static const build_fn builds[] = {kir_udiv, kir_urem, kir_sdiv, kir_srem};
  uint64_t out[4 * WIDE_NUMBERS];
  int64_t in[WIDE_NUMBERS + 8];
  test_t test;
  memcpy(in, wide_numbers, sizeof wide_numbers);
  for (int i = 0; i < 8; i++) in[WIDE_NUMBERS + i] = divisor;
  begin(&test);
  kir_type_t *type = lanes == 1 ? test.i64 : kir_vector_type(test.i64, lanes);
  int count = WIDE_NUMBERS / (int)lanes;
  for (int k = 0; k < (divisor == -1 ? 2 : 4); k++)
    for (int i = 0; i < count; i++) {
      kir_value_t *by = is_known ? jit_int(type, divisor) : read_at(&test, type, count);
      write_at(&test, builds[k](test.code.builder, read_at(&test, type, i), by), k * count + i);
    }
  run_fn run = end(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  run(out, in, 0);
  expect_quotients(in, out, divisor);
  jit_object_unload(test.object);
}

static void try_wide_divisions(int64_t divisor) {
  for (unsigned lanes = 1; lanes <= 8; lanes *= 2) {
    try_wide_division(divisor, lanes, true);
    try_wide_division(divisor, lanes, false);
  }
}

/* Numbers of a type of up to 32 bits, and what is near multiples of the divisor. */
enum { NARROW_NUMBERS = 32 };

static void list_narrow_numbers(int64_t divisor, int bits, int32_t *out_numbers) {
  static const int64_t ends[] = {0, 1, -1, INT32_MAX, INT32_MIN, INT32_MIN + 1, 77, -99};
  for (int i = 0; i < NARROW_NUMBERS; i++) {
    int64_t number = i < 8 ? ends[i] : divisor * (i / 3 - 6) + i % 3 - 1;
    if (bits < 32) number = i < 8 && i > 2 ? number >> (32 - bits) : number;
    out_numbers[i] = (int32_t)((int64_t)((uint64_t)number << (64 - bits)) >> (64 - bits));
  }
}

/* The lowest bits of a number, with its sign or without. */
static int64_t as_wide(int64_t number, int bits, bool is_signed) {
  uint64_t raised = (uint64_t)number << (64 - bits);
  return is_signed ? (int64_t)raised >> (64 - bits) : (int64_t)(raised >> (64 - bits));
}

/* Of up to 32 bits, as one number and as vectors, by a constant. */
static void try_narrow_division(int64_t divisor, int bits, unsigned lanes) {
  static const build_fn builds[] = {kir_udiv, kir_urem, kir_sdiv, kir_srem};
  int32_t in[NARROW_NUMBERS], out[4 * NARROW_NUMBERS];
  test_t test;
  list_narrow_numbers(divisor, bits, in);
  begin(&test);
  kir_type_t *narrow = kir_int_type(test.code.module, (unsigned)bits),
             *wide = kir_int_type(test.code.module, 32);
  kir_type_t *type = lanes == 1 ? narrow : kir_vector_type(narrow, lanes),
             *stored = lanes == 1 ? wide : kir_vector_type(wide, lanes);
  int count = NARROW_NUMBERS / (int)lanes;
  for (int k = 0; k < 4; k++)
    for (int i = 0; i < count; i++) {
      kir_value_t *x = kir_int_cast(test.code.builder, read_at(&test, stored, i), type, true);
      kir_value_t *result = builds[k](test.code.builder, x, jit_int(type, divisor));
      write_at(&test, kir_int_cast(test.code.builder, result, stored, k > 1), k * count + i);
    }
  run_fn run = end(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  run(out, in, 0);
  for (int k = 0; k < 4; k++)
    for (int i = 0; i < NARROW_NUMBERS; i++) {
      int64_t x = as_wide(in[i], bits, k > 1), by = as_wide(divisor, bits, k > 1);
      int64_t want = k % 2 ? x % by : x / by;
      CU_ASSERT_EQUAL(as_wide(out[k * NARROW_NUMBERS + i], bits, k > 1),
                      as_wide(want, bits, k > 1));
    }
  jit_object_unload(test.object);
}

static void test_narrow_divisions(void) {
  static const int64_t divisors[] = {2,  3,  4,   5,   7,    8,    10,      16,       17,
                                     32, 64, 100, 127, 1000, 4096, 1 << 20, INT32_MAX};
  if (!can_run()) return;
  for (size_t i = 0; i < sizeof divisors / sizeof *divisors; i++)
    for (int bits = 8; bits <= 32; bits *= 2)
      for (unsigned lanes = 1; lanes <= 16; lanes *= 4)
        if (divisors[i] >> (bits - 1) == 0) try_narrow_division(divisors[i], bits, lanes);
}

static void test_divisions(void) {
  static const uint32_t divisors[] = {2,   3,     5,     7,     9,         10,       100,
                                      641, 65535, 65536, 65537, INT32_MAX, 1u << 31, UINT32_MAX};
  if (!can_run()) return;
  for (size_t i = 0; i < sizeof divisors / sizeof *divisors; i++) {
    try_division(divisors[i]);
    try_wide_divisions(divisors[i]);
  }
  for (int i = 1; i < WIDE_NUMBERS; i++) try_wide_divisions(wide_numbers[i]);
}

/* --- gathers ---------------------------------------------------------------------------------- */

/* Addresses of lanes are a part of the gather, in whatever block they were computed. */
static void test_gather_of_far_addresses(void) {
  test_t test;
  int32_t in[32], out[16] = {0};
  if (!can_run()) return;
  for (int i = 0; i < 16; i++) {
    in[i] = 16 + (7 * i + 3) % 16;
    in[16 + i] = 1000 * i;
  }
  begin(&test);
  kir_builder_t *b = test.code.builder;
  kir_type_t *i32 = kir_int_type(test.code.module, 32), *lanes = kir_vector_type(i32, 16);
  kir_value_t *pointers = kir_gep(b, i32, test.in, read_at(&test, lanes, 0));
  kir_block_t *block = kir_append_block(test.function, ""),
              *last = kir_append_block(test.function, "");
  kir_cond_br(b, kir_icmp(b, KIR_ICMP_SGT, test.count, jit_int(test.i64, 0)), block, last);
  kir_position_at_end(b, block);
  kir_value_t *all = kir_all_ones(kir_vector_type(kir_int_type(test.code.module, 1), 16));
  kir_value_t *in_gather[] = {pointers, jit_int(i32, 4), all, kir_null(lanes)};
  write_at(&test, kir_intrinsic(b, KIR_GATHER, lanes, in_gather, 4), 0);
  kir_br(b, last);
  kir_position_at_end(b, last);
  run_fn run = end(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  run(out, in, 1);
  for (int i = 0; i < 16; i++) CU_ASSERT_EQUAL(out[i], in[in[i]]);
  jit_object_unload(test.object);
}

/* All types of elements and indices, in front of the array's address and behind it; the mask leaves
 * out lanes whose addresses are nowhere. */
static void try_gather(unsigned bits, unsigned index_bits, unsigned lanes, uint64_t wanted) {
  test_t test;
  uint64_t mask_lanes[16] = {0};
  unsigned char table[256], out[128] = {0}, indices[128];
  for (int i = 0; i < 256; i++) table[i] = (unsigned char)(i * 37 + 11);
  begin(&test);
  kir_builder_t *b = test.code.builder;
  kir_module_t *module = test.code.module;
  kir_type_t *element = kir_int_type(module, bits), *type = kir_vector_type(element, lanes);
  kir_type_t *index = kir_vector_type(kir_int_type(module, index_bits), lanes),
             *i1 = kir_int_type(module, 1);
  for (unsigned i = 0; i < lanes; i++) {
    bool is_wanted = wanted >> i & 1;
    int64_t at = is_wanted ? (int64_t)(i * 7 % 16) - 8 : INT32_MIN;
    memcpy(indices + i * index_bits / 8, &at, index_bits / 8);
    mask_lanes[i] = is_wanted;
  }
  kir_value_t *at = kir_load(b, index, test.out);
  kir_set_align(at, 1);
  kir_value_t *mask = kir_constant(kir_vector_type(i1, lanes), mask_lanes);
  kir_value_t *args[] = {kir_gep(b, element, test.in, at), jit_int(kir_int_type(module, 32), 1),
                         mask, kir_null(type)};
  kir_value_t *store = kir_store(b, kir_intrinsic(b, KIR_GATHER, type, args, 4), test.out);
  kir_set_align(store, 1);
  run_fn run = end(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  memcpy(out, indices, sizeof out);
  run(out, table + 128, 0);
  for (unsigned i = 0; i < lanes; i++) {
    const unsigned char zeros[8] = {0},
                        *from = table + 128 + ((int)(i * 7 % 16) - 8) * (int)bits / 8;
    CU_ASSERT_EQUAL(memcmp(out + i * bits / 8, mask_lanes[i] ? from : zeros, bits / 8), 0);
  }
  jit_object_unload(test.object);
}

static void test_gathers(void) {
  if (!can_run()) return;
  for (unsigned bits = 8; bits <= 64; bits *= 2)
    for (unsigned index_bits = 32; index_bits <= 64; index_bits *= 2)
      for (unsigned lanes = 2; lanes <= 16; lanes *= 2) {
        try_gather(bits, index_bits, lanes, ~0ull);
        try_gather(bits, index_bits, lanes, 0xb6d3);
      }
}

/* --- what is not known here ------------------------------------------------------------------- */

static void test_left_to_llvm(void) {
  test_t test;
  begin(&test);
  kir_type_t *halves = kir_vector_type(kir_half_type(test.code.module), 16);
  kir_value_t *value = read_at(&test, halves, 0);
  write_at(&test, kir_fadd(test.code.builder, value, value), 0);
  CU_ASSERT_PTR_NULL(end(&test));
}

CU_TestInfo suite_x64[] = {
    {"integers as they are folded", test_integers},
    {"constants are one object each", test_constants_are_one},
    {"integers in a circle", test_circle_of_integers},
    {"floats in a circle", test_circle_of_floats},
    {"more vectors than registers", test_many_vectors},
    {"more integers than registers", test_many_integers},
    {"orders of lanes", test_orders},
    {"rows that are turned", test_turning},
    {"vectors of all sizes", test_all_sizes},
    {"lanes that are not known", test_unknown_lanes},
    {"vectors of integers", test_vectors_of_integers},
    {"lanes one by one", test_spread_lanes},
    {"bits counted", test_counts},
    {"divisions by constants", test_divisions},
    {"divisions of narrow numbers by constants", test_narrow_divisions},
    {"addresses of lanes in another block", test_gather_of_far_addresses},
    {"gathers of known lanes", test_gathers},
    {"what is left to LLVM", test_left_to_llvm},
    CU_TEST_INFO_NULL,
};
