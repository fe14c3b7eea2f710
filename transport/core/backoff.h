/* Backoff of polling waits: spin, yield, then sleep with growing delay. The more processes share
 * the machine, the less each polls, since polling takes time from the processes that are awaited:
 *
 *   processes          spins   yields      sleeps
 *   not oversubscribed  2000    200         20 us, longer by 1 us each time, up to 1 ms
 *   oversubscribed         0    200         as above; without MPI none: shm_sleep.c
 *   more than 40           -    200*40/n    20 us, doubled every 8 sleeps, up to n * 25 us */
#ifndef TP_BACKOFF_H
#define TP_BACKOFF_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define TP_BACKOFF_SPINS 2000 /* polls without a system call */
#define TP_BACKOFF_FEW 40     /* most processes that count as few */
#define TP_BACKOFF_YIELDS 200 /* polls with sched_yield, for few processes */
#define TP_BACKOFF_SHORTEST_NS 20000
#define TP_BACKOFF_STEP_NS 1000 /* increment of a sleep in ns, for few processes */
#define TP_BACKOFF_LONGEST_NS 1000000
#define TP_BACKOFF_DOUBLES 8      /* sleeps until their length doubles, for many processes */
#define TP_BACKOFF_SHARE_NS 25000 /* longest sleep in ns per process, for many processes */

/* True if the next poll follows at once. */
static inline bool tp_backoff_spins(bool oversubscribed, uint32_t polls) {
  return !oversubscribed && polls < TP_BACKOFF_SPINS;
}

static inline long tp_backoff_ns(int processes, uint32_t sleeps) {
  bool many = processes > TP_BACKOFF_FEW;
  long longest = many ? processes * TP_BACKOFF_SHARE_NS : TP_BACKOFF_LONGEST_NS,
       asleep = TP_BACKOFF_SHORTEST_NS;
  if (many)
    asleep <<= sleeps / TP_BACKOFF_DOUBLES < 16 ? sleeps / TP_BACKOFF_DOUBLES : 16;
  else
    asleep += (long)(sleeps < 1000 ? sleeps : 1000) * TP_BACKOFF_STEP_NS;
  return asleep < longest ? asleep : longest;
}

/* Waits as tp_vtable_t.backoff specifies; `processes`: those of the endpoint on this machine. */
static inline void tp_backoff(bool oversubscribed, int processes, uint32_t polls) {
  uint32_t spins = oversubscribed ? 0 : TP_BACKOFF_SPINS, yields = TP_BACKOFF_YIELDS;
  if (tp_backoff_spins(oversubscribed, polls)) return;
  if (processes > TP_BACKOFF_FEW) yields = yields * TP_BACKOFF_FEW / (uint32_t)processes;
  if (polls < spins + yields) {
    sched_yield();
    return;
  }
  nanosleep(&(struct timespec){.tv_nsec = tp_backoff_ns(processes, polls - spins - yields)}, NULL);
}

#endif
