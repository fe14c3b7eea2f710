/* Rounds to three significant digits, and groups digits of whole numbers by commas. Numbers from
 * 10^18 on, and those that are not finite, are printed as printf has them. */
#include "cli/run/cli_figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Commas are counted from the right. */
const char *cli_figure_count(uint64_t count, cli_figure_t into) {
  char digits[24];
  int size = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count), used = 0;
  for (int i = 0; i < size; i++) {
    if (i && (size - i) % 3 == 0) into[used++] = ',';
    into[used++] = digits[i];
  }
  into[used] = 0;
  return into;
}

/* 999.5 would round to 1000, and gets a comma. */
const char *cli_figure(double value, cli_figure_t into) {
  if (!(value >= 999.5 && value < 1e18)) {
    snprintf(into, CLI_FIGURE_TEXT, "%.3g", value);
    return into;
  }
  double unit = pow(10, floor(log10(value)) - 2);
  return cli_figure_count((uint64_t)(round(value / unit) * unit + 0.5), into);
}

/* Minutes and seconds, or hours and minutes. */
static const char *long_time(double seconds, cli_figure_t into) {
  if (seconds < 3600)
    snprintf(into, CLI_FIGURE_TEXT, "%d:%02d min", (int)seconds / 60, (int)seconds % 60);
  else
    snprintf(into, CLI_FIGURE_TEXT, "%.0f:%02d h", floor(seconds / 3600),
             (int)fmod(seconds / 60, 60));
  return into;
}

/* The unit in which the figure is at least 1 and less than 1000. */
const char *cli_figure_time(double seconds, cli_figure_t into) {
  static const struct {
    double below_s, unit_s;
    const char *name;
  } units[] = {
      {999.5e-9, 1e-9, "ns"}, {999.5e-6, 1e-6, "us"}, {999.5e-3, 1e-3, "ms"}, {60, 1, "s"}};
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (seconds < units[i].below_s) {
      snprintf(into, CLI_FIGURE_TEXT, "%.3g %s", seconds / units[i].unit_s, units[i].name);
      return into;
    }
  return long_time(seconds, into);
}
