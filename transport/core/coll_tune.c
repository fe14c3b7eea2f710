/* Measures the algorithms: each in turn is forced and run a few times by all ranks; the best time
 * of the slowest rank counts. Arrays lie in shared memory if there is any, as those of programs
 * do. */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "transport/core/coll_tune_table.h"
#include "transport/shm/shm_group.h"

#define MOST_BYTES ((size_t)16 << 20)
#define FEWEST_SAMPLES 3
#define BATCH_BYTES ((size_t)64 << 10) /* several smaller transfers are timed together */

typedef struct tuner {
  tp_groups_t *groups;
  char *in, *out;
  tp_collective_t collective;
  size_t bytes; /* size as algorithms.def counts it */
} tuner_t;

static hr_status_t add_floats(void *context, void *acc, const void *in, int64_t count) {
  (void)context;
  for (int64_t i = 0; i < count; i++) ((float *)acc)[i] += ((const float *)in)[i];
  return NULL;
}
static const hr_reducer_t float_sum = {
    .reduce = add_floats, .element_bytes = sizeof(float), .is_reorderable = true};

/* An all-to-all of contiguous blocks of equal size. */
static hr_status_t exchange(const tuner_t *tuner, tp_request_t **out_request) {
  tp_group_t *world = tuner->groups->world;
  size_t each = tuner->bytes / (size_t)world->size;
  hr_block_t sends[world->size], recvs[world->size];
  for (int k = 0; k < world->size; k++) {
    sends[k] = (hr_block_t){tuner->in + (size_t)k * each, each};
    recvs[k] = (hr_block_t){tuner->out + (size_t)k * each, each};
  }
  return tp_all_to_all(world, sends, recvs, each, out_request);
}

/* A permute around a ring. */
static hr_status_t pass_on(const tuner_t *tuner, tp_request_t **out_request) {
  int size = tuner->groups->world->size, rank = tuner->groups->endpoint->rank;
  hr_block_t send = {tuner->in, tuner->bytes}, recv = {tuner->out, tuner->bytes};
  return tp_permute(tuner->groups, 0, (rank + 1) % size, &send, (rank + size - 1) % size, &recv,
                    out_request);
}

static hr_status_t transfer(const tuner_t *tuner) {
  tp_request_t *request = NULL;
  tp_group_t *world = tuner->groups->world;
  int64_t count = (int64_t)(tuner->bytes / sizeof(float)), each = count / world->size;
  hr_status_t st = NULL;
  switch (tuner->collective) {
    case TP_ALL_REDUCE:
      st = tp_all_reduce(world, tuner->in, tuner->in, count, &float_sum, &request);
      break;
    case TP_REDUCE_SCATTER:
      st = tp_reduce_scatter(world, tuner->in, each, &float_sum, tuner->out, &request);
      break;
    case TP_ALL_GATHER:
      st = tp_all_gather(world, tuner->in, tuner->bytes, tuner->out, &request);
      break;
    case TP_BROADCAST:
      st = tp_broadcast(world, 0, tuner->in, tuner->bytes, &request);
      break;
    case TP_ALL_TO_ALL:
      st = exchange(tuner, &request);
      break;
    case TP_PERMUTE:
      st = pass_on(tuner, &request);
      break;
    case TP_COLLECTIVE_COUNT:
      break;
  }
  return st ? st : tp_request_wait(request);
}

/* The largest of all ranks' numbers, the same on all. */
static hr_status_t slowest(tp_groups_t *groups, double mine, double *out_most) {
  tp_request_t *request;
  double all[groups->world->size];
  HR_TRY(tp_all_gather(groups->world, &mine, sizeof mine, all, &request));
  HR_TRY(tp_request_wait(request));
  *out_most = 0;
  for (int k = 0; k < groups->world->size; k++) *out_most = all[k] > *out_most ? all[k] : *out_most;
  return NULL;
}

static hr_status_t measure(const tuner_t *tuner, const char *algorithm, double seconds,
                           double *out_us) {
  const char **forced = &tuner->groups->forced[tuner->collective], *before = *forced;
  int batch = tuner->bytes < BATCH_BYTES ? 50 : 1;
  double best = 1e30, spent = 0;
  for (int i = 0; i < FEWEST_SAMPLES || spent < seconds; i++) {
    double begin = hr_clock_s(), took;
    hr_status_t st = NULL;
    *forced = algorithm;
    for (int k = 0; k < batch && !st; k++) st = transfer(tuner);
    *forced = before;
    HR_TRY(st);
    HR_TRY(slowest(tuner->groups, hr_clock_s() - begin, &took));
    spent += took;
    if (i && took / batch < best) best = took / batch; /* the first run is a warm-up */
  }
  *out_us = best * 1e6;
  return NULL;
}

static hr_status_t tune_sizes(tuner_t *tuner, int algorithm, double seconds, hr_strbuf_t *text) {
  tp_group_t *world = tuner->groups->world;
  const char *name = tp_algorithm_name(algorithm, &tuner->collective);
  size_t share = tuner->collective == TP_ALL_GATHER ? (size_t)world->size : 1;
  for (tuner->bytes = 4 * (size_t)world->size; tuner->bytes * share <= MOST_BYTES;
       tuner->bytes *= 4) {
    double us;
    if (!tp_algorithm_fits(algorithm, world, tuner->bytes)) break;
    HR_TRY(measure(tuner, name, seconds, &us));
    if (!world->my_index)
      hr_strbuf_printf(text, "%s %s %d %zu %.3f\n", tp_collective_name(tuner->collective), name,
                       world->size, tuner->bytes, us);
  }
  return NULL;
}

static hr_status_t tune_all(tuner_t *tuner, double seconds, hr_strbuf_t *text) {
  tp_shm_group_t *shared; /* set by the world's first transfer */
  HR_TRY(tp_shm_group_of(tuner->groups->world, &shared));
  if (tuner->groups->world->machines > 1)
    return hr_error(HR_USAGE, "the processes are on %d machines: tables are made on one",
                    tuner->groups->world->machines);
  for (int a = 0; a < tp_algorithm_count(); a++) HR_TRY(tune_sizes(tuner, a, seconds, text));
  return hr_strbuf_finish(text);
}

static void *new_array(tp_groups_t *groups, void **out_owner) {
  void *memory = tp_alloc(groups, MOST_BYTES, out_owner);
  if (memory) memset(memory, 0, MOST_BYTES);
  return memory;
}

static hr_status_t tune_on_arrays(tp_groups_t *groups, double seconds, hr_strbuf_t *text) {
  void *owner = NULL, *memory = NULL;
  tuner_t tuner = {
      .groups = groups, .in = new_array(groups, &owner), .out = new_array(groups, &owner)};
  bool is_shared = tuner.in && tuner.out;
  hr_status_t st = is_shared ? NULL : hr_alloc_zeroed(2 * MOST_BYTES, &memory);
  char *shared[2] = {tuner.in, tuner.out};
  if (!is_shared && !st) {
    tuner.in = memory;
    tuner.out = tuner.in + MOST_BYTES;
  }
  if (!st) st = tune_all(&tuner, seconds, text);
  for (int i = 0; i < 2; i++) tp_free(owner, shared[i]);
  hr_free(memory);
  return st;
}

static hr_status_t tune_and_save(tp_groups_t *groups, double seconds, const char *path,
                                 hr_strbuf_t *text, const char **out_path) {
  HR_TRY(tune_on_arrays(groups, seconds, text));
  if (groups->endpoint->rank) return NULL;
  return tp_tuning_save(&groups->arena, path, groups->endpoint->world_size, text, out_path);
}

hr_status_t tp_tune(tp_endpoint_t *endpoint, double seconds, const char *path,
                    const char **out_path) {
  tp_groups_t *groups;
  hr_strbuf_t text;
  HR_TRY(tp_groups_of(endpoint, &groups));
  hr_strbuf_init(&text);
  hr_status_t st = tune_and_save(groups, seconds, path, &text, out_path);
  hr_strbuf_deinit(&text);
  return st;
}
