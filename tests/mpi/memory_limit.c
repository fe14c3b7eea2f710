#include "memory_limit.h"

#include <mpi.h>
#include <time.h>
#include <stdio.h>
#include <stdlib.h>

#include "transport/shm_group.h"

#define BLOCK_BYTES ((size_t)16 << 10)

enum { GIVES = 1, AROUND = 2, IN_BLOCKS = 4, WAYS = 8 };

static size_t longest_part(const limit_t *limit) {
  size_t most = 0;
  for (int k = 0; k < limit->ranks; k++) {
    size_t bytes = limit->part(limit->bytes, limit->ranks, limit->rank, k).bytes;
    if (bytes > most) most = bytes;
  }
  return most;
}

/* From `start` on, at most `most` bytes of what this rank and another one have to exchange in one direction. */
static void move_part(const limit_t *limit, int other, int way, size_t start, size_t most) {
  int receiver = way & GIVES ? other : limit->rank, sender = way & GIVES ? limit->rank : other;
  limit_part_t part = limit->part(limit->bytes, limit->ranks, receiver, sender);
  if (part.bytes <= start) return;
  size_t left = part.bytes - start;
  tp_shm_copy(limit->outs[receiver] + part.out + start, limit->ins[sender] + part.in + start,
              left < most ? left : most, way & AROUND);
}

static void move_all(const limit_t *limit, int way) {
  size_t longest = longest_part(limit), most = way & IN_BLOCKS ? BLOCK_BYTES : longest;
  for (size_t start = 0; start < longest; start += most)
    for (int i = 0; i < limit->ranks; i++) move_part(limit, (limit->rank + i) % limit->ranks, way, start, most);
}

/* One clock for all; MPI's may begin anew in each process. */
static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static double time_way(const limit_t *limit, int way, int repeats) {
  move_all(limit, way); /* what the caches hold is its own */
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = now_us(), end, first, last;
  for (int i = 0; i < repeats; i++) move_all(limit, way);
  end = now_us();
  MPI_Allreduce(&begin, &first, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return (last - first) / repeats;
}

double limit_sample(const limit_t *limit, int repeats) {
  double best = 1e30;
  for (int way = 0; way < WAYS; way++) {
    double us = time_way(limit, way, repeats);
    if (getenv("WAYS") && !limit->rank) fprintf(stderr, "%zu way %d: %.2f\n", limit->bytes, way, us);
    if (us < best) best = us;
  }
  return best;
}
