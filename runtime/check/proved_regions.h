/* Proved alternatives of regions. An unrolled loop passes a region once per iteration; one proof
 * covers all instances with the same events. */
#ifndef CHECK_PROVED_REGIONS_H
#define CHECK_PROVED_REGIONS_H

#include "check/region_instances.h"

typedef struct proved_alternative {
  uint64_t hash;                   /* hash of the events */
  const uint32_t *at;              /* per rank: the region, as in region_instance_t */
  const check_range_t *ranges;     /* per rank: the events */
  check_engine_t engine;           /* state after its run, with the channels and collectives used */
  struct proved_alternative *next; /* next one with this hash */
} proved_alternative_t;

typedef struct proved_regions {
  hr_arena_t arena;
  hr_map_t by_hash;
  HR_VEC(proved_alternative_t *) list;
} proved_regions_t;

void proved_regions_init(proved_regions_t *proved);
void proved_regions_deinit(proved_regions_t *proved);
/* The proof of an alternative with the same events as the one with these ranges; NULL: none. Cost:
 * linear in the events. */
const proved_alternative_t *proved_regions_find(const proved_regions_t *proved,
                                                const check_result_t *result,
                                                const region_instance_t *instance,
                                                const check_range_t *ranges);
/* Adds a proof. Takes ownership of the engine, also after an error; copies the rest. Errors:
 * NO_MEMORY. */
hr_status_t proved_regions_add(proved_regions_t *proved, const check_result_t *result,
                               const region_instance_t *instance, const check_range_t *ranges,
                               check_engine_t *engine, const proved_alternative_t **out_added);

#endif
