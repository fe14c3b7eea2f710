#include "exec/wait_graph.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "transport/request.h"

#define HEAR_S 1.0 /* how long rank 0 listens to the others, and they try to tell */

/* What a process says of itself. */
typedef struct waiting {
  int32_t is_known, peer; /* peer -1: its group, or somebody */
  char text[248];
} waiting_t;

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* "a.hlo:6:3" out of a failure made here. */
static void find_place(hr_status_t status, char *into, size_t size) {
  char *report = hr_status_format(status), *end = report ? strstr(report, ": error") : NULL;
  snprintf(into, size, "%.*s", end ? (int)(end - report) : 0, report ? report : "");
  free(report);
}

static void describe(const exec_comm_t *comm, hr_status_t status, waiting_t *mine) {
  char place[128];
  find_place(status, place, sizeof place);
  mine->is_known = true;
  mine->peer = comm->waits_for;
  if (comm->waits_in)
    snprintf(mine->text, sizeof mine->text, "for rank %d to %s on channel %ld (%s)", comm->waits_for,
             comm->waits_in->op == HLO_SEND ? "receive" : "send",
             (long)hlo_attr_int(comm->waits_in, HLO_ATTR_CHANNEL_ID), place);
  else
    snprintf(mine->text, sizeof mine->text, "for the others%s%s", *place ? " at " : ", outside of its program", place);
}

/* --- telling --- */

/* Moves messages on until all are done or the time is over. */
static void move_messages(tp_endpoint_t *endpoint, tp_message_t **messages, int count) {
  double start = now_s();
  int left = count;
  for (uint32_t polls = 0; left && now_s() - start < HEAR_S; polls++) {
    left = 0;
    for (int i = 0; i < count; i++) {
      bool done = false;
      if (!messages[i]) continue;
      hr_status_t st = endpoint->vtable->test(endpoint, messages[i], &done);
      if (st || done) messages[i] = NULL;
      hr_status_release(st);
      left += messages[i] != NULL;
    }
    if (left) endpoint->vtable->rest(endpoint, polls);
  }
  for (int i = 0; i < count; i++)
    if (messages[i]) endpoint->vtable->cancel(endpoint, messages[i]);
}

static void tell_first(tp_endpoint_t *endpoint, const waiting_t *mine) {
  tp_message_t *message = NULL;
  hr_status_t st = endpoint->vtable->send_meeting(endpoint, 0, TP_TAG_REPORT, mine, sizeof *mine, &message);
  if (!st) move_messages(endpoint, &message, 1);
  hr_status_release(st);
}

static void hear_others(tp_endpoint_t *endpoint, waiting_t *all, tp_message_t **messages) {
  for (int r = 1; r < endpoint->world_size; r++)
    hr_status_release(endpoint->vtable->recv(endpoint, r, TP_TAG_REPORT, &all[r], sizeof *all, &messages[r]));
  move_messages(endpoint, messages, endpoint->world_size);
}

/* --- the report --- */

/* A rank that is on a cycle of waiting, or -1. */
static int find_cycle(const waiting_t *all, int world) {
  for (int start = 0; start < world; start++) {
    int at = start, steps = 0;
    do at = all[at].is_known && all[at].peer < world ? all[at].peer : -1;
    while (at >= 0 && at != start && ++steps <= world);
    if (at == start) return start;
  }
  return -1;
}

static hr_status_t note_rank(hr_status_t st, const waiting_t *all, int rank) {
  if (!all[rank].is_known)
    return hr_status_note(st, "rank %d has not said what it waits for: it computes, or is gone", rank);
  return hr_status_note(st, "rank %d waits %s", rank, all[rank].text);
}

static hr_status_t report(hr_status_t st, const waiting_t *all, bool *in_cycle, int world) {
  int first = find_cycle(all, world), count = 0;
  if (first >= 0) {
    st = hr_status_note(st, "a cycle of waiting:");
    int at = first;
    do {
      in_cycle[at] = true;
      st = note_rank(st, all, at);
      at = all[at].peer;
      count++;
    } while (at != first);
    if (count < world) st = hr_status_note(st, "and the others:");
  }
  for (int r = 0; r < world; r++)
    if (!in_cycle[r]) st = note_rank(st, all, r);
  return st;
}

hr_status_t exec_wait_give_up(exec_comm_t *comm, double waited_s) {
  tp_endpoint_t *endpoint = comm->groups->endpoint;
  int world = endpoint->world_size;
  hr_arena_t arena;
  waiting_t mine = {0}, *all;
  tp_message_t **messages;
  bool *in_cycle;
  hr_status_t st = hr_error(HR_DEADLINE, "rank %d waited %.3g s for its peers", endpoint->rank, waited_s);
  describe(comm, st, &mine);
  if (comm->gave_up) return st;
  comm->gave_up = true;
  if (endpoint->rank) {
    tell_first(endpoint, &mine);
    return st;
  }
  hr_arena_init(&arena);
  hr_status_t no_memory = HR_NEW_ARRAY(&arena, world, &all);
  if (!no_memory) no_memory = HR_NEW_ARRAY(&arena, world, &messages);
  if (!no_memory) no_memory = HR_NEW_ARRAY(&arena, world, &in_cycle);
  if (!no_memory) {
    all[0] = mine;
    hear_others(endpoint, all, messages);
    st = report(st, all, in_cycle, world);
  }
  hr_arena_deinit(&arena);
  return hr_status_join(st, no_memory);
}

void exec_wait_describe(const exec_comm_t *comm, const hlo_instr_t *current, char *into, size_t size) {
  const hlo_instr_t *waits_in = comm->waits_in;
  if (!current) {
    snprintf(into, size, "is outside of its program");
    return;
  }
  int used = snprintf(into, size, "%s %%%.*s (%s)", comm->waits ? "waits in" : "is at", HR_STR_ARGS(current->name),
                      hlo_op_name(current->op));
  if (waits_in && used > 0 && (size_t)used < size)
    snprintf(into + used, size - (size_t)used, ", for rank %d to %s on channel %ld", comm->waits_for,
             waits_in->op == HLO_SEND ? "receive" : "send", (long)hlo_attr_int(waits_in, HLO_ATTR_CHANNEL_ID));
}
