/* A curve of one number over the steps: a self-contained SVG picture, PNG, or CSV. */
#ifndef CLI_PLOT_H
#define CLI_PLOT_H

#include "base/options.h"
#include "cli/run/cli_series.h"

/* Prints SVG. Values that are not finite leave gaps; long curves are drawn as means of equal runs
 * of steps. A smoothed curve is drawn over the pale curve of values. */
void cli_plot_print(hr_strbuf_t *text, const char *name, const cli_series_t *series);

/* Checks that --curve has an ending of one of these formats. Errors: USAGE. */
hr_status_t cli_plot_check(const hr_options_t *options);
/* Draws in the form of the path's ending. Errors: UNAVAILABLE; NO_MEMORY. */
hr_status_t cli_plot_write(const char *path, const char *name, const cli_series_t *series);

/* Ticks for an axis from `low` to `high`: a first value and a step of 1, 2 or 5 times a power of
 * ten, about `wanted`.
 */
void cli_plot_ticks(double low, double high, int wanted, double *out_first, double *out_step);

#endif
