/* A small picture of lines and text, written as PNG. */
#ifndef CLI_CANVAS_H
#define CLI_CANVAS_H

#include "base/status.h"

typedef struct cli_canvas {
  int width, height; /* pixels */
  double scale;      /* pixels per unit of the drawing's coordinates */
  uint8_t *rgb;      /* rows from the top, three bytes a pixel */
} cli_canvas_t;

/* Makes a white picture of width x height units of `scale` pixels. Errors: NO_MEMORY. */
hr_status_t cli_canvas_create(int width, int height, int scale, cli_canvas_t *out_canvas);
void cli_canvas_deinit(cli_canvas_t *canvas);

/* Coordinates and widths in units, from the upper left; colours as 0xRRGGBB. */
void cli_canvas_line(cli_canvas_t *canvas, double x1, double y1, double x2, double y2, double width,
                     uint32_t colour);

typedef enum cli_anchor { CLI_ANCHOR_START, CLI_ANCHOR_MIDDLE, CLI_ANCHOR_END } cli_anchor_t;
/* Draws text on the base line at (x, y), with letters `size` units high, from left to right or
 * `upwards`. Characters that the font lacks are boxes. */
void cli_canvas_text(cli_canvas_t *canvas, double x, double y, cli_anchor_t anchor, double size,
                     bool upwards, const char *words);

/* Errors: UNAVAILABLE; NO_MEMORY. */
hr_status_t cli_canvas_write_png(const cli_canvas_t *canvas, const char *path);

#endif
