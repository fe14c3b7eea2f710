/* The ends of channels that the programs of all processes have, as far as can be told before they
 * run. */
#ifndef EXEC_CHANNEL_ENDPOINTS_H
#define EXEC_CHANNEL_ENDPOINTS_H

#include "comm/model/channel_routes.h"
#include "comm/model/participants.h"
#include "comm/peers/process_comm.h"
#include "plan/plan.h"

typedef struct endpoint_search {
  hr_arena_t *arena;
  const plan_t *plan;
  comm_participant_sets_t sites;
  bool is_split, *visited; /* computations that the entry reaches */
  int only_rank;           /* -1: the ends of all ranks, which run the same program */
  bool is_followed;        /* `passed` knows which instructions a rank comes to */
  hr_map_t passed;
  exec_channel_endpoints_t ends; /* of all ranks */
} endpoint_search_t;

/* Lives as long as the arena, which takes what the search needs. */
void exec_endpoints_init(endpoint_search_t *search, hr_arena_t *arena, const plan_t *plan);
void exec_endpoints_deinit(endpoint_search_t *search);
/* With `mpmd` all processes call it together and tell each other. */
hr_status_t exec_endpoints_find(endpoint_search_t *search, exec_comm_t *comm, bool mpmd);
/* Of a program split by device: does this rank run the instruction? */
bool exec_endpoints_run_on(const endpoint_search_t *search, const hlo_instr_t *instr, int rank);

#endif
