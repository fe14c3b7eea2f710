/* Accesses to pages: which ones a watch sees, and on whose node the workers' loops find theirs. */
#include "observe/numa_trace.h"

#include <string.h>
#include <sys/mman.h>

#include "base/page_watch.h"
#include "base/workers.h"
#include "tests/lib/unit.h"

#define PAGES 8
#define BYTES (PAGES * HR_PAGE_BYTES)

/* Pages without memory. */
static char *map_pages(void) {
  void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CU_ASSERT_PTR_NOT_EQUAL_FATAL(memory, MAP_FAILED);
  return memory;
}

typedef struct visits {
  const char *memory;
  int touched[PAGES], present[PAGES];
} visits_t;

static void note_visit(void *context, uintptr_t page, bool is_present) {
  visits_t *visits = context;
  size_t number = (page - (uintptr_t)visits->memory) / HR_PAGE_BYTES;
  CU_ASSERT_TRUE_FATAL(number < PAGES);
  visits->touched[number]++;
  visits->present[number] = is_present;
}

/* Pages 1 and 3 are touched, of which 3 had memory; part of a page at either end is not watched. */
static void test_watch(void) {
  hr_page_watch_t *watch, *other;
  char *memory = map_pages();
  visits_t visits = {.memory = memory};
  volatile char *at = memory;
  at[3 * HR_PAGE_BYTES] = 1;
  CHECK_OK(hr_page_watch_create(&watch));
  CHECK_FAILS(HR_USAGE, hr_page_watch_create(&other));
  CHECK_OK(hr_page_watch_add(watch, memory + 100, 4 * HR_PAGE_BYTES));
  CHECK_OK(hr_page_watch_add(watch, memory + 2 * HR_PAGE_BYTES, 3 * HR_PAGE_BYTES));
  CHECK_OK(hr_page_watch_add(watch, memory + 7 * HR_PAGE_BYTES, 10));
  hr_page_watch_arm(watch);
  at[0] = at[HR_PAGE_BYTES + 5] = at[HR_PAGE_BYTES + 6] = 1;
  CU_ASSERT_EQUAL(at[3 * HR_PAGE_BYTES], 1);
  at[7 * HR_PAGE_BYTES] = 1;
  hr_page_watch_disarm(watch, note_visit, &visits);
  const int touched[PAGES] = {0, 1, 0, 1, 0, 0, 0, 0}, present[PAGES] = {0, 0, 0, 1, 0, 0, 0, 0};
  CU_ASSERT_EQUAL(memcmp(visits.touched, touched, sizeof touched), 0);
  CU_ASSERT_EQUAL(memcmp(visits.present, present, sizeof present), 0);
  hr_page_watch_destroy(watch);
  munmap(memory, BYTES);
}

static void write_pages(void *context, int64_t begin, int64_t end, int worker) {
  (void)worker;
  memset((char *)context + begin * (int64_t)HR_PAGE_BYTES, 1,
         (size_t)(end - begin) * HR_PAGE_BYTES);
}

/* Page i of the loop is page PAGES - 1 - i of memory. */
static void write_reversed(void *context, int64_t begin, int64_t end, int worker) {
  for (int64_t i = begin; i < end; i++) write_pages(context, PAGES - 1 - i, PAGES - i, worker);
}

static void run_step(numa_trace_t *numa, hr_trace_span_t *span, hr_workers_t *workers,
                     hr_workers_fn fn, char *memory) {
  numa_trace_begin(numa);
  CHECK_OK(numa_trace_add(numa, memory, BYTES));
  numa_trace_run(numa, span);
  hr_workers_for(workers, PAGES, 1, fn, memory);
  CHECK_OK(numa_trace_end(numa));
}

/* Two workers on two nodes: what each writes first is its own, in the other direction the other's;
 * pages that the caller had before are on the first one's node. */
static void test_nodes(void) {
  const int nodes[] = {0, 1};
  hr_trace_t *trace;
  hr_trace_span_t *spans;
  numa_trace_t *numa;
  hr_workers_t *workers;
  char *memory = map_pages(), *callers = map_pages();
  memset(callers, 0, BYTES);
  CHECK_OK(hr_trace_create(8, &trace));
  CHECK_OK(hr_trace_spans_new(trace, 3, &spans));
  CHECK_OK(numa_trace_create(trace, &numa));
  CHECK_OK(numa_trace_set_workers(numa, nodes, 2));
  CHECK_OK(hr_workers_create(
      &(hr_workers_options_t){.count = 2, .part_begins = numa_trace_worker, .part_context = numa},
      &workers));
  run_step(numa, &spans[0], workers, write_pages, memory);
  run_step(numa, &spans[1], workers, write_reversed, memory);
  run_step(numa, &spans[2], workers, write_pages, callers);
  CU_ASSERT_EQUAL(trace->numa_nodes, 2);
  for (int s = 0; s < 3; s++) CU_ASSERT_EQUAL(spans[s].page_bytes, BYTES);
  CU_ASSERT_EQUAL(spans[0].remote_bytes, 0);
  CU_ASSERT_EQUAL(spans[1].remote_bytes, BYTES);
  CU_ASSERT_EQUAL(spans[2].remote_bytes, BYTES / 2);
  hr_workers_destroy(workers);
  numa_trace_destroy(numa);
  hr_trace_destroy(trace);
  munmap(memory, BYTES);
  munmap(callers, BYTES);
}

CU_TestInfo suite_numa_trace[] = {
    {"accesses to watched pages", test_watch},
    {"pages of other nodes", test_nodes},
    CU_TEST_INFO_NULL,
};
