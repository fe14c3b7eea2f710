/* Declarations shared by the SVG and PNG pictures of a curve: sizes in units of the drawing, and
 * positions. */
#ifndef CLI_PLOT_PARTS_H
#define CLI_PLOT_PARTS_H

#include "cli/picture/cli_plot.h"

#define WIDTH 720
#define HEIGHT 400
#define LEFT 86
#define RIGHT 20
#define TOP 40
#define BOTTOM 52
#define POINTS_MAX 1000
#define SMOOTHED_MIN 8 /* points from which on there is a smoothed curve; fewer are marked */
#define MARK 5         /* diameter of a marked point */

typedef struct cli_plot_axes {
  double x_low, x_high, y_low, y_high;
} cli_plot_axes_t;

cli_plot_axes_t cli_plot_find_axes(const cli_series_t *series);
/* Ticks for the axis of steps: whole numbers only. */
void cli_plot_x_ticks(const cli_plot_axes_t *axes, double *out_first, double *out_step);
double cli_plot_x(const cli_plot_axes_t *axes, double x);
double cli_plot_y(const cli_plot_axes_t *axes, double y);

/* Points of the curve, and one of them: the mean of its runs of steps, and their middle. */
size_t cli_plot_points(const cli_series_t *series);
void cli_plot_point(const cli_series_t *series, size_t p, size_t points, double *out_x,
                    double *out_y);
/* Number of points to either side that the smoothed curve averages: proportional to the square root
 * of the number of points; 0: no smoothed curve. */
size_t cli_plot_smoothing(size_t points);
/* The mean of a point and up to `half` on either side of it; no number in a gap. */
double cli_plot_smoothed(const cli_series_t *series, size_t p, size_t points, size_t half);

/* The picture as PNG. Errors: UNAVAILABLE; NO_MEMORY. */
hr_status_t cli_plot_png(const char *path, const char *name, const cli_series_t *series);

#endif
