/* Page protection as a means to see accesses. The pages are kept as ranges, sorted by address and
 * disjoint, with one state byte a page:
 *
 *   ranges   | begin end first_page=0 | begin end first_page=7 | ...
 *   states   | . T . . T . .          | T T ...
 *
 * The handler finds the range of an address by bisection and writes one byte: it takes no lock, as
 * a page that two threads touch at once is marked by both alike. */
#include "base/page_watch.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/vec.h"

typedef enum page_state { PAGE_ABSENT, PAGE_PRESENT, PAGE_TOUCHED = 2 /* a bit */ } page_state_t;

typedef struct page_range {
  uintptr_t begin, end; /* addresses, multiples of HR_PAGE_BYTES */
  size_t first_page;    /* index of its first state */
} page_range_t;

struct hr_page_watch {
  HR_VEC(page_range_t) ranges;
  HR_VEC(unsigned char) states;
  size_t added_pages; /* pages of overlapping ranges count several times */
  bool is_sorted;
  struct sigaction before; /* action of SIGSEGV without the watch */
};

static _Atomic(hr_page_watch_t *) active; /* NULL: no pages are armed */
static bool exists;

/* --- faults --- */

static const page_range_t *find_range(const hr_page_watch_t *watch, uintptr_t address) {
  size_t low = 0, high = watch->ranges.count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (watch->ranges.data[middle].end <= address)
      low = middle + 1;
    else
      high = middle;
  }
  const page_range_t *range = watch->ranges.data + low;
  return low < watch->ranges.count && range->begin <= address ? range : NULL;
}

/* Files that are mapped for reading may not be written. */
static bool allow_access(uintptr_t begin, uintptr_t end) {
  return mprotect((void *)begin, end - begin, PROT_READ | PROT_WRITE) == 0 ||
         mprotect((void *)begin, end - begin, PROT_READ) == 0;
}

/* A page that is made accessible alone splits its mapping. At the limit of 65,530 mappings per
 * process the whole range is made accessible and marked. */
static void mark(hr_page_watch_t *watch, const page_range_t *range, uintptr_t address) {
  uintptr_t page = address / HR_PAGE_BYTES * HR_PAGE_BYTES;
  unsigned char *states = watch->states.data + range->first_page;
  if (allow_access(page, page + HR_PAGE_BYTES)) {
    states[(page - range->begin) / HR_PAGE_BYTES] |= PAGE_TOUCHED;
    return;
  }
  for (size_t i = 0; i < (range->end - range->begin) / HR_PAGE_BYTES; i++)
    states[i] |= PAGE_TOUCHED;
  allow_access(range->begin, range->end);
}

/* A fault elsewhere happens again under the handler that was there before; a signal of another
 * process (si_code <= 0) does not by itself. */
static void handle_fault(int number, siginfo_t *info, void *context) {
  (void)context;
  hr_page_watch_t *watch = atomic_load(&active);
  bool is_fault = info->si_code > 0;
  const page_range_t *range =
      watch && is_fault ? find_range(watch, (uintptr_t)info->si_addr) : NULL;
  if (range) {
    mark(watch, range, (uintptr_t)info->si_addr);
    return;
  }
  if (watch) sigaction(number, &watch->before, NULL);
  if (!is_fault) raise(number);
}

/* --- pages --- */

hr_status_t hr_page_watch_create(hr_page_watch_t **out_watch) {
  void *memory;
  if (exists) return hr_error(HR_USAGE, "this process watches pages already");
  HR_TRY(hr_alloc_zeroed(sizeof(hr_page_watch_t), &memory));
  exists = true;
  *out_watch = memory;
  return NULL;
}

void hr_page_watch_destroy(hr_page_watch_t *watch) {
  if (!watch) return;
  HR_VEC_FREE(&watch->ranges);
  HR_VEC_FREE(&watch->states);
  hr_free(watch);
  exists = false;
}

void hr_page_watch_clear(hr_page_watch_t *watch) {
  watch->ranges.count = 0;
  watch->added_pages = 0;
  watch->is_sorted = false;
}

hr_status_t hr_page_watch_add(hr_page_watch_t *watch, const void *memory, size_t size_bytes) {
  uintptr_t address = (uintptr_t)memory;
  uintptr_t begin = (address + HR_PAGE_BYTES - 1) / HR_PAGE_BYTES * HR_PAGE_BYTES;
  uintptr_t end = (address + size_bytes) / HR_PAGE_BYTES * HR_PAGE_BYTES;
  if (begin >= end) return NULL;
  HR_VEC_PUSH(&watch->ranges, (page_range_t){begin, end, 0});
  watch->added_pages += (end - begin) / HR_PAGE_BYTES;
  watch->is_sorted = false;
  return HR_VEC_RESERVE(&watch->states, watch->added_pages);
}

static int by_begin(const void *a, const void *b) {
  const page_range_t *x = a, *y = b;
  return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Unites ranges that overlap or touch, and gives each its states. */
static void sort_ranges(hr_page_watch_t *watch) {
  page_range_t *ranges = watch->ranges.data;
  size_t kept = 0, pages = 0;
  if (watch->ranges.count) qsort(ranges, watch->ranges.count, sizeof *ranges, by_begin);
  for (size_t i = 0; i < watch->ranges.count; i++) {
    page_range_t *last = kept ? &ranges[kept - 1] : NULL;
    if (!last || ranges[i].begin > last->end)
      ranges[kept++] = ranges[i];
    else if (ranges[i].end > last->end)
      last->end = ranges[i].end;
  }
  for (size_t i = 0; i < kept; i++) {
    ranges[i].first_page = pages;
    pages += (ranges[i].end - ranges[i].begin) / HR_PAGE_BYTES;
  }
  watch->ranges.count = kept;
  watch->states.count = pages;
  watch->is_sorted = true;
}

/* A range whose residency cannot be asked for counts as present. */
static void reset_states(hr_page_watch_t *watch, const page_range_t *range) {
  unsigned char *states = watch->states.data + range->first_page;
  size_t count = (range->end - range->begin) / HR_PAGE_BYTES;
  bool is_known = mincore((void *)range->begin, range->end - range->begin, states) == 0;
  for (size_t i = 0; i < count; i++)
    states[i] = !is_known || states[i] & 1 ? PAGE_PRESENT : PAGE_ABSENT;
}

void hr_page_watch_arm(hr_page_watch_t *watch) {
  struct sigaction action = {.sa_sigaction = handle_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
  if (!watch->is_sorted) sort_ranges(watch);
  for (size_t i = 0; i < watch->ranges.count; i++) reset_states(watch, &watch->ranges.data[i]);
  atomic_store(&active, watch);
  sigaction(SIGSEGV, &action, &watch->before);
  for (size_t i = 0; i < watch->ranges.count; i++) {
    const page_range_t *range = &watch->ranges.data[i];
    mprotect((void *)range->begin, range->end - range->begin, PROT_NONE);
  }
}

static void visit_range(const hr_page_watch_t *watch, const page_range_t *range,
                        hr_page_visit_fn *visit, void *context) {
  const unsigned char *states = watch->states.data + range->first_page;
  for (uintptr_t page = range->begin; page < range->end; page += HR_PAGE_BYTES, states++)
    if (*states & PAGE_TOUCHED) visit(context, page, *states & PAGE_PRESENT);
}

void hr_page_watch_disarm(hr_page_watch_t *watch, hr_page_visit_fn *visit, void *context) {
  for (size_t i = 0; i < watch->ranges.count; i++)
    allow_access(watch->ranges.data[i].begin, watch->ranges.data[i].end);
  sigaction(SIGSEGV, &watch->before, NULL);
  atomic_store(&active, NULL);
  for (size_t i = 0; i < watch->ranges.count; i++)
    visit_range(watch, &watch->ranges.data[i], visit, context);
}
