/* The wait-for report: a graph of one edge per rank (single-resource model). It is collected on
 * request, when a rank times out, or after a stall. Ranks 0 to DEPUTIES-1 can collect it; the
 * lowest of them that lives and serves messages does:
 *
 *   any rank -> deputies   NOTE_QUERY      a signal asks for the report, or this rank is stalled
 *   any rank -> deputies   NOTE_TIMED_OUT  this rank has timed out
 *   deputy d -> all        NOTE_QUESTION   numbered; after d * DEPUTY_S, unless asked before
 *   all -> deputy d        NOTE_ANSWER     text, awaited rank, host
 *
 * The asking rank prints after COLLECT_S, or when all have answered. A rank that computes outside
 * of loops does not answer. A rank that timed out stays for LINGER_S, so that its exit does not
 * abort the job before the report.
 *
 * Cost: one probe every POLL_S and deputy while waiting; deputies probe all ranks. Polls back off
 * to at most 1/POLL_BACKOFF of the time. */
#include "observe/wait_for_graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/clock.h"
#include "base/decimal.h"
#include "base/mem.h"
#include "observe/progress_counter.h"
#include "observe/wait_for_parts.h"
#include "transport/core/progress.h"
#include "transport/core/request.h"

#define STALL_S 60    /* seconds of a wait after which a warning is printed */
#define DEPUTIES 4    /* ranks that can collect the report */
#define DEPUTY_S 0.4  /* seconds that each deputy waits longer than the previous one */
#define COLLECT_S 1.0 /* seconds that a deputy collects answers */
/* Seconds for which a rank that timed out answers before it exits: until the last deputy has
 * reported, and a little more, as mpirun loses what processes write while it ends them. */
#define LINGER_S ((DEPUTIES - 1) * DEPUTY_S + COLLECT_S + 0.4)
#define POLL_S 0.02             /* seconds between polls for messages */
#define POLL_COLLECTING_S 0.002 /* seconds between polls while answers are collected */
/* Least ratio of pause to cost of a poll: with more processes than processors a probe may yield. */
#define POLL_BACKOFF 4
#define CLOCK_POLLS 64 /* calls between reads of the clock */

/* A message to another rank; `message` is NULL once it has been sent. */
typedef struct outgoing {
  tp_message_t *message;
  graph_msg_t note;
} outgoing_t;

typedef struct exec_graph {
  exec_comm_t *comm;
  unsigned polls;
  double next_poll_s;
  outgoing_t telling[DEPUTIES]; /* notes to deputies */
  bool timed_out;               /* this rank timed out */
  double timed_out_s;           /* other ranks than 0: time of the time-out */
  double asked_s;               /* time of the last question of another rank; 0: none */
  /* Deputies only; arrays by rank. */
  double due_s;     /* time at which this rank asks, unless it is asked before; 0: never */
  graph_msg_t *all; /* last message; kind 0: no answer yet */
  outgoing_t *questions;
  bool *in_cycle;
  uint32_t question_number;
  bool is_collecting;
  double queried_s, reported_s;
  int late_rank;    /* first rank that timed out; -1: none */
  graph_msg_t late; /* message of late_rank */
  int stalled_rank; /* rank whose stall is reported */
  double stalled_s; /* length of the stall; 0: the report was requested otherwise */
} exec_graph_t;

static tp_endpoint_t *endpoint_of(const exec_graph_t *graph) {
  return graph->comm->groups->endpoint;
}

static int rank_of(const exec_graph_t *graph) { return endpoint_of(graph)->rank; }
static int world_of(const exec_graph_t *graph) { return endpoint_of(graph)->world_size; }
static int count_deputies(const exec_graph_t *graph) {
  return (int)hr_min(world_of(graph), DEPUTIES);
}
static bool is_deputy(const exec_graph_t *graph) { return rank_of(graph) < DEPUTIES; }

/* --- state of this process --- */

/* "a.hlo:6:3": the location that a status created here would have. */
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

/* Sends a note, unless the previous one to that rank is still in flight. */
static hr_status_t send_note(exec_graph_t *graph, int to, const graph_msg_t *note,
                             outgoing_t *outgoing) {
  tp_endpoint_t *endpoint = endpoint_of(graph);
  HR_TRY(test_message(endpoint, &outgoing->message));
  if (outgoing->message) return NULL;
  outgoing->note = *note;
  return endpoint->vtable->send(endpoint, to, TP_TAG_REPORT, &outgoing->note, sizeof outgoing->note,
                                &outgoing->message);
}

static hr_status_t tell_deputy(exec_graph_t *graph, int deputy, note_kind_t kind, uint32_t number,
                               double waited_s) {
  graph_msg_t note = {.kind = kind, .number = number, .waited_s = (float)waited_s};
  describe(graph->comm, &note);
  return send_note(graph, deputy, &note, &graph->telling[deputy]);
}

static hr_status_t tell_deputies(exec_graph_t *graph, note_kind_t kind, double waited_s) {
  for (int d = 0; d < count_deputies(graph); d++)
    if (d != rank_of(graph)) HR_TRY(tell_deputy(graph, d, kind, 0, waited_s));
  return NULL;
}

/* --- questions of a deputy --- */

static hr_status_t start_collecting(exec_graph_t *graph, double now) {
  graph_msg_t question = {.kind = NOTE_QUESTION, .number = ++graph->question_number};
  graph->due_s = 0;
  graph->is_collecting = true;
  graph->queried_s = now;
  for (int r = 0; r < world_of(graph); r++) {
    if (graph->all[r].kind != NOTE_TIMED_OUT)
      graph->all[r].kind = 0; /* a time-out note is also an answer */
    if (r != rank_of(graph)) HR_TRY(send_note(graph, r, &question, &graph->questions[r]));
  }
  return NULL;
}

/* A signal to mpirun reaches all ranks at once: their queries within COLLECT_S are one report. */
static void ask_later(exec_graph_t *graph, double now, bool for_itself) {
  double last_s = graph->reported_s > graph->asked_s ? graph->reported_s : graph->asked_s;
  if (!is_deputy(graph) || graph->is_collecting || graph->due_s > 0) return;
  if (!for_itself && last_s > 0 && now - last_s < COLLECT_S) return;
  graph->due_s = now + DEPUTY_S * rank_of(graph);
}

static void note_late(exec_graph_t *graph, int rank, const graph_msg_t *note) {
  graph->all[rank] = *note;
  if (graph->late_rank >= 0) return;
  graph->late_rank = rank;
  graph->late = *note;
}

/* The asking rank reports; this rank reports only if it has begun to ask. */
static hr_status_t answer(exec_graph_t *graph, int deputy, const graph_msg_t *question,
                          double now) {
  if (!graph->is_collecting) {
    graph->asked_s = now;
    graph->due_s = 0;
    graph->stalled_s = 0;
    graph->late_rank = -1;
  }
  return tell_deputy(graph, deputy, NOTE_ANSWER, question->number, 0);
}

static hr_status_t handle_note(exec_graph_t *graph, int from, const graph_msg_t *note, double now) {
  if (note->kind == NOTE_QUESTION) return from < DEPUTIES ? answer(graph, from, note, now) : NULL;
  if (note->kind == NOTE_ANSWER) {
    if (note->number == graph->question_number) graph->all[from] = *note;
    return NULL;
  }
  if (note->kind == NOTE_TIMED_OUT) note_late(graph, from, note);
  if (note->kind == NOTE_QUERY && note->waited_s > 0) {
    graph->stalled_rank = from;
    graph->stalled_s = (double)note->waited_s;
  }
  ask_later(graph, now, false);
  return NULL;
}

static hr_status_t receive_notes(exec_graph_t *graph, double now) {
  graph_msg_t note;
  bool arrived;
  int sources = is_deputy(graph) ? world_of(graph) : count_deputies(graph);
  for (int r = 0; r < sources; r++) {
    if (r == rank_of(graph)) continue;
    HR_TRY(test_message(endpoint_of(graph), &graph->questions[r].message));
    if (r < DEPUTIES) HR_TRY(test_message(endpoint_of(graph), &graph->telling[r].message));
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
  for (int r = 0; r < world_of(graph); r++)
    if (r != rank_of(graph) && !graph->all[r].kind) return false;
  return true;
}

/* --- the report --- */

static hr_status_t timeout_error(int rank, const graph_msg_t *note, double waited_s) {
  if (note->in_loop)
    return hr_error(HR_DEADLINE, "rank %d spent %.3g s in one loop without communicating", rank,
                    waited_s);
  return hr_error(HR_DEADLINE, "rank %d waited %.3g s for its peers", rank, waited_s);
}

static hr_status_t add_report(hr_status_t st, exec_graph_t *graph) {
  int rank = rank_of(graph);
  graph->all[rank] = (graph_msg_t){.kind = NOTE_ANSWER};
  describe(graph->comm, &graph->all[rank]);
  return exec_wait_report(st, graph->all, world_of(graph), graph->in_cycle);
}

/* Errors: DEADLINE with the report if a rank timed out; otherwise the report is only printed. */
static hr_status_t finish_collecting(exec_graph_t *graph, double now) {
  graph->is_collecting = false;
  graph->reported_s = now;
  if (graph->late_rank >= 0)
    return add_report(timeout_error(graph->late_rank, &graph->late, (double)graph->late.waited_s),
                      graph);
  hr_status_t st = add_report(hr_error(HR_CANCELLED, "who waits for whom"), graph);
  if (graph->stalled_s > 0)
    fprintf(stderr, "warning: rank %d has waited %.3g s for its peers\n", graph->stalled_rank,
            graph->stalled_s);
  graph->stalled_s = 0;
  hr_status_print_notes(stderr, st);
  hr_status_release(st);
  return NULL;
}

/* Serves all messages, and asks or reports when due. */
static hr_status_t serve(exec_graph_t *graph, double now) {
  if (atomic_exchange(&graph->comm->wants_graph, false)) {
    HR_TRY(tell_deputies(graph, NOTE_QUERY, 0));
    ask_later(graph, now, false);
  }
  HR_TRY(receive_notes(graph, now));
  if (graph->due_s > 0 && now >= graph->due_s) HR_TRY(start_collecting(graph, now));
  return graph->is_collecting && is_complete(graph, now) ? finish_collecting(graph, now) : NULL;
}

/* --- polling --- */

static void end_graph(exec_comm_t *comm);

static hr_status_t get_graph(exec_comm_t *comm, exec_graph_t **out_graph) {
  void *memory;
  *out_graph = comm->graph;
  if (comm->graph) return NULL;
  size_t world = (size_t)comm->groups->endpoint->world_size;
  size_t each = sizeof(graph_msg_t) + sizeof(outgoing_t) + sizeof(bool);
  HR_TRY(hr_alloc_zeroed(sizeof(exec_graph_t) + world * each, &memory));
  exec_graph_t *graph = memory;
  graph->comm = comm;
  graph->questions = (outgoing_t *)(graph + 1);
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
  hr_status_t st = serve(graph, now);
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

double exec_wait_stall_s(void) {
  const char *text = getenv("HLORUN_WATCHDOG");
  char *end;
  if (!text || !*text) return STALL_S;
  double seconds = hr_strtod(text, &end);
  return *end || !(seconds >= 0) ? STALL_S : seconds;
}

/* A rank that was asked since the stall began leaves the warning to the asking rank. */
hr_status_t exec_wait_warn(exec_comm_t *comm, double waited_s) {
  exec_graph_t *graph;
  HR_TRY(get_graph(comm, &graph));
  double now = hr_clock_coarse_s();
  if (graph->timed_out || graph->asked_s > now - waited_s) return NULL;
  graph->stalled_rank = rank_of(graph);
  graph->stalled_s = waited_s;
  tp_progress_lock(comm->groups);
  hr_status_t st = NULL;
  if (is_deputy(graph))
    ask_later(graph, now, false);
  else
    st = tell_deputies(graph, NOTE_QUERY, waited_s);
  tp_progress_unlock(comm->groups);
  return st;
}

/* --- time-outs --- */

/* Serves until time `until_s`, or with `once` until this rank has been asked. */
static hr_status_t serve_until(exec_graph_t *graph, double until_s, bool once) {
  tp_endpoint_t *endpoint = endpoint_of(graph);
  double began_s = hr_clock_coarse_s();
  for (uint32_t polls = 0; hr_clock_coarse_s() < until_s; polls++) {
    if (once && graph->asked_s >= began_s) return NULL;
    HR_TRY(serve(graph, hr_clock_coarse_s()));
    endpoint->vtable->backoff(endpoint, polls);
  }
  return NULL;
}

/* Notifies the deputies, and waits until one of them asks; this rank may be that deputy. */
static hr_status_t report_timeout(exec_graph_t *graph, double waited_s) {
  double now = hr_clock_coarse_s();
  double patience_s = DEPUTY_S * (hr_min(rank_of(graph), DEPUTIES) + 1);
  graph_msg_t mine = {.kind = NOTE_TIMED_OUT, .waited_s = (float)waited_s};
  describe(graph->comm, &mine);
  if (rank_of(graph)) graph->timed_out_s = now;
  note_late(graph, rank_of(graph), &mine);
  hr_status_t st = tell_deputies(graph, NOTE_TIMED_OUT, waited_s);
  ask_later(graph, now, true);
  if (!st) st = serve_until(graph, now + patience_s + (is_deputy(graph) ? 2 * COLLECT_S : 0), true);
  if (hr_status_code(st) == HR_DEADLINE) return st;
  return hr_status_join(timeout_error(rank_of(graph), &mine, waited_s), st);
}

hr_status_t exec_wait_cancel(exec_comm_t *comm, double waited_s) {
  exec_graph_t *graph;
  HR_TRY(get_graph(comm, &graph));
  if (graph->timed_out) {
    graph_msg_t mine = {.kind = NOTE_TIMED_OUT};
    describe(comm, &mine);
    return timeout_error(rank_of(graph), &mine, waited_s);
  }
  graph->timed_out = true;
  tp_progress_lock(comm->groups);
  hr_status_t st = report_timeout(graph, waited_s);
  tp_progress_unlock(comm->groups);
  return st;
}

static void end_message(tp_endpoint_t *endpoint, outgoing_t *outgoing) {
  hr_status_release(test_message(endpoint, &outgoing->message));
  if (outgoing->message) endpoint->vtable->cancel(endpoint, outgoing->message);
}

/* exec_comm_t.end_graph, called before the endpoint closes. A process that timed out answers until
 * LINGER_S have passed, as its exit may end the whole job. */
static void end_graph(exec_comm_t *comm) {
  exec_graph_t *graph = comm->graph;
  tp_endpoint_t *endpoint = endpoint_of(graph);
  tp_progress_lock(comm->groups);
  if (graph->timed_out_s > 0)
    hr_status_release(serve_until(graph, graph->timed_out_s + LINGER_S, false));
  for (int r = 0; r < endpoint->world_size; r++) end_message(endpoint, &graph->questions[r]);
  for (int d = 0; d < DEPUTIES; d++) end_message(endpoint, &graph->telling[d]);
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
