/* The kernel IR (runtime/jit/kir): what is folded while it is built, its text, and its passes. */
#include "jit/kir/kir.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "jit/compile_pool.h"
#include "jit/element/code_builder.h"
#include "jit/kir/kir_cfg.h"
#include "jit/kir/kir_print.h"
#include "jit/llvm/llvm_compile.h"
#include "tests/lib/unit.h"

static const kir_target_t simplifying = {.simplifies = true};

/* A function (ptr, ptr, i64) that is being written, with its first block open. */
typedef struct test {
  kir_module_t *module;
  kir_builder_t *b;
  kir_value_t *function, *out, *in, *count;
  kir_type_t *i64, *f32;
} test_t;

static void begin(test_t *test, const kir_target_t *target) {
  CU_ASSERT_PTR_NULL_FATAL(kir_module_create(target, "test", &test->module));
  kir_type_t *pointer = kir_pointer_type(test->module);
  test->i64 = kir_int_type(test->module, 64);
  test->f32 = kir_float_type(test->module);
  kir_type_t *params[] = {pointer, pointer, test->i64};
  kir_type_t *type = kir_function_type(kir_void_type(test->module), params, 3);
  test->function = kir_add_function(test->module, "f", type);
  test->out = kir_param(test->function, 0);
  test->in = kir_param(test->function, 1);
  test->count = kir_param(test->function, 2);
  test->b = kir_builder_create(test->module);
  kir_position_at_end(test->b, kir_append_block(test->function, ""));
}

static kir_value_t *number(const test_t *test, int64_t value) {
  return kir_const_int(test->i64, (uint64_t)value);
}

static void store_at(test_t *test, kir_value_t *value, int64_t i) {
  kir_store(test->b, value, kir_gep(test->b, value->type, test->out, number(test, i)));
}

/* The module's text, which the caller frees, without its first line. */
static char *text_of(const test_t *test) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  kir_print(&text, test->module);
  CHECK_OK(hr_strbuf_finish(&text));
  char *line = strchr(text.data, '\n');
  char *copy = strdup(line + 1);
  hr_strbuf_deinit(&text);
  return copy;
}

static void check_text(const test_t *test, const char *want) {
  char *text = text_of(test);
  if (strcmp(text, want) != 0) fprintf(stderr, "found:\n%swanted:\n%s", text, want);
  CU_ASSERT_STRING_EQUAL(text, want);
  free(text);
}

/* --- types and constants ---------------------------------------------------------------------- */

static void test_interned(void) {
  test_t test;
  begin(&test, &kir_generic_target);
  kir_type_t *i32 = kir_int_type(test.module, 32), *vector = kir_vector_type(i32, 4);
  CU_ASSERT_PTR_EQUAL(vector, kir_vector_type(kir_int_type(test.module, 32), 4));
  CU_ASSERT_PTR_NOT_EQUAL(vector, kir_vector_type(i32, 8));
  CU_ASSERT_PTR_EQUAL(kir_function_type(i32, &vector, 1), kir_function_type(i32, &vector, 1));
  CU_ASSERT_PTR_NOT_EQUAL(kir_function_type(i32, &vector, 1), kir_function_type(i32, &i32, 1));
  CU_ASSERT_PTR_EQUAL(kir_const_int(i32, 1ull << 32 | 7), kir_const_int(i32, 7));
  CU_ASSERT_PTR_EQUAL(
      kir_splat_constant(vector, 7),
      kir_const_vector((kir_value_t *[]){kir_const_int(i32, 7), kir_const_int(i32, 7),
                                         kir_const_int(i32, 7), kir_const_int(i32, 7)},
                       4));
  CU_ASSERT_PTR_NOT_EQUAL(kir_null(vector), kir_poison(vector));
  CU_ASSERT_EQUAL(kir_const_as_double(kir_const_real(test.f32, 0.1)), 0.1f);
  CU_ASSERT_EQUAL(kir_const_real(kir_half_type(test.module), 1)->lanes[0], 0x3c00);
  kir_module_destroy(test.module);
}

/* A vector that is made lane by lane of constants is a constant, whose other lanes are poison. */
static void test_inserted_constants(void) {
  test_t test;
  begin(&test, &kir_generic_target);
  kir_type_t *pair = kir_vector_type(test.f32, 2);
  kir_value_t *one = kir_const_real(test.f32, 1), *two = kir_const_real(test.f32, 2);
  kir_value_t *first = kir_insert(test.b, kir_poison(pair), one, number(&test, 0));
  kir_value_t *both = kir_insert(test.b, first, two, number(&test, 1));
  CU_ASSERT_TRUE(kir_is_constant(first) && !first->is_poison);
  CU_ASSERT_TRUE(kir_const_lane(first, 1)->is_poison);
  CU_ASSERT_PTR_EQUAL(both, kir_const_vector((kir_value_t *[]){one, two}, 2));
  CU_ASSERT_PTR_NULL(kir_const_lane(both, 2));
  kir_module_destroy(test.module);
}

/* --- folding ---------------------------------------------------------------------------------- */

static kir_value_t *real(const test_t *test, double value) {
  return kir_const_real(test->f32, value);
}

static void test_folded_floats(void) {
  test_t test;
  begin(&test, &kir_generic_target);
  kir_type_t *f64 = kir_double_type(test.module), *f16 = kir_half_type(test.module);
  kir_type_t *i1 = kir_int_type(test.module, 1), *i32 = kir_int_type(test.module, 32);
  kir_value_t *nan = real(&test, __builtin_nan("")), *one = real(&test, 1), *two = real(&test, 2);
  kir_value_t *yes = kir_const_int(i1, 1), *no = kir_const_int(i1, 0);
  CU_ASSERT_PTR_EQUAL(kir_fadd(test.b, one, one), two);
  CU_ASSERT_PTR_EQUAL(kir_fneg(test.b, real(&test, 0)), real(&test, -0.0));
  CU_ASSERT_PTR_EQUAL(kir_fcmp(test.b, KIR_FCMP_OLT, one, two), yes);
  CU_ASSERT_PTR_EQUAL(kir_fcmp(test.b, KIR_FCMP_OGE, one, two), no);
  CU_ASSERT_PTR_EQUAL(kir_fcmp(test.b, KIR_FCMP_ONE, nan, two), no);
  CU_ASSERT_PTR_EQUAL(kir_fcmp(test.b, KIR_FCMP_UNE, nan, nan), yes);
  CU_ASSERT_PTR_EQUAL(kir_fcmp(test.b, KIR_FCMP_UNO, one, two), no);
  CU_ASSERT_PTR_EQUAL(kir_fpext(test.b, one, f64), kir_const_real(f64, 1));
  CU_ASSERT_PTR_EQUAL(kir_fptrunc(test.b, real(&test, 1.5), f16), kir_const_real(f16, 1.5));
  CU_ASSERT_PTR_EQUAL(kir_fptosi(test.b, real(&test, -1.75), i32),
                      kir_const_int(i32, (uint64_t)-1));
  CU_ASSERT_FALSE(kir_is_constant(kir_fptosi(test.b, real(&test, 1e10), i32)));
  CU_ASSERT_PTR_EQUAL(kir_sitofp(test.b, kir_const_int(i32, (uint64_t)-3), test.f32),
                      real(&test, -3));
  CU_ASSERT_PTR_EQUAL(kir_bitcast(test.b, one, i32), kir_const_int(i32, 0x3f800000));
  kir_module_destroy(test.module);
}

/* Lanes that change places, and what is read as lanes of another width, which is left. */
static void test_folded_vectors(void) {
  test_t test;
  begin(&test, &kir_generic_target);
  kir_type_t *i8 = kir_int_type(test.module, 8), *i32 = kir_int_type(test.module, 32);
  const uint64_t bytes[] = {1, 2, 3, 4}, order[] = {3, 2, 1, 0}, reversed[] = {4, 3, 2, 1};
  kir_value_t *four = kir_constant(kir_vector_type(i8, 4), bytes);
  kir_value_t *mask = kir_constant(kir_vector_type(i32, 4), order);
  CU_ASSERT_FALSE(kir_is_constant(kir_bitcast(test.b, four, i32)));
  CU_ASSERT_PTR_EQUAL(kir_shuffle(test.b, four, four, mask), kir_constant(four->type, reversed));
  CU_ASSERT_PTR_EQUAL(kir_extract(test.b, four, number(&test, 2)), kir_const_int(i8, 3));
  kir_module_destroy(test.module);
}

/* A mask of bits that are shifted out is left out, also across a cast. */
static void test_masked_shift(void) {
  test_t test;
  begin(&test, &kir_generic_target);
  kir_value_t *x = test.count, *eight = number(&test, 8);
  kir_type_t *f64 = kir_double_type(test.module);
  kir_value_t *upper = kir_and(test.b, x, kir_const_int(test.i64, ~UINT64_C(0xff)));
  kir_value_t *fewer = kir_and(test.b, x, kir_const_int(test.i64, ~UINT64_C(0x1ff)));
  kir_value_t *cast = kir_bitcast(test.b, kir_bitcast(test.b, upper, f64), test.i64);
  CU_ASSERT_PTR_EQUAL(kir_lshr(test.b, upper, eight)->args[0], x);
  CU_ASSERT_PTR_EQUAL(kir_lshr(test.b, cast, eight)->args[0], x);
  CU_ASSERT_PTR_EQUAL(kir_lshr(test.b, fewer, eight)->args[0], fewer);
  kir_module_destroy(test.module);
}

static void count_instructions(const kir_target_t *target, int want) {
  test_t test;
  int count = 0;
  begin(&test, target);
  kir_value_t *zero = number(&test, 0), *one = number(&test, 1), *x = test.count;
  kir_value_t *values[] = {kir_add(test.b, x, zero), kir_mul(test.b, x, one),
                           kir_and(test.b, x, kir_all_ones(test.i64)), kir_shl(test.b, x, zero)};
  for (int i = 0; i < 4; i++) count += values[i] != x;
  CU_ASSERT_EQUAL(count, want);
  kir_value_t *sum = kir_add(test.b, one, x);
  CU_ASSERT_PTR_EQUAL(sum->args[0], want ? one : x);
  kir_module_destroy(test.module);
}

/* x + 0 is x where the target wants that; LLVM's builder writes the addition. */
static void test_simplified(void) {
  count_instructions(&simplifying, 0);
  count_instructions(&kir_generic_target, 4);
}

/* x * y as x << y, of vectors alone. */
static kir_value_t *expand_products(kir_builder_t *b, kir_op_t op, kir_type_t *type, int detail,
                                    kir_value_t *const *args, int count) {
  (void)detail, (void)count;
  return op == KIR_MUL && kir_is_vector(type) ? kir_shl(b, args[0], args[1]) : NULL;
}

static void test_expanded(void) {
  static const kir_target_t target = {.expand = expand_products};
  test_t test;
  begin(&test, &target);
  kir_value_t *x = kir_load(test.b, kir_vector_type(test.i64, 2), test.in);
  CU_ASSERT_EQUAL(kir_mul(test.b, test.count, test.count)->op, KIR_MUL);
  CU_ASSERT_EQUAL(kir_mul(test.b, x, x)->op, KIR_SHL);
  kir_module_destroy(test.module);
}

/* --- text ------------------------------------------------------------------------------------- */

static void test_text(void) {
  test_t test;
  begin(&test, &kir_generic_target);
  kir_builder_t *b = test.b;
  kir_block_t *entry = kir_insert_block(b), *loop = kir_append_block(test.function, "loop");
  kir_block_t *end = kir_append_block(test.function, "");
  kir_add_attributes(test.function, KIR_NOUNWIND | KIR_INTERNAL);
  kir_br(b, loop);
  kir_position_at_end(b, loop);
  kir_value_t *i = kir_phi(b, test.i64), *next = kir_nsw_add(b, i, number(&test, 1));
  kir_value_t *x =
      kir_load(b, kir_vector_type(test.f32, 4), kir_inbounds_gep(b, test.f32, test.in, i));
  kir_set_align(x, 4);
  kir_value_t *root = kir_intrinsic(b, KIR_SQRT, x->type, &x, 1);
  kir_value_t *store = kir_store(b, root, kir_gep(b, test.f32, test.out, i));
  kir_set_nontemporal(store);
  kir_add_incoming(i, (kir_value_t *[]){number(&test, 0), next}, (kir_block_t *[]){entry, loop}, 2);
  kir_cond_br(b, kir_icmp(b, KIR_ICMP_SLT, next, test.count), loop, end);
  kir_position_at_end(b, end);
  kir_ret_void(b);
  check_text(&test,
             "define internal void @f(ptr %1, ptr %2, i64 %3) nounwind {\n"
             "bb0:\n"
             "  br bb1\n"
             "bb1: ; loop\n"
             "  %5 = i64 phi i64 0 from bb0, i64 %6 from bb1\n"
             "  %6 = i64 add nsw i64 %5, i64 1\n"
             "  %7 = ptr getelementptr inbounds float, ptr %2, i64 %5\n"
             "  %8 = <4 x float> load ptr %7, align 4\n"
             "  %9 = <4 x float> sqrt <4 x float> %8\n"
             "  %10 = ptr getelementptr float, ptr %1, i64 %5\n"
             "  store <4 x float> %9, ptr %10, nontemporal\n"
             "  %12 = i1 icmp slt i64 %6, i64 %3\n"
             "  br i1 %12, bb1, bb2\n"
             "bb2:\n"
             "  ret\n"
             "}\n");
  kir_module_destroy(test.module);
}

/* --- passes ----------------------------------------------------------------------------------- */

static int one_class(const kir_type_t *type) {
  (void)type;
  return 0;
}

static const int hoisted_max[] = {2};
static const kir_register_classes_t classes = {one_class, hoisted_max, 0};

/* A loop around what is written between begin_loop and end_loop. */
typedef struct loop {
  kir_block_t *entry, *body, *end;
  kir_value_t *i;
} loop_t;

static void begin_loop(test_t *test, loop_t *loop) {
  loop->entry = kir_insert_block(test->b);
  loop->end = kir_append_block(test->function, "");
  loop->body = kir_append_block(test->function, "");
  kir_br(test->b, loop->body);
  kir_position_at_end(test->b, loop->body);
  loop->i = kir_phi(test->b, test->i64);
}

static void end_loop(test_t *test, const loop_t *loop) {
  kir_value_t *next = kir_add(test->b, loop->i, number(test, 1));
  kir_value_t *values[] = {number(test, 0), next};
  kir_add_incoming(loop->i, values, (kir_block_t *[]){loop->entry, loop->body}, 2);
  kir_cond_br(test->b, kir_icmp(test->b, KIR_ICMP_SLT, next, test->count), loop->body, loop->end);
  kir_position_at_end(test->b, loop->end);
  kir_ret_void(test->b);
}

static kir_cfg_t cfg_of(test_t *test) {
  kir_cfg_t cfg;
  CHECK_OK(kir_cfg_find(&test->module->arena, test->function->function, &cfg));
  return cfg;
}

static void test_cfg(void) {
  test_t test;
  loop_t loop;
  begin(&test, &kir_generic_target);
  begin_loop(&test, &loop);
  end_loop(&test, &loop);
  kir_position_at_end(test.b, kir_append_block(test.function, "unreachable"));
  kir_ret_void(test.b);
  kir_cfg_t cfg = cfg_of(&test);
  CU_ASSERT_EQUAL_FATAL(cfg.block_count, 3);
  CU_ASSERT_PTR_EQUAL(cfg.order[0], loop.entry);
  CU_ASSERT_PTR_EQUAL(cfg.order[1], loop.body);
  CU_ASSERT_PTR_EQUAL(cfg.order[2], loop.end);
  CU_ASSERT_TRUE(cfg.depth[0] == 0 && cfg.depth[1] == 1 && cfg.depth[2] == 0);
  CU_ASSERT_FALSE(cfg.is_malformed);
  kir_append_block(test.function, "");
  kir_unlink(loop.end->last);
  CU_ASSERT_TRUE(cfg_of(&test).is_malformed);
  kir_module_destroy(test.module);
}

/* A load that is there twice is one, but for a store between; so is a sum. */
static void test_common_subexpressions(void) {
  test_t test;
  loop_t loop;
  begin(&test, &kir_generic_target);
  begin_loop(&test, &loop);
  kir_value_t *a = kir_load(test.b, test.i64, test.in), *b = kir_load(test.b, test.i64, test.in);
  kir_value_t *sum = kir_add(test.b, a, b), *again = kir_add(test.b, a, b);
  store_at(&test, sum, 0);
  kir_value_t *c = kir_load(test.b, test.i64, test.in);
  kir_value_t *product = kir_mul(test.b, again, c);
  store_at(&test, product, 1);
  end_loop(&test, &loop);
  kir_cfg_t cfg = cfg_of(&test);
  CHECK_OK(kir_cse_licm(&cfg, &classes));
  CU_ASSERT_PTR_EQUAL(sum->args[0], a);
  CU_ASSERT_PTR_EQUAL(sum->args[1], a);
  CU_ASSERT_PTR_EQUAL(product->args[0], sum);
  CU_ASSERT_PTR_EQUAL(product->args[1], c);
  kir_module_destroy(test.module);
}

/* Products that are the same in each iteration leave the loop, as many as registers are for; a
 * division whose divisor may be 0 stays. */
static void test_loop_invariants(void) {
  test_t test;
  loop_t loop;
  kir_value_t *products[3];
  begin(&test, &kir_generic_target);
  begin_loop(&test, &loop);
  kir_value_t *quotient = kir_sdiv(test.b, number(&test, 7), test.count);
  for (int k = 0; k < 3; k++) {
    products[k] = kir_mul(test.b, test.count, number(&test, k + 2));
    store_at(&test, kir_add(test.b, products[k], loop.i), k);
  }
  store_at(&test, quotient, 3);
  end_loop(&test, &loop);
  kir_cfg_t cfg = cfg_of(&test);
  CHECK_OK(kir_cse_licm(&cfg, &classes));
  CU_ASSERT_PTR_EQUAL(quotient->block, loop.body);
  CU_ASSERT_PTR_EQUAL(products[0]->block, loop.entry);
  CU_ASSERT_PTR_EQUAL(products[1]->block, loop.entry);
  CU_ASSERT_PTR_EQUAL(products[2]->block, loop.body);
  CU_ASSERT_PTR_EQUAL(loop.entry->last->prev, products[1]);
  kir_module_destroy(test.module);
}

/* An index is computed right before the store that needs it, and what nothing needs is gone. */
static void test_sunk(void) {
  test_t test;
  kir_use_t *uses;
  begin(&test, &kir_generic_target);
  kir_value_t *index = kir_mul(test.b, test.count, number(&test, 3));
  kir_mul(test.b, test.count, number(&test, 5));
  store_at(&test, test.count, 0);
  store_at(&test, test.count, 1);
  kir_store(test.b, test.count, kir_gep(test.b, test.i64, test.out, index));
  kir_ret_void(test.b);
  kir_cfg_t cfg = cfg_of(&test);
  CHECK_OK(kir_find_uses(&cfg, &uses));
  CU_ASSERT_EQUAL(uses[index->id].count, 1);
  CHECK_OK(kir_sink(&cfg, &classes, uses));
  check_text(&test,
             "define void @f(ptr %1, ptr %2, i64 %3) {\n"
             "bb0:\n"
             "  %6 = ptr getelementptr i64, ptr %1, i64 0\n"
             "  store i64 %3, ptr %6\n"
             "  %8 = ptr getelementptr i64, ptr %1, i64 1\n"
             "  store i64 %3, ptr %8\n"
             "  %4 = i64 mul i64 %3, i64 3\n"
             "  %10 = ptr getelementptr i64, ptr %1, i64 %4\n"
             "  store i64 %3, ptr %10\n"
             "  ret\n"
             "}\n");
  kir_module_destroy(test.module);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Writes a module with the n-th allocation failing; is memory ever missed? */
static bool misses_memory(size_t n) {
  test_t test = {0};
  hr_mem_fail_at(n);
  hr_status_t st = kir_module_create(&simplifying, "test", &test.module);
  if (!st) {
    test.b = kir_builder_create(test.module);
    test.i64 = kir_int_type(test.module, 64);
    kir_type_t *type = kir_function_type(test.i64, &test.i64, 1);
    kir_value_t *function = kir_add_function(test.module, "f", type), *x = kir_param(function, 0);
    kir_position_at_end(test.b, kir_append_block(function, ""));
    for (int k = 0; k < 20000; k++)
      x = kir_mul(test.b, x, kir_const_int(test.i64, (uint64_t)k + 2));
    kir_ret(test.b, x);
  }
  hr_mem_fail_at(0);
  bool misses = st || test.module->status;
  hr_status_release(st);
  kir_module_destroy(test.module);
  return misses;
}

static void test_without_memory(void) {
  size_t n = 1;
  while (n < 1000 && misses_memory(n)) n++;
  CU_ASSERT_TRUE(n > 1 && n < 1000);
}

/* --- LLVM's module ---------------------------------------------------------------------------- */

/* double f(double x): (x + 2) * sqrt(x), the root and an array inserted before what was built
 * first. */
static hr_status_t build_inserted(void *context, int index, jit_code_t *code) {
  (void)context, (void)index;
  kir_builder_t *b = code->builder;
  kir_type_t *f64 = kir_double_type(code->module);
  kir_type_t *type = kir_function_type(f64, &f64, 1);
  kir_value_t *function = kir_add_function(code->module, "f", type), *x = kir_param(function, 0);
  kir_block_t *entry = kir_append_block(function, "");
  kir_add_attributes(function, KIR_NOUNWIND);
  kir_position_at_end(b, entry);
  kir_value_t *sum = kir_fadd(b, x, kir_const_real(f64, 2));
  kir_position_before(b, sum);
  kir_alloca(b, kir_array_type(f64, 3));
  kir_value_t *root = kir_intrinsic(b, KIR_SQRT, f64, &x, 1);
  kir_position_at_end(b, entry);
  kir_ret(b, kir_fmul(b, sum, root));
  return NULL;
}

static void keep_text(void *context, int index, const char *ending, const char *text) {
  char **kept = context;
  (void)index;
  if (strcmp(ending, "ll") == 0) *kept = strdup(text);
}

static void test_llvm_text(void) {
  char *text = NULL;
  hr_buffer_t *object;
  jit_compile_options_t options = {
      .target = jit_target_host(), .dump = keep_text, .dump_context = &text};
  if (!llvm_is_built) {
    CHECK_FAILS(HR_UNAVAILABLE, llvm_load());
    return;
  }
  CHECK_OK(jit_compile_modules(&options, 1, build_inserted, NULL, &object));
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  const char *body = strstr(text, "define ");
  const char *want =
      "define double @f(double %0) #0 {\n"
      "  %2 = alloca [3 x double], align 8\n"
      "  %3 = call double @llvm.sqrt.f64(double %0)\n"
      "  %4 = fadd double %0, 2.000000e+00\n"
      "  %5 = fmul double %4, %3\n"
      "  ret double %5\n"
      "}\n";
  CU_ASSERT_PTR_NOT_NULL_FATAL(body);
  CU_ASSERT_EQUAL(strncmp(body, want, strlen(want)), 0);
  free(text);
  hr_buffer_release(object);
}

CU_TestInfo suite_kir[] = {
    {"types and constants are one object each", test_interned},
    {"constants put together lane by lane", test_inserted_constants},
    {"floats that are folded", test_folded_floats},
    {"vectors that are folded", test_folded_vectors},
    {"a mask of what is shifted out", test_masked_shift},
    {"what is simplified for a target", test_simplified},
    {"what a target expands", test_expanded},
    {"text", test_text},
    {"control flow", test_cfg},
    {"common subexpressions", test_common_subexpressions},
    {"loop invariants", test_loop_invariants},
    {"instructions that are sunk", test_sunk},
    {"without memory", test_without_memory},
    {"LLVM's text", test_llvm_text},
    CU_TEST_INFO_NULL,
};
