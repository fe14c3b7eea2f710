/* A curve of one number over the steps, as an SVG file that needs nothing else. */
#ifndef CLI_PLOT_H
#define CLI_PLOT_H

#include "base/text.h"
#include "cli/cli_series.h"

/* Values that are no finite numbers leave gaps; long curves are drawn by the means of equal
 * runs of steps. */
void cli_plot_print(hr_strbuf_t *text, const char *name, const cli_series_t *series);

/* Ticks for an axis from `low` to `high`: a first value and a step of 1, 2 or 5 times a power of
 * ten, about `wanted`.
 */
void cli_plot_ticks(double low, double high, int wanted, double *out_first, double *out_step);

#endif
