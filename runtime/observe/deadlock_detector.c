/* Distributed deadlock detection under --verify-comm, an AND-model wait-for graph evaluated by
 * rank 0.
 *
 * Each rank counts its starts per group, channel end and pair. For its current wait it knows which
 * counts it needs of which ranks. Once rank 0 has waited QUERY_S, it asks all ranks:
 *
 *   rank 0                        rank r (waiting, after LISTEN_S)
 *   question  ------------------>
 *             <------------------ size, then answer: state, wait number, needs, counts
 *   wait_detect_deadlock over the last answers (wait_state.c)
 *
 * A rank that computes does not answer. An answer with the same wait number as the last proves
 * that the rank was in that wait throughout the interval; a deadlock is reported if the intervals
 * of all blocked ranks intersect, so that stale answers cannot produce a false report.
 *
 * Cost: no message for waits shorter than LISTEN_S; 16 bytes of counts per group, channel end or
 *       pair. */
#include "observe/deadlock_detector.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/vec.h"
#include "comm/model/comm_signature.h"
#include "observe/wait_state.h"
#include "transport/core/progress.h"
#include "transport/core/request.h"

#define LISTEN_S 0.2   /* seconds of a wait until a rank receives questions */
#define QUERY_S 0.5    /* seconds of a wait until rank 0 asks */
#define REPEAT_S 0.3   /* seconds between questions to one rank */
#define CONFIRM_S 0.02 /* seconds between questions while all ranks must confirm a deadlock */
#define POLL_S 0.001   /* seconds between polls for messages */

/* Stream of the group in which all ranks meet after an execution: no channel has this number. */
#define FINISH_STREAM INT64_C(-0x5eed)

enum { QUESTION_END, QUESTION_WHERE };

/* Rank 0: the question to another rank and its answer, in flight. */
typedef struct inquiry {
  tp_message_t *question, *head, *body; /* NULL: not in flight */
  uint32_t size_bytes;                  /* size of the body */
  char *buffer;
  size_t capacity;
  double asked_s;
} inquiry_t;

struct exec_watch {
  exec_comm_t *comm;
  tp_group_t *finish;
  hr_arena_t arena;
  hr_map_t counts; /* exec_started_t by its key */
  HR_VEC(exec_started_t *) started;
  exec_wait_state_t state;
  const exec_wait_t *wait;
  uint64_t waits; /* number of waits so far */
  double began_s, polled_s;
  /* Rank 0 only, by rank. */
  inquiry_t *inquiries;
  wait_states_t *states;
  uint32_t question_where, question_end;
  bool has_new_answer, is_suspect; /* new answer since the last test; result of that test */
  /* Other ranks only. */
  tp_message_t *listening; /* receive of a question; NULL: not posted */
  uint32_t question;
  hr_strbuf_t answer;
  uint32_t answer_bytes;
  tp_message_t *answers[2]; /* size and body, in flight */
};

static tp_endpoint_t *endpoint_of(const exec_watch_t *watch) {
  return watch->comm->groups->endpoint;
}

/* --- counting --- */

hr_status_t exec_watch_count(exec_watch_t *watch, uint64_t what, uint64_t *out_number) {
  exec_started_t *started =
      hr_map_get(&watch->counts, (hr_str_t){(const char *)&what, sizeof what});
  if (!started) {
    HR_TRY(HR_NEW(&watch->arena, &started));
    started->what = what;
    HR_VEC_PUSH(&watch->started, started);
    HR_TRY(hr_map_put(&watch->counts, (hr_str_t){(const char *)&started->what, sizeof what},
                      started, NULL));
  }
  *out_number = ++started->count;
  return NULL;
}

/* --- answers --- */

static void add_bytes(hr_strbuf_t *text, const void *bytes, size_t size) {
  hr_strbuf_add(text, bytes, size);
}

static void add_location(hr_strbuf_t *text, const exec_watch_t *watch) {
  char location[EXEC_WAIT_TEXT] = "";
  const hlo_instr_t *instr = watch->wait ? watch->wait->instr : NULL;
  if (instr) {
    int64_t channel = hlo_attr_int(instr, HLO_ATTR_CHANNEL_ID);
    int used = snprintf(location, sizeof location, "%s ", hlo_op_name(instr->op));
    comm_print_source_loc(instr, location + used, sizeof location - (size_t)used - 40);
    if (channel > 0) snprintf(location + strlen(location), 40, ", channel %ld", (long)channel);
  }
  add_bytes(text, location, sizeof location);
}

/* The state of this process in the format that wait_state.c reads. */
static void print_answer(const exec_watch_t *watch, hr_strbuf_t *text) {
  exec_answer_t head = {
      .state = watch->state, .waits = watch->waits, .started_count = watch->started.count};
  const exec_wait_t *wait = watch->state == EXEC_WAIT_WAITS ? watch->wait : NULL;
  for (int n = 0; wait && n < wait->need_count; n++)
    head.need_count += (uint64_t)wait->needs[n].rank_count;
  hr_strbuf_cut(text, 0);
  add_bytes(text, &head, sizeof head);
  add_location(text, watch);
  for (int n = 0; wait && n < wait->need_count; n++)
    for (int i = 0; i < wait->needs[n].rank_count; i++) {
      exec_needed_t needed = {wait->needs[n].what, wait->needs[n].count, wait->needs[n].ranks[i]};
      add_bytes(text, &needed, sizeof needed);
    }
  for (size_t i = 0; i < watch->started.count; i++)
    add_bytes(text, watch->started.data[i], sizeof(exec_started_t));
}

/* Tests a message and sets it to NULL once it has completed. Accepts NULL. */
static hr_status_t test_message(exec_watch_t *watch, tp_message_t **message) {
  tp_endpoint_t *endpoint = endpoint_of(watch);
  bool done = false;
  if (!*message) return NULL;
  hr_status_t st = endpoint->vtable->test(endpoint, *message, &done);
  if (st || done) *message = NULL;
  return st;
}

static hr_status_t send_answer(exec_watch_t *watch) {
  tp_endpoint_t *endpoint = endpoint_of(watch);
  print_answer(watch, &watch->answer);
  HR_TRY(hr_strbuf_finish(&watch->answer));
  watch->answer_bytes = (uint32_t)watch->answer.size;
  HR_TRY(endpoint->vtable->send(endpoint, 0, TP_TAG_ANSWER, &watch->answer_bytes,
                                sizeof watch->answer_bytes, &watch->answers[0]));
  return endpoint->vtable->send(endpoint, 0, TP_TAG_ANSWER, watch->answer.data, watch->answer.size,
                                &watch->answers[1]);
}

/* *out_ended: rank 0 has sent its last question. */
static hr_status_t answer_first(exec_watch_t *watch, bool *out_ended) {
  tp_endpoint_t *endpoint = endpoint_of(watch);
  *out_ended = false;
  for (int i = 0; i < 2; i++) HR_TRY(test_message(watch, &watch->answers[i]));
  if (watch->answers[0] || watch->answers[1]) return NULL;
  if (!watch->listening)
    HR_TRY(endpoint->vtable->recv(endpoint, 0, TP_TAG_QUESTION, &watch->question,
                                  sizeof watch->question, &watch->listening));
  HR_TRY(test_message(watch, &watch->listening));
  if (watch->listening) return NULL;
  *out_ended = watch->question == QUESTION_END;
  return *out_ended ? NULL : send_answer(watch);
}

/* --- questions, by rank 0 --- */

static bool is_pending(const inquiry_t *inquiry) {
  return inquiry->question || inquiry->head || inquiry->body;
}

static hr_status_t send_question(exec_watch_t *watch, int rank, double now) {
  tp_endpoint_t *endpoint = endpoint_of(watch);
  inquiry_t *inquiry = &watch->inquiries[rank];
  inquiry->asked_s = now;
  HR_TRY(endpoint->vtable->recv(endpoint, rank, TP_TAG_ANSWER, &inquiry->size_bytes,
                                sizeof inquiry->size_bytes, &inquiry->head));
  return endpoint->vtable->send(endpoint, rank, TP_TAG_QUESTION, &watch->question_where,
                                sizeof watch->question_where, &inquiry->question);
}

static hr_status_t receive_body(exec_watch_t *watch, int rank) {
  tp_endpoint_t *endpoint = endpoint_of(watch);
  inquiry_t *inquiry = &watch->inquiries[rank];
  if (inquiry->size_bytes > inquiry->capacity) {
    void *memory;
    HR_TRY(hr_alloc(inquiry->size_bytes, &memory));
    hr_free(inquiry->buffer);
    inquiry->buffer = memory;
    inquiry->capacity = inquiry->size_bytes;
  }
  return endpoint->vtable->recv(endpoint, rank, TP_TAG_ANSWER, inquiry->buffer, inquiry->size_bytes,
                                &inquiry->body);
}

/* Advances the inquiry of a rank by the messages that have arrived: the size, then the body. */
static hr_status_t receive_answer(exec_watch_t *watch, int rank) {
  inquiry_t *inquiry = &watch->inquiries[rank];
  HR_TRY(test_message(watch, &inquiry->question));
  if (inquiry->head) {
    HR_TRY(test_message(watch, &inquiry->head));
    return inquiry->head ? NULL : receive_body(watch, rank);
  }
  if (!inquiry->body) return NULL;
  HR_TRY(test_message(watch, &inquiry->body));
  if (inquiry->body) return NULL;
  watch->has_new_answer = true;
  return wait_states_update(&watch->states[rank], (hr_str_t){inquiry->buffer, inquiry->size_bytes},
                            hr_clock_s(), inquiry->asked_s);
}

static hr_status_t test_deadlock(exec_watch_t *watch, double now) {
  watch->has_new_answer = false;
  print_answer(watch, &watch->answer);
  HR_TRY(hr_strbuf_finish(&watch->answer));
  HR_TRY(wait_states_update(&watch->states[0], (hr_str_t){watch->answer.data, watch->answer.size},
                            watch->began_s, now));
  return wait_detect_deadlock(watch->states, endpoint_of(watch)->world_size, &watch->is_suspect);
}

static hr_status_t query_others(exec_watch_t *watch, double now) {
  double again_s = watch->is_suspect ? CONFIRM_S : REPEAT_S;
  int world = endpoint_of(watch)->world_size;
  for (int r = 1; r < world; r++) {
    HR_TRY(receive_answer(watch, r));
    if (!is_pending(&watch->inquiries[r]) && now - watch->inquiries[r].asked_s >= again_s)
      HR_TRY(send_question(watch, r, now));
  }
  return watch->has_new_answer || world == 1 ? test_deadlock(watch, now) : NULL;
}

/* --- waiting --- */

hr_status_t exec_watch_poll(exec_watch_t *watch) {
  bool ended;
  if (!watch || watch->state == EXEC_WAIT_NONE) return NULL;
  double now = hr_clock_s();
  if (!watch->began_s) watch->began_s = now;
  bool is_first = endpoint_of(watch)->rank == 0;
  if (now - watch->began_s < (is_first ? QUERY_S : LISTEN_S) || now - watch->polled_s < POLL_S)
    return NULL;
  watch->polled_s = now;
  return is_first ? query_others(watch, now) : answer_first(watch, &ended);
}

static void begin_wait(exec_watch_t *watch, exec_wait_state_t state, const exec_wait_t *wait) {
  watch->state = state;
  watch->wait = wait;
  watch->waits++;
  watch->began_s = 0;
  watch->comm->is_waiting = true;
}

static void end_wait(exec_watch_t *watch) {
  watch->state = EXEC_WAIT_NONE;
  watch->wait = NULL;
  watch->comm->is_waiting = false;
}

hr_status_t exec_watch_wait(exec_watch_t *watch, const exec_wait_t *wait, tp_request_t *request) {
  begin_wait(watch, EXEC_WAIT_WAITS, wait);
  hr_status_t st = tp_request_wait(request);
  end_wait(watch);
  return st;
}

/* --- the end of an execution --- */

/* *out_ended: no inquiry is pending. */
static hr_status_t drain_first(exec_watch_t *watch, bool *out_ended) {
  *out_ended = true;
  for (int r = 1; r < endpoint_of(watch)->world_size; r++) {
    HR_TRY(receive_answer(watch, r));
    if (is_pending(&watch->inquiries[r])) *out_ended = false;
  }
  return NULL;
}

static hr_status_t drain(exec_watch_t *watch) {
  tp_endpoint_t *endpoint = endpoint_of(watch);
  bool ended = false;
  for (uint32_t polls = 0;; polls++) {
    HR_TRY(endpoint->rank ? answer_first(watch, &ended) : drain_first(watch, &ended));
    if (ended) return NULL;
    if (endpoint->interrupted) HR_TRY(endpoint->interrupted(endpoint->interrupted_context));
    endpoint->vtable->backoff(endpoint, polls);
  }
}

/* Sends the last question to every rank, which ends their receives: after that no message of the
 * detector is in flight. */
static hr_status_t end_questions(exec_watch_t *watch) {
  tp_endpoint_t *endpoint = endpoint_of(watch);
  tp_message_t *message;
  HR_TRY(drain_first(watch, &(bool){false}));
  for (int r = 1; r < endpoint->world_size; r++) {
    HR_TRY(endpoint->vtable->send(endpoint, r, TP_TAG_QUESTION, &watch->question_end,
                                  sizeof watch->question_end, &message));
    while (message) {
      HR_TRY(test_message(watch, &message));
      HR_TRY(receive_answer(watch, r));
    }
  }
  return NULL;
}

static bool has_messages(const exec_watch_t *watch) {
  if (watch->listening || watch->answers[0] || watch->answers[1]) return true;
  for (int r = 1; watch->inquiries && r < endpoint_of(watch)->world_size; r++)
    if (is_pending(&watch->inquiries[r])) return true;
  return false;
}

/* True if any rank still has messages of the detector in flight. Collective. */
static hr_status_t any_has_messages(exec_watch_t *watch, bool *out_any) {
  int world = endpoint_of(watch)->world_size;
  void *memory;
  tp_request_t *request = NULL;
  uint32_t mine = has_messages(watch);
  HR_TRY(hr_alloc((size_t)world * sizeof mine, &memory));
  uint32_t *all = memory;
  hr_status_t st = tp_all_gather(watch->finish, &mine, sizeof mine, all, &request);
  if (!st) st = tp_request_wait(request);
  *out_any = false;
  for (int r = 0; r < world && !st; r++) *out_any |= all[r];
  hr_free(memory);
  return st;
}

hr_status_t exec_watch_finish(exec_watch_t *watch) {
  tp_request_t *request = NULL;
  bool any;
  if (endpoint_of(watch)->world_size == 1) return NULL;
  hr_status_t st = tp_barrier(watch->finish, &request);
  if (!st) {
    begin_wait(watch, EXEC_WAIT_FINISHED, NULL);
    st = tp_request_wait(request);
    end_wait(watch);
  }
  HR_TRY(st);
  HR_TRY(any_has_messages(watch, &any));
  if (!any) return NULL;
  tp_progress_lock(watch->comm->groups);
  if (!endpoint_of(watch)->rank) st = end_questions(watch);
  if (!st) st = drain(watch);
  tp_progress_unlock(watch->comm->groups);
  return st;
}

/* --- creation and destruction --- */

static hr_status_t set_up(exec_watch_t *watch) {
  const tp_group_t *world = watch->comm->groups->world;
  HR_TRY(
      tp_group_get(watch->comm->groups, world->size, world->ranks, FINISH_STREAM, &watch->finish));
  if (endpoint_of(watch)->rank) return NULL;
  HR_TRY(HR_NEW_ARRAY(&watch->arena, world->size, &watch->inquiries));
  return HR_NEW_ARRAY(&watch->arena, world->size, &watch->states);
}

hr_status_t exec_watch_create(exec_comm_t *comm, exec_watch_t **out_watch) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(exec_watch_t), &memory));
  exec_watch_t *watch = memory;
  watch->comm = comm;
  watch->question_where = QUESTION_WHERE;
  watch->question_end = QUESTION_END;
  hr_arena_init(&watch->arena);
  hr_map_init(&watch->counts);
  hr_strbuf_init(&watch->answer);
  hr_status_t st = set_up(watch);
  if (st)
    exec_watch_destroy(watch);
  else
    *out_watch = watch;
  return st;
}

static void cancel(exec_watch_t *watch, tp_message_t *message) {
  if (message) endpoint_of(watch)->vtable->cancel(endpoint_of(watch), message);
}

void exec_watch_destroy(exec_watch_t *watch) {
  if (!watch) return;
  cancel(watch, watch->listening);
  for (int i = 0; i < 2; i++) cancel(watch, watch->answers[i]);
  for (int r = 1; watch->inquiries && r < endpoint_of(watch)->world_size; r++) {
    cancel(watch, watch->inquiries[r].question);
    cancel(watch, watch->inquiries[r].head);
    cancel(watch, watch->inquiries[r].body);
    hr_free(watch->inquiries[r].buffer);
  }
  for (int r = 0; watch->states && r < endpoint_of(watch)->world_size; r++)
    wait_states_deinit(&watch->states[r]);
  HR_VEC_FREE(&watch->started);
  hr_strbuf_deinit(&watch->answer);
  hr_map_deinit(&watch->counts);
  hr_arena_deinit(&watch->arena);
  hr_free(watch);
}
