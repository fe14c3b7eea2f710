/* Times of executions and values of metrics: medians and curves in bounded memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/picture/cli_plot.h"
#include "cli/run/cli_series.h"
#include "cli/run/cli_times.h"
#include "tests/lib/unit.h"

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double exact_median(double *values, size_t count) {
  qsort(values, count, sizeof *values, compare);
  return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* Durations from nanoseconds to hours. */
static double draw(unsigned *state) { return exp(30.0 * rand_r(state) / RAND_MAX - 21); }

static void check_median(size_t count, double tolerance) {
  unsigned state = (unsigned)count;
  double *values = malloc(count * sizeof *values), best = INFINITY, total = 0, first = 0;
  cli_times_t times = {0};
  for (size_t i = 0; i < count; i++) {
    values[i] = draw(&state);
    if (!i) first = values[i];
    best = fmin(best, values[i]);
    total += values[i];
    CHECK_OK(cli_times_add(&times, values[i]));
  }
  double want = exact_median(values, count), got = cli_times_median_s(&times);
  CU_ASSERT_EQUAL(times.count, count);
  CU_ASSERT_EQUAL(times.first_s, first);
  CU_ASSERT_EQUAL(times.best_s, best);
  CU_ASSERT_EQUAL(times.total_s, total);
  CU_ASSERT_TRUE(fabs(got - want) <= tolerance * want);
  cli_times_deinit(&times);
  free(values);
}

static void test_medians(void) {
  static const size_t few[] = {1, 2, 3, 10, 4095, 4096},
                      many[] = {4097, 4098, 5000, 100001, 1000000};
  size_t live = hr_mem_live_blocks();
  for (size_t i = 0; i < sizeof few / sizeof *few; i++) check_median(few[i], 0);
  for (size_t i = 0; i < sizeof many / sizeof *many; i++) check_median(many[i], CLI_TIMES_ERROR);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

/* No duration is too short or too long to be counted. */
static void test_ends(void) {
  cli_times_t times = {0};
  for (int i = 0; i < 5000; i++) CHECK_OK(cli_times_add(&times, i % 2 ? 0 : 1e300));
  CU_ASSERT_TRUE(cli_times_median_s(&times) > 0);
  CU_ASSERT_EQUAL(times.best_s, 0);
  cli_times_deinit(&times);
  CU_ASSERT_EQUAL(cli_times_median_s(&times), 0);
}

/* What is allocated after the first thousands of steps is all that ever is. */
static void test_memory_is_bounded(void) {
  cli_times_t times = {0};
  cli_series_t series = {0};
  size_t before = 0;
  for (int i = 0; i < 300000; i++) {
    if (i == 10000) before = hr_mem_total_allocations();
    CHECK_OK(cli_times_add(&times, i));
    CHECK_OK(cli_series_add(&series, i));
  }
  CU_ASSERT_EQUAL(hr_mem_total_allocations(), before);
  CU_ASSERT_TRUE(cli_series_runs(&series) <= CLI_SERIES_MAX);
  cli_times_deinit(&times);
  cli_series_deinit(&series);
}

static void test_series(void) {
  for (uint64_t count = 1; count < 100000; count = count * 3 + 1) {
    cli_series_t series = {0};
    for (uint64_t i = 0; i < count; i++) CHECK_OK(cli_series_add(&series, (double)i));
    double sum = 0;
    uint64_t steps = 0;
    for (size_t run = 0; run < cli_series_runs(&series); run++) {
      uint64_t of_run = cli_series_run_steps(&series, run);
      double mean = (double)steps + (double)(of_run - 1) / 2;
      CU_ASSERT_EQUAL(series.sums[run], mean * (double)of_run);
      sum += series.sums[run];
      steps += of_run;
    }
    CU_ASSERT_EQUAL(steps, count);
    CU_ASSERT_EQUAL(sum, (double)(count - 1) * (double)count / 2);
    CU_ASSERT_EQUAL(series.low, 0);
    CU_ASSERT_EQUAL(series.high, (double)(count - 1));
    if (count <= CLI_SERIES_MAX) CU_ASSERT_EQUAL(series.stride, 1);
    cli_series_deinit(&series);
  }
}

static int count_of(const char *text, const char *word) {
  int count = 0;
  for (const char *at = text; (at = strstr(at, word)); at++) count++;
  return count;
}

/* A value that is no number leaves a gap, however long the series, in the curve and in the smoothed
 * one; its ends keep their values. */
static void test_gap_of_long_series(void) {
  cli_series_t series = {0};
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  for (int i = 0; i < 100000; i++) CHECK_OK(cli_series_add(&series, i == 50000 ? NAN : 1));
  cli_plot_print(&text, "x", &series);
  CU_ASSERT_EQUAL(count_of(text.data, "<polyline"), 4);
  CU_ASSERT_EQUAL(series.low, 1);
  CU_ASSERT_EQUAL(series.high, 1);
  hr_strbuf_deinit(&text);
  cli_series_deinit(&series);
}

/* The picture of `count` steps has these lines and marks. */
static void check_picture(int count, int lines, int marks) {
  cli_series_t series = {0};
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  for (int i = 0; i < count; i++) CHECK_OK(cli_series_add(&series, i));
  cli_plot_print(&text, "x", &series);
  CU_ASSERT_EQUAL(count_of(text.data, "<polyline"), lines);
  CU_ASSERT_EQUAL(count_of(text.data, "<circle"), marks);
  hr_strbuf_deinit(&text);
  cli_series_deinit(&series);
}

/* A smoothed line needs neighbours to either side; fewer values are marked, a single one too, which
 * no line would show. */
static void test_short_curves(void) {
  check_picture(1, 1, 1);
  check_picture(7, 1, 7);
  check_picture(8, 2, 0);
  check_picture(27, 2, 0);
}

CU_TestInfo suite_times[] = {{"medians", test_medians},
                             {"ends", test_ends},
                             {"memory is bounded", test_memory_is_bounded},
                             {"series", test_series},
                             {"gap of a long series", test_gap_of_long_series},
                             {"short curves", test_short_curves},
                             CU_TEST_INFO_NULL};
