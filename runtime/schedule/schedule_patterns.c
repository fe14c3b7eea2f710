/* Exchange patterns among equal ranks. Values are small numbers, so that the results are exact in every float type. */
#include <ctype.h>
#include <string.h>

#include "schedule/schedule_make.h"

/* --- making steps --- */

hr_status_t make_const(make_t *make, const char *name, double number) {
  schedule_step_t *step;
  HR_TRY(schedule_add(make->schedule, make->block, SCHEDULE_CONST, &step));
  HR_TRY(hr_arena_cstr(&make->schedule->arena, hr_str_from(name), &step->value));
  return hr_arena_printf(&make->schedule->arena, &step->number, "%.17g", number);
}

hr_status_t make_compute(make_t *make, const char *name, hlo_opcode_t op, const char *a, const char *b) {
  schedule_step_t *step;
  hr_arena_t *arena = &make->schedule->arena;
  HR_TRY(schedule_add(make->schedule, make->block, b ? SCHEDULE_COMPUTE : SCHEDULE_COPY, &step));
  step->op = op;
  HR_TRY(hr_arena_cstr(arena, hr_str_from(name), &step->value));
  HR_TRY(hr_arena_cstr(arena, hr_str_from(a), &step->a));
  return b ? hr_arena_cstr(arena, hr_str_from(b), &step->b) : NULL;
}

hr_status_t make_transfer(make_t *make, schedule_kind_t kind, const char *name, int peer, const char *channel) {
  schedule_step_t *step;
  HR_TRY(schedule_add(make->schedule, make->block, kind, &step));
  step->peer = peer;
  HR_TRY(hr_arena_cstr(&make->schedule->arena, hr_str_from(name), &step->value));
  return hr_arena_cstr(&make->schedule->arena, hr_str_from(channel), &step->channel);
}

hr_status_t make_output(make_t *make, const char *name, double expected) {
  schedule_step_t *step;
  HR_TRY(schedule_add(make->schedule, make->block, SCHEDULE_OUTPUT, &step));
  HR_VEC_PUSH(make->expected, (schedule_result_t){make->rank, expected});
  return hr_arena_cstr(&make->schedule->arena, hr_str_from(name), &step->value);
}

/* Both neighbours at once: none waits for the other. */
static hr_status_t make_exchange(make_t *make, const char *sent, int to, const char *received, int from,
                                 const char *channel) {
  HR_TRY(make_transfer(make, SCHEDULE_SEND_START, sent, to, channel));
  HR_TRY(make_transfer(make, SCHEDULE_RECV, received, from, channel));
  return make_transfer(make, SCHEDULE_SEND_DONE, sent, to, channel);
}

/* --- ring all-reduce: reduce-scatter, then all-gather, a chunk at a time ---
 * In round k of the first half rank r passes chunk r - k on and adds what it gets to chunk r - k - 1; it ends with all
 * of chunk r + 1, which the second half passes round. */

static hr_status_t ring_rank(make_t *make, int ranks) {
  char chunk[MAKE_NAME], other[MAKE_NAME];
  int next = (make->rank + 1) % ranks, previous = (make->rank + ranks - 1) % ranks;
  for (int j = 0; j < ranks; j++)
    HR_TRY(make_const(make, make_name(chunk, "chunk", j), (make->rank + 1.0) * (j + 1)));
  for (int k = 0; k < 2 * (ranks - 1); k++) {
    int sent = (make->rank - k + 2 * ranks) % ranks, got = (sent + ranks - 1) % ranks;
    bool reduces = k < ranks - 1;
    if (!reduces) sent = (make->rank + 1 - (k - ranks + 1) + 2 * ranks) % ranks, got = (sent + ranks - 1) % ranks;
    make_name(chunk, "chunk", got);
    HR_TRY(make_exchange(make, make_name(other, "chunk", sent), next, reduces ? "part" : chunk, previous, "ring"));
    if (reduces) HR_TRY(make_compute(make, chunk, HLO_ADD, chunk, "part"));
  }
  for (int j = 0; j < ranks; j++)
    HR_TRY(make_output(make, make_name(chunk, "chunk", j), ranks * (ranks + 1) / 2.0 * (j + 1)));
  return NULL;
}

hr_status_t pattern_ring_all_reduce(const schedule_gen_options_t *options, schedule_t *schedule,
                                    schedule_results_t *expected) {
  for (int r = 0; r < options->ranks; r++) {
    make_t make = {schedule, &schedule->ranks[r], r, expected};
    HR_TRY(ring_rank(&make, options->ranks));
  }
  return NULL;
}

/* --- all-to-all --- */

static hr_status_t all_to_all_rank(make_t *make, int ranks) {
  char sent[MAKE_NAME], got[MAKE_NAME];
  for (int j = 0; j < ranks; j++)
    HR_TRY(make_const(make, make_name(sent, "to", j), make->rank * ranks + j + 1));
  for (int j = 0; j < ranks; j++)
    if (j != make->rank) HR_TRY(make_transfer(make, SCHEDULE_SEND_START, make_name(sent, "to", j), j, "block"));
  for (int j = 0; j < ranks; j++) {
    make_name(got, "from", j);
    if (j != make->rank)
      HR_TRY(make_transfer(make, SCHEDULE_RECV, got, j, "block"));
    else
      HR_TRY(make_compute(make, got, HLO_COPY, make_name(sent, "to", j), NULL));
  }
  for (int j = 0; j < ranks; j++)
    if (j != make->rank) HR_TRY(make_transfer(make, SCHEDULE_SEND_DONE, make_name(sent, "to", j), j, "block"));
  for (int j = 0; j < ranks; j++) HR_TRY(make_output(make, make_name(got, "from", j), j * ranks + make->rank + 1));
  return NULL;
}

hr_status_t pattern_all_to_all(const schedule_gen_options_t *options, schedule_t *schedule,
                               schedule_results_t *expected) {
  for (int r = 0; r < options->ranks; r++) {
    make_t make = {schedule, &schedule->ranks[r], r, expected};
    HR_TRY(all_to_all_rank(&make, options->ranks));
  }
  return NULL;
}

/* --- halo exchange: ranks in a row, each turn u = u / 2 + (left + right) / 4 with zeros beyond the ends --- */

static hr_status_t halo_turn(make_t *make, int ranks) {
  bool has_left = make->rank > 0, has_right = make->rank + 1 < ranks;
  if (has_left) HR_TRY(make_transfer(make, SCHEDULE_SEND_START, "u", make->rank - 1, "to_left"));
  if (has_right) HR_TRY(make_transfer(make, SCHEDULE_SEND_START, "u", make->rank + 1, "to_right"));
  if (has_left) HR_TRY(make_transfer(make, SCHEDULE_RECV, "left", make->rank - 1, "to_right"));
  if (has_right) HR_TRY(make_transfer(make, SCHEDULE_RECV, "right", make->rank + 1, "to_left"));
  if (has_left) HR_TRY(make_transfer(make, SCHEDULE_SEND_DONE, "u", make->rank - 1, "to_left"));
  if (has_right) HR_TRY(make_transfer(make, SCHEDULE_SEND_DONE, "u", make->rank + 1, "to_right"));
  HR_TRY(make_compute(make, "sides", HLO_ADD, "left", "right"));
  HR_TRY(make_compute(make, "sides", HLO_MULTIPLY, "sides", "quarter"));
  HR_TRY(make_compute(make, "u", HLO_MULTIPLY, "u", "half"));
  return make_compute(make, "u", HLO_ADD, "u", "sides");
}

static double halo_expected(const schedule_gen_options_t *options, int rank) {
  double u[MAKE_MAX_RANKS] = {0}, next[MAKE_MAX_RANKS];
  for (int r = 0; r < options->ranks; r++) u[r] = 16 * (r + 1);
  for (int t = 0; t < options->steps; t++) {
    for (int r = 0; r < options->ranks; r++)
      next[r] = 0.5 * u[r] + 0.25 * ((r ? u[r - 1] : 0) + (r + 1 < options->ranks ? u[r + 1] : 0));
    memcpy(u, next, sizeof u);
  }
  return u[rank];
}

static hr_status_t halo_rank(make_t *make, const schedule_gen_options_t *options) {
  schedule_step_t *repeat;
  HR_TRY(make_const(make, "u", 16 * (make->rank + 1)));
  HR_TRY(make_const(make, "left", 0));
  HR_TRY(make_const(make, "right", 0));
  HR_TRY(make_const(make, "half", 0.5));
  HR_TRY(make_const(make, "quarter", 0.25));
  HR_TRY(schedule_add(make->schedule, make->block, SCHEDULE_REPEAT, &repeat));
  repeat->count = options->steps;
  make_t turn = *make;
  turn.block = &repeat->body;
  HR_TRY(halo_turn(&turn, options->ranks));
  return make_output(make, "u", halo_expected(options, make->rank));
}

hr_status_t pattern_halo(const schedule_gen_options_t *options, schedule_t *schedule, schedule_results_t *expected) {
  for (int r = 0; r < options->ranks; r++) {
    make_t make = {schedule, &schedule->ranks[r], r, expected};
    HR_TRY(halo_rank(&make, options));
  }
  return NULL;
}

/* --- the list --- */

const schedule_pattern_t schedule_patterns[] = {
    {"gpipe", "pipeline: all forward passes, then all backward passes", pattern_gpipe},
    {"1f1b", "pipeline: one forward, one backward, as soon as there is a gradient", pattern_1f1b},
    {"interleaved-1f1b", "the same with several stages on each rank", pattern_interleaved},
    {"zero-bubble", "pipeline: weight gradients fill the waits", pattern_zero_bubble},
    {"ring-all-reduce", "reduce-scatter and all-gather round a ring", pattern_ring_all_reduce},
    {"halo", "exchange of neighbours in a row, in a loop", pattern_halo},
    {"all-to-all", "every rank sends to every other", pattern_all_to_all},
};
const size_t schedule_pattern_count = sizeof schedule_patterns / sizeof *schedule_patterns;

/* Dashes and case are a matter of taste: "1F1B", "ring-allreduce". */
static bool is_called(const char *name, const char *given) {
  do {
    while (*name == '-') name++;
    while (*given == '-' || *given == '_') given++;
    if (*name != tolower((unsigned char)*given)) return false;
  } while (*name++ && *given++);
  return true;
}

static hr_status_t unknown_pattern(const char *name) {
  hr_status_t st = hr_error(HR_USAGE, "there is no schedule called '%s'", name);
  for (size_t i = 0; i < schedule_pattern_count; i++)
    st = hr_status_note(st, "%-17s %s", schedule_patterns[i].name, schedule_patterns[i].help);
  return st;
}

hr_status_t schedule_generate(const char *pattern, const schedule_gen_options_t *options, schedule_t *out_schedule,
                              schedule_results_t *out_expected) {
  const schedule_pattern_t *found = NULL;
  *out_expected = (schedule_results_t){0};
  HR_TRY(schedule_init(out_schedule, options->ranks, "f32[4]"));
  for (size_t i = 0; i < schedule_pattern_count; i++)
    if (is_called(schedule_patterns[i].name, pattern)) found = &schedule_patterns[i];
  if (!found) return unknown_pattern(pattern);
  if (options->ranks < 1 || options->ranks > MAKE_MAX_RANKS || options->microbatches < 1 ||
      options->microbatches > 4096 || options->chunks < 1 || options->chunks > 64 || options->steps < 0)
    return hr_error(HR_USAGE, "want 1 to %d ranks, 1 to 4096 microbatches, 1 to 64 chunks", MAKE_MAX_RANKS);
  return found->generate(options, out_schedule, out_expected);
}
