/* Progress counters: relaxed atomics with one writer, so that plain loads and stores suffice and
 * no locked instruction is needed. Readers may see a loop and an iteration count of different
 * moments. */
#include "observe/progress_counter.h"

#include <stdio.h>

#include "base/decimal.h"
#include "base/clock.h"
#include "comm/model/comm_signature.h"

#define POLL_S 0.01

/* One writer: no locked instruction is needed. */
#define GET(location) atomic_load_explicit(&(location), memory_order_relaxed)
#define SET(location, value) atomic_store_explicit(&(location), value, memory_order_relaxed)

static void set_note(exec_loop_note_t *note, const hlo_instr_t *loop, unsigned long rounds) {
  SET(note->loop, loop);
  SET(note->rounds, rounds);
}

static void add_one_step(exec_progress_t *progress) {
  SET(progress->steps, GET(progress->steps) + 1);
}

void exec_progress_enter(exec_progress_t *progress, const hlo_instr_t *loop,
                         exec_outer_loop_t *out_before) {
  if (!progress) return;
  *out_before = (exec_outer_loop_t){GET(progress->outer.loop) != NULL, GET(progress->inner.loop),
                                    GET(progress->inner.rounds)};
  set_note(out_before->is_inner ? &progress->inner : &progress->outer, loop, 0);
  if (out_before->is_inner) return;
  SET(progress->began_s, hr_clock_coarse_s());
  add_one_step(progress);
}

void exec_progress_leave(exec_progress_t *progress, const exec_outer_loop_t *before) {
  if (!progress) return;
  set_note(&progress->inner, before->loop, before->rounds);
  if (before->is_inner) return;
  set_note(&progress->outer, NULL, 0);
  add_one_step(progress);
}

void exec_progress_add_iterations(exec_progress_t *progress, const hlo_instr_t *loop,
                                  int64_t rounds) {
  if (!progress) return;
  bool is_outer = GET(progress->outer.loop) == loop;
  exec_loop_note_t *note = is_outer ? &progress->outer : &progress->inner;
  if (GET(note->loop) != loop) set_note(note, loop, 0);
  SET(note->rounds, GET(note->rounds) + (unsigned long)rounds);
  if (is_outer) SET(progress->inner.loop, NULL);
}

void exec_progress_add_call(exec_progress_t *progress, const hlo_computation_t *computation) {
  exec_loop_note_t *notes[2];
  if (!progress || !GET(progress->outer.loop)) return;
  notes[0] = &progress->outer;
  notes[1] = &progress->inner;
  for (int i = 0; i < 2; i++) {
    const hlo_instr_t *loop = GET(notes[i]->loop);
    if (loop && loop->called[1] == computation) SET(notes[i]->rounds, GET(notes[i]->rounds) + 1);
  }
}

void exec_progress_add_step(exec_progress_t *progress, bool is_transfer) {
  if (progress && (is_transfer || !GET(progress->outer.loop))) add_one_step(progress);
}

bool exec_progress_is_due(exec_progress_t *progress) {
  if (!progress || !GET(progress->outer.loop)) return false;
  double now = hr_clock_coarse_s();
  if (now - progress->polled_s < POLL_S) return false;
  progress->polled_s = now;
  return true;
}

bool exec_progress_describe(const exec_progress_t *progress, char *into, size_t size) {
  const hlo_instr_t *outer = progress ? GET(progress->outer.loop) : NULL;
  const hlo_instr_t *inner = progress ? GET(progress->inner.loop) : NULL;
  char location[96];
  if (!outer) return false;
  comm_print_source_loc(outer, location, sizeof location);
  int used = hr_snprintf(into, size, "is in loop %s for %.3g s, %lu iterations", location,
                         hr_clock_coarse_s() - GET(progress->began_s), GET(progress->outer.rounds));
  if (!inner || used < 0 || (size_t)used >= size) return true;
  comm_print_source_loc(inner, location, sizeof location);
  hr_snprintf(into + used, size - (size_t)used, ", and in its inner loop %s, %lu iterations",
              location, GET(progress->inner.rounds));
  return true;
}
