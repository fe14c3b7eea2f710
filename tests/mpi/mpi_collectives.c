/* Every collective algorithm over MPI, and channels, on as many ranks as mpirun starts. The
 * argument selects the test:
 *
 *   none             the checks of collective_checks.c and channel_checks.c
 *   parts            these checks in parts of the world
 *   fail             rank 1 fails while the others wait for it; the job ends with exit code 5
 *   die              rank 1 is killed while the others wait for its part of an all-gather
 *   send-to-dead     rank 1 is killed while the others send a message to it
 *   recv-from-dead   rank 1 is killed while the others wait for a message from it
 *   message          rank 1 receives fewer bytes than rank 0 sends; both report that
 *   sizes            rank 1 reduces fewer elements than the others; all report that
 *   sleep            rank 1 never arrives; the others stop waiting, with exit code 6 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/mpi/channel_checks.h"
#include "tests/mpi/collective_checks.h"
#include "transport/core/subset.h"
#include "transport/core/tp_channel.h"

#define TIMED_OUT 6

static hr_status_t wait_for_rank_that_fails(tp_groups_t *groups) {
  if (groups->endpoint->rank == 1)
    return hr_error(HR_UNAVAILABLE, "rank 1 gives up, as this test wants it to");
  tp_request_t *request;
  HR_TRY(tp_barrier(groups->world, &request));
  return tp_request_wait(request);
}

static hr_status_t wait_for_rank_that_dies(tp_groups_t *groups) {
  tp_request_t *request;
  char *all, byte = 0;
  HR_TRY(tp_barrier(groups->world, &request));
  HR_TRY(tp_request_wait(request));
  if (groups->endpoint->rank == 1) raise(SIGKILL);
  HR_TRY(HR_NEW_ARRAY(&groups->arena, groups->endpoint->world_size, &all));
  HR_TRY(tp_all_gather(groups->world, &byte, 1, all, &request));
  return tp_request_wait(request);
}

static hr_status_t meet_rank_that_dies(tp_groups_t *groups, bool sends) {
  static char bytes[100000];
  hr_block_t block = {bytes, sizeof bytes};
  tp_request_t *request;
  HR_TRY(tp_barrier(groups->world, &request));
  HR_TRY(tp_request_wait(request));
  if (groups->endpoint->rank == 1) raise(SIGKILL);
  HR_TRY((sends ? tp_channel_send : tp_channel_recv)(groups, 1, 3, &block, 1, &request));
  return tp_request_wait(request);
}

static hr_status_t send_other_size(tp_groups_t *groups) {
  char bytes[100];
  int rank = groups->endpoint->rank;
  hr_block_t block = {bytes, rank == 1 ? 50 : 100};
  tp_request_t *request = NULL;
  while (rank > 1) sleep(1);
  HR_TRY((rank ? tp_channel_recv : tp_channel_send)(groups, 1 - rank, 3, &block, 1, &request));
  hr_status_t st = tp_request_wait(request);
  sleep(1);
  return st;
}

static hr_status_t add_nothing(void *context, void *acc, const void *in, int64_t count) {
  (void)context, (void)acc, (void)in, (void)count;
  return NULL;
}

/* Everybody stays until all have found out. */
static hr_status_t reduce_other_sizes(tp_groups_t *groups) {
  static char bytes[100000];
  hr_reducer_t reducer = {.reduce = add_nothing, .element_bytes = 1};
  tp_request_t *request;
  int64_t count = groups->endpoint->rank == 1 ? 50000 : 100000;
  HR_TRY(tp_all_reduce(groups->world, bytes, bytes, count, &reducer, &request));
  hr_status_t st = tp_request_wait(request);
  sleep(1);
  return st;
}

static hr_status_t impatient(void *context) {
  return ++*(int *)context > 200
             ? hr_error(HR_DEADLINE, "waited long enough, as this test wants it to")
             : NULL;
}

static hr_status_t wait_for_rank_that_sleeps(tp_groups_t *groups) {
  static int polls;
  tp_request_t *request;
  while (groups->endpoint->rank == 1) sleep(1);
  groups->endpoint->interrupted = impatient;
  groups->endpoint->interrupted_context = &polls;
  HR_TRY(tp_barrier(groups->world, &request));
  return tp_request_wait(request);
}

/* --- parts of the world --- */

typedef struct part_check {
  tp_endpoint_t *whole;
  int count, self;
  const tp_member_t *members;
  pthread_t thread;
  hr_status_t status;
} part_check_t;

static void *check_part(void *context) {
  part_check_t *part = context;
  tp_endpoint_t *endpoint;
  tp_groups_t *groups;
  part->status = tp_subset_open(part->whole, part->count, part->members, part->self, &endpoint);
  if (part->status) return NULL;
  part->status = tp_groups_of(endpoint, &groups);
  if (!part->status) part->status = check_collectives(groups);
  if (!part->status) part->status = check_channels(groups);
  tp_close(endpoint, part->status != NULL, 1);
  return NULL;
}

/* Checks the part as each member that is of this process, in a thread each. */
static hr_status_t check_members(tp_endpoint_t *whole, int count, const tp_member_t *members) {
  part_check_t parts[2];
  int own = 0;
  hr_status_t st = NULL;
  for (int k = 0; k < count; k++)
    if (members[k].rank == whole->rank)
      parts[own++] = (part_check_t){.whole = whole, .count = count, .self = k, .members = members};
  for (int k = 0; k < own; k++) pthread_create(&parts[k].thread, NULL, check_part, &parts[k]);
  for (int k = 0; k < own; k++) {
    pthread_join(parts[k].thread, NULL);
    st = hr_status_join(st, parts[k].status);
  }
  return st;
}

/* All but the first in the inverse order, and two threads of each. */
static hr_status_t check_parts(tp_endpoint_t *whole) {
  int world = whole->world_size;
  tp_member_t members[2 * world];
  for (int k = 1; k < world; k++) members[k - 1] = (tp_member_t){world - k, 0};
  HR_TRY(check_members(whole, world - 1, members));
  for (int k = 0; k < 2 * world; k++) members[k] = (tp_member_t){k % world, k / world};
  return check_members(whole, 2 * world, members);
}

static hr_status_t run(tp_endpoint_t *endpoint, const char *what) {
  tp_groups_t *groups;
  HR_TRY(tp_groups_of(endpoint, &groups));
  if (!strcmp(what, "parts")) return check_parts(endpoint);
  if (!strcmp(what, "fail")) return wait_for_rank_that_fails(groups);
  if (!strcmp(what, "die")) return wait_for_rank_that_dies(groups);
  if (!strcmp(what, "send-to-dead")) return meet_rank_that_dies(groups, true);
  if (!strcmp(what, "recv-from-dead")) return meet_rank_that_dies(groups, false);
  if (!strcmp(what, "message")) return send_other_size(groups);
  if (!strcmp(what, "sizes")) return reduce_other_sizes(groups);
  if (!strcmp(what, "sleep")) return wait_for_rank_that_sleeps(groups);
  HR_TRY(check_collectives(groups));
  return check_channels(groups);
}

int main(int argc, char **argv) {
  tp_endpoint_t *endpoint = NULL;
  hr_status_t st = tp_mpi_open(&endpoint);
  if (!st) st = run(endpoint, argc > 1 ? argv[1] : "");
  int code = hr_status_exit_code(st);
  if (st) hr_status_print(stderr, st);
  hr_status_release(st);
  tp_close(endpoint, code != 0 && code != TIMED_OUT,
           code); /* sleep: an orderly end of one out of step */
  if (!code && hr_mem_live_blocks()) {
    fprintf(stderr, "%zu blocks of memory leaked\n", hr_mem_live_blocks());
    code = 1;
  }
  return code;
}
