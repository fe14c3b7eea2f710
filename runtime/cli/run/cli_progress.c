/* The progress line of a run, redrawn at most every BAR_PAUSE_S on a terminal, and its metrics. */
#include "cli/run/cli_progress.h"

#include "base/clock.h"
#include "cli/run/cli_figures.h"
#include "cli/launch/cli_log_dir.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BAR_PAUSE_S 0.1
#define LINE_PAUSE_S 5.0 /* first pause between plain lines; it grows with the run */
#define BAR_WIDTH 24

/* The mean of an array's elements, as a number. */
static double cli_value_mean(const hlo_value_t *value) {
  hr_dtype_t part = hr_dtype_real(value->dtype);
  int parts = hr_dtype_is_complex(value->dtype) ? 2 : 1;
  size_t bytes = hr_dtype_bytes(part);
  double sum = 0;
  for (int64_t i = 0; i < value->count; i++) {
    uint64_t bits = 0;
    memcpy(&bits, (const char *)value->data + (size_t)(i * parts) * bytes, bytes);
    sum +=
        hr_dtype_is_float(part) ? hr_float_decode(part, bits) : (double)hlo_value_int_at(value, i);
  }
  return value->count ? sum / (double)value->count : NAN;
}

/* --- metrics --- */

/* Adds the metric "OUT" or "OUT=NAME"; the result must be an array. */
static hr_status_t add_metric(cli_progress_t *progress, const char *text,
                              const cli_signature_t *signature) {
  char *end;
  long result = strtol(text, &end, 10);
  if (*text < '0' || *text > '9' || (*end && *end != '='))
    return hr_error(HR_USAGE, "--metric: '%s' is not OUT or OUT=NAME", text);
  if (result >= signature->result_count)
    return hr_error(HR_USAGE, "--metric: there is no result %ld, the program has %d", result,
                    signature->result_count);
  if (!hlo_shape_is_array(signature->results[result]))
    return hr_error(HR_USAGE, "--metric: result %ld is no array", result);
  cli_metric_t metric = {
      .result = (int)result, .name = *end == '=' && end[1] ? end + 1 : "metric", .now = NAN};
  HR_VEC_PUSH(&progress->metrics, metric);
  return NULL;
}

/* The default metric of --curve. */
static hr_status_t add_first_scalar(cli_progress_t *progress, const cli_signature_t *signature) {
  for (int k = 0; k < signature->result_count; k++) {
    const hlo_shape_t *shape = signature->results[k];
    if (!hlo_shape_is_scalar(shape) || !hr_dtype_is_float(shape->dtype)) continue;
    HR_VEC_PUSH(&progress->metrics, (cli_metric_t){.result = k, .name = "loss", .now = NAN});
    return NULL;
  }
  return hr_error(HR_USAGE,
                  "--curve: no result is a float scalar; say which one to draw with --metric OUT");
}

/* Progress is shown by rank 0 only, and only for several steps. */
hr_status_t cli_progress_init(cli_progress_t *progress, const hr_options_t *options,
                              const cli_signature_t *signature, uint64_t steps, bool visible) {
  bool is_off = hr_option_is_given(options, HR_OPTION_NO_PROGRESS) ||
                hr_option_is_given(options, HR_OPTION_QUIET);
  bool shown = visible && steps > 1 && !is_off;
  FILE *terminal = cli_log_dir_terminal();
  const char *kind = getenv("TERM");
  *progress = (cli_progress_t){
      .steps = steps, .started_s = hr_clock_s(), .stream = shown ? terminal : NULL};
  progress->terminal = isatty(fileno(terminal)) && !(kind && !strcmp(kind, "dumb"));
  progress->pause_s = progress->terminal ? BAR_PAUSE_S : LINE_PAUSE_S;
  progress->shown_s = progress->started_s;
  size_t from = 0;
  for (const hr_option_given_t *given; (given = hr_option_next(options, HR_OPTION_METRIC, &from));)
    HR_TRY(add_metric(progress, given->text, signature));
  if (!progress->metrics.count && hr_option_is_given(options, HR_OPTION_CURVE))
    HR_TRY(add_first_scalar(progress, signature));
  return NULL;
}

/* Accepts a zeroed struct. */
void cli_progress_deinit(cli_progress_t *progress) {
  for (size_t i = 0; i < progress->metrics.count; i++)
    cli_series_deinit(&progress->metrics.data[i].history);
  HR_VEC_FREE(&progress->metrics);
}

/* --- showing --- */

/* The sign of a NaN is not shown. */
static double unsigned_nan(double value) { return isnan(value) ? NAN : value; }

void cli_metric_print(hr_strbuf_t *text, const cli_metric_t *metric, int digits) {
  hr_strbuf_printf(text, "%s %.*g\n", metric->name, digits, unsigned_nan(metric->now));
}

/* Width in columns; 80 if unknown. */
static int terminal_width(FILE *stream) {
  struct winsize size;
  bool known = ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col;
  return known ? size.ws_col : 80;
}

/* Truncates the line, since a wrapped line could not be redrawn. */
static void print_line(const cli_progress_t *progress, uint64_t step, double now, char *into,
                       size_t size) {
  double elapsed = now - progress->started_s, rate = elapsed > 0 ? (double)step / elapsed : 0;
  int used = snprintf(into, size, "step %llu/%llu", (unsigned long long)step,
                      (unsigned long long)progress->steps);
  for (size_t i = 0; i < progress->metrics.count && used < (int)size; i++)
    used += snprintf(into + used, size - (size_t)used, "  %s %.5g", progress->metrics.data[i].name,
                     unsigned_nan(progress->metrics.data[i].now));
  cli_figure_t figure;
  if (used < (int)size)
    used += snprintf(into + used, size - (size_t)used, "  %s steps/s", cli_figure(rate, figure));
  double left_s = rate > 0 ? (double)(progress->steps - step) / rate : 0;
  cli_figure_time(left_s < 1 ? 1 : round(left_s), figure);
  if (used < (int)size && step < progress->steps)
    snprintf(into + used, size - (size_t)used, "  %s left", figure);
}

/* Draws the bar on a terminal, else prints a line. */
static void show(cli_progress_t *progress, uint64_t step, double now) {
  char line[512];
  print_line(progress, step, now, line, sizeof line);
  progress->shown_s = now;
  if (!progress->terminal) {
    fprintf(progress->stream, "%s\n", line);
    /* Pauses grow with the run: each is at least a tenth of the time so far. */
    double tenth = (now - progress->started_s) / 10;
    if (tenth > progress->pause_s) progress->pause_s = tenth;
    return;
  }
  int filled = (int)(BAR_WIDTH * step / progress->steps);
  char bar[BAR_WIDTH + 1];
  memset(bar, '#', (size_t)filled);
  memset(bar + filled, '.', (size_t)(BAR_WIDTH - filled));
  bar[BAR_WIDTH] = 0;
  int room = terminal_width(progress->stream) - BAR_WIDTH - 4;
  fprintf(progress->stream, "\r[%s] %.*s\033[K", bar, room > 0 ? room : 0, line);
  fflush(progress->stream);
}

/* Keeps the mean of each metric for the curve. */
hr_status_t cli_progress_step(cli_progress_t *progress, uint64_t step,
                              hlo_value_t *const *results) {
  for (size_t i = 0; i < progress->metrics.count; i++) {
    cli_metric_t *metric = &progress->metrics.data[i];
    metric->now = cli_value_mean(results[metric->result]);
    HR_TRY(cli_series_add(&metric->history, metric->now));
  }
  if (!progress->stream) return NULL;
  double now = hr_clock_s();
  if (now - progress->shown_s >= progress->pause_s || step == progress->steps)
    show(progress, step, now);
  return NULL;
}

void cli_progress_end(cli_progress_t *progress) {
  if (progress->stream && progress->terminal) fputc('\n', progress->stream);
  progress->stream = NULL;
}
