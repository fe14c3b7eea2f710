/* The watchdog of clients: which waits count against the time limit. */
#include <pthread.h>
#include <unistd.h>

#include "hlorun.h"
#include "tests/lib/unit.h"

enum { LATE_US = 200000, PAUSE_US = 1300000, ROUNDS = 2 };

/* One of two ranks that meet in barriers with a pause between them, longer than the gap between two
 * polls from which on a waiting process counts as stopped. */
typedef struct meeting {
  hlorun_client_t *client;
  useconds_t late_us; /* how much later than its peer it comes to the first barrier */
  bool failed;
} meeting_t;

static void *meet(void *context) {
  meeting_t *meeting = context;
  usleep(meeting->late_us);
  for (int round = 0; round < ROUNDS && !meeting->failed; round++) {
    if (round) usleep(PAUSE_US + meeting->late_us);
    hlorun_status_t st = hlorun_client_barrier(meeting->client);
    meeting->failed = st != NULL;
    hlorun_status_release(st);
  }
  return NULL;
}

/* Time between two waits of different calls is not a wait: the limit of 30 s is never reached. */
static void test_pause_between_waits(void) {
  hlorun_client_options_t options;
  hlorun_client_options_init(&options);
  options.timeout_s = 30;
  hlorun_client_t *clients[2];
  CHECK_OK(hlorun_clients_create_local(&options, 2, clients));
  meeting_t early = {clients[0], 0, false}, late = {clients[1], LATE_US, false};
  pthread_t thread;
  pthread_create(&thread, NULL, meet, &late);
  meet(&early);
  CU_ASSERT_FALSE(early.failed);
  if (early.failed) hlorun_client_cancel(late.client, "its peer failed");
  pthread_join(thread, NULL);
  CU_ASSERT_FALSE(late.failed);
  for (int i = 0; i < 2; i++) hlorun_client_release(clients[i], 0);
}

CU_TestInfo suite_watchdog[] = {
    {"a pause between two waits is no wait", test_pause_between_waits},
    CU_TEST_INFO_NULL,
};
