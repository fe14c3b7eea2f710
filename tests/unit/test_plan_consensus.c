/* Agreement of processes on their plans: equal lists of lines pass, else all are told the lines
 * that differ. Processes are threads of this one. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "comm/peers/plan_consensus.h"
#include "tests/lib/unit.h"

#define RANKS 3

/* One process, its plan, and what it was told. */
typedef struct rank_run {
  pthread_t thread;
  tp_endpoint_t *endpoint;
  const char *title;
  const char *const *texts;
  int count;
  hr_status_t status;
} rank_run_t;

static void *run_rank(void *context) {
  rank_run_t *run = context;
  exec_comm_t comm;
  run->status = exec_comm_init(&comm, run->endpoint);
  if (!run->status) {
    run->status = plan_consensus(&comm, run->title, run->texts, run->count);
    exec_comm_deinit(&comm);
  }
  tp_close(run->endpoint, false, 0);
  return NULL;
}

/* Every rank gets the same answer: `code`, and in its message and notes `part`. */
static void check_agreement(const char *const *texts[RANKS], const int counts[RANKS],
                            hr_code_t code, const char *part) {
  size_t live = hr_mem_live_blocks();
  tp_endpoint_t *endpoints[RANKS];
  rank_run_t runs[RANKS];
  CHECK_OK(tp_self_open(RANKS, endpoints));
  for (int r = 0; r < RANKS; r++) {
    runs[r] = (rank_run_t){.endpoint = endpoints[r],
                           .title = r ? "" : "jit_f (train.py:3)",
                           .texts = texts[r],
                           .count = counts[r]};
    CU_ASSERT_EQUAL_FATAL(pthread_create(&runs[r].thread, NULL, run_rank, &runs[r]), 0);
  }
  for (int r = 0; r < RANKS; r++) {
    pthread_join(runs[r].thread, NULL);
    char *report = hr_status_format(runs[r].status);
    CU_ASSERT_EQUAL(hr_status_code(runs[r].status), code);
    CU_ASSERT_PTR_NOT_NULL(strstr(report, part));
    free(report);
    hr_status_release(runs[r].status);
  }
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

static const char *const plan[] = {"all-reduce a", "all-gather b", "all-to-all c"};
static const char *const other[] = {"all-reduce a", "all-gather z", "all-to-all c"};

static void equal_plans(void) {
  check_agreement((const char *const *[]){plan, plan, plan}, (int[]){3, 3, 3}, HR_OK, "");
  check_agreement((const char *const *[]){plan, plan, plan}, (int[]){0, 0, 0}, HR_OK, "");
}

/* The report has the line of the process that differs, be it the last or the first. */
static void different_lines(void) {
  check_agreement((const char *const *[]){plan, plan, other}, (int[]){3, 3, 3}, HR_DISAGREE,
                  "rank 2: all-gather z");
  check_agreement((const char *const *[]){other, plan, plan}, (int[]){3, 3, 3}, HR_DISAGREE,
                  "rank 0: jit_f (train.py:3): all-gather z");
}

/* A plan that is shorter differs at its end. */
static void different_counts(void) {
  check_agreement((const char *const *[]){plan, plan, plan}, (int[]){3, 2, 3}, HR_DISAGREE,
                  "rank 1: (end of program)");
  check_agreement((const char *const *[]){plan, plan, plan}, (int[]){0, 0, 1}, HR_DISAGREE,
                  "rank 2: all-reduce a");
}

CU_TestInfo suite_plan_consensus[] = {{"equal plans", equal_plans},
                                      {"different lines", different_lines},
                                      {"different counts", different_counts},
                                      CU_TEST_INFO_NULL};
