/* The text of the wait-for report: a cycle of the graph, if there is one, then the other ranks. A
 * rank has at most one outgoing edge, so that a cycle is found by following the edges from each
 * rank. Cost: at most the square of the number of ranks, once per report. */
#include <string.h>

#include "observe/wait_for_parts.h"

/* A rank on a cycle of the graph, or -1. Each rank has at most one outgoing edge. */
static int find_cycle(const graph_msg_t *all, int world) {
  for (int start = 0; start < world; start++) {
    int at = start, steps = 0;
    do at = all[at].kind && all[at].peer < world ? all[at].peer : -1;
    while (at >= 0 && at != start && ++steps <= world);
    if (at == start) return start;
  }
  return -1;
}

static bool has_several_hosts(const graph_msg_t *all, int world) {
  const char *host = NULL;
  for (int r = 0; r < world; r++) {
    if (!all[r].kind) continue;
    if (host && strcmp(all[r].host, host) != 0) return true;
    host = all[r].host;
  }
  return false;
}

static hr_status_t note_rank(hr_status_t st, const graph_msg_t *all, int world, int rank) {
  const graph_msg_t *note = &all[rank];
  if (!note->kind)
    return hr_status_note(st, "rank %d has not answered: it computes or has exited", rank);
  bool several = has_several_hosts(all, world);
  return hr_status_note(st, "rank %d %s%s%s", rank, note->text, several ? ", on host " : "",
                        several ? note->host : "");
}

hr_status_t exec_wait_report(hr_status_t st, const graph_msg_t *all, int world, bool *in_cycle) {
  int first = find_cycle(all, world), count = 0;
  for (int r = 0; r < world; r++) in_cycle[r] = false;
  if (first >= 0) {
    st = hr_status_note(st, "a cycle of waiting:");
    int at = first;
    do {
      in_cycle[at] = true;
      st = note_rank(st, all, world, at);
      at = all[at].peer;
      count++;
    } while (at != first);
    if (count < world) st = hr_status_note(st, "and the others:");
  }
  for (int r = 0; r < world; r++)
    if (!in_cycle[r]) st = note_rank(st, all, world, r);
  return st;
}
