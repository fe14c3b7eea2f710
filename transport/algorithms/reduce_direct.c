/* Reductions by direct exchange: member k reduces chunk k of all members' arrays. Each member sends
 * its part of the chunk directly; parts are folded in listed order while later ones are still under
 * way.
 *
 *   round      0        1        2     ...  n
 *   reduce   seg 0    seg 1    seg 2
 *   gather            seg 0    seg 1   ... seg n-1
 *
 * There is one round per segment, so that scratch space stays small and in the caches; in an
 * all-reduce, the finished segment of the previous round is sent to all members along with it.
 *
 * Cost: each rank sends and receives (p-1)/p of the array once for reduce-scatter, twice for
 * all-reduce, and does 1/p of the arithmetic; scratch space of p segments. */
#include <string.h>

#include "transport/core/request.h"

#define SCRATCH_BYTES                                                                          \
  (4 << 20) /* bytes of scratch memory for all segments together, unless segments would be too \
               small */
#define SHORTEST_SEGMENT_BYTES (128 << 10)
#define LONGEST_SEGMENT_BYTES (1 << 20)

typedef struct span { /* range of elements of the array */
  int64_t start, count;
} span_t;

/* Segment `round` of member k's chunk. Chunks of a reduce-scatter have `count` elements; an
 * all-reduce divides `count` among the members. */
static span_t segment_of(const tp_request_t *request, int member, int round) {
  int64_t size = request->group->size, count = request->args.count, start, end;
  if (request->args.size_bytes) { /* set by all-reduce only */
    start = (int64_t)((__int128)count * member / size);
    end = (int64_t)((__int128)count * (member + 1) / size);
  } else {
    start = count * member;
    end = start + count;
  }
  int64_t from = start + round * request->state.segment, left = end - from;
  return (span_t){from, left < 0                        ? 0
                        : left < request->state.segment ? left
                                                        : request->state.segment};
}

static int64_t longest_chunk(const tp_request_t *request) {
  return request->args.size_bytes
             ? (request->args.count + request->group->size - 1) / request->group->size
             : request->args.count;
}
static int round_count(const tp_request_t *request) {
  return (int)((longest_chunk(request) + request->state.segment - 1) / request->state.segment);
}

/* A member's segment in the scratch space: the wide accumulators, if the reducer has them, then a
 * segment of each member. */
static char *slot_of(const tp_request_t *request, int member) {
  size_t each =
      request->args.reducer.acc_bytes + (size_t)member * request->args.reducer.element_bytes;
  return request->memory.scratch.data + (size_t)request->state.segment * each;
}

static hr_status_t fold_arrived(tp_request_t *request, int member) {
  return tp_fold_up_to(&request->fold, member);
}

/* Exchanges the segments to reduce in this round. */
static hr_status_t post_reduce(tp_request_t *request, int round) {
  int size = request->group->size, mine = request->group->my_index;
  size_t each = request->args.reducer.element_bytes;
  span_t own = segment_of(request, mine, round);
  for (int k = 0; k < size; k++)
    if (k != mine)
      HR_TRY(tp_request_recv(request, k, slot_of(request, k), (size_t)own.count * each, k));
  for (int i = 1; i < size; i++) {
    int to = (mine + i) % size;
    span_t theirs = segment_of(request, to, round);
    HR_TRY(tp_request_send(request, to, request->args.in + (size_t)theirs.start * each,
                           (size_t)theirs.count * each));
  }
  char *out = request->args.size_bytes
                  ? request->args.out + (size_t)own.start * each
                  : request->args.out + (size_t)round * (size_t)request->state.segment * each;
  request->fold = (tp_fold_t){.reducer = &request->args.reducer,
                              .size = size,
                              .my_index = mine,
                              .local = request->args.in + (size_t)own.start * each,
                              .slots = slot_of(request, 0),
                              .slot_bytes = (size_t)request->state.segment * each,
                              .out = out,
                              .count = own.count};
  tp_fold_begin(&request->fold, request->memory.scratch.data);
  return NULL;
}

/* Sends every member the segment reduced in the previous round, and receives theirs. */
static hr_status_t post_gather(tp_request_t *request, int round) {
  int size = request->group->size, mine = request->group->my_index;
  size_t each = request->args.reducer.element_bytes;
  for (int i = 1; i < size; i++) {
    int from = (mine - i + size) % size;
    span_t theirs = segment_of(request, from, round);
    HR_TRY(tp_request_recv(request, from, request->args.out + (size_t)theirs.start * each,
                           (size_t)theirs.count * each, -1));
  }
  span_t own = segment_of(request, mine, round);
  for (int i = 1; i < size; i++)
    HR_TRY(tp_request_send(request, (mine + i) % size, request->args.out + (size_t)own.start * each,
                           (size_t)own.count * each));
  return NULL;
}

static hr_status_t end_fold(tp_request_t *request) {
  return request->fold.count ? tp_fold_end(&request->fold) : NULL;
}

static hr_status_t next_all_reduce(tp_request_t *request) {
  int rounds = round_count(request), round = request->rounds.number;
  if (round <= rounds) HR_TRY(end_fold(request));
  if (round > rounds) {
    request->hooks.next = NULL;
    return NULL;
  }
  if (round < rounds) HR_TRY(post_reduce(request, round));
  return post_gather(request, round - 1);
}

static hr_status_t next_reduce_scatter(tp_request_t *request) {
  HR_TRY(end_fold(request));
  if (request->rounds.number < round_count(request))
    return post_reduce(request, request->rounds.number);
  request->hooks.next = NULL;
  return NULL;
}

static size_t segment_bytes(const tp_request_t *request) {
  if (request->groups->segment_bytes) return request->groups->segment_bytes;
  size_t bytes = SCRATCH_BYTES / (size_t)request->group->size;
  if (bytes < SHORTEST_SEGMENT_BYTES) return SHORTEST_SEGMENT_BYTES;
  return bytes < LONGEST_SEGMENT_BYTES ? bytes : LONGEST_SEGMENT_BYTES;
}

static hr_status_t start_direct(tp_request_t *request) {
  const hr_reducer_t *reducer = &request->args.reducer;
  int64_t longest = longest_chunk(request);
  request->state.segment = (int64_t)(segment_bytes(request) / reducer->element_bytes);
  if (request->state.segment > longest) request->state.segment = longest;
  size_t each = (size_t)request->group->size * reducer->element_bytes + reducer->acc_bytes;
  HR_TRY(tp_space_reserve(&request->memory.scratch, (size_t)request->state.segment, each));
  request->hooks.arrived = fold_arrived;
  return post_reduce(request, 0);
}

hr_status_t tp_all_reduce_direct(tp_request_t *request) {
  request->args.size_bytes = (size_t)request->args.count * request->args.reducer.element_bytes;
  request->hooks.next = next_all_reduce;
  return start_direct(request);
}

hr_status_t tp_reduce_scatter_direct(tp_request_t *request) {
  request->hooks.next = next_reduce_scatter;
  return start_direct(request);
}
