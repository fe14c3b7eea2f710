/* Times collectives beside those of MPI, on however many ranks mpirun starts: both in the same
 * processes, taking turns, the best of many samples of each. Prints lines "COLLECTIVE RANKS BYTES
 * OURS_US MPI_US MEMORY_US" on rank 0; bytes are those of the larger array of a rank, and the last
 * is what merely moving what must be moved takes (memory_limit.h; 0: not known).
 * tests/bench/bench_comm.py makes a table and a picture of them. bench_comm [COLLECTIVE...]
 * all-reduce, all-gather, reduce-scatter, all-to-all, permute, channel, echo; default: all
 *   bench_comm --seconds S ...      for each size of each collective (default 0.3)
 *   bench_comm --least BYTES --most BYTES ...      only sizes between them
 * Arrays lie in shared memory, where programs make theirs; those of "all-reduce-copy" and the like
 * elsewhere. MPI's are never in shared memory, but for its own. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "memory_limit.h"
#include "ops/kernels/comm/reduce_local.h"
#include "transport/core/collective.h"
#include "transport/core/tp_channel.h"
#include "transport/shm/shm.h"

#define MOST_BYTES ((size_t)64 << 20)

typedef struct bench {
  tp_groups_t *groups;
  int ranks, rank;
  char *private[2],
      *shared[2]; /* operand and result, MOST_BYTES each; the latter in shared memory */
  void *owner;
  char *in, *out; /* those that are used */
  size_t bytes;
  bool copies;
  hr_block_t *sends, *recvs;
  char **ins, **outs; /* by rank: what it has in shared memory; NULL: none */
} bench_t;

typedef hr_status_t (*start_fn)(bench_t *bench, tp_request_t **out_request);
typedef void (*mpi_fn)(bench_t *bench);

static hr_status_t sum_floats(void *context, void *out, const void *const *in, int arrays,
                              int64_t count) {
  (void)context;
  reduce_local_of(HLO_ADD, HR_F32)(out, in, arrays, count);
  return NULL;
}
static hr_status_t add_floats(void *context, void *acc, const void *in, int64_t count) {
  return sum_floats(context, acc, (const void *const[]){acc, in}, 2, count);
}
static const hr_reducer_t float_sum = {
    .reduce = add_floats, .combine = sum_floats, .element_bytes = sizeof(float)};

static int floats(const bench_t *bench) { return (int)(bench->bytes / sizeof(float)); }

static hr_status_t all_reduce(bench_t *bench, tp_request_t **out_request) {
  return tp_all_reduce(bench->groups->world, bench->in, bench->in, floats(bench), &float_sum,
                       out_request);
}
static void mpi_all_reduce(bench_t *bench) {
  MPI_Allreduce(MPI_IN_PLACE, bench->in, floats(bench), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static hr_status_t reduce_scatter(bench_t *bench, tp_request_t **out_request) {
  return tp_reduce_scatter(bench->groups->world, bench->in, floats(bench) / bench->ranks,
                           &float_sum, bench->out, out_request);
}
static void mpi_reduce_scatter(bench_t *bench) {
  MPI_Reduce_scatter_block(bench->in, bench->out, floats(bench) / bench->ranks, MPI_FLOAT, MPI_SUM,
                           MPI_COMM_WORLD);
}

static hr_status_t all_gather(bench_t *bench, tp_request_t **out_request) {
  return tp_all_gather(bench->groups->world, bench->in, bench->bytes / (size_t)bench->ranks,
                       bench->out, out_request);
}
static void mpi_all_gather(bench_t *bench) {
  int each = (int)bench->bytes / bench->ranks;
  MPI_Allgather(bench->in, each, MPI_BYTE, bench->out, each, MPI_BYTE, MPI_COMM_WORLD);
}

static hr_status_t all_to_all(bench_t *bench, tp_request_t **out_request) {
  size_t each = bench->bytes / (size_t)bench->ranks;
  for (int k = 0; k < bench->ranks; k++) {
    bench->sends[k] = (hr_block_t){bench->in + (size_t)k * each, each};
    bench->recvs[k] = (hr_block_t){bench->out + (size_t)k * each, each};
  }
  return tp_all_to_all(bench->groups->world, bench->sends, bench->recvs, each, out_request);
}
static void mpi_all_to_all(bench_t *bench) {
  int each = (int)bench->bytes / bench->ranks;
  MPI_Alltoall(bench->in, each, MPI_BYTE, bench->out, each, MPI_BYTE, MPI_COMM_WORLD);
}

static hr_status_t permute(bench_t *bench, tp_request_t **out_request) {
  hr_block_t send = {bench->in, bench->bytes}, recv = {bench->out, bench->bytes};
  return tp_permute(bench->groups, 0, (bench->rank + 1) % bench->ranks, &send,
                    (bench->rank + bench->ranks - 1) % bench->ranks, &recv, out_request);
}
static void mpi_permute(bench_t *bench) {
  MPI_Sendrecv(bench->in, (int)bench->bytes, MPI_BYTE, (bench->rank + 1) % bench->ranks, 0,
               bench->out, (int)bench->bytes, MPI_BYTE,
               (bench->rank + bench->ranks - 1) % bench->ranks, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

/* --- what each has from each --- */

static limit_part_t reduced_part(size_t bytes, int ranks, int receiver, int sender) {
  (void)sender;
  size_t each = bytes / (size_t)ranks;
  return (limit_part_t){.in = (size_t)receiver * each, .bytes = each};
}
static limit_part_t exchanged_part(size_t bytes, int ranks, int receiver, int sender) {
  size_t each = bytes / (size_t)ranks;
  return (limit_part_t){.in = (size_t)receiver * each, .out = (size_t)sender * each, .bytes = each};
}
/* In the arrays themselves, nothing to its own place. */
static limit_part_t rotated_part(size_t bytes, int ranks, int receiver, int sender) {
  size_t each = bytes / (size_t)ranks;
  return (limit_part_t){
      .in = (size_t)receiver * each, .out = (size_t)((sender + 1) % ranks) * each, .bytes = each};
}
static limit_part_t gathered_part(size_t bytes, int ranks, int receiver, int sender) {
  (void)receiver;
  size_t each = bytes / (size_t)ranks;
  return (limit_part_t){.out = (size_t)sender * each, .bytes = each};
}
static limit_part_t next_part(size_t bytes, int ranks, int receiver, int sender) {
  return (limit_part_t){.bytes = (sender + 1) % ranks == receiver ? bytes : 0};
}

/* --- */

/* To the next rank and from the one before. */
static hr_status_t channel(bench_t *bench, tp_request_t **out_request) {
  hr_block_t send = {bench->in, bench->bytes}, recv = {bench->out, bench->bytes};
  int next = (bench->rank + 1) % bench->ranks,
      before = (bench->rank + bench->ranks - 1) % bench->ranks;
  tp_request_t *received;
  HR_TRY(tp_channel_send(bench->groups, next, 1, &send, 1, out_request));
  HR_TRY(tp_channel_recv(bench->groups, before, 1, &recv, 1, &received));
  return tp_request_wait(received);
}

static void mpi_channel(bench_t *bench) {
  int next = (bench->rank + 1) % bench->ranks,
      before = (bench->rank + bench->ranks - 1) % bench->ranks;
  MPI_Request requests[2];
  MPI_Issend(bench->in, (int)bench->bytes, MPI_BYTE, next, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(bench->out, (int)bench->bytes, MPI_BYTE, before, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* Ranks in pairs, of which the first sends and the second answers: two messages, one after the
 * other. */
static hr_status_t echo(bench_t *bench, tp_request_t **out_request) {
  hr_block_t send = {bench->in, bench->bytes}, recv = {bench->out, bench->bytes};
  int other = bench->rank ^ 1;
  *out_request = NULL;
  for (int iteration = 0; iteration < 2 && other < bench->ranks; iteration++) {
    tp_request_t *request;
    bool sends = iteration == (bench->rank & 1);
    HR_TRY((sends ? tp_channel_send : tp_channel_recv)(bench->groups, other, 2,
                                                       sends ? &send : &recv, 1, &request));
    HR_TRY(tp_request_wait(request));
  }
  return NULL;
}
static void mpi_echo(bench_t *bench) {
  int other = bench->rank ^ 1, bytes = (int)bench->bytes;
  for (int iteration = 0; iteration < 2 && other < bench->ranks; iteration++)
    if (iteration == (bench->rank & 1))
      MPI_Ssend(bench->in, bytes, MPI_BYTE, other, 2, MPI_COMM_WORLD);
    else
      MPI_Recv(bench->out, bytes, MPI_BYTE, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static const struct {
  const char *name;
  start_fn start;
  mpi_fn mpi;
  limit_part_fn part; /* NULL: nothing is known of what it must take */
  bool in_place, copies;
} contests[] = {{"all-reduce", all_reduce, mpi_all_reduce, rotated_part, true, false},
                {"reduce-scatter", reduce_scatter, mpi_reduce_scatter, reduced_part, false, false},
                {"all-gather", all_gather, mpi_all_gather, gathered_part, false, false},
                {"all-to-all", all_to_all, mpi_all_to_all, exchanged_part, false, false},
                {"permute", permute, mpi_permute, next_part, false, false},
                {"channel", channel, mpi_channel, next_part, false, false},
                {"echo", echo, mpi_echo, NULL, false, false},
                {"all-reduce-copy", all_reduce, mpi_all_reduce, NULL, true, true},
                {"reduce-scatter-copy", reduce_scatter, mpi_reduce_scatter, NULL, false, true},
                {"all-gather-copy", all_gather, mpi_all_gather, NULL, false, true},
                {"all-to-all-copy", all_to_all, mpi_all_to_all, NULL, false, true},
                {"permute-copy", permute, mpi_permute, NULL, false, true},
                {"channel-copy", channel, mpi_channel, NULL, false, true},
                {"echo-copy", echo, mpi_echo, NULL, false, true}};

static void fail(hr_status_t st) {
  hr_status_print(stderr, st);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void call(bench_t *bench, start_fn start, mpi_fn mpi) {
  tp_request_t *request = NULL;
  hr_status_t st = NULL;
  if (mpi)
    mpi(bench);
  else if (!(st = start(bench, &request)))
    st = tp_request_wait(request);
  if (st) fail(st);
}

/* Microseconds of one call, the mean of a few, by the slowest rank's clock. */
static double sample(bench_t *bench, start_fn start, mpi_fn mpi, int repeats) {
  bool copies = mpi || bench->copies;
  bench->in = copies ? bench->private[0] : bench->shared[0];
  bench->out = copies ? bench->private[1] : bench->shared[1];
  call(bench, start, mpi); /* what the caches hold is its own */
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime(), mean, slowest;
  for (int i = 0; i < repeats; i++) call(bench, start, mpi);
  mean = (MPI_Wtime() - begin) / repeats * 1e6;
  MPI_Allreduce(&mean, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

/* Microseconds of moving the bytes alone, the mean of a few, by the slowest rank's clock. */
static double sample_memory(const bench_t *bench, size_t contest, int repeats) {
  limit_part_fn part = contests[contest].part;
  char **outs = contests[contest].in_place ? bench->ins : bench->outs;
  if (!part || !bench->ins) return 0;
  return limit_sample(&(limit_t){bench->ranks, bench->rank, bench->ins, outs, bench->bytes, part},
                      repeats);
}

static void compare(bench_t *bench, size_t contest, double seconds) {
  double best[3] = {1e30, 1e30, 1e30}, begin = MPI_Wtime();
  int repeats = bench->bytes < ((size_t)1 << 20) ? 10 : 1, more = 1;
  if (bench->bytes < 65536) repeats = 100;
  memset(bench->private[0], 0, bench -> bytes);
  memset(bench->shared[0], 0, bench->bytes);
  bench->copies = contests[contest].copies;
  for (int i = 0; more; i++) {
    double us[] = {sample(bench, contests[contest].start, NULL, repeats),
                   sample(bench, NULL, contests[contest].mpi, repeats),
                   sample_memory(bench, contest, repeats)};
    for (int k = 0; i && k < 3; k++) /* the first is a warm-up */
      if (us[k] < best[k]) best[k] = us[k];
    more = i < 3 || MPI_Wtime() - begin < seconds;
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  if (bench->rank) return;
  printf("%s %d %zu %.2f %.2f %.2f\n", contests[contest].name, bench->ranks, bench->bytes, best[0],
         best[1], best[2]);
  fflush(stdout);
}

static bool is_wanted(const char *name, int count, char **names) {
  for (int i = 0; i < count; i++)
    if (!strcmp(names[i], name)) return true;
  return count == 0;
}

/* Where everybody's arrays are, for this process; where ranks are on several machines they are out
 * of reach. */
static hr_status_t find_arrays(bench_t *bench) {
  const tp_shm_t *shm = bench->groups->shm;
  void *places, *arrays;
  size_t ranks = (size_t)bench->ranks;
  if (shm->local_size < bench->ranks) return NULL;
  uint64_t mine[2] = {tp_shm_offset(shm, bench->shared[0]), tp_shm_offset(shm, bench->shared[1])};
  HR_TRY(hr_alloc(ranks * sizeof mine, &places));
  HR_TRY(hr_alloc(2 * ranks * sizeof(char *), &arrays));
  MPI_Allgather(mine, 2, MPI_UINT64_T, places, 2, MPI_UINT64_T, MPI_COMM_WORLD);
  bench->ins = arrays;
  bench->outs = bench->ins + ranks;
  for (size_t r = 0; r < ranks; r++) {
    bench->ins[r] = tp_shm_at(shm, ((uint64_t *)places)[2 * r]);
    bench->outs[r] = tp_shm_at(shm, ((uint64_t *)places)[2 * r + 1]);
  }
  hr_free(places);
  return NULL;
}

static hr_status_t open_bench(bench_t *bench, tp_endpoint_t **out_endpoint) {
  void *in, *out, *blocks;
  HR_TRY(tp_mpi_open(out_endpoint));
  HR_TRY(tp_groups_of(*out_endpoint, &bench->groups));
  HR_TRY(hr_alloc_zeroed(MOST_BYTES, &in));
  HR_TRY(hr_alloc_zeroed(MOST_BYTES, &out));
  bench->ranks = (*out_endpoint)->world_size;
  HR_TRY(hr_alloc(2 * (size_t)bench->ranks * sizeof(hr_block_t), &blocks));
  bench->rank = (*out_endpoint)->rank;
  bench->private[0] = in;
  bench->private[1] = out;
  for (int i = 0; i < 2; i++) {
    bench->shared[i] = tp_alloc(bench->groups, MOST_BYTES, &bench->owner);
    if (!bench->shared[i]) return hr_error(HR_UNAVAILABLE, "there is no memory to share");
  }
  bench->sends = blocks;
  bench->recvs = bench->sends + bench->ranks;
  return find_arrays(bench);
}

int main(int argc, char **argv) {
  static const size_t sizes[] = {4,      256,     4096,    16384,    65536,
                                 262144, 1048576, 4194304, 16777216, 67108864};
  bench_t bench = {0};
  tp_endpoint_t *endpoint;
  double seconds = 0.3, least = 0, most = MOST_BYTES;
  for (; argc > 2 && !strncmp(argv[1], "--", 2); argc -= 2, argv += 2) {
    char which = argv[1][2];
    double *option = &most;
    if (which == 's') option = &seconds;
    if (which == 'l') option = &least;
    *option = atof(argv[2]);
  }
  hr_status_t st = open_bench(&bench, &endpoint);
  if (st) {
    hr_status_print(stderr, st);
    return 1;
  }
  for (size_t c = 0; c < sizeof contests / sizeof *contests; c++)
    for (size_t i = 0;
         i < sizeof sizes / sizeof *sizes && is_wanted(contests[c].name, argc - 1, argv + 1); i++) {
      if ((double)sizes[i] < least || (double)sizes[i] > most) continue;
      bench.bytes = sizes[i] < 4 * (size_t)bench.ranks && c ? 4 * (size_t)bench.ranks : sizes[i];
      compare(&bench, c, seconds);
    }
  for (int i = 0; i < 2; i++) {
    tp_free(bench.owner, bench.shared[i]);
    hr_free(bench.private[i]);
  }
  hr_free(bench.ins);
  hr_free(bench.sends);
  tp_close(endpoint, false, 0);
  return 0;
}
