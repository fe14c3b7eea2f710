/* The pool of threads: every unit is done once, whatever the count, the grain and the numbers of
 * workers and threads. */
#include "base/workers.h"
#include "base/fp_mode.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "tests/lib/unit.h"

#define UNITS 1000

typedef struct tally {
  atomic_int done[UNITS];
  atomic_int wrong_worker;
  int workers;
  hr_workers_t *pool; /* for a region inside the region */
} tally_t;

static void count_units(void *context, int64_t begin, int64_t end, int worker) {
  tally_t *tally = context;
  if (worker < 0 || worker >= tally->workers) atomic_fetch_add(&tally->wrong_worker, 1);
  for (int64_t i = begin; i < end; i++) atomic_fetch_add(&tally->done[i], 1);
}

static void count_nested(void *context, int64_t begin, int64_t end, int worker) {
  tally_t *tally = context;
  (void)worker;
  CU_ASSERT_TRUE(begin >= 0 && end <= UNITS);
  for (int64_t i = begin; i < end; i++) {
    tally_t inner = {.workers = 1};
    hr_workers_for(tally->pool, 3, 1, count_units, &inner);
    if (inner.done[0] == 1 && inner.done[2] == 1 && !inner.wrong_worker)
      atomic_fetch_add(&tally->done[i], 1);
  }
}

static bool each_is_done_once(const tally_t *tally, int64_t count) {
  for (int64_t i = 0; i < UNITS; i++)
    if (tally->done[i] != (i < count)) return false;
  return !tally->wrong_worker;
}

static void try_counts(int workers, bool may_spin) {
  static const int64_t counts[] = {0, 1, 2, 7, 64, UNITS}, grains[] = {1, 3, 100, 5000};
  hr_workers_t *pool;
  CHECK_OK(
      hr_workers_create(&(hr_workers_options_t){.count = workers, .may_spin = may_spin}, &pool));
  CU_ASSERT_EQUAL(hr_workers_count(pool), workers);
  for (int c = 0; c < 6; c++)
    for (int g = 0; g < 4; g++) {
      tally_t dealt = {.workers = workers}, cut = {.workers = workers};
      hr_workers_for(pool, counts[c], grains[g], count_units, &dealt);
      hr_workers_split(pool, counts[c], grains[g], count_units, &cut);
      CU_ASSERT_TRUE(each_is_done_once(&dealt, counts[c]));
      CU_ASSERT_TRUE(each_is_done_once(&cut, counts[c]));
    }
  hr_workers_destroy(pool);
}

static void test_units_are_done_once(void) {
  for (int workers = 1; workers <= 5; workers++) {
    try_counts(workers, false);
    try_counts(workers, true);
  }
}

static void test_regions_nest(void) {
  hr_workers_t *pool;
  CHECK_OK(hr_workers_create(&(hr_workers_options_t){.count = 3}, &pool));
  tally_t tally = {.workers = 3, .pool = pool};
  hr_workers_for(pool, 50, 1, count_nested, &tally);
  CU_ASSERT_TRUE(each_is_done_once(&tally, 50));
  hr_workers_destroy(pool);
}

#define CALLERS 3
#define CALLS 200

static void *call_often(void *context) {
  hr_workers_t *pool = context;
  int *wrong = calloc(1, sizeof *wrong);
  for (int k = 0; k < CALLS && wrong; k++) {
    tally_t dealt = {.workers = 3}, cut = {.workers = 3};
    hr_workers_for(pool, UNITS, 1, count_units, &dealt);
    hr_workers_split(pool, UNITS, 1, count_units, &cut);
    *wrong += !each_is_done_once(&dealt, UNITS) + !each_is_done_once(&cut, UNITS);
  }
  return wrong;
}

/* One caller has the workers, and the others do their loops alone. */
static void test_callers_share(void) {
  hr_workers_t *pool;
  pthread_t threads[CALLERS];
  CHECK_OK(hr_workers_create(&(hr_workers_options_t){.count = 3}, &pool));
  for (int k = 0; k < CALLERS; k++) pthread_create(&threads[k], NULL, call_often, pool);
  for (int k = 0; k < CALLERS; k++) {
    void *wrong;
    pthread_join(threads[k], &wrong);
    CU_ASSERT_PTR_NOT_NULL_FATAL(wrong);
    CU_ASSERT_EQUAL(*(int *)wrong, 0);
    free(wrong);
  }
  hr_workers_destroy(pool);
}

/* What the workers have of a loop is all of it; loops outside of what is traced leave nothing. */
static void test_shares_are_noted(void) {
  hr_trace_t *trace;
  hr_trace_span_t *subject;
  hr_workers_t *pool;
  CHECK_OK(hr_trace_create(64, &trace));
  CHECK_OK(hr_trace_spans_new(trace, 1, &subject));
  CHECK_OK(hr_workers_create(&(hr_workers_options_t){.count = 3, .trace = trace}, &pool));
  tally_t tally = {.workers = 3};
  hr_workers_for(pool, 50, 1, count_units, &tally);
  CU_ASSERT_EQUAL(trace->added, 0);
  uint64_t begin = hr_trace_begin(trace, subject);
  hr_workers_for(pool, 50, 1, count_units, &tally);
  int64_t units = 0;
  for (uint64_t i = 0; i < trace->added; i++) units += trace->ring[i].units;
  CU_ASSERT_EQUAL(units, 50);
  hr_trace_add(trace, subject, begin);
  CU_ASSERT_TRUE(subject->idle_ns <= subject->shared_ns);
  CU_ASSERT_TRUE(subject->shared_ns > 0 && subject->shared_ns <= subject->total_ns);
  hr_workers_destroy(pool);
  hr_trace_destroy(trace);
}

#define CHUNKS_EACH 4

/* The first chunk of each worker in a loop, which waits until all workers have one. */
typedef struct meeting {
  atomic_int arrived;
  atomic_int first[16]; /* the unit that a worker began with, plus 1; 0: none */
  int workers;
} meeting_t;

static void meet(void *context, int64_t begin, int64_t end, int worker) {
  meeting_t *meeting = context;
  (void)end;
  if (meeting->first[worker]) return;
  meeting->first[worker] = (int)begin + 1;
  atomic_fetch_add(&meeting->arrived, 1);
  while (meeting->arrived < meeting->workers) sched_yield();
}

/* Each begins with its own part of the loop, however many cores there are, and whoever is late. */
static void try_places(int workers) {
  hr_workers_t *pool;
  CHECK_OK(hr_workers_create(&(hr_workers_options_t){.count = workers}, &pool));
  for (int round = 0; round < 20; round++) {
    meeting_t meeting = {.workers = workers};
    hr_workers_for(pool, (int64_t)workers * CHUNKS_EACH, 1, meet, &meeting);
    for (int w = 0; w < workers; w++) CU_ASSERT_EQUAL(meeting.first[w], w * CHUNKS_EACH + 1);
  }
  hr_workers_destroy(pool);
}

static void test_workers_have_places(void) {
  for (int workers = 2; workers <= 16; workers *= 2) try_places(workers);
}

/* The worker's mode, while all workers are in the loop. */
typedef struct modes {
  meeting_t meeting;
  hr_fp_mode_t mode[16];
} modes_t;

static void note_mode(void *context, int64_t begin, int64_t end, int worker) {
  modes_t *modes = context;
  meet(&modes->meeting, begin, end, worker);
  modes->mode[worker] = hr_fp_mode();
}

/* Workers compute with denormal numbers as the caller does, also when it has changed its mind. */
static void test_mode_is_the_callers(void) {
  enum { WORKERS = 3 };
  hr_workers_t *pool;
  hr_fp_mode_t before = hr_fp_mode(), mode = before;
  CHECK_OK(hr_workers_create(&(hr_workers_options_t){.count = WORKERS}, &pool));
  for (int round = 0; round < 4; round++) {
    modes_t modes = {.meeting = {.workers = WORKERS}};
    hr_fp_mode_set(mode ^= HR_FP_FLUSH);
    hr_workers_for(pool, WORKERS * CHUNKS_EACH, 1, note_mode, &modes);
    for (int w = 0; w < WORKERS; w++) CU_ASSERT_EQUAL(modes.mode[w], mode);
  }
  hr_fp_mode_set(before);
  hr_workers_destroy(pool);
}

static void test_no_pool(void) {
  tally_t tally = {.workers = 1};
  hr_workers_for(NULL, 10, 1, count_units, &tally);
  CU_ASSERT_TRUE(each_is_done_once(&tally, 10));
  CU_ASSERT_EQUAL(hr_workers_count(NULL), 1);
}

/* The parts of workers without a thread are done by those that have one. */
static void test_workers_without_threads(void) {
  for (int threads = 1; threads <= 3; threads++) {
    hr_workers_options_t options = {.count = 8, .threads = threads, .may_spin = threads == 2};
    hr_workers_t *pool;
    CHECK_OK(hr_workers_create(&options, &pool));
    CU_ASSERT_EQUAL(hr_workers_count(pool), 8);
    for (int64_t count = 1; count <= UNITS; count = 3 * count + 1) {
      tally_t dealt = {.workers = threads}, cut = {.workers = threads};
      hr_workers_for(pool, count, 1, count_units, &dealt);
      hr_workers_split(pool, count, 1, count_units, &cut);
      CU_ASSERT_TRUE(each_is_done_once(&dealt, count));
      CU_ASSERT_TRUE(each_is_done_once(&cut, count));
    }
    hr_workers_destroy(pool);
  }
}

CU_TestInfo suite_workers[] = {
    {"units are done once", test_units_are_done_once},
    {"regions nest", test_regions_nest},
    {"callers share", test_callers_share},
    {"shares are noted", test_shares_are_noted},
    {"workers have places", test_workers_have_places},
    {"workers without threads", test_workers_without_threads},
    {"the mode is the caller's", test_mode_is_the_callers},
    {"no pool", test_no_pool},
    CU_TEST_INFO_NULL,
};
