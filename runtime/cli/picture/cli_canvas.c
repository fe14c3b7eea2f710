/* Draws with anti-aliased strokes: each pixel near a line is blended by how much of the stroke
 * covers it, found from its distance to the line. Letters are strokes too, on a grid of 5 by 9
 * with the base line at 2. PNG is written as one deflated block of unfiltered rows.
 * Cost:    the pixels of each line's bounding box.
 * Source:  PNG specification, second edition. */
#include "cli/picture/cli_canvas.h"

#include <math.h>
#include <string.h>
#include <zlib.h>

#include "base/file.h"
#include "base/mem.h"

#define GRID_WIDTH 4.0
#define GRID_STEP 5.5 /* from one letter to the next, in units of the grid */
#define GRID_BASE 2.0
#define GRID_CAPITAL 6.0 /* height of a capital letter, in units of the grid */
#define STROKE 1.2
#define TEXT_COLOUR 0x444444

/* Strokes of a letter: pairs of digits are points, a blank lifts the pen. */
static const struct glyph {
  char letter;
  const char *strokes;
} glyphs[] = {{'0', "120307183847433212"},
              {'1', "072822"},
              {'2', "07183847460242"},
              {'3', "084825354443321203"},
              {'4', "32380444"},
              {'5', "480805354443321203"},
              {'6', "38180703123243443505"},
              {'7', "084822"},
              {'8', "15060718384746351504031232434435"},
              {'9', "12324347381807061545"},
              {'a', "46160503123243 4642"},
              {'b', "0802 0516364543321203"},
              {'c', "4536160503123243"},
              {'d', "4842 4536160503123243"},
              {'e', "04444536160503123243"},
              {'f', "48382722 0646"},
              {'g', "4536160503123243 46413010"},
              {'h', "0802 0516364542"},
              {'i', "2622 2728"},
              {'j', "36312010 3738"},
              {'k', "0802 4604 1442"},
              {'l', "2822"},
              {'m', "0602 05162522 25364542"},
              {'n', "0602 0516364542"},
              {'o', "160503123243453616"},
              {'p', "0600 0516364543321203"},
              {'q', "4640 4536160503123243"},
              {'r', "0602 05163646"},
              {'s', "4616051434433202"},
              {'t', "28233242 0646"},
              {'u', "0603123243 4642"},
              {'v', "062246"},
              {'w', "0612253246"},
              {'x', "0642 0246"},
              {'y', "0622 4610"},
              {'z', "06460242"},
              {'.', "2223"},
              {',', "2311"},
              {'-', "0545"},
              {'+', "0545 2327"},
              {'_', "0141"},
              {'/', "0248"},
              {'=', "0444 0646"},
              {':', "2223 2526"},
              {'(', "38272332"},
              {')', "18272312"},
              {'[', "38282232"},
              {']', "18282212"},
              {' ', ""}};
#define BOX "0208484202"

/* A white picture. Sizes are in points; each is `scale` x `scale` pixels of 3 bytes. */
hr_status_t cli_canvas_create(int width, int height, int scale, cli_canvas_t *out_canvas) {
  cli_canvas_t canvas = {width * scale, height * scale, scale, NULL};
  size_t bytes = (size_t)canvas.width * (size_t)canvas.height * 3;
  void *memory;
  HR_TRY(hr_alloc(bytes, &memory));
  memset(memory, 255, bytes);
  canvas.rgb = memory;
  *out_canvas = canvas;
  return NULL;
}

/* Accepts a zeroed canvas. */
void cli_canvas_deinit(cli_canvas_t *canvas) {
  hr_free(canvas->rgb);
  canvas->rgb = NULL;
}

/* --- strokes --- */

/* Mixes the colour into a pixel in the proportion `cover`, 0 to 1. */
static void blend(cli_canvas_t *canvas, int x, int y, double cover, uint32_t colour) {
  uint8_t *pixel = canvas->rgb + ((size_t)y * (size_t)canvas->width + (size_t)x) * 3;
  for (int i = 0; i < 3; i++) {
    double wanted = (double)(colour >> (16 - 8 * i) & 255);
    pixel[i] = (uint8_t)lround(pixel[i] + cover * (wanted - pixel[i]));
  }
}

/* Distance of a point to the line from `a` to `b`, ends included. */
static double distance(const double a[2], const double b[2], double x, double y) {
  double dx = b[0] - a[0], dy = b[1] - a[1], length = dx * dx + dy * dy;
  double along = length > 0 ? ((x - a[0]) * dx + (y - a[1]) * dy) / length : 0;
  along = fmax(0, fmin(1, along));
  return hypot(a[0] + along * dx - x, a[1] + along * dy - y);
}

/* Coverage falls from 1 to 0 over the one pixel around the edge, by the distance to the line's
 * axis: antialiasing without samples. Cost: the pixels of the bounding box. */
void cli_canvas_line(cli_canvas_t *canvas, double x1, double y1, double x2, double y2, double width,
                     uint32_t colour) {
  double s = canvas->scale, half = width * s / 2;
  const double a[2] = {x1 * s, y1 * s}, b[2] = {x2 * s, y2 * s};
  int left = (int)fmax(0, fmin(a[0], b[0]) - half - 1);
  int right = (int)fmin(canvas->width - 1, fmax(a[0], b[0]) + half + 1);
  int top = (int)fmax(0, fmin(a[1], b[1]) - half - 1);
  int bottom = (int)fmin(canvas->height - 1, fmax(a[1], b[1]) + half + 1);
  for (int y = top; y <= bottom; y++)
    for (int x = left; x <= right; x++) {
      double cover = half + 0.5 - distance(a, b, x + 0.5, y + 0.5);
      if (cover > 0) blend(canvas, x, y, fmin(cover, 1), colour);
    }
}

/* --- text --- */

/* Capital letters are mapped to small ones. */
static const char *strokes_of(char letter) {
  char small = letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
  for (size_t i = 0; i < sizeof glyphs / sizeof *glyphs; i++)
    if (glyphs[i].letter == small) return glyphs[i].strokes;
  return BOX;
}

/* A point of the grid `column` units along the text, turned if the text goes upwards. */
static void place(double x, double y, double unit, bool upwards, double column, double row,
                  double into[2]) {
  double along = column * unit, up = (row - GRID_BASE) * unit;
  into[0] = upwards ? x - up : x + along;
  into[1] = upwards ? y - along : y - up;
}

/* Letters are strokes on a small grid: pairs of digits are points (column, row), a blank lifts the
 * pen. `unit` is the size of a grid step in points. */
void cli_canvas_text(cli_canvas_t *canvas, double x, double y, cli_anchor_t anchor, double size,
                     bool upwards, const char *words) {
  double unit = size / GRID_CAPITAL, width = ((double)strlen(words) * GRID_STEP - 1.5) * unit;
  double column = -width / unit * (anchor == CLI_ANCHOR_END ? 1 : 0);
  if (anchor == CLI_ANCHOR_MIDDLE) column = -width / unit / 2;
  for (; *words; words++, column += GRID_STEP) {
    double from[2], to[2];
    bool is_down = false;
    for (const char *at = strokes_of(*words); *at; at += *at == ' ' ? 1 : 2) {
      if (*at != ' ') place(x, y, unit, upwards, column + at[0] - '0', at[1] - '0', to);
      if (*at != ' ' && is_down)
        cli_canvas_line(canvas, from[0], from[1], to[0], to[1], STROKE, TEXT_COLOUR);
      is_down = *at != ' ';
      memcpy(from, to, sizeof from);
    }
  }
}

/* --- PNG --- */

/* Big-endian, as all numbers in PNG. */
static void put_u32(uint8_t *at, uint32_t value) {
  for (int i = 0; i < 4; i++) at[i] = (uint8_t)(value >> (24 - 8 * i));
}

/* Length, type, data, and the check sum of the last two. */
static hr_status_t write_chunk(hr_file_writer_t *file, const char *type, const uint8_t *data,
                               size_t size) {
  uint8_t head[8], tail[4];
  put_u32(head, (uint32_t)size);
  memcpy(head + 4, type, 4);
  uLong sum = crc32_z(0, head + 4, 4);
  if (size) sum = crc32_z(sum, data, size); /* crc32_z() without data would restart */
  put_u32(tail, (uint32_t)sum);
  HR_TRY(hr_file_write(file, head, sizeof head));
  if (size) HR_TRY(hr_file_write(file, data, size));
  return hr_file_write(file, tail, sizeof tail);
}

/* Signature, IHDR, one IDAT and IEND. `data` is the deflated rows. */
static hr_status_t write_chunks(const cli_canvas_t *canvas, hr_file_writer_t *file,
                                const uint8_t *data, size_t size) {
  uint8_t header[13] = {[8] = 8, [9] = 2}; /* 8 bits a channel, red, green and blue */
  put_u32(header, (uint32_t)canvas->width);
  put_u32(header + 4, (uint32_t)canvas->height);
  HR_TRY(hr_file_write(file, "\x89PNG\r\n\x1a\n", 8));
  HR_TRY(write_chunk(file, "IHDR", header, sizeof header));
  HR_TRY(write_chunk(file, "IDAT", data, size));
  return write_chunk(file, "IEND", NULL, 0);
}

/* Each row begins with its filter number: 0, none. */
static void copy_rows(const cli_canvas_t *canvas, uint8_t *to) {
  size_t row = (size_t)canvas->width * 3;
  for (int y = 0; y < canvas->height; y++, to += row + 1) {
    to[0] = 0;
    memcpy(to + 1, canvas->rgb + (size_t)y * row, row);
  }
}

/* Every row begins with a byte 0: filter "none". Level 9, as pictures are small and mostly
 * white. */
hr_status_t cli_canvas_write_png(const cli_canvas_t *canvas, const char *path) {
  size_t bytes = (size_t)canvas->height * ((size_t)canvas->width * 3 + 1);
  uLongf packed_bytes = compressBound(bytes);
  void *rows, *packed;
  hr_file_writer_t *file;
  HR_TRY(hr_alloc(bytes, &rows));
  hr_status_t st = hr_alloc(packed_bytes, &packed);
  if (!st) {
    copy_rows(canvas, rows);
    if (compress2(packed, &packed_bytes, rows, bytes, 9)) st = hr_error(HR_NO_MEMORY, "deflate");
    if (!st) st = hr_file_create(path, &file);
    if (!st) st = hr_file_finish(file, write_chunks(canvas, file, packed, packed_bytes));
    hr_free(packed);
  }
  hr_free(rows);
  return st;
}
