/* Own code generation: what it computes against what it folds, values in circles, more values than registers, and what
 * it leaves to LLVM. */
#include "jit/own.h"

#include <string.h>

#include "jit/code.h"
#include "jit/emit_kernel.h"
#include "jit/object_loader.h"
#include "jit/own_ir.h"
#include "unit.h"

typedef void (*run_fn)(void *out, const void *in, int64_t count);

/* A function (out, in, count) that is being written, with its first block open. */
typedef struct test {
  jit_code_t code;
  LLVMValueRef function, out, in, count;
  LLVMTypeRef i64;
  jit_object_t *object;
} test_t;

static void begin(test_t *test) {
  llvm_use(&own_api);
  jit_code_init(&test->code, jit_target_host(), "test");
  LLVMContextRef c = test->code.context;
  LLVMTypeRef pointer = llvm()->PointerTypeInContext(c, 0);
  test->i64 = llvm()->Int64TypeInContext(c);
  LLVMTypeRef params[] = {pointer, pointer, test->i64};
  LLVMTypeRef type = llvm()->FunctionType(llvm()->VoidTypeInContext(c), params, 3, false);
  test->function = llvm()->AddFunction(test->code.module, "test", type);
  LLVMValueRef *arguments[] = {&test->out, &test->in, &test->count};
  for (unsigned k = 0; k < 3; k++) *arguments[k] = llvm()->GetParam(test->function, k);
  llvm()->PositionBuilderAtEnd(test->code.builder, llvm()->AppendBasicBlockInContext(c, test->function, ""));
}

/* NULL: it is left to LLVM. */
static run_fn end(test_t *test) {
  hr_buffer_t *bytes;
  void *run = NULL;
  llvm()->BuildRetVoid(test->code.builder);
  CU_ASSERT_PTR_NULL_FATAL(own_compile(test->code.module, &bytes));
  test->object = NULL;
  if (bytes) {
    CU_ASSERT_PTR_NULL_FATAL(jit_object_load(hr_buffer_data(bytes), hr_buffer_size(bytes), &test->object));
    CU_ASSERT_PTR_NULL_FATAL(jit_object_find(test->object, "test", &run));
  }
  hr_buffer_release(bytes);
  jit_code_deinit(&test->code);
  llvm_use(NULL);
  return (run_fn)run;
}

static LLVMValueRef place(test_t *test, LLVMValueRef array, LLVMTypeRef element, int64_t i) {
  LLVMValueRef index = jit_int(test->i64, i);
  return llvm()->BuildGEP2(test->code.builder, element, array, &index, 1, "");
}

static LLVMValueRef read_at(test_t *test, LLVMTypeRef type, int64_t i) {
  return llvm()->BuildLoad2(test->code.builder, type, place(test, test->in, type, i), "");
}

static void write_at(test_t *test, LLVMValueRef value, int64_t i) {
  llvm()->BuildStore(test->code.builder, value, place(test, test->out, llvm()->TypeOf(value), i));
}

/* --- what is computed, and what is folded ------------------------------------------------------------------------ */

typedef LLVMValueRef (*build_fn)(LLVMBuilderRef, LLVMValueRef, LLVMValueRef, const char *);

static const int64_t numbers[] = {1,     3,       7,      -1,         -5,             100,         -128,
                                  12345, 1000007, -32768, 2147483647, -2147483648LL, 5000000000LL};
#define NUMBERS ((int)(sizeof numbers / sizeof *numbers))

/* knows_b: while code is made. */
static uint64_t computed(build_fn build, unsigned bits, int64_t a, int64_t b, bool knows_b) {
  int64_t in[2] = {a, b}, out = 0;
  test_t test;
  begin(&test);
  LLVMTypeRef type = llvm()->IntTypeInContext(test.code.context, bits);
  LLVMValueRef x = llvm()->BuildLoad2(test.code.builder, type, place(&test, test.in, test.i64, 0), "");
  LLVMValueRef y = llvm()->BuildLoad2(test.code.builder, type, place(&test, test.in, test.i64, 1), "");
  if (knows_b) y = jit_int(type, b);
  write_at(&test, build(test.code.builder, x, y, ""), 0);
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
  LLVMTypeRef type = llvm()->IntTypeInContext(test.code.context, bits);
  LLVMValueRef value = build(test.code.builder, jit_int(type, a), jit_int(type, b), "");
  bool is_constant = llvm()->IsConstant(value);
  if (is_constant) *out_value = llvm()->ConstIntGetZExtValue(value);
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
  if (!own_is_able(jit_target_host())) return;
  const build_fn builds[] = {own_api.BuildAdd,  own_api.BuildSub,  own_api.BuildMul, own_api.BuildUDiv,
                             own_api.BuildSDiv, own_api.BuildURem, own_api.BuildSRem, own_api.BuildAnd,
                             own_api.BuildOr,   own_api.BuildXor,  own_api.BuildShl, own_api.BuildLShr,
                             own_api.BuildAShr};
  for (size_t i = 0; i < sizeof builds / sizeof *builds; i++)
    for (unsigned bits = 8; bits <= 64; bits *= 2) try_integers(builds[i], bits);
}

static void test_constants_are_one(void) {
  test_t test;
  begin(&test);
  LLVMValueRef two = jit_int(test.i64, 2), four = llvm()->BuildAdd(test.code.builder, two, two, "");
  CU_ASSERT_PTR_EQUAL(four, jit_int(test.i64, 4));
  CU_ASSERT_PTR_EQUAL(llvm()->BuildMul(test.code.builder, test.count, jit_int(test.i64, 1), ""), test.count);
  end(&test);
  jit_object_unload(test.object);
}

/* --- where values are -------------------------------------------------------------------------------------------- */

#define CIRCLE 5

/* `count` times: each takes over the next one's value, the last the first's plus 1. */
static void write_circle(test_t *test, LLVMTypeRef type, LLVMValueRef one) {
  LLVMBuilderRef b = test->code.builder;
  LLVMBasicBlockRef before = llvm()->GetInsertBlock(b), loop, after;
  LLVMValueRef values[CIRCLE], phis[CIRCLE];
  for (int k = 0; k < CIRCLE; k++) values[k] = read_at(test, type, k);
  loop = llvm()->AppendBasicBlockInContext(test->code.context, test->function, "");
  after = llvm()->AppendBasicBlockInContext(test->code.context, test->function, "");
  llvm()->BuildBr(b, loop);
  llvm()->PositionBuilderAtEnd(b, loop);
  LLVMValueRef turn = llvm()->BuildPhi(b, test->i64, ""), zero = jit_int(test->i64, 0);
  for (int k = 0; k < CIRCLE; k++) phis[k] = llvm()->BuildPhi(b, type, "");
  bool is_float = llvm()->GetTypeKind(type) != LLVMIntegerTypeKind;
  LLVMValueRef first = (is_float ? llvm()->BuildFAdd : llvm()->BuildAdd)(b, phis[0], one, "");
  LLVMValueRef next = llvm()->BuildAdd(b, turn, jit_int(test->i64, 1), "");
  for (int k = 0; k < CIRCLE; k++) {
    llvm()->AddIncoming(phis[k], &values[k], &before, 1);
    llvm()->AddIncoming(phis[k], k + 1 < CIRCLE ? &phis[k + 1] : &first, &loop, 1);
  }
  llvm()->AddIncoming(turn, (LLVMValueRef[]){zero, next}, (LLVMBasicBlockRef[]){before, loop}, 2);
  llvm()->BuildCondBr(b, llvm()->BuildICmp(b, LLVMIntSLT, next, test->count, ""), loop, after);
  llvm()->PositionBuilderAtEnd(b, after);
  for (int k = 0; k < CIRCLE; k++) write_at(test, phis[k], k);
}

#define TURNS 8 /* the last of them finds what seven have left */
static const int64_t circle_in[CIRCLE] = {10, 20, 30, 40, 50}, circle_out[CIRCLE] = {31, 41, 51, 12, 22};

static void test_circle_of_integers(void) {
  int64_t out[CIRCLE];
  test_t test;
  if (!own_is_able(jit_target_host())) return;
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
  if (!own_is_able(jit_target_host())) return;
  for (int k = 0; k < CIRCLE; k++) in[k] = (float)circle_in[k];
  begin(&test);
  LLVMTypeRef f32 = llvm()->FloatTypeInContext(test.code.context);
  write_circle(&test, f32, jit_real(f32, 1));
  run_fn run = end(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  run(out, in, TURNS);
  for (int k = 0; k < CIRCLE; k++) CU_ASSERT_EQUAL(out[k], (float)circle_out[k]);
  jit_object_unload(test.object);
}

#define MANY 48

/* All are read before the first is used; each is added to the one as far from the other end. */
static run_fn write_many(test_t *test, LLVMTypeRef type, LLVMTypeRef element, int lanes) {
  LLVMValueRef values[MANY];
  LLVMBuilderRef b = test->code.builder;
  for (int k = 0; k < MANY; k++)
    values[k] = llvm()->BuildLoad2(b, type, place(test, test->in, element, k * lanes), "");
  for (int k = MANY; k-- > 0;) {
    LLVMValueRef sum = (lanes > 1 ? llvm()->BuildFAdd : llvm()->BuildAdd)(b, values[k], values[MANY - 1 - k], "");
    llvm()->BuildStore(b, sum, place(test, test->out, element, k * lanes));
  }
  return end(test);
}

static void test_many_vectors(void) {
  float in[MANY * 16], out[MANY * 16];
  test_t test;
  if (!own_is_able(jit_target_host())) return;
  begin(&test);
  LLVMTypeRef f32 = llvm()->FloatTypeInContext(test.code.context);
  run_fn run = write_many(&test, llvm()->VectorType(f32, 16), f32, 16);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  for (int i = 0; i < MANY * 16; i++) in[i] = (float)(i * i % 1009);
  run(out, in, 0);
  for (int i = 0; i < MANY * 16; i++) CU_ASSERT_EQUAL(out[i], in[i] + in[(MANY - 1 - i / 16) * 16 + i % 16]);
  jit_object_unload(test.object);
}

static void test_many_integers(void) {
  int64_t in[MANY], out[MANY];
  test_t test;
  if (!own_is_able(jit_target_host())) return;
  begin(&test);
  run_fn run = write_many(&test, test.i64, test.i64, 1);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  for (int i = 0; i < MANY; i++) in[i] = (int64_t)i * i * i;
  run(out, in, 0);
  for (int i = 0; i < MANY; i++) CU_ASSERT_EQUAL(out[i], in[i] + in[MANY - 1 - i]);
  jit_object_unload(test.object);
}

/* --- orders of lanes ---------------------------------------------------------------------------------------------- */

/* So many lanes together, number i of the result, are number 7 i + 3 of two vectors one behind the other, or so many
 * less that they are there. */
static void try_order(unsigned bits, unsigned from, unsigned lanes, unsigned together) {
  unsigned char in[128], out[64], want[64];
  size_t bytes = bits / 8;
  LLVMValueRef order[64];
  test_t test;
  begin(&test);
  LLVMTypeRef type = llvm()->VectorType(llvm()->IntTypeInContext(test.code.context, bits), from);
  LLVMTypeRef i32 = llvm()->IntTypeInContext(test.code.context, 32);
  for (size_t i = 0; i < sizeof in; i++) in[i] = (unsigned char)(i * 37 + 11);
  for (unsigned i = 0; i < lanes; i++) {
    unsigned lane = ((7 * (i / together) + 3) * together + i % together) % (2 * from);
    order[i] = llvm()->ConstInt(i32, lane, false);
    memcpy(want + i * bytes, in + lane * bytes, bytes);
  }
  LLVMValueRef a = read_at(&test, type, 0), b = read_at(&test, type, 1);
  write_at(&test, llvm()->BuildShuffleVector(test.code.builder, a, b, llvm()->ConstVector(order, lanes), ""), 0);
  run_fn run = end(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  run(out, in, 0);
  CU_ASSERT_EQUAL(memcmp(out, want, lanes * bytes), 0);
  jit_object_unload(test.object);
}

static void test_orders(void) {
  if (!own_is_able(jit_target_host())) return;
  for (unsigned together = 1; together <= 8; together *= 2) try_order(8, 16, 16, together);
  for (unsigned together = 2; together <= 8; together *= 2) try_order(8, 64, 32, together);
  for (unsigned bits = 16; bits <= 64; bits *= 2)
    for (unsigned width = 128; width <= 512; width *= 2)
      for (unsigned other = 128; other <= 512; other *= 2) try_order(bits, width / bits, other / bits, 1);
}

/* As many rows as a vector has lanes, and lanes, change places. */
static void try_turning(unsigned bits, unsigned lanes) {
  static unsigned char in[64 * 64 * 8], out[64 * 64 * 8];
  LLVMValueRef rows[64];
  size_t bytes = bits / 8;
  test_t test;
  begin(&test);
  LLVMTypeRef type = llvm()->VectorType(llvm()->IntTypeInContext(test.code.context, bits), lanes);
  for (unsigned k = 0; k < lanes; k++) rows[k] = read_at(&test, type, k);
  jit_emit_turned(&test.code, rows, (int)lanes);
  for (unsigned k = 0; k < lanes; k++) write_at(&test, rows[k], k);
  run_fn run = end(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  for (size_t i = 0; i < sizeof in; i++) in[i] = (unsigned char)(i * 37 + i / 256 + 11);
  run(out, in, 0);
  for (unsigned k = 0; k < lanes; k++)
    for (unsigned i = 0; i < lanes; i++)
      CU_ASSERT_EQUAL(memcmp(out + (k * lanes + i) * bytes, in + (i * lanes + k) * bytes, bytes), 0);
  jit_object_unload(test.object);
}

static void test_turning(void) {
  if (!own_is_able(jit_target_host())) return;
  for (unsigned bits = 16; bits <= 64; bits *= 2)
    for (unsigned lanes = 2; lanes <= 512 / bits; lanes *= 2) try_turning(bits, lanes);
}

/* --- vectors of all sizes ----------------------------------------------------------------------------------------- */

static int64_t number_at(const void *numbers, unsigned bits, unsigned i) {
  int64_t wide = 0;
  memcpy(&wide, (const unsigned char *)numbers + i * bits / 8, bits / 8);
  return (int64_t)((uint64_t)wide << (64 - bits)) >> (64 - bits);
}

static LLVMTypeRef vector_of(test_t *test, unsigned bits, unsigned lanes) {
  return llvm()->VectorType(llvm()->IntTypeInContext(test->code.context, bits), lanes);
}

static LLVMValueRef reversed(test_t *test, LLVMValueRef x) {
  LLVMValueRef order[128];
  unsigned lanes = llvm()->GetVectorSize(llvm()->TypeOf(x));
  LLVMTypeRef i32 = llvm()->Int32TypeInContext(test->code.context);
  for (unsigned i = 0; i < lanes; i++) order[i] = jit_int(i32, (int64_t)lanes - 1 - i);
  return llvm()->BuildShuffleVector(test->code.builder, x, x, llvm()->ConstVector(order, lanes), "");
}

/* From the last to the first lane: x + y where x < y, else x - y. */
static void try_lanes(unsigned bits, unsigned lanes) {
  unsigned char in[2 * 1024], out[1024 + 8];
  unsigned bytes = lanes * bits / 8;
  test_t test;
  begin(&test);
  LLVMBuilderRef b = test.code.builder;
  LLVMTypeRef type = vector_of(&test, bits, lanes), element = llvm()->GetElementType(type);
  for (size_t i = 0; i < sizeof in; i++) in[i] = (unsigned char)(i * i * 37 + 11 + i / 256);
  memset(out, 0x5a, sizeof out);
  LLVMValueRef x = read_at(&test, type, 0);
  LLVMValueRef y = llvm()->BuildLoad2(b, type, place(&test, test.in, element, lanes), "");
  LLVMValueRef is_less = llvm()->BuildICmp(b, LLVMIntSLT, x, y, "");
  LLVMValueRef z = llvm()->BuildSelect(b, is_less, llvm()->BuildAdd(b, x, y, ""), llvm()->BuildSub(b, x, y, ""), "");
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
  if (!own_is_able(jit_target_host())) return;
  for (unsigned bits = 16; bits <= 64; bits *= 2)
    for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++) try_lanes(bits, lanes[i]);
}

/* `count` times: the lane that is `count` gets the sum of itself and the one in memory. */
static void try_unknown_lane(unsigned bits, unsigned lanes) {
  enum { COUNT = 3 };
  int64_t in[128], out[128];
  test_t test;
  begin(&test);
  LLVMBuilderRef b = test.code.builder;
  LLVMTypeRef type = vector_of(&test, bits, lanes);
  LLVMBasicBlockRef before = llvm()->GetInsertBlock(b), loop, after;
  loop = llvm()->AppendBasicBlockInContext(test.code.context, test.function, "");
  after = llvm()->AppendBasicBlockInContext(test.code.context, test.function, "");
  LLVMValueRef first = read_at(&test, type, 0);
  llvm()->BuildBr(b, loop);
  llvm()->PositionBuilderAtEnd(b, loop);
  LLVMValueRef i = llvm()->BuildPhi(b, test.i64, ""), x = llvm()->BuildPhi(b, type, "");
  LLVMValueRef one = llvm()->BuildExtractElement(b, x, test.count, "");
  one = llvm()->BuildAdd(b, one, read_at(&test, llvm()->GetElementType(type), 1), "");
  LLVMValueRef next_x = llvm()->BuildInsertElement(b, x, one, test.count, "");
  LLVMValueRef next = llvm()->BuildAdd(b, i, jit_int(test.i64, 1), "");
  llvm()->BuildCondBr(b, llvm()->BuildICmp(b, LLVMIntSLT, next, test.count, ""), loop, after);
  llvm()->AddIncoming(i, (LLVMValueRef[]){jit_int(test.i64, 0), next}, (LLVMBasicBlockRef[]){before, loop}, 2);
  llvm()->AddIncoming(x, (LLVMValueRef[]){first, next_x}, (LLVMBasicBlockRef[]){before, loop}, 2);
  llvm()->PositionBuilderAtEnd(b, after);
  write_at(&test, next_x, 0);
  run_fn run = end(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  for (int k = 0; k < 128; k++) in[k] = 1000000007LL * k * k;
  run(out, in, COUNT);
  int64_t want = number_at(in, bits, COUNT) + COUNT * number_at(in, bits, 1);
  for (unsigned k = 0; k < lanes; k++)
    CU_ASSERT_EQUAL(number_at(out, bits, k), k == COUNT ? number_at(&want, bits, 0) : number_at(in, bits, k));
  jit_object_unload(test.object);
}

static void test_unknown_lanes(void) {
  if (!own_is_able(jit_target_host())) return;
  for (unsigned bits = 16; bits <= 64; bits *= 2)
    for (unsigned lanes = 4; lanes <= 32; lanes *= 2) try_unknown_lane(bits, lanes + lanes / 8);
}

/* --- vectors divided, and what is done with bytes ------------------------------------------------------------------ */

/* Each of some numbers with each, in vectors; knows_b: the second of them is the same in all lanes, and known. */
static void try_numbers(build_fn build, unsigned bits, bool knows_b) {
  int64_t out[NUMBERS + 1], a[NUMBERS + 1], b[NUMBERS + 1] = {0}, in[2 * (NUMBERS + 1)];
  for (int k = 0; k < NUMBERS; k++) {
    test_t test;
    uint64_t want;
    unsigned count = 0;
    for (int i = 0; i < NUMBERS; i++)
      if (folded(build, bits, numbers[i], numbers[k], &want)) a[count] = numbers[i], b[count++] = (int64_t)want;
    for (unsigned i = 0; i < count; i++) {
      memcpy((char *)in + i * bits / 8, &a[i], bits / 8);
      memcpy((char *)in + (count + i) * bits / 8, &numbers[k], bits / 8);
    }
    if (count == 0) continue;
    begin(&test);
    LLVMTypeRef type = vector_of(&test, bits, count);
    LLVMValueRef x = read_at(&test, type, 0), y = jit_int(type, numbers[k]);
    if (!knows_b)
      y = llvm()->BuildLoad2(test.code.builder, type, place(&test, test.in, llvm()->GetElementType(type), count),
                             "");
    write_at(&test, build(test.code.builder, x, y, ""), 0);
    run_fn run = end(&test);
    CU_ASSERT_PTR_NOT_NULL_FATAL(run);
    run(out, in, 0);
    for (unsigned i = 0; i < count; i++) CU_ASSERT_EQUAL(number_at(out, bits, i), number_at(&b[i], bits, 0));
    jit_object_unload(test.object);
  }
}

static void test_vectors_of_integers(void) {
  const build_fn builds[] = {own_api.BuildUDiv, own_api.BuildSDiv, own_api.BuildURem, own_api.BuildSRem,
                             own_api.BuildMul,  own_api.BuildShl,  own_api.BuildLShr, own_api.BuildAShr};
  if (!own_is_able(jit_target_host())) return;
  for (size_t i = 0; i < sizeof builds / sizeof *builds; i++)
    for (unsigned bits = 8; bits <= 64; bits *= 2)
      for (int knows_b = 0; knows_b < 2; knows_b++) try_numbers(builds[i], bits, knows_b);
}

/* --- lanes one by one, and bits counted --------------------------------------------------------------------------- */

/* Lane k of the result is element 7 k + 3, modulo `lanes`; has_mask: nothing in each third lane. scatters: element
 * 7 k + 3 of the result is lane k. */
static void try_spread(unsigned bits, unsigned lanes, unsigned index_bits, bool has_mask, bool scatters) {
  char in[64 * 8], out[64 * 8];
  test_t test;
  begin(&test);
  LLVMTypeRef type = vector_of(&test, bits, lanes), element = llvm()->GetElementType(type);
  LLVMTypeRef i1 = llvm()->Int1TypeInContext(test.code.context), pointer = llvm()->TypeOf(test.in);
  LLVMTypeRef index = llvm()->IntTypeInContext(test.code.context, index_bits);
  LLVMValueRef places[64], wanted[64], value = read_at(&test, type, 0);
  for (unsigned k = 0; k < lanes; k++) {
    places[k] = jit_int(index, (7 * k + 3) % lanes);
    wanted[k] = llvm()->ConstInt(i1, !has_mask || k % 3, false);
  }
  LLVMValueRef all = llvm()->ConstVector(places, lanes), mask = llvm()->ConstVector(wanted, lanes);
  LLVMValueRef array = scatters ? test.out : test.in, align = jit_int(test.i64, 1);
  LLVMValueRef pointers = llvm()->BuildInBoundsGEP2(test.code.builder, element, array, &all, 1, "");
  LLVMTypeRef overloads[] = {type, llvm()->VectorType(pointer, lanes)};
  if (scatters) {
    LLVMValueRef arguments[] = {value, pointers, align, mask};
    jit_intrinsic_of(&test.code, "llvm.masked.scatter", overloads, 2, arguments, 4);
  } else {
    LLVMValueRef arguments[] = {pointers, align, mask, llvm()->ConstNull(type)};
    write_at(&test, jit_intrinsic_of(&test.code, "llvm.masked.gather", overloads, 2, arguments, 4), 0);
  }
  run_fn run = end(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  for (unsigned k = 0; k < sizeof in; k++) in[k] = (char)(k * 37 + 11), out[k] = 0;
  run(out, in, 0);
  for (unsigned k = 0; k < lanes; k++) {
    unsigned other = (7 * k + 3) % lanes, to = scatters ? other : k, from = scatters ? k : other;
    int64_t want = has_mask && k % 3 == 0 ? 0 : number_at(in, bits, from);
    CU_ASSERT_EQUAL(number_at(out, bits, to), want);
  }
  jit_object_unload(test.object);
}

static void test_spread_lanes(void) {
  static const unsigned lanes[] = {2, 4, 5, 8, 16, 31, 64}; /* none of which 7 divides */
  if (!own_is_able(jit_target_host())) return;
  for (unsigned bits = 8; bits <= 64; bits *= 2)
    for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++)
      for (unsigned how = 0; how < 8; how++) try_spread(bits, lanes[i], how & 1 ? 64 : 32, how & 2, how & 4);
}

static int64_t counted(const char *name, unsigned bits, int64_t number) {
  uint64_t value = (uint64_t)number & (bits < 64 ? (UINT64_C(1) << bits) - 1 : ~UINT64_C(0));
  if (strcmp(name, "llvm.ctpop") == 0) return __builtin_popcountll(value);
  return value ? __builtin_clzll(value) - (int)(64 - bits) : (int)bits;
}

static void try_count(const char *name, unsigned bits, unsigned lanes) {
  char in[NUMBERS * 8], out[NUMBERS * 8];
  test_t test;
  if (!own_counts_bits()) return;
  begin(&test);
  LLVMTypeRef one = llvm()->IntTypeInContext(test.code.context, bits);
  LLVMTypeRef type = lanes == 1 ? one : vector_of(&test, bits, lanes);
  LLVMValueRef arguments[] = {read_at(&test, type, 0), llvm()->ConstNull(llvm()->Int1TypeInContext(test.code.context))};
  int count = strcmp(name, "llvm.ctlz") == 0 ? 2 : 1;
  write_at(&test, jit_intrinsic(&test.code, name, type, arguments, count), 0);
  run_fn run = end(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  for (unsigned first = 0; first + lanes <= NUMBERS; first += lanes) {
    for (unsigned k = 0; k < lanes; k++) memcpy(in + k * bits / 8, &numbers[first + k], bits / 8);
    run(out, in, 0);
    for (unsigned k = 0; k < lanes; k++) {
      int64_t want = counted(name, bits, numbers[first + k]);
      CU_ASSERT_EQUAL(number_at(out, bits, k), number_at(&want, bits, 0));
    }
  }
  jit_object_unload(test.object);
}

static void test_counts(void) {
  if (!own_is_able(jit_target_host())) return;
  for (unsigned bits = 8; bits <= 64; bits *= 2)
    for (unsigned lanes = 1; lanes <= NUMBERS; lanes = lanes == 1 ? NUMBERS : lanes + 1)
      try_count("llvm.ctpop", bits, lanes), try_count("llvm.ctlz", bits, lanes);
}

/* --- division by a constant --------------------------------------------------------------------------------------- */

static void try_division(uint32_t divisor) {
  enum { LANES = 16 };
  uint32_t in[LANES] = {0, 1, UINT32_MAX, UINT32_MAX - 1, 1u << 31, (1u << 31) - 1, divisor, divisor - 1, divisor + 1};
  uint32_t out[2 * LANES];
  test_t test;
  for (uint32_t i = 9; i < LANES; i++) in[i] = i * 268435399u / 3 * divisor;
  begin(&test);
  LLVMTypeRef type = llvm()->VectorType(llvm()->IntTypeInContext(test.code.context, 32), LANES);
  LLVMValueRef x = read_at(&test, type, 0), all = jit_int(type, divisor);
  write_at(&test, llvm()->BuildUDiv(test.code.builder, x, all, ""), 0);
  write_at(&test, llvm()->BuildURem(test.code.builder, x, all, ""), 1);
  run_fn run = end(&test);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  run(out, in, 0);
  for (int i = 0; i < LANES; i++) {
    CU_ASSERT_EQUAL(out[i], in[i] / divisor);
    CU_ASSERT_EQUAL(out[LANES + i], in[i] % divisor);
  }
  jit_object_unload(test.object);
}

static void test_divisions(void) {
  static const uint32_t divisors[] = {2,   3,     5,     7,     9,         10,       100,
                                      641, 65535, 65536, 65537, INT32_MAX, 1u << 31, UINT32_MAX};
  if (!own_is_able(jit_target_host())) return;
  for (size_t i = 0; i < sizeof divisors / sizeof *divisors; i++) try_division(divisors[i]);
}

/* --- what is not known here -------------------------------------------------------------------------------------- */

static void test_left_to_llvm(void) {
  test_t test;
  begin(&test);
  LLVMTypeRef halves = llvm()->VectorType(llvm()->HalfTypeInContext(test.code.context), 16);
  LLVMValueRef value = read_at(&test, halves, 0);
  write_at(&test, llvm()->BuildFAdd(test.code.builder, value, value, ""), 0);
  CU_ASSERT_PTR_NULL(end(&test));
}

CU_TestInfo suite_own[] = {
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
    {"what is left to LLVM", test_left_to_llvm},
    CU_TEST_INFO_NULL,
};
