/* Peers of channels without source_target_pairs: the traces of all processes are searched for the
 * one process that sends and the one that receives. Cost: n log n in the ends, quadratic per
 * channel. */
#include <stdlib.h>

#include "base/map.h"
#include "check/proof.h"

typedef struct end { /* one side of a channel in one process */
  int64_t channel;
  int rank, sends;
  int peer; /* from source_target_pairs; UNNAMED: unknown */
  const hlo_instr_t *instr;
} end_t;
#define UNNAMED (-2)

typedef HR_VEC(end_t) ends_t;

typedef struct end_key {
  int64_t channel;
  int rank, sends;
} end_key_t;

typedef struct found_end {
  end_key_t key;
  int peer;
} found_end_t;

/* Orders by channel, then side, then peer, so that the ends of a channel are adjacent. */
static int compare_ends(const void *a, const void *b) {
  const end_t *x = a, *y = b;
  if (x->channel != y->channel) return x->channel < y->channel ? -1 : 1;
  if (x->sends != y->sends) return x->sends - y->sends;
  if (x->peer != y->peer) return x->peer - y->peer;
  return x->rank - y->rank;
}

/* Finds the transfers of one trace, each once. */
static hr_status_t find_sites(const comm_trace_t *trace, hr_map_t *seen, ends_t *sites) {
  hr_map_clear(seen);
  for (size_t i = 0; i < trace->events.count; i++) {
    const check_event_t *event = &trace->events.data[i];
    if (event->kind != CHECK_SEND && event->kind != CHECK_RECV) continue;
    hr_str_t key = {(const char *)&event->site->instr, sizeof event->site->instr};
    void *old;
    HR_TRY(hr_map_put(seen, key, (void *)event->site, &old));
    if (old) continue;
    HR_VEC_PUSH(sites,
                (end_t){event->site->channel, 0, event->kind == CHECK_SEND, UNNAMED, event->instr});
  }
  return NULL;
}

/* Adds the ends of all ranks with this trace. */
static hr_status_t add_ends(check_result_t *result, const comm_trace_t *trace, const ends_t *sites,
                            ends_t *ends) {
  for (int rank = 0; rank < result->world; rank++) {
    if (result->of[rank] != trace) continue;
    for (size_t i = 0; i < sites->count; i++) {
      const comm_participants_t *site;
      end_t end = sites->data[i];
      HR_TRY(comm_participants_of(&result->sites, end.instr, &site));
      end.rank = rank;
      if (site->to) end.peer = end.sends ? site->to[rank] : site->from[rank];
      if (end.peer != -1) HR_VEC_PUSH(ends, end);
    }
  }
  return NULL;
}

/* Visits each instruction once, for every rank that runs it and has a peer there. */
static hr_status_t collect_ends(check_result_t *result, ends_t *ends) {
  ends_t sites = {0};
  hr_map_t seen;
  hr_status_t st = NULL;
  hr_map_init(&seen);
  for (size_t b = 0; b < result->traces.count && !st; b++) {
    sites.count = 0;
    st = find_sites(result->traces.data[b], &seen, &sites);
    if (!st && sites.count) st = add_ends(result, result->traces.data[b], &sites, ends);
  }
  hr_map_deinit(&seen);
  HR_VEC_FREE(&sites);
  return st;
}

static bool can_match(const check_result_t *result, int64_t channel, int a, int b) {
  return check_can_match(result->options.num_replicas, result->options.num_partitions, channel, a,
                         b);
}

/* Misuse of an end without a partner (`one` is NULL), or with two possible partners. */
static hr_status_t misuse_of_ends(check_result_t *result, const end_t *end, const end_t *one,
                                  const end_t *two) {
  check_problem_t problem = {NULL, end->instr, NULL, end->rank, -1};
  if (!one) {
    HR_TRY(check_printf(result, &problem.text, "channel %ld has no %s: no process %s on it",
                        (long)end->channel, end->sends ? "receiver" : "sender",
                        end->sends ? "receives" : "sends"));
  } else {
    HR_TRY(check_printf(result, &problem.text,
                        "channel %ld has two %s: both rank %d and rank %d %s what rank %d %s",
                        (long)end->channel, end->sends ? "receivers" : "senders", one->rank,
                        two->rank, end->sends ? "receive" : "send", end->rank,
                        end->sends ? "sends" : "receives"));
    problem.first = one->instr;
    problem.first_rank = one->rank;
    problem.second = two->instr;
    problem.second_rank = two->rank;
  }
  return check_add_problem(result, CHECK_MISUSE, problem);
}

/* Stores the peer of an end that does not name one. */
static hr_status_t store_end(check_result_t *result, const end_t *end, int peer) {
  found_end_t *found;
  HR_TRY(HR_NEW(&result->arena, &found));
  found->key = (end_key_t){end->channel, end->rank, end->sends};
  found->peer = peer;
  return hr_map_put(&result->ends, (hr_str_t){(const char *)&found->key, sizeof found->key}, found,
                    NULL);
}

/* Finds the one end on the other side that can match this end, or records misuse. */
static hr_status_t resolve_end(check_result_t *result, const ends_t *ends, size_t first,
                               size_t last, const end_t *end) {
  const end_t *one = NULL, *two = NULL;
  for (size_t i = first; i < last && !two; i++) {
    const end_t *other = &ends->data[i];
    if (other->sends == end->sends || (one && one->rank == other->rank)) continue;
    if (other->peer == UNNAMED ? !can_match(result, end->channel, end->rank, other->rank)
                               : other->peer != end->rank)
      continue;
    *(one ? &two : &one) = other;
  }
  if (!one || two) return misuse_of_ends(result, end, one, two);
  return store_end(result, end, one->rank);
}

/* Matches ends without named peers by elimination: with the only other end of the channel that
 * fits. */
hr_status_t check_match_channels(check_result_t *result) {
  ends_t ends = {0};
  hr_status_t st = collect_ends(result, &ends);
  if (ends.count) qsort(ends.data, ends.count, sizeof *ends.data, compare_ends);
  for (size_t first = 0, last; first < ends.count && !st; first = last) {
    for (last = first; last < ends.count && ends.data[last].channel == ends.data[first].channel;)
      last++;
    for (size_t i = first; i < last && !st; i++)
      if (ends.data[i].peer == UNNAMED) st = resolve_end(result, &ends, first, last, &ends.data[i]);
  }
  HR_VEC_FREE(&ends);
  return st;
}

/* -1: no peer. The peer is named by the instruction's pairs, or was found by
 * check_match_channels. */
int check_channel_peer(const check_result_t *result, const comm_participants_t *site, int rank,
                       bool sends) {
  if (site->to) return sends ? site->to[rank] : site->from[rank];
  end_key_t key = {site->channel, rank, sends};
  const found_end_t *found = hr_map_get(&result->ends, (hr_str_t){(const char *)&key, sizeof key});
  return found ? found->peer : -1;
}
