/* Draws the picture of cli_plot.c as PNG, with two pixels per SVG unit, so that letters are
 * legible. */
#include <math.h>

#include "cli/picture/cli_canvas.h"
#include "cli/picture/cli_plot_parts.h"

#define SCALE 2
#define GREY 0x444444
#define PALE_GREY 0xdddddd
#define BLUE 0x1f5fa8
#define PALE_BLUE 0xa9c4e4
#define LETTER 8 /* height of a capital letter */

/* Ticks of the x axis with step numbers below. */
static void draw_x_ticks(cli_canvas_t *canvas, const cli_plot_axes_t *axes) {
  double first, step;
  char number[32];
  cli_plot_x_ticks(axes, &first, &step);
  for (double x = first; x <= axes->x_high + step * 1e-9; x += step) {
    double at = cli_plot_x(axes, x);
    snprintf(number, sizeof number, "%.10g", x);
    cli_canvas_line(canvas, at, HEIGHT - BOTTOM, at, HEIGHT - BOTTOM + 5, 1, GREY);
    cli_canvas_text(canvas, at, HEIGHT - BOTTOM + 18, CLI_ANCHOR_MIDDLE, LETTER, false, number);
  }
}

/* Ticks of the y axis with pale grid lines. */
static void draw_y_ticks(cli_canvas_t *canvas, const cli_plot_axes_t *axes) {
  double first, step;
  char number[32];
  cli_plot_ticks(axes->y_low, axes->y_high, 6, &first, &step);
  for (double y = first; y <= axes->y_high + step * 1e-9; y += step) {
    double at = cli_plot_y(axes, y);
    snprintf(number, sizeof number, "%.6g", fabs(y) < step * 1e-9 ? 0 : y);
    cli_canvas_line(canvas, LEFT, at, WIDTH - RIGHT, at, 1, PALE_GREY);
    cli_canvas_line(canvas, LEFT - 5, at, LEFT, at, 1, GREY);
    cli_canvas_text(canvas, LEFT - 9, at + LETTER / 2.0, CLI_ANCHOR_END, LETTER, false, number);
  }
}

static void draw_marks(cli_canvas_t *canvas, const cli_plot_axes_t *axes,
                       const cli_series_t *series, size_t points) {
  double x, y;
  for (size_t p = 0; p < points; p++) {
    cli_plot_point(series, p, points, &x, &y);
    x = cli_plot_x(axes, x);
    y = cli_plot_y(axes, y);
    if (isfinite(y)) cli_canvas_line(canvas, x, y, x, y, MARK, BLUE);
  }
}

/* Line segments between neighbouring points; none across a gap, and a dot between two gaps. */
static void draw_curve(cli_canvas_t *canvas, const cli_plot_axes_t *axes,
                       const cli_series_t *series, size_t half, double width, uint32_t colour) {
  size_t points = cli_plot_points(series);
  double x, y, last_x = NAN, last_y = NAN;
  for (size_t p = 0; p < points; p++) {
    cli_plot_point(series, p, points, &x, &y);
    if (half) y = cli_plot_smoothed(series, p, points, half);
    x = cli_plot_x(axes, x);
    y = cli_plot_y(axes, y);
    if (!isfinite(last_y)) { /* the first point of a line */
      last_x = x;
      last_y = y;
    }
    if (isfinite(y)) cli_canvas_line(canvas, last_x, last_y, x, y, width, colour);
    last_x = x;
    last_y = y;
  }
}

/* The picture of cli_plot_print in pixels. */
static void draw(cli_canvas_t *canvas, const char *name, const cli_series_t *series) {
  cli_plot_axes_t axes = cli_plot_find_axes(series);
  size_t points = cli_plot_points(series);
  size_t half = cli_plot_smoothing(points);
  double middle_x = (LEFT + WIDTH - RIGHT) / 2.0, middle_y = (TOP + HEIGHT - BOTTOM) / 2.0;
  cli_canvas_text(canvas, middle_x, 24, CLI_ANCHOR_MIDDLE, LETTER + 2, false, name);
  cli_canvas_text(canvas, middle_x, HEIGHT - 12, CLI_ANCHOR_MIDDLE, LETTER, false, "step");
  cli_canvas_text(canvas, 18, middle_y, CLI_ANCHOR_MIDDLE, LETTER, true, name);
  draw_y_ticks(canvas, &axes);
  draw_x_ticks(canvas, &axes);
  cli_canvas_line(canvas, LEFT, TOP, LEFT, HEIGHT - BOTTOM, 1, GREY);
  cli_canvas_line(canvas, LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, 1, GREY);
  if (half) {
    draw_curve(canvas, &axes, series, 0, 1, PALE_BLUE);
    draw_curve(canvas, &axes, series, half, 1.8, BLUE);
  } else {
    draw_curve(canvas, &axes, series, 0, 1.5, BLUE);
    draw_marks(canvas, &axes, series, points);
  }
}

hr_status_t cli_plot_png(const char *path, const char *name, const cli_series_t *series) {
  cli_canvas_t canvas;
  HR_TRY(cli_canvas_create(WIDTH, HEIGHT, SCALE, &canvas));
  draw(&canvas, name, series);
  hr_status_t st = cli_canvas_write_png(&canvas, path);
  cli_canvas_deinit(&canvas);
  return st;
}
