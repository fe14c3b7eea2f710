/* The ends of channels of all processes, as known before the programs run. */
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
  bool is_split, *visited; /* per computation: reachable from the entry */
  int only_rank;           /* -1: all ranks, which run the same program */
  bool is_followed;        /* `passed` holds the reachable ends by rank */
  hr_map_t passed;
  exec_channel_endpoints_t ends; /* result: ends of all ranks */
} endpoint_search_t;

/* Owner: results live in `arena`. */
void exec_endpoints_init(endpoint_search_t *search, hr_arena_t *arena, const plan_t *plan);
void exec_endpoints_deinit(endpoint_search_t *search);
/* Finds the ends. Collective with `mpmd`. Errors: UNSUPPORTED for data of dynamic sizes; NO_MEMORY;
 * failures of the exchange. */
hr_status_t exec_endpoints_find(endpoint_search_t *search, exec_comm_t *comm, bool mpmd);
/* True if this rank runs the instruction, in a program placed on devices. */
bool exec_endpoints_run_on(const endpoint_search_t *search, const hlo_instr_t *instr, int rank);

#endif
