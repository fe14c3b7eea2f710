/* Exchange patterns of equal ranks. Values are small numbers, so that results are exact in every
 * float type. */
#include <ctype.h>
#include <string.h>

#include "schedule/schedule_make.h"

/* --- construction of steps --- */

hr_status_t schedule_write_const(schedule_writer_t *writer, const char *name, double number) {
  schedule_step_t *step;
  HR_TRY(schedule_add(writer->schedule, writer->block, SCHEDULE_CONST, &step));
  HR_TRY(hr_arena_cstr(&writer->schedule->arena, hr_str_from(name), &step->value));
  return hr_arena_printf(&writer->schedule->arena, &step->number, "%.17g", number);
}

/* Appends name = a op b; b NULL: a copy of a. */
hr_status_t schedule_write_compute(schedule_writer_t *writer, const char *name, hlo_opcode_t op,
                                   const char *a, const char *b) {
  schedule_step_t *step;
  hr_arena_t *arena = &writer->schedule->arena;
  HR_TRY(
      schedule_add(writer->schedule, writer->block, b ? SCHEDULE_COMPUTE : SCHEDULE_COPY, &step));
  step->op = op;
  HR_TRY(hr_arena_cstr(arena, hr_str_from(name), &step->value));
  HR_TRY(hr_arena_cstr(arena, hr_str_from(a), &step->a));
  return b ? hr_arena_cstr(arena, hr_str_from(b), &step->b) : NULL;
}

hr_status_t schedule_write_transfer(schedule_writer_t *writer, schedule_kind_t kind,
                                    const char *name, int peer, const char *channel) {
  schedule_step_t *step;
  HR_TRY(schedule_add(writer->schedule, writer->block, kind, &step));
  step->peer = peer;
  HR_TRY(hr_arena_cstr(&writer->schedule->arena, hr_str_from(name), &step->value));
  return hr_arena_cstr(&writer->schedule->arena, hr_str_from(channel), &step->channel);
}

/* Records the expected result with the output, in the order of outputs. */
hr_status_t schedule_write_output(schedule_writer_t *writer, const char *name, double expected) {
  schedule_step_t *step;
  HR_TRY(schedule_add(writer->schedule, writer->block, SCHEDULE_OUTPUT, &step));
  HR_VEC_PUSH(writer->expected, (schedule_result_t){writer->rank, expected});
  return hr_arena_cstr(&writer->schedule->arena, hr_str_from(name), &step->value);
}

/* Exchanges with both neighbours at once, so that neither waits for the other. */
static hr_status_t make_exchange(schedule_writer_t *writer, const char *sent, int to,
                                 const char *received, int from, const char *channel) {
  HR_TRY(schedule_write_transfer(writer, SCHEDULE_SEND_START, sent, to, channel));
  HR_TRY(schedule_write_transfer(writer, SCHEDULE_RECV, received, from, channel));
  return schedule_write_transfer(writer, SCHEDULE_SEND_DONE, sent, to, channel);
}

/* --- ring all-reduce: reduce-scatter, then all-gather, a chunk at a time ---
 * In round k of the first half, rank r sends chunk r - k and adds the received chunk to its chunk
 * r - k - 1. It ends with the sum of chunk r + 1, which the second half sends around the ring. */

/* 2 (ranks - 1) exchanges with the neighbours: the first half accumulates chunks, the second half
 * passes the sums on. Chunk j of rank r is (r + 1) (j + 1). */
static hr_status_t ring_rank(schedule_writer_t *writer, int ranks) {
  char chunk[MAKE_NAME], other[MAKE_NAME];
  int next = (writer->rank + 1) % ranks, previous = (writer->rank + ranks - 1) % ranks;
  for (int j = 0; j < ranks; j++)
    HR_TRY(
        schedule_write_const(writer, make_name(chunk, "chunk", j), (writer->rank + 1.0) * (j + 1)));
  for (int k = 0; k < 2 * (ranks - 1); k++) {
    int sent = (writer->rank - k + 2 * ranks) % ranks, got = (sent + ranks - 1) % ranks;
    bool reduces = k < ranks - 1;
    if (!reduces)
      sent = (writer->rank + 1 - (k - ranks + 1) + 2 * ranks) % ranks,
      got = (sent + ranks - 1) % ranks;
    make_name(chunk, "chunk", got);
    HR_TRY(make_exchange(writer, make_name(other, "chunk", sent), next, reduces ? "part" : chunk,
                         previous, "ring"));
    if (reduces) HR_TRY(schedule_write_compute(writer, chunk, HLO_ADD, chunk, "part"));
  }
  for (int j = 0; j < ranks; j++)
    HR_TRY(schedule_write_output(writer, make_name(chunk, "chunk", j),
                                 ranks * (ranks + 1) / 2.0 * (j + 1)));
  return NULL;
}

hr_status_t pattern_ring_all_reduce(const schedule_gen_options_t *options, schedule_t *schedule,
                                    schedule_results_t *expected) {
  for (int r = 0; r < options->ranks; r++) {
    schedule_writer_t writer = {schedule, &schedule->ranks[r], r, expected};
    HR_TRY(ring_rank(&writer, options->ranks));
  }
  return NULL;
}

/* --- all-to-all --- */

/* All sends start before the first receive, so that no order of ranks can deadlock. */
static hr_status_t all_to_all_rank(schedule_writer_t *writer, int ranks) {
  char sent[MAKE_NAME], got[MAKE_NAME];
  for (int j = 0; j < ranks; j++)
    HR_TRY(schedule_write_const(writer, make_name(sent, "to", j), writer->rank * ranks + j + 1));
  for (int j = 0; j < ranks; j++)
    if (j != writer->rank)
      HR_TRY(schedule_write_transfer(writer, SCHEDULE_SEND_START, make_name(sent, "to", j), j,
                                     "block"));
  for (int j = 0; j < ranks; j++) {
    make_name(got, "from", j);
    if (j != writer->rank)
      HR_TRY(schedule_write_transfer(writer, SCHEDULE_RECV, got, j, "block"));
    else
      HR_TRY(schedule_write_compute(writer, got, HLO_COPY, make_name(sent, "to", j), NULL));
  }
  for (int j = 0; j < ranks; j++)
    if (j != writer->rank)
      HR_TRY(schedule_write_transfer(writer, SCHEDULE_SEND_DONE, make_name(sent, "to", j), j,
                                     "block"));
  for (int j = 0; j < ranks; j++)
    HR_TRY(schedule_write_output(writer, make_name(got, "from", j), j * ranks + writer->rank + 1));
  return NULL;
}

hr_status_t pattern_all_to_all(const schedule_gen_options_t *options, schedule_t *schedule,
                               schedule_results_t *expected) {
  for (int r = 0; r < options->ranks; r++) {
    schedule_writer_t writer = {schedule, &schedule->ranks[r], r, expected};
    HR_TRY(all_to_all_rank(&writer, options->ranks));
  }
  return NULL;
}

/* --- halo exchange: ranks in a row, each iteration u = u / 2 + (left + right) / 4 with zeros
 * beyond the ends --- */

/* One step of a stencil: u = u / 2 + (left + right) / 4; neighbours exchange u. Sends start before
 * receives, so that no order of ranks can deadlock. Missing neighbours at the ends count as 0. */
static hr_status_t halo_iteration(schedule_writer_t *writer, int ranks) {
  bool has_left = writer->rank > 0, has_right = writer->rank + 1 < ranks;
  if (has_left)
    HR_TRY(schedule_write_transfer(writer, SCHEDULE_SEND_START, "u", writer->rank - 1, "to_left"));
  if (has_right)
    HR_TRY(schedule_write_transfer(writer, SCHEDULE_SEND_START, "u", writer->rank + 1, "to_right"));
  if (has_left)
    HR_TRY(schedule_write_transfer(writer, SCHEDULE_RECV, "left", writer->rank - 1, "to_right"));
  if (has_right)
    HR_TRY(schedule_write_transfer(writer, SCHEDULE_RECV, "right", writer->rank + 1, "to_left"));
  if (has_left)
    HR_TRY(schedule_write_transfer(writer, SCHEDULE_SEND_DONE, "u", writer->rank - 1, "to_left"));
  if (has_right)
    HR_TRY(schedule_write_transfer(writer, SCHEDULE_SEND_DONE, "u", writer->rank + 1, "to_right"));
  HR_TRY(schedule_write_compute(writer, "sides", HLO_ADD, "left", "right"));
  HR_TRY(schedule_write_compute(writer, "sides", HLO_MULTIPLY, "sides", "quarter"));
  HR_TRY(schedule_write_compute(writer, "u", HLO_MULTIPLY, "u", "half"));
  return schedule_write_compute(writer, "u", HLO_ADD, "u", "sides");
}

/* The expected result, computed on one rank: half the rank's own value and a quarter of each
 * neighbour's, with zeros beyond the ends. */
static double halo_expected(const schedule_gen_options_t *options, int rank) {
  double u[MAKE_MAX_RANKS] = {0}, next[MAKE_MAX_RANKS];
  for (int r = 0; r < options->ranks; r++) u[r] = 16 * (r + 1);
  for (int t = 0; t < options->steps; t++) {
    for (int r = 0; r < options->ranks; r++) {
      double left = r ? u[r - 1] : 0;
      double right = r + 1 < options->ranks ? u[r + 1] : 0;
      next[r] = 0.5 * u[r] + 0.25 * (left + right);
    }
    memcpy(u, next, sizeof u);
  }
  return u[rank];
}

static hr_status_t halo_rank(schedule_writer_t *writer, const schedule_gen_options_t *options) {
  schedule_step_t *repeat;
  HR_TRY(schedule_write_const(writer, "u", 16 * (writer->rank + 1)));
  HR_TRY(schedule_write_const(writer, "left", 0));
  HR_TRY(schedule_write_const(writer, "right", 0));
  HR_TRY(schedule_write_const(writer, "half", 0.5));
  HR_TRY(schedule_write_const(writer, "quarter", 0.25));
  HR_TRY(schedule_add(writer->schedule, writer->block, SCHEDULE_REPEAT, &repeat));
  repeat->count = options->steps;
  schedule_writer_t iteration = *writer;
  iteration.block = &repeat->body;
  HR_TRY(halo_iteration(&iteration, options->ranks));
  return schedule_write_output(writer, "u", halo_expected(options, writer->rank));
}

hr_status_t pattern_halo(const schedule_gen_options_t *options, schedule_t *schedule,
                         schedule_results_t *expected) {
  for (int r = 0; r < options->ranks; r++) {
    schedule_writer_t writer = {schedule, &schedule->ranks[r], r, expected};
    HR_TRY(halo_rank(&writer, options));
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

/* Dashes and case are ignored: "1F1B", "ring-allreduce". */
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

/* The pattern's name is checked before the options, so that a wrong name is reported first. */
hr_status_t schedule_generate(const char *pattern, const schedule_gen_options_t *options,
                              schedule_t *out_schedule, schedule_results_t *out_expected) {
  const schedule_pattern_t *found = NULL;
  *out_expected = (schedule_results_t){0};
  HR_TRY(schedule_init(out_schedule, options->ranks, "f32[4]"));
  for (size_t i = 0; i < schedule_pattern_count; i++)
    if (is_called(schedule_patterns[i].name, pattern)) found = &schedule_patterns[i];
  if (!found) return unknown_pattern(pattern);
  if (options->ranks < 1 || options->ranks > MAKE_MAX_RANKS || options->microbatches < 1 ||
      options->microbatches > 4096 || options->chunks < 1 || options->chunks > 64 ||
      options->steps < 0)
    return hr_error(HR_USAGE, "want 1 to %d ranks, 1 to 4096 microbatches, 1 to 64 chunks",
                    MAKE_MAX_RANKS);
  return found->generate(options, out_schedule, out_expected);
}
