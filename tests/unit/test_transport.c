/* Endpoints in one process: messages, their failures, and which launcher a process finds itself
 * under. Each end is driven by hand, but for the test with a thread. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tests/lib/unit.h"
#include "transport/core/transport.h"

/* Polls until the message is done; the backoff lets other threads run. */
static hr_status_t wait_for(tp_endpoint_t *endpoint, tp_message_t *message) {
  bool done = false;
  for (uint32_t polls = 0;; polls++) {
    HR_TRY(endpoint->vtable->test(endpoint, message, &done));
    if (done) return NULL;
    endpoint->vtable->backoff(endpoint, polls);
  }
}

static void send_now(tp_endpoint_t *from, int to, uint32_t tag, const char *text,
                     tp_message_t **out_message) {
  CHECK_OK(from->vtable->send(from, to, tag, text, strlen(text), out_message));
}

/* Messages of one tag arrive in the order in which they are sent; another tag may be received in
 * between. */
static void same_tag_keeps_order(void) {
  tp_endpoint_t *ends[2];
  CHECK_OK(tp_self_open(2, ends));
  tp_message_t *sends[3], *recvs[3];
  char got[3][4] = {"", "", ""};
  send_now(ends[0], 1, 5, "one", &sends[0]);
  send_now(ends[0], 1, 6, "two", &sends[1]);
  send_now(ends[0], 1, 5, "six", &sends[2]);
  static const uint32_t tags[] = {5, 6, 5};
  for (int i = 0; i < 3; i++)
    CHECK_OK(ends[1]->vtable->recv(ends[1], 0, tags[i], got[i], 3, &recvs[i]));
  for (int i = 0; i < 3; i++) {
    CHECK_OK(wait_for(ends[1], recvs[i]));
    CHECK_OK(wait_for(ends[0], sends[i]));
  }
  CU_ASSERT_STRING_EQUAL(got[0], "one");
  CU_ASSERT_STRING_EQUAL(got[1], "two");
  CU_ASSERT_STRING_EQUAL(got[2], "six");
  tp_close(ends[0], false, 0);
  tp_close(ends[1], false, 0);
}

/* A world of one process: the receive comes before the send. */
static void sends_to_itself(void) {
  tp_endpoint_t *end;
  CHECK_OK(tp_single_open(&end));
  tp_message_t *send, *recv;
  char got[4] = "";
  CHECK_OK(end->vtable->recv(end, 0, 1, got, 3, &recv));
  send_now(end, 0, 1, "abc", &send);
  CHECK_OK(wait_for(end, recv));
  CHECK_OK(wait_for(end, send));
  CU_ASSERT_STRING_EQUAL(got, "abc");
  tp_close(end, false, 0);
}

/* Both sides are told when a message is shorter than the receive. */
static void sizes_must_agree(void) {
  tp_endpoint_t *ends[2];
  CHECK_OK(tp_self_open(2, ends));
  tp_message_t *send, *recv;
  char got[8];
  send_now(ends[0], 1, 1, "abc", &send);
  CHECK_OK(ends[1]->vtable->recv(ends[1], 0, 1, got, 4, &recv));
  CHECK_FAILS(HR_DISAGREE, wait_for(ends[0], send));
  CHECK_FAILS(HR_DISAGREE, wait_for(ends[1], recv));
  tp_close(ends[0], false, 0);
  tp_close(ends[1], false, 0);
}

/* The message goes to the second receive, and the buffer of the cancelled one stays as it was. */
static void cancelled_receive_is_gone(void) {
  size_t live = hr_mem_live_blocks();
  tp_endpoint_t *ends[2];
  CHECK_OK(tp_self_open(2, ends));
  tp_message_t *send, *recv;
  char first[4] = "", second[4] = "";
  CHECK_OK(ends[1]->vtable->recv(ends[1], 0, 1, first, 3, &recv));
  ends[1]->vtable->cancel(ends[1], recv);
  CHECK_OK(ends[1]->vtable->recv(ends[1], 0, 1, second, 3, &recv));
  send_now(ends[0], 1, 1, "abc", &send);
  CHECK_OK(wait_for(ends[0], send));
  CHECK_OK(wait_for(ends[1], recv));
  CU_ASSERT_STRING_EQUAL(first, "");
  CU_ASSERT_STRING_EQUAL(second, "abc");
  tp_close(ends[0], false, 0);
  tp_close(ends[1], false, 0);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

/* A process that fails ends the wait of another for a third one, which is well. */
static void failing_peer_ends_waits(void) {
  tp_endpoint_t *ends[3];
  CHECK_OK(tp_self_open(3, ends));
  tp_message_t *recv;
  char got[4];
  CHECK_OK(ends[0]->vtable->recv(ends[0], 1, 1, got, 4, &recv));
  tp_close(ends[2], true, 0);
  CHECK_FAILS(HR_CANCELLED, wait_for(ends[0], recv));
  tp_close(ends[0], false, 0);
  tp_close(ends[1], false, 0);
}

/* A process that has ended without failure will never send: the wait for it ends. */
static void peer_that_left_is_reported(void) {
  tp_endpoint_t *ends[2];
  CHECK_OK(tp_self_open(2, ends));
  tp_message_t *recv;
  char got[4];
  CHECK_OK(ends[0]->vtable->recv(ends[0], 1, 1, got, 4, &recv));
  tp_close(ends[1], false, 0);
  CHECK_FAILS(HR_UNAVAILABLE, wait_for(ends[0], recv));
  tp_close(ends[0], false, 0);
}

/* The peer of the next test: sends back what it receives. */
static void *answer(void *argument) {
  tp_endpoint_t *end = argument;
  tp_message_t *message;
  char got[4] = "";
  CHECK_OK(end->vtable->recv(end, 0, 1, got, 3, &message));
  CHECK_OK(wait_for(end, message));
  send_now(end, 0, 2, got, &message);
  CHECK_OK(wait_for(end, message));
  return NULL;
}

static void threads_answer(void) {
  tp_endpoint_t *ends[2];
  CHECK_OK(tp_self_open(2, ends));
  pthread_t thread;
  CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, answer, ends[1]), 0);
  tp_message_t *send, *recv;
  char got[4] = "";
  CHECK_OK(ends[0]->vtable->recv(ends[0], 1, 2, got, 3, &recv));
  send_now(ends[0], 1, 1, "xyz", &send);
  CHECK_OK(wait_for(ends[0], recv));
  CHECK_OK(wait_for(ends[0], send));
  CU_ASSERT_STRING_EQUAL(got, "xyz");
  pthread_join(thread, NULL);
  tp_close(ends[0], false, 0);
  tp_close(ends[1], false, 0);
}

/* All variables that the search for a launcher reads; they are unset at the begin and the end. */
static const char *const launcher_variables[] = {"OMPI_COMM_WORLD_SIZE",
                                                 "OMPI_COMM_WORLD_RANK",
                                                 "PMI_SIZE",
                                                 "PMI_RANK",
                                                 "PMIX_RANK",
                                                 "SLURM_STEP_ID",
                                                 "SLURM_NTASKS",
                                                 "SLURM_STEP_NUM_TASKS",
                                                 "SLURM_PROCID"};

/* The variables are added from the least to the most trusted: each group wins over those before. */
static void launcher_is_recognised(void) {
  for (size_t i = 0; i < sizeof launcher_variables / sizeof *launcher_variables; i++)
    unsetenv(launcher_variables[i]);
  CU_ASSERT_EQUAL(tp_launcher_world_size(), 0);
  setenv("SLURM_NTASKS", "4", 1);
  setenv("SLURM_PROCID", "0", 1);
  CU_ASSERT_EQUAL(tp_launcher_world_size(), 0); /* a batch script, not srun */
  setenv("SLURM_STEP_ID", "0", 1);
  setenv("PMIX_RANK", "0", 1);
  CU_ASSERT_EQUAL(tp_launcher_world_size(), 4);
  setenv("PMI_SIZE", "6", 1);
  setenv("PMI_RANK", "5", 1);
  CU_ASSERT_EQUAL(tp_launcher_world_size(), 6);
  CU_ASSERT_EQUAL(tp_launcher_rank(), 5);
  setenv("OMPI_COMM_WORLD_SIZE", "8", 1);
  setenv("OMPI_COMM_WORLD_RANK", "eight", 1);
  CU_ASSERT_EQUAL(tp_launcher_world_size(), 6); /* not a number: not believed */
  setenv("OMPI_COMM_WORLD_RANK", "3", 1);
  CU_ASSERT_EQUAL(tp_launcher_world_size(), 8);
  CU_ASSERT_EQUAL(tp_launcher_rank(), 3);
  for (size_t i = 0; i < sizeof launcher_variables / sizeof *launcher_variables; i++)
    unsetenv(launcher_variables[i]);
}

CU_TestInfo suite_transport[] = {{"same tag keeps order", same_tag_keeps_order},
                                 {"sends to itself", sends_to_itself},
                                 {"sizes must agree", sizes_must_agree},
                                 {"cancelled receive is gone", cancelled_receive_is_gone},
                                 {"failing peer ends waits", failing_peer_ends_waits},
                                 {"peer that left is reported", peer_that_left_is_reported},
                                 {"threads answer", threads_answer},
                                 {"launcher is recognised", launcher_is_recognised},
                                 CU_TEST_INFO_NULL};
