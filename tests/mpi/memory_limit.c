/* The bound of a collective: how fast processes move its bytes through shared memory alone. */
#include "memory_limit.h"

#include <mpi.h>
#include <sched.h>

#include "base/clock.h"
#include "transport/shm/shm_group.h"

enum { GIVES = 1, AROUND = 2, IN_BLOCKS = 4, WAYS = 8 };

static size_t longest_part(const limit_t *limit) {
  size_t most = 0;
  for (int k = 0; k < limit->ranks; k++) {
    size_t bytes = limit->part(limit->bytes, limit->ranks, 0, k).bytes;
    if (bytes > most) most = bytes;
  }
  return most;
}

/* From `start` on, at most `most` bytes of what a rank and another one have to exchange in one
 * direction. */
static void move_part(const limit_t *limit, int rank, int other, int way, size_t start,
                      size_t most) {
  int receiver = way & GIVES ? other : rank;
  int sender = way & GIVES ? rank : other;
  limit_part_t part = limit->part(limit->bytes, limit->ranks, receiver, sender);
  if (part.bytes <= start) return;
  size_t left = part.bytes - start;
  tp_shm_copy(limit->outs[receiver] + part.out + start, limit->ins[sender] + part.in + start,
              left < most ? left : most, way & AROUND);
}

/* What a rank has to move. */
static void move_all(const limit_t *limit, int rank, int way) {
  size_t longest = longest_part(limit), most = longest;
  if (way & IN_BLOCKS) most = (size_t)(way & AROUND ? 128 : 16) << 10;
  for (size_t start = 0; start < longest; start += most)
    for (int i = 0; i < limit->ranks; i++)
      move_part(limit, rank, (rank + i) % limit->ranks, way, start, most);
}

/* One clock for all; MPI's may begin anew in each process. */
static double now_us(void) { return 1e6 * hr_clock_s(); }

/* Takes no time of a processor from those that are still at work. */
static void wait_asleep(void) {
  MPI_Request all;
  int done = 0;
  MPI_Ibarrier(MPI_COMM_WORLD, &all);
  for (MPI_Test(&all, &done, MPI_STATUS_IGNORE); !done; MPI_Test(&all, &done, MPI_STATUS_IGNORE))
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

static double time_way(const limit_t *limit, int movers, int way, int repeats) {
  double begin = 1e30, end = 0, first, last;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = -1; i < repeats && limit->rank < movers; i++) {
    if (!i) begin = now_us(); /* the move before: what the caches hold is its own */
    for (int r = limit->rank; r < limit->ranks; r += movers) move_all(limit, r, way);
    end = now_us();
  }
  wait_asleep();
  MPI_Allreduce(&begin, &first, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return (last - first) / repeats;
}

/* One processor of `all` for each mover. */
static void stay_on_one(const cpu_set_t *all, int mover) {
  cpu_set_t own;
  int cpu = 0;
  for (int seen = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, all) && seen++ == mover) break;
  CPU_ZERO(&own);
  CPU_SET(cpu, &own);
  sched_setaffinity(0, sizeof own, &own);
}

double limit_sample(const limit_t *limit, int repeats) {
  double best = 1e30;
  cpu_set_t mine, all; /* ranks may each be bound to their own */
  sched_getaffinity(0, sizeof mine, &mine);
  MPI_Allreduce(&mine, &all, sizeof all, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
  int processors = CPU_COUNT(&all), movers = processors < limit->ranks ? processors : limit->ranks;
  stay_on_one(&all, limit->rank % movers);
  for (int way = 0; way < WAYS; way++) {
    double us = time_way(limit, movers, way, repeats);
    if (us < best) best = us;
  }
  sched_setaffinity(0, sizeof mine, &mine);
  return best;
}
