/* Counting wrappers around aligned allocation. Fault injection compares the number of the
 * allocation with fail_at. */
#include "base/mem.h"
#include "base/control_group.h"
#include "base/mem_limit.h"
#include "base/mem_object.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static atomic_size_t live_blocks;
static atomic_size_t total_allocations;
static atomic_size_t fail_at;

void hr_mem_fail_at(size_t n) {
  atomic_store(&fail_at, n ? atomic_load(&total_allocations) + n : 0);
}

size_t hr_mem_live_blocks(void) { return atomic_load(&live_blocks); }
size_t hr_mem_total_allocations(void) { return atomic_load(&total_allocations); }

static atomic_size_t process_limit; /* 0: none */

void hr_mem_limit(size_t bytes) { atomic_store(&process_limit, bytes); }

static size_t machine_bytes(void) {
  static atomic_size_t cached;
  size_t bytes = atomic_load(&cached);
  if (bytes) return bytes;
  bytes = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
  uint64_t limit = hr_control_group()->memory_bytes;
  if (limit && limit < bytes) bytes = (size_t)limit;
  atomic_store(&cached, bytes);
  return bytes;
}

size_t hr_mem_physical_bytes(void) {
  size_t limit = atomic_load_explicit(&process_limit, memory_order_relaxed);
  size_t bytes = machine_bytes();
  return limit && limit < bytes ? limit : bytes;
}

typedef char size_text_t[32];

/* In GiB from 0.1 GiB on, else in a smaller unit by the same rule. */
static const char *text_of(size_text_t into, size_t bytes) {
  static const char *const units[] = {"bytes", "KiB", "MiB", "GiB"};
  double value = (double)bytes;
  int unit = 0;
  for (; unit < 3 && value >= 102.4; unit++) value /= 1024;
  snprintf(into, sizeof(size_text_t), unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
  return into;
}

hr_status_t hr_mem_too_large(const char *needs, size_t bytes) {
  size_text_t needed, has;
  bool is_limited = hr_mem_physical_bytes() < machine_bytes();
  return hr_error(HR_NO_MEMORY, "%s %zu bytes (%s), this %s has %s", needs, bytes,
                  text_of(needed, bytes), is_limited ? "process" : "machine",
                  text_of(has, hr_mem_physical_bytes()));
}

static bool is_any_machine; /* sizes are those of a program that does not run here */

void hr_mem_any_machine(bool any_machine) { is_any_machine = any_machine; }
bool hr_mem_is_any_machine(void) { return is_any_machine; }

hr_status_t hr_size_product(size_t count, size_t each, size_t *out_bytes) {
  size_t bytes;
  if (__builtin_mul_overflow(count, each, &bytes))
    return hr_error(HR_NO_MEMORY, "needs %zu x %zu bytes, more than any machine can address", count,
                    each);
  if (!is_any_machine && bytes > hr_mem_physical_bytes()) return hr_mem_too_large("needs", bytes);
  *out_bytes = bytes;
  return NULL;
}

/* Smallest block for which large pages are asked for. */
#define LARGE_BYTES ((size_t)1 << 20)

/* Reading memory from end to end waits for address translation if pages have 4 KiB. Linux gives
 * larger pages on request; where it does not, nothing is lost. */
static void ask_for_large_pages(void *memory, size_t size_bytes) {
#ifdef MADV_HUGEPAGE
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t first = ((uintptr_t)memory + page - 1) / page * page;
  uintptr_t end = ((uintptr_t)memory + size_bytes) / page * page;
  if (first < end) madvise((void *)first, end - first, MADV_HUGEPAGE);
#endif
}

/* Counts an allocation; true if it is the one that is to fail. */
static bool is_to_fail(void) {
  size_t number = atomic_fetch_add(&total_allocations, 1) + 1;
  return number == atomic_load_explicit(&fail_at, memory_order_relaxed);
}

/* Hands the memory over; NULL: the allocation failed. */
static hr_status_t give(void *memory, size_t size_bytes, void **out_memory) {
  if (!memory) return hr_error(HR_NO_MEMORY, "cannot allocate %zu bytes", size_bytes);
  atomic_fetch_add_explicit(&live_blocks, 1, memory_order_relaxed);
  *out_memory = memory;
  return NULL;
}

hr_status_t hr_alloc_object(size_t size_bytes, void **out_memory) {
  return give(is_to_fail() ? NULL : malloc(size_bytes), size_bytes, out_memory);
}

hr_status_t hr_alloc(size_t size_bytes, void **out_memory) {
  bool fails = is_to_fail();
  if (size_bytes > hr_mem_physical_bytes()) return hr_mem_too_large("needs", size_bytes);
  size_t rounded = (size_bytes + HR_ALIGNMENT - 1) & ~(size_t)(HR_ALIGNMENT - 1);
  void *memory = NULL;
  if (rounded >= size_bytes && !fails)
    memory = aligned_alloc(HR_ALIGNMENT, rounded ? rounded : HR_ALIGNMENT);
  if (memory && size_bytes >= LARGE_BYTES) ask_for_large_pages(memory, size_bytes);
  return give(memory, size_bytes, out_memory);
}

hr_status_t hr_alloc_zeroed(size_t size_bytes, void **out_memory) {
  HR_TRY(hr_alloc(size_bytes, out_memory));
  memset(*out_memory, 0, size_bytes);
  return NULL;
}

hr_status_t hr_realloc(void **memory, size_t old_bytes, size_t new_bytes) {
  void *grown = NULL;
  HR_TRY(hr_alloc(new_bytes, &grown));
  if (*memory) memcpy(grown, *memory, old_bytes < new_bytes ? old_bytes : new_bytes);
  hr_free(*memory);
  *memory = grown;
  return NULL;
}

void hr_free(void *memory) {
  if (!memory) return;
  atomic_fetch_sub_explicit(&live_blocks, 1, memory_order_relaxed);
  free(memory);
}

void hr_mem_keep(const void *block) {
  if (block) atomic_fetch_sub_explicit(&live_blocks, 1, memory_order_relaxed);
}

void hr_clear(void *memory, size_t size_bytes) { memset(memory, 0, size_bytes); }
