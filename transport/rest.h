/* How a process that waits lets others run: it looks again at once, then gives its processor away, then sleeps a little
 * longer each time. The more processes there are the less each looks: those that wait would take the time of those that
 * they wait for, or that have yet to start. */
#ifndef TP_REST_H
#define TP_REST_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define TP_REST_SPINS 2000  /* looks before the processor is offered to others */
#define TP_REST_FEW 40      /* processes */
#define TP_REST_YIELDS 200  /* looks before sleeping, of few */
#define TP_REST_SHORTEST_NS 20000
#define TP_REST_STEP_NS 1000 /* few sleep so much longer each time; */
#define TP_REST_LONGEST_NS 1000000
#define TP_REST_DOUBLES 8      /* many twice as long after so many times, */
#define TP_REST_SHARE_NS 25000 /* in the end so much for each of them */

/* Is there no rest yet? */
static inline bool tp_rest_spins(bool crowded, uint32_t polls) { return !crowded && polls < TP_REST_SPINS; }

static inline long tp_rest_ns(int processes, uint32_t sleeps) {
  bool many = processes > TP_REST_FEW;
  long longest = many ? processes * TP_REST_SHARE_NS : TP_REST_LONGEST_NS, asleep = TP_REST_SHORTEST_NS;
  if (many)
    asleep <<= sleeps / TP_REST_DOUBLES < 16 ? sleeps / TP_REST_DOUBLES : 16;
  else
    asleep += (long)(sleeps < 1000 ? sleeps : 1000) * TP_REST_STEP_NS;
  return asleep < longest ? asleep : longest;
}

/* As tp_vtable_t.rest; `crowded` as in tp_endpoint_t, of so many processes on this machine. */
static inline void tp_rest(bool crowded, int processes, uint32_t polls) {
  uint32_t spins = crowded ? 0 : TP_REST_SPINS, yields = TP_REST_YIELDS;
  if (tp_rest_spins(crowded, polls)) return;
  if (processes > TP_REST_FEW) yields = yields * TP_REST_FEW / (uint32_t)processes;
  if (polls < spins + yields) {
    sched_yield();
    return;
  }
  nanosleep(&(struct timespec){.tv_nsec = tp_rest_ns(processes, polls - spins - yields)}, NULL);
}

#endif
