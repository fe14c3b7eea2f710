/* Lanes of vectors in machine code of jit/x64: shuffles, vectors of all sizes, lanes by number,
 * gathers and scatters, bits counted. */
#include "tests/lib/x64_kernel.h"

#include "jit/emit/emit_kernel.h"

/* --- orders of lanes -------------------------------------------------------------------------- */

enum { MORE_THAN_REGISTERS = 48 };

/* More vectors at a time than there are registers, each used oftener than those that were read
 * before, so that the latter go to the stack. */
static void fill_registers(x64_kernel_t *test, kir_type_t *type) {
  kir_value_t *values[MORE_THAN_REGISTERS];
  kir_type_t *byte = kir_int_type(test->code.module, 8);
  for (int i = 0; i < MORE_THAN_REGISTERS; i++)
    values[i] = kir_load(test->code.builder, type, x64_kernel_address(test, test->in, byte, i));
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < MORE_THAN_REGISTERS; i++) x64_kernel_store(test, values[i], 0);
}

/* So many lanes together, number i of the result, are number 7 i + 3 of two vectors one after the
 * other, or so many less that they are there. */
static void try_order(unsigned bits, unsigned from, unsigned lanes, unsigned together,
                      bool are_spilled) {
  unsigned char in[128], out[64], want[64];
  size_t bytes = bits / 8;
  kir_value_t *order[64];
  x64_kernel_t test;
  x64_kernel_begin(&test);
  kir_type_t *type = kir_vector_type(kir_int_type(test.code.module, bits), from);
  kir_type_t *i32 = kir_int_type(test.code.module, 32);
  for (size_t i = 0; i < sizeof in; i++) in[i] = (unsigned char)(i * 37 + 11);
  for (unsigned i = 0; i < lanes; i++) {
    unsigned lane = ((7 * (i / together) + 3) * together + i % together) % (2 * from);
    order[i] = kir_const_int(i32, lane);
    memcpy(want + i * bytes, in + lane * bytes, bytes);
  }
  kir_value_t *a = x64_kernel_load(&test, type, 0), *b = x64_kernel_load(&test, type, 1);
  if (are_spilled) fill_registers(&test, type);
  x64_kernel_store(&test, kir_shuffle(test.code.builder, a, b, kir_const_vector(order, lanes)), 0);
  x64_kernel_fn run = x64_kernel_finish(&test);
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
  if (!x64_kernel_can_run()) return;
  try_orders(false);
  try_orders(true);
}

/* Bits of any part of a vector are a vector of bits, as in reductions of bits by halves. */
static void try_bits(unsigned from, unsigned first, unsigned lanes) {
  unsigned char in[64], out[64];
  kir_value_t *order[64];
  x64_kernel_t test;
  x64_kernel_begin(&test);
  kir_builder_t *b = test.code.builder;
  kir_type_t *byte = kir_int_type(test.code.module, 8), *i32 = kir_int_type(test.code.module, 32);
  kir_type_t *type = kir_vector_type(byte, from);
  for (size_t i = 0; i < sizeof in; i++) in[i] = i * 37 % 64 < 32;
  for (unsigned i = 0; i < lanes; i++) order[i] = kir_const_int(i32, first + i);
  kir_value_t *x = x64_kernel_load(&test, type, 0);
  kir_value_t *bits = kir_icmp(b, KIR_ICMP_NE, x, kir_null(type));
  kir_value_t *part = kir_shuffle(b, bits, bits, kir_const_vector(order, lanes));
  x64_kernel_store(&test, kir_zext(b, part, kir_vector_type(byte, lanes)), 0);
  x64_kernel_fn run = x64_kernel_finish(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  run(out, in, 0);
  CU_ASSERT_EQUAL(memcmp(out, in + first, lanes), 0);
  jit_object_unload(test.object);
}

static void test_bits(void) {
  if (!x64_kernel_can_run()) return;
  for (unsigned lanes = 2; lanes <= 32; lanes++) {
    try_bits(2 * lanes, 0, lanes);
    try_bits(2 * lanes, lanes, lanes);
  }
}

/* As many rows as a vector has lanes, and lanes, change places. */
static void try_turning(unsigned bits, unsigned lanes) {
  static unsigned char in[64 * 64 * 8], out[64 * 64 * 8];
  kir_value_t *rows[64];
  size_t bytes = bits / 8;
  x64_kernel_t test;
  x64_kernel_begin(&test);
  kir_type_t *type = kir_vector_type(kir_int_type(test.code.module, bits), lanes);
  for (unsigned k = 0; k < lanes; k++) rows[k] = x64_kernel_load(&test, type, k);
  jit_emit_transposed(&test.code, rows, (int)lanes);
  for (unsigned k = 0; k < lanes; k++) x64_kernel_store(&test, rows[k], k);
  x64_kernel_fn run = x64_kernel_finish(&test);
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
  if (!x64_kernel_can_run()) return;
  for (unsigned bits = 16; bits <= 64; bits *= 2)
    for (unsigned lanes = 2; lanes <= 512 / bits; lanes *= 2) try_turning(bits, lanes);
}

/* --- vectors of all sizes --------------------------------------------------------------------- */

static kir_value_t *reversed(x64_kernel_t *test, kir_value_t *x) {
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
  x64_kernel_t test;
  x64_kernel_begin(&test);
  kir_builder_t *b = test.code.builder;
  kir_type_t *type = x64_int_vector(&test, bits, lanes), *element = type->element;
  for (size_t i = 0; i < sizeof in; i++) in[i] = (unsigned char)(i * i * 37 + 11 + i / 256);
  memset(out, 0x5a, sizeof out);
  kir_value_t *x = x64_kernel_load(&test, type, 0);
  kir_value_t *y = kir_load(b, type, x64_kernel_address(&test, test.in, element, lanes));
  kir_value_t *is_less = kir_icmp(b, KIR_ICMP_SLT, x, y);
  kir_value_t *z = kir_select(b, is_less, kir_add(b, x, y), kir_sub(b, x, y));
  x64_kernel_store(&test, reversed(&test, z), 0);
  x64_kernel_fn run = x64_kernel_finish(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  run(out, in, 0);
  for (unsigned i = 0; i < lanes; i++) {
    int64_t a = x64_lane(in, bits, lanes - 1 - i), c = x64_lane(in, bits, 2 * lanes - 1 - i);
    uint64_t want = a < c ? (uint64_t)a + (uint64_t)c : (uint64_t)a - (uint64_t)c;
    CU_ASSERT_EQUAL(x64_lane(out, bits, i), x64_lane(&want, bits, 0));
  }
  for (unsigned i = bytes; i < bytes + 8; i++) CU_ASSERT_EQUAL(out[i], 0x5a);
  jit_object_unload(test.object);
}

static void test_all_sizes(void) {
  static const unsigned lanes[] = {2, 3, 4, 5, 8, 16, 19, 32, 50, 64, 100};
  if (!x64_kernel_can_run()) return;
  for (unsigned bits = 16; bits <= 64; bits *= 2)
    for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++) try_lanes(bits, lanes[i]);
}

/* `count` times: the lane that is `count` gets the sum of itself and the one in memory. */
static void try_unknown_lane(unsigned bits, unsigned lanes) {
  enum { COUNT = 3 };
  int64_t in[128], out[128];
  x64_kernel_t test;
  x64_kernel_begin(&test);
  kir_builder_t *b = test.code.builder;
  kir_type_t *type = x64_int_vector(&test, bits, lanes);
  kir_block_t *before = kir_insert_block(b), *loop, *after;
  loop = kir_append_block(test.function, "");
  after = kir_append_block(test.function, "");
  kir_value_t *first = x64_kernel_load(&test, type, 0);
  kir_br(b, loop);
  kir_position_at_end(b, loop);
  kir_value_t *i = kir_phi(b, test.i64), *x = kir_phi(b, type);
  kir_value_t *one = kir_extract(b, x, test.count);
  one = kir_add(b, one, x64_kernel_load(&test, type->element, 1));
  kir_value_t *next_x = kir_insert(b, x, one, test.count);
  kir_value_t *next = kir_add(b, i, jit_int(test.i64, 1));
  kir_cond_br(b, kir_icmp(b, KIR_ICMP_SLT, next, test.count), loop, after);
  kir_add_incoming(i, (kir_value_t *[]){jit_int(test.i64, 0), next},
                   (kir_block_t *[]){before, loop}, 2);
  kir_add_incoming(x, (kir_value_t *[]){first, next_x}, (kir_block_t *[]){before, loop}, 2);
  kir_position_at_end(b, after);
  x64_kernel_store(&test, next_x, 0);
  x64_kernel_fn run = x64_kernel_finish(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  for (int k = 0; k < 128; k++) in[k] = 1000000007LL * k * k;
  run(out, in, COUNT);
  int64_t want = x64_lane(in, bits, COUNT) + COUNT * x64_lane(in, bits, 1);
  for (unsigned k = 0; k < lanes; k++)
    CU_ASSERT_EQUAL(x64_lane(out, bits, k),
                    k == COUNT ? x64_lane(&want, bits, 0) : x64_lane(in, bits, k));
  jit_object_unload(test.object);
}

static void test_unknown_lanes(void) {
  if (!x64_kernel_can_run()) return;
  for (unsigned bits = 16; bits <= 64; bits *= 2)
    for (unsigned lanes = 4; lanes <= 32; lanes *= 2) try_unknown_lane(bits, lanes + lanes / 8);
}

/* --- vectors divided, and what is done with bytes --------------------------------------------- */

/* Each of some numbers with each, in vectors; knows_b: the second of them is the same in all lanes,
 * and known. */
static void try_numbers(kir_binary_fn *build, unsigned bits, bool knows_b) {
  int64_t out[X64_NUMBERS + 1], a[X64_NUMBERS + 1], b[X64_NUMBERS + 1] = {0},
                                                                    in[2 * (X64_NUMBERS + 1)];
  for (int k = 0; k < X64_NUMBERS; k++) {
    x64_kernel_t test;
    uint64_t want;
    unsigned count = 0;
    for (int i = 0; i < X64_NUMBERS; i++)
      if (x64_folded(build, bits, x64_numbers[i], x64_numbers[k], &want))
        a[count] = x64_numbers[i], b[count++] = (int64_t)want;
    for (unsigned i = 0; i < count; i++) {
      memcpy((char *)in + i * bits / 8, &a[i], bits / 8);
      memcpy((char *)in + (count + i) * bits / 8, &x64_numbers[k], bits / 8);
    }
    if (count == 0) continue;
    x64_kernel_begin(&test);
    kir_type_t *type = x64_int_vector(&test, bits, count);
    kir_value_t *x = x64_kernel_load(&test, type, 0), *y = jit_int(type, x64_numbers[k]);
    if (!knows_b)
      y = kir_load(test.code.builder, type,
                   x64_kernel_address(&test, test.in, type->element, count));
    x64_kernel_store(&test, build(test.code.builder, x, y), 0);
    x64_kernel_fn run = x64_kernel_finish(&test);
    CU_ASSERT_PTR_NOT_NULL_FATAL(run);
    run(out, in, 0);
    for (unsigned i = 0; i < count; i++)
      CU_ASSERT_EQUAL(x64_lane(out, bits, i), x64_lane(&b[i], bits, 0));
    jit_object_unload(test.object);
  }
}

static void test_vectors_of_integers(void) {
  kir_binary_fn *const builds[] = {kir_udiv, kir_sdiv, kir_urem, kir_srem,
                                   kir_mul,  kir_shl,  kir_lshr, kir_ashr};
  if (!x64_kernel_can_run()) return;
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
  x64_kernel_t test;
  x64_kernel_begin(&test);
  kir_type_t *type = x64_int_vector(&test, bits, lanes), *element = type->element;
  kir_type_t *i1 = kir_int_type(test.code.module, 1);
  kir_type_t *index = kir_int_type(test.code.module, index_bits);
  kir_value_t *places[64], *wanted[64], *value = x64_kernel_load(&test, type, 0);
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
    x64_kernel_store(&test, jit_intrinsic(&test.code, KIR_GATHER, type, arguments, 4), 0);
  }
  x64_kernel_fn run = x64_kernel_finish(&test);
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
    int64_t want = has_mask && k % 3 == 0 ? 0 : x64_lane(in, bits, from);
    CU_ASSERT_EQUAL(x64_lane(out, bits, to), want);
  }
  jit_object_unload(test.object);
}

static void test_spread_lanes(void) {
  static const unsigned lanes[] = {2, 4, 5, 8, 16, 31, 64}; /* none of which 7 divides */
  if (!x64_kernel_can_run()) return;
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
  char in[X64_NUMBERS * 8], out[X64_NUMBERS * 8];
  x64_kernel_t test;
  x64_kernel_begin(&test);
  kir_type_t *one = kir_int_type(test.code.module, bits);
  kir_type_t *type = lanes == 1 ? one : x64_int_vector(&test, bits, lanes);
  kir_value_t *arguments[] = {x64_kernel_load(&test, type, 0),
                              kir_null(kir_int_type(test.code.module, 1))};
  int count = op == KIR_CTLZ ? 2 : 1;
  x64_kernel_store(&test, jit_intrinsic(&test.code, op, type, arguments, count), 0);
  x64_kernel_fn run = x64_kernel_finish(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  for (unsigned first = 0; first + lanes <= X64_NUMBERS; first += lanes) {
    for (unsigned k = 0; k < lanes; k++)
      memcpy(in + k * bits / 8, &x64_numbers[first + k], bits / 8);
    run(out, in, 0);
    for (unsigned k = 0; k < lanes; k++) {
      int64_t want = counted(op, bits, x64_numbers[first + k]);
      CU_ASSERT_EQUAL(x64_lane(out, bits, k), x64_lane(&want, bits, 0));
    }
  }
  jit_object_unload(test.object);
}

static void test_counts(void) {
  if (!x64_kernel_can_run()) return;
  for (unsigned bits = 8; bits <= 64; bits *= 2)
    for (unsigned lanes = 1; lanes <= X64_NUMBERS; lanes++)
      try_count(KIR_CTPOP, bits, lanes), try_count(KIR_CTLZ, bits, lanes);
}

/* --- gathers ---------------------------------------------------------------------------------- */

/* Addresses of lanes are a part of the gather, in whatever block they were computed. */
static void test_gather_of_far_addresses(void) {
  x64_kernel_t test;
  int32_t in[32], out[16] = {0};
  if (!x64_kernel_can_run()) return;
  for (int i = 0; i < 16; i++) {
    in[i] = 16 + (7 * i + 3) % 16;
    in[16 + i] = 1000 * i;
  }
  x64_kernel_begin(&test);
  kir_builder_t *b = test.code.builder;
  kir_type_t *i32 = kir_int_type(test.code.module, 32), *lanes = kir_vector_type(i32, 16);
  kir_value_t *pointers = kir_gep(b, i32, test.in, x64_kernel_load(&test, lanes, 0));
  kir_block_t *block = kir_append_block(test.function, ""),
              *last = kir_append_block(test.function, "");
  kir_cond_br(b, kir_icmp(b, KIR_ICMP_SGT, test.count, jit_int(test.i64, 0)), block, last);
  kir_position_at_end(b, block);
  kir_value_t *all = kir_all_ones(kir_vector_type(kir_int_type(test.code.module, 1), 16));
  kir_value_t *in_gather[] = {pointers, jit_int(i32, 4), all, kir_null(lanes)};
  x64_kernel_store(&test, kir_intrinsic(b, KIR_GATHER, lanes, in_gather, 4), 0);
  kir_br(b, last);
  kir_position_at_end(b, last);
  x64_kernel_fn run = x64_kernel_finish(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  run(out, in, 1);
  for (int i = 0; i < 16; i++) CU_ASSERT_EQUAL(out[i], in[in[i]]);
  jit_object_unload(test.object);
}

/* All types of elements and indices, in front of the array's address and after it, in registers or
 * on the stack; the mask leaves out lanes whose addresses are nowhere. */
static void try_gather(unsigned bits, unsigned index_bits, unsigned lanes, uint64_t wanted,
                       bool are_spilled) {
  x64_kernel_t test;
  uint64_t mask_lanes[16] = {0};
  unsigned char table[256], out[128] = {0}, indices[128];
  for (int i = 0; i < 256; i++) table[i] = (unsigned char)(i * 37 + 11);
  x64_kernel_begin(&test);
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
  if (are_spilled) fill_registers(&test, kir_vector_type(kir_int_type(module, 32), 16));
  kir_value_t *mask = kir_constant(kir_vector_type(i1, lanes), mask_lanes);
  kir_value_t *args[] = {kir_gep(b, element, test.in, at), jit_int(kir_int_type(module, 32), 1),
                         mask, kir_null(type)};
  kir_value_t *store = kir_store(b, kir_intrinsic(b, KIR_GATHER, type, args, 4), test.out);
  kir_set_align(store, 1);
  x64_kernel_fn run = x64_kernel_finish(&test);
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
  if (!x64_kernel_can_run()) return;
  for (unsigned bits = 8; bits <= 64; bits *= 2)
    for (unsigned index_bits = 32; index_bits <= 64; index_bits *= 2)
      for (unsigned lanes = 2; lanes <= 16; lanes *= 2)
        for (int are_spilled = 0; are_spilled < 2; are_spilled++) {
          try_gather(bits, index_bits, lanes, ~0ull, are_spilled);
          try_gather(bits, index_bits, lanes, 0xb6d3, are_spilled);
        }
}

CU_TestInfo suite_x64_lanes[] = {
    {"orders of lanes", test_orders},
    {"parts of vectors of bits", test_bits},
    {"rows that are turned", test_turning},
    {"vectors of all sizes", test_all_sizes},
    {"lanes that are not known", test_unknown_lanes},
    {"vectors of integers", test_vectors_of_integers},
    {"lanes one by one", test_spread_lanes},
    {"bits counted", test_counts},
    {"addresses of lanes in another block", test_gather_of_far_addresses},
    {"gathers of known lanes", test_gathers},
    CU_TEST_INFO_NULL,
};
