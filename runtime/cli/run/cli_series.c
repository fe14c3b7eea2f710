/* Keeps a series of bounded length: when it is full, pairs of neighbouring runs are added and each
 * run stands for twice as many steps. */
#include "cli/run/cli_series.h"

#include <math.h>

#include "base/mem.h"

size_t cli_series_runs(const cli_series_t *series) {
  return series->stride ? (size_t)((series->count + series->stride - 1) / series->stride) : 0;
}

uint64_t cli_series_run_steps(const cli_series_t *series, size_t run) {
  uint64_t before = run * series->stride;
  return series->count - before < series->stride ? series->count - before : series->stride;
}

static hr_status_t allocate_sums(cli_series_t *series) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(CLI_SERIES_MAX * sizeof *series->sums, &memory));
  *series = (cli_series_t){.stride = 1, .sums = memory, .low = INFINITY, .high = -INFINITY};
  return NULL;
}

static void double_stride(cli_series_t *series) {
  for (size_t run = 0; run < CLI_SERIES_MAX / 2; run++)
    series->sums[run] = series->sums[2 * run] + series->sums[2 * run + 1];
  for (size_t run = CLI_SERIES_MAX / 2; run < CLI_SERIES_MAX; run++) series->sums[run] = 0;
  series->stride *= 2;
}

hr_status_t cli_series_add(cli_series_t *series, double value) {
  if (!series->stride) HR_TRY(allocate_sums(series));
  if (series->count == CLI_SERIES_MAX * series->stride) double_stride(series);
  series->sums[series->count / series->stride] += value;
  series->count++;
  if (isfinite(value)) {
    series->low = fmin(series->low, value);
    series->high = fmax(series->high, value);
  }
  return NULL;
}

void cli_series_deinit(cli_series_t *series) {
  hr_free(series->sums);
  *series = (cli_series_t){0};
}
