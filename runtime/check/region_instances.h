/* Regions (control flow that depends on data) that processes pass within a range of their
 * events. */
#ifndef CHECK_REGION_INSTANCES_H
#define CHECK_REGION_INSTANCES_H

#include "base/map.h"
#include "check/check_engine.h"

/* The n-th region of one signature within the ranges: the processes that pass it, and its
 * positions. */
typedef struct region_instance {
  const check_region_t *region; /* outermost region of its first process */
  int first_rank;
  uint32_t *at; /* per rank: position of the region; CHECK_NEVER: the rank does not pass it */
} region_instance_t;

/* Instances of one signature. */
typedef struct region_series {
  uint64_t signature;
  HR_VEC(size_t) instances; /* positions in the list of instances */
  size_t passed;            /* number of instances passed by the current process */
} region_series_t;

typedef struct region_instances {
  hr_arena_t arena;
  HR_VEC(region_instance_t) list; /* in the order of the first process that passes */
  hr_map_t by_signature;
  HR_VEC(region_series_t *) series;
} region_instances_t;

/* `ranges`: per rank.
 * Owner:   the caller ends `instances`, also after an error.
 * Cost:    linear in the events.
 * Errors:  NO_MEMORY. */
hr_status_t region_instances_collect(region_instances_t *instances, const check_result_t *result,
                                     const check_range_t *ranges);
void region_instances_deinit(region_instances_t *instances);

/* Ranges of one alternative of an instance, per rank; empty for processes that do not pass it. */
void region_alternative(const check_result_t *result, const region_instance_t *instance,
                        uint32_t alternative, check_range_t *ranges);

#endif
