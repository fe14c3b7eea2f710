/* Modules compiled side by side: each becomes its own object, failures are told in order, a bad
 * module is found. */
#include "jit/compile_pool.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "jit/link/object_loader.h"
#include "jit/llvm/llvm_compile.h"
#include "tests/lib/unit.h"

#define MODULES 9

/* int32 number(void) { return index; } */
static void write_number(jit_code_t *code, int index, bool is_whole) {
  kir_type_t *i32 = kir_int_type(code->module, 32);
  kir_type_t *signature = kir_function_type(i32, NULL, 0);
  kir_value_t *function = kir_add_function(code->module, "number", signature);
  kir_position_at_end(code->builder, kir_append_block(function, ""));
  if (is_whole) kir_ret(code->builder, jit_int(i32, index));
}

static hr_status_t build_number(void *context, int index, jit_code_t *code) {
  atomic_fetch_add((atomic_int *)context, 1);
  write_number(code, index, true);
  return NULL;
}

static hr_status_t fail_at_two_places(void *context, int index, jit_code_t *code) {
  (void)context;
  if (index == 3 || index == 7) return hr_error(HR_UNSUPPORTED, "module %d", index);
  write_number(code, index, true);
  return NULL;
}

static hr_status_t leave_one_open(void *context, int index, jit_code_t *code) {
  (void)context;
  write_number(code, index, index != 1);
  return NULL;
}

static void check_object(const hr_buffer_t *bytes, int number) {
  jit_object_t *object = NULL;
  int (*function)(void) = NULL;
  CHECK_OK(jit_object_load(hr_buffer_data(bytes), hr_buffer_size(bytes), &object));
  if (!object) return;
  CHECK_OK(jit_object_find(object, "number", (void **)&function));
  CU_ASSERT_EQUAL(function(), number);
  jit_object_unload(object);
}

static bool is_odd(void *context, int index) {
  (void)context;
  return index % 2;
}

static void compile_on(int worker_count) {
  hr_workers_t *workers;
  hr_buffer_t *objects[MODULES];
  atomic_int built = 0;
  CHECK_OK(hr_workers_create(&(hr_workers_options_t){.count = worker_count}, &workers));
  jit_compile_options_t options = {
      .workers = workers, .target = jit_target_host(), .is_quick = is_odd};
  CHECK_OK(jit_compile_modules(&options, MODULES, build_number, &built, objects));
  CU_ASSERT_EQUAL(built, MODULES);
  for (int i = 0; i < MODULES; i++) {
    check_object(objects[i], i);
    hr_buffer_release(objects[i]);
  }
  CHECK_OK(jit_compile_modules(&options, 0, build_number, &built, NULL));
  hr_workers_destroy(workers);
}

static void test_side_by_side(void) {
  compile_on(1);
  compile_on(3);
}

static void test_failures(void) {
  hr_buffer_t *objects[MODULES];
  jit_compile_options_t options = {.target = jit_target_host()};
  hr_status_t st = jit_compile_modules(&options, MODULES, fail_at_two_places, NULL, objects);
  CU_ASSERT_EQUAL(hr_status_code(st), HR_UNSUPPORTED);
  CU_ASSERT_STRING_EQUAL(hr_status_message(st), "module 3");
  hr_status_release(st);
  CHECK_FAILS(llvm_is_built ? HR_INTERNAL : HR_UNAVAILABLE,
              jit_compile_modules(&options, 2, leave_one_open, NULL, objects));
  CU_ASSERT_PTR_NULL(objects[0]);
}

static void count_dump(void *context, int index, const char *ending, const char *text) {
  CU_ASSERT_TRUE(index >= 0 && index < MODULES);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "@number"));
  ++((int *)context)[strcmp(ending, "kir") == 0];
}

static void test_dump(void) {
  hr_buffer_t *objects[MODULES];
  atomic_int built = 0;
  int dumped[2] = {0, 0};
  jit_compile_options_t options = {
      .target = jit_target_host(), .dump = count_dump, .dump_context = dumped};
  CHECK_OK(jit_compile_modules(&options, MODULES, build_number, &built, objects));
  CU_ASSERT_EQUAL(dumped[0], llvm_is_built ? MODULES : 0);
  CU_ASSERT_EQUAL(dumped[1], MODULES);
  for (int i = 0; i < MODULES; i++) hr_buffer_release(objects[i]);
}

static void test_target(void) {
  const jit_target_t *host = jit_target_host();
  jit_target_t again = jit_target_narrowed(64), narrow = jit_target_narrowed(16);
  CU_ASSERT_STRING_EQUAL(again.host, jit_target_narrowed(64).host);
  CU_ASSERT_TRUE(host->vector_bytes >= 16 && host->vector_bytes <= 64);
  CU_ASSERT_EQUAL(narrow.vector_bytes, 16);
  CU_ASSERT_TRUE(again.vector_bytes == 16 || strcmp(again.host, narrow.host) != 0);
}

CU_TestInfo suite_compile_pool[] = {
    {"side by side", test_side_by_side},
    {"failures", test_failures},
    {"dump", test_dump},
    {"target", test_target},
    CU_TEST_INFO_NULL,
};
