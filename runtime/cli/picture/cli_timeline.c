/* A timeline as SVG: one row per process, one rectangle per event, with the colour of its kind and
 * a tooltip with name and time. Loading is left out; workers' shares are in the JSON only. Events
 * too narrow to be visible are drawn only where nothing else is. Cost: one pass to find the ends,
 * one to draw. */
#include "cli/picture/cli_timeline.h"

#include <stdlib.h>
#include <string.h>

#include "cli/picture/cli_plot.h"

#define WIDTH 960
#define LEFT 70
#define RIGHT 20
#define TOP 54
#define ROW 30       /* distance between rows, pixels */
#define BAR 22       /* height of a rectangle, pixels */
#define ROWS_MAX 256 /* most processes drawn */
#define NARROW 0.25  /* pixels; narrower events beside others are left out */
#define RECTS_MAX 20000

typedef struct event {
  char name[96], kind[24];
  int process, thread;
  double start_us, took_us;
} event_t;

static const struct kind {
  const char *name, *colour, *meaning;
} kinds[] = {
    {"generated", "#4e79a7", "generated code"},
    {"native", "#59a14f", "native kernels"},
    {"reference", "#edc948", "reference kernels"},
    {"collective", "#f28e2b", "collectives"},
    {"wait", "#e15759", "waits"},
    {"copy", "#9c9c9c", "copies"},
};
#define KIND_COUNT (sizeof kinds / sizeof *kinds)

/* --- reading --- */

/* Reads a string member of the line's object; a quote after a backslash does not end it. */
static bool read_text(const char *line, const char *end, const char *key, char *into, size_t size) {
  const char *at = memmem(line, (size_t)(end - line), key, strlen(key));
  size_t used = 0;
  if (!at) return false;
  for (at += strlen(key); at < end && *at != '"' && used + 1 < size; at++) {
    if (*at == '\\' && at + 1 < end) at++;
    into[used++] = *at;
  }
  into[used] = 0;
  return true;
}

static bool read_number(const char *line, const char *end, const char *key, double *out_number) {
  const char *at = memmem(line, (size_t)(end - line), key, strlen(key));
  char digits[40];
  if (!at) return false;
  at += strlen(key);
  snprintf(digits, sizeof digits, "%.*s", (int)(end - at < 32 ? end - at : 32), at);
  *out_number = strtod(digits, NULL);
  return true;
}

/* The kind of an event that occupies time by itself; NULL for loops, runs and stages of loading. */
static const struct kind *find_kind(const char *name) {
  for (size_t i = 0; i < KIND_COUNT; i++)
    if (strcmp(kinds[i].name, name) == 0) return &kinds[i];
  return NULL;
}

/* False for metadata, events of other kinds, and workers' shares. */
static bool read_event(const char *line, const char *end, event_t *out_event) {
  double process, thread;
  if (!memmem(line, (size_t)(end - line), "\"ph\":\"X\"", 8)) return false;
  bool fine = read_text(line, end, "\"name\":\"", out_event->name, sizeof out_event->name) &&
              read_text(line, end, "\"cat\":\"", out_event->kind, sizeof out_event->kind) &&
              read_number(line, end, "\"pid\":", &process) &&
              read_number(line, end, "\"tid\":", &thread) &&
              read_number(line, end, "\"ts\":", &out_event->start_us) &&
              read_number(line, end, "\"dur\":", &out_event->took_us);
  if (!fine || process < 0 || process >= ROWS_MAX || thread != 0) return false;
  out_event->process = (int)process;
  return find_kind(out_event->kind) != NULL;
}

static const char *line_end(const char *line) { return strchrnul(line, '\n'); }

/* --- drawing --- */

typedef struct drawing {
  double from_us, to_us;
  int rows;
  double drawn_to[ROWS_MAX]; /* right end of the last rectangle of each row, pixels */
  int rects;
} drawing_t;

/* Finds the time range and the number of processes. */
static void find_ends(drawing_t *drawing, const char *json) {
  event_t event;
  bool any = false;
  for (const char *line = json; *line; line = line_end(line), line += *line == '\n') {
    if (!read_event(line, line_end(line), &event)) continue;
    double end_us = event.start_us + event.took_us;
    if (!any || event.start_us < drawing->from_us) drawing->from_us = event.start_us;
    if (!any || end_us > drawing->to_us) drawing->to_us = end_us;
    if (event.process >= drawing->rows) drawing->rows = event.process + 1;
    any = true;
  }
  if (drawing->to_us <= drawing->from_us) drawing->to_us = drawing->from_us + 1;
}

static double x_of(const drawing_t *drawing, double us) {
  double part = (us - drawing->from_us) / (drawing->to_us - drawing->from_us);
  return LEFT + part * (WIDTH - LEFT - RIGHT);
}

static void add_plain(hr_strbuf_t *text, const char *words) {
  for (; *words; words++) {
    bool is_plain = !strchr("<>&\"", *words) && (unsigned char)*words >= ' ';
    hr_strbuf_add_char(text, is_plain ? *words : ' ');
  }
}

/* Events narrower than a pixel are left out where one is drawn already. */
static void draw_event(hr_strbuf_t *text, drawing_t *drawing, const event_t *event) {
  double left = x_of(drawing, event->start_us);
  double width = x_of(drawing, event->start_us + event->took_us) - left;
  double *drawn_to = &drawing->drawn_to[event->process];
  bool is_hidden = width < NARROW && left < *drawn_to;
  if (is_hidden || drawing->rects++ >= RECTS_MAX) return;
  if (width < NARROW) width = NARROW;
  if (left + width > *drawn_to) *drawn_to = left + width;
  hr_strbuf_printf(text,
                   "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\"><title>",
                   left, TOP + event->process * ROW, width, BAR, find_kind(event->kind)->colour);
  add_plain(text, event->name);
  hr_strbuf_printf(text, ": %.3f us</title></rect>\n", event->took_us);
}

/* Ticks at round numbers of microseconds. */
static void draw_axis(hr_strbuf_t *text, const drawing_t *drawing) {
  double first, step, length = drawing->to_us - drawing->from_us;
  int bottom = TOP + drawing->rows * ROW;
  cli_plot_ticks(0, length, 8, &first, &step);
  for (double at = first; at <= length * 1.0001; at += step) {
    double x = x_of(drawing, drawing->from_us + at);
    hr_strbuf_printf(
        text, "<path class=\"tick\" d=\"M%.1f %dV%d\"/><text x=\"%.1f\" y=\"%d\">%g</text>\n", x,
        TOP - 4, bottom, x, bottom + 14, at + 0.0);
  }
  hr_strbuf_printf(text, "<text x=\"%d\" y=\"%d\">microseconds since the first kernel</text>\n",
                   (LEFT + WIDTH - RIGHT) / 2, bottom + 32);
}

static void draw_legend(hr_strbuf_t *text) {
  for (size_t i = 0; i < KIND_COUNT; i++) {
    int x = LEFT + (int)i * 140;
    hr_strbuf_printf(text,
                     "<rect x=\"%d\" y=\"14\" width=\"12\" height=\"12\" fill=\"%s\"/>"
                     "<text class=\"key\" x=\"%d\" y=\"24\">%s</text>\n",
                     x, kinds[i].colour, x + 17, kinds[i].meaning);
  }
}

/* Waits occur inside collectives and are drawn over them in a second pass. */
static void draw_events(hr_strbuf_t *text, drawing_t *drawing, const char *json, bool waits) {
  event_t event;
  memset(drawing->drawn_to, 0, sizeof drawing->drawn_to);
  for (const char *line = json; *line; line = line_end(line), line += *line == '\n') {
    if (!read_event(line, line_end(line), &event)) continue;
    if ((strcmp(event.kind, "wait") == 0) == waits) draw_event(text, drawing, &event);
  }
}

void cli_timeline_draw(hr_strbuf_t *text, const char *json) {
  drawing_t drawing = {.rows = 1};
  find_ends(&drawing, json);
  int height = TOP + drawing.rows * ROW + 44;
  hr_strbuf_printf(text,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                   "viewBox=\"0 0 %d %d\">\n<style>text { font: 12px sans-serif; text-anchor: "
                   "middle; fill: #222 } .key, .row { text-anchor: start } .tick { stroke: #ddd "
                   "}</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                   WIDTH, height, WIDTH, height);
  draw_legend(text);
  draw_axis(text, &drawing);
  for (int row = 0; row < drawing.rows; row++)
    hr_strbuf_printf(text, "<text class=\"row\" x=\"10\" y=\"%d\">rank %d</text>\n",
                     TOP + row * ROW + 15, row);
  draw_events(text, &drawing, json, false);
  draw_events(text, &drawing, json, true);
  hr_strbuf_add_str(text, "</svg>\n");
}
