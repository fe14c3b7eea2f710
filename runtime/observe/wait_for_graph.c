/* The report who waits for whom: a wait-for graph of one edge per rank (single-resource model),
 * gathered by rank 0 on request or when some rank times out.
 *
 *   any rank -> 0   NOTE_QUERY      a signal asks for the report
 *   any rank -> 0   NOTE_TIMED_OUT    this rank has timed out
 *   0 -> all        NOTE_QUESTION   numbered
 *   all -> 0        NOTE_ANSWER     text, awaited rank, host
 *
 * Rank 0 prints after COLLECT_S, or when all have answered: first a cycle of the graph, if there is
 * one, then the other ranks. A rank that computes outside of loops does not answer. A rank that
 * timed out stays for LINGER_S, so that its exit does not abort the job before the report.
 *
 * Cost: one probe every POLL_S while waiting; polls back off to at most 1/POLL_BACKOFF of the time.
 */
#include "observe/wait_for_graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "observe/progress_counter.h"
#include "transport/core/progress.h"
#include "transport/core/request.h"

#define COLLECT_S 1.0           /* seconds that rank 0 collects answers */
#define QUESTION_WAIT_S 0.4     /* seconds that a rank that timed out waits for a question */
#define LINGER_S 1.6            /* seconds that it keeps answering before it exits */
#define POLL_S 0.02             /* seconds between polls for messages */
#define POLL_COLLECTING_S 0.002 /* the same while rank 0 collects */
/* Minimum ratio of pause to cost of a poll: with more processes than processors a probe may yield.
 */
#define POLL_BACKOFF 4
#define CLOCK_POLLS 64 /* calls between reads of the clock */
#define HOST_SIZE 64

typedef enum note_kind { NOTE_QUERY = 1, NOTE_TIMED_OUT, NOTE_QUESTION, NOTE_ANSWER } note_kind_t;

/* Message of the protocol: rank 0 sends questions, the other ranks everything else. */
typedef struct note {
  uint32_t kind, number; /* kind, and number of the question */
  int32_t peer;          /* rank that the sender waits for; -1: a group, or none */
  float waited_s;
  uint32_t in_loop; /* the sender iterates in a loop and waits for no rank */
  char host[HOST_SIZE];
  char text[320]; /* "waits for ..." */
} graph_msg_t;

typedef struct exec_graph {
  exec_comm_t *comm;
  unsigned polls;
  double next_poll_s;
  graph_msg_t mine;
  tp_message_t *sending;    /* send of `mine` to rank 0; NULL: completed */
  bool timed_out, answered; /* this rank timed out; it answered rank 0 at least once */
  double timed_out_s;       /* other ranks: time of the time-out */
  /* Rank 0 only, by rank. */
  graph_msg_t *all; /* last message; kind 0: no answer yet */
  tp_message_t **questions;
  bool *in_cycle;
  graph_msg_t question;
  bool is_collecting;
  double queried_s, reported_s;
  int late_rank; /* first rank that timed out; -1: none */
} exec_graph_t;

static tp_endpoint_t *endpoint_of(const exec_graph_t *graph) {
  return graph->comm->groups->endpoint;
}

/* --- state of this process --- */

/* "a.hlo:6:3": the location that a status created here would carry. */
static void find_location(char *into, size_t size) {
  hr_status_t here = hr_error(HR_DEADLINE, "here");
  char *report = hr_status_format(here);
  const char *end = report ? strstr(report, ": error") : NULL;
  if (size) into[0] = '\0';
  if (end) snprintf(into, size, "%.*s", (int)(end - report), report);
  free(report);
  hr_status_release(here);
}

static void describe(const exec_comm_t *comm, graph_msg_t *mine) {
  char location[112];
  mine->peer = comm->awaited_rank;
  snprintf(mine->host, sizeof mine->host, "%s", comm->groups->endpoint->host);
  mine->in_loop =
      !comm->is_waiting && exec_progress_describe(comm->progress, mine->text, sizeof mine->text);
  if (mine->in_loop) return;
  find_location(location, sizeof location);
  if (comm->awaited_instr)
    snprintf(mine->text, sizeof mine->text, "waits for rank %d to %s on channel %ld (%s)",
             comm->awaited_rank, comm->awaited_instr->op == HLO_SEND ? "receive" : "send",
             (long)hlo_attr_int(comm->awaited_instr, HLO_ATTR_CHANNEL_ID), location);
  else
    snprintf(mine->text, sizeof mine->text, "waits for the others%s%s",
             *location ? " at " : ", outside of its program", location);
}

/* --- messages --- */

static hr_status_t test_message(tp_endpoint_t *endpoint, tp_message_t **message) {
  bool done = false;
  if (!*message) return NULL;
  hr_status_t st = endpoint->vtable->test(endpoint, *message, &done);
  if (st || done) *message = NULL;
  return st;
}

/* Receives a message from `from` if one has arrived. */
static hr_status_t receive_note(exec_graph_t *graph, int from, graph_msg_t *out_note,
                                bool *out_arrived) {
  tp_endpoint_t *endpoint = endpoint_of(graph);
  tp_message_t *message;
  HR_TRY(endpoint->vtable->probe(endpoint, from, TP_TAG_REPORT, out_arrived));
  if (!*out_arrived) return NULL;
  HR_TRY(
      endpoint->vtable->recv(endpoint, from, TP_TAG_REPORT, out_note, sizeof *out_note, &message));
  for (uint32_t polls = 0; message; polls++) {
    HR_TRY(test_message(endpoint, &message));
    if (message) endpoint->vtable->backoff(endpoint, polls);
  }
  return NULL;
}

/* Sends a message to rank 0, unless the previous one is still in flight. */
static hr_status_t send_to_first(exec_graph_t *graph, note_kind_t kind, uint32_t number,
                                 double waited_s) {
  tp_endpoint_t *endpoint = endpoint_of(graph);
  HR_TRY(test_message(endpoint, &graph->sending));
  if (graph->sending) return NULL;
  graph->mine = (graph_msg_t){.kind = kind, .number = number, .waited_s = (float)waited_s};
  describe(graph->comm, &graph->mine);
  return endpoint->vtable->send(endpoint, 0, TP_TAG_REPORT, &graph->mine, sizeof graph->mine,
                                &graph->sending);
}

static hr_status_t answer_first(exec_graph_t *graph) {
  graph_msg_t note;
  bool arrived;
  HR_TRY(test_message(endpoint_of(graph), &graph->sending));
  if (atomic_exchange(&graph->comm->wants_graph, false))
    HR_TRY(send_to_first(graph, NOTE_QUERY, 0, 0));
  HR_TRY(receive_note(graph, 0, &note, &arrived));
  if (!arrived) return NULL;
  graph->answered = true;
  return send_to_first(graph, NOTE_ANSWER, note.number, 0);
}

/* --- rank 0 asks --- */

static hr_status_t start_collecting(exec_graph_t *graph, double now) {
  tp_endpoint_t *endpoint = endpoint_of(graph);
  if (graph->is_collecting) return NULL;
  for (int r = 1; r < endpoint->world_size; r++)
    if (graph->questions[r])
      return NULL; /* one has not even gone out: everybody was asked a moment ago */
  graph->is_collecting = true;
  graph->queried_s = now;
  graph->question = (graph_msg_t){.kind = NOTE_QUESTION, .number = graph->question.number + 1};
  for (int r = 1; r < endpoint->world_size; r++) {
    graph->all[r].kind = 0;
    HR_TRY(endpoint->vtable->send(endpoint, r, TP_TAG_REPORT, &graph->question,
                                  sizeof graph->question, &graph->questions[r]));
  }
  return NULL;
}

/* A signal to mpirun reaches all ranks at once: their queries within COLLECT_S are one report. */
static hr_status_t handle_note(exec_graph_t *graph, int rank, const graph_msg_t *note, double now) {
  if (note->kind == NOTE_QUERY)
    return now - graph->reported_s > COLLECT_S ? start_collecting(graph, now) : NULL;
  if (note->kind == NOTE_ANSWER) {
    if (note->number == graph->question.number) graph->all[rank] = *note;
    return NULL;
  }
  if (graph->late_rank < 0) graph->late_rank = rank;
  HR_TRY(start_collecting(graph, now));
  graph->all[rank] = *note;
  return NULL;
}

static hr_status_t receive_notes(exec_graph_t *graph, double now) {
  graph_msg_t note;
  bool arrived;
  for (int r = 1; r < endpoint_of(graph)->world_size; r++) {
    HR_TRY(test_message(endpoint_of(graph), &graph->questions[r]));
    for (;;) {
      HR_TRY(receive_note(graph, r, &note, &arrived));
      if (!arrived) break;
      HR_TRY(handle_note(graph, r, &note, now));
    }
  }
  return NULL;
}

static bool is_complete(const exec_graph_t *graph, double now) {
  if (now - graph->queried_s > COLLECT_S) return true;
  for (int r = 1; r < endpoint_of(graph)->world_size; r++)
    if (!graph->all[r].kind) return false;
  return true;
}

/* --- the report --- */

/* A rank on a cycle of the graph, or -1. Each rank has one outgoing edge at most. */
static int find_cycle(const graph_msg_t *all, int world) {
  for (int start = 0; start < world; start++) {
    int at = start, steps = 0;
    do at = all[at].kind && all[at].peer < world ? all[at].peer : -1;
    while (at >= 0 && at != start && ++steps <= world);
    if (at == start) return start;
  }
  return -1;
}

static bool has_several_hosts(const graph_msg_t *all, int world) {
  for (int r = 1; r < world; r++)
    if (all[r].kind && strcmp(all[r].host, all[0].host) != 0) return true;
  return false;
}

static hr_status_t note_rank(hr_status_t st, const exec_graph_t *graph, int rank) {
  const graph_msg_t *note = &graph->all[rank];
  if (!note->kind)
    return hr_status_note(st, "rank %d has not answered: it computes or has exited", rank);
  bool several = has_several_hosts(graph->all, endpoint_of(graph)->world_size);
  return hr_status_note(st, "rank %d %s%s%s", rank, note->text, several ? ", on host " : "",
                        several ? note->host : "");
}

/* Adds the report to a failure as notes: the cycle first, then the other ranks. */
static hr_status_t report(hr_status_t st, exec_graph_t *graph) {
  const graph_msg_t *all = graph->all;
  int world = endpoint_of(graph)->world_size, first = find_cycle(all, world), count = 0;
  for (int r = 0; r < world; r++) graph->in_cycle[r] = false;
  if (first >= 0) {
    st = hr_status_note(st, "a cycle of waiting:");
    int at = first;
    do {
      graph->in_cycle[at] = true;
      st = note_rank(st, graph, at);
      at = all[at].peer;
      count++;
    } while (at != first);
    if (count < world) st = hr_status_note(st, "and the others:");
  }
  for (int r = 0; r < world; r++)
    if (!graph->in_cycle[r]) st = note_rank(st, graph, r);
  return st;
}

static hr_status_t timeout_error(int rank, const graph_msg_t *note, double waited_s) {
  if (note->in_loop)
    return hr_error(HR_DEADLINE, "rank %d spent %.3g s in one loop without communicating", rank,
                    waited_s);
  return hr_error(HR_DEADLINE, "rank %d waited %.3g s for its peers", rank, waited_s);
}

/* Errors: DEADLINE with the report if a rank timed out; otherwise the report is only printed. */
static hr_status_t finish_collecting(exec_graph_t *graph, double now) {
  graph->is_collecting = false;
  graph->reported_s = now;
  graph->all[0] = (graph_msg_t){.kind = NOTE_ANSWER};
  describe(graph->comm, &graph->all[0]);
  const graph_msg_t *late = &graph->all[graph->late_rank < 0 ? 0 : graph->late_rank];
  if (graph->late_rank >= 0)
    return report(timeout_error(graph->late_rank, late, (double)late->waited_s), graph);
  hr_status_t st = report(hr_error(HR_CANCELLED, "who waits for whom"), graph);
  hr_status_print_notes(stderr, st);
  hr_status_release(st);
  return NULL;
}

static hr_status_t query_others(exec_graph_t *graph, double now) {
  if (atomic_exchange(&graph->comm->wants_graph, false)) HR_TRY(start_collecting(graph, now));
  HR_TRY(receive_notes(graph, now));
  return graph->is_collecting && is_complete(graph, now) ? finish_collecting(graph, now) : NULL;
}

/* --- polling --- */

static void end_graph(exec_comm_t *comm);

static hr_status_t get_graph(exec_comm_t *comm, exec_graph_t **out_graph) {
  void *memory;
  *out_graph = comm->graph;
  if (comm->graph) return NULL;
  size_t world = (size_t)comm->groups->endpoint->world_size;
  size_t each = sizeof(graph_msg_t) + sizeof(tp_message_t *) + sizeof(bool);
  HR_TRY(hr_alloc_zeroed(sizeof(exec_graph_t) + world * each, &memory));
  exec_graph_t *graph = memory;
  graph->comm = comm;
  graph->questions = (tp_message_t **)(graph + 1);
  graph->all = (graph_msg_t *)(graph->questions + world);
  graph->in_cycle = (bool *)(graph->all + world);
  graph->late_rank = -1;
  comm->graph = graph;
  comm->end_graph = end_graph;
  *out_graph = graph;
  return NULL;
}

static hr_status_t poll_messages(exec_graph_t *graph, double now) {
  tp_groups_t *groups = graph->comm->groups;
  tp_progress_lock(groups);
  hr_status_t st = groups->endpoint->rank ? answer_first(graph) : query_others(graph, now);
  tp_progress_unlock(groups);
  double end = hr_clock_coarse_s(), pause = graph->is_collecting ? POLL_COLLECTING_S : POLL_S,
         rest = POLL_BACKOFF * (end - now);
  graph->next_poll_s = end + (rest > pause ? rest : pause);
  return st;
}

hr_status_t exec_wait_poll(exec_comm_t *comm, bool often) {
  exec_graph_t *graph;
  HR_TRY(get_graph(comm, &graph));
  if (graph->timed_out || (often && !graph->is_collecting && ++graph->polls % CLOCK_POLLS))
    return NULL;
  double now = hr_clock_coarse_s();
  return now < graph->next_poll_s ? NULL : poll_messages(graph, now);
}

/* --- giving up --- */

/* Rank 0 timed out: polls until the report is complete. */
static hr_status_t report_timeout(exec_graph_t *graph, double waited_s) {
  tp_endpoint_t *endpoint = endpoint_of(graph);
  graph->late_rank = 0;
  graph->is_collecting = false;
  hr_status_t st = start_collecting(graph, hr_clock_coarse_s());
  for (uint32_t polls = 0; !st && !is_complete(graph, hr_clock_coarse_s()); polls++) {
    st = receive_notes(graph, hr_clock_coarse_s());
    endpoint->vtable->backoff(endpoint, polls);
  }
  graph->all[0] = (graph_msg_t){.kind = NOTE_ANSWER};
  describe(graph->comm, &graph->all[0]);
  return hr_status_join(report(timeout_error(0, &graph->all[0], waited_s), graph), st);
}

/* Answers questions until time `until_s`, or with `once` until it has answered one. */
static hr_status_t answer_until(exec_graph_t *graph, double until_s, bool once) {
  tp_endpoint_t *endpoint = endpoint_of(graph);
  for (uint32_t polls = 0; hr_clock_coarse_s() < until_s && !(once && graph->answered); polls++) {
    HR_TRY(answer_first(graph));
    endpoint->vtable->backoff(endpoint, polls);
  }
  return NULL;
}

/* Another rank timed out: it tells rank 0 and waits for the question. */
static hr_status_t report_to_first(exec_graph_t *graph, double waited_s) {
  graph->timed_out_s = hr_clock_coarse_s();
  hr_status_t st = send_to_first(graph, NOTE_TIMED_OUT, 0, waited_s);
  if (!st) st = answer_until(graph, graph->timed_out_s + QUESTION_WAIT_S, true);
  return hr_status_join(timeout_error(endpoint_of(graph)->rank, &graph->mine, waited_s), st);
}

hr_status_t exec_wait_cancel(exec_comm_t *comm, double waited_s) {
  exec_graph_t *graph;
  HR_TRY(get_graph(comm, &graph));
  int rank = comm->groups->endpoint->rank;
  if (graph->timed_out) return timeout_error(rank, rank ? &graph->mine : &graph->all[0], waited_s);
  graph->timed_out = true;
  tp_progress_lock(comm->groups);
  hr_status_t st = rank ? report_to_first(graph, waited_s) : report_timeout(graph, waited_s);
  tp_progress_unlock(comm->groups);
  return st;
}

/* exec_comm_t.end_graph, called before the endpoint closes. A process that timed out goes on
 * answering until LINGER_S have passed: its exit may end the whole job. */
static void end_graph(exec_comm_t *comm) {
  exec_graph_t *graph = comm->graph;
  tp_endpoint_t *endpoint = endpoint_of(graph);
  tp_progress_lock(comm->groups);
  if (graph->timed_out_s > 0)
    hr_status_release(answer_until(graph, graph->timed_out_s + LINGER_S, false));
  for (int r = 0; r < endpoint->world_size; r++) {
    hr_status_release(test_message(endpoint, &graph->questions[r]));
    if (graph->questions[r]) endpoint->vtable->cancel(endpoint, graph->questions[r]);
  }
  hr_status_release(test_message(endpoint, &graph->sending));
  if (graph->sending) endpoint->vtable->cancel(endpoint, graph->sending);
  tp_progress_unlock(comm->groups);
  hr_free(graph);
  comm->graph = NULL;
}

/* --- for clients --- */

void exec_wait_query(exec_comm_t *comm) { atomic_store(&comm->wants_graph, true); }

void exec_wait_describe(const exec_comm_t *comm, const hlo_instr_t *current, char *into,
                        size_t size) {
  const hlo_instr_t *waits_in = comm->awaited_instr;
  if (!comm->is_waiting && exec_progress_describe(comm->progress, into, size)) return;
  if (!current) {
    snprintf(into, size, "is outside of its program");
    return;
  }
  int used = snprintf(into, size, "%s %%%.*s (%s)", comm->is_waiting ? "waits in" : "is at",
                      HR_STR_ARGS(current->name), hlo_op_name(current->op));
  if (waits_in && used > 0 && (size_t)used < size)
    snprintf(into + used, size - (size_t)used, ", for rank %d to %s on channel %ld",
             comm->awaited_rank, waits_in->op == HLO_SEND ? "receive" : "send",
             (long)hlo_attr_int(waits_in, HLO_ATTR_CHANNEL_ID));
}
