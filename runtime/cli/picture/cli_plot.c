/* Draws a curve as SVG: ticks, axes with names, one pale polyline per run of finite values, and a
 * smoothed curve (moving mean) over it. CSV has the means of runs of steps without smoothing.
 * Cost: points times the width of the smoothing. */
#include "cli/picture/cli_plot.h"

#include <math.h>

#include "base/file.h"
#include "cli/arrays/cli_extensions.h"
#include "cli/picture/cli_plot_parts.h"

/* Horizontal position of a step. */
double cli_plot_x(const cli_plot_axes_t *axes, double x) {
  return LEFT + (x - axes->x_low) / (axes->x_high - axes->x_low) * (WIDTH - LEFT - RIGHT);
}

/* Vertical position of a value; SVG's y axis points down. */
double cli_plot_y(const cli_plot_axes_t *axes, double y) {
  return HEIGHT - BOTTOM -
         (y - axes->y_low) / (axes->y_high - axes->y_low) * (HEIGHT - TOP - BOTTOM);
}

/* Distances of ticks are 1, 2 or 5 times a power of ten. */
void cli_plot_ticks(double low, double high, int wanted, double *out_first, double *out_step) {
  double rough = (high - low) / wanted;
  double power = pow(10, floor(log10(rough)));
  double scaled = rough / power;
  double factor = 10;
  if (scaled <= 5) factor = 5;
  if (scaled <= 2) factor = 2;
  if (scaled <= 1) factor = 1;
  *out_step = power * factor;
  *out_first = ceil(low / *out_step - 1e-9) * *out_step; /* 1e-9: a tick at `low` itself stays */
}

void cli_plot_x_ticks(const cli_plot_axes_t *axes, double *out_first, double *out_step) {
  cli_plot_ticks(axes->x_low, axes->x_high, 8, out_first, out_step);
  if (*out_step >= 1) return;
  *out_first = ceil(axes->x_low);
  *out_step = 1;
}

/* A constant curve gets a margin above and below. */
cli_plot_axes_t cli_plot_find_axes(const cli_series_t *series) {
  cli_plot_axes_t axes = {1, series->count > 1 ? (double)series->count : 2, 0, 0};
  if (series->count && series->low <= series->high) {
    axes.y_low = series->low;
    axes.y_high = series->high;
  }
  double room = (axes.y_high - axes.y_low) * 0.05;
  if (room == 0) room = axes.y_low == 0 ? 1 : fabs(axes.y_low) * 0.1;
  axes.y_low -= room;
  axes.y_high += room;
  return axes;
}

/* Escapes XML's special characters, since names come from the user. */
static void add_escaped(hr_strbuf_t *text, const char *words) {
  for (; *words; words++) {
    if (*words == '<' || *words == '>' || *words == '&' || *words == '"' ||
        (unsigned char)*words < ' ')
      hr_strbuf_printf(text, "&#%d;", (unsigned char)*words < ' ' ? ' ' : *words);
    else
      hr_strbuf_add_char(text, *words);
  }
}

/* Ticks of the steps, below the axis. */
static void print_x_ticks(hr_strbuf_t *text, const cli_plot_axes_t *axes) {
  double first, step;
  cli_plot_x_ticks(axes, &first, &step);
  for (double x = first; x <= axes->x_high + step * 1e-9; x += step) {
    double at = cli_plot_x(axes, x);
    hr_strbuf_printf(text, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>\n", at,
                     HEIGHT - BOTTOM, at, HEIGHT - BOTTOM + 5);
    hr_strbuf_printf(text, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.10g</text>\n", at,
                     HEIGHT - BOTTOM + 19, x);
  }
}

/* Ticks of the y axis with pale grid lines. */
static void print_y_ticks(hr_strbuf_t *text, const cli_plot_axes_t *axes) {
  double first, step;
  cli_plot_ticks(axes->y_low, axes->y_high, 6, &first, &step);
  for (double y = first; y <= axes->y_high + step * 1e-9; y += step) {
    double at = cli_plot_y(axes, y), shown = fabs(y) < step * 1e-9 ? 0 : y;
    hr_strbuf_printf(text, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/>\n",
                     LEFT, at, WIDTH - RIGHT, at);
    hr_strbuf_printf(text, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>\n", LEFT - 5, at,
                     LEFT, at);
    hr_strbuf_printf(text, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.6g</text>\n", LEFT - 9,
                     at + 4, shown);
  }
}

/* Mean value and middle step of a group of runs. */
static void find_point(const cli_series_t *series, size_t first, size_t end, double *out_x,
                       double *out_y) {
  double sum = 0;
  uint64_t steps = 0;
  for (size_t run = first; run < end; run++) {
    sum += series->sums[run];
    steps += cli_series_run_steps(series, run);
  }
  *out_x = (double)(first * series->stride) + (double)(steps + 1) / 2;
  *out_y = sum / (double)steps;
}

/* Point `p` of the picture: the mean over its share of the runs. */
void cli_plot_point(const cli_series_t *series, size_t p, size_t points, double *out_x,
                    double *out_y) {
  size_t runs = cli_series_runs(series);
  find_point(series, p * runs / points, (p + 1) * runs / points, out_x, out_y);
}

size_t cli_plot_smoothing(size_t points) {
  return points < SMOOTHED_MIN ? 0 : (size_t)lround(0.4 * sqrt((double)points));
}

/* The mean of a point and `half` points to either side, fewer near the ends and beside a gap, so
 * that the smoothed curve does not lag behind the values. A gap stays a gap. */
double cli_plot_smoothed(const cli_series_t *series, size_t p, size_t points, size_t half) {
  double x, left, right, sum;
  size_t count = 1;
  cli_plot_point(series, p, points, &x, &sum);
  if (half > p) half = p;
  if (half > points - 1 - p) half = points - 1 - p;
  for (size_t i = 1; i <= half && isfinite(sum); i++) {
    cli_plot_point(series, p - i, points, &x, &left);
    cli_plot_point(series, p + i, points, &x, &right);
    if (!isfinite(left + right)) break;
    sum += left + right;
    count += 2;
  }
  return sum / (double)count;
}

/* Prints one polyline per run of finite values; a gap separates them. The first point is repeated,
 * so that a value between two gaps shows as a dot. */
static void print_curve(hr_strbuf_t *text, const cli_plot_axes_t *axes, const cli_series_t *series,
                        size_t points, size_t half, const char *stroke) {
  bool open = false;
  for (size_t p = 0; p < points; p++) {
    double x, y;
    cli_plot_point(series, p, points, &x, &y);
    if (half) y = cli_plot_smoothed(series, p, points, half);
    if (isfinite(y) && !open)
      hr_strbuf_printf(text,
                       "<polyline fill=\"none\" stroke-linecap=\"round\" %s "
                       "points=\"%.2f,%.2f ",
                       stroke, cli_plot_x(axes, x), cli_plot_y(axes, y));
    if (!isfinite(y) && open) hr_strbuf_add_str(text, "\"/>\n");
    open = isfinite(y);
    if (open) hr_strbuf_printf(text, "%.2f,%.2f ", cli_plot_x(axes, x), cli_plot_y(axes, y));
  }
  if (open) hr_strbuf_add_str(text, "\"/>\n");
}

/* Number of points: one per run of steps, at most as many as the picture has room for. */
size_t cli_plot_points(const cli_series_t *series) {
  size_t runs = cli_series_runs(series);
  return runs < POINTS_MAX ? runs : POINTS_MAX;
}

/* A dot for each value of a short curve. */
static void print_marks(hr_strbuf_t *text, const cli_plot_axes_t *axes, const cli_series_t *series,
                        size_t points) {
  for (size_t p = 0; p < points; p++) {
    double x, y;
    cli_plot_point(series, p, points, &x, &y);
    if (isfinite(y))
      hr_strbuf_printf(text,
                       "<circle stroke=\"none\" fill=\"#1f5fa8\" r=\"%g\" "
                       "cx=\"%.2f\" cy=\"%.2f\"/>\n",
                       MARK / 2.0, cli_plot_x(axes, x), cli_plot_y(axes, y));
  }
}

/* A smoothed curve over the pale one of the values; a short series is drawn unsmoothed, with
 * markers. */
static void print_curves(hr_strbuf_t *text, const cli_plot_axes_t *axes,
                         const cli_series_t *series) {
  size_t points = cli_plot_points(series), half = cli_plot_smoothing(points);
  print_curve(
      text, axes, series, points, 0,
      half ? "stroke=\"#a9c4e4\" stroke-width=\"1\"" : "stroke=\"#1f5fa8\" stroke-width=\"1.5\"");
  if (half)
    print_curve(text, axes, series, points, half, "stroke=\"#1f5fa8\" stroke-width=\"1.8\"");
  else
    print_marks(text, axes, series, points);
}

/* Names of the axes and the title. */
static void print_names(hr_strbuf_t *text, const char *name) {
  int middle_x = (LEFT + WIDTH - RIGHT) / 2, middle_y = (TOP + HEIGHT - BOTTOM) / 2;
  hr_strbuf_printf(text, "<text x=\"%d\" y=\"24\" text-anchor=\"middle\" font-size=\"15\">",
                   middle_x);
  add_escaped(text, name);
  hr_strbuf_printf(text, "</text>\n<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">step</text>\n",
                   middle_x, HEIGHT - 14);
  hr_strbuf_printf(text,
                   "<text x=\"16\" y=\"%d\" text-anchor=\"middle\" "
                   "transform=\"rotate(-90 16 %d)\">",
                   middle_y, middle_y);
  add_escaped(text, name);
  hr_strbuf_add_str(text, "</text>\n");
}

/* Background, names, axes, then the curves over them. */
void cli_plot_print(hr_strbuf_t *text, const char *name, const cli_series_t *series) {
  cli_plot_axes_t axes = cli_plot_find_axes(series);
  hr_strbuf_printf(
      text,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" "
      "fill=\"#fff\"/>\n",
      WIDTH, HEIGHT, WIDTH, HEIGHT);
  print_names(text, name);
  hr_strbuf_add_str(
      text,
      "<g stroke=\"#444\" fill=\"#444\" stroke-width=\"1\">\n<style>text{stroke:none}</style>\n");
  print_y_ticks(text, &axes);
  print_x_ticks(text, &axes);
  hr_strbuf_printf(text, "<path fill=\"none\" d=\"M%d %dV%dH%d\"/>\n</g>\n", LEFT, TOP,
                   HEIGHT - BOTTOM, WIDTH - RIGHT);
  print_curves(text, &axes, series);
  hr_strbuf_add_str(text, "</svg>\n");
}

/* Prints values with enough digits for a round trip. */
static void print_csv(hr_strbuf_t *text, const char *name, const cli_series_t *series) {
  hr_strbuf_add_str(text, "step,\"");
  for (const char *at = name; *at; at++) {
    if (*at == '"') hr_strbuf_add_char(text, '"');
    hr_strbuf_add_char(text, *at);
  }
  hr_strbuf_add_str(text, "\"\n");
  for (size_t run = 0; run < cli_series_runs(series); run++) {
    double x, y;
    find_point(series, run, run + 1, &x, &y);
    hr_strbuf_printf(text, "%.10g,%.9g\n", x, isnan(y) ? NAN : y);
  }
}

hr_status_t cli_plot_check(const hr_options_t *options) {
  static const char *const endings[] = {".svg", ".png", ".csv", NULL};
  return cli_check_extension(options, HR_OPTION_CURVE, endings);
}

/* Replaces the file only when it is complete. */
hr_status_t cli_plot_write(const char *path, const char *name, const cli_series_t *series) {
  hr_strbuf_t text;
  if (cli_ends_with(path, ".png")) return cli_plot_png(path, name, series);
  hr_strbuf_init(&text);
  if (cli_ends_with(path, ".csv"))
    print_csv(&text, name, series);
  else
    cli_plot_print(&text, name, series);
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st) st = hr_file_write_all(path, text.data, text.size);
  hr_strbuf_deinit(&text);
  return st;
}
