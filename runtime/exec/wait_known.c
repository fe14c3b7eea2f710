#include "exec/wait_known.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const exec_answer_t *head_of(const exec_known_t *known) { return (const exec_answer_t *)known->bytes; }
static const char *text_of(const exec_known_t *known) { return known->bytes + sizeof(exec_answer_t); }
static const exec_needed_t *needs_of(const exec_known_t *known) {
  return (const exec_needed_t *)(text_of(known) + EXEC_KNOWN_TEXT);
}
static exec_started_t *started_of(const exec_known_t *known) {
  return (exec_started_t *)(needs_of(known) + head_of(known)->need_count);
}

static bool is_in(const exec_known_t *known, exec_wait_state_t state) {
  return known->bytes && head_of(known)->state == state;
}

static int compare_started(const void *a, const void *b) {
  uint64_t x = ((const exec_started_t *)a)->what, y = ((const exec_started_t *)b)->what;
  return x < y ? -1 : x > y;
}

hr_status_t exec_known_update(exec_known_t *known, hr_str_t answer, double told_s, double asked_s) {
  const exec_answer_t *head = (const exec_answer_t *)answer.data;
  if (known->bytes && head_of(known)->waits == head->waits && head_of(known)->state == head->state) {
    known->held_to = asked_s;
    return NULL;
  }
  if (known->capacity < answer.size) {
    void *memory;
    HR_TRY(hr_alloc(answer.size, &memory));
    hr_free(known->bytes);
    known->bytes = memory;
    known->capacity = answer.size;
  }
  memcpy(known->bytes, answer.data, answer.size);
  if (head->started_count) qsort(started_of(known), head->started_count, sizeof(exec_started_t), compare_started);
  known->held_from = told_s;
  known->held_to = asked_s;
  return NULL;
}

void exec_known_deinit(exec_known_t *known) { hr_free(known->bytes); }

/* --- who is stuck --- */

static uint64_t started_by(const exec_known_t *known, uint64_t what) {
  exec_started_t key = {.what = what};
  if (!head_of(known)->started_count) return 0;
  const exec_started_t *found = bsearch(&key, started_of(known), head_of(known)->started_count, sizeof key,
                                        compare_started);
  return found ? found->count : 0;
}

/* What a rank needs of one that will never do it; NULL: there is hope. */
static const exec_needed_t *find_hopeless(const exec_known_t *all, int rank) {
  const exec_needed_t *needs = needs_of(&all[rank]);
  for (uint64_t n = 0; n < head_of(&all[rank])->need_count; n++) {
    const exec_known_t *other = &all[needs[n].rank];
    if (!other->is_stuck && !is_in(other, EXEC_WAIT_FINISHED)) continue;
    if (started_by(other, needs[n].what) < needs[n].count) return &needs[n];
  }
  return NULL;
}

/* Everybody who waits is stuck, but for those who may still get what they need, and whom these may help. */
static int mark_stuck(exec_known_t *all, int world) {
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
static bool are_of_one_moment(const exec_known_t *all, int world) {
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

static hr_status_t note_rank(hr_status_t st, const exec_known_t *all, int rank) {
  const exec_known_t *known = &all[rank];
  if (is_in(known, EXEC_WAIT_FINISHED)) return hr_status_note(st, "rank %d has come to the end of its program", rank);
  if (!known->is_stuck)
    return hr_status_note(st, "rank %d %s%s", rank, known->bytes ? "was last seen in " : "computes",
                          known->bytes ? text_of(known) : "");
  const exec_needed_t *need = find_hopeless(all, rank);
  return hr_status_note(st, "rank %d waits in %s, for rank %ld to start number %lu of it; that has started %lu", rank,
                        text_of(known), (long)need->rank, (unsigned long)need->count,
                        (unsigned long)started_by(&all[need->rank], need->what));
}

static int next_of(const exec_known_t *all, int rank) {
  return all[rank].is_stuck ? (int)find_hopeless(all, rank)->rank : -1;
}

/* A rank on a cycle of waiting, or -1: then those who are stuck wait for others that have finished. */
static int find_cycle(const exec_known_t *all, int world) {
  for (int start = 0; start < world; start++) {
    int at = start, steps = 0;
    do at = next_of(all, at);
    while (at >= 0 && at != start && ++steps <= world);
    if (at == start) return start;
  }
  return -1;
}

static hr_status_t report(exec_known_t *all, int world, int stuck) {
  hr_status_t st = hr_error(HR_DISAGREE, "what %d of %d processes wait for can never come", stuck, world);
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

hr_status_t exec_known_judge(exec_known_t *all, int world, bool *out_looks_bad) {
  int stuck = mark_stuck(all, world);
  *out_looks_bad = stuck > 0;
  if (!stuck || !are_of_one_moment(all, world)) return NULL;
  return report(all, world, stuck);
}
