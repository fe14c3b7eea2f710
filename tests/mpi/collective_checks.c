/* Checks of collectives between the processes of mpi_collectives, for every algorithm, against
 * sums of known numbers. */
#include "tests/mpi/collective_checks.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "transport/core/progress.h"
#include "transport/core/request.h"

#define LONGEST 20001 /* elements: several segments of a direct reduction */
#define SEGMENT_BYTES 4096
#define MEETINGS 300
static const int64_t counts[] = {0, 1, 2, 3, 7, 64, 1000, LONGEST};
#define COUNT_COUNT (int)(sizeof counts / sizeof *counts)

typedef struct bench {
  tp_groups_t *groups;
  tp_group_t *group;
  double *a, *b; /* LONGEST elements per rank of the world */
} bench_t;

static double element(int rank, int64_t i) { return 1.0 / (1 + rank) + (double)(i % 1013) * 0.37; }

static hr_status_t wrong(const bench_t *bench, const char *what, int64_t count, int64_t i,
                         double got, double want) {
  return hr_error(
      HR_MISMATCH,
      "%s of %lld elements in a group of %d, rank %d: element %lld is %.17g, want %.17g", what,
      (long long)count, bench->group->size, bench->groups->endpoint->rank, (long long)i, got, want);
}

static hr_status_t run(hr_status_t st, tp_request_t **request) {
  return st ? st : tp_request_wait(*request);
}

/* The sum in listed order: what every algorithm must give, to the bit. */
static double listed_sum(const tp_group_t *group, int64_t i) {
  double sum = element(group->ranks[0], i);
  for (int k = 1; k < group->size; k++) sum += element(group->ranks[k], i);
  return sum;
}

static hr_status_t add_doubles(void *context, void *acc, const void *in, int64_t count) {
  (void)context;
  for (int64_t i = 0; i < count; i++) ((double *)acc)[i] += ((const double *)in)[i];
  return NULL;
}

static const hr_reducer_t double_sum = {.reduce = add_doubles, .element_bytes = sizeof(double)};

/* Floats that are summed in doubles: an accumulator wider than the elements. */
static hr_status_t add_float(void *context, void *acc, const void *in, int64_t count) {
  (void)context;
  for (int64_t i = 0; i < count; i++) ((double *)acc)[i] += ((const float *)in)[i];
  return NULL;
}
static void widen_float(void *context, const void *in, void *acc, int64_t count) {
  (void)context;
  for (int64_t i = 0; i < count; i++) ((double *)acc)[i] = ((const float *)in)[i];
}
static void narrow_float(void *context, const void *acc, void *out, int64_t count) {
  (void)context;
  for (int64_t i = 0; i < count; i++) ((float *)out)[i] = (float)((const double *)acc)[i];
}
static const hr_reducer_t float_sum = {.reduce = add_float,
                                       .element_bytes = sizeof(float),
                                       .acc_bytes = sizeof(double),
                                       .widen = widen_float,
                                       .narrow = narrow_float};

static hr_status_t check_all_reduce(bench_t *bench, int64_t count) {
  tp_request_t *request = NULL;
  int rank = bench->groups->endpoint->rank;
  for (int64_t i = 0; i < count; i++) bench->a[i] = element(rank, i);
  HR_TRY(
      run(tp_all_reduce(bench->group, bench->a, bench->a, count, &double_sum, &request), &request));
  for (int64_t i = 0; i < count; i++) {
    double want = listed_sum(bench->group, i);
    if (bench->a[i] != want) return wrong(bench, "all-reduce", count, i, bench->a[i], want);
  }
  return NULL;
}

/* Sums into another array leave the operand as it is. */
static hr_status_t check_all_reduce_beside(bench_t *bench, int64_t count) {
  tp_request_t *request = NULL;
  int rank = bench->groups->endpoint->rank;
  for (int64_t i = 0; i < count; i++) bench->a[i] = element(rank, i), bench->b[i] = -1;
  HR_TRY(
      run(tp_all_reduce(bench->group, bench->a, bench->b, count, &double_sum, &request), &request));
  for (int64_t i = 0; i < count; i++) {
    double want = listed_sum(bench->group, i);
    if (bench->b[i] != want) return wrong(bench, "all-reduce beside", count, i, bench->b[i], want);
    if (bench->a[i] != element(rank, i))
      return wrong(bench, "operand of all-reduce", count, i, bench->a[i], element(rank, i));
  }
  return NULL;
}

/* Whole numbers, whose sums are the same in any order: machine by machine, too. */
static hr_status_t check_whole_all_reduce(bench_t *bench, int64_t count) {
  tp_request_t *request = NULL;
  hr_reducer_t reducer = double_sum;
  reducer.is_reorderable = true;
  for (int64_t i = 0; i < count; i++) bench->a[i] = (double)(bench->groups->endpoint->rank + i);
  HR_TRY(run(tp_all_reduce(bench->group, bench->a, bench->a, count, &reducer, &request), &request));
  for (int64_t i = 0; i < count; i++) {
    double sum = 0;
    for (int k = 0; k < bench->group->size; k++) sum += (double)(bench->group->ranks[k] + i);
    if (bench->a[i] != sum)
      return wrong(bench, "all-reduce of whole numbers", count, i, bench->a[i], sum);
  }
  return NULL;
}

static hr_status_t check_wide_all_reduce(bench_t *bench, int64_t count) {
  tp_request_t *request = NULL;
  float *values = (float *)bench->a;
  for (int64_t i = 0; i < count; i++) values[i] = (float)element(bench->groups->endpoint->rank, i);
  HR_TRY(run(tp_all_reduce(bench->group, values, values, count, &float_sum, &request), &request));
  for (int64_t i = 0; i < count; i++) {
    double sum = 0;
    for (int k = 0; k < bench->group->size; k++) sum += (float)element(bench->group->ranks[k], i);
    if (values[i] != (float)sum)
      return wrong(bench, "wide all-reduce", count, i, values[i], (float)sum);
  }
  return NULL;
}

static hr_status_t check_reduce_scatter(bench_t *bench, int64_t count) {
  tp_request_t *request = NULL;
  tp_group_t *group = bench->group;
  int64_t total = count * group->size, start = count * group->my_index;
  for (int64_t i = 0; i < total; i++) bench->a[i] = element(bench->groups->endpoint->rank, i);
  HR_TRY(run(tp_reduce_scatter(group, bench->a, count, &double_sum, bench->b, &request), &request));
  for (int64_t i = 0; i < count; i++) {
    double want = listed_sum(group, start + i);
    if (bench->b[i] != want) return wrong(bench, "reduce-scatter", count, i, bench->b[i], want);
  }
  return NULL;
}

/* Whole numbers may be added in any order: the sums are exact. */
static hr_status_t check_whole_reduce_scatter(bench_t *bench, int64_t count) {
  tp_request_t *request = NULL;
  tp_group_t *group = bench->group;
  hr_reducer_t reducer = double_sum;
  reducer.is_reorderable = true;
  int64_t total = count * group->size, start = count * group->my_index;
  for (int64_t i = 0; i < total; i++) bench->a[i] = (double)(bench->groups->endpoint->rank + i);
  HR_TRY(run(tp_reduce_scatter(group, bench->a, count, &reducer, bench->b, &request), &request));
  for (int64_t i = 0; i < count; i++) {
    double want = 0;
    for (int k = 0; k < group->size; k++) want += (double)(group->ranks[k] + start + i);
    if (bench->b[i] != want)
      return wrong(bench, "reduce-scatter of whole numbers", count, i, bench->b[i], want);
  }
  return NULL;
}

static hr_status_t check_all_gather(bench_t *bench, int64_t count) {
  tp_request_t *request = NULL;
  tp_group_t *group = bench->group;
  for (int64_t i = 0; i < count; i++) bench->a[i] = element(bench->groups->endpoint->rank, i);
  HR_TRY(run(tp_all_gather(group, bench->a, (size_t)count * sizeof(double), bench->b, &request),
             &request));
  for (int64_t i = 0; i < count * group->size; i++) {
    double want = element(group->ranks[i / count], i % count);
    if (bench->b[i] != want) return wrong(bench, "all-gather", count, i, bench->b[i], want);
  }
  return NULL;
}

/* What member `from` sends to member `to`: some pairs nothing at all. */
static int64_t pair_count(int64_t count, int from, int to) {
  return (from + 2 * to) % 3 == 0 ? 0 : count / (1 + from);
}

/* Blocks of a size for each pair of processes; what lies after a block stays as it is. */
static hr_status_t check_all_to_all(bench_t *bench, int64_t count) {
  tp_request_t *request = NULL;
  tp_group_t *group = bench->group;
  int size = group->size, mine = group->my_index;
  hr_block_t sends[64] = {0}, recvs[64] = {0};
  for (int k = 0; k < size; k++) {
    sends[k] =
        (hr_block_t){bench->a + k * count, (size_t)pair_count(count, mine, k) * sizeof(double)};
    recvs[k] =
        (hr_block_t){bench->b + k * count, (size_t)pair_count(count, k, mine) * sizeof(double)};
    for (int64_t i = 0; i < count; i++)
      bench->a[k * count + i] = element(mine, i) + k, bench->b[k * count + i] = -1;
  }
  HR_TRY(run(tp_all_to_all(group, sends, recvs, 0, &request), &request));
  for (int k = 0; k < size; k++)
    for (int64_t i = 0; i < count; i++) {
      double want = i < pair_count(count, k, mine) ? element(k, i) + mine : -1,
             got = bench->b[k * count + i];
      if (got != want) return wrong(bench, "all-to-all", count, k * count + i, got, want);
    }
  return NULL;
}

/* Blocks of equal sizes, for which there are faster algorithms. */
static hr_status_t check_equal_all_to_all(bench_t *bench, int64_t count) {
  tp_request_t *request = NULL;
  tp_group_t *group = bench->group;
  int size = group->size, mine = group->my_index;
  hr_block_t sends[64] = {0}, recvs[64] = {0};
  size_t bytes = (size_t)count * sizeof(double);
  for (int k = 0; k < size; k++) {
    sends[k] = (hr_block_t){bench->a + k * count, bytes};
    recvs[k] = (hr_block_t){bench->b + k * count, bytes};
    for (int64_t i = 0; i < count; i++)
      bench->a[k * count + i] = element(mine, i) + k, bench->b[k * count + i] = -1;
  }
  HR_TRY(run(tp_all_to_all(group, sends, recvs, bytes, &request), &request));
  for (int64_t i = 0; i < size * count; i++) {
    double want = element((int)(i / count), i % count) + mine;
    if (bench->b[i] != want)
      return wrong(bench, "all-to-all of equal blocks", count, i, bench->b[i], want);
  }
  return NULL;
}

/* From every root in turn; the barrier keeps one broadcast from overtaking another. */
static hr_status_t check_broadcast(bench_t *bench, int64_t count) {
  tp_request_t *request = NULL;
  for (int root = 0; root < bench->group->size; root++) {
    int rank = bench->group->ranks[root];
    for (int64_t i = 0; i < count; i++)
      bench->a[i] = root == bench->group->my_index ? element(rank, i) : -1;
    HR_TRY(run(tp_broadcast(bench->group, root, bench->a, (size_t)count * sizeof(double), &request),
               &request));
    for (int64_t i = 0; i < count; i++)
      if (bench->a[i] != element(rank, i))
        return wrong(bench, "broadcast", count, i, bench->a[i], element(rank, i));
    HR_TRY(run(tp_barrier(bench->group, &request), &request));
  }
  return NULL;
}

typedef hr_status_t (*check_fn)(bench_t *bench, int64_t count);

static hr_status_t check_counts(bench_t *bench, check_fn check) {
  for (int c = 0; c < COUNT_COUNT; c++) HR_TRY(check(bench, counts[c]));
  return NULL;
}

/* By each algorithm of a collective that works here, NULL being what the size suggests. */
static hr_status_t check_algorithms(bench_t *bench, tp_collective_t collective,
                                    const char *const *names, check_fn check) {
  const char **forced = &bench->groups->forced[collective];
  hr_status_t st = NULL;
  for (; *names && !st; names++) {
    if (!strcmp(*names, "shm") && !bench->group->shm) continue;
    if (!strcmp(*names, "machines") && !tp_group_spans_machines(bench->group)) continue;
    *forced = strcmp(*names, "any") ? *names : NULL;
    st = check_counts(bench, check);
  }
  *forced = NULL;
  return st;
}

/* Every algorithm of every collective on bench->group. */
static hr_status_t check_group(bench_t *bench) {
  static const char *const all_gathers[] = {"any", "direct",   "bruck", "ring",
                                            "shm", "machines", NULL};
  static const char *const all_reduces[] = {"any", "gather", "direct", "shm", "machines", NULL};
  static const char *const two[] = {"any", "direct", "machines", NULL};
  static const char *const broadcasts[] = {"any", "tree", "machines", NULL};
  HR_TRY(check_algorithms(bench, TP_ALL_GATHER, all_gathers, check_all_gather));
  HR_TRY(check_algorithms(bench, TP_ALL_REDUCE, all_reduces, check_all_reduce));
  HR_TRY(check_algorithms(bench, TP_ALL_REDUCE, all_reduces, check_all_reduce_beside));
  HR_TRY(check_algorithms(bench, TP_ALL_REDUCE, all_reduces, check_wide_all_reduce));
  HR_TRY(check_algorithms(bench, TP_ALL_REDUCE, all_reduces, check_whole_all_reduce));
  HR_TRY(check_algorithms(bench, TP_REDUCE_SCATTER, two, check_reduce_scatter));
  HR_TRY(check_algorithms(bench, TP_REDUCE_SCATTER, two, check_whole_reduce_scatter));
  HR_TRY(check_algorithms(bench, TP_ALL_TO_ALL, two, check_all_to_all));
  HR_TRY(check_algorithms(bench, TP_ALL_TO_ALL, two, check_equal_all_to_all));
  return check_algorithms(bench, TP_BROADCAST, broadcasts, check_broadcast);
}

/* --- the groups --- */

/* Everybody, from the last to the first. */
static hr_status_t check_reversed(bench_t *bench) {
  int ranks[64], size = bench->groups->endpoint->world_size;
  for (int k = 0; k < size; k++) ranks[k] = size - 1 - k;
  HR_TRY(tp_group_get(bench->groups, size, ranks, 0, &bench->group));
  return check_group(bench);
}

/* Even and odd ranks, at the same time. */
static hr_status_t check_halves(bench_t *bench) {
  int ranks[64], count = 0, size = bench->groups->endpoint->world_size;
  for (int k = bench->groups->endpoint->rank % 2; k < size; k += 2) ranks[count++] = k;
  HR_TRY(tp_group_get(bench->groups, count, ranks, 0, &bench->group));
  tp_group_t *again;
  HR_TRY(tp_group_get(bench->groups, count, ranks, 0, &again));
  if (again != bench->group) return hr_error(HR_MISMATCH, "equal rank lists gave two groups");
  return check_group(bench);
}

/* Transfers of two groups under way together, finished in the other order. */
static hr_status_t check_overlap(bench_t *bench) {
  tp_request_t *first = NULL, *second = NULL;
  tp_group_t *world = bench->groups->world;
  int rank = bench->groups->endpoint->rank;
  for (int64_t i = 0; i < LONGEST; i++) bench->a[i] = bench->b[i] = element(rank, i);
  HR_TRY(tp_all_reduce(world, bench->a, bench->a, LONGEST, &double_sum, &first));
  hr_status_t st =
      run(tp_all_reduce(bench->group, bench->b, bench->b, LONGEST, &double_sum, &second), &second);
  if (st) {
    tp_request_cancel(first);
    return st;
  }
  HR_TRY(tp_request_wait(first));
  for (int64_t i = 0; i < LONGEST; i++) {
    if (bench->a[i] != listed_sum(world, i))
      return wrong(bench, "overlapped all-reduce", LONGEST, i, bench->a[i], listed_sum(world, i));
    if (bench->b[i] != listed_sum(bench->group, i))
      return wrong(bench, "overlapped all-reduce", LONGEST, i, bench->b[i],
                   listed_sum(bench->group, i));
  }
  return NULL;
}

static hr_status_t shift(bench_t *bench, int64_t count, int to, int from) {
  tp_request_t *request = NULL;
  int rank = bench->groups->endpoint->rank;
  hr_block_t send = {bench->a, (size_t)count * sizeof(double)}, recv = {bench->b, send.size_bytes};
  for (int64_t i = 0; i < count; i++) bench->a[i] = element(rank, i), bench->b[i] = -1;
  HR_TRY(run(tp_permute(bench->groups, 0, to, &send, from, &recv, &request), &request));
  for (int64_t i = 0; i < count; i++) {
    double want = from < 0 ? -1 : element(from, i);
    if (bench->b[i] != want) return wrong(bench, "permute", count, i, bench->b[i], want);
  }
  return NULL;
}

/* A shift by one to ranks that exist, so the ends have one side only; then a round of everybody. */
static hr_status_t check_shifts(bench_t *bench, int64_t count) {
  int size = bench->groups->endpoint->world_size, rank = bench->groups->endpoint->rank;
  HR_TRY(shift(bench, count, rank + 1 < size ? rank + 1 : -1, rank - 1));
  return shift(bench, count, (rank + 1) % size, (rank + size - 1) % size);
}

static hr_status_t check_permute(bench_t *bench) {
  static const char *const permutes[] = {"any", "message", NULL};
  return check_algorithms(bench, TP_PERMUTE, permutes, check_shifts);
}

static hr_status_t check_bad_groups(bench_t *bench) {
  int twice[] = {0, 0}, outside[] = {0, bench->groups->endpoint->world_size};
  tp_group_t *group;
  hr_status_t first = tp_group_get(bench->groups, 2, twice, 0, &group);
  hr_status_t second = tp_group_get(bench->groups, 2, outside, 0, &group);
  bool refused = hr_status_code(first) == HR_INVALID && hr_status_code(second) == HR_INVALID;
  hr_status_release(first);
  hr_status_release(second);
  return refused
             ? NULL
             : hr_error(HR_MISMATCH, "a group with a rank twice or outside the world was accepted");
}

/* --- progress --- */

/* Computes until the transfer is over, which nobody here looks after, or until it is late. */
static double compute_until_over(const tp_request_t *request) {
  double start = hr_clock_s(), last = start;
  volatile double sum = 0;
  while (!request->completion.over && last - start < 10) {
    for (int i = 0; i < 1000; i++) sum += i;
    if (request->groups->endpoint->oversubscribed) sched_yield();
    last = hr_clock_s();
  }
  return last - start;
}

/* A transfer of several rounds, and of more than one message between two ranks, ends while the
 * ranks compute. */
static hr_status_t check_progress(bench_t *bench) {
  tp_groups_t *groups = bench->groups;
  tp_request_t *request = NULL;
  hr_reducer_t reducer = double_sum;
  int rank = groups->endpoint->rank;
  if (groups->endpoint->world_size == 1) return NULL;
  reducer.any_thread = true;
  HR_TRY(tp_progress_begin(groups));
  for (int64_t i = 0; i < LONGEST; i++) bench->a[i] = element(rank, i);
  HR_TRY(tp_all_reduce(groups->world, bench->a, bench->a, LONGEST, &reducer, &request));
  double computed = compute_until_over(request);
  HR_TRY(tp_request_wait(request));
  for (int64_t i = 0; i < LONGEST; i++)
    if (bench->a[i] != listed_sum(groups->world, i))
      return wrong(bench, "all-reduce beside computing", LONGEST, i, bench->a[i],
                   listed_sum(groups->world, i));
  if (computed < 10) return NULL;
  return hr_error(HR_MISMATCH, "rank %d computed for %.3g s, and its transfer did not move", rank,
                  computed);
}

/* Many permutes one after the other, some in notes and some met, in which either end may lie where
 * the other process cannot reach it: of each transfer both ends must come to the same way. */
static hr_status_t check_matching(const bench_t *bench, double *a, double *b) {
  static const int64_t counts[] = {3, 400, 400, 250, 400};
  int size = bench->groups->endpoint->world_size, rank = bench->groups->endpoint->rank;
  bench_t mixed = *bench;
  for (int round = 0; round < MEETINGS; round++) {
    mixed.a = a && (rank + round) % 3 ? a : bench->a;
    mixed.b = b && (2 * rank + round) % 5 > 1 ? b : bench->b;
    HR_TRY(shift(&mixed, counts[round % 5], (rank + 1) % size, (rank + size - 1) % size));
  }
  return NULL;
}

/* With arrays where the others reach them: on all ranks, or only on odd ones; or only one of two
 * arrays. A rank that has no such memory takes part with its own. */
static hr_status_t check_shared(const bench_t *bench, size_t bytes) {
  bench_t shared = *bench;
  void *owner;
  double *a = tp_alloc(bench->groups, bytes, &owner), *b = tp_alloc(bench->groups, bytes, &owner);
  hr_status_t st = NULL;
  if (tp_is_shared(bench->groups, bench->a) || (a && !tp_is_shared(bench->groups, a)))
    st = hr_error(HR_MISMATCH, "memory is not shared, or is, that should not be");
  for (int way = 0; way < 3 && !st; way++) {
    bool odd = bench->groups->endpoint->rank & 1;
    shared.a = !a || (way == 1 && odd) ? bench->a : a;
    shared.b = !b || way == 2 || (way == 1 && odd) ? bench->b : b;
    st = check_group(&shared);
    if (!st) st = check_reversed(&shared);
    shared.group = bench->groups->world;
    if (!st) st = check_permute(&shared);
  }
  if (!st) st = check_matching(bench, a, b);
  tp_free(owner, a);
  tp_free(owner, b);
  return st;
}

/* Once warm, transfers allocate nothing. A transfer may find the staging memory of the one before
 * still read by a member that is late, so that there are two in the end: it is warm when it has
 * happened. */
static hr_status_t check_warm(bench_t *bench) {
  bool is_warm = strcmp(bench->groups->endpoint->vtable->name, "mpi") !=
                 0; /* "self" counts those of all ranks */
  bench->group = bench->groups->world;
  for (int round = 0; round < 4; round++) {
    size_t before = hr_mem_total_allocations();
    HR_TRY(check_counts(bench, check_all_reduce));
    is_warm = is_warm || hr_mem_total_allocations() == before;
  }
  return is_warm ? NULL : hr_error(HR_MISMATCH, "a warmed-up all-reduce allocates memory");
}

/* Groups of all processes, of halves, in other orders; overlapping and refused operations;
 * memory of a warm run. */
static hr_status_t check_all(bench_t *bench, size_t bytes) {
  bench->group = bench->groups->world;
  HR_TRY(check_group(bench));
  HR_TRY(check_shared(bench, bytes));
  HR_TRY(check_reversed(bench));
  HR_TRY(check_halves(bench));
  HR_TRY(check_overlap(bench));
  HR_TRY(check_permute(bench));
  HR_TRY(check_bad_groups(bench));
  if (bench->groups->shm && !bench->groups->world->shm &&
      !tp_group_spans_machines(bench->groups->world))
    return hr_error(HR_MISMATCH, "the world shares memory, and does not use it");
  HR_TRY(check_progress(bench));
  return check_warm(bench);
}

/* Arrays hold the longest count for every process. */
hr_status_t check_collectives(tp_groups_t *groups) {
  bench_t bench = {.groups = groups};
  groups->segment_bytes = SEGMENT_BYTES;
  size_t bytes = (size_t)groups->endpoint->world_size * LONGEST * sizeof(double);
  void *a = NULL, *b = NULL;
  hr_status_t st = hr_alloc(bytes, &a);
  if (!st) st = hr_alloc(bytes, &b);
  bench.a = a;
  bench.b = b;
  if (!st) st = check_all(&bench, bytes);
  hr_free(b);
  hr_free(a);
  return st;
}
