/* Lets allocation after allocation of something fail: each time it must end with NO_MEMORY, or do
 * without, and leave nothing behind. Thread: the only one that allocates. */
#ifndef TESTS_UNIT_FAULTS_H
#define TESTS_UNIT_FAULTS_H

#include "base/mem.h"
#include "unit.h"

/* Makes what it needs, calls faults_begin(n), does what is tested, calls faults_end(), and frees
 * everything. */
typedef hr_status_t (*fault_attempt_fn)(size_t n, void *context);

static size_t fault_number; /* count of all allocations so far; 0: the one that was to fail was not
                               asked for */

static inline void faults_begin(size_t n) {
  fault_number = hr_mem_total_allocations() + n;
  hr_mem_fail_at(n);
}

static inline void faults_end(void) {
  if (fault_number > hr_mem_total_allocations()) fault_number = 0;
  hr_mem_fail_at(0);
}

/* Attempts with allocation 1, 2, ... failing, until one does not ask for so many; returns how many
 * it asks for. */
static inline size_t faults_try(fault_attempt_fn attempt, void *context) {
  size_t live = hr_mem_live_blocks(), n = 0;
  do {
    hr_status_t st = attempt(++n, context);
    if (st) CU_ASSERT_EQUAL(hr_status_code(st), HR_NO_MEMORY);
    if (st && hr_status_code(st) != HR_NO_MEMORY) hr_status_print(stderr, st);
    CU_ASSERT(!st || fault_number);
    hr_status_release(st);
    CU_ASSERT_EQUAL_FATAL(hr_mem_live_blocks(), live);
  } while (fault_number);
  return n - 1;
}

#endif
