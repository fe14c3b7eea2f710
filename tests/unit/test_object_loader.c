/* Objects in memory: they run, call what is outside, lie in pages of the right kind; damaged ones
 * are refused. */
#include "jit/link/object_loader.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/math_kernels.h"
#include "tests/lib/unit.h"

static hr_buffer_t *compile(hlo_opcode_t op, int lanes) {
  math_kernel_t kernel = {.op = op, .is_f64 = true, .lanes = lanes};
  hr_buffer_t *object = NULL;
  CHECK_OK(math_kernels_compile(&kernel, 1, jit_target_host(), NULL, &object));
  CU_ASSERT_PTR_NOT_NULL_FATAL(object);
  return object;
}

/* A remainder of numbers far apart calls the C library, sine reads constants. */
static void test_runs(void) {
  math_kernel_t kernels[2] = {{.op = HLO_REMAINDER, .is_f64 = true, .lanes = 4},
                              {.op = HLO_SINE, .is_f64 = true, .lanes = 2}};
  double x[4] = {1e300, 7.5, -8, 1e10}, y[4] = {3, 2, 3, 7}, out[4];
  CHECK_OK(math_kernels_make(kernels, 2, jit_target_host(), NULL));
  kernels[0].run(x, y, out, 4);
  for (int i = 0; i < 4; i++) CU_ASSERT_EQUAL(out[i], fmod(x[i], y[i]));
  kernels[1].run(x, NULL, out, 4);
  for (int i = 0; i < 4; i++) CU_ASSERT_DOUBLE_EQUAL(out[i], sin(x[i]), 1e-15);
  math_kernels_free(kernels, 2);
}

/* Has the page of `address` these rights, written as in /proc/self/maps? */
static bool has_rights(const void *address, const char *rights) {
  FILE *maps = fopen("/proc/self/maps", "r");
  unsigned long begin, end;
  char line[512], found[8] = "";
  while (maps && fgets(line, sizeof line, maps))
    if (sscanf(line, "%lx-%lx %7s", &begin, &end, found) == 3 && (uintptr_t)address >= begin &&
        (uintptr_t)address < end)
      break;
  if (maps) fclose(maps);
  return !maps || strncmp(found, rights, 3) == 0;
}

static void test_pages(void) {
  math_kernel_t kernel = {.op = HLO_SINE, .is_f64 = true, .lanes = 2};
  CHECK_OK(math_kernels_make(&kernel, 1, jit_target_host(), NULL));
  CU_ASSERT_TRUE(has_rights((const void *)kernel.run, "r-x"));
  CU_ASSERT_TRUE(has_rights((const char *)kernel.run + 4096, "r--"));
  CU_ASSERT_EQUAL(jit_object_code_bytes(kernel.object) % 4096, 0);
  void *address;
  CHECK_FAILS(HR_INVALID, jit_object_find(kernel.object, "nothing", &address));
  math_kernels_free(&kernel, 1);
}

/* Whatever comes of it, it is an answer. */
static void load_any(const void *bytes, size_t size) {
  jit_object_t *object = NULL;
  hr_status_t st = jit_object_load(bytes, size, &object);
  CU_ASSERT_TRUE(!st || hr_status_code(st) == HR_INVALID);
  hr_status_release(st);
  jit_object_unload(object);
}

static void test_cut_objects(void) {
  hr_buffer_t *object = compile(HLO_REMAINDER, 4);
  size_t size = hr_buffer_size(object);
  for (size_t cut = 0; cut < size; cut += 1 + cut / 100) load_any(hr_buffer_data(object), cut);
  CHECK_FAILS(HR_INVALID,
              jit_object_load(hr_buffer_data(object), size / 2, &(jit_object_t *){NULL}));
  hr_buffer_release(object);
}

static void test_changed_objects(void) {
  static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
  hr_buffer_t *object = compile(HLO_REMAINDER, 4);
  size_t size = hr_buffer_size(object);
  unsigned char bytes[16384];
  CU_ASSERT_TRUE_FATAL(size <= sizeof bytes);
  memcpy(bytes, hr_buffer_data(object), size);
  for (size_t at = 0; at < size; at++)
    for (size_t v = 0; v < sizeof values; v++) {
      unsigned char before = bytes[at];
      bytes[at] = values[v];
      load_any(bytes, size);
      bytes[at] = before;
    }
  hr_buffer_release(object);
}

/* The name of a function outside is another one. */
static void test_unknown_functions(void) {
  hr_buffer_t *object = compile(HLO_REMAINDER, 1);
  size_t size = hr_buffer_size(object);
  unsigned char bytes[16384];
  CU_ASSERT_TRUE_FATAL(size <= sizeof bytes);
  memcpy(bytes, hr_buffer_data(object), size);
  unsigned char *name = memmem(bytes, size, "fmod", 5);
  CU_ASSERT_PTR_NOT_NULL_FATAL(name);
  memcpy(name, "exit", 4);
  CHECK_FAILS(HR_INVALID, jit_object_load(bytes, size, &(jit_object_t *){NULL}));
  hr_buffer_release(object);
}

CU_TestInfo suite_object_loader[] = {
    {"runs", test_runs},
    {"pages", test_pages},
    {"cut objects", test_cut_objects},
    {"changed objects", test_changed_objects},
    {"unknown functions", test_unknown_functions},
    CU_TEST_INFO_NULL,
};
