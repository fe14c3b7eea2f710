/* Durations of executions in constant memory: a list of exact values up to a limit, then a
 * logarithmic histogram, from which the median is estimated. */
#include "cli/run/cli_times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* A bucket counts durations with the same exponent and the same leading bits of the significand.
 * Its width is at most 2^-7 of its lower bound, so that its middle differs by at most 2^-8 from
 * any duration in it. */
#define SIGNIFICAND_BITS 7
#define LOWEST_EXPONENT (-32) /* 2^-32 s, less than a nanosecond */
#define HIGHEST_EXPONENT 32
#define BUCKETS ((HIGHEST_EXPONENT - LOWEST_EXPONENT) << SIGNIFICAND_BITS)

static double lower_bound(size_t bucket) {
  double significand =
      1 + (double)(bucket & ((1u << SIGNIFICAND_BITS) - 1)) / (1 << SIGNIFICAND_BITS);
  return ldexp(significand, (int)(bucket >> SIGNIFICAND_BITS) + LOWEST_EXPONENT);
}

static size_t find_bucket(double seconds) {
  int exponent;
  if (!(seconds >= lower_bound(0))) return 0;
  double significand = 2 * frexp(seconds, &exponent) - 1; /* in [0, 1) */
  if (exponent > HIGHEST_EXPONENT) return BUCKETS - 1;
  return ((size_t)(exponent - 1 - LOWEST_EXPONENT) << SIGNIFICAND_BITS) +
         (size_t)(significand * (1 << SIGNIFICAND_BITS));
}

/* Converts the full list to a histogram. */
static hr_status_t begin_histogram(cli_times_t *times) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(BUCKETS * sizeof *times->histogram, &memory));
  times->histogram = memory;
  for (uint64_t i = 0; i < times->count; i++) times->histogram[find_bucket(times->exact_s[i])]++;
  hr_free(times->exact_s);
  times->exact_s = NULL;
  return NULL;
}

/* Keeps the first times exactly, and a histogram from CLI_TIMES_EXACT on, so that memory is
 * bounded. */
static hr_status_t store_exact(cli_times_t *times, double seconds) {
  if (!times->count) {
    void *memory;
    HR_TRY(hr_alloc(CLI_TIMES_EXACT * sizeof *times->exact_s, &memory));
    times->exact_s = memory;
  }
  if (times->count == CLI_TIMES_EXACT) HR_TRY(begin_histogram(times));
  if (times->histogram)
    times->histogram[find_bucket(seconds)]++;
  else
    times->exact_s[times->count] = seconds;
  return NULL;
}

hr_status_t cli_times_add(cli_times_t *times, double seconds) {
  HR_TRY(store_exact(times, seconds));
  if (!times->count) times->first_s = times->best_s = seconds;
  times->best_s = fmin(times->best_s, seconds);
  times->total_s += seconds;
  times->count++;
  return NULL;
}

static int compare_times(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median_of_list(const cli_times_t *times) {
  double sorted[CLI_TIMES_EXACT];
  size_t count = (size_t)times->count;
  memcpy(sorted, times->exact_s, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, compare_times);
  return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

/* The duration of rank `before` in ascending order, estimated as the middle of its bucket. */
static double estimate(const cli_times_t *times, uint64_t before) {
  uint64_t seen = 0;
  size_t bucket = 0;
  while (bucket < BUCKETS - 1 && (seen += times->histogram[bucket]) <= before) bucket++;
  return (lower_bound(bucket) + lower_bound(bucket + 1)) / 2;
}

static double median_of_histogram(const cli_times_t *times) {
  return (estimate(times, (times->count - 1) / 2) + estimate(times, times->count / 2)) / 2;
}

double cli_times_median_s(const cli_times_t *times) {
  if (!times->count) return 0;
  return times->histogram ? median_of_histogram(times) : median_of_list(times);
}

void cli_times_deinit(cli_times_t *times) {
  hr_free(times->exact_s);
  hr_free(times->histogram);
  *times = (cli_times_t){0};
}
