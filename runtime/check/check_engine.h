/* Executes the planned order of all processes until every one has finished or is blocked. All
 * enabled events fire; their order does not matter (confluence): starts never block and no event is
 * undone, so every run ends in the same state, and one run decides. Cost: constant time for each
 * event. */
#ifndef CHECK_CHECK_ENGINE_H
#define CHECK_CHECK_ENGINE_H

#include "check/matching.h"

typedef struct check_range { /* events begin .. end-1 */
  uint32_t begin, end;
} check_range_t;

/* Treatment of regions, whose control flow depends on data. */
typedef enum check_region_mode {
  CHECK_REGION_BARRIER, /* a barrier of all processes that pass it */
  CHECK_REGION_FOLLOW   /* branch `branch`, and `iterations` iterations of outer loops */
} check_region_mode_t;

typedef struct check_engine_options {
  check_region_mode_t mode;
  uint32_t branch, iterations;
  bool count_only; /* count starts only: nothing blocks */
} check_engine_options_t;

typedef struct check_barrier {
  uint64_t signature;
  HR_VEC(check_instance_t) instances;
  HR_VEC(uint32_t) expected; /* number of processes per instance */
  int waiters;
} check_barrier_t;

typedef struct check_process {
  uint32_t at;
  uint32_t
      *numbers; /* per event of the range: number of a start in its channel or collective, from 1 */
  int next_waiter;
  bool blocked;
  uint32_t iterations_left; /* remaining iterations of the outermost loop; inner loops run once */
} check_process_t;

typedef struct check_engine {
  check_result_t *result;
  check_engine_options_t options;
  const check_range_t *ranges; /* per rank */
  check_process_t *processes;
  check_matching_t matching;
  hr_map_t barriers;
  HR_VEC(check_barrier_t *) all_barriers;
  HR_VEC(int) ready;
} check_engine_t;

hr_status_t check_engine_init(check_engine_t *engine, check_result_t *result,
                              const check_range_t *ranges, const check_engine_options_t *options);
void check_engine_deinit(check_engine_t *engine);
/* Runs until all processes are finished or blocked. Misuse found on the way is recorded in the
 * result. May be called again after ends of ranges were raised, up to those given to
 * check_engine_init. Errors: NO_MEMORY. */
hr_status_t check_engine_run(check_engine_t *engine);
/* After a run: have all processes reached the end of their ranges? */
bool check_engine_is_complete(const check_engine_t *engine);
/* After a run: does every channel have as many sends as recvs, and was every collective started by
 * its whole group? */
bool check_engine_is_balanced(const check_engine_t *engine);
/* The wait of a blocked process: a rank that it waits for, or -1. */
hr_status_t check_engine_waits_for(check_engine_t *engine, int rank, check_wait_t *out_wait);

#endif
