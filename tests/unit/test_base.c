/* Memory of the base layer: arenas, checked sizes, injected faults, buffers, errors and their
 * places. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/arena_own.h"
#include "base/arith.h"
#include "base/buffer.h"
#include "base/map.h"
#include "base/mem_object.h"
#include "base/signal_name.h"
#include "base/vec.h"
#include "tests/lib/unit.h"

static void test_arena_rewind(void) {
  hr_arena_t arena;
  hr_arena_init(&arena);
  void *first, *later, *again;
  CHECK_OK(hr_arena_alloc(&arena, 100, &first));
  memset(first, 7, 100);
  hr_arena_mark_t mark = hr_arena_mark(&arena);
  CHECK_OK(hr_arena_alloc(&arena, 50, &later));
  CHECK_OK(hr_arena_alloc(&arena, 10 << 20, &again));
  hr_arena_rewind(&arena, mark);
  CHECK_OK(hr_arena_alloc(&arena, 50, &again));
  CU_ASSERT_PTR_EQUAL(later, again);
  CU_ASSERT_EQUAL(((char *)first)[99], 7);
  hr_arena_deinit(&arena);
}

/* What is owned ends with a rewind to a mark before it, with a reset, and with the arena. */
static void count_end(void *count) { (*(int *)count)++; }
static void test_arena_owns(void) {
  int ends = 0;
  hr_arena_t arena;
  void *memory;
  hr_arena_init(&arena);
  hr_arena_mark_t start = hr_arena_mark(&arena);
  CHECK_OK(hr_arena_own(&arena, &ends, count_end));
  CHECK_OK(hr_arena_alloc(&arena, 100, &memory));
  hr_arena_mark_t mark = hr_arena_mark(&arena);
  CHECK_OK(hr_arena_own(&arena, &ends, count_end));
  hr_arena_rewind(&arena, mark);
  CU_ASSERT_EQUAL(ends, 1);
  hr_arena_rewind(&arena, start);
  CU_ASSERT_EQUAL(ends, 2);
  CHECK_OK(hr_arena_own(&arena, &ends, count_end));
  CHECK_OK(hr_arena_own(&arena, &ends, count_end));
  hr_arena_reset(&arena);
  CU_ASSERT_EQUAL(ends, 4);
  CHECK_OK(hr_arena_own(&arena, &ends, count_end));
  hr_arena_deinit(&arena);
  CU_ASSERT_EQUAL(ends, 5);
}

static void test_arena_alignment(void) {
  hr_arena_t arena;
  hr_arena_init(&arena);
  for (size_t size = 1; size < 200; size += 7) {
    void *memory;
    CHECK_OK(hr_arena_alloc(&arena, size, &memory));
    CU_ASSERT_EQUAL((uintptr_t)memory % (size >= HR_ALIGNMENT ? HR_ALIGNMENT : 16), 0);
  }
  hr_arena_deinit(&arena);
}

static void test_sizes_are_checked(void) {
  size_t bytes;
  CHECK_FAILS(HR_NO_MEMORY, hr_size_product(SIZE_MAX, 2, &bytes));
  CHECK_FAILS(HR_NO_MEMORY, hr_size_product(SIZE_MAX / 4, 2, &bytes));
  CHECK_OK(hr_size_product(1000, 8, &bytes));
  CU_ASSERT_EQUAL(bytes, 8000);
}

static void test_injected_fault(void) {
  size_t live = hr_mem_live_blocks();
  void *memory = NULL;
  hr_mem_fail_at(2);
  CHECK_OK(hr_alloc(10, &memory));
  hr_free(memory);
  CHECK_FAILS(HR_NO_MEMORY, hr_alloc(10, &memory));
  hr_mem_fail_at(0);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

/* Objects are counted as all memory is. */
static void test_objects(void) {
  size_t live = hr_mem_live_blocks();
  void *memory = NULL;
  hr_mem_fail_at(2);
  CHECK_OK(hr_alloc_object(10, &memory));
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live + 1);
  hr_free(memory);
  CHECK_FAILS(HR_NO_MEMORY, hr_alloc_object(10, &memory));
  hr_mem_fail_at(0);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

/* The data of buffers is aligned, also where the header is not. */
static void test_aligned_data(void) {
  static const size_t sizes[] = {0, 1, 8, 100, 4095, 4096, 4097, 1 << 20};
  hr_buffer_t *buffers[sizeof sizes / sizeof *sizes];
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    CHECK_OK(hr_buffer_create(sizes[i], &buffers[i]));
    CU_ASSERT_EQUAL((uintptr_t)hr_buffer_data(buffers[i]) % HR_ALIGNMENT, 0);
    memset(hr_buffer_data(buffers[i]), 1, sizes[i]);
  }
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) hr_buffer_release(buffers[i]);
}

static int fills_until_full = 3; /* calls of fill_constants, of which the last finds memory */

static hr_status_t fill_constants(hr_map_t *map) {
  HR_TRY(hr_map_put(map, HR_STR("one"), (void *)1, NULL));
  if (--fills_until_full) return hr_error(HR_NO_MEMORY, "as if there were none");
  return hr_map_put(map, HR_STR("two"), (void *)2, NULL);
}

static void test_kept_map(void) {
  static hr_kept_map_t kept = HR_KEPT_MAP(fill_constants);
  const hr_map_t *map = NULL;
  size_t live = hr_mem_live_blocks();
  for (int refused = 0; refused < 2; refused++) {
    hr_status_t st = hr_kept_map_get(&kept, &map);
    CU_ASSERT_EQUAL(hr_status_code(st), HR_NO_MEMORY);
    hr_status_release(st);
  }
  CU_ASSERT_PTR_NULL(map);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
  for (int again = 0; again < 2; again++) {
    CU_ASSERT_PTR_NULL_FATAL(hr_kept_map_get(&kept, &map));
    CU_ASSERT_PTR_EQUAL(hr_map_get(map, HR_STR("two")), (void *)2);
    CU_ASSERT_EQUAL(map->count, 2);
  }
  CU_ASSERT_EQUAL(fills_until_full, 0);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live); /* what is kept is no leak */
}

static void test_map(void) {
  hr_map_t map;
  hr_map_init(&map);
  static char keys[1000][8];
  for (uintptr_t i = 0; i < 1000; i++) {
    snprintf(keys[i], sizeof keys[i], "k%d", (int)i);
    CHECK_OK(hr_map_put(&map, hr_str_from(keys[i]), (void *)(i + 1), NULL));
  }
  void *old;
  CHECK_OK(hr_map_put(&map, HR_STR("k5"), (void *)99, &old));
  CU_ASSERT_EQUAL((uintptr_t)old, 6);
  for (uintptr_t i = 0; i < 1000; i++)
    CU_ASSERT_EQUAL((uintptr_t)hr_map_get(&map, hr_str_from(keys[i])), i + 1);
  CU_ASSERT_PTR_NULL(hr_map_get(&map, HR_STR("k1000")));
  CU_ASSERT_EQUAL(map.count, 1000);
  hr_map_deinit(&map);
}

static hr_status_t fill_vec(int64_t *out_sum) {
  HR_VEC(int64_t) vec = {0};
  for (int64_t i = 0; i < 100; i++) HR_VEC_PUSH(&vec, i);
  *out_sum = 0;
  for (size_t i = 0; i < vec.count; i++) *out_sum += vec.data[i];
  HR_VEC_FREE(&vec);
  return NULL;
}

static void test_vec(void) {
  int64_t sum = 0;
  CHECK_OK(fill_vec(&sum));
  CU_ASSERT_EQUAL(sum, 4950);
}

static void test_status_report(void) {
  hr_source_t source = {"a.hlo", "first line\nsecond  line\n", 24};
  hr_pos_t pos = {&source, 2, 9};
  hr_status_t status = hr_error_at(HR_INVALID, &pos, "found %s", "line");
  status = hr_status_note(status, "while loading %s", "a.hlo");
  status = hr_status_join(status, hr_error(HR_UNAVAILABLE, "disk"));
  char *text = hr_status_format(status);
  CU_ASSERT_STRING_EQUAL(text,
                         "a.hlo:2:9: error: found line\nsecond  line\n        ^\n  while loading "
                         "a.hlo\n  then: disk\n");
  CU_ASSERT_EQUAL(hr_status_exit_code(status), 3);
  free(text);
  hr_status_release(status);
  CU_ASSERT_PTR_NULL(hr_status_note(NULL, "nothing"));
}

static void test_status_names_the_innermost_location(void) {
  hr_where_t outer = {.computation = "main", .instruction = "w"},
             inner = {.computation = "body", .instruction = "x"};
  hr_where_push(&outer);
  hr_where_push(&inner);
  hr_status_t status = hr_error(HR_INVALID, "m");
  hr_where_pop(&inner);
  hr_where_pop(&outer);
  char *text = hr_status_format(status);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "in instruction %x of computation body"));
  free(text);
  hr_status_release(status);
}

static int released;
static void count_release(void *context, void *data, size_t size_bytes) {
  (void)context, (void)data;
  released += (int)size_bytes;
}

static void test_buffers(void) {
  char bytes[5] = "abcd";
  hr_buffer_t *buffer, *file;
  CHECK_OK(hr_buffer_wrap(bytes, 5, true, count_release, NULL, &buffer));
  CU_ASSERT_TRUE(hr_buffer_is_exclusive(buffer));
  hr_buffer_retain(buffer);
  CU_ASSERT_FALSE(hr_buffer_is_exclusive(buffer));
  hr_buffer_release(buffer);
  CU_ASSERT_EQUAL(released, 0);
  hr_buffer_release(buffer);
  CU_ASSERT_EQUAL(released, 5);
  CHECK_FAILS(HR_UNAVAILABLE, hr_buffer_map_file("/nonexistent/file", &file));
  CHECK_FAILS(HR_UNAVAILABLE, hr_buffer_map_file("/", &file));
}

static void test_arithmetic(void) {
  CU_ASSERT_EQUAL(hr_min(-3, 2), -3);
  CU_ASSERT_EQUAL(hr_max(-3, 2), 2);
  CU_ASSERT_EQUAL(hr_div_ceil(0, 8), 0);
  CU_ASSERT_EQUAL(hr_div_ceil(16, 8), 2);
  CU_ASSERT_EQUAL(hr_div_ceil(17, 8), 3);
  CU_ASSERT_EQUAL(hr_round_up(16, 8), 16);
  CU_ASSERT_EQUAL(hr_round_up(17, 8), 24);
}

/* Has the mapping that holds `address` this flag? -1: the kernel does not say. */
static int has_flag(const void *address, const char *flag) {
  char line[512];
  bool is_inside = false;
  int has = -1;
  FILE *file = fopen("/proc/self/smaps", "r");
  while (file && has < 0 && fgets(line, sizeof line, file)) {
    unsigned long first, end;
    if (sscanf(line, "%lx-%lx ", &first, &end) == 2)
      is_inside = first <= (uintptr_t)address && (uintptr_t)address < end;
    else if (is_inside && !strncmp(line, "VmFlags:", 8))
      has = strstr(line, flag) != NULL;
  }
  if (file) fclose(file);
  return has;
}

static void test_signal_names(void) {
  char name[HR_SIGNAL_NAME];
  CU_ASSERT_STRING_EQUAL(hr_signal_name(SIGTERM, name), "SIGTERM");
  CU_ASSERT_STRING_EQUAL(hr_signal_name(SIGRTMIN + 2, name), "SIGRTMIN+2");
  CU_ASSERT_STRING_EQUAL(hr_signal_name(0, name), "signal 0");
  CU_ASSERT_STRING_EQUAL(hr_signal_name(200, name), "signal 200");
}

/* Large blocks ask for large pages ("hg"), where the kernel was built with them. */
static void test_large_pages(void) {
  void *large;
  if (access("/sys/kernel/mm/transparent_hugepage", F_OK)) return;
  CHECK_OK(hr_alloc(5 << 20, &large));
  int flag = has_flag((char *)large + (2 << 20), " hg");
  CU_ASSERT(flag != 0);
  memset(large, 1, 5 << 20);
  hr_free(large);
}

CU_TestInfo suite_base[] = {
    {"arena rewinds to a mark", test_arena_rewind},
    {"arena aligns", test_arena_alignment},
    {"arena owns objects", test_arena_owns},
    {"sizes are checked", test_sizes_are_checked},
    {"minimum, maximum and divisions", test_arithmetic},
    {"large blocks ask for large pages", test_large_pages},
    {"an injected fault is reported", test_injected_fault},
    {"objects are counted, and can fail", test_objects},
    {"data of buffers is aligned", test_aligned_data},
    {"map finds what was put", test_map},
    {"kept map is filled once there is memory", test_kept_map},
    {"signals have names", test_signal_names},
    {"vec grows", test_vec},
    {"a status quotes the line", test_status_report},
    {"a status names the innermost place", test_status_names_the_innermost_location},
    {"buffers are counted", test_buffers},
    CU_TEST_INFO_NULL};
