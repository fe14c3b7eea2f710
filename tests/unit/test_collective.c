/* The checks of tests/mpi on threads of one process, for worlds of even, odd and prime sizes. */
#include <pthread.h>

#include "base/mem.h"
#include "tests/lib/unit.h"
#include "tests/mpi/channel_checks.h"
#include "tests/mpi/collective_checks.h"

typedef struct rank_thread {
  pthread_t thread;
  tp_endpoint_t *endpoint;
  hr_status_t status;
} rank_thread_t;

/* A process that fails closes its endpoint with the failure, which ends the waits of the others. */
static void *run_rank(void *argument) {
  rank_thread_t *rank = argument;
  tp_groups_t *groups;
  rank->status = tp_groups_of(rank->endpoint, &groups);
  if (!rank->status) rank->status = check_collectives(groups);
  if (!rank->status) rank->status = check_channels(groups);
  tp_close(rank->endpoint, rank->status != NULL, hr_status_exit_code(rank->status));
  return NULL;
}

static void check_world(int size) {
  size_t live = hr_mem_live_blocks();
  tp_endpoint_t *endpoints[8];
  rank_thread_t ranks[8];
  CHECK_OK(tp_self_open(size, endpoints));
  for (int r = 0; r < size; r++) {
    ranks[r].endpoint = endpoints[r];
    CU_ASSERT_EQUAL_FATAL(pthread_create(&ranks[r].thread, NULL, run_rank, &ranks[r]), 0);
  }
  for (int r = 0; r < size; r++) {
    pthread_join(ranks[r].thread, NULL);
    CHECK_OK(ranks[r].status);
  }
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

static void one_rank(void) { check_world(1); }
static void few_ranks(void) {
  for (int size = 2; size <= 5; size++) check_world(size);
}
static void many_ranks(void) {
  check_world(7);
  check_world(8);
}

CU_TestInfo suite_collective[] = {{"one rank", one_rank},
                                  {"two to five ranks", few_ranks},
                                  {"seven and eight ranks", many_ranks},
                                  CU_TEST_INFO_NULL};
