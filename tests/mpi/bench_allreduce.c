/* Times the all-reduce of floats against MPI_Allreduce, on however many ranks mpirun starts. It links MPI itself, so
 * that both run in the same processes.
 *   bench_allreduce [ALGORITHM]     gather or direct; default: whatever the size suggests */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "transport/collective.h"

static hr_status_t add_floats(void *context, void *restrict acc, const void *restrict in, int64_t count) {
  (void)context;
  float *restrict to = acc;
  const float *restrict from = in;
  for (int64_t i = 0; i < count; i++) to[i] += from[i];
  return NULL;
}

static const tp_reducer_t float_sum = {.reduce = add_floats, .element_bytes = sizeof(float)};

static void reduce_once(tp_groups_t *groups, float *values, int64_t count, bool by_mpi) {
  if (by_mpi) {
    MPI_Allreduce(MPI_IN_PLACE, values, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    return;
  }
  tp_request_t *request = NULL;
  hr_status_t st = tp_all_reduce(groups->world, values, count, &float_sum, &request);
  if (!st) st = tp_request_wait(request);
  if (!st) return;
  hr_status_print(stderr, st);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Mean microseconds of an all-reduce, by the slowest rank's clock. */
static double time_of(tp_groups_t *groups, float *values, int64_t count, bool by_mpi) {
  int repeats = count < 10000 ? 300 : count < 1000000 ? 50 : 10;
  for (int64_t i = 0; i < count; i++) values[i] = 0;
  for (int i = 0; i < 3; i++) reduce_once(groups, values, count, by_mpi);
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  for (int i = 0; i < repeats; i++) reduce_once(groups, values, count, by_mpi);
  double mean = (MPI_Wtime() - start) / repeats * 1e6, slowest;
  MPI_Allreduce(&mean, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

int main(int argc, char **argv) {
  static const int64_t counts[] = {1, 1024, 4096, 16384, 65536, 262144, 4194304};
  tp_endpoint_t *endpoint;
  tp_groups_t *groups;
  hr_status_t st = tp_mpi_open(&endpoint);
  if (!st) st = tp_groups_of(endpoint, &groups);
  void *values = NULL;
  if (!st) st = hr_alloc(4194304 * sizeof(float), &values);
  if (st) {
    hr_status_print(stderr, st);
    return 1;
  }
  groups->forced[TP_ALL_REDUCE] = argc > 1 ? argv[1] : NULL;
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    double ours = time_of(groups, values, counts[i], false), mpi = time_of(groups, values, counts[i], true);
    if (endpoint->rank == 0)
      printf("%2d ranks %9lld bytes: %10.1f us, MPI_Allreduce %10.1f us, %5.2f times\n", endpoint->world_size,
             (long long)counts[i] * 4, ours, mpi, ours / mpi);
  }
  hr_free(values);
  tp_close(endpoint, false, 0);
  return 0;
}
