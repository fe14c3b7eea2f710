#include "observe/deadlock_detector.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/vec.h"
#include "comm/model/comm_signature.h"
#include "observe/wait_state.h"
#include "transport/core/progress.h"
#include "transport/core/request.h"

#define LISTEN_S 0.2 /* how long a process waits before it listens to questions */
#define QUERY_S 0.5  /* how long rank 0 waits before it asks, */
#define AGAIN_S 0.3  /* and before it asks again; */
#define SOON_S                                                                                    \
  0.02 /* or this, if the answers look bad: then all must say once more that they are still there \
        */
#define LOOK_S 0.001 /* between two looks at messages */

#define FINISH_STREAM \
  INT64_C(-0x5eed) /* of the group in which all meet at the end: no channel has this number */

enum { QUESTION_END, QUESTION_WHERE };

/* What rank 0 knows of another rank, and what is on its way from there. */
typedef struct asked {
  tp_message_t *question, *head, *body; /* NULL: none under way */
  uint32_t size_bytes;                  /* of the body that comes */
  char *coming;
  size_t capacity;
  double asked_s;
} asked_t;

struct exec_watch {
  exec_comm_t *comm;
  tp_group_t *finish;
  hr_arena_t arena;
  hr_map_t counts; /* exec_started_t by what is started */
  HR_VEC(exec_started_t *) started;
  exec_wait_state_t state;
  const exec_wait_t *wait;
  uint64_t waits; /* so far */
  double began_s, looked_s;
  /* Of rank 0, by rank. */
  asked_t *asked;
  wait_states_t *states;
  uint32_t question_where, question_end;
  bool is_new, looks_bad; /* an answer has come; some may be stuck */
  /* Of the others. */
  tp_message_t *listening; /* for a question */
  uint32_t question;
  hr_strbuf_t answer;
  uint32_t answer_bytes;
  tp_message_t *answers[2]; /* size and body, under way */
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

/* The state of this process as wait_state.c reads it. */
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

/* Accepts NULL for a message that is over; makes it NULL when it is. */
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

/* *out_ended: rank 0 asks nothing more. */
static hr_status_t listen_to_first(exec_watch_t *watch, bool *out_ended) {
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

static bool is_asked(const asked_t *asked) { return asked->question || asked->head || asked->body; }

static hr_status_t ask(exec_watch_t *watch, int rank, double now) {
  tp_endpoint_t *endpoint = endpoint_of(watch);
  asked_t *asked = &watch->asked[rank];
  asked->asked_s = now;
  HR_TRY(endpoint->vtable->recv(endpoint, rank, TP_TAG_ANSWER, &asked->size_bytes,
                                sizeof asked->size_bytes, &asked->head));
  return endpoint->vtable->send(endpoint, rank, TP_TAG_QUESTION, &watch->question_where,
                                sizeof watch->question_where, &asked->question);
}

static hr_status_t receive_body(exec_watch_t *watch, int rank) {
  tp_endpoint_t *endpoint = endpoint_of(watch);
  asked_t *asked = &watch->asked[rank];
  if (asked->size_bytes > asked->capacity) {
    void *memory;
    HR_TRY(hr_alloc(asked->size_bytes, &memory));
    hr_free(asked->coming);
    asked->coming = memory;
    asked->capacity = asked->size_bytes;
  }
  return endpoint->vtable->recv(endpoint, rank, TP_TAG_ANSWER, asked->coming, asked->size_bytes,
                                &asked->body);
}

/* Moves on what was asked of a rank. */
static hr_status_t hear(exec_watch_t *watch, int rank) {
  asked_t *asked = &watch->asked[rank];
  HR_TRY(test_message(watch, &asked->question));
  if (asked->head) {
    HR_TRY(test_message(watch, &asked->head));
    return asked->head ? NULL : receive_body(watch, rank);
  }
  if (!asked->body) return NULL;
  HR_TRY(test_message(watch, &asked->body));
  if (asked->body) return NULL;
  watch->is_new = true;
  return wait_states_update(&watch->states[rank], (hr_str_t){asked->coming, asked->size_bytes},
                            hr_clock_s(), asked->asked_s);
}

static hr_status_t judge(exec_watch_t *watch, double now) {
  watch->is_new = false;
  print_answer(watch, &watch->answer);
  HR_TRY(hr_strbuf_finish(&watch->answer));
  HR_TRY(wait_states_update(&watch->states[0], (hr_str_t){watch->answer.data, watch->answer.size},
                            watch->began_s, now));
  return wait_detect_deadlock(watch->states, endpoint_of(watch)->world_size, &watch->looks_bad);
}

static hr_status_t query_others(exec_watch_t *watch, double now) {
  double again_s = watch->looks_bad ? SOON_S : AGAIN_S;
  int world = endpoint_of(watch)->world_size;
  for (int r = 1; r < world; r++) {
    HR_TRY(hear(watch, r));
    if (!is_asked(&watch->asked[r]) && now - watch->asked[r].asked_s >= again_s)
      HR_TRY(ask(watch, r, now));
  }
  return watch->is_new || world == 1 ? judge(watch, now) : NULL;
}

/* --- waiting --- */

hr_status_t exec_watch_poll(exec_watch_t *watch) {
  bool ended;
  if (!watch || watch->state == EXEC_WAIT_NONE) return NULL;
  double now = hr_clock_s();
  if (!watch->began_s) watch->began_s = now;
  bool is_first = endpoint_of(watch)->rank == 0;
  if (now - watch->began_s < (is_first ? QUERY_S : LISTEN_S) || now - watch->looked_s < LOOK_S)
    return NULL;
  watch->looked_s = now;
  return is_first ? query_others(watch, now) : listen_to_first(watch, &ended);
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

/* *out_ended: all that was asked is answered. */
static hr_status_t drain_first(exec_watch_t *watch, bool *out_ended) {
  *out_ended = true;
  for (int r = 1; r < endpoint_of(watch)->world_size; r++) {
    HR_TRY(hear(watch, r));
    if (is_asked(&watch->asked[r])) *out_ended = false;
  }
  return NULL;
}

static hr_status_t drain(exec_watch_t *watch) {
  tp_endpoint_t *endpoint = endpoint_of(watch);
  bool ended = false;
  for (uint32_t polls = 0;; polls++) {
    HR_TRY(endpoint->rank ? listen_to_first(watch, &ended) : drain_first(watch, &ended));
    if (ended) return NULL;
    if (endpoint->interrupted) HR_TRY(endpoint->interrupted(endpoint->interrupted_context));
    endpoint->vtable->backoff(endpoint, polls);
  }
}

/* The last question, after which nobody listens; then no message is under way any more. */
static hr_status_t end_questions(exec_watch_t *watch) {
  tp_endpoint_t *endpoint = endpoint_of(watch);
  tp_message_t *message;
  HR_TRY(drain_first(watch, &(bool){false}));
  for (int r = 1; r < endpoint->world_size; r++) {
    HR_TRY(endpoint->vtable->send(endpoint, r, TP_TAG_QUESTION, &watch->question_end,
                                  sizeof watch->question_end, &message));
    while (message) {
      HR_TRY(test_message(watch, &message));
      HR_TRY(hear(watch, r));
    }
  }
  return NULL;
}

static bool has_messages(const exec_watch_t *watch) {
  if (watch->listening || watch->answers[0] || watch->answers[1]) return true;
  for (int r = 1; watch->asked && r < endpoint_of(watch)->world_size; r++)
    if (is_asked(&watch->asked[r])) return true;
  return false;
}

/* Does anybody still have messages of ours under way? */
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

/* --- life --- */

static hr_status_t set_up(exec_watch_t *watch) {
  const tp_group_t *world = watch->comm->groups->world;
  HR_TRY(
      tp_group_get(watch->comm->groups, world->size, world->ranks, FINISH_STREAM, &watch->finish));
  if (endpoint_of(watch)->rank) return NULL;
  HR_TRY(HR_NEW_ARRAY(&watch->arena, world->size, &watch->asked));
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
  for (int r = 1; watch->asked && r < endpoint_of(watch)->world_size; r++) {
    cancel(watch, watch->asked[r].question);
    cancel(watch, watch->asked[r].head);
    cancel(watch, watch->asked[r].body);
    hr_free(watch->asked[r].coming);
  }
  for (int r = 0; watch->states && r < endpoint_of(watch)->world_size; r++)
    wait_states_deinit(&watch->states[r]);
  HR_VEC_FREE(&watch->started);
  hr_strbuf_deinit(&watch->answer);
  hr_map_deinit(&watch->counts);
  hr_arena_deinit(&watch->arena);
  hr_free(watch);
}
