/* The clocks of the tree. Durations and time-outs use the monotonic clock, which all processes of a
 * machine share and nobody sets; the calendar clock serves only for time stamps that outlive the
 * process. The coarse clock advances once a kernel tick (1 to 4 ms) and costs a few nanoseconds: it
 * is for polling loops.
 * Thread: any. */
#ifndef HR_BASE_CLOCK_H
#define HR_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define HR_NS_PER_S 1000000000
#define HR_NS_PER_MS 1000000

static inline uint64_t hr_clock_read_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * HR_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Monotonic, in nanoseconds, milliseconds or seconds since an arbitrary origin. */
static inline uint64_t hr_clock_ns(void) { return hr_clock_read_ns(CLOCK_MONOTONIC); }
static inline int64_t hr_clock_ms(void) { return (int64_t)(hr_clock_ns() / HR_NS_PER_MS); }
static inline double hr_clock_s(void) { return 1e-9 * (double)hr_clock_ns(); }
/* Monotonic and coarse: the same origin, behind the precise one by a tick at most. */
static inline uint64_t hr_clock_coarse_ns(void) { return hr_clock_read_ns(CLOCK_MONOTONIC_COARSE); }
static inline int64_t hr_clock_coarse_ms(void) {
  return (int64_t)(hr_clock_coarse_ns() / HR_NS_PER_MS);
}
static inline double hr_clock_coarse_s(void) { return 1e-9 * (double)hr_clock_coarse_ns(); }
/* Nanoseconds since 1970. */
static inline uint64_t hr_clock_realtime_ns(void) { return hr_clock_read_ns(CLOCK_REALTIME); }

/* The time `delay_ms` from now as a timespec for POSIX functions with a time-out; `clock` is the
 * clock that the function uses. */
static inline struct timespec hr_clock_deadline(clockid_t clock, uint32_t delay_ms) {
  uint64_t until_ns = hr_clock_read_ns(clock) + (uint64_t)delay_ms * HR_NS_PER_MS;
  return (struct timespec){.tv_sec = (time_t)(until_ns / HR_NS_PER_S),
                           .tv_nsec = (long)(until_ns % HR_NS_PER_S)};
}

#endif
