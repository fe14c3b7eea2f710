#include "observe/wait_for_graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "observe/progress_counter.h"
#include "transport/core/progress.h"
#include "transport/core/request.h"

#define HEAR_S 1.0        /* how long rank 0 listens to the others */
#define ANSWER_S 0.4      /* how long a process that gives up waits to be asked, */
#define PATIENCE_S 1.6    /* and lets rank 0 make its report before it ends */
#define LOOK_S 0.02       /* between two looks at messages, */
#define LOOK_SOON_S 0.002 /* while rank 0 listens */
#define LOOK_SHARE                                                                         \
  4 /* so many times as long as a look took the next one is put off: where others want the \
       processor each question whether a message is there may give it away */
#define LOOK_POLLS 64 /* polls between two looks at the clock */
#define HOST_SIZE 64

typedef enum note_kind { NOTE_QUERY = 1, NOTE_GAVE_UP, NOTE_QUESTION, NOTE_ANSWER } note_kind_t;

/* What processes tell each other: rank 0 sends questions, the others the rest. */
typedef struct note {
  uint32_t kind, number; /* of the question */
  int32_t peer;          /* whom the sender waits for; -1: its group, or somebody */
  float waited_s;
  uint32_t in_loop; /* it waits for nobody: it iterates in a loop */
  char host[HOST_SIZE];
  char text[320]; /* "waits for ..." */
} graph_msg_t;

typedef struct exec_graph {
  exec_comm_t *comm;
  unsigned polls;
  double look_next_s;
  graph_msg_t mine;
  tp_message_t *sending;  /* `mine`, to rank 0; NULL: it has gone */
  bool gave_up, answered; /* the second: rank 0, once at least */
  double gave_up_s;       /* of the others */
  /* Of rank 0, by rank. */
  graph_msg_t *all; /* kind 0: it has not answered */
  tp_message_t **questions;
  bool *in_cycle;
  graph_msg_t question;
  bool listens;
  double queried_s, reported_s;
  int late_rank; /* the first one that gave up; -1: none */
} exec_graph_t;

static tp_endpoint_t *endpoint_of(const exec_graph_t *graph) {
  return graph->comm->groups->endpoint;
}

/* --- what this process says of itself --- */

/* "a.hlo:6:3" out of a failure made here. */
static void find_place(char *into, size_t size) {
  hr_status_t here = hr_error(HR_DEADLINE, "here");
  char *report = hr_status_format(here), *end = report ? strstr(report, ": error") : NULL;
  snprintf(into, size, "%.*s", end ? (int)(end - report) : 0, report ? report : "");
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
  find_place(location, sizeof location);
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

/* Is there a note from `from`? *out_note is then what it says. */
static hr_status_t take_note(exec_graph_t *graph, int from, graph_msg_t *out_note, bool *out_come) {
  tp_endpoint_t *endpoint = endpoint_of(graph);
  tp_message_t *message;
  HR_TRY(endpoint->vtable->probe(endpoint, from, TP_TAG_REPORT, out_come));
  if (!*out_come) return NULL;
  HR_TRY(
      endpoint->vtable->recv(endpoint, from, TP_TAG_REPORT, out_note, sizeof *out_note, &message));
  for (uint32_t polls = 0; message; polls++) {
    HR_TRY(test_message(endpoint, &message));
    if (message) endpoint->vtable->backoff(endpoint, polls);
  }
  return NULL;
}

/* One after the other: while one is on its way the next is left out. */
static hr_status_t notify_first(exec_graph_t *graph, note_kind_t kind, uint32_t number,
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
  bool come;
  HR_TRY(test_message(endpoint_of(graph), &graph->sending));
  if (atomic_exchange(&graph->comm->wants_graph, false))
    HR_TRY(notify_first(graph, NOTE_QUERY, 0, 0));
  HR_TRY(take_note(graph, 0, &note, &come));
  if (!come) return NULL;
  graph->answered = true;
  return notify_first(graph, NOTE_ANSWER, note.number, 0);
}

/* --- rank 0 asks --- */

static hr_status_t begin_to_listen(exec_graph_t *graph, double now) {
  tp_endpoint_t *endpoint = endpoint_of(graph);
  if (graph->listens) return NULL;
  for (int r = 1; r < endpoint->world_size; r++)
    if (graph->questions[r])
      return NULL; /* one has not even gone out: everybody was asked a moment ago */
  graph->listens = true;
  graph->queried_s = now;
  graph->question = (graph_msg_t){.kind = NOTE_QUESTION, .number = graph->question.number + 1};
  for (int r = 1; r < endpoint->world_size; r++) {
    graph->all[r].kind = 0;
    HR_TRY(endpoint->vtable->send(endpoint, r, TP_TAG_REPORT, &graph->question,
                                  sizeof graph->question, &graph->questions[r]));
  }
  return NULL;
}

/* A signal to mpirun reaches all: they ask together, and need one report. */
static hr_status_t take_in(exec_graph_t *graph, int rank, const graph_msg_t *note, double now) {
  if (note->kind == NOTE_QUERY)
    return now - graph->reported_s > HEAR_S ? begin_to_listen(graph, now) : NULL;
  if (note->kind == NOTE_ANSWER) {
    if (note->number == graph->question.number) graph->all[rank] = *note;
    return NULL;
  }
  if (graph->late_rank < 0) graph->late_rank = rank;
  HR_TRY(begin_to_listen(graph, now));
  graph->all[rank] = *note;
  return NULL;
}

static hr_status_t hear_others(exec_graph_t *graph, double now) {
  graph_msg_t note;
  bool come;
  for (int r = 1; r < endpoint_of(graph)->world_size; r++) {
    HR_TRY(test_message(endpoint_of(graph), &graph->questions[r]));
    for (;;) {
      HR_TRY(take_note(graph, r, &note, &come));
      if (!come) break;
      HR_TRY(take_in(graph, r, &note, now));
    }
  }
  return NULL;
}

static bool has_heard(const exec_graph_t *graph, double now) {
  if (now - graph->queried_s > HEAR_S) return true;
  for (int r = 1; r < endpoint_of(graph)->world_size; r++)
    if (!graph->all[r].kind) return false;
  return true;
}

/* --- the report --- */

/* A rank that is on a cycle of waiting, or -1. */
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

/* Adds notes to a failure. */
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

static hr_status_t too_long(int rank, const graph_msg_t *note, double waited_s) {
  if (note->in_loop)
    return hr_error(HR_DEADLINE, "rank %d spent %.3g s in one loop without communicating", rank,
                    waited_s);
  return hr_error(HR_DEADLINE, "rank %d waited %.3g s for its peers", rank, waited_s);
}

/* Errors: what somebody's giving up makes of it; otherwise the report is only printed. */
static hr_status_t finish_listening(exec_graph_t *graph, double now) {
  graph->listens = false;
  graph->reported_s = now;
  graph->all[0] = (graph_msg_t){.kind = NOTE_ANSWER};
  describe(graph->comm, &graph->all[0]);
  const graph_msg_t *late = &graph->all[graph->late_rank < 0 ? 0 : graph->late_rank];
  if (graph->late_rank >= 0)
    return report(too_long(graph->late_rank, late, (double)late->waited_s), graph);
  hr_status_t st = report(hr_error(HR_CANCELLED, "who waits for whom"), graph);
  hr_status_print_notes(stderr, st);
  hr_status_release(st);
  return NULL;
}

static hr_status_t query_others(exec_graph_t *graph, double now) {
  if (atomic_exchange(&graph->comm->wants_graph, false)) HR_TRY(begin_to_listen(graph, now));
  HR_TRY(hear_others(graph, now));
  return graph->listens && has_heard(graph, now) ? finish_listening(graph, now) : NULL;
}

/* --- polling --- */

static void end_graph(exec_comm_t *comm);

static hr_status_t graph_of(exec_comm_t *comm, exec_graph_t **out_graph) {
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

static hr_status_t look(exec_graph_t *graph, double now) {
  tp_groups_t *groups = graph->comm->groups;
  tp_progress_lock(groups);
  hr_status_t st = groups->endpoint->rank ? answer_first(graph) : query_others(graph, now);
  tp_progress_unlock(groups);
  double end = hr_clock_coarse_s(), pause = graph->listens ? LOOK_SOON_S : LOOK_S,
         rest = LOOK_SHARE * (end - now);
  graph->look_next_s = end + (rest > pause ? rest : pause);
  return st;
}

hr_status_t exec_wait_poll(exec_comm_t *comm, bool often) {
  exec_graph_t *graph;
  HR_TRY(graph_of(comm, &graph));
  if (graph->gave_up || (often && !graph->listens && ++graph->polls % LOOK_POLLS)) return NULL;
  double now = hr_clock_coarse_s();
  return now < graph->look_next_s ? NULL : look(graph, now);
}

/* --- giving up --- */

/* Rank 0 looks until it has a report. */
static hr_status_t report_now(exec_graph_t *graph, double waited_s) {
  tp_endpoint_t *endpoint = endpoint_of(graph);
  graph->late_rank = 0;
  graph->listens = false;
  hr_status_t st = begin_to_listen(graph, hr_clock_coarse_s());
  for (uint32_t polls = 0; !st && !has_heard(graph, hr_clock_coarse_s()); polls++) {
    st = hear_others(graph, hr_clock_coarse_s());
    endpoint->vtable->backoff(endpoint, polls);
  }
  graph->all[0] = (graph_msg_t){.kind = NOTE_ANSWER};
  describe(graph->comm, &graph->all[0]);
  return hr_status_join(report(too_long(0, &graph->all[0], waited_s), graph), st);
}

/* Answers questions until `until_s`, or until it has answered one. */
static hr_status_t go_on_answering(exec_graph_t *graph, double until_s, bool once) {
  tp_endpoint_t *endpoint = endpoint_of(graph);
  for (uint32_t polls = 0; hr_clock_coarse_s() < until_s && !(once && graph->answered); polls++) {
    HR_TRY(answer_first(graph));
    endpoint->vtable->backoff(endpoint, polls);
  }
  return NULL;
}

/* Another rank tells rank 0, who is to ask it once more. */
static hr_status_t leave_to_first(exec_graph_t *graph, double waited_s) {
  graph->gave_up_s = hr_clock_coarse_s();
  hr_status_t st = notify_first(graph, NOTE_GAVE_UP, 0, waited_s);
  if (!st) st = go_on_answering(graph, graph->gave_up_s + ANSWER_S, true);
  return hr_status_join(too_long(endpoint_of(graph)->rank, &graph->mine, waited_s), st);
}

hr_status_t exec_wait_cancel(exec_comm_t *comm, double waited_s) {
  exec_graph_t *graph;
  HR_TRY(graph_of(comm, &graph));
  int rank = comm->groups->endpoint->rank;
  if (graph->gave_up) return too_long(rank, rank ? &graph->mine : &graph->all[0], waited_s);
  graph->gave_up = true;
  tp_progress_lock(comm->groups);
  hr_status_t st = rank ? leave_to_first(graph, waited_s) : report_now(graph, waited_s);
  tp_progress_unlock(comm->groups);
  return st;
}

/* exec_comm_t.end_graph, called before the endpoint closes. A process that timed out goes on
 * answering until PATIENCE_S have passed: its exit may end the whole job. */
static void end_graph(exec_comm_t *comm) {
  exec_graph_t *graph = comm->graph;
  tp_endpoint_t *endpoint = endpoint_of(graph);
  tp_progress_lock(comm->groups);
  if (graph->gave_up_s > 0)
    hr_status_release(go_on_answering(graph, graph->gave_up_s + PATIENCE_S, false));
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
