/* The deadlock test over the last answers of all ranks. Greatest fixed point: assume that all
 * waiting ranks are deadlocked, then repeatedly release those whose needs are already met, or
 * depend on a rank that is not in the set. What remains can never be released. Cost: at most ranks
 * squared times needs.
 *
 * The answers are of different times. Each is valid for an interval [held_from, held_to]; the
 * result counts only if the intervals of all deadlocked and finished ranks intersect, since then
 * all of them were in these states at one moment, and no rank of the set can leave its state by
 * itself. */
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

hr_status_t wait_states_update(wait_states_t *states, hr_str_t answer, double answered_s,
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
  states->held_from = answered_s;
  states->held_to = queried_s;
  return NULL;
}

void wait_states_deinit(wait_states_t *states) { hr_free(states->bytes); }

/* --- the test --- */

static uint64_t count_started(const wait_states_t *states, uint64_t what) {
  exec_started_t key = {.what = what};
  if (!head_of(states)->started_count) return 0;
  const exec_started_t *found = bsearch(&key, started_of(states), head_of(states)->started_count,
                                        sizeof key, compare_started);
  return found ? found->count : 0;
}

/* A need of `rank` that a deadlocked or finished rank will never meet; NULL: none. */
static const exec_needed_t *find_unsatisfiable(const wait_states_t *all, int rank) {
  const exec_needed_t *needs = needs_of(&all[rank]);
  for (uint64_t n = 0; n < head_of(&all[rank])->need_count; n++) {
    const wait_states_t *other = &all[needs[n].rank];
    if (!other->is_deadlocked && !is_in(other, EXEC_WAIT_FINISHED)) continue;
    if (count_started(other, needs[n].what) < needs[n].count) return &needs[n];
  }
  return NULL;
}

/* Marks the deadlocked ranks (greatest fixed point, see above) and returns their number. */
static int find_deadlocked(wait_states_t *all, int world) {
  int stuck = 0;
  for (int r = 0; r < world; r++) stuck += all[r].is_deadlocked = is_in(&all[r], EXEC_WAIT_WAITS);
  for (bool changed = true; changed;) {
    changed = false;
    for (int r = 0; r < world; r++) {
      if (!all[r].is_deadlocked || find_unsatisfiable(all, r)) continue;
      all[r].is_deadlocked = false;
      changed = true;
      stuck--;
    }
  }
  return stuck;
}

/* True if the intervals of all deadlocked and finished ranks have a common moment. */
static bool do_intervals_intersect(const wait_states_t *all, int world) {
  double from = 0, to = 0;
  bool any = false;
  for (int r = 0; r < world; r++) {
    if (!all[r].is_deadlocked && !is_in(&all[r], EXEC_WAIT_FINISHED)) continue;
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
  if (!states->is_deadlocked)
    return hr_status_note(st, "rank %d %s%s", rank,
                          states->bytes ? "was last seen in " : "computes",
                          states->bytes ? text_of(states) : "");
  const exec_needed_t *need = find_unsatisfiable(all, rank);
  return hr_status_note(
      st, "rank %d waits in %s, for rank %ld to start its operation number %lu; it has started %lu",
      rank, text_of(states), (long)need->rank, (unsigned long)need->count,
      (unsigned long)count_started(&all[need->rank], need->what));
}

static int next_in_cycle(const wait_states_t *all, int rank) {
  return all[rank].is_deadlocked ? (int)find_unsatisfiable(all, rank)->rank : -1;
}

/* A rank on a cycle, or -1: then the deadlocked ranks wait for ranks that have finished. */
static int find_cycle(const wait_states_t *all, int world) {
  for (int start = 0; start < world; start++) {
    int at = start, steps = 0;
    do at = next_in_cycle(all, at);
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
    int next = next_in_cycle(all, at);
    st = note_rank(st, all, at);
    all[at].held_to = -1; /* marks it as reported */
    at = next == first ? -1 : next;
  }
  for (int r = 0; r < world; r++)
    if (all[r].held_to >= 0) st = note_rank(st, all, r);
  return st;
}

hr_status_t wait_detect_deadlock(wait_states_t *all, int world, bool *out_is_suspect) {
  int stuck = find_deadlocked(all, world);
  *out_is_suspect = stuck > 0;
  if (!stuck || !do_intervals_intersect(all, world)) return NULL;
  return report(all, world, stuck);
}
