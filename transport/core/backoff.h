/* Backoff of polling waits: spin, yield, then sleep with growing delay. The more processes share
 * the machine, the less each polls: pollers would take the time of the processes that they wait
 * for. */
#ifndef TP_BACKOFF_H
#define TP_BACKOFF_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define TP_BACKOFF_SPINS 2000 /* looks before the processor is offered to others */
#define TP_BACKOFF_FEW 40     /* processes */
#define TP_BACKOFF_YIELDS 200 /* looks before sleeping, of few */
#define TP_BACKOFF_SHORTEST_NS 20000
#define TP_BACKOFF_STEP_NS 1000 /* few sleep so much longer each time; */
#define TP_BACKOFF_LONGEST_NS 1000000
#define TP_BACKOFF_DOUBLES 8      /* many twice as long after so many times, */
#define TP_BACKOFF_SHARE_NS 25000 /* in the end so much for each of them */

/* Is there no rest yet? */
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

/* As tp_vtable_t.rest; `oversubscribed` as in tp_endpoint_t, of so many processes on this machine.
 */
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
