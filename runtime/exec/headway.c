#include "exec/headway.h"

#include <stdio.h>
#include <time.h>

#include "exec/wait_watch.h"

#define LOOK_S 0.01

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* There is one writer, so that no locked instruction is needed. */
#define GET(place) atomic_load_explicit(&(place), memory_order_relaxed)
#define SET(place, value) atomic_store_explicit(&(place), value, memory_order_relaxed)

static void set_note(exec_loop_note_t *note, const hlo_instr_t *loop, unsigned long rounds) {
  SET(note->loop, loop);
  SET(note->rounds, rounds);
}

static void add_one_step(exec_headway_t *headway) { SET(headway->steps, GET(headway->steps) + 1); }

void exec_headway_enter(exec_headway_t *headway, const hlo_instr_t *loop, exec_loop_before_t *out_before) {
  if (!headway) return;
  *out_before = (exec_loop_before_t){GET(headway->outer.loop) != NULL, GET(headway->inner.loop),
                                     GET(headway->inner.rounds)};
  set_note(out_before->is_inner ? &headway->inner : &headway->outer, loop, 0);
  if (out_before->is_inner) return;
  SET(headway->began_s, now_s());
  add_one_step(headway);
}

void exec_headway_leave(exec_headway_t *headway, const exec_loop_before_t *before) {
  if (!headway) return;
  set_note(&headway->inner, before->loop, before->rounds);
  if (before->is_inner) return;
  set_note(&headway->outer, NULL, 0);
  add_one_step(headway);
}

void exec_headway_add_rounds(exec_headway_t *headway, const hlo_instr_t *loop, int64_t rounds) {
  if (!headway) return;
  bool is_outer = GET(headway->outer.loop) == loop;
  exec_loop_note_t *note = is_outer ? &headway->outer : &headway->inner;
  if (GET(note->loop) != loop) set_note(note, loop, 0);
  SET(note->rounds, GET(note->rounds) + (unsigned long)rounds);
  if (is_outer) SET(headway->inner.loop, NULL);
}

void exec_headway_add_call(exec_headway_t *headway, const hlo_computation_t *computation) {
  exec_loop_note_t *notes[2];
  if (!headway || !GET(headway->outer.loop)) return;
  notes[0] = &headway->outer, notes[1] = &headway->inner;
  for (int i = 0; i < 2; i++) {
    const hlo_instr_t *loop = GET(notes[i]->loop);
    if (loop && loop->called[1] == computation) SET(notes[i]->rounds, GET(notes[i]->rounds) + 1);
  }
}

void exec_headway_add_step(exec_headway_t *headway, bool is_transfer) {
  if (headway && (is_transfer || !GET(headway->outer.loop))) add_one_step(headway);
}

bool exec_headway_is_due(exec_headway_t *headway) {
  if (!headway || !GET(headway->outer.loop)) return false;
  double now = now_s();
  if (now - headway->looked_s < LOOK_S) return false;
  headway->looked_s = now;
  return true;
}

bool exec_headway_describe(const exec_headway_t *headway, char *into, size_t size) {
  const hlo_instr_t *outer = headway ? GET(headway->outer.loop) : NULL;
  const hlo_instr_t *inner = headway ? GET(headway->inner.loop) : NULL;
  char place[96];
  if (!outer) return false;
  exec_place_print(outer, place, sizeof place);
  int used = snprintf(into, size, "goes round in %s, for %.3g s: %lu rounds", place,
                      now_s() - GET(headway->began_s), GET(headway->outer.rounds));
  if (!inner || used < 0 || (size_t)used >= size) return true;
  exec_place_print(inner, place, sizeof place);
  snprintf(into + used, size - (size_t)used, ", and in %s, inside of it: %lu rounds", place,
           GET(headway->inner.rounds));
  return true;
}
