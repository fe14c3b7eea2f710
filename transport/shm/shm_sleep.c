/* Sleeping in waits. On an oversubscribed machine a process that polls, or yields again and again,
 * takes time from the processes that it waits for, and keeps its processor from their work. It
 * therefore sleeps on a futex in its shared state, and a process that may end its wait wakes it.
 *
 *   sleeper                        waker
 *   asleep = 1                     count a step, push a message, finish a piece
 *   fence                          fence
 *   poll: nothing                  asleep? 0, and wake
 *   wait while asleep is 1
 *
 * One of the two sees what the other wrote. A wait without a waker ends by its time limit. Cost: a
 * fence and a load for each possible sleeper, and a system call for each that sleeps. */
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "transport/shm/shm.h"

static _Atomic uint32_t *asleep_of(const tp_shm_t *shm, int local) {
  return &tp_shm_rank_state(shm, local)->asleep;
}

void tp_shm_sleep(const tp_shm_t *shm, long most_ns) {
  _Atomic uint32_t *asleep = asleep_of(shm, shm->my_local);
  struct timespec limit = {.tv_sec = most_ns / 1000000000, .tv_nsec = most_ns % 1000000000};
  if (!atomic_load_explicit(asleep, memory_order_relaxed)) {
    atomic_store(asleep, 1);
    atomic_thread_fence(memory_order_seq_cst);
    return;
  }
  syscall(SYS_futex, asleep, FUTEX_WAIT, 1, &limit, NULL, 0);
  atomic_store_explicit(asleep, 0, memory_order_relaxed);
}

void tp_shm_wake(const tp_shm_t *shm, int rank) {
  _Atomic uint32_t *asleep = asleep_of(shm, shm->local_of[rank]);
  if (!atomic_load_explicit(asleep, memory_order_relaxed)) return;
  if (atomic_exchange(asleep, 0)) syscall(SYS_futex, asleep, FUTEX_WAKE, 1, NULL, NULL, 0);
}
