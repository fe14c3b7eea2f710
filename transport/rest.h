/* How a process that waits lets others run: it looks again at once, then gives its processor away, then sleeps a little
 * longer each time. */
#ifndef TP_REST_H
#define TP_REST_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define TP_REST_SPINS 2000  /* looks before the processor is offered to others */
#define TP_REST_YIELDS 200  /* looks before sleeping */
#define TP_REST_SHORTEST_NS 20000
#define TP_REST_LONGEST_NS 1000000

/* Is there no rest yet? */
static inline bool tp_rest_spins(bool crowded, uint32_t polls) { return !crowded && polls < TP_REST_SPINS; }

/* As tp_vtable_t.rest; `crowded` as in tp_endpoint_t. */
static inline void tp_rest(bool crowded, uint32_t polls) {
  uint32_t spins = crowded ? 0 : TP_REST_SPINS;
  if (tp_rest_spins(crowded, polls)) return;
  if (polls < spins + TP_REST_YIELDS) {
    sched_yield();
    return;
  }
  uint32_t sleeps = polls - spins - TP_REST_YIELDS;
  long sleep_ns = TP_REST_SHORTEST_NS + (long)(sleeps > 1000 ? 1000 : sleeps) * 1000;
  if (sleep_ns > TP_REST_LONGEST_NS) sleep_ns = TP_REST_LONGEST_NS;
  nanosleep(&(struct timespec){.tv_nsec = sleep_ns}, NULL);
}

#endif
