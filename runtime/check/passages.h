/* Regions (control flow that depends on data) that processes pass within a range of their
 * events. */
#ifndef CHECK_PASSAGES_H
#define CHECK_PASSAGES_H

#include "base/map.h"
#include "check/check_engine.h"

/* The n-th region of one signature within the ranges: the processes that pass it, and its
 * positions. */
typedef struct passage {
  const check_region_t *region; /* outermost region of its first process */
  int first_rank;
  uint32_t *at; /* per rank: position of the region; CHECK_NEVER: the rank does not pass it */
} passage_t;

/* Instances of one signature. */
typedef struct passage_series {
  uint64_t signature;
  HR_VEC(size_t) instances; /* positions in the list of passages */
  size_t passed;            /* number of instances passed by the current process */
} passage_series_t;

typedef struct passages {
  hr_arena_t arena;
  HR_VEC(passage_t) list; /* in the order of the first process that passes */
  hr_map_t by_signature;
  HR_VEC(passage_series_t *) series;
} passages_t;

/* `ranges`: per rank.
 * Owner:   the caller ends `passages`, also after an error.
 * Cost:    linear in the events.
 * Errors:  NO_MEMORY. */
hr_status_t passages_collect(passages_t *passages, const check_result_t *result,
                             const check_range_t *ranges);
void passages_deinit(passages_t *passages);

/* Ranges of one alternative of a passage, per rank; empty for processes that do not pass it. */
void passage_alternative(const check_result_t *result, const passage_t *passage,
                         uint32_t alternative, check_range_t *ranges);

#endif
