/* Figures for people: three significant digits, thousands apart, times in the unit that suits. */
#ifndef CLI_FIGURES_H
#define CLI_FIGURES_H

#include <stdint.h>

#define CLI_FIGURE_TEXT 40

typedef char cli_figure_t[CLI_FIGURE_TEXT];

/* "2,070", "1,430,000", "12.5": returns `into`. */
const char *cli_figure(double value, cli_figure_t into);
/* All digits of a count: "100,000". */
const char *cli_figure_count(uint64_t count, cli_figure_t into);
/* "240 ns", "4.56 us", "12.5 ms", "3.2 s", "12:05 min", "3:20 h". */
const char *cli_figure_time(double seconds, cli_figure_t into);

#endif
