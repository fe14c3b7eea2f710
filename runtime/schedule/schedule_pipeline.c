/* Pipelines. Stage v computes h(v+1) = h(v) * w(v) of each microbatch, the last stage's result is
 * the loss, and the way back gives g(v) = g(v+1) * w(v) and the weight's gradient dw(v) = sum of
 * g(v+1) * h(v). Weights are 2 and 1/2 in turn, microbatch m starts as m + 1.
 *
 * The order of each rank comes from a simulation of the pipeline: every task takes one unit of
 * time, and each rank picks the first ready task by its rule. A simulated order completes. A send
 * is waited for only when the answer has arrived, or at the end, so that no rank waits for
 * another's receive. */
#include <string.h>

#include "base/mem.h"
#include "schedule/schedule_make.h"

typedef enum task_kind { FORWARD, BACKWARD, WEIGHT, TASK_KINDS } task_kind_t;

typedef struct pipeline {
  int ranks, stages, microbatches;
  bool all_forward_first; /* gpipe */
  bool split_backward;    /* zero-bubble: weight gradients are separate tasks */
  int *when;              /* by kind, stage, microbatch: 1 + completion time; 0: not done */
  int *in_flight;         /* per rank: forward tasks whose backward task is outstanding */
  long left;
} pipeline_t;

static int *when(const pipeline_t *p, task_kind_t kind, int stage, int m) {
  return &p->when[((int)kind * p->stages + stage) * p->microbatches + m];
}

static bool done_before(const pipeline_t *p, task_kind_t kind, int stage, int m, int now) {
  int done = *when(p, kind, stage, m);
  return done && done <= now;
}

static bool is_ready(const pipeline_t *p, task_kind_t kind, int stage, int m, int now) {
  if (*when(p, kind, stage, m)) return false;
  if (kind == FORWARD) return stage == 0 || done_before(p, FORWARD, stage - 1, m, now);
  if (kind == WEIGHT) return done_before(p, BACKWARD, stage, m, now);
  if (!done_before(p, FORWARD, stage, m, now)) return false;
  return stage + 1 == p->stages || done_before(p, BACKWARD, stage + 1, m, now);
}

/* Most microbatches that a rank takes in before it waits for gradients. */
static int most_in_flight(const pipeline_t *p, int rank) {
  int chunks = p->stages / p->ranks;
  if (p->all_forward_first) return chunks * p->microbatches;
  return chunks == 1 ? p->ranks - rank : 2 * (p->ranks - rank - 1) + (chunks - 1) * p->ranks + 1;
}

static bool backward_may_start(const pipeline_t *p, int rank) {
  if (!p->all_forward_first) return true;
  for (int stage = rank; stage < p->stages; stage += p->ranks)
    for (int m = 0; m < p->microbatches; m++)
      if (!*when(p, FORWARD, stage, m)) return false;
  return true;
}

/* The first ready task of a kind. Microbatches are taken in groups as large as the number of ranks;
 * within a group stage by stage, backward tasks from the last stage. */
static bool find_task(const pipeline_t *p, int rank, task_kind_t kind, int now, int *out_stage,
                      int *out_m) {
  int chunks = p->stages / p->ranks;
  for (int group = 0; group < p->microbatches; group += p->ranks)
    for (int c = 0; c < chunks; c++)
      for (int m = group; m < group + p->ranks && m < p->microbatches; m++) {
        int stage = (kind == FORWARD ? c : chunks - 1 - c) * p->ranks + rank;
        if (!is_ready(p, kind, stage, m, now)) continue;
        *out_stage = stage;
        *out_m = m;
        return true;
      }
  return false;
}

/* Backward tasks first, which free an activation; then forward tasks within the limit in flight;
 * weight gradients fill the gaps. hurry: ignores the limit. */
static bool choose_task(const pipeline_t *p, int rank, int now, bool hurry, task_kind_t *out_kind,
                        int *out_stage, int *out_m) {
  *out_kind = BACKWARD;
  if (backward_may_start(p, rank) && find_task(p, rank, BACKWARD, now, out_stage, out_m))
    return true;
  *out_kind = FORWARD;
  bool room = hurry || p->in_flight[rank] < most_in_flight(p, rank);
  if (room && find_task(p, rank, FORWARD, now, out_stage, out_m)) return true;
  *out_kind = WEIGHT;
  return p->split_backward && find_task(p, rank, WEIGHT, now, out_stage, out_m);
}

/* --- steps of tasks --- */

static double weight_of(int stage) { return stage % 2 ? 0.5 : 2; }

static int rank_of(const pipeline_t *p, int stage) { return stage % p->ranks; }

/* Do the stage's neighbours differ in rank? Stages on one rank pass values on without a
 * transfer. */
static bool crosses(const pipeline_t *p, int stage) {
  return stage >= 0 && stage + 1 < p->stages && p->ranks > 1;
}

/* h(stage + 1) = h(stage) * w(stage) of microbatch m, received before and sent on where the ranks
 * of stages differ. The last stage's value is added to the loss. */
static hr_status_t make_forward(schedule_writer_t *writer, const pipeline_t *p, int stage, int m) {
  char h[MAKE_NAME], next[MAKE_NAME], w[MAKE_NAME], channel[MAKE_NAME];
  make_name2(h, "h", stage, m);
  make_name2(next, "h", stage + 1, m);
  if (stage == 0)
    HR_TRY(schedule_write_const(writer, h, m + 1));
  else if (crosses(p, stage - 1))
    HR_TRY(schedule_write_transfer(writer, SCHEDULE_RECV, h, rank_of(p, stage - 1),
                                   make_name(channel, "h", stage)));
  HR_TRY(schedule_write_compute(writer, next, HLO_MULTIPLY, h, make_name(w, "w", stage)));
  if (stage + 1 == p->stages) return schedule_write_compute(writer, "loss", HLO_ADD, "loss", next);
  if (!crosses(p, stage)) return NULL;
  return schedule_write_transfer(writer, SCHEDULE_SEND_START, next, rank_of(p, stage + 1),
                                 make_name(channel, "h", stage + 1));
}

static hr_status_t make_weight(schedule_writer_t *writer, int stage, int m) {
  char g[MAKE_NAME], h[MAKE_NAME], dw[MAKE_NAME];
  make_name(dw, "dw", stage);
  HR_TRY(schedule_write_compute(writer, "part", HLO_MULTIPLY, make_name2(g, "g", stage + 1, m),
                                make_name2(h, "h", stage, m)));
  return schedule_write_compute(writer, dw, HLO_ADD, dw, "part");
}

/* g(stage) = g(stage + 1) * w(stage), in the opposite direction; g after the last stage is 1. */
static hr_status_t make_backward(schedule_writer_t *writer, const pipeline_t *p, int stage, int m) {
  char g[MAKE_NAME], next[MAKE_NAME], h[MAKE_NAME], w[MAKE_NAME], channel[MAKE_NAME];
  make_name2(g, "g", stage + 1, m);
  make_name2(next, "g", stage, m);
  if (stage + 1 == p->stages)
    HR_TRY(schedule_write_const(writer, g, 1));
  else if (crosses(p, stage))
    HR_TRY(schedule_write_transfer(writer, SCHEDULE_RECV, g, rank_of(p, stage + 1),
                                   make_name(channel, "g", stage + 1)));
  /* The answer shows that the send has arrived. */
  if (crosses(p, stage))
    HR_TRY(schedule_write_transfer(writer, SCHEDULE_SEND_DONE, make_name2(h, "h", stage + 1, m),
                                   rank_of(p, stage + 1), make_name(channel, "h", stage + 1)));
  if (stage > 0)
    HR_TRY(schedule_write_compute(writer, next, HLO_MULTIPLY, g, make_name(w, "w", stage)));
  if (crosses(p, stage - 1))
    HR_TRY(schedule_write_transfer(writer, SCHEDULE_SEND_START, next, rank_of(p, stage - 1),
                                   make_name(channel, "g", stage)));
  return p->split_backward ? NULL : make_weight(writer, stage, m);
}

static hr_status_t make_task(schedule_writer_t *writer, const pipeline_t *p, task_kind_t kind,
                             int stage, int m) {
  if (kind == FORWARD) return make_forward(writer, p, stage, m);
  return kind == BACKWARD ? make_backward(writer, p, stage, m) : make_weight(writer, stage, m);
}

static hr_status_t begin_rank(schedule_writer_t *writer, const pipeline_t *p) {
  char name[MAKE_NAME];
  for (int stage = writer->rank; stage < p->stages; stage += p->ranks) {
    HR_TRY(schedule_write_const(writer, make_name(name, "w", stage), weight_of(stage)));
    HR_TRY(schedule_write_const(writer, make_name(name, "dw", stage), 0));
    if (stage + 1 == p->stages) HR_TRY(schedule_write_const(writer, "loss", 0));
  }
  return NULL;
}

/* Sum over microbatches of the product of all weights but `without`. */
static double total(const pipeline_t *p, int without) {
  double product = p->microbatches * (p->microbatches + 1) / 2.0;
  for (int stage = 0; stage < p->stages; stage++)
    if (stage != without) product *= weight_of(stage);
  return product;
}

static hr_status_t end_rank(schedule_writer_t *writer, const pipeline_t *p) {
  char name[MAKE_NAME], channel[MAKE_NAME];
  for (int stage = writer->rank; stage < p->stages; stage += p->ranks)
    for (int m = 0; m < p->microbatches && crosses(p, stage - 1); m++)
      HR_TRY(schedule_write_transfer(writer, SCHEDULE_SEND_DONE, make_name2(name, "g", stage, m),
                                     rank_of(p, stage - 1), make_name(channel, "g", stage)));
  for (int stage = writer->rank; stage < p->stages; stage += p->ranks) {
    HR_TRY(schedule_write_output(writer, make_name(name, "dw", stage), total(p, stage)));
    if (stage + 1 == p->stages) HR_TRY(schedule_write_output(writer, "loss", total(p, -1)));
  }
  return NULL;
}

/* --- simulation --- */

/* Simulates one unit of time: each rank does one task whose inputs were ready before. */
static hr_status_t play_tick(pipeline_t *p, schedule_writer_t *makes, int now, bool hurry,
                             bool *out_moved) {
  *out_moved = false;
  for (int rank = 0; rank < p->ranks; rank++) {
    task_kind_t kind;
    int stage, m;
    if (!choose_task(p, rank, now, hurry, &kind, &stage, &m)) continue;
    HR_TRY(make_task(&makes[rank], p, kind, stage, m));
    *when(p, kind, stage, m) = now + 1;
    if (kind == FORWARD) p->in_flight[rank]++;
    if (kind == BACKWARD) p->in_flight[rank]--;
    p->left--;
    *out_moved = true;
  }
  return NULL;
}

static hr_status_t play(pipeline_t *p, schedule_writer_t *makes) {
  bool moved = true;
  p->left = (long)p->stages * p->microbatches * (p->split_backward ? 3 : 2);
  for (int r = 0; r < p->ranks; r++) HR_TRY(begin_rank(&makes[r], p));
  for (int now = 0; p->left; now++) HR_TRY(play_tick(p, makes, now, !moved, &moved));
  for (int r = 0; r < p->ranks; r++) HR_TRY(end_rank(&makes[r], p));
  return NULL;
}

static hr_status_t generate(pipeline_t p, schedule_t *schedule, schedule_results_t *expected) {
  hr_arena_t arena;
  schedule_writer_t *makes;
  hr_arena_init(&arena);
  hr_status_t st = HR_NEW_ARRAY(&arena, (size_t)TASK_KINDS * p.stages * p.microbatches, &p.when);
  if (!st) st = HR_NEW_ARRAY(&arena, p.ranks, &p.in_flight);
  if (!st) st = HR_NEW_ARRAY(&arena, p.ranks, &makes);
  for (int r = 0; r < p.ranks && !st; r++)
    makes[r] = (schedule_writer_t){schedule, &schedule->ranks[r], r, expected};
  if (!st) st = play(&p, makes);
  hr_arena_deinit(&arena);
  return st;
}

hr_status_t pattern_gpipe(const schedule_gen_options_t *options, schedule_t *schedule,
                          schedule_results_t *expected) {
  return generate((pipeline_t){.ranks = options->ranks,
                               .stages = options->ranks,
                               .microbatches = options->microbatches,
                               .all_forward_first = true},
                  schedule, expected);
}

hr_status_t pattern_1f1b(const schedule_gen_options_t *options, schedule_t *schedule,
                         schedule_results_t *expected) {
  return generate(
      (pipeline_t){
          .ranks = options->ranks, .stages = options->ranks, .microbatches = options->microbatches},
      schedule, expected);
}

hr_status_t pattern_interleaved(const schedule_gen_options_t *options, schedule_t *schedule,
                                schedule_results_t *expected) {
  return generate((pipeline_t){.ranks = options->ranks,
                               .stages = options->ranks * options->chunks,
                               .microbatches = options->microbatches},
                  schedule, expected);
}

hr_status_t pattern_zero_bubble(const schedule_gen_options_t *options, schedule_t *schedule,
                                schedule_results_t *expected) {
  return generate((pipeline_t){.ranks = options->ranks,
                               .stages = options->ranks,
                               .microbatches = options->microbatches,
                               .split_backward = true},
                  schedule, expected);
}
