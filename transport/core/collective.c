/* Entry points of collectives, and the choice of algorithms. An entry point fills in request->args;
 * tp_algorithm_start picks the row of algorithms.def with the least cost among those that can do
 * the transfer: measured cost (coll_tune_table.h) where a table has it, else the row's formula. A
 * forced algorithm (HLORUN_ALLREDUCE=ring) has precedence if it can do the transfer. The last
 * choice of each collective is cached per group, since programs repeat their transfers. All ranks
 * must choose alike: the inputs of a choice are equal on all members of the group. */
#include "transport/core/collective.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "transport/core/coll_cost.h"
#include "transport/core/coll_tune_table.h"
#include "transport/core/transport.h"
#include "transport/shm/shm_group.h"

typedef enum where { ANYWHERE, ONE_MACHINE, MACHINES } where_t;

typedef struct tp_algorithm {
  tp_collective_t collective;
  const char *name;
  tp_algorithm_fn start;
  where_t where;
  size_t most_bytes;
  double (*cost)(double p, double m, double n);
} tp_algorithm_t;

#define ALGORITHM(collective, name, start, where, most_bytes, cost) \
  static double cost_of_##start(double p, double m, double n) {     \
    (void)p, (void)m, (void)n;                                      \
    return cost;                                                    \
  }
#include "transport/algorithms/algorithms.def"
#undef ALGORITHM

static const tp_algorithm_t algorithms[] = {
#define ALGORITHM(collective, name, start, where, most_bytes, cost) \
  {TP_##collective, name, start, where, most_bytes, cost_of_##start},
#include "transport/algorithms/algorithms.def"
#undef ALGORITHM
};
#define ALGORITHM_COUNT (sizeof algorithms / sizeof *algorithms)

static const struct {
  const char *name, *variable;
} collectives[TP_COLLECTIVE_COUNT] = {
    [TP_ALL_REDUCE] = {"all-reduce", "HLORUN_ALLREDUCE"},
    [TP_REDUCE_SCATTER] = {"reduce-scatter", "HLORUN_REDUCESCATTER"},
    [TP_ALL_GATHER] = {"all-gather", "HLORUN_ALLGATHER"},
    [TP_ALL_TO_ALL] = {"all-to-all", "HLORUN_ALLTOALL"},
    [TP_BROADCAST] = {"broadcast", "HLORUN_BROADCAST"},
    [TP_PERMUTE] = {"permute", "HLORUN_PERMUTE"},
};

static bool is_name(tp_collective_t collective, const char *name) {
  for (size_t i = 0; i < ALGORITHM_COUNT; i++)
    if (algorithms[i].collective == collective && strcmp(algorithms[i].name, name) == 0)
      return true;
  return false;
}

static hr_status_t no_such_name(tp_collective_t collective, const char *name) {
  char names[200] = "";
  for (size_t i = 0, size = 0; i < ALGORITHM_COUNT && size < sizeof names; i++)
    if (algorithms[i].collective == collective)
      size += (size_t)snprintf(names + size, sizeof names - size, "%s%s", size ? ", " : "",
                               algorithms[i].name);
  return hr_error(HR_USAGE, "there is no algorithm \"%s\" for this %s (%s), want one of: %s", name,
                  collectives[collective].name, collectives[collective].variable, names);
}

/* NULL: not set, or empty. */
static const char *name_in_environment(tp_collective_t collective) {
  const char *name = getenv(collectives[collective].variable);
  return name && *name ? name : NULL;
}

hr_status_t tp_algorithms_check_environment(void) {
  for (tp_collective_t c = 0; c < TP_COLLECTIVE_COUNT; c++) {
    const char *name = name_in_environment(c);
    if (name && !is_name(c, name)) return no_such_name(c, name);
  }
  return NULL;
}

void tp_algorithms_from_environment(tp_groups_t *groups) {
  const char *info = getenv("HLORUN_COLL_INFO");
  for (tp_collective_t c = 0; c < TP_COLLECTIVE_COUNT; c++) {
    const char *name = name_in_environment(c);
    if (name && is_name(c, name)) groups->forced[c] = name;
  }
  groups->explains = info && *info && strcmp(info, "0") != 0;
}

const char *tp_collective_name(tp_collective_t collective) { return collectives[collective].name; }

static bool is_reduction(tp_collective_t collective) {
  return collective == TP_ALL_REDUCE || collective == TP_REDUCE_SCATTER;
}

/* Properties of a transfer's ranks that determine costs. */
typedef struct scope {
  tp_groups_t *groups; /* NULL: for an estimate */
  const tp_tuning_t *tuning;
  int size, machines;
  bool shares_memory, spans_machines;
} scope_t;

static scope_t scope_of(const tp_group_t *group) {
  bool shares_memory = group->shm && group->size <= TP_SHM_MEMBERS;
  return (scope_t){.groups = group->owner,
                   .tuning = group->owner->tuning,
                   .size = group->size,
                   .machines = group->machines > 1 ? group->machines : 1,
                   .shares_memory = shares_memory && !group->owner->checks_messages,
                   .spans_machines = tp_group_spans_machines(group)};
}

/* The scope of a permute. Measured costs are those of permutes of all ranks at once. */
static scope_t scope_of_pair(tp_groups_t *groups, bool shares_memory) {
  return (scope_t){.groups = groups,
                   .tuning = groups->tuning,
                   .size = groups->world->size,
                   .machines = shares_memory ? 1 : 2,
                   .shares_memory = shares_memory};
}

static bool can_do(const tp_algorithm_t *row, tp_collective_t collective, const scope_t *scope,
                   size_t bytes, bool is_reorderable) {
  bool may_regroup = scope->spans_machines && (is_reorderable || !is_reduction(collective));
  bool here = row->where == ANYWHERE || (row->where == MACHINES && may_regroup) ||
              (row->where == ONE_MACHINE && scope->shares_memory);
  return row->collective == collective && here && bytes <= row->most_bytes;
}

int tp_algorithm_count(void) { return ALGORITHM_COUNT; }

const char *tp_algorithm_name(int algorithm, tp_collective_t *out_collective) {
  *out_collective = algorithms[algorithm].collective;
  return algorithms[algorithm].name;
}

bool tp_algorithm_fits(int algorithm, tp_group_t *group, size_t bytes) {
  scope_t scope = scope_of(group);
  return can_do(&algorithms[algorithm], algorithms[algorithm].collective, &scope, bytes, true);
}

/* Cost in microseconds: measured (on one machine only), or that of the formula. */
static double cost_of(const tp_algorithm_t *row, const scope_t *scope, size_t bytes,
                      bool *out_measured) {
  const tp_tuning_t *tuning = scope->machines == 1 ? scope->tuning : NULL;
  double us = tp_tuning_cost(tuning, row->collective, row->name, scope->size, bytes);
  *out_measured = us >= 0;
  return us >= 0 ? us : row->cost(scope->size, scope->machines, (double)bytes);
}

/* Measured costs have precedence over estimated ones. *out_us: cost of the algorithm. */
static const tp_algorithm_t *cheapest(tp_collective_t collective, const scope_t *scope,
                                      size_t bytes, bool is_reorderable, double *out_us) {
  const tp_algorithm_t *best = NULL;
  bool best_is_measured = false, is_measured;
  *out_us = 0;
  for (size_t i = 0; i < ALGORITHM_COUNT; i++) {
    const tp_algorithm_t *row = &algorithms[i];
    if (!can_do(row, collective, scope, bytes, is_reorderable)) continue;
    double cost = cost_of(row, scope, bytes, &is_measured);
    if (best && best_is_measured > is_measured) continue;
    if (best && is_measured == best_is_measured && cost >= *out_us) continue;
    best = row;
    *out_us = cost;
    best_is_measured = is_measured;
  }
  return best;
}

/* A forced algorithm is used only if it can do the transfer: the parts of a transfer within one
 * machine, in one over several, need another algorithm. NULL: no algorithm has the forced name. */
static const tp_algorithm_t *choose(tp_collective_t collective, const scope_t *scope, size_t bytes,
                                    bool is_reorderable) {
  const char *forced = scope->groups->forced[collective];
  double us;
  if (forced && !is_name(collective, forced)) return NULL;
  for (size_t i = 0; forced && i < ALGORITHM_COUNT; i++)
    if (can_do(&algorithms[i], collective, scope, bytes, is_reorderable) &&
        strcmp(forced, algorithms[i].name) == 0)
      return &algorithms[i];
  return cheapest(collective, scope, bytes, is_reorderable, &us);
}

/* --- estimates (coll_cost.h) --- */

static pthread_once_t model_once = PTHREAD_ONCE_INIT;
static tp_cost_model_t the_model;

/* The endpoint reports a table that cannot be read. */
static void make_model(void) {
  tp_tuning_t *tuning = NULL;
  the_model.machines = tp_launcher_machines();
  if (the_model.machines == 1) hr_status_release(tp_tuning_read(&tuning));
  the_model.tuning = tuning;
}

const tp_cost_model_t *tp_cost_model(void) {
  pthread_once(&model_once, make_model);
  return &the_model;
}

bool tp_cost_shares_memory(const tp_cost_model_t *model, int ranks) {
  return (model->machines == 1 || ranks == 1) && ranks <= TP_SHM_MEMBERS;
}

double tp_collective_us(const tp_cost_model_t *model, tp_collective_t collective, int ranks,
                        double bytes) {
  double us;
  int machines = ranks < model->machines ? ranks : model->machines;
  scope_t scope = {.tuning = model->tuning,
                   .size = ranks,
                   .machines = machines,
                   .shares_memory = tp_cost_shares_memory(model, ranks),
                   .spans_machines = machines > 1 && machines < ranks};
  cheapest(collective, &scope, (size_t)bytes, true, &us);
  return us;
}

/* Prints the choice and its alternatives on stderr, once per power of two of the size. */
static void explain(tp_collective_t collective, const scope_t *scope, size_t bytes,
                    const tp_algorithm_t *chosen, uint64_t *explained) {
  int size_class = bytes ? 64 - __builtin_clzll(bytes) : 0;
  if (*explained >> size_class & 1) return;
  *explained |= UINT64_C(1) << size_class;
  char text[512];
  int used = snprintf(text, sizeof text, "hlorun: %s of %zu bytes on %d ranks: %s",
                      collectives[collective].name, bytes, scope->size, chosen->name);
  const char *separator = scope->groups->forced[collective] ? " (forced" : " (us";
  for (size_t i = 0; i < ALGORITHM_COUNT && used < (int)sizeof text - 64; i++) {
    if (!can_do(&algorithms[i], collective, scope, bytes, true)) continue;
    bool is_measured;
    double us = cost_of(&algorithms[i], scope, bytes, &is_measured);
    used += hr_snprintf(text + used, sizeof text - (size_t)used, "%s %s %.1f%s", separator,
                        algorithms[i].name, us, is_measured ? " measured" : "");
    separator = ",";
  }
  fprintf(stderr, "%s)\n", text);
}

/* True if a cached choice was made for the same inputs. */
static bool is_chosen(const tp_choice_t *choice, const tp_choice_t *wanted) {
  return choice->algorithm && choice->bytes == wanted->bytes &&
         choice->is_reorderable == wanted->is_reorderable && choice->forced == wanted->forced &&
         choice->tuning == wanted->tuning && choice->shares_memory == wanted->shares_memory;
}

/* `explained`: size classes already printed; NULL: this rank prints nothing. */
static hr_status_t renew_choice(tp_choice_t *choice, tp_collective_t collective,
                                const scope_t *scope, size_t bytes, bool is_reorderable,
                                uint64_t *explained) {
  const char *forced = scope->groups->forced[collective];
  tp_choice_t wanted = {NULL,          bytes, forced, scope->groups->tuning, scope->shares_memory,
                        is_reorderable};
  if (is_chosen(choice, &wanted)) return NULL;
  wanted.algorithm = choose(collective, scope, bytes, is_reorderable);
  if (!wanted.algorithm) return no_such_name(collective, forced);
  if (scope->groups->explains && explained)
    explain(collective, scope, bytes, wanted.algorithm, explained);
  *choice = wanted;
  return NULL;
}

hr_status_t tp_algorithm_start(tp_collective_t collective, tp_request_t *request, size_t bytes) {
  tp_group_t *group = request->group;
  tp_shm_group_t *shared;
  tp_choice_t *choice = &group->choices[collective];
  HR_TRY(tp_shm_group_of(group, &shared));
  scope_t scope = scope_of(group);
  HR_TRY(renew_choice(choice, collective, &scope, bytes, request->args.reducer.is_reorderable,
                      group->my_index ? NULL : &group->explained[collective]));
  request->algorithm = (int)(choice->algorithm - algorithms) + 1;
  return choice->algorithm->start(request);
}

hr_status_t tp_all_gather(tp_group_t *group, const void *in, size_t size_bytes, void *out,
                          tp_request_t **out_request) {
  hr_assert(group->my_index >= 0);
  tp_request_t *request;
  HR_TRY(tp_request_new(group->owner, group, &request));
  request->args.in = in;
  request->args.size_bytes = size_bytes;
  request->args.out = out;
  hr_status_t st = size_bytes ? tp_algorithm_start(TP_ALL_GATHER, request, size_bytes) : NULL;
  return tp_request_started(st, request, out_request);
}

static hr_status_t new_reduction(tp_group_t *group, const void *in, void *out, int64_t count,
                                 const hr_reducer_t *reducer, tp_request_t **out_request) {
  hr_assert(group->my_index >= 0);
  HR_TRY(tp_request_new(group->owner, group, out_request));
  tp_request_t *request = *out_request;
  request->args.in = in;
  request->args.out = out;
  request->args.count = count;
  request->args.reducer = *reducer;
  request->endpoint_thread_only = !reducer->any_thread;
  return NULL;
}

hr_status_t tp_all_reduce(tp_group_t *group, const void *in, void *out, int64_t count,
                          const hr_reducer_t *reducer, tp_request_t **out_request) {
  tp_request_t *request;
  HR_TRY(new_reduction(group, in, out, count, reducer, &request));
  size_t bytes = (size_t)count * reducer->element_bytes;
  hr_status_t st = NULL;
  if (group->size > 1 && count)
    st = tp_algorithm_start(TP_ALL_REDUCE, request, bytes);
  else if (bytes && in != out)
    memmove(out, in, bytes);
  return tp_request_started(st, request, out_request);
}

hr_status_t tp_reduce_scatter(tp_group_t *group, const void *in, int64_t count,
                              const hr_reducer_t *reducer, void *out, tp_request_t **out_request) {
  tp_request_t *request;
  HR_TRY(new_reduction(group, in, out, count, reducer, &request));
  size_t bytes = (size_t)count * reducer->element_bytes;
  hr_status_t st = NULL;
  if (group->size > 1 && count)
    st = tp_algorithm_start(TP_REDUCE_SCATTER, request, (size_t)group->size * bytes);
  else if (bytes)
    memmove(out, in, bytes);
  return tp_request_started(st, request, out_request);
}

hr_status_t tp_all_to_all(tp_group_t *group, const hr_block_t *sends, const hr_block_t *recvs,
                          size_t equal_bytes, tp_request_t **out_request) {
  hr_assert(group->my_index >= 0);
  tp_request_t *request;
  HR_TRY(tp_request_new(group->owner, group, &request));
  request->args.sends = sends;
  request->args.recvs = recvs;
  request->args.size_bytes = equal_bytes;
  hr_status_t st = tp_algorithm_start(TP_ALL_TO_ALL, request, equal_bytes * (size_t)group->size);
  return tp_request_started(st, request, out_request);
}

/* Starts one direction of a permute. An empty block needs no transfer. */
static hr_status_t start_direction(tp_request_t *request, int64_t stream, bool sends, int peer,
                                   const hr_block_t *block) {
  tp_groups_t *groups = request->groups;
  tp_shm_group_t *pipe = NULL;
  int self = groups->endpoint->rank;
  if (!block->size_bytes) return NULL;
  int sender = sends ? self : peer;
  int receiver = sends ? peer : self;
  if (!groups->checks_messages) HR_TRY(tp_shm_pipe_of(groups, sender, receiver, stream, &pipe));
  scope_t scope = scope_of_pair(groups, pipe != NULL);
  tp_choice_t *choice = &groups->permute_choices[sends];
  HR_TRY(renew_choice(choice, TP_PERMUTE, &scope, block->size_bytes, false,
                      self ? NULL : &groups->explained_permutes));
  request->args.p2p = (tp_p2p_t){sends, peer, block, pipe};
  return choice->algorithm->start(request);
}

static hr_status_t start_permute(tp_request_t *request, int64_t stream, int to,
                                 const hr_block_t *send, int from, const hr_block_t *recv) {
  int self = request->groups->endpoint->rank;
  if (to == self && from == self) {
    if (send->size_bytes != recv->size_bytes)
      return hr_error(HR_DISAGREE, "%zu bytes sent to itself, %zu wanted", send->size_bytes,
                      recv->size_bytes);
    if (send->size_bytes) memmove(recv->data, send->data, send->size_bytes);
    return NULL;
  }
  if (from >= 0) HR_TRY(start_direction(request, stream, false, from, recv));
  if (to >= 0) HR_TRY(start_direction(request, stream, true, to, send));
  return NULL;
}

hr_status_t tp_permute(tp_groups_t *groups, int64_t stream, int to, const hr_block_t *send,
                       int from, const hr_block_t *recv, tp_request_t **out_request) {
  tp_request_t *request;
  HR_TRY(tp_request_new(groups, NULL, &request));
  if (stream)
    request->tag |=
        (uint32_t)(hr_hash_bytes(&stream, sizeof stream, 7) >> 9) % TP_TAG_CLASS_PERMUTE;
  return tp_request_started(start_permute(request, stream, to, send, from, recv), request,
                            out_request);
}

void *tp_alloc(tp_groups_t *groups, size_t size_bytes, void **out_owner) {
  *out_owner = groups->shm;
  return groups->shm ? tp_shm_alloc(groups->shm, size_bytes) : NULL;
}

bool tp_is_shared(const tp_groups_t *groups, const void *memory) {
  return groups->shm && tp_shm_has(groups->shm, memory);
}

void tp_free(void *owner, void *memory) { tp_shm_free(owner, memory); }
