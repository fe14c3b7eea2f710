#include "observe/wait_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const exec_answer_t *head_of(const wait_states_t *states) {
  return (const exec_answer_t *)states->bytes;
}
static const char *text_of(const wait_states_t *states) {
  return states->bytes + sizeof(exec_answer_t);
}
static const exec_needed_t *needs_of(const wait_states_t *states) {
  return (const exec_needed_t *)(text_of(states) + EXEC_WAIT_TEXT);
}
static exec_started_t *started_of(const wait_states_t *states) {
  return (exec_started_t *)(needs_of(states) + head_of(states)->need_count);
}

static bool is_in(const wait_states_t *states, exec_wait_state_t state) {
  return states->bytes && head_of(states)->state == state;
}

static int compare_started(const void *a, const void *b) {
  uint64_t x = ((const exec_started_t *)a)->what, y = ((const exec_started_t *)b)->what;
  return x < y ? -1 : x > y;
}

hr_status_t wait_states_update(wait_states_t *states, hr_str_t answer, double told_s,
                               double queried_s) {
  const exec_answer_t *head = (const exec_answer_t *)answer.data;
  if (states->bytes && head_of(states)->waits == head->waits &&
      head_of(states)->state == head->state) {
    states->held_to = queried_s;
    return NULL;
  }
  if (states->capacity < answer.size) {
    void *memory;
    HR_TRY(hr_alloc(answer.size, &memory));
    hr_free(states->bytes);
    states->bytes = memory;
    states->capacity = answer.size;
  }
  memcpy(states->bytes, answer.data, answer.size);
  if (head->started_count)
    qsort(started_of(states), head->started_count, sizeof(exec_started_t), compare_started);
  states->held_from = told_s;
  states->held_to = queried_s;
  return NULL;
}

void wait_states_deinit(wait_states_t *states) { hr_free(states->bytes); }

/* --- who is stuck --- */

static uint64_t started_by(const wait_states_t *states, uint64_t what) {
  exec_started_t key = {.what = what};
  if (!head_of(states)->started_count) return 0;
  const exec_started_t *found = bsearch(&key, started_of(states), head_of(states)->started_count,
                                        sizeof key, compare_started);
  return found ? found->count : 0;
}

/* What a rank needs of one that will never do it; NULL: there is hope. */
static const exec_needed_t *find_hopeless(const wait_states_t *all, int rank) {
  const exec_needed_t *needs = needs_of(&all[rank]);
  for (uint64_t n = 0; n < head_of(&all[rank])->need_count; n++) {
    const wait_states_t *other = &all[needs[n].rank];
    if (!other->is_stuck && !is_in(other, EXEC_WAIT_FINISHED)) continue;
    if (started_by(other, needs[n].what) < needs[n].count) return &needs[n];
  }
  return NULL;
}

/* Everybody who waits is stuck, but for those who may still get what they need, and whom these may
 * help. */
static int mark_stuck(wait_states_t *all, int world) {
  int stuck = 0;
  for (int r = 0; r < world; r++) stuck += all[r].is_stuck = is_in(&all[r], EXEC_WAIT_WAITS);
  for (bool changed = true; changed;) {
    changed = false;
    for (int r = 0; r < world; r++) {
      if (!all[r].is_stuck || find_hopeless(all, r)) continue;
      all[r].is_stuck = false;
      changed = true;
      stuck--;
    }
  }
  return stuck;
}

/* Is there a moment at which all of them were where they say? */
static bool are_of_one_moment(const wait_states_t *all, int world) {
  double from = 0, to = 0;
  bool any = false;
  for (int r = 0; r < world; r++) {
    if (!all[r].is_stuck && !is_in(&all[r], EXEC_WAIT_FINISHED)) continue;
    if (!any || all[r].held_from > from) from = all[r].held_from;
    if (!any || all[r].held_to < to) to = all[r].held_to;
    any = true;
  }
  return any && from <= to;
}

/* --- the report --- */

static hr_status_t note_rank(hr_status_t st, const wait_states_t *all, int rank) {
  const wait_states_t *states = &all[rank];
  if (is_in(states, EXEC_WAIT_FINISHED))
    return hr_status_note(st, "rank %d has finished its program", rank);
  if (!states->is_stuck)
    return hr_status_note(st, "rank %d %s%s", rank,
                          states->bytes ? "was last seen in " : "computes",
                          states->bytes ? text_of(states) : "");
  const exec_needed_t *need = find_hopeless(all, rank);
  return hr_status_note(
      st, "rank %d waits in %s, for rank %ld to start its operation number %lu; it has started %lu",
      rank, text_of(states), (long)need->rank, (unsigned long)need->count,
      (unsigned long)started_by(&all[need->rank], need->what));
}

static int next_of(const wait_states_t *all, int rank) {
  return all[rank].is_stuck ? (int)find_hopeless(all, rank)->rank : -1;
}

/* A rank on a cycle of waiting, or -1: then those who are stuck wait for others that have finished.
 */
static int find_cycle(const wait_states_t *all, int world) {
  for (int start = 0; start < world; start++) {
    int at = start, steps = 0;
    do at = next_of(all, at);
    while (at >= 0 && at != start && ++steps <= world);
    if (at == start) return start;
  }
  return -1;
}

static hr_status_t report(wait_states_t *all, int world, int stuck) {
  hr_status_t st = hr_error(
      HR_DISAGREE, "deadlock: %d of %d processes wait for operations that no process can start",
      stuck, world);
  int first = find_cycle(all, world), at = first;
  if (first >= 0) st = hr_status_note(st, "a cycle of waiting:");
  while (at >= 0) {
    int next = next_of(all, at);
    st = note_rank(st, all, at);
    all[at].held_to = -1; /* it has been told of */
    at = next == first ? -1 : next;
  }
  for (int r = 0; r < world; r++)
    if (all[r].held_to >= 0) st = note_rank(st, all, r);
  return st;
}

hr_status_t wait_detect_deadlock(wait_states_t *all, int world, bool *out_looks_bad) {
  int stuck = mark_stuck(all, world);
  *out_looks_bad = stuck > 0;
  if (!stuck || !are_of_one_moment(all, world)) return NULL;
  return report(all, world, stuck);
}
